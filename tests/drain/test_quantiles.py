"""Sampled times of a drain: reproducible, in order, and close to runs from another random generator."""

from __future__ import annotations

from dataclasses import replace
from math import log
from random import Random
from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.drain.duration.quantiles import (
    MAX_EVICTIONS,
    MAX_RUNS,
    MIN_RUNS,
    PART_COST_FACTOR,
    Quantiles,
    RunPace,
    estimate_quantiles,
)
from kubectl_eksdoc.drain.policy import DrainPolicy, random_normals
from kubectl_eksdoc.drain.simulation import simulate
from kubectl_eksdoc.drain.timeline import DrainTerms, PodMove
from kubectl_eksdoc.kubernetes.replacement import Replacement
from tests.builders import a_budget, a_workload, pods
from tests.drain.planning import plan_of
from tests.drain.simulated.test_drain import drains

Z95 = 1.645
Nodes = list[tuple[str, list[PodMove]]]


def varied(nodes: Nodes, stop: float, start: float) -> Nodes:
    """The same pods with slow times that are longer by these factors."""
    return [
        (
            node,
            [m._replace(slow_stop_s=m.stop_s * stop, slow_start_s=m.start_s * start) for m in moves],
        )
        for node, moves in nodes
    ]


def slower(nodes: Nodes) -> Nodes:
    return [(node, [move.with_slow_times for move in moves]) for node, moves in nodes]


def of_all(nodes: Nodes, terms: DrainTerms, most: int = MAX_EVICTIONS) -> Quantiles | None:
    return estimate_quantiles(RunPace(nodes, terms, terms), simulate(nodes, terms).makespan_s, {}, most)


def sampled(nodes: Nodes, terms: DrainTerms, stop: float = 3.0, start: float = 4.0) -> Quantiles:
    found = of_all(varied(nodes, stop, start), terms)
    assert found is not None
    return found


def a_chain(length: int, stop_s: float = 10.0, start_s: float = 30.0) -> tuple[Nodes, DrainTerms]:
    """One pod after the other, each on its own node; a replacement starts when the old pod is gone."""
    moves = [PodMove(f"uid-{i}", ("web",), stop_s, start_s, Replacement.AFTER_GONE) for i in range(length)]
    return [(f"old-{i}", [move]) for i, move in enumerate(moves)], DrainTerms(
        slots={"web": 1}, budget_lag_s=1.0, node_settle_s=10.0
    )


def other_runs(nodes: Nodes, terms: DrainTerms, stop: float, start: float, count: int) -> list[float]:
    """Makespans with times from Python's own random generator."""
    c = Random(7)

    def drawn(move: PodMove) -> PodMove:
        stops = min(move.stop_s * c.lognormvariate(0, log(stop) / Z95), move.stop_s * stop)
        return move._replace(stop_s=stops, start_s=move.start_s * c.lognormvariate(0, log(start) / Z95))

    return [
        simulate([(node, [drawn(move) for move in moves]) for node, moves in nodes], terms).makespan_s
        for _ in range(count)
    ]


@given(drains(), st.floats(1, 9), st.floats(1, 9))
def test_in_order_and_the_same_again(made: tuple[Nodes, DrainTerms], stop: float, start: float) -> None:
    found = sampled(*made, stop, start)
    assert found.p50_s <= found.p95_s
    assert found.runs == MAX_RUNS
    assert sampled(*made, stop, start) == found


@given(drains())
def test_what_does_not_vary_takes_exactly_the_usual_time(made: tuple[Nodes, DrainTerms]) -> None:
    usual_s = simulate(*made).makespan_s
    assert sampled(*made, 1.0, 1.0) == (usual_s, usual_s, MAX_RUNS, 0)


