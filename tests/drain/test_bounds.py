"""Lower bounds of a drain's time: never above the fastest order of nodes, and mostly equal to it; room as a bound."""

from __future__ import annotations

import itertools
from dataclasses import replace
from itertools import permutations
from math import ceil, inf
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.drain.duration.bounds import Bound, BoundKind, find_bounds, gap_to_bound, largest_bound
from kubectl_eksdoc.drain.duration.generations import NodeSupply, fluid_bound_s, min_generations
from kubectl_eksdoc.drain.duration.slow_nodes import relax_bounds
from kubectl_eksdoc.drain.duration.timing import TimedEviction, slot_bound_s
from kubectl_eksdoc.drain.simulation import simulate
from kubectl_eksdoc.drain.timeline import DrainTerms, PodMove
from kubectl_eksdoc.kubernetes.replacement import Replacement
from tests.drain.simulated.test_drain import drains
from tests.for_each import for_each

CLOSE = 1e-9
Nodes = list[tuple[str, list[PodMove]]]


def by_name(found: tuple[Bound, ...]) -> dict[BoundKind, float]:
    return {bound.name: bound.seconds for bound in reversed(found)}


def tiny(seed: int) -> tuple[Nodes, DrainTerms]:
    """At most 4 nodes, 7 pods and 2 limits, whole seconds; some of these drains cannot be completed."""
    c = Random(seed)
    slots = {limit: c.randint(1, 2) for limit in "xy"[: c.randint(0 if c.random() < 0.3 else 1, 2)]}
    left = dict(slots)
    nodes: Nodes = [(f"n{i}", []) for i in range(c.randint(1, 4))]
    for p in range(c.randint(2, 7)):
        limits = tuple(x for x in slots if c.random() < 0.55)
        after = c.choice((Replacement.AT_ONCE, Replacement.AT_ONCE, Replacement.AFTER_GONE))
        if c.random() < 0.08 and all(left[x] for x in limits):
            after = Replacement.NEVER
            for x in limits:
                left[x] -= 1
        move = PodMove(f"p{p}", limits, float(c.randint(0, 4)), float(c.randint(0, 6)), after, c.random() < 0.2)
        c.choice(nodes)[1].append(move)
    terms = DrainTerms(
        slots=slots,
        waves={name: c.randint(1, 3) for name, _ in nodes} if c.random() < 0.25 else {},
        nodes_at_once={d: c.randint(1, 2 + (not d)) for d in ("", "zone") if c.random() < 0.4},
        domains={name: ("zone",) for name, _ in nodes if c.random() < 0.6},
        eviction_interval_s=c.choice((0.0, 0.0, 1.0)),
        budget_lag_s=c.choice((0.0, 1.0)),
        node_settle_s=c.choice((0.0, 2.0)),
    )
    return nodes, terms


def soonest_simulated(nodes: Nodes, terms: DrainTerms) -> float:
    """The least makespan over all orders of nodes; infinite where no order completes the drain."""
    best = inf
    for order in permutations(nodes):
        timeline = simulate(sorted(order, key=lambda item: terms.waves.get(item[0], 0)), terms)
        if not timeline.never_evicted:
            best = min(best, timeline.makespan_s)
    return best


@pytest.mark.parametrize(
    ("seeds", "drained", "tight"), [(range(40), 39, 27), pytest.param(range(40, 400), 341, 232, marks=pytest.mark.long)]
)
def test_no_bound_exceeds_the_soonest_run_and_most_reach_it(seeds: range, drained: int, tight: int) -> None:
    """`tight`: the number of completed drains whose binding bound equals the fastest run."""
    found = [(find_bounds(nodes, terms), soonest_simulated(nodes, terms)) for nodes, terms in map(tiny, seeds)]
    assert all(bound.seconds <= soonest + CLOSE for each, soonest in found for bound in each)
    can = [(each, soonest) for each, soonest in found if soonest < inf]
    assert len(can) == drained
    assert sum(largest_bound(each).seconds >= soonest - CLOSE for each, soonest in can) >= tight


