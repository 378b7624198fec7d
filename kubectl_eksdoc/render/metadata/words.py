"""The metadata service in sentences."""

from __future__ import annotations

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.nodes import NodeOwner
from kubectl_eksdoc.core.plan.metadata.affected import Effect
from kubectl_eksdoc.core.plan.metadata.groups import NodesAlike
from kubectl_eksdoc.core.plan.metadata.plan import GroupPlan, MetadataPlan
from kubectl_eksdoc.core.rules.metadata_service import Reach
from kubectl_eksdoc.render.text import counted

_KINDS = {
    NodeOwner.MANAGED: "managed node group",
    NodeOwner.EKSCTL: "eksctl's node group",
    NodeOwner.KARPENTER: "NodePool",
    NodeOwner.AUTO_MODE: "Auto Mode NodePool",
    NodeOwner.FARGATE: "Fargate",
    NodeOwner.HYBRID: "hybrid nodes",
    NodeOwner.SELF_MANAGED: "self-managed nodes",
}
_DO = {
    Reach.REACHABLE: "reach it",
    Reach.V1_ONLY: "get no token, and are answered without one only",
    Reach.CUT_OFF: "are cut off",
    Reach.UNKNOWN: "may or may not reach it",
}


def group_name(alike: NodesAlike) -> str:
    """``managed node group blue``."""
    return " ".join(filter(None, (_KINDS[alike.owner], alike.name or alike.scaling_group)))


def in_short(plan: MetadataPlan) -> str:
    """The first line."""
    if not plan.groups:
        return "No nodes: nothing to reach an instance metadata service from."
    nodes = sum(len(group.alike.nodes) for group in plan.groups)
    cut = _nodes(plan, Reach.CUT_OFF)
    parts = [
        f"Pods on {cut} of {counted(nodes, 'node')} are cut off from the instance metadata service"
        if cut
        else f"Pods on none of {counted(nodes, 'node')} are known to be cut off from the instance metadata service"
    ]
    for reach, text in ((Reach.V1_ONLY, "they are answered without a token only"), (Reach.UNKNOWN, "it is not known")):
        count = _nodes(plan, reach)
        if count:
            parts.append(f"on {count} {text}")
    without = sum(len(group.alike.nodes) for group in plan.groups if group.alike.now.options is None)
    if without:
        parts.append(f"{without} {'has' if without == 1 else 'have'} none")
    return f"{', '.join(parts)}; {pods(plan)}."


def _nodes(plan: MetadataPlan, reach: Reach) -> int:
    """Without those that never had any: Fargate's and hybrid ones."""
    groups = (group.alike for group in plan.groups if group.alike.now.options is not None)
    return sum(len(alike.nodes) for alike in groups if alike.here.reach is reach)


def pods(plan: MetadataPlan) -> str:
    """``2 pods are broken now, 1 will break, 31 may need it``."""
    broken, breaking, possible, _ = (sum(len(group.of(each)) for group in plan.groups) for each in Effect)
    found = []
    if broken:
        found.append(f"{counted(broken, 'pod')} {'is' if broken == 1 else 'are'} broken now")
    if breaking:
        found.append(f"{counted(breaking, 'pod')} will break")
    if possible:
        found.append(f"{counted(possible, 'pod')} may need it")
    return ", ".join(found) or _unaffected(plan)


def _unaffected(plan: MetadataPlan) -> str:
    """Where pods are cut off and have what they need otherwise, that is no fault."""
    recommended = ", which is what AWS recommends for pods with roles of their own"
    cut = any(group.alike.here.reach is Reach.CUT_OFF and group.alike.now.options is not None for group in plan.groups)
    return f"no pod is known to be affected{recommended if cut else ''}"


def sentence(group: GroupPlan) -> str:
    """All of one group: what its pods find, whose doing that is, and what the next node brings."""
    alike = group.alike
    head = f"{group_name(alike)} ({counted(len(alike.nodes), 'node')})"
    if alike.now.options is None:
        return f"{head}: there is none, as {alike.now.by}."
    here = f"{head}: pods {_DO[alike.here.reach]}, as {alike.here.why}"
    return f"{here}{_cause(alike)}. {_next(alike)}"


def _cause(alike: NodesAlike) -> str:
    if isinstance(alike.now.options, Unknown) or isinstance(alike.next.options, Unknown):
        return ""
    if alike.by_hand:
        return "; what makes them would give other options today"
    return f" (by {alike.next.by})"


def _next(alike: NodesAlike) -> str:
    if alike.next.options is None or alike.later.reach is Reach.UNKNOWN:
        return f"The next node: not known, as {alike.later.why}."
    if not alike.by_hand and not isinstance(alike.now.options, Unknown):
        return "The next node will be the same."
    how = "still " if alike.later.reach is alike.here.reach else ""
    return f"On the next node they {how}{_DO[alike.later.reach]}, as {alike.later.why} (by {alike.next.by})."
