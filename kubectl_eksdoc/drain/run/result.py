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
    TERMINATED,
    DelayCause,
    IntentEntry,
    IntentOutcome,
    JournalEntries,
    JournalEntry,
    NoteEntry,
    NoteKind,
    ResultEntry,
    RunPhase,
    RunSummary,
    Verb,
)
from kubectl_eksdoc.model.nodes import Node, RunNote

from ..nodes import natural_key
from ..result import DrainPlan
from .events import REMOVAL_EVENTS, THE_DRAIN, DrainEvent, DrainEventKind
from .journal import POD_VERBS, CordonedNode, JournalState, ProtectedNode


@frozen
class NodeSummary:
    """`state`: ``waiting``, ``cordoned``, ``draining``, or how the node ended. The counts are pods whose removal was
    requested, by an eviction, a restart of their workload or a deletion, by outcome."""

    node: str
    wave: int
    state: str
    granted: int
    gone: int
    refused: int
    in_doubt: int


_ENDS = {NoteKind.NODE_DONE: "done", NoteKind.LEFT_ALONE: "left-alone", NoteKind.LOST: "lost"}


def node_summaries(journal_state: JournalState) -> tuple[NodeSummary, ...]:
    """Return the nodes that the run drains, in its order."""
    planned_nodes = journal_state.started.aims if journal_state.started is not None else ()
    counts: dict[str, Counter[str]] = {}
    cordoned = {each.node for each in journal_state.cordoned if each.confirmed}
    for change in journal_state.changes:
        if change.intent.verb in POD_VERBS:
            word = change.outcome.value if change.outcome is not None else IntentOutcome.UNKNOWN.value
            counts.setdefault(change.intent.node, Counter())[word] += 1
    summaries = []
    for planned_node in planned_nodes:
        outcomes = counts.get(planned_node.node, Counter())
        state = (
            _ENDS.get(journal_state.nodes[planned_node.node], "") if planned_node.node in journal_state.nodes else ""
        )
        state = state or ("draining" if outcomes else "cordoned" if planned_node.node in cordoned else "waiting")
        numbers = (
            outcomes[each.value]
            for each in (IntentOutcome.DONE, IntentOutcome.GONE, IntentOutcome.REFUSED, IntentOutcome.UNKNOWN)
        )
        summaries.append(
            NodeSummary(
                planned_node.node, journal_state.waves.get(planned_node.node, planned_node.wave), state, *numbers
            )
        )
    return tuple(summaries)


_EVENTS_BY_NOTE = {
    NoteKind.NODE_DONE: DrainEventKind.DONE,
    NoteKind.LEFT_ALONE: DrainEventKind.LEFT_ALONE,
    NoteKind.LOST: DrainEventKind.LOST,
    NoteKind.PAUSED: DrainEventKind.HELD,
    NoteKind.RESUMED: DrainEventKind.RELEASED,
    NoteKind.ABORTED: DrainEventKind.STOPPED,
    NoteKind.ADOPTED: DrainEventKind.ADOPTED,
}

_EVENTS_BY_VERB = {
    Verb.CORDON: DrainEventKind.CORDONED,
    Verb.EXCLUDE: DrainEventKind.EXCLUDED,
    Verb.PROTECT: DrainEventKind.PROTECTED,
    Verb.RELEASE: DrainEventKind.UNPROTECTED,
    Verb.EVICT: DrainEventKind.EVICTED,
    Verb.RESTART: DrainEventKind.RESTARTED,
    Verb.DELETE: DrainEventKind.DELETED,
}
_OPTIONAL_VERBS = (Verb.EXCLUDE, Verb.PROTECT, Verb.RELEASE)
"""If one of these is refused, the drain continues."""


def _event_kind(verb: Verb, outcome: IntentOutcome) -> DrainEventKind | None:
    """Return the event of an outcome. None: a restored node, or an unknown outcome, is reported elsewhere."""
    if verb not in _EVENTS_BY_VERB or outcome is IntentOutcome.UNKNOWN:
        return None
    if outcome is IntentOutcome.REFUSED:
        return DrainEventKind.WARNED if verb in _OPTIONAL_VERBS else DrainEventKind.REFUSED
    if outcome is IntentOutcome.GONE:
        return DrainEventKind.GONE if verb in (Verb.EVICT, Verb.DELETE) else None
    return _EVENTS_BY_VERB[verb]


