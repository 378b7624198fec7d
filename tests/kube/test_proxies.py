"""Proxies of the kubeconfig and of the environment, by Go's rules, and through a real proxy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.errors import ConfigError, Unreachable
from kubectl_eksdoc.kube.config import proxy_for
from kubectl_eksdoc.kube.transport import Transport
from kubectl_eksdoc.model.connection import Connection
from tests.fakes import kubeconfigs
from tests.fakes.apiserver import ApiServer
from tests.fakes.proxy import Proxy

MakeTransport = Callable[..., Transport]
SERVER = "https://api.prod.example.com:6443"


@pytest.mark.parametrize(
    ("server", "environ", "proxy"),
    [
        (SERVER, {}, ""),
        (SERVER, {"https_proxy": "p:1"}, "http://p:1"),
        (SERVER, {"HTTPS_PROXY": "http://p:1", "https_proxy": "http://q:1"}, "http://p:1"),
        (SERVER, {"HTTP_PROXY": "http://p:1", "ALL_PROXY": "http://p:1"}, ""),
        ("http://api.example.com", {"HTTP_PROXY": "http://p:1"}, "http://p:1"),
        ("https://127.8.9.1:1", {"HTTPS_PROXY": "http://p:1"}, ""),
        ("https://[::1]:1", {"HTTPS_PROXY": "http://p:1"}, ""),
    ],
)
def test_environment(server: str, environ: dict[str, str], proxy: str) -> None:
    assert proxy_for(server, "", environ) == proxy


@pytest.mark.parametrize(
    ("entry", "host", "direct"),
    [
        ("*", "api.prod.example.com", True),
        ("example.com", "api.prod.example.com", True),
        ("*.example.com", "api.prod.example.com", True),
        ("EXAMPLE.com", "api.prod.example.com", True),
        ("ample.com", "api.prod.example.com", False),
        (".example.com", "example.com", False),
        ("example.com:6443", "api.prod.example.com", True),
        ("example.com:443", "api.prod.example.com", False),
        ("other.com, example.com ", "api.prod.example.com", True),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False),
        ("10.1.2.3:6443", "10.1.2.3", True),
        ("10.1.2.3:1", "10.1.2.3", False),
        ("fd00::/8", "[fd00::7]", True),
        ("[fd00::7]:6443", "[fd00::7]", True),
        ("10.0.0.0/99", "10.1.2.3", False),
        ("0.1.2.3", "10.0.1.2.3.example.com", False),
    ],
)
def test_no_proxy(entry: str, host: str, direct: bool) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        environ = {"HTTPS_PROXY": "http://p:1", name: entry}
        assert proxy_for(f"https://{host}:6443", "", environ) == ("" if direct else "http://p:1")


def test_the_proxy_of_the_kubeconfig_is_for_every_host() -> None:
    environ = {"HTTPS_PROXY": "http://q:1", "NO_PROXY": "*"}
    assert proxy_for("https://localhost", "http://p:1", environ) == "http://p:1"


@pytest.mark.parametrize("url", ["socks5h://u:secret@p:1", "ftp://p", "http://", "http://p:99999"])
def test_proxies_we_cannot_use(url: str) -> None:
    with pytest.raises(ConfigError, match="proxy-url of the kubeconfig") as caught:
        proxy_for(SERVER, url, {})
    assert "secret" not in str(caught.value)
    assert ("ssh -L" in caught.value.hint) == url.startswith("socks5")


@pytest.fixture
def behind(authority: Any, tmp_path: Path) -> Any:
    """An API server whose name only the proxy knows."""
    with ApiServer(authority.server_context("api.example.test"), "api.example.test") as server:
        yield server


def test_through_the_proxy_of_the_kubeconfig(
    behind: ApiServer, authority: Any, transport: MakeTransport, tmp_path: Path
) -> None:
    with Proxy(behind.port) as proxy:
        url = f"http://jane:p%40ss@{proxy.address}"
        config = kubeconfigs.one(tmp_path / "c", behind.url, authority.pem, {"token": "good"}, **{"proxy-url": url})
        api = transport(Connection(kubeconfig=config), environ={"NO_PROXY": "*"})
        assert [api.get("/version").status for _ in range(2)] == [200, 200]
        assert proxy.seen == [("CONNECT", f"api.example.test:{behind.port}", "Basic amFuZTpwQHNz")]
        assert {r.header("Authorization") for r in behind.requests} == {"Bearer good"}
        assert {r.header("Proxy-Authorization") for r in behind.requests} == {""}


def test_plain_http_through_a_proxy(transport: MakeTransport, tmp_path: Path) -> None:
    with ApiServer(None, "api.example.test") as server, Proxy(server.port) as proxy:
        config = kubeconfigs.one(tmp_path / "c", server.url, **{"proxy-url": f"http://{proxy.address}"})
        assert transport(Connection(kubeconfig=config)).get("/version").status == 200
        assert proxy.seen == [("GET", f"{server.url}/version", "")]


def test_a_proxy_that_refuses_or_is_not_there(
    behind: ApiServer, authority: Any, transport: MakeTransport, tmp_path: Path
) -> None:
    with Proxy(behind.port, refuse=407) as proxy:
        address = proxy.address
        fields = {"proxy-url": f"http://jane:secret@{address}"}
        config = kubeconfigs.one(tmp_path / "c", behind.url, authority.pem, **fields)
        with pytest.raises(Unreachable, match=f"the proxy http://{address} failed: .*407") as caught:
            transport(Connection(kubeconfig=config)).get("/version")
        assert "secret" not in str(caught.value)
    with pytest.raises(Unreachable, match=f"through the proxy http://{address} cannot be reached: .*refused"):
        transport(Connection(kubeconfig=config)).get("/version")
