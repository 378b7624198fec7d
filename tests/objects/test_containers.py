"""Containers out of a pod's document, as they fare."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kubectl_eksdoc.model.nodes import Container, ContainerRunState
from kubectl_eksdoc.objects.containers import containers_of
from kubectl_eksdoc.objects.single import NoSuchObject

ENDED = {"terminated": {"exitCode": 1}}


def only(status: dict[str, Any], **given_: Any) -> Container:
    doc = {
        "spec": {"containers": [{"name": "app", "image": "app:1", **given_}], "initContainers": [{"name": "init"}]},
        "status": {"containerStatuses": [{"name": "other", "ready": True}, {"name": "app", **status}]},
    }
    found, init = containers_of(json.dumps(doc).encode())
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
        ({}, ContainerRunState.UNTOLD, False, False),
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


_ANY = some.recursive(
    some.none() | some.booleans() | some.integers(-9, 9) | some.text(max_size=3),
    lambda inner: (
        some.lists(inner, max_size=2)
        | some.dictionaries(some.sampled_from(["name", "containers", "containerStatuses", "state", "env"]), inner)
    ),
    max_leaves=8,
)


@given(some.dictionaries(some.sampled_from(["spec", "status", "kind"]), _ANY))
def test_whatever_it_is_it_has_containers_or_is_no_pod(doc: dict[str, Any]) -> None:
    try:
        found = containers_of(json.dumps(doc).encode())
    except NoSuchObject:
        return
    assert all(isinstance(each, Container) for each in found)
