"""Tables of objects: one function, whatever the kind.

Workloads, jobs and budgets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

from kubectl_eksdoc.embedded.api.catalogue import PARTIAL, PARTIAL_LIST, TABLE
from kubectl_eksdoc.embedded.api.tables import cluster, fields
from kubectl_eksdoc.embedded.api.tables.fields import (
    AGE,
    CONTAINERS_AND_IMAGES,
    NAME,
    SELECTOR,
    Column,
    Columns,
    column,
    going,
    is_true,
    labels,
    mapped,
    number,
    number_column,
    text,
    text_column,
)
from kubectl_eksdoc.kubernetes.api.resources import Served
from kubectl_eksdoc.kubernetes.api.rfc3339 import parsed
from kubectl_eksdoc.model.api_objects import Doc, at

_READY = column("Ready", lambda d: f"{number(d, 'status', 'readyReplicas')}/{number(d, 'spec', 'replicas')}")
_TEMPLATE = (AGE, *CONTAINERS_AND_IMAGES)
DEPLOYMENTS = (
    NAME,
    _READY,
    number_column("Up-to-date", "status.updatedReplicas"),
    number_column("Available", "status.availableReplicas"),
    *_TEMPLATE,
    SELECTOR,
)
REPLICA_SETS = (
    NAME,
    number_column("Desired", "spec.replicas"),
    number_column("Current", "status.replicas"),
    number_column("Ready", "status.readyReplicas"),
    *_TEMPLATE,
    SELECTOR,
)
STATEFUL_SETS = (NAME, _READY, *_TEMPLATE)
DAEMON_SETS = (
    NAME,
    number_column("Desired", "status.desiredNumberScheduled"),
    number_column("Current", "status.currentNumberScheduled"),
    number_column("Ready", "status.numberReady"),
    number_column("Up-to-date", "status.updatedNumberScheduled"),
    number_column("Available", "status.numberAvailable"),
    column("Node Selector", lambda d: labels(mapped(d, "spec", "template", "spec", "nodeSelector"))),
    *_TEMPLATE,
    SELECTOR,
)
BUDGETS = (
    NAME,
    text_column("Min Available", "spec.minAvailable", "N/A"),
    text_column("Max Unavailable", "spec.maxUnavailable", "N/A"),
    number_column("Allowed Disruptions", "status.disruptionsAllowed"),
    AGE,
)


# Jobs.


def _status(job: Doc) -> str:
    if is_true(job, "Complete"):
        return "Complete"
    if is_true(job, "Failed"):
        return "Failed"
    if going(job):
        return "Terminating"
    later = ("Suspended", "FailureTarget", "SuccessCriteriaMet")
    return next((word for word in later if is_true(job, word)), "Running")


def _completions(job: Doc) -> str:
    done, wanted = number(job, "status", "succeeded"), at(job, "spec", "completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallelism = number(job, "spec", "parallelism")
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _duration(job: Doc, now: datetime) -> str:
    started = parsed(at(job, "status", "startTime"))
    if started is None:
        return ""
    ended = parsed(at(job, "status", "completionTime")) or now
    return fields.human((ended - started).total_seconds())


JOBS = (
    NAME,
    column("Status", _status),
    column("Completions", _completions),
    Column("Duration", _duration),
    *_TEMPLATE,
    SELECTOR,
)


_COLUMNS: dict[str, Columns] = {
    "namespaces": cluster.NAMESPACES,
    "nodes": cluster.NODES,
    "pods": cluster.PODS,
    "daemonsets.apps": DAEMON_SETS,
    "deployments.apps": DEPLOYMENTS,
    "replicasets.apps": REPLICA_SETS,
    "statefulsets.apps": STATEFUL_SETS,
    "jobs.batch": JOBS,
    "poddisruptionbudgets.policy": BUDGETS,
}
"""Of the kinds that somebody looks at who drains nodes."""

_CREATED_AT = (NAME, Column("Created At", lambda document, _: text(document, "metadata", "creationTimestamp"), "date"))
"""The default of apiserver (registry/rest/table.go); all other kinds have it here."""


# Objects without spec and status: PartialObjectMetadata, which tables hold and metadata informers ask for.


def partial(doc: Doc) -> Doc:
    """An object's metadata, all of it, `managedFields` too; the object's own kind is not said."""
    return {"kind": PARTIAL.kind, "apiVersion": PARTIAL.api_version, "metadata": doc.get("metadata") or {}}


def partial_list(docs: Iterable[Doc], list_meta: Doc) -> Doc:
    """The list of `docs` in that form, with the list's own metadata."""
    items = [partial(doc) for doc in docs]
    return {"kind": PARTIAL_LIST.kind, "apiVersion": PARTIAL_LIST.api_version, "metadata": list_meta, "items": items}


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
    # What a definition asks for is not evaluated: custom resources have their age.
    columns = (NAME, AGE) if served.custom else _COLUMNS.get(served.full_name, _CREATED_AT)
    return {
        "kind": TABLE.kind,
        "apiVersion": TABLE.api_version,
        "metadata": _of_one(docs) if list_meta is None else list_meta,
        "columnDefinitions": [column.document() for column in columns] if headers else None,
        "rows": [_row(columns, doc, now, include_object) for doc in docs],
    }


def _of_one(docs: Sequence[Doc]) -> Doc:
    metadata = docs[0].get("metadata") or {} if len(docs) == 1 else {}
    return {"resourceVersion": metadata["resourceVersion"]} if metadata.get("resourceVersion") else {}


def _row(columns: Columns, doc: Doc, now: datetime, include_object: IncludeObject) -> Doc:
    row: Doc = {"cells": [column.cell(doc, now) for column in columns]}
    if columns is cluster.PODS and (found := cluster.conditions(doc)):
        row["conditions"] = found
    return {**row, "object": _object(doc, include_object)}


def _object(doc: Doc, include_object: IncludeObject) -> Doc | None:
    if include_object == "None":
        return None
    return doc if include_object == "Object" else partial(doc)
