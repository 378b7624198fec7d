"""State and result of a run, computed from its journal or from notes on nodes; and the record of a finished drain."""

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
    """`state`: ``waiting``, ``cordoned``, ``draining``, or how the node ended. The counts are pods whose removal was
    requested, by an eviction, a restart of their workload or a deletion, by outcome."""

    node: str
    wave: int
    state: str
    granted: int
    gone: int
    refused: int
    in_doubt: int


_ENDS = {JournalNote.NODE_DONE: "done", JournalNote.LEFT_ALONE: "left-alone", JournalNote.LOST: "lost"}


def nodes_of(journaled: Journaled) -> tuple[NodeAccount, ...]:
    """Return the nodes that the run drains, in its order."""
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
"""If one of these is refused, the drain continues."""


def _of_result(verb: Verb, outcome: IntentOutcome) -> Happened | None:
    """Return the event of an outcome. None: a restored node, or an unknown outcome, is reported elsewhere."""
    if verb not in _DONE or outcome is IntentOutcome.UNKNOWN:
        return None
    if outcome is IntentOutcome.REFUSED:
        return Happened.WARNED if verb in _BESIDE_THE_DRAIN else Happened.REFUSED
    if outcome is IntentOutcome.GONE:
        return Happened.GONE if verb in (Verb.EVICT, Verb.DELETE) else None
    return _DONE[verb]


def told_by(entries: Iterable[Entry]) -> Iterator[tuple[RunMoment, tuple[Entry, ...]]]:
    """Yield the events of a journal, each with the entries it is derived from: a note, or an intent and its result."""
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
    """Return an event. For a restart the journal names the workload, and the node of the replaced pod."""
    subject = f"{of.namespace}/{of.name}" if of.namespace else of.name
    subject = f"{of.kind} {subject}" if of.verb is Verb.RESTART else subject
    return RunMoment(at_s, what, subject, of.node, "" if result.outcome is IntentOutcome.DONE else result.said)


def phase_words(journaled: Journaled, led: bool) -> str:
    """Describe the phase: a run without a leader does not continue by itself, whatever its journal says last."""
    if journaled.phase is RunPhase.ENDED:
        return journaled.ended or RunPhase.ENDED.value
    return journaled.phase.value if led else f"{INTERRUPTED}, no process leads it"


# Runs by their notes on nodes: the only trace in a cluster of a run whose journal was removed.


@frozen
class NotedRun:
    """`journal`: the namespace of its journal, "" if no note has it. `cordoned` and `protected`: the nodes that it
    cordoned, and those that it protects from autoscalers, by name; `skipped`: cordoned nodes that its plan does not
    drain."""

    run: str
    journal: str = ""
    cordoned: tuple[Cordoned, ...] = ()
    protected: tuple[Protected, ...] = ()
    skipped: frozenset[str] = frozenset()

    @property
    def drained(self) -> int:
        """Number of nodes that the run's plan drains, as far as notes on nodes tell."""
        return self.drained_of(self.cordoned)

    def drained_of(self, cordoned: Iterable[Cordoned]) -> int:
        """The same for the cordoned nodes of the journal, which may be more."""
        return len({each.node for each in cordoned} - self.skipped)

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(sorted({*(each.node for each in self.cordoned), *(each.node for each in self.protected)}))


def noted_runs(nodes: Iterable[Node]) -> tuple[NotedRun, ...]:
    """Return every run that was the last to change one of these nodes, by its id."""
    of: defaultdict[str, list[tuple[Node, RunNote]]] = defaultdict(list)
    for node in sorted(nodes, key=lambda each: each.name):
        if node.note is not None:
            of[node.note.run].append((node, node.note))
    return tuple(_noted(run, of[run]) for run in sorted(of))


def noted_of(nodes: Iterable[Node], run: str) -> NotedRun:
    """Return the notes of one run, which may be empty."""
    return next((each for each in noted_runs(nodes) if each.run == run), NotedRun(run))


