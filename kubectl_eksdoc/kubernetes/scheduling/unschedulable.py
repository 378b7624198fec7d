"""NodeUnschedulable: cordoned nodes take no pods but those that tolerate it (plugins/nodeunschedulable)."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.kubernetes.scheduling.refusals import SchedulerFilter, SchedulingRefusal
from kubectl_eksdoc.model.nodes import UNSCHEDULABLE_TAINT, Node
from kubectl_eksdoc.model.pods import Toleration

_REFUSED = SchedulingRefusal(SchedulerFilter.NODE_UNSCHEDULABLE, ("node(s) were unschedulable",))


def refusal(tolerations: Iterable[Toleration], node: Node) -> SchedulingRefusal | None:
    if not node.unschedulable:
        return None
    tolerated = any(t.tolerates(UNSCHEDULABLE_TAINT, "", "NoSchedule") for t in tolerations)
    return None if tolerated else _REFUSED
