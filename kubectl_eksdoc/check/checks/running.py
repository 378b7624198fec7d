"""Programs that run in the cluster, recognised by their images, in which versions, and what makes pods."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kubectl_eksdoc.amazon.upgrades.software import Software, installed_version, labelled, recognised
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Subject
from kubectl_eksdoc.model.pods import ControllerOwner, Pod
from kubectl_eksdoc.model.versions import Version
from kubectl_eksdoc.model.workloads import Job, Workload

_DEEPEST = 5
"""Owners of owners; references can lead in a circle, as nothing checks them."""


@dataclass(frozen=True, slots=True)
class _Owners:
    """`above`: uid of a ReplicaSet or Job that was read → its own owner."""

    above: Mapping[str, ControllerOwner | None]

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
        top = self._top(ControllerOwner(kind, made.name, made.uid))
        return Subject(top.kind, top.name, made.namespace)

    def _top(self, owner: ControllerOwner) -> ControllerOwner:
        for _ in range(_DEEPEST):
            above = self.above.get(owner.uid)
            if above is None:
                break
            owner = above
        return owner


def owners(cluster: Cluster) -> _Owners:
    """As far as ReplicaSets and Jobs were read."""
    sets = {each.uid: each.owner for each in cluster.workloads if each.kind == "ReplicaSet"}
    return _Owners(sets | {each.uid: each.owner for each in cluster.jobs})


def maker(pod: Pod) -> Subject:
    """Who made it, as far as the pod itself tells: of a ReplicaSet the Deployment by its name, of which the hash that
    the controller appends is the last part."""
    if pod.owner is None:
        return Subject("Pod", pod.name, pod.namespace)
    if pod.owner.kind == "ReplicaSet" and "-" in pod.owner.name:
        return Subject("Deployment", pod.owner.name.rpartition("-")[0], pod.namespace)
    return Subject(pod.owner.kind, pod.owner.name, pod.namespace)


@dataclass(frozen=True, slots=True)
class RunningVersion:
    """One version of a program. `subject`: what its pods are made by, as far as the pods tell; `nodes`: where they
    are. `image` is "" where only its labels tell what it is."""

    software: Software
    version: Version | Unknown
    image: str
    subject: Subject
    nodes: tuple[str, ...]


def running(pods: Iterable[Pod], of: Software | None = None) -> tuple[RunningVersion, ...]:
    """All that are recognised, or those `of` one; by name and version. Pods that have ended do not count."""
    found: dict[tuple[str, str, Subject], list[Pod]] = defaultdict(list)
    programs: dict[str, Software] = {}
    by_image: dict[str, Software | None] = {}  # thousands of pods have a few images
    for pod in pods:
        if pod.finished:
            continue
        for software, image in _programs(pod, by_image):
            if of is None or software == of:
                programs[software.name] = software
                found[software.name, image, maker(pod)].append(pod)
    return tuple(_running(programs[key[0]], *key[1:], found[key]) for key in sorted(found, key=_place))


def _place(key: tuple[str, str, Subject]) -> tuple[str, ...]:
    name, image, by = key
    return name, image, by.namespace, by.kind, by.name


def _running(software: Software, image: str, by: Subject, pods: Iterable[Pod]) -> RunningVersion:
    told = installed_version(software, image) if image else Unknown("its images do not tell: they have other names")
    return RunningVersion(software, told, image, by, tuple(sorted({pod.node for pod in pods if pod.node})))


def _programs(pod: Pod, by_image: dict[str, Software | None]) -> list[tuple[Software, str]]:
    """By image, each once; by labels only where no image is recognised."""
    found: dict[str, tuple[Software, str]] = {}
    for image in pod.calls.images:
        if image not in by_image:
            by_image[image] = recognised(image)
        if (software := by_image[image]) is not None:
            found[software.name] = software, image
    if found:
        return list(found.values())
    told = labelled(pod.labels)
    return [(told, "")] if told is not None else []
