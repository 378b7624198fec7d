"""Which nodes are drained next: in order, as waves, limits on nodes at once and the room for their pods allow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol


class Ground(Protocol):
    """Where replacements go: admission as in the banker's algorithm. One is used for one simulation."""

    def admit(self, node: str, thorough: bool, partly: bool = False) -> bool:
        """Reserve places for the replacements of all pods of `node`, or none and say no for now.

        Only the answer to a `thorough` question must be right: else a place that is hard to find may be missed.
        `partly`: there will never be more room, so that a node may be taken of which only some pods have a place.
        """

    def renew(self, node: str) -> None:
        """A new node like the drained `node` has joined in its place."""


class Reserved:
    """The ground when places were reserved before: `needs` are the drained nodes in whose successors they are."""

    def __init__(self, needs: Mapping[str, Sequence[str]]) -> None:
        self._needs = needs
        self._there: set[str] = set()

    def admit(self, node: str, thorough: bool, partly: bool = False) -> bool:
        return self._there.issuperset(self._needs.get(node, ()))

    def renew(self, node: str) -> None:
        self._there.add(node)


PATIENCE = 8
"""So many nodes for which there is no room are asked about before the others must wait for the next new node."""


FEW = 200
"""Of no more nodes than this all are asked about, thoroughly, whenever a node may be begun."""


class Activation:
    """The nodes that are still to be drained. Mutable, and private to one simulation."""

    def __init__(
        self,
        nodes: Sequence[str],
        waves: Mapping[str, int],
        at_once: Mapping[str, int],
        domains: Mapping[str, tuple[str, ...]],
        ground: Ground | None,
    ) -> None:
        """The fields are those of `Terms`; without a `ground` there is room for everything."""
        self._queue = list(reversed(nodes))
        self._few = len(nodes) <= FEW
        self._waves = waves
        self._room = dict(at_once)
        self._domains = domains
        self._ground = ground
        self._undone = Counter([waves.get(node, 0) for node in nodes] if waves else {0: len(nodes)})
        self._refused: set[str] = set()  # since the ground last changed
        self._settled = False  # nothing has changed since all that may begin have

    def __bool__(self) -> bool:
        """Whether any is left."""
        return bool(self._queue)

    @property
    def left(self) -> Sequence[str]:
        """Those that were not activated, in order."""
        return self._queue[::-1]

    def begin(self, *, thorough: bool = False, partly: bool = False) -> Iterator[str]:
        """The nodes to cordon now. A node whose domain is full or for which there is no room lets others pass.

        `thorough`: ask about every node, and take no for an answer only if it is certain; `partly` as for `Ground`.

        What the caller does with a node may be done before the next one is asked for.
        """
        thorough = thorough or self._few
        if self._settled and not thorough:
            return
        passed = []
        wave = min(self._undone, default=0) if self._waves else 0
        refused = 0
        while self._queue and (thorough or refused <= PATIENCE):
            node = self._queue.pop()
            if self._waves.get(node, 0) > wave or self._room.get("", 1) <= 0:
                passed.append(node)
                break
            domains = self._limited(node)
            if domains and any(self._room[d] <= 0 for d in domains):
                passed.append(node)
            elif not self._admitted(node, thorough, partly):
                passed.append(node)
                refused += 1
            else:
                for domain in domains:
                    self._room[domain] -= 1
                yield node
        self._queue += reversed(passed)
        self._settled = True

    def done(self, node: str) -> None:
        """`node` is drained: it makes room among the nodes at once, and its wave is shorter by one."""
        for domain in self._limited(node):
            self._room[domain] += 1
            self._settled = False
        wave = self._waves.get(node, 0)
        self._undone[wave] -= 1
        if not self._undone[wave]:
            del self._undone[wave]
            self._settled = False

    def renewed(self, node: str) -> None:
        """A new node has joined in the place of `node`."""
        self._refused.clear()
        self._settled = False
        if self._ground is not None:
            self._ground.renew(node)

    def _admitted(self, node: str, thorough: bool, partly: bool) -> bool:
        if self._ground is None:
            return True
        if node in self._refused and not thorough:
            return False
        if self._ground.admit(node, thorough, partly):
            return True
        self._refused.add(node)
        return False

    def _limited(self, node: str) -> tuple[str, ...]:
        if not self._room:
            return ()
        named = self._domains.get(node, ())
        return tuple(d for d in ("", *named) if d in self._room)
