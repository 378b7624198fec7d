"""Reservations for evicted pods on small crowded clusters: no room is given twice, and no pod is placed where the
scheduler would refuse it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache

import pytest

from kubectl_eksdoc.drain.choice import OrderedPlan
from kubectl_eksdoc.drain.duration.generations import NEW_NODE_TIMES_S, EvictionTimes
from kubectl_eksdoc.drain.nodes import DrainContext
from kubectl_eksdoc.drain.outcome import PodVerdict
from kubectl_eksdoc.drain.plan import build_plan
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.reservations import TOO_LATE
from kubectl_eksdoc.drain.simulation import simulate
from kubectl_eksdoc.drain.timeline import Timeline
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import Node, Pod
from kubectl_eksdoc.model.placement import Placement, PodAffinityTerm, ResourceRequests
from kubectl_eksdoc.model.selectors import from_parts
from tests.builders import a_cluster, a_pod, a_workload
from tests.drain.recorded_placements import ADMITTED, RENEWED, Drained, as_it_begins, drained, prepared, successor
from tests.drain.small_clusters import (
    ZONE_KEY,
    a_policy,
    a_small_node,
    by_node,
    chosen_of,
    of_one_kind,
    small,
    targets_of,
)
from tests.examples import for_seeds

SEEDS = range(250)
sampled = for_seeds(SEEDS, every=5)  # all of SURGES, too
SURGES = (None, 0, 1, 3)


def crowded(seed: int) -> tuple[Cluster, DrainPolicy]:
    """A cluster and any policy to drain it."""
    return small(seed), a_policy(seed)


def surging(seed: int) -> tuple[Cluster, DrainPolicy]:
    """With the existing room, and with surge nodes; without gates."""
    return small(seed), DrainPolicy(surge=SURGES[seed % 4], partial=seed % 7 == 0)


@cache
def chosen(seed: int) -> tuple[DrainContext, OrderedPlan]:
    return chosen_of(*crowded(seed))


@cache
def run_of(seed: int, partial: bool) -> Drained:
    cluster, policy = surging(seed)
    return drained(cluster, replace(policy, partial=partial))


@sampled
def test_places_are_on_nodes_that_stay_or_have_joined_by_then(seeds: Sequence[int]) -> None:
    waited = 0
    for seed in seeds:
        world, made = chosen(seed)
        targets = {node.name for node in world.targets}
        of = {pod.uid: pod.node for pod in world.cluster.pods}
        assert targets.isdisjoint(made.placement.places.values()), seed
        for uid, place in made.placement.places.items():
            if place.endswith(" (new)"):
                assert place.removesuffix(" (new)") in made.placement.needs[of[uid]], (seed, uid)
        if made.typical_run is not None:
            waited += _waits_for_needs(made.typical_run.timeline, made, NEW_NODE_TIMES_S[0])
    assert waited > 0.2 * len(seeds), "else nothing was tested"


@pytest.mark.parametrize("partial", [False, True])
@sampled
def test_every_place_was_one_when_it_was_given(partial: bool, seeds: Sequence[int]) -> None:
    """The test repeats the placements pod by pod, as nodes were admitted and joined: the scheduler's filters refuse
    none."""
    for seed in seeds:
        run = run_of(seed, partial)
        _, occupancy = as_it_begins(run.world, run.going)
        pods = {pod.uid: pod for pod in run.world.cluster.pods}
        for what, name in run.log:
            if what != ADMITTED:
                occupancy.add_node(successor(run.world, name), name)
                continue
            for uid, place in run.landing.places.items():  # in the order in which they were given
                pod = pods[uid]
                if pod.node == name:
                    occupancy.take(occupancy.class_of(pod), name)
                    assert occupancy.refusal(occupancy.successor_of(pod), place) is None, (seed, uid, place)
                    occupancy.put(occupancy.successor_of(pod), place)


@sampled
def test_a_node_is_drained_whole_or_not_touched(seeds: Sequence[int]) -> None:
    """The plan evicts all pods of a node, except those that always stay, or none."""
    whole = untouched = 0
    for seed in seeds:
        cluster, policy = crowded(seed)
        plan = build_plan(cluster, targets_of(cluster), replace(policy, partial=False))
        evicted = by_node(e.pod for e in plan.evictions)
        kept = by_node(x.pod for x in plan.left if x.verdict is not PodVerdict.STAY)
        assert not evicted.keys() & kept.keys(), seed
        assert all((t.node.name in kept) is (t.order == 0) for t in plan.targets), seed
        whole += len(evicted)
        untouched += len(kept)
    assert min(whole, untouched) > 0.4 * len(seeds), "else nothing was tested"


@pytest.mark.parametrize("surge", [1, 2, 3])
@for_seeds(range(120), every=6)
def test_with_one_node_more_all_nodes_of_one_kind_are_drained(surge: int, seeds: Sequence[int]) -> None:
    """No gridlock: the pods of one node fit on the next new node, so that one node after the other can be drained."""
    for seed in seeds:
        cluster = of_one_kind(seed)
        policy = a_policy(seed, surge=surge, partial=False)
        plan = build_plan(cluster, targets_of(cluster), policy)
        assert all(t.order for t in plan.targets), seed
        assert plan.estimate is not None, seed


@sampled
def test_what_is_said_to_have_no_place_has_every_node_against_it(seeds: Sequence[int]) -> None:
    """Each node, new ones included, gives at least one reason; after nodes filled up, more reasons apply."""
    said = 0
    for seed in seeds:
        run = run_of(seed, False)
        nodes = len(run.world.cluster.nodes) + (run.world.policy.surge or 0) + len(run.log) - len(run.admitted)
        for homeless in run.landing.unplaced.values():
            assert sum(count for _, count in homeless.reasons) >= nodes, (seed, homeless)
            said += 1
    assert said > 0.8 * len(seeds), "else nothing was tested"


def test_a_place_that_only_a_node_that_stays_would_free_is_none() -> None:
    """y has anti-affinity to z in its zone, and z has no place: as long as z stays, y has no place either."""
    away = Placement(ResourceRequests(cpu=500), anti_affinity=(PodAffinityTerm(ZONE_KEY, from_parts({"app": "z"})),))
    cluster = a_cluster(
        nodes=[
            a_small_node("old-0", "a", "blue"),
            a_small_node("old-1", "b", "blue"),
            a_small_node("new-0", "a", "green", cpu=2),
        ],
        pods=[
            a_pod("z-0", node="old-0", owner="ReplicaSet/z", placement=Placement(ResourceRequests(cpu=3000))),
            a_pod("y-0", node="old-1", owner="ReplicaSet/y", placement=away),
        ],
        workloads=[a_workload("ReplicaSet/z"), a_workload("ReplicaSet/y")],
    )
    _, chosen = chosen_of(cluster, DrainPolicy())
    assert chosen.start_order == ()
    assert {h.pod.name: dict(h.reasons).get(TOO_LATE) for h in chosen.placement.unplaced.values()} == {
        "z-0": None,
        "y-0": 1,
    }


class Plain:
    """The rule in its simplest form: every search checks every node, and takes the emptiest one that fits the pod."""

    def __init__(self, world: DrainContext, going: dict[str, list[Pod]]) -> None:
        self.world, self.going = world, going
        self.occupancy = as_it_begins(world, going)[1]
        self.log: list[tuple[str, str]] = []

    def admit(self, node: str, thorough: bool, partly: bool = False) -> bool:
        if partly:
            return False
        moved: list[tuple[Pod, str]] = []
        for pod in sorted(self.going[node], key=_largest_first):
            self.occupancy.take(self.occupancy.class_of(pod), node)
            kind = self.occupancy.successor_of(pod)
            takers = [n for n in self.occupancy.by_node if self.occupancy.refusal(kind, n) is None]
            moved.append((pod, min(takers, key=lambda n: (-self._left(n), n), default="")))
            if not takers:
                self._take_back(node, moved)
                return False
            self.occupancy.put(kind, moved[-1][1])
        self.log.append((ADMITTED, node))
        return True

    def renew(self, node: str) -> None:
        self.occupancy.add_node(successor(self.world, node), node)
        self.log.append((RENEWED, node))

    def _take_back(self, node: str, moved: list[tuple[Pod, str]]) -> None:
        for pod, place in moved:
            if place:
                self.occupancy.take(self.occupancy.successor_of(pod), place)
            self.occupancy.put(self.occupancy.class_of(pod), node)

    def _left(self, name: str) -> float:
        """The free share of the node's scarcest resource."""
        room = self.occupancy.by_node[name].room
        return min(room.cpu * (1 / room.allocatable["cpu"]), room.memory * (1 / room.allocatable["memory"]))


