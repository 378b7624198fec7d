"""API requests beside reads: changes that are sent once, new objects, ConfigMaps, access reviews."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple, Protocol

from kubectl_eksdoc.errors import (
    ClusterError,
    ClusterRefused,
    Drifted,
    EksdocError,
    Forbidden,
    Unauthorized,
    Unreachable,
)
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse
from kubectl_eksdoc.model.api_objects import (
    ApplyConflict,
    ApplyConflicts,
    ApplyResult,
    Doc,
    nested_field,
    nested_string,
)
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.permissions import AccessReview, Permission, opt_ins_for
from kubectl_eksdoc.model.placement import BY_KIND, ObjectNotCreated, ProbeFailure

from .config import ApiAccess
from .exchanges import ExchangeFailed, Exchanges, RetryPolicy, real_timing
from .pools import check_before_each_byte
from .responses import HttpResponse, status_of
from .target import Credential, utc_now

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
FIELD_MANAGER: Mapping[str, str] = {"fieldManager": "eksdoc"}


class ApiResponse(NamedTuple):
    """The result of one request. `doc`: the returned object, or {}. `date`: the server's clock by its Date header (to
    the second), or None. A Retry-After of header or body is in the details of the status."""

    status: ApiStatus | LostResponse
    doc: Doc
    date: datetime | None = None

    @property
    def code(self) -> int:
        """The HTTP status; 0 where no answer came."""
        return self.status.code if isinstance(self.status, ApiStatus) else 0

    @property
    def ok(self) -> bool:
        return 200 <= self.code < 300

    @property
    def message(self) -> str:
        return self.status.message

    @property
    def summary(self) -> str:
        """The message as a clause: ``the server answered 403: …``."""
        return (
            f"the server answered {self.code}: {self.message}"
            if self.code
            else f"the server gave no answer: {self.message}"
        )

    @property
    def outcome_unknown(self) -> bool:
        """Whether the request may have taken effect: no answer came, or one (5xx) that does not tell."""
        return self.code == 0 or self.code >= 500

    @property
    def retry_after_s(self) -> float:
        details = self.status.details if isinstance(self.status, ApiStatus) else None
        return float(details.retry_after_s) if details is not None else 0.0


NOT_SENT = ApiResponse(LostResponse("no request was sent"), {})


class RequestSender(Protocol):
    """Sends a request once; the caller decides about a retry. It waits for an answer for some 15 s, much shorter than
    the duration of a lock: a longer wait would prevent the renewal of the lock."""

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: Doc | None, content_type: str = JSON
    ) -> ApiResponse:
        """Refusals and missing answers are returned as a response. An expired credential is renewed before a 401 is
        returned. Raises ConfigError: a credential cannot be obtained."""
        ...


@frozen
class Clock:
    """Time as a port. `monotonic`: seconds that never go back, time in suspend included; `now`: this machine's wall
    clock, for display, never compared with the clock of another machine."""

    monotonic: Callable[[], float]
    now: Callable[[], datetime]
    sleep: Callable[[float], object]


def real_clock() -> Clock:
    return Clock(boot_time_s, utc_now, time.sleep)


def boot_time_s() -> float:
    """Seconds since boot, with suspend. Linux's CLOCK_MONOTONIC stops during suspend (man 2 clock_gettime): a resumed
    laptop would take its lock for fresh. macOS's continues, unlike the one that Python calls monotonic."""
    clock_id = getattr(time, "CLOCK_BOOTTIME", None) or getattr(time, "CLOCK_MONOTONIC", None)
    return time.monotonic() if clock_id is None else time.clock_gettime(clock_id)


def refusal_error(response: ApiResponse, right: str, namespace: str) -> ClusterError | None:
    """The error of a refusal of credentials or permissions, which a retry will not change; None for any other response.
    `right` as RBAC writes it: ``patch configmaps``."""
    if response.code == 401:
        return Unauthorized(
            f"the credentials are not accepted any more: {response.message}", "Sign in again, then resume."
        )
    # Admission webhooks and a namespace that is being deleted answer 403, too.
    if response.code == 403 and " cannot " in response.message:
        command = f"kubectl auth can-i {right}{f' -n {namespace}' if namespace else ''}"
        return Forbidden(
            f"the cluster refuses {right}: {response.message}", f"Ask for the right, or look: {command}", right
        )
    return None


