"""The deployment controller: a ReplicaSet for each template; the new one is scaled up, the old ones down.

Source: pkg/controller/deployment/{deployment_controller,sync,rolling,recreate,progress}.go, Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, at, with_value

from ..registry import Registry
from ..store import PODS, Key, StoreChange, StoredItem, moment
from .owning import (
    Index,
    ObjectController,
    OncePerDocument,
    Owners,
    hash_of,
    keys_of_owner,
    reference_to,
    text_of,
)
from .replica_sets import REPLICA_SETS, scaled

# Sizes of a Deployment's ReplicaSets: rolling updates step by step.


Sizes = list[tuple[StoredItem, int]]


class RolloutLimits(NamedTuple):
    """`replicas`: the desired ones; `max_surge` and `max_unavailable`: pods above and below them during a rollout."""

    replicas: int
    surge: int
    away: int
    rolling: bool

    @property
    def most(self) -> int:
        return self.replicas + self.surge


def limits_of(deployment: StoredItem) -> RolloutLimits:
    """With surge rounded up, unavailable rounded down, and one unavailable where both would be none."""
    replicas = deployment.replicas
    strategy: Doc = deployment.spec.get("strategy") or {}
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return RolloutLimits(replicas, 0, 0, rolling=False)
    rolling: Doc = strategy.get("rollingUpdate") or {}
    surge = scaled(rolling.get("maxSurge"), replicas, "25%", up=True)
    away = scaled(rolling.get("maxUnavailable"), replicas, "25%", up=False)
    if not surge and not away:
        away = 1
    return RolloutLimits(replicas, surge, min(away, replicas), rolling=True)


def counted(item: StoredItem, what: str) -> int:
    """A number of its status."""
    return int(item.status.get(what) or 0)


def first_size(limits: RolloutLimits, size: int, total: int) -> int:
    """The size of the new ReplicaSet that has `size`, with `total` pods in all: as large as the surge allows."""
    if not limits.rolling:
        return limits.replicas
    if total >= limits.most:
        return size
    return size + min(limits.most - total, limits.replicas - size)


def rolled(limits: RolloutLimits, new: StoredItem, old: Sequence[StoredItem]) -> Sizes:
    """The next step of a rolling update: the new ReplicaSet is scaled up first, then the old ones down."""
    size = new.replicas
    active = [item for item in old if item.replicas]
    total = size + sum(item.replicas for item in active)
    if size > limits.replicas:
        return [(new, limits.replicas)]
    if size < limits.replicas and (larger := first_size(limits, size, total)) != size:
        return [(new, larger)]
    not_there = size - counted(new, "availableReplicas")
    room = total - (limits.replicas - limits.away) - not_there
    return _shrunk(limits, new, active, room) if active and room > 0 else []


def _shrunk(limits: RolloutLimits, new: StoredItem, active: Sequence[StoredItem], room: int) -> Sizes:
    """Old ReplicaSets lose unavailable pods, the oldest first, then pods that need not be available."""
    by_age = sorted(active, key=_made)
    sizes = {item: item.replicas for item in by_age}
    for item in by_age:
        ailing = min(room, max(0, sizes[item] - counted(item, "availableReplicas")))
        sizes[item] -= ailing
        room -= ailing
    available = sum(counted(item, "availableReplicas") for item in (*by_age, new))
    spare = available - (limits.replicas - limits.away)
    for item in by_age:
        less = min(sizes[item], max(0, spare))
        sizes[item] -= less
        spare -= less
    return [(item, size) for item, size in sizes.items() if size != item.replicas]


def _made(item: StoredItem) -> tuple[str, str]:
    return item.created, item.key[1]


# The ReplicaSets of a Deployment: the one of the current template, its revision, and old revisions to delete.
#
# Source: pkg/controller/deployment/sync.go (getNewReplicaSet, cleanupDeployment),
# pkg/controller/deployment/util/deployment_util.go (FindNewReplicaSet, SetNewReplicaSetAnnotations), Kubernetes v1.36.


HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
_NOT_COPIED = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "deprecated.deployment.rollback.to",
        REVISION,
    }
)
_KEPT = 10


class Generations:
    """Finds, creates and deletes the ReplicaSets of a Deployment."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._texts = OncePerDocument(partial(text_of, besides=HASH_LABEL))

    def told_apart(
        self, deployment: StoredItem, own: Sequence[StoredItem]
    ) -> tuple[StoredItem | None, list[StoredItem]]:
        """The ReplicaSet of the current template, the oldest if there are several, and the others."""
        text = self._texts.of(deployment.template)
        by_age = sorted(own, key=_made)
        new = next((item for item in by_age if self._texts.of(item.template) == text), None)
        return new, [item for item in by_age if item is not new]

    def synced(self, deployment: StoredItem, new: StoredItem, old: Sequence[StoredItem]) -> StoredItem:
        """`new` with the annotations of the deployment and the newest revision."""
        held = new.annotations
        revision = max(revision_of(new), _next_revision(old))
        made = {**held, **_copied(deployment), REVISION: str(revision)}
        ready_s = deployment.spec.get("minReadySeconds")
        doc = new.doc
        if made != held:
            doc = with_value(doc, ("metadata", "annotations"), made)
        if (ready_s or 0) != (new.spec.get("minReadySeconds") or 0):
            doc = with_value(doc, ("spec", "minReadySeconds"), ready_s or 0)
        return new if doc is new.doc else self._registry.update(new, doc)

    def create(self, deployment: StoredItem, old: Sequence[StoredItem], limits: RolloutLimits) -> StoredItem:
        """Create the ReplicaSet of the template.

        Raises:
            ApiRefusal: it could not be created; one of its name may have to be deleted first.
        """
        template = deployment.template
        hash_ = hash_of(template)
        labels = {**(at(template, "metadata", "labels") or {}), HASH_LABEL: hash_}
        selector = deployment.spec.get("selector") or {}
        meta = {
            "name": f"{deployment.key[1]}-{hash_}",
            "labels": labels,
            "annotations": {**_copied(deployment), REVISION: str(_next_revision(old))},
            "ownerReferences": [reference_to(deployment, kinds.DEPLOYMENTS)],
        }
        spec: Doc = {
            "replicas": first_size(limits, 0, sum(item.replicas for item in old)),
            "selector": {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH_LABEL: hash_}},
            "template": with_value(template, ("metadata", "labels"), labels),
        }
        if deployment.spec.get("minReadySeconds"):
            spec["minReadySeconds"] = deployment.spec["minReadySeconds"]
        kind = {"apiVersion": "apps/v1", "kind": "ReplicaSet"}
        doc = {**kind, "metadata": meta, "spec": spec, "status": {"replicas": 0}}
        return self._registry.create(REPLICA_SETS, doc, deployment.key[0])

    def clean_up(self, deployment: StoredItem, old: Sequence[StoredItem]) -> None:
        """Delete the oldest revisions beyond the history limit, if they have no pods."""
        limit = deployment.spec.get("revisionHistoryLimit")
        there = [item for item in old if not item.leaving]
        spare = len(there) - (_KEPT if limit is None else int(limit))
        for item in sorted(there, key=revision_of)[: max(0, spare)]:
            seen = counted(item, "observedGeneration") >= item.generation
            if seen and not counted(item, "replicas") and not item.replicas:
                self._registry.delete(item)


