"""Files for ``check``: additional table rows (``--tables``) and suppressed findings (``--suppressions``), in YAML or
JSON.

Tables have the format of the package's own records. Each suppression has a reason and an end date.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import date
from typing import Any, TypeVar

from kubectl_eksdoc.amazon.addon_needs import BY_NAME, CompatibilityTable
from kubectl_eksdoc.amazon.removed_apis import CustomApi, RemovedApi, Tables
from kubectl_eksdoc.errors import UsageError, maybe
from kubectl_eksdoc.model.findings import ANY, Suppression
from kubectl_eksdoc.model.knowledge import made

from .documents import hand_written, read_text, short

MOST_BYTES = 4 << 20
TABLES = "--tables"
_NAMES = ("removed_apis", "custom_apis", "compatibility")
_ROWS = f"Write an object with lists under {', '.join(_NAMES)}; docs/check.md has an example."
_ROW_KEYS = ("api_version", "kind", "kinds", "name")
"""Keys that identify a row of a table."""
_T = TypeVar("_T")


def _parsed(file: str, text: str, wanted: str) -> object:
    """`file`: its flag and its path; `hint`: what to write. Raises UsageError: it is neither YAML nor JSON."""
    try:
        return hand_written(text)
    except ValueError as error:
        raise UsageError(f"{file} is neither YAML nor JSON: {error}", wanted) from error


def read_tables(path: str) -> Tables:
    """The rows of the file, in its order.

    Raises:
        UsageError: it cannot be read, or a row is invalid; the error names the row.
    """
    document = _parsed(f"{TABLES} {path}", read_text(path, TABLES, MOST_BYTES, _ROWS), _ROWS)
    if not isinstance(document, Mapping):
        raise UsageError(f"{TABLES} {path} holds no tables", _ROWS)
    if strange := [str(each) for each in document if each not in _NAMES]:
        raise UsageError(f"{TABLES} {path} has {short(strange[0])!r}, no table{maybe(strange[0], _NAMES)}", _ROWS)
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
        raise UsageError(f"{TABLES} {path}, {name}: it is no list", _ROWS)
    rows = [_row(f"{TABLES} {path}, {name}, entry {at}", of, each, usual, path) for at, each in enumerate(found, 1)]
    keys = [tuple(str(each.get(key)) for key in _ROW_KEYS) for each in found]
    if twice := next((at for at, key in enumerate(keys) if key in keys[:at]), 0):
        raise UsageError(f"{TABLES} {path}, {name}: entry {twice + 1} is about the same as an earlier one", _ROWS)
    return tuple(rows)


def _row(where: str, of: type[_T], told: object, usual: Mapping[str, object], path: str) -> _T:
    if not isinstance(told, Mapping):
        raise UsageError(f"{where} is no object", _ROWS)
    fields: dict[str, Any] = {**usual, **{str(name): value for name, value in told.items()}}
    if not isinstance(source := fields.get("source", {}), Mapping):
        raise UsageError(f"{where}: its source is no object", "Give it a document, and the day on which it was read.")
    try:
        row = made(of, {**fields, "source": {"document": path, **source}})
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise UsageError(f"{where} is not as it must be: {short(str(error))}", _ROWS) from error
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


SUPPRESSIONS = "--suppressions"
_WANTED = (
    "Write a list of entries, each with code, reason and until (as 2026-12-31), and where it is not about every subject"
    " with kind, namespace or name, which may have * in them."
)
_KEYS = ("code", "reason", "until", "kind", "namespace", "name")
_LISTS = ("suppressions", "suppress")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")


def read_suppressions(path: str, known: Collection[str]) -> tuple[Suppression, ...]:
    """The entries of the file, in its order. `known_codes`: all finding codes.

    Raises:
        UsageError: it cannot be read, or an entry is invalid; the error names the entry.
    """
    document = _document(path, text_of(path))
    return tuple(_entry(f"{path}, entry {number}", each, known) for number, each in enumerate(document, 1))


def text_of(path: str) -> str:
    """The text of the file. Raises UsageError: it cannot be read."""
    return read_text(path, SUPPRESSIONS, MOST_BYTES, _WANTED)


def _document(path: str, text: str) -> list[object]:
    """The entries: a list, or an object with a list under ``suppressions``; an empty file has none."""
    found = _parsed(f"{SUPPRESSIONS} {path}", text, _WANTED)
    if isinstance(found, dict):
        found = next((found[key] for key in _LISTS if key in found), found)
    if found is None:
        return []
    if not isinstance(found, list):
        raise UsageError(f"{SUPPRESSIONS} {path} holds no list of entries", _WANTED)
    return found


def _entry(where: str, entry: object, known: Collection[str]) -> Suppression:
    if not isinstance(entry, Mapping):
        raise _wrong(where, "is no object")
    strange = [str(key) for key in entry if key not in _KEYS]
    if strange:
        raise _wrong(where, f"has {short(strange[0])!r}, which is not known{maybe(strange[0], _KEYS)}")
    code = _text(where, entry, "code")
    if code not in known:
        raise _wrong(where, f"names {short(code)!r}, which is no finding code of check{maybe(code, known)}")
    globs = {key: _text(where, entry, key) for key in ("kind", "namespace", "name") if key in entry}
    return Suppression(
        code,
        _text(where, entry, "reason"),
        _day(where, entry),
        globs.get("kind", ANY),
        globs.get("namespace", ANY),
        globs.get("name", ANY),
        where,
    )


def _text(where: str, entry: Mapping[object, object], key: str) -> str:
    value = entry.get(key)
    if value is None:
        raise _wrong(where, f"has no {key}")
    if isinstance(value, bool) or not isinstance(value, (str, int)) or not str(value).strip():
        raise _wrong(where, f"has a {key} that is no text")
    return str(value)


def _day(where: str, entry: Mapping[object, object]) -> date:
    value = entry.get("until")
    if value is None:
        raise _wrong(where, "has no until: nothing is suppressed for ever")
    if isinstance(value, str) and _DAY.match(value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    raise _wrong(where, f"has {short(str(value))!r} as until, which is no day such as 2026-12-31")


def _wrong(where: str, what: str) -> UsageError:
    return UsageError(f"{SUPPRESSIONS} {where} {what}", _WANTED)
