"""A budget that lets one more pod go (``--assume-budget``): what the new plan owes to the old one.

A run that takes what is free at once can be slower with more of it (Graham's anomalies), and the named orders look at
the budgets themselves, so that other orders are tried for a looser one. What must hold is that no node is lost, and
that the new plan is hardly ever slower than the old order under the looser budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kubectl_eksdoc.drain.choice import OrderedPlan
from kubectl_eksdoc.drain.plan import make_plan
from kubectl_eksdoc.drain.policy import AUTO, DrainPolicy
from kubectl_eksdoc.drain.verdicts.said import with_assumed_budgets
from kubectl_eksdoc.model.cluster import Cluster
from tests.drain.small_clusters import a_policy, chosen_of, small, targets_of
from tests.examples import for_seeds

sampled = for_seeds(range(120), every=8)


def loosened(seed: int) -> Iterator[tuple[OrderedPlan, Cluster, DrainPolicy]]:
    """A plan, and what to plan for with one more for the first of its budgets, where that changes nothing but time."""
    cluster = small(seed)
    policy = a_policy(seed, partial=False, order=AUTO, effort=2000, soft_budget=None)
    _, old = chosen_of(cluster, policy)
    used = {limit for given in old.work.tasks.values() for task in given for limit in task.limits}
    for budget in cluster.budgets:
        if budget.key in used and budget.max_unavailable is not None:
            more = replace(policy, assume_budgets=((budget.key, budget.max_unavailable.value + 1),))
            yield old, with_assumed_budgets(cluster, more), more
            return


@sampled
def test_a_looser_budget_loses_no_node_and_is_hardly_ever_slower_than_the_old_order_under_it(
    seeds: Sequence[int],
) -> None:
    cases = no_worse = shorter = 0
    for seed in seeds:
        for before, cluster, policy in loosened(seed):
            _, after = chosen_of(cluster, policy)
            _, again = chosen_of(cluster, replace(policy, order_nodes=before.activation))
            count = len(targets_of(cluster))
            assert set(after.activation) >= set(before.activation) or len(after.activation) >= len(before.activation)
            assert after.score(count)[:2] <= again.score(count)[:2], seed
            cases += 1
            no_worse += after.score(count) <= again.score(count)
            shorter += after.score(count) < before.score(count)
    assert cases > 0.42 * len(seeds) and shorter > len(seeds) / 12, "else nothing was tested"
    assert no_worse / cases > 0.9


@sampled
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
