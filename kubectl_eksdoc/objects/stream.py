"""Streaming parser of JSON Lists of any size and formatting: yields their items, with one chunk in memory at a time.

msgspec finds the end of a value: if the text continues after the value, its error names the byte at which the trailing
characters begin. This is exact for any formatting, and as fast as its scanner.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import msgspec

from .structs import LeanStruct, ListMeta

MAX_VALUE_BYTES = 64 << 20
"""Bytes of one item. A real object has at most about 1.5 MiB (etcd's limit), and a few times that when it is printed
with indentation."""

_DECODE_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_SPACE = re.compile(rb"[ \t\r\n]*")
_COMMA = re.compile(rb"[ \t\r\n]*,[ \t\r\n]*([^ \t\r\n}\]])")
_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)\Z")
_BYTE = re.compile(r" ?\(byte (\d+)\)\Z")
_NUMBER_END = frozenset(b"0123456789.eE+-")
_CHUNK_MARGIN = 16
"""Bytes before the end of a chunk in which a truncated number, literal or escape can look malformed."""
_HEAD = re.compile(rb'\{\s*"(apiVersion|kind)"\s*:\s*"([^"\\]*)"\s*,\s*"(apiVersion|kind)"\s*:\s*"([^"\\]*)"\s*[,}]')
_UTF8_MARK = b"\xef\xbb\xbf"
_OTHER_FORMATS = {
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
    b"\x1f\x8b": "gzip data once more",
    b"PK\x03\x04": "a zip archive",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ": "an xz file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
}
"""First bytes of other file formats that users pass by mistake."""

_decode_raw = msgspec.json.Decoder(msgspec.Raw).decode
_decode_text = msgspec.json.Decoder(str).decode


def _byte_offset() -> int:
    """Difference between the reported byte and the index of the first trailing character."""
    try:
        _decode_raw(b"{}x")
    except msgspec.DecodeError as error:
        match = _TRAILING.search(str(error))
        if match:
            return int(match.group(1)) - 2
    raise ImportError("this msgspec does not say where trailing characters begin")


_BYTE_OFFSET = _byte_offset()


class StreamError(str, Enum):
    """The kind of an error in a stream; the reader of files chooses its advice by it."""

    EMPTY = "empty"
    CUT = "cut"
    MALFORMED = "malformed"
    ENCODING = "encoding"
    NOT_A_LIST = "not-a-list"
    TOO_LARGE = "too-large"


class InvalidStream(ValueError):
    """The bytes are not Lists. `description` names what they are instead, `kind` the object's kind if it has one."""

    def __init__(self, trouble: StreamError, description: str, kind: str = "") -> None:
        super().__init__(description)
        self.trouble = trouble
        self.description = description
        self.kind = kind


@dataclass(slots=True)
class ListHeader:
    """The fields of a List besides its items; during reading, the fields read so far."""

    kind: str = ""
    api_version: str = ""
    continue_token: str = ""
    remaining: int | None = None
    items: int = 0


class StreamItem(NamedTuple):
    """One object; `raw` is valid until the next item is read. `kind` is "" if the item has none."""

    raw: memoryview
    kind: str
    api_version: str
    within: ListHeader


class _Head(LeanStruct):
    api_version: str | None = None
    kind: str | None = None


_decode_head = msgspec.json.Decoder(_Head).decode
_decode_meta = msgspec.json.Decoder(ListMeta | None).decode


class ListStream:
    """The Lists in `chunks`, one after the other.

    Iteration yields every `StreamItem`, and after the last one of a List its `ListHeader`.

    Raises:
        InvalidStream: during iteration, at the first invalid byte.
    """

    def __init__(self, chunks: Iterable[bytes], largest: int = MAX_VALUE_BYTES) -> None:
        self._chunks = iter(chunks)
        self._largest = largest
        self._buffer = b""
        self._position = 0
        self._bytes_consumed = 0  # bytes that have left the buffer
        self._ended = False
        self._utf8 = codecs.getincrementaldecoder("utf-8")()

    def __iter__(self) -> Iterator[StreamItem | ListHeader]:
        # Check the first bytes: a byte order mark is skipped, other file formats are reported.
        head = b""
        for chunk in self._chunks:
            head += chunk
            if len(head) >= _CHUNK_MARGIN:
                break
        for mark, name in _OTHER_FORMATS.items():
            if head.startswith(mark):
                raise InvalidStream(StreamError.ENCODING, f"it is {name}, not JSON in UTF-8")
        self._check_utf8(head)
        if head.startswith(_UTF8_MARK):
            self._position = len(_UTF8_MARK)
        self._buffer = head
        first = self._next_char()
        if first is None:
            raise InvalidStream(StreamError.EMPTY, "it is empty")
        while first is not None:
            if first != b"{":
                raise self._not_an_object(first)
            yield from self._read_list()
            first = self._next_char()

    def _read_list(self) -> Iterator[StreamItem | ListHeader]:
        """One object at the top level; it is a List if it has items."""
        header, has_items = ListHeader(), False
        self._position += 1
        for key in self._read_keys():
            if key == "items":
                has_items = True
                yield from self._read_items(header)
            elif key in ("kind", "apiVersion", "metadata"):
                self._update_header(header, key, self._read_value())
            else:
                self._read_value()
        if not has_items:
            description = f"a single {header.kind}" if header.kind else "a JSON object without items"
            raise InvalidStream(StreamError.NOT_A_LIST, description, header.kind)
        yield header

    def _read_keys(self) -> Iterator[str]:
        """The keys of the object just opened, each with the position after its colon."""
        char = self._require_char()
        while char != b"}":
            if char != b'"':
                raise self._malformed("expected a key")
            try:
                key = _decode_text(self._read_value())
            except _DECODE_ERRORS as error:
                raise self._malformed(_error_reason(error)) from error
            self._expect(b":")
            yield key
            char = self._skip_comma(b"}")
        self._position += 1

    def _read_items(self, header: ListHeader) -> Iterator[StreamItem]:
        if self._require_char() != b"[":
            if bytes(self._read_value()) != b"null":  # Go sometimes prints an empty list as null
                raise InvalidStream(StreamError.NOT_A_LIST, 'a JSON object whose "items" is no array', header.kind)
            return
        self._position += 1
        char = self._require_char()
        while char != b"]":
            if char != b"{":
                raise self._malformed("expected an object in the list")
            raw = self._read_value()
            kind, api_version = _kind_and_version(raw) if not header.kind or header.kind == "List" else ("", "")
            header.items += 1
            yield StreamItem(raw, kind, api_version, header)
            char = self._skip_comma(b"]")
        self._position += 1

    def _skip_comma(self, end: bytes) -> bytes:
        """Skip a comma if there is one; returns the next character, `end` only if there was no comma."""
        if match := _COMMA.match(self._buffer, self._position):
            self._position = match.start(1)
            return match[1]
        char = self._require_char()
        if char == end:
            return char
        self._expect(b",")
        char = self._require_char()
        if char == end:
            raise self._malformed("a comma before the end")
        return char

    def _expect(self, expected: bytes) -> None:
        if self._require_char() != expected:
            raise self._malformed(f"expected {expected.decode()!r}")
        self._position += 1

    def _require_char(self) -> bytes:
        char = self._next_char()
        if char is None:
            raise self._truncated()
        return char

    def _next_char(self) -> bytes | None:
        """The next character that is not white space, without consuming it; None at the end."""
        while True:
            self._position = _SPACE.match(self._buffer, self._position).end()  # type: ignore[union-attr]
            if self._position < len(self._buffer):
                return self._buffer[self._position : self._position + 1]
            if not self._read_more():
                return None

    def _read_value(self) -> memoryview:
        """The value that begins at the position; moves the position after it."""
        self._require_char()
        while True:
            rest = memoryview(self._buffer)[self._position :]
            size = self._size(rest)
            if (size or len(rest)) > self._largest:
                raise InvalidStream(StreamError.TOO_LARGE, f"one value in it is larger than {self._largest >> 20} MiB")
            if size is not None:
                self._position += size
                return rest[:size]
            if self._ended:
                raise self._truncated()
            # Reading as many bytes as are there already keeps the cost linear in the size of a large value.
            self._read_more(len(rest))

    def _size(self, rest: memoryview) -> int | None:
        """Bytes of the value at the start of `rest`, None if it does not end there."""
        try:
            _decode_raw(rest)
        except RecursionError as error:
            raise self._malformed("it is nested too deeply") from error
        except msgspec.MsgspecError as error:
            message = str(error)
            match = _TRAILING.search(message)
            if match:
                return _trim_end(rest, int(match.group(1)) - _BYTE_OFFSET)
            match = _BYTE.search(message)
            if match is None or (not self._ended and int(match.group(1)) > len(rest) - _CHUNK_MARGIN):
                return None
            raise self._malformed(_error_reason(error), int(match.group(1))) from error
        if not self._ended and rest[-1] in _NUMBER_END:
            return None
        return _trim_end(rest, len(rest))

    def _read_more(self, at_least: int = 1) -> bool:
        """Read more; False at the end of the input. Bytes before the position are discarded."""
        parts, gained = [self._buffer[self._position :]], 0
        while gained < max(at_least, 1) and not self._ended:
            chunk = next(self._chunks, None)
            if chunk is None:
                self._ended = True
                self._check_utf8(b"")
            else:
                self._check_utf8(chunk)
                parts.append(chunk)
                gained += len(chunk)
        self._bytes_consumed += self._position
        self._position = 0
        self._buffer = b"".join(parts)
        return gained > 0

    def _update_header(self, header: ListHeader, key: str, raw: memoryview) -> None:
        """Store a field of the List; a value of a wrong type counts as absent."""
        try:
            if key == "metadata":
                meta: Any = _decode_meta(raw)
                if meta is not None:
                    header.continue_token, header.remaining = meta.continue_token or "", meta.remaining
            elif key == "kind":
                header.kind = _decode_text(raw)
            else:
                header.api_version = _decode_text(raw)
        except _DECODE_ERRORS:
            return

    def _check_utf8(self, chunk: bytes) -> None:
        """Check for UTF-8, because msgspec does not check text that it skips."""
        if chunk.isascii() and chunk and not self._utf8.getstate()[0]:
            return
        try:
            self._utf8.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            location = f"{error.reason} near byte {self._bytes_consumed + len(self._buffer) + error.start:,}"
            raise InvalidStream(StreamError.ENCODING, f"it is not UTF-8: {location}") from error

    def _not_an_object(self, first: bytes) -> InvalidStream:
        if first == b"[":
            return InvalidStream(StreamError.NOT_A_LIST, "a JSON array")
        return self._malformed("expected a List")

    def _malformed(self, reason: str, further: int = 0) -> InvalidStream:
        position = self._bytes_consumed + self._position + further
        return InvalidStream(StreamError.MALFORMED, f"it is not JSON at byte {position:,}: {reason}")

    def _truncated(self) -> InvalidStream:
        size = self._bytes_consumed + len(self._buffer)
        return InvalidStream(StreamError.CUT, f"it ends in the middle of a List, after {size:,} bytes")


def _trim_end(rest: memoryview, size: int) -> int:
    while rest[size - 1] in b" \t\r\n":
        size -= 1
    return size


def _kind_and_version(raw: memoryview) -> tuple[str, str]:
    """(kind, apiVersion) of an item. kubectl prints both first; otherwise the whole item is searched."""
    match = _HEAD.match(raw)
    if match and match.group(1) != match.group(3):
        first, second = match.group(2).decode("utf-8", "replace"), match.group(4).decode("utf-8", "replace")
        return (first, second) if match.group(1) == b"kind" else (second, first)
    try:
        head = _decode_head(raw)
    except _DECODE_ERRORS as error:
        raise InvalidStream(StreamError.MALFORMED, f"an item's kind cannot be read: {_error_reason(error)}") from error
    return head.kind or "", head.api_version or ""


def _error_reason(error: Exception) -> str:
    """msgspec's message without the byte position, which counts from the wrong place."""
    return _BYTE.sub("", str(error)).removeprefix("JSON is malformed: ")
