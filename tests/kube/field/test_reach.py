"""A cluster is away when one of its watches has not worked for a while, and back when all of them do."""

from __future__ import annotations

from math import inf

from kubectl_eksdoc.kube.field.watches import WatchReach
from kubectl_eksdoc.kubernetes.news import WatchInterrupted, WatchRestored

NAMES = ("pods", "nodes")


def working() -> WatchReach:
    reach = WatchReach(NAMES, 5.0, 0.0)
    for name in NAMES:
        reach.works(name)
    return reach


def test_what_works_tells_nothing() -> None:
    reach = working()
    assert reach.news(100.0) == [] and reach.due_s(100.0) == inf


def test_one_that_breaks_is_told_after_a_while_and_once() -> None:
    reach = working()
    reach.broken("pods", "cut", 10.0)
    assert reach.news(14.9) == [] and reach.due_s(12.0) == 3.0
    reach.broken("pods", "refused", 12.0)
    assert reach.news(15.0) == [WatchInterrupted("refused")], "since it broke first, and the latest reason"
    assert reach.news(99.0) == [] and reach.due_s(99.0) == inf


def test_back_when_all_work_and_once() -> None:
    reach = working()
    reach.broken("pods", "cut", 0.0)
    assert reach.news(5.0) == [WatchInterrupted("cut")]
    reach.broken("nodes", "cut", 6.0)
    reach.works("pods")
    assert reach.news(7.0) == []
    reach.works("nodes")
    assert reach.news(8.0) == [WatchRestored()] and reach.news(9.0) == []


def test_one_that_is_taken_up_again_in_time_is_not_told() -> None:
    reach = working()
    for second in range(0, 100, 4):
        reach.broken("pods", "its time was over", float(second))
        assert reach.news(second + 3.9) == []
        reach.works("pods")


def test_what_is_not_listed_in_time_is_told() -> None:
    reach = WatchReach(NAMES, 5.0, 0.0)
    reach.works("nodes")
    assert reach.due_s(0.0) == 5.0
    assert reach.news(5.0) == [WatchInterrupted("pods have not been listed yet")]
