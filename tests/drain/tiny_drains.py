"""Drains of a few pods, made from a seed, small enough to try everything."""

from __future__ import annotations

from itertools import permutations
from math import inf
from random import Random

from kubectl_eksdoc.drain.course import DrainTerms, Move
from kubectl_eksdoc.drain.simulation import simulate
from kubectl_eksdoc.kubernetes.replacement import Replacement

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
