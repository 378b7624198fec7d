"""Small crowded clusters made from a seed, with all fields that decide placement, and the invariants of their plans."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from random import Random

from kubectl_eksdoc.drain.choice import OrderedPlan, choose_order
from kubectl_eksdoc.drain.judging import judge_pods
from kubectl_eksdoc.drain.nodes import DrainContext, drain_context
from kubectl_eksdoc.drain.policy import ORDERS, DrainPolicy
from kubectl_eksdoc.model.budgets import Budget, IntOrPercent
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import Node, Pod, Taint, Toleration
from kubectl_eksdoc.model.options import ALL, NODEGROUP, ZONE
from kubectl_eksdoc.model.placement import (
    HostPort,
    PersistentVolume,
    PersistentVolumeClaim,
    Placement,
    PodAffinityTerm,
    ResourceRequests,
    TopologySpread,
)
from kubectl_eksdoc.model.selectors import from_parts
from tests.builders import a_budget, a_claimed, a_cluster, a_node, a_pod, a_workload

GIB = 1 << 30
HOST, ZONE_KEY = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
DEDICATED = Taint("dedicated", "db", "NoSchedule")
TOLERATES = Toleration(key="dedicated", operator="Exists", effect="NoSchedule")


@dataclass(frozen=True)
class App:
    """The common fields of one workload's replicas; `zonal`: each has a volume in its zone."""

    name: str
    replicas: int
    requests: ResourceRequests
    alone_on_host: bool = False
    spread: bool = False
    zonal: bool = False
    port: int = 0
    tolerates: bool = False

    @property
    def placement(self) -> Placement:
        mine = from_parts({"app": self.name})
        return Placement(
            self.requests,
            anti_affinity=(PodAffinityTerm(HOST, mine),) if self.alone_on_host else (),
            spread=(TopologySpread(ZONE_KEY, 1, mine),) if self.spread else (),
            ports=(HostPort(self.port),) if self.port else (),
        )

    @property
    def kind(self) -> str:
        return "StatefulSet" if self.zonal else "ReplicaSet"


def a_small_node(name: str, zone: str, group: str, cpu: int = 4, tainted: bool = False, most_pods: int = 8) -> Node:
    """A node with that many cores and twice as many GiB of memory."""
    room = {"cpu": cpu * 1000, "memory": 2 * cpu * GIB, "ephemeral-storage": 64 * GIB, "pods": most_pods}
    taints = (DEDICATED,) if tainted else ()
    return a_node(name, group=group, labels={ZONE_KEY: zone}, allocatable=room, taints=taints)


def small(seed: int) -> Cluster:
    """Up to six nodes to drain (old-*), up to three others in up to three zones, and up to five apps on them."""
    c = Random(seed)
    zones = ["a", "b", "c"][: c.randint(1, 3)]
    old = [a_small_node(f"old-{i}", c.choice(zones), c.choice(("blue", "red"))) for i in range(c.randint(1, 6))]
    new = [
        a_small_node(f"new-{i}", c.choice(zones), "green", c.choice((2, 4, 8)), c.random() < 0.2)
        for i in range(c.randint(0, 3))
    ]
    held: dict[str, list[Pod]] = {node.name: [] for node in old + new}
    apps = [_app(c, f"app{i}") for i in range(c.randint(1, 5))]
    claims, volumes = [], []
    for app in apps:
        for i in range(app.replicas):
            node = next((n for n in c.sample(old + new, len(old + new)) if _takes(n, app, held[n.name])), None)
            if node is None:
                continue
            name = f"{app.name}-{i}"
            if app.zonal:
                claims.append(PersistentVolumeClaim("default", name, f"pv-{name}"))
                volumes.append(PersistentVolume(f"pv-{name}", name, zone_labels=((ZONE_KEY, node.zone),)))
            held[node.name].append(pod_of(app, name, node.name))
    pods = [pod for on in held.values() for pod in on]
    return a_cluster(
        nodes=old + new,
        pods=pods,
        workloads=[w for app in apps for w in workloads_of(app)],
        budgets=[b for app in apps if c.random() < 0.5 and (b := _budget(c, app, pods)) is not None],
        claims=claims,
        volumes=volumes,
    )


def of_one_kind(seed: int, full: bool = False) -> Cluster:
    """Two to six nodes to drain and no other, all alike and in one zone; `full`: no further pod fits on them."""
    c = Random(seed)
    old = [a_small_node(f"old-{i}", "a", "blue") for i in range(c.randint(2, 6))]
    held: dict[str, list[Pod]] = {node.name: [] for node in old}
    apps = [replace(_app(c, f"app{i}"), spread=False, zonal=False) for i in range(c.randint(2, 6))]
    if full:
        apps = [App("big", len(old), ResourceRequests(cpu=3000))]
    for app in apps:
        for i in range(app.replicas):
            node = next((n for n in c.sample(old, len(old)) if _takes(n, app, held[n.name])), None)
            if node is not None:
                held[node.name].append(pod_of(app, f"{app.name}-{i}", node.name))
    pods = [pod for on in held.values() for pod in on]
    return a_cluster(nodes=old, pods=pods, workloads=[w for app in apps for w in workloads_of(app)])


