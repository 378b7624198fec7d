"""Whether pods reach the service after a fix: asked from pods, by the active probe."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kubectl_eksdoc.core.model.nodes import Node
from kubectl_eksdoc.core.plan.metadata.probing.pods import Manner
from kubectl_eksdoc.core.plan.metadata.probing.result import ProbedNode
from kubectl_eksdoc.core.rules.metadata_service import Reach
from kubectl_eksdoc.core.run.metadata.became import Became, Part
from kubectl_eksdoc.errors import ClusterError
from kubectl_eksdoc.flows.metadata_probe import prepared, probed
from kubectl_eksdoc.flows.ports import ProbeGround
from kubectl_eksdoc.flows.probe_pods import Clock

_BECAME = {Reach.REACHABLE: Became.DONE, Reach.UNKNOWN: Became.UNKNOWN}


def proofs(
    nodes: Iterable[Node],
    ground: ProbeGround,
    probe: str,
    manner: Manner,
    every: bool,
    clock: Clock,
    told: Callable[[], int],
    tell: Callable[[str], object],
) -> tuple[Part, ...]:
    """Of one node of each kind, or of `every` one. What cannot be asked is not known, and takes nothing back."""
    try:
        plan = prepared(nodes, ground, probe, manner, every=every)
        if not plan.pods:
            return (Part("pods", Became.UNKNOWN, "there is no node on which one can ask"),)
        found = probed(plan, ground, clock, told, tell)
    except ClusterError as error:
        return (Part("pods", Became.UNKNOWN, error.message),)
    parts = [_part(each) for each in found.nodes]
    if found.not_removed or found.left:
        parts.append(Part(f"ConfigMap {found.owner}", Became.UNKNOWN, "what the probe made is still there: delete it"))
    return tuple(parts)


def _part(each: ProbedNode) -> Part:
    reach, why = each.v4.reach, each.v4.why
    said = f"{reach.value}: {why}" if why else reach.value
    return Part(f"a pod on {each.node}", _BECAME.get(reach, Became.OTHER), said)
