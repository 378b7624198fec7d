"""A server, a proxy, AWS and a plugin repeat in their own words what they were sent: nothing of it is in a message."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.aws.refusals import LiveAws
from kubectl_eksdoc.errors import AwsError, ClusterError, ConfigError, EksdocError
from kubectl_eksdoc.held_secrets import SHORTEST, hold, without_held
from kubectl_eksdoc.kube.answers import MOST_SAID, HttpAnswer, status_of
from kubectl_eksdoc.kube.config import connect
from kubectl_eksdoc.kube.target import CredentialContext
from kubectl_eksdoc.kube.transport import Transport
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus
from kubectl_eksdoc.model import kinds, questions
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
    """The token, or user and password."""
    sort, _, value = request.header("authorization").partition(" ")
    return value if sort == "Bearer" else f"{value} that is {base64.b64decode(value).decode()}"


USERS: dict[str, dict[str, Any]] = {
    "token": {"token": "mellon-1-mellon"},
    "password": {"username": "ann", "password": "mellon-2/mellon"},
}


@pytest.mark.parametrize("user", USERS)
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
    server: ApiServer,
    authority: Any,
    transport: MakeTransport,
    tmp_path: Path,
    user: str,
    reply: Callable[[str], Reply],
) -> None:
    words: list[str] = []

    def answered(request: Request) -> Reply:
        words.append(repeated(request))
        return reply(words[-1])

    server.always[PODS] = answered
    config = kubeconfigs.one(tmp_path / "config", server.url, authority.pem, USERS[user])
    with pytest.raises(ClusterError) as caught:
        transport(Connection(kubeconfig=config)).get(PODS)
    said = said_of(caught.value).lower()
    assert "mellon" not in said and "…" in said, said
    assert words[0].partition(" ")[0].lower() not in said


def test_what_a_plugin_and_a_file_give(
    server: ApiServer, authority: Any, transport: MakeTransport, tmp_path: Path
) -> None:
    server.always[PODS] = lambda request: refused(f"who is {repeated(request)}?", "Unauthorized", 401)
    (tmp_path / "token").write_text("mellon-3-mellon\n")
    plugin = kubeconfigs.plugin(tmp_path, "say(token=f'mellon-4-mellon-{runs()}')\n")
    for user in (kubeconfigs.exec_user(plugin), {"tokenFile": str(tmp_path / "token")}):
        config = kubeconfigs.one(tmp_path / "config", server.url, authority.pem, user)
        with pytest.raises(ClusterError) as caught:
            transport(Connection(kubeconfig=config)).get(PODS)
        assert "mellon" not in said_of(caught.value) and "who is …?" in caught.value.message


def test_a_plugin_that_says_what_it_prints(
    server: ApiServer, authority: Any, transport: MakeTransport, tmp_path: Path
) -> None:
    for more in ("expirationTimestamp='soon'", "clientKeyData='x'"):
        plugin = kubeconfigs.plugin(
            tmp_path, f"sys.stderr.write('mellon-14-m it is'); say(token='mellon-14-m', {more})\n"
        )
        config = kubeconfigs.one(tmp_path / "config", server.url, authority.pem, kubeconfigs.exec_user(plugin))
        with pytest.raises(ConfigError, match="On stderr it said: … it is"):
            transport(Connection(kubeconfig=config)).get(PODS)


@pytest.mark.parametrize("end", ["\r\n", "\0", "\u20ac"])
def test_one_that_no_header_may_have_is_told_without_it(
    server: ApiServer, authority: Any, transport: MakeTransport, tmp_path: Path, end: str
) -> None:
    config = kubeconfigs.one(tmp_path / "config", server.url, authority.pem, {"token": f"mellon-13-m{end}x"})
    for words in (Connection(kubeconfig=config), Connection(kubeconfig=config, token="a", impersonate_user=f"a{end}b")):
        with pytest.raises(ConfigError, match="no HTTP header may have") as caught:
            transport(words).get(PODS)
        assert "mellon" not in said_of(caught.value)
    assert server.requests == []


def test_what_is_written_to_a_journal_is_a_status_without_it() -> None:
    hold(SECRET)
    body = ApiStatus(403, "Forbidden", f"admission denied {SECRET}.").doc()
    answer = HttpAnswer(403, json.dumps(body).encode(), {"content-type": "application/json"})
    status = status_of(answer)
    assert isinstance(status, ApiStatus) and status.message == "admission denied …."


def test_none_is_cut_in_the_middle() -> None:
    hold(SECRET)
    for before in range(MOST_SAID - len(SECRET), MOST_SAID + 2):
        body = json.dumps({"message": "x" * before + SECRET.strip()}).encode()
        assert "plain" not in HttpAnswer(500, body, {"content-type": "application/json"}).said


def test_logins_of_the_environment_and_of_addresses(tmp_path: Path) -> None:
    """Over plain http no credentials are sent; what stands in the kubeconfig is held all the same."""
    environ = {"HTTPS_PROXY": "http://ann:mellon-5%2Fmellon@127.0.0.1:1", "AWS_ENDPOINT_URL": "http://a:mellon-6-m@h"}
    environ |= {"AWS_SECRET_ACCESS_KEY": "mellon-7-mellon", "no_proxy": "ben:mellon-8-m@p"}
    config = kubeconfigs.one(tmp_path / "config", "http://a:mellon-9-m@127.0.0.1:1", user={"token": "mellon-10-m"})
    connect(Connection(kubeconfig=config), CredentialContext(environ=environ, home=str(tmp_path)))
    said = [f"mellon-{number}-m" for number in (6, 8, 9, 10)] + ["mellon-5/mellon", "mellon-5%2Fmellon"]
    said += ["mellon-7-mellon", base64.b64encode(b"ann:mellon-5/mellon").decode()]
    assert without_held(" ".join(said)) == " ".join("…" * len(said))
    hold("a" * (SHORTEST - 1), "", "  ")
    assert without_held("a" * SHORTEST + "  ") == "a" * SHORTEST + "  ", "short words are no secrets"


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


def test_short_words_are_no_secrets() -> None:
    hold("a" * (SHORTEST - 1), "", "  ")
    assert without_held("a" * SHORTEST + "  ") == "a" * SHORTEST + "  "
