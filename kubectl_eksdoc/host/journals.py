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

from kubectl_eksdoc.errors import LocalJournalError, os_error_text
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.change_journal import SavedChange
from kubectl_eksdoc.model.journal import JournalEntries, JournalEntry, RunEvents, is_run_id
from kubectl_eksdoc.objects.journal_lines import entry_lines, read_events, read_journal

# The journal of a run: a file of lines, synced to disk before each action.
#
# A line truncated by a crash or a full disk does not damage other lines: the next append begins a new line.


JOURNAL_SUFFIX = ".jsonl"

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


def sync_to_disk(descriptor: int) -> None:
    """Returns once the data is on disk. On macOS, fsync only reaches the drive's cache (man 2 fsync)."""
    try:
        import fcntl
    except ImportError:  # Windows
        os.fsync(descriptor)
        return
    full_sync = getattr(fcntl, "F_FULLFSYNC", None)
    if full_sync is None:
        os.fsync(descriptor)
    else:
        fcntl.fcntl(descriptor, full_sync)


def restrict_to_owner(descriptor: int) -> None:
    """Restrict the file to its owner, also if it existed before, as after a restore; ignored where the system does not
    support or allow it."""
    with suppress(OSError, AttributeError):
        os.fchmod(descriptor, 0o600)


class LineFile:
    """A file of lines in `folder`, opened for appending; created if missing, accessible to its owner only."""

    HINT = "Nothing is done that is not written down first. Make room, or choose another folder with XDG_STATE_HOME."

    def __init__(self, folder: Path, name: str, sync: Sync = sync_to_disk) -> None:
        """`sync` flushes a file descriptor to disk.

        Raises:
            LocalJournalError: the file cannot be created or opened.
        """
        self.path = folder / name
        self._sync = sync
        self._failure = ""
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
            self._descriptor = os.open(self.path, flags, 0o600)
            restrict_to_owner(self._descriptor)
            try:
                self._size = os.fstat(self._descriptor).st_size
                self._ends_mid_line = self._size > 0 and _last_byte(self._descriptor) != b"\n"
                _sync_folder(folder, sync)
            except OSError:
                os.close(self._descriptor)
                raise
        except (OSError, ValueError) as error:  # ValueError: a path that no system accepts
            raise self._journal_error("opened", error) from error

    def append_text(self, text: str) -> None:
        """Append lines in ASCII, each with its newline. They are on disk when it returns.

        Raises:
            LocalJournalError: they are not on disk, or that is unknown; then this file accepts no more lines.
        """
        if self._failure:
            raise LocalJournalError(self._failure, self.HINT)
        data = text.encode("ascii")
        if self._ends_mid_line:
            data = b"\n" + data
        try:
            self._write(data)
        except OSError as error:
            journal_error = self._journal_error("written to", error)
            self._truncate_partial_write(journal_error.message)
            raise journal_error from error
        try:
            self._sync(self._descriptor)
        except OSError as error:
            # After a failed fsync, the state on disk is unknown, and a second fsync may report success.
            journal_error = self._journal_error("brought onto the disk", error)
            self._failure = journal_error.message
            raise journal_error from error
        self._size += len(data)
        self._ends_mid_line = False

    def close(self) -> None:
        os.close(self._descriptor)

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._descriptor, data) :]

    def _truncate_partial_write(self, reason: str) -> None:
        """Remove a partially written line."""
        try:
            os.ftruncate(self._descriptor, self._size)
        except OSError:
            self._failure = reason

    def _journal_error(self, operation: str, error: Exception) -> LocalJournalError:
        return LocalJournalError(f"the journal {self.path} cannot be {operation}: {os_error_text(error)}", self.HINT)


class JournalFile(LineFile):
    """The journal file of one run."""

    HINT = f"{LineFile.HINT[:-1]}; the cluster keeps a copy of the journal."

    def __init__(self, folder: Path, run: str, sync: Sync = sync_to_disk) -> None:
        """Raises LocalJournalError: the file cannot be created or opened."""
        if not is_run_id(run):
            raise LocalJournalError(f"{run[:80]!r} is no id of a run", "kubectl eksdoc drain status lists them.")
        super().__init__(folder, f"{run}{JOURNAL_SUFFIX}", sync)

    def append(self, entries: Sequence[JournalEntry]) -> None:
        """Append entries. They are on disk when it returns.

        Raises:
            LocalJournalError: they are not on disk, or that is unknown; then this file accepts no more lines.
        """
        self.append_text(entry_lines(entries))

    def entries(self) -> JournalEntries:
        """All entries. Raises LocalJournalError: the file cannot be read."""
        return _read_journal(self.path)


EVENTS_SUFFIX = ".events"


def append_events(folder: Path, run: str, text: str) -> None:
    """Append events of a run for replay, beside its journal. They are not synced to disk, because no action depends on
    them. Raises LocalJournalError: they cannot be written."""
    file = LineFile(folder, f"{run}{EVENTS_SUFFIX}", sync=lambda descriptor: None)
    try:
        file.append_text(text)
    finally:
        file.close()


