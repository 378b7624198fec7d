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
from kubectl_eksdoc.model.placement import CPU
from kubectl_eksdoc.model.quantities import InvalidQuantity, nanos

from .judging import JudgedPod
from .nodes import DrainContext
from .outcome import PodVerdict
from .reservations import NodeAdder, ReplacementPlaces, UnplacedPod
from .rule_results import MAX_EVIDENCE, RuleResult, evidence_line

CLUSTER_AUTOSCALER = "the Cluster Autoscaler"


class NodeProvisioning(str, Enum):
    """How a cluster that is short of room gets more nodes of one kind."""

    BY_ITSELF = "by-itself"  # an autoscaler adds them for Pending pods
    BY_HAND = "by-hand"  # no autoscaler was found
    UNKNOWN = "unknown"  # the objects that tell were not read


def node_provisioning(context: DrainContext, node: Node) -> NodeProvisioning:
    """How more nodes like this one are added."""
    if node.owner in (NodeOwner.KARPENTER, NodeOwner.AUTO_MODE):
        if context.cluster.not_read(kinds.NODE_POOLS):
            return NodeProvisioning.UNKNOWN
        pool_exists = any(pool.name in node.groups for pool in context.cluster.node_pools)
        return NodeProvisioning.BY_ITSELF if pool_exists else NodeProvisioning.BY_HAND
    if node.owner in (NodeOwner.MANAGED, NodeOwner.EKSCTL, NodeOwner.SELF_MANAGED):
        autoscaler_runs = any(
            backend.what == CLUSTER_AUTOSCALER for backends in context.needed_backends.values() for backend in backends
        )
        return NodeProvisioning.BY_ITSELF if autoscaler_runs else NodeProvisioning.BY_HAND
    return NodeProvisioning.BY_HAND


def node_adder(context: DrainContext) -> NodeAdder:
    """A test whether one more node like a given one is added automatically, within the cpu limits of the NodePools."""
    provisioning = {node.name: node_provisioning(context, node) for node in context.cluster.nodes}
    pools = [pool for each in context.cluster.node_pools if (pool := _limited_pool(context, each)) is not None]

    def can_add_node(node: Node, new_nodes: Mapping[str, int]) -> bool:
        if provisioning[node.name] is NodeProvisioning.BY_HAND:
            return False
        return not any(pool.is_full(node, new_nodes) for pool in pools)

    return can_add_node


_VERDICT = {
    NodeProvisioning.BY_HAND: PodVerdict.BLOCKED,
    NodeProvisioning.UNKNOWN: PodVerdict.UNKNOWN,
    NodeProvisioning.BY_ITSELF: PodVerdict.EVICT,
}


class PlacementJudge:
    """Verdicts on pods without a place: they wait for a new node where one that takes them is added, else they are
    blocked."""

    def __init__(self, context: DrainContext, placement: ReplacementPlaces) -> None:
        self._context = context
        self._placement = placement
        self._waiting: dict[object, RuleResult | None] = {}  # by the reasons and the node that would help

    def judge(self, pod: JudgedPod) -> JudgedPod:
        """`pod` after placement: unchanged where it has a place."""
        unplaced = self._placement.unplaced.get(pod.pod.uid)
        if unplaced is None:
            return pod
        template = unplaced.template_node
        if template is None:
            return self._blocked_pod(pod, unplaced)
        key = unplaced.reasons, template.name, unplaced.is_provisioned
        if key not in self._waiting:
            self._waiting[key] = self._waiting_result(unplaced, template)
        result = self._waiting[key]
        if result is None:
            return self._blocked_pod(pod, unplaced)
        return JudgedPod(pod.pod, result.verdict, (*pod.results, result), pod.budgets)

    def _waiting_result(self, unplaced: UnplacedPod, template: Node) -> RuleResult | None:
        """The result of such pods; None where each of them has its own finding."""
        provisioning = (
            node_provisioning(self._context, template) if unplaced.is_provisioned else NodeProvisioning.BY_HAND
        )
        if (
            self._placement.unknown_capacity and provisioning is not NodeProvisioning.BY_ITSELF
        ) or _only_target_nodes_help(self._context, template):
            return None
        # One finding about all of them counts the missing nodes.
        reason = f"its replacement needs a new node: {_refusal_text(unplaced)}"
        return RuleResult(_VERDICT[provisioning], reason, Code.of("needs-nodes"), remedy=(_add_nodes_remedy(template),))

    def _blocked_pod(self, pod: JudgedPod, unplaced: UnplacedPod) -> JudgedPod:
        if self._placement.unknown_capacity:
            return _with_finding(
                pod,
                PodVerdict.UNKNOWN,
                _unknown_capacity_finding(self._context, pod.pod, self._placement.unknown_capacity),
            )
        template = unplaced.template_node
        remedy = (
            Remedy.of("no-node-helps") if template is None else Remedy.of("more-of-its-kind", node=template.name),
        )
        subject, evidence = self._context.owner_subject(pod.pod), (evidence_line(pod.pod),)
        finding = Finding.of("no-place", subject, evidence, remedy=remedy, reasons=_refusal_text(unplaced))
        return _with_finding(pod, PodVerdict.BLOCKED, finding)


