"""Spot nodes, the pods on them, and which of them have an interruption notice now."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.guards import matching
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.coredns import is_coredns
from kubectl_eksdoc.model.findings import Code, Remedy, Subject, clause
from kubectl_eksdoc.model.interruption import KarpenterInstall, Queue
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.nodes import Node, NodeOwner, Pod, pod_count
from kubectl_eksdoc.probes.pods import owner_of

from .installs import InterruptionFacts, Link, unknown

NOTICE_S = 120
"""Seconds between the notice and the termination (EC2 user guide, Spot Instance interruption notices)."""

DISRUPTED = ("karpenter.sh/disrupted", "", "NoSchedule")
DISRUPTION = ("karpenter.sh/disruption", "disrupting", "NoSchedule")
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
    heard: tuple[str, ...] = ()
    before_s: int = 0
    holds: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def dying(self) -> tuple[Pod, ...]:
        """The pods without those of DaemonSets, which every node has."""
        return tuple(pod for pod in self.pods if not _daemon(pod))

    @property
    def critical(self) -> tuple[Pod, ...]:
        return tuple(pod for pod in self.dying if pod.system_critical)


def instance_of(node: Node) -> str:
    """``i-0123…`` of ``aws:///ap-northeast-2a/i-0123…``, or ""."""
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
    """Whether Karpenter evicts the pod (sigs.k8s.io/karpenter, pkg/utils/pod: IsDrainable; confidence: medium)."""
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


@frozen
class AtRisk:
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


def at_risk(cluster: Cluster, nodes: Iterable[SpotNode]) -> tuple[AtRisk, ...]:
    """Cluster DNS first, then system-critical workloads, then those that lose the largest share."""
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


# Activity of Karpenter: its log, its metrics, and the queue's metrics.
#
# Sources: pkg/controllers/interruption of aws/karpenter-provider-aws (messages and metrics), its controllers.go (the
# behaviour where the queue is not available). Deletions for another reason (consolidation, drift, expiry) are logged
# with another message: only the message below shows that interruptions are handled.


FAILED = ("failed to create valid sqs provider", "creating sqs provider")
ALIVE = "initiating delete from interruption message"
_ENDED = "panic:"
_ABOUT_QUEUE = ("GetQueueUrl", "NonExistentQueue", "QueueDoesNotExist", "sqs")
_LONGEST = 200
_COUNTED = re.compile(
    r"^karpenter_interruption_received_messages(?:_total)?(?:\{[^}\n]*\})? +([0-9.eE+-]+)", re.MULTILINE
)


@frozen
class LogSigns:
    """Lines of one log, the last of each kind, or "". `failed` is only set if no later line shows that Karpenter
    works."""

    failed: str = ""
    alive: str = ""


def log_signs(text: str) -> LogSigns:
    """`text` may be anything. Lines are in order of time."""
    found = LogSigns()
    ended = False
    for line in text.splitlines():
        ended = ended or line.lstrip().startswith(_ENDED)
        if any(each in line for each in FAILED) or (ended and any(each in line for each in _ABOUT_QUEUE)):
            found = replace(found, failed=_short(line))
        elif ALIVE in line:
            found = replace(found, failed="", alive=_short(line))
    return found


def tells(line: str) -> bool:
    """Whether the line, or one after it, is evidence."""
    pieces = (*FAILED, *_ABOUT_QUEUE, ALIVE)
    return line.lstrip().startswith(_ENDED) or any(each in line for each in pieces)


_FIELD = re.compile(r'"(time|message|error|node)" *: *"((?:[^"\\]|\\.)*)"')


def _short(line: str) -> str:
    """Time, message, node and error of a JSON line, or the line itself, shortened."""
    said = dict(reversed([(match.group(1), match.group(2)) for match in _FIELD.finditer(line)]))
    if "message" in said:
        of_node = f" (node {said['node']})" if "node" in said else ""
        error = f": {said['error']}" if "error" in said else ""
        line = f"{said.get('time', '')} {said['message']}{of_node}{error}"
    line = line.strip()
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def messages_counted(metrics: str) -> int | None:
    """Messages received since this pod started; None where the metric is missing: no message came, or the queue is not
    read."""
    found = [number for match in _COUNTED.finditer(metrics) if (number := _number(match.group(1))) is not None]
    return sum(found) if found else None


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
        return _of_all(link).fails("interruption-karpenter/asleep", command=command)
    read = {pod: text for pod, text in facts.logs.items() if isinstance(text, str)}
    for pod, text in read.items():
        signs = log_signs(text)
        if signs.failed and not _over(facts, pod, signs.failed):
            seen = f"{pod}: {signs.failed}"
            return link.fails("interruption-provider-fails/says", seen, command=_grep(install))
    pods = [pod for pod in facts.cluster.pods if pod.key in install.pods]
    if pods and not any(pod.ready for pod in pods):  # whatever was logged before
        why = Unknown(f"none of its {pod_count(len(pods))} is Ready: whether it reads the queue now is not known")
        return _to_look(unknown(_of_all(link), why, "interruption-karpenter"), install)
    unread = [each for each in facts.logs.values() if isinstance(each, Unknown)]
    if unread or not read:  # an unread log may be that of the pod that reads the queue
        none = "none of its pods has a log" if install.pods else "none of its pods is there to ask"
        why = unread[0] if unread else Unknown(none)
        return _to_look(unknown(link, why, "interruption-provider-fails"), install)
    return link.passes("interruption-provider-fails/none", count=len(read))


