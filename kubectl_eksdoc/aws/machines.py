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
    IMDSV1_LOOKBACK_DAYS,
    QUOTAS,
    DeclaredMetadataOptions,
    Imdsv1Requests,
    Instance,
    MachineFacts,
    MachineQuery,
    NodeGroup,
    PodIdentity,
    Quota,
    QuotaKey,
    Subnet,
    UsageMetric,
)
from kubectl_eksdoc.model.metadata import InstanceOptionsChange, LaunchTemplateFix

from . import ec2, eks
from .asking import (
    Json,
    VerifiedCluster,
    ask_all,
    ask_and_parse,
    ask_concurrently,
    ask_existing,
    ask_or_absent,
    ask_or_unknown,
    health_issues,
    int_field,
    metric_query,
    required_text,
    sorted_tags,
    struct_list_field,
    text_field,
    text_list_field,
)
from .ec2 import describe_by_key, template_ref

# Managed node groups, and roles of pods by EKS Pod Identity. Source of the shapes: botocore 1.44.5, eks/2017-11-01.


def node_group_names(verified: VerifiedCluster) -> tuple[str, ...] | Unknown:
    """The names of all managed node groups, sorted."""
    parameters = {"clusterName": verified.cluster.name}
    return ask_existing(
        verified.aws, questions.NODE_GROUPS, parameters, lambda said: tuple(sorted(text_list_field(said, "nodegroups")))
    )


def node_groups(verified: VerifiedCluster, names: tuple[str, ...]) -> Mapping[str, NodeGroup | Absent | Unknown]:
    """By name, with one request each."""
    return dict(ask_concurrently(names, lambda name: node_group(verified, name)))


def node_group(verified: VerifiedCluster, name: str) -> NodeGroup | Absent | Unknown:
    parameters = {"clusterName": verified.cluster.name, "nodegroupName": name}
    return ask_or_absent(
        verified.aws, questions.NODE_GROUP, parameters, lambda said: _parse_node_group(said["nodegroup"])
    )


def _parse_node_group(document: Json) -> NodeGroup:
    scaling, update = document.get("scalingConfig") or {}, document.get("updateConfig") or {}
    unavailable_percent = update.get("maxUnavailablePercentage")
    return NodeGroup(
        name=required_text(document, "nodegroupName"),
        ami_type=text_field(document, "amiType"),
        release=text_field(document, "releaseVersion"),
        version=text_field(document, "version"),
        status=text_field(document, "status"),
        template=template_ref(document.get("launchTemplate") or {}),
        scaling_groups=tuple(
            required_text(each, "name") for each in (document.get("resources") or {}).get("autoScalingGroups") or ()
        ),
        created=document.get("createdAt"),
        at_once=str(update.get("maxUnavailable", "")) if unavailable_percent is None else f"{unavailable_percent} %",
        issues=health_issues(document),
        subnets=text_list_field(document, "subnets"),
        size=int_field(scaling, "desiredSize"),
        least=int_field(scaling, "minSize"),
        most=int_field(scaling, "maxSize"),
        capacity=text_field(document, "capacityType"),
        instance_types=text_list_field(document, "instanceTypes"),
        strategy=text_field(update, "updateStrategy"),
        disk=int_field(document, "diskSize"),
        tags=sorted_tags(document),
    )


def pod_identities(verified: VerifiedCluster) -> frozenset[PodIdentity] | Unknown:
    """All service accounts that have a role by EKS Pod Identity."""

    def parse(response: Json) -> frozenset[PodIdentity]:
        each = (
            (required_text(each, "namespace"), required_text(each, "serviceAccount"))
            for each in response["associations"]
        )
        return frozenset(PodIdentity(*names) for names in each)

    return ask_or_unknown(verified.aws, questions.POD_IDENTITIES, {"clusterName": verified.cluster.name}, parse)


def read_machine_facts(verified: VerifiedCluster, keys: MachineQuery) -> MachineFacts:
    """The facts about machines; a missing answer is Unknown and does not affect the others.

    Raises:
        AwsError: nothing can be asked at all.
    """
    questions: dict[str, Callable[[], Any]] = {
        name: partial(ask, verified, getattr(keys, name)) for name, ask in _READER_BY_KEY.items() if getattr(keys, name)
    }
    if keys.account:
        questions |= {
            "account": partial(ec2.account_metadata_defaults, verified),
            "identities": partial(pod_identities, verified),
        }
    return MachineFacts(**ask_all(questions))


