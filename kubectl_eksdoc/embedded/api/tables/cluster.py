"""Namespaces, configuration, accounts, leases, classes of priority, quotas."""

from __future__ import annotations

from datetime import datetime

from kubectl_eksdoc.embedded.api.tables import fields
from kubectl_eksdoc.embedded.api.tables.columns import (
    AGE,
    NAME,
    NAME_DESCRIPTION,
    Cells,
    Column,
    Printer,
    boolean,
    integer,
    wide,
)
from kubectl_eksdoc.embedded.api.tables.fields import NONE, age, condition, going, listed, mapped, name, number, text
from kubectl_eksdoc.model.api_objects import Doc, at


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


# Nodes: ready or not, cordoned or not, and what their kubelets report.


_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE = "kubernetes.io/role"


def _status(node: Doc) -> str:
    ready = condition(node, "Ready")
    word = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if at(node, "spec", "unschedulable") else word


def _roles(node: Doc) -> str:
    found = mapped(node, "metadata", "labels")
    roles = {key[len(_ROLE_PREFIX) :] for key in found if key.startswith(_ROLE_PREFIX)} | {found.get(_ROLE, "")}
    return ",".join(sorted(roles - {""})) or NONE


def _address(node: Doc, kind: str) -> str:
    found = (a for a in listed(node, "status", "addresses") if a.get("type") == kind)
    return next((text(a, "address") for a in found), NONE)


def _cells(node: Doc, now: datetime) -> Cells:
    info = mapped(node, "status", "nodeInfo")
    architecture = text(info, "architecture")
    kernel = text(info, "kernelVersion") or fields.UNKNOWN
    return [
        name(node),
        _status(node),
        _roles(node),
        fields.age(node, now),
        text(info, "kubeletVersion"),
        _address(node, "InternalIP"),
        _address(node, "ExternalIP"),
        text(info, "osImage") or fields.UNKNOWN,
        f"{kernel} ({architecture})" if architecture else kernel,
        text(info, "containerRuntimeVersion") or fields.UNKNOWN,
    ]


_ADDRESSES = (
    "List of addresses reachable to the node. Queried from cloud provider, if available. More info: "
    "https://kubernetes.io/docs/reference/node/node-status/#addresses Note: This field is declared as mergeable, but "
    "the merge key is not sufficiently unique, which can cause data corruption when it is merged. Callers should "
    "instead use a full-replacement patch. See https://pr.k8s.io/79391 for an example. Consumers should assume that "
    "addresses can change during the lifetime of a Node. However, there are some exceptions where this may not be "
    "possible, such as Pods that inherit a Node's address in its own status or consumers of the downward API "
    "(status.hostIP)."
)

NODES = Printer(
    (
        NAME,
        Column("Status", "The status of the node"),
        Column("Roles", "The roles of the node"),
        AGE,
        Column("Version", "Kubelet Version reported by the node."),
        wide("Internal-IP", _ADDRESSES),
        wide("External-IP", _ADDRESSES),
        wide("OS-Image", "OS Image reported by the node from /etc/os-release (e.g. Debian GNU/Linux 7 (wheezy))."),
        wide("Kernel-Version", "Kernel Version reported by the node from 'uname -r' (e.g. 3.16.0-0.bpo.4-amd64)."),
        wide(
            "Container-Runtime",
            "ContainerRuntime Version reported by the node through runtime remote API (e.g. containerd://1.4.2).",
        ),
    ),
    _cells,
)


# Events, in the form of the core group and in that of events.k8s.io, which says the same in other words.


_CORE_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "deprecatedSource": "source",
}


def _seen(event: Doc, now: datetime) -> tuple[str, str, int]:
    """When first, when last, and how often; a series goes before everything else, and no count means once."""
    first = fields.since(event.get("firstTimestamp") or event.get("eventTime"), now)
    last = fields.since(event["lastTimestamp"], now) if event.get("lastTimestamp") else first
    series = event.get("series")
    if series is not None:
        return first, fields.since(series.get("lastObservedTime"), now), number(series, "count")
    return first, last, number(event, "count") or 1


