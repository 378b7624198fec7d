"""What-if plans: assumed budgets and fixed codes. A kept plan answers as a new plan for the same order would."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from random import Random

import pytest

from kubectl_eksdoc.drain.outcome import PodVerdict, TargetVerdict
from kubectl_eksdoc.drain.plan import PlanPreview, WhatIfPlan, build_plan
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.rule_results import with_assumed_budgets
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.model.budgets import IntOrPercent
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Finding, Status
from kubectl_eksdoc.model.options import ALL
from tests.builders import a_budget, a_cluster, a_node, a_pod, a_roomy_node, a_workload, an_emptydir, pods
from tests.drain.planning import finding, headroom, plan_of, target, verdict_of
from tests.drain.small_clusters import targets_of
from tests.drain.test_whole_plans import odd

WRONG_ONCE = (142, 195, 321, 420, 436, 462, 504, 818)
"""Places that moved when asked again, nodes that others need, an order that is given."""

SEEDS = {"quick": (1, 25, *WRONG_ONCE), "full": (*range(24), *WRONG_ONCE)}

FIXED = frozenset({"budget-never-allows", "budget-unhealthy", "pod-unmanaged"})


@dataclass(frozen=True)
class Case:
    """A kept plan, the changes requested of it (a word for each, and the policy), and its answers."""

    seed: int
    cluster: Cluster
    policy: DrainPolicy
    kept: WhatIfPlan
    changes: dict[str, DrainPolicy]
    previews: dict[str, PlanPreview]
    plans: dict[str, DrainPlan]

    @property
    def targets(self) -> set[str]:
        return {node.name for node in targets_of(self.cluster)}

    def is_kept(self, plan: DrainPlan) -> bool:
        """Whether the answer comes from the kept plan and not from a new search."""
        return plan.tried_orders is self.kept.plan.tried_orders


@pytest.fixture(scope="module", params=["quick", pytest.param("full", marks=pytest.mark.long)])
def cases(request: pytest.FixtureRequest) -> tuple[Case, ...]:
    return tuple(case(seed, closed) for seed in SEEDS[request.param] for closed in (False, True))


@cache
def case(seed: int, closed: bool) -> Case:
    """`closed`: in the kept plan one budget allows no eviction."""
    cluster, policy = odd(seed)
    c = Random(seed)
    name = c.choice([node.name for node in targets_of(cluster)])
    changes = {
        "fixed": replace(policy, assume_fixed=FIXED),
        "one at a time": replace(policy, max_unavailable=((ALL, IntOrPercent(1)),)),
        "all at once": replace(policy, max_unavailable=()),
        "pinned": replace(policy, pins=((name, 2),)),
        "slowly": replace(policy, evictions_per_second=1.0),
        "grace": replace(policy, grace_seconds=300),
    }
    if cluster.budgets:
        key = c.choice(cluster.budgets).key
        changes |= {f"{key} {n}": replace(policy, assume_budgets=((key, n),)) for n in (0, 1, 5)}
        if closed:
            changes = {"as it is": policy, **changes}
            policy = replace(policy, assume_budgets=((key, 0),))
    kept = keep(cluster, policy)
    previews = {word: kept.preview(policy) for word, policy in changes.items()}
    plans = {word: kept.plan_for(policy) for word, policy in changes.items()}
    return Case(seed, cluster, policy, kept, changes, previews, plans)


def drained(plan: DrainPlan) -> set[str]:
    return {target.node.name for target in plan.targets if target.order}


def told(findings: Iterable[Finding]) -> Counter[tuple[str, object]]:
    return Counter((f.code.name, f.subject) for f in findings)


def waves(plan: DrainPlan) -> tuple[tuple[int, int], ...]:
    """(nodes, rounds) of each wave, from the plan's targets."""
    found, before = [], 0
    going = [each for each in plan.targets if each.order]
    for wave in sorted({each.wave for each in going}):
        ends = [each.finish_round for each in going if each.wave == wave]
        end = max(*ends, before) if ends else before
        found.append((len(ends), end - before))
        before = end
    return tuple(found)


