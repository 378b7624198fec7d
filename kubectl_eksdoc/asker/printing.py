"""What is printed: a JSON object a line, first what is asked, then each second of each stream, last the sum.

``{"t": 3, "to": "service-v4", "by": "udp", "sent": 10, "answered": 9, "late": 0, "lost": 1, "refused": 0, "failed": 0,
"unsure": 0, "unsent": 0, "ms": [0.4, 0.9, 1.2], "why": []}``: `t` in seconds since the beginning, of which the first
line tells the wall clock; `ms` the median, the 99th percentile and the longest of what was answered, null without any.
`sent` is the sum of all that follows but `unsent`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, TextIO

from kubectl_eksdoc.asker.asked import LoadSettings, QueryStream
from kubectl_eksdoc.asker.exchanges import QueryResult
from kubectl_eksdoc.asker.tally import TalliedSecond

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
