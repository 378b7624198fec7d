"""Single replicas that a rollout replaces before they stop: which, why not others, and what that takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.drain.outcome import BudgetVerdict, PodVerdict, TargetVerdict
from kubectl_eksdoc.drain.plan import make_plan
from kubectl_eksdoc.drain.policy import DrainPolicy, Means
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Severity, Status
from kubectl_eksdoc.model.nodes import ControllerOwner, Pod
from kubectl_eksdoc.model.placing import Placement, PodTerm, Requests
from kubectl_eksdoc.model.selectors import from_parts
from kubectl_eksdoc.model.storage import Claim, StorageClass
from kubectl_eksdoc.model.workloads import Workload
from tests.builders import a_budget, a_claimed, a_cluster, a_node, a_pod, a_workload, ago, pods
from tests.drain.planning import codes, finding, headroom, plan_of, target, verdict_of
from tests.drain.small_clusters import small, targets_of

SURGES = DrainPolicy(surge_singles=True)
ZONE = "topology.kubernetes.io/zone"
MINE = from_parts({"app": "web"})


def of_one(**deployment: Any) -> tuple[Workload, Workload]:
    """Deployment web of one replica, and its ReplicaSet."""
    return (
        a_workload("ReplicaSet/web", replicas=1, owner="Deployment/web"),
        a_workload("Deployment/web", replicas=1, **({"surges": True} | deployment)),
    )


def single(policy: DrainPolicy = SURGES, pod: Pod | None = None, more: Any = None, **deployment: Any) -> DrainPlan:
    """Deployment web of one replica under a budget of minAvailable 1."""
    facts = {"budgets": [a_budget(min_available=1, allowed=0, expected=1)]} | (more or {})
    return plan_of(pods=[pod or a_pod("web-0")], workloads=of_one(**deployment), policy=policy, **facts)


def test_without_the_flag_its_budget_blocks_and_the_flag_is_advised() -> None:
    plan = single(DrainPolicy())
    assert verdict_of(plan, "web-0") is PodVerdict.BLOCKED
    for code in ("budget-never-allows", "single-replica"):
        assert any("--surge-singles" in remedy.text for remedy in finding(plan, code).remedy)


def test_it_is_restarted_and_its_budget_is_in_the_way_of_nothing() -> None:
    plan = single()
    (eviction,) = plan.evictions
    assert plan.restarts == (eviction,)
    assert eviction.manner.means is Means.RESTART
    assert eviction.manner.restarts is not None and eviction.manner.restarts.key == "default/web"
    assert (eviction.budget, eviction.limits, eviction.lands_on) == ("", (), "roomy")
    assert "restart of Deployment web" in eviction.reason
    assert target(plan).verdict is TargetVerdict.DRAINS
    assert (headroom(plan).verdict, headroom(plan).to_evict) == (BudgetVerdict.FITS, 0)
    assert codes(plan) == {"single-replica"} and not plan.blockers
    assert finding(plan, "single-replica").severity is Severity.LOW


def test_the_new_pod_starts_first_and_nobody_is_away() -> None:
    moment = {"scheduled_at": ago(3600), "ready_at": ago(3561)}  # it took 40 s to start
    plan = single(pod=a_pod("web-0", **moment))
    estimate = plan.estimate
    assert estimate is not None
    (moved,) = estimate.moves
    assert moved.ready_s is not None and moved.gone_s > moved.ready_s + 1
    assert estimate.peak_away == 0
    assert estimate.p50_s == moved.gone_s + 10 == estimate.bounds[0].seconds


def test_with_an_absolute_rule_over_several_workloads_only_it_goes_uncounted() -> None:
    both = {"role": "shop"}
    others = [
        a_workload("ReplicaSet/api", replicas=3, owner="Deployment/api"),
        a_workload("Deployment/api", replicas=3, surges=True),
        a_workload("ReplicaSet/web", replicas=1, owner="Deployment/web"),
        a_workload("Deployment/web", replicas=1, surges=True),
    ]
    every = [a_pod("web-0", labels=both), *pods(3, "api", labels=both)]
    budget = a_budget(selector=both, min_available=3, allowed=1, expected=4)
    plan = plan_of(pods=every, workloads=others, budgets=[budget], policy=SURGES)
    assert (headroom(plan).to_evict, headroom(plan).rounds) == (3, 3)
    assert [e.pod.name for e in plan.restarts] == ["web-0"]


@pytest.mark.parametrize(
    ("deployment", "why"),
    [
        ({"surges": False}, "Recreate, or maxSurge 0"),
        ({"rollout_unavailable": 1}, "maxUnavailable 1"),
        ({"paused": True}, "paused"),
    ],
)
def test_what_cannot_surge_stays_what_it_is(deployment: dict[str, Any], why: str) -> None:
    plan = single(**deployment)
    assert verdict_of(plan, "web-0") is PodVerdict.BLOCKED
    assert why in finding(plan, "single-replica").message
    assert not plan.restarts


def test_a_stateful_set_starts_nothing_first() -> None:
    pod = a_pod("db-0", owner="StatefulSet/db")
    plan = plan_of(pods=[pod], workloads=[a_workload("StatefulSet/db", replicas=1)], policy=SURGES)
    assert verdict_of(plan, "db-0") is PodVerdict.EVICT and not plan.restarts
    assert "StatefulSet starts the new pod only after" in finding(plan, "single-replica").message


def test_one_of_several_replicas_is_evicted() -> None:
    plan = plan_of(policy=SURGES)
    assert {e.manner.means for e in plan.evictions} == {Means.EVICTION}


@pytest.mark.parametrize(("shared", "goes"), [(True, True), (False, False)])
def test_a_volume_for_one_node_at_a_time_would_keep_the_new_pod_waiting(shared: bool, goes: bool) -> None:
    facts = {
        "claims": [Claim("default", "data", storage_class="gp3", shared=shared)],
        "storage_classes": [StorageClass("gp3", binding_mode="WaitForFirstConsumer")],
    }
    plan = single(pod=a_pod("web-0", volumes=(a_claimed("data"),)), more=facts)
    assert bool(plan.restarts) is goes
    if not goes:
        assert "claim data is for one node at a time" in finding(plan, "single-replica").message


def test_claims_that_were_not_read_are_no_pass() -> None:
    cluster = a_cluster(
        nodes=[a_node("old-0")],
        pods=[a_pod("web-0", volumes=(a_claimed("data"),))],
        workloads=of_one(),
        unread=[kinds.CLAIMS],
    )
    plan = plan_of(cluster, policy=SURGES)
    assert not plan.restarts
    assert "persistentvolumeclaims were not read" in finding(plan, "single-replica").message


def test_one_that_is_not_ready_is_not_worth_a_rollout() -> None:
    plan = single(pod=a_pod("web-0", ready=False), more={"budgets": ()})
    assert not plan.restarts and verdict_of(plan, "web-0") is PodVerdict.EVICT


def test_it_lands_while_the_old_one_is_still_there() -> None:
    """Two zones, one of them the old pod's, whose node there takes no second one of its kind."""
    alone = Placement(Requests(cpu=100), anti_affinity=(PodTerm(ZONE, MINE),))
    room = {"cpu": 10_000, "memory": 1 << 40, "ephemeral-storage": 1 << 40, "pods": 50}
    beside = a_node("a-0", group="green", labels={ZONE: "a"}, allocatable=room | {"cpu": 90_000})
    apart = a_node("b-0", group="green", labels={ZONE: "b"}, allocatable=room)
    old = a_node("old-0", labels={ZONE: "a"})
    facts: dict[str, Any] = {
        "nodes": [old, beside, apart],
        "pods": [a_pod("web-0", placement=alone)],
        "workloads": of_one(),
        "roomy": False,
    }
    assert [e.lands_on for e in plan_of(**facts).evictions] == ["a-0"], "an evicted one has gone by then"
    assert [e.lands_on for e in plan_of(policy=SURGES, **facts).evictions] == ["b-0"]


