"""Objects of a live cluster that are created: how each answer of a server is understood."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.errors import Unauthorized
from kubectl_eksdoc.kube.sent import JSON, LiveObjectWriter, SentRequest
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus, LostAnswer
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.placing import NotPlaced

JOB = {"kind": "Job", "metadata": {"name": "a", "namespace": "ns"}}
ROLE = {"kind": "ClusterRole", "metadata": {"name": "a"}}


class Server:
    """Answers always the same. `asked`: what it was asked for."""

    def __init__(self, answer: ApiStatus | LostAnswer, doc: dict[str, Any] | None = None) -> None:
        self.sent = SentRequest(answer, doc or {})
        self.asked: list[tuple[str, str, Mapping[str, str]]] = []

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: dict[str, Any] | None, content_type: str = JSON
    ) -> SentRequest:
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


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (ApiStatus(409, "AlreadyExists", "it is"), NotPlaced("the server answered 409: it is", taken=True)),
        (ApiStatus(404, "NotFound", "none"), NotPlaced("the server answered 404: none", lacking=True)),
        (ApiStatus(500, "", "no"), NotPlaced("the server answered 500: no", maybe=True)),
        (LostAnswer("cut"), NotPlaced("the server gave no answer: cut", maybe=True)),
        (ApiStatus(403, "Forbidden", "eve cannot create"), NotPlaced("eve cannot create", "create jobs.batch")),
        (
            ApiStatus(403, "Forbidden", f"{GRANTS}:\n{{odd}}"),
            NotPlaced(f"{GIVES}: {GRANTS}:\n{{odd}}", "escalate jobs.batch"),
        ),
        (ApiStatus(422, "Invalid", "bad"), NotPlaced("the server answered 422: bad")),
    ],
)
def test_answers(answer: ApiStatus | LostAnswer, expected: NotPlaced) -> None:
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
