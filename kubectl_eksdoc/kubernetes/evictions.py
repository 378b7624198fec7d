"""Eviction of a pod: the answers of the eviction API, the DisruptionTarget condition, rejection by a kubelet, preStop
hooks.

Source: pkg/registry/core/pod/storage/eviction.go (EvictionREST.Create, canIgnorePDB, checkAndDecrement), Kubernetes
v1.36. Who sets the DisruptionTarget condition, and when the disruption controller resets it:
pkg/controller/disruption/disruption.go (nonTerminatingPodHasStaleDisruptionCondition, syncStalePodDisruption),
pkg/registry/core/pod/storage/eviction.go (addConditionAndDeletePod). The condition does not affect evictions: a budget
counts its pods by readiness and `status.disruptedPods`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Protocol

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import nested_field
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.nodes import Node, Pod
from kubectl_eksdoc.model.placement import CPU, MEMORY, PODS

from .budgets import SYNC_FAILED, with_allowed

MAX_DISRUPTED = 2000
"""MaxDisruptedPodSize: with more granted evictions that the controller has not seen, no further eviction is granted."""

PROCESSING_RETRY_SECONDS = 10

_UNBUDGETED_PHASES = frozenset({"Pending", "Succeeded", "Failed"})
"""Phases of pods that are evicted regardless of budgets."""

WOULD_VIOLATE = "Cannot evict pod as it would violate the pod's disruption budget."
SEVERAL_BUDGETS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


class EvictionCause(str, Enum):
    """What decided the answer."""

    NOT_GUARDED = "not-guarded"  # no budget selects the pod
    PHASE = "phase"  # Pending, Succeeded, Failed: budgets are not read
    DELETING = "deleting"  # already being deleted: budgets are not read
    UNHEALTHY_ALLOWED = (
        "unhealthy-allowed"  # not Ready, and the budget's policy allows the eviction without counting it
    )
    COUNTED = "counted"  # the budget allows it and is decremented
    SEVERAL_BUDGETS = "several-budgets"
    STALE = "stale"  # the status is behind the spec
    NEGATIVE = "negative"
    TOO_MANY_DISRUPTED = "too-many-disrupted"
    SYNC_FAILED = "sync-failed"
    EXHAUSTED = "exhausted"
    REQUEST = "request"  # the request or the pod's state, not a budget


@frozen
class EvictionResponse:
    """An answer of the eviction API and its effect.

    `code` is the HTTP status; `reason` and `message` are those of the Status; `cause` is the message of its
    DisruptionBudget cause ("" without one); `retry_after` in seconds, 0 without the header. `eviction_cause` says what
    decided. `budget` is the budget that was checked, `updated_budget` the same as it is written back, None if it is not
    written. `checks_version`: the server itself makes the deletion conditional on the pod's resourceVersion.
    """

    code: int
    eviction_cause: EvictionCause
    reason: str = ""
    message: str = ""
    cause: str = ""
    retry_after: int = 0
    budget: Budget | None = None
    updated_budget: Budget | None = None
    checks_version: bool = False

    @property
    def ok(self) -> bool:
        return 200 <= self.code < 300


def evict(pod: Pod, budgets: Sequence[Budget], now: datetime, *, dry_run: bool = False) -> EvictionResponse:
    """The answer to an eviction of `pod`; `budgets` are all budgets that select it.

    A dry run gets the same answer and writes nothing: any number of dry runs succeeds while one eviction is allowed.
    """
    if pod.deleting:
        return _granted(EvictionCause.DELETING)
    if pod.finished:
        return _granted(EvictionCause.PHASE)
    if pod.phase == "Pending":
        return _granted(EvictionCause.PHASE, checks_version=True)
    if not budgets:
        return _granted(EvictionCause.NOT_GUARDED)
    if len(budgets) > 1:
        return EvictionResponse(500, EvictionCause.SEVERAL_BUDGETS, "", SEVERAL_BUDGETS)
    budget = budgets[0]
    if not pod.ready and allows_unhealthy_eviction(budget):
        return _granted(EvictionCause.UNHEALTHY_ALLOWED, budget=budget, checks_version=True)
    refusal = budget_refusal(budget)
    if refusal is not None:
        return refusal
    after = None if dry_run else after_eviction(budget, pod.name, now)
    return _granted(EvictionCause.COUNTED, budget=budget, after=after)


def allows_unhealthy_eviction(budget: Budget) -> bool:
    """Whether a pod that is not Ready is evicted without being counted (unhealthyPodEvictionPolicy)."""
    if budget.always_allows_unhealthy:
        return True
    return budget.status.current >= budget.status.desired > 0


def needs_budget(pod: Pod, budget: Budget) -> bool:
    """Whether an eviction of `pod`, which only `budget` selects, must be allowed by the budget and is counted."""
    if pod.phase in _UNBUDGETED_PHASES or pod.deletion_deadline is not None:
        return False
    return pod.ready or not allows_unhealthy_eviction(budget)


def budget_refusal(budget: Budget) -> EvictionResponse | None:
    """The refusal by this budget of an eviction that it must count; None if it allows one."""
    if budget.observed_generation < budget.generation:
        return still_processing(budget)
    if budget.status.allowed < 0:
        return _forbidden(budget, EvictionCause.NEGATIVE, "pdb disruptions allowed is negative")
    if len(budget.disrupted) > MAX_DISRUPTED:
        text = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        return _forbidden(budget, EvictionCause.TOO_MANY_DISRUPTED, text)
    if budget.status.allowed == 0:
        eviction_cause = EvictionCause.SYNC_FAILED if _sync_failed(budget) else EvictionCause.EXHAUSTED
        return EvictionResponse(
            429, eviction_cause, "TooManyRequests", WOULD_VIOLATE, _exhausted_message(budget), budget=budget
        )
    return None


def still_processing(budget: Budget) -> EvictionResponse:
    """The status is behind the spec, or the pod has changed while the server handled the request."""
    cause = f"The disruption budget {budget.name} is still being processed by the server."
    return EvictionResponse(
        429,
        EvictionCause.STALE,
        "TooManyRequests",
        WOULD_VIOLATE,
        cause,
        retry_after=PROCESSING_RETRY_SECONDS,
        budget=budget,
    )


def after_eviction(budget: Budget, pod_name: str, now: datetime) -> Budget:
    """The budget after one granted eviction; the condition changes only if no further one is allowed."""
    remaining = budget.status.allowed - 1
    updated = (
        with_allowed(budget, remaining)
        if remaining == 0
        else replace(budget, status=replace(budget.status, allowed=remaining))
    )
    return replace(updated, disrupted={**budget.disrupted, pod_name: now})


def _granted(
    eviction_cause: EvictionCause,
    *,
    budget: Budget | None = None,
    after: Budget | None = None,
    checks_version: bool = False,
) -> EvictionResponse:
    return EvictionResponse(201, eviction_cause, budget=budget, updated_budget=after, checks_version=checks_version)


def _sync_failed(budget: Budget) -> bool:
    return budget.condition_status == "False" and budget.condition_reason == SYNC_FAILED


def _exhausted_message(budget: Budget) -> str:
    """The message of the DisruptionBudget cause: one of four, checked in the server's order."""
    name, status = budget.name, budget.status
    plain = f"The disruption budget {name} does not allow evicting pods currently"
    if _sync_failed(budget):
        return f"{plain} because it failed sync: {budget.condition_message}"
    if status.current <= status.desired:
        return f"The disruption budget {name} needs {status.desired} healthy pods and has {status.current} currently"
    if budget.condition_status == "False" and budget.condition_message:
        return f"{plain} ({budget.condition_reason}): {budget.condition_message}"
    return plain


