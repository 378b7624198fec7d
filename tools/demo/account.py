"""The answers of the demo's AWS account to all requests of the tool, as the snapshot stores them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kubectl_eksdoc.embedded.demo.reader import response_key
from tools.demo.aws import catalogue, images, queues, quotas, roles
from tools.demo.aws.demo_aws import DemoAws
from tools.demo.aws.pools import DEMO, NEWEST, Estate
from tools.demo.meta import Json
from tools.demo.nodes import instance_id
from tools.demo.world import CLUSTER

_OURS, _NAMED = {"clusterName": CLUSTER}, {"name": CLUSTER}


@dataclass(frozen=True, slots=True)
class Lookup:
    """An operation whose answer depends on the parameters `by`; the others are `always` the same. `refused`: code and
    message of the service for a missing resource, with parameter names, so that any name can be filled in."""

    service: str
    operation: str
    by: tuple[str, ...] = ()
    always: Mapping[str, Any] | None = None
    refused: tuple[str, str] | None = None

    @property
    def name(self) -> str:
        return f"{self.service} {self.operation}"


@dataclass(frozen=True, slots=True)
class Listing:
    """An operation whose answer is a list, stored by the values of a parameter; `fields` are the path to them in an
    item, and `several` items may have the same."""

    service: str
    operation: str
    of: str
    by: str
    fields: tuple[Any, ...]
    always: Mapping[str, Any] | None = None
    several: bool = False

    @property
    def name(self) -> str:
        return f"{self.service} {self.operation}"


_GONE = "ResourceNotFoundException"
_NO_ADDON = _GONE, "No addon: {addonName} found in cluster: demo-shop"
_NO_ROLE = "NoSuchEntity", "The role with name {RoleName} cannot be found."
_NO_QUEUE = "AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist."

LOOKUPS = (
    Lookup(
        "ec2",
        "DescribeLaunchTemplateVersions",
        ("LaunchTemplateId", "LaunchTemplateName"),
        None,
        (
            "InvalidLaunchTemplateId.NotFound",
            "The specified launch template, with template ID {LaunchTemplateId}, does not exist.",
        ),
    ),
    Lookup("ec2", "GetInstanceMetadataDefaults"),
    Lookup("eks", "DescribeAddon", ("addonName",), _OURS, _NO_ADDON),
    Lookup(
        "eks",
        "DescribeAddonConfiguration",
        ("addonName", "addonVersion"),
        None,
        ("InvalidParameterException", "Addon version specified is not supported"),
    ),
    Lookup(
        "eks",
        "DescribeAddonVersions",
        ("addonName",),
        None,
        ("InvalidParameterException", "Addon {addonName} specified is not supported in 1.33 kubernetes version"),
    ),
    Lookup("eks", "DescribeCluster", ("name",), None, (_GONE, "No cluster found for name: {name}.")),
    Lookup("eks", "DescribeClusterVersions"),
    Lookup("eks", "DescribeInsight", ("id",), _OURS, (_GONE, "No insight found for id: {id}")),
    Lookup(
        "eks",
        "DescribeNodegroup",
        ("nodegroupName",),
        _OURS,
        (_GONE, "No node group found for name: {nodegroupName}."),
    ),
    Lookup(
        "eks",
        "DescribePodIdentityAssociation",
        ("associationId",),
        _OURS,
        (_GONE, "Association not found for associationId: {associationId}"),
    ),
    Lookup(
        "eks",
        "DescribeUpdate",
        ("addonName", "nodegroupName", "updateId"),
        _NAMED,
        (_GONE, "No update found for ID: {updateId}"),
    ),
    Lookup("eks", "ListAddons", (), _OURS),
    Lookup("eks", "ListNodegroups", (), _OURS),
    Lookup("eks", "ListPodIdentityAssociations", (), _OURS),
    Lookup("eks", "ListUpdates", ("addonName", "nodegroupName"), _NAMED, _NO_ADDON),
    Lookup("events", "ListRules"),
    Lookup("events", "ListTargetsByRule", ("Rule",), None, (_GONE, "Rule {Rule} does not exist on EventBus default.")),
    Lookup("iam", "GenerateServiceLastAccessedDetails", ("Arn",), None, ("NoSuchEntity", "ARN {Arn} is not found.")),
    Lookup(
        "iam",
        "GetInstanceProfile",
        ("InstanceProfileName",),
        None,
        ("NoSuchEntity", "Instance Profile {InstanceProfileName} cannot be found."),
    ),
    Lookup("iam", "GetRole", ("RoleName",), None, _NO_ROLE),
    Lookup("iam", "GetRolePolicy", ("RoleName", "PolicyName"), None, _NO_ROLE),
    Lookup("iam", "GetServiceLastAccessedDetails", ("JobId",), None, ("NoSuchEntity", "Job {JobId} is not found.")),
    Lookup("iam", "ListAttachedRolePolicies", ("RoleName",), None, _NO_ROLE),
    Lookup("iam", "ListRolePolicies", ("RoleName",), None, _NO_ROLE),
    Lookup(
        "service-quotas",
        "GetServiceQuota",
        ("ServiceCode", "QuotaCode"),
        None,
        (
            "NoSuchResourceException",
            "The request failed because the specified service quota does not exist.",
        ),
    ),
    Lookup("sqs", "GetQueueAttributes", ("QueueUrl",), None, _NO_QUEUE),
    Lookup("sqs", "GetQueueUrl", ("QueueName",), None, _NO_QUEUE),
    Lookup("ssm", "GetParameter", ("Name",), None, ("ParameterNotFound", "")),
    Lookup("sts", "GetCallerIdentity"),
)

LISTINGS = (
    Listing(
        "autoscaling",
        "DescribeAutoScalingGroups",
        "AutoScalingGroups",
        "AutoScalingGroupNames",
        ("AutoScalingGroupName",),
    ),
    Listing("cloudtrail", "LookupEvents", "Events", "LookupAttributes", ("Username",), several=True),
    Listing("ec2", "DescribeImages", "Images", "Filters", ("ImageId",)),
    Listing(
        "ec2",
        "DescribeInstances",
        "Reservations",
        "Filters",
        ("Instances", 0, "InstanceId"),
        {"IncludeManagedResources": True},
    ),
    Listing("ec2", "DescribeSpotInstanceRequests", "SpotInstanceRequests", "Filters", ("Status", "Code"), several=True),
    Listing("ec2", "DescribeSubnets", "Subnets", "Filters", ("SubnetId",)),
    Listing("eks", "ListInsights", "insights", "filter", ("kubernetesVersion",), _OURS, True),
)

_METRICS = "cloudwatch GetMetricData"


def questions() -> Json:
    """How each operation is answered: its deciding parameters, and the answer for a resource that the account does not
    have."""
    listings = {each.name: {"list": each.of, "by": each.by} for each in LISTINGS}
    lookups = {
        each.name: {"by": list(each.by), **({"refused": list(each.refused)} if each.refused else {})}
        for each in LOOKUPS
    }
    metrics = {_METRICS: {"list": "MetricDataResults", "by": "MetricDataQueries", "beside": {"Messages": []}}}
    return dict(sorted({**metrics, **listings, **lookups}.items()))


def answers(estate: Estate) -> dict[str, dict[str, Json]]:
    """All answers of an account, by operation, then by the deciding parameters."""
    aws = DemoAws(estate)
    made: dict[str, dict[str, Json]] = {_METRICS: _counted(aws)}
    for listing in LISTINGS:
        items = aws.ask(listing.service, listing.operation, dict(listing.always or {}))[listing.of]
        made[listing.name] = {_key(listing, item, number): item for number, item in enumerate(items)}
    for lookup in LOOKUPS:
        asked = [{**(lookup.always or {}), **params} for params in _parameters(aws, lookup)]
        told = {response_key(lookup.by, params): aws.ask(lookup.service, lookup.operation, params) for params in asked}
        made[lookup.name] = told
    return dict(sorted((name, each) for name, each in made.items() if each))


def _key(listing: Listing, item: Json, number: int) -> str:
    """The key of an item; several items may have the same."""
    value: Any = item
    for field in listing.fields:
        value = value[field]
    return f"{value}/{number}" if listing.several else str(value)


def _counted(aws: DemoAws) -> dict[str, Json]:
    """The usage metrics of the account's quotas, by the class of the counted resources."""
    found = {}
    for each in (quota.counts for quota in quotas.QUOTAS if quota.counts):
        metric = {"Namespace": quotas.USAGE, "MetricName": "x", "Dimensions": [{"Name": "Class", "Value": each}]}
        asked = {"MetricDataQueries": [{"Id": "x", "MetricStat": {"Metric": metric}}]}
        (told,) = aws.ask("cloudwatch", "GetMetricData", asked)["MetricDataResults"]
        found[each] = {name: told[name] for name in ("Timestamps", "Values")}
    return found


