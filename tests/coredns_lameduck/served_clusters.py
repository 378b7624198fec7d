"""A served cluster with CoreDNS, its Service and its budget, on the embedded API server."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kubectl_eksdoc.embedded.loading import StoredFacts
from kubectl_eksdoc.embedded.probed import MeasuredDns, ProbeKubeletTimes
from kubectl_eksdoc.embedded.serving.api import Api, ApiSetup
from kubectl_eksdoc.embedded.serving.handler import ScaledTime, SimulatedApiServer, serving
from kubectl_eksdoc.embedded.serving.pod_logs import PodLogs
from kubectl_eksdoc.embedded.serving.requests import ADMIN, ServedUser, TokenUsers
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.coredns import MEASURE_LABEL
from kubectl_eksdoc.simulator.control_plane import ControlPlane, workload_controllers
from kubectl_eksdoc.simulator.kubelets import ImagePull, pull_every_image
from tests.embedded.clients.worlds import START
from tests.probes.stand_ins import TOKEN, Kubelet, a_namespace, a_node

_LABELS = {"k8s-app": "kube-dns"}
_SYSTEM = "kube-system"
_WRITTEN = {
    "manager": "eks",
    "operation": "Apply",
    "apiVersion": "v1",
    "time": "2026-01-02T03:04:05Z",
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:data": {"f:Corefile": {}}},
}


def a_dns(lameduck: str = "5s", replicas: int = 2, addresses: Sequence[str] = ("172.20.0.10",)) -> dict[str, Doc]:
    meta = {"namespace": _SYSTEM, "labels": _LABELS}
    pod = {
        "terminationGracePeriodSeconds": 30,
        "containers": [{"name": "coredns", "image": "coredns", "ports": [{"containerPort": 53, "protocol": "UDP"}]}],
    }
    families = ["IPv6" if ":" in address else "IPv4" for address in addresses]
    ports = [{"name": "dns", "port": 53, "targetPort": 53, "protocol": "UDP"}]
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}}
    return {
        "deployments.apps": {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {**meta, "name": "coredns", "uid": "d"},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": _LABELS},
                "strategy": strategy,
                "template": {"metadata": {"labels": _LABELS}, "spec": pod},
            },
        },
        "services": {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {**meta, "name": "kube-dns", "uid": "s"},
            "spec": {
                "clusterIP": addresses[0],
                "clusterIPs": list(addresses),
                "ipFamilies": families,
                "selector": _LABELS,
                "ports": ports,
            },
        },
        "configmaps": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {**meta, "name": "coredns", "uid": "c", "managedFields": [_WRITTEN]},
            "data": {"Corefile": f".:53 {{\n health {{\n lameduck {lameduck}\n }}\n ready\n}}\n"},
        },
        "poddisruptionbudgets.policy": {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {**meta, "name": "coredns", "uid": "b"},
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": _LABELS}},
        },
    }


def a_zoned(name: str, zone: str, **more: str) -> Doc:
    return a_node(name, **{"topology.kubernetes.io/zone": zone, **more})


@dataclass
class DnsLab:
    """A served cluster with CoreDNS. Mutable. `speed`: virtual seconds in a second."""

    nodes: Sequence[Doc] = (a_zoned("n0", "a"), a_zoned("n1", "a"), a_zoned("n2", "b"))
    objects: Mapping[str, Doc] = field(default_factory=a_dns)
    users: Mapping[str, ServedUser] = field(default_factory=dict)
    pulling: ImagePull = pull_every_image
    speed: float = 1.0
    start_s: float = 0.2

    @contextlib.contextmanager
    def served(self) -> Iterator[tuple[SimulatedApiServer, Api]]:
        plane = ControlPlane(START, StoredFacts(), seed=7)
        plane.load("nodes", self.nodes)
        plane.load("namespaces", [a_namespace("default"), a_namespace(_SYSTEM)])
        for resource, doc in self.objects.items():
            plane.load(resource, [doc])
        dns = MeasuredDns(plane, self.speed)
        plane.start(ProbeKubeletTimes(Kubelet(self.start_s), dns), workload_controllers, image_pull=self.pulling)
        api = Api(
            plane,
            ApiSetup(TokenUsers({TOKEN: ADMIN, **self.users}), logs=PodLogs(dns.logs)),
            ScaledTime(time.monotonic, self.speed),
        )
        with serving(api) as server:
            yield server, api
        assert list(api.internal_errors) == []


def left_of_measures(api: Api) -> list[str]:
    """The names of remaining objects that measurements have created."""

    def names(plane: ControlPlane) -> list[str]:
        items = [*plane.store.list("configmaps"), *plane.store.list("pods")]
        return [item.key[1] for item in items if MEASURE_LABEL in (item.doc["metadata"].get("labels") or {})]

    return api.run_locked(names)


def until(holds: Callable[[], bool], longest_s: float = 30.0) -> None:
    ends_s = time.monotonic() + longest_s
    while not holds():
        assert time.monotonic() < ends_s
        time.sleep(0.02)
