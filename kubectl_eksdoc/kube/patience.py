"""How long a request is waited for, how often it is made again and how much is taken; time and chance as ports."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic


@dataclass(frozen=True, slots=True)
class Patience:
    """Times in seconds. `silence` bounds each wait for bytes when the user sets no --request-timeout.

    A kube-apiserver ends its own requests after 60 s, so a longer silence means that nobody is there. `refused`: so
    long credentials or rights must be refused until that is believed by who reads for as long as a run goes on.
    `answer_bytes` bounds an answer, as it is sent and unzipped: etcd takes objects of 1.5 MiB, and a page of 2,000 pods
    has some 20 MiB.
    """

    tries: int = 5
    tries_to_connect: int = 3
    first_pause: float = 0.5
    longest_pause: float = 8.0
    longest_retry_after: float = 30.0
    connect: float = 10.0
    silence: float = 75.0
    refused: float = 30.0
    answer_bytes: int = 256 << 20

    def pause_s(self, count: int, chance: float) -> float:
        """After that many failures in a row; `chance` in [0, 1) shortens it, by half at most."""
        pause = min(self.first_pause * 2.0 ** min(count - 1, 30), self.longest_pause)
        return pause * (0.5 + chance / 2)


@dataclass(frozen=True, slots=True)
class Timing:
    """`sleep` takes seconds, `monotonic` gives them, `chance` is in [0, 1)."""

    sleep: Callable[[float], object]
    monotonic: Callable[[], float] = monotonic
    chance: Callable[[], float] = random.random


def real_timing() -> Timing:
    # An Event waits like sleep, but lets Ctrl-C through at once on every platform.
    return Timing(threading.Event().wait)
