"""NodeName: a pod created with spec.nodeName runs there or nowhere (plugins/nodename)."""

from __future__ import annotations

from kubectl_eksdoc.kubernetes.scheduling.refusals import SchedulerFilter, SchedulingRefusal
from kubectl_eksdoc.model.nodes import Node

_REFUSED = SchedulingRefusal(SchedulerFilter.NODE_NAME, ("node(s) didn't match the requested node name",))


def refusal(wanted: str, node: Node) -> SchedulingRefusal | None:
    """`wanted` is "" for a pod that leaves the choice to the scheduler."""
    return _REFUSED if wanted and wanted != node.name else None
