"""Configuration values put together: objects merge, everything else, lists too, is taken as a whole.

That is how Helm merges values, and so how a chart's defaults and what is configured become what is applied. Unlike
there, null is a value here, as EKS's schemas allow it for some keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.addons import ConfigPath
from kubectl_eksdoc.model.api_objects import Doc, same_json


@frozen
class MissingValue:
    """Nothing stands there, which is not null."""


MISSING = MissingValue()


@frozen
class Leaf:
    """A value that is no object, or an empty one; a list is one as a whole."""

    path: ConfigPath
    value: Any


def merged(below: Doc, above: Doc) -> Doc:
    """What `above` says holds, the rest of `below` stays."""
    made = dict(below)
    for key, value in above.items():
        old = made.get(key)
        made[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return made


def differences(before: Doc, after: Doc) -> tuple[ConfigPath, ...]:
    """The leaves that one of them has and the other has not, or not so."""
    old, new = ({leaf.path: leaf.value for leaf in leaves(each)} for each in (before, after))
    return tuple(sorted(path for path in old.keys() | new.keys() if not same_json(*_at(path, old, new))))


def _at(path: ConfigPath, old: dict[ConfigPath, Any], new: dict[ConfigPath, Any]) -> tuple[Any, Any]:
    return old.get(path, MISSING), new.get(path, MISSING)


def leaves(values: Doc) -> tuple[Leaf, ...]:
    """All that is said, sorted by path; () for ``{}``."""
    return tuple(sorted(_leaves((), values), key=lambda leaf: leaf.path))


def _leaves(path: ConfigPath, values: Doc) -> Iterator[Leaf]:
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from _leaves((*path, key), value)
        else:
            yield Leaf((*path, key), value)


def same_value(one: object, other: object) -> bool:
    """Of JSON: true is not 1, though Python holds them equal."""
    return type(one) is type(other) and bool(one == other)
