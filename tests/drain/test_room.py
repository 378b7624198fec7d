"""Free room, the emptiest nodes first, and the reasons why no node takes a pod, compared with a full recount after
every step."""

from __future__ import annotations

from random import Random

from kubectl_eksdoc.drain.new_nodes import MAX_ORDERED_NODES, EmptiestNodes
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.room import PlacementRoom, RefusalCounter
from kubectl_eksdoc.kubernetes.scheduling.occupancy import NodeOccupancy, Occupancy
from kubectl_eksdoc.kubernetes.scheduling.volumes import Storage
from kubectl_eksdoc.model.nodes import Node, Pod
from kubectl_eksdoc.model.placement import ResourceRequests
from tests.drain.recorded_placements import as_it_begins, prepared, successor
from tests.drain.small_clusters import a_small_node, small


class Beside:
    """A room and the list of its changes (what, pod or node, where), to repeat them all on a new count."""

    def __init__(self, seed: int) -> None:
        self.world, _, self.going, _ = prepared(small(seed), DrainPolicy())
        self.room = PlacementRoom(self.world)
        self.done: list[tuple[str, Pod | Node, str]] = []
        self.gone: set[str] = set()  # uids of pods that left

    def counted(self) -> Occupancy:
        """A full recount of the room."""
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
        return {name for name in occupancy.by_node if occupancy.refusal(kind, name) is None}

    def leave(self, pod: Pod) -> None:
        self.room.remove(self.room.classes_of(pod)[0], pod.node)
        self.done.append(("leave", pod, pod.node))
        self.gone.add(pod.uid)

    def back_to(self, mark: int, count: int) -> None:
        self.room.undo_to(mark)
        for what, subject, _ in self.done[count:]:
            if what == "leave" and isinstance(subject, Pod):
                self.gone.discard(subject.uid)
        del self.done[count:]

    def state(self) -> object:
        """Everything that shows the free resources of each node and in total."""
        free = self.room.free_resources
        pods = [pod for on in self.going.values() for pod in on]
        fits = [[self.room.fits(self.room.classes_of(p)[1], name) for name in self.names] for p in pods]
        return (free.cpu, free.memory, free.pods), fits, self.why()

    @property
    def names(self) -> list[str]:
        return sorted(self.counted().by_node)

    def why(self) -> object:
        why_not = self.room.refusal_counter()
        return [why_not.reasons(self.room.classes_of(pod)[1]) for on in self.going.values() for pod in on]


def walk(seed: int, steps: int) -> int:
    """Make random changes and compare after each; return how often a place was found or refused with certainty."""
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
            at.room.remember_maxima(kind)
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
        why_not = RefusalCounter(occupancy)
        for pod in world.cluster.pods:
            kind = occupancy.successor_of(pod)
            assert dict(why_not.reasons(kind)) == dict(occupancy.refusal_reasons(kind)), (seed, pod.name)
            takers = sum(occupancy.refusal(kind, name) is None for name in occupancy.by_node)
            assert why_not.count_takers(kind) == RefusalCounter(occupancy).count_takers(kind) == takers, (
                seed,
                pod.name,
            )


def free(seat: NodeOccupancy) -> float:
    """The free share of the node's scarcest resource."""
    room = seat.room
    return min(room.cpu / room.allocatable["cpu"], room.memory / room.allocatable["memory"])


def some_seats(c: Random, count: int, name: str = "n") -> list[NodeOccupancy]:
    nodes = [a_small_node(f"{name}-{i:02}", "a", "green", c.choice((2, 4, 8)), most_pods=20) for i in range(count)]
    seats = list(Occupancy(nodes, {}, Storage.of((), (), ())).by_node.values())
    for seat in seats:
        fill(c, seat)
    return seats


def fill(c: Random, seat: NodeOccupancy) -> None:
    if seat.room.cpu >= 500 and seat.room.memory >= 1 << 30:
        seat.room.take(ResourceRequests(c.choice((0, 500)), c.choice((0, 1 << 30))))


def test_the_emptiest_node_that_fits_is_found_while_nodes_fill_up_and_join() -> None:
    """Among the few emptiest nodes the search finds the emptiest that fits; a thorough search finds one of the others
    if there is one."""
    within = beyond = 0
    for seed in range(150):
        c = Random(seed)
        seats = some_seats(c, c.randint(1, 3 * MAX_ORDERED_NODES))
        emptiest = EmptiestNodes(seats)
        for step in range(20):
            likes = {seat.node.name for seat in seats if c.random() < c.choice((0.05, 0.4))}
            ranked = sorted(seats, key=lambda seat: (-free(seat), seat.node.name))
            few = [seat for seat in ranked[:MAX_ORDERED_NODES] if seat.node.name in likes]
            quick = emptiest.find(lambda seat, likes=likes: seat.node.name in likes, False)  # type: ignore[misc]
            found = emptiest.find(lambda seat, likes=likes: seat.node.name in likes)  # type: ignore[misc]
            if few:
                assert quick is found is few[0], (seed, step)
                within += 1
            else:
                assert quick is None, (seed, step)
                assert (found is not None) is bool(likes), (seed, step)
                assert found is None or found.node.name in likes
                beyond += found is not None
            for seat in c.sample(seats, min(len(seats), 3)):
                fill(c, seat)
            if c.random() < 0.1:
                seats.append(some_seats(c, 1, f"new-{step}")[0])
                emptiest.add(seats[-1])
    assert min(within, beyond) > 150, "else nothing was tested"
