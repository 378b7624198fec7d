"""Apps that tests share are closed at the end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _apps_of_this_session() -> Iterator[None]:
    yield
    from tests.tui.shared import close_all

    close_all()
