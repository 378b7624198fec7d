"""Whatever a kubeconfig or a plugin holds, the answer is a target or one of our errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.errors import ConfigError
from kubectl_eksdoc.kube.config import connect, proxy_for
from kubectl_eksdoc.kube.exec_plugin import _credential
from kubectl_eksdoc.kube.target import CredentialContext, ExecPlugin
from kubectl_eksdoc.model.connection import Connection
from tests.examples import examples

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["https://x", "https://[", "https://x:y", "c", "LS0t"])
)
ANYTHING = st.recursive(
    LEAVES, lambda x: st.lists(x, max_size=2) | st.dictionaries(st.text(max_size=3), x, max_size=2), max_leaves=6
)

CLUSTER = {
    "server": "https://x",
    "certificate-authority": "ca.crt",
    "certificate-authority-data": "LS0t",
    "insecure-skip-tls-verify": False,
    "tls-server-name": "n",
    "proxy-url": "http://p:1",
    "disable-compression": True,
}
USER = {
    "token": "t",
    "tokenFile": "f",
    "client-certificate-data": "LS0t",
    "client-key": "k",
    "as": "jane",
    "as-groups": ["a"],
    "as-user-extra": {"k": ["v"]},
    "exec": {"command": "aws", "args": ["a"], "env": [{"name": "A", "value": "b"}], "apiVersion": "v1"},
}


@st.composite
def documents(draw: st.DrawFn) -> Any:
    """A good kubeconfig in which some values were replaced by anything."""
    document: Any = {
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": json.loads(json.dumps(CLUSTER))}],
        "users": [{"name": "c", "user": json.loads(json.dumps(USER))}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    }
    for _ in range(draw(st.integers(0, 3))):
        place, key = document, draw(st.sampled_from(sorted(document)))
        while isinstance(place[key], (dict, list)) and place[key] and draw(st.integers(0, 3)):
            place = place[key]
            key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        place[key] = draw(ANYTHING)
    return document


@settings(suppress_health_check=list(HealthCheck))
@given(documents())
def test_kubeconfigs(tmp_path: Path, document: Any) -> None:
    path = tmp_path / "config"
    path.write_text(json.dumps(document), encoding="utf-8")
    try:
        access = connect(Connection(kubeconfig=str(path)), CredentialContext())
    except ConfigError:
        return
    assert access.target.server.url.lower().startswith(("http://", "https://"))


STATUS = st.dictionaries(
    st.sampled_from(["token", "clientCertificateData", "clientKeyData", "expirationTimestamp"]),
    ANYTHING | st.datetimes().map(str),
)


@given(STATUS | ANYTHING)
def test_plugin_output(status: Any) -> None:
    plugin = ExecPlugin("aws", api_version="v")
    output = json.dumps({"apiVersion": "v", "kind": "ExecCredential", "status": status}).encode()
    try:
        credential = _credential(plugin, output, "")
    except ConfigError:
        return
    assert credential.authorization.startswith("Bearer ") or credential.certificate
    assert credential.expires_at is None or credential.expires_at.tzinfo is not None


@settings(max_examples=examples(200))
@given(st.text(max_size=20), st.text(max_size=20) | st.text("[]:*./1²a,", max_size=9))
def test_proxies(proxy: str, direct: str) -> None:
    try:
        assert proxy_for("https://x:1", "", {"HTTPS_PROXY": proxy, "NO_PROXY": direct}) is not None
    except ConfigError:
        pass


@settings(suppress_health_check=list(HealthCheck))
@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_files_of_any_bytes(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "config"
    path.write_bytes(content)
    with pytest.raises(ConfigError):
        connect(Connection(kubeconfig=str(path)), CredentialContext())
