"""Created objects: fields that the server adds, objects that it rejects, and kinds that are defined later."""

from __future__ import annotations

from typing import Any

import pytest

from tests.embedded.definitions import a_definition
from tests.embedded.serving.asking import Asking, Doc

PODS = "/api/v1/namespaces/default/pods"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
PRIORITY_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


@pytest.fixture
def asking() -> Asking:
    return Asking()


def pod(name: str = "new", **spec: Any) -> Doc:
    containers = [{"name": "app", "image": "registry.example/app:1", **spec.pop("container", {})}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def definition() -> Doc:
    """A definition of widgets, whose `spec.parts` are merged by name."""
    parts = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "integer"}}},
    }
    spec = {"type": "object", "properties": {"parts": parts}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return a_definition("Widget", {"name": "v1", "served": True, "storage": True, "schema": schema})


def widget(*parts: Doc) -> Doc:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w"},
        "spec": {"parts": list(parts)},
    }


def test_a_pod_is_admitted(asking: Asking) -> None:
    made = asking.create(PODS, pod(container={"resources": {"requests": {"cpu": "1"}}}))
    spec = made["spec"]
    assert spec["serviceAccountName"] == spec["serviceAccount"] == "default"
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert [each["key"] for each in spec["tolerations"]] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]
    assert made["status"] == {"phase": "Pending", "qosClass": "Burstable"}


def test_a_pod_has_the_priority_of_its_class(asking: Asking) -> None:
    asking.create(PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 7, "preemptionPolicy": "Never"})
    for name, value in (("more", 1), ("usual", 0)):
        asking.create(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value, "globalDefault": True})
    spec = asking.create(PODS, pod(priorityClassName="high"))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (7, "Never")
    spec = asking.create(PODS, pod("other"))["spec"]
    assert (spec["priorityClassName"], spec["priority"]) == ("usual", 0), "of several that of the lowest value"
    said = asking.ask("POST", PODS, pod("third", priorityClassName="hihg"), 403)
    assert said["message"].endswith("no PriorityClass with name hihg was found")


@pytest.mark.parametrize("grace_s", [10**12, 2**63 - 1, 0, -1])
def test_any_number_of_seconds_is_a_grace_period(grace_s: int) -> None:
    asking = Asking(moving=True)
    asking.create(PODS, pod(terminationGracePeriodSeconds=grace_s))
    asking.pass_s(10)
    asking.ask("POST", f"{PODS}/new/eviction", {"metadata": {"name": "new"}}, 201)
    asking.pass_s(10)
    asking.ask("GET", f"{PODS}/new", code=404)


@pytest.mark.parametrize(
    ("lacking", "field"),
    [
        ({"names": {"plural": "widgets"}}, "spec.names.kind"),
        ({"versions": []}, "spec.versions"),
        ({"scope": ""}, "spec.scope"),
    ],
)
def test_a_definition_that_says_too_little_is_refused(asking: Asking, lacking: Doc, field: str) -> None:
    doc = definition()
    said = asking.ask("POST", DEFINITIONS, {**doc, "spec": {**doc["spec"], **lacking}}, 422)
    assert field in [cause["field"] for cause in said["details"]["causes"]]
    assert asking.reply("GET", "/apis").status == 200


def test_lists_of_custom_resources_are_merged_by_the_keys_their_definition_names(asking: Asking) -> None:
    asking.create(DEFINITIONS, definition())
    asking.apply(f"{WIDGETS}/w", widget({"name": "a", "size": 1}), "one", 201)
    both = asking.apply(f"{WIDGETS}/w", widget({"name": "b", "size": 2}), "two")
    assert both["spec"]["parts"] == [{"name": "a", "size": 1}, {"name": "b", "size": 2}]
    said = asking.apply(f"{WIDGETS}/w", widget({"name": "a", "size": 9}), "two", 409)
    assert [cause["field"] for cause in said["details"]["causes"]] == ['.spec.parts[name="a"].size']
    left = asking.apply(f"{WIDGETS}/w", widget(), "one")
    assert left["spec"]["parts"] == [{"name": "b", "size": 2}]


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_a_namespace_of_the_system_is_not_deleted(asking: Asking, name: str) -> None:
    path = f"/api/v1/namespaces/{name}"
    if asking.reply("GET", path).status == 404:
        asking.ask("DELETE", path, code=404)
        asking.create("/api/v1/namespaces", {"metadata": {"name": name}})
    said = asking.ask("DELETE", path, code=403)
    assert said["message"] == f'namespaces "{name}" is forbidden: this namespace may not be deleted'
    assert (said["reason"], said["details"]) == ("Forbidden", {"name": name, "kind": "namespaces"})
    assert asking.ask("GET", path)["status"]["phase"] == "Active"


