"""Meaning of each response to an eviction: the pod goes, has to wait, or its state is unknown.

Source: pkg/registry/core/pod/storage/eviction.go and its callers, Kubernetes v1.36: success is 201, an exhausted budget
is 429 with a cause, 429 without a cause is throttling, a write conflict of the budget surfaces as 409, and after a 5xx
or a lost connection the eviction may have been counted, and the pod deleted, or not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from enum import Enum
from math import inf
from typing import NamedTuple

from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse
from kubectl_eksdoc.kubernetes.evictions import SEVERAL_BUDGETS
from kubectl_eksdoc.model import permissions
from kubectl_eksdoc.model.actions import Delete, Evict, PodChange, Restart
from kubectl_eksdoc.model.nodes import ControllerOwner

from ..outcome import Eviction
from ..policy import EvictionMethod
from .events import DrainEventKind

CONFLICT_RETRY_S = 1.0
"""Delay before the retry after a conflict with another writer."""

SLOW_RETRY_S = 30.0
"""Delay before the retry after a refusal by a webhook or by a controller that is behind."""

TERMINATING_RETRY_S = 5.0
"""Delay before the retry while an operation is in progress (a namespace that is being deleted, a live migration)."""

FORBIDDEN_RETRY_S = 10.0
"""Delay before the retry after a refusal of the caller (401, 403): an authorizer may be unavailable for a moment, a
changed access entry takes seconds, and credentials are renewed meanwhile."""


class FollowUp(Enum):
    """The next step after a response."""

    ACCEPTED = "leaves"  # accepted; confirmed when the pod is observed stopping, gone or replaced
    GONE = "gone"  # the pod does not exist any more, or another pod has its name
    BUDGET = "budget"  # wait for a change of its budget (watched, not polled)
    RETRY = "again"  # retry after a time
    CHECK = "look"  # unknown whether it was done: read the pod and its budget first
    NEVER = "never"  # not until a user changes something


class RunTrouble(Enum):
    """The obstacle, as reported to users and programs."""

    NONE = "none"
    BUDGET = "budget"
    BUDGET_BEHIND = "budget-behind"  # its controller has not observed its spec, or there are too many evictions
    CONTENTION = "contention"
    THROTTLED = "throttled"
    DENIED = "denied"  # an admission webhook or policy
    WEBHOOK_DOWN = "webhook-down"
    SWALLOWED = "swallowed"  # accepted without effect
    NAMESPACE = "namespace"  # the namespace is being deleted
    SEVERAL_BUDGETS = "several-budgets"
    RIGHT = "right"
    CREDENTIALS = "credentials"  # the server does not accept them
    REQUEST = "request"  # refused as malformed: a bug of this tool
    SERVER = "server"


class ResponseMeaning(NamedTuple):
    """`retry_after_s`: minimum seconds until the next request; `message`: the server's message."""

    follow_up: FollowUp
    trouble: RunTrouble = RunTrouble.NONE
    retry_after_s: float = 0.0
    message: str = ""


def interpret_eviction(response: ApiStatus | LostResponse) -> ResponseMeaning:
    """Interpret a response to the eviction of one pod, by its UID."""
    if isinstance(response, LostResponse):
        return ResponseMeaning(FollowUp.CHECK, RunTrouble.SERVER, CONFLICT_RETRY_S, response.message)
    by_code = {
        401: _unauthenticated,
        403: _forbidden,
        404: _not_found,
        409: _conflict,
        429: _too_many,
        500: _server_error,
    }
    if 200 <= response.code < 300:
        return ResponseMeaning(FollowUp.ACCEPTED)
    if is_admission_denial(response.message):  # with any code, including 404 and 409
        after_s = TERMINATING_RETRY_S if response.code == 429 else SLOW_RETRY_S
        return ResponseMeaning(
            FollowUp.RETRY, RunTrouble.DENIED, max(_retry_after_s(response), after_s), response.message
        )
    if response.code in by_code:
        return by_code[response.code](response)
    if response.code >= 500:
        return _uncertain(response)
    return ResponseMeaning(FollowUp.NEVER, RunTrouble.REQUEST, 0.0, response.message)


def _unauthenticated(response: ApiStatus) -> ResponseMeaning:
    """Newer credentials were tried already: the authenticator may be unavailable, or an access entry is being
    changed."""
    message = f"the server does not accept the credentials: {response.message}"
    return ResponseMeaning(FollowUp.RETRY, RunTrouble.CREDENTIALS, FORBIDDEN_RETRY_S, message)


