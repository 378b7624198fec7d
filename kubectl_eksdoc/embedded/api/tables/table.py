"""Tables of objects: one function, whatever the kind."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.embedded.api.negotiation import TABLE
from kubectl_eksdoc.embedded.api.resources import Served
from kubectl_eksdoc.embedded.api.tables.columns import Printer
from kubectl_eksdoc.embedded.api.tables.partial import partial
from kubectl_eksdoc.embedded.api.tables.printers import printer_of

IncludeObject = Literal["Metadata", "Object", "None"]
"""What a row holds of its object; clients say it in the query, and without it ``Metadata`` is meant."""


def table(
    served: Served,
    docs: Sequence[Doc],
    now: datetime,
    include_object: IncludeObject = "Metadata",
    list_meta: Doc | None = None,
    headers: bool = True,
) -> Doc:
    """The Table of `docs`, in their order; ages are those at `now`, which knows its zone.

    `list_meta` is the list's metadata (`resourceVersion`, `continue`, `remainingItemCount`); leave it out for a single
    object, whose own version the table then has. Without `headers` the columns are null: the second and later events
    of a watch have none (apiserver, endpoints/handlers/response.go).
    """
    printer = printer_of(served)
    return {
        "kind": TABLE.kind,
        "apiVersion": TABLE.api_version,
        "metadata": _of_one(docs) if list_meta is None else list_meta,
        "columnDefinitions": [column.document() for column in printer.columns] if headers else None,
        "rows": [_row(printer, doc, now, include_object) for doc in docs],
    }


def _of_one(docs: Sequence[Doc]) -> Doc:
    metadata = docs[0].get("metadata") or {} if len(docs) == 1 else {}
    return {"resourceVersion": metadata["resourceVersion"]} if metadata.get("resourceVersion") else {}


def _row(printer: Printer, doc: Doc, now: datetime, include_object: IncludeObject) -> Doc:
    row: Doc = {"cells": printer.cells(doc, now)}
    conditions = printer.conditions(doc)
    if conditions:
        row["conditions"] = conditions
    return {**row, "object": _object(doc, include_object)}


def _object(doc: Doc, include_object: IncludeObject) -> Doc | None:
    if include_object == "None":
        return None
    return doc if include_object == "Object" else partial(doc)
