"""Namespaces, leases, priority classes and a NodePool of the demo's cluster."""

from __future__ import annotations

from tools.demo.meta import Json, ago, an_object, condition, uid
from tools.demo.world import PRIORITIES

_AGE = 90_000


def a_namespace(name: str) -> Json:
    """An active Namespace."""
    labels, body = {"kubernetes.io/metadata.name": name}, {"finalizers": ["kubernetes"]}
    return an_object("v1", "Namespace", name, age=_AGE, labels=labels, spec=body, status={"phase": "Active"})


def priority_classes() -> list[Json]:
    """The two of Kubernetes and one of the shop."""
    same: Json = {"globalDefault": False, "preemptionPolicy": "PreemptLowerPriority", "description": ""}
    return [
        an_object("scheduling.k8s.io/v1", "PriorityClass", name, age=_AGE, value=value, **same)
        for name, value in PRIORITIES.items()
    ]


def a_lock(name: str, holder: Json) -> Json:
    """A Lease of leader election held by a pod, renewed a few seconds ago."""
    pod = holder["metadata"]
    identity = f"{pod['name']}_{uid('lock', pod['namespace'], pod['name'])}"
    spec: Json = {"holderIdentity": identity, "leaseDurationSeconds": 15, "leaseTransitions": 3}
    spec |= {"acquireTime": ago(1_000, micro=True), "renewTime": ago(0.05, micro=True)}
    return an_object("coordination.k8s.io/v1", "Lease", name, pod["namespace"], age=_AGE, spec=spec)


def a_node_pool(name: str, cpu: int, class_name: str = "default") -> Json:
    """A Karpenter NodePool that is ready, limited to `cpu` cores."""
    wants = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot", "on-demand"]}
    node_class = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": class_name}
    disruption = {"consolidateAfter": "1m", "consolidationPolicy": "WhenEmptyOrUnderutilized"}
    template = {"spec": {"expireAfter": "720h", "nodeClassRef": node_class, "requirements": [wants]}}
    spec: Json = {"disruption": {**disruption, "budgets": [{"nodes": "10%"}]}, "limits": {"cpu": str(cpu)}}
    spec["template"] = template
    ready = condition("Ready", True, 900, reason="Ready", message="")
    status: Json = {"conditions": [ready], "resources": {"cpu": "8", "nodes": "2"}}
    return an_object("karpenter.sh/v1", "NodePool", name, age=_AGE, spec=spec, status=status)
