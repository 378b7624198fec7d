"""The files of a healthy krew plugin, and variants with one change."""

from __future__ import annotations

import copy
import gzip
import hashlib
import io
import json
import stat
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tools.krew.lint.archives import read_archive
from tools.krew.lint.judging import KrewLint, judged
from tools.krew.lint.reading import read_manifest

BIN = "view-logs"
SCRIPT = b"#!/bin/bash\nexec true\n"


@dataclass(frozen=True)
class Packed:
    """An entry to be packed: `type` as in tarfile; `link` is the target of a link."""

    name: str
    content: bytes = b"text\n"
    mode: int = 0o644
    type: bytes = tarfile.REGTYPE
    link: str = ""


FILES: tuple[Packed, ...] = (
    Packed("LICENSE"),
    Packed("lib", b"", 0o755, tarfile.DIRTYPE),
    Packed("lib/part.txt"),
    Packed(BIN, SCRIPT, 0o755),
)


def a_manifest(**spec: Any) -> dict[str, Any]:
    """A manifest with one platform for all of linux and darwin; `spec`: its other fields."""
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "view-logs"},
        "spec": {
            "version": "v1.2.3",
            "homepage": "https://example.com/view-logs",
            "shortDescription": "Show logs side by side",
            "description": "Shows the logs of several pods side by side.\n",
            "caveats": "This plugin needs the following programs:\n* bash\n",
            "platforms": [a_platform()],
            **spec,
        },
    }


def a_platform(**fields: Any) -> dict[str, Any]:
    """A platform; its checksum is that of the archive, once there is one."""
    expressions = [{"key": "os", "operator": "In", "values": ["linux", "darwin"]}]
    return {
        "uri": "https://example.com/v1.2.3/view-logs.tar.gz",
        "sha256": "",
        "bin": BIN,
        "selector": {"matchExpressions": expressions},
        **fields,
    }


def a_tar(files: Sequence[Packed] = FILES, form: int = tarfile.GNU_FORMAT) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w", format=form) as archive:
        for file in files:
            entry = tarfile.TarInfo(file.name)
            entry.mode, entry.type, entry.linkname = file.mode, file.type, file.link
            entry.size = len(file.content) if file.type == tarfile.REGTYPE else 0
            archive.addfile(entry, io.BytesIO(file.content))
    return held.getvalue()


def a_tar_gz(files: Sequence[Packed] = FILES) -> bytes:
    return gzip.compress(a_tar(files), mtime=0)


def a_zip(files: Sequence[Packed] = FILES) -> bytes:
    held = io.BytesIO()
    kinds = {tarfile.DIRTYPE: stat.S_IFDIR, tarfile.SYMTYPE: stat.S_IFLNK}
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            folder = file.type == tarfile.DIRTYPE
            entry = zipfile.ZipInfo(file.name + "/" * folder)
            entry.external_attr = (kinds.get(file.type, stat.S_IFREG) | file.mode) << 16
            archive.writestr(entry, b"" if folder else file.link.encode() or file.content)
    return held.getvalue()


def changed(at: str, files: Sequence[Packed] = FILES, **fields: Any) -> tuple[Packed, ...]:
    """`files` with one entry replaced by another."""
    return tuple(replace(file, **fields) if file.name == at else file for file in files)


def without(at: str) -> tuple[Packed, ...]:
    return tuple(file for file in FILES if file.name != at)


def moved(**platform: Any) -> Callable[[dict[str, Any]], None]:
    """A change of the manifest: fields of its platform."""
    return lambda manifest: manifest["spec"]["platforms"][0].update(platform)


def linted(
    folder: Path,
    change: Callable[[dict[str, Any]], object] = lambda _: None,
    archive: bytes | None = None,
    file_name: str = "view-logs.yaml",
) -> KrewLint:
    """The findings for the healthy manifest after `change`, and for an archive if one is given."""
    manifest = copy.deepcopy(a_manifest())
    held = a_tar_gz() if archive is None else archive
    manifest["spec"]["platforms"][0]["sha256"] = hashlib.sha256(held).hexdigest()
    change(manifest)
    (folder / file_name).write_text(json.dumps(manifest), encoding="utf-8")
    (folder / "view-logs.tar.gz").write_bytes(held)
    return judged(read_manifest(str(folder / file_name)), file_name, [read_archive(str(folder / "view-logs.tar.gz"))])


def broken(lint: KrewLint) -> set[str]:
    """The codes of the failed rules."""
    return {each.code.name for each in lint.findings if each.status.value == "fail"}
