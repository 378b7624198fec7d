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

from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostAnswer
from kubectl_eksdoc.kubernetes.evictions import SEVERAL_BUDGETS
from kubectl_eksdoc.model import permissions
from kubectl_eksdoc.model.actions import Delete, Evict, OfPod, Restart
from kubectl_eksdoc.model.nodes import ControllerOwner

from ..outcome import Eviction
from ..policy import Means
from .events import Happened

SOON_S = 1.0
"""Delay before the retry after a conflict with another writer."""

SLOWLY_S = 30.0
"""Delay before the retry after a refusal by a webhook or by a controller that is behind."""

TERMINATING_S = 5.0
"""Delay before the retry while an operation is in progress (a namespace that is being deleted, a live migration)."""

REFUSED_WHO_S = 10.0
"""Delay before the retry after a refusal of the caller (401, 403): an authorizer may be unavailable for a moment, a
changed access entry takes seconds, and credentials are renewed meanwhile."""


class Next(Enum):
    """The next step after a response."""

    LEAVES = "leaves"  # accepted; confirmed when the pod is observed stopping, gone or replaced
    GONE = "gone"  # the pod does not exist any more, or another pod has its name
    BUDGET = "budget"  # wait for a change of its budget (watched, not polled)
    AGAIN = "again"  # retry after a time
    LOOK = "look"  # unknown whether it was done: read the pod and its budget first
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


class Reading(NamedTuple):
    """`retry_after_s`: minimum seconds until the next request; `message`: the server's message."""

    next: Next
    trouble: RunTrouble = RunTrouble.NONE
    after_s: float = 0.0
    said: str = ""


def read(answer: ApiStatus | LostAnswer) -> Reading:
    """Interpret a response to the eviction of one pod, by its UID."""
    if isinstance(answer, LostAnswer):
        return Reading(Next.LOOK, RunTrouble.SERVER, SOON_S, answer.said)
    by_code = {401: _unknown_user, 403: _forbidden, 404: _not_found, 409: _conflict, 429: _too_many, 500: _failed}
    if 200 <= answer.code < 300:
        return Reading(Next.LEAVES)
    if by_admission(answer.message):  # with any code, including 404 and 409
        after_s = TERMINATING_S if answer.code == 429 else SLOWLY_S
        return Reading(Next.AGAIN, RunTrouble.DENIED, max(_retry_s(answer), after_s), answer.message)
    if answer.code in by_code:
        return by_code[answer.code](answer)
    if answer.code >= 500:
        return _unknown(answer)
    return Reading(Next.NEVER, RunTrouble.REQUEST, 0.0, answer.message)


def _unknown_user(answer: ApiStatus) -> Reading:
    """Newer credentials were tried already: the authenticator may be unavailable, or an access entry is being
    changed."""
    said = f"the server does not accept the credentials: {answer.message}"
    return Reading(Next.AGAIN, RunTrouble.CREDENTIALS, REFUSED_WHO_S, said)


def _forbidden(answer: ApiStatus) -> Reading:
    """An authorizer's refusal has its own text (apiserver, endpoints/handlers/responsewriters/errors.go,
    forbiddenMessage); all others come from admission plugins."""
    said = answer.message
    if _has_cause(answer, "NamespaceTerminating"):
        return Reading(Next.AGAIN, RunTrouble.NAMESPACE, TERMINATING_S, said)
    if "disruptions allowed is negative" in said or "DisruptedPods map too big" in said:
        return Reading(Next.AGAIN, RunTrouble.BUDGET_BEHIND, SLOWLY_S, said)
    if 'User "' in said and " cannot " in said:
        return Reading(Next.AGAIN, RunTrouble.RIGHT, REFUSED_WHO_S, said)
    return Reading(Next.AGAIN, RunTrouble.DENIED, SLOWLY_S, said)


