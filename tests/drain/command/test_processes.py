"""Runs as processes: interrupted once, interrupted twice, killed, and resumed by another machine that has only the
cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import ScaledTime, SimulatedApiServer, serving
from tests.drain.command.served import EVICTED, aged, cordoned
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs
from tests.kube.live_backend.test_complete_drain import Evictions

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[3]
SPEED = 4.0
LONGEST_S = 120.0


class Process:
    """`kubectl eksdoc drain …` with a home of its own."""

    def __init__(self, server: SimulatedApiServer, home: Path, *words: str) -> None:
        home.mkdir()
        config = kubeconfigs.one(home / "config", server.url(worlds.ADMIN_TOKEN), name="lab")
        self._out, self._err = home / "out", home / "err"
        argv = [sys.executable, "-m", "kubectl_eksdoc", "drain", *words, "--kubeconfig", config]
        environ = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(home), "USER": home.name}
        with open(self._out, "w") as out, open(self._err, "w") as err:
            self.process = subprocess.Popen(argv, stdout=out, stderr=err, cwd=ROOT, env=environ)

    @property
    def out(self) -> str:
        return self._out.read_text(encoding="utf-8")

    @property
    def err(self) -> str:
        return self._err.read_text(encoding="utf-8")

    def until(self, text: str) -> None:
        ends_s = time.monotonic() + LONGEST_S
        while text not in self.out:
            assert self.process.poll() is None and time.monotonic() < ends_s, self.err
            time.sleep(0.05)

    def ended(self) -> int:
        return self.process.wait(LONGEST_S)


@pytest.fixture
def api() -> Api:
    return worlds.api_of("small-traps", ScaledTime(time.monotonic, SPEED))


RUN = ("run", "--nodegroup", "blue", "--yes", "--expect-nodes", "1")
GO_ON = ("resume", "--yes", "--expect-nodes", "1")


def goes_on(server: SimulatedApiServer, home: Path) -> Process:
    """Run it again while it requests that: the results of a stopped run may still be settling."""
    ends_s, tries = time.monotonic() + LONGEST_S, 0
    home.mkdir()
    while True:
        found = Process(server, home / str(tries), *GO_ON)
        if found.ended() != 7 or "Resume it again" not in found.err or time.monotonic() > ends_s:
            return found
        tries += 1


def check(seen: Evictions) -> None:
    assert len(seen.of) == 16 and max(seen.of.values()) == 1 and seen.overdrawn == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_told_to_end_it_settles_and_another_goes_on(
    seen: Evictions, server: SimulatedApiServer, tmp_path: Path, number: signal.Signals
) -> None:
    first = Process(server, tmp_path / "ann", *RUN)
    first.until(EVICTED)
    first.process.send_signal(number)
    assert first.ended() == 6, first.err
    assert "stopping: nothing more is asked for" in first.err and "Stopped: the user stopped it" in first.out
    assert "drain resume" in first.out and first.out.count(EVICTED) == first.out.count("Z  gone")
    if number == signal.SIGTERM:
        second = goes_on(server, tmp_path / "ben")
        assert second.ended() == 0, second.err
        check(seen)


def test_told_twice_it_leaves_at_once(tmp_path: Path) -> None:
    """Pods take five seconds to stop in this cluster, so that the first signal has something to wait for."""
    slow = worlds.api_of("small-traps", ScaledTime(time.monotonic, 0.2))
    with serving(slow) as server:
        first = Process(server, tmp_path / "ann", *RUN)
        first.until(EVICTED)
        first.process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        first.process.send_signal(signal.SIGINT)
        assert first.ended() == 6 and "leaving at once" in first.err
    assert "Stopped: the user stopped it" in first.out


def test_killed_it_is_gone_on_with_once_its_lock_is_over(
    api: Api, seen: Evictions, server: SimulatedApiServer, tmp_path: Path
) -> None:
    first = Process(server, tmp_path / "ann", *RUN)
    first.until(EVICTED)
    first.process.kill()
    assert first.ended() == -signal.SIGKILL
    aged(api)
    second = goes_on(server, tmp_path / "ben")
    assert second.ended() == 0, second.err
    said = "".join(each.read_text(encoding="utf-8") for each in (tmp_path / "ben").glob("*/err"))
    assert "does not answer, and has lost the lock" in said
    check(seen)


def test_killed_and_taken_back_by_another(api: Api, server: SimulatedApiServer, tmp_path: Path) -> None:
    before = cordoned(api)
    first = Process(server, tmp_path / "ann", *RUN)
    first.until(EVICTED)
    first.process.kill()
    first.ended()
    aged(api)
    asked = Process(server, tmp_path / "ben", "rollback", "--yes", "--expect-nodes", "99")
    assert asked.ended() == 7
    count = asked.err.rpartition("give back ")[2].split()[0]
    back = Process(server, tmp_path / "cleo", "rollback", "--yes", "--expect-nodes", count)
    assert back.ended() == 0, back.err
    assert cordoned(api) == before
