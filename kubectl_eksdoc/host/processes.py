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

from kubectl_eksdoc.kubernetes.updates import HookEnded, RunUpdate
from kubectl_eksdoc.model.actions import ClusterAction, Hook, RunCommand
from kubectl_eksdoc.model.quantities import format_duration

# Termination of processes: signals to this process, termination of child processes, and background work.


_SIGNAL_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_SIGNAL_POLL_S = 0.2


def stop_signals() -> Iterator[signal.Signals]:
    """The signals that this system supports."""
    return (getattr(signal, name) for name in _SIGNAL_NAMES if hasattr(signal, name))


# Stop signals: Ctrl-C, kill, or the terminal closes.
#
# A run must not be interrupted in the middle of an action: it polls this counter and finishes by itself. Only repeated
# signals interrupt it.


INTERRUPT_AFTER = 3
"""The third signal raises KeyboardInterrupt."""


@contextmanager
def told_to_stop() -> Iterator[Callable[[], int]]:
    """Yield a function that returns the number of stop signals so far; in the main thread. Ignored signals stay
    ignored, as with nohup.

    Raises:
        KeyboardInterrupt: the user sends the signal repeatedly.
    """
    default_handlers = (signal.SIG_DFL, signal.default_int_handler)
    previous_handlers = {
        number: previous for number in stop_signals() if (previous := signal.getsignal(number)) in default_handlers
    }
    signal_count = 0

    def hear(signal_number: int, frame: FrameType | None) -> None:
        nonlocal signal_count
        signal_count += 1
        if signal_count >= INTERRUPT_AFTER:
            raise KeyboardInterrupt

    for number in previous_handlers:
        signal.signal(number, hear)
    try:
        yield lambda: signal_count
    finally:
        for number, previous in previous_handlers.items():
            signal.signal(number, previous)


@contextmanager
def stop_signal_waiter() -> Iterator[Callable[[], None]]:
    """Yield a function that blocks until a stop signal arrives within the block; raises as `told_to_stop`."""
    with told_to_stop() as signal_count:

        def wait() -> None:
            """Polls: a signal just before a thread begins to wait would not wake it."""
            while not signal_count():
                sleep(_SIGNAL_POLL_S)

        yield wait


# Termination of a process and its child processes.


KILL_AFTER_S = 2.0
"""How long a process may take to end after SIGTERM, before SIGKILL."""


def terminate(process: subprocess.Popen[bytes], kill_after_s: float = KILL_AFTER_S) -> None:
    """Terminate the process group: SIGTERM, then SIGKILL. The process must have been started with
    `start_new_session`."""
    for signal_number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, signal_number)
        except (ProcessLookupError, PermissionError):  # macOS raises it for an ended process
            return
        try:
            process.wait(kill_after_s)
        except subprocess.TimeoutExpired:
            continue


# Background work that continues after this process.
#
# The parent of this process waits until its pipes are closed, so the background process must not hold them open.


_BACKGROUND_POLL_S = 0.01


def run_in_background(work: Callable[[], object], wait_s: float, max_s: float) -> None:
    """Run `work` in the background; returns once it is done, after `wait_s` at the latest. It may run for `max_s` in
    total; then it is killed with its child processes. Its exceptions are ignored. Windows has no fork: there the work
    ends with this process."""
    if not hasattr(os, "fork"):
        thread = threading.Thread(target=_run_ignoring_errors, args=(work,), daemon=True)
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
        _run_in_child(work, max_s)
    deadline_s = monotonic() + wait_s
    with suppress(ChildProcessError):
        while os.waitpid(child, os.WNOHANG)[0] == 0 and monotonic() < deadline_s:
            sleep(_BACKGROUND_POLL_S)


def _run_in_child(work: Callable[[], object], max_s: float) -> None:
    """Runs in the child process: never returns."""
    try:
        os.setsid()
        null_device = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(null_device, number)
        os.closerange(3, 256)
        signal.signal(signal.SIGALRM, lambda *_: os.killpg(0, signal.SIGKILL))
        signal.setitimer(signal.ITIMER_REAL, max_s)
        _run_ignoring_errors(work)
    finally:
        os._exit(0)


def _run_ignoring_errors(work: Callable[[], object]) -> None:
    with suppress(Exception):
        work()


TIMEOUT_S = 600.0
"""A command that takes longer counts as a refusal."""

MAX_MESSAGE = 500
"""Characters of a command's last line that are kept."""

MAX_VARIABLE_BYTES = 100_000
"""In bytes; Linux limits a variable to 128 KiB (MAX_ARG_STRLEN)."""

_TAIL_BYTES = 1 << 16  # bytes of its output that are kept, and read at once
_MAX_READS = 64
_POLL_S = 0.05


class InnerBackend(Protocol):
    """The run backend of the cluster itself, as `ports.RunBackend`."""

    def do(self, action: ClusterAction) -> None: ...
    def updates(self, wait_s: float) -> Sequence[RunUpdate]: ...
    def restart_watches(self) -> None: ...
    def close(self) -> None: ...


