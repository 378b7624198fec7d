"""Spot nodes, the pods on them, and which of them have an interruption notice now."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.guards import index_budgets
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.coredns import is_coredns
from kubectl_eksdoc.model.findings import Code, Remedy, Subject, clause
from kubectl_eksdoc.model.interruption import KarpenterInstall, Queue
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.nodes import Node, NodeOwner, Pod, pod_count
from kubectl_eksdoc.probes.pods import owner_of

from .installs import InterruptionFacts, Link, unknown_link

NOTICE_S = 120
"""Seconds between the notice and the termination (EC2 user guide, Spot Instance interruption notices)."""

DISRUPTED_TAINT = ("karpenter.sh/disrupted", "", "NoSchedule")
DISRUPTION_TAINT = ("karpenter.sh/disruption", "disrupting", "NoSchedule")
"""Taints of nodes that Karpenter drains, from v1 on and before; pods that tolerate them are not drained."""

_RECENT = timedelta(seconds=NOTICE_S + 60)
_NOTICES = ("SpotInterrupted", "TerminatingOnInterruption")
_HANDLER_TAINT = "aws-node-termination-handler/spot-itn"


@frozen
class SpotNode:
    """A Spot node.

    `pods`: all pods on it, including those of DaemonSets. `notices`: the sources that report an interruption notice
    now. `before_critical_s`: longest time in seconds before a drain by Karpenter evicts system-critical pods.
    `drain_blockers`: pods that hold up such a drain, each with the reason.
    """

    node: Node
    pods: tuple[Pod, ...]
    notices: tuple[str, ...] = ()
    before_critical_s: int = 0
    drain_blockers: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def lost_pods(self) -> tuple[Pod, ...]:
        """The pods without those of DaemonSets, which every node has."""
        return tuple(pod for pod in self.pods if not _is_daemon_pod(pod))

    @property
    def critical(self) -> tuple[Pod, ...]:
        return tuple(pod for pod in self.lost_pods if pod.is_system_critical)


def instance_of(node: Node) -> str:
    """``i-0123…`` of ``aws:///ap-northeast-2a/i-0123…``, or ""."""
    last = node.provider_id.rpartition("/")[2]
    return last if node.provider_id.startswith("aws://") and last.startswith("i-") else ""


def is_spot(node: Node) -> bool:
    return node.capacity_type == "spot"


def spot_nodes(facts: InterruptionFacts, owner: NodeOwner = NodeOwner.KARPENTER) -> tuple[SpotNode, ...]:
    cluster = facts.cluster
    pods = _pods_by_node(cluster.pods)
    pods_by_budget = index_budgets(cluster.budgets, cluster.pods)
    blocked = {
        pod.key
        for budget in cluster.budgets
        if budget.status.allowed <= 0
        for pod in pods_by_budget.selected_pods(budget)
    }
    return tuple(
        _spot_node(facts, node, pods.get(node.name, ()), blocked)
        for node in cluster.nodes
        if is_spot(node) and node.owner is owner
    )


def _pods_by_node(pods: Iterable[Pod]) -> Mapping[str, tuple[Pod, ...]]:
    by_node: dict[str, list[Pod]] = {}
    for pod in pods:
        if pod.node and not pod.finished:
            by_node.setdefault(pod.node, []).append(pod)
    return {name: tuple(node_pods) for name, node_pods in by_node.items()}


def _is_daemon_pod(pod: Pod) -> bool:
    return pod.is_mirror or (pod.owner is not None and pod.owner.kind in ("DaemonSet", "Node"))


def _spot_node(facts: InterruptionFacts, node: Node, pods: tuple[Pod, ...], blocked: set[str]) -> SpotNode:
    now = facts.cluster.observed_at
    not_critical = [pod for pod in pods if is_drained(pod) and not pod.is_system_critical]
    groups = (
        [pod for pod in not_critical if not _is_daemon_pod(pod)],
        [pod for pod in not_critical if _is_daemon_pod(pod)],
    )
    return SpotNode(
        node,
        pods,
        tuple(_notice_texts(facts, node, now)),
        sum(max((pod.grace_seconds for pod in group), default=0) for group in groups),
        tuple(_drain_blockers(not_critical, blocked, now)),
    )


