"""The lock is lost while acts wait: queued, retried and repeated requests no longer reach the server."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.faults import build_faults, parse_fault
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.faults import Delayed, Fault, FaultyHandler
from kubectl_eksdoc.embedded.serving.faults import FaultyAnswer as Instead
from kubectl_eksdoc.embedded.serving.handler import SimulatedApiServer, serving
from kubectl_eksdoc.embedded.serving.requests import RequestHandler
from kubectl_eksdoc.errors import LockLost, Unauthorized
from kubectl_eksdoc.kube.config import open_access
from kubectl_eksdoc.kube.exchanges import Exchanges, real_timing
from kubectl_eksdoc.kube.live_backend import MAX_WORKERS, LiveRunBackend, RestartableBackend
from kubectl_eksdoc.kube.lock import LeaseLock
from kubectl_eksdoc.kube.requests import MERGE_PATCH, ApiWriter
from kubectl_eksdoc.kube.target import Credential, Credentials, process_credential_context, utc_now
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse
from kubectl_eksdoc.kubernetes.updates import (
    AllBudgets,
    AllNodes,
    AllPods,
    PodsFound,
    RequestAnswered,
    RunUpdate,
    WatchInterrupted,
    WatchRestored,
)
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.actions import ClusterAction, Cordon, Evict, ListPods, ReadPod
from tests.builders import a_pod
from tests.embedded.clients import worlds
from tests.fakes.sender import Hands
from tests.kube.live_backend.served_backends import (
    HASTY,
    RUN,
    SHORT,
    Either,
    Kept,
    answers,
    change,
    connection,
    heard,
    is_eviction,
    nothing_seen,
    read,
    serving_again,
    wait_until,
)
from tests.kube.live_backend.test_cordons import some_node

SAID = "the lock kube-system/eksdoc-drain was removed"
WRITES = ("POST", "PATCH", "DELETE", "PUT")
PATIENT = replace(HASTY, silence_timeout=5.0)


class FakeLock:
    """A lock that is held until a test loses it."""

    def __init__(self) -> None:
        self.lost = threading.Event()
        self.asked = self.refused = 0

    def must_be_held(self) -> None:
        self.asked += 1
        if self.lost.is_set():
            self.refused += 1
            raise LockLost(SAID, "Ask, then resume.")


def arriving(inner: RequestHandler, before: Callable[[int], object] = lambda count: None) -> Kept:
    """Count the arriving requests that change something, and report each."""
    return Kept(inner, lambda request: request.method in WRITES, before)


@contextlib.contextmanager
def field_behind(lock: FakeLock, handler: RequestHandler, folder: Path) -> Iterator[LiveRunBackend]:
    with (
        serving(handler) as server,
        contextlib.closing(
            LiveRunBackend(
                connection(server, folder), RUN, fence=lock.must_be_held, retry_policy=PATIENT, watch_times=SHORT
            )
        ) as field,
    ):
        yield field


def evictions(field: LiveRunBackend) -> list[ClusterAction]:
    seen = nothing_seen()
    heard(field, seen, lambda: bool(list(seen.pods())))
    return [Evict(pod, None) for pod in list(seen.pods())[:12]]


def test_a_patch_that_met_a_conflict_is_not_tried_again(api: Api, tmp_path: Path) -> None:
    lock = FakeLock()
    conflicts = FaultyHandler(api, build_faults([parse_fault("conflict")], 1).requests, lambda seconds: None)
    handler = arriving(conflicts, lambda count: count == 2 and lock.lost.set())
    with field_behind(lock, handler, tmp_path) as field:
        act = Cordon(*some_node(api))
        field.do(act)
        assert answers(field, 1) == [RequestAnswered(act, LostResponse(f"it was not sent: {SAID}"))]  # type: ignore[arg-type]
        assert len(handler.requests) == 2 and lock.refused == 1
        with pytest.raises(LockLost) as lost:
            wait_until(lambda: bool(field.updates(0.05)) and False)
        assert (lost.value.message, lost.value.hint) == (SAID, "Ask, then resume.")


def test_a_connection_that_comes_too_late_is_not_used(api: Api, tmp_path: Path) -> None:
    """The connection is refused while the server is away; when the server is back, the lock is lost."""
    lock, handler = FakeLock(), arriving(api)
    with serving(handler) as server:
        to, port = connection(server, tmp_path), server.port
        act = Evict(read(server, tmp_path).pods[0], None)
    patience = replace(HASTY, first_pause=0.1, max_pause=0.2, tries_to_connect=50, tries=50)
    field = LiveRunBackend(to, RUN, fence=lock.must_be_held, retry_policy=patience, watch_times=SHORT)
    with contextlib.closing(field):
        field.do(act)
        wait_until(lambda: lock.asked >= 3)
        lock.lost.set()
        wait_until(lambda: lock.refused > 0)  # an attempt in flight has reached an unavailable server
        with serving_again(handler, port):
            assert answers(field, 1) == [RequestAnswered(act, LostResponse(f"it was not sent: {SAID}"))]
    assert handler.requests == []


def test_newer_credentials_do_not_send_it_again(api: Api, tmp_path: Path) -> None:
    """The server rejects the credentials; newer ones are created, and meanwhile the lock is lost."""
    lock = FakeLock()
    expired = Instead(ApiStatus(401, "Unauthorized", "Unauthorized"))
    handler = arriving(FaultyHandler(api, [Fault(expired, method="PATCH")], lambda seconds: None))
    signed_in: list[Credential] = []

    def sign_in() -> Credential:
        if signed_in:
            lock.lost.set()
        ends = datetime(2100, 1, 1 + len(signed_in), tzinfo=timezone.utc)
        signed_in.append(Credential(f"Bearer {worlds.ADMIN_TOKEN}", expires_at=ends))
        return signed_in[-1]

    with serving(handler) as server:
        around = process_credential_context()
        access = replace(open_access(connection(server, tmp_path), around), credentials=Credentials(sign_in, utc_now))
        sender = ApiWriter(Exchanges(access, PATIENT, real_timing()), lock.must_be_held)
        with pytest.raises(LockLost, match="was removed"):
            sender.send("PATCH", "/api/v1/nodes/new-0", {}, {"spec": {"unschedulable": True}}, MERGE_PATCH)
        access.pools.close()
    assert len(signed_in) == 2 and len(handler.requests) == 1 and lock.refused == 1


LEASE = ("kube-system", "eksdoc-drain")


def stolen(api: Api, hands: Hands) -> None:
    """A client takes the lock without checking its holder."""
    change(api, kinds.LEASES, LEASE, ("spec", "holderIdentity"), "eve")


def given_back(api: Api, hands: Hands) -> None:
    """The lock was held and released by another client meanwhile."""
    change(api, kinds.LEASES, LEASE, ("spec", "leaseTransitions"), 5)


def deleted(api: Api, hands: Hands) -> None:
    api.run_locked(lambda plane: plane.registry.delete(plane.registry.get(kinds.LEASES.full_name, LEASE)))


def not_renewed(api: Api, hands: Hands) -> None:
    hands.seconds += 60.0


LOSSES = {
    stolen: "eve holds it",
    given_back: "ann holds it",
    deleted: "was removed",
    not_renewed: "it was not renewed within",
}


@contextlib.contextmanager
def locked(
    server: SimulatedApiServer, folder: Path, hands: Hands, lasts_s: int = 12
) -> Iterator[tuple[LeaseLock, LiveRunBackend]]:
    """A live backend and its lock, which no client holds yet."""
    to = connection(server, folder)
    sender = ApiWriter(Exchanges(open_access(to, process_credential_context()), PATIENT, real_timing()))
    lock = LeaseLock(sender, "kube-system", "ann", hands.clock(), lasts_s)
    field = LiveRunBackend(
        to, RUN, fence=lock.must_be_held, confirm=lock.confirm, retry_policy=PATIENT, watch_times=SHORT
    )
    with contextlib.closing(field):
        yield lock, field


@pytest.mark.parametrize("loss", LOSSES)
def test_after_a_lease_is_lost_no_eviction_is_sent_beyond_those_in_flight(
    api: Api, tmp_path: Path, loss: Callable[[Api, Hands], None]
) -> None:
    """The lock is not renewed meanwhile, so that no renewal reveals the loss."""
    hands = Hands()
    slow = FaultyHandler(api, [Fault(Delayed(0.2), r"/eviction$")], time.sleep)
    handler = Kept(slow, is_eviction, lambda count: count == MAX_WORKERS and loss(api, hands))
    with serving(handler) as server, locked(server, tmp_path, hands) as (lock, field):
        lock.take()
        acts = evictions(field)
        for act in acts:
            field.do(act)
        told = not_sent(field, len(acts), LOSSES[loss])
    assert len(handler.requests) == MAX_WORKERS
    assert len(told) == len(acts) - MAX_WORKERS


def not_sent(field: LiveRunBackend, acts: int, why: str) -> list[RequestAnswered]:
    """The answers of acts that were not sent, once all `acts` were answered."""
    told: list[RequestAnswered] = []

    def all_answered() -> bool:
        with contextlib.suppress(LockLost):
            told.extend(each for each in field.updates(0.02) if isinstance(each, RequestAnswered))
        return len(told) == acts

    wait_until(all_answered)
    return [each for each in told if isinstance(each.response, LostResponse) and why in each.response.message]


def test_what_cannot_be_confirmed_is_not_sent_and_may_be_asked_for_again(api: Api, tmp_path: Path) -> None:
    away = [False]
    failing = Fault(Instead(ApiStatus(503, "ServiceUnavailable", "not now")), r"/leases/", method="GET")
    handler = Kept(Either(api, FaultyHandler(api, [failing], time.sleep), lambda request: away[0]), is_eviction)
    with serving(handler) as server, locked(server, tmp_path, Hands(), 60) as (lock, field):
        lock.take()
        away[0] = True
        act = evictions(field)[0]
        field.do(act)
        (answer,) = not_sent(field, 1, "is still ours cannot be read: the server answered 503")
        assert handler.requests == []
        away[0] = False
        field.do(act)
        (answer,) = answers(field, 1)
    assert isinstance(answer, RequestAnswered)
    assert isinstance(answer.response, ApiStatus) and answer.response.code in (201, 429)


# A restarted live backend: it sends none of its earlier requests, and reports all objects again.


class Still:
    """A live backend where nothing happens by itself."""

    def __init__(self, told: Sequence[RunUpdate] = (), error: Exception | None = None) -> None:
        self.asked: list[ClusterAction] = []
        self.told = list(told)
        self.closed = False
        self._error = error

    def do(self, act: ClusterAction) -> None:
        self.asked.append(act)

    def updates(self, wait_s: float) -> Sequence[RunUpdate]:
        found, self.told = self.told, []
        if not found and self._error is not None:
            raise self._error
        return found

    def close(self) -> None:
        self.closed = True


def test_what_has_no_answer_is_answered_and_what_only_looks_is_done_again() -> None:
    fields = [Still(), Still()]
    field = RestartableBackend(iter(fields).__next__)
    first, second, look, there = Evict(a_pod("a")), Evict(a_pod("b")), ReadPod(a_pod("a")), ListPods("old-0")
    for act in (first, second, look, there):
        field.do(act)
    fields[0].told = [RequestAnswered(first, ApiStatus(201)), PodsFound(there, ())]
    field.restart_watches()
    assert fields[0].closed and fields[1].asked == [look]
    told = field.updates(0)
    assert list(told[:2]) == [RequestAnswered(first, ApiStatus(201)), PodsFound(there, ())]
    (late,) = told[2:]
    assert isinstance(late, RequestAnswered) and late.action is second and isinstance(late.response, LostResponse)
    assert field.updates(0) == []


def test_what_the_one_before_had_listed_does_not_count_as_listed_anew() -> None:
    """The list's age is unknown: it may be from before the lock was in doubt, or from that time."""
    before = [AllPods((), 7), AllNodes(()), AllBudgets((), 7)]
    fields = [Still(before), Still([AllNodes(())])]
    field = RestartableBackend(iter(fields).__next__)
    field.restart_watches()
    told = [news for _ in range(3) for news in field.updates(0)]
    assert told == [AllNodes(())]


