"""Fixtures for networks of real packets, if this machine allows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from kubectl_eksdoc.model.machines import MetadataOptions
from tests import required_programs
from tests.packets.network import Network, sweep, why_not

Made = Callable[..., Network]


@pytest.fixture(scope="session")
def namespaces() -> None:
    """Skip the test if network namespaces are not available."""
    for program in ("ip", "curl"):
        required_programs.found(program)
    if refused := why_not():
        required_programs.missing(f"right to make network namespaces ({refused})")
    sweep()


@pytest.fixture
def network(namespaces: None) -> Iterator[Made]:
    """Create networks with the instance's options, which are removed at the end of the test."""
    with ExitStack() as stack:

        def make(options: MetadataOptions, routers: int = 0) -> Network:
            return stack.enter_context(Network(options, routers))

        yield make
