"""What a simulated drain is given and what it tells: evictions to make, the terms of the run, and when all happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from kubectl_eksdoc.core.rules.replacement import Replacement


class Move(NamedTuple):
    """One pod to evict. `stop_s` from eviction to gone; `start_s` from the new pod's creation to Ready. What a rollout
    replaces (`Replacement.FIRST`) stops when the new one is Ready: its `stop_s` has that in it.

    `limits` name what it takes a slot of. `late` ones are taken last of those that wait for the same limit.
    `turn` is its place in the plan's order: of those that wait for the same limit the smallest goes first.
    `waits_for`: the new node its replacement needs, which something adds once the first such replacement is Pending.
    `slow_stop_s` and `slow_start_s` are the same two times of a slow pod, where it may take longer. `waits_s`: so long
    from the activation of its node on it is not asked for. `kin`: pods that stop alike, though nobody knows how long
    that takes; "" where it is known. What was evicted before the simulation begins has no `uid`.
    """

    uid: str
    limits: tuple[str, ...] = ()
    stop_s: float = 0.0
    start_s: float = 0.0
    after: Replacement = Replacement.AT_ONCE
    critical: bool = False
    late: bool = False
    turn: int = 0
    waits_for: str = ""
    slow_stop_s: float = 0.0
    slow_start_s: float = 0.0
    waits_s: float = 0.0
    kin: str = ""

    @property
    def slowed(self) -> Move:
        """The same eviction of a slow pod."""
        uid, limits, stop, start, after, critical, late, turn, waits_for, slow_stop, slow_start, waits, kin = self
        stop, start = max(stop, slow_stop), max(start, slow_start)
        return Move(uid, limits, stop, start, after, critical, late, turn, waits_for, stop, start, waits, kin)


@dataclass(frozen=True, slots=True)
class Terms:
    """How the drain is run.

    `slots`: limit → evictions that may be under way at once, at least 1. `waves`: node → its wave; a node is
    activated when all nodes of smaller waves are done; of one wave they come in the order given. `at_once`:
    how many nodes may be under way, in all ("") or of one domain (a zone, a node group; see `domains`).
    `strict`: limits that serve their moves by `turn` alone, those of nodes not yet active included; of the others
    what waits is served. `between_s`: least time between two evictions of the whole drain, but for `burst` of them
    that may be requested at once (a simulated drain spreads them; a bound may not). `lag_s`: from a replacement's
    readiness to the budget showing it. `settle_s`: from the last pod's end to the node being done.
    `renewed_after_s`: from then until a new node has joined in its place (None: none does). `new_node_s`: from a
    Pending replacement to the node that is added for it. `empty_for_s`: so long before the simulation begins a node
    has been empty.
    """

    slots: Mapping[str, int] = field(default_factory=dict)
    waves: Mapping[str, int] = field(default_factory=dict)
    at_once: Mapping[str, int] = field(default_factory=dict)
    domains: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # node → domains that `at_once` limits
    strict: frozenset[str] = frozenset()
    between_s: float = 0.0
    burst: float = 1.0
    lag_s: float = 0.0
    settle_s: float = 0.0
    renewed_after_s: float | None = None
    new_node_s: float = 0.0
    empty_for_s: Mapping[str, float] = field(default_factory=dict)


def apart_s(terms: Terms) -> float:
    """The time between any two evictions, and so 0 where several may be requested at once."""
    return terms.between_s if terms.burst <= 1 else 0.0


def hold_s(move: Move, lag_s: float) -> float:
    """From the eviction until its slots are given back (infinite: never): a Ready replacement the budget shows."""
    if move.after is Replacement.NEVER:
        return inf
    return move.start_s + lag_s + (move.stop_s if move.after is Replacement.AFTER_GONE else 0.0)


class Moved(NamedTuple):
    """When a pod was evicted, when it was gone, and when its replacement was Ready (None: there is none)."""

    uid: str
    node: str
    evicted_s: float
    gone_s: float
    ready_s: float | None


class Span(NamedTuple):
    """A node from its activation (cordon) until it is empty, and until it is done."""

    node: str
    start_s: float
    empty_s: float
    done_s: float


@dataclass(frozen=True, slots=True)
class Timeline:
    """`moves` in the order of eviction, `nodes` in the order of activation. `peak_away` is the most pods of
    all together that were evicted and not yet replaced by a Ready one. `stuck` are never evicted: a limit was
    used up for good, and they, their node or the nodes before it wait for it; or their node was never admitted
    (`refused`, in order)."""

    moves: tuple[Moved, ...]
    nodes: tuple[Span, ...]
    stuck: tuple[str, ...]
    peak_away: int
    refused: tuple[str, ...] = ()

    @property
    def makespan_s(self) -> float:
        """Until the last node is done."""
        return max((n.done_s for n in self.nodes), default=0.0)
