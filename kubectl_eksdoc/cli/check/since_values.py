"""``--changed-since``: a moment, or a time before the observation."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from kubectl_eksdoc.cli import values

_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_DAYS = re.compile(r"([0-9]{1,3})d\Z")
_LONGEST = timedelta(days=366)


@dataclass(frozen=True, slots=True)
class Since:
    """One of `at` and `before` is None. `text`: as it was given."""

    text: str
    at: datetime | None = None
    before: timedelta | None = None


def since(text: str) -> Since:
    """``2h``, ``90m``, ``3d``, or RFC 3339 with its zone."""
    if _MOMENT.fullmatch(text):
        try:
            return Since(text, at=datetime.fromisoformat(_plain(text)).astimezone(timezone.utc))
        except (ValueError, OverflowError) as error:
            raise argparse.ArgumentTypeError(f"{text!r} is no moment: {error}") from error
    days = _DAYS.match(text)
    try:
        length = timedelta(days=int(days.group(1))) if days else timedelta(seconds=values.seconds(text))
    except (argparse.ArgumentTypeError, OverflowError):
        length = timedelta(0)
    if not timedelta(0) < length <= _LONGEST:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write 2h, 90m, 3d, or 2026-11-20T08:00:00Z")
    return Since(text, before=length)


def _plain(text: str) -> str:
    """As Python 3.10 reads it: no Z, and at most six digits of a second."""
    whole = text.upper().replace("Z", "+00:00")
    return re.sub(r"\.([0-9]+)", lambda match: f".{match.group(1)[:6]:0<6}", whole)


def moment(given: Since | None, observed: datetime) -> datetime | None:
    """None where nothing was given."""
    if given is None:
        return None
    return given.at if given.before is None else observed - given.before
