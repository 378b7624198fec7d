"""Namespaces, configuration, accounts, leases, classes of priority, quotas."""

from __future__ import annotations

from datetime import datetime

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.embedded.api.tables.ages import age
from kubectl_eksdoc.embedded.api.tables.columns import AGE, NAME, Cells, Column, Printer, boolean, integer
from kubectl_eksdoc.embedded.api.tables.fields import mapped, name, number, text


def _namespace(namespace: Doc, now: datetime) -> Cells:
    return [name(namespace), text(namespace, "status", "phase"), age(namespace, now)]


def _config_map(config_map: Doc, now: datetime) -> Cells:
    return [
        name(config_map),
        len(mapped(config_map, "data")) + len(mapped(config_map, "binaryData")),
        age(config_map, now),
    ]


def _secret(secret: Doc, now: datetime) -> Cells:
    return [name(secret), text(secret, "type"), len(mapped(secret, "data")), age(secret, now)]


def _service_account(account: Doc, now: datetime) -> Cells:
    return [name(account), age(account, now)]


def _lease(lease: Doc, now: datetime) -> Cells:
    return [name(lease), text(lease, "spec", "holderIdentity"), age(lease, now)]


def _priority_class(priority_class: Doc, now: datetime) -> Cells:
    return [
        name(priority_class),
        number(priority_class, "value"),
        bool(priority_class.get("globalDefault")),
        age(priority_class, now),
        text(priority_class, "preemptionPolicy"),
    ]


def _runtime_class(runtime_class: Doc, now: datetime) -> Cells:
    return [name(runtime_class), text(runtime_class, "handler"), age(runtime_class, now)]


def _quota(quota: Doc, now: datetime) -> Cells:
    hard, used = mapped(quota, "status", "hard"), mapped(quota, "status", "used")
    shown = {resource: f"{resource}: {used.get(resource, 0)}/{hard[resource]}" for resource in sorted(hard)}
    limits = [part for resource, part in shown.items() if resource.startswith("limits.")]
    requests = [part for resource, part in shown.items() if not resource.startswith("limits.")]
    return [name(quota), ", ".join(requests), ", ".join(limits), age(quota, now)]


def _component(component: Doc, _: datetime) -> Cells:
    found = (c for c in component.get("conditions") or () if c.get("type") == "Healthy")
    healthy = next(found, None)
    word = "Unknown" if healthy is None else "Healthy" if at(healthy, "status") == "True" else "Unhealthy"
    return [name(component), word, text(healthy or {}, "message"), text(healthy or {}, "error")]


NAMESPACES = Printer((NAME, Column("Status", "Whether it is active or terminating"), AGE), _namespace)
CONFIG_MAPS = Printer((NAME, Column("Data", "How many entries it has"), AGE), _config_map)
SECRETS = Printer(
    (NAME, Column("Type", "What kind of secret it is"), Column("Data", "How many entries it has"), AGE), _secret
)
SERVICE_ACCOUNTS = Printer((NAME, AGE), _service_account)
LEASES = Printer((NAME, Column("Holder", "Who holds the lease"), AGE), _lease)
PRIORITY_CLASSES = Printer(
    (
        NAME,
        integer("Value", "The priority of its pods"),
        boolean("Global-Default", "Whether pods without a class get this one"),
        AGE,
        Column("PreemptionPolicy", "Whether its pods push out others"),
    ),
    _priority_class,
)
RUNTIME_CLASSES = Printer((NAME, Column("Handler", "What runs its pods"), AGE), _runtime_class)
QUOTAS = Printer(
    (NAME, Column("Request", "Requests, and counts: used of allowed"), Column("Limit", "Limits: used of allowed"), AGE),
    _quota,
)
COMPONENTS = Printer(
    (
        NAME,
        Column("Status", "Whether the component is healthy"),
        Column("Message", "What it says"),
        Column("Error", "What went wrong"),
    ),
    _component,
)
