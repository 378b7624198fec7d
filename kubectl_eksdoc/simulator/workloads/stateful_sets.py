"""The stateful set controller: one pod for each ordinal, recreated under its name only after the old one is gone.

Source: pkg/controller/statefulset/{stateful_set,stateful_set_control,stateful_set_utils}.go, Kubernetes v1.36.
MaxUnavailableStatefulSet is off in 1.36.2, and here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, at, with_value

from ..registry import Registry
from ..store import CLAIMS, PODS, Key, StoreChange, StoredItem
from .garbage import CLAIM_PROTECTION_FINALIZER
from .owning import (
    HASH_LABEL,
    Index,
    ObjectController,
    Owners,
    PodTemplates,
    Revisions,
    keys_of_owner,
    may_be_adopted,
    template_of,
)

# The status of a StatefulSet.
#
# Source: pkg/controller/statefulset/{stateful_set_control,stateful_set_utils}.go (updateStatus, completeRollingUpdate),
# Kubernetes v1.36.


def revision_of(pod: StoredItem) -> str:
    return pod.labels.get(HASH_LABEL, "")


def runs_available(item: StoredItem, pod: StoredItem, now: datetime) -> bool:
    """Running, and ready for long enough; it may be terminating."""
    return pod.phase == "Running" and pod.is_available(item.min_ready_s, now)


def status_of(
    item: StoredItem, own: Iterable[StoredItem], current: StoredItem, update: StoredItem, marked: int, now: datetime
) -> tuple[Doc, float | None]:
    """The status from these pods, and the seconds until it changes by itself.

    `deleted_count` pods of the current revision were just deleted for the update.
    """
    ready = available = of_current = of_update = count = 0
    soon: list[float] = []
    for pod in own:
        count += 1
        if pod.phase == "Running" and pod.ready:
            ready += 1
            left_s = pod.available_in(item.min_ready_s, now)
            if left_s == 0.0:
                available += 1
            elif left_s is not None:
                soon.append(left_s)
        if not pod.leaving:
            of_current += revision_of(pod) == current.key[1]
            of_update += revision_of(pod) == update.key[1]
    of_current -= marked
    revision = current.key[1]
    strategy = at(item.spec, "updateStrategy", "type") or "RollingUpdate"
    if strategy == "RollingUpdate" and of_update == ready == count == item.replicas:
        of_current, revision = of_update, update.key[1]
    counted = {"readyReplicas": ready, "currentReplicas": of_current, "updatedReplicas": of_update}
    made: Doc = {key: value for key, value in counted.items() if value}
    if item.generation:
        made["observedGeneration"] = item.generation
    made |= {"replicas": count, "availableReplicas": available, "collisionCount": 0}
    made |= {"currentRevision": revision, "updateRevision": update.key[1]}
    return made, min(soon, default=None)


# Which pods of a StatefulSet a rolling update deletes next.
#
# Source: pkg/controller/statefulset/stateful_set_control.go (updateStatefulSet,
# updateStatefulSetAfterInvariantEstablished), Kubernetes v1.36.


def to_update(
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
        if revision_of(pod) != update.key[1] and not pod.leaving:
            return [pod]
        if pod.leaving or not runs_available(item, pod, now):
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


def identified(pod: Doc, owner: StoredItem, ordinal: int, revision: str) -> Doc:
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


def labelled(pod: StoredItem, ordinal: int) -> Doc:
    """The document with the labels of its ordinal; the same one if it has them."""
    wanted_labels = {POD_NAME: pod.key[1], POD_INDEX: str(ordinal)}
    if wanted_labels.items() <= pod.labels.items():
        return pod.doc
    return with_value(pod.doc, ("metadata", "labels"), {**pod.labels, **wanted_labels})


# The claims of a StatefulSet's pods: created where they are missing, and kept when pods or the set are deleted.
#
# Source: pkg/controller/statefulset/{stateful_pod_control,stateful_set_utils}.go, Kubernetes v1.36;
# plugin/pkg/admission/storage/storageobjectinuseprotection (the finalizer of new claims).
# persistentVolumeClaimRetentionPolicy is left out.


def _claim(template: Doc, name: str, owner: StoredItem) -> Doc:
    given = template["metadata"]
    labels = {**(given.get("labels") or {}), **(at(owner.spec, "selector", "matchLabels") or {})}
    meta: Doc = {"name": name, "labels": labels, "finalizers": [CLAIM_PROTECTION_FINALIZER]}
    if given.get("annotations"):
        meta["annotations"] = given["annotations"]
    kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return {**kind, "metadata": meta, "spec": template.get("spec") or {}, "status": {"phase": "Pending"}}


STATEFUL_SETS = kinds.STATEFUL_SETS.full_name


class StatefulSets(ObjectController):
    """A `Controller` whose keys are those of StatefulSets."""

    resources = (STATEFUL_SETS, PODS)

    def __init__(self, registry: Registry, index: Index) -> None:
        super().__init__(registry, index)
        self._owners = Owners(registry, index, kinds.STATEFUL_SETS)
        self._templates = PodTemplates(registry.store)
        self._revisions = Revisions(registry, index, kinds.STATEFUL_SETS)

    def touched(self, change: StoreChange) -> Iterable[Key]:
        if change.resource == STATEFUL_SETS:
            return (change.key,)
        owners = keys_of_owner(change, kinds.STATEFUL_SETS)
        if not may_be_adopted(change):
            return owners
        parent, _, _ = change.key[1].rpartition("-")
        return (*owners, (change.key[0], parent))

    def look_after(self, item: StoredItem) -> float | None:
        held = self._revisions.of(item, self._owners.matcher(item))
        update = self._revisions.latest(item, held, _known_hash(item))
        named = at(item.status, "currentRevision")
        current = next((each for each in held if each.key[1] == named), update)
        own = self._owners.claimed(item, PODS)
        numbered = {number: pod for pod in own if (number := ordinal_of(item, pod)) is not None}
        marked = 0 if item.leaving else self._sync(item, numbered, current, update)
        status, again_s = status_of(item, numbered.values(), current, update, marked, self._registry.time)
        self._report(item, status)
        live = {current.key[1], update.key[1], *(revision_of(pod) for pod in own)}
        self._revisions.truncate(item, held, live)
        return again_s

    def _sync(self, item: StoredItem, numbered: dict[int, StoredItem], current: StoredItem, update: StoredItem) -> int:
        """Create, delete and update pods as far as the set's podManagementPolicy allows now.

        Returns how many pods of the current revision were deleted for the update.
        """
        in_order = item.spec.get("podManagementPolicy") != "Parallel"
        wanted = ordinals(item)
        for number in wanted:
            if self._blocks(item, numbered.get(number), number, current, update) and in_order:
                return 0
        condemned = sorted((number for number in numbered if number not in wanted), reverse=True)
        if not self._condemn(item, numbered, condemned, in_order) and in_order:
            return 0
        gone = to_update(item, [numbered.get(number) for number in wanted], update, self._registry.time)
        for pod in gone:
            self._registry.delete(pod)
        return len(gone)

    def _blocks(
        self, item: StoredItem, pod: StoredItem | None, number: int, current: StoredItem, update: StoredItem
    ) -> bool:
        """Bring the pod of that ordinal to its desired state; True if later ordinals must wait for it."""
        if pod is None:
            self._create(item, number, current, update)
            return True
        if pod.finished:
            if not pod.leaving:
                self._registry.delete(pod)
            return True
        if pod.phase == "Pending":
            self._create_claims(item, number)
        if pod.leaving or not runs_available(item, pod, self._registry.time):
            return True
        doc = labelled(pod, number)
        if doc is not pod.doc:
            self._registry.update(pod, doc)
        return False

    def _create(self, item: StoredItem, number: int, current: StoredItem, update: StoredItem) -> None:
        revision = current if _keeps_current(item, number) else update
        template = template_of(revision)
        self._create_claims(item, number)
        pod = self._templates.pod(template, item, kinds.STATEFUL_SETS)
        self._registry.create(PODS, identified(pod, item, number, revision.key[1]), item.key[0])

    def _create_claims(self, item: StoredItem, number: int) -> None:
        """Create the missing claims."""
        names = claim_names(item, number)
        for template in item.spec.get("volumeClaimTemplates") or ():
            name = names[template["metadata"]["name"]]
            if self._registry.find(CLAIMS, (item.key[0], name)) is None:
                self._registry.create(CLAIMS, _claim(template, name, item), item.key[0])

    def _condemn(self, item: StoredItem, numbered: dict[int, StoredItem], condemned: list[int], in_order: bool) -> bool:
        """Delete the pods beyond the desired ordinals, the last first; True if there was none."""
        for number in condemned:
            pod = numbered[number]
            if in_order and pod.leaving:
                return False
            if not pod.leaving:
                self._registry.delete(pod)
                if in_order:
                    return False
        return not condemned


def _keeps_current(item: StoredItem, number: int) -> bool:
    """Whether a pod of that ordinal is created from the current revision, not from the update revision."""
    strategy: Doc = item.spec.get("updateStrategy") or {}
    first = ordinals(item).start
    rolling = strategy.get("rollingUpdate")
    if rolling is not None:
        return number < first + int(rolling.get("partition") or 0)
    replicas = int(at(item.status, "currentReplicas") or 0)
    return strategy.get("type", "RollingUpdate") == "RollingUpdate" and number < first + replicas


def _known_hash(item: StoredItem) -> str:
    """The hash that the real controller gave the template, if it has seen the current one."""
    status = item.status
    if status.get("observedGeneration") != item.meta.get("generation"):
        return ""
    return str(status.get("updateRevision") or "").removeprefix(item.key[1] + "-")
