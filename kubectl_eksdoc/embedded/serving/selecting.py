"""Which objects a request means: label selectors for every kind, field selectors for those that have some.

Source: pkg/apis/core/v1/conversion.go and pkg/registry/*/strategy.go (the fields each kind can be selected by).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.model.selectors import InvalidSelector, Selector, parse
from kubectl_eksdoc.core.rules.api.statuses import bad_request

_NAMES = {"metadata.name": ("metadata", "name"), "metadata.namespace": ("metadata", "namespace")}

_FIELDS = {
    "pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    "nodes": ("spec.unschedulable",),
    "namespaces": ("status.phase",),
    "secrets": ("type",),
    "jobs.batch": ("status.successful",),
    "replicasets.apps": ("status.replicas",),
    "replicationcontrollers": ("status.replicas",),
    "events": (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
}
_TERM = re.compile(r"([^=!]+)(==|!=|=)(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Choice:
    """`equal` and `other`: fields by path with the value they must have, and must not have."""

    labels: Selector | None = None
    equal: tuple[tuple[tuple[str, ...], str], ...] = ()
    other: tuple[tuple[tuple[str, ...], str], ...] = ()

    @property
    def everything(self) -> bool:
        return self.labels is None and not self.equal and not self.other

    def named(self, name: str) -> Choice:
        """Of these, the one of that name."""
        return replace(self, equal=(*self.equal, (_NAMES["metadata.name"], name)))

    def takes(self, doc: Doc) -> bool:
        if self.labels is not None and not self.labels.matches(at(doc, "metadata", "labels") or {}):
            return False
        return all(_text(at(doc, *path)) == value for path, value in self.equal) and all(
            _text(at(doc, *path)) != value for path, value in self.other
        )


def chosen(resource: str, labels: str, fields: str, known: Callable[[str], bool] | None = None) -> Choice:
    """What the two query parameters mean for a resource; `known` says which other fields it can be selected by.

    Raises:
        Refusal: 400, they cannot be read, or the kind cannot be selected by such a field.
    """
    try:
        selector = parse(labels) if labels.strip() else None
    except InvalidSelector as error:
        raise bad_request(error.servers) from error
    equal: list[tuple[tuple[str, ...], str]] = []
    other: list[tuple[tuple[str, ...], str]] = []
    for term in filter(None, fields.split(",")):
        found = _TERM.fullmatch(term)
        if found is None:
            raise bad_request(f"invalid selector: '{fields}'; can't understand '{term}'")
        field, operator, value = found.groups()
        if field not in _NAMES and field not in _FIELDS.get(resource, ()) and not (known and known(field)):
            raise bad_request(f"field label not supported: {field}")
        (other if operator == "!=" else equal).append((tuple(field.split(".")), value))
    return Choice(selector, tuple(equal), tuple(other))


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
