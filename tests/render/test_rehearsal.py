"""A rehearsal in words and rows: every format says the same, and nothing of a cluster's acts on a terminal."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.run.account import PendingPod, Record
from kubectl_eksdoc.drain.run.moments import Happened
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.render.rehearsal import NOT_SHOWN, NOTHING_DIFFERS, RehearsalReport, differences, verdict
from kubectl_eksdoc.render.text import Look
from tests.builders import a_node
from tests.render.plans import an_empty_plan
from tests.render.rehearsals import BADLY, TIMED, WELL, a_rehearsal, a_rehearsal_view, as_planned, at
from tests.render.test_encode import loaded
from tests.render.test_safety import LOOKS, NASTY, PAINT, unsafe_signs

render = RehearsalReport.render

TEXTS = ("table", "wide", "markdown")


def squeezed(text: str) -> str:
    """Without line breaks and Markdown's escapes, to find what was wrapped."""
    return re.sub(r"\s+", " ", text.replace("\\", "").replace("`", "").replace("<!-- -->", ""))


def clock(seconds: float | None) -> str:
    """As a table has it."""
    if seconds is None:
        return "-"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest:02d}s" if minutes else f"{rest}s"


def row_of(first: str, text: str) -> list[str]:
    """The cells of the row that names `first`, of a table or of Markdown's."""
    lines = (re.sub(r"[|`\\]", " ", line).split() for line in text.splitlines())
    return next(cells for cells in lines if cells[:1] == [first] or cells[1:2] == [first])


@pytest.mark.parametrize("rehearsal", [WELL, BADLY], ids=["well", "badly"])
@pytest.mark.parametrize("fmt", TEXTS)
def test_every_format_has_the_same_rows(rehearsal: Record, fmt: str) -> None:
    view = a_rehearsal_view(rehearsal)
    doc: Any = json.loads(render(view, "json", Look()))
    raw = render(view, fmt, Look(width=200))
    text = squeezed(raw)
    for node in doc["nodes"]:
        times = [clock(node[key]) for key in ("begunSeconds", "emptySeconds", "doneSeconds")]
        counts = [str(node["evictions"]), str(node["refusals"])]
        assert row_of(node["name"], raw)[1:8] == [node["name"], str(node["wave"]), *times, *counts]
        assert all(pod in text for pod in node["left"])
    for each in doc["refusals"]:
        assert re.search(rf"\b{each['count']}[ |]+{re.escape(each['cause'])}", text)
    for each in doc["pending"]:
        cells = row_of(each["pod"], raw[re.search("pending", raw, re.IGNORECASE).start() :])  # type: ignore[union-attr]
        assert cells[1] == ("yes" if each["before"] else "no")
        assert each["why"] is None or each["why"] in text
    for told in (*doc["reEvicted"], *doc["notEmptied"], *doc["differences"], *doc["notShown"]):
        assert told in text


@pytest.mark.parametrize("rehearsal", [WELL, BADLY], ids=["well", "badly"])
@pytest.mark.parametrize("fmt", ["wide", "markdown"])
def test_all_that_happened_is_told_in_its_order(rehearsal: Record, fmt: str) -> None:
    view = a_rehearsal_view(rehearsal)
    doc: Any = json.loads(render(view, "json", Look()))
    raw = render(view, fmt, Look())
    part = raw[raw.index("MOMENTS" if fmt == "wide" else "<details>") :]
    words = [re.sub(r"[|`\\]", " ", line).split() for line in part.splitlines()]
    known = {what.value for what in Happened}
    told = [cells[:4] for cells in words if len(cells) > 3 and cells[1] in known]
    assert told == [[clock(m["atSeconds"]), m["what"], m["subject"], m["node"] or "-"] for m in doc["moments"]]
    assert len(told) == len(rehearsal.moments)
    for moment in doc["moments"]:
        assert moment["why"] is None or moment["why"] in squeezed(part)


