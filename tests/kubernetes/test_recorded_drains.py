"""Two recorded drains by a real kubectl: the pods that it evicts, and every write of every budget.

Each write came from the eviction endpoint or from the disruption controller, which sees pods a few writes late. The
test computes both from the state before the write.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timezone

import pytest

from kubectl_eksdoc.kubernetes.budgets import ComputedStatus, recompute, with_result
from kubectl_eksdoc.kubernetes.drain_filters import (
    DaemonSetPresence,
    DrainFilterInput,
    DrainFilterOutcome,
    FilterOptions,
    run_filters,
)
from kubectl_eksdoc.kubernetes.evictions import evict
from kubectl_eksdoc.kubernetes.replacement import ScaleIndex
from kubectl_eksdoc.model.budgets import Budget
from tests import raw_facts
from tests.recorded_drains import DRAINS, Pods, asks, before_the_drain, events, scales_of

NOW = datetime(2026, 11, 20, 9, tzinfo=timezone.utc)

DRAINED = "old-0"
CONTROLLER_LAG = 10
"""How many writes of pods it may not have seen yet; with 6 one of the recordings is not explained."""


@pytest.mark.parametrize("watch", DRAINS)
def test_kubectl_evicts_whom_its_filters_let_go(watch: str) -> None:
    """Only namespace default was watched, so that the DaemonSet's pod that kubectl skipped is not in the recording."""
    asked = DrainFilterInput(FilterOptions(ignore_daemonsets=True), NOW, DaemonSetPresence.EXISTS)
    on_node = [p for p in before_the_drain(watch).values() if p.node == DRAINED]
    ours = {p.name for p in on_node if run_filters(p, asked).outcome is DrainFilterOutcome.DELETE}
    assert ours == {ask.pod for ask in asks(watch)}
    assert ours


def granted(before: Budget, after: Budget, pods: Pods) -> bool:
    """Whether the eviction endpoint turned `before` into `after`."""
    for name in after.disrupted.keys() - before.disrupted.keys():
        answer = evict(pods[name], (before,), after.disrupted[name])
        return answer.updated_budget == after
    return False


def controlled(before: Budget, after: Budget, seen: list[Pods], scales: ScaleIndex, now: datetime) -> bool:
    """Whether the controller made that write, with the pods as they were at one of the last few writes."""
    for pods in reversed(seen):
        selected = [p for p in pods.values() if before.selector.matches(p.labels)]
        result = recompute(before, selected, scales, now)
        if isinstance(result, ComputedStatus) and with_result(before, result) == after:
            return True
    return False


@pytest.mark.parametrize(("watch", "evictions", "syncs"), [("drain-watch", 6, 20), ("drain-refused-watch", 11, 32)])
def test_every_write_of_a_budget_is_an_eviction_or_a_sync(watch: str, evictions: int, syncs: int) -> None:
    pods = before_the_drain(watch)
    scales = scales_of(pods)
    now = max(m for e in events(watch) if (m := raw_facts.when(e["object"]["metadata"]["creationTimestamp"])))
    budgets: dict[str, Budget] = {}
    history: list[Pods] = [pods]
    told = Counter[str]()
    for event in events(watch):
        if event["kind"] == "Pod":
            seen = raw_facts.pod(event["object"])
            pods = {name: p for name, p in pods.items() if name != seen.name}
            if event["type"] != "DELETED":
                pods[seen.name] = seen
            history = [*history, pods][-CONTROLLER_LAG:]
            continue
        after = raw_facts.budget(event["object"])
        before = budgets.get(after.name)
        budgets[after.name] = after
        if before is None:
            continue
        how = "eviction" if granted(before, after, pods) else "sync"
        assert how == "eviction" or controlled(before, after, history, scales, now), event["object"]["status"]
        told[how] += 1
    assert told == {"eviction": evictions, "sync": syncs}
