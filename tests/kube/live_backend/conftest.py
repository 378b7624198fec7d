"""Fixtures: a served cluster that changes only when a test changes it, and a live backend for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import ManualTime
from kubectl_eksdoc.kube.live_backend import LiveRunBackend
from tests.embedded.clients import worlds
from tests.kube.live_backend.served_backends import among, connection, field_on


@pytest.fixture
def api() -> Iterator[Api]:
    """A cluster whose controllers work and whose time stands still."""
    made = worlds.api_of("small-traps", ManualTime())
    yield made
    assert list(made.internal_errors) == []


@pytest.fixture
def field(api: Api, tmp_path: Path) -> Iterator[LiveRunBackend]:
    """A live backend without faults."""
    with among(api) as server, field_on(connection(server, tmp_path)) as made:
        yield made
