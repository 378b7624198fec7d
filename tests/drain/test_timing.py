"""Start and stop times learned from running pods, the assumptions of an estimate, and headroom over time."""

from __future__ import annotations

from dataclasses import replace
from math import floor
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.drain.duration.estimate import MAX_HEADROOM_LINES, caveats
from kubectl_eksdoc.drain.duration.generations import BUDGET_LAG_S
from kubectl_eksdoc.drain.duration.timing import (
    ASSUMED_START_S,
    learn_start_times,
    learn_stop_times,
    min_stop_s,
    start_seconds,
    stop_quantiles,
)
from kubectl_eksdoc.drain.nodes import DrainContext, drain_context
from kubectl_eksdoc.drain.outcome import BudgetVerdict
from kubectl_eksdoc.drain.plan import build_plan
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.network import Service
from kubectl_eksdoc.model.nodes import Pod
from tests.builders import a_budget, a_cluster, a_node, a_pod, a_roomy_node, a_workload, ago, pods
from tests.drain.planning import plan_of


def started(name: str, seconds: float, owner: str = "ReplicaSet/web", **more: object) -> Pod:
    pod = a_pod(name, owner=owner, scheduled_at=ago(1000), ready_at=ago(1000 - seconds))
    return replace(pod, **more)  # type: ignore[arg-type]


def of(pod: Pod) -> str:
    return pod.owner.name if pod.owner else ""


def test_median_and_95th_of_a_workload() -> None:
    times = learn_start_times([started(f"w{i}", s) for i, s in enumerate((10, 20, 30))], of)
    found = times.for_workload("web")
    assert (found.p50_s, found.p95_s, found.samples, found.is_assumed) == (20, 30, 3, False)


def test_whole_seconds_say_on_average_how_long_a_start_took() -> None:
    """The API truncates both times to whole seconds: a start of 3.4 s reads as 3 s in six of ten cases, and as 4 s
    otherwise."""
    phases = [phase / 10 for phase in range(10)]
    read = [start_seconds(started("w", floor(phase + 3.4) - floor(phase))) for phase in phases]
    assert fmean(each for each in read if each is not None) == pytest.approx(3.4)


def test_restarted_and_unready_pods_tell_nothing() -> None:
    assert start_seconds(started("a", 10, restarted=True)) is None
    assert start_seconds(started("a", 10, ready=False)) is None
    assert start_seconds(a_pod("a")) is None


def test_a_pod_that_flapped_is_not_a_slow_start() -> None:
    several = [started(f"w{i}", s) for i, s in enumerate((10, 11, 12, 900))]
    assert learn_start_times(several, of).for_workload("web").p95_s == 12


def test_too_few_samples_are_helped_by_the_clusters() -> None:
    several = [started("w", 8)] + [started(f"o{i}", 40, "ReplicaSet/other") for i in range(3)]
    found = learn_start_times(several, of).for_workload("web")
    assert (found.p50_s, found.p95_s, found.is_assumed) == (8, 40, True)
    unknown = learn_start_times(several, of).for_workload("never-seen")
    assert (unknown.p50_s, unknown.is_assumed) == (40, True)


def test_without_any_sample_it_is_assumed() -> None:
    assert learn_start_times([a_pod()], of).for_workload("web").p50_s == ASSUMED_START_S[0]


def test_a_stop_is_at_most_its_grace() -> None:
    """Without measurements, the median is the geometric mean of 1 s and the grace period."""
    assert stop_quantiles(a_pod(), 100) == (10, 100)
    assert stop_quantiles(a_pod(), 1) == (1, 1)
    assert stop_quantiles(a_pod(), 0) == (0, 0)
    assert stop_quantiles(a_pod(phase="Succeeded"), 30) == (0, 0)
    assert stop_quantiles(a_pod(pre_stop_s=16), 25) == (19, 25), "its preStop hook sleeps before it is asked to stop"
    assert stop_quantiles(a_pod(pre_stop_s=60), 25) == (25, 25)
    assert stop_quantiles(a_pod(pre_stop_s=60), 25, [3.0, 4.0, 5.0]) == (4, 5), "what was seen is sure"


@pytest.mark.parametrize(
    ("grace_s", "hook_s", "least_s"), [(30, 0, 1), (30, 12, 13), (30, 30, 30), (30, 99, 30), (0.5, 0, 0.5)]
)
def test_a_drawn_stop_is_never_shorter_than_the_hook(grace_s: float, hook_s: int, least_s: float) -> None:
    assert min_stop_s(*stop_quantiles(a_pod(pre_stop_s=hook_s), grace_s)) == pytest.approx(least_s)