# Requests that change something: each is sent once, and ends with the server's answer or with an unknown outcome.


Fence = Callable[[], object]
"""Raises LockLost where nothing must be sent any more. Called from several threads."""


def no_fence() -> None:
    """A fence for callers that need no lock."""


def change_error(
    response: ApiResponse, subject: str, right: str, kubectl_object: str, namespace: str, dry_run: bool
) -> EksdocError:
    """Why a change of one object was not made; `kubectl_object`: its kind, name and namespace, as kubectl get takes
    them."""
    if response.code in (404, 409):
        return Drifted(f"{subject} is not as it was: {response.message}", "Nothing was changed. Look again.")
    if error := refusal_error(response, right, namespace):
        return error
    if response.outcome_unknown and not dry_run:
        hint = f"Look: kubectl get {kubectl_object} -o yaml"
        return ClusterError(f"it is unknown whether {subject} was changed: {response.message}", hint)
    return ClusterRefused(
        f"the API server does not take the change of {subject}: {response.message}", "Nothing was changed."
    )


class ApiWriter:
    """The API of one cluster, for writing. Safe to use from several threads.

    A request is sent again only where the first one cannot have taken effect: after a 401 with newer credentials, and
    after a connection that could not be opened. Any other failure is a `LostResponse`. The fence is called right before
    each try, because credentials, failed connections and pauses can take longer than the lock is held.
    """

    def __init__(self, exchanges: Exchanges, fence: Fence = no_fence, confirm: Fence = no_fence) -> None:
        """`fence` sends no request, and is called before each byte. `confirm` asks the cluster once before each try
        whether the lock is still held; other cluster errors of it also prevent the request."""
        self._exchanges = exchanges
        self._fence = fence
        self._confirm = confirm

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: Doc | None, content_type: str = JSON
    ) -> ApiResponse:
        """Raises LockLost: the fence raised it, and no request that could have taken effect was sent."""
        url = self._exchanges.url(path, query)
        payload = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        try:
            response = self._send_until_received(method, url, payload, content_type if body is not None else "")
        except ExchangeFailed as failure:
            return ApiResponse(LostResponse(failure.error.message), {})
        except ClusterError as error:  # no credentials, or an unusable certificate: it was not sent
            return ApiResponse(LostResponse(error.message), {})
        status, document = status_of(response), response.document
        return ApiResponse(status, {} if document.get("kind") == "Status" else dict(document), response.server_time)

    def _send_until_received(self, method: str, url: str, body: bytes | None, content_type: str) -> HttpResponse:
        exchanges, retry_policy, timing = self._exchanges, self._exchanges.retry_policy, self._exchanges.timing

        def once(credential: Credential) -> HttpResponse:
            self._confirm()
            self._fence()
            with check_before_each_byte(self._fence):
                return exchanges.send_once(credential, url, method, body, content_type)

        attempts = 0
        while True:
            try:
                return exchanges.with_credentials(once)
            except ExchangeFailed as failure:
                attempts += 1
                if not failure.unsent or attempts >= retry_policy.tries_to_connect:
                    raise
            timing.sleep(retry_policy.pause_s(attempts, timing.chance()))


# How long one write is retried, and the pauses between tries: for callers that must know its outcome.


@frozen
class RetryLimits:
    """Times in seconds. No further try begins after `give_up_s`; an API server that is being replaced is away for some
    30 s."""

    give_up_s: float = 45.0
    first_pause_s: float = 0.2
    max_pause_s: float = 4.0
    longest_retry_after_s: float = 10.0

    def attempts(self, clock: Clock) -> Iterator[Attempt]:
        """Yield one attempt per try, and sleep its pause before the next one."""
        started_s, pause_s = clock.monotonic(), self.first_pause_s
        while True:
            attempt = Attempt(pause_s, self.longest_retry_after_s, clock.monotonic() - started_s)
            yield attempt
            if clock.monotonic() - started_s + attempt.pause_s > self.give_up_s:
                return
            clock.sleep(attempt.pause_s)
            pause_s = min(pause_s * 2, self.max_pause_s)


