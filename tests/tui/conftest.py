"""Close the apps that tests share at the end of the session; until then the garbage collector runs less often."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="package", autouse=True)
def _apps_of_these_tests() -> Iterator[None]:
    usual = gc.get_threshold()
    gc.set_threshold(50_000, 20, 100)  # apps cache drawn text in many small objects: a collection takes long
    yield
    from tests.tui.shared import close_all

    close_all()
    gc.set_threshold(*usual)
