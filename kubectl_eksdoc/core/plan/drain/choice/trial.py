"""One order tried whole: places reserved as nodes are drained in virtual time, and what that comes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubectl_eksdoc.core.plan.drain.duration.clock import Clock, terms_of
from kubectl_eksdoc.core.plan.drain.landing.places import adds
from kubectl_eksdoc.core.plan.drain.landing.reserving import Ground, Landing
from kubectl_eksdoc.core.plan.drain.order.rounds import coming_again
from kubectl_eksdoc.core.plan.drain.order.tasks import Work
from kubectl_eksdoc.core.plan.drain.order.waves import gates
from kubectl_eksdoc.core.plan.drain.survey import Survey
from kubectl_eksdoc.core.sim.course import Move, Timeline
from kubectl_eksdoc.core.sim.drain import simulate


@dataclass(frozen=True, slots=True)
class Trial:
    """`order` is what was tried: `nodes` are those of it that were drained, `refused` the others, for whose pods there
    was no room. `gates` by node, from 1, empty where nodes do not wait for waves."""

    name: str
    order: tuple[str, ...]
    nodes: tuple[str, ...]
    refused: tuple[str, ...]
    gates: Mapping[str, int]
    timeline: Timeline


_Moves = tuple[str, list[Move]]
"""A node, and the evictions of its pods."""


class Trials:
    """Tries orders of the same work, one after the other, on one ground."""

    def __init__(self, world: Survey, work: Work, clock: Clock) -> None:
        self._world = world
        self.work = work
        self.ground = Ground(world, adds(world), work.partly)
        self.moves: dict[str, list[Move]] = {}
        crowded = work.crowded
        for node, given in work.tasks.items():
            self.ground.expect(node, coming_again(given))
            self.moves[node] = clock.moves(given, crowded=crowded)
        self.latest: Trial | None = None  # what the ground holds

    def run(self, name: str, order: Sequence[str]) -> Trial:
        """Drain the nodes in that order, as far as there is room."""
        surge = self._world.policy.surge
        self.latest = trial = self._with_room_as_it_is(name, order) if surge is None else self._renewing(name, order)
        return trial

    def landing(self) -> Landing:
        """Where everything lands in the latest trial, or why it does not."""
        assert self.latest is not None, "nothing was tried"
        return self.ground.landing((*self.latest.nodes, *self.latest.refused))

    def _with_room_as_it_is(self, name: str, order: Sequence[str]) -> Trial:
        """No node joins, so that it is clear from the beginning for which nodes there is room."""
        self.ground.begin()
        there = {node for node in order if self.ground.admit(node, thorough=False)}
        # A node that is drained may let others go: its pods are in nobody's way any more.
        while more := {node for node in order if node not in there and self.ground.admit(node, thorough=True)}:
            there |= more
        there |= {node for node in order if node not in there and self.ground.admit(node, thorough=True, partly=True)}
        admitted = [node for node in order if node in there]
        waves = gates(self._world, admitted)
        timeline = simulate(self._of(admitted), terms_of(self._world, self.work.per_round, waves))
        return Trial(name, tuple(order), tuple(admitted), tuple(n for n in order if n not in there), waves, timeline)

    def _renewing(self, name: str, order: Sequence[str]) -> Trial:
        """Nodes that find no room when all of the waves before are renewed are left out, and all begins anew."""
        out: set[str] = set()
        while True:
            self.ground.begin()
            going = [node for node in order if node not in out]
            waves = gates(self._world, going)
            terms = terms_of(self._world, self.work.per_round, waves)
            timeline = simulate(self._of(going), terms, self.ground)
            refused = timeline.refused
            if waves and refused:
                first = min(waves[node] for node in refused)
                out.update(node for node in refused if waves[node] == first)
                continue
            out.update(refused)
            begun = [node for node in order if node not in out]
            return Trial(name, tuple(order), tuple(begun), tuple(n for n in order if n in out), waves, timeline)

    def _of(self, order: Sequence[str]) -> list[_Moves]:
        return [(node, self.moves[node]) for node in order]
