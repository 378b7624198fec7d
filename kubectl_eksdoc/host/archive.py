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

from kubectl_eksdoc.files import opened
from kubectl_eksdoc.frozen import frozen

CHUNK = 256 << 10
LONGEST_NAME = 1 << 20

_ENDINGS = (".json", ".json.gz")
_GZIP = b"\x1f\x8b"
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

    unpacked: int = 64 << 30
    ratio: int = 500
    ratio_from: int = 1 << 30
    entries: int = 100_000


BOUNDS = ArchiveLimits()
DAMAGE = (tarfile.TarError, EOFError, ValueError, LookupError, OverflowError, RecursionError)
"""Exceptions of tarfile for contradictory headers; RecursionError: for thousands of consecutive headers."""
LARGEST_WHOLE = 256 << 20


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
    again: Callable[[], Iterator[bytes]] | None
    entry: str = ""


def parts(path: str, bounds: ArchiveLimits = BOUNDS) -> Iterator[ArchivePart]:
    """All files in `path` named *.json or *.json.gz, or `path` itself; "-" is stdin.

    Raises:
        OSError: the path cannot be opened.
        BadArchive: it is a damaged archive, or exceeds the limits.
    """
    if "\0" in path:
        raise BadArchive("its path has a null character")
    if path != "-" and os.path.isdir(path):
        yield from _of_folder(path, bounds)
        return
    repeatable = path != "-" and stat.S_ISREG(os.stat(path).st_mode)
    name = "standard input" if path == "-" else path
    with standard_input() if path == "-" else opened(path, buffering=0) as raw:
        stream, packed = _unpacked(raw, bounds)
        head = _exactly(stream, tarfile.BLOCKSIZE)
        if _is_tar(head):
            yield from _of_tar(_Joined(head, stream), name, _tar_opener(path, bounds) if repeatable else None, bounds)
            if packed:
                _drain(stream)
        else:
            again = (lambda: _file_chunks(path, bounds)) if repeatable else None
            yield ArchivePart(name, "" if path == "-" else _stem(path), lambda: _chunks(_Joined(head, stream)), again)


def whole(part: ArchivePart, called: str = "") -> bytes:
    """All bytes of a part. Raises BadArchive: it is larger than any file that this tool writes."""
    read = bytearray()
    for chunk in part.chunks():
        read += chunk
        if len(read) > LARGEST_WHOLE:
            raise BadArchive(f"{called or f'{part.name} is'} larger than {LARGEST_WHOLE >> 20} MiB")
    return bytes(read)


def _of_folder(path: str, bounds: ArchiveLimits) -> Iterator[ArchivePart]:
    """Regular files only: reading a named pipe could block for ever."""

    def refuse(error: OSError) -> None:
        raise error

    for folder, folders, names in os.walk(path, onerror=refuse):
        folders[:] = sorted(f for f in folders if not _hidden(f))
        for name in sorted(names):
            full = os.path.join(folder, name)
            if _holds_json(name) and (os.path.isfile(full) or not os.path.exists(full)):
                yield _file_part(full, os.path.relpath(full, path), bounds)


def _file_part(full: str, entry: str, bounds: ArchiveLimits) -> ArchivePart:
    return ArchivePart(full, _stem(full), lambda: _file_chunks(full, bounds), lambda: _file_chunks(full, bounds), entry)


def _file_chunks(path: str, bounds: ArchiveLimits) -> Iterator[bytes]:
    with open(path, "rb", buffering=0) as raw:
        yield from _chunks(_unpacked(raw, bounds)[0])


def _tar_opener(path: str, bounds: ArchiveLimits) -> Callable[[int], Iterator[bytes]]:
    """A function that reads the entry with a given number again, from the start of the archive."""

    def open_entry(index: int) -> Iterator[bytes]:
        with open(path, "rb", buffering=0) as raw:
            for number, part in enumerate(_of_tar(_unpacked(raw, bounds)[0], path, None, bounds)):
                if number == index:
                    yield from part.chunks()
                    return

    return open_entry


