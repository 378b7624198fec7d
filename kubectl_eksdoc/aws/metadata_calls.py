"""Requests to the metadata service without a token, as CloudWatch counts them for each instance.

Source: EC2 user guide, "CloudWatch metrics that are available for your instances" (namespace AWS/EC2, dimension
InstanceId: MetadataNoToken, MetadataNoTokenRejected, statistic Sum); botocore 1.44.5, monitoring/2010-08-01 (500
metrics a request).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from kubectl_eksdoc.aws.asking import Json, at_once, name_of, parts, text, there
from kubectl_eksdoc.aws.believing import VerifiedCluster
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.aws import questions
from kubectl_eksdoc.model.aws.machines import V1_DAYS, V1Calls

_METRICS = {"a": "MetadataNoToken", "r": "MetadataNoTokenRejected"}
_INSTANCES = 500 // len(_METRICS)
_DAY_S = 86_400
_COMPLETE = ("Complete", "PartialData")


def v1_calls(of: VerifiedCluster, instances: Sequence[str], at: datetime) -> Mapping[str, V1Calls | Unknown]:
    """By instance, of the days up to the last full hour before `at`."""
    until = at.replace(minute=0, second=0, microsecond=0)
    some = [tuple(instances[first : first + _INSTANCES]) for first in range(0, len(instances), _INSTANCES)]
    found: dict[str, V1Calls | Unknown] = {}
    for part, told in at_once(some, lambda part: _of(of, part, until)):
        found |= dict.fromkeys(part, told) if isinstance(told, Unknown) else told
    return found


def _of(of: VerifiedCluster, instances: Sequence[str], until: datetime) -> Mapping[str, V1Calls] | Unknown:
    queries = [_query(f"{key}{at}", name, each) for at, each in enumerate(instances) for key, name in _METRICS.items()]
    wanted = {"StartTime": until - timedelta(days=V1_DAYS), "EndTime": until, "MetricDataQueries": queries}

    def made(said: Json) -> Mapping[str, V1Calls]:
        values: dict[str, list[float]] = defaultdict(list)
        for each in parts(said, "MetricDataResults"):  # one metric may be on several pages
            if text(each, "StatusCode") not in _COMPLETE:
                raise ValueError(f"CloudWatch did not tell all of the figures: {text(each, 'StatusCode')}")
            values[name_of(each, "Id")] += map(float, each.get("Values") or ())
        return {each: _made(values[f"a{at}"], values[f"r{at}"]) for at, each in enumerate(instances)}

    return there(of.aws, questions.METRICS, wanted, made)


def _made(answered: Sequence[float], rejected: Sequence[float]) -> V1Calls:
    days = max(len(answered), len(rejected))
    return V1Calls(int(sum(answered)) if answered else None, int(sum(rejected)) if rejected else None, days)


def _query(ident: str, metric: str, instance: str) -> Json:
    dimensions = [{"Name": "InstanceId", "Value": instance}]
    of = {"Namespace": "AWS/EC2", "MetricName": metric, "Dimensions": dimensions}
    return {"Id": ident, "MetricStat": {"Metric": of, "Period": _DAY_S, "Stat": "Sum"}}
