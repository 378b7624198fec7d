"""Tables of objects, as ``kubectl get`` requests them: nodes, pods and namespaces; then workloads and budgets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone
from typing import Literal

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.resources import ServedResource
from kubectl_eksdoc.kubernetes.schedules import parse_time
from kubectl_eksdoc.model.api_objects import Doc, nested_field

from . import table_columns as fields
from .catalogue import PARTIAL, PARTIAL_LIST, TABLE
from .table_columns import (
    AGE,
    CONTAINERS_AND_IMAGES,
    NAME,
    NONE,
    SELECTOR,
    UNKNOWN,
    Column,
    Columns,
    column,
    condition,
    is_deleting,
    is_true,
    labels,
    list_at,
    mapping_at,
    number_at,
    number_column,
    text_at,
    text_column,
    wide,
)

NAMESPACES = (NAME, text_column("Status", "status.phase"), AGE)


# Nodes: readiness, cordon, and what their kubelets report.


_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE = "kubernetes.io/role"


def _node_status(node: Doc) -> str:
    ready = condition(node, "Ready")
    word = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if nested_field(node, "spec", "unschedulable") else word


def _roles(node: Doc) -> str:
    node_labels = mapping_at(node, "metadata", "labels")
    roles = {key[len(_ROLE_PREFIX) :] for key in node_labels if key.startswith(_ROLE_PREFIX)} | {
        node_labels.get(_ROLE, "")
    }
    return ",".join(sorted(roles - {""})) or NONE


def _address(node: Doc, kind: str) -> str:
    addresses = (a for a in list_at(node, "status", "addresses") if a.get("type") == kind)
    return next((text_at(a, "address") for a in addresses), NONE)


def _kernel(node: Doc) -> str:
    info = mapping_at(node, "status", "nodeInfo")
    kernel, architecture = text_at(info, "kernelVersion") or UNKNOWN, text_at(info, "architecture")
    return f"{kernel} ({architecture})" if architecture else kernel


NODES = (
    NAME,
    column("Status", _node_status),
    column("Roles", _roles),
    AGE,
    text_column("Version", "status.nodeInfo.kubeletVersion"),
    wide(column("Internal-IP", lambda node: _address(node, "InternalIP"))),
    wide(column("External-IP", lambda node: _address(node, "ExternalIP"))),
    wide(text_column("OS-Image", "status.nodeInfo.osImage", UNKNOWN)),
    wide(column("Kernel-Version", _kernel)),
    wide(text_column("Container-Runtime", "status.nodeInfo.containerRuntimeVersion", UNKNOWN)),
)


# Pods: the STATUS word, ready containers, and restarts.


_NEVER = datetime.min.replace(tzinfo=timezone.utc)


@frozen
class _Restarts:
    """Number of restarts, and time of the last one."""

    count: int = 0
    last: datetime = _NEVER

    def __add__(self, other: _Restarts) -> _Restarts:
        return _Restarts(self.count + other.count, max(self.last, other.last))

    def cell(self, now: datetime) -> str:
        if not self.count or self.last == _NEVER:
            return str(self.count)
        return f"{self.count} ({fields.format_duration((now - self.last).total_seconds())} ago)"


@frozen
class _Progress:
    """State of some of a pod's containers: a status word ("" for none of their own), ready containers, restarts."""

    word: str = ""
    ready: int = 0
    restarts: _Restarts = _Restarts()
    sidecar_restarts: _Restarts = _Restarts()


def _restarts(status: Doc) -> _Restarts:
    finished = parse_time(nested_field(status, "lastState", "terminated", "finishedAt"))
    return _Restarts(number_at(status, "restartCount"), finished or _NEVER)


def _sidecars(pod: Doc) -> set[str]:
    """Return init containers that keep running: they count among the pod's containers."""
    init_containers = list_at(pod, "spec", "initContainers")
    return {text_at(c, "name") for c in init_containers if c.get("restartPolicy") == "Always"}


