"""Fixtures and pytest hooks that apply to every test."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.examples import examples

if TYPE_CHECKING:
    from tests.aws.world.server import World

# The time of an example depends on the machine, so there is no deadline. The examples are the same in every run, so
# that a failure is caused by a change; EKSDOC_RANDOM=1 tries other examples.
settings.register_profile(
    "any-machine",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="EKSDOC_RANDOM" not in os.environ,
    max_examples=examples(),
)
settings.load_profile("any-machine")

_USUAL = {"SIGINT": signal.default_int_handler, "SIGHUP": signal.SIG_DFL, "SIGTERM": signal.SIG_DFL}


def pytest_configure() -> None:
    """Reset signal handlers: a process in the background, or under nohup, ignores signals, and the processes of the
    tests would inherit that."""
    for name, handler in _USUAL.items():
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_collection_finish() -> None:
    """Exclude imported objects from garbage collection: to scan them for each 700 new objects took a tenth of the
    time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 50, 1_000)


@pytest.fixture(scope="session")
def aws_of_this_session() -> Iterator[World]:
    """The AWS stand-in, started for the first test that requests it; its libraries take two seconds to load."""
    from tests.aws.world.server import World

    world = World()
    yield world
    world.stop()


@pytest.fixture
def aws(aws_of_this_session: World) -> Iterator[World]:
    """An empty AWS stand-in that has no faults until a test sets one."""
    yield aws_of_this_session
    aws_of_this_session.reset()


@pytest.fixture(scope="session")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A snapshot of the demo, written over an existing file, as --overwrite allows."""
    from tests.cli.running import called

    path = tmp_path_factory.mktemp("snapshot") / "demo.eksdoc"
    path.write_text("mine")
    taken = called("snapshot", str(path), "--demo", "--overwrite")
    assert taken.code == 0, taken.err
    return str(path)
