"""Disruptions of pods: status of budgets, stale DisruptionTargets, the eviction subresource; and admission of new pods.

Source: pkg/controller/disruption/disruption.go (trySync, getPdbForPod, updatePdbStatus), Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

from kubectl_eksdoc.kubernetes.api import resources as statuses
from kubectl_eksdoc.kubernetes.api.resources import ApiRefusal, terminating
from kubectl_eksdoc.kubernetes.budgets import DELETION_TIMEOUT, StatusUnknown, sync
from kubectl_eksdoc.kubernetes.evictions import (
    BY_EVICTION,
    EVICTING,
    DisruptionTarget,
    EvictionCause,
    EvictionRequest,
    EvictionResponse,
    StoredPod,
    after_sync,
    precondition_conflict,
    reset_in,
    serve_eviction,
)
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, nested_field, with_value
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.quantities import InvalidQuantity, nanos

from .kubelets import no_pod
from .registry import DeleteOptions, FactSource, Registry, put_condition, with_condition
from .scheduling import BudgetIndex, labels_of_change
from .store import (
    BUDGETS,
    NAMESPACES,
    PODS,
    ObjectKey,
    Store,
    StoreChange,
    StoredItem,
    parse_api_time,
    rfc3339,
)


class DisruptionController:
    """A `Controller` whose keys are those of budgets."""

    resources = (PODS, BUDGETS)

    def __init__(
        self, registry: Registry, budget_index: BudgetIndex, misses_deletion: Callable[[Pod], bool] = no_pod
    ) -> None:
        """`misses_deletion`: pods whose deletion it does not see before a pod of the same name exists, because it is
        busy."""
        self._registry = registry
        self._misses_deletion = misses_deletion
        self._missed_pods: set[ObjectKey] = set()  # missed pods, until the next one of that name exists
        self._budget_index = budget_index

    def affected_keys(self, change: StoreChange) -> Iterable[ObjectKey]:
        """Of several budgets of a pod only one is handled, any one (here the first by name); see getPdbForPod."""
        if change.resource == BUDGETS:
            yield change.key
            return
        namespace = change.key[0]
        for labels in labels_of_change(change):
            budgets = self._budget_index.budgets_for(namespace, labels)
            if budgets:
                yield namespace, budgets[0].name

    def unfinished_keys(self, item: StoredItem) -> Iterable[ObjectKey]:
        """Statuses are kept as the real controller left them, stale ones too; only those that wait for something are
        handled."""
        if item.resource == BUDGETS:
            budget = self._budget_index.budget(item.key)
            if budget is not None and (budget.disrupted or budget.observed_generation < budget.generation):
                yield item.key

    def reconcile(self, key: ObjectKey) -> float | None:
        """Write the computed status; again when the oldest granted eviction has waited too long."""
        budget = self._budget_index.budget(key)
        if budget is None:
            return None
        now = self._registry.current_time
        if self._has_missed_deletion(budget):  # the next pod of that name wakes it, too
            oldest = min(budget.disrupted.values())
            return max(0.0, (oldest + DELETION_TIMEOUT - now).total_seconds()) + 1.0
        written = sync(budget, self._budget_index.selected_pods(budget), self._budget_index.scales, now)
        if not isinstance(written, Budget):
            assert not isinstance(written, StatusUnknown), "everything there is, is known here"
            return None
        item = self._registry.get(BUDGETS, key)
        self._registry.update(item, with_status(item.doc, written, now), status=True)
        if not written.disrupted:
            return None
        oldest = min(written.disrupted.values())
        return max(0.0, (oldest + DELETION_TIMEOUT - now).total_seconds()) + 1.0

    def _has_missed_deletion(self, budget: Budget) -> bool:
        """Whether it has missed that a StatefulSet's pod is deleted: its controller creates one of the same name."""
        pods_by_name = {pod.name: pod for pod in self._budget_index.selected_pods(budget)} if budget.disrupted else {}
        now, has_missed = self._registry.current_time, False
        for name, granted in budget.disrupted.items():
            pod, key = pods_by_name.get(name), (budget.namespace, name)
            if pod is not None and pod.deleting and _keeps_its_name(pod) and self._misses_deletion(pod):
                self._missed_pods.add(key)
            elif pod is not None or granted + DELETION_TIMEOUT <= now:
                self._missed_pods.discard(key)
            has_missed = has_missed or key in self._missed_pods
        return has_missed


def _keeps_its_name(pod: Pod) -> bool:
    """Whether the replacement has the same name."""
    return pod.owner is not None and pod.owner.kind == "StatefulSet"


def with_status(doc: Doc, budget: Budget, now: datetime) -> Doc:
    """The budget's document with the status of the fact `budget`; the condition keeps its time while it is
    unchanged."""
    status: Doc = dict(nested_field(doc, "status") or {})
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


TARGET_CONDITION = "DisruptionTarget"


