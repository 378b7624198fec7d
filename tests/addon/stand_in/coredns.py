"""Render the objects with settings that EKS's add-on coredns makes from configuration values.

Source: the manifests of EKS 1.23 to 1.36 (aws/eksctl, assets) and the add-on's schemas (tests/data/aws/eks). Unknown
parts (how EKS autoscales) are left out.
"""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.model.api_objects import Doc
from tests.addon.stand_in.rendering import Site

COREFILE = """\
.:53 {
    errors
    health {
        lameduck 5s
      }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
      pods insecure
      fallthrough in-addr.arpa ip6.arpa
    }
    prometheus :9153
    forward . /etc/resolv.conf
    cache 30
    loop
    reload
    loadbalance
}
"""
_LABELS = {"k8s-app": "kube-dns", "eks.amazonaws.com/component": "coredns"}
_SELECTOR = {"k8s-app": "kube-dns"}


def _requirement(key: str, *values: str) -> Doc:
    return {"key": key, "operator": "In", "values": list(values)}


_TERM = {
    "matchExpressions": [
        _requirement("kubernetes.io/os", "linux"),
        _requirement("kubernetes.io/arch", "amd64", "arm64"),
    ]
}
_NEAR = {"labelSelector": {"matchLabels": _SELECTOR}, "topologyKey": "kubernetes.io/hostname"}
AFFINITY: Doc = {
    "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_TERM]}},
    "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": _NEAR}]},
}
_TOLERATIONS = [
    {"key": "CriticalAddonsOnly", "operator": "Exists"},
    {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"},
]


def rendered(version: str, user: Doc, site: Site) -> list[Doc]:
    """ServiceAccount, ConfigMap, PodDisruptionBudget and Deployment, in the order in which they are applied."""
    budget = user.get("podDisruptionBudget") or {}
    made = [
        _made("v1", "ServiceAccount"),
        _made("v1", "ConfigMap", data={"Corefile": user.get("corefile", COREFILE)}),
    ]
    if budget.get("enabled", True):
        spec = {"maxUnavailable": budget.get("maxUnavailable", 1), "selector": {"matchLabels": _SELECTOR}}
        made.append(_made("policy/v1", "PodDisruptionBudget", spec=spec))
    template = {"metadata": {"labels": _LABELS}, "spec": _pod(version, user)}
    spec = {
        "replicas": user.get("replicaCount", 2),
        "selector": {"matchLabels": _LABELS},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": "25%"}},
        "template": template,
    }
    return [*made, _made("apps/v1", "Deployment", spec=spec)]


def _pod(version: str, user: Doc) -> Doc:
    container = {
        "name": "coredns",
        "image": f"602401143452.dkr.ecr.ap-northeast-2.amazonaws.com/eks/coredns:{version}",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "resources": user.get("resources")
        or {"limits": {"memory": "170Mi"}, "requests": {"cpu": "100m", "memory": "70Mi"}},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8181, "scheme": "HTTP"}},
        "ports": [
            {"containerPort": 53, "name": "dns", "protocol": "UDP"},
            {"containerPort": 9153, "name": "metrics", "protocol": "TCP"},
        ],
        "volumeMounts": [{"name": "config-volume", "mountPath": "/etc/coredns", "readOnly": True}],
    }
    items = [{"key": "Corefile", "path": "Corefile"}]
    spec = {
        "affinity": user.get("affinity") or AFFINITY,
        "containers": [container],
        "dnsPolicy": "Default",
        "priorityClassName": "system-cluster-critical",
        "serviceAccountName": "coredns",
        "tolerations": user.get("tolerations") or _TOLERATIONS,
        "volumes": [{"name": "config-volume", "configMap": {"name": "coredns", "items": items}}],
    }
    if user.get("topologySpreadConstraints"):
        spec["topologySpreadConstraints"] = user["topologySpreadConstraints"]
    return spec


def _made(api_version: str, kind: str, **body: Any) -> Doc:
    metadata = {"name": "coredns", "namespace": "kube-system", "labels": dict(_LABELS)}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}
