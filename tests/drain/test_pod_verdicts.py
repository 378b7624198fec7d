"""Verdicts on pods: kubectl's filters with their flags, and what kubectl does not know."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.drain.outcome import PodVerdict, TargetVerdict
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Namespace
from kubectl_eksdoc.model.findings import Severity, Status
from kubectl_eksdoc.model.network import Service, TargetGroupBinding
from kubectl_eksdoc.model.nodes import (
    DO_NOT_DISRUPT,
    MIRROR,
    SAFE_TO_EVICT,
    Volume,
    VolumeKind,
)
from kubectl_eksdoc.model.selectors import parse
from kubectl_eksdoc.model.storage import Claim, PersistentVolume
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

EMPTY_DIR = a_pod(volumes=(an_emptydir(),))
BARE = a_pod("bare", owner=None)


def test_a_healthy_deployment_goes() -> None:
    plan = plan_of(nodes=[a_node("old-0"), a_node("new-0")], pods=[*pods(3), a_pod("web-9", node="new-0")])
    assert [e.pod.name for e in plan.evictions] == ["web-0", "web-1", "web-2"]
    assert plan.findings == ()
    assert target(plan).verdict is TargetVerdict.DRAINS


def test_emptydir_blocks_until_the_flag_is_given() -> None:
    plan = plan_of(pods=[EMPTY_DIR])
    assert verdict_of(plan, "web-1") is PodVerdict.BLOCKED
    assert "--delete-emptydir-data" in finding(plan, "pod-emptydir").remedy[0].text
    allowed = plan_of(pods=[EMPTY_DIR], policy=DrainPolicy(delete_emptydir_data=True))
    assert verdict_of(allowed, "web-1") is PodVerdict.EVICT
    assert finding(allowed, "pod-emptydir").status is Status.PASS


def test_emptydir_says_medium_and_limit() -> None:
    volume = Volume("cache", VolumeKind.EMPTY_DIR, "Memory", "256Mi")
    assert "cache (in memory, up to 256Mi)" in finding(plan_of(pods=[a_pod(volumes=(volume,))]), "pod-emptydir").message


def test_a_bare_pod_blocks_until_force() -> None:
    assert verdict_of(plan_of(pods=[BARE]), "bare") is PodVerdict.BLOCKED
    forced = plan_of(pods=[BARE], policy=DrainPolicy(force=True))
    assert verdict_of(forced, "bare") is PodVerdict.EVICT
    assert forced.evictions[0].reason.endswith("nothing replaces it")


def test_every_reason_that_blocks_is_kept() -> None:
    pod = a_pod("both", owner=None, volumes=(an_emptydir(),), annotations={DO_NOT_DISRUPT: "true"})
    plan = plan_of(pods=[pod])
    assert {"pod-emptydir", "pod-unmanaged", "pod-protected"} <= codes(plan)
    assert set(left(plan, "both").codes) == {"pod-emptydir", "pod-unmanaged", "pod-protected"}


def test_daemonset_and_static_pods_stay() -> None:
    agent = a_pod("agent", owner="DaemonSet/agent", volumes=(an_emptydir(),), tolerations=(TOLERATES_ALL,))
    static = a_pod("static", owner=None, annotations={MIRROR: "x"})
    plan = plan_of(pods=[agent, static], workloads=[a_workload("DaemonSet/agent")])
    assert verdict_of(plan, "agent") is PodVerdict.STAY
    assert verdict_of(plan, "static") is PodVerdict.STAY
    assert target(plan).verdict is TargetVerdict.DRAINS
    assert plan.findings == ()


def test_a_daemonsets_pod_without_its_daemonset() -> None:
    agent = a_pod("agent", owner="DaemonSet/agent")
    assert verdict_of(plan_of(pods=[agent]), "agent") is PodVerdict.BLOCKED
    assert verdict_of(plan_of(pods=[agent], policy=DrainPolicy(force=True)), "agent") is PodVerdict.EVICT


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("tolerations", [(), (TOLERATES_ALL,)], ids=["plain", "tolerant"])
def test_a_daemonset_of_another_group_brings_its_pod_back(force: bool, tolerations: tuple[object, ...]) -> None:
    owner = an_owner("DaemonSet/agent", group="apps.kruise.io")
    plan = plan_of(pods=[a_pod("agent", owner=owner, tolerations=tolerations)], policy=DrainPolicy(force=force))
    assert verdict_of(plan, "agent") is PodVerdict.BLOCKED
    assert codes(plan) == {"pod-returns"}
    found = finding(plan, "pod-returns")
    assert "apps.kruise.io" in found.message and "does not exist" not in found.message
    assert "--force does not help" in found.remedy[0].text


def test_without_daemonsets_read_their_pods_are_unknown() -> None:
    agent = a_pod("agent", owner="DaemonSet/agent")
    plan = plan_of(a_cluster(nodes=[a_node("old-0")], pods=[agent], unread=[kinds.DAEMON_SETS]))
    assert verdict_of(plan, "agent") is PodVerdict.UNKNOWN
    assert target(plan).verdict is TargetVerdict.UNKNOWN
    assert "permission to list daemonsets.apps" in finding(plan, "pod-daemonset-missing").missing


def test_daemonsets_block_when_they_may_not_be_ignored() -> None:
    agent = a_pod("agent", owner="DaemonSet/agent")
    policy = DrainPolicy(ignore_daemonsets=False)
    plan = plan_of(pods=[agent], workloads=[a_workload("DaemonSet/agent")], policy=policy)
    assert verdict_of(plan, "agent") is PodVerdict.BLOCKED


def test_pods_that_are_not_selected_stay() -> None:
    plan = plan_of(pods=[*pods(1), BARE], policy=DrainPolicy(pod_selector=parse("app=web")))
    assert verdict_of(plan, "bare") is PodVerdict.STAY
    assert verdict_of(plan, "web-0") is PodVerdict.EVICT


@pytest.mark.parametrize(("late", "verdict"), [(-20, PodVerdict.STAY), (30, PodVerdict.STAY), (61, PodVerdict.BLOCKED)])
def test_a_pod_being_deleted_is_waited_for_until_it_is_stuck(late: float, verdict: PodVerdict) -> None:
    leaving = a_pod("leaving", deletion_deadline=ago(late), finalizers=("example.com/hold",))
    plan = plan_of(pods=[leaving])
    assert verdict_of(plan, "leaving") is verdict
    if verdict is PodVerdict.BLOCKED:
        assert "example.com/hold" in finding(plan, "pod-stuck-terminating").message


def test_a_stuck_pod_is_not_waited_for_when_the_flag_says_so() -> None:
    leaving = a_pod("leaving", deletion_deadline=ago(61))
    plan = plan_of(pods=[leaving], policy=DrainPolicy(skip_deleting_after=60))
    assert verdict_of(plan, "leaving") is PodVerdict.STAY


@pytest.mark.parametrize("toleration", [TOLERATES_ALL, TOLERATES_CORDON])
def test_a_pod_that_tolerates_the_cordon_comes_back(toleration: object) -> None:
    workloads = [a_workload(template_tolerations=(toleration,))]
    plan = plan_of(pods=[a_pod(tolerations=(toleration,))], workloads=workloads)
    assert verdict_of(plan, "web-1") is PodVerdict.BLOCKED
    assert finding(plan, "pod-returns").status is Status.FAIL


def test_a_template_that_names_its_node_comes_back_to_it_only() -> None:
    workloads = [a_workload(pinned_to="old-0")]
    plan = plan_of(pods=[a_pod()], workloads=workloads)
    assert "spec.nodeName old-0" in finding(plan, "pod-returns").message
    elsewhere = plan_of(pods=[a_pod()], workloads=[a_workload(pinned_to="new-7")])
    assert "pod-returns" not in codes(elsewhere)


def test_without_replicasets_read_whether_pods_come_back_is_unknown() -> None:
    plan = plan_of(a_cluster(nodes=[a_node("old-0")], pods=pods(2), unread=[kinds.REPLICA_SETS]))
    assert finding(plan, "pod-returns").status is Status.UNKNOWN
    assert verdict_of(plan, "web-0") is PodVerdict.EVICT


def test_a_job_loses_work_and_says_how_many_failures_are_left() -> None:
    running = a_pod("etl-x", owner="Job/etl")
    plan = plan_of(pods=[running], jobs=[a_job(backoff_limit=6, failed=2)])
    assert verdict_of(plan, "etl-x") is PodVerdict.EVICT
    assert "2 of backoffLimit 6" in finding(plan, "job-loses-work").message
    assert "kubectl wait" in finding(plan, "job-loses-work").remedy[0].command


def test_an_eviction_that_would_fail_the_job_blocks() -> None:
    running = [a_pod(f"etl-{i}", owner="Job/etl") for i in range(2)]
    plan = plan_of(pods=running, jobs=[a_job(backoff_limit=1)])
    assert verdict_of(plan, "etl-0") is PodVerdict.BLOCKED
    assert finding(plan, "job-would-fail").severity is Severity.HIGH


def test_pods_on_nodes_that_are_not_drained_do_not_fail_a_job() -> None:
    running = [a_pod(f"etl-{i}", owner="Job/etl", node=f"old-{i}") for i in range(2)]
    nodes = [a_node("old-0"), a_node("old-1", ready="Unknown")]
    assert verdict_of(plan_of(nodes=nodes, pods=running, jobs=[a_job(backoff_limit=1)]), "etl-0") is PodVerdict.EVICT
    nodes = [a_node("old-0"), a_node("old-1")]
    assert verdict_of(plan_of(nodes=nodes, pods=running, jobs=[a_job(backoff_limit=1)]), "etl-0") is PodVerdict.BLOCKED


@pytest.mark.parametrize(
    ("fields", "code", "says"),
    [
        ({"fails_on_disruption": True}, "job-would-fail", "podFailurePolicy"),
        ({"backoff_limit_per_index": 0}, "job-would-fail", "backoffLimitPerIndex is 0"),
        ({"backoff_limit_per_index": 2}, "job-loses-work", "one of the 2 that backoffLimitPerIndex allows each index"),
        ({"backoff_limit_per_index": 2, "backoff_limit": 0}, "job-would-fail", "backoffLimit 0"),
        ({"backoff_limit_per_index": 0, "ignores_disruption": True}, "job-loses-work", "does not count it"),
    ],
    ids=str,
)
def test_what_a_job_says_of_failures(fields: dict[str, object], code: str, says: str) -> None:
    plan = plan_of(pods=[a_pod("etl-x", owner="Job/etl")], jobs=[a_job(**fields)])
    assert says in finding(plan, code).message
    assert (verdict_of(plan, "etl-x") is PodVerdict.BLOCKED) is (code == "job-would-fail")


def test_a_jobs_template_is_not_edited() -> None:
    tolerant = a_pod("etl-x", owner="Job/etl", tolerations=(TOLERATES_ALL,))
    found = finding(plan_of(pods=[tolerant], jobs=[a_job()]), "pod-returns")
    assert not any("edit" in remedy.command for remedy in found.remedy)
    assert "kubectl wait" in found.remedy[0].command


def test_a_finished_pod_just_goes() -> None:
    done = a_pod("etl-x", owner="Job/etl", phase="Succeeded", volumes=(an_emptydir(),))
    plan = plan_of(pods=[done], jobs=[a_job(finished=True)])
    assert verdict_of(plan, "etl-x") is PodVerdict.EVICT
    assert "finished" in plan.evictions[0].reason
    assert plan.findings == ()


def test_hostpath_is_told_apart_from_the_nodes_own_files() -> None:
    plan = plan_of(pods=[a_pod(volumes=(a_hostpath("/data"), a_hostpath("/var/run/docker.sock")))])
    assert "/data" in finding(plan, "pod-hostpath").message
    assert "docker.sock" not in finding(plan, "pod-hostpath").message
    assert "pod-hostpath" not in codes(plan_of(pods=[a_pod(volumes=(a_hostpath("/proc"),))]))


def test_a_local_volume_binds_its_pod_to_the_node() -> None:
    pod = a_pod(volumes=(a_claimed("data-0"),))
    claims = [Claim("default", "data-0", "pv-0")]
    local = PersistentVolume("pv-0", "u", local=True, hostnames=("old-0",))
    plan = plan_of(pods=[pod], claims=claims, volumes=[local])
    assert verdict_of(plan, "web-1") is PodVerdict.BLOCKED
    assert "pv-0 on old-0" in finding(plan, "pod-local-volume").message
    anywhere = plan_of(pods=[pod], claims=claims, volumes=[PersistentVolume("pv-0", "u", local=True)])
    assert verdict_of(anywhere, "web-1") is PodVerdict.BLOCKED
    found = finding(anywhere, "pod-local-volume")
    assert "the replacement starts elsewhere, without the data" in found.message and "Pending" not in found.message
    zonal = PersistentVolume("pv-0", "u", zones=("eu-west-1a",))
    assert verdict_of(plan_of(pods=[pod], claims=claims, volumes=[zonal]), "web-1") is PodVerdict.EVICT


LOCAL = {
    "claims": [Claim("default", "data-0", "pv-0")],
    "volumes": [PersistentVolume("pv-0", "u", local=True, hostnames=("old-0",))],
}


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"owner": None}, PodVerdict.EVICT),
        ({"owner": "Job/etl", "phase": "Succeeded"}, PodVerdict.EVICT),
        ({"phase": "Failed"}, PodVerdict.EVICT),
        ({"owner": "StatefulSet/db", "phase": "Failed"}, PodVerdict.BLOCKED),  # its name comes again
        ({"owner": "Job/etl"}, PodVerdict.BLOCKED),
    ],
    ids=str,
)
def test_a_local_volume_binds_only_what_is_replaced(fields: dict[str, object], verdict: PodVerdict) -> None:
    pod = a_pod("x", volumes=(a_claimed("data-0"),), **fields)  # type: ignore[arg-type]
    assert verdict_of(plan_of(pods=[pod], policy=DrainPolicy(force=True), **LOCAL), "x") is verdict


def test_an_ephemeral_volume_goes_with_its_pod_and_binds_nothing() -> None:
    pod = a_pod(volumes=(Volume("scratch", VolumeKind.EPHEMERAL, "data-0"),))
    plan = plan_of(pods=[pod], **LOCAL)
    assert verdict_of(plan, "web-1") is PodVerdict.EVICT
    found = finding(plan, "pod-ephemeral-volume")
    assert (found.status, found.severity) == (Status.PASS, Severity.MEDIUM)
    assert "scratch" in found.message


def test_without_volumes_read_only_pods_with_claims_are_unknown() -> None:
    def planned(pod: object) -> set[str]:
        return codes(plan_of(a_cluster(nodes=[a_node("old-0")], pods=[pod], workloads=WEB, unread=[kinds.VOLUMES])))

    assert planned(a_pod(volumes=(a_claimed("data-0"),))) == {"pod-local-volume", "placement-unsure"}
    assert planned(a_pod()) == set()


@pytest.mark.parametrize(
    "annotations", [{DO_NOT_DISRUPT: "true"}, {DO_NOT_DISRUPT: "4h"}, {SAFE_TO_EVICT: "false"}], ids=str
)
def test_a_protected_pod_blocks_until_the_user_decides(annotations: dict[str, str]) -> None:
    pod = a_pod(annotations=annotations)
    assert verdict_of(plan_of(pods=[pod]), "web-1") is PodVerdict.BLOCKED
    plan = plan_of(pods=[pod], policy=DrainPolicy(evict_protected=True))
    assert verdict_of(plan, "web-1") is PodVerdict.EVICT
    assert finding(plan, "pod-protected").status is Status.PASS


@pytest.mark.parametrize(
    ("age", "value", "verdict"),
    [
        (3600, "1h30m", PodVerdict.BLOCKED),
        (5399, "1h30m", PodVerdict.BLOCKED),
        (5400, "1h30m", PodVerdict.EVICT),
        (10**7, "true", PodVerdict.BLOCKED),
        (10**7, "a while", PodVerdict.BLOCKED),
    ],
)
def test_a_duration_protects_for_so_long(age: int, value: str, verdict: PodVerdict) -> None:
    pod = a_pod(annotations={DO_NOT_DISRUPT: value}, created_at=ago(age))
    assert verdict_of(plan_of(pods=[pod]), "web-1") is verdict


def test_a_second_wish_outlives_a_duration() -> None:
    pod = a_pod(annotations={DO_NOT_DISRUPT: "1h", SAFE_TO_EVICT: "false"}, created_at=ago(7200))
    assert verdict_of(plan_of(pods=[pod]), "web-1") is PodVerdict.BLOCKED


def test_safe_to_evict_true_protects_nothing() -> None:
    assert verdict_of(plan_of(pods=[a_pod(annotations={SAFE_TO_EVICT: "true"})]), "web-1") is PodVerdict.EVICT


def test_pods_behind_a_load_balancer_without_a_gate() -> None:
    services = [Service("default", "web", selector={"app": "web"})]
    binding = TargetGroupBinding("default", "web", "web", "ip")
    plan = plan_of(pods=pods(2), services=services, target_group_bindings=[binding])
    assert "without a readiness gate" in finding(plan, "no-readiness-gate").message
    gated = pods(1, readiness_gates=("target-health.elbv2.k8s.aws/k8s-web",))
    assert codes(plan_of(pods=gated, services=services, target_group_bindings=[binding])) == set()


def test_instance_targets_ask_for_the_label_on_the_node() -> None:
    services = [Service("default", "web", "LoadBalancer", {"app": "web"})]
    remedy = finding(plan_of(services=services), "no-readiness-gate").remedy[0]
    assert remedy.command == "kubectl label node old-0 node.kubernetes.io/exclude-from-external-load-balancers=true"


def test_the_pods_of_a_terminating_namespace_are_left_to_it() -> None:
    stuck = a_pod("stuck", labels={}, deletion_deadline=ago(900))
    never = a_budget(max_unavailable=0, allowed=0)
    plan = plan_of(pods=[*pods(2), stuck], budgets=[never], namespaces=[Namespace("default", terminating=True)])
    found = finding(plan, "namespace-terminating")
    assert (found.subject.name, found.status, len(found.evidence)) == ("default", Status.PASS, 3)
    assert verdict_of(plan, "web-0") is PodVerdict.STAY
    assert "its namespace default is being deleted" in left(plan, "web-0").reason
    assert left(plan, "web-0").codes == ("namespace-terminating",)
    assert codes(plan) == {"namespace-terminating", "pod-stuck-terminating"}
    assert verdict_of(plan, "stuck") is PodVerdict.BLOCKED


def test_a_pod_that_waits_for_a_node_already_is_told() -> None:
    waiting = a_pod("big", owner=None, node="", phase="Pending", not_ready_because="Unschedulable: 0/3 nodes")
    found = finding(plan_of(pods=[*pods(1), waiting]), "pod-pending")
    assert (found.status, found.subject.name) == (Status.PASS, "big")
    assert "Unschedulable: 0/3 nodes" in found.message
