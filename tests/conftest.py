"""What holds for every test."""

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

# How long an example takes tells of the machine, and not of what is tested. The examples are the same in every run, so
# that a change fails for what it does; EKSDOC_RANDOM=1 looks for others.
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
    """What is begun in the background, or by nohup, ignores signals, and that would go on to all that tests start."""
    for name, handler in _USUAL.items():
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_collection_finish() -> None:
    """What was imported stays; looking through it again for each 700 new objects took a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 50, 1_000)


@pytest.fixture(scope="session")
def aws_of_this_session() -> Iterator[World]:
    """The AWS of the tests, started for the first test that asks; its libraries take two seconds to load."""
    from tests.aws.world.server import World

    world = World()
    yield world
    world.stop()


@pytest.fixture
def aws(aws_of_this_session: World) -> Iterator[World]:
    """AWS with nothing in it, in which nothing goes wrong until the test wants it."""
    yield aws_of_this_session
    aws_of_this_session.reset()


@pytest.fixture(scope="session")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A snapshot of the demo, written over a file that is there, as --overwrite allows."""
    from tests.cli.running import called

    path = tmp_path_factory.mktemp("snapshot") / "demo.eksdoc"
    path.write_text("mine")
    taken = called("snapshot", str(path), "--demo", "--overwrite")
    assert taken.code == 0, taken.err
    return str(path)
