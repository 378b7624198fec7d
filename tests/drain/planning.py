"""Helpers shared by the tests in this folder: make a plan from a few facts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kubectl_eksdoc.drain.outcome import DrainTarget, NotEvictedPod, PodVerdict
from kubectl_eksdoc.drain.plan import build_plan
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.result import DrainPlan, Headroom
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Finding
from tests.builders import a_cluster, a_node, a_roomy_node, a_workload, pods

WEB = (a_workload("ReplicaSet/web", owner="Deployment/web"), a_workload("Deployment/web", surges=True))
"""A Deployment web of three replicas and its ReplicaSet."""


def plan_of(
    cluster: Cluster | None = None, *, policy: DrainPolicy | None = None, roomy: bool = True, **facts: Any
) -> DrainPlan:
    """Plan a drain of all nodes called old-*; the default is one node with three pods of Deployment web.

    `roomy`: another node has room for all of their pods.
    """
    if cluster is None:
        facts.setdefault("nodes", [a_node("old-0")])
        facts.setdefault("workloads", WEB)
        facts.setdefault("pods", pods(3))
        cluster = a_cluster(**facts)
    if roomy:
        cluster = replace(cluster, nodes=(*cluster.nodes, a_roomy_node()))
    return build_plan(cluster, [n for n in cluster.nodes if n.name.startswith("old-")], policy or DrainPolicy())


def finding(plan: DrainPlan, code: str) -> Finding:
    """The one finding of `code`."""
    found = [f for f in plan.findings if f.code.name == code]
    assert len(found) == 1, [(f.code.name, f.message) for f in plan.findings]
    return found[0]


def codes(plan: DrainPlan) -> set[str]:
    return {f.code.name for f in plan.findings}


def verdict_of(plan: DrainPlan, name: str) -> PodVerdict:
    """The verdict of the pod called `name`; exactly one must be there."""
    verdicts = [PodVerdict.EVICT for e in plan.evictions if e.pod.name == name]
    verdicts += [x.verdict for x in plan.left if x.pod.name == name]
    assert len(verdicts) == 1, verdicts
    return verdicts[0]


def left(plan: DrainPlan, name: str) -> NotEvictedPod:
    return next(x for x in plan.left if x.pod.name == name)


def target(plan: DrainPlan, name: str = "old-0") -> DrainTarget:
    return next(t for t in plan.targets if t.node.name == name)


def headroom(plan: DrainPlan, name: str = "web") -> Headroom:
    return next(b for b in plan.budgets if b.budget.name == name)
