"""Errors, refusals and missing answers: they affect one pod or all pods, are retried, reported, and given up in
time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from kubectl_eksdoc.drain.run.events import DrainEventKind
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.state import NodePhase
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse, StatusCause, StatusDetails
from kubectl_eksdoc.kubernetes.updates import (
    AllBudgets,
    BudgetChanged,
    NodeChanged,
    PodRemoved,
    PodsFound,
    RequestAnswered,
    RunUpdate,
)
from kubectl_eksdoc.model.actions import ClusterAction, Cordon, Evict, ReadPod
from kubectl_eksdoc.model.budgets import Budget
from tests.builders import a_budget, a_cluster, a_node, a_pod, a_roomy_node
from tests.drain.run.instant_engine import Answering, Driven, drained

FAILED = ApiStatus(500, "InternalError", "etcdserver: leader changed")
LOST = LostResponse("the connection was reset")
UNAUTHORIZED = ApiStatus(401, "Unauthorized", "Unauthorized")
WEBHOOK = ApiStatus(500, "InternalError", 'Internal error occurred: failed calling webhook "w": no endpoints')


def granted(act: ClusterAction) -> list[RunUpdate]:
    assert isinstance(act, Evict)
    return [RequestAnswered(act, ApiStatus(201)), PodRemoved(act.pod.uid, 10_000)]


def failing(answer: ApiStatus | LostResponse, *names: str, until: Callable[[], bool] = lambda: False) -> Answering:
    """Evictions of these pods, or of all pods, get this answer until `until`."""

    def evicted(act: ClusterAction) -> RunUpdate | list[RunUpdate]:
        assert isinstance(act, Evict)
        return RequestAnswered(act, answer) if (act.pod.name in names or not names) and not until() else granted(act)

    return evicted


def a_run(nodes: int = 3, pods: int = 2, limits: RunLimits = RunLimits(), **answers: Answering) -> Driven:
    """Pods web-0-0 … on old-0 …, all under one budget that allows one eviction at a time."""
    there = [a_pod(f"web-{i}-{j}", node=f"old-{i}") for i in range(nodes) for j in range(pods)]
    budget = a_budget("web", max_unavailable=1, allowed=1, expected=len(there))
    named = [*(a_node(f"old-{i}") for i in range(nodes)), a_roomy_node()]
    return Driven(a_cluster(nodes=named, pods=there, budgets=[budget]), limits=limits, **answers)


def asked_s(run: Driven, pod: str) -> list[float]:
    return [at_s for at_s, act in run.asked if isinstance(act, Evict) and act.pod.name == pod]


@pytest.mark.parametrize("answer", [FAILED, LOST, WEBHOOK], ids=["500", "lost", "webhook"])
@pytest.mark.parametrize("size", [(1, 1), (1, 2), (3, 2)])
def test_nothing_but_errors_to_one_pod_end_with_its_node(
    answer: ApiStatus | LostResponse, size: tuple[int, int]
) -> None:
    run = a_run(*size, RunLimits(blocked_s=600), Evict=failing(answer, "web-0-0"))
    run.to_the_end()
    (kept,) = run.told(DrainEventKind.KEPT)
    assert kept[0] == "default/web-0-0" and "for 10m00s" in kept[1]
    assert [name for name, _ in run.told(DrainEventKind.LEFT_ALONE)] == ["old-0"]
    assert run.engine.not_drained == {"old-0": ("default/web-0-0",)} and not run.engine.stop_reason
    assert run.told(DrainEventKind.HELD) == [], "one pod is no reason to hold all"
    assert 600 <= run.now_s <= 660


def test_it_stands_in_nobodys_way_meanwhile() -> None:
    """All other pods of its budget are evicted while its eviction is retried."""
    run = a_run(Evict=failing(FAILED, "web-0-0"))
    run.until(400.0)
    assert len(run.told(DrainEventKind.GONE)) == 5
    pauses = [later - sooner for sooner, later in pairwise(asked_s(run, "web-0-0"))]
    assert pauses[0] <= 5 and max(pauses) <= 120 and pauses[-1] >= 30, "it is asked for ever more slowly"


def test_a_pod_that_waited_long_for_its_budget_is_not_given_up_for_one_error() -> None:
    answers = iter([FAILED, FAILED])

    def evicted(act: ClusterAction) -> RunUpdate | list[RunUpdate]:
        assert isinstance(act, Evict)
        answer = next(answers, None) if act.pod.name == "web-1-0" else None
        return granted(act) if answer is None else RequestAnswered(act, answer)

    run = a_run(2, 1, RunLimits(blocked_s=600), Evict=evicted)
    budget = run.engine.observed.budgets["default/web"]
    for i in range(20):
        run.until(100.0 * i)
        run.hear(run.replaced("default/web-0-0", "roomy")) if i == 19 else None
        run.hear(*_said(budget, i))
    run.to_the_end()
    assert run.engine.not_drained == {}


def _said(budget: Budget, version: int) -> list[RunUpdate]:
    """The budget's status changes each time, and allows no eviction until the last change."""
    status = replace(budget.status, allowed=1 if version == 19 else 0, current=budget.status.current - version % 2)
    return [BudgetChanged(replace(budget, status=status), version + 1)]