def test_the_verdict_says_what_was_emptied_and_what_the_plan_says() -> None:
    assert verdict(a_rehearsal_view()) == (
        "Rehearsed: 3 of 3 nodes emptied by 3 evictions in 2m54s; the plan says about 2m54s (p95 4m59s). "
        "4 of 7 nodes to drain are left out."
    )
    assert verdict(a_rehearsal_view(BADLY)) == (
        "Rehearsed: 2 of 3 nodes emptied, 1 is not (spot-0); 3 evictions, and nothing more happened after 3m50s; the "
        "plan says about 2m54s (p95 4m59s). 4 of 7 nodes to drain are left out."
    )
    estimate = TIMED.estimate
    assert estimate is not None
    slow = replace(WELL, plan=replace(TIMED, estimate=replace(estimate, p50_s=200.0)))
    assert "the plan says about 3m20s (p95 4m59s)." in verdict(a_rehearsal_view(slow))
    untimed = replace(WELL, plan=replace(TIMED, estimate=None))
    assert "in 2m54s; the plan does not tell how long it takes." in verdict(a_rehearsal_view(untimed))
    still = replace(WELL, moments=())
    assert "3 of 3 nodes emptied, with nothing to evict, in 2m54s" in verdict(a_rehearsal_view(still))


def test_where_nothing_differs_that_is_said_alone() -> None:
    assert differences(a_rehearsal_view()) == (NOTHING_DIFFERS,)
    assert differences(a_rehearsal_view(replace(WELL, ended_s=174.4))) == (NOTHING_DIFFERS,), "half a second is none"


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


def test_each_thing_that_goes_wrong_is_a_difference() -> None:
    told = differences(a_rehearsal_view(BADLY))
    assert NOTHING_DIFFERS not in told and len(told) == 8
    assert told[0] == "1 node that the plan drains is not emptied."
    assert "1 new node that the plan waits for did not join." in told
    assert "1 of 3 planned evictions was not made." in told
    assert "Evictions were refused 4 times; the plan expects no refusal." in told
    assert "1 pod was evicted more than once; the plan expects none." in told
    assert "2 pods end without a node that were not waiting for one before; " in told[-1]


def test_a_plan_without_times_cannot_be_late() -> None:
    view = a_rehearsal_view(replace(WELL, plan=replace(TIMED, estimate=None)))
    assert differences(view) == ("Whether it is late is unknown: the plan has no duration.",)
    assert "late" in render(view, "table", Look())


def test_pods_that_waited_before_are_those_without_a_node_in_the_cluster() -> None:
    view = a_rehearsal_view(BADLY)
    assert {each.pod: each.before for each in view.pending} == {
        "shop/web-5f7-8": False,
        "shop/web-5f7-9": False,
        "shop/report-1": True,
    }


@pytest.mark.parametrize("fmt", RehearsalReport.formats)
def test_a_plan_that_drains_nothing_can_be_shown(fmt: str) -> None:
    text = render(a_rehearsal_view(a_rehearsal((), 0.0, plan=an_empty_plan())), fmt, Look())
    assert text.endswith("\n")
    if fmt in TEXTS:
        assert "Nothing was rehearsed: the plan drains no node." in text and "Nothing differs" not in text


@pytest.mark.parametrize("fmt", TEXTS)
def test_what_a_rehearsal_cannot_show_is_always_said(fmt: str) -> None:
    text = squeezed(render(a_rehearsal_view(), fmt, Look(width=80)))
    assert all(limit in text for limit in NOT_SHOWN)


@pytest.mark.parametrize("fmt", TEXTS)
def test_kinds_that_were_not_read_are_named(fmt: str) -> None:
    text = render(a_rehearsal_view(), fmt, Look())
    missing = [read.resource.full_name for read in a_rehearsal_view().cluster.reads if not read.known]
    assert missing and all(name in text for name in missing)


def test_a_format_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="no output format 'html'"):
        render(a_rehearsal_view(), "html", Look())


@cache
def many() -> RehearsalReport:
    """A hundred nodes, a hundred pods that wait, and moments for more than a ticket has room for."""
    first = next(target for target in TIMED.targets if target.order)
    targets = tuple(replace(first, order=n, node=a_node(f"node-{n:03}")) for n in range(1, 101))
    plan: DrainPlan = replace(TIMED, targets=targets)
    moments = tuple(at(float(n), Happened.EVICTED, f"shop/pod-{n}", "node-001") for n in range(5000))
    waiting = tuple(PendingPod(f"shop/waits-{n:03}", "0/100 nodes are available") for n in range(100))
    undone = {target.node.name: tuple(f"shop/left-{n:04}" for n in range(400)) for target in targets}
    return a_rehearsal_view(a_rehearsal(moments, 5000.0, waiting, undone, plan))


