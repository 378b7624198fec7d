"""The simulator against two real drains: each status from a real disruption controller, and each refusal.

The simulator omits three things that the recordings show. kubectl asks again 5 s after a refusal, but the simulator
evicts as soon as a slot is free. Of two evictions under one budget at the same moment the endpoint grants the second
0.5 s later, because the first changed the budget meanwhile; the simulator grants both at once. The controller is up to
a tenth of a second late, so that it sometimes writes two changes as one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone
from functools import cache
from itertools import groupby, pairwise

import pytest

from kubectl_eksdoc.drain.simulation import simulate
from kubectl_eksdoc.drain.timeline import (
    DrainTerms,
    PodMove,
    ReplacedPod,
    StatusWrite,
    Timeline,
    WatchedBudget,
    status_writes,
)
from kubectl_eksdoc.kubernetes.budgets import ComputedStatus, recompute, with_allowed
from kubectl_eksdoc.kubernetes.evictions import EvictionResponse, evict
from kubectl_eksdoc.kubernetes.replacement import Replacement, replacement
from kubectl_eksdoc.model.budgets import Budget, BudgetStatus
from tests.recorded_drains import DRAINS, Ask, Evicted, Pods, asks, before_the_drain, evicted, scales_of, writes

NOW = datetime(2026, 11, 20, 9, tzinfo=timezone.utc)

LATE_S = 0.1
EARLY_S = 0.01
"""Pods and budgets are two watches: an event of one may come a little before an earlier one of the other."""

POLL_S = 5.0
CONFLICT_S = 0.5

# allowed, healthy, desired, expected, disrupted: the write of two that the late controller made as one.
NOT_WRITTEN = {
    "drain-watch": {"default/app-0": [(1, 7, 6, 8, 1)], "default/app-10": [(0, 2, 2, 3, 1)]},
    "drain-refused-watch": {"default/app-2": [(0, 2, 2, 3, 1)]},
}

Numbers = tuple[int, int, int, int, int]


def numbers(status: BudgetStatus, disrupted: int) -> Numbers:
    return status.allowed, status.current, status.desired, status.expected, disrupted


@cache
def pods_before(watch: str) -> Pods:
    return before_the_drain(watch)


def ours(written: tuple[StatusWrite, ...]) -> list[Numbers]:
    return [numbers(w.status, w.disrupted) for w in written]


@cache
def watched(watch: str) -> list[WatchedBudget]:
    pods = pods_before(watch)
    found = []
    for written in writes(watch).values():
        budget = written[0].budget
        selected = tuple(p for p in pods.values() if budget.selector.matches(p.labels))
        start = recompute(budget, selected, scales_of(pods), NOW)
        assert isinstance(start, ComputedStatus)
        assert start.status == budget.status
        found.append(WatchedBudget(budget, selected, start))
    return found


@cache
def budget_of(watch: str) -> dict[str, str]:
    """Map each pod's name to the budget that covers it."""
    return {pod.name: w.budget.key for w in watched(watch) for pod in w.pods}


@cache
def simulated(watch: str) -> Timeline:
    """The simulated drain: the recorded pods in the recorded order, each with its recorded times."""
    budgets, guard = {w.budget.key: w.budget for w in watched(watch)}, budget_of(watch)
    moves = [_move(e, guard.get(e.pod.name, "")) for e in evicted(watch)]
    return simulate([("old-0", moves)], DrainTerms({key: b.status.allowed for key, b in budgets.items()}))


def _move(seen: Evicted, limit: str) -> PodMove:
    after = replacement(seen.pod)
    since = seen.gone_s if after is Replacement.AFTER_GONE else seen.evicted_s
    return PodMove(seen.pod.uid, (limit,) if limit else (), seen.gone_s - seen.evicted_s, seen.ready_s - since, after)


def as_it_was(watch: str) -> list[ReplacedPod]:
    return [ReplacedPod(e.pod.uid, e.pod.node, e.evicted_s, e.gone_s, e.ready_s) for e in evicted(watch)]


@pytest.mark.parametrize("watch", DRAINS)
def test_every_status_of_a_real_controller_in_its_order_and_at_its_time(watch: str) -> None:
    computed = status_writes(watched(watch), as_it_was(watch))
    not_written: dict[str, list[Numbers]] = defaultdict(list)
    for key, recorded in writes(watch).items():
        left = list(recorded)
        for write in computed[key]:
            if not left or numbers(left[0].budget.status, len(left[0].budget.disrupted)) != numbers(*write[1:]):
                not_written[key].append(numbers(*write[1:]))
                continue
            seen = left.pop(0)
            assert seen.budget.observed_generation == seen.budget.generation == 1
            assert -EARLY_S < seen.at_s - write.at_s < LATE_S
        assert not left, f"{key} was written as nothing here computes it"
    assert not_written == NOT_WRITTEN[watch]