class TestAnyCluster:
    @pytest.mark.long
    def test_what_is_kept_is_a_plan_like_any_other(self, cases: tuple[Case, ...]) -> None:
        for case in cases:
            assert case.kept.plan == anew(case.cluster, case.policy), case.seed

    def test_a_preview_says_what_the_plan_says(self, cases: tuple[Case, ...]) -> None:
        quickly: Counter[str] = Counter()
        for case in cases:
            for word, plan in case.plans.items():
                preview, where = case.previews[word], (case.seed, word)
                assert preview.rounds == plan.rounds, where
                assert preview.waves == waves(plan), where
                assert set(preview.drained_nodes) == drained(plan), where
                assert set(preview.skipped_nodes) == {t.node.name for t in plan.skipped}, where
                assert told(preview.blockers) == told(plan.blockers), where
                quickly[word.split()[-1]] += case.is_kept(plan)
        words = ("fixed", "time", "once", "pinned", "slowly", "grace", "1", "5")
        assert all(quickly[word] > 0.173 * len(cases) for word in words), quickly

    def test_nothing_changed_is_the_same_plan(self, cases: tuple[Case, ...]) -> None:
        """This holds after any other requests."""
        for case in cases:
            again, plan = case.kept.plan_for(case.policy), case.kept.plan
            assert again.targets == plan.targets, case.seed
            assert again.evictions == plan.evictions, case.seed
            assert again.left == plan.left, case.seed
            assert again.budgets == plan.budgets, case.seed
            assert again.findings == plan.findings, case.seed
            assert again.rounds == plan.rounds, case.seed

    def test_what_must_hold_of_a_plan_holds(self, cases: tuple[Case, ...]) -> None:
        for case in cases:
            for word, plan in case.plans.items():
                where = (case.seed, word)
                settled = Counter([e.pod.uid for e in plan.evictions] + [x.pod.uid for x in plan.left])
                assert settled == Counter(p.uid for p in case.cluster.pods if p.node in case.targets), where
                assert {e.node for e in plan.evictions} <= drained(plan), where
                per_round = {line.budget.key: line.per_round for line in plan.budgets}
                used = Counter((e.budget, e.round) for e in plan.evictions if e.budget)
                assert all(number <= per_round[budget] for (budget, _), number in used.items()), where
                assert (plan.estimate is not None) is bool(drained(plan)), where
                if plan.estimate is not None:
                    assert {span.node for span in plan.estimate.spans} == drained(plan), where

    def test_a_new_plan_in_the_same_order_drains_the_same_where_there_is_room(self, cases: tuple[Case, ...]) -> None:
        """Where room is short a new plan may drain more of the nodes, but no others."""
        compared: Counter[bool] = Counter()
        for case in cases:
            for word, policy in case.changes.items():
                plan = case.plans[word]
                if policy.max_unavailable != case.policy.max_unavailable or not case.is_kept(plan):
                    continue
                new = anew(case.cluster, replace(policy, order_nodes=case.previews[word].drained_nodes))
                assert drained(plan) <= drained(new), (case.seed, word)
                short = any(f.code.name in ("no-place", "needs-nodes") for f in (*plan.findings, *new.findings))
                assert short or drained(plan) == drained(new), (case.seed, word)
                compared[short] += 1
        assert compared[False] > 0.87 * len(cases) and compared[True] > 0.87 * len(cases), "else nothing was tested"


WORKLOADS = (a_workload(replicas=4), a_workload("ReplicaSet/api", replicas=2))


def of_two_nodes(**facts: Iterable[object]) -> Cluster:
    """Four pods web on two nodes, under a budget that allows one eviction, and room for all."""
    nodes = [a_node("old-0"), a_node("old-1"), a_roomy_node()]
    found = [replace(pod, node=f"old-{i % 2}") for i, pod in enumerate(pods(4))]
    return a_cluster(nodes=nodes, **{"pods": found, "budgets": [a_budget(expected=4)], "workloads": WORKLOADS, **facts})


def keep(cluster: Cluster, policy: DrainPolicy | None = None) -> WhatIfPlan:
    return WhatIfPlan(cluster, targets_of(cluster), policy or DrainPolicy())


def a_kept_plan(policy: DrainPolicy | None = None, **facts: Iterable[object]) -> WhatIfPlan:
    return keep(of_two_nodes(**facts), policy)


def anew(cluster: Cluster, policy: DrainPolicy) -> DrainPlan:
    assumed = with_assumed_budgets(cluster, policy)
    return build_plan(assumed, targets_of(assumed), policy)