def is_drained(pod: Pod) -> bool:
    """Whether Karpenter evicts the pod (sigs.k8s.io/karpenter, pkg/utils/pod: IsDrainable; confidence: medium)."""
    return (
        not pod.is_mirror
        and not pod.finished
        and not pod.tolerates(*DISRUPTED_TAINT)
        and not pod.tolerates(*DISRUPTION_TAINT)
    )


def _drain_blockers(pods: Iterable[Pod], blocked: set[str], now: datetime) -> Iterator[str]:
    for pod in pods:
        if protection := pod.protection_at(now):
            if protection.startswith("karpenter.sh/"):
                yield f"{pod.key} ({protection})"
        elif pod.key in blocked:
            yield f"{pod.key} (its budget allows no eviction now)"


def _notice_texts(facts: InterruptionFacts, node: Node, now: datetime) -> Iterator[str]:
    notices = facts.told.notices
    notice = notices.get(instance_of(node)) if not isinstance(notices, Unknown) else None
    if notice is not None:
        since = f" since {notice.since:%H:%M:%S} UTC" if notice.since is not None else ""
        yield f"EC2 says {notice.code}{since}"
    if isinstance(facts.events, tuple):
        for event in facts.events:
            is_recent = event.at is not None and now - event.at <= _RECENT
            if event.node == node.name and event.reason in _NOTICES and is_recent:
                yield f"Event {event.reason} at {event.at:%H:%M:%S} UTC"
    if any(taint.key.startswith(_HANDLER_TAINT) for taint in node.taints):
        yield f"taint {_HANDLER_TAINT}"


@frozen
class AffectedWorkload:
    """A workload with pods on Spot nodes. `ready`: Ready replicas; `on_spot`: of these on Spot nodes; `at_once`: on the
    one `node` that has the most."""

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


def affected_workloads(cluster: Cluster, nodes: Iterable[SpotNode]) -> tuple[AffectedWorkload, ...]:
    """Cluster DNS first, then system-critical workloads, then those that lose the largest share."""
    spot = {each.name for each in nodes}
    pods_by_owner: dict[Subject, list[Pod]] = {}
    for pod in cluster.pods:
        if pod.node and not pod.finished and not _is_daemon_pod(pod) and pod.ready:
            pods_by_owner.setdefault(owner_of(pod), []).append(pod)
    workloads = [
        _affected_workload(owner, pods, spot)
        for owner, pods in pods_by_owner.items()
        if any(pod.node in spot for pod in pods)
    ]
    return tuple(
        sorted(
            workloads,
            key=lambda e: (not e.dns, not e.critical, not e.all_at_once, -e.at_once / e.ready, str(e.subject)),
        )
    )


def _affected_workload(owner: Subject, pods: list[Pod], spot: set[str]) -> AffectedWorkload:
    counts: dict[str, int] = {}
    for pod in pods:
        if pod.node in spot:
            counts[pod.node] = counts.get(pod.node, 0) + 1
    node = min(counts, key=lambda name: (-counts[name], name))
    return AffectedWorkload(
        owner,
        len(pods),
        sum(counts.values()),
        counts[node],
        node,
        any(pod.is_system_critical for pod in pods),
        any(is_dns(pod) for pod in pods),
    )


def is_dns(pod: Pod) -> bool:
    return is_coredns(pod.namespace, pod.labels)


# Activity of Karpenter: its log, its metrics, and the queue's metrics.
#
# Sources: pkg/controllers/interruption of aws/karpenter-provider-aws (messages and metrics), its controllers.go (the
# behaviour where the queue is not available). Deletions for another reason (consolidation, drift, expiry) are logged
# with another message: only the message below shows that interruptions are handled.


FAILURE_MESSAGES = ("failed to create valid sqs provider", "creating sqs provider")
ALIVE_MESSAGE = "initiating delete from interruption message"
_PANIC = "panic:"
_QUEUE_MESSAGES = ("GetQueueUrl", "NonExistentQueue", "QueueDoesNotExist", "sqs")
_MAX_LINE = 200
_RECEIVED_METRIC = re.compile(
    r"^karpenter_interruption_received_messages(?:_total)?(?:\{[^}\n]*\})? +([0-9.eE+-]+)", re.MULTILINE
)


