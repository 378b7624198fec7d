"""Programs that run in the cluster, recognised by their images, in which versions and by whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from kubectl_eksdoc.amazon.upgrades.software import Software, installed_version, labelled, recognised
from kubectl_eksdoc.check.checks.owners import maker
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.findings import Subject
from kubectl_eksdoc.model.pods import Pod
from kubectl_eksdoc.model.versions import Version


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


def _running(software: Software, image: str, by: Subject, pods: Iterable[Pod]) -> Running:
    told = installed_version(software, image) if image else Unknown("its images do not tell: they have other names")
    return Running(software, told, image, by, tuple(sorted({pod.node for pod in pods if pod.node})))


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
