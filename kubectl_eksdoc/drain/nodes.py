"""Nodes to drain: which the user selects, the context that indexes the facts for a drain, and findings about nodes."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field
from datetime import datetime
from functools import lru_cache

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.drain_filters import TERMINATION_TAINTS, ForeignDrain, drains_by_lock, foreign_drain
from kubectl_eksdoc.kubernetes.guards import PodBudgets, index_budgets
from kubectl_eksdoc.kubernetes.replacement import (
    RequiredBackends,
    ScaleIndex,
    required_backends,
    returns_as_daemon_set_pod,
)
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.cluster import Cluster, InvalidEntry
from kubectl_eksdoc.model.connection import kubectl, shell
from kubectl_eksdoc.model.findings import Code, Finding, Remedy, Subject
from kubectl_eksdoc.model.kinds import PODS
from kubectl_eksdoc.model.nodes import ControllerOwner, Node, NodeOwner, Pod
from kubectl_eksdoc.model.placement import PersistentVolume, PersistentVolumeClaim
from kubectl_eksdoc.model.quantities import Version, parse_version
from kubectl_eksdoc.model.selectors import Selector, from_parts
from kubectl_eksdoc.model.workloads import Autoscaler, Job, Workload

from .policy import DrainPolicy, Targeting

MAX_EVIDENCE = 12
RESTARTABLE_KINDS = frozenset({"Deployment", "StatefulSet"})
"""Kinds that ``kubectl rollout restart`` takes, without DaemonSets: none of their pods is on Fargate."""


def refusal_finding(
    node: Node, owners: Iterable[Subject] = (), other_drain: ForeignDrain | None = None
) -> Finding | None:
    """Why this node is not drained at all, or None. `owners`: the owners of the pods on it; `other_drain`: a drain by
    another client that is recorded elsewhere than on the node."""
    if node.owner is NodeOwner.FARGATE:
        return Finding.of("node-fargate", _node_subject(node), remedy=tuple(_fargate_remedies(node, owners)))
    if node.owner is NodeOwner.AUTO_MODE:
        return Finding.of("node-auto-mode", _node_subject(node))
    if node.deletion_at is not None:
        return Finding.of(
            "node-foreign-drain/deleted", _node_subject(node), command=kubectl("describe", "node", node.name)
        )
    foreign_client_drain = foreign_drain(node) or other_drain
    if foreign_client_drain is not None:
        return Finding.of(
            "node-foreign-drain/other",
            _node_subject(node),
            said=foreign_client_drain.message,
            who=foreign_client_drain.who,
        )
    if node.ready not in ("True", "False"):
        return Finding.of(
            "node-not-ready/refusal",
            _node_subject(node),
            ready=node.ready,
            command=kubectl("describe", "node", node.name),
        )
    return None


def may_be_cordoned(node: Node, refusal: Finding | None) -> bool:
    """Whether a run cordons the node although it does not drain it. It does not cordon Fargate nodes, onto which no
    second pod is scheduled, nor nodes that another client drains."""
    return node.owner is not NodeOwner.FARGATE and (
        refusal is None or refusal.code is not Code.of("node-foreign-drain")
    )


def invalid_pods_finding(node: Node, left_out: Sequence[InvalidEntry]) -> Finding | None:
    """Why the pods on this node are not completely known: invalid Pod objects are on it, or may be."""
    invalid_pods = [invalid for invalid in left_out if invalid.resource == PODS and invalid.node in (node.name, None)]
    if not invalid_pods:
        return None
    evidence = tuple(invalid.message for invalid in invalid_pods[:MAX_EVIDENCE])
    return Finding.of("objects-invalid/on-node", _node_subject(node), evidence)


def node_remarks(node: Node) -> tuple[Finding, ...]:
    """Findings about a node that is drained, the most important first."""
    findings = (_termination_finding(node), _not_ready_finding(node), _hybrid_finding(node))
    return tuple(finding for finding in findings if finding is not None)


def _termination_finding(node: Node) -> Finding | None:
    for taint in node.taints:
        if taint.key.startswith(TERMINATION_TAINTS):
            return Finding.of(
                "node-ends-soon",
                _node_subject(node),
                taint_key=taint.key,
                command=shell("kubectl", "eksdoc", "drain", "plan", node.name),
            )
    return None


def _not_ready_finding(node: Node) -> Finding | None:
    if node.ready != "False":
        return None
    return Finding.of("node-not-ready/not-ready", _node_subject(node), command=kubectl("describe", "node", node.name))


def _hybrid_finding(node: Node) -> Finding | None:
    if node.owner is not NodeOwner.HYBRID:
        return None
    return Finding.of("node-hybrid", _node_subject(node))


def _fargate_remedies(node: Node, owners: Iterable[Subject]) -> Iterable[Remedy]:
    """One remedy for each owner that a rollout restarts; if there is none, the command that lists the pods."""
    restartable = [owner for owner in owners if owner.kind in RESTARTABLE_KINDS]
    for owner in restartable:
        restart_command = shell(
            "kubectl", "rollout", "restart", f"{owner.kind.lower()}/{owner.name}", "-n", owner.namespace
        )
        yield Remedy.of("restart-owner", kind=owner.kind, owner=owner, command=restart_command)
    if not restartable:
        list_command = shell("kubectl", "get", "pods", "-A", "--field-selector", f"spec.nodeName={node.name}")
        yield Remedy.of("new-fargate-pod", command=list_command)


def _node_subject(node: Node) -> Subject:
    return Subject("Node", node.name)


# Which nodes the user selects.


_DIGITS = re.compile(r"(\d+)")


@lru_cache(maxsize=1 << 14)
def natural_key(name: str) -> tuple[tuple[int, int | str], ...]:
    """Sort key that puts ``old-2`` before ``old-10``."""
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in _DIGITS.split(name) if part)


def select_nodes(nodes: Iterable[Node], targeting: Targeting, pools: Iterable[str] = ()) -> tuple[Node, ...]:
    """The nodes that `targeting` selects, in natural order of their names. `pools`: names of the existing NodePools.

    Raises:
        UsageError: the targeting is empty, a named node or group does not exist, or no node matches.
    """
    nodes_by_name = {node.name: node for node in nodes}
    if targeting.is_empty:
        raise UsageError(
            "no node was named to drain",
            "name nodes, or select them: -l SELECTOR, --nodegroup NAME, --older-than v1.33",
        )
    if targeting.names:
        missing_names = [name for name in targeting.names if name not in nodes_by_name]
        if missing_names:
            message, hint = _not_found_message("node", missing_names, nodes_by_name)
            groups = {group for node in nodes_by_name.values() for group in node.groups}
            raise UsageError(
                message, f"a node group: --nodegroup {missing_names[0]}" if missing_names[0] in groups else hint
            )
        selected = [nodes_by_name[name] for name in dict.fromkeys(targeting.names)]
    else:
        groups = {group for node in nodes_by_name.values() for group in node.groups}
        missing_groups = [group for group in targeting.nodegroups if group not in groups]
        if missing_groups and set(missing_groups) <= set(pools):
            raise UsageError(
                f"NodePool {', '.join(missing_groups)} has no node", "see what it does: kubectl get nodeclaims"
            )
        if missing_groups:
            raise UsageError(*_not_found_message("node group or NodePool", missing_groups, groups))
        selected = [node for node in nodes_by_name.values() if _matches_targeting(node, targeting)]
    if not selected:
        raise UsageError(
            f"none of the {len(nodes_by_name)} nodes matches {_describe_targeting(targeting)}",
            "see what there is: kubectl get nodes --show-labels",
        )
    return tuple(sorted(selected, key=lambda node: natural_key(node.name)))


def older_kubelets(nodes: Iterable[Node], server: str) -> frozenset[str]:
    """Names of the nodes whose kubelet has an older minor version than the control plane; empty where that is not
    known."""
    version = parse_version(server)
    if version is None:
        return frozenset()
    minor = Version(version.major, version.minor)
    return frozenset(node.name for node in nodes if node.kubelet and node.kubelet.older_than(minor))


IMAGE_LABEL = "eks.amazonaws.com/nodegroup-image"
"""Label with the AMI of a managed node group's node."""


