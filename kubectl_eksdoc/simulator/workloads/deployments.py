"""The deployment controller: a ReplicaSet for each template; the new one is scaled up, the old ones down.

Source: pkg/controller/deployment/{deployment_controller,sync,rolling,recreate,progress}.go, Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, nested_field, with_value

from ..registry import Registry
from ..store import PODS, ObjectKey, StoreChange, StoredItem, parse_api_time
from .ownership import (
    DocumentCache,
    ObjectController,
    ObjectIndex,
    OwnerClaims,
    keys_of_owner,
    reference_to,
    short_hash,
    template_text,
)
from .replica_sets import REPLICA_SETS, scaled_value

# Sizes of a Deployment's ReplicaSets: rolling updates step by step.


ReplicaSetSizes = list[tuple[StoredItem, int]]


class RolloutLimits(NamedTuple):
    """`replicas`: the desired ones; `max_surge` and `max_unavailable`: pods above and below them during a rollout."""

    replicas: int
    max_surge: int
    max_unavailable: int
    is_rolling: bool

    @property
    def max_pods(self) -> int:
        return self.replicas + self.max_surge


def rollout_limits(deployment: StoredItem) -> RolloutLimits:
    """With surge rounded up, unavailable rounded down, and one unavailable where both would be none."""
    replicas = deployment.replicas
    strategy: Doc = deployment.spec.get("strategy") or {}
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return RolloutLimits(replicas, 0, 0, is_rolling=False)
    rolling_update: Doc = strategy.get("rollingUpdate") or {}
    max_surge = scaled_value(rolling_update.get("maxSurge"), replicas, "25%", up=True)
    max_unavailable = scaled_value(rolling_update.get("maxUnavailable"), replicas, "25%", up=False)
    if not max_surge and not max_unavailable:
        max_unavailable = 1
    return RolloutLimits(replicas, max_surge, min(max_unavailable, replicas), is_rolling=True)


def status_count(item: StoredItem, count_field: str) -> int:
    """A number of its status."""
    return int(item.status.get(count_field) or 0)


def new_set_size(limits: RolloutLimits, size: int, total: int) -> int:
    """The size of the new ReplicaSet that has `size`, with `total` pods in all: as large as the surge allows."""
    if not limits.is_rolling:
        return limits.replicas
    if total >= limits.max_pods:
        return size
    return size + min(limits.max_pods - total, limits.replicas - size)


def rolling_steps(limits: RolloutLimits, new: StoredItem, old: Sequence[StoredItem]) -> ReplicaSetSizes:
    """The next step of a rolling update: the new ReplicaSet is scaled up first, then the old ones down."""
    size = new.replicas
    active = [item for item in old if item.replicas]
    total = size + sum(item.replicas for item in active)
    if size > limits.replicas:
        return [(new, limits.replicas)]
    if size < limits.replicas and (larger := new_set_size(limits, size, total)) != size:
        return [(new, larger)]
    unavailable = size - status_count(new, "availableReplicas")
    spare_count = total - (limits.replicas - limits.max_unavailable) - unavailable
    return _shrink_steps(limits, new, active, spare_count) if active and spare_count > 0 else []


def _shrink_steps(
    limits: RolloutLimits, new: StoredItem, active: Sequence[StoredItem], spare_count: int
) -> ReplicaSetSizes:
    """Old ReplicaSets lose unavailable pods, the oldest first, then pods that need not be available."""
    by_age = sorted(active, key=_age_key)
    sizes = {item: item.replicas for item in by_age}
    for item in by_age:
        unavailable = min(spare_count, max(0, sizes[item] - status_count(item, "availableReplicas")))
        sizes[item] -= unavailable
        spare_count -= unavailable
    available = sum(status_count(item, "availableReplicas") for item in (*by_age, new))
    spare = available - (limits.replicas - limits.max_unavailable)
    for item in by_age:
        reduction = min(sizes[item], max(0, spare))
        sizes[item] -= reduction
        spare -= reduction
    return [(item, size) for item, size in sizes.items() if size != item.replicas]


def _age_key(item: StoredItem) -> tuple[str, str]:
    return item.creation_timestamp, item.key[1]


# The ReplicaSets of a Deployment: the one of the current template, its revision, and old revisions to delete.
#
# Source: pkg/controller/deployment/sync.go (getNewReplicaSet, cleanupDeployment),
# pkg/controller/deployment/util/deployment_util.go (FindNewReplicaSet, SetNewReplicaSetAnnotations), Kubernetes v1.36.


TEMPLATE_HASH_LABEL = "pod-template-hash"
REVISION_ANNOTATION = "deployment.kubernetes.io/revision"
_UNCOPIED_ANNOTATIONS = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "deprecated.deployment.rollback.to",
        REVISION_ANNOTATION,
    }
)
_DEFAULT_HISTORY_LIMIT = 10


class ReplicaSetHistory:
    """Finds, creates and deletes the ReplicaSets of a Deployment."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._template_texts = DocumentCache(partial(template_text, besides=TEMPLATE_HASH_LABEL))

    def split_new_and_old(
        self, deployment: StoredItem, owned: Sequence[StoredItem]
    ) -> tuple[StoredItem | None, list[StoredItem]]:
        """The ReplicaSet of the current template, the oldest if there are several, and the others."""
        text = self._template_texts.get(deployment.template)
        by_age = sorted(owned, key=_age_key)
        new = next((item for item in by_age if self._template_texts.get(item.template) == text), None)
        return new, [item for item in by_age if item is not new]

    def sync_new_set(self, deployment: StoredItem, new: StoredItem, old: Sequence[StoredItem]) -> StoredItem:
        """`new` with the annotations of the deployment and the newest revision."""
        annotations = new.annotations
        revision = max(revision_of(new), _next_revision(old))
        new_annotations = {**annotations, **_copied_annotations(deployment), REVISION_ANNOTATION: str(revision)}
        ready_s = deployment.spec.get("minReadySeconds")
        doc = new.doc
        if new_annotations != annotations:
            doc = with_value(doc, ("metadata", "annotations"), new_annotations)
        if (ready_s or 0) != (new.spec.get("minReadySeconds") or 0):
            doc = with_value(doc, ("spec", "minReadySeconds"), ready_s or 0)
        return new if doc is new.doc else self._registry.update(new, doc)

    def create_new_set(self, deployment: StoredItem, old: Sequence[StoredItem], limits: RolloutLimits) -> StoredItem:
        """Create the ReplicaSet of the template.

        Raises:
            ApiRefusal: it could not be created; one of its name may have to be deleted first.
        """
        template = deployment.template
        template_hash = short_hash(template)
        labels = {**(nested_field(template, "metadata", "labels") or {}), TEMPLATE_HASH_LABEL: template_hash}
        selector = deployment.spec.get("selector") or {}
        meta = {
            "name": f"{deployment.key[1]}-{template_hash}",
            "labels": labels,
            "annotations": {**_copied_annotations(deployment), REVISION_ANNOTATION: str(_next_revision(old))},
            "ownerReferences": [reference_to(deployment, kinds.DEPLOYMENTS)],
        }
        spec: Doc = {
            "replicas": new_set_size(limits, 0, sum(item.replicas for item in old)),
            "selector": {
                **selector,
                "matchLabels": {**(selector.get("matchLabels") or {}), TEMPLATE_HASH_LABEL: template_hash},
            },
            "template": with_value(template, ("metadata", "labels"), labels),
        }
        if deployment.spec.get("minReadySeconds"):
            spec["minReadySeconds"] = deployment.spec["minReadySeconds"]
        type_fields = {"apiVersion": "apps/v1", "kind": "ReplicaSet"}
        doc = {**type_fields, "metadata": meta, "spec": spec, "status": {"replicas": 0}}
        return self._registry.create(REPLICA_SETS, doc, deployment.key[0])

    def clean_up(self, deployment: StoredItem, old: Sequence[StoredItem]) -> None:
        """Delete the oldest revisions beyond the history limit, if they have no pods."""
        limit = deployment.spec.get("revisionHistoryLimit")
        remaining = [item for item in old if not item.deleting]
        surplus_count = len(remaining) - (_DEFAULT_HISTORY_LIMIT if limit is None else int(limit))
        for item in sorted(remaining, key=revision_of)[: max(0, surplus_count)]:
            is_observed = status_count(item, "observedGeneration") >= item.generation
            if is_observed and not status_count(item, "replicas") and not item.replicas:
                self._registry.delete(item)