def _refusal_text(unplaced: UnplacedPod) -> str:
    return "; ".join(f"{count} × {reason}" for reason, count in unplaced.reasons) or "there is no other node"


def _with_finding(pod: JudgedPod, verdict: PodVerdict, finding: Finding) -> JudgedPod:
    result = RuleResult(verdict, finding.message, finding.code, finding, finding.remedy)
    return JudgedPod(pod.pod, verdict, (*pod.results, result), pod.budgets)


def _unknown_capacity_finding(context: DrainContext, pod: Pod, nodes: Sequence[str]) -> Finding:
    names_text = ", ".join(nodes[:MAX_EVIDENCE])
    return Finding.of(
        "placement-unsure/blind",
        context.owner_subject(pod),
        (evidence_line(pod),),
        shown=names_text,
        command=kubectl("describe", "node", nodes[0]),
    )


def _only_target_nodes_help(context: DrainContext, template: Node) -> bool:
    """Whether only a node like those being drained would help, and none is added automatically.

    Where drained nodes are replaced, the new nodes are such nodes.
    """
    if context.policy.surge is not None:
        return False
    return node_provisioning(context, template) is NodeProvisioning.BY_HAND and template.name in context.pods_on


def _add_nodes_remedy(template: Node) -> Remedy:
    description = " ".join(
        part for part in (template.instance_type, f"in {template.zone}" if template.zone else "") if part
    )
    return Remedy.of("add-nodes", node=template.name, what=description)


def placement_findings(context: DrainContext, placement: ReplacementPlaces) -> Iterable[Finding]:
    """Findings about the placement as a whole: how many nodes are missing, and which pods could not be judged."""
    nodes_by_name = {node.name: node for node in context.cluster.nodes}
    for provisioning in (NodeProvisioning.BY_ITSELF, NodeProvisioning.UNKNOWN):
        copies = {
            name: count
            for name, count in placement.provisioned_nodes.items()
            if node_provisioning(context, nodes_by_name[name]) is provisioning
        }
        if copies:
            yield _new_nodes_finding(context, placement, copies, provisioning)
    missing = {
        name: count
        for name, count in placement.missing_nodes.items()
        if not _only_target_nodes_help(context, nodes_by_name[name])
    }
    if missing:
        yield _new_nodes_finding(context, placement, missing, NodeProvisioning.BY_HAND)
    yield from _uncertain_findings(context, placement)


_WHICH_PODS_WAIT = (
    "unsure which pods wait: that depends on the order in which kube-scheduler places them (mayBePending)"
)