def older_images(nodes: Iterable[Node]) -> frozenset[str]:
    """Names of the nodes whose AMI differs from that of their group's newest node. The newest node has the newest
    kubelet, and the latest creation time among these, as many nodes may have the same age."""
    newest: dict[str, tuple[tuple[Version, datetime], str]] = {}
    labelled = [(node, node.labels[IMAGE_LABEL]) for node in nodes if node.group and IMAGE_LABEL in node.labels]
    for node, image in labelled:
        if node.created_at is not None:
            age = node.kubelet or Version(0, 0), node.created_at
            if node.group not in newest or age > newest[node.group][0]:
                newest[node.group] = age, image
    return frozenset(node.name for node, image in labelled if node.group in newest and image != newest[node.group][1])


def _matches_targeting(node: Node, targeting: Targeting) -> bool:
    if targeting.selector is not None and not targeting.selector.matches(node.labels):
        return False
    if targeting.nodegroups and node.groups.isdisjoint(targeting.nodegroups):
        return False
    if targeting.older_than is None:
        return True
    if node.kubelet is None:
        raise UsageError(
            f"--older-than cannot judge node {node.name}: its kubelet version is {node.kubelet_text or 'missing'!r}",
            "name the nodes, or add a selector that leaves this one out",
        )
    return node.kubelet.older_than(targeting.older_than)


