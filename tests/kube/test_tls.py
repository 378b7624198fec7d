"""Certificates: whom we trust, what we show, and what is said when that fails."""

from __future__ import annotations

import datetime as dt
import ssl
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme

from kubectl_eksdoc.errors import ConfigError, Unreachable, Untrusted
from kubectl_eksdoc.kube.pools import _tls
from kubectl_eksdoc.kube.target import Credential, KubeTarget, ServerEntry, UserEntry
from kubectl_eksdoc.kube.transport import Transport
from kubectl_eksdoc.model.connection import Connection
from tests.fakes import kubeconfigs
from tests.fakes.apiserver import ApiServer

MakeTransport = Callable[..., Transport]


def asked(transport: Transport) -> int:
    return transport.get("/version").status


def test_authority_from_data_from_a_file_and_beside_the_kubeconfig(
    server: ApiServer, authority: Any, transport: MakeTransport, tmp_path: Path
) -> None:
    (tmp_path / "pki").mkdir()
    (tmp_path / "pki" / "ca.crt").write_bytes(authority.pem)
    absolute = str(tmp_path / "pki" / "ca.crt")
    beside = {"certificate-authority": "pki/ca.crt"}
    for fields in ({"certificate-authority": absolute}, beside, {**beside, "certificate-authority-data": ""}):
        config = kubeconfigs.one(tmp_path / "config", server.url, **fields)
        assert asked(transport(Connection(kubeconfig=config))) == 200
    config = kubeconfigs.one(tmp_path / "config", server.url, authority.pem)
    assert asked(transport(Connection(kubeconfig=config))) == 200
    bare = kubeconfigs.one(tmp_path / "config", server.url)
    assert asked(transport(Connection(kubeconfig=bare, certificate_authority=absolute))) == 200


def test_an_unknown_authority(server: ApiServer, transport: MakeTransport, tmp_path: Path) -> None:
    other = trustme.CA().cert_pem.bytes()
    for ca in (other, b""):
        config = kubeconfigs.one(tmp_path / "config", server.url, ca)
        with pytest.raises(Unreachable) as caught:
            asked(transport(Connection(kubeconfig=config)))
        assert "is not trusted" in caught.value.message and isinstance(caught.value, Untrusted)
        assert "update-kubeconfig" in caught.value.hint
    assert server.requests == []


def test_verification_can_be_skipped(server: ApiServer, transport: MakeTransport, tmp_path: Path) -> None:
    config = kubeconfigs.one(tmp_path / "config", server.url, trustme.CA().cert_pem.bytes())
    assert asked(transport(Connection(kubeconfig=config, insecure_skip_tls_verify=True))) == 200
    config = kubeconfigs.one(tmp_path / "config", server.url, **{"insecure-skip-tls-verify": True})
    assert asked(transport(Connection(kubeconfig=config))) == 200


def test_authority_and_skipping_contradict(server: ApiServer, authority: Any, transport: Any, tmp_path: Path) -> None:
    config = kubeconfigs.one(tmp_path / "config", server.url, authority.pem, **{"insecure-skip-tls-verify": True})
    with pytest.raises(ConfigError, match="both a certificate authority and insecure-skip-tls-verify"):
        transport(Connection(kubeconfig=config))


def test_tls_server_name(authority: Any, transport: MakeTransport, tmp_path: Path) -> None:
    name = "ABCDEF.gr7.eu-west-1.eks.amazonaws.com".lower()
    with ApiServer(authority.server_context(name)) as server:
        config = kubeconfigs.one(tmp_path / "config", server.url, authority.pem)
        with pytest.raises(Unreachable) as caught:
            asked(transport(Connection(kubeconfig=config)))
        assert "--tls-server-name" in caught.value.hint
        assert asked(transport(Connection(kubeconfig=config, tls_server_name=name))) == 200
        named = kubeconfigs.one(tmp_path / "config", server.url, authority.pem, **{"tls-server-name": name})
        assert asked(transport(Connection(kubeconfig=named))) == 200
        assert [r.server_name for r in server.requests] == [name, name]


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
    """Those without key identifiers, as older clusters have: from Python 3.13 on the default is stricter."""
    strict = ssl.create_default_context()
    strict.verify_flags |= ssl.VERIFY_X509_STRICT
    monkeypatch.setattr("urllib3.util.ssl_.create_urllib3_context", lambda **_: strict)
    made = _tls(KubeTarget("", "", "", ServerEntry("https://x"), UserEntry()), Credential())
    assert made is strict and not made.verify_flags & ssl.VERIFY_X509_STRICT


def client_pair(authority: Any, name: str = "jane") -> tuple[bytes, bytes]:
    issued = authority.ca.issue_cert("jane@example.com", common_name=name)
    return issued.cert_chain_pems[0].bytes(), issued.private_key_pem.bytes()


def test_client_certificates(authority: Any, transport: MakeTransport, tmp_path: Path) -> None:
    certificate, key = client_pair(authority)
    (tmp_path / "jane.crt").write_bytes(certificate)
    (tmp_path / "jane.key").write_bytes(key)
    data = {"client-certificate-data": kubeconfigs.b64(certificate), "client-key-data": kubeconfigs.b64(key)}
    files = {"client-certificate": "jane.crt", "client-key": "jane.key"}
    mixed = {"client-certificate": "jane.crt", "client-key-data": kubeconfigs.b64(key)}
    with ApiServer(authority.server_context(clients=True)) as server:
        for user in (data, files, mixed):
            config = kubeconfigs.one(tmp_path / "config", server.url, authority.pem, user)
            assert asked(transport(Connection(kubeconfig=config))) == 200
        bare = kubeconfigs.one(tmp_path / "config", server.url, authority.pem)
        flags = {"client_certificate": str(tmp_path / "jane.crt"), "client_key": str(tmp_path / "jane.key")}
        assert asked(transport(Connection(kubeconfig=bare, **flags))) == 200
        assert [r.client for r in server.requests] == ["jane"] * 4
        assert [r.header("Authorization") for r in server.requests] == [""] * 4
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
