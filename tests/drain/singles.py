"""API objects of a Deployment with one pod on a drained node, and of a Job with one pod."""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.model.api_objects import Doc
from tests.drain.stages import with_group
from tests.simulator.control_planes import a_budget_doc, a_node_doc, a_pod_doc

DEPLOYMENT_UID = "uid-deployment"


def single(node: str = "old-0", **strategy: Any) -> list[Doc]:
    """Deployment web of one replica with its ReplicaSet, its pod on `node`, under a budget of minAvailable 1."""
    template: Doc = {"metadata": {"labels": {"app": "web"}}, "spec": a_pod_doc("x")["spec"]}
    chosen = {"matchLabels": {"app": "web"}}
    counts = {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1, "updatedReplicas": 1, "observedGeneration": 1}
    deployment: Doc = {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {"name": "web", "namespace": "default", "uid": DEPLOYMENT_UID, "generation": 1},
        "spec": {"replicas": 1, "selector": chosen, "template": template, "progressDeadlineSeconds": 600, **strategy},
        "status": counts,
    }
    labels = {"app": "web", "pod-template-hash": "5f7"}
    replica_set: Doc = {
        "kind": "ReplicaSet",
        "apiVersion": "apps/v1",
        "metadata": {
            "name": "web-5f7",
            "namespace": "default",
            "uid": "uid-rs",
            "generation": 1,
            "labels": labels,
            "ownerReferences": [_owner("Deployment", "apps/v1", "web", DEPLOYMENT_UID)],
        },
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": template["spec"]},
        },
        "status": {key: value for key, value in counts.items() if key != "updatedReplicas"},
    }
    pod = a_pod_doc("web-5f7-0", node)
    pod["metadata"] |= {"labels": labels, "ownerReferences": [_owner("ReplicaSet", "apps/v1", "web-5f7", "uid-rs")]}
    return [deployment, replica_set, pod, a_budget_doc(allowed=0, healthy=1)]


def a_job(node: str = "old-0", **spec: Any) -> list[Doc]:
    """Job etl with its pod on `node`."""
    pod = a_pod_doc("etl-x", node, app="etl", restartPolicy="Never")
    pod["metadata"]["labels"] = {"batch.kubernetes.io/controller-uid": "uid-job", "job-name": "etl"}
    pod["metadata"]["ownerReferences"] = [_owner("Job", "batch/v1", "etl", "uid-job")]
    template = {
        "metadata": {"labels": pod["metadata"]["labels"]},
        "spec": a_pod_doc("x", restartPolicy="Never")["spec"],
    }
    job: Doc = {
        "kind": "Job",
        "apiVersion": "batch/v1",
        "metadata": {"name": "etl", "namespace": "default", "uid": "uid-job", "generation": 1},
        "spec": {
            "parallelism": 1,
            "completions": 1,
            "backoffLimit": 6,
            "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "uid-job"}},
            "template": template,
            **spec,
        },
        "status": {"active": 1, "startTime": "2026-11-20T07:00:00Z", "uncountedTerminatedPods": {}},
    }
    return [job, pod]


def nodes(old: int = 1, new: int = 2) -> list[Doc]:
    return [*(with_group(a_node_doc(f"old-{i}")) for i in range(old)), *(a_node_doc(f"new-{i}") for i in range(new))]


def _owner(kind: str, version: str, name: str, uid: str) -> Doc:
    return {"kind": kind, "apiVersion": version, "name": name, "uid": uid, "controller": True}
