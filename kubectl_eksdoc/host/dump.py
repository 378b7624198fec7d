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

from kubectl_eksdoc.errors import SnapshotError, os_error_text
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, Source
from kubectl_eksdoc.model.kinds import NODES, PODS, ReadState, Resource
from kubectl_eksdoc.model.snapshots import SceneManifest, Snapshot
from kubectl_eksdoc.objects import journal_lines
from kubectl_eksdoc.objects.collector import FactCollector, InvalidAnswer
from kubectl_eksdoc.objects.dump_intake import DumpIntake, KindComesLater
from kubectl_eksdoc.objects.single import RawObjects
from kubectl_eksdoc.objects.stream import InvalidStream, ListHeader, ListStream, StreamError, StreamItem

from .archive import (
    DEFAULT_LIMITS,
    ArchiveLimits,
    ArchivePart,
    BadArchive,
    archive_parts,
    read_part,
)

MANIFEST_STEM = "eksdoc-manifest"
"""The name of the first file in the archive, without ``.json``."""
LISTS_FOLDER, SCENES_FOLDER = "lists", "scenes"

_GZIP_WINDOW_BITS = 16 + zlib.MAX_WBITS
_COMPRESSION_LEVEL = 1
_MAX_QUEUED = 8
"""At most this many pages wait for compression, which limits the memory for a large cluster."""


