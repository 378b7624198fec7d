"""Arithmetic of the disruption controller: the status of a PodDisruptionBudget from its spec and its pods.

Source: pkg/controller/disruption/disruption.go (trySync, getExpectedPodCount, getExpectedScale, buildDisruptedPodMap,
countHealthyPods, updatePdbStatus, failSafe), Kubernetes v1.36.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.budgets import Budget, BudgetStatus, IntOrPercent
from kubectl_eksdoc.model.nodes import Pod

from .replacement import NoScale, ScaledController, ScaleIndex, ScaleNotRead

DELETION_TIMEOUT = timedelta(minutes=2)
"""How long a pod with a granted eviction counts as unhealthy although its deletion has not been seen."""

SYNC_FAILED = "SyncFailed"
SUFFICIENT_PODS = "SufficientPods"
INSUFFICIENT_PODS = "InsufficientPods"


@frozen
class ComputedStatus:
    """The status the controller would write. Pods without a controller count as healthy, never as expected.

    `disrupted` are the granted evictions whose deletion is still expected; `controllers` are those whose scale was
    added up (none for an absolute minAvailable, which counts pods).
    """

    status: BudgetStatus
    disrupted: Mapping[str, datetime] = field(default_factory=dict)
    controllers: tuple[ScaledController, ...] = ()


@frozen
class SyncFailed:
    """The controller cannot compute the status: it writes allowed 0 and the condition SyncFailed with `error`."""

    error: str


@frozen
class StatusUnknown:
    """The status cannot be computed here, because `missing` (a resource) was not read; the controller may be
    able to."""

    missing: str
    reason: str


BudgetResult = ComputedStatus | SyncFailed | StatusUnknown


def scale_amount(amount: IntOrPercent, total: int, round_up: bool = True) -> int:
    """`amount` of `total` pods, like apimachinery's ``GetScaledValueFromIntOrPercent``.

    The controller rounds up both minAvailable and maxUnavailable.
    """
    if not amount.percent:
        return amount.value
    product = amount.value * total
    return -(-product // 100) if round_up else product // 100


def expected_and_desired(budget: Budget, selected: int, scale: int) -> tuple[int, int]:
    """How many pods the budget expects, and how many of them must be healthy.

    `selected` is the number of pods it selects, including finished and terminating ones; `scale` is the sum over their
    controllers. An absolute minAvailable uses the first, every other rule the second.
    """
    if budget.max_unavailable is not None:
        return scale, max(0, scale - scale_amount(budget.max_unavailable, scale))
    if budget.min_available is None:
        return 0, 0
    if budget.min_available.percent:
        return scale, scale_amount(budget.min_available, scale)
    return selected, budget.min_available.value


def needs_scale(budget: Budget) -> bool:
    """Whether the controller must know the pods' controllers: for maxUnavailable, or a percentage."""
    if budget.max_unavailable is not None:
        return True
    return budget.min_available is not None and budget.min_available.percent


def still_disrupted(budget: Budget, pods: Sequence[Pod], now: datetime) -> dict[str, datetime]:
    """status.disruptedPods after a sync: pods that exist, are not being deleted, and were granted at most 2 minutes
    ago."""
    remaining: dict[str, datetime] = {}
    for pod in pods if budget.disrupted else ():
        granted = budget.disrupted.get(pod.name)
        if granted is not None and not pod.deleting and granted + DELETION_TIMEOUT >= now:
            remaining[pod.name] = granted
    return remaining


class SameNameHold(NamedTuple):
    """Until then a budget counts the pod of this name as evicted, although it is a new pod."""

    pod: str
    until: datetime


def same_name_holds(budget: Budget, pods: Iterable[Pod], now: datetime) -> tuple[SameNameHold, ...]:
    """New pods with the name of a pod whose eviction was granted, created before the controller synced.

    status.disruptedPods has names and no UIDs (buildDisruptedPodMap). Until DeletionTimeout is over, such a pod
    (usually of a StatefulSet) does not count as healthy, even if it is Ready. Only waiting helps.
    """
    holds = []
    for pod in pods if budget.disrupted else ():
        granted = budget.disrupted.get(pod.name)
        if granted is None or pod.namespace != budget.namespace or pod.deleting or pod.created_at is None:
            continue
        if pod.created_at > granted and granted + DELETION_TIMEOUT > now:
            holds.append(SameNameHold(pod.name, granted + DELETION_TIMEOUT))
    return tuple(sorted(holds, key=lambda hold: (hold.until, hold.pod)))


def healthy_count(pods: Sequence[Pod], disrupted: Mapping[str, datetime], now: datetime) -> int:
    """Number of pods that are Ready, not being deleted and without a recently granted eviction; minReadySeconds is not
    used."""
    ready_pods = [pod for pod in pods if pod.ready and pod.deletion_deadline is None]
    return sum(not _is_granted_recently(pod, disrupted, now) for pod in ready_pods) if disrupted else len(ready_pods)


def _is_granted_recently(pod: Pod, disrupted: Mapping[str, datetime], now: datetime) -> bool:
    granted = disrupted.get(pod.name)
    return granted is not None and granted + DELETION_TIMEOUT > now


def disruptions_allowed(expected: int, current: int, desired: int) -> int:
    """Never negative, and 0 for a budget that expects no pods (it allows none until its first sync with some)."""
    return max(0, current - desired) if expected > 0 else 0


