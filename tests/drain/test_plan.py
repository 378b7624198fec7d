"""The whole plan: targets, skipping and --partial, every pod exactly once, and no budget exceeded."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.drain.nodes import select_nodes
from kubectl_eksdoc.drain.outcome import PodVerdict, TargetVerdict
from kubectl_eksdoc.drain.policy import AUTO_ORDER, ORDERS, DrainPolicy, Targeting
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.kubernetes.budgets import ComputedStatus, recompute
from kubectl_eksdoc.kubernetes.guards import index_budgets
from kubectl_eksdoc.kubernetes.replacement import ScaleIndex
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.budgets import IntOrPercent
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Severity, Status
from kubectl_eksdoc.model.nodes import COMPUTE_TYPE, NODE_POOL, REBOOT_IN_PROGRESS, Taint
from kubectl_eksdoc.model.options import ALL, NODEGROUP, ZONE
from kubectl_eksdoc.model.quantities import Version
from kubectl_eksdoc.model.selectors import parse
from tests.builders import NOW, a_budget, a_cluster, a_node, a_pod, a_workload, ago, an_emptydir, pods
from tests.drain.planning import codes, finding, plan_of, target, verdict_of
from tests.examples import examples

BARE = a_pod("bare", owner=None)


def test_a_target_with_a_pod_that_cannot_go_is_skipped_whole() -> None:
    plan = plan_of(pods=[*pods(2), BARE])
    assert target(plan).verdict is TargetVerdict.SKIPPED
    assert plan.evictions == ()
    assert verdict_of(plan, "web-0") is PodVerdict.HELD
    assert "default/bare" in target(plan).why[0]
    assert target(plan).freed_by[0].text.startswith("Save it")


def test_partial_drains_the_rest_of_its_pods() -> None:
    plan = plan_of(pods=[*pods(2), BARE], policy=DrainPolicy(partial=True))
    assert target(plan).verdict is TargetVerdict.PARTIAL
    assert [e.pod.name for e in plan.evictions] == ["web-0", "web-1"]
    assert verdict_of(plan, "bare") is PodVerdict.BLOCKED
    assert plan.blockers


REFUSED, DRAINS = TargetVerdict.REFUSED, TargetVerdict.DRAINS
HANDLER = "aws-node-termination-handler/"


def a_mark(key: str, value: str = "", **more: Any) -> dict[str, Any]:
    return {"taints": (Taint(key, value, "NoSchedule"),), **more}


@pytest.mark.parametrize(
    ("fields", "verdict", "code", "says"),
    [
        ({"labels": {COMPUTE_TYPE: "fargate"}}, REFUSED, "node-fargate", ""),
        ({"labels": {COMPUTE_TYPE: "auto", NODE_POOL: "general"}}, REFUSED, "node-auto-mode", ""),
        ({"labels": {COMPUTE_TYPE: "hybrid"}}, DRAINS, "node-hybrid", ""),
        (a_mark("karpenter.sh/disrupted"), REFUSED, "node-foreign-drain", "Karpenter"),
        (a_mark("ToBeDeletedByClusterAutoscaler", "1"), REFUSED, "node-foreign-drain", ""),
        (
            a_mark(f"{HANDLER}spot-itn"),
            REFUSED,
            "node-foreign-drain",
            "a Spot interruption, two minutes after its notice)",
        ),
        (a_mark(f"{HANDLER}asg-lifecycle-termination"), REFUSED, "node-foreign-drain", ""),
        (a_mark(f"{HANDLER}rebalance-recommendation"), REFUSED, "node-foreign-drain", ""),
        (a_mark(f"{HANDLER}scheduled-maintenance"), REFUSED, "node-foreign-drain", ""),
        ({"annotations": {REBOOT_IN_PROGRESS: "2026-11-20T12:00:00Z"}}, REFUSED, "node-foreign-drain", ""),
        ({"deletion_at": ago(5)}, REFUSED, "node-foreign-drain", ""),
        ({"ready": "Unknown"}, REFUSED, "node-not-ready", ""),
        ({"ready": "False"}, DRAINS, "node-not-ready", ""),
        (a_mark(f"{HANDLER}new-thing", ready="False"), DRAINS, "node-ends-soon", f"taint {HANDLER}new-thing"),
    ],
    ids=str,
)
def test_what_a_node_says_decides_first(fields: dict[str, Any], verdict: TargetVerdict, code: str, says: str) -> None:
    node = a_node("old-0")
    plan = plan_of(nodes=[replace(node, **{**fields, "labels": {**node.labels, **fields.get("labels", {})}})])
    found = finding(plan, code)
    assert target(plan).verdict is verdict and says in found.message
    assert found.status is (Status.FAIL if verdict is REFUSED else Status.PASS)
    if verdict is REFUSED:
        assert {verdict_of(plan, f"web-{i}") for i in range(3)} == {PodVerdict.STAY}


def test_a_fargate_node_names_the_owners_of_its_pods() -> None:
    node = a_node("old-0", labels={"eks.amazonaws.com/compute-type": "fargate"})
    several = [*pods(1), a_pod("bare", owner=None)]
    named = plan_of(nodes=[node], pods=several)
    assert [r.command for r in finding(named, "node-fargate").remedy] == [
        "kubectl rollout restart deployment/web -n default",
    ]
    unnamed = plan_of(nodes=[node], pods=several[1:])
    assert [r.command for r in finding(unnamed, "node-fargate").remedy] == [
        "kubectl get pods -A --field-selector spec.nodeName=old-0",
    ]


def test_pods_whose_node_is_missing_are_told_once() -> None:
    lost = [a_pod(f"lost-{i}", node="ghost") for i in range(2)]
    node = a_node("old-0")
    cluster = a_cluster(nodes=[node], pods=[*pods(1), *lost, a_pod("waits", node="")])
    found = finding(plan_of(cluster), "pod-node-missing")
    assert (found.code.name, found.status, found.severity) == ("pod-node-missing", Status.PASS, Severity.LOW)
    assert "ghost" in found.message
    assert found.evidence == ("pod default/lost-0 on ghost", "pod default/lost-1 on ghost")
    assert "pod-node-missing" not in codes(plan_of(replace(cluster, pods=pods(1))))
    many = tuple(a_pod(f"lost-{i}", node=f"ghost-{i}") for i in range(15))
    said = finding(plan_of(replace(cluster, pods=many)), "pod-node-missing")
    assert "ghost-11" in said.message and "ghost-12" not in said.message and "3 more" in said.message
    assert said.remedy[0].command == "kubectl get node ghost-0"


def test_accepted_unknowns_are_still_findings_but_not_counted() -> None:
    cluster = a_cluster(nodes=[a_node("old-0")], pods=pods(1), workloads=[a_workload()], unread=[kinds.NAMESPACES])
    plan = plan_of(cluster, policy=DrainPolicy(accept_unknown=frozenset({"namespace-terminating"})))
    assert plan.findings and plan.unknowns == ()


# Targets -------------------------------------------------------------------------------------

NODES = [
    a_node("old-0"),
    a_node("old-2"),
    a_node("old-10"),
    a_node("new-0", group="green", version="v1.33.1-eks-1b3e656"),
    a_node("pool-0", group="", labels={"karpenter.sh/nodepool": "general"}, version="v1.32.9"),
]


@pytest.mark.parametrize(
    ("targeting", "names"),
    [
        (Targeting(names=("new-0", "old-0", "new-0")), ["new-0", "old-0"]),
        (Targeting(nodegroups=("blue",)), ["old-0", "old-2", "old-10"]),
        (Targeting(nodegroups=("general", "green")), ["new-0", "pool-0"]),
        (Targeting(older_than=Version(1, 33)), ["old-0", "old-2", "old-10", "pool-0"]),
        (Targeting(older_than=Version(1, 32, 5)), ["old-0", "old-2", "old-10"]),
        (Targeting(selector=parse("eks.amazonaws.com/nodegroup!=blue")), ["new-0", "pool-0"]),
        (Targeting(selector=parse("kubernetes.io/hostname in (old-2,new-0)"), nodegroups=("blue",)), ["old-2"]),
    ],
)
def test_selection(targeting: Targeting, names: list[str]) -> None:
    assert [n.name for n in select_nodes(NODES, targeting)] == names


@pytest.mark.parametrize(
    ("targeting", "says"),
    [
        (Targeting(), "no node was named"),
        (Targeting(names=("old-1",)), "not found: old-1"),
        (Targeting(names=("blue",)), "a node group: --nodegroup blue"),
        (Targeting(nodegroups=("bleu",)), "close to it: blue"),
        (Targeting(older_than=Version(1, 20)), "none of the 5 nodes matches --older-than v1.20"),
        (Targeting(selector=parse("a=b")), "none of the 5 nodes matches -l 'a=b'"),
    ],
)
def test_an_empty_selection_is_a_clear_error(targeting: Targeting, says: str) -> None:
    with pytest.raises(UsageError) as error:
        select_nodes(NODES, targeting)
    assert says in str(error.value)


def test_a_node_pool_without_nodes_is_not_called_missing() -> None:
    with pytest.raises(UsageError, match="NodePool spot has no node"):
        select_nodes(NODES, Targeting(nodegroups=("spot",)), ["spot", "general"])


def test_a_kubelet_without_a_version_cannot_be_judged_by_it() -> None:
    with pytest.raises(UsageError, match="cannot judge node odd"):
        select_nodes([a_node("odd", version="??")], Targeting(older_than=Version(1, 33)))


# Outages ------------------------------------------------------------------------------------


def test_one_pod_elsewhere_or_a_budget_keeps_it_available() -> None:
    elsewhere = [*pods(2), a_pod("web-9", node="new-0")]
    assert "all-replicas-at-once" not in codes(plan_of(pods=elsewhere))
    assert "all-replicas-at-once" not in codes(plan_of(budgets=[a_budget()]))


def test_the_last_backends_do_not_go_for_good() -> None:
    """Karpenter has only two bare pods: no controller would replace them."""
    bare = [a_pod(f"k-{i}", owner=None, labels={"app": "karpenter"}) for i in range(2)]
    plan = plan_of(pods=bare, policy=DrainPolicy(force=True))
    assert plan.evictions == ()
    assert {f.status for f in plan.findings if f.code.name == "only-backend"} == {Status.FAIL}


@pytest.mark.parametrize(
    ("label", "status", "severity"),
    [
        ("karpenter", Status.FAIL, "critical"),
        ("aws-load-balancer-controller", Status.FAIL, "high"),
        ("cert-manager", Status.PASS, "info"),
        ("cluster-autoscaler", Status.PASS, "info"),
    ],
)
def test_what_ends_with_the_only_replica_decides_how_bad_it_is(label: str, status: Status, severity: str) -> None:
    only = a_pod("it-1", owner="ReplicaSet/it-1", labels={"app.kubernetes.io/name": label})
    found = finding(plan_of(pods=[only]), "only-backend")
    assert (found.status, found.severity.value) == (status, severity)


def test_a_bare_backend_goes_where_another_one_stays() -> None:
    karpenter = {"app": "karpenter"}
    several = [a_pod("bare", owner=None, labels=karpenter), a_pod("kept", labels=karpenter)]
    plan = plan_of(pods=several, policy=DrainPolicy(force=True))
    assert [e.round for e in plan.evictions] == [1, 2]
    assert plan.estimate is not None


def test_a_bare_pod_goes_in_a_later_wave_than_those_that_come_back() -> None:
    several = [a_pod("web-0", owner=None, labels={"app": "web"}), *pods(2, node="old-1")]
    several = [several[0], *(replace(p, name=f"{p.name}x", uid=f"{p.uid}x") for p in several[1:])]
    plan = plan_of(
        nodes=[a_node("old-0"), a_node("old-1")],
        pods=several,
        budgets=[a_budget(min_available=2, allowed=1, expected=3, desired=2)],
        policy=DrainPolicy(force=True, max_unavailable=((ALL, IntOrPercent(1)),)),
    )
    assert [t.node.name for t in plan.targets] == ["old-1", "old-0"]
    assert len(plan.evictions) == 3


# Properties ----------------------------------------------------------------------------------


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Up to four old nodes, five apps with all kinds of budgets, and pods in all kinds of states."""
    nodes = [a_node(f"old-{i}") for i in range(draw(st.integers(1, 4)))] + [a_node("new-0", group="green")]
    everything, budgets, workloads = [], [], []
    for app in draw(st.sets(st.sampled_from("abcde"), min_size=1)):
        owner = draw(st.sampled_from((f"ReplicaSet/{app}", f"StatefulSet/{app}", f"Job/{app}", None)))
        count = draw(st.integers(1, 5))
        for i in range(count):
            everything.append(
                a_pod(
                    f"{app}-{i}",
                    owner=owner,
                    labels={"app": app, "all": "yes"},
                    node=draw(st.sampled_from(nodes)).name,
                    phase=draw(st.sampled_from(("Running", "Running", "Running", "Pending", "Succeeded"))),
                    ready=draw(st.sampled_from((None, None, None, False))),
                    deletion_deadline=draw(st.sampled_from((None, None, None, ago(-10), ago(999)))),
                    volumes=draw(st.sampled_from(((), (), (an_emptydir(),)))),
                )
            )
        if owner and not owner.startswith("Job"):
            workloads.append(a_workload(owner, replicas=draw(st.integers(count, count + 1))))
        for n in range(draw(st.sampled_from((0, 1, 1, 1, 2)))):
            rule = draw(
                st.sampled_from(
                    (
                        {"max_unavailable": 1},
                        {"max_unavailable": "30%"},
                        {"min_available": 1},
                        {"min_available": "67%"},
                        {"max_unavailable": 0},
                    )
                )
            )
            policy = draw(st.sampled_from(("", "AlwaysAllow")))
            budgets.append(a_budget(f"{app}-{n}", selector={"app": app}, unhealthy_policy=policy, **rule))
    cluster = a_cluster(nodes=nodes, pods=everything, budgets=budgets, workloads=workloads)
    return replace(cluster, budgets=tuple(in_sync(cluster)))


