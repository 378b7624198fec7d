"""EC2 API answers as facts: instances, images, launch templates, and the use of node roles. Source of the shapes:
botocore 1.44.5, ec2/2016-11-15, autoscaling/2011-01-01.

All requests use filters instead of ids: EC2 refuses a complete request for one id that does not exist any more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from time import sleep
from typing import TypeVar

from kubectl_eksdoc.errors import AwsError
from kubectl_eksdoc.model import aws_operations as questions
from kubectl_eksdoc.model.aws_operations import AwsOperation
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.machines import (
    DeclaredMetadataOptions,
    Image,
    Instance,
    MetadataOptions,
    RoleUse,
    RoleUses,
    ScalingGroup,
    TemplateRef,
    TemplateVersion,
)

from .asking import (
    Json,
    VerifiedCluster,
    ask_concurrently,
    ask_existing,
    ask_or_absent,
    ask_or_unknown,
    int_field,
    required_text,
    struct_list_field,
    text_field,
    time_field,
)

T = TypeVar("T")


def instances(verified: VerifiedCluster, ids: Iterable[str]) -> Mapping[str, Instance | Absent | Unknown]:
    """By id. Includes those of EKS Auto Mode, which an account may hide by default (IncludeManagedResources)."""
    return describe_by_key(
        verified,
        questions.INSTANCES,
        ids,
        lambda part: {"Filters": [{"Name": "instance-id", "Values": part}], "IncludeManagedResources": True},
        lambda said: (
            _parse_instance(each) for reservation in said["Reservations"] for each in reservation["Instances"]
        ),
        lambda each: each.id,
        "EC2 knows no such instance",
    )


def images(verified: VerifiedCluster, ids: Iterable[str]) -> Mapping[str, Image | Absent | Unknown]:
    """By id. An image that its owner has deregistered is absent."""
    return describe_by_key(
        verified,
        questions.IMAGES,
        ids,
        lambda part: {"Filters": [{"Name": "image-id", "Values": part}], "IncludeDeprecated": True},
        lambda said: map(_parse_image, said["Images"]),
        lambda each: each.id,
        "EC2 knows no such image",
    )


def template_version(verified: VerifiedCluster, ref: TemplateRef) -> TemplateVersion | Absent | Unknown:
    """The version that `ref` means now: ``$Latest`` and ``$Default`` change."""
    template_id = {"LaunchTemplateId": ref.id} if ref.id else {"LaunchTemplateName": ref.name}
    parameters = {**template_id, "Versions": [ref.version], "IncludeManagedResources": True}
    return ask_or_absent(verified.aws, questions.TEMPLATE_VERSIONS, parameters, _parse_template_response)


def template_versions(
    verified: VerifiedCluster, refs: Iterable[TemplateRef]
) -> Mapping[TemplateRef, TemplateVersion | Absent | Unknown]:
    """By reference, with one request for each distinct one."""
    return dict(ask_concurrently(dict.fromkeys(refs), lambda ref: template_version(verified, ref)))


def account_metadata_defaults(verified: VerifiedCluster) -> DeclaredMetadataOptions | Unknown:
    """The account's metadata options in this region, for launches that set none."""
    return ask_or_unknown(
        verified.aws, questions.METADATA_DEFAULTS, {}, lambda said: _parse_option_settings(said.get("AccountLevel", {}))
    )


def scaling_groups(verified: VerifiedCluster, names: Iterable[str]) -> Mapping[str, ScalingGroup | Absent | Unknown]:
    """Auto Scaling groups by name."""
    return describe_by_key(
        verified,
        questions.SCALING_GROUPS,
        names,
        lambda part: {"AutoScalingGroupNames": part},
        lambda said: map(_parse_scaling_group, said["AutoScalingGroups"]),
        lambda each: each.name,
        "there is no such auto scaling group",
    )


def launch_configurations(
    verified: VerifiedCluster, names: Iterable[str]
) -> Mapping[str, TemplateVersion | Absent | Unknown]:
    """Launch configurations by name."""
    return describe_by_key(
        verified,
        questions.LAUNCH_CONFIGURATIONS,
        names,
        lambda part: {"LaunchConfigurationNames": part},
        lambda said: map(_parse_launch_configuration, said["LaunchConfigurations"]),
        lambda each: each.name,
        "there is no such launch configuration",
    )


