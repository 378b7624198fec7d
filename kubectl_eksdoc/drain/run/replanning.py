"""A new plan while a run is under way, made from what is seen then, for pods that the first one does not know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf

from kubectl_eksdoc.drain.plan import make_plan
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.seen import ObservedState
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.codes import Code

_PASSING = (
    Code.of("budget-exhausted"),
    Code.of("budget-stale"),
    Code.of("budget-disagrees"),
    Code.of("budget-unhealthy"),
)

WAITED_FOR = frozenset(code.name for code in _PASSING)
"""Blockers of a plan that pass by themselves where this run brought them about; else the engine gives up on them."""

AGAIN_S = 5.0
"""So long after one new plan the next one is made; of a large cluster a plan takes long, then longer."""

IDLE = 4.0
"""So many times as long as a plan took there is none after it: it holds up everything else."""


class Replanning:
    """Mutable. `facts`: the cluster as it was read when the run began; what is watched is newer in what was seen."""

    def __init__(self, engine: Engine, facts: Cluster) -> None:
        self._engine = engine
        self._facts = facts
        self._not_before_s = 0.0

    @property
    def next_s(self) -> float:
        """When a new plan will be made though nothing is told; infinity where none is wanted."""
        return self._not_before_s if self._engine.strangers and not self._engine.stopped else inf

    def look(self, now: Callable[[], float]) -> None:
        """Make a new plan if one is wanted; `now` tells the seconds since the run began."""
        begun_s = now()
        if self.next_s <= begun_s:
            engine = self._engine
            plan = plan_again(self._facts, engine.seen, engine.remaining, engine.plan.policy, begun_s)
            engine.extend(plan, begun_s)
            self._not_before_s = now() + max(AGAIN_S, IDLE * (now() - begun_s))


def plan_again(
    facts: Cluster, seen: ObservedState, nodes: tuple[str, ...], policy: DrainPolicy, now_s: float
) -> DrainPlan:
    """The plan of `nodes` by what is seen now: each pod on them is judged by itself, whatever the others on its node.

    Waves are not looked at: their nodes have been begun. What the run has used up of a budget comes back. No pod is
    deleted past its budget: the names that were typed back are those of pods that the first plan knows, and a pod that
    has such a name by now is another one.
    """
    there = seen.now(facts, now_s)
    each = replace(
        policy,
        partial=True,
        assume_fixed=policy.assume_fixed | WAITED_FOR,
        max_unavailable=(),
        pins=(),
        delete_past_budget=frozenset(),
        order="soonest",
        order_nodes=(),
    )
    return make_plan(there, [node for node in there.nodes if node.name in nodes], each)
