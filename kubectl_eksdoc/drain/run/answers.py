"""What to make of each answer to an eviction: the pod leaves, has to wait, or nobody knows yet.

Source: facts of pkg/registry/core/pod/storage/eviction.go and its callers, Kubernetes v1.36: success is 201, an empty
budget is 429 with a cause, 429 without one is throttling, a write conflict of the budget surfaces as 409, and after a
5xx or a lost connection the eviction may have been counted, and the pod deleted, or not.
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
"""What others were faster at (a conflict) is asked for again after this."""

SLOWLY_S = 30.0
"""What a webhook or a controller that is behind refuses is asked for again after this."""

TERMINATING_S = 5.0
"""What somebody is at work on (a namespace that is being deleted, a live migration) is asked for again after this."""

REFUSED_WHO_S = 10.0
"""What is refused for who asks is asked for again after this: an authorizer may be away for a moment, an access entry
that somebody changes takes seconds, and credentials are made anew meanwhile."""


class Next(Enum):
    """What follows an answer."""

    LEAVES = "leaves"  # accepted; believed when the pod is seen leaving, gone or replaced
    GONE = "gone"  # it is not there any more, or another pod has its name
    BUDGET = "budget"  # until its budget says something new: that is watched, not polled
    AGAIN = "again"  # after a time
    LOOK = "look"  # nobody knows whether it was done: look at the pod and its budget first
    NEVER = "never"  # not until somebody changes something


class RunTrouble(Enum):
    """What stands in the way, as users and programs are told."""

    NONE = "none"
    BUDGET = "budget"
    BUDGET_BEHIND = "budget-behind"  # its controller has not seen its spec, or too many evictions
    CONTENTION = "contention"
    THROTTLED = "throttled"
    DENIED = "denied"  # an admission webhook or policy
    WEBHOOK_DOWN = "webhook-down"
    SWALLOWED = "swallowed"  # accepted, and nothing happened
    NAMESPACE = "namespace"  # it is being deleted
    SEVERAL_BUDGETS = "several-budgets"
    RIGHT = "right"
    CREDENTIALS = "credentials"  # nobody is known by those that were sent
    REQUEST = "request"  # it was refused as malformed: a bug of ours
    SERVER = "server"


class Reading(NamedTuple):
    """`after_s` seconds at least until it is asked for again; `said`: the server's words."""

    next: Next
    trouble: RunTrouble = RunTrouble.NONE
    after_s: float = 0.0
    said: str = ""


def read(answer: ApiStatus | LostAnswer) -> Reading:
    """What an answer to the eviction of one pod, by its UID, means."""
    if isinstance(answer, LostAnswer):
        return Reading(Next.LOOK, RunTrouble.SERVER, SOON_S, answer.said)
    by_code = {401: _unknown_user, 403: _forbidden, 404: _not_found, 409: _conflict, 429: _too_many, 500: _failed}
    if 200 <= answer.code < 300:
        return Reading(Next.LEAVES)
    if by_admission(answer.message):  # with whatever code it likes: 404 and 409, too
        after_s = TERMINATING_S if answer.code == 429 else SLOWLY_S
        return Reading(Next.AGAIN, RunTrouble.DENIED, max(_retry_s(answer), after_s), answer.message)
    if answer.code in by_code:
        return by_code[answer.code](answer)
    if answer.code >= 500:
        return _unknown(answer)
    return Reading(Next.NEVER, RunTrouble.REQUEST, 0.0, answer.message)


def _unknown_user(answer: ApiStatus) -> Reading:
    """Newer credentials were tried already: whoever checks them may be away, or somebody changes who is let in."""
    said = f"the server does not accept the credentials: {answer.message}"
    return Reading(Next.AGAIN, RunTrouble.CREDENTIALS, REFUSED_WHO_S, said)


def _forbidden(answer: ApiStatus) -> Reading:
    """An authorizer's no has its own words (apiserver, endpoints/handlers/responsewriters/errors.go, forbiddenMessage);
    all others are some admission plugin's."""
    said = answer.message
    if _has_cause(answer, "NamespaceTerminating"):
        return Reading(Next.AGAIN, RunTrouble.NAMESPACE, TERMINATING_S, said)
    if "disruptions allowed is negative" in said or "DisruptedPods map too big" in said:
        return Reading(Next.AGAIN, RunTrouble.BUDGET_BEHIND, SLOWLY_S, said)
    if 'User "' in said and " cannot " in said:
        return Reading(Next.AGAIN, RunTrouble.RIGHT, REFUSED_WHO_S, said)
    return Reading(Next.AGAIN, RunTrouble.DENIED, SLOWLY_S, said)


def _not_found(answer: ApiStatus) -> Reading:
    """The budget may be what was not found: it was deleted while the server tried again."""
    kind = answer.details.kind if answer.details is not None else ""
    if kind == "poddisruptionbudgets":
        return Reading(Next.AGAIN, RunTrouble.CONTENTION, 0.0, answer.message)
    return Reading(Next.GONE, said=answer.message)


