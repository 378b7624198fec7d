"""A budget's status during a simulated drain: each kind of rule and pod, invariants of any drain, and the cost."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.drain.simulation import simulate
from kubectl_eksdoc.drain.timeline import (
    DrainTerms,
    PodMove,
    ReplacedPod,
    StatusWrite,
    WatchedBudget,
    headroom_over_time,
    status_writes,
)
from kubectl_eksdoc.kubernetes.budgets import ComputedStatus, allowed_at_full_health, recompute
from kubectl_eksdoc.kubernetes.replacement import ScaleIndex, replacement
from kubectl_eksdoc.model.budgets import ALWAYS_ALLOW
from kubectl_eksdoc.model.nodes import Pod
from tests.builders import NOW, a_budget, a_pod, a_workload, ago, pods

Row = tuple[float, int, int, int, int]


def watched(members: Sequence[Pod], replicas: int | None = None, **rule: object) -> WatchedBudget:
    """A budget over `members`, in sync with them; `rule` has the arguments of `a_budget`."""
    kind = members[0].owner.kind if members and members[0].owner else "ReplicaSet"
    scales = ScaleIndex.of([a_workload(f"{kind}/web", replicas=len(members) if replicas is None else replicas)])
    budget = a_budget(**rule)  # type: ignore[arg-type]
    start = recompute(budget, members, scales, NOW)
    assert isinstance(start, ComputedStatus)
    return WatchedBudget(budget, tuple(members), start)


def rows(written: Sequence[StatusWrite]) -> list[Row]:
    """The columns: second, allowed, healthy, expected, disrupted."""
    return [(at, s.allowed, s.current, s.expected, disrupted) for at, s, disrupted in written]


def only(of: WatchedBudget, *moves: ReplacedPod, lag_s: float = 0.0) -> tuple[StatusWrite, ...]:
    return status_writes([of], moves, lag_s)[of.budget.key]


def moved(pod: Pod, evicted_s: float, gone_s: float, ready_s: float | None) -> ReplacedPod:
    return ReplacedPod(pod.uid, pod.node, evicted_s, gone_s, ready_s)


@pytest.mark.parametrize(
    ("sick", "why"),
    [
        ({"ready": False}, "the budget has what it needs, so its policy lets the pod go"),
        ({"phase": "Pending"}, "budgets are not read for it"),
        ({"phase": "Failed", "owner": "StatefulSet/web"}, "budgets are not read for it"),
        ({"ready": False, "deletion_deadline": ago(-30)}, "it is being deleted already"),
    ],
)
def test_what_the_endpoint_does_not_count_only_adds_its_replacement(sick: dict[str, object], why: str) -> None:
    web = [*pods(3, owner=sick.get("owner", "ReplicaSet/web")), a_pod("sick", **{"owner": "ReplicaSet/web"} | sick)]  # type: ignore[arg-type]
    of = watched(web, replicas=4, max_unavailable=2)
    assert rows(only(of, moved(web[3], 0, 1, 9))) == [(0, 1, 3, 4, 0), (9, 2, 4, 4, 0)], why


def test_a_pod_that_is_not_ready_and_must_be_counted_costs_a_disruption_only_until_the_next_sync() -> None:
    """With maxUnavailable 100 % no healthy pod is needed, and then no policy exempts an unready pod from the count."""
    web = [a_pod("a"), a_pod("b", ready=False)]
    of = watched(web, max_unavailable="100%")
    assert rows(only(of, moved(web[1], 0, 1, 9))) == [
        (0, 1, 1, 2, 0),
        (0, 0, 1, 2, 1),
        (0, 1, 1, 2, 1),
        (0, 1, 1, 2, 0),
        (9, 2, 2, 2, 0),
    ]
    always = watched(web, max_unavailable="100%", unhealthy_policy=ALWAYS_ALLOW)
    assert rows(only(always, moved(web[1], 0, 1, 9))) == [(0, 1, 1, 2, 0), (9, 2, 2, 2, 0)]


def test_a_pod_whose_eviction_somebody_else_was_granted_is_counted_again_and_not_missed_twice() -> None:
    web = pods(4)
    of = watched(web, max_unavailable=2, disrupted={web[0].name: ago(1)})
    assert [row[1:] for row in rows(only(of, moved(web[0], 0, 1, 9)))] == [
        (1, 3, 4, 1),
        (0, 3, 4, 1),
        (1, 3, 4, 1),
        (1, 3, 4, 0),
        (2, 4, 4, 0),
    ]


def test_an_eviction_that_would_be_refused_shows_below_zero() -> None:
    web = pods(3)
    written = only(watched(web, max_unavailable=1), moved(web[0], 0, 9, 9), moved(web[1], 1, 9, 9))
    assert min(w.status.allowed for w in written) == -1
    assert min(w.status.current - w.status.desired for w in written) == -1


def test_headroom_is_a_line_with_one_value_at_each_moment() -> None:
    """A slot that is released and taken in the same second causes no rise."""
    web = pods(3)
    written = only(watched(web, max_unavailable=1), moved(web[0], 0, 5, 20), moved(web[1], 20, 25, 40))
    assert headroom_over_time(written) == ((0, 0), (40, 1))
    assert headroom_over_time(written[:1]) == ((0, 1),)


@st.composite
def drains(draw: st.DrawFn) -> tuple[list[WatchedBudget], list[tuple[str, list[PodMove]]], DrainTerms]:
    """Budgets at full health that allow at least one eviction, over pods on a few nodes."""
    seconds = st.integers(0, 20).map(float)
    budgets, by_node = [], {f"n{i}": list[PodMove]() for i in range(draw(st.integers(1, 4)))}
    for app in ("web", "api")[: draw(st.integers(1, 2))]:
        owner = draw(st.sampled_from(("ReplicaSet", "StatefulSet"))) + f"/{app}"
        members = pods(draw(st.integers(1, 8)), app, owner=owner)
        rule = draw(st.sampled_from(("max_unavailable", "min_available")))
        amount = draw(st.integers(0, 7) | st.integers(0, 99).map("{}%".format))
        scales = ScaleIndex.of([a_workload(owner, replicas=len(members))])
        budget = a_budget(app, **{rule: amount})
        start = recompute(budget, members, scales, NOW)
        assert isinstance(start, ComputedStatus)
        assert start.status.allowed == max(0, allowed_at_full_health(budget, members, scales) or 0)
        budgets.append(WatchedBudget(budget, members, start))
        for pod in members if start.status.allowed else ():
            move = PodMove(pod.uid, (budget.key,), draw(seconds), draw(seconds), replacement(pod), draw(st.booleans()))
            by_node[draw(st.sampled_from(sorted(by_node)))].append(move)
    terms = DrainTerms(
        slots={w.budget.key: max(1, w.computed.status.allowed) for w in budgets},
        nodes_at_once={"": draw(st.integers(1, 4))},
        eviction_interval_s=draw(st.sampled_from((0.0, 1.0))),
        budget_lag_s=draw(st.sampled_from((0.0, 0.3, 2.0))),
        node_settle_s=draw(st.sampled_from((0.0, 5.0))),
    )
    return budgets, list(by_node.items()), terms


@given(drains())
def test_no_simulated_drain_takes_more_than_a_budget_allows(
    made: tuple[list[WatchedBudget], list[tuple[str, list[PodMove]]], DrainTerms],
) -> None:
    budgets, nodes, terms = made
    timeline = simulate(nodes, terms)
    for of in budgets:
        written = status_writes(budgets, timeline.moves, terms.budget_lag_s)[of.budget.key]
        assert written[0] == StatusWrite(0, of.computed.status, 0)
        for write in written:
            assert write.status.allowed >= 0
            assert write.status.current >= min(write.status.desired, of.computed.status.current)
            assert 0 <= write.disrupted <= 1
        # Finally all pods are replaced, so it ends as it began; nothing is written twice.
        assert written[-1][1:] == written[0][1:]
        assert all(a[1:] != b[1:] for a, b in pairwise(written))
        assert [w.at_s for w in written] == sorted(w.at_s for w in written)
