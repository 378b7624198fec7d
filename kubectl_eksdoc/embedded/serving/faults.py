"""Faults of requests: failures between a client and an API server, and of the webhooks between them.

A fault is a rule (which requests, which of them) and an effect. Faults are deterministic: the same requests in the same
order meet the same faults. Faults of the cluster itself are in `simulator.faults`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from enum import Enum
from threading import Lock

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, StatusCause, StatusDetails, expired, modified
from kubectl_eksdoc.kubernetes.evictions import PROCESSING_RETRY_SECONDS, WOULD_VIOLATE
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.objects.single import encode
from kubectl_eksdoc.simulator.chance import text_fraction

from .reading import TOO_OLD_TO_CONTINUE
from .requests import (
    ADMIN,
    Action,
    ConnectionLost,
    NoAnswer,
    Reply,
    RequestHandler,
    ServedRequest,
    forbidden_status,
    parse_path,
    rbac_verb,
    status_reply,
)

# Faults of watches: streams of events that are cut, delayed, duplicated, expired or silent.
#
# Source of the texts: apiserver pkg/storage/cacher/watch_cache_history.go and pkg/storage/etcd3/watcher.go, as a 1.36
# server answered them (tests/data/recordings).


def too_old_event(version: str) -> bytes:
    """Return the only event of a watch whose version is older than the watch cache."""
    oldest = int(version) + 1 if version.isascii() and version.isdigit() else 2
    return _error_event(f"too old resource version: {version or 1} ({oldest})")


def expire_after(pieces: Iterator[bytes], event_count: int) -> Iterator[bytes]:
    """Yield `event_count` events, and then the error of a compacted etcd."""
    yield from _first_events(pieces, event_count)
    yield _error_event("The resourceVersion for the provided watch is too old.")


def cut_after(pieces: Iterator[bytes], event_count: int) -> Iterator[bytes]:
    """Yield `event_count` events.

    Raises:
        ConnectionLost: after them; the stream ends without a proper end.
    """
    yield from _first_events(pieces, event_count)
    raise ConnectionLost


def delay_events(pieces: Iterator[bytes], sleep: Callable[[], object]) -> Iterator[bytes]:
    for piece in pieces:
        if piece:
            sleep()
        yield piece


def double_events(pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        yield b"".join(line + line for line in piece.splitlines(keepends=True))


def silence_events(pieces: Iterator[bytes]) -> Iterator[bytes]:
    for _ in pieces:
        yield b""


def _first_events(pieces: Iterator[bytes], count: int) -> Iterator[bytes]:
    """Yield the first events; fewer if the stream ends before."""
    for piece in pieces:
        lines = piece.splitlines(keepends=True)[:count]
        yield b"".join(lines)
        count -= len(lines)
        if not count:
            return


def _error_event(text: str) -> bytes:
    return encode({"type": "ERROR", "object": expired(text).status.to_document()}) + b"\n"


Sleep = Callable[[float], object]


class FaultMoment(Enum):
    BEFORE = "before"  # the server does nothing
    AFTER = "after"  # the server does it, and the response is lost


@frozen
class FaultyAnswer:
    """A response in place of the server's, which either never receives the request or has done it already. `plain`: the
    message is sent as text, as from a proxy in front of the API; `headers`: additional headers."""

    status: ApiStatus
    moment: FaultMoment = FaultMoment.BEFORE
    plain: bool = False
    headers: tuple[tuple[str, str], ...] = ()

    def reply(self) -> Reply:
        status_only = status_reply(self.status)
        headers = {**status_only.headers, **dict(self.headers)}
        if self.plain:
            return Reply(self.status.code, f"{self.status.message}\n".encode(), "text/plain; charset=utf-8", headers)
        return replace(status_only, headers=headers)


@frozen
class BrokenConnection:
    """The connection breaks before or after the server handled the request."""

    moment: FaultMoment = FaultMoment.BEFORE


@frozen
class Dropped:
    """The request gets no response, and the connection stays open until the client closes it."""

    moment: FaultMoment = FaultMoment.BEFORE


@frozen
class CutShort:
    """The response and the connection end in the middle."""


@frozen
class Delayed:
    """The server receives the request that many real seconds later."""

    seconds: float


@frozen
class DuplicatedRequest:
    """The server receives the request twice, as from a proxy that retries; the client gets the second response."""


@frozen
class SwallowedEviction:
    """A mutating webhook makes it a dry run: it succeeds without effect (as pod-graceful-drain does)."""


@frozen
class WatchExpired:
    """A watch reports that its version is too old, at once or after so many events, and ends."""

    event_count: int = 0


@frozen
class WatchCut:
    """A watch's connection ends after so many events, in the middle of its response."""

    event_count: int = 1


@frozen
class WatchDelayed:
    """Events arrive that many real seconds late."""

    seconds: float


@frozen
class WatchDoubled:
    """Each event arrives twice."""


@frozen
class WatchSilent:
    """A watch never reports anything, and its connection stays open."""


