"""Spot nodes, what runs on them, and which of them have their notice now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from kubectl_eksdoc.interruption.installs import InterruptionFacts
from kubectl_eksdoc.kubernetes.guards import matching
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.coredns import is_coredns
from kubectl_eksdoc.model.findings import Subject
from kubectl_eksdoc.model.nodes import Node, NodeOwner
from kubectl_eksdoc.model.pods import Pod
from kubectl_eksdoc.probes import owner_of

NOTICE_S = 120
"""Seconds between the notice and the end (EC2's user guide, Spot Instance interruption notices)."""

DISRUPTED = ("karpenter.sh/disrupted", "", "NoSchedule")
DISRUPTION = ("karpenter.sh/disruption", "disrupting", "NoSchedule")
"""Taints that Karpenter puts on a node that it drains, from v1 on and before; who tolerates them is not drained."""

_RECENT = timedelta(seconds=NOTICE_S + 60)
_NOTICES = ("SpotInterrupted", "TerminatingOnInterruption")
_HANDLER_TAINT = "aws-node-termination-handler/spot-itn"


@dataclass(frozen=True, slots=True)
class SpotNode:
    """`pods`: what runs there, DaemonSets' included. `heard`: who says that it has its notice now, () if nobody does.
    `before_s`: so many seconds at most pass before the turn of system-critical pods comes in a drain by Karpenter;
    `holds`: pods that hold such a drain up, each with why."""

    node: Node
    pods: tuple[Pod, ...]
    heard: tuple[str, ...] = ()
    before_s: int = 0
    holds: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def dying(self) -> tuple[Pod, ...]:
        """Without DaemonSets' pods, of which every node has its own."""
        return tuple(pod for pod in self.pods if not _daemon(pod))

    @property
    def critical(self) -> tuple[Pod, ...]:
        return tuple(pod for pod in self.dying if pod.system_critical)


def instance_of(node: Node) -> str:
    """``i-0123…`` of ``aws:///ap-northeast-2a/i-0123…``, "" where it is none."""
    last = node.provider_id.rpartition("/")[2]
    return last if node.provider_id.startswith("aws://") and last.startswith("i-") else ""


def is_spot(node: Node) -> bool:
    return node.capacity_type == "spot"


def spot_nodes(facts: InterruptionFacts, owner: NodeOwner = NodeOwner.KARPENTER) -> tuple[SpotNode, ...]:
    cluster = facts.cluster
    pods = _by_node(cluster.pods)
    guards = matching(cluster.budgets, cluster.pods)
    blocked = {pod.key for budget in cluster.budgets if budget.status.allowed <= 0 for pod in guards.pods(budget)}
    return tuple(
        _spot_node(facts, node, pods.get(node.name, ()), blocked)
        for node in cluster.nodes
        if is_spot(node) and node.owner is owner
    )


def _by_node(pods: Iterable[Pod]) -> Mapping[str, tuple[Pod, ...]]:
    found: dict[str, list[Pod]] = {}
    for pod in pods:
        if pod.node and not pod.finished:
            found.setdefault(pod.node, []).append(pod)
    return {name: tuple(several) for name, several in found.items()}


def _daemon(pod: Pod) -> bool:
    return pod.mirror or (pod.owner is not None and pod.owner.kind in ("DaemonSet", "Node"))


def _spot_node(facts: InterruptionFacts, node: Node, pods: tuple[Pod, ...], blocked: set[str]) -> SpotNode:
    now = facts.cluster.observed_at
    first = [pod for pod in pods if drained(pod) and not pod.system_critical]
    groups = ([pod for pod in first if not _daemon(pod)], [pod for pod in first if _daemon(pod)])
    return SpotNode(
        node,
        pods,
        tuple(_heard(facts, node, now)),
        sum(max((pod.grace_seconds for pod in group), default=0) for group in groups),
        tuple(_holds(first, blocked, now)),
    )


def drained(pod: Pod) -> bool:
    """Whether Karpenter evicts it at all (sigs.k8s.io/karpenter, pkg/utils/pod: IsDrainable; confidence: medium)."""
    return not pod.mirror and not pod.finished and not pod.tolerates(*DISRUPTED) and not pod.tolerates(*DISRUPTION)


def _holds(pods: Iterable[Pod], blocked: set[str], now: datetime) -> Iterator[str]:
    for pod in pods:
        if asked := pod.protected_at(now):
            if asked.startswith("karpenter.sh/"):
                yield f"{pod.key} ({asked})"
        elif pod.key in blocked:
            yield f"{pod.key} (its budget allows no eviction now)"


def _heard(facts: InterruptionFacts, node: Node, now: datetime) -> Iterator[str]:
    notices = facts.told.notices
    notice = notices.get(instance_of(node)) if not isinstance(notices, Unknown) else None
    if notice is not None:
        since = f" since {notice.since:%H:%M:%S} UTC" if notice.since is not None else ""
        yield f"EC2 says {notice.code}{since}"
    if isinstance(facts.events, tuple):
        for event in facts.events:
            recent = event.at is not None and now - event.at <= _RECENT
            if event.node == node.name and event.reason in _NOTICES and recent:
                yield f"Event {event.reason} at {event.at:%H:%M:%S} UTC"
    if any(taint.key.startswith(_HANDLER_TAINT) for taint in node.taints):
        yield f"taint {_HANDLER_TAINT}"


@dataclass(frozen=True, slots=True)
class AtRisk:
    """A workload with pods on Spot nodes. `ready` of all its replicas, `on_spot` of these; `at_once`: so many are on
    one `node`."""

    subject: Subject
    ready: int
    on_spot: int
    at_once: int
    node: str
    critical: bool
    dns: bool

    @property
    def all_at_once(self) -> bool:
        return self.at_once == self.ready


def at_risk(cluster: Cluster, nodes: Iterable[SpotNode]) -> tuple[AtRisk, ...]:
    """Cluster DNS first, then what is system-critical, then what loses the most."""
    spot = {each.name for each in nodes}
    owned: dict[Subject, list[Pod]] = {}
    for pod in cluster.pods:
        if pod.node and not pod.finished and not _daemon(pod) and pod.ready:
            owned.setdefault(owner_of(pod), []).append(pod)
    found = [_at_risk(owner, pods, spot) for owner, pods in owned.items() if any(pod.node in spot for pod in pods)]
    return tuple(
        sorted(
            found, key=lambda e: (not e.dns, not e.critical, not e.all_at_once, -e.at_once / e.ready, str(e.subject))
        )
    )


def _at_risk(owner: Subject, pods: list[Pod], spot: set[str]) -> AtRisk:
    counts: dict[str, int] = {}
    for pod in pods:
        if pod.node in spot:
            counts[pod.node] = counts.get(pod.node, 0) + 1
    node = min(counts, key=lambda name: (-counts[name], name))
    return AtRisk(
        owner,
        len(pods),
        sum(counts.values()),
        counts[node],
        node,
        any(pod.system_critical for pod in pods),
        any(is_dns(pod) for pod in pods),
    )


def is_dns(pod: Pod) -> bool:
    return is_coredns(pod.namespace, pod.labels)
