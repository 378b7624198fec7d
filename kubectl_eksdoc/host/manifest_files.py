"""Manifests that the user names: files, folders with all that is below them, standard input (``-``)."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kubectl_eksdoc.core.model.api_usage import Manifest, Unread
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.files import opened
from kubectl_eksdoc.host.archives.archive import standard_input
from kubectl_eksdoc.objects.manifests import manifest_of

STDIN = "-"
ENDINGS = (".yaml", ".yml", ".json")
"""Those that kubectl takes out of a folder."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bytes of one file, and how many files."""

    size: int = 32 << 20
    files: int = 50_000


BOUNDS = Bounds()
_NO_OBJECT = "there is no Kubernetes object in it"
_HINT = "Name files or folders of manifests, or - for standard input."


def read_manifests(paths: Sequence[str], bounds: Bounds = BOUNDS) -> tuple[Manifest, ...]:
    """Each file once, in the order of `paths`, folders sorted. What is in a folder and cannot be read is named in its
    place; files of a folder without an object are left out.

    Raises:
        UsageError: a path that was named is not there.
    """
    found: dict[str, Manifest] = {}
    for path, named in _files(paths):
        if path in found:
            continue
        if len(found) >= bounds.files:
            why = f"more than {bounds.files} files are not read"
            found[path] = Manifest(path, unread=(Unread(1, why),))
            break
        read = _read(path, bounds)
        if named and not (read.documents or read.unread):
            read = replace(read, unread=(Unread(1, _NO_OBJECT),))
        if read.documents or read.unread:
            found[path] = read
    return tuple(found.values())


def _files(paths: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Each with whether it was named itself."""
    for path in paths:
        if path == STDIN:
            yield path, True
            continue
        try:
            is_folder = stat.S_ISDIR(os.stat(path).st_mode)
        except (OSError, ValueError) as error:  # ValueError: a path that no system takes
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise UsageError(f"-f {path} cannot be opened: {why}", _HINT) from error
        if not is_folder:
            yield path, True
            continue
        for file in _below(path):
            yield file, False


def _below(folder: str) -> Iterator[str]:
    """Folders that are links, or hidden, are not gone into. One that cannot be opened is named as if it were a file."""
    shut: list[str] = []
    for at, folders, files in os.walk(folder, onerror=lambda error: shut.append(str(error.filename))):
        yield from shut
        shut.clear()
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        yield from (os.path.join(at, name) for name in sorted(files) if name.endswith(ENDINGS))
    yield from shut


def _read(path: str, bounds: Bounds) -> Manifest:
    """Of a path that cannot be, why."""
    try:
        read = _bytes(path, bounds.size)
        if len(read) > bounds.size:
            return _unread(path, f"it is larger than {bounds.size >> 20} MiB")
        return manifest_of(read.decode("utf-8-sig"), path)
    except UnicodeDecodeError:
        return _unread(path, "it is no text in UTF-8")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return _unread(path, f"it cannot be read: {why}")


def _bytes(path: str, most: int) -> bytes:
    if path == STDIN:
        with io.BufferedReader(standard_input()) as given:
            return given.read(most + 1)
    with opened(path) as file:
        return file.read(most + 1)


def _unread(path: str, why: str) -> Manifest:
    return Manifest(path, unread=(Unread(1, why),))
