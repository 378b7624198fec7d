"""TLS certificates: trusted authorities, client certificates, and the messages when they fail."""

from __future__ import annotations

import contextlib
import datetime as dt
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme
import urllib3

from kubectl_eksdoc.bounds import ResponseLimits, use_limits
from kubectl_eksdoc.errors import ConfigError, Unreachable, Untrusted
from kubectl_eksdoc.kube.config import proxy_for
from kubectl_eksdoc.kube.pools import OpenSockets, _tls_context, check_before_each_byte, socket_options
from kubectl_eksdoc.kube.target import Credential, KubeTarget, ServerEntry, UserEntry
from kubectl_eksdoc.kube.transport import Transport
from kubectl_eksdoc.model.connection import Connection
from tests.fakes import kubeconfigs
from tests.fakes.apiserver import ApiServer
from tests.fakes.proxy import Proxy

MakeTransport = Callable[..., Transport]


def asked(transport: Transport) -> int:
    return transport.get("/version").status


def test_an_unknown_authority(server: ApiServer, signed_in: MakeTransport) -> None:
    for cluster in ({"certificate-authority-data": kubeconfigs.b64(trustme.CA().cert_pem.bytes())}, {}):
        with pytest.raises(Unreachable) as caught:
            asked(signed_in(cluster=cluster))
        assert "is not trusted" in caught.value.message and isinstance(caught.value, Untrusted)
        assert "update-kubeconfig" in caught.value.hint
    assert server.requests == []


def test_authority_and_skipping_contradict(authority: Any, signed_in: MakeTransport) -> None:
    cluster = {"certificate-authority-data": kubeconfigs.b64(authority.pem), "insecure-skip-tls-verify": True}
    with pytest.raises(ConfigError, match="both a certificate authority and insecure-skip-tls-verify"):
        signed_in(cluster=cluster)


def test_tls_server_name(authority: Any, transport: MakeTransport, tmp_path: Path) -> None:
    name = "ABCDEF.gr7.eu-west-1.eks.amazonaws.com".lower()
    with ApiServer(authority.server_context(name)) as server:
        config = kubeconfigs.one(tmp_path / "config", server.url, authority.pem)
        with pytest.raises(Unreachable) as caught:
            asked(transport(Connection(kubeconfig=config)))
        assert "--tls-server-name" in caught.value.hint
        assert asked(transport(Connection(kubeconfig=config, tls_server_name=name))) == 200
        assert [r.server_name for r in server.requests] == [name]


def test_expired_and_future_certificates_hint_at_the_clock(transport: MakeTransport, tmp_path: Path) -> None:
    now = dt.datetime.now(dt.timezone.utc)
    for start, end in ((-9, -1), (1, 9)):
        ca = trustme.CA()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ca.issue_cert(
            "127.0.0.1", not_before=now + dt.timedelta(days=start), not_after=now + dt.timedelta(days=end)
        ).configure_cert(context)
        with ApiServer(context) as server:
            config = kubeconfigs.one(tmp_path / "config", server.url, ca.cert_pem.bytes())
            with pytest.raises(Unreachable) as caught:
                asked(transport(Connection(kubeconfig=config)))
        assert "clock" in caught.value.hint


