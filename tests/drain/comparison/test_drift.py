"""Whether what would be done is still what was read: nothing else is done."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kubectl_eksdoc.drain.comparison.changes import drift
from kubectl_eksdoc.model.baseline import ReadPlan

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
) -> ReadPlan:
    return ReadPlan(nodes, pods, budgets, unknown)


READ = a_promise()


@pytest.mark.parametrize(
    "now",
    [
        READ,
        a_promise(pods={"p1": PODS["p1"]}),  # others have gone
        a_promise(pods={**PODS, "p9": ("shop/web-9", "rs-web", "eviction")}),  # its owner made it
        a_promise(budgets={}),  # none of its pods is on the targets any more
    ],
)
def test_the_same_decision_is_no_drift(now: ReadPlan) -> None:
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
def test_another_decision_is_named(now: ReadPlan, said: str) -> None:
    assert drift(READ, now) == (said,)


def test_of_many_pods_some_are_named() -> None:
    many = {f"n{i}": (f"shop/api-{i}", f"rs-{i}", "eviction") for i in range(8)}
    (said,) = drift(READ, a_promise(pods={**PODS, **many}))
    assert said.endswith("shop/api-0, shop/api-1, shop/api-2, shop/api-3, shop/api-4 and 3 more")
