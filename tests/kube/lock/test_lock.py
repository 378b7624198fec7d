"""The lock of drains on a served cluster: its holder, the clients that may take it, and when the holder must stop."""

from __future__ import annotations

import time

import pytest

from kubectl_eksdoc.embedded.serving.faults import BrokenConnection, Fault
from kubectl_eksdoc.errors import Forbidden, Locked, LockLost, Unreachable, UsageError
from kubectl_eksdoc.kube.lock import LeaseLock, LockRenewer
from kubectl_eksdoc.kube.requests import real_clock
from tests.kube.spaces import LEASE, LEASES, SPACE, World, served


def test_it_is_taken_renewed_and_released(space: World) -> None:
    lock = space.lock("ada")
    assert not lock.held()
    lock.take()
    taken_s = space.hands.seconds
    assert lock.held(taken_s + 49.9) and not lock.held(taken_s + 50), "it is not believed in to its very end"
    for _ in range(10):
        space.hands.seconds += 20
        assert lock.held() and lock.renew()
    spec = space.lease().doc["spec"]
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("ada", 60, 0)
    assert lock.release() and not lock.held()
    with pytest.raises(LockLost, match="was given back"):
        lock.must_be_held()
    other = space.lock("eve")
    other.take()
    assert other.held() and space.lease().doc["spec"]["leaseTransitions"] == 1


def test_who_comes_second_is_told_who_holds_it(space: World) -> None:
    space.lock("ada@desk/17/r1").take()
    second = space.lock("eve@lab/18/r2")
    with pytest.raises(Locked) as error:
        second.take()
    assert not second.held() and error.value.holder == "ada@desk/17/r1" and error.value.exit_code == 3
    assert "ada@desk/17/r1 holds the lock since 2029-08-16 12:16:41Z" in error.value.message
    assert "free 60 s after" in error.value.hint


@pytest.mark.parametrize("wall", [1e8, -1e8])
@pytest.mark.parametrize("passed", [59.0, 64.0])
def test_it_is_over_by_the_servers_clock_alone(space: World, wall: float, passed: float) -> None:
    """One read suffices, whatever the machines' own clocks show."""
    first, second = space.lock("ada", wall=-wall), space.lock("eve", wall=wall)
    first.take()
    space.hands.seconds += passed
    if passed < 60:
        with pytest.raises(Locked):
            second.take()
        assert not second.held()
    else:
        second.take()
        assert second.held() and not first.held()


def test_each_renewal_that_is_seen_begins_the_watch_anew(space: World) -> None:
    first, second = space.lock("ada"), space.lock("eve", wall=1e8)
    first.take()
    space.with_dates = False
    for _ in range(5):
        space.hands.seconds += 20
        assert first.renew()
        with pytest.raises(Locked):
            second.take()
    space.hands.seconds += 59
    with pytest.raises(Locked):
        second.take()
    space.hands.seconds += 2
    second.take()
    assert second.held() and not first.held()


def test_a_time_that_was_written_without_the_servers_clock_is_not_compared_with_it(space: World) -> None:
    space.with_dates = False
    first, second = space.lock("ada", wall=-1e8), space.lock("eve")
    first.take()
    space.with_dates = True
    with pytest.raises(Locked):
        second.take()


def test_who_waits_gets_it_when_it_is_over(space: World) -> None:
    space.lock("ada").take()
    second = space.lock("eve")
    begun = space.hands.seconds
    second.take(wait_s=120)
    assert second.held() and 59 <= space.hands.seconds - begun <= 66


def test_a_holder_that_stood_still_knows_it_without_asking(space: World) -> None:
    """As after SIGSTOP: another client holds the lock, and the first one sends nothing more."""
    first, second = space.lock("ada"), space.lock("eve")
    first.take()
    assert first.renew()
    asked = len(space.senders[0].sent)
    space.hands.seconds += 70
    second.take()
    assert not first.held()
    with pytest.raises(LockLost, match="may be held by another process by now"):
        first.must_be_held()
    with pytest.raises(LockLost):
        first.renew()
    assert len(space.senders[0].sent) == asked
    assert first.release() is False and second.held() and second.renew()


def test_who_lost_it_by_force_is_told_by_whom(space: World) -> None:
    """A user changed the Lease by hand."""
    first = space.lock("ada")
    first.take()
    doc = space.lease().doc
    doc["spec"]["holderIdentity"] = "root"
    assert space.direct.send("PUT", LEASE, {}, doc).ok
    with pytest.raises(LockLost, match="root holds it") as error:
        first.renew()
    assert error.value.holder == "root" and not first.held()
    with pytest.raises(LockLost, match="root holds it") as later:
        first.must_be_held()
    assert later.value.holder == "root" and later.value.hint == error.value.hint


def test_a_lock_that_was_removed_is_lost(space: World) -> None:
    lock = space.lock("ada")
    lock.take()
    assert space.direct.send("DELETE", LEASE, {}, None).ok
    with pytest.raises(LockLost, match="was removed"):
        lock.renew()
    assert not lock.held()
    for ask in (lock.must_be_held, lock.renew):
        with pytest.raises(LockLost, match="was removed"):
            ask()
    lock.take()
    lock.must_be_held()


