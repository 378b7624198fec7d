"""Hook commands before and after a wave of a drain, stop signals, and background work.

A hook command receives its context in environment variables: `EKSDOC_RUN`, `EKSDOC_WAVE` (from 1), `EKSDOC_WHEN`
(before-wave or after-wave) and `EKSDOC_NODES` (names separated by spaces). The names are also on its standard input,
one per line: for thousands of nodes the variable is omitted, because systems limit its length. Exit status 0 approves,
any other status refuses.
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

# Termination of processes: signals to this process, termination of child processes, and background work.


_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_SIGNAL_LOOK_S = 0.2


def numbers() -> Iterator[signal.Signals]:
    """The signals that this system supports."""
    return (getattr(signal, name) for name in _NAMES if hasattr(signal, name))


# Stop signals: Ctrl-C, kill, or the terminal closes.
#
# A run must not be interrupted in the middle of an action: it polls this counter and finishes by itself. Only repeated
# signals interrupt it.


INSISTING = 3
"""The third signal raises KeyboardInterrupt."""


@contextmanager
def told_to_stop() -> Iterator[Callable[[], int]]:
    """Yield a function that returns the number of stop signals so far; in the main thread. Ignored signals stay
    ignored, as with nohup.

    Raises:
        KeyboardInterrupt: the user sends the signal repeatedly.
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
    """Yield a function that blocks until a stop signal arrives within the block; raises as `told_to_stop`."""
    with told_to_stop() as times:

        def wait() -> None:
            """Polls: a signal just before a thread begins to wait would not wake it."""
            while not times():
                sleep(_SIGNAL_LOOK_S)

        yield wait


# Termination of a process and its child processes.


KILL_S = 2.0
"""Time between SIGTERM and SIGKILL."""


def end(process: subprocess.Popen[bytes], kill_s: float = KILL_S) -> None:
    """Terminate the process group: SIGTERM, then SIGKILL. The process must have been started with
    `start_new_session`."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except (ProcessLookupError, PermissionError):  # macOS raises it for an ended process
            return
        try:
            process.wait(kill_s)
        except subprocess.TimeoutExpired:
            continue


# Background work that continues after this process.
#
# The parent of this process waits until its pipes are closed, so the background process must not hold them open.


_BACKGROUND_LOOK_S = 0.01


def begun(work: Callable[[], object], wait_s: float, longest_s: float) -> None:
    """Run `work` in the background; returns once it is done, after `wait_s` at the latest. It may run for `max_s` in
    total; then it is killed with its child processes. Its exceptions are ignored. Windows has no fork: there the work
    ends with this process."""
    if not hasattr(os, "fork"):
        thread = threading.Thread(target=_quietly, args=(work,), daemon=True)
        thread.start()
        thread.join(wait_s)
        return
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with suppress(OSError, ValueError):
                stream.flush()  # else the child would write it again
    try:
        child = os.fork()
    except OSError:  # the process limit may be reached
        return
    if child == 0:
        _alone(work, longest_s)
    ends_s = monotonic() + wait_s
    with suppress(ChildProcessError):
        while os.waitpid(child, os.WNOHANG)[0] == 0 and monotonic() < ends_s:
            sleep(_BACKGROUND_LOOK_S)


def _alone(work: Callable[[], object], longest_s: float) -> None:
    """Runs in the child process: never returns."""
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
"""A command that takes longer counts as a refusal."""

LONGEST_SAID = 500
"""Characters of a command's last line that are kept."""

LONGEST_VARIABLE = 100_000
"""In bytes; Linux limits a variable to 128 KiB (MAX_ARG_STRLEN)."""

_TAIL = 1 << 16  # bytes of its output that are kept, and read at once
_READS = 64
_LOOK_S = 0.05


class InnerField(Protocol):
    """The run backend of the cluster itself, as `ports.RunBackend`."""

    def do(self, act: Act) -> None: ...
    def news(self, wait_s: float) -> Sequence[News]: ...
    def renew(self) -> None: ...
    def close(self) -> None: ...


class HookedField:
    """The port `ports.RunBackend`: runs hooks, and passes everything else to the inner backend. For one thread."""

    def __init__(self, inner: InnerField, commands: Mapping[str, str], run: str, timeout_s: float = TIMEOUT_S) -> None:
        """`commands`: shell commands by `Hook.when`; `run`: the id of the drain."""
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
        """As the port; while a hook runs, it may return an empty sequence before the time is over."""
        ended = self._heard()
        running = any(thread.is_alive() for thread in self._threads)
        wait_s = 0.0 if ended else min(wait_s, _LOOK_S) if running else wait_s
        return [*ended, *self._inner.news(wait_s)]

    def renew(self) -> None:
        """As the port; running hook commands continue, because they do not depend on the cluster."""
        self._inner.renew()

    def close(self) -> None:
        """Kill running commands with their child processes."""
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
        except Exception as error:  # any error means that the hook did not approve
            ok, said = False, f"it cannot be run: {error}"
        self._ended.put(HookEnded(hook, ok, said))


class _Command:
    """One run of one hook command, in one thread. Mutable."""

    def __init__(self, command: str, run: str, hook: Hook) -> None:
        self._command = command
        self._nodes = "".join(f"{node}\n" for node in hook.nodes).encode()
        self._environment = {**os.environ, "EKSDOC_RUN": run, "EKSDOC_WAVE": str(hook.wave), "EKSDOC_WHEN": hook.when}
        self._environment.pop("EKSDOC_NODES", None)
        if len(self._nodes) <= LONGEST_VARIABLE:
            self._environment["EKSDOC_NODES"] = " ".join(hook.nodes)
        self._tail = b""

    def run(self, timeout_s: float, closing: threading.Event) -> tuple[bool, str]:
        """Whether the command approves, and its last line, with the reason if it refuses.

        Raises:
            OSError: the shell cannot be started.
        """
        with tempfile.TemporaryFile() as names:
            names.write(self._nodes)
            names.seek(0)
            with self._begun(names) as process:
                late = self._wait(process, monotonic() + timeout_s, closing)
                if late:
                    end(process)
                assert process.stdout is not None
                process.stdout.close()  # a child process that still holds the other end has left the process group
        if late:
            why = "it was killed as the run ended" if closing.is_set() else f"it takes more than {duration(timeout_s)}"
            return False, _joined(why, self._last_line)
        status = process.returncode
        if status == 0:
            return True, self._last_line
        how = f"exit status {status}" if status > 0 else f"killed by signal {-status}"
        return False, _joined(how, self._last_line)

    def _begun(self, names: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start the command in its own session: it receives no Ctrl-C from this terminal, and is killed with its child
        processes."""
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
        """Wait for the end of the command, even if its child processes hold its output open; returns whether it is
        still running."""
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
        """Read the available output; a limited number of chunks, because a command may never stop printing."""
        for _ in range(_READS):
            told = output.read(_TAIL)
            if not told:  # None: no data yet
                return
            self._tail = (self._tail + told)[-_TAIL:]

    @property
    def _last_line(self) -> str:
        lines = self._tail.decode("utf-8", "replace").split("\n")
        said = ("".join(each for each in line if each.isprintable()).strip() for line in reversed(lines))
        return next(filter(None, said), "")[:LONGEST_SAID]


def _joined(why: str, said: str) -> str:
    return f"{why}: {said}" if said else why