def _not_found(answer: ApiStatus) -> Reading:
    """The missing object may be the budget: it was deleted while the server retried."""
    kind = answer.details.kind if answer.details is not None else ""
    if kind == "poddisruptionbudgets":
        return Reading(Next.AGAIN, RunTrouble.CONTENTION, 0.0, answer.message)
    return Reading(Next.GONE, said=answer.message)


def _conflict(answer: ApiStatus) -> Reading:
    if "UID in the precondition" in answer.message or "UID in precondition" in answer.message:  # handler or store
        return Reading(Next.GONE, said=answer.message)
    return Reading(Next.AGAIN, RunTrouble.CONTENTION, SOON_S, answer.message)


def _too_many(answer: ApiStatus) -> Reading:
    after_s = _retry_s(answer)
    if _has_cause(answer, "DisruptionBudget"):
        if after_s:
            return Reading(Next.BUDGET, RunTrouble.BUDGET_BEHIND, after_s, _cause(answer))
        return Reading(Next.BUDGET, RunTrouble.BUDGET, 0.0, _cause(answer))
    return Reading(Next.AGAIN, RunTrouble.THROTTLED, max(after_s, SOON_S), answer.message)


def _failed(answer: ApiStatus) -> Reading:
    if SEVERAL_BUDGETS in answer.message:
        return Reading(Next.NEVER, RunTrouble.SEVERAL_BUDGETS, 0.0, answer.message)
    if "failed calling webhook" in answer.message:
        return Reading(Next.AGAIN, RunTrouble.WEBHOOK_DOWN, SLOWLY_S, answer.message)
    return _unknown(answer)


def _unknown(answer: ApiStatus) -> Reading:
    return Reading(Next.LOOK, RunTrouble.SERVER, max(_retry_s(answer), SOON_S), answer.message)


def by_admission(said: str) -> bool:
    """Whether a webhook or an admission policy denied the request (apiserver, plugin/webhook/errors/statuserror.go,
    plugin/policy/validating)."""
    return ("admission webhook" in said or "ValidatingAdmissionPolicy" in said) and "denied" in said


def _retry_s(answer: ApiStatus) -> float:
    return float(answer.details.retry_after_s if answer.details is not None else 0)


def _has_cause(answer: ApiStatus, reason: str) -> bool:
    return answer.details is not None and any(cause.reason == reason for cause in answer.details.causes)


def _cause(answer: ApiStatus) -> str:
    """Return the message of the cause, which names the budget and its numbers; the status message only says that a
    budget refused."""
    causes = answer.details.causes if answer.details is not None else ()
    return next((cause.message for cause in causes if cause.reason == "DisruptionBudget"), answer.message)


# Error rate of responses: whether the server itself fails, or only the request for one pod or node.
#
# The latest responses for other pods or nodes decide that. While the server fails, no more requests are sent for a
# time; the first response after that decides whether it still fails, like a circuit breaker.


ANSWERS = 20
"""Number of the latest responses, and of the latest pods or nodes, that count; at least half as many responses are
needed."""

ERRORS = 0.5
"""With a greater share of errors among both, the server counts as failing, until `ERROR_PAUSE_S` after the last
error."""

ERRORS_S = 30.0


