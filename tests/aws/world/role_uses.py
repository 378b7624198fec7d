"""Add to moto: CloudTrail's LookupEvents, and IAM's report of the services that a role last used.

Of moto's internals: a method of CloudTrailResponse or IamResponse answers the operation of its name; a backend's
dictionary is emptied by moto's reset, so the events are stored there.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from tests.aws.world.paging import page

_EVENTS, _REPORTS, _JOBS = "eksdoc_events", "eksdoc_reports", "eksdoc_jobs"
_MOST, _DAYS = 50, 90


def event(
    when: datetime,
    instance: str,
    name: str,
    agent: str = "aws-sdk-go/1.44.1 (go1.19; linux; amd64)",
    role: str = "arn:aws:iam::111122223333:role/node",
    delivery: str | None = "2.0",
) -> dict[str, Any]:
    """``s3:ListBuckets`` by a session of the instance; `delivery`: None for credentials that IMDS did not give."""
    source, _, action = name.partition(":")
    context: dict[str, Any] = {"sessionIssuer": {"type": "Role", "arn": role, "userName": role.rpartition("/")[2]}}
    if delivery is not None:
        context["ec2RoleDelivery"] = delivery
    identity = {"type": "AssumedRole", "principalId": f"AROAEXAMPLE:{instance}", "sessionContext": context}
    told = {
        "eventVersion": "1.09",
        "userIdentity": identity,
        "eventSource": f"{source}.amazonaws.com",
        "eventName": action,
        "userAgent": agent,
        "sourceIPAddress": "10.0.1.7",
    }
    return {
        "EventId": str(uuid.UUID(int=int(when.timestamp()))),
        "EventName": action,
        "EventTime": when,
        "EventSource": f"{source}.amazonaws.com",
        "Username": instance,
        "CloudTrailEvent": json.dumps(told),
    }


def happened(backend: Any, *events: Mapping[str, Any]) -> None:
    backend.__dict__.setdefault(_EVENTS, []).extend(events)


def accessed(backend: Any, role: str, services: Mapping[str, datetime | None], looks: int = 0, fails: str = "") -> None:
    backend.__dict__.setdefault(_REPORTS, {})[role] = services, looks, fails


def mend() -> None:
    """Patch moto, once per process."""
    from moto.cloudtrail.responses import CloudTrailResponse
    from moto.iam.responses import IamResponse

    CloudTrailResponse.lookup_events = lookup_events
    IamResponse.generate_service_last_accessed_details = generate_service_last_accessed_details
    IamResponse.get_service_last_accessed_details = get_service_last_accessed_details


def lookup_events(response: Any) -> str:
    """The latest event first, for the last 90 days, with at most one attribute, 50 a page."""
    asked = json.loads(response.body)
    attributes = asked.get("LookupAttributes", [])
    start, end = asked.get("StartTime", 0), asked.get("EndTime", float("inf"))
    assert len(attributes) <= 1 and 1 <= asked.get("MaxResults", _MOST) <= _MOST and start <= end, "AWS refuses it"
    kept = response.cloudtrail_backend.__dict__.get(_EVENTS, [])
    oldest = datetime.now(timezone.utc) - timedelta(days=_DAYS)
    fits = [
        {**each, "EventTime": each["EventTime"].timestamp()}
        for each in sorted(kept, key=lambda each: each["EventTime"], reverse=True)
        if all(each.get(one["AttributeKey"]) == one["AttributeValue"] for one in attributes)
        if each["EventTime"] >= oldest and start <= each["EventTime"].timestamp() <= end
    ]
    turning = {"maxResults": asked.get("MaxResults", _MOST), "nextToken": asked.get("NextToken", "")}
    told = page(fits, "Events", {**{k: v for k, v in asked.items() if k != "NextToken"}, **turning})
    return json.dumps({"NextToken" if key == "nextToken" else key: value for key, value in told.items()})


def generate_service_last_accessed_details(response: Any) -> Any:
    from moto.core.responses import ActionResult
    from moto.iam.exceptions import NotFoundException

    role = response._get_param("Arn")
    reports = response.backend.__dict__.get(_REPORTS, {})
    if role not in reports:
        raise NotFoundException(f"ARN {role} is not found.")
    job = str(uuid.uuid4())
    response.backend.__dict__.setdefault(_JOBS, {})[job] = [*reports[role]]
    return ActionResult({"JobId": job})


def get_service_last_accessed_details(response: Any) -> Any:
    """A new report is in progress at first; services that were not used are listed without a time."""
    from moto.core.responses import ActionResult

    job = response.backend.__dict__[_JOBS][response._get_param("JobId")]
    services, looks, fails = job
    now = datetime.now(timezone.utc)
    told: dict[str, Any] = {"JobCreationDate": now, "JobType": "SERVICE_LEVEL"}
    if looks:
        job[1] = looks - 1
        return ActionResult({**told, "JobStatus": "IN_PROGRESS", "ServicesLastAccessed": []})
    if fails:
        error = {"Code": "INTERNAL", "Message": fails}
        return ActionResult({**told, "JobStatus": "FAILED", "Error": error, "ServicesLastAccessed": []})
    size, start = int(response._get_param("MaxItems") or 100), int(response._get_param("Marker") or 0)
    rows = [
        {"ServiceName": name, "ServiceNamespace": name, **({"LastAuthenticated": when} if when else {})}
        for name, when in sorted(services.items())
    ]
    more = {"IsTruncated": True, "Marker": str(start + size)} if start + size < len(rows) else {"IsTruncated": False}
    completed = {**told, "JobStatus": "COMPLETED", "JobCompletionDate": now}
    return ActionResult({**completed, "ServicesLastAccessed": rows[start : start + size], **more})
