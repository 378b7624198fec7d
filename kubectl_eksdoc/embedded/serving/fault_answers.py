"""The answers that a real server gives when something is wrong, in its words.

Source: apiserver pkg/server/filters/priority-and-fairness.go and waitgroup.go, pkg/endpoints/handlers/finisher and
responsewriters/status.go, pkg/admission/plugin/webhook/errors/statuserror.go, pkg/util/webhook/error.go; apimachinery
pkg/api/errors/errors.go; pkg/registry/core/pod/storage/eviction.go. Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Callable

from kubectl_eksdoc.core.rules.api.statuses import Cause, Details, Named, Status, expired, modified
from kubectl_eksdoc.core.rules.evictions import PROCESSING_RETRY_SECONDS, WOULD_VIOLATE
from kubectl_eksdoc.embedded.serving.access import ADMIN, Action, forbidden
from kubectl_eksdoc.embedded.serving.faults import Answered, Moment
from kubectl_eksdoc.embedded.serving.messages import Request
from kubectl_eksdoc.embedded.serving.reading import TOO_OLD_TO_CONTINUE
from kubectl_eksdoc.embedded.serving.targets import verb_of, words_of

SOMEBODY = ADMIN.name
"""Who is refused: faults stand before the API, which knows who asks."""

FLOW_SCHEMA = ("X-Kubernetes-PF-FlowSchema-UID", "5c6a2c2e-3b1d-4a0b-9d53-4f1f6a2f6f10")
"""By this header a client can tell priority and fairness from a budget."""


def conflict(name: str = "pod", plural: str = "pods", group: str = "") -> Answered:
    """409: somebody else wrote in between."""
    return Answered(modified(Named(plural, group, ""), name).status)


def conflicting(request: Request) -> Answered | None:
    """409 of the object that is asked for."""
    said = words_of(request.path)
    return conflict(said.name, said.plural, said.group) if said is not None and said.name else None


def forbidding(resource: str = "") -> Callable[[Request], Answered | None]:
    """403 of whatever is asked for, or only of a resource, as RBAC says it."""

    def forbid(request: Request) -> Answered | None:
        said = words_of(request.path)
        if said is None:
            path = Action(request.method.lower(), path=request.path)
            return None if resource else Answered(forbidden(SOMEBODY, path))
        if resource and resource not in (said.plural, f"{said.plural}.{said.group}"):
            return None
        verb = verb_of(request, said.name)
        action = Action(verb, said.group, said.plural, said.subresource, said.namespace, said.name)
        return Answered(forbidden(SOMEBODY, action))

    return forbid


def throttled(seconds: int = 1) -> Answered:
    """429 of priority and fairness: text and no Status, no cause, and a Retry-After."""
    status = Status(429, "TooManyRequests", "Too many requests, please try again later.")
    return Answered(status, plain=True, headers=(("Retry-After", str(seconds)), FLOW_SCHEMA))


def over_budget(budget: str, seconds: int = 0) -> Answered:
    """429 of a budget that is used up; with `seconds` of one whose status is behind its spec."""
    said = "is still being processed by the server." if seconds else "does not allow evicting pods currently"
    cause = Cause("DisruptionBudget", f"The disruption budget {budget} {said}")
    return Answered(Status(429, "TooManyRequests", WOULD_VIOLATE, Details(causes=(cause,), retry_after_s=seconds)))


def processing(budget: str) -> Answered:
    """429 of a budget that was changed just now, with a Retry-After."""
    return over_budget(budget, PROCESSING_RETRY_SECONDS)


def broken(code: int = 500) -> Answered:
    """500: the server's storage has no leader, which is no error that it knows; 503: it is about to stop."""
    if code == 503:
        return Answered(
            Status(503, "ServiceUnavailable", "apiserver is shutting down"), headers=(("Retry-After", "1"),)
        )
    return Answered(Status(500, "", "etcdserver: leader changed"))


def timed_out(moment: Moment = Moment.AFTER) -> Answered:
    """504: it took too long. Mostly it is done all the same."""
    text = "Timeout: request did not complete within requested timeout - context deadline exceeded"
    return Answered(Status(504, "Timeout", text, Details()), moment)


def denied(webhook: str, why: str) -> Answered:
    """403 of a validating webhook."""
    return Answered(Status(403, "Forbidden", f'admission webhook "{webhook}" denied the request: {why}'))


def webhook_down(webhook: str) -> Answered:
    """500: a webhook that must be asked (failurePolicy Fail) does not answer."""
    url = f"https://{webhook.partition('.')[0]}.webhooks.svc:443/?timeout=10s"
    why = f'failed calling webhook "{webhook}": failed to call webhook: Post "{url}": context deadline exceeded'
    details = Details(causes=(Cause("", why),))
    return Answered(Status(500, "InternalError", f"Internal error occurred: {why}", details))


def expiring(request: Request) -> Answered | None:
    """410: the continue token of a list is too old."""
    return Answered(expired(TOO_OLD_TO_CONTINUE).status) if request.word("continue") else None
