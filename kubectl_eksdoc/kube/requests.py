"""Requests beside reading: changes, each sent once, objects and ConfigMaps that are made, and what we may do."""

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
    """`doc`: the object that came back, {} where none did. `date`: the server's clock by its Date header (a second
    fine), None without one. A Retry-After is in the status's details, wherever it stood."""

    answer: ApiStatus | LostAnswer
    doc: Doc
    date: datetime | None = None

    @property
    def code(self) -> int:
        """0 where nobody answered."""
        return self.answer.code if isinstance(self.answer, ApiStatus) else 0

    @property
    def ok(self) -> bool:
        return 200 <= self.code < 300

    @property
    def said(self) -> str:
        return self.answer.said if isinstance(self.answer, LostAnswer) else self.answer.message

    @property
    def told(self) -> str:
        """The same as a clause."""
        return (
            f"the server answered {self.code}: {self.said}" if self.code else f"the server gave no answer: {self.said}"
        )

    @property
    def unknown(self) -> bool:
        """Whether what was asked for may have been done all the same: no answer, or one that says nothing of it."""
        return self.code == 0 or self.code >= 500

    @property
    def retry_s(self) -> float:
        details = self.answer.details if isinstance(self.answer, ApiStatus) else None
        return float(details.retry_after_s) if details is not None else 0.0


UNASKED = SentRequest(LostAnswer("no request was sent"), {})


class RequestSender(Protocol):
    """Sends once: who asks decides whether it may be sent again. It waits for an answer much shorter than a lock is
    held (some 10 s): who waits longer cannot renew."""

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: Doc | None, content_type: str = JSON
    ) -> SentRequest:
        """Refusals are answers, and so is silence; an expired credential was made anew before 401 is told.

        Raises:
            ConfigError: a credential cannot be had.
        """
        ...


@frozen
class Clock:
    """Time as a port. `monotonic`: seconds that never go back and go on while this machine sleeps; `now`: this
    machine's wall clock, to be shown and never compared with another's."""

    monotonic: Callable[[], float]
    now: Callable[[], datetime]
    sleep: Callable[[float], object]


def real_clock() -> Clock:
    return Clock(awake_and_asleep, utc_now, time.sleep)


def awake_and_asleep() -> float:
    """Linux's CLOCK_MONOTONIC stands still while the machine is suspended (man 2 clock_gettime): a laptop that is
    opened again would believe that its lock is fresh. macOS's goes on, unlike what Python calls monotonic."""
    which = getattr(time, "CLOCK_BOOTTIME", None) or getattr(time, "CLOCK_MONOTONIC", None)
    return time.monotonic() if which is None else time.clock_gettime(which)


def refused(sent: SentRequest, right: str, namespace: str) -> ClusterError | None:
    """The error of an answer that trying again will not change and that says who we are or what we may; None for any
    other. `right` as RBAC writes it: ``patch configmaps``."""
    if sent.code == 401:
        return Unauthorized(f"the credentials are not accepted any more: {sent.said}", "Sign in again, then resume.")
    # A webhook and a namespace that is being deleted answer 403, too.
    if sent.code == 403 and " cannot " in sent.said:
        look = f"kubectl auth can-i {right}{f' -n {namespace}' if namespace else ''}"
        return Forbidden(f"the cluster refuses {right}: {sent.said}", f"Ask for the right, or look: {look}", right)
    return None


# Requests that change something: each is sent once, and ends in the server's answer, or in nobody knowing.


Fence = Callable[[], object]
"""Raises LockLost where nothing must be sent any more. Asked from several threads."""


def unfenced() -> None:
    """Nothing is to be held."""


def not_taken(sent: SentRequest, what: str, right: str, look_at: str, namespace: str, dry: bool) -> EksdocError:
    """Why a change of one object was not made; `look_at`: its kind, name and namespace, as kubectl get takes them."""
    if sent.code in (404, 409):
        return Drifted(f"{what} is not as it was: {sent.said}", "Nothing was changed. Look again.")
    if error := refused(sent, right, namespace):
        return error
    if sent.unknown and not dry:
        look = f"Look: kubectl get {look_at} -o yaml"
        return ClusterError(f"it is unknown whether {what} was changed: {sent.said}", look)
    return ClusterRefused(f"the API server does not take the change of {what}: {sent.said}", "Nothing was changed.")


