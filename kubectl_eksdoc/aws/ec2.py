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
    Image,
    Instance,
    MetadataOptions,
    RoleUse,
    RoleUses,
    SaidOptions,
    ScalingGroup,
    TemplateRef,
    TemplateVersion,
)

from .asking import (
    Json,
    VerifiedCluster,
    at_once,
    found,
    known,
    moment,
    name_of,
    number,
    parts,
    text,
    there,
)

T = TypeVar("T")


def instances(of: VerifiedCluster, ids: Iterable[str]) -> Mapping[str, Instance | Absent | Unknown]:
    """By id. Includes those of EKS Auto Mode, which an account may hide by default (IncludeManagedResources)."""
    return by_key(
        of,
        questions.INSTANCES,
        ids,
        lambda part: {"Filters": [{"Name": "instance-id", "Values": part}], "IncludeManagedResources": True},
        lambda said: (_instance(each) for reservation in said["Reservations"] for each in reservation["Instances"]),
        lambda each: each.id,
        "EC2 knows no such instance",
    )


def images(of: VerifiedCluster, ids: Iterable[str]) -> Mapping[str, Image | Absent | Unknown]:
    """By id. An image that its owner has deregistered is absent."""
    return by_key(
        of,
        questions.IMAGES,
        ids,
        lambda part: {"Filters": [{"Name": "image-id", "Values": part}], "IncludeDeprecated": True},
        lambda said: map(_image, said["Images"]),
        lambda each: each.id,
        "EC2 knows no such image",
    )


def template_version(of: VerifiedCluster, ref: TemplateRef) -> TemplateVersion | Absent | Unknown:
    """The version that `ref` means now: ``$Latest`` and ``$Default`` change."""
    which = {"LaunchTemplateId": ref.id} if ref.id else {"LaunchTemplateName": ref.name}
    wanted = {**which, "Versions": [ref.version], "IncludeManagedResources": True}
    return found(of.aws, questions.TEMPLATE_VERSIONS, wanted, _template)


def template_versions(
    of: VerifiedCluster, refs: Iterable[TemplateRef]
) -> Mapping[TemplateRef, TemplateVersion | Absent | Unknown]:
    """By reference, with one request for each distinct one."""
    return dict(at_once(dict.fromkeys(refs), lambda ref: template_version(of, ref)))


def account_defaults(of: VerifiedCluster) -> SaidOptions | Unknown:
    """The account's metadata options in this region, for launches that set none."""
    return known(of.aws, questions.METADATA_DEFAULTS, {}, lambda said: _said(said.get("AccountLevel", {})))


def scaling_groups(of: VerifiedCluster, names: Iterable[str]) -> Mapping[str, ScalingGroup | Absent | Unknown]:
    """Auto Scaling groups by name."""
    return by_key(
        of,
        questions.SCALING_GROUPS,
        names,
        lambda part: {"AutoScalingGroupNames": part},
        lambda said: map(_scaling_group, said["AutoScalingGroups"]),
        lambda each: each.name,
        "there is no such auto scaling group",
    )


def launch_configurations(
    of: VerifiedCluster, names: Iterable[str]
) -> Mapping[str, TemplateVersion | Absent | Unknown]:
    """Launch configurations by name."""
    return by_key(
        of,
        questions.LAUNCH_CONFIGURATIONS,
        names,
        lambda part: {"LaunchConfigurationNames": part},
        lambda said: map(_configuration, said["LaunchConfigurations"]),
        lambda each: each.name,
        "there is no such launch configuration",
    )


def _configuration(said: Json) -> TemplateVersion:
    name = name_of(said, "LaunchConfigurationName")
    return TemplateVersion("", name, 0, _said(said.get("MetadataOptions") or {}), text(said, "ImageId"))


def by_key(
    of: VerifiedCluster,
    question: AwsOperation,
    keys: Iterable[str],
    wanted: Callable[[list[str]], Json],
    made: Callable[[Json], Iterable[T]],
    key_of: Callable[[T], str],
    gone: str,
) -> dict[str, T | Absent | Unknown]:
    """The objects with `AwsOperation.at_once` keys per request; a failed request does not affect the others.
    `parameters_of`: the parameters of one request; `absent_text`: the message for a key without an answer."""

    def asked(part: list[str]) -> tuple[T, ...] | Unknown:
        return there(of.aws, question, wanted(part), lambda said: tuple(made(said)))

    all_keys = list(dict.fromkeys(keys))
    parts = [all_keys[at : at + question.at_once] for at in range(0, len(all_keys), question.at_once)]
    whole: dict[str, T | Absent | Unknown] = {}
    for part, answer in at_once(parts, asked):
        whole |= dict.fromkeys(part, answer if isinstance(answer, Unknown) else Absent(f"{gone} (any more)"))
        if not isinstance(answer, Unknown):
            whole |= {key_of(each): each for each in answer if key_of(each) in whole}
    return whole


