"""``--replay FILE`` shows a run from its journal or from its ``-o json`` output, and rejects other files."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubectl_eksdoc.drain.run.history import NodeState, RunHistory
from kubectl_eksdoc.drain.run.replay import ReplaySource, RunReplay
from kubectl_eksdoc.tui.replay import ReplayOptions
from tests.cli.running import Ran, Terminal, called
from tests.drain.command.served import Machine
from tests.drain.command.test_runs import BLUE, agreed


def opened(*argv: str, terminal: bool = True) -> tuple[Ran, list[ReplayOptions]]:
    """The arguments that the screens received from a process on a terminal."""
    shown: list[ReplayOptions] = []

    def show(again: ReplayOptions) -> int:
        shown.append(again)
        return 0

    out, err = (Terminal(), Terminal()) if terminal else (None, None)
    ran = called(*argv, environ={"TERM": "xterm"}, out=out, err=err, stdin=Terminal(), show_again=show)
    return ran, shown


def drained(recording: RunReplay) -> tuple[dict[str, NodeState], int]:
    chronicle = RunHistory(recording.planned_nodes)
    chronicle.add(recording.events)
    return {node.node: node.state for node in chronicle.nodes.values()}, chronicle.gone


@pytest.mark.long
def test_a_real_run_is_shown_again_by_its_journal_and_by_its_events(one: Machine, tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    events.write_text(one.run("drain", "run", *agreed(one), "-o", "json").out, encoding="utf-8")
    kept, journal = sorted((one.home / ".local" / "state" / "eksdoc" / "runs").iterdir())
    _, (fuller,) = opened("--replay", str(journal))
    assert (fuller.path, fuller.recording.source) == (str(kept), ReplaySource.EVENTS), "what lies beside it knows more"
    assert any(each.budgets for each in fuller.recording.progress_records)
    kept.unlink()
    for argv in (["--replay", str(journal), "--ascii"], ["drain", "--replay", str(events)]):
        ran, (again,) = opened(*argv)
        assert ran == Ran(0, "", "") and again.path == argv[argv.index("--replay") + 1]
        recording = again.recording
        assert recording.source is (ReplaySource.JOURNAL if again.ascii else ReplaySource.EVENTS)
        assert (recording.run, recording.outcome, recording.is_complete) == (journal.stem, "done", True)
        assert drained(recording) == ({"old-1": NodeState.DONE}, 16) and not recording.dropped
    planned = recording.plan_figures
    assert planned is not None and planned.pods == 16 and planned.p50_s
    lines = one.run("drain", "status", "--replay", str(events))
    assert lines.code == 0 and lines.out.count("Z  evicted") == lines.out.count("Z  gone") == 16
    assert BLUE[1] not in lines.err


JOURNAL = Path(__file__).parents[2] / "tui" / "replay" / "journal.jsonl"


def test_events_that_cannot_be_read_leave_the_journal(tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"
    journal.write_bytes(JOURNAL.read_bytes())
    (tmp_path / "run.events").write_text("nothing of a run\n", encoding="utf-8")
    ran, (again,) = opened("--replay", str(journal))
    assert (ran.code, again.path) == (0, str(journal)) and "the journal is shown" in ran.err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--demo"], "error: --replay shows what is in a file: --demo cannot be used with it"),
        (
            ["-n", "x", "--kubeconfig=y"],
            "error: --replay shows what is in a file: --kubeconfig, --namespace cannot be used",
        ),
        (["-o", "json"], "error: --replay shows what is in a file: --output cannot be used with it"),
        (["drain", "plan"], "error: --replay before 'plan' opens the interactive UI and cannot be used with a command"),
        (
            ["drain", "status"],
            "error: --replay before 'status' opens the interactive UI and cannot be used with a command",
        ),
    ],
)
def test_what_does_not_go_with_it_is_refused(argv: list[str], said: str) -> None:
    ran, shown = opened("--replay", str(JOURNAL), *argv)
    assert ran.code == 2 and ran.err.startswith(said) and not shown


@pytest.mark.parametrize("terminal", [True, False])
def test_a_file_that_is_none_is_said_to_be_none(tmp_path: Path, terminal: bool) -> None:
    other = tmp_path / "other"
    other.write_text('{"kind": "DrainPlan"}\nhello\n', encoding="utf-8")
    for path, said in (
        (other, f"error: {other} is no journal of a run: not one line of it is an entry, or an event of -o json\n"),
        (tmp_path / "nowhere", f"error: there is no journal {tmp_path / 'nowhere'}"),
        (tmp_path, f"error: the journal {tmp_path} cannot be read: "),
        ("", "error: --replay needs the path of a journal"),
        ("a\0b", "error: there is no journal a"),
    ):
        ran, shown = opened(f"--replay={path}", terminal=terminal)
        assert ran.code == 2 and ran.err.startswith(said) and not shown


def test_without_a_terminal_it_names_the_command_that_says_it_in_lines() -> None:
    ran, shown = opened("--replay", str(JOURNAL), terminal=False)
    assert ran.code == 2 and not ran.out and not shown
    assert f"kubectl eksdoc drain status --replay {JOURNAL} says what happened" in ran.err
