"""A run as it was written down, to be looked at again; here from its journal, in `retelling` from its events.

Both know less than the run did, and different things: what is not in them is said, never guessed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import NamedTuple

from kubectl_eksdoc.core.model.journal import (
    DONE,
    ROLLED_BACK,
    Entries,
    Entry,
    Intent,
    Note,
    Noted,
    Outcome,
    Result,
    Verb,
)
from kubectl_eksdoc.core.run.account import told_by
from kubectl_eksdoc.core.run.chronicle import Aimed
from kubectl_eksdoc.core.run.journal import Journaled, replay
from kubectl_eksdoc.core.run.moments import Moment


class Source(Enum):
    """From what it was made; the value names it."""

    JOURNAL = "journal"
    EVENTS = "events"


@dataclass(frozen=True, slots=True)
class Planned:
    """So many `pods` were to be evicted; p50 and p95 of the estimate in seconds, None where there is none."""

    pods: int
    p50_s: float | None = None
    p95_s: float | None = None


class Rewaved(NamedTuple):
    """Once the first `after` moments have happened, `node` comes in this `wave`: somebody went on with the run."""

    after: int
    node: str
    wave: int


@dataclass(frozen=True, slots=True)
class Recording:
    """`moments` in the order of their times, from 0 to `length_s`, in seconds since `began_at` (UTC); `written`: of
    each of them the entries of a journal that tell it, () for events. `aims` know no pods: those are known as they
    appear; their waves are those of the begin, and `rewaved` says which were others later.

    `by` whom it was begun, "" where that is not known. `ended`: how, in a word or a sentence, "" where that was not
    written down; `whole`: every node was emptied, or given back as somebody wanted it. `said` is more about that, line
    by line. `planned` is None where it is not known; `dropped` says what was not taken into account.
    """

    run: str
    source: Source
    began_at: datetime
    length_s: float
    aims: tuple[Aimed, ...]
    moments: tuple[Moment, ...]
    written: tuple[tuple[Entry, ...], ...] = ()
    by: str = ""
    ended: str = ""
    whole: bool = False
    said: tuple[str, ...] = ()
    planned: Planned | None = None
    dropped: tuple[str, ...] = ()
    rewaved: tuple[Rewaved, ...] = ()

    def waves_after(self, moments: int) -> dict[str, int]:
        """Of the nodes whose wave is not that of the begin any more, once so many moments have happened."""
        return {each.node: each.wave for each in self.rewaved if each.after <= moments}

    def details(self, at: int) -> tuple[tuple[str, str], ...]:
        """What else is written down of the moment at this place, by name."""
        written = self.written[at] if at < len(self.written) else ()
        return tuple(field for entry in written for field in fields_of(entry))


def of_journal(journal: Entries) -> Recording | None:
    """None where not one entry could be read."""
    entries = sorted(dict.fromkeys(journal.entries), key=lambda entry: entry.number)
    if not entries:
        return None
    stands, began = replay(journal), entries[0].at
    latest_s = (datetime.max.replace(tzinfo=began.tzinfo) - began).total_seconds() - 1
    told = list(told_by(entries))
    moments = tuple(in_order((moment for moment, _ in told), latest_s))
    last_s = max((entry.at - began).total_seconds() for entry in entries)
    begun = stands.begun
    aims = begun.aims if begun is not None else ()
    return Recording(
        run=begun.run if begun is not None else "",
        source=Source.JOURNAL,
        began_at=began,
        length_s=max(0.0, min(last_s, latest_s)),
        aims=tuple(Aimed(aim.node, aim.wave) for aim in aims),
        moments=moments,
        written=tuple(written for _, written in told),
        by=f"{begun.who}@{begun.host}" if begun is not None else "",
        ended=stands.ended or "",
        whole=stands.ended in (DONE, ROLLED_BACK),
        said=tuple(_more(stands)),
        dropped=stands.dropped,
        rewaved=tuple(_rewaved(entries, [written[-1].number for _, written in told])),
    )


def _rewaved(entries: Iterable[Entry], told: Sequence[int]) -> Iterator[Rewaved]:
    """`told`: the number of the entry by which each moment was told."""
    for entry in entries:
        if isinstance(entry, Note) and entry.what is Noted.WAVE and entry.why.isascii() and entry.why.isdecimal():
            yield Rewaved(bisect_left(told, entry.number), entry.subject, int(entry.why))


def in_order(moments: Iterable[Moment], latest_s: float) -> Iterator[Moment]:
    """None before the one that stands before it, whatever the clocks of different machines said."""
    now_s = 0.0
    for moment in moments:
        now_s = min(max(now_s, moment.at_s), max(latest_s, 0.0))
        yield moment._replace(at_s=now_s)


def fields_of(entry: Entry) -> tuple[tuple[str, str], ...]:
    """All that an entry says of a change, by name; what it does not say is left out."""
    said: tuple[tuple[str, str], ...] = ()
    match entry:
        case Intent():
            said = (
                ("asked", f"{entry.verb.value} {entry.kind} {_subject(entry)}"),
                ("uid", entry.uid),
                ("grace", "" if entry.grace_s is None else f"{entry.grace_s} s"),
                ("before", entry.before),
            )
        case Result():
            said = (
                ("answer", entry.outcome.value),
                ("HTTP code", str(entry.code) if entry.code else ""),
                ("trouble", entry.trouble),
                ("said", entry.said),
            )
    written = (f"entry {entry.number}", f"{entry.at:%Y-%m-%d %H:%M:%S.%f}Z")
    return (written, *((name, value) for name, value in said if value))


def _more(stands: Journaled) -> Iterator[str]:
    """What the moments do not tell."""
    back = {
        change.intent.name: None
        for change in stands.changes
        if change.intent.verb is Verb.RESTORE and change.outcome is Outcome.DONE
    }
    if back:
        yield f"Given back as they were before: {', '.join(back)}."
    if stands.in_doubt:
        doubts = (f"{change.intent.verb.value} {_subject(change.intent)}" for change in stands.in_doubt)
        yield f"What came of these is not in it: {', '.join(doubts)}."


def _subject(intent: Intent) -> str:
    return f"{intent.namespace}/{intent.name}" if intent.namespace else intent.name
