"""Objects that every EKS cluster has, and objects that Helm and charts add besides their workloads."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Mapping
from typing import Any

Doc = dict[str, Any]
LONG_AGO = "2026-02-01T08:00:00Z"
_OF_EKS = {
    "pod-identity-webhook": ("MutatingWebhookConfiguration", 23443, "/mutate"),
    "vpc-resource-mutating-webhook": ("MutatingWebhookConfiguration", 23449, "/mutate-v1-pod"),
    "vpc-resource-validating-webhook": ("ValidatingWebhookConfiguration", 23449, "/validate-v1-pod"),
}
"""Webhooks that run beside the API server, at an address of its own."""
HELD = """apiVersion: apps/v1
kind: Deployment
metadata: {name: it}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
"""


def of_eks() -> Iterable[Doc]:
    for name, (kind, port, path) in _OF_EKS.items():
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"], "scope": "*"}
        hook = {
            "name": f"{name}.amazonaws.com",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": f"https://127.0.0.1:{port}{path}", "caBundle": "Q0E="},
            "failurePolicy": "Ignore",
            "sideEffects": "None",
            "timeoutSeconds": 10,
            "rules": [rule],
        }
        yield {**named(kind, name, "admissionregistration.k8s.io/v1"), "webhooks": [hook]}
    for name in ("kube-public", "kube-node-lease"):
        yield {**named("Namespace", name), "status": {"phase": "Active"}}
    for name, value in (("system-node-critical", 2000001000), ("system-cluster-critical", 2000000000)):
        yield {**named("PriorityClass", name, "scheduling.k8s.io/v1"), "value": value}
    gp2 = {"provisioner": "kubernetes.io/aws-ebs", "volumeBindingMode": "WaitForFirstConsumer"}
    yield {**named("StorageClass", "gp2", "storage.k8s.io/v1"), **gp2, "parameters": {"type": "gp2"}}


def release(name: str, namespace: str, manifest: str) -> Doc:
    """A release as Helm stores it: base64 of a gzipped JSON, in a Secret."""
    told = {"name": name, "namespace": namespace, "version": 1, "info": {"status": "deployed"}, "manifest": manifest}
    data = base64.b64encode(gzip.compress(json.dumps({**told, "hooks": []}).encode()))
    labels = {"owner": "helm", "status": "deployed", "name": name, "version": "1"}
    secret = named("Secret", f"sh.helm.release.v1.{name}.v1", "v1", namespace, labels)
    return {**secret, "type": "helm.sh/release.v1", "data": {"release": base64.b64encode(data).decode()}}


def metrics_server(labels: Mapping[str, str]) -> Iterable[Doc]:
    """The aggregated API of metrics-server, and its Service."""
    served = {"name": "metrics-server", "namespace": "kube-system", "port": 443}
    spec = {"group": "metrics.k8s.io", "version": "v1beta1", "service": served, "insecureSkipTLSVerify": True}
    status = {"conditions": [{"type": "Available", "status": "True"}]}
    priority = {"groupPriorityMinimum": 100, "versionPriority": 100}
    api = named("APIService", "v1beta1.metrics.k8s.io", "apiregistration.k8s.io/v1")
    yield {**api, "spec": {**spec, **priority}, "status": status}
    ports = [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 10250}]
    own = {"selector": dict(labels), "clusterIP": "172.20.0.77", "type": "ClusterIP", "ports": ports}
    yield {**named("Service", "metrics-server", "v1", "kube-system"), "spec": own}


def claim(name: str, namespace: str, zone: str) -> Iterable[Doc]:
    """A volume of EBS, and the claim to which it is bound."""
    size, modes = {"storage": "50Gi"}, ["ReadWriteOnce"]
    wanted = {"accessModes": modes, "resources": {"requests": size}, "volumeName": f"pv-{name}"}
    bound = {"phase": "Bound", "accessModes": modes, "capacity": size}
    held = named("PersistentVolumeClaim", name, "v1", namespace)
    yield {**held, "spec": {**wanted, "storageClassName": "gp3"}, "status": bound}
    in_zone = [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}]
    spec = {
        "capacity": size,
        "accessModes": modes,
        "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-0a1b2c3d4e5f60718", "fsType": "ext4"},
        "storageClassName": "gp3",
        "claimRef": {
            "kind": "PersistentVolumeClaim",
            "namespace": namespace,
            "name": name,
            "uid": held["metadata"]["uid"],
        },
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": in_zone}]}},
    }
    yield {**named("PersistentVolume", f"pv-{name}"), "spec": spec, "status": {"phase": "Bound"}}


def csi_node(node: str) -> Doc:
    zones = {"topologyKeys": ["topology.kubernetes.io/zone"], "allocatable": {"count": 25}}
    driver = {"name": "ebs.csi.aws.com", "nodeID": "i-0", **zones}
    return {**named("CSINode", node, "storage.k8s.io/v1"), "spec": {"drivers": [driver]}}


def named(kind: str, name: str, api: str = "v1", namespace: str = "", labels: Mapping[str, str] | None = None) -> Doc:
    meta = {"name": name, "uid": f"{kind}-{namespace}-{name}".lower(), "creationTimestamp": LONG_AGO}
    meta |= {"namespace": namespace} if namespace else {}
    return {"apiVersion": api, "kind": kind, "metadata": {**meta, **({"labels": dict(labels)} if labels else {})}}


def karpenter(auto: bool) -> Iterable[Doc]:
    """Karpenter's definitions, a pool and its class, as in its guide."""
    group, kind = ("eks.amazonaws.com", "NodeClass") if auto else ("karpenter.k8s.aws", "EC2NodeClass")
    yield definition("karpenter.sh", "NodePool")
    yield definition(group, kind)
    pool, of = ("general-purpose" if auto else "default"), {"group": group, "kind": kind, "name": "default"}
    values = ["on-demand"] if auto else ["spot", "on-demand"]
    wanted = [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": values}]
    node = {"requirements": wanted, "nodeClassRef": of, "expireAfter": "336h" if auto else "720h"}
    calm = {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "1m", "budgets": [{"nodes": "10%"}]}
    made = named("NodePool", pool)
    yield {**made, "apiVersion": "karpenter.sh/v1", "spec": {"template": {"spec": node}, "disruption": calm}}
    options = {"httpEndpoint": "enabled", "httpPutResponseHopLimit": 1, "httpTokens": "required"}
    chosen = [{"tags": {"karpenter.sh/discovery": "prod"}}]
    spec: Doc = {"subnetSelectorTerms": chosen, "securityGroupSelectorTerms": chosen, "role": "prod-nodes"}
    if not auto:
        spec |= {"amiSelectorTerms": [{"alias": "al2023@v20260224"}], "metadataOptions": options}
    ready = {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": LONG_AGO}]}
    yield {**named(kind, "default"), "apiVersion": f"{group}/v1", "spec": spec, "status": ready}


def definition(group: str, kind: str, served: str = "v1") -> Doc:
    plural = f"{kind.lower()}{'es' if kind.endswith('s') else 's'}"
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    anything = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": served, "served": True, "storage": True, "schema": anything, "subresources": {"status": {}}}
    told = {
        "storedVersions": [served],
        "acceptedNames": names,
        "conditions": [{"type": "Established", "status": "True"}],
    }
    spec = {"group": group, "scope": "Cluster", "names": names, "versions": [version]}
    return {
        **named("CustomResourceDefinition", f"{plural}.{group}", "apiextensions.k8s.io/v1"),
        "spec": spec,
        "status": told,
    }
