"""The reader of a command's output closes the pipe (`| head`): a run stops as after SIGHUP, and a watch ends without an
error."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kubectl_eksdoc.cli import streams
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import ScaledTime, SimulatedApiServer
from tests.drain.command.served import EVICTED, Said, machine
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs
from tests.kube.live_backend.test_complete_drain import Evictions

ROOT = Path(__file__).parents[3]
RUN = ("drain", "run", "--nodegroup", "blue", "--yes", "--expect-nodes", "1")
LEFT = "its output is no longer read"


class Broken(Said):
    """A stream that fails every write after it has received this text."""

    def __init__(self, after: str, error: OSError) -> None:
        super().__init__()
        self._after = after
        self._error = error

    def write(self, text: str, /) -> int:
        if self._after in self.getvalue():
            raise self._error
        return super().write(text)


@pytest.fixture
def api() -> Api:
    return worlds.api_of("small-traps", ScaledTime(time.monotonic, 6.0))


@pytest.mark.long
@pytest.mark.parametrize("number", [errno.EPIPE, errno.ENOSPC])
def test_a_run_stops_when_its_events_cannot_be_told(
    seen: Evictions, server: SimulatedApiServer, tmp_path: Path, number: int
) -> None:
    one = machine(server, tmp_path / "ann")
    one.opens_out = lambda: Broken(EVICTED, OSError(number, os.strerror(number)))
    ran = one.run(*RUN)
    assert ran.code == 6 and "stopping" in ran.err and "Traceback" not in ran.err, ran.err
    assert 0 < len(seen.of) < 16 and max(seen.of.values()) == 1
    other = machine(server, tmp_path / "ben")
    status = other.run("drain", "status", "--events").out
    assert status.count(EVICTED) == len(seen.of) and "unprotected" in status, "it waited for what was under way"
    listed = other.run("drain", "status").out
    assert (LEFT if number == errno.EPIPE else os.strerror(number)) in listed
    assert other.goes_on("--yes", "--expect-nodes", "1").code == 0, other.err.getvalue()
    assert len(seen.of) == 16 and max(seen.of.values()) == 1


def test_a_run_whose_plan_nobody_read_evicts_nothing(
    seen: Evictions, server: SimulatedApiServer, tmp_path: Path
) -> None:
    one = machine(server, tmp_path / "ann")
    one.opens_err = lambda: Broken("", BrokenPipeError(errno.EPIPE, "Broken pipe"))
    ran = one.run(*RUN)
    assert ran.code == 6 and LEFT in ran.out and seen.of == {}


@pytest.mark.long
def test_a_watch_ends_quietly(server: SimulatedApiServer, tmp_path: Path) -> None:
    slow = machine(server, tmp_path / "ann")
    with slow.running(*RUN):
        slow.out.until(EVICTED)
        one = machine(server, tmp_path / "ben")
        one.opens_out = lambda: Broken("", BrokenPipeError(errno.EPIPE, "Broken pipe"))
        ran = one.run("drain", "status", "-w")
        assert ran.code == 0 and ran.err == ""
        assert slow.code == -1, "the run goes on all the same"
        slow.times_told = lambda: 1


def test_a_reader_that_leaves_is_noticed_before_anything_is_written() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream:
        assert not streams.is_broken(stream)
        os.close(reading)
        assert streams.is_broken(stream)
        streams.write_note(stream, "to nobody\n")
        assert streams.is_broken(stream), "it is remembered"


def test_files_and_texts_have_no_reader_to_leave(tmp_path: Path) -> None:
    with open(tmp_path / "log", "w") as file, open(os.devnull, "w") as nothing:
        assert not any(map(streams.is_broken, (file, nothing, Said())))
    assert not streams.is_broken(file), "it is closed"


@pytest.mark.long
def test_a_real_pipe(seen: Evictions, server: SimulatedApiServer, tmp_path: Path) -> None:
    config = kubeconfigs.one(tmp_path / "config", server.url(worlds.ADMIN_TOKEN), name="lab")
    argv = [sys.executable, "-m", "kubectl_eksdoc", *RUN, "--kubeconfig", config]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "USER": "ann"}
    with open(tmp_path / "err", "w") as err:
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=err, cwd=ROOT, env=environ, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if EVICTED in line:
            break
    process.stdout.close()
    assert process.wait(60) == 6
    said = (tmp_path / "err").read_text()
    assert LEFT in said and "Traceback" not in said and "Exception ignored" not in said
    assert 0 < len(seen.of) < 16
