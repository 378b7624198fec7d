"""Each cluster of a fleet is judged by a process of its own.

Credentials, environment and SDK sessions of one account never meet those of another, a crash takes nobody with it, and
a timeout can really end what hangs: the process has a session of its own, without a terminal on which a credential
plugin could ask, and is ended with all that it has started.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from time import monotonic
from typing import IO

from kubectl_eksdoc.core.model.durations import in_words
from kubectl_eksdoc.core.model.fleet import Member, Outcome, Unanswered
from kubectl_eksdoc.host import process_group
from kubectl_eksdoc.host.fleet.member_answer import outcome

LARGEST_ANSWER = 256 << 20
"""Bytes; a check of a cluster of 5,000 nodes prints some MiB."""
SAID_KEPT = 1 << 16
"""Bytes of its stderr, the last ones."""

_CLUSTER, _BUG = 3, 70
_PIECE = 1 << 16
_LOOK_S = 0.05
_REST_S = 5.0
"""So long it may take to read what an ended process has left in its pipes; whom it left behind may hold them open."""


def own_program() -> tuple[str, ...]:
    """This program, as it was begun: with the same Python, and modules from the same places. ``python -m`` would also
    look for them in the folder that somebody happens to work in."""
    places = [os.path.abspath(place) for place in sys.path]
    begin = f"import sys; sys.path[:] = {places!r}; from kubectl_eksdoc.launch import main; main()"
    return (sys.executable, "-c", begin)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the processes are begun with: `program`, and behind it the words for a member; the environment of each.
    `kind`: of the document that is expected."""

    words: Callable[[Member], Sequence[str]]
    kind: str
    environ: Callable[[Member], Mapping[str, str]]
    timeout_s: float
    program: Sequence[str]


class MemberProcesses:
    """The port `flows.fleet.Members`. For one thread."""

    def __init__(self, asked: Asked, largest: int = LARGEST_ANSWER) -> None:
        self._asked = asked
        self._largest = largest
        self._closing = threading.Event()
        self._ended: SimpleQueue[tuple[Member, Outcome]] = SimpleQueue()
        self._running: dict[str, tuple[threading.Thread, _Process]] = {}

    def begin(self, member: Member) -> None:
        process = _Process(member, self._asked, self._largest)
        thread = threading.Thread(target=self._ask, args=(member, process), name=f"eksdoc: {member.name}", daemon=True)
        self._running[member.name] = (thread, process)
        thread.start()

    def ended(self, wait_s: float) -> Sequence[tuple[Member, Outcome]]:
        found: list[tuple[Member, Outcome]] = []
        try:
            found.append(self._ended.get(timeout=wait_s))
            while True:
                found.append(self._ended.get_nowait())
        except Empty:
            for member, _ in found:
                self._running.pop(member.name, None)
            return found

    def close(self) -> None:
        """Those that run are ended.

        Raises:
            KeyboardInterrupt: somebody insists; they are killed at once.
        """
        self._closing.set()
        try:
            for thread, _ in self._running.values():
                thread.join()
        except KeyboardInterrupt:
            for _, process in self._running.values():
                process.kill()
            raise

    def _ask(self, member: Member, process: _Process) -> None:
        try:
            found = process.run(self._closing)
        except OSError as error:
            found = Unanswered(_BUG, f"its process cannot be begun: {error.strerror or error}")
        except Exception as error:  # whatever it is: it is about this member alone
            found = Unanswered(_BUG, f"its answer cannot be read: {type(error).__name__}: {error}")
        self._ended.put((member, found))


class _Process:
    """Mutable: the process of one member, in a thread of its own."""

    def __init__(self, member: Member, asked: Asked, largest: int) -> None:
        self._member = member
        self._asked = asked
        self._largest = largest
        self._process: subprocess.Popen[bytes] | None = None
        self._out, self._err = bytearray(), bytearray()
        self._too_much = threading.Event()

    def run(self, closing: threading.Event) -> Outcome:
        """
        Raises:
            OSError: there is no process to be had.
        """
        if closing.is_set():
            return Unanswered(_CLUSTER, "it was not asked any more")
        process = self._begun()
        self._process = process
        try:
            return self._heard_out(process, closing)
        except BaseException:
            process_group.end(process)
            raise

    def _heard_out(self, process: subprocess.Popen[bytes], closing: threading.Event) -> Outcome:
        listeners = [
            threading.Thread(target=_listen, args=(process.stdout, self._hear), daemon=True),
            threading.Thread(target=_listen, args=(process.stderr, self._hear_complaint), daemon=True),
        ]
        for each in listeners:
            each.start()
        cut = self._wait(process, monotonic() + self._asked.timeout_s, closing)
        rest_s = monotonic() + (_REST_S if cut is None else _LOOK_S)
        for each in listeners:
            each.join(max(0.0, rest_s - monotonic()))
        if cut is not None:
            return cut
        if self._too_much.is_set():
            return self._too_large
        return outcome(process.returncode, bytes(self._out), self._complaint, self._asked.kind)

    def kill(self) -> None:
        """At once, with all that it has started."""
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # it has ended meanwhile
                os.killpg(self._process.pid, signal.SIGKILL)

    def _begun(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*self._asked.program, *self._asked.words(self._member)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._asked.environ(self._member),
            start_new_session=True,
            bufsize=0,
        )

    def _wait(self, process: subprocess.Popen[bytes], until_s: float, closing: threading.Event) -> Unanswered | None:
        """Until it has ended; or it is ended, and why. However much it prints meanwhile, it is read."""
        while True:
            try:
                process.wait(_LOOK_S)
                return None
            except subprocess.TimeoutExpired:
                cut = self._cut(until_s, closing)
            if cut is not None:
                process_group.end(process)
                return cut

    def _cut(self, until_s: float, closing: threading.Event) -> Unanswered | None:
        if closing.is_set():
            return Unanswered(_CLUSTER, "it was left alone before it had answered")
        if self._too_much.is_set():
            return self._too_large
        if monotonic() < until_s:
            return None
        said = self._complaint.strip().rpartition("\n")[2]
        longest = in_words(self._asked.timeout_s)
        reason = f"no answer within {longest}"
        return Unanswered(_CLUSTER, f"{reason}: {said}" if said else reason, "Give it longer: --fleet-timeout.")

    @property
    def _too_large(self) -> Unanswered:
        return Unanswered(_BUG, f"its answer is larger than {self._largest >> 20} MiB")

    @property
    def _complaint(self) -> str:
        return bytes(self._err).decode("utf-8", "replace")

    def _hear(self, told: bytes) -> None:
        """No more is kept than may be; what comes after that is read, so that it does not hang, and forgotten."""
        if len(self._out) + len(told) > self._largest:
            self._too_much.set()
            self._out.clear()
        elif not self._too_much.is_set():
            self._out += told

    def _hear_complaint(self, told: bytes) -> None:
        self._err += told
        del self._err[:-SAID_KEPT]


def _listen(stream: IO[bytes], hear: Callable[[bytes], None]) -> None:
    with stream:
        while told := os.read(stream.fileno(), _PIECE):
            hear(told)
