"""No message about a server has what its address holds beside the host: neither a password nor a rehearsal's token."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.errors import EksdocError
from kubectl_eksdoc.kube.config import connect
from kubectl_eksdoc.kube.contexts import whereabouts
from kubectl_eksdoc.kube.target import CredentialContext, ExecPlugin, ServerEntry
from kubectl_eksdoc.kube.transport import Transport
from kubectl_eksdoc.model.connection import Connection
from tests.fakes import kubeconfigs
from tests.fakes.apiserver import ApiServer, Reply, refused

MakeTransport = Callable[..., Transport]
PATH = "/as/hunter2-token"


@pytest.fixture
def plain() -> Any:
    with ApiServer(None) as server:
        yield server


def secret_url(port: int) -> str:
    return f"http://admin:hunter2@127.0.0.1:{port}{PATH}"


@pytest.mark.parametrize(
    "reply",
    [
        refused("no", "Unauthorized", 401),
        refused("no", "InternalError", 500),
        refused("the proxy http://admin:hunter2@h/as/hunter2 says no", "Unauthorized", 401),
        Reply(200, {"Content-Type": "text/html"}, b"<a href='http://admin:hunter2@h/as/hunter2'>log in</a>"),
        Reply(302, {"Location": "http://admin:hunter2@login/?token=hunter2"}),
        Reply(200, {"Content-Type": "application/json"}, b'{"items": [', sent=5),
    ],
    ids=["401", "500", "echo", "page", "redirect", "cut"],
)
def test_of_a_server_that_refuses(plain: ApiServer, transport: MakeTransport, tmp_path: Path, reply: Reply) -> None:
    plain.script(f"{PATH}/api/v1/pods", *[reply] * 9)
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
    assert whereabouts(config, CredentialContext()).server == "http://127.0.0.1:1"


@pytest.mark.parametrize("url", ["http://admin:hunter2@:1", "http://admin:hunter2/x@h:1", "ftp://admin:hunter2@h"])
@pytest.mark.parametrize("field", ["server", "proxy-url"])
def test_of_an_address_that_is_none(url: str, field: str, tmp_path: Path) -> None:
    fields = {"proxy-url": url} if field == "proxy-url" else {}
    server = "http://h" if field == "proxy-url" else url
    with pytest.raises(EksdocError) as caught:
        connect(Connection(kubeconfig=kubeconfigs.one(tmp_path / "config", server, **fields)), CredentialContext())
    assert "hunter2" not in f"{caught.value.message} {caught.value.hint}"


def test_of_the_line_of_a_plugin() -> None:
    usual = ("--region", "eu-west-1", "eks", "get-token", "--cluster-name", "shop", "--output", "json")
    assert ExecPlugin("aws", usual).line == f"aws {' '.join(usual)}"
    assert ExecPlugin("aws-vault", ("exec", "ops", "--", "aws", *usual[2:])).line.startswith(
        "aws-vault exec ops -- aws eks"
    )
    args = ("get-token", "--client-secret", "hunter2", "--password=hunter2", "-phunter2", "hunter2", "--role=r")
    plugin = ExecPlugin("login", args, (("LOGIN_TOKEN", "a-token"), ("AWS_PROFILE", "ops")))
    assert plugin.line == "login get-token --client-secret … --password=… … … --role=r"
    assert "hunter2" not in repr(plugin) and "a-token" not in repr(plugin)
    said = "unrecognized: --password=hunter2 hunter2 with a-token of profile ops; try get-token"
    assert plugin.without_secrets(said) == "unrecognized: … … with … of profile ops; try get-token"
    assert "hunter2" not in repr(ServerEntry("http://admin:hunter2@h", proxy_url="http://hunter2@h"))
