"""Whether a rule of EventBridge matches every event of a kind. Source: EventBridge's user guide, event patterns: each
field of a pattern must fit, by any of its values; a field that the pattern does not name may be anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.rules.iam_policies import Fits

_OF_KIND = ("source", "detail-type")


def matches(pattern: Doc, known: Mapping[str, str]) -> Fits:
    """`known`: what of the event's fields is the same in all of its kind (source, detail-type, account, region). MAYBE:
    it matches some of them, or what it says is not understood here."""
    parts = [_field(pattern[name], value) for name, value in known.items() if name in pattern]
    if Fits.NO in parts:
        return Fits.NO
    more = set(pattern) - set(known)
    return Fits.MAYBE if more or Fits.MAYBE in parts else Fits.YES


def about(pattern: Doc, known: Mapping[str, str]) -> bool:
    """It may match some of them, and it is meant for this kind or this source: not one for whatever comes."""
    return any(name in pattern for name in _OF_KIND) and matches(pattern, known) is not Fits.NO


def _field(said: Any, value: str) -> Fits:
    if not isinstance(said, list):
        return Fits.MAYBE
    found = {_one(each, value) for each in said}
    return Fits.YES if Fits.YES in found else Fits.MAYBE if Fits.MAYBE in found else Fits.NO


def _one(said: Any, value: str) -> Fits:
    if isinstance(said, dict):
        prefix = said.get("prefix")
        if set(said) == {"prefix"} and isinstance(prefix, str):
            return Fits.YES if value.startswith(prefix) else Fits.NO
        return Fits.MAYBE
    return Fits.YES if said == value else Fits.NO
