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
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostAnswer
from kubectl_eksdoc.model.api_objects import AppliedObject, Conflict, Conflicting, Doc, at, text_at
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.permissions import Permission, Review, opt_ins_of
from kubectl_eksdoc.model.placing import OF_KIND, NotMade, NotPlaced

from .config import ApiAccess
from .exchanges import ExchangeFailed, Exchanges, RetryPolicy, real_timing
from .pools import asked_before_each_byte
from .responses import HttpAnswer, status_of
from .target import Credential, utc_now

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
MANAGER: Mapping[str, str] = {"fieldManager": "eksdoc"}


class SentRequest(NamedTuple):
    """The result of one request. `doc`: the returned object, or {}. `date`: the server's clock by its Date header (to
    the second), or None. A Retry-After of header or body is in the details of the status."""

    answer: ApiStatus | LostAnswer
    doc: Doc
    date: datetime | None = None

    @property
    def code(self) -> int:
        """The HTTP status; 0 where no answer came."""
        return self.answer.code if isinstance(self.answer, ApiStatus) else 0

    @property
    def ok(self) -> bool:
        return 200 <= self.code < 300

    @property
    def said(self) -> str:
        return self.answer.said if isinstance(self.answer, LostAnswer) else self.answer.message

    @property
    def told(self) -> str:
        """The message as a clause: ``the server answered 403: …``."""
        return (
            f"the server answered {self.code}: {self.said}" if self.code else f"the server gave no answer: {self.said}"
        )

    @property
    def unknown(self) -> bool:
        """Whether the request may have taken effect: no answer came, or one (5xx) that does not tell."""
        return self.code == 0 or self.code >= 500

    @property
    def retry_s(self) -> float:
        details = self.answer.details if isinstance(self.answer, ApiStatus) else None
        return float(details.retry_after_s) if details is not None else 0.0


UNASKED = SentRequest(LostAnswer("no request was sent"), {})


class RequestSender(Protocol):
    """Sends a request once; the caller decides about a retry. The time limit for an answer is much shorter than the
    duration of a lock (some 10 s): a longer wait would prevent the renewal of the lock."""

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: Doc | None, content_type: str = JSON
    ) -> SentRequest:
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
    return Clock(awake_and_asleep, utc_now, time.sleep)


def awake_and_asleep() -> float:
    """Seconds since boot, with suspend. Linux's CLOCK_MONOTONIC stops during suspend (man 2 clock_gettime): a resumed
    laptop would take its lock for fresh. macOS's continues, unlike the one that Python calls monotonic."""
    which = getattr(time, "CLOCK_BOOTTIME", None) or getattr(time, "CLOCK_MONOTONIC", None)
    return time.monotonic() if which is None else time.clock_gettime(which)


def refused(sent: SentRequest, right: str, namespace: str) -> ClusterError | None:
    """The error of a refusal of credentials or permissions, which a retry will not change; None for any other response.
    `right` as RBAC writes it: ``patch configmaps``."""
    if sent.code == 401:
        return Unauthorized(f"the credentials are not accepted any more: {sent.said}", "Sign in again, then resume.")
    # Admission webhooks and a namespace that is being deleted answer 403, too.
    if sent.code == 403 and " cannot " in sent.said:
        look = f"kubectl auth can-i {right}{f' -n {namespace}' if namespace else ''}"
        return Forbidden(f"the cluster refuses {right}: {sent.said}", f"Ask for the right, or look: {look}", right)
    return None


# Requests that change something: each is sent once, and ends with the server's answer or with an unknown outcome.


Fence = Callable[[], object]
"""Raises LockLost where nothing must be sent any more. Called from several threads."""


def unfenced() -> None:
    """A fence for callers that need no lock."""


def not_taken(sent: SentRequest, what: str, right: str, look_at: str, namespace: str, dry: bool) -> EksdocError:
    """Why a change of one object was not made; `kubectl_object`: its kind, name and namespace, as kubectl get takes
    them."""
    if sent.code in (404, 409):
        return Drifted(f"{what} is not as it was: {sent.said}", "Nothing was changed. Look again.")
    if error := refused(sent, right, namespace):
        return error
    if sent.unknown and not dry:
        look = f"Look: kubectl get {look_at} -o yaml"
        return ClusterError(f"it is unknown whether {what} was changed: {sent.said}", look)
    return ClusterRefused(f"the API server does not take the change of {what}: {sent.said}", "Nothing was changed.")