_READER_BY_KEY: Mapping[str, Callable[..., Any]] = {
    "instances": ec2.instances,
    "node_groups": node_groups,
    "scaling_groups": ec2.scaling_groups,
    "templates": ec2.template_versions,
    "images": ec2.images,
    "configurations": ec2.launch_configurations,
}
"""The function that reads each field of `MachineQuery`."""


def unknown_machine_facts(reason: Unknown, keys: MachineQuery) -> MachineFacts:
    """Facts without AWS, all Unknown."""
    by_key: dict[str, Any] = {name: dict.fromkeys(getattr(keys, name), reason) for name in _READER_BY_KEY}
    return MachineFacts(**by_key, account=reason, identities=reason)


# Capacity: free addresses of subnets, quotas of the account, and their usage.
#
# Source of the shapes: botocore 1.44.5, ec2/2016-11-15, service-quotas/2019-06-24, monitoring/2010-08-01.


def subnets(verified: VerifiedCluster, ids: Iterable[str]) -> Mapping[str, Subnet | Absent | Unknown]:
    """By id; requested by a filter, because EC2 refuses a complete request for one id that does not exist any more."""
    return describe_by_key(
        verified,
        questions.SUBNETS,
        sorted(ids),
        lambda part: {"Filters": [{"Name": "subnet-id", "Values": part}]},
        lambda said: (
            Subnet(
                required_text(each, "SubnetId"),
                text_field(each, "AvailabilityZone"),
                int_field(each, "AvailableIpAddressCount"),
                text_field(each, "CidrBlock"),
            )
            for each in struct_list_field(said, "Subnets")
        ),
        lambda each: each.id,
        "EC2 knows no such subnet",
    )


def quotas(verified: VerifiedCluster, observed_at: datetime | None) -> Mapping[str, Quota | Unknown]:
    """By code, each with its usage at `observed_at` as far as CloudWatch has it. None: no usage is read."""
    answers = dict(ask_concurrently(QUOTAS, lambda which: _read_quota(verified, which)))
    metrics = {each.code: each.metric for each in answers.values() if isinstance(each, Quota) and each.metric}
    usage = _quota_usage(verified, metrics, observed_at) if metrics and observed_at is not None else {}
    return {
        which.code: replace(each, used=usage[which.code]) if isinstance(each, Quota) and which.code in usage else each
        for which, each in answers.items()
    }


def _read_quota(verified: VerifiedCluster, quota_info: QuotaKey) -> Quota | Unknown:
    def parse(response: Json) -> Quota:
        value, metric = response["Quota"]["Value"], response["Quota"].get("UsageMetric") or {}
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"Value is a number, and there is {value!r}")
        dimensions = metric.get("MetricDimensions") or {}
        dimensions_by_name = {name: text_field(dimensions, name) for name in sorted(dimensions)}
        usage_metric = (
            UsageMetric(
                required_text(metric, "MetricNamespace"), required_text(metric, "MetricName"), dimensions_by_name
            )
            if metric
            else None
        )
        return Quota(quota_info.code, float(value), usage_metric)

    return ask_existing(
        verified.aws, questions.QUOTA, {"ServiceCode": quota_info.service, "QuotaCode": quota_info.code}, parse
    )


_PERIOD_S = 300
"""AWS/Usage is written every five minutes (CloudWatch user guide, service quotas integration)."""


def _quota_usage(
    verified: VerifiedCluster, metrics: Mapping[str, UsageMetric], observed_at: datetime
) -> Mapping[str, float | Unknown]:
    """One request for all: the maximum of the last one to two full hours, so that it is the same a minute later."""
    until = observed_at.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    queries = [
        metric_query(f"m{place}", each.namespace, each.name, each.dimensions, _PERIOD_S, "Maximum")
        for place, each in enumerate(metrics.values())
    ]
    parameters = {"StartTime": until - timedelta(hours=2), "EndTime": until, "MetricDataQueries": queries}

    def parse(response: Json) -> Mapping[str, float]:
        results = struct_list_field(response, "MetricDataResults")
        return {required_text(each, "Id"): max(map(float, each["Values"])) for each in results if each.get("Values")}

    answer = ask_existing(verified.aws, questions.METRICS, parameters, parse)
    if isinstance(answer, Unknown):
        return dict.fromkeys(metrics, answer)
    no_figures = Unknown("CloudWatch has no figures of what is in use")
    return {code: answer.get(f"m{place}", no_figures) for place, code in enumerate(metrics)}


