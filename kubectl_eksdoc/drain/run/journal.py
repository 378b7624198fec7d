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
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostAnswer
from kubectl_eksdoc.model.actions import (
    Change,
    Cordon,
    Delete,
    Errand,
    Evict,
    Exclude,
    Hook,
    ListAttachments,
    ListPods,
    Look,
    OfNode,
    Protect,
    Release,
    Restart,
    Restore,
)
from kubectl_eksdoc.model.journal import (
    ROLLED_BACK,
    UNCORDONED,
    Cause,
    Entries,
    Entry,
    IntentOutcome,
    JournaledNode,
    JournalIntent,
    JournalNote,
    Note,
    Result,
    RunPhase,
    RunStarted,
    Timed,
    Verb,
)

from ..duration.estimate import Estimate
from ..result import DrainPlan
from .answers import Next, RunTrouble, read

OF_PODS = (Verb.EVICT, Verb.RESTART, Verb.DELETE)
"""Verbs that remove a pod."""

_NODE_ENDS = (JournalNote.NODE_DONE, JournalNote.LEFT_ALONE, JournalNote.LOST)
_SURE = (IntentOutcome.DONE, IntentOutcome.GONE, IntentOutcome.REFUSED)


@frozen
class JournaledIntent:
    """An intent and its outcome; None: it was not answered, or the journal ends before the response."""

    intent: JournalIntent
    outcome: IntentOutcome | None = None
    result: Result | None = None

    @property
    def in_doubt(self) -> bool:
        """Whether it is unknown if it was done: it must be checked before anything is requested again."""
        return self.outcome is None or self.outcome is IntentOutcome.UNKNOWN


@frozen
class Cordoned:
    """A node that this run may have cordoned, or excluded from load balancers, and has not certainly restored.
    `confirmed`: the server confirmed the change. `before`: its state before this run's first cordon.
    `uncordoned_by_others`: another client uncordoned it meanwhile, and decides whether it is cordoned now."""

    node: str
    uid: str
    confirmed: bool
    before: str = ""
    theirs: bool = False


@frozen
class Protected:
    """A node that this run may have protected from autoscalers and has not certainly released. `confirmed`: the server
    confirmed the protection."""

    node: str
    uid: str
    confirmed: bool


@frozen
class Journaled:
    """State of a run by its journal. `changes` in the order of their intents; `nodes`: how each ended node ended;
    `uncordoned`: nodes that another client uncordoned meanwhile; `waves`: the wave of each node by the latest plan,
    from 1; `ended`: the outcome, None while there is none; `rolled_back`: it was rolled back, and cannot be resumed;
    `dropped`: ignored entries, with reasons. `stops`: template and seconds of each pod that stopped; `timed`: planned
    and actual time of each part that ended."""

    begun: RunStarted | None = None
    changes: tuple[JournaledIntent, ...] = ()
    nodes: Mapping[str, JournalNote] = field(default_factory=dict)
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
    timed: tuple[Timed, ...] = ()

    @property
    def last_wave(self) -> int:
        """The last wave that was started, 0 if none was: removal of one of its pods was requested, or one of its nodes
        is drained."""
        begun = {change.intent.node for change in self.changes if change.intent.verb in OF_PODS}
        begun |= {node for node, how in self.nodes.items() if how is JournalNote.NODE_DONE}
        return max((self.waves.get(node, 0) for node in begun), default=0)

    @property
    def phase(self) -> RunPhase:
        if self.ended is not None:
            return RunPhase.ENDED
        if self.aborted:
            return RunPhase.ABORTED
        return RunPhase.PAUSED if self.paused else RunPhase.RUNNING

    @property
    def in_doubt(self) -> tuple[JournaledIntent, ...]:
        return tuple(change for change in self.changes if change.in_doubt)

    @property
    def granted(self) -> tuple[JournaledIntent, ...]:
        """Evictions that the server granted."""
        return self._evictions(IntentOutcome.DONE)

    @property
    def gone(self) -> tuple[JournaledIntent, ...]:
        """Evictions of pods that did not exist any more."""
        return self._evictions(IntentOutcome.GONE)

    @property
    def cordoned(self) -> tuple[Cordoned, ...]:
        """Nodes to restore in a rollback, in the order in which they were cordoned."""
        standing = self._standing((Verb.CORDON, Verb.EXCLUDE), Verb.RESTORE)
        return tuple(
            Cordoned(first.name, first.uid, confirmed, first.before, first.name in self.uncordoned)
            for first, confirmed in standing.values()
        )

    @property
    def protected(self) -> tuple[Protected, ...]:
        """Nodes to release at the end of the run, in the order in which they were protected."""
        standing = self._standing((Verb.PROTECT,), Verb.RELEASE)
        return tuple(Protected(first.name, first.uid, confirmed) for first, confirmed in standing.values())

    def _standing(self, done: tuple[Verb, ...], undone: Verb) -> dict[tuple[str, str], tuple[JournalIntent, bool]]:
        """For each node to which one of `verbs` may have been applied, and `reverting_verb` has not certainly been
        applied since: the first intent, and whether the server confirmed any of them."""
        found: dict[tuple[str, str], tuple[JournalIntent, bool]] = {}
        for change in self.changes:
            intent, key = change.intent, (change.intent.name, change.intent.uid)
            if intent.verb in done and change.outcome not in (IntentOutcome.REFUSED, IntentOutcome.GONE):
                first, confirmed = found.get(key, (intent, False))
                found[key] = first, confirmed or change.outcome is IntentOutcome.DONE
            elif intent.verb is undone and change.outcome in (IntentOutcome.DONE, IntentOutcome.GONE):
                found.pop(key, None)
        return found

    def _evictions(self, outcome: IntentOutcome) -> tuple[JournaledIntent, ...]:
        return tuple(c for c in self.changes if c.intent.verb is Verb.EVICT and c.outcome is outcome)


