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
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from kubectl_eksdoc.model.selectors import from_document

Path = tuple[str, ...]

NEGATIVE = "must be greater than or equal to 0"

INVALID, FORBIDDEN, DUPLICATE = "FieldValueInvalid", "FieldValueForbidden", "FieldValueDuplicate"
NOT_FOUND, NOT_SUPPORTED = "FieldValueNotFound", "FieldValueNotSupported"
REQUIRED, TOO_LONG = "FieldValueRequired", "FieldValueTooLong"
_REASON_TEXTS = {
    INVALID: "Invalid value",
    FORBIDDEN: "Forbidden",
    DUPLICATE: "Duplicate value",
    NOT_FOUND: "Not found",
    NOT_SUPPORTED: "Unsupported value",
    REQUIRED: "Required value",
    TOO_LONG: "Too long",
}


@frozen
class FieldProblem:
    """A refused field, its value, and the problem, in the server's words."""

    field: str
    value: Any
    message: str
    reason: str = INVALID

    @property
    def text(self) -> str:
        """The server's message."""
        return self.text_with_value(f'"{self.value}"' if isinstance(self.value, str) else str(self.value))

    def text_with_value(self, value_text: str) -> str:
        """The server's message with the value as given, in JSON."""
        shown_value = "" if self.reason in (FORBIDDEN, REQUIRED, TOO_LONG) else value_text
        return ": ".join(filter(None, (_REASON_TEXTS[self.reason], shown_value, self.message)))


_ROLLOUT_COUNTS: tuple[Path, ...] = (
    ("spec", "replicas"),
    ("spec", "minReadySeconds"),
    ("spec", "revisionHistoryLimit"),
)
_NON_NEGATIVE: Mapping[str, tuple[Path, ...]] = {
    "deployments.apps": (*_ROLLOUT_COUNTS, ("spec", "progressDeadlineSeconds")),
    "replicasets.apps": _ROLLOUT_COUNTS[:2],
    "statefulsets.apps": _ROLLOUT_COUNTS,
    "daemonsets.apps": _ROLLOUT_COUNTS[1:],
    "replicationcontrollers": _ROLLOUT_COUNTS[:2],
    "jobs.batch": tuple(
        ("spec", name)
        for name in ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
    ),
}
"""Numbers that must not be negative."""

_WITH_SELECTOR = (
    *("deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps"),
    *("replicationcontrollers", "jobs.batch"),
)
_KIND_IN_MESSAGE = {"statefulsets.apps": "statefulset", "daemonsets.apps": "daemonset"}
_IMMUTABLE: Mapping[str, tuple[Path, ...]] = {
    "deployments.apps": (("spec", "selector"),),
    "replicasets.apps": (("spec", "selector"),),
    "daemonsets.apps": (("spec", "selector"),),
    "jobs.batch": (("spec", "selector"), ("spec", "completionMode")),
}
"""Immutable fields; for a StatefulSet's spec the mutable fields are listed instead."""

_STATEFUL_SET_MUTABLE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)
"""Mutable fields of a StatefulSet's spec."""


def workload_problems(resource: str, before: Doc | None, doc: Doc) -> tuple[FieldProblem, ...]:
    """Each refused field, if `doc` is written over `before` (None: it is new)."""
    field_problems = [*negative_numbers(doc, *_NON_NEGATIVE.get(resource, ()))]
    if resource in _WITH_SELECTOR:
        field_problems += _selector_problems(resource, doc)
    if resource == "deployments.apps":
        field_problems += _rollout_problems(doc)
    if before is not None:
        field_problems += _immutable_changes(resource, before, doc)
    return tuple(field_problems)


def negative_numbers(doc: Doc, *paths: Path) -> Iterator[FieldProblem]:
    """The negative numbers at these paths."""
    for path in paths:
        value = nested_field(doc, *path)
        if isinstance(value, int) and value < 0:
            yield FieldProblem(".".join(path), value, NEGATIVE)


def _selector_problems(resource: str, doc: Doc) -> Iterator[FieldProblem]:
    selector_document = nested_field(doc, "spec", "selector")
    if not selector_document:
        return
    selector = from_document(
        {"matchLabels": selector_document} if resource == "replicationcontrollers" else selector_document
    )
    if not selector.valid:
        yield FieldProblem("spec.selector", selector_document, "invalid label selector")
    elif not selector.requirements:
        yield FieldProblem(
            "spec.selector",
            selector_document,
            f"empty selector is invalid for {_KIND_IN_MESSAGE.get(resource, 'deployment')}",
        )
    elif not selector.matches(labels := nested_field(doc, "spec", "template", "metadata", "labels") or {}):
        yield FieldProblem("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")


