"""Requests that fail below and above HTTP, and their results."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from urllib3 import exceptions

from kubectl_eksdoc import __version__
from kubectl_eksdoc.errors import ClusterError, Forbidden, Unreachable
from kubectl_eksdoc.kube.config import open_access
from kubectl_eksdoc.kube.exchanges import RetryPolicy, Timing
from kubectl_eksdoc.kube.responses import Incomplete, RequestRefused, connection_error
from kubectl_eksdoc.kube.target import CredentialContext
from kubectl_eksdoc.kube.transport import Transport
from kubectl_eksdoc.model.connection import Connection, OutageLimits
from tests.fakes import kubeconfigs, recordings
from tests.fakes.apiserver import DATE, ApiServer, Reply, json_reply, recorded, refused
from tests.fakes.sender import Hands

MakeTransport = Callable[..., Transport]
PODS = "/api/v1/pods"


@pytest.fixture
def get(transport: MakeTransport, config: str) -> Callable[..., Any]:
    return transport(Connection(kubeconfig=config)).get


def test_one_answer(server: ApiServer, get: Any, slept: Any) -> None:
    answer = get("/version", {"a": "b c"})
    assert answer.body == recordings.response("version")[2]
    request = server.requests[0]
    assert request.query == {"a": "b c"}
    assert request.header("Authorization") == "Bearer good"
    assert request.header("User-Agent") == f"kubectl-eksdoc/{__version__}"
    assert request.header("Accept") == "application/json"
    assert request.header("Accept-Encoding") == "gzip"
    assert slept.pauses == []


def test_big_answers_come_compressed_unless_told_otherwise(
    server: ApiServer, transport: MakeTransport, config: str
) -> None:
    big = json_reply({"x": "y" * 300_000})
    server.script("/version", big, big)
    assert transport(Connection(kubeconfig=config)).get("/version").body == big.body
    assert transport(Connection(kubeconfig=config, disable_compression=True)).get("/version").body == big.body
    assert [r.header("Accept-Encoding") for r in server.requests] == ["gzip", "identity"]


@pytest.mark.parametrize(
    ("header", "pause"),
    [
        ({"Retry-After": "3"}, 3.0),
        ({"Retry-After": "3600"}, 30.0),
        ({"Retry-After": "Fri, 20 Nov 2026 09:30:07 GMT", "Date": DATE}, 7.0),
        ({"Retry-After": "soon"}, 0.5),
        ({"Retry-After": "-1"}, 0.5),
    ],
)
def test_retry_after(server: ApiServer, get: Any, slept: Any, header: dict[str, str], pause: float) -> None:
    server.script("/version", refused("slow down", "TooManyRequests", 429, **header))
    assert get("/version").status == 200
    assert slept.pauses == [pause]


def test_pauses_grow_and_end(server: ApiServer, get: Any, slept: Any) -> None:
    server.script("/version", *[refused("overloaded", "", 503)] * 9)
    with pytest.raises(RequestRefused, match=r"/version answered 503 \(5 tries\): overloaded"):
        get("/version")
    assert slept.pauses == [0.5, 1.0, 2.0, 4.0]


ANONYMOUS = refused('pods is forbidden: User "system:anonymous" cannot list', "Forbidden", 403)


@pytest.mark.parametrize(
    ("reply", "missing", "said", "hint"),
    [
        (recorded("bad label selector"), None, recordings.document("bad label selector")["message"], ""),
        (Reply(302, {"Location": "https://login.example/"}), None, "a redirect to https://login.example/", ""),
        (recorded("forbidden list"), "list nodes", 'User "viewer" cannot list resource "nodes"', "can-i list nodes -A"),
        (ANONYMOUS, "", "", "No credentials were sent"),
    ],
)
def test_refusals_are_not_repeated(
    server: ApiServer, get: Any, reply: Reply, missing: str | None, said: str, hint: str
) -> None:
    server.script("/api/v1/nodes", reply)
    with pytest.raises(RequestRefused if missing is None else Forbidden) as caught:
        get("/api/v1/nodes", right="list nodes")
    assert said in caught.value.message and hint in caught.value.hint
    assert getattr(caught.value, "missing", None) == missing and len(server.requests) == 1


def test_a_reset_in_the_body_is_tried_again(server: ApiServer, get: Any, slept: Any) -> None:
    server.script(PODS, recorded("pods on node", sent=10_000), recorded("pods on node", sent=0))
    assert get(PODS).status == 200
    assert slept.pauses == [0.5, 1.0]


@pytest.fixture
def patient(config: str, around: CredentialContext) -> Callable[..., tuple[Transport, Hands, list[str]]]:
    """A transport whose pauses pass at once and are all counted."""

    def made(answered: bool) -> tuple[Transport, Hands, list[str]]:
        told: list[str] = []
        hands = Hands(0.0)
        timing = Timing(hands.sleep, lambda: hands.seconds, lambda: 1.0)
        waiting = OutageLimits(600.0, told.append, answered)
        access = open_access(Connection(kubeconfig=config), around)
        return Transport(access, timing=timing, outage_limits=waiting), hands, told

    return made


def test_a_run_reads_again_until_the_server_is_back(server: ApiServer, patient: Any) -> None:
    get, passing, told = patient(True)
    server.script(
        PODS,
        *[recorded("pods on node", sent=0)] * 20,
        *[refused("etcd", "ServiceUnavailable", 503)] * 20,
        recorded("pods on node"),
    )
    assert get.get(PODS).status == 200
    assert len(server.requests) == 41 and 250 < passing.seconds < 340
    assert 4 <= len(told) <= 6 and told[0].endswith("; for up to 10m00s (--max-api-outage)"), told
    assert "broke off its answer" in told[0] and "the server answered 503" in told[-1]


def test_a_run_does_not_read_for_ever(server: ApiServer, patient: Any) -> None:
    get, passing, told = patient(True)
    server.script(PODS, *[recorded("pods on node", sent=0)] * 200)
    with pytest.raises(Incomplete, match="broke off its answer"):
        get.get(PODS)
    assert 590 < passing.seconds < 620 and len(told) == 10


def test_a_server_that_never_answered_is_not_waited_for(server: ApiServer, patient: Any) -> None:
    get, _, told = patient(False)
    server.script(PODS, *[recorded("pods on node", sent=0)] * 3)
    with pytest.raises(Incomplete):
        get.get(PODS)
    assert len(server.requests) == 3 and told == []
    get.get("/version")
    server.script(PODS, *[recorded("pods on node", sent=0)] * 4, recorded("pods on node"))
    assert get.get(PODS).status == 200 and len(told) == 1, "now it has"


def test_no_connection_within_the_limit(transport: MakeTransport, tmp_path: Path) -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        others = [socket.socket() for _ in range(4)]  # fill the queue, so that the next one is not answered
        for other in others:
            other.setblocking(False)
            other.connect_ex(("127.0.0.1", port))
        config = kubeconfigs.one(tmp_path / "c", f"https://127.0.0.1:{port}")
        with pytest.raises(Unreachable) as caught:
            transport(Connection(kubeconfig=config), RetryPolicy(connect_timeout=0.05, silence_timeout=0.05)).get(
                "/version"
            )
        assert "0.05 s" in caught.value.message
        for other in others:
            other.close()


@pytest.mark.parametrize("proxy", ["", "http://proxy.corp:3128"])
def test_an_unknown_name(proxy: str) -> None:
    failure = exceptions.NameResolutionError("x", object(), socket.gaierror(-2, "Name or service not known"))  # type: ignore[arg-type]
    error, again = connection_error(failure, "https://x.eks.amazonaws.com", proxy, 10.0)
    name = "proxy.corp" if proxy else "x.eks.amazonaws.com"
    assert f"the name {name} cannot be resolved" in error.message
    assert again


def test_no_secret_shows(transport: MakeTransport, config: str) -> None:
    api = transport(Connection(kubeconfig=config))
    api.access.credentials.current()
    for shown in (repr(api.access), repr(api.access.credentials.current()), repr(api.access.target)):
        assert "good" not in shown


def test_nothing_of_the_library_is_shown(server: ApiServer, get: Any) -> None:
    server.script("/version", *[Reply(500, {"Content-Type": "text/plain"}, b"\xff\x00oops")] * 5)
    with pytest.raises(ClusterError) as caught:
        get("/version")
    assert "urllib3" not in str(caught.value) and "oops" in str(caught.value)
