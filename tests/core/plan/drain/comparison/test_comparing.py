"""What differs between two plans: figures, nodes, budgets, findings, and what was asked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from kubectl_eksdoc.core.model.baseline import Baseline, FindingOutline, Outline
from kubectl_eksdoc.core.model.budgets import Amount
from kubectl_eksdoc.core.model.cluster import Identity, Source
from kubectl_eksdoc.core.model.findings import Severity, Status, Subject
from kubectl_eksdoc.core.plan.drain.comparison.changes import Asked, Change, Comparison, Figure, Measure
from kubectl_eksdoc.core.plan.drain.comparison.comparing import compare
from kubectl_eksdoc.core.plan.drain.comparison.findings import finding_changes
from kubectl_eksdoc.core.plan.drain.comparison.outline import outline
from kubectl_eksdoc.core.plan.drain.plan import make_plan
from kubectl_eksdoc.core.plan.drain.policy import DrainPolicy
from kubectl_eksdoc.core.plan.drain.result import DrainPlan
from kubectl_eksdoc.errors import BaselineError
from tests.builders import NOW, a_budget, a_cluster, a_node, a_pod, a_roomy_node, pods

WHO = Identity("prod", "shop", "111122223333", "eu-west-1", "v1.33", "uid-1")
HERE = replace(a_cluster(), identity=WHO, source=Source.LIVE)


def a_plan(*names: str, bare: bool = False, allowed: int = 1, **policy: object) -> DrainPlan:
    """Two nodes with two pods of one budget; with `bare` one more pod that nothing creates again, on old-1."""
    on = [replace(pod, node=f"old-{i % 2}") for i, pod in enumerate(pods(4))]
    on += [a_pod("shell", owner=None, node="old-1")] if bare else []
    cluster = a_cluster(
        nodes=[a_node("old-0"), a_node("old-1"), a_roomy_node()],
        pods=on,
        budgets=[a_budget("web", max_unavailable=allowed, expected=4, allowed=allowed)],
    )
    targets = [node for node in cluster.nodes if node.name in (names or ("old-0", "old-1"))]
    return make_plan(cluster, targets, DrainPolicy(**policy))  # type: ignore[arg-type]


def saved(plan: DrainPlan | Outline, **options: object) -> Baseline:
    made = plan if isinstance(plan, Outline) else outline(plan)
    return Baseline("old.json", WHO, Source.LIVE, NOW, "1.2.3", options, made)


def compared(before: DrainPlan, now: DrainPlan) -> Comparison:
    return compare(saved(before), HERE, now, {})


def differing(comparison: Comparison) -> dict[Measure, tuple[object, object]]:
    return {figure.what: (figure.before, figure.now) for figure in comparison.figures if figure.differs}


def test_a_plan_does_not_differ_from_itself() -> None:
    comparison = compared(a_plan(bare=True), a_plan(bare=True))
    assert comparison.nothing_differs
    assert [figure.what for figure in comparison.figures] == list(Measure)
    assert comparison.unchanged == len(a_plan(bare=True).findings) > 0


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
    assert comparison.same_nodes
    assert [(f.change, f.either.code) for f in comparison.findings] == [(Change.NEW, "pod-unmanaged")]


def test_a_what_if_shows_what_it_gains() -> None:
    comparison = compared(a_plan(), a_plan(allowed=2))
    figures = differing(comparison)
    assert figures[Measure.ROUNDS] == (4, 2)
    before, now = figures[Measure.P50]
    assert isinstance(before, float) and isinstance(now, float) and now < before
    (budget,) = comparison.budgets
    assert budget.before is not None and budget.now is not None
    assert (budget.before.per_round, budget.now.per_round) == (1, 2)


def test_waves_are_counted() -> None:
    assert differing(compared(a_plan(), a_plan(max_unavailable=Amount(1))))[Measure.WAVES] == (1, 2)


def test_other_nodes_are_targets_of_one_plan_only() -> None:
    comparison = compared(a_plan("old-0"), a_plan("old-1"))
    assert [(t.name, t.before is None, t.now is None) for t in comparison.targets] == [
        ("old-0", False, True),
        ("old-1", True, False),
    ]
    assert not comparison.same_nodes


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
    assert Figure(Measure.ROUNDS, before, now).change == change  # type: ignore[arg-type]


def test_what_was_asked_for_differently() -> None:
    given = {"nodegroup": ["blue"], "partial": True, "grace-period": -1, "force": False, "baseline": "old.json"}
    before = {"nodegroup": ["blue", "green"], "partial": False, "grace-period": -1, "assume-fixed": [], "l": ""}
    assert compare(saved(a_plan(), **before), HERE, a_plan(), given).asked == (
        Asked("nodegroup", ["blue", "green"], ["blue"]),
        Asked("partial", False, True),
    )


def said(
    code: str, name: str = "web", status: Status = Status.FAIL, severity: Severity = Severity.HIGH, **more: str
) -> FindingOutline:
    subject = Subject(more.get("kind", "Deployment"), name, "shop" if "kind" not in more else "")
    return FindingOutline(code, subject, severity, status, more.get("message", "because"))


def changes(before: Iterable[FindingOutline], now: Iterable[FindingOutline]) -> list[tuple[str, str, str]]:
    return [(f.change.value, f.either.code, f.either.subject.name) for f in finding_changes(before, now)[0]]


def test_findings_come_and_go_by_code_and_subject() -> None:
    before = [said("a"), said("b"), said("c", message="3 of 4 pods")]
    now = [said("b"), said("c", message="2 of 4 pods"), said("a", "other")]
    assert changes(before, now) == [("new", "a", "other"), ("gone", "a", "web")]
    assert finding_changes(before, now)[1] == 2


def test_another_status_or_severity_is_a_change() -> None:
    before = [said("a"), said("b", severity=Severity.LOW), said("c")]
    now = [said("a", status=Status.PASS), said("b", severity=Severity.CRITICAL), said("c")]
    assert changes(before, now) == [("changed", "b", "web"), ("changed", "a", "web")]


def test_of_several_findings_of_one_code_on_one_subject_the_worst_counts() -> None:
    two = [said("a", status=Status.PASS), said("a")]
    assert changes(two, two[::-1]) == []
    assert changes(two, [said("a", status=Status.PASS)]) == [("changed", "a", "web")]
    assert finding_changes(two, two)[1] == 1


def test_what_a_plan_could_not_judge_has_neither_come_nor_gone() -> None:
    """Unknown is never a pass: a blocker is not gone because nobody could look any more."""
    cannot = said("a", "cluster", Status.UNKNOWN, kind="Cluster")
    assert changes([said("a"), said("b")], [cannot]) == [
        ("new", "a", "cluster"),
        ("not-judged-now", "a", "web"),
        ("gone", "b", "web"),
    ]
    assert changes([cannot], [said("a"), said("b")]) == [
        ("new", "b", "web"),
        ("not-judged-before", "a", "web"),
        ("gone", "a", "cluster"),
    ]


def test_an_unknown_of_one_object_says_nothing_of_others() -> None:
    assert changes([said("a")], [said("a", "other", Status.UNKNOWN)]) == [("new", "a", "other"), ("gone", "a", "web")]


def test_the_order_of_the_facts_changes_nothing() -> None:
    one, other = a_plan(bare=True), a_plan("old-0")
    turned = replace(
        outline(one),
        targets=outline(one).targets[::-1],
        budgets=outline(one).budgets[::-1],
        findings=outline(one).findings[::-1],
    )
    straight, upside_down = (compare(saved(made), HERE, other, {}) for made in (outline(one), turned))
    assert replace(upside_down, baseline=straight.baseline) == straight


def test_another_cluster_is_refused() -> None:
    with pytest.raises(
        BaselineError, match=r"the baseline old\.json is of another cluster: it has cluster shop"
    ) as caught:
        compare(saved(a_plan()), replace(HERE, identity=replace(WHO, uid="uid-2")), a_plan(), {})
    assert caught.value.exit_code == 2


def test_a_cluster_that_may_be_another_is_doubted() -> None:
    assert compare(saved(a_plan()), replace(HERE, identity=Identity()), a_plan(), {}).doubt.startswith(
        "the baseline has cluster shop"
    )
    assert compare(saved(a_plan()), HERE, a_plan(), {}).doubt == ""


@pytest.mark.parametrize("what", ["targets", "budgets"])
def test_a_verdict_of_another_version_is_refused(what: str) -> None:
    made = outline(a_plan())
    strange = replace(made, **{what: tuple(replace(each, verdict="wobbles") for each in getattr(made, what))})
    with pytest.raises(BaselineError, match="a verdict that is not known here: 'wobbles'"):
        compare(saved(strange), HERE, a_plan(), {})
