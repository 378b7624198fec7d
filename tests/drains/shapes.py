"""Clusters like those on which kubectl was measured: old nodes full of pods under tight budgets, and new nodes.

The large one has the size and kind of a cluster on which kubectl drained on a real API server: 12 old and 12 new nodes,
175 pods to evict, 14 of 16 budgets that allow 1 disruption. Two things take a minute there: 13 pods one after the
other, and the slowest stop. Pods start and stop as in the recorded drains (3 s and 2 s). Two apps differ: shops need a
start time that favours a client that retries every five seconds, and gateways close their connections before they stop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.simulator.kubelets import NEVER

START_S, STOP_S = 3.0, 2.0
"""Of the recorded drains' pods (`tests/data/recordings`): 3.01 to 3.02 s, and 2.01 to 2.03 s."""

WARM_S = 4.8
"""With what a budget's status lags, just less than the 5 s after which kubectl asks again."""

OLD, NEW = "blue", "green"
ROOM = 32
"""So many pods find room on a node besides its agent."""

_AGENT = "aws-node"
_SCHEDULED = "2026-11-20T07:00:00Z"


@dataclass(frozen=True, slots=True)
class App:
    """`away`: its budget's maxUnavailable, "" without a budget; `together`: the number of its pods on each node that
    has any, from node number `first` on; `set_of`: its owner's kind."""

    name: str
    pods: int
    away: str = "1"
    together: int = 1
    first: int = 0
    set_of: str = "ReplicaSet"
    start_s: float = START_S
    stop_s: float = STOP_S

    def node(self, number: int, nodes: int) -> int:
        return (self.first + number // self.together) % nodes


_AGENT_APP = App(_AGENT, 0)


@dataclass(frozen=True, slots=True)
class Shape:
    """A cluster's shape, which is also the `Pace` of its pods."""

    apps: tuple[App, ...]
    old: int
    new: int

    @property
    def pods(self) -> int:
        """The pods that a drain of the old nodes has to evict."""
        return sum(app.pods for app in self.apps)

    def docs(self) -> Iterator[Doc]:
        yield _agents()
        for name in self.nodes:
            yield _node(name, OLD if name.startswith("old-") else NEW)
            yield _pod(f"{_AGENT}-{name}", name, _AGENT_APP, _owner("DaemonSet", _AGENT), "kube-system")
        for app in self.apps:
            yield from self._of(app)

    @property
    def nodes(self) -> list[str]:
        return [*self.old_nodes, *(f"new-{number}" for number in range(self.new))]

    @property
    def old_nodes(self) -> list[str]:
        return [f"old-{number}" for number in range(self.old)]

    def of(self, node: str) -> int:
        """The number of pods to evict from an old node."""
        places = (f"old-{app.node(number, self.old)}" for app in self.apps for number in range(app.pods))
        return sum(place == node for place in places)

    def _of(self, app: App) -> Iterator[Doc]:
        owner = _owner(app.set_of, app.name)
        yield _set(app)
        for number in range(app.pods):
            yield _pod(f"{app.name}-{number}", f"old-{app.node(number, self.old)}", app, owner)
        if app.away:
            yield _budget(app)

    def start_s(self, pod: Pod) -> float:
        return self._app(pod).start_s

    def stop_s(self, pod: Pod) -> float:
        return self._app(pod).stop_s

    def run_s(self, pod: Pod) -> float:
        return NEVER

    def _app(self, pod: Pod) -> App:
        return next((app for app in self.apps if app.name == pod.labels.get("app")), _AGENT_APP)


def large(new: int = 12) -> Shape:
    """175 pods on 12 old nodes. With fewer than 6 new nodes there is no room for all of them."""
    shops = (App(f"shop-{i}", 13, together=4, first=2 * i, start_s=WARM_S) for i in range(7))
    apis = (App(f"api-{i}", 5, first=3 * i) for i in range(5))
    caches = (App(f"cache-{i}", 3, first=5 * i, set_of="StatefulSet") for i in range(2))
    batches = (App(f"batch-{i}", 20 + i, away="50%", first=6 * i) for i in range(2))
    return Shape((*shops, *apis, *caches, *batches, App("gateway", 12, away="", stop_s=58.0)), 12, new)


def small(new: int = 3) -> Shape:
    """24 pods on 3 old nodes: 7 are evicted one after the other, and 5 slower ones in parallel."""
    shops = (App("shop-0", 7, together=3), App("shop-1", 5, together=2, first=1, start_s=WARM_S))
    others = (App("api", 3), App("batch", 6, away="50%", together=2), App("gateway", 3, away="", stop_s=12.0))
    return Shape((*shops, *others), 3, new)


def _node(name: str, group: str) -> Doc:
    version = "v1.32.5" if group == OLD else "v1.33.1"
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": "eu-west-1a",
        "eks.amazonaws.com/nodegroup": group,
    }
    status: Doc = {
        "allocatable": {"cpu": f"{ROOM * 250 + 100}m", "memory": "64Gi", "pods": "110", "ephemeral-storage": "80Gi"},
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-01T07:00:00Z"}],
        "nodeInfo": {"kubeletVersion": version, "osImage": "Amazon Linux 2023", "architecture": "amd64"},
    }
    meta = {"name": name, "uid": f"node-{name}", "labels": labels, "creationTimestamp": "2026-11-01T07:00:00Z"}
    return {"kind": "Node", "apiVersion": "v1", "metadata": meta, "spec": {}, "status": status}


