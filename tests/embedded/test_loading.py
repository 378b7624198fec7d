"""Load a cluster from the objects of a dump, and the version that it reports when it is served."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.embedded.loading import load_documents
from kubectl_eksdoc.embedded.stage import server_version, with_patch_version
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.cluster import Identity, simulated_version
from kubectl_eksdoc.model.quantities import parse_version
from tests.builders import a_cluster, a_node
from tests.embedded.definitions import a_definition
from tests.simulator.control_planes import START, a_node_doc, a_pod_doc


def custom(kind: str, name: str = "x") -> Doc:
    return {"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": name, "namespace": "default"}}


def test_objects_stay_as_they_are_but_for_their_version_and_of_two_with_one_name_the_first_is_taken() -> None:
    pod, other = a_pod_doc("web-0", "a"), a_pod_doc("web-0", "b")
    for each in (pod, other):
        each["metadata"]["namespace"] = "shop"
    loaded = load_documents([a_node_doc("a"), pod, other], START)
    item = loaded.plane.store.get("pods", ("shop", "web-0"))
    assert item is not None and loaded.duplicates == {"v1 Pod": 1}
    meta = {key: value for key, value in item.doc["metadata"].items() if key != "resourceVersion"}
    assert {**item.doc, "metadata": meta} == pod
    namespaces = [item.key[1] for item in loaded.plane.store.list("namespaces")]
    assert namespaces == ["default", "kube-system", "shop"]


def test_objects_of_the_wrong_shape_are_left_out_and_said() -> None:
    bent = a_pod_doc("bent", "a")
    bent["spec"]["containers"] = "none"
    half = a_definition("Half")
    del half["spec"]["names"]["kind"]
    loaded = load_documents(
        [bent, half, custom("Half"), {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}], START
    )
    assert loaded.malformed == {
        "apiextensions.k8s.io/v1 CustomResourceDefinition": 1,
        "v1 ConfigMap": 1,
    }
    assert [(each.resource.kind, each.node, each.message) for each in loaded.invalid] == [
        ("Pod", "a", "Pod default/bent: spec.containers is a string, not a slice")
    ]
    assert loaded.undeclared == {"example.com/v1 Half": 1}
    assert [note.partition(":")[0] for note in loaded.notes] == [
        "left out of the simulated cluster, as no CustomResourceDefinition in the dump declares their kind",
        "left out of the simulated cluster, as they are no objects as a server has them",
    ]


def test_without_uids_references_follow_names() -> None:
    pod, owner = a_pod_doc("web-0", "a"), custom("Widget")
    pod["metadata"]["ownerReferences"] = [
        {"apiVersion": "example.com/v1", "kind": "Widget", "name": "x", "uid": "lost"}
    ]
    del pod["metadata"]["uid"]
    plane = load_documents([pod, owner, a_definition("Widget")], START).plane
    held = plane.store.get("pods", ("default", "web-0"))
    there = plane.store.get("widgets.example.com", ("default", "x"))
    assert held is not None and there is not None
    assert held.doc["metadata"]["ownerReferences"][0]["uid"] == there.uid == "Widget/default/x"
    assert held.uid == "Pod/default/web-0"


def app(kind: str, **spec: Any) -> Doc:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app"}]}}
    given = {"selector": {"matchLabels": {"app": "web"}}, "template": template, **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web", "namespace": "default"}, "spec": given}


OTHER = {"matchLabels": {"app": "other"}}
MISMATCH = "spec.template.metadata.labels: `selector` does not match template `labels`"


def of(kind: str, api_version: str = "v1", **rest: Any) -> Doc:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "web", "namespace": "default"}, **rest}


def owned(**owner: str) -> Doc:
    return {"name": "web", "namespace": "default", "ownerReferences": [owner]}


@pytest.mark.parametrize(
    ("doc", "said"),
    [
        (app("Deployment", selector=OTHER), MISMATCH),
        ({**app("Job", selector=OTHER), "apiVersion": "batch/v1"}, MISMATCH),
        (app("StatefulSet", selector=None), "it has no spec.selector"),
        (
            {**app("Deployment"), "status": {"conditions": [{"type": "Available"}]}},
            "it has no status.conditions.status",
        ),
        (of("Service", spec={"ports": -1}), "spec.ports is a number, not a slice"),
        (of("Pod", spec={}), "it has no spec.containers"),
        (of("Job", "batch/v1", spec={}, status={"startTime": "now"}), "status.startTime is a string, not a v1.Time"),
        ({**app("ReplicaSet"), "metadata": owned(name="x", uid="u")}, "it has no metadata.ownerReferences.kind"),
    ],
)
def test_what_a_server_would_not_have_stored_is_named(doc: Doc, said: str) -> None:
    """Controllers would fail on such an object, or never finish."""
    (invalid,) = load_documents([doc], START).invalid
    assert invalid.message == f"{doc['kind']} default/web: {said}"
    assert invalid.resource.kind == doc["kind"]


def test_a_dump_is_served_in_the_version_of_its_newest_kubelet_and_that_has_a_patch() -> None:
    nodes = [a_node("old", version="v1.32.3-eks-473151a"), a_node("new", version="v1.33.1-eks-1b3e656")]
    dump = replace(a_cluster(nodes=nodes), identity=Identity())
    assert server_version(dump) == with_patch_version("v1.33.1-eks-1b3e656") == "v1.33.1-eks-1b3e656"
    assert (
        server_version(replace(dump, identity=Identity(server_version="1.34")))
        == with_patch_version("v1.34")
        == "v1.34.0"
    )
    assert server_version(replace(dump, nodes=())) == "", "nothing tells it"


@pytest.mark.parametrize("speed", [0.5, 1.0, 15.0, 1_000_000.0])
def test_its_version_says_how_fast_it_plays(speed: float) -> None:
    said = simulated_version("v1.33.1-eks-1b3e656", speed)
    assert Identity(server_version=said).speed == speed and parse_version(said) == parse_version("v1.33.1")
    for version in ("", "v1.33.1-eks-1b3e656", "v1.33.1+rehearsal.x", "v1.33.1+rehearsal.x1e9"):
        assert Identity(server_version=version).speed == 1.0, "a cluster whose time is ours"