def test_two_acts_that_are_alike_are_answered_each() -> None:
    fields = [Still(), Still()]
    field = RestartableBackend(iter(fields).__next__)
    acts = [Evict(a_pod("a")), Evict(a_pod("a"))]
    for act in acts:
        field.do(act)
    fields[0].told = [RequestAnswered(acts[1], ApiStatus(429))]
    assert len(field.updates(0)) == 1
    field.restart_watches()
    (late,) = field.updates(0)
    assert isinstance(late, RequestAnswered) and late.action is acts[0]


@pytest.mark.parametrize("error", [LockLost("it is late"), Unauthorized("who?")])
def test_what_ended_the_one_before_does_not_end_the_next(error: Exception) -> None:
    fields = [Still([WatchInterrupted("no answer")], error), Still()]
    field = RestartableBackend(iter(fields).__next__)
    assert field.updates(0) == [WatchInterrupted("no answer")]
    with pytest.raises(type(error)):
        field.updates(0)
    field.restart_watches()
    assert field.updates(0) == [WatchRestored()], "the next one says itself how it fares"
    field.close()
    assert fields[1].closed


def test_acts_that_wait_are_not_sent_by_the_one_that_was_closed(api: Api, tmp_path: Path) -> None:
    """This holds even if the lock is held all the time, or again."""
    lock, enough = FakeLock(), threading.Event()
    slow = FaultyHandler(api, [Fault(Delayed(0.4), r"/eviction$")], time.sleep)
    handler = arriving(slow, lambda count: count == MAX_WORKERS and enough.set())
    with serving(handler) as server:
        to = connection(server, tmp_path)
        acts = [Evict(pod, None) for pod in read(server, tmp_path).pods[:12]]
        field = RestartableBackend(
            lambda: LiveRunBackend(to, RUN, fence=lock.must_be_held, retry_policy=PATIENT, watch_times=SHORT)
        )
        with contextlib.closing(field):
            for act in acts:
                field.do(act)
            assert enough.wait(10)
            field.restart_watches()
            unseen, answered = {AllPods, AllNodes, AllBudgets}, 0
            ends_s = time.monotonic() + 20
            while unseen or answered < len(acts):
                assert time.monotonic() < ends_s
                for news in field.updates(0.1):
                    unseen.discard(type(news))  # type: ignore[arg-type]
                    answered += isinstance(news, RequestAnswered)
            assert answered == len(acts) and len(handler.requests) <= MAX_WORKERS
