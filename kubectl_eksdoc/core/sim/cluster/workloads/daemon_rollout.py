"""Which pods of a DaemonSet a rolling update deletes, and where it makes new ones beside the old.

Source: pkg/controller/daemon/update.go (rollingUpdate, findUpdatedPodsOnNode), Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.sim.cluster.store import Item
from kubectl_eksdoc.core.sim.cluster.workloads import pods
from kubectl_eksdoc.core.sim.cluster.workloads.amounts import scaled
from kubectl_eksdoc.core.sim.cluster.workloads.revisions import HASH_LABEL

GENERATION_LABEL = "pod-template-generation"
GENERATION_ANNOTATION = "deprecated.daemonset.template.generation"


@dataclass(frozen=True, slots=True)
class Rollout:
    """`most_away` and `most_beside` are maxUnavailable and maxSurge as counts, of nodes that want a pod."""

    hash: str
    generation: str
    min_ready_s: int
    most_away: int
    most_beside: int
    now: datetime

    def is_new(self, pod: Item) -> bool:
        labels = pods.labels_of(pod.doc)
        if self.generation and labels.get(GENERATION_LABEL) == self.generation:
            return True
        return bool(self.hash) and labels.get(HASH_LABEL) == self.hash

    def steps(self, by_node: Mapping[str, Sequence[Item]]) -> tuple[list[Item], list[str]]:
        """The pods to delete and the nodes to make one on."""
        return self._beside(by_node) if self.most_beside else (self._instead(by_node), [])

    def _instead(self, by_node: Mapping[str, Sequence[Item]]) -> list[Item]:
        """Old pods that go first, their nodes being without one for a while."""
        away = 0
        ailing: list[Item] = []
        candidates: list[Item] = []
        for own in by_node.values():
            new, old = self._split(own)
            if len(new) + len(old) != 1:
                away += 1  # none, or one too many: it is seen to elsewhere
            elif new:
                away += not self._available(new[0])
            elif self._available(old[0]):
                candidates.append(old[0])
            else:
                away += 1
                ailing.append(old[0])
        return ailing + candidates[: max(0, self.most_away - away)]

    def _beside(self, by_node: Mapping[str, Sequence[Item]]) -> tuple[list[Item], list[str]]:
        """New pods come first; the old one of a node goes when its new one is available."""
        beside = 0
        gone: list[Item] = []
        at_once: list[str] = []
        candidates: list[str] = []
        for node, own in by_node.items():
            new, old = self._split(own)
            if len(new) > 1 or len(old) > 1:
                beside += 1
            elif old and not new:
                (candidates if self._available(old[0]) else at_once).append(node)
            elif old and self._available(new[0]):
                gone.append(old[0])
            elif old:
                beside += 1
        return gone, at_once + candidates[: max(0, self.most_beside - beside)]

    def _split(self, own: Sequence[Item]) -> tuple[list[Item], list[Item]]:
        staying = [pod for pod in own if not pod.leaving]
        return [pod for pod in staying if self.is_new(pod)], [pod for pod in staying if not self.is_new(pod)]

    def _available(self, pod: Item) -> bool:
        return pods.is_available(pod.doc, self.min_ready_s, self.now)


def rollout_of(owner: Item, hash_: str, nodes: int, now: datetime) -> Rollout:
    """`nodes`: how many want a pod."""
    rolling: Doc = at(owner.doc, "spec", "updateStrategy", "rollingUpdate") or {}
    beside = scaled(rolling.get("maxSurge"), nodes, 0, up=True)
    away = scaled(rolling.get("maxUnavailable"), nodes, 1, up=True)
    return Rollout(
        hash=hash_,
        generation=pods.annotations_of(owner.doc).get(GENERATION_ANNOTATION, ""),
        min_ready_s=int(owner.doc["spec"].get("minReadySeconds") or 0),
        most_away=away if away or beside else 1,
        most_beside=beside,
        now=now,
    )
