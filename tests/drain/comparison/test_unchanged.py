"""Whether a plan would be the same: all facts count but the time, and time counts while somebody waits for it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from kubectl_eksdoc.drain.comparison.changes import unchanged
from kubectl_eksdoc.model.cluster import Cluster, Lease
from tests.builders import NOW, a_budget, a_cluster, a_node, a_pod, ago

POD = a_pod("web-0")
CLUSTER = replace(
    a_cluster(nodes=[a_node("old-0")], pods=[POD], budgets=[a_budget("web")]),
    leases=(Lease("kube-system", "leader", "web-0", ago(9)),),
)


def later(cluster: Cluster, seconds: float = 60) -> Cluster:
    return replace(cluster, observed_at=NOW + timedelta(seconds=seconds))


def test_time_that_passes_and_locks_that_are_renewed_change_nothing() -> None:
    renewed = replace(later(CLUSTER), leases=(Lease("kube-system", "leader", "web-0", ago(-50)),))
    assert unchanged(CLUSTER, later(CLUSTER)) and unchanged(CLUSTER, renewed)


@pytest.mark.parametrize(
    "change",
    [
        {"pods": ()},
        {"pods": (replace(POD, ready=False),)},
        {"nodes": (a_node("old-0", unschedulable=True),)},
        {"budgets": (a_budget("web", allowed=0),)},
        {"leases": (Lease("kube-system", "leader", "web-1", ago(9)),)},
        {"leases": ()},
        {"reads": ()},
    ],
    ids=lambda change: str(*change),
)
def test_everything_else_does(change: dict[str, object]) -> None:
    assert not unchanged(CLUSTER, replace(later(CLUSTER), **change))  # type: ignore[arg-type]


def test_while_a_pod_is_being_deleted_time_counts() -> None:
    leaving = replace(CLUSTER, pods=(replace(POD, deletion_deadline=ago(-30)),))
    assert not unchanged(leaving, later(leaving))


def test_a_pod_that_is_to_be_left_alone_for_an_hour_counts_when_that_has_passed() -> None:
    pod = a_pod("job", annotations={"karpenter.sh/do-not-disrupt": "2h"}, created_at=ago(3600))
    spared = replace(CLUSTER, pods=(pod,))
    assert unchanged(spared, later(spared)) and not unchanged(spared, later(spared, 3700))
