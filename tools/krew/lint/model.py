"""A plugin manifest and its archives, as krew reads them."""

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
    """One of a selector: ``{key, operator, values}``."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlatformSelector:
    """None: the field is absent, which differs from empty."""

    labels: tuple[tuple[str, str], ...] | None = None
    expressions: tuple[Expression, ...] | None = None


@dataclass(frozen=True, slots=True)
class Platform:
    """`files` None: the complete archive is installed. `selector` None: there is none."""

    uri: str = ""
    sha256: str = ""
    bin: str = ""
    files: tuple[FileMove, ...] | None = None
    selector: PlatformSelector | None = None


@dataclass(frozen=True, slots=True)
class Misfit:
    """`at` is the place of a field, as ``spec.platforms[0].uri``; `what` is its value, which krew cannot read."""

    at: str
    what: str


@dataclass(frozen=True, slots=True)
class PluginManifest:
    """Absent fields are "". `misfits`: fields of another type."""

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
    """`STRANGE`: an entry that krew cannot unpack, of any kind."""

    FILE = "file"
    FOLDER = "folder"
    SYMLINK = "symbolic link"
    HARD_LINK = "hard link"
    STRANGE = "something else"


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of an archive: `name` as stored, `mode` only the permissions (0o755); `head`: the first bytes of a
    file."""

    kind: EntryKind
    name: str
    mode: int
    size: int = 0
    head: bytes = b""
    what: str = ""


class Packing(str, Enum):
    """By its first bytes."""

    TAR_GZ = "tar.gz"
    ZIP = "zip"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class PluginArchive:
    """`name` is the name of its file; `entries` in their order, none where krew cannot unpack it."""

    name: str
    sha256: str
    packing: Packing
    entries: tuple[Entry, ...] = ()