def test_old_style_certificates_are_accepted_as_kubectl_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Certificates without key identifiers, as older clusters have: from Python 3.13 on the default is stricter."""
    strict = ssl.create_default_context()
    strict.verify_flags |= ssl.VERIFY_X509_STRICT
    monkeypatch.setattr("urllib3.util.ssl_.create_urllib3_context", lambda **_: strict)
    made = _tls_context(KubeTarget("", "", "", ServerEntry("https://x"), UserEntry()), Credential())
    assert made is strict and not made.verify_flags & ssl.VERIFY_X509_STRICT


def test_client_certificates(authority: Any, transport: MakeTransport, tmp_path: Path) -> None:
    """test_like_kubectl tests those of files and of flags."""
    issued = authority.ca.issue_cert("jane@example.com", common_name="jane")
    certificate, key = issued.cert_chain_pems[0].bytes(), kubeconfigs.b64(issued.private_key_pem.bytes())
    (tmp_path / "jane.crt").write_bytes(certificate)
    data = {"client-certificate-data": kubeconfigs.b64(certificate), "client-key-data": key}
    with ApiServer(authority.server_context(clients=True)) as server:
        for user in (data, {"client-certificate": "jane.crt", "client-key-data": key}):
            config = kubeconfigs.one(tmp_path / "config", server.url, authority.pem, user)
            assert asked(transport(Connection(kubeconfig=config))) == 200
        assert [(r.client, r.header("Authorization")) for r in server.requests] == [("jane", "")] * 2
        bare = kubeconfigs.one(tmp_path / "config", server.url, authority.pem)
        with pytest.raises(Unreachable) as caught:
            asked(transport(Connection(kubeconfig=bare)))
        assert "client certificate" in caught.value.hint
    assert not list(Path(tempfile.gettempdir()).glob("eksdoc-*/*.pem"))


@pytest.mark.parametrize(
    ("user", "cluster", "message"),
    [
        ({"client-certificate": "no.crt", "client-key": "no.key"}, {}, "no.crt or its key cannot be used"),
        ({"client-certificate-data": "bm9wZQ=="}, {}, "a client certificate but no client key"),
        ({"client-certificate-data": "bm9wZQ==", "client-key-data": "bm9wZQ=="}, {}, "client-certificate-data or its"),
        ({"client-certificate-data": "%%%"}, {}, "is not base64 of PEM text"),
        ({}, {"certificate-authority": "no.crt"}, "no.crt cannot be used: No such file"),
        ({}, {"certificate-authority-data": "bm9wZQ=="}, "certificate-authority-data cannot be used"),
    ],
)
def test_certificates_that_cannot_be_used(
    transport: MakeTransport, tmp_path: Path, user: dict[str, str], cluster: dict[str, str], message: str
) -> None:
    config = kubeconfigs.one(tmp_path / "config", "https://localhost:1", b"", user, **cluster)
    with pytest.raises(ConfigError) as caught:
        asked(transport(Connection(kubeconfig=config)))
    assert message in caught.value.message
    assert "bm9wZQ" not in str(caught.value)


def test_plain_http_on_a_tls_url(transport: MakeTransport, authority: Any, tmp_path: Path) -> None:
    with ApiServer() as server:
        url = server.url.replace("http:", "https:")
        config = kubeconfigs.one(tmp_path / "config", url, authority.pem)
        with pytest.raises(Unreachable, match="TLS failed") as caught:
            asked(transport(Connection(kubeconfig=config)))
        assert "plain http" in caught.value.hint


def test_no_credentials_over_plain_http(transport: MakeTransport, tmp_path: Path) -> None:
    with ApiServer() as server:
        config = kubeconfigs.one(tmp_path / "config", server.url, user={"token": "good", "as": "jane"})
        assert asked(transport(Connection(kubeconfig=config))) == 200
        assert server.requests[0].header("Authorization") == ""
        assert server.requests[0].header("Impersonate-User") == "jane"


# Proxies of the kubeconfig and of the environment, by Go's rules, and through a real proxy.

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
        ("*.EXAMPLE.com", "api.prod.example.com", True),
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
    ],
)
def test_no_proxy(entry: str, host: str, direct: bool) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        environ = {"HTTPS_PROXY": "http://p:1", name: entry}
        assert proxy_for(f"https://{host}:6443", "", environ) == ("" if direct else "http://p:1")


@pytest.mark.parametrize("url", ["socks5h://u:secret@p:1", "ftp://p", "http://", "http://p:99999"])
def test_proxies_we_cannot_use(url: str) -> None:
    with pytest.raises(ConfigError, match="proxy-url of the kubeconfig") as caught:
        proxy_for(SERVER, url, {})
    assert "secret" not in str(caught.value)
    assert ("ssh -L" in caught.value.hint) == url.startswith("socks5")


@pytest.fixture
def behind(authority: Any, tmp_path: Path) -> Any:
    """An API server whose name only the proxy can resolve."""
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


# Connections that are kept alive, can be closed from outside, and whose limits can change during a read.

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@contextlib.contextmanager
def listening(head: bytes) -> Iterator[str]:
    """A server that answers every connection with `head` and nothing more; return its address."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held: list[socket.socket] = []

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    taken, _ = server.accept()
                    held.append(taken)
                    taken.recv(4096)
                    taken.sendall(head)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)
        for each in held:
            each.close()


def begun(manager: urllib3.PoolManager, url: str, read_s: float) -> urllib3.BaseHTTPResponse:
    timeout = urllib3.Timeout(connect=5, read=read_s)
    return manager.request("GET", url, retries=False, preload_content=False, timeout=timeout)


ENDLESS = [HEAD + b"Transfer-Encoding: chunked\r\n\r\n", HEAD + b"Connection: close\r\n\r\n"]
"""Answers without an end: in chunks, and one that ends with its connection, which is the answer's alone then."""


@pytest.mark.parametrize("head", ENDLESS)
@pytest.mark.parametrize("ends", ["cut", "late"])
def test_reading_ends_when_it_is_cut_and_when_the_time_for_the_rest_is_over(head: bytes, ends: str) -> None:
    """The time limit for the rest differs from the limit for the start of an answer."""
    sockets, manager, bounds = OpenSockets(), urllib3.PoolManager(), ResponseLimits(time.monotonic, 30.0)
    sockets.track(manager)
    with listening(head) as url:
        with use_limits(bounds):
            response = begun(manager, url, 30.0)
        begun_s = time.monotonic()
        if ends == "late":
            bounds.start_stream(0.2)
            with pytest.raises(urllib3.exceptions.ReadTimeoutError):
                response.read1()
        else:
            threading.Timer(0.1, sockets.shut_down).start()
            with contextlib.suppress(urllib3.exceptions.ProtocolError):
                assert response.read1() == b""
        assert time.monotonic() - begun_s < 5.0
        response.close()


def test_connections_ask_whether_the_other_side_is_there() -> None:
    manager = urllib3.PoolManager(socket_options=socket_options())
    OpenSockets().track(manager)
    with listening(ENDLESS[0]) as url:
        response = begun(manager, url, 5.0)
        opened: socket.socket = response.connection.sock  # type: ignore[union-attr]
        assert opened.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        response.close()


def test_the_last_word_is_asked_when_the_connection_stands_and_before_a_byte_is_sent() -> None:
    sockets, manager, said = OpenSockets(), urllib3.PoolManager(), []
    sockets.track(manager)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"

        def word() -> None:
            taken, _ = server.accept()  # it stands already
            said.append(taken)
            raise LookupError("not any more")

        with pytest.raises(LookupError), check_before_each_byte(word):
            manager.request("POST", url, body=b"{}", retries=False, timeout=5)
        said[0].settimeout(5)
        assert said[0].recv(4096) == b"", "it was closed, and nothing was sent"
        said[0].close()
        with pytest.raises(urllib3.exceptions.HTTPError):
            manager.request("GET", url, retries=False, timeout=0.2)
        taken, _ = server.accept()
        with taken:
            assert taken.recv(4096).startswith(b"GET / "), "another request is not asked about"
