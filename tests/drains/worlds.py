"""Small clusters made from a seed, with stop times from zero to the grace period, which no plan knows.

No run of one ends before its plan's lower bound: ``python -m tests.drains.worlds 2000`` checks that many clusters.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from kubectl_eksdoc.drain.policy import DrainPolicy, random_fraction
from kubectl_eksdoc.drain.run.events import DrainEventKind
from kubectl_eksdoc.model.budgets import IntOrPercent
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.options import ALL
from tests.drains import virtual
from tests.drains.shapes import App, Shape


@dataclass(frozen=True, slots=True)
class World(Shape):
    """Each pod has its own stop time, and starts no faster than the existing pods did."""

    seed: int = 0
    stops: tuple[float, float] = (0.0, 1.0)  # shares of the grace period: of pods of one world the least and the most
    policy: DrainPolicy = field(default_factory=DrainPolicy)

    def start_s(self, pod: Pod) -> float:
        return Shape.start_s(self, pod) + max(0.0, 20 * self._luck(pod) - 10)

    def stop_s(self, pod: Pod) -> float:
        least, most = self.stops
        return pod.grace_seconds * (least + (most - least) * self._luck(pod))

    def _luck(self, pod: Pod) -> float:
        return random_fraction(self.seed, hash_of(pod.uid))


def hash_of(text: str) -> int:
    """A hash that is the same in every process."""
    return sum(ord(char) * 31**i for i, char in enumerate(text)) & 0xFFFFFFFF


def a_world(seed: int) -> World:
    c = Random(seed)
    old = c.randint(1, 5)
    apps = tuple(_app(c, f"app-{i}") for i in range(c.randint(1, 5)))
    at_once = ((ALL, IntOrPercent(c.randint(1, 3))),) if c.random() < 0.3 else ()
    policy = DrainPolicy(
        max_unavailable=at_once,
        surge=c.choice((None, None, None, 0, 2)),
        soft_budget=c.choice((None, None, 30)),
        evictions_per_second=c.choice((0.0, 0.0, 2.0, 0.5)),
        grace_seconds=c.choice((None, None, None, 5)),
    )
    stops = c.choice(((0.0, 0.0), (0.0, 0.0), (0.0, 0.2), (0.0, 1.0), (1.0, 1.0)))
    return World(apps, old, c.randint(1, 3), seed, stops, policy)


def _app(c: Random, name: str) -> App:
    return App(
        name,
        c.randint(1, 8),
        c.choice(("", "1", "1", "2", "25%", "50%")),
        c.randint(1, 4),
        c.randint(0, 4),
        c.choice(("ReplicaSet", "ReplicaSet", "StatefulSet")),
        c.choice((0.0, 1.0, 3.0, 12.0, 40.0)),
    )


class Held(NamedTuple):
    """Times in seconds. `took_s`: until the last node was done; `binds`: the binding part of the bound."""

    seed: int
    took_s: float
    bound_s: float
    binds: str


def held(seed: int) -> Held | None:
    """None where not all nodes are drained, or a node waits for a new node, which never joins: then there is nothing to
    compare."""
    world = a_world(seed)
    staged = virtual.planned(world, world.policy)
    if any(target.needs for target in staged.plan.targets):
        return None
    ran = virtual.carried_out(world, staged)
    if ran.plan.estimate is None or not ran.ended.is_complete:
        return None
    took_s = max(moment.at_s for moment in ran.ended.record.moments if moment.what is DrainEventKind.DONE)
    binds = ran.plan.estimate.lower_bounds[0]
    return Held(seed, took_s, binds.seconds, binds.name.value)


def too_fast(found: Iterable[Held]) -> Iterator[Held]:
    return (each for each in found if each.took_s < each.bound_s - 1e-6)


def main(worlds: int, first: int = 0) -> int:
    with ProcessPoolExecutor(1 if worlds < 100 else 2) as pool:
        found = [each for each in pool.map(held, range(first, first + worlds), chunksize=8) if each is not None]
    faster = list(too_fast(found))
    for each in faster:
        print(f"seed {each.seed}: over after {each.took_s:.3f} s, bound {each.bound_s:.3f} s ({each.binds})")
    ratios = sorted(each.took_s / each.bound_s for each in found)
    print(f"{len(found)} of {worlds} worlds drained, {len(faster)} faster than their bound")
    print(f"time / bound: least {ratios[0]:.2f}, median {ratios[len(ratios) // 2]:.2f}, most {ratios[-1]:.2f}")
    return 1 if faster else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
