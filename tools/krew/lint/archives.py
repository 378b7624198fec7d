"""Reader for archives of a krew plugin: their entries and checksum. Nothing is written to disk."""

from __future__ import annotations

import hashlib
import io
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from kubectl_eksdoc.errors import UsageError
from tools.krew.lint.model import Entry, EntryKind, Packing, PluginArchive

_HINT = "Name the archive that a platform's uri leads to."
_HEAD = 128
_GZIP, _ZIP = b"\x1f\x8b\x08", b"PK\x03\x04"
"""Signatures as in Go's net/http.DetectContentType."""

_OF_TAR = {
    tarfile.REGTYPE: EntryKind.FILE,
    tarfile.AREGTYPE: EntryKind.FILE,
    tarfile.DIRTYPE: EntryKind.FOLDER,
    tarfile.SYMTYPE: EntryKind.SYMLINK,
    tarfile.LNKTYPE: EntryKind.HARD_LINK,
}
_UNIX, _MACOS = 3, 19
"""Systems for which Go uses the permissions of a zip entry; for others a file has 0666 and a folder 0777."""


def read_archive(path: str) -> PluginArchive:
    """The archive in a file.

    Raises:
        UsageError: it cannot be read, or is damaged.
    """
    try:
        content = Path(path).read_bytes()
        name, sha256 = Path(path).name, hashlib.sha256(content).hexdigest()
        if content.startswith(_GZIP):
            return PluginArchive(name, sha256, Packing.TAR_GZ, tuple(_of_tar(content)))
        if content.startswith(_ZIP):
            return PluginArchive(name, sha256, Packing.ZIP, tuple(_of_zip(content)))
        return PluginArchive(name, sha256, Packing.OTHER)
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise UsageError(f"the archive {path} cannot be judged: it is cut short or damaged ({error})", _HINT) from error
    except OSError as error:
        raise UsageError(f"the archive {path} cannot be read: {error.strerror or error}", _HINT) from error


def _of_tar(content: bytes) -> Iterator[Entry]:
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
        for entry in archive:
            kind = _OF_TAR.get(entry.type, EntryKind.STRANGE)
            file = archive.extractfile(entry) if kind is EntryKind.FILE else None
            name = entry.name + ("/" if kind is EntryKind.FOLDER else "")
            what = "a device, a pipe or a sparse file" if kind is EntryKind.STRANGE else ""
            head = file.read()[:_HEAD] if file else b""
            yield Entry(kind, name, stat.S_IMODE(entry.mode), entry.size, head, what)


def _of_zip(content: bytes) -> Iterator[Entry]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for entry in archive.infolist():
            kind, mode, what = _zip_kind(entry)
            head = archive.read(entry)[:_HEAD] if kind is EntryKind.FILE else b""
            yield Entry(kind, entry.orig_filename, mode, entry.file_size, head, what)


def _zip_kind(entry: zipfile.ZipInfo) -> tuple[EntryKind, int, str]:
    """The kind of the entry, its permissions, and why krew cannot unpack it, "" where it can; as in Go's
    archive/zip."""
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
