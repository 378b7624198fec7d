"""Pods become facts: of the pod, of its containers, and of its calls to AWS."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Identity, Source
from kubectl_eksdoc.model.nodes import (
    JUDGED_ANNOTATIONS,
    POD_ENI,
    BranchInterface,
    Calls,
    Container,
    ContainerRunState,
    ControllerOwner,
    Pod,
    Probe,
    ProbeKind,
    RoleSource,
    Toleration,
    Volume,
    VolumeKind,
)
from kubectl_eksdoc.objects.collector import FactCollector, InvalidAnswer
from kubectl_eksdoc.objects.containers import decode_containers
from kubectl_eksdoc.objects.single import InvalidObjectKind
from tests.any_json import anything
from tests.objects.observing import T0, T0_TEXT, fact

a_pod_of = partial(fact, kinds.PODS)
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
        (
            [{"preStop": {"exec": {"command": ["/bin/sh", "-c", "sleep 20"]}}}, {"preStop": {"sleep": {"seconds": 5}}}],
            20,
        ),
        ([{"preStop": {"exec": {"command": ["/app", "drain"]}}}], 0),
        ([{"postStart": {"sleep": {"seconds": 5}}}, {}], 0),
    ],
)
def test_how_long_its_pre_stop_hooks_sleep(hooks: list[Any], seconds: int) -> None:
    """The hooks run in parallel; the duration of a hook that does anything else is unknown."""
    containers = [{"name": f"c{i}"} | ({} if hook is None else {"lifecycle": hook}) for i, hook in enumerate(hooks)]
    assert a_pod_of(spec={"containers": containers}).pre_stop_s == seconds


@pytest.mark.parametrize("given", [{"preemptionPolicy": None}, {"preemptionPolicy": "PreemptLowerPriority"}])
def test_a_pod_preempts_unless_its_policy_says_never(given: dict[str, Any]) -> None:
    assert a_pod_of(spec=given).preempts


@pytest.mark.parametrize("controls", [True, False])
def test_the_owner_is_the_controller(controls: bool) -> None:
    reference = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "1", "controller": controls}
    pod = a_pod_of(meta={"ownerReferences": [reference]})
    assert pod == replace(BARE, owner=ControllerOwner("Node", "n", "1") if controls else None)


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
    ],
)
def test_why_a_pod_is_not_ready(status: dict[str, Any], because: str) -> None:
    assert a_pod_of(status=status).not_ready_because == because


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
    pod = fact(kinds.PODS, spec=spec)
    assert pod.noted == noted


ENDED = {"terminated": {"exitCode": 1}}


def only(status: dict[str, Any], **given_: Any) -> Container:
    doc = {
        "spec": {"containers": [{"name": "app", "image": "app:1", **given_}], "initContainers": [{"name": "init"}]},
        "status": {"containerStatuses": [{"name": "other", "ready": True}, {"name": "app", **status}]},
    }
    found, init = decode_containers(json.dumps(doc).encode())
    assert init == Container("init", init=True)
    return found


@pytest.mark.parametrize(
    ("status", "runs", "ready", "before"),
    [
        ({"state": {"running": {}}, "ready": True, "lastState": {}}, ContainerRunState.RUNNING, True, False),
        ({"state": {"running": {}}, "ready": True, "lastState": ENDED}, ContainerRunState.RUNNING, True, True),
        (
            {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": ENDED},
            ContainerRunState.WAITING,
            False,
            True,
        ),
        ({"state": ENDED}, ContainerRunState.ENDED, False, False),
        ({}, ContainerRunState.UNKNOWN, False, False),
    ],
)
def test_how_it_fares(status: dict[str, Any], runs: ContainerRunState, ready: bool, before: bool) -> None:
    assert only(status) == Container("app", "app:1", runs=runs, ready=ready, ended_before=before)


def test_with_what_it_was_started() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {}}]
    found = only({}, command=["/bin/app", "--x"], args=["--y=1"], env=env)
    assert found.arguments == ("/bin/app", "--x", "--y=1") and found.variables == ("A", "B")
    assert not found.more_variables and found.values == ()
    told = [
        {"name": "AWS_REGION"},
        {"name": "AWS_EC2_METADATA_DISABLED", "value": "true"},
        {"name": "PW", "value": "x"},
    ]
    told += [{"name": "AWS_DEFAULT_REGION", "valueFrom": {"configMapKeyRef": {}}}]
    assert only({}, env=told).values == (("AWS_REGION", ""), ("AWS_EC2_METADATA_DISABLED", "true")), "no other value"
    assert only({}, env=[{"name": "REGION", "value": ""}, told[2]]).values == (("REGION", ""),), "it is given nothing"
    secret, other = (only({}, envFrom=[{kind: {"name": "s"}}]) for kind in ("secretRef", "configMapRef"))
    assert secret.more_variables and not only({}, envFrom=[]).more_variables
    assert secret.more_secrets and other.more_variables and not other.more_secrets


_ANY = anything(keys=some.sampled_from(["name", "containers", "containerStatuses", "state", "env"]))


@given(some.dictionaries(some.sampled_from(["spec", "status", "kind"]), _ANY))
def test_whatever_it_is_it_has_containers_or_is_no_pod(doc: dict[str, Any]) -> None:
    try:
        found = decode_containers(json.dumps(doc).encode())
    except InvalidObjectKind:
        return
    assert all(isinstance(each, Container) for each in found)


def pods(*given: dict[str, Any]) -> tuple[Pod, ...]:
    """`given`: a part of the container, or with ``spec``, ``annotations`` and ``ip`` whole pods."""
    items = []
    for number, each in enumerate(given):
        container = {"name": "app", "image": "app:1", **each.get("container", {})}
        meta = {"name": f"p{number}", "namespace": "shop", "annotations": each.get("annotations", {})}
        spec = {"containers": [container], **each.get("spec", {})}
        items.append({"metadata": meta, "spec": spec, "status": {"phase": "Running", "podIP": each.get("ip", "")}})
    collector = FactCollector(Source.LIVE)
    body = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}
    collector.add_page(kinds.PODS, json.dumps(body).encode(), "a test")
    return collector.cluster(Identity(), None).pods


def env(*names: str, value: str = "x") -> dict[str, Any]:
    return {"container": {"env": [{"name": name, "value": value} for name in names]}}


@pytest.mark.parametrize(
    ("given", "role"),
    [
        (env("AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE"), RoleSource.IRSA),
        (env("AWS_CONTAINER_CREDENTIALS_FULL_URI"), RoleSource.POD_IDENTITY),
        (env("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), RoleSource.KEYS),
        (env("AWS_ACCESS_KEY_ID", "AWS_REGION"), RoleSource.NONE),
        (env("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE"), RoleSource.IRSA),
        (env("OTHER", value='"name":"AWS_ACCESS_KEY_ID"'), RoleSource.NONE),
    ],
)
def test_who_gives_it_a_role(given: dict[str, Any], role: RoleSource) -> None:
    (pod,) = pods(given)
    assert pod.calls == Calls(False, "", role, ("app:1",))


def test_its_network_and_account_and_that_replicas_share() -> None:
    spec = {"hostNetwork": True, "serviceAccountName": "driver"}
    first, second, other = pods({"spec": spec}, {"spec": spec}, {})
    assert first.calls == Calls(True, "driver", RoleSource.NONE, ("app:1",))
    assert first.calls is second.calls and other.calls == Calls(images=("app:1",))


@pytest.mark.parametrize(("optional", "role"), [(True, RoleSource.NONE), (None, RoleSource.KEYS)])
def test_keys_that_may_not_be_there_are_none(optional: bool | None, role: RoleSource) -> None:
    ref = {"name": "aws-secret", "key": "key_id", "optional": optional}
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    given = {"container": {"env": [{"name": name, "valueFrom": {"secretKeyRef": ref}} for name in names]}}
    (pod,) = pods(given)
    assert pod.calls.role is role


def test_the_keys_of_one_container_are_not_those_of_another() -> None:
    keys = [{"name": name, "value": "x"} for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")]
    both = [{"name": "app", "image": "app:1", "env": keys}, {"name": "other", "image": "other:1"}]
    one, all_of_them = pods(
        {"spec": {"containers": both}}, {"spec": {"containers": [both[0], both[1] | {"env": keys}]}}
    )
    assert (one.calls.role, all_of_them.calls.role) == (RoleSource.NONE, RoleSource.KEYS)


ASKS = {"resources": {"requests": {POD_ENI: "1"}, "limits": {POD_ENI: "1"}}}
NOTED = json.dumps([{"eniId": "eni-1", "privateIp": "10.0.9.9", "vlanId": 1}])


def test_the_branch_interface_of_a_pod_that_asks_for_one() -> None:
    probes = {
        "readinessProbe": {"httpGet": {"port": 80}, "periodSeconds": 5, "failureThreshold": 2},
        "livenessProbe": {"exec": {"command": ["true"]}},
        "startupProbe": {"tcpSocket": {"port": 80}},
    }
    given = {"container": {**ASKS, **probes}, "annotations": {POD_ENI: NOTED}, "ip": "10.0.9.9"}
    (pod,) = pods(given)
    told = (Probe("app", ProbeKind.READINESS, "httpGet", 5, 2), Probe("app", ProbeKind.STARTUP, "tcpSocket", 10, 3))
    assert pod.branch == BranchInterface("10.0.9.9", "10.0.9.9", told) and not pod.branch.uses_node_address
    assert pod.annotations == {}


@pytest.mark.parametrize(("address", "interface"), [("2001:db8::7", "2001:db8::9"), ("10.0.0.7", "10.0.9.9")])
def test_the_address_of_an_interface_is_of_the_family_of_the_pod(address: str, interface: str) -> None:
    noted = json.dumps([{"eniId": "eni-1", "privateIp": "10.0.9.9", "ipv6Addr": "2001:db8::9"}])
    (pod,) = pods({"container": ASKS, "annotations": {POD_ENI: noted}, "ip": address})
    assert pod.branch == BranchInterface(address, interface) and pod.branch.uses_node_address


@pytest.mark.parametrize("noted", ["no JSON", '[{"eniId":"e"}]', '[{"privateIp":7}]'])
def test_an_annotation_that_the_controller_did_not_write_is_none(noted: str) -> None:
    (pod,) = pods({"container": ASKS, "annotations": {POD_ENI: noted}, "ip": "10.0.0.7"})
    assert pod.branch == BranchInterface("10.0.0.7", "") and not pod.branch.uses_node_address


def test_a_probe_that_cannot_be_is_named_where_an_interface_is_asked_for() -> None:
    odd = {"readinessProbe": {"tcpSocket": {}, "periodSeconds": "often"}}
    (pod,) = pods({"container": odd, "annotations": {POD_ENI: NOTED}})
    assert pod.branch is None
    with pytest.raises(InvalidAnswer, match="readinessProbe"):
        pods({"container": {**ASKS, **odd}})