def journal_events(entries: Iterable[JournalEntry]) -> Iterator[tuple[DrainEvent, tuple[JournalEntry, ...]]]:
    """Yield the events of a journal, each with the entries it is derived from: a note, or an intent and its result."""
    intents: dict[int, IntentEntry] = {}
    started_at: datetime | None = None
    for entry in entries:
        started_at = started_at or entry.at
        at_s = (entry.at - started_at).total_seconds()
        match entry:
            case IntentEntry():
                intents[entry.number] = entry
            case ResultEntry() if entry.of in intents:
                kind = _event_kind(intents[entry.of].verb, entry.outcome)
                if kind is not None:
                    yield _event(at_s, kind, intents[entry.of], entry), (intents[entry.of], entry)
            case NoteEntry() if entry.what in _EVENTS_BY_NOTE:
                yield DrainEvent(at_s, _EVENTS_BY_NOTE[entry.what], entry.subject or THE_DRAIN, "", entry.why), (entry,)


def _event(at_s: float, kind: DrainEventKind, intent: IntentEntry, result: ResultEntry) -> DrainEvent:
    """Return an event. For a restart the journal names the workload, and the node of the replaced pod."""
    subject = f"{intent.namespace}/{intent.name}" if intent.namespace else intent.name
    subject = f"{intent.kind} {subject}" if intent.verb is Verb.RESTART else subject
    return DrainEvent(at_s, kind, subject, intent.node, "" if result.outcome is IntentOutcome.DONE else result.said)


def phase_text(journal_state: JournalState, has_leader: bool) -> str:
    """Describe the phase: a run without a leader does not continue by itself, whatever its journal says last."""
    if journal_state.phase is RunPhase.ENDED:
        return journal_state.ended or RunPhase.ENDED.value
    return journal_state.phase.value if has_leader else f"{INTERRUPTED}, no process leads it"


# Runs by their notes on nodes: the only trace in a cluster of a run whose journal was removed.


@frozen
class NotedRun:
    """`journal`: the namespace of its journal, "" if no note has it. `cordoned` and `protected`: the nodes that it
    cordoned, and those that it protects from autoscalers, by name; `skipped`: cordoned nodes that its plan does not
    drain."""

    run: str
    journal: str = ""
    cordoned: tuple[CordonedNode, ...] = ()
    protected: tuple[ProtectedNode, ...] = ()
    skipped: frozenset[str] = frozenset()

    @property
    def drained_count(self) -> int:
        """Number of nodes that the run's plan drains, as far as notes on nodes tell."""
        return self.drained_count_of(self.cordoned)

    def drained_count_of(self, cordoned: Iterable[CordonedNode]) -> int:
        """The same for the cordoned nodes of the journal, which may be more."""
        return len({each.node for each in cordoned} - self.skipped)

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(sorted({*(each.node for each in self.cordoned), *(each.node for each in self.protected)}))


def noted_runs(nodes: Iterable[Node]) -> tuple[NotedRun, ...]:
    """Return every run that was the last to change one of these nodes, by its id."""
    notes_by_run: defaultdict[str, list[tuple[Node, RunNote]]] = defaultdict(list)
    for node in sorted(nodes, key=lambda each: each.name):
        if node.note is not None:
            notes_by_run[node.note.run].append((node, node.note))
    return tuple(_noted_run(run, notes_by_run[run]) for run in sorted(notes_by_run))


def noted_run(nodes: Iterable[Node], run: str) -> NotedRun:
    """Return the notes of one run, which may be empty."""
    return next((each for each in noted_runs(nodes) if each.run == run), NotedRun(run))


def nodes_to_restore(
    journal_state: JournalState, noted: NotedRun
) -> tuple[tuple[CordonedNode, ...], tuple[ProtectedNode, ...]]:
    """Return the nodes to restore, and those to release: by the journal, then nodes that only have notes. Either source
    is sufficient, because either may have been removed in part."""
    cordoned = {each.uid: each for each in (*noted.cordoned, *journal_state.cordoned)}
    protected = {each.uid: each for each in (*noted.protected, *journal_state.protected)}
    cordoned_uids = {each.uid: None for each in (*journal_state.cordoned, *noted.cordoned)}
    protected_uids = {each.uid: None for each in (*journal_state.protected, *noted.protected)}
    return tuple(cordoned[uid] for uid in cordoned_uids), tuple(protected[uid] for uid in protected_uids)


