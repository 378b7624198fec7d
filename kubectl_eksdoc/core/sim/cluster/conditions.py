"""Conditions in the status of any object: one of each type, and since when it is as it is."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.core.model.api_objects import Doc, at


def condition(doc: Doc, kind: str) -> Doc | None:
    """The condition of that type."""
    return _find(at(doc, "status", "conditions") or (), kind)


def put(conditions: Iterable[Doc], new: Doc) -> list[Doc]:
    """`conditions` with `new` in the place of the one of its type, or at the end."""
    held = list(conditions)
    for i, each in enumerate(held):
        if each.get("type") == new["type"]:
            held[i] = new
            return held
    return [*held, new]


def with_condition(conditions: Iterable[Doc], new: Doc, now: str) -> list[Doc]:
    """As `put`, what `new` does not say staying as it was. `lastTransitionTime` is `now` only if the condition's status
    is another one (meta.SetStatusCondition)."""
    conditions = list(conditions)
    held = _find(conditions, str(new["type"])) or {}
    since = held.get("lastTransitionTime", now) if held.get("status") == new["status"] else now
    return put(conditions, {**held, **new, "lastTransitionTime": since})


def _find(conditions: Iterable[Doc], kind: str) -> Doc | None:
    return next((each for each in conditions if each.get("type") == kind), None)
