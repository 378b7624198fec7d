"""The mark that an eviction leaves on a pod, and how long it stays on one that was not deleted."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from kubectl_eksdoc.kubernetes.evictions import (
    BY_EVICTION,
    EVICTING,
    STALE_AFTER,
    DisruptionTarget,
    after_sync,
    stale_in,
)
from tests import raw_facts
from tests.builders import NOW, a_pod, ago

EVICTED = DisruptionTarget("True", NOW, BY_EVICTION, EVICTING)


def test_a_real_server_marked_the_pod_it_evicted_alike() -> None:
    exchange = next(e for e in raw_facts.lines("recordings/exchanges.jsonl.gz") if e["name"] == "pod after eviction")
    held = raw_facts.condition(exchange["response"]["body"], "DisruptionTarget")
    at = raw_facts.when(held["lastTransitionTime"])
    assert at is not None
    recorded = DisruptionTarget(held["status"], at, held["reason"], held["message"], held.get("observedGeneration", 0))
    assert replace(EVICTED, since=at) == recorded


@pytest.mark.parametrize(("age", "left"), [(0, 120), (119, 1), (120, 0), (500, 0)])
def test_how_long_a_mark_stays(age: int, left: int) -> None:
    assert stale_in(a_pod(), replace(EVICTED, since=ago(age)), NOW) == timedelta(seconds=left)


def test_a_mark_without_a_time_is_old() -> None:
    assert stale_in(a_pod(), DisruptionTarget("True"), NOW) == timedelta(0)


@pytest.mark.parametrize(
    "held",
    [
        None,
        DisruptionTarget("False", ago(500)),
        DisruptionTarget("Unknown", ago(500)),
        DisruptionTarget("True", ago(500), reason="TerminationByKubelet"),
    ],
)
def test_what_is_never_taken_back(held: DisruptionTarget | None) -> None:
    assert stale_in(a_pod(), held, NOW) is None
    assert after_sync(a_pod(), held, NOW) == held


def test_what_is_taken_back_loses_its_reason() -> None:
    now = NOW + STALE_AFTER
    assert after_sync(a_pod(), EVICTED, now, generation=3) == DisruptionTarget("False", now, observed_generation=3)
    assert after_sync(a_pod(), EVICTED, NOW, generation=3) == EVICTED
