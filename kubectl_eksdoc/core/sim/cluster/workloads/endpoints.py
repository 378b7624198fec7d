"""Endpoints of a Service: what one says of a pod, and the ports it is reached at.

Source: staging/src/k8s.io/endpointslice/{utils,reconciler}.go (podToEndpoint, getEndpointPorts),
endpointslice/util/controller_utils.go (ShouldPodBeInEndpoints, FindPort), Kubernetes v1.36.
Hints of topology-aware routing are left out.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.sim.cluster.store import Item
from kubectl_eksdoc.core.sim.cluster.workloads import pods

ZONE = "topology.kubernetes.io/zone"


def addresses(pod: Doc, family: str) -> list[str]:
    """Those of the family; of a pod that has ended none."""
    if pods.is_finished(pod):
        return []
    status = pod.get("status") or {}
    held = [each["ip"] for each in status.get("podIPs") or () if each.get("ip")]
    if not held and status.get("podIP"):
        held = [status["podIP"]]
    return [each for each in held if (":" in each) == (family == "IPv6")]


def endpoint(pod: Item, service: Doc, found: list[str], zone: str | None) -> Doc:
    """The endpoint of a pod; terminating ones serve as long as they are ready."""
    serving, terminating = pods.is_ready(pod.doc), pod.leaving
    ready = bool(service["spec"].get("publishNotReadyAddresses")) or (serving and not terminating)
    made: Doc = {
        "addresses": found,
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
        "targetRef": {"kind": "Pod", "namespace": pod.key[0], "name": pod.key[1], "uid": pod.uid},
    }
    spec = pod.doc["spec"]
    if spec.get("nodeName"):
        made["nodeName"] = spec["nodeName"]
    if zone:
        made["zone"] = zone
    if spec.get("hostname") and spec.get("subdomain") == service["metadata"]["name"]:
        made["hostname"] = spec["hostname"]
    return made


def ports(service: Doc, pod: Doc) -> list[Doc]:
    """Ports of the pod behind those of the service; one whose name the pod does not have is left out."""
    made = []
    for each in service["spec"].get("ports") or ():
        protocol = each.get("protocol") or "TCP"
        number = _number(each, protocol, pod)
        if number is None:
            continue
        port: Doc = {"name": each.get("name") or "", "port": number, "protocol": protocol}
        if each.get("appProtocol"):
            port["appProtocol"] = each["appProtocol"]
        made.append(port)
    return made


def _number(port: Doc, protocol: str, pod: Doc) -> int | None:
    target = port.get("targetPort") or port["port"]
    if isinstance(target, int):
        return target
    for name, of, number in _named(pod):
        if (name, of) == (target, protocol):
            return number
    return None


def _named(pod: Doc) -> Iterable[tuple[str, str, int]]:
    """Named ports of the containers, then of the sidecars."""
    spec = pod["spec"]
    sidecars = [each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"]
    for container in (*(spec.get("containers") or ()), *sidecars):
        for each in container.get("ports") or ():
            yield each.get("name", ""), each.get("protocol") or "TCP", int(each["containerPort"])
