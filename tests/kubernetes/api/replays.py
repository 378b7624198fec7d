"""Recorded exchanges with a real API server as steps to replay: what was live, what was asked, what came of it."""

from __future__ import annotations

from functools import cache
from typing import Any

from kubectl_eksdoc.kubernetes.api.types import schema_of
from kubectl_eksdoc.kubernetes.ownership.applying import AppliedDocument, ApplyRefused, Conflicts, apply
from kubectl_eksdoc.kubernetes.ownership.comparing import FieldSet
from kubectl_eksdoc.model.api_objects import Doc, at, with_value, without
from tests import raw_facts

MAIN = FieldSet.of_paths(("status",))
"""What strategies of most kinds reset in requests for the object itself."""

STATUS = FieldSet.of_paths(("spec",))
"""What they reset in requests for its status."""

TEMPLATE_GENERATION = ("metadata", "annotations", "deprecated.daemonset.template.generation")


@cache
def exchanges() -> tuple[dict[str, Any], ...]:
    return tuple(raw_facts.lines("recordings/exchanges.jsonl.gz"))


def answer(index: int) -> Doc:
    body: Doc = exchanges()[index]["response"]["body"]
    return body


def config(index: int) -> Doc:
    body: Doc = exchanges()[index]["request"]["body"]
    return body


def query(index: int) -> dict[str, str]:
    text = exchanges()[index]["request"]["path"].partition("?")[2]
    return dict(part.split("=", 1) for part in text.split("&")) if text else {}


def latest(doc: Doc) -> str:
    """The time of the newest entry: when a request that changed something was served."""
    return max(entry["time"] for entry in doc["metadata"]["managedFields"])


def applied(live: Doc | None, index: int, now: str) -> AppliedDocument | Conflicts | ApplyRefused:
    """What our rules make of the recorded apply."""
    asked, wanted = query(index), config(index)
    schema = schema_of(wanted["apiVersion"], wanted["kind"])
    return apply(live, wanted, asked["fieldManager"], asked["force"] == "true", now, schema, reset=MAIN)


def as_stored(doc: Doc, like: Doc) -> Doc:
    """`doc` with what the storage and the DaemonSet's strategy set by themselves taken from `like`."""
    for path in (("metadata", "resourceVersion"), ("metadata", "generation"), TEMPLATE_GENERATION):
        value = at(like, *path)
        doc = without(doc, path) if value is None else with_value(doc, path, value)
    return doc


def owners(doc: Doc) -> list[Doc]:
    """managedFields as they were printed."""
    entries: list[Doc] = doc["metadata"]["managedFields"]
    return entries


def steps_in_order(tree: Doc) -> list[Any]:
    """A FieldsV1 tree with the order of its steps, which comparing dicts would not see."""
    return [(step, steps_in_order(below)) for step, below in tree.items()]
