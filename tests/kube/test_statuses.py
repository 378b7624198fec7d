"""What a server, or somebody in between, answered to a write, as a Status; or that nobody knows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubectl_eksdoc.kube.answers import HttpAnswer, status_of
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus, Details, LostAnswer, StatusCause

JSON = {"content-type": "application/json"}


def answered(code: int, document: Any, **headers: str) -> ApiStatus | LostAnswer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status_of(HttpAnswer(code, json.dumps(document).encode(), {**JSON, **named}))


@pytest.mark.parametrize(
    "status",
    [
        ApiStatus(201),
        ApiStatus(
            429,
            "TooManyRequests",
            "Cannot evict pod as it would violate the pod's disruption budget.",
            Details("web-0", "", "pods", "uid", (StatusCause("DisruptionBudget", "needs 2 healthy pods", "x"),), 10),
        ),
        ApiStatus(500, "", "This pod has more than one PodDisruptionBudget"),
    ],
    ids=lambda status: str(status.code),
)
def test_a_status_comes_back_as_it_was_sent(status: ApiStatus) -> None:
    assert answered(status.code, status.doc()) == status


def test_the_header_says_when_where_the_document_does_not() -> None:
    refused = ApiStatus(429, "TooManyRequests", "slow down")
    assert answered(429, refused.doc(), retry_after="3") == ApiStatus(429, *_of(refused), Details(retry_after_s=3))
    own = ApiStatus(429, "TooManyRequests", "slow down", Details(name="x", retry_after_s=10))
    assert answered(429, own.doc(), retry_after="3") == own
    named = ApiStatus(503, "x", "y", Details(name="x"))
    date = {"date": "Fri, 20 Nov 2026 09:30:00 GMT", "retry_after": "Fri, 20 Nov 2026 09:30:04 GMT"}
    assert answered(503, named.doc(), **date) == ApiStatus(503, "x", "y", Details(name="x", retry_after_s=4))


def _of(status: ApiStatus) -> tuple[str, str]:
    return status.reason, status.message


def test_an_object_is_a_success_without_words() -> None:
    assert answered(200, {"kind": "Node", "metadata": {"name": "n"}}) == ApiStatus(200)


@pytest.mark.parametrize("sort", ["text/plain", "application/json"])
@pytest.mark.parametrize(
    ("status", "said"),
    [
        (ApiStatus(503, "ServiceUnavailable", "the server is shutting down"), "the server is shutting down"),
        (ApiStatus(503, "ServiceUnavailable", ""), "ServiceUnavailable"),
    ],
)
def test_a_status_is_its_message_as_whatever_it_comes(sort: str, status: ApiStatus, said: str) -> None:
    assert HttpAnswer(503, json.dumps(status.doc()).encode(), {"content-type": sort}).said == said


def test_a_failure_that_comes_as_a_success_is_a_failure() -> None:
    document = ApiStatus(500, "InternalError", "no").doc()
    assert answered(200, document) == ApiStatus(500, "InternalError", "no")
    assert answered(200, {**document, "code": 0}) == ApiStatus(500, "InternalError", "no")


def test_a_success_that_is_no_json_is_none() -> None:
    lost = status_of(HttpAnswer(201, b"Sign in", {"content-type": "text/html"}))
    assert isinstance(lost, LostAnswer) and "Sign in" in lost.said


def test_a_redirect_is_no_answer() -> None:
    lost = status_of(HttpAnswer(302, b"", {"location": "https://login.example/"}))
    assert isinstance(lost, LostAnswer) and "https://login.example/" in lost.said


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
    assert found.details in (None, Details()) and found.message == found.reason == ""


def test_addresses_in_what_a_server_says_are_printed_as_all_others() -> None:
    """A webhook's, for one: it goes into journals."""
    said = 'failed calling webhook "a": Post "https://admin:hunter2@hook.shop.svc:443/check?timeout=10s&sig=hunter2"'
    causes = [{"reason": "x", "message": said}]
    told = answered(500, {"kind": "Status", "message": "x" * 100_000})
    assert isinstance(told, ApiStatus) and len(told.message) == 4000
    status = answered(500, {"kind": "Status", "message": said, "details": {"causes": causes}})
    assert isinstance(status, ApiStatus) and status.details is not None
    assert status.message == 'failed calling webhook "a": Post "https://hook.shop.svc:443/check"'
    assert status.details.causes[0].message == status.message