def _owner(kind: str, name: str) -> Doc:
    return {"kind": kind, "apiVersion": "apps/v1", "name": name, "uid": f"{kind}-{name}", "controller": True}


def _pod(name: str, node: str, app: App, owner: Doc, namespace: str = "default") -> Doc:
    """A running, Ready pod; its times are whole seconds, as in the API."""
    ready = f"2026-11-20T07:00:{int(app.start_s):02}Z"
    spec = {**_spec(app), "nodeName": node}
    status: Doc = {
        "phase": "Running",
        "startTime": _SCHEDULED,
        "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": _SCHEDULED},
            {"type": "Ready", "status": "True", "lastTransitionTime": ready},
        ],
        "containerStatuses": [{"name": "app", "ready": True, "restartCount": 0, "image": "app:1", "imageID": ""}],
    }
    labels = {"app": app.name}
    if owner["kind"] == "StatefulSet":
        labels |= {"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": name.split("-")[-1]}
    meta = {
        "name": name,
        "namespace": namespace,
        "uid": f"pod-{name}",
        "labels": labels,
        "ownerReferences": [owner],
        "creationTimestamp": _SCHEDULED,
    }
    return {"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": spec, "status": status}


def _spec(app: App) -> Doc:
    requests = {"cpu": "100m" if app is _AGENT_APP else "250m", "memory": "256Mi"}
    container = {"name": "app", "image": "app:1", "resources": {"requests": requests}}
    grace = 30 if app.stop_s < 30 else 90
    spec: Doc = {"containers": [container], "terminationGracePeriodSeconds": grace, "restartPolicy": "Always"}
    return {**spec, "tolerations": [{"operator": "Exists"}]} if app is _AGENT_APP else spec


def _set(app: App) -> Doc:
    labels = {"app": app.name}
    template = {"metadata": {"labels": labels}, "spec": _spec(app)}
    spec: Doc = {"replicas": app.pods, "selector": {"matchLabels": labels}, "template": template}
    status: Doc = {"replicas": app.pods, "readyReplicas": app.pods, "availableReplicas": app.pods}
    if app.set_of == "StatefulSet":
        spec |= {"serviceName": app.name, "updateStrategy": {"type": "OnDelete"}}
        status |= {"currentReplicas": app.pods}
    meta = {"name": app.name, "namespace": "default", "uid": f"{app.set_of}-{app.name}", "generation": 1}
    status |= {"observedGeneration": 1}
    return {"kind": app.set_of, "apiVersion": "apps/v1", "metadata": meta, "spec": spec, "status": status}


def _agents() -> Doc:
    labels = {"app": _AGENT}
    template = {"metadata": {"labels": labels}, "spec": _spec(_AGENT_APP)}
    meta = {"name": _AGENT, "namespace": "kube-system", "uid": f"DaemonSet-{_AGENT}", "generation": 1}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return {"kind": "DaemonSet", "apiVersion": "apps/v1", "metadata": meta, "spec": spec, "status": {}}


def _budget(app: App) -> Doc:
    """Its status as its controller computes it for pods that are all Ready."""
    share = app.away.removesuffix("%")
    away = -(-int(share) * app.pods // 100) if share != app.away else int(share)
    numbers = {"disruptionsAllowed": away, "currentHealthy": app.pods, "desiredHealthy": app.pods - away}
    meta = {"name": app.name, "namespace": "default", "uid": f"budget-{app.name}", "generation": 1}
    wanted = app.away if share != app.away else away
    return {
        "kind": "PodDisruptionBudget",
        "apiVersion": "policy/v1",
        "metadata": meta,
        "spec": {"selector": {"matchLabels": {"app": app.name}}, "maxUnavailable": wanted},
        "status": {**numbers, "expectedPods": app.pods, "observedGeneration": 1},
    }
