"""A cluster from the objects of a dump: as they are, all that can be served, and nothing that cannot goes unsaid."""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.embedded import demo
from kubectl_eksdoc.embedded.loading import load
from tests.core.sim.cluster.planes import START, a_node_doc, a_pod_doc


def custom(kind: str, name: str = "x") -> Doc:
    return {"apiVersion": "example.io/v1", "kind": kind, "metadata": {"name": name, "namespace": "default"}}


def definition(kind: str) -> Doc:
    version: dict[str, Any] = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {}}}
    names = {"plural": f"{kind.lower()}s", "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    spec = {"group": "example.io", "scope": "Namespaced", "names": names, "versions": [version]}
    meta = {"name": f"{names['plural']}.example.io"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": meta,
        "spec": spec,
        "status": {"conditions": [{"type": "Established", "status": "True"}]},
    }


def test_the_demo_is_taken_whole() -> None:
    held = [doc for docs in demo.objects().values() for doc in docs]
    loaded = load(held, START)
    custom = {doc["kind"] for doc in held if doc["kind"] in ("TargetGroupBinding", "NodePool")}
    assert len(custom) == 2 and not loaded.left_out and not loaded.doubled
    there = sum(loaded.plane.store.count(resource) for resource in loaded.plane.store.resources())
    assert there == len(held) + len(added_namespaces(held)) + len(custom), "what defines them is added"


def added_namespaces(held: list[Doc]) -> set[str]:
    named = {doc["metadata"].get("namespace", "") for doc in held} | {"default", "kube-system"}
    return named - {""} - {doc["metadata"]["name"] for doc in held if doc["kind"] == "Namespace"}


def test_objects_stay_as_they_are_but_for_their_version() -> None:
    pod = a_pod_doc("web-0", "a")
    loaded = load([a_node_doc("a"), pod], START)
    item = loaded.plane.store.get("pods", ("default", "web-0"))
    assert item is not None
    meta = {key: value for key, value in item.doc["metadata"].items() if key != "resourceVersion"}
    assert {**item.doc, "metadata": meta} == pod


def test_custom_kinds_need_their_definition() -> None:
    loaded = load([custom("Widget"), definition("Widget"), custom("Gadget"), custom("Gadget", "y")], START)
    assert loaded.plane.store.get("widgets.example.io", ("default", "x")) is not None
    assert loaded.left_out == {"example.io/v1 Gadget": 2}


def test_of_two_with_one_name_the_first_is_taken() -> None:
    loaded = load([a_pod_doc("web-0", "a"), a_pod_doc("web-0", "b")], START)
    assert loaded.doubled == {"v1 Pod": 1}
    item = loaded.plane.store.get("pods", ("default", "web-0"))
    assert item is not None and item.doc["spec"]["nodeName"] == "a"


def test_namespaces_that_objects_are_in_are_there() -> None:
    pod = a_pod_doc("web-0", "a")
    pod["metadata"]["namespace"] = "shop"
    plane = load([pod], START).plane
    found = [item.key[1] for item in plane.store.list("namespaces")]
    assert found == ["default", "kube-system", "shop"]
