"""New nodes for pods that find no place: how many, and like which of those that are there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from kubectl_eksdoc.drain.landing.emptiest import fitting
from kubectl_eksdoc.drain.landing.new_nodes import copy, one_of_each
from kubectl_eksdoc.drain.landing.room import PlacementRoom
from kubectl_eksdoc.drain.survey import DrainContext
from kubectl_eksdoc.kubernetes.scheduling.occupancy import NodeOccupancy
from kubectl_eksdoc.kubernetes.scheduling.pod_classes import PodClass
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.placement import Requests

MOST_NEW_NODES = 5000
"""More new nodes than this are not counted out."""

OPEN = 16
"""So many of the latest new nodes are tried before another one comes."""

Adds = Callable[[Node, Mapping[str, int]], bool]
"""Whether something adds one more node like this one, when so many like others (by name) come already."""

_Help = tuple[Node | None, bool, str]
"""Of a pod without a place: the fields of `Homeless` that say what new node takes it."""

_NO_HELP: _Help = (None, False, "")


class ExtraNodes:
    """Pods without a place on new nodes, each a copy of one that is there; those that something adds come first."""

    def __init__(self, world: DrainContext, room: PlacementRoom, adds: Adds) -> None:
        targets = {node.name for node in world.targets}
        # Those outside the targets first: more of what is being drained is the last advice.
        models = one_of_each(sorted(world.cluster.nodes, key=lambda n: n.name in targets))
        self._models = sorted(models, key=lambda n: n.name in targets)
        self._added = self._models  # those of which something may add one more
        self._room = room
        self._adds = adds
        self._copies = {True: _Copies(room), False: _Copies(room)}
        self._made = 0
        self._hopeless: set[int] = set()
        self.coming: Counter[str] = Counter()
        self.missing: Counter[str] = Counter()

    def house(self, kind: PodClass) -> _Help:
        """Put one such pod on a new node, if one helps."""
        if id(kind) in self._hopeless:
            return _NO_HELP
        for comes in (True, False):
            found = self._copies[comes].take(kind) or self._on_another_copy(kind, comes)
            if found is not None:
                return found[1], comes, found[0]
        self._hopeless.add(id(kind))
        return _NO_HELP

    def _on_another_copy(self, kind: PodClass, comes: bool) -> _Copy | None:
        if self._made == MOST_NEW_NODES:
            return None
        if comes:  # what adds no more now does not later either
            self._added = [like for like in self._added if self._adds(like, self.coming)]
        for like in self._added if comes else self._models:
            mark = self._room.mark()
            made = copy(like, f"new {self._made + 1}")
            self._room.join(made, like.name)
            if self._room.fits(kind, made.name):
                self._room.put(kind, made.name)
                self._made += 1
                found = made.name, like, self._room.occupancy.seats[made.name]
                self._copies[comes].made.append(found)
                (self.coming if comes else self.missing)[like.name] += 1
                return found
            self._room.back_to(mark)
        return None


_Copy = tuple[str, Node, NodeOccupancy]
"""The name of a new node, the node it is like, and what is left of it."""


class _Copies:
    """New nodes that only fill up; the latest of them are tried before another one comes."""

    def __init__(self, room: PlacementRoom) -> None:
        self._room = room
        self._full: dict[Requests, int] = {}  # how many, from the first on, have no room for what asks for so much
        self._fits: dict[Requests, Callable[[NodeOccupancy], bool]] = {}
        self.made: list[_Copy] = []

    def take(self, kind: PodClass) -> _Copy | None:
        """Put one such pod on the first of the open ones that takes it."""
        made, asked = self.made, kind.placement.requests
        if not made:
            return None
        fits = self._fits.get(asked) or self._fits.setdefault(asked, fitting(asked))
        first, last = max(self._full.get(asked, 0), len(made) - OPEN), len(made)
        while first < last and not fits(made[first][2]):
            first += 1
        self._full[asked] = first
        for at in range(first, last):
            if self._room.fits(kind, made[at][0]):
                self._room.put(kind, made[at][0])
                return made[at]
        return None
