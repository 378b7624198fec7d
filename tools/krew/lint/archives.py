"""An archive of a krew plugin, from a file: what is in it, and its checksum. Nothing is written to disk."""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.files import opened
from kubectl_eksdoc.host.archives.archive import DAMAGE, ArchiveLimits, BadArchive, Gunzip, TarHeader
from tools.krew.lint.model import Entry, EntryKind, Packing, PluginArchive

BOUNDS = ArchiveLimits(unpacked=4 << 30, ratio=500, ratio_from=256 << 20, entries=100_000)
MOST_BYTES = 1 << 30
"""krew reads the whole of it into memory."""

_HINT = "Name the archive that a platform's uri leads to."
_CHUNK = 256 << 10
_HEAD = 128
_GZIP, _ZIP = b"\x1f\x8b\x08", b"PK\x03\x04"
"""As Go's net/http.DetectContentType tells them."""

_SKIPPED = "pax_global_header"
_OF_TAR = {
    tarfile.REGTYPE: EntryKind.FILE,
    tarfile.AREGTYPE: EntryKind.FILE,
    tarfile.DIRTYPE: EntryKind.FOLDER,
    tarfile.SYMTYPE: EntryKind.SYMLINK,
    tarfile.LNKTYPE: EntryKind.HARD_LINK,
}
_STRANGE = {
    tarfile.FIFOTYPE: "a named pipe",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.GNUTYPE_SPARSE: "a sparse file",
    tarfile.XGLTYPE: "a header of the whole archive",
}
_UNIX, _MACOS = 3, 19
"""Systems of which Go takes a zip entry's rights as they stand; of others a file has 0666 and a folder 0777."""


def read_archive(path: str, bounds: ArchiveLimits = BOUNDS) -> PluginArchive:
    """
    Raises:
        UsageError: it cannot be read, is damaged, or unpacks to more than any plugin does.
    """
    name = os.path.basename(path)
    try:
        if os.path.isdir(path):
            raise BadArchive("it is a folder")
        with opened(path) as file:
            sha256 = _checksum(file)
            head = file.read(len(_ZIP))
            file.seek(0)
            if head.startswith(_GZIP):
                return PluginArchive(name, sha256, Packing.TAR_GZ, tuple(_of_tar(file, bounds)))
            if head == _ZIP:
                return PluginArchive(name, sha256, Packing.ZIP, tuple(_of_zip(file, bounds)))
            return PluginArchive(name, sha256, Packing.OTHER)
    except BadArchive as error:
        raise UsageError(f"the archive {path} cannot be judged: {error}", _HINT) from error
    except (OSError, ValueError) as error:  # ValueError: a path that no system takes
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"the archive {path} cannot be read: {why}", _HINT) from error


def _checksum(file: IO[bytes]) -> str:
    """Of all of it; `file` is at its beginning again.

    Raises:
        BadArchive: it is larger than anything that krew could hold.
    """
    found, size = hashlib.sha256(), 0
    while chunk := file.read(_CHUNK):
        found.update(chunk)
        size += len(chunk)
        if size > MOST_BYTES:
            raise BadArchive(f"it is larger than {MOST_BYTES >> 30} GiB")
    file.seek(0)
    return found.hexdigest()


def _of_tar(file: IO[bytes], bounds: ArchiveLimits) -> Iterator[Entry]:
    source: Any = Gunzip(file, bounds)
    try:
        with tarfile.open(fileobj=source, mode="r|", bufsize=_CHUNK, tarinfo=_Shown) as archive:
            for count, entry in enumerate(archive, 1):
                _check_count(count, bounds)
                if entry.size < 0:
                    raise BadArchive(f"its entry {entry.name!r} has less than no bytes")
                if entry.type != tarfile.XGLTYPE or entry.name != _SKIPPED:
                    yield _tar_entry(archive, entry)
    except BadArchive:
        raise
    except DAMAGE as error:
        raise BadArchive(f"the tar archive is cut short or damaged ({error})") from error


class _Shown(TarHeader):
    """Go shows a header of the whole archive as an entry, where tarfile passes it over."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type == tarfile.XGLTYPE and self.name != _SKIPPED:
            raise BadArchive(f"krew does not unpack its header of the whole archive, {self.name!r}")
        return super()._proc_member(archive)


def _tar_entry(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> Entry:
    kind = _OF_TAR.get(entry.type, EntryKind.STRANGE)
    head = b""
    if kind is EntryKind.FILE:
        content = archive.extractfile(entry)
        head = content.read(_HEAD) if content is not None else b""
        while content is not None and content.read(_CHUNK):
            pass
    name = entry.name + ("/" if kind is EntryKind.FOLDER else "")
    what = _STRANGE.get(entry.type, "") if kind is EntryKind.STRANGE else ""
    return Entry(kind, name, stat.S_IMODE(entry.mode), entry.size, head, what)


def _of_zip(file: IO[bytes], bounds: ArchiveLimits) -> Iterator[Entry]:
    unpacked = 0
    # Entries may lie over each other, so a few bytes may be unpacked again and again.
    most = min(bounds.unpacked, max(bounds.ratio_from, bounds.ratio * os.fstat(file.fileno()).st_size))
    try:
        with zipfile.ZipFile(file) as archive:
            for count, entry in enumerate(archive.infolist(), 1):
                _check_count(count, bounds)
                kind, mode, what = _zip_kind(entry)
                head = b""
                if kind is EntryKind.FILE:
                    head, size = _zip_content(archive, entry, most - unpacked)
                    unpacked += size
                yield Entry(kind, entry.orig_filename, mode, entry.file_size, head, what)
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        zlib.error,
        struct.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        UnicodeDecodeError,
        OverflowError,
    ) as error:
        raise BadArchive(f"the zip archive is cut short or damaged ({error})") from error


def _zip_kind(entry: zipfile.ZipInfo) -> tuple[EntryKind, int, str]:
    """What it is, its rights, and why krew cannot unpack it, "" where it can; as Go's archive/zip sees it."""
    attributes = entry.external_attr >> 16
    folder = entry.orig_filename.endswith("/")
    if entry.create_system not in (_UNIX, _MACOS):
        folder = folder or bool(entry.external_attr & 0x10)
        mode = (0o777 if folder else 0o666) & ~(0o222 if entry.external_attr & 1 else 0)
    else:
        folder = folder or stat.S_ISDIR(attributes)
        mode = stat.S_IMODE(attributes)
        if stat.S_ISLNK(attributes) and not folder:
            return EntryKind.SYMLINK, mode, ""
    if folder:
        return EntryKind.FOLDER, mode, ""
    if entry.flag_bits & 1:
        return EntryKind.STRANGE, mode, "encrypted"
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return EntryKind.STRANGE, mode, "neither stored nor deflated"
    return EntryKind.FILE, mode, ""


def _zip_content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int) -> tuple[bytes, int]:
    """How it begins, and how large it is; read to its end, where its checksum is compared."""
    with archive.open(entry) as content:
        head = content.read(_HEAD)
        size = len(head)
        while chunk := content.read(_CHUNK):
            size += len(chunk)
            if size > most:
                raise BadArchive("it unpacks to more than any plugin does")
    return head, size


def _check_count(count: int, bounds: ArchiveLimits) -> None:
    if count > bounds.entries:
        raise BadArchive(f"it has more than {bounds.entries:,} entries")