def _source(event: Doc) -> str:
    component = text(event, "source", "component") or text(event, "reportingComponent")
    instance = text(event, "source", "host") or text(event, "reportingInstance")
    return f"{component}, {instance}" if instance else component


def _events_cells(event: Doc, now: datetime) -> Cells:
    event = {_CORE_NAMES.get(key, key): value for key, value in event.items()}
    first, last, count = _seen(event, now)
    involved = at(event, "involvedObject") or {}
    target = text(involved, "kind").lower()
    return [
        last,
        text(event, "type"),
        text(event, "reason"),
        f"{target}/{involved['name']}" if involved.get("name") else target,
        text(involved, "fieldPath"),
        _source(event),
        text(event, "message").strip(),
        first,
        count,
        name(event),
    ]


EVENTS = Printer(
    (
        Column("Last Seen", "When it happened last"),
        Column("Type", "Normal or Warning"),
        Column("Reason", "Why, in one word"),
        Column("Object", "What it happened to"),
        wide("Subobject", "Which part of that"),
        wide("Source", "Reporting component"),
        Column("Message", "What happened"),
        wide("First Seen", "When it happened first"),
        wide("Count", "How often it happened"),
        Column("Name", NAME_DESCRIPTION, format="name", priority=1),
    ),
    _events_cells,
)


# Volumes, claims, storage classes, and what the CSI keeps about nodes and attachments.


_UNSET = "<unset>"
_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def _modes(found: list[str]) -> str:
    """Always in the order of the table above, and each once (``helper.GetAccessModesAsString``)."""
    return ",".join(short for mode, short in _MODES.items() if mode in found)


def _class(document: Doc) -> str:
    """The storage class of a volume or claim; the old annotation goes before the field."""
    annotated: str | None = mapped(document, "metadata", "annotations").get(_BETA_CLASS)
    return text(document, "spec", "storageClassName") if annotated is None else annotated


def _phase(document: Doc) -> str:
    return "Terminating" if going(document) else text(document, "status", "phase")


def _volume(volume: Doc, now: datetime) -> Cells:
    claim = at(volume, "spec", "claimRef")
    return [
        name(volume),
        text(volume, "spec", "capacity", "storage") or "0",
        _modes(listed(volume, "spec", "accessModes")),
        text(volume, "spec", "persistentVolumeReclaimPolicy"),
        _phase(volume),
        "" if claim is None else f"{text(claim, 'namespace')}/{text(claim, 'name')}",
        _class(volume),
        text(volume, "spec", "volumeAttributesClassName") or _UNSET,
        text(volume, "status", "reason"),
        age(volume, now),
        text(volume, "spec", "volumeMode") or _UNSET,
    ]


def _claim(claim: Doc, now: datetime) -> Cells:
    bound = text(claim, "spec", "volumeName")
    return [
        name(claim),
        _phase(claim),
        bound,
        (text(claim, "status", "capacity", "storage") or "0") if bound else "",
        _modes(listed(claim, "status", "accessModes")) if bound else "",
        _class(claim),
        text(claim, "spec", "volumeAttributesClassName") or _UNSET,
        age(claim, now),
        text(claim, "spec", "volumeMode") or _UNSET,
    ]


def _storage_class(storage_class: Doc, now: datetime) -> Cells:
    """Every class that is annotated as the default is marked; later servers mark the one that is used."""
    annotations = mapped(storage_class, "metadata", "annotations")
    default = any(annotations.get(key) == "true" for key in _DEFAULT_CLASS)
    return [
        f"{name(storage_class)} (default)" if default else name(storage_class),
        text(storage_class, "provisioner"),
        text(storage_class, "reclaimPolicy") or "Delete",
        text(storage_class, "volumeBindingMode") or "Immediate",
        bool(storage_class.get("allowVolumeExpansion")),
        age(storage_class, now),
    ]


