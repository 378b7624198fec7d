"""Schedules of CronJobs: what the API server takes for one, what is wrong with any other, and when one is due next.

Source: github.com/robfig/cron/v3 parser.go (ParseStandard), spec.go and constantdelay.go, as pkg/controller/cronjob and
pkg/apis/batch/validation (validateScheduleFormat, validateTimeZone) use them, Kubernetes v1.36. Moments are those of
UTC here; other time zones are only looked at for their form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta

from kubectl_eksdoc.frozen import frozen

_SHORT = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY = "@every "
_STARS = ("*", "?")
_FARTHEST = timedelta(days=366 * 5)

_PARTS = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_UNIT_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_LONGEST_S = 9_223_372_036.0
"""Go counts nanoseconds in 63 bits."""

_ZONE = re.compile(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*\Z")


class InvalidSchedule(ValueError):
    """The text is no schedule; the message quotes it, and says what is wrong where."""


@frozen
class _Field:
    """`names` stand for numbers there, in any case of letters."""

    name: str
    low: int
    high: int
    names: Mapping[str, int]


def _numbered(names: str, first: int) -> dict[str, int]:
    return {name: i for i, name in enumerate(names.split(), first)}


_FIELDS = (
    _Field("minute", 0, 59, {}),
    _Field("hour", 0, 23, {}),
    _Field("day of the month", 1, 31, {}),
    _Field("month", 1, 12, _numbered("jan feb mar apr may jun jul aug sep oct nov dec", 1)),
    _Field("day of the week", 0, 6, _numbered("sun mon tue wed thu fri sat", 0)),
)


@frozen
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


@frozen
class EverySeconds:
    """Again and again after so many whole seconds."""

    seconds: int

    def after(self, moment: datetime) -> datetime | None:
        """As `Schedule.after`."""
        try:
            return moment.replace(microsecond=0) + timedelta(seconds=self.seconds)
        except OverflowError:
            return None


def parse(text: str) -> Schedule | EverySeconds:
    """
    Raises:
        InvalidSchedule: it is none.
    """
    try:
        if "TZ" in text:
            raise ValueError("a time zone has a field of its own, timeZone, and does not stand in the schedule")
        if text.startswith(_EVERY):
            return EverySeconds(_whole_seconds(text.removeprefix(_EVERY)))
        if text.startswith("@"):
            if text not in _SHORT:
                raise ValueError(f"known are {', '.join(_SHORT)} and @every with a time as 1h30m")
            text = _SHORT[text]
        return _of_fields(text.split())
    except ValueError as error:
        raise InvalidSchedule(f"{text!r} is no schedule: {error}") from error


def check_time_zone(name: str) -> None:
    """Whether it has the form of one: which there are is known by the server's own list.

    Raises:
        InvalidSchedule: it has not.
    """
    if name.lower() == "local" or not _ZONE.match(name):
        raise InvalidSchedule(f"{name!r} is no time zone: write one of the IANA list, as Europe/Berlin, or Etc/UTC")


def _of_fields(fields: list[str]) -> Schedule:
    if len(fields) != len(_FIELDS):
        names = ", ".join(field.name for field in _FIELDS)
        raise ValueError(
            f"it has {len(fields)} field{'' if len(fields) == 1 else 's'} and needs {len(_FIELDS)}: {names}"
        )
    values, starred = [], []
    for text, field in zip(fields, _FIELDS, strict=True):
        found: set[int] = set()
        star = False
        for part in filter(None, text.split(",")):
            those, whole = _range(part, field)
            found.update(those)
            star = star or whole
        values.append(frozenset(found))
        starred.append(star)
    minutes, hours, days, months, weekdays = values
    return Schedule(minutes, hours, days, months, weekdays, starred[2], starred[4])


def _range(part: str, field: _Field) -> tuple[range, bool]:
    """The values, and whether it is a star, which one with steps is not."""

    def wrong(what: str) -> ValueError:
        return ValueError(f"{part!r} of the {field.name}: {what}")

    def number(text: str, names: Mapping[str, int]) -> int:
        found = names.get(text.lower())
        if found is not None:
            return found
        if not re.match(r"\+?[0-9]{1,9}\Z", text):
            known = f" or one of {', '.join(names)}" if names else ""
            raise wrong(f"{text!r} is no number{known}")
        return int(text)

    span, *steps = part.split("/")
    ends = span.split("-")
    star = ends[0] in _STARS
    if len(steps) > 1 or (len(ends) > 2 and not star):
        raise wrong("it has more than one slash" if len(steps) > 1 else "it has more than one hyphen")
    first, last = (field.low, field.high) if star else (number(ends[0], field.names), number(ends[-1], field.names))
    step = number(steps[0], {}) if steps else 1
    if steps and len(ends) == 1:
        last = field.high
    if first < field.low or last > field.high:
        raise wrong(f"it goes from {field.low} to {field.high}")
    if first > last:
        raise wrong(f"{first} is after {last}")
    if step == 0:
        raise wrong("steps of 0 lead nowhere")
    return range(first, last + 1, step), star and step == 1


def _whole_seconds(text: str) -> int:
    """Of a duration as Go writes it: at least one."""
    plain = text[1:] if text[:1] in ("+", "-") else text
    parts = _PARTS.findall(plain)
    if plain != "0" and (not parts or "".join(number + unit for number, unit in parts) != plain):
        raise ValueError(f"{text!r} is no time: write it as 1h30m, 45m or 90s")
    seconds = sum(float(number) * _UNIT_S[unit] for number, unit in parts)
    if seconds > _LONGEST_S:
        raise ValueError(f"{text!r} is longer than the server can count")
    return 1 if text.startswith("-") else max(1, int(seconds))