def test_a_right_that_was_taken_away_is_why_it_is_lost(space: World) -> None:
    """The client holds the lock until it expires, and renews it if the right returns."""
    lock = space.lock("ada")
    lock.take()
    sender = space.senders[0]
    allowed, sender.url = sender.url, space.url("reader")
    with pytest.raises(Forbidden):
        lock.renew()
    lock.must_be_held()
    sender.url = allowed
    assert lock.renew()
    sender.url = space.url("reader")
    with pytest.raises(Forbidden):
        lock.renew()
    space.hands.seconds += 60
    with pytest.raises(LockLost, match="the cluster refuses update leases") as error:
        lock.must_be_held()
    assert "stood still" not in str(error.value)


def test_who_keeps_it_alive_leaves_the_reason_to_the_lock(space: World) -> None:
    lock = LeaseLock(space.sender(), SPACE, "ada", real_clock(), duration_s=1)
    with LockRenewer(lock):
        assert space.direct.send("DELETE", LEASE, {}, None).ok
        end_s = time.monotonic() + 5
        while lock.held() and time.monotonic() < end_s:
            time.sleep(0.01)
        with pytest.raises(LockLost, match="was removed"):
            lock.must_be_held()


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"holderIdentity": "x", "leaseDurationSeconds": 60, "renewTime": "2999-01-01T00:00:00.000000Z"},
        {"holderIdentity": "x", "renewTime": "1999-01-01T00:00:00.000000Z"},
    ],
    ids=str,
)
def test_a_lease_that_somebody_else_wrote(space: World, spec: dict[str, object]) -> None:
    """The Lease's times may not be by the server's clock, so that the client watches it."""
    meta = {"name": "eksdoc-drain", "namespace": SPACE}
    doc = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}
    assert space.direct.send("POST", LEASES, {}, doc).ok
    lock = space.lock("ada")
    if spec:
        with pytest.raises(Locked) as error:
            lock.take()
        assert error.value.hint.endswith("stays: kubectl delete lease eksdoc-drain -n kube-system")
        space.hands.seconds += 61
    lock.take()
    assert lock.held() and lock.renew()


def test_a_namespace_that_is_not_there(space: World) -> None:
    with pytest.raises(UsageError, match="there is no namespace nowhere"):
        space.lock("ada", space="nowhere").take()


@pytest.mark.parametrize(("token", "verb"), [("blind", "get"), ("reader", "create"), ("creator", "update")])
def test_a_right_that_is_missing_is_named(space: World, token: str, verb: str) -> None:
    right = f"{verb} leases.coordination.k8s.io"
    lock = space.lock("ada", token)
    with pytest.raises(Forbidden) as error:
        lock.take()
        space.hands.seconds += 20
        lock.renew()
    assert error.value.missing == right and f"kubectl auth can-i {right} -n {SPACE}" in error.value.hint


PASSING = ("reset", "answer-lost", "conflict", "throttled", "server-timeout", "server-error", "cut-short", "repeated")


@pytest.mark.parametrize(
    ("share", "seeds"),
    [("30%", 1), pytest.param("5%", 4, marks=pytest.mark.long)],
)
@pytest.mark.parametrize("fault", PASSING)
def test_faults_that_pass_do_not_take_it_away(fault: str, share: str, seeds: int) -> None:
    for seed in range(seeds):
        with served(f"{fault}@{share}", seed=seed) as among:
            lock, other = among.lock("ada"), among.lock("eve")
            lock.take()
            for _ in range(12):
                among.hands.seconds += 10
                lock.renew()
                assert lock.held()
                try:
                    other.take()
                except (Locked, Unreachable):
                    assert lock.held() and not other.held()


@pytest.mark.parametrize("fault", ["unanswered", "server-error"])
def test_a_server_that_never_answers(fault: str) -> None:
    with served(fault) as among:
        among.timeout_s = 0.02
        lock = among.lock("eve")
        with pytest.raises(Unreachable, match="the lock kube-system/eksdoc-drain cannot be taken"):
            lock.take()
        assert len(among.senders[0].sent) > 3 and not lock.held()


def test_a_server_that_is_away_for_a_while_takes_nothing_away() -> None:
    with served(Fault(BrokenConnection(), "leases", skip=2, times=3)) as among:
        lock = among.lock("ada")
        lock.take()
        among.hands.seconds += 20
        assert lock.renew() is False and lock.held()
        among.hands.seconds += 10
        assert [lock.renew(), lock.renew()] == [False, True]
        among.hands.seconds += 45
        assert lock.held()


def test_a_release_that_nobody_hears_is_not_claimed() -> None:
    with served(Fault(BrokenConnection(), "leases", skip=2, times=9)) as among:
        lock = among.lock("ada")
        lock.take()
        assert lock.release() is False and not lock.held()