@frozen
class LogEvidence:
    """Lines of one log, the last of each kind, or "". `failed` is only set if no later line shows that Karpenter
    works."""

    failed: str = ""
    alive: str = ""


def log_evidence(text: str) -> LogEvidence:
    """`text` may be anything. Lines are in order of time."""
    evidence = LogEvidence()
    has_panicked = False
    for line in text.splitlines():
        has_panicked = has_panicked or line.lstrip().startswith(_PANIC)
        if any(each in line for each in FAILURE_MESSAGES) or (
            has_panicked and any(each in line for each in _QUEUE_MESSAGES)
        ):
            evidence = replace(evidence, failed=_short_line(line))
        elif ALIVE_MESSAGE in line:
            evidence = replace(evidence, failed="", alive=_short_line(line))
    return evidence


def is_relevant_line(line: str) -> bool:
    """Whether the line, or one after it, is evidence."""
    pieces = (*FAILURE_MESSAGES, *_QUEUE_MESSAGES, ALIVE_MESSAGE)
    return line.lstrip().startswith(_PANIC) or any(each in line for each in pieces)


_FIELD = re.compile(r'"(time|message|error|node)" *: *"((?:[^"\\]|\\.)*)"')


def _short_line(line: str) -> str:
    """Time, message, node and error of a JSON line, or the line itself, shortened."""
    fields = dict(reversed([(match.group(1), match.group(2)) for match in _FIELD.finditer(line)]))
    if "message" in fields:
        node_text = f" (node {fields['node']})" if "node" in fields else ""
        error = f": {fields['error']}" if "error" in fields else ""
        line = f"{fields.get('time', '')} {fields['message']}{node_text}{error}"
    line = line.strip()
    return line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]}…"


def received_messages(metrics: str) -> int | None:
    """Messages received since this pod started; None where the metric is missing: no message came, or the queue is not
    read."""
    counts = [number for match in _RECEIVED_METRIC.finditer(metrics) if (number := _number(match.group(1))) is not None]
    return sum(counts) if counts else None


def _number(text: str) -> int | None:
    try:
        return int(float(text))
    except (ValueError, OverflowError):
        return None


def log_link(facts: InterruptionFacts, install: KarpenterInstall) -> Link:
    """Whether Karpenter logs that it cannot use the queue."""
    link = Link(
        Code.of("interruption-provider-fails"),
        Subject("Deployment", install.name, install.namespace),
    )
    if not install.pods and not install.replicas:
        command = shell("kubectl", "scale", f"deployment/{install.name}", "-n", install.namespace, "--replicas=2")
        return _as_karpenter_link(link).fails("interruption-karpenter/asleep", command=command)
    read_logs = {pod: text for pod, text in facts.logs.items() if isinstance(text, str)}
    for pod, text in read_logs.items():
        evidence = log_evidence(text)
        if evidence.failed and not _is_outdated(facts, pod, evidence.failed):
            evidence_text = f"{pod}: {evidence.failed}"
            return link.fails("interruption-provider-fails/says", evidence_text, command=_log_command(install))
    pods = [pod for pod in facts.cluster.pods if pod.key in install.pods]
    if pods and not any(pod.ready for pod in pods):  # whatever was logged before
        reason = Unknown(f"none of its {pod_count(len(pods))} is Ready: whether it reads the queue now is not known")
        return _with_log_remedy(unknown_link(_as_karpenter_link(link), reason, "interruption-karpenter"), install)
    unread_logs = [each for each in facts.logs.values() if isinstance(each, Unknown)]
    if unread_logs or not read_logs:  # an unread log may be that of the pod that reads the queue
        reason_text = "none of its pods has a log" if install.pods else "none of its pods is there to ask"
        reason = unread_logs[0] if unread_logs else Unknown(reason_text)
        return _with_log_remedy(unknown_link(link, reason, "interruption-provider-fails"), install)
    return link.passes("interruption-provider-fails/none", count=len(read_logs))


_RETRY_INTERVAL = timedelta(minutes=20)
"""From v1.4.0 on Karpenter retries after 1000 s at most (client-go, util/workqueue, the controllers' rate limiter), and
logs each failure."""
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)[0-9.]*Z")