def _forbidden(budget: Budget, eviction_cause: EvictionCause, text: str) -> EvictionResponse:
    message = f'poddisruptionbudget.policy "{budget.name}" is forbidden: {text}'
    return EvictionResponse(403, eviction_cause, "Forbidden", message, budget=budget)


# An eviction request from arrival to answer: method, version, names, preconditions, conflicts, retries.
#
# Source: pkg/registry/core/pod/storage/eviction.go (AcceptsGroupVersion, Create, propagateDryRun,
# addConditionAndDeletePod), Kubernetes v1.36. The functions above decide by the pod's phase and its budget. The caller
# stores pods and budgets (`EvictionStore`) and waits between retries (500 ms in the server).


MAX_TRIES = 20
"""EvictionsRetry: how often a conflict is retried before it becomes the answer."""

EVICTION_VERSIONS = ("policy/v1", "policy/v1beta1")
"""The accepted apiVersions of an Eviction; the second is no longer served otherwise."""


@frozen
class EvictionRequest:
    """An eviction request. `name` is the name in the body, `url_name` the name in the path. None for a precondition:
    not given.

    `method` is the HTTP method. `api_version` and `kind` are those of the body; a body without them is a policy/v1
    Eviction.
    """

    name: str
    url_name: str
    namespace: str = "default"
    dry_run: tuple[str, ...] = ()
    body_dry_run: tuple[str, ...] = ()
    uid: str | None = None
    resource_version: str | None = None
    ignore_store_read_error: bool = False
    method: str = "POST"
    api_version: str = ""
    kind: str = ""

    @property
    def is_dry_run(self) -> bool:
        """Any dryRun value counts, even one that is not valid (apiserver pkg/util/dryrun, IsDryRun)."""
        return bool(self.body_dry_run or self.dry_run)


