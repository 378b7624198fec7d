"""What the tool sees in the demo: every kind known, budgets as the controller computes them, the traps planted."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.drain.outcome import TargetVerdict
from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.embedded.demo.reader import DEFAULT_NODEGROUP, NOW, DemoReader
from kubectl_eksdoc.flows.drain import plan_drain
from kubectl_eksdoc.kubernetes import budgets
from kubectl_eksdoc.kubernetes.guards import matching
from kubectl_eksdoc.kubernetes.replacement import Scales
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, Source
from kubectl_eksdoc.model.nodes import NodeOwner, Pod, VolumeKind


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return DemoReader().read(kinds.ALL)


def pods(cluster: Cluster, key: str) -> list[Pod]:
    """The pods of an application, ``namespace/name``."""
    found = [p for p in cluster.pods if p.key == key or p.key.startswith(f"{key}-")]
    assert found, key
    return found


def nodes(cluster: Cluster, key: str) -> list[str]:
    return sorted(p.node for p in pods(cluster, key))


def test_nothing_is_unknown(cluster: Cluster) -> None:
    assert cluster.source is Source.DEMO
    assert cluster.unread(*kinds.ALL) == ()
    assert cluster.observed_at == NOW
    assert cluster.notes == ()
    counts = {r.resource.plural: r.count for r in cluster.reads}
    assert (counts["nodes"], counts["pods"], counts["poddisruptionbudgets"]) == (15, 121, 20)


def test_only_what_is_asked_for_is_read() -> None:
    few = DemoReader().read((kinds.NODES, kinds.PODS))
    assert [r.resource for r in few.reads if r.known] == [kinds.NODES, kinds.PODS]
    assert few.budgets == ()


def test_reading_twice_gives_equal_facts(cluster: Cluster) -> None:
    assert DemoReader().read(kinds.ALL) == cluster


def test_whose_cluster_it_is(cluster: Cluster) -> None:
    who = cluster.identity
    assert (who.context, who.cluster, who.account, who.region) == (
        "demo",
        "demo-shop",
        "111122223333",
        "ap-northeast-2",
    )
    assert who.server_version == "v1.33"


def test_node_groups_in_the_middle_of_an_upgrade(cluster: Cluster) -> None:
    seen = {
        (n.owner, n.group, str(n.kubelet)[:5], n.os_image.partition(".")[0], n.capacity_type): 0 for n in cluster.nodes
    }
    for n in cluster.nodes:
        seen[n.owner, n.group, str(n.kubelet)[:5], n.os_image.partition(".")[0], n.capacity_type] += 1
    assert seen == {
        (NodeOwner.MANAGED, "blue", "v1.32", "Amazon Linux 2", "on-demand"): 8,
        (NodeOwner.MANAGED, "green", "v1.33", "Amazon Linux 2023", "on-demand"): 4,
        (NodeOwner.KARPENTER, "general", "v1.33", "Amazon Linux 2023", "spot"): 2,
        (NodeOwner.FARGATE, "", "v1.32", "Amazon Linux 2", ""): 1,
    }
    assert DEFAULT_NODEGROUP in {n.group for n in cluster.nodes}
    assert {n.zone[-1] for n in cluster.nodes} == {"a", "b", "c"}


def test_budgets_say_what_the_controller_would_compute(cluster: Cluster) -> None:
    guards, scales = matching(cluster.budgets, cluster.pods), Scales.of(cluster.workloads)
    for budget in cluster.budgets:
        result = budgets.recompute(budget, guards.pods(budget), scales, NOW)
        assert isinstance(result, budgets.Computed), budget.key
        assert result.status == budget.status, budget.key
        assert budgets.synced(budget, result) == budget, budget.key


def test_a_budget_that_never_allows(cluster: Cluster) -> None:
    guards, scales = matching(cluster.budgets, cluster.pods), Scales.of(cluster.workloads)
    never = [b.key for b in cluster.budgets if budgets.full_health_allowed(b, guards.pods(b), scales) == 0]
    assert never == ["shop/sale"]
    assert nodes(cluster, "shop/sale") == ["blue-6", "blue-7"]


def test_pods_under_two_budgets(cluster: Cluster) -> None:
    guards = matching(cluster.budgets, cluster.pods)
    twice = {p.key.rsplit("-", 2)[0] for p in cluster.pods if len(guards.of(p)) > 1}
    assert twice == {"shop/loyalty"}


def test_an_unhealthy_application_behind_its_budget(cluster: Cluster) -> None:
    sick = [p for p in cluster.pods if not p.ready]
    assert [(p.labels["app"], p.node, p.not_ready_because) for p in sorted(sick, key=lambda p: p.node)] == [
        ("thumbnails", "blue-6", "CrashLoopBackOff"),
        ("thumbnails", "blue-8", "CrashLoopBackOff"),
    ]
    (budget,) = (b for b in cluster.budgets if b.name == "thumbnails")
    assert (budget.status.current, budget.status.desired, budget.status.allowed) == (1, 2, 0)
    assert not budget.always_allows_unhealthy


def test_pods_that_want_a_flag(cluster: Cluster) -> None:
    assert [p.key for p in cluster.pods if p.owner is None] == ["ops/debug-shell"]
    (cached,) = (p for p in pods(cluster, "shop/session-cache") if p.node == "blue-6")
    assert [(v.kind, v.detail) for v in cached.volumes] == [(VolumeKind.EMPTY_DIR, "Memory")]
    assert {p.protected_at(cluster.observed_at) for p in pods(cluster, "batch/ledger-worker")} == {
        "karpenter.sh/do-not-disrupt=true"
    }
    (job,) = cluster.jobs
    assert (job.key, job.active, job.finished, job.ignores_disruption) == ("batch/reindex", 1, False, False)


def test_a_single_replica_that_could_surge(cluster: Cluster) -> None:
    guards = matching(cluster.budgets, cluster.pods)
    (mailer,) = pods(cluster, "shop/mailer")
    assert guards.of(mailer) == () and mailer.node == "blue-5"
    assert [(w.replicas, w.surges) for w in cluster.workloads if w.kind == "Deployment" and w.name == "mailer"] == [
        (1, True)
    ]


def test_what_comes_back_to_its_node(cluster: Cluster) -> None:
    cordon = ("node.kubernetes.io/unschedulable", "", "NoSchedule")
    back = [p for p in cluster.pods if p.owner and p.owner.kind == "ReplicaSet" and p.tolerates(*cordon)]
    assert {p.labels["app"] for p in back} == {"log-relay"}


def test_pods_behind_a_load_balancer_without_a_gate(cluster: Cluster) -> None:
    (service,) = (s for s in cluster.services if s.ip_targets)
    (binding,) = cluster.target_group_bindings
    assert (service.key, binding.service, binding.target_type) == ("edge/gateway", "gateway", "ip")
    assert all(p.readiness_gates == () for p in pods(cluster, "edge/gateway"))


def test_a_webhook_that_fails_closed_has_two_backends(cluster: Cluster) -> None:
    closed = {w.service_key for w in cluster.webhooks if w.fails_closed}
    assert closed == {"policy/policy-webhook", "kube-system/aws-load-balancer-webhook-service"}
    assert nodes(cluster, "policy/policy-webhook") == ["blue-3", "blue-5"]


def test_the_system_as_eks_runs_it(cluster: Cluster) -> None:
    assert nodes(cluster, "kube-system/coredns") == ["blue-2", "spot-1"]
    assert nodes(cluster, "kube-system/karpenter") == ["blue-1", "blue-3"]
    assert len(pods(cluster, "kube-system/metrics-server")) == 1
    (lock,) = (x for x in cluster.leases if x.name == "karpenter-leader-election")
    assert lock.holder.partition("_")[0] in {p.name for p in pods(cluster, "kube-system/karpenter")}


def test_volumes_bind_to_zones(cluster: Cluster) -> None:
    assert {(v.zones, v.local) for v in cluster.volumes} == {((f"ap-northeast-2{z}",), False) for z in "abc"}


def test_traps_that_stop_a_node_sit_on_three(cluster: Cluster) -> None:
    stopping = ("shop/sale", "shop/loyalty", "shop/thumbnails", "shop/session-cache", "batch/ledger-worker",
                "ops/log-relay", "ops/debug-shell", "kube-system/metrics-server", "batch/reindex")  # fmt: skip
    blue = {node for key in stopping for node in nodes(cluster, key) if node.startswith("blue")}
    assert blue == {"blue-6", "blue-7", "blue-8"}


def test_the_plan_shows_what_the_tool_is_for() -> None:
    _, plan = plan_drain(DemoReader(), Targeting(nodegroups=(DEFAULT_NODEGROUP,)), DrainPolicy())
    verdicts = {t.node.name: t.verdict for t in plan.targets}
    drains = {f"blue-{i}": TargetVerdict.DRAINS for i in range(1, 6)}
    assert verdicts == drains | {f"blue-{i}": TargetVerdict.SKIPPED for i in range(6, 9)}
    assert 2 <= plan.rounds <= 5
    assert plan.unknowns == ()
    assert {f.code.name for f in plan.blockers} == {
        "budget-never-allows",
        "budget-unhealthy",
        "pod-several-budgets",
        "pod-unmanaged",
        "pod-emptydir",
        "pod-protected",
        "pod-returns",
    }
    assert {f.code.name for f in plan.findings} >= {"job-loses-work", "no-readiness-gate", "single-replica"}
