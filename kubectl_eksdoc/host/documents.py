"""Files of JSON, YAML and text that a user or another program wrote: read within size limits, and validated.

Belongs here: JSON, YAML and text, compressed or not, and access to their fields.
Never here: the meaning of the values.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone
from enum import Enum
from typing import TYPE_CHECKING, NoReturn, TypeAlias, TypeVar

from kubectl_eksdoc.errors import UsageError, cause_of
from kubectl_eksdoc.files import opened
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.yaml_events import events_of, reason

from .archive import standard_input

if TYPE_CHECKING:
    from yaml.events import Event


# Field access in a JSON object: each value has the requested type, or the error names its location.


MOST = 10**9
"""An upper limit for counts and seconds: no count of a plan comes near it, and as seconds it is 31 years."""

_LONGEST = 60
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")

_Word = TypeVar("_Word", bound=Enum)


class Unfit(ValueError):
    """A part of the document is missing or has the wrong type; the message says which part, and where."""


def short(text: str) -> str:
    """`text` for an error message, shortened where it is long."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


class DocumentFields:
    """An object of the document. Each method returns the value of a required key.

    Raises:
        InvalidDocument: the key is missing, or its value has another type.
    """

    def __init__(self, values: Mapping[str, object], where: str = "") -> None:
        self._values = values
        self._where = where

    def names(self) -> tuple[str, ...]:
        return tuple(self._values)

    def value(self, key: str) -> object:
        if key not in self._values:
            raise self.unfit(key, "is missing")
        return self._values[key]

    def unfit(self, key: str, what: str) -> Unfit:
        return Unfit(f"{self._where}{short(key)} {what}")

    def text(self, key: str) -> str:
        value = self.value(key)
        if not isinstance(value, str) or not value:
            raise self.unfit(key, "is no text")
        return value

    def text_or_empty(self, key: str) -> str:
        return "" if self.value(key) == "" else self.text(key)

    def text_or_null(self, key: str) -> str:
        """Null becomes the empty text."""
        return "" if self.value(key) is None else self.text(key)

    def word(self, key: str, words: type[_Word]) -> _Word:
        text = self.text(key)
        try:
            return words(text)
        except ValueError:
            raise self.unfit(key, f"is {short(text)!r}, which is not known here") from None

    def whole(self, key: str) -> int:
        value = self.value(key)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST:
            raise self.unfit(key, "is no count")
        return value

    def number(self, key: str) -> float:
        value = self.value(key)
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= MOST:
            raise self.unfit(key, "is no amount")
        return value

    def moment(self, key: str) -> datetime:
        text = self.text(key)
        try:
            if _MOMENT.fullmatch(text):
                return datetime.fromisoformat(text[:-1]).replace(tzinfo=timezone.utc)
        except ValueError:
            pass
        raise self.unfit(key, "is no moment in UTC")

    def texts(self, key: str) -> tuple[str, ...]:
        values = self._list(key)
        if not all(isinstance(value, str) for value in values):
            raise self.unfit(key, "holds more than texts")
        return tuple(map(str, values))

    def each(self, key: str) -> Iterator[DocumentFields]:
        """The objects of a list."""
        for at, value in enumerate(self._list(key)):
            if not isinstance(value, dict):
                raise self.unfit(f"{key}[{at}]", "is no object")
            yield DocumentFields(value, f"{self._where}{key}[{at}].")

    def inside(self, key: str) -> DocumentFields:
        value = self.value(key)
        if not isinstance(value, dict):
            raise self.unfit(key, "is no object")
        return DocumentFields(value, f"{self._where}{key}.")

    def inside_or_null(self, key: str) -> DocumentFields | None:
        return None if self.value(key) is None else self.inside(key)

    def _list(self, key: str) -> list[object]:
        value = self.value(key)
        if not isinstance(value, list):
            raise self.unfit(key, "is no list")
        return value


# gzip-compressed texts, without timestamp and file name; decompression is bounded.


MAGIC = b"\x1f\x8b"


def packed(text: str) -> bytes:
    """The same text gives the same bytes."""
    return gzip.compress(text.encode(), 9, mtime=0)


def unpacked(content: bytes, most: int) -> bytes:
    """The decompressed content, at most `max_bytes` + 1 bytes.

    Raises:
        ValueError: the data is damaged or truncated.
    """
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            return file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"it is packed, and broken: {error}") from error


# YAML as written by ``-o yaml`` or by hand: plain mappings, lists, strings and numbers, nothing else.
#
# The document is built from the parser's events without recursion: libyaml's own loader crashes on deep nesting, and
# aliases could expand a short text to a huge document.


_BEGIN = re.compile(rb"\s*(---|#|[A-Za-z]+:\s)")
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
"""Byte order marks of UTF-8 (as Windows writes it) and UTF-16."""

