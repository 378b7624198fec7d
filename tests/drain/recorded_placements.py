"""Drain with the planner's placement reservations and record every answer, so that tests can check each one again."""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.drain.duration.generations import EvictionTimes, drain_terms
from kubectl_eksdoc.drain.judging import judge_pods
from kubectl_eksdoc.drain.new_nodes import copy_node, cordoned_copy, surge_nodes
from kubectl_eksdoc.drain.nodes import DrainContext, drain_context
from kubectl_eksdoc.drain.orders import NodeTasks, build_node_tasks
from kubectl_eksdoc.drain.placement import node_adder
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.reservations import PlacementReservations, ReplacementPlaces
from kubectl_eksdoc.drain.simulation import simulate
from kubectl_eksdoc.drain.timeline import DrainTerms, Timeline
from kubectl_eksdoc.kubernetes.scheduling.occupancy import Occupancy
from kubectl_eksdoc.kubernetes.scheduling.volumes import Storage
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import Node, Pod
from tests.drain.small_clusters import targets_of

ADMITTED, RENEWED = "admitted", "renewed"


@dataclass(frozen=True)
class Drained:
    """One drain. `log`: (ADMITTED or RENEWED, node) in order; `going`: by node, the pods that need a place."""

    world: DrainContext
    work: NodeTasks
    going: dict[str, list[Pod]]
    terms: DrainTerms
    timeline: Timeline
    landing: ReplacementPlaces
    log: tuple[tuple[str, str], ...]

    @property
    def admitted(self) -> list[str]:
        return [node for what, node in self.log if what == ADMITTED]


class _Noted:
    """A `PlacementReservations` that records the answers of the one it wraps."""

    def __init__(self, ground: PlacementReservations) -> None:
        self._ground = ground
        self.log: list[tuple[str, str]] = []

    def admit(self, node: str, thorough: bool, partly: bool = False) -> bool:
        yes = self._ground.admit(node, thorough, partly)
        if yes:
            self.log.append((ADMITTED, node))
        return yes

    def renew(self, node: str) -> None:
        self._ground.renew(node)
        self.log.append((RENEWED, node))


def prepared(
    cluster: Cluster, policy: DrainPolicy
) -> tuple[DrainContext, NodeTasks, dict[str, list[Pod]], PlacementReservations]:
    """Everything that a drain of the nodes old-* needs at its start."""
    world = drain_context(cluster, targets_of(cluster), policy)
    work = build_node_tasks(world, judge_pods(world, world.targets))
    going = {node: [task.pod for task in given if task.needs_new_place] for node, given in work.tasks.items()}
    ground = PlacementReservations(world, node_adder(world))
    for node, pods in going.items():
        ground.add_node(node, pods)
    return world, work, going, ground


def drained(cluster: Cluster, policy: DrainPolicy, again: int = 0) -> Drained:
    """Drain as many nodes as there is room for, in order of names, without gates.

    `again`: the number of earlier uses of the same reservations, for the reverse order.
    """
    world, work, going, ground = prepared(cluster, policy)
    clock, terms = EvictionTimes(world), drain_terms(world, work.per_round, {})
    nodes = [(name, clock.moves(work.tasks[name])) for name in sorted(going)]
    for _ in range(again):
        ground.reset()
        simulate(nodes[::-1], terms, ground)
        ground.placement(sorted(going, reverse=True))
    ground.reset()
    noted = _Noted(ground)
    timeline = simulate(nodes, terms, noted)
    landing = ground.placement(sorted(going))
    return Drained(world, work, going, terms, timeline, landing, tuple(noted.log))


def as_it_begins(world: DrainContext, going: dict[str, list[Pod]]) -> tuple[dict[str, Node], Occupancy]:
    """The nodes by name at the start: targets are cordoned, surge nodes exist, and no pod has moved."""
    known = {node.name: node for node in world.targets}
    nodes = {n.name: cordoned_copy(n) if n.name in known else n for n in world.cluster.nodes}
    for new, _ in surge_nodes([known[name] for name in going], world.policy.surge or 0):
        nodes[new.name] = new
    return nodes, Occupancy.of(nodes.values(), world.cluster.pods, {}, Storage.of_cluster(world.cluster))


def successor(world: DrainContext, name: str) -> Node:
    """The new node that joins when the target of that name is drained."""
    return copy_node(next(node for node in world.targets if node.name == name), "new")
