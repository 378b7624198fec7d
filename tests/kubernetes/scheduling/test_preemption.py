"""Preemption: Kubernetes' own tests as data, a real scheduler's verdicts, and invariants of any victims."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.kubernetes.guards import index_budgets
from kubectl_eksdoc.kubernetes.scheduling.occupancy import Occupancy
from kubectl_eksdoc.kubernetes.scheduling.preemption import (
    BudgetLookup,
    Occupant,
    PreemptionVictims,
    Preemptor,
    pick_victims,
    preemption_may_help,
    victims_on,
)
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.selectors import EVERYTHING
from tests import raw_facts
from tests.builders import a_budget, a_node, a_pod, ago
from tests.kubernetes.scheduling import observed
from tests.kubernetes.scheduling.test_recorded_placement import after, emptied, greedily, owner

CASES = raw_facts.cases("preemption")


def short(case: dict[str, Any]) -> str:
    return str(case["source"]).partition(".go:")[2]


@cache
def examined(number: int) -> dict[str, PreemptionVictims]:
    """The victims on each node of the case, by node name."""
    given_ = CASES[number]["given"]
    held = observed.cluster({**given_, "pods": [given_["pod"], *given_["pods"]]})
    asking, *there = held.pods
    occupancy = Occupancy.of(held.nodes, there, {"default": {}})
    budgets_of = index_budgets(held.budgets, held.pods).for_pod
    preemptor = Preemptor(occupancy.class_of(asking), asking.priority)
    before = snapshot(occupancy)
    found = {}
    for node in held.nodes:
        on = [Occupant(pod, occupancy.class_of(pod)) for pod in there if pod.node == node.name]
        if preemption_may_help(occupancy, preemptor, node.name):
            victims = victims_on(occupancy, preemptor, node.name, on, budgets_of)
            if victims is not None:
                found[node.name] = victims
    assert snapshot(occupancy) == before
    return found


def snapshot(occupancy: Occupancy) -> object:
    return {
        name: (dict(seat.pod_counts), seat.room.cpu, seat.room.memory, seat.room.pods)
        for name, seat in occupancy.by_node.items()
    }


@pytest.mark.parametrize("number", range(len(CASES)), ids=[short(case) for case in CASES])
def test_upstreams_cases(number: int) -> None:
    found, expect = examined(number), CASES[number]["expect"]
    if "victims" in expect:
        told = {
            name: {"pods": sorted(pod.name for pod in victims.pods), "beyond": len(victims.violating)}
            for name, victims in found.items()
        }
        assert told == expect["victims"]
    else:
        taken = pick_victims(list(found.values()))
        assert ([] if taken is None else [taken.node]) == expect["chosen"] or (taken and taken.node in expect["chosen"])


def test_all_of_them_are_run() -> None:
    tests = [short(case).partition("/")[0] for case in CASES]
    assert {name: tests.count(name) for name in tests} == {
        "TestDryRunPreemption": 12,
        "TestSelectBestCandidate": 9,
        "TestPostFilter": 6,
    }


def test_where_a_real_scheduler_saw_no_help_neither_do_we() -> None:
    """The scheduler's messages count the nodes where preemption does not help and the nodes without pods of lower
    priority.

    It scheduled local-db while the nodes had room, so that no full node was refused before the volume.
    """
    empty, _ = emptied()
    full, homeless = emptied()
    left = {owner(pod): pod for pod in greedily(full, homeless)}
    assert len(left) == 4
    for name, pod in left.items():
        occupancy = empty if name == "StatefulSet/local-db" else full
        (message,) = {line["unschedulable"] for line in after()[name] if line["unschedulable"]}
        said = message.partition("preemption: ")[2]
        no_help = int(re.findall(r"(\d+) Preemption is not helpful", said)[0])
        nobody = sum(map(int, re.findall(r"(\d+) No preemption victims", said)))
        preemptor = Preemptor(occupancy.successor_of(pod), pod.priority)
        helped = [node for node in occupancy.by_node if preemption_may_help(occupancy, preemptor, node)]
        assert (len(occupancy.by_node) - len(helped), len(helped)) == (no_help, nobody)


GIB = 1 << 30


def asking(name: str, cpu: int, priority: int, **more: Any) -> Pod:
    """A pod with a request of that many millicores."""
    given_ = a_pod(name, priority=priority, node="new-0", **more)
    return replace(given_, placement=replace(given_.placement, requests=replace(given_.placement.requests, cpu=cpu)))


def on_one_node(pods: list[Pod], preemptor: Pod, budgets_of: BudgetLookup = lambda pod: ()) -> PreemptionVictims | None:
    node = a_node("new-0", allocatable={"cpu": 1000, "memory": GIB, "pods": 8})
    occupancy = Occupancy.of([node], pods)
    on = [Occupant(pod, occupancy.class_of(pod)) for pod in pods]
    before = snapshot(occupancy)
    found = victims_on(occupancy, Preemptor(occupancy.class_of(preemptor), preemptor.priority), "new-0", on, budgets_of)
    assert snapshot(occupancy) == before
    return found


def test_a_budget_with_an_empty_selector_and_a_pod_without_labels_match_nothing() -> None:
    """This differs from evictions."""
    all_of_them = a_budget("all", selector=EVERYTHING, allowed=0)
    web = a_budget("web", allowed=0)
    new = asking("high", 900, 10, owner=None)
    assert on_one_node([asking("low", 900, 0)], new, lambda pod: (all_of_them,)) == PreemptionVictims(
        "new-0", (asking("low", 900, 0),), frozenset()
    )
    bare = asking("bare", 900, 0, labels={})
    assert on_one_node([bare], new, lambda pod: (web,)) == PreemptionVictims("new-0", (bare,), frozenset())
    found = on_one_node([asking("low", 900, 0)], new, lambda pod: (web,))
    assert found is not None and found.violating == {asking("low", 900, 0).uid}


def test_pods_beyond_their_budget_are_spared_before_more_important_ones() -> None:
    low, mid = asking("low", 500, 0), asking("mid", 500, 5, owner="ReplicaSet/other")
    held = a_budget("web", allowed=0)
    new = asking("high", 500, 10, owner=None)
    found = on_one_node([low, mid], new, lambda pod: (held,) if pod is low else ())
    assert found == PreemptionVictims("new-0", (mid,), frozenset())


crowds = st.lists(
    st.tuples(st.integers(0, 500), st.integers(-2, 3), st.integers(0, 5), st.booleans()), min_size=0, max_size=8
)


@given(crowds, st.integers(1, 1200), st.integers(-1, 3), st.integers(0, 3))
def test_victims_are_lower_make_room_and_none_goes_in_vain(
    crowd: list[tuple[int, int, int, bool]], cpu: int, priority: int, allowed: int
) -> None:
    pods = [
        asking(f"p{i}", size, rank, scheduled_at=ago(age), owner="ReplicaSet/web" if guarded else "ReplicaSet/other")
        for i, (size, rank, age, guarded) in enumerate(crowd)
    ]
    budget = a_budget("web", allowed=allowed)
    found = on_one_node(
        pods, asking("new", cpu, priority, owner=None), lambda pod: (budget,) if pod.labels["app"] == "web" else ()
    )
    free = 1000 - sum(pod.placement.requests.cpu for pod in pods)
    lower = [pod for pod in pods if pod.priority < priority]
    if found is None:
        assert not lower or cpu > free + sum(pod.placement.requests.cpu for pod in lower)
        return
    gone = {pod.uid for pod in found.pods}
    assert gone <= {pod.uid for pod in lower} and len(gone) == len(found.pods)
    room = free + sum(pod.placement.requests.cpu for pod in found.pods)
    places = 8 - len(pods) + len(found.pods)
    assert cpu <= room and places > 0
    assert all(cpu > room - pod.placement.requests.cpu or places == 1 for pod in found.pods)
    assert [pod.priority for pod in found.pods] == sorted((pod.priority for pod in found.pods), reverse=True)
    guarded = [pod for pod in found.pods if pod.labels["app"] == "web"]
    assert found.violating <= {pod.uid for pod in guarded}
    assert len(found.violating) >= len(guarded) - allowed
