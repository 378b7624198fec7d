"""Journals of runs and changes on this machine.

Belongs here: lines that are synced to disk before the action that they announce; reading them.
Never here: the meaning of a journal.
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

# The journal of a run: a file of lines, synced to disk before each action.
#
# A line truncated by a crash or a full disk does not damage other lines: the next append begins a new line.


ENDING = ".jsonl"

Sync = Callable[[int], object]


def runs_folder(environ: Mapping[str, str], home: str) -> Path:
    """The folder of run journals: ``$XDG_STATE_HOME/eksdoc/runs``, else under ``~/.local/state`` (XDG Base Directory
    Specification 0.8, which ignores relative paths).

    Raises:
        LocalJournalError: HOME is not set either.
    """
    return state_folder(environ, home) / "runs"


def state_folder(environ: Mapping[str, str], home: str) -> Path:
    """The folder of everything that this tool stores. Raises: as `runs_folder`."""
    state = environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):
        if not os.path.isabs(home):
            hint = "Set HOME or XDG_STATE_HOME to a folder that can be written to."
            raise LocalJournalError("there is no folder for the journal of a run: HOME is not set", hint)
        state = os.path.join(home, ".local", "state")
    return Path(state) / "eksdoc"


def to_the_disk(descriptor: int) -> None:
    """Returns once the data is on disk. On macOS, fsync only reaches the drive's cache (man 2 fsync)."""
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
    """Restrict the file to its owner, also if it existed before, as after a restore; ignored where the system does not
    support or allow it."""
    with suppress(OSError, AttributeError):
        os.fchmod(descriptor, 0o600)


class LineFile:
    """A file of lines in `folder`, opened for appending; created if missing, accessible to its owner only."""

    HINT = "Nothing is done that is not written down first. Make room, or choose another folder with XDG_STATE_HOME."

    def __init__(self, folder: Path, name: str, sync: Sync = to_the_disk) -> None:
        """`sync` flushes a file descriptor to disk.

        Raises:
            LocalJournalError: the file cannot be created or opened.
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
        except (OSError, ValueError) as error:  # ValueError: a path that no system accepts
            raise self._failed("opened", error) from error

    def add(self, text: str) -> None:
        """Append lines in ASCII, each with its newline. They are on disk when it returns.

        Raises:
            LocalJournalError: they are not on disk, or that is unknown; then this file accepts no more lines.
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
            # After a failed fsync, the state on disk is unknown, and a second fsync may report success.
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
        """Remove a partially written line."""
        try:
            os.ftruncate(self._descriptor, self._size)
        except OSError:
            self._broken = why

    def _failed(self, what: str, error: Exception) -> LocalJournalError:
        return LocalJournalError(f"the journal {self.path} cannot be {what}: {cause_of(error)}", self.HINT)


class JournalFile(LineFile):
    """The journal file of one run."""

    HINT = f"{LineFile.HINT[:-1]}; the cluster keeps a copy of the journal."

    def __init__(self, folder: Path, run: str, sync: Sync = to_the_disk) -> None:
        """Raises LocalJournalError: the file cannot be created or opened."""
        if not is_run_id(run):
            raise LocalJournalError(f"{run[:80]!r} is no id of a run", "kubectl eksdoc drain status lists them.")
        super().__init__(folder, f"{run}{ENDING}", sync)

    def append(self, entries: Sequence[Entry]) -> None:
        """Append entries. They are on disk when it returns.

        Raises:
            LocalJournalError: they are not on disk, or that is unknown; then this file accepts no more lines.
        """
        self.add(lines(entries))

    def entries(self) -> Entries:
        """All entries. Raises LocalJournalError: the file cannot be read."""
        return _read(self.path)


EVENTS = ".events"


def add_events(folder: Path, run: str, text: str) -> None:
    """Append events of a run for replay, beside its journal. They are not synced to disk, because no action depends on
    them. Raises LocalJournalError: they cannot be written."""
    file = LineFile(folder, f"{run}{EVENTS}", sync=lambda descriptor: None)
    try:
        file.add(text)
    finally:
        file.close()


def read_run(folder: Path, run: str) -> Entries:
    """The local journal of a run; empty if there is none.

    Raises:
        LocalJournalError: it exists, but cannot be read.
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
"""In bytes. The journal of a drain of 30,000 pods has some 20 MB; a device or pipe may never end."""


def read_recorded(path: str) -> Entries | RunEvents:
    """A recorded run from any file: a journal, or the output of ``drain run -o json``; the lines tell which. For any
    other file, `Entries.dropped` describes the invalid lines.

    Raises:
        LocalJournalError: the file does not exist or cannot be read.
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
    """The ids of runs with a journal on this machine, sorted; none if the folder cannot be read."""
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
    """Sync the folder, so that the file survives a power failure. Windows does not open folders."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


# Journals of changes on this machine: a file of lines for each, with the values that the change was compared with.
#
# The first line has all that a later process needs: the request, the previous state and the prediction; texts that may
# be secrets are stored as digests. The previous values are stored beside it in plain text, because a rollback needs
# them; so the files are accessible to their owner only.


FORMAT = 1
LARGEST_CHANGE_JOURNAL = 64 << 20


def changes_folder(environ: Mapping[str, str], home: str) -> Path:
    """Raises LocalJournalError: HOME is not set."""
    return state_folder(environ, home) / "changes"


class ChangeJournalFile:
    """A `changes.engine._Journal`. Mutable: the file is created with the first entry."""

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
        """The path of another file of the same change."""
        return self._folder / f"{self.id}{ending}"

    def beside(self, ending: str, text: str) -> Path:
        """Write a file beside the journal, accessible to its owner only; an existing file is overwritten.

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
    """The journal of a change, without truncated lines.

    Raises:
        LocalJournalError: there is no such journal, or it cannot be read.
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
    """The ids of changes with a journal on this machine, sorted. Raises LocalJournalError: the folder cannot be
    read."""
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
