"""Caches of cluster data for later commands. They may be deleted at any time; a damaged file counts as missing.

Belongs here: views of clusters for the screens, names for completion, DNS measurements, and their files.
Never here: requests to a cluster.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from datetime import timezone
from pathlib import Path

from kubectl_eksdoc.errors import LocalJournalError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.coredns import EndpointPropagation
from kubectl_eksdoc.model.names import CompletionName
from kubectl_eksdoc.model.snapshots import LastView

from .documents import DocumentFields, InvalidDocument
from .journals import state_folder

# Cache files: ``$XDG_CACHE_HOME/eksdoc``, else ``~/.cache/eksdoc``.


_KEY = re.compile(r"[0-9a-f]{16,64}\Z")


def cache_folder(environ: Mapping[str, str], home: str) -> Path | None:
    """The cache folder by the XDG Base Directory Specification 0.8, which ignores relative paths; None if there is no
    home."""
    cache = environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):
        if not os.path.isabs(home):
            return None
        cache = os.path.join(home, ".cache")
    return Path(cache) / "eksdoc"


class CacheFiles:
    """The cache files with one `suffix`: at most `max_files`, each of at most `max_bytes`; the file that was written
    longest ago is removed first. A key is a hexadecimal digest."""

    def __init__(self, folder: Path, suffix: str, max_files: int, max_bytes: int) -> None:
        self._folder = folder
        self._suffix = suffix
        self._max_files = max_files
        self._max_bytes = max_bytes

    def read(self, key: str) -> bytes | None:
        """The content of a file; None if it is missing or unusable."""
        try:
            with open(self._path(key), "rb") as file:
                content = file.read(self._max_bytes + 1)
            return content if len(content) <= self._max_bytes else None
        except (OSError, ValueError):
            return None

    def write(self, key: str, content: bytes) -> None:
        """Replace the file atomically: a concurrent reader sees the old or the new content. Only the owner can read it.
        Content that is too large or cannot be written is dropped."""
        if len(content) > self._max_bytes:
            return
        with suppress(OSError, ValueError):
            path = self._path(key)
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.chmod(self._folder, 0o700)
            self._replace(path, content)
            self._remove_oldest()

    def _path(self, key: str) -> Path:
        """Raises ValueError: `key` is not a hexadecimal digest."""
        if not _KEY.match(key):
            raise ValueError(key)
        return self._folder / f"{key}{self._suffix}"

    def _replace(self, path: Path, content: bytes) -> None:
        temporary_path = path.with_suffix(f".{os.getpid()}-{secrets.token_hex(4)}")
        descriptor = os.open(temporary_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            os.replace(temporary_path, path)
        except OSError:
            with suppress(OSError):
                os.unlink(temporary_path)
            raise

    def _remove_oldest(self) -> None:
        newest_first = sorted(
            self._folder.glob(f"*{self._suffix}"), key=lambda path: path.stat().st_mtime, reverse=True
        )
        for path in newest_first[self._max_files :]:
            with suppress(OSError):  # another process removed it
                path.unlink()


# Names of objects for shell completion.


FORMAT_VERSION = 1
MAX_NAME_FILES = 100
MAX_NAMES_BYTES = 1 << 20
NAMES_SUFFIX = ".names"
REQUEST_SUFFIX = ".asking"
_MAX_REQUEST_BYTES = 64

FRESH_AGE_S = 60.0
"""Cached names are fresh for this long; the cluster is not queried again."""
RETRY_S = 15.0
"""After a failed query, the next one is delayed by this time only: a user who logs in meanwhile need not wait a
minute."""
MAX_AGE_S = 86_400.0
"""Names are offered up to this age if the cluster does not respond."""


@frozen
class CachedNames:
    """`requested_at`: time of the last query; `received_at`: time of the last response; in seconds since 1970."""

    names: tuple[CompletionName, ...]
    requested_at: float
    received_at: float

    def is_fresh(self, now: float) -> bool:
        return 0 <= now - self.requested_at < (FRESH_AGE_S if self.received_at >= self.requested_at else RETRY_S)

    def usable_names(self, now: float) -> tuple[CompletionName, ...]:
        return self.names if 0 <= now - self.received_at < MAX_AGE_S else ()


class NameCache:
    """Cached names. `key` is a hexadecimal digest of the query and of the user's identity."""

    def __init__(self, folder: Path) -> None:
        self._files = CacheFiles(folder, NAMES_SUFFIX, MAX_NAME_FILES, MAX_NAMES_BYTES)
        self._requests = CacheFiles(folder, REQUEST_SUFFIX, MAX_NAME_FILES, _MAX_REQUEST_BYTES)

    def read(self, key: str) -> CachedNames | None:
        """The cached names; None if they are missing or unusable."""
        content = self._files.read(key)
        return None if content is None else decode_names(content)

    def write(self, key: str, cached: CachedNames) -> None:
        self._files.write(key, encode_names(cached))

    def pending_s(self, key: str, now: float) -> float:
        """Seconds since a query began that has not been answered; infinite if there is none."""
        try:
            requested_at = float(self._requests.read(key) or b"nan")
        except ValueError:
            return math.inf
        cached = self.read(key)
        return (
            now - requested_at
            if requested_at <= now and (cached is None or cached.requested_at < requested_at)
            else math.inf
        )

    def mark_requested(self, key: str, now: float) -> None:
        self._requests.write(key, repr(now).encode("ascii"))