class Attempt:
    """One try. Mutable: `respect_retry_after` can lengthen the pause. `elapsed_s`: time between the first try and the
    begin of this one."""

    def __init__(self, pause_s: float, max_retry_after_s: float, elapsed_s: float = 0.0) -> None:
        self.pause_s = pause_s
        self.elapsed_s = elapsed_s
        self._max_retry_after_s = max_retry_after_s

    def respect_retry_after(self, response: ApiResponse) -> None:
        self.pause_s = max(self.pause_s, min(response.retry_after_s, self._max_retry_after_s))


# Reads and small changes whose every outcome is returned, refusals and missing answers included.


class RetryingClient:
    """Sends requests about one namespace. Mutable: it holds a connection."""

    def __init__(
        self, access: ApiAccess, retry_policy: RetryPolicy, namespace: str, clock: Clock, retry_limits: RetryLimits
    ) -> None:
        self._sender = ApiWriter(Exchanges(access, retry_policy, real_timing()))
        self._namespace = namespace
        self._clock = clock
        self._retry_limits = retry_limits

    def get_once(self, path: str, query: Mapping[str, str]) -> ApiResponse:
        """A GET without a retry, for callers that poll."""
        return self._sender.send("GET", path, query, None)

    def request(
        self, method: str, path: str, query: Mapping[str, str] | None = None, body: Doc | None = None
    ) -> ApiResponse:
        """Send an idempotent request, and retry while there is no answer, a 5xx or a 429."""
        response = NOT_SENT
        for attempt in self._retry_limits.attempts(self._clock):
            response = self._sender.send(method, path, query or {}, body, JSON)
            if not response.outcome_unknown and response.code != 429:
                return response
            attempt.respect_retry_after(response)
        return response

    def change(
        self, method: str, path: str, right: str, body: Doc, content_type: str = JSON, dry_run: bool = False
    ) -> ApiResponse | ProbeFailure:
        """Send a change once; `dry_run`: the server only says whether it would accept it."""
        query = {**FIELD_MANAGER, "dryRun": "All"} if dry_run else FIELD_MANAGER
        response = self._sender.send(method, path, query, body, content_type)
        return response if response.ok else self.not_made(response, right)

    def unknown(self, response: ApiResponse, right: str) -> Unknown:
        """The response as an unknown fact, with the missing right. Raises Unauthorized: nothing more can be read."""
        error = self._refusal_error(response, right)
        return Unknown(f"to {right}, {response.summary}") if error is None else Unknown(error.message, right)

    def not_made(self, response: ApiResponse, right: str) -> ProbeFailure:
        """Why the change was not made. Raises: as `unknown`."""
        error = self._refusal_error(response, right)
        if error is not None:
            return ProbeFailure(error.message, right)
        return ProbeFailure(
            f"to {right}, {response.summary}", is_uncertain=response.outcome_unknown, may_retry=response.code == 429
        )

    def _refusal_error(self, response: ApiResponse, right: str) -> ClusterError | None:
        error = refusal_error(response, right, self._namespace)
        if isinstance(error, Unauthorized):
            raise Unauthorized(error.message, "Sign in again, and retry the test.")
        return error


# Objects that are created in a live cluster and never overwritten.


_ESCALATION_MESSAGE = "is attempting to grant RBAC permissions not currently held"
"""The creator of a role must hold its permissions (Kubernetes, RBAC: privilege escalation prevention)."""
_RULE_IN_MESSAGE = re.compile(
    r"\{(?:APIGroups:\[([^]]*)\], Resources|NonResourceURLs):\[([^]]*)\], Verbs:\[([^]]*)\]\}"
)
"""How the API server writes a rule that the user does not hold: pkg/registry/rbac/validation, CompactString, its lists
by Go's %q."""


