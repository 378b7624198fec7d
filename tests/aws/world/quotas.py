"""Patch moto's Service Quotas, which has only those of VPC: add the quotas of EC2, EBS and EKS with AWS's initial
values.

Of moto's internals: `get_service_quota` of the backend makes the answer, or raises NoSuchResource.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_VALUES = {
    ("ec2", "L-1216C47A"): (5.0, "Standard/OnDemand"),
    ("ec2", "L-34B43A08"): (5.0, "Standard/Spot"),
    ("ebs", "L-7A658B76"): (50.0, ""),
    ("eks", "L-BD136A63"): (450.0, ""),
}


_PLACE = "eksdoc_quotas"


def put(backend: Any, service: str, code: str, value: float) -> None:
    """Set a quota that the account was granted."""
    backend.__dict__.setdefault(_PLACE, {})[service, code] = value


def mend() -> None:
    """Patch moto, once per process."""
    from moto.servicequotas.models import ServiceQuotasBackend

    ServiceQuotasBackend.get_service_quota = _known(ServiceQuotasBackend.get_service_quota)


def _known(original: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    def get_service_quota(self: Any, service_code: str, quota_code: str) -> dict[str, Any]:
        if (service_code, quota_code) not in _VALUES:
            return original(self, service_code, quota_code)
        first, counts = _VALUES[service_code, quota_code]
        value = self.__dict__.get(_PLACE, {}).get((service_code, quota_code), first)
        said = {"ServiceCode": service_code, "QuotaCode": quota_code, "Value": value, "Unit": "None"}
        if not counts:
            return said
        dimensions = {"Class": counts, "Resource": "vCPU", "Service": "EC2", "Type": "Resource"}
        metric = {"MetricNamespace": "AWS/Usage", "MetricName": "ResourceCount", "MetricDimensions": dimensions}
        return {**said, "UsageMetric": metric}

    return get_service_quota
