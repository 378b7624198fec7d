"""Generate the facts of a large, healthy cluster in memory, always the same for a shape and seed.

`Shape` and the constants of `bench.world_apps` describe it. Facts are shared between replicas as
they are when objects are read; every pod runs where the scheduler could have put it.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from bench.world_apps import App, apps
from bench.world_facts import NOW, budgets, claims, pod_of, volumes, workloads
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster, Identity, Namespace, NodePool, Source
from kubectl_eksdoc.model.kinds import KindRead, ReadState
from kubectl_eksdoc.model.nodes import MANAGED_GROUP, NODE_POOL, Node, Pod
from kubectl_eksdoc.model.placement import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, ResourceRequests, StorageClass
from kubectl_eksdoc.model.quantities import Version

ZONES = ("us-east-1a", "us-east-1b", "us-east-1c")
NODE_CPU, NODE_MEMORY, NODE_PODS = 15_890, 59_000 << 20, 110
"""What an m6i.4xlarge leaves to pods: millicores, bytes, pods."""

TRIES = 2
"""Each pod goes to the emptier of so many nodes: loads then differ by little, as after a scheduler's work."""


@dataclass(frozen=True, slots=True)
class Shape:
    """`utilisation` is the share of all allocatable cpu that is requested, DaemonSets included; memory is near it.

    `grows`: the nodes are Karpenter's, which adds more of them for pods that find no place; else they are of
    managed node groups that nothing scales. `alike`: so are all applications (`bench.world_apps.apps`).
    """

    nodes: int = 1000
    pods_per_node: int = 30
    utilisation: float = 0.65
    seed: int = 7
    grows: bool = False
    alike: bool = field(default=False, repr=False)  # the others stay as they are


def make(shape: Shape) -> Cluster:
    """The cluster of that shape: every kind is read, every pod is Ready, every budget in sync.

    Raises:
        ValueError: its pods do not fit onto its nodes.
    """
    chance = random.Random(repr(shape))
    nodes = tuple(_node(number, shape.grows) for number in range(shape.nodes))
    wanted = (shape.nodes * shape.pods_per_node, round(shape.utilisation * shape.nodes * NODE_CPU))
    made = apps(wanted[0], wanted[1], shape.nodes, NODE_MEMORY / NODE_CPU, chance, shape.alike)
    seated = _seated(made, nodes, chance)
    pods = [pod_of(app, number, node.name, chance) for app, number, node in seated]
    bound = [(app, number, node.zone) for app, number, node in seated if app.stateful]
    return _assembled(shape, nodes, made, pods, bound)


def _node(number: int, grows: bool) -> Node:
    zone = ZONES[number % len(ZONES)]
    name = f"ip-10-{number // 250}-{number % 250}-17.ec2.internal"
    group = {NODE_POOL: "general"} if grows else {MANAGED_GROUP: f"general-{zone[-1]}"}
    return Node(
        name=name,
        uid=f"node-{number:05d}",
        labels={
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "node.kubernetes.io/instance-type": "m6i.4xlarge",
            "topology.kubernetes.io/region": zone[:-1],
            "topology.kubernetes.io/zone": zone,
            **group,
        },
        kubelet=Version(1, 32, 5),
        kubelet_text="v1.32.5-eks-5d4a308",
        os_image="Amazon Linux 2023",
        provider_id=f"aws:///{zone}/i-{number:017x}",
        created_at=NOW - timedelta(days=40),
        pods_allocatable=NODE_PODS,
        allocatable={CPU: NODE_CPU, EPHEMERAL_STORAGE: 95 << 30, MEMORY: NODE_MEMORY, PODS: NODE_PODS},
    )


class _Load:
    """The resources in use on one node."""

    __slots__ = ("cpu", "memory", "node", "pods")

    def __init__(self, node: Node) -> None:
        self.node, self.cpu, self.memory, self.pods = node, 0, 0, 0

    def fits(self, asked: ResourceRequests) -> bool:
        return self.cpu + asked.cpu <= NODE_CPU and self.memory + asked.memory <= NODE_MEMORY and self.pods < NODE_PODS

    def take(self, asked: ResourceRequests) -> None:
        self.cpu, self.memory, self.pods = self.cpu + asked.cpu, self.memory + asked.memory, self.pods + 1


def _seated(made: Sequence[App], nodes: Sequence[Node], chance: random.Random) -> list[tuple[App, int, Node]]:
    """(app, number of its pod, node) of every pod; the largest are placed first, after the DaemonSets'."""
    loads = [_Load(node) for node in nodes]
    found: list[tuple[App, int, Node]] = []
    for app in sorted(made, key=lambda app: (not app.daemon, -app.placement.requests.cpu)):
        asked = app.placement.requests
        for number in range(app.replicas):
            load = loads[number] if app.daemon else _emptier(loads, asked, chance)
            load.take(asked)
            found.append((app, number, load.node))
    return found


def _emptier(loads: Sequence[_Load], asked: ResourceRequests, chance: random.Random) -> _Load:
    drawn = [loads[int(chance.random() * len(loads))] for _ in range(TRIES)]
    fitting = [load for load in drawn if load.fits(asked)] or [load for load in loads if load.fits(asked)]
    if not fitting:
        raise ValueError("the pods do not fit onto the nodes: a smaller utilisation is needed")
    return min(fitting, key=lambda load: load.cpu)


def _assembled(
    shape: Shape,
    nodes: Iterable[Node],
    made: Sequence[App],
    pods: Iterable[Pod],
    bound: Sequence[tuple[App, int, str]],
) -> Cluster:
    found: dict[str, Sequence[Any]] = {
        "nodes": sorted(nodes, key=lambda n: n.name),
        "pods": sorted(pods, key=lambda p: (p.namespace, p.name)),
        "budgets": budgets(made),
        "workloads": workloads(made),
        "volumes": volumes(bound),
        "claims": claims(bound),
        "storage_classes": [StorageClass("gp3", "ebs.csi.aws.com", "WaitForFirstConsumer")],
        "namespaces": [Namespace(name) for name in sorted({app.namespace for app in made})],
        "node_pools": [NodePool("general")] if shape.grows else [],
    }
    counts = {
        kinds.NODES: len(found["nodes"]),
        kinds.PODS: len(found["pods"]),
        kinds.BUDGETS: len(found["budgets"]),
        kinds.DEPLOYMENTS: sum(w.kind == "Deployment" for w in found["workloads"]),
        kinds.REPLICA_SETS: sum(w.kind == "ReplicaSet" for w in found["workloads"]),
        kinds.STATEFUL_SETS: sum(w.kind == "StatefulSet" for w in found["workloads"]),
        kinds.DAEMON_SETS: sum(w.kind == "DaemonSet" for w in found["workloads"]),
        kinds.VOLUMES: len(found["volumes"]),
        kinds.CLAIMS: len(found["claims"]),
        kinds.STORAGE_CLASSES: len(found["storage_classes"]),
        kinds.NAMESPACES: len(found["namespaces"]),
        kinds.NODE_POOLS: len(found["node_pools"]),
    }
    return Cluster(
        identity=Identity(cluster="bench", region=ZONES[0][:-1], server_version="v1.33.1-eks-1b3e656"),
        source=Source.SNAPSHOT,
        observed_at=NOW,
        reads=tuple(KindRead(kind, ReadState.READ, counts.get(kind, 0)) for kind in kinds.ALL),
        **{field: tuple(facts) for field, facts in found.items()},
    )
