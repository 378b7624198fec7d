"""A refused pod is given up when nothing has moved for too long; the time in which a machine slept does not count."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.moments import Happened
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus, Details, StatusCause
from kubectl_eksdoc.kubernetes.news import AllBudgets, News, RequestAnswered
from kubectl_eksdoc.model.acts import Act, Evict
from tests.builders import a_budget, a_cluster, a_node, a_pod, a_roomy_node
from tests.drain.run.driving import Driven

NONE_LEFT = ApiStatus(
    429,
    "TooManyRequests",
    "no",
    Details(causes=(StatusCause("DisruptionBudget", "The disruption budget web needs 3"),)),
)


OF_TWO: dict[str, Any] = {"max_unavailable": 1, "expected": 2}


def refused(act: Act) -> News:
    assert isinstance(act, Evict)
    return RequestAnswered(act, NONE_LEFT)


def a_run() -> Driven:
    pods = [a_pod(f"web-{i}", node="old-0") for i in range(2)]
    there = a_cluster(nodes=[a_node("old-0"), a_roomy_node()], pods=pods, budgets=[a_budget(allowed=1, **OF_TWO)])
    return Driven(there, limits=RunLimits(blocked_s=600), Evict=refused)


def test_a_pod_that_waits_for_its_budget_is_not_given_up_for_it() -> None:
    run = a_run()
    run.until(300)
    run.now_s = 1000.0
    run.engine.hold("this machine stood still", run.now_s, 300.0)
    run.step()
    run.until(1200)
    assert not run.told(Happened.KEPT)
    run.until(1400)
    assert run.told(Happened.KEPT)


@pytest.mark.parametrize(("allowed", "kept"), [(1, True), (0, False)])
def test_a_list_of_budgets_is_movement_only_if_the_budget_has_changed(allowed: int, kept: bool) -> None:
    run = a_run()
    run.until(400)
    run.hear(AllBudgets(((a_budget(allowed=allowed, **OF_TWO), 7),), 7))
    run.until(800)
    assert bool(run.told(Happened.KEPT)) is kept
