"""The journal of a run, as data: what was begun, what was intended, what came of it, and what else must not be lost.

The types are nouns of the model because two edges keep them, a file and the cluster, and edges know nothing of runs.
What a journal means is in `drain.run.journal`; its text form is in `objects.journal_lines`.
"""

from __future__ import annotations

import re
from datetime import datetime
from enum import Enum

from kubectl_eksdoc.frozen import frozen

LONGEST_RUN_ID = 40

_RUN_ID = re.compile(rf"[a-z0-9]([-a-z0-9]{{0,{LONGEST_RUN_ID - 2}}}[a-z0-9])?")


def is_run_id(text: str) -> bool:
    """Whether it can stand in the name of an object, in a label and in the name of a file: ``20261120-1930-4f2a``."""
    return _RUN_ID.fullmatch(text) is not None


class Verb(str, Enum):
    """What is done to the cluster; each changes exactly one object."""

    CORDON = "cordon"
    EXCLUDE = "exclude"  # a node, from what load balancers send to
    RESTORE = "restore"  # a node becomes what it was before this run cordoned and excluded it
    PROTECT = "protect"  # a node, from autoscalers that would remove it
    RELEASE = "release"  # a node, from that protection
    EVICT = "evict"
    RESTART = "restart"  # a rollout restart of a workload
    DELETE = "delete"  # a pod, past its budget: the user named it


class IntentOutcome(str, Enum):
    """What came of an intent, by its answer."""

    DONE = "done"  # the server said so
    GONE = "gone"  # there is nothing under that name and UID any more
    REFUSED = "refused"  # nothing was changed
    UNKNOWN = "unknown"  # it may have been done or not


class JournalNote(str, Enum):
    """`subject` of the first three and the last is a node, of `STOPPED` a template, of the others nothing, or who did
    it."""

    NODE_DONE = "node-done"
    LEFT_ALONE = "left-alone"
    LOST = "lost"
    PAUSED = "paused"
    RESUMED = "resumed"
    ABORTED = "aborted"  # no node is begun and no pod asked for any more
    ADOPTED = "adopted"  # `subject` leads from now on
    ENDED = "ended"  # `why` is the outcome, in a word or a sentence
    STOPPED = "stopped"  # pods made from the template `subject` took the seconds of `why` to stop, with spaces between
    WAVE = "wave"  # `subject`, a node, comes in the wave `why` by the plan by which somebody goes on


DONE, ROLLED_BACK = "done", "rolled back"
"""How a run ended that nobody goes on with: every node is empty, or nodes are as they were before."""


TOLD_TO_END = "its process was terminated"
"""How a run ended of which nobody decided that it ends, as its pod was moved: it is to go on by itself."""


UNCORDONED = "it was uncordoned"
"""How the reason begins for which such a node was left alone."""


@frozen
class JournaledNode:
    """A node that is drained; `wave` from 1, 0 where there are none."""

    node: str
    uid: str
    wave: int = 0


@frozen
class RunStarted:
    """The first entry. `at` is in UTC by the clock of `host`, as every time of a journal: it is shown, and decides
    nothing.

    `plan`: digest of the plan; `leader`: who leads, as the lock names its holder; `aims` in their order. `asked`: the
    words of a command line that plans the same again on any machine: what was read from files stands in them.
    `skipped`: the targets that are cordoned and not drained. `p50_s`, `p95_s`, `bound_s`: what was predicted, None
    where that is not known. `cluster`: its uid, see `Identity`.
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
class JournalIntent:
    """Written before the act. `namespace` and `name` of the object (`kind`: ``Node``, ``Pod``, ``Deployment`` …) with
    exactly this UID; `node` is a pod's.

    `before`: how a node was before its cordon, as text that `Restore` understands. `grace_s`: None for its own.
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
class Result:
    """The answer to the intent with the number `of`: HTTP `code`, 0 where none came; `trouble` in a word as users and
    programs are told; `said` by the server."""

    number: int
    at: datetime
    of: int
    outcome: IntentOutcome
    code: int = 0
    trouble: str = ""
    said: str = ""


@frozen
class Note:
    """Something else that whoever goes on must know."""

    number: int
    at: datetime
    what: JournalNote
    subject: str = ""
    why: str = ""


class Cause(str, Enum):
    """Why a run took more or less time than planned. budgets is what the others do not explain: budgets that had more
    or less room, or showed it later."""

    STOPPING = "stopping"
    STARTING = "starting"
    SCHEDULING = "scheduling"
    HOLDS = "holds"  # the run asked for nothing: the lock, a guard, an outage
    BUDGETS = "budgets"


