"""What the demo's cluster has besides nodes and applications: namespaces, volumes, locks, priorities, a NodePool."""

from __future__ import annotations

from kubectl_eksdoc.embedded.demo_world import MACHINES, PRIORITIES, App
from kubectl_eksdoc.embedded.objects_meta import Json, ago, an_object, condition, hexadecimal, uid

_AGE = 90_000


def a_namespace(name: str) -> Json:
    """An active Namespace."""
    labels, body = {"kubernetes.io/metadata.name": name}, {"finalizers": ["kubernetes"]}
    return an_object("v1", "Namespace", name, age=_AGE, labels=labels, spec=body, status={"phase": "Active"})


def priority_classes() -> list[Json]:
    """The two of Kubernetes and the shop's own."""
    same: Json = {"globalDefault": False, "preemptionPolicy": "PreemptLowerPriority", "description": ""}
    return [
        an_object("scheduling.k8s.io/v1", "PriorityClass", name, age=_AGE, value=value, **same)
        for name, value in PRIORITIES.items()
    ]


def a_storage_class(name: str, provisioner: str) -> Json:
    """A StorageClass of EBS volumes, bound when a pod needs them."""
    body: Json = {"provisioner": provisioner, "parameters": {"type": name}, "allowVolumeExpansion": True}
    body |= {"reclaimPolicy": "Delete", "volumeBindingMode": "WaitForFirstConsumer"}
    return an_object("storage.k8s.io/v1", "StorageClass", name, age=_AGE) | body


def claims_and_volumes(app: App) -> list[Json]:
    """A claim and an EBS volume for each replica, the volume in the zone of the replica's node."""
    zones = {m.name: m.zone for m in MACHINES}
    bound = [_claim_and_volume(app, i, zones[node]) for i, node in enumerate(app.nodes)] if app.disk else []
    return [made for pair in bound for made in pair]


def _claim_and_volume(app: App, index: int, zone: str) -> tuple[Json, Json]:
    name, size = f"data-{app.name}-{index}", {"storage": f"{app.disk}Gi"}
    reference = {"kind": "PersistentVolumeClaim", "namespace": app.namespace, "name": name}
    claim_uid = uid(*reference.values())
    volume = f"pvc-{claim_uid}"
    shared: Json = {"accessModes": ["ReadWriteOnce"], "storageClassName": "gp3", "volumeMode": "Filesystem"}
    spec: Json = {**shared, "resources": {"requests": size}, "volumeName": volume}
    status: Json = {"accessModes": ["ReadWriteOnce"], "capacity": size, "phase": "Bound"}
    done = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
    meta: Json = {"labels": app.selector, "annotations": done}
    claim = an_object("v1", reference["kind"], name, app.namespace, age=_AGE, **meta, spec=spec, status=status)
    here = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}
    disk = {"driver": "ebs.csi.aws.com", "fsType": "ext4", "volumeHandle": f"vol-{hexadecimal(17, 'vol', name)}"}
    spec = {**shared, "capacity": size, "csi": disk, "persistentVolumeReclaimPolicy": "Delete"}
    spec["claimRef"] = {"apiVersion": "v1", **reference, "uid": claim_uid}
    spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}}
    made_by = {"pv.kubernetes.io/provisioned-by": "ebs.csi.aws.com"}
    body: Json = {"spec": spec, "status": {"phase": "Bound"}}
    return claim, an_object("v1", "PersistentVolume", volume, age=_AGE, annotations=made_by, **body)


def a_lock(name: str, holder: Json) -> Json:
    """A Lease of leader election held by a pod, renewed a few seconds ago."""
    pod = holder["metadata"]
    identity = f"{pod['name']}_{uid('lock', pod['namespace'], pod['name'])}"
    spec: Json = {"holderIdentity": identity, "leaseDurationSeconds": 15, "leaseTransitions": 3}
    spec |= {"acquireTime": ago(1_000, micro=True), "renewTime": ago(0.05, micro=True)}
    return an_object("coordination.k8s.io/v1", "Lease", name, pod["namespace"], age=_AGE, spec=spec)


def a_node_pool(name: str, cpu: int) -> Json:
    """A Karpenter NodePool that is ready, limited to `cpu` cores."""
    wants = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot", "on-demand"]}
    node_class = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    disruption = {"consolidateAfter": "1m", "consolidationPolicy": "WhenEmptyOrUnderutilized"}
    template = {"spec": {"expireAfter": "720h", "nodeClassRef": node_class, "requirements": [wants]}}
    spec: Json = {"disruption": {**disruption, "budgets": [{"nodes": "10%"}]}, "limits": {"cpu": str(cpu)}}
    spec["template"] = template
    ready = condition("Ready", True, 900, reason="Ready", message="")
    status: Json = {"conditions": [ready], "resources": {"cpu": "8", "nodes": "2"}}
    return an_object("karpenter.sh/v1", "NodePool", name, age=_AGE, spec=spec, status=status)
