"""A manifest of a plugin and the archives that it names, as krew reads them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class FileMove:
    """An entry of ``files``: `origin` is its ``from``, a pattern; `to` a path."""

    origin: str
    to: str


@dataclass(frozen=True, slots=True)
class Expression:
    """Of a selector: ``{key, operator, values}``."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlatformSelector:
    """None: it is not there, which is not the same as empty."""

    labels: tuple[tuple[str, str], ...] | None = None
    expressions: tuple[Expression, ...] | None = None


@dataclass(frozen=True, slots=True)
class Platform:
    """`files` None: all of the archive is installed. `selector` None: there is none."""

    uri: str = ""
    sha256: str = ""
    bin: str = ""
    files: tuple[FileMove, ...] | None = None
    selector: PlatformSelector | None = None


@dataclass(frozen=True, slots=True)
class Misfit:
    """`at` is the place of a field, as ``spec.platforms[0].uri``; `what` is there instead of what krew can read."""

    at: str
    what: str


@dataclass(frozen=True, slots=True)
class PluginManifest:
    """Fields that are not there are "". `misfits`: fields of another type."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    version: str = ""
    short: str = ""
    description: str = ""
    homepage: str = ""
    caveats: str = ""
    platforms: tuple[Platform, ...] = ()
    misfits: tuple[Misfit, ...] = ()


class EntryKind(str, Enum):
    """`STRANGE`: what krew cannot unpack, whatever it is."""

    FILE = "file"
    FOLDER = "folder"
    SYMLINK = "symbolic link"
    HARD_LINK = "hard link"
    STRANGE = "something else"


@dataclass(frozen=True, slots=True)
class Entry:
    """Of an archive: `name` as it stands there, `mode` the rights alone (0o755); `head`: the first bytes of a file."""

    kind: EntryKind
    name: str
    mode: int
    size: int = 0
    head: bytes = b""
    what: str = ""


class Packing(str, Enum):
    """As its first bytes tell."""

    TAR_GZ = "tar.gz"
    ZIP = "zip"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class PluginArchive:
    """`name` is that of its file; `entries` in their order, none where krew cannot unpack it."""

    name: str
    sha256: str
    packing: Packing
    entries: tuple[Entry, ...] = ()