def _forbidden(response: ApiStatus) -> ResponseMeaning:
    """An authorizer's refusal has its own text (apiserver, endpoints/handlers/responsewriters/errors.go,
    forbiddenMessage); all others come from admission plugins."""
    message = response.message
    if _has_cause(response, "NamespaceTerminating"):
        return ResponseMeaning(FollowUp.RETRY, RunTrouble.NAMESPACE, TERMINATING_RETRY_S, message)
    if "disruptions allowed is negative" in message or "DisruptedPods map too big" in message:
        return ResponseMeaning(FollowUp.RETRY, RunTrouble.BUDGET_BEHIND, SLOW_RETRY_S, message)
    if 'User "' in message and " cannot " in message:
        return ResponseMeaning(FollowUp.RETRY, RunTrouble.RIGHT, FORBIDDEN_RETRY_S, message)
    return ResponseMeaning(FollowUp.RETRY, RunTrouble.DENIED, SLOW_RETRY_S, message)


def _not_found(response: ApiStatus) -> ResponseMeaning:
    """The missing object may be the budget: it was deleted while the server retried."""
    kind = response.details.kind if response.details is not None else ""
    if kind == "poddisruptionbudgets":
        return ResponseMeaning(FollowUp.RETRY, RunTrouble.CONTENTION, 0.0, response.message)
    return ResponseMeaning(FollowUp.GONE, message=response.message)


def _conflict(response: ApiStatus) -> ResponseMeaning:
    if "UID in the precondition" in response.message or "UID in precondition" in response.message:  # handler or store
        return ResponseMeaning(FollowUp.GONE, message=response.message)
    return ResponseMeaning(FollowUp.RETRY, RunTrouble.CONTENTION, CONFLICT_RETRY_S, response.message)


def _too_many(response: ApiStatus) -> ResponseMeaning:
    after_s = _retry_after_s(response)
    if _has_cause(response, "DisruptionBudget"):
        if after_s:
            return ResponseMeaning(FollowUp.BUDGET, RunTrouble.BUDGET_BEHIND, after_s, _cause_message(response))
        return ResponseMeaning(FollowUp.BUDGET, RunTrouble.BUDGET, 0.0, _cause_message(response))
    return ResponseMeaning(FollowUp.RETRY, RunTrouble.THROTTLED, max(after_s, CONFLICT_RETRY_S), response.message)


def _server_error(response: ApiStatus) -> ResponseMeaning:
    if SEVERAL_BUDGETS in response.message:
        return ResponseMeaning(FollowUp.NEVER, RunTrouble.SEVERAL_BUDGETS, 0.0, response.message)
    if "failed calling webhook" in response.message:
        return ResponseMeaning(FollowUp.RETRY, RunTrouble.WEBHOOK_DOWN, SLOW_RETRY_S, response.message)
    return _uncertain(response)


def _uncertain(response: ApiStatus) -> ResponseMeaning:
    return ResponseMeaning(
        FollowUp.CHECK, RunTrouble.SERVER, max(_retry_after_s(response), CONFLICT_RETRY_S), response.message
    )


def is_admission_denial(message: str) -> bool:
    """Whether a webhook or an admission policy denied the request (apiserver, plugin/webhook/errors/statuserror.go,
    plugin/policy/validating)."""
    return ("admission webhook" in message or "ValidatingAdmissionPolicy" in message) and "denied" in message


def _retry_after_s(response: ApiStatus) -> float:
    return float(response.details.retry_after_s if response.details is not None else 0)


def _has_cause(response: ApiStatus, reason: str) -> bool:
    return response.details is not None and any(cause.reason == reason for cause in response.details.causes)


def _cause_message(response: ApiStatus) -> str:
    """Return the message of the cause, which names the budget and its numbers; the status message only says that a
    budget refused."""
    causes = response.details.causes if response.details is not None else ()
    return next((cause.message for cause in causes if cause.reason == "DisruptionBudget"), response.message)


# Error rate of responses: whether the server itself fails, or only the request for one pod or node.
#
# The latest responses for other pods or nodes decide that. While the server fails, no more requests are sent for a
# time; the first response after that decides whether it still fails, like a circuit breaker.


MAX_RESPONSES = 20
"""Number of the latest responses, and of the latest pods or nodes, that count; at least half as many responses are
needed."""

ERROR_SHARE = 0.5
"""With a greater share of errors among both, the server counts as failing, until `ERROR_PAUSE_S` after the last
error."""

ERROR_PAUSE_S = 30.0


