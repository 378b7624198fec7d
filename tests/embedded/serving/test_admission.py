"""Authentication, limits on the size of requests, and the permissions of users with few rights."""

from __future__ import annotations

import http.client
import json
import socket
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest

from kubectl_eksdoc.embedded.serving.handler import ManualTime, SimulatedApiServer
from kubectl_eksdoc.embedded.serving.requests import Action, RbacRule, restricted
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


@pytest.mark.parametrize("path", [NODES, "/metrics", "/as/wrong" + NODES])
@pytest.mark.parametrize("value", [None, "Bearer wrong", "Basic YTpi", "Bearer "])
def test_nobody_without_a_token(server: SimulatedApiServer, path: str, value: str | None) -> None:
    code, said = ask(server, path, {} if value is None else {"Authorization": value})
    assert (code, said["code"], said["message"], said["reason"]) == (401, 401, "Unauthorized", "Unauthorized")


def test_a_token_in_the_path_or_in_a_header(server: SimulatedApiServer) -> None:
    assert ask(server, NODES, ADMIN)[0] == 200
    assert ask(server, f"/as/{worlds.ADMIN_TOKEN}{NODES}", {})[0] == 200
    assert ask(server, f"/as/{worlds.VIEWER_TOKEN}{NODES}/old-0", ADMIN, "DELETE")[0] == 403  # the path's counts


@pytest.mark.parametrize(
    ("host", "code"),
    [
        ("evil.example", 403),
        ("127.0.0.1", 403),
        ("[::1]:{port}", 403),
        ("", 403),
        ("127.0.0.1:{port}", 200),
        ("localhost:{port}", 200),
    ],
)
def test_only_under_its_own_name(server: SimulatedApiServer, host: str, code: int) -> None:
    """A foreign name that resolves to this machine (DNS rebinding) is rejected, with or without the token."""
    assert ask(server, NODES, {**ADMIN, "Host": host.format(port=server.port)})[0] == code


@pytest.mark.parametrize("origin", ["http://evil.example", ""])
def test_no_web_page(server: SimulatedApiServer, origin: str) -> None:
    assert ask(server, NODES, {**ADMIN, "Origin": origin})[0] == 403
    assert ask(server, f"/as/{worlds.ADMIN_TOKEN}{NODES}", {"Origin": origin})[0] == 403


def test_only_loopback_is_bound(server: SimulatedApiServer) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"
    assert server.socket.family == socket.AF_INET


@pytest.mark.parametrize(
    ("header", "value", "code"),
    [
        ("Content-Length", str(3 * 1024 * 1024 + 1), 413),
        ("Content-Length", "9" * 5000, 413),
        ("Content-Length", "-1", 400),
        ("Content-Length", "1e3", 400),
        ("Content-Length", "²", 400),
        ("Transfer-Encoding", "chunked", 411),  # otherwise their parts would be read as the next requests
    ],
)
def test_a_body_that_is_not_taken(server: SimulatedApiServer, header: str, value: str, code: int) -> None:
    assert ask(server, NODES, {**ADMIN, header: value}, "POST")[0] == code
    assert ask(server, NODES, ADMIN, "OPTIONS")[0] == ask(server, NODES, ADMIN, "NONSENSE")[0] == 405


def test_impersonation_needs_a_right(server: SimulatedApiServer) -> None:
    as_viewer = {**ADMIN, "Impersonate-User": "viewer"}
    assert ask(server, f"{NODES}/old-0", as_viewer)[0] == 200
    code, said = ask(server, f"{NODES}/old-0", as_viewer, "DELETE")
    assert code == 403 and 'User "viewer" cannot delete resource "nodes"' in said["message"]
    assert ask(server, NODES, {**ADMIN, "Impersonate-User": "somebody"})[0] == 403
    code, said = ask(server, NODES, {"Authorization": f"Bearer {worlds.VIEWER_TOKEN}", "Impersonate-User": "admin"})
    assert code == 403 and 'User "viewer" cannot impersonate resource "users"' in said["message"]


def test_a_role_gives_what_it_says_and_no_more(server: SimulatedApiServer) -> None:
    drainer = {"Authorization": f"Bearer {worlds.DRAINER_TOKEN}"}
    paths = (NODES, "/api/v1/pods", "/api/v1/secrets", "/metrics", "/apis")
    assert [ask(server, path, drainer)[0] for path in paths] == [200, 200, 403, 403, 200]


def test_rules_as_rbac_has_them() -> None:
    assert not RbacRule(("get",), ("pods/*",), ("",)).allows(Action("get", "", "pods", "log"))
    paths = RbacRule(("get",), (), paths=("/apis/*",))
    assert paths.allows(Action("get", path="/apis/apps/v1")) and not paths.allows(Action("get", path="/api"))
    assert not paths.allows(Action("get", "", "pods"))
    assert not RbacRule(("get",), (), paths=("/healthz",)).allows(Action("get", path="/healthz/etcd"))


def test_a_token_may_come_as_the_user_of_a_proxy(server: SimulatedApiServer) -> None:
    good = "Basic " + b64encode(f"{worlds.ADMIN_TOKEN}:".encode()).decode()
    code, said = ask(server, f"http://127.0.0.1:{server.port}{NODES}", {"Proxy-Authorization": good})
    assert (code, said["kind"]) == (200, "NodeList")
    for wrong in ("Basic", "Basic d3Jvbmc6", "Bearer admin-token", "Basic OmFkbWluLXRva2Vu"):
        assert ask(server, NODES, {"Proxy-Authorization": wrong})[0] == 401
    for given in (good, "Basic"):  # a proxy's token does not replace a wrong one
        assert ask(server, NODES, {"Proxy-Authorization": given, "Authorization": "Bearer wrong"})[0] == 401


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
