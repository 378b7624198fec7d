"""A served API with one namespace, and machines that keep a lock and a journal there, in a test's own time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from kubectl_eksdoc.embedded.faults import build_faults, parse_fault
from kubectl_eksdoc.embedded.loading import StoredFacts
from kubectl_eksdoc.embedded.serving.api import Api, ApiSetup
from kubectl_eksdoc.embedded.serving.faults import Fault, FaultyHandler
from kubectl_eksdoc.embedded.serving.handler import ManualTime, serving
from kubectl_eksdoc.embedded.serving.requests import ADMIN, RbacRule, TokenUsers, restricted
from kubectl_eksdoc.kube.cluster_journal import ClusterJournal
from kubectl_eksdoc.kube.lock import LeaseLock
from kubectl_eksdoc.kube.requests import ApiResponse
from kubectl_eksdoc.kube.runs import ConfigMaps
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from tests.embedded.clients import worlds
from tests.fakes.sender import START, DirectSender, Hands, HttpSender

SPACE = "kube-system"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{SPACE}/leases"
LEASE = f"{LEASES}/eksdoc-drain"


def _rules(leases: str, maps: str) -> tuple[RbacRule, ...]:
    return (
        RbacRule(tuple(leases.split()), ("leases",), ("coordination.k8s.io",)),
        RbacRule(tuple(maps.split()), ("configmaps",), ("",)),
    )


SETUP = ApiSetup(
    TokenUsers(
        {
            "admin": ADMIN,
            "blind": restricted("blind", _rules("create update", "")),
            "reader": restricted("reader", _rules("get", "get list")),
            "creator": restricted("creator", _rules("get create", "get list create")),
        }
    )
)


def an_api() -> Api:
    plane = ControlPlane(START, StoredFacts(), seed=7)
    plane.load("namespaces", [worlds.namespace(SPACE)])
    return Api(plane, SETUP, ManualTime())


def directly(api: Api, dates: Callable[[], datetime | None] = lambda: None) -> DirectSender:
    """A sender to `api` itself, without faults."""
    return DirectSender(api, "admin", dates)


def no_fence() -> None:
    """No local check of the lock: the checks in the cluster must suffice."""


class World:
    """Machines whose wall clocks may differ by years, and one server clock; tests and pauses move the time."""

    def __init__(self, api: Api, url: Callable[[str], str]) -> None:
        self.url = url
        self.hands = Hands()
        self.with_dates = True
        self.timeout_s = 0.5
        self.senders: list[HttpSender] = []
        self.direct = directly(api)
        self.sound = ConfigMaps(self.direct, SPACE, self.hands.clock())

    def server_date(self) -> datetime | None:
        date = START + timedelta(days=1000, seconds=self.hands.seconds)
        return date.replace(microsecond=0) if self.with_dates else None

    def sender(self, token: str = "admin") -> HttpSender:
        self.senders.append(HttpSender(self.url(token), self.server_date, self.timeout_s))
        return self.senders[-1]

    def lock(self, holder: str, token: str = "admin", space: str = SPACE, wall: float = 0.0) -> LeaseLock:
        return LeaseLock(self.sender(token), space, holder, self.hands.clock(wall))

    def lease(self) -> ApiResponse:
        return self.direct.send("GET", LEASE, {}, None)

    def maps(self, token: str = "admin") -> ConfigMaps:
        return ConfigMaps(self.sender(token), SPACE, self.hands.clock())

    def journal(self, writer: str = "aaa", chunk_bytes: int = 256 << 10, token: str = "admin") -> ClusterJournal:
        return ClusterJournal(self.maps(token), writer, no_fence, chunk_bytes)


@contextmanager
def served(*faults: str | Fault, seed: int = 0, api: Api | None = None) -> Iterator[World]:
    """Serve with faults, given by name or as objects; no call sleeps."""
    api = api or an_api()
    named = build_faults([parse_fault(each) for each in faults if isinstance(each, str)], seed).requests
    others = [each for each in faults if isinstance(each, Fault)]
    with serving(FaultyHandler(api, [*named, *others], lambda seconds: None, seed)) as server:
        world = World(api, server.url)
        yield world
        for sender in world.senders:
            sender.close()
    assert not server.errors