def _conflict(answer: ApiStatus) -> Reading:
    if "UID in the precondition" in answer.message or "UID in precondition" in answer.message:  # handler's, or store's
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
    """A webhook's or a policy's no (apiserver, plugin/webhook/errors/statuserror.go, plugin/policy/validating)."""
    return ("admission webhook" in said or "ValidatingAdmissionPolicy" in said) and "denied" in said


def _retry_s(answer: ApiStatus) -> float:
    return float(answer.details.retry_after_s if answer.details is not None else 0)


def _has_cause(answer: ApiStatus, reason: str) -> bool:
    return answer.details is not None and any(cause.reason == reason for cause in answer.details.causes)


def _cause(answer: ApiStatus) -> str:
    """The cause says which budget, and how far it is off; the message only that one is in the way."""
    causes = answer.details.causes if answer.details is not None else ()
    return next((cause.message for cause in causes if cause.reason == "DisruptionBudget"), answer.message)


# Answers that are errors: whether it is the server that fails, or only what is asked of it for one pod or node.
#
# That it is one pod's or node's matter is told by what was answered of the others last. While the server fails nothing
# more is asked for, for a time; the first answer after that decides whether it fails still, as a circuit breaker does.


ANSWERS = 20
"""So many of the latest answers, and of the latest pods or nodes, are looked at; of answers half of it at least."""

ERRORS = 0.5
"""With a greater share of errors among both the server fails, until `ERRORS_S` after the last of them."""

ERRORS_S = 30.0


class Errors:
    """Mutable: of one kind of requests, which other kinds say nothing about."""

    def __init__(self) -> None:
        self._answers: deque[bool] = deque(maxlen=ANSWERS)  # whether each was an error
        self._subjects: dict[str, bool] = {}  # whether the last answer of each was, those answered last at the end
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
        """Whether nothing more should be asked for now."""
        return self._since_s is not None and now_s - self._last_s < ERRORS_S

    def fails_for(self, so_long_s: float, now_s: float) -> bool:
        """Whether it does, and whatever was tried since has failed."""
        return self._since_s is not None and self.failing(now_s) and now_s - self._since_s >= so_long_s

    def next_s(self, so_long_s: float, now_s: float) -> Iterator[float]:
        """When `failing` or `fails_for` may change though nothing is answered."""
        if self._since_s is not None and self.failing(now_s):
            times = (self._last_s + ERRORS_S, self._since_s + so_long_s)
            yield from (each for each in times if each > now_s)

    @property
    def counted(self) -> str:
        return f"{sum(self._answers)} of the last {len(self._answers)} answers are errors of the server"

    def _are_general(self) -> bool:
        """More than one pod or node has them, and most of those that were answered last."""
        if sum(self._answers) <= ERRORS * max(len(self._answers), ANSWERS / 2):
            return False
        failed = sum(self._subjects.values())
        return failed > 1 and failed > ERRORS * len(self._subjects)

    def _forget(self) -> None:
        self._answers.clear()
        self._subjects.clear()
        self._since_s = None


def error_of(answer: ApiStatus | LostAnswer) -> str:
    """What it says where it is none of the pod or node that was asked for; "" where it is, or it was done. Credentials
    that are not accepted (401) are nobody's either."""
    if isinstance(answer, LostAnswer):
        return answer.said or "no answer"
    if answer.code >= 500 or answer.code == 401:
        return answer.message or f"{answer.code} {answer.reason}".strip()
    return ""


# By what a pod is asked to go, and what the answers to that mean where it is no eviction.


ACCEPTED: Mapping[Means, Happened] = {
    Means.EVICTION: Happened.EVICTED,
    Means.RESTART: Happened.RESTARTED,
    Means.DELETION: Happened.DELETED,
}


def act_for(eviction: Eviction, grace_s: int | None) -> OfPod:
    """`grace_s`: how long pods get to stop, None for each its own."""
    pod, manner = eviction.pod, eviction.manner
    assert manner.means is not Means.PATIENCE, "it is never asked for"
    if manner.restarts is not None:
        of = manner.restarts
        return Restart(of.namespace, of.name, of.uid, of.kind, pod)
    return Delete(pod) if manner.means is Means.DELETION else Evict(pod, grace_s)


def meaning(act: OfPod, answer: ApiStatus | LostAnswer) -> Reading:
    """What an answer means for the pod. One whose workload is gone, or another by now, is waited for: it goes too."""
    reading = read(answer)
    if isinstance(act, Restart) and reading.next is Next.GONE:
        return Reading(Next.LEAVES, said=reading.said)
    return reading


def right_for(eviction: Eviction) -> str:
    """What RBAC calls the right by which this pod is asked to go."""
    return f"{_RIGHTS[eviction.manner.means]} in namespace {eviction.pod.namespace}"


_RIGHTS: Mapping[Means, str] = {
    Means.EVICTION: "create pods/eviction",
    Means.RESTART: f"get and patch deployments.apps (opt-in {permissions.PATCH_WORKLOADS.name})",
    Means.DELETION: f"delete pods (opt-in {permissions.DELETE_PODS.name})",
}


def made_for(replica_set: ControllerOwner) -> str:
    """The Deployment for which a ReplicaSet was made: it has its name, and a hash of its template behind it."""
    return replica_set.name.rpartition("-")[0]