def _parse_launch_configuration(document: Json) -> TemplateVersion:
    name = required_text(document, "LaunchConfigurationName")
    return TemplateVersion(
        "", name, 0, _parse_option_settings(document.get("MetadataOptions") or {}), text_field(document, "ImageId")
    )


def describe_by_key(
    verified: VerifiedCluster,
    operation: AwsOperation,
    keys: Iterable[str],
    parameters_of: Callable[[list[str]], Json],
    parse: Callable[[Json], Iterable[T]],
    key_of: Callable[[T], str],
    absent_text: str,
) -> dict[str, T | Absent | Unknown]:
    """The objects with `AwsOperation.batch_size` keys per request; a failed request does not affect the others.
    `parameters_of`: the parameters of one request; `absent_text`: the message for a key without an answer."""

    def ask_part(part: list[str]) -> tuple[T, ...] | Unknown:
        return ask_existing(verified.aws, operation, parameters_of(part), lambda said: tuple(parse(said)))

    unique_keys = list(dict.fromkeys(keys))
    key_parts = [unique_keys[at : at + operation.batch_size] for at in range(0, len(unique_keys), operation.batch_size)]
    answers: dict[str, T | Absent | Unknown] = {}
    for part, part_answer in ask_concurrently(key_parts, ask_part):
        answers |= dict.fromkeys(
            part, part_answer if isinstance(part_answer, Unknown) else Absent(f"{absent_text} (any more)")
        )
        if not isinstance(part_answer, Unknown):
            answers |= {key_of(each): each for each in part_answer if key_of(each) in answers}
    return answers


def _parse_instance(document: Json) -> Instance:
    tags = {text_field(each, "Key"): text_field(each, "Value") for each in document.get("Tags") or ()}
    template, version = tags.get("aws:ec2launchtemplate:id", ""), tags.get("aws:ec2launchtemplate:version", "")
    options = document.get("MetadataOptions")
    return Instance(
        id=required_text(document, "InstanceId"),
        image=text_field(document, "ImageId"),
        type=text_field(document, "InstanceType"),
        state=text_field(document.get("State") or {}, "Name"),
        options=_parse_options(options) if options else None,
        template=TemplateRef(template, version=version) if template and version else None,
        scaling_group=tags.get("aws:autoscaling:groupName", ""),
        launched=document.get("LaunchTime"),
        profile=text_field(document.get("IamInstanceProfile") or {}, "Arn"),
    )


def _parse_image(document: Json) -> Image:
    return Image(
        required_text(document, "ImageId"), text_field(document, "Name"), document.get("ImdsSupport") == "v2.0"
    )


_REQUIRED_OPTIONS = ("HttpTokens", "HttpEndpoint")


def _parse_options(document: Json) -> MetadataOptions | None:
    """None where a required option is missing: the options of this instance are unknown then."""
    hops = int_field(document, "HttpPutResponseHopLimit")
    if hops is None or any(document.get(name) is None for name in _REQUIRED_OPTIONS):
        return None
    return MetadataOptions(
        tokens=text_field(document, "HttpTokens"),
        hop_limit=hops,
        endpoint=document["HttpEndpoint"] == "enabled",
        ipv6=document.get("HttpProtocolIpv6") == "enabled",
        pending=document.get("State") == "pending",
    )


_NO_PREFERENCE, _NO_LIMIT = "no-preference", -1


def _parse_option_settings(document: Json) -> DeclaredMetadataOptions:
    tokens, hops = text_field(document, "HttpTokens"), int_field(document, "HttpPutResponseHopLimit")
    return DeclaredMetadataOptions(
        tokens="" if tokens == _NO_PREFERENCE else tokens,
        hop_limit=None if hops == _NO_LIMIT else hops,
        endpoint=_parse_switch(document.get("HttpEndpoint")),
        ipv6=_parse_switch(document.get("HttpProtocolIpv6")),
        tags=_parse_switch(document.get("InstanceMetadataTags")),
        enforced=_parse_switch(document.get("HttpTokensEnforced")),
    )


def _parse_switch(document: str | None) -> bool | None:
    return {"enabled": True, "disabled": False}.get(document or "")


def _parse_template_response(document: Json) -> TemplateVersion:
    (version,) = document["LaunchTemplateVersions"]
    return parse_template_version(version)


