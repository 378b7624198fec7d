"""Journals on this machine: of runs, and of changes.

Belongs here: lines that are on the disk before what they say is done, and reading them back.
Never here: what a journal means.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from kubectl_eksdoc.errors import LocalJournalError, cause_of
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.change_journal import SavedChange
from kubectl_eksdoc.model.journal import Entries, Entry, RunEvents, is_run_id
from kubectl_eksdoc.objects.journal_lines import lines, read_events, read_lines

# The journal of a run on this machine: a file of lines that is on the disk before anything is done.
#
# A line that was cut off, by a crash or a full disk, spoils no other: what is appended next begins a line of its own.


ENDING = ".jsonl"

Sync = Callable[[int], object]


def runs_folder(environ: Mapping[str, str], home: str) -> Path:
    """Where journals are kept: ``$XDG_STATE_HOME/eksdoc/runs``, else under ``~/.local/state`` (XDG Base Directory
    Specification 0.8, which has relative paths ignored).

    Raises:
        LocalJournalError: there is no home either.
    """
    return state_folder(environ, home) / "runs"


def state_folder(environ: Mapping[str, str], home: str) -> Path:
    """Where all that this tool writes down is kept. Raises: as `runs_folder`."""
    state = environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):
        if not os.path.isabs(home):
            hint = "Set HOME or XDG_STATE_HOME to a folder that can be written to."
            raise LocalJournalError("there is no folder for the journal of a run: HOME is not set", hint)
        state = os.path.join(home, ".local", "state")
    return Path(state) / "eksdoc"


def to_the_disk(descriptor: int) -> None:
    """Returns when it is on the disk. macOS's fsync ends in the drive's cache (man 2 fsync)."""
    try:
        import fcntl
    except ImportError:  # Windows
        os.fsync(descriptor)
        return
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is None:
        os.fsync(descriptor)
    else:
        fcntl.fcntl(descriptor, full)


def for_its_owner(descriptor: int) -> None:
    """Also a file that was there before, as one that was copied back, where the system knows that and allows it."""
    with suppress(OSError, AttributeError):
        os.fchmod(descriptor, 0o600)


class LineFile:
    """A file of lines in `folder`, opened to append to: it is made where it is missing, for its owner alone."""

    HINT = "Nothing is done that is not written down first. Make room, or choose another folder with XDG_STATE_HOME."

    def __init__(self, folder: Path, name: str, sync: Sync = to_the_disk) -> None:
        """`sync` brings what a descriptor stands for onto the disk.

        Raises:
            LocalJournalError: it cannot be made or opened.
        """
        self.path = folder / name
        self._sync = sync
        self._broken = ""
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
            self._descriptor = os.open(self.path, flags, 0o600)
            for_its_owner(self._descriptor)
            try:
                self._size = os.fstat(self._descriptor).st_size
                self._cut = self._size > 0 and _last_byte(self._descriptor) != b"\n"
                _sync_folder(folder, sync)
            except OSError:
                os.close(self._descriptor)
                raise
        except (OSError, ValueError) as error:  # ValueError: a path that no system takes
            raise self._failed("opened", error) from error

    def add(self, text: str) -> None:
        """Lines in ASCII, each with its line end. They are on the disk when it returns.

        Raises:
            LocalJournalError: they are not, or nobody knows: then nothing can be appended to this file any more.
        """
        if self._broken:
            raise LocalJournalError(self._broken, self.HINT)
        data = text.encode("ascii")
        if self._cut:
            data = b"\n" + data
        try:
            self._write(data)
        except OSError as error:
            failed = self._failed("written to", error)
            self._take_back(failed.message)
            raise failed from error
        try:
            self._sync(self._descriptor)
        except OSError as error:
            # What a failed fsync leaves on the disk is not known, and a second one may say that all is well.
            failed = self._failed("brought onto the disk", error)
            self._broken = failed.message
            raise failed from error
        self._size += len(data)
        self._cut = False

    def close(self) -> None:
        os.close(self._descriptor)

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._descriptor, data) :]

    def _take_back(self, why: str) -> None:
        """What was written of lines that are not whole."""
        try:
            os.ftruncate(self._descriptor, self._size)
        except OSError:
            self._broken = why

    def _failed(self, what: str, error: Exception) -> LocalJournalError:
        return LocalJournalError(f"the journal {self.path} cannot be {what}: {cause_of(error)}", self.HINT)


class JournalFile(LineFile):
    """One run's file."""

    HINT = f"{LineFile.HINT[:-1]}; the cluster keeps a copy of the journal."

    def __init__(self, folder: Path, run: str, sync: Sync = to_the_disk) -> None:
        """Raises LocalJournalError: it cannot be made or opened."""
        if not is_run_id(run):
            raise LocalJournalError(f"{run[:80]!r} is no id of a run", "kubectl eksdoc drain status lists them.")
        super().__init__(folder, f"{run}{ENDING}", sync)

    def append(self, entries: Sequence[Entry]) -> None:
        """They are on the disk when it returns.

        Raises:
            LocalJournalError: they are not, or nobody knows: then nothing can be appended to this file any more.
        """
        self.add(lines(entries))

    def entries(self) -> Entries:
        """All that it has. Raises LocalJournalError: it cannot be read."""
        return _read(self.path)


EVENTS = ".events"


