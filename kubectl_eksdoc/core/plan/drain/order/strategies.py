"""Orders in which nodes can be drained: which is best depends on what binds, so several are tried.

Where budgets bind, nodes of the hardest chain go first, so that its turns never pause; where room is short, nodes
that are light, or give much room soon, go first. Zone by zone and oldest first is what people do by hand. The
rest are variations of the best so far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from kubectl_eksdoc.core.plan.drain.chance import chance
from kubectl_eksdoc.core.plan.drain.targets import natural


@dataclass(frozen=True, slots=True)
class Trait:
    """One node to drain. `chain_s`: of its pods' limits, the seconds that all pods of the longest take together;
    `chains_s` their sum. `alone_s`: what the node takes by itself. `load`: the share of it that its pods to move
    take, from 0 to 1."""

    name: str
    evictions: int
    chain_s: float
    chains_s: float
    alone_s: float
    load: float
    zone: str
    created_at: datetime | None


Strategy = Callable[[Sequence[Trait]], list[str]]

_LONG_AGO = "0000"


def hardest_chain(nodes: Sequence[Trait]) -> list[str]:
    """Those that hold a pod of the longest chain first."""
    return _by(nodes, lambda n: (-n.chain_s, -n.chains_s))


def lightest(nodes: Sequence[Trait]) -> list[str]:
    """Those whose pods need the least room first."""
    return _by(nodes, lambda n: (n.load,))


def efficient(nodes: Sequence[Trait]) -> list[str]:
    """Those that give the most room back for the room and the time they take first."""
    return _by(nodes, lambda n: (n.alone_s * n.load / max(1.0 - n.load, 0.01),))


def zone_and_age(nodes: Sequence[Trait]) -> list[str]:
    """Zone by zone, in each the oldest first."""
    return _by(nodes, lambda n: (n.zone, n.created_at.isoformat() if n.created_at else _LONG_AGO))


def by_name(nodes: Sequence[Trait]) -> list[str]:
    return _by(nodes, lambda n: ())


def given(first: Sequence[str]) -> Strategy:
    """Those of `first` in that order, then the others by name."""
    place = {name: i for i, name in enumerate(first)}

    def in_that_order(nodes: Sequence[Trait]) -> list[str]:
        return sorted((n.name for n in nodes), key=lambda name: (place.get(name, len(place)), natural(name)))

    return in_that_order


def varied(order: Sequence[str], seed: int) -> Strategy:
    """`order` with one node moved, for odd seeds, or every node moved a little; chance that `seed` decides."""
    names = list(order)
    if seed % 2 and len(names) > 1:
        which = int(chance(seed, 0) * len(names))
        drawn = chance(seed, 1)  # half of the moves are by one place, a quarter by two
        far = next((i for i in range(1, len(names)) if drawn < 1 - 0.5**i), 1)
        name = names.pop(which)
        names.insert(max(0, which - far) if chance(seed, 2) < 0.5 else which + far, name)
    else:
        reach = max(2, len(names) // (4 + seed % 5))
        place = {name: i + reach * chance(seed, i) for i, name in enumerate(names)}
        names.sort(key=place.__getitem__)
    place_of = {name: i for i, name in enumerate(names)}
    return lambda nodes: sorted((n.name for n in nodes), key=place_of.__getitem__)


BY_NAME: dict[str, Strategy] = {
    "chain": hardest_chain,
    "light": lightest,
    "efficiency": efficient,
    "zone": zone_and_age,
    "name": by_name,
}
"""All of `policy.ORDERS` but ``soonest``, which needs the tasks (see `soonest.soonest_first`)."""


def _by(nodes: Sequence[Trait], key: Callable[[Trait], tuple[object, ...]]) -> list[str]:
    """Empty nodes before all others: whatever is done with them, no pod moves."""
    return [n.name for n in sorted(nodes, key=lambda n: (n.evictions > 0, key(n), natural(n.name)))]
