"""Budget arithmetic: properties against exact fractions, and what facts that are missing do to it."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.kubernetes.budgets import (
    CannotTell,
    Computed,
    SyncFailed,
    disruptions_allowed,
    full_health_allowed,
    recompute,
    rounding_note,
    scaled,
    synced,
)
from kubectl_eksdoc.kubernetes.replacement import Scales
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.budgets import Amount, BudgetStatus
from kubectl_eksdoc.model.kinds import KindRead, ReadState
from kubectl_eksdoc.model.selectors import NOTHING
from tests.builders import NOW, a_budget, a_pod, a_workload, ago, an_owner, pods

WEB = a_workload("ReplicaSet/web", owner="Deployment/web")
SCALES = Scales.of([WEB, a_workload("Deployment/web", replicas=3)])


def status_of(result: object) -> BudgetStatus:
    assert isinstance(result, Computed)
    return result.status


@given(st.integers(0, 100), st.integers(0, 10_000))
def test_percentages_round_up_exactly(percent: int, total: int) -> None:
    exact = Fraction(percent * total, 100)
    assert scaled(Amount(percent, percent=True), total) == math.ceil(exact)
    assert scaled(Amount(percent, percent=True), total, round_up=False) == math.floor(exact)


amounts = st.one_of(st.integers(0, 40).map(Amount), st.integers(0, 100).map(lambda p: Amount(p, percent=True)))


@given(amounts, st.booleans(), st.integers(0, 30), st.lists(st.booleans(), max_size=30))
def test_allowed_is_never_negative_and_never_breaks_the_budget(
    amount: Amount, is_minimum: bool, replicas: int, ready: list[bool]
) -> None:
    budget = a_budget(min_available=amount) if is_minimum else a_budget(max_unavailable=amount)
    members = [a_pod(f"web-{i}", ready=r) for i, r in enumerate(ready)]
    status = status_of(recompute(budget, members, Scales.of([a_workload(replicas=replicas)]), NOW))
    assert status.current == sum(ready)
    assert 0 <= status.allowed <= status.current
    assert status.allowed == 0 or status.current - status.allowed >= status.desired
    assert status.desired >= 0


@given(st.integers(-5, 50), st.integers(0, 50), st.integers(0, 50))
def test_a_budget_that_expects_nothing_allows_nothing(expected: int, current: int, desired: int) -> None:
    allowed = disruptions_allowed(expected, current, desired)
    assert allowed >= 0
    assert allowed == 0 or expected > 0


@pytest.mark.parametrize(
    ("rule", "replicas", "allowed"),
    [
        ({"min_available": "90%"}, 5, 0),
        ({"max_unavailable": "10%"}, 5, 1),
        ({"max_unavailable": "30%"}, 7, 3),
        ({"max_unavailable": 0}, 3, 0),
        ({"min_available": 5}, 3, -2),
        ({"max_unavailable": 1}, 1, 1),
    ],
)
def test_full_health(rule: dict[str, Any], replicas: int, allowed: int) -> None:
    scales = Scales.of([a_workload(replicas=replicas)])
    # Only one pod is there and it is not Ready: neither matters.
    assert full_health_allowed(a_budget(**rule), [a_pod(ready=False)], scales) == allowed


def test_full_health_does_not_count_pods_that_leave_or_have_finished() -> None:
    budget = a_budget(min_available=2)
    scales = Scales.of([a_workload(replicas=2)])
    members = [*pods(2), a_pod("going", deletion_deadline=ago(-20)), a_pod("done", phase="Failed")]
    assert full_health_allowed(budget, members, scales) == 0
    assert status_of(recompute(budget, members, scales, NOW)).expected == 4


def test_full_health_of_an_absolute_minimum_needs_no_scale() -> None:
    jobs = pods(3, owner="Job/etl")
    assert full_health_allowed(a_budget(min_available=2), jobs, Scales.of(())) == 1
    gone = [a_pod("done", phase="Succeeded", owner="Job/etl"), a_pod("going", deletion_deadline=ago(-9), owner=None)]
    assert full_health_allowed(a_budget(min_available=2), [*jobs, *gone], Scales.of(())) == 1
    assert full_health_allowed(a_budget(max_unavailable=1), jobs, Scales.of(())) is None


def test_a_custom_owner_cannot_be_told() -> None:
    owner = an_owner("CloneSet/web", group="apps.kruise.io")
    result = recompute(a_budget(max_unavailable=1), pods(2, owner=owner), SCALES, NOW)
    assert result == CannotTell("CloneSet.apps.kruise.io", "the scale of CloneSet web is not among the facts")


@pytest.mark.parametrize(
    ("unread", "missing"),
    [(kinds.REPLICA_SETS, "replicasets.apps"), (kinds.DEPLOYMENTS, "deployments.apps")],
)
def test_what_was_not_read_is_not_taken_for_missing(unread: kinds.Resource, missing: str) -> None:
    held = [w for w in (WEB, a_workload("Deployment/web")) if w.kind != unread.kind]
    scales = Scales.of(held, [KindRead(unread, ReadState.FORBIDDEN)])
    result = recompute(a_budget(max_unavailable=1), pods(2), scales, NOW)
    assert result == CannotTell(missing, f"{unread.plural} were not read (forbidden)")


def test_another_unread_kind_is_no_hindrance() -> None:
    scales = Scales.of([a_workload()], [KindRead(kinds.STATEFUL_SETS, ReadState.FORBIDDEN)])
    assert status_of(recompute(a_budget(max_unavailable=1), pods(3), scales, NOW)).allowed == 1


def test_an_invalid_selector_fails_the_sync() -> None:
    budget = a_budget(selector=NOTHING)
    assert isinstance(recompute(budget, [], SCALES, NOW), SyncFailed)
    assert full_health_allowed(budget, [], SCALES) is None


@pytest.mark.parametrize(
    ("seconds", "allowed", "kept"), [(30, 0, True), (119, 0, True), (120, 1, True), (121, 1, False)]
)
def test_a_granted_eviction_counts_for_two_minutes(seconds: int, allowed: int, kept: bool) -> None:
    budget = a_budget(min_available=2, disrupted={"web-0": ago(seconds), "long-gone": ago(1)})
    result = recompute(budget, pods(3), SCALES, NOW)
    assert isinstance(result, Computed)
    assert result.status.allowed == allowed
    assert set(result.disrupted) == ({"web-0"} if kept else set())


def test_a_deleted_pod_leaves_the_list_of_granted_evictions() -> None:
    members = [a_pod("web-0", deletion_deadline=ago(-30)), *pods(3)[1:]]
    result = recompute(a_budget(min_available=2, disrupted={"web-0": ago(1)}), members, SCALES, NOW)
    assert isinstance(result, Computed)
    assert (dict(result.disrupted), result.status.allowed) == ({}, 0)


def test_a_failed_sync_keeps_the_numbers_and_the_lag() -> None:
    stale = a_budget(generation=3, observed_generation=2, allowed=2)
    after = synced(stale, SyncFailed("no scale"))
    assert (after.observed_generation, after.status) == (2, replace(stale.status, allowed=0))
    assert (after.condition_reason, after.condition_message) == ("SyncFailed", "no scale")


@pytest.mark.parametrize(
    ("rule", "expected", "note"),
    [
        ({"min_available": "75%"}, 2, "75% of 2 rounds up to 2"),
        ({"max_unavailable": "30%"}, 7, "30% of 7 rounds up to 3"),
        ({"min_available": "50%"}, 4, ""),
        ({"min_available": 1}, 4, ""),
        ({"max_unavailable": 1}, 4, ""),
    ],
)
def test_rounding_is_explained_where_it_happens(rule: dict[str, Any], expected: int, note: str) -> None:
    assert rounding_note(a_budget(**rule), expected) == note
