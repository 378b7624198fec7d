"""Verdicts on pods: kubectl's filters, conditions that kubectl does not check, and the backends that replacements
need."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.drain.outcome import PodVerdict, TargetVerdict
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Lease, Namespace
from kubectl_eksdoc.model.findings import Severity, Status
from kubectl_eksdoc.model.network import Endpoint, EndpointSlice, Service, TargetGroupBinding, Webhook, WebhookRule
from kubectl_eksdoc.model.nodes import DO_NOT_DISRUPT, MIRROR_ANNOTATION, SAFE_TO_EVICT, Pod, Volume, VolumeKind
from kubectl_eksdoc.model.placement import PersistentVolume, PersistentVolumeClaim
from kubectl_eksdoc.model.selectors import parse
from tests.builders import (
    TOLERATES_ALL,
    TOLERATES_CORDON,
    a_budget,
    a_claimed,
    a_cluster,
    a_hostpath,
    a_job,
    a_node,
    a_pod,
    a_workload,
    ago,
    an_emptydir,
    an_owner,
    pods,
)
from tests.drain.planning import WEB, codes, finding, left, plan_of, target, verdict_of

EVICT, BLOCKED, STAY = PodVerdict.EVICT, PodVerdict.BLOCKED, PodVerdict.STAY
FORCE = DrainPolicy(force=True)
EMPTY_DIR = a_pod(volumes=(an_emptydir(),))
BARE = a_pod("bare", owner=None)
AGENT = a_pod("agent", owner="DaemonSet/agent", volumes=(an_emptydir(),), tolerations=(TOLERATES_ALL,))
DAEMON = a_pod("agent", owner="DaemonSet/agent")
FOREIGN = a_pod("agent", owner=an_owner("DaemonSet/agent", group="apps.kruise.io"), tolerations=(TOLERATES_ALL,))
SETS = [a_workload("DaemonSet/agent")]
CLAIMED = a_pod(volumes=(a_claimed("data-0"),))
IN_MEMORY = Volume("cache", VolumeKind.EMPTY_DIR, "Memory", "256Mi")


def leaving(late_s: float) -> Pod:
    return a_pod("leaving", deletion_deadline=ago(late_s), finalizers=("example.com/hold",))


def protected(value: str, age_s: int = 3600, key: str = DO_NOT_DISRUPT, **more: str) -> Pod:
    return a_pod(annotations={key: value, **more}, created_at=ago(age_s))


def local(hostnames: tuple[str, ...] = ("old-0",), **volume: Any) -> dict[str, Any]:
    """A claim of the pod that is bound to a local volume."""
    given: dict[str, Any] = volume or {"local": True, "hostnames": hostnames}
    return {
        "claims": [PersistentVolumeClaim("default", "data-0", "pv-0")],
        "volumes": [PersistentVolume("pv-0", "u", **given)],
    }


def of_job(pod: Pod | None = None, **job: Any) -> dict[str, Any]:
    return {"pods": [pod or a_pod("etl-x", owner="Job/etl")], "jobs": [a_job(**job)]}


Case = tuple[dict[str, Any], PodVerdict, str, str]


def case(of: dict[str, Any] | Pod, verdict: PodVerdict, code: str = "", says: str = "", **facts: Any) -> Case:
    return {**(of if isinstance(of, dict) else {"pods": [of]}), **facts}, verdict, code, says


CASES: dict[str, Case] = {
    "emptyDir": case(EMPTY_DIR, BLOCKED, "pod-emptydir", "--delete-emptydir-data"),
    "emptyDir, with the flag": case(EMPTY_DIR, EVICT, "pod-emptydir", policy=DrainPolicy(delete_emptydir_data=True)),
    "emptyDir in memory": case(a_pod(volumes=(IN_MEMORY,)), BLOCKED, "pod-emptydir", "cache (in memory, up to 256Mi)"),
    "bare": case(BARE, BLOCKED, "pod-unmanaged"),
    "bare, forced": case(BARE, EVICT, says="nothing replaces it", policy=FORCE),
    "a DaemonSet's": case(AGENT, STAY, workloads=SETS),
    "static": case(a_pod("static", owner=None, annotations={MIRROR_ANNOTATION: "x"}), STAY),
    "without its DaemonSet": case(DAEMON, BLOCKED, "pod-daemonset-missing"),
    "without its DaemonSet, forced": case(DAEMON, EVICT, policy=FORCE),
    "of a foreign DaemonSet": case(FOREIGN, BLOCKED, "pod-returns", "--force does not help"),
    "of a foreign DaemonSet, forced": case(FOREIGN, BLOCKED, "pod-returns", "apps.kruise.io", policy=FORCE),
    "DaemonSets not ignored": case(
        DAEMON, BLOCKED, "pod-daemonset", workloads=SETS, policy=DrainPolicy(ignore_daemonsets=False)
    ),
    "not selected": case(BARE, STAY, policy=DrainPolicy(pod_selector=parse("app=web"))),
    "selected": case(a_pod(), EVICT, policy=DrainPolicy(pod_selector=parse("app=web"))),
    "leaving in time": case(leaving(-20), STAY),
    "leaving late": case(leaving(30), STAY),
    "stuck": case(leaving(61), BLOCKED, "pod-stuck-terminating", "example.com/hold"),
    "stuck, not waited for": case(leaving(61), STAY, policy=DrainPolicy(skip_deleting_after=60)),
    "tolerates all": case(
        a_pod(tolerations=(TOLERATES_ALL,)),
        BLOCKED,
        "pod-returns",
        workloads=[a_workload(template_tolerations=(TOLERATES_ALL,))],
    ),
    "tolerates the cordon": case(
        a_pod(tolerations=(TOLERATES_CORDON,)),
        BLOCKED,
        "pod-returns",
        workloads=[a_workload(template_tolerations=(TOLERATES_CORDON,))],
    ),
    "pinned": case(a_pod(), BLOCKED, "pod-returns", "spec.nodeName old-0", workloads=[a_workload(pinned_to="old-0")]),
    "a Job's": case(of_job(backoff_limit=6, failed=2), EVICT, "job-loses-work", "2 of backoffLimit 6"),
    "a Job's, to be waited for": case(of_job(backoff_limit=6), EVICT, "job-loses-work", "kubectl wait"),
    "fails on disruption": case(of_job(fails_on_disruption=True), BLOCKED, "job-would-fail", "podFailurePolicy"),
    "no failure of an index": case(
        of_job(backoff_limit_per_index=0), BLOCKED, "job-would-fail", "backoffLimitPerIndex is 0"
    ),
    "failures of an index": case(
        of_job(backoff_limit_per_index=2),
        EVICT,
        "job-loses-work",
        "one of the 2 that backoffLimitPerIndex allows each index",
    ),
    "no failure at all": case(
        of_job(backoff_limit_per_index=2, backoff_limit=0), BLOCKED, "job-would-fail", "backoffLimit 0"
    ),
    "disruptions ignored": case(
        of_job(backoff_limit_per_index=0, ignores_disruption=True), EVICT, "job-loses-work", "does not count it"
    ),
    "finished": case(
        of_job(a_pod("etl-x", owner="Job/etl", phase="Succeeded", volumes=(an_emptydir(),)), finished=True),
        EVICT,
        says="finished",
    ),
    "local volume": case(CLAIMED, BLOCKED, "pod-local-volume", "pv-0 on old-0", **local()),
    "local volume of any node": case(
        CLAIMED, BLOCKED, "pod-local-volume", "the replacement starts elsewhere, without the data", **local(())
    ),
    "volume of its zone": case(CLAIMED, EVICT, **local(zones=("eu-west-1a",))),
    "ephemeral volume": case(
        a_pod(volumes=(Volume("scratch", VolumeKind.EPHEMERAL, "data-0"),)),
        EVICT,
        "pod-ephemeral-volume",
        "scratch",
        **local(),
    ),
    "protected": case(protected("true", 10**7), BLOCKED, "pod-protected"),
    "protected, by the other word": case(protected("false", key=SAFE_TO_EVICT), BLOCKED, "pod-protected"),
    "protected, evicted": case(protected("true"), EVICT, "pod-protected", policy=DrainPolicy(evict_protected=True)),
    "protected for long enough": case(protected("1h30m", 5400), EVICT),
    "protected a second longer": case(protected("1h30m", 5399), BLOCKED, "pod-protected"),
    "protected by a word": case(protected("a while", 10**7), BLOCKED, "pod-protected"),
    "a second wish": case(protected("1h", 7200, **{SAFE_TO_EVICT: "false"}), BLOCKED, "pod-protected"),
    "safe to evict": case(protected("true", key=SAFE_TO_EVICT), EVICT),
    "instance targets": case(
        a_pod(),
        EVICT,
        "no-readiness-gate",
        "kubectl label node old-0 node.kubernetes.io/exclude-from-external-load-balancers=true",
        services=[Service("default", "web", "LoadBalancer", {"app": "web"})],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_pod_has_its_verdict(name: str) -> None:
    """If the case names a code, the plan has a finding of it: it fails if it blocks the pod, and has the expected
    text."""
    facts, verdict, code, says = CASES[name]
    (pod,) = facts["pods"]
    plan = plan_of(**facts)
    assert verdict_of(plan, pod.name) is verdict
    told = [x.reason for x in (*plan.evictions, *plan.left) if x.pod is pod]
    if code:
        found = finding(plan, code)
        assert found.status is (Status.FAIL if verdict is BLOCKED else Status.PASS)
        told += [found.message, str(found.remedy)]
    assert any(says in text for text in told), told
    if verdict is STAY:
        assert target(plan).verdict is TargetVerdict.DRAINS and plan.findings == ()
    if name in ("pinned", "selected", "volume of its zone", "protected for long enough", "safe to evict", "finished"):
        assert codes(plan) <= {code}


def test_a_healthy_deployment_goes() -> None:
    plan = plan_of(nodes=[a_node("old-0"), a_node("new-0")], pods=[*pods(3), a_pod("web-9", node="new-0")])
    assert [e.pod.name for e in plan.evictions] == ["web-0", "web-1", "web-2"]
    assert plan.findings == ()


def test_every_reason_that_blocks_is_kept() -> None:
    pod = a_pod("both", owner=None, volumes=(an_emptydir(),), annotations={DO_NOT_DISRUPT: "true"})
    plan = plan_of(pods=[pod])
    assert {"pod-emptydir", "pod-unmanaged", "pod-protected"} <= codes(plan)
    assert set(left(plan, "both").codes) == {"pod-emptydir", "pod-unmanaged", "pod-protected"}


def test_a_template_that_names_another_node_comes_not_back() -> None:
    assert "pod-returns" not in codes(plan_of(pods=[a_pod()], workloads=[a_workload(pinned_to="new-7")]))


@pytest.mark.parametrize(("second", "verdict"), [({}, BLOCKED), ({"ready": "Unknown"}, EVICT)])
def test_pods_on_nodes_that_are_not_drained_do_not_fail_a_job(second: dict[str, str], verdict: PodVerdict) -> None:
    running = [a_pod(f"etl-{i}", owner="Job/etl", node=f"old-{i}") for i in range(2)]
    nodes = [a_node("old-0"), a_node("old-1", **second)]
    assert verdict_of(plan_of(nodes=nodes, pods=running, jobs=[a_job(backoff_limit=1)]), "etl-0") is verdict


def test_a_jobs_template_is_not_edited() -> None:
    tolerant = a_pod("etl-x", owner="Job/etl", tolerations=(TOLERATES_ALL,))
    found = finding(plan_of(pods=[tolerant], jobs=[a_job()]), "pod-returns")
    assert not any("edit" in remedy.command for remedy in found.remedy)
    assert "kubectl wait" in found.remedy[0].command


def test_hostpath_is_told_apart_from_the_nodes_own_files() -> None:
    plan = plan_of(pods=[a_pod(volumes=(a_hostpath("/data"), a_hostpath("/var/run/docker.sock")))])
    assert "/data" in finding(plan, "pod-hostpath").message
    assert "docker.sock" not in finding(plan, "pod-hostpath").message
    assert "pod-hostpath" not in codes(plan_of(pods=[a_pod(volumes=(a_hostpath("/proc"),))]))


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"owner": None}, EVICT),
        ({"owner": "Job/etl", "phase": "Succeeded"}, EVICT),
        ({"phase": "Failed"}, EVICT),
        ({"owner": "StatefulSet/db", "phase": "Failed"}, BLOCKED),  # its name comes again
        ({"owner": "Job/etl"}, BLOCKED),
    ],
    ids=str,
)
def test_a_local_volume_binds_only_what_is_replaced(fields: dict[str, Any], verdict: PodVerdict) -> None:
    pod = a_pod("x", volumes=(a_claimed("data-0"),), **fields)
    assert verdict_of(plan_of(pods=[pod], policy=FORCE, **local()), "x") is verdict


def test_pods_behind_a_load_balancer_without_a_gate() -> None:
    services = [Service("default", "web", selector={"app": "web"})]
    binding = TargetGroupBinding("default", "web", "web", "ip")
    plan = plan_of(pods=pods(2), services=services, target_group_bindings=[binding])
    assert "without a readiness gate" in finding(plan, "no-readiness-gate").message
    gated = pods(1, readiness_gates=("target-health.elbv2.k8s.aws/k8s-web",))
    assert codes(plan_of(pods=gated, services=services, target_group_bindings=[binding])) == set()


def test_the_pods_of_a_terminating_namespace_are_left_to_it() -> None:
    stuck = a_pod("stuck", labels={}, deletion_deadline=ago(900))
    never = a_budget(max_unavailable=0, allowed=0)
    plan = plan_of(pods=[*pods(2), stuck], budgets=[never], namespaces=[Namespace("default", terminating=True)])
    found = finding(plan, "namespace-terminating")
    assert (found.subject.name, found.status, len(found.evidence)) == ("default", Status.PASS, 3)
    assert verdict_of(plan, "web-0") is STAY
    assert "its namespace default is being deleted" in left(plan, "web-0").reason
    assert left(plan, "web-0").codes == ("namespace-terminating",)
    assert codes(plan) == {"namespace-terminating", "pod-stuck-terminating"}
    assert verdict_of(plan, "stuck") is BLOCKED


def test_a_pod_that_waits_for_a_node_already_is_told() -> None:
    waiting = a_pod("big", owner=None, node="", phase="Pending", not_ready_because="Unschedulable: 0/3 nodes")
    found = finding(plan_of(pods=[*pods(1), waiting]), "pod-pending")
    assert (found.status, found.subject.name) == (Status.PASS, "big")
    assert "Unschedulable: 0/3 nodes" in found.message


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
    """By labels there are two backends; the API server can reach only one."""
    gates = [a_pod(f"gate-{i}", "sys", owner="ReplicaSet/gate", node=("old-0", "new-0")[i]) for i in range(2)]
    endpoints = tuple(Endpoint(pod.uid, pod.name, ready=pod.name == "gate-0") for pod in gates)
    plan = plan_of(
        pods=gates,
        services=[Service("sys", "gate", selector={"app": "gate"})],
        endpoint_slices=[EndpointSlice("sys", "gate", endpoints)],
        webhooks=[a_webhook()],
    )
    assert verdict_of(plan, "gate-0") is PodVerdict.BLOCKED
