"""``imds-probe`` over HTTP on both sides: the cluster's API server and AWS, and every single refusal of either."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kubectl_eksdoc.embedded.serving.handler import ManualTime
from kubectl_eksdoc.imds_probe.read import NEEDS
from kubectl_eksdoc.kube.identity import AwsRequest
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.session.session import SessionRequest, open_session
from kubectl_eksdoc.session.sources import SourceChoice
from tests.aws.test_live import prod
from tests.cli.terminal_user import Somebody
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs
from tests.imds_probe.command.probed import all_reach_the_service, nodes_are_instances

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]


@pytest.fixture
def ann(prod: World, tmp_path: Path) -> Iterator[Somebody]:
    with worlds.served("small-traps", ManualTime(), pace=None) as (server, api):
        nodes_are_instances(api, prod)
        config = kubeconfigs.one(tmp_path / "config", server.url(worlds.ADMIN_TOKEN), name="lab")
        yield Somebody(config, prod, "imds-probe")


def document(ann: Somebody, *argv: str) -> dict[str, Any]:
    return ann.document("ImdsProbe", *argv)


def verdicts(found: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {each["name"]: (each["now"]["verdict"], each["next"]["verdict"]) for each in found["groups"]}


WHOLE = {"green": ("reachable", "reachable"), "blue": ("unreachable", "unreachable")}


def test_each_group_has_its_cause(ann: Somebody) -> None:
    found = document(ann)
    assert verdicts(found) == WHOLE and found["recognised"]
    by = {each["name"]: each["next"]["by"] for each in found["groups"]}
    assert "AL2_x86_64" in by["green"] and "tokens by launch template own version 2" in by["blue"]
    assert ann.aws.count("ec2:DescribeInstances") == 1 and ann.aws.count("ec2:DescribeLaunchTemplateVersions") == 1


@pytest.mark.long
@pytest.mark.parametrize("source", ["cloudwatch", "cloudtrail", "iam"])
def test_evidence_that_cannot_be_reached_takes_nothing_else_with_it(source: str, ann: Somebody) -> None:
    """A private network without a VPC endpoint for that service, for example."""
    all_reach_the_service(ann.aws)
    ann.aws.hang_up(f"{source}:*")
    ran = ann.run("--evidence", source, "-o", "json")
    found = json.loads(ran.out)
    assert ran.code in (1, 5) and verdicts(found)["blue"] == ("reachable", "unreachable")
    assert "imds-evidence-unknown" in {each["code"] for each in found["findings"]}


@pytest.mark.long
def test_one_pod_is_one_sentence(ann: Somebody) -> None:
    pod = next(
        each
        for each in worlds.documents("small-traps")
        if each["kind"] == "Pod" and "old" in each["spec"].get("nodeName", "")
    )
    meta = pod["metadata"]
    ran = ann.run(f"pod/{meta['name']}", "-n", meta["namespace"])
    assert ran.out.startswith(f"{meta['namespace']}/{meta['name']} on old-") and ran.out.count("\n") <= 4
    assert ann.aws.count("ec2:DescribeInstances") == 1


REFUSED = (
    (("pod/nobody",), "there is no pod 'nobody' in namespace default"),
    (("pod/a", "pod/b"), "one pod or workload at a time"),
    (("cart",), "'cart' is neither pod/NAME nor node/NAME"),
    (("--hops", "65"), "EC2 takes 1 to 64"),
    (("--accept-unknown", "imds-pods-posible"), "did you mean imds-pods-possible"),
)


@pytest.mark.long
def test_what_does_not_fit_is_said(ann: Somebody) -> None:
    told = [(argv, said, ann.run(*argv)) for argv, said in REFUSED]
    assert [argv for argv, said, ran in told if ran.code != 2 or said not in ran.err or ran.out] == []


def test_without_credentials_of_aws_the_cluster_is_judged_all_the_same(
    ann: Somebody, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nodes, pods and logs give some of the facts, and pods can measure the rest."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    connection = Connection(kubeconfig=ann.config)
    wanted = AwsRequest("prod", "ap-northeast-2", "")
    world = open_session(SessionRequest(SourceChoice(), connection, wanted, NEEDS))
    assert isinstance(world.aws, Unknown) and world.login is not None and world.cluster.nodes
    assert "AWS was not asked: there are no AWS credentials" in world.aws.why