def _instance(said: Json) -> Instance:
    tags = {text(each, "Key"): text(each, "Value") for each in said.get("Tags") or ()}
    template, version = tags.get("aws:ec2launchtemplate:id", ""), tags.get("aws:ec2launchtemplate:version", "")
    options = said.get("MetadataOptions")
    return Instance(
        id=name_of(said, "InstanceId"),
        image=text(said, "ImageId"),
        type=text(said, "InstanceType"),
        state=text(said.get("State") or {}, "Name"),
        options=_options(options) if options else None,
        template=TemplateRef(template, version=version) if template and version else None,
        scaling_group=tags.get("aws:autoscaling:groupName", ""),
        launched=said.get("LaunchTime"),
        profile=text(said.get("IamInstanceProfile") or {}, "Arn"),
    )


def _image(said: Json) -> Image:
    return Image(name_of(said, "ImageId"), text(said, "Name"), said.get("ImdsSupport") == "v2.0")


_DECIDE = ("HttpTokens", "HttpEndpoint")


def _options(said: Json) -> MetadataOptions | None:
    """None where a required option is missing: the options of this instance are unknown then."""
    hops = number(said, "HttpPutResponseHopLimit")
    if hops is None or any(said.get(name) is None for name in _DECIDE):
        return None
    return MetadataOptions(
        tokens=text(said, "HttpTokens"),
        hop_limit=hops,
        endpoint=said["HttpEndpoint"] == "enabled",
        ipv6=said.get("HttpProtocolIpv6") == "enabled",
        pending=said.get("State") == "pending",
    )


_NO_PREFERENCE, _NO_LIMIT = "no-preference", -1


def _said(said: Json) -> SaidOptions:
    tokens, hops = text(said, "HttpTokens"), number(said, "HttpPutResponseHopLimit")
    return SaidOptions(
        tokens="" if tokens == _NO_PREFERENCE else tokens,
        hop_limit=None if hops == _NO_LIMIT else hops,
        endpoint=_switched(said.get("HttpEndpoint")),
        ipv6=_switched(said.get("HttpProtocolIpv6")),
        tags=_switched(said.get("InstanceMetadataTags")),
        enforced=_switched(said.get("HttpTokensEnforced")),
    )


def _switched(said: str | None) -> bool | None:
    return {"enabled": True, "disabled": False}.get(said or "")


def _template(said: Json) -> TemplateVersion:
    (version,) = said["LaunchTemplateVersions"]
    return a_template_version(version)


def a_template_version(version: Json) -> TemplateVersion:
    """One version in a response of DescribeLaunchTemplateVersions."""
    data = version["LaunchTemplateData"]
    return TemplateVersion(
        id=name_of(version, "LaunchTemplateId"),
        name=text(version, "LaunchTemplateName"),
        number=int(version["VersionNumber"]),
        options=_said(data.get("MetadataOptions") or {}),
        image=text(data, "ImageId"),
    )


def _scaling_group(said: Json) -> ScalingGroup:
    policy, own = said.get("MixedInstancesPolicy", {}).get("LaunchTemplate", {}), said.get("LaunchTemplate")
    mixed, overrides = policy.get("LaunchTemplateSpecification"), policy.get("Overrides") or ()
    of_types = [template_ref(each.get("LaunchTemplateSpecification") or {}) for each in overrides if not own]
    base = template_ref(own or mixed or {})
    all_of_them = [base, *of_types] if None in of_types or not of_types else of_types  # else it launches no type
    first, *others = dict.fromkeys(each for each in all_of_them if each is not None) or (None,)
    return ScalingGroup(
        name_of(said, "AutoScalingGroupName"),
        first,
        bool(mixed and not own),
        tuple(filter(None, others)),
        text(said, "LaunchConfigurationName"),
    )


def template_ref(said: Json) -> TemplateRef | None:
    """The reference in a LaunchTemplateSpecification, by default to the default version. EKS uses other field names."""
    ident = text(said, "LaunchTemplateId") or text(said, "id")
    name = text(said, "LaunchTemplateName") or text(said, "name")
    version = text(said, "Version") or text(said, "version") or "$Default"
    return TemplateRef(ident, name, version) if ident or name else None


# Use of the role of nodes: CloudTrail events of an instance, and IAM's service last accessed data.


Wait = Callable[[float], object]
"""Waits for a number of seconds."""


def no_wait(_: float) -> None:
    """No wait, for recorded answers: only AWS limits requests, and needs time for a report."""


_DAYS, _REPORTED_DAYS = 90, 400
_PAGES, _PAUSE_S = 4, 0.5
"""Pages that are read for each instance, and the pause in seconds between two."""
_LOOKS_S = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
"""The pauses in seconds before each request for a report."""
_AGENT = 60


def role_events(
    of: VerifiedCluster, instances: Sequence[str], at: datetime, wait: Wait = sleep
) -> Mapping[str, RoleUses | Unknown]:
    """By instance. After one Unknown answer (denied, timeout, throttled) the remaining instances are not requested."""
    found: dict[str, RoleUses | Unknown] = {}
    for ident in instances:
        found[ident] = told = _events(of, ident, at, wait, pause=bool(found))
        if isinstance(told, Unknown):
            return {**dict.fromkeys(instances, told), **found}
    return found