def parse_template_version(document: Json) -> TemplateVersion:
    """One version in a response of DescribeLaunchTemplateVersions."""
    data = document["LaunchTemplateData"]
    return TemplateVersion(
        id=required_text(document, "LaunchTemplateId"),
        name=text_field(document, "LaunchTemplateName"),
        number=int(document["VersionNumber"]),
        options=_parse_option_settings(data.get("MetadataOptions") or {}),
        image=text_field(data, "ImageId"),
    )


def _parse_scaling_group(document: Json) -> ScalingGroup:
    policy, own_template = (
        document.get("MixedInstancesPolicy", {}).get("LaunchTemplate", {}),
        document.get("LaunchTemplate"),
    )
    mixed_template, overrides = policy.get("LaunchTemplateSpecification"), policy.get("Overrides") or ()
    type_templates = [
        template_ref(each.get("LaunchTemplateSpecification") or {}) for each in overrides if not own_template
    ]
    base = template_ref(own_template or mixed_template or {})
    used_templates = (
        [base, *type_templates] if None in type_templates or not type_templates else type_templates
    )  # else it launches no type
    first, *others = dict.fromkeys(each for each in used_templates if each is not None) or (None,)
    return ScalingGroup(
        required_text(document, "AutoScalingGroupName"),
        first,
        bool(mixed_template and not own_template),
        tuple(filter(None, others)),
        text_field(document, "LaunchConfigurationName"),
    )


def template_ref(document: Json) -> TemplateRef | None:
    """The reference in a LaunchTemplateSpecification, by default to the default version. EKS uses other field names."""
    template_id = text_field(document, "LaunchTemplateId") or text_field(document, "id")
    name = text_field(document, "LaunchTemplateName") or text_field(document, "name")
    version = text_field(document, "Version") or text_field(document, "version") or "$Default"
    return TemplateRef(template_id, name, version) if template_id or name else None


# Use of the role of nodes: CloudTrail events of an instance, and IAM's service last accessed data.


Wait = Callable[[float], object]
"""Waits for a number of seconds."""


def no_wait(_: float) -> None:
    """No wait, for recorded answers: only AWS limits requests, and needs time for a report."""


_DAYS, _REPORT_DAYS = 90, 400
_MAX_PAGES, _PAUSE_S = 4, 0.5
"""Pages that are read for each instance, and the pause in seconds between two."""
_REPORT_WAITS_S = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
"""The pauses in seconds before each request for a report."""
_MAX_AGENT_LENGTH = 60


def role_events(
    verified: VerifiedCluster, instances: Sequence[str], until: datetime, wait: Wait = sleep
) -> Mapping[str, RoleUses | Unknown]:
    """By instance. After one Unknown answer (denied, timeout, throttled) the remaining instances are not requested."""
    uses_by_instance: dict[str, RoleUses | Unknown] = {}
    for instance_id in instances:
        uses_by_instance[instance_id] = answer = _role_events_of(
            verified, instance_id, until, wait, pause=bool(uses_by_instance)
        )
        if isinstance(answer, Unknown):
            return {**dict.fromkeys(instances, answer), **uses_by_instance}
    return uses_by_instance


def _role_events_of(
    verified: VerifiedCluster, instance_id: str, until: datetime, wait: Wait, pause: bool
) -> RoleUses | Unknown:
    since, token, oldest = until - timedelta(days=_DAYS), "", until
    lookup = [
        {"AttributeKey": "Username", "AttributeValue": instance_id}
    ]  # a session of an instance is named by its id
    parameters: Json = {"LookupAttributes": lookup, "StartTime": since, "EndTime": until, "MaxResults": 50}
    uses: dict[tuple[str, str, str], RoleUse] = {}
    for page in range(_MAX_PAGES):
        if pause or page:
            wait(_PAUSE_S)
        answer = _ask_or_unknown(
            verified,
            questions.EVENTS,
            parameters | ({"NextToken": token} if token else {}),
            lambda said: (
                [_parse_event(each, instance_id) for each in struct_list_field(said, "Events")],
                text_field(said, "NextToken"),
            ),
        )
        if isinstance(answer, Unknown):
            if page == 0:
                return answer
            break
        events, token = answer
        for event_time, use in events:
            oldest = min(oldest, event_time)
            if use is not None:
                key = use.service, use.action, use.agent
                if earlier_use := uses.get(key):
                    use = replace(
                        earlier_use,
                        last=max(earlier_use.last, use.last),
                        count=earlier_use.count + use.count,
                        v1=earlier_use.v1 + use.v1,
                    )
                uses[key] = use
        if not token:
            break
    return RoleUses(oldest if token else since, tuple(uses.values()))