def a_policy(seed: int, **fixed: object) -> DrainPolicy:
    """Any drain policy; `fixed`: fields with given values."""
    c = Random(seed)
    caps = [
        (),
        (),
        ((ALL, IntOrPercent(c.randint(1, 3))),),
        ((ALL, IntOrPercent(50, percent=True)),),
        ((ZONE, IntOrPercent(1)),),
        ((NODEGROUP, IntOrPercent(1)), (ALL, IntOrPercent(3))),
    ]
    policy = DrainPolicy(
        surge=c.choice((None, 0, 1, 3)),
        max_unavailable=c.choice(caps),
        partial=c.random() < 0.15,
        order=c.choice(("auto", "auto", *ORDERS)),
        soft_budget=c.choice((None, None, 30)),
        evictions_per_second=c.choice((0.0, 0.0, 2.0)),
        effort=c.choice((0, 100, 2000)),
    )
    return replace(policy, **fixed)  # type: ignore[arg-type]


def targets_of(cluster: Cluster) -> tuple[Node, ...]:
    return tuple(node for node in cluster.nodes if node.name.startswith("old-"))


def chosen_of(cluster: Cluster, policy: DrainPolicy) -> tuple[DrainContext, OrderedPlan]:
    world = drain_context(cluster, targets_of(cluster), policy)
    return world, choose_order(world, judge_pods(world, world.targets))


def _app(c: Random, name: str) -> App:
    kind = c.choice(("plain", "plain", "alone", "spread", "zonal", "port", "tolerant"))
    return App(
        name,
        c.randint(1, 6),
        ResourceRequests(cpu=c.choice((0, 500, 1000, 2000)), memory=c.choice((0, GIB, 2 * GIB))),
        alone_on_host=kind == "alone",
        spread=kind == "spread",
        zonal=kind == "zonal",
        port=80 if kind == "port" else 0,
        tolerates=kind == "tolerant",
    )


def _takes(node: Node, app: App, on: Iterable[Pod]) -> bool:
    """Whether the node takes the pod. Topology spread is not checked: a cluster may have become uneven."""
    on = list(on)
    room = left(node, on)
    if room["cpu"] < app.requests.cpu or room["memory"] < app.requests.memory or room["pods"] < 1:
        return False
    if node.taints and not app.tolerates:
        return False
    if app.port and any(pod.placement.ports for pod in on):
        return False
    return not (app.alone_on_host and any(pod.labels["app"] == app.name for pod in on))


def left(node: Node, on: Iterable[Pod]) -> dict[str, int]:
    """The resources of the node that those pods leave free; negative where they take more than there is."""
    room = dict(node.allocatable)
    for pod in on:
        if not pod.finished:
            room["cpu"] -= pod.placement.requests.cpu
            room["memory"] -= pod.placement.requests.memory
            room["pods"] -= 1
    return room


def pod_of(app: App, name: str, node: str) -> Pod:
    return a_pod(
        name,
        node=node,
        owner=f"{app.kind}/{app.name}",
        placement=app.placement,
        tolerations=(TOLERATES,) if app.tolerates else (),
        volumes=(a_claimed(name),) if app.zonal else (),
    )


def workloads_of(app: App) -> list[object]:
    if app.zonal:
        return [a_workload(f"StatefulSet/{app.name}", replicas=app.replicas)]
    return [
        a_workload(f"ReplicaSet/{app.name}", replicas=app.replicas, owner=f"Deployment/{app.name}"),
        a_workload(f"Deployment/{app.name}", replicas=app.replicas, surges=True),
    ]


def _budget(c: Random, app: App, pods: Iterable[Pod]) -> Budget | None:
    there = sum(pod.labels["app"] == app.name for pod in pods)
    most = c.randint(1, 2)
    allowed = max(0, there - max(0, app.replicas - most))
    return a_budget(
        app.name,
        max_unavailable=most,
        allowed=allowed,
        expected=app.replicas,
        current=there,
        desired=max(0, app.replicas - most),
    )


def by_node(pods: Iterable[Pod]) -> Mapping[str, list[Pod]]:
    found: dict[str, list[Pod]] = defaultdict(list)
    for pod in pods:
        found[pod.node].append(pod)
    return found
