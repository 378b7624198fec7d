"""A run as its journal has it, for whoever looks at it from elsewhere or afterwards."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from datetime import datetime
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.journal import (
    DONE,
    INTERRUPTED,
    TOLD_TO_END,
    Cause,
    Entries,
    Entry,
    IntentOutcome,
    JournalIntent,
    JournalNote,
    Note,
    Result,
    RunPhase,
    RunSummary,
    Verb,
)
from kubectl_eksdoc.model.nodes import Node, RunNote

from ..nodes import natural
from ..result import DrainPlan
from .events import ASKED, THE_DRAIN, Happened, RunMoment
from .journal import OF_PODS, Cordoned, Journaled, Protected


@frozen
class NodeAccount:
    """`state` is a word: ``waiting``, ``cordoned``, ``draining``, or how it ended. Pods that were asked to go, by an
    eviction, a restart of their workload or a deletion, by what came of that."""

    node: str
    wave: int
    state: str
    granted: int
    gone: int
    refused: int
    in_doubt: int


_ENDS = {JournalNote.NODE_DONE: "done", JournalNote.LEFT_ALONE: "left-alone", JournalNote.LOST: "lost"}


def nodes_of(journaled: Journaled) -> tuple[NodeAccount, ...]:
    """The nodes that the run drains, in its order."""
    aims = journaled.begun.aims if journaled.begun is not None else ()
    counts: dict[str, Counter[str]] = {}
    cordoned = {each.node for each in journaled.cordoned if each.confirmed}
    for change in journaled.changes:
        if change.intent.verb in OF_PODS:
            word = change.outcome.value if change.outcome is not None else IntentOutcome.UNKNOWN.value
            counts.setdefault(change.intent.node, Counter())[word] += 1
    found = []
    for aim in aims:
        of = counts.get(aim.node, Counter())
        state = _ENDS.get(journaled.nodes[aim.node], "") if aim.node in journaled.nodes else ""
        state = state or ("draining" if of else "cordoned" if aim.node in cordoned else "waiting")
        numbers = (
            of[each.value]
            for each in (IntentOutcome.DONE, IntentOutcome.GONE, IntentOutcome.REFUSED, IntentOutcome.UNKNOWN)
        )
        found.append(NodeAccount(aim.node, journaled.waves.get(aim.node, aim.wave), state, *numbers))
    return tuple(found)


_HAPPENED = {
    JournalNote.NODE_DONE: Happened.DONE,
    JournalNote.LEFT_ALONE: Happened.LEFT_ALONE,
    JournalNote.LOST: Happened.LOST,
    JournalNote.PAUSED: Happened.HELD,
    JournalNote.RESUMED: Happened.RELEASED,
    JournalNote.ABORTED: Happened.STOPPED,
    JournalNote.ADOPTED: Happened.ADOPTED,
}

_DONE = {
    Verb.CORDON: Happened.CORDONED,
    Verb.EXCLUDE: Happened.EXCLUDED,
    Verb.PROTECT: Happened.PROTECTED,
    Verb.RELEASE: Happened.UNPROTECTED,
    Verb.EVICT: Happened.EVICTED,
    Verb.RESTART: Happened.RESTARTED,
    Verb.DELETE: Happened.DELETED,
}
_BESIDE_THE_DRAIN = (Verb.EXCLUDE, Verb.PROTECT, Verb.RELEASE)
"""The drain goes on where one of these is refused."""


def _of_result(verb: Verb, outcome: IntentOutcome) -> Happened | None:
    """None: what restores a node, and what nobody knows the result of, is told otherwise."""
    if verb not in _DONE or outcome is IntentOutcome.UNKNOWN:
        return None
    if outcome is IntentOutcome.REFUSED:
        return Happened.WARNED if verb in _BESIDE_THE_DRAIN else Happened.REFUSED
    if outcome is IntentOutcome.GONE:
        return Happened.GONE if verb in (Verb.EVICT, Verb.DELETE) else None
    return _DONE[verb]


def told_by(entries: Iterable[Entry]) -> Iterator[tuple[RunMoment, tuple[Entry, ...]]]:
    """What happened, by the journal: whatever changed something, and what was noted; each with the entries that tell
    it: a note, or an intent and what came of it."""
    intents: dict[int, JournalIntent] = {}
    began: datetime | None = None
    for entry in entries:
        began = began or entry.at
        at_s = (entry.at - began).total_seconds()
        match entry:
            case JournalIntent():
                intents[entry.number] = entry
            case Result() if entry.of in intents:
                what = _of_result(intents[entry.of].verb, entry.outcome)
                if what is not None:
                    yield _moment(at_s, what, intents[entry.of], entry), (intents[entry.of], entry)
            case Note() if entry.what in _HAPPENED:
                yield RunMoment(at_s, _HAPPENED[entry.what], entry.subject or THE_DRAIN, "", entry.why), (entry,)


def _moment(at_s: float, what: Happened, of: JournalIntent, result: Result) -> RunMoment:
    """Of a restart the journal names the workload, and the node of the pod that is replaced."""
    subject = f"{of.namespace}/{of.name}" if of.namespace else of.name
    subject = f"{of.kind} {subject}" if of.verb is Verb.RESTART else subject
    return RunMoment(at_s, what, subject, of.node, "" if result.outcome is IntentOutcome.DONE else result.said)


def phase_words(journaled: Journaled, led: bool) -> str:
    """Where it stands: a run that nobody leads does not go on by itself, whatever its journal says last."""
    if journaled.phase is RunPhase.ENDED:
        return journaled.ended or RunPhase.ENDED.value
    return journaled.phase.value if led else f"{INTERRUPTED}, no process leads it"


# Runs by what they noted on nodes: it is all that a cluster has of a run whose journal somebody removed.


@frozen
class NotedRun:
    """`journal`: the namespace of its journal, "" where no note says. `cordoned` and `protected`: the nodes that it
    cordons, and those that it keeps from autoscalers, by name; `skipped`: those of the first that its plan does not
    drain."""

    run: str
    journal: str = ""
    cordoned: tuple[Cordoned, ...] = ()
    protected: tuple[Protected, ...] = ()
    skipped: frozenset[str] = frozenset()

    @property
    def drained(self) -> int:
        """So many nodes the plan of the run drains, as far as notes on nodes tell."""
        return self.drained_of(self.cordoned)

    def drained_of(self, cordoned: Iterable[Cordoned]) -> int:
        """The same where the journal names more nodes."""
        return len({each.node for each in cordoned} - self.skipped)

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(sorted({*(each.node for each in self.cordoned), *(each.node for each in self.protected)}))


def noted_runs(nodes: Iterable[Node]) -> tuple[NotedRun, ...]:
    """Every run that changed one of these nodes last, by its id."""
    of: defaultdict[str, list[tuple[Node, RunNote]]] = defaultdict(list)
    for node in sorted(nodes, key=lambda each: each.name):
        if node.note is not None:
            of[node.note.run].append((node, node.note))
    return tuple(_noted(run, of[run]) for run in sorted(of))


def noted_of(nodes: Iterable[Node], run: str) -> NotedRun:
    """What nodes say of one run, which may be nothing."""
    return next((each for each in noted_runs(nodes) if each.run == run), NotedRun(run))


def to_give_back(journaled: Journaled, noted: NotedRun) -> tuple[tuple[Cordoned, ...], tuple[Protected, ...]]:
    """The nodes to restore, and those to release: by the journal, then those that only carry notes. One of them is
    enough, for either may have been removed in part."""
    cordoned = {each.uid: each for each in (*noted.cordoned, *journaled.cordoned)}
    protected = {each.uid: each for each in (*noted.protected, *journaled.protected)}
    first = {each.uid: None for each in (*journaled.cordoned, *noted.cordoned)}
    then = {each.uid: None for each in (*journaled.protected, *noted.protected)}
    return tuple(cordoned[uid] for uid in first), tuple(protected[uid] for uid in then)


def _noted(run: str, on: list[tuple[Node, RunNote]]) -> NotedRun:
    journal = next((note.journal for _, note in on if note.journal), "")
    cordoned = tuple(Cordoned(node.name, node.uid, True) for node, note in on if note.drains)
    protected = tuple(Protected(node.name, node.uid, True) for node, note in on if note.protects)
    skipped = frozenset(node.name for node, note in on if note.skipped)
    return NotedRun(run, journal, cordoned, protected, skipped)


# What is to be made of a run whose process is started again by itself: it goes on where nobody decided otherwise.
#
# What somebody asked for while nobody led it holds: who pauses or aborts a run whose pod has just died must not see it
# evict again a moment later.


_HOLD = (RunPhase.PAUSED.value, RunPhase.ABORTED.value)


@frozen
class GoOn:
    """`wanted`: what holds from its first moment on, ``paused``, ``aborted`` or "", and `who` wants it."""

    wanted: str = ""
    who: str = ""


@frozen
class RunOver:
    """It has come to an end that somebody, or a guard, decided on: `why`. `whole`: there is nothing to go on with."""

    why: str
    whole: bool = False


def again(run: RunSummary, entries: Entries, stands: Journaled) -> GoOn | RunOver:
    """`stands`: what `entries` come to."""
    if stands.ended is not None and stands.ended != TOLD_TO_END:
        return RunOver(stands.ended, stands.ended == DONE)
    if run.wanted in _HOLD:
        return GoOn(run.wanted, run.wanted_by)
    if stands.aborted:
        last = _last(entries, JournalNote.ABORTED)
        told = last is not None and last.why == TOLD_TO_END
        return GoOn() if told else GoOn(RunPhase.ABORTED.value, last.subject if last is not None else "")
    if stands.paused:
        last = _last(entries, JournalNote.PAUSED)
        return GoOn(RunPhase.PAUSED.value, last.subject if last is not None else "")
    return GoOn()


def _last(entries: Entries, what: JournalNote) -> Note | None:
    notes = [each for each in entries.entries if isinstance(each, Note) and each.what is what]
    return max(notes, key=lambda note: note.number, default=None)


# What came of a drain that was tried in virtual time, and where it differs from what the plan said.


WAITED_S = 1.0
"""What is shorter is no wait, but the end of the run."""


class PendingPod(NamedTuple):
    """A pod without a node when it was over, and what the scheduler said."""

    pod: str
    why: str


class NodePlacements(NamedTuple):
    """So many replacements have a place reserved on this node by the plan, and so many were scheduled onto it."""

    node: str
    planned: int
    placed: int
    target: bool


@frozen
class Record:
    """`undone` are nodes of the plan that were not emptied, each with the pods (ns/name) that were left of it.
    `cordoned_only`: targets that are not drained and were cordoned.

    `pending` and `coming`: replacements that had no node at the end, or one and were not Ready. `ended_s` is when the
    last node was done, or nothing happened any more; `paused_s`: for so long of it somebody wanted nothing to be asked
    for; `drained_s`: when the last node came to its end, None where nothing was waited for after that.
    `placed`: so many replacements were scheduled onto each node; None where that was not seen. `causes`: by how many
    seconds each made it longer than the plan's p50; empty where that is not known.
    """

    plan: DrainPlan
    moments: tuple[RunMoment, ...]
    ended_s: float
    pending: tuple[PendingPod, ...] = ()
    undone: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    coming: tuple[PendingPod, ...] = ()
    paused_s: float = 0.0
    drained_s: float | None = None
    placed: Mapping[str, int] | None = None
    cordoned_only: tuple[str, ...] = ()
    causes: Mapping[Cause, float] = field(default_factory=dict)

    @property
    def drain_s(self) -> float:
        """What an estimate tells of: the rest waits for replacements to be Ready."""
        return self.ended_s if self.drained_s is None else self.drained_s

    @property
    def ready_s(self) -> float:
        """So long it waited for replacements to be Ready, once every node was done."""
        return self.ended_s - self.drain_s

    @property
    def unready(self) -> tuple[str, ...]:
        """Replacements (ns/name) that were waited for, and not Ready at the end."""
        return tuple(each.pod for each in (*self.pending, *self.coming)) if self.ready_s >= WAITED_S else ()

    @property
    def placements(self) -> tuple[NodePlacements, ...]:
        """By node, the targets first; nodes that neither took any nor were to are left out."""
        planned = Counter(eviction.lands_on for eviction in self.plan.evictions if eviction.lands_on)
        targets = {target.node.name for target in self.plan.targets}
        placed = self.placed or {}
        rows = (
            NodePlacements(node, planned[node], placed.get(node, 0), node in targets) for node in {*planned, *placed}
        )
        return tuple(sorted(rows, key=lambda row: (not row.target, natural(row.node))))

    @property
    def on_targets(self) -> int:
        """So many replacements were scheduled onto targets, from which they have to go once more."""
        return sum(each.placed for each in self.placements if each.target)

    @property
    def refusals(self) -> Counter[str]:
        """How often each cause was given."""
        return Counter(moment.why for moment in self.moments if moment.what is Happened.REFUSED)

    @property
    def re_evicted(self) -> tuple[str, ...]:
        """Pods whose replacement was evicted as well: by name, which only those keep that have one of their own."""
        evicted = Counter(moment.subject for moment in self.moments if moment.what in ASKED)
        return tuple(sorted(pod for pod, times in evicted.items() if times > 1))

    @property
    def late_s(self) -> float | None:
        """How much longer than the plan's p50; negative: sooner. None where one of both has no end."""
        estimate = self.plan.estimate
        return None if estimate is None or self.undone else self.drain_s - estimate.p50_s
