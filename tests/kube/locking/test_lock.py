"""The lock of drains, against a served cluster: who holds it, who may take it, and when its holder must stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import pytest

from kubectl_eksdoc.embedded.serving.access import ADMIN, RbacRule, TokenUsers, restricted
from kubectl_eksdoc.embedded.serving.api import Api, Setup
from kubectl_eksdoc.embedded.serving.faults import BrokenConnection, Fault, Faulty
from kubectl_eksdoc.embedded.serving.handler import ManualTime, serving
from kubectl_eksdoc.errors import Forbidden, Locked, LockLost, Unreachable, UsageError
from kubectl_eksdoc.kube.lock import Lock, LockKeeper
from kubectl_eksdoc.kube.sent import SentRequest, real_clock
from tests.embedded.clients import among_faults, worlds
from tests.fakes.sender import START, Hands, HttpSender

SPACE = "kube-system"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{SPACE}/leases"
LEASE = f"{LEASES}/eksdoc-drain"


def _leases(*verbs: str) -> RbacRule:
    return RbacRule(verbs, ("leases",), ("coordination.k8s.io",))


SETUP = Setup(
    TokenUsers(
        {
            "admin": ADMIN,
            "blind": restricted("blind", (_leases("create", "update"),)),
            "reader": restricted("reader", (_leases("get"),)),
            "creator": restricted("creator", (_leases("get", "create"),)),
        }
    )
)


class World:
    """Machines whose wall clocks are years apart, and one server clock; time is moved by hand and by pauses."""

    def __init__(self, url: Callable[[str], str]) -> None:
        self.url = url
        self.hands = Hands()
        self.with_dates = True
        self.senders: list[HttpSender] = []

    def server_date(self) -> datetime | None:
        date = START + timedelta(days=1000, seconds=self.hands.seconds)
        return date.replace(microsecond=0) if self.with_dates else None

    def sender(self, token: str = "admin") -> HttpSender:
        self.senders.append(HttpSender(self.url(token), self.server_date, timeout_s=0.5))
        return self.senders[-1]

    def lock(self, holder: str, token: str = "admin", space: str = SPACE, wall: float = 0.0) -> Lock:
        return Lock(self.sender(token), space, holder, self.hands.clock(wall))

    def lease(self) -> SentRequest:
        return self.sender().send("GET", LEASE, {}, None)


@pytest.fixture(scope="module")
def api() -> Api:
    return Api(worlds.plane_of("small-traps", None), SETUP, ManualTime())


def clear(world: World) -> None:
    world.sender().send("DELETE", LEASE, {}, None)
    for sender in world.senders:
        sender.close()


@pytest.fixture
def world(api: Api) -> Iterator[World]:
    with among_faults.served(api) as server:
        made = World(server.url)
        yield made
        clear(made)


def test_it_is_taken_renewed_and_released(world: World) -> None:
    lock = world.lock("ada")
    assert not lock.held()
    lock.take()
    taken_s = world.hands.seconds
    assert lock.held(taken_s + 49.9) and not lock.held(taken_s + 50), "it is not believed in to its very end"
    for _ in range(10):
        world.hands.seconds += 20
        assert lock.held() and lock.renew()
    spec = world.lease().doc["spec"]
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("ada", 60, 0)
    assert lock.release() and not lock.held()
    with pytest.raises(LockLost, match="was given back"):
        lock.must_be_held()
    other = world.lock("eve")
    other.take()
    assert other.held() and world.lease().doc["spec"]["leaseTransitions"] == 1


def test_who_comes_second_is_told_who_holds_it(world: World) -> None:
    world.lock("ada@desk/17/r1").take()
    second = world.lock("eve@lab/18/r2")
    with pytest.raises(Locked) as error:
        second.take()
    assert not second.held() and error.value.holder == "ada@desk/17/r1" and error.value.exit_code == 3
    assert "ada@desk/17/r1 holds the lock since 2029-08-16 12:16:41Z" in error.value.message
    assert "free 60 s after" in error.value.hint


@pytest.mark.parametrize("wall", [1e8, -1e8])
@pytest.mark.parametrize("passed", [59.0, 64.0])
def test_it_is_over_by_the_servers_clock_alone(world: World, wall: float, passed: float) -> None:
    """One look is enough, and it does not matter what the machines believe of the time."""
    first, second = world.lock("ada", wall=-wall), world.lock("eve", wall=wall)
    first.take()
    world.hands.seconds += passed
    if passed < 60:
        with pytest.raises(Locked):
            second.take()
        assert not second.held()
    else:
        second.take()
        assert second.held() and not first.held()


def test_without_the_servers_clock_it_is_watched_for_its_whole_duration(world: World) -> None:
    first, second = world.lock("ada"), world.lock("eve", wall=1e8)
    first.take()
    world.with_dates = False
    world.hands.seconds += 3000
    with pytest.raises(Locked):
        second.take()
    world.hands.seconds += 59
    with pytest.raises(Locked):
        second.take()
    world.hands.seconds += 2
    second.take()
    assert second.held()


def test_each_renewal_that_is_seen_begins_the_watch_anew(world: World) -> None:
    first, second = world.lock("ada"), world.lock("eve")
    first.take()
    world.with_dates = False
    for _ in range(5):
        world.hands.seconds += 20
        assert first.renew()
        with pytest.raises(Locked):
            second.take()
    world.hands.seconds += 59
    with pytest.raises(Locked):
        second.take()
    world.hands.seconds += 2
    second.take()
    assert second.held() and not first.held()


def test_a_time_that_was_written_without_the_servers_clock_is_not_compared_with_it(world: World) -> None:
    world.with_dates = False
    first, second = world.lock("ada", wall=-1e8), world.lock("eve")
    first.take()
    world.with_dates = True
    with pytest.raises(Locked):
        second.take()


def test_who_waits_gets_it_when_it_is_over(world: World) -> None:
    world.lock("ada").take()
    second = world.lock("eve")
    begun = world.hands.seconds
    second.take(wait_s=120)
    assert second.held() and 59 <= world.hands.seconds - begun <= 66


def test_a_holder_that_stood_still_knows_it_without_asking(world: World) -> None:
    """As after SIGSTOP: another one has it, and the first sends nothing any more."""
    first, second = world.lock("ada"), world.lock("eve")
    first.take()
    assert first.renew()
    asked = len(world.senders[0].sent)
    world.hands.seconds += 70
    second.take()
    assert not first.held()
    with pytest.raises(LockLost, match="may be held by another process by now"):
        first.must_be_held()
    with pytest.raises(LockLost):
        first.renew()
    assert len(world.senders[0].sent) == asked
    assert first.release() is False and second.held() and second.renew()


def test_who_lost_it_by_force_is_told_by_whom(world: World) -> None:
    """Somebody changed the Lease by hand."""
    first = world.lock("ada")
    first.take()
    doc = world.lease().doc
    doc["spec"]["holderIdentity"] = "root"
    assert world.sender().send("PUT", LEASE, {}, doc).ok
    with pytest.raises(LockLost, match="root holds it") as error:
        first.renew()
    assert error.value.holder == "root" and not first.held()
    with pytest.raises(LockLost, match="root holds it") as later:
        first.must_be_held()
    assert later.value.holder == "root" and later.value.hint == error.value.hint


def test_a_lock_that_was_removed_is_lost(world: World) -> None:
    lock = world.lock("ada")
    lock.take()
    assert world.sender().send("DELETE", LEASE, {}, None).ok
    with pytest.raises(LockLost, match="was removed"):
        lock.renew()
    assert not lock.held()
    for ask in (lock.must_be_held, lock.renew):
        with pytest.raises(LockLost, match="was removed"):
            ask()
    lock.take()
    lock.must_be_held()


def test_a_right_that_was_taken_away_is_why_it_is_lost(world: World) -> None:
    """It is ours to its end, and renewed if the right comes back."""
    lock = world.lock("ada")
    lock.take()
    sender = world.senders[0]
    allowed, sender.url = sender.url, world.url("reader")
    with pytest.raises(Forbidden):
        lock.renew()
    lock.must_be_held()
    sender.url = allowed
    assert lock.renew()
    sender.url = world.url("reader")
    with pytest.raises(Forbidden):
        lock.renew()
    world.hands.seconds += 60
    with pytest.raises(LockLost, match="the cluster refuses update leases") as error:
        lock.must_be_held()
    assert "stood still" not in str(error.value)


def test_who_keeps_it_alive_leaves_the_reason_to_the_lock(world: World) -> None:
    lock = Lock(world.sender(), SPACE, "ada", real_clock(), duration_s=1)
    with LockKeeper(lock):
        assert world.sender().send("DELETE", LEASE, {}, None).ok
        end_s = time.monotonic() + 5
        while lock.held() and time.monotonic() < end_s:
            time.sleep(0.01)
        with pytest.raises(LockLost, match="was removed"):
            lock.must_be_held()


def test_a_label_on_it_is_no_other_holder(world: World) -> None:
    lock = world.lock("ada")
    lock.take()
    patch = {"metadata": {"labels": {"team": "a"}, "annotations": {"why": "b"}}}
    assert world.sender().send("PATCH", LEASE, {}, patch, "application/merge-patch+json").ok
    world.hands.seconds += 20
    assert lock.renew()
    assert world.lease().doc["metadata"]["labels"]["team"] == "a"
    world.hands.seconds += 45
    assert lock.held()


def test_it_can_be_taken_again_by_who_held_it_last(world: World) -> None:
    """A laptop that slept, and nobody was faster."""
    lock = world.lock("ada")
    lock.take()
    world.hands.seconds += 1000
    assert not lock.held()
    lock.take()
    assert lock.held() and world.lease().doc["spec"]["leaseTransitions"] == 0


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"holderIdentity": "x", "leaseDurationSeconds": 60, "renewTime": "2999-01-01T00:00:00.000000Z"},
        {"holderIdentity": "x", "renewTime": "1999-01-01T00:00:00.000000Z"},
    ],
    ids=str,
)
def test_a_lease_that_somebody_else_wrote(world: World, spec: dict[str, object]) -> None:
    """Its times are not by the server's clock as far as we know: it is watched."""
    meta = {"name": "eksdoc-drain", "namespace": SPACE}
    doc = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}
    assert world.sender().send("POST", LEASES, {}, doc).ok
    lock = world.lock("ada")
    if spec:
        with pytest.raises(Locked) as error:
            lock.take()
        assert error.value.hint.endswith("stays: kubectl delete lease eksdoc-drain -n kube-system")
        world.hands.seconds += 61
    lock.take()
    assert lock.held() and lock.renew()


