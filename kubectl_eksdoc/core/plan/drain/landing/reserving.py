"""Where evicted pods land: each node is drained only when every replacement of its pods has a place reserved.

This is admission as in the banker's algorithm: evicting from many nodes at full speed with too little room
half-drains all of them and empties none. Places are reserved on nodes that are not targets, in the order in
which the targets are drained; a node with a pod that finds none gives its other places back.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.nodes import UNSCHEDULABLE_TAINT, Node, Taint
from kubectl_eksdoc.core.model.placement import CPU, MEMORY
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.drain.survey import Survey
from kubectl_eksdoc.core.rules.replacement import Replacement, replacement
from kubectl_eksdoc.core.rules.scheduling.occupancy import Occupancy, Seat
from kubectl_eksdoc.core.rules.scheduling.pod_classes import PodClass
from kubectl_eksdoc.core.rules.scheduling.volumes import Storage

MOST_NEW_NODES = 1000
"""More new nodes than this are not counted out."""

FEW = 64
LOOKED_AT = 8
"""Of more than a few nodes that could take a pod so many are compared, as the scheduler samples, too."""

_PASSING_TAINTS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "karpenter.sh/disrupt", "ToBeDeleted")
"""How taints begin that a node has for a time only: a new one comes without."""

_HOSTNAME = "kubernetes.io/hostname"
_OWN_LABELS = frozenset({_HOSTNAME, "alpha.eksctl.io/instance-id"})
"""Labels that no two nodes share."""

_CORDON = Taint(UNSCHEDULABLE_TAINT, "", "NoSchedule")


@dataclass(frozen=True, slots=True)
class Homeless:
    """A pod whose replacement finds no place. `reasons`: the scheduler's, each with how many nodes give it.

    `helped_by`: a node like this one, but new, would take it; None where no new node helps.
    """

    pod: Pod
    node: str
    reasons: tuple[tuple[str, int], ...]
    helped_by: Node | None = None


@dataclass(frozen=True, slots=True)
class Landing:
    """`homeless` by pod uid. `new_nodes` would have room for all that a new node helps, of which (name of a node
    that each is like → how many). `unsure` are pods about which something that decides is not modelled or not
    read, with what it is; `blind` are nodes outside the targets that do not say what room they have."""

    homeless: Mapping[str, Homeless] = field(default_factory=dict)
    new_nodes: Mapping[str, int] = field(default_factory=dict)
    unsure: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    blind: tuple[str, ...] = ()


def land(
    world: Survey,
    nodes: Sequence[tuple[str, Sequence[Pod]]],
    all_or_nothing: bool,
    comes_by_itself: Callable[[Node], bool],
) -> Landing:
    """Reserve places for what is evicted from `nodes`, in that order; `all_or_nothing`: for a whole node or none.

    `comes_by_itself` says whether something adds nodes like this one: those are tried first where new ones help.
    """
    room = _Room(world, comes_by_itself)
    homeless: dict[str, Homeless] = {}
    unsure: dict[str, tuple[str, ...]] = {}
    for name, pods in nodes:
        lost = []
        for pod in _hardest_first(p for p in pods if _is_replaced(p)):
            kind = room.move(pod)
            unknown = room.unknown(kind)
            if unknown:
                unsure[pod.uid] = unknown
            if not room.place(kind):
                lost.append((pod, kind))
        homeless |= {pod.uid: Homeless(pod, name, room.reasons(kind)) for pod, kind in lost}
        if lost and all_or_nothing:
            room.give_back()
        else:
            room.keep()
    helped, new_nodes = room.with_new_nodes([h.pod for h in homeless.values()], all_or_nothing)
    homeless |= {uid: replace(homeless[uid], helped_by=like) for uid, like in helped.items()}
    return Landing(homeless, new_nodes, unsure, room.blind)


def _is_replaced(pod: Pod) -> bool:
    return replacement(pod) not in (Replacement.NEVER, Replacement.SAME_NODE)


def _hardest_first(pods: Iterable[Pod]) -> list[Pod]:
    """The largest first: they are the ones that need the room as it is."""
    return sorted(pods, key=lambda p: (-p.placement.requests.cpu, -p.placement.requests.memory, p.key))


class _Room:
    """The nodes that are no targets, filling up. Mutable, and private to one call of `land`."""

    def __init__(self, world: Survey, comes_by_itself: Callable[[Node], bool]) -> None:
        cluster = world.cluster
        targets = {node.name for node in world.targets}
        self.blind = tuple(n.name for n in cluster.nodes if n.name not in targets and not n.allocatable)
        # Those outside the targets first: more of what is being drained is the last advice.
        models = _one_of_each(sorted(cluster.nodes, key=lambda n: n.name in targets))
        models.sort(key=lambda n: n.name in targets)
        self._models = {wanted: [n for n in models if comes_by_itself(n) is wanted] for wanted in (True, False)}
        nodes = [_cordoned(n) if n.name in targets else n for n in cluster.nodes]
        storage = Storage.observed(cluster)
        spaces = None if cluster.unread(kinds.NAMESPACES) else {n.name: n.labels for n in cluster.namespaces}
        self._occupancy = Occupancy.of(nodes, cluster.pods, spaces, storage)
        self._pods = cluster.pods
        self._daemons_on: dict[str, list[PodClass]] = {}
        self._rings: dict[object, list[Seat]] = {}
        self._next: dict[object, int] = defaultdict(int)
        self._reasons: dict[int, tuple[tuple[str, int], ...]] = {}
        self._full: set[int] = set()  # classes that found no place since something was last given back
        self._undo: list[tuple[PodClass, str, bool]] = []  # class, node, whether it was put there

    def move(self, pod: Pod) -> PodClass:
        """Take `pod` off its node; the class of what comes in its place."""
        if not pod.finished:  # one that has ended takes nothing
            old = self._occupancy.class_of(pod)
            self._occupancy.take(old, pod.node)
            self._undo.append((old, pod.node, False))
        return self._occupancy.successor_of(pod)

    def place(self, kind: PodClass) -> bool:
        """Put one such pod on the emptiest of the nodes that can take it, or of the next few of very many."""
        if id(kind) in self._full:
            return False
        ring, key = self._ring(kind), (kind.fence, kind.volumes)
        most = len(ring) if len(ring) <= FEW else LOOKED_AT
        start, best, found = self._next[key], None, 0
        for step in range(len(ring)):
            seat = ring[(start + step) % len(ring)]
            if self._occupancy.has_place(kind, seat):
                if best is None or _free(seat) > _free(best):
                    best = seat
                found += 1
                if found == most:
                    break
        if best is None:
            self._full.add(id(kind))
            return False
        self._next[key] = start + found
        self._put(kind, best.node.name)
        return True

    def _put(self, kind: PodClass, name: str) -> None:
        self._occupancy.put(kind, name)
        self._undo.append((kind, name, True))

    def _ring(self, kind: PodClass) -> list[Seat]:
        key = (kind.fence, kind.volumes)
        if key not in self._rings:
            self._rings[key] = list(self._occupancy.candidates(kind).values())
        return self._rings[key]

    def keep(self) -> None:
        self._undo.clear()

    def give_back(self) -> None:
        """As if the moves since the last `keep` or `give_back` had not been."""
        for kind, name, was_put in reversed(self._undo):
            if was_put:
                self._occupancy.take(kind, name)
            else:
                self._occupancy.put(kind, name)
        self._undo.clear()
        self._full.clear()

    def unknown(self, kind: PodClass) -> tuple[str, ...]:
        return self._occupancy.unknown(kind)

    def reasons(self, kind: PodClass) -> tuple[tuple[str, int], ...]:
        """Why no node takes such a pod, as it was when the first of them was asked: asking all nodes is dear."""
        if id(kind) not in self._reasons:
            found = self._occupancy.reasons(kind)
            self._reasons[id(kind)] = tuple(sorted(found.items(), key=lambda item: (-item[1], item[0])))
        return self._reasons[id(kind)]

    def with_new_nodes(self, pods: Sequence[Pod], still_there: bool) -> tuple[dict[str, Node], dict[str, int]]:
        """Which of `pods` new nodes would take, each a copy of one that is there, and how many copies of which.

        `still_there`: they were given back to their nodes, and are moved again.
        """
        helped: dict[str, Node] = {}
        copies: Counter[str] = Counter()
        new: dict[bool, list[tuple[Seat, Node]]] = {True: [], False: []}
        hopeless: set[int] = set()
        for pod in pods:
            kind = self.move(pod) if still_there else self._occupancy.successor_of(pod)
            if id(kind) in hopeless:
                continue
            for wanted in (True, False):
                like = self._on_a_copy(kind, new[wanted]) or self._on_another_copy(kind, wanted, new[wanted], copies)
                if like is not None:
                    helped[pod.uid] = like
                    break
            else:
                hopeless.add(id(kind))
        return helped, dict(copies)

    def _daemons(self, name: str) -> list[PodClass]:
        """The pods of DaemonSets that a node like that one brings with it."""
        if name not in self._daemons_on:
            found = [p for p in self._pods if p.node == name and replacement(p) is Replacement.SAME_NODE]
            self._daemons_on[name] = [self._occupancy.class_of(p) for p in found if not p.finished]
        return self._daemons_on[name]

    def _on_a_copy(self, kind: PodClass, new: Sequence[tuple[Seat, Node]]) -> Node | None:
        for seat, like in new:
            if self._occupancy.refusal(kind, seat.node.name) is None:
                self._put(kind, seat.node.name)
                return like
        return None

    def _on_another_copy(
        self, kind: PodClass, wanted: bool, new: list[tuple[Seat, Node]], copies: Counter[str]
    ) -> Node | None:
        number = sum(copies.values()) + 1
        if number > MOST_NEW_NODES:
            return None
        for like in self._models[wanted]:
            made = _copy(like, number)
            self._occupancy.add_node(made, like.name)
            for daemon in self._daemons(like.name):
                self._occupancy.put(daemon, made.name)
            if self._occupancy.refusal(kind, made.name) is None:
                self._put(kind, made.name)
                new.append((self._occupancy.seats[made.name], like))
                copies[like.name] += 1
                return like
            self._occupancy.drop_node(made.name)
        return None


def _free(seat: Seat) -> float:
    """The share of a node that is left, of what it has least of."""
    room = seat.room
    has_cpu, has_memory = room.allocatable.get(CPU, 0), room.allocatable.get(MEMORY, 0)
    return min(room.cpu / has_cpu if has_cpu else 0.0, room.memory / has_memory if has_memory else 0.0)


def _one_of_each(nodes: Iterable[Node]) -> list[Node]:
    """One node of each group, type, zone and size, the one with the newest kubelet first."""
    found: dict[object, Node] = {}
    for node in nodes:
        found.setdefault((_group(node), node.instance_type, node.zone, node.allocatable.get(CPU)), node)
    return sorted(found.values(), key=lambda n: (n.kubelet is None, _newest_first(n), n.name))


def _group(node: Node) -> object:
    """What nodes have in common that one of them shows: their group, or without one what they are labelled with."""
    return node.group or frozenset((k, v) for k, v in node.labels.items() if k not in _OWN_LABELS)


def _newest_first(node: Node) -> tuple[int, int]:
    return (-node.kubelet.major, -node.kubelet.minor) if node.kubelet is not None else (0, 0)


def _copy(node: Node, number: int) -> Node:
    name = f"{node.name} (new {number})"
    labels = {**node.labels, _HOSTNAME: name}
    taints = tuple(t for t in node.taints if not t.key.startswith(_PASSING_TAINTS))
    return replace(node, name=name, uid=name, labels=labels, unschedulable=False, taints=taints)


def _cordoned(node: Node) -> Node:
    return replace(node, unschedulable=True, taints=(*node.taints, _CORDON))
