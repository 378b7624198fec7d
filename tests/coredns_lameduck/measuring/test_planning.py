"""The plan of a measurement: the nodes that send DNS questions, the targets, and the objects that are created."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from kubectl_eksdoc.coredns_lameduck.measurement_plan import (
    FILE,
    LONGEST_FOR_S,
    LONGEST_TIMEOUT_S,
    LONGEST_WAIT_S,
    MAX_ENDPOINTS,
    MAX_QUERIES_PER_SECOND,
    OS,
    STALE_AFTER_S,
    MeasuredChange,
    MeasurementFacts,
    MeasurementPlan,
    MeasurementSettings,
    MeasurementZone,
    manifests,
    plan_measurement,
    zones,
)
from kubectl_eksdoc.dns_load import exchanges
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.kubernetes.guards import pod_security_violations
from kubectl_eksdoc.model.coredns import CoreDnsDeployment, CoreDnsPod, CoreDnsState, DnsService
from kubectl_eksdoc.model.nodes import COMPUTE_TYPE
from tests.builders import NOW
from tests.coredns_lameduck.worlds import BOTH, NODES, PODS, START, V4, in_zone


def test_a_node_of_each_zone_without_coredns_on_it() -> None:
    found = zones([*NODES, in_zone("n3", "c")], {"n0", "n2"})
    assert found == (MeasurementZone("a", "n1"), MeasurementZone("b", "n2"), MeasurementZone("c", "n3"))


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"unschedulable": True}, "cordoned"),
        ({"ready": "Unknown"}, "Ready is Unknown"),
        ({"ready": "False"}, "Ready is False"),
        ({"deletion_at": NOW}, "being deleted"),
    ],
)
def test_a_node_that_may_go_is_not_asked_from(more: dict[str, Any], why: str) -> None:
    (zone,) = zones([in_zone("n0", "a", **more)], ())
    assert zone.node == "" and why in zone.why_not
    (zone,) = zones([in_zone("n0", "a", **more), in_zone("n1", "a")], {"n1"})
    assert zone.node == "n1", "rather one with CoreDNS on it"


@pytest.mark.parametrize(("label", "value"), [(COMPUTE_TYPE, "fargate"), (OS, "windows")])
def test_a_node_on_which_the_pod_cannot_run(label: str, value: str) -> None:
    node = in_zone("n0", "a")
    (zone,) = zones([type(node)("n0", "u", {**node.labels, label: value})], ())
    assert zone.node == "" and zone.why_not


def planned(
    service: DnsService = DnsService(V4),
    pods: tuple[CoreDnsPod, ...] = PODS,
    manner: MeasurementSettings = MeasurementSettings(),
) -> MeasurementPlan:
    serving = frozenset(address for pod in pods for address in pod.addresses)
    facts = MeasurementFacts(service, CoreDnsState(START, pods, serving), CoreDnsDeployment("d", 2))
    return plan_measurement(NODES, facts, "cafe", manner)


def test_the_service_and_each_endpoint_are_asked() -> None:
    plan = planned()
    assert [(each.name, each.address, each.pod) for each in plan.targets] == [
        ("service-v4", "172.20.0.10", ""),
        ("coredns-1-v4", "10.0.0.1", "coredns-1"),
        ("coredns-2-v4", "10.0.0.2", "coredns-2"),
    ]
    assert plan.absent_families == {"v6": "the service has no IPv6 address"} and len(plan.streams) == 7


def test_over_both_families_where_the_service_has_both() -> None:
    pods = tuple(CoreDnsPod(f"p{n}", f"u{n}", "n0", (f"10.0.0.{n}", f"fd00::{n}")) for n in range(2))
    plan = planned(DnsService(BOTH), pods)
    assert [each.name for each in plan.targets] == [
        "service-v4",
        "service-v6",
        "p0-v4",
        "p0-v6",
        "p1-v4",
        "p1-v6",
    ]
    assert plan.absent_families == {}
    only = planned(DnsService(("fd00::a",)), pods)
    assert {each.family for each in only.targets} == {"v6"} and set(only.absent_families) == {"v4"}


def test_pods_that_do_not_serve_are_not_asked_and_many_are_bounded() -> None:
    gone = CoreDnsPod("p-gone", "u", "n0", ("10.0.9.1",), ready=False)
    many = tuple(CoreDnsPod(f"p{n:02}", f"u{n}", "n0", (f"10.0.0.{n}",)) for n in range(20))
    assert [each.pod for each in planned(pods=(*PODS, gone)).targets] == ["", "coredns-1", "coredns-2"]
    assert len(planned(pods=many).targets) == 1 + MAX_ENDPOINTS


def test_a_flood_is_no_measurement() -> None:
    many = tuple(CoreDnsPod(f"p{n:02}", f"u{n}", "n0", (f"10.0.0.{n}",)) for n in range(20))
    with pytest.raises(UsageError, match="2700 questions a second from each pod are too many"):
        planned(pods=many, manner=MeasurementSettings(rate=100))
    assert MAX_QUERIES_PER_SECOND == exchanges.MAX_QUERIES_PER_SECOND


def test_no_measurement_is_as_old_as_what_is_swept() -> None:
    longest = MeasurementSettings(
        MeasuredChange.ROLLOUT, for_s=LONGEST_FOR_S, wait_s=LONGEST_WAIT_S, timeout_s=LONGEST_TIMEOUT_S
    )
    assert longest.deadline_s <= STALE_AFTER_S


def test_what_is_typed_back_counts_what_is_made_and_what_goes() -> None:
    assert planned().changes == 2
    assert planned(manner=MeasurementSettings(MeasuredChange.ROLLOUT)).changes == 4
    assert planned(manner=MeasurementSettings(MeasuredChange.EVICTION)).changes == 3


def test_its_pods_are_restricted_and_owned_and_end_by_themselves() -> None:
    owner, *pods = manifests(planned(), b"program", '{"targets":[]}')
    assert base64.b64decode(owner["binaryData"][FILE]) == b"program"
    assert "it changes nothing" in owner["data"]["about"]
    for pod in pods:
        assert pod_security_violations("restricted", pod["spec"]) == ()
        spec = pod["spec"]
        assert spec["activeDeadlineSeconds"] == MeasurementSettings().deadline_s > MeasurementSettings().query_s
        assert spec["automountServiceAccountToken"] is False and spec["tolerations"] == [{"operator": "Exists"}]
        assert spec["containers"][0]["command"][-1] == '{"targets":[]}'
        assert pod["metadata"]["labels"] == owner["metadata"]["labels"]
    assert [pod["spec"]["nodeName"] for pod in pods] == ["n1", "n2"]
