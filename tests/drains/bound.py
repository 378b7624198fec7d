"""The shortest possible time of a drain, on a cluster whose pods' times are known, and the time that its plan
announced."""

from __future__ import annotations

from collections import defaultdict

from kubectl_eksdoc.drain.duration.bounds import find_bounds, largest_bound
from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.drain.read import plan_drain
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.timeline import DrainTerms, PodMove
from kubectl_eksdoc.kube.reader import LiveReader
from kubectl_eksdoc.kubernetes.replacement import Replacement, replacement
from kubectl_eksdoc.model.connection import Connection
from tests.drains.shapes import OLD, Shape


def planned(kubeconfig: str) -> DrainPlan:
    """The plan of a served cluster as it is now."""
    reader = LiveReader(Connection(kubeconfig=kubeconfig))
    return plan_drain(reader, Targeting(nodegroups=(OLD,)), DrainPolicy())[1]


def lower_bound_s(plan: DrainPlan, shape: Shape, lag_s: float) -> float:
    """The time from the first cordon until the last evicted pod is gone: no run is faster, in any order.

    It is the plan's own bound with the real times: real stop times, where the plan has to assume them, and the measured
    lag of budgets. Its largest parts: for the pods of each budget, one after the other as the budget allows, each start
    and lag, and the stop of the last one (the tail); and the slowest stop of all. It excludes the ten seconds in which
    an empty node is listed twice.
    """
    nodes: dict[str, list[PodMove]] = defaultdict(list)
    for each in plan.evictions:
        pod = each.pod
        times = shape.stop_s(pod), shape.start_s(pod)
        nodes[each.node].append(PodMove(pod.uid, each.limits, *times, replacement(pod), each.tier > 0))
    found = find_bounds(list(nodes.items()), DrainTerms(plan.slots, budget_lag_s=lag_s))
    return largest_bound(found).seconds


def announced(plan: DrainPlan) -> int:
    """The announced replacements that have no place in the plan."""
    return sum(not each.lands_on and replacement(each.pod) is not Replacement.NEVER for each in plan.evictions)