@given(drains(), st.lists(st.tuples(st.integers(0, 9), st.sampled_from((0, 0, 5)), st.booleans()), min_size=40))
def test_bounds_of_any_run_are_those_of_its_evictions_as_fast_as_they_can_be(
    made: tuple[Nodes, DrainTerms], drawn: list[tuple[int, int, bool]]
) -> None:
    nodes, terms = made
    each = itertools.cycle(drawn)

    def varied(move: PodMove) -> PodMove:
        least_s, waits_s, first = next(each)
        after = Replacement.SURGE if first else move.replacement
        return move._replace(fastest_start_s=float(least_s), waits_s=float(waits_s), replacement=after)

    nodes = [(name, [varied(move) for move in moves]) for name, moves in nodes]
    fastest = [(name, [move.with_fastest_times for move in moves]) for name, moves in nodes]
    assert find_bounds(nodes, terms, fastest=True) == find_bounds(fastest, terms)


@pytest.mark.parametrize(("pods", "slots"), [(500, 1), (500, 3), (7, 2), (3, 3)])
def test_equal_pods_of_a_budget_go_in_rounds(pods: int, slots: int) -> None:
    """ceil(pods / slots) rounds; the last ends when its pods are gone, and such a run exists."""
    nodes = [(f"n{i}", [PodMove(f"p{i}", ("web",), stop_s=5, start_s=25)]) for i in range(pods)]
    terms = DrainTerms({"web": slots}, budget_lag_s=1, node_settle_s=10)
    expected = (ceil(pods / slots) - 1) * 26 + 5 + 10
    found = find_bounds(nodes, terms)
    assert largest_bound(found).seconds == expected == simulate(nodes, terms).makespan_s
    assert largest_bound(found).name is (BoundKind.BUDGET_CHAIN if pods > slots else BoundKind.LONGEST_POD)


def test_unequal_pods_share_their_slots_at_best_evenly() -> None:
    """The bound is the total time that slots are held, without the last hold of each slot; for three equal pods on two
    slots it is a whole turn."""
    jobs = [TimedEviction(0, hold, 2) for hold in (10, 7, 6, 5, 5, 5)]
    assert slot_bound_s(jobs, 2) == (38 - 17) / 2 + 2
    assert slot_bound_s([TimedEviction(0, 10, 2)] * 3, 2) == 12


def test_pods_that_nothing_replaces_go_last() -> None:
    pods = [PodMove("a", ("web",), replacement=Replacement.NEVER), PodMove("b", ("web",), start_s=20)]
    assert largest_bound(find_bounds([("n", pods)], DrainTerms({"web": 1}))).seconds == 20
    pods += [PodMove("c", ("web",), replacement=Replacement.NEVER)]
    never = largest_bound(find_bounds([("n", pods)], DrainTerms({"web": 1})))
    assert (never.name, never.subject, never.seconds) == (BoundKind.BUDGET_CHAIN, "web", inf)
    assert gap_to_bound(100.0, never) is None


def test_a_node_by_itself() -> None:
    """(ceil(4 / 2) - 1) rounds of 30 s, the stop, then the critical pod, then the settling."""
    pods = [PodMove(x, ("web",), stop_s=5, start_s=30) for x in "abcd"] + [PodMove("dns", stop_s=7, critical=True)]
    nodes = [("bad", pods), ("good", [PodMove("e")])]
    node = next(b for b in find_bounds(nodes, DrainTerms({"web": 2}, node_settle_s=10)) if b.name is BoundKind.NODE)
    assert (node.subject, node.seconds) == ("bad", 30 + 5 + 7 + 10)
    assert "web" in node.relax


