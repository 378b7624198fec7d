"""Drift: whether the cluster still matches the facts of the plan, and whether a new plan would be the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from kubectl_eksdoc.drain.plan_changes import drift, is_unchanged
from kubectl_eksdoc.model.baseline import AcceptedPlan
from kubectl_eksdoc.model.cluster import Cluster, Lease
from tests.builders import NOW, a_budget, a_cluster, a_node, a_pod, ago

NODES = {"old-0": ("n0", "drains"), "old-1": ("n1", "skipped")}
PODS = {
    "p1": ("shop/web-1", "rs-web", "eviction"),
    "p2": ("shop/web-2", "rs-web", "eviction"),
    "p3": ("ops/shell", "", "eviction"),
}
BUDGETS = {"shop/web": "fits"}


def a_promise(
    nodes: Mapping[str, tuple[str, str]] = NODES,
    pods: Mapping[str, tuple[str, str, str]] = PODS,
    budgets: Mapping[str, str] = BUDGETS,
    unknown: frozenset[str] = frozenset(),
) -> AcceptedPlan:
    return AcceptedPlan(nodes, pods, budgets, unknown)


READ = a_promise()


@pytest.mark.parametrize(
    "now",
    [
        READ,
        a_promise(pods={"p1": PODS["p1"]}),  # other pods are gone
        a_promise(pods={**PODS, "p9": ("shop/web-9", "rs-web", "eviction")}),  # its owner created it
        a_promise(budgets={}),  # none of its pods is on the targets any more
    ],
)
def test_the_same_decision_is_no_drift(now: AcceptedPlan) -> None:
    assert drift(READ, now) == ()


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (a_promise({"old-0": NODES["old-0"]}), "node old-1 is not there any more, or not selected"),
        (a_promise({**NODES, "old-2": ("n2", "drains")}), "node old-2 is selected and was not in the plan"),
        (
            a_promise({**NODES, "old-0": ("n7", "drains")}),
            "node old-0 is another one than in the plan: its uid differs",
        ),
        (a_promise({**NODES, "old-1": ("n1", "drains")}), "node old-1 was skipped and is drains now"),
        (
            a_promise(pods={**PODS, "p9": ("shop/api-1", "rs-api", "eviction")}),
            "a pod that the plan does not evict would be evicted: shop/api-1",
        ),
        (
            a_promise(pods={**PODS, "p9": ("ops/other", "", "eviction")}),
            "a pod that the plan does not evict would be evicted: ops/other",
        ),
        (
            a_promise(pods={**PODS, "p1": ("shop/web-1", "rs-web", "deletion")}),
            "shop/web-1 was to go by eviction and goes by deletion now",
        ),
        (a_promise(budgets={"shop/web": "serial"}), "budget shop/web was fits and is serial now"),
        (
            a_promise(budgets={**BUDGETS, "shop/api": "fits"}),
            "budget shop/api guards pods on the targets and was not in the plan",
        ),
        (a_promise(unknown=frozenset(("pod-local-volume",))), "pod-local-volume cannot be judged any more"),
    ],
)
def test_another_decision_is_named(now: AcceptedPlan, said: str) -> None:
    assert drift(READ, now) == (said,)


def test_of_many_pods_some_are_named() -> None:
    many = {f"n{i}": (f"shop/api-{i}", f"rs-{i}", "eviction") for i in range(8)}
    (said,) = drift(READ, a_promise(pods={**PODS, **many}))
    assert said.endswith("shop/api-0, shop/api-1, shop/api-2, shop/api-3, shop/api-4 and 3 more")


POD = a_pod("web-0")
CLUSTER = replace(
    a_cluster(nodes=[a_node("old-0")], pods=[POD], budgets=[a_budget("web")]),
    leases=(Lease("kube-system", "leader", "web-0", ago(9)),),
)


def later(cluster: Cluster, seconds: float = 60) -> Cluster:
    return replace(cluster, observed_at=NOW + timedelta(seconds=seconds))


def test_time_that_passes_and_locks_that_are_renewed_change_nothing() -> None:
    renewed = replace(later(CLUSTER), leases=(Lease("kube-system", "leader", "web-0", ago(-50)),))
    assert is_unchanged(CLUSTER, later(CLUSTER)) and is_unchanged(CLUSTER, renewed)


@pytest.mark.parametrize(
    "change",
    [
        {"pods": ()},
        {"pods": (replace(POD, ready=False),)},
        {"nodes": (a_node("old-0", unschedulable=True),)},
        {"budgets": (a_budget("web", allowed=0),)},
        {"leases": (Lease("kube-system", "leader", "web-1", ago(9)),)},
        {"leases": ()},
        {"reads": ()},
    ],
    ids=lambda change: str(*change),
)
def test_everything_else_does(change: dict[str, object]) -> None:
    assert not is_unchanged(CLUSTER, replace(later(CLUSTER), **change))  # type: ignore[arg-type]


def test_while_a_pod_is_being_deleted_time_counts() -> None:
    leaving = replace(CLUSTER, pods=(replace(POD, deletion_deadline=ago(-30)),))
    assert not is_unchanged(leaving, later(leaving))


def test_a_pod_that_is_to_be_left_alone_for_an_hour_counts_when_that_has_passed() -> None:
    pod = a_pod("job", annotations={"karpenter.sh/do-not-disrupt": "2h"}, created_at=ago(3600))
    spared = replace(CLUSTER, pods=(pod,))
    assert is_unchanged(spared, later(spared)) and not is_unchanged(spared, later(spared, 3700))