@pytest.mark.parametrize("length", [1, 5, 40])
def test_a_chain_is_over_by_then_in_half_and_in_19_of_20_other_runs(length: int) -> None:
    """Each sampled quantile equals some true quantile nearby: see `MAX_RUNS`."""
    nodes, terms = a_chain(length)
    found, others = sampled(nodes, terms), other_runs(nodes, terms, 3.0, 4.0, 300)
    assert 0.30 < fmean(seconds <= found.p50_s for seconds in others) < 0.70
    assert fmean(seconds <= found.p95_s for seconds in others) > 0.80


def test_a_long_chain_takes_longer_than_its_usual_run() -> None:
    """The median of a sum with long tails exceeds the sum of medians; all pods slow at once is far beyond p95."""
    nodes, terms = a_chain(40)
    usual_s, found = simulate(nodes, terms).makespan_s, sampled(nodes, terms)
    assert found.p50_s > 1.1 * usual_s
    assert found.p95_s < 0.6 * simulate(slower(varied(nodes, 3.0, 4.0)), terms).makespan_s
    others = other_runs(nodes, terms, 3.0, 4.0, 20)
    assert sum(seconds <= usual_s for seconds in others) == 0


def test_no_stop_takes_longer_than_the_slow_one() -> None:
    nodes: Nodes = [("old-0", [PodMove(f"uid-{i}", (), 10.0) for i in range(200)])]
    found = sampled(nodes, DrainTerms(), stop=3.0)
    assert found.p95_s == 30.0


def test_the_order_of_pods_does_not_change_their_luck() -> None:
    nodes: Nodes = [("old-0", [PodMove(f"uid-{i}", (), 10.0) for i in range(3)])]
    turned: Nodes = [("old-0", nodes[0][1][::-1])]
    assert sampled(nodes, DrainTerms(), stop=9.0) == sampled(turned, DrainTerms(), stop=9.0)


def test_new_nodes_vary_too() -> None:
    nodes, terms = [("old-0", [PodMove("a")]), ("old-1", [PodMove("b")])], DrainTerms(replaced_after_s=100.0)
    pace = RunPace(nodes, terms, replace(terms, replaced_after_s=300.0))
    found = estimate_quantiles(pace, 100.0, {"old-1": ("old-0",)})
    assert found is not None and 60 < found.p50_s < 160 and 180 < found.p95_s < 500


def test_too_many_evictions_are_not_sampled() -> None:
    nodes, terms = a_chain(10)
    nodes = varied(nodes, 3.0, 4.0)
    usual_s, slow_s = simulate(nodes, terms).makespan_s, simulate(slower(nodes), terms).makespan_s
    assert of_all(nodes, terms, 10 * MIN_RUNS - 1) == (usual_s, slow_s, 0, 0)
    fewer = of_all(nodes, terms, 10 * MIN_RUNS)
    assert fewer is not None and fewer.runs == MIN_RUNS and usual_s < fewer.p95_s < slow_s


