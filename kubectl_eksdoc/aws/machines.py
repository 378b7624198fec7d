"""AWS data about nodes: node groups, Pod Identity, subnets, quotas, IMDSv1 calls, and changes of metadata options."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsRefused
from kubectl_eksdoc.model import aws_operations as questions
from kubectl_eksdoc.model.addons import EksAddonUpdate
from kubectl_eksdoc.model.aws_operations import AwsOperation
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.machines import (
    QUOTAS,
    V1_DAYS,
    Instance,
    MachineFacts,
    MachineKeys,
    NodeGroup,
    PodIdentity,
    Quota,
    QuotaOf,
    SaidOptions,
    Subnet,
    UsageMetric,
    V1Calls,
)
from kubectl_eksdoc.model.metadata import OnTemplate, SetOptions

from . import ec2, eks
from .asking import (
    Json,
    VerifiedCluster,
    answered,
    at_once,
    found,
    issues,
    known,
    metric_query,
    name_of,
    number,
    parts,
    tags,
    text,
    texts,
    there,
    together,
)
from .ec2 import by_key, template_ref

# Managed node groups, and roles of pods by EKS Pod Identity. Source of the shapes: botocore 1.44.5, eks/2017-11-01.


def names(of: VerifiedCluster) -> tuple[str, ...] | Unknown:
    """The names of all managed node groups, sorted."""
    wanted = {"clusterName": of.cluster.name}
    return there(of.aws, questions.NODE_GROUPS, wanted, lambda said: tuple(sorted(texts(said, "nodegroups"))))


def node_groups(of: VerifiedCluster, wanted: tuple[str, ...]) -> Mapping[str, NodeGroup | Absent | Unknown]:
    """By name, with one request each."""
    return dict(at_once(wanted, lambda name: node_group(of, name)))


def node_group(of: VerifiedCluster, name: str) -> NodeGroup | Absent | Unknown:
    wanted = {"clusterName": of.cluster.name, "nodegroupName": name}
    return found(of.aws, questions.NODE_GROUP, wanted, lambda said: _group(said["nodegroup"]))


def _group(said: Json) -> NodeGroup:
    sizes, update = said.get("scalingConfig") or {}, said.get("updateConfig") or {}
    part = update.get("maxUnavailablePercentage")
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
        at_once=str(update.get("maxUnavailable", "")) if part is None else f"{part} %",
        issues=issues(said),
        subnets=texts(said, "subnets"),
        size=number(sizes, "desiredSize"),
        least=number(sizes, "minSize"),
        most=number(sizes, "maxSize"),
        capacity=text(said, "capacityType"),
        instance_types=texts(said, "instanceTypes"),
        strategy=text(update, "updateStrategy"),
        disk=number(said, "diskSize"),
        tags=tags(said),
    )


def pod_identities(of: VerifiedCluster) -> frozenset[PodIdentity] | Unknown:
    """All service accounts that have a role by EKS Pod Identity."""

    def made(said: Json) -> frozenset[PodIdentity]:
        each = ((name_of(each, "namespace"), name_of(each, "serviceAccount")) for each in said["associations"])
        return frozenset(PodIdentity(*names) for names in each)

    return known(of.aws, questions.POD_IDENTITIES, {"clusterName": of.cluster.name}, made)


def machines_told(of: VerifiedCluster, keys: MachineKeys) -> MachineFacts:
    """The facts about machines; a missing answer is Unknown and does not affect the others.

    Raises:
        AwsError: nothing can be asked at all.
    """
    asked: dict[str, Callable[[], Any]] = {
        name: partial(ask, of, getattr(keys, name)) for name, ask in _BY_KEY.items() if getattr(keys, name)
    }
    if keys.account:
        asked |= {"account": partial(ec2.account_defaults, of), "identities": partial(pod_identities, of)}
    return MachineFacts(**together(asked))


_BY_KEY: Mapping[str, Callable[..., Any]] = {
    "instances": ec2.instances,
    "node_groups": node_groups,
    "scaling_groups": ec2.scaling_groups,
    "templates": ec2.template_versions,
    "images": ec2.images,
    "configurations": ec2.launch_configurations,
}
"""The function that reads each field of `MachineKeys`."""


def nothing_told(why: Unknown, keys: MachineKeys) -> MachineFacts:
    """Facts without AWS, all Unknown."""
    by_key: dict[str, Any] = {name: dict.fromkeys(getattr(keys, name), why) for name in _BY_KEY}
    return MachineFacts(**by_key, account=why, identities=why)


# Capacity: free addresses of subnets, quotas of the account, and their usage.
#
# Source of the shapes: botocore 1.44.5, ec2/2016-11-15, service-quotas/2019-06-24, monitoring/2010-08-01.


def subnets(of: VerifiedCluster, ids: Iterable[str]) -> Mapping[str, Subnet | Absent | Unknown]:
    """By id; requested by a filter, because EC2 refuses a complete request for one id that does not exist any more."""
    return by_key(
        of,
        questions.SUBNETS,
        sorted(ids),
        lambda part: {"Filters": [{"Name": "subnet-id", "Values": part}]},
        lambda said: (
            Subnet(
                name_of(each, "SubnetId"),
                text(each, "AvailabilityZone"),
                number(each, "AvailableIpAddressCount"),
                text(each, "CidrBlock"),
            )
            for each in parts(said, "Subnets")
        ),
        lambda each: each.id,
        "EC2 knows no such subnet",
    )


def quotas(of: VerifiedCluster, at: datetime | None) -> Mapping[str, Quota | Unknown]:
    """By code, each with its usage at `observed_at` as far as CloudWatch has it. None: no usage is read."""
    told = dict(at_once(QUOTAS, lambda which: _quota(of, which)))
    counted = {each.code: each.metric for each in told.values() if isinstance(each, Quota) and each.metric}
    used = _used(of, counted, at) if counted and at is not None else {}
    return {
        which.code: replace(each, used=used[which.code]) if isinstance(each, Quota) and which.code in used else each
        for which, each in told.items()
    }


def _quota(of: VerifiedCluster, which: QuotaOf) -> Quota | Unknown:
    def made(said: Json) -> Quota:
        value, metric = said["Quota"]["Value"], said["Quota"].get("UsageMetric") or {}
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"Value is a number, and there is {value!r}")
        dimensions = metric.get("MetricDimensions") or {}
        named = {name: text(dimensions, name) for name in sorted(dimensions)}
        used = UsageMetric(name_of(metric, "MetricNamespace"), name_of(metric, "MetricName"), named) if metric else None
        return Quota(which.code, float(value), used)

    return there(of.aws, questions.QUOTA, {"ServiceCode": which.service, "QuotaCode": which.code}, made)


_PERIOD_S = 300
"""AWS/Usage is written every five minutes (CloudWatch user guide, service quotas integration)."""


def _used(of: VerifiedCluster, metrics: Mapping[str, UsageMetric], at: datetime) -> Mapping[str, float | Unknown]:
    """One request for all: the maximum of the last one to two full hours, so that it is the same a minute later."""
    until = at.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    queries = [
        metric_query(f"m{place}", each.namespace, each.name, each.dimensions, _PERIOD_S, "Maximum")
        for place, each in enumerate(metrics.values())
    ]
    wanted = {"StartTime": until - timedelta(hours=2), "EndTime": until, "MetricDataQueries": queries}

    def made(said: Json) -> Mapping[str, float]:
        results = parts(said, "MetricDataResults")
        return {name_of(each, "Id"): max(map(float, each["Values"])) for each in results if each.get("Values")}

    told = there(of.aws, questions.METRICS, wanted, made)
    if isinstance(told, Unknown):
        return dict.fromkeys(metrics, told)
    none = Unknown("CloudWatch has no figures of what is in use")
    return {code: told.get(f"m{place}", none) for place, code in enumerate(metrics)}


# IMDSv1 calls: requests to the metadata service without a token, which CloudWatch counts for each instance.
#
# Source: EC2 user guide, "CloudWatch metrics that are available for your instances" (namespace AWS/EC2, dimension
# InstanceId: MetadataNoToken, MetadataNoTokenRejected, statistic Sum); botocore 1.44.5, monitoring/2010-08-01 (500
# metrics a request).


_METRICS = {"a": "MetadataNoToken", "r": "MetadataNoTokenRejected"}
_INSTANCES = 500 // len(_METRICS)
_DAY_S = 86_400
_COMPLETE = ("Complete", "PartialData")


def v1_calls(of: VerifiedCluster, instances: Sequence[str], at: datetime) -> Mapping[str, V1Calls | Unknown]:
    """By instance, for the days up to the last full hour before `observed_at`."""
    until = at.replace(minute=0, second=0, microsecond=0)
    some = [tuple(instances[first : first + _INSTANCES]) for first in range(0, len(instances), _INSTANCES)]
    found: dict[str, V1Calls | Unknown] = {}
    for part, told in at_once(some, lambda part: _of(of, part, until)):
        found |= dict.fromkeys(part, told) if isinstance(told, Unknown) else told
    return found


def _of(of: VerifiedCluster, instances: Sequence[str], until: datetime) -> Mapping[str, V1Calls] | Unknown:
    queries = [
        metric_query(f"{key}{at}", "AWS/EC2", name, {"InstanceId": each}, _DAY_S, "Sum")
        for at, each in enumerate(instances)
        for key, name in _METRICS.items()
    ]
    wanted = {"StartTime": until - timedelta(days=V1_DAYS), "EndTime": until, "MetricDataQueries": queries}

    def made(said: Json) -> Mapping[str, V1Calls]:
        values: dict[str, list[float]] = defaultdict(list)
        for each in parts(said, "MetricDataResults"):  # the values of one metric may be on several pages
            if text(each, "StatusCode") not in _COMPLETE:
                raise ValueError(f"CloudWatch did not tell all of the figures: {text(each, 'StatusCode')}")
            values[name_of(each, "Id")] += map(float, each.get("Values") or ())
        calls: dict[str, V1Calls] = {}
        for at, instance in enumerate(instances):
            taken, refused = values[f"a{at}"], values[f"r{at}"]
            sums = [int(sum(counted)) if counted else None for counted in (taken, refused)]
            calls[instance] = V1Calls(sums[0], sums[1], max(len(taken), len(refused)))
        return calls

    return there(of.aws, questions.METRICS, wanted, made)


# Changes of metadata options: of running instances, by a template's version, by a node group's update.
#
# Sources: botocore 1.44.5's models of EC2 and EKS. EC2 answers a successful dry run with the error ``DryRunOperation``;
# EKS has no dry run.


_LATEST = 10
"""Updates of a node group that are searched: EKS lists the latest first."""

_WOULD_GO_WELL = "DryRunOperation"
_FAULTS = frozenset(("InternalError", "InternalFailure", "ServerException", "ServiceUnavailable", "Unavailable"))
"""Faults of AWS itself: the change may be made in spite of the error."""


class MetadataChanges:
    """The `imds_probe.apply.MetadataAws` of AWS."""

    def __init__(self, of: VerifiedCluster) -> None:
        self._of = of

    def instances(self, ids: Sequence[str]) -> Mapping[str, Instance | Absent | Unknown]:
        """As `MetadataAws.instances`."""
        return ec2.instances(self._of, ids)

    def group(self, name: str) -> NodeGroup | Absent | Unknown:
        """As `MetadataAws.group`."""
        return node_group(self._of, name)

    def set_options(self, act: SetOptions, dry: bool = False) -> None:
        """As `MetadataAws.set_options`. Options that are not named do not change."""
        wanted: Json = {"InstanceId": act.instance, "HttpPutResponseHopLimit": act.hop_limit}
        if act.endpoint is not act.before.endpoint:
            wanted["HttpEndpoint"] = "enabled" if act.endpoint else "disabled"
        self._changed(questions.MODIFY_METADATA, wanted, dry)

    def new_version(self, act: OnTemplate, token: str, dry: bool = False) -> int:
        """As `MetadataAws.new_version`. Sends complete MetadataOptions, because they replace those of the source
        version."""
        wanted: Json = {
            "LaunchTemplateId": act.id,
            "SourceVersion": str(act.source),
            "ClientToken": token,
            "VersionDescription": token,
            "LaunchTemplateData": {"MetadataOptions": said(act.after)},
        }
        made = self._changed(questions.CREATE_TEMPLATE_VERSION, wanted, dry)
        return 0 if dry else int(made["LaunchTemplateVersion"]["VersionNumber"])

    def version_of(self, act: OnTemplate, token: str) -> int | Unknown:
        """As `MetadataAws.version_of`, by its description."""
        wanted = {"LaunchTemplateId": act.id, "MinVersion": str(act.source)}

        def made(answer: Json) -> int:
            ours = (each for each in answer["LaunchTemplateVersions"] if each.get("VersionDescription") == token)
            return max((int(each["VersionNumber"]) for each in ours), default=0)

        return known(self._of.aws, questions.TEMPLATE_VERSIONS, wanted, made)

    def update_group(self, act: OnTemplate, number: int, token: str) -> EksAddonUpdate:
        """As `MetadataAws.update_group`. Sends version and release, because the AMI would change without them."""
        wanted: Json = {
            "clusterName": self._of.cluster.name,
            "nodegroupName": act.group,
            "launchTemplate": {"id": act.id, "version": str(number)},
            "clientRequestToken": token,
        }
        if act.release:
            wanted |= {"version": act.version, "releaseVersion": act.release}
        unused = f"Node group {act.group} is as it was; version {number} of its launch template is made, and unused."
        return eks.update_of(self._changed(questions.UPDATE_NODE_GROUP, wanted, is_so=unused))

    def update_to(self, act: OnTemplate, number: int) -> str | Unknown:
        """As `MetadataAws.update_to`."""
        wanted = {"name": self._of.cluster.name, "nodegroupName": act.group}
        listed = known(self._of.aws, questions.UPDATES, wanted, lambda told: tuple(map(str, told["updateIds"])))
        if isinstance(listed, Unknown):
            return listed
        for _, update in at_once(listed[:_LATEST], lambda ident: self.update(act.group, ident)):
            if isinstance(update, EksAddonUpdate) and update.parameter("LaunchTemplateVersion") == str(number):
                return update.id
        return ""

    def update(self, group: str, ident: str) -> EksAddonUpdate | Unknown | Absent:
        """As `MetadataAws.update`."""
        wanted = {"name": self._of.cluster.name, "nodegroupName": group, "updateId": ident}
        return found(self._of.aws, questions.UPDATE, wanted, eks.update_of)

    def _changed(
        self, question: AwsOperation, wanted: Json, dry: bool = False, is_so: str = "Nothing was changed."
    ) -> Json:
        try:
            return answered(self._of.aws, question, wanted | ({"DryRun": True} if dry else {}), lambda told: told)
        except AwsDenied as error:
            raise AwsDenied(error.message, f"{is_so} {error.hint}", error.missing) from error
        except AwsRefused as error:
            if dry and error.code == _WOULD_GO_WELL:
                return {}
            if error.code in _FAULTS or not error.code:
                raise AwsError(error.message, error.hint) from error
            raise


def said(options: SaidOptions) -> Json:
    """The options as a launch template writes them, without those that are not set."""
    switched = {True: "enabled", False: "disabled", None: None}
    told = {
        "HttpTokens": options.tokens or None,
        "HttpPutResponseHopLimit": options.hop_limit,
        "HttpEndpoint": switched[options.endpoint],
        "HttpProtocolIpv6": switched[options.ipv6],
        "InstanceMetadataTags": switched[options.tags],
    }
    return {name: value for name, value in told.items() if value is not None}
