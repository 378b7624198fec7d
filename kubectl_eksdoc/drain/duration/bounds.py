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

from ..timeline import DrainTerms, PodMove, min_interval_s
from .generations import NodeSupply, RandomTime, fluid_bound_s, min_generations
from .node_times import MovesByNode, NodeTime, node_time, waves_bound_s
from .timing import TimedEviction, rate_bound_s, slot_bound_s


class BoundKind(str, Enum):
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

    name: BoundKind
    seconds: float
    about: str
    subject: str
    relax: str
    units: int = 0  # number of slots or nodes at once, if that is the limit


_KIND_RANK = {name: place for place, name in enumerate(BoundKind)}


def find_bounds(
    nodes: MovesByNode, terms: DrainTerms, keep: int = 3, supplies: Iterable[NodeSupply] = (), fastest: bool = False
) -> tuple[Bound, ...]:
    """The `keep` largest bounds of every kind for draining `nodes` (name, pods to evict), largest first.

    `terms` must contain the slots of every limit of the pods, as for `simulate`; `supplies`: resources that all
    nodes together may be short of. `fastest`: with `PodMove.with_fastest_times`.
    """
    node_list = [node_time(node, node_moves, terms, fastest) for node, node_moves in nodes]
    all_bounds = [
        *_bounds_without_waves(node_list, terms, keep),
        *_wave_bounds(node_list, terms),
        *_room_bounds(node_list, terms, supplies),
    ]
    return tuple(sorted(all_bounds, key=bound_sort_key))


def _bounds_without_waves(node_list: Sequence[NodeTime], terms: DrainTerms, keep: int) -> list[Bound]:
    kept_bounds = sorted(_chain_bounds(node_list, terms, keep), key=bound_sort_key)[:keep]
    for kind_bounds in (
        _pod_bounds(node_list, keep),
        _node_bounds(node_list, keep),
        _rate_bound(node_list, terms),
        _nodes_at_once_bounds(node_list, terms),
    ):
        # An infinite bound comes from a limit, and is reported once.
        kept_bounds += sorted((bound for bound in kind_bounds if bound.seconds < inf), key=bound_sort_key)[:keep]
    return kept_bounds


def _threshold(seconds: Iterable[float], keep: int) -> float:
    """The smallest of the `keep` largest finite values: there are thousands, and only these are described in text."""
    return min(nlargest(keep, (each for each in seconds if each < inf)), default=inf)


def largest_bound(candidates: Iterable[Bound]) -> Bound:
    """The largest of `candidates`, which must not be empty; of equal ones the simplest."""
    return min(candidates, key=bound_sort_key)


def gap_to_bound(makespan_s: float, bound: Bound) -> float | None:
    """The share by which a makespan exceeds the bound: 0.03 is 3 %. None where the bound is 0 or infinite."""
    if bound.seconds <= 0 or bound.seconds == inf:
        return None
    return max(0.0, makespan_s / bound.seconds - 1)


def bound_sort_key(bound: Bound) -> tuple[float, int, str]:
    """Sort key of bounds: the largest first, of equal ones the simplest."""
    return (-bound.seconds, _KIND_RANK[bound.name], bound.subject)


def domain_text(domain: str) -> str:
    """`` of zone-a``, or "" for all nodes."""
    return f" of {domain}" if domain else ""


def _pod_bounds(node_list: Sequence[NodeTime], keep: int) -> Iterator[Bound]:
    longest_s = [max([head + tail for head, _, tail in node.jobs], default=inf) for node in node_list]
    threshold_s = _threshold(longest_s, keep)
    for node, seconds in zip(node_list, longest_s, strict=True):
        if threshold_s <= seconds < inf:
            move = next(
                candidate
                for candidate, job in zip(node.moves, node.jobs, strict=True)
                if job.head + job.tail == seconds
            )
            about = "one pod of {} takes that long, with what must come before and after it on its node"
            relax = "a shorter grace period, or a faster stop, of that pod"
            if move.waits_s:
                relax = "that it finishes sooner, or a shorter --wait-jobs"
            yield Bound(BoundKind.LONGEST_POD, seconds, about.format(node.name), move.uid, relax)


