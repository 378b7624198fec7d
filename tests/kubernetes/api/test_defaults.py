"""Defaults that the server sets: recorded workloads, each recomputed from the fields that its author wrote."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.kubernetes.api.defaults import prepare_for_create, prepare_for_update, with_defaults
from kubectl_eksdoc.model.api_objects import Doc
from tests import raw_facts

KINDS = ("deployments", "statefulsets", "daemonsets", "replicasets", "jobs", "cronjobs")
FILLED_IN: Doc = {
    "revisionHistoryLimit": 10,
    "progressDeadlineSeconds": 600,
    "podManagementPolicy": "OrderedReady",
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "backoffLimit": 6,
    "completionMode": "NonIndexed",
    "podReplacementPolicy": "TerminatingOrFailed",
    "manualSelector": False,
    "concurrencyPolicy": "Allow",
    "successfulJobsHistoryLimit": 3,
    "failedJobsHistoryLimit": 1,
}


def as_written(value: Any) -> Any:
    """Without the fields that the server may have set. A container's own restartPolicy was written by its author."""
    if isinstance(value, list):
        return [as_written(each) for each in value]
    if isinstance(value, dict):
        written = FILLED_IN if "image" not in value else {**FILLED_IN, "restartPolicy": None}
        return {name: as_written(each) for name, each in value.items() if written.get(name, ...) != each}
    return value


@pytest.mark.parametrize("cluster", ["rich", "small-traps", "medium"])
@pytest.mark.parametrize("plural", KINDS)
def test_recorded_workloads_get_back_what_they_had(cluster: str, plural: str) -> None:
    docs = raw_facts.recorded(cluster, plural)
    assert docs or cluster != "rich", "there is something to get back"
    for doc in docs:
        assert with_defaults({**doc, "spec": as_written(doc["spec"])}) == doc
        assert with_defaults(doc) == doc, "what is there stays"


@pytest.mark.parametrize(("image", "policy"), [("x", "Always"), ("r:5000/x", "Always"),
                                               ("x:1", "IfNotPresent"), ("x@sha256:0", "IfNotPresent")])  # fmt: skip
def test_images_without_a_tag_are_always_pulled(image: str, policy: str) -> None:
    pod = {"kind": "Pod", "apiVersion": "v1", "spec": {"containers": [{"name": "c", "image": image}]}}
    assert with_defaults(pod)["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_a_new_object_says_nothing_of_its_status() -> None:
    pod = {"kind": "Pod", "apiVersion": "v1", "spec": {}, "status": {"phase": "Running", "podIP": "10.0.0.9"}}
    assert prepare_for_create(pod)["status"] == {"phase": "Pending"}
    budget = {"kind": "PodDisruptionBudget", "apiVersion": "policy/v1", "spec": {}, "status": {"disruptionsAllowed": 9}}
    assert prepare_for_create(budget)["status"]["disruptionsAllowed"] == 0
    node = {"kind": "Node", "apiVersion": "v1", "status": {"capacity": {"cpu": "4"}}}
    assert prepare_for_create(node) == node, "a kubelet knows it"


def test_a_namespace_is_held_until_it_is_empty() -> None:
    named = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "shop"}}
    made = prepare_for_create(named)
    assert made["spec"] == {"finalizers": ["kubernetes"]} and made["status"] == {"phase": "Active"}
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "shop"}
    assert prepare_for_update(made, named)["spec"] == made["spec"], "no client takes it away"