def _not_found_message(kind: str, missing: list[str], known: Iterable[str]) -> tuple[str, str]:
    import difflib  # completion and help import this module, too

    names = sorted(known, key=natural_key)
    close = difflib.get_close_matches(missing[0], names, n=3)
    names_text = ", ".join(close or names[:8]) + (" …" if not close and len(names) > 8 else "")
    plural = "s" if len(missing) > 1 else ""
    hint = (
        (f"close to it: {names_text}" if close else f"there are: {names_text}")
        if names
        else f"there is no {kind} at all"
    )
    return f"{kind}{plural} not found: {', '.join(missing)}", hint


def _describe_targeting(targeting: Targeting) -> str:
    parts = []
    if targeting.selector is not None:
        parts.append(f"-l '{targeting.selector}'")
    parts += [f"--nodegroup {group}" for group in targeting.nodegroups]
    if targeting.older_than is not None:
        parts.append(f"--older-than {targeting.older_than}")
    return " and ".join(parts)


# The facts, indexed once for the questions that judging a drain asks.


SCALED_KINDS = (kinds.DEPLOYMENTS, kinds.REPLICA_SETS, kinds.STATEFUL_SETS, kinds.REPLICATION_CONTROLLERS)
"""The kinds whose desired replicas are the base of a budget's percentage."""

MAX_OWNER_DEPTH = 8
"""Limit of the length of an owner chain: a cycle in a broken dump must not cause an endless loop."""


@frozen
class LoadBalancedService:
    """A Service that receives traffic from a load balancer; `ip_targets`: the targets are pod IPs."""

    name: str
    selector: Selector
    ip_targets: bool


