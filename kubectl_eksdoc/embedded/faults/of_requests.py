"""Faults that clients meet: answers that are not those of the API, that are late, or that never come."""

from __future__ import annotations

from collections.abc import Callable

from kubectl_eksdoc.embedded.faults.named import Given, Named, Of, Takes
from kubectl_eksdoc.embedded.serving import faults
from kubectl_eksdoc.embedded.serving.faults import (
    EVICTIONS,
    CutShort,
    Delayed,
    Doubled,
    Dropped,
    Effect,
    Fault,
    Lost,
    Moment,
    Swallowed,
    WatchCut,
    WatchDelayed,
    WatchDoubled,
    WatchExpired,
    WatchSilent,
)
from kubectl_eksdoc.embedded.serving.targets import Request

UPDATES = "PUT|PATCH"
WRITES = "POST|PUT|PATCH|DELETE"


def _any(effect: Callable[[Given], Effect | Callable[[Request], Effect | None]]) -> Callable[[Given], Fault]:
    return lambda given: Fault(effect(given), share=given.share)


def _evicting(effect: Callable[[Given], Effect]) -> Callable[[Given], Fault]:
    return lambda given: Fault(effect(given), EVICTIONS, "POST", share=given.share)


def _writing(effect: Callable[[Given], Effect], methods: str = WRITES) -> Callable[[Given], Fault]:
    return lambda given: Fault(effect(given), method=methods, share=given.share)


REQUESTS = (
    Named(
        "throttled",
        "429 of priority and fairness, with a Retry-After",
        _any(lambda given: faults.throttled(max(1, round(given.number)))),
        Of.REQUESTS,
        Takes.SECONDS,
        1.0,
    ),
    Named(
        "over-budget",
        "429: evictions are refused as by a budget that is used up",
        _evicting(lambda given: faults.over_budget(given.text)),
        Of.REQUESTS,
        Takes.BUDGET,
        "busy",
    ),
    Named(
        "budget-unseen",
        ("429 with Retry-After: 10: evictions are refused as for a budget that its controller has not processed yet"),
        _evicting(lambda given: faults.processing(given.text)),
        Of.REQUESTS,
        Takes.BUDGET,
        "busy",
    ),
    Named(
        "server-error",
        "500: the server's storage has no leader",
        _any(lambda given: faults.broken()),
        Of.REQUESTS,
    ),
    Named(
        "unavailable",
        "503 with Retry-After: 1: the server is about to stop",
        _any(lambda given: faults.broken(503)),
        Of.REQUESTS,
    ),
    Named(
        "server-timeout",
        "504: the server timed out, and the request is executed all the same",
        _any(lambda given: faults.timed_out()),
        Of.REQUESTS,
    ),
    Named(
        "conflict",
        "409: updates and patches are refused, as another client wrote in between",
        lambda given: Fault(faults.conflicting, method=UPDATES, share=given.share),
        Of.REQUESTS,
    ),
    Named(
        "list-expired",
        "410: the next page of a list is refused, its continue token being too old",
        lambda given: Fault(faults.expiring_answer, method="GET", watches=False, share=given.share),
        Of.REQUESTS,
    ),
    Named(
        "forbidden",
        "403: RBAC refuses, be it any resource or this one",
        _any(lambda given: faults.forbidding(given.text)),
        Of.REQUESTS,
        Takes.RESOURCE,
    ),
    Named(
        "denied",
        "403: a validating webhook refuses writes",
        _writing(lambda given: faults.denied(given.text, "not today")),
        Of.REQUESTS,
        Takes.WEBHOOK,
        "guard.example.io",
    ),
    Named(
        "webhook-down",
        "500: writes are refused, as a webhook that must be asked does not answer",
        _writing(lambda given: faults.webhook_down(given.text)),
        Of.REQUESTS,
        Takes.WEBHOOK,
        "guard.example.io",
    ),
    Named(
        "slow",
        "the server receives a request this many real seconds late",
        _any(lambda given: Delayed(given.number)),
        Of.REQUESTS,
        Takes.SECONDS,
        5.0,
    ),
    Named("unanswered", "no answer, and the connection stays open", _any(lambda given: Dropped()), Of.REQUESTS),
    Named("reset", "the connection breaks, and nothing was done", _any(lambda given: Lost()), Of.REQUESTS),
    Named(
        "answer-lost",
        "the connection breaks after the request was executed, and the client gets no answer",
        _any(lambda given: Lost(Moment.AFTER)),
        Of.REQUESTS,
    ),
    Named("cut-short", "the connection breaks in the middle of an answer", _any(lambda given: CutShort()), Of.REQUESTS),
    Named(
        "repeated",
        "the server receives a write twice, as from a proxy that retries",
        _writing(lambda given: Doubled()),
        Of.REQUESTS,
    ),
    Named(
        "swallowed",
        "evictions are granted and nothing happens, as with a webhook that makes dry runs of them",
        _evicting(lambda given: Swallowed()),
        Of.REQUESTS,
    ),
)


# Faults that those who watch meet.


def _watching(effect: Callable[[Given], Effect]) -> Callable[[Given], Fault]:
    return lambda given: Fault(effect(given), watches=True, share=given.share)


WATCHES = (
    Named(
        "watch-cut",
        "a watch's connection ends after so many events",
        _watching(lambda given: WatchCut(int(given.number))),
        Of.REQUESTS,
        Takes.EVENTS,
        1.0,
    ),
    Named(
        "watch-expired",
        "410: a watch ends after so many events, its version being too old",
        _watching(lambda given: WatchExpired(int(given.number))),
        Of.REQUESTS,
        Takes.EVENTS,
        0.0,
    ),
    Named(
        "watch-late",
        "a watch's events come so many real seconds late",
        _watching(lambda given: WatchDelayed(given.number)),
        Of.REQUESTS,
        Takes.SECONDS,
        5.0,
    ),
    Named("watch-doubled", "each event of a watch comes twice", _watching(lambda given: WatchDoubled()), Of.REQUESTS),
    Named(
        "watch-silent",
        "a watch tells nothing, and its connection stays open",
        _watching(lambda given: WatchSilent()),
        Of.REQUESTS,
    ),
)