_WORDS: dict[str, object] = {"null": None, "~": None, "": None, "true": True, "false": False}
_WHOLE = re.compile(r"[-+]?[0-9]{1,30}")
_NUMBER = re.compile(r"[-+]?([0-9]{1,30}(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")
_MERGED = "<<"
_TAGS = (None, "!", "tag:yaml.org,2002:str")
"""No tag, or the tag of a string, which changes nothing."""

_Open: TypeAlias = "dict[str, object] | list[object]"


def looks_like_yaml(content: bytes) -> bool:
    """True for text that begins with ``key: ``, as YAML does; JSON and binary data do not."""
    for mark in _MARKS:
        content = content.removeprefix(mark)
    return _BEGIN.match(content[:4096].replace(b"\0", b"")) is not None


def hand_written(text: str) -> object:
    """The content of a short file written by hand, in YAML or JSON. Raises: as `parse_plain_yaml`."""
    # JSON is YAML, except for tabs.
    try:
        return plain_yaml(text.replace("\t", " ").encode("utf-8", "surrogatepass"))
    except ValueError as error:
        raise ValueError(short(str(error))) from error


def plain_yaml(content: bytes) -> object:
    """The value of the document; None if it is empty.

    Raises:
        ValueError: it is not YAML, or uses more of YAML than plain values; the message is one line.
    """
    return _read(content, None)


def yaml_as_go_reads_it(content: bytes) -> object:
    """As `parse_plain_yaml`, but with aliases (``*name``, ``<<: *name``): an aliased object appears in several places,
    so a caller must not traverse all of the value. Only the first of several documents is read.

    Raises:
        ValueError: as `parse_plain_yaml`; an undefined alias, or an alias inside its own anchor.
    """
    return _read(content, {})


def _read(content: bytes, named: dict[str, object] | None) -> object:
    import yaml

    events = events_of(content)
    try:
        return _built(events if named is None else _first(events), named)
    except yaml.YAMLError as error:
        raise ValueError(reason(error)) from error


def _first(events: Iterable[Event]) -> Iterator[Event]:
    """The events of the first document; later documents are not parsed."""
    import yaml

    for event in events:
        yield event
        if isinstance(event, yaml.DocumentEndEvent):
            return


def _built(events: Iterable[Event], named: dict[str, object] | None) -> object:
    """`anchors`: the values of anchors, filled while parsing; None if aliases are not allowed."""
    import yaml

    open_ones: list[_Open] = []
    keys: list[str | None] = []
    whole: list[object] = []
    for event in events:
        if isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            closed = open_ones.pop()
            keys.pop()
            if named is not None and isinstance(closed, dict) and _MERGED in closed:
                _merge(closed)
        elif isinstance(event, yaml.NodeEvent):
            alias = named is not None and isinstance(event, yaml.AliasEvent)
            value = _of_alias(event, named or {}, open_ones) if alias else _value(event)
            _put(value, event, open_ones[-1] if open_ones else whole, keys)
            if named is not None and not alias and event.anchor:
                named[event.anchor] = value
            if isinstance(value, (dict, list)) and not alias:
                open_ones.append(value)
                keys.append(None)
    if len(whole) > 1:
        raise ValueError(f"it holds {len(whole)} documents")
    return whole[0] if whole else None


def _of_alias(event: Event, named: Mapping[str, object], open_ones: Iterable[_Open]) -> object:
    anchor: str = getattr(event, "anchor", "")
    if anchor not in named:
        raise ValueError(f"*{short(anchor)} leads nowhere")
    if any(named[anchor] is each for each in open_ones):
        raise ValueError(f"*{short(anchor)} stands in what it leads to")
    return named[anchor]


def _merge(into: dict[str, object]) -> None:
    """Keys of the merged objects do not override keys of the object itself."""
    merged = into.pop(_MERGED)
    for each in merged if isinstance(merged, list) else [merged]:
        if not isinstance(each, dict):
            raise ValueError("<< stands before what is no object")
        for key, value in each.items():
            into.setdefault(key, value)


def _put(value: object, event: Event, into: _Open, keys: list[str | None]) -> None:
    """The last of `pending_keys` is the key that waits for its value."""
    if isinstance(into, list):
        into.append(value)
    elif keys[-1] is not None:
        into[keys[-1]] = value
        keys[-1] = None
    else:
        text = getattr(event, "value", None)
        if not isinstance(text, str):
            raise ValueError("a key of it is no text")
        if text in into:
            # YAML forbids duplicate keys: otherwise the first value would be ignored silently.
            raise ValueError(f"{short(text)!r} is twice in one object")
        keys[-1] = text


