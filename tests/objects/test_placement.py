"""What a pod's spec says of where it may run becomes one fact, which replicas share."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Identity, Source
from kubectl_eksdoc.model.placing import (
    NOWHERE_SPECIAL,
    HostPort,
    NodeDemand,
    NodeTerm,
    Placement,
    PodTerm,
    Requests,
    Spread,
)
from kubectl_eksdoc.model.selectors import EVERYTHING, NOTHING, Requirement, from_parts
from kubectl_eksdoc.objects.collector import BadObject, Collector
from tests.objects.observing import T0, fact, observed

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
GPU = "nvidia.com/gpu"


def placement(**spec: Any) -> Placement:
    return fact(kinds.PODS, spec=spec).placement


def container(restart: str | None = None, ports: Any = None, **requests: Any) -> dict[str, Any]:
    names = {"gpu": GPU, "huge": "hugepages-2Mi", "storage": "ephemeral-storage"}
    asked = {names.get(name, name): amount for name, amount in requests.items()}
    made: dict[str, Any] = {"name": "c", "resources": {"requests": asked, "limits": {"cpu": "9"}}}
    return made | ({"restartPolicy": restart} if restart else {}) | ({"ports": ports} if ports else {})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": [container(cpu=1, memory=128974848)]}, Requests(1000, 128974848)),
        ({"containers": [container(cpu="0.5"), container(cpu="0.4")]}, Requests(900)),
        (
            {"containers": [container(gpu="2", huge="4Mi", storage="1Gi"), container(gpu="1")]},
            Requests(ephemeral=1 << 30, others=(("hugepages-2Mi", 4 << 20), (GPU, 3))),
        ),
        ({"containers": [container(gpu="0", pods="1", storage="0")]}, Requests()),
        # An init container alone, more than all containers together; then less.
        ({"containers": [container(cpu="1")], "initContainers": [container(cpu="3")]}, Requests(3000)),
        # A sidecar runs beside the containers, and beside the init containers that come after it.
        (
            {"containers": [container(cpu="1")], "initContainers": [container("Always", cpu="2")]},
            Requests(3000),
        ),
        (
            {
                "containers": [container(cpu="1")],
                "initContainers": [container(cpu="5"), container("Always", cpu="2"), container(cpu="4")],
            },
            Requests(6000),
        ),
        ({"containers": [container(cpu="1")], "overhead": {"cpu": "250m", "memory": "1Ki"}}, Requests(1250, 1024)),
        # What the pod asks for as a whole replaces the sum, for the resources it may name.
        (
            {
                "containers": [container(cpu="3", memory="1Ki", gpu="1")],
                "resources": {"requests": {"cpu": "2", GPU: "9"}},
                "overhead": {"cpu": "1"},
            },
            Requests(3000, 1024, others=((GPU, 1),)),
        ),
    ],
)
def test_requests_are_added_as_the_scheduler_adds_them(spec: dict[str, Any], expected: Requests) -> None:
    assert placement(**spec).requests == expected


def test_a_pod_that_asks_for_nothing_is_the_shared_one() -> None:
    assert placement() is NOWHERE_SPECIAL
    assert placement(containers=[{"name": "c"}], schedulerName="default-scheduler") is NOWHERE_SPECIAL
    preferred = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}}
    anyway = [{"topologyKey": "z", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}]
    assert placement(affinity=preferred, topologySpreadConstraints=anyway) is NOWHERE_SPECIAL


def test_nothing_stumbles_over_null() -> None:
    names = ("containers", "initContainers", "resources", "overhead", "nodeSelector", "affinity")
    more = ("topologySpreadConstraints", "schedulerName", "schedulingGates", "resourceClaims")
    assert placement(**dict.fromkeys(names + more)) is NOWHERE_SPECIAL
    hollow = {"nodeAffinity": {REQUIRED: None}, "podAffinity": {REQUIRED: None}, "podAntiAffinity": None}
    assert placement(affinity=hollow, containers=[{"ports": None, "resources": None}]) is NOWHERE_SPECIAL


def test_demands_of_nodes() -> None:
    term = {
        "matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}],
        "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}],
    }
    found = placement(
        nodeSelector={"z": "1", "a": "2"},
        affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term, {}]}}},
    )
    first = NodeTerm((Requirement("zone", "In", ("a", "b")),), (Requirement("metadata.name", "In", ("n",)),))
    assert found.nodes == NodeDemand((("a", "2"), ("z", "1")), (first, NodeTerm()))
    none = placement(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}})
    assert none.nodes == NodeDemand((), ())


def test_demands_of_other_pods() -> None:
    full = {
        "topologyKey": "zone",
        "labelSelector": {"matchLabels": {"app": "x"}},
        "namespaces": ["a", "b"],
        "namespaceSelector": {},
        "matchLabelKeys": ["hash"],
        "mismatchLabelKeys": ["team"],
    }
    found = placement(affinity={"podAffinity": {REQUIRED: [full]}, "podAntiAffinity": {REQUIRED: [{}]}})
    term = PodTerm("zone", from_parts({"app": "x"}), ("a", "b"), EVERYTHING, ("hash",), ("team",))
    assert found.affinity == (term,)
    assert found.anti_affinity == (PodTerm("", NOTHING),)


def test_spread_constraints_and_their_defaults() -> None:
    plain = {"topologyKey": "zone", "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule"}
    full = plain | {
        "labelSelector": {"matchLabels": {"app": "x"}},
        "minDomains": 3,
        "nodeAffinityPolicy": "Ignore",
        "nodeTaintsPolicy": "Honor",
        "matchLabelKeys": ["hash"],
    }
    found = placement(topologySpreadConstraints=[plain, full, plain | {"whenUnsatisfiable": "ScheduleAnyway"}])
    assert found.spread == (
        Spread("zone", 2, NOTHING, 1, honours_affinity=True, honours_taints=False),
        Spread("zone", 2, from_parts({"app": "x"}), 3, False, True, ("hash",)),
    )


def test_ports_of_the_node_are_those_of_containers_and_sidecars() -> None:
    dns = [{"containerPort": 53, "hostPort": 53, "protocol": "UDP"}, {"containerPort": 8080}]
    web = [{"containerPort": 80, "hostPort": 80, "hostIP": "10.0.0.1"}, {"containerPort": 9, "hostPort": 0}]
    found = placement(
        containers=[container(ports=web)],
        initContainers=[container("Always", ports=dns), container(ports=[{"hostPort": 1}])],
    )
    assert found.ports == (HostPort(53, "UDP", "0.0.0.0"), HostPort(80, "TCP", "10.0.0.1"))
    assert placement(containers=[container(ports=web)]).ports == (HostPort(80, "TCP", "10.0.0.1"),)


def test_what_is_not_modelled_is_seen() -> None:
    found = placement(schedulerName="mine", schedulingGates=[{"name": "g"}], resourceClaims=[{"name": "gpu"}])
    assert found == Placement(scheduler="mine", gated=True, claims_devices=True)
    assert len(found.not_modelled) == 3
    assert placement(schedulingGates=[], resourceClaims=[]).not_modelled == ()


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        ({"containers": [container(cpu="1 core")]}, "resources.requests.cpu"),
        ({"overhead": {"memory": "x"}}, "$.spec.overhead.memory"),
        ({"affinity": {"nodeAffinity": []}}, "$.spec.affinity.nodeAffinity"),
        ({"topologySpreadConstraints": [{"maxSkew": "1"}]}, "$.spec.topologySpreadConstraints[0].maxSkew"),
        ({"nodeSelector": {"a": 1}}, "$.spec.nodeSelector"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(spec: dict[str, Any], where: str) -> None:
    with pytest.raises(BadObject) as error:
        placement(**spec)
    assert where in str(error.value)
    assert "shop/x" in str(error.value)


def test_an_allocatable_that_cannot_be_is_refused() -> None:
    with pytest.raises(BadObject, match=r"status\.allocatable\.cpu"):
        observed(kinds.NODES, status={"allocatable": {"cpu": "many"}})
    node = fact(kinds.NODES, status={"allocatable": {"cpu": "3920m", "memory": "7Gi", GPU: 4}})
    assert node.allocatable == {"cpu": 3920, "memory": 7 << 30, GPU: 4}


def gathered(items: list[dict[str, Any]]) -> list[Placement]:
    collector = Collector(Source.LIVE)
    collector.add_page(kinds.PODS, json.dumps({"kind": "PodList", "items": items}).encode(), "test")
    return [p.placement for p in collector.cluster(Identity(), T0).pods]


def test_replicas_share_one_placement_whatever_else_differs() -> None:
    def replica(number: int) -> dict[str, Any]:
        mount = {"name": f"kube-api-access-{number}", "mountPath": "/var/run"}
        each = container(cpu="1", ports=[{"containerPort": 80}]) | {"volumeMounts": [mount]}
        return {"metadata": {"name": f"x-{number}", "namespace": "shop"}, "spec": {"containers": [each, each]}}

    found = gathered([replica(n) for n in range(5)])
    assert {id(p) for p in found} == {id(found[0])}
    assert found[0].requests == Requests(2000)
