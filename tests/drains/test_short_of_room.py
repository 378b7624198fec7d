"""Too little room for all pods: what can be emptied is emptied, what is missing is said before anything is done."""

from __future__ import annotations

from kubectl_eksdoc.model.findings import Code
from tests.drains import virtual
from tests.drains.bound import announced
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
