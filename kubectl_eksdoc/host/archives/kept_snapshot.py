"""Reads a snapshot that this tool has made: whole pages, and what it says of itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from kubectl_eksdoc.core.model.cluster import Cluster, Source
from kubectl_eksdoc.core.model.kinds import NODES, PODS, ReadState, Resource
from kubectl_eksdoc.core.model.snapshots import Scene, Snapshot
from kubectl_eksdoc.errors import SnapshotError
from kubectl_eksdoc.host.archives.archive import BOUNDS, BadArchive, Bounds, Part, parts, whole
from kubectl_eksdoc.host.archives.snapshot_file import LISTS, MANIFEST, folder
from kubectl_eksdoc.objects import snapshot_text
from kubectl_eksdoc.objects.collector import BadObject, Collector
from kubectl_eksdoc.objects.raw_objects import RawObjects

_HINT = "Make or copy it again."
_NEEDED = (NODES, PODS)
"""Without them nothing can be told; a live cluster that does not give them ends a command, too."""


def snapshot_at(path: str) -> Snapshot | None:
    """None where it is none of this tool's: then it may be a dump of kubectl's, and whoever reads that says so or why
    not. Standard input is a dump.

    Raises:
        SnapshotError: it is one, and cannot be read, or a newer tool has made it.
    """
    try:
        text = _manifest(path)
        return None if text is None else snapshot_text.read(text)
    except snapshot_text.NewerFormat as error:
        hint = "Read it with a newer kubectl eksdoc."
        raise SnapshotError(f"cannot read the snapshot {path}: {error}", hint) from error
    except snapshot_text.BadManifest as error:
        why = f"what it says of itself cannot be read: {error}"
        raise SnapshotError(f"cannot read the snapshot {path}: {why}", _HINT) from error


def _manifest(path: str) -> bytes | None:
    """Of what is none, or cannot be opened, None."""
    if path == "-":
        return None
    if os.path.isdir(path):
        path = os.path.join(path, f"{MANIFEST}.json")
    with suppress(BadArchive, OSError):
        for first in parts(path, BOUNDS):
            return whole(first) if first.stem == MANIFEST else None
    return None


def file_in(path: str, scene: str, stem: str) -> bytes | None:
    """Of a scene; None where it has none.

    Raises:
        SnapshotError: it cannot be read.
    """
    try:
        for part in parts(path, BOUNDS):
            if part.stem == stem and _folder_of(part) == folder(scene):
                return whole(part)
    except (BadArchive, OSError) as error:
        raise SnapshotError(f"cannot read the snapshot {path}: {_why(error)}", _HINT) from error
    return None


class KeptReader:
    """A `flows.ports.ClusterReader` over one scene of such a snapshot. `progress` is told a resource's plural and its
    objects so far; `raw` gets the objects."""

    def __init__(
        self,
        path: str,
        scene: str,
        told: Scene,
        progress: Callable[[str, int], None] | None = None,
        raw: RawObjects | None = None,
        bounds: Bounds = BOUNDS,
    ) -> None:
        self._path, self._scene, self._told = path, scene, told
        self._progress = progress or (lambda _plural, _count: None)
        self._raw, self._bounds = raw, bounds

    def read(self, resources: Sequence[Resource]) -> Cluster:
        """All objects of `resources` that it holds.

        Raises:
            SnapshotError: it cannot be read, or holds less than it says of itself.
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
            raise self._unread(_why(error)) from error
        for resource, count in counts.items():
            collector.mark(resource, *self._state(resource, count))
        # Whoever does not read namespaces does not know the cluster's uid, live or not.
        cluster = collector.cluster(replace(self._told.identity, uid=""), self._told.observed_at)
        return replace(cluster, notes=tuple(dict.fromkeys((*self._told.notes, *cluster.notes))))

    def _state(self, resource: Resource, count: int) -> tuple[ReadState, str]:
        """Objects that stand in it twice, as those of a list that changed while it was read, are one."""
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


def _why(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def _folder_of(part: Part) -> str:
    """As it was written, with a slash at its end: tar puts ``./`` in front of what it is given as a folder."""
    above, slash, _ = part.entry.removeprefix("./").rpartition("/")
    return above + slash
