"""What was seen of clusters, kept for the next time: it may be lost at any time, and what is damaged was never there.

Belongs here: pictures of clusters for the screens, names for completion, and the files that hold them.
Never here: asking a cluster.
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

# Small files that may be lost at any time: ``$XDG_CACHE_HOME/eksdoc``, else ``~/.cache/eksdoc``.


_KEY = re.compile(r"[0-9a-f]{16,64}\Z")


def cache_folder(environ: Mapping[str, str], home: str) -> Path | None:
    """By the XDG Base Directory Specification 0.8, which has relative paths ignored; None where there is no home."""
    cache = environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):
        if not os.path.isabs(home):
            return None
        cache = os.path.join(home, ".cache")
    return Path(cache) / "eksdoc"


class CacheFiles:
    """Those with one `ending`: at most `most`, of which the one that was written longest ago goes first, each of at
    most `largest` bytes. A key is a digest in hex."""

    def __init__(self, folder: Path, ending: str, most: int, largest: int) -> None:
        self._folder = folder
        self._ending = ending
        self._most = most
        self._largest = largest

    def of(self, key: str) -> bytes | None:
        """None where there is none, or none that can be used."""
        try:
            with open(self._path(key), "rb") as file:
                content = file.read(self._largest + 1)
            return content if len(content) <= self._largest else None
        except (OSError, ValueError):
            return None

    def keep(self, key: str, content: bytes) -> None:
        """Whoever reads it meanwhile finds the old one or this one, whole. Only its owner may. What cannot be written
        is not kept."""
        if len(content) > self._largest:
            return
        with suppress(OSError, ValueError):
            path = self._path(key)
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.chmod(self._folder, 0o700)
            self._replace(path, content)
            self._bound()

    def _path(self, key: str) -> Path:
        """Raises ValueError: that is no key."""
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
            with suppress(OSError):  # another process took it away
                path.unlink()


# Names that were seen in clusters, kept for the next press of Tab.


VERSION = 1
MOST = 100
LARGEST = 1 << 20
ENDING = ".names"
ASKING = ".asking"
_SMALL = 64

FRESH_S = 60.0
"""So long nobody is asked again."""
FAILED_S = 15.0
"""So long nobody is asked again where there was no answer: whoever logs in meanwhile need not wait for a minute."""
LONGEST_S = 86_400.0
"""So long names are offered if nobody answers."""


@frozen
class CachedNames:
    """`asked` is when they were asked for last, `seen` when there was an answer; seconds since 1970."""

    names: tuple[Name, ...]
    asked: float
    seen: float

    def fresh(self, now: float) -> bool:
        return 0 <= now - self.asked < (FRESH_S if self.seen >= self.asked else FAILED_S)

    def usable(self, now: float) -> tuple[Name, ...]:
        return self.names if 0 <= now - self.seen < LONGEST_S else ()


class KnownNames:
    """`key` is a digest, in hex, of all that makes out what is asked, and who asks."""

    def __init__(self, folder: Path) -> None:
        self._files = CacheFiles(folder, ENDING, MOST, LARGEST)
        self._asking = CacheFiles(folder, ASKING, MOST, _SMALL)

    def of(self, key: str) -> CachedNames | None:
        """None where there are none, or none that can be used."""
        content = self._files.of(key)
        return None if content is None else known_in(content)

    def keep(self, key: str, known: CachedNames) -> None:
        self._files.keep(key, content_of(known))

    def asked_for(self, key: str, now: float) -> float:
        """The seconds since somebody began to ask to whom nothing has been said yet; infinite where nobody did."""
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
    """None: it is not what `content_of` of this version makes."""
    try:
        fields = _fields(content)
        names = tuple(Name(each.text("name"), each.text_or_empty("about")) for each in fields.each("names"))
        return CachedNames(names, _seconds(fields, "asked"), _seconds(fields, "seen"))
    except (ValueError, RecursionError, OverflowError):  # ValueError: not JSON, not Unicode, or Unfit
        return None


def _fields(content: bytes) -> DocumentFields:
    """
    Raises:
        ValueError, RecursionError: it is of another version, or none of ours.
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


# Pictures of clusters that were seen, one file for each.
#
# A cache: what cannot be read, is of another version or is damaged is as if it were not there, and what cannot be
# written is not kept.


LARGEST_VIEW = 8 << 20
"""Bytes of one file: some 20,000 nodes. What would be larger is not kept."""

MOST_VIEWS = 20
"""So many clusters are remembered; the one that was seen longest ago goes first."""

VIEW_ENDING = ".view"


class LastViews:
    """`key` is a digest, in hex, of all that makes out which cluster it is and who looks at it."""

    def __init__(self, folder: Path) -> None:
        self._files = CacheFiles(folder, VIEW_ENDING, MOST_VIEWS, LARGEST_VIEW)

    def of(self, key: str) -> LastView | None:
        """None where there is none, or none that can be used."""
        content = self._files.of(key)
        return None if content is None else view_in(content)

    def keep(self, key: str, view: LastView) -> None:
        """Whoever reads it meanwhile finds the old one or this one, whole. Only its owner may."""
        self._files.keep(key, view_content_of(view))


def view_content_of(view: LastView) -> bytes:
    from kubectl_eksdoc.objects.journal_lines import kept

    return kept(VERSION, view)


def view_in(content: bytes) -> LastView | None:
    """None: it is not what `view_content_of` of this version makes."""
    from kubectl_eksdoc.objects.journal_lines import kept_in

    view = kept_in(content, VERSION, LastView)
    moments = (view.observed_at, *(each.created_at for each in view.nodes)) if view is not None else ()
    return view if all(each is None or each.tzinfo is not None for each in moments) else None


# What ``coredns-lameduck --measure`` found out about propagation, one file for each CoreDNS, in the state folder.
#
# What cannot be read, is damaged or of another version is as if it were not there.


_MOST, _LARGEST = 200, 4096


def measured(uid: str, context: str, environ: Mapping[str, str]) -> Propagation | None:
    """Of the CoreDNS whose Deployment has this `uid`, reached by this `context`; None where nothing is known.
    The context tells a rehearsal from the cluster of its snapshot: both have the same uids."""
    files = _files(environ)
    content = files.of(_key(uid, context)) if uid and files is not None else None
    return None if content is None else _read(content)


def keep(uid: str, context: str, found: Propagation, environ: Mapping[str, str]) -> None:
    """What cannot be written is not kept. A loss is not forgotten for a run that lost nothing in the same time."""
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
    except (ValueError, RecursionError):  # ValueError: not JSON, or Unfit
        return None
