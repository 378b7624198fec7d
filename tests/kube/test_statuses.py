"""The answer of a server or a proxy to a write, as a Status; or that the answer is unknown."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.errors import Forbidden, Unauthorized
from kubectl_eksdoc.kube.requests import (
    ApiResponse,
    LiveObjectWriter,
    boot_time_s,
    real_clock,
    refusal_error,
)
from kubectl_eksdoc.kube.responses import HttpResponse, status_of
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse, StatusCause, StatusDetails
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.placement import ObjectNotCreated

JSON = {"content-type": "application/json"}


def answered(code: int, document: Any, **headers: str) -> ApiStatus | LostResponse:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status_of(HttpResponse(code, json.dumps(document).encode(), {**JSON, **named}))


@pytest.mark.parametrize(
    "status",
    [
        ApiStatus(201),
        ApiStatus(
            429,
            "TooManyRequests",
            "Cannot evict pod as it would violate the pod's disruption budget.",
            StatusDetails(
                "web-0", "", "pods", "uid", (StatusCause("DisruptionBudget", "needs 2 healthy pods", "x"),), 10
            ),
        ),
        ApiStatus(500, "", "This pod has more than one PodDisruptionBudget"),
    ],
    ids=lambda status: str(status.code),
)
def test_a_status_comes_back_as_it_was_sent(status: ApiStatus) -> None:
    assert answered(status.code, status.to_document()) == status


def test_the_header_says_when_where_the_document_does_not() -> None:
    refused = ApiStatus(429, "TooManyRequests", "slow down")
    assert answered(429, refused.to_document(), retry_after="3") == ApiStatus(
        429, *_of(refused), StatusDetails(retry_after_s=3)
    )
    own = ApiStatus(429, "TooManyRequests", "slow down", StatusDetails(name="x", retry_after_s=10))
    assert answered(429, own.to_document(), retry_after="3") == own
    named = ApiStatus(503, "x", "y", StatusDetails(name="x"))
    date = {"date": "Fri, 20 Nov 2026 09:30:00 GMT", "retry_after": "Fri, 20 Nov 2026 09:30:04 GMT"}
    assert answered(503, named.to_document(), **date) == ApiStatus(
        503, "x", "y", StatusDetails(name="x", retry_after_s=4)
    )


def _of(status: ApiStatus) -> tuple[str, str]:
    return status.reason, status.message


def test_an_object_is_a_success_without_words() -> None:
    assert answered(200, {"kind": "Node", "metadata": {"name": "n"}}) == ApiStatus(200)


@pytest.mark.parametrize(("sort", "message"), [("text/plain", "the server is shutting down"), ("application/json", "")])
def test_a_status_is_its_message_as_whatever_it_comes(sort: str, message: str) -> None:
    body = json.dumps(ApiStatus(503, "ServiceUnavailable", message).to_document()).encode()
    assert HttpResponse(503, body, {"content-type": sort}).message == (message or "ServiceUnavailable")


def test_a_failure_that_comes_as_a_success_is_a_failure() -> None:
    document = ApiStatus(500, "InternalError", "no").to_document()
    assert answered(200, document) == ApiStatus(500, "InternalError", "no")
    assert answered(200, {**document, "code": 0}) == ApiStatus(500, "InternalError", "no")


def test_a_success_that_is_no_json_is_none() -> None:
    lost = status_of(HttpResponse(201, b"Sign in", {"content-type": "text/html"}))
    assert isinstance(lost, LostResponse) and "Sign in" in lost.message


def test_a_redirect_is_no_answer() -> None:
    lost = status_of(HttpResponse(302, b"", {"location": "https://login.example/"}))
    assert isinstance(lost, LostResponse) and "https://login.example/" in lost.message


@pytest.mark.parametrize(
    "document",
    [
        {"kind": "Status", "code": "429", "message": 3, "reason": None, "details": "x"},
        {"kind": "Status", "details": {"causes": {"reason": "x"}, "retryAfterSeconds": "10"}},
        {"kind": "Status", "details": {"causes": [1, None], "retryAfterSeconds": -1}},
    ],
)
def test_nonsense_in_a_status_is_left_out(document: Any) -> None:
    found = answered(429, document)
    assert isinstance(found, ApiStatus) and found.code == 429
    assert found.details in (None, StatusDetails()) and found.message == found.reason == ""


def test_addresses_in_what_a_server_says_are_printed_as_all_others() -> None:
    """Example: a webhook's address, which is written to journals."""
    said = 'failed calling webhook "a": Post "https://admin:hunter2@hook.shop.svc:443/check?timeout=10s&sig=hunter2"'
    causes = [{"reason": "x", "message": said}]
    told = answered(500, {"kind": "Status", "message": "x" * 100_000})
    assert isinstance(told, ApiStatus) and len(told.message) == 4000
    status = answered(500, {"kind": "Status", "message": said, "details": {"causes": causes}})
    assert isinstance(status, ApiStatus) and status.details is not None
    assert status.message == 'failed calling webhook "a": Post "https://hook.shop.svc:443/check"'
    assert status.details.causes[0].message == status.message


# Identity and permissions in an answer, and the clock by which a lock is measured.

