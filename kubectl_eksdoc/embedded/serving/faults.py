"""Faults on demand: what goes wrong between a client and an API server, and the webhooks that stand between them.

A fault is a rule (which requests, which of them) and an effect. They are deterministic: the same requests in the same
order meet the same faults. What goes wrong in the cluster itself is in `core.sim.cluster.mishaps`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from threading import Lock

from kubectl_eksdoc.core.rules.api.statuses import Status
from kubectl_eksdoc.core.sim.cluster.chance import of_text
from kubectl_eksdoc.embedded.serving import fault_streams
from kubectl_eksdoc.embedded.serving.messages import (
    Answering,
    ConnectionLost,
    Reply,
    Request,
    Unanswered,
    status_reply,
)

Sleep = Callable[[float], object]


class Moment(Enum):
    BEFORE = "before"  # nothing was done
    AFTER = "after"  # it was done, and nobody is told


@dataclass(frozen=True, slots=True)
class Answered:
    """Another answer in the place of the server's, which never hears of the request, or has done it already. `plain`:
    its message is sent as text, as what stands before the API does; `headers` are more of them."""

    status: Status
    moment: Moment = Moment.BEFORE
    plain: bool = False
    headers: tuple[tuple[str, str], ...] = ()

    def reply(self) -> Reply:
        made = status_reply(self.status)
        headers = {**made.headers, **dict(self.headers)}
        if self.plain:
            return Reply(self.status.code, f"{self.status.message}\n".encode(), "text/plain; charset=utf-8", headers)
        return replace(made, headers=headers)


@dataclass(frozen=True, slots=True)
class Lost:
    """The connection breaks, before or after the server did what it was asked."""

    moment: Moment = Moment.BEFORE


@dataclass(frozen=True, slots=True)
class Dropped:
    """It is never answered, and the connection stays open until the client gives it up."""

    moment: Moment = Moment.BEFORE


@dataclass(frozen=True, slots=True)
class CutShort:
    """The answer ends in its middle, with the connection."""


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
    """A watch tells that its version is too old, at once or after so many events, and ends."""

    after: int = 0


@dataclass(frozen=True, slots=True)
class WatchCut:
    """A watch's connection ends after so many events, in the middle of its answer."""

    after: int = 1


@dataclass(frozen=True, slots=True)
class WatchDelayed:
    """Events come that many real seconds late."""

    seconds: float


@dataclass(frozen=True, slots=True)
class WatchDoubled:
    """Each event comes twice."""


@dataclass(frozen=True, slots=True)
class WatchSilent:
    """A watch never tells anything, and its connection stays open."""


OfWatches = WatchExpired | WatchCut | WatchDelayed | WatchDoubled | WatchSilent
Effect = Answered | Lost | Dropped | CutShort | Delayed | Doubled | Swallowed | OfWatches


@dataclass(frozen=True, slots=True)
class Fault:
    """`path` is a regular expression that must be found in the path; `method` may be several (``PUT|PATCH``);
    `watches`: only watches, or (False) all others. `effect` may be made for the request; None: it does not fit.

    Of the requests it fits the first `skip` pass, then each meets `effect` with the chance `share`, until `times` of
    them have (0: without an end).
    """

    effect: Effect | Callable[[Request], Effect | None]
    path: str = ""
    method: str = ""
    watches: bool | None = None
    skip: int = 0
    times: int = 0
    share: float = 1.0

    def fits(self, request: Request) -> bool:
        if self.method and request.method not in self.method.split("|"):
            return False
        if self.watches is not None and self.watches is not request.flag("watch"):
            return False
        return re.search(self.path, request.path) is not None

    def of(self, request: Request) -> Effect | None:
        """What it does to a request that fits."""
        return self.effect(request) if callable(self.effect) else self.effect


EVICTIONS = r"/eviction$"


class Chosen:
    """Chooses what each request meets: the first fault that fits and is due. Mutable, and safe in several threads.

    Chance is drawn for the how manieth request of its kind it is (method and path), so that what other clients ask for
    meanwhile changes nothing.
    """

    def __init__(self, faults: Sequence[Fault], seed: int = 0) -> None:
        self._faults = tuple(faults)
        self._seed = seed
        self._fitting = [0] * len(self._faults)
        self._met = [0] * len(self._faults)
        self._alike: Counter[tuple[int, str]] = Counter()
        self._lock = Lock()

    def effect(self, request: Request) -> Effect | None:
        for place, fault in enumerate(self._faults):
            if fault.fits(request):
                effect = fault.of(request)
                if effect is not None and self._due(place, fault, request):
                    return effect
        return None

    def _due(self, place: int, fault: Fault, request: Request) -> bool:
        with self._lock:
            self._fitting[place] += 1
            if self._fitting[place] <= fault.skip or (fault.times and self._met[place] >= fault.times):
                return False
            if fault.share < 1.0:
                kind = f"{request.method} {request.path}"
                self._alike[place, kind] += 1
                if of_text(self._seed, f"{place} {kind} {self._alike[place, kind]}") >= fault.share:
                    return False
            self._met[place] += 1
            return True


class Faulty:
    """A handler with faults in front of it."""

    def __init__(self, handler: Answering, faults: Sequence[Fault], sleep: Sleep, seed: int = 0) -> None:
        """`sleep` lets real seconds pass."""
        self._handler = handler
        self._chosen = Chosen(faults, seed)
        self._sleep = sleep

    def handle(self, request: Request) -> Reply:
        """
        Raises:
            ConnectionLost
            Unanswered
        """
        effect = self._chosen.effect(request)
        match effect:
            case WatchExpired() | WatchCut() | WatchDelayed() | WatchDoubled() | WatchSilent():
                return self._watched(request, effect)
            case Answered(moment=Moment.BEFORE):
                return effect.reply()
            case Lost(Moment.BEFORE):
                raise ConnectionLost
            case Dropped(Moment.BEFORE):
                raise Unanswered
            case Swallowed():
                return self._handler.handle(replace(request, query={**request.query, "dryRun": ("All",)}))
            case Delayed(seconds):
                self._sleep(seconds)
        return self._done(request, effect, self._handler.handle(request))

    def _done(self, request: Request, effect: Effect | None, reply: Reply) -> Reply:
        """The answer to what was done."""
        match effect:
            case Answered():
                return effect.reply()
            case Lost():
                raise ConnectionLost
            case Dropped():
                raise Unanswered
            case Doubled():
                return self._handler.handle(request)
            case CutShort() if reply.stream is None and reply.body:
                return replace(reply, sent=len(reply.body) // 2)
        return reply

    def _watched(self, request: Request, effect: OfWatches) -> Reply:
        """A watch that is refused is answered as ever."""
        version = request.word("resourceVersion")
        if isinstance(effect, WatchExpired) and not effect.after:
            return Reply(200, stream=iter([fault_streams.too_old(version)]))
        reply = self._handler.handle(request)
        if reply.stream is None:
            return reply
        return replace(reply, stream=self._changed(effect, reply.stream))

    def _changed(self, effect: OfWatches, pieces: Iterator[bytes]) -> Iterator[bytes]:
        match effect:
            case WatchExpired(after):
                return fault_streams.expiring(pieces, after)
            case WatchCut(after):
                return fault_streams.cut(pieces, after)
            case WatchDelayed(seconds):
                return fault_streams.delayed(pieces, lambda: self._sleep(seconds))
            case WatchDoubled():
                return fault_streams.doubled(pieces)
            case WatchSilent():
                return fault_streams.silent(pieces)