def encode_names(cached: CachedNames) -> bytes:
    names = [{"name": each.text, "about": each.about} for each in cached.names]
    document = {"version": FORMAT_VERSION, "asked": cached.requested_at, "seen": cached.received_at, "names": names}
    return json.dumps(document, separators=(",", ":")).encode("ascii")


def decode_names(content: bytes) -> CachedNames | None:
    """The decoded names; None if `content` was not written by `encode_names` of this version."""
    try:
        fields = _versioned_fields(content)
        names = tuple(
            CompletionName(each.text("name"), each.text_or_empty("about")) for each in fields.objects("names")
        )
        return CachedNames(names, _seconds_field(fields, "asked"), _seconds_field(fields, "seen"))
    except (ValueError, RecursionError, OverflowError):  # ValueError: not JSON, not Unicode, or InvalidDocument
        return None


def _versioned_fields(content: bytes) -> DocumentFields:
    """
    Raises:
        ValueError, RecursionError: the content has another version or another format.
    """
    document: object = json.loads(content)
    fields = DocumentFields(document if isinstance(document, dict) else {})
    if fields.count("version") != FORMAT_VERSION:
        raise InvalidDocument("version is another")
    return fields


def _seconds_field(fields: DocumentFields, key: str) -> float:
    value = fields.value(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidDocument(f"{key} is no number")
    return float(value)


# Cached views of clusters, one file for each.
#
# A file that cannot be read, has another version or is damaged counts as missing; a write that fails is ignored.


MAX_VIEW_BYTES = 8 << 20
"""Bytes of one file: some 20,000 nodes. A larger view is not cached."""

MAX_VIEWS = 20
"""Cached clusters; the one that was seen longest ago is removed first."""

VIEW_SUFFIX = ".view"


class ViewCache:
    """Cached views. `key` is a hexadecimal digest of the identity of the cluster and of the user."""

    def __init__(self, folder: Path) -> None:
        self._files = CacheFiles(folder, VIEW_SUFFIX, MAX_VIEWS, MAX_VIEW_BYTES)

    def read(self, key: str) -> LastView | None:
        """The cached view; None if it is missing or unusable."""
        content = self._files.read(key)
        return None if content is None else decode_view(content)

    def write(self, key: str, view: LastView) -> None:
        """Replace the view atomically. Only the owner can read it."""
        self._files.write(key, encode_view(view))


def encode_view(view: LastView) -> bytes:
    from kubectl_eksdoc.objects.journal_lines import write_versioned

    return write_versioned(FORMAT_VERSION, view)


def decode_view(content: bytes) -> LastView | None:
    """The decoded view; None if `content` was not written by `encode_view` of this version."""
    from kubectl_eksdoc.objects.journal_lines import read_versioned

    view = read_versioned(content, FORMAT_VERSION, LastView)
    timestamps = (view.observed_at, *(timestamp.created_at for timestamp in view.nodes)) if view is not None else ()
    return view if all(timestamp is None or timestamp.tzinfo is not None for timestamp in timestamps) else None


# Propagation measured by ``coredns-lameduck --measure``: one file for each CoreDNS, in the state folder.
#
# A file that cannot be read, is damaged or has another version counts as missing.


_MAX_MEASUREMENTS, _MAX_MEASUREMENT_BYTES = 200, 4096


def read_propagation(uid: str, context: str, environ: Mapping[str, str]) -> EndpointPropagation | None:
    """The measurement for the CoreDNS Deployment with this `uid`, accessed by this `context`; None if there is none.
    The context distinguishes a rehearsal from the cluster of its snapshot: both have the same UIDs."""
    files = _measurement_files(environ)
    content = files.read(_measurement_key(uid, context)) if uid and files is not None else None
    return None if content is None else _decode_propagation(content)


def save_propagation(uid: str, context: str, measured_now: EndpointPropagation, environ: Mapping[str, str]) -> None:
    """Save the measurement; a write that fails is ignored. A measurement without loss does not replace an earlier one
    with loss unless it took longer."""
    files, earlier = _measurement_files(environ), read_propagation(uid, context, environ)
    if earlier is not None and earlier.lost and not measured_now.lost and measured_now.seconds <= earlier.seconds:
        return
    if uid and files is not None and measured_now.measured_at is not None:
        document = {
            "version": FORMAT_VERSION,
            "seconds": measured_now.seconds,
            "nodes": measured_now.nodes,
            "lost": int(measured_now.lost),
            "measuredAt": measured_now.measured_at.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        files.write(_measurement_key(uid, context), json.dumps(document).encode())


def _measurement_files(environ: Mapping[str, str]) -> CacheFiles | None:
    try:
        folder = state_folder(environ, environ.get("HOME") or os.path.expanduser("~"))
    except LocalJournalError:
        return None
    return CacheFiles(folder / "dns-measurements", ".json", _MAX_MEASUREMENTS, _MAX_MEASUREMENT_BYTES)


def _measurement_key(uid: str, context: str) -> str:
    return hashlib.sha256(f"{uid} {context}".encode()).hexdigest()


def _decode_propagation(content: bytes) -> EndpointPropagation | None:
    try:
        fields = _versioned_fields(content)
        return EndpointPropagation(
            fields.count("seconds"), fields.count("nodes"), fields.timestamp("measuredAt"), bool(fields.count("lost"))
        )
    except (ValueError, RecursionError):  # ValueError: not JSON, or InvalidDocument
        return None