def revision_of(item: StoredItem) -> int:
    text = item.annotations.get(REVISION_ANNOTATION, "")
    return int(text) if text.isdigit() else 0


def _next_revision(old: Sequence[StoredItem]) -> int:
    return max((revision_of(item) for item in old), default=0) + 1


def _copied_annotations(deployment: StoredItem) -> dict[str, str]:
    return {key: value for key, value in deployment.annotations.items() if key not in _UNCOPIED_ANNOTATIONS}


# The status of a Deployment: its counts, and the conditions Available and Progressing.
#
# Source: pkg/controller/deployment/{sync,progress}.go (calculateStatus, syncRolloutStatus, requeueStuckDeployment),
# pkg/controller/deployment/util/deployment_util.go, Kubernetes v1.36.


AVAILABLE, PROGRESSING, REPLICA_FAILURE = "Available", "Progressing", "ReplicaFailure"
TIMED_OUT, NEW_AVAILABLE = "ProgressDeadlineExceeded", "NewReplicaSetAvailable"

_NO_DEADLINE = 2**31 - 1


def deployment_status(
    deployment: StoredItem, new: StoredItem | None, old: Sequence[StoredItem], limits: RolloutLimits, now: str
) -> Doc:
    """Counts, and whether enough pods are available; other conditions are kept."""
    all_sets = [*old, *((new,) if new is not None else ())]
    available = _total(all_sets, "availableReplicas")
    counts = {
        "observedGeneration": deployment.generation,
        "replicas": _total(all_sets, "replicas"),
        "updatedReplicas": status_count(new, "replicas") if new is not None else 0,
        "readyReplicas": _total(all_sets, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, sum(item.replicas for item in all_sets) - available),
        "collisionCount": int(deployment.status.get("collisionCount") or 0),
    }
    status: Doc = {key: value for key, value in counts.items() if value}
    status["terminatingReplicas"] = _total(all_sets, "terminatingReplicas")
    conditions = deployment.conditions
    status["conditions"] = with_condition(conditions, _available_condition(available, limits), now)
    return status


