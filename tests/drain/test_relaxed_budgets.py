"""A budget that lets one more pod go (``--assume-budget``): what the new plan owes to the old one.

A run that takes what is free at once can be slower with more of it (Graham's anomalies), and the named orders look at
the budgets themselves, so that other orders are tried for a looser one. What must hold is that no node is lost, and
that the new plan is hardly ever slower than the old order under the looser budget.
"""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.drain.plan import make_plan
from tests.drain.small_clusters import a_policy, small, targets_of
from tests.examples import for_seeds

sampled = for_seeds(range(120), every=8)


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