def _chain_bounds(node_list: Sequence[NodeTime], terms: DrainTerms, keep: int) -> Iterator[Bound]:
    users: dict[str, list[TimedEviction]] = defaultdict(list)
    for node in node_list:
        for job, move in zip(node.jobs, node.moves, strict=True):
            for limit in move.limits:
                users[limit].append(job)
    # Without more pods than slots no pod waits for another: the bound of the longest pod is the same.
    contended = {limit: jobs for limit, jobs in users.items() if len(jobs) > terms.slots[limit]}
    chain_seconds = {
        limit: slot_bound_s(jobs, terms.slots[limit], min_interval_s(terms)) for limit, jobs in contended.items()
    }
    threshold_s = _threshold(chain_seconds.values(), keep)
    for limit, seconds in chain_seconds.items():
        if seconds < threshold_s:
            continue
        slots, pods = terms.slots[limit], len(contended[limit])
        about = f"{limit} lets {slots} of its {pods} pods be away at a time"
        relax = f"let {slots + 1} pods of {limit} be away at a time, or make their replacements Ready sooner"
        if seconds == inf:
            about = f"pods that nothing replaces use {limit} up for good before the last of its {pods} can go"
            relax = f"let more pods of {limit} be away at a time, or give up those that nothing replaces last"
        yield Bound(BoundKind.BUDGET_CHAIN, seconds, about, limit, relax)


def _node_bounds(node_list: Sequence[NodeTime], keep: int) -> Iterator[Bound]:
    threshold_s = _threshold([node.seconds for node in node_list], keep)
    for node in node_list:
        if node.seconds >= threshold_s:
            about = f"{node.name} alone takes that long for its {len(node.moves)} pods"
            relax = f"let more pods of {node.limit} be away at a time" if node.limit else "faster stops of its pods"
            yield Bound(BoundKind.NODE, node.seconds, about, node.name, relax)


def _rate_bound(node_list: Sequence[NodeTime], terms: DrainTerms) -> Iterator[Bound]:
    jobs = [job for node in node_list for job in node.jobs]
    if not terms.eviction_interval_s or len(jobs) < 2:
        return
    about = f"{len(jobs)} evictions are at least {terms.eviction_interval_s:g} s apart"
    if terms.burst > 1:
        about = f"{len(jobs)} evictions are requested at no more than {1 / terms.eviction_interval_s:g} a second"
    yield Bound(
        BoundKind.RATE,
        rate_bound_s(jobs, terms.eviction_interval_s, terms.burst),
        about,
        "",
        "allow more evictions per second",
    )


def _nodes_at_once_bounds(node_list: Sequence[NodeTime], terms: DrainTerms) -> Iterator[Bound]:
    for domain, max_nodes in terms.nodes_at_once.items():
        node_seconds = [
            drained_node.seconds
            for drained_node in node_list
            if not domain or domain in terms.domains.get(drained_node.name, ())
        ]
        if len(node_seconds) > max_nodes:
            seconds = slot_bound_s([TimedEviction(0.0, time, time) for time in node_seconds], max_nodes)
            about = f"{len(node_seconds)} nodes{domain_text(domain)} are drained {max_nodes} at a time"
            yield Bound(
                BoundKind.NODES_AT_ONCE,
                seconds,
                about,
                domain,
                f"drain {max_nodes + 1} nodes{domain_text(domain)} at a time",
                max_nodes,
            )


def _wave_bounds(node_list: Sequence[NodeTime], terms: DrainTerms) -> Iterator[Bound]:
    by_wave: dict[int, list[NodeTime]] = defaultdict(list)
    for node in node_list:
        by_wave[terms.waves.get(node.name, 0)].append(node)
    if len(by_wave) < 2:
        return
    seconds = waves_bound_s(
        [by_wave[wave] for wave in sorted(by_wave)],
        terms,
        lambda wave: max(bound.seconds for bound in _bounds_without_waves(wave, terms, 1)),
    )
    if seconds < inf:
        about = f"{len(by_wave)} waves come one after the other, each when all nodes of the one before are done"
        yield Bound(BoundKind.WAVES, seconds, about, "", "make waves larger")
    else:
        about = "pods that nothing replaces use a limit up for good, and pods of a later wave need it"
        yield Bound(BoundKind.WAVES, seconds, about, "", "put nodes with such pods into the last wave")


def _room_bounds(node_list: Sequence[NodeTime], terms: DrainTerms, supplies: Iterable[NodeSupply]) -> Iterator[Bound]:
    """All generations but the last are replaced before the last is done; and room is occupied until a node is
    replaced."""
    if terms.replaced_after_s is None:
        return
    alone_s = {node.name: node.seconds for node in node_list}
    for supply in supplies:
        fastest_s = min(
            (alone_s[name] for name, requested in supply.requested.items() if requested and name in alone_s),
            default=0.0,
        )
        count = min_generations(supply)
        stepwise_s = (count - 1) * (fastest_s + terms.replaced_after_s) + fastest_s if count > 1 else 0.0
        fluid_s = fluid_bound_s(supply, alone_s, terms.replaced_after_s)
        about = f"with the {supply.resource} there is, nodes go in {count} generations, each where the one before was"
        if fluid_s > stepwise_s:
            about = (
                f"the {supply.resource} there is, is lent to the pods of a node until a new one has joined in its place"
            )
        if max(stepwise_s, fluid_s) > 0:
            relax = "more nodes that join before the drain (--surge)"
            yield Bound(BoundKind.ROOM, max(stepwise_s, fluid_s), about, supply.resource, relax)


