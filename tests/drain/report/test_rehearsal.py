"""Reports of a rehearsal: every format has the same content, and no text of a cluster controls the terminal."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.run.events import DrainEventKind
from kubectl_eksdoc.drain.run.result import PendingPod, Record
from kubectl_eksdoc.rehearse.report import (
    NOTHING_DIFFERS,
    RehearsalReport,
    RehearsalResult,
    differences,
    rehearsal_verdict,
)
from kubectl_eksdoc.report.text import Appearance
from tests.builders import a_node
from tests.drain.report.plans import an_empty_plan
from tests.drain.report.rehearsals import (
    BADLY,
    TIMED,
    WELL,
    a_rehearsal,
    a_rehearsal_view,
    as_planned,
    at,
)
from tests.report.test_safety import LOOKS, NASTY, PAINT, unsafe_signs
from tests.report.test_schema import places
from tests.yaml_reader import printed

render = RehearsalReport.render

TEXTS = ("table", "wide", "markdown")


def test_the_verdict_says_what_the_plan_says() -> None:
    estimate = TIMED.estimate
    assert estimate is not None
    slow = replace(WELL, plan=replace(TIMED, estimate=replace(estimate, p50_s=200.0)))
    assert "the plan says about 3m20s (p95 4m59s)." in rehearsal_verdict(a_rehearsal_view(slow))
    untimed = replace(WELL, plan=replace(TIMED, estimate=None))
    assert "in 2m54s; the plan does not tell how long it takes." in rehearsal_verdict(a_rehearsal_view(untimed))
    still = replace(WELL, moments=())
    assert "3 of 3 nodes emptied, with nothing to evict, in 2m54s" in rehearsal_verdict(a_rehearsal_view(still))


@pytest.mark.parametrize(
    ("late_s", "said"),
    [
        (11.0, "It takes 11s longer than the plan's p50 of 2m54s."),
        (-12.0, "It takes 12s less than the plan's p50 of 2m54s."),
        (130.0, "It takes 2m10s longer than the plan's p50 of 2m54s, and more than its p95 of 4m59s."),
    ],
)
def test_late_and_early_are_said_in_words(late_s: float, said: str) -> None:
    told = differences(a_rehearsal_view(a_rehearsal(as_planned(late_s), 174.0 + late_s)))
    by = said.split(" takes ")[1].split(" longer")[0].split(" less")[0]
    than = "later" if late_s > 0 else "sooner"
    assert told == (said, f"1 node is done {than} than planned (spot-0 by {by}).")


def test_a_plan_without_times_cannot_be_late() -> None:
    view = a_rehearsal_view(replace(WELL, plan=replace(TIMED, estimate=None)))
    assert differences(view) == ("Whether it is late is unknown: the plan has no duration.",)
    assert "late" in render(view, "table", Appearance())


def empty() -> RehearsalReport:
    return a_rehearsal_view(a_rehearsal((), 0.0, plan=an_empty_plan()))


def test_a_plan_that_drains_nothing_says_so() -> None:
    for fmt in TEXTS:
        text = render(empty(), fmt, Appearance())
        assert "Nothing was rehearsed: the plan drains no node." in text and "Nothing differs" not in text


def test_half_a_second_is_no_difference() -> None:
    assert differences(a_rehearsal_view(replace(WELL, ended_s=174.4))) == (NOTHING_DIFFERS,)


@cache
def many() -> RehearsalReport:
    """A hundred nodes, a hundred waiting pods, and more events than fit into a ticket."""
    first = next(target for target in TIMED.targets if target.order)
    targets = tuple(replace(first, order=n, node=a_node(f"node-{n:03}")) for n in range(1, 101))
    plan: DrainPlan = replace(TIMED, targets=targets)
    moments = tuple(at(float(n), DrainEventKind.EVICTED, f"shop/pod-{n}", "node-001") for n in range(5000))
    waiting = tuple(PendingPod(f"shop/waits-{n:03}", "0/100 nodes are available") for n in range(100))
    undone = {target.node.name: tuple(f"shop/left-{n:04}" for n in range(400)) for target in targets}
    return a_rehearsal_view(a_rehearsal(moments, 5000.0, waiting, undone, plan))


def test_long_lists_are_cut_in_the_table_and_whole_in_wide() -> None:
    table, wide = render(many(), "table", Appearance()), render(many(), "wide", Appearance())
    assert "node-030" in table and "node-031" not in table and "waits-029" in table and "waits-030" not in table
    assert table.count("  … and 70 more (-o wide)") == 3
    assert "node-100" in wide and "waits-099" in wide and "shop/pod-4999" in wide and "left-0399" in wide


def test_a_ticket_is_not_longer_than_github_takes() -> None:
    text = render(many(), "markdown", Appearance())
    assert len(text) <= 65_536 and "more moments; all of them are in `-o json`." in text


def a_hostile_view(text: str) -> RehearsalReport:
    """Put `text` into every name and every message from a server."""
    first = next(target for target in TIMED.targets if target.order)
    plan = replace(TIMED, targets=(replace(first, node=replace(first.node, name=text)),))
    moments = (
        *(at(1.0, DrainEventKind.EVICTED, text, text) for _ in range(2)),
        at(2.0, DrainEventKind.REFUSED, text, text, text),
        at(2.0, DrainEventKind.BEGUN, text),
    )
    rehearsal = a_rehearsal(moments, 3.0, (PendingPod(text, text),), {text: (text,)}, plan)
    return a_rehearsal_view(rehearsal, options={"selector": text})


def check(text: str, fmt: str, look: Appearance) -> None:
    out = render(a_hostile_view(text), fmt, look)
    assert not unsafe_signs(PAINT.sub("", out) if look.colour else out)
    assert out.encode("ascii" if look.ascii else "utf-8")


@pytest.mark.parametrize("fmt", RehearsalReport.formats)
def test_names_of_a_dump_do_not_move_the_cursor(fmt: str) -> None:
    for text, look in zip(NASTY, itertools.cycle(LOOKS), strict=False):
        check(f"a{text}b", fmt, look)


MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
markup = st.text(st.sampled_from("ab1 |`<>&*_[]()!~#@$\\-.:/\n"), max_size=30)


@given(markup)
def test_a_ticket_has_the_same_structure_whatever_a_cluster_says(text: str) -> None:
    plain, tricked = (
        [token.type for token in MARKDOWN.parse(render(a_hostile_view(t), "markdown", Appearance()))]
        for t in ("xx", f"x{text}x")
    )
    assert tricked == plain


# The document


def document(view: RehearsalReport) -> Any:
    return printed(RehearsalResult.of(view))


def test_what_is_not_known_is_null_and_never_zero_or_empty() -> None:
    doc: Any = document(
        a_rehearsal_view(replace(BADLY, moments=(*BADLY.moments, at(300.0, DrainEventKind.REFUSED, "a/b", "n"))))
    )
    assert doc["lateSeconds"] is None
    spot = next(node for node in doc["nodes"] if node["name"] == "spot-0")
    assert spot["begunSeconds"] == 200.5 and spot["emptySeconds"] is None and spot["doneSeconds"] is None
    assert {"cause": None, "count": 1} in doc["refusals"]
    assert next(each for each in doc["pending"] if each["pod"] == "shop/web-5f7-8")["why"] is None
    assert [path for path, holder, key in places(doc) if holder[key] == ""] == []
    assert document(empty())["plan"] == {
        "drained": 0,
        "skipped": 0,
        "evictions": 0,
        "estimate": None,
    }


@pytest.mark.parametrize("rehearsal", [WELL, BADLY], ids=["well", "badly"])
def test_the_order_in_which_facts_are_handed_over_changes_nothing(rehearsal: Record) -> None:
    plan = rehearsal.plan
    turned = replace(
        rehearsal,
        plan=replace(plan, targets=plan.targets[::-1], evictions=plan.evictions[::-1], findings=plan.findings[::-1]),
        pending=rehearsal.pending[::-1],
        undone=dict(reversed(list(rehearsal.undone.items()))),
    )
    assert render(a_rehearsal_view(turned), "json", Appearance()) == render(
        a_rehearsal_view(rehearsal), "json", Appearance()
    )
