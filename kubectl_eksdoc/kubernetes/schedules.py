"""Schedules of CronJobs, validated like the API server does, and the problem of an invalid schedule.

Source: github.com/robfig/cron/v3 parser.go (ParseStandard), as pkg/apis/batch/validation (validateScheduleFormat,
validateTimeZone) uses it, Kubernetes v1.36. Time zones are checked only for their form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone

from kubectl_eksdoc.model.quantities import go_duration

_DESCRIPTORS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_EVERY = "@every "
_ZONE = re.compile(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*\Z")


class InvalidSchedule(ValueError):
    """The text is not a schedule; the message quotes it and says what is wrong."""


def _name_numbers(names: str, first: int) -> dict[str, int]:
    return {name: i for i, name in enumerate(names.split(), first)}


_FIELDS: tuple[tuple[str, int, int, Mapping[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of the month", 1, 31, {}),
    ("month", 1, 12, _name_numbers("jan feb mar apr may jun jul aug sep oct nov dec", 1)),
    ("day of the week", 0, 6, _name_numbers("sun mon tue wed thu fri sat", 0)),
)
"""Each field with its lowest and highest number, and names that stand for numbers, in upper or lower case."""


def check_schedule(text: str) -> None:
    """Validate a schedule.

    Raises:
        InvalidSchedule: it is not valid.
    """
    try:
        if "TZ" in text:
            raise ValueError("a time zone has a field of its own, timeZone, and does not stand in the schedule")
        if text.startswith(_EVERY):
            if go_duration(text.removeprefix(_EVERY)) is None:
                raise ValueError(f"{text.removeprefix(_EVERY)!r} is no time: write it as 1h30m, 45m or 90s")
        elif text.startswith("@"):
            if text not in _DESCRIPTORS:
                raise ValueError(f"known are {', '.join(_DESCRIPTORS)} and @every with a time as 1h30m")
        else:
            _check_fields(text.split())
    except ValueError as error:
        raise InvalidSchedule(f"{text!r} is no schedule: {error}") from error


def check_time_zone(name: str) -> None:
    """Check the form of a time zone; only the server knows which zones exist.

    Raises:
        InvalidSchedule: it does not have the form of one.
    """
    if name.lower() == "local" or not _ZONE.match(name):
        raise InvalidSchedule(f"{name!r} is no time zone: write one of the IANA list, as Europe/Berlin, or Etc/UTC")


def _check_fields(fields: list[str]) -> None:
    if len(fields) != len(_FIELDS):
        names = ", ".join(name for name, *_ in _FIELDS)
        raise ValueError(
            f"it has {len(fields)} field{'' if len(fields) == 1 else 's'} and needs {len(_FIELDS)}: {names}"
        )
    for text, (name, low, high, names_of) in zip(fields, _FIELDS, strict=True):
        for part in filter(None, text.split(",")):
            if problem := _field_problem(part, low, high, names_of):
                raise ValueError(f"{part!r} of the {name}: {problem}")


def _field_problem(part: str, low: int, high: int, names: Mapping[str, int]) -> str:
    """The problem of one part of a field, "" if it is valid."""
    span, *steps = part.split("/")
    ends = span.split("-")
    if len(steps) > 1 or len(ends) > 2:
        return "it has more than one slash" if len(steps) > 1 else "it has more than one hyphen"
    is_wildcard = ends[0] in ("*", "?")
    for each in steps if is_wildcard else (*ends, *steps):
        if (each in steps or each.lower() not in names) and not re.match(r"\+?[0-9]{1,9}\Z", each):
            known = f" or one of {', '.join(names)}" if names else ""
            return f"{each!r} is no number{known}"
    if steps and not int(steps[0]):
        return "steps of 0 lead nowhere"
    if is_wildcard:
        return ""
    first, last = (names[each.lower()] if each.lower() in names else int(each) for each in (ends[0], ends[-1]))
    if first < low or last > high:
        return f"it goes from {low} to {high}"
    return f"{first} is after {last}" if first > last else ""


# Times as the API server accepts them: RFC 3339, with a fraction in Leases and some other objects.


_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6})\d*)?(?:Z|([+-])(\d\d):(\d\d))?\Z", re.ASCII)


def parse_time(text: object) -> datetime | None:
    """The time in UTC; None if it is not a time, or if the conversion leaves the range of the calendar."""
    match = _RFC3339.match(text) if isinstance(text, str) else None
    if match is None:
        return None
    second, fraction, offset_sign, hours, minutes = match.groups()
    try:
        local = datetime.fromisoformat(f"{second}+00:00")
        zone = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
        utc = local + zone if offset_sign == "-" else local - zone
    except (ValueError, OverflowError):
        return None
    return utc.replace(microsecond=int((fraction or "0").ljust(6, "0")), tzinfo=timezone.utc)
