"""JSON values as Go has them: what type they are of, when they are the same, and how messages print them.

A server tells 1, 1.0 and true apart, which Python's ``==`` does not.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from kubectl_eksdoc.kubernetes.api.patches import refusals

MAP = "map[string]interface {}"
LIST = "[]interface {}"
NIL = "<nil>"

Identity = tuple[str, Hashable]

_JSON_WORDS = {MAP: "object", LIST: "array", "string": "string", "bool": "bool", NIL: "null"}


def type_of(value: Any) -> str:
    """The Go type that `value` is decoded to."""
    if value is None:
        return NIL
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int64" if -(2**63) <= value < 2**63 else "float64"
    if isinstance(value, float):
        return "float64"
    if isinstance(value, str):
        return "string"
    return MAP if isinstance(value, dict) else LIST


def json_word(value: Any) -> str:
    """What a decoder calls `value` when it wanted something else: ``number``, ``array`` …"""
    return _JSON_WORDS.get(type_of(value), "number")


def identity(value: Any) -> Identity:
    """What two scalars have in common exactly where Go's ``==`` holds; Go panics at maps and lists."""
    kind = type_of(value)
    if kind in (MAP, LIST):
        raise refusals.crash(f"a {kind} can neither be compared nor be the key of a map")
    return kind, value


def same(left: Any, right: Any) -> bool:
    """Whether two values are the same JSON, members in any order."""
    if type_of(left) != type_of(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(value, right[name]) for name, value in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def printed(value: Any) -> str:
    """`value` as fmt's ``%v`` prints it; numbers with a fraction come close."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{name}:{printed(value[name])}" for name in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(printed, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return f"{value:g}" if type_of(value) == "float64" else str(value)
    return NIL if value is None else str(value)


def printed_as_string(value: Any) -> str:
    """`value` as fmt's ``%s`` prints it, which complains of what is no string."""
    if isinstance(value, str):
        return value
    if value is None:
        return "%!s(<nil>)"
    return printed(value) if isinstance(value, (dict, list)) else f"%!s({type_of(value)}={printed(value)})"


def type_in_message(value: Any) -> str:
    """The Go type of `value` as messages name it."""
    return "%!s(<nil>)" if value is None else type_of(value)
