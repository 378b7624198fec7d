"""Snapshot containers (file, folder, tar, stdin) as a sequence of JSON parts. Nothing is extracted to disk.

Names in an archive are only displayed, so ``../`` in them has no effect.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import stat
import sys
import tarfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from kubectl_eksdoc.files import open_file
from kubectl_eksdoc.frozen import frozen

CHUNK_BYTES = 256 << 10
MAX_HEADER_BYTES = 1 << 20

_SUFFIXES = (".json", ".json.gz")
_GZIP_MAGIC = b"\x1f\x8b"
_LONG_HEADERS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


class BadArchive(ValueError):
    """The container cannot be read; the message says why, without the path."""


@frozen
class ArchiveLimits:
    """Limits that tell a dump from a decompression bomb.

    `ratio` is decompressed bytes per compressed byte, checked once `ratio_from_bytes` are decompressed: deflate can
    reach 1032, dumps of identical replicas reach about 100.
    """

    unpacked_bytes: int = 64 << 30
    ratio: int = 500
    ratio_from_bytes: int = 1 << 30
    entries: int = 100_000


DEFAULT_LIMITS = ArchiveLimits()
TAR_ERRORS = (tarfile.TarError, EOFError, ValueError, LookupError, OverflowError, RecursionError)
"""Exceptions of tarfile for contradictory headers; RecursionError: for thousands of consecutive headers."""
MAX_PART_BYTES = 256 << 20


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


@frozen
class ArchivePart:
    """One JSON text. `stem` is its file name without folder and suffix; `reread` is None if it can be read only once;
    `entry_path` is its path in the archive or below the folder, "" for a single file.

    `chunks` and `reread` raise BadArchive or OSError during iteration. In an archive, the chunks must be consumed
    before the next part is requested.
    """

    name: str
    stem: str
    chunks: Callable[[], Iterator[bytes]]
    reread: Callable[[], Iterator[bytes]] | None
    entry_path: str = ""


def archive_parts(path: str, limits: ArchiveLimits = DEFAULT_LIMITS) -> Iterator[ArchivePart]:
    """All files in `path` named *.json or *.json.gz, or `path` itself; "-" is stdin.

    Raises:
        OSError: the path cannot be opened.
        BadArchive: it is a damaged archive, or exceeds the limits.
    """
    if "\0" in path:
        raise BadArchive("its path has a null character")
    if path != "-" and os.path.isdir(path):
        yield from _folder_parts(path, limits)
        return
    repeatable = path != "-" and stat.S_ISREG(os.stat(path).st_mode)
    name = "standard input" if path == "-" else path
    with standard_input() if path == "-" else open_file(path, buffering=0) as raw:
        stream, is_gzip = _decompressed(raw, limits)
        head = _read_exactly(stream, tarfile.BLOCKSIZE)
        if _is_tar(head):
            yield from _tar_parts(
                _ChainedStream(head, stream), name, _tar_opener(path, limits) if repeatable else None, limits
            )
            if is_gzip:
                _read_to_end(stream)
        else:
            reread = (lambda: _file_chunks(path, limits)) if repeatable else None
            yield ArchivePart(
                name, "" if path == "-" else _stem(path), lambda: _chunks(_ChainedStream(head, stream)), reread
            )


def read_part(part: ArchivePart, description: str = "") -> bytes:
    """All bytes of a part. Raises BadArchive: it is larger than any file that this tool writes."""
    content = bytearray()
    for chunk in part.chunks():
        content += chunk
        if len(content) > MAX_PART_BYTES:
            raise BadArchive(f"{description or f'{part.name} is'} larger than {MAX_PART_BYTES >> 20} MiB")
    return bytes(content)


def _folder_parts(path: str, limits: ArchiveLimits) -> Iterator[ArchivePart]:
    """Regular files only: reading a named pipe could block for ever."""

    def refuse(error: OSError) -> None:
        raise error

    for folder, folders, names in os.walk(path, onerror=refuse):
        folders[:] = sorted(f for f in folders if not _is_hidden(f))
        for name in sorted(names):
            file_path = os.path.join(folder, name)
            if _holds_json(name) and (os.path.isfile(file_path) or not os.path.exists(file_path)):
                yield _file_part(file_path, os.path.relpath(file_path, path), limits)


def _file_part(path: str, entry_path: str, limits: ArchiveLimits) -> ArchivePart:
    return ArchivePart(
        path, _stem(path), lambda: _file_chunks(path, limits), lambda: _file_chunks(path, limits), entry_path
    )


def _file_chunks(path: str, limits: ArchiveLimits) -> Iterator[bytes]:
    with open(path, "rb", buffering=0) as raw:
        yield from _chunks(_decompressed(raw, limits)[0])


def _tar_opener(path: str, limits: ArchiveLimits) -> Callable[[int], Iterator[bytes]]:
    """A function that reads the entry with a given number again, from the start of the archive."""

    def open_entry(index: int) -> Iterator[bytes]:
        with open(path, "rb", buffering=0) as raw:
            for number, part in enumerate(_tar_parts(_decompressed(raw, limits)[0], path, None, limits)):
                if number == index:
                    yield from part.chunks()
                    return

    return open_entry


def _tar_parts(
    stream: Readable, name: str, opener: Callable[[int], Iterator[bytes]] | None, limits: ArchiveLimits
) -> Iterator[ArchivePart]:
    """The JSON entries of a tar archive, read as a stream."""
    number = 0
    source: Any = stream
    try:
        with tarfile.open(fileobj=source, mode="r|", bufsize=CHUNK_BYTES, tarinfo=TarHeader) as archive:
            for count, entry in enumerate(archive, 1):
                if count > limits.entries:
                    raise BadArchive(f"it has more than {limits.entries:,} entries")
                if not entry.isreg() or not _holds_json(os.path.basename(entry.name)):
                    continue
                yield _tar_part(archive, entry, f"{name}:{entry.name}", number, opener, limits)
                number += 1
    except BadArchive:
        raise
    except TAR_ERRORS as error:
        raise BadArchive(f"the tar archive is cut short or damaged ({error})") from error


def _tar_part(
    archive: tarfile.TarFile,
    entry: tarfile.TarInfo,
    name: str,
    number: int,
    opener: Callable[[int], Iterator[bytes]] | None,
    limits: ArchiveLimits,
) -> ArchivePart:
    def chunks() -> Iterator[bytes]:
        file = archive.extractfile(entry)
        if file is None:
            raise BadArchive("an entry of the archive has no data")
        try:
            yield from _chunks(_decompressed(file, limits)[0])
        except tarfile.TarError as error:
            raise BadArchive(f"the tar archive is cut short or damaged ({error})") from error

    reread = None if opener is None else lambda: opener(number)
    return ArchivePart(name, _stem(entry.name), chunks, reread, entry.name)


class TarHeader(tarfile.TarInfo):
    """Rejects damaged headers: tarfile stops silently at a damaged header after the first, so a truncated archive would
    look complete."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        # Every CPython version calls this method between reading a header (also a follow-up header) and using its size;
        # `frombuf` is bypassed in the releases that limit the number of follow-up headers.
        if self.type in _LONG_HEADERS and self.size > MAX_HEADER_BYTES:
            raise BadArchive(f"the tar archive has a header of {self.size:,} bytes")
        return super()._proc_member(archive)  # type: ignore[misc,no-any-return]

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> TarHeader:
        try:
            return super().fromtarfile(archive)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            raise BadArchive(f"the tar archive is cut short or damaged ({error})") from error


