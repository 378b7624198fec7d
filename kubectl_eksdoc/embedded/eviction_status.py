"""The eviction endpoint's answer as the Status that a client gets.

Source: pkg/registry/core/pod/storage/eviction.go; the details as a 1.36 server answered them (tests/embedded/contract).
"""

from __future__ import annotations

from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus, Details, StatusCause
from kubectl_eksdoc.kubernetes.evictions import EvictionAnswer, EvictionCause


def status_of(given: EvictionAnswer, pod: str) -> ApiStatus:
    """`pod` is its name."""
    if given.ok:
        return ApiStatus(given.code)
    return ApiStatus(given.code, given.reason, given.message, _details(given, pod))


def _details(given: EvictionAnswer, pod: str) -> Details | None:
    if given.code == 429:
        return Details(causes=(StatusCause("DisruptionBudget", given.cause),), retry_after_s=given.retry_after)
    if given.reason == "NotFound":
        return Details(pod, "", "pods")
    if given.reason == "Conflict" and given.why is EvictionCause.REQUEST:
        return Details(pod, "", "Pod")
    if given.budget is not None and given.reason == "Forbidden":
        return Details(given.budget.name, "policy", "poddisruptionbudget")
    return None
