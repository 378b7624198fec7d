"""What the tool sees in the demo: every kind known, budgets as the controller computes them, the traps planted."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.embedded.demo.reader import DEFAULT_NODEGROUP, NOW, DemoReader
from kubectl_eksdoc.kubernetes import budgets
from kubectl_eksdoc.kubernetes.guards import matching
from kubectl_eksdoc.kubernetes.replacement import Scales
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, Source
from kubectl_eksdoc.model.nodes import NodeOwner, Pod


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


def test_traps_that_stop_a_node_sit_on_three(cluster: Cluster) -> None:
    stopping = ("shop/sale", "shop/loyalty", "shop/thumbnails", "shop/session-cache", "batch/ledger-worker",
                "ops/log-relay", "ops/debug-shell", "kube-system/metrics-server", "batch/reindex")  # fmt: skip
    blue = {node for key in stopping for node in nodes(cluster, key) if node.startswith("blue")}
    assert blue == {"blue-6", "blue-7", "blue-8"}