def _parameters(aws: DemoAws, lookup: Lookup) -> Iterable[dict[str, Any]]:
    """The deciding parameters, for each resource of the account."""
    if not lookup.by:
        return [{}]
    return _OF[lookup.operation](aws)


def _each(parameter: str, operation: str, of: str, field: str = "") -> Callable[[DemoAws], Iterable[dict[str, Any]]]:
    """The names in the answer of another operation of EKS."""
    return lambda aws: [
        {parameter: each[field] if field else each} for each in aws.ask("eks", operation, dict(_OURS))[of]
    ]


def _builds(aws: DemoAws) -> Iterable[dict[str, Any]]:
    for addon in catalogue.OFFERED.values():
        for build in addon.builds:
            yield {"addonName": addon.name, "addonVersion": build.version}


def _updated(aws: DemoAws) -> Iterable[dict[str, Any]]:
    yield {}
    yield from _addons(aws)
    yield from _groups(aws)


def _updates(aws: DemoAws) -> Iterable[dict[str, Any]]:
    for what in _updated(aws):
        for ident in aws.ask("eks", "ListUpdates", {**_NAMED, **what})["updateIds"]:
            yield {**what, "updateId": ident}


def _templates(aws: DemoAws) -> Iterable[dict[str, Any]]:
    for each in aws.ask("ec2", "DescribeLaunchTemplateVersions", {})["LaunchTemplateVersions"]:
        for name in ("LaunchTemplateId", "LaunchTemplateName"):
            yield {name: each[name]}


