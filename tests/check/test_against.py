"""A check compared with an earlier one: the checks that ran, and unknown answers that hide possible findings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.baseline.side import complete_kinds
from kubectl_eksdoc.check.baseline import compare_with_earlier
from kubectl_eksdoc.check.plan import CheckPlan, CheckScope, plan_check
from kubectl_eksdoc.check.registry import ALL_CHECKS, CODES, choose_checks
from kubectl_eksdoc.model.baseline import FindingOutline, SavedResult
from kubectl_eksdoc.model.findings import Code, Finding, Severity, Status, Subject
from kubectl_eksdoc.model.kinds import BUDGETS
from tests.check.healthy import healthy
from tests.check.report.checked import SKEW, accepted

PLAN_OF = Subject("Command", "coredns-lameduck")


def a_plan(*found: Finding, wish: CheckScope = CheckScope()) -> CheckPlan:
    """A plan with every check, in which only `found` is found."""
    checks = [replace(each, judge=lambda _: ()) for each in ALL_CHECKS]
    return plan_check(healthy(), [*checks, *_finding(found)], wish)


def _finding(found: tuple[Finding, ...]) -> list[Any]:
    return [replace(choose_checks([each.code.name])[0], judge=lambda _, one=each: (one,)) for each in found]


def an_earlier(*found: FindingOutline, **more: Any) -> SavedResult:
    cluster = healthy().cluster
    earlier = SavedResult(
        "x", cluster.identity, cluster.source, cluster.observed_at, "1", {}, complete_kinds(cluster), found
    )
    return replace(earlier, **{"codes": frozenset(code.name for code in CODES), **more})


def said(code: str, kind: str = "Deployment") -> FindingOutline:
    return FindingOutline(code, Subject(kind, "web", "shop"), Severity.HIGH, Status.FAIL, "because")


def unknown(code: str, subject: Subject) -> Finding:
    return Finding(Code.of(code), Severity.HIGH, Status.UNKNOWN, subject, "may not be read", missing="x")


def changes(earlier: SavedResult, plan: CheckPlan, **options: object) -> list[tuple[str, str]]:
    return [(each.kind.value, each.either.code) for each in compare_with_earlier(earlier, plan, options).changes]


def test_what_is_new_and_what_is_fixed() -> None:
    earlier = an_earlier(said("budget-never-allows"))
    assert changes(earlier, a_plan(SKEW)) == [("new", SKEW.code.name), ("fixed", "budget-never-allows")]


def test_a_command_that_could_not_be_asked_hides_all_that_it_would_find() -> None:
    for whole, code in (
        ("check-dns", "dns-lameduck-short"),
        ("check-drain", "budget-never-allows"),
    ):
        found = changes(an_earlier(said(code)), a_plan(unknown(whole, PLAN_OF)))
        assert ("not-known-any-more", code) in found and not any(what == "fixed" for what, _ in found)


def test_what_a_summed_up_command_judges_by_must_have_been_read_in_both() -> None:
    plan = a_plan()
    reads = tuple(each for each in plan.facts.cluster.reads if each.resource != BUDGETS)
    blind = replace(plan, facts=replace(plan.facts, cluster=replace(plan.facts.cluster, reads=reads)))
    (change,) = compare_with_earlier(an_earlier(said("budget-never-allows")), blind, {}).changes
    assert (change.kind.value, change.why) == ("not-judged-this-time", "not read: poddisruptionbudgets.policy")
    (change,) = compare_with_earlier(an_earlier(said("budget-never-allows"), read=frozenset()), plan, {}).changes
    assert change.kind.value == "fixed"


def test_of_a_drain_a_code_hides_only_its_own() -> None:
    plan = a_plan(unknown("placement-unsure", Subject("Cluster", "prod")))
    assert ("fixed", "budget-never-allows") in changes(an_earlier(said("budget-never-allows")), plan)
    earlier = an_earlier(said("placement-unsure"))
    assert ("not-known-any-more", "placement-unsure") in changes(earlier, plan)


def test_only_and_gate_and_symptom_of_either() -> None:
    earlier = an_earlier(said("budget-never-allows"))
    only = a_plan(wish=CheckScope(only=frozenset({"kubelet-skew"})))
    assert changes(earlier, only, only=["kubelet-skew"]) == [("not-judged-this-time", "budget-never-allows")]
    assert changes(earlier, a_plan(), symptom="dns") == [("not-judged-this-time", "budget-never-allows")]
    both = replace(earlier, options={"symptom": "dns"})
    assert changes(both, a_plan(), symptom="dns") == [("fixed", "budget-never-allows")]
    narrow = an_earlier(options={"only": ["nodes-behind"]})
    assert compare_with_earlier(narrow, a_plan(SKEW), {}).changes[0].why == "its check was not made"


@pytest.mark.parametrize(
    ("then", "now", "expected"),
    [
        (["a.yaml"], [], "not-judged-this-time"),
        (["a.yaml"], ["a.yaml", "b.yaml"], "fixed"),
        (["a.yaml", "b.yaml"], ["a.yaml"], "not-judged-this-time"),
    ],
)
def test_manifests_that_are_not_named_are_not_judged(then: list[str], now: list[str], expected: str) -> None:
    earlier = an_earlier(said("api-in-manifest", "File"), options={"filename": then})
    assert changes(earlier, a_plan(), filename=now) == [(expected, "api-in-manifest")]


def test_a_code_of_several_gates_is_not_judged_by_one_of_them() -> None:
    several = next(code for code in CODES if len({each.gate for each in choose_checks([code.name])}) > 1)
    earlier = an_earlier(said(several.name))
    assert changes(earlier, a_plan(), gate="after") == [("not-judged-this-time", several.name)]
    assert changes(replace(earlier, options={"gate": "after"}), a_plan(), gate="after") == [("fixed", several.name)]


def test_what_is_suppressed_is_told_as_that() -> None:
    plan = a_plan(SKEW, wish=CheckScope(suppressions=(accepted(SKEW),)))
    assert changes(an_earlier(), plan) == [("suppressed", SKEW.code.name)]


def test_a_way_that_went_on_is_a_note() -> None:
    way = f"{str(healthy().path.now)[1:]} → {str(healthy().path.target)[1:]}"
    assert compare_with_earlier(an_earlier(way=way), a_plan(), {}).notes == ()
    assert len(compare_with_earlier(an_earlier(way="1.1 → 1.2"), a_plan(), {}).notes) == 1
