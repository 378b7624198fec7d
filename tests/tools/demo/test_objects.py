"""The demo's API objects are consistent: ids, owners, nodes, capacity, endpoints, volumes."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from typing import Any

import pytest

from kubectl_eksdoc.embedded.demo.reader import DemoReader
from kubectl_eksdoc.embedded.loading import load_observed
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.objects.single import RawObjects
from tools.demo import objects

Json = dict[str, Any]


@pytest.fixture(scope="module")
def held() -> dict[Resource, list[Json]]:
    return objects.objects()


@pytest.fixture(scope="module")
def every(held: dict[Resource, list[Json]]) -> list[Json]:
    return [o for group in held.values() for o in group]


def name_of(o: Json) -> tuple[str, str, str]:
    return o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]


def test_every_kind_is_held(held: dict[Resource, list[Json]]) -> None:
    assert tuple(held) == kinds.ALL
    assert [r.plural for r in kinds.ALL if not held[r]] == ["replicationcontrollers"]


def test_ids_are_unique(every: list[Json]) -> None:
    for ids in (
        [o["metadata"]["uid"] for o in every],
        [o["metadata"]["resourceVersion"] for o in every],
        [name_of(o) for o in every],
    ):
        assert [i for i, n in Counter(ids).items() if n > 1] == []


def test_owners_exist(every: list[Json]) -> None:
    known = {(name_of(o), o["metadata"]["uid"]) for o in every}
    for o in every:
        for ref in o["metadata"].get("ownerReferences", ()):
            meant = (ref["kind"], o["metadata"].get("namespace", ""), ref["name"]), ref["uid"]
            assert meant in known, f"{name_of(o)} is owned by {meant}"


def test_addresses_are_unique(held: dict[Resource, list[Json]]) -> None:
    own = [p["status"]["podIP"] for p in held[kinds.PODS] if not p["spec"].get("hostNetwork")]
    own += [a["address"] for n in held[kinds.NODES] for a in n["status"]["addresses"] if a["type"] == "InternalIP"]
    own += [s["spec"]["clusterIP"] for s in held[kinds.SERVICES] if s["spec"]["clusterIP"] != "None"]
    assert [ip for ip, n in Counter(own).items() if n > 1] == []
    assert all(ipaddress.ip_address(ip).is_private for ip in own)


def quantity(text: str) -> float:
    units = {"m": 0.001, "Mi": 2.0**20, "Gi": 2.0**30}
    match = re.match(r"(\d+)(m|Mi|Gi|)\Z", text)
    assert match, text
    return int(match[1]) * units.get(match[2], 1)


def test_requests_fit_what_nodes_have(held: dict[Resource, list[Json]]) -> None:
    asked: dict[str, Counter[str]] = {n["metadata"]["name"]: Counter() for n in held[kinds.NODES]}
    for pod in held[kinds.PODS]:
        here = asked[pod["spec"]["nodeName"]]
        here["pods"] += 1
        for container in pod["spec"]["containers"]:
            for resource, amount in container["resources"]["requests"].items():
                here[resource] += quantity(amount)  # type: ignore[assignment]
    for node in held[kinds.NODES]:
        for resource, amount in asked[node["metadata"]["name"]].items():
            assert amount <= quantity(node["status"]["allocatable"][resource]), (node["metadata"]["name"], resource)


def test_replicas_say_how_many_pods_there_are(held: dict[Resource, list[Json]]) -> None:
    owned = Counter(ref["uid"] for p in held[kinds.PODS] for ref in p["metadata"].get("ownerReferences", ()))
    for resource in (kinds.REPLICA_SETS, kinds.STATEFUL_SETS):
        for o in held[resource]:
            assert o["spec"]["replicas"] == o["status"]["replicas"] == owned[o["metadata"]["uid"]], name_of(o)
    for o in held[kinds.DAEMON_SETS]:
        assert o["status"]["desiredNumberScheduled"] == owned[o["metadata"]["uid"]], name_of(o)
    for o in held[kinds.JOBS]:
        assert o["status"]["active"] == owned[o["metadata"]["uid"]], name_of(o)


def test_controllers_select_exactly_their_pods(held: dict[Resource, list[Json]]) -> None:
    for resource in (kinds.REPLICA_SETS, kinds.STATEFUL_SETS, kinds.DAEMON_SETS, kinds.JOBS):
        for o in held[resource]:
            wanted = o["spec"]["selector"]["matchLabels"].items()
            assert wanted <= o["spec"]["template"]["metadata"]["labels"].items(), name_of(o)
            for pod in held[kinds.PODS]:
                if pod["metadata"]["namespace"] == o["metadata"]["namespace"]:
                    owned = any(r["uid"] == o["metadata"]["uid"] for r in pod["metadata"].get("ownerReferences", ()))
                    assert owned == (wanted <= pod["metadata"]["labels"].items()), (name_of(o), name_of(pod))


def ready(pod: Json) -> bool:
    return {"type": "Ready", "status": "True"}.items() <= next(
        c for c in pod["status"]["conditions"] if c["type"] == "Ready"
    ).items()


def test_endpoints_are_the_pods_their_service_selects(held: dict[Resource, list[Json]]) -> None:
    slices = {
        (s["metadata"]["namespace"], s["metadata"]["labels"]["kubernetes.io/service-name"]): s
        for s in held[kinds.ENDPOINT_SLICES]
    }
    assert len(slices) == len(held[kinds.SERVICES])
    for service in held[kinds.SERVICES]:
        namespace = service["metadata"]["namespace"]
        wanted = {
            (p["metadata"]["uid"], p["status"]["podIP"], p["spec"]["nodeName"], ready(p))
            for p in held[kinds.PODS]
            if p["metadata"]["namespace"] == namespace
            and service["spec"]["selector"].items() <= p["metadata"]["labels"].items()
        }
        listed = {
            (e["targetRef"]["uid"], e["addresses"][0], e["nodeName"], e["conditions"]["ready"])
            for e in slices[namespace, service["metadata"]["name"]]["endpoints"]
        }
        assert wanted == listed != set(), name_of(service)


def test_volumes_lie_in_the_zone_of_their_pod(held: dict[Resource, list[Json]]) -> None:
    zones = {n["metadata"]["name"]: n["metadata"]["labels"]["topology.kubernetes.io/zone"] for n in held[kinds.NODES]}
    claims = {name_of(c)[1:]: c for c in held[kinds.CLAIMS]}
    volumes = {v["metadata"]["name"]: v for v in held[kinds.VOLUMES]}
    seen = 0
    for pod in held[kinds.PODS]:
        for volume in pod["spec"]["volumes"]:
            if "persistentVolumeClaim" in volume:
                claim = claims[pod["metadata"]["namespace"], volume["persistentVolumeClaim"]["claimName"]]
                bound = volumes[claim["spec"]["volumeName"]]
                assert bound["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]
                terms = bound["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
                assert terms[0]["matchExpressions"][0]["values"] == [zones[pod["spec"]["nodeName"]]]
                seen += 1
    assert seen == len(claims) == len(volumes) == 6


def test_volumes_are_attached_where_their_pods_run(held: dict[Resource, list[Json]]) -> None:
    claims = {c["spec"]["volumeName"]: name_of(c)[1:] for c in held[kinds.CLAIMS]}
    nodes = {
        (p["metadata"]["namespace"], v["persistentVolumeClaim"]["claimName"]): p["spec"]["nodeName"]
        for p in held[kinds.PODS]
        for v in p["spec"]["volumes"]
        if "persistentVolumeClaim" in v
    }
    specs = [a["spec"] for a in held[kinds.VOLUME_ATTACHMENTS]]
    attached = {claims[s["source"]["persistentVolumeName"]]: s["nodeName"] for s in specs}
    assert attached == nodes != {}
    assert {s["attacher"] for s in specs} == {v["spec"]["csi"]["driver"] for v in held[kinds.VOLUMES]}


def test_all_of_it_can_be_served() -> None:
    raw = RawObjects()
    observed = DemoReader(raw).read(kinds.ALL)
    assert load_observed(observed, raw).notes == ()