_BOTH_SET = "minAvailable and maxUnavailable cannot be both set"
_NOT_A_PERCENTAGE = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
_PERCENT = re.compile(r"0*([0-9]+)%\Z")


def budget_problems(spec: Doc) -> Iterator[FieldProblem]:
    """Problems of a PodDisruptionBudget's spec; one with neither minAvailable nor maxUnavailable is accepted, and so is
    one without a selector.

    Source: pkg/apis/policy/validation/validation.go (ValidatePodDisruptionBudgetSpec),
    pkg/apis/apps/validation/validation.go (ValidatePositiveIntOrPercent, IsNotMoreThan100Percent), Kubernetes v1.36.
    """
    amounts, policy = ("minAvailable", "maxUnavailable"), spec.get("unhealthyPodEvictionPolicy")
    if all(spec.get(name) is not None for name in amounts):
        names = ("minAvailable", "selector", "maxUnavailable", "unhealthyPodEvictionPolicy")
        yield FieldProblem("spec", {f"{name[0].upper()}{name[1:]}": spec.get(name) for name in names}, _BOTH_SET)
    for name in amounts:
        if (amount := spec.get(name)) is not None and (message := _amount_problem(amount)):
            yield FieldProblem(f"spec.{name}", amount, message)
    if policy is not None and policy not in _POLICIES:
        message = 'supported values: "AlwaysAllow", "IfHealthyBudget"'
        yield FieldProblem("spec.unhealthyPodEvictionPolicy", policy, message, NOT_SUPPORTED)


def _amount_problem(amount: int | str) -> str:
    """The problem of one amount, "" if it is valid; an integer has no upper bound."""
    if isinstance(amount, int):
        return NEGATIVE if amount < 0 else ""
    match = _PERCENT.match(amount)
    if match is None:
        return _NOT_A_PERCENTAGE
    return "must not be greater than 100%" if len(match[1]) > 3 or int(match[1]) > 100 else ""


def _rollout_problems(doc: Doc) -> Iterator[FieldProblem]:
    """A rollout that may neither add nor remove a pod never starts."""
    rolling = nested_field(doc, "spec", "strategy", "rollingUpdate") or {}
    none = (0, "0%")
    if rolling.get("maxUnavailable") in none and rolling.get("maxSurge") in none:
        value = rolling["maxUnavailable"]
        yield FieldProblem("spec.strategy.rollingUpdate.maxUnavailable", value, "may not be 0 when `maxSurge` is 0")


def _immutable_changes(resource: str, before: Doc, doc: Doc) -> Iterator[FieldProblem]:
    if resource == "statefulsets.apps":
        old_spec, new_spec = (_without(each.get("spec") or {}, _STATEFUL_SET_MUTABLE) for each in (before, doc))
        if old_spec != new_spec:
            allowed = f"{', '.join(map(repr, _STATEFUL_SET_MUTABLE[:-1]))} and {_STATEFUL_SET_MUTABLE[-1]!r}"
            text = f"updates to statefulset spec for fields other than {allowed} are forbidden"
            yield FieldProblem("spec", None, text, FORBIDDEN)
    for path in _IMMUTABLE.get(resource, ()):
        if nested_field(before, *path) != nested_field(doc, *path):
            yield FieldProblem(".".join(path), nested_field(doc, *path), "field is immutable")


def _without(spec: Doc, names: tuple[str, ...]) -> Doc:
    return {key: value for key, value in spec.items() if key not in names}


# Updates of a stored pod's spec: almost nothing may change, so a pod cannot be moved by writing its node.
#
# Source: pkg/apis/core/validation/validation.go (ValidatePodUpdate), Kubernetes v1.36.


_POD_UPDATE_MESSAGE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_POD_MUTABLE = ("activeDeadlineSeconds", "tolerations", "schedulingGates")
_POD_MUTABLE_WHILE_GATED = ("nodeSelector", "affinity")
"""Additional mutable fields while a pod waits for scheduling gates."""


def pod_problems(before: Doc | None, doc: Doc) -> tuple[FieldProblem, ...]:
    """The refused fields, if `doc` is written over `before` (None: it is new). Omitted and empty fields are equal."""
    spec = doc.get("spec") or {}
    field_problems = [*_duplicate_container_names(spec)]
    if before is not None and _changes_pod_spec(before.get("spec") or {}, spec):
        field_problems.append(FieldProblem("spec", None, _POD_UPDATE_MESSAGE, FORBIDDEN))
    return tuple(field_problems)