def with_progress(deployment: StoredItem, status: Doc, new: StoredItem | None, now: datetime, text: str) -> Doc:
    """`status` with the condition Progressing; `text` is `now` as in metadata."""
    progress = deployment.condition(PROGRESSING)
    conditions: list[Doc] = status["conditions"]
    deadline_s = progress_deadline_s(deployment)
    if deadline_s is None:
        conditions = [each for each in conditions if each["type"] != PROGRESSING]
    elif not _is_rollout_over(status, progress):
        conditions = _progress_conditions(deployment, status, new, now, text, deadline_s)
    return {**status, "conditions": [each for each in conditions if each["type"] != REPLICA_FAILURE]}


def with_condition(conditions: Iterable[Doc], new_condition: Doc, now: str) -> list[Doc]:
    """`conditions` with `new_condition` at the end, unless an equal one is there; the transition time changes with the
    status."""
    old_conditions = list(conditions)
    old_condition = next((each for each in old_conditions if each["type"] == new_condition["type"]), None)
    if old_condition is not None and (old_condition["status"], old_condition.get("reason")) == (
        new_condition["status"],
        new_condition.get("reason"),
    ):
        return old_conditions
    transition_time = (
        old_condition["lastTransitionTime"]
        if old_condition is not None and old_condition["status"] == new_condition["status"]
        else now
    )
    merged = {
        "lastUpdateTime": now,
        **new_condition,
        "lastTransitionTime": new_condition.get("lastTransitionTime", transition_time),
    }
    return [*(each for each in old_conditions if each["type"] != new_condition["type"]), merged]


def progressing_condition(status: str, reason: str, message: str) -> Doc:
    return {"type": PROGRESSING, "status": status, "reason": reason, "message": message}


def progress_deadline_s(deployment: StoredItem) -> int | None:
    """None for a Deployment without a progress deadline."""
    seconds = deployment.spec.get("progressDeadlineSeconds")
    return None if seconds is None or int(seconds) == _NO_DEADLINE else int(seconds)


def is_complete(deployment: StoredItem, status: Doc) -> bool:
    """`status` must be of this generation, as from `deployment_status`."""
    replicas = deployment.replicas
    counts = [int(status.get(count_field) or 0) for count_field in ("updatedReplicas", "replicas", "availableReplicas")]
    return counts == [replicas] * 3


def requeue_after_s(deployment: StoredItem, status: Doc, now: datetime) -> float | None:
    """Seconds until it must be reconciled again to see whether it has timed out."""
    deadline_s = progress_deadline_s(deployment)
    progress = next((each for each in status["conditions"] if each["type"] == PROGRESSING), None)
    if progress is None or deadline_s is None or is_complete(deployment, status) or progress.get("reason") == TIMED_OUT:
        return None
    if progress.get("reason") == NEW_AVAILABLE:
        return None  # it never times out after that
    return max(0.0, (parse_api_time(progress["lastUpdateTime"]) - now).total_seconds() + deadline_s) + 1


