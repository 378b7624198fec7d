"""Who makes a pod in the end: its Deployment and not its ReplicaSet, its CronJob and not its Job.

What makes a Deployment in its turn, as operators do, is not looked for: it is known by its own name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.findings import Subject
from kubectl_eksdoc.core.model.pods import Owner, Pod
from kubectl_eksdoc.core.model.workloads import Job, Workload

_DEEPEST = 5
"""Owners of owners; references can lead in a circle, as nothing checks them."""


@dataclass(frozen=True, slots=True)
class Owners:
    """`above`: uid of a ReplicaSet or Job that was read → its own owner."""

    above: Mapping[str, Owner | None]

    def of_pod(self, pod: Pod) -> Subject:
        """The pod itself where nothing makes it, or its node does (a static pod)."""
        if pod.owner is None or pod.owner.kind == "Node":
            return Subject("Pod", pod.name, pod.namespace)
        top = self._top(pod.owner)
        hashed = f"-{pod.labels.get('pod-template-hash', '')}"
        if top.kind == "ReplicaSet" and top.uid not in self.above and len(hashed) > 1 and top.name.endswith(hashed):
            return Subject("Deployment", top.name.removesuffix(hashed), pod.namespace)  # its ReplicaSet was not read
        return Subject(top.kind, top.name, pod.namespace)

    def of(self, made: Workload | Job) -> Subject:
        """What makes it, or itself."""
        kind = made.kind if isinstance(made, Workload) else "Job"
        top = self._top(Owner(kind, made.name, made.uid))
        return Subject(top.kind, top.name, made.namespace)

    def _top(self, owner: Owner) -> Owner:
        for _ in range(_DEEPEST):
            above = self.above.get(owner.uid)
            if above is None:
                break
            owner = above
        return owner


def owners(cluster: Cluster) -> Owners:
    """As far as ReplicaSets and Jobs were read."""
    sets = {each.uid: each.owner for each in cluster.workloads if each.kind == "ReplicaSet"}
    return Owners(sets | {each.uid: each.owner for each in cluster.jobs})