def in_sync(cluster: Cluster) -> list[object]:
    """The budgets with the status the disruption controller would write."""
    guards, scales = index_budgets(cluster.budgets, cluster.pods), ScaleIndex.of(cluster.workloads)
    synced = []
    for budget in cluster.budgets:
        result = recompute(budget, guards.selected_pods(budget), scales, NOW)
        if isinstance(result, ComputedStatus):
            synced.append(replace(budget, status=result.status))
        else:
            synced.append(replace(budget, status=replace(budget.status, allowed=0), condition_reason="SyncFailed"))
    return synced


POLICIES = st.builds(
    DrainPolicy,
    partial=st.booleans(),
    force=st.booleans(),
    delete_emptydir_data=st.booleans(),
    max_unavailable=st.sampled_from(
        (
            (),
            ((ALL, IntOrPercent(1)),),
            ((ZONE, IntOrPercent(2)),),
            ((ALL, IntOrPercent(50, percent=True)), (NODEGROUP, IntOrPercent(1))),
        )
    ),
    surge=st.sampled_from((None, 0, 1, 3)),
    soft_budget=st.sampled_from((None, 1, 50)),
    order=st.sampled_from((AUTO_ORDER, *ORDERS)),
)


@settings(max_examples=examples(1000))
@given(clusters(), POLICIES)
def test_every_pod_has_one_verdict_and_no_round_exceeds_a_budget(cluster: Cluster, policy: DrainPolicy) -> None:
    plan = plan_of(cluster, policy=policy)
    on_targets = [p.uid for p in cluster.pods if p.node.startswith("old-")]
    assert Counter(on_targets) == Counter([e.pod.uid for e in plan.evictions] + [x.pod.uid for x in plan.left])
    for budget in cluster.budgets:
        using = [e for e in plan.evictions if e.budget == budget.key]
        for number in range(1, plan.rounds + 1):
            gone = sum(1 for e in using if e.pod.owner is None and e.round <= number)
            away = sum(1 for e in using if e.pod.owner is not None and e.round == number)
            assert gone + away <= max(budget.status.allowed, 0), "a pod that nothing replaces is away for good"
    if drained := [t for t in plan.targets if t.order]:
        assert plan.estimate is not None and plan.estimate.p50_s > 0
        assert {s.node for s in plan.estimate.spans} == {t.node.name for t in drained}
    drained = {t.node.name for t in plan.targets if t.order}
    assert {e.node for e in plan.evictions} <= drained
    assert [e.position for e in plan.evictions] == list(range(1, len(plan.evictions) + 1))
    for t in plan.targets:
        assert t.evictions + t.left == sum(1 for p in cluster.pods if p.node == t.node.name)
        if t.verdict in (TargetVerdict.SKIPPED, TargetVerdict.UNKNOWN):
            assert t.why and t.evictions == 0
        if t.verdict is TargetVerdict.DRAINS:
            stay = {x.verdict for x in plan.left if x.node == t.node.name}
            assert stay <= {PodVerdict.STAY}
    if any(x.verdict is PodVerdict.BLOCKED for x in plan.left):
        assert plan.blockers
    assert all(f.remedy for f in plan.findings), "every finding says what to do"
