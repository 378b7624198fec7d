"""Disruptions of pods: status of budgets, stale DisruptionTargets, the eviction subresource; and admission of new pods.

Source: pkg/controller/disruption/disruption.go (trySync, getPdbForPod, updatePdbStatus), Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

from kubectl_eksdoc.kubernetes.api import resources as statuses
from kubectl_eksdoc.kubernetes.api.resources import ApiRefusal, terminating
from kubectl_eksdoc.kubernetes.budgets import DELETION_TIMEOUT, CannotTell, sync
from kubectl_eksdoc.kubernetes.evictions import (
    BY_EVICTION,
    EVICTING,
    DisruptionTarget,
    EvictionAnswer,
    EvictionCause,
    EvictionRequest,
    Stored,
    after_sync,
    conflict,
    serve,
    stale_in,
)
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, at, with_value
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.quantities import InvalidQuantity, nanos

from .kubelets import none_is
from .registry import DeleteOptions, FactSource, Registry, put, with_condition
from .scheduling import NodeRoster, labels_in
from .store import (
    BUDGETS,
    NAMESPACES,
    PODS,
    Key,
    Store,
    StoreChange,
    StoredItem,
    moment,
    rfc3339,
)


class DisruptionController:
    """A `Controller` whose keys are those of budgets."""

    resources = (PODS, BUDGETS)

    def __init__(self, registry: Registry, roster: NodeRoster, missed: Callable[[Pod], bool] = none_is) -> None:
        """`misses_deletion`: pods whose deletion it does not see before a pod of the same name exists, because it is
        busy."""
        self._registry = registry
        self._missed = missed
        self._awaited: set[Key] = set()  # missed pods, until the next one of that name exists
        self._roster = roster

    def touched(self, change: StoreChange) -> Iterable[Key]:
        """Of several budgets of a pod only one is handled, any one (here the first by name); see getPdbForPod."""
        if change.resource == BUDGETS:
            yield change.key
            return
        namespace = change.key[0]
        for labels in labels_in(change):
            guards = self._roster.guards(namespace, labels)
            if guards:
                yield namespace, guards[0].name

    def unfinished(self, item: StoredItem) -> Iterable[Key]:
        """Statuses are kept as the real controller left them, stale ones too; only those that wait for something are
        handled."""
        if item.resource == BUDGETS:
            budget = self._roster.budget(item.key)
            if budget is not None and (budget.disrupted or budget.observed_generation < budget.generation):
                yield item.key

    def reconcile(self, key: Key) -> float | None:
        """Write the computed status; again when the oldest granted eviction has waited too long."""
        budget = self._roster.budget(key)
        if budget is None:
            return None
        now = self._registry.time
        if self._is_busy(budget):  # the next pod of that name wakes it, too
            first = min(budget.disrupted.values())
            return max(0.0, (first + DELETION_TIMEOUT - now).total_seconds()) + 1.0
        written = sync(budget, self._roster.selected(budget), self._roster.scales, now)
        if not isinstance(written, Budget):
            assert not isinstance(written, CannotTell), "everything there is, is known here"
            return None
        item = self._registry.get(BUDGETS, key)
        self._registry.update(item, with_status(item.doc, written, now), status=True)
        if not written.disrupted:
            return None
        first = min(written.disrupted.values())
        return max(0.0, (first + DELETION_TIMEOUT - now).total_seconds()) + 1.0

    def _is_busy(self, budget: Budget) -> bool:
        """Whether it has missed that a StatefulSet's pod is deleted: its controller creates one of the same name."""
        there = {pod.name: pod for pod in self._roster.selected(budget)} if budget.disrupted else {}
        now, busy = self._registry.time, False
        for name, granted in budget.disrupted.items():
            pod, key = there.get(name), (budget.namespace, name)
            if pod is not None and pod.deleting and _comes_back(pod) and self._missed(pod):
                self._awaited.add(key)
            elif pod is not None or granted + DELETION_TIMEOUT <= now:
                self._awaited.discard(key)
            busy = busy or key in self._awaited
        return busy


def _comes_back(pod: Pod) -> bool:
    """Whether the replacement has the same name."""
    return pod.owner is not None and pod.owner.kind == "StatefulSet"


