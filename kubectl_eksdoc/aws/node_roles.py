"""What the role of nodes was used for: by CloudTrail's events of an instance, and by IAM's service last accessed data.

Sources: botocore 1.44.5, cloudtrail/2013-11-01 (LookupEvents: management events of 90 days and one Region, the latest
first, 50 a page, two requests a second) and iam/2010-05-08 (a report, which is asked for until it is complete);
CloudTrail user guide, "CloudTrail userIdentity element": ec2RoleDelivery is in events whose credentials the metadata
service of an instance gave, 1.0 where it gave them without a token.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from time import sleep
from typing import TypeVar

from kubectl_eksdoc.aws.asking import Json, VerifiedCluster, at_once, moment, name_of, parts, text, there
from kubectl_eksdoc.errors import AwsError
from kubectl_eksdoc.model import aws_operations as questions
from kubectl_eksdoc.model.aws_operations import AwsOperation
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.machines import RoleUse, RoleUses

T = TypeVar("T")
Wait = Callable[[float], object]
"""Lets so many seconds pass."""


def no_wait(_: float) -> None:
    """Of answers that were recorded: only a service limits its requests, and takes its time over a report."""


_DAYS, _REPORTED_DAYS = 90, 400
_PAGES, _PAUSE_S = 4, 0.5
"""So many pages are read of each instance, with that pause between two."""
_LOOKS_S = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
"""The pauses before each time that a report is asked for."""
_AGENT = 60


def role_events(
    of: VerifiedCluster, instances: Sequence[str], at: datetime, wait: Wait = sleep
) -> Mapping[str, RoleUses | Unknown]:
    """By instance. After one that is not answered the others are not asked about: no right, no time, or throttled."""
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
    """When it was, and None where other credentials than the instance's own were used."""
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
    """Of the role of each instance profile, by the profile's ARN."""
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
    """None where it is not complete."""
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
    """With what leads to the next page; services that were not used are listed, too."""
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
    """As `there`; a source that does not answer at all takes nothing else with it."""
    try:
        return there(of.aws, question, wanted, made)
    except AwsError as error:
        return Unknown(error.message)
