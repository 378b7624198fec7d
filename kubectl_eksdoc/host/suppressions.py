"""A file of findings that somebody has decided to live with: YAML or JSON, each with a reason and a last day."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import date

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.host.documents import hand_written, read_text, short
from kubectl_eksdoc.model.findings import ANY, Suppression
from kubectl_eksdoc.model.spelling import maybe

MOST_BYTES = 4 << 20
FLAG = "--suppressions"
_WANTED = (
    "Write a list of entries, each with code, reason and until (as 2026-12-31), and where it is not about every subject"
    " with kind, namespace or name, which may have * in them."
)
_KEYS = ("code", "reason", "until", "kind", "namespace", "name")
_LISTS = ("suppressions", "suppress")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")


def read_suppressions(path: str, known: Collection[str]) -> tuple[Suppression, ...]:
    """The entries of the file, in its order. `known`: the codes that there are.

    Raises:
        UsageError: it cannot be read, or an entry is not as it must be; the error names it.
    """
    document = _document(path, text_of(path))
    return tuple(_entry(f"{path}, entry {number}", each, known) for number, each in enumerate(document, 1))


def text_of(path: str) -> str:
    """As it stands in the file. Raises UsageError: it cannot be read."""
    return read_text(path, FLAG, MOST_BYTES, _WANTED)


def _document(path: str, text: str) -> list[object]:
    """A list, or an object with a list under ``suppressions``; an empty file has none."""
    try:
        found = hand_written(text)
    except ValueError as error:
        raise UsageError(f"{FLAG} {path} is neither YAML nor JSON: {error}", _WANTED) from error
    if isinstance(found, dict):
        found = next((found[key] for key in _LISTS if key in found), found)
    if found is None:
        return []
    if not isinstance(found, list):
        raise UsageError(f"{FLAG} {path} holds no list of entries", _WANTED)
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
    return UsageError(f"{FLAG} {where} {what}", _WANTED)
