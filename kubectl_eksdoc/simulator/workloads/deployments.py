"""The deployment controller: a ReplicaSet for each template, the new one growing as the old ones shrink.

Source: pkg/controller/deployment/{deployment_controller,sync,rolling,recreate,progress}.go, Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, with_value

from ..registry import Registry
from ..store import PODS, Key, StoreChange, StoredItem, moment
from .owning import Index, ObjectController, Owners, keys_of_owner
from .replica_sets import REPLICA_SETS
from .rollouts import (
    REVISION,
    Generations,
    RolloutLimits,
    Sizes,
    counted,
    limits_of,
    rolled,
)

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
    """Counts, and whether enough is available; other conditions as they are."""
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
    """`status` with what it says of the rollout; `text` is `now` as metadata has times."""
    held = deployment.condition(PROGRESSING)
    conditions: list[Doc] = status["conditions"]
    deadline_s = deadline_of(deployment)
    if deadline_s is None:
        conditions = [each for each in conditions if each["type"] != PROGRESSING]
    elif not _over(status, held):
        conditions = _progress(deployment, status, new, now, text, deadline_s)
    return {**status, "conditions": [each for each in conditions if each["type"] != FAILURE]}


def with_condition(held: Iterable[Doc], new: Doc, now: str) -> list[Doc]:
    """`held` with `new` at its end, unless it says the same already; the transition's time changes with the status."""
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
    """None for a Deployment whose progress is not judged."""
    given = deployment.spec.get("progressDeadlineSeconds")
    return None if given is None or int(given) == _NO_DEADLINE else int(given)


def complete(deployment: StoredItem, status: Doc) -> bool:
    """`status` is of this generation, as `status_of` makes it."""
    replicas = deployment.replicas
    counts = [int(status.get(what) or 0) for what in ("updatedReplicas", "replicas", "availableReplicas")]
    return counts == [replicas] * 3


def looked_at_again_s(deployment: StoredItem, status: Doc, now: datetime) -> float | None:
    """When it must be looked at to see whether it has taken too long."""
    deadline_s = deadline_of(deployment)
    held = next((each for each in status["conditions"] if each["type"] == PROGRESSING), None)
    if held is None or deadline_s is None or complete(deployment, status) or held.get("reason") == TIMED_OUT:
        return None
    if held.get("reason") == NEW_AVAILABLE:
        return None  # it never times out from there
    return max(0.0, (moment(held["lastUpdateTime"]) - now).total_seconds() + deadline_s) + 1


def _availability(available: int, limits: RolloutLimits) -> Doc:
    if available >= limits.replicas - limits.away:
        text, status, reason = "Deployment has minimum availability.", "True", "MinimumReplicasAvailable"
    else:
        text, status, reason = "Deployment does not have minimum availability.", "False", "MinimumReplicasUnavailable"
    return {"type": AVAILABLE, "status": status, "reason": reason, "message": text}


def _over(status: Doc, held: Doc | None) -> bool:
    """Whether the latest rollout has been completed: what changes after that is no progress."""
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
    """A `Controller`; keys are those of Deployments."""

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
        """Deployments that begin anew only when their last pod is gone."""
        for namespace, name in keys_of_owner(change, kinds.REPLICA_SETS):
            parent = self._registry.find(REPLICA_SETS, (namespace, name))
            owner = parent.controller if parent is not None else None
            if owner is not None and owner["kind"] == kinds.DEPLOYMENTS.kind:
                held = self._registry.find(DEPLOYMENTS, (namespace, owner["name"]))
                if held is not None and not limits_of(held).rolling:
                    yield held.key

    def _scale(self, item: StoredItem, new: StoredItem | None, old: list[StoredItem], limits: RolloutLimits) -> None:
        """While it is paused the size of the only ReplicaSet with pods may change, and no new one is made."""
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
        """The old pods must be gone before the new ones are made."""
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
        """The deployment and the ReplicaSet of its template, made if it is missing."""
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
        """Both as they are after that."""
        written = {
            each.uid: self._registry.put(each, ("spec", "replicas"), size)
            for each, size in sizes
            if each.replicas != size
        }
        return written.get(new.uid, new) if new is not None else None, [written.get(each.uid, each) for each in old]

    def _revised(self, item: StoredItem, new: StoredItem) -> StoredItem:
        """With the revision of its newest ReplicaSet."""
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
