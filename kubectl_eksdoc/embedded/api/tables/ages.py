"""How long ago something was, as kubectl writes it: ``45s``, ``5m20s``, ``3h15m``, ``2d4h``, ``400d``, ``3y40d``."""

from __future__ import annotations

import re
from datetime import datetime, timezone

from kubectl_eksdoc.core.model.api_objects import Doc, at

UNKNOWN = "<unknown>"

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)\Z")


def age(document: Doc, now: datetime) -> str:
    """The age of an object."""
    return since(at(document, "metadata", "creationTimestamp"), now)


def since(time: str | None, now: datetime) -> str:
    """How long before `now` the RFC 3339 `time` was; ``<unknown>`` without one."""
    moment = parse(time)
    return UNKNOWN if moment is None else human((now - moment).total_seconds())


def parse(time: str | None) -> datetime | None:
    """The moment that `time` names (RFC 3339, with up to nine places); None where it names none."""
    match = _TIME.match(time or "")
    if match is None:
        return None
    day, fraction, zone = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day}.{(fraction or '0')[:6]:0<6}{'+00:00' if zone == 'Z' else zone}")
    except ValueError:
        return None
    return moment.astimezone(timezone.utc)


def human(seconds: float) -> str:
    """Two units at most, and the smaller one only where it matters (apimachinery, ``duration.HumanDuration``).

    Up to two seconds in the future count as now: clocks differ.
    """
    total = int(seconds)
    if total < -1:
        return "<invalid>"
    if total < 2 * 60:
        return f"{max(total, 0)}s"
    minutes, hours, days = total // 60, total // 3600, total // 86400
    if minutes < 10:
        return _two(minutes, "m", total % 60, "s")
    if minutes < 3 * 60:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 2 * 24:
        return f"{hours}h"
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 2 * 365:
        return f"{days}d"
    if days < 8 * 365:
        return _two(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _two(large: int, unit: str, small: int, small_unit: str) -> str:
    return f"{large}{unit}{small}{small_unit}" if small else f"{large}{unit}"
