"""PodDisruptionBudgets: what they ask for, and the numbers the disruption controller wrote."""

from __future__ import annotations

from kubectl_eksdoc.model.budgets import Budget, BudgetStatus
from kubectl_eksdoc.objects.sharing import SharedTexts
from kubectl_eksdoc.objects.structs import (
    Condition,
    LabelSelector,
    Lean,
    Meta,
    Object,
    Time,
    amount,
    condition,
    selector,
)


class BudgetMeta(Meta):
    generation: int | None = None


class _BudgetSpec(Lean):
    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    unhealthy_pod_eviction_policy: str | None = None


class BudgetState(Lean):
    conditions: list[Condition] | None = None
    current_healthy: int | None = None
    desired_healthy: int | None = None
    disruptions_allowed: int | None = None
    expected_pods: int | None = None
    observed_generation: int | None = None
    disrupted_pods: dict[str, Time] | None = None


class BudgetObject(Object):
    metadata: BudgetMeta | None = None
    spec: _BudgetSpec | None = None
    status: BudgetState | None = None


def budget(given: BudgetObject, share: SharedTexts) -> Budget:
    """The fact. No selector matches nothing, ``{}`` everything (policy/v1).

    Raises:
        RawError: minAvailable or maxUnavailable is neither a number nor a percentage.
    """
    meta, spec, state = given.metadata or BudgetMeta(), given.spec or _BudgetSpec(), given.status or BudgetState()
    allowed = condition(state.conditions, "DisruptionAllowed") or Condition()
    text = share.text
    return Budget(
        namespace=text(meta.namespace),
        name=text(meta.name),
        uid=meta.uid or "",
        selector=selector(spec.selector),
        status=BudgetStatus(
            allowed=state.disruptions_allowed or 0,
            current=state.current_healthy or 0,
            desired=state.desired_healthy or 0,
            expected=state.expected_pods or 0,
        ),
        min_available=amount(spec.min_available, "$.spec.minAvailable"),
        max_unavailable=amount(spec.max_unavailable, "$.spec.maxUnavailable"),
        unhealthy_policy=text(spec.unhealthy_pod_eviction_policy),
        generation=meta.generation or 0,
        observed_generation=state.observed_generation or 0,
        condition_status=text(allowed.status),
        condition_reason=text(allowed.reason),
        condition_message=text(allowed.message),
        condition_since=allowed.last_transition_time,
        disrupted=state.disrupted_pods or {},
    )
