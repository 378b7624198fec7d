"""The effect of the next interruption: pods that end with a Spot node, pods that are drained too late, and current
notices."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from kubectl_eksdoc.interruption.installs import InterruptionFacts
from kubectl_eksdoc.interruption.outage import KARPENTER, sentences
from kubectl_eksdoc.interruption.plan import InterruptionPlan, plan_interruption
from kubectl_eksdoc.interruption.report import summary
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.interruption import DeliveryMetrics, InterruptionEvent, SpotInterruptionNotice
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.nodes import MANAGED_GROUP, NODE_POOL, Pod, Taint, Toleration
from tests.builders import NOW, a_budget, a_cluster, a_node, a_pod, a_workload
from tests.interruption.healthy import (
    PLACE,
    a_dns_pod,
    a_queue,
    a_spot_node,
    an_install,
    codes_of,
    facts,
    planned,
    told,
)

GONE: Any = Absent("there is none")


def a_shop(*pods: Any, **more: Any) -> Any:
    """Two of three CoreDNS replicas on Spot nodes, and `pods`."""
    nodes = [a_spot_node("spot-0"), a_spot_node("spot-1"), a_node("on-demand", group="", labels={NODE_POOL: "general"})]
    dns = [a_dns_pod(f"coredns-{i}", node) for i, node in enumerate(("spot-0", "spot-1", "on-demand"))]
    return a_cluster(nodes=nodes, pods=[*dns, *pods], **more)


def message(plan: InterruptionPlan, name: str) -> tuple[str, str, str]:
    return next((e.severity.value, e.status.value, e.message) for e in plan.findings if e.subject.name == name)


def test_core_dns_on_spot_that_nobody_drains() -> None:
    plan = planned(cluster=a_shop(), queue=GONE)
    severity, status, text = message(plan, "coredns")
    assert (severity, status) == ("critical", "fail")
    assert (
        "2 of 3 ready CoreDNS replicas are on Spot nodes that are not drained: about 1 of 3 lookups time out"
    ) in text
    _, unready, of_dns = sentences(plan.outage)
    assert "about 50 s" in unready and of_dns.startswith("CoreDNS: 1 of 3 ready replicas end with spot-0"), "1.33"
    assert [each.severity.value for each in plan.findings] == ["critical", "critical"]
    without = planned(cluster=a_cluster(nodes=[a_node("n-0")], pods=[]), queue=GONE)
    assert [each.severity.value for each in without.findings] == ["high"], "no Spot node"


@pytest.mark.parametrize(("grace_s", "of_daemons_s"), [(60, 0), (60, 45), (45, 60)])
def test_drained_last_and_in_time(grace_s: int, of_daemons_s: int) -> None:
    """Karpenter evicts DaemonSet pods after the others."""
    daemons = a_pod("agent", node="spot-0", owner="DaemonSet/agent", grace_seconds=of_daemons_s)
    plan = planned(cluster=a_shop(a_pod(node="spot-0", grace_seconds=grace_s), daemons))
    severity, status, text = message(plan, "coredns")
    assert (severity, status) == ("low", "pass") and f"after {grace_s + of_daemons_s} s of 120 s at most" in text
    karpenter, of_dns = sentences(plan.outage)
    assert "go last" in karpenter and f"{grace_s + of_daemons_s} s at most, of 120 s, which leaves it time" in of_dns


def test_drained_last_and_too_late() -> None:
    for pod, why in (
        (a_pod(node="spot-0", grace_seconds=300), "which may be too late: then it is killed"),
        (
            a_pod(node="spot-0", annotations={"karpenter.sh/do-not-disrupt": "true"}),
            "as default/web-1 (karpenter.sh/do-not-disrupt=true) may not go before it",
        ),
    ):
        plan = planned(cluster=a_shop(pod))
        severity, status, text = message(plan, "coredns")
        assert (severity, status) == ("high", "fail") and "may not come within 2 minutes" in text
        assert why in [*sentences(plan.outage)][-1]
    held = a_shop(a_pod(node="spot-0"), budgets=[a_budget(allowed=0)])
    assert "its budget allows no eviction now" in message(planned(cluster=held), "coredns")[2]


def test_who_tolerates_the_drain_is_not_waited_for() -> None:
    everywhere = (Toleration(operator="Exists"),)
    pod = a_pod(node="spot-0", owner="DaemonSet/agent", tolerations=everywhere, grace_seconds=600)
    plan = planned(cluster=a_shop(pod))
    assert message(plan, "coredns")[1] == "pass" and plan.outage.nodes[0].before_critical_s == 0
    assert pod not in plan.outage.nodes[0].lost_pods


def test_whether_anybody_drains_is_not_known() -> None:
    plan = planned(
        cluster=a_shop(a_pod(node="spot-0")), queue=Unknown("denied", "sqs:GetQueueUrl"), figures=Unknown("x")
    )
    assert plan.outage.handled is None
    assert message(plan, "coredns")[:2] == ("high", "unknown")
    assert codes_of(plan, "fail") == [] and "interruption-outage" in codes_of(plan, "unknown")


def test_all_replicas_with_one_node() -> None:
    both = [a_pod(f"web-{i}", node="spot-0") for i in range(2)]
    nodes = [a_spot_node("spot-0")]
    plan = planned(cluster=a_cluster(nodes=nodes, pods=both), queue=GONE)
    assert plan.outage.losers[0].all_at_once
    assert (
        "1 workload loses pods without a drain, 1 of them with every ready replica on one node"
        in message(plan, "spot-0")[2]
    )


def noticed(**more: Any) -> InterruptionPlan:
    node = a_spot_node("spot-0", provider_id="aws:///eu-west-1a/i-0123", **more.pop("node", {}))
    aws = facts(cluster=a_cluster(nodes=[node], pods=[a_pod(node="spot-0")]), **more.pop("aws", {}))
    return plan_interruption(replace(aws, **more))


def test_a_notice_now() -> None:
    since = NOW - timedelta(seconds=30)
    plan = noticed(aws={"notices": {"i-0123": SpotInterruptionNotice("i-0123", "marked-for-termination", since)}})
    severity, status, text = message(plan, "spot-0")
    assert (
        (severity, status) == ("high", "fail") and "about 90 s are left" in text and "unless they are drained" in text
    )
    alone = noticed(
        aws={"queue": GONE, "notices": {"i-0123": SpotInterruptionNotice("i-0123", "marked-for-termination", since)}}
    )
    ranks = [(each.status.rank, each.severity.rank) for each in alone.findings]
    assert message(alone, "spot-0")[0] == "critical" and ranks == sorted(ranks) != [ranks[0]] * len(ranks)


def test_a_notice_that_the_cluster_has_heard_of() -> None:
    event = InterruptionEvent("SpotInterrupted", "spot-0", NOW - timedelta(seconds=20))
    assert "Event SpotInterrupted" in message(noticed(events=(event,)), "spot-0")[2]
    old = InterruptionEvent("SpotInterrupted", "spot-0", NOW - timedelta(minutes=20))
    assert not noticed(events=(old,)).outage.interrupted
    tainted = noticed(node={"taints": (Taint("aws-node-termination-handler/spot-itn", "x", "NoSchedule"),)})
    assert len(tainted.outage.interrupted) == 1


def test_what_ec2_says_of_notices_may_be_unknown() -> None:
    plan = noticed(aws={"notices": Unknown("denied", "ec2:DescribeSpotInstanceRequests")})
    assert codes_of(plan, "unknown") == ["interruption-now"]


HANDLER = {"app.kubernetes.io/name": "aws-node-termination-handler"}


def test_the_node_termination_handler_beside_karpenter() -> None:
    pod = a_pod("nth-1", "kube-system", owner="DaemonSet/nth", labels=HANDLER, node="spot-0")
    cluster = a_cluster(
        nodes=[a_spot_node("spot-0")],
        pods=[pod, a_pod(node="spot-0")],
        workloads=[a_workload("DaemonSet/nth", "kube-system", template_labels=HANDLER)],
    )
    both = planned(cluster=cluster)
    assert codes_of(both, "fail") == ["interruption-node-termination-handler"] and both.outage.handled_by == KARPENTER
    alone = planned(cluster=cluster, queue=GONE)
    assert alone.outage.handled is True and alone.outage.handled_by == "the AWS Node Termination Handler"
    assert "interruption-node-termination-handler" not in codes_of(alone, "fail")
    assert next(sentences(alone.outage)).startswith(
        "the AWS Node Termination Handler cordons and drains it at the notice"
    )
    dns = replace(cluster, pods=(*cluster.pods, a_dns_pod("coredns-0", "spot-0")))
    assert "drained by the AWS Node Termination Handler" in message(planned(cluster=dns, queue=GONE), "coredns")[2]


def test_a_handler_that_reads_a_queue_may_drain_what_karpenter_does_not_hear_of() -> None:
    """It selects the instances by a tag, which the tool does not check."""
    handler = a_workload("Deployment/aws-node-termination-handler", "kube-system")
    cluster = a_cluster(nodes=[a_spot_node()], pods=[], workloads=[handler])
    assert planned(cluster=cluster, queue=Absent("none")).outage.handled is None
    assert planned(queue=Absent("none")).outage.handled is False


def test_a_self_managed_node_without_a_label_may_be_spot() -> None:
    cluster = a_cluster(nodes=[a_node("own-0", group="")], pods=[])
    found = [each for each in planned(cluster=cluster).findings if "own-0" in each.evidence]
    assert [(each.status, each.missing) for each in found] == [(Status.UNKNOWN, "the capacity type of these nodes")]


def test_spot_nodes_of_others_are_not_judged() -> None:
    managed = a_node("managed", group="", labels={MANAGED_GROUP: "spot", "eks.amazonaws.com/capacityType": "SPOT"})
    auto = {NODE_POOL: "general", "eks.amazonaws.com/compute-type": "auto", "karpenter.sh/capacity-type": "spot"}
    cluster = a_cluster(nodes=[managed, a_node("auto", group="", labels=auto)], pods=[a_pod(node="managed")])
    plan = planned(GONE, cluster)
    assert (
        codes_of(plan, "pass") == ["interruption-by-eks"] and codes_of(plan, "fail") == codes_of(plan, "unknown") == []
    )
    assert plan.links == () and plan.missing is None and not plan.outage.nodes


def test_auto_mode_is_told_even_without_nodes() -> None:
    nothing = InterruptionFacts(a_cluster(), place=replace(PLACE, auto_mode=True), told=told())
    plan = plan_interruption(nothing)
    assert [each.message for each in plan.findings] == [
        "no Spot nodes of EKS Auto Mode: the service handles it, and there is nothing to set (confidence: medium)"
    ]


def test_nodes_of_karpenter_without_karpenter() -> None:
    plan = planned(GONE, a_shop())
    assert "interruption-karpenter" in codes_of(plan, "fail")
    assert plan.outage.handled is False and plan.outage.handled_by == KARPENTER


def test_what_of_the_cluster_was_not_read_is_unknown() -> None:
    nothing = InterruptionFacts(a_cluster(unread=[kinds.DEPLOYMENTS, kinds.DAEMON_SETS]), place=PLACE, told=told())
    assert set(codes_of(plan_interruption(nothing), "unknown")) == {
        "interruption-karpenter",
        "interruption-node-termination-handler",
    }
    unread = planned(Unknown("forbidden", "get deployments.apps"), a_shop())
    assert unread.outage.handled is None and "interruption-karpenter" in codes_of(unread, "unknown")
    budgets = planned(cluster=a_cluster(nodes=[a_spot_node()], unread=[kinds.BUDGETS]))
    assert codes_of(budgets, "unknown") == ["interruption-outage"]


def a_managed_spot_node() -> Any:
    labels = {MANAGED_GROUP: "spots", "eks.amazonaws.com/capacityType": "SPOT"}
    return a_node("managed", group="", labels=labels, provider_id="aws:///eu-west-1a/i-0123")


def test_a_notice_of_a_node_that_is_not_karpenters_is_told_as_well() -> None:
    cluster = a_cluster(nodes=[a_managed_spot_node()], pods=[a_pod(node="managed")])
    plan = planned(cluster=cluster, notices={"i-0123": SpotInterruptionNotice("i-0123", "marked-for-termination", NOW)})
    severity, status, text = message(plan, "managed")
    assert (severity, status) == ("high", "fail") and "1 pods end with it unless they are drained in time" in text


@pytest.mark.parametrize(
    "more",
    [
        {"rules": Unknown("forbidden", "events:ListRules")},
        {"queue": a_queue(policy=Unknown("no JSON"))},
        {"queue": a_queue(policy=Unknown("no JSON")), "figures": DeliveryMetrics(deleted=5)},
    ],
)
def test_a_sign_of_life_does_not_show_that_eventbridge_delivers(more: dict[str, Any]) -> None:
    plan = planned(**more)
    assert next(each for each in plan.links if each.name == "sign of life").status is Status.PASS
    assert plan.outage.handled is None


def test_a_sign_of_life_shows_that_the_queue_is_read() -> None:
    assert planned(policies=Unknown("forbidden", "iam:GetRolePolicy")).outage.handled is True


def a_karpenter_pod(**more: Any) -> Pod:
    labels = {"app.kubernetes.io/name": "karpenter", "pod-template-hash": "abc"}
    return a_pod("karpenter-0", "kube-system", owner="ReplicaSet/karpenter-abc", labels=labels, **more)


@pytest.mark.parametrize("figures", [DeliveryMetrics(empty=60), DeliveryMetrics(deleted=3)])
@pytest.mark.parametrize(("pod", "heard"), [({"ready": False}, None), ({"phase": "Pending"}, None), ({}, True)])
def test_what_was_fetched_earlier_does_not_show_that_a_karpenter_that_fails_reads(
    pod: dict[str, Any], heard: bool | None, figures: DeliveryMetrics
) -> None:
    plan = planned(cluster=a_cluster(nodes=[a_spot_node()], pods=[a_karpenter_pod(**pod)]), figures=figures)
    assert plan.outage.handled is heard
    assert [each.subject.name for each in plan.findings if each.status is Status.UNKNOWN][:1] == ["karpenter"] * (
        heard is None
    )


def test_who_fetches_from_a_queue_that_karpenter_is_not_known_to_read_may_be_another() -> None:
    plan = planned(an_install(variable=Unknown("it comes from a Secret")))
    assert plan.outage.handled is None and "interruption-sign-of-life" in codes_of(plan, "unknown")


def a_handler(node: str, **more: Any) -> Pod:
    owner, labels = "DaemonSet/aws-node-termination-handler", {"app.kubernetes.io/name": "aws-node-termination-handler"}
    return a_pod(f"handler-{node}", "kube-system", owner=owner, node=node, labels=labels, **more)


@pytest.mark.parametrize(
    ("pods", "handled"),
    [
        ([a_handler("spot-0"), a_handler("spot-1")], True),
        ([a_handler("spot-0")], None),
        ([a_handler("spot-0"), a_handler("spot-1", ready=False)], None),
    ],
)
def test_another_drains_only_where_it_is_ready_on_every_spot_node(pods: list[Pod], handled: bool | None) -> None:
    """And even then Karpenter does not receive the events."""
    nodes = [a_spot_node("spot-0"), a_spot_node("spot-1")]
    plan = planned(cluster=a_cluster(nodes=nodes, pods=pods), rules=Unknown("forbidden", "events:ListRules"))
    assert plan.outage.handled is handled
    assert summary(plan).startswith(
        "Whether Karpenter v1.5.0 (kube-system/karpenter) receives Spot interruption events is"
    )


@pytest.mark.parametrize(
    "label", [("node.kubernetes.io/lifecycle", "spot"), ("eks.amazonaws.com/capacityType", "SPOT")]
)
@pytest.mark.parametrize("drained", [False, True])
def test_spot_nodes_that_a_user_made_are_unknown_unless_a_handler_runs_there(
    label: tuple[str, str], drained: bool
) -> None:
    node = a_node("own-0", group="", labels=dict([label]))
    plan = planned(GONE, cluster=a_cluster(nodes=[node], pods=[a_handler("own-0")] if drained else []))
    assert codes_of(plan, "unknown") == ["interruption-outage"] * (not drained)
