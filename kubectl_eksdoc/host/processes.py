"""The user's hook commands before and after a wave of a drain, and how this program is told to end.

A command is told what it is asked about by its environment: `EKSDOC_RUN`, `EKSDOC_WAVE` (from 1), `EKSDOC_WHEN`
(before-wave or after-wave) and `EKSDOC_NODES` (names with spaces between them). The names are on its standard input,
too, a line for each: where there are thousands the variable is left out, as systems limit its length. Exit status 0 is
a yes, anything else a no.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from types import FrameType
from typing import IO, Protocol

from kubectl_eksdoc.kubernetes.news import HookEnded, News
from kubectl_eksdoc.model.actions import Act, Errand, Hook
from kubectl_eksdoc.model.quantities import duration

# The end of processes: of this one when it is told to end, of those that it started, and work that goes on after it.


_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_SIGNAL_LOOK_S = 0.2


def numbers() -> Iterator[signal.Signals]:
    """Those that this system has."""
    return (getattr(signal, name) for name in _NAMES if hasattr(signal, name))


# How often this process was told to end: by Ctrl-C, by kill, or as its terminal is closed.
#
# A run must not be torn apart by that: it looks here, and comes to its end. Only who insists interrupts it.


INSISTING = 3
"""The third time raises KeyboardInterrupt."""


@contextmanager
def told_to_stop() -> Iterator[Callable[[], int]]:
    """Gives how often it was told so far; in the main thread. What is ignored stays so: nohup means it.

    Raises:
        KeyboardInterrupt: somebody insists.
    """
    usual = (signal.SIG_DFL, signal.default_int_handler)
    taken = {number: before for number in numbers() if (before := signal.getsignal(number)) in usual}
    times = 0

    def hear(number: int, frame: FrameType | None) -> None:
        nonlocal times
        times += 1
        if times >= INSISTING:
            raise KeyboardInterrupt

    for number in taken:
        signal.signal(number, hear)
    try:
        yield lambda: times
    finally:
        for number, before in taken.items():
            signal.signal(number, before)


@contextmanager
def told_to_end() -> Iterator[Callable[[], None]]:
    """What waits for it, from now on and until the block ends; as `told_to_stop`."""
    with told_to_stop() as times:

        def wait() -> None:
            """By looking: what is told just before a thread begins to wait wakes nobody."""
            while not times():
                sleep(_SIGNAL_LOOK_S)

        yield wait


# A process with all that it has started: how it is ended.


KILL_S = 2.0
"""So long it may take to end once it was told to."""


def end(process: subprocess.Popen[bytes], kill_s: float = KILL_S) -> None:
    """Told to end first, and made to if it does not; what it left behind as well. It must have been begun with
    `start_new_session`."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except (ProcessLookupError, PermissionError):  # macOS says so of what has ended
            return
        try:
            process.wait(kill_s)
        except subprocess.TimeoutExpired:
            continue


# Work that goes on after this process has ended.
#
# Whoever started it waits for the end of its pipes, so what goes on must hold none of them.


_BACKGROUND_LOOK_S = 0.01


def begun(work: Callable[[], object], wait_s: float, longest_s: float) -> None:
    """Returns once `work` is done, `wait_s` later at the latest. It may go on for `longest_s` in all, and is then ended
    with every program that it has started; what it raises is nobody's. Windows has no fork: there it ends with this
    process.
    """
    if not hasattr(os, "fork"):
        thread = threading.Thread(target=_quietly, args=(work,), daemon=True)
        thread.start()
        thread.join(wait_s)
        return
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with suppress(OSError, ValueError):
                stream.flush()  # or it would be written twice
    try:
        child = os.fork()
    except OSError:  # there may be no more processes
        return
    if child == 0:
        _alone(work, longest_s)
    ends_s = monotonic() + wait_s
    with suppress(ChildProcessError):
        while os.waitpid(child, os.WNOHANG)[0] == 0 and monotonic() < ends_s:
            sleep(_BACKGROUND_LOOK_S)


def _alone(work: Callable[[], object], longest_s: float) -> None:
    """In the child: never returns."""
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nothing, number)
        os.closerange(3, 256)
        signal.signal(signal.SIGALRM, lambda *_: os.killpg(0, signal.SIGKILL))
        signal.setitimer(signal.ITIMER_REAL, longest_s)
        _quietly(work)
    finally:
        os._exit(0)


def _quietly(work: Callable[[], object]) -> None:
    with suppress(Exception):
        work()


TIMEOUT_S = 600.0
"""So long a command may take; who takes longer says no."""

LONGEST_SAID = 500
"""Characters of a command's last line that are kept."""

LONGEST_VARIABLE = 100_000
"""Bytes; Linux gives a process no longer one than 128 KiB (MAX_ARG_STRLEN)."""

_TAIL = 1 << 16  # bytes of its output that are kept, and read at once
_READS = 64
_LOOK_S = 0.05