@frozen
class Timed:
    """Seconds that a part of a run was planned to take, and took, pauses and soaks left out. `causes`: by how much each
    made it longer, or shorter (negative)."""

    number: int
    at: datetime
    took_s: float
    p50_s: float
    p95_s: float
    bound_s: float | None = None
    causes: tuple[tuple[Cause, float], ...] = ()

    @property
    def error_s(self) -> float:
        return self.took_s - self.p50_s


Entry = RunStarted | JournalIntent | Result | Note | Timed
"""`number` counts the entries of a run from 0, whoever writes them: so a copy, a gap and a mix-up are seen."""


@frozen
class Entries:
    """What could be read of a journal, in its order; `dropped` says of every line that could not what is wrong with
    it."""

    entries: tuple[Entry, ...] = ()
    dropped: tuple[str, ...] = ()


class RunPhase(str, Enum):
    """Where a run stands, as its head in the cluster says in a word."""

    RUNNING = "running"
    PAUSED = "paused"
    ABORTED = "aborted"
    ENDED = "ended"


@frozen
class RunSummary:
    """A run as it is listed. `begun` and `updated` as its machines wrote them, None where that cannot be read; `phase`
    a word of `RunPhase`, or one that a newer tool wrote; `said` by its leader on how far it is. `wanted`: what somebody
    asked its leader for last, a word of `RunPhase`, and `wanted_by` whom; "" for nothing since it was adopted."""

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
        """Whether somebody may go on with it."""
        return self.phase != RunPhase.ENDED.value or self.said not in (DONE, ROLLED_BACK)


# Who drains a cluster, as its lock says.


@frozen
class HeldLock:
    """`holder` "": nobody. `over`: by the server's clock its time has passed, so nobody leads any more. `renewed`: by
    that clock, None where it does not say."""

    holder: str = ""
    renewed: datetime | None = None
    over: bool = False

    @property
    def led(self) -> bool:
        """Whether somebody leads as far as can be told."""
        return bool(self.holder) and not self.over

    def leads(self, run: RunSummary) -> bool:
        """The lock is of one run at a time: who leads another one than its holder leads nothing."""
        return self.led and self.holder == run.leader


INTERRUPTED = "interrupted"


def phase_by(run: RunSummary, held: HeldLock | None) -> str:
    """The phase that its leader told last, or that the leader is gone: then it does not continue by itself. `held`:
    None where the lock must not be read."""
    gone = run.phase != RunPhase.ENDED.value and held is not None and not held.leads(run)
    return INTERRUPTED if gone else run.phase


# What a run of this tool has noted on a node that it changed, as whoever meets that node must know it.
#
# The whole note says byte for byte what the node was before; only the edge that takes it back reads that.


RUN, PRIOR = "eksdoc.io/run", "eksdoc.io/prior"
"""The annotations of a node: the run's id, and as JSON what the node was before."""

UNSCHEDULABLE, LABELS, PROTECTED, JOURNAL = "unschedulable", "labels", "protected", "journal"
"""The keys of that JSON: of what was changed, and the namespace of the run's journal."""

SKIPPED = "skipped"
"""The key beside them, true where the run cordons the node and its plan does not drain it."""


_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def is_namespace(text: object) -> bool:
    """Whether a namespace can be called so (RFC 1123 label): people may write anything into an annotation."""
    return isinstance(text, str) and _NAMESPACE.fullmatch(text) is not None


# What ``drain run -o json`` tells of a run, as data: its events, and what came of it in the end.
#
# The types are nouns of the model because they are read back from a file. What they mean is in `drain.run.replay`; the
# lines are in `objects.journal_lines`.


@frozen
class RunEvent:
    """`at_s` from the begin of its part of the run, `at` by the clock of the machine that led it, in whole seconds;
    `what` is a word of `drain.run.events.Happened`, or one that a newer version wrote."""

    run: str
    at: datetime
    at_s: float
    what: str
    subject: str
    node: str = ""
    why: str = ""


@frozen
class RunStanding:
    """Where a run stood at `at`, as the fields of `drain.run.progress` have it: `waits` and `why` field by field,
    `budgets` as namespace, name, allowed, current, desired and expected."""

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
    """The last line of a part of the run. `outcome` in a word, `stopped`: why, "" if it was not; `ended_s` from the
    begin of this part. `nodes` in their order, each with its wave (0: none); `left` are those that were not emptied.

    What was planned: `evictions`, and p50 and p95 of the estimate in seconds, None where nothing could be estimated.
    `said`: estimate against actual, sentence by sentence. `by`: who began this part, as ``user@host``.
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
    """In the order of their lines; `dropped` says of every line that is none of them what is wrong with it."""

    told: tuple[RunEvent | RunEnd, ...] = ()
    dropped: tuple[str, ...] = ()
    standings: tuple[RunStanding, ...] = ()
