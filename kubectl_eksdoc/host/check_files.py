"""Files for ``check``: additional table rows (``--tables``) and suppressed findings (``--suppressions``), in YAML or
JSON.

Tables have the format of the package's own records. Each suppression has a reason and an end date.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import date
from typing import Any, TypeVar

from kubectl_eksdoc.amazon.addon_needs import SOFTWARE_BY_NAME, CompatibilityTable
from kubectl_eksdoc.amazon.removed_apis import CustomApi, KnowledgeTables, RemovedApi
from kubectl_eksdoc.errors import UsageError, did_you_mean
from kubectl_eksdoc.model.findings import ANY_GLOB, Suppression
from kubectl_eksdoc.model.knowledge import from_json

from .documents import parse_yaml_or_json, read_text, shorten

MAX_BYTES = 4 << 20
TABLES_FLAG = "--tables"
_TABLE_NAMES = ("removed_apis", "custom_apis", "compatibility")
_TABLES_HINT = f"Write an object with lists under {', '.join(_TABLE_NAMES)}; docs/check.md has an example."
_ROW_KEYS = ("api_version", "kind", "kinds", "name")
"""Keys that identify a row of a table."""
_T = TypeVar("_T")


def _parse(file: str, text: str, hint: str) -> object:
    """`file`: its flag and its path; `hint`: what to write. Raises UsageError: it is neither YAML nor JSON."""
    try:
        return parse_yaml_or_json(text)
    except ValueError as error:
        raise UsageError(f"{file} is neither YAML nor JSON: {error}", hint) from error


def read_tables(path: str) -> KnowledgeTables:
    """The rows of the file, in its order.

    Raises:
        UsageError: it cannot be read, or a row is invalid; the error names the row.
    """
    document = _parse(f"{TABLES_FLAG} {path}", read_text(path, TABLES_FLAG, MAX_BYTES, _TABLES_HINT), _TABLES_HINT)
    if not isinstance(document, Mapping):
        raise UsageError(f"{TABLES_FLAG} {path} holds no tables", _TABLES_HINT)
    if unknown_names := [str(each) for each in document if each not in _TABLE_NAMES]:
        raise UsageError(
            f"{TABLES_FLAG} {path} has {shorten(unknown_names[0])!r}, no "
            f"table{did_you_mean(unknown_names[0], _TABLE_NAMES)}",
            _TABLES_HINT,
        )
    return KnowledgeTables(
        _rows(path, document, "removed_apis", RemovedApi, {"resource": ""}),
        _rows(path, document, "custom_apis", CustomApi, {"kinds": (), "removed": None}),
        _rows(path, document, "compatibility", CompatibilityTable, {}),
    )


def _rows(
    path: str, document: Mapping[object, object], name: str, row_type: type[_T], defaults: Mapping[str, object]
) -> tuple[_T, ...]:
    entries = document.get(name, [])
    if not isinstance(entries, list):
        raise UsageError(f"{TABLES_FLAG} {path}, {name}: it is no list", _TABLES_HINT)
    rows = [
        _row(f"{TABLES_FLAG} {path}, {name}, entry {index}", row_type, entry, defaults, path)
        for index, entry in enumerate(entries, 1)
    ]
    keys = [tuple(str(entry.get(key)) for key in _ROW_KEYS) for entry in entries]
    if duplicate := next((index for index, key in enumerate(keys) if key in keys[:index]), 0):
        raise UsageError(
            f"{TABLES_FLAG} {path}, {name}: entry {duplicate + 1} is about the same as an earlier one", _TABLES_HINT
        )
    return tuple(rows)


def _row(location: str, row_type: type[_T], entry: object, defaults: Mapping[str, object], path: str) -> _T:
    if not isinstance(entry, Mapping):
        raise UsageError(f"{location} is no object", _TABLES_HINT)
    fields: dict[str, Any] = {**defaults, **{str(name): value for name, value in entry.items()}}
    if not isinstance(source := fields.get("source", {}), Mapping):
        raise UsageError(
            f"{location}: its source is no object", "Give it a document, and the day on which it was read."
        )
    try:
        row = from_json(row_type, {**fields, "source": {"document": path, **source}})
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise UsageError(f"{location} is not as it must be: {shorten(str(error))}", _TABLES_HINT) from error
    if isinstance(row, CompatibilityTable):
        _check_compatibility(location, row)
    return row


def _check_compatibility(location: str, table: CompatibilityTable) -> None:
    """Raises UsageError."""
    if table.name not in SOFTWARE_BY_NAME:
        raise UsageError(
            f"{location} is of {shorten(table.name)!r}, no software that is "
            f"recognised{did_you_mean(table.name, SOFTWARE_BY_NAME)}"
        )
    versions = [row.since for row in table.rows]
    if (
        not versions
        or versions != sorted(versions)
        or any(row.newest is not None and row.newest < row.oldest for row in table.rows)
    ):
        raise UsageError(
            f"{location} has no rows, or not in their order",
            "Write each as [version, oldest Kubernetes, newest Kubernetes], the oldest version first.",
        )


SUPPRESSIONS_FLAG = "--suppressions"
_SUPPRESSIONS_HINT = (
    "Write a list of entries, each with code, reason and until (as 2026-12-31), and where it is not about every subject"
    " with kind, namespace or name, which may have * in them."
)
_ENTRY_KEYS = ("code", "reason", "until", "kind", "namespace", "name")
_LIST_KEYS = ("suppressions", "suppress")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")


def read_suppressions(path: str, known_codes: Collection[str]) -> tuple[Suppression, ...]:
    """The entries of the file, in its order. `known_codes`: all finding codes.

    Raises:
        UsageError: it cannot be read, or an entry is invalid; the error names the entry.
    """
    document = _entries(path, read_suppressions_text(path))
    return tuple(_suppression(f"{path}, entry {number}", each, known_codes) for number, each in enumerate(document, 1))


def read_suppressions_text(path: str) -> str:
    """The text of the file. Raises UsageError: it cannot be read."""
    return read_text(path, SUPPRESSIONS_FLAG, MAX_BYTES, _SUPPRESSIONS_HINT)


def _entries(path: str, text: str) -> list[object]:
    """The entries: a list, or an object with a list under ``suppressions``; an empty file has none."""
    document = _parse(f"{SUPPRESSIONS_FLAG} {path}", text, _SUPPRESSIONS_HINT)
    if isinstance(document, dict):
        document = next((document[key] for key in _LIST_KEYS if key in document), document)
    if document is None:
        return []
    if not isinstance(document, list):
        raise UsageError(f"{SUPPRESSIONS_FLAG} {path} holds no list of entries", _SUPPRESSIONS_HINT)
    return document


def _suppression(location: str, entry: object, known_codes: Collection[str]) -> Suppression:
    if not isinstance(entry, Mapping):
        raise _entry_error(location, "is no object")
    unknown_keys = [str(key) for key in entry if key not in _ENTRY_KEYS]
    if unknown_keys:
        raise _entry_error(
            location,
            f"has {shorten(unknown_keys[0])!r}, which is not known{did_you_mean(unknown_keys[0], _ENTRY_KEYS)}",
        )
    code = _text_field(location, entry, "code")
    if code not in known_codes:
        raise _entry_error(
            location, f"names {shorten(code)!r}, which is no finding code of check{did_you_mean(code, known_codes)}"
        )
    globs = {key: _text_field(location, entry, key) for key in ("kind", "namespace", "name") if key in entry}
    return Suppression(
        code,
        _text_field(location, entry, "reason"),
        _until_date(location, entry),
        globs.get("kind", ANY_GLOB),
        globs.get("namespace", ANY_GLOB),
        globs.get("name", ANY_GLOB),
        location,
    )


def _text_field(location: str, entry: Mapping[object, object], key: str) -> str:
    value = entry.get(key)
    if value is None:
        raise _entry_error(location, f"has no {key}")
    if isinstance(value, bool) or not isinstance(value, (str, int)) or not str(value).strip():
        raise _entry_error(location, f"has a {key} that is no text")
    return str(value)


def _until_date(location: str, entry: Mapping[object, object]) -> date:
    value = entry.get("until")
    if value is None:
        raise _entry_error(location, "has no until: nothing is suppressed for ever")
    if isinstance(value, str) and _DAY.match(value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    raise _entry_error(location, f"has {shorten(str(value))!r} as until, which is no day such as 2026-12-31")


def _entry_error(location: str, problem: str) -> UsageError:
    return UsageError(f"{SUPPRESSIONS_FLAG} {location} {problem}", _SUPPRESSIONS_HINT)
