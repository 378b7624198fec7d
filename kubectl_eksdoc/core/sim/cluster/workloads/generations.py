"""The ReplicaSets of a Deployment: which is that of the template as it is now, its revision, and those that are spare.

Source: pkg/controller/deployment/sync.go (getNewReplicaSet, cleanupDeployment),
pkg/controller/deployment/util/deployment_util.go (FindNewReplicaSet, SetNewReplicaSetAnnotations), Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import Doc, at, with_value
from kubectl_eksdoc.core.sim.cluster.registry import Registry
from kubectl_eksdoc.core.sim.cluster.store import Item
from kubectl_eksdoc.core.sim.cluster.workloads.owning import reference_to
from kubectl_eksdoc.core.sim.cluster.workloads.pods import annotations_of, labels_of
from kubectl_eksdoc.core.sim.cluster.workloads.replica_sets import REPLICA_SETS, wanted
from kubectl_eksdoc.core.sim.cluster.workloads.rollout_sizes import DESIRED, MAX, Limits, counted, first_size, noted
from kubectl_eksdoc.core.sim.cluster.workloads.templates import Texts, hash_of

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
        self._texts = Texts(besides=HASH_LABEL)

    def told_apart(self, deployment: Item, own: Sequence[Item]) -> tuple[Item | None, list[Item]]:
        """That of the template as it is, the oldest if there are several, and the others."""
        text = self._texts.of(deployment.doc["spec"].get("template") or {})
        by_age = sorted(own, key=lambda item: (str(item.doc["metadata"].get("creationTimestamp")), item.key[1]))
        new = next((item for item in by_age if self._texts.of(item.doc["spec"].get("template") or {}) == text), None)
        return new, [item for item in by_age if item is not new]

    def synced(self, deployment: Item, new: Item, old: Sequence[Item]) -> Item:
        """`new` with the annotations of the deployment and the newest revision."""
        held = annotations_of(new.doc)
        made = {**held, **_copied(deployment), **_revised(held, _next_revision(old))}
        ready_s = deployment.doc["spec"].get("minReadySeconds")
        doc = new.doc
        if made != held:
            doc = with_value(doc, ("metadata", "annotations"), made)
        if (ready_s or 0) != (new.doc["spec"].get("minReadySeconds") or 0):
            doc = with_value(doc, ("spec", "minReadySeconds"), ready_s or 0)
        return new if doc is new.doc else self._registry.update(new, doc)

    def create(self, deployment: Item, old: Sequence[Item], limits: Limits) -> tuple[Item, int]:
        """The ReplicaSet of the template, and how often its name was taken.

        Raises:
            Refusal: it could not be made.
        """
        template: Doc = deployment.doc["spec"].get("template") or {}
        collisions = int(at(deployment.doc, "status", "collisionCount") or 0)
        while self._taken(deployment, hash_of(template, collisions)):
            collisions += 1
        hash_ = hash_of(template, collisions)
        labels = {**labels_of({"metadata": template.get("metadata") or {}}), HASH_LABEL: hash_}
        size = first_size(limits, 0, sum(wanted(item.doc) for item in old))
        annotations = {**_copied(deployment), **_sized(limits), **_revised({}, _next_revision(old))}
        meta = {
            "name": f"{deployment.key[1]}-{hash_}",
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [reference_to(deployment, kinds.DEPLOYMENTS)],
        }
        spec: Doc = {
            "replicas": size,
            "selector": _with_label(deployment.doc["spec"].get("selector") or {}, hash_),
            "template": with_value(template, ("metadata", "labels"), labels),
        }
        if deployment.doc["spec"].get("minReadySeconds"):
            spec["minReadySeconds"] = deployment.doc["spec"]["minReadySeconds"]
        kind = {"apiVersion": "apps/v1", "kind": "ReplicaSet"}
        status = {"replicas": 0}
        doc = {**kind, "metadata": meta, "spec": spec, "status": status}
        return self._registry.create(REPLICA_SETS, doc, deployment.key[0]), collisions

    def resize(self, item: Item, size: int, limits: Limits) -> Item:
        """Give it that size, and note what the deployment wanted then."""
        doc = item.doc
        annotations = {**annotations_of(doc), **_sized(limits)}
        if annotations != annotations_of(doc):
            doc = with_value(doc, ("metadata", "annotations"), annotations)
        if wanted(doc) != size:
            doc = with_value(doc, ("spec", "replicas"), size)
        return item if doc is item.doc else self._registry.update(item, doc)

    def clean_up(self, deployment: Item, old: Sequence[Item]) -> None:
        """Delete the oldest revisions beyond as many as are to be kept, if nothing of them runs."""
        limit = deployment.doc["spec"].get("revisionHistoryLimit")
        there = [item for item in old if not item.leaving]
        spare = len(there) - (_KEPT if limit is None else int(limit))
        for item in sorted(there, key=revision_of)[: max(0, spare)]:
            seen = counted(item, "observedGeneration") >= int(item.doc["metadata"].get("generation") or 0)
            if seen and not counted(item, "replicas") and not wanted(item.doc):
                self._registry.delete(item)

    def _taken(self, deployment: Item, hash_: str) -> bool:
        key = (deployment.key[0], f"{deployment.key[1]}-{hash_}")
        return self._registry.store.get(REPLICA_SETS, key) is not None


def revision_of(item: Item) -> int:
    return noted(item, REVISION) or 0


def _next_revision(old: Sequence[Item]) -> int:
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


def _copied(deployment: Item) -> dict[str, str]:
    return {key: value for key, value in annotations_of(deployment.doc).items() if key not in _NOT_COPIED}


def _sized(limits: Limits) -> dict[str, str]:
    return {DESIRED: str(limits.replicas), MAX: str(limits.most)}


def _with_label(selector: Doc, hash_: str) -> Doc:
    return {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH_LABEL: hash_}}
