"""Facts that were not read or are invalid are unknown: the plan names exactly the codes that need them, and nothing
that depends on them passes."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.drain.outcome import TargetVerdict
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, InvalidEntry
from kubectl_eksdoc.model.findings import Code, Status
from kubectl_eksdoc.model.kinds import Resource
from tests.builders import a_budget, a_claimed, a_cluster, a_node, a_pod, a_workload, pods
from tests.drain.planning import WEB, codes, finding, plan_of, target, verdict_of

ASKED_AS = {
    Code.of("pod-daemonset"): Code.of("pod-daemonset-missing"),
    Code.of("job-would-fail"): Code.of("job-loses-work"),
}
"""Codes whose question is one with another's: that one is unknown for both. All on budgets are POD_BUDGET's."""

WITHOUT_PLAN = (kinds.PODS, kinds.NODES)
"""Without these nothing is planned at all."""

NOT_OURS = (Code.of("all-replicas-at-once"), Code.of("placement-unsure"), Code.of("needs-nodes"))
"""What the order and the places of replacements tell, which has tests of its own."""

_OWNERS = {
    kinds.DEPLOYMENTS: "ReplicaSet/web",
    kinds.REPLICA_SETS: "ReplicaSet/web",
    kinds.STATEFUL_SETS: "StatefulSet/web",
    kinds.REPLICATION_CONTROLLERS: "ReplicationController/web",
    kinds.DAEMON_SETS: "DaemonSet/web",
    kinds.JOBS: "Job/web",
}


def a_world(unread: Resource) -> dict[str, Any]:
    """A cluster where it matters that `unread` was not read: a pod with an owner of that kind, and everything else."""
    owner = _OWNERS.get(unread, "ReplicaSet/web")
    held = [] if owner != "ReplicaSet/web" or unread == kinds.REPLICA_SETS else [a_workload(owner="Deployment/web")]
    if not held and unread not in _OWNERS:
        held = [a_workload()]
    if unread not in (kinds.DEPLOYMENTS, kinds.REPLICA_SETS):
        held.append(a_workload("Deployment/web"))
    # A percentage asks for the scale of its pods' owner.
    budgets = [] if unread == kinds.BUDGETS else [a_budget(max_unavailable="50%", allowed=2, expected=3)]
    if unread in (kinds.DAEMON_SETS, kinds.JOBS):
        budgets = []
    return {
        "nodes": [a_node("old-0")],
        "pods": [a_pod("web-0", owner=owner, volumes=(a_claimed("data"),))],
        "workloads": held,
        "budgets": budgets,
    }


CASES = [
    pytest.param(code, kind, id=f"{code.name}-{kind.plural}")
    for code in Code.of_areas("drain")
    for kind in code.needs
    if kind not in WITHOUT_PLAN and code not in NOT_OURS
]


@pytest.mark.parametrize(("code", "kind"), CASES)
def test_without_a_kind_exactly_what_needs_it_is_unknown(code: Code, kind: Resource) -> None:
    plan = plan_of(a_cluster(unread=[kind], **a_world(kind)))
    unknown = {f.code for f in plan.findings if f.status is Status.UNKNOWN}
    assert (Code.of("pod-budget") if kind == kinds.BUDGETS else ASKED_AS.get(code, code)) in unknown
    assert all(kind in each.needs for each in unknown), unknown
    assert all(kind.full_name in f.missing for f in plan.findings if f.status is Status.UNKNOWN)


def test_with_everything_read_nothing_is_unknown() -> None:
    plan = plan_of(a_cluster(**a_world(kinds.LEASES)))
    assert all(f.status is not Status.UNKNOWN for f in plan.findings)


def test_a_replicaset_is_not_taken_for_its_deployment() -> None:
    """In the middle of a rollout there are two ReplicaSets of one pod each; the Deployment wants two pods."""
    sets = [a_workload(f"ReplicaSet/{name}", replicas=1, owner="Deployment/web") for name in ("old", "new")]
    world = {
        "nodes": [a_node("old-0")],
        "pods": [a_pod("web-0", owner="ReplicaSet/old")],
        "workloads": sets,
    }
    plan = plan_of(a_cluster(unread=[kinds.DEPLOYMENTS], **world), policy=DrainPolicy())
    assert finding(plan, "single-replica").status is Status.UNKNOWN
    assert verdict_of(plan, "web-0").value == "evict"


SAID = "dump.json: Pod default/odd: Expected `int | null`, got `str` - at `$.spec.priority`"


def without(resource: Resource, node: str | None, **facts: object) -> Cluster:
    held = {"nodes": [a_node("old-0"), a_node("old-1")], "pods": pods(3), "workloads": WEB, **facts}
    return a_cluster(**held).with_invalid([InvalidEntry(resource, SAID, node)])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("node", "unknown"), [("old-1", ("old-1",)), ("elsewhere", ()), ("", ()), (None, ("old-0", "old-1"))]
)
def test_a_node_that_a_pod_may_be_on_that_is_not_valid_is_not_drained(
    node: str | None, unknown: tuple[str, ...]
) -> None:
    plan = plan_of(without(kinds.PODS, node))
    for name in ("old-0", "old-1"):
        wanted = TargetVerdict.UNKNOWN if name in unknown else TargetVerdict.DRAINS
        assert target(plan, name).verdict is wanted
    assert {e.node for e in plan.evictions}.isdisjoint(unknown)


@pytest.mark.parametrize("resource", [kinds.NODES, kinds.PODS])
def test_whatever_it_was_something_is_unknown_and_it_is_named(resource: Resource) -> None:
    found = [each for each in plan_of(without(resource, "")).findings if each.code.name == "objects-invalid"]
    assert [each.status for each in found] == [Status.UNKNOWN]
    assert SAID in found[0].evidence and found[0].missing == f"{resource.full_name} (invalid)"
    assert found[0].remedy[0].text.startswith("Make the dump again")


def test_a_budget_is_not_said_to_disagree_with_pods_that_are_not_known() -> None:
    budget = a_budget(expected=4, allowed=1, current=4, desired=3)
    whole = a_cluster(nodes=[a_node("old-0")], pods=pods(3), workloads=WEB, budgets=[budget])
    assert "budget-disagrees" in codes(plan_of(whole))
    plan = plan_of(whole.with_invalid([InvalidEntry(kinds.PODS, SAID, "")]))
    assert [each.status for each in plan.findings if each.code.name == "budget-disagrees"] == [Status.UNKNOWN]
