"""Lower bounds of a drain's duration: no run under the same terms ends earlier, whatever its order and its waits.

Each bound considers one scarce resource and ignores all others: a budget's slots, one node's own pods, the nodes that
may be under way, the rate of evictions, waves, room. The largest one decides; relaxing it makes the drain faster (see
`slow_nodes.relax_bounds`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from heapq import nlargest
from itertools import chain
from math import inf, sqrt
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.replacement import Replacement

from ..course import DrainTerms, Move, apart_s
from .generations import NodeSupply, Time, generations, stream_s
from .node_times import Drained, Nodes, timed, waves_s
from .timing import TimedEviction, chain_s, paced_s


class Scarce(str, Enum):
    """The scarce resource of a bound. Of equal bounds the first in this order is the simplest to explain."""

    LONGEST_POD = "longest-pod"
    BUDGET_CHAIN = "budget-chain"
    NODE = "node"
    RATE = "rate"
    NODES_AT_ONCE = "nodes-at-once"
    ROOM = "room"
    WAVES = "waves"


@frozen
class Bound:
    """`seconds`: minimum time from the start until the last node is done (infinite: no run ends).

    `subject`: the scarce object: a pod's uid, a limit, a node, a domain ("" for all nodes); "" for rate and waves.
    `about` says why, `relax` how to relax it, each a plain sentence without full stop.
    """

    name: Scarce
    seconds: float
    about: str
    subject: str
    relax: str
    units: int = 0  # number of slots or nodes at once, if that is the limit


_PLAINEST = {name: place for place, name in enumerate(Scarce)}


def bounds(
    nodes: Nodes, terms: DrainTerms, keep: int = 3, supplies: Iterable[NodeSupply] = (), soonest: bool = False
) -> tuple[Bound, ...]:
    """The `keep` largest bounds of every kind for draining `nodes` (name, pods to evict), largest first.

    `terms` must contain the slots of every limit of the pods, as for `simulate`; `supplies`: resources that all
    nodes together may be short of. `fastest`: with `PodMove.with_fastest_times`.
    """
    drained = [timed(node, given, terms, soonest) for node, given in nodes]
    found = [*_together(drained, terms, keep), *_waves(drained, terms), *_generations(drained, terms, supplies)]
    return tuple(sorted(found, key=largest_first))


def _together(drained: Sequence[Drained], terms: DrainTerms, keep: int) -> list[Bound]:
    found = sorted(_chains(drained, terms, keep), key=largest_first)[:keep]
    for kind in (_pods(drained, keep), _nodes(drained, keep), _rate(drained, terms), _room(drained, terms)):
        # An infinite bound comes from a limit, and is reported once.
        found += sorted((bound for bound in kind if bound.seconds < inf), key=largest_first)[:keep]
    return found


def _least(seconds: Iterable[float], keep: int) -> float:
    """The smallest of the `keep` largest finite values: there are thousands, and only these are described in text."""
    return min(nlargest(keep, (each for each in seconds if each < inf)), default=inf)


def binding(found: Iterable[Bound]) -> Bound:
    """The largest of `candidates`, which must not be empty; of equal ones the simplest."""
    return min(found, key=largest_first)


def gap(makespan_s: float, bound: Bound) -> float | None:
    """The share by which a makespan exceeds the bound: 0.03 is 3 %. None where the bound is 0 or infinite."""
    if bound.seconds <= 0 or bound.seconds == inf:
        return None
    return max(0.0, makespan_s / bound.seconds - 1)


def largest_first(bound: Bound) -> tuple[float, int, str]:
    """Sort key of bounds: the largest first, of equal ones the simplest."""
    return (-bound.seconds, _PLAINEST[bound.name], bound.subject)


def domain_words(domain: str) -> str:
    """`` of zone-a``, or "" for all nodes."""
    return f" of {domain}" if domain else ""


def _pods(drained: Sequence[Drained], keep: int) -> Iterator[Bound]:
    longest_s = [max([head + tail for head, _, tail in node.jobs], default=inf) for node in drained]
    least_s = _least(longest_s, keep)
    for node, seconds in zip(drained, longest_s, strict=True):
        if least_s <= seconds < inf:
            move = next(m for m, job in zip(node.moves, node.jobs, strict=True) if job.head + job.tail == seconds)
            why = "one pod of {} takes that long, with what must come before and after it on its node"
            relax = "a shorter grace period, or a faster stop, of that pod"
            if move.waits_s:
                relax = "that it finishes sooner, or a shorter --wait-jobs"
            yield Bound(Scarce.LONGEST_POD, seconds, why.format(node.name), move.uid, relax)


def _chains(drained: Sequence[Drained], terms: DrainTerms, keep: int) -> Iterator[Bound]:
    users: dict[str, list[TimedEviction]] = defaultdict(list)
    for node in drained:
        for job, move in zip(node.jobs, node.moves, strict=True):
            for limit in move.limits:
                users[limit].append(job)
    # Without more pods than slots no pod waits for another: the bound of the longest pod is the same.
    busy = {limit: jobs for limit, jobs in users.items() if len(jobs) > terms.slots[limit]}
    found = {limit: chain_s(jobs, terms.slots[limit], apart_s(terms)) for limit, jobs in busy.items()}
    least_s = _least(found.values(), keep)
    for limit, seconds in found.items():
        if seconds < least_s:
            continue
        slots, pods = terms.slots[limit], len(busy[limit])
        why = f"{limit} lets {slots} of its {pods} pods be away at a time"
        relax = f"let {slots + 1} pods of {limit} be away at a time, or make their replacements Ready sooner"
        if seconds == inf:
            why = f"pods that nothing replaces use {limit} up for good before the last of its {pods} can go"
            relax = f"let more pods of {limit} be away at a time, or give up those that nothing replaces last"
        yield Bound(Scarce.BUDGET_CHAIN, seconds, why, limit, relax)


def _nodes(drained: Sequence[Drained], keep: int) -> Iterator[Bound]:
    least_s = _least([node.seconds for node in drained], keep)
    for node in drained:
        if node.seconds >= least_s:
            why = f"{node.name} alone takes that long for its {len(node.moves)} pods"
            relax = f"let more pods of {node.limit} be away at a time" if node.limit else "faster stops of its pods"
            yield Bound(Scarce.NODE, node.seconds, why, node.name, relax)


def _rate(drained: Sequence[Drained], terms: DrainTerms) -> Iterator[Bound]:
    jobs = [job for node in drained for job in node.jobs]
    if not terms.between_s or len(jobs) < 2:
        return
    why = f"{len(jobs)} evictions are at least {terms.between_s:g} s apart"
    if terms.burst > 1:
        why = f"{len(jobs)} evictions are requested at no more than {1 / terms.between_s:g} a second"
    yield Bound(Scarce.RATE, paced_s(jobs, terms.between_s, terms.burst), why, "", "allow more evictions per second")


def _room(drained: Sequence[Drained], terms: DrainTerms) -> Iterator[Bound]:
    for domain, room in terms.at_once.items():
        times = [n.seconds for n in drained if not domain or domain in terms.domains.get(n.name, ())]
        if len(times) > room:
            seconds = chain_s([TimedEviction(0.0, time, time) for time in times], room)
            why = f"{len(times)} nodes{domain_words(domain)} are drained {room} at a time"
            yield Bound(
                Scarce.NODES_AT_ONCE,
                seconds,
                why,
                domain,
                f"drain {room + 1} nodes{domain_words(domain)} at a time",
                room,
            )


def _waves(drained: Sequence[Drained], terms: DrainTerms) -> Iterator[Bound]:
    by_wave: dict[int, list[Drained]] = defaultdict(list)
    for node in drained:
        by_wave[terms.waves.get(node.name, 0)].append(node)
    if len(by_wave) < 2:
        return
    seconds = waves_s(
        [by_wave[wave] for wave in sorted(by_wave)],
        terms,
        lambda wave: max(bound.seconds for bound in _together(wave, terms, 1)),
    )
    if seconds < inf:
        why = f"{len(by_wave)} waves come one after the other, each when all nodes of the one before are done"
        yield Bound(Scarce.WAVES, seconds, why, "", "make waves larger")
    else:
        why = "pods that nothing replaces use a limit up for good, and pods of a later wave need it"
        yield Bound(Scarce.WAVES, seconds, why, "", "put nodes with such pods into the last wave")


def _generations(drained: Sequence[Drained], terms: DrainTerms, supplies: Iterable[NodeSupply]) -> Iterator[Bound]:
    """All generations but the last are replaced before the last is done; and room is occupied until a node is
    replaced."""
    if terms.renewed_after_s is None:
        return
    alone_s = {node.name: node.seconds for node in drained}
    for supply in supplies:
        fastest = min((alone_s[name] for name, asked in supply.asked.items() if asked and name in alone_s), default=0.0)
        number = generations(supply)
        in_steps = (number - 1) * (fastest + terms.renewed_after_s) + fastest if number > 1 else 0.0
        in_flow = stream_s(supply, alone_s, terms.renewed_after_s)
        why = f"with the {supply.what} there is, nodes go in {number} generations, each where the one before was"
        if in_flow > in_steps:
            why = f"the {supply.what} there is, is lent to the pods of a node until a new one has joined in its place"
        if max(in_steps, in_flow) > 0:
            relax = "more nodes that join before the drain (--surge)"
            yield Bound(Scarce.ROOM, max(in_steps, in_flow), why, supply.what, relax)


# The part of a large drain that determines its duration: the evictions of the budgets that take longest.
#
# It may represent the whole only where budgets alone decide. A wave ends with the last of all its pods, and a new node
# is requested for the first of the pods that need it, so a part of either is another drain.


_CERTAIN = 2.0
"""Standard deviations above the mean: a sum of many times is hardly ever more."""


class _Part(NamedTuple):
    """`rest_s`: the evictions that are left out hardly ever take longer than that."""

    nodes: Nodes
    rest_s: float


class _Chain(NamedTuple):
    """All evictions of one limit: how many, and the time that they hardly ever exceed together."""

    number: int
    most_s: float


def longest_part(nodes: Nodes, terms: DrainTerms, most: int) -> _Part | None:
    """The evictions of the limits that may take longest: of at least one, of more while they are no more than
    `max_evictions`.

    None where something other than budgets makes nodes, pods or replacements wait, or nothing waits at all.
    """
    if terms.waves or terms.at_once or terms.between_s:
        return None
    found = _longest_part_chains(nodes, terms)
    if found is None:
        return None
    chains, tail_s = found
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
    left = [each.most_s for limit, each in chains.items() if limit not in chosen]
    # Critical pods of a node stop after the others: hence two stop times.
    return _Part([(node, moves) for node, moves in picked if moves], max([2 * tail_s + terms.settle_s, *left]))


def _longest_part_chains(nodes: Nodes, terms: DrainTerms) -> tuple[dict[str, _Chain], float] | None:
    """With the seconds of the longest stop; None where something other than budgets makes an eviction wait."""
    number: dict[str, int] = defaultdict(int)
    means: dict[str, float] = defaultdict(float)
    variances: dict[str, float] = defaultdict(float)
    known: dict[tuple[float, float, float, float, bool, bool], tuple[float, float]] = {}
    tail_s = 0.0
    for move in chain.from_iterable([moves for _, moves in nodes]):
        _, limits, stop_s, start_s, after, _, _, _, waits_for, slow_stop_s, slow_start_s, waits_s, kin, _ = move
        if waits_for or waits_s:
            return None
        if stop_s > tail_s or slow_stop_s > tail_s:
            tail_s = max(stop_s, slow_stop_s)
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
    chains = {
        limit: _Chain(count, (means[limit] + _CERTAIN * sqrt(variances[limit])) / terms.slots[limit])
        for limit, count in number.items()
    }
    return chains, tail_s


def _moments(move: Move, after_gone: bool) -> tuple[float, float]:
    """Mean and variance of the time for which the eviction occupies its slots."""
    start = Time.of(move.start_s, move.slow_start_s)
    if not after_gone:
        return start.mean_s, start.variance
    stop = Time.of(move.stop_s, move.slow_stop_s)
    if move.kin:  # pods of its stop group may all be slow at once
        return start.mean_s + max(move.stop_s, move.slow_stop_s), start.variance
    # No stop is longer than a slow stop, so the mean is not either.
    return start.mean_s + min(stop.mean_s, max(move.stop_s, move.slow_stop_s)), start.variance + stop.variance