def test_a_critical_pod_waits_for_its_budget_and_for_the_pods_before_it() -> None:
    jobs = [TimedEviction(0, 10, 1), TimedEviction(20, 10, 1), TimedEviction(25, 10, 1)]
    assert slot_bound_s(jobs, 1) == 20 + 10 + 1
    assert slot_bound_s([TimedEviction(0, 1, 1), *[TimedEviction(20, 10, 12)] * 4], 2) == 20 + 10 + 12


def test_so_many_nodes_at_once() -> None:
    nodes = [(f"n{i}", [PodMove(f"p{i}", stop_s=50)]) for i in range(10)]
    assert (
        by_name(find_bounds(nodes, DrainTerms(nodes_at_once={"": 4}, node_settle_s=10)))[BoundKind.NODES_AT_ONCE]
        == 3 * 60
    )
    zone = {f"n{i}": ("a",) for i in range(5)}
    found = find_bounds(nodes, DrainTerms(nodes_at_once={"": 10, "a": 1}, domains=zone, node_settle_s=10))
    assert (largest_bound(found).subject, largest_bound(found).seconds) == ("a", 300)


def test_the_pace_of_evictions_and_the_slowest_pod_first() -> None:
    pods = [PodMove("slow", stop_s=60), *(PodMove(f"p{i}", stop_s=1) for i in range(99))]
    assert by_name(find_bounds([("n", pods)], DrainTerms(eviction_interval_s=0.5)))[BoundKind.RATE] == 60
    assert by_name(find_bounds([("n", pods)], DrainTerms(eviction_interval_s=1)))[BoundKind.RATE] == 99 + 1


def test_evictions_that_may_be_requested_at_once_need_no_time_between_them() -> None:
    """At two a second, two at once, the fifth eviction is requested after 1.5 s, not after 2 s; no chain or node takes
    longer."""
    nodes = [(f"n{i}", [PodMove(f"p{i}{x}", stop_s=3) for x in "ab"]) for i in range(2)] + [
        ("n2", [PodMove("p2", stop_s=3)])
    ]
    terms = DrainTerms(eviction_interval_s=0.5, burst=2, node_settle_s=10)
    assert by_name(find_bounds(nodes, terms)) == {
        BoundKind.RATE: 1.5 + 13,
        BoundKind.NODE: 13,
        BoundKind.LONGEST_POD: 13,
    }
    pods = [PodMove(x, ("web",), start_s=4) for x in "abc"]
    assert (
        by_name(find_bounds([("n", pods)], DrainTerms({"web": 1}, eviction_interval_s=0.5, burst=2)))[
            BoundKind.BUDGET_CHAIN
        ]
        == 8
    )


def test_waves_add_up_and_inherit_taken_slots() -> None:
    nodes = [(f"n{i}", [PodMove(f"p{i}", ("web",), stop_s=5, start_s=60)]) for i in range(3)]
    terms = DrainTerms({"web": 1}, waves={"n0": 1, "n1": 2, "n2": 3}, node_settle_s=1)
    assert by_name(find_bounds(nodes, terms))[BoundKind.WAVES] == 60 + 60 + 6
    quick = replace(terms, slots={"web": 3})
    assert by_name(find_bounds(nodes, quick))[BoundKind.WAVES] == 6 + 6 + 6
    assert simulate(nodes, quick).makespan_s == 18


def test_relaxing_what_binds_says_what_it_saves() -> None:
    nodes = [(f"n{i}", [PodMove(f"p{i}", ("web",), stop_s=5, start_s=20)]) for i in range(9)]
    terms = DrainTerms({"web": 1}, nodes_at_once={"": 8}, eviction_interval_s=1)
    steps = relax_bounds(nodes, terms, find_bounds(nodes, terms))
    assert [(step.change, step.saved_s) for step in steps] == [
        ("web 1 → 2", 80.0),
        ("time between evictions 1 s → 0.5 s", 0.0),
        ("nodes at once 8 → 9", 0.0),
    ]
    assert relax_bounds(nodes, DrainTerms({"web": 9}), find_bounds(nodes, DrainTerms({"web": 9}))) == ()


