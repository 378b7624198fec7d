"""The facts, indexed once for the questions that judging a drain asks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime

from kubectl_eksdoc.drain.nodes import doubtful, refusal
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.kubernetes.cordon import by_locks
from kubectl_eksdoc.kubernetes.guards import PodBudgets, matching
from kubectl_eksdoc.kubernetes.replacement import Backends, Scales, needed_backends
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Finding, Subject
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.pods import ControllerOwner, Pod
from kubectl_eksdoc.model.selectors import Selector, from_parts
from kubectl_eksdoc.model.storage import Claim, PersistentVolume
from kubectl_eksdoc.model.workloads import Autoscaler, Job, Workload

SCALED = (kinds.DEPLOYMENTS, kinds.REPLICA_SETS, kinds.STATEFUL_SETS, kinds.REPLICATION_CONTROLLERS)
"""The kinds whose wanted replicas a percentage is taken of."""

MAX_OWNER_DEPTH = 8
"""Deeper chains of owners than this do not exist; a cycle in a broken dump must not hang us."""


@dataclass(frozen=True, slots=True)
class Balanced:
    """A Service that a load balancer sends traffic to; `ip_targets`: straight to the pods."""

    name: str
    selector: Selector
    ip_targets: bool


@dataclass(frozen=True, slots=True)
class DrainContext:
    """One drain's view of a cluster. Mappings are read-only by convention."""

    cluster: Cluster
    policy: DrainPolicy
    targets: tuple[Node, ...]
    pods_on: Mapping[str, tuple[Pod, ...]]
    guards: PodBudgets
    scales: Scales
    workloads: Mapping[str, Workload]  # by uid
    jobs: Mapping[str, Job]  # by uid
    claims: Mapping[str, Claim]  # by ns/name
    volumes: Mapping[str, PersistentVolume]  # by name
    autoscalers: Mapping[tuple[str, str, str], Autoscaler]  # by namespace, kind and name of the target
    needed: Mapping[str, tuple[Backends, ...]]  # by pod uid
    balanced: Mapping[str, tuple[Balanced, ...]]  # services with a load balancer, by namespace
    leases_held: Mapping[str, str]  # pod key → the lease it holds
    terminating: frozenset[str]  # namespaces
    refused: Mapping[str, Finding] = field(default_factory=dict)  # why targets are not drained at all, by name
    wanted_by: Mapping[str, int] = field(default_factory=dict)  # replicas of the workloads an owner has, by its uid
    no_second: frozenset[str] = frozenset()  # uids of pods beside which no node has a place for a second one

    @property
    def now(self) -> datetime:
        return self.cluster.observed_at

    @property
    def accepted(self) -> tuple[Node, ...]:
        """The targets that are not refused as nodes."""
        return tuple(node for node in self.targets if node.name not in self.refused)

    def budgets_of(self, pod: Pod) -> tuple[Budget, ...]:
        """The budgets that select `pod`."""
        return self.guards.known(pod)

    def pods_with(self, uids: Set[str]) -> dict[str, Pod]:
        """The pods on targets with those uids, by uid."""
        return {pod.uid: pod for pods in self.pods_on.values() for pod in pods if pod.uid in uids}

    def workload_of(self, pod: Pod) -> Workload | None:
        """The direct owner, when it is a workload that was read."""
        return self.workloads.get(pod.owner.uid) if pod.owner else None

    def top_of(self, pod: Pod) -> Workload | None:
        """The Deployment behind a ReplicaSet, else the direct owner."""
        found = self.workload_of(pod)
        for _ in range(MAX_OWNER_DEPTH):
            if found is None or found.owner is None or found.owner.uid not in self.workloads:
                break
            found = self.workloads[found.owner.uid]
        return found

    def top_owner(self, pod: Pod) -> ControllerOwner | None:
        """Who answers for the pod, be it read or not: what its ReplicaSet names as its owner, else its own owner.

        None for a bare pod.
        """
        return _top_owner(self.workloads, pod)

    def owner_subject(self, pod: Pod) -> Subject:
        """Who answers for the pod: its Deployment, StatefulSet, Job …, or the pod itself."""
        return _subject(self.workloads, pod)


