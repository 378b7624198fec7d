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
from ..store import NODES, PODS, Key, StoreChange, StoreChangeKind, StoredItem
from .owning import Index, ObjectController, keys_of_owner, reference_to

# Endpoints of a Service: their fields from the pod, and their ports.
#
# Source: staging/src/k8s.io/endpointslice/{utils,reconciler}.go (podToEndpoint, getEndpointPorts),
# endpointslice/util/controller_utils.go (ShouldPodBeInEndpoints, FindPort), Kubernetes v1.36. Hints of topology-aware
# routing are left out.


ZONE = "topology.kubernetes.io/zone"


def addresses(pod: StoredItem, family: str) -> list[str]:
    """The pod's addresses of that family; none for a finished pod."""
    if pod.finished:
        return []
    status = pod.status
    held = [each["ip"] for each in status.get("podIPs") or () if each.get("ip")]
    if not held and status.get("podIP"):
        held = [status["podIP"]]
    return [each for each in held if (":" in each) == (family == "IPv6")]


def endpoint(pod: StoredItem, service: StoredItem, found: list[str], zone: str | None) -> Doc:
    """The endpoint of a pod; terminating pods are serving as long as they are ready."""
    serving, terminating = pod.ready, pod.leaving
    ready = bool(service.spec.get("publishNotReadyAddresses")) or (serving and not terminating)
    made: Doc = {
        "addresses": found,
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
        "targetRef": {"kind": "Pod", "namespace": pod.key[0], "name": pod.key[1], "uid": pod.uid},
    }
    spec = pod.spec
    if pod.node:
        made["nodeName"] = pod.node
    if zone:
        made["zone"] = zone
    if spec.get("hostname") and spec.get("subdomain") == service.key[1]:
        made["hostname"] = spec["hostname"]
    return made


def ports(service: StoredItem, pod: StoredItem) -> list[Doc]:
    """The pod's ports for those of the service; a named port that the pod does not have is left out."""
    made = []
    for each in service.spec.get("ports") or ():
        protocol = each.get("protocol") or "TCP"
        number = _number(each, protocol, pod)
        if number is None:
            continue
        port: Doc = {"name": each.get("name") or "", "port": number, "protocol": protocol}
        if each.get("appProtocol"):
            port["appProtocol"] = each["appProtocol"]
        made.append(port)
    return made


def _number(port: Doc, protocol: str, pod: StoredItem) -> int | None:
    target = port.get("targetPort") or port["port"]
    if isinstance(target, int):
        return target
    for name, of, number in _named(pod):
        if (name, of) == (target, protocol):
            return number
    return None