def with_disruption_target(pod: StoredItem, reason: str, message: str, now: str) -> Doc:
    """`pod` with the condition that tells which controller is about to delete it; the time is kept if it was True
    already."""
    return _with_target(pod, _target_true(pod, reason, message, now), with_generation=True)


def with_eviction_target(pod: StoredItem, now: str) -> Doc:
    """`pod` as the eviction endpoint marks it: without observedGeneration."""
    return _with_target(pod, _target_true(pod, BY_EVICTION, EVICTING, now), with_generation=False)


def _target_true(pod: StoredItem, reason: str, message: str, now: str) -> Doc:
    old_condition = pod.condition(TARGET_CONDITION) or {}
    since = old_condition.get("lastTransitionTime", now) if old_condition.get("status") == "True" else now
    return {"status": "True", "lastTransitionTime": since, "reason": reason, "message": message}


class StaleDisruptionTargets:
    """A `Controller` whose keys are those of pods."""

    resources = (PODS,)

    def __init__(self, registry: Registry, facts: FactSource) -> None:
        self._registry = registry
        self._facts = facts

    def affected_keys(self, change: StoreChange) -> Iterable[ObjectKey]:
        if not change.is_deletion and not change.item.deleting and change.item.condition(TARGET_CONDITION):
            yield change.key

    def reconcile(self, key: ObjectKey) -> float | None:
        item = self._registry.find(PODS, key)
        if item is None:
            return None
        pod, target, now = self._facts.pod(item), _target_of(item), self._registry.current_time
        remaining = reset_in(pod, target, now)
        if remaining is None or remaining.total_seconds() > 0:
            return None if remaining is None else remaining.total_seconds()
        new_target = after_sync(pod, target, now)
        assert new_target is not None, "it was held"
        doc = _with_target(
            item, {"status": new_target.status, "lastTransitionTime": rfc3339(now)}, with_generation=True
        )
        self._registry.update(item, doc, status=True)
        return None


def _target_of(pod: StoredItem) -> DisruptionTarget | None:
    condition = pod.condition(TARGET_CONDITION)
    if condition is None:
        return None
    since = condition.get("lastTransitionTime")
    return DisruptionTarget(
        str(condition.get("status")), parse_api_time(since) if since else None, str(condition.get("reason") or "")
    )


def _with_target(pod: StoredItem, new: Doc, *, with_generation: bool) -> Doc:
    """The condition is replaced completely."""
    condition = {"type": TARGET_CONDITION, "lastProbeTime": None, **new}
    if with_generation and pod.generation:
        condition["observedGeneration"] = pod.generation
    return with_value(pod.doc, ("status", "conditions"), put_condition(pod.conditions, condition))


# The eviction subresource on the store: the rule is in `kubernetes.evictions`, its reads and writes are here.
#
# Source: pkg/registry/core/pod/storage/eviction.go, Kubernetes v1.36.


class EvictionEndpoint:
    """Serves evictions in one cluster."""

    def __init__(self, registry: Registry, budget_index: BudgetIndex, facts: FactSource) -> None:
        self._registry = registry
        self._budget_index = budget_index
        self._facts = facts

    def check_namespace(self, namespace: str, pod: str) -> None:
        """The first check, before policies and budgets.

        Raises:
            ApiRefusal: 403, the namespace is being deleted.
        """
        namespace_item = self._registry.find(NAMESPACES, ("", namespace))
        if namespace_item is not None and namespace_item.deleting:
            raise terminating(kinds.PODS, pod, namespace)

    def evict(self, request: EvictionRequest, grace_s: int | None = None) -> EvictionResponse:
        """The endpoint's answer, after its effects.

        Raises:
            ApiRefusal: admission refused it (a namespace that is being deleted).
        """
        self.check_namespace(request.namespace, request.url_name)
        eviction_store = _NamespaceEvictionStore(
            self._registry, self._budget_index, self._facts, request.namespace, grace_s
        )
        return serve_eviction(request, eviction_store, self._registry.current_time)


