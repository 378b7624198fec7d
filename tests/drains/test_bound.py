"""Our runs are as fast as any run can be, send almost no useless requests, and start no node that has no room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from kubectl_eksdoc.drain.plan import build_plan
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.model.findings import Code
from kubectl_eksdoc.model.workloads import Workload
from tests.builders import a_cluster, a_node, a_roomy_node
from tests.drains import virtual
from tests.drains.bound import announced, lower_bound_s, planned
from tests.drains.drainers import LAGS, ours, served, told
from tests.drains.shapes import ROOM, Shape, large, small
from tests.drains.watched import Watched
from tests.drains.worlds import held, too_fast
from tests.examples import one_in
from tests.recorded_drains import DRAINS, before_the_drain, evicted, writes

CLOSE = 1.10
"""So much longer than its bound a run may take."""

FEW = 0.01
"""So great a share of evictions may be refused."""

JITTER_S = 0.1
"""The lag of budgets is a median: it was less now and then."""

SETTLE_S = 10.0
"""A node is done when it was listed empty twice: 5 s after its last pod, and 5 s after that."""


def check(watched: Watched, plan: DrainPlan, shape: Shape) -> float:
    """Check a completed run against the bound; return the bound."""
    assert watched.empty() == sorted(shape.old_nodes)
    assert len(watched.evicted) == shape.pods and watched.again == [] and watched.overdrawn == []
    assert len(watched.unscheduled) <= announced(plan) and watched.pending == []
    bound_s = lower_bound_s(plan, shape, watched.lag_s)
    assert bound_s - JITTER_S <= watched.took_s <= CLOSE * bound_s
    return bound_s


@pytest.mark.parametrize("make", one_in(2, [small, large]))
def test_in_virtual_time_it_takes_as_long_as_the_bound(make: Callable[[], Shape]) -> None:
    """No time is lost between two pods; the only excess is the check of the first cordons."""
    shape = make()
    ran = virtual.run(shape)
    assert ran.ended.is_complete and ran.refused == 0
    bound_s = check(ran.watched, ran.plan, shape)
    assert ran.watched.lag_s == pytest.approx(LAGS.disruptions_s)
    assert ran.watched.took_s <= 1.01 * bound_s
    assert ran.ended.record.ended_s <= 1.01 * bound_s + SETTLE_S


@pytest.mark.parametrize("seed", [0, 3, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(100, 160))])
def test_no_run_is_faster_than_its_plans_bound(seed: int) -> None:
    """Pods stop within zero to their grace period, and the plan does not know it. In one world a node waits for a new
    node that never joins."""
    found = held(seed)
    assert (found is None) == (seed == 141)
    assert found is None or not list(too_fast([found])), found


@pytest.mark.parametrize("watch", DRAINS)
def test_no_recorded_drain_was_faster(watch: str) -> None:
    """kubectl's drains on a real control plane; kubectl does not list empty nodes twice, so that time is not
    counted."""
    pods, seen = before_the_drain(watch), evicted(watch)
    budgets = [before[0].budget for before in writes(watch).values()]
    targets = [a_node(name) for name in sorted({each.pod.node for each in seen})]
    known = {pod.owner.uid: pod.owner for pod in pods.values() if pod.owner}
    sizes = Counter(pod.owner.uid for pod in pods.values() if pod.owner)
    owners = [Workload(known[uid].kind, "default", known[uid].name, uid, count) for uid, count in sizes.items()]
    nodes = (*targets, a_roomy_node())
    cluster = a_cluster(nodes=nodes, pods=list(pods.values()), budgets=budgets, workloads=owners)
    plan = build_plan(cluster, targets, DrainPolicy(ignore_daemonsets=True))
    assert plan.estimate is not None and len(plan.evictions) == len(seen)
    took_s = max(each.gone_s for each in seen) - min(each.evicted_s for each in seen)
    assert plan.estimate.lower_bounds[0].seconds <= took_s + SETTLE_S


def test_the_bound_is_of_a_budget_and_of_the_slowest_stop() -> None:
    """13 pods one after the other: 12 starts of 4.8 s with a lag of 0.1 s each, and 2 s for the stop of the last
    one."""
    plan = virtual.planned(large()).plan
    assert lower_bound_s(plan, large(), 0.1) == pytest.approx(12 * 4.9 + 2)
    assert lower_bound_s(plan, large(), 0.0) == pytest.approx(12 * 4.8 + 2)
    assert announced(plan) == 0


@pytest.mark.waits
@pytest.mark.long
def test_over_http_and_unscaled(tmp_path: Path) -> None:
    """The command line is a separate process; the server uses the wall clock."""
    shape = small()
    with served(shape, tmp_path / "home") as world:
        plan = planned(world.kubeconfig)
        drained = ours(world, None, "-o", "json")
        assert drained.codes == (0,), drained.err
        bound_s = check(world.watched, plan, shape)
        assert world.counted.refused_share <= FEW
    done = [event for event in told(drained) if event.get("what") == "done"]
    assert sorted(event["subject"] for event in done) == sorted(shape.old_nodes)
    assert done[-1]["seconds"] <= CLOSE * (bound_s + SETTLE_S)


NEW = 3
MISSING = "3 new nodes are needed for 79 of the targets' pods: 3 such as new-0"


def most(shape: Shape) -> int:
    """The nodes that fit into the new ones: the smallest first."""
    room, counts = shape.new * ROOM, sorted(shape.of(node) for node in shape.old_nodes)
    return max(number for number in range(shape.old + 1) if sum(counts[:number]) <= room)


def test_what_can_be_emptied_is_emptied_and_nothing_else_is_begun() -> None:
    shape = large(NEW)
    ran = virtual.run(shape)
    plan, watched = ran.plan, ran.watched
    assert [(each.code, each.message) for each in plan.blockers] == [(Code.of("needs-nodes"), MISSING)]
    assert all(target.why for target in plan.skipped) and announced(plan) == 0
    assert ran.ended.is_complete and ran.refused == 0, "of what the plan drains"
    assert len(watched.empty()) == len(plan.targets) - len(plan.skipped) == most(shape) == 7
    assert watched.half() == [] and watched.again == []
    assert watched.pending == [] and watched.unscheduled == {}
