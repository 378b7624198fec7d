"""Times as the API server takes them: RFC 3339, of leases and the like with a fraction."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

_FORM = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6})\d*)?(?:Z|([+-])(\d\d):(\d\d))?\Z", re.ASCII)


def parsed(text: object) -> datetime | None:
    """In UTC; None for what is no time, or one of the calendar's first or last days, which zones lead out of."""
    found = _FORM.match(text) if isinstance(text, str) else None
    if found is None:
        return None
    second, fraction, sign, hours, minutes = found.groups()
    try:
        local = datetime.fromisoformat(f"{second}+00:00")
        zone = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
        utc = local + zone if sign == "-" else local - zone
    except (ValueError, OverflowError):
        return None
    return utc.replace(microsecond=int((fraction or "0").ljust(6, "0")), tzinfo=timezone.utc)
