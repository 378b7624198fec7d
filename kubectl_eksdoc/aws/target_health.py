"""How the targets of a load balancer's target group are. Source of the shapes: botocore 1.44.5, elbv2/2015-12-01."""

from __future__ import annotations

from kubectl_eksdoc.aws.asking import Json, found
from kubectl_eksdoc.aws.believing import VerifiedCluster
from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.model.aws import questions
from kubectl_eksdoc.model.aws.targets import TargetGroup, TargetHealth


def target_group(of: VerifiedCluster, arn: str) -> TargetGroup | Unknown:
    """
    Raises:
        AwsError: nothing can be asked.
    """
    told = found(of.aws, questions.TARGET_HEALTH, {"TargetGroupArn": arn}, lambda said: _group(arn, said))
    return Unknown(f"there is no such target group: {told.said}") if isinstance(told, Absent) else told


def _group(arn: str, said: Json) -> TargetGroup:
    targets = [
        TargetHealth(
            each["TargetHealth"].get("Id", ""),
            int(each["TargetHealth"].get("Port", 0)),
            each.get("TargetHealth", {}).get("State", ""),
            each.get("TargetHealth", {}).get("Reason", ""),
        )
        for each in said.get("TargetHealthDescriptions", ())
    ]
    return TargetGroup(arn, tuple(sorted(targets, key=lambda target: (target.id, target.port))))
