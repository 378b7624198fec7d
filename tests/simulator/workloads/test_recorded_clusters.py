"""Simulated controllers change nothing in a cluster that real controllers left at rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kubectl_eksdoc.kubernetes.api.resources import BUILT_IN
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.simulator.control_plane import workload_controllers
from kubectl_eksdoc.simulator.registry import DeleteOptions
from kubectl_eksdoc.simulator.store import StoreChange, parse_api_time
from kubectl_eksdoc.simulator.workloads.ownership import canonical
from tests.embedded.clients.worlds import documents
from tests.examples import one_in
from tests.simulator.workloads.world import World

FORCED = DeleteOptions(grace_s=0)
TIMES = ("creationTimestamp", "lastTransitionTime", "lastUpdateTime", "startTime", "lastScheduleTime")


def newest(value: Any) -> Iterator[str]:
    """All times of events in the value."""
    if isinstance(value, list):
        for each in value:
            yield from newest(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if key in TIMES and isinstance(each, str):
                yield each
            else:
                yield from newest(each)


def observed(cluster: str) -> World:
    """The recorded cluster, at the moment of its latest change."""
    known = {(each.api_version, each.kind) for each in BUILT_IN}
    docs = [doc for doc in documents(cluster) if (doc["apiVersion"], doc["kind"]) in known]
    made = [doc for doc in docs if doc["kind"] != "Namespace"]  # those that are added have any time
    return World(workload_controllers, docs, parse_api_time(max(newest(made))))


def changes(world: World, seconds: float) -> list[StoreChange]:
    found: list[StoreChange] = []
    world.store.listen(found.append)
    world.run(seconds)
    return found


@pytest.mark.parametrize("cluster", ["rich", "small-traps", "landing", pytest.param("medium", marks=pytest.mark.long)])
def test_what_real_controllers_left_at_rest_stays_as_it_is(cluster: str) -> None:
    """Except for the ControllerRevisions, which were not recorded: they are created again, with their names."""
    world = observed(cluster)
    found = changes(world, 60)
    assert [change.item.key for change in found if change.item.resource != "controllerrevisions.apps"] == []
    owners = world.store.count("statefulsets.apps") + world.store.count("daemonsets.apps")
    assert len(found) == owners > 0
    revisions = {item.key[1] for item in world.all("controllerrevisions.apps")}
    named = {item.doc["status"]["updateRevision"] for item in world.all("statefulsets.apps")}
    assert named <= revisions


@pytest.mark.parametrize("cluster", one_in(3, ["rich", "small-traps", "landing"]))
def test_a_pod_that_is_made_again_is_as_the_real_server_made_it(cluster: str) -> None:
    """Except for its node, its name, the labels of the node's zone, which binding adds, and the fields from a webhook.

    The service account is excluded too: that server ran without the admission plugin that sets it.
    """
    world = observed(cluster)
    world.run(1)
    before = {made_from(pod.doc) for pod in world.pods() if pod.doc["metadata"].get("generateName")}
    injected = {generated(pod.doc) for pod in world.pods() if TOKEN in volumes(pod.doc)}
    for pod in world.pods():
        world.registry.delete(pod, FORCED)
    world.run(1)
    after = {made_from(pod.doc) for pod in world.pods() if generated(pod.doc) not in injected}
    assert len(after) > 20
    assert sorted(after - before) == []


TOKEN = "aws-iam-token"
"""The volume by which pods are known that Amazon's webhook gave a role."""


def volumes(pod: Doc) -> list[str]:
    return [each["name"] for each in pod["spec"].get("volumes", ())]


def generated(pod: Doc) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata'].get('generateName')}"


def made_from(pod: Doc) -> str:
    meta, left_out = pod["metadata"], ("nodeName", "serviceAccount", "serviceAccountName")
    spec = {key: value for key, value in pod["spec"].items() if key not in left_out}
    labels = {key: value for key, value in meta["labels"].items() if not key.startswith("topology.kubernetes.io/")}
    kept = {key: meta.get(key) for key in ("generateName", "namespace", "annotations", "ownerReferences")}
    return canonical({**kept, "labels": labels, "spec": spec, "qos": pod["status"]["qosClass"]})