def _available_condition(available: int, limits: RolloutLimits) -> Doc:
    if available >= limits.replicas - limits.max_unavailable:
        text, status, reason = "Deployment has minimum availability.", "True", "MinimumReplicasAvailable"
    else:
        text, status, reason = "Deployment does not have minimum availability.", "False", "MinimumReplicasUnavailable"
    return {"type": AVAILABLE, "status": status, "reason": reason, "message": text}


def _is_rollout_over(status: Doc, progress: Doc | None) -> bool:
    """Whether the latest rollout is complete: later changes are no progress."""
    is_updated = status.get("replicas", 0) == status.get("updatedReplicas", 0)
    return is_updated and progress is not None and progress.get("reason") == NEW_AVAILABLE


def _progress_conditions(
    deployment: StoredItem, status: Doc, new: StoredItem | None, now: datetime, text: str, deadline_s: int
) -> list[Doc]:
    conditions: list[Doc] = status["conditions"]
    progress = deployment.condition(PROGRESSING)
    kind, name = ("Deployment", deployment.key[1]) if new is None else ("ReplicaSet", new.key[1])
    subject = f'{kind} "{name}"'
    if is_complete(deployment, status):
        condition = progressing_condition("True", NEW_AVAILABLE, f"{subject} has successfully progressed.")
        return with_condition(conditions, condition, text)
    if _has_progressed(deployment.status, status):
        condition = progressing_condition("True", "ReplicaSetUpdated", f"{subject} is progressing.")
        if progress is not None and progress["status"] == "True":
            condition["lastTransitionTime"] = progress["lastTransitionTime"]
        return with_condition((each for each in conditions if each["type"] != PROGRESSING), condition, text)
    if _has_timed_out(progress, now, deadline_s):
        return with_condition(
            conditions, progressing_condition("False", TIMED_OUT, f"{subject} has timed out progressing."), text
        )
    return conditions


def _has_progressed(before: Doc, status: Doc) -> bool:
    def count_in(doc: Doc, count_field: str) -> int:
        return int(doc.get(count_field) or 0)

    outdated, outdated_before = (
        count_in(each, "replicas") - count_in(each, "updatedReplicas") for each in (status, before)
    )
    grown = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return outdated < outdated_before or any(
        count_in(status, grown_field) > count_in(before, grown_field) for grown_field in grown
    )


def _has_timed_out(progress: Doc | None, now: datetime, deadline_s: int) -> bool:
    if progress is None or progress.get("reason") == NEW_AVAILABLE:
        return False
    if progress.get("reason") == TIMED_OUT:
        return True
    return (now - parse_api_time(progress["lastUpdateTime"])).total_seconds() > deadline_s


def _total(items: Iterable[StoredItem], count_field: str) -> int:
    return sum(status_count(item, count_field) for item in items)


DEPLOYMENTS = kinds.DEPLOYMENTS.full_name


