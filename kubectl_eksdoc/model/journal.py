"""The journal of a drain run as data: its start, each intent and its result, and everything else that must not be lost.

The types belong to the model because two edges store them, a file and the cluster, and edges know nothing of runs.
`drain.run.journal` interprets a journal; `objects.journal_lines` reads and writes its text form.
"""

from __future__ import annotations

import re
from datetime import datetime
from enum import Enum

from kubectl_eksdoc.frozen import frozen

MAX_RUN_ID = 40

_RUN_ID = re.compile(rf"[a-z0-9]([-a-z0-9]{{0,{MAX_RUN_ID - 2}}}[a-z0-9])?")


def is_run_id(text: str) -> bool:
    """Whether `text` is valid as part of an object's name, as a label value and as part of a file name:
    ``20261120-1930-4f2a``."""
    return _RUN_ID.fullmatch(text) is not None


class Verb(str, Enum):
    """A change to the cluster; each changes exactly one object."""

    CORDON = "cordon"
    EXCLUDE = "exclude"  # exclude a node from load balancers that send traffic to nodes
    RESTORE = "restore"  # restore a node's state from before this run cordoned and excluded it
    PROTECT = "protect"  # protect a node from autoscalers that would remove it
    RELEASE = "release"  # end the protection of a node
    EVICT = "evict"
    RESTART = "restart"  # a rollout restart of a workload
    DELETE = "delete"  # delete a pod despite its budget: the user named it


class IntentOutcome(str, Enum):
    """The result of an intent, by the server's answer."""

    DONE = "done"  # the server confirmed it
    GONE = "gone"  # there is no longer an object with that name and UID
    REFUSED = "refused"  # nothing was changed
    UNKNOWN = "unknown"  # it may have been done or not


class NoteKind(str, Enum):
    """The kind of a note. `subject` is a node for the first three and the last, a pod template for `STOPPED`; for the
    others it is empty or names the user."""

    NODE_DONE = "node-done"
    LEFT_ALONE = "left-alone"
    LOST = "lost"
    PAUSED = "paused"
    RESUMED = "resumed"
    ABORTED = "aborted"  # no further node is started and no further pod is evicted
    ADOPTED = "adopted"  # `subject` is the leader from now on
    ENDED = "ended"  # `why` is the outcome, a word or a sentence
    STOPPED = "stopped"  # pods of the template `subject` took these seconds to stop (`why`, separated by spaces)
    WAVE = "wave"  # `subject`, a node, belongs to wave `why` of the plan with which the run is resumed


DONE, ROLLED_BACK = "done", "rolled back"
"""Outcomes of a run that is not resumed: every node is empty, or the nodes are restored to their earlier state."""


TERMINATED = "its process was terminated"
"""Outcome of a run whose process received SIGTERM, because its pod was moved. It is resumed automatically."""


UNCORDONED = "it was uncordoned"
"""The beginning of the reason for which a node that was uncordoned is no longer drained."""


@frozen
class JournaledNode:
    """A node that is drained; `wave` counts from 1, 0 if there are no waves."""

    node: str
    uid: str
    wave: int = 0


@frozen
class RunStarted:
    """The first entry. `at` is in UTC by the clock of `host`, like every time in a journal: it is displayed, and no
    decision depends on it.

    `plan`: digest of the plan; `leader`: the holder that the lock names; `aims` in their order. `asked`: a command
    line, as words, that makes the same plan on any machine: contents of files are included. `skipped`: target nodes
    that are cordoned and not drained. `p50_s`, `p95_s`, `bound_s`: the estimate in seconds, None if not known.
    `cluster`: its UID, see `Identity`.
    """

    number: int
    at: datetime
    run: str
    plan: str
    tool: str
    who: str
    host: str
    leader: str
    aims: tuple[JournaledNode, ...] = ()
    asked: tuple[str, ...] = ()
    skipped: tuple[JournaledNode, ...] = ()
    p50_s: float | None = None
    p95_s: float | None = None
    bound_s: float | None = None
    cluster: str = ""


