"""The applications of a generated cluster: their replicas, requests, and budgets."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace

from kubectl_eksdoc.model.budgets import IntOrPercent
from kubectl_eksdoc.model.nodes import ControllerOwner
from kubectl_eksdoc.model.placement import Placement, ResourceRequests
from kubectl_eksdoc.model.selectors import Labels

SINGLETONS = 0.3
"""Share of applications with one replica; the others have 2 and more, with a heavy tail (log-normal)."""

TAIL = (1.525, 1.3)
"""Mean and deviation of the logarithm of replicas beyond two: about nine pods an application, singletons included."""

ALIKE = 10
"""Replicas of each application of a cluster in which all of them are alike."""

LARGEST, MOST_REPLICAS = 500, 250
"""Replicas of the one largest application (a twentieth of all pods where that is fewer), and of any other."""

STATEFUL = 0.1
"""Share of all pods that belong to StatefulSets and have a volume in one zone each."""

GUARDS: tuple[tuple[float, IntOrPercent | None], ...] = (
    (0.25, None),
    (0.5, IntOrPercent(1)),
    (0.25, IntOrPercent(25, percent=True)),
)
"""How many of the applications have which maxUnavailable; None is no budget."""

GRACES = ((30, 0.8), (10, 0.05), (60, 0.1), (120, 0.04), (300, 0.01))
"""terminationGracePeriodSeconds, and how many of the applications have it."""

DAEMONS = (("aws-node", 50), ("kube-proxy", 100), ("ebs-csi-node", 30))
"""DaemonSets, which are on every node, and their millicores."""

APPS_PER_NAMESPACE = 50
SAMPLE_CPU = (math.log(300), 0.8)
"""Log-normal; what comes of it is scaled to the utilisation that is asked for."""

START_S, START_SPREAD = 20.0, 0.7
"""Median seconds from scheduled to Ready; deviation of its logarithm between applications."""

SAFE = "bcdfghjklmnpqrstvwxz2456789"
"""The characters of which Kubernetes makes the ends of names."""


@dataclass(frozen=True, slots=True)
class App:
    """The fields that the pods of one application share. `owner` is their controller's reference, `start_s` their
    median."""

    kind: str
    namespace: str
    name: str
    uid: str
    replicas: int
    guard: IntOrPercent | None
    owner: ControllerOwner
    labels: Labels
    placement: Placement
    grace_s: int = 30
    start_s: float = START_S

    @property
    def stateful(self) -> bool:
        return self.kind == "StatefulSet"

    @property
    def daemon(self) -> bool:
        return self.kind == "DaemonSet"


def apps(pods: int, cpu: int, nodes: int, memory_per_cpu: float, chance: random.Random, alike: bool) -> list[App]:
    """Applications with that many pods in all, which request that many millicores in all (nearly).

    `memory_per_cpu` is bytes per millicore, from which an application's memory deviates by about a quarter. `alike`:
    all are Deployments of the same size, each with a budget.
    """
    daemons = [_daemon(name, millis, nodes, memory_per_cpu) for name, millis in DAEMONS]
    left = pods - nodes * len(daemons)
    sizes = [ALIKE] * (left // ALIKE) if alike else _sizes(left, chance)
    rough = [1.0 if alike else chance.lognormvariate(*SAMPLE_CPU) for _ in sizes]
    total = sum(size * each for size, each in zip(sizes, rough, strict=True))
    scale = (cpu - nodes * sum(millis for _, millis in DAEMONS)) / total
    found, made, stateful = list(daemons), 0, 0
    for number, (size, each) in enumerate(zip(sizes, rough, strict=True)):
        made += size
        if alike:
            requests = ResourceRequests(round(scale), round(scale * memory_per_cpu) >> 20 << 20)
            found.append(replace(_app(number, "Deployment", size, requests, len(sizes), chance), guard=IntOrPercent(1)))
            continue
        of_set = stateful + size <= STATEFUL * made * pods / sum(sizes)
        stateful += size if of_set else 0
        millis = max(10, round(each * scale))
        requests = ResourceRequests(
            millis, round(millis * memory_per_cpu * chance.lognormvariate(-0.03, 0.25)) >> 20 << 20
        )
        found.append(_app(number, "StatefulSet" if of_set else "Deployment", size, requests, len(sizes), chance))
    return found


def _sizes(pods: int, chance: random.Random) -> list[int]:
    """Replicas of each application, `pods` in all; the largest is somewhere in the middle."""
    largest = min(LARGEST, pods // 20)
    left, sizes = pods - largest, []
    while left > 0:
        size = 1 if chance.random() < SINGLETONS else 2 + int(chance.lognormvariate(*TAIL))
        sizes.append(min(size, MOST_REPLICAS, max(largest, 1), left))
        left -= sizes[-1]
    sizes.insert(int(chance.random() * len(sizes)), largest)
    return sizes


def _app(number: int, kind: str, replicas: int, requests: ResourceRequests, of: int, chance: random.Random) -> App:
    namespace = f"team-{int(chance.random() * max(1, of // APPS_PER_NAMESPACE)):03d}"
    name, revision = f"service-{number:05d}", suffix(chance, 10)
    uid = f"{kind.lower()}-{number:05d}"
    labels = {
        "app": name,
        "app.kubernetes.io/instance": name,
        "app.kubernetes.io/managed-by": "Helm",
        "app.kubernetes.io/part-of": namespace,
    }
    if kind == "StatefulSet":
        owner = ControllerOwner(kind, name, uid, "apps")
    else:
        labels["pod-template-hash"] = revision
        owner = ControllerOwner("ReplicaSet", f"{name}-{revision}", f"replicaset-{number:05d}", "apps")
    (guard,) = chance.choices([guard for _, guard in GUARDS], [share for share, _ in GUARDS])
    (grace,) = chance.choices([grace for grace, _ in GRACES], [share for _, share in GRACES])
    start = START_S * chance.lognormvariate(0, START_SPREAD)
    return App(kind, namespace, name, uid, replicas, guard, owner, labels, Placement(requests), grace, start)


def _daemon(name: str, millis: int, nodes: int, memory_per_cpu: float) -> App:
    labels = {"k8s-app": name, "controller-revision-hash": "55c9f6b8d"}
    requests = ResourceRequests(millis, round(millis * memory_per_cpu) >> 20 << 20)
    owner = ControllerOwner("DaemonSet", name, f"daemonset-{name}", "apps")
    return App("DaemonSet", "kube-system", name, owner.uid, nodes, None, owner, labels, Placement(requests))


def suffix(chance: random.Random, length: int) -> str:
    """The suffix of a name, as Kubernetes generates it."""
    return "".join(SAFE[int(chance.random() * len(SAFE))] for _ in range(length))