@frozen
class DrainContext:
    """The facts of a cluster, indexed for one drain. Mappings are read-only by convention."""

    cluster: Cluster
    policy: DrainPolicy
    targets: tuple[Node, ...]
    pods_on: Mapping[str, tuple[Pod, ...]]
    daemon_pods_on: Mapping[str, Sequence[Pod]]  # DaemonSet pods by node, for all nodes, without finished pods
    pod_budgets: PodBudgets
    scales: ScaleIndex
    workloads: Mapping[str, Workload]  # by uid
    jobs: Mapping[str, Job]  # by uid
    claims: Mapping[str, PersistentVolumeClaim]  # by ns/name
    volumes: Mapping[str, PersistentVolume]  # by name
    autoscalers: Mapping[tuple[str, str, str], Autoscaler]  # by namespace, kind and name of the target
    needed_backends: Mapping[str, tuple[RequiredBackends, ...]]  # by pod uid
    load_balanced_services: Mapping[str, tuple[LoadBalancedService, ...]]  # by namespace
    leases_held: Mapping[str, str]  # pod key → the lease it holds
    terminating_namespaces: frozenset[str]  # namespaces
    refused_nodes: Mapping[str, Finding] = field(default_factory=dict)  # node name → why it is not drained at all
    desired_replicas: Mapping[str, int] = field(default_factory=dict)  # owner uid → sum of its workloads' replicas
    without_surge_room: frozenset[str] = frozenset()  # uids of pods without room for a second one

    @property
    def now(self) -> datetime:
        return self.cluster.observed_at

    @property
    def accepted_nodes(self) -> tuple[Node, ...]:
        """The targets that are not refused as nodes."""
        return tuple(node for node in self.targets if node.name not in self.refused_nodes)

    def budgets_of(self, pod: Pod) -> tuple[Budget, ...]:
        """The budgets that select `pod`."""
        return self.pod_budgets.for_indexed_pod(pod)

    def pods_with_uids(self, uids: Set[str]) -> dict[str, Pod]:
        """The pods on targets with these uids, by uid."""
        return {pod.uid: pod for pods in self.pods_on.values() for pod in pods if pod.uid in uids}

    def direct_workload(self, pod: Pod) -> Workload | None:
        """The pod's direct owner, if it is a workload that was read."""
        return self.workloads.get(pod.owner.uid) if pod.owner else None

    def top_workload(self, pod: Pod) -> Workload | None:
        """The Deployment of a ReplicaSet's pod, else the direct owner, if it was read."""
        workload = self.direct_workload(pod)
        for _ in range(MAX_OWNER_DEPTH):
            if workload is None or workload.owner is None or workload.owner.uid not in self.workloads:
                break
            workload = self.workloads[workload.owner.uid]
        return workload

    def top_owner(self, pod: Pod) -> ControllerOwner | None:
        """The owner reference at the top of the pod's owner chain, also where that object was not read: the owner that
        its ReplicaSet names, else the pod's own owner.

        None for a bare pod.
        """
        return _top_owner(self.workloads, pod)

    def owner_subject(self, pod: Pod) -> Subject:
        """The finding subject for the pod: its Deployment, StatefulSet, Job …, or the pod itself."""
        return _owner_subject(self.workloads, pod)


def _refused_nodes(
    cluster: Cluster, targets: Iterable[Node], owners: Mapping[str, Iterable[Subject]]
) -> dict[str, Finding]:
    drain_locks = drains_by_lock(cluster)
    findings = (
        (
            node.name,
            refusal_finding(node, owners[node.name], drain_locks.get(node.name))
            or invalid_pods_finding(node, cluster.invalid_entries),
        )
        for node in targets
    )
    return {name: finding for name, finding in findings if finding is not None}