def revision_of(item: StoredItem) -> int:
    text = item.annotations.get(REVISION, "")
    return int(text) if text.isdigit() else 0


def _next_revision(old: Sequence[StoredItem]) -> int:
    return max((revision_of(item) for item in old), default=0) + 1


def _copied(deployment: StoredItem) -> dict[str, str]:
    return {key: value for key, value in deployment.annotations.items() if key not in _NOT_COPIED}


# The status of a Deployment: its counts, and the conditions Available and Progressing.
#
# Source: pkg/controller/deployment/{sync,progress}.go (calculateStatus, syncRolloutStatus, requeueStuckDeployment),
# pkg/controller/deployment/util/deployment_util.go, Kubernetes v1.36.


AVAILABLE, PROGRESSING, FAILURE = "Available", "Progressing", "ReplicaFailure"
TIMED_OUT, NEW_AVAILABLE = "ProgressDeadlineExceeded", "NewReplicaSetAvailable"

_NO_DEADLINE = 2**31 - 1


def status_of(
    deployment: StoredItem, new: StoredItem | None, old: Sequence[StoredItem], limits: RolloutLimits, now: str
) -> Doc:
    """Counts, and whether enough pods are available; other conditions are kept."""
    every = [*old, *((new,) if new is not None else ())]
    available = _sum(every, "availableReplicas")
    counts = {
        "observedGeneration": deployment.generation,
        "replicas": _sum(every, "replicas"),
        "updatedReplicas": counted(new, "replicas") if new is not None else 0,
        "readyReplicas": _sum(every, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, sum(item.replicas for item in every) - available),
        "collisionCount": int(deployment.status.get("collisionCount") or 0),
    }
    made: Doc = {key: value for key, value in counts.items() if value}
    made["terminatingReplicas"] = _sum(every, "terminatingReplicas")
    held = deployment.conditions
    made["conditions"] = with_condition(held, _availability(available, limits), now)
    return made


