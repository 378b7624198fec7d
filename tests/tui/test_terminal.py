"""The screens in a real terminal: the bytes sent to it, and that its state is restored at the end."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LONGEST_S = 60.0

ENTERED, LEFT, SHOWN = b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b[?25h"
STYLED = re.compile(rb"\x1b\[([0-9;]*)m")
COLOURS = {str(code).encode() for code in (*range(30, 39), *range(40, 49), *range(90, 98), *range(100, 108))}


class Terminal:
    """All bytes that were sent to it. Mutable."""

    def __init__(self, process: subprocess.Popen[bytes], end: int) -> None:
        self.process = process
        self.sent = b""
        self._end = end

    def until(self, text: bytes, since: int = 0) -> None:
        """Wait until the terminal received `text` after the first `since` bytes."""
        until_s = time.monotonic() + LONGEST_S
        while text not in self.sent[since:]:
            assert time.monotonic() < until_s, self.sent[-2000:]
            assert self._read(), self.sent[-2000:]

    def type(self, keys: bytes) -> None:
        os.write(self._end, keys)

    def hang_up(self) -> None:
        """Close the terminal as when its window is closed."""
        os.close(self._end)
        self._end = -1

    def over(self) -> int:
        """Read everything that is sent until the process ends; return its exit code."""
        until_s = time.monotonic() + LONGEST_S
        while self._read():
            assert time.monotonic() < until_s, self.sent[-2000:]
        return self.process.wait(LONGEST_S)

    def close(self) -> None:
        if self._end >= 0:
            os.close(self._end)

    def _read(self) -> bool:
        if self._end < 0:
            return False
        ready, _, _ = select.select([self._end], [], [], 0.2)
        if not ready:
            return self.process.poll() is None
        try:
            told = os.read(self._end, 65536)
        except OSError:  # no process has the other end open
            return False
        self.sent += told
        return bool(told)


@contextmanager
def a_terminal(
    columns: int = 120, rows: int = 36, argv: tuple[str, ...] = ("--demo",), controls: bool = True, **environ: str
) -> Iterator[Terminal]:
    """A terminal that shows the screens. `controls`: it is the process's controlling terminal, whose closing sends
    SIGHUP."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    env = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8", **environ}
    for name in ("COLUMNS", "LINES", *(() if "NO_COLOR" in environ else ("NO_COLOR",))):
        env.pop(name, None)
    process = subprocess.Popen(
        [sys.executable, "-m", "kubectl_eksdoc", *argv],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=env,
        cwd=ROOT,
        start_new_session=True,
        preexec_fn=_take_control if controls else None,
    )
    os.close(theirs)
    terminal = Terminal(process, ours)
    try:
        yield terminal
    finally:
        process.kill()
        process.wait()
        terminal.close()


def _take_control() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.mark.long
def test_it_opens_plans_and_leaves_the_terminal_as_it_was() -> None:
    with a_terminal() as terminal:
        terminal.until(b"5 of 8 marked")
        terminal.type(b"3")
        terminal.until(b"why here")
        terminal.type(b"qq")
        assert terminal.over() == 0
        assert terminal.sent.index(ENTERED) < terminal.sent.rindex(LEFT)
        assert terminal.sent.rindex(SHOWN) > terminal.sent.index(ENTERED)


@pytest.mark.long
def test_a_run_is_shown_again_without_a_cluster_or_a_kubeconfig(tmp_path: Path) -> None:
    journal = str(ROOT / "tests" / "tui" / "replay" / "journal.jsonl")
    with a_terminal(argv=("--replay", journal), HOME=str(tmp_path), KUBECONFIG=str(tmp_path / "none")) as terminal:
        terminal.until(b"REPLAY RUNS")
        terminal.type(b"$")
        terminal.until(b"not emptied: blue-1")
        terminal.type(b"q")
        assert terminal.over() == 0
        assert terminal.sent.index(ENTERED) < terminal.sent.rindex(LEFT)


@pytest.mark.long
@pytest.mark.parametrize("told", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.long)])
def test_told_to_end_it_restores_the_terminal(told: signal.Signals) -> None:
    with a_terminal(80, 24) as terminal:
        terminal.until(b"blue-1")
        terminal.process.send_signal(told)
        assert terminal.over() == 128 + told
        assert LEFT in terminal.sent and terminal.sent.rindex(SHOWN) > terminal.sent.index(ENTERED)


@pytest.mark.long
@pytest.mark.parametrize("controls", [True, pytest.param(False, marks=pytest.mark.long)])
def test_where_the_terminal_goes_away_it_ends(controls: bool) -> None:
    """With or without a signal: Textual by itself would wait for the terminal forever."""
    with a_terminal(controls=controls) as terminal:
        terminal.until(b"blue-1")
        terminal.hang_up()
        assert terminal.over() == 128 + signal.SIGHUP


@pytest.mark.long
def test_no_colour_is_none_at_all() -> None:
    with a_terminal(NO_COLOR="1") as terminal:
        terminal.until(b"5 of 8 marked")
        terminal.type(b"4")
        terminal.until(b"now:")
        terminal.type(b"qq")
        assert terminal.over() == 0
        styled = STYLED.findall(terminal.sent)
        assert styled, "bold and reverse are left"
        assert not [codes for codes in styled if COLOURS & set(codes.split(b";"))]


@pytest.mark.long
def test_colours_and_keys_are_the_users(tmp_path: Path) -> None:
    (tmp_path / "eksdoc").mkdir()
    (tmp_path / "eksdoc" / "keys.json").write_text('{"mark": "v", "undo": "j"}', encoding="utf-8")
    with a_terminal(EKSDOC_THEME="light", XDG_CONFIG_HOME=str(tmp_path), COLORTERM="truecolor") as terminal:
        terminal.until(b"5 of 8 marked")
        terminal.until(b" mark")
        terminal.until(b"moves the cursor")
        assert b"48;2;255;255;255" in terminal.sent, "the ground is white"
        terminal.type(b"q")
        assert terminal.over() == 0
