"""The official Python client against the served cluster, whose time passes only when a test lets it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import ConflictError

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import ManualTime
from tests.embedded.clients import worlds

POD = "app-0-77746998fd-4s5st"


@pytest.fixture
def given() -> Iterator[tuple[Api, client.ApiClient]]:
    with worlds.served("small-traps", ManualTime()) as (server, api):
        configuration = client.Configuration(host=server.url())
        configuration.api_key["authorization"] = f"Bearer {worlds.ADMIN_TOKEN}"
        configuration.retries = False
        with client.ApiClient(configuration) as connected:
            yield api, connected


@pytest.fixture
def api(given: tuple[Api, client.ApiClient]) -> Api:
    return given[0]


@pytest.fixture
def core(given: tuple[Api, client.ApiClient]) -> client.CoreV1Api:
    return client.CoreV1Api(given[1])


def eviction(name: str, **options: Any) -> client.V1Eviction:
    meta = client.V1ObjectMeta(name=name, namespace="default")
    return client.V1Eviction(metadata=meta, delete_options=client.V1DeleteOptions(**options) if options else None)


@pytest.mark.long
def test_lists_in_pages_are_one_list(core: client.CoreV1Api) -> None:
    whole = core.list_pod_for_all_namespaces()
    names, token, pages = [], None, 0
    while token != "":
        page = core.list_pod_for_all_namespaces(limit=50, _continue=token)
        names += [pod.metadata.name for pod in page.items]
        token, pages = page.metadata._continue or "", pages + 1
        assert page.metadata.remaining_item_count == (131 - len(names) if token else None)
    assert pages == 3 and names == [pod.metadata.name for pod in whole.items]


@pytest.mark.long
def test_a_list_in_pages_is_as_of_its_first_page(core: client.CoreV1Api) -> None:
    first = core.list_namespaced_pod("default", limit=1)
    core.delete_namespaced_pod("trap-bare", "default", grace_period_seconds=0)
    rest = core.list_namespaced_pod("default", _continue=first.metadata._continue)
    assert "trap-bare" in {pod.metadata.name for pod in rest.items}
    assert rest.metadata.resource_version == first.metadata.resource_version
    assert "trap-bare" not in {pod.metadata.name for pod in core.list_namespaced_pod("default").items}


def test_selectors(core: client.CoreV1Api) -> None:
    found = core.list_pod_for_all_namespaces(
        label_selector="app in (app-0, app-9)", field_selector="spec.nodeName=old-0"
    )
    assert sorted(pod.metadata.labels["app"] for pod in found.items) == ["app-0", "app-9"]
    with pytest.raises(ApiException) as caught:
        core.list_pod_for_all_namespaces(field_selector="spec.foo=x")
    assert caught.value.status == 400 and "field label not supported: spec.foo" in caught.value.body


def test_a_watch_from_a_version_on(core: client.CoreV1Api) -> None:
    version = core.list_namespaced_pod("default").metadata.resource_version
    core.patch_namespaced_pod(POD, "default", {"metadata": {"labels": {"seen": "yes"}}})
    core.delete_namespaced_pod("trap-bare", "default", grace_period_seconds=0)
    events = [
        (event["type"], event["object"].metadata.name)
        for event in watch.Watch().stream(
            core.list_namespaced_pod, "default", resource_version=version, timeout_seconds=1
        )
    ]
    # Everybody else's writes are due later, and no time passes. A deletion is first marked, then done.
    assert events == [("MODIFIED", POD), ("MODIFIED", "trap-bare"), ("DELETED", "trap-bare")]


def test_a_watch_that_is_too_old(core: client.CoreV1Api, api: Api) -> None:
    api.now(lambda plane: plane.store.forget())
    with pytest.raises(ApiException) as caught:
        for _ in watch.Watch().stream(core.list_namespaced_pod, "default", resource_version="5", timeout_seconds=1):
            pass
    assert caught.value.status == 410 and "too old resource version" in caught.value.reason


def test_a_watch_is_told_at_once(core: client.CoreV1Api, api: Api) -> None:
    version = core.list_node().metadata.resource_version
    stream = watch.Watch()
    cordon = threading.Thread(target=core.patch_node, args=("old-0", {"spec": {"unschedulable": True}}))
    cordon.start()
    for event in stream.stream(core.list_node, resource_version=version, timeout_seconds=20):
        assert (event["type"], event["object"].metadata.name) == ("MODIFIED", "old-0")
        assert event["object"].spec.unschedulable is True
        stream.stop()
    cordon.join()


def test_patches(core: client.CoreV1Api, given: tuple[Api, client.ApiClient]) -> None:
    assert core.patch_node("old-0", {"spec": {"unschedulable": True}}).spec.unschedulable is True
    core.patch_node("old-0", [{"op": "remove", "path": "/spec/unschedulable"}])
    assert core.read_node("old-0").spec.unschedulable is None
    with pytest.raises(ApiException) as caught:
        core.patch_node("old-0", [{"op": "test", "path": "/spec/unschedulable", "value": True}])
    assert caught.value.status == 422


def test_server_side_apply(given: tuple[Api, client.ApiClient]) -> None:
    """By the dynamic client, which reads discovery first."""
    maps = DynamicClient(given[1]).resources.get(api_version="v1", kind="ConfigMap")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made"}, "data": {"a": "b"}}
    made = maps.server_side_apply(body=body, namespace="default", name="made", field_manager="test")
    assert made.data.to_dict() == {"a": "b"} and made.metadata.managedFields[0].operation == "Apply"
    body["data"] = {"a": "c"}
    with pytest.raises(ConflictError) as caught:
        maps.server_side_apply(body=body, namespace="default", name="made", field_manager="other")
    assert json.loads(caught.value.body)["message"] == 'Apply failed with 1 conflict: conflict with "test": .data.a'


def test_evictions(core: client.CoreV1Api, api: Api) -> None:
    _, code, _ = core.create_namespaced_pod_eviction_with_http_info(POD, "default", eviction(POD))
    assert code == 201
    second = "app-0-77746998fd-cnkqn"
    with pytest.raises(ApiException) as caught:
        core.create_namespaced_pod_eviction(second, "default", eviction(second))
    refused = json.loads(caught.value.body)
    assert caught.value.status == 429 and refused["reason"] == "TooManyRequests"
    said = "The disruption budget app-0 does not allow evicting pods currently"
    assert refused["details"]["causes"] == [{"reason": "DisruptionBudget", "message": said}]
    api.now(lambda plane: plane.agenda.run_until(plane.agenda.seconds + 60))
    _, code, _ = core.create_namespaced_pod_eviction_with_http_info(second, "default", eviction(second))
    assert code == 201


def test_a_budget_that_was_changed_just_now_asks_to_come_again(
    core: client.CoreV1Api, given: tuple[Api, client.ApiClient]
) -> None:
    policy = client.PolicyV1Api(given[1])
    policy.patch_namespaced_pod_disruption_budget("app-0", "default", {"spec": {"maxUnavailable": 2}})
    with pytest.raises(ApiException) as caught:
        core.create_namespaced_pod_eviction(POD, "default", eviction(POD))
    assert caught.value.status == 429 and caught.value.headers["Retry-After"] == "10"
    details = json.loads(caught.value.body)["details"]
    said = "The disruption budget app-0 is still being processed by the server."
    assert details == {"causes": [{"reason": "DisruptionBudget", "message": said}], "retryAfterSeconds": 10}


def test_evictions_with_preconditions_and_of_nobody(core: client.CoreV1Api) -> None:
    core.create_namespaced_pod_eviction(POD, "default", eviction(POD), dry_run="All")
    with pytest.raises(ApiException) as caught:
        core.create_namespaced_pod_eviction(
            POD, "default", eviction(POD, preconditions=client.V1Preconditions(uid="x"))
        )
    assert caught.value.status == 409
    with pytest.raises(ApiException) as caught:
        core.create_namespaced_pod_eviction("nope", "default", eviction("nope"))
    assert caught.value.status == 404
    assert core.read_namespaced_pod(POD, "default").metadata.deletion_timestamp is None


def test_of_two_writers_of_a_lease_one_is_late(given: tuple[Api, client.ApiClient]) -> None:
    leases = client.CoordinationV1Api(given[1])
    meta = client.V1ObjectMeta(name="eksdoc-drain")
    lease = client.V1Lease(metadata=meta, spec=client.V1LeaseSpec(holder_identity="one"))
    made = leases.create_namespaced_lease("kube-system", lease)
    with pytest.raises(ApiException) as caught:
        leases.create_namespaced_lease("kube-system", lease)
    assert caught.value.status == 409 and json.loads(caught.value.body)["reason"] == "AlreadyExists"
    made.spec.holder_identity = "two"
    leases.replace_namespaced_lease("eksdoc-drain", "kube-system", made)
    made.spec.holder_identity = "three"
    with pytest.raises(ApiException) as caught:
        leases.replace_namespaced_lease("eksdoc-drain", "kube-system", made)
    assert caught.value.status == 409 and "the object has been modified" in caught.value.body
    assert leases.read_namespaced_lease("eksdoc-drain", "kube-system").spec.holder_identity == "two"
    leases.delete_namespaced_lease("eksdoc-drain", "kube-system")
    with pytest.raises(ApiException) as caught:
        leases.read_namespaced_lease("eksdoc-drain", "kube-system")
    assert caught.value.status == 404
