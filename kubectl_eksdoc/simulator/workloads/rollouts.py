"""How large each ReplicaSet of a Deployment is to be: rolling updates step by step, and scaling in proportion.

Source: pkg/controller/deployment/{rolling,sync}.go, pkg/controller/deployment/util/deployment_util.go
(ResolveFenceposts, NewRSNewReplicas, GetReplicaSetProportion), Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, at, with_value
from kubectl_eksdoc.simulator.registry import Registry
from kubectl_eksdoc.simulator.store import StoredItem
from kubectl_eksdoc.simulator.workloads.owning import OncePerDocument, reference_to
from kubectl_eksdoc.simulator.workloads.replica_sets import REPLICA_SETS, scaled
from kubectl_eksdoc.simulator.workloads.templates import hash_of, text_of

DESIRED, MAX = "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas"

Sizes = list[tuple[StoredItem, int]]


class RolloutLimits(NamedTuple):
    """`replicas` that are wanted; pods beyond them (`surge`) and away from them (`away`) while it rolls."""

    replicas: int
    surge: int
    away: int
    rolling: bool

    @property
    def most(self) -> int:
        return self.replicas + self.surge


def limits_of(deployment: StoredItem) -> RolloutLimits:
    """With surge rounded up, unavailable down, and one unavailable where both would be none."""
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


def noted(item: StoredItem, annotation: str) -> int | None:
    """A number of its annotations, None where it is none."""
    try:
        return int(item.annotations[annotation])
    except (KeyError, ValueError):
        return None


def first_size(limits: RolloutLimits, size: int, total: int) -> int:
    """Of the new ReplicaSet that has `size`, with `total` in all: as large as the surge allows."""
    if not limits.rolling:
        return limits.replicas
    if total >= limits.most:
        return size
    return size + min(limits.most - total, limits.replicas - size)


def rolled(limits: RolloutLimits, new: StoredItem, old: Sequence[StoredItem]) -> Sizes:
    """The next step of a rolling update: the new one grows first, then the old ones shrink."""
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
    """Old ones lose what is not available, the oldest first, then what need not be available."""
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


def scaled_sizes(limits: RolloutLimits, new: StoredItem | None, old: Sequence[StoredItem], total_before: int) -> Sizes:
    """Sizes after spec.replicas changed, whether or not an update is under way."""
    every = [*old, *((new,) if new is not None else ())]
    active = [item for item in every if item.replicas]
    if len(active) <= 1:
        latest = active[0] if active else new or max(old, key=_made, default=None)
        return [(latest, limits.replicas)] if latest is not None else []
    if new is not None and _saturated(limits, new):
        return [(item, 0) for item in active if item is not new]
    return _in_proportion(limits, active, total_before) if limits.rolling else []


def _saturated(limits: RolloutLimits, new: StoredItem) -> bool:
    return (
        new.replicas == noted(new, DESIRED) == limits.replicas and counted(new, "availableReplicas") == limits.replicas
    )


def _in_proportion(limits: RolloutLimits, active: Sequence[StoredItem], total_before: int) -> Sizes:
    """What is added or taken away is shared out by size; what cannot be shared goes to the largest."""
    add = (limits.most if limits.replicas else 0) - sum(item.replicas for item in active)
    newer_first = add > 0
    order = sorted(active, key=_made, reverse=newer_first)
    order.sort(key=lambda item: item.replicas, reverse=True)
    sizes: Sizes = []
    added = 0
    for item in order:
        share = _share(limits, item, add - added, total_before) if add else 0
        added += share
        sizes.append((item, item.replicas + share))
    first, size = sizes[0]
    sizes[0] = first, max(0, size + add - added)
    return sizes


def _share(limits: RolloutLimits, item: StoredItem, left: int, total_before: int) -> int:
    size = item.replicas
    if not left:
        return 0
    if not limits.replicas:
        share = -size
    else:
        before = noted(item, MAX) or total_before
        if not before:
            return 0
        share = int(size * limits.most / before + 0.5) - size
    return min(share, left) if left > 0 else max(share, left)


def _made(item: StoredItem) -> tuple[str, str]:
    return item.created, item.key[1]


# The ReplicaSets of a Deployment: which is that of the template as it is now, its revision, and those that are spare.
#
# Source: pkg/controller/deployment/sync.go (getNewReplicaSet, cleanupDeployment),
# pkg/controller/deployment/util/deployment_util.go (FindNewReplicaSet, SetNewReplicaSetAnnotations), Kubernetes v1.36.


HASH_LABEL = "pod-template-hash"
REVISION, HISTORY = "deployment.kubernetes.io/revision", "deployment.kubernetes.io/revision-history"

_NOT_COPIED = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "deprecated.deployment.rollback.to",
        REVISION,
        HISTORY,
        DESIRED,
        MAX,
    }
)
_KEPT = 10


class Generations:
    """Finds, makes and deletes them."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._texts = OncePerDocument(partial(text_of, besides=HASH_LABEL))

    def told_apart(
        self, deployment: StoredItem, own: Sequence[StoredItem]
    ) -> tuple[StoredItem | None, list[StoredItem]]:
        """That of the template as it is, the oldest if there are several, and the others."""
        text = self._texts.of(deployment.template)
        by_age = sorted(own, key=_made)
        new = next((item for item in by_age if self._texts.of(item.template) == text), None)
        return new, [item for item in by_age if item is not new]

    def synced(self, deployment: StoredItem, new: StoredItem, old: Sequence[StoredItem]) -> StoredItem:
        """`new` with the annotations of the deployment and the newest revision."""
        held = new.annotations
        made = {**held, **_copied(deployment), **_revised(held, _next_revision(old))}
        ready_s = deployment.spec.get("minReadySeconds")
        doc = new.doc
        if made != held:
            doc = with_value(doc, ("metadata", "annotations"), made)
        if (ready_s or 0) != (new.spec.get("minReadySeconds") or 0):
            doc = with_value(doc, ("spec", "minReadySeconds"), ready_s or 0)
        return new if doc is new.doc else self._registry.update(new, doc)

    def create(
        self, deployment: StoredItem, old: Sequence[StoredItem], limits: RolloutLimits
    ) -> tuple[StoredItem, int]:
        """The ReplicaSet of the template, and how often its name was taken.

        Raises:
            Refusal: it could not be made.
        """
        template = deployment.template
        collisions = int(at(deployment.status, "collisionCount") or 0)
        while self._taken(deployment, hash_of(template, collisions)):
            collisions += 1
        hash_ = hash_of(template, collisions)
        labels = {**(at(template, "metadata", "labels") or {}), HASH_LABEL: hash_}
        size = first_size(limits, 0, sum(item.replicas for item in old))
        annotations = {**_copied(deployment), **_sized(limits), **_revised({}, _next_revision(old))}
        meta = {
            "name": f"{deployment.key[1]}-{hash_}",
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [reference_to(deployment, kinds.DEPLOYMENTS)],
        }
        spec: Doc = {
            "replicas": size,
            "selector": _with_label(deployment.spec.get("selector") or {}, hash_),
            "template": with_value(template, ("metadata", "labels"), labels),
        }
        if deployment.spec.get("minReadySeconds"):
            spec["minReadySeconds"] = deployment.spec["minReadySeconds"]
        kind = {"apiVersion": "apps/v1", "kind": "ReplicaSet"}
        status = {"replicas": 0}
        doc = {**kind, "metadata": meta, "spec": spec, "status": status}
        return self._registry.create(REPLICA_SETS, doc, deployment.key[0]), collisions

    def resize(self, item: StoredItem, size: int, limits: RolloutLimits) -> StoredItem:
        """Give it that size, and note what the deployment wanted then."""
        doc, annotations = item.doc, {**item.annotations, **_sized(limits)}
        if annotations != item.annotations:
            doc = with_value(doc, ("metadata", "annotations"), annotations)
        if item.replicas != size:
            doc = with_value(doc, ("spec", "replicas"), size)
        return item if doc is item.doc else self._registry.update(item, doc)

    def clean_up(self, deployment: StoredItem, old: Sequence[StoredItem]) -> None:
        """Delete the oldest revisions beyond as many as are to be kept, if nothing of them runs."""
        limit = deployment.spec.get("revisionHistoryLimit")
        there = [item for item in old if not item.leaving]
        spare = len(there) - (_KEPT if limit is None else int(limit))
        for item in sorted(there, key=revision_of)[: max(0, spare)]:
            seen = counted(item, "observedGeneration") >= item.generation
            if seen and not counted(item, "replicas") and not item.replicas:
                self._registry.delete(item)

    def _taken(self, deployment: StoredItem, hash_: str) -> bool:
        key = (deployment.key[0], f"{deployment.key[1]}-{hash_}")
        return self._registry.find(REPLICA_SETS, key) is not None


def revision_of(item: StoredItem) -> int:
    return noted(item, REVISION) or 0


def _next_revision(old: Sequence[StoredItem]) -> int:
    return max((revision_of(item) for item in old), default=0) + 1


def _revised(held: dict[str, str], revision: int) -> dict[str, str]:
    """A revision that is given again is noted in the history; one that is newer stays."""
    text = held.get(REVISION, "")
    number = int(text) if text.isdigit() else 0
    if number >= revision:
        return {}
    if not number:
        return {REVISION: str(revision)}
    history = [each for each in held.get(HISTORY, "").split(",") if each]
    return {REVISION: str(revision), HISTORY: ",".join([*history, text])}


def _copied(deployment: StoredItem) -> dict[str, str]:
    return {key: value for key, value in deployment.annotations.items() if key not in _NOT_COPIED}


def _sized(limits: RolloutLimits) -> dict[str, str]:
    return {DESIRED: str(limits.replicas), MAX: str(limits.most)}


def _with_label(selector: Doc, hash_: str) -> Doc:
    return {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH_LABEL: hash_}}