class SnapshotWriter:
    """Writes a snapshot to `path`. The caller must call `finish` or `discard`. Mutable."""

    def __init__(self, path: str) -> None:
        """
        Raises:
            SnapshotError: the folder is not writable.
        """
        self._path = path
        self._existed_before = os.path.lexists(path)
        folder_path = os.path.dirname(os.path.abspath(path))
        try:
            # An unnamed file disappears however this process ends.
            self._pieces: IO[bytes] = TemporaryFile(dir=folder_path)  # noqa: SIM115 - closed by `discard`
        except OSError as error:
            raise self._write_error(error) from error
        self._end_offset = 0
        self._piece_offsets: dict[tuple[str, str], list[tuple[int, int]]] = {}
        self._page_counts: dict[tuple[str, str], int] = {}
        self._compressor = ThreadPoolExecutor(1)
        self._queue: list[tuple[tuple[str, str], Future[bytes]]] = []

    def add_page(self, scene: str, resource: Resource, body: bytes) -> None:
        """Add a page of a list."""
        key = scene, resource.full_name
        self._page_counts[key] = number = self._page_counts.get(key, 0) + 1
        self._add(key, f"{scene_folder(scene)}{LISTS_FOLDER}/{resource.full_name}/{number:05}.json", body)

    def restart_list(self, scene: str, resource: Resource) -> None:
        """Drop the pages of a list that is read again."""
        key = scene, resource.full_name
        self._write_compressed(0)
        self._piece_offsets.pop(key, None)

    def add_file(self, scene: str, stem: str, body: bytes) -> None:
        """Add another file, ``stem.json``."""
        self._add((scene, stem), f"{scene_folder(scene)}{stem}.json", body)

    def finish(self, manifest: bytes) -> int:
        """Write the complete snapshot, the manifest first; returns its size in bytes.

        Raises:
            SnapshotError: it cannot be written; no partial file remains.
        """
        try:
            self._write_compressed(0)
            size = self._assemble(manifest)
        except OSError as error:
            raise self._write_error(error) from error
        finally:
            self.discard()
        return size

    def discard(self) -> None:
        """Close the temporary file; without `finish`, no file remains."""
        self._compressor.shutdown(cancel_futures=True)
        self._pieces.close()

    def _assemble(self, manifest: bytes) -> int:
        partial_path = f"{self._path}.{os.getpid()}.part"
        try:
            with open(os.open(partial_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(_tar_member(f"{MANIFEST_STEM}.json", manifest))
                for _, pieces in sorted(
                    self._piece_offsets.items(), key=lambda each: each[0] in self._page_counts
                ):  # lists last
                    for start, length in pieces:
                        self._pieces.seek(start)
                        file.write(self._pieces.read(length))
                file.write(_gzip_member(b"\0" * tarfile.BLOCKSIZE * 2))
                file.flush()
                os.fsync(file.fileno())
                size = file.tell()
            if os.path.lexists(self._path) and not self._existed_before:
                raise FileExistsError(errno.EEXIST, "another process has written it meanwhile")
            os.replace(partial_path, self._path)
        except BaseException:
            with suppress(OSError):
                os.unlink(partial_path)
            raise
        return size

    def _add(self, key: tuple[str, str], name: str, body: bytes) -> None:
        compress: Callable[[], bytes] = lambda: _tar_member(name, body)  # noqa: E731 - typed, and handed on
        self._queue.append((key, self._compressor.submit(compress)))
        self._write_compressed(_MAX_QUEUED)

    def _write_compressed(self, max_waiting: int) -> None:
        """Write compressed pieces until at most `max_waiting` are in the queue."""
        while len(self._queue) > max_waiting:
            key, compressed = self._queue.pop(0)
            piece = compressed.result()
            try:
                self._pieces.write(piece)
            except OSError as error:
                raise self._write_error(error) from error
            self._piece_offsets.setdefault(key, []).append((self._end_offset, len(piece)))
            self._end_offset += len(piece)

    def _write_error(self, error: OSError) -> SnapshotError:
        return SnapshotError(
            f"cannot write the snapshot {self._path}: {error.strerror or error}", "Is there room, and may you write?"
        )


def scene_folder(scene: str) -> str:
    """The folder of a scene in the archive: "", or with a trailing slash."""
    return f"{SCENES_FOLDER}/{scene}/" if scene else ""


def _tar_member(name: str, body: bytes) -> bytes:
    """A tar member: header, content, and zeros up to the next block."""
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(body), 0o600
    padding_bytes = -len(body) % tarfile.BLOCKSIZE
    return _gzip_member(info.tobuf(tarfile.PAX_FORMAT), body, b"\0" * padding_bytes)


def _gzip_member(*parts: bytes) -> bytes:
    """A gzip member without a timestamp."""
    compressor = zlib.compressobj(_COMPRESSION_LEVEL, zlib.DEFLATED, _GZIP_WINDOW_BITS)
    return b"".join((*(compressor.compress(part) for part in parts), compressor.flush()))


# Reading snapshots of this tool: complete pages, and the manifest.


_COPY_AGAIN_HINT = "Make or copy it again."
_REQUIRED = (NODES, PODS)
"""Kinds without which no command works; also on a live cluster a command ends without them."""


def read_snapshot(path: str) -> Snapshot | None:
    """The manifest of a snapshot. None if `path` is no snapshot of this tool: it may be a dump of kubectl, whose reader
    reports errors. Standard input is a dump.

    Raises:
        SnapshotError: the snapshot cannot be read, or was made by a newer version of this tool.
    """
    try:
        text = _read_manifest(path)
        return None if text is None else journal_lines.read_manifest(text)
    except journal_lines.NewerFormat as error:
        hint = "Read it with a newer kubectl eksdoc."
        raise SnapshotError(f"cannot read the snapshot {path}: {error}", hint) from error
    except journal_lines.InvalidManifest as error:
        reason = f"what it says of itself cannot be read: {error}"
        raise SnapshotError(f"cannot read the snapshot {path}: {reason}", _COPY_AGAIN_HINT) from error


def _read_manifest(path: str) -> bytes | None:
    """The bytes of the manifest; None if `path` has none or cannot be opened."""
    if path == "-":
        return None
    if os.path.isdir(path):
        path = os.path.join(path, f"{MANIFEST_STEM}.json")
    with suppress(BadArchive, OSError):
        for first in archive_parts(path, DEFAULT_LIMITS):
            return read_part(first) if first.stem == MANIFEST_STEM else None
    return None


def read_scene_file(path: str, scene: str, stem: str) -> bytes | None:
    """A file of a scene; None if the scene does not have it.

    Raises:
        SnapshotError: the snapshot cannot be read.
    """
    try:
        for part in archive_parts(path, DEFAULT_LIMITS):
            if part.stem == stem and _member_folder(part) == scene_folder(scene):
                return read_part(part)
    except (BadArchive, OSError) as error:
        raise SnapshotError(f"cannot read the snapshot {path}: {os_error_text(error)}", _COPY_AGAIN_HINT) from error
    return None


class SnapshotFileReader:
    """A `ports.ClusterReader` for one scene of a snapshot of this tool. `progress` is called with a resource's plural
    and the number of objects so far; `raw` receives the objects."""

    def __init__(
        self,
        path: str,
        scene: str,
        recorded_scene: SceneManifest,
        progress: Callable[[str, int], None] | None = None,
        raw: RawObjects | None = None,
        limits: ArchiveLimits = DEFAULT_LIMITS,
    ) -> None:
        self._path, self._scene, self._recorded_scene = path, scene, recorded_scene
        self._progress = progress or (lambda _plural, _count: None)
        self._raw, self._limits = raw, limits

    def read(self, resources: Sequence[Resource]) -> Cluster:
        """All objects of `resources` in the scene.

        Raises:
            SnapshotError: the snapshot cannot be read, or has fewer objects than its manifest says.
        """
        collector = FactCollector(Source.SNAPSHOT, self._raw)
        counts = dict.fromkeys(resources, 0)
        by_folder = {
            f"{scene_folder(self._scene)}{LISTS_FOLDER}/{resource.full_name}/": resource for resource in resources
        }
        try:
            for part in archive_parts(self._path, self._limits):
                resource = by_folder.get(_member_folder(part))
                if resource is not None:
                    counts[resource] += collector.add_page(resource, read_part(part), part.name).count
                    self._progress(resource.plural, counts[resource])
        except (BadArchive, InvalidAnswer, OSError) as error:
            raise self._read_error(os_error_text(error)) from error
        for resource, count in counts.items():
            collector.set_state(resource, *self._read_state(resource, count))
        # The cluster's UID is only known if namespaces are read, as on a live cluster.
        cluster = collector.cluster(replace(self._recorded_scene.identity, uid=""), self._recorded_scene.observed_at)
        return replace(cluster, notes=tuple(dict.fromkeys((*self._recorded_scene.notes, *cluster.notes))))

    def _read_state(self, resource: Resource, count: int) -> tuple[ReadState, str]:
        """The state of the read, and its detail. An object that appears twice, because its list changed during the
        read, counts once."""
        recorded = self._recorded_scene.read_of(resource)
        if resource in _REQUIRED and (recorded is None or recorded.state is not ReadState.READ):
            raise self._read_error(f"it has no list of {resource.plural}")
        if recorded is None:
            return ReadState.NOT_HELD, f"the snapshot has no {resource.plural}"
        if recorded.state is ReadState.READ and recorded.count > count:
            raise self._read_error(f"it holds {count:,} of {recorded.count:,} {resource.plural}")
        return recorded.state, recorded.detail

    def _read_error(self, reason: str) -> SnapshotError:
        return SnapshotError(f"cannot read the snapshot {self._path}: {reason}", _COPY_AGAIN_HINT)


def _member_folder(part: ArchivePart) -> str:
    """The folder as it was written, with a trailing slash: tar prefixes ``./`` when it archives a folder."""
    parent, slash, _ = part.entry_path.removeprefix("./").rpartition("/")
    return parent + slash


# Recorded AWS responses: a file in the snapshot, beside the lists of objects.


AWS_ANSWERS_STEM = "aws-answers"
"""The name of the file, without ``.json``."""

_PATH_HINT = "Check the path and its permissions."


def read_aws_answers(path: str, limits: ArchiveLimits = DEFAULT_LIMITS) -> bytes | None:
    """The recorded AWS responses; None if there are none. Standard input can be read only once, by the reader of the
    cluster.

    Raises:
        SnapshotError: the snapshot cannot be opened or read.
    """
    if path == "-":
        return None
    try:
        for part in archive_parts(path, limits):
            if part.stem == AWS_ANSWERS_STEM:
                return read_part(part, "the answers of AWS in it are")
    except OSError as error:
        raise SnapshotError(f"cannot open the snapshot {path}: {error.strerror or error}", _PATH_HINT) from error
    except BadArchive as error:
        raise SnapshotError(f"cannot read the snapshot {path}: {error}", "Make or copy it again.") from error
    return None


DUMP_COMMAND = (
    "kubectl get nodes,pods,pdb,deploy,rs,sts,ds,rc,jobs,cronjobs,pv,pvc,sc,csinodes,volumeattachments,ns,pc,leases,"
    "hpa,svc,endpointslices,validatingwebhookconfigurations,mutatingwebhookconfigurations,apiservices,crd -A -o json"
    " > dump.json"
)
"""kubectl fails for the whole list if one kind is not served, so custom kinds are mentioned separately."""
_CUSTOM_KINDS = " and ".join(resource.plural for resource in kinds.ALL if resource.custom)
_DUMP_HINT = f"A dump is made by (add {_CUSTOM_KINDS} to the kinds where the cluster has them): {DUMP_COMMAND}"
MAX_MESSAGE = 1000
"""Characters of a message: names in a dump can be of any length."""
_HINTS = {
    StreamError.EMPTY: "Was the dump's command interrupted? " + _DUMP_HINT,
    StreamError.CUT: "The dump is incomplete; make it again. " + _DUMP_HINT,
    StreamError.MALFORMED: _DUMP_HINT,
    StreamError.ENCODING: (
        "Windows PowerShell's > writes UTF-16: use `| Out-File -Encoding utf8`; unpack other archives."
    ),
    StreamError.NOT_A_LIST: "Lists are read, as kubectl prints them for a whole kind. " + _DUMP_HINT,
    StreamError.TOO_LARGE: "No Kubernetes object is that large. " + _DUMP_HINT,
}


_MANIFEST_NOT_FIRST = (
    "it is a snapshot of kubectl eksdoc that is truncated, comes from a pipe, or does not begin with its description"
)
_COMPLETE_FILE_HINT = "Name its file, whole and as kubectl eksdoc snapshot wrote it."
"""Single list files of a snapshot look like a dump, and would be taken for all of the data."""


class DumpReader:
    """A `ports.ClusterReader` for a dump of kubectl. `progress` is called with a resource's plural and the number of
    objects so far; `raw` receives the objects."""

    def __init__(
        self,
        path: str,
        progress: Callable[[str, int], None] | None = None,
        limits: ArchiveLimits = DEFAULT_LIMITS,
        raw: RawObjects | None = None,
    ) -> None:
        self._raw = raw
        self._path = path
        self._limits = limits
        self._progress = progress

    def read(self, resources: Sequence[Resource]) -> Cluster:
        """All objects of `resources` in the dump.

        Raises:
            SnapshotError: it cannot be opened, is not output of kubectl, or has no nodes or no pods.
        """
        intake = DumpIntake(resources, self._progress, self._raw)
        skipped: list[str] = []
        list_count = 0
        try:
            for part in archive_parts(self._path, self._limits):
                if part.stem == AWS_ANSWERS_STEM:
                    continue  # the AWS session reads it
                if part.stem == MANIFEST_STEM:
                    raise _snapshot_error(
                        f"cannot read the snapshot {self._path}: {_MANIFEST_NOT_FIRST}", _COMPLETE_FILE_HINT
                    )
                list_count += self._read_part(part, intake, skipped)
        except BadArchive as error:
            raise _snapshot_error(
                f"cannot read the snapshot {self._path}: {error}", "Make or copy it again."
            ) from error
        except OSError as error:
            raise _open_error(self._path, error) from error
        if not list_count:
            explanation = f": {skipped[0]}" if skipped else ", and no file called *.json or *.json.gz"
            raise _snapshot_error(f"the snapshot {self._path} holds no List{explanation}", _DUMP_HINT)
        for resource in (kinds.NODES, kinds.PODS):
            if resource not in resources:
                continue
            if resource not in intake.resources_found:
                message = f"the snapshot {self._path} has no list of {resource.plural}"
                raise _snapshot_error(message, "Nothing can be planned without nodes and pods. " + _DUMP_HINT)
            if detail := intake.incomplete_reason(resource):
                raise _snapshot_error(f"the snapshot {self._path} is incomplete: {detail}", _DUMP_HINT)
        cluster = intake.cluster()
        return replace(cluster, notes=cluster.notes + tuple(map(_printable, skipped)))

    def _read_part(self, part: ArchivePart, intake: DumpIntake, skipped: list[str]) -> int:
        """Read the Lists of one part; returns their number."""
        try:
            return _read_lists(part, intake)
        except InvalidStream as error:
            if error.trouble is StreamError.NOT_A_LIST and self._may_be_skipped(part, error, intake):
                skipped.append(f"{part.name} was skipped: it is {error.description}, not a List")
                return 0
            problem = (
                f"it is {error.description}, not a List"
                if error.trouble is StreamError.NOT_A_LIST
                else error.description
            )
            raise _snapshot_error(f"cannot read the snapshot {part.name}: {problem}", _HINTS[error.trouble]) from error
        except InvalidAnswer as error:
            raise _snapshot_error(f"cannot use the snapshot: {error}", "Make the dump again, in one go.") from error
        except BadArchive as error:
            raise _snapshot_error(f"cannot read the snapshot {part.name}: {error}", "Make or copy it again.") from error
        except OSError as error:
            raise _open_error(part.name, error) from error

    def _may_be_skipped(self, part: ArchivePart, error: InvalidStream, intake: DumpIntake) -> bool:
        """A folder may contain other JSON files, but no object of a kind whose list is requested."""
        return (
            part.name not in (self._path, "standard input") and bool(error.kind) and not intake.is_requested(error.kind)
        )


def _read_lists(part: ArchivePart, intake: DumpIntake) -> int:
    """Read the Lists of a part. A List may name its kind after its items, as sorted keys do; then the part is read
    again with known kinds."""
    position = _FeedPosition()
    try:
        return _feed_items(part, part.chunks(), intake, None, position)
    except KindComesLater:
        if part.reread is None:
            raise _snapshot_error(
                f"cannot read the snapshot {part.name}: a List in it names its kind only after its items",
                "Save it to a file and pass its path.",
            ) from None
    headers = [each for each in ListStream(part.reread()) if isinstance(each, ListHeader)]
    return _feed_items(part, part.reread(), intake, headers, position)


class _FeedPosition:
    """The position in a part where the first pass stopped."""

    def __init__(self) -> None:
        self.lists = 0
        self.items = 0


def _feed_items(
    part: ArchivePart,
    chunks: Iterator[bytes],
    intake: DumpIntake,
    headers: list[ListHeader] | None,
    position: _FeedPosition,
) -> int:
    """Pass every item after `position` to `intake`; returns the number of Lists in the part."""
    lists = items = 0
    for entry in ListStream(chunks):
        if isinstance(entry, StreamItem):
            items += 1
            if (lists, items) > (position.lists, position.items):
                intake.add_item(entry, part.name, part.stem, headers[lists] if headers else None)
                position.lists, position.items = lists, items
        else:
            if lists >= position.lists:
                intake.end_list(entry, part.stem)
                position.lists, position.items = lists + 1, 0
            lists, items = lists + 1, 0
    return lists


def _open_error(path: str, error: OSError) -> SnapshotError:
    name = error.filename if isinstance(error.filename, str) else path
    return _snapshot_error(
        f"cannot open the snapshot {name}: {error.strerror or error}", "Check the path and its permissions."
    )


def _snapshot_error(message: str, hint: str) -> SnapshotError:
    return SnapshotError(_printable(message), hint)


def _printable(text: str) -> str:
    """Names in a dump are untrusted: they must not move the terminal's cursor or fill the screen."""
    if len(text) > MAX_MESSAGE:
        text = f"{text[: MAX_MESSAGE // 2]} … {text[-MAX_MESSAGE // 2 :]}"
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
