"""Writes a snapshot: an archive that tar and gzip know, made of pieces that are compressed each by itself, so that a
list that is begun anew can be left out and what tells of the whole comes first.

Pieces go to a file without a name beside the one that is wanted, and only a whole one gets its name.
"""

from __future__ import annotations

import errno
import os
import tarfile
import zlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from tempfile import TemporaryFile
from typing import IO

from kubectl_eksdoc.errors import SnapshotError
from kubectl_eksdoc.model.kinds import Resource

MANIFEST = "eksdoc-manifest"
"""The name of the first file in it, without ``.json``."""
LISTS, SCENES = "lists", "scenes"

_GZIP = 16 + zlib.MAX_WBITS
_LEVEL = 1
_WAITING = 8
"""So many pages may wait to be compressed: no more of a large cluster is held at once."""


class SnapshotFile:
    """A snapshot that is being made at `path`. Whoever opens it either finishes or drops it. Mutable."""

    def __init__(self, path: str) -> None:
        """
        Raises:
            SnapshotError: nothing can be written there.
        """
        self._path = path
        self._replaces = os.path.lexists(path)
        beside = os.path.dirname(os.path.abspath(path))
        try:
            # Without a name: whatever ends this process, nothing of it stays.
            self._pieces: IO[bytes] = TemporaryFile(dir=beside)  # noqa: SIM115 - closed by `drop`
        except OSError as error:
            raise self._unwritten(error) from error
        self._end = 0
        self._where: dict[tuple[str, str], list[tuple[int, int]]] = {}
        self._counts: dict[tuple[str, str], int] = {}
        self._compressing = ThreadPoolExecutor(1)
        self._queue: list[tuple[tuple[str, str], Future[bytes]]] = []

    def page(self, scene: str, resource: Resource, body: bytes) -> None:
        """A page of a list."""
        key = scene, resource.full_name
        self._counts[key] = number = self._counts.get(key, 0) + 1
        self._add(key, f"{folder(scene)}{LISTS}/{resource.full_name}/{number:05}.json", body)

    def forget(self, scene: str, resource: Resource) -> None:
        """The list is begun anew."""
        key = scene, resource.full_name
        self._settle(0)
        self._where.pop(key, None)

    def file(self, scene: str, stem: str, body: bytes) -> None:
        """Another file, ``stem.json``."""
        self._add((scene, stem), f"{folder(scene)}{stem}.json", body)

    def finish(self, manifest: bytes) -> int:
        """The whole, with what it says of itself in front; its size in bytes.

        Raises:
            SnapshotError: it cannot be written; nothing of it is left then.
        """
        try:
            self._settle(0)
            size = self._put_together(manifest)
        except OSError as error:
            raise self._unwritten(error) from error
        finally:
            self.drop()
        return size

    def drop(self) -> None:
        """What was not finished leaves nothing behind."""
        self._compressing.shutdown(cancel_futures=True)
        self._pieces.close()

    def _put_together(self, manifest: bytes) -> int:
        whole = f"{self._path}.{os.getpid()}.part"
        try:
            with open(os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(_packed(f"{MANIFEST}.json", manifest))
                for _, pieces in sorted(self._where.items(), key=lambda each: each[0] in self._counts):  # lists last
                    for start, length in pieces:
                        self._pieces.seek(start)
                        file.write(self._pieces.read(length))
                file.write(_compressed(b"\0" * tarfile.BLOCKSIZE * 2))
                file.flush()
                os.fsync(file.fileno())
                size = file.tell()
            if os.path.lexists(self._path) and not self._replaces:
                raise FileExistsError(errno.EEXIST, "another process has written it meanwhile")
            os.replace(whole, self._path)
        except BaseException:
            with suppress(OSError):
                os.unlink(whole)
            raise
        return size

    def _add(self, key: tuple[str, str], name: str, body: bytes) -> None:
        work: Callable[[], bytes] = lambda: _packed(name, body)  # noqa: E731 - typed, and handed on
        self._queue.append((key, self._compressing.submit(work)))
        self._settle(_WAITING)

    def _settle(self, left: int) -> None:
        """Write what is compressed, until no more than `left` pieces wait."""
        while len(self._queue) > left:
            key, done = self._queue.pop(0)
            packed = done.result()
            try:
                self._pieces.write(packed)
            except OSError as error:
                raise self._unwritten(error) from error
            self._where.setdefault(key, []).append((self._end, len(packed)))
            self._end += len(packed)

    def _unwritten(self, error: OSError) -> SnapshotError:
        return SnapshotError(
            f"cannot write the snapshot {self._path}: {error.strerror or error}", "Is there room, and may you write?"
        )


def folder(scene: str) -> str:
    """In the archive, "" or with a slash at its end."""
    return f"{SCENES}/{scene}/" if scene else ""


def _packed(name: str, body: bytes) -> bytes:
    """A file of the archive: its header, its bytes, and zeros up to the next block."""
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(body), 0o600
    rest = -len(body) % tarfile.BLOCKSIZE
    return _compressed(info.tobuf(tarfile.PAX_FORMAT), body, b"\0" * rest)


def _compressed(*parts: bytes) -> bytes:
    """As gzip does it, without a time in it."""
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    return b"".join((*(packer.compress(part) for part in parts), packer.flush()))