def test_objects_of_kinds_learned_later_go_with_their_namespace_and_their_owner() -> None:
    asking = Asking(moving=True)
    asking.create("/api/v1/namespaces", {"metadata": {"name": "short-lived"}})
    asking.create(DEFINITIONS, definition())
    there = WIDGETS.replace("default", "short-lived")
    asking.create(there, widget())
    owner = asking.create("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "owner"}})
    owned = widget()
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    owned["metadata"]["ownerReferences"] = [reference]
    asking.create(WIDGETS, owned)
    asking.pass_s(5)
    assert [len(asking.ask("GET", each)["items"]) for each in (there, WIDGETS)] == [1, 1]
    asking.ask("DELETE", "/api/v1/namespaces/default/configmaps/owner")
    asking.ask("DELETE", "/api/v1/namespaces/short-lived")
    asking.pass_s(60)
    assert [asking.ask("GET", each)["items"] for each in (there, WIDGETS)] == [[], []]
    assert asking.reply("GET", "/api/v1/namespaces/short-lived").status == 404


def test_an_amount_that_is_none_or_what_nobody_could_read_is_never_stored(asking: Asking) -> None:
    regular = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    container = {"resources": {"requests": {"cpu": "abc"}}}
    said = asking.ask("POST", PODS, pod(container=container), 400)
    assert said["message"] == 'Pod in version "v1" cannot be handled as a Pod: ' + regular
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod(container=container)["spec"]}
    workload = {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}}
    said = asking.ask("POST", "/apis/apps/v1/namespaces/default/deployments", workload, 400)
    assert said["message"].endswith("cannot be handled as a Deployment: " + regular)
    patch = {"status": {"allocatable": {"cpu": "abc"}}}
    said = asking.ask("PATCH", "/api/v1/nodes/old-0/status", patch, 400, content_type=MERGE)
    assert said["message"].endswith("cannot be handled as a Node: " + regular)
    for terms in ("any", [{"matchExpressions": "zone"}]):
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        said = asking.ask("POST", PODS, pod(affinity={"nodeAffinity": required}), 400)
        assert said["message"].startswith('Pod in version "v1" cannot be handled as a Pod: ')
    asking.ask("GET", f"{PODS}/new", None, 404)


MERGE = "application/merge-patch+json"


def test_a_pod_stays_what_it_was_made(asking: Asking) -> None:
    asking.create(PODS, pod())
    container = {"name": "app", "image": "registry.example/app:1", "command": ["sh"]}
    for spec in ({"nodeName": "old-1"}, {"nodeSelector": {"zone": "b"}}, {"containers": [container]}):
        said = asking.ask("PATCH", f"{PODS}/new", {"spec": spec}, 422, content_type=MERGE)
        assert said["message"].startswith('Pod "new" is invalid: spec: Forbidden: pod updates may not change fields')


def test_what_may_change_in_a_pod_does(asking: Asking) -> None:
    made = asking.create(PODS, pod(terminationGracePeriodSeconds=-1, schedulingGates=[{"name": "wait"}]))["spec"]
    for spec in (
        {"containers": [{**made["containers"][0], "image": "registry.example/app:2"}]},
        {"tolerations": [*made["tolerations"], {"key": "a", "operator": "Exists"}]},
        {"terminationGracePeriodSeconds": 1},
        {"nodeSelector": {"zone": "b"}},
        {"schedulingGates": None},
        {"activeDeadlineSeconds": 60, "volumes": []},
    ):
        asking.ask("PATCH", f"{PODS}/new", {"spec": spec}, content_type=MERGE)
    asking.ask("PUT", f"{PODS}/new", asking.ask("GET", f"{PODS}/new"))


def test_what_is_created_has_no_version_and_containers_of_different_names(asking: Asking) -> None:
    doc = pod()
    doc["spec"]["containers"] *= 2
    said = asking.ask("POST", PODS, doc, 422)
    assert said["message"] == 'Pod "new" is invalid: spec.containers[1].name: Duplicate value: "app"'
    doc["metadata"]["resourceVersion"] = "5"
    said = asking.ask("POST", PODS, doc, 500)
    assert said["message"] == "resourceVersion should not be set on objects to be created"


def test_names_are_those_of_hosts_and_those_of_namespaces_are_labels(asking: Asking) -> None:
    for name in ("Web", "-a", "a.", "x" * 254):
        said = asking.ask("POST", PODS, pod(name), 422)
        assert said["details"]["causes"][0]["field"] == "metadata.name"
    asking.create(PODS, pod("a.b-c.0"))
    for name in ("a.b", "x" * 64):
        asking.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}}, 422)


@pytest.mark.parametrize("spec", [{}, {"resourceAttributes": {"verb": "get"}, "nonResourceAttributes": {"path": "/x"}}])
def test_a_review_asks_for_one_thing(asking: Asking, spec: Doc) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert asking.ask("POST", path, {"spec": spec}, 422)["reason"] == "Invalid"
