"""Moments, ages and durations as people read them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def rfc3339(moment: datetime) -> str:
    """``2026-11-20T08:51:00Z``: UTC, whole seconds. A moment without a zone is taken as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return aware.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def between(earlier: datetime, later: datetime) -> timedelta:
    """`later` - `earlier`; a moment without a zone is taken as UTC."""
    first, second = (m if m.tzinfo else m.replace(tzinfo=timezone.utc) for m in (earlier, later))
    return second - first


def age(span: timedelta) -> str:
    """One unit, the largest that is at least two of itself, as kubectl prints ages: ``90s``, ``12d``."""
    seconds = max(0, int(span.total_seconds()))
    for size, unit in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m")):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def duration(seconds: float) -> str:
    """Exact to the second: ``47s``, ``4m47s``, ``2h05m00s``."""
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, _HOUR)
    minutes, left = divmod(rest, _MINUTE)
    if hours:
        return f"{hours}h{minutes:02d}m{left:02d}s"
    return f"{minutes}m{left:02d}s" if minutes else f"{left}s"
