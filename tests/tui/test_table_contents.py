"""The contents of tables: bars, Gantt charts, figures."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.drain.nodes import natural_key, older_images, older_kubelets
from kubectl_eksdoc.drain.outcome import BudgetVerdict
from kubectl_eksdoc.drain.plan import build_plan
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.report import plan
from kubectl_eksdoc.drain.report.plan import DrainView
from kubectl_eksdoc.drain.timeline import NodeSpan
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.budgets import BudgetStatus
from kubectl_eksdoc.model.kinds import ReadState
from kubectl_eksdoc.report.text import Cell, Tone
from kubectl_eksdoc.tui import details
from kubectl_eksdoc.tui.tables import budgets, nodes, waves
from kubectl_eksdoc.tui.tables.pods import text_of_cell
from tests.builders import a_node
from tests.tui.live_clusters import DEMO
from tests.tui.pilots import read_demo
from tests.tui.test_rights import without

CLUSTER = read_demo(lambda kind, count: None)
BLUE = sorted((node for node in CLUSTER.nodes if node.group == "blue"), key=lambda node: natural_key(node.name))
VIEW = DrainView(build_plan(CLUSTER, BLUE, DrainPolicy()), CLUSTER)


@given(
    st.integers(0, 40).flatmap(
        lambda expected: st.tuples(st.integers(0, expected + 3), st.integers(0, expected + 3), st.just(expected))
    )
)
def test_a_bar_shows_every_kind_of_pod_that_there_is(numbers: tuple[int, int, int]) -> None:
    healthy, needed, expected = numbers
    (headroom, *_) = VIEW.budgets
    status = BudgetStatus(max(healthy - needed, 0), healthy, needed, expected)
    drawn = budgets.budget_bar(replace(headroom.budget, status=status))
    assert ("█" in drawn) is (min(healthy, needed) > 0)
    assert ("▒" in drawn) is (healthy > needed)
    assert ("░" in drawn) is (expected > healthy)
    assert len(drawn) <= 14


@given(
    times=st.tuples(st.floats(0, 4000), st.floats(0, 4000), st.floats(0, 4000)).map(sorted),
    room=st.integers(10, 200),
    beyond=st.floats(0, 4000),
)
def test_a_gantt_stays_in_its_room(times: list[float], room: int, beyond: float) -> None:
    start, empty, done = times
    end = max(done + beyond, 1.0)
    drawn = waves.gantt_bar(NodeSpan("n", start, empty, done), end, room, 1)
    assert len(drawn) <= room + 1
    assert drawn.strip()


@pytest.mark.parametrize(
    ("more", "said", "tone"),
    [
        ({}, "✓ Ready", Tone.GOOD),
        ({"ready": "False"}, "✗ NotReady", Tone.BAD),
        ({"ready": "Unknown"}, "? Ready unknown", Tone.UNKNOWN),
        ({"unschedulable": True}, "⊘ cordoned", Tone.WARN),
    ],
)
def test_a_node_without_a_plan_says_what_it_is(more: dict[str, object], said: str, tone: Tone) -> None:
    assert nodes.status_cell(replace(a_node("n"), **more), None, None) == Cell(said, tone)


def test_worse_is_marked_by_a_sign_and_not_by_colour_alone() -> None:
    fewer = DrainView(build_plan(CLUSTER, BLUE[:2], DrainPolicy()), CLUSTER)
    change = waves.what_if_sheet(VIEW, fewer).cells("nodes drained")[-1]
    assert isinstance(change, Cell) and change.text.startswith("! -") and change.tone is Tone.WARN


def test_the_waves_in_full_say_from_which_budgets_a_node_takes() -> None:
    sheet = waves.waves_sheet(VIEW, full=True)
    at = [column.title for column in sheet.columns].index("TAKES FROM")
    taken = {key: text_of_cell(sheet.cells(key)[at]) for key in sheet.keys}
    drained = next(target for target in VIEW.targets if target.order)
    by_budget = {each.budget for each in VIEW.evictions if each.node == drained.node.name and each.budget}
    first, *_, more = taken[drained.node.name].split()
    assert first in by_budget and more == f"+{len(by_budget) - 2}"
    assert all(not taken[target.node.name] for target in VIEW.targets if not target.order)


def test_a_node_says_whether_there_is_room_elsewhere_for_its_pods() -> None:
    told = details.node_lines("blue-1", VIEW)
    going = [each for each in VIEW.evictions if each.node == "blue-1"]
    (line,) = (each for each in told if isinstance(each, str) and each.startswith("Room elsewhere: "))
    assert sum(map(int, re.findall(r"(\d+) on ", line))) == len(going) and "no place" not in line
    nowhere = tuple(each._replace(lands_on="") for each in VIEW.plan.evictions)
    full = DrainView(replace(VIEW.plan, evictions=nowhere), CLUSTER)
    warned = [each for each in details.node_lines("blue-1", full) if isinstance(each, tuple) and each[1] is Tone.WARN]
    assert warned == [(f"! Room elsewhere: no place is reserved for {len(going)} pods", Tone.WARN)]


# Visual cues: words instead of codes, old versions in colour, and blockers before any mark is set.


FACTS = nodes.node_facts(DEMO)


def test_a_code_without_words_is_shown_as_it_is() -> None:
    assert plan.short_code("pod-emptydir") == "emptyDir data" and plan.short_code("release-note") == "release-note"
    assert plan.short_code("no-such-code") == "no-such-code"
    assert set(plan._BUDGET_WORDS) == set(BudgetVerdict)


def test_a_kubelet_behind_the_control_plane_and_an_ami_that_is_not_the_newest_of_its_group_are_in_colour() -> None:
    cells = nodes.nodes_sheet(FACTS, tuple(FACTS.texts), None).cells
    assert cells("blue-1")[4] == Cell("v1.32.3!", Tone.WARN) and cells("green-1")[4] == "v1.33.1"
    assert older_kubelets(DEMO.nodes, "") == frozenset(), "not known is not old"
    when = DEMO.observed_at
    image = "eks.amazonaws.com/nodegroup-image"
    made = [
        a_node(f"n-{at}", created_at=when.replace(day=at), labels={image: f"ami-{of}"})
        for at, of in ((1, "old"), (2, "new"), (3, "new"))
    ]
    assert older_images(made) == {"n-1"} and older_images(made[1:]) == frozenset()
    old = nodes.node_facts(replace(DEMO, nodes=tuple(made)))
    assert nodes.nodes_sheet(old, ("n-1",), None).cells("n-1")[5] == Cell("…mi-old!", Tone.WARN)
    twins = [
        a_node(f"n-{minor}", created_at=when, version=f"v1.{minor}.1", labels={image: f"ami-{minor}"})
        for minor in (32, 33)
    ]
    assert older_images(twins) == older_images(twins[::-1]) == {"n-32"}


@pytest.mark.parametrize("state", [ReadState.FORBIDDEN, ReadState.FAILED])
def test_budgets_that_were_not_read_are_not_called_open(state: ReadState) -> None:
    sheet = budgets.closed_budgets_sheet(without(DEMO, kinds.BUDGETS, state=state))
    assert sheet is not None and "could not be read" in sheet.empty_text
    opened = replace(DEMO, budgets=tuple(b for b in DEMO.budgets if b.status.allowed))
    assert budgets.closed_budgets_sheet(opened) is None
    never = replace(DEMO, budgets=(replace(DEMO.budgets[0], generation=1, observed_generation=0),))
    sheet = budgets.closed_budgets_sheet(never)
    assert sheet is not None and [text_of_cell(cell)[:1] for cell in sheet.cells(DEMO.budgets[0].key)[2:]] == ["?", "?"]
