"""The endpoint slice controller: the pods of each Service that has a selector.

Source: pkg/controller/endpointslice/endpointslice_controller.go, staging/src/k8s.io/endpointslice/reconciler.go,
Kubernetes v1.36. The annotation with the time of the last change has the time at which the slice was written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc

from ..registry import Registry
from ..store import NODES, PODS, ObjectKey, StoreChange, StoreChangeKind, StoredItem
from .ownership import ObjectController, ObjectIndex, keys_of_owner, reference_to

# Endpoints of a Service: their fields from the pod, and their ports.
#
# Source: staging/src/k8s.io/endpointslice/{utils,reconciler}.go (podToEndpoint, getEndpointPorts),
# endpointslice/util/controller_utils.go (ShouldPodBeInEndpoints, FindPort), Kubernetes v1.36. Hints of topology-aware
# routing are left out.


ZONE = "topology.kubernetes.io/zone"


def pod_addresses(pod: StoredItem, family: str) -> list[str]:
    """The pod's addresses of that family; none for a finished pod."""
    if pod.finished:
        return []
    status = pod.status
    ips = [each["ip"] for each in status.get("podIPs") or () if each.get("ip")]
    if not ips and status.get("podIP"):
        ips = [status["podIP"]]
    return [each for each in ips if (":" in each) == (family == "IPv6")]


def build_endpoint(pod: StoredItem, service: StoredItem, ips: list[str], zone: str | None) -> Doc:
    """The endpoint of a pod; terminating pods are serving as long as they are ready."""
    serving, terminating = pod.ready, pod.deleting
    ready = bool(service.spec.get("publishNotReadyAddresses")) or (serving and not terminating)
    endpoint_doc: Doc = {
        "addresses": ips,
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
        "targetRef": {"kind": "Pod", "namespace": pod.key[0], "name": pod.key[1], "uid": pod.uid},
    }
    spec = pod.spec
    if pod.node:
        endpoint_doc["nodeName"] = pod.node
    if zone:
        endpoint_doc["zone"] = zone
    if spec.get("hostname") and spec.get("subdomain") == service.key[1]:
        endpoint_doc["hostname"] = spec["hostname"]
    return endpoint_doc


def endpoint_ports(service: StoredItem, pod: StoredItem) -> list[Doc]:
    """The pod's ports for those of the service; a named port that the pod does not have is left out."""
    pod_ports = []
    for service_port in service.spec.get("ports") or ():
        protocol = service_port.get("protocol") or "TCP"
        number = _port_number(service_port, protocol, pod)
        if number is None:
            continue
        port: Doc = {"name": service_port.get("name") or "", "port": number, "protocol": protocol}
        if service_port.get("appProtocol"):
            port["appProtocol"] = service_port["appProtocol"]
        pod_ports.append(port)
    return pod_ports


def _port_number(port: Doc, protocol: str, pod: StoredItem) -> int | None:
    target = port.get("targetPort") or port["port"]
    if isinstance(target, int):
        return target
    for name, port_protocol, number in _named_ports(pod):
        if (name, port_protocol) == (target, protocol):
            return number
    return None


def _named_ports(pod: StoredItem) -> Iterable[tuple[str, str, int]]:
    """Named ports of the containers, then of the sidecars."""
    spec = pod.spec
    sidecars = [
        container_port
        for container_port in spec.get("initContainers") or ()
        if container_port.get("restartPolicy") == "Always"
    ]
    for container in (*(spec.get("containers") or ()), *sidecars):
        for container_port in container.get("ports") or ():
            yield (
                container_port.get("name", ""),
                container_port.get("protocol") or "TCP",
                int(container_port["containerPort"]),
            )


# Distribution of endpoints over slices: each stays in its slice.
#
# Source: staging/src/k8s.io/endpointslice/reconciler.go (reconcileByPortMapping, finalize), Kubernetes v1.36; the
# choice among several slices with room for a new endpoint is not modelled.

MAX_ENDPOINTS = 100
"""Endpoints in one slice (--max-endpoints-per-slice)."""


def spread_endpoints(
    slices: Sequence[StoredItem], desired: Mapping[str, Doc]
) -> tuple[dict[StoredItem, list[Doc]], list[Doc]]:
    """The desired endpoints of each slice, and those without room; `desired` by the pod's UID, `slices` are those with
    the same ports."""
    unassigned = dict(desired)
    assigned: dict[StoredItem, list[Doc]] = {}
    for item in slices:
        uids = [(each.get("targetRef") or {}).get("uid", "") for each in item.doc.get("endpoints") or ()]
        assigned[item] = [endpoint_doc for uid in uids if (endpoint_doc := unassigned.pop(uid, None)) is not None]
    remaining = list(unassigned.values())
    for endpoints in assigned.values():
        room = MAX_ENDPOINTS - len(endpoints) if endpoints else 0
        endpoints += remaining[:room]
        remaining = remaining[room:]
    return assigned, remaining


