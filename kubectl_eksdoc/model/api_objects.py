"""API objects as documents: what JSON has, untyped, whatever their kind.

A document is a value: whoever changes one makes a new one that shares what stayed the same, so that a watch event, a
list that is being paged and the store can hold the same object.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Doc = dict[str, Any]
"""A JSON object: a Kubernetes object, or a part of one. Never changed in place once it was handed on."""

HELM_TEMPLATE = "HelmTemplate"
"""A kind of our own: what a chart makes, and its text does not tell."""


def at(doc: Doc, *path: str) -> Any:
    """What stands at `path`, None where any step of it is missing."""
    found: Any = doc
    for step in path:
        if not isinstance(found, dict):
            return None
        found = found.get(step)
    return found


def text_at(doc: Doc, *path: str) -> str:
    """As `at`; "" where there is no text."""
    found = at(doc, *path)
    return found if isinstance(found, str) else ""


def with_value(doc: Doc, path: Sequence[str], value: Any) -> Doc:
    """`doc` with `value` at `path`, the objects on the way made where they are missing."""
    first, rest = path[0], path[1:]
    if not rest:
        return {**doc, first: value}
    inner = doc.get(first)
    return {**doc, first: with_value(inner if isinstance(inner, dict) else {}, rest, value)}


def without(doc: Doc, path: Sequence[str]) -> Doc:
    """`doc` without what stands at `path`; objects that this leaves empty stay."""
    first, rest = path[0], path[1:]
    if first not in doc:
        return doc
    if not rest:
        return {key: value for key, value in doc.items() if key != first}
    inner = doc[first]
    return {**doc, first: without(inner, rest)} if isinstance(inner, dict) else doc


# What a server-side apply is answered with.


@dataclass(frozen=True, slots=True, order=True)
class Conflict:
    """`owner` is the field manager that has the field, in the server's words."""

    field: str
    owner: str


@dataclass(frozen=True, slots=True)
class AppliedObject:
    """The object as it is then, or would be."""

    doc: Doc


@dataclass(frozen=True, slots=True)
class Conflicting:
    """Nothing was changed: others have these fields, with other values. Sorted."""

    conflicts: tuple[Conflict, ...]


# Single objects of a cluster by their names, called as server-side apply calls them.


@dataclass(frozen=True, slots=True, order=True)
class ObjectName:
    """An object. `namespace` is "" for those of the cluster."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """``DaemonSet.apps aws-node``, ``ConfigMap coredns``: as in the message of a conflict."""
        group = self.api_version.rpartition("/")[0]
        return f"{self.kind}.{group} {self.name}" if group else f"{self.kind} {self.name}"


def named(doc: Doc) -> ObjectName:
    """Whatever of it is missing is ""."""
    said = (doc.get("apiVersion"), doc.get("kind"), at(doc, "metadata", "namespace"), at(doc, "metadata", "name"))
    return ObjectName(*(each if isinstance(each, str) else "" for each in said))