def _parse_event(document: Json, instance_id: str) -> tuple[datetime, RoleUse | None]:
    """The time of the event, and its use of the role; None for other credentials than those of the instance."""
    event_time = time_field(document, "EventTime")
    if event_time is None:
        raise KeyError("EventTime")
    event = json.loads(required_text(document, "CloudTrailEvent"))
    identity = event.get("userIdentity") or {}
    delivery = text_field(identity.get("sessionContext") or {}, "ec2RoleDelivery")
    if not delivery or not text_field(identity, "principalId").endswith(f":{instance_id}"):
        return event_time, None
    service = required_text(event, "eventSource").removesuffix(".amazonaws.com")
    agent = text_field(event, "userAgent").partition(" ")[0][:_MAX_AGENT_LENGTH]
    return event_time, RoleUse(service, event_time, required_text(event, "eventName"), agent, v1=int(delivery == "1.0"))


def services_last_accessed(
    verified: VerifiedCluster, profiles: Sequence[str], wait: Wait = sleep
) -> Mapping[str, RoleUses | Unknown]:
    """The use of the role of each instance profile, by the profile's ARN."""
    return dict(ask_concurrently(profiles, lambda profile: _last_accessed_of(verified, profile, wait)))


def _last_accessed_of(verified: VerifiedCluster, profile: str, wait: Wait) -> RoleUses | Unknown:
    profile_parameters = {"InstanceProfileName": profile.rpartition("/")[2]}

    def role_of(response: Json) -> str:
        (role,) = struct_list_field(response["InstanceProfile"], "Roles")  # it has one, or none
        return required_text(role, "Arn")

    role = _ask_or_unknown(verified, questions.INSTANCE_PROFILE, profile_parameters, role_of)
    if isinstance(role, Unknown):
        return role
    report_parameters = {"Arn": role, "Granularity": "SERVICE_LEVEL"}
    job = _ask_or_unknown(
        verified, questions.ACCESS_REPORT, report_parameters, lambda said: required_text(said, "JobId")
    )
    if isinstance(job, Unknown):
        return job
    for pause in _REPORT_WAITS_S:
        wait(pause)
        report = _read_report(verified, job)
        if report is not None:
            return report
    return Unknown(f"IAM has not completed its report on {role} within {sum(_REPORT_WAITS_S):.0f} s")


def _read_report(verified: VerifiedCluster, job: str) -> RoleUses | Unknown | None:
    """None where the report is not complete."""
    uses: tuple[RoleUse, ...] = ()
    parameters: Json = {"JobId": job, "MaxItems": 1000}
    for _ in range(_MAX_PAGES):
        page = _ask_or_unknown(verified, questions.LAST_ACCESSED, parameters, _parse_report_page)
        if page is None or isinstance(page, Unknown):
            return page
        page_uses, marker = page
        uses += page_uses.uses
        if not marker:
            return replace(page_uses, uses=uses)
        parameters = parameters | {"Marker": marker}
    return Unknown(f"IAM's report has more than {_MAX_PAGES} pages")


def _parse_report_page(document: Json) -> tuple[RoleUses, str] | Unknown | None:
    """The uses on a page, and the marker of the next page; services that were not used are listed in IAM, too."""
    status, completed = required_text(document, "JobStatus"), time_field(document, "JobCompletionDate")
    if status == "IN_PROGRESS":
        return None
    if status != "COMPLETED" or completed is None:
        return Unknown(f"IAM could not make its report: {text_field(document.get('Error') or {}, 'Message') or status}")
    services = (
        (required_text(each, "ServiceNamespace"), time_field(each, "LastAuthenticated"))
        for each in document["ServicesLastAccessed"]
    )
    uses = tuple(RoleUse(service, when) for service, when in services if when is not None)
    return RoleUses(completed - timedelta(days=_REPORT_DAYS), uses), text_field(document, "Marker")


def _ask_or_unknown(
    verified: VerifiedCluster, operation: AwsOperation, parameters: Json, parse: Callable[[Json], T]
) -> T | Unknown:
    """As `ask_existing`; an AwsError of one source becomes Unknown and does not affect the others."""
    try:
        return ask_existing(verified.aws, operation, parameters, parse)
    except AwsError as error:
        return Unknown(error.message)
