"""Keys on the screens, over the built-in cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.drain.plan import build_plan
from kubectl_eksdoc.drain.policy import Targeting
from kubectl_eksdoc.errors import Unreachable
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.tui import edits
from kubectl_eksdoc.tui.keymap import PLAN_KEYS, ScreenPage
from kubectl_eksdoc.tui.opening import Progress
from kubectl_eksdoc.tui.rights import unavailable_reason
from kubectl_eksdoc.tui.screen import PlanScreen
from tests.examples import one_in
from tests.tui.pilots import Drives, a_demo, drive, lines, notes_of, planned, press, read_demo


def test_what_is_shown_is_the_plan_that_the_command_line_makes() -> None:
    async def look(pilot: Drives, screen: PlanScreen) -> None:
        view = screen.model.view
        assert view is not None
        cluster = read_demo(lambda kind, count: None)
        targets = [target.node for target in build_plan(cluster, view_targets(cluster), view.plan.policy).targets]
        assert [target.node.name for target in view.plan.targets] == [node.name for node in targets]
        assert view.plan == build_plan(cluster, view_targets(cluster), view.plan.policy)

    def view_targets(cluster: Cluster) -> list[Any]:
        return [node for node in cluster.nodes if node.group == "blue"]

    drive(look)


@pytest.mark.long
@pytest.mark.parametrize(
    ("keys", "marked"),
    one_in(
        3,
        [
            (("m", "n"), set()),
            (("m", "g"), {f"blue-{n}" for n in range(1, 9)}),
            (("m", "n", "j", "space", "j", "j", "ctrl+@"), {"blue-2", "blue-3", "blue-4", "blue-5"}),
            (("m", "n", "slash", *"spot", "enter", "m", "f"), {"spot-1", "spot-2"}),
            (("ctrl+backslash",), set()),
        ],
    ),
)
def test_groups_of_nodes_are_marked(keys: tuple[str, ...], marked: set[str]) -> None:
    async def mark(pilot: Drives, screen: PlanScreen) -> None:
        await press(pilot, *keys)
        assert screen.model.choice.plan_input.marked == marked

    drive(mark)


@pytest.mark.long
def test_knobs_are_turned_planned_and_copied_as_a_command() -> None:
    async def turn(pilot: Drives, screen: PlanScreen) -> None:
        await press(pilot, "{", "{", ")", "C")
        assert pilot.app.clipboard == (
            "kubectl eksdoc drain plan --nodegroup blue --grace-period 30 --max-unavailable 6 --demo"
        )
        await press(pilot, "space", "C")
        assert pilot.app.clipboard.startswith("kubectl eksdoc drain plan blue-2 blue-3 ")

    drive(turn)


@pytest.mark.long
def test_nodes_are_moved_between_waves_pinned_and_let_go() -> None:
    async def move(pilot: Drives, screen: PlanScreen) -> None:
        await press(pilot, "J")
        assert dict(screen.model.choice.plan_input.policy.pins) == {"blue-1": 2}
        view = screen.model.view
        assert view is not None and view.wave_of["blue-1"] == 2
        await press(pilot, "K")
        assert dict(screen.model.choice.plan_input.policy.pins) == {"blue-1": 1}
        await press(pilot, "p")
        assert not screen.model.choice.plan_input.policy.pins
        await press(pilot, "P")
        view = screen.model.view
        assert view is not None and view.wave_of["blue-1"] == max(view.wave_of.values()) == 2

    drive(move)


@pytest.mark.long
def test_no_key_fails_before_anything_is_read() -> None:
    async def press_all(pilot: Drives, screen: PlanScreen) -> None:
        for key in PLAN_KEYS:
            for each in key.keys.split(","):
                if key.action != "leave":
                    await pilot.press(each)
                    await pilot.press("escape")
        await pilot.pause()
        assert screen.model.error == "the server gave no answer"

    def never(progress: Progress) -> Cluster:
        raise Unreachable("the server gave no answer", "Is the VPN up?")

    drive(press_all, a_demo(never))


def test_a_key_that_does_nothing_says_why() -> None:
    async def ask(pilot: Drives, screen: PlanScreen) -> None:
        keys = {key.id: key for key in PLAN_KEYS}
        assert unavailable_reason(keys["undo"], screen.model, ScreenPage.PLAN) == "there is nothing to undo"
        assert unavailable_reason(keys["copy"], screen.model, ScreenPage.PLAN) == "on [2] and [4] only (copy the fix)"
        await press(pilot, "m", "n")
        assert (
            unavailable_reason(keys["pin"], screen.model, ScreenPage.PLAN) == "there is no plan yet: mark nodes first"
        )
        await press(pilot, "ctrl+k")
        assert any(told.startswith("ctrl+k: k9s kills with it") for told in notes_of(pilot))
        await press(pilot, "Z")
        assert "Z: there is nothing to redo" in notes_of(pilot)

    drive(ask)


def test_what_is_told_once_more_takes_the_place_of_what_was_told() -> None:
    async def insist(pilot: Drives, screen: PlanScreen) -> None:
        for _ in range(3):
            await press(pilot, "Z")
        await press(pilot, "ctrl+k", "Z")
        await pilot.pause()
        assert notes_of(pilot).count("Z: there is nothing to redo") == 1 and len(notes_of(pilot)) == 2

    drive(insist)


@pytest.mark.long
def test_what_was_named_and_is_not_there_is_said() -> None:
    async def look(pilot: Drives, screen: PlanScreen) -> None:
        assert not screen.model.choice.plan_input.marked
        assert any(text.startswith("node not found: gone") for text in notes_of(pilot))

    drive(look, a_demo(targeting=Targeting(names=("gone",))))


@pytest.mark.long
def test_marks_of_nodes_that_are_gone_go_with_them() -> None:
    times: list[int] = []

    def read(progress: Progress) -> Cluster:
        times.append(1)
        cluster = read_demo(progress)
        if len(times) == 1:
            return cluster
        return replace(cluster, nodes=tuple(node for node in cluster.nodes if node.name != "blue-3"))

    async def look(pilot: Drives, screen: PlanScreen) -> None:
        await pilot.press("ctrl+r")
        for _ in range(200):
            await pilot.pause(0.02)
            if "blue-3" not in screen.model.choice.plan_input.marked:
                break
        await planned(pilot)
        assert screen.model.choice.plan_input.marked == {f"blue-{n}" for n in (1, 2, 4, 5, 6, 7, 8)}

    drive(look, a_demo(read))


def test_q_goes_back_and_then_leaves() -> None:
    async def leave(pilot: Drives, screen: PlanScreen) -> None:
        await press(pilot, "2", "q")
        assert screen.page is ScreenPage.PLAN
        await press(pilot, "2", "3", "4", "1")
        assert screen.back_stack, "esc would lead through all of them"
        await pilot.press("q")

    assert drive(leave).return_value == 0


@pytest.mark.long
def test_old_kubelets_and_old_images() -> None:
    async def mark(pilot: Drives, screen: PlanScreen) -> None:
        await press(pilot, "m", "n", "m", "o")
        facts = screen.model.facts
        assert facts is not None
        old = {name for name, node in facts.nodes.nodes.items() if node.kubelet and node.kubelet.minor < 33}
        assert screen.model.choice.plan_input.marked == old
        assert "AMI" in str(edits.mark_group("a", screen.model, None)), "every node of the demo has its group's newest"

    drive(mark)


@pytest.mark.long
def test_in_ascii_nothing_else_is_seen() -> None:
    async def look(pilot: Drives, screen: PlanScreen) -> None:
        for key in ("1", "2", "3", "4", "equals_sign", "question_mark"):
            await press(pilot, key)
            for line in lines(pilot.app):
                assert line.isascii(), line

    drive(look, ascii=True)
