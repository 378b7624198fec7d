"""When a watching client is told from where it may go on."""

from __future__ import annotations

from kubectl_eksdoc.embedded.api.catalogue import Catalogue
from kubectl_eksdoc.embedded.serving.targets import ServedRequest, target_of
from kubectl_eksdoc.embedded.serving.watching import Bookmarks, asked


def told(seconds: int, *, wanted: bool = True) -> list[int]:
    """The seconds at which one is due, if it is looked at each second."""
    target = target_of("/api/v1/pods", Catalogue())
    assert target is not None
    query = {"watch": ("1",), "timeoutSeconds": (str(seconds),), "allowWatchBookmarks": (str(wanted).lower(),)}
    bookmarks = Bookmarks(100.0, asked(ServedRequest("GET", "/api/v1/pods", query), target))
    return [second for second in range(seconds) if bookmarks.due(100.0 + second)]


def test_each_minute_and_shortly_before_the_end() -> None:
    assert told(150) == [60, 120, 148]


def test_of_a_short_watch_the_last_one() -> None:
    assert told(30) == [28]


def test_of_a_very_short_watch_none() -> None:
    assert told(2) == []


def test_only_for_who_wants_them() -> None:
    assert told(150, wanted=False) == []