def _value(event: Event) -> object:
    import yaml

    if getattr(event, "tag", None) not in _TAGS:
        raise ValueError("it has tags (!name), which are not read")
    if isinstance(event, yaml.MappingStartEvent):
        return {}
    if isinstance(event, yaml.SequenceStartEvent):
        return []
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event.value) if event.implicit[0] and event.tag is None else event.value
    raise ValueError("it has aliases (*name), which are not read")


def _scalar(text: str) -> object:
    """A scalar by the YAML 1.2 core schema, restricted to the types of JSON."""
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


# JSON files of other programs, gzip-compressed or not: read within size limits, or refused with an error message.
#
# Each caller sets its own error class and wording.


LARGEST = 256 << 20
"""In bytes. A plan of 30,000 pods has some 15 MB, one of Terraform some 20 MB; a device or pipe may never end."""


@frozen
class JsonFile:
    """A JSON file that a user names. `name` has its article (``the baseline``); `not_a` says what an undecodable file
    is not (``no plan``). `create_hint` says how to create the file; `empty_hint` why it may be empty, "" for
    `create_hint`. `flag`: "" if ``-`` is allowed for standard input. `foreign_formats`: magic bytes of files that users
    mistake for it, each with a description. `yaml`: YAML is accepted as well."""

    name: str
    no: str
    error: type[UsageError]
    make: str
    flag: str = ""
    empty: str = ""
    foreign: tuple[tuple[bytes, str], ...] = ()
    yaml: bool = False

    def read(self, path: str) -> object:
        """The document at `path`. Its encoding may be UTF-16, as Windows PowerShell's > writes it.

        Raises:
            UsageError: of class `error`: the file cannot be opened, is too large, empty, or in no accepted format.
        """
        if path == "-" and self.flag:
            raise self.error(f"{self.flag} reads a file, not standard input", self.make)
        called = f"{self.name} {'on standard input' if path == '-' else path}"
        return self._decoded(called, self._content(path, called))

    def _content(self, path: str, called: str) -> bytes:
        try:
            with standard_input() if path == "-" else opened(path) as file:
                # Read up to one byte more than the limit; a pipe may return less than requested.
                parts: list[bytes] = []
                left = LARGEST + 1
                while left > 0 and (part := file.read(left)):
                    parts.append(part)
                    left -= len(part)
                content = b"".join(parts)
        except (OSError, ValueError) as error:  # ValueError: a path that no system accepts
            raise self.error(
                f"cannot read {called}: {cause_of(error)}", "Check the path and its permissions."
            ) from error
        if content.startswith(MAGIC):
            try:
                content = unpacked(content, LARGEST)
            except ValueError as error:
                raise self.error(f"{called} is not JSON: {error}", self.make) from error
        if len(content) > LARGEST:
            raise self.error(f"{called} has more than {LARGEST >> 20} MiB: that is {self.no}", self.make)
        if not content.strip():
            raise self.error(f"{called} is empty", self.empty or self.make)
        for begin, what in self.foreign:
            if content.startswith(begin):
                raise self.error(f"{called} is {what}", self.make)
        return content

    def _decoded(self, called: str, content: bytes) -> object:
        if self.yaml and looks_like_yaml(content):
            try:
                return plain_yaml(content)
            except ValueError as error:
                what = f"{called} is neither JSON nor YAML, or not all of it: {short(str(error))}"
                raise self.error(what, self.make) from error
        try:
            document: object = json.loads(content, parse_constant=no_number)
        except RecursionError as error:
            raise self.error(f"{called} is {self.no}: it is nested too deeply", self.make) from error
        except ValueError as error:  # not JSON, not Unicode, or a number with thousands of digits
            what = f"{called} is not JSON, or not all of it: {short(str(error))}"
            raise self.error(what, self.make) from error
        return document


def no_number(word: str) -> NoReturn:
    """Reject NaN and Infinity: JSON could not represent them in the output."""
    raise ValueError(f"{word} is no number in JSON")


# Text files that a flag names.


def read_text(path: str, flag: str, most: int, wanted: str) -> str:
    """The text of the file that `flag` names, at most `max_bytes` long; `hint` says what to give instead.

    Raises:
        UsageError: it cannot be read, is too large, or is not UTF-8 text.
    """
    if path == "-":
        raise UsageError(f"{flag} reads a file, not standard input", wanted)
    try:
        with opened(path) as file:
            read = file.read(most + 1)
        if len(read) > most:
            raise UsageError(f"{flag} {path} is larger than {most >> 20} MiB", wanted)
        return read.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{flag} {path} is no text in UTF-8", wanted) from error
    except (OSError, ValueError) as error:  # ValueError: a path that no system accepts
        raise UsageError(f"{flag} {path} cannot be read: {cause_of(error)}", wanted) from error