# IMDSv1 calls: requests to the metadata service without a token, which CloudWatch counts for each instance.
#
# Source: EC2 user guide, "CloudWatch metrics that are available for your instances" (namespace AWS/EC2, dimension
# InstanceId: MetadataNoToken, MetadataNoTokenRejected, statistic Sum); botocore 1.44.5, monitoring/2010-08-01 (500
# metrics a request).


_V1_METRICS = {"a": "MetadataNoToken", "r": "MetadataNoTokenRejected"}
_INSTANCES_PER_REQUEST = 500 // len(_V1_METRICS)
_DAY_S = 86_400
_COMPLETE_CODES = ("Complete", "PartialData")


def v1_calls(
    verified: VerifiedCluster, instances: Sequence[str], observed_at: datetime
) -> Mapping[str, Imdsv1Requests | Unknown]:
    """By instance, for the days up to the last full hour before `observed_at`."""
    until = observed_at.replace(minute=0, second=0, microsecond=0)
    instance_parts = [
        tuple(instances[first : first + _INSTANCES_PER_REQUEST])
        for first in range(0, len(instances), _INSTANCES_PER_REQUEST)
    ]
    calls_by_instance: dict[str, Imdsv1Requests | Unknown] = {}
    for part, answer in ask_concurrently(instance_parts, lambda part: _v1_calls_of(verified, part, until)):
        calls_by_instance |= dict.fromkeys(part, answer) if isinstance(answer, Unknown) else answer
    return calls_by_instance


def _v1_calls_of(
    verified: VerifiedCluster, instances: Sequence[str], until: datetime
) -> Mapping[str, Imdsv1Requests] | Unknown:
    queries = [
        metric_query(f"{key}{at}", "AWS/EC2", name, {"InstanceId": each}, _DAY_S, "Sum")
        for at, each in enumerate(instances)
        for key, name in _V1_METRICS.items()
    ]
    parameters = {
        "StartTime": until - timedelta(days=IMDSV1_LOOKBACK_DAYS),
        "EndTime": until,
        "MetricDataQueries": queries,
    }

    def parse(response: Json) -> Mapping[str, Imdsv1Requests]:
        values: dict[str, list[float]] = defaultdict(list)
        for result in struct_list_field(
            response, "MetricDataResults"
        ):  # the values of one metric may be on several pages
            if text_field(result, "StatusCode") not in _COMPLETE_CODES:
                raise ValueError(f"CloudWatch did not tell all of the figures: {text_field(result, 'StatusCode')}")
            values[required_text(result, "Id")] += map(float, result.get("Values") or ())
        calls: dict[str, Imdsv1Requests] = {}
        for index, instance in enumerate(instances):
            accepted, refused = values[f"a{index}"], values[f"r{index}"]
            sums = [int(sum(figures)) if figures else None for figures in (accepted, refused)]
            calls[instance] = Imdsv1Requests(sums[0], sums[1], max(len(accepted), len(refused)))
        return calls

    return ask_existing(verified.aws, questions.METRICS, parameters, parse)


# Changes of metadata options: of running instances, by a template's version, by a node group's update.
#
# Sources: botocore 1.44.5's models of EC2 and EKS. EC2 answers a successful dry run with the error ``DryRunOperation``;
# EKS has no dry run.


_MAX_UPDATES = 10
"""Updates of a node group that are searched: EKS lists the latest first."""

_DRY_RUN_SUCCESS = "DryRunOperation"
_FAULT_CODES = frozenset(("InternalError", "InternalFailure", "ServerException", "ServiceUnavailable", "Unavailable"))
"""Faults of AWS itself: the change may be made in spite of the error."""


