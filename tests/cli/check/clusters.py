"""Small healthy clusters as dumps of ``kubectl get -o json``: nothing in them is a reason to stop an upgrade."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

MANAGED = (
    ("kube-system", "coredns", "eks/coredns:v1.13.2-eksbuild.3"),
    ("kube-system", "aws-load-balancer-controller", "eks/aws-load-balancer-controller:v2.17.1"),
    ("external-dns", "external-dns", "external-dns/external-dns:v0.20.0"),
)
"""Controllers of a cluster with managed node groups: namespace, name, image; each has two replicas."""

CURRENT = (
    *MANAGED,
    ("karpenter", "karpenter", "karpenter/controller:1.8.2"),
    ("argocd", "argocd-server", "argoproj/argocd:v3.2.3"),
    ("cert-manager", "cert-manager", "jetstack/cert-manager-controller:v1.19.2"),
    ("monitoring", "prometheus", "prometheus/prometheus:v3.8.0"),
    ("logging", "aws-for-fluent-bit", "aws-observability/aws-for-fluent-bit:2.34.2"),
)
"""The same with what many clusters run, all of it current."""

_EMPTY = {
    "apps/v1": ("StatefulSet", "ControllerRevision"),
    "batch/v1": ("Job", "CronJob"),
    "v1": ("PersistentVolumeClaim", "PersistentVolume", "ReplicationController", "Secret", "ServiceAccount"),
    "autoscaling/v2": ("HorizontalPodAutoscaler",),
    "storage.k8s.io/v1": ("StorageClass", "CSINode", "VolumeAttachment"),
    "admissionregistration.k8s.io/v1": (
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    ),
    "coordination.k8s.io/v1": ("Lease",),
    "scheduling.k8s.io/v1": ("PriorityClass",),
    "apiregistration.k8s.io/v1": ("APIService",),
    "apiextensions.k8s.io/v1": ("CustomResourceDefinition",),
    "networking.k8s.io/v1": ("NetworkPolicy", "IngressClass"),
}
_REGISTRY = "602401143452.dkr.ecr.eu-west-1.amazonaws.com"
_COREFILE = """.:53 {
    errors
    health {
        lameduck 15s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
    }
    forward . /etc/resolv.conf
    cache 30
    loop
    reload
    loadbalance
}
"""
_SPREAD = {
    "maxSkew": 1,
    "topologyKey": "topology.kubernetes.io/zone",
    "whenUnsatisfiable": "ScheduleAnyway",
    "labelSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
}
_READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-02-20T08:00:00Z"}
_LONG_AGO = "2026-02-01T08:00:00Z"


def a_dump(folder: Path, controllers: Iterable[tuple[str, str, str]], auto_mode: bool = False) -> str:
    """Two nodes with 1.33; EKS Auto Mode runs its own agents outside of the cluster."""
    daemons = () if auto_mode else (("aws-node", "amazon-k8s-cni:v1.21.2"), ("kube-proxy", "eks/kube-proxy:v1.33.10"))
    programs = tuple(controllers)
    lists: dict[tuple[str, str], list[Any]] = {(api, kind): [] for api, kinds in _EMPTY.items() for kind in kinds}
    lists["v1", "Node"] = [_node(at, auto_mode) for at in (0, 1)]
    lists["v1", "Namespace"] = [_meta(name) for name in sorted({"kube-system", *(each[0] for each in programs)})]
    lists["v1", "Pod"] = [
        *(_pod("kube-system", name, "DaemonSet", image, at) for name, image in daemons for at in (0, 1)),
        *(_pod(space, name, "ReplicaSet", image, at) for space, name, image in programs for at in (0, 1)),
    ]
    lists["apps/v1", "DaemonSet"] = [_workload("kube-system", name, image) for name, image in daemons]
    lists["apps/v1", "Deployment"] = [_workload(space, name, image) for space, name, image in programs]
    lists["apps/v1", "ReplicaSet"] = [
        _workload(space, name, image, "-1", [_owner("Deployment", name)]) for space, name, image in programs
    ]
    lists["policy/v1", "PodDisruptionBudget"] = [_budget(space, name) for space, name, _ in programs]
    lists["v1", "ConfigMap"] = [
        *([] if auto_mode else [{**_meta("coredns", "kube-system"), "data": {"Corefile": _COREFILE}}]),
        {**_meta("kube-proxy-config", "kube-system"), "data": {"config": 'mode: "iptables"\n'}},
    ]
    dns = [pod for pod in lists["v1", "Pod"] if pod["metadata"]["name"].startswith("coredns")]
    lists["v1", "Service"] = [{**_meta("kube-dns", "kube-system"), "spec": {"selector": {"k8s-app": "kube-dns"}}}]
    slices = _meta("kube-dns-1", "kube-system", labels={"kubernetes.io/service-name": "kube-dns"})
    lists["discovery.k8s.io/v1", "EndpointSlice"] = [{**slices, "endpoints": [_endpoint(pod) for pod in dns]}]
    for (api, kind), items in lists.items():
        body = {"apiVersion": api, "kind": f"{kind}List", "metadata": {}, "items": items}
        (folder / f"{kind}.json").write_text(json.dumps(body))
    return str(folder)


def _meta(name: str, namespace: str = "", **more: Any) -> dict[str, Any]:
    where = {"namespace": namespace} if namespace else {}
    own = {"name": name, "uid": f"{namespace}-{name}", "creationTimestamp": _LONG_AGO}
    return {"metadata": {**own, **where, **more}}


def _owner(kind: str, name: str) -> dict[str, Any]:
    return {"kind": kind, "name": name, "uid": name, "controller": True, "apiVersion": "apps/v1"}


def _node(at: int, auto_mode: bool) -> dict[str, Any]:
    owner = (
        {"eks.amazonaws.com/compute-type": "auto", "karpenter.sh/nodepool": "general-purpose"}
        if auto_mode
        else {"eks.amazonaws.com/nodegroup": "workers"}
    )
    image = "Bottlerocket (EKS Auto, Standard) 2026.11.1" if auto_mode else "Amazon Linux 2023.9.20261110"
    info = {
        "kubeletVersion": "v1.33.5-eks-113cf36",
        "osImage": image,
        "containerRuntimeVersion": "containerd://2.1.4",
        "operatingSystem": "linux",
        "architecture": "amd64",
        "kernelVersion": "6.12.53",
    }
    room = {"cpu": "4", "memory": "16Gi", "pods": "58"}
    return {
        **_meta(f"node-{at}", labels={**owner, "topology.kubernetes.io/zone": f"eu-west-1{'ab'[at]}"}),
        "spec": {"providerID": f"aws:///eu-west-1{'ab'[at]}/i-0123456789abcde0{at}"},
        "status": {"nodeInfo": info, "allocatable": room, "capacity": room, "conditions": [_READY]},
    }


def _pod(namespace: str, name: str, kind: str, image: str, at: int) -> dict[str, Any]:
    labels = {"app.kubernetes.io/name": name, **({"k8s-app": "kube-dns"} if name == "coredns" else {})}
    by = name if kind == "DaemonSet" else f"{name}-1"
    meta = _meta(
        f"{by}-{at}", namespace, labels=labels, ownerReferences=[{**_owner(kind, by), "uid": f"{namespace}-{by}"}]
    )
    container = _container(name, image)
    state = {"name": name, "ready": True, "restartCount": 0, "image": container["image"], "state": {"running": {}}}
    return {
        **meta,
        "spec": {"nodeName": f"node-{at}", "containers": [container]},
        "status": {"phase": "Running", "conditions": [_READY], "containerStatuses": [state]},
    }


def _container(name: str, image: str) -> dict[str, Any]:
    probe = {"httpGet": {"path": "/ready", "port": 8181}}
    wanted = {"requests": {"cpu": "50m", "memory": "64Mi"}}
    told = [{"name": "INTERRUPTION_QUEUE", "value": "prod"}] if name == "karpenter" else []
    return {"name": name, "image": f"{_REGISTRY}/{image}", "resources": wanted, "readinessProbe": probe, "env": told}


def _workload(namespace: str, name: str, image: str, end: str = "", owners: Any = ()) -> dict[str, Any]:
    labels, replicas = {"app.kubernetes.io/name": name}, 2
    owned = [{**each, "uid": f"{namespace}-{name}"} for each in owners]
    pods = {
        "metadata": {"labels": labels},
        "spec": {"containers": [_container(name, image)], "topologySpreadConstraints": [_SPREAD]},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": pods}
    told = {"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas, "updatedReplicas": replicas}
    return {**_meta(f"{name}{end}", namespace, ownerReferences=owned), "spec": spec, "status": told}


def _endpoint(pod: dict[str, Any]) -> dict[str, Any]:
    named = {"kind": "Pod", "name": pod["metadata"]["name"], "namespace": "kube-system", "uid": pod["metadata"]["uid"]}
    return {"conditions": {"ready": True}, "targetRef": named, "nodeName": pod["spec"]["nodeName"]}


def _budget(namespace: str, name: str) -> dict[str, Any]:
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": {"app.kubernetes.io/name": name}}}
    told = {"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2}
    return {**_meta(name, namespace, generation=1), "spec": spec, "status": {**told, "observedGeneration": 1}}
