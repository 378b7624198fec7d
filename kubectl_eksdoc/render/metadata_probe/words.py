"""The active probe in sentences."""

from __future__ import annotations

from kubectl_eksdoc.core.plan.metadata.probing.plan import ProbePlan
from kubectl_eksdoc.core.rules.metadata_service import Reach
from kubectl_eksdoc.render.metadata_probe.view import ProbeView
from kubectl_eksdoc.render.text import counted

_DO = (
    (Reach.CUT_OFF, "cut off"),
    (Reach.V1_ONLY, "answered without a token only"),
    (Reach.UNKNOWN, "not known"),
    (Reach.REACHABLE, "reached"),
)


def in_short(view: ProbeView) -> str:
    """The first line."""
    plan, probed = view.plan, view.probed
    if probed is None:
        return would(plan)
    parts = []
    for reach, what in _DO:
        count = sum(node.v4.reach is reach for node in probed.nodes)
        if count:
            parts.append(f"{what} on {count}")
    said = ", ".join(parts) or "no node could be asked"
    ended = " It was interrupted." if probed.interrupted else ""
    return f"Measured from pods on {counted(len(probed.nodes), 'node')}: the metadata service is {said}.{ended}"


def would(plan: ProbePlan) -> str:
    """What would be made."""
    if not plan.pods:
        return "No node can be probed: nothing would be made."
    namespace, deadline = plan.manner.namespace, plan.manner.deadline_s
    return (
        f"This would make {counted(len(plan.pods), 'pod')} on {counted(len(plan.nodes), 'node')}, and the ConfigMap "
        f"that owns them, in namespace {namespace}. All of it is deleted at the end; a pod that is forgotten ends by "
        f"itself after {deadline} s."
    )


def about(plan: ProbePlan) -> list[str]:
    """What somebody should know before it is made."""
    told = [f"image: {plan.manner.image}; it needs a shell and curl"]
    told.append("each pod asks for a token and the id of the instance, on IPv4 and IPv6; no credentials are read")
    told.append("they are bound to their nodes past the scheduler: none is preempted for them, no autoscaler wakes up")
    if plan.no_host:
        told.append(f"nothing runs on the network of a node: {plan.no_host}; another one: --probe-namespace NAME")
    if plan.stale:
        names = ", ".join(owner.name for owner in plan.stale)
        told.append(f"removed first, as a probe that was killed has left it: {names}")
    if plan.others:
        names = ", ".join(owner.name for owner in plan.others)
        told.append(f"left alone, as another probe may be running: {names}")
    return told