class TestOfAPart:
    """Where not all nodes can be sampled, the slowest are, if they alone determine the time."""

    MOST = 20 * PART_COST_FACTOR * MAX_RUNS

    def crowd(self, pods: int, stop_s: float = 10.0) -> Nodes:
        return [(f"crowd-{i}", [PodMove(f"crowd-uid-{i}", (), stop_s)]) for i in range(pods)]

    def chain(self, name: str, length: int, start_s: float = 30.0) -> Nodes:
        moves = [PodMove(f"{name}-{i}", (name,), 10.0, start_s, Replacement.AFTER_GONE) for i in range(length)]
        return [(move.uid, [move]) for move in moves]

    def terms(self, *names: str) -> DrainTerms:
        return DrainTerms(slots=dict.fromkeys(names, 1), budget_lag_s=1.0, node_settle_s=10.0)

    def test_it_tells_what_sampling_all_would(self) -> None:
        nodes, terms = varied([*self.chain("web", 20), *self.crowd(400)], 3.0, 4.0), self.terms("web")
        every, part = of_all(nodes, terms, 420 * MAX_RUNS), of_all(nodes, terms, self.MOST)
        assert every is not None and part is not None
        assert (every.sampled_part, part.sampled_part, part.runs) == (0, 20, MAX_RUNS)
        assert part[:2] == every[:2]
        assert "41 simulated runs of the 20 evictions that take longest, with new random times" in part.description

    def test_a_short_chain_of_pods_that_may_be_very_slow_is_not_left_out(self) -> None:
        steady = varied(self.chain("web", 30, start_s=31.0), 1.0, 1.0)
        kafka = varied(self.chain("kafka", 20, start_s=31.0), 60.0, 30.0)
        nodes, terms = [*steady, *kafka, *self.crowd(800)], self.terms("web", "kafka")
        every, part = of_all(nodes, terms, 850 * MAX_RUNS), of_all(nodes, terms, self.MOST)
        assert every is not None and part is not None
        assert part.runs == 0 and part.p95_s >= every.p95_s, "the usual run does not show what decides"

    def test_a_pod_without_a_budget_that_may_take_its_grace_period_is_not_left_out(self) -> None:
        slow = [("old", [PodMove("trainer", (), 10.0, slow_stop_s=3600.0)])]
        nodes = [*varied(self.chain("web", 20), 3.0, 4.0), *slow, *varied(self.crowd(400), 3.0, 4.0)]
        found = of_all(nodes, self.terms("web"), self.MOST)
        assert found is not None and found.runs == 0 and found.p95_s >= 3600

    def test_nor_what_waits_for_waves_for_other_nodes_or_for_its_turn(self) -> None:
        nodes, terms = varied([*self.chain("web", 20), *self.crowd(400)], 3.0, 4.0), self.terms("web")
        waves = {node: i % 2 for i, (node, _) in enumerate(nodes)}
        for other in (
            replace(terms, waves=waves),
            replace(terms, nodes_at_once={"": 50}),
            replace(terms, eviction_interval_s=0.01),
        ):
            found = of_all(nodes, other, self.MOST)
            assert found is not None and found.runs == 0


def test_what_does_not_come_to_its_end_has_none() -> None:
    nodes, terms = a_chain(2)
    stuck = [(node, [move._replace(replacement=Replacement.NEVER) for move in moves]) for node, moves in nodes]
    for most in (0, 40_000):
        assert estimate_quantiles(RunPace(stuck, terms, terms), 0.0, {}, most) is None


def test_a_plan_says_how_its_times_came_about() -> None:
    facts = {"pods": pods(12), "workloads": [a_workload(replicas=12)], "budgets": [a_budget(expected=12)]}
    plan = plan_of(**facts, policy=DrainPolicy())
    assert plan.estimate is not None
    assert "p50 and p95 are of 41 simulated runs, with new random times for each pod" in plan.estimate.assumptions
    assert plan.estimate.p50_s < plan.estimate.p95_s
    assert plan.estimate.p50_s == max(span.done_s for span in plan.estimate.spans), "one timeline"
    assert plan.estimate.p95_s == max(plan.estimate.slow_s.values())
    assert 0 < plan.estimate.level < 2, "a chain takes longer than the sum of medians"
    assert Quantiles(1.0, 2.0, 0).description.startswith("p50: every pod as usual; p95: every pod slow at once")


class TestChance:
    def test_normals_are_normal_and_independent(self) -> None:
        drawn = [random_normals(run, 97 * i) for run in range(40) for i in range(250)]
        for one in zip(*drawn, strict=True):
            assert abs(fmean(one)) < 0.04 and abs(pstdev(one) - 1) < 0.04
            assert abs(fmean(abs(x) < 1.96 for x in one) - 0.95) < 0.01
        assert abs(fmean(x * y for x, y in drawn)) < 0.04
        after = zip(drawn, drawn[250:], strict=False)
        assert abs(fmean(x * y for (x, _), (y, _) in after)) < 0.04, "runs must not resemble each other"
