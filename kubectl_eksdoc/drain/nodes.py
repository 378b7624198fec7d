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
from kubectl_eksdoc.kubernetes.drain_filters import TERMINATION_TAINTS, ForeignDrain, by_locks, foreign_drain
from kubectl_eksdoc.kubernetes.guards import PodBudgets, matching
from kubectl_eksdoc.kubernetes.replacement import Backends, Scales, comes_back_to_its_node, needed_backends
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.cluster import Cluster, LeftOut
from kubectl_eksdoc.model.connection import kubectl, shell
from kubectl_eksdoc.model.findings import Code, Finding, Remedy, Subject
from kubectl_eksdoc.model.kinds import PODS
from kubectl_eksdoc.model.nodes import ControllerOwner, Node, NodeOwner, Pod
from kubectl_eksdoc.model.placing import Claim, PersistentVolume
from kubectl_eksdoc.model.quantities import Version, parse
from kubectl_eksdoc.model.selectors import Selector, from_parts
from kubectl_eksdoc.model.workloads import Autoscaler, Job, Workload

from .policy import DrainPolicy, Targeting

MAX_EVIDENCE = 12
RESTARTED = frozenset({"Deployment", "StatefulSet"})
"""Kinds that ``kubectl rollout restart`` takes, without DaemonSets: none of their pods is on Fargate."""


def refusal(node: Node, owners: Iterable[Subject] = (), elsewhere: ForeignDrain | None = None) -> Finding | None:
    """Why this node is not drained at all, or None. `owners`: the owners of the pods on it; `other_drain`: a drain by
    another client that is recorded elsewhere than on the node."""
    if node.owner is NodeOwner.FARGATE:
        return Finding.of("node-fargate", _subject(node), remedy=tuple(_new_fargate_pods(node, owners)))
    if node.owner is NodeOwner.AUTO_MODE:
        return Finding.of("node-auto-mode", _subject(node))
    if node.deletion_at is not None:
        return Finding.of("node-foreign-drain/deleted", _subject(node), command=kubectl("describe", "node", node.name))
    foreign = foreign_drain(node) or elsewhere
    if foreign is not None:
        return Finding.of("node-foreign-drain/other", _subject(node), said=foreign.said, who=foreign.who)
    if node.ready not in ("True", "False"):
        return Finding.of(
            "node-not-ready/refusal", _subject(node), ready=node.ready, command=kubectl("describe", "node", node.name)
        )
    return None


def may_be_cordoned(node: Node, refusal: Finding | None) -> bool:
    """Whether a run cordons the node although it does not drain it. It does not cordon Fargate nodes, onto which no
    second pod is scheduled, nor nodes that another client drains."""
    return node.owner is not NodeOwner.FARGATE and (
        refusal is None or refusal.code is not Code.of("node-foreign-drain")
    )


def doubtful(node: Node, left_out: Sequence[LeftOut]) -> Finding | None:
    """Why the pods on this node are not completely known: invalid Pod objects are on it, or may be."""
    here = [each for each in left_out if each.resource == PODS and each.node in (node.name, None)]
    if not here:
        return None
    evidence = tuple(each.said for each in here[:MAX_EVIDENCE])
    return Finding.of("objects-invalid/on-node", _subject(node), evidence)


def remarks(node: Node) -> tuple[Finding, ...]:
    """Findings about a node that is drained, the most important first."""
    found = (_ends_soon(node), _not_ready(node), _hybrid(node))
    return tuple(finding for finding in found if finding is not None)


def _ends_soon(node: Node) -> Finding | None:
    for taint in node.taints:
        if taint.key.startswith(TERMINATION_TAINTS):
            return Finding.of(
                "node-ends-soon",
                _subject(node),
                taint_key=taint.key,
                command=shell("kubectl", "eksdoc", "drain", "plan", node.name),
            )
    return None


def _not_ready(node: Node) -> Finding | None:
    if node.ready != "False":
        return None
    return Finding.of("node-not-ready/not-ready", _subject(node), command=kubectl("describe", "node", node.name))


def _hybrid(node: Node) -> Finding | None:
    if node.owner is not NodeOwner.HYBRID:
        return None
    return Finding.of("node-hybrid", _subject(node))


def _new_fargate_pods(node: Node, owners: Iterable[Subject]) -> Iterable[Remedy]:
    """One remedy for each owner that a rollout restarts; if there is none, the command that lists the pods."""
    restarted = [owner for owner in owners if owner.kind in RESTARTED]
    for owner in restarted:
        restart = shell("kubectl", "rollout", "restart", f"{owner.kind.lower()}/{owner.name}", "-n", owner.namespace)
        yield Remedy.of("restart-owner", kind=owner.kind, owner=owner, command=restart)
    if not restarted:
        pods = shell("kubectl", "get", "pods", "-A", "--field-selector", f"spec.nodeName={node.name}")
        yield Remedy.of("new-fargate-pod", command=pods)


