"""What the API server has against a workload's spec: numbers below zero, and selectors that do not fit or change.

A controller whose pods its own selector does not take would make pods without an end, so such a spec is never stored.

Source: pkg/apis/apps/validation/validation.go (ValidateDeploymentSpec, ValidateReplicaSetSpec, ValidateDaemonSetSpec,
ValidateStatefulSetSpec and their updates), pkg/apis/batch/validation/validation.go (validateJobSpec),
pkg/apis/core/validation/validation.go (ValidateReplicationControllerSpec), Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.selectors import from_document

Path = tuple[str, ...]

NEGATIVE = "must be greater than or equal to 0"

INVALID, FORBIDDEN, DUPLICATE = "FieldValueInvalid", "FieldValueForbidden", "FieldValueDuplicate"
NOT_FOUND = "FieldValueNotFound"


@dataclass(frozen=True, slots=True)
class Problem:
    """A field that is refused, what was found there, and what is wrong with it, in the server's words."""

    field: str
    found: Any
    said: str
    reason: str = INVALID

    @property
    def text(self) -> str:
        """In the server's words."""
        return self.worded(f'"{self.found}"' if isinstance(self.found, str) else str(self.found))

    def worded(self, shown: str) -> str:
        """With what was found, as JSON has it."""
        if self.reason == FORBIDDEN:
            return f"Forbidden: {self.said}"
        plain = {DUPLICATE: "Duplicate value", NOT_FOUND: "Not found"}.get(self.reason)
        return f"{plain}: {shown}" if plain else f"Invalid value: {shown}: {self.said}"


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
"""Numbers that must not be below zero."""

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
"""What stays as it was made; of a StatefulSet's spec it is the other way round."""

_OF_SETS = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)
"""What may change in a StatefulSet's spec."""


def problems(resource: str, before: Doc | None, doc: Doc) -> tuple[Problem, ...]:
    """Each field that is refused, where `doc` is written over `before` (None: it is new)."""
    found = [*_below_zero(resource, doc)]
    if resource in _SELECTING:
        found += _of_selector(resource, doc)
    if resource == "deployments.apps":
        found += _of_rollout(doc)
    if before is not None:
        found += _changed(resource, before, doc)
    return tuple(found)


def negative(doc: Doc, *paths: Path) -> Iterator[Problem]:
    """The numbers there that are below zero."""
    for path in paths:
        found = at(doc, *path)
        if isinstance(found, int) and found < 0:
            yield Problem(".".join(path), found, NEGATIVE)


def _below_zero(resource: str, doc: Doc) -> Iterator[Problem]:
    return negative(doc, *_COUNTS.get(resource, ()))


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


def _of_rollout(doc: Doc) -> Iterator[Problem]:
    """A rollout that may neither add nor take away a pod never begins."""
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
