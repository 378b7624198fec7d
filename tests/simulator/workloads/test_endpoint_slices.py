"""EndpointSlices: their data on pods, and that they change as little as possible."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.simulator.store import StoredItem
from kubectl_eksdoc.simulator.workloads.endpoint_slices import EndpointSlices
from tests.simulator.workloads.world import World, a_node, a_pod

SLICES = "endpointslices.discovery.k8s.io"


def a_service(name: str = "web", app: str = "web", **spec: Any) -> Doc:
    ports = [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}]
    meta = {"name": name, "labels": {"team": "a"}}
    made = {"selector": {"app": app}, "ports": ports, "clusterIP": "10.0.0.1", **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": made}


def a_world(**spec: Any) -> World:
    world = World(lambda registry, index: [EndpointSlices(registry, index)])
    world.create("nodes", a_node("n1", "zone-a"))
    world.create("services", a_service(**spec))
    world.run()
    return world


def running(world: World, name: str, app: str = "web", ready: bool = True, **spec: Any) -> StoredItem:
    pod = world.create("pods", a_pod(name, app, node="n1", **spec))
    pod = world.report(pod, ready=ready, podIPs=[{"ip": f"10.1.0.{len(world.pods())}"}])
    world.run()
    return pod


def endpoints(world: World) -> dict[str, Doc]:
    return {each["targetRef"]["name"]: each for item in world.all(SLICES) for each in item.doc["endpoints"]}


def sizes(world: World) -> list[int]:
    return sorted(len(item.doc["endpoints"]) for item in world.all(SLICES))


def said(each: Doc) -> tuple[bool, bool, bool]:
    conditions = each["conditions"]
    return conditions["ready"], conditions["serving"], conditions["terminating"]


def test_a_service_has_one_slice_also_without_pods() -> None:
    world = a_world()
    world.create("services", {**a_service("other"), "spec": {"ports": [{"port": 1}]}})  # no selector: not ours
    world.run()
    (empty,) = world.all(SLICES)
    meta = empty.doc["metadata"]
    assert (empty.doc["addressType"], empty.doc["endpoints"], empty.doc["ports"]) == ("IPv4", [], [])
    assert meta["labels"] == {
        "team": "a",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": "web",
    }
    assert meta["ownerReferences"][0]["kind"] == "Service" and meta["generateName"] == "web-"
    pod = running(world, "p")
    (item,) = world.all(SLICES)
    assert item.uid == empty.uid
    assert item.doc["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    assert item.doc["endpoints"] == [
        {
            "addresses": ["10.1.0.1"],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "nodeName": "n1",
            "zone": "zone-a",
            "targetRef": {"kind": "Pod", "namespace": "shop", "name": "p", "uid": pod.uid},
        }
    ]
    world.delete(pod)
    world.run()
    assert said(endpoints(world)["p"]) == (False, True, True)
    world.delete(pod, grace_s=0)
    world.run()
    (item,) = world.all(SLICES)
    assert item.uid == empty.uid and item.doc["endpoints"] == []


def test_pods_without_an_address_and_pods_that_ended_are_no_endpoints() -> None:
    world = a_world()
    world.create("pods", a_pod("waiting"))
    ended = running(world, "ended")
    world.report(ended, phase="Succeeded", ready=False)
    running(world, "other", app="db")
    running(world, "unready", ready=False)
    assert {name: said(each) for name, each in endpoints(world).items()} == {"unready": (False, False, False)}


def test_pods_of_a_headless_service_have_names_and_may_be_published_before_they_are_ready() -> None:
    world = a_world(clusterIP="None", publishNotReadyAddresses=True)
    running(world, "p", hostname="db-0", subdomain="web", ready=False)
    running(world, "q", hostname="db-1", subdomain="other")
    assert endpoints(world)["p"]["hostname"] == "db-0" and "hostname" not in endpoints(world)["q"]
    assert said(endpoints(world)["p"]) == (True, False, False)
    (item,) = world.all(SLICES)
    assert item.doc["metadata"]["labels"]["service.kubernetes.io/headless"] == ""


def test_named_ports_are_looked_up_in_each_pod() -> None:
    world = a_world(ports=[{"name": "http", "port": 80, "targetPort": "web"}])
    for name, number in (("p", 8080), ("q", 9090), ("r", 8080)):
        container = {"name": "c", "ports": [{"name": "web", "containerPort": number}]}
        running(world, name, containers=[container])
    found = {
        item.doc["ports"][0]["port"]: [each["targetRef"]["name"] for each in item.doc["endpoints"]]
        for item in world.all(SLICES)
    }
    assert found == {8080: ["p", "r"], 9090: ["q"]}


def test_a_slice_holds_a_hundred_and_others_are_not_written_when_one_changes() -> None:
    world = a_world()
    pods = []
    for i in range(150):
        pod = world.create("pods", a_pod(f"p{i:03}", node="n1"))
        pods.append(world.report(pod, podIPs=[{"ip": f"10.2.0.{i}"}]))
    world.run()
    assert sizes(world) == [50, 100]
    before = {item.uid: item.version for item in world.all(SLICES)}
    world.report(pods[0], ready=False)
    world.run()
    assert sum(before[item.uid] != item.version for item in world.all(SLICES)) == 1
    for pod in pods[:60]:
        world.delete(pod, grace_s=0)
    world.run()
    assert sizes(world) == [40, 50]
    for i in range(150, 260):
        pod = world.create("pods", a_pod(f"p{i:03}", node="n1"))
        world.report(pod, podIPs=[{"ip": f"10.2.0.{i}"}])
    world.run()
    assert sizes(world) == [100, 100]


@given(st.lists(st.tuples(st.sampled_from(("new", "gone", "leave", "ready", "unready", "label")), st.integers(0, 9))))
def test_the_slices_show_the_pods_that_are_there(deeds: list[tuple[str, int]]) -> None:
    world = a_world()
    for number, (what, which) in enumerate(deeds):
        there = world.pods()
        if what == "new":
            pod = world.create("pods", a_pod(f"p{number}", node="n1"))
            world.report(pod, podIPs=[{"ip": f"10.2.0.{number}"}])
        elif there:
            pod = there[which % len(there)]
            if what in ("gone", "leave"):
                world.delete(pod, grace_s=0 if what == "gone" else None)
            elif what == "label":
                world.set(pod, "metadata", "labels", to={"app": "web" if which % 2 else "db"})
            else:
                world.report(pod, ready=what == "ready")
        if which % 3:
            world.run()
    world.run()
    shown = {name: said(each) for name, each in endpoints(world).items()}
    expected = {}
    for pod in world.pods():
        if pod.doc["metadata"]["labels"] == {"app": "web"}:
            ready = pod.doc["status"]["conditions"][0]["status"] == "True"
            expected[pod.key[1]] = (ready and not pod.deleting, ready, pod.deleting)
    assert shown == expected
    assert len(world.all(SLICES)) == 1


def test_ports_may_have_fields_that_are_not_known() -> None:
    """A dump may contain ports of any shape."""
    world = a_world()
    (item,) = world.all(SLICES)
    world.registry.store.replace(item, {**item.doc, "ports": [{"a": [{}]}, {"name": None, "port": 80}, None]})
    running(world, "p")
    assert set(endpoints(world)) == {"p"}
