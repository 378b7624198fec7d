"""Edit a snapshot: its files are JSON in an archive, and the edited ones are written in the same form."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kubectl_eksdoc.host.dump import MANIFEST_STEM, SnapshotWriter
from kubectl_eksdoc.model.kinds import Resource

Edit = Callable[[str, dict[str, Any]], object]
"""Of a file, which it may change: its name without ``.json`` (``lists/pods/00001``), and what stands in it."""


def edited(snapshot: str, to: Path, edit: Edit) -> str:
    """The path of a copy of `snapshot` after `edit`. A file that `edit` empties is omitted."""
    file, manifest = SnapshotWriter(str(to)), b""
    with tarfile.open(snapshot, "r:gz") as archive:
        for member in archive:
            body = archive.extractfile(member)
            assert body is not None
            name, document = member.name.removesuffix(".json"), json.loads(body.read())
            edit(name, document)
            written = json.dumps(document).encode()
            if name == MANIFEST_STEM:
                manifest = written
            elif document:
                _write(file, name, written)
    file.finish(manifest)
    return str(to)


def _write(file: SnapshotWriter, name: str, body: bytes) -> None:
    scene, name = name.split("/", 2)[1:] if name.startswith("scenes/") else ("", name)
    if not name.startswith("lists/"):
        file.add_file(scene, name, body)
        return
    plural, _, group = name.split("/")[1].partition(".")
    file.add_page(scene, Resource("", plural, group), body)
