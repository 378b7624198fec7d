"""What AWS tells of machines, many questions at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from kubectl_eksdoc.aws import ec2
from kubectl_eksdoc.aws.asking import Json, at_once, found, known, name_of, number, parts, text, texts, there
from kubectl_eksdoc.aws.believing import VerifiedCluster, issues
from kubectl_eksdoc.aws.ec2 import by_key, template_ref
from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.model.aws import questions
from kubectl_eksdoc.model.aws.capacity import QUOTAS, Quota, QuotaOf, Subnet, UsageMetric
from kubectl_eksdoc.model.aws.machines import MachineFacts, MachineKeys, NodeGroup, PodIdentity

# What EKS says of managed node groups, and of roles that pods have by EKS Pod Identity. Source of the shapes: botocore
# 1.44.5, eks/2017-11-01.


def names(of: VerifiedCluster) -> tuple[str, ...] | Unknown:
    """Sorted."""
    wanted = {"clusterName": of.cluster.name}
    return there(of.aws, questions.NODE_GROUPS, wanted, lambda said: tuple(sorted(texts(said, "nodegroups"))))


def node_groups(of: VerifiedCluster, wanted: tuple[str, ...]) -> Mapping[str, NodeGroup | Absent | Unknown]:
    """By name; one question each."""
    return dict(at_once(wanted, lambda name: node_group(of, name)))


def node_group(of: VerifiedCluster, name: str) -> NodeGroup | Absent | Unknown:
    wanted = {"clusterName": of.cluster.name, "nodegroupName": name}
    return found(of.aws, questions.NODE_GROUP, wanted, lambda said: _group(said["nodegroup"]))


def _group(said: Json) -> NodeGroup:
    sizes = said.get("scalingConfig") or {}
    return NodeGroup(
        name=name_of(said, "nodegroupName"),
        ami_type=text(said, "amiType"),
        release=text(said, "releaseVersion"),
        version=text(said, "version"),
        status=text(said, "status"),
        template=template_ref(said.get("launchTemplate") or {}),
        scaling_groups=tuple(
            name_of(each, "name") for each in (said.get("resources") or {}).get("autoScalingGroups") or ()
        ),
        created=said.get("createdAt"),
        at_once=_at_once(said.get("updateConfig") or {}),
        issues=issues(said),
        subnets=texts(said, "subnets"),
        size=number(sizes, "desiredSize"),
        least=number(sizes, "minSize"),
        most=number(sizes, "maxSize"),
        capacity=text(said, "capacityType"),
        instance_types=texts(said, "instanceTypes"),
        strategy=text(said.get("updateConfig") or {}, "updateStrategy"),
        disk=number(said, "diskSize"),
    )


def _at_once(said: Json) -> str:
    part = said.get("maxUnavailablePercentage")
    return f"{part} %" if part is not None else str(said.get("maxUnavailable", ""))


def pod_identities(of: VerifiedCluster) -> tuple[PodIdentity, ...] | Unknown:
    """Of all service accounts that have a role so, sorted."""

    def made(said: Json) -> tuple[PodIdentity, ...]:
        return tuple(
            sorted(
                PodIdentity(name_of(each, "namespace"), name_of(each, "serviceAccount"))
                for each in said["associations"]
            )
        )

    return known(of.aws, questions.POD_IDENTITIES, {"clusterName": of.cluster.name}, made)


def machines_told(of: VerifiedCluster, keys: MachineKeys) -> MachineFacts:
    """What is not answered is unknown, and takes nothing else with it.

    Raises:
        AwsError: nothing can be asked at all.
    """
    asked: dict[str, Callable[[], Any]] = {}
    if keys.instances:
        asked["instances"] = lambda: ec2.instances(of, keys.instances)
    if keys.node_groups:
        asked["node_groups"] = lambda: node_groups(of, keys.node_groups)
    if keys.scaling_groups:
        asked["scaling_groups"] = lambda: ec2.scaling_groups(of, keys.scaling_groups)
    if keys.templates:
        asked["templates"] = lambda: ec2.template_versions(of, keys.templates)
    if keys.images:
        asked["images"] = lambda: ec2.images(of, keys.images)
    if keys.configurations:
        asked["configurations"] = lambda: ec2.launch_configurations(of, keys.configurations)
    if keys.account:
        asked["account"] = lambda: ec2.account_defaults(of)
        asked["identities"] = lambda: _identities(of)
    return MachineFacts(**dict(at_once(asked, lambda name: asked[name]())))


def _identities(of: VerifiedCluster) -> object:
    found = pod_identities(of)
    return found if isinstance(found, Unknown) else frozenset(found)


def nothing_told(why: Unknown, keys: MachineKeys) -> MachineFacts:
    """Where AWS is not asked at all."""
    return MachineFacts(
        dict.fromkeys(keys.instances, why),
        dict.fromkeys(keys.node_groups, why),
        dict.fromkeys(keys.scaling_groups, why),
        dict.fromkeys(keys.templates, why),
        dict.fromkeys(keys.images, why),
        why,
        why,
        dict.fromkeys(keys.configurations, why),
    )


# How much room there is: free addresses of subnets, quotas of the account and what of them is in use.
#
# Source of the shapes: botocore 1.44.5, ec2/2016-11-15, service-quotas/2019-06-24, monitoring/2010-08-01.


_GONE = Absent("EC2 knows no such subnet (any more)")


def subnets(of: VerifiedCluster, ids: Iterable[str]) -> Mapping[str, Subnet | Absent | Unknown]:
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


def quotas(of: VerifiedCluster, at: datetime | None) -> Mapping[str, Quota | Unknown]:
    """By code, each with what is in use at that moment, as far as CloudWatch counts it. None: nothing is counted."""
    told = dict(at_once(QUOTAS, lambda which: _quota(of, which)))
    counted = {each.code: each.metric for each in told.values() if isinstance(each, Quota) and each.metric}
    used = _used(of, counted, at) if counted and at is not None else {}
    return {which.code: _with(each, used.get(which.code)) for which, each in told.items()}


def _with(quota: Quota | Unknown, used: float | Unknown | None) -> Quota | Unknown:
    return quota if isinstance(quota, Unknown) or used is None else replace(quota, used=used)


def _quota(of: VerifiedCluster, which: QuotaOf) -> Quota | Unknown:
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


def _used(of: VerifiedCluster, metrics: Mapping[str, UsageMetric], at: datetime) -> Mapping[str, float | Unknown]:
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
