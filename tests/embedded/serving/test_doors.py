"""Who is let in, with requests of a sensible size, and what users with few rights may."""

from __future__ import annotations

import http.client
import json
import socket
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest

from kubectl_eksdoc.embedded.serving.access import Action, RbacRule, restricted
from kubectl_eksdoc.embedded.serving.handler import ManualTime, SimulatedApiServer
from tests.embedded.clients import worlds

ADMIN = {"Authorization": f"Bearer {worlds.ADMIN_TOKEN}"}
NODES = "/api/v1/nodes"


@pytest.fixture(scope="module")
def server() -> Iterator[SimulatedApiServer]:
    with worlds.served("small-traps", ManualTime()) as (server, _):
        yield server


def ask(
    server: SimulatedApiServer, path: str, headers: dict[str, str], method: str = "GET", body: bytes = b""
) -> tuple[int, Any]:
    """Code and body of one answer; `headers` may name another Host."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.putrequest(method, path, skip_host="Host" in headers)
    if body:
        connection.putheader("Content-Length", str(len(body)))
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders(body or None)
    answer = connection.getresponse()
    said = json.loads(answer.read())
    connection.close()
    assert (said["kind"] == "Status") == (answer.status >= 400)
    return answer.status, said


@pytest.mark.parametrize(
    "path",
    [
        NODES,
        "/metrics",
        "/as/wrong" + NODES,
    ],
)
@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic YTpi"}, {"Authorization": "Bearer "}]
)
def test_nobody_without_a_token(server: SimulatedApiServer, path: str, headers: dict[str, str]) -> None:
    assert ask(server, path, headers) == (
        401,
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": "Unauthorized",
            "reason": "Unauthorized",
            "code": 401,
        },
    )


def test_a_token_in_the_path_or_in_a_header(server: SimulatedApiServer) -> None:
    assert ask(server, NODES, ADMIN)[0] == 200
    assert ask(server, f"/as/{worlds.ADMIN_TOKEN}{NODES}", {})[0] == 200
    assert ask(server, f"/as/{worlds.VIEWER_TOKEN}{NODES}/old-0", ADMIN, "DELETE")[0] == 403  # the path's counts


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1",
        "[::1]:{port}",
        "",
    ],
)
def test_only_under_its_own_name(server: SimulatedApiServer, host: str) -> None:
    """A name of somebody else's that resolves to this machine (DNS rebinding) is not let in, token or not."""
    assert ask(server, NODES, {**ADMIN, "Host": host.format(port=server.port)})[0] == 403


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_its_own_names(server: SimulatedApiServer, host: str) -> None:
    assert ask(server, NODES, {**ADMIN, "Host": f"{host}:{server.port}"})[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", ""])
def test_no_web_page(server: SimulatedApiServer, origin: str) -> None:
    assert ask(server, NODES, {**ADMIN, "Origin": origin.format(port=server.port)})[0] == 403
    assert ask(server, f"/as/{worlds.ADMIN_TOKEN}{NODES}", {"Origin": origin.format(port=server.port)})[0] == 403


def test_only_loopback_is_bound(server: SimulatedApiServer) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"
    assert server.socket.family == socket.AF_INET


def test_a_body_that_is_too_large(server: SimulatedApiServer) -> None:
    code, said = ask(server, NODES, {**ADMIN, "Content-Length": str(3 * 1024 * 1024 + 1)}, "POST")
    assert code == 413 and said["reason"] == "RequestEntityTooLarge"
    assert ask(server, NODES, {**ADMIN, "Content-Length": "9" * 5000}, "POST")[0] == 413


@pytest.mark.parametrize(
    "length",
    [
        "-1",
        "1e3",
        "²",
    ],
)
def test_a_length_that_is_none(server: SimulatedApiServer, length: str) -> None:
    assert ask(server, NODES, {**ADMIN, "Content-Length": length}, "POST")[0] == 400


def test_bodies_in_chunks_are_not_taken(server: SimulatedApiServer) -> None:
    """Else their pieces would be read as the next requests."""
    assert ask(server, NODES, {**ADMIN, "Transfer-Encoding": "chunked"}, "POST")[0] == 411


@pytest.mark.parametrize("method", ["OPTIONS", "NONSENSE"])
def test_other_methods(server: SimulatedApiServer, method: str) -> None:
    assert ask(server, NODES, ADMIN, method)[0] == 405


def test_impersonation_needs_a_right(server: SimulatedApiServer) -> None:
    as_viewer = {**ADMIN, "Impersonate-User": "viewer"}
    assert ask(server, f"{NODES}/old-0", as_viewer)[0] == 200
    code, said = ask(server, f"{NODES}/old-0", as_viewer, "DELETE")
    assert code == 403 and 'User "viewer" cannot delete resource "nodes"' in said["message"]
    assert ask(server, NODES, {**ADMIN, "Impersonate-User": "somebody"})[0] == 403
    code, said = ask(server, NODES, {"Authorization": f"Bearer {worlds.VIEWER_TOKEN}", "Impersonate-User": "admin"})
    assert code == 403 and 'User "viewer" cannot impersonate resource "users"' in said["message"]


@pytest.mark.parametrize(
    ("path", "code"), [(NODES, 200), ("/api/v1/pods", 200), ("/api/v1/secrets", 403), ("/metrics", 403), ("/apis", 200)]
)
def test_a_role_gives_what_it_says_and_no_more(server: SimulatedApiServer, path: str, code: int) -> None:
    assert ask(server, path, {"Authorization": f"Bearer {worlds.DRAINER_TOKEN}"})[0] == code


def test_rules_as_rbac_has_them() -> None:
    pods = RbacRule(("get",), ("pods",), ("",))
    assert pods.allows(Action("get", "", "pods"))
    assert not pods.allows(Action("get", "", "pods", "log"))
    assert not RbacRule(("get",), ("pods/*",), ("",)).allows(Action("get", "", "pods", "log"))
    paths = RbacRule(("get",), (), paths=("/apis/*",))
    assert paths.allows(Action("get", path="/apis/apps/v1")) and not paths.allows(Action("get", path="/api"))
    assert not paths.allows(Action("get", "", "pods"))


def test_a_token_may_come_as_the_user_of_a_proxy(server: SimulatedApiServer) -> None:
    given = {"Proxy-Authorization": "Basic " + b64encode(f"{worlds.ADMIN_TOKEN}:".encode()).decode()}
    code, said = ask(server, f"http://127.0.0.1:{server.port}{NODES}", given)
    assert (code, said["kind"]) == (200, "NodeList")


@pytest.mark.parametrize("given", ["Basic", "Basic d3Jvbmc6", "Bearer admin-token", "Basic OmFkbWluLXRva2Vu"])
def test_other_users_of_a_proxy_are_nobody(server: SimulatedApiServer, given: str) -> None:
    assert ask(server, NODES, {"Proxy-Authorization": given})[0] == 401
    assert ask(server, NODES, {"Proxy-Authorization": given, "Authorization": "Bearer wrong"})[0] == 401


def test_a_wrong_token_is_not_made_good_by_a_proxys(server: SimulatedApiServer) -> None:
    good = "Basic " + b64encode(f"{worlds.ADMIN_TOKEN}:".encode()).decode()
    assert ask(server, NODES, {"Proxy-Authorization": good, "Authorization": "Bearer wrong"})[0] == 401


READER = restricted("reader", [RbacRule(("get",), ("pods",), ("",), ("shop",))])


@pytest.mark.parametrize(
    ("action", "allowed"),
    [
        (Action("get", "", "pods", "", "shop"), True),
        (Action("get", "", "pods", "", "other"), False),
        (Action("get", "", "pods", "log", "shop"), False),
        (Action("get", "", "secrets", "", "shop"), False),
        (Action("create", "authorization.k8s.io", "selfsubjectaccessreviews"), True),
        (Action("get", path="/apis/apps/v1"), True),
        (Action("get", path="/metrics"), False),
    ],
)
def test_only_what_is_named(action: Action, allowed: bool) -> None:
    assert READER.may(action) is allowed
