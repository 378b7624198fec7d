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
from kubectl_eksdoc.model.coredns import Propagation
from kubectl_eksdoc.model.names import Name
from kubectl_eksdoc.model.snapshots import LastView

from .documents import DocumentFields, Unfit
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

    def __init__(self, folder: Path, ending: str, most: int, largest: int) -> None:
        self._folder = folder
        self._ending = ending
        self._most = most
        self._largest = largest

    def of(self, key: str) -> bytes | None:
        """The content of a file; None if it is missing or unusable."""
        try:
            with open(self._path(key), "rb") as file:
                content = file.read(self._largest + 1)
            return content if len(content) <= self._largest else None
        except (OSError, ValueError):
            return None

    def keep(self, key: str, content: bytes) -> None:
        """Replace the file atomically: a concurrent reader sees the old or the new content. Only the owner can read it.
        Content that is too large or cannot be written is dropped."""
        if len(content) > self._largest:
            return
        with suppress(OSError, ValueError):
            path = self._path(key)
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.chmod(self._folder, 0o700)
            self._replace(path, content)
            self._bound()

    def _path(self, key: str) -> Path:
        """Raises ValueError: `key` is not a hexadecimal digest."""
        if not _KEY.match(key):
            raise ValueError(key)
        return self._folder / f"{key}{self._ending}"

    def _replace(self, path: Path, content: bytes) -> None:
        new = path.with_suffix(f".{os.getpid()}-{secrets.token_hex(4)}")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            os.replace(new, path)
        except OSError:
            with suppress(OSError):
                os.unlink(new)
            raise

    def _bound(self) -> None:
        kept = sorted(self._folder.glob(f"*{self._ending}"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in kept[self._most :]:
            with suppress(OSError):  # another process removed it
                path.unlink()


# Names of objects for shell completion.


VERSION = 1
MOST = 100
LARGEST = 1 << 20
ENDING = ".names"
ASKING = ".asking"
_SMALL = 64

FRESH_S = 60.0
"""Cached names are fresh for this long; the cluster is not queried again."""
FAILED_S = 15.0
"""After a failed query, the next one is delayed by this time only: a user who logs in meanwhile need not wait a
minute."""
LONGEST_S = 86_400.0
"""Names are offered up to this age if the cluster does not respond."""


@frozen
class CachedNames:
    """`requested_at`: time of the last query; `received_at`: time of the last response; in seconds since 1970."""

    names: tuple[Name, ...]
    asked: float
    seen: float

    def fresh(self, now: float) -> bool:
        return 0 <= now - self.asked < (FRESH_S if self.seen >= self.asked else FAILED_S)

    def usable(self, now: float) -> tuple[Name, ...]:
        return self.names if 0 <= now - self.seen < LONGEST_S else ()


class KnownNames:
    """Cached names. `key` is a hexadecimal digest of the query and of the user's identity."""

    def __init__(self, folder: Path) -> None:
        self._files = CacheFiles(folder, ENDING, MOST, LARGEST)
        self._asking = CacheFiles(folder, ASKING, MOST, _SMALL)

    def of(self, key: str) -> CachedNames | None:
        """The cached names; None if they are missing or unusable."""
        content = self._files.of(key)
        return None if content is None else known_in(content)

    def keep(self, key: str, known: CachedNames) -> None:
        self._files.keep(key, content_of(known))

    def asked_for(self, key: str, now: float) -> float:
        """Seconds since a query began that has not been answered; infinite if there is none."""
        try:
            begun = float(self._asking.of(key) or b"nan")
        except ValueError:
            return math.inf
        found = self.of(key)
        return now - begun if begun <= now and (found is None or found.asked < begun) else math.inf

    def begin(self, key: str, now: float) -> None:
        self._asking.keep(key, repr(now).encode("ascii"))


def content_of(known: CachedNames) -> bytes:
    names = [{"name": each.text, "about": each.about} for each in known.names]
    document = {"version": VERSION, "asked": known.asked, "seen": known.seen, "names": names}
    return json.dumps(document, separators=(",", ":")).encode("ascii")


def known_in(content: bytes) -> CachedNames | None:
    """The decoded names; None if `content` was not written by `encode_names` of this version."""
    try:
        fields = _fields(content)
        names = tuple(Name(each.text("name"), each.text_or_empty("about")) for each in fields.each("names"))
        return CachedNames(names, _seconds(fields, "asked"), _seconds(fields, "seen"))
    except (ValueError, RecursionError, OverflowError):  # ValueError: not JSON, not Unicode, or InvalidDocument
        return None


def _fields(content: bytes) -> DocumentFields:
    """
    Raises:
        ValueError, RecursionError: the content has another version or another format.
    """
    document: object = json.loads(content)
    fields = DocumentFields(document if isinstance(document, dict) else {})
    if fields.whole("version") != VERSION:
        raise Unfit("version is another")
    return fields


def _seconds(fields: DocumentFields, key: str) -> float:
    value = fields.value(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Unfit(f"{key} is no number")
    return float(value)


# Cached views of clusters, one file for each.
#
# A file that cannot be read, has another version or is damaged counts as missing; a write that fails is ignored.


LARGEST_VIEW = 8 << 20
"""Bytes of one file: some 20,000 nodes. A larger view is not cached."""

MOST_VIEWS = 20
"""Cached clusters; the one that was seen longest ago is removed first."""

VIEW_ENDING = ".view"


class LastViews:
    """Cached views. `key` is a hexadecimal digest of the identity of the cluster and of the user."""

    def __init__(self, folder: Path) -> None:
        self._files = CacheFiles(folder, VIEW_ENDING, MOST_VIEWS, LARGEST_VIEW)

    def of(self, key: str) -> LastView | None:
        """The cached view; None if it is missing or unusable."""
        content = self._files.of(key)
        return None if content is None else view_in(content)

    def keep(self, key: str, view: LastView) -> None:
        """Replace the view atomically. Only the owner can read it."""
        self._files.keep(key, view_content_of(view))


def view_content_of(view: LastView) -> bytes:
    from kubectl_eksdoc.objects.journal_lines import kept

    return kept(VERSION, view)


def view_in(content: bytes) -> LastView | None:
    """The decoded view; None if `content` was not written by `encode_view` of this version."""
    from kubectl_eksdoc.objects.journal_lines import kept_in

    view = kept_in(content, VERSION, LastView)
    moments = (view.observed_at, *(each.created_at for each in view.nodes)) if view is not None else ()
    return view if all(each is None or each.tzinfo is not None for each in moments) else None


# Propagation measured by ``coredns-lameduck --measure``: one file for each CoreDNS, in the state folder.
#
# A file that cannot be read, is damaged or has another version counts as missing.


_MOST, _LARGEST = 200, 4096


def measured(uid: str, context: str, environ: Mapping[str, str]) -> Propagation | None:
    """The measurement for the CoreDNS Deployment with this `uid`, accessed by this `context`; None if there is none.
    The context distinguishes a rehearsal from the cluster of its snapshot: both have the same UIDs."""
    files = _files(environ)
    content = files.of(_key(uid, context)) if uid and files is not None else None
    return None if content is None else _read(content)


def keep(uid: str, context: str, found: Propagation, environ: Mapping[str, str]) -> None:
    """Save the measurement; a write that fails is ignored. A measurement without loss does not replace an earlier one
    with loss unless it took longer."""
    files, before = _files(environ), measured(uid, context, environ)
    if before is not None and before.lost and not found.lost and found.seconds <= before.seconds:
        return
    if uid and files is not None and found.measured_at is not None:
        document = {
            "version": VERSION,
            "seconds": found.seconds,
            "nodes": found.nodes,
            "lost": int(found.lost),
            "measuredAt": found.measured_at.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        files.keep(_key(uid, context), json.dumps(document).encode())


def _files(environ: Mapping[str, str]) -> CacheFiles | None:
    try:
        folder = state_folder(environ, environ.get("HOME") or os.path.expanduser("~"))
    except LocalJournalError:
        return None
    return CacheFiles(folder / "dns-measurements", ".json", _MOST, _LARGEST)


def _key(uid: str, context: str) -> str:
    return hashlib.sha256(f"{uid} {context}".encode()).hexdigest()


def _read(content: bytes) -> Propagation | None:
    try:
        fields = _fields(content)
        return Propagation(
            fields.whole("seconds"), fields.whole("nodes"), fields.moment("measuredAt"), bool(fields.whole("lost"))
        )
    except (ValueError, RecursionError):  # ValueError: not JSON, or InvalidDocument
        return None