def _subject(node: Node) -> Subject:
    return Subject("Node", node.name)


# Which nodes the user selects.


_DIGITS = re.compile(r"(\d+)")


@lru_cache(maxsize=1 << 14)
def natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """Sort key that puts ``old-2`` before ``old-10``."""
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in _DIGITS.split(name) if part)


def select(nodes: Iterable[Node], targeting: Targeting, pools: Iterable[str] = ()) -> tuple[Node, ...]:
    """The nodes that `targeting` selects, in natural order of their names. `pools`: names of the existing NodePools.

    Raises:
        UsageError: the targeting is empty, a named node or group does not exist, or no node matches.
    """
    known = {node.name: node for node in nodes}
    if targeting.empty:
        raise UsageError(
            "no node was named to drain",
            "name nodes, or select them: -l SELECTOR, --nodegroup NAME, --older-than v1.33",
        )
    if targeting.names:
        missing = [name for name in targeting.names if name not in known]
        if missing:
            message, hint = _not_found("node", missing, known)
            groups = {group for node in known.values() for group in node.groups}
            raise UsageError(message, f"a node group: --nodegroup {missing[0]}" if missing[0] in groups else hint)
        chosen = [known[name] for name in dict.fromkeys(targeting.names)]
    else:
        groups = {group for node in known.values() for group in node.groups}
        absent = [group for group in targeting.nodegroups if group not in groups]
        if absent and set(absent) <= set(pools):
            raise UsageError(f"NodePool {', '.join(absent)} has no node", "see what it does: kubectl get nodeclaims")
        if absent:
            raise UsageError(*_not_found("node group or NodePool", absent, groups))
        chosen = [node for node in known.values() if _matches(node, targeting)]
    if not chosen:
        raise UsageError(
            f"none of the {len(known)} nodes matches {_described(targeting)}",
            "see what there is: kubectl get nodes --show-labels",
        )
    return tuple(sorted(chosen, key=lambda node: natural(node.name)))


def behind(nodes: Iterable[Node], server: str) -> frozenset[str]:
    """Names of the nodes whose kubelet has an older minor version than the control plane; empty where that is not
    known."""
    version = parse(server)
    if version is None:
        return frozenset()
    minor = Version(version.major, version.minor)
    return frozenset(node.name for node in nodes if node.kubelet and node.kubelet.older_than(minor))


IMAGE = "eks.amazonaws.com/nodegroup-image"
"""Label with the AMI of a managed node group's node."""


def older_images(nodes: Iterable[Node]) -> frozenset[str]:
    """Names of the nodes whose AMI differs from that of their group's newest node. The newest node has the newest
    kubelet, and the latest creation time among these, as many nodes may have the same age."""
    newest: dict[str, tuple[tuple[Version, datetime], str]] = {}
    known = [(node, node.labels[IMAGE]) for node in nodes if node.group and IMAGE in node.labels]
    for node, image in known:
        if node.created_at is not None:
            age = node.kubelet or Version(0, 0), node.created_at
            if node.group not in newest or age > newest[node.group][0]:
                newest[node.group] = age, image
    return frozenset(node.name for node, image in known if node.group in newest and image != newest[node.group][1])


def _matches(node: Node, targeting: Targeting) -> bool:
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


def _not_found(what: str, missing: list[str], known: Iterable[str]) -> tuple[str, str]:
    import difflib  # completion and help import this module, too

    names = sorted(known, key=natural)
    close = difflib.get_close_matches(missing[0], names, n=3)
    shown = ", ".join(close or names[:8]) + (" …" if not close and len(names) > 8 else "")
    plural = "s" if len(missing) > 1 else ""
    hint = (f"close to it: {shown}" if close else f"there are: {shown}") if names else f"there is no {what} at all"
    return f"{what}{plural} not found: {', '.join(missing)}", hint


def _described(targeting: Targeting) -> str:
    parts = []
    if targeting.selector is not None:
        parts.append(f"-l '{targeting.selector}'")
    parts += [f"--nodegroup {group}" for group in targeting.nodegroups]
    if targeting.older_than is not None:
        parts.append(f"--older-than {targeting.older_than}")
    return " and ".join(parts)


# The facts, indexed once for the questions that judging a drain asks.


SCALED = (kinds.DEPLOYMENTS, kinds.REPLICA_SETS, kinds.STATEFUL_SETS, kinds.REPLICATION_CONTROLLERS)
"""The kinds whose desired replicas are the base of a budget's percentage."""

