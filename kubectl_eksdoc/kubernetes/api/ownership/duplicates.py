"""Items of a configuration that have the same key: such a list cannot be applied (typed/validate.go)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kubectl_eksdoc.kubernetes.api.ownership.items import steps_of
from kubectl_eksdoc.kubernetes.api.ownership.steps import field_step, shown
from kubectl_eksdoc.kubernetes.api.places import SchemaPlace


@dataclass(frozen=True, slots=True)
class Duplicate:
    """`where` is the list, as ``.spec.containers``; `key` the item, as ``[name="app"]``."""

    where: str
    key: str


def duplicate_in(value: Any, place: SchemaPlace, where: str = "") -> Duplicate | None:
    """The first one found; atomic values may hold anything."""
    if isinstance(value, dict) and not place.atomic:
        for name, inner in value.items():
            found = duplicate_in(inner, place.under(name), where + shown(field_step(name)))
            if found is not None:
                return found
    if isinstance(value, list) and place.list_type != "atomic":
        for step, same in steps_of(value, place).items():
            if len(same) > 1:
                return Duplicate(where, shown(step))
            found = duplicate_in(same[0], place.of_items(), where + shown(step))
            if found is not None:
                return found
    return None