def _of_tar(
    stream: Readable, name: str, opener: Callable[[int], Iterator[bytes]] | None, bounds: ArchiveLimits
) -> Iterator[ArchivePart]:
    """The JSON entries of a tar archive, read as a stream."""
    number = 0
    source: Any = stream
    try:
        with tarfile.open(fileobj=source, mode="r|", bufsize=CHUNK, tarinfo=TarHeader) as archive:
            for count, entry in enumerate(archive, 1):
                if count > bounds.entries:
                    raise BadArchive(f"it has more than {bounds.entries:,} entries")
                if not entry.isreg() or not _holds_json(os.path.basename(entry.name)):
                    continue
                yield _tar_part(archive, entry, f"{name}:{entry.name}", number, opener, bounds)
                number += 1
    except BadArchive:
        raise
    except DAMAGE as error:
        raise BadArchive(f"the tar archive is cut short or damaged ({error})") from error


def _tar_part(
    archive: tarfile.TarFile,
    entry: tarfile.TarInfo,
    name: str,
    number: int,
    opener: Callable[[int], Iterator[bytes]] | None,
    bounds: ArchiveLimits,
) -> ArchivePart:
    def chunks() -> Iterator[bytes]:
        file = archive.extractfile(entry)
        if file is None:
            raise BadArchive("an entry of the archive has no data")
        try:
            yield from _chunks(_unpacked(file, bounds)[0])
        except tarfile.TarError as error:
            raise BadArchive(f"the tar archive is cut short or damaged ({error})") from error

    again = None if opener is None else lambda: opener(number)
    return ArchivePart(name, _stem(entry.name), chunks, again, entry.name)


class TarHeader(tarfile.TarInfo):
    """Rejects damaged headers: tarfile stops silently at a damaged header after the first, so a truncated archive would
    look complete."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        # Every CPython version calls this method between reading a header (also a follow-up header) and using its size;
        # `frombuf` is bypassed in the releases that limit the number of follow-up headers.
        if self.type in _LONG_HEADERS and self.size > LONGEST_NAME:
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


class _Counted:
    """Counts the bytes read from a compressed file."""

    def __init__(self, inner: Readable) -> None:
        self._inner = inner
        self.count = 0

    def read(self, size: int) -> bytes:
        data = self._inner.read(size)
        self.count += len(data)
        return data


class Gunzip:
    """Decompresses gzip within the limits."""

    def __init__(self, packed: Readable, bounds: ArchiveLimits) -> None:
        self._bounds = bounds
        self._packed = _Counted(packed)
        inner: Any = self._packed
        self._file = gzip.GzipFile(fileobj=inner, mode="rb")
        self._count = 0

    def read(self, size: int) -> bytes:
        try:
            data = self._file.read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise BadArchive(f"the gzip data is cut short or damaged ({error})") from error
        self._count += len(data)
        ratio = self._count // max(self._packed.count, 1)
        bounds = self._bounds
        if self._count > bounds.unpacked or (self._count > bounds.ratio_from and ratio > bounds.ratio):
            raise BadArchive(f"it unpacks to more than {self._count >> 20:,} MiB, {ratio} times its size: no dump does")
        return data


class _Joined:
    """The bytes that were already read, then the rest of the stream."""

    def __init__(self, head: bytes, rest: Readable) -> None:
        self._head = io.BytesIO(head)
        self._rest = rest

    def read(self, size: int) -> bytes:
        return self._head.read(size) or self._rest.read(size)


def _unpacked(raw: Readable, bounds: ArchiveLimits) -> tuple[Readable, bool]:
    """`raw` decompressed if its first bytes are those of gzip, whatever its name; and whether they are."""
    head = _exactly(raw, len(_GZIP))
    joined = _Joined(head, raw)
    return (Gunzip(joined, bounds), True) if head == _GZIP else (joined, False)


def _exactly(stream: Readable, size: int) -> bytes:
    """`size` bytes, fewer only at the end of the stream: a pipe may return less per read."""
    data = b""
    while len(data) < size:
        more = stream.read(size - len(data))
        if not more:
            break
        data += more
    return data


def _chunks(stream: Readable) -> Iterator[bytes]:
    while chunk := stream.read(CHUNK):
        yield chunk


def _drain(stream: Readable) -> None:
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
    return name.lower().endswith(_ENDINGS) and not _hidden(name)


def _hidden(name: str) -> bool:
    """True also for the ``._name`` files that macOS adds to archives."""
    return name.startswith(".")


def _stem(path: str) -> str:
    name = os.path.basename(path).lower()
    return name.removesuffix(".gz").removesuffix(".json")