RBAC = 'configmaps is forbidden: User "eve" cannot create resource "configmaps" in API group "" in the namespace "x"'


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (ApiStatus(403, "Forbidden", RBAC), Forbidden),
        (ApiStatus(401, "Unauthorized", "Unauthorized"), Unauthorized),
        (ApiStatus(403, "Forbidden", 'admission webhook "guard" denied the request: not today'), None),
        (
            ApiStatus(403, "Forbidden", "unable to create new content in namespace x because it is being terminated"),
            None,
        ),
        (ApiStatus(201), None),
        (LostResponse("reset"), None),
    ],
    ids=str,
)
def test_only_a_missing_right_is_one(answer: ApiStatus | LostResponse, error: type[Exception] | None) -> None:
    found = refusal_error(ApiResponse(answer, {}), "create configmaps", "x")
    assert (None if found is None else type(found)) is error
    if isinstance(found, Forbidden):
        assert found.missing == "create configmaps" and "-n x" in found.hint


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="only Linux has one that stands still in suspend")
def test_the_clock_goes_on_while_the_machine_sleeps() -> None:
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    now = boot_time_s()
    assert before <= now <= time.clock_gettime(time.CLOCK_BOOTTIME)
    assert real_clock().monotonic() >= now


# Creation of objects in a live cluster: the interpretation of each answer of a server.

JOB = {"kind": "Job", "metadata": {"name": "a", "namespace": "ns"}}
ROLE = {"kind": "ClusterRole", "metadata": {"name": "a"}}


class Server:
    """Always gives the same answer. `asked`: the received requests."""

    def __init__(self, answer: ApiStatus | LostResponse, doc: dict[str, Any] | None = None) -> None:
        self.sent = ApiResponse(answer, doc or {})
        self.asked: list[tuple[str, str, Mapping[str, str]]] = []

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: dict[str, Any] | None, content_type: str = ""
    ) -> ApiResponse:
        self.asked.append((method, path, query))
        return self.sent


def test_each_kind_has_its_place() -> None:
    server = Server(ApiStatus(201))
    ground = LiveObjectWriter(server)  # type: ignore[arg-type]
    assert ground.create(JOB) is None and ground.create(ROLE, dry=True) is None
    assert server.asked == [
        ("POST", "/apis/batch/v1/namespaces/ns/jobs", {"fieldManager": "eksdoc"}),
        ("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", {"fieldManager": "eksdoc", "dryRun": "All"}),
    ]


GIVES = "you cannot give it rights that you have not yourself"
GRANTS = "eve is attempting to grant RBAC permissions not currently held"
LACKING = (
    '{APIGroups:["apps"], Resources:["deployments"], Verbs:["get" "list"]}\n'
    '{APIGroups:[""], Resources:["pods/eviction"], Verbs:["create"]}\n'
    '{NonResourceURLs:["/metrics"], Verbs:["get"]}'
)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            ApiStatus(409, "AlreadyExists", "it is"),
            ObjectNotCreated("the server answered 409: it is", already_exists=True),
        ),
        (ApiStatus(404, "NotFound", "none"), ObjectNotCreated("the server answered 404: none", lacks_dependency=True)),
        (ApiStatus(500, "", "no"), ObjectNotCreated("the server answered 500: no", is_uncertain=True)),
        (LostResponse("cut"), ObjectNotCreated("the server gave no answer: cut", is_uncertain=True)),
        (ApiStatus(403, "Forbidden", "eve cannot create"), ObjectNotCreated("eve cannot create", "create jobs.batch")),
        (
            ApiStatus(403, "Forbidden", f"{GRANTS}:\n{{odd}}"),
            ObjectNotCreated(f"{GIVES}: {GRANTS}:\n{{odd}}", "escalate jobs.batch"),
        ),
        (
            ApiStatus(403, "Forbidden", f"{GRANTS}:\n{LACKING}"),
            ObjectNotCreated(
                f"{GIVES}: get deployments.apps; list deployments.apps; create pods/eviction; get /metrics",
                "escalate jobs.batch",
            ),
        ),
        (ApiStatus(422, "Invalid", "bad"), ObjectNotCreated("the server answered 422: bad")),
    ],
)
def test_answers(answer: ApiStatus | LostResponse, expected: ObjectNotCreated) -> None:
    assert LiveObjectWriter(Server(answer)).create(JOB) == expected  # type: ignore[arg-type]


def test_credentials_that_are_not_accepted_end_it() -> None:
    with pytest.raises(Unauthorized):
        LiveObjectWriter(Server(ApiStatus(401, "Unauthorized", "no"))).create(JOB)  # type: ignore[arg-type]


def test_what_is_there_is_read_by_its_name() -> None:
    server = Server(ApiStatus(200), {"kind": "Job"})
    assert LiveObjectWriter(server).there(JOB) == {"kind": "Job"}  # type: ignore[arg-type]
    assert server.asked == [("GET", "/apis/batch/v1/namespaces/ns/jobs/a", {})]
    assert isinstance(LiveObjectWriter(Server(ApiStatus(404))).there(JOB), Absent)  # type: ignore[arg-type]
    for code in (403, 500):
        found = LiveObjectWriter(Server(ApiStatus(code, "", "no"))).there(JOB)  # type: ignore[arg-type]
        assert isinstance(found, Unknown) and "no" in found.why and found.missing == "get jobs.batch"


@given(st.integers(100, 599), st.text(max_size=40), st.text(max_size=80))
def test_any_answer_is_understood(code: int, reason: str, message: str) -> None:
    try:
        found = LiveObjectWriter(Server(ApiStatus(code, reason, message))).create(JOB)  # type: ignore[arg-type]
    except Unauthorized:
        assert code == 401
    else:
        assert (found is None) == (200 <= code < 300)
