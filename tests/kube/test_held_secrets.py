"""A server, a proxy, AWS and a plugin repeat the secrets that they received: none of them appears in a message."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.aws.refusals import LiveAws
from kubectl_eksdoc.errors import AwsError, ClusterError, ConfigError, EksdocError
from kubectl_eksdoc.held_secrets import MIN_LENGTH, redact_held, register_secrets
from kubectl_eksdoc.kube.config import cluster_address, kube_contexts, open_access
from kubectl_eksdoc.kube.responses import MAX_MESSAGE, HttpResponse, status_of
from kubectl_eksdoc.kube.target import CredentialContext, ExecPlugin, ServerEntry
from kubectl_eksdoc.kube.transport import Transport
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus
from kubectl_eksdoc.model import aws_operations as questions
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.eks import AwsAccess
from tests.fakes import kubeconfigs
from tests.fakes.apiserver import ApiServer, Reply, Request, refused

PODS = kinds.PODS.path
MakeTransport = Callable[..., Transport]
SECRET = "plain words 7q/" * 3
"""In no form that anybody would know again."""


def said_of(error: EksdocError) -> str:
    return f"{error.message} {error.hint}"


def repeated(request: Request) -> str:
    """The token, or the user and password, that the other side repeats."""
    sort, _, value = request.header("authorization").partition(" ")
    return value if sort == "Bearer" else f"{value} that is {base64.b64decode(value).decode()}"


@pytest.mark.parametrize("user", [{"token": "mellon-1-mellon"}, {"username": "ann", "password": "mellon-2/mellon"}])
@pytest.mark.parametrize(
    "reply",
    [
        lambda word: refused(f"Unauthorized: bearer {word}", "Unauthorized", 401),
        lambda word: refused(f"no webhook takes {word} of you", "InternalError", 400),
        lambda word: Reply(502, {"Content-Type": "text/html"}, f"<p>{word}</p>".encode()),
        lambda word: Reply(200, {"Content-Type": f"text/{word}"}, word.encode()),
        lambda word: Reply(302, {"Location": f"https://login.example.com/{word}/"}),
        lambda word: Reply(200, {"Content-Type": "application/json", "Content-Encoding": word}, b"{}"),
    ],
)
def test_a_server_that_repeats_it(
    server: ApiServer, signed_in: MakeTransport, user: dict[str, Any], reply: Callable[[str], Reply]
) -> None:
    words: list[str] = []

    def answered(request: Request) -> Reply:
        words.append(repeated(request))
        return reply(words[-1])

    server.always[PODS] = answered
    with pytest.raises(ClusterError) as caught:
        signed_in(user).get(PODS)
    said = said_of(caught.value).lower()
    assert "mellon" not in said and "…" in said, said
    assert words[0].partition(" ")[0].lower() not in said


def test_what_a_plugin_and_a_file_give(server: ApiServer, signed_in: MakeTransport, tmp_path: Path) -> None:
    server.always[PODS] = lambda request: refused(f"who is {repeated(request)}?", "Unauthorized", 401)
    (tmp_path / "token").write_text("mellon-3-mellon\n")
    plugin = kubeconfigs.plugin(tmp_path, "say(token=f'mellon-4-mellon-{runs()}')\n")
    for user in (kubeconfigs.exec_user(plugin), {"tokenFile": str(tmp_path / "token")}):
        with pytest.raises(ClusterError) as caught:
            signed_in(user).get(PODS)
        assert "mellon" not in said_of(caught.value) and "who is …?" in caught.value.message


def test_a_plugin_that_says_what_it_prints(signed_in: MakeTransport, tmp_path: Path) -> None:
    for secret, status in (
        ("mellon-14-m", "token={}, expirationTimestamp='soon'"),
        ("mellon-15-m", "clientKeyData={}"),
        ("mellon-16-m", "token={}, clientKeyData='x'"),
    ):
        source = f"sys.stderr.write('{secret} it is'); say({status.format(repr(secret))})\n"
        plugin = kubeconfigs.plugin(tmp_path, source)
        with pytest.raises(ConfigError, match="On stderr it said: … it is"):
            signed_in(kubeconfigs.exec_user(plugin)).get(PODS)


@pytest.mark.parametrize("end", ["\r\n", "\0", "\u20ac"])
def test_one_that_no_header_may_have_is_told_without_it(server: ApiServer, signed_in: MakeTransport, end: str) -> None:
    for flags in ({}, {"token": "a", "impersonate_user": f"a{end}b"}):
        with pytest.raises(ConfigError, match="no HTTP header may have") as caught:
            signed_in({"token": f"mellon-13-m{end}x"}, flags=flags).get(PODS)
        assert "mellon" not in said_of(caught.value)
    assert server.requests == []


def test_what_is_written_to_a_journal_is_a_status_without_it() -> None:
    register_secrets(SECRET)
    body = ApiStatus(403, "Forbidden", f"admission denied {SECRET}.").to_document()
    answer = HttpResponse(403, json.dumps(body).encode(), {"content-type": "application/json"})
    status = status_of(answer)
    assert isinstance(status, ApiStatus) and status.message == "admission denied …."


def test_none_is_cut_in_the_middle() -> None:
    register_secrets(SECRET)
    for before in range(MAX_MESSAGE - len(SECRET), MAX_MESSAGE + 2):
        body = json.dumps({"message": "x" * before + SECRET.strip()}).encode()
        assert "plain" not in HttpResponse(500, body, {"content-type": "application/json"}).message


def test_logins_of_the_environment_and_of_addresses(tmp_path: Path) -> None:
    """Over plain http no credentials are sent; those of the kubeconfig are removed from messages all the same."""
    environ = {"HTTPS_PROXY": "http://ann:mellon-5%2Fmellon@127.0.0.1:1", "AWS_ENDPOINT_URL": "http://a:mellon-6-m@h"}
    environ |= {"AWS_SECRET_ACCESS_KEY": "mellon-7-mellon", "no_proxy": "ben:mellon-8-m@p"}
    config = kubeconfigs.one(tmp_path / "config", "http://a:mellon-9-m@127.0.0.1:1", user={"token": "mellon-10-m"})
    open_access(Connection(kubeconfig=config), CredentialContext(environ=environ, home=str(tmp_path)))
    said = [f"mellon-{number}-m" for number in (6, 8, 9, 10)] + ["mellon-5/mellon", "mellon-5%2Fmellon"]
    said += ["mellon-7-mellon", base64.b64encode(b"ann:mellon-5/mellon").decode()]
    assert redact_held(" ".join(said)) == " ".join("…" * len(said))
    register_secrets("a" * (MIN_LENGTH - 1), "", "  ")
    assert redact_held("a" * MIN_LENGTH + "  ") == "a" * MIN_LENGTH + "  ", "short words are no secrets"


def test_an_aws_that_repeats_them() -> None:
    def answered(request: Request) -> Reply:
        said = f"not {SECRET_KEY} with {request.header('x-amz-security-token')}"
        return Reply(400, {"x-amzn-ErrorType": "Odd"}, json.dumps({"message": said}).encode())

    SECRET_KEY = "mellon-11-mellon"
    keys = (("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", SECRET_KEY), ("AWS_SESSION_TOKEN", "mellon-12-m"))
    files = (("AWS_CONFIG_FILE", "/dev/null"), ("AWS_SHARED_CREDENTIALS_FILE", "/dev/null"))
    with ApiServer() as server:
        server.always["/clusters/prod"] = answered
        aws = LiveAws(AwsAccess("prod", "eu-west-1", settings=(*keys, *files)), server.url, 1)
        with pytest.raises(AwsError) as caught:
            aws.ask(questions.CLUSTER, {"name": "prod"})
    assert "not … with …" in caught.value.message


# A message about a server has only the host of its address: neither a password nor a rehearsal's token.

SECRET_PATH = "/as/hunter2-token"


@pytest.fixture
def plain() -> Any:
    with ApiServer(None) as server:
        yield server


def secret_url(port: int) -> str:
    return f"http://admin:hunter2@127.0.0.1:{port}{SECRET_PATH}"


@pytest.mark.parametrize(
    "reply",
    [
        refused("the proxy http://admin:hunter2@h/as/hunter2 says no", "Unauthorized", 401),
        Reply(200, {"Content-Type": "text/html"}, b"<a href='http://admin:hunter2@h/as/hunter2'>log in</a>"),
        Reply(302, {"Location": "http://admin:hunter2@login/?token=hunter2"}),
        Reply(200, {"Content-Type": "application/json"}, b'{"items": [', sent=5),
    ],
    ids=["echo", "page", "redirect", "cut"],
)
def test_of_a_server_that_refuses(plain: ApiServer, transport: MakeTransport, tmp_path: Path, reply: Reply) -> None:
    plain.script(f"{SECRET_PATH}/api/v1/pods", *[reply] * 9)
    api = transport(Connection(kubeconfig=kubeconfigs.one(tmp_path / "config", secret_url(plain.port))))
    with pytest.raises(EksdocError) as caught:
        api.get("/api/v1/pods", right="list pods")
    assert f"127.0.0.1:{plain.port}" in caught.value.message
    assert "hunter2" not in f"{caught.value.message} {caught.value.hint}"


def test_of_a_server_that_is_away(transport: MakeTransport, tmp_path: Path) -> None:
    config = Connection(kubeconfig=kubeconfigs.one(tmp_path / "config", secret_url(1)))
    with pytest.raises(EksdocError, match="http://127.0.0.1:1 cannot be reached") as caught:
        transport(config).get("/version")
    assert "hunter2" not in f"{caught.value.message} {caught.value.hint}"
    assert cluster_address(config, CredentialContext()).server == "http://127.0.0.1:1"


@pytest.mark.parametrize("url", ["http://admin:hunter2@:1", "http://admin:hunter2/x@h:1", "ftp://admin:hunter2@h"])
@pytest.mark.parametrize("field", ["server", "proxy-url"])
def test_of_an_address_that_is_none(url: str, field: str, tmp_path: Path) -> None:
    fields = {"proxy-url": url} if field == "proxy-url" else {}
    server = "http://h" if field == "proxy-url" else url
    with pytest.raises(EksdocError) as caught:
        open_access(Connection(kubeconfig=kubeconfigs.one(tmp_path / "config", server, **fields)), CredentialContext())
    assert "hunter2" not in f"{caught.value.message} {caught.value.hint}"


def test_of_the_line_of_a_plugin() -> None:
    usual = ("--region", "eu-west-1", "eks", "get-token", "--cluster-name", "shop", "--output", "json")
    assert ExecPlugin("aws", usual).safe_command_line == f"aws {' '.join(usual)}"
    assert ExecPlugin("aws-vault", ("exec", "ops", "--", "aws", *usual[2:])).safe_command_line.startswith(
        "aws-vault exec ops -- aws eks"
    )
    args = ("get-token", "--client-secret", "hunter2", "--password=hunter2", "-phunter2", "hunter2", "--role=r")
    plugin = ExecPlugin("login", args, (("LOGIN_TOKEN", "a-token"), ("AWS_PROFILE", "ops")))
    assert plugin.safe_command_line == "login get-token --client-secret … --password=… … … --role=r"
    assert "hunter2" not in repr(plugin) and "a-token" not in repr(plugin)
    said = "unrecognized: --password=hunter2 hunter2 with a-token of profile ops; try get-token"
    assert plugin.redact(said) == "unrecognized: … … with … of profile ops; try get-token"
    assert "hunter2" not in repr(
        ServerEntry("http://admin:hunter2@h", proxy_url="http://hunter2@h", exec_config="hunter2")
    )


# The cluster that the kubeconfig selects: a different key for every property by which two may differ.

AROUND = CredentialContext()


@pytest.fixture
def config(tmp_path: Path) -> Connection:
    (tmp_path / "ca.crt").write_text("one authority")
    path = kubeconfigs.many(
        tmp_path / "config",
        {
            "a": {"server": "https://a", "certificate-authority-data": kubeconfigs.b64(b"-----BEGIN one")},
            "a2": {"server": "https://a", "certificate-authority-data": kubeconfigs.b64(b"-----BEGIN two")},
            "f": {"server": "https://f", "certificate-authority": "ca.crt"},
        },
        {"u": {"token": "one"}, "v": {"token": "two"}},
        {
            "blue": ("a", "u"),
            "again": ("a", "u"),
            "made-anew": ("a2", "u"),
            "other-user": ("a", "v"),
            "file": ("f", "u"),
        },
        "blue",
    )
    return Connection(kubeconfig=path)


def test_no_two_contexts_share_a_key(config: Connection) -> None:
    keys = {name: cluster_address(replace(config, context=name), AROUND).key for name in kube_contexts(config, AROUND)}
    assert len(keys) == 5 and len(set(keys.values())) == 5
    assert cluster_address(config, AROUND) == cluster_address(replace(config, context="blue"), AROUND)
    assert cluster_address(config, AROUND).server == "https://a" and cluster_address(config, AROUND).context == "blue"
    assert cluster_address(replace(config, impersonate_user="jane"), AROUND).key not in keys.values()
    assert cluster_address(replace(config, server="https://tunnel"), AROUND).key not in keys.values()


def test_an_authority_in_a_file_counts_by_what_is_in_it(config: Connection, tmp_path: Path) -> None:
    file = replace(config, context="file")
    before = cluster_address(file, AROUND).key
    (tmp_path / "ca.crt").write_text("another authority")
    assert cluster_address(file, AROUND).key != before
    (tmp_path / "ca.crt").unlink()
    assert cluster_address(file, AROUND).key != before


def test_no_secret_is_in_the_key_by_itself(config: Connection, tmp_path: Path) -> None:
    before = cluster_address(config, AROUND).key
    assert cluster_address(replace(config, token="another"), AROUND).key == before
    url, login = ("https://a", "https://admin:hunter2@a")
    plain, with_user = (cluster_address(replace(config, server=each), AROUND) for each in (url, login))
    assert plain.key == with_user.key and with_user.server == url


def test_contexts_of_a_kubeconfig_that_cannot_be_used_are_none(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[")
    assert kube_contexts(Connection(kubeconfig=str(tmp_path / "config")), AROUND) == ()
    with pytest.raises(ConfigError, match="is not YAML"):
        cluster_address(Connection(kubeconfig=str(tmp_path / "config")), AROUND)
