"""What the API server has against a pod template that several clients have written: names that are there twice, and
fields that exclude each other. Each write may be right by itself, and the merged object wrong.

Source: pkg/apis/core/validation/validation.go (validateContainerPorts, ValidateEnv, ValidateVolumeMounts,
validateVolumeSource, validateHandler, validateContainers), pkg/apis/policy/validation/validation.go, Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubectl_eksdoc.kubernetes.api import workload_validation
from kubectl_eksdoc.kubernetes.api.workload_validation import DUPLICATE, FORBIDDEN, NOT_FOUND, Problem
from kubectl_eksdoc.model.api_objects import Doc, at

_RESOURCES = {"Deployment": "deployments.apps", "DaemonSet": "daemonsets.apps"}
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def problems(before: Doc, doc: Doc) -> tuple[Problem, ...]:
    """Each field that is refused where `doc` is written over `before`, but for what is wrong there already."""
    kind = doc.get("kind", "")
    found = [*_of_kind(kind, doc)]
    if kind in _RESOURCES:
        found += workload_validation.problems(_RESOURCES[kind], before, doc)
    already = [*_of_kind(kind, before)]
    return tuple(each for each in found if each not in already)


def _of_kind(kind: str, doc: Doc) -> Iterator[Problem]:
    if kind in _RESOURCES:
        yield from _of_pod(at(doc, "spec", "template", "spec") or {})
    spec = doc.get("spec") or {}
    if kind == "PodDisruptionBudget" and None not in (spec.get("minAvailable"), spec.get("maxUnavailable")):
        yield Problem("spec", spec, "minAvailable and maxUnavailable cannot be both set")


def _of_pod(pod: Doc) -> Iterator[Problem]:
    root = "spec.template.spec"
    volumes = [each.get("name") for each in pod.get("volumes") or ()]
    for index, volume in enumerate(pod.get("volumes") or ()):
        kinds = sorted(key for key, value in volume.items() if key != "name" and value is not None)
        for more in kinds[1:]:
            yield Problem(f"{root}.volumes[{index}].{more}", None, "may not specify more than 1 volume type", FORBIDDEN)
    names: list[Any] = []
    for listed in ("initContainers", "containers"):
        for index, container in enumerate(pod.get(listed) or ()):
            where = f"{root}.{listed}[{index}]"
            if container.get("name") in names:
                yield Problem(f"{where}.name", container.get("name"), "", DUPLICATE)
            names.append(container.get("name"))
            yield from _of_container(where, container, volumes)


def _of_container(where: str, container: Doc, volumes: list[Any]) -> Iterator[Problem]:
    ports: list[Any] = []
    for index, port in enumerate(container.get("ports") or ()):
        name = port.get("name")
        if name and name in ports:
            yield Problem(f"{where}.ports[{index}].name", name, "", DUPLICATE)
        ports.append(name)
    for index, variable in enumerate(container.get("env") or ()):
        if variable.get("value") and variable.get("valueFrom"):
            said = "may not be specified when `value` is not empty"
            yield Problem(f"{where}.env[{index}].valueFrom", "", said)
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        if mount.get("name") not in volumes:
            yield Problem(f"{where}.volumeMounts[{index}].name", mount.get("name"), "", NOT_FOUND)
    for probe in _PROBES:
        handlers = [each for each in _HANDLERS if (container.get(probe) or {}).get(each) is not None]
        for more in handlers[1:]:
            yield Problem(f"{where}.{probe}.{more}", None, "may not specify more than 1 handler type", FORBIDDEN)