class InnerField(Protocol):
    """The field of the cluster itself, as `ports.Field`."""

    def do(self, act: Act) -> None: ...
    def news(self, wait_s: float) -> Sequence[News]: ...
    def renew(self) -> None: ...
    def close(self) -> None: ...


class HookedField:
    """The port `ports.Field`: hooks are run here, everything else is the inner field's. For one thread."""

    def __init__(self, inner: InnerField, commands: Mapping[str, str], run: str, timeout_s: float = TIMEOUT_S) -> None:
        """`commands`: what a shell runs, by `Hook.when`; `run`: the id of the drain."""
        self._inner = inner
        self._commands = commands
        self._run = run
        self._timeout_s = timeout_s
        self._closing = threading.Event()
        self._ended: SimpleQueue[HookEnded] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    def do(self, act: Errand) -> None:
        if not isinstance(act, Hook):
            self._inner.do(act)
            return
        thread = threading.Thread(target=self._ask, args=(act,), name=f"eksdoc hook: {act.when}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def news(self, wait_s: float) -> Sequence[News]:
        """As the port has it; while a hook runs it may return with nothing before the time is over."""
        ended = self._heard()
        running = any(thread.is_alive() for thread in self._threads)
        wait_s = 0.0 if ended else min(wait_s, _LOOK_S) if running else wait_s
        return [*ended, *self._inner.news(wait_s)]

    def renew(self) -> None:
        """As the port has it; commands that run go on, for they are of this machine."""
        self._inner.renew()

    def close(self) -> None:
        """Commands that run are killed, with all that they have started."""
        self._closing.set()
        self._inner.close()
        for thread in self._threads:
            thread.join(KILL_S * 2)

    def _heard(self) -> list[News]:
        found: list[News] = []
        try:
            while True:
                found.append(self._ended.get_nowait())
        except Empty:
            return found

    def _ask(self, hook: Hook) -> None:
        try:
            ok, said = _Command(self._commands[hook.when], self._run, hook).run(self._timeout_s, self._closing)
        except Exception as error:  # whatever it is: a hook that could not be asked has not said yes
            ok, said = False, f"it cannot be run: {error}"
        self._ended.put(HookEnded(hook, ok, said))


class _Command:
    """Mutable: one run of one command, in one thread."""

    def __init__(self, command: str, run: str, hook: Hook) -> None:
        self._command = command
        self._nodes = "".join(f"{node}\n" for node in hook.nodes).encode()
        self._environment = {**os.environ, "EKSDOC_RUN": run, "EKSDOC_WAVE": str(hook.wave), "EKSDOC_WHEN": hook.when}
        self._environment.pop("EKSDOC_NODES", None)
        if len(self._nodes) <= LONGEST_VARIABLE:
            self._environment["EKSDOC_NODES"] = " ".join(hook.nodes)
        self._tail = b""

    def run(self, timeout_s: float, closing: threading.Event) -> tuple[bool, str]:
        """Whether it says yes, and its last line, with why it counts as a no.

        Raises:
            OSError: there is no shell, or no process to be had.
        """
        with tempfile.TemporaryFile() as names:
            names.write(self._nodes)
            names.seek(0)
            with self._begun(names) as process:
                late = self._wait(process, monotonic() + timeout_s, closing)
                if late:
                    end(process)
                assert process.stdout is not None
                process.stdout.close()  # who still has the other end has left the group, or runs on by itself
        if late:
            why = "it was killed as the run ended" if closing.is_set() else f"it takes more than {duration(timeout_s)}"
            return False, _joined(why, self._last_line)
        status = process.returncode
        if status == 0:
            return True, self._last_line
        how = f"exit status {status}" if status > 0 else f"killed by signal {-status}"
        return False, _joined(how, self._last_line)

    def _begun(self, names: IO[bytes]) -> subprocess.Popen[bytes]:
        """In a session of its own: it gets no Ctrl-C of this terminal, and is killed with all that it starts."""
        return subprocess.Popen(
            ["/bin/sh", "-c", self._command],
            stdin=names,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._environment,
            start_new_session=True,
            bufsize=0,
        )

    def _wait(self, process: subprocess.Popen[bytes], until_s: float, closing: threading.Event) -> bool:
        """Until it has ended, whether or not what it started holds its output open; returns whether it has not."""
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        while monotonic() < until_s and not closing.is_set():
            over = process.poll() is not None
            self._read(process.stdout)
            if over:
                return False
            closing.wait(_LOOK_S)
        return process.poll() is None

    def _read(self, output: IO[bytes]) -> None:
        """What it has said meanwhile; of who never ceases some."""
        for _ in range(_READS):
            told = output.read(_TAIL)
            if not told:  # None: nothing for now
                return
            self._tail = (self._tail + told)[-_TAIL:]

    @property
    def _last_line(self) -> str:
        lines = self._tail.decode("utf-8", "replace").split("\n")
        said = ("".join(each for each in line if each.isprintable()).strip() for line in reversed(lines))
        return next(filter(None, said), "")[:LONGEST_SAID]


def _joined(why: str, said: str) -> str:
    return f"{why}: {said}" if said else why
