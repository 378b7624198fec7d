"""Write a dump that can be planned: the pods of `bench.cluster` with their nodes, owners and budgets."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench import cluster
from kubectl_eksdoc.model import kinds

Json = dict[str, Any]

OLD = 3
"""Of each five nodes so many are of the group "old", and there is room for their pods on the others."""

_ALLOCATABLE = {"cpu": "31850m", "memory": "120Gi", "pods": "234"}


def write(folder: str, count: int, per_node: int) -> None:
    """Write one list for each kind; the list of a kind that is not generated is empty."""
    owned: dict[tuple[str, str], list[Json]] = defaultdict(list)
    nodes: set[str] = set()
    with Path(folder, "pods.json").open("wb") as out:
        out.write(b'{"apiVersion":"v1","kind":"List","items":[')
        for number, item in enumerate(cluster.pods(count, per_node=per_node)):
            pod = json.loads(item)
            nodes.add(pod["spec"]["nodeName"])
            meta = pod["metadata"]
            owned[meta["namespace"], meta["ownerReferences"][0]["name"]].append(meta)
            out.write((b",\n" if number else b"") + b'{"apiVersion":"v1","kind":"Pod",' + item[1:])
        out.write(b"]}")
    made: dict[str, list[Json]] = {"Node": [_node(name, at) for at, name in enumerate(sorted(nodes))]}
    for (namespace, name), pods in owned.items():
        for kind, thing in _around(namespace, name, pods):
            made.setdefault(kind, []).append(thing)
    for resource in kinds.ALL:
        if resource.kind != "Pod":
            _list(Path(folder, f"{resource.plural}.json"), resource, made.get(resource.kind, ()))


def _list(path: Path, resource: kinds.Resource, items: Iterable[Json]) -> None:
    version = resource.api_version
    typed = [{"apiVersion": version, "kind": resource.kind, **item} for item in items]
    path.write_text(json.dumps({"apiVersion": version, "kind": f"{resource.kind}List", "metadata": {}, "items": typed}))


def _node(name: str, at: int) -> Json:
    zone = f"us-east-1{'abc'[at % 3]}"
    group = "old" if at % 5 < OLD else "new"
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone, "eks.amazonaws.com/nodegroup": group}
    metadata = {"name": name, "uid": f"uid-{name}", "creationTimestamp": "2026-10-01T08:00:00Z", "labels": labels}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-10-01T08:01:00Z"}
    status = {"allocatable": _ALLOCATABLE, "conditions": [ready], "nodeInfo": {"kubeletVersion": "v1.32.5"}}
    return {"metadata": metadata, "spec": {}, "status": status}


def _around(namespace: str, name: str, pods: list[Json]) -> Iterable[tuple[str, Json]]:
    """The ReplicaSet, its Deployment and a budget that allows one disruption."""
    owner, app, count = pods[0]["ownerReferences"][0], pods[0]["labels"]["app"], len(pods)
    selector = {"matchLabels": {"app": app}}
    above = {"apiVersion": "apps/v1", "kind": "Deployment", "name": app, "uid": f"d-{owner['uid']}", "controller": True}
    spec = {"replicas": count, "selector": selector, "template": {"metadata": {"labels": {"app": app}}}}
    status = {"replicas": count, "readyReplicas": count, "availableReplicas": count, "observedGeneration": 1}
    meta = {"namespace": namespace, "generation": 1, "creationTimestamp": "2026-10-01T08:00:00Z"}
    held = {**meta, "name": name, "uid": owner["uid"], "ownerReferences": [above]}
    yield "ReplicaSet", {"metadata": held, "spec": spec, "status": status}
    yield "Deployment", {"metadata": {**meta, "name": app, "uid": above["uid"]}, "spec": spec, "status": status}
    figures = {"currentHealthy": count, "desiredHealthy": count - 1, "expectedPods": count, "disruptionsAllowed": 1}
    budget = {**meta, "name": app, "uid": f"b-{owner['uid']}"}
    figures |= {"observedGeneration": 1}
    yield (
        "PodDisruptionBudget",
        {"metadata": budget, "spec": {"maxUnavailable": 1, "selector": selector}, "status": figures},
    )


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
