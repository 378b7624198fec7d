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

from kubectl_eksdoc.errors import UsageError, os_error_text
from kubectl_eksdoc.files import open_file
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.yaml_events import error_text, parse_events

from .archive import standard_input

if TYPE_CHECKING:
    from yaml.events import Event


# Field access in a JSON object: each value has the requested type, or the error names its location.


MAX_NUMBER = 10**9
"""An upper limit for counts and seconds: no count of a plan comes near it, and as seconds it is 31 years."""

_MAX_QUOTED = 60
_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")

_EnumValue = TypeVar("_EnumValue", bound=Enum)


class InvalidDocument(ValueError):
    """A part of the document is missing or has the wrong type; the message says which part, and where."""


def shorten(text: str) -> str:
    """`text` for an error message, shortened where it is long."""
    return text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…"


class DocumentFields:
    """An object of the document. Each method returns the value of a required key.

    Raises:
        InvalidDocument: the key is missing, or its value has another type.
    """

    def __init__(self, values: Mapping[str, object], location: str = "") -> None:
        self._values = values
        self._location = location

    def field_names(self) -> tuple[str, ...]:
        return tuple(self._values)

    def value(self, key: str) -> object:
        if key not in self._values:
            raise self.invalid(key, "is missing")
        return self._values[key]

    def invalid(self, key: str, problem: str) -> InvalidDocument:
        return InvalidDocument(f"{self._location}{shorten(key)} {problem}")

    def text(self, key: str) -> str:
        value = self.value(key)
        if not isinstance(value, str) or not value:
            raise self.invalid(key, "is no text")
        return value

    def text_or_empty(self, key: str) -> str:
        return "" if self.value(key) == "" else self.text(key)

    def text_or_null(self, key: str) -> str:
        """Null becomes the empty text."""
        return "" if self.value(key) is None else self.text(key)

    def enum_value(self, key: str, enum_type: type[_EnumValue]) -> _EnumValue:
        text = self.text(key)
        try:
            return enum_type(text)
        except ValueError:
            raise self.invalid(key, f"is {shorten(text)!r}, which is not known here") from None

    def count(self, key: str) -> int:
        value = self.value(key)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_NUMBER:
            raise self.invalid(key, "is no count")
        return value

    def number(self, key: str) -> float:
        value = self.value(key)
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= MAX_NUMBER:
            raise self.invalid(key, "is no amount")
        return value

    def timestamp(self, key: str) -> datetime:
        text = self.text(key)
        try:
            if _TIMESTAMP.fullmatch(text):
                return datetime.fromisoformat(text[:-1]).replace(tzinfo=timezone.utc)
        except ValueError:
            pass
        raise self.invalid(key, "is no moment in UTC")

    def texts(self, key: str) -> tuple[str, ...]:
        values = self._list(key)
        if not all(isinstance(value, str) for value in values):
            raise self.invalid(key, "holds more than texts")
        return tuple(map(str, values))

    def objects(self, key: str) -> Iterator[DocumentFields]:
        """The objects of a list."""
        for index, value in enumerate(self._list(key)):
            if not isinstance(value, dict):
                raise self.invalid(f"{key}[{index}]", "is no object")
            yield DocumentFields(value, f"{self._location}{key}[{index}].")

    def child(self, key: str) -> DocumentFields:
        value = self.value(key)
        if not isinstance(value, dict):
            raise self.invalid(key, "is no object")
        return DocumentFields(value, f"{self._location}{key}.")

    def child_or_null(self, key: str) -> DocumentFields | None:
        return None if self.value(key) is None else self.child(key)

    def _list(self, key: str) -> list[object]:
        value = self.value(key)
        if not isinstance(value, list):
            raise self.invalid(key, "is no list")
        return value


# gzip-compressed texts, without timestamp and file name; decompression is bounded.


GZIP_MAGIC = b"\x1f\x8b"


def compress_text(text: str) -> bytes:
    """The same text gives the same bytes."""
    return gzip.compress(text.encode(), 9, mtime=0)


def decompress(content: bytes, max_bytes: int) -> bytes:
    """The decompressed content, at most `max_bytes` + 1 bytes.

    Raises:
        ValueError: the data is damaged or truncated.
    """
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            return file.read(max_bytes + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"it is packed, and broken: {error}") from error


# YAML as written by ``-o yaml`` or by hand: plain mappings, lists, strings and numbers, nothing else.
#
# The document is built from the parser's events without recursion: libyaml's own loader crashes on deep nesting, and
# aliases could expand a short text to a huge document.


_YAML_START = re.compile(rb"\s*(---|#|[A-Za-z]+:\s)")
_BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
"""Byte order marks of UTF-8 (as Windows writes it) and UTF-16."""

