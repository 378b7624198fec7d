"""Which specs of a PodDisruptionBudget the API server accepts, and what it says of the others.

Source: pkg/apis/policy/validation/validation.go (ValidatePodDisruptionBudgetSpec),
pkg/apis/apps/validation/validation.go (ValidatePositiveIntOrPercent, IsNotMoreThan100Percent), Kubernetes v1.36.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kubectl_eksdoc.core.model.budgets import ALWAYS_ALLOW, IF_HEALTHY
from kubectl_eksdoc.core.model.selectors import EVERYTHING, Selector

INVALID = "FieldValueInvalid"
NOT_SUPPORTED = "FieldValueNotSupported"

BOTH_SET = "minAvailable and maxUnavailable cannot be both set"
NEGATIVE = "must be greater than or equal to 0"
OVER_100_PERCENT = "must not be greater than 100%"
NOT_A_PERCENTAGE = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
SUPPORTED_POLICIES = f'supported values: "{ALWAYS_ALLOW}", "{IF_HEALTHY}"'
BAD_SELECTOR = "is not a label selector"  # our words: the server names the part of it that is wrong

_PERCENT = re.compile(r"0*([0-9]+)%\Z")


@dataclass(frozen=True, slots=True)
class BudgetSpec:
    """A spec as somebody wrote it, before anybody judged it; None is a field that is absent."""

    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    unhealthy_policy: str | None = None
    selector: Selector | None = EVERYTHING


@dataclass(frozen=True, slots=True)
class FieldError:
    """One cause of a 422: `field` is a path such as ``spec.minAvailable``, `value` what was found there.

    `reason` and `detail` are the server's; its message puts the value, as JSON, before the detail.
    """

    field: str
    value: int | str | BudgetSpec | Selector
    detail: str
    reason: str = INVALID


def problems(spec: BudgetSpec) -> tuple[FieldError, ...]:
    """Everything the server has against `spec` when it is created, in its order; () accepts it.

    A spec with neither minAvailable nor maxUnavailable is accepted, and so is one without a selector.
    """
    found: list[FieldError] = []
    if spec.min_available is not None and spec.max_unavailable is not None:
        found.append(FieldError("spec", spec, BOTH_SET))
    for name, amount in (("minAvailable", spec.min_available), ("maxUnavailable", spec.max_unavailable)):
        detail = "" if amount is None else _against(amount)
        if amount is not None and detail:
            found.append(FieldError(f"spec.{name}", amount, detail))
    if spec.selector is not None and not spec.selector.valid:
        found.append(FieldError("spec.selector", spec.selector, BAD_SELECTOR))
    policy = spec.unhealthy_policy
    if policy is not None and policy not in (ALWAYS_ALLOW, IF_HEALTHY):
        found.append(FieldError("spec.unhealthyPodEvictionPolicy", policy, SUPPORTED_POLICIES, NOT_SUPPORTED))
    return tuple(found)


def _against(amount: int | str) -> str:
    """What is wrong with one amount, "" for nothing; a whole number has no upper bound."""
    if isinstance(amount, int):
        return NEGATIVE if amount < 0 else ""
    match = _PERCENT.match(amount)
    if match is None:
        return NOT_A_PERCENTAGE
    digits = match[1]
    return OVER_100_PERCENT if len(digits) > 3 or int(digits) > 100 else ""