def test_a_namespace_that_is_not_there(world: World) -> None:
    with pytest.raises(UsageError, match="there is no namespace nowhere"):
        world.lock("ada", space="nowhere").take()


@pytest.mark.parametrize(("token", "verb"), [("blind", "get"), ("reader", "create"), ("creator", "update")])
def test_a_right_that_is_missing_is_named(world: World, token: str, verb: str) -> None:
    right = f"{verb} leases.coordination.k8s.io"
    lock = world.lock("ada", token)
    with pytest.raises(Forbidden) as error:
        lock.take()
        world.hands.seconds += 20
        lock.renew()
    assert error.value.missing == right and f"kubectl auth can-i {right} -n {SPACE}" in error.value.hint


PASSING = ("reset", "answer-lost", "conflict", "throttled", "server-timeout", "server-error", "cut-short", "repeated")


@pytest.mark.parametrize(
    ("share", "seeds"),
    [("30%", 1), pytest.param("5%", 4, marks=pytest.mark.long)],
)
@pytest.mark.parametrize("fault", PASSING)
def test_faults_that_pass_do_not_take_it_away(api: Api, fault: str, share: str, seeds: int) -> None:
    for seed in range(seeds):
        with among_faults.served(api, f"{fault}@{share}", seed=seed) as server:
            world = World(server.url)
            lock, other = world.lock("ada"), world.lock("eve")
            lock.take()
            for _ in range(12):
                world.hands.seconds += 10
                lock.renew()
                assert lock.held()
                try:
                    other.take()
                except (Locked, Unreachable):
                    assert lock.held() and not other.held()
            lock.release()
        with among_faults.served(api) as server:
            clear(World(server.url))


