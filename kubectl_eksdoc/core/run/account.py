"""A run as its journal has it, for whoever looks at it from elsewhere or afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from kubectl_eksdoc.core.model.journal import Entry, Intent, Note, Noted, Outcome, Phase, Result, Verb
from kubectl_eksdoc.core.run.journal import OF_PODS, Journaled
from kubectl_eksdoc.core.run.moments import THE_DRAIN, Happened, Moment


@dataclass(frozen=True, slots=True)
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


_ENDS = {Noted.NODE_DONE: "done", Noted.LEFT_ALONE: "left-alone", Noted.LOST: "lost"}


def nodes_of(journaled: Journaled) -> tuple[NodeAccount, ...]:
    """The nodes that the run drains, in its order."""
    aims = journaled.begun.aims if journaled.begun is not None else ()
    counts: dict[str, Counter[str]] = {}
    cordoned = {each.node for each in journaled.cordoned if each.confirmed}
    for change in journaled.changes:
        if change.intent.verb in OF_PODS:
            word = change.outcome.value if change.outcome is not None else Outcome.UNKNOWN.value
            counts.setdefault(change.intent.node, Counter())[word] += 1
    found = []
    for aim in aims:
        of = counts.get(aim.node, Counter())
        state = _ENDS.get(journaled.nodes[aim.node], "") if aim.node in journaled.nodes else ""
        state = state or ("draining" if of else "cordoned" if aim.node in cordoned else "waiting")
        numbers = (of[each.value] for each in (Outcome.DONE, Outcome.GONE, Outcome.REFUSED, Outcome.UNKNOWN))
        found.append(NodeAccount(aim.node, journaled.waves.get(aim.node, aim.wave), state, *numbers))
    return tuple(found)


_HAPPENED = {
    Noted.NODE_DONE: Happened.DONE,
    Noted.LEFT_ALONE: Happened.LEFT_ALONE,
    Noted.LOST: Happened.LOST,
    Noted.PAUSED: Happened.HELD,
    Noted.RESUMED: Happened.RELEASED,
    Noted.ABORTED: Happened.STOPPED,
    Noted.ADOPTED: Happened.ADOPTED,
}

_OF_RESULTS = {
    (Verb.CORDON, Outcome.DONE): Happened.CORDONED,
    (Verb.CORDON, Outcome.REFUSED): Happened.REFUSED,
    (Verb.EXCLUDE, Outcome.DONE): Happened.EXCLUDED,
    (Verb.EXCLUDE, Outcome.REFUSED): Happened.WARNED,
    (Verb.PROTECT, Outcome.DONE): Happened.PROTECTED,
    (Verb.PROTECT, Outcome.REFUSED): Happened.WARNED,
    (Verb.RELEASE, Outcome.DONE): Happened.UNPROTECTED,
    (Verb.RELEASE, Outcome.REFUSED): Happened.WARNED,
    (Verb.EVICT, Outcome.DONE): Happened.EVICTED,
    (Verb.EVICT, Outcome.GONE): Happened.GONE,
    (Verb.EVICT, Outcome.REFUSED): Happened.REFUSED,
    (Verb.RESTART, Outcome.DONE): Happened.RESTARTED,
    (Verb.RESTART, Outcome.REFUSED): Happened.REFUSED,
    (Verb.DELETE, Outcome.DONE): Happened.DELETED,
    (Verb.DELETE, Outcome.GONE): Happened.GONE,
    (Verb.DELETE, Outcome.REFUSED): Happened.REFUSED,
}


def told_by(entries: Iterable[Entry]) -> Iterator[tuple[Moment, tuple[Entry, ...]]]:
    """What happened, by the journal: whatever changed something, and what was noted; each with the entries that tell
    it: a note, or an intent and what came of it."""
    intents: dict[int, Intent] = {}
    began: datetime | None = None
    for entry in entries:
        began = began or entry.at
        at_s = (entry.at - began).total_seconds()
        match entry:
            case Intent():
                intents[entry.number] = entry
            case Result() if entry.of in intents:
                what = _OF_RESULTS.get((intents[entry.of].verb, entry.outcome))
                if what is not None:
                    yield _moment(at_s, what, intents[entry.of], entry), (intents[entry.of], entry)
            case Note() if entry.what in _HAPPENED:
                yield Moment(at_s, _HAPPENED[entry.what], entry.subject or THE_DRAIN, "", entry.why), (entry,)


def _moment(at_s: float, what: Happened, of: Intent, result: Result) -> Moment:
    """Of a restart the journal names the workload, and the node of the pod that is replaced."""
    subject = f"{of.namespace}/{of.name}" if of.namespace else of.name
    subject = f"{of.kind} {subject}" if of.verb is Verb.RESTART else subject
    return Moment(at_s, what, subject, of.node, "" if result.outcome is Outcome.DONE else result.said)


def phase_words(journaled: Journaled, led: bool) -> str:
    """Where it stands: a run that nobody leads does not go on by itself, whatever its journal says last."""
    if journaled.phase is Phase.ENDED:
        return journaled.ended or Phase.ENDED.value
    return journaled.phase.value if led else f"{journaled.phase.value}, and nobody leads it"