def drain_context(cluster: Cluster, targets: tuple[Node, ...], policy: DrainPolicy) -> DrainContext:
    """Index `cluster` for a drain of `targets`."""
    pods_on: dict[str, list[Pod]] = {node.name: [] for node in targets}
    daemon_pods: dict[str, list[Pod]] = defaultdict(list)
    for pod in cluster.pods:
        if (target_pods := pods_on.get(pod.node)) is not None:
            target_pods.append(pod)
        owner = pod.owner
        if owner is not None and owner.kind == "DaemonSet" and returns_as_daemon_set_pod(pod) and not pod.finished:
            daemon_pods[pod.node].append(pod)
    backends_by_pod: dict[str, list[RequiredBackends]] = defaultdict(list)
    for backends in required_backends(cluster):
        for pod in backends.pods:
            backends_by_pod[pod.uid].append(backends)
    pod_budgets = index_budgets(cluster.budgets, cluster.pods)
    workloads = {w.uid: w for w in cluster.workloads}
    desired_replicas: Counter[str] = Counter()
    for workload in cluster.workloads:
        if workload.owner is not None:
            desired_replicas[workload.owner.uid] += workload.replicas
    return DrainContext(
        cluster=cluster,
        policy=policy,
        targets=targets,
        pods_on={name: tuple(pods) for name, pods in pods_on.items()},
        daemon_pods_on=daemon_pods,
        pod_budgets=pod_budgets,
        scales=ScaleIndex.of(cluster.workloads, cluster.not_read(*SCALED_KINDS)),
        workloads=workloads,
        jobs={j.uid: j for j in cluster.jobs},
        claims={c.key: c for c in cluster.claims},
        volumes={v.name: v for v in cluster.volumes},
        autoscalers={(a.namespace, a.target_kind, a.target_name): a for a in cluster.autoscalers},
        needed_backends={uid: tuple(pod_backends) for uid, pod_backends in backends_by_pod.items()},
        load_balanced_services=_load_balanced_services(cluster),
        leases_held=_leases_held(cluster),
        terminating_namespaces=frozenset(n.name for n in cluster.namespaces if n.terminating),
        refused_nodes=_refused_nodes(
            cluster, targets, {node.name: _owner_subjects(workloads, pods_on[node.name]) for node in targets}
        ),
        desired_replicas=desired_replicas,
    )


def _top_owner(workloads: Mapping[str, Workload], pod: Pod) -> ControllerOwner | None:
    owner = pod.owner
    for _ in range(MAX_OWNER_DEPTH):
        workload = workloads.get(owner.uid) if owner is not None else None
        if workload is None or workload.owner is None:
            break
        if workload.kind != "ReplicaSet" and workload.owner.uid not in workloads:
            break  # the custom resource of an operator: users know the workload that it created better
        owner = workload.owner
    return owner


def _owner_subject(workloads: Mapping[str, Workload], pod: Pod) -> Subject:
    owner = _top_owner(workloads, pod)
    return Subject(owner.kind, owner.name, pod.namespace) if owner else Subject("Pod", pod.name, pod.namespace)


def _owner_subjects(workloads: Mapping[str, Workload], pods: Iterable[Pod]) -> Iterator[Subject]:
    """The owners of `pods`, each once; evaluated lazily."""
    yield from dict.fromkeys(_owner_subject(workloads, pod) for pod in pods)


def _load_balanced_services(cluster: Cluster) -> dict[str, tuple[LoadBalancedService, ...]]:
    bound_services = {f"{t.namespace}/{t.service}": t.target_type == "ip" for t in cluster.target_group_bindings}
    by_namespace: dict[str, list[LoadBalancedService]] = defaultdict(list)
    for service in cluster.services:
        if service.selector and (service.type == "LoadBalancer" or service.key in bound_services):
            ip_targets = bound_services.get(service.key, service.ip_targets)
            by_namespace[service.namespace].append(
                LoadBalancedService(service.name, from_parts(service.selector), ip_targets)
            )
    return {namespace: tuple(services) for namespace, services in by_namespace.items()}


def _leases_held(cluster: Cluster) -> dict[str, str]:
    """Pod key → leader election lease. The holder identity of client-go is the pod's name, often with ``_<uuid>``
    behind."""
    leases_by_pod = {}
    for lease in cluster.leases:
        if lease.holder and lease.namespace != "kube-node-lease":
            leases_by_pod[f"{lease.namespace}/{lease.holder.split('_')[0]}"] = f"{lease.namespace}/{lease.name}"
    return leases_by_pod
