"""Room, the emptiest nodes first, and why no node takes a pod: beside a count made anew after every step."""

from __future__ import annotations

from random import Random

from kubectl_eksdoc.drain.landing.room import PlacementRoom, WhyNot
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.kubernetes.scheduling.occupancy import NodeOccupancy, Occupancy
from kubectl_eksdoc.model.nodes import Node, Pod
from tests.drain.grounds import as_it_begins, prepared, successor
from tests.drain.small_clusters import small


class Beside:
    """A room, and beside it what was done to it: (what, pod or node, where), to do it all again on a new count."""

    def __init__(self, seed: int) -> None:
        self.world, _, self.going, _ = prepared(small(seed), DrainPolicy())
        self.room = PlacementRoom(self.world)
        self.done: list[tuple[str, Pod | Node, str]] = []
        self.gone: set[str] = set()  # uids of pods that left

    def counted(self) -> Occupancy:
        """All of it, counted anew."""
        _, occupancy = as_it_begins(self.world, {})
        for what, subject, where in self.done:
            if isinstance(subject, Node):
                occupancy.add_node(subject, where)
            elif what == "leave":
                occupancy.take(occupancy.class_of(subject), where)
            else:
                occupancy.put(occupancy.successor_of(subject), where)
        return occupancy

    def takers(self, pod: Pod) -> set[str]:
        occupancy = self.counted()
        kind = occupancy.successor_of(pod)
        return {name for name in occupancy.seats if occupancy.refusal(kind, name) is None}

    def leave(self, pod: Pod) -> None:
        self.room.leave(self.room.classes_of(pod)[0], pod.node)
        self.done.append(("leave", pod, pod.node))
        self.gone.add(pod.uid)

    def back_to(self, mark: int, count: int) -> None:
        self.room.back_to(mark)
        for what, subject, _ in self.done[count:]:
            if what == "leave" and isinstance(subject, Pod):
                self.gone.discard(subject.uid)
        del self.done[count:]

    def state(self) -> object:
        """All that tells what is left where, and what of it is free together."""
        free = self.room.free
        pods = [pod for on in self.going.values() for pod in on]
        fits = [[self.room.fits(self.room.classes_of(p)[1], name) for name in self.names] for p in pods]
        return (free.cpu, free.memory, free.pods), fits, self.why()

    @property
    def names(self) -> list[str]:
        return sorted(self.counted().seats)

    def why(self) -> object:
        why_not = self.room.why_not()
        return [why_not.reasons(self.room.classes_of(pod)[1]) for on in self.going.values() for pod in on]


def walk(seed: int, steps: int) -> int:
    """Do anything in any order and compare; how often a place was found or refused with certainty."""
    c = Random(seed)
    at = Beside(seed)
    pods = [pod for on in at.going.values() for pod in on]
    marks: list[tuple[int, int, object]] = []
    asked = 0
    if not pods:
        return 0
    for _ in range(steps):
        pod = c.choice(pods)
        kind = at.room.classes_of(pod)[1]
        what = c.choice(("place", "place", "quick", "leave", "remember", "join", "mark", "back"))
        if what in ("place", "quick"):
            takers = at.takers(pod)
            assert not at.room.may_have_place(kind, 0) or takers, seed
            place = at.room.place(kind, thorough=what == "place")
            assert place in takers if place else what == "quick" or not takers, (seed, pod.name, place, takers)
            if place:
                at.done.append(("put", pod, place))
            asked += 1
        elif what == "leave" and pod.uid not in at.gone:
            at.leave(pod)
        elif what == "remember":
            at.room.remember(kind)
        elif what == "join":
            node = successor(at.world, pod.node)
            if node.name not in at.names:
                at.room.join(node, pod.node)
                at.done.append(("join", node, pod.node))
        elif what == "mark":
            marks.append((at.room.mark(), len(at.done), at.state()))
        elif what == "back" and marks:
            mark, count, state = marks.pop(c.randrange(len(marks)))
            marks = [each for each in marks if each[1] <= count]
            at.back_to(mark, count)
            assert at.state() == state, seed
    return asked


def test_a_place_is_found_exactly_where_there_is_one_and_every_step_can_be_taken_back() -> None:
    assert sum(walk(seed, 25) for seed in range(100)) > 500, "else nothing was tested"


def test_reasons_are_those_of_every_node_asked_by_itself() -> None:
    for seed in range(100):
        world, _, going, _ = prepared(small(seed), DrainPolicy(surge=seed % 3))
        _, occupancy = as_it_begins(world, going)
        why_not = WhyNot(occupancy)
        for pod in world.cluster.pods:
            kind = occupancy.successor_of(pod)
            assert dict(why_not.reasons(kind)) == dict(occupancy.reasons(kind)), (seed, pod.name)
            takers = sum(occupancy.refusal(kind, name) is None for name in occupancy.seats)
            assert why_not.takers(kind) == WhyNot(occupancy).takers(kind) == takers, (seed, pod.name)


def free(seat: NodeOccupancy) -> float:
    """The share that is left of what it has least of."""
    room = seat.room
    return min(room.cpu / room.allocatable["cpu"], room.memory / room.allocatable["memory"])