class Deployments(ObjectController):
    """A `Controller` whose keys are those of Deployments."""

    resources = (DEPLOYMENTS, REPLICA_SETS, PODS)

    def __init__(self, registry: Registry, index: ObjectIndex) -> None:
        super().__init__(registry, index)
        self._owners = OwnerClaims(registry, index, kinds.DEPLOYMENTS)
        self._history = ReplicaSetHistory(registry)

    def affected_keys(self, change: StoreChange) -> Iterable[ObjectKey]:
        if change.resource == DEPLOYMENTS:
            return () if self._is_writing else (change.key,)
        if change.resource == PODS:
            return self._recreating_deployments(change) if change.is_deletion else ()
        return self._owners.owner_keys(change)

    def manage(self, item: StoredItem) -> float | None:
        owned = self._owners.claim(item, REPLICA_SETS)
        new, old = self._history.split_new_and_old(item, owned)
        limits = rollout_limits(item)
        if item.deleting:
            self._write_status(item, deployment_status(item, new, old, limits, self._registry.timestamp))
            return None
        if item.spec.get("paused"):
            self._scale_paused(item, new, old, limits)
            return None
        if limits.is_rolling:
            return self._roll(item, new, old, limits)
        return self._recreate(item, new, old, limits)

    def _recreating_deployments(self, change: StoreChange) -> Iterable[ObjectKey]:
        """Deployments with the strategy Recreate, which create pods only after the last old one is gone."""
        for namespace, name in keys_of_owner(change, kinds.REPLICA_SETS):
            parent = self._registry.find(REPLICA_SETS, (namespace, name))
            owner = parent.controller if parent is not None else None
            if owner is not None and owner["kind"] == kinds.DEPLOYMENTS.kind:
                deployment = self._registry.find(DEPLOYMENTS, (namespace, owner["name"]))
                if deployment is not None and not rollout_limits(deployment).is_rolling:
                    yield deployment.key

    def _scale_paused(
        self, item: StoredItem, new: StoredItem | None, old: list[StoredItem], limits: RolloutLimits
    ) -> None:
        """While it is paused, the size of its only ReplicaSet with pods may change, and no new one is created."""
        all_sets = [*old, *((new,) if new is not None else ())]
        active = [each for each in all_sets if each.replicas] or all_sets[-1:]
        sizes = [(active[0], limits.replicas)] if len(active) == 1 else []
        new, old = self._resize(sizes, new, old)
        self._write_status(item, deployment_status(item, new, old, limits, self._registry.timestamp))

    def _roll(
        self, item: StoredItem, new: StoredItem | None, old: list[StoredItem], limits: RolloutLimits
    ) -> float | None:
        item, ensured_set = self._ensure_new_set(item, new, old, limits)
        steps = rolling_steps(limits, ensured_set, old)
        resized, old = self._resize(steps, ensured_set, old)
        if not steps:
            self._history.clean_up(item, old)
        return self._report_progress(item, resized, old, limits)

    def _recreate(
        self, item: StoredItem, new: StoredItem | None, old: list[StoredItem], limits: RolloutLimits
    ) -> float | None:
        """The old pods must be gone before new ones are created."""
        running = [each for each in old if each.replicas]
        if running:
            new, old = self._resize([(each, 0) for each in running], new, old)
            return self._report_progress(item, new, old, limits)
        if any(status_count(each, "replicas") or self._has_running_pods(each) for each in old):
            return self._report_progress(item, new, old, limits)
        item, ensured_set = self._ensure_new_set(item, new, old, limits)
        resized, old = self._resize([(ensured_set, limits.replicas)], ensured_set, old)
        if is_complete(item, deployment_status(item, resized, old, limits, self._registry.timestamp)):
            self._history.clean_up(item, old)
        return self._report_progress(item, resized, old, limits)

    def _has_running_pods(self, item: StoredItem) -> bool:
        return any(not pod.finished for pod in self._index.controlled(item.uid, PODS))

    def _ensure_new_set(
        self, item: StoredItem, new: StoredItem | None, old: Sequence[StoredItem], limits: RolloutLimits
    ) -> tuple[StoredItem, StoredItem]:
        """The deployment and the ReplicaSet of its template, created if it is missing."""
        if new is not None:
            new = self._history.sync_new_set(item, new, old)
            return self._with_revision(item, new), new
        new = self._history.create_new_set(item, old, limits)
        item = self._with_revision(item, new)
        if progress_deadline_s(item) is not None:
            text = f'Created new replica set "{new.key[1]}"'
            conditions = with_condition(
                item.conditions, progressing_condition("True", "NewReplicaSetCreated", text), self._registry.timestamp
            )
            item = self._update_status(item, with_value(item.doc, ("status", "conditions"), conditions))
        return item, new

    def _resize(
        self, sizes: ReplicaSetSizes, new: StoredItem | None, old: Sequence[StoredItem]
    ) -> tuple[StoredItem | None, list[StoredItem]]:
        """The ReplicaSets after the change of sizes."""
        written = {
            each.uid: self._registry.set_value(each, ("spec", "replicas"), size)
            for each, size in sizes
            if each.replicas != size
        }
        return written.get(new.uid, new) if new is not None else None, [written.get(each.uid, each) for each in old]

    def _with_revision(self, item: StoredItem, new: StoredItem) -> StoredItem:
        """The deployment with the revision of its newest ReplicaSet."""
        revision = new.annotations.get(REVISION_ANNOTATION)
        if revision is None or item.annotations.get(REVISION_ANNOTATION) == revision:
            return item
        annotations = {**item.annotations, REVISION_ANNOTATION: revision}
        return self._update_status(item, with_value(item.doc, ("metadata", "annotations"), annotations))

    def _report_progress(
        self, item: StoredItem, new: StoredItem | None, old: Sequence[StoredItem], limits: RolloutLimits
    ) -> float | None:
        status = deployment_status(item, new, old, limits, self._registry.timestamp)
        now = self._registry.current_time
        status = with_progress(item, status, new, now, self._registry.timestamp)
        self._write_status(item, status)
        return requeue_after_s(item, status, now)