def test_long_lists_are_cut_in_the_table_and_whole_in_wide() -> None:
    table, wide = render(many(), "table", Look()), render(many(), "wide", Look())
    assert "node-030" in table and "node-031" not in table and "waits-029" in table and "waits-030" not in table
    assert table.count("  … and 70 more (-o wide)") == 3
    assert "node-100" in wide and "waits-099" in wide and "shop/pod-4999" in wide and "left-0399" in wide


def test_a_ticket_is_not_longer_than_github_takes() -> None:
    text = render(many(), "markdown", Look())
    assert len(text) <= 65_536 and "more moments; all of them are in `-o json`." in text


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize(
    "made", [a_rehearsal_view, lambda: a_rehearsal_view(BADLY), many], ids=["well", "badly", "many"]
)
def test_no_line_is_wider_than_the_terminal(made: Callable[[], RehearsalReport], width: int, ascii_only: bool) -> None:
    view = made()
    look = Look(width=width, ascii=ascii_only)
    lines = render(view, "table", look).splitlines()
    assert [line for line in lines if len(line) > width] == []
    coloured = render(view, "table", replace(look, colour=True))
    assert PAINT.sub("", coloured).splitlines() == lines


@pytest.mark.parametrize("fmt", RehearsalReport.formats)
def test_ascii_is_ascii(fmt: str) -> None:
    assert render(a_rehearsal_view(BADLY), fmt, Look(ascii=True)).isascii()


def a_hostile_view(text: str) -> RehearsalReport:
    """`text` in every name and every word of a server's."""
    first = next(target for target in TIMED.targets if target.order)
    plan = replace(TIMED, targets=(replace(first, node=replace(first.node, name=text)),))
    moments = (
        *(at(1.0, Happened.EVICTED, text, text) for _ in range(2)),
        at(2.0, Happened.REFUSED, text, text, text),
        at(2.0, Happened.BEGUN, text),
    )
    rehearsal = a_rehearsal(moments, 3.0, (PendingPod(text, text),), {text: (text,)}, plan)
    return a_rehearsal_view(rehearsal, options={"selector": text})


def check(text: str, fmt: str, look: Look) -> None:
    out = render(a_hostile_view(text), fmt, look)
    assert not unsafe_signs(PAINT.sub("", out) if look.colour else out)
    assert out.encode("ascii" if look.ascii else "utf-8")


@pytest.mark.parametrize("fmt", RehearsalReport.formats)
def test_names_of_a_dump_do_not_move_the_cursor(fmt: str) -> None:
    for text, look in zip(NASTY, itertools.cycle(LOOKS), strict=False):
        check(f"a{text}b", fmt, look)


@pytest.mark.long
@pytest.mark.parametrize("fmt", RehearsalReport.formats)
@pytest.mark.parametrize("text", NASTY)
def test_names_of_a_dump_do_not_move_the_cursor_in_any_look(fmt: str, text: str) -> None:
    for look in LOOKS:
        check(f"a{text}b", fmt, look)


MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
markup = st.text(st.sampled_from("ab1 |`<>&*_[]()!~#@$\\-.:/\n"), max_size=30)


@given(markup)
def test_a_ticket_has_the_same_structure_whatever_a_cluster_says(text: str) -> None:
    plain, tricked = (
        [token.type for token in MARKDOWN.parse(render(a_hostile_view(t), "markdown", Look()))]
        for t in ("xx", f"x{text}x")
    )
    assert tricked == plain


LOADED = """
import sys
from kubectl_eksdoc.render.text import Look
from tests.render.rehearsals import a_rehearsal_view
for format in sys.argv[1:]:
    a_rehearsal_view().render(format, Look())
    print(format, *sorted({"tabulate", "yaml"} & set(sys.modules)))
"""


def test_a_format_loads_only_its_own_library() -> None:
    assert loaded(LOADED, "json", "markdown", "yaml", "wide") == [
        "json",
        "markdown",
        "yaml yaml",
        "wide tabulate yaml",
    ]
