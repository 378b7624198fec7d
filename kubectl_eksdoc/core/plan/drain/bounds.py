"""Lower bounds: no run under the same terms is over earlier, whatever its order and however long it waits.

Each bound looks at one thing that is scarce and forgets all others: a budget's slots, one node's own pods, the
nodes that may be under way, the pace of evictions. The largest binds; what would relax it is what makes the
drain faster, and `relaxations` tries it in virtual time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import inf

from kubectl_eksdoc.core.plan.drain.chains import Job, chain_s
from kubectl_eksdoc.core.plan.drain.node_times import Drained, Nodes, timed
from kubectl_eksdoc.core.sim.drain import Terms, simulate


class Scarce(str, Enum):
    """What a bound is about. Of equal bounds the first in this order is the plainest to say."""

    LONGEST_POD = "longest-pod"
    BUDGET_CHAIN = "budget-chain"
    NODE = "node"
    RATE = "rate"
    NODES_AT_ONCE = "nodes-at-once"


@dataclass(frozen=True, slots=True)
class Bound:
    """`seconds` from the start until the last node is done, at least (infinite: no run ends).

    `subject` is what binds: a pod's uid, a limit, a node, a domain ("" for all nodes); "" for the pace.
    `about` says why, `relax` what would relax it, each in a plain sentence without its final stop.
    """

    name: Scarce
    seconds: float
    about: str
    subject: str
    relax: str


@dataclass(frozen=True, slots=True)
class Relaxation:
    """The same order run again with `bound` relaxed by one step: `change` says which.

    `saved_s` can be negative: a run that takes what is free at once may be slower with more (Graham's anomalies).
    """

    bound: Bound
    change: str
    makespan_s: float
    saved_s: float


_PLAINEST = {name: place for place, name in enumerate(Scarce)}


def bounds(nodes: Nodes, terms: Terms, keep: int = 3) -> tuple[Bound, ...]:
    """The `keep` largest bounds of every kind for draining `nodes` (name, pods to evict), largest first.

    `terms` must name the slots of every limit of the pods, as for `simulate`.
    """
    drained = [timed(node, given, terms) for node, given in nodes]
    found: list[Bound] = []
    found += sorted(_chains(drained, terms), key=_largest_first)[:keep]
    for kind in (_pods(drained), _nodes(drained), _rate(drained, terms), _room(drained, terms)):
        # What never ends does so for a limit's sake, and that is said once.
        found += sorted((bound for bound in kind if bound.seconds < inf), key=_largest_first)[:keep]
    return tuple(sorted(found, key=_largest_first))


def binding(found: Iterable[Bound]) -> Bound:
    """The largest of `found`, which must not be empty; of equal ones the plainest."""
    return min(found, key=_largest_first)


def gap(makespan_s: float, bound: Bound) -> float | None:
    """By what share a makespan exceeds the bound: 0.03 is 3 %. None where the bound is nothing or for ever."""
    if bound.seconds <= 0 or bound.seconds == inf:
        return None
    return max(0.0, makespan_s / bound.seconds - 1)


def relaxations(nodes: Nodes, terms: Terms, found: Iterable[Bound], most: int = 3) -> tuple[Relaxation, ...]:
    """What one step would save of the `most` largest of `found` that have one: at most `most` + 1 simulations.

    Steps: one more slot, one more node at once, half the time between evictions. The order of `nodes` is kept.
    Nothing where the drain as it is, or with that step, does not come to its end.
    """
    steps = [(bound, *step) for bound in sorted(found, key=_largest_first) if (step := _step(bound, terms))]
    before = simulate(nodes, terms) if steps else None
    if before is None or before.stuck:
        return ()
    tried = []
    for bound, change, relaxed in steps[:most]:
        after = simulate(nodes, relaxed)
        if not after.stuck:
            tried.append(Relaxation(bound, change, after.makespan_s, before.makespan_s - after.makespan_s))
    return tuple(tried)


def _largest_first(bound: Bound) -> tuple[float, int, str]:
    return (-bound.seconds, _PLAINEST[bound.name], bound.subject)


def _step(bound: Bound, terms: Terms) -> tuple[str, Terms] | None:
    if bound.name is Scarce.BUDGET_CHAIN:
        slots = terms.slots[bound.subject]
        return f"{bound.subject} {slots} → {slots + 1}", replace(terms, slots={**terms.slots, bound.subject: slots + 1})
    if bound.name is Scarce.NODES_AT_ONCE:
        room = terms.at_once[bound.subject]
        relaxed = replace(terms, at_once={**terms.at_once, bound.subject: room + 1})
        return f"nodes at once{_of(bound.subject)} {room} → {room + 1}", relaxed
    if bound.name is Scarce.RATE:
        half = terms.between_s / 2
        return f"time between evictions {terms.between_s:g} s → {half:g} s", replace(terms, between_s=half)
    return None


def _of(domain: str) -> str:
    return f" of {domain}" if domain else ""


def _pods(drained: Sequence[Drained]) -> Iterator[Bound]:
    for node in drained:
        if node.moves:
            job, move = max(zip(node.jobs, node.moves, strict=True), key=lambda pair: pair[0].head + pair[0].tail)
            why = "one pod of {} takes that long, with what must come before and after it on its node"
            relax = "a shorter grace period, or a faster stop, of that pod"
            yield Bound(Scarce.LONGEST_POD, job.head + job.tail, why.format(node.name), move.uid, relax)


def _chains(drained: Sequence[Drained], terms: Terms) -> Iterator[Bound]:
    users: dict[str, list[Job]] = defaultdict(list)
    for node in drained:
        for job, move in zip(node.jobs, node.moves, strict=True):
            for limit in move.limits:
                users[limit].append(job)
    for limit, jobs in users.items():
        slots = terms.slots[limit]
        if len(jobs) <= slots:
            continue  # its pods need not wait for each other: the longest of them says as much
        seconds = chain_s(jobs, slots, terms.between_s)
        why = f"{limit} lets {slots} of its {len(jobs)} pods be away at a time"
        relax = f"let {slots + 1} pods of {limit} be away at a time, or make their replacements Ready sooner"
        if seconds == inf:
            why = f"{limit} lets {slots} of its {len(jobs)} pods be away, and for more of them nothing comes back"
            relax = f"more replicas for {limit}, or a budget that lets all of them go"
        yield Bound(Scarce.BUDGET_CHAIN, seconds, why, limit, relax)


def _nodes(drained: Sequence[Drained]) -> Iterator[Bound]:
    for node in drained:
        why = f"{node.name} alone takes that long for its {len(node.moves)} pods"
        relax = f"let more pods of {node.limit} be away at a time" if node.limit else "faster stops of its pods"
        yield Bound(Scarce.NODE, node.seconds, why, node.name, relax)


def _rate(drained: Sequence[Drained], terms: Terms) -> Iterator[Bound]:
    jobs = [job._replace(hold=terms.between_s) for node in drained for job in node.jobs]
    if not terms.between_s or len(jobs) < 2:
        return
    why = f"{len(jobs)} evictions are at least {terms.between_s:g} s apart"
    yield Bound(Scarce.RATE, chain_s(jobs, 1), why, "", "allow more evictions per second")


def _room(drained: Sequence[Drained], terms: Terms) -> Iterator[Bound]:
    for domain, room in terms.at_once.items():
        times = [n.seconds for n in drained if not domain or domain in terms.domains.get(n.name, ())]
        if len(times) > room:
            seconds = chain_s([Job(0.0, time, time) for time in times], room)
            why = f"{len(times)} nodes{_of(domain)} are drained {room} at a time"
            yield Bound(Scarce.NODES_AT_ONCE, seconds, why, domain, f"drain {room + 1} nodes{_of(domain)} at a time")