def with_progress(deployment: StoredItem, status: Doc, new: StoredItem | None, now: datetime, text: str) -> Doc:
    """`status` with the condition Progressing; `text` is `now` as in metadata."""
    held = deployment.condition(PROGRESSING)
    conditions: list[Doc] = status["conditions"]
    deadline_s = deadline_of(deployment)
    if deadline_s is None:
        conditions = [each for each in conditions if each["type"] != PROGRESSING]
    elif not _over(status, held):
        conditions = _progress(deployment, status, new, now, text, deadline_s)
    return {**status, "conditions": [each for each in conditions if each["type"] != FAILURE]}


def with_condition(held: Iterable[Doc], new: Doc, now: str) -> list[Doc]:
    """`conditions` with `new_condition` at the end, unless an equal one is there; the transition time changes with the
    status."""
    listed = list(held)
    same = next((each for each in listed if each["type"] == new["type"]), None)
    if same is not None and (same["status"], same.get("reason")) == (new["status"], new.get("reason")):
        return listed
    since = same["lastTransitionTime"] if same is not None and same["status"] == new["status"] else now
    made = {"lastUpdateTime": now, **new, "lastTransitionTime": new.get("lastTransitionTime", since)}
    return [*(each for each in listed if each["type"] != new["type"]), made]


def progressing(status: str, reason: str, message: str) -> Doc:
    return {"type": PROGRESSING, "status": status, "reason": reason, "message": message}


def deadline_of(deployment: StoredItem) -> int | None:
    """None for a Deployment without a progress deadline."""
    given = deployment.spec.get("progressDeadlineSeconds")
    return None if given is None or int(given) == _NO_DEADLINE else int(given)


def complete(deployment: StoredItem, status: Doc) -> bool:
    """`status` must be of this generation, as from `deployment_status`."""
    replicas = deployment.replicas
    counts = [int(status.get(what) or 0) for what in ("updatedReplicas", "replicas", "availableReplicas")]
    return counts == [replicas] * 3


def looked_at_again_s(deployment: StoredItem, status: Doc, now: datetime) -> float | None:
    """Seconds until it must be reconciled again to see whether it has timed out."""
    deadline_s = deadline_of(deployment)
    held = next((each for each in status["conditions"] if each["type"] == PROGRESSING), None)
    if held is None or deadline_s is None or complete(deployment, status) or held.get("reason") == TIMED_OUT:
        return None
    if held.get("reason") == NEW_AVAILABLE:
        return None  # it never times out after that
    return max(0.0, (moment(held["lastUpdateTime"]) - now).total_seconds() + deadline_s) + 1


