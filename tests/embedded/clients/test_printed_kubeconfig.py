"""Clients use the printed kubeconfig of a served cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from kubernetes import client, config

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import SimulatedApiServer
from kubectl_eksdoc.embedded.serving.requests import ADMIN, VIEWER
from kubectl_eksdoc.embedded.stage import kubeconfig, write_kubeconfig
from tests.embedded.clients import worlds
from tests.embedded.clients.programs import Kubectl


@pytest.fixture
def printed(shown: tuple[SimulatedApiServer, Api], tmp_path: Path) -> str:
    """The path of the kubeconfig."""
    server, tokens = shown[0], {ADMIN.name: worlds.ADMIN_TOKEN, VIEWER.name: worlds.VIEWER_TOKEN}
    urls = {name: server.url(token) for name, token in tokens.items()}
    return write_kubeconfig(kubeconfig(urls), str(tmp_path / "printed"))


@pytest.mark.long
def test_raw_paths_are_asked_for_as_somebody(looking: Kubectl, printed: str) -> None:
    where = ("--kubeconfig", printed)
    assert looking(*where, "get", "--raw", "/healthz") == "ok"
    assert "apiserver_requested_deprecated_apis{" in looking(*where, "get", "--raw", "/metrics")
    assert '"kind":"NodeList"' in looking(*where, "get", "--raw", "/api/v1/nodes?limit=1")
    viewing = (*where, "--context", "rehearsal-viewer")
    assert '"kind":"NodeList"' in looking(*viewing, "get", "--raw", "/api/v1/nodes?limit=1")
    said = looking.refused(*viewing, "delete", "--raw", "/api/v1/namespaces/default/pods/trap-bare")
    assert 'User "viewer" cannot delete resource "pods"' in said


def test_kubectl_and_the_official_python_client_read_it(looking: Kubectl, printed: str) -> None:
    with config.new_client_from_config(printed) as connected:
        assert len(client.CoreV1Api(connected).list_node().items) == 12
    viewing = ("--kubeconfig", printed, "--context", "rehearsal-viewer")
    assert looking.ran(*viewing, "auth", "can-i", "delete", "pods").out == "no\n"
