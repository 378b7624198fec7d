"""Who makes a pod in the end: its Deployment and not its ReplicaSet, its CronJob and not its Job.

What makes a Deployment in its turn, as operators do, is not looked for: it is known by its own name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Subject
from kubectl_eksdoc.model.pods import Owner, Pod
from kubectl_eksdoc.model.workloads import Job, Workload

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
        if pod.deployment and pod.owner.uid not in self.above:
            return Subject("Deployment", pod.deployment, pod.namespace)  # its ReplicaSet was not read
        top = self._top(pod.owner)
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


def maker(pod: Pod) -> Subject:
    """Who made it, as far as the pod itself tells: of a ReplicaSet the Deployment by its name, of which the hash that
    the controller appends is the last part."""
    if pod.owner is None:
        return Subject("Pod", pod.name, pod.namespace)
    if pod.owner.kind == "ReplicaSet" and "-" in pod.owner.name:
        return Subject("Deployment", pod.owner.name.rpartition("-")[0], pod.namespace)
    return Subject(pod.owner.kind, pod.owner.name, pod.namespace)
