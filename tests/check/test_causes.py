"""Findings with the same root cause are counted once, and the causes are in the order of their importance."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.check.checking import AWS_ACCOUNT, Area, Gate, RootCause, causes_of_findings, root_causes
from kubectl_eksdoc.check.plan import CheckScope, plan_check
from kubectl_eksdoc.model.findings import Code, Finding, Severity, Status, Subject
from kubectl_eksdoc.model.kinds import AwsUnavailable
from tests.check.healthy import healthy
from tests.check.report.checked import SKEW, STUCK, UNFIT, check

CONTROL, NODES = Gate.BEFORE_CONTROL_PLANE, Gate.BEFORE_NODES
API = Subject("API", "policy/v1beta1")


def of(*found: Finding, gate: Gate | None = NODES) -> tuple[RootCause, ...]:
    return root_causes((each, gate) for each in found)


def a_finding(code: str, kind: str, name: str, namespace: str = "", severity: Severity = Severity.HIGH) -> Finding:
    return replace(SKEW, code=Code.of(code), subject=Subject(kind, name, namespace), severity=severity)


def test_one_old_api_is_one_cause_wherever_it_is_found() -> None:
    helm = replace(a_finding("api-in-helm", "HelmRelease", "web", "shop"), root_cause=API)
    written = replace(a_finding("api-written", "PodDisruptionBudget", "db", "shop"), root_cause=API)
    (cause,) = of(written, helm)
    assert cause.subject == API and cause.findings == (helm, written)


@pytest.mark.parametrize(
    ("first", "second", "causes"),
    [
        (("ami-al2", "Nodegroup", "blue"), ("imds-successor", "NodeGroup", "blue"), 1),
        (("pods-bouncing", "Deployment", "web", "shop"), ("budget-unhealthy", "PodDisruptionBudget", "web", "shop"), 1),
        (("ami-al2", "Nodegroup", "blue"), ("ami-al2", "Nodegroup", "green"), 2),
        (("pods-bouncing", "Deployment", "web", "shop"), ("pods-bouncing", "Deployment", "web", "test"), 2),
        (("support-extended", "Cluster", "prod"), ("budget-missing", "Cluster", "prod"), 2),
    ],
)
def test_what_is_of_one_thing_is_one_cause(first: tuple[str, ...], second: tuple[str, ...], causes: int) -> None:
    assert len(of(a_finding(*first), a_finding(*second))) == causes


def test_one_right_that_is_missing_is_one_cause() -> None:
    lacking = [replace(UNFIT, subject=Subject("Addon", name)) for name in ("coredns", "vpc-cni")]
    (cause,) = of(*lacking)
    assert cause.subject == Subject("Right", "eks:DescribeAddonVersions")
    assert len(of(*(replace(each, missing="its configuration") for each in lacking))) == 2, "a fact is of its subject"


def test_nothing_of_aws_is_one_cause() -> None:
    why = AwsUnavailable("no credentials were found")
    blind = [
        replace(UNFIT, subject=Subject("Addon", name), message="whether it fits is not known", unknowns=(why,))
        for name in ("coredns", "vpc-cni")
    ]
    plan = plan_check(healthy(eks=why), [check(Area.ADDONS, NODES, *blind, STUCK)], CheckScope())
    assert [each.subject for each in plan.causes] == [STUCK.subject, AWS_ACCOUNT]
    assert plan.causes[1].do.command == "kubectl eksdoc check --no-aws"


def test_what_the_next_step_waits_for_comes_first_then_the_worst() -> None:
    low = a_finding("subnet-addresses", "Subnet", "a", severity=Severity.LOW)
    critical = a_finding("pods-bouncing", "Deployment", "web", "shop", Severity.CRITICAL)
    high = a_finding("pod-protected", "Deployment", "db", "shop")
    found = root_causes([(high, NODES), (critical, NODES), (low, CONTROL), (UNFIT, CONTROL)])
    assert [each.first for each in found] == [low, UNFIT, critical, high], "what is not known comes after what fails"


def test_a_cause_stands_before_the_first_step_that_waits_for_one_of_its_findings() -> None:
    later, sooner = a_finding("ami-al2", "Nodegroup", "blue"), a_finding("insight-error", "Insight", "Amazon Linux 2")
    (cause,) = root_causes([(later, NODES), (replace(sooner, root_cause=later.subject), CONTROL)])
    assert cause.gate is CONTROL
    assert causes_of_findings([cause], [later]) == (cause,) and causes_of_findings([cause], [STUCK]) == ()


def test_causes_are_of_what_counts_and_may_not_be_unknown() -> None:
    slight = a_finding("nodes-behind", "Nodegroup", "green", severity=Severity.LOW)
    well = replace(STUCK, status=Status.PASS)
    checks = [check(Area.NODES, NODES, SKEW, slight, well), check(Area.ADDONS, NODES, UNFIT)]
    wish = CheckScope(fail_on=Severity.MEDIUM, accepted=frozenset({UNFIT.code.name}))
    plan = plan_check(healthy(), checks, wish)
    assert [each.first for each in plan.causes] == [SKEW]


def test_a_cause_at_several_gates_is_counted_at_each_with_what_is_found_there() -> None:
    """Findings before its first step are reported first, whatever is worse after it."""
    later = a_finding("ami-al2", "Nodegroup", "blue")
    sooner = replace(a_finding("kubelet-skew", "Nodegroup", "blue", severity=Severity.LOW), status=Status.UNKNOWN)
    plan = plan_check(healthy(), [check(Area.NODES, NODES, later), check(Area.NODES, CONTROL, sooner)], CheckScope())
    (cause,) = plan.causes
    assert cause.findings == (sooner, later) and cause.status is Status.UNKNOWN
    assert [[each.findings for each in plan.causes_by_gate[gate]] for gate in (CONTROL, NODES, Gate.AFTER, None)] == [
        [(sooner,)],
        [(later,)],
        [],
        [],
    ]


def test_a_part_of_a_check_that_finds_nothing_passes_nothing() -> None:
    whole = check(Area.NODES, CONTROL, replace(SKEW, status=Status.UNKNOWN))
    plan = plan_check(healthy(), [whole, whole.at_gate(lambda facts: (), NODES)], CheckScope())
    assert [each.check for each in plan.judged] == [whole]
    found = plan_check(healthy(), [whole, whole.at_gate(lambda facts: (SKEW,), NODES)], CheckScope())
    assert [each.check.gate for each in found.judged] == [CONTROL, NODES]