def _availability(available: int, limits: RolloutLimits) -> Doc:
    if available >= limits.replicas - limits.away:
        text, status, reason = "Deployment has minimum availability.", "True", "MinimumReplicasAvailable"
    else:
        text, status, reason = "Deployment does not have minimum availability.", "False", "MinimumReplicasUnavailable"
    return {"type": AVAILABLE, "status": status, "reason": reason, "message": text}


def _over(status: Doc, held: Doc | None) -> bool:
    """Whether the latest rollout is complete: later changes are no progress."""
    counts = status.get("replicas", 0) == status.get("updatedReplicas", 0)
    return counts and held is not None and held.get("reason") == NEW_AVAILABLE


def _progress(
    deployment: StoredItem, status: Doc, new: StoredItem | None, now: datetime, text: str, deadline_s: int
) -> list[Doc]:
    conditions: list[Doc] = status["conditions"]
    held = deployment.condition(PROGRESSING)
    kind, name = ("Deployment", deployment.key[1]) if new is None else ("ReplicaSet", new.key[1])
    subject = f'{kind} "{name}"'
    if complete(deployment, status):
        made = progressing("True", NEW_AVAILABLE, f"{subject} has successfully progressed.")
        return with_condition(conditions, made, text)
    if _moved(deployment.status, status):
        made = progressing("True", "ReplicaSetUpdated", f"{subject} is progressing.")
        if held is not None and held["status"] == "True":
            made["lastTransitionTime"] = held["lastTransitionTime"]
        return with_condition((each for each in conditions if each["type"] != PROGRESSING), made, text)
    if _timed_out(held, now, deadline_s):
        return with_condition(
            conditions, progressing("False", TIMED_OUT, f"{subject} has timed out progressing."), text
        )
    return conditions


def _moved(before: Doc, status: Doc) -> bool:
    def of(doc: Doc, what: str) -> int:
        return int(doc.get(what) or 0)

    outdated, were = (of(each, "replicas") - of(each, "updatedReplicas") for each in (status, before))
    grown = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return outdated < were or any(of(status, what) > of(before, what) for what in grown)


def _timed_out(held: Doc | None, now: datetime, deadline_s: int) -> bool:
    if held is None or held.get("reason") == NEW_AVAILABLE:
        return False
    if held.get("reason") == TIMED_OUT:
        return True
    return (now - moment(held["lastUpdateTime"])).total_seconds() > deadline_s


def _sum(items: Iterable[StoredItem], what: str) -> int:
    return sum(counted(item, what) for item in items)


DEPLOYMENTS = kinds.DEPLOYMENTS.full_name


