"""The HTML page of a check: complete, without external requests, with the answer first, and safe against text from a
cluster."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.check.checking import Area, Gate
from kubectl_eksdoc.check.plan import CheckScope
from kubectl_eksdoc.check.registry import choose_checks
from kubectl_eksdoc.check.report.formats import CheckReport
from kubectl_eksdoc.check.report.shown import MAX_SIMILAR_FINDINGS
from kubectl_eksdoc.drain.duration.estimate import Estimate
from kubectl_eksdoc.drain.timeline import NodeSpan
from kubectl_eksdoc.model.findings import Code, Remedy, Severity, Status, Subject
from kubectl_eksdoc.model.kinds import AwsUnavailable, Unknown
from kubectl_eksdoc.report.text import Appearance
from tests.check.command import cached_runs
from tests.check.healthy import healthy
from tests.check.report.checked import (
    LOOK,
    SKEW,
    SLIGHT,
    STUCK,
    UNFIT,
    accepted,
    check,
    stuck,
    usual,
    view,
)
from tests.drain.report import plans
from tests.drain.report.test_page import Page, check_closed
from tests.examples import examples, one_in
from tests.report.golden import AnswerFormats
from tests.report.test_safety import NASTY, unsafe_signs

SPANS = (NodeSpan("old-1", 0, 10, 20), NodeSpan("old-0", 20, 90, 160), NodeSpan("spot-0", 0, 10, 20))
NEVER = replace(STUCK, code=Code.of("budget-never-allows"), subject=Subject("PodDisruptionBudget", "sale", "shop"))


def with_a_drain() -> CheckReport:
    """A report with the plan by hand, which does not drain four of seven nodes."""
    plan = replace(plans.a_view().plan, estimate=Estimate(160, 300, SPANS, 2, ("all goes well",)))
    of_drain = check(Area.DISRUPTION, Gate.BEFORE_NODES, NEVER)
    wish = CheckScope(suppressions=(accepted(UNFIT, "the vendor mends it"),))
    return view([*usual(), of_drain], wish, replace(healthy(), drain=plan))


def html(of: CheckReport, look: Appearance = LOOK) -> str:
    return of.render("html", look)


def read(text: str) -> Page:
    page = Page()
    page.feed(text)
    return page.done()


def demo(*argv: str) -> str:
    return cached_runs.check("--demo", *argv, "-o", "html").out


PAGES = {
    "by hand": lambda: html(view()),
    "with a drain": lambda: html(with_a_drain()),
    "nothing found": lambda: html(view([check(Area.SUPPORT, None, SLIGHT)])),
    "of a symptom": lambda: html(stuck(STUCK)),
    "two steps": lambda: demo("--target", "1.35"),
    "hurting": lambda: demo("--symptom", "dns", "--changed-since", "60d"),
}


@pytest.mark.parametrize("name", one_in(2, PAGES))
def test_the_page_is_well_formed_and_asks_nobody_for_anything(name: str) -> None:
    check_closed(PAGES[name]())


ANSWERS = AnswerFormats(
    Path(__file__).parent,
    {"drain": with_a_drain, "by hand": view, "symptom": lambda: stuck(STUCK)},
    {"page.html": ("html", LOOK)},
    whole=("kubectl", "aws"),
    widths=(80, 120),
)


@pytest.mark.parametrize(
    ("checks", "tone", "answer"),
    [
        (usual(), "bad", "✗ Not yet"),
        ([check(Area.ADDONS, Gate.BEFORE_NODES, UNFIT)], "open", "? Not yet"),
        ([check(Area.SUPPORT, None, SLIGHT)], "good", "✓ Nothing blocks a step"),
    ],
)
def test_the_answer_is_a_sign_a_word_and_a_tone(checks: list, tone: str, answer: str) -> None:  # type: ignore[type-arg]
    assert f'<div class="verdict {tone}"><strong>{answer}</strong>' in html(view(checks))


def lights_of(html: str) -> dict[str, tuple[str, str, str]]:
    """By area, the tone, the symbol and the text of its light."""
    sign = r'<li class="(\w+)"><span class="sign" aria-hidden="true">(.)</span>'
    told = re.findall(sign + "<b>(.*?)</b><span>(.*?)</span>", html)
    return {re.sub("<.*?>", "", name): (tone, sign, said) for tone, sign, name, said in told}


def test_the_lights_are_signs_and_words_never_colour_alone() -> None:
    low = replace(SKEW, severity=Severity.LOW)
    text = html(view([*usual(), check(Area.RUNTIME, None, low)]))
    lights = lights_of(text)
    assert len(lights) == len(Area)
    assert lights["Nodes"] == ("bad", "✗", "1 cause, worst high")
    assert lights["Container runtime"] == ("warn", "!", "part of causes elsewhere, worst low")
    assert lights["Add-ons and controllers"] == ("open", "?", "1 unknown")
    assert lights["Support"] == ("good", "✓", "fine")
    assert lights["DNS"] == ("unseen", "–", "not checked")


def test_every_finding_of_the_document_is_on_the_page_with_its_commands() -> None:
    document = cached_runs.document("--demo", "--target", "1.34")
    said = read(demo("--target", "1.34")).text
    for found in document["findings"]:
        assert re.sub(r"\s+", " ", found["message"]) in said and found["code"] in said
        assert all(re.sub(r"\s+", " ", each) in said for each in found["evidence"][:25])
        assert all(re.sub(r"\s+", " ", each.get("command", "")) in said for each in found["remedy"])
    for step in document["checklist"]:
        assert f"{step['number']}. {step['title']}" in said
        assert all(re.sub(r"\s+", " ", each) in said for each in step["commands"])


def test_no_node_can_be_emptied_is_said() -> None:
    skipped = tuple(replace(target, order=0) for target in plans.a_view().plan.targets)
    plan = replace(plans.a_view().plan, targets=skipped, evictions=(), budgets=())
    said = read(html(view(facts=replace(healthy(), drain=plan)))).text
    assert "No node can be emptied" in said and "none can go" in said


def hostile(text: str) -> CheckReport:
    """`text` in every place in which a cluster could have put it."""
    found = replace(
        SKEW, subject=Subject(text, text, text), message=text, evidence=(text,), remedy=(Remedy(text, text),)
    )
    lacking = replace(found, status=Status.UNKNOWN, missing=text)
    facts = replace(healthy(), eks=Unknown(text, text), drain=plans.a_view().plan)
    return view([check(Area.NODES, Gate.BEFORE_NODES, found, lacking)], CheckScope(), facts)


@cache
def plain_tags() -> set[str]:
    return {tag for tag, _ in read(html(hostile("x"))).tags}


TRICKS = [*NASTY, "</style><script>alert(1)</script>", "'\"><img src=x onerror=alert(1)>"]


@settings(max_examples=examples(40))
@given(st.one_of(st.sampled_from(TRICKS), st.text(max_size=40)), st.booleans())
def test_no_text_of_a_cluster_becomes_markup(text: str, ascii_only: bool) -> None:
    out = html(hostile(f"a{text}b"), Appearance(ascii=ascii_only))
    page = read(out)
    assert page.broken == [] and not unsafe_signs(out)
    assert {tag for tag, _ in page.tags} == plain_tags()
    assert out.encode("ascii" if ascii_only else "utf-8")


def test_what_is_unknown_for_want_of_aws_is_said_once() -> None:
    why = AwsUnavailable("nobody is signed in to AWS")
    lost = tuple(
        replace(
            UNFIT, subject=Subject("Addon", f"a-{i}"), message=f"whether it fits is not known: {why}", unknowns=(why,)
        )
        for i in range(40)
    )
    said = read(html(view([check(Area.ADDONS, Gate.BEFORE_NODES, *lost)], facts=replace(healthy(), eks=why)))).text
    part = said[said.index("Not known, and why (40)") :]
    assert part.count(str(why)) == 1 and "Unknown by that: 40 answers" in part and "check-addon-unfit" in part


def test_unknowns_that_lack_the_same_for_the_same_reason_are_one_row() -> None:
    alike = [replace(UNFIT, subject=Subject("Node", f"n-{i}"), message=f"what node n-{i} runs") for i in range(7)]
    odd = [replace(UNFIT, missing="the options", message=f"instance i-{i} is not known") for i in range(9)]
    two = [replace(UNFIT, missing="the log", message=said) for said in ("nobody may read it", "it is empty")]
    text = html(view([check(Area.ADDONS, Gate.BEFORE_NODES, *alike, *odd, *two)]))
    section = text[text.index('<section id="unknown">') : text.index('<section id="judged">')]
    assert section.count("<tr>") == 1 + 1 + 4 + 2
    assert "Node n-0 and 6 more" in section and "Addon coredns and 5 more" in section
    assert "nobody may read it" in section and "it is empty" in section, "no reason stands for another"
    assert "instance i-3 is not known; and 5 other reasons (in -o json)" in section


def test_who_reads_a_part_is_told_that_it_is_one() -> None:
    only = html(view(list(choose_checks([SKEW.code.name])), CheckScope(only=frozenset({SKEW.code.name}))))
    said = f"Only a part was checked (--only {SKEW.code.name}): the rest of the upgrade may have obstacles."
    assert f'<p class="part"><b>{said}</b></p>' in only
    assert "(--gate before-nodes)" in html(view(wish=CheckScope(gate=Gate.BEFORE_NODES)))
    assert "Only a part" not in html(view())


def test_an_area_is_not_green_for_what_does_not_count_alone() -> None:
    slight = replace(SKEW, severity=Severity.LOW)
    unsure = replace(UNFIT, severity=Severity.LOW)
    checks = [
        check(Area.NODES, Gate.BEFORE_NODES, slight),
        check(Area.ADDONS, None, unsure),
        check(Area.SUPPORT, None, STUCK),
    ]
    rules = (accepted(STUCK, "agreed"),)
    of = view(checks, CheckScope(fail_on=Severity.HIGH, suppressions=rules))
    lights = lights_of(html(of))
    assert lights["Nodes"] == ("unseen", "○", "1 less severe")
    assert lights["Add-ons and controllers"] == ("unseen", "○", "1 less severe")
    assert lights["Support"] == ("unseen", "○", "1 suppressed")
    assert "○ nothing counts at --fail-on high; 1 less severe" in html(of)
    assert "nothing counts, but for --fail-on or a suppression alone" in html(of)
    short = of.render("table", LOOK)
    assert "○ nodes 1 less severe" in short


def test_of_very_many_findings_the_page_says_how_many_it_leaves_out() -> None:
    many = tuple(
        replace(SKEW, subject=Subject("Node", f"n-{i}"), evidence=tuple(f"line {n}" for n in range(90)))
        for i in range(1000)
    )
    alike = html(view([check(Area.NODES, Gate.BEFORE_NODES, *many[: MAX_SIMILAR_FINDINGS + 1])]))
    assert "more of kubelet-skew" not in alike, "one more is shown rather than counted"
    unknown = tuple(replace(UNFIT, subject=Subject("Addon", f"a-{i}")) for i in range(1000))
    text = html(view([check(Area.NODES, Gate.BEFORE_NODES, *many), check(Area.ADDONS, Gate.BEFORE_NODES, *unknown)]))
    said = read(text).text
    assert f"… and {1000 - MAX_SIMILAR_FINDINGS} more of kubelet-skew that fail; all of them are in -o json." in said
    assert f"… and {1000 - MAX_SIMILAR_FINDINGS} more of check-addon-unfit that are not known" in said
    assert "Addon a-0 and 999 more" in said and "and 65 more (in -o json)" in said
    assert "1000 causes" in said and len(text) < 500_000
