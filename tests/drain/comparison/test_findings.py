"""Which findings came and went, and which could only not be judged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kubectl_eksdoc.drain.comparison.comparing import finding_changes, sight
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.baseline import FindingOutline, PlanOutline, TargetOutline
from kubectl_eksdoc.model.findings import Severity, Status, Subject

ALL = frozenset(kind.full_name for kind in kinds.ALL)
NOTHING = PlanOutline((), (), (), 0, 0, 0, 0, None)
BUDGETS = frozenset({kinds.BUDGETS.full_name})


def said(
    code: str, name: str = "web", status: Status = Status.FAIL, severity: Severity = Severity.HIGH, **more: str
) -> FindingOutline:
    subject = Subject(more.get("kind", "Deployment"), name, "shop" if "kind" not in more else "")
    return FindingOutline(code, subject, severity, status, more.get("message", "because"))


def a_plan(*findings: FindingOutline, **more: Any) -> PlanOutline:
    return replace(NOTHING, findings=findings, **more)


def plans_differ(
    before: PlanOutline, now: PlanOutline, read_then: frozenset[str] = ALL, read_now: frozenset[str] = ALL
) -> list[tuple[str, str, str]]:
    found, _ = finding_changes(before.findings, now.findings, sight(before, read_then), sight(now, read_now))
    return [(f.change.value, f.either.code, f.either.subject.name) for f in found]


def changes(before: Iterable[FindingOutline], now: Iterable[FindingOutline]) -> list[tuple[str, str, str]]:
    return plans_differ(a_plan(*before), a_plan(*now))


def unchanged(before: Iterable[FindingOutline], now: Iterable[FindingOutline]) -> int:
    return finding_changes(before, now, sight(NOTHING, ALL), sight(NOTHING, ALL))[1]


def test_findings_come_and_go_by_code_and_subject() -> None:
    before = [said("a"), said("b"), said("c", message="3 of 4 pods")]
    now = [said("b"), said("c", message="2 of 4 pods"), said("a", "other")]
    assert changes(before, now) == [("new", "a", "other"), ("gone", "a", "web")]
    assert unchanged(before, now) == 2


def test_another_status_or_severity_is_a_change() -> None:
    before = [said("a"), said("b", severity=Severity.LOW), said("c")]
    now = [said("a", status=Status.PASS), said("b", severity=Severity.CRITICAL), said("c")]
    assert changes(before, now) == [("changed", "b", "web"), ("changed", "a", "web")]


def test_of_several_findings_of_one_code_on_one_subject_the_worst_counts() -> None:
    two = [said("a", status=Status.PASS), said("a")]
    assert changes(two, two[::-1]) == []
    assert changes(two, [said("a", status=Status.PASS)]) == [("changed", "a", "web")]
    assert unchanged(two, two) == 1


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


def test_a_kind_that_is_no_longer_read_hides_what_hangs_on_it() -> None:
    """The question that stays open then has another code: pod-budget."""
    budget = said("budget-never-allows", "sale", kind="PodDisruptionBudget")
    with_budget, without = a_plan(budget), a_plan()
    assert plans_differ(with_budget, without, read_now=ALL - BUDGETS) == [
        ("not-judged-now", "budget-never-allows", "sale")
    ]
    assert plans_differ(without, with_budget, read_then=ALL - BUDGETS) == [
        ("not-judged-before", "budget-never-allows", "sale")
    ]
    assert plans_differ(with_budget, without) == [("gone", "budget-never-allows", "sale")]
    # Neither plan had it, and one found it all the same: they looked alike.
    assert plans_differ(with_budget, without, ALL - BUDGETS, ALL - BUDGETS)[0][0] == "gone"
    assert plans_differ(a_plan(said("pod-emptydir")), without, read_now=ALL - BUDGETS)[0][0] == "gone"


def test_a_node_that_cannot_be_judged_hides_what_was_found_on_it() -> None:
    found = said("no-place")
    before = a_plan(found, targets=(TargetOutline("old-0", "skipped"),), stops=frozenset({("no-place", "old-0")}))
    for verdict, change in (("unknown", "not-judged-now"), ("drains", "gone")):
        now = a_plan(targets=(TargetOutline("old-0", verdict), TargetOutline("old-1", "unknown")))
        assert plans_differ(before, now) == [(change, "no-place", "web")]
        assert plans_differ(now, before)[0][0] == change.replace("now", "before").replace("gone", "new")


def test_a_finding_on_a_node_hangs_on_that_node() -> None:
    before = a_plan(said("node-ends-soon", "old-0", kind="Node"), targets=(TargetOutline("old-0", "drains"),))
    now = a_plan(targets=(TargetOutline("old-0", "unknown"),))
    assert plans_differ(before, now) == [("not-judged-now", "node-ends-soon", "old-0")]


def test_a_code_of_another_version_needs_nothing_that_is_known() -> None:
    assert plans_differ(a_plan(said("of-another-version")), a_plan(), read_now=frozenset())[0][0] == "gone"
