"""Pods of a StatefulSet by ordinal: their names, labels and claims, and the documents they are made from.

Source: pkg/controller/statefulset/stateful_set_utils.go (newVersionedStatefulSetPod, updateIdentity, updateStorage,
identityMatches), Kubernetes v1.36.
"""

from __future__ import annotations

from kubectl_eksdoc.core.model.api_objects import Doc, with_value
from kubectl_eksdoc.core.sim.cluster.store import Item
from kubectl_eksdoc.core.sim.cluster.workloads.pods import labels_of
from kubectl_eksdoc.core.sim.cluster.workloads.replica_sets import wanted
from kubectl_eksdoc.core.sim.cluster.workloads.revisions import HASH_LABEL

POD_NAME, POD_INDEX = "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"


def ordinal_of(owner: Item, pod: Item) -> int | None:
    """None for a pod whose name is not one of the set's."""
    parent, _, number = pod.key[1].rpartition("-")
    return int(number) if parent == owner.key[1] and number.isascii() and number.isdigit() else None


def ordinals(owner: Item) -> range:
    """Those there should be."""
    first = int((owner.doc["spec"].get("ordinals") or {}).get("start") or 0)
    return range(first, first + wanted(owner.doc))


def claim_names(owner: Item, ordinal: int) -> dict[str, str]:
    """The claim of each volume that has one."""
    templates = owner.doc["spec"].get("volumeClaimTemplates") or ()
    return {each["metadata"]["name"]: f"{each['metadata']['name']}-{owner.key[1]}-{ordinal}" for each in templates}


def identified(pod: Doc, owner: Item, ordinal: int, revision: str) -> Doc:
    """`pod`, made from a template, as the one of that ordinal."""
    name = f"{owner.key[1]}-{ordinal}"
    labels = {**labels_of(pod), HASH_LABEL: revision, POD_NAME: name, POD_INDEX: str(ordinal)}
    claims = claim_names(owner, ordinal)
    volumes = [{"name": volume, "persistentVolumeClaim": {"claimName": claim}} for volume, claim in claims.items()]
    volumes += [each for each in pod["spec"].get("volumes") or () if each["name"] not in claims]
    spec = {**pod["spec"], "hostname": name}
    if service := owner.doc["spec"].get("serviceName"):
        spec["subdomain"] = service
    if volumes:
        spec["volumes"] = volumes
    return {**pod, "metadata": {**pod["metadata"], "name": name, "labels": labels}, "spec": spec}


def labelled(pod: Item, ordinal: int) -> Doc:
    """The document with the labels of its ordinal; the same one if it has them."""
    wanted_labels = {POD_NAME: pod.key[1], POD_INDEX: str(ordinal)}
    held = labels_of(pod.doc)
    if wanted_labels.items() <= held.items():
        return pod.doc
    return with_value(pod.doc, ("metadata", "labels"), {**held, **wanted_labels})