@pytest.mark.parametrize("answer", [FAILED, LOST, WEBHOOK, UNAUTHORIZED], ids=["500", "lost", "webhook", "401"])
def test_errors_to_all_hold_it_and_stop_it_in_the_end(answer: ApiStatus | LostResponse) -> None:
    run = a_run(4, 2, Evict=failing(answer))
    run.to_the_end()
    (stopped,) = run.told(DrainEventKind.STOPPED)
    said = answer.message
    assert stopped[1] == f"the server answers with errors for 5m00s: {said}"
    assert run.told(DrainEventKind.HELD) and 300 <= run.now_s <= 420 + 120
    assert not run.told(DrainEventKind.LEFT_ALONE)


@pytest.mark.parametrize(
    ("answer", "says", "longest_s"),
    [
        (FAILED, "it cannot be cordoned: ", 400),
        (LOST, "it cannot be cordoned: ", 400),
        (ApiStatus(401, "Unauthorized", "Unauthorized"), "it cannot be cordoned: ", 400),
        (ApiStatus(409, "Conflict", 'Node "old-0" is left as it is: run b has changed it'), "cordon", 2400),
        (ApiStatus(429, "TooManyRequests", "slow down"), "cordon", 2400),
        (ApiStatus(200), "cordon", 2400),  # and a webhook has reverted it
    ],
)
def test_a_cordon_that_never_holds_is_given_up(answer: ApiStatus | LostResponse, says: str, longest_s: float) -> None:
    """The other nodes start only when all are cordoned, so they wait for this one, but with a time limit."""

    def cordoned(act: ClusterAction) -> RunUpdate | list[RunUpdate]:
        assert isinstance(act, Cordon)
        if act.node == "old-0":
            return RequestAnswered(act, answer)
        there = run.engine.observed.nodes[act.node]
        return [RequestAnswered(act, ApiStatus(200)), NodeChanged(replace(there, unschedulable=True))]

    run = a_run(3, 1, RunLimits(failing_s=60), Cordon=cordoned, Evict=granted)
    run.to_the_end()
    ((name, why),) = run.told(DrainEventKind.LEFT_ALONE)
    assert name == "old-0" and says in why and not run.engine.stop_reason
    assert run.engine.not_drained == {"old-0": ("default/web-0-0",)} and run.now_s <= longest_s


def test_cordons_that_all_fail_stop_it() -> None:
    run = a_run(3, 1, Cordon=lambda act: RequestAnswered(act, LOST))
    run.to_the_end()
    (stopped,) = run.told(DrainEventKind.STOPPED)
    assert "the connection was reset" in stopped[1] and not run.told(DrainEventKind.LEFT_ALONE)


NO_RIGHT = ApiStatus(
    403,
    "Forbidden",
    'pods "bad-1" is forbidden: User "u" cannot create resource "pods/eviction" in API group "" in the namespace '
    '"default"',
)
QUOTA = ApiStatus(403, "Forbidden", 'pods "bad-1" is forbidden: node isolation does not let it go')
BEHIND = ApiStatus(
    403, "Forbidden", 'poddisruptionbudget.policy "bad" is forbidden: pdb disruptions allowed is negative'
)
TERMINATING = ApiStatus(
    403, "Forbidden", "terminating", StatusDetails(causes=(StatusCause("NamespaceTerminating", ""),))
)
DENIED = ApiStatus(403, "Forbidden", 'admission webhook "w" denied the request: not now')


