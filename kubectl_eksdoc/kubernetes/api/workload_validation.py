"""Validation of a workload's spec like the API server does it: negative numbers, and selectors that do not match or
change.

A controller whose selector does not match its own template would create pods without end; such a spec is never stored.

Source: pkg/apis/apps/validation/validation.go (ValidateDeploymentSpec, ValidateReplicaSetSpec, ValidateDaemonSetSpec,
ValidateStatefulSetSpec and their updates), pkg/apis/batch/validation/validation.go (validateJobSpec),
pkg/apis/core/validation/validation.go (ValidateReplicationControllerSpec), Kubernetes v1.36.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.selectors import from_document

Path = tuple[str, ...]

NEGATIVE = "must be greater than or equal to 0"

INVALID, FORBIDDEN, DUPLICATE = "FieldValueInvalid", "FieldValueForbidden", "FieldValueDuplicate"
NOT_FOUND, NOT_SUPPORTED = "FieldValueNotFound", "FieldValueNotSupported"
REQUIRED, TOO_LONG = "FieldValueRequired", "FieldValueTooLong"
_WORDS = {
    INVALID: "Invalid value",
    FORBIDDEN: "Forbidden",
    DUPLICATE: "Duplicate value",
    NOT_FOUND: "Not found",
    NOT_SUPPORTED: "Unsupported value",
    REQUIRED: "Required value",
    TOO_LONG: "Too long",
}


@frozen
class Problem:
    """A refused field, its value, and the problem, in the server's words."""

    field: str
    found: Any
    said: str
    reason: str = INVALID

    @property
    def text(self) -> str:
        """The server's message."""
        return self.worded(f'"{self.found}"' if isinstance(self.found, str) else str(self.found))

    def worded(self, shown: str) -> str:
        """The server's message with the value as given, in JSON."""
        found = "" if self.reason in (FORBIDDEN, REQUIRED, TOO_LONG) else shown
        return ": ".join(filter(None, (_WORDS[self.reason], found, self.said)))


_ROLLED: tuple[Path, ...] = (("spec", "replicas"), ("spec", "minReadySeconds"), ("spec", "revisionHistoryLimit"))
_COUNTS: Mapping[str, tuple[Path, ...]] = {
    "deployments.apps": (*_ROLLED, ("spec", "progressDeadlineSeconds")),
    "replicasets.apps": _ROLLED[:2],
    "statefulsets.apps": _ROLLED,
    "daemonsets.apps": _ROLLED[1:],
    "replicationcontrollers": _ROLLED[:2],
    "jobs.batch": tuple(
        ("spec", name)
        for name in ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
    ),
}
"""Numbers that must not be negative."""

_SELECTING = (
    *("deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps"),
    *("replicationcontrollers", "jobs.batch"),
)
_CALLED = {"statefulsets.apps": "statefulset", "daemonsets.apps": "daemonset"}
_FIXED: Mapping[str, tuple[Path, ...]] = {
    "deployments.apps": (("spec", "selector"),),
    "replicasets.apps": (("spec", "selector"),),
    "daemonsets.apps": (("spec", "selector"),),
    "jobs.batch": (("spec", "selector"), ("spec", "completionMode")),
}
"""Immutable fields; for a StatefulSet's spec the mutable fields are listed instead."""

_OF_SETS = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)
"""Mutable fields of a StatefulSet's spec."""


def problems(resource: str, before: Doc | None, doc: Doc) -> tuple[Problem, ...]:
    """Each refused field, if `doc` is written over `before` (None: it is new)."""
    found = [*negative(doc, *_COUNTS.get(resource, ()))]
    if resource in _SELECTING:
        found += _of_selector(resource, doc)
    if resource == "deployments.apps":
        found += _of_rollout(doc)
    if before is not None:
        found += _changed(resource, before, doc)
    return tuple(found)


def negative(doc: Doc, *paths: Path) -> Iterator[Problem]:
    """The negative numbers at these paths."""
    for path in paths:
        found = at(doc, *path)
        if isinstance(found, int) and found < 0:
            yield Problem(".".join(path), found, NEGATIVE)


def _of_selector(resource: str, doc: Doc) -> Iterator[Problem]:
    given = at(doc, "spec", "selector")
    if not given:
        return
    selector = from_document({"matchLabels": given} if resource == "replicationcontrollers" else given)
    if not selector.valid:
        yield Problem("spec.selector", given, "invalid label selector")
    elif not selector.requirements:
        yield Problem("spec.selector", given, f"empty selector is invalid for {_CALLED.get(resource, 'deployment')}")
    elif not selector.matches(labels := at(doc, "spec", "template", "metadata", "labels") or {}):
        yield Problem("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")


_BOTH_SET = "minAvailable and maxUnavailable cannot be both set"
_NOT_A_PERCENTAGE = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
_PERCENT = re.compile(r"0*([0-9]+)%\Z")


def budget_problems(spec: Doc) -> Iterator[Problem]:
    """Problems of a PodDisruptionBudget's spec; one with neither minAvailable nor maxUnavailable is accepted, and so is
    one without a selector.

    Source: pkg/apis/policy/validation/validation.go (ValidatePodDisruptionBudgetSpec),
    pkg/apis/apps/validation/validation.go (ValidatePositiveIntOrPercent, IsNotMoreThan100Percent), Kubernetes v1.36.
    """
    amounts, policy = ("minAvailable", "maxUnavailable"), spec.get("unhealthyPodEvictionPolicy")
    if all(spec.get(name) is not None for name in amounts):
        names = ("minAvailable", "selector", "maxUnavailable", "unhealthyPodEvictionPolicy")
        yield Problem("spec", {f"{name[0].upper()}{name[1:]}": spec.get(name) for name in names}, _BOTH_SET)
    for name in amounts:
        if (amount := spec.get(name)) is not None and (said := _against(amount)):
            yield Problem(f"spec.{name}", amount, said)
    if policy is not None and policy not in _POLICIES:
        said = 'supported values: "AlwaysAllow", "IfHealthyBudget"'
        yield Problem("spec.unhealthyPodEvictionPolicy", policy, said, NOT_SUPPORTED)


