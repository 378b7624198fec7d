"""A served cluster and a live backend for it: a run's requests, updates and observed state, in a test's own time."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from kubectl_eksdoc.drain.run.pod_evictions import ObservedState
from kubectl_eksdoc.embedded.faults import build_faults, parse_fault
from kubectl_eksdoc.embedded.loading import StoredFacts
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.faults import Fault, FaultyHandler
from kubectl_eksdoc.embedded.serving.handler import ManualTime, SimulatedApiServer, serving
from kubectl_eksdoc.embedded.serving.requests import Reply, RequestHandler, ServedRequest
from kubectl_eksdoc.kube.exchanges import RetryPolicy
from kubectl_eksdoc.kube.live_backend import LiveRunBackend
from kubectl_eksdoc.kube.reader import LiveReader
from kubectl_eksdoc.kube.watches import WatchTimes
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse
from kubectl_eksdoc.kubernetes.updates import AttachedVolumes, PodsFound, RequestAnswered, RunUpdate
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.actions import ClusterAction
from kubectl_eksdoc.model.api_objects import Doc, with_value
from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs

RUN = "run-1"
HASTY = RetryPolicy(
    first_pause=0.01,
    max_pause=0.05,
    max_retry_after=0.02,
    connect_timeout=1.0,
    silence_timeout=0.5,
    refusal_patience=0.0,
)
SHORT = WatchTimes(watch_s=1.0, grace_s=0.3, response_s=0.5, report_after_s=0.6)
WATCHED = (kinds.PODS, kinds.BUDGETS, kinds.NODES)
SOON_S = 10.0
"""What a test waits for comes within this, or never."""


def nodes_alone() -> Api:
    """An API that has only nodes, without controllers."""
    plane = ControlPlane(worlds.START, StoredFacts(), seed=7)
    plane.load(kinds.NODES.full_name, (doc for doc in worlds.documents("small-traps") if doc["kind"] == "Node"))
    return Api(plane, worlds.SETUP, ManualTime())


@contextlib.contextmanager
def among(api: RequestHandler, *faults: str | Fault, seed: int = 1) -> Iterator[SimulatedApiServer]:
    """Serve the API with faults, given by name or as objects."""
    named = build_faults([parse_fault(each) for each in faults if isinstance(each, str)], seed).requests
    others = [each for each in faults if isinstance(each, Fault)]
    with serving(FaultyHandler(api, [*named, *others], lambda seconds: time.sleep(min(seconds, 0.05)), seed)) as server:
        yield server
    assert not server.errors


class _AtOnceAgain(SimulatedApiServer):
    """A server that can reuse an address immediately after it was released."""

    allow_reuse_address = True


@contextlib.contextmanager
def serving_again(api: RequestHandler, port: int) -> Iterator[SimulatedApiServer]:
    """Serve on a port that an earlier, closed server of this function had; 0: on any port."""
    with _AtOnceAgain(api, port) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def connection(
    server: SimulatedApiServer, folder: Path, page_size: int = 20, token: str = worlds.ADMIN_TOKEN
) -> Connection:
    return Connection(kubeconfig=kubeconfigs.one(folder / "config", server.url(token)), page_size=page_size)


@contextlib.contextmanager
def field_on(to: Connection, run: str = RUN, patience: RetryPolicy = HASTY) -> Iterator[LiveRunBackend]:
    with contextlib.closing(LiveRunBackend(to, run, retry_policy=patience, watch_times=SHORT)) as field:
        yield field


@contextlib.contextmanager
def field_among(
    folder: Path, api: RequestHandler, *faults: str | Fault, page_size: int = 20, token: str = worlds.ADMIN_TOKEN
) -> Iterator[LiveRunBackend]:
    with among(api, *faults) as server, field_on(connection(server, folder, page_size, token)) as field:
        yield field


class Kept:
    """Keeps the matching requests, and calls `before` before it passes each of them to `inner`. Mutable."""

    def __init__(
        self,
        inner: RequestHandler,
        fits: Callable[[ServedRequest], bool] = lambda request: True,
        before: Callable[[int], object] = lambda count: None,
    ) -> None:
        self.inner = inner
        self.requests: list[ServedRequest] = []
        self._fits, self._before = fits, before

    def handle(self, request: ServedRequest) -> Reply:
        if self._fits(request):
            self.requests.append(request)
            self._before(len(self.requests))
        return self.inner.handle(request)


class Either:
    """Passes a request to the second handler where `second` is true of it, else to the first."""

    def __init__(self, first: RequestHandler, other: RequestHandler, second: Callable[[ServedRequest], bool]) -> None:
        self._both = first, other
        self._second = second

    def handle(self, request: ServedRequest) -> Reply:
        return self._both[self._second(request)].handle(request)


def is_eviction(request: ServedRequest) -> bool:
    return request.path.endswith("/eviction")


def answer_to(
    field: LiveRunBackend, act: ClusterAction
) -> ApiStatus | LostResponse | tuple[Pod, ...] | AttachedVolumes:
    """Do the act and wait for its one answer."""
    field.do(act)
    (found,) = answers(field, 1)
    assert type(found.action) is type(act) and found.action == act
    if isinstance(found, AttachedVolumes):
        return found
    return found.response if isinstance(found, RequestAnswered) else found.pods


def status_of(field: LiveRunBackend, act: ClusterAction) -> ApiStatus:
    answer = answer_to(field, act)
    assert isinstance(answer, ApiStatus)
    return answer


def answers(field: LiveRunBackend, count: int) -> list[RequestAnswered | PodsFound | AttachedVolumes]:
    found: list[RequestAnswered | PodsFound | AttachedVolumes] = []

    def enough() -> bool:
        found.extend(
            each for each in field.updates(0.05) if isinstance(each, (RequestAnswered, PodsFound, AttachedVolumes))
        )
        return len(found) >= count

    wait_until(enough)
    return found


def heard(field: LiveRunBackend, seen: ObservedState, until: Callable[[], bool]) -> list[RunUpdate]:
    """Apply updates to `seen` until a condition holds."""
    told: list[RunUpdate] = []

    def there() -> bool:
        news = field.updates(0.02)
        told.extend(news)
        for each in news:
            seen.handle(each)
        return until()

    wait_until(there)
    return told


def all_seen(field: LiveRunBackend) -> ObservedState:
    """The observed state, once every kind was listed."""
    seen = nothing_seen()
    heard(field, seen, lambda: bool(seen.nodes and seen.budgets and list(seen.pods())))
    return seen


def wait_until(true: Callable[[], bool]) -> None:
    end_s = time.monotonic() + SOON_S
    while not true():
        assert time.monotonic() < end_s, "it never came"


def nothing_seen() -> ObservedState:
    return ObservedState(Cluster(Identity(), Source.LIVE, worlds.START))


def same(seen: ObservedState, cluster: Cluster) -> bool:
    """Whether the observed state equals the cluster's."""
    return (
        {pod.uid: pod for pod in seen.pods()} == {pod.uid: pod for pod in cluster.pods}
        and seen.budgets == {budget.key: budget for budget in cluster.budgets}
        and seen.nodes == {node.name: node for node in cluster.nodes}
    )


def read(server: SimulatedApiServer, folder: Path, resources: Sequence[Resource] = WATCHED) -> Cluster:
    return LiveReader(connection(server, folder / "reader")).read(resources)


def node_of(api: Api, name: str) -> Doc:
    """The node as it is now."""

    def doc(plane: ControlPlane) -> Doc:
        item = plane.store.get("nodes", ("", name))
        assert item is not None
        return item.doc

    return api.run_locked(doc)


def change(api: Api, resource: Resource, key: tuple[str, str], path: tuple[str, ...], value: object) -> None:
    """Another client changes the object."""

    def write(plane: ControlPlane) -> None:
        item = plane.registry.get(resource.full_name, key)
        plane.registry.update(item, with_value(item.doc, path, value))

    api.run_locked(write)