# The part of a large drain that determines its duration: the evictions of the budgets that take longest.
#
# It may represent the whole only where budgets alone decide. A wave ends with the last of all its pods, and a new node
# is requested for the first of the pods that need it, so a part of either is another drain.


_DEVIATIONS = 2.0
"""Standard deviations above the mean: a sum of many times is hardly ever more."""


class _LongestPart(NamedTuple):
    """`rest_s`: the evictions that are left out hardly ever take longer than that."""

    nodes: MovesByNode
    rest_s: float


class _ChainTime(NamedTuple):
    """All evictions of one limit: how many, and the time that they hardly ever exceed together."""

    evictions: int
    max_s: float


def find_longest_part(nodes: MovesByNode, terms: DrainTerms, max_evictions: int) -> _LongestPart | None:
    """The evictions of the limits that may take longest: of at least one, of more while they are no more than
    `max_evictions`.

    None where something other than budgets makes nodes, pods or replacements wait, or nothing waits at all.
    """
    if terms.waves or terms.nodes_at_once or terms.eviction_interval_s:
        return None
    chains_and_tail = _chain_times(nodes, terms)
    if chains_and_tail is None:
        return None
    chains, tail_s = chains_and_tail
    selected: set[str] = set()
    for limit in sorted(chains, key=lambda limit: (-chains[limit].max_s, limit)):
        if not selected or chains[limit].evictions <= max_evictions:
            selected.add(limit)
            max_evictions -= chains[limit].evictions
        if max_evictions <= 0:
            break
    if not selected:
        return None
    part_nodes = [(node, [move for move in moves if not selected.isdisjoint(move.limits)]) for node, moves in nodes]
    other_max_s = [each.max_s for limit, each in chains.items() if limit not in selected]
    # Critical pods of a node stop after the others: hence two stop times.
    return _LongestPart(
        [(node, moves) for node, moves in part_nodes if moves], max([2 * tail_s + terms.node_settle_s, *other_max_s])
    )


def _chain_times(nodes: MovesByNode, terms: DrainTerms) -> tuple[dict[str, _ChainTime], float] | None:
    """With the seconds of the longest stop; None where something other than budgets makes an eviction wait."""
    counts: dict[str, int] = defaultdict(int)
    means: dict[str, float] = defaultdict(float)
    variances: dict[str, float] = defaultdict(float)
    moments_by_key: dict[tuple[float, float, float, float, bool, bool], tuple[float, float]] = {}
    tail_s = 0.0
    for move in chain.from_iterable([moves for _, moves in nodes]):
        (
            _,
            limits,
            stop_s,
            start_s,
            replacement,
            _,
            _,
            _,
            new_node,
            slow_stop_s,
            slow_start_s,
            waits_s,
            stop_group,
            _,
        ) = move
        if new_node or waits_s:
            return None
        if stop_s > tail_s or slow_stop_s > tail_s:
            tail_s = max(stop_s, slow_stop_s)
        if not limits or replacement is Replacement.NEVER:
            continue
        after_gone = replacement is Replacement.AFTER_GONE
        key = start_s, slow_start_s, stop_s, slow_stop_s, after_gone, bool(stop_group)
        moments = moments_by_key.get(key)
        if moments is None:
            moments = moments_by_key[key] = _hold_moments(move, after_gone)
        for limit in limits:
            counts[limit] += 1
            means[limit] += moments[0] + terms.budget_lag_s
            variances[limit] += moments[1]
    chains = {
        limit: _ChainTime(count, (means[limit] + _DEVIATIONS * sqrt(variances[limit])) / terms.slots[limit])
        for limit, count in counts.items()
    }
    return chains, tail_s


def _hold_moments(move: PodMove, after_gone: bool) -> tuple[float, float]:
    """Mean and variance of the time for which the eviction occupies its slots."""
    start_time = RandomTime.from_quantiles(move.start_s, move.slow_start_s)
    if not after_gone:
        return start_time.mean_s, start_time.variance
    stop_time = RandomTime.from_quantiles(move.stop_s, move.slow_stop_s)
    if move.stop_group:  # pods of its stop group may all be slow at once
        return start_time.mean_s + max(move.stop_s, move.slow_stop_s), start_time.variance
    # No stop is longer than a slow stop, so the mean is not either.
    return start_time.mean_s + min(
        stop_time.mean_s, max(move.stop_s, move.slow_stop_s)
    ), start_time.variance + stop_time.variance