def _csi_node(csi_node: Doc, now: datetime) -> Cells:
    return [name(csi_node), len(listed(csi_node, "spec", "drivers")), age(csi_node, now)]


def _csi_driver(driver: Doc, now: datetime) -> Cells:
    attach, requests = at(driver, "spec", "attachRequired"), at(driver, "spec", "tokenRequests")
    return [
        name(driver),
        True if attach is None else attach,
        bool(at(driver, "spec", "podInfoOnMount")),
        bool(at(driver, "spec", "storageCapacity")),
        _UNSET if requests is None else ",".join(text(one, "audience") for one in requests),
        bool(at(driver, "spec", "requiresRepublish")),
        ",".join(listed(driver, "spec", "volumeLifecycleModes")) or NONE,
        age(driver, now),
    ]


def _attachment(attachment: Doc, now: datetime) -> Cells:
    return [
        name(attachment),
        text(attachment, "spec", "attacher"),
        text(attachment, "spec", "source", "persistentVolumeName"),
        text(attachment, "spec", "nodeName"),
        bool(at(attachment, "status", "attached")),
        age(attachment, now),
    ]


_CLASS = Column("StorageClass", "Its storage class")
_ATTRIBUTES = Column("VolumeAttributesClass", "Its volume attributes class")
_VOLUME_MODE = wide("VolumeMode", "Whether it is a file system or a block device")
_ACCESS_MODES = Column("Access Modes", "How nodes may mount it")

VOLUMES = Printer(
    (
        NAME,
        Column("Capacity", "How much it holds"),
        _ACCESS_MODES,
        Column("Reclaim Policy", "Reclaim policy of the volume"),
        Column("Status", "Whether it is bound, available, released or failed"),
        Column("Claim", "The claim it is bound to"),
        _CLASS,
        _ATTRIBUTES,
        Column("Reason", "Why it failed"),
        AGE,
        _VOLUME_MODE,
    ),
    _volume,
)
CLAIMS = Printer(
    (
        NAME,
        Column("Status", "Whether it is bound, pending or lost"),
        Column("Volume", "The volume it is bound to"),
        Column("Capacity", "How much that holds"),
        _ACCESS_MODES,
        _CLASS,
        _ATTRIBUTES,
        AGE,
        _VOLUME_MODE,
    ),
    _claim,
)
STORAGE_CLASSES = Printer(
    (
        NAME,
        Column("Provisioner", "Who makes its volumes"),
        Column("ReclaimPolicy", "Reclaim policy of its volumes"),
        Column("VolumeBindingMode", "When volumes are made and bound"),
        Column("AllowVolumeExpansion", "Whether its volumes can grow"),
        AGE,
    ),
    _storage_class,
)
CSI_NODES = Printer((NAME, integer("Drivers", "How many CSI drivers the node has"), AGE), _csi_node)
CSI_DRIVERS = Printer(
    (
        NAME,
        boolean("AttachRequired", "Whether volumes must be attached"),
        boolean("PodInfoOnMount", "Whether the driver gets pod information"),
        boolean("StorageCapacity", "Whether the driver reports what is left"),
        Column("TokenRequests", "The audiences of the tokens the driver gets"),
        boolean("RequiresRepublish", "Whether volumes are published again and again"),
        Column("Modes", "The kinds of volumes the driver makes"),
        AGE,
    ),
    _csi_driver,
)
VOLUME_ATTACHMENTS = Printer(
    (
        NAME,
        Column("Attacher", "Which driver attaches the volume", format="name"),
        Column("PV", "The volume"),
        Column("Node", "The node it is attached to"),
        boolean("Attached", "Whether it is attached"),
        AGE,
    ),
    _attachment,
)
