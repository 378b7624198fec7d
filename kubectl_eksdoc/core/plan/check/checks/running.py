"""Programs that run in the cluster, recognised by their images, in which versions and by whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.findings import Subject
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.model.versions import Version
from kubectl_eksdoc.core.rules.upgrades.software import Software, installed_version, labelled, recognised


@dataclass(frozen=True, slots=True)
class Running:
    """One version of a program. `subject`: what its pods are made by, as far as the pods tell; `nodes`: where they
    are. `image` is "" where only its labels tell what it is."""

    software: Software
    version: Version | Unknown
    image: str
    subject: Subject
    nodes: tuple[str, ...]


def running(pods: Iterable[Pod], of: Software | None = None) -> tuple[Running, ...]:
    """All that are recognised, or those `of` one; by name and version. Pods that have ended do not count."""
    found: dict[tuple[str, str, str, str], list[Pod]] = defaultdict(list)
    known: dict[tuple[str, str, str, str], tuple[Software, str]] = {}
    by_image: dict[str, Software | None] = {}  # thousands of pods have a few images
    for pod in pods:
        if pod.finished:
            continue
        for software, image in _programs(pod, by_image):
            if of is None or software == of:
                key = software.name, image, pod.namespace, _maker(pod)
                found[key].append(pod)
                known[key] = software, image
    return tuple(_running(*known[key], each) for key, each in sorted(found.items()))


def _running(software: Software, image: str, pods: list[Pod]) -> Running:
    first = pods[0]
    told = installed_version(software, image) if image else Unknown("its images do not tell: they have other names")
    nodes = tuple(sorted({pod.node for pod in pods if pod.node}))
    return Running(software, told, image, _subject(first), nodes)


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


def _maker(pod: Pod) -> str:
    """Its ReplicaSet's Deployment by its name: the hash that the controller appends is the last part."""
    if pod.owner is None:
        return f"Pod {pod.name}"
    if pod.owner.kind == "ReplicaSet" and "-" in pod.owner.name:
        return f"Deployment {pod.owner.name.rpartition('-')[0]}"
    return f"{pod.owner.kind} {pod.owner.name}"


def _subject(pod: Pod) -> Subject:
    kind, _, name = _maker(pod).partition(" ")
    return Subject(kind, name, pod.namespace)
