"""The part of a large drain that tells how long all of it takes: the evictions of the budgets that take longest.

It may stand for the whole only where budgets alone decide. A wave ends with the last of all its pods, and a new node is
asked for by the first of those that need it, so that a part of either is another drain.
"""

from __future__ import annotations

from collections import defaultdict
from math import sqrt
from typing import NamedTuple

from kubectl_eksdoc.core.plan.drain.duration.luck import Time
from kubectl_eksdoc.core.plan.drain.duration.node_times import Nodes
from kubectl_eksdoc.core.rules.replacement import Replacement
from kubectl_eksdoc.core.sim.course import Move, Terms

_CERTAIN = 2.0
"""Standard deviations above its mean: a sum of many times is hardly ever more."""


class Part(NamedTuple):
    """`rest_s`: what is left out hardly ever takes longer than that."""

    nodes: Nodes
    rest_s: float


class _Chain(NamedTuple):
    """All evictions of one limit: how many, and how long they hardly ever take more than together."""

    number: int
    most_s: float


def longest_part(nodes: Nodes, terms: Terms, most: int) -> Part | None:
    """The evictions of the limits that may take longest: of one at least, of more while they are no more than `most`.

    None where something besides budgets makes nodes, pods or replacements wait, or nothing waits at all.
    """
    if terms.waves or terms.at_once or terms.between_s or _waits(nodes):
        return None
    chains = _chains(nodes, terms)
    chosen: set[str] = set()
    for limit in sorted(chains, key=lambda limit: (-chains[limit].most_s, limit)):
        if not chosen or chains[limit].number <= most:
            chosen.add(limit)
            most -= chains[limit].number
        if most <= 0:
            break
    if not chosen:
        return None
    picked = [(node, [move for move in moves if not chosen.isdisjoint(move.limits)]) for node, moves in nodes]
    left = [chain.most_s for limit, chain in chains.items() if limit not in chosen]
    stops = {(move.stop_s, move.slow_stop_s) for _, moves in nodes for move in moves}
    tail_s = max(map(max, stops), default=0.0)
    # A node has its critical pods stop after the others.
    return Part([(node, moves) for node, moves in picked if moves], max([2 * tail_s + terms.settle_s, *left]))


def _chains(nodes: Nodes, terms: Terms) -> dict[str, _Chain]:
    number: dict[str, int] = defaultdict(int)
    means: dict[str, float] = defaultdict(float)
    variances: dict[str, float] = defaultdict(float)
    known: dict[tuple[float, float, float, float, bool, bool], tuple[float, float]] = {}
    for move in (move for _, moves in nodes for move in moves):
        _, limits, stop_s, start_s, after, _, _, _, _, slow_stop_s, slow_start_s, _, kin = move
        if not limits or after is Replacement.NEVER:
            continue
        after_gone = after is Replacement.AFTER_GONE
        key = start_s, slow_start_s, stop_s, slow_stop_s, after_gone, bool(kin)
        moments = known.get(key)
        if moments is None:
            moments = known[key] = _moments(move, after_gone)
        for limit in limits:
            number[limit] += 1
            means[limit] += moments[0] + terms.lag_s
            variances[limit] += moments[1]
    return {
        limit: _Chain(count, (means[limit] + _CERTAIN * sqrt(variances[limit])) / terms.slots[limit])
        for limit, count in number.items()
    }


def _moments(move: Move, after_gone: bool) -> tuple[float, float]:
    """Mean and variance of how long the eviction keeps its slots."""
    start = Time.of(move.start_s, move.slow_start_s)
    if not after_gone:
        return start.mean_s, start.variance
    stop = Time.of(move.stop_s, move.slow_stop_s)
    if move.kin:  # its kin may all be slow at once
        return start.mean_s + max(move.stop_s, move.slow_stop_s), start.variance
    # Nothing outlasts a slow stop, so its mean is no more than that either.
    return start.mean_s + min(stop.mean_s, max(move.stop_s, move.slow_stop_s)), start.variance + stop.variance


def _waits(nodes: Nodes) -> bool:
    return any(move.waits_for or move.waits_s for _, moves in nodes for move in moves)