def _against(amount: int | str) -> str:
    """The problem of one amount, "" if it is valid; an integer has no upper bound."""
    if isinstance(amount, int):
        return NEGATIVE if amount < 0 else ""
    match = _PERCENT.match(amount)
    if match is None:
        return _NOT_A_PERCENTAGE
    return "must not be greater than 100%" if len(match[1]) > 3 or int(match[1]) > 100 else ""


def _of_rollout(doc: Doc) -> Iterator[Problem]:
    """A rollout that may neither add nor remove a pod never starts."""
    rolling = at(doc, "spec", "strategy", "rollingUpdate") or {}
    none = (0, "0%")
    if rolling.get("maxUnavailable") in none and rolling.get("maxSurge") in none:
        said = rolling["maxUnavailable"]
        yield Problem("spec.strategy.rollingUpdate.maxUnavailable", said, "may not be 0 when `maxSurge` is 0")


def _changed(resource: str, before: Doc, doc: Doc) -> Iterator[Problem]:
    if resource == "statefulsets.apps":
        was, made = (_without(each.get("spec") or {}, _OF_SETS) for each in (before, doc))
        if was != made:
            allowed = f"{', '.join(map(repr, _OF_SETS[:-1]))} and {_OF_SETS[-1]!r}"
            text = f"updates to statefulset spec for fields other than {allowed} are forbidden"
            yield Problem("spec", None, text, FORBIDDEN)
    for path in _FIXED.get(resource, ()):
        if at(before, *path) != at(doc, *path):
            yield Problem(".".join(path), at(doc, *path), "field is immutable")


def _without(spec: Doc, names: tuple[str, ...]) -> Doc:
    return {key: value for key, value in spec.items() if key not in names}


# Updates of a stored pod's spec: almost nothing may change, so a pod cannot be moved by writing its node.
#
# Source: pkg/apis/core/validation/validation.go (ValidatePodUpdate), Kubernetes v1.36.


_ONLY = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_FREE = ("activeDeadlineSeconds", "tolerations", "schedulingGates")
_GATED = ("nodeSelector", "affinity")
"""Additional mutable fields while a pod waits for scheduling gates."""


def pod_problems(before: Doc | None, doc: Doc) -> tuple[Problem, ...]:
    """The refused fields, if `doc` is written over `before` (None: it is new). Omitted and empty fields are equal."""
    spec = doc.get("spec") or {}
    found = [*_of_names(spec)]
    if before is not None and _changes(before.get("spec") or {}, spec):
        found.append(Problem("spec", None, _ONLY, FORBIDDEN))
    return tuple(found)


def _of_names(spec: Doc) -> Iterator[Problem]:
    for kind in ("containers", "initContainers"):
        seen: Counter[str] = Counter()
        for index, each in enumerate(spec.get(kind) or ()):
            name = str(each.get("name") or "")
            if name and seen[name]:
                yield Problem(f"spec.{kind}[{index}].name", name, "", DUPLICATE)
            seen[name] += 1


def _changes(was: Doc, made: Doc) -> bool:
    free = {*_FREE, *(_GATED if was.get("schedulingGates") else ())}
    if (was.get("terminationGracePeriodSeconds") or 0) < 0 and made.get("terminationGracePeriodSeconds") == 1:
        free.add("terminationGracePeriodSeconds")
    if _fixed(was, free) != _fixed(made, free):
        return True
    return not (
        _all_in(was.get("tolerations"), made.get("tolerations"))
        and _all_in(made.get("schedulingGates"), was.get("schedulingGates"))
    )


def _fixed(spec: Doc, free: set[str]) -> Any:
    kept = {key: value for key, value in spec.items() if key not in free}
    for kind in ("containers", "initContainers"):
        kept[kind] = [{**each, "image": None} for each in spec.get(kind) or ()]
    return _bare(kept)


def _bare(value: Any) -> Any:
    """Without empty values."""
    if isinstance(value, dict):
        return {key: bare for key, each in value.items() if (bare := _bare(each)) not in (None, "", {}, [])}
    if isinstance(value, list):
        return [_bare(each) for each in value]
    return value


def _all_in(some: list[Doc] | None, others: list[Doc] | None) -> bool:
    return all(each in (others or ()) for each in some or ())


# Validation of a pod template that several clients have written: duplicate names, and fields that exclude each other.
# Each write may be valid by itself, and the merged object invalid.
#
# Source: pkg/apis/core/validation/validation.go (validateContainerPorts, ValidateEnv, ValidateVolumeMounts,
# validateVolumeSource, validateHandler, validateContainers), pkg/apis/policy/validation/validation.go, Kubernetes
# v1.36.


_RESOURCES = {"Deployment": "deployments.apps", "DaemonSet": "daemonsets.apps"}
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def template_problems(before: Doc, doc: Doc) -> tuple[Problem, ...]:
    """Each refused field if `doc` is written over `before`, without problems that `before` already has."""
    kind = doc.get("kind", "")
    found = [*_of_kind(kind, doc)]
    if kind in _RESOURCES:
        found += problems(_RESOURCES[kind], before, doc)
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