def _largest_first(pod: Pod) -> tuple[int, int, str, str]:
    asked = pod.placement.requests
    return -asked.cpu, -asked.memory, pod.namespace, pod.name


@pytest.mark.parametrize("made", [small, of_one_kind])
@for_seeds(range(100), every=2)
def test_nodes_are_drained_when_the_plain_rule_drains_them(
    made: Callable[[int], Cluster], seeds: Sequence[int]
) -> None:
    for seed in seeds:
        run = drained(made(seed), DrainPolicy(surge=seed % 3))
        plain, clock = Plain(run.world, run.going), EvictionTimes(run.world)
        nodes = [(name, clock.moves(run.work.tasks[name])) for name in sorted(run.going)]
        assert simulate(nodes, run.terms, plain) == run.timeline, seed
        assert tuple(plain.log) == run.log, seed


def _waits_for_needs(timeline: Timeline, chosen: OrderedPlan, renewed_after_s: float) -> int:
    """The number of nodes that waited for another one; each must wait until that one was renewed."""
    spans = {span.node: span for span in timeline.nodes}
    waited = 0
    for node in chosen.start_order:
        for other in chosen.placement.needs.get(node, ()):
            assert spans[node].start_s >= spans[other].done_s + renewed_after_s, (node, other)
            waited += 1
    return waited


