"""Snapshots and dumps: reads a cluster from a file, a folder or an archive of Lists made by kubectl, and writes
snapshots.

A snapshot is an archive for tar and gzip, made of separately compressed pieces: a list that was restarted can be left
out, and the manifest comes first.

Pieces are written to an unnamed temporary file in the target folder; only a complete snapshot gets its file name.
"""

from __future__ import annotations

import errno
import os
import tarfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from tempfile import TemporaryFile
from typing import IO

from kubectl_eksdoc.errors import SnapshotError, cause_of
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, Source
from kubectl_eksdoc.model.kinds import NODES, PODS, ReadState, Resource
from kubectl_eksdoc.model.snapshots import Scene, Snapshot
from kubectl_eksdoc.objects import journal_lines
from kubectl_eksdoc.objects.collector import BadObject, Collector
from kubectl_eksdoc.objects.intake import DumpIntake, KindComesLater
from kubectl_eksdoc.objects.single import RawObjects
from kubectl_eksdoc.objects.stream import BadStream, ListHeader, ListStream, StreamItem, StreamTrouble

from .archive import (
    BOUNDS,
    ArchiveLimits,
    ArchivePart,
    BadArchive,
    parts,
    whole,
)

MANIFEST = "eksdoc-manifest"
"""The name of the first file in the archive, without ``.json``."""
LISTS, SCENES = "lists", "scenes"

_GZIP = 16 + zlib.MAX_WBITS
_LEVEL = 1
_WAITING = 8
"""At most this many pages wait for compression, which limits the memory for a large cluster."""


