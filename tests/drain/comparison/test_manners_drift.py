"""A pod that goes by other means than was read is another plan."""

from __future__ import annotations

from kubectl_eksdoc.drain.comparison.changes import drift, promise_of
from kubectl_eksdoc.drain.policy import DrainPolicy
from tests.builders import a_budget, a_workload, pods
from tests.drain.planning import plan_of

NAMED = DrainPolicy(delete_past_budget=frozenset({"default/web-0"}))


def test_who_was_to_be_evicted_and_would_be_deleted_is_told() -> None:
    facts = {"pods": pods(1), "workloads": [a_workload(replicas=1)]}
    read = promise_of(plan_of(policy=NAMED, **facts))
    now = promise_of(plan_of(policy=NAMED, budgets=[a_budget(min_available=1, allowed=0, expected=1)], **facts))
    assert "default/web-0 was to go by eviction and goes by deletion now" in drift(read, now)
    assert not drift(read, read)
