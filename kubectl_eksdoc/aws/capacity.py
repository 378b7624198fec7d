"""How much room there is: free addresses of subnets, quotas of the account and what of them is in use.

Source of the shapes: botocore 1.44.5, ec2/2016-11-15, service-quotas/2019-06-24, monitoring/2010-08-01.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from kubectl_eksdoc.aws.asking import Json, at_once, name_of, number, parts, text, there
from kubectl_eksdoc.aws.believing import Believed
from kubectl_eksdoc.aws.ec2 import by_key
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.aws import questions
from kubectl_eksdoc.core.model.aws.capacity import QUOTAS, Quota, QuotaOf, Subnet, UsageMetric

_GONE = Absent("EC2 knows no such subnet (any more)")


def subnets(of: Believed, ids: Iterable[str]) -> Mapping[str, Subnet | Absent | Unknown]:
    """By id; asked for by a filter, as EC2 refuses a whole request for one id that is gone."""

    def made(said: Json) -> tuple[Subnet, ...]:
        return tuple(_subnet(each) for each in parts(said, "Subnets"))

    def asked(part: Sequence[str]) -> tuple[Subnet, ...] | Unknown:
        filters = [{"Name": "subnet-id", "Values": list(part)}]
        return there(of.aws, questions.SUBNETS, {"Filters": filters}, made)

    return by_key(questions.SUBNETS, sorted(ids), asked, lambda each: each.id, _GONE)


def _subnet(said: Json) -> Subnet:
    free = number(said, "AvailableIpAddressCount")
    return Subnet(name_of(said, "SubnetId"), text(said, "AvailabilityZone"), free, text(said, "CidrBlock"))


def quotas(of: Believed, at: datetime | None) -> Mapping[str, Quota | Unknown]:
    """By code, each with what is in use at that moment, as far as CloudWatch counts it. None: nothing is counted."""
    told = dict(at_once(QUOTAS, lambda which: _quota(of, which)))
    counted = {each.code: each.metric for each in told.values() if isinstance(each, Quota) and each.metric}
    used = _used(of, counted, at) if counted and at is not None else {}
    return {which.code: _with(each, used.get(which.code)) for which, each in told.items()}


def _with(quota: Quota | Unknown, used: float | Unknown | None) -> Quota | Unknown:
    return quota if isinstance(quota, Unknown) or used is None else replace(quota, used=used)


def _quota(of: Believed, which: QuotaOf) -> Quota | Unknown:
    wanted = {"ServiceCode": which.service, "QuotaCode": which.code}
    return there(of.aws, questions.QUOTA, wanted, lambda said: _made(which, said["Quota"]))


def _made(which: QuotaOf, said: Json) -> Quota:
    value = said["Value"]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"Value is a number, and there is {value!r}")
    return Quota(which.code, float(value), _metric(said.get("UsageMetric") or {}))


def _metric(said: Json) -> UsageMetric | None:
    if not said:
        return None
    dimensions = said.get("MetricDimensions") or {}
    named = {name: text(dimensions, name) for name in sorted(dimensions)}
    return UsageMetric(name_of(said, "MetricNamespace"), name_of(said, "MetricName"), named)


_PERIOD_S = 300
"""AWS/Usage is written every five minutes (CloudWatch user guide, service quotas integration)."""


def _used(of: Believed, metrics: Mapping[str, UsageMetric], at: datetime) -> Mapping[str, float | Unknown]:
    """One question for all: the most of the last one to two full hours, so that it is the same a minute later."""
    until = at.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    queries = [_query(f"m{place}", metrics[code]) for place, code in enumerate(metrics)]
    wanted = {"StartTime": until - timedelta(hours=2), "EndTime": until, "MetricDataQueries": queries}
    told = there(of.aws, questions.METRICS, wanted, _values)
    if isinstance(told, Unknown):
        return dict.fromkeys(metrics, told)
    none = Unknown("CloudWatch has no figures of what is in use")
    return {code: told.get(f"m{place}", none) for place, code in enumerate(metrics)}


def _query(ident: str, metric: UsageMetric) -> Json:
    dimensions = [{"Name": name, "Value": value} for name, value in metric.dimensions.items()]
    of = {"Namespace": metric.namespace, "MetricName": metric.name, "Dimensions": dimensions}
    return {"Id": ident, "MetricStat": {"Metric": of, "Period": _PERIOD_S, "Stat": "Maximum"}}


def _values(said: Json) -> Mapping[str, float]:
    """Those that have any."""
    results = parts(said, "MetricDataResults")
    return {name_of(each, "Id"): max(map(float, each["Values"])) for each in results if each.get("Values")}
