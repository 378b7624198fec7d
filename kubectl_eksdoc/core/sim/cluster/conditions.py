"""Conditions in a status: one of each type, and since when it is as it is."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.core.model.api_objects import Doc


def find(conditions: Sequence[Doc], of_type: str) -> Doc | None:
    return next((each for each in conditions if each.get("type") == of_type), None)


def with_condition(conditions: Sequence[Doc], new: Doc, now: str) -> list[Doc]:
    """`conditions` with `new` in the place of the one of its type, or last; nothing is changed where nothing differs.

    `lastTransitionTime` is `now` only if the condition's status is another one (meta.SetStatusCondition).
    """
    held = find(conditions, str(new["type"]))
    same = held is not None and held.get("status") == new["status"]
    since = held["lastTransitionTime"] if held is not None and same and "lastTransitionTime" in held else now
    made = {**(held or {}), **new, "lastTransitionTime": since}
    if held is None:
        return [*conditions, made]
    return [made if each is held else each for each in conditions]