class SnapshotFile:
    """Writes a snapshot to `path`. The caller must call `finish` or `discard`. Mutable."""

    def __init__(self, path: str) -> None:
        """
        Raises:
            SnapshotError: the folder is not writable.
        """
        self._path = path
        self._replaces = os.path.lexists(path)
        beside = os.path.dirname(os.path.abspath(path))
        try:
            # An unnamed file disappears however this process ends.
            self._pieces: IO[bytes] = TemporaryFile(dir=beside)  # noqa: SIM115 - closed by `discard`
        except OSError as error:
            raise self._unwritten(error) from error
        self._end = 0
        self._where: dict[tuple[str, str], list[tuple[int, int]]] = {}
        self._counts: dict[tuple[str, str], int] = {}
        self._compressing = ThreadPoolExecutor(1)
        self._queue: list[tuple[tuple[str, str], Future[bytes]]] = []

    def page(self, scene: str, resource: Resource, body: bytes) -> None:
        """Add a page of a list."""
        key = scene, resource.full_name
        self._counts[key] = number = self._counts.get(key, 0) + 1
        self._add(key, f"{folder(scene)}{LISTS}/{resource.full_name}/{number:05}.json", body)

    def forget(self, scene: str, resource: Resource) -> None:
        """Drop the pages of a list that is read again."""
        key = scene, resource.full_name
        self._settle(0)
        self._where.pop(key, None)

    def file(self, scene: str, stem: str, body: bytes) -> None:
        """Add another file, ``stem.json``."""
        self._add((scene, stem), f"{folder(scene)}{stem}.json", body)

    def finish(self, manifest: bytes) -> int:
        """Write the complete snapshot, the manifest first; returns its size in bytes.

        Raises:
            SnapshotError: it cannot be written; no partial file remains.
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
        """Close the temporary file; without `finish`, no file remains."""
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
        """Write compressed pieces until at most `max_waiting` are in the queue."""
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
    """The folder of a scene in the archive: "", or with a trailing slash."""
    return f"{SCENES}/{scene}/" if scene else ""


def _packed(name: str, body: bytes) -> bytes:
    """A tar member: header, content, and zeros up to the next block."""
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(body), 0o600
    rest = -len(body) % tarfile.BLOCKSIZE
    return _compressed(info.tobuf(tarfile.PAX_FORMAT), body, b"\0" * rest)


def _compressed(*parts: bytes) -> bytes:
    """A gzip member without a timestamp."""
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    return b"".join((*(packer.compress(part) for part in parts), packer.flush()))


# Reading snapshots of this tool: complete pages, and the manifest.


_HINT = "Make or copy it again."
_NEEDED = (NODES, PODS)
"""Kinds without which no command works; also on a live cluster a command ends without them."""


def snapshot_at(path: str) -> Snapshot | None:
    """The manifest of a snapshot. None if `path` is no snapshot of this tool: it may be a dump of kubectl, whose reader
    reports errors. Standard input is a dump.

    Raises:
        SnapshotError: the snapshot cannot be read, or was made by a newer version of this tool.
    """
    try:
        text = _manifest(path)
        return None if text is None else journal_lines.read(text)
    except journal_lines.NewerFormat as error:
        hint = "Read it with a newer kubectl eksdoc."
        raise SnapshotError(f"cannot read the snapshot {path}: {error}", hint) from error
    except journal_lines.BadManifest as error:
        why = f"what it says of itself cannot be read: {error}"
        raise SnapshotError(f"cannot read the snapshot {path}: {why}", _HINT) from error


def _manifest(path: str) -> bytes | None:
    """The bytes of the manifest; None if `path` has none or cannot be opened."""
    if path == "-":
        return None
    if os.path.isdir(path):
        path = os.path.join(path, f"{MANIFEST}.json")
    with suppress(BadArchive, OSError):
        for first in parts(path, BOUNDS):
            return whole(first) if first.stem == MANIFEST else None
    return None


def file_in(path: str, scene: str, stem: str) -> bytes | None:
    """A file of a scene; None if the scene does not have it.

    Raises:
        SnapshotError: the snapshot cannot be read.
    """
    try:
        for part in parts(path, BOUNDS):
            if part.stem == stem and _folder_of(part) == folder(scene):
                return whole(part)
    except (BadArchive, OSError) as error:
        raise SnapshotError(f"cannot read the snapshot {path}: {cause_of(error)}", _HINT) from error
    return None


class SnapshotFileReader:
    """A `ports.ClusterReader` for one scene of a snapshot of this tool. `progress` is called with a resource's plural
    and the number of objects so far; `raw` receives the objects."""

    def __init__(
        self,
        path: str,
        scene: str,
        told: Scene,
        progress: Callable[[str, int], None] | None = None,
        raw: RawObjects | None = None,
        bounds: ArchiveLimits = BOUNDS,
    ) -> None:
        self._path, self._scene, self._told = path, scene, told
        self._progress = progress or (lambda _plural, _count: None)
        self._raw, self._bounds = raw, bounds

    def read(self, resources: Sequence[Resource]) -> Cluster:
        """All objects of `resources` in the scene.

        Raises:
            SnapshotError: the snapshot cannot be read, or has fewer objects than its manifest says.
        """
        collector = Collector(Source.SNAPSHOT, self._raw)
        counts = dict.fromkeys(resources, 0)
        by_folder = {f"{folder(self._scene)}{LISTS}/{resource.full_name}/": resource for resource in resources}
        try:
            for part in parts(self._path, self._bounds):
                resource = by_folder.get(_folder_of(part))
                if resource is not None:
                    counts[resource] += collector.add_page(resource, whole(part), part.name).count
                    self._progress(resource.plural, counts[resource])
        except (BadArchive, BadObject, OSError) as error:
            raise self._unread(cause_of(error)) from error
        for resource, count in counts.items():
            collector.mark(resource, *self._state(resource, count))
        # The cluster's UID is only known if namespaces are read, as on a live cluster.
        cluster = collector.cluster(replace(self._told.identity, uid=""), self._told.observed_at)
        return replace(cluster, notes=tuple(dict.fromkeys((*self._told.notes, *cluster.notes))))

    def _state(self, resource: Resource, count: int) -> tuple[ReadState, str]:
        """The state of the read, and its detail. An object that appears twice, because its list changed during the
        read, counts once."""
        was = self._told.read_of(resource)
        if resource in _NEEDED and (was is None or was.state is not ReadState.READ):
            raise self._unread(f"it has no list of {resource.plural}")
        if was is None:
            return ReadState.NOT_HELD, f"the snapshot has no {resource.plural}"
        if was.state is ReadState.READ and was.count > count:
            raise self._unread(f"it holds {count:,} of {was.count:,} {resource.plural}")
        return was.state, was.detail

    def _unread(self, why: str) -> SnapshotError:
        return SnapshotError(f"cannot read the snapshot {self._path}: {why}", _HINT)


def _folder_of(part: ArchivePart) -> str:
    """The folder as it was written, with a trailing slash: tar prefixes ``./`` when it archives a folder."""
    above, slash, _ = part.entry.removeprefix("./").rpartition("/")
    return above + slash


# Recorded AWS responses: a file in the snapshot, beside the lists of objects.


STEM = "aws-answers"
"""The name of the file, without ``.json``."""

_PATH = "Check the path and its permissions."


def aws_answers(path: str, bounds: ArchiveLimits = BOUNDS) -> bytes | None:
    """The recorded AWS responses; None if there are none. Standard input can be read only once, by the reader of the
    cluster.

    Raises:
        SnapshotError: the snapshot cannot be opened or read.
    """
    if path == "-":
        return None
    try:
        for part in parts(path, bounds):
            if part.stem == STEM:
                return whole(part, "the answers of AWS in it are")
    except OSError as error:
        raise SnapshotError(f"cannot open the snapshot {path}: {error.strerror or error}", _PATH) from error
    except BadArchive as error:
        raise SnapshotError(f"cannot read the snapshot {path}: {error}", "Make or copy it again.") from error
    return None


DUMP = (
    "kubectl get nodes,pods,pdb,deploy,rs,sts,ds,rc,jobs,cronjobs,pv,pvc,sc,csinodes,volumeattachments,ns,pc,leases,"
    "hpa,svc,endpointslices,validatingwebhookconfigurations,mutatingwebhookconfigurations,apiservices,crd -A -o json"
    " > dump.json"
)
"""kubectl fails for the whole list if one kind is not served, so custom kinds are mentioned separately."""
_CUSTOM = " and ".join(resource.plural for resource in kinds.ALL if resource.custom)
_DUMP_HINT = f"A dump is made by (add {_CUSTOM} to the kinds where the cluster has them): {DUMP}"
LONGEST = 1000
"""Characters of a message: names in a dump can be of any length."""
_HINTS = {
    StreamTrouble.EMPTY: "Was the dump's command interrupted? " + _DUMP_HINT,
    StreamTrouble.CUT: "The dump is incomplete; make it again. " + _DUMP_HINT,
    StreamTrouble.MALFORMED: _DUMP_HINT,
    StreamTrouble.ENCODING: (
        "Windows PowerShell's > writes UTF-16: use `| Out-File -Encoding utf8`; unpack other archives."
    ),
    StreamTrouble.NOT_A_LIST: "Lists are read, as kubectl prints them for a whole kind. " + _DUMP_HINT,
    StreamTrouble.TOO_LARGE: "No Kubernetes object is that large. " + _DUMP_HINT,
}


_NOT_IN_FRONT = (
    "it is a snapshot of kubectl eksdoc that is truncated, comes from a pipe, or does not begin with its description"
)
_AS_WRITTEN = "Name its file, whole and as kubectl eksdoc snapshot wrote it."
"""Single list files of a snapshot look like a dump, and would be taken for all of the data."""


class SnapshotReader:
    """A `ports.ClusterReader` for a dump of kubectl. `progress` is called with a resource's plural and the number of
    objects so far; `raw` receives the objects."""

    def __init__(
        self,
        path: str,
        progress: Callable[[str, int], None] | None = None,
        bounds: ArchiveLimits = BOUNDS,
        raw: RawObjects | None = None,
    ) -> None:
        self._raw = raw
        self._path = path
        self._bounds = bounds
        self._progress = progress

    def read(self, resources: Sequence[Resource]) -> Cluster:
        """All objects of `resources` in the dump.

        Raises:
            SnapshotError: it cannot be opened, is not output of kubectl, or has no nodes or no pods.
        """
        intake = DumpIntake(resources, self._progress, self._raw)
        skipped: list[str] = []
        lists = 0
        try:
            for part in parts(self._path, self._bounds):
                if part.stem == STEM:
                    continue  # the AWS session reads it
                if part.stem == MANIFEST:
                    raise _error(f"cannot read the snapshot {self._path}: {_NOT_IN_FRONT}", _AS_WRITTEN)
                lists += self._part(part, intake, skipped)
        except BadArchive as error:
            raise _error(f"cannot read the snapshot {self._path}: {error}", "Make or copy it again.") from error
        except OSError as error:
            raise _unopened(self._path, error) from error
        if not lists:
            why = f": {skipped[0]}" if skipped else ", and no file called *.json or *.json.gz"
            raise _error(f"the snapshot {self._path} holds no List{why}", _DUMP_HINT)
        for resource in (kinds.NODES, kinds.PODS):
            if resource not in resources:
                continue
            if resource not in intake.held:
                message = f"the snapshot {self._path} has no list of {resource.plural}"
                raise _error(message, "Nothing can be planned without nodes and pods. " + _DUMP_HINT)
            if detail := intake.incomplete(resource):
                raise _error(f"the snapshot {self._path} is incomplete: {detail}", _DUMP_HINT)
        cluster = intake.cluster()
        return replace(cluster, notes=cluster.notes + tuple(map(_printable, skipped)))

    def _part(self, part: ArchivePart, intake: DumpIntake, skipped: list[str]) -> int:
        """Read the Lists of one part; returns their number."""
        try:
            return _take(part, intake)
        except BadStream as error:
            if error.trouble is StreamTrouble.NOT_A_LIST and self._may_be_skipped(part, error, intake):
                skipped.append(f"{part.name} was skipped: it is {error.what}, not a List")
                return 0
            what = f"it is {error.what}, not a List" if error.trouble is StreamTrouble.NOT_A_LIST else error.what
            raise _error(f"cannot read the snapshot {part.name}: {what}", _HINTS[error.trouble]) from error
        except BadObject as error:
            raise _error(f"cannot use the snapshot: {error}", "Make the dump again, in one go.") from error
        except BadArchive as error:
            raise _error(f"cannot read the snapshot {part.name}: {error}", "Make or copy it again.") from error
        except OSError as error:
            raise _unopened(part.name, error) from error

    def _may_be_skipped(self, part: ArchivePart, error: BadStream, intake: DumpIntake) -> bool:
        """A folder may contain other JSON files, but no object of a kind whose list is requested."""
        return part.name not in (self._path, "standard input") and bool(error.kind) and not intake.asks_for(error.kind)


def _take(part: ArchivePart, intake: DumpIntake) -> int:
    """Read the Lists of a part. A List may name its kind after its items, as sorted keys do; then the part is read
    again with known kinds."""
    done = _Done()
    try:
        return _feed(part, part.chunks(), intake, None, done)
    except KindComesLater:
        if part.again is None:
            raise _error(
                f"cannot read the snapshot {part.name}: a List in it names its kind only after its items",
                "Save it to a file and pass its path.",
            ) from None
    known = [each for each in ListStream(part.again()) if isinstance(each, ListHeader)]
    return _feed(part, part.again(), intake, known, done)


class _Done:
    """The position in a part where the first pass stopped."""

    def __init__(self) -> None:
        self.lists = 0
        self.items = 0


def _feed(
    part: ArchivePart, chunks: Iterator[bytes], intake: DumpIntake, known: list[ListHeader] | None, done: _Done
) -> int:
    """Pass every item after `position` to `intake`; returns the number of Lists in the part."""
    lists = items = 0
    for each in ListStream(chunks):
        if isinstance(each, StreamItem):
            items += 1
            if (lists, items) > (done.lists, done.items):
                intake.item(each, part.name, part.stem, known[lists] if known else None)
                done.lists, done.items = lists, items
        else:
            if lists >= done.lists:
                intake.end(each, part.stem)
                done.lists, done.items = lists + 1, 0
            lists, items = lists + 1, 0
    return lists


def _unopened(path: str, error: OSError) -> SnapshotError:
    name = error.filename if isinstance(error.filename, str) else path
    return _error(f"cannot open the snapshot {name}: {error.strerror or error}", "Check the path and its permissions.")


def _error(message: str, hint: str) -> SnapshotError:
    return SnapshotError(_printable(message), hint)


def _printable(text: str) -> str:
    """Names in a dump are untrusted: they must not move the terminal's cursor or fill the screen."""
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
