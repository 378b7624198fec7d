"""Planning a drain: read what the plan needs, select the targets, build the plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, Identity
from kubectl_eksdoc.ports import ClusterReader

from .budget_verdicts import check_past_budget_pods
from .nodes import select_nodes
from .orders import check_order_options
from .plan import build_plan
from .policy import DrainPolicy, Targeting
from .result import DrainPlan
from .rule_results import with_assumed_budgets

PLAN_KINDS = kinds.ALL
"""The kinds that planning reads; `model.findings` says which finding needs which of them."""


StopTimeSource = Callable[[Identity], tuple[tuple[str, float], ...]]
"""Cluster identity → (pod template, seconds) of each pod that stopped in an earlier run."""


def no_stop_times(_: Identity) -> tuple[tuple[str, float], ...]:
    """Recorded clusters and the demo have no earlier runs."""
    return ()


def plan_drain(
    reader: ClusterReader,
    targeting: Targeting,
    policy: DrainPolicy,
    identity: Identity | None = None,
    stop_times: StopTimeSource = no_stop_times,
) -> tuple[Cluster, DrainPlan]:
    """The plan, and the facts it was made from, assumptions included. `identity`: names of the cluster for facts that
    have none of their own. `stop_times`: how long pods took to stop in earlier runs, by template.

    Raises:
        UsageError: the targeting selects no node, or an assumed budget, an ordered or pinned node, or a pod to delete
            does not exist.
        ClusterError, SnapshotError: nodes or pods cannot be read.
    """
    observed = reader.read(PLAN_KINDS)
    cluster = with_assumed_budgets(
        _with_identity(replace(observed, stops=stop_times(observed.identity)), identity or Identity()), policy
    )
    targets = select_nodes(cluster.nodes, targeting, (pool.name for pool in cluster.node_pools))
    check_order_options(policy, targets)
    check_past_budget_pods(cluster, policy)
    return cluster, build_plan(cluster, targets, policy)


def _with_identity(cluster: Cluster, identity: Identity) -> Cluster:
    """`cluster` with the names the user gave where it has none; before planning, as the plan's commands contain
    them."""
    return replace(cluster, identity=cluster.identity.with_defaults(identity.cluster, identity.region))
