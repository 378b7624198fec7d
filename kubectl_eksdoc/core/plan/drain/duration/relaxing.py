"""What one step of relaxing would save: the drain run again in virtual time with one more of what binds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from kubectl_eksdoc.core.plan.drain.duration.bounds import Bound, Scarce, domain_words, largest_first
from kubectl_eksdoc.core.plan.drain.duration.node_times import Nodes
from kubectl_eksdoc.core.sim.course import Reserved, Terms, Timeline
from kubectl_eksdoc.core.sim.drain import simulate


@dataclass(frozen=True, slots=True)
class Relaxation:
    """The same order run again with `bound` relaxed by one step: `change` says which.

    `saved_s` can be negative: a run that takes what is free at once may be slower with more (Graham's anomalies).
    """

    bound: Bound
    change: str
    makespan_s: float
    saved_s: float


def relaxations(
    nodes: Nodes,
    terms: Terms,
    found: Iterable[Bound],
    most: int = 3,
    before: Timeline | None = None,
    needs: Mapping[str, Sequence[str]] = MappingProxyType({}),
    regroup: Callable[[str], Mapping[str, int] | None] | None = None,
) -> tuple[Relaxation, ...]:
    """What one step would save of the `most` largest of `found` that have one: a simulation each, and one of the
    drain as it is if its timeline is not given as `before`.

    Steps: one more slot, one more node at once, half the time between evictions, half as many waves. The order
    of `nodes` is kept, and what they need (see `Reserved`). Nothing where the drain as it is, or with that step,
    does not come to its end. `regroup` gives the waves with one node more of a domain at once, where there are waves.
    """
    steps = [(bound, *step) for bound in sorted(found, key=largest_first) if (step := _step(bound, terms, regroup))]
    if not steps:
        return ()
    before = before or simulate(nodes, terms, Reserved(needs))
    if before.stuck:
        return ()
    tried = []
    for bound, change, relaxed in steps[:most]:
        after = simulate(nodes, relaxed, Reserved(needs), brief=True)
        if not after.stuck:
            tried.append(Relaxation(bound, change, after.makespan_s, before.makespan_s - after.makespan_s))
    return tuple(tried)


def _step(
    bound: Bound, terms: Terms, regroup: Callable[[str], Mapping[str, int] | None] | None
) -> tuple[str, Terms] | None:
    if bound.name is Scarce.BUDGET_CHAIN:
        slots = terms.slots[bound.subject]
        return f"{bound.subject} {slots} → {slots + 1}", replace(terms, slots={**terms.slots, bound.subject: slots + 1})
    if bound.name is Scarce.NODES_AT_ONCE:
        change = f"nodes at once{domain_words(bound.subject)} {bound.units} → {bound.units + 1}"
        if bound.subject in terms.at_once:
            return change, replace(terms, at_once={**terms.at_once, bound.subject: bound.units + 1})
        waves = regroup(bound.subject) if regroup is not None else None
        return (change, replace(terms, waves=waves)) if waves else None
    if bound.name is Scarce.RATE:
        half = terms.between_s / 2
        return f"time between evictions {terms.between_s:g} s → {half:g} s", replace(terms, between_s=half)
    if bound.name is Scarce.WAVES:
        place = {wave: i for i, wave in enumerate(sorted(set(terms.waves.values())))}
        merged = {node: place[wave] // 2 for node, wave in terms.waves.items()}
        return f"waves {len(place)} → {len(set(merged.values()))}", replace(terms, waves=merged)
    return None