def _is_outdated(facts: InterruptionFacts, pod: str, line: str) -> bool:
    """Whether the failure is over: the queue exists, the failure was not logged again in time, and the queue is
    read."""
    timestamp = _TIME.search(line)
    if timestamp is None or not isinstance(facts.told.queue, Queue) or _PANIC in line:
        return False
    try:
        logged_at = datetime.fromisoformat(f"{timestamp.group(1)}+00:00")
    except ValueError:
        return False
    metrics = facts.metrics.get(pod)
    is_read = any(_queue_activity(facts)) or bool(isinstance(metrics, str) and received_messages(metrics))
    return is_read and facts.cluster.observed_at - logged_at > _RETRY_INTERVAL


def _as_karpenter_link(link: Link) -> Link:
    return replace(link, code=Code.of("interruption-karpenter"))


def _log_command(install: KarpenterInstall) -> str:
    logs = shell("kubectl", "logs", "-n", install.namespace, f"deployment/{install.name}", "--tail=2000")
    return f"{logs} | grep -iE 'sqs provider|interruption message'"


def _with_log_remedy(link: Link, install: KarpenterInstall) -> Link:
    return replace(link, remedy=(*link.remedy[:1], Remedy.of("see-log", command=_log_command(install))))


def activity_link(
    facts: InterruptionFacts, install: KarpenterInstall, broken: bool, queue_is_known: bool = True
) -> Link:
    """Whether Karpenter was seen to work. `broken`: an earlier link fails; `queue_is_known`: Karpenter is known to read
    this queue, otherwise its reader may be another client."""
    subject = Subject("Deployment", install.name, install.namespace)
    link = Link(Code.of("interruption-sign-of-life"), subject, vital=False)
    for text in (*_activity_texts(facts, install), *(_queue_activity(facts) if queue_is_known and not broken else ())):
        return replace(link, what=text)
    if broken:
        return replace(link, status=None, what=clause("interruption-sign-of-life/later"))
    reason = Unknown("nothing has been seen of it: no message counted, none in the logs, no fetch counted by SQS")
    sources = (facts.told.figures, *facts.metrics.values(), *facts.logs.values())
    unknowns = tuple(each for each in sources if isinstance(each, Unknown))
    missing = next((each.missing for each in unknowns if each.missing), "")
    result = unknown_link(link, Unknown(reason.why, missing), "interruption-sign-of-life")
    result = replace(result, lacks=unknowns or result.lacks)
    test_command = _test_message_command(facts)
    return replace(result, remedy=(Remedy.of("send-message", command=test_command),)) if test_command else result


def _activity_texts(facts: InterruptionFacts, install: KarpenterInstall) -> Iterator[str]:
    """The most certain evidence first."""
    logged = [
        clause("interruption-sign-of-life/logged", pod=pod, line=evidence.alive)
        for pod, text in facts.logs.items()
        if isinstance(text, str) and (evidence := log_evidence(text)).alive and not evidence.failed
    ]
    yield from logged
    counts = [count for text in facts.metrics.values() if isinstance(text, str) and (count := received_messages(text))]
    if counts:
        yield clause("interruption-sign-of-life/counted", count=sum(counts))


def _queue_activity(facts: InterruptionFacts) -> Iterator[str]:
    """Reads of the queue; the caller ensures that Karpenter can be the reader."""
    figures = facts.told.figures
    if not isinstance(figures, Unknown) and isinstance(facts.told.queue, Queue):
        if figures.deleted:
            yield clause("interruption-sign-of-life/deleted", count=figures.deleted)
        if figures.empty:
            yield clause("interruption-sign-of-life/polled")


def _test_message_command(facts: InterruptionFacts) -> str:
    """The command that sends a message as EventBridge would, about an instance that does not exist: Karpenter counts
    and deletes it."""
    queue = facts.told.queue
    url = getattr(queue, "url", "")
    body = (
        '{"version":"0","source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning",'
        f'"id":"00000000-0000-0000-0000-000000000000","account":"{facts.place.account}",'
        f'"region":"{facts.place.region}","time":"2026-01-01T00:00:00Z","resources":[],'
        '"detail":{"instance-id":"i-00000000000000000","instance-action":"terminate"}}'
    )
    args = ("--queue-url", url, "--message-body", body, "--region", facts.place.region)  # AWS CLI: not from the URL
    return shell("aws", "sqs", "send-message", *args) if url else ""
