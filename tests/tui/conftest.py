"""Apps that tests share are closed at the end; until then garbage is looked for less often."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="package", autouse=True)
def _apps_of_these_tests() -> Iterator[None]:
    usual = gc.get_threshold()
    gc.set_threshold(50_000, 20, 100)  # what apps draw is kept in many small caches: to go through them takes long
    yield
    from tests.tui.shared import close_all

    close_all()
    gc.set_threshold(*usual)