@pytest.mark.parametrize("fault", ["unanswered", "server-error"])
def test_a_server_that_never_answers(api: Api, fault: str) -> None:
    with among_faults.served(api, fault) as server:
        sender = HttpSender(server.url("admin"), timeout_s=0.02)
        lock = Lock(sender, SPACE, "eve", Hands().clock())
        with pytest.raises(Unreachable, match="the lock kube-system/eksdoc-drain cannot be taken"):
            lock.take()
        assert len(sender.sent) > 3 and not lock.held()
        sender.close()


def test_a_server_that_is_away_for_a_while_takes_nothing_away(api: Api) -> None:
    away = Fault(BrokenConnection(), "leases", skip=2, times=3)
    with serving(Faulty(api, [away], lambda seconds: None)) as server:
        world = World(server.url)
        lock = world.lock("ada")
        lock.take()
        world.hands.seconds += 20
        assert lock.renew() is False and lock.held()
        world.hands.seconds += 10
        assert [lock.renew(), lock.renew()] == [False, True]
        world.hands.seconds += 45
        assert lock.held()
        clear(world)


def test_a_release_that_nobody_hears_is_not_claimed(api: Api) -> None:
    with serving(Faulty(api, [Fault(BrokenConnection(), "leases", skip=2, times=9)], lambda seconds: None)) as server:
        world = World(server.url)
        lock = world.lock("ada")
        lock.take()
        assert lock.release() is False and not lock.held()
    with among_faults.served(api) as server:
        clear(World(server.url))
