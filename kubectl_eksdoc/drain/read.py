"""Plan a drain: read what the plan needs, choose the targets, decide."""

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
"""What planning reads; `model.findings` says which answer needs which of them."""


Stops = Callable[[Identity], tuple[tuple[str, float], ...]]
"""Of a cluster: template and seconds of each pod that stopped in an earlier run."""


def no_stops(_: Identity) -> tuple[tuple[str, float], ...]:
    """What is recorded or made up has no earlier runs."""
    return ()


def plan_drain(
    reader: ClusterReader,
    targeting: Targeting,
    policy: DrainPolicy,
    given: Identity | None = None,
    stops: Stops = no_stops,
) -> tuple[Cluster, DrainPlan]:
    """The plan, and the facts it was made from, assumptions included; `given` names the cluster where what is
    read does not; `stops`: how long pods took to stop in earlier runs, by template.

    Raises:
        UsageError: the targeting finds no node, or what is assumed, ordered, pinned or deleted does not
            exist.
        ClusterError, SnapshotError: nodes or pods cannot be read.
    """
    found = reader.read(READS)
    cluster = with_assumed_budgets(_named(replace(found, stops=stops(found.identity)), given or Identity()), policy)
    targets = select(cluster.nodes, targeting, (pool.name for pool in cluster.node_pools))
    check_named(policy, targets)
    check_deleted(cluster, policy)
    return cluster, make_plan(cluster, targets, policy)


def _named(cluster: Cluster, given: Identity) -> Cluster:
    """`cluster` with the names the user gave where it does not say its own; before planning, for its commands."""
    return replace(cluster, identity=cluster.identity.given(given.cluster, given.region))
