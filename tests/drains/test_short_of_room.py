"""Too little room for all pods: what can be emptied is emptied, what is missing is said before anything is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubectl_eksdoc.model.findings import Code
from tests import needed
from tests.drains import virtual
from tests.drains.bound import announced
from tests.drains.drainers import all_at_once, ours, served
from tests.drains.shapes import ROOM, Shape, large

NEW = 3
MISSING = "3 new nodes are needed for 79 of the targets' pods: 3 such as new-0"


def most(shape: Shape) -> int:
    """Nodes that can be emptied into the new ones at all: the smallest first."""
    room, counts = shape.new * ROOM, sorted(shape.of(node) for node in shape.old_nodes)
    return max(number for number in range(shape.old + 1) if sum(counts[:number]) <= room)


def test_what_can_be_emptied_is_emptied_and_nothing_else_is_begun() -> None:
    shape = large(NEW)
    ran = virtual.run(shape)
    plan, watched = ran.plan, ran.watched
    assert [(each.code, each.message) for each in plan.blockers] == [(Code.of("needs-nodes"), MISSING)]
    assert all(target.why for target in plan.skipped) and announced(plan) == 0
    assert ran.ended.whole and ran.refused == 0, "of what the plan drains"
    assert len(watched.empty()) == len(plan.targets) - len(plan.skipped) == most(shape) == 7
    assert watched.half() == [] and watched.again == []
    assert watched.pending == [] and watched.unscheduled == {}


@pytest.mark.waits
@pytest.mark.long
def test_it_is_said_before_anything_is_done(tmp_path: Path) -> None:
    """The command line over HTTP."""
    with served(large(NEW), tmp_path / "home", speed=6) as world:
        drained = ours(world, 7)
        said, _, _ = drained.err.partition("journal in namespace")
        assert drained.codes == (1,), "some nodes were left out by the plan"
        assert MISSING in " ".join(said.split())
        assert len(world.watched.empty()) == 7 and world.watched.half() == []
        assert world.watched.pending == [] and world.watched.again == []
        assert world.counted.refused_share <= 0.01


@pytest.mark.waits
@pytest.mark.long
def test_kubectl_ends_with_pods_without_a_node_and_nodes_half_drained(tmp_path: Path) -> None:
    """All nodes at once, each given up after 75 s: on enough room that is enough for all of them."""
    kubectl = needed.kubectl_of(needed.KUBECTLS[-1])
    with served(large(NEW), tmp_path / "home") as world:
        drained = all_at_once(kubectl, 75.0)(world)
        assert 1 in drained.codes and len(world.watched.empty()) < 7, "ours empties 7; kubectl, by chance, one or none"
        assert len(world.watched.half()) >= 6 and len(world.watched.pending) > 5
        assert sum(half.left for half in world.watched.half()) > 50
        assert world.counted.refused > 500