@frozen
class StoredPod:
    pod: Pod
    resource_version: str


class EvictionStore(Protocol):
    """The pods and budgets of one namespace. Refusals are `EvictionResponse` objects; None means done."""

    def get(self, name: str) -> StoredPod | None: ...

    def guards(self, pod: Pod) -> Sequence[Budget]: ...

    def budget(self, name: str) -> Budget | None: ...

    def write(self, budget: Budget) -> bool:
        """Write the status; False if another client has written in between."""
        ...

    def delete(
        self, name: str, uid: str | None, resource_version: str | None, dry_run: bool
    ) -> EvictionResponse | None:
        """Mark the pod as a disruption target and delete it, if the preconditions hold (see
        `precondition_conflict`)."""
        ...


def not_an_eviction(request: EvictionRequest) -> EvictionResponse | None:
    """The refusal of a request that does not create an Eviction: another method, or another object in the body."""
    if request.method != "POST":
        # Even with a valid body: the subresource allows only create.
        return _request_refused(
            405, "MethodNotAllowed", "the server does not allow this method on the requested resource"
        )
    version, kind = request.api_version or EVICTION_VERSIONS[0], request.kind or "Eviction"
    if version in EVICTION_VERSIONS and kind == "Eviction":
        return None
    text = f'{kind} in version "{version.rpartition("/")[2]}" cannot be handled as a Eviction'
    return _request_refused(400, "BadRequest", f'{text}: no kind "{kind}" is registered for version "{version}"')


def request_refusal(request: EvictionRequest) -> EvictionResponse | None:
    """The refusal of a request that is invalid by itself."""
    refusal = not_an_eviction(request)
    if refusal is not None:
        return refusal
    if request.name != request.url_name:
        return _request_refused(400, "BadRequest", "name in URL does not match name in Eviction object")
    if request.ignore_store_read_error:
        field = "deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential"
        text = "can not be set for pod eviction, try after removing the option"
        return _request_refused(
            422, "Invalid", f'Eviction.policy "{request.name}" is invalid: {field}: Invalid value: true: {text}'
        )
    if request.dry_run and request.body_dry_run and request.dry_run != request.body_dry_run:
        query_options, body_options = (f"[{' '.join(words)}]" for words in (request.dry_run, request.body_dry_run))
        text = f"Non-matching dry-run options in request and content: {query_options} and {body_options}"
        return _request_refused(500, "InternalError", f"Internal error occurred: {text}")
    return None


