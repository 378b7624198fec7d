"""State of a run, computed from its journal entries; and the writer of the entries.

The computation accepts any entries. A duplicate, an entry out of order or a contradiction does not invalidate other
entries, and ignored entries are reported. Where two writers used the same number, the response cannot be assigned to an
intent: such an intent counts as in doubt, and is checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from datetime import datetime
from typing import TypeGuard

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse
from kubectl_eksdoc.model.actions import (
    ClusterChange,
    Cordon,
    Delete,
    Evict,
    Exclude,
    Hook,
    ListAttachments,
    ListPods,
    NodeChange,
    Protect,
    ReadPod,
    Release,
    Restart,
    Restore,
    RunCommand,
)
from kubectl_eksdoc.model.journal import (
    ROLLED_BACK,
    UNCORDONED,
    DelayCause,
    IntentEntry,
    IntentOutcome,
    JournaledNode,
    JournalEntries,
    JournalEntry,
    NoteEntry,
    NoteKind,
    ResultEntry,
    RunPhase,
    RunStarted,
    TimingEntry,
    Verb,
)

from ..duration.estimate import Estimate
from ..result import DrainPlan
from .answers import FollowUp, RunTrouble, interpret_eviction

POD_VERBS = (Verb.EVICT, Verb.RESTART, Verb.DELETE)
"""Verbs that remove a pod."""

_NODE_END_NOTES = (NoteKind.NODE_DONE, NoteKind.LEFT_ALONE, NoteKind.LOST)
_CERTAIN_OUTCOMES = (IntentOutcome.DONE, IntentOutcome.GONE, IntentOutcome.REFUSED)


@frozen
class JournaledIntent:
    """An intent and its outcome; None: it was not answered, or the journal ends before the response."""

    intent: IntentEntry
    outcome: IntentOutcome | None = None
    result: ResultEntry | None = None

    @property
    def is_in_doubt(self) -> bool:
        """Whether it is unknown if it was done: it must be checked before anything is requested again."""
        return self.outcome is None or self.outcome is IntentOutcome.UNKNOWN


@frozen
class CordonedNode:
    """A node that this run may have cordoned, or excluded from load balancers, and has not certainly restored.
    `confirmed`: the server confirmed the change. `before`: its state before this run's first cordon.
    `uncordoned_by_others`: another client uncordoned it meanwhile, and decides whether it is cordoned now."""

    node: str
    uid: str
    confirmed: bool
    before: str = ""
    uncordoned_by_others: bool = False


@frozen
class ProtectedNode:
    """A node that this run may have protected from autoscalers and has not certainly released. `confirmed`: the server
    confirmed the protection."""

    node: str
    uid: str
    confirmed: bool


@frozen
class JournalState:
    """State of a run by its journal. `changes` in the order of their intents; `nodes`: how each ended node ended;
    `uncordoned`: nodes that another client uncordoned meanwhile; `waves`: the wave of each node by the latest plan,
    from 1; `ended`: the outcome, None while there is none; `rolled_back`: it was rolled back, and cannot be resumed;
    `dropped`: ignored entries, with reasons. `stops`: template and seconds of each pod that stopped; `timed`: planned
    and actual time of each part that ended."""

    started: RunStarted | None = None
    changes: tuple[JournaledIntent, ...] = ()
    nodes: Mapping[str, NoteKind] = field(default_factory=dict)
    leader: str = ""
    paused: bool = False
    aborted: bool = False
    uncordoned: frozenset[str] = frozenset()
    ended: str | None = None
    rolled_back: bool = False
    next_number: int = 0
    dropped: tuple[str, ...] = ()
    waves: Mapping[str, int] = field(default_factory=dict)
    stops: tuple[tuple[str, float], ...] = ()
    timed: tuple[TimingEntry, ...] = ()

    @property
    def last_wave(self) -> int:
        """The last wave that was started, 0 if none was: removal of one of its pods was requested, or one of its nodes
        is drained."""
        started_nodes = {change.intent.node for change in self.changes if change.intent.verb in POD_VERBS}
        started_nodes |= {node for node, note in self.nodes.items() if note is NoteKind.NODE_DONE}
        return max((self.waves.get(node, 0) for node in started_nodes), default=0)

    @property
    def phase(self) -> RunPhase:
        if self.ended is not None:
            return RunPhase.ENDED
        if self.aborted:
            return RunPhase.ABORTED
        return RunPhase.PAUSED if self.paused else RunPhase.RUNNING

    @property
    def in_doubt(self) -> tuple[JournaledIntent, ...]:
        return tuple(change for change in self.changes if change.is_in_doubt)

    @property
    def granted(self) -> tuple[JournaledIntent, ...]:
        """Evictions that the server granted."""
        return self._evictions(IntentOutcome.DONE)

    @property
    def gone(self) -> tuple[JournaledIntent, ...]:
        """Evictions of pods that did not exist any more."""
        return self._evictions(IntentOutcome.GONE)

    @property
    def cordoned(self) -> tuple[CordonedNode, ...]:
        """Nodes to restore in a rollback, in the order in which they were cordoned."""
        progress = self._unreverted((Verb.CORDON, Verb.EXCLUDE), Verb.RESTORE)
        return tuple(
            CordonedNode(first.name, first.uid, confirmed, first.before, first.name in self.uncordoned)
            for first, confirmed in progress.values()
        )

    @property
    def protected(self) -> tuple[ProtectedNode, ...]:
        """Nodes to release at the end of the run, in the order in which they were protected."""
        progress = self._unreverted((Verb.PROTECT,), Verb.RELEASE)
        return tuple(ProtectedNode(first.name, first.uid, confirmed) for first, confirmed in progress.values())

    def _unreverted(
        self, verbs: tuple[Verb, ...], reverting_verb: Verb
    ) -> dict[tuple[str, str], tuple[IntentEntry, bool]]:
        """For each node to which one of `verbs` may have been applied, and `reverting_verb` has not certainly been
        applied since: the first intent, and whether the server confirmed any of them."""
        unreverted: dict[tuple[str, str], tuple[IntentEntry, bool]] = {}
        for change in self.changes:
            intent, key = change.intent, (change.intent.name, change.intent.uid)
            if intent.verb in verbs and change.outcome not in (IntentOutcome.REFUSED, IntentOutcome.GONE):
                first, confirmed = unreverted.get(key, (intent, False))
                unreverted[key] = first, confirmed or change.outcome is IntentOutcome.DONE
            elif intent.verb is reverting_verb and change.outcome in (IntentOutcome.DONE, IntentOutcome.GONE):
                unreverted.pop(key, None)
        return unreverted

    def _evictions(self, outcome: IntentOutcome) -> tuple[JournaledIntent, ...]:
        return tuple(c for c in self.changes if c.intent.verb is Verb.EVICT and c.outcome is outcome)


def replay_journals(*journals: JournalEntries) -> JournalState:
    """Compute the state of a run from `journals`: copies of one run's journal, such as the cluster's and the file of
    this machine."""
    dropped = [text for journal in journals for text in journal.dropped]
    entries = _unique_entries((entry for journal in journals for entry in journal.entries), dropped)
    replayer = _JournalReplay(dropped)
    for entry in entries:
        replayer.add(entry)
    return replayer.state(entries[-1].number + 1 if entries else 0)


def stop_times_in(journal: JournalEntries) -> Iterator[tuple[str, float]]:
    """Yield template and seconds of each pod that stopped in a run."""
    for entry in journal.entries:
        if isinstance(entry, NoteEntry) and entry.what is NoteKind.STOPPED:
            yield from _note_stop_times(entry)


def _note_stop_times(note: NoteEntry) -> Iterator[tuple[str, float]]:
    for word in note.why.split():
        if word.replace(".", "", 1).isdecimal() and word.isascii():
            yield note.subject, float(word)


def missing_entries(source: JournalEntries, other: JournalEntries) -> tuple[JournalEntry, ...]:
    """Return the entries of `source` that `other` does not have: one of two copies may end earlier."""
    existing = set(other.entries)
    return tuple(dict.fromkeys(entry for entry in source.entries if entry not in existing))


def _unique_entries(entries: Iterable[JournalEntry], dropped: list[str]) -> list[JournalEntry]:
    """Return unique entries, ordered by number; add gaps and conflicts to `dropped`."""
    by_number: dict[int, dict[JournalEntry, None]] = {}
    for entry in entries:
        by_number.setdefault(entry.number, {})[entry] = None
    numbers = sorted(by_number)
    for previous, number in zip([-1, *numbers], numbers, strict=False):
        if number > previous + 1:
            gap_text = (
                f"entry {number - 1} is" if number == previous + 2 else f"entries {previous + 1} to {number - 1} are"
            )
            dropped.append(f"{gap_text} missing")
        if len(by_number[number]) > 1:
            dropped.append(f"entry {number} is there twice with different contents: two wrote at once")
    return [entry for number in numbers for entry in by_number[number]]


class _JournalReplay:
    """Mutable: receives entries in the order of their numbers."""

    def __init__(self, dropped: list[str]) -> None:
        self._dropped = dropped
        self._started: RunStarted | None = None
        self._intents: dict[int, list[IntentEntry]] = {}
        self._results: dict[int, ResultEntry] = {}
        self._nodes: dict[str, NoteKind] = {}
        self._waves: dict[str, int] = {}
        self._leader = ""
        self._paused = self._aborted = self._rolled_back = False
        self._uncordoned: set[str] = set()
        self._ended: str | None = None
        self._stops: list[tuple[str, float]] = []
        self._timed: list[TimingEntry] = []

    def add(self, entry: JournalEntry) -> None:
        match entry:
            case RunStarted():
                self._add_start(entry)
            case IntentEntry():
                self._intents.setdefault(entry.number, []).append(entry)
            case ResultEntry():
                self._add_result(entry)
            case TimingEntry():
                self._timed.append(entry)
            case NoteEntry():
                self._add_note(entry)

    def state(self, next_number: int) -> JournalState:
        for result in self._results.values():
            if result.of not in self._intents:
                self._dropped.append(f"entry {result.number} answers entry {result.of}, which is no intent")
        changes: list[JournaledIntent] = []
        for number, intents in self._intents.items():
            known_result = self._results.get(number) if len(intents) == 1 else None
            changes += [
                JournaledIntent(intent, known_result.outcome if known_result else None, known_result)
                for intent in intents
            ]
        return JournalState(
            self._started,
            tuple(changes),
            self._nodes,
            self._leader,
            self._paused,
            self._aborted,
            frozenset(self._uncordoned),
            self._ended,
            self._rolled_back,
            next_number,
            tuple(self._dropped),
            self._waves,
            tuple(self._stops),
            tuple(self._timed),
        )

    def _add_start(self, start: RunStarted) -> None:
        if self._started is not None:
            self._dropped.append(f"entry {start.number} begins the run a second time")
            return
        self._started, self._leader = start, start.leader
        self._waves = {**{planned_node.node: planned_node.wave for planned_node in start.aims}, **self._waves}

    def _add_result(self, result: ResultEntry) -> None:
        """A certain outcome stays; an unknown outcome may become certain after a check."""
        known_result = self._results.get(result.of)
        if known_result is None or known_result.outcome not in _CERTAIN_OUTCOMES:
            self._results[result.of] = result
        elif result.outcome in _CERTAIN_OUTCOMES and result.outcome is not known_result.outcome:
            message = f"entry {result.number} says {result.outcome.value} of entry {result.of}, which is"
            self._dropped.append(f"{message} {known_result.outcome.value} already")

    def _add_note(self, note: NoteEntry) -> None:
        match note.what:
            case NoteKind.PAUSED | NoteKind.RESUMED:
                self._paused = note.what is NoteKind.PAUSED
                self._aborted = self._aborted and self._paused  # a resumed run continues, aborted or not
            case NoteKind.ABORTED:
                self._aborted = True
            case NoteKind.ADOPTED:
                self._leader = note.subject
            case NoteKind.ENDED:
                self._ended = note.why
                self._rolled_back = self._rolled_back or note.why == ROLLED_BACK
                return
            case NoteKind.STOPPED:
                self._stops += _note_stop_times(note)
            case NoteKind.WAVE if note.why.isascii() and note.why.isdecimal():
                self._waves[note.subject] = int(note.why)
            case _ if note.what in _NODE_END_NOTES:
                self._nodes[note.subject] = note.what
                if note.why.startswith(UNCORDONED):
                    self._uncordoned.add(note.subject)
        self._ended = None  # the run continued


# Writer of a run's journal: creates and numbers the entries, with the outcome of each intent.


MAX_MESSAGE_LENGTH = 2000
"""Maximum length of a stored server message in characters: some webhooks return whole pages."""

_VERBS: Mapping[type[NodeChange], Verb] = {
    Cordon: Verb.CORDON,
    Exclude: Verb.EXCLUDE,
    Restore: Verb.RESTORE,
    Protect: Verb.PROTECT,
    Release: Verb.RELEASE,
}

_OUTCOMES = {
    FollowUp.ACCEPTED: IntentOutcome.DONE,
    FollowUp.GONE: IntentOutcome.GONE,
    FollowUp.CHECK: IntentOutcome.UNKNOWN,
}


class JournalWriter:
    """Mutable: counts from `next_number` (0 for a new run, `JournalState.next_number` for a resumed one)."""

    def __init__(self, next_number: int = 0) -> None:
        self.next_number = next_number

    def run_started(
        self,
        run: str,
        timestamp: datetime,
        *,
        plan: str,
        tool: str,
        user: str,
        host: str,
        leader: str,
        planned_nodes: tuple[JournaledNode, ...],
        arguments: tuple[str, ...],
        skipped: tuple[JournaledNode, ...] = (),
        estimate: Estimate | None = None,
        cluster: str = "",
    ) -> RunStarted:
        p50_s, p95_s, bound_s = _predicted(estimate) if estimate is not None else (None, None, None)
        number, prediction = self._next_number(), (p50_s, p95_s, bound_s)
        return RunStarted(
            number,
            timestamp,
            run,
            plan,
            tool,
            user,
            host,
            leader,
            planned_nodes,
            arguments,
            skipped,
            *prediction,
            cluster,
        )

    def intent(self, action: ClusterChange, timestamp: datetime, previous_state: str = "") -> IntentEntry:
        """`previous_state`: the state of a node before its cordon."""
        number = self._next_number()
        match action:
            case Evict(pod, grace_s):
                return IntentEntry(
                    number, timestamp, Verb.EVICT, "Pod", pod.name, pod.uid, pod.namespace, pod.node, grace_s
                )
            case Restart(namespace, name, uid, kind, pod):
                return IntentEntry(number, timestamp, Verb.RESTART, kind, name, uid, namespace, pod.node)
            case Delete(pod):
                return IntentEntry(number, timestamp, Verb.DELETE, "Pod", pod.name, pod.uid, pod.namespace, pod.node)
            case _:
                return IntentEntry(
                    number, timestamp, _VERBS[type(action)], "Node", action.node, action.uid, before=previous_state
                )

    def result(self, intent: IntentEntry, response: ApiStatus | LostResponse, timestamp: datetime) -> ResultEntry:
        outcome, trouble = _outcome(intent.verb, response)
        code = response.code if isinstance(response, ApiStatus) else 0
        message = response.message
        trouble_text = "" if trouble is RunTrouble.NONE else trouble.value
        return ResultEntry(
            self._next_number(), timestamp, intent.number, outcome, code, trouble_text, message[:MAX_MESSAGE_LENGTH]
        )

    def observed_result(
        self, intent: IntentEntry, outcome: IntentOutcome, timestamp: datetime, message: str = ""
    ) -> ResultEntry:
        """Return the result of an intent that was in doubt, by observation."""
        return ResultEntry(self._next_number(), timestamp, intent.number, outcome, said=message[:MAX_MESSAGE_LENGTH])

    def note(self, kind: NoteKind, timestamp: datetime, subject: str = "", reason: str = "") -> NoteEntry:
        return NoteEntry(self._next_number(), timestamp, kind, subject, reason[:MAX_MESSAGE_LENGTH])

    def duration_entry(
        self, timestamp: datetime, duration_s: float, estimate: Estimate, causes: Mapping[DelayCause, float]
    ) -> TimingEntry:
        p50_s, p95_s, bound_s = _predicted(estimate)
        rounded = tuple((cause, round(seconds, 3)) for cause, seconds in causes.items())
        return TimingEntry(self._next_number(), timestamp, round(duration_s, 3), p50_s, p95_s, bound_s, rounded)

    def stop_times_note(self, template: str, seconds: Iterable[float], timestamp: datetime) -> NoteEntry:
        """Return a note of how long pods of one template took to stop."""
        return self.note(NoteKind.STOPPED, timestamp, template, " ".join(f"{each:.1f}" for each in seconds))

    def _next_number(self) -> int:
        self.next_number += 1
        return self.next_number - 1


def is_change(action: RunCommand) -> TypeGuard[ClusterChange]:
    """Whether an action must be journaled before it is performed."""
    return not isinstance(action, (ReadPod, ListPods, ListAttachments, Hook))


def is_other_node(response: ApiStatus) -> bool:
    """Whether another node has the name now: it must not be changed."""
    return response.code == 409 and "UID in the precondition" in response.message


def drained_nodes(plan: DrainPlan) -> tuple[JournaledNode, ...]:
    """Return the nodes that a plan drains, in its order."""
    drained = sorted((target for target in plan.targets if target.order), key=lambda each: each.order)
    return tuple(JournaledNode(target.node.name, target.node.uid, target.wave) for target in drained)


def cordon_only_nodes(plan: DrainPlan) -> tuple[JournaledNode, ...]:
    """Return the nodes that a plan cordons and does not drain."""
    return tuple(JournaledNode(target.node.name, target.node.uid) for target in plan.cordoned_only)


def _outcome(verb: Verb, response: ApiStatus | LostResponse) -> tuple[IntentOutcome, RunTrouble]:
    if verb in (Verb.EVICT, Verb.DELETE):
        meaning = interpret_eviction(response)
        return _OUTCOMES.get(meaning.follow_up, IntentOutcome.REFUSED), meaning.trouble
    if isinstance(response, LostResponse) or response.code >= 500:
        return IntentOutcome.UNKNOWN, RunTrouble.SERVER
    if 200 <= response.code < 300:
        return IntentOutcome.DONE, RunTrouble.NONE
    if response.code == 404 or is_other_node(response):
        return IntentOutcome.GONE, RunTrouble.NONE
    return IntentOutcome.REFUSED, _TROUBLES.get(response.code, RunTrouble.REQUEST)


_TROUBLES = {401: RunTrouble.RIGHT, 403: RunTrouble.RIGHT, 409: RunTrouble.CONTENTION, 429: RunTrouble.THROTTLED}


def _predicted(estimate: Estimate) -> tuple[float, float, float | None]:
    """Return p50, p95 and the lower bound in seconds."""
    bound_s = round(estimate.lower_bounds[0].seconds, 3) if estimate.lower_bounds else None
    return round(estimate.p50_s, 3), round(estimate.p95_s, 3), bound_s
