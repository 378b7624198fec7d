"""Steps of a field path in the notation of FieldsV1: ``f:<name>``, ``k:{"name":"x"}``, ``v:<value>``, ``i:<index>``.

A step is stored as this text, in the form the server prints (keys sorted, no spaces, ``<``, ``>`` and ``&`` escaped
like Go's encoding/json does), so equal steps are equal strings. Source: structured-merge-diff,
fieldpath/serialize-pe.go, fieldpath/element.go, value.ToString.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

from kubectl_eksdoc.model.api_objects import Doc

from .api.types import SchemaPlace

Step = str
Scalar = Any
"""A string, number, boolean or None, as JSON has them."""


class MalformedStep(ValueError):
    """Text that is not a step of a path."""


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_UNSAFE = re.compile('[\x00-\x1f"\\\\<>&\u2028\u2029]')
_STEP_KINDS = "fkvi"


def field_step(name: str) -> Step:
    return "f:" + name


def value_step(value: Scalar) -> Step:
    """The step of an item in a set."""
    return "v:" + go_json(value)


def key_step(item: Doc, place: SchemaPlace) -> Step:
    """The step of `item` in the list at `place`: keys that it omits have their defaults, or are left out."""
    if len(place.keys) == 1 and isinstance(name := item.get(place.keys[0]), str):
        return _key_step(place.keys[0], name)
    keys = {key: item[key] if key in item else place.defaults[key] for key in _present_keys(item, place)}
    return "k:{" + ",".join(f"{go_json(key)}:{go_json(keys[key])}" for key in sorted(keys)) + "}"


@lru_cache(maxsize=4096)
def _key_step(key: str, name: str) -> Step:
    return f"k:{{{go_json(key)}:{go_json(name)}}}"


def _present_keys(item: Doc, place: SchemaPlace) -> list[str]:
    return [key for key in place.keys if key in item or key in place.defaults]


def canonical_step(step: str) -> Step:
    """`step` as the server prints it. Raises MalformedStep."""
    kind = step[:2]
    if kind == "f:":
        return step
    if kind in ("k:", "v:"):
        return _canonical(step)
    if kind == "i:" and step[2:].lstrip("-").isdigit():
        return step
    raise MalformedStep(f"not a step of a field's path: {step}")


@lru_cache(maxsize=4096)
def _canonical(step: str) -> Step:
    if step.startswith("v:"):
        return value_step(value_of(step))
    keys = keys_of(step)
    return "k:{" + ",".join(f"{go_json(key)}:{go_json(value)}" for key, value in sorted(keys.items())) + "}"


def keys_of(step: Step) -> dict[str, Scalar]:
    """The keys that a ``k:`` step names. Raises MalformedStep."""
    keys = _decode_step(step)
    if not isinstance(keys, dict) or any(isinstance(value, (dict, list)) for value in keys.values()):
        raise MalformedStep(f"not a list of keys: {step}")
    return keys


def value_of(step: Step) -> Scalar:
    """The value that a ``v:`` step names. Raises MalformedStep."""
    value = _decode_step(step)
    if isinstance(value, (dict, list)):
        raise MalformedStep(f"not a value: {step}")
    return value


@lru_cache(maxsize=4096)
def _decode_step(step: Step) -> Any:
    try:
        return json.loads(step[2:], strict=False)
    except (ValueError, RecursionError) as error:
        raise MalformedStep(f"not JSON: {step}") from error


@lru_cache(maxsize=4096)
def step_sort_key(step: Step) -> tuple[Any, ...]:
    """Sort key for the server's order: fields, then keys, then values, then positions (PathElement.Compare)."""
    rank = _STEP_KINDS.find(step[:1])
    if rank == 1:
        return (rank, *((key, *_scalar_sort_key(value)) for key, value in sorted(keys_of(step).items())))
    if rank == 2:
        return (rank, _scalar_sort_key(value_of(step)))
    return (rank, int(step[2:])) if rank == 3 else (rank, step[2:])


def format_step(step: Step) -> str:
    """The form in messages: ``.name``, ``[name="x"]``, ``[="value"]``, ``[0]``."""
    if step.startswith("f:"):
        return "." + step[2:]
    if step.startswith("k:"):
        return "[" + ",".join(f"{key}={go_quoted(value)}" for key, value in sorted(keys_of(step).items())) + "]"
    return f"[={go_quoted(value_of(step))}]" if step.startswith("v:") else f"[{step[2:]}]"


def go_quoted(value: Scalar) -> str:
    """A string like Go's ``%q`` prints it, anything else as JSON."""
    if not isinstance(value, str):
        return go_json(value)
    return '"' + "".join(_ESCAPES.get(c) or (c if c.isprintable() else f"\\u{ord(c):04x}") for c in value) + '"'


def go_json(value: Scalar) -> str:
    """`value` like Go's encoding/json prints it."""
    if isinstance(value, str):
        return '"' + _UNSAFE.sub(_escape, value) + '"'
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    return _ESCAPES.get(char) or f"\\u{ord(char):04x}"


def _scalar_sort_key(value: Scalar) -> tuple[int, Any]:
    if isinstance(value, bool):
        return 2, value
    if isinstance(value, str):
        return 1, value
    return (3, 0) if value is None else (0, value)
