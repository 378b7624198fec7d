"""Faults that clients meet: answers that are not those of the API, that are late, or that never come."""

from __future__ import annotations

from collections.abc import Callable

from kubectl_eksdoc.embedded.faults.named import FaultName, FaultParameters, FaultValueKind, ShareOf
from kubectl_eksdoc.embedded.serving import faults
from kubectl_eksdoc.embedded.serving.faults import (
    EVICTIONS,
    BrokenConnection,
    CutShort,
    Delayed,
    Dropped,
    DuplicatedRequest,
    Effect,
    Fault,
    FaultMoment,
    SwallowedEviction,
    WatchCut,
    WatchDelayed,
    WatchDoubled,
    WatchExpired,
    WatchSilent,
)
from kubectl_eksdoc.embedded.serving.targets import ServedRequest

UPDATES = "PUT|PATCH"
WRITES = "POST|PUT|PATCH|DELETE"


def _any(
    effect: Callable[[FaultParameters], Effect | Callable[[ServedRequest], Effect | None]],
) -> Callable[[FaultParameters], Fault]:
    return lambda given: Fault(effect(given), share=given.share)


def _evicting(effect: Callable[[FaultParameters], Effect]) -> Callable[[FaultParameters], Fault]:
    return lambda given: Fault(effect(given), EVICTIONS, "POST", share=given.share)


def _writing(effect: Callable[[FaultParameters], Effect], methods: str = WRITES) -> Callable[[FaultParameters], Fault]:
    return lambda given: Fault(effect(given), method=methods, share=given.share)


REQUESTS = (
    FaultName(
        "throttled",
        "429 of priority and fairness, with a Retry-After",
        _any(lambda given: faults.throttled(max(1, round(given.number)))),
        ShareOf.REQUESTS,
        FaultValueKind.SECONDS,
        1.0,
    ),
    FaultName(
        "over-budget",
        "429: evictions are refused as by a budget that is used up",
        _evicting(lambda given: faults.over_budget(given.text)),
        ShareOf.REQUESTS,
        FaultValueKind.BUDGET,
        "busy",
    ),
    FaultName(
        "budget-unseen",
        ("429 with Retry-After: 10: evictions are refused as for a budget that its controller has not processed yet"),
        _evicting(lambda given: faults.processing(given.text)),
        ShareOf.REQUESTS,
        FaultValueKind.BUDGET,
        "busy",
    ),
    FaultName(
        "server-error",
        "500: the server's storage has no leader",
        _any(lambda given: faults.broken()),
        ShareOf.REQUESTS,
    ),
    FaultName(
        "unavailable",
        "503 with Retry-After: 1: the server is about to stop",
        _any(lambda given: faults.broken(503)),
        ShareOf.REQUESTS,
    ),
    FaultName(
        "server-timeout",
        "504: the server timed out, and the request is executed all the same",
        _any(lambda given: faults.timed_out()),
        ShareOf.REQUESTS,
    ),
    FaultName(
        "conflict",
        "409: updates and patches are refused, as another client wrote in between",
        lambda given: Fault(faults.conflicting, method=UPDATES, share=given.share),
        ShareOf.REQUESTS,
    ),
    FaultName(
        "list-expired",
        "410: the next page of a list is refused, its continue token being too old",
        lambda given: Fault(faults.expiring_answer, method="GET", watches=False, share=given.share),
        ShareOf.REQUESTS,
    ),
    FaultName(
        "forbidden",
        "403: RBAC refuses, be it any resource or this one",
        _any(lambda given: faults.forbidding(given.text)),
        ShareOf.REQUESTS,
        FaultValueKind.RESOURCE,
    ),
    FaultName(
        "denied",
        "403: a validating webhook refuses writes",
        _writing(lambda given: faults.denied(given.text, "not today")),
        ShareOf.REQUESTS,
        FaultValueKind.WEBHOOK,
        "guard.example.io",
    ),
    FaultName(
        "webhook-down",
        "500: writes are refused, as a webhook that must be asked does not answer",
        _writing(lambda given: faults.webhook_down(given.text)),
        ShareOf.REQUESTS,
        FaultValueKind.WEBHOOK,
        "guard.example.io",
    ),
    FaultName(
        "slow",
        "the server receives a request this many real seconds late",
        _any(lambda given: Delayed(given.number)),
        ShareOf.REQUESTS,
        FaultValueKind.SECONDS,
        5.0,
    ),
    FaultName(
        "unanswered", "no answer, and the connection stays open", _any(lambda given: Dropped()), ShareOf.REQUESTS
    ),
    FaultName(
        "reset", "the connection breaks, and nothing was done", _any(lambda given: BrokenConnection()), ShareOf.REQUESTS
    ),
    FaultName(
        "answer-lost",
        "the connection breaks after the request was executed, and the client gets no answer",
        _any(lambda given: BrokenConnection(FaultMoment.AFTER)),
        ShareOf.REQUESTS,
    ),
    FaultName(
        "cut-short",
        "the connection breaks in the middle of an answer",
        _any(lambda given: CutShort()),
        ShareOf.REQUESTS,
    ),
    FaultName(
        "repeated",
        "the server receives a write twice, as from a proxy that retries",
        _writing(lambda given: DuplicatedRequest()),
        ShareOf.REQUESTS,
    ),
    FaultName(
        "swallowed",
        "evictions are granted and nothing happens, as with a webhook that makes dry runs of them",
        _evicting(lambda given: SwallowedEviction()),
        ShareOf.REQUESTS,
    ),
)


# Faults that those who watch meet.


def _watching(effect: Callable[[FaultParameters], Effect]) -> Callable[[FaultParameters], Fault]:
    return lambda given: Fault(effect(given), watches=True, share=given.share)


WATCHES = (
    FaultName(
        "watch-cut",
        "a watch's connection ends after so many events",
        _watching(lambda given: WatchCut(int(given.number))),
        ShareOf.REQUESTS,
        FaultValueKind.EVENTS,
        1.0,
    ),
    FaultName(
        "watch-expired",
        "410: a watch ends after so many events, its version being too old",
        _watching(lambda given: WatchExpired(int(given.number))),
        ShareOf.REQUESTS,
        FaultValueKind.EVENTS,
        0.0,
    ),
    FaultName(
        "watch-late",
        "a watch's events come so many real seconds late",
        _watching(lambda given: WatchDelayed(given.number)),
        ShareOf.REQUESTS,
        FaultValueKind.SECONDS,
        5.0,
    ),
    FaultName(
        "watch-doubled", "each event of a watch comes twice", _watching(lambda given: WatchDoubled()), ShareOf.REQUESTS
    ),
    FaultName(
        "watch-silent",
        "a watch tells nothing, and its connection stays open",
        _watching(lambda given: WatchSilent()),
        ShareOf.REQUESTS,
    ),
)