_WORDS: dict[str, object] = {"null": None, "~": None, "": None, "true": True, "false": False}
_INTEGER = re.compile(r"[-+]?[0-9]{1,30}")
_NUMBER = re.compile(r"[-+]?([0-9]{1,30}(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")
_MERGE_KEY = "<<"
_TAGS = (None, "!", "tag:yaml.org,2002:str")
"""No tag, or the tag of a string, which changes nothing."""

_Container: TypeAlias = "dict[str, object] | list[object]"


def looks_like_yaml(content: bytes) -> bool:
    """True for text that begins with ``key: ``, as YAML does; JSON and binary data do not."""
    for byte_order_mark in _BYTE_ORDER_MARKS:
        content = content.removeprefix(byte_order_mark)
    return _YAML_START.match(content[:4096].replace(b"\0", b"")) is not None


def parse_yaml_or_json(text: str) -> object:
    """The content of a short file written by hand, in YAML or JSON. Raises: as `parse_plain_yaml`."""
    # JSON is YAML, except for tabs.
    try:
        return parse_plain_yaml(text.replace("\t", " ").encode("utf-8", "surrogatepass"))
    except ValueError as error:
        raise ValueError(shorten(str(error))) from error


def parse_plain_yaml(content: bytes) -> object:
    """The value of the document; None if it is empty.

    Raises:
        ValueError: it is not YAML, or uses more of YAML than plain values; the message is one line.
    """
    return _parse(content, None)


def parse_go_yaml(content: bytes) -> object:
    """As `parse_plain_yaml`, but with aliases (``*name``, ``<<: *name``): an aliased object appears in several places,
    so a caller must not traverse all of the value. Only the first of several documents is read.

    Raises:
        ValueError: as `parse_plain_yaml`; an undefined alias, or an alias inside its own anchor.
    """
    return _parse(content, {})


def _parse(content: bytes, anchors: dict[str, object] | None) -> object:
    import yaml

    events = parse_events(content)
    try:
        return _build_document(events if anchors is None else _first_document(events), anchors)
    except yaml.YAMLError as error:
        raise ValueError(error_text(error)) from error


def _first_document(events: Iterable[Event]) -> Iterator[Event]:
    """The events of the first document; later documents are not parsed."""
    import yaml

    for event in events:
        yield event
        if isinstance(event, yaml.DocumentEndEvent):
            return


def _build_document(events: Iterable[Event], anchors: dict[str, object] | None) -> object:
    """`anchors`: the values of anchors, filled while parsing; None if aliases are not allowed."""
    import yaml

    open_containers: list[_Container] = []
    pending_keys: list[str | None] = []
    documents: list[object] = []
    for event in events:
        if isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            container = open_containers.pop()
            pending_keys.pop()
            if anchors is not None and isinstance(container, dict) and _MERGE_KEY in container:
                _merge(container)
        elif isinstance(event, yaml.NodeEvent):
            alias = anchors is not None and isinstance(event, yaml.AliasEvent)
            value = _resolve_alias(event, anchors or {}, open_containers) if alias else _event_value(event)
            _insert(value, event, open_containers[-1] if open_containers else documents, pending_keys)
            if anchors is not None and not alias and event.anchor:
                anchors[event.anchor] = value
            if isinstance(value, (dict, list)) and not alias:
                open_containers.append(value)
                pending_keys.append(None)
    if len(documents) > 1:
        raise ValueError(f"it holds {len(documents)} documents")
    return documents[0] if documents else None


def _resolve_alias(event: Event, anchors: Mapping[str, object], open_containers: Iterable[_Container]) -> object:
    anchor: str = getattr(event, "anchor", "")
    if anchor not in anchors:
        raise ValueError(f"*{shorten(anchor)} leads nowhere")
    if any(anchors[anchor] is container for container in open_containers):
        raise ValueError(f"*{shorten(anchor)} stands in what it leads to")
    return anchors[anchor]


def _merge(mapping: dict[str, object]) -> None:
    """Keys of the merged objects do not override keys of the object itself."""
    sources = mapping.pop(_MERGE_KEY)
    for source in sources if isinstance(sources, list) else [sources]:
        if not isinstance(source, dict):
            raise ValueError("<< stands before what is no object")
        for key, value in source.items():
            mapping.setdefault(key, value)


def _insert(value: object, event: Event, container: _Container, pending_keys: list[str | None]) -> None:
    """The last of `pending_keys` is the key that waits for its value."""
    if isinstance(container, list):
        container.append(value)
    elif pending_keys[-1] is not None:
        container[pending_keys[-1]] = value
        pending_keys[-1] = None
    else:
        key = getattr(event, "value", None)
        if not isinstance(key, str):
            raise ValueError("a key of it is no text")
        if key in container:
            # YAML forbids duplicate keys: otherwise the first value would be ignored silently.
            raise ValueError(f"{shorten(key)!r} is twice in one object")
        pending_keys[-1] = key


