"""Errors of the server: to one pod they are that pod's matter, to several nothing more is asked for; both end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.moments import Happened
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus, LostAnswer
from kubectl_eksdoc.kubernetes.news import BudgetIs, News, NodeIs, PodGone, RequestAnswered
from kubectl_eksdoc.model.acts import Act, Cordon, Evict
from kubectl_eksdoc.model.budgets import Budget
from tests.builders import a_budget, a_cluster, a_node, a_pod, a_roomy_node
from tests.drain.run.driving import Answering, Driven

FAILED = ApiStatus(500, "InternalError", "etcdserver: leader changed")
LOST = LostAnswer("the connection was reset")
WEBHOOK = ApiStatus(500, "InternalError", 'Internal error occurred: failed calling webhook "w": no endpoints')


def granted(act: Act) -> list[News]:
    assert isinstance(act, Evict)
    return [RequestAnswered(act, ApiStatus(201)), PodGone(act.pod.uid, 10_000)]


def failing(answer: ApiStatus | LostAnswer, *names: str, until: Callable[[], bool] = lambda: False) -> Answering:
    """Evictions of these pods, or of all, are answered so, until `until`."""

    def evicted(act: Act) -> News | list[News]:
        assert isinstance(act, Evict)
        return RequestAnswered(act, answer) if (act.pod.name in names or not names) and not until() else granted(act)

    return evicted


def a_run(nodes: int = 3, pods: int = 2, limits: RunLimits = RunLimits(), **answers: Answering) -> Driven:
    """Pods web-0-0 … on old-0 …, all under one budget that lets one of them go at a time."""
    there = [a_pod(f"web-{i}-{j}", node=f"old-{i}") for i in range(nodes) for j in range(pods)]
    budget = a_budget("web", max_unavailable=1, allowed=1, expected=len(there))
    named = [*(a_node(f"old-{i}") for i in range(nodes)), a_roomy_node()]
    return Driven(a_cluster(nodes=named, pods=there, budgets=[budget]), limits=limits, **answers)


def asked_s(run: Driven, pod: str) -> list[float]:
    return [at_s for at_s, act in run.asked if isinstance(act, Evict) and act.pod.name == pod]


@pytest.mark.parametrize("answer", [FAILED, LOST, WEBHOOK], ids=["500", "lost", "webhook"])
@pytest.mark.parametrize("size", [(1, 1), (1, 2), (3, 2)])
def test_nothing_but_errors_to_one_pod_end_with_its_node(answer: ApiStatus | LostAnswer, size: tuple[int, int]) -> None:
    run = a_run(*size, RunLimits(blocked_s=600), Evict=failing(answer, "web-0-0"))
    run.to_the_end()
    (kept,) = run.told(Happened.KEPT)
    assert kept[0] == "default/web-0-0" and "for 10m00s" in kept[1]
    assert [name for name, _ in run.told(Happened.LEFT_ALONE)] == ["old-0"]
    assert run.engine.undone == {"old-0": ("default/web-0-0",)} and not run.engine.stopped
    assert run.told(Happened.HELD) == [], "one pod is no reason to hold all"
    assert 600 <= run.now_s <= 660


@pytest.mark.parametrize("answer", [FAILED, LOST])
def test_it_is_said_long_before(answer: ApiStatus | LostAnswer) -> None:
    run = a_run(Evict=failing(answer, "web-0-0"))
    run.until(200.0)
    (warned,) = run.told(Happened.WARNED)
    assert warned[0] == "default/web-0-0"
    assert warned[1].startswith("3 answers in a row tell nothing of whether it goes: ") and "30m00s" in warned[1]


def test_it_stands_in_nobodys_way_meanwhile() -> None:
    """All others of its budget go while it is tried again."""
    run = a_run(Evict=failing(FAILED, "web-0-0"))
    run.until(400.0)
    assert len(run.told(Happened.GONE)) == 5
    pauses = [later - sooner for sooner, later in pairwise(asked_s(run, "web-0-0"))]
    assert pauses[0] <= 5 and max(pauses) <= 120 and pauses[-1] >= 30, "it is asked for ever more slowly"


def test_a_pod_that_waited_long_for_its_budget_is_not_given_up_for_one_error() -> None:
    answers = iter([FAILED, FAILED])

    def evicted(act: Act) -> News | list[News]:
        assert isinstance(act, Evict)
        answer = next(answers, None) if act.pod.name == "web-1-0" else None
        return granted(act) if answer is None else RequestAnswered(act, answer)

    run = a_run(2, 1, RunLimits(blocked_s=600), Evict=evicted)
    budget = run.engine.seen.budgets["default/web"]
    for i in range(20):
        run.until(100.0 * i)
        run.hear(run.replaced("default/web-0-0", "roomy")) if i == 19 else None
        run.hear(*_said(budget, i))
    run.to_the_end()
    assert run.engine.undone == {}


def _said(budget: Budget, version: int) -> list[News]:
    """The budget says something new, and lets nothing go until the last time."""
    status = replace(budget.status, allowed=1 if version == 19 else 0, current=budget.status.current - version % 2)
    return [BudgetIs(replace(budget, status=status), version + 1)]


@pytest.mark.parametrize("answer", [FAILED, LOST, WEBHOOK], ids=["500", "lost", "webhook"])
def test_errors_to_all_hold_it_and_stop_it_in_the_end(answer: ApiStatus | LostAnswer) -> None:
    run = a_run(4, 2, Evict=failing(answer))
    run.to_the_end()
    (stopped,) = run.told(Happened.STOPPED)
    said = answer.said if isinstance(answer, LostAnswer) else answer.message
    assert stopped[1] == f"the server answers with errors for 5m00s: {said}"
    assert run.told(Happened.HELD) and 300 <= run.now_s <= 420 + 120
    assert not run.told(Happened.LEFT_ALONE)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (FAILED, "it cannot be cordoned: "),
        (LOST, "it cannot be cordoned: "),
        (ApiStatus(401, "Unauthorized", "Unauthorized"), "it cannot be cordoned: "),
        (ApiStatus(409, "Conflict", 'Node "old-0" is left as it is: run b has changed it meanwhile'), "cordon"),
        (ApiStatus(429, "TooManyRequests", "slow down"), "cordon"),
        (ApiStatus(200), "cordon"),  # and a webhook has taken it back
    ],
)
def test_a_cordon_that_never_holds_is_given_up(answer: ApiStatus | LostAnswer, says: str) -> None:
    """The others wait for it, as they are begun only when all are cordoned; but not for ever."""

    def cordoned(act: Act) -> News | list[News]:
        assert isinstance(act, Cordon)
        if act.node == "old-0":
            return RequestAnswered(act, answer)
        there = run.engine.seen.nodes[act.node]
        return [RequestAnswered(act, ApiStatus(200)), NodeIs(replace(there, unschedulable=True))]

    run = a_run(3, 1, RunLimits(failing_s=60), Cordon=cordoned, Evict=granted)
    run.to_the_end()
    ((name, why),) = run.told(Happened.LEFT_ALONE)
    assert name == "old-0" and says in why and not run.engine.stopped
    assert run.engine.undone == {"old-0": ("default/web-0-0",)} and run.now_s <= 400


def test_cordons_that_all_fail_stop_it() -> None:
    run = a_run(3, 1, Cordon=lambda act: RequestAnswered(act, LOST))
    run.to_the_end()
    (stopped,) = run.told(Happened.STOPPED)
    assert "the connection was reset" in stopped[1] and not run.told(Happened.LEFT_ALONE)