WatchEffect = WatchExpired | WatchCut | WatchDelayed | WatchDoubled | WatchSilent
Effect = (
    FaultyAnswer | BrokenConnection | Dropped | CutShort | Delayed | DuplicatedRequest | SwallowedEviction | WatchEffect
)


@frozen
class Fault:
    """`path`: a regular expression that must match in the path; `method` may be several (``PUT|PATCH``); `watches`:
    only watches, or (False) all others. `effect` may be computed from the request; None: the request does not match.

    Of the matching requests the first `skip` pass, then each meets `effect` with probability `share`, until `times` of
    them have (0: unlimited).
    """

    effect: Effect | Callable[[ServedRequest], Effect | None]
    path: str = ""
    method: str = ""
    watches: bool | None = None
    skip: int = 0
    times: int = 0
    share: float = 1.0

    def matches(self, request: ServedRequest) -> bool:
        if self.method and request.method not in self.method.split("|"):
            return False
        if self.watches is not None and self.watches is not request.flag("watch"):
            return False
        return re.search(self.path, request.path) is not None

    def effect_on(self, request: ServedRequest) -> Effect | None:
        """Return the effect on a matching request."""
        return self.effect(request) if callable(self.effect) else self.effect


EVICTIONS = r"/eviction$"


class _FaultSelector:
    """Selects the effect on each request: the first fault that matches and is due. Mutable and thread-safe.

    The random value depends on the ordinal number of the request among those with its method and path, so that requests
    of other clients change nothing.
    """

    def __init__(self, faults: Sequence[Fault], seed: int = 0) -> None:
        self._faults = tuple(faults)
        self._seed = seed
        self._matches = [0] * len(self._faults)
        self._effects = [0] * len(self._faults)
        self._requests_by_kind: Counter[tuple[int, str]] = Counter()
        self._lock = Lock()

    def effect(self, request: ServedRequest) -> Effect | None:
        for index, fault in enumerate(self._faults):
            if fault.matches(request):
                effect = fault.effect_on(request)
                if effect is not None and self._is_due(index, fault, request):
                    return effect
        return None

    def _is_due(self, index: int, fault: Fault, request: ServedRequest) -> bool:
        with self._lock:
            self._matches[index] += 1
            if self._matches[index] <= fault.skip or (fault.times and self._effects[index] >= fault.times):
                return False
            if fault.share < 1.0:
                kind = f"{request.method} {request.path}"
                self._requests_by_kind[index, kind] += 1
                if text_fraction(self._seed, f"{index} {kind} {self._requests_by_kind[index, kind]}") >= fault.share:
                    return False
            self._effects[index] += 1
            return True


