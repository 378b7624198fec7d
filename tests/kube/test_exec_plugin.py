"""Credential plugins as real processes: their output, their failures, and how often they run."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.errors import ClusterError, ConfigError, Unauthorized
from kubectl_eksdoc.kube import exec_plugin
from kubectl_eksdoc.kube.answers import HttpAnswer
from kubectl_eksdoc.kube.config import connect
from kubectl_eksdoc.kube.exchanges import Exchanges, RetryPolicy, real_timing
from kubectl_eksdoc.kube.reader import LiveReader
from kubectl_eksdoc.kube.target import Credential, CredentialContext, Credentials, ExecPlugin
from kubectl_eksdoc.kube.transport import Transport
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.connection import Connection
from tests.fakes import kubeconfigs
from tests.fakes.apiserver import ApiServer

MakeTransport = Callable[..., Transport]
NOW = datetime(2026, 11, 20, 9, 30, 5, tzinfo=timezone.utc)


def at(**later: int) -> str:
    return (NOW + timedelta(**later)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture
def write(server: ApiServer, authority: Any, tmp_path: Path) -> Callable[..., str]:
    """Kubeconfig whose user runs a plugin with this source."""

    def make(source: str, *args: str, **more: Any) -> str:
        program = kubeconfigs.plugin(tmp_path, source)
        user = kubeconfigs.exec_user(program, *args, **more)
        return kubeconfigs.one(tmp_path / "config", server.url, authority.pem, user)

    return make


@pytest.mark.parametrize("expiry", [at(minutes=-2), None])
def test_eight_threads_share_one_run(
    server: ApiServer, write: Any, transport: MakeTransport, tmp_path: Path, expiry: str | None
) -> None:
    config = write(f"runs(); time.sleep(0.05); say(token='t', expirationTimestamp={expiry!r})")
    api = transport(Connection(kubeconfig=config))
    assert kubeconfigs.runs(tmp_path / "plugin") == 0
    threads = [threading.Thread(target=lambda: [api.get("/version") for _ in range(3)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [r.header("Authorization") for r in server.requests] == ["Bearer t"] * 24
    assert kubeconfigs.runs(tmp_path / "plugin") == 1


def test_a_token_refused_in_the_middle_is_renewed_once(
    server: ApiServer, write: Any, reader: Callable[..., LiveReader], tmp_path: Path
) -> None:
    """The server stops accepting the first token after some requests, as EKS does after its 15 minutes."""
    config = write(f"say(token=f't{{runs()}}', expirationTimestamp={at(minutes=14)!r})")

    def accepts(request: Any) -> bool:
        return request.header("Authorization") == ("Bearer t1" if len(server.requests) <= 9 else "Bearer t2")

    server.accepts = accepts
    cluster = reader(Connection(kubeconfig=config)).read(kinds.ALL)
    assert all(read.known for read in cluster.reads)
    assert len(cluster.pods) == 18
    assert kubeconfigs.runs(tmp_path / "plugin") == 2


def test_a_token_refused_for_ever(server: ApiServer, write: Any, transport: MakeTransport, tmp_path: Path) -> None:
    server.accepts = lambda request: False
    config = write("say(token=f't{runs()}')", env=[{"name": "AWS_PROFILE", "value": "prod"}])
    with pytest.raises(Unauthorized) as caught:
        transport(Connection(kubeconfig=config)).get("/version")
    assert kubeconfigs.runs(tmp_path / "plugin") == 2
    assert len(server.requests) == 2
    assert f"does not accept credentials from '{tmp_path}/plugin'" in caught.value.message
    assert "aws sts get-caller-identity --profile prod" in caught.value.hint


def test_it_runs_again_when_its_token_has_ended(
    server: ApiServer, write: Any, transport: MakeTransport, tmp_path: Path
) -> None:
    clock = [NOW]
    config = write(f"say(token=f't{{runs()}}', expirationTimestamp={at(minutes=14)!r})")
    api = transport(Connection(kubeconfig=config), now=lambda: clock[0])
    api.get("/version")
    clock[0] += timedelta(minutes=13)
    api.get("/version")
    clock[0] += timedelta(minutes=1)
    api.get("/version")
    assert [r.header("Authorization") for r in server.requests] == ["Bearer t1", "Bearer t1", "Bearer t2"]


@pytest.mark.parametrize(
    ("complaint", "hint"),
    [
        ("Error when retrieving token from sso: Token has expired", "Sign in again: aws sso login --profile prod"),
        ("The config profile (prod) could not be found", "aws configure list-profiles"),
        ("Unable to locate credentials. You can configure", "aws sts get-caller-identity --profile prod"),
        ("boom", "Run it by hand to see what it prints: "),
    ],
)
def test_a_failing_plugin_is_quoted(write: Any, transport: MakeTransport, complaint: str, hint: str) -> None:
    config = write(f"sys.stderr.write({complaint!r}); sys.exit(255)", "get-token", "--profile", "prod")
    with pytest.raises(Unauthorized) as caught:
        transport(Connection(kubeconfig=config)).get("/version")
    assert caught.value.message.endswith(f"get-token --profile prod' failed (exit 255): {complaint}")
    assert hint in caught.value.hint


def test_a_failing_plugin_is_quoted_without_credentials(write: Any, transport: MakeTransport) -> None:
    says = "Credential=AKIAEXAMPLEEXAMPLE, Signature=hunter2 https://h/?X-Amz-Security-Token=hunter2"
    with pytest.raises(Unauthorized) as caught:
        transport(Connection(kubeconfig=write(f"sys.exit({says!r})"))).get("/version")
    assert "Signature" in str(caught.value)
    assert "hunter2" not in str(caught.value) and "EXAMPLE" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("print('Updated! secret')", "printed 16 bytes that are not JSON"),
        ("sys.stdout.write('[' * 100000)", "printed 100000 bytes that are not JSON"),
        ("print(json.dumps({'apiVersion': 'x', 'kind': 'ExecCredential'}))", "with a status"),
        ("print(json.dumps({'apiVersion': 'v9', 'kind': 'ExecCredential', 'status': {}}))", "answered in v9"),
        ("say()", "neither a token nor a certificate"),
        ("say(token='t', expirationTimestamp='soon')", "expirationTimestamp that is no time"),
        ("say(clientCertificateData='x')", "a certificate without its key"),
    ],
)
def test_garbage(write: Any, transport: MakeTransport, source: str, message: str) -> None:
    source = f"sys.stderr.write('hm'); {source}"
    with pytest.raises(ConfigError) as caught:
        transport(Connection(kubeconfig=write(source))).get("/version")
    assert message in caught.value.message
    assert "hm" in caught.value.message
    assert "secret" not in str(caught.value)


def test_a_plugin_that_is_not_there(
    server: ApiServer, authority: Any, transport: MakeTransport, tmp_path: Path
) -> None:
    def told(command: str, **more: Any) -> ConfigError:
        user = kubeconfigs.exec_user(command, "eks", "get-token", **more)
        config = kubeconfigs.one(tmp_path / "config", server.url, authority.pem, user)
        with pytest.raises(ConfigError) as caught:
            transport(Connection(kubeconfig=config), environ={"PATH": str(tmp_path)}).get("/version")
        return caught.value

    assert "the credential plugin 'aws' is not on PATH" in told("aws").message
    assert "Install the AWS CLI" in told("aws").hint
    assert told("aws", installHint="brew install it").hint == "brew install it"
    assert "does not exist" in told("/no/such/plugin").message
    (tmp_path / "text").write_text("no program")
    assert "is not executable" in told(str(tmp_path / "text")).message
    (tmp_path / "text").chmod(0o700)
    assert "cannot be run: Exec format error" in told(str(tmp_path / "text")).message
    assert "The kubeconfig runs: other eks get-token" in told("other").hint


def test_names_with_a_folder_belong_to_the_kubeconfig(
    server: ApiServer, authority: Any, transport: MakeTransport, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    kubeconfigs.plugin(tmp_path / "bin", "say(token='beside')", name="mine")
    config = kubeconfigs.one(tmp_path / "config", server.url, authority.pem, kubeconfigs.exec_user("bin/mine"))
    transport(Connection(kubeconfig=config)).get("/version")
    user = kubeconfigs.exec_user("mine")
    config = kubeconfigs.one(tmp_path / "config", server.url, authority.pem, user)
    transport(Connection(kubeconfig=config), environ={"PATH": str(tmp_path / "bin")}).get("/version")
    assert [r.header("Authorization") for r in server.requests] == ["Bearer beside"] * 2


TELL = (
    "told = [os.environ.get(n) for n in ('A', 'B', 'KUBERNETES_EXEC_INFO')]; "
    "say(token=json.dumps([*told, sys.stdin.read(), os.getcwd()]))"
)


def test_what_it_is_told(server: ApiServer, write: Any, transport: MakeTransport) -> None:
    env = [{"name": "A", "value": "theirs"}]
    config = write(TELL, env=env)
    environ = {"PATH": "/usr/bin:/bin", "A": "ours", "B": "ours"}
    transport(Connection(kubeconfig=config), environ=environ).get("/version")
    a, b, info, stdin, folder = json.loads(server.requests[0].header("Authorization").removeprefix("Bearer "))
    assert (a, b, stdin, folder) == ("theirs", "ours", "", os.getcwd())
    told = {"apiVersion": kubeconfigs.API, "kind": "ExecCredential", "spec": {"interactive": False}}
    assert json.loads(info) == told


def test_what_it_asks_a_user_is_shown_as_it_comes(server: ApiServer, write: Any, transport: MakeTransport) -> None:
    said: list[str] = []
    source = "sys.stderr.write('MFA code: '); sys.stderr.flush(); say(token='t')"
    for mode in ("Always", "IfAvailable", "Never"):
        transport(Connection(kubeconfig=write(source, interactiveMode=mode)), interactive=True, say=said.append).get(
            "/version"
        )
    assert said == ["MFA code: "] * 2
    with pytest.raises(ConfigError, match="interactiveMode Always, but stdin is no terminal"):
        transport(Connection(kubeconfig=write(source, interactiveMode="Always"))).get("/version")


@pytest.mark.parametrize("child", ["", "import subprocess; subprocess.Popen(['sleep', '2']); "])
def test_a_plugin_that_hangs_is_ended(tmp_path: Path, around: CredentialContext, child: str) -> None:
    program = kubeconfigs.plugin(
        tmp_path, f"sys.stderr.write('open this page'); sys.stderr.flush(); {child}time.sleep(20)"
    )
    plugin = ExecPlugin(str(program), api_version=kubeconfigs.API)
    with pytest.raises(Unauthorized, match=r"no answer within 1 s; it said: open this page"):
        exec_plugin.run(plugin, around, timeout=1.0)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_plugin_that_prints_without_an_end(tmp_path: Path, around: CredentialContext, stream: str) -> None:
    program = kubeconfigs.plugin(tmp_path, f"while True: sys.{stream}.write('x' * 65536)")
    plugin = ExecPlugin(str(program), api_version=kubeconfigs.API)
    begun = time.monotonic()
    with pytest.raises(ConfigError, match="printed more than 1 MiB") as caught:
        exec_plugin.run(plugin, around, timeout=60.0)
    assert "by hand" in caught.value.hint and "xxx" not in caught.value.message
    assert time.monotonic() - begun < 30


def test_a_plugin_that_is_run_again_has_what_is_left_of_the_time(
    server: ApiServer, write: Any, transport: MakeTransport
) -> None:
    server.accepts = lambda _: False
    begun = time.monotonic()
    with pytest.raises(ClusterError, match=r"no answer within|cannot be read within"):
        source = "time.sleep(1.5)\nsay(token=str(runs()))\n"
        transport(Connection(kubeconfig=write(source), read_timeout=2.0)).get("/version")
    assert time.monotonic() - begun < 2.9


def test_a_plugin_may_bring_a_client_certificate(authority: Any, transport: MakeTransport, tmp_path: Path) -> None:
    issued = [authority.ca.issue_cert("x@example.com", common_name=f"role-{i}") for i in (1, 2)]
    pems = [(c.cert_chain_pems[0].bytes().decode(), c.private_key_pem.bytes().decode()) for c in issued]
    program = kubeconfigs.plugin(
        tmp_path, f"c, k = {pems!r}[runs() - 1]; say(clientCertificateData=c, clientKeyData=k)"
    )
    with ApiServer(authority.server_context(clients=True)) as server:
        user = kubeconfigs.exec_user(program)
        config = kubeconfigs.one(tmp_path / "config", server.url, authority.pem, user)
        server.accepts = lambda request: request.client == "role-1" or len(server.requests) > 2
        api = transport(Connection(kubeconfig=config))
        api.get("/version")
        server.accepts = lambda request: request.client == "role-2"
        api.get("/version")
        assert [r.client for r in server.requests] == ["role-1", "role-1", "role-2"]


@pytest.mark.parametrize(
    ("own", "expected"),
    [({"token": "own"}, "Bearer own"), ({"username": "jane", "password": "p"}, "Basic amFuZTpw")],
)
def test_it_does_not_run_when_the_user_has_something_else(
    server: ApiServer, authority: Any, transport: MakeTransport, tmp_path: Path, own: dict[str, str], expected: str
) -> None:
    program = kubeconfigs.plugin(tmp_path, "runs(); say(token='plugin')")
    config = kubeconfigs.one(tmp_path / "config", server.url, authority.pem, kubeconfigs.exec_user(program) | own)
    transport(Connection(kubeconfig=config)).get("/version")
    assert server.requests[0].header("Authorization") == expected
    transport(Connection(kubeconfig=config, token="flag")).get("/version")
    assert server.requests[1].header("Authorization") == "Bearer flag" and kubeconfigs.runs(program) == 0


def test_a_token_file_is_read_again_after_a_minute_or_a_refusal(
    server: ApiServer, authority: Any, transport: MakeTransport, tmp_path: Path
) -> None:
    clock = [NOW]
    (tmp_path / "token").write_text("one\n")
    config = kubeconfigs.one(tmp_path / "config", server.url, authority.pem, {"tokenFile": "token", "token": "ignored"})
    api = transport(Connection(kubeconfig=config), now=lambda: clock[0])
    api.get("/version")
    (tmp_path / "token").write_text("two\n")
    api.get("/version")
    clock[0] += timedelta(minutes=1)
    api.get("/version")
    (tmp_path / "token").write_text("three\n")
    server.accepts = lambda request: request.header("Authorization") == "Bearer three"
    api.get("/version")
    sent = [r.header("Authorization").removeprefix("Bearer ") for r in server.requests]
    assert sent == ["one", "one", "two", "two", "three"]


@pytest.mark.parametrize(("content", "message"), [(None, "cannot be read"), ("\n", "is empty")])
def test_a_token_file_without_a_token(
    server: ApiServer, transport: MakeTransport, tmp_path: Path, content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "token").write_text(content)
    config = kubeconfigs.one(tmp_path / "config", server.url, user={"tokenFile": "token"})
    with pytest.raises(ConfigError, match=message):
        transport(Connection(kubeconfig=config)).get("/version")


def test_what_another_request_renewed_may_have_ended_too(
    server: ApiServer, around: CredentialContext, tmp_path: Path
) -> None:
    made = iter(Credential(f"Bearer {i}") for i in range(9))
    credentials, asked = Credentials(lambda: next(made), lambda: NOW), list[str]()
    access = connect(Connection(kubeconfig=kubeconfigs.one(tmp_path / "config", server.url)), around)
    exchanges = Exchanges(replace(access, credentials=credentials), RetryPolicy(), real_timing())

    def ask(credential: Credential) -> HttpAnswer:
        asked.append(credential.authorization)
        if credential.authorization == "Bearer 0":
            credentials.renewed(credential)  # as another request does meanwhile
        return HttpAnswer(200 if credential.authorization == "Bearer 2" else 401, b"", {})

    assert exchanges.admitted(ask).status == 200 and asked == ["Bearer 0", "Bearer 1", "Bearer 2"]
    asked.clear()
    assert exchanges.admitted(lambda each: HttpAnswer(401, b"", {})).status == 401, "refused for good"
    assert next(made).authorization == "Bearer 4", "and only one more was asked for"


def test_who_waited_for_a_run_that_failed_does_not_run_it_again() -> None:
    """And who asks later does."""
    begun, over = threading.Event(), threading.Event()
    tried: list[int] = []

    def source() -> Credential:
        tried.append(1)
        begun.set()
        over.wait(10)
        raise Unauthorized("sign in", "aws sso login")

    credentials = Credentials(source, lambda: NOW)
    said: list[str] = []

    def ask() -> None:
        try:
            credentials.current()
        except Unauthorized as error:
            said.append(f"{error.message}; {error.hint}")

    threads = [threading.Thread(target=ask) for _ in range(4)]
    threads[0].start()
    assert begun.wait(10)
    for thread in threads[1:]:
        thread.start()
    time.sleep(0.1)  # until they wait
    over.set()
    for thread in threads:
        thread.join()
    assert said == ["sign in; aws sso login"] * 4 and len(tried) == 1
    ask()
    assert len(tried) == 2


def test_connections_of_one_process_share_it(
    server: ApiServer, write: Any, around: CredentialContext, tmp_path: Path
) -> None:
    config = write("say(token=f't{runs()}')")
    made = [connect(Connection(kubeconfig=config), around).credentials for _ in range(5)]
    assert {each.current().authorization for each in made} == {"Bearer t1"}
    refused = made[0].current()
    assert {each.renewed(refused)[0].authorization for each in made} == {"Bearer t2"}
    assert kubeconfigs.runs(tmp_path / "plugin") == 2


def test_who_signs_in_otherwise_does_not_share_it(write: Any, around: CredentialContext, tmp_path: Path) -> None:
    config = write("say(token=f't{runs()}')")
    others = (
        around,
        replace(around, environ={**around.environ, "AWS_PROFILE": "b"}),
        replace(around, interactive=True),
    )
    for each in others:
        connect(Connection(kubeconfig=config), each).credentials.current()
    assert kubeconfigs.runs(tmp_path / "plugin") == 3