# Services that select a pod, found without a scan of all Services.
#
# Source: staging/src/k8s.io/endpointslice/util/controller_utils.go (GetServicesToUpdateOnPodChange), Kubernetes v1.36.


_LabelPair = tuple[str, str, str]


class ServiceSelectors:
    """Mutable: Services by namespace and one label of their selector."""

    def __init__(self) -> None:
        self._selectors: dict[ObjectKey, dict[str, str]] = {}
        self._by_pair: dict[_LabelPair, dict[ObjectKey, None]] = defaultdict(dict)

    def update(self, change: StoreChange) -> None:
        """A Service was added, changed or deleted."""
        key = change.key
        before = self._selectors.pop(key, None)
        if before:
            self._by_pair[_selector_pair(key, before)].pop(key, None)
        selector = change.item.spec.get("selector")
        if selector and not change.is_deletion:
            self._selectors[key] = selector
            self._by_pair[_selector_pair(key, selector)][key] = None

    def services_of(self, pod: StoredItem) -> list[ObjectKey]:
        """The Services that select the pod."""
        labels = pod.labels
        return [
            key
            for pair in labels.items()
            for key in self._by_pair.get((pod.key[0], *pair), ())
            if self._selectors[key].items() <= labels.items()
        ]

    def affected_services(self, change: StoreChange) -> Iterable[ObjectKey]:
        """The Services whose endpoints may change with the pod."""
        if change.before is None or change.is_deletion:
            return self.services_of(change.item)
        if _endpoint_facts(change.before) == _endpoint_facts(change.item):
            return ()
        return dict.fromkeys((*self.services_of(change.before), *self.services_of(change.item)))


def _selector_pair(key: ObjectKey, selector: dict[str, str]) -> _LabelPair:
    return (key[0], *min(selector.items()))


def _endpoint_facts(pod: StoredItem) -> tuple[object, ...]:
    """All fields of a pod that its endpoints show."""
    status = pod.status
    ips = status.get("podIPs") or status.get("podIP")
    address_facts = (ips, pod.labels, pod.node, pod.spec.get("hostname"))
    return (*address_facts, pod.ready, pod.finished, pod.deleting)


SERVICES, SLICES = kinds.SERVICES.full_name, kinds.ENDPOINT_SLICES.full_name

MANAGED_BY, MANAGER = "endpointslice.kubernetes.io/managed-by", "endpointslice-controller.k8s.io"
SERVICE_NAME, HEADLESS = "kubernetes.io/service-name", "service.kubernetes.io/headless"
TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time"

_Ports = tuple[tuple[tuple[str, object], ...], ...]
_PORT_FIELDS = ("name", "protocol", "port", "appProtocol")


_PodEndpoint = tuple[_Ports, list[Doc], Doc | None]
"""A pod in a service: its ports, hashable and as listed, and its endpoint (None: it has no address)."""
_MAX_CACHED = 50_000


