"""The demo's facts: every kind is known, budgets have the controller's status, and the traps are there."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.embedded.demo.reader import DEFAULT_NODEGROUP, NOW, DemoReader
from kubectl_eksdoc.kubernetes import budgets
from kubectl_eksdoc.kubernetes.guards import index_budgets
from kubectl_eksdoc.kubernetes.replacement import ScaleIndex
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, Source


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return DemoReader().read(kinds.ALL)


def test_nothing_is_unknown(cluster: Cluster) -> None:
    assert cluster.source is Source.DEMO
    assert cluster.not_read(*kinds.ALL) == ()
    assert cluster.observed_at == NOW
    assert cluster.notes == ()
    counts = {r.resource.plural: r.count for r in cluster.reads}
    assert (counts["nodes"], counts["pods"], counts["poddisruptionbudgets"]) == (15, 121, 20)
    assert DEFAULT_NODEGROUP in {node.group for node in cluster.nodes}


def test_budgets_say_what_the_controller_would_compute(cluster: Cluster) -> None:
    guards, scales = index_budgets(cluster.budgets, cluster.pods), ScaleIndex.of(cluster.workloads)
    for budget in cluster.budgets:
        result = budgets.recompute(budget, guards.selected_pods(budget), scales, NOW)
        assert isinstance(result, budgets.ComputedStatus), budget.key
        assert result.status == budget.status, budget.key
        assert budgets.with_result(budget, result) == budget, budget.key


def test_traps_that_stop_a_node_sit_on_three(cluster: Cluster) -> None:
    stopping = ("shop/sale", "shop/loyalty", "shop/thumbnails", "shop/session-cache", "batch/ledger-worker",
                "ops/log-relay", "ops/debug-shell", "kube-system/metrics-server", "batch/reindex")  # fmt: skip
    found = [pod.node for pod in cluster.pods if pod.key.startswith(stopping)]
    blue = {node for node in found if node.startswith("blue")}
    assert len(found) >= len(stopping) and blue == {"blue-6", "blue-7", "blue-8"}
