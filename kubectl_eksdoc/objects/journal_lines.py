"""The text form of a journal: one line of JSON for each entry, as files and ConfigMaps both hold it.

Lines are ASCII, so that a journal can be cut off at any byte, and hold no line end but their own. What a line lacks has
its default; what it has too much, a newer version of this tool wrote, and it is left out. A line of another format, or
of an entry that is not known here, is dropped with a word and takes no other with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any, NoReturn

import msgspec

from kubectl_eksdoc.core.model.journal import Begun, Entries, Entry, Intent, Note, Result, Timed

FORMAT = 1

_TYPES: Mapping[str, type[Entry]] = {"begun": Begun, "intent": Intent, "result": Result, "note": Note, "timed": Timed}
_WORDS = {kind: word for word, kind in _TYPES.items()}
_OPTIONAL = {kind: {each.name for each in fields(kind) if each.default is not MISSING} for kind in _WORDS}
_LEFT_OUT: tuple[object, ...] = ("", None, [], ())
_LONGEST_SHOWN = 60


def line(entry: Entry) -> str:
    """One entry with its line end. Its time must be in UTC."""
    made: dict[str, Any] = msgspec.to_builtins(entry)
    optional = _OPTIONAL[type(entry)]
    given = {key: value for key, value in made.items() if key not in optional or value not in _LEFT_OUT}
    head = {"v": FORMAT, "entry": _WORDS[type(entry)]}
    return json.dumps({**head, **given}, ensure_ascii=True, separators=(",", ":")) + "\n"


def lines(entries: Iterable[Entry]) -> str:
    return "".join(map(line, entries))


def read_lines(text: bytes, where: str) -> Entries:
    """All entries that are whole; `where` it stands (a file, a ConfigMap's key) is said of every line that is not."""
    found: list[Entry] = []
    dropped: list[str] = []
    for number, each in enumerate(text.split(b"\n"), 1):
        if not each.strip():
            continue
        try:
            found.append(_entry(each))
        except _Strange as strange:
            dropped.append(f"{where}, line {number}: {strange}")
    return Entries(tuple(found), tuple(dropped))


class _Strange(ValueError):
    """A line that is no entry; the message says why."""


def _entry(text: bytes) -> Entry:
    try:
        document = json.loads(text.decode("ascii"), parse_constant=_no_number)
    except RecursionError as error:
        raise _Strange("it is nested too deeply") from error
    except ValueError as error:  # not JSON, not ASCII, or a number of thousands of digits
        raise _Strange("it was cut off, or is no line of a journal") from error
    if not isinstance(document, dict):
        raise _Strange("it is JSON, but no entry")
    if document.get("v") != FORMAT or document["v"] is True:
        raise _Strange(f"its format is {_short(document.get('v'))}, and this version reads only {FORMAT}")
    word = document.get("entry")
    kind = _TYPES.get(word) if isinstance(word, str) else None
    if kind is None:
        raise _Strange(f"an entry {_short(word)} is not known to this version")
    try:
        entry: Entry = msgspec.convert(document, kind)
    except (msgspec.ValidationError, RecursionError, ValueError) as error:
        raise _Strange(f"its {word} is not as this version writes it: {_short(error)}") from error
    if entry.at.tzinfo is None or entry.at.utcoffset() or entry.number < 0:
        raise _Strange(f"its {word} has a time that is not in UTC, or a number below 0")
    return entry


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number in JSON")


def _short(value: object) -> str:
    text = str(value) if isinstance(value, (Exception, int)) else json.dumps(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
