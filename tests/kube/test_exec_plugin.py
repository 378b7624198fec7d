"""Credential plugins as real processes: their output, their failures, and how often they run."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
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
from kubectl_eksdoc.kube.config import open_access
from kubectl_eksdoc.kube.exchanges import Exchanges, RetryPolicy, real_timing
from kubectl_eksdoc.kube.kubeconfig import choose_target
from kubectl_eksdoc.kube.responses import HttpResponse
from kubectl_eksdoc.kube.target import (
    Credential,
    CredentialContext,
    Credentials,
    ExecPlugin,
    ServerEntry,
    process_credential_context,
)
from kubectl_eksdoc.kube.transport import Transport
from kubectl_eksdoc.model.connection import Connection
from tests.fakes import kubeconfigs
from tests.fakes.apiserver import ApiServer

MakeTransport = Callable[..., Transport]
Running = MakeTransport
NOW = datetime(2026, 11, 20, 9, 30, 5, tzinfo=timezone.utc)


def at(**later: int) -> str:
    return (NOW + timedelta(**later)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture
def running(signed_in: Callable[..., Transport], tmp_path: Path) -> Callable[..., Transport]:
    """A transport for a user whose plugin has this source."""

    def make(source: str, *args: str, around: Any = None, **more: Any) -> Transport:
        program = kubeconfigs.plugin(tmp_path, source)
        return signed_in(kubeconfigs.exec_user(program, *args, **more), **(around or {}))

    return make


@pytest.mark.parametrize("expiry", [at(minutes=-2), None])
def test_eight_threads_share_one_run(server: ApiServer, running: Running, tmp_path: Path, expiry: str | None) -> None:
    api = running(f"runs(); time.sleep(0.05); say(token='t', expirationTimestamp={expiry!r})")
    assert kubeconfigs.runs(tmp_path / "plugin") == 0
    threads = [threading.Thread(target=lambda: [api.get("/version") for _ in range(3)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [r.header("Authorization") for r in server.requests] == ["Bearer t"] * 24
    assert kubeconfigs.runs(tmp_path / "plugin") == 1


def test_a_token_refused_for_ever(server: ApiServer, running: Running, tmp_path: Path) -> None:
    server.accepts = lambda request: False
    with pytest.raises(Unauthorized) as caught:
        running("say(token=f't{runs()}')", env=[{"name": "AWS_PROFILE", "value": "prod"}]).get("/version")
    assert kubeconfigs.runs(tmp_path / "plugin") == 2
    assert len(server.requests) == 2
    assert f"does not accept credentials from '{tmp_path}/plugin'" in caught.value.message
    assert "aws sts get-caller-identity --profile prod" in caught.value.hint


def test_it_runs_again_when_its_token_has_ended(server: ApiServer, running: Running) -> None:
    clock = [NOW]
    source = f"say(token=f't{{runs()}}', expirationTimestamp={at(minutes=14)!r})"
    api = running(source, around={"now": lambda: clock[0]})
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
def test_a_failing_plugin_is_quoted(running: Running, complaint: str, hint: str) -> None:
    source = f"sys.stderr.write({complaint!r} + ' X-Amz-Security-Token=hunter2'); sys.exit(255)"
    with pytest.raises(Unauthorized) as caught:
        running(source, "get-token", "--profile", "prod").get("/version")
    said = caught.value.message
    assert f"get-token --profile prod' failed (exit 255): {complaint} X-Amz-Security-Token=" in said
    assert hint in caught.value.hint and "hunter2" not in said


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
def test_garbage(running: Running, source: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        running(f"sys.stderr.write('hm'); {source}").get("/version")
    said = caught.value.message
    assert message in said and "hm" in said and "secret" not in said


def test_a_plugin_that_is_not_there(signed_in: Running, tmp_path: Path) -> None:
    def told(command: str, **more: Any) -> ConfigError:
        user = kubeconfigs.exec_user(command, "eks", "get-token", **more)
        with pytest.raises(ConfigError) as caught:
            signed_in(user, environ={"PATH": str(tmp_path)}).get("/version")
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


TELL = (
    "told = [os.environ.get(n) for n in ('A', 'B', 'KUBERNETES_EXEC_INFO')]; "
    "say(token=json.dumps([*told, sys.stdin.read(), os.getcwd()]))"
)


def test_what_it_is_told(server: ApiServer, running: Running, authority: Any) -> None:
    environ = {"PATH": "/usr/bin:/bin", "A": "ours", "B": "ours"}
    running(TELL, env=[{"name": "A", "value": "theirs"}], around={"environ": environ}).get("/version")
    a, b, info, stdin, folder = json.loads(server.requests[0].header("Authorization").removeprefix("Bearer "))
    assert (a, b, stdin, folder) == ("theirs", "ours", "", os.getcwd())
    told = {"apiVersion": kubeconfigs.API, "kind": "ExecCredential", "spec": {"interactive": False}}
    assert json.loads(info) == told
    running(TELL, provideClusterInfo=True, around={"environ": environ}).get("/version")
    info = json.loads(server.requests[1].header("Authorization").removeprefix("Bearer "))[2]
    cluster = {"server": server.url, "certificate-authority-data": kubeconfigs.b64(authority.pem)}
    assert json.loads(info) == {**told, "spec": {"interactive": False, "cluster": cluster}}


def test_what_it_is_told_of_its_cluster(tmp_path: Path, around: CredentialContext) -> None:
    ca, plugin = tmp_path / "ca.crt", {"command": "login", "provideClusterInfo": True}
    ca.write_text("the CA", encoding="ascii")
    fields = {
        "server": "https://x",
        "certificate-authority": "ca.crt",
        "tls-server-name": "other.test",
        "proxy-url": "http://proxy:1",
        "disable-compression": True,
        "extensions": [
            {"name": "else", "extension": 1},
            {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}},
        ],
    }
    config = kubeconfigs.many(tmp_path / "c", {"x": fields}, {"x": {"exec": plugin}}, {"x": ("x", "x")}, "x")
    found = choose_target(Connection(kubeconfig=config), around)
    assert found.user.plugin is not None
    assert exec_plugin._exec_info(found.user.plugin, found.server, interactive=True)["spec"] == {
        "interactive": True,
        "cluster": {
            "server": "https://x",
            "certificate-authority-data": kubeconfigs.b64(b"the CA"),
            "tls-server-name": "other.test",
            "proxy-url": "http://proxy:1",
            "disable-compression": True,
            "config": {"audience": "a"},
        },
    }
    ca.unlink()
    with pytest.raises(ConfigError, match=r"ca\.crt cannot be read"):
        exec_plugin._exec_info(found.user.plugin, found.server, interactive=True)


def test_what_it_asks_a_user_is_shown_as_it_comes(running: Running) -> None:
    said: list[str] = []
    source = "sys.stderr.write('MFA code: '); sys.stderr.flush(); say(token='t')"
    for mode in ("Always", "IfAvailable", "Never"):
        running(source, interactiveMode=mode, around={"interactive": True, "show_prompt": said.append}).get("/version")
    assert said == ["MFA code: "] * 2
    with pytest.raises(ConfigError, match="interactiveMode Always, but stdin is no terminal"):
        running(source, interactiveMode="Always").get("/version")


@pytest.mark.parametrize("child", ["", "import subprocess; subprocess.Popen(['sleep', '2']); "])
def test_a_plugin_that_hangs_is_ended(tmp_path: Path, around: CredentialContext, child: str) -> None:
    program = kubeconfigs.plugin(
        tmp_path, f"sys.stderr.write('open this page'); sys.stderr.flush(); {child}time.sleep(20)"
    )
    plugin = ExecPlugin(str(program), api_version=kubeconfigs.API)
    with pytest.raises(Unauthorized, match=r"no answer within 1 s; it said: open this page"):
        exec_plugin.run_plugin(plugin, ServerEntry("https://x"), around, timeout_s=1.0)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_plugin_that_prints_without_an_end(tmp_path: Path, around: CredentialContext, stream: str) -> None:
    program = kubeconfigs.plugin(tmp_path, f"while True: sys.{stream}.write('x' * 65536)")
    plugin = ExecPlugin(str(program), api_version=kubeconfigs.API)
    begun = time.monotonic()
    with pytest.raises(ConfigError, match="printed more than 1 MiB") as caught:
        exec_plugin.run_plugin(plugin, ServerEntry("https://x"), around, timeout_s=60.0)
    assert "by hand" in caught.value.hint and "xxx" not in caught.value.message
    assert time.monotonic() - begun < 30


def test_a_plugin_that_is_run_again_has_what_is_left_of_the_time(server: ApiServer, running: Running) -> None:
    server.accepts = lambda _: False
    begun = time.monotonic()
    with pytest.raises(ClusterError, match=r"no answer within|cannot be read within"):
        source = "time.sleep(1.5)\nsay(token=str(runs()))\n"
        running(source, around={"flags": {"read_timeout": 2.0}}).get("/version")
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


def test_a_token_file_is_read_again_after_a_minute_or_a_refusal(
    server: ApiServer, signed_in: Running, tmp_path: Path
) -> None:
    clock = [NOW]
    (tmp_path / "token").write_text("one\n")
    api = signed_in({"tokenFile": "token", "token": "ignored"}, now=lambda: clock[0])
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
def test_a_token_file_without_a_token(signed_in: Running, tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "token").write_text(content)
    with pytest.raises(ConfigError, match=message):
        signed_in({"tokenFile": "token"}).get("/version")


def test_what_another_request_renewed_may_have_ended_too(
    server: ApiServer, around: CredentialContext, tmp_path: Path
) -> None:
    made = iter(Credential(f"Bearer {i}") for i in range(9))
    credentials, asked = Credentials(lambda: next(made), lambda: NOW), list[str]()
    access = open_access(Connection(kubeconfig=kubeconfigs.one(tmp_path / "config", server.url)), around)
    exchanges = Exchanges(replace(access, credentials=credentials), RetryPolicy(), real_timing())

    def ask(credential: Credential) -> HttpResponse:
        asked.append(credential.authorization)
        if credential.authorization == "Bearer 0":
            credentials.renew(credential)  # another request does the same meanwhile
        return HttpResponse(200 if credential.authorization == "Bearer 2" else 401, b"", {})

    assert exchanges.with_credentials(ask).status == 200 and asked == ["Bearer 0", "Bearer 1", "Bearer 2"]
    asked.clear()
    assert exchanges.with_credentials(lambda each: HttpResponse(401, b"", {})).status == 401, "refused for good"
    assert next(made).authorization == "Bearer 4", "and only one more was asked for"


def test_who_waited_for_a_run_that_failed_does_not_run_it_again() -> None:
    """A later request runs it again."""
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


def test_connections_of_one_process_share_it(server: ApiServer, around: CredentialContext, tmp_path: Path) -> None:
    user = kubeconfigs.exec_user(kubeconfigs.plugin(tmp_path, "say(token=f't{runs()}')"))
    config = kubeconfigs.one(tmp_path / "config", server.url, user=user)
    made = [open_access(Connection(kubeconfig=config), around).credentials for _ in range(5)]
    assert {each.current().authorization for each in made} == {"Bearer t1"}
    refused = made[0].current()
    assert {each.renew(refused)[0].authorization for each in made} == {"Bearer t2"}
    assert kubeconfigs.runs(tmp_path / "plugin") == 2
    other = replace(around, environ={**around.environ, "AWS_PROFILE": "b"})
    for number, each in enumerate((other, replace(around, interactive=True)), 3):
        assert (
            open_access(Connection(kubeconfig=config), each).credentials.current().authorization == f"Bearer t{number}"
        )


# Whether a credential plugin may prompt the user at the terminal.

pty = pytest.importorskip("pty")
tty = pytest.importorskip("tty")


def test_nobody_is_asked_while_screens_read_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The screens put their terminal into raw mode."""
    near, far = pty.openpty()
    try:
        with os.fdopen(os.dup(far), "r") as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            assert process_credential_context().interactive
            tty.setraw(far)
            assert not process_credential_context().interactive
    finally:
        os.close(near)
        os.close(far)


def test_a_pipe_answers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("yes\n"))
    assert not process_credential_context().interactive


# Ctrl-C while a server does not answer: the process ends at once, and no thread keeps it alive.

PROGRAM = """
import signal, sys
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.kube.reader import LiveReader
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
try:
    LiveReader(Connection(kubeconfig=sys.argv[1])).read(kinds.ALL)
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.long
def test_interrupt(server: ApiServer, config: str) -> None:
    server.open.clear()
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, config], stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 20
        while len(server.requests) < 5 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert len(server.requests) == 5  # the version, then four lists that hang
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        _, complaint = process.communicate(timeout=10)
        assert (process.returncode, complaint) == (130, "")
        assert time.monotonic() - started < 5
    finally:
        server.open.set()
        process.kill()
