"""Pods become the facts they should, with the API's defaults for what is absent."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.nodes import (
    JUDGED_ANNOTATIONS,
    POD_ENI,
    ControllerOwner,
    Pod,
    Toleration,
    Volume,
    VolumeKind,
)
from tests.objects.observing import T0, T0_TEXT, observed


def a_pod_of(**fields: Any) -> Pod:
    (pod,) = observed(kinds.PODS, **fields).pods
    return pod


BARE = Pod("shop", "x", "u", {}, "", "", False)


def test_each_annotation_that_is_judged_is_read_and_no_other() -> None:
    judged = dict.fromkeys(JUDGED_ANNOTATIONS, "true")
    assert a_pod_of(meta={"annotations": {**judged, POD_ENI: "[]", "example.com/other": "x"}}).annotations == judged


def test_a_whole_pod() -> None:
    owners = [
        {"apiVersion": "v1", "kind": "Other", "name": "no", "uid": "1"},
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "x-1", "uid": "2", "controller": True},
    ]
    annotations = {"karpenter.sh/do-not-disrupt": "true", "kubectl.kubernetes.io/last-applied-configuration": "x"}
    volumes = [
        {"name": "tmp", "emptyDir": {}},
        {"name": "mem", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
        {"name": "host", "hostPath": {"path": "/var"}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-x"}},
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
        {"name": "disk", "awsElasticBlockStore": {"volumeID": "vol-1"}},
        {"name": "secret", "secret": {"secretName": "s"}},
        {"name": "kube-api-access-1", "projected": {"sources": []}},
    ]
    pod = a_pod_of(
        meta={
            "labels": {"app": "x"},
            "annotations": annotations,
            "ownerReferences": owners,
            "finalizers": ["example.com/f"],
            "creationTimestamp": T0_TEXT,
            "deletionTimestamp": "2026-11-20T08:00:30Z",
        },
        spec={
            "nodeName": "n-1",
            "terminationGracePeriodSeconds": 0,
            "priority": 2_000_000_000,
            "preemptionPolicy": "Never",
            "tolerations": [{"operator": "Exists"}, {"key": "a", "value": "b", "effect": "NoSchedule"}],
            "volumes": volumes,
            "readinessGates": [{"conditionType": "target-health.elbv2.k8s.aws/x"}],
        },
        status={"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    )
    assert pod == Pod(
        namespace="shop",
        name="x",
        uid="u",
        labels={"app": "x"},
        node="n-1",
        phase="Running",
        ready=True,
        owner=ControllerOwner("ReplicaSet", "x-1", "2", "apps"),
        annotations={"karpenter.sh/do-not-disrupt": "true"},
        created_at=T0,
        deletion_deadline=datetime(2026, 11, 20, 8, 0, 30, tzinfo=timezone.utc),
        grace_seconds=0,
        priority=2_000_000_000,
        tolerations=(Toleration(operator="Exists"), Toleration("a", "Equal", "b", "NoSchedule")),
        volumes=(
            Volume("tmp", VolumeKind.EMPTY_DIR),
            Volume("mem", VolumeKind.EMPTY_DIR, "Memory", "1Gi"),
            Volume("host", VolumeKind.HOST_PATH, "/var"),
            Volume("data", VolumeKind.CLAIM, "data-x"),
            Volume("scratch", VolumeKind.EPHEMERAL, "x-scratch"),
            Volume("disk", VolumeKind.AWS_EBS, "vol-1"),
        ),
        readiness_gates=("target-health.elbv2.k8s.aws/x",),
        finalizers=("example.com/f",),
        preempts=False,
    )


@pytest.mark.parametrize(
    ("hooks", "seconds"),
    [
        ([{"preStop": {"sleep": {"seconds": 15}}}], 15),
        (
            [{"preStop": {"exec": {"command": ["/bin/sh", "-c", "sleep 20"]}}}, {"preStop": {"sleep": {"seconds": 5}}}],
            20,
        ),
        ([{"preStop": {"exec": {"command": ["/app", "drain"]}}}], 0),
        ([{"postStart": {"sleep": {"seconds": 5}}}, {}], 0),
    ],
)
def test_how_long_its_pre_stop_hooks_sleep(hooks: list[Any], seconds: int) -> None:
    """They run side by side; a hook that does anything else takes nobody knows how long."""
    containers = [{"name": f"c{i}"} | ({} if hook is None else {"lifecycle": hook}) for i, hook in enumerate(hooks)]
    assert a_pod_of(spec={"containers": containers}).pre_stop_s == seconds


@pytest.mark.parametrize("given", [{"preemptionPolicy": None}, {"preemptionPolicy": "PreemptLowerPriority"}])
def test_a_pod_preempts_unless_its_policy_says_never(given: dict[str, Any]) -> None:
    assert a_pod_of(spec=given).preempts


@pytest.mark.parametrize(
    ("reference", "owner"),
    [
        (
            {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "1", "controller": True},
            ControllerOwner("Node", "n", "1"),
        ),
        (
            {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "r", "uid": "1", "controller": True},
            ControllerOwner("Rollout", "r", "1", "argoproj.io"),
        ),
        ({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "1", "controller": False}, None),
    ],
)
def test_the_owner_is_the_controller(reference: dict[str, Any], owner: ControllerOwner | None) -> None:
    assert a_pod_of(meta={"ownerReferences": [reference]}).owner == owner


def waiting(reason: str) -> dict[str, Any]:
    return {"name": "c", "state": {"waiting": {"reason": reason}}}


def ended(reason: str) -> dict[str, Any]:
    return {"name": "c", "state": {"terminated": {"reason": reason, "exitCode": 1}}}


RUNNING: dict[str, Any] = {"name": "c", "state": {"running": {"startedAt": T0_TEXT}}}
NOT_READY = {"type": "Ready", "status": "False", "reason": "ContainersNotReady"}


@pytest.mark.parametrize(
    ("status", "because"),
    [
        ({"conditions": [NOT_READY], "containerStatuses": [RUNNING, waiting("CrashLoopBackOff")]}, "CrashLoopBackOff"),
        ({"conditions": [NOT_READY], "containerStatuses": [ended("OOMKilled"), waiting("x")]}, "OOMKilled"),
        ({"conditions": [NOT_READY], "containerStatuses": [RUNNING]}, "ContainersNotReady"),
        (
            {
                "conditions": [NOT_READY],
                "initContainerStatuses": [ended("Completed"), waiting("ImagePullBackOff")],
                "containerStatuses": [waiting("PodInitializing")],
            },
            "ImagePullBackOff",
        ),
        (
            {
                "initContainerStatuses": [RUNNING, waiting("PodInitializing")],
                "containerStatuses": [waiting("PodInitializing")],
            },
            "PodInitializing",
        ),
        ({"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}, "Unschedulable"),
        ({}, ""),
    ],
)
def test_why_a_pod_is_not_ready(status: dict[str, Any], because: str) -> None:
    assert a_pod_of(status=status).not_ready_because == because


def test_a_bare_pod_has_the_defaults() -> None:
    assert a_pod_of() == BARE


@pytest.mark.parametrize(
    ("spec", "noted"),
    [
        ({"securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}}, ("appArmorProfile",)),
        ({"containers": [{"securityContext": {"seLinuxOptions": {"level": "s0:c1"}}}]}, ("seLinuxOptions",)),
        ({"initContainers": [{"securityContext": {"appArmorProfile": {"type": "x"}}}]}, ("appArmorProfile",)),
        ({"volumes": [{"name": "a", "gitRepo": {"repository": "x"}}, {"name": "b", "emptyDir": {}}]}, ("gitRepo",)),
        ({"containers": [{"name": "appArmorProfile", "securityContext": {"appArmorProfile": None}}]}, ()),
    ],
)
def test_fields_that_release_notes_are_about(spec: dict[str, Any], noted: tuple[str, ...]) -> None:
    (pod,) = observed(kinds.PODS, spec=spec).pods
    assert pod.noted == noted