MAX_OWNER_DEPTH = 8
"""Limit of the length of an owner chain: a cycle in a broken dump must not cause an endless loop."""


@frozen
class Balanced:
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
    daemons_on: Mapping[str, Sequence[Pod]]  # DaemonSet pods by node, for all nodes, without finished pods
    guards: PodBudgets
    scales: Scales
    workloads: Mapping[str, Workload]  # by uid
    jobs: Mapping[str, Job]  # by uid
    claims: Mapping[str, Claim]  # by ns/name
    volumes: Mapping[str, PersistentVolume]  # by name
    autoscalers: Mapping[tuple[str, str, str], Autoscaler]  # by namespace, kind and name of the target
    needed: Mapping[str, tuple[Backends, ...]]  # by pod uid
    balanced: Mapping[str, tuple[Balanced, ...]]  # by namespace
    leases_held: Mapping[str, str]  # pod key → the lease it holds
    terminating: frozenset[str]  # namespaces
    refused: Mapping[str, Finding] = field(default_factory=dict)  # node name → why it is not drained at all
    wanted_by: Mapping[str, int] = field(default_factory=dict)  # owner uid → sum of its workloads' replicas
    no_second: frozenset[str] = frozenset()  # uids of pods without room for a second one

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
        """The pods on targets with these uids, by uid."""
        return {pod.uid: pod for pods in self.pods_on.values() for pod in pods if pod.uid in uids}

    def workload_of(self, pod: Pod) -> Workload | None:
        """The pod's direct owner, if it is a workload that was read."""
        return self.workloads.get(pod.owner.uid) if pod.owner else None

    def top_of(self, pod: Pod) -> Workload | None:
        """The Deployment of a ReplicaSet's pod, else the direct owner, if it was read."""
        found = self.workload_of(pod)
        for _ in range(MAX_OWNER_DEPTH):
            if found is None or found.owner is None or found.owner.uid not in self.workloads:
                break
            found = self.workloads[found.owner.uid]
        return found

    def top_owner(self, pod: Pod) -> ControllerOwner | None:
        """The owner reference at the top of the pod's owner chain, also where that object was not read: the owner that
        its ReplicaSet names, else the pod's own owner.

        None for a bare pod.
        """
        return _top_owner(self.workloads, pod)

    def owner_subject(self, pod: Pod) -> Subject:
        """The finding subject for the pod: its Deployment, StatefulSet, Job …, or the pod itself."""
        return _survey_subject(self.workloads, pod)


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
    daemons: dict[str, list[Pod]] = defaultdict(list)
    for pod in cluster.pods:
        if (there := on.get(pod.node)) is not None:
            there.append(pod)
        owner = pod.owner
        if owner is not None and owner.kind == "DaemonSet" and comes_back_to_its_node(pod) and not pod.finished:
            daemons[pod.node].append(pod)
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
        daemons_on=daemons,
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
            break  # the custom resource of an operator: users know the workload that it created better
        owner = held.owner
    return owner


def _survey_subject(workloads: Mapping[str, Workload], pod: Pod) -> Subject:
    owner = _top_owner(workloads, pod)
    return Subject(owner.kind, owner.name, pod.namespace) if owner else Subject("Pod", pod.name, pod.namespace)


def _subjects(workloads: Mapping[str, Workload], pods: Iterable[Pod]) -> Iterator[Subject]:
    """The owners of `pods`, each once; evaluated lazily."""
    yield from dict.fromkeys(_survey_subject(workloads, pod) for pod in pods)


def _balanced(cluster: Cluster) -> dict[str, tuple[Balanced, ...]]:
    bound = {f"{t.namespace}/{t.service}": t.target_type == "ip" for t in cluster.target_group_bindings}
    found: dict[str, list[Balanced]] = defaultdict(list)
    for service in cluster.services:
        if service.selector and (service.type == "LoadBalancer" or service.key in bound):
            ip_targets = bound.get(service.key, service.ip_targets)
            found[service.namespace].append(Balanced(service.name, from_parts(service.selector), ip_targets))
    return {namespace: tuple(services) for namespace, services in found.items()}


def _leases_held(cluster: Cluster) -> dict[str, str]:
    """Pod key → leader election lease. The holder identity of client-go is the pod's name, often with ``_<uuid>``
    behind."""
    held = {}
    for lease in cluster.leases:
        if lease.holder and lease.namespace != "kube-node-lease":
            held[f"{lease.namespace}/{lease.holder.split('_')[0]}"] = f"{lease.namespace}/{lease.name}"
    return held
