"""The files to which an archive unpacks, and those that krew refuses (internal/download/downloader.go)."""

from __future__ import annotations

from collections.abc import Iterator

from tools.krew.lint import codes
from tools.krew.lint.complaints import Complaint, quoted
from tools.krew.lint.model import Entry, EntryKind, Packing, PluginArchive
from tools.krew.lint.paths import below, folders_of
from tools.krew.lint.trees import Tree

_LONGEST_PATH, _LONGEST_NAME = 4000, 255
"""PATH_MAX of Linux, with room for the folder into which it is unpacked, and NAME_MAX."""

_OWNER_ALL, _OWNER_READS = 0o700, 0o400
_EVERYBODY_READS = 0o444
_EVERYBODY_ENTERS = 0o555


def of_archive(archive: PluginArchive) -> Iterator[Complaint]:
    """Entries that prevent unpacking, or unpack to other files than intended."""
    if archive.packing is Packing.OTHER:
        yield Complaint(
            codes.FORMAT, "", "by its first bytes it is neither gzip nor zip", "Pack it as .tar.gz, or as .zip."
        )
    for entry in archive.entries:
        yield from _of_entry(entry, archive.packing)
    yield from _clashes(archive)


def unpacked(archive: PluginArchive) -> Tree:
    """The folder after unpacking by krew; refused entries are left out. A link in a zip is a file."""
    nodes: dict[str, Entry | None] = {}
    for entry in archive.entries:
        path = "" if wrong_path(entry.name) else below(entry.name)
        if not path:
            continue
        if entry.kind is EntryKind.FILE or (entry.kind is EntryKind.SYMLINK and archive.packing is Packing.ZIP):
            nodes.update((folder, None) for folder in folders_of(path))
            nodes[path] = entry
        elif entry.kind is EntryKind.FOLDER:
            nodes.update((folder, None) for folder in (*folders_of(path), path))
    return Tree(nodes)


def wrong_path(name: str) -> str:
    """Why krew does not unpack an entry of that name, "" where it does."""
    if ".." in name:
        return "has .. in its name"
    parts = name[: _LONGEST_PATH + 1].split("/")
    if len(name) > _LONGEST_PATH or any(len(part.encode("utf-8", "replace")) > _LONGEST_NAME for part in parts):
        return "is longer than systems take"
    return "begins with a / or \\" if name.startswith(("/", "\\")) else ""


def _of_entry(entry: Entry, packing: Packing) -> Iterator[Complaint]:
    why = wrong_path(entry.name)
    if why:
        yield Complaint(codes.ENTRY_PATH, "", f"the entry {quoted(entry.name)} {why}", "Pack it without.")
    if entry.kind is EntryKind.SYMLINK and packing is Packing.ZIP:
        what = f"{quoted(entry.name)} is a symbolic link, which becomes a file with the name of what it leads to"
        yield Complaint(codes.ZIP_LINK, "", what, "Pack a copy of what it leads to.")
    elif entry.kind not in (EntryKind.FILE, EntryKind.FOLDER):
        what = f"{quoted(entry.name)} is {entry.what or f'a {entry.kind.value}'}, which krew does not unpack"
        yield Complaint(codes.ENTRY_KIND, "", what, "Pack a copy of what is meant.")
    else:
        yield from _of_mode(entry)


def _of_mode(entry: Entry) -> Iterator[Complaint]:
    folder = entry.kind is EntryKind.FOLDER
    least, usable = (_OWNER_ALL, _EVERYBODY_ENTERS) if folder else (_OWNER_READS, _EVERYBODY_READS)
    if entry.mode & least != least or entry.mode & usable != usable:
        good = "0755" if folder else "0644, and 0755 for a program"
        what = f"{quoted(entry.name)} has mode {entry.mode:04o}, so "
        works = entry.mode & least == least
        what += "not everybody" if works else "not even its owner"
        yield Complaint(codes.ENTRY_MODE, "", f"{what} can use it", f"Pack it with mode {good}.", advice=works)


def _clashes(archive: PluginArchive) -> Iterator[Complaint]:
    """Entries that cannot both be unpacked, or of which the second one damages the first."""
    seen: dict[str, EntryKind] = {}
    for entry in archive.entries:
        if wrong_path(entry.name):
            continue
        path = below(entry.name)
        file = entry.kind is not EntryKind.FOLDER
        above = next(
            (each for each in folders_of(path) if seen.get(each, EntryKind.FOLDER) is not EntryKind.FOLDER), ""
        )
        before = seen.get(path)
        if above:
            what = f"{quoted(entry.name)} is below {quoted(above)}, which is a file"
        elif before is not None and file != (before is not EntryKind.FOLDER):
            what = f"{quoted(entry.name)} is a file and a folder"
        elif before is not None and file and archive.packing is Packing.TAR_GZ:
            what = f"{quoted(entry.name)} is there twice: the second is written over the first, which is not cut off"
        else:
            what = ""
        if what:
            yield Complaint(codes.ENTRY_TWICE, "", what, "Pack it once.")
        if path:
            seen.update((each, EntryKind.FOLDER) for each in folders_of(path) if each not in seen)
            seen[path] = entry.kind
