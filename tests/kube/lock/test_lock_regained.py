"""A lock that was not renewed in time and that no other client took: it is held again, but is of no use until the
cluster was read again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.faults import BrokenConnection, Fault
from kubectl_eksdoc.embedded.serving.handler import serving
from kubectl_eksdoc.errors import Forbidden, LockInDoubt, LockLost
from kubectl_eksdoc.kube.lock import LeaseLock, LockRenewer
from kubectl_eksdoc.kube.requests import real_clock
from tests.fakes.sender import HttpSender
from tests.kube.live_backend.served_backends import Kept
from tests.kube.spaces import SPACE, World, an_api, served


def late(space: World, seconds: float = 120.0) -> LeaseLock:
    """A lock in doubt: its holder is unknown."""
    lock = space.lock("ada")
    lock.take()
    space.hands.seconds += seconds
    with pytest.raises(LockInDoubt):
        lock.renew()
    return lock


def refuses(lock: LeaseLock) -> bool:
    try:
        lock.must_be_held()
    except LockInDoubt:
        return True
    return False


def test_it_is_ours_again_where_nobody_took_it_and_shut_until_all_was_looked_at(space: World) -> None:
    lock = late(space)
    assert not lock.try_regain(0) and lock.in_doubt_s == 120
    assert lock.regain() and lock.held() and refuses(lock)
    space.hands.seconds += 10
    assert lock.renew() and refuses(lock) and lock.in_doubt_s == 130
    assert lock.try_regain(0)
    lock.resume()
    lock.must_be_held()
    assert lock.in_doubt_s == 0
    spec = space.lease().doc["spec"]
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("ada", 0)
    assert lock.release()


def test_who_stood_still_right_before_a_renewal_was_sent_does_not_think_that_it_is_fresh(
    space: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other client took it meanwhile, but earlier decisions are outdated."""
    lock, held = space.lock("ada"), LeaseLock.held
    lock.take()

    def and_stops(self: LeaseLock, now_s: float | None = None) -> bool:
        found, callers = held(self, now_s), sys._getframe(1).f_code.co_name
        if callers == "_renew_once":
            space.hands.seconds += 120
        return found

    monkeypatch.setattr(LeaseLock, "held", and_stops)
    assert lock.renew()
    monkeypatch.undo()
    assert not lock.held() and refuses(lock)
    assert lock.regain() and refuses(lock) and lock.try_regain(0)
    lock.resume()


@pytest.mark.parametrize("gave_back", [False, True])
def test_it_is_lost_where_somebody_took_it_whether_they_still_have_it_or_not(space: World, gave_back: bool) -> None:
    lock, other = late(space), space.lock("eve")
    other.take()
    if gave_back:
        assert other.release()
    for ask in (lock.regain, lock.must_be_held, lock.resume, lambda: lock.try_regain(0)):
        with pytest.raises(LockLost, match="another process took the lock") as error:
            ask()
        assert not isinstance(error.value, LockInDoubt) and error.value.holder == ("" if gave_back else "eve")
    assert gave_back or other.renew()


def test_somebody_is_faster_by_a_moment(space: World) -> None:
    """Another client writes between our read and our write."""
    lock, other = late(space), space.lock("eve")
    sender = space.senders[0]
    send = sender.send

    def second(method, *rest):  # type: ignore[no-untyped-def]
        if method == "PUT" and not other.held():
            other.take()
        return send(method, *rest)

    sender.send = second  # type: ignore[method-assign]
    with pytest.raises(LockLost, match="eve holds it"):
        lock.regain()
    assert not lock.held() and other.renew()


def test_a_second_gap_needs_a_second_look(space: World) -> None:
    lock = late(space)
    assert lock.regain() and lock.try_regain(0)
    space.hands.seconds += 120
    assert lock.regain() and lock.held()
    with pytest.raises(LockInDoubt):
        lock.resume()
    assert lock.try_regain(0)
    lock.resume()


def test_a_server_that_does_not_answer_is_asked_again() -> None:
    with served(Fault(BrokenConnection(), "leases", skip=2, times=2)) as among:
        lock = late(among)
        assert [lock.regain(), lock.regain(), lock.regain()] == [False, False, True]


def test_an_answer_that_was_lost_is_found_by_reading() -> None:
    for seed in range(3):
        with served("answer-lost@50%", seed=seed) as among:
            lock = late(among)
            while not lock.regain():
                among.hands.seconds += 3
            assert lock.try_regain(0)
            lock.resume()


def test_a_right_that_was_taken_away_is_told(space: World) -> None:
    lock = late(space)
    space.senders[0].url = space.url("reader")
    with pytest.raises(Forbidden):
        lock.regain()
    with pytest.raises(LockInDoubt, match="refuses update leases"):
        lock.must_be_held()
    space.senders[0].url = space.url("admin")
    assert lock.regain()


def test_who_keeps_it_alive_takes_it_again() -> None:
    """The server is away for longer than the lock's duration."""
    with served(Fault(BrokenConnection(), "leases", skip=2, times=8)) as among:
        lock = LeaseLock(among.sender(), SPACE, "ada", real_clock(), duration_s=1)
        with LockRenewer(lock, retry_s=0.15):
            ends_s = time.monotonic() + 10
            while not refuses(lock):
                assert time.monotonic() < ends_s
            while not lock.try_regain(0.1):
                assert time.monotonic() < ends_s and refuses(lock)
            lock.resume()
            lock.must_be_held()
        assert among.lease().doc["spec"]["holderIdentity"] == ""


# A process that is stopped (SIGSTOP) past the end of its lock and then continues: it sends nothing more.

ROOT = Path(__file__).parents[3]
ACTS = 5

SCRIPT = """
import sys, time
from kubectl_eksdoc.errors import LockLost
from kubectl_eksdoc.kube.requests import real_clock
from kubectl_eksdoc.kube.lock import LeaseLock
from tests.fakes.sender import HttpSender
from tests.kube.live_backend.served_backends import Kept

sender = HttpSender(sys.argv[1])
lock = LeaseLock(sender, "kube-system", "stopped", real_clock(), duration_s=2)
lock.take()
renewed = time.monotonic()
try:
    while True:
        if time.monotonic() - renewed > 0.6:
            lock.renew()
            renewed = time.monotonic()
        lock.must_be_held()
        sender.send("GET", "/api/v1/nodes/act", {}, None)
        time.sleep(0.05)
except LockLost as error:
    print("lost:", error.message)
"""


@pytest.mark.long
def test_who_was_stopped_sends_nothing_more() -> None:
    acts = threading.Semaphore(0)
    listening = Kept(an_api(), lambda request: request.path.endswith("/act"), lambda _: acts.release())
    with serving(listening) as server:
        url = server.url("admin")
        command = [sys.executable, "-c", SCRIPT, url]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            for _ in range(ACTS):
                assert acts.acquire(timeout=20)
            os.kill(process.pid, signal.SIGSTOP)
            other = LeaseLock(HttpSender(url), "kube-system", "other", real_clock(), duration_s=2)
            other.take(wait_s=20)
            assert other.held()
            before = len(listening.requests)
            os.kill(process.pid, signal.SIGCONT)
            said, _ = process.communicate(timeout=20)
        assert said.startswith("lost: the lock kube-system/eksdoc-drain")
        assert len(listening.requests) <= before + 1, "at most one that was on its way when it was stopped"
        assert other.renew()
