"""A second a sign: whether DNS answered, and below it what happened to CoreDNS's pods."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from kubectl_eksdoc.core.model.dns_measure import Counts, Report, Second, Stream
from kubectl_eksdoc.core.plan.dns.measuring.moments import Moment, What
from kubectl_eksdoc.core.plan.dns.measuring.result import offset_s

ANSWERED, LATE, LOST, UNKNOWN, NOTHING = "▁", "▄", "█", "?", " "
LEGEND = f"{ANSWERED} answered  {LATE} late  {LOST} lost  {UNKNOWN} not known"
MARKS: Mapping[What, str] = {What.TOLD: "T", What.OUT: "L", What.GONE: "G", What.CAME: "J"}
MARK_LEGEND = "T told to end  L left the endpoints  G gone  J joined the endpoints; of several the first"


def signs(report: Report, streams: Sequence[Stream], step: int) -> str:
    """A sign for each `step` seconds: the worst of them."""
    every = [report.seconds.get(stream, {}) for stream in streams]
    cells: list[list[Second]] = [[] for _ in range(math.ceil(report.length / step))]
    for of in every:
        for t, second in of.items():
            cells[t // step].append(second)
    return "".join(map(_sign, cells))


def _sign(seconds: Sequence[Second]) -> str:
    total = sum((each.counts for each in seconds), Counts())
    if total.bad:
        return LOST
    if total.unknown:
        return UNKNOWN
    if total.late:
        return LATE
    return ANSWERED if total.sent else NOTHING


def marks(report: Report, moments: Sequence[Moment], step: int) -> str:
    """What happened in the seconds of the report, each under its own."""
    width = math.ceil(report.length / step)
    cells: dict[int, set[What]] = {}
    for each in moments:
        cell = math.floor(offset_s(each, report) / step)
        if 0 <= cell < width:
            cells.setdefault(cell, set()).add(each.what)
    return "".join(_mark(cells.get(cell, set())) for cell in range(width)).rstrip()


def _mark(what: set[What]) -> str:
    """The first by their order: what follows of itself is told below."""
    return next((MARKS[each] for each in What if each in what), " ")


def step_for(length: int, room: int) -> int:
    """So many seconds share a sign where one each would not fit."""
    return max(1, math.ceil(length / max(room, 1)))