class MetadataChanges:
    """The `imds_probe.apply.MetadataAws` of AWS."""

    def __init__(self, verified: VerifiedCluster) -> None:
        self._verified = verified

    def instances(self, ids: Sequence[str]) -> Mapping[str, Instance | Absent | Unknown]:
        """As `MetadataAws.instances`."""
        return ec2.instances(self._verified, ids)

    def group(self, name: str) -> NodeGroup | Absent | Unknown:
        """As `MetadataAws.group`."""
        return node_group(self._verified, name)

    def set_options(self, action: InstanceOptionsChange, dry: bool = False) -> None:
        """As `MetadataAws.set_options`. Options that are not named do not change."""
        parameters: Json = {"InstanceId": action.instance, "HttpPutResponseHopLimit": action.hop_limit}
        if action.endpoint is not action.before.endpoint:
            parameters["HttpEndpoint"] = "enabled" if action.endpoint else "disabled"
        self._send_change(questions.MODIFY_METADATA, parameters, dry)

    def new_version(self, action: LaunchTemplateFix, token: str, dry: bool = False) -> int:
        """As `MetadataAws.new_version`. Sends complete MetadataOptions, because they replace those of the source
        version."""
        parameters: Json = {
            "LaunchTemplateId": action.id,
            "SourceVersion": str(action.source),
            "ClientToken": token,
            "VersionDescription": token,
            "LaunchTemplateData": {"MetadataOptions": option_fields(action.after)},
        }
        response = self._send_change(questions.CREATE_TEMPLATE_VERSION, parameters, dry)
        return 0 if dry else int(response["LaunchTemplateVersion"]["VersionNumber"])

    def version_of(self, action: LaunchTemplateFix, token: str) -> int | Unknown:
        """As `MetadataAws.version_of`, by its description."""
        parameters = {"LaunchTemplateId": action.id, "MinVersion": str(action.source)}

        def parse(response: Json) -> int:
            own_versions = (
                each for each in response["LaunchTemplateVersions"] if each.get("VersionDescription") == token
            )
            return max((int(each["VersionNumber"]) for each in own_versions), default=0)

        return ask_or_unknown(self._verified.aws, questions.TEMPLATE_VERSIONS, parameters, parse)

    def update_group(self, action: LaunchTemplateFix, number: int, token: str) -> EksAddonUpdate:
        """As `MetadataAws.update_group`. Sends version and release, because the AMI would change without them."""
        parameters: Json = {
            "clusterName": self._verified.cluster.name,
            "nodegroupName": action.group,
            "launchTemplate": {"id": action.id, "version": str(number)},
            "clientRequestToken": token,
        }
        if action.release:
            parameters |= {"version": action.version, "releaseVersion": action.release}
        unused_text = (
            f"Node group {action.group} is as it was; version {number} of its launch template is made, and unused."
        )
        return eks.parse_update(self._send_change(questions.UPDATE_NODE_GROUP, parameters, state_text=unused_text))

    def update_to(self, action: LaunchTemplateFix, number: int) -> str | Unknown:
        """As `MetadataAws.update_to`."""
        parameters = {"name": self._verified.cluster.name, "nodegroupName": action.group}
        update_ids = ask_or_unknown(
            self._verified.aws, questions.UPDATES, parameters, lambda told: tuple(map(str, told["updateIds"]))
        )
        if isinstance(update_ids, Unknown):
            return update_ids
        for _, update in ask_concurrently(update_ids[:_MAX_UPDATES], lambda ident: self.update(action.group, ident)):
            if isinstance(update, EksAddonUpdate) and update.parameter("LaunchTemplateVersion") == str(number):
                return update.id
        return ""

    def update(self, group: str, update_id: str) -> EksAddonUpdate | Unknown | Absent:
        """As `MetadataAws.update`."""
        parameters = {"name": self._verified.cluster.name, "nodegroupName": group, "updateId": update_id}
        return ask_or_absent(self._verified.aws, questions.UPDATE, parameters, eks.parse_update)

    def _send_change(
        self, operation: AwsOperation, parameters: Json, dry: bool = False, state_text: str = "Nothing was changed."
    ) -> Json:
        try:
            return ask_and_parse(
                self._verified.aws, operation, parameters | ({"DryRun": True} if dry else {}), lambda told: told
            )
        except AwsDenied as error:
            raise AwsDenied(error.message, f"{state_text} {error.hint}", error.missing) from error
        except AwsRefused as error:
            if dry and error.code == _DRY_RUN_SUCCESS:
                return {}
            if error.code in _FAULT_CODES or not error.code:
                raise AwsError(error.message, error.hint) from error
            raise


def option_fields(options: DeclaredMetadataOptions) -> Json:
    """The options as a launch template writes them, without those that are not set."""
    switch_text = {True: "enabled", False: "disabled", None: None}
    all_fields = {
        "HttpTokens": options.tokens or None,
        "HttpPutResponseHopLimit": options.hop_limit,
        "HttpEndpoint": switch_text[options.endpoint],
        "HttpProtocolIpv6": switch_text[options.ipv6],
        "InstanceMetadataTags": switch_text[options.tags],
    }
    return {name: value for name, value in all_fields.items() if value is not None}
