"""The real kubectl and this tool get the same kubeconfigs and flags: the servers must see the same requests."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.cli.flags import GlobalOptions
from kubectl_eksdoc.cli.parser import Parser, expand_bare_flags
from kubectl_eksdoc.errors import ClusterError
from kubectl_eksdoc.kube.kubeconfig import choose_target
from kubectl_eksdoc.kube.target import CredentialContext
from kubectl_eksdoc.kube.transport import Transport
from kubectl_eksdoc.model.connection import Connection
from tests import required_programs
from tests.fakes import kubeconfigs
from tests.fakes.apiserver import ApiServer, Request
from tests.fakes.proxy import Proxy


def _kubectl() -> str:
    """A plain kubectl: a `kubectl` that only selects one of several would also request /version."""
    real = Path(required_programs.kubectl()).resolve()
    return str(next((p for p in sorted(real.parent.glob("kubectl.1.*"), reverse=True)), real))


@dataclass
class World:
    first: ApiServer
    second: ApiServer
    files: tuple[str, str]
    folder: Path
    transport: Callable[..., Transport]

    def environ(self, **more: str) -> dict[str, str]:
        return {
            "KUBECONFIG": os.pathsep.join((self.files[0], str(self.folder / "missing"), self.files[1])),
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.folder),
            **more,
        }

    def kubectl(self, *args: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [_kubectl(), *args],
            env=self.environ(**environ),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=20,
        )

    def seen(self) -> list[tuple[Any, ...]]:
        """The requests that reached either server since the last call."""
        told = [("first", *_told(r)) for r in self.first.requests] + [
            ("second", *_told(r)) for r in self.second.requests
        ]
        self.first.requests.clear()
        self.second.requests.clear()
        return told


def _told(request: Request) -> tuple[Any, ...]:
    impersonation = sorted((k.lower(), v) for k, v in request.headers if k.lower().startswith("impersonate"))
    return request.path, request.header("Authorization"), request.server_name, request.client, impersonation


@pytest.fixture
def world(authority: Any, tmp_path: Path, transport: Callable[..., Transport]) -> Iterator[World]:
    issued = authority.ca.issue_cert("jane@example.com", common_name="jane")
    (tmp_path / "b" / "pki").mkdir(parents=True)
    (tmp_path / "b" / "pki" / "jane.crt").write_bytes(issued.cert_chain_pems[0].bytes())
    (tmp_path / "b" / "jane.key").write_bytes(issued.private_key_pem.bytes())
    (tmp_path / "b" / "ca.crt").write_bytes(authority.pem)
    (tmp_path / "b" / "token").write_text("from-file\n")
    program = kubeconfigs.plugin(tmp_path / "b", "say(token='from-plugin')")
    contexts = [authority.server_context("localhost", "127.0.0.1", "other.test") for _ in range(2)]
    for context in contexts:
        authority.ca.configure_trust(context)
        context.verify_mode = __import__("ssl").CERT_OPTIONAL
    with ApiServer(contexts[0]) as first, ApiServer(contexts[1]) as second:
        a = kubeconfigs.many(
            tmp_path / "a" / "config",
            {"one": {"server": first.url, "certificate-authority-data": kubeconfigs.b64(authority.pem)}},
            {
                "token": {"token": "from-a"},
                "both": {"token": "literal", "tokenFile": "../b/token"},
                "as": {
                    "token": "t",
                    "as": "joe",
                    "as-groups": ["g1", "g2"],
                    "as-uid": "7",
                    "as-user-extra": {"why": ["x"]},
                },
                "basic": {"username": "u", "password": "p"},
            },
            {"ctx": ("one", "token"), "both": ("one", "both"), "as": ("one", "as"), "basic": ("one", "basic")},
        )
        b = kubeconfigs.many(
            tmp_path / "b" / "config",
            {
                "one": {"server": "https://hidden.invalid"},
                "two": {"server": second.url + "/", "certificate-authority": "ca.crt", "tls-server-name": "other.test"},
                "skip": {"server": second.url, "insecure-skip-tls-verify": True},
            },
            {
                "token": {"token": "hidden"},
                "cert": {"client-certificate": "pki/jane.crt", "client-key": "jane.key"},
                "file": {"tokenFile": "token"},
                "plugin": kubeconfigs.exec_user("./plugin"),
                "plugin-and-cert": {
                    **kubeconfigs.exec_user(program),
                    "client-certificate": "pki/jane.crt",
                    "client-key": "jane.key",
                },
            },
            {"ctx": ("two", "cert"), "two": ("two", "cert"), "file": ("two", "file"), "skip": ("skip", "file")},
            "two",
        )
        yield World(first, second, (a, b), tmp_path, transport)


def ours(flags: str) -> Connection:
    """The connection as the command line parses it."""
    parser = Parser(prog="kubectl eksdoc")
    GlobalOptions.add_to(parser, level=0)
    return GlobalOptions.from_args(
        parser.parse_args(expand_bare_flags(flags.split(), parser.flags_without_value()))
    ).connection


CASES = [
    "",
    "--context ctx",
    "--context skip",
    "--context both",
    "--context as",
    "--user plugin-and-cert",
    "--user token",
    "--user plugin",
    "--context basic",
    "--context ctx --cluster two --user file",
    "--user plugin --token flag",
    "--server {first} --context ctx",
    "--server {first} --tls-server-name other.test",
    "--tls-server-name 127.0.0.1",
    "--insecure-skip-tls-verify",
    "--context skip --certificate-authority b/ca.crt",
    "--as ann --as-group x --as-group y",
    "--context as --as-group x",
    "--as ann --as-uid 9",
    "--user token --client-certificate b/pki/jane.crt --client-key b/jane.key",
    "--kubeconfig a/config --cluster one --user token",
]


def sampled(cases: list[str]) -> pytest.MarkDecorator:
    """One in five in the quick tests, all of them in the long ones."""
    return pytest.mark.parametrize(
        "cases",
        [pytest.param(cases[::5], id="some"), pytest.param(cases, id="all", marks=pytest.mark.long)],
    )


@sampled(CASES)
def test_the_server_sees_the_same(world: World, monkeypatch: Any, cases: list[str]) -> None:
    differing = {}
    monkeypatch.chdir(world.folder)
    for case in cases:
        flags = case.replace("{first}", world.first.url)
        theirs = world.kubectl(*flags.split(), "get", "--raw", "/version")
        expected = world.seen()
        assert theirs.returncode == 0, theirs.stderr
        world.transport(ours(flags), environ=world.environ()).get("/version")
        if (seen := world.seen()) != expected:
            differing[flags] = (seen, expected)
    assert differing == {}


REFUSED = [
    "--context nope",
    "--cluster nope",
    "--user nope",
    "--kubeconfig nope",
    "--as-group x",
    "--context ctx --certificate-authority nope",
    "--context skip --certificate-authority b/ca.crt --insecure-skip-tls-verify",
    "--client-certificate nope",
]


@sampled(REFUSED)
def test_what_kubectl_refuses_we_refuse(world: World, monkeypatch: Any, cases: list[str]) -> None:
    monkeypatch.chdir(world.folder)
    for flags in cases:
        assert world.kubectl(*flags.split(), "get", "--raw", "/version").returncode != 0, flags
        with pytest.raises(ClusterError):
            world.transport(ours(flags), environ=world.environ()).get("/version")
        assert world.seen() == [], flags


@pytest.mark.long
def test_merged_contexts(world: World) -> None:
    """Each context of the merged files selects the server that kubectl shows for it."""
    environ = {"KUBECONFIG": os.pathsep.join(reversed(world.files))}
    shown = json.loads(world.kubectl("config", "view", "--raw", "-o", "json", **environ).stdout)
    clusters = {c["name"]: c["cluster"] for c in shown["clusters"]}
    users = {u["name"]: u.get("user") or {} for u in shown["users"]}
    around = CredentialContext(environ=environ)
    assert choose_target(Connection(), around).context == shown["current-context"]
    assert {c["name"] for c in shown["contexts"]} == {"ctx", "both", "as", "basic", "two", "file", "skip"}
    for context in shown["contexts"]:
        target = choose_target(Connection(context=context["name"]), around)
        assert (target.cluster_name, target.user_name) == (context["context"]["cluster"], context["context"]["user"])
        assert target.server.url == clusters[target.cluster_name]["server"].rstrip("/")
        assert target.user.token == users[target.user_name].get("token", "")
        minified = world.kubectl(
            "--context", context["name"], "config", "view", "--minify", "--raw", "-o", "json", **environ
        )
        assert json.loads(minified.stdout)["clusters"][0]["cluster"]["server"].rstrip("/") == target.server.url


@pytest.mark.long
def test_proxies(authority: Any, world: World, tmp_path: Path) -> None:
    """The same choice between proxy-url, HTTPS_PROXY, NO_PROXY and a direct connection."""
    with ApiServer(authority.server_context("api.example.test"), "api.example.test") as server:  # noqa: SIM117
        with Proxy(server.port) as proxy, Proxy(server.port) as other:
            url = f"http://{proxy.address}"
            plain = kubeconfigs.one(tmp_path / "plain", server.url, authority.pem, {"token": "t"})
            named = kubeconfigs.one(tmp_path / "named", server.url, authority.pem, {"token": "t"}, **{"proxy-url": url})
            for config, environ in (
                (named, {}),
                (named, {"HTTPS_PROXY": f"http://{other.address}", "NO_PROXY": "*"}),
                (plain, {"HTTPS_PROXY": other.address}),
                (plain, {"HTTPS_PROXY": other.address, "NO_PROXY": "test:1,other"}),
                (plain, {"https_proxy": other.address, "HTTP_PROXY": url}),
            ):
                seen = []
                theirs = world.kubectl("--kubeconfig", config, "get", "--raw", "/version", **environ)
                assert theirs.returncode == 0, theirs.stderr
                seen.append(([s[:2] for s in proxy.seen], [s[:2] for s in other.seen]))
                del proxy.seen[:], other.seen[:]
                world.transport(Connection(kubeconfig=config), environ=world.environ(**environ)).get("/version")
                seen.append(([s[:2] for s in proxy.seen], [s[:2] for s in other.seen]))
                del proxy.seen[:], other.seen[:]
                assert seen[0] == seen[1]
                assert sum(map(len, seen[0])) == 1


def test_the_token_flag_wins_over_a_token_file(world: World, monkeypatch: Any) -> None:
    """A deliberate difference: kubectl sends the file's token although the user gave the flag."""
    monkeypatch.chdir(world.folder)
    world.transport(ours("--user file --token flag"), environ=world.environ()).get("/version")
    assert world.seen()[0][2] == "Bearer flag"
    world.kubectl("--user", "file", "--token", "flag", "get", "--raw", "/version")
    assert world.seen()[0][2] == "Bearer from-file"