def replay(*journals: Entries) -> Journaled:
    """Compute the state of a run from `journals`: copies of one run's journal, such as the cluster's and the file of
    this machine."""
    dropped = [said for journal in journals for said in journal.dropped]
    entries = _each_once((entry for journal in journals for entry in journal.entries), dropped)
    made = _Replaying(dropped)
    for entry in entries:
        made.take(entry)
    return made.journaled(entries[-1].number + 1 if entries else 0)


def stops_in(journal: Entries) -> Iterator[tuple[str, float]]:
    """Yield template and seconds of each pod that stopped in a run."""
    for entry in journal.entries:
        if isinstance(entry, Note) and entry.what is JournalNote.STOPPED:
            yield from _stops(entry)


def _stops(note: Note) -> Iterator[tuple[str, float]]:
    for word in note.why.split():
        if word.replace(".", "", 1).isdecimal() and word.isascii():
            yield note.subject, float(word)


def only_in(one: Entries, other: Entries) -> tuple[Entry, ...]:
    """Return the entries of `source` that `other` does not have: one of two copies may end earlier."""
    there = set(other.entries)
    return tuple(dict.fromkeys(entry for entry in one.entries if entry not in there))


def _each_once(given: Iterable[Entry], dropped: list[str]) -> list[Entry]:
    """Return unique entries, ordered by number; add gaps and conflicts to `dropped`."""
    found: dict[int, dict[Entry, None]] = {}
    for entry in given:
        found.setdefault(entry.number, {})[entry] = None
    numbers = sorted(found)
    for before, number in zip([-1, *numbers], numbers, strict=False):
        if number > before + 1:
            which = f"entry {number - 1} is" if number == before + 2 else f"entries {before + 1} to {number - 1} are"
            dropped.append(f"{which} missing")
        if len(found[number]) > 1:
            dropped.append(f"entry {number} is there twice with different contents: two wrote at once")
    return [entry for number in numbers for entry in found[number]]