def _event_value(event: Event) -> object:
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
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


# JSON files of other programs, gzip-compressed or not: read within size limits, or refused with an error message.
#
# Each caller sets its own error class and wording.


MAX_BYTES = 256 << 20
"""In bytes. A plan of 30,000 pods has some 15 MB, one of Terraform some 20 MB; a device or pipe may never end."""


@frozen
class JsonFile:
    """A JSON file that a user names. `name` has its article (``the baseline``); `not_a` says what an undecodable file
    is not (``no plan``). `create_hint` says how to create the file; `empty_hint` why it may be empty, "" for
    `create_hint`. `flag`: "" if ``-`` is allowed for standard input. `foreign_formats`: magic bytes of files that users
    mistake for it, each with a description. `yaml`: YAML is accepted as well."""

    name: str
    not_a: str
    error: type[UsageError]
    create_hint: str
    flag: str = ""
    empty_hint: str = ""
    foreign_formats: tuple[tuple[bytes, str], ...] = ()
    yaml: bool = False

    def read(self, path: str) -> object:
        """The document at `path`. Its encoding may be UTF-16, as Windows PowerShell's > writes it.

        Raises:
            UsageError: of class `error`: the file cannot be opened, is too large, empty, or in no accepted format.
        """
        if path == "-" and self.flag:
            raise self.error(f"{self.flag} reads a file, not standard input", self.create_hint)
        description = f"{self.name} {'on standard input' if path == '-' else path}"
        return self._decode(description, self._read_content(path, description))

    def _read_content(self, path: str, description: str) -> bytes:
        try:
            with standard_input() if path == "-" else open_file(path) as file:
                # Read up to one byte more than the limit; a pipe may return less than requested.
                chunks: list[bytes] = []
                remaining_bytes = MAX_BYTES + 1
                while remaining_bytes > 0 and (chunk := file.read(remaining_bytes)):
                    chunks.append(chunk)
                    remaining_bytes -= len(chunk)
                content = b"".join(chunks)
        except (OSError, ValueError) as error:  # ValueError: a path that no system accepts
            raise self.error(
                f"cannot read {description}: {os_error_text(error)}", "Check the path and its permissions."
            ) from error
        if content.startswith(GZIP_MAGIC):
            try:
                content = decompress(content, MAX_BYTES)
            except ValueError as error:
                raise self.error(f"{description} is not JSON: {error}", self.create_hint) from error
        if len(content) > MAX_BYTES:
            raise self.error(
                f"{description} has more than {MAX_BYTES >> 20} MiB: that is {self.not_a}", self.create_hint
            )
        if not content.strip():
            raise self.error(f"{description} is empty", self.empty_hint or self.create_hint)
        for magic, format_name in self.foreign_formats:
            if content.startswith(magic):
                raise self.error(f"{description} is {format_name}", self.create_hint)
        return content

    def _decode(self, description: str, content: bytes) -> object:
        if self.yaml and looks_like_yaml(content):
            try:
                return parse_plain_yaml(content)
            except ValueError as error:
                message = f"{description} is neither JSON nor YAML, or not all of it: {shorten(str(error))}"
                raise self.error(message, self.create_hint) from error
        try:
            document: object = json.loads(content, parse_constant=reject_constant)
        except RecursionError as error:
            raise self.error(f"{description} is {self.not_a}: it is nested too deeply", self.create_hint) from error
        except ValueError as error:  # not JSON, not Unicode, or a number with thousands of digits
            message = f"{description} is not JSON, or not all of it: {shorten(str(error))}"
            raise self.error(message, self.create_hint) from error
        return document


def reject_constant(word: str) -> NoReturn:
    """Reject NaN and Infinity: JSON could not represent them in the output."""
    raise ValueError(f"{word} is no number in JSON")


# Text files that a flag names.


def read_text(path: str, flag: str, max_bytes: int, hint: str) -> str:
    """The text of the file that `flag` names, at most `max_bytes` long; `hint` says what to give instead.

    Raises:
        UsageError: it cannot be read, is too large, or is not UTF-8 text.
    """
    if path == "-":
        raise UsageError(f"{flag} reads a file, not standard input", hint)
    try:
        with open_file(path) as file:
            content = file.read(max_bytes + 1)
        if len(content) > max_bytes:
            raise UsageError(f"{flag} {path} is larger than {max_bytes >> 20} MiB", hint)
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{flag} {path} is no text in UTF-8", hint) from error
    except (OSError, ValueError) as error:  # ValueError: a path that no system accepts
        raise UsageError(f"{flag} {path} cannot be read: {os_error_text(error)}", hint) from error
