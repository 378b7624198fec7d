"""Journals of updates on this machine: complete, readable only by their owner, and readable despite unknown content."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.errors import LocalJournalError
from kubectl_eksdoc.host.journals import ChangeJournalFile, changes_folder, read_change, run_ids

ENTRY = {"entry": "begun", "who": "änn"}


def test_it_is_made_with_the_first_entry_and_for_its_owner_alone(tmp_path: Path) -> None:
    folder = changes_folder({"XDG_STATE_HOME": str(tmp_path)}, "")
    journal = ChangeJournalFile(folder, "20261122-1")
    assert not folder.exists() and run_ids(folder) == ()
    journal.write(ENTRY)
    journal.write({"entry": "asked"})
    beside = journal.write_beside(".values.json", "{}")
    for path in (journal.path, beside):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_change(folder, "20261122-1").entries == ({"v": 1, **ENTRY}, {"v": 1, "entry": "asked"})
    assert run_ids(folder) == ("20261122-1",) and journal.path.read_bytes().isascii()


def test_a_file_that_was_there_becomes_its_owners_alone(tmp_path: Path) -> None:
    """Example: a file that was restored with default permissions."""
    journal, there = ChangeJournalFile(tmp_path, "20261122-1"), tmp_path / "20261122-1.values.json"
    for path in (journal.path, there):
        path.write_text("")
        path.chmod(0o644)
    journal.write(ENTRY)
    assert journal.write_beside(".values.json", "{}") == there
    assert [stat.S_IMODE(path.stat().st_mode) for path in (journal.path, there)] == [0o600, 0o600]


def test_what_is_not_there_names_what_is(tmp_path: Path) -> None:
    ChangeJournalFile(tmp_path, "20261122-1").write(ENTRY)
    for name in ("20261122-2", "../20261122-1", ""):
        with pytest.raises(LocalJournalError) as told:
            read_change(tmp_path, name)
        assert "20261122-1" in told.value.hint


def test_where_it_cannot_be_written_nothing_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    journal = ChangeJournalFile(tmp_path / "file", "x")
    with pytest.raises(LocalJournalError):
        journal.write(ENTRY)
    with pytest.raises(LocalJournalError):
        journal.write_beside(".json", "{}")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_other_lines_are_left_out(tmp_path: Path, rubbish: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.unlink(missing_ok=True)
    path.write_bytes(rubbish + b"\n")
    ChangeJournalFile(tmp_path, "x").write(ENTRY)
    assert read_change(tmp_path, "x").entries[-1] == {"v": 1, **ENTRY}