class ErrorRate:
    """Mutable: the errors of one kind of requests; other kinds are counted separately."""

    def __init__(self) -> None:
        self._responses: deque[bool] = deque(maxlen=MAX_RESPONSES)  # whether each was an error
        self._last_responses: dict[
            str, bool
        ] = {}  # whether the last response for each was an error, the latest at the end
        self._last_error_s = -inf
        self._failing_since_s: float | None = None
        self.message = ""

    def record(self, subject: str, response: ApiStatus | LostResponse, now_s: float) -> None:
        message = server_error(response)
        if not message and self._failing_since_s is not None and not self.is_failing(now_s):
            self._reset()
        self._responses.append(bool(message))
        self._last_responses.pop(subject, None)
        self._last_responses[subject] = bool(message)
        if len(self._last_responses) > MAX_RESPONSES:
            del self._last_responses[next(iter(self._last_responses))]
        if message:
            self._last_error_s, self.message = now_s, message
        if not self._is_widespread():
            self._failing_since_s = None
        elif self._failing_since_s is None:
            self._failing_since_s = now_s

    def is_failing(self, now_s: float) -> bool:
        """Whether no more requests should be sent now."""
        return self._failing_since_s is not None and now_s - self._last_error_s < ERROR_PAUSE_S

    def is_failing_for(self, duration_s: float, now_s: float) -> bool:
        """Whether the server has been failing for this long, and every request since has failed."""
        return (
            self._failing_since_s is not None and self.is_failing(now_s) and now_s - self._failing_since_s >= duration_s
        )

    def next_s(self, duration_s: float, now_s: float) -> Iterator[float]:
        """Yield when `is_failing` or `is_failing_for` may change without a response."""
        if self._failing_since_s is not None and self.is_failing(now_s):
            times = (self._last_error_s + ERROR_PAUSE_S, self._failing_since_s + duration_s)
            yield from (each for each in times if each > now_s)

    @property
    def summary(self) -> str:
        return f"{sum(self._responses)} of the last {len(self._responses)} answers are errors of the server"

    def _is_widespread(self) -> bool:
        """Whether more than one pod or node has errors, and most of those with recent responses."""
        if sum(self._responses) <= ERROR_SHARE * max(len(self._responses), MAX_RESPONSES / 2):
            return False
        failed = sum(self._last_responses.values())
        return failed > 1 and failed > ERROR_SHARE * len(self._last_responses)

    def _reset(self) -> None:
        self._responses.clear()
        self._last_responses.clear()
        self._failing_since_s = None


def server_error(response: ApiStatus | LostResponse) -> str:
    """Return the error message if the failure is the server's, not the pod's or node's; "" otherwise, or on success.
    Credentials that are not accepted (401) count as the server's."""
    if isinstance(response, LostResponse):
        return response.message or "no answer"
    if response.code >= 500 or response.code == 401:
        return response.message or f"{response.code} {response.reason}".strip()
    return ""


# Requests that remove a pod, and the meaning of responses to requests other than evictions.


ACCEPTED: Mapping[EvictionMethod, DrainEventKind] = {
    EvictionMethod.EVICT: DrainEventKind.EVICTED,
    EvictionMethod.RESTART: DrainEventKind.RESTARTED,
    EvictionMethod.DELETE: DrainEventKind.DELETED,
}


def action_for(eviction: Eviction, grace_s: int | None) -> PodChange:
    """Return the request for an eviction. `grace_s`: grace period, None for the pod's own."""
    pod, method = eviction.pod, eviction.eviction_mode
    assert method.means is not EvictionMethod.WAIT, "it is never asked for"
    if method.restarts is not None:
        restart_target = method.restarts
        return Restart(restart_target.namespace, restart_target.name, restart_target.uid, restart_target.kind, pod)
    return Delete(pod) if method.means is EvictionMethod.DELETE else Evict(pod, grace_s)


def interpret_response(action: PodChange, response: ApiStatus | LostResponse) -> ResponseMeaning:
    """Interpret a response for the pod. If its workload is gone, or was replaced, the pod is waited for: it goes
    too."""
    meaning = interpret_eviction(response)
    if isinstance(action, Restart) and meaning.follow_up is FollowUp.GONE:
        return ResponseMeaning(FollowUp.ACCEPTED, message=meaning.message)
    return meaning


def required_permission(eviction: Eviction) -> str:
    """Return the RBAC permission that the removal of this pod needs."""
    return f"{_PERMISSIONS[eviction.eviction_mode.means]} in namespace {eviction.pod.namespace}"


_PERMISSIONS: Mapping[EvictionMethod, str] = {
    EvictionMethod.EVICT: "create pods/eviction",
    EvictionMethod.RESTART: f"get and patch deployments.apps (opt-in {permissions.PATCH_WORKLOADS.name})",
    EvictionMethod.DELETE: f"delete pods (opt-in {permissions.DELETE_PODS.name})",
}


def deployment_name(replica_set: ControllerOwner) -> str:
    """Return the name of the Deployment that created a ReplicaSet, whose name adds a hash of the pod template."""
    return replica_set.name.rpartition("-")[0]
