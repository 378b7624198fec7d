"""Completes moto: CloudTrail's LookupEvents, and IAM's report of the services that a role was last used for.

Of moto's internals: a method of CloudTrailResponse or IamResponse answers the operation of its name; a backend's
dictionary is emptied by moto's reset, so the reports lie there.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

_REPORTS = "eksdoc_reports"


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


def accessed(backend: Any, role: str, services: Mapping[str, datetime | None]) -> None:
    backend.__dict__.setdefault(_REPORTS, {})[_job(role)] = services


def _job(role: str) -> str:
    """Its name has 36 letters, or botocore refuses to ask for it."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, role))


def mend() -> None:
    """Once per process."""
    from moto.cloudtrail.responses import CloudTrailResponse
    from moto.iam.responses import IamResponse

    CloudTrailResponse.lookup_events = lookup_events
    IamResponse.generate_service_last_accessed_details = generate_service_last_accessed_details
    IamResponse.get_service_last_accessed_details = get_service_last_accessed_details


def lookup_events(response: Any) -> str:
    """Nothing has happened."""
    asked = json.loads(response.body)
    assert len(asked["LookupAttributes"]) == 1 and asked["MaxResults"] <= 50, "AWS refuses it"
    return json.dumps({"Events": []})


def generate_service_last_accessed_details(response: Any) -> Any:
    from moto.core.responses import ActionResult
    from moto.iam.exceptions import NotFoundException

    role = response._get_param("Arn")
    if _job(role) not in response.backend.__dict__.get(_REPORTS, {}):
        raise NotFoundException(f"ARN {role} is not found.")
    return ActionResult({"JobId": _job(role)})


def get_service_last_accessed_details(response: Any) -> Any:
    """Services that were not used are listed without a time."""
    from moto.core.responses import ActionResult

    services = response.backend.__dict__[_REPORTS][response._get_param("JobId")]
    rows = [
        {"ServiceName": name, "ServiceNamespace": name, **({"LastAuthenticated": when} if when else {})}
        for name, when in sorted(services.items())
    ]
    now = datetime.now(timezone.utc)
    told = {"JobStatus": "COMPLETED", "JobCreationDate": now, "JobCompletionDate": now}
    return ActionResult({**told, "JobType": "SERVICE_LEVEL", "IsTruncated": False, "ServicesLastAccessed": rows})
