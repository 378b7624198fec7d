"""Write a dump of full nodes, with a Deployment and its budget for each ten pods: the case with the least room for a
drain."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Doc = dict[str, Any]
NODES, WORKLOADS, REPLICAS = 200, 1000, 10
_CPU = {"cpu": "300m", "memory": "1Gi"}
"""Of a pod: fifty of them fill a node to 94 %."""


def write(folder: Path) -> dict[str, int]:
    """Write a List of each kind; returns the number of objects of each."""
    lists = {
        "nodes": ("v1", "Node", [_node(number) for number in range(NODES)]),
        "namespaces": ("v1", "Namespace", [_object("v1", "Namespace", "shop", "")]),
        "deployments": ("apps/v1", "Deployment", [_workload("Deployment", number) for number in range(WORKLOADS)]),
        "replicasets": ("apps/v1", "ReplicaSet", [_workload("ReplicaSet", number) for number in range(WORKLOADS)]),
        "budgets": ("policy/v1", "PodDisruptionBudget", [_budget(number) for number in range(WORKLOADS)]),
        "pods": ("v1", "Pod", list(_pods())),
    }
    for name, (api, kind, items) in lists.items():
        whole = {"apiVersion": api, "kind": f"{kind}List", "metadata": {"resourceVersion": "1"}, "items": items}
        (folder / f"{name}.json").write_text(json.dumps(whole), encoding="utf-8")
    return {kind: len(items) for _, kind, items in lists.values()}


def _object(api: str, kind: str, name: str, namespace: str = "shop", **more: Any) -> Doc:
    meta: Doc = {"name": name, "uid": f"{kind}-{name}", "creationTimestamp": "2026-10-01T08:00:00Z", "generation": 1}
    meta |= {"namespace": namespace} if namespace else {}
    owner = more.pop("owner", None)
    if owner is not None:
        of = {"apiVersion": "apps/v1", "kind": owner[0], "name": owner[1], "uid": f"{owner[0]}-{owner[1]}"}
        meta["ownerReferences"] = [{**of, "controller": True}]
    return {"apiVersion": api, "kind": kind, "metadata": {**meta, **more.pop("meta", {})}, **more}


def _node(number: int) -> Doc:
    labels = {
        "eks.amazonaws.com/nodegroup": "blue",
        "topology.kubernetes.io/zone": f"eu-west-1{'abc'[number % 3]}",
        "kubernetes.io/hostname": f"node-{number}",
    }
    info = {"kubeletVersion": "v1.33.1", "osImage": "Amazon Linux 2023.7.20250609"}
    status = {
        "allocatable": {"cpu": "15890m", "memory": "58Gi", "pods": "110"},
        "conditions": [_ready()],
        "nodeInfo": {**info, "containerRuntimeVersion": "containerd://2.1.4"},
    }
    return _object("v1", "Node", f"node-{number}", "", meta={"labels": labels}, status=status)


def _ready() -> Doc:
    return {"type": "Ready", "status": "True", "lastTransitionTime": "2026-10-01T08:01:00Z"}


def _selects(number: int) -> Doc:
    return {"matchLabels": {"app": f"app-{number}"}}


def _workload(kind: str, number: int) -> Doc:
    labels = _selects(number)["matchLabels"]
    spec = {"replicas": REPLICAS, "selector": _selects(number)}
    spec["template"] = {"metadata": {"labels": labels}, "spec": {"containers": [_container()]}}
    owner = ("Deployment", f"app-{number}") if kind == "ReplicaSet" else None
    return _object("apps/v1", kind, f"app-{number}{'-1' if owner else ''}", spec=spec, owner=owner)


def _container() -> Doc:
    return {"name": "app", "image": "example.com/app:1", "resources": {"requests": _CPU}}


def _budget(number: int) -> Doc:
    counts = {"currentHealthy": REPLICAS, "desiredHealthy": REPLICAS - 1, "disruptionsAllowed": 1}
    status = {**counts, "expectedPods": REPLICAS, "observedGeneration": 1}
    spec = {"maxUnavailable": 1, "selector": _selects(number)}
    return _object("policy/v1", "PodDisruptionBudget", f"app-{number}", spec=spec, status=status)


def _pods() -> Iterator[Doc]:
    for at in range(WORKLOADS * REPLICAS):
        number, replica = at % WORKLOADS, at // WORKLOADS
        node = f"node-{(number + replica * (NODES // REPLICAS + 1)) % NODES}"
        spec = {"nodeName": node, "schedulerName": "default-scheduler", "containers": [_container()]}
        scheduled = {**_ready(), "type": "PodScheduled"}
        status = {"phase": "Running", "conditions": [_ready(), scheduled]}
        meta = {"labels": _selects(number)["matchLabels"]}
        owner = ("ReplicaSet", f"app-{number}-1")
        yield _object("v1", "Pod", f"app-{number}-1-{replica}", meta=meta, owner=owner, spec=spec, status=status)


if __name__ == "__main__":
    print(json.dumps(write(Path(sys.argv[1]))))
