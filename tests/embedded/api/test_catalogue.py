"""What definitions and APIServices add to discovery, in which order, and when they add nothing."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.embedded.api import catalogue
from kubectl_eksdoc.embedded.api.catalogue import preference
from tests.embedded.api.definitions import ESTABLISHED, Doc, a_definition, an_api_service


def test_a_definition_adds_its_served_versions() -> None:
    added = catalogue.of([a_definition([ESTABLISHED])])
    assert added.versions("example.com") == ("v1", "v1beta1")
    assert added.groups()[-1] == "example.com"
    widgets = added.find("example.com", "v1", "widgets")
    assert widgets is not None
    assert (widgets.kind, widgets.singular, widgets.namespaced, widgets.custom) == ("Widget", "widget", True, True)
    assert added.find("example.com", "v1alpha1", "widgets") is None


def test_the_resources_of_a_definition() -> None:
    said = catalogue.resource_list(catalogue.of([a_definition([ESTABLISHED])]), "example.com", "v1")
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
        (None, True),
        ([ESTABLISHED], True),
        ([{"type": "Established", "status": "False"}], False),
        ([{"type": "NamesAccepted", "status": "False"}], False),
    ],
)
def test_a_definition_is_served_when_it_is_established(conditions: list[Doc] | None, served: bool) -> None:
    added = catalogue.of([a_definition(conditions)])
    assert (added.find("example.com", "v1", "widgets") is not None) is served
    assert ("example.com" in added.groups()) is served


def test_a_definition_that_goes_takes_no_writes() -> None:
    added = catalogue.of([a_definition([ESTABLISHED, {"type": "Terminating", "status": "True"}])])
    widgets = added.find("example.com", "v1", "widgets")
    assert widgets is not None
    assert widgets.verbs == ("delete", "deletecollection", "get", "list", "watch")


def test_what_is_built_in_keeps_its_name() -> None:
    names = {"plural": "deployments", "kind": "Imposter"}
    added = catalogue.of([a_definition([ESTABLISHED], group="apps", names=names)])
    found = added.find("apps", "v1", "deployments")
    assert found is not None
    assert found.kind == "Deployment"
    assert [s.kind for s in added.resources("apps", "v1")].count("Deployment") == 1


@pytest.mark.parametrize("available", [True, False])
def test_an_announced_group_stays_listed_whoever_answers(available: bool) -> None:
    added = catalogue.of(api_services=[an_api_service(available)])
    assert added.groups()[-1] == "metrics.k8s.io"
    assert catalogue.group_list(added)["groups"][-1]["preferredVersion"]["version"] == "v1beta1"
    assert added.unanswered("metrics.k8s.io", "v1beta1")
    assert catalogue.resource_list(added, "metrics.k8s.io", "v1beta1") is None


def test_an_api_service_of_this_server_announces_nothing_new() -> None:
    local = catalogue.of(api_services=[an_api_service(True, service=None, group="apps", version="v1")])
    assert catalogue.group_list(local) == catalogue.group_list(catalogue.of())
    gone = catalogue.of(api_services=[an_api_service(True, service=None)])
    assert catalogue.group_list(gone) == catalogue.group_list(catalogue.of())
    assert not gone.unanswered("metrics.k8s.io", "v1beta1")


def test_groups_are_ordered_by_priority_then_name() -> None:
    added = catalogue.of(
        [a_definition([ESTABLISHED]), a_definition([ESTABLISHED], group="another.example.com")],
        [an_api_service(True), an_api_service(True, group="first.example.com", groupPriorityMinimum=2000)],
    )
    assert added.groups()[-4:] == ("first.example.com", "another.example.com", "example.com", "metrics.k8s.io")


def test_versions_are_preferred_as_kubernetes_does() -> None:
    ordered = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]
    assert sorted(set(ordered), key=preference) == ordered
