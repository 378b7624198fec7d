"""A scripted AWS for tests: it gives prepared answers, and records the requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from kubectl_eksdoc.aws.asking import VerifiedCluster, describe_cluster
from kubectl_eksdoc.aws.recorded import RecordingInfo
from kubectl_eksdoc.errors import AwsMissing
from kubectl_eksdoc.model.aws_operations import AwsOperation
from kubectl_eksdoc.model.eks import CallerIdentity

ENDPOINT = "https://0A1B2C3D4E5F.gr7.ap-northeast-2.eks.amazonaws.com"
ACCOUNT, REGION = "111122223333", "ap-northeast-2"

Json = dict[str, Any]

RECORDED = RecordingInfo(
    "demo-shop", REGION, ACCOUNT, ENDPOINT, "arn:ann", datetime(2026, 11, 20, 9, 30, tzinfo=timezone.utc)
)


class Scripted:
    """An `asking.AwsClient`. Mutable: `asked` holds the requests. An answer that is an error is raised."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        """Answers by operation, such as ``eks:DescribeCluster``; a callable is called with the parameters."""
        self.answers = dict(answers)
        self.asked: list[tuple[str, Json]] = []

    def ask(self, question: AwsOperation, parameters: Mapping[str, Any]) -> Json:
        name = f"{question.service}:{question.operation}"
        self.asked.append((name, dict(parameters)))
        if name not in self.answers:
            raise AwsMissing(f"no answer to {name}", code="ResourceNotFoundException")
        answer = self.answers[name]
        if callable(answer):
            answer = answer(parameters)
        if isinstance(answer, Exception):
            raise answer
        given: Json = answer
        return given


def a_caller(account: str = ACCOUNT) -> Json:
    return {"Account": account, "Arn": f"arn:aws:iam::{account}:user/ann", "UserId": "AIDA"}


def a_cluster(**more: Any) -> Json:
    cluster = {
        "name": "demo-shop",
        "arn": f"arn:aws:eks:{REGION}:{ACCOUNT}:cluster/demo-shop",
        "version": "1.33",
        "platformVersion": "eks.10",
        "status": "ACTIVE",
        "endpoint": ENDPOINT,
        "certificateAuthority": {"data": ""},
        "upgradePolicy": {"supportType": "EXTENDED"},
        "resourcesVpcConfig": {"vpcId": "vpc-0123"},
    }
    return {"cluster": {**cluster, **more}}


def seen(name: str = "demo-shop") -> VerifiedCluster:
    """A verified cluster of an AWS that answers no further requests."""
    aws = Scripted({"eks:DescribeCluster": a_cluster(name=name)})
    return VerifiedCluster(aws, describe_cluster(aws, name), CallerIdentity(ACCOUNT, "arn:ann"), "by its endpoint")


def sees(aws: Any, name: str = "demo-shop") -> VerifiedCluster:
    """The same, with answers of that client: for tests of add-on facts, not of the verification."""
    return replace(seen(name), aws=aws)
