"""The items of a list that is a set or a map, by the step that names each."""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.kubernetes.api.ownership.steps import Step, key_step, value_step
from kubectl_eksdoc.kubernetes.api.places import SchemaPlace


def step_of(item: Any, place: SchemaPlace) -> Step:
    """The step of one item of the list at `place`."""
    if place.list_type == "map":
        return key_step(item if isinstance(item, dict) else {}, place)
    return value_step(item)


def steps_of(items: list[Any], place: SchemaPlace) -> dict[Step, list[Any]]:
    """Each step once, in the order of the list, with the items that have it (more than one is a duplicate)."""
    found: dict[Step, list[Any]] = {}
    for item in items:
        found.setdefault(step_of(item, place), []).append(item)
    return found
