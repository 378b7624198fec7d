"""Progress of an EKS node group update and of a rollout, how often each is polled, and whose targets are watched."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.addon_diff.guards import rollout_state
from kubectl_eksdoc.addon_diff.outcome import affected_target_groups
from kubectl_eksdoc.amazon.group_updates import (
    MAX_POLL_INTERVAL_S,
    UpdateStage,
    poll_interval_s,
    stage_of_addon,
    stage_of_update,
)
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import Addon, EksAddonUpdate
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.network import Service, TargetGroupBinding
from kubectl_eksdoc.model.nodes import BranchInterface
from tests.builders import a_cluster, a_node, a_pod

WORDS = ("InProgress", "Successful", "Failed", "Cancelled", "SomethingNew")


STAGES = (
    UpdateStage.IN_PROGRESS,
    UpdateStage.SUCCESSFUL,
    UpdateStage.FAILED,
    UpdateStage.CANCELLED,
    UpdateStage.UNKNOWN,
)


@pytest.mark.parametrize(("word", "stage"), list(zip(WORDS, STAGES, strict=True)))
def test_each_word_of_eks_has_its_stage(word: str, stage: UpdateStage) -> None:
    assert stage_of_update(EksAddonUpdate("id", "AddonUpdate", word)) is stage
    assert stage.has_ended is (word in ("Successful", "Failed", "Cancelled"))


def test_where_nothing_tells_it_is_unknown() -> None:
    assert stage_of_update(Unknown("denied")) is stage_of_update(Absent("gone")) is UpdateStage.UNKNOWN
    assert stage_of_addon(Unknown("denied"), "v2", "v1", UpdateStage.ASKED) is UpdateStage.UNKNOWN
    for status, version, stage in (
        ("ACTIVE", "v2", UpdateStage.SUCCESSFUL),
        ("ACTIVE", "v1", UpdateStage.UNKNOWN),
        ("UPDATING", "v1", UpdateStage.IN_PROGRESS),
        ("UPDATE_FAILED", "v1", UpdateStage.FAILED),
        ("DEGRADED", "v2", UpdateStage.UNKNOWN),
    ):
        assert stage_of_addon(Addon("vpc-cni", version, status), "v2", "v1", UpdateStage.ASKED) is stage


def test_an_update_to_the_same_version_must_have_been_seen_to_begin() -> None:
    there = Addon("vpc-cni", "v2", "ACTIVE")
    for was in ("v2", ""):
        assert stage_of_addon(there, "v2", was, UpdateStage.ASKED) is UpdateStage.UNKNOWN
        assert stage_of_addon(there, "v2", was, UpdateStage.IN_PROGRESS) is UpdateStage.SUCCESSFUL


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_it_is_asked_ever_more_seldom_and_never_too_seldom(one: float, other: float) -> None:
    early, late = sorted((one, other))
    assert 2.0 <= poll_interval_s(early) <= poll_interval_s(late) <= MAX_POLL_INTERVAL_S


def daemon_set(generation: int = 2, strategy: str = "RollingUpdate", **status: int) -> Doc:
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "aws-node", "namespace": "kube-system", "generation": generation},
        "spec": {"updateStrategy": {"type": strategy}},
        "status": {"observedGeneration": 2, "desiredNumberScheduled": 3, **status},
    }


@pytest.mark.parametrize(
    ("doc", "done", "said"),
    [
        (daemon_set(3, updatedNumberScheduled=3, numberAvailable=3), False, "has not processed it yet"),
        (daemon_set(), False, "0 of 3 pods are new, 0 available"),
        (daemon_set(updatedNumberScheduled=3, numberAvailable=2), False, "3 of 3 pods are new, 2 available"),
        (daemon_set(updatedNumberScheduled=3, numberAvailable=3), True, "3 of 3 pods are new, 3 available"),
        (daemon_set(strategy="OnDelete", updatedNumberScheduled=1), True, "once they are deleted"),
    ],
)
def test_a_daemon_set(doc: Doc, done: bool, said: str) -> None:
    found = rollout_state(doc)
    assert found is not None and found.done is done and said in str(found)


def deployment(**status: Any) -> Doc:
    meta = {"name": "coredns", "namespace": "kube-system", "generation": 1}
    status = {"observedGeneration": 1, **status}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": {"replicas": 2}, "status": status}


@pytest.mark.parametrize(
    ("status", "done"),
    [
        ({}, False),
        ({"replicas": 3, "updatedReplicas": 2, "availableReplicas": 3}, False),
        ({"replicas": 2, "updatedReplicas": 2, "availableReplicas": 1}, False),
        ({"replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}, True),
    ],
)
def test_a_deployment(status: dict[str, Any], done: bool) -> None:
    found = rollout_state(deployment(**status))
    assert found is not None and found.done is done


def test_a_deployment_past_its_deadline_is_stuck() -> None:
    condition = {"type": "Progressing", "reason": "ProgressDeadlineExceeded", "message": "it has timed out"}
    found = rollout_state(deployment(conditions=[condition]))
    assert found is not None and found.stuck == "it has timed out" and not found.done
    assert rollout_state({"apiVersion": "v1", "kind": "ConfigMap"}) is None


def test_targets_of_pods_with_security_groups_are_affected() -> None:
    pods = [a_pod("pay", labels={"app": "pay"}, branch=BranchInterface()), a_pod("web", labels={"app": "web"})]
    services = [Service("default", name, selector={"app": name}) for name in ("pay", "web")]
    bindings = [TargetGroupBinding("default", f"tgb-{name}", name, "ip", f"arn:{name}") for name in ("pay", "web")]
    cluster = a_cluster(nodes=[a_node()], pods=pods, services=services, target_group_bindings=bindings)
    assert (
        affected_target_groups("vpc-cni", cluster) == (bindings[0],)
        and affected_target_groups("coredns", cluster) == ()
    )


def test_what_was_not_read_leaves_the_targets_unknown() -> None:
    cluster = a_cluster(nodes=[a_node()], unread=[kinds.TARGET_GROUP_BINDINGS])
    found = affected_target_groups("vpc-cni", cluster)
    assert isinstance(found, Unknown) and "targetgroupbindings.elbv2.k8s.aws" in found.why
