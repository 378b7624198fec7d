"""Orders of nodes, waves and the search among orders: what must hold of them whatever the cluster."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import hypothesis
import pytest
from hypothesis import strategies as st

from kubectl_eksdoc.drain.choice import OrderTrial, Trials, finished
from kubectl_eksdoc.drain.duration.generations import EvictionTimes
from kubectl_eksdoc.drain.nodes import natural, survey
from kubectl_eksdoc.drain.order.rounds import at_once, domains_of, in_waves
from kubectl_eksdoc.drain.order.strategies import BY_NAME, NodeTraits, varied, work_of
from kubectl_eksdoc.drain.plan import make_plan
from kubectl_eksdoc.drain.policy import ALL, AUTO, NODEGROUP, ORDERS, ZONE, DrainPolicy
from kubectl_eksdoc.drain.verdicts.judging import judge_pods
from kubectl_eksdoc.model.budgets import Amount
from tests.builders import ago
from tests.drain.small_clusters import a_policy, a_small_node, chosen_of, small, targets_of
from tests.examples import for_seeds

sampled = for_seeds(range(150), every=10)
SECONDS = st.floats(0, 1000).map(float)
TRAITS = st.lists(
    st.builds(
        NodeTraits,
        name=st.integers(0, 99).map("n-{}".format),
        evictions=st.integers(0, 3),
        chain_s=SECONDS,
        chains_s=SECONDS,
        alone_s=SECONDS,
        load=st.floats(0, 1),
        zone=st.sampled_from("abc"),
        created_at=st.sampled_from((None, ago(0), ago(99))),
    ),
    unique_by=lambda trait: trait.name,
    max_size=12,
)


@pytest.mark.parametrize("name", BY_NAME)
@hypothesis.given(TRAITS, st.randoms(use_true_random=False))
def test_a_strategy_puts_every_node_once_and_empty_ones_first(name: str, traits: list[NodeTraits], c: Random) -> None:
    order = BY_NAME[name](traits)
    assert sorted(order) == sorted(trait.name for trait in traits)
    evictions = {trait.name: trait.evictions > 0 for trait in traits}
    assert [evictions[node] for node in order] == sorted(evictions[node] for node in order)
    assert BY_NAME[name](c.sample(traits, len(traits))) == order, "the order of the facts decides nothing"


@hypothesis.given(TRAITS)
def test_strategies_do_what_they_are_called_after(traits: list[NodeTraits]) -> None:
    busy = [trait for trait in traits if trait.evictions]
    of = {trait.name: trait for trait in busy}
    hardest = [of[name].chain_s for name in BY_NAME["chain"](busy)]
    assert hardest == sorted(hardest, reverse=True)
    loads = [of[name].load for name in BY_NAME["light"](busy)]
    assert loads == sorted(loads)
    zones = [of[name].zone for name in BY_NAME["zone"](busy)]
    assert zones == sorted(zones)
    names = [natural(name) for name in BY_NAME["name"](busy)]
    assert names == sorted(names)


@hypothesis.given(TRAITS, st.integers(1, 50))
def test_a_variation_is_the_same_for_the_same_seed(traits: list[NodeTraits], seed: int) -> None:
    order = [trait.name for trait in traits]
    once = varied(order, seed)(traits)
    assert once == varied(order, seed)(traits[::-1])
    assert sorted(once) == sorted(order)


CAPS = (
    ((ALL, Amount(2)),),
    ((ALL, Amount(40, percent=True)),),
    ((ZONE, Amount(1)),),
    ((ZONE, Amount(50, percent=True)), (ALL, Amount(3))),
    ((NODEGROUP, Amount(2)), (ZONE, Amount(2))),
    ((NODEGROUP, Amount(1, percent=True)),),
)


@pytest.mark.parametrize("caps", CAPS)
def test_no_wave_has_more_nodes_than_any_limit_allows(caps: tuple[tuple[str, Amount], ...]) -> None:
    """Counted here from the nodes' own labels; a pinned node may be one too many, and no other."""
    for seed in range(150):
        c = Random(seed)
        nodes = [a_small_node(f"n-{i}", c.choice("abc"), c.choice("xy")) for i in range(c.randint(1, 12))]
        pins = {node.name: c.randint(1, 4) for node in nodes if c.random() < 0.2} if seed % 2 else {}
        room = at_once(DrainPolicy(max_unavailable=caps), nodes)
        order = [node.name for node in c.sample(nodes, len(nodes))]
        wave = in_waves(order, {n.name: domains_of(n) for n in nodes}, room, pins)
        assert sorted(wave) == sorted(order)
        assert set(wave.values()) == set(range(1, max(wave.values()) + 1)), "no wave is empty"
        for kind, amount in caps:
            where = {n.name: {ALL: "", ZONE: n.zone, NODEGROUP: n.group}[kind] for n in nodes}
            size = Counter(where.values())
            together = Counter((wave[name], where[name]) for name in order)
            pinned = Counter((wave[name], where[name]) for name in pins)
            for (number, domain), count in together.items():
                most = amount.value if not amount.percent else max(1, amount.value * size[domain] // 100)
                assert count <= max(most, pinned[number, domain]), (seed, kind, domain)


@sampled
def test_the_best_of_those_tried_is_chosen(seeds: Sequence[int]) -> None:
    several = 0
    for seed in seeds:
        _, chosen = chosen_of(small(seed), a_policy(seed, order=AUTO, effort=2000))
        first = chosen.tried[0]
        assert all((first.not_drained, first.makespan_s) <= (t.not_drained, t.makespan_s) for t in chosen.tried), seed
        several += len(chosen.tried) > 1
    assert several > len(seeds) / 3, "else nothing was tested"


@sampled
def test_more_effort_tries_the_same_first_and_gives_no_worse_plan(seeds: Sequence[int]) -> None:
    """What was tried with less is tried with more, too; and the plan is what came of the best."""
    better = 0
    for seed in seeds:
        cluster, policy = small(seed), a_policy(seed, order=AUTO, partial=False)
        plans = [make_plan(cluster, targets_of(cluster), replace(policy, effort=e)) for e in (0, 40, 2000)]
        scores = []
        for less, more in itertools.pairwise(plans):
            assert {t.name for t in less.tried} <= {t.name for t in more.tried}, seed
        for plan in plans:
            skipped = sum(not t.order for t in plan.targets)
            scores.append((skipped, plan.tried[0].makespan_s if plan.estimate else 0.0))
        assert scores == sorted(scores, reverse=True), seed
        better += scores[-1] < scores[0]
    assert better > len(seeds) / 30, "else nothing was tested"


@pytest.mark.parametrize("name", ORDERS)
@sampled
def test_the_order_that_is_asked_for_is_the_one_in_which_nodes_are_begun(name: str, seeds: Sequence[int]) -> None:
    for seed in seeds:
        policy = a_policy(seed, order=name, max_unavailable=(), partial=False)
        world, chosen = chosen_of(small(seed), policy)
        assert [t.name for t in chosen.tried] == [name], seed
        tasks = work_of(world, judge_pods(world, world.targets)).tasks
        busy = [bool(tasks[node]) for node in chosen.activation]
        assert busy == sorted(busy), seed
        if name == "name":
            assert list(chosen.activation) == sorted(chosen.activation, key=lambda n: (bool(tasks[n]), natural(n))), (
                seed
            )


@sampled
def test_a_given_order_is_kept_and_no_other_tried(seeds: Sequence[int]) -> None:
    for seed in seeds:
        cluster = small(seed)
        names = [node.name for node in targets_of(cluster)]
        order = tuple(Random(seed).sample(names, len(names)))
        _, chosen = chosen_of(cluster, DrainPolicy(order_nodes=order))
        assert [t.name for t in chosen.tried] == ["given"]
        assert list(chosen.order.nodes) == [name for name in order if name in chosen.activation], seed


@sampled
def test_an_order_tried_again_gives_the_same_trial(seeds: Sequence[int]) -> None:
    for seed in seeds:
        cluster, policy = small(seed), a_policy(seed)
        world = survey(cluster, targets_of(cluster), policy)
        work = work_of(world, judge_pods(world, world.targets))
        trials = Trials(world, work, EvictionTimes(world))
        names = list(work.tasks)
        first = trials.run("first", names)
        landed = trials.landing()
        trials.run("other", names[::-1])
        assert trials.run("first", names) == first, seed
        assert trials.landing() == landed, seed
        assert_covers(first, names)


@sampled
def test_a_score_that_is_clear_from_the_trial_is_that_of_its_plan(seeds: Sequence[int]) -> None:
    clear = 0
    for seed in seeds:
        world = survey(small(seed), targets_of(small(seed)), replace(a_policy(seed), surge=None, partial=False))
        judgement, clock = judge_pods(world, world.targets), EvictionTimes(world)
        trials = Trials(world, work_of(world, judgement), clock)
        trial = trials.run("by name", list(trials.work.tasks))
        score = trials.score(trial)
        if score is not None:
            clear += 1
            assert score == finished(world, judgement, trials, clock, trial).score(len(trials.work.tasks)), seed
    assert clear > len(seeds) / 20, "else nothing was tested"


def assert_covers(trial: OrderTrial, names: list[str]) -> None:
    assert trial.order == tuple(names)
    assert sorted((*trial.nodes, *trial.refused)) == sorted(names)
    assert [n for n in names if n in trial.nodes] == list(trial.nodes)
    assert {span.node for span in trial.timeline.nodes} == set(trial.nodes)


sampled_of_relaxed_budgets = for_seeds(range(120), every=8)


@sampled_of_relaxed_budgets
def test_what_the_search_says_of_the_best_order_is_what_the_plan_says(seeds: Sequence[int]) -> None:
    """One simulation for both, in which every pod is as usual; in the plan's all are as slow as it takes for p50. Else
    the search would choose by something else than what is planned."""
    told = 0
    for seed in seeds:
        cluster, policy = small(seed), a_policy(seed)
        plan = make_plan(cluster, targets_of(cluster), policy)
        if plan.estimate is not None:
            slower_s = plan.estimate.p50_s - plan.tried[0].makespan_s
            assert slower_s * plan.estimate.level > 0 or not (slower_s or plan.estimate.level), (seed, plan.tried[:3])
            told += 1
    assert told > len(seeds) / 2, "else nothing was tested"
