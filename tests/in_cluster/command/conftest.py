"""Fixtures: a user at a served cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import SimulatedApiServer, serving
from tests.drain.command.served import Machine, machine
from tests.embedded.clients import worlds


@pytest.fixture
def api() -> Api:
    return worlds.api_of("small-traps")


@pytest.fixture
def server(api: Api) -> Iterator[SimulatedApiServer]:
    with serving(api) as server:
        yield server
    assert list(api.internal_errors) == []


@pytest.fixture
def ann(server: SimulatedApiServer, tmp_path: Path) -> Machine:
    return machine(server, tmp_path / "ann")
