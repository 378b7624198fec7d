"""A session is one observation: declared facts are read, each request is sent once, and a new session sends it
again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.aws.asking import VerifiedCluster
from kubectl_eksdoc.errors import AwsDenied, AwsLogin, AwsOtherCluster, SnapshotError, UsageError
from kubectl_eksdoc.interruption import read as interruption
from kubectl_eksdoc.kube.identity import AwsRequest
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, ObjectName
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.kinds import Absent, AwsUnavailable, NotInSnapshot, Unknown
from kubectl_eksdoc.session.session import (
    AWS_DISABLED,
    AwsRequirement,
    CachedObjectReader,
    ClusterNeeds,
    ClusterSession,
    SessionRequest,
    open_session,
)
from kubectl_eksdoc.session.sources import SourceChoice
from tests.sessions import EKS, of_the_demo, sees

PODS = ClusterNeeds("imds-probe", (kinds.NODES, kinds.PODS))
CONFIG = ObjectName("v1", "ConfigMap", "kube-system", "coredns")


def live(use: AwsRequirement, believe: Callable[..., VerifiedCluster]) -> ClusterSession:
    needs = replace(PODS, aws=use)
    return open_session(SessionRequest(SourceChoice(), Connection(), AwsRequest(), needs, verify=believe))


def refusing(error: Exception) -> Callable[..., VerifiedCluster]:
    def believe(*_: Any) -> VerifiedCluster:
        raise error

    return believe


def test_aws_is_asked_when_it_is_used_and_once() -> None:
    asked: list[int] = []

    def believe(*_: Any) -> VerifiedCluster:
        asked.append(1)
        return sees()

    session = live(AwsRequirement.OPTIONAL, believe)
    assert asked == []
    assert session.eks == EKS and session.recognised == "by its endpoint" and session.denied_actions == ()
    assert session.ask(lambda aws, name: (aws.cluster.name, name), "x") == ("prod", "x") and asked == [1]
    assert session.reobserve().eks == EKS and asked == [1, 1], "a new observation asks again"


DENIED, NOWHERE, LOGIN = (
    AwsDenied("IAM does not allow it", "", "eks:DescribeCluster"),
    UsageError("no region"),
    AwsLogin("no keys", "Log in."),
)


@pytest.mark.parametrize(
    ("use", "error", "found"),
    [
        (
            AwsRequirement.OPTIONAL,
            DENIED,
            AwsUnavailable("nothing that AWS says can be believed: IAM does not allow it", DENIED.missing),
        ),
        (AwsRequirement.OPTIONAL, NOWHERE, AwsUnavailable("AWS was not asked: no region")),
        (AwsRequirement.OPTIONAL, LOGIN, None),
        (AwsRequirement.OPTIONAL, AwsOtherCluster("another"), None),
        (AwsRequirement.WITHOUT_LOGIN, LOGIN, AwsUnavailable("AWS was not asked: no keys (Log in)")),
        (AwsRequirement.WITHOUT_LOGIN, AwsOtherCluster("another"), None),
        (AwsRequirement.REQUIRED, DENIED, None),
        (AwsRequirement.REQUIRED, NOWHERE, None),
        (AwsRequirement.LEFT_OUT, LOGIN, AWS_DISABLED),
    ],
)
def test_where_aws_cannot_be_believed_the_needs_say_what_follows(
    use: AwsRequirement, error: Any, found: Unknown | None
) -> None:
    session = live(use, refusing(error))
    if found is None:
        with pytest.raises(type(error)):
            _ = session.aws
        return
    assert session.aws == session.eks == session.ask(lambda aws: aws.cluster) == found
    assert session.recognised == session.aws_calls == session.profile == ""
    assert (session.login is error) is (use is AwsRequirement.WITHOUT_LOGIN)
    with pytest.raises(AwsDenied, match="nothing can be changed"):
        _ = session.verified_aws


class Counting:
    """An `Objects` that counts requests."""

    def __init__(self) -> None:
        self.asked: list[ObjectName] = []

    def read_object(self, of: ObjectName) -> Doc | Absent | Unknown:
        self.asked.append(of)
        return Unknown("forbidden", "get configmaps")


def test_a_single_object_is_asked_for_once_whatever_was_answered() -> None:
    objects = Counting()
    once = CachedObjectReader(objects)
    assert once.read_object(CONFIG) == once.read_object(CONFIG) == Unknown("forbidden", "get configmaps")
    assert objects.asked == [CONFIG]


def dump(folder: Path, *docs: Doc) -> str:
    (folder / "all.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [a_node(), a_pod(), *docs]})
    )
    return str(folder)


def a_node() -> Doc:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n0"}, "spec": {}, "status": {}}


def a_pod() -> Doc:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p0", "namespace": "shop"},
        "spec": {},
        "status": {},
    }


def config_map() -> Doc:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "coredns", "namespace": "kube-system"}}


def of_dump(path: str, needs: ClusterNeeds) -> ClusterSession:
    return open_session(SessionRequest(SourceChoice(path), Connection(), AwsRequest(), needs))


def test_what_is_asked_of_a_dump_before_its_lists_is_not_missing_for_that(tmp_path: Path) -> None:
    session = of_dump(dump(tmp_path, config_map()), replace(PODS, objects=(CONFIG,)))
    assert isinstance(session.objects.read_object(CONFIG), dict)
    assert session.aws == AwsUnavailable(f"the snapshot {tmp_path} holds no answers of AWS")
    with pytest.raises(SnapshotError, match="cannot be judged without them"):
        _ = session.verified_aws


def test_what_was_not_declared_is_not_said_to_be_missing_in_a_dump(tmp_path: Path) -> None:
    session = of_dump(dump(tmp_path, config_map()), PODS)
    for ask in (lambda: session.interruption_reader, lambda: session.api_usage, lambda: session.change_reader):
        with pytest.raises(AssertionError, match="declare"):
            ask()
    declared = session.reobserve(replace(PODS, interruptions=True))
    assert declared.interruption_reader.events() == NotInSnapshot(f"the snapshot {tmp_path} holds no Events")


def test_what_aws_requires_is_told_before_a_dump_is_read(tmp_path: Path) -> None:
    session = of_dump(dump(tmp_path), replace(PODS, aws=AwsRequirement.REQUIRED))
    with pytest.raises(SnapshotError, match="cannot be judged without them"):
        _ = session.cluster


def test_the_demo_is_seen_as_the_command_sees_it() -> None:
    session = of_the_demo(PODS)
    again = session.reobserve(interruption.NEEDS)
    assert session.cluster.nodes and again.cluster.nodes and not session.live
    assert {node.name for node in session.cluster.nodes} != {node.name for node in again.cluster.nodes}
