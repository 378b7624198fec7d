"""Deprecated APIs: who asks for one is warned, and /metrics tells of it from then on."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.embedded.api.catalogue import Build
from kubectl_eksdoc.embedded.serving.access import ADMIN, TokenUsers
from kubectl_eksdoc.embedded.serving.api import Api, Setup
from kubectl_eksdoc.embedded.serving.targets import Reply, ServedRequest
from tests.embedded.clients import worlds


def asked(api: Api, path: str) -> Reply:
    return api.handle(ServedRequest("GET", path, headers={"authorization": "Bearer t"}))


def an_api(version: str = "v1.36.2") -> Api:
    return Api(worlds.plane_of("small-traps"), Setup(TokenUsers({"t": ADMIN}), Build(version)))


def line(resource: str) -> str:
    labels = f'group="",removed_release="",resource="{resource}",subresource="",version="v1"'
    return f"apiserver_requested_deprecated_apis{{{labels}}} 1"


@pytest.mark.parametrize(
    ("resource", "said"),
    [
        ("endpoints", "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
        ("componentstatuses", "v1 ComponentStatus is deprecated in v1.19+"),
    ],
)
def test_who_asks_for_a_deprecated_api_is_warned_and_counted(resource: str, said: str) -> None:
    api = an_api()
    assert asked(api, "/metrics").body == b""
    assert asked(api, f"/api/v1/{resource}").headers["Warning"] == f'299 - "{said}"'
    assert line(resource) in asked(api, "/metrics").body.decode().splitlines()
    assert "Warning" not in asked(api, "/api/v1/nodes").headers


def test_an_older_server_does_not_know_yet() -> None:
    api = an_api("v1.32.3")
    assert "Warning" not in asked(api, "/api/v1/endpoints").headers
    assert asked(api, "/metrics").body == b""
