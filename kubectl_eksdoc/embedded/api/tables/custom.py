"""Custom resources: the columns their definition asks for, or their age where it asks for none."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kubectl_eksdoc.embedded.api.resources import PrinterColumn, Served
from kubectl_eksdoc.embedded.api.tables import fields
from kubectl_eksdoc.embedded.api.tables.columns import CREATED_DESCRIPTION, NAME, Cells, Column, Printer
from kubectl_eksdoc.embedded.api.tables.fields import name
from kubectl_eksdoc.model.api_objects import Doc

# The JSONPath that columns of custom resources are written in: what it finds, and how that is printed.
#
# Of client-go's util/jsonpath it knows fields (also as ``['a.b']`` and ``a\.b``), indices and slices, ``*``, ``..`` and
# filters that compare one field with a constant; no unions, and no steps of slices.


_STEP = re.compile(
    r"""(?P<deep>\.\.)(?=\w|\[|\*|['"])
    | \.?\['(?P<key>[^']*)'\]
    | \.?\[\?\((?P<filter>.+?)\)\]
    | \.?\[(?P<slice>\*|-?\d*(?::-?\d*)?)\]
    | \.?(?P<field>(?:\\.|[^\s.,\[\]$@{}\\])+)""",
    re.VERBOSE,
)
_FILTER = re.compile(r"([^!<>=]+?)\s*(==|!=|<=|>=|<|>)\s*(.+?)\s*\Z")
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class NoResult(ValueError):
    """The path is malformed, or does not fit the document: an index past the end, a filter on what is no list."""


def find(document: Any, path: str) -> list[Any]:
    """The values at `path`, as ``.status.conditions[?(@.type=="Ready")].status``; none where a field is missing.

    Raises:
        NoResult: as its docstring says; upstream prints nothing then.
    """
    found, end = [document], len(path.rstrip())
    at = 1 if path[:1] in ("$", "@") else 0
    while at < end and path[at:end] != ".":
        step = _STEP.match(path, at, end)
        if step is None:
            raise NoResult(f"{path[at:]!r} is no step of a path")
        found = list(_take(found, step))
        at = step.end()
    return found


def _take(values: list[Any], step: re.Match[str]) -> Iterator[Any]:
    if step["deep"]:
        for value in values:
            yield from _descend(value)
    elif step["filter"]:
        yield from _filtered(values, step["filter"])
    elif step["slice"] is not None and step["slice"] != "*":
        yield from _sliced(values, step["slice"])
    elif step["slice"] == "*" or step["field"] == "*":
        for value in values:
            yield from _children(value)
    else:
        field = step["key"] if step["key"] is not None else re.sub(r"\\(.)", r"\1", step["field"])
        yield from (value[field] for value in values if isinstance(value, dict) and field in value)


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _descend(value: Any) -> Iterator[Any]:
    if _children(value):
        yield value
    for child in _children(value):
        yield from _descend(child)


def _sliced(values: list[Any], text: str) -> Iterator[Any]:
    parts = [int(part) if part not in ("", "-") else None for part in text.split(":")]
    for value in values:
        if value is None:
            continue
        if not isinstance(value, list):
            raise NoResult("an index into what is no list")
        yield from _slice(value, *parts) if len(parts) > 1 else _item(value, parts[0])


def _item(items: list[Any], index: int | None) -> list[Any]:
    if index is None or not -len(items) <= index < len(items):
        raise NoResult(f"no item {index} in a list of {len(items)}")
    return [items[index]]


def _slice(items: list[Any], start: int | None, stop: int | None) -> list[Any]:
    """As Go's slices and unlike ours: a bound past the end is an error, unless both are the same."""
    bounded = start != stop and max(start or 0, 0) >= len(items)
    if bounded or (stop or 0) > len(items):
        raise NoResult(f"no items {start}:{stop} in a list of {len(items)}")
    return items[start:stop]


@dataclass(frozen=True, slots=True)
class _Condition:
    """``@.type=="Ready"``; without an operator it asks whether there is such a field."""

    path: str
    operator: str = ""
    constant: Any = None

    def holds(self, item: Any) -> bool:
        found = find(item, self.path)
        if not self.operator:
            return bool(found)
        if len(found) != 1:
            return False
        try:
            return _COMPARE[self.operator](found[0], self.constant)
        except TypeError as error:
            raise NoResult(f"{found[0]!r} does not compare with {self.constant!r}") from error


def _filtered(values: list[Any], text: str) -> Iterator[Any]:
    match = _FILTER.match(text)
    condition = _Condition(match[1], match[2], _constant(match[3])) if match else _Condition(text.strip())
    for value in values:
        if not isinstance(value, list):
            raise NoResult("a filter on what is no list")
        yield from (item for item in value if condition.holds(item))


def _constant(text: str) -> Any:
    if text[:1] in ("'", '"') and text[-1:] == text[:1]:
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)
    except ValueError as error:
        raise NoResult(f"{text!r} is no constant") from error


def printed(value: Any) -> str:
    """A value as a text cell: objects and lists as JSON with sorted keys, all else as Go prints it."""
    if value is None:
        return "<no value>"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (dict, list)):
        text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        return re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", text)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return str(value)


_AGE = PrinterColumn("Age", "date", ".metadata.creationTimestamp", description=CREATED_DESCRIPTION)


def printer(served: Served) -> Printer:
    """As apiextensions-apiserver's customresource/tableconvertor does it."""
    columns = served.columns or (_AGE,)

    def cells(document: Doc, now: datetime) -> Cells:
        return [name(document), *(_cell(column, document, now) for column in columns)]

    return Printer((NAME, *map(_definition, columns)), cells)


def _definition(column: PrinterColumn) -> Column:
    described = column.description or f"Custom resource definition column (in JSONPath format): {column.json_path}"
    return Column(column.name, described, column.type, column.format, column.priority)


def _cell(column: PrinterColumn, document: Doc, now: datetime) -> Any:
    """The first value found; None where there is none, or one of another type than the column's."""
    try:
        found = find(document, column.json_path)
    except NoResult:
        return None
    return _typed(column.type, found[0], now) if found else None


def _typed(type_: str, value: Any, now: datetime) -> Any:
    if type_ == "string":
        return printed(value)
    if type_ == "boolean":
        return value if isinstance(value, bool) else None
    if type_ == "date":
        return _date(value, now) if isinstance(value, str) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    whole = type_ == "integer" or float(value).is_integer()
    return int(value) if whole else value


def _date(value: str, now: datetime) -> str:
    """An empty text is no time at all, any other that names no moment is a wrong one."""
    if not value:
        return fields.UNKNOWN
    return "<invalid>" if fields.parse(value) is None else fields.since(value, now)