def _duplicate_container_names(spec: Doc) -> Iterator[FieldProblem]:
    for kind in ("containers", "initContainers"):
        name_counts: Counter[str] = Counter()
        for index, each in enumerate(spec.get(kind) or ()):
            name = str(each.get("name") or "")
            if name and name_counts[name]:
                yield FieldProblem(f"spec.{kind}[{index}].name", name, "", DUPLICATE)
            name_counts[name] += 1


def _changes_pod_spec(old_spec: Doc, new_spec: Doc) -> bool:
    mutable = {*_POD_MUTABLE, *(_POD_MUTABLE_WHILE_GATED if old_spec.get("schedulingGates") else ())}
    if (old_spec.get("terminationGracePeriodSeconds") or 0) < 0 and new_spec.get("terminationGracePeriodSeconds") == 1:
        mutable.add("terminationGracePeriodSeconds")
    if _immutable_part(old_spec, mutable) != _immutable_part(new_spec, mutable):
        return True
    return not (
        _is_subset(old_spec.get("tolerations"), new_spec.get("tolerations"))
        and _is_subset(new_spec.get("schedulingGates"), old_spec.get("schedulingGates"))
    )


def _immutable_part(spec: Doc, mutable: set[str]) -> Any:
    immutable = {key: value for key, value in spec.items() if key not in mutable}
    for kind in ("containers", "initContainers"):
        immutable[kind] = [{**each, "image": None} for each in spec.get(kind) or ()]
    return _without_empty(immutable)


def _without_empty(value: Any) -> Any:
    """Without empty values."""
    if isinstance(value, dict):
        return {key: bare for key, each in value.items() if (bare := _without_empty(each)) not in (None, "", {}, [])}
    if isinstance(value, list):
        return [_without_empty(each) for each in value]
    return value


def _is_subset(some: list[Doc] | None, others: list[Doc] | None) -> bool:
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


def template_problems(before: Doc, doc: Doc) -> tuple[FieldProblem, ...]:
    """Each refused field if `doc` is written over `before`, without problems that `before` already has."""
    kind = doc.get("kind", "")
    field_problems = [*_kind_problems(kind, doc)]
    if kind in _RESOURCES:
        field_problems += workload_problems(_RESOURCES[kind], before, doc)
    existing_problems = [*_kind_problems(kind, before)]
    return tuple(each for each in field_problems if each not in existing_problems)


def _kind_problems(kind: str, doc: Doc) -> Iterator[FieldProblem]:
    if kind in _RESOURCES:
        yield from _pod_spec_problems(nested_field(doc, "spec", "template", "spec") or {})
    spec = doc.get("spec") or {}
    if kind == "PodDisruptionBudget" and None not in (spec.get("minAvailable"), spec.get("maxUnavailable")):
        yield FieldProblem("spec", spec, "minAvailable and maxUnavailable cannot be both set")


def _pod_spec_problems(pod: Doc) -> Iterator[FieldProblem]:
    root = "spec.template.spec"
    volumes = [each.get("name") for each in pod.get("volumes") or ()]
    for index, volume in enumerate(pod.get("volumes") or ()):
        kinds = sorted(key for key, value in volume.items() if key != "name" and value is not None)
        for extra_kind in kinds[1:]:
            yield FieldProblem(
                f"{root}.volumes[{index}].{extra_kind}", None, "may not specify more than 1 volume type", FORBIDDEN
            )
    names: list[Any] = []
    for listed in ("initContainers", "containers"):
        for index, container in enumerate(pod.get(listed) or ()):
            path = f"{root}.{listed}[{index}]"
            if container.get("name") in names:
                yield FieldProblem(f"{path}.name", container.get("name"), "", DUPLICATE)
            names.append(container.get("name"))
            yield from _container_problems(path, container, volumes)


def _container_problems(path: str, container: Doc, volumes: list[Any]) -> Iterator[FieldProblem]:
    ports: list[Any] = []
    for index, port in enumerate(container.get("ports") or ()):
        name = port.get("name")
        if name and name in ports:
            yield FieldProblem(f"{path}.ports[{index}].name", name, "", DUPLICATE)
        ports.append(name)
    for index, variable in enumerate(container.get("env") or ()):
        if variable.get("value") and variable.get("valueFrom"):
            message = "may not be specified when `value` is not empty"
            yield FieldProblem(f"{path}.env[{index}].valueFrom", "", message)
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        if mount.get("name") not in volumes:
            yield FieldProblem(f"{path}.volumeMounts[{index}].name", mount.get("name"), "", NOT_FOUND)
    for probe in _PROBES:
        handlers = [each for each in _HANDLERS if (container.get(probe) or {}).get(each) is not None]
        for extra_handler in handlers[1:]:
            yield FieldProblem(
                f"{path}.{probe}.{extra_handler}", None, "may not specify more than 1 handler type", FORBIDDEN
            )