def _refused(cluster: Cluster, targets: Iterable[Node], owners: Mapping[str, Iterable[Subject]]) -> dict[str, Finding]:
    locks = by_locks(cluster)
    found = (
        (
            node.name,
            refusal(node, owners[node.name], locks.get(node.name)) or doubtful(node, cluster.left_out),
        )
        for node in targets
    )
    return {name: finding for name, finding in found if finding is not None}


def survey(cluster: Cluster, targets: tuple[Node, ...], policy: DrainPolicy) -> DrainContext:
    """Index `cluster` for a drain of `targets`."""
    on: dict[str, list[Pod]] = {node.name: [] for node in targets}
    for pod in cluster.pods:
        if (there := on.get(pod.node)) is not None:
            there.append(pod)
    needed: dict[str, list[Backends]] = defaultdict(list)
    for backends in needed_backends(cluster):
        for pod in backends.pods:
            needed[pod.uid].append(backends)
    guards = matching(cluster.budgets, cluster.pods)
    workloads = {w.uid: w for w in cluster.workloads}
    wanted_by: Counter[str] = Counter()
    for workload in cluster.workloads:
        if workload.owner is not None:
            wanted_by[workload.owner.uid] += workload.replicas
    return DrainContext(
        cluster=cluster,
        policy=policy,
        targets=targets,
        pods_on={name: tuple(pods) for name, pods in on.items()},
        guards=guards,
        scales=Scales.of(cluster.workloads, cluster.unread(*SCALED)),
        workloads=workloads,
        jobs={j.uid: j for j in cluster.jobs},
        claims={c.key: c for c in cluster.claims},
        volumes={v.name: v for v in cluster.volumes},
        autoscalers={(a.namespace, a.target_kind, a.target_name): a for a in cluster.autoscalers},
        needed={uid: tuple(found) for uid, found in needed.items()},
        balanced=_balanced(cluster),
        leases_held=_leases_held(cluster),
        terminating=frozenset(n.name for n in cluster.namespaces if n.terminating),
        refused=_refused(cluster, targets, {node.name: _subjects(workloads, on[node.name]) for node in targets}),
        wanted_by=wanted_by,
    )


def _top_owner(workloads: Mapping[str, Workload], pod: Pod) -> ControllerOwner | None:
    owner = pod.owner
    for _ in range(MAX_OWNER_DEPTH):
        held = workloads.get(owner.uid) if owner is not None else None
        if held is None or held.owner is None:
            break
        if held.kind != "ReplicaSet" and held.owner.uid not in workloads:
            break  # an operator's object: what it made is better known to people than itself
        owner = held.owner
    return owner


def _subject(workloads: Mapping[str, Workload], pod: Pod) -> Subject:
    owner = _top_owner(workloads, pod)
    return Subject(owner.kind, owner.name, pod.namespace) if owner else Subject("Pod", pod.name, pod.namespace)


def _subjects(workloads: Mapping[str, Workload], pods: Iterable[Pod]) -> Iterator[Subject]:
    """Who answers for `pods`, each once; nothing is looked up before somebody asks."""
    yield from dict.fromkeys(_subject(workloads, pod) for pod in pods)


def _balanced(cluster: Cluster) -> dict[str, tuple[Balanced, ...]]:
    bound = {f"{t.namespace}/{t.service}": t.target_type == "ip" for t in cluster.target_group_bindings}
    found: dict[str, list[Balanced]] = defaultdict(list)
    for service in cluster.services:
        if service.selector and (service.type == "LoadBalancer" or service.key in bound):
            ip_targets = bound.get(service.key, service.ip_targets)
            found[service.namespace].append(Balanced(service.name, from_parts(service.selector), ip_targets))
    return {namespace: tuple(services) for namespace, services in found.items()}


def _leases_held(cluster: Cluster) -> dict[str, str]:
    """Leader election: client-go's holder identity is the pod's name, often with ``_<uuid>`` behind."""
    held = {}
    for lease in cluster.leases:
        if lease.holder and lease.namespace != "kube-node-lease":
            held[f"{lease.namespace}/{lease.holder.split('_')[0]}"] = f"{lease.namespace}/{lease.name}"
    return held
