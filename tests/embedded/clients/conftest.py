"""Fixtures: a recorded cluster that is served, and kubectl clients: the newest kubectl, in long tests also the
oldest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import SimulatedApiServer
from tests import required_programs
from tests.embedded.clients import worlds
from tests.embedded.clients.programs import Kubectl


@pytest.fixture(
    params=[required_programs.KUBECTLS[-1], pytest.param(required_programs.KUBECTLS[0], marks=pytest.mark.long)],
    scope="module",
)
def program(request: pytest.FixtureRequest) -> str:
    """The path of a kubectl."""
    return required_programs.kubectl_of(request.param)


@pytest.fixture(scope="module")
def shown() -> Iterator[tuple[SimulatedApiServer, Api]]:
    """A cluster that tests only read."""
    with worlds.served("small-traps") as world:
        yield world


@pytest.fixture
def world() -> Iterator[tuple[SimulatedApiServer, Api]]:
    """A cluster for one test alone."""
    with worlds.served("small-traps") as world:
        yield world


@pytest.fixture
def looking(program: str, shown: tuple[SimulatedApiServer, Api], tmp_path: Path) -> Kubectl:
    """A kubectl of an administrator who only reads."""
    return Kubectl(program, tmp_path, shown[0].url(worlds.ADMIN_TOKEN))


@pytest.fixture
def kubectl(program: str, world: tuple[SimulatedApiServer, Api], tmp_path: Path) -> Kubectl:
    """A kubectl of an administrator with a cluster for one test alone."""
    return Kubectl(program, tmp_path, world[0].url(worlds.ADMIN_TOKEN))
