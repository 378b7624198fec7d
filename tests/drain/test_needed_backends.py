"""Verdicts on the backends of what replacements need: autoscalers, webhooks and their kin."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.drain.outcome import PodVerdict
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Lease, Namespace
from kubectl_eksdoc.model.findings import Severity
from kubectl_eksdoc.model.network import Endpoint, EndpointSlice, Service, Webhook, WebhookRule
from kubectl_eksdoc.model.selectors import parse
from tests.builders import (
    a_cluster,
    a_node,
    a_pod,
    a_workload,
    an_owner,
)
from tests.drain.planning import WEB, finding, plan_of, verdict_of

GATE = {
    "pods": [a_pod("gate-0", "sys", owner="ReplicaSet/gate"), a_pod("web-0", "shop", node="new-0")],
    "services": [Service("sys", "gate", selector={"app": "gate"})],
}


def needed(name: str, **more: object) -> object:
    return a_pod(name, "kube-system", labels={"app.kubernetes.io/name": "karpenter"}, **more)  # type: ignore[arg-type]


def test_the_only_backend_of_an_autoscaler_blocks() -> None:
    plan = plan_of(pods=[needed("k-0")])
    assert finding(plan, "only-backend").severity is Severity.CRITICAL
    assert verdict_of(plan, "k-0") is PodVerdict.BLOCKED


def test_a_backend_that_is_not_ready_is_no_backend() -> None:
    assert verdict_of(plan_of(pods=[needed("k-0"), needed("k-1", node="new-0", ready=False)]), "k-0") is (
        PodVerdict.BLOCKED
    )


def test_two_backends_never_go_in_the_same_round_and_the_leader_goes_last() -> None:
    plan = plan_of(
        nodes=[a_node("old-0"), a_node("old-1")],
        pods=[needed("k-0"), needed("k-1", node="old-1")],
        leases=[Lease("kube-system", "karpenter", "k-0_8f7e")],
    )
    assert [(e.pod.name, e.round) for e in plan.evictions] == [("k-1", 1), ("k-0", 2)]
    assert "holds lease kube-system/karpenter" in plan.evictions[1].reason


def a_webhook(fails_closed: bool = True, resource: str = "pods") -> Webhook:
    rule = WebhookRule(("CREATE",), ("",), (resource,))
    return Webhook("gate", "ValidatingWebhookConfiguration", "gate.example.com", fails_closed, "sys", "gate", (rule,))


@pytest.mark.parametrize(
    ("webhook", "verdict"),
    [
        (a_webhook(), PodVerdict.BLOCKED),
        (a_webhook(fails_closed=False), PodVerdict.EVICT),
        (a_webhook(resource="ingresses"), PodVerdict.EVICT),
        (a_webhook(resource="*"), PodVerdict.BLOCKED),
    ],
)
def test_the_only_backend_of_a_webhook_that_pods_need(webhook: Webhook, verdict: PodVerdict) -> None:
    gate = a_pod("gate-0", "sys", owner="ReplicaSet/gate")
    services = [Service("sys", "gate", selector={"app": "gate"})]
    plan = plan_of(pods=[gate], services=services, webhooks=[webhook])
    assert verdict_of(plan, "gate-0") is verdict


@pytest.mark.parametrize(
    ("selectors", "labels", "called"),
    [
        ({"namespace_selector": parse("team=a")}, {"team": "a"}, True),
        ({"namespace_selector": parse("kubernetes.io/metadata.name in (shop)")}, {}, True),
        ({"namespace_selector": parse("kubernetes.io/metadata.name in (none)")}, {}, False),
        ({"object_selector": parse("app=web")}, {}, True),
        ({"namespace_selector": parse("team=a"), "object_selector": parse("app=gate")}, {"team": "a"}, False),
    ],
    ids=str,
)
def test_a_webhook_counts_where_its_selectors_let_it(
    selectors: dict[str, object], labels: dict[str, str], called: bool
) -> None:
    hook = replace(a_webhook(), **selectors)  # type: ignore[arg-type]
    spaces = [Namespace("sys"), Namespace("shop", labels)]
    plan = plan_of(webhooks=[hook], namespaces=spaces, **GATE)
    assert (verdict_of(plan, "gate-0") is PodVerdict.BLOCKED) is called


def test_without_namespaces_read_a_webhook_is_taken_to_be_called() -> None:
    hook = replace(a_webhook(), namespace_selector=parse("team=a"))
    cluster = a_cluster(
        nodes=[a_node("old-0")],
        workloads=WEB,
        webhooks=[hook],
        unread=[kinds.NAMESPACES, kinds.ENDPOINT_SLICES],
        **GATE,
    )
    plan = plan_of(cluster)
    assert verdict_of(plan, "gate-0") is PodVerdict.BLOCKED
    assert {"namespace-terminating", "only-backend"} <= {f.code.name for f in plan.unknowns}


def backend_advice(**facts: object) -> str:
    remedy = finding(plan_of(policy=DrainPolicy(force=True), **facts), "only-backend").remedy[0]
    return f"{remedy.text} {remedy.command}"


def test_how_to_get_a_second_backend() -> None:
    alone = [needed("k-0", owner="ReplicaSet/k")]

    def replicas(count: int) -> list[object]:
        return [a_workload("ReplicaSet/k", "kube-system", replicas=count)]

    assert "kubectl scale replicaset k -n kube-system --replicas=2" in backend_advice(pods=alone, workloads=replicas(1))
    assert "make another one Ready" in backend_advice(pods=alone, workloads=replicas(2))
    bare = backend_advice(pods=[needed("k-0", owner=None)])
    assert "Run a second one" in bare and "kubectl" not in bare
    cloned = backend_advice(pods=[needed("k-0", owner=an_owner("CloneSet/k", group="apps.kruise.io"))])
    assert "Have CloneSet k run 2 replicas, by its own means" in cloned and "kubectl scale" not in cloned


def test_a_webhooks_backends_are_its_ready_endpoints() -> None:
    """Labels alone say two; the API server would reach one of them only."""
    gates = [a_pod(f"gate-{i}", "sys", owner="ReplicaSet/gate", node=("old-0", "new-0")[i]) for i in range(2)]
    endpoints = tuple(Endpoint(pod.uid, pod.name, ready=pod.name == "gate-0") for pod in gates)
    plan = plan_of(
        pods=gates,
        services=[Service("sys", "gate", selector={"app": "gate"})],
        endpoint_slices=[EndpointSlice("sys", "gate", endpoints)],
        webhooks=[a_webhook()],
    )
    assert verdict_of(plan, "gate-0") is PodVerdict.BLOCKED
