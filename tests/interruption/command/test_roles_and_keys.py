"""The role of Karpenter, policies of every kind, a queue with a customer managed key, older versions: over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.aws.test_live import prod
from tests.embedded.clients import worlds
from tests.interruption.command.incident import QUEUE, Incident, carry_out, happened

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]
ARN = f"arn:aws:sqs:ap-northeast-2:111122223333:{QUEUE}"
READS = {"Effect": "Allow", "Action": ["sqs:Get*", "sqs:ReceiveMessage", "sqs:DeleteMessage"], "Resource": ARN}
TRUST = "{}"


@pytest.fixture
def ann(prod: World, tmp_path: Path) -> Iterator[Incident]:
    with happened(prod, tmp_path) as incident:
        yield incident


def document(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def by_pod_identity(ann: Incident, role: str) -> None:
    """The service account names no role any more, and EKS Pod Identity assigns it one."""
    path = ("metadata", "annotations")
    ann.changed("serviceaccounts", "kube-system", "karpenter", path, {})
    ann.aws.client("eks").create_pod_identity_association(
        clusterName="prod",
        namespace="kube-system",
        serviceAccount="karpenter",
        roleArn=f"arn:aws:iam::111122223333:role/{role}",
    )


@pytest.mark.long
def test_the_role_by_pod_identity_and_a_managed_policy(ann: Incident) -> None:
    ann.mended()
    by_pod_identity(ann, "other")
    iam = ann.aws.client("iam")
    iam.create_role(RoleName="other", AssumeRolePolicyDocument=TRUST)
    assert ann.failing() == {"role's rights"}
    policy = iam.create_policy(PolicyName="reads", PolicyDocument=document(READS))["Policy"]["Arn"]
    iam.attach_role_policy(RoleName="other", PolicyArn=policy)
    assert ann.failing() == set()


@pytest.mark.long
def test_a_key_of_the_customers_own(ann: Incident) -> None:
    url = ann.mended()
    kms = ann.aws.client("kms")
    key = kms.create_key()["KeyMetadata"]["KeyId"]
    ann.aws.client("sqs").set_queue_attributes(QueueUrl=url, Attributes={"KmsMasterKeyId": key})
    before = json.loads(kms.get_key_policy(KeyId=key, PolicyName="default")["Policy"])["Statement"]
    assert ann.failing() == {"queue key", "role's rights"}
    note = ann.run("--print", "stack").out
    assert "The policy of the queue's key is not in it" in note
    carry_out(ann.run("--print", "commands").out, ann.aws)
    assert ann.failing() == set()
    after = json.loads(kms.get_key_policy(KeyId=key, PolicyName="default")["Policy"])["Statement"]
    assert after[: len(before)] == before and len(after) == len(before) + 1


def test_who_may_only_list_nodes_and_pods_is_told_what_is_missing(prod: World, tmp_path: Path) -> None:
    with happened(prod, tmp_path, worlds.DRAINER_TOKEN) as bob:
        ran = bob.run()
        found = bob.links()
    assert ran.code == 5 and found["handled"] == "unknown" and found["karpenter"] is None
    missing = {each["missing"] for each in found["findings"] if each["status"] == "unknown"}
    assert {"get deployments.apps", "list poddisruptionbudgets.policy", "list daemonsets.apps"} <= missing