def controllers_of(
    pods: Sequence[Pod], scales: ScaleIndex
) -> tuple[ScaledController, ...] | SyncFailed | StatusUnknown:
    """The distinct controllers of `pods`, or the first reason why they are not known."""
    controllers: dict[str, ScaledController] = {}
    looked_up: set[str] = set()
    for pod in pods:
        owner = pod.owner
        if owner is None or owner.uid in looked_up or owner.uid in controllers:
            continue
        looked_up.add(owner.uid)
        scale = scales.find(owner, pod.namespace)
        if scale is None:
            return SyncFailed(f'found no controllers for pod "{pod.name}"')
        if isinstance(scale, NoScale):
            return SyncFailed(scale.error)
        if isinstance(scale, ScaleNotRead):
            return StatusUnknown(scale.missing, scale.reason)
        controllers[scale.uid] = scale
    return tuple(controllers.values())


def recompute(budget: Budget, pods: Sequence[Pod], scales: ScaleIndex, now: datetime) -> BudgetResult:
    """The status the controller would write at `now`. `pods` are those the budget selects, including finished ones."""
    if not budget.selector.valid:
        return SyncFailed("the selector is not valid")
    controllers: tuple[ScaledController, ...] = ()
    if needs_scale(budget):
        found_controllers = controllers_of(pods, scales)
        if not isinstance(found_controllers, tuple):
            return found_controllers
        controllers = found_controllers
    expected, desired = expected_and_desired(budget, len(pods), sum(c.replicas for c in controllers))
    disrupted = still_disrupted(budget, pods, now)
    current = healthy_count(pods, disrupted, now)
    status = BudgetStatus(disruptions_allowed(expected, current, desired), current, desired, expected)
    return ComputedStatus(status, disrupted, controllers)


def allowed_at_full_health(budget: Budget, pods: Sequence[Pod], scales: ScaleIndex) -> int | None:
    """The allowed disruptions if every expected pod were Ready; 0 or less: the budget blocks evictions permanently.

    A negative number says by how many pods the budget demands too much. None if `recompute` is not `ComputedStatus`.
    Finished and terminating pods do not count; missing pods of a controller do.
    """
    if not budget.selector.valid:
        return None
    active_pods = [pod for pod in pods if not pod.finished and not pod.deleting]
    unmanaged = sum(1 for pod in active_pods if pod.owner is None)
    controllers = controllers_of(pods, scales)
    if isinstance(controllers, tuple):
        replicas = sum(c.replicas for c in controllers)
    elif needs_scale(budget):
        return None
    else:
        replicas = len(active_pods) - unmanaged
    if not needs_scale(budget):
        desired = budget.min_available.value if budget.min_available is not None else 0
        return replicas + unmanaged - desired
    expected, desired = expected_and_desired(budget, len(pods), replicas)
    return expected + unmanaged - desired if expected > 0 else 0


def with_result(budget: Budget, result: ComputedStatus | SyncFailed) -> Budget:
    """The budget as the controller writes it after computing `result`."""
    if isinstance(result, SyncFailed):
        return replace(
            budget,
            status=replace(budget.status, allowed=0),
            condition_status="False",
            condition_reason=SYNC_FAILED,
            condition_message=result.error,
        )
    return with_allowed(
        replace(
            budget,
            status=result.status,
            disrupted=dict(result.disrupted),
            observed_generation=budget.generation,
        ),
        result.status.allowed,
    )


def sync(
    budget: Budget | None, pods: Sequence[Pod], scales: ScaleIndex, now: datetime
) -> Budget | StatusUnknown | None:
    """One sync of the controller: the budget as it is written, None if the budget no longer exists."""
    if budget is None:
        return None
    result = recompute(budget, pods, scales, now)
    return result if isinstance(result, StatusUnknown) else with_result(budget, result)


def with_allowed(budget: Budget, allowed: int) -> Budget:
    """The budget with `allowed` disruptions and the matching DisruptionAllowed condition.

    Source: component-helpers/apps/poddisruptionbudget: UpdateDisruptionAllowedCondition.
    """
    is_sufficient = allowed > 0
    return replace(
        budget,
        status=replace(budget.status, allowed=allowed),
        condition_status="True" if is_sufficient else "False",
        condition_reason=SUFFICIENT_PODS if is_sufficient else INSUFFICIENT_PODS,
        condition_message="",
    )


def rounding_note(budget: Budget, expected: int) -> str:
    """``75% of 2 rounds up to 2``, or "" if nothing is rounded."""
    amount = budget.max_unavailable if budget.max_unavailable is not None else budget.min_available
    if amount is None or not amount.percent or amount.value * expected % 100 == 0:
        return ""
    return f"{amount} of {expected} rounds up to {scale_amount(amount, expected)}"


# Parsing of a budget's IntOrString.
#
# Source: staging/src/k8s.io/apimachinery/pkg/util/intstr/intstr.go (GetScaledValueFromIntOrPercent), Kubernetes v1.36.
# The functions above scale and round.


_PERCENT = re.compile(r"([-+]?[0-9]+)%\Z")
_MAX_DIGITS = 64  # digits; longer is no int64, and Python refuses to convert very long text


def parse_int_or_percent(value: int | str) -> IntOrPercent | None:
    """The amount; None for text that is not a percentage, including a bare number such as ``"90"``.

    A sign is accepted here; the validation rejects a negative amount.
    """
    if isinstance(value, int):
        return IntOrPercent(value)
    match = _PERCENT.match(value)
    if match is None or len(match[1]) > _MAX_DIGITS:
        return None
    number = int(match[1])
    return IntOrPercent(number, percent=True) if -(2**63) <= number < 2**63 else None