class HookedBackend:
    """The port `ports.RunBackend`: runs hooks, and passes everything else to the inner backend. For one thread."""

    def __init__(
        self, inner: InnerBackend, commands: Mapping[str, str], run: str, timeout_s: float = TIMEOUT_S
    ) -> None:
        """`commands`: shell commands by `Hook.when`; `run`: the id of the drain."""
        self._inner = inner
        self._commands = commands
        self._run = run
        self._timeout_s = timeout_s
        self._closing = threading.Event()
        self._finished: SimpleQueue[HookEnded] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    def do(self, action: RunCommand) -> None:
        if not isinstance(action, Hook):
            self._inner.do(action)
            return
        thread = threading.Thread(
            target=self._run_hook, args=(action,), name=f"eksdoc hook: {action.when}", daemon=True
        )
        self._threads.append(thread)
        thread.start()

    def updates(self, wait_s: float) -> Sequence[RunUpdate]:
        """As the port; while a hook runs, it may return an empty sequence before the time is over."""
        finished = self._finished_hooks()
        running = any(thread.is_alive() for thread in self._threads)
        wait_s = 0.0 if finished else min(wait_s, _POLL_S) if running else wait_s
        return [*finished, *self._inner.updates(wait_s)]

    def restart_watches(self) -> None:
        """As the port; running hook commands continue, because they do not depend on the cluster."""
        self._inner.restart_watches()

    def close(self) -> None:
        """Kill running commands with their child processes."""
        self._closing.set()
        self._inner.close()
        for thread in self._threads:
            thread.join(KILL_AFTER_S * 2)

    def _finished_hooks(self) -> list[RunUpdate]:
        updates: list[RunUpdate] = []
        try:
            while True:
                updates.append(self._finished.get_nowait())
        except Empty:
            return updates

    def _run_hook(self, hook: Hook) -> None:
        try:
            approved, message = _HookCommand(self._commands[hook.when], self._run, hook).run(
                self._timeout_s, self._closing
            )
        except Exception as error:  # any error means that the hook did not approve
            approved, message = False, f"it cannot be run: {error}"
        self._finished.put(HookEnded(hook, approved, message))


class _HookCommand:
    """One run of one hook command, in one thread. Mutable."""

    def __init__(self, command: str, run: str, hook: Hook) -> None:
        self._command = command
        self._nodes = "".join(f"{node}\n" for node in hook.nodes).encode()
        self._environment = {**os.environ, "EKSDOC_RUN": run, "EKSDOC_WAVE": str(hook.wave), "EKSDOC_WHEN": hook.when}
        self._environment.pop("EKSDOC_NODES", None)
        if len(self._nodes) <= MAX_VARIABLE_BYTES:
            self._environment["EKSDOC_NODES"] = " ".join(hook.nodes)
        self._tail = b""

    def run(self, timeout_s: float, closing: threading.Event) -> tuple[bool, str]:
        """Whether the command approves, and its last line, with the reason if it refuses.

        Raises:
            OSError: the shell cannot be started.
        """
        with tempfile.TemporaryFile() as node_names:
            node_names.write(self._nodes)
            node_names.seek(0)
            with self._start(node_names) as process:
                timed_out = self._timed_out(process, monotonic() + timeout_s, closing)
                if timed_out:
                    terminate(process)
                assert process.stdout is not None
                process.stdout.close()  # a child process that still holds the other end has left the process group
        if timed_out:
            reason = (
                "it was killed as the run ended"
                if closing.is_set()
                else f"it takes more than {format_duration(timeout_s)}"
            )
            return False, _with_output(reason, self._last_line)
        exit_status = process.returncode
        if exit_status == 0:
            return True, self._last_line
        ending = f"exit status {exit_status}" if exit_status > 0 else f"killed by signal {-exit_status}"
        return False, _with_output(ending, self._last_line)

    def _start(self, node_names: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start the command in its own session: it receives no Ctrl-C from this terminal, and is killed with its child
        processes."""
        return subprocess.Popen(
            ["/bin/sh", "-c", self._command],
            stdin=node_names,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._environment,
            start_new_session=True,
            bufsize=0,
        )

    def _timed_out(self, process: subprocess.Popen[bytes], deadline_s: float, closing: threading.Event) -> bool:
        """Wait for the end of the command, even if its child processes hold its output open; returns whether it is
        still running."""
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        while monotonic() < deadline_s and not closing.is_set():
            has_ended = process.poll() is not None
            self._read_output(process.stdout)
            if has_ended:
                return False
            closing.wait(_POLL_S)
        return process.poll() is None

    def _read_output(self, output: IO[bytes]) -> None:
        """Read the available output; a limited number of chunks, because a command may never stop printing."""
        for _ in range(_MAX_READS):
            chunk = output.read(_TAIL_BYTES)
            if not chunk:  # None: no data yet
                return
            self._tail = (self._tail + chunk)[-_TAIL_BYTES:]

    @property
    def _last_line(self) -> str:
        lines = self._tail.decode("utf-8", "replace").split("\n")
        printable_lines = ("".join(each for each in line if each.isprintable()).strip() for line in reversed(lines))
        return next(filter(None, printable_lines), "")[:MAX_MESSAGE]


def _with_output(reason: str, last_line: str) -> str:
    return f"{reason}: {last_line}" if last_line else reason