def to_give_back(journaled: Journaled, noted: NotedRun) -> tuple[tuple[Cordoned, ...], tuple[Protected, ...]]:
    """Return the nodes to restore, and those to release: by the journal, then nodes that only have notes. Either source
    is sufficient, because either may have been removed in part."""
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


# Restart of a run whose process was restarted automatically: it continues unless a user decided otherwise.
#
# A request that was made while the run had no leader is honoured: a user who pauses or aborts a run whose pod has just
# been terminated must not see it evict pods again a moment later.


_HOLD = (RunPhase.PAUSED.value, RunPhase.ABORTED.value)


@frozen
class GoOn:
    """`phase`: the phase that holds from the first moment on, ``paused``, ``aborted`` or "", and the requester."""

    wanted: str = ""
    who: str = ""


@frozen
class RunOver:
    """The run has ended by the decision of a user or a guard, with the reason. `is_complete`: nothing remains to be
    done."""

    why: str
    whole: bool = False


def again(run: RunSummary, entries: Entries, stands: Journaled) -> GoOn | RunOver:
    """Return whether a run continues. `state`: the state that `entries` result in."""
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


# Record of a drain, real or rehearsed, and its differences from the plan.


WAITED_S = 1.0
"""A shorter time is not a wait, but the end of the run."""


class PendingPod(NamedTuple):
    """A pod that has no node at the end, and the scheduler's message."""

    pod: str
    why: str


class NodePlacements(NamedTuple):
    """Number of replacements for which the plan reserves room on this node, and number that were scheduled onto it."""

    node: str
    planned: int
    placed: int
    target: bool


@frozen
class Record:
    """`undone` are nodes of the plan that were not emptied, each with its remaining pods (ns/name). `cordoned_only`:
    targets that are not drained and were cordoned.

    `pending` and `coming`: replacements that had no node at the end, or had one and were not Ready. `ended_s`: when the
    last node was drained, or nothing happened any more; `paused_s`: total time for which a user paused the run;
    `drained_s`: when the last node ended, None if nothing was waited for after that. `placed`: number of replacements
    that were scheduled onto each node; None if it was not observed. `causes`: seconds by which each cause made the
    drain longer than the plan's p50; empty if unknown.
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
        """The time that an estimate predicts: the rest is the wait for Ready replacements."""
        return self.ended_s if self.drained_s is None else self.drained_s

    @property
    def ready_s(self) -> float:
        """How long the run waited for Ready replacements after every node was drained."""
        return self.ended_s - self.drain_s

    @property
    def unready(self) -> tuple[str, ...]:
        """Replacements (ns/name) that were waited for and not Ready at the end."""
        return tuple(each.pod for each in (*self.pending, *self.coming)) if self.ready_s >= WAITED_S else ()

    @property
    def placements(self) -> tuple[NodePlacements, ...]:
        """By node, the targets first; nodes without planned or actual replacements are left out."""
        planned = Counter(eviction.lands_on for eviction in self.plan.evictions if eviction.lands_on)
        targets = {target.node.name for target in self.plan.targets}
        placed = self.placed or {}
        rows = (
            NodePlacements(node, planned[node], placed.get(node, 0), node in targets) for node in {*planned, *placed}
        )
        return tuple(sorted(rows, key=lambda row: (not row.target, natural(row.node))))

    @property
    def on_targets(self) -> int:
        """Number of replacements that were scheduled onto targets, and have to be evicted again."""
        return sum(each.placed for each in self.placements if each.target)

    @property
    def refusals(self) -> Counter[str]:
        """Number of refusals by cause."""
        return Counter(moment.why for moment in self.moments if moment.what is Happened.REFUSED)

    @property
    def re_evicted(self) -> tuple[str, ...]:
        """Pods whose replacement was evicted as well: by name, so only pods with stable names are found."""
        evicted = Counter(moment.subject for moment in self.moments if moment.what in ASKED)
        return tuple(sorted(pod for pod, times in evicted.items() if times > 1))

    @property
    def late_s(self) -> float | None:
        """How much longer than the plan's p50; negative: shorter. None if one of both has no end."""
        estimate = self.plan.estimate
        return None if estimate is None or self.undone else self.drain_s - estimate.p50_s