class _CountingStream:
    """Counts the bytes read from a compressed file."""

    def __init__(self, inner: Readable) -> None:
        self._inner = inner
        self.count = 0

    def read(self, size: int) -> bytes:
        data = self._inner.read(size)
        self.count += len(data)
        return data


class GzipReader:
    """Decompresses gzip within the limits."""

    def __init__(self, compressed: Readable, limits: ArchiveLimits) -> None:
        self._limits = limits
        self._compressed = _CountingStream(compressed)
        inner: Any = self._compressed
        self._file = gzip.GzipFile(fileobj=inner, mode="rb")
        self._count = 0

    def read(self, size: int) -> bytes:
        try:
            data = self._file.read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise BadArchive(f"the gzip data is cut short or damaged ({error})") from error
        self._count += len(data)
        ratio = self._count // max(self._compressed.count, 1)
        limits = self._limits
        if self._count > limits.unpacked_bytes or (self._count > limits.ratio_from_bytes and ratio > limits.ratio):
            raise BadArchive(f"it unpacks to more than {self._count >> 20:,} MiB, {ratio} times its size: no dump does")
        return data


class _ChainedStream:
    """The bytes that were already read, then the rest of the stream."""

    def __init__(self, head: bytes, rest: Readable) -> None:
        self._head = io.BytesIO(head)
        self._rest = rest

    def read(self, size: int) -> bytes:
        return self._head.read(size) or self._rest.read(size)


def _decompressed(raw: Readable, limits: ArchiveLimits) -> tuple[Readable, bool]:
    """`raw` decompressed if its first bytes are those of gzip, whatever its name; and whether they are."""
    head = _read_exactly(raw, len(_GZIP_MAGIC))
    chained = _ChainedStream(head, raw)
    return (GzipReader(chained, limits), True) if head == _GZIP_MAGIC else (chained, False)


def _read_exactly(stream: Readable, size: int) -> bytes:
    """`size` bytes, fewer only at the end of the stream: a pipe may return less per read."""
    data = b""
    while len(data) < size:
        more = stream.read(size - len(data))
        if not more:
            break
        data += more
    return data


def _chunks(stream: Readable) -> Iterator[bytes]:
    while chunk := stream.read(CHUNK_BYTES):
        yield chunk


def _read_to_end(stream: Readable) -> None:
    """Read to the end, where gzip keeps its checksum."""
    for _ in _chunks(stream):
        pass


def _is_tar(head: bytes) -> bool:
    try:
        tarfile.TarInfo.frombuf(head, tarfile.ENCODING, "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def standard_input() -> io.FileIO:
    """The bytes of standard input, unbuffered: a read returns the available bytes.

    Raises:
        OSError: it is closed.
    """
    if sys.stdin is None:
        raise OSError(errno.EBADF, "standard input is closed")
    return io.FileIO(os.dup(sys.stdin.fileno()), "rb")


def _holds_json(name: str) -> bool:
    return name.lower().endswith(_SUFFIXES) and not _is_hidden(name)


def _is_hidden(name: str) -> bool:
    """True also for the ``._name`` files that macOS adds to archives."""
    return name.startswith(".")


def _stem(path: str) -> str:
    name = os.path.basename(path).lower()
    return name.removesuffix(".gz").removesuffix(".json")