class EndpointSlices(ObjectController):
    """A `Controller` whose keys are those of Services."""

    resources = (SERVICES, PODS, NODES, SLICES)

    def __init__(self, registry: Registry, index: ObjectIndex) -> None:
        super().__init__(registry, index)
        self._selectors = ServiceSelectors()
        self._cached_endpoint = lru_cache(maxsize=_MAX_CACHED)(_pod_endpoint)

    def affected_keys(self, change: StoreChange) -> Iterable[ObjectKey]:
        item = change.item
        if item.resource == SERVICES:
            self._selectors.update(change)
            return (item.key,)
        if item.resource == SLICES:
            return () if self._is_writing else keys_of_owner(change, kinds.SERVICES)
        if item.resource == PODS:
            return self._selectors.affected_services(change)
        if (
            change.before is not None
            and change.change_kind is StoreChangeKind.MODIFIED
            and _zone_of(change.before) == _zone_of(item)
        ):
            return ()
        return [key for pod in self._index.on_node(item.key[1]) for key in self._selectors.services_of(pod)]

    def manage(self, service: StoredItem) -> None:
        spec = service.spec
        selector = spec.get("selector")
        if service.deleting or not selector or spec.get("type") == "ExternalName":
            return
        slices = [
            item for item in self._index.controlled(service.uid, SLICES) if not item.deleting and _is_managed(item)
        ]
        families = spec.get("ipFamilies") or ["IPv4"]
        pods = list(self._index.labelled(service.key[0], selector))
        self._is_writing = True  # it need not reconcile after its own writes
        try:
            for family in families:
                self._reconcile_family(
                    service, family, pods, [item for item in slices if _address_family(item) == family]
                )
            for item in slices:
                if _address_family(item) not in families:
                    self._registry.delete(item)
        finally:
            self._is_writing = False

    def _reconcile_family(
        self, service: StoredItem, family: str, pods: list[StoredItem], slices: list[StoredItem]
    ) -> None:
        listed_ports: dict[_Ports, list[Doc]] = {}
        desired: dict[_Ports, dict[str, Doc]] = {}
        for pod in pods:
            node = self._registry.find(NODES, ("", pod.node))
            ports, listed, pod_endpoint = self._cached_endpoint(
                pod, service, family, _zone_of(node) if node is not None else None
            )
            if pod_endpoint is None or (node is None and self._index.has_seen(NODES)):
                continue  # without an address, or its node is gone and the pod soon will be
            listed_ports.setdefault(ports, listed)
            desired.setdefault(ports, {})[pod.uid] = pod_endpoint
        slices_by_ports: dict[_Ports, list[StoredItem]] = {}
        for item in slices:
            slices_by_ports.setdefault(_hashable_ports(item.doc.get("ports")), []).append(item)
        unused: list[StoredItem] = []
        new_slices: list[tuple[list[Doc], list[Doc]]] = []
        has_slice = False
        for ports in {**slices_by_ports, **desired}:
            assigned, remaining = spread_endpoints(slices_by_ports.get(ports, ()), desired.get(ports, {}))
            for item, endpoints in assigned.items():
                if endpoints:
                    has_slice = True
                    self._write(item, service, endpoints, item.doc.get("ports") or [])
                else:
                    unused.append(item)
            new_slices += [
                (remaining[start : start + MAX_ENDPOINTS], listed_ports[ports])
                for start in range(0, len(remaining), MAX_ENDPOINTS)
            ]
        for endpoints, listed in new_slices if has_slice or new_slices else [([], [])]:
            if unused:  # reuse a slice that would be deleted
                self._write(unused.pop(0), service, endpoints, listed)
            else:
                self._registry.create(SLICES, self._slice_doc(service, family, endpoints, listed), service.key[0])
        for item in unused:
            self._registry.delete(item)

    def _write(self, item: StoredItem, service: StoredItem, endpoints: list[Doc], ports: list[Doc]) -> None:
        """Write a slice, if that changes anything."""
        meta = item.meta
        labels = _slice_labels(service)
        is_same = (item.doc.get("endpoints") or []) == endpoints and (item.doc.get("ports") or []) == ports
        if is_same and meta.get("labels") == labels:
            return
        annotations = {**(meta.get("annotations") or {}), TRIGGER_TIME: self._registry.timestamp}
        meta = {**meta, "labels": labels, "annotations": annotations}
        self._registry.update(item, {**item.doc, "metadata": meta, "endpoints": endpoints, "ports": ports})

    def _slice_doc(self, service: StoredItem, family: str, endpoints: list[Doc], ports: list[Doc]) -> Doc:
        meta = {
            "generateName": service.key[1] + "-",
            "labels": _slice_labels(service),
            "annotations": {TRIGGER_TIME: self._registry.timestamp},
            "ownerReferences": [reference_to(service, kinds.SERVICES)],
        }
        type_fields = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice"}
        return {**type_fields, "metadata": meta, "addressType": family, "endpoints": endpoints, "ports": ports}


def _pod_endpoint(pod: StoredItem, service: StoredItem, family: str, zone: str | None) -> _PodEndpoint:
    ips = pod_addresses(pod, family)
    if not ips:
        return (), [], None
    listed = endpoint_ports(service, pod)
    return _hashable_ports(listed), listed, build_endpoint(pod, service, ips, zone)


def _slice_labels(service: StoredItem) -> dict[str, str]:
    """The labels of the service, and those of the slice's manager and service."""
    labels = {key: value for key, value in service.labels.items() if key not in (MANAGED_BY, SERVICE_NAME)}
    labels.pop(HEADLESS, None)
    if service.spec.get("clusterIP") == "None":
        labels[HEADLESS] = ""
    return {**labels, MANAGED_BY: MANAGER, SERVICE_NAME: service.key[1]}


def _is_managed(item: StoredItem) -> bool:
    return item.labels.get(MANAGED_BY) == MANAGER


def _address_family(item: StoredItem) -> str:
    return str(item.doc.get("addressType", ""))


def _zone_of(node: StoredItem) -> str | None:
    return node.labels.get(ZONE)


def _hashable_ports(ports: Iterable[Doc] | None) -> _Ports:
    """Only known fields of ports: others may have any value."""
    port_docs = (each or {} for each in ports or ())
    return tuple(
        sorted(tuple((name, each[name]) for name in _PORT_FIELDS if each.get(name) is not None) for each in port_docs)
    )
