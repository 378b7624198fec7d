"""A run as its events tell it again: those of ``drain run -o json``, and of ``drain resume`` behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from math import inf

from kubectl_eksdoc.core.model.journal import DONE
from kubectl_eksdoc.core.model.run_events import RunEnd, RunEvent, RunEvents
from kubectl_eksdoc.core.run.chronicle import Aimed
from kubectl_eksdoc.core.run.moments import THE_DRAIN, Happened, Moment
from kubectl_eksdoc.core.run.recording import Planned, Recording, Rewaved, Source, in_order

GONE_ON_WITH = "somebody went on with it"

_OF_NODES = frozenset(
    (
        Happened.CORDONED,
        Happened.BEGUN,
        Happened.EMPTY,
        Happened.DONE,
        Happened.LEFT_ALONE,
        Happened.LOST,
        Happened.EXCLUDED,
    )
)
_WORDS = {what.value: what for what in Happened}
_ABOUT_S = 1.0
"""Times of the clock are told in whole seconds."""


def of_events(events: RunEvents) -> Recording | None:
    """None where not one event could be read. What is told of another run than the first one is dropped with a word."""
    first = next((each for each in events.told if isinstance(each, RunEvent)), None)
    if first is None:
        return None
    ours = [each for each in events.told if each.run == first.run]
    strange = [f"an event {word!r} is not known to this version" for word in dict.fromkeys(_unknown(ours))]
    others = len(events.told) - len(ours)
    if others:
        strange.append(f"lines of other runs than {first.run}: {others}")
    began = first.at - timedelta(seconds=int(first.at_s))  # as exact as times of the clock are told
    parts = list(_parts(ours))
    found = tuple(in_order(_moments(parts, began), inf))
    ends = [each for each in ours if isinstance(each, RunEnd)]
    end = ours[-1] if isinstance(ours[-1], RunEnd) else None
    length_s = found[-1].at_s if found else 0.0
    return Recording(
        run=first.run,
        source=Source.EVENTS,
        began_at=began,
        length_s=max(length_s, end.ended_s) if end is not None and len(ends) == 1 else length_s,
        aims=_aims(ends, found),
        rewaved=tuple(_rewaved(parts, found)),
        moments=found,
        ended=_how(end) if end is not None else "",
        whole=end is not None and end.outcome == DONE,
        said=end.said if end is not None else (),
        planned=_planned(ends),
        dropped=(*events.dropped, *strange),
    )


def _unknown(told: Sequence[RunEvent | RunEnd]) -> Iterator[str]:
    return (each.what for each in told if isinstance(each, RunEvent) and each.what not in _WORDS)


Part = tuple[list[RunEvent], RunEnd | None]
"""What one process told of the run, one event at least; None where it did not come to its end."""


def _parts(told: Sequence[RunEvent | RunEnd]) -> Iterator[Part]:
    """One begins after the end of another, and where the seconds are counted anew."""
    events: list[RunEvent] = []
    for each in told:
        if isinstance(each, RunEnd):
            if events:
                yield events, each
            events = []
            continue
        if events and each.at_s < events[-1].at_s - _ABOUT_S:
            yield events, None
            events = []
        events.append(each)
    if events:
        yield events, None


def _moments(parts: Sequence[Part], began: datetime) -> Iterator[Moment]:
    for at, (events, _) in enumerate(parts):
        offset_s = (events[0].at - began).total_seconds() - events[0].at_s if at else 0.0
        if at:
            yield Moment(offset_s, Happened.ADOPTED, THE_DRAIN, "", GONE_ON_WITH)
        for each in events:
            what = _WORDS.get(each.what)
            if what is not None:
                yield Moment(offset_s + each.at_s, what, each.subject, each.node, each.why)


def _rewaved(parts: Sequence[Part], moments: Sequence[Moment]) -> Iterator[Rewaved]:
    """By the end of each part but the first, from its begin on."""
    begins = [at for at, moment in enumerate(moments, 1) if moment.why == GONE_ON_WITH]
    for after, (_, end) in zip(begins, parts[1:], strict=True):
        for node, wave in end.nodes if end is not None else ():
            yield Rewaved(after, node, wave)


def _aims(ends: Sequence[RunEnd], moments: Sequence[Moment]) -> tuple[Aimed, ...]:
    """As the end of each part lists them, then as they appear."""
    waves: dict[str, int] = {}
    for end in ends:
        for node, wave in end.nodes:
            waves.setdefault(node, wave)
    for moment in moments:
        node = moment.node or (moment.subject if moment.what in _OF_NODES else "")
        if node:
            waves.setdefault(node, 0)
    return tuple(Aimed(node, wave) for node, wave in waves.items())


def _planned(ends: Sequence[RunEnd]) -> Planned | None:
    """What a part was planned to do that was gone on with is not what the whole run was."""
    if len(ends) != 1 or ends[0].resumed or ends[0].evictions is None:
        return None
    return Planned(ends[0].evictions, ends[0].p50_s, ends[0].p95_s)


def _how(end: RunEnd) -> str:
    return end.stopped or (f"not emptied: {', '.join(end.left)}" if end.left else end.outcome)
