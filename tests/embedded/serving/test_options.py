"""Rejected request options and workload specs: the server changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.embedded.serving.asking import APPLY, Asking, Doc

NAMESPACES = "/api/v1/namespaces"
MAPS = f"{NAMESPACES}/default/configmaps"
PODS = f"{NAMESPACES}/default/pods"
POD = "trap-bare"
MERGE = "application/merge-patch+json"


@pytest.fixture
def asking() -> Asking:
    return Asking()


def config(name: str = "new") -> Doc:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "1"}}


@pytest.mark.parametrize("word", ["all", "All&dryRun=none"])
def test_a_dry_run_that_is_misspelt_changes_nothing(asking: Asking, word: str) -> None:
    version = asking.api.run_locked(lambda plane: plane.store.version)
    said = asking.ask("POST", f"{MAPS}?dryRun={word}", config(), 422)
    words = '["All","none"]' if "&" in word else f'["{word}"]'
    expected = f'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: {words}: supported values: "All"'
    assert said["message"] == expected
    patch = {"spec": {"unschedulable": True}}
    asking.ask("PATCH", f"/api/v1/nodes/old-0?dryRun={word}", patch, 422, content_type=MERGE)
    asking.ask("DELETE", f"{PODS}/{POD}?dryRun={word}", None, 422)
    asking.ask("DELETE", f"{PODS}/{POD}", {"dryRun": ["none"]}, 422)
    asking.ask("POST", f"{PODS}/{POD}/eviction?dryRun={word}", {"metadata": {"name": POD}}, 422)
    assert asking.api.run_locked(lambda plane: plane.store.version) == version


def test_any_dry_run_in_an_evictions_body_is_one(asking: Asking) -> None:
    body = {"metadata": {"name": POD}, "deleteOptions": {"dryRun": ["none"]}}
    asking.ask("POST", f"{PODS}/{POD}/eviction", body, 201)
    assert "deletionTimestamp" not in asking.ask("GET", f"{PODS}/{POD}")["metadata"]


def test_only_what_is_applied_is_forced_and_a_field_manager_has_a_short_name(asking: Asking) -> None:
    asking.ask("POST", f"{MAPS}?fieldManager={'x' * 128}", config(), 201)
    said = asking.ask("PATCH", f"{MAPS}/new?force=true", {}, 422, content_type=MERGE)
    assert said["message"].endswith("force: Forbidden: may not be specified for non-apply patch")
    asking.ask("PATCH", f"{MAPS}/new?force=true&fieldManager=me", config(), content_type=APPLY)
    said = asking.ask("POST", f"{MAPS}?fieldManager={'x' * 129}", config("other"), 422)
    assert said["message"].endswith("fieldManager: Too long: may not be more than 128 bytes")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            {"propagationPolicy": "Later"},
            'Unsupported value: "Later": supported values: "Foreground", "Background", "Orphan", "nil"',
        ),
        (
            {"propagationPolicy": "Orphan", "orphanDependents": True},
            'Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
        ),
    ],
)
def test_dependents_are_dealt_with_in_one_way_that_is_known(asking: Asking, body: Doc, said: str) -> None:
    answer = asking.ask("DELETE", f"{PODS}/{POD}", body, 422)
    assert answer["message"] == f'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: {said}'


APPS = "/apis/apps/v1/namespaces/default"


@pytest.fixture
def moving() -> Asking:
    return Asking(moving=True)


def workload(labels: Doc | None = None, **spec: Any) -> Doc:
    container = {"name": "app", "image": "registry.example/app:1"}
    template = {"metadata": {"labels": labels or {"app": "web"}}, "spec": {"containers": [container]}}
    return {
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template, **spec},
    }


@pytest.mark.parametrize("plural", ["deployments", "statefulsets"])
def test_what_is_refused_of_a_workload(moving: Asking, plural: str) -> None:
    said = moving.ask("POST", f"{APPS}/{plural}", workload({"app": "other"}), 422)
    expected = 'Invalid value: {"app":"other"}: `selector` does not match template `labels`'
    assert said["details"]["causes"] == [
        {"reason": "FieldValueInvalid", "message": expected, "field": "spec.template.metadata.labels"}
    ]
    unknown = {"matchExpressions": [{"key": "app", "operator": "Near", "values": ["web"]}]}
    said = moving.ask("POST", f"{APPS}/{plural}", workload(selector=unknown), 422)
    assert said["details"]["causes"][0]["field"] == "spec.selector"
    moving.create(f"{APPS}/{plural}", workload({"app": "web", "tier": "front"}))
    patch = {"spec": {"selector": {"matchLabels": {"app": "web", "tier": "front"}}}}
    said = moving.ask("PATCH", f"{APPS}/{plural}/web", patch, 422, content_type=MERGE)
    immutable = 'spec.selector: Invalid value: {"matchLabels":{"app":"web","tier":"front"}}: field is immutable'
    forbidden = "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', "
    assert (forbidden if plural == "statefulsets" else immutable) in said["message"]
    for path in (f"{APPS}/{plural}/web", f"{APPS}/{plural}/web/scale"):
        said = moving.ask("PATCH", path, {"spec": {"replicas": -1}}, 422, content_type=MERGE)
        assert said["message"].endswith("spec.replicas: Invalid value: -1: must be greater than or equal to 0")
        assert said["reason"] == "Invalid"


def test_a_rollout_that_may_do_nothing_is_refused(moving: Asking) -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 0}}
    said = moving.ask("POST", f"{APPS}/deployments", workload(strategy=rolling), 422)
    assert "may not be 0 when `maxSurge` is 0" in said["message"]


def test_a_set_of_a_dump_whose_selector_does_not_take_its_pods_makes_none(moving: Asking) -> None:
    doc = workload({"app": "other"}, replicas=3)
    doc |= {"kind": "ReplicaSet", "apiVersion": "apps/v1"}
    doc["metadata"] |= {"namespace": "default", "uid": "0c1b7f0e-0000-4000-8000-000000000001"}
    moving.api.run_locked(lambda plane: plane.load("replicasets.apps", [doc]))
    moving.pass_s(60)
    assert moving.ask("GET", "/api/v1/namespaces/default/pods?labelSelector=app=other")["items"] == []