def with_deployments(seed: int) -> Cluster:
    """A small cluster whose ReplicaSets all belong to Deployments that surge."""
    cluster = small(seed)
    made = [w for w in cluster.workloads if w.kind == "ReplicaSet"]
    above = [a_workload(f"Deployment/{w.name}", w.namespace, replicas=w.replicas, surges=True) for w in made]
    below = [
        replace(w, owner=ControllerOwner("Deployment", w.name, top.uid, "apps"))
        for w, top in zip(made, above, strict=True)
    ]
    others = [w for w in cluster.workloads if w.kind != "ReplicaSet"]
    return replace(cluster, workloads=(*others, *below, *above))


@settings(max_examples=20)
@given(seed=st.integers(0, 400))
@example(331)
@example(375)
@pytest.mark.long
def test_singles_are_all_that_differs(seed: int) -> None:
    """In any small cluster the flag changes how single replicas go, and keeps nothing that went without it."""
    cluster = with_deployments(seed)
    with_flag = make_plan(cluster, targets_of(cluster), SURGES)
    for eviction in with_flag.evictions:
        restarts = eviction.manner.restarts
        assert (restarts is not None) == (eviction.manner.means is Means.RESTART)
        if restarts is not None:
            assert restarts.replicas == 1 and not eviction.limits
    without = make_plan(cluster, targets_of(cluster), DrainPolicy())
    if not with_flag.restarts:
        assert with_flag.evictions == without.evictions
    assert all(f.status is not Status.FAIL or f.code.name != "single-replica" for f in with_flag.findings)


def test_a_single_that_finds_no_place_beside_itself_is_evicted_and_the_plan_says_why() -> None:
    cluster = with_deployments(331)
    plan = make_plan(cluster, targets_of(cluster), SURGES)
    (single,) = [e for e in plan.evictions if e.pod.name == "app0-0"]
    (said,) = [f.message for f in plan.findings if f.code.name == "single-replica"]
    assert single.manner.means is Means.EVICTION
    assert said.endswith("it is not restarted instead: no node has a place for a second one while it is there")