def not_found(name: str) -> EvictionResponse:
    return _request_refused(404, "NotFound", f'pods "{name}" not found')


def precondition_conflict(stored: StoredPod, uid: str | None, resource_version: str | None) -> EvictionResponse | None:
    """The 409 for a precondition that does not hold; the UID is checked first."""
    subject = f'Operation cannot be fulfilled on Pod "{stored.pod.name}": the'
    if uid is not None and uid != stored.pod.uid:
        text = f"UID in the precondition ({uid}) does not match the UID in record ({stored.pod.uid})"
        return _request_refused(
            409, "Conflict", f"{subject} {text}. The object might have been deleted and then recreated"
        )
    if resource_version is not None and resource_version != stored.resource_version:
        text = f"ResourceVersion in the precondition ({resource_version}) does not match"
        record = f"the ResourceVersion in record ({stored.resource_version})"
        return _request_refused(409, "Conflict", f"{subject} {text} {record}. The object might have been modified")
    return None


def serve_eviction(request: EvictionRequest, store: EvictionStore, now: datetime) -> EvictionResponse:
    """Answer one request against `store`, which is changed unless the request is a dry run."""
    refusal = request_refusal(request)
    if refusal is not None:
        return refusal
    outcome = _delete_if_unguarded(request, store, now)
    if isinstance(outcome, EvictionResponse):
        return outcome
    response = _request_from_budget(outcome.pod, request, store, now)
    if not response.ok:
        return response
    uses_stored_version = response.checks_version and request.resource_version is None
    version = outcome.resource_version if uses_stored_version else request.resource_version
    failure = store.delete(request.name, request.uid, version, request.is_dry_run)
    if failure is not None and failure.code == 409 and uses_stored_version and response.budget is not None:
        # The pod has changed since it was seen as not Ready; if it is Ready now, it needs the budget.
        return still_processing(response.budget)
    return failure or response


def _delete_if_unguarded(request: EvictionRequest, store: EvictionStore, now: datetime) -> EvictionResponse | StoredPod:
    """Delete a pod whose phase needs no budget; return any other pod for the check of its budget."""
    tries = MAX_TRIES if request.resource_version is None else 1
    failure = not_found(request.name)
    for _ in range(tries):
        stored = store.get(request.name)
        if stored is None:
            return not_found(request.name)
        response = evict(stored.pod, (), now)
        if response.eviction_cause not in (EvictionCause.PHASE, EvictionCause.DELETING):
            return stored
        uses_stored_version = response.checks_version and request.resource_version is None
        version = stored.resource_version if uses_stored_version else request.resource_version
        refusal = store.delete(request.name, request.uid, version, request.is_dry_run)
        if refusal is None:
            return response
        failure = refusal
        if refusal.code != 409:
            break
    return failure


def _request_from_budget(pod: Pod, request: EvictionRequest, store: EvictionStore, now: datetime) -> EvictionResponse:
    """Check the budget and write it back decremented; after a write conflict, try again."""
    budgets = store.guards(pod)
    for _ in range(MAX_TRIES):
        response = evict(pod, budgets, now, dry_run=request.is_dry_run)
        if response.updated_budget is None or store.write(response.updated_budget):
            return response
        current_budget = store.budget(response.updated_budget.name)
        if current_budget is None:
            name = response.updated_budget.name
            return _request_refused(404, "NotFound", f'poddisruptionbudgets.policy "{name}" not found')
        budgets = (current_budget,)
    subject = f'poddisruptionbudgets.policy "{budgets[0].name}"'
    text = "the object has been modified; please apply your changes to the latest version and try again"
    return _request_refused(409, "Conflict", f"Operation cannot be fulfilled on {subject}: {text}")


def _request_refused(code: int, reason: str, message: str) -> EvictionResponse:
    return EvictionResponse(code, EvictionCause.REQUEST, reason, message)


STALE_AFTER = timedelta(minutes=2)
"""How long a pod may have the condition without being deleted."""

