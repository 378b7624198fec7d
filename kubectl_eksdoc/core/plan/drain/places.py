"""What landing means for the plan: pods without a place block their node, or wait for nodes that an autoscaler adds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kubectl_eksdoc.core.model import codes, kinds
from kubectl_eksdoc.core.model.cluster import NodePool
from kubectl_eksdoc.core.model.findings import Finding, Remedy, Severity, Status, Subject
from kubectl_eksdoc.core.model.nodes import Node, NodeOwner
from kubectl_eksdoc.core.plan.drain.commands import kubectl
from kubectl_eksdoc.core.plan.drain.judging import JudgedPod
from kubectl_eksdoc.core.plan.drain.landing import Homeless, Landing
from kubectl_eksdoc.core.plan.drain.pods import where
from kubectl_eksdoc.core.plan.drain.result import PodVerdict
from kubectl_eksdoc.core.plan.drain.said import MAX_EVIDENCE, Said
from kubectl_eksdoc.core.plan.drain.survey import Survey

CLUSTER_AUTOSCALER = "the Cluster Autoscaler"


def comes_by_itself(world: Survey, node: Node) -> bool:
    """Whether something here adds nodes like this one for Pending pods."""
    if node.owner is NodeOwner.KARPENTER:
        return any(pool.name in node.groups for pool in world.cluster.node_pools)
    if node.owner in (NodeOwner.MANAGED, NodeOwner.EKSCTL, NodeOwner.SELF_MANAGED):
        return any(b.what == CLUSTER_AUTOSCALER for found in world.needed.values() for b in found)
    return False


def judged(world: Survey, pod: JudgedPod, homeless: Homeless) -> JudgedPod:
    """`pod` after landing: it waits for a new node where something adds one that takes it, else it is blocked."""
    refused = "; ".join(f"{count} × {reason}" for reason, count in homeless.reasons) or "there is no other node"
    like = homeless.helped_by
    if like is not None:  # the finding about all of them tells how many nodes are missing
        waits = comes_by_itself(world, like)
        verdict = pod.verdict if waits else PodVerdict.BLOCKED
        said = Said(verdict, f"its replacement needs a new node: {refused}", codes.NEEDS_NODES, remedy=(_add(like),))
        return JudgedPod(pod.pod, verdict, (*pod.said, said))
    message = f"its replacements find no place: {refused}"
    remedy = (NO_NODE_HELPS,)
    subject = world.owner_subject(pod.pod)
    finding = Finding(codes.NO_PLACE, Severity.HIGH, Status.FAIL, subject, message, (where(pod.pod),), remedy)
    said = Said(PodVerdict.BLOCKED, message, codes.NO_PLACE, finding, remedy)
    return JudgedPod(pod.pod, PodVerdict.BLOCKED, (*pod.said, said))


NO_NODE_HELPS = Remedy(
    "No new node of the kinds that are there helps: change what the pods ask for (selector, affinity, volume), or "
    "leave their nodes out."
)


def _add(like: Node) -> Remedy:
    what = " ".join(part for part in (like.instance_type, f"in {like.zone}" if like.zone else "") if part)
    return Remedy(f"Add nodes such as {like.name}{f' ({what})' if what else ''} first, outside the targets.")


def findings(world: Survey, landing: Landing) -> Iterable[Finding]:
    """What to say of the landing as a whole: how many nodes are missing, and what could not be told."""
    known = {node.name: node for node in world.cluster.nodes}
    for by_itself in (True, False):
        copies = {n: c for n, c in landing.new_nodes.items() if comes_by_itself(world, known[n]) is by_itself}
        if copies:
            yield _missing_nodes(world, landing, copies, by_itself)
    yield from _unsure(world, landing)


def _missing_nodes(world: Survey, landing: Landing, copies: Mapping[str, int], by_itself: bool) -> Finding:
    helped = [h for h in landing.homeless.values() if h.helped_by is not None and h.helped_by.name in copies]
    each = ", ".join(f"{count} such as {name}" for name, count in sorted(copies.items()))
    if by_itself:
        limits = "; ".join(_limits(pool) for pool in world.cluster.node_pools if pool.limits)
        text = f"They come when pods are Pending{f' ({limits})' if limits else ''}. To be sure, have them Ready before."
    else:
        text = "Nothing that was seen here adds such nodes: add them, outside the targets, and plan again."
    return Finding(
        codes.NEEDS_NODES,
        Severity.HIGH,
        Status.PASS if by_itself else Status.FAIL,
        Subject("Cluster", "cluster"),
        f"{_nodes(sum(copies.values()))} needed for {len(helped)} of the pods to evict: {each}",
        tuple(where(h.pod) for h in helped[:MAX_EVIDENCE]),
        (Remedy(text),),
    )


def _nodes(count: int) -> str:
    return "1 new node is" if count == 1 else f"{count} new nodes are"


def _limits(pool: NodePool) -> str:
    return f"NodePool {pool.name} is limited to {', '.join(f'{resource} {amount}' for resource, amount in pool.limits)}"


def _unsure(world: Survey, landing: Landing) -> Iterable[Finding]:
    for uid, why in sorted(landing.unsure.items()):
        pod = world.pod(uid)
        if pod is not None:
            yield Finding(
                codes.LANDING_UNSURE,
                Severity.LOW,
                Status.UNKNOWN,
                world.owner_subject(pod),
                f"cannot tell for certain whether its replacements find a node: {'; '.join(why)}",
                (where(pod),),
                (Remedy("See where its pods may run.", kubectl("get", "pod", pod.name, pod.namespace, "-o", "yaml")),),
                missing=", ".join(r.resource.full_name for r in world.cluster.unread(*_READ)) or "a rule of its own",
            )


_READ = (kinds.CLAIMS, kinds.VOLUMES, kinds.STORAGE_CLASSES, kinds.NAMESPACES)
