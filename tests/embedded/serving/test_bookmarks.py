"""When a watching client is told from where it may go on."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.embedded.api.catalogue import Catalogue
from kubectl_eksdoc.embedded.serving.targets import ServedRequest, target_of
from kubectl_eksdoc.embedded.serving.watching import Bookmarks, asked


def told(seconds: int, wanted: bool) -> list[int]:
    """The seconds at which one is due, if it is looked at each second."""
    target = target_of("/api/v1/pods", Catalogue())
    assert target is not None
    query = {"watch": ("1",), "timeoutSeconds": (str(seconds),), "allowWatchBookmarks": (str(wanted).lower(),)}
    bookmarks = Bookmarks(100.0, asked(ServedRequest("GET", "/api/v1/pods", query), target))
    return [second for second in range(seconds) if bookmarks.due(100.0 + second)]


@pytest.mark.parametrize(
    ("seconds", "wanted", "due"), [(150, True, [60, 120, 148]), (30, True, [28]), (2, True, []), (150, False, [])]
)
def test_each_minute_and_shortly_before_the_end_for_who_wants_them(seconds: int, wanted: bool, due: list[int]) -> None:
    assert told(seconds, wanted) == due