def test_stops_of_earlier_runs_by_template_then_by_owner() -> None:
    seen = [("default/ReplicaSet/web-1", each) for each in (2.0, 3.0, 4.0)] + [("default/ReplicaSet/web-2", 9.0)]
    seen += [("default/StatefulSet/web", 70.0)]
    stops = learn_stop_times(seen)
    same, newer, other = (a_pod(owner=f"ReplicaSet/{name}") for name in ("web-1", "web-3", "other-1"))
    assert stop_quantiles(same, 30, stops.for_pod(same)) == (3, 4)
    assert stop_quantiles(newer, 30, stops.for_pod(newer)) == (3, 9)
    assert stop_quantiles(newer, 5, stops.for_pod(newer)) == (3, 5), "the grace period is the longest it can be"
    assert stops.for_pod(other) == () == stops.for_pod(a_pod(owner=None))
    assert stop_quantiles(a_pod(), 30, [8.0]) == (8, 12), "one alone says little of the slowest"


GATE = "target-health.elbv2.k8s.aws/k8s-web"
WEB = Service("default", "web", "LoadBalancer", {"app": "web"}, ip_targets=True)


def a_survey(**facts: Any) -> DrainContext:
    return drain_context(a_cluster(**facts), (a_node(),), DrainPolicy())


@pytest.mark.parametrize(("count", "p50_s", "said"), [(960, 359, True), (960, 361, False), (3, 30, False)])
def test_the_control_planes_pace_is_said_where_it_may_decide(count: int, p50_s: float, said: bool) -> None:
    found = list(caveats(a_survey(), pods(count), p50_s))
    assert len(found) == said
    if said:
        assert found == [
            "the control plane keeps pace; one with default limits does about 8 evictions a second: then it takes at "
            "least 2m00s"
        ]


def test_targets_by_ip_without_a_gate_are_counted() -> None:
    gated = replace(a_pod("web-9"), readiness_gates=(GATE,))
    found = list(caveats(a_survey(services=[WEB]), [*pods(3), gated, a_pod("other", owner="ReplicaSet/other")], 1e9))
    assert len(found) == 1 and "3 pods are targets by ip without a readiness gate" in found[0]


@pytest.mark.parametrize(
    "facts",
    [
        {"services": [replace(WEB, ip_targets=False)]},
        {"services": [replace(WEB, namespace="elsewhere")]},
        {"services": [replace(WEB, type="ClusterIP")]},
    ],
)
def test_others_are_not(facts: dict[str, Any]) -> None:
    assert list(caveats(a_survey(**facts), pods(3), 1e9)) == []


def test_the_plan_says_it_with_its_assumptions() -> None:
    estimate = plan_of(pods=pods(1), services=[WEB]).estimate
    assert estimate is not None
    assert "1 pod is a target by ip without a readiness gate" in estimate.assumptions[-1]


def a_plan(sizes: dict[str, int], *, owners: bool = True) -> DrainPlan:
    """The drain of one node with so many pods of each app, each app under a budget that allows one eviction; `owners`
    may be read or not."""
    old = a_node("old-0")
    cluster = a_cluster(
        nodes=[old, a_roomy_node()],
        pods=[pod for app, count in sizes.items() for pod in pods(count, app)],
        budgets=[a_budget(app, expected=count) for app, count in sizes.items()],
        workloads=[a_workload(f"ReplicaSet/{app}", replicas=n) for app, n in sizes.items() if owners],
        unread=() if owners else [kinds.REPLICA_SETS],
    )
    return build_plan(cluster, [old], DrainPolicy())


def lines(plan: DrainPlan) -> dict[str, tuple[tuple[float, int], ...]]:
    return {h.budget.name: h.allowed_over_time for h in plan.budgets if h.allowed_over_time}


def test_a_budget_of_one_has_no_headroom_until_its_last_replacement_shows() -> None:
    plan = a_plan({"web": 3, "one": 1})
    assert {h.budget.name: h.verdict for h in plan.budgets} == {
        "one": BudgetVerdict.FITS,
        "web": BudgetVerdict.SERIAL,
    }
    # Three starts, each shown `BUDGET_LAG_S` later; given back and taken at once between them.
    assert plan.estimate is not None
    last_s = max(moved.ready_s or 0.0 for moved in plan.estimate.moves if "web" in moved.uid)
    assert last_s > 90
    assert lines(plan) == {"web": ((0.0, 0), (last_s + BUDGET_LAG_S, 1))}


def test_only_the_slowest_have_a_line() -> None:
    sizes = {f"app-{count}": count for count in range(2, 4 + MAX_HEADROOM_LINES)}
    assert set(lines(a_plan(sizes))) == {f"app-{count}" for count in range(4, 4 + MAX_HEADROOM_LINES)}


def test_no_line_where_the_controllers_numbers_are_not_known() -> None:
    plan = a_plan({"web": 3}, owners=False)
    assert [h.verdict for h in plan.budgets] == [BudgetVerdict.SERIAL]
    assert not lines(plan)


def test_no_line_where_nothing_is_drained() -> None:
    assert not lines(build_plan(a_cluster(), [], DrainPolicy()))


@given(st.lists(st.integers(1, 3600), min_size=1, max_size=40))
def test_quantiles_are_samples_in_order(seconds: list[int]) -> None:
    times = learn_start_times([started(f"w{i}", float(s)) for i, s in enumerate(seconds)], of)
    found = times.for_workload("web")
    assert 0 <= found.p50_s <= found.p95_s
    assert found.p50_s in seconds