class Deployments(ObjectController):
    """A `Controller` whose keys are those of Deployments."""

    resources = (DEPLOYMENTS, REPLICA_SETS, PODS)

    def __init__(self, registry: Registry, index: Index) -> None:
        super().__init__(registry, index)
        self._owners = Owners(registry, index, kinds.DEPLOYMENTS)
        self._generations = Generations(registry)

    def touched(self, change: StoreChange) -> Iterable[Key]:
        if change.resource == DEPLOYMENTS:
            return () if self._writing else (change.key,)
        if change.resource == PODS:
            return self._waiting_for(change) if change.gone else ()
        return self._owners.of(change)

    def look_after(self, item: StoredItem) -> float | None:
        own = self._owners.claimed(item, REPLICA_SETS)
        new, old = self._generations.told_apart(item, own)
        limits = limits_of(item)
        if item.leaving:
            self._report(item, status_of(item, new, old, limits, self._registry.now))
            return None
        if item.spec.get("paused"):
            self._scale(item, new, old, limits)
            return None
        if limits.rolling:
            return self._roll(item, new, old, limits)
        return self._recreate(item, new, old, limits)

    def _waiting_for(self, change: StoreChange) -> Iterable[Key]:
        """Deployments with the strategy Recreate, which create pods only after the last old one is gone."""
        for namespace, name in keys_of_owner(change, kinds.REPLICA_SETS):
            parent = self._registry.find(REPLICA_SETS, (namespace, name))
            owner = parent.controller if parent is not None else None
            if owner is not None and owner["kind"] == kinds.DEPLOYMENTS.kind:
                held = self._registry.find(DEPLOYMENTS, (namespace, owner["name"]))
                if held is not None and not limits_of(held).rolling:
                    yield held.key

    def _scale(self, item: StoredItem, new: StoredItem | None, old: list[StoredItem], limits: RolloutLimits) -> None:
        """While it is paused, the size of its only ReplicaSet with pods may change, and no new one is created."""
        every = [*old, *((new,) if new is not None else ())]
        active = [each for each in every if each.replicas] or every[-1:]
        sizes = [(active[0], limits.replicas)] if len(active) == 1 else []
        new, old = self._resized(sizes, new, old)
        self._report(item, status_of(item, new, old, limits, self._registry.now))

    def _roll(
        self, item: StoredItem, new: StoredItem | None, old: list[StoredItem], limits: RolloutLimits
    ) -> float | None:
        item, there = self._latest(item, new, old, limits)
        steps = rolled(limits, there, old)
        latest, old = self._resized(steps, there, old)
        if not steps:
            self._generations.clean_up(item, old)
        return self._progressed(item, latest, old, limits)

    def _recreate(
        self, item: StoredItem, new: StoredItem | None, old: list[StoredItem], limits: RolloutLimits
    ) -> float | None:
        """The old pods must be gone before new ones are created."""
        running = [each for each in old if each.replicas]
        if running:
            new, old = self._resized([(each, 0) for each in running], new, old)
            return self._progressed(item, new, old, limits)
        if any(counted(each, "replicas") or self._runs(each) for each in old):
            return self._progressed(item, new, old, limits)
        item, there = self._latest(item, new, old, limits)
        latest, old = self._resized([(there, limits.replicas)], there, old)
        if complete(item, status_of(item, latest, old, limits, self._registry.now)):
            self._generations.clean_up(item, old)
        return self._progressed(item, latest, old, limits)

    def _runs(self, item: StoredItem) -> bool:
        return any(not pod.finished for pod in self._index.controlled(item.uid, PODS))

    def _latest(
        self, item: StoredItem, new: StoredItem | None, old: Sequence[StoredItem], limits: RolloutLimits
    ) -> tuple[StoredItem, StoredItem]:
        """The deployment and the ReplicaSet of its template, created if it is missing."""
        if new is not None:
            new = self._generations.synced(item, new, old)
            return self._revised(item, new), new
        new = self._generations.create(item, old, limits)
        item = self._revised(item, new)
        if deadline_of(item) is not None:
            text = f'Created new replica set "{new.key[1]}"'
            made = with_condition(
                item.conditions, progressing("True", "NewReplicaSetCreated", text), self._registry.now
            )
            item = self._written(item, with_value(item.doc, ("status", "conditions"), made))
        return item, new

    def _resized(
        self, sizes: Sizes, new: StoredItem | None, old: Sequence[StoredItem]
    ) -> tuple[StoredItem | None, list[StoredItem]]:
        """The ReplicaSets after the change of sizes."""
        written = {
            each.uid: self._registry.put(each, ("spec", "replicas"), size)
            for each, size in sizes
            if each.replicas != size
        }
        return written.get(new.uid, new) if new is not None else None, [written.get(each.uid, each) for each in old]

    def _revised(self, item: StoredItem, new: StoredItem) -> StoredItem:
        """The deployment with the revision of its newest ReplicaSet."""
        revision = new.annotations.get(REVISION)
        if revision is None or item.annotations.get(REVISION) == revision:
            return item
        annotations = {**item.annotations, REVISION: revision}
        return self._written(item, with_value(item.doc, ("metadata", "annotations"), annotations))

    def _progressed(
        self, item: StoredItem, new: StoredItem | None, old: Sequence[StoredItem], limits: RolloutLimits
    ) -> float | None:
        status = status_of(item, new, old, limits, self._registry.now)
        now = self._registry.time
        status = with_progress(item, status, new, now, self._registry.now)
        self._report(item, status)
        return looked_at_again_s(item, status, now)