def with_status(doc: Doc, budget: Budget, now: datetime) -> Doc:
    """The budget's document with the status of the fact `budget`; the condition keeps its time while it is
    unchanged."""
    status: Doc = dict(at(doc, "status") or {})
    status["disruptionsAllowed"] = budget.status.allowed
    status["currentHealthy"] = budget.status.current
    status["desiredHealthy"] = budget.status.desired
    status["expectedPods"] = budget.status.expected
    if budget.observed_generation:
        status["observedGeneration"] = budget.observed_generation
    status.pop("disruptedPods", None)
    if budget.disrupted:
        status["disruptedPods"] = {name: rfc3339(since) for name, since in sorted(budget.disrupted.items())}
    if budget.condition_status:
        status["conditions"] = with_condition(
            status.get("conditions") or [],
            {
                "type": "DisruptionAllowed",
                "status": budget.condition_status,
                "reason": budget.condition_reason,
                "message": budget.condition_message,
                **({"observedGeneration": budget.observed_generation} if budget.observed_generation else {}),
            },
            rfc3339(now),
        )
    return with_value(doc, ("status",), status)


# The DisruptionTarget condition in pods' documents, and the part of the disruption controller that resets it on pods
# that were not deleted.
#
# Source: pkg/controller/disruption/disruption.go (syncStalePodDisruption), pkg/api/v1/pod/util.go (UpdatePodCondition),
# Kubernetes v1.36.


TARGET = "DisruptionTarget"


def disrupted(pod: StoredItem, reason: str, message: str, now: str) -> Doc:
    """`pod` with the condition that tells which controller is about to delete it; the time is kept if it was True
    already."""
    return _with_target(pod, _true(pod, reason, message, now), counted=True)


def evicted(pod: StoredItem, now: str) -> Doc:
    """`pod` as the eviction endpoint marks it: without observedGeneration."""
    return _with_target(pod, _true(pod, BY_EVICTION, EVICTING, now), counted=False)


def _true(pod: StoredItem, reason: str, message: str, now: str) -> Doc:
    held = pod.condition(TARGET) or {}
    since = held.get("lastTransitionTime", now) if held.get("status") == "True" else now
    return {"status": "True", "lastTransitionTime": since, "reason": reason, "message": message}


class StaleTargets:
    """A `Controller` whose keys are those of pods."""

    resources = (PODS,)

    def __init__(self, registry: Registry, facts: FactSource) -> None:
        self._registry = registry
        self._facts = facts

    def touched(self, change: StoreChange) -> Iterable[Key]:
        if not change.gone and not change.item.leaving and change.item.condition(TARGET):
            yield change.key

    def reconcile(self, key: Key) -> float | None:
        item = self._registry.find(PODS, key)
        if item is None:
            return None
        pod, held, now = self._facts.pod(item), _held(item), self._registry.time
        left = stale_in(pod, held, now)
        if left is None or left.total_seconds() > 0:
            return None if left is None else left.total_seconds()
        taken = after_sync(pod, held, now)
        assert taken is not None, "it was held"
        doc = _with_target(item, {"status": taken.status, "lastTransitionTime": rfc3339(now)}, counted=True)
        self._registry.update(item, doc, status=True)
        return None


def _held(pod: StoredItem) -> DisruptionTarget | None:
    held = pod.condition(TARGET)
    if held is None:
        return None
    since = held.get("lastTransitionTime")
    return DisruptionTarget(str(held.get("status")), moment(since) if since else None, str(held.get("reason") or ""))


def _with_target(pod: StoredItem, new: Doc, *, counted: bool) -> Doc:
    """The condition is replaced completely."""
    made = {"type": TARGET, "lastProbeTime": None, **new}
    if counted and pod.generation:
        made["observedGeneration"] = pod.generation
    return with_value(pod.doc, ("status", "conditions"), put(pod.conditions, made))


# The eviction subresource on the store: the rule is in `kubernetes.evictions`, its reads and writes are here.
#
# Source: pkg/registry/core/pod/storage/eviction.go, Kubernetes v1.36.


