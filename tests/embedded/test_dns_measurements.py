"""Output of pods that measure DNS on a served cluster: lost answers depend on lameduck, the grace period, and the delay
of proxies; the sockets of `tests.dns` follow the same rules."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import pytest

from kubectl_eksdoc.embedded.loading import StoredFacts
from kubectl_eksdoc.embedded.probed import PROPAGATION_S, MeasuredDns, ProbeKubeletTimes
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.simulator.control_plane import ControlPlane, workload_controllers
from kubectl_eksdoc.simulator.registry import DeleteOptions
from tests.coredns_lameduck.served_clusters import a_dns, a_zoned
from tests.coredns_lameduck.worlds import World
from tests.embedded.clients.worlds import START
from tests.probes.stand_ins import Kubelet, a_namespace

WALL = datetime(2026, 1, 1, tzinfo=timezone.utc)


class Plane:
    """A cluster with CoreDNS and one pod that sends queries; one CoreDNS pod is deleted. Mutable."""

    def __init__(self, lameduck: str, speed: float = 1.0) -> None:
        self.plane = ControlPlane(START, StoredFacts(), seed=7)
        self.plane.load("nodes", [a_zoned("n0", "a"), a_zoned("n1", "b")])
        self.plane.load("namespaces", [a_namespace("default"), a_namespace("kube-system")])
        for resource, doc in a_dns(lameduck).items():
            self.plane.load(resource, [doc])
        self.dns = MeasuredDns(self.plane, speed, lambda: WALL)
        self.plane.start(ProbeKubeletTimes(Kubelet(0.5), self.dns), workload_controllers)
        self.pass_s(10)

    def pass_s(self, seconds: float) -> None:
        self.plane.virtual_time.run_until(self.plane.virtual_time.seconds + seconds)

    def asks(self, addresses: dict[str, str]) -> None:
        targets = [{"name": name, "address": address, "port": 53} for name, address in addresses.items()]
        asked = {"targets": targets, "transports": ["udp"], "rate": 10, "seconds": 300, "timeout": 5}
        container: Doc = {"name": "load-generator", "image": "python", "command": ["python3", json.dumps(asked)]}
        labels = {"eksdoc.io/dns-measure": "cafe"}
        meta = {"name": "load-generator", "namespace": "default", "labels": labels}
        spec = {"nodeName": "n1", "restartPolicy": "Never", "containers": [container]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
        self.plane.registry.create("pods", pod, "default")
        self.pass_s(1)

    def pods(self) -> list[Doc]:
        every = self.plane.store.list("pods")
        return [item.doc for item in every if item.doc["metadata"]["namespace"] == "kube-system"]

    def delete(self, name: str, grace_s: int | None = None) -> None:
        item = self.plane.registry.get("pods", ("kube-system", name))
        self.plane.registry.delete(item, DeleteOptions(grace_s=grace_s, uid=item.uid))

    def lines(self) -> list[dict[str, Any]]:
        pod = self.plane.registry.get("pods", ("default", "load-generator")).doc
        text = self.dns.logs(pod, "load-generator")
        assert text is not None
        return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize(
    ("lameduck", "grace_s", "loses"),
    [("5s", None, False), ("3s", None, False), ("20s", None, False), ("0s", None, True), ("1s", None, True),
     ("20s", 1, True)],
)  # fmt: skip
def test_answers_are_lost_if_lameduck_or_grace_is_shorter_than_propagation(
    lameduck: str, grace_s: int | None, loses: bool
) -> None:
    """Queries of the 20 s after the deletion: to the service, and to the pod itself."""
    lab = Plane(lameduck)
    one = lab.pods()[0]
    lab.asks({"service": "172.20.0.10", "own": one["status"]["podIP"]})
    lab.pass_s(5)
    lab.delete(one["metadata"]["name"], grace_s)
    lab.pass_s(30)
    lost = {"service": 0, "own": 0}
    for line in lab.lines():
        if "t" in line:
            lost[line["to"]] += line["lost"]
    assert lost["own"] > 0 and (0 < lost["service"] <= 10 * PROPAGATION_S if loses else lost["service"] == 0)


def test_the_pods_seconds_are_the_walls_however_fast_the_cluster_is() -> None:
    lab = Plane("5s", speed=10.0)
    lab.asks({"service": "172.20.0.10"})
    lab.pass_s(200)
    head, *seconds = lab.lines()
    assert len(seconds) == 13  # 20 s on the wall, less the timeout
    assert WALL.timestamp() - head["began"] == pytest.approx(20, abs=0.3)


def test_what_it_prints_is_what_measurements_are_tried_with() -> None:
    """The keys are the same as in the fake world of the tests for measurement flows."""
    lab = Plane("5s")
    lab.asks({"service": "172.20.0.10"})
    lab.pass_s(20)
    world = World()
    line = world._line(0, {"name": "service", "address": "172.20.0.10"}, "udp", 0.0)
    assert list(lab.lines()[1]) == list(line)
