"""What decides about an eviction, one rule after the other; messages as the server words them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.kubernetes.budgets import Computed, recompute, synced
from kubectl_eksdoc.kubernetes.evictions import MAX_DISRUPTED, EvictionCause, evict
from kubectl_eksdoc.kubernetes.replacement import Scales
from kubectl_eksdoc.model.budgets import ALWAYS_ALLOW, Budget
from kubectl_eksdoc.model.nodes import Pod
from tests.builders import NOW, a_budget, a_pod, a_workload, pods

READY = a_pod("web-0")
UNREADY = a_pod("web-0", ready=False)
NONE_LEFT = a_budget(allowed=0)


def asked(pod: Pod, *guards: Budget) -> tuple[int, EvictionCause]:
    answer = evict(pod, guards, NOW)
    return answer.code, answer.why


def test_a_pod_of_unknown_phase_needs_one() -> None:
    assert asked(a_pod(phase="Unknown", ready=True), NONE_LEFT) == (429, EvictionCause.EXHAUSTED)


def test_an_unready_pod_is_not_counted_even_if_the_budget_could_afford_it() -> None:
    answer = evict(UNREADY, (a_budget(allowed=2, current=4, desired=2),), NOW)
    assert (answer.after, answer.checks_version) == (None, True)


def test_a_policy_beats_a_stale_status() -> None:
    stale = a_budget(generation=2, observed_generation=1, unhealthy_policy=ALWAYS_ALLOW)
    assert asked(UNREADY, stale) == (201, EvictionCause.UNHEALTHY_ALLOWED)
    assert asked(READY, stale) == (429, EvictionCause.STALE)


def test_a_negative_number_is_forbidden() -> None:
    answer = evict(READY, (a_budget(allowed=-1, current=2),), NOW)
    assert (answer.code, answer.reason) == (403, "Forbidden")
    assert answer.message == ('poddisruptionbudget.policy "web" is forbidden: pdb disruptions allowed is negative')


@pytest.mark.parametrize(("entries", "code"), [(MAX_DISRUPTED, 201), (MAX_DISRUPTED + 1, 403)])
def test_too_many_evictions_the_controller_has_not_seen(entries: int, code: int) -> None:
    budget = a_budget(allowed=9, expected=9, disrupted={f"p{i}": NOW for i in range(entries)})
    assert evict(READY, (budget,), NOW).code == code


@pytest.mark.parametrize(
    ("more", "cause"),
    [
        (
            {"condition_reason": "SyncFailed", "condition_message": "no scale", "current": 1, "desired": 2},
            "The disruption budget web does not allow evicting pods currently because it failed sync: no scale",
        ),
        ({"current": 2, "desired": 2}, "The disruption budget web needs 2 healthy pods and has 2 currently"),
        (
            {"current": 3, "desired": 2, "condition_reason": "Frozen", "condition_message": "ask the owners"},
            "The disruption budget web does not allow evicting pods currently (Frozen): ask the owners",
        ),
        ({"current": 3, "desired": 2}, "The disruption budget web does not allow evicting pods currently"),
        (
            {"current": 3, "desired": 2, "condition_status": "True", "condition_reason": "SyncFailed"},
            "The disruption budget web does not allow evicting pods currently",
        ),
    ],
)
def test_why_nothing_is_allowed(more: dict[str, Any], cause: str) -> None:
    answer = evict(READY, (a_budget(allowed=0, **more),), NOW)
    assert (answer.code, answer.reason, answer.cause, answer.retry_after) == (429, "TooManyRequests", cause, 0)


@given(st.integers(0, 8), st.integers(1, 12), st.booleans())
def test_a_sequence_never_gets_more_than_is_allowed(minimum: int, count: int, syncs_between: bool) -> None:
    """Granted evictions keep counting against the budget, whether or not the controller syncs in between."""
    members = pods(count)
    scales = Scales.of([a_workload(replicas=count)])
    budget = a_budget(min_available=minimum)

    def sync(held: Budget) -> Budget:
        result = recompute(held, members, scales, NOW)
        assert isinstance(result, Computed)
        return synced(held, result)

    budget = sync(budget)
    granted = 0
    for pod in members:
        answer = evict(pod, (budget,), NOW)
        granted += answer.ok
        budget = answer.after or budget
        budget = sync(budget) if syncs_between else budget
        assert budget.status.allowed >= 0
    assert granted == max(0, count - minimum)
