"""Five-field schedules of CronJobs: when they are due next.

Source: github.com/robfig/cron/v3 parser.go and spec.go, as pkg/controller/cronjob uses it, Kubernetes v1.36.
Time zones other than UTC are not known here.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

_NAMES = {
    "jan feb mar apr may jun jul aug sep oct nov dec": 1,
    "sun mon tue wed thu fri sat": 0,
}
_WORDS = {name: i + first for names, first in _NAMES.items() for i, name in enumerate(names.split())}
_SHORT = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_FARTHEST = timedelta(days=366 * 5)


class InvalidSchedule(ValueError):
    """The text is no schedule; the message quotes it."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The values at which each field matches; `any_day` of month or week where that field is a star."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool

    def after(self, moment: datetime) -> datetime | None:
        """The first time after `moment`; None if there is none within five years."""
        at = moment.replace(second=0, microsecond=0) + timedelta(minutes=1)
        while at - moment < _FARTHEST:
            if at.month not in self.months or not self._on(at):
                at = at.replace(hour=0, minute=0) + timedelta(days=1)
            elif at.hour not in self.hours:
                at = at.replace(minute=0) + timedelta(hours=1)
            elif at.minute not in self.minutes:
                at += timedelta(minutes=1)
            else:
                return at
        return None

    def _on(self, at: datetime) -> bool:
        """Both days must fit if one of them is a star, else either."""
        day, weekday = at.day in self.days, at.isoweekday() % 7 in self.weekdays
        return (day and weekday) if self.any_day or self.any_weekday else (day or weekday)


def parse(text: str) -> Schedule:
    """
    Raises:
        InvalidSchedule: it is none.
    """
    fields = _SHORT.get(text.strip(), text).split()
    if len(fields) != len(_BOUNDS):
        raise InvalidSchedule(f"{text!r} has not five fields")
    try:
        minutes, hours, days, months, weekdays = (
            _values(field, low, high) for field, (low, high) in zip(fields, _BOUNDS, strict=True)
        )
    except ValueError as error:
        raise InvalidSchedule(f"{text!r}: {error}") from error
    return Schedule(minutes, hours, days, months, weekdays, _starred(fields[2]), _starred(fields[4]))


def _starred(field: str) -> bool:
    return any(part[:1] in ("*", "?") for part in field.split(","))


def _values(field: str, low: int, high: int) -> frozenset[int]:
    return frozenset(value for part in field.split(",") for value in _range(part, low, high))


def _range(part: str, low: int, high: int) -> range:
    span, slash, step = part.partition("/")
    if span in ("*", "?"):
        first, last = low, high
    else:
        start, dash, end = span.partition("-")
        first = _number(start)
        last = _number(end) if dash else high if slash else first
    if not (low <= first <= last <= high) or (slash and int(step) < 1):
        raise ValueError(f"{part} is not within {low} to {high}")
    return range(first, last + 1, int(step) if slash else 1)


def _number(text: str) -> int:
    return _WORDS.get(text.lower()[:3], -1) if text.isalpha() else int(text)
