"""A probe of a cluster whose answers get lost: what was made is heard of and removed all the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kubectl_eksdoc.amazon.metadata_service import Reach
from kubectl_eksdoc.embedded.probed import MetadataServices
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import SimulatedApiServer, serving
from kubectl_eksdoc.embedded.serving.targets import ConnectionLost, Reply, ServedRequest
from kubectl_eksdoc.errors import ClusterError
from kubectl_eksdoc.flows.metadata_probe import prepared, probed
from kubectl_eksdoc.imds_probe.probing.result import Probed, ProbeSettings
from kubectl_eksdoc.kube.config import connect
from kubectl_eksdoc.kube.exchanges import RetryPolicy
from kubectl_eksdoc.kube.inside_pods import LiveProbeNamespace
from kubectl_eksdoc.kube.sent import RetryLimits, real_clock
from kubectl_eksdoc.kube.target import of_this_process
from kubectl_eksdoc.model.machines import MetadataOptions
from kubectl_eksdoc.model.metadata import MARKS
from tests.examples import one_in
from tests.flows import probes
from tests.flows.probes import Lab, Quick, connection, nodes_of, there

TWO = MetadataOptions("required", 2)
SERVICES = MetadataServices({"n0": TWO, "n1": TWO})

Fault = Callable[[ServedRequest], bool]
QUICK = RetryLimits(patience_s=10.0, first_pause_s=0.01, longest_pause_s=0.02)


class Unlucky:
    """Mutable. In front of the API: of the requests that `fault` is about so many go wrong: `done` but not answered, or
    with `code` and not done."""

    def __init__(self, api: Api, fault: Fault, times: int, done: bool = False, code: int = 0) -> None:
        self._api = api
        self._fault, self._times, self._done, self._code = fault, times, done, code

    def handle(self, request: ServedRequest) -> Reply:
        if not self._times or not self._fault(request):
            return self._api.handle(request)
        self._times -= 1
        if self._done:
            self._api.handle(request)
        if self._code:
            return Reply(self._code, b"not now", "text/plain")
        raise ConnectionLost


def of(method: str, part: str) -> Fault:
    return lambda request: request.method == method and part in request.path


def run(server: SimulatedApiServer, api: Api, folder: Path) -> Probed:
    access = connect(connection(server, folder), of_this_process())
    patience = RetryPolicy(first_pause=0.01, longest_pause=0.02)
    ground = LiveProbeNamespace(access, patience, "default", real_clock(), MARKS, QUICK)
    what = prepared(nodes_of(api), ground, "cafe", ProbeSettings(), every=True)
    return probed(what, ground, Quick(), probes.never_told, str)


def nothing_left(api: Api) -> bool:
    return not there(api, "pods") and not there(api, "configmaps")


@pytest.mark.parametrize(
    ("fault", "times", "done", "code"),
    one_in(
        3,
        [
            (of("DELETE", "/configmaps/"), 2, False, 0),
            (of("DELETE", "/configmaps/"), 1, True, 0),
            (of("DELETE", "/configmaps/"), 2, False, 503),
            (of("POST", "/pods"), 1, True, 0),
            (of("GET", "/namespaces/default/pods"), 3, False, 503),
            (of("GET", "/namespaces/default/pods"), 3, False, 0),
            (of("GET", "/log"), 2, False, 500),
            (of("GET", "/api/v1/namespaces/default"), 2, False, 503),
        ],
    ),
)
def test_it_is_measured_all_the_same(tmp_path: Path, fault: Fault, times: int, done: bool, code: int) -> None:
    with Lab(services=SERVICES).served() as (_, api), serving(Unlucky(api, fault, times, done, code)) as server:
        found = run(server, api, tmp_path)
        assert [each.v4.reach for each in found.nodes] == [Reach.REACHABLE] * 2
        assert (found.left, found.not_removed) == ((), "") and nothing_left(api)


def test_an_owner_whose_answer_was_lost_is_removed(tmp_path: Path) -> None:
    fault = of("POST", "/configmaps")
    with Lab(services=SERVICES).served() as (_, api), serving(Unlucky(api, fault, 1, done=True)) as server:
        with pytest.raises(ClusterError):
            run(server, api, tmp_path)
        assert nothing_left(api)


def test_an_owner_that_cannot_be_removed_is_named(tmp_path: Path) -> None:
    fault = of("DELETE", "/configmaps/")
    tries = 10**6
    with Lab(services=SERVICES).served() as (_, api), serving(Unlucky(api, fault, tries, code=503)) as server:
        access = connect(connection(server, tmp_path), of_this_process())
        ground = LiveProbeNamespace(access, RetryPolicy(), "default", real_clock(), MARKS, RetryLimits(0.1, 0.01, 0.02))
        what = prepared(nodes_of(api), ground, "cafe", ProbeSettings(), every=True)
        found = probed(what, ground, Quick(), probes.never_told, str)
        assert found.nodes[0].v4.reach is Reach.REACHABLE
        assert "answered 503" in found.not_removed and there(api, "configmaps") == [found.owner]
