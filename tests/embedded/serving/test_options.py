"""Options of requests that contradict each other or that nobody knows: refused, and nothing is done."""

from __future__ import annotations

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
    version = asking.api.now(lambda plane: plane.store.version)
    said = asking.ask("POST", f"{MAPS}?dryRun={word}", config(), 422)
    words = '["All","none"]' if "&" in word else f'["{word}"]'
    expected = f'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: {words}: supported values: "All"'
    assert said["message"] == expected
    patch = {"spec": {"unschedulable": True}}
    asking.ask("PATCH", f"/api/v1/nodes/old-0?dryRun={word}", patch, 422, content_type=MERGE)
    asking.ask("DELETE", f"{PODS}/{POD}?dryRun={word}", None, 422)
    asking.ask("DELETE", f"{PODS}/{POD}", {"dryRun": ["none"]}, 422)
    asking.ask("POST", f"{PODS}/{POD}/eviction?dryRun={word}", {"metadata": {"name": POD}}, 422)
    assert asking.api.now(lambda plane: plane.store.version) == version


def test_any_dry_run_in_an_evictions_body_is_one(asking: Asking) -> None:
    body = {"metadata": {"name": POD}, "deleteOptions": {"dryRun": ["none"]}}
    asking.ask("POST", f"{PODS}/{POD}/eviction", body, 201)
    assert "deletionTimestamp" not in asking.ask("GET", f"{PODS}/{POD}")["metadata"]


def test_only_what_is_applied_is_forced(asking: Asking) -> None:
    asking.create(MAPS, config())
    said = asking.ask("PATCH", f"{MAPS}/new?force=true", {}, 422, content_type=MERGE)
    assert said["message"].endswith("force: Forbidden: may not be specified for non-apply patch")
    asking.ask("PATCH", f"{MAPS}/new?force=true&fieldManager=me", config(), content_type=APPLY)


def test_a_field_manager_has_a_short_name(asking: Asking) -> None:
    said = asking.ask("POST", f"{MAPS}?fieldManager={'x' * 129}", config(), 422)
    assert said["message"].endswith("fieldManager: Too long: may not be more than 128 bytes")
    asking.ask("POST", f"{MAPS}?fieldManager={'x' * 128}", config(), 201)


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