@frozen
class IntentEntry:
    """Written before the change is requested. `namespace` and `name` of the object (`kind`: ``Node``, ``Pod``,
    ``Deployment`` and so on) with exactly this UID; `node` is the node of a pod.

    `before`: the state of a node before its cordon, as text that `Restore` reads. `grace_s`: None for the pod's own
    grace period.
    """

    number: int
    at: datetime
    verb: Verb
    kind: str
    name: str
    uid: str
    namespace: str = ""
    node: str = ""
    grace_s: int | None = None
    before: str = ""


@frozen
class ResultEntry:
    """The answer to the intent with the number `of`. HTTP `code`, 0 without an answer; `trouble`: the error in one
    word, as users and programs see it; `said`: the server's message."""

    number: int
    at: datetime
    of: int
    outcome: IntentOutcome
    code: int = 0
    trouble: str = ""
    said: str = ""


@frozen
class NoteEntry:
    """Another fact that a process needs to resume the run."""

    number: int
    at: datetime
    what: NoteKind
    subject: str = ""
    why: str = ""


class DelayCause(str, Enum):
    """Why a run took more or less time than planned. `BUDGETS` is the remainder: budgets allowed more or fewer
    disruptions, or allowed them later."""

    STOPPING = "stopping"
    STARTING = "starting"
    SCHEDULING = "scheduling"
    HOLDS = "holds"  # the run requested nothing: the lock, a guard, an outage
    BUDGETS = "budgets"


@frozen
class TimingEntry:
    """Planned and actual seconds of one part of a run, without pauses and soaks. `causes`: the seconds by which each
    cause made it longer, or shorter (negative)."""

    number: int
    at: datetime
    took_s: float
    p50_s: float
    p95_s: float
    bound_s: float | None = None
    causes: tuple[tuple[DelayCause, float], ...] = ()

    @property
    def error_s(self) -> float:
        return self.took_s - self.p50_s


JournalEntry = RunStarted | IntentEntry | ResultEntry | NoteEntry | TimingEntry
"""`number` counts all entries of a run from 0, whichever process writes them. So copies, gaps and mixed journals are
detected."""


@frozen
class JournalEntries:
    """The readable entries of a journal, in their order. `dropped` says for every other line what is wrong with it."""

    entries: tuple[JournalEntry, ...] = ()
    dropped: tuple[str, ...] = ()


class RunPhase(str, Enum):
    """The phase of a run, as stored in the cluster."""

    RUNNING = "running"
    PAUSED = "paused"
    ABORTED = "aborted"
    ENDED = "ended"


@frozen
class RunSummary:
    """A run in a list of runs.

    `begun` and `updated` as its machines wrote them, None if they cannot be read; `phase`: a value of `RunPhase`, or a
    word of a newer version; `said`: the leader's message about the progress. `wanted`: the last request to the leader,
    a value of `RunPhase`, and `wanted_by` the user who made it; "" if there is none since the leader took over the run.
    """

    run: str
    begun: datetime | None
    phase: str
    leader: str
    updated: datetime | None
    said: str = ""
    wanted: str = ""
    wanted_by: str = ""

    @property
    def unfinished(self) -> bool:
        """Whether the run can be resumed."""
        return self.phase != RunPhase.ENDED.value or self.said not in (DONE, ROLLED_BACK)


# The process that drains a cluster, according to the lock.


@frozen
class LockState:
    """The drain lock. `holder` is "" if no process holds it. `expired`: by the server's clock, so there is no leader.
    `renewed`: by the same clock, None if the lock does not say."""

    holder: str = ""
    renewed: datetime | None = None
    expired: bool = False

    @property
    def is_held(self) -> bool:
        """Whether a process holds the lock, as far as is known."""
        return bool(self.holder) and not self.expired

    def is_held_for(self, run: RunSummary) -> bool:
        """Whether the holder is the leader of `run`. The lock belongs to one run at a time: any other run has no
        leader."""
        return self.is_held and self.holder == run.leader


