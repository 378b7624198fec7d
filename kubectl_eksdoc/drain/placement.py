"""Effect of placement on the plan: pods without a place block their node, or wait for nodes that an autoscaler adds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import NodePool
from kubectl_eksdoc.model.connection import kubectl
from kubectl_eksdoc.model.findings import Code, Finding, Remedy, Subject, clause
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.nodes import Node, NodeOwner, Pod
from kubectl_eksdoc.model.placing import CPU
from kubectl_eksdoc.model.quantities import InvalidQuantity, nanos

from .judging import JudgedPod
from .nodes import DrainContext
from .outcome import PodVerdict
from .reservations import Adds, PodWithoutPlace, ReplacementPlaces
from .rule_results import MAX_EVIDENCE, RuleResult, where

CLUSTER_AUTOSCALER = "the Cluster Autoscaler"


class NodeProvisioning(str, Enum):
    """How a cluster that is short of room gets more nodes of one kind."""

    BY_ITSELF = "by-itself"  # an autoscaler adds them for Pending pods
    BY_HAND = "by-hand"  # no autoscaler was found
    UNKNOWN = "unknown"  # the objects that tell were not read


def growth(world: DrainContext, node: Node) -> NodeProvisioning:
    """How more nodes like this one are added."""
    if node.owner in (NodeOwner.KARPENTER, NodeOwner.AUTO_MODE):
        if world.cluster.unread(kinds.NODE_POOLS):
            return NodeProvisioning.UNKNOWN
        known = any(pool.name in node.groups for pool in world.cluster.node_pools)
        return NodeProvisioning.BY_ITSELF if known else NodeProvisioning.BY_HAND
    if node.owner in (NodeOwner.MANAGED, NodeOwner.EKSCTL, NodeOwner.SELF_MANAGED):
        running = any(b.what == CLUSTER_AUTOSCALER for found in world.needed.values() for b in found)
        return NodeProvisioning.BY_ITSELF if running else NodeProvisioning.BY_HAND
    return NodeProvisioning.BY_HAND


def adds(world: DrainContext) -> Adds:
    """A test whether one more node like a given one is added automatically, within the cpu limits of the NodePools."""
    known = {node.name: growth(world, node) for node in world.cluster.nodes}
    pools = [pool for each in world.cluster.node_pools if (pool := _pool(world, each)) is not None]

    def adds_one_more(node: Node, coming: Mapping[str, int]) -> bool:
        if known[node.name] is NodeProvisioning.BY_HAND:
            return False
        return not any(pool.is_full(node, coming) for pool in pools)

    return adds_one_more


_VERDICT = {
    NodeProvisioning.BY_HAND: PodVerdict.BLOCKED,
    NodeProvisioning.UNKNOWN: PodVerdict.UNKNOWN,
    NodeProvisioning.BY_ITSELF: PodVerdict.EVICT,
}


class AfterPlacement:
    """Verdicts on pods without a place: they wait for a new node where one that takes them is added, else they are
    blocked."""

    def __init__(self, world: DrainContext, landing: ReplacementPlaces) -> None:
        self._world = world
        self._landing = landing
        self._waiting: dict[object, RuleResult | None] = {}  # by the reasons and the node that would help

    def judged(self, pod: JudgedPod) -> JudgedPod:
        """`pod` after placement: unchanged where it has a place."""
        homeless = self._landing.homeless.get(pod.pod.uid)
        if homeless is None:
            return pod
        like = homeless.helped_by
        if like is None:
            return self._without_help(pod, homeless)
        key = homeless.reasons, like.name, homeless.comes
        if key not in self._waiting:
            self._waiting[key] = self._waits(homeless, like)
        said = self._waiting[key]
        if said is None:
            return self._without_help(pod, homeless)
        return JudgedPod(pod.pod, said.verdict, (*pod.said, said), pod.guards)

    def _waits(self, homeless: PodWithoutPlace, like: Node) -> RuleResult | None:
        """The result of such pods; None where each of them has its own finding."""
        comes = growth(self._world, like) if homeless.comes else NodeProvisioning.BY_HAND
        if (self._landing.blind and comes is not NodeProvisioning.BY_ITSELF) or _own_kind(self._world, like):
            return None
        # One finding about all of them counts the missing nodes.
        reason = f"its replacement needs a new node: {_refused(homeless)}"
        return RuleResult(_VERDICT[comes], reason, Code.of("needs-nodes"), remedy=(_add(like),))

    def _without_help(self, pod: JudgedPod, homeless: PodWithoutPlace) -> JudgedPod:
        if self._landing.blind:
            return _with(pod, PodVerdict.UNKNOWN, _blind(self._world, pod.pod, self._landing.blind))
        like = homeless.helped_by
        remedy = (Remedy.of("no-node-helps") if like is None else Remedy.of("more-of-its-kind", node=like.name),)
        subject, evidence = self._world.owner_subject(pod.pod), (where(pod.pod),)
        finding = Finding.of("no-place", subject, evidence, remedy=remedy, reasons=_refused(homeless))
        return _with(pod, PodVerdict.BLOCKED, finding)


def _refused(homeless: PodWithoutPlace) -> str:
    return "; ".join(f"{count} × {reason}" for reason, count in homeless.reasons) or "there is no other node"


def _with(pod: JudgedPod, verdict: PodVerdict, finding: Finding) -> JudgedPod:
    said = RuleResult(verdict, finding.message, finding.code, finding, finding.remedy)
    return JudgedPod(pod.pod, verdict, (*pod.said, said), pod.guards)


def _blind(world: DrainContext, pod: Pod, nodes: Sequence[str]) -> Finding:
    shown = ", ".join(nodes[:MAX_EVIDENCE])
    return Finding.of(
        "placement-unsure/blind",
        world.owner_subject(pod),
        (where(pod),),
        shown=shown,
        command=kubectl("describe", "node", nodes[0]),
    )


def _own_kind(world: DrainContext, like: Node) -> bool:
    """Whether only a node like those being drained would help, and none is added automatically.

    Where drained nodes are replaced, the new nodes are such nodes.
    """
    if world.policy.surge is not None:
        return False
    return growth(world, like) is NodeProvisioning.BY_HAND and like.name in world.pods_on


def _add(like: Node) -> Remedy:
    what = " ".join(part for part in (like.instance_type, f"in {like.zone}" if like.zone else "") if part)
    return Remedy.of("add-nodes", node=like.name, what=what)


def findings(world: DrainContext, landing: ReplacementPlaces) -> Iterable[Finding]:
    """Findings about the placement as a whole: how many nodes are missing, and which pods could not be judged."""
    known = {node.name: node for node in world.cluster.nodes}
    for comes in (NodeProvisioning.BY_ITSELF, NodeProvisioning.UNKNOWN):
        copies = {name: count for name, count in landing.coming.items() if growth(world, known[name]) is comes}
        if copies:
            yield _new_nodes(world, landing, copies, comes)
    missing = {name: count for name, count in landing.missing.items() if not _own_kind(world, known[name])}
    if missing:
        yield _new_nodes(world, landing, missing, NodeProvisioning.BY_HAND)
    yield from _unsure(world, landing)


_WHICH = "unsure which pods wait: that depends on the order in which kube-scheduler places them (mayBePending)"


def _new_nodes(
    world: DrainContext, landing: ReplacementPlaces, copies: Mapping[str, int], comes: NodeProvisioning
) -> Finding:
    wanted = comes is not NodeProvisioning.BY_HAND
    helped = [
        h
        for h in landing.homeless.values()
        if h.helped_by is not None and h.comes is wanted and h.helped_by.name in copies
    ]
    each = ", ".join(clause("needs-nodes/kind", name=name, count=count) for name, count in sorted(copies.items()))
    which = (_WHICH,) if any(h.pod.uid in landing.tight for h in helped) else ()
    full = "" if wanted else _full_pools(world, landing, copies)
    return Finding.of(
        "needs-nodes/pool-unread"
        if comes is NodeProvisioning.UNKNOWN
        else "needs-nodes/come"
        if wanted
        else "needs-nodes/pool-full"
        if full
        else "needs-nodes/by-hand"
        if world.policy.surge is None
        else "needs-nodes/surge",
        Subject("Cluster", "cluster"),
        (*(where(h.pod) for h in helped[:MAX_EVIDENCE]), *which),
        new=sum(copies.values()),
        pods=len(helped),
        each=each,
        pools=full or "; ".join(_limits(pool) for pool in world.cluster.node_pools if pool.limits),
        surge=(world.policy.surge or 0) + 1,
    )


def _limits(pool: NodePool) -> str:
    return f"NodePool {pool.name} is limited to {', '.join(f'{resource} {amount}' for resource, amount in pool.limits)}"


@frozen
class _Pool:
    """A NodePool with a cpu limit, in millicores. `used_cpu`: allocatable cpu of its nodes, which counts as used."""

    name: str
    limit: str
    used: int
    most: int
    cpu_of: Mapping[str, int]  # node name → millicores

    def is_full(self, node: Node, coming: Mapping[str, int]) -> bool:
        """Whether the limit does not allow one more node like `node`."""
        if node.name not in self.cpu_of:
            return False
        more = sum(count * self.cpu_of.get(name, 0) for name, count in coming.items())
        return self.used + more + self.cpu_of[node.name] > self.most


def _pool(world: DrainContext, pool: NodePool) -> _Pool | None:
    limit = dict(pool.limits).get(CPU, "")
    try:
        most = nanos(limit) // 1_000_000
    except InvalidQuantity:
        return None  # no limit, or one that no API server would accept
    own = {n.name: n.allocatable.get(CPU, 0) for n in world.cluster.nodes if pool.name in n.groups}
    return _Pool(pool.name, limit, sum(own.values()), most, own)


def _full_pools(world: DrainContext, landing: ReplacementPlaces, copies: Mapping[str, int]) -> str:
    """The first NodePool whose cpu limit does not allow these nodes, as a clause; "" if none."""
    known = {node.name: node for node in world.cluster.nodes}
    for each in world.cluster.node_pools:
        pool = _pool(world, each)
        if pool is not None and any(pool.is_full(known[name], landing.coming) for name in copies):
            return f"NodePool {pool.name} is limited to cpu {pool.limit} and has about {pool.used // 1000} in use"
    return ""


def _unsure(world: DrainContext, landing: ReplacementPlaces) -> Iterable[Finding]:
    pods = {pod.uid: pod for on in world.pods_on.values() for pod in on} if landing.unsure else {}
    for uid, why in sorted(landing.unsure.items()):
        pod = pods.get(uid)
        if pod is not None:
            yield Finding.of(
                "placement-unsure/unsure",
                world.owner_subject(pod),
                (where(pod),),
                why="; ".join(why),
                lacking=", ".join(r.resource.full_name for r in world.cluster.unread(*_read_for(pod))),
                command=kubectl("get", "pod", pod.name, pod.namespace, "-o", "yaml"),
            )


def _read_for(pod: Pod) -> tuple[Resource, ...]:
    """The kinds that decide where the pod can be scheduled, in addition to nodes and pods."""
    return (*_READ_FOR_VOLUMES, kinds.NAMESPACES) if pod.volumes else (kinds.NAMESPACES,)


_READ_FOR_VOLUMES = (
    kinds.CLAIMS,
    kinds.VOLUMES,
    kinds.STORAGE_CLASSES,
    kinds.CSI_NODES,
    kinds.VOLUME_ATTACHMENTS,
)
