"""TaintToleration: taints that forbid, NoSchedule and NoExecute, must be tolerated (plugins/tainttoleration).

The operators Gt and Lt of tolerations are alpha and off in 1.36: such a toleration tolerates nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.kubernetes.scheduling.refusals import SchedulerFilter, SchedulingRefusal
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.pods import Toleration

FORBIDDING = ("NoSchedule", "NoExecute")

_REFUSED = SchedulingRefusal(SchedulerFilter.TAINT_TOLERATION, ("node(s) had untolerated taint(s)",))


def tolerated(tolerations: Sequence[Toleration], node: Node) -> bool:
    return all(
        any(t.tolerates(taint.key, taint.value, taint.effect) for t in tolerations)
        for taint in node.taints
        if taint.effect in FORBIDDING
    )


def refusal(tolerations: Sequence[Toleration], node: Node) -> SchedulingRefusal | None:
    return None if tolerated(tolerations, node) else _REFUSED
