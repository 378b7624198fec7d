"""The pods of a node and of a budget: their eviction order, what blocks them, and navigation there and back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.drain.nodes import natural_key
from kubectl_eksdoc.drain.plan import build_plan
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.report.plan import DrainView
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import ReadState
from kubectl_eksdoc.tui.keymap import ScreenPage
from kubectl_eksdoc.tui.screen import PlanScreen
from kubectl_eksdoc.tui.tables import pods
from kubectl_eksdoc.tui.tables.pods import text_of_cell
from tests.tui.pilots import NARROW, Drives, drive, page_text, press, read_demo

CLUSTER = read_demo(lambda kind, count: None)
BLUE = sorted((node for node in CLUSTER.nodes if node.group == "blue"), key=lambda node: natural_key(node.name))
VIEW = DrainView(build_plan(CLUSTER, BLUE, DrainPolicy()), CLUSTER)


def texts(listed: pods.PodList) -> list[list[str]]:
    return [[text_of_cell(cell) for cell in listed.sheet.cells(key)] for key in listed.sheet.keys]


@pytest.mark.parametrize("node", [node.name for node in BLUE])
def test_every_pod_of_a_node_has_a_row_the_evictions_first_and_in_their_order(node: str) -> None:
    listed = pods.pods_of_node(node, CLUSTER, VIEW, is_marked=True)
    assert set(listed.sheet.keys) == {pod.uid for pod in CLUSTER.pods if pod.node == node}
    going = [each for each in VIEW.evictions if each.node == node]
    assert list(listed.sheet.keys)[: len(going)] == [each.pod.uid for each in going]
    reasons = {row.pod.uid: row.reason for row in VIEW.left}
    for uid, cells in zip(listed.sheet.keys[len(going) :], texts(listed)[len(going) :], strict=True):
        assert cells[0] == "·" and cells[-1] == reasons[uid]


def test_of_a_node_that_is_not_marked_nothing_is_said_to_go() -> None:
    listed = pods.pods_of_node("green-1", CLUSTER, VIEW, is_marked=False)
    assert {cells[-2] for cells in texts(listed)} == {"·"} and "not marked" in listed.title
    early = pods.pods_of_node("green-1", CLUSTER, None, is_marked=True)
    assert {cells[-2] for cells in texts(early)} == {"?"} and "not planned yet" in early.title


def test_where_budgets_were_not_read_that_is_not_none() -> None:
    reads = tuple(
        replace(read, state=ReadState.FORBIDDEN, detail="403") if read.resource in (kinds.BUDGETS, kinds.PODS) else read
        for read in CLUSTER.reads
    )
    listed = pods.pods_of_node("blue-1", replace(CLUSTER, reads=reads, budgets=()), None, is_marked=False)
    assert {cells[6] for cells in texts(listed)} == {"?"}
    nothing = pods.pods_of_node("blue-1", replace(CLUSTER, reads=reads, pods=()), None, is_marked=False)
    assert nothing.sheet.empty_text == "Pods could not be read: 403"


@pytest.mark.parametrize("budget", [headroom.budget for headroom in VIEW.budgets], ids=lambda budget: budget.key)
def test_a_budget_has_all_its_pods_wherever_they_are(budget: object) -> None:
    key = budget.key  # type: ignore[attr-defined]
    listed = pods.pods_of_budget(key, CLUSTER, VIEW)
    found = {pod.uid: pod for pod in CLUSTER.pods if pod.uid in listed.sheet.keys}
    assert found and all(f"{pod.namespace}/" == key[: len(pod.namespace) + 1] for pod in found.values())
    for uid, cells in zip(listed.sheet.keys, texts(listed), strict=True):
        assert (cells[-1] == "its node is not marked") is (found[uid].node not in {node.name for node in BLUE})
    counted = [each for each in VIEW.evictions if each.budget == key]
    assert {each.pod.uid for each in counted} <= set(found)


def test_what_is_gone_is_said_to_be() -> None:
    assert pods.pods_of_budget("shop/gone", CLUSTER, VIEW).sheet.empty_text == "It is not there any more."
    assert pods.pods_of_node("gone", CLUSTER, VIEW, is_marked=False).sheet.empty_text.startswith(
        "It is not there any more."
    )


@pytest.mark.parametrize("size", [(120, 36), pytest.param(NARROW, marks=pytest.mark.long)])
def test_enter_opens_the_pods_of_a_node_and_esc_goes_back(size: tuple[int, int]) -> None:
    async def look(pilot: Drives, screen: PlanScreen) -> None:
        before = screen.model.choice
        await press(pilot, "j", "enter")
        assert screen.page is ScreenPage.PODS and screen._page_widget(ScreenPage.PODS).node == "blue-2"
        text = page_text(pilot)
        assert "blue-2 · marked, wave 1 · 11 pods" in text and "VERDICT" in text
        assert screen.model.choice == before
        await press(pilot, "space")
        assert "blue-2" not in screen.model.choice.plan_input.marked
        assert "blue-2 · not marked" in page_text(pilot)
        await press(pilot, "escape")
        assert screen.page is ScreenPage.PLAN and screen._page_widget(ScreenPage.PLAN).node == "blue-2"

    drive(look, size=size)


@pytest.mark.long
def test_one_goes_back_and_forth_through_what_was_visited() -> None:
    async def visit(pilot: Drives, screen: PlanScreen) -> None:
        await press(pilot, "enter", "escape", "j", "enter", "3")
        assert [place.subject for place in screen.back_stack] == ["", "blue-2"]
        await press(pilot, "left_square_bracket")
        assert (screen.page, screen.model.subject) == (ScreenPage.PODS, "blue-2")
        await press(pilot, "left_square_bracket", "left_square_bracket")
        assert screen.page is ScreenPage.PLAN, "before the first there is none"
        await press(pilot, "right_square_bracket", "right_square_bracket")
        assert screen.page is ScreenPage.WAVES
        await press(pilot, "minus")
        assert (screen.page, screen.model.subject) == (ScreenPage.PODS, "blue-2")
        await press(pilot, "minus")
        assert screen.page is ScreenPage.WAVES

    drive(visit)