def _rules(aws: DemoAws) -> Iterable[dict[str, Any]]:
    return [{"Rule": each["Name"]} for each in aws.ask("events", "ListRules", {})["Rules"]]


def _profiles(aws: DemoAws) -> Iterable[dict[str, Any]]:
    said = aws.ask("ec2", "DescribeInstances", {})["Reservations"]
    arns = {each["Instances"][0]["IamInstanceProfile"]["Arn"] for each in said}
    return [{"InstanceProfileName": arn.rpartition("/")[2]} for arn in sorted(arns)]


def _node_roles(aws: DemoAws) -> Iterable[dict[str, Any]]:
    found = (aws.ask("iam", "GetInstanceProfile", each)["InstanceProfile"]["Roles"][0] for each in _profiles(aws))
    return [{"Arn": arn} for arn in sorted({each["Arn"] for each in found})]


def _policies(aws: DemoAws) -> Iterable[dict[str, Any]]:
    role = {"RoleName": roles.ROLE}
    return [{**role, "PolicyName": each} for each in aws.ask("iam", "ListRolePolicies", role)["PolicyNames"]]


def _role(aws: DemoAws) -> Iterable[dict[str, Any]]:
    return [{"RoleName": roles.ROLE}]


def _parameters_of_images(aws: DemoAws) -> Iterable[dict[str, Any]]:
    return [{"Name": name} for image in NEWEST for name in images.parameters(image)]


_addons = _each("addonName", "ListAddons", "addons")
_groups = _each("nodegroupName", "ListNodegroups", "nodegroups")
_URL = DemoAws().ask("sqs", "GetQueueUrl", {"QueueName": queues.QUEUE})["QueueUrl"]

_OF: Mapping[str, Callable[[DemoAws], Iterable[dict[str, Any]]]] = {
    "DescribeAddon": _addons,
    "DescribeAddonConfiguration": _builds,
    "DescribeAddonVersions": lambda aws: [{"addonName": name} for name in catalogue.OFFERED],
    "DescribeCluster": lambda aws: [_NAMED],
    "DescribeInsight": _each("id", "ListInsights", "insights", "id"),
    "DescribeLaunchTemplateVersions": _templates,
    "DescribeNodegroup": _groups,
    "DescribePodIdentityAssociation": _each(
        "associationId", "ListPodIdentityAssociations", "associations", "associationId"
    ),
    "DescribeUpdate": _updates,
    "GenerateServiceLastAccessedDetails": _node_roles,
    "GetInstanceProfile": _profiles,
    "GetParameter": _parameters_of_images,
    "GetQueueAttributes": lambda aws: [{"QueueUrl": _URL}],
    "GetQueueUrl": lambda aws: [{"QueueName": queues.QUEUE}],
    "GetRole": _role,
    "GetRolePolicy": _policies,
    "GetServiceLastAccessedDetails": lambda aws: [
        aws.ask("iam", "GenerateServiceLastAccessedDetails", each) for each in _node_roles(aws)
    ],
    "GetServiceQuota": lambda aws: [{"ServiceCode": each.service, "QuotaCode": each.code} for each in quotas.QUOTAS],
    "ListAttachedRolePolicies": _role,
    "ListRolePolicies": _role,
    "ListTargetsByRule": _rules,
    "ListUpdates": _updated,
}
"""By operation."""


def instances() -> dict[str, Json]:
    """The demo's own nodes by name: the instance, and how its metadata service answers."""
    return {
        machine.name: {"id": instance_id(machine), "tokens": pool.tokens, "hops": pool.hops}
        for pool in DEMO.pools
        for machine in pool.machines
    }