BY_EVICTION = "EvictionByEvictionAPI"
BY_KUBELET = "TerminationByKubelet"
EVICTING = "Eviction API: evicting"


@frozen
class DisruptionTarget:
    """The DisruptionTarget condition. `since` is its lastTransitionTime; without one it counts as set long ago."""

    status: str
    since: datetime | None = None
    reason: str = ""
    message: str = ""
    observed_generation: int = 0

    @property
    def is_set(self) -> bool:
        return self.status == "True"


def reset_in(
    pod: Pod, condition: DisruptionTarget | None, now: datetime, stale_after: timedelta = STALE_AFTER
) -> timedelta | None:
    """Time until the disruption controller resets `condition`: zero is now, None is never.

    Never: the pod is being deleted or has finished, or the kubelet set the condition, which has no time limit.
    """
    if condition is None or not condition.is_set or condition.reason == BY_KUBELET or pod.deleting or pod.finished:
        return None
    if condition.since is None:
        return timedelta(0)
    return max(timedelta(0), stale_after - (now - condition.since))


def after_sync(
    pod: Pod,
    condition: DisruptionTarget | None,
    now: datetime,
    *,
    generation: int = 0,
    stale_after: timedelta = STALE_AFTER,
) -> DisruptionTarget | None:
    """The condition after a sync of the controller for `pod` (whose metadata.generation is `generation`)."""
    if reset_in(pod, condition, now, stale_after) == timedelta(0):
        return DisruptionTarget("False", now, observed_generation=generation)
    return condition


# Rejection by the kubelet of pods that a client has bound to the node without the scheduler: the node has no room.
#
# Source: pkg/kubelet/lifecycle/predicate.go (InsufficientResourceError), pkg/kubelet/kubelet.go (rejectPod), v1.33;
# pkg/scheduler/framework/plugins/noderesources/fit.go (the order of resources).


@frozen
class KubeletRejection:
    """Reason and message in the status of the rejected pod, whose phase is Failed."""

    reason: str
    message: str


def kubelet_rejection(pod: Pod, node: Node, pods_on_node: Iterable[Pod]) -> KubeletRejection | None:
    """The rejection of `pod`, None if it fits. `pods_on_node`: the other pods of the node; finished pods use no
    resources."""
    others = [other for other in pods_on_node if not other.finished and other.key != pod.key]
    if len(others) + 1 > node.pods_allocatable:
        return _out_of(PODS, 1, len(others), node.pods_allocatable)
    requests = pod.placement.requests
    used = [other.placement.requests for other in others]
    for name, requested, taken in (
        (CPU, requests.cpu, sum(each.cpu for each in used)),
        (MEMORY, requests.memory, sum(each.memory for each in used)),
    ):
        capacity = node.allocatable.get(name, 0)
        if requested and taken + requested > capacity:
            return _out_of(name, requested, taken, capacity)
    return None


def _out_of(resource: str, requested: int, used: int, capacity: int) -> KubeletRejection:
    text = f"Node didn't have enough resource: {resource}, requested: {requested}, used: {used}, capacity: {capacity}"
    return KubeletRejection(f"OutOf{resource}", f"Pod was rejected: {text}")


# Duration of a container's preStop hook, as far as its spec gives it.
#
# Source: pkg/kubelet/kuberuntime/kuberuntime_container.go (killContainer: the hook first, then SIGTERM, both within the
# grace period), pkg/kubelet/lifecycle/handlers.go (runSleepHandler).


def pre_stop_s(hook: Any) -> int | None:
    """Seconds of a hook that only sleeps, by a sleep action or a command; 0 without a hook; None if the spec does not
    give it."""
    if not isinstance(hook, dict) or not hook:
        return 0
    seconds = nested_field(hook, "sleep", "seconds")
    if isinstance(seconds, int):
        return seconds
    command = nested_field(hook, "exec", "command")
    words = " ".join(map(str, command)).split() if isinstance(command, list) else []
    if len(words) >= 2 and words[-2].rpartition("/")[2] == "sleep" and words[-1].isdigit():
        return int(words[-1])
    return None
