"""Deployments, replica sets, stateful sets, daemon sets, replication controllers, revisions and budgets."""

from __future__ import annotations

from datetime import datetime

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.embedded.api.tables.ages import age
from kubectl_eksdoc.embedded.api.tables.columns import (
    AGE,
    CONTAINERS,
    IMAGES,
    NAME,
    SELECTOR,
    Cells,
    Column,
    Printer,
    integer,
)
from kubectl_eksdoc.embedded.api.tables.fields import listed, mapped, name, number, text
from kubectl_eksdoc.embedded.api.tables.label_text import NONE, containers, labels, selector


def template_cells(workload: Doc) -> list[str]:
    """Names and images of the pod template's containers."""
    return containers(listed(workload, "spec", "template", "spec", "containers"))


def selector_cell(workload: Doc) -> str:
    return selector(at(workload, "spec", "selector")) or NONE


def _ready(workload: Doc) -> str:
    return f"{number(workload, 'status', 'readyReplicas')}/{number(workload, 'spec', 'replicas')}"


def _deployment(deployment: Doc, now: datetime) -> Cells:
    return [
        name(deployment),
        _ready(deployment),
        number(deployment, "status", "updatedReplicas"),
        number(deployment, "status", "availableReplicas"),
        age(deployment, now),
        *template_cells(deployment),
        selector(at(deployment, "spec", "selector")),
    ]


def _counts(workload: Doc, now: datetime) -> Cells:
    return [
        name(workload),
        number(workload, "spec", "replicas"),
        number(workload, "status", "replicas"),
        number(workload, "status", "readyReplicas"),
        age(workload, now),
        *template_cells(workload),
    ]


def _replica_set(replica_set: Doc, now: datetime) -> Cells:
    return [*_counts(replica_set, now), selector_cell(replica_set)]


def _replication_controller(controller: Doc, now: datetime) -> Cells:
    return [*_counts(controller, now), labels(mapped(controller, "spec", "selector"))]


def _stateful_set(stateful_set: Doc, now: datetime) -> Cells:
    return [name(stateful_set), _ready(stateful_set), age(stateful_set, now), *template_cells(stateful_set)]


def _daemon_set(daemon_set: Doc, now: datetime) -> Cells:
    counts = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    return [
        name(daemon_set),
        *(number(daemon_set, "status", count) for count in counts),
        labels(mapped(daemon_set, "spec", "template", "spec", "nodeSelector")),
        age(daemon_set, now),
        *template_cells(daemon_set),
        selector_cell(daemon_set),
    ]


def _revision(revision: Doc, now: datetime) -> Cells:
    owners = (o for o in listed(revision, "metadata", "ownerReferences") if o.get("controller"))
    owner = next(owners, None)
    return [
        name(revision),
        NONE if owner is None else _reference(owner),
        number(revision, "revision"),
        age(revision, now),
    ]


def _reference(owner: Doc) -> str:
    """``daemonset.apps/aws-node``."""
    group, _, _ = text(owner, "apiVersion").rpartition("/")
    kind = f"{text(owner, 'kind')}.{group}" if group else text(owner, "kind")
    return f"{kind.lower()}/{text(owner, 'name')}"


def _budget(budget: Doc, now: datetime) -> Cells:
    return [
        name(budget),
        text(budget, "spec", "minAvailable") or "N/A",
        text(budget, "spec", "maxUnavailable") or "N/A",
        number(budget, "status", "disruptionsAllowed"),
        age(budget, now),
    ]


_READY = Column("Ready", "How many pods are ready, of how many are wanted")
_DESIRED = integer("Desired", "How many pods are wanted")
_CURRENT = integer("Current", "How many pods there are")
_READY_COUNT = integer("Ready", "How many pods are ready")
_TEMPLATE = (AGE, CONTAINERS, IMAGES)

DEPLOYMENTS = Printer(
    (
        NAME,
        _READY,
        Column("Up-to-date", "How many pods have the present template"),
        Column("Available", "How many pods are available"),
        *_TEMPLATE,
        SELECTOR,
    ),
    _deployment,
)
REPLICA_SETS = Printer((NAME, _DESIRED, _CURRENT, _READY_COUNT, *_TEMPLATE, SELECTOR), _replica_set)
REPLICATION_CONTROLLERS = Printer(
    (NAME, _DESIRED, _CURRENT, _READY_COUNT, *_TEMPLATE, SELECTOR), _replication_controller
)
STATEFUL_SETS = Printer((NAME, _READY, *_TEMPLATE), _stateful_set)
DAEMON_SETS = Printer(
    (
        NAME,
        integer("Desired", "How many nodes should run the pod"),
        integer("Current", "How many nodes that should run the pod do"),
        integer("Ready", "How many of them are ready"),
        integer("Up-to-date", "How many of them have the present template"),
        integer("Available", "How many of them are available"),
        Column("Node Selector", "The labels a node needs to run the pod"),
        *_TEMPLATE,
        SELECTOR,
    ),
    _daemon_set,
)
CONTROLLER_REVISIONS = Printer(
    (
        NAME,
        Column("Controller", "Whose revision it is"),
        Column("Revision", "The revision's number"),
        AGE,
    ),
    _revision,
)
BUDGETS = Printer(
    (
        NAME,
        Column("Min Available", "How many pods must stay available"),
        Column("Max Unavailable", "How many pods may be unavailable"),
        integer("Allowed Disruptions", "How many pods may be disrupted now"),
        AGE,
    ),
    _budget,
)
