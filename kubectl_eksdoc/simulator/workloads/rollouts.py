"""How large each ReplicaSet of a Deployment is to be: rolling updates step by step.

Source: pkg/controller/deployment/{rolling,sync}.go, pkg/controller/deployment/util/deployment_util.go
(ResolveFenceposts, NewRSNewReplicas), Kubernetes v1.36. Left out: that a Deployment which is scaled in the middle of an
update scales all of its ReplicaSets in proportion, and takes the next step of the update only then.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, at, with_value

from ..registry import Registry
from ..store import StoredItem
from .owning import OncePerDocument, hash_of, reference_to, text_of
from .replica_sets import REPLICA_SETS, scaled

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


def _made(item: StoredItem) -> tuple[str, str]:
    return item.created, item.key[1]


# The ReplicaSets of a Deployment: which is that of the template as it is now, its revision, and those that are spare.
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
        """The ReplicaSet of the template.

        Raises:
            Refusal: it could not be made; one of its name may have to go first.
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
        """Delete the oldest revisions beyond as many as are to be kept, if nothing of them runs."""
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