def test_a_node_that_waits_for_room_takes_none_of_the_emptiest_node() -> None:
    """Its first pod fits on the emptiest node and its second fits nowhere: the place goes to the other node's pod."""
    nodes = [a_small_node(name, "a", group, 10) for name, group in (("old-0", "blue"), ("old-1", "blue"))]
    nodes += [a_small_node(name, "a", "green", 10) for name in ("new-empty", "new-half")]

    def pod(name: str, node: str, cpu: int) -> Pod:
        return a_pod(name, node=node, placement=Placement(requests=ResourceRequests(cpu=cpu * 1000)))

    pods = [pod("first", "old-0", 7), pod("second", "old-0", 6), pod("third", "old-1", 4), pod("there", "new-half", 5)]
    _, _, _, ground = prepared(a_cluster(nodes=nodes, pods=pods), DrainPolicy(force=True))
    ground.add_node("old-0", pods[:2])
    ground.add_node("old-1", pods[2:3])
    ground.reset()
    assert not ground.admit("old-0", thorough=True)
    assert ground.admit("old-1", thorough=True)
    assert ground.placement(["old-1"]).places == {pods[2].uid: "new-empty"}


@sampled
def test_nothing_lands_where_its_own_demands_forbid(seeds: Sequence[int]) -> None:
    for seed in seeds:
        world, made = chosen(seed)
        on = final(world, made)
        zones = {v.name: v.zone_labels[0][1] for v in world.cluster.volumes}
        for node in _all_nodes(world, on):
            pods = on[node.name]
            ports = Counter(port.port for pod in pods for port in pod.placement.ports)
            apps = Counter(pod.labels["app"] for pod in pods if pod.placement.anti_affinity)
            assert set(ports.values()) | set(apps.values()) <= {1}, (seed, node.name)
            for pod in pods:
                assert not node.taints or pod.tolerations, (seed, node.name, pod.name)
                assert all(zones[f"pv-{v.detail}"] == node.zone for v in pod.volumes), (seed, node.name, pod.name)


def final(world: DrainContext, chosen: OrderedPlan) -> dict[str, list[Pod]]:
    """The pods on every node after the drain: pods that stay, and replacements on their reserved nodes."""
    going = {booking.task.pod.uid for booking in chosen.order.bookings}
    on: dict[str, list[Pod]] = defaultdict(list)
    for pod in world.cluster.pods:
        if pod.uid not in going:
            on[pod.node].append(pod)
        elif pod.uid in chosen.placement.places:
            on[chosen.placement.places[pod.uid]].append(pod)
    return on


def _all_nodes(world: DrainContext, on: Iterable[str]) -> list[Node]:
    """The nodes of the cluster, and the new ones among `on`, each as the node that it copies."""
    known = {node.name: node for node in world.cluster.nodes}
    surged, _ = as_it_begins(world, {node.name: [] for node in world.targets if node.name not in world.refused_nodes})
    new = {name: surged.get(name) or replace(known[name.partition(" ")[0]], name=name) for name in on}
    return list((new | known).values())