def read_run(folder: Path, run: str) -> JournalEntries:
    """The local journal of a run; empty if there is none.

    Raises:
        LocalJournalError: it exists, but cannot be read.
    """
    return _read_journal(folder / f"{run}{JOURNAL_SUFFIX}") if is_run_id(run) else JournalEntries()


def _read_journal(path: Path) -> JournalEntries:
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return JournalEntries()
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    return read_journal(text, str(path))


MAX_JOURNAL_BYTES = 256 << 20
"""In bytes. The journal of a drain of 30,000 pods has some 20 MB; a device or pipe may never end."""


def read_recording(path: str) -> JournalEntries | RunEvents:
    """A recorded run from any file: a journal, or the output of ``drain run -o json``; the lines tell which. For any
    other file, `JournalEntries.dropped` describes the invalid lines.

    Raises:
        LocalJournalError: the file does not exist or cannot be read.
    """
    if not os.path.exists(path):
        raise LocalJournalError(
            f"there is no journal {path}", "Journals of runs are kept in ~/.local/state/eksdoc/runs."
        )
    try:
        with open(path, "rb") as file:
            text = file.read(MAX_JOURNAL_BYTES + 1)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    if len(text) > MAX_JOURNAL_BYTES:
        raise LocalJournalError(f"{path} has more than {MAX_JOURNAL_BYTES >> 20} MiB: that is no journal")
    entries = read_journal(text, path)
    events = RunEvents() if entries.entries else read_events(text, path)
    return events if events.events else entries


def _unreadable(path: Path | str, error: Exception) -> LocalJournalError:
    return LocalJournalError(f"the journal {path} cannot be read: {os_error_text(error)}", "Check its permissions.")


def run_ids(folder: Path) -> tuple[str, ...]:
    """The ids of runs with a journal on this machine, sorted; none if the folder cannot be read."""
    try:
        return _journal_ids(folder)
    except OSError:
        return ()


def _journal_ids(folder: Path) -> tuple[str, ...]:
    return tuple(
        sorted(
            path.name.removesuffix(JOURNAL_SUFFIX) for path in folder.iterdir() if path.name.endswith(JOURNAL_SUFFIX)
        )
    )


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


FORMAT_VERSION = 1
MAX_CHANGE_JOURNAL_BYTES = 64 << 20


def changes_folder(environ: Mapping[str, str], home: str) -> Path:
    """Raises LocalJournalError: HOME is not set."""
    return state_folder(environ, home) / "changes"


class ChangeJournalFile:
    """A `changes.engine._Journal`. Mutable: the file is created with the first entry."""

    def __init__(self, folder: Path, change_id: str) -> None:
        self._folder = folder
        self.id = change_id
        self._file: LineFile | None = None
        self.path = folder / f"{change_id}{JOURNAL_SUFFIX}"

    def write(self, entry: Doc) -> None:
        """As `changes.engine._Journal.write`."""
        if self._file is None:
            self._file = LineFile(self._folder, f"{self.id}{JOURNAL_SUFFIX}")
        self._file.append_text(
            json.dumps({"v": FORMAT_VERSION, **entry}, ensure_ascii=True, separators=(",", ":")) + "\n"
        )

    def path_beside(self, suffix: str) -> Path:
        """The path of another file of the same change."""
        return self._folder / f"{self.id}{suffix}"

    def write_beside(self, suffix: str, text: str) -> Path:
        """Write a file beside the journal, accessible to its owner only; an existing file is overwritten.

        Raises:
            LocalJournalError: it cannot be written.
        """
        path = self.path_beside(suffix)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            restrict_to_owner(descriptor)
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise LocalJournalError(f"{path} cannot be written: {error.strerror}", "Make room, or allow it.") from error
        return path


def read_change(folder: Path, change_id: str) -> SavedChange:
    """The journal of a change, without truncated lines.

    Raises:
        LocalJournalError: there is no such journal, or it cannot be read.
    """
    path = folder / f"{change_id}{JOURNAL_SUFFIX}"
    try:
        if not is_run_id(change_id):
            raise FileNotFoundError
        if path.stat().st_size > MAX_CHANGE_JOURNAL_BYTES:
            raise LocalJournalError(f"{path} has more than {MAX_CHANGE_JOURNAL_BYTES >> 20} MiB: that is no journal")
        text = path.read_bytes()
    except FileNotFoundError:
        known_ids = ", ".join(run_ids(folder)[-5:]) or "none"
        raise LocalJournalError(
            f"there is no journal of {change_id[:80]!r}", f"Those on this machine: {known_ids}."
        ) from None
    except OSError as error:
        raise _unreadable(path, error) from error
    entries = tuple(entry for entry in map(_parse_entry, text.splitlines()) if entry)
    return SavedChange(change_id, entries, "" if entries else f"{path} has no line that this version can read")


def change_ids(folder: Path) -> tuple[str, ...]:
    """The ids of changes with a journal on this machine, sorted. Raises LocalJournalError: the folder cannot be
    read."""
    try:
        return _journal_ids(folder)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise _unreadable(folder, error) from error


def _parse_entry(line: bytes) -> Doc:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) and document.get("v") == FORMAT_VERSION else {}
