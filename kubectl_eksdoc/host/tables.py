"""A file of rows for the tables by which an upgrade is judged: YAML or JSON, as the records of the package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from kubectl_eksdoc.amazon.upgrades.addon_needs import CompatibilityTable
from kubectl_eksdoc.amazon.upgrades.removed_apis import CustomApi, RemovedApi, Tables
from kubectl_eksdoc.amazon.upgrades.software import BY_NAME
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.host.documents import hand_written, read_text, short
from kubectl_eksdoc.model.knowledge import made
from kubectl_eksdoc.model.spelling import maybe

MOST_BYTES = 4 << 20
FLAG = "--tables"
_NAMES = ("removed_apis", "custom_apis", "compatibility")
_WANTED = f"Write an object with lists under {', '.join(_NAMES)}; docs/check.md has an example."
_KEYS = ("api_version", "kind", "kinds", "name")
"""What tells rows of a table apart."""
_T = TypeVar("_T")


def read_tables(path: str) -> Tables:
    """The rows of the file, in its order.

    Raises:
        UsageError: it cannot be read, or a row is not as it must be; the error names it.
    """
    try:
        document = hand_written(read_text(path, FLAG, MOST_BYTES, _WANTED))
    except ValueError as error:
        raise UsageError(f"{FLAG} {path} is neither YAML nor JSON: {error}", _WANTED) from error
    if not isinstance(document, Mapping):
        raise UsageError(f"{FLAG} {path} holds no tables", _WANTED)
    if strange := [str(each) for each in document if each not in _NAMES]:
        raise UsageError(f"{FLAG} {path} has {short(strange[0])!r}, no table{maybe(strange[0], _NAMES)}", _WANTED)
    return Tables(
        _rows(path, document, "removed_apis", RemovedApi, {"resource": ""}),
        _rows(path, document, "custom_apis", CustomApi, {"kinds": (), "removed": None}),
        _rows(path, document, "compatibility", CompatibilityTable, {}),
    )


def _rows(
    path: str, document: Mapping[object, object], name: str, of: type[_T], usual: Mapping[str, object]
) -> tuple[_T, ...]:
    found = document.get(name, [])
    if not isinstance(found, list):
        raise UsageError(f"{FLAG} {path}, {name}: it is no list", _WANTED)
    rows = [_row(f"{FLAG} {path}, {name}, entry {at}", of, each, usual, path) for at, each in enumerate(found, 1)]
    keys = [tuple(str(each.get(key)) for key in _KEYS) for each in found]
    if twice := next((at for at, key in enumerate(keys) if key in keys[:at]), 0):
        raise UsageError(f"{FLAG} {path}, {name}: entry {twice + 1} is about the same as an earlier one", _WANTED)
    return tuple(rows)


def _row(where: str, of: type[_T], told: object, usual: Mapping[str, object], path: str) -> _T:
    if not isinstance(told, Mapping):
        raise UsageError(f"{where} is no object", _WANTED)
    fields: dict[str, Any] = {**usual, **{str(name): value for name, value in told.items()}}
    if not isinstance(source := fields.get("source", {}), Mapping):
        raise UsageError(f"{where}: its source is no object", "Give it a document, and the day on which it was read.")
    try:
        row = made(of, {**fields, "source": {"document": path, **source}})
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise UsageError(f"{where} is not as it must be: {short(str(error))}", _WANTED) from error
    if isinstance(row, CompatibilityTable):
        _check_compatibility(where, row)
    return row


def _check_compatibility(where: str, table: CompatibilityTable) -> None:
    """Raises UsageError."""
    if table.name not in BY_NAME:
        raise UsageError(
            f"{where} is of {short(table.name)!r}, no software that is recognised{maybe(table.name, BY_NAME)}"
        )
    since = [row.since for row in table.rows]
    if (
        not since
        or since != sorted(since)
        or any(row.newest is not None and row.newest < row.oldest for row in table.rows)
    ):
        raise UsageError(
            f"{where} has no rows, or not in their order",
            "Write each as [version, oldest Kubernetes, newest Kubernetes], the oldest version first.",
        )