class Evictions:
    """Serves evictions in one cluster."""

    def __init__(self, registry: Registry, roster: NodeRoster, facts: FactSource) -> None:
        self._registry = registry
        self._roster = roster
        self._facts = facts

    def check_namespace(self, namespace: str, pod: str) -> None:
        """The first check, before policies and budgets.

        Raises:
            ApiRefusal: 403, the namespace is being deleted.
        """
        held = self._registry.find(NAMESPACES, ("", namespace))
        if held is not None and held.leaving:
            raise terminating(kinds.PODS, pod, namespace)

    def evict(self, request: EvictionRequest, grace_s: int | None = None) -> EvictionAnswer:
        """The endpoint's answer, after its effects.

        Raises:
            ApiRefusal: admission refused it (a namespace that is being deleted).
        """
        self.check_namespace(request.namespace, request.url_name)
        within = _Within(self._registry, self._roster, self._facts, request.namespace, grace_s)
        return serve(request, within, self._registry.time)


class _Within:
    """The `EvictionStore` of one request."""

    def __init__(
        self, registry: Registry, roster: NodeRoster, facts: FactSource, namespace: str, grace_s: int | None
    ) -> None:
        self._registry = registry
        self._roster = roster
        self._facts = facts
        self._namespace = namespace
        self._grace_s = grace_s

    def get(self, name: str) -> Stored | None:
        item = self._registry.find(PODS, (self._namespace, name))
        return None if item is None else Stored(self._facts.pod(item), str(item.version))

    def guards(self, pod: Pod) -> Sequence[Budget]:
        return self._roster.guards(pod.namespace, pod.labels)

    def budget(self, name: str) -> Budget | None:
        return self._roster.budget((self._namespace, name))

    def write(self, budget: Budget) -> bool:
        item = self._registry.find(BUDGETS, (self._namespace, budget.name))
        if item is None:
            return False
        written = with_status(item.doc, budget, self._registry.time)
        self._registry.update(item, written, status=True)
        return True

    def delete(self, name: str, uid: str | None, resource_version: str | None, dry_run: bool) -> EvictionAnswer | None:
        item = self._registry.find(PODS, (self._namespace, name))
        if item is None:
            return EvictionAnswer(404, EvictionCause.REQUEST, "NotFound", f'pods "{name}" not found')
        refused = conflict(Stored(self._facts.pod(item), str(item.version)), uid, resource_version)
        if refused is not None:
            return refused
        if not dry_run:
            item = self._registry.update(item, evicted(item, self._registry.now), status=True)
        try:
            self._registry.delete(item, DeleteOptions(self._grace_s, uid, dry_run=dry_run))
        except ApiRefusal as refusal:
            said = refusal.status
            return EvictionAnswer(said.code, EvictionCause.REQUEST, said.reason, said.message)
        return None


# Admission of a new pod: service account, priority, tolerations; and its QoS class.
#
# Source: pkg/apis/core/v1/defaults.go (defaultHostNetworkPorts), plugin/pkg/admission/{serviceaccount,priority,
# defaulttolerationseconds}/admission.go, pkg/apis/core/v1/helper/qos/qos.go (ComputePodQOS), Kubernetes v1.36. The
# volume with the service account's token is left out: nothing here reads it.


PRIORITY_CLASSES = kinds.PRIORITY_CLASSES.full_name

SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""The classes that every API server creates (pkg/apis/scheduling/v1/helpers.go)."""

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
TOLERATED_S = 300


def admitted(spec: Doc, store: Store) -> Doc:
    """A pod's `spec`, which has its defaults, as the server would store it.

    Raises:
        ApiRefusal: 403, its priority class does not exist.
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
    """The status of a new pod with that spec."""
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
    """On the host's network a container's port is a port of the host."""
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
    """The amounts of cpu and memory that are not zero."""
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
    """The value and the preemption policy of the pod's class; without a class a given value is kept."""
    name = spec.get("priorityClassName") or _global_class(spec, store).get("priorityClassName") or ""
    held = store.get(PRIORITY_CLASSES, ("", name)) if name else None
    if held is not None:
        return int(held.doc.get("value") or 0), str(held.doc.get("preemptionPolicy") or "PreemptLowerPriority")
    if name in SYSTEM_PRIORITIES:
        return SYSTEM_PRIORITIES[name], "PreemptLowerPriority"
    if name and store.count(PRIORITY_CLASSES):  # a server has at least two: if there are none, they were not read
        raise statuses.forbidden(kinds.PODS, "", f"no PriorityClass with name {name} was found")
    return int(spec.get("priority") or 0), "PreemptLowerPriority"


def _global_class(spec: Doc, store: Store) -> Doc:
    """The class of pods that name none: of several default classes the one with the lowest value."""
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
