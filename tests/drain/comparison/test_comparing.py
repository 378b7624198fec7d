"""Differences between two plans: figures, nodes, budgets, findings, and the requested options."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.drain.comparison import compare_plan_findings, compare_plans, judgeable_scope, plan_outline
from kubectl_eksdoc.drain.plan import build_plan
from kubectl_eksdoc.drain.plan_changes import Measure, PlanComparison, PlanFigure, drift, read_plan_of
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.errors import BaselineError
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.baseline import Baseline, FindingOutline, PlanOutline, TargetOutline
from kubectl_eksdoc.model.cluster import Identity, Source
from kubectl_eksdoc.model.findings import Severity, Status, Subject
from tests.builders import NOW, a_budget, a_cluster, a_node, a_pod, a_roomy_node, a_workload, pods
from tests.drain.planning import plan_of

WHO = Identity("prod", "shop", "111122223333", "eu-west-1", "v1.33", "uid-1")
ALL = frozenset(kind.full_name for kind in kinds.ALL)
HERE = replace(a_cluster(), identity=WHO, source=Source.LIVE)


def a_plan(*names: str, bare: bool = False, allowed: int = 1, **policy: object) -> DrainPlan:
    """Two nodes with two pods under one budget; `bare` adds a pod without a controller on old-1."""
    on = [replace(pod, node=f"old-{i % 2}") for i, pod in enumerate(pods(4))]
    on += [a_pod("shell", owner=None, node="old-1")] if bare else []
    cluster = a_cluster(
        nodes=[a_node("old-0"), a_node("old-1"), a_roomy_node()],
        pods=on,
        budgets=[a_budget("web", max_unavailable=allowed, expected=4, allowed=allowed)],
    )
    targets = [node for node in cluster.nodes if node.name in (names or ("old-0", "old-1"))]
    return build_plan(cluster, targets, DrainPolicy(**policy))  # type: ignore[arg-type]


def saved(plan: DrainPlan | PlanOutline, **options: object) -> Baseline:
    made = plan if isinstance(plan, PlanOutline) else plan_outline(plan)
    return Baseline("old.json", WHO, Source.LIVE, NOW, "1.2.3", options, made, ALL)


def compared(before: DrainPlan, now: DrainPlan) -> PlanComparison:
    return compare_plans(saved(before), HERE, now, {})


def differing(comparison: PlanComparison) -> dict[Measure, tuple[object, object]]:
    return {figure.what: (figure.before, figure.now) for figure in comparison.figures if figure.differs}


def test_a_plan_does_not_differ_from_itself() -> None:
    comparison = compared(a_plan(bare=True), a_plan(bare=True))
    assert comparison.is_equal
    assert [figure.what for figure in comparison.figures] == list(Measure)
    assert comparison.since.unchanged == len(a_plan(bare=True).blockers) > 0


def test_a_node_that_is_skipped_now_says_why() -> None:
    comparison = compared(a_plan(), a_plan(bare=True))
    (change,) = comparison.targets
    assert (change.name, change.before and change.before.verdict) == ("old-1", "drains")
    assert change.now is not None and change.now.verdict == "skipped"
    assert "default/shell" in change.now.why[0]
    figures = differing(comparison)
    assert figures[Measure.DRAINED] == (2, 1)
    assert figures[Measure.SKIPPED] == (0, 1)
    assert figures[Measure.EVICTIONS] == (4, 2)
    assert figures[Measure.BLOCKERS] == (0, 1)
    assert Measure.NODES not in figures
    assert comparison.is_comparable


def test_a_what_if_shows_what_it_gains() -> None:
    comparison = compared(a_plan(), a_plan(allowed=2))
    figures = differing(comparison)
    assert figures[Measure.ROUNDS] == (4, 2)
    before, now = figures[Measure.P50]
    assert isinstance(before, float) and isinstance(now, float) and now < before
    (budget,) = comparison.budgets
    assert budget.before is not None and budget.now is not None
    assert (budget.before.per_round, budget.now.per_round) == (1, 2)


def test_times_are_compared_only_where_both_have_them() -> None:
    nothing = a_plan("old-1", bare=True)
    assert nothing.estimate is None
    figures = {figure.what: figure for figure in compared(nothing, a_plan("old-1")).figures}
    for what in (Measure.P50, Measure.P95, Measure.BOUND, Measure.BINDS, Measure.GAP, Measure.PEAK):
        assert figures[what].before is None and figures[what].now is not None
        assert figures[what].change is None
        assert figures[what].differs


@pytest.mark.parametrize(
    ("before", "now", "change"),
    [(1, 3, 2), (0.3, 0.1, -0.2), (None, 3, None), (3, None, None), ("a", "b", None), (2, 2, 0)],
)
def test_a_change_is_a_difference_of_numbers(before: object, now: object, change: object) -> None:
    assert PlanFigure(Measure.ROUNDS, before, now).change == change  # type: ignore[arg-type]


def test_another_cluster_is_refused() -> None:
    with pytest.raises(
        BaselineError, match=r"the baseline old\.json is of another cluster: it has cluster shop"
    ) as caught:
        compare_plans(saved(a_plan()), replace(HERE, identity=replace(WHO, uid="uid-2")), a_plan(), {})
    assert caught.value.exit_code == 2


def test_a_cluster_that_may_be_another_is_doubted() -> None:
    doubt = compare_plans(saved(a_plan()), replace(HERE, identity=Identity()), a_plan(), {}).since.cluster_doubt
    assert doubt.startswith("the baseline has cluster shop")
    assert compare_plans(saved(a_plan()), HERE, a_plan(), {}).since.cluster_doubt == ""


@pytest.mark.parametrize("what", ["targets", "budgets"])
def test_a_verdict_of_another_version_is_refused(what: str) -> None:
    made = plan_outline(a_plan())
    strange = replace(made, **{what: tuple(replace(each, verdict="wobbles") for each in getattr(made, what))})
    with pytest.raises(BaselineError, match="a verdict that is not known here: 'wobbles'"):
        compare_plans(saved(strange), HERE, a_plan(), {})


def test_what_was_read_only_once_is_said_and_nothing_is_better_for_it() -> None:
    blind = replace(HERE, reads=tuple(read for read in HERE.reads if read.resource is not kinds.BUDGETS))
    comparison = compare_plans(saved(a_plan(bare=True)), blind, a_plan(bare=True), {})
    assert (comparison.read_before, comparison.read_now) == (("poddisruptionbudgets.policy",), ())
    assert not comparison.is_comparable and not comparison.is_equal
    assert compared(a_plan(), a_plan(bare=True)).is_comparable


def test_nodes_that_are_judged_only_once_are_not_like_the_others() -> None:
    made = plan_outline(a_plan())
    opened = replace(made, targets=(replace(made.targets[0], verdict="unknown"), *made.targets[1:]))
    comparison = compare_plans(saved(opened), HERE, a_plan(), {})
    assert not comparison.is_comparable and comparison.since.notes == ()


def told(comparison: PlanComparison) -> list[tuple[str, str]]:
    return [(each.kind.value, each.either.code) for each in comparison.since.changes]


def test_what_blocks_now_is_new_and_what_blocked_then_is_fixed() -> None:
    assert told(compared(a_plan(), a_plan(bare=True))) == [("new", "pod-unmanaged")]
    comparison = compared(a_plan(bare=True), a_plan())
    assert told(comparison) == [("fixed", "pod-unmanaged")]
    assert comparison.since.earlier.file == "old.json" and comparison.since.earlier.tool_version == "1.2.3"


def test_what_went_with_a_node_of_the_same_choice_is_gone() -> None:
    now = compare_plans(saved(a_plan(bare=True), nodegroup=["blue"]), HERE, a_plan("old-0"), {"nodegroup": ["blue"]})
    assert told(now) == [("fixed", "pod-unmanaged")]


def test_another_choice_of_nodes_has_not_judged_what_only_the_other_one_has() -> None:
    now = compare_plans(saved(a_plan(bare=True), nodes=["old-0", "old-1"]), HERE, a_plan("old-0"), {"nodes": ["old-0"]})
    assert told(now) == [("not-judged-this-time", "pod-unmanaged")]
    assert now.since.changes[0].why == "other objects were checked"
    back = compare_plans(
        saved(a_plan("old-0"), nodes=["old-0"]), HERE, a_plan(bare=True), {"nodes": ["old-0", "old-1"]}
    )
    assert told(back) == [("new", "pod-unmanaged")] and back.since.changes[0].why


def test_a_node_that_cannot_be_judged_fixes_nothing_on_it() -> None:
    now = plan_outline(a_plan(bare=True))
    open_one = replace(now, findings=(), targets=(TargetOutline("old-0", "drains"), TargetOutline("old-1", "unknown")))
    back = compare_plans(saved(open_one), HERE, a_plan(bare=True), {})
    assert told(back) == [("new", "pod-unmanaged")] and back.since.changes[0].why == "what it rests on was not read"


def test_a_kind_that_was_not_read_fixes_nothing() -> None:
    """Without the budgets the plan cannot tell which of them never allows an eviction."""
    then, now = a_plan(allowed=0), a_plan()
    seen = tuple(read for read in HERE.reads if read.resource.plural != "poddisruptionbudgets")
    comparison = compare_plans(saved(then), replace(HERE, reads=seen), now, {})
    assert "fixed" not in {what for what, _ in told(comparison)}
    assert {what for what, code in told(comparison) if code.startswith("budget-")} == {"not-judged-this-time"}


NAMED = DrainPolicy(delete_past_budget=frozenset({"default/web-0"}))


def test_who_was_to_be_evicted_and_would_be_deleted_is_told() -> None:
    facts = {"pods": pods(1), "workloads": [a_workload(replicas=1)]}
    read = read_plan_of(plan_of(policy=NAMED, **facts))
    now = read_plan_of(plan_of(policy=NAMED, budgets=[a_budget(min_available=1, allowed=0, expected=1)], **facts))
    assert "default/web-0 was to go by eviction and goes by deletion now" in drift(read, now)
    assert not drift(read, read)


LESS = ALL - {kinds.BUDGETS.full_name}
NOTHING = PlanOutline((), (), (), 0, 0, 0, 0, None)
UNSEEN = "what it rests on was not read"


def finding(code: str, name: str = "web", kind: str = "Deployment", status: Status = Status.FAIL) -> FindingOutline:
    subject = Subject(kind, name, "shop" if kind == "Deployment" else "")
    return FindingOutline(code, subject, Severity.HIGH, status, "because")


def outlined(*findings: FindingOutline, on: str = "", **verdicts: str) -> PlanOutline:
    """Findings in outline. `on`: the node of the pod that they are about; `verdicts`: those of targets."""
    targets = tuple(TargetOutline(name, verdict) for name, verdict in verdicts.items())
    return replace(NOTHING, findings=findings, targets=targets, stops=frozenset((f.code, on) for f in findings if on))


def since_then(before: PlanOutline, now: PlanOutline, then: frozenset[str], here: frozenset[str]) -> list[str]:
    sights = judgeable_scope(before, then), judgeable_scope(now, here)
    found = compare_plan_findings(replace(saved(before), read=then), now, sights, (), "", ())
    return [f"{each.kind.value}: {each.why}".removesuffix(": ") for each in found.changes]


BUDGET, EMPTY_DIR = outlined(finding("budget-never-allows")), outlined(finding("pod-emptydir"))
OPEN = outlined(finding("pod-emptydir", "cluster", "Cluster", Status.UNKNOWN))
ON_IT, ON_NODE = outlined(finding("no-place"), on="old0", old0="skipped"), finding("node-ends-soon", "old0", "Node")
UNJUDGED = outlined(old0="unknown", old1="unknown")
GONE, WHY = "not-known-any-more", "not known: because"
LATER, BEFORE = f"not-judged-this-time: {UNSEEN}", f"new: {UNSEEN}"


@pytest.mark.parametrize(
    ("before", "now", "read_then", "read_now", "became", "back"),
    [
        (EMPTY_DIR, OPEN, ALL, ALL, [f"{GONE}: {WHY}", GONE], [f"new: {WHY}", "known-now"]),
        (BUDGET, NOTHING, ALL, LESS, [LATER], [BEFORE]),
        (outlined(finding("budget-never-allows", "cluster", "Cluster")), NOTHING, ALL, LESS, [LATER], [BEFORE]),
        (BUDGET, NOTHING, LESS, LESS, ["fixed"], ["new"]),
        (EMPTY_DIR, NOTHING, ALL, LESS, ["fixed"], ["new"]),
        (ON_IT, UNJUDGED, ALL, ALL, [LATER], [BEFORE]),
        (ON_IT, outlined(old0="drains", old1="unknown"), ALL, ALL, ["fixed"], ["new"]),
        (outlined(ON_NODE, old0="drains"), UNJUDGED, ALL, ALL, [LATER], [BEFORE]),
    ],
)
def test_what_could_not_be_judged_is_not_fixed(
    before: PlanOutline, now: PlanOutline, read_then: frozenset[str], read_now: frozenset[str], became: Any, back: Any
) -> None:
    """Unknown never passes: a blocker is not fixed because it could not be checked again."""
    assert since_then(before, now, read_then, read_now) == became
    assert since_then(now, before, read_now, read_then) == back
