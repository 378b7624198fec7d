"""What leads the eye: words in the place of codes, old versions in colour, and what is in the way before any mark."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.drain.nodes import behind, older_images
from kubectl_eksdoc.drain.outcome import BudgetVerdict
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import ReadState
from kubectl_eksdoc.render.drain import plan
from kubectl_eksdoc.render.text import Cell, Tone
from kubectl_eksdoc.tui.sheets import budgets, nodes
from kubectl_eksdoc.tui.sheets.pods import text_of
from tests.builders import a_node
from tests.tui.lives import DEMO
from tests.tui.test_rights import without

FACTS = nodes.facts_of(DEMO)


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


@pytest.mark.parametrize("state", [ReadState.FORBIDDEN, ReadState.FAILED])
def test_budgets_that_were_not_read_are_not_called_open(state: ReadState) -> None:
    sheet = budgets.closed_sheet(without(DEMO, kinds.BUDGETS, state=state))
    assert sheet is not None and "could not be read" in sheet.empty
    opened = replace(DEMO, budgets=tuple(b for b in DEMO.budgets if b.status.allowed))
    assert budgets.closed_sheet(opened) is None
    never = replace(DEMO, budgets=(replace(DEMO.budgets[0], generation=1, observed_generation=0),))
    sheet = budgets.closed_sheet(never)
    assert sheet is not None and [text_of(cell)[:1] for cell in sheet.cells(DEMO.budgets[0].key)[2:]] == ["?", "?"]
