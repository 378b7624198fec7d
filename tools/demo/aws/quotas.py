"""Service Quotas' answers: the quotas of the account, and the CloudWatch metric that counts their usage."""

from __future__ import annotations

from dataclasses import dataclass

from tools.demo.aws.names import Params, arn
from tools.demo.meta import Json

USAGE = "AWS/Usage"


@dataclass(frozen=True, slots=True)
class Quota:
    """`counts`: the class of instances whose vCPUs count for it, "" where usage is not counted."""

    service: str
    code: str
    name: str
    value: float
    counts: str = ""
    used: float = 0.0


_STANDARD = "Standard (A, C, D, H, I, M, R, T, Z)"

QUOTAS = (
    Quota("ec2", "L-1216C47A", f"Running On-Demand {_STANDARD} instances", 256.0, "Standard/OnDemand", 72.0),
    Quota("ec2", "L-34B43A08", f"All {_STANDARD} Spot Instance Requests", 128.0, "Standard/Spot", 8.0),
    Quota("ebs", "L-7A658B76", "Storage for General Purpose SSD (gp3) volumes, in TiB", 50.0),
    Quota("eks", "L-BD136A63", "Nodes per managed node group", 450.0),
)


def get_service_quota(params: Params) -> Json:
    """One of them."""
    asked = params["ServiceCode"], params["QuotaCode"]
    return {"Quota": next(_a_quota(each) for each in QUOTAS if (each.service, each.code) == asked)}


def used(dimensions: Json) -> float | None:
    """The usage by the metric of that class; None where there is none."""
    return {each.counts: each.used for each in QUOTAS if each.counts}.get(dimensions.get("Class", ""))


def _a_quota(each: Quota) -> Json:
    dimensions = {"Class": each.counts, "Resource": "vCPU", "Service": "EC2", "Type": "Resource"}
    metric: Json = {"MetricNamespace": USAGE, "MetricName": "ResourceCount", "MetricDimensions": dimensions}
    metric["MetricStatisticRecommendation"] = "Maximum"
    return {
        "ServiceCode": each.service,
        "ServiceName": f"Amazon {each.service.upper()}",
        "QuotaArn": arn("servicequotas", f"{each.service}/{each.code}"),
        "QuotaCode": each.code,
        "QuotaName": each.name,
        "Value": each.value,
        "Unit": "None",
        "Adjustable": True,
        "GlobalQuota": False,
        **({"UsageMetric": metric} if each.counts else {}),
    }
