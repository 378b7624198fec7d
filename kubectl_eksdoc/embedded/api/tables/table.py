"""Tables of objects: one function, whatever the kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

from kubectl_eksdoc.embedded.api.catalogue import PARTIAL, PARTIAL_LIST, TABLE
from kubectl_eksdoc.embedded.api.resources import Served
from kubectl_eksdoc.embedded.api.tables import cluster, custom, network, pods, workloads
from kubectl_eksdoc.embedded.api.tables.columns import CREATED_DESCRIPTION, NAME, Cells, Column, Printer
from kubectl_eksdoc.embedded.api.tables.fields import name, text
from kubectl_eksdoc.model.api_objects import Doc

# Which printer shows which resource; what has none of its own is shown by name and creation.


def _created(document: Doc, _: datetime) -> Cells:
    return [name(document), text(document, "metadata", "creationTimestamp")]


_CREATED_AT = Printer((NAME, Column("Created At", CREATED_DESCRIPTION, type="date")), _created)
"""The default of apiserver (registry/rest/table.go): roles and CustomResourceDefinitions have no other."""

_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"

_PRINTERS: dict[tuple[str, str], Printer] = {
    ("", "componentstatuses"): cluster.COMPONENTS,
    ("", "configmaps"): cluster.CONFIG_MAPS,
    ("", "endpoints"): network.ENDPOINTS,
    ("", "events"): cluster.EVENTS,
    ("events.k8s.io", "events"): cluster.EVENTS,
    ("", "namespaces"): cluster.NAMESPACES,
    ("", "nodes"): cluster.NODES,
    ("", "persistentvolumeclaims"): cluster.CLAIMS,
    ("", "persistentvolumes"): cluster.VOLUMES,
    ("", "pods"): pods.PODS,
    ("", "replicationcontrollers"): workloads.REPLICATION_CONTROLLERS,
    ("", "resourcequotas"): cluster.QUOTAS,
    ("", "secrets"): cluster.SECRETS,
    ("", "serviceaccounts"): cluster.SERVICE_ACCOUNTS,
    ("", "services"): network.SERVICES,
    ("apps", "controllerrevisions"): workloads.CONTROLLER_REVISIONS,
    ("apps", "daemonsets"): workloads.DAEMON_SETS,
    ("apps", "deployments"): workloads.DEPLOYMENTS,
    ("apps", "replicasets"): workloads.REPLICA_SETS,
    ("apps", "statefulsets"): workloads.STATEFUL_SETS,
    ("autoscaling", "horizontalpodautoscalers"): workloads.AUTOSCALERS,
    ("batch", "cronjobs"): workloads.CRON_JOBS,
    ("batch", "jobs"): workloads.JOBS,
    ("coordination.k8s.io", "leases"): cluster.LEASES,
    ("discovery.k8s.io", "endpointslices"): network.ENDPOINT_SLICES,
    ("networking.k8s.io", "ingressclasses"): network.INGRESS_CLASSES,
    ("networking.k8s.io", "ingresses"): network.INGRESSES,
    ("networking.k8s.io", "networkpolicies"): network.NETWORK_POLICIES,
    ("node.k8s.io", "runtimeclasses"): cluster.RUNTIME_CLASSES,
    ("policy", "poddisruptionbudgets"): workloads.BUDGETS,
    (_RBAC, "clusterrolebindings"): network.BINDINGS,
    (_RBAC, "rolebindings"): network.BINDINGS,
    ("scheduling.k8s.io", "priorityclasses"): cluster.PRIORITY_CLASSES,
    ("storage.k8s.io", "csidrivers"): cluster.CSI_DRIVERS,
    ("storage.k8s.io", "csinodes"): cluster.CSI_NODES,
    ("storage.k8s.io", "storageclasses"): cluster.STORAGE_CLASSES,
    ("storage.k8s.io", "volumeattachments"): cluster.VOLUME_ATTACHMENTS,
    ("apiregistration.k8s.io", "apiservices"): network.API_SERVICES,
    (_ADMISSION, "mutatingadmissionpolicies"): network.MUTATING_POLICIES,
    (_ADMISSION, "mutatingadmissionpolicybindings"): network.POLICY_BINDINGS,
    (_ADMISSION, "mutatingwebhookconfigurations"): network.WEBHOOKS,
    (_ADMISSION, "validatingadmissionpolicies"): network.VALIDATING_POLICIES,
    (_ADMISSION, "validatingadmissionpolicybindings"): network.POLICY_BINDINGS,
    (_ADMISSION, "validatingwebhookconfigurations"): network.WEBHOOKS,
}


def printer_of(served: Served) -> Printer:
    """What shows the objects of this resource."""
    if served.custom:
        return custom.printer(served)
    return _PRINTERS.get((served.group, served.plural), _CREATED_AT)


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
