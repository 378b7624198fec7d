"""Tables of objects: one function, whatever the kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

from kubectl_eksdoc.embedded.api.built_in import Served
from kubectl_eksdoc.embedded.api.catalogue import PARTIAL, PARTIAL_LIST, TABLE
from kubectl_eksdoc.embedded.api.tables import cluster, workloads
from kubectl_eksdoc.embedded.api.tables.fields import AGE, NAME, Column, Columns, text
from kubectl_eksdoc.model.api_objects import Doc

_COLUMNS: dict[str, Columns] = {
    "configmaps": cluster.CONFIG_MAPS,
    "events": cluster.EVENTS,
    "namespaces": cluster.NAMESPACES,
    "nodes": cluster.NODES,
    "persistentvolumeclaims": cluster.CLAIMS,
    "persistentvolumes": cluster.VOLUMES,
    "pods": cluster.PODS,
    "replicationcontrollers": workloads.REPLICATION_CONTROLLERS,
    "serviceaccounts": (NAME, AGE),
    "services": cluster.SERVICES,
    "daemonsets.apps": workloads.DAEMON_SETS,
    "deployments.apps": workloads.DEPLOYMENTS,
    "replicasets.apps": workloads.REPLICA_SETS,
    "statefulsets.apps": workloads.STATEFUL_SETS,
    "horizontalpodautoscalers.autoscaling": workloads.AUTOSCALERS,
    "jobs.batch": workloads.JOBS,
    "leases.coordination.k8s.io": cluster.LEASES,
    "endpointslices.discovery.k8s.io": cluster.ENDPOINT_SLICES,
    "poddisruptionbudgets.policy": workloads.BUDGETS,
    "priorityclasses.scheduling.k8s.io": cluster.PRIORITY_CLASSES,
    "csinodes.storage.k8s.io": cluster.CSI_NODES,
    "storageclasses.storage.k8s.io": cluster.STORAGE_CLASSES,
    "volumeattachments.storage.k8s.io": cluster.VOLUME_ATTACHMENTS,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": cluster.WEBHOOKS,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": cluster.WEBHOOKS,
}
"""Of the kinds that the tool reads."""

_CREATED_AT = (NAME, Column("Created At", lambda document, _: text(document, "metadata", "creationTimestamp"), "date"))
"""The default of apiserver (registry/rest/table.go), as of roles and CustomResourceDefinitions."""


def _columns_of(served: Served) -> Columns:
    """What a definition asks for is not evaluated: custom resources have their age."""
    return (NAME, AGE) if served.custom else _COLUMNS.get(served.full_name, _CREATED_AT)


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
    columns = _columns_of(served)
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