def _noted_run(run: str, noted_nodes: list[tuple[Node, RunNote]]) -> NotedRun:
    journal = next((note.journal for _, note in noted_nodes if note.journal), "")
    cordoned = tuple(CordonedNode(node.name, node.uid, True) for node, note in noted_nodes if note.drains)
    protected = tuple(ProtectedNode(node.name, node.uid, True) for node, note in noted_nodes if note.protects)
    skipped = frozenset(node.name for node, note in noted_nodes if note.skipped)
    return NotedRun(run, journal, cordoned, protected, skipped)


# Restart of a run whose process was restarted automatically: it continues unless a user decided otherwise.
#
# A request that was made while the run had no leader is honoured: a user who pauses or aborts a run whose pod has just
# been terminated must not see it evict pods again a moment later.


_HOLDING_PHASES = (RunPhase.PAUSED.value, RunPhase.ABORTED.value)


@frozen
class ContinueRun:
    """`phase`: the phase that holds from the first moment on, ``paused``, ``aborted`` or "", and the requester."""

    phase: str = ""
    requester: str = ""


@frozen
class RunEnded:
    """The run has ended by the decision of a user or a guard, with the reason. `is_complete`: nothing remains to be
    done."""

    reason: str
    is_complete: bool = False


def restart_decision(run: RunSummary, entries: JournalEntries, state: JournalState) -> ContinueRun | RunEnded:
    """Return whether a run continues. `state`: the state that `entries` result in."""
    if state.ended is not None and state.ended != TERMINATED:
        return RunEnded(state.ended, state.ended == DONE)
    if run.wanted in _HOLDING_PHASES:
        return ContinueRun(run.wanted, run.wanted_by)
    if state.aborted:
        last = _last_note(entries, NoteKind.ABORTED)
        by_signal = last is not None and last.why == TERMINATED
        return (
            ContinueRun()
            if by_signal
            else ContinueRun(RunPhase.ABORTED.value, last.subject if last is not None else "")
        )
    if state.paused:
        last = _last_note(entries, NoteKind.PAUSED)
        return ContinueRun(RunPhase.PAUSED.value, last.subject if last is not None else "")
    return ContinueRun()


def _last_note(entries: JournalEntries, kind: NoteKind) -> NoteEntry | None:
    notes = [each for each in entries.entries if isinstance(each, NoteEntry) and each.what is kind]
    return max(notes, key=lambda note: note.number, default=None)


# Record of a drain, real or rehearsed, and its differences from the plan.


MIN_WAIT_S = 1.0
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
    moments: tuple[DrainEvent, ...]
    ended_s: float
    pending: tuple[PendingPod, ...] = ()
    undone: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    coming: tuple[PendingPod, ...] = ()
    paused_s: float = 0.0
    drained_s: float | None = None
    placed: Mapping[str, int] | None = None
    cordoned_only: tuple[str, ...] = ()
    causes: Mapping[DelayCause, float] = field(default_factory=dict)

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
        return tuple(each.pod for each in (*self.pending, *self.coming)) if self.ready_s >= MIN_WAIT_S else ()

    @property
    def placements(self) -> tuple[NodePlacements, ...]:
        """By node, the targets first; nodes without planned or actual replacements are left out."""
        planned = Counter(eviction.lands_on for eviction in self.plan.evictions if eviction.lands_on)
        targets = {target.node.name for target in self.plan.targets}
        placed = self.placed or {}
        rows = (
            NodePlacements(node, planned[node], placed.get(node, 0), node in targets) for node in {*planned, *placed}
        )
        return tuple(sorted(rows, key=lambda row: (not row.target, natural_key(row.node))))

    @property
    def on_targets(self) -> int:
        """Number of replacements that were scheduled onto targets, and have to be evicted again."""
        return sum(each.placed for each in self.placements if each.target)

    @property
    def refusals(self) -> Counter[str]:
        """Number of refusals by cause."""
        return Counter(event.why for event in self.moments if event.what is DrainEventKind.REFUSED)

    @property
    def re_evicted(self) -> tuple[str, ...]:
        """Pods whose replacement was evicted as well: by name, so only pods with stable names are found."""
        evicted = Counter(event.subject for event in self.moments if event.what in REMOVAL_EVENTS)
        return tuple(sorted(pod for pod, times in evicted.items() if times > 1))

    @property
    def late_s(self) -> float | None:
        """How much longer than the plan's p50; negative: shorter. None if one of both has no end."""
        estimate = self.plan.estimate
        return None if estimate is None or self.undone else self.drain_s - estimate.p50_s