def answering(answer: ApiStatus, times: int) -> Answering:
    """The first evictions of pods called bad-* get this answer; all others are granted, and their pods go at once."""
    asked: list[ClusterAction] = []

    def evicted(act: ClusterAction) -> RunUpdate | list[RunUpdate]:
        assert isinstance(act, Evict)
        if not act.pod.name.startswith("bad-"):
            return granted(act)
        asked.append(act)
        return RequestAnswered(act, answer) if len(asked) <= times else granted(act)

    return evicted


def driven(answer: ApiStatus, times: int, limits: RunLimits = RunLimits(), *, bad: int = 1) -> Driven:
    """One bad pod on old-0, or one on each of several nodes; good pods are on the last node."""
    nodes = [*(a_node(f"old-{i}") for i in range(bad + 1)), a_roomy_node()]
    pods = [a_pod(f"bad-{i + 1}", node=f"old-{i}", labels={"app": "bad"}) for i in range(bad)]
    pods += [a_pod(f"web-{i}", node=f"old-{bad}") for i in range(3)]
    budgets = [a_budget("bad", max_unavailable=9, allowed=9, expected=20)]
    cluster = a_cluster(nodes=nodes, pods=pods, budgets=budgets)
    return Driven(cluster, limits=limits, Evict=answering(answer, times))


@pytest.mark.parametrize(
    "answer", [UNAUTHORIZED, NO_RIGHT, QUOTA, BEHIND, TERMINATING, DENIED], ids=lambda each: each.code
)
@pytest.mark.parametrize("times", [1, 3])
def test_what_passes_decides_over_nothing(answer: ApiStatus, times: int) -> None:
    run = driven(answer, times)
    run.to_the_end()
    assert (
        run.engine.not_drained == {} and not run.told(DrainEventKind.KEPT) and not run.told(DrainEventKind.LEFT_ALONE)
    )
    assert len(run.told(DrainEventKind.REFUSED)) == times, "each is told"
    assert all(later - sooner >= 4.0 for sooner, later in pairwise(asked_s(run, "bad-1")))


def test_a_right_that_is_missing_is_named_after_a_few_tries() -> None:
    run = driven(NO_RIGHT, 10_000)
    run.to_the_end()
    assert asked_s(run, "bad-1") == [0.0, 10.0, 20.0, 30.0]
    (kept,) = run.told(DrainEventKind.KEPT)
    assert kept[1].startswith("no right to create pods/eviction in namespace default, 4 times within 30s: pods")
    assert run.engine.not_drained == {"old-0": ("default/bad-1",)}, "the rest goes on"
    assert "asked for again" in run.told(DrainEventKind.REFUSED)[0][1]


def test_a_right_that_comes_and_goes_is_not_missing_for_good() -> None:
    """Only consecutive refusals count."""
    said = [NO_RIGHT, NO_RIGHT, NO_RIGHT, DENIED, NO_RIGHT, NO_RIGHT]
    run = driven(NO_RIGHT, 0)

    def evicted(act: ClusterAction) -> RunUpdate | list[RunUpdate]:
        assert isinstance(act, Evict)
        return RequestAnswered(act, said.pop(0)) if act.pod.name == "bad-1" and said else granted(act)

    run.answers["Evict"] = evicted
    run.to_the_end()
    assert not said and run.engine.not_drained == {}


def test_a_budgets_controller_that_stays_behind_is_an_alarm() -> None:
    run = driven(BEHIND, 10_000)
    run.until(299.0)
    assert not run.told(DrainEventKind.WARNED)
    run.to_the_end()
    (warned,) = run.told(DrainEventKind.WARNED)
    assert warned[0] == "default/bad-1" and "has been behind for 5m00s" in warned[1] and "negative" in warned[1]
    (kept,) = run.told(DrainEventKind.KEPT)
    assert "for 30m00s" in kept[1]
    assert min(later - sooner for sooner, later in pairwise(asked_s(run, "bad-1"))) == 30.0


