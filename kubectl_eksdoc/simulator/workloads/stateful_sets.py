"""The stateful set controller: one pod for each ordinal, recreated under its name only after the old one is gone.

Source: pkg/controller/statefulset/{stateful_set,stateful_set_control,stateful_set_utils}.go, Kubernetes v1.36.
MaxUnavailableStatefulSet is off in 1.36.2, and here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, nested_field, with_value

from ..registry import Registry
from ..store import CLAIMS, PODS, ObjectKey, StoreChange, StoredItem
from .garbage import CLAIM_PROTECTION_FINALIZER
from .ownership import (
    HASH_LABEL,
    ObjectController,
    ObjectIndex,
    OwnerClaims,
    PodTemplates,
    Revisions,
    keys_of_owner,
    may_be_adopted,
    revision_template,
)

# The status of a StatefulSet.
#
# Source: pkg/controller/statefulset/{stateful_set_control,stateful_set_utils}.go (updateStatus, completeRollingUpdate),
# Kubernetes v1.36.


def pod_revision(pod: StoredItem) -> str:
    return pod.labels.get(HASH_LABEL, "")


def is_running_available(item: StoredItem, pod: StoredItem, now: datetime) -> bool:
    """Running, and ready for long enough; it may be terminating."""
    return pod.phase == "Running" and pod.is_available(item.min_ready_s, now)


def stateful_set_status(
    item: StoredItem,
    owned: Iterable[StoredItem],
    current: StoredItem,
    update: StoredItem,
    deleted_count: int,
    now: datetime,
) -> tuple[Doc, float | None]:
    """The status from these pods, and the seconds until it changes by itself.

    `deleted_count` pods of the current revision were just deleted for the update.
    """
    ready = available = current_count = updated_count = count = 0
    available_soon: list[float] = []
    for pod in owned:
        count += 1
        if pod.phase == "Running" and pod.ready:
            ready += 1
            remaining_s = pod.available_in_s(item.min_ready_s, now)
            if remaining_s == 0.0:
                available += 1
            elif remaining_s is not None:
                available_soon.append(remaining_s)
        if not pod.deleting:
            current_count += pod_revision(pod) == current.key[1]
            updated_count += pod_revision(pod) == update.key[1]
    current_count -= deleted_count
    revision = current.key[1]
    strategy = nested_field(item.spec, "updateStrategy", "type") or "RollingUpdate"
    if strategy == "RollingUpdate" and updated_count == ready == count == item.replicas:
        current_count, revision = updated_count, update.key[1]
    counts = {"readyReplicas": ready, "currentReplicas": current_count, "updatedReplicas": updated_count}
    status: Doc = {key: value for key, value in counts.items() if value}
    if item.generation:
        status["observedGeneration"] = item.generation
    status |= {"replicas": count, "availableReplicas": available, "collisionCount": 0}
    status |= {"currentRevision": revision, "updateRevision": update.key[1]}
    return status, min(available_soon, default=None)


# Which pods of a StatefulSet a rolling update deletes next.
#
# Source: pkg/controller/statefulset/stateful_set_control.go (updateStatefulSet,
# updateStatefulSetAfterInvariantEstablished), Kubernetes v1.36.


def pods_to_update(
    item: StoredItem, slots: Sequence[StoredItem | None], update: StoredItem, now: datetime
) -> list[StoredItem]:
    """The pods to delete for the update; `slots` are the pods by ordinal (None where there is none yet)."""
    strategy: Doc = item.spec.get("updateStrategy") or {}
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return []
    rolling: Doc = strategy.get("rollingUpdate") or {}
    first = int(rolling.get("partition") or 0)
    for pod in reversed(slots[first:]):
        if pod is None:
            return []
        if pod_revision(pod) != update.key[1] and not pod.deleting:
            return [pod]
        if pod.deleting or not is_running_available(item, pod, now):
            return []
    return []


# Pods of a StatefulSet by ordinal: their names, labels, claims and documents.
#
# Source: pkg/controller/statefulset/stateful_set_utils.go (newVersionedStatefulSetPod, updateIdentity, updateStorage,
# identityMatches), Kubernetes v1.36.


POD_NAME, POD_INDEX = "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"


def ordinal_of(owner: StoredItem, pod: StoredItem) -> int | None:
    """None for a pod whose name does not belong to the set."""
    parent, _, number = pod.key[1].rpartition("-")
    return int(number) if parent == owner.key[1] and number.isascii() and number.isdigit() else None


def ordinals(owner: StoredItem) -> range:
    """The desired ordinals."""
    first = int((owner.spec.get("ordinals") or {}).get("start") or 0)
    return range(first, first + owner.replicas)


def claim_names(owner: StoredItem, ordinal: int) -> dict[str, str]:
    """Volume name → claim name, for the volumes that have one."""
    templates = owner.spec.get("volumeClaimTemplates") or ()
    return {each["metadata"]["name"]: f"{each['metadata']['name']}-{owner.key[1]}-{ordinal}" for each in templates}


def with_identity(pod: Doc, owner: StoredItem, ordinal: int, revision: str) -> Doc:
    """`pod`, from a template, with the identity of that ordinal."""
    name = f"{owner.key[1]}-{ordinal}"
    labels = {**pod["metadata"].get("labels", {}), HASH_LABEL: revision, POD_NAME: name, POD_INDEX: str(ordinal)}
    claims = claim_names(owner, ordinal)
    volumes = [{"name": volume, "persistentVolumeClaim": {"claimName": claim}} for volume, claim in claims.items()]
    volumes += [each for each in pod["spec"].get("volumes") or () if each["name"] not in claims]
    spec = {**pod["spec"], "hostname": name}
    if service := owner.spec.get("serviceName"):
        spec["subdomain"] = service
    if volumes:
        spec["volumes"] = volumes
    return {**pod, "metadata": {**pod["metadata"], "name": name, "labels": labels}, "spec": spec}


def with_ordinal_labels(pod: StoredItem, ordinal: int) -> Doc:
    """The document with the labels of its ordinal; the same one if it has them."""
    ordinal_labels = {POD_NAME: pod.key[1], POD_INDEX: str(ordinal)}
    if ordinal_labels.items() <= pod.labels.items():
        return pod.doc
    return with_value(pod.doc, ("metadata", "labels"), {**pod.labels, **ordinal_labels})


# The claims of a StatefulSet's pods: created where they are missing, and kept when pods or the set are deleted.
#
# Source: pkg/controller/statefulset/{stateful_pod_control,stateful_set_utils}.go, Kubernetes v1.36;
# plugin/pkg/admission/storage/storageobjectinuseprotection (the finalizer of new claims).
# persistentVolumeClaimRetentionPolicy is left out.


def _claim_doc(template: Doc, name: str, owner: StoredItem) -> Doc:
    template_metadata = template["metadata"]
    labels = {**(template_metadata.get("labels") or {}), **(nested_field(owner.spec, "selector", "matchLabels") or {})}
    meta: Doc = {"name": name, "labels": labels, "finalizers": [CLAIM_PROTECTION_FINALIZER]}
    if template_metadata.get("annotations"):
        meta["annotations"] = template_metadata["annotations"]
    type_fields = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return {**type_fields, "metadata": meta, "spec": template.get("spec") or {}, "status": {"phase": "Pending"}}


STATEFUL_SETS = kinds.STATEFUL_SETS.full_name


class StatefulSets(ObjectController):
    """A `Controller` whose keys are those of StatefulSets."""

    resources = (STATEFUL_SETS, PODS)

    def __init__(self, registry: Registry, index: ObjectIndex) -> None:
        super().__init__(registry, index)
        self._owners = OwnerClaims(registry, index, kinds.STATEFUL_SETS)
        self._templates = PodTemplates(registry.store)
        self._revisions = Revisions(registry, index, kinds.STATEFUL_SETS)

    def affected_keys(self, change: StoreChange) -> Iterable[ObjectKey]:
        if change.resource == STATEFUL_SETS:
            return (change.key,)
        owners = keys_of_owner(change, kinds.STATEFUL_SETS)
        if not may_be_adopted(change):
            return owners
        parent, _, _ = change.key[1].rpartition("-")
        return (*owners, (change.key[0], parent))

    def manage(self, item: StoredItem) -> float | None:
        revisions = self._revisions.sorted_revisions(item, self._owners.matcher(item))
        update = self._revisions.latest_revision(item, revisions, _known_hash(item))
        current_name = nested_field(item.status, "currentRevision")
        current = next((each for each in revisions if each.key[1] == current_name), update)
        owned = self._owners.claim(item, PODS)
        pods_by_ordinal = {number: pod for pod in owned if (number := ordinal_of(item, pod)) is not None}
        deleted_count = 0 if item.deleting else self._sync(item, pods_by_ordinal, current, update)
        status, requeue_s = stateful_set_status(
            item, pods_by_ordinal.values(), current, update, deleted_count, self._registry.current_time
        )
        self._write_status(item, status)
        live_names = {current.key[1], update.key[1], *(pod_revision(pod) for pod in owned)}
        self._revisions.truncate(item, revisions, live_names)
        return requeue_s

    def _sync(
        self, item: StoredItem, pods_by_ordinal: dict[int, StoredItem], current: StoredItem, update: StoredItem
    ) -> int:
        """Create, delete and update pods as far as the set's podManagementPolicy allows now.

        Returns how many pods of the current revision were deleted for the update.
        """
        in_order = item.spec.get("podManagementPolicy") != "Parallel"
        desired_ordinals = ordinals(item)
        for number in desired_ordinals:
            if self._prepare_pod(item, pods_by_ordinal.get(number), number, current, update) and in_order:
                return 0
        surplus_ordinals = sorted(
            (number for number in pods_by_ordinal if number not in desired_ordinals), reverse=True
        )
        if not self._delete_surplus(item, pods_by_ordinal, surplus_ordinals, in_order) and in_order:
            return 0
        outdated = pods_to_update(
            item, [pods_by_ordinal.get(number) for number in desired_ordinals], update, self._registry.current_time
        )
        for pod in outdated:
            self._registry.delete(pod)
        return len(outdated)

    def _prepare_pod(
        self, item: StoredItem, pod: StoredItem | None, number: int, current: StoredItem, update: StoredItem
    ) -> bool:
        """Bring the pod of that ordinal to its desired state; True if later ordinals must wait for it."""
        if pod is None:
            self._create(item, number, current, update)
            return True
        if pod.finished:
            if not pod.deleting:
                self._registry.delete(pod)
            return True
        if pod.phase == "Pending":
            self._create_claims(item, number)
        if pod.deleting or not is_running_available(item, pod, self._registry.current_time):
            return True
        doc = with_ordinal_labels(pod, number)
        if doc is not pod.doc:
            self._registry.update(pod, doc)
        return False

    def _create(self, item: StoredItem, number: int, current: StoredItem, update: StoredItem) -> None:
        revision = current if _uses_current_revision(item, number) else update
        template = revision_template(revision)
        self._create_claims(item, number)
        pod = self._templates.build_pod(template, item, kinds.STATEFUL_SETS)
        self._registry.create(PODS, with_identity(pod, item, number, revision.key[1]), item.key[0])

    def _create_claims(self, item: StoredItem, number: int) -> None:
        """Create the missing claims."""
        names = claim_names(item, number)
        for template in item.spec.get("volumeClaimTemplates") or ():
            name = names[template["metadata"]["name"]]
            if self._registry.find(CLAIMS, (item.key[0], name)) is None:
                self._registry.create(CLAIMS, _claim_doc(template, name, item), item.key[0])

    def _delete_surplus(
        self, item: StoredItem, pods_by_ordinal: dict[int, StoredItem], surplus_ordinals: list[int], in_order: bool
    ) -> bool:
        """Delete the pods beyond the desired ordinals, the last first; True if there was none."""
        for number in surplus_ordinals:
            pod = pods_by_ordinal[number]
            if in_order and pod.deleting:
                return False
            if not pod.deleting:
                self._registry.delete(pod)
                if in_order:
                    return False
        return not surplus_ordinals


def _uses_current_revision(item: StoredItem, number: int) -> bool:
    """Whether a pod of that ordinal is created from the current revision, not from the update revision."""
    strategy: Doc = item.spec.get("updateStrategy") or {}
    first = ordinals(item).start
    rolling = strategy.get("rollingUpdate")
    if rolling is not None:
        return number < first + int(rolling.get("partition") or 0)
    replicas = int(nested_field(item.status, "currentReplicas") or 0)
    return strategy.get("type", "RollingUpdate") == "RollingUpdate" and number < first + replicas


def _known_hash(item: StoredItem) -> str:
    """The hash that the real controller gave the template, if it has seen the current one."""
    status = item.status
    if status.get("observedGeneration") != item.meta.get("generation"):
        return ""
    return str(status.get("updateRevision") or "").removeprefix(item.key[1] + "-")
