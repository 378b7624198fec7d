"""Objects of a test drain on a real cluster: nodes where it has none, and workloads that stop in a given time."""

from __future__ import annotations

from typing import Any, NamedTuple

Doc = dict[str, Any]

LABEL = "eksdoc.io/test-real"
"""On nodes ``old`` (to be drained) or ``new`` (to receive pods), on namespaces ``yes``."""

PREFIX = "eksdoc-test-real"
"""The name prefix of all created objects. The namespace of this name has the journals and the lock."""

GRACE_S = 30
IMAGE = "registry.k8s.io/pause:3.10"
START_S = 3
"""A simulated kubelet reads it; a real one starts the image as fast as it can."""


class Workload(NamedTuple):
    name: str
    replicas: int
    budget: Doc | None = None
    kind: str = "Deployment"


WORKLOADS = (
    Workload("web", 4, {"maxUnavailable": 1}),
    Workload("api", 6, {"minAvailable": "50%"}),
    Workload("cache", 3, {"minAvailable": 2}),
    Workload("worker", 6),
    Workload("single", 1),
    Workload("db", 3, {"maxUnavailable": 1}, "StatefulSet"),
)


def namespace(name: str) -> Doc:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {LABEL: "yes"}}}


def node(name: str, role: str, zone: str) -> Doc:
    """A node without an instance: for clusters with simulated kubelets."""
    labels = {
        LABEL: role,
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": zone,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def node_status(version: str) -> Doc:
    room = {"cpu": "8", "memory": "32Gi", "pods": "58"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "played"}
    return {
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [ready],
            "nodeInfo": {"kubeletVersion": version, "architecture": "amd64", "operatingSystem": "linux"},
        }
    }


def workloads(where: str, stop_s: float) -> list[Doc]:
    """Deployments, StatefulSets and budgets in the namespace `where`, on labelled nodes alone.

    Their pods take `stop_s` to stop: with a real kubelet by the preStop hook, with a simulated one by an annotation.
    """
    docs = []
    for each in WORKLOADS:
        labels, meta = {"app": each.name}, {"name": each.name, "namespace": where}
        spec: Doc = {"replicas": each.replicas, "selector": {"matchLabels": labels}, "template": _pod(labels, stop_s)}
        if each.kind == "StatefulSet":
            spec |= {"serviceName": each.name, "podManagementPolicy": "Parallel"}
        docs.append({"apiVersion": "apps/v1", "kind": each.kind, "metadata": meta, "spec": spec})
        if each.budget is not None:
            budget = {"selector": {"matchLabels": labels}, **each.budget}
            docs.append({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": budget})
    return docs


def _pod(labels: Doc, stop_s: float) -> Doc:
    labelled = {"key": LABEL, "operator": "Exists"}
    nodes = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [labelled]}]}
    }
    container = {
        "name": "pause",
        "image": IMAGE,
        "resources": {"requests": {"cpu": "20m", "memory": "16Mi"}},
        "lifecycle": {"preStop": {"sleep": {"seconds": int(stop_s)}}},
    }
    annotations = {"sim/stop-s": str(stop_s), "sim/start-s": str(START_S)}
    return {
        "metadata": {"labels": labels, "annotations": annotations},
        "spec": {
            "terminationGracePeriodSeconds": GRACE_S,
            "affinity": {"nodeAffinity": nodes},
            "containers": [container],
        },
    }