class Errors:
    """Mutable: the errors of one kind of requests; other kinds are counted separately."""

    def __init__(self) -> None:
        self._answers: deque[bool] = deque(maxlen=ANSWERS)  # whether each was an error
        self._subjects: dict[str, bool] = {}  # whether the last response for each was an error, the latest at the end
        self._last_s = -inf
        self._since_s: float | None = None
        self.said = ""

    def answered(self, subject: str, answer: ApiStatus | LostAnswer, now_s: float) -> None:
        said = error_of(answer)
        if not said and self._since_s is not None and not self.failing(now_s):
            self._forget()
        self._answers.append(bool(said))
        self._subjects.pop(subject, None)
        self._subjects[subject] = bool(said)
        if len(self._subjects) > ANSWERS:
            del self._subjects[next(iter(self._subjects))]
        if said:
            self._last_s, self.said = now_s, said
        if not self._are_general():
            self._since_s = None
        elif self._since_s is None:
            self._since_s = now_s

    def failing(self, now_s: float) -> bool:
        """Whether no more requests should be sent now."""
        return self._since_s is not None and now_s - self._last_s < ERRORS_S

    def fails_for(self, so_long_s: float, now_s: float) -> bool:
        """Whether the server has been failing for this long, and every request since has failed."""
        return self._since_s is not None and self.failing(now_s) and now_s - self._since_s >= so_long_s

    def next_s(self, so_long_s: float, now_s: float) -> Iterator[float]:
        """Yield when `is_failing` or `is_failing_for` may change without a response."""
        if self._since_s is not None and self.failing(now_s):
            times = (self._last_s + ERRORS_S, self._since_s + so_long_s)
            yield from (each for each in times if each > now_s)

    @property
    def counted(self) -> str:
        return f"{sum(self._answers)} of the last {len(self._answers)} answers are errors of the server"

    def _are_general(self) -> bool:
        """Whether more than one pod or node has errors, and most of those with recent responses."""
        if sum(self._answers) <= ERRORS * max(len(self._answers), ANSWERS / 2):
            return False
        failed = sum(self._subjects.values())
        return failed > 1 and failed > ERRORS * len(self._subjects)

    def _forget(self) -> None:
        self._answers.clear()
        self._subjects.clear()
        self._since_s = None


def error_of(answer: ApiStatus | LostAnswer) -> str:
    """Return the error message if the failure is the server's, not the pod's or node's; "" otherwise, or on success.
    Credentials that are not accepted (401) count as the server's."""
    if isinstance(answer, LostAnswer):
        return answer.said or "no answer"
    if answer.code >= 500 or answer.code == 401:
        return answer.message or f"{answer.code} {answer.reason}".strip()
    return ""


# Requests that remove a pod, and the meaning of responses to requests other than evictions.


ACCEPTED: Mapping[Means, Happened] = {
    Means.EVICTION: Happened.EVICTED,
    Means.RESTART: Happened.RESTARTED,
    Means.DELETION: Happened.DELETED,
}


def act_for(eviction: Eviction, grace_s: int | None) -> OfPod:
    """Return the request for an eviction. `grace_s`: grace period, None for the pod's own."""
    pod, manner = eviction.pod, eviction.manner
    assert manner.means is not Means.PATIENCE, "it is never asked for"
    if manner.restarts is not None:
        of = manner.restarts
        return Restart(of.namespace, of.name, of.uid, of.kind, pod)
    return Delete(pod) if manner.means is Means.DELETION else Evict(pod, grace_s)


def meaning(act: OfPod, answer: ApiStatus | LostAnswer) -> Reading:
    """Interpret a response for the pod. If its workload is gone, or was replaced, the pod is waited for: it goes
    too."""
    reading = read(answer)
    if isinstance(act, Restart) and reading.next is Next.GONE:
        return Reading(Next.LEAVES, said=reading.said)
    return reading


def right_for(eviction: Eviction) -> str:
    """Return the RBAC permission that the removal of this pod needs."""
    return f"{_RIGHTS[eviction.manner.means]} in namespace {eviction.pod.namespace}"


_RIGHTS: Mapping[Means, str] = {
    Means.EVICTION: "create pods/eviction",
    Means.RESTART: f"get and patch deployments.apps (opt-in {permissions.PATCH_WORKLOADS.name})",
    Means.DELETION: f"delete pods (opt-in {permissions.DELETE_PODS.name})",
}


def made_for(replica_set: ControllerOwner) -> str:
    """Return the name of the Deployment that created a ReplicaSet, whose name adds a hash of the pod template."""
    return replica_set.name.rpartition("-")[0]