class TestOneChange:
    def test_an_assumption_that_is_dropped_leaves_the_budget_as_it_is(self) -> None:
        kept = a_kept_plan(DrainPolicy(assume_budgets=(("default/web", 2),)))
        assert (kept.plan.rounds, kept.plan_for(DrainPolicy()).rounds) == (2, 4)

    def test_a_code_assumed_fixed(self) -> None:
        kept = a_kept_plan(pods=[a_pod("api-0", owner="ReplicaSet/api", volumes=(an_emptydir(),))])
        assert drained(kept.plan) == {"old-1"}
        policy = DrainPolicy(assume_fixed=frozenset({"pod-emptydir"}))
        assert kept.preview(policy).blockers == ()
        assert drained(kept.plan_for(policy)) == {"old-0", "old-1"}

    def test_pins(self) -> None:
        policy = DrainPolicy(pins=(("old-0", 2), ("old-1", 1)))
        plan = a_kept_plan().plan_for(policy)
        assert {t.node.name: t.wave for t in plan.targets} == {"old-0": 2, "old-1": 1}
        assert plan.estimate is not None
        spans = {span.node: span for span in plan.estimate.spans}
        assert spans["old-1"].done_s <= spans["old-0"].start_s

    def test_what_uses_a_budget_up_for_good_is_decided_anew(self) -> None:
        bare = [a_pod(f"web-{i}", owner=None, labels={"app": "web"}, node=f"old-{i % 2}") for i in range(4)]
        cluster = of_two_nodes(pods=bare, budgets=[a_budget(min_available=3, expected=4)])
        kept = keep(cluster)
        assert drained(kept.plan) == set()
        policy = DrainPolicy(assume_fixed=frozenset({"pod-unmanaged"}))
        assert "budget-exhausted" in {finding.code.name for finding in kept.plan_for(policy).blockers}
        assert kept.plan_for(policy) == anew(cluster, policy)

    @pytest.mark.parametrize(
        "policy",
        [
            DrainPolicy(force=True),
            DrainPolicy(partial=True),
            DrainPolicy(surge=1, max_unavailable=((ALL, IntOrPercent(1)),)),
            DrainPolicy(order="name", assume_budgets=(("default/web", 3),)),
        ],
    )
    def test_anything_else_is_a_new_plan(self, policy: DrainPolicy) -> None:
        cluster = of_two_nodes(pods=[a_pod("bare", owner=None), *pods(3, node="old-1")])
        kept, new = keep(cluster), anew(cluster, policy)
        assert kept.plan_for(policy) == new
        assert set(kept.preview(policy).drained_nodes) == drained(new)

    @pytest.mark.parametrize("policy", [DrainPolicy(), DrainPolicy(force=True)])
    def test_a_budget_that_is_not_there_cannot_be_assumed(self, policy: DrainPolicy) -> None:
        asked = replace(policy, assume_budgets=(("shop/nope", 1),))
        kept = a_kept_plan()
        for ask in (kept.preview, kept.plan_for, a_kept_plan):
            with pytest.raises(UsageError, match="no budget shop/nope"):
                ask(asked)


def test_an_assumed_budget_halves_the_rounds() -> None:
    policy = DrainPolicy(assume_budgets=(("default/web", 2),))
    budgets = [a_budget(expected=4)]
    cluster = a_cluster(nodes=[a_node("old-0")], pods=pods(4), workloads=[a_workload(replicas=4)], budgets=budgets)
    assert plan_of(cluster).rounds == 4
    assumed = with_assumed_budgets(cluster, policy)
    assert plan_of(assumed, policy=policy).rounds == 2
    assert assumed.notes == ("assumed: budget default/web lets 2 of its pods be away",)


def test_pods_that_are_not_ready_still_count_against_an_assumed_budget() -> None:
    sick = [*pods(2), a_pod("web-2", ready=False)]
    cluster = a_cluster(nodes=[a_node("old-0")], pods=sick, workloads=[a_workload()], budgets=[a_budget(expected=3)])
    policy = DrainPolicy(assume_budgets=(("default/web", 2),))
    assert headroom(plan_of(with_assumed_budgets(cluster, policy), policy=policy)).per_round == 1


def test_a_code_assumed_fixed_stops_nothing_and_says_so() -> None:
    policy = DrainPolicy(assume_fixed=frozenset({"pod-emptydir"}))
    plan = plan_of(pods=[a_pod(volumes=(an_emptydir(),))], policy=policy)
    assert verdict_of(plan, "web-1") is PodVerdict.EVICT
    found = finding(plan, "pod-emptydir")
    assert found.status is Status.PASS
    assert found.message.startswith("assumed fixed: ")
    assert target(plan).verdict is TargetVerdict.DRAINS


def test_a_budget_assumed_fixed_lets_one_go_at_a_time() -> None:
    policy = DrainPolicy(assume_fixed=frozenset({"budget-never-allows"}))
    plan = plan_of(budgets=[a_budget(max_unavailable=0, allowed=0)], policy=policy)
    assert [e.round for e in plan.evictions] == [1, 2, 3]
    assert finding(plan, "budget-never-allows").message.startswith("assumed fixed: ")
    assert plan.blockers == ()


def test_what_is_not_assumed_still_blocks() -> None:
    policy = DrainPolicy(assume_fixed=frozenset({"pod-emptydir"}))
    assert verdict_of(plan_of(pods=[a_pod("bare", owner=None)], policy=policy), "bare") is PodVerdict.BLOCKED
