"""The eviction endpoint as a pure function: what the API server answers and does.

Source: pkg/registry/core/pod/storage/eviction.go (EvictionREST.Create, canIgnorePDB, checkAndDecrement),
Kubernetes v1.36. What belongs to the request (names, preconditions, conflicts) is in `eviction_requests`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum

from kubectl_eksdoc.core.model.budgets import Budget
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.rules.budgets import SYNC_FAILED, with_allowed

MAX_DISRUPTED = 2000
"""MaxDisruptedPodSize: more granted evictions the controller has not seen, and none is granted."""

PROCESSING_RETRY_SECONDS = 10

_NOT_ASKED = frozenset({"Pending", "Succeeded", "Failed"})
"""The phases of pods that are evicted whatever budgets say."""

WOULD_VIOLATE = "Cannot evict pod as it would violate the pod's disruption budget."
SEVERAL_BUDGETS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


class Why(str, Enum):
    """What decided. `PASSES`: no refusal stands behind it."""

    NOT_GUARDED = "not-guarded"  # no budget selects the pod
    PHASE = "phase"  # Pending, Succeeded, Failed: budgets are not read
    DELETING = "deleting"  # already being deleted: budgets are not read
    UNHEALTHY_ALLOWED = "unhealthy-allowed"  # not Ready, and the budget's policy lets it go uncounted
    COUNTED = "counted"  # the budget allows it and is decremented
    SEVERAL_BUDGETS = "several-budgets"
    STALE = "stale"  # the status is behind the spec
    NEGATIVE = "negative"
    TOO_MANY_DISRUPTED = "too-many-disrupted"
    SYNC_FAILED = "sync-failed"
    EXHAUSTED = "exhausted"
    REQUEST = "request"  # the request or the pod's state, not a budget


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of the endpoint and its effect.

    `code` is the HTTP status; `reason`, `message` are those of the Status; `cause` is the message of its
    DisruptionBudget cause ("" without one); `retry_after` seconds, 0 where the header is missing.
    `deletes`: the pod is deleted (unless this is a dry run). `budget` is the one that was judged, `after`
    the same as written back, None when it is not written. `checks_version`: the server itself makes the
    deletion conditional on the pod's resourceVersion.
    """

    code: int
    why: Why
    reason: str = ""
    message: str = ""
    cause: str = ""
    retry_after: int = 0
    deletes: bool = False
    budget: Budget | None = None
    after: Budget | None = None
    checks_version: bool = False

    @property
    def ok(self) -> bool:
        return 200 <= self.code < 300


def evict(pod: Pod, guards: Sequence[Budget], now: datetime, *, dry_run: bool = False) -> Answer:
    """The answer to an eviction of `pod`, all budgets that select it being `guards`.

    A dry run is judged alike and writes nothing: any number of them succeeds while one is allowed.
    """
    if pod.deleting:
        return _granted(Why.DELETING)
    if pod.finished:
        return _granted(Why.PHASE)
    if pod.phase == "Pending":
        return _granted(Why.PHASE, checks_version=True)
    if not guards:
        return _granted(Why.NOT_GUARDED)
    if len(guards) > 1:
        return Answer(500, Why.SEVERAL_BUDGETS, "", SEVERAL_BUDGETS)
    budget = guards[0]
    if not pod.ready and lets_unhealthy_go(budget):
        return _granted(Why.UNHEALTHY_ALLOWED, budget=budget, checks_version=True)
    refusal = refused_by(budget)
    if refusal is not None:
        return refusal
    after = None if dry_run else decremented(budget, pod.name, now)
    return _granted(Why.COUNTED, budget=budget, after=after)


def lets_unhealthy_go(budget: Budget) -> bool:
    """Whether a pod that is not Ready goes without being counted (unhealthyPodEvictionPolicy)."""
    if budget.always_allows_unhealthy:
        return True
    return budget.status.current >= budget.status.desired > 0


def uses_up(pod: Pod, budget: Budget) -> bool:
    """Whether an eviction of `pod`, which `budget` alone selects, must be allowed by it and is counted."""
    if pod.phase in _NOT_ASKED or pod.deletion_deadline is not None:
        return False
    return pod.ready or not lets_unhealthy_go(budget)


def refused_by(budget: Budget) -> Answer | None:
    """The refusal with which this budget meets an eviction that it must count; None when it allows one."""
    if budget.observed_generation < budget.generation:
        return still_processing(budget)
    if budget.status.allowed < 0:
        return _forbidden(budget, Why.NEGATIVE, "pdb disruptions allowed is negative")
    if len(budget.disrupted) > MAX_DISRUPTED:
        text = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        return _forbidden(budget, Why.TOO_MANY_DISRUPTED, text)
    if budget.status.allowed == 0:
        why = Why.SYNC_FAILED if _sync_failed(budget) else Why.EXHAUSTED
        return Answer(429, why, "TooManyRequests", WOULD_VIOLATE, _exhausted(budget), budget=budget)
    return None


def still_processing(budget: Budget) -> Answer:
    """The status is behind the spec, or the pod changed while the server looked at it."""
    cause = f"The disruption budget {budget.name} is still being processed by the server."
    return Answer(
        429, Why.STALE, "TooManyRequests", WOULD_VIOLATE, cause, retry_after=PROCESSING_RETRY_SECONDS, budget=budget
    )


def decremented(budget: Budget, pod_name: str, now: datetime) -> Budget:
    """The budget after it granted one eviction; the condition is touched only when nothing is left."""
    left = budget.status.allowed - 1
    taken = with_allowed(budget, left) if left == 0 else replace(budget, status=replace(budget.status, allowed=left))
    return replace(taken, disrupted={**budget.disrupted, pod_name: now})


def _granted(
    why: Why, *, budget: Budget | None = None, after: Budget | None = None, checks_version: bool = False
) -> Answer:
    return Answer(201, why, deletes=True, budget=budget, after=after, checks_version=checks_version)


def _sync_failed(budget: Budget) -> bool:
    return budget.condition_status == "False" and budget.condition_reason == SYNC_FAILED


def _exhausted(budget: Budget) -> str:
    """The cause's message; which of the four it is, in the server's order."""
    name, status = budget.name, budget.status
    plain = f"The disruption budget {name} does not allow evicting pods currently"
    if _sync_failed(budget):
        return f"{plain} because it failed sync: {budget.condition_message}"
    if status.current <= status.desired:
        return f"The disruption budget {name} needs {status.desired} healthy pods and has {status.current} currently"
    if budget.condition_status == "False" and budget.condition_message:
        return f"{plain} ({budget.condition_reason}): {budget.condition_message}"
    return plain


def _forbidden(budget: Budget, why: Why, text: str) -> Answer:
    message = f'poddisruptionbudget.policy "{budget.name}" is forbidden: {text}'
    return Answer(403, why, "Forbidden", message, budget=budget)
