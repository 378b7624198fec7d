"""What Karpenter itself says: its log, its counters, and what the queue has seen of it.

Sources: pkg/controllers/interruption of aws/karpenter-provider-aws (messages and metrics), its controllers.go (what
happens where the queue cannot be had). Deletions for another reason (consolidation, drift, expiry) are logged alike, by
another message: only the message below is a sign of life.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from kubectl_eksdoc.amazon import interruption
from kubectl_eksdoc.interruption.installs import InterruptionFacts
from kubectl_eksdoc.interruption.links import Link, unknown
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.aws.queues import Queue
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.commands import shell
from kubectl_eksdoc.model.findings import Remedy, Status, Subject
from kubectl_eksdoc.model.interruption import KarpenterInstall
from kubectl_eksdoc.model.pods import pod_count
from kubectl_eksdoc.model.versions import Version

FAILED = ("failed to create valid sqs provider", "creating sqs provider")
ALIVE = "initiating delete from interruption message"
_READS = "watching interruption queue"
_PARSING = "failed parsing interruption message"
_WEAK = "controller.interruption"
_ENDED = "panic:"
_ABOUT_QUEUE = ("GetQueueUrl", "NonExistentQueue", "QueueDoesNotExist", "sqs")
_LONGEST = 200
_COUNTED = re.compile(
    r"^karpenter_interruption_received_messages(?:_total)?(?:\{[^}\n]*\})? +([0-9.eE+-]+)", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class LogSigns:
    """Lines of one log, the last of each; "" where there is none. `failed` only where nothing after it shows that it
    works."""

    failed: str = ""
    alive: str = ""
    reads: str = ""
    unreadable: str = ""


def log_signs(text: str, version: Version | None) -> LogSigns:
    """Whatever the text is. Lines come in their order, the newest last."""
    found = LogSigns()
    ended = False
    for line in text.splitlines():
        ended = ended or line.lstrip().startswith(_ENDED)
        if any(each in line for each in FAILED) or (ended and any(each in line for each in _ABOUT_QUEUE)):
            found = replace(found, failed=_short(line))
        elif ALIVE in line:
            found = replace(found, failed="", alive=_short(line))
        elif _READS in line or (
            _WEAK in line and version is not None and version.older_than(interruption.STATUS_SINCE)
        ):
            found = replace(found, reads=_short(line))
        elif _PARSING in line:
            found = replace(found, unreadable=_short(line))
    return found


def tells(line: str) -> bool:
    """Whether anything is read from such a line of a log, or from what follows it."""
    pieces = (*FAILED, *_ABOUT_QUEUE, ALIVE, _READS, _WEAK, _PARSING)
    return line.lstrip().startswith(_ENDED) or any(each in line for each in pieces)


_FIELD = re.compile(r'"(time|message|error|node)" *: *"((?:[^"\\]|\\.)*)"')


def _short(line: str) -> str:
    """Of a line in JSON its time, message, node and error: the rest helps nobody who reads it at night."""
    said = dict(reversed([(match.group(1), match.group(2)) for match in _FIELD.finditer(line)]))
    if "message" in said:
        of_node = f" (node {said['node']})" if "node" in said else ""
        error = f": {said['error']}" if "error" in said else ""
        line = f"{said.get('time', '')} {said['message']}{of_node}{error}"
    line = line.strip()
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def messages_counted(metrics: str) -> int | None:
    """Messages that were received since this pod started; None where it counts none: none came, or nobody reads."""
    found = [number for match in _COUNTED.finditer(metrics) if (number := _number(match.group(1))) is not None]
    return sum(found) if found else None


def _number(text: str) -> int | None:
    try:
        return int(float(text))
    except (ValueError, OverflowError):
        return None


def log_link(facts: InterruptionFacts, install: KarpenterInstall) -> Link:
    """Whether Karpenter says that it cannot use the queue."""
    link = Link(
        Code.of("interruption-provider-fails"),
        "Karpenter's log",
        Subject("Deployment", install.name, install.namespace),
        Status.PASS,
        "",
    )
    if not install.pods and not install.replicas:
        return _asleep(link, install)
    read = {pod: text for pod, text in facts.logs.items() if isinstance(text, str)}
    for pod, text in read.items():
        signs = log_signs(text, install.version)
        if signs.failed and not _over(facts, pod, signs.failed):
            what = "Karpenter says that it cannot use the queue"
            text_of = "Fix the links before it; from v1.4.0 on Karpenter retries by itself. To see it:"
            remedy = (Remedy(text_of, _grep(install)),)
            return replace(link, status=Status.FAIL, what=what, evidence=(f"{pod}: {signs.failed}",), remedy=remedy)
    pods = [pod for pod in facts.cluster.pods if pod.key in install.pods]
    if pods and not any(pod.ready for pod in pods):  # whatever is read of the time before
        why = Unknown(f"none of its {pod_count(len(pods))} is Ready: whether it reads the queue now is not known")
        return _to_look(
            unknown(replace(link, code=Code.of("interruption-karpenter"), name="Karpenter"), why, "a Ready pod"),
            install,
        )
    unread = [each for each in facts.logs.values() if isinstance(each, Unknown)]
    if unread or not read:  # the one that reads the queue may be the one whose log was not read
        why = unread[0] if unread else Unknown(_no_pods(install))
        return _to_look(unknown(link, why, "the log of Karpenter"), install)
    return replace(link, what=f"no error about the queue in the last lines of {pod_count(len(read))}")


_TRIES_EVERY = timedelta(minutes=20)
"""From v1.4.0 on Karpenter tries again by itself, after 1000 s at most (client-go, util/workqueue, the rate limiter of
controllers), and says it each time."""
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)[0-9.]*Z")


def _over(facts: InterruptionFacts, pod: str, line: str) -> bool:
    """Whether it cannot be so any more: the queue is there, it was not said again in time, and somebody reads it."""
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


def _asleep(link: Link, install: KarpenterInstall) -> Link:
    what = "it is scaled to zero: interruption events are not received, and no nodes are created"
    command = shell("kubectl", "scale", f"deployment/{install.name}", "-n", install.namespace, "--replicas=2")
    remedy = Remedy("Find out why it was scaled down, then scale it up again.", command)
    return replace(
        link, code=Code.of("interruption-karpenter"), name="Karpenter", status=Status.FAIL, what=what, remedy=(remedy,)
    )


def _no_pods(install: KarpenterInstall) -> str:
    return "none of its pods is there to ask" if not install.pods else "none of its pods has a log"


def _grep(install: KarpenterInstall) -> str:
    logs = shell("kubectl", "logs", "-n", install.namespace, f"deployment/{install.name}", "--tail=2000")
    return f"{logs} | grep -iE 'sqs provider|interruption message'"


def _to_look(link: Link, install: KarpenterInstall) -> Link:
    return replace(link, remedy=(*link.remedy[:1], Remedy("Look yourself:", _grep(install))))


def life_link(facts: InterruptionFacts, install: KarpenterInstall, broken: bool, named: bool = True) -> Link:
    """Whether it has been seen to work. `broken`: something before it is known to be wrong; `named`: it is known that
    Karpenter reads this queue, else another may be who fetches from it."""
    subject = Subject("Deployment", install.name, install.namespace)
    link = Link(Code.of("interruption-sign-of-life"), "sign of life", subject, Status.PASS, "", False)
    for sign in (*_signs(facts, install), *(_fetches(facts) if named and not broken else ())):
        return replace(link, what=sign)
    if broken:
        return replace(link, status=None, what="none; to be seen once the rest is fixed")
    why = Unknown("nothing has been seen of it: no message counted, none in the logs, no fetch counted by SQS")
    figures = facts.told.figures
    untold = (figures, *facts.metrics.values())
    missing = next((each.missing for each in untold if isinstance(each, Unknown) and each.missing), "")
    said = unknown(link, Unknown(why.why, missing), "a message that came")
    proof = _proof(facts)
    return replace(said, remedy=(Remedy("Send it a message about no node, and ask again:", proof),)) if proof else said


def _signs(facts: InterruptionFacts, install: KarpenterInstall) -> Iterator[str]:
    """The surest first."""
    alive = [
        f"{pod} has logged: {signs.alive}"
        for pod, text in facts.logs.items()
        if isinstance(text, str) and (signs := log_signs(text, install.version)).alive and not signs.failed
    ]
    yield from alive
    counted = [count for text in facts.metrics.values() if isinstance(text, str) and (count := messages_counted(text))]
    if counted:
        yield f"it has counted {sum(counted)} messages since it started"


def _fetches(facts: InterruptionFacts) -> Iterator[str]:
    """That somebody reads the queue is a sign only where Karpenter can be who does."""
    figures = facts.told.figures
    if not isinstance(figures, Unknown) and isinstance(facts.told.queue, Queue):
        if figures.deleted:
            yield f"{figures.deleted} messages were taken from the queue in the last day"
        if figures.empty:
            yield "a consumer polls the queue all the time, and no message has arrived yet"


def _proof(facts: InterruptionFacts) -> str:
    """A message as EventBridge would send it, about an instance that nobody has: Karpenter counts and deletes it."""
    queue = facts.told.queue
    url = getattr(queue, "url", "")
    body = (
        '{"version":"0","source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning",'
        f'"id":"00000000-0000-0000-0000-000000000000","account":"{facts.place.account}",'
        f'"region":"{facts.place.region}","time":"2026-01-01T00:00:00Z","resources":[],'
        '"detail":{"instance-id":"i-00000000000000000","instance-action":"terminate"}}'
    )
    return shell("aws", "sqs", "send-message", "--queue-url", url, "--message-body", body) if url else ""
