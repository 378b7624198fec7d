"""Faults on demand: what goes wrong between a client and an API server, and the webhooks that stand between them.

A fault is a rule (which requests, which of them) and an effect. They are deterministic: the same requests in the same
order meet the same faults. What goes wrong in the cluster itself is in `core.sim.cluster.mishaps`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from threading import Lock

from kubectl_eksdoc.core.rules.api.statuses import Cause, Details, Status, expired
from kubectl_eksdoc.embedded.serving.messages import Answering, ConnectionLost, Reply, Request, status_reply
from kubectl_eksdoc.objects.single import encode


class Moment(Enum):
    BEFORE = "before"  # nothing was done
    AFTER = "after"  # it was done, and nobody is told


@dataclass(frozen=True, slots=True)
class Answered:
    """Another answer in the place of the server's, which never hears of the request."""

    status: Status

    def reply(self) -> Reply:
        return status_reply(self.status)


@dataclass(frozen=True, slots=True)
class Lost:
    """The connection breaks, before or after the server did what it was asked."""

    moment: Moment = Moment.BEFORE


@dataclass(frozen=True, slots=True)
class Delayed:
    """The server hears of it that many real seconds later."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Doubled:
    """The server hears of it twice, as by a proxy that tries again; the second answer is the one that arrives."""


@dataclass(frozen=True, slots=True)
class Swallowed:
    """A mutating webhook makes a dry run of it: it succeeds, and nothing happens (as pod-graceful-drain does)."""


@dataclass(frozen=True, slots=True)
class WatchExpired:
    """A watch begins, and tells at once that its version is too old."""


Effect = Answered | Lost | Delayed | Doubled | Swallowed | WatchExpired


@dataclass(frozen=True, slots=True)
class Fault:
    """`path` is a regular expression that must be found in the path; `watches`: only watches, or (False) all others.

    Of the requests it fits the first `skip` pass, then `times` of them meet `effect` (0: all).
    """

    effect: Effect
    path: str = ""
    method: str = ""
    watches: bool | None = None
    skip: int = 0
    times: int = 0

    def fits(self, request: Request) -> bool:
        if self.method and request.method != self.method:
            return False
        if self.watches is not None and self.watches is not request.flag("watch"):
            return False
        return re.search(self.path, request.path) is not None


EVICTIONS = r"/eviction$"


def conflict(name: str = "pod") -> Answered:
    """409: somebody else wrote in between."""
    text = "the object has been modified; please apply your changes to the latest version and try again"
    message = f'Operation cannot be fulfilled on pods "{name}": {text}'
    return Answered(Status(409, "Conflict", message, Details(name, "", "pods")))


def throttled(seconds: int = 1) -> Answered:
    """429 of priority and fairness: no cause, and a Retry-After."""
    message = "too many requests, please try again later"
    return Answered(Status(429, "TooManyRequests", message, Details(retry_after_s=seconds)))


def over_budget(budget: str, seconds: int = 0) -> Answered:
    """429 of a budget."""
    cause = Cause("DisruptionBudget", f"The disruption budget {budget} does not allow evicting pods currently")
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    return Answered(Status(429, "TooManyRequests", message, Details(causes=(cause,), retry_after_s=seconds)))


def broken(code: int = 500) -> Answered:
    """500: the server's storage has no leader; 503: it is starting or stopping."""
    if code == 503:
        return Answered(Status(503, "ServiceUnavailable", "the server is currently unable to handle the request"))
    return Answered(Status(500, "InternalError", "Internal error occurred: etcdserver: leader changed"))


def denied(webhook: str, why: str) -> Answered:
    """403 of a validating webhook."""
    return Answered(Status(403, "Forbidden", f'admission webhook "{webhook}" denied the request: {why}', Details()))


class Faulty:
    """A handler with faults in front of it; the first that fits a request and is due is the one it meets."""

    def __init__(self, handler: Answering, faults: Sequence[Fault], sleep: Callable[[float], None]) -> None:
        self._handler = handler
        self._faults = faults
        self._sleep = sleep
        self._seen = [0] * len(faults)
        self._lock = Lock()

    def handle(self, request: Request) -> Reply:
        """
        Raises:
            ConnectionLost
        """
        effect = self._due(request)
        if effect is None:
            return self._handler.handle(request)
        if isinstance(effect, Answered):
            return effect.reply()
        if isinstance(effect, WatchExpired):
            event = {"type": "ERROR", "object": expired("too old resource version: 1 (2)").status.doc()}
            return Reply(200, stream=iter([encode(event) + b"\n"]))
        if isinstance(effect, Swallowed):
            return self._handler.handle(replace(request, query={**request.query, "dryRun": ("All",)}))
        if isinstance(effect, Delayed):
            self._sleep(effect.seconds)
        if isinstance(effect, Lost) and effect.moment is Moment.BEFORE:
            raise ConnectionLost
        reply = self._handler.handle(request)
        if isinstance(effect, Lost):
            raise ConnectionLost
        return self._handler.handle(request) if isinstance(effect, Doubled) else reply

    def _due(self, request: Request) -> Effect | None:
        with self._lock:
            for i, fault in enumerate(self._faults):
                if not fault.fits(request):
                    continue
                self._seen[i] += 1
                number = self._seen[i] - fault.skip
                if number > 0 and (not fault.times or number <= fault.times):
                    return fault.effect
        return None