@pytest.mark.parametrize(("watch", "count"), [("drain-watch", 28), ("drain-refused-watch", 44)])
def test_the_simulated_drain_has_the_same_statuses_as_the_real_one(watch: str, count: int) -> None:
    """All statuses occur in the same order: only waits differ."""
    timeline = simulated(watch)
    assert timeline.never_evicted == ()
    real = status_writes(watched(watch), as_it_was(watch))
    run = status_writes(watched(watch), timeline.moves)
    assert {key: ours(written) for key, written in run.items()} == {key: ours(written) for key, written in real.items()}
    assert sum(len(written) - 1 for written in run.values()) == count


@pytest.mark.parametrize("watch", DRAINS)
def test_the_real_drain_is_never_ahead_of_the_simulated_one(watch: str) -> None:
    """It is later by kubectl's wait after each refusal, and by the endpoint's retry."""
    at = {moved.uid: moved.evicted_s for moved in simulated(watch).moves}
    found = evicted(watch)
    begin = found[0].evicted_s
    refusals = Counter(ask.pod for ask in asks(watch) if ask.code == 429)
    for seen in found:
        behind = seen.evicted_s - begin - at[seen.pod.uid]
        assert -EARLY_S < behind < refusals[seen.pod.name] * (POLL_S + CONFLICT_S) + CONFLICT_S + LATE_S


@pytest.mark.parametrize(
    ("watch", "simulated_s", "real_s"), [("drain-watch", 2.0, 2.5), ("drain-refused-watch", 12.1, 17.7)]
)
def test_how_long_the_drain_takes_without_kubectls_waiting(watch: str, simulated_s: float, real_s: float) -> None:
    found = evicted(watch)
    assert simulated(watch).makespan_s == pytest.approx(simulated_s, abs=0.1)
    assert max(e.gone_s for e in found) - found[0].evicted_s == pytest.approx(real_s, abs=0.1)


def test_two_at_once_under_one_budget_are_granted_half_a_second_apart() -> None:
    pair = [e for e in evicted("drain-watch") if e.pod.name.startswith("app-0-")]
    first, second = pair
    assert second.evicted_s - first.evicted_s == pytest.approx(CONFLICT_S, abs=LATE_S)
    assert simulated("drain-watch").moves[0].evicted_s == simulated("drain-watch").moves[-1].evicted_s == 0


def test_kubectl_is_refused_where_the_simulator_waits_for_a_slot() -> None:
    """Every round of requests grants one pod of each budget: the n-th pod of a budget is refused n times first."""
    names = {pod.uid: name for name, pod in before_the_drain("drain-refused-watch").items()}
    guard = budget_of("drain-refused-watch")
    moves = simulated("drain-refused-watch").moves
    refused = Counter(ask.pod for ask in asks("drain-refused-watch") if ask.code == 429)
    assert set(refused) == {names[m.uid] for m in moves if m.evicted_s > 0}
    line: Counter[str] = Counter()
    for moved in moves:
        name = names[moved.uid]
        assert refused[name] == line[guard[name]]
        line[guard[name]] += 1
    assert refused.total() == 15
    assert not [ask for ask in asks("drain-watch") if ask.code != 201]


@cache
def by_grant(watch: str) -> dict[str, list[list[StatusWrite]]]:
    """By budget its simulated writes: those before the first eviction, from the first to the second, and so on."""
    return {
        key: [list(group) for group in _at_grants(written)]
        for key, written in status_writes(watched(watch), simulated(watch).moves).items()
    }


def _at_grants(written: tuple[StatusWrite, ...]) -> Iterator[list[StatusWrite]]:
    grants = 0
    numbered = []
    for before, after in pairwise((written[0], *written)):
        grants += after.disrupted > before.disrupted
        numbered.append((grants, after))
    for _, group in groupby(numbered, key=lambda item: item[0]):
        yield [write for _, write in group]


def answer(watch: str, pod: str, budget: Budget, write: StatusWrite) -> EvictionResponse:
    at_that_time = with_allowed(replace(budget, status=write.status), write.status.allowed)
    return evict(pods_before(watch)[pod], (at_that_time,), NOW)


def test_every_real_answer_is_the_rules_answer_at_that_place_of_the_simulated_drain() -> None:
    """A grant matches the last status before it; a refusal matches a status between two grants, word for word."""
    watch = "drain-refused-watch"
    budgets, guard, windows = {w.budget.key: w.budget for w in watched(watch)}, budget_of(watch), by_grant(watch)
    granted: Counter[str] = Counter()
    told: Counter[int] = Counter()
    for ask in asks(watch):
        key = guard[ask.pod]
        window = windows[key][granted[key]]
        answers = [answer(watch, ask.pod, budgets[key], write) for write in window]
        if ask.code == 201:
            assert answers[-1].code == 201
            granted[key] += 1
        else:
            said = [Ask(ask.pod, a.code, a.message, a.cause) for a in answers]
            assert ask in said
            # Refused until the replacement is Ready: that is the last status before the next grant.
            assert [a.code for a in answers[:-1]] == [429] * (len(answers) - 1)
        told[ask.code] += 1
    assert told == {201: 11, 429: 15}
