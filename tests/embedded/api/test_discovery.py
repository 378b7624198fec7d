"""Discovery: built-in resources, resources from CustomResourceDefinitions and APIServices, OpenAPI, and the form of an
answer."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.embedded import catalogue
from kubectl_eksdoc.embedded.catalogue import (
    PARTIAL_LIST,
    PLAIN,
    TABLE,
    Build,
    ResponseForm,
    preference,
)
from tests.embedded.definitions import ESTABLISHED, a_definition
from tests.raw_facts import recorded

Doc = dict[str, Any]

VERSIONS: tuple[Doc, ...] = (
    {"name": "v1beta1", "served": True, "storage": False},
    {"name": "v1alpha1", "served": False, "storage": False},
    {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas"}},
        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1}],
    },
)
NAMES = {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]}


def widgets(*conditions: Doc, **spec: Any) -> Doc:
    return a_definition("Widget", *VERSIONS, conditions=conditions, **{"names": NAMES, **spec})


def an_api_service(available: bool, **spec: Any) -> Doc:
    said = {
        "group": "metrics.k8s.io",
        "version": "v1beta1",
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
        "service": {"namespace": "kube-system", "name": "metrics-server"},
    }
    conditions = [{"type": "Available", "status": str(available)}]
    return {"kind": "APIService", "spec": {**said, **spec}, "status": {"conditions": conditions}}


def test_what_is_no_version_is_refused() -> None:
    assert catalogue.version_document(Build(git_version="v1.31.4-eks-1b3e656"))["minCompatibilityMinor"] == "30"
    with pytest.raises(ValueError, match="'latest' is not a version of Kubernetes"):
        catalogue.version_document(Build(git_version="latest"))


FROM_NOTHING = catalogue.build_catalogue()


def takes(document: dict[str, Any], group: str, version: str, kind: str) -> set[str] | None:
    """The query parameters of the PATCH of a kind, found as kubectl finds them; None without such a PATCH."""
    wanted = {"group": group, "version": version, "kind": kind}
    for path in document["paths"].values():
        if path["patch"]["x-kubernetes-group-version-kind"] == wanted:
            return {parameter["name"] for parameter in path["patch"]["parameters"]}
    return None


def test_a_definition_changes_its_own_address_alone() -> None:
    added = catalogue.build_catalogue([widgets(ESTABLISHED)])
    before, after = catalogue.openapi_index(FROM_NOTHING)["paths"], catalogue.openapi_index(added)["paths"]
    assert set(after) - set(before) == {"apis/example.com/v1", "apis/example.com/v1beta1"}
    assert {path: after[path] for path in before} == before
    for path in ("", "apis/nope/v1", "api/v2", "apis/apps/v1/deployments"):
        assert catalogue.openapi_document(FROM_NOTHING, path) is None
    for path, kind in (
        ("example.com/v1", ("example.com", "v1", "Widget")),
        ("apps/v1", ("apps", "v1", "DaemonSet")),
    ):
        document = catalogue.openapi_document(added, f"apis/{path}")
        assert document is not None
        assert takes(document, *kind) == {"pretty", "dryRun", "fieldManager", "fieldValidation", "force"}


def test_the_resources_of_a_definition() -> None:
    added = catalogue.build_catalogue([widgets(ESTABLISHED)])
    assert added.versions("example.com") == ("v1", "v1beta1") and added.groups()[-1] == "example.com"
    assert added.find("example.com", "v1alpha1", "widgets") is None
    said = catalogue.resource_list_document(added, "example.com", "v1")
    verbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
    few = ["get", "patch", "update"]
    assert said == {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": "example.com/v1",
        "resources": [
            {
                "name": "widgets",
                "singularName": "widget",
                "namespaced": True,
                "kind": "Widget",
                "verbs": verbs,
                "shortNames": ["wd"],
                "categories": ["all"],
            },
            {"name": "widgets/status", "singularName": "", "namespaced": True, "kind": "Widget", "verbs": few},
            {
                "name": "widgets/scale",
                "singularName": "",
                "namespaced": True,
                "group": "autoscaling",
                "version": "v1",
                "kind": "Scale",
                "verbs": few,
            },
        ],
    }


@pytest.mark.parametrize(
    ("conditions", "served"),
    [
        ([], True),
        ([ESTABLISHED], True),
        ([{"type": "Established", "status": "False"}], False),
        ([{"type": "NamesAccepted", "status": "False"}], False),
    ],
)
def test_a_definition_is_served_when_it_is_established(conditions: list[Doc], served: bool) -> None:
    added = catalogue.build_catalogue([widgets(*conditions)])
    assert (added.find("example.com", "v1", "widgets") is not None) is served
    assert ("example.com" in added.groups()) is served


def test_a_definition_that_goes_takes_no_writes() -> None:
    added = catalogue.build_catalogue([widgets(ESTABLISHED, {"type": "Terminating", "status": "True"})])
    found = added.find("example.com", "v1", "widgets")
    assert found is not None
    assert found.verbs == ("delete", "deletecollection", "get", "list", "watch")


def test_what_is_built_in_keeps_its_name() -> None:
    names = {"plural": "deployments", "kind": "Imposter"}
    added = catalogue.build_catalogue([widgets(ESTABLISHED, group="apps", names=names)])
    found = added.find("apps", "v1", "deployments")
    assert found is not None
    assert found.kind == "Deployment"
    assert [s.kind for s in added.resources("apps", "v1")].count("Deployment") == 1


@pytest.mark.parametrize("available", [True, False])
def test_an_announced_group_stays_listed_whoever_answers(available: bool) -> None:
    added = catalogue.build_catalogue(api_services=[an_api_service(available)])
    assert added.groups()[-1] == "metrics.k8s.io"
    assert catalogue.group_list_document(added)["groups"][-1]["preferredVersion"]["version"] == "v1beta1"
    assert added.is_unserved("metrics.k8s.io", "v1beta1")
    assert catalogue.resource_list_document(added, "metrics.k8s.io", "v1beta1") is None
    for own in ({"service": None, "group": "apps", "version": "v1"}, {"service": None}):  # of this server itself
        added = catalogue.build_catalogue(api_services=[an_api_service(available, **own)])
        assert catalogue.group_list_document(added) == catalogue.group_list_document(FROM_NOTHING)
        assert not added.is_unserved("metrics.k8s.io", "v1beta1")


def test_groups_are_ordered_by_priority_then_name() -> None:
    added = catalogue.build_catalogue(
        [widgets(ESTABLISHED), widgets(ESTABLISHED, group="another.example.com")],
        [an_api_service(True), an_api_service(True, group="first.example.com", groupPriorityMinimum=2000)],
    )
    assert added.groups()[-4:] == ("first.example.com", "another.example.com", "example.com", "metrics.k8s.io")


def test_versions_are_preferred_as_kubernetes_does() -> None:
    ordered = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]
    assert sorted(set(ordered), key=preference) == ordered


KUBECTL_GET = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        (KUBECTL_GET, TABLE),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", PLAIN),
        ("application/vnd.kubernetes.protobuf,application/json", PLAIN),
        ("application/vnd.kubernetes.protobuf", None),
        ("application/json;as=Table;v=v9;g=meta.k8s.io", None),
    ],
)
def test_objects(accept: str, form: ResponseForm | None) -> None:
    assert catalogue.choose_form(accept, (TABLE, PARTIAL_LIST)) == form


def test_recorded_definitions() -> None:
    added = catalogue.build_catalogue(recorded("rich", "customresourcedefinitions"))
    assert added.groups()[-3:] == ("karpenter.k8s.aws", "karpenter.sh", "vpcresources.k8s.aws")
    policies = added.find("vpcresources.k8s.aws", "v1beta1", "securitygrouppolicies")
    assert policies is not None
    assert (policies.namespaced, policies.short_names) == (True, ("sgp",))
    assert [s.name for s in policies.subresources] == ["status"]