_TRIES_EVERY = timedelta(minutes=20)
"""From v1.4.0 on Karpenter retries after 1000 s at most (client-go, util/workqueue, the controllers' rate limiter), and
logs each failure."""
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)[0-9.]*Z")


def _over(facts: InterruptionFacts, pod: str, line: str) -> bool:
    """Whether the failure is over: the queue exists, the failure was not logged again in time, and the queue is
    read."""
    said = _TIME.search(line)
    if said is None or not isinstance(facts.told.queue, Queue) or _ENDED in line:
        return False
    try:
        at = datetime.fromisoformat(f"{said.group(1)}+00:00")
    except ValueError:
        return False
    counted = facts.metrics.get(pod)
    reads = any(_fetches(facts)) or bool(isinstance(counted, str) and messages_counted(counted))
    return reads and facts.cluster.observed_at - at > _TRIES_EVERY


def _of_all(link: Link) -> Link:
    return replace(link, code=Code.of("interruption-karpenter"))


def _grep(install: KarpenterInstall) -> str:
    logs = shell("kubectl", "logs", "-n", install.namespace, f"deployment/{install.name}", "--tail=2000")
    return f"{logs} | grep -iE 'sqs provider|interruption message'"


def _to_look(link: Link, install: KarpenterInstall) -> Link:
    return replace(link, remedy=(*link.remedy[:1], Remedy.of("see-log", command=_grep(install))))


def life_link(facts: InterruptionFacts, install: KarpenterInstall, broken: bool, named: bool = True) -> Link:
    """Whether Karpenter was seen to work. `broken`: an earlier link fails; `queue_is_known`: Karpenter is known to read
    this queue, otherwise its reader may be another client."""
    subject = Subject("Deployment", install.name, install.namespace)
    link = Link(Code.of("interruption-sign-of-life"), subject, vital=False)
    for sign in (*_signs(facts, install), *(_fetches(facts) if named and not broken else ())):
        return replace(link, what=sign)
    if broken:
        return replace(link, status=None, what=clause("interruption-sign-of-life/later"))
    why = Unknown("nothing has been seen of it: no message counted, none in the logs, no fetch counted by SQS")
    asked = (facts.told.figures, *facts.metrics.values(), *facts.logs.values())
    untold = tuple(each for each in asked if isinstance(each, Unknown))
    missing = next((each.missing for each in untold if each.missing), "")
    said = unknown(link, Unknown(why.why, missing), "interruption-sign-of-life")
    said = replace(said, lacks=untold or said.lacks)
    proof = _proof(facts)
    return replace(said, remedy=(Remedy.of("send-message", command=proof),)) if proof else said


def _signs(facts: InterruptionFacts, install: KarpenterInstall) -> Iterator[str]:
    """The most certain evidence first."""
    alive = [
        clause("interruption-sign-of-life/logged", pod=pod, line=signs.alive)
        for pod, text in facts.logs.items()
        if isinstance(text, str) and (signs := log_signs(text)).alive and not signs.failed
    ]
    yield from alive
    counted = [count for text in facts.metrics.values() if isinstance(text, str) and (count := messages_counted(text))]
    if counted:
        yield clause("interruption-sign-of-life/counted", count=sum(counted))


def _fetches(facts: InterruptionFacts) -> Iterator[str]:
    """Reads of the queue; the caller ensures that Karpenter can be the reader."""
    figures = facts.told.figures
    if not isinstance(figures, Unknown) and isinstance(facts.told.queue, Queue):
        if figures.deleted:
            yield clause("interruption-sign-of-life/deleted", count=figures.deleted)
        if figures.empty:
            yield clause("interruption-sign-of-life/polled")


def _proof(facts: InterruptionFacts) -> str:
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
    words = ("--queue-url", url, "--message-body", body, "--region", facts.place.region)  # AWS CLI: not from the URL
    return shell("aws", "sqs", "send-message", *words) if url else ""
