"""What leads the eye: words in the place of codes, old versions in colour, and what is in the way before any mark."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.pilot import Pilot

from kubectl_eksdoc.drain.nodes import behind, older_images
from kubectl_eksdoc.drain.outcome import BudgetVerdict
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import ReadState
from kubectl_eksdoc.render.drain import plan
from kubectl_eksdoc.render.text import Cell, Tone
from kubectl_eksdoc.tui.screen import PlanScreen
from kubectl_eksdoc.tui.sheets import budgets, nodes
from kubectl_eksdoc.tui.sheets.pods import text_of
from tests.builders import a_node
from tests.tui.lives import DEMO
from tests.tui.pilots import NARROW, drive, lines, press
from tests.tui.test_rights import without

FACTS = nodes.facts_of(DEMO)


def test_status_says_in_words_what_keeps_a_node_and_how_much_more_does() -> None:
    async def look(pilot: Pilot[int], screen: PlanScreen) -> None:
        shown = "\n".join(lines(pilot.app))
        assert "✗ emptyDir data +2" in shown and "✗ bare pod, several PDBs +1" in shown and "pod-emptydir" not in shown

    drive(look, size=NARROW)


def test_a_code_without_words_is_shown_as_it_is() -> None:
    assert plan.in_brief("pod-emptydir") == "emptyDir data" and plan.in_brief("release-note") == "release-note"
    assert plan.in_brief("no-such-code") == "no-such-code"
    assert set(plan._BUDGET_WORDS) == set(BudgetVerdict)


def test_a_kubelet_behind_the_control_plane_and_an_ami_that_is_not_the_newest_of_its_group_are_in_colour() -> None:
    cells = nodes.sheet(FACTS, tuple(FACTS.texts), None).cells
    assert cells("blue-1")[4] == Cell("v1.32.3!", Tone.WARN) and cells("green-1")[4] == "v1.33.1"
    assert behind(DEMO.nodes, "") == frozenset(), "not known is not old"
    when = DEMO.observed_at
    image = "eks.amazonaws.com/nodegroup-image"
    made = [
        a_node(f"n-{at}", created_at=when.replace(day=at), labels={image: f"ami-{of}"})
        for at, of in ((1, "old"), (2, "new"), (3, "new"))
    ]
    assert older_images(made) == {"n-1"} and older_images(made[1:]) == frozenset()
    old = nodes.facts_of(replace(DEMO, nodes=tuple(made)))
    assert nodes.sheet(old, ("n-1",), None).cells("n-1")[5] == Cell("…mi-old!", Tone.WARN)
    twins = [
        a_node(f"n-{minor}", created_at=when, version=f"v1.{minor}.1", labels={image: f"ami-{minor}"})
        for minor in (32, 33)
    ]
    assert older_images(twins) == older_images(twins[::-1]) == {"n-32"}


def test_before_any_mark_the_budgets_that_let_no_pod_go_are_shown() -> None:
    async def look(pilot: Pilot[int], screen: PlanScreen) -> None:
        await press(pilot, "m", "n")
        shown = "\n".join(lines(pilot.app))
        assert "PDBs that allow no eviction now" in shown and "shop/sale" in shown and "shop/checkout" not in shown
        await press(pilot, "2")
        assert "shop/thumbnails" in "\n".join(lines(pilot.app))

    drive(look)


@pytest.mark.parametrize("state", [ReadState.FORBIDDEN, ReadState.FAILED])
def test_budgets_that_were_not_read_are_not_called_open(state: ReadState) -> None:
    sheet = budgets.closed_sheet(without(DEMO, kinds.BUDGETS, state=state))
    assert sheet is not None and "could not be read" in sheet.empty
    opened = replace(DEMO, budgets=tuple(b for b in DEMO.budgets if b.status.allowed))
    assert budgets.closed_sheet(opened) is None
    never = replace(DEMO, budgets=(replace(DEMO.budgets[0], generation=1, observed_generation=0),))
    sheet = budgets.closed_sheet(never)
    assert sheet is not None and [text_of(cell)[:1] for cell in sheet.cells(DEMO.budgets[0].key)[2:]] == ["?", "?"]


def test_compare_is_with_the_plan_that_one_opened_with() -> None:
    async def look(pilot: Pilot[int], screen: PlanScreen) -> None:
        await press(pilot, *("left_curly_bracket",) * 6, "equals_sign")
        shown = "\n".join(lines(pilot.app))
        assert screen.model.pinned is not screen.model.planned
        assert any(
            "time, p50" in line and "2m16s" in line and not line.rstrip(" │").endswith("=") for line in lines(pilot.app)
        ), shown

    drive(look)
