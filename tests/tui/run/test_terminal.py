"""A run in a real terminal: keys start it, pause it and roll it back, and signals end it."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kubectl_eksdoc.drain.duration.generations import learned_kubelet_times
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.session.sources import SourceChoice
from kubectl_eksdoc.wiring.stages import ServeSettings, served
from tests.drain.command.served import Machine
from tests.tui.test_terminal import ENTERED, LEFT, SHOWN, Terminal, a_terminal

pytestmark = pytest.mark.long

SPEED = 10.0
SETTLED_S = 60.0
"""So long at the most it takes to let settle what is under way."""

ASKED = re.compile(rb"Type  (\S+ \d+)  and press enter")


def typed_back(terminal: Terminal, key: bytes) -> None:
    """Press `key` and type the confirmation that its dialog asks for."""
    since = len(terminal.sent)
    terminal.type(key)
    terminal.until(b"and press enter", since)
    (words, *_) = ASKED.findall(terminal.sent[since:])
    terminal.type(words + b"\r")


def restored(terminal: Terminal) -> bool:
    """Whether the terminal left the alternate screen and shows the cursor."""
    sent = terminal.sent
    return sent.index(ENTERED) < sent.rindex(LEFT) and sent.rindex(SHOWN) > sent.rindex(ENTERED)


def at_home(path: Path) -> dict[str, str]:
    return {"HOME": str(path), "XDG_STATE_HOME": "", "XDG_CACHE_HOME": "", "KUBECONFIG": ""}


def test_the_demo_is_drained_paused_and_given_back(tmp_path: Path) -> None:
    with a_terminal(**at_home(tmp_path)) as terminal:
        terminal.until(b"5 of 8 marked")
        terminal.type(b"j ")  # not blue-2: the zone of its database may be full by then, and a run waits for that
        terminal.until(b"4 of 7 marked")
        typed_back(terminal, b"r")
        terminal.until(b"RUNNING")
        terminal.type(b" ")
        terminal.until(b"PAUSED")
        since = len(terminal.sent)
        terminal.type(b" ")
        terminal.until(b"RUNNING", since)
        terminal.type(b"6")
        terminal.until(b"following", since)
        terminal.until(b"DONE", since)
        terminal.until(b"Drained: 4 of 4 nodes", since)
        typed_back(terminal, b"R")
        terminal.until(b"7 of 7 nodes are as they were before")  # the skipped ones, too
        terminal.type(b"q")
        terminal.type(b"q")
        assert terminal.over() == 0 and restored(terminal)
        assert b"Traceback" not in terminal.sent
    assert not [path for path in tmp_path.rglob("*.jsonl") if "runs" in path.parts], "its journal goes with it"


@pytest.fixture
def config(tmp_path: Path) -> Iterator[str]:
    """The kubeconfig of the built-in cluster, which is served."""
    how = ServeSettings(
        SPEED, str(tmp_path / "config"), lambda path, address: None, lambda note: None, learned_kubelet_times
    )
    with served(SourceChoice(demo=True), Connection(), None, how) as (path, _):
        yield path


def term(terminal: Terminal) -> None:
    terminal.process.send_signal(signal.SIGTERM)


def hup(terminal: Terminal) -> None:
    terminal.process.send_signal(signal.SIGHUP)


def close(terminal: Terminal) -> None:
    terminal.hang_up()


@pytest.mark.parametrize("tell", [term, hup, close])
def test_told_to_end_it_stops_the_run_and_says_how_to_go_on(
    tell: Callable[[Terminal], None], config: str, tmp_path: Path
) -> None:
    home = tmp_path / "ann"
    home.mkdir()
    with a_terminal(argv=("--kubeconfig", config), **at_home(home)) as terminal:
        in_the_middle(terminal)
        told_s = time.monotonic()
        tell(terminal)
        assert terminal.over() == 6
        assert time.monotonic() - told_s < SETTLED_S
        if tell is not close:  # a closed terminal shows nothing
            assert restored(terminal)
            last = terminal.sent[terminal.sent.rindex(LEFT) :]
            assert b"is stopping: the screens were left, so nothing more is asked for" in last
            assert b"drain resume" in last and b"Traceback" not in last, last
    given_back(Machine(tmp_path / "ben", config))


def test_where_nobody_tells_it_a_terminal_that_is_gone_ends_it_too(config: str, tmp_path: Path) -> None:
    """The terminal is not the session's controlling terminal, as under some supervisors, so that no SIGHUP arrives."""
    home = tmp_path / "ann"
    home.mkdir()
    with a_terminal(argv=("--kubeconfig", config), controls=False, **at_home(home)) as terminal:
        in_the_middle(terminal)
        terminal.hang_up()
        assert terminal.over() == 6
    given_back(Machine(tmp_path / "ben", config))


def in_the_middle(terminal: Terminal) -> None:
    terminal.until(b"blue-1")
    terminal.until(b"Nothing")
    terminal.type(b"mg")
    terminal.until(b"5 of 8 marked")
    typed_back(terminal, b"r")
    terminal.until(b"RUNNING")
    terminal.until(b"evicted")


def given_back(elsewhere: Machine) -> None:
    """The status shows the run as ended, and another machine rolls it back."""
    elsewhere.home.mkdir()
    status = json.loads(elsewhere.run("drain", "status", "-o", "json").out)
    (run,) = status["runs"]
    assert run["phase"] == "ended", run
    told = elsewhere.run("drain", "status", run["run"]).out
    assert "the screens were left" in told, told
    asked = elsewhere.run("drain", "rollback", "--yes", "--expect-nodes", "99").err
    count = asked.rpartition("give back ")[2].split()[0]
    back = elsewhere.run("drain", "rollback", "--yes", "--expect-nodes", count)
    assert back.code == 0 and count == "5", "the number that the plan of the run counted"
    for number in range(1, 9):  # the skipped ones, too
        assert f"blue-{number} is as it was before" in back.out, (back.out, back.err)
    assert "no node that is not given back" in elsewhere.run("drain", "rollback").err
