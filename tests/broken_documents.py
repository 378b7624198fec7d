"""Broken copies of a document, with one fault in each: a schema is tested by which of them it accepts."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import jsonschema

_DROPPED = object()


def accepted(judge: jsonschema.Draft202012Validator, document: dict[str, Any], free: tuple[str, ...] = ()) -> set[str]:
    """The paths in `document` at which the schema accepts a missing value, another type, or an additional value.
    Nothing is broken below the paths `free`."""
    judge.validate(document)
    small = _without_repetition(document, (), set())
    small = small if judge.is_valid(small) else document  # a list may have to have several items
    return {fault for fault, broken in _broken(small, free) if judge.is_valid(broken)}


def _without_repetition(value: Any, at: tuple[str, ...], seen: set[tuple[str, ...]]) -> Any:
    """Of each list, keep the items that are the first with some path: a broken document is judged once for each
    path."""
    seen.add(at)
    if isinstance(value, dict):
        return {key: _without_repetition(each, (*at, key), seen) for key, each in value.items()}
    if not isinstance(value, list):
        return value
    kept = []
    for each in value:
        before = len(seen)
        small = _without_repetition(each, (*at, "*"), seen)
        kept += [small] if len(seen) > before else []
    return kept


def _broken(document: dict[str, Any], free: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """One broken document for each path, with `*` for every item of a list."""
    done = set()
    for at, value in _paths(document):
        path = ".".join("*" if isinstance(key, int) else key for key in at)
        if path in done or path.startswith(tuple(f"{each}." for each in free)):
            continue
        done.add(path)
        if isinstance(value, dict) and path not in free:
            yield f"more in {path}", _changed(document, (*at, "unexpectedField"), 1)
        if at and isinstance(at[-1], str):
            yield f"no {path}", _changed(document, at, _DROPPED)
        if at and path not in free and value is not None:
            yield f"other {path}", _changed(document, at, "" if isinstance(value, (list, dict)) else [])


def _paths(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    yield at, value
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _paths(each, (*at, key))


def _changed(document: dict[str, Any], at: tuple[str | int, ...], value: Any) -> Any:
    """A copy with `value` at the path, or without that path."""
    made: Any = copy.deepcopy(document)
    *above, last = at
    within = made
    for key in above:
        within = within[key]
    if value is _DROPPED:
        del within[last]
    else:
        within[last] = value
    return made
