"""Times as the API writes them: ``2026-11-20T08:00:00Z``, of leases and the like with a fraction."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from functools import lru_cache

from kubectl_eksdoc.core.rules.api.rfc3339 import parsed

_FIRST, _LAST = (datetime(year, 1, 1, tzinfo=timezone.utc) for year in (1, 9999))


@lru_cache(maxsize=4096)
def moment(text: str) -> datetime:
    """
    Raises:
        ValueError: it is no time.
    """
    found = parsed(text)
    if found is None:
        raise ValueError(f"{text!r} is no time")
    return found


def later(since: datetime, seconds: float) -> datetime:
    """So many seconds after `since`, or before it; beyond what a calendar has, in its first or its last year.

    The API takes any int64 for a number of seconds.
    """
    try:
        return since + timedelta(seconds=seconds)
    except OverflowError:
        return _LAST if seconds > 0 else _FIRST


def rfc3339(moment: datetime) -> str:
    """``2026-11-20T08:00:00Z``: whole seconds, as metadata has times."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
