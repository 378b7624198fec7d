"""The official Python client with the served cluster, whose time passes only when a test moves it."""

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


def test_a_watch_from_a_version_on_and_one_that_is_told_at_once(core: client.CoreV1Api) -> None:
    version = core.list_namespaced_pod("default").metadata.resource_version
    core.patch_namespaced_pod(POD, "default", {"metadata": {"labels": {"seen": "yes"}}})
    core.delete_namespaced_pod("trap-bare", "default", grace_period_seconds=0)
    pods = watch.Watch().stream(core.list_namespaced_pod, "default", resource_version=version, timeout_seconds=1)
    events = [(event["type"], event["object"].metadata.name) for event in pods]
    # Writes of all other clients are due later, and no time passes. A deletion is first marked, then done.
    assert events == [("MODIFIED", POD), ("MODIFIED", "trap-bare"), ("DELETED", "trap-bare")]
    version = core.list_node().metadata.resource_version
    stream = watch.Watch()
    cordon = threading.Thread(target=core.patch_node, args=("old-0", {"spec": {"unschedulable": True}}))
    cordon.start()
    for event in stream.stream(core.list_node, resource_version=version, timeout_seconds=20):
        assert (event["type"], event["object"].metadata.name) == ("MODIFIED", "old-0")
        assert event["object"].spec.unschedulable is True
        stream.stop()
    cordon.join()


def test_server_side_apply(given: tuple[Api, client.ApiClient]) -> None:
    """With the dynamic client, which reads discovery first."""
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
    api.run_locked(lambda plane: plane.virtual_time.run_until(plane.virtual_time.seconds + 60))
    _, code, _ = core.create_namespaced_pod_eviction_with_http_info(second, "default", eviction(second))
    assert code == 201