INTERRUPTED = "interrupted"


def effective_phase(run: RunSummary, lock: LockState | None) -> str:
    """The phase that the leader last reported, or `INTERRUPTED` if the leader is gone and the run does not continue by
    itself. `lock`: None if reading the lock is forbidden."""
    leader_gone = run.phase != RunPhase.ENDED.value and lock is not None and not lock.is_held_for(run)
    return INTERRUPTED if leader_gone else run.phase


# What a drain run has recorded on a node that it changed, for other clients that read the node.
#
# The full annotation holds the earlier state of the node byte for byte. Only the edge that restores the node reads
# that.


RUN_ANNOTATION, PRIOR_ANNOTATION = "eksdoc.io/run", "eksdoc.io/prior"
"""Annotations of a node: the ID of the run, and as JSON the state of the node before the run."""

UNSCHEDULABLE_KEY, LABELS_KEY, PROTECTED_KEY, JOURNAL_KEY = "unschedulable", "labels", "protected", "journal"
"""Keys of that JSON: what was changed, and the namespace of the run's journal."""

SKIPPED_KEY = "skipped"
"""Another key of it, true if the run cordons the node and its plan does not drain it."""


_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def is_namespace(text: object) -> bool:
    """Whether `text` is a valid name of a namespace (RFC 1123 label). Users may write anything into an annotation."""
    return isinstance(text, str) and _NAMESPACE.fullmatch(text) is not None


# The output of ``drain run -o json`` as data: the events of a run, and its result.
#
# The types belong to the model because they are read back from a file. `drain.run.replay` interprets them;
# `objects.journal_lines` reads and writes the lines.


@frozen
class RunEvent:
    """One event. `at_s`: seconds since the start of its part of the run; `at`: by the clock of the leader's machine, in
    whole seconds; `what`: a value of `drain.run.events.DrainEventKind`, or a word of a newer version."""

    run: str
    at: datetime
    at_s: float
    what: str
    subject: str
    node: str = ""
    why: str = ""


@frozen
class RunStanding:
    """The state of a run at `at`, with the fields of `drain.run.progress`: `waits` and `why` field by field; `budgets`
    as namespace, name, allowed, current, desired and expected."""

    run: str
    at: datetime
    leaving: tuple[str, ...] = ()
    half: tuple[tuple[str, int], ...] = ()
    cordoned: tuple[str, ...] = ()
    waits: tuple[tuple[str, str, str, str], ...] = ()
    why: tuple[tuple[str, str, float | None, str, str, int], ...] = ()
    budgets: tuple[tuple[str, str, int, int, int, int], ...] = ()
    pending: tuple[tuple[str, str], ...] = ()
    coming: tuple[tuple[str, str], ...] = ()
    held: str = ""
    paused: bool = False


@frozen
class RunEnd:
    """The last line of a part of the run. `outcome` in one word; `stopped`: the reason, "" if it was not stopped;
    `ended_s`: seconds since the start of this part. `nodes` in their order, each with its wave (0: none); `left`: the
    nodes that were not emptied.

    The plan: `evictions`, and p50 and p95 of the estimate in seconds, None if nothing could be estimated. `said`:
    estimate and actual duration, one sentence each. `by`: the user who started this part, as ``user@host``.
    """

    run: str
    outcome: str
    ended_s: float
    stopped: str = ""
    resumed: bool = False
    nodes: tuple[tuple[str, int], ...] = ()
    left: tuple[str, ...] = ()
    evictions: int | None = None
    p50_s: float | None = None
    p95_s: float | None = None
    said: tuple[str, ...] = ()
    by: str = ""


@frozen
class RunEvents:
    """The events in the order of their lines. `dropped` says for every other line what is wrong with it."""

    events: tuple[RunEvent | RunEnd, ...] = ()
    dropped: tuple[str, ...] = ()
    standings: tuple[RunStanding, ...] = ()