class LiveObjectWriter:
    """A `in_cluster.apply.ObjectCreator`. Mutable: it holds connections."""

    def __init__(self, sender: ApiWriter) -> None:
        self._sender = sender

    def create(self, doc: Doc, dry: bool = False) -> ObjectNotCreated | None:
        """As `in_cluster.apply.ObjectCreator.create`."""
        query = {**FIELD_MANAGER, **({"dryRun": "All"} if dry else {})}
        response = self._sender.send("POST", _object_path(doc), query, doc, JSON)
        return None if response.ok else _not_placed(response, doc)

    def there(self, doc: Doc) -> Doc | Absent | Unknown:
        """As `in_cluster.apply.ObjectCreator.there`."""
        response = self._sender.send("GET", f"{_object_path(doc)}/{nested_string(doc, 'metadata', 'name')}", {}, None)
        if response.code == 404:
            return Absent(response.message)
        return (
            response.doc
            if response.ok
            else Unknown(_not_placed(response, doc, "get").why, f"get {BY_KIND[doc['kind']].full_name}")
        )

    def remove(self, doc: Doc) -> ObjectNotCreated | None:
        """As `in_cluster.apply.ObjectCreator.remove`."""
        path = f"{_object_path(doc)}/{nested_string(doc, 'metadata', 'name')}"
        response = self._sender.send("DELETE", path, {"propagationPolicy": "Background"}, None)
        return None if response.ok or response.code == 404 else _not_placed(response, doc, "delete")


def _object_path(doc: Doc) -> str:
    return BY_KIND[doc["kind"]].path_in(nested_string(doc, "metadata", "namespace"))


def _not_placed(response: ApiResponse, doc: Doc, verb: str = "create") -> ObjectNotCreated:
    right = f"{verb} {BY_KIND[doc['kind']].full_name}"
    error = refusal_error(response, right, nested_string(doc, "metadata", "namespace"))
    if isinstance(error, Unauthorized):
        raise Unauthorized(error.message, "Sign in again, and retry.")
    if error is not None:
        return ObjectNotCreated(response.message, right)
    if response.code == 403 and _ESCALATION_MESSAGE in response.message:
        rights = tuple(_rights_in(response.message))
        reason = f"you cannot give it rights that you have not yourself: {'; '.join(rights) or response.message}"
        opt_ins = "; ".join(f"opt-in {each.description}" for each in opt_ins_for(rights))
        return ObjectNotCreated(f"{reason} ({opt_ins})" if opt_ins else reason, f"escalate {right.split()[1]}")
    return ObjectNotCreated(
        response.summary,
        already_exists=response.code == 409,
        lacks_dependency=response.code == 404,
        is_uncertain=response.outcome_unknown,
    )


def _rights_in(message: str) -> Iterator[str]:
    """The permissions in the message: ``list nodes``, ``create pods/eviction``, ``get /metrics``."""
    for groups, resources, verbs in _RULE_IN_MESSAGE.findall(message):
        for group in _quoted_words(groups) or [""]:
            for resource in _quoted_words(resources):
                plural, _, subresource = resource.partition("/") if not resource.startswith("/") else (resource, "", "")
                resource_name = f"{plural}.{group}" if group else plural
                target = f"{resource_name}/{subresource}" if subresource else resource_name
                yield from (f"{verb} {target}" for verb in _quoted_words(verbs))


def _quoted_words(text: str) -> list[str]:
    return re.findall(r'"([^"]*)"', text)


# ConfigMaps of a live cluster, written by server-side apply with the field manager of this tool.


APPLY_PATCH = "application/apply-patch+yaml"
"""The body is JSON, which is valid YAML."""
PATCH_CONFIG_MAPS = "patch configmaps"
_CONFLICT = "FieldManagerConflict"
_OWNER = re.compile(r'conflict with "([^"]*)"')


class ConfigMapApplier:
    """A `coredns_lameduck.apply._ConfigMaps`. Mutable: it holds connections."""

    def __init__(self, sender: ApiWriter) -> None:
        self._sender = sender

    def apply(self, doc: Doc, force: bool = False, dry: bool = False) -> ApplyResult | ApplyConflicts:
        """As `coredns_lameduck.apply._ConfigMaps.apply`."""
        namespace, name = str(nested_field(doc, "metadata", "namespace")), str(nested_field(doc, "metadata", "name"))
        query = {**FIELD_MANAGER, "force": str(force).lower(), **({"dryRun": "All"} if dry else {})}
        path = f"/api/v1/namespaces/{namespace}/configmaps/{name}"
        response = self._sender.send("PATCH", path, query, doc, APPLY_PATCH)
        if response.ok:
            return ApplyResult(response.doc)
        conflicts = _conflicts(response)
        if conflicts:
            return ApplyConflicts(conflicts)
        raise change_error(
            response,
            f"ConfigMap {namespace}/{name}",
            PATCH_CONFIG_MAPS,
            f"configmap {name} -n {namespace}",
            namespace,
            dry,
        )


