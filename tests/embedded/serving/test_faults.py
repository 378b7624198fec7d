"""Requested faults: the client's view, and the state of the cluster meanwhile."""

from __future__ import annotations

import http.client
import json
from contextlib import closing

import pytest

from kubectl_eksdoc.embedded.serving import faults
from kubectl_eksdoc.embedded.serving.api import Api, ApiSetup
from kubectl_eksdoc.embedded.serving.faults import (
    EVICTIONS,
    BrokenConnection,
    Delayed,
    DuplicatedRequest,
    Effect,
    Fault,
    FaultMoment,
    FaultyAnswer,
    FaultyHandler,
    SwallowedEviction,
    WatchExpired,
)
from kubectl_eksdoc.embedded.serving.handler import serving
from kubectl_eksdoc.embedded.serving.requests import ADMIN, ConnectionLost, Reply, ServedRequest, TokenUsers
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from tests.simulator.control_planes import PODS, a_budget_doc, a_node_doc, a_plane, a_pod_doc, doc_of

EVICT = "/api/v1/namespaces/default/pods/web-0/eviction"
EVICTION = json.dumps({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web-0"}}).encode()
HEADERS = {"authorization": "Bearer t", "content-type": "application/json"}


def a_cluster() -> ControlPlane:
    return a_plane([a_node_doc("a"), a_pod_doc("web-0", "a"), a_pod_doc("web-1", "a"), a_budget_doc()])


def api_of(plane: ControlPlane) -> Api:
    return Api(plane, ApiSetup(TokenUsers({"t": ADMIN})))


def faulty(plane: ControlPlane, *rules: Fault, slept: list[float] | None = None, seed: int = 0) -> FaultyHandler:
    return FaultyHandler(api_of(plane), rules, (slept if slept is not None else []).append, seed)


def evict(handler: FaultyHandler) -> Reply:
    return handler.handle(ServedRequest("POST", EVICT, {}, HEADERS, EVICTION))


def body(reply: Reply) -> Doc:
    found: Doc = json.loads(reply.body)
    return found


def leaves(plane: ControlPlane) -> bool:
    return nested_field(doc_of(plane, PODS, "web-0"), "metadata", "deletionTimestamp") is not None


PROCESSED = {
    "reason": "DisruptionBudget",
    "message": "The disruption budget web is still being processed by the server.",
}


def units(plane: ControlPlane) -> int:
    return int(doc_of(plane, "poddisruptionbudgets.policy", "web")["status"]["disruptionsAllowed"])


UID = faults.FLOW_SCHEMA[0]
TEXT = "text/plain; charset=utf-8"
MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
WOULD = "Cannot evict pod as it would violate the pod's disruption budget."


@pytest.mark.parametrize(
    ("effect", "retry_after", "said"),
    [
        (
            faults.conflict("web-0"),
            None,
            {
                "code": 409,
                "message": f'Operation cannot be fulfilled on pods "web-0": {MODIFIED}',
                "reason": "Conflict",
                "details": {"name": "web-0", "kind": "pods"},
            },
        ),
        (
            faults.budget_processing("web"),
            "10",
            {
                "code": 429,
                "message": WOULD,
                "reason": "TooManyRequests",
                "details": {"causes": [PROCESSED], "retryAfterSeconds": 10},
            },
        ),
        (
            faults.server_error(503),
            "1",
            {"code": 503, "message": "apiserver is shutting down", "reason": "ServiceUnavailable"},
        ),
        (
            faults.webhook_denial("guard.example.io", "not today"),
            None,
            {
                "code": 403,
                "message": 'admission webhook "guard.example.io" denied the request: not today',
                "reason": "Forbidden",
            },
        ),
    ],
)
def test_an_answer_in_the_place_of_the_servers(effect: FaultyAnswer, retry_after: str | None, said: Doc) -> None:
    plane = a_cluster()
    reply = evict(faulty(plane, Fault(effect, EVICTIONS)))
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", **said}
    assert (reply.status, body(reply), reply.headers.get("Retry-After")) == (said["code"], status, retry_after)
    assert not leaves(plane), "the server never heard of it"


def test_priority_and_fairness_answers_in_text_and_with_its_header() -> None:
    """As in kube-apiserver, whose filters come before any code that knows a Status."""
    reply = evict(faulty(a_cluster(), Fault(faults.throttled_response(3))))
    assert (reply.status, reply.content_type) == (429, TEXT)
    assert reply.body == b"Too many requests, please try again later.\n"
    assert reply.headers["Retry-After"] == "3" and reply.headers[UID]


@pytest.mark.parametrize(
    ("effect", "done"),
    [
        (BrokenConnection(FaultMoment.BEFORE), False),
        (BrokenConnection(FaultMoment.AFTER), True),
        (SwallowedEviction(), False),
        (DuplicatedRequest(), True),  # answered as the second: the budget is not asked again for a pod that leaves
        (Delayed(2.5), True),
    ],
)
def test_an_answer_tells_nothing_of_what_was_done(effect: Effect, done: bool) -> None:
    plane, slept = a_cluster(), list[float]()
    handler = faulty(plane, Fault(effect, EVICTIONS), slept=slept)
    if isinstance(effect, BrokenConnection):
        with pytest.raises(ConnectionLost):
            evict(handler)
    else:
        assert evict(handler).status == 201
    assert leaves(plane) is done and units(plane) == (0 if done else 1)
    assert slept == ([2.5] if isinstance(effect, Delayed) else [])


def test_an_expired_watch_says_so_and_ends() -> None:
    plane = a_cluster()
    handler = faulty(plane, Fault(WatchExpired(), watches=True))
    reply = handler.handle(ServedRequest("GET", "/api/v1/pods", {"watch": ("1",)}, HEADERS))
    assert reply.stream is not None
    (line,) = reply.stream
    assert (json.loads(line)["type"], json.loads(line)["object"]["code"]) == ("ERROR", 410)
    assert handler.handle(ServedRequest("GET", "/api/v1/pods", {}, HEADERS)).status == 200, "lists are not met"


def test_of_the_requests_that_fit_some_pass_and_some_are_met() -> None:
    handler = faulty(a_cluster(), Fault(faults.server_error(), r"/pods/", "GET", skip=1, times=2))
    asked = ServedRequest("GET", "/api/v1/namespaces/default/pods/web-0", {}, HEADERS)
    assert [handler.handle(asked).status for _ in range(5)] == [200, 500, 500, 200, 200]


@pytest.mark.parametrize("moment", list(FaultMoment))
def test_over_http_the_connection_is_reset(moment: FaultMoment) -> None:
    plane = a_cluster()
    with serving(faulty(plane, Fault(BrokenConnection(moment), EVICTIONS, times=1))) as server:
        with pytest.raises((ConnectionResetError, http.client.RemoteDisconnected)):
            status(server.port)
        assert leaves(plane) is (moment is FaultMoment.AFTER)
        assert status(server.port) == 201, "the server goes on"


def status(port: int) -> int:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request("POST", EVICT, EVICTION, HEADERS)
        return connection.getresponse().status