class FaultyHandler:
    """A request handler with faults in front of it."""

    def __init__(self, handler: RequestHandler, faults: Sequence[Fault], sleep: Sleep, seed: int = 0) -> None:
        """`sleep` waits real seconds."""
        self._handler = handler
        self._selector = _FaultSelector(faults, seed)
        self._sleep = sleep

    def handle(self, request: ServedRequest) -> Reply:
        """Handle a request with its fault.

        Raises:
            ConnectionLost
            NoAnswer
        """
        effect = self._selector.effect(request)
        match effect:
            case WatchExpired() | WatchCut() | WatchDelayed() | WatchDoubled() | WatchSilent():
                return self._handle_watch(request, effect)
            case FaultyAnswer(moment=FaultMoment.BEFORE):
                return effect.reply()
            case BrokenConnection(FaultMoment.BEFORE):
                raise ConnectionLost
            case Dropped(FaultMoment.BEFORE):
                raise NoAnswer
            case SwallowedEviction():
                return self._handler.handle(replace(request, query={**request.query, "dryRun": ("All",)}))
            case Delayed(seconds):
                self._sleep(seconds)
        # The response of the server.
        reply = self._handler.handle(request)
        match effect:
            case FaultyAnswer():
                return effect.reply()
            case BrokenConnection():
                raise ConnectionLost
            case Dropped():
                raise NoAnswer
            case DuplicatedRequest():
                return self._handler.handle(request)
            case CutShort() if reply.stream is None and reply.body:
                return replace(reply, sent_bytes=len(reply.body) // 2)
        return reply

    def _handle_watch(self, request: ServedRequest, effect: WatchEffect) -> Reply:
        """Handle a watch with a fault; a watch that the server refuses is unchanged."""
        version = request.parameter("resourceVersion")
        if isinstance(effect, WatchExpired) and not effect.event_count:
            return Reply(200, stream=iter([too_old_event(version)]))
        reply = self._handler.handle(request)
        if reply.stream is None:
            return reply
        return replace(reply, stream=self._with_effect(effect, reply.stream))

    def _with_effect(self, effect: WatchEffect, pieces: Iterator[bytes]) -> Iterator[bytes]:
        match effect:
            case WatchExpired(event_count):
                return expire_after(pieces, event_count)
            case WatchCut(event_count):
                return cut_after(pieces, event_count)
            case WatchDelayed(seconds):
                return delay_events(pieces, lambda: self._sleep(seconds))
            case WatchDoubled():
                return double_events(pieces)
            case WatchSilent():
                return silence_events(pieces)


# Error responses of a real server, in its words.
#
# Source: apiserver pkg/server/filters/priority-and-fairness.go and waitgroup.go, pkg/endpoints/handlers/finisher and
# responsewriters/status.go, pkg/admission/plugin/webhook/errors/statuserror.go, pkg/util/webhook/error.go; apimachinery
# pkg/api/errors/errors.go; pkg/registry/core/pod/storage/eviction.go. Kubernetes v1.36.


REFUSED_USER = ADMIN.name
"""The refused user: faults are in front of the API, which knows the real user."""

FLOW_SCHEMA = ("X-Kubernetes-PF-FlowSchema-UID", "5c6a2c2e-3b1d-4a0b-9d53-4f1f6a2f6f10")
"""With this header a client can distinguish priority and fairness from a budget."""


def conflict(name: str = "pod", plural: str = "pods", group: str = "") -> FaultyAnswer:
    """409: another client wrote in between."""
    return FaultyAnswer(modified(Resource("", plural, group), name).status)


def conflict_for(request: ServedRequest) -> FaultyAnswer | None:
    """409 for the requested object."""
    parsed_path = parse_path(request.path)
    return (
        conflict(parsed_path.name, parsed_path.plural, parsed_path.group)
        if parsed_path is not None and parsed_path.name
        else None
    )


def forbidden_for(resource: str = "") -> Callable[[ServedRequest], FaultyAnswer | None]:
    """403 for any request, or only for a resource, with RBAC's message."""

    def forbid(request: ServedRequest) -> FaultyAnswer | None:
        parsed_path = parse_path(request.path)
        if parsed_path is None:
            path = Action(request.method.lower(), path=request.path)
            return None if resource else FaultyAnswer(forbidden_status(REFUSED_USER, path))
        if resource and resource not in (parsed_path.plural, f"{parsed_path.plural}.{parsed_path.group}"):
            return None
        verb = rbac_verb(request, parsed_path.name)
        action = Action(
            verb,
            parsed_path.group,
            parsed_path.plural,
            parsed_path.subresource,
            parsed_path.namespace,
            parsed_path.name,
        )
        return FaultyAnswer(forbidden_status(REFUSED_USER, action))

    return forbid


def throttled_response(seconds: int = 1) -> FaultyAnswer:
    """429 of priority and fairness: text without Status or cause, and a Retry-After."""
    status = ApiStatus(429, "TooManyRequests", "Too many requests, please try again later.")
    return FaultyAnswer(status, plain=True, headers=(("Retry-After", str(seconds)), FLOW_SCHEMA))


def budget_response(budget: str, seconds: int = 0) -> FaultyAnswer:
    """429 of a budget that is used up; with `seconds`: of a budget whose status is behind its spec."""
    message = "is still being processed by the server." if seconds else "does not allow evicting pods currently"
    cause = StatusCause("DisruptionBudget", f"The disruption budget {budget} {message}")
    return FaultyAnswer(
        ApiStatus(429, "TooManyRequests", WOULD_VIOLATE, StatusDetails(causes=(cause,), retry_after_s=seconds))
    )


def budget_processing(budget: str) -> FaultyAnswer:
    """429 of a budget that was changed just now, with a Retry-After."""
    return budget_response(budget, PROCESSING_RETRY_SECONDS)


def server_error(code: int = 500) -> FaultyAnswer:
    """500: etcd has no leader, an unstructured error; 503: the server is shutting down."""
    if code == 503:
        return FaultyAnswer(
            ApiStatus(503, "ServiceUnavailable", "apiserver is shutting down"), headers=(("Retry-After", "1"),)
        )
    return FaultyAnswer(ApiStatus(500, "", "etcdserver: leader changed"))


def timeout_response(when: FaultMoment = FaultMoment.AFTER) -> FaultyAnswer:
    """504: the request took too long. In most cases it is done all the same."""
    text = "Timeout: request did not complete within requested timeout - context deadline exceeded"
    return FaultyAnswer(ApiStatus(504, "Timeout", text, StatusDetails()), when)


def webhook_denial(webhook: str, reason: str) -> FaultyAnswer:
    """403 of a validating webhook."""
    return FaultyAnswer(ApiStatus(403, "Forbidden", f'admission webhook "{webhook}" denied the request: {reason}'))


def webhook_failure(webhook: str) -> FaultyAnswer:
    """500: a required webhook (failurePolicy Fail) does not respond."""
    url = f"https://{webhook.partition('.')[0]}.webhooks.svc:443/?timeout=10s"
    reason = f'failed calling webhook "{webhook}": failed to call webhook: Post "{url}": context deadline exceeded'
    details = StatusDetails(causes=(StatusCause("", reason),))
    return FaultyAnswer(ApiStatus(500, "InternalError", f"Internal error occurred: {reason}", details))


def expired_list_for(request: ServedRequest) -> FaultyAnswer | None:
    """410: the continue token of a list is too old."""
    return FaultyAnswer(expired(TOO_OLD_TO_CONTINUE).status) if request.parameter("continue") else None