class ApiWriter:
    """The API of one cluster, for writing. Safe to use from several threads.

    A request is sent again only where the first one cannot have taken effect: after a 401 with newer credentials, and
    after a connection that could not be opened. Any other failure is a `LostAnswer`. The fence is called right before
    each try, because credentials, failed connections and pauses can take longer than the lock is held.
    """

    def __init__(self, exchanges: Exchanges, fence: Fence = unfenced, confirm: Fence = unfenced) -> None:
        """`fence` sends no request, and is called before each byte. `confirm` asks the cluster once before each try
        whether the lock is still held; other cluster errors of it also prevent the request."""
        self._exchanges = exchanges
        self._fence = fence
        self._confirm = confirm

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: Doc | None, content_type: str = JSON
    ) -> SentRequest:
        """Raises LockLost: the fence raised it, and no request that could have taken effect was sent."""
        url = self._exchanges.url(path, query)
        sent = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        try:
            answer = self._answer(method, url, sent, content_type if body is not None else "")
        except ExchangeFailed as failure:
            return SentRequest(LostAnswer(failure.error.message), {})
        except ClusterError as error:  # no credentials, or an unusable certificate: it was not sent
            return SentRequest(LostAnswer(error.message), {})
        status, document = status_of(answer), answer.document
        return SentRequest(status, {} if document.get("kind") == "Status" else dict(document), answer.date)

    def _answer(self, method: str, url: str, body: bytes | None, content_type: str) -> HttpAnswer:
        exchanges, patience, timing = self._exchanges, self._exchanges.patience, self._exchanges.timing

        def once(given: Credential) -> HttpAnswer:
            self._confirm()
            self._fence()
            with asked_before_each_byte(self._fence):
                return exchanges.once(given, url, method, body, content_type)

        tried = 0
        while True:
            try:
                return exchanges.admitted(once)
            except ExchangeFailed as failure:
                tried += 1
                if not failure.unsent or tried >= patience.tries_to_connect:
                    raise
            timing.sleep(patience.pause_s(tried, timing.chance()))


# How long one write is retried, and the pauses between tries: for callers that must know its outcome.


@frozen
class RetryLimits:
    """Times in seconds. No further try begins after `give_up_s`; an API server that is being replaced is away for some
    30 s."""

    patience_s: float = 45.0
    first_pause_s: float = 0.2
    longest_pause_s: float = 4.0
    longest_asked_s: float = 10.0

    def each(self, clock: Clock) -> Iterator[Pause]:
        """Yield one attempt per try, and sleep its pause before the next one."""
        begun, pause_s = clock.monotonic(), self.first_pause_s
        while True:
            pause = Pause(pause_s, self.longest_asked_s, clock.monotonic() - begun)
            yield pause
            if clock.monotonic() - begun + pause.seconds > self.patience_s:
                return
            clock.sleep(pause.seconds)
            pause_s = min(pause_s * 2, self.longest_pause_s)


class Pause:
    """One try. Mutable: `respect_retry_after` can lengthen the pause. `elapsed_s`: time between the first try and the
    begin of this one."""

    def __init__(self, seconds: float, longest_s: float, tried_s: float = 0.0) -> None:
        self.seconds = seconds
        self.tried_s = tried_s
        self._longest_s = longest_s

    def after(self, sent: SentRequest) -> None:
        self.seconds = max(self.seconds, min(sent.retry_s, self._longest_s))


# Reads and small changes whose every outcome is returned, refusals and missing answers included.


class Cautious:
    """Sends requests about one namespace. Mutable: it holds a connection."""

    def __init__(
        self, access: ApiAccess, patience: RetryPolicy, namespace: str, clock: Clock, tries: RetryLimits
    ) -> None:
        self._sender = ApiWriter(Exchanges(access, patience, real_timing()))
        self._namespace = namespace
        self._clock = clock
        self._tries = tries

    def once(self, path: str, query: Mapping[str, str]) -> SentRequest:
        """A GET without a retry, for callers that poll."""
        return self._sender.send("GET", path, query, None)

    def asked(
        self, method: str, path: str, query: Mapping[str, str] | None = None, body: Doc | None = None
    ) -> SentRequest:
        """Send an idempotent request, and retry while there is no answer, a 5xx or a 429."""
        sent = UNASKED
        for pause in self._tries.each(self._clock):
            sent = self._sender.send(method, path, query or {}, body, JSON)
            if not sent.unknown and sent.code != 429:
                return sent
            pause.after(sent)
        return sent

    def changed(
        self, method: str, path: str, right: str, body: Doc, content: str = JSON, dry: bool = False
    ) -> SentRequest | NotMade:
        """Send a change once; `dry_run`: the server only says whether it would accept it."""
        query = {**MANAGER, "dryRun": "All"} if dry else MANAGER
        sent = self._sender.send(method, path, query, body, content)
        return sent if sent.ok else self.not_made(sent, right)

    def unknown(self, sent: SentRequest, right: str) -> Unknown:
        """The response as an unknown fact, with the missing right. Raises Unauthorized: nothing more can be read."""
        error = self._refused(sent, right)
        return Unknown(f"to {right}, {sent.told}") if error is None else Unknown(error.message, right)

    def not_made(self, sent: SentRequest, right: str) -> NotMade:
        """Why the change was not made. Raises: as `unknown`."""
        error = self._refused(sent, right)
        if error is not None:
            return NotMade(error.message, right)
        return NotMade(f"to {right}, {sent.told}", maybe=sent.unknown, later=sent.code == 429)

    def _refused(self, sent: SentRequest, right: str) -> ClusterError | None:
        error = refused(sent, right, self._namespace)
        if isinstance(error, Unauthorized):
            raise Unauthorized(error.message, "Sign in again, and retry the test.")
        return error