def _initialization(pod: Doc) -> _Progress:
    """Evaluate the init containers, up to the first that has not finished; only such a container gives a word."""
    sidecars, statuses = _sidecars(pod), list_at(pod, "status", "initContainerStatuses")
    ready, restarts, sidecar_restarts = 0, _Restarts(), _Restarts()
    for index, status in enumerate(statuses):
        is_sidecar = status.get("name") in sidecars
        restarts += _restarts(status)
        if is_sidecar:
            sidecar_restarts += _restarts(status)
        terminated = nested_field(status, "state", "terminated")
        if terminated is not None and not terminated.get("exitCode"):
            continue
        if is_sidecar and status.get("started"):
            ready += bool(status.get("ready"))
            continue
        word = _init_word(status, index, len(list_at(pod, "spec", "initContainers")))
        return _Progress(word, ready, restarts, sidecar_restarts)
    return _Progress("", ready, restarts, sidecar_restarts)


def _init_word(status: Doc, index: int, count: int) -> str:
    terminated = nested_field(status, "state", "terminated")
    if terminated is not None:
        return f"Init:{_end_reason(terminated)}"
    waiting = text_at(status, "state", "waiting", "reason")
    return f"Init:{waiting}" if waiting not in ("", "PodInitializing") else f"Init:{index}/{count}"


def _end_reason(terminated: Doc) -> str:
    """Return why a container ended: its reason, else the signal, else the exit code."""
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode') or 0}"


def _running(pod: Doc, word: str) -> _Progress:
    """Evaluate the containers, last to first, so that the first container with a reason decides the word."""
    ready, failed, restarts = 0, "", _Restarts()
    for status in reversed(list_at(pod, "status", "containerStatuses")):
        restarts += _restarts(status)
        terminated = nested_field(status, "state", "terminated")
        if text_at(status, "state", "waiting", "reason"):
            word = text_at(status, "state", "waiting", "reason")
        elif terminated is not None:
            word = _end_reason(terminated)
            failed = word if terminated.get("exitCode") else failed
        elif status.get("ready") and nested_field(status, "state", "running") is not None:
            ready += 1
    if word == "Completed":
        word = _completed(pod, bool(ready), failed)
    return _Progress(word, ready, restarts)


def _completed(pod: Doc, some_running: bool, failed: str) -> str:
    """A pod is not completed if only some of its containers are."""
    if some_running and is_true(pod, "Ready"):
        return "Running"
    return failed or ("NotReady" if some_running else "Completed")


def _progress(pod: Doc) -> _Progress:
    """Evaluate all containers together.

    While init containers run, their restarts are shown; afterwards those of the containers and the sidecars.
    """
    word = text_at(pod, "status", "reason") or text_at(pod, "status", "phase")
    scheduled = condition(pod, "PodScheduled")
    if scheduled is not None and scheduled.get("reason") == "SchedulingGated":
        word = "SchedulingGated"
    init_progress = _initialization(pod)
    word = init_progress.word or word
    if init_progress.word and not is_true(pod, "Initialized"):
        return _Progress(word, init_progress.ready, init_progress.restarts)
    run_progress = _running(pod, word)
    return _Progress(
        run_progress.word,
        init_progress.ready + run_progress.ready,
        init_progress.sidecar_restarts + run_progress.restarts,
    )


def status(pod: Doc) -> str:
    """Return the STATUS word: of containers that are not simply running, else the phase; deletion comes last."""
    if is_deleting(pod) and text_at(pod, "status", "reason") == "NodeLost":
        return "Unknown"
    if is_deleting(pod) and text_at(pod, "status", "phase") not in ("Succeeded", "Failed"):
        return "Terminating"
    return _progress(pod).word


def _gates(pod: Doc) -> str:
    gates = list_at(pod, "spec", "readinessGates")
    ready_gates = sum(is_true(pod, gate.get("conditionType", "")) for gate in gates)
    return f"{ready_gates}/{len(gates)}" if gates else NONE


def _addresses(pod: Doc) -> Iterator[str]:
    yield from (text_at(pod_ip, "ip") for pod_ip in list_at(pod, "status", "podIPs"))
    yield text_at(pod, "status", "podIP")


def _ready(pod: Doc) -> str:
    return f"{_progress(pod).ready}/{len(list_at(pod, 'spec', 'containers')) + len(_sidecars(pod))}"


def conditions(pod: Doc) -> list[Doc]:
    """Return a condition for a finished pod: clients may show it less prominently."""
    messages = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}
    phase = text_at(pod, "status", "phase")
    if phase not in messages:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": messages[phase]}]


