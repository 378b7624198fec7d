"""Between what was typed and the lock another pod may have got the name: it is not deleted, and neither is one more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.cli.run.new_run import PlannedRead, _check_typed, digest
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.errors import Drifted
from tests.builders import a_budget, a_cluster, a_node, a_workload, pods
from tests.drain.planning import plan_of

NAMED = DrainPolicy(delete_past_budget=frozenset({"default/web-0"}))


def read(uid: str = "", allowed: int = 0, policy: DrainPolicy = NAMED) -> PlannedRead:
    found = [replace(pod, uid=uid or pod.uid) for pod in pods(1)]
    cluster = a_cluster(
        nodes=[a_node("old-0")],
        pods=found,
        workloads=[a_workload(replicas=1)],
        budgets=[a_budget(min_available=1 - allowed, allowed=allowed, expected=1)],
    )
    return PlannedRead(cluster, plan_of(cluster, policy=policy))


def test_the_same_pod_is_the_one_that_was_typed() -> None:
    _check_typed(read(), read())
    assert len(read().plan.past_budgets) == 1


def test_another_pod_of_its_name_was_not_typed() -> None:
    with pytest.raises(Drifted, match="default/web-0 would be deleted past its budget, and is not the pod"):
        _check_typed(read(), read(uid="another"))


def test_one_that_was_to_go_in_its_turn_was_not_typed() -> None:
    assert not read(allowed=1).plan.past_budgets
    with pytest.raises(Drifted):
        _check_typed(read(allowed=1), read())
    _check_typed(read(), read(allowed=1))


def test_plans_by_other_means_have_other_digests() -> None:
    assert digest(read()) != digest(read(allowed=1)) == digest(read(allowed=1, policy=DrainPolicy()))
