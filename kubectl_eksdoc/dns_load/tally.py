"""What came of the questions of each second, and which of it can be believed.

A machine that was too busy to send on time, or to look for answers, must not call that the other one's fault. So stalls
are kept, and what came of a question is believed by the time in which this program was awake.

What is printed: a JSON object a line, first what is asked, then each second of each stream, last the sum.

``{"t": 3, "to": "service-v4", "by": "udp", "sent": 10, "answered": 9, "late": 0, "lost": 1, "refused": 0, "failed": 0,
"unsure": 0, "unsent": 0, "ms": [0.4, 0.9, 1.2], "why": []}``: `t` in seconds since the beginning, of which the first
line tells the wall clock; `ms` the median, the 99th percentile and the longest of what was answered, null without any.
`sent` is the sum of all that follows but `unsent`.
"""

from __future__ import annotations

import bisect
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

from kubectl_eksdoc.dns_load.exchanges import QueryResult
from kubectl_eksdoc.dns_load.plan import LoadSettings, QueryStream

STALL_S = 0.2
"""Sent so much after it was due, a question is one of another second; awake so much too late, answers were not seen."""

_ROUNDING_S = 1e-6


@dataclass(frozen=True, slots=True)
class FinishedQuery:
    """One question: when it was due, sent and over, in the loop's seconds; `sent` None: it was not, by our fault."""

    due: float
    sent: float | None
    over: float
    end: QueryResult | None
    why: str = ""


@dataclass
class Stalls:
    """When this program was not awake, in its order. Mutable."""

    spans: list[tuple[float, float]] = field(default_factory=list)

    def add(self, begin: float, end: float) -> None:
        if end - begin >= STALL_S:
            self.spans.append((begin, end))

    def within(self, begin: float, end: float) -> float:
        """Seconds of that time."""
        first = bisect.bisect_left(self.spans, begin, key=lambda span: span[1])
        found = 0.0
        for from_s, until_s in self.spans[first:]:
            if from_s >= end:
                break
            found += max(0.0, min(end, until_s) - max(begin, from_s))
        return found


@dataclass
class TalliedSecond:
    """Of one stream. `unsure`: sent, but what became of it is our own fault as likely as not; `unsent`: due, but this
    machine was too busy. Mutable."""

    sent: int = 0
    ends: dict[QueryResult, int] = field(default_factory=lambda: defaultdict(int))
    unsure: int = 0
    unsent: int = 0
    reasons: set[str] = field(default_factory=set)
    latencies: list[float] = field(default_factory=list)

    def add(self, other: TalliedSecond) -> None:
        self.sent += other.sent
        self.unsure += other.unsure
        self.unsent += other.unsent
        self.reasons |= other.reasons
        self.latencies += other.latencies
        for end, count in other.ends.items():
            self.ends[end] += count


class Tally:
    """Mutable: it hears of every question when it is over, and tells of each second once."""

    def __init__(self, asked: LoadSettings, began: float) -> None:
        self._asked = asked
        self._began = began
        self.stalls = Stalls()
        self._ended: dict[int, dict[QueryStream, list[FinishedQuery]]] = defaultdict(lambda: defaultdict(list))
        self._sums = {stream: TalliedSecond() for stream in asked.streams}

    def second_of(self, due: float) -> int:
        return int(due - self._began + _ROUNDING_S)

    def hear(self, stream: QueryStream, ended: FinishedQuery) -> None:
        self._ended[self.second_of(ended.due)][stream].append(ended)

    def take(self, number: int) -> dict[QueryStream, TalliedSecond]:
        """Of one second, in which nothing is open any more; it is forgotten but for the sum."""
        heard = self._ended.pop(number, {})
        found = {stream: self._counted(heard[stream]) for stream in self._asked.streams if stream in heard}
        for stream, second in found.items():
            self._sums[stream].add(second)
        return found

    @property
    def numbers(self) -> list[int]:
        """Seconds that were not taken yet."""
        return sorted(self._ended)

    @property
    def sums(self) -> dict[QueryStream, TalliedSecond]:
        return self._sums

    def _counted(self, every: Iterable[FinishedQuery]) -> TalliedSecond:
        second = TalliedSecond()
        for one in every:
            if one.sent is None:
                second.unsent += 1
                continue
            second.sent += 1
            end = self._believed(one, one.sent)
            if end is None:
                second.unsure += 1
                continue
            second.ends[end] += 1
            if one.why:
                second.reasons.add(one.why)
            if end in (QueryResult.ANSWERED, QueryResult.LATE):
                second.latencies.append(one.over - one.sent)
        return second

    def _believed(self, one: FinishedQuery, sent: float) -> QueryResult | None:
        """None: it cannot be told. Who refuses or answers badly does so whoever is busy."""
        if one.end in (None, QueryResult.REFUSED, QueryResult.FAILED):
            return one.end
        awake_s = one.over - sent - self.stalls.within(sent, one.over)
        if one.end is QueryResult.LOST:
            return QueryResult.LOST if awake_s >= self._asked.timeout / 2 else None
        if one.over - sent <= self._asked.late:
            return QueryResult.ANSWERED
        return QueryResult.LATE if awake_s > self._asked.late else None


NAME, VERSION = "eksdoc-dns-asker", 1
_QUANTILES = (0.5, 0.99, 1.0)


class LinePrinter:
    """Mutable: it writes to a stream, a whole line at a time."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def begun(self, asked: LoadSettings, wall_s: float) -> None:
        """`wall_s`: seconds since 1970, UTC."""
        self._line({"asker": NAME, "version": VERSION, "began": round(wall_s, 3), "seconds": asked.seconds})

    def second(self, number: int, of: dict[QueryStream, TalliedSecond]) -> None:
        for stream, second in of.items():
            self._line({"t": number, **_named(stream), **counts(second)})

    def over(self, told: bool, sums: dict[QueryStream, TalliedSecond]) -> None:
        """`told` to end, not by its deadline."""
        ending = "told" if told else "deadline"
        self._line({"end": ending, "sum": [{**_named(stream), **counts(sums[stream])} for stream in sums]})

    def refused(self, why: str) -> None:
        self._line({"error": why})

    def _line(self, found: dict[str, Any]) -> None:
        self._out.write(json.dumps(found, separators=(",", ":")) + "\n")
        self._out.flush()


def _named(stream: QueryStream) -> dict[str, Any]:
    return {"to": stream.target, "by": stream.transport}


def counts(second: TalliedSecond) -> dict[str, Any]:
    return {
        "sent": second.sent,
        **{end.value: second.ends.get(end, 0) for end in QueryResult},
        "unsure": second.unsure,
        "unsent": second.unsent,
        "ms": quantiles(second.latencies),
        "why": sorted(second.reasons),
    }


def quantiles(latencies: Sequence[float]) -> list[float] | None:
    """In milliseconds: the least of them that so large a share does not exceed (nearest rank)."""
    if not latencies:
        return None
    ordered = sorted(latencies)
    ranks = (max(1, math.ceil(share * len(ordered))) for share in _QUANTILES)
    return [round(ordered[rank - 1] * 1000, 2) for rank in ranks]