def _new_nodes_finding(
    context: DrainContext, placement: ReplacementPlaces, copies: Mapping[str, int], provisioning: NodeProvisioning
) -> Finding:
    is_provisioned = provisioning is not NodeProvisioning.BY_HAND
    helped_pods = [
        unplaced
        for unplaced in placement.unplaced.values()
        if unplaced.template_node is not None
        and unplaced.is_provisioned is is_provisioned
        and unplaced.template_node.name in copies
    ]
    nodes_text = ", ".join(clause("needs-nodes/kind", name=name, count=count) for name, count in sorted(copies.items()))
    evidence = (
        (_WHICH_PODS_WAIT,) if any(unplaced.pod.uid in placement.may_be_pending for unplaced in helped_pods) else ()
    )
    full_pool = "" if is_provisioned else _full_pool_text(context, placement, copies)
    return Finding.of(
        "needs-nodes/pool-unread"
        if provisioning is NodeProvisioning.UNKNOWN
        else "needs-nodes/come"
        if is_provisioned
        else "needs-nodes/pool-full"
        if full_pool
        else "needs-nodes/by-hand"
        if context.policy.surge is None
        else "needs-nodes/surge",
        Subject("Cluster", "cluster"),
        (*(evidence_line(unplaced.pod) for unplaced in helped_pods[:MAX_EVIDENCE]), *evidence),
        new=sum(copies.values()),
        pods=len(helped_pods),
        each=nodes_text,
        pools=full_pool or "; ".join(_limits_text(pool) for pool in context.cluster.node_pools if pool.limits),
        surge=(context.policy.surge or 0) + 1,
    )


def _limits_text(pool: NodePool) -> str:
    return f"NodePool {pool.name} is limited to {', '.join(f'{resource} {amount}' for resource, amount in pool.limits)}"


@frozen
class _LimitedPool:
    """A NodePool with a cpu limit, in millicores. `used_cpu`: allocatable cpu of its nodes, which counts as used."""

    name: str
    limit: str
    used_cpu: int
    max_cpu: int
    cpu_of: Mapping[str, int]  # node name → millicores

    def is_full(self, node: Node, new_nodes: Mapping[str, int]) -> bool:
        """Whether the limit does not allow one more node like `node`."""
        if node.name not in self.cpu_of:
            return False
        added_millicores = sum(count * self.cpu_of.get(name, 0) for name, count in new_nodes.items())
        return self.used_cpu + added_millicores + self.cpu_of[node.name] > self.max_cpu


def _limited_pool(context: DrainContext, pool: NodePool) -> _LimitedPool | None:
    limit = dict(pool.limits).get(CPU, "")
    try:
        max_cpu = nanos(limit) // 1_000_000
    except InvalidQuantity:
        return None  # no limit, or one that no API server would accept
    cpu_of_nodes = {
        node.name: node.allocatable.get(CPU, 0) for node in context.cluster.nodes if pool.name in node.groups
    }
    return _LimitedPool(pool.name, limit, sum(cpu_of_nodes.values()), max_cpu, cpu_of_nodes)


def _full_pool_text(context: DrainContext, placement: ReplacementPlaces, copies: Mapping[str, int]) -> str:
    """The first NodePool whose cpu limit does not allow these nodes, as a clause; "" if none."""
    nodes_by_name = {node.name: node for node in context.cluster.nodes}
    for node_pool in context.cluster.node_pools:
        pool = _limited_pool(context, node_pool)
        if pool is not None and any(pool.is_full(nodes_by_name[name], placement.provisioned_nodes) for name in copies):
            return f"NodePool {pool.name} is limited to cpu {pool.limit} and has about {pool.used_cpu // 1000} in use"
    return ""


def _uncertain_findings(context: DrainContext, placement: ReplacementPlaces) -> Iterable[Finding]:
    pods = (
        {pod.uid: pod for pods_on_node in context.pods_on.values() for pod in pods_on_node}
        if placement.uncertain
        else {}
    )
    for uid, doubts in sorted(placement.uncertain.items()):
        pod = pods.get(uid)
        if pod is not None:
            yield Finding.of(
                "placement-unsure/unsure",
                context.owner_subject(pod),
                (evidence_line(pod),),
                why="; ".join(doubts),
                lacking=", ".join(r.resource.full_name for r in context.cluster.not_read(*_deciding_kinds(pod))),
                command=kubectl("get", "pod", pod.name, pod.namespace, "-o", "yaml"),
            )


def _deciding_kinds(pod: Pod) -> tuple[Resource, ...]:
    """The kinds that decide where the pod can be scheduled, in addition to nodes and pods."""
    return (*_VOLUME_KINDS, kinds.NAMESPACES) if pod.volumes else (kinds.NAMESPACES,)


_VOLUME_KINDS = (
    kinds.CLAIMS,
    kinds.VOLUMES,
    kinds.STORAGE_CLASSES,
    kinds.CSI_NODES,
    kinds.VOLUME_ATTACHMENTS,
)
