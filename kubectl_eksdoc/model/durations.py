"""Durations as Go writes them (``1h30m``, ``1.5h``, ``90s``), and as sentences say them (``22 min``)."""

from __future__ import annotations

import re
from datetime import timedelta

_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})(ns|us|µs|μs|ms|s|m|h)")
_MOST_SECONDS = 2**63 / 1e9  # Go's longest, about 292 years


def go_duration(text: str) -> timedelta | None:
    """What Go's ``time.ParseDuration`` reads; None where it reports an error."""
    unsigned = text[1:] if text[:1] in ("-", "+") else text
    if unsigned == "0":
        return timedelta(0)
    seconds, at = 0.0, 0
    while at < len(unsigned):
        part = _PART.match(unsigned, at)
        if part is None:
            return None
        seconds += float(part[1]) * _SECONDS[part[2]]
        at = part.end()
    if not unsigned or seconds >= _MOST_SECONDS:
        return None
    return timedelta(seconds=-seconds if text[0] == "-" else seconds)


def in_words(seconds: float) -> str:
    """``22 min``, below two minutes ``95 s``; rounded down, so that "at least" before it is true."""
    return f"{int(seconds // 60)} min" if seconds >= 120 else f"{int(seconds)} s"
