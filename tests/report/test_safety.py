"""Text from a cluster never reaches a terminal as a control sequence, or a ticket as anything but text."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kubectl_eksdoc.drain.outcome import Eviction, NotEvictedPod, PodVerdict, TargetVerdict
from kubectl_eksdoc.drain.report.formats import DrainReport
from kubectl_eksdoc.model.cluster import Identity
from kubectl_eksdoc.model.findings import Code, Remedy, Status, Subject, When
from kubectl_eksdoc.model.kinds import KindRead, ReadState
from kubectl_eksdoc.report.identity import identity_line
from kubectl_eksdoc.report.markdown import code_span, escape_markdown, markdown_table
from kubectl_eksdoc.report.text import Appearance, Column
from tests.builders import NOW, a_node, a_pod
from tests.drain.report.plans import (
    BUDGETS,
    CLUSTER,
    HEADROOM,
    a_finding,
    a_target,
    a_view,
    an_empty_plan,
)
from tests.examples import examples
from tests.yaml_reader import yaml_of

render = DrainReport.render

NASTY = (
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x9b31m",
    "\u202egnp.exe",
    "\u2066",
    "\u200b",
    "\u2028",
    "\x85",
    "\r",
    "\nrm -rf /",
    "\x7f",
    "\x08",
    "\ud800",
    "\x00",
)

hostile = st.one_of(st.sampled_from(NASTY), st.text(max_size=30)).flatmap(
    lambda a: st.text(max_size=20).map(lambda b: f"x{a}{b}")
)

PAINT = re.compile(r"\x1b\[(?:36|33|1;31|35|1|2|0)m")


def a_hostile_view(text: str) -> DrainReport:
    """A report with `text` in every place where a cluster could have put it, and in a few where it could not."""
    pod = a_pod("web-1", "shop", owner=None)
    node = replace(
        a_node("old-0"), kubelet=None, kubelet_text=text, os_image=text, labels={"topology.kubernetes.io/zone": text}
    )
    subject = Subject("Pod", pod.name, pod.namespace)
    remedy = (Remedy(text, text), Remedy(text, text, When.LATER))
    findings = tuple(
        a_finding(
            Code.of("pod-hostpath"),
            status,
            subject,
            text,
            a_finding().severity,
            *remedy,
            evidence=(text,),
            missing=text,
        )
        for status in Status
    )
    plan = an_empty_plan(
        targets=(
            replace(a_target("old-0", TargetVerdict.DRAINS, 1, why=(text,)), node=node),
            replace(a_target("old-0", TargetVerdict.SKIPPED, why=(text,)), node=replace(node, name="old-1")),
        ),
        evictions=(Eviction(1, 1, pod, "old-0", "", text),),
        left=(NotEvictedPod(replace(pod, name="web-2"), "old-1", PodVerdict.BLOCKED, ("pod-hostpath",), text),),
        budgets=(replace(HEADROOM[1], why=text, owner=text), replace(HEADROOM[0], budget=BUDGETS["web"], why=text)),
        findings=findings,
    )
    cluster = replace(
        CLUSTER,
        identity=Identity(text, text, text, text, text),
        notes=(text,),
        reads=(KindRead(CLUSTER.reads[0].resource, ReadState.FAILED, detail=text),),
    )
    return a_view(plan, cluster, options={"selector": text})


def unsafe_signs(text: str) -> set[str]:
    return {c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}


def check(text: str, fmt: str, look: Appearance) -> None:
    out = render(a_hostile_view(text), fmt, look)
    if look.colour:
        out = PAINT.sub("", out)
    assert not unsafe_signs(out)
    assert out.encode("ascii" if look.ascii else "utf-8")


LOOKS = (Appearance(), Appearance(colour=True), Appearance(ascii=True))


@given(hostile, st.sampled_from(sorted(DrainReport.formats)), st.booleans(), st.booleans())
def test_no_text_of_a_cluster_reaches_the_screen_raw(text: str, fmt: str, colour: bool, ascii_only: bool) -> None:
    check(text, fmt, Appearance(colour=colour, ascii=ascii_only))


@given(hostile)
def test_json_and_yaml_give_back_what_was_written(text: str) -> None:
    view = a_hostile_view(text)
    doc: Any = json.loads(render(view, "json", Appearance()))
    assert doc["metadata"]["cluster"]["context"] == text
    if "\ud800" not in text:  # YAML has no form for half a sign
        assert yaml_of(render(view, "yaml", Appearance())) == doc


@settings(max_examples=examples(30))
@given(hostile)
def test_the_identity_stays_one_clean_line(text: str) -> None:
    line = identity_line(a_hostile_view(text).cluster, NOW)
    assert "\n" not in line and not unsafe_signs(line)


def test_a_line_end_in_a_command_does_not_become_a_second_command() -> None:
    out = render(a_hostile_view("cat /x\nrm -rf /"), "table", Appearance())
    assert "        cat /x\\nrm -rf /\n" in out
    assert "\nrm" not in out
    ticket = render(a_hostile_view("cat /x\nrm -rf /"), "markdown", Appearance())
    assert "\nrm" not in ticket and "    rm" not in ticket


MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])

TRICKS = (
    "a|b",
    "`x`",
    "``",
    "`",
    "<img src=x onerror=alert(1)>",
    "</summary></details>",
    "<!-- ",
    "&lt;b&gt;",
    "[a](https://evil.example)",
    "![a](x)",
    "**b**",
    "_i_",
    "~~s~~",
    "https://evil.example",
    "@on-call-team",
    "see #12",
    "$x$",
    "\\|",
    "\\",
    "1. one",
    "# h",
    "- item",
    "    code",
    "| a | b |",
)


def text_of(markup: str) -> tuple[str, set[str]]:
    """The displayed text of inline `markup`, and the kinds of token in it except plain text and our empty comments."""
    shown, kinds = "", set()
    for token in MARKDOWN.parseInline(markup)[0].children or []:
        if token.type in ("text", "code_inline", "text_special"):
            shown += token.content
        elif not (token.type == "html_inline" and token.content == "<!-- -->"):
            kinds.add(token.type)
        if token.type == "code_inline":
            kinds.add(token.type)
    return shown, kinds


@pytest.mark.parametrize("text", TRICKS)
def test_escaped_text_shows_as_itself(text: str) -> None:
    shown, kinds = text_of(escape_markdown(text))
    assert (shown.strip(), kinds) == (text.strip(), set())
    shown, kinds = text_of(code_span(text))
    assert (shown, kinds) == (text, {"code_inline"})


markup = st.text(st.sampled_from("ab1 |`<>&*_[]()!~#@$\\-.:/\n"), max_size=30)


@given(markup)
def test_any_text_shows_as_itself(text: str) -> None:
    shown, kinds = text_of(escape_markdown(text))
    assert (shown.strip(), kinds) == (text.replace("\n", "\\n").strip(), set())


@given(markup.filter(lambda t: t.strip()))
def test_any_name_shows_as_code(text: str) -> None:
    shown, kinds = text_of(code_span(text))
    assert (shown, kinds) == (text.replace("\n", "\\n"), {"code_inline"})


def blocks(text: str) -> list[str]:
    tokens = MARKDOWN.parse(render(a_hostile_view(text), "markdown", Appearance()))
    html = "".join(t.content for t in tokens if t.type == "html_block")
    assert set(re.findall(r"<[^>]*>", html)) <= {"<details>", "</details>", "<summary>", "</summary>", "<!-- -->"}
    return [token.type for token in tokens]


@cache
def plain_blocks() -> list[str]:
    return blocks("xx")


@settings(max_examples=examples(60, quick=20))
@given(st.one_of(st.sampled_from(TRICKS), markup))
def test_a_ticket_has_the_same_structure_whatever_a_cluster_says(text: str) -> None:
    """The same blocks, tables of the same size, and no HTML except that which folds the details."""
    assert blocks(f"x{text}x") == plain_blocks()


@given(markup.filter(lambda t: t.strip()), markup)
def test_a_cell_of_a_table_stays_one_cell(name: str, text: str) -> None:
    lines = markdown_table(
        [Column("NODE"), Column("WHY"), Column("LAST")], [[f"n{name}n", f"w{text}w", "last"]], {"NODE"}
    )
    cells = [t.children or [] for t in MARKDOWN.parse("\n".join(lines)) if t.type == "inline"][3:]
    shown = ["".join(t.content for t in cell if t.type in ("text", "code_inline", "text_special")) for cell in cells]
    assert shown == [f"n{name}n".replace("\n", "\\n"), f"w{text}w".replace("\n", "\\n"), "last"]


def test_nobody_is_mentioned_and_no_issue_is_referenced() -> None:
    assert re.search(r"[@#]\w", escape_markdown("ask @on-call about #12 and a@b")) is None
