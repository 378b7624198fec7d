"""The server and user that kubeconfig files and flags choose; the rules are kubectl's (see test_like_kubectl)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.errors import ConfigError
from kubectl_eksdoc.kube import kubeconfig
from kubectl_eksdoc.kube.config import open_access, proxy_for
from kubectl_eksdoc.kube.exec_plugin import _parse_credential
from kubectl_eksdoc.kube.kubeconfig import choose_target
from kubectl_eksdoc.kube.target import CredentialContext, ExecPlugin, token_file_source, utc_now
from kubectl_eksdoc.model.connection import Connection
from tests.any_json import anything
from tests.examples import examples
from tests.fakes import kubeconfigs

ARN = "arn:aws:eks:eu-west-1:111122223333:cluster/"


def places(tmp_path: Path, *listed: str, **environ: str) -> CredentialContext:
    return CredentialContext(
        environ={"KUBECONFIG": os.pathsep.join(listed), **environ} if listed else environ,
        home=str(tmp_path),
        service_account=str(tmp_path / "sa"),
    )


def test_home_is_the_last_resort(tmp_path: Path) -> None:
    kubeconfigs.one(tmp_path / ".kube" / "config", "https://home")
    assert choose_target(Connection(), places(tmp_path)).server.url == "https://home"
    assert choose_target(Connection(), places(tmp_path, KUBECONFIG="")).server.url == "https://home"


def test_a_server_alone_is_enough(tmp_path: Path) -> None:
    target = choose_target(Connection(server="localhost:8001"), places(tmp_path))
    assert target.server.url == "http://localhost:8001"
    assert choose_target(Connection(server="https://x/", token="t"), places(tmp_path)).user.token == "t"


def test_an_unknown_context_shows_the_known_ones_closest_first(tmp_path: Path) -> None:
    contexts = {f"{ARN}{name}": ("c", "u") for name in ("staging", "prod-eu", "prod-us")}
    config = kubeconfigs.many(tmp_path / "c", {"c": {"server": "https://x"}}, {"u": {}}, contexts)
    with pytest.raises(ConfigError) as caught:
        choose_target(Connection(kubeconfig=config, context="prod-ue"), places(tmp_path))
    assert caught.value.message == f"context 'prod-ue' does not exist in {config}"
    assert caught.value.hint.startswith(f"Known contexts: {ARN}prod-")
    assert caught.value.hint.endswith(f"{ARN}staging")


def test_no_kubeconfig_at_all(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        choose_target(Connection(), places(tmp_path))
    missing = tmp_path / ".kube" / "config"
    assert caught.value.message == f"no cluster to talk to: {missing} does not exist, so there are no contexts"
    assert "aws eks update-kubeconfig" in caught.value.hint
    # A whole command, because the typed one may not accept --demo (drain run, resume, status).
    assert caught.value.hint.endswith(": kubectl eksdoc --demo") and "--snapshot" not in caught.value.hint


def test_inside_a_pod(tmp_path: Path) -> None:
    (tmp_path / "sa").mkdir()
    (tmp_path / "sa" / "token").write_text("t")
    around = places(tmp_path, KUBERNETES_SERVICE_HOST="fd00::1", KUBERNETES_SERVICE_PORT="443")
    target = choose_target(Connection(), around)
    assert target.server.url == "https://[fd00::1]:443"
    assert target.server.ca_file == str(tmp_path / "sa" / "ca.crt")
    assert target.user.token_file == str(tmp_path / "sa" / "token")
    kubeconfigs.one(tmp_path / ".kube" / "config", "https://home")
    assert choose_target(Connection(), around).server.url == "https://home"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("token: hunter2: x", "is not YAML"),
        ("token: !!float hunter2", "is not YAML"),
        ("[" * 100_000, "is nested too deeply"),  # libyaml's loader ends the process
        ("- " * 100_000, "is nested too deeply"),
        ("- hunter2", "holds no mapping"),
        ("clusters: [{cluster: {}}]", "an entry of clusters has no name"),
        ("clusters: [{name: a, cluster: hunter2}]", "cluster 'a' is not a mapping"),
        ("clusters: [{name: a}, {name: a}]", "clusters has 'a' twice"),
        ("current-context: [hunter2]", "current-context is not a text"),
        ("", "no cluster to talk to"),
    ],
    ids=lambda text: text[:30],
)
def test_files_that_are_no_kubeconfig_are_not_repeated(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(ConfigError, match=said) as caught:
        choose_target(Connection(kubeconfig=str(tmp_path / "config")), places(tmp_path))
    assert "hunter2" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name, message in (
        ("missing", "does not exist"),
        ("", "Is a directory"),
        ("binary", "is not a text file"),
        ("/dev/zero", "is larger than 16 MiB"),
    ):
        with pytest.raises(ConfigError, match=message):
            choose_target(Connection(kubeconfig=str(tmp_path / name)), places(tmp_path))


@pytest.mark.parametrize(
    ("cluster", "user", "message"),
    [
        ({"server": 7}, {}, "server should be a text, not a number"),
        ({}, {}, "has no server"),
        ({"server": "ftp://x"}, {}, "is not a URL of the form"),
        ({"server": "https://x", "insecure-skip-tls-verify": "yes"}, {}, "should be true or false"),
        ({"server": "https://x"}, {"as-groups": "a"}, "as-groups should be a list"),
        ({"server": "https://x"}, {"exec": {"command": "aws", "env": ["A=b"]}}, "env should be a mapping, not a text"),
        ({"server": "https://x"}, {"auth-provider": {"name": "gcp"}}, "has an auth-provider, which is not supported"),
        ({"server": "https://x", "extensions": ["x"]}, {}, "extensions should be a mapping, not a text"),
        (
            {"server": "https://x"},
            {"exec": {"command": "aws", "provideClusterInfo": "yes"}},
            "provideClusterInfo should be true or false",
        ),
    ],
)
def test_entries_that_are_wrong(tmp_path: Path, cluster: Any, user: Any, message: str) -> None:
    config = kubeconfigs.many(tmp_path / "c", {"x": cluster}, {"x": user}, {"x": ("x", "x")}, "x")
    with pytest.raises(ConfigError, match=message):
        choose_target(Connection(kubeconfig=config), places(tmp_path))


@pytest.mark.parametrize(
    "user",
    [{"token": ["7778889"]}, {"exec": {"command": "aws", "env": [{"name": "PASSWORD", "value": 7778889}]}}],
)
def test_a_secret_without_quotes_is_not_repeated(tmp_path: Path, user: Any) -> None:
    config = kubeconfigs.many(tmp_path / "c", {"x": {"server": "https://x"}}, {"x": user}, {"x": ("x", "x")}, "x")
    with pytest.raises(ConfigError, match="should be a text, not a") as caught:
        choose_target(Connection(kubeconfig=config), places(tmp_path))
    assert "7778889" not in f"{caught.value}{caught.value.hint}"


def test_a_long_kubeconfig_of_json_is_read(tmp_path: Path) -> None:
    names = [f"cluster-{number}" for number in range(200)]
    clusters = {name: {"server": "https://x", "tls-server-name": name} for name in names}
    path = kubeconfigs.many(tmp_path / "config", clusters, {"u": {}}, {name: (name, "u") for name in names})
    assert len(Path(path).read_text()) > 10_000
    assert len(kubeconfig.load(path, CredentialContext()).clusters) == 200


@pytest.mark.long
def test_a_named_pipe_to_which_nothing_writes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config")
    with pytest.raises(ConfigError, match="it is a named pipe, and no process writes to it"):
        kubeconfig.load(str(tmp_path / "config"), CredentialContext())


def test_a_token_file_without_an_end() -> None:
    with pytest.raises(ConfigError, match="/dev/zero is larger than 1 MiB: is it a token"):
        token_file_source("/dev/zero", utc_now)()


@pytest.mark.parametrize("flag", ["certificate_authority", "client_certificate", "client_key"])
def test_a_pipe_is_not_waited_for(tmp_path: Path, flag: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (str(pipe), "/dev/zero"):
        with pytest.raises(ConfigError, match=f"{path} is no regular file"):
            choose_target(Connection(server="https://x", **{flag: path}), places(tmp_path))


# For any content of a kubeconfig or a plugin, the result is a target or one of our errors.

ANYTHING = anything(st.sampled_from(["https://x", "https://[", "https://x:y", "c", "LS0t"]))

CLUSTER = {
    "server": "https://x",
    "certificate-authority": "ca.crt",
    "certificate-authority-data": "LS0t",
    "insecure-skip-tls-verify": False,
    "tls-server-name": "n",
    "proxy-url": "http://p:1",
    "disable-compression": True,
    "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"a": 1}}],
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
    """A valid kubeconfig in which some values were replaced by arbitrary ones."""
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
        access = open_access(Connection(kubeconfig=str(path)), CredentialContext())
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
        credential = _parse_credential(plugin, output, "")
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
        open_access(Connection(kubeconfig=str(path)), CredentialContext())
