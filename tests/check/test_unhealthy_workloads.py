"""Workloads whose pods are not Ready or restart, and those without a budget."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.findings import Code, Severity, Status, Subject
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.selectors import parse
from kubectl_eksdoc.model.workloads import Workload
from tests.builders import a_budget, a_pod, a_workload, ago
from tests.check.of_cluster import facts, found, only

CRASH = "CrashLoopBackOff"


def unready(name: str = "web-1", **more: Any) -> Pod:
    return a_pod(name, ready=False, **more)


@pytest.mark.parametrize(
    "pod",
    [
        a_pod(),
        a_pod(restarted=True, ready_at=ago(3600), created_at=ago(9000)),
        a_pod(restarted=True, ready_at=ago(60), created_at=ago(100)),
        a_pod(restarted=True),
        unready(created_at=ago(30)),
        unready(node="", phase="Pending", not_ready_because="Unschedulable: 0/3 nodes"),
        unready(phase="Failed", not_ready_because="Error"),
        unready(deletion_deadline=ago(0)),
        unready(owner="Job/etl"),
        unready(owner="Job/etl", not_ready_because="Error"),
    ],
)
def test_steady_pods(pod: Pod) -> None:
    assert found("pods-bouncing", facts(pods=[pod])) == ()


def test_a_crash_loop_is_told_once_for_its_deployment() -> None:
    workloads = [a_workload("Deployment/web"), a_workload("ReplicaSet/web-1", owner="Deployment/web")]
    pods = [
        unready("web-a", owner="ReplicaSet/web-1", not_ready_because=CRASH, created_at=ago(20)),
        unready("web-b", owner="ReplicaSet/web-1", not_ready_because="ImagePullBackOff"),
        a_pod("web-c", owner="ReplicaSet/web-1"),
    ]
    finding = only("pods-bouncing", facts(workloads=workloads, pods=pods))
    assert (finding.status, finding.severity) == (Status.FAIL, Severity.MEDIUM)
    assert finding.subject == Subject("Deployment", "web", "default")
    assert finding.message == "2 of 3 pods are not Ready: CrashLoopBackOff, ImagePullBackOff"
    assert finding.evidence == ("pods: web-a, web-b",)
    assert finding.remedy[0].command == "kubectl describe pod web-a -n default"


def test_none_ready_is_worse_and_restarting_alone_less_bad() -> None:
    finding = only("pods-bouncing", facts(pods=[unready()]))
    assert (finding.severity, finding.message) == (Severity.HIGH, "1 of 1 pods is not Ready: no reason given")
    pods = [a_pod("web-1", restarted=True, ready_at=ago(180), created_at=ago(90_000)), a_pod("web-2")]
    finding = only("pods-bouncing", facts(pods=pods))
    assert (finding.severity, finding.message) == (
        Severity.LOW,
        "1 of 2 pods is restarting: restarted, Ready again for 3m00s",
    )


def test_a_workload_of_which_all_pods_are_young() -> None:
    young = [unready("web-1", created_at=ago(90)), unready("web-2", created_at=ago(90))]
    finding = only("pods-bouncing", facts(pods=young))
    assert (finding.status, finding.missing) == (Status.UNKNOWN, "whether its pods become Ready")
    assert found("pods-bouncing", facts(pods=[*young, a_pod("web-3")])) == ()


@pytest.mark.parametrize(
    ("code", "resource"),
    [(code, each) for code in ("pods-bouncing", "budget-missing") for each in Code.of(code).needs],
)
def test_what_may_not_be_listed_is_named(code: str, resource: kinds.Resource) -> None:
    finding = only(code, facts(unread=[resource], pods=[a_pod()]))
    assert (finding.status, finding.missing) == (Status.UNKNOWN, f"list {resource.full_name}")


def replicated(name: str, replicas: int = 2, kind: str = "Deployment", namespace: str = "shop") -> Workload:
    selector = parse(f"app={name}")
    return a_workload(f"{kind}/{name}", namespace, replicas=replicas, selector=selector)


def test_workloads_with_a_budget_or_one_replica_or_of_other_kinds() -> None:
    workloads = [replicated("web"), replicated("one", 1), replicated("db", kind="ReplicaSet")]
    assert found("budget-missing", facts(workloads=workloads, budgets=[a_budget("web", "shop")])) == ()
    everything = a_budget("all", "shop", selector="app")
    assert found("budget-missing", facts(workloads=[replicated("web"), replicated("db")], budgets=[everything])) == ()


def test_all_without_one_are_told_in_one_finding() -> None:
    workloads = [*(replicated(f"web-{i}") for i in range(9)), replicated("db", 3, "StatefulSet", "data")]
    finding = only("budget-missing", facts(workloads=workloads, budgets=[a_budget("db", "shop")]))
    assert (finding.status, finding.severity) == (Status.PASS, Severity.INFO), "charts often leave it out"
    assert finding.message.startswith("10 of 10 Deployments and StatefulSets")
    assert finding.evidence[0] == "by namespace: shop 9, data 1"
    assert finding.evidence[1].startswith("with the most replicas: StatefulSet data/db (3), ")
    assert finding.evidence[1].endswith(" and 5 more")
    assert finding.remedy[0].command == (
        "kubectl create poddisruptionbudget db -n data --selector=app=db --max-unavailable=1"
    )


def test_a_missing_budget_counts_where_replacements_need_the_workload() -> None:
    needed = a_workload("Deployment/karpenter", "kube-system", replicas=2, selector=parse("app=karpenter"))
    pods = [a_pod(f"karpenter-{at}", "kube-system", labels={"app": "karpenter"}) for at in (0, 1)]
    workloads = [replicated("web", 3), needed]
    finding = only("budget-missing", facts(workloads=workloads, pods=pods))
    assert (finding.status, finding.severity) == (Status.FAIL, Severity.LOW)
    assert finding.message.endswith("among them Karpenter: no new node comes until another one is Ready")
    assert "poddisruptionbudget karpenter -n kube-system" in finding.remedy[0].command
    guarded = facts(workloads=workloads, pods=pods, budgets=[a_budget("karpenter", "kube-system", selector="app")])
    assert only("budget-missing", guarded).status is Status.PASS, "the application's owners decide"
    two = [a_pod(f"lbc-{at}", "kube-system", labels={"app": "aws-load-balancer-controller"}) for at in (0, 1)]
    selector = parse("app=aws-load-balancer-controller")
    balancer = a_workload("Deployment/lbc", "kube-system", replicas=2, selector=selector)
    assert only("budget-missing", facts(workloads=[balancer], pods=two)).status is Status.PASS
    karpenters = facts(workloads=workloads, pods=pods, unread=[kinds.VALIDATING_WEBHOOKS])
    assert only("budget-missing", karpenters).status is Status.FAIL, "one that is known is enough"
    blind = facts(workloads=[balancer], pods=two, unread=[kinds.VALIDATING_WEBHOOKS])
    told = only("budget-missing", blind)
    assert told.missing == kinds.VALIDATING_WEBHOOKS.full_name and told.unknowns
    assert (told.status, told.message.rpartition(", ")[2]) == (
        Status.UNKNOWN,
        "and whether replacements need one of them is not known",
    )
