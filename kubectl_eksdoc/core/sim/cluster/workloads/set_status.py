"""The status of a StatefulSet.

Source: pkg/controller/statefulset/{stateful_set_control,stateful_set_utils}.go (updateStatus, completeRollingUpdate),
Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.sim.cluster.store import Item
from kubectl_eksdoc.core.sim.cluster.workloads import pods
from kubectl_eksdoc.core.sim.cluster.workloads.replica_sets import wanted
from kubectl_eksdoc.core.sim.cluster.workloads.revisions import HASH_LABEL


def revision_of(pod: Doc) -> str:
    return pods.labels_of(pod).get(HASH_LABEL, "")


def min_ready_s(item: Item) -> int:
    return int(item.doc["spec"].get("minReadySeconds") or 0)


def runs_available(item: Item, pod: Item, now: datetime) -> bool:
    """Running, and ready for long enough; it may be leaving."""
    return pods.phase(pod.doc) == "Running" and pods.is_available(pod.doc, min_ready_s(item), now)


def status_of(
    item: Item, own: Iterable[Item], current: Item, update: Item, marked: int, now: datetime
) -> tuple[Doc, float | None]:
    """The status as of these pods, and in how many seconds it changes by itself.

    `marked` pods of the current revision were just deleted for the update.
    """
    ready = available = of_current = of_update = count = 0
    soon: list[float] = []
    for pod in own:
        count += 1
        if pods.phase(pod.doc) == "Running" and pods.is_ready(pod.doc):
            ready += 1
            left_s = pods.available_in(pod.doc, min_ready_s(item), now)
            if left_s == 0.0:
                available += 1
            elif left_s is not None:
                soon.append(left_s)
        if not pod.leaving:
            of_current += revision_of(pod.doc) == current.key[1]
            of_update += revision_of(pod.doc) == update.key[1]
    of_current -= marked
    revision = current.key[1]
    strategy = at(item.doc, "spec", "updateStrategy", "type") or "RollingUpdate"
    if strategy == "RollingUpdate" and of_update == ready == count == wanted(item.doc):
        of_current, revision = of_update, update.key[1]
    counted = {"readyReplicas": ready, "currentReplicas": of_current, "updatedReplicas": of_update}
    made: Doc = {key: value for key, value in counted.items() if value}
    if generation := item.doc["metadata"].get("generation"):
        made["observedGeneration"] = generation
    made |= {"replicas": count, "availableReplicas": available, "collisionCount": 0}
    made |= {"currentRevision": revision, "updateRevision": update.key[1]}
    return made, min(soon, default=None)
