"""The tests' own short reader and the tool's reader make the same facts of recorded pods, budgets and workloads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.objects.collector import Collector
from tests import raw_facts

POD = ("namespace", "name", "uid", "labels", "node", "phase", "ready", "owner", "deletion_deadline", "tolerations")
WORKLOAD = ("kind", "namespace", "name", "uid", "replicas", "owner", "template_tolerations", "pinned_to")


def collected(resource: Resource, items: list[dict[str, Any]]) -> Cluster:
    collector = Collector(Source.SNAPSHOT)
    for item in items:
        collector.add_item(resource, json.dumps(item).encode(), "test")
    return collector.cluster(Identity(), None)


def picked(facts: Any, names: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    return {fact.key: {name: getattr(fact, name) for name in names} for fact in facts}


@pytest.mark.parametrize("cluster", ["rich", "small-traps"])
def test_pods(cluster: str) -> None:
    items = raw_facts.recorded(cluster, "pods")
    theirs = picked(collected(kinds.PODS, items).pods, POD)
    assert theirs == picked(map(raw_facts.pod, items), POD)
    assert theirs


@pytest.mark.parametrize("cluster", ["rich", "small-traps", "medium"])
def test_budgets(cluster: str) -> None:
    items = raw_facts.recorded(cluster, "poddisruptionbudgets")
    ours = sorted(map(raw_facts.budget, items), key=lambda b: b.key)
    assert list(collected(kinds.BUDGETS, items).budgets) == ours


@pytest.mark.parametrize("resource", [kinds.DEPLOYMENTS, kinds.REPLICA_SETS, kinds.STATEFUL_SETS])
def test_workloads(resource: Resource) -> None:
    items = raw_facts.recorded("rich", resource.plural)
    theirs = picked(collected(resource, items).workloads, WORKLOAD)
    assert theirs == picked(map(raw_facts.workload, items), WORKLOAD)
    assert theirs
