"""Specs of workloads that are refused, as a controller could not come to an end with them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.embedded.serving.asking import Asking, Doc

APPS = "/apis/apps/v1/namespaces/default"
MERGE = "application/merge-patch+json"


@pytest.fixture
def asking() -> Asking:
    return Asking(moving=True)


def workload(labels: Doc | None = None, **spec: Any) -> Doc:
    container = {"name": "app", "image": "registry.example/app:1"}
    template = {"metadata": {"labels": labels or {"app": "web"}}, "spec": {"containers": [container]}}
    return {
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template, **spec},
    }


@pytest.mark.parametrize(
    "plural",
    [
        "deployments",
        "statefulsets",
    ],
)
def test_a_selector_that_does_not_take_its_own_pods_is_refused(asking: Asking, plural: str) -> None:
    said = asking.ask("POST", f"{APPS}/{plural}", workload({"app": "other"}), 422)
    expected = 'Invalid value: {"app":"other"}: `selector` does not match template `labels`'
    assert said["details"]["causes"] == [
        {"reason": "FieldValueInvalid", "message": expected, "field": "spec.template.metadata.labels"}
    ]


@pytest.mark.parametrize("plural", ["deployments", "statefulsets"])
def test_a_selector_stays_as_it_was_made(asking: Asking, plural: str) -> None:
    asking.create(f"{APPS}/{plural}", workload({"app": "web", "tier": "front"}))
    patch = {"spec": {"selector": {"matchLabels": {"app": "web", "tier": "front"}}}}
    said = asking.ask("PATCH", f"{APPS}/{plural}/web", patch, 422, content_type=MERGE)
    immutable = 'spec.selector: Invalid value: {"matchLabels":{"app":"web","tier":"front"}}: field is immutable'
    forbidden = "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', "
    assert (forbidden if plural == "statefulsets" else immutable) in said["message"]


@pytest.mark.parametrize("plural", ["deployments", "statefulsets"])
def test_there_are_no_fewer_pods_than_none(asking: Asking, plural: str) -> None:
    asking.create(f"{APPS}/{plural}", workload())
    for path in (f"{APPS}/{plural}/web", f"{APPS}/{plural}/web/scale"):
        said = asking.ask("PATCH", path, {"spec": {"replicas": -1}}, 422, content_type=MERGE)
        assert said["message"].endswith("spec.replicas: Invalid value: -1: must be greater than or equal to 0")
        assert said["reason"] == "Invalid"


def test_a_rollout_that_may_do_nothing_is_refused(asking: Asking) -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 0}}
    said = asking.ask("POST", f"{APPS}/deployments", workload(strategy=rolling), 422)
    assert "may not be 0 when `maxSurge` is 0" in said["message"]


def test_a_selector_without_conditions_or_with_unknown_ones_is_refused(asking: Asking) -> None:
    unknown = {"matchExpressions": [{"key": "app", "operator": "Near", "values": ["web"]}]}
    said = asking.ask("POST", f"{APPS}/deployments", workload(selector=unknown), 422)
    assert said["details"]["causes"][0]["field"] == "spec.selector"


def test_a_set_of_a_dump_whose_selector_does_not_take_its_pods_makes_none(asking: Asking) -> None:
    doc = workload({"app": "other"}, replicas=3)
    doc |= {"kind": "ReplicaSet", "apiVersion": "apps/v1"}
    doc["metadata"] |= {"namespace": "default", "uid": "0c1b7f0e-0000-4000-8000-000000000001"}
    asking.api.now(lambda plane: plane.load("replicasets.apps", [doc]))
    asking.pass_s(60)
    assert asking.ask("GET", "/api/v1/namespaces/default/pods?labelSelector=app=other")["items"] == []