class ApiWriter:
    """One cluster's API, for writing. Safe to use from several threads.

    A request is sent again only where nothing can have been done: after a 401 with newer credentials, and after a
    connection that did not come about. Whatever else breaks down is `LostAnswer`. Each time the fence is asked right
    before: making credentials, a connection that does not come and the pauses between take longer than a lock may be
    held.
    """

    def __init__(self, exchanges: Exchanges, fence: Fence = unfenced, confirm: Fence = unfenced) -> None:
        """`fence` asks nobody itself, and is asked before each byte; `confirm` asks the cluster whether the lock is
        still ours, once before each try, and may raise other errors of a cluster: then it is not sent either."""
        self._exchanges = exchanges
        self._fence = fence
        self._confirm = confirm

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: Doc | None, content_type: str = JSON
    ) -> SentRequest:
        """
        Raises:
            LockLost: the fence does, and nothing that could have been done was sent.
        """
        url = self._exchanges.url(path, query)
        sent = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        try:
            answer = self._answer(method, url, sent, content_type if body is not None else "")
        except ExchangeFailed as failure:
            return SentRequest(LostAnswer(failure.error.message), {})
        except ClusterError as error:  # no credentials, or a certificate that cannot be used: it was not sent
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


# How long one write is tried again, and what it waits between: for whoever must know how it ended.


@frozen
class RetryLimits:
    """Times in seconds. `patience_s`: after so long no further try is begun; a server that is replaced is away for some
    30 s."""

    patience_s: float = 45.0
    first_pause_s: float = 0.2
    longest_pause_s: float = 4.0
    longest_asked_s: float = 10.0

    def each(self, clock: Clock) -> Iterator[Pause]:
        """One for every try; before the next one, its pause is slept."""
        begun, pause_s = clock.monotonic(), self.first_pause_s
        while True:
            pause = Pause(pause_s, self.longest_asked_s, clock.monotonic() - begun)
            yield pause
            if clock.monotonic() - begun + pause.seconds > self.patience_s:
                return
            clock.sleep(pause.seconds)
            pause_s = min(pause_s * 2, self.longest_pause_s)


class Pause:
    """Mutable: what the answer asks for is added to it. `tried_s`: so long it had been tried when this try began."""

    def __init__(self, seconds: float, longest_s: float, tried_s: float = 0.0) -> None:
        self.seconds = seconds
        self.tried_s = tried_s
        self._longest_s = longest_s

    def after(self, sent: SentRequest) -> None:
        self.seconds = max(self.seconds, min(sent.retry_s, self._longest_s))


# Questions to an API server, and small changes, of which every answer is kept: a refusal, and that none came, too.


class Cautious:
    """In one namespace. Mutable: it holds a connection."""

    def __init__(
        self, access: ApiAccess, patience: RetryPolicy, namespace: str, clock: Clock, tries: RetryLimits
    ) -> None:
        self._sender = ApiWriter(Exchanges(access, patience, real_timing()))
        self._namespace = namespace
        self._clock = clock
        self._tries = tries

    def once(self, path: str, query: Mapping[str, str]) -> SentRequest:
        """A question that is not asked again: the next one comes soon anyway."""
        return self._sender.send("GET", path, query, None)

    def asked(
        self, method: str, path: str, query: Mapping[str, str] | None = None, body: Doc | None = None
    ) -> SentRequest:
        """Asked again while nobody answers, or says that it cannot just now: what may be done twice."""
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
        """Sent once; `dry`: the server only says whether it would."""
        query = {**MANAGER, "dryRun": "All"} if dry else MANAGER
        sent = self._sender.send(method, path, query, body, content)
        return sent if sent.ok else self.not_made(sent, right)

    def unknown(self, sent: SentRequest, right: str) -> Unknown:
        """
        Raises:
            Unauthorized: nothing more can be asked.
        """
        error = self._refused(sent, right)
        return Unknown(f"to {right}, {sent.told}") if error is None else Unknown(error.message, right)

    def not_made(self, sent: SentRequest, right: str) -> NotMade:
        """Raises: as `unknown`."""
        error = self._refused(sent, right)
        if error is not None:
            return NotMade(error.message, right)
        return NotMade(f"to {right}, {sent.told}", maybe=sent.unknown, later=sent.code == 429)

    def _refused(self, sent: SentRequest, right: str) -> ClusterError | None:
        error = refused(sent, right, self._namespace)
        if isinstance(error, Unauthorized):
            raise Unauthorized(error.message, "Sign in again, and retry the test.")
        return error


