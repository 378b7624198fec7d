"""Symptoms and their possible causes: the likeliest first, with a rollback that works."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.check.plan import CheckScope, plan_check
from kubectl_eksdoc.check.registry import CODES, choose_checks, needs_of
from kubectl_eksdoc.check.rollback import READ_ONLY, rollback_text
from kubectl_eksdoc.check.symptoms import Symptom, codes_of_symptom, diagnose
from kubectl_eksdoc.model.connection import CommandTarget
from kubectl_eksdoc.model.findings import Code, Finding, Remedy, Severity, Status, Subject, When
from kubectl_eksdoc.model.kinds import CheckNeed
from tests.builders import a_budget, a_cluster, a_node, a_workload
from tests.check.healthy import healthy

BUDGET = Subject("PodDisruptionBudget", "web", "shop")
BLOCKS = "budget-never-allows"


def a_finding(code: str, severity: Severity = Severity.HIGH, status: Status = Status.FAIL, **more: Any) -> Finding:
    return Finding(Code.of(code), severity, status, more.pop("subject", BUDGET), "it is bad", **more)


def whats(symptom: Symptom, *found: Finding) -> list[str]:
    return [each.code for each in diagnose(symptom, found, a_cluster()).suspects]


@pytest.mark.parametrize("symptom", list(Symptom))
def test_all_causes_are_codes_that_a_check_finds(symptom: Symptom) -> None:
    assert set(codes_of_symptom(symptom)) <= {code.name for code in CODES}


def test_what_is_seen_to_hurt_comes_before_what_may_however_severe() -> None:
    may = a_finding("dns-notices-unheard", Severity.CRITICAL)
    fails = a_finding("dns-failing", Severity.MEDIUM)
    assert whats(Symptom.DNS, may, fails) == ["dns-failing", "dns-notices-unheard"]


def test_the_worst_comes_first_and_then_the_order_of_the_table() -> None:
    stale, never = a_finding("budget-stale"), a_finding("budget-never-allows")
    several = a_finding("pod-several-budgets")
    assert whats(Symptom.DRAIN_STUCK, stale, never, several) == [
        "pod-several-budgets",
        "budget-never-allows",
        "budget-stale",
    ]


def test_what_comes_from_one_root_cause_is_one_suspect() -> None:
    origin = Subject("Interruption", "events")
    queue = a_finding("interruption-queue", subject=Subject("Queue", "prod"), root_cause=origin)
    notices = a_finding("dns-notices-unheard", Severity.CRITICAL, root_cause=origin)
    alone = a_finding("dns-on-spot")
    first, second = diagnose(Symptom.DNS, (notices, queue, alone), a_cluster()).suspects
    assert (first.code, first.evidence) == ("dns-notices-unheard", ("Queue prod: it is bad",))
    assert second.code == "dns-on-spot"


def test_what_can_be_done_now_is_proposed_and_not_what_its_owners_change_later() -> None:
    later, now = Remedy("Edit it.", "kubectl edit pdb web", When.LATER), Remedy("Scale it.", "kubectl scale deploy/web")
    (suspect,) = diagnose(Symptom.DRAIN_STUCK, [a_finding(BLOCKS, remedy=(later, now))], a_cluster()).suspects
    assert suspect.do == now
    (suspect,) = diagnose(Symptom.DRAIN_STUCK, [a_finding(BLOCKS, remedy=(later,))], a_cluster()).suspects
    assert suspect.do == later


def test_what_is_not_known_is_no_suspect_and_is_told() -> None:
    unknown = a_finding("imds-pods-possible", status=Status.UNKNOWN, missing="get pods/log")
    found = diagnose(Symptom.CREDENTIALS, [unknown], a_cluster())
    assert (found.suspects, found.unknown) == ((), (unknown,))


def test_what_passes_is_no_suspect_unless_it_warns_of_just_this() -> None:
    passing = {"status": Status.PASS}
    assert whats(Symptom.DRAIN_STUCK, a_finding("single-replica", **passing)) == []
    kept = "pod-emptydir", "pod-unmanaged"
    found = [a_finding(each, **passing) for each in kept]
    assert whats(Symptom.DRAIN_STUCK, *found) == ["pod-unmanaged", "pod-emptydir"], "by kubectl drain without its flags"
    assert whats(Symptom.TARGETS, a_finding("no-readiness-gate", **passing)) == ["no-readiness-gate"]


def test_only_the_controller_of_load_balancers_is_a_cause_of_bad_targets() -> None:
    other = a_finding("imds-pods-broken", subject=Subject("Deployment", "app", "shop"))
    its = a_finding("imds-pods-broken", subject=Subject("Deployment", "aws-load-balancer-controller", "kube-system"))
    assert whats(Symptom.TARGETS, other, its) == ["imds-pods-broken"]


@pytest.mark.parametrize(("others", "severity"), [("b", Severity.HIGH), ("bc", Severity.MEDIUM)])
def test_nodes_that_load_balancers_leave_out_are_seen_in_the_cluster(others: str, severity: Severity) -> None:
    label = "node.kubernetes.io/exclude-from-external-load-balancers"
    cluster = a_cluster(nodes=[a_node("a", labels={label: "true"}), *(a_node(name) for name in others)])
    (suspect,) = diagnose(Symptom.TARGETS, (), cluster, CommandTarget(kubectl=("--context", "prod"))).suspects
    assert suspect.do is not None and suspect.severity is severity
    assert suspect.do.command == f"kubectl label node a {label}- --context prod"
    assert suspect.undo == f"Undo: kubectl label node a {label}=true --context prod"


def test_only_what_the_symptom_needs_is_read() -> None:
    assert CheckNeed.PLAN_DRAIN in needs_of(choose_checks(codes_of_symptom(Symptom.DRAIN_STUCK)))
    assert CheckNeed.PLAN_DNS not in needs_of(choose_checks(codes_of_symptom(Symptom.DRAIN_STUCK)))
    assert CheckNeed.PLAN_DRAIN not in needs_of(choose_checks(codes_of_symptom(Symptom.DNS)))
    assert CheckNeed.PLAN_IMDS in needs_of(choose_checks(codes_of_symptom(Symptom.CREDENTIALS)))


def test_findings_about_something_else_are_left_out_of_the_plan() -> None:
    wish = CheckScope(only=frozenset(codes_of_symptom(Symptom.TARGETS)), symptom=Symptom.TARGETS)
    other = a_finding("imds-pods-broken", subject=Subject("Deployment", "app", "shop"))
    facts = replace(healthy(), command_findings=dict.fromkeys(CheckNeed, ()) | {CheckNeed.PLAN_IMDS: (other,)})
    plan = plan_check(facts, choose_checks(codes_of_symptom(Symptom.TARGETS)), wish)
    assert plan.findings == ()
    assert plan.diagnosis is not None
    assert plan.checklist == ()


def test_the_remedy_with_a_command_is_proposed_and_its_way_back() -> None:
    remedies = (Remedy("Think."), Remedy("Scale.", "kubectl scale deployment web -n shop --replicas=4"))
    cluster = a_cluster(workloads=[a_workload("Deployment/web", "shop", replicas=2)])
    found = a_finding("budget-never-allows", remedy=remedies)
    (suspect,) = diagnose(Symptom.DRAIN_STUCK, [found], cluster, CommandTarget(kubectl=("--context", "x"))).suspects
    assert suspect.do == remedies[1]
    assert suspect.undo == "Undo: kubectl scale deployment web -n shop --replicas=2 --context x"


def test_the_tables_have_each_cause_that_the_plans_of_others_find() -> None:
    assert {code.name for code in Code.of_areas("dns")} <= set(codes_of_symptom(Symptom.DNS))
    assert {code.name for code in Code.of_areas("imds")} <= set(codes_of_symptom(Symptom.CREDENTIALS))
    assert "interruption-queue" in codes_of_symptom(Symptom.DNS)
    assert "check-addon-health" in codes_of_symptom(Symptom.DNS)


@pytest.mark.parametrize(
    ("command", "undo"),
    [
        ("", "Nothing is proposed that could be undone."),
        ("kubectl describe pods -n shop -l app=web", READ_ONLY),
        ("kubectl eksdoc coredns-lameduck --demo", READ_ONLY),
        ("kubectl eksdoc imds-probe --apply --fix x", "It shows the rollback before it asks"),
        ("kubectl eksdoc addon-diff coredns --apply --dry-run", "A dry run changes nothing. Carried out, it shows the"),
        ("kubectl rollout restart deployment/web -n shop", "It changes nothing but the age of the pods"),
        ("kubectl cordon a b", "Undo: kubectl uncordon a b"),
        ("kubectl label namespace edge gate=enabled", "Undo: kubectl label namespace edge gate-"),
        ("kubectl delete pod web-1 -n shop", "It is not undone"),
        ("kubectl edit deployment web -n shop", "Save it before (kubectl get deployment web -n shop -o yaml)"),
        ("kubectl get pdb x -n s -o yaml > x.yaml && kubectl delete pdb x -n s", "Undo: kubectl create -f x.yaml"),
        (
            "kubectl eksdoc interruption --print stack > i.yaml && aws cloudformation create-stack --stack-name s"
            " --region r --template-body file://i.yaml",
            "Undo: aws cloudformation delete-stack --stack-name s --region r",
        ),
        ("aws eks describe-cluster --name x", READ_ONLY),
        ("aws eks delete-nodegroup --nodegroup-name x", "No rollback is known"),
        ("kubectl annotate 'broken", "No rollback is known"),
    ],
)
def test_the_way_back_of_a_command(command: str, undo: str) -> None:
    assert rollback_text(command, a_cluster()).startswith(undo)


def test_a_budget_gets_back_what_it_had() -> None:
    cluster = a_cluster(budgets=[a_budget("web", "shop", min_available="75%")])
    command = "kubectl patch pdb web -n shop --type merge -p '{}'"
    back = rollback_text(command, cluster)
    assert back.startswith("Undo: kubectl patch pdb web -n shop --type merge -p ")
    assert '"minAvailable": "75%", "maxUnavailable": null' in back


def test_the_way_back_of_awscli_is_the_same_with_a_profile() -> None:
    words = "cloudformation create-stack --stack-name a --region eu-west-1"
    undo = "Undo: aws cloudformation delete-stack --stack-name a --region eu-west-1"
    assert (
        rollback_text(f"aws {words}", a_cluster()) == rollback_text(f"aws --profile prod {words}", a_cluster()) == undo
    )
    assert rollback_text("aws --profile prod eks describe-cluster --name x", a_cluster()) == READ_ONLY
