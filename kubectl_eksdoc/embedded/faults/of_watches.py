"""Faults that those who watch meet."""

from __future__ import annotations

from collections.abc import Callable

from kubectl_eksdoc.embedded.faults.named import Given, Named, Of, Takes
from kubectl_eksdoc.embedded.serving.faults import (
    Effect,
    Fault,
    WatchCut,
    WatchDelayed,
    WatchDoubled,
    WatchExpired,
    WatchSilent,
)


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
