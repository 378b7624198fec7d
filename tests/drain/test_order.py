"""The order of evictions: rounds never exceed a limit, are as few as can be, and empty nodes soon."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.drain.order.rounds import EvictionOrder, EvictionTier, NodeWaves, Task, arrange, in_waves, task_of
from kubectl_eksdoc.drain.order.strategies import soonest_first
from kubectl_eksdoc.drain.policy import ALL
from kubectl_eksdoc.model.nodes import SYSTEM_CRITICAL_PRIORITY
from tests.builders import a_pod


def a_task(name: str, *limits: str, node: str = "n", critical: bool = False, **more: object) -> Task:
    priority = SYSTEM_CRITICAL_PRIORITY if critical else 0
    return task_of(a_pod(name, node=node, priority=priority), limits, **more)  # type: ignore[arg-type]


def arranged(
    tasks: Mapping[str, Sequence[Task]], per_round: Mapping[str, int], at_once: int | None = None
) -> EvictionOrder:
    """The nodes that can be empty soonest first, at most `at_once` of them in a wave."""
    nodes = soonest_first(tasks, per_round)
    room = {} if at_once is None else {ALL: at_once}
    wave = in_waves(nodes, dict.fromkeys(nodes, (ALL,)), room, {})
    return arrange(tasks, per_round, nodes, NodeWaves(wave, gated=bool(room)))


def rounds(order: EvictionOrder) -> dict[str, int]:
    return {b.task.pod.name: b.round for b in order.bookings}


def test_an_empty_node_comes_first_and_needs_no_round() -> None:
    order = arranged({"full": [a_task("a")], "zempty": []}, {})
    assert order.nodes == ("zempty", "full")
    assert order.finish["zempty"] == 0


def test_system_critical_pods_go_when_the_others_of_their_node_have_gone() -> None:
    tasks = {"n": [a_task("dns", critical=True), a_task("a", "web"), a_task("b", "web")]}
    order = arranged(tasks, {"web": 1})
    assert rounds(order) == {"a": 1, "b": 2, "dns": 2}
    assert order.bookings[-1].task.pod.name == "dns"


def test_the_holder_goes_last_even_when_its_standby_must_wait_for_its_node() -> None:
    leader = a_task("leader", "karpenter", late="lease", critical=True)
    standby = a_task("standby", "karpenter", critical=True)
    slow = [a_task(f"web-{i}", "web") for i in range(3)]
    order = arranged({"n1": [leader], "n2": [standby, *slow]}, {"karpenter": 1, "web": 1})
    assert (rounds(order)["standby"], rounds(order)["leader"]) == (3, 4)


def test_a_pod_that_nothing_replaces_goes_after_those_that_come_back() -> None:
    tasks = {"n1": [a_task("bare", "web", for_good=("web",))], "n2": [a_task("a", "web"), a_task("b", "web")]}
    order = arranged(tasks, {"web": 1})
    assert rounds(order) == {"a": 1, "b": 2, "bare": 3}


def test_what_uses_a_budget_up_for_good_is_refused_beyond_it() -> None:
    tasks = {"n": [a_task(name, "web", for_good=("web",)) for name in ("a", "b", "c")]}
    order = arranged(tasks, {"web": 2})
    assert rounds(order) == {"a": 1, "b": 1}
    assert [(task.pod.name, limit) for task, limit in order.refused] == [("c", "web")]


def test_a_waves_rounds_begin_after_those_of_the_wave_before() -> None:
    tasks = {f"n{i}": [a_task(f"a{i}", "web"), a_task(f"b{i}")] for i in range(4)}
    order = arranged(tasks, {"web": 1}, at_once=2)
    assert order.wave == {"n0": 1, "n1": 1, "n2": 2, "n3": 2}
    assert rounds(order) == {"a0": 1, "b0": 1, "a1": 2, "b1": 1, "a2": 3, "b2": 3, "a3": 4, "b3": 3}


LIMITS = ("x", "y", "z")


@st.composite
def clusters(draw: st.DrawFn) -> tuple[dict[str, list[Task]], dict[str, int]]:
    """Up to six nodes of up to eight pods, each under one budget or none and sometimes sharing a second limit;
    of some nothing takes the place."""
    tasks: dict[str, list[Task]] = {}
    for n in range(draw(st.integers(1, 6))):
        node = f"n-{n}"
        tasks[node] = []
        for i in range(draw(st.integers(0, 8))):
            pod = a_pod(f"p-{n}-{i}", node=node, priority=draw(st.sampled_from((0, SYSTEM_CRITICAL_PRIORITY))))
            limits = tuple(sorted(draw(st.sets(st.sampled_from(LIMITS), max_size=2))))
            for_good = limits[:1] if draw(st.sampled_from((False, False, False, True))) else ()
            tasks[node].append(task_of(pod, limits, for_good, draw(st.sampled_from(("", "", "lease")))))
    return tasks, {limit: draw(st.integers(1, 3)) for limit in LIMITS}


@given(clusters(), st.sampled_from((None, 1, 2)))
def test_no_round_exceeds_a_limit_and_every_task_has_one_round(
    made: tuple[dict[str, list[Task]], dict[str, int]], at_once: int | None
) -> None:
    tasks, per_round = made
    order = arranged(tasks, per_round, at_once)
    rounds = range(1, max((b.round for b in order.bookings), default=0) + 1)
    for limit in LIMITS:
        for number in rounds:
            gone = sum(1 for b in order.bookings if limit in b.task.for_good and b.round <= number)
            users = (b for b in order.bookings if limit in b.task.limits and limit not in b.task.for_good)
            used = sum(1 for b in users if b.round == number)
            assert gone + used <= per_round[limit], "what is gone for good counts in every later round"
    settled = [b.task.pod.uid for b in order.bookings] + [task.pod.uid for task, _ in order.refused]
    assert Counter(settled) == Counter(t.pod.uid for ts in tasks.values() for t in ts)
    assert all(limit in task.limits for task, limit in order.refused)
    assert sorted(order.nodes) == sorted(tasks)
    assert [order.finish[n] for n in order.nodes] == sorted(order.finish[n] for n in order.nodes) or at_once
    assert [order.wave[n] for n in order.nodes] == sorted(order.wave[n] for n in order.nodes)
    for node in tasks:
        assert order.finish[node] == max((b.round for b in order.bookings if b.node == node), default=0)
    assert [b.round for b in order.bookings] == sorted(b.round for b in order.bookings)


@given(clusters())
def test_system_critical_pods_are_never_before_the_others_of_their_node(
    made: tuple[dict[str, list[Task]], dict[str, int]],
) -> None:
    order = arranged(*made)
    for node in order.nodes:
        tiers = [[b.round for b in order.bookings if b.node == node and b.task.tier is tier] for tier in EvictionTier]
        seen = [rounds for rounds in tiers if rounds]
        assert all(max(before) <= min(after) for before, after in itertools.pairwise(seen))


@given(st.lists(st.lists(st.sampled_from(LIMITS), max_size=6), min_size=1, max_size=6), st.integers(1, 4))
def test_one_budget_a_pod_needs_no_more_rounds_than_the_hardest_budget(nodes: list[list[str]], size: int) -> None:
    """With budgets alone the optimum is max(ceil(pods / size))."""
    tasks = {f"n-{n}": [a_task(f"p-{n}-{i}", x) for i, x in enumerate(limits)] for n, limits in enumerate(nodes)}
    order = arranged(tasks, dict.fromkeys(LIMITS, size))
    counts = Counter(x for limits in nodes for x in limits)
    assert max(order.finish.values()) == max((ceil(n / size) for n in counts.values()), default=0)


@given(clusters())
def test_the_same_input_gives_the_same_order_whatever_the_order_of_the_mapping(
    made: tuple[dict[str, list[Task]], dict[str, int]],
) -> None:
    tasks, per_round = made
    backwards = dict(reversed(list(tasks.items())))
    assert arranged(tasks, per_round) == arranged(backwards, per_round)