# Objects that are created in a live cluster and never overwritten.


_ESCALATES = "is attempting to grant RBAC permissions not currently held"
"""The creator of a role must hold its permissions (Kubernetes, RBAC: privilege escalation prevention)."""
_RULE = re.compile(r"\{(?:APIGroups:\[([^]]*)\], Resources|NonResourceURLs):\[([^]]*)\], Verbs:\[([^]]*)\]\}")
"""How the API server writes a rule that the user does not hold: pkg/registry/rbac/validation, CompactString, its lists
by Go's %q."""


class LiveObjectWriter:
    """A `in_cluster.apply.ObjectCreator`. Mutable: it holds connections."""

    def __init__(self, sender: ApiWriter) -> None:
        self._sender = sender

    def create(self, doc: Doc, dry: bool = False) -> NotPlaced | None:
        """As `in_cluster.apply.ObjectCreator.create`."""
        query = {**MANAGER, **({"dryRun": "All"} if dry else {})}
        sent = self._sender.send("POST", _path(doc), query, doc, JSON)
        return None if sent.ok else _not_placed(sent, doc)

    def there(self, doc: Doc) -> Doc | Absent | Unknown:
        """As `in_cluster.apply.ObjectCreator.there`."""
        sent = self._sender.send("GET", f"{_path(doc)}/{text_at(doc, 'metadata', 'name')}", {}, None)
        if sent.code == 404:
            return Absent(sent.said)
        return (
            sent.doc if sent.ok else Unknown(_not_placed(sent, doc, "get").why, f"get {OF_KIND[doc['kind']].full_name}")
        )

    def remove(self, doc: Doc) -> NotPlaced | None:
        """As `in_cluster.apply.ObjectCreator.remove`."""
        path = f"{_path(doc)}/{text_at(doc, 'metadata', 'name')}"
        sent = self._sender.send("DELETE", path, {"propagationPolicy": "Background"}, None)
        return None if sent.ok or sent.code == 404 else _not_placed(sent, doc, "delete")


def _path(doc: Doc) -> str:
    return OF_KIND[doc["kind"]].path_in(text_at(doc, "metadata", "namespace"))


def _not_placed(sent: SentRequest, doc: Doc, verb: str = "create") -> NotPlaced:
    right = f"{verb} {OF_KIND[doc['kind']].full_name}"
    error = refused(sent, right, text_at(doc, "metadata", "namespace"))
    if isinstance(error, Unauthorized):
        raise Unauthorized(error.message, "Sign in again, and retry.")
    if error is not None:
        return NotPlaced(sent.said, right)
    if sent.code == 403 and _ESCALATES in sent.said:
        rights = tuple(_rights_in(sent.said))
        why = f"you cannot give it rights that you have not yourself: {'; '.join(rights) or sent.said}"
        opted = "; ".join(f"opt-in {each.said}" for each in opt_ins_of(rights))
        return NotPlaced(f"{why} ({opted})" if opted else why, f"escalate {right.split()[1]}")
    return NotPlaced(sent.told, taken=sent.code == 409, lacking=sent.code == 404, maybe=sent.unknown)


def _rights_in(said: str) -> Iterator[str]:
    """The permissions in the message: ``list nodes``, ``create pods/eviction``, ``get /metrics``."""
    for groups, resources, verbs in _RULE.findall(said):
        for group in _words(groups) or [""]:
            for resource in _words(resources):
                plural, _, subresource = resource.partition("/") if not resource.startswith("/") else (resource, "", "")
                full = f"{plural}.{group}" if group else plural
                of = f"{full}/{subresource}" if subresource else full
                yield from (f"{verb} {of}" for verb in _words(verbs))


def _words(text: str) -> list[str]:
    return re.findall(r'"([^"]*)"', text)


# ConfigMaps of a live cluster, written by server-side apply with the field manager of this tool.


APPLY_PATCH = "application/apply-patch+yaml"
"""The body is JSON, which is valid YAML."""
RIGHT = "patch configmaps"
_CONFLICT = "FieldManagerConflict"
_OWNER = re.compile(r'conflict with "([^"]*)"')


