"""Planning a drain: read what the plan needs, select the targets, build the plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, Identity
from kubectl_eksdoc.ports import ClusterReader

from .budget_verdicts import check_deleted
from .nodes import select
from .orders import check_named
from .plan import make_plan
from .policy import DrainPolicy, Targeting
from .result import DrainPlan
from .rule_results import with_assumed_budgets

READS = kinds.ALL
"""The kinds that planning reads; `model.findings` says which finding needs which of them."""


Stops = Callable[[Identity], tuple[tuple[str, float], ...]]
"""Cluster identity → (pod template, seconds) of each pod that stopped in an earlier run."""


def no_stops(_: Identity) -> tuple[tuple[str, float], ...]:
    """Recorded clusters and the demo have no earlier runs."""
    return ()


def plan_drain(
    reader: ClusterReader,
    targeting: Targeting,
    policy: DrainPolicy,
    given: Identity | None = None,
    stops: Stops = no_stops,
) -> tuple[Cluster, DrainPlan]:
    """The plan, and the facts it was made from, assumptions included. `identity`: names of the cluster for facts that
    have none of their own. `stop_times`: how long pods took to stop in earlier runs, by template.

    Raises:
        UsageError: the targeting selects no node, or an assumed budget, an ordered or pinned node, or a pod to delete
            does not exist.
        ClusterError, SnapshotError: nodes or pods cannot be read.
    """
    found = reader.read(READS)
    cluster = with_assumed_budgets(_named(replace(found, stops=stops(found.identity)), given or Identity()), policy)
    targets = select(cluster.nodes, targeting, (pool.name for pool in cluster.node_pools))
    check_named(policy, targets)
    check_deleted(cluster, policy)
    return cluster, make_plan(cluster, targets, policy)


def _named(cluster: Cluster, given: Identity) -> Cluster:
    """`cluster` with the names the user gave where it has none; before planning, as the plan's commands contain
    them."""
    return replace(cluster, identity=cluster.identity.given(given.cluster, given.region))
