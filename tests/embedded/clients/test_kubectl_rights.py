"""kubectl with users of fewer rights: its error messages, and ``kubectl auth can-i``."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import SimulatedApiServer
from tests.embedded.clients import worlds
from tests.embedded.clients.programs import Kubectl


@pytest.fixture
def viewing(program: str, shown: tuple[SimulatedApiServer, Api], tmp_path: Path) -> Kubectl:
    return Kubectl(program, tmp_path / "viewer", shown[0].url(worlds.VIEWER_TOKEN))


@pytest.fixture
def draining(program: str, shown: tuple[SimulatedApiServer, Api], tmp_path: Path) -> Kubectl:
    return Kubectl(program, tmp_path / "drainer", shown[0].url(worlds.DRAINER_TOKEN))


def can(kubectl: Kubectl, *words: str) -> str:
    return kubectl.ran("auth", "can-i", *words).out.strip()


@pytest.mark.long
def test_an_admin_may_everything_and_an_unknown_token_nothing(
    looking: Kubectl, program: str, shown: tuple[SimulatedApiServer, Api], tmp_path: Path
) -> None:
    assert can(looking, "create", "pods/eviction") == "yes"
    assert can(looking, "*", "*") == "yes"
    assert "*.*" in looking("auth", "can-i", "--list")
    nobody = Kubectl(program, tmp_path / "nobody", shown[0].url("wrong"))
    assert "You must be logged in to the server" in nobody.refused("get", "nodes")


@pytest.mark.long
def test_a_viewer_may_look(viewing: Kubectl) -> None:
    assert can(viewing, "create", "pods", "--subresource=eviction") == "no"
    assert can(viewing, "create", "pods/eviction") == "no"
    assert can(viewing, "list", "secrets", "-A") == "yes"
    assert "old-0" in viewing("get", "nodes")
    said = viewing.ran("cordon", "old-0").err  # kubectl does not treat this as a failure
    assert 'nodes "old-0" is forbidden: User "viewer" cannot patch resource "nodes" in API group "" at the' in said
    listed = viewing("auth", "can-i", "--list")
    assert "[get list watch]" in listed and "selfsubjectrulesreviews.authorization.k8s.io" in listed


@pytest.mark.long
def test_a_role_of_one_s_own(draining: Kubectl) -> None:
    assert can(draining, "create", "pods", "--subresource=eviction") == "yes"
    assert can(draining, "create", "pods", "--subresource=eviction", "-n", "kube-system") == "no"
    assert can(draining, "get", "pods") == "yes"
    assert can(draining, "get", "secrets") == "no"
    assert can(draining, "get", "pods", "--subresource=log") == "no"
    said = draining.refused("get", "pdb")
    assert 'User "drainer" cannot list resource "poddisruptionbudgets" in API group "policy" in the namespace' in said
    listed = draining("auth", "can-i", "--list")
    assert "pods/eviction" in listed
    assert "pods/eviction" not in draining("auth", "can-i", "--list", "-n", "kube-system")


def test_asking_as_somebody_else(looking: Kubectl, draining: Kubectl) -> None:
    assert can(looking, "create", "pods", "--subresource=eviction", "--as", "viewer") == "no"
    assert can(looking, "list", "pods", "--as", "nobody-known") == "no"
    # kubectl drops the message when discovery is refused; tests/embedded/serving/test_admission.py checks it.
    assert "Error from server (Forbidden)" in draining.refused("get", "pods", "--as", "admin")