PODS = (
    NAME,
    column("Ready", _ready),
    column("Status", status),
    Column("Restarts", lambda pod, now: _progress(pod).restarts.cell(now)),
    AGE,
    wide(column("IP", lambda pod: next(_addresses(pod)) or NONE)),
    wide(text_column("Node", "spec.nodeName", NONE)),
    wide(text_column("Nominated Node", "status.nominatedNodeName", NONE)),
    wide(column("Readiness Gates", _gates)),
)


_READY = column("Ready", lambda d: f"{number_at(d, 'status', 'readyReplicas')}/{number_at(d, 'spec', 'replicas')}")
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
    column("Node Selector", lambda d: labels(mapping_at(d, "spec", "template", "spec", "nodeSelector"))),
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


_COLUMNS: dict[str, Columns] = {
    "namespaces": NAMESPACES,
    "nodes": NODES,
    "pods": PODS,
    "daemonsets.apps": DAEMON_SETS,
    "deployments.apps": DEPLOYMENTS,
    "replicasets.apps": REPLICA_SETS,
    "statefulsets.apps": STATEFUL_SETS,
    "poddisruptionbudgets.policy": BUDGETS,
}
"""Columns of the kinds that matter for a drain."""

_CREATED_AT = (
    NAME,
    Column("Created At", lambda document, _: text_at(document, "metadata", "creationTimestamp"), "date"),
)
"""The default of apiserver (registry/rest/table.go), used for all other kinds here."""


# Objects without spec and status: PartialObjectMetadata, which tables contain and metadata informers request.


def partial(doc: Doc) -> Doc:
    """Return an object's whole metadata, including `managedFields`, without the object's own kind."""
    return {"kind": PARTIAL.kind, "apiVersion": PARTIAL.api_version, "metadata": doc.get("metadata") or {}}


def partial_list(docs: Iterable[Doc], list_meta: Doc) -> Doc:
    """Return the list of `docs` in that form, with the list's own metadata."""
    items = [partial(doc) for doc in docs]
    return {"kind": PARTIAL_LIST.kind, "apiVersion": PARTIAL_LIST.api_version, "metadata": list_meta, "items": items}


IncludeObject = Literal["Metadata", "Object", "None"]
"""What a row contains of its object; set in the query, ``Metadata`` by default."""


def table(
    served: ServedResource,
    docs: Sequence[Doc],
    now: datetime,
    include_object: IncludeObject = "Metadata",
    list_meta: Doc | None = None,
    headers: bool = True,
) -> Doc:
    """Return the Table of `docs`, in their order; ages are relative to `now`, which has a time zone.

    `list_meta` is the list's metadata (`resourceVersion`, `continue`, `remainingItemCount`); omit it for a single
    object, whose own version the table then has. Without `headers` the columns are null: the second and later events of
    a watch have none (apiserver, endpoints/handlers/response.go).
    """
    # additionalPrinterColumns are not evaluated: custom resources show their age.
    columns = (NAME, AGE) if served.custom else _COLUMNS.get(served.full_name, _CREATED_AT)
    return {
        "kind": TABLE.kind,
        "apiVersion": TABLE.api_version,
        "metadata": _single_metadata(docs) if list_meta is None else list_meta,
        "columnDefinitions": [column.document() for column in columns] if headers else None,
        "rows": [_row(columns, doc, now, include_object) for doc in docs],
    }


def _single_metadata(docs: Sequence[Doc]) -> Doc:
    metadata = docs[0].get("metadata") or {} if len(docs) == 1 else {}
    return {"resourceVersion": metadata["resourceVersion"]} if metadata.get("resourceVersion") else {}


def _row(columns: Columns, doc: Doc, now: datetime, include_object: IncludeObject) -> Doc:
    row: Doc = {"cells": [column.cell(doc, now) for column in columns]}
    if columns is PODS and (row_conditions := conditions(doc)):
        row["conditions"] = row_conditions
    return {**row, "object": _object(doc, include_object)}


def _object(doc: Doc, include_object: IncludeObject) -> Doc | None:
    if include_object == "None":
        return None
    return doc if include_object == "Object" else partial(doc)