def _named(pod: StoredItem) -> Iterable[tuple[str, str, int]]:
    """Named ports of the containers, then of the sidecars."""
    spec = pod.spec
    sidecars = [each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"]
    for container in (*(spec.get("containers") or ()), *sidecars):
        for each in container.get("ports") or ():
            yield each.get("name", ""), each.get("protocol") or "TCP", int(each["containerPort"])


# Distribution of endpoints over slices: each stays in its slice.
#
# Source: staging/src/k8s.io/endpointslice/reconciler.go (reconcileByPortMapping, finalize), Kubernetes v1.36; the
# choice among several slices with room for a new endpoint is not modelled.

MOST = 100
"""Endpoints in one slice (--max-endpoints-per-slice)."""


def spread(slices: Sequence[StoredItem], wanted: Mapping[str, Doc]) -> tuple[dict[StoredItem, list[Doc]], list[Doc]]:
    """The desired endpoints of each slice, and those without room; `desired` by the pod's UID, `slices` are those with
    the same ports."""
    left = dict(wanted)
    kept: dict[StoredItem, list[Doc]] = {}
    for item in slices:
        uids = [(each.get("targetRef") or {}).get("uid", "") for each in item.doc.get("endpoints") or ()]
        kept[item] = [new for uid in uids if (new := left.pop(uid, None)) is not None]
    more = list(left.values())
    for endpoints in kept.values():
        room = MOST - len(endpoints) if endpoints else 0
        endpoints += more[:room]
        more = more[room:]
    return kept, more


# Services that select a pod, found without a scan of all Services.
#
# Source: staging/src/k8s.io/endpointslice/util/controller_utils.go (GetServicesToUpdateOnPodChange), Kubernetes v1.36.


_Pair = tuple[str, str, str]


class Memberships:
    """Mutable: Services by namespace and one label of their selector."""

    def __init__(self) -> None:
        self._selectors: dict[Key, dict[str, str]] = {}
        self._by_pair: dict[_Pair, dict[Key, None]] = defaultdict(dict)

    def note(self, change: StoreChange) -> None:
        """A Service was added, changed or deleted."""
        key = change.key
        before = self._selectors.pop(key, None)
        if before:
            self._by_pair[_pair(key, before)].pop(key, None)
        selector = change.item.spec.get("selector")
        if selector and not change.gone:
            self._selectors[key] = selector
            self._by_pair[_pair(key, selector)][key] = None

    def of(self, pod: StoredItem) -> list[Key]:
        """The Services that select the pod."""
        labels = pod.labels
        return [
            key
            for pair in labels.items()
            for key in self._by_pair.get((pod.key[0], *pair), ())
            if self._selectors[key].items() <= labels.items()
        ]

    def concerned(self, change: StoreChange) -> Iterable[Key]:
        """The Services whose endpoints may change with the pod."""
        if change.before is None or change.gone:
            return self.of(change.item)
        if _seen(change.before) == _seen(change.item):
            return ()
        return dict.fromkeys((*self.of(change.before), *self.of(change.item)))


def _pair(key: Key, selector: dict[str, str]) -> _Pair:
    return (key[0], *min(selector.items()))


def _seen(pod: StoredItem) -> tuple[object, ...]:
    """All fields of a pod that its endpoints show."""
    status = pod.status
    ips = status.get("podIPs") or status.get("podIP")
    shown = (ips, pod.labels, pod.node, pod.spec.get("hostname"))
    return (*shown, pod.ready, pod.finished, pod.leaving)


SERVICES, SLICES = kinds.SERVICES.full_name, kinds.ENDPOINT_SLICES.full_name

MANAGED_BY, MANAGER = "endpointslice.kubernetes.io/managed-by", "endpointslice-controller.k8s.io"
SERVICE_NAME, HEADLESS = "kubernetes.io/service-name", "service.kubernetes.io/headless"
TRIGGERED = "endpoints.kubernetes.io/last-change-trigger-time"

_Ports = tuple[tuple[tuple[str, object], ...], ...]
_PORT = ("name", "protocol", "port", "appProtocol")


_Look = tuple[_Ports, list[Doc], Doc | None]
"""A pod in a service: its ports, hashable and as listed, and its endpoint (None: it has no address)."""
_MOST_LOOKS = 50_000


class EndpointSlices(ObjectController):
    """A `Controller` whose keys are those of Services."""

    resources = (SERVICES, PODS, NODES, SLICES)

    def __init__(self, registry: Registry, index: Index) -> None:
        super().__init__(registry, index)
        self._memberships = Memberships()
        self._look = lru_cache(maxsize=_MOST_LOOKS)(_look)

    def touched(self, change: StoreChange) -> Iterable[Key]:
        item = change.item
        if item.resource == SERVICES:
            self._memberships.note(change)
            return (item.key,)
        if item.resource == SLICES:
            return () if self._writing else keys_of_owner(change, kinds.SERVICES)
        if item.resource == PODS:
            return self._memberships.concerned(change)
        if (
            change.before is not None
            and change.what is StoreChangeKind.MODIFIED
            and _zone(change.before) == _zone(item)
        ):
            return ()
        return [key for pod in self._index.on_node(item.key[1]) for key in self._memberships.of(pod)]

    def look_after(self, service: StoredItem) -> None:
        spec = service.spec
        selector = spec.get("selector")
        if service.leaving or not selector or spec.get("type") == "ExternalName":
            return
        held = [item for item in self._index.controlled(service.uid, SLICES) if not item.leaving and _managed(item)]
        families = spec.get("ipFamilies") or ["IPv4"]
        own = list(self._index.labelled(service.key[0], selector))
        self._writing = True  # it need not reconcile after its own writes
        try:
            for family in families:
                self._reconcile_family(service, family, own, [item for item in held if _family(item) == family])
            for item in held:
                if _family(item) not in families:
                    self._registry.delete(item)
        finally:
            self._writing = False

    def _reconcile_family(
        self, service: StoredItem, family: str, own: list[StoredItem], held: list[StoredItem]
    ) -> None:
        order: dict[_Ports, list[Doc]] = {}
        wanted: dict[_Ports, dict[str, Doc]] = {}
        for pod in own:
            node = self._registry.find(NODES, ("", pod.node))
            ports, listed, made = self._look(pod, service, family, _zone(node) if node is not None else None)
            if made is None or (node is None and self._index.held(NODES)):
                continue  # without an address, or its node is gone and the pod soon will be
            order.setdefault(ports, listed)
            wanted.setdefault(ports, {})[pod.uid] = made
        by_ports: dict[_Ports, list[StoredItem]] = {}
        for item in held:
            by_ports.setdefault(_frozen(item.doc.get("ports")), []).append(item)
        spare: list[StoredItem] = []
        new: list[tuple[list[Doc], list[Doc]]] = []
        stays = False
        for ports in {**by_ports, **wanted}:
            kept, more = spread(by_ports.get(ports, ()), wanted.get(ports, {}))
            for item, endpoints in kept.items():
                if endpoints:
                    stays = True
                    self._write(item, service, endpoints, item.doc.get("ports") or [])
                else:
                    spare.append(item)
            new += [(more[at : at + MOST], order[ports]) for at in range(0, len(more), MOST)]
        for endpoints, listed in new if stays or new else [([], [])]:
            if spare:  # reuse a slice that would be deleted
                self._write(spare.pop(0), service, endpoints, listed)
            else:
                self._registry.create(SLICES, self._made(service, family, endpoints, listed), service.key[0])
        for item in spare:
            self._registry.delete(item)

    def _write(self, item: StoredItem, service: StoredItem, listed: list[Doc], ports: list[Doc]) -> None:
        """Write a slice, if that changes anything."""
        meta = item.meta
        labels = _labels(service)
        same = (item.doc.get("endpoints") or []) == listed and (item.doc.get("ports") or []) == ports
        if same and meta.get("labels") == labels:
            return
        annotations = {**(meta.get("annotations") or {}), TRIGGERED: self._registry.now}
        meta = {**meta, "labels": labels, "annotations": annotations}
        self._registry.update(item, {**item.doc, "metadata": meta, "endpoints": listed, "ports": ports})

    def _made(self, service: StoredItem, family: str, listed: list[Doc], ports: list[Doc]) -> Doc:
        meta = {
            "generateName": service.key[1] + "-",
            "labels": _labels(service),
            "annotations": {TRIGGERED: self._registry.now},
            "ownerReferences": [reference_to(service, kinds.SERVICES)],
        }
        kind = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice"}
        return {**kind, "metadata": meta, "addressType": family, "endpoints": listed, "ports": ports}


def _look(pod: StoredItem, service: StoredItem, family: str, zone: str | None) -> _Look:
    reached_at = addresses(pod, family)
    if not reached_at:
        return (), [], None
    listed = ports(service, pod)
    return _frozen(listed), listed, endpoint(pod, service, reached_at, zone)


def _labels(service: StoredItem) -> dict[str, str]:
    """The labels of the service, and those of the slice's manager and service."""
    kept = {key: value for key, value in service.labels.items() if key not in (MANAGED_BY, SERVICE_NAME)}
    kept.pop(HEADLESS, None)
    if service.spec.get("clusterIP") == "None":
        kept[HEADLESS] = ""
    return {**kept, MANAGED_BY: MANAGER, SERVICE_NAME: service.key[1]}


def _managed(item: StoredItem) -> bool:
    return item.labels.get(MANAGED_BY) == MANAGER


def _family(item: StoredItem) -> str:
    return str(item.doc.get("addressType", ""))


def _zone(node: StoredItem) -> str | None:
    return node.labels.get(ZONE)


def _frozen(ports: Iterable[Doc] | None) -> _Ports:
    """Only known fields of ports: others may have any value."""
    each_of = (each or {} for each in ports or ())
    return tuple(sorted(tuple((name, each[name]) for name in _PORT if each.get(name) is not None) for each in each_of))