def add_events(folder: Path, run: str, text: str) -> None:
    """To what a run tells for a replay, beside its journal. It does not have to be on the disk when it returns: nothing
    rests on it. Raises LocalJournalError: it cannot be written."""
    file = LineFile(folder, f"{run}{EVENTS}", sync=lambda descriptor: None)
    try:
        file.add(text)
    finally:
        file.close()


def read_run(folder: Path, run: str) -> Entries:
    """What this machine has of a run's journal; nothing where it has none.

    Raises:
        LocalJournalError: it is there and cannot be read.
    """
    return _read(folder / f"{run}{ENDING}") if is_run_id(run) else Entries()


def _read(path: Path) -> Entries:
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return Entries()
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    return read_lines(text, str(path))


LARGEST = 256 << 20
"""Bytes. The journal of a drain of 30,000 pods has some 20 MB; what is no file may never end."""


def read_recorded(path: str) -> Entries | RunEvents:
    """A run as it was written down, wherever that lies: a journal, or what ``drain run -o json`` wrote; which of them
    is seen by the lines. Where it is neither, what is wrong with its lines is in `Entries.dropped`.

    Raises:
        LocalJournalError: it cannot be read, or there is none.
    """
    if not os.path.exists(path):
        raise LocalJournalError(
            f"there is no journal {path}", "Journals of runs are kept in ~/.local/state/eksdoc/runs."
        )
    try:
        with open(path, "rb") as file:
            text = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    if len(text) > LARGEST:
        raise LocalJournalError(f"{path} has more than {LARGEST >> 20} MiB: that is no journal")
    entries = read_lines(text, path)
    events = RunEvents() if entries.entries else read_events(text, path)
    return events if events.told else entries


def _unreadable(path: Path | str, error: Exception) -> LocalJournalError:
    return LocalJournalError(f"the journal {path} cannot be read: {cause_of(error)}", "Check its permissions.")


def runs(folder: Path) -> tuple[str, ...]:
    """The runs of which this machine has a journal, sorted; none where the folder cannot be read."""
    try:
        return _kept(folder)
    except OSError:
        return ()


def _kept(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(path.name.removesuffix(ENDING) for path in folder.iterdir() if path.name.endswith(ENDING)))


def _last_byte(descriptor: int) -> bytes:
    os.lseek(descriptor, -1, os.SEEK_END)
    return os.read(descriptor, 1)


def _sync_folder(folder: Path, sync: Sync) -> None:
    """So that the file is found after a power failure. Windows opens no folders."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


# The journals of changes on this machine: a file of lines for each, with what it was held against.
#
# The first line has all that a later process needs: what was sent, what was there before, and what was predicted: of
# texts that may be secrets, digests. The values of before stand beside it as they are, for there is no rollback
# without them; so a file is its owner's alone.


FORMAT = 1
LARGEST_CHANGE_JOURNAL = 64 << 20


def changes_folder(environ: Mapping[str, str], home: str) -> Path:
    """Raises LocalJournalError: there is no home."""
    return state_folder(environ, home) / "changes"


class ChangeJournalFile:
    """A `changes.engine._Journal`. Mutable: it holds a file, which is made with the first entry."""

    def __init__(self, folder: Path, ident: str) -> None:
        self._folder = folder
        self.id = ident
        self._file: LineFile | None = None
        self.path = folder / f"{ident}{ENDING}"

    def write(self, entry: Doc) -> None:
        """As `changes.engine._Journal.write`."""
        if self._file is None:
            self._file = LineFile(self._folder, f"{self.id}{ENDING}")
        self._file.add(json.dumps({"v": FORMAT, **entry}, ensure_ascii=True, separators=(",", ":")) + "\n")

    def path_beside(self, ending: str) -> Path:
        """Of another file of the same change."""
        return self._folder / f"{self.id}{ending}"

    def beside(self, ending: str, text: str) -> Path:
        """Write it, for its owner alone; a file that is there is written again.

        Raises:
            LocalJournalError: it cannot be written.
        """
        path = self.path_beside(ending)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            for_its_owner(descriptor)
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise LocalJournalError(f"{path} cannot be written: {error.strerror}", "Make room, or allow it.") from error
        return path


def read_change(folder: Path, ident: str) -> SavedChange:
    """A line that was cut off is left out.

    Raises:
        LocalJournalError: there is none of that name, or it cannot be read.
    """
    path = folder / f"{ident}{ENDING}"
    try:
        if not is_run_id(ident):
            raise FileNotFoundError
        if path.stat().st_size > LARGEST_CHANGE_JOURNAL:
            raise LocalJournalError(f"{path} has more than {LARGEST_CHANGE_JOURNAL >> 20} MiB: that is no journal")
        text = path.read_bytes()
    except FileNotFoundError:
        known = ", ".join(runs(folder)[-5:]) or "none"
        raise LocalJournalError(f"there is no journal of {ident[:80]!r}", f"Those on this machine: {known}.") from None
    except OSError as error:
        raise _unreadable(path, error) from error
    entries = tuple(entry for entry in map(_entry, text.splitlines()) if entry)
    return SavedChange(ident, entries, "" if entries else f"{path} has no line that this version can read")


def change_ids(folder: Path) -> tuple[str, ...]:
    """The changes of which this machine has a journal, sorted. Raises LocalJournalError: the folder cannot be read."""
    try:
        return _kept(folder)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise _unreadable(folder, error) from error


def _entry(line: bytes) -> Doc:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and found.get("v") == FORMAT else {}