def test_the_gap_is_a_share_of_the_bound() -> None:
    bound = Bound(BoundKind.NODE, 100.0, "", "n", "")
    assert gap_to_bound(103.0, bound) == pytest.approx(0.03)
    assert gap_to_bound(100.0 - CLOSE, bound) == 0.0


def a_supply(free: float, asked: list[float], given: list[float] | None = None) -> NodeSupply:
    """Nodes n0, n1 … that release 10 each by default."""
    names = [f"n{i}" for i in range(len(asked))]
    gives = given if given is not None else [10.0] * len(asked)
    return NodeSupply("cpu", free, dict(zip(names, asked, strict=True)), dict(zip(names, gives, strict=True)))


@pytest.mark.parametrize(
    ("free", "asked", "number"),
    [
        (30, [8, 8, 8], 1),
        (8, [8, 8], 2),
        (10, [8] * 6, 4),  # 1.25, 1.56, 1.95 nodes … if they could be cut in pieces
        (8, [8, 0], 1),  # the empty node frees its room without a wait
        (0, [8, 8], 0),  # nothing can begin
        (10, [10, 10, 10], 3),  # one after the other
    ],
)
def test_so_many_generations(free: float, asked: list[float], number: int) -> None:
    assert min_generations(a_supply(free, asked)) == number


def test_of_nodes_that_give_more_than_they_ask_for_the_best_go_first() -> None:
    assert min_generations(a_supply(4, [4, 4, 4], [12, 4, 4])) == 2
    assert min_generations(a_supply(4, [4, 4, 4], [4, 4, 4])) == 3
    assert min_generations(a_supply(4, [4, 4, 4], [0, 0, 0])) == 0


def test_room_for_one_node_at_a_time_takes_all_of_them_one_after_the_other() -> None:
    supply = a_supply(8, [8, 8, 8], [8, 8, 8])
    assert fluid_bound_s(supply, {"n0": 60, "n1": 60, "n2": 60}, 120) == pytest.approx(3 * 180 - 120)


def test_without_room_the_stream_tells_nothing() -> None:
    assert fluid_bound_s(a_supply(0, [8]), {"n0": 60}, 120) == 0


@for_each("seed", range(300))
def test_no_order_of_whole_nodes_is_faster(seed: int) -> None:
    """Each node starts as soon as there is room, in any order, with its own time."""
    c = Random(seed)
    count, renewed = c.randint(1, 6), float(c.choice((0, 30, 120)))
    asked = [float(c.randint(0, 9)) for _ in range(count)]
    given = [a + c.randint(0, 6) for a in asked]
    supply = a_supply(float(c.randint(1, 12)), asked, given)
    seconds = {name: float(c.randint(10, 90)) for name in supply.requested}
    took, steps = _greedy(supply, seconds, renewed, c)
    if took is None:
        return
    assert fluid_bound_s(supply, seconds, renewed) <= took + 1e-6
    assert 1 <= min_generations(supply) <= steps


def _greedy(supply: NodeSupply, seconds: dict[str, float], renewed: float, c: Random) -> tuple[float | None, int]:
    """The time until the last node is done, None if room never suffices; and the longest chain of nodes that wait for
    others."""
    waiting = c.sample(sorted(supply.requested), len(supply.requested))
    free, now, end, depth = supply.free, 0.0, 0.0, 0
    under_way: list[tuple[float, str, int]] = []
    while waiting:
        begun = False
        for node in list(waiting):
            if supply.requested[node] <= free:
                free -= supply.requested[node]
                waiting.remove(node)
                end = max(end, now + seconds[node])
                under_way.append((now + seconds[node] + renewed, node, depth + 1))
                begun = True
        if not waiting:
            break
        if not under_way:
            return None, 0
        if not begun:
            under_way.sort()
            now, node, its = under_way.pop(0)
            free += supply.provided[node]
            depth = max(depth, its)
    return end, max([depth + 1, *(its for _, _, its in under_way)])
