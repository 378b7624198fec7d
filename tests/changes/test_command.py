"""``kubectl eksdoc changes``: lists the changes that were started on this machine, from their journals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubectl_eksdoc.host.journals import ChangeJournalFile, changes_folder
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.change_journal import ChangeState, SavedChange
from tests.cli.running import document, run_cli

CLUSTER = {"name": "prod", "arn": "arn:prod", "context": "lab"}
BEGUN = {"entry": "begun", "kind": "addon-update", "what": "vpc-cni v1 → v2", "at": "2026-11-20T09:30:00Z"}
ASKING, ASKED = {"entry": "asking", "what": "update"}, {"entry": "asked", "what": "update", "update": "u-1"}
ENDED = {"entry": "ended", "left": "", "whole": True}
STATES: dict[str, tuple[str, list[Doc]]] = {
    "20261120-093000-0000": ("nothing changed", []),
    "20261120-093000-0001": ("open", [ASKING]),
    "20261120-093000-0002": ("open", [ASKING, ASKED, {**ENDED, "left": "it was stopped", "whole": False}]),
    "20261120-093000-0003": ("done", [ASKING, ASKED, ENDED]),
    "20261120-093000-0004": ("failed", [ASKING, ASKED, {**ENDED, "whole": False}]),
    "20261120-093000-0005": ("undone", [ASKING, ASKED, ENDED, {"entry": "undone"}]),
    "20261120-093000-0006": ("nothing changed", [ASKING, {"entry": "refused", "what": "update", "why": "denied"}]),
    "20261120-093000-0007": ("open", [ASKING, {"entry": "in-doubt", "what": "update", "why": "no route"}]),
}


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    environ = {"HOME": str(tmp_path)}
    for ident, (_, entries) in STATES.items():
        journal = ChangeJournalFile(changes_folder(environ, str(tmp_path)), ident)
        for each in ({**BEGUN, "cluster": CLUSTER}, *entries):
            journal.write(each)
    return environ


def test_each_is_listed_with_its_state(home: dict[str, str]) -> None:
    told = document(run_cli("changes", "-o", "json", environ=home).out, "Changes")
    assert {each["id"]: each["state"] for each in told["changes"]} == {each: of for each, (of, _) in STATES.items()}
    assert [each["id"] for each in told["changes"]] == sorted(STATES, reverse=True)
    ran = run_cli("changes", environ=home)
    assert ran.code == 0 and "3 of 8 changes on this machine are open." in ran.out
    assert "kubectl eksdoc changes undo 20261120-093000-0001" in ran.out


def test_what_cannot_be_read_is_not_known(home: dict[str, str]) -> None:
    folder = changes_folder(home, home["HOME"])
    (folder / "20261120-093000-0008.jsonl").mkdir()
    later = "\n".join(json.dumps({"v": 2, **each}) for each in (BEGUN, ASKING, ASKED))
    (folder / "20261120-093000-0009.jsonl").write_text(later, encoding="utf-8")
    ran = run_cli("changes", environ={**home, "COLUMNS": "80"})
    assert ran.code == 5 and "3 of 10 changes on this machine are open; of 2 it is not known." in ran.out
    assert "20261120-093000-0009" in ran.out and "no line that this version can read" in " ".join(ran.out.split())
    told = document(run_cli("changes", "-o", "json", environ=home).out, "Changes")
    assert {each["id"][-1]: bool(each["unread"]) for each in told["changes"] if each["state"] == "not known"} == {
        "8": True,
        "9": True,
    }
    assert "cannot be read: Is a directory" in run_cli("changes", "undo", "20261120-093000-0008", environ=home).err


def test_a_folder_that_cannot_be_read_is_not_empty(tmp_path: Path) -> None:
    folder = changes_folder({"HOME": str(tmp_path)}, str(tmp_path))
    folder.parent.mkdir(parents=True)
    folder.write_text("", encoding="utf-8")
    for words in ((), ("undo", "20261120-093000-0001")):
        ran = run_cli("changes", *words, environ={"HOME": str(tmp_path)})
        assert ran.code == 6 and "cannot be read: Not a directory" in ran.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("resume",), 2, "neither resume ID nor undo ID"),
        (("revert", "x"), 2, "neither resume ID nor undo ID"),
        (("resume", "20261120-093000-9999"), 6, "there is no journal of"),
        (("undo", "20261120-093000-0000", "--context", "nowhere"), 6, "there is nothing to revert"),
    ],
)
def test_what_cannot_be_done_is_said(home: dict[str, str], words: tuple[str, ...], code: int, said: str) -> None:
    ran = run_cli("changes", *words, environ=home)
    assert (ran.code, ran.out) == (code, "") and said in ran.err, ran.err


def test_where_the_environment_refuses_changes_none_is_continued_or_reverted(home: dict[str, str]) -> None:
    for verb in ("resume", "undo"):
        ran = run_cli("changes", verb, "20261120-093000-0001", environ={**home, "EKSDOC_READ_ONLY": "1"})
        assert ran.code == 2 and "EKSDOC_READ_ONLY is set" in ran.err and "changes alone lists only" in ran.err
    assert run_cli("changes", environ={**home, "EKSDOC_READ_ONLY": "1"}).code == 0


def test_pods_that_are_left_are_only_removed(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    journal = ChangeJournalFile(changes_folder(environ, str(tmp_path)), "20261120-093000-0009")
    for each in ({**BEGUN, "kind": "test-pods"}, ASKING):
        journal.write(each)
    ran = run_cli("changes", environ=environ)
    assert "changes undo 20261120-093000-0009" in ran.out and "changes resume" not in ran.out


def test_a_kind_that_this_version_does_not_know_is_neither_continued_nor_reverted(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    journal = ChangeJournalFile(changes_folder(environ, str(tmp_path)), "20261120-093000-0009")
    for each in ({**BEGUN, "kind": "node-swap"}, ASKING):
        journal.write(each)
    ran = run_cli("changes", environ=environ)
    assert ran.code == 5 and "0 of 1 change on this machine are open; of 1 it is not known." in ran.out
    assert "changes resume" not in ran.out and "changes undo" not in ran.out
    why = "this version knows no change of kind 'node-swap': list and continue it with the version that began it"
    assert why in " ".join(ran.out.split())
    assert json.loads(run_cli("changes", "-o", "json", environ=environ).out)["changes"][0]["unread"] == why
    undone = run_cli("changes", "undo", "20261120-093000-0009", environ=environ)
    assert undone.code == 6 and why in undone.err


def test_what_refuses_an_undo_is_not_said_of_the_change() -> None:
    """The steps of the undo have the same names."""
    refused = {"entry": "refused", "what": "update", "why": "you may not"}
    entries = ({**BEGUN}, ASKING, {"entry": "undoing"}, ASKING, refused)
    assert SavedChange("x", entries).state is ChangeState.OPEN and SavedChange("x", entries).progress.attempted == {
        "update"
    }
