"""A served cluster with metadata services on its nodes, and probes that run on it over HTTP."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kubectl_eksdoc.embedded.loading import StoredFacts
from kubectl_eksdoc.embedded.probed import MetadataServices
from kubectl_eksdoc.embedded.serving.api import Api, ApiSetup
from kubectl_eksdoc.embedded.serving.handler import ScaledTime, SimulatedApiServer, serving
from kubectl_eksdoc.embedded.serving.pod_logs import PodLogs
from kubectl_eksdoc.embedded.serving.requests import ADMIN, ServedUser, TokenUsers
from kubectl_eksdoc.embedded.serving.validation import ENFORCED
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.metadata import PROBE_LABEL
from kubectl_eksdoc.model.nodes import Node, Pod
from kubectl_eksdoc.simulator.control_plane import ControlPlane, workload_controllers
from kubectl_eksdoc.simulator.kubelets import NEVER, ImagePull, pull_every_image
from tests.embedded.clients.worlds import START
from tests.fakes import kubeconfigs

TOKEN, OTHER = "admin-token", "other-token"
SPEED = 20.0


@dataclass(frozen=True, slots=True)
class Kubelet:
    """A `Pace`: pods start at once; those of a probe end after three seconds, others never."""

    start: float = 1.0

    def start_s(self, pod: Pod) -> float:
        return self.start

    def stop_s(self, pod: Pod) -> float:
        return 1.0

    def run_s(self, pod: Pod) -> float:
        return 3.0 if PROBE_LABEL in pod.labels else NEVER


def a_node(name: str, pods: int = 20, cpu: str = "2", ready: str = "True", **labels: str) -> Doc:
    meta = {"name": name, "uid": f"uid-{name}", "labels": {"eks.amazonaws.com/nodegroup": "blue", **labels}}
    room = {"cpu": cpu, "memory": "4Gi", "pods": str(pods)}
    conditions = [{"type": "Ready", "status": ready}]
    status = {"allocatable": room, "capacity": room, "conditions": conditions}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": {}, "status": status}


def a_namespace(name: str, level: str = "") -> Doc:
    labels = {ENFORCED: level} if level else {}
    meta = {"name": name, "uid": f"uid-of-{name}", "labels": labels}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": meta, "status": {"phase": "Active"}}


@dataclass
class Lab:
    """Mutable. A served cluster; `world` is replaced before it is served."""

    nodes: Sequence[Doc] = (a_node("n0"), a_node("n1"))
    services: MetadataServices = MetadataServices()
    level: str = ""
    pulling: ImagePull = pull_every_image
    users: Mapping[str, ServedUser] = field(default_factory=dict)
    pace: Kubelet = Kubelet()
    objects: Mapping[str, Sequence[Doc]] = field(default_factory=dict)  # more of them, by their resources

    @contextlib.contextmanager
    def served(self) -> Iterator[tuple[SimulatedApiServer, Api]]:
        plane = ControlPlane(START, StoredFacts(), seed=7)
        plane.load("nodes", self.nodes)
        plane.load("namespaces", [a_namespace("default", self.level), a_namespace("kube-system")])
        for resource, docs in self.objects.items():
            plane.load(resource, docs)
        plane.start(self.pace, workload_controllers, image_pull=self.pulling)
        users = {TOKEN: ADMIN, **self.users}
        api = Api(
            plane, ApiSetup(TokenUsers(users), logs=PodLogs(self.services.logs)), ScaledTime(time.monotonic, SPEED)
        )
        with serving(api) as server:
            yield server, api
        assert list(api.internal_errors) == []


def connection(server: SimulatedApiServer, folder: Path, token: str = TOKEN) -> Connection:
    path = kubeconfigs.one(folder / f"config-{token}", server.url(token), name="lab")
    return replace(Connection(), kubeconfig=path)


def there(api: Api, resource: str) -> list[str]:
    """The names of remaining objects that probes have created."""

    def names(plane: ControlPlane) -> list[str]:
        items = plane.store.list(resource)
        return [item.key[1] for item in items if PROBE_LABEL in (item.doc["metadata"].get("labels") or {})]

    return api.run_locked(names)


def nodes_of(api: Api) -> list[Node]:
    return api.run_locked(lambda plane: [plane.facts.node(item) for item in plane.store.list("nodes")])


class Quick:
    """A clock whose seconds are as short as the cluster's."""

    def monotonic(self) -> float:
        return time.monotonic() * SPEED

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds / SPEED)


def never_told() -> int:
    return 0


def tells(at: Callable[[], bool]) -> Callable[[], int]:
    """A signal to end as soon as `at` is true, and from then on."""
    heard: list[bool] = []

    def told() -> int:
        if not heard and at():
            heard.append(True)
        return len(heard)

    return told
