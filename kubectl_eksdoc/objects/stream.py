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

from .structs import Lean, ListMeta

LARGEST_VALUE = 64 << 20
"""Bytes of one item. A real object has at most about 1.5 MiB (etcd's limit), and a few times that when it is printed
with indentation."""

_MALFORMED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_SPACE = re.compile(rb"[ \t\r\n]*")
_COMMA = re.compile(rb"[ \t\r\n]*,[ \t\r\n]*([^ \t\r\n}\]])")
_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)\Z")
_BYTE = re.compile(r" ?\(byte (\d+)\)\Z")
_NUMBER_END = frozenset(b"0123456789.eE+-")
_NEAR = 16
"""Bytes before the end of a chunk in which a truncated number, literal or escape can look malformed."""
_HEAD = re.compile(rb'\{\s*"(apiVersion|kind)"\s*:\s*"([^"\\]*)"\s*,\s*"(apiVersion|kind)"\s*:\s*"([^"\\]*)"\s*[,}]')
_UTF8_MARK = b"\xef\xbb\xbf"
_FOREIGN = {
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


def _shift() -> int:
    """Difference between the reported byte and the index of the first trailing character."""
    try:
        _decode_raw(b"{}x")
    except msgspec.DecodeError as error:
        match = _TRAILING.search(str(error))
        if match:
            return int(match.group(1)) - 2
    raise ImportError("this msgspec does not say where trailing characters begin")


_SHIFT = _shift()


class StreamTrouble(str, Enum):
    """The kind of an error in a stream; the reader of files chooses its advice by it."""

    EMPTY = "empty"
    CUT = "cut"
    MALFORMED = "malformed"
    ENCODING = "encoding"
    NOT_A_LIST = "not-a-list"
    TOO_LARGE = "too-large"


class BadStream(ValueError):
    """The bytes are not Lists. `description` names what they are instead, `kind` the object's kind if it has one."""

    def __init__(self, trouble: StreamTrouble, what: str, kind: str = "") -> None:
        super().__init__(what)
        self.trouble = trouble
        self.what = what
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


class _Head(Lean):
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

    def __init__(self, chunks: Iterable[bytes], largest: int = LARGEST_VALUE) -> None:
        self._chunks = iter(chunks)
        self._largest = largest
        self._buffer = b""
        self._position = 0
        self._before = 0  # bytes that have left the buffer
        self._ended = False
        self._utf8 = codecs.getincrementaldecoder("utf-8")()

    def __iter__(self) -> Iterator[StreamItem | ListHeader]:
        # Check the first bytes: a byte order mark is skipped, other file formats are reported.
        head = b""
        for chunk in self._chunks:
            head += chunk
            if len(head) >= _NEAR:
                break
        for mark, name in _FOREIGN.items():
            if head.startswith(mark):
                raise BadStream(StreamTrouble.ENCODING, f"it is {name}, not JSON in UTF-8")
        self._check_text(head)
        if head.startswith(_UTF8_MARK):
            self._position = len(_UTF8_MARK)
        self._buffer = head
        first = self._next_char()
        if first is None:
            raise BadStream(StreamTrouble.EMPTY, "it is empty")
        while first is not None:
            if first != b"{":
                raise self._not_an_object(first)
            yield from self._list()
            first = self._next_char()

    def _list(self) -> Iterator[StreamItem | ListHeader]:
        """One object at the top level; it is a List if it has items."""
        header, has_items = ListHeader(), False
        self._position += 1
        for key in self._keys():
            if key == "items":
                has_items = True
                yield from self._items(header)
            elif key in ("kind", "apiVersion", "metadata"):
                self._learn(header, key, self._value())
            else:
                self._value()
        if not has_items:
            what = f"a single {header.kind}" if header.kind else "a JSON object without items"
            raise BadStream(StreamTrouble.NOT_A_LIST, what, header.kind)
        yield header

    def _keys(self) -> Iterator[str]:
        """The keys of the object just opened, each with the position after its colon."""
        char = self._needed_char()
        while char != b"}":
            if char != b'"':
                raise self._malformed("expected a key")
            try:
                key = _decode_text(self._value())
            except _MALFORMED as error:
                raise self._malformed(_reason(error)) from error
            self._take(b":")
            yield key
            char = self._between(b"}")
        self._position += 1

    def _items(self, header: ListHeader) -> Iterator[StreamItem]:
        if self._needed_char() != b"[":
            if bytes(self._value()) != b"null":  # Go sometimes prints an empty list as null
                raise BadStream(StreamTrouble.NOT_A_LIST, 'a JSON object whose "items" is no array', header.kind)
            return
        self._position += 1
        char = self._needed_char()
        while char != b"]":
            if char != b"{":
                raise self._malformed("expected an object in the list")
            raw = self._value()
            kind, api_version = _head_of(raw) if not header.kind or header.kind == "List" else ("", "")
            header.items += 1
            yield StreamItem(raw, kind, api_version, header)
            char = self._between(b"]")
        self._position += 1

    def _between(self, end: bytes) -> bytes:
        """Skip a comma if there is one; returns the next character, `end` only if there was no comma."""
        if usual := _COMMA.match(self._buffer, self._position):
            self._position = usual.start(1)
            return usual[1]
        char = self._needed_char()
        if char == end:
            return char
        self._take(b",")
        char = self._needed_char()
        if char == end:
            raise self._malformed("a comma before the end")
        return char

    def _take(self, wanted: bytes) -> None:
        if self._needed_char() != wanted:
            raise self._malformed(f"expected {wanted.decode()!r}")
        self._position += 1

    def _needed_char(self) -> bytes:
        char = self._next_char()
        if char is None:
            raise self._cut()
        return char

    def _next_char(self) -> bytes | None:
        """The next character that is not white space, without consuming it; None at the end."""
        while True:
            self._position = _SPACE.match(self._buffer, self._position).end()  # type: ignore[union-attr]
            if self._position < len(self._buffer):
                return self._buffer[self._position : self._position + 1]
            if not self._more():
                return None

    def _value(self) -> memoryview:
        """The value that begins at the position; moves the position after it."""
        self._needed_char()
        while True:
            rest = memoryview(self._buffer)[self._position :]
            size = self._size(rest)
            if (size or len(rest)) > self._largest:
                raise BadStream(StreamTrouble.TOO_LARGE, f"one value in it is larger than {self._largest >> 20} MiB")
            if size is not None:
                self._position += size
                return rest[:size]
            if self._ended:
                raise self._cut()
            # Reading as many bytes as are there already keeps the cost linear in the size of a large value.
            self._more(len(rest))

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
                return _trimmed(rest, int(match.group(1)) - _SHIFT)
            match = _BYTE.search(message)
            if match is None or (not self._ended and int(match.group(1)) > len(rest) - _NEAR):
                return None
            raise self._malformed(_reason(error), int(match.group(1))) from error
        if not self._ended and rest[-1] in _NUMBER_END:
            return None
        return _trimmed(rest, len(rest))

    def _more(self, at_least: int = 1) -> bool:
        """Read more; False at the end of the input. Bytes before the position are discarded."""
        parts, gained = [self._buffer[self._position :]], 0
        while gained < max(at_least, 1) and not self._ended:
            chunk = next(self._chunks, None)
            if chunk is None:
                self._ended = True
                self._check_text(b"")
            else:
                self._check_text(chunk)
                parts.append(chunk)
                gained += len(chunk)
        self._before += self._position
        self._position = 0
        self._buffer = b"".join(parts)
        return gained > 0

    def _learn(self, header: ListHeader, key: str, raw: memoryview) -> None:
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
        except _MALFORMED:
            return

    def _check_text(self, chunk: bytes) -> None:
        """Check for UTF-8, because msgspec does not check text that it skips."""
        if chunk.isascii() and chunk and not self._utf8.getstate()[0]:
            return
        try:
            self._utf8.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            at = f"{error.reason} near byte {self._before + len(self._buffer) + error.start:,}"
            raise BadStream(StreamTrouble.ENCODING, f"it is not UTF-8: {at}") from error

    def _not_an_object(self, first: bytes) -> BadStream:
        if first == b"[":
            return BadStream(StreamTrouble.NOT_A_LIST, "a JSON array")
        return self._malformed("expected a List")

    def _malformed(self, reason: str, further: int = 0) -> BadStream:
        where = self._before + self._position + further
        return BadStream(StreamTrouble.MALFORMED, f"it is not JSON at byte {where:,}: {reason}")

    def _cut(self) -> BadStream:
        size = self._before + len(self._buffer)
        return BadStream(StreamTrouble.CUT, f"it ends in the middle of a List, after {size:,} bytes")


def _trimmed(rest: memoryview, size: int) -> int:
    while rest[size - 1] in b" \t\r\n":
        size -= 1
    return size


def _head_of(raw: memoryview) -> tuple[str, str]:
    """(kind, apiVersion) of an item. kubectl prints both first; otherwise the whole item is searched."""
    match = _HEAD.match(raw)
    if match and match.group(1) != match.group(3):
        first, second = match.group(2).decode("utf-8", "replace"), match.group(4).decode("utf-8", "replace")
        return (first, second) if match.group(1) == b"kind" else (second, first)
    try:
        head = _decode_head(raw)
    except _MALFORMED as error:
        raise BadStream(StreamTrouble.MALFORMED, f"an item's kind cannot be read: {_reason(error)}") from error
    return head.kind or "", head.api_version or ""


def _reason(error: Exception) -> str:
    """msgspec's message without the byte position, which counts from the wrong place."""
    return _BYTE.sub("", str(error)).removeprefix("JSON is malformed: ")
