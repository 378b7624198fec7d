"""What admission adds to a pod when it is created: service account, priority, tolerations; and its QoS class.

Source: pkg/apis/core/v1/defaults.go (defaultHostNetworkPorts), plugin/pkg/admission/{serviceaccount,priority,
defaulttolerationseconds}/admission.go, pkg/apis/core/v1/helper/qos/qos.go (ComputePodQOS), Kubernetes v1.36.
The volume with the service account's token is left out: nothing here reads it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.kubernetes.api import statuses
from kubectl_eksdoc.kubernetes.api.statuses import NamedResource
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.quantities import InvalidQuantity, nanos
from kubectl_eksdoc.simulator.store import Store

PRIORITY_CLASSES = kinds.PRIORITY_CLASSES.full_name

SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""The classes every API server makes (pkg/apis/scheduling/v1/helpers.go)."""

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
TOLERATED_S = 300

_PODS = NamedResource("pods", "", "Pod")


def admitted(spec: Doc, store: Store) -> Doc:
    """A pod's `spec`, which has its defaults, as the server would store it.

    Raises:
        Refusal: 403, its priority class is not there.
    """
    account = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    priority, preemption = _priority(spec, store)
    return {
        **_on_host_ports(spec),
        "serviceAccount": account,
        "serviceAccountName": account,
        "priority": priority,
        "preemptionPolicy": spec.get("preemptionPolicy") or preemption,
        "tolerations": [*(spec.get("tolerations") or ()), *_added_tolerations(spec)],
        **_global_class(spec, store),
    }


def first_status(spec: Doc) -> Doc:
    """The status with which a pod of that spec begins."""
    return {"phase": "Pending", "qosClass": qos_class(spec)}


def qos_class(spec: Doc) -> str:
    """Guaranteed, Burstable or BestEffort."""
    whole = spec.get("resources") or {}
    parts = [whole] if whole.get("requests") or whole.get("limits") else list(_resources(spec))
    guaranteed, asked = True, False
    for part in parts:
        requests, limits = _amounts(part.get("requests")), _amounts(part.get("limits"))
        asked = asked or bool(requests or limits)
        guaranteed = guaranteed and len(limits) == 2 and all(requests.get(k, v) == v for k, v in limits.items())
    if not asked:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _on_host_ports(spec: Doc) -> Doc:
    """On the host's network a container's port is one of the host."""
    if not spec.get("hostNetwork"):
        return spec
    parts = [part for part in ("containers", "initContainers") if spec.get(part)]
    return {**spec, **{part: [_with_host_ports(each) for each in spec[part]] for part in parts}}


def _with_host_ports(container: Doc) -> Doc:
    if not container.get("ports"):
        return container
    ports = [{**each, "hostPort": each.get("hostPort") or each["containerPort"]} for each in container["ports"]]
    return {**container, "ports": ports}


def _resources(spec: Doc) -> Iterator[Doc]:
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        yield container.get("resources") or {}


def _amounts(given: Doc | None) -> dict[str, int]:
    """Those of cpu and memory that are not zero."""
    found = {}
    for name in ("cpu", "memory"):
        try:
            amount = nanos(str((given or {}).get(name, "0")))
        except InvalidQuantity:
            continue
        if amount > 0:
            found[name] = amount
    return found


def _priority(spec: Doc, store: Store) -> tuple[int, str]:
    """The value and the preemption policy of the pod's class; a given value stays where no class is named."""
    name = spec.get("priorityClassName") or _global_class(spec, store).get("priorityClassName") or ""
    held = store.get(PRIORITY_CLASSES, ("", name)) if name else None
    if held is not None:
        return int(held.doc.get("value") or 0), str(held.doc.get("preemptionPolicy") or "PreemptLowerPriority")
    if name in SYSTEM_PRIORITIES:
        return SYSTEM_PRIORITIES[name], "PreemptLowerPriority"
    if name and store.count(PRIORITY_CLASSES):  # a server has at least two: without any, they were not read
        raise statuses.forbidden(_PODS, "", f"no PriorityClass with name {name} was found")
    return int(spec.get("priority") or 0), "PreemptLowerPriority"


def _global_class(spec: Doc, store: Store) -> Doc:
    """The name of the class for pods that name none: of several default ones that of the lowest value."""
    if spec.get("priorityClassName"):
        return {}
    found = [item for item in store.list(PRIORITY_CLASSES) if item.doc.get("globalDefault")]
    if not found:
        return {}
    return {"priorityClassName": min(found, key=lambda item: int(item.doc.get("value") or 0)).key[1]}


def _added_tolerations(spec: Doc) -> list[Doc]:
    return [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": TOLERATED_S}
        for key in (NOT_READY, UNREACHABLE)
        if not any(
            each.get("key") in (None, "", key) and each.get("effect") in (None, "", "NoExecute")
            for each in spec.get("tolerations") or ()
        )
    ]
