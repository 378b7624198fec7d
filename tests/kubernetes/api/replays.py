"""Recorded exchanges with a real API server as steps to replay: the live object, the request, and the result."""

from __future__ import annotations

from functools import cache
from typing import Any

from kubectl_eksdoc.kubernetes.document_diff import FieldSet
from kubectl_eksdoc.model.api_objects import Doc
from tests import raw_facts

MAIN = FieldSet.of_paths(("status",))
"""What strategies of most kinds reset in requests for the object itself."""

STATUS = FieldSet.of_paths(("spec",))
"""What they reset in requests for its status."""


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


def owners(doc: Doc) -> list[Doc]:
    """The managedFields as they were printed."""
    entries: list[Doc] = doc["metadata"]["managedFields"]
    return entries


def steps_in_order(tree: Doc) -> list[Any]:
    """A FieldsV1 tree with the order of its steps, which a comparison of dicts ignores."""
    return [(step, steps_in_order(below)) for step, below in tree.items()]