def test_it_is_not_looked_at_once_more_while_somebody_looks() -> None:
    pod = a_pod("web-1", node="old-0")
    tries: list[ClusterAction] = []

    def evicted(act: ClusterAction) -> RunUpdate:
        tries.append(act)
        return RequestAnswered(act, LostResponse("the connection broke") if len(tries) == 1 else ApiStatus(201))

    cluster = a_cluster(nodes=[a_node("old-0"), a_roomy_node()], pods=[pod])
    driven = Driven(cluster, Evict=evicted, ReadPod=lambda act: None)
    driven.until(600.0)
    looks = [act for _, act in driven.asked if isinstance(act, ReadPod)]
    assert len(looks) == len(tries) == 1, "the answer is still to come"
    driven.hear(PodsFound(looks[0], (pod,)))
    driven.until(601.0)
    assert [type(act) for act in tries] == [Evict, Evict], "it was there all the same, and is asked for again"
    assert not [moment for moment in driven.engine.events if moment.what is DrainEventKind.KEPT]


def test_one_that_nobody_can_look_at_holds_nothing_up_for_ever() -> None:
    """Its node is given up after --eviction-timeout; meanwhile the other node is emptied."""
    pods = [a_pod("web-1", node="old-0"), a_pod("web-2", node="old-1")]
    cluster = a_cluster(nodes=[a_node("old-0"), a_node("old-1"), a_roomy_node()], pods=pods)
    doubtful, own = pods[0].uid, {}

    def evicted(act: ClusterAction) -> RunUpdate | list[RunUpdate]:
        assert isinstance(act, Evict)
        if act.pod.uid == doubtful:
            return RequestAnswered(act, LostResponse("the connection broke"))
        return [RequestAnswered(act, ApiStatus(201)), PodRemoved(act.pod.uid, 9)]

    def looked(act: ClusterAction) -> RunUpdate:
        own[len(own)] = act
        return RequestAnswered(act, LostResponse("500 the pod cannot be decoded"))

    driven = drained(cluster, Evict=evicted, ReadPod=looked)
    phases = {node.name: node.phase for node in driven.engine.nodes}
    assert phases == {"old-0": NodePhase.LEFT_ALONE, "old-1": NodePhase.DONE}
    ((pod, why),) = driven.told(DrainEventKind.KEPT)
    assert pod == "default/web-1" and "cannot be found out: 500 the pod cannot be decoded" in why
    assert len(driven.of(Evict)) == 2 and 15 <= len(own) <= 30


def test_a_node_that_nobody_can_list_is_left_alone_in_the_end() -> None:
    cluster = a_cluster(nodes=[a_node("old-0"), a_roomy_node()], pods=[a_pod("web-1", node="old-0")])
    driven = drained(cluster, ListPods=lambda act: RequestAnswered(act, LostResponse("500 broken")))
    ((node, why),) = driven.told(DrainEventKind.LEFT_ALONE)
    assert node == "old-0" and why == "which pods are on it cannot be listed: 500 broken"


NONE_LEFT = ApiStatus(
    429,
    "TooManyRequests",
    "no",
    StatusDetails(causes=(StatusCause("DisruptionBudget", "The disruption budget web needs 3"),)),
)


OF_TWO: dict[str, Any] = {"max_unavailable": 1, "expected": 2}


def refused(act: ClusterAction) -> RunUpdate:
    assert isinstance(act, Evict)
    return RequestAnswered(act, NONE_LEFT)


def a_run_of_slept() -> Driven:
    pods = [a_pod(f"web-{i}", node="old-0") for i in range(2)]
    there = a_cluster(nodes=[a_node("old-0"), a_roomy_node()], pods=pods, budgets=[a_budget(allowed=1, **OF_TWO)])
    return Driven(there, limits=RunLimits(blocked_s=600), Evict=refused)


def test_a_pod_that_waits_for_its_budget_is_not_given_up_for_it() -> None:
    run = a_run_of_slept()
    run.until(300)
    run.now_s = 1000.0
    run.engine.hold("this machine stood still", run.now_s, 300.0)
    run.step()
    run.until(1200)
    assert not run.told(DrainEventKind.KEPT)
    run.until(1400)
    assert run.told(DrainEventKind.KEPT)


@pytest.mark.parametrize(("allowed", "kept"), [(1, True), (0, False)])
def test_a_list_of_budgets_is_movement_only_if_the_budget_has_changed(allowed: int, kept: bool) -> None:
    run = a_run_of_slept()
    run.until(400)
    run.hear(AllBudgets(((a_budget(allowed=allowed, **OF_TWO), 7),), 7))
    run.until(800)
    assert bool(run.told(DrainEventKind.KEPT)) is kept