def _conflicts(response: ApiResponse) -> tuple[ApplyConflict, ...]:
    status = response.status
    if response.code != 409 or not isinstance(status, ApiStatus) or status.details is None:
        return ()
    causes = (cause for cause in status.details.causes if cause.reason == _CONFLICT)
    return tuple(sorted(ApplyConflict(cause.field, _manager_name(cause.message)) for cause in causes))


def _manager_name(message: str) -> str:
    match = _OWNER.search(message)
    return match.group(1) if match is not None else message


# SelfSubjectAccessReviews: which permissions the user has, checked before a change, as ``kubectl auth can-i`` does.


ACCESS_REVIEWS_PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_CREATE_ACCESS_REVIEWS = "create selfsubjectaccessreviews.authorization.k8s.io"
_BASIC_USER_HINT = "The ClusterRole system:basic-user gives it to everybody who is signed in: is it still bound?"


def denied_permissions(sender: RequestSender, permissions: Iterable[Permission]) -> tuple[Permission, ...]:
    """Those of `permissions` that the user does not have; without a decision of the server, the request itself will
    show it. Raises ConfigError: a credential cannot be obtained."""
    return tuple(
        each
        for each in permissions
        if _allowed_field(sender.send("POST", ACCESS_REVIEWS_PATH, {}, _review_document(each))) is False
    )


def review_permissions(sender: RequestSender, permissions: Iterable[Permission]) -> tuple[AccessReview, ...]:
    """A review of each of `permissions`, in order. After a request without an answer no further request is sent.

    Raises:
        ConfigError: a credential cannot be obtained.
        Unreachable: the first request got no answer.
        Unauthorized: the credentials are not accepted.
        Forbidden: the user may not create access reviews.
    """
    reviews: list[AccessReview] = []
    no_answer = ""
    for permission in permissions:
        if no_answer:
            reviews.append(AccessReview(permission, None, no_answer))
            continue
        response = sender.send("POST", ACCESS_REVIEWS_PATH, {}, _review_document(permission))
        if not reviews:
            if not response.code:
                raise Unreachable(f"the API server gave no answer: {response.message}")
            if response.code == 401:
                raise Unauthorized(f"the credentials are not accepted: {response.message}", "Sign in again, and retry.")
            if response.code == 403:
                raise Forbidden(
                    f"the cluster refuses {_CREATE_ACCESS_REVIEWS}: {response.message}",
                    _BASIC_USER_HINT,
                    _CREATE_ACCESS_REVIEWS,
                )
        no_answer = "" if response.code else response.summary
        reviews.append(AccessReview(permission, _decision(response), _reason_undecided(response)))
    return tuple(reviews)


def _decision(response: ApiResponse) -> bool | None:
    """None: unknown. A denial with an evaluation error is unknown: the error may be its cause
    (SubjectAccessReviewStatus)."""
    allowed = _allowed_field(response)
    return None if allowed is False and nested_field(response.doc, "status", "evaluationError") else allowed


def _allowed_field(response: ApiResponse) -> bool | None:
    allowed = nested_field(response.doc, "status", "allowed") if response.ok else None
    return allowed if isinstance(allowed, bool) else None


def _reason_undecided(response: ApiResponse) -> str:
    """Why there is no decision; "" where there is one."""
    if _decision(response) is not None:
        return ""
    if not response.code:
        return response.summary
    error = nested_field(response.doc, "status", "evaluationError")
    if isinstance(error, str) and error:
        return f"the server could not tell: {error}"
    return (
        f"the server answered {response.code} without a decision{f': {response.message}' if response.message else ''}"
    )


def _review_document(permission: Permission) -> Doc:
    if permission.is_url:
        spec: Doc = {"nonResourceAttributes": {"verb": permission.verb, "path": permission.resource.plural}}
    else:
        attributes = {
            "verb": permission.verb,
            "group": permission.resource.group,
            "resource": permission.resource.plural,
        }
        more = {"subresource": permission.subresource, "namespace": permission.namespace}
        spec = {"resourceAttributes": {**attributes, **{name: word for name, word in more.items() if word}}}
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}