class _NamespaceEvictionStore:
    """The `EvictionStore` of one request."""

    def __init__(
        self, registry: Registry, budget_index: BudgetIndex, facts: FactSource, namespace: str, grace_s: int | None
    ) -> None:
        self._registry = registry
        self._budget_index = budget_index
        self._facts = facts
        self._namespace = namespace
        self._grace_s = grace_s

    def get(self, name: str) -> StoredPod | None:
        item = self._registry.find(PODS, (self._namespace, name))
        return None if item is None else StoredPod(self._facts.pod(item), str(item.version))

    def guards(self, pod: Pod) -> Sequence[Budget]:
        return self._budget_index.budgets_for(pod.namespace, pod.labels)

    def budget(self, name: str) -> Budget | None:
        return self._budget_index.budget((self._namespace, name))

    def write(self, budget: Budget) -> bool:
        item = self._registry.find(BUDGETS, (self._namespace, budget.name))
        if item is None:
            return False
        written = with_status(item.doc, budget, self._registry.current_time)
        self._registry.update(item, written, status=True)
        return True

    def delete(
        self, name: str, uid: str | None, resource_version: str | None, dry_run: bool
    ) -> EvictionResponse | None:
        item = self._registry.find(PODS, (self._namespace, name))
        if item is None:
            return EvictionResponse(404, EvictionCause.REQUEST, "NotFound", f'pods "{name}" not found')
        refusal_answer = precondition_conflict(
            StoredPod(self._facts.pod(item), str(item.version)), uid, resource_version
        )
        if refusal_answer is not None:
            return refusal_answer
        if not dry_run:
            item = self._registry.update(item, with_eviction_target(item, self._registry.timestamp), status=True)
        try:
            self._registry.delete(item, DeleteOptions(self._grace_s, uid, dry_run=dry_run))
        except ApiRefusal as refusal:
            status = refusal.status
            return EvictionResponse(status.code, EvictionCause.REQUEST, status.reason, status.message)
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
TOLERATION_SECONDS = 300


def with_admission_defaults(spec: Doc, store: Store) -> Doc:
    """A pod's `spec`, which has its defaults, as the server would store it.

    Raises:
        ApiRefusal: 403, its priority class does not exist.
    """
    account = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    priority, preemption = _priority(spec, store)
    return {
        **_with_host_network_ports(spec),
        "serviceAccount": account,
        "serviceAccountName": account,
        "priority": priority,
        "preemptionPolicy": spec.get("preemptionPolicy") or preemption,
        "tolerations": [*(spec.get("tolerations") or ()), *_added_tolerations(spec)],
        **_default_priority_class(spec, store),
    }


def initial_status(spec: Doc) -> Doc:
    """The status of a new pod with that spec."""
    return {"phase": "Pending", "qosClass": qos_class(spec)}


def qos_class(spec: Doc) -> str:
    """Guaranteed, Burstable or BestEffort."""
    pod_resources = spec.get("resources") or {}
    parts = (
        [pod_resources]
        if pod_resources.get("requests") or pod_resources.get("limits")
        else list(_container_resources(spec))
    )
    is_guaranteed, has_amounts = True, False
    for part in parts:
        requests, limits = _positive_amounts(part.get("requests")), _positive_amounts(part.get("limits"))
        has_amounts = has_amounts or bool(requests or limits)
        is_guaranteed = (
            is_guaranteed
            and len(limits) == 2
            and all(requests.get(name, amount) == amount for name, amount in limits.items())
        )
    if not has_amounts:
        return "BestEffort"
    return "Guaranteed" if is_guaranteed else "Burstable"


def _with_host_network_ports(spec: Doc) -> Doc:
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


def _container_resources(spec: Doc) -> Iterator[Doc]:
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        yield container.get("resources") or {}


def _positive_amounts(amounts: Doc | None) -> dict[str, int]:
    """The amounts of cpu and memory that are not zero."""
    positive = {}
    for name in ("cpu", "memory"):
        try:
            amount = nanos(str((amounts or {}).get(name, "0")))
        except InvalidQuantity:
            continue
        if amount > 0:
            positive[name] = amount
    return positive


def _priority(spec: Doc, store: Store) -> tuple[int, str]:
    """The value and the preemption policy of the pod's class; without a class a given value is kept."""
    name = spec.get("priorityClassName") or _default_priority_class(spec, store).get("priorityClassName") or ""
    priority_class = store.get(PRIORITY_CLASSES, ("", name)) if name else None
    if priority_class is not None:
        return int(priority_class.doc.get("value") or 0), str(
            priority_class.doc.get("preemptionPolicy") or "PreemptLowerPriority"
        )
    if name in SYSTEM_PRIORITIES:
        return SYSTEM_PRIORITIES[name], "PreemptLowerPriority"
    if name and store.count(PRIORITY_CLASSES):  # a server has at least two: if there are none, they were not read
        raise statuses.forbidden(kinds.PODS, "", f"no PriorityClass with name {name} was found")
    return int(spec.get("priority") or 0), "PreemptLowerPriority"


def _default_priority_class(spec: Doc, store: Store) -> Doc:
    """The class of pods that name none: of several default classes the one with the lowest value."""
    if spec.get("priorityClassName"):
        return {}
    defaults = [item for item in store.list(PRIORITY_CLASSES) if item.doc.get("globalDefault")]
    if not defaults:
        return {}
    return {"priorityClassName": min(defaults, key=lambda item: int(item.doc.get("value") or 0)).key[1]}


def _added_tolerations(spec: Doc) -> list[Doc]:
    return [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": TOLERATION_SECONDS}
        for key in (NOT_READY, UNREACHABLE)
        if not any(
            each.get("key") in (None, "", key) and each.get("effect") in (None, "", "NoExecute")
            for each in spec.get("tolerations") or ()
        )
    ]
