"""Fixtures for `drain` commands: two machines that use one served cluster; a test file may override the `api`
fixture."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import ScaledTime, SimulatedApiServer, serving
from tests.drain.command.served import Machine, machine
from tests.embedded.clients import worlds
from tests.kube.live_backend.test_complete_drain import Evictions


@pytest.fixture
def api() -> Api:
    """The cluster's pods are slow enough that another machine can act during a run."""
    return worlds.api_of("small-traps", ScaledTime(time.monotonic, 10.0))


@pytest.fixture
def seen(api: Api) -> Evictions:
    return api.run_locked(Evictions)


@pytest.fixture
def server(api: Api) -> Iterator[SimulatedApiServer]:
    with serving(api) as server:
        yield server


@pytest.fixture
def one(server: SimulatedApiServer, tmp_path: Path) -> Machine:
    return machine(server, tmp_path / "ann")


@pytest.fixture
def other(server: SimulatedApiServer, tmp_path: Path) -> Machine:
    return machine(server, tmp_path / "ben")