# Objects of a live cluster that are created and never written over.


_ESCALATES = "is attempting to grant RBAC permissions not currently held"
"""Whoever creates a role must have its rights (Kubernetes, RBAC: privilege escalation prevention)."""
_RULE = re.compile(r"\{(?:APIGroups:\[([^]]*)\], Resources|NonResourceURLs):\[([^]]*)\], Verbs:\[([^]]*)\]\}")
"""How a rule is written that is not held: pkg/registry/rbac/validation, CompactString, its lists by Go's %q."""


class LiveObjectWriter:
    """A `in_cluster.apply.PlacingGround`. Mutable: it holds connections."""

    def __init__(self, sender: ApiWriter) -> None:
        self._sender = sender

    def create(self, doc: Doc, dry: bool = False) -> NotPlaced | None:
        """As `in_cluster.apply.PlacingGround.create`."""
        query = {**MANAGER, **({"dryRun": "All"} if dry else {})}
        sent = self._sender.send("POST", _path(doc), query, doc, JSON)
        return None if sent.ok else _not_placed(sent, doc)

    def there(self, doc: Doc) -> Doc | Absent | Unknown:
        """As `in_cluster.apply.PlacingGround.there`."""
        sent = self._sender.send("GET", f"{_path(doc)}/{text_at(doc, 'metadata', 'name')}", {}, None)
        if sent.code == 404:
            return Absent(sent.said)
        return (
            sent.doc if sent.ok else Unknown(_not_placed(sent, doc, "get").why, f"get {OF_KIND[doc['kind']].full_name}")
        )

    def remove(self, doc: Doc) -> NotPlaced | None:
        """As `in_cluster.apply.PlacingGround.remove`."""
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
    """As the tool names them: ``list nodes``, ``create pods/eviction``, ``get /metrics``."""
    for groups, resources, verbs in _RULE.findall(said):
        for group in _words(groups) or [""]:
            for resource in _words(resources):
                plural, _, subresource = resource.partition("/") if not resource.startswith("/") else (resource, "", "")
                full = f"{plural}.{group}" if group else plural
                of = f"{full}/{subresource}" if subresource else full
                yield from (f"{verb} {of}" for verb in _words(verbs))


def _words(text: str) -> list[str]:
    return re.findall(r'"([^"]*)"', text)


# ConfigMaps of a live cluster, applied by server-side apply as this tool's field manager.


APPLY_PATCH = "application/apply-patch+yaml"
"""JSON is YAML, too."""
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


# Asks the API server what we may do, before anything is done: as ``kubectl auth can-i`` does.


PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_RIGHT = "create selfsubjectaccessreviews.authorization.k8s.io"
_EVERYBODY = "The ClusterRole system:basic-user gives it to everybody who is signed in: is it still bound?"


def denied(sender: RequestSender, asked: Iterable[Permission]) -> tuple[Permission, ...]:
    """Those of `asked` that we do not have. Where the server does not answer that, it is found out when it is needed.

    Raises:
        ConfigError: a credential cannot be had.
    """
    return tuple(each for each in asked if _allowed(sender.send("POST", PATH, {}, _review(each))) is False)


def reviewed(sender: RequestSender, asked: Iterable[Permission]) -> tuple[Review, ...]:
    """Each of `asked`, in its order. After a question without any answer no other is asked.

    Raises:
        ConfigError: a credential cannot be had.
        Unreachable: the first question got no answer.
        Unauthorized: the credentials are not accepted.
        Forbidden: not even that may be asked.
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
    """An error while it was evaluated may be why it is not allowed: that says nothing (SubjectAccessReviewStatus)."""
    allowed = _allowed(sent)
    return None if allowed is False and at(sent.doc, "status", "evaluationError") else allowed


def _allowed(sent: SentRequest) -> bool | None:
    allowed = at(sent.doc, "status", "allowed") if sent.ok else None
    return allowed if isinstance(allowed, bool) else None


def _why(sent: SentRequest) -> str:
    """ "" where the server has decided."""
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
