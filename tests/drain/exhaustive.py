"""Drains of a few pods, made from a seed, and the best possible one of each, by trying everything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from math import inf
from random import Random
from typing import NamedTuple

from kubectl_eksdoc.drain.course import DrainTerms, Move
from kubectl_eksdoc.drain.simulation import simulate
from kubectl_eksdoc.kubernetes.replacement import Replacement


class _State(NamedTuple):
    """All times are from now. `gone`, `done`: per node, of what was evicted so far; -1 where nothing is to come."""

    todo: frozenset[int]
    dormant: frozenset[int]
    taken: tuple[tuple[float, int], ...]  # (until given back, pod)
    gone: tuple[float, ...]  # until the last evicted pod is gone
    ordinary: tuple[float, ...]  # until the last evicted ordinary pod is gone
    pause: float  # until the next eviction may be


class Search:
    """One instance. `optimum()` is the least makespan, infinite if not everything can be evicted.

    Only schedules shorter than `known` are looked for.
    """

    def __init__(
        self,
        nodes: Sequence[tuple[str, Sequence[Move]]],
        terms: DrainTerms,
        known: float = inf,
    ) -> None:
        self._terms = terms
        self._names = [name for name, _ in nodes]
        self._pods = [(n, move) for n, (_, given) in enumerate(nodes) for move in given]
        self._of = [frozenset(i for i, (on, _) in enumerate(self._pods) if on == n) for n in range(len(nodes))]
        self._ordinary = [frozenset(i for i in of if not self._pods[i][1].critical) for of in self._of]
        self._best = known
        self._seen: dict[_State, float] = {}

    def optimum(self) -> float:
        count = len(self._names)
        start = _State(
            frozenset(range(len(self._pods))), frozenset(range(count)), (), (0.0,) * count, (0.0,) * count, 0.0
        )
        stack = [(0.0, start)]
        while stack:
            now, state = stack.pop()
            if self._seen.get(state, inf) <= now or now + self._rest(state) >= self._best:
                continue
            self._seen[state] = now
            if not state.todo and not state.dormant:
                self._best = now + self._rest(state)
                continue
            stack += self._next(now, state)
        return self._best

    @property
    def states(self) -> int:
        return len(self._seen)

    def _rest(self, state: _State) -> float:
        """Enough for what has begun and for each pod by itself; exact at the end."""
        settle = self._terms.settle_s
        rest = max((self._pods[i][1].stop_s + settle for i in state.todo), default=0.0)
        if state.dormant:
            rest = max(rest, settle)
        return max([rest, *(left + settle for n, left in enumerate(state.gone) if n not in state.dormant)])

    def _next(self, now: float, state: _State) -> Iterator[tuple[float, _State]]:
        """Waiting first: the stack takes the last, and beginning something is the better guess."""
        ends = [until for until, _ in state.taken if 0 < until < inf]
        ends += [left for left in state.ordinary if left > 0]
        ends += [state.pause] if state.pause > 0 else []
        settle = self._terms.settle_s
        ends += [left + settle for n, left in enumerate(state.gone) if self._busy(state, n) and left + settle > 0]
        if ends:
            step = min(ends)
            yield now + step, self._later(state, step)
        for n in sorted(state.dormant):
            if self._turn(state, n) and all(self._room(state, domain) for domain in self._domains(n)):
                # A cordon at the time its pods' gone-times are counted from.
                yield now, state._replace(dormant=state.dormant - {n}, gone=_put(state.gone, n, 0.0))
        if state.pause <= 0:
            for i in sorted(state.todo):
                if self._may_go(state, i):
                    yield now, self._evict(state, i)

    def _busy(self, state: _State, n: int) -> bool:
        if n in state.dormant:
            return False
        return bool(self._of[n] & state.todo) or state.gone[n] + self._terms.settle_s > 0

    def _turn(self, state: _State, n: int) -> bool:
        waves = [self._terms.waves.get(name, 0) for name in self._names]
        return not any(w < waves[n] and (o in state.dormant or self._busy(state, o)) for o, w in enumerate(waves))

    def _domains(self, n: int) -> list[str]:
        return [d for d in ("", *self._terms.domains.get(self._names[n], ())) if d in self._terms.at_once]

    def _room(self, state: _State, domain: str) -> bool:
        busy = sum(self._busy(state, n) for n in range(len(self._names)) if domain in self._domains(n))
        return busy < self._terms.at_once[domain]

    def _may_go(self, state: _State, i: int) -> bool:
        n, move = self._pods[i]
        if n in state.dormant:
            return False
        if move.critical and (self._ordinary[n] & state.todo or state.ordinary[n] > 0):
            return False
        return all(
            sum(limit in self._pods[other][1].limits for _, other in state.taken) < self._terms.slots[limit]
            for limit in move.limits
        )

    def _evict(self, state: _State, i: int) -> _State:
        n, move = self._pods[i]
        back = move.start_s + self._terms.lag_s + (move.stop_s if move.after is Replacement.AFTER_GONE else 0.0)
        if move.after is Replacement.NEVER:
            back = inf
        taken = state.taken + ((back, i),) if move.limits and back > 0 else state.taken
        ordinary = state.ordinary
        if not move.critical:
            ordinary = _put(ordinary, n, max(ordinary[n], move.stop_s))
        return _State(
            state.todo - {i},
            state.dormant,
            tuple(sorted(taken)),
            _put(state.gone, n, max(state.gone[n], move.stop_s)),
            ordinary,
            self._terms.between_s,
        )

    def _later(self, state: _State, step: float) -> _State:
        settle = self._terms.settle_s
        return _State(
            state.todo,
            state.dormant,
            tuple((until - step, i) for until, i in state.taken if until > step),
            tuple(max(left - step, 0.0 if self._of[n] & state.todo else -settle) for n, left in enumerate(state.gone)),
            tuple(max(left - step, 0.0) for left in state.ordinary),
            max(state.pause - step, 0.0),
        )


def _put(values: tuple[float, ...], at: int, value: float) -> tuple[float, ...]:
    return (*values[:at], value, *values[at + 1 :])


Nodes = list[tuple[str, list[Move]]]


def tiny(seed: int) -> tuple[Nodes, DrainTerms]:
    """At most 4 nodes, 7 pods and 2 limits, whole seconds; some cannot be drained to the end."""
    c = Random(seed)
    slots = {limit: c.randint(1, 2) for limit in "xy"[: c.randint(0 if c.random() < 0.3 else 1, 2)]}
    left = dict(slots)
    nodes: Nodes = [(f"n{i}", []) for i in range(c.randint(1, 4))]
    for p in range(c.randint(2, 7)):
        limits = tuple(x for x in slots if c.random() < 0.55)
        after = c.choice((Replacement.AT_ONCE, Replacement.AT_ONCE, Replacement.AFTER_GONE))
        if c.random() < 0.08 and all(left[x] for x in limits):
            after = Replacement.NEVER
            for x in limits:
                left[x] -= 1
        move = Move(f"p{p}", limits, float(c.randint(0, 4)), float(c.randint(0, 6)), after, c.random() < 0.2)
        c.choice(nodes)[1].append(move)
    terms = DrainTerms(
        slots=slots,
        waves={name: c.randint(1, 3) for name, _ in nodes} if c.random() < 0.25 else {},
        at_once={d: c.randint(1, 2 + (not d)) for d in ("", "zone") if c.random() < 0.4},
        domains={name: ("zone",) for name, _ in nodes if c.random() < 0.6},
        between_s=c.choice((0.0, 0.0, 1.0)),
        lag_s=c.choice((0.0, 1.0)),
        settle_s=c.choice((0.0, 2.0)),
    )
    return nodes, terms


def soonest_simulated(nodes: Nodes, terms: DrainTerms) -> float:
    """The least makespan over all orders of nodes, infinite where none comes to its end."""
    best = inf
    for order in permutations(nodes):
        timeline = simulate(sorted(order, key=lambda item: terms.waves.get(item[0], 0)), terms)
        if not timeline.stuck:
            best = min(best, timeline.makespan_s)
    return best