class AppliedMaps:
    """A `coredns_lameduck.apply._ConfigMaps`. Mutable: it holds connections."""

    def __init__(self, sender: ApiWriter) -> None:
        self._sender = sender

    def apply(self, doc: Doc, force: bool = False, dry: bool = False) -> AppliedObject | Conflicting:
        """As `coredns_lameduck.apply._ConfigMaps.apply`."""
        namespace, name = str(at(doc, "metadata", "namespace")), str(at(doc, "metadata", "name"))
        query = {**MANAGER, "force": str(force).lower(), **({"dryRun": "All"} if dry else {})}
        path = f"/api/v1/namespaces/{namespace}/configmaps/{name}"
        sent = self._sender.send("PATCH", path, query, doc, APPLY_PATCH)
        if sent.ok:
            return AppliedObject(sent.doc)
        conflicts = _conflicts(sent)
        if conflicts:
            return Conflicting(conflicts)
        raise not_taken(
            sent, f"ConfigMap {namespace}/{name}", RIGHT, f"configmap {name} -n {namespace}", namespace, dry
        )


def _conflicts(sent: SentRequest) -> tuple[Conflict, ...]:
    answer = sent.answer
    if sent.code != 409 or not isinstance(answer, ApiStatus) or answer.details is None:
        return ()
    found = (cause for cause in answer.details.causes if cause.reason == _CONFLICT)
    return tuple(sorted(Conflict(cause.where, _owner(cause.message)) for cause in found))


def _owner(message: str) -> str:
    match = _OWNER.search(message)
    return match.group(1) if match is not None else message


# SelfSubjectAccessReviews: which permissions the user has, checked before a change, as ``kubectl auth can-i`` does.


PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_RIGHT = "create selfsubjectaccessreviews.authorization.k8s.io"
_EVERYBODY = "The ClusterRole system:basic-user gives it to everybody who is signed in: is it still bound?"


def denied(sender: RequestSender, asked: Iterable[Permission]) -> tuple[Permission, ...]:
    """Those of `permissions` that the user does not have; without a decision of the server, the request itself will
    show it. Raises ConfigError: a credential cannot be obtained."""
    return tuple(each for each in asked if _allowed(sender.send("POST", PATH, {}, _review(each))) is False)


def reviewed(sender: RequestSender, asked: Iterable[Permission]) -> tuple[Review, ...]:
    """A review of each of `permissions`, in order. After a request without an answer no further request is sent.

    Raises:
        ConfigError: a credential cannot be obtained.
        Unreachable: the first request got no answer.
        Unauthorized: the credentials are not accepted.
        Forbidden: the user may not create access reviews.
    """
    found: list[Review] = []
    silent = ""
    for each in asked:
        if silent:
            found.append(Review(each, None, silent))
            continue
        sent = sender.send("POST", PATH, {}, _review(each))
        if not found:
            if not sent.code:
                raise Unreachable(f"the API server gave no answer: {sent.said}")
            if sent.code == 401:
                raise Unauthorized(f"the credentials are not accepted: {sent.said}", "Sign in again, and retry.")
            if sent.code == 403:
                raise Forbidden(f"the cluster refuses {_RIGHT}: {sent.said}", _EVERYBODY, _RIGHT)
        silent = "" if sent.code else sent.told
        found.append(Review(each, _decided(sent), _why(sent)))
    return tuple(found)


def _decided(sent: SentRequest) -> bool | None:
    """None: unknown. A denial with an evaluation error is unknown: the error may be its cause
    (SubjectAccessReviewStatus)."""
    allowed = _allowed(sent)
    return None if allowed is False and at(sent.doc, "status", "evaluationError") else allowed


def _allowed(sent: SentRequest) -> bool | None:
    allowed = at(sent.doc, "status", "allowed") if sent.ok else None
    return allowed if isinstance(allowed, bool) else None


def _why(sent: SentRequest) -> str:
    """Why there is no decision; "" where there is one."""
    if _decided(sent) is not None:
        return ""
    if not sent.code:
        return sent.told
    error = at(sent.doc, "status", "evaluationError")
    if isinstance(error, str) and error:
        return f"the server could not tell: {error}"
    return f"the server answered {sent.code} without a decision{f': {sent.said}' if sent.said else ''}"


def _review(asked: Permission) -> Doc:
    if asked.is_url:
        of: Doc = {"nonResourceAttributes": {"verb": asked.verb, "path": asked.resource.plural}}
    else:
        attributes = {"verb": asked.verb, "group": asked.resource.group, "resource": asked.resource.plural}
        more = {"subresource": asked.subresource, "namespace": asked.namespace}
        of = {"resourceAttributes": {**attributes, **{name: word for name, word in more.items() if word}}}
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": of}
