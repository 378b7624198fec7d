"""Projections that several kinds share: selectors, conditions, amounts, the newest time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from kubectl_eksdoc.core.model.budgets import Amount
from kubectl_eksdoc.core.model.selectors import NOTHING, Requirement, Selector, from_parts
from kubectl_eksdoc.objects.caches import RawError
from kubectl_eksdoc.objects.structs import Condition, LabelSelector

_AMOUNT = re.compile(r"(-?\d{1,18})(%?)\Z")


def selector(given: LabelSelector | None, absent: Selector = NOTHING) -> Selector:
    """The fact; `absent` is what no selector at all means to the owner of the field."""
    if given is None:
        return absent
    expressions = tuple(
        Requirement(e.key or "", e.operator or "", tuple(e.values or ())) for e in given.match_expressions or ()
    )
    return from_parts(given.match_labels or {}, expressions)


def amount(given: int | str | None, path: str) -> Amount | None:
    """An IntOrString of a budget.

    Raises:
        RawError: it is text and neither a whole number nor a percentage.
    """
    if given is None or isinstance(given, int):
        return None if given is None else Amount(given)
    match = _AMOUNT.match(given)
    if not match:
        raise RawError(f"Expected a whole number or a percentage, got {given!r} - at `{path}`")
    return Amount(int(match.group(1)), percent=bool(match.group(2)))


def condition(given: Iterable[Condition] | None, kind: str) -> Condition | None:
    """The last condition of type `kind`."""
    found = None
    for each in given or ():
        if each.type == kind:
            found = each
    return found


def holds(given: Iterable[Condition] | None, *kinds: str) -> bool:
    return any(c.type in kinds and c.status == "True" for c in given or ())


def newest(*moments: datetime | None) -> datetime | None:
    return max((m for m in moments if m is not None), default=None)


def newest_of(given: Iterable[Condition] | None, *others: datetime | None) -> datetime | None:
    """The newest time among the conditions and `others`."""
    found = newest(*others)
    for each in given or ():
        found = newest(found, each.last_transition_time, each.last_heartbeat_time)
    return found


def moment(text: object) -> datetime | None:
    """RFC 3339 with a zone, as the API server writes it; None for anything else."""
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