def _events(of: VerifiedCluster, ident: str, at: datetime, wait: Wait, pause: bool) -> RoleUses | Unknown:
    since, token, oldest = at - timedelta(days=_DAYS), "", at
    by_name = [{"AttributeKey": "Username", "AttributeValue": ident}]  # a session of an instance is named by its id
    wanted: Json = {"LookupAttributes": by_name, "StartTime": since, "EndTime": at, "MaxResults": 50}
    uses: dict[tuple[str, str, str], RoleUse] = {}
    for page in range(_PAGES):
        if pause or page:
            wait(_PAUSE_S)
        told = _told(
            of,
            questions.EVENTS,
            wanted | ({"NextToken": token} if token else {}),
            lambda said: ([_event(each, ident) for each in parts(said, "Events")], text(said, "NextToken")),
        )
        if isinstance(told, Unknown):
            if page == 0:
                return told
            break
        events, token = told
        for when, use in events:
            oldest = min(oldest, when)
            if use is not None:
                key = use.service, use.action, use.agent
                if one := uses.get(key):
                    use = replace(one, last=max(one.last, use.last), count=one.count + use.count, v1=one.v1 + use.v1)
                uses[key] = use
        if not token:
            break
    return RoleUses(oldest if token else since, tuple(uses.values()))


def _event(said: Json, ident: str) -> tuple[datetime, RoleUse | None]:
    """The time of the event, and its use of the role; None for other credentials than those of the instance."""
    when = moment(said, "EventTime")
    if when is None:
        raise KeyError("EventTime")
    told = json.loads(name_of(said, "CloudTrailEvent"))
    identity = told.get("userIdentity") or {}
    delivery = text(identity.get("sessionContext") or {}, "ec2RoleDelivery")
    if not delivery or not text(identity, "principalId").endswith(f":{ident}"):
        return when, None
    service = name_of(told, "eventSource").removesuffix(".amazonaws.com")
    agent = text(told, "userAgent").partition(" ")[0][:_AGENT]
    return when, RoleUse(service, when, name_of(told, "eventName"), agent, v1=int(delivery == "1.0"))


def last_accessed(of: VerifiedCluster, profiles: Sequence[str], wait: Wait = sleep) -> Mapping[str, RoleUses | Unknown]:
    """The use of the role of each instance profile, by the profile's ARN."""
    return dict(at_once(profiles, lambda profile: _reported(of, profile, wait)))


def _reported(of: VerifiedCluster, profile: str, wait: Wait) -> RoleUses | Unknown:
    named = {"InstanceProfileName": profile.rpartition("/")[2]}

    def role_of(said: Json) -> str:
        (role,) = parts(said["InstanceProfile"], "Roles")  # it has one, or none
        return name_of(role, "Arn")

    role = _told(of, questions.INSTANCE_PROFILE, named, role_of)
    if isinstance(role, Unknown):
        return role
    asked = {"Arn": role, "Granularity": "SERVICE_LEVEL"}
    job = _told(of, questions.ACCESS_REPORT, asked, lambda said: name_of(said, "JobId"))
    if isinstance(job, Unknown):
        return job
    for pause in _LOOKS_S:
        wait(pause)
        told = _report(of, job)
        if told is not None:
            return told
    return Unknown(f"IAM has not completed its report on {role} within {sum(_LOOKS_S):.0f} s")


def _report(of: VerifiedCluster, job: str) -> RoleUses | Unknown | None:
    """None where the report is not complete."""
    uses: tuple[RoleUse, ...] = ()
    wanted: Json = {"JobId": job, "MaxItems": 1000}
    for _ in range(_PAGES):
        told = _told(of, questions.LAST_ACCESSED, wanted, _accessed)
        if told is None or isinstance(told, Unknown):
            return told
        part, marker = told
        uses += part.uses
        if not marker:
            return replace(part, uses=uses)
        wanted = wanted | {"Marker": marker}
    return Unknown(f"IAM's report has more than {_PAGES} pages")


def _accessed(said: Json) -> tuple[RoleUses, str] | Unknown | None:
    """The uses on a page, and the marker of the next page; services that were not used are listed in IAM, too."""
    status, completed = name_of(said, "JobStatus"), moment(said, "JobCompletionDate")
    if status == "IN_PROGRESS":
        return None
    if status != "COMPLETED" or completed is None:
        return Unknown(f"IAM could not make its report: {text(said.get('Error') or {}, 'Message') or status}")
    seen = (
        (name_of(each, "ServiceNamespace"), moment(each, "LastAuthenticated")) for each in said["ServicesLastAccessed"]
    )
    uses = tuple(RoleUse(service, when) for service, when in seen if when is not None)
    return RoleUses(completed - timedelta(days=_REPORTED_DAYS), uses), text(said, "Marker")


def _told(of: VerifiedCluster, question: AwsOperation, wanted: Json, made: Callable[[Json], T]) -> T | Unknown:
    """As `ask_existing`; an AwsError of one source becomes Unknown and does not affect the others."""
    try:
        return there(of.aws, question, wanted, made)
    except AwsError as error:
        return Unknown(error.message)
