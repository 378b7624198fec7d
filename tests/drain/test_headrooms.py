"""Headroom over the usual run: for the slowest budgets only, and for none of which the start is not known."""

from __future__ import annotations

from kubectl_eksdoc.drain.duration.estimate import MOST_LINES
from kubectl_eksdoc.drain.duration.generations import LAG_S
from kubectl_eksdoc.drain.outcome import BudgetVerdict
from kubectl_eksdoc.drain.plan import make_plan
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.model import kinds
from tests.builders import a_budget, a_cluster, a_node, a_roomy_node, a_workload, pods


def a_plan(sizes: dict[str, int], *, owners: bool = True) -> DrainPlan:
    """The drain of one node with so many pods of each app, each under a budget of one; `owners` may be read or not."""
    old = a_node("old-0")
    cluster = a_cluster(
        nodes=[old, a_roomy_node()],
        pods=[pod for app, count in sizes.items() for pod in pods(count, app)],
        budgets=[a_budget(app, expected=count) for app, count in sizes.items()],
        workloads=[a_workload(f"ReplicaSet/{app}", replicas=n) for app, n in sizes.items() if owners],
        unread=() if owners else [kinds.REPLICA_SETS],
    )
    return make_plan(cluster, [old], DrainPolicy())


def lines(plan: DrainPlan) -> dict[str, tuple[tuple[float, int], ...]]:
    return {h.budget.name: h.over_time for h in plan.budgets if h.over_time}


def test_a_budget_of_one_has_no_headroom_until_its_last_replacement_shows() -> None:
    plan = a_plan({"web": 3, "one": 1})
    assert {h.budget.name: h.verdict for h in plan.budgets} == {
        "one": BudgetVerdict.FITS,
        "web": BudgetVerdict.SERIAL,
    }
    # Three starts, each shown `LAG_S` later; given back and taken at once between them.
    assert plan.estimate is not None
    last_s = max(moved.ready_s or 0.0 for moved in plan.estimate.moves if "web" in moved.uid)
    assert last_s > 90
    assert lines(plan) == {"web": ((0.0, 0), (last_s + LAG_S, 1))}


def test_only_the_slowest_have_a_line() -> None:
    sizes = {f"app-{count}": count for count in range(2, 4 + MOST_LINES)}
    assert set(lines(a_plan(sizes))) == {f"app-{count}" for count in range(4, 4 + MOST_LINES)}


def test_no_line_where_the_controllers_numbers_are_not_known() -> None:
    plan = a_plan({"web": 3}, owners=False)
    assert [h.verdict for h in plan.budgets] == [BudgetVerdict.SERIAL]
    assert not lines(plan)


def test_no_line_where_nothing_is_drained() -> None:
    assert not lines(make_plan(a_cluster(), [], DrainPolicy()))
