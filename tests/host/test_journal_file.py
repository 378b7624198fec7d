"""The journal on this machine's disk: whole lines, readable only by its owner, and on disk before any act."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from kubectl_eksdoc.errors import JournalError
from kubectl_eksdoc.host.journals import JournalFile, read_run, run_ids, runs_folder, sync_to_disk
from kubectl_eksdoc.model.journal import NoteEntry, NoteKind
from kubectl_eksdoc.objects.journal_lines import entry_line
from tests.builders import NOW

NOTES = [NoteEntry(number, NOW, NoteKind.PAUSED) for number in range(9)]
ROOT = Path(__file__).parents[2]


class Disk:
    """A fake disk that records what was synced, and fails when a test says so."""

    def __init__(self) -> None:
        self.synced: list[tuple[bool, int]] = []  # (is it a folder, its size)
        self.broken = False

    def __call__(self, descriptor: int) -> None:
        if self.broken:
            raise OSError(5, "Input/output error")
        found = os.fstat(descriptor)
        folder = stat.S_ISDIR(found.st_mode)
        self.synced.append((folder, 0 if folder else found.st_size))


def test_what_was_appended_is_read(tmp_path: Path) -> None:
    journal = JournalFile(tmp_path / "a" / "b", "r1")
    journal.append(NOTES[:2])
    journal.append(NOTES[2:3])
    journal.close()
    again = JournalFile(tmp_path / "a" / "b", "r1")
    again.append(NOTES[3:4])
    assert again.entries().entries == tuple(NOTES[:4]) == read_run(tmp_path / "a" / "b", "r1").entries
    again.close()
    assert run_ids(tmp_path / "a" / "b") == ("r1",)


def test_it_is_on_the_disk_before_it_returns(tmp_path: Path) -> None:
    disk = Disk()
    journal = JournalFile(tmp_path, "r1", disk)
    assert disk.synced == [(True, 0)], "else the file may be gone after a power failure"
    journal.append(NOTES[:1])
    journal.append(NOTES[1:3])
    sizes = [len(entry_line(NOTES[0])), sum(len(entry_line(note)) for note in NOTES[:3])]
    assert disk.synced[1:] == [(False, sizes[0]), (False, sizes[1])]
    journal.close()


def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        journal = JournalFile(tmp_path / "runs", "r1")
    finally:
        os.umask(before)
    assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(journal.path.parent.stat().st_mode) == 0o700
    journal.close()


def test_half_a_line_from_before_spoils_nothing(tmp_path: Path) -> None:
    (tmp_path / "r1.jsonl").write_text(entry_line(NOTES[0]) + entry_line(NOTES[1])[:20], encoding="ascii")
    journal = JournalFile(tmp_path, "r1")
    journal.append(NOTES[2:3])
    journal.append(NOTES[3:4])
    read = journal.entries()
    assert read.entries == (NOTES[0], NOTES[2], NOTES[3]) and len(read.dropped) == 1
    journal.close()


def test_what_cannot_be_brought_onto_the_disk_ends_the_file(tmp_path: Path) -> None:
    disk = Disk()
    journal = JournalFile(tmp_path, "r1", disk)
    disk.broken = True
    with pytest.raises(JournalError, match="cannot be brought onto the disk: Input/output error"):
        journal.append(NOTES[:1])
    disk.broken = False
    with pytest.raises(JournalError, match="cannot be brought onto the disk"):
        journal.append(NOTES[1:2])
    journal.close()


FULL = """
import resource, signal, sys
from pathlib import Path
from kubectl_eksdoc.errors import JournalError
from kubectl_eksdoc.host.journals import JournalFile
from tests.host.test_journal_file import NOTES

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then write fails as on a full disk
journal = JournalFile(Path(sys.argv[1]), "r1")
journal.append(NOTES[:1])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    journal.append(NOTES[1:3])
except JournalError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
journal.append(NOTES[3:4])
"""


@pytest.mark.parametrize("room", [40, *(pytest.param(room, marks=pytest.mark.long) for room in (0, 90))])
def test_a_full_disk_is_one_error_and_no_half_line(tmp_path: Path, room: int) -> None:
    limit = len(entry_line(NOTES[0])) + room
    command = [sys.executable, "-c", FULL, str(tmp_path), str(limit)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert f"the journal {tmp_path / 'r1.jsonl'} cannot be written to: File too large" in done.stdout
    read = read_run(tmp_path, "r1")
    assert read.entries == (NOTES[0], NOTES[3]) and read.dropped == ()


def test_a_place_that_cannot_be_written_to_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="ascii")
    with pytest.raises(JournalError, match=r"file/runs/r1\.jsonl cannot be opened: Not a directory"):
        JournalFile(tmp_path / "file" / "runs", "r1")


@pytest.mark.parametrize("run", ["", "../x", "a" * 41, "a\n"])
def test_an_id_that_is_none_leads_nowhere(tmp_path: Path, run: str) -> None:
    with pytest.raises(JournalError, match="is no id of a run"):
        JournalFile(tmp_path / "runs", run)
    assert read_run(tmp_path, run).entries == () and not (tmp_path / "runs").exists()


def test_a_run_that_this_machine_does_not_know_is_empty(tmp_path: Path) -> None:
    assert read_run(tmp_path / "none", "r1").entries == () and run_ids(tmp_path / "none") == ()


@pytest.mark.parametrize(
    ("environ", "home", "folder"),
    [
        ({"XDG_STATE_HOME": "/state"}, "/home/ada", "/state/eksdoc/runs"),
        ({"XDG_STATE_HOME": "state"}, "/home/ada", "/home/ada/.local/state/eksdoc/runs"),
    ],
)
def test_where_journals_are_kept(environ: dict[str, str], home: str, folder: str) -> None:
    assert str(runs_folder(environ, home)) == folder


@pytest.mark.parametrize("home", ["", "~"])
def test_without_a_home_it_is_said(home: str) -> None:
    with pytest.raises(JournalError, match="HOME is not set"):
        runs_folder({}, home)


def test_the_real_disk(tmp_path: Path) -> None:
    """Syncing a closed descriptor fails, which proves that the system call is made."""
    descriptor = os.open(tmp_path / "x", os.O_CREAT | os.O_RDWR)
    sync_to_disk(descriptor)
    os.close(descriptor)
    with pytest.raises(OSError):
        sync_to_disk(descriptor)


def test_a_process_that_is_killed_has_written_what_it_was_told(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path\n"
        "from kubectl_eksdoc.host.journals import JournalFile\n"
        "from tests.host.test_journal_file import NOTES\n"
        "JournalFile(Path(sys.argv[1]), 'r1').append(NOTES); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    assert read_run(tmp_path, "r1").entries == tuple(NOTES)