class _Replaying:
    """Mutable: receives entries in the order of their numbers."""

    def __init__(self, dropped: list[str]) -> None:
        self._dropped = dropped
        self._begun: RunStarted | None = None
        self._intents: dict[int, list[JournalIntent]] = {}
        self._results: dict[int, Result] = {}
        self._nodes: dict[str, JournalNote] = {}
        self._waves: dict[str, int] = {}
        self._leader = ""
        self._paused = self._aborted = self._rolled_back = False
        self._uncordoned: set[str] = set()
        self._ended: str | None = None
        self._stops: list[tuple[str, float]] = []
        self._timed: list[Timed] = []

    def take(self, entry: Entry) -> None:
        match entry:
            case RunStarted():
                self._begin(entry)
            case JournalIntent():
                self._intents.setdefault(entry.number, []).append(entry)
            case Result():
                self._answer(entry)
            case Timed():
                self._timed.append(entry)
            case Note():
                self._note(entry)

    def journaled(self, next_number: int) -> Journaled:
        for result in self._results.values():
            if result.of not in self._intents:
                self._dropped.append(f"entry {result.number} answers entry {result.of}, which is no intent")
        changes: list[JournaledIntent] = []
        for number, intents in self._intents.items():
            answer = self._results.get(number) if len(intents) == 1 else None
            changes += [JournaledIntent(intent, answer.outcome if answer else None, answer) for intent in intents]
        return Journaled(
            self._begun,
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

    def _begin(self, begun: RunStarted) -> None:
        if self._begun is not None:
            self._dropped.append(f"entry {begun.number} begins the run a second time")
            return
        self._begun, self._leader = begun, begun.leader
        self._waves = {**{aim.node: aim.wave for aim in begun.aims}, **self._waves}

    def _answer(self, result: Result) -> None:
        """A certain outcome stays; an unknown outcome may become certain after a check."""
        known = self._results.get(result.of)
        if known is None or known.outcome not in _SURE:
            self._results[result.of] = result
        elif result.outcome in _SURE and result.outcome is not known.outcome:
            said = f"entry {result.number} says {result.outcome.value} of entry {result.of}, which is"
            self._dropped.append(f"{said} {known.outcome.value} already")

    def _note(self, note: Note) -> None:
        match note.what:
            case JournalNote.PAUSED | JournalNote.RESUMED:
                self._paused = note.what is JournalNote.PAUSED
                self._aborted = self._aborted and self._paused  # a resumed run continues, aborted or not
            case JournalNote.ABORTED:
                self._aborted = True
            case JournalNote.ADOPTED:
                self._leader = note.subject
            case JournalNote.ENDED:
                self._ended = note.why
                self._rolled_back = self._rolled_back or note.why == ROLLED_BACK
                return
            case JournalNote.STOPPED:
                self._stops += _stops(note)
            case JournalNote.WAVE if note.why.isascii() and note.why.isdecimal():
                self._waves[note.subject] = int(note.why)
            case _ if note.what in _NODE_ENDS:
                self._nodes[note.subject] = note.what
                if note.why.startswith(UNCORDONED):
                    self._uncordoned.add(note.subject)
        self._ended = None  # the run continued


# Writer of a run's journal: creates and numbers the entries, with the outcome of each intent.


LONGEST_SAID = 2000
"""Maximum length of a stored server message in characters: some webhooks return whole pages."""

_VERBS: Mapping[type[OfNode], Verb] = {
    Cordon: Verb.CORDON,
    Exclude: Verb.EXCLUDE,
    Restore: Verb.RESTORE,
    Protect: Verb.PROTECT,
    Release: Verb.RELEASE,
}

_OUTCOMES = {Next.LEAVES: IntentOutcome.DONE, Next.GONE: IntentOutcome.GONE, Next.LOOK: IntentOutcome.UNKNOWN}


class JournalWriter:
    """Mutable: counts from `next_number` (0 for a new run, `JournalState.next_number` for a resumed one)."""

    def __init__(self, next_number: int = 0) -> None:
        self.next_number = next_number

    def begun(
        self,
        run: str,
        at: datetime,
        *,
        plan: str,
        tool: str,
        who: str,
        host: str,
        leader: str,
        aims: tuple[JournaledNode, ...],
        asked: tuple[str, ...],
        skipped: tuple[JournaledNode, ...] = (),
        estimate: Estimate | None = None,
        cluster: str = "",
    ) -> RunStarted:
        p50_s, p95_s, bound_s = _predicted(estimate) if estimate is not None else (None, None, None)
        number, predicted = self._number(), (p50_s, p95_s, bound_s)
        return RunStarted(number, at, run, plan, tool, who, host, leader, aims, asked, skipped, *predicted, cluster)

    def intent(self, act: Change, at: datetime, before: str = "") -> JournalIntent:
        """`previous_state`: the state of a node before its cordon."""
        number = self._number()
        match act:
            case Evict(pod, grace_s):
                return JournalIntent(number, at, Verb.EVICT, "Pod", pod.name, pod.uid, pod.namespace, pod.node, grace_s)
            case Restart(namespace, name, uid, kind, pod):
                return JournalIntent(number, at, Verb.RESTART, kind, name, uid, namespace, pod.node)
            case Delete(pod):
                return JournalIntent(number, at, Verb.DELETE, "Pod", pod.name, pod.uid, pod.namespace, pod.node)
            case _:
                return JournalIntent(number, at, _VERBS[type(act)], "Node", act.node, act.uid, before=before)

    def result(self, of: JournalIntent, answer: ApiStatus | LostAnswer, at: datetime) -> Result:
        outcome, trouble = _judged(of.verb, answer)
        code = answer.code if isinstance(answer, ApiStatus) else 0
        said = answer.message if isinstance(answer, ApiStatus) else answer.said
        word = "" if trouble is RunTrouble.NONE else trouble.value
        return Result(self._number(), at, of.number, outcome, code, word, said[:LONGEST_SAID])

    def found(self, of: JournalIntent, outcome: IntentOutcome, at: datetime, said: str = "") -> Result:
        """Return the result of an intent that was in doubt, by observation."""
        return Result(self._number(), at, of.number, outcome, said=said[:LONGEST_SAID])

    def note(self, what: JournalNote, at: datetime, subject: str = "", why: str = "") -> Note:
        return Note(self._number(), at, what, subject, why[:LONGEST_SAID])

    def timed(self, at: datetime, took_s: float, estimate: Estimate, causes: Mapping[Cause, float]) -> Timed:
        p50_s, p95_s, bound_s = _predicted(estimate)
        rounded = tuple((cause, round(seconds, 3)) for cause, seconds in causes.items())
        return Timed(self._number(), at, round(took_s, 3), p50_s, p95_s, bound_s, rounded)

    def stopped(self, template: str, seconds: Iterable[float], at: datetime) -> Note:
        """Return a note of how long pods of one template took to stop."""
        return self.note(JournalNote.STOPPED, at, template, " ".join(f"{each:.1f}" for each in seconds))

    def _number(self) -> int:
        self.next_number += 1
        return self.next_number - 1


def changes_something(act: Errand) -> TypeGuard[Change]:
    """Whether an action must be journaled before it is performed."""
    return not isinstance(act, (Look, ListPods, ListAttachments, Hook))


def is_another(answer: ApiStatus) -> bool:
    """Whether another node has the name now: it must not be changed."""
    return answer.code == 409 and "UID in the precondition" in answer.message


def aims_of(plan: DrainPlan) -> tuple[JournaledNode, ...]:
    """Return the nodes that a plan drains, in its order."""
    drained = sorted((target for target in plan.targets if target.order), key=lambda each: each.order)
    return tuple(JournaledNode(target.node.name, target.node.uid, target.wave) for target in drained)


def skipped_by(plan: DrainPlan) -> tuple[JournaledNode, ...]:
    """Return the nodes that a plan cordons and does not drain."""
    return tuple(JournaledNode(target.node.name, target.node.uid) for target in plan.cordoned_only)


def _judged(verb: Verb, answer: ApiStatus | LostAnswer) -> tuple[IntentOutcome, RunTrouble]:
    if verb in (Verb.EVICT, Verb.DELETE):
        reading = read(answer)
        return _OUTCOMES.get(reading.next, IntentOutcome.REFUSED), reading.trouble
    if isinstance(answer, LostAnswer) or answer.code >= 500:
        return IntentOutcome.UNKNOWN, RunTrouble.SERVER
    if 200 <= answer.code < 300:
        return IntentOutcome.DONE, RunTrouble.NONE
    if answer.code == 404 or is_another(answer):
        return IntentOutcome.GONE, RunTrouble.NONE
    return IntentOutcome.REFUSED, _TROUBLES.get(answer.code, RunTrouble.REQUEST)


_TROUBLES = {401: RunTrouble.RIGHT, 403: RunTrouble.RIGHT, 409: RunTrouble.CONTENTION, 429: RunTrouble.THROTTLED}


def _predicted(estimate: Estimate) -> tuple[float, float, float | None]:
    """Return p50, p95 and the lower bound in seconds."""
    bound_s = round(estimate.least[0].seconds, 3) if estimate.least else None
    return round(estimate.p50_s, 3), round(estimate.p95_s, 3), bound_s
