"""Storage of the demo: EBS volumes with their claims and classes, attach limits of nodes and volume attachments."""

from __future__ import annotations

from tools.demo.meta import Json, an_object, hexadecimal, uid
from tools.demo.nodes import instance_id
from tools.demo.world import MACHINES, App, Machine

EBS = "ebs.csi.aws.com"

_AGE = 90_000
_ATTACHABLE = 26
"""An m6i.xlarge has 28 slots for volumes and network interfaces; the root volume and one interface take two."""


def a_storage_class(name: str, provisioner: str) -> Json:
    """A StorageClass of EBS volumes, bound when a pod needs them."""
    body: Json = {"provisioner": provisioner, "parameters": {"type": name}, "allowVolumeExpansion": True}
    body |= {"reclaimPolicy": "Delete", "volumeBindingMode": "WaitForFirstConsumer"}
    return an_object("storage.k8s.io/v1", "StorageClass", name, age=_AGE) | body


def a_csi_node(machine: Machine) -> Json:
    """The registration of the node plugin of the EBS driver; Fargate's node has none."""
    spec: Json = {"drivers": None}
    if machine.pool != "fargate":
        zones = ["topology.ebs.csi.aws.com/zone", "topology.kubernetes.io/zone"]
        driver: Json = {"name": EBS, "nodeID": instance_id(machine), "topologyKeys": zones}
        spec = {"drivers": [{**driver, "allocatable": {"count": _ATTACHABLE}}]}
    migrated = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}
    made = an_object("storage.k8s.io/v1", "CSINode", machine.name, age=machine.age, annotations=migrated, spec=spec)
    node = {"apiVersion": "v1", "kind": "Node", "name": machine.name, "uid": uid("Node", "", machine.name)}
    made["metadata"]["ownerReferences"] = [node]
    return made


def claims_and_volumes(app: App) -> list[Json]:
    """For each replica a claim and an EBS volume, in the zone of the replica's node and attached to it."""
    machines = {m.name: m for m in MACHINES}
    made = []
    for index, node in enumerate(app.nodes if app.disk else ()):
        claim, volume = _claim_and_volume(app, index, machines[node].zone)
        made += [claim, volume, _an_attachment(volume, machines[node])]
    return made


def _an_attachment(volume: Json, machine: Machine) -> Json:
    name, handle = volume["metadata"]["name"], volume["spec"]["csi"]["volumeHandle"]
    spec: Json = {"attacher": EBS, "nodeName": machine.name, "source": {"persistentVolumeName": name}}
    made = f"csi-{hexadecimal(64, handle, EBS, machine.name)}"  # the CSI plugin hashes the same three
    age = min(_AGE, machine.age - 5)
    return an_object("storage.k8s.io/v1", "VolumeAttachment", made, age=age, spec=spec, status={"attached": True})


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
    disk = {"driver": EBS, "fsType": "ext4", "volumeHandle": f"vol-{hexadecimal(17, 'vol', name)}"}
    spec = {**shared, "capacity": size, "csi": disk, "persistentVolumeReclaimPolicy": "Delete"}
    spec["claimRef"] = {"apiVersion": "v1", **reference, "uid": claim_uid}
    spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}}
    made_by = {"pv.kubernetes.io/provisioned-by": EBS}
    body: Json = {"spec": spec, "status": {"phase": "Bound"}}
    return claim, an_object("v1", "PersistentVolume", volume, age=_AGE, annotations=made_by, **body)
