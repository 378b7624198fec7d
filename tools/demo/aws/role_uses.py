"""Usage of the node roles: CloudTrail events by session, and IAM's service last accessed data. A controller without a
role of its own uses the role of blue's nodes; the other roles are used by nodes only.

Source of the shapes: botocore 1.44.5, cloudtrail/2013-11-01 and iam/2010-05-08; CloudTrail user guide, "CloudTrail
userIdentity element" (credentials from the metadata service have ec2RoleDelivery).
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from tools.demo.aws.names import NODE_ROLE, Params, at, role
from tools.demo.aws.pools import Estate, Maker, Pool
from tools.demo.meta import Json, suffix, uid
from tools.demo.nodes import instance_id
from tools.demo.world import REGION, Machine

_DAY = 24 * 60
_OF_NODES = (("ecr:GetAuthorizationToken", "ecr-credential-provider", 7 * 60), ("ec2:DescribeInstances", "kubelet", 60))
_CONTROLLER = (
    ("elasticloadbalancing:DescribeLoadBalancers", "elbv2.k8s.aws/v2.13.2", 55),
    ("elasticloadbalancing:ModifyTargetGroupAttributes", "elbv2.k8s.aws/v2.13.2", 3 * _DAY),
)
"""The API call, its client, and minutes ago."""
_ON = ("blue-1", "blue-4")
"""The node on which the AWS Load Balancer Controller runs without failure."""
_SERVICES = {"ec2": 60, "ecr": 7 * 60, "eks": 2 * _DAY}
"""The services that nodes use, and minutes ago."""


def lookup_events(estate: Estate, params: Params) -> Json:
    """Events of all instances but those of EKS Auto Mode, which have another role; for each the latest first."""
    return {"Events": [each for pool in _pools(estate) for machine in pool.machines for each in _events(pool, machine)]}


def _pools(estate: Estate) -> list[Pool]:
    return [pool for pool in estate.pools if pool.maker is not Maker.AUTO_MODE]


def _events(pool: Pool, machine: Machine) -> Iterator[Json]:
    instance = instance_id(machine)
    calls = (*_OF_NODES, *(_CONTROLLER if machine.name in _ON else ()))
    for call, agent, minutes in sorted(calls, key=lambda each: each[2]):
        service, _, action = call.partition(":")
        source = f"{service}.amazonaws.com"
        issuer = {"type": "Role", "arn": role(pool.role), "userName": pool.role}
        told = {
            "eventVersion": "1.11",
            "userIdentity": {
                "type": "AssumedRole",
                "principalId": f"AROA{suffix(17, 'role', pool.role).upper()}:{instance}",
                "sessionContext": {"sessionIssuer": issuer, "ec2RoleDelivery": "2.0"},
            },
            "eventSource": source,
            "eventName": action,
            "awsRegion": REGION,
            "userAgent": agent,
        }
        yield {
            "EventId": uid("Event", instance, call),
            "EventName": action,
            "EventTime": at(minutes),
            "EventSource": source,
            "Username": instance,
            "CloudTrailEvent": json.dumps(told, separators=(",", ":")),
        }


def get_instance_profile(estate: Estate, params: Params) -> Json:
    name = params["InstanceProfileName"]
    for pool in _pools(estate):
        if pool.profile.endswith(f"/{name}"):
            made = {"Path": "/", "CreateDate": at(pool.born)}
            ident = suffix(17, "role", pool.role).upper()
            of_nodes = {"RoleName": pool.role, "RoleId": f"AROA{ident}", "Arn": role(pool.role), **made}
            said = {"InstanceProfileName": name, "InstanceProfileId": f"AIPA{suffix(16, pool.profile).upper()}"}
            return {"InstanceProfile": {**said, "Arn": pool.profile, **made, "Roles": [of_nodes]}}
    raise KeyError(name)


def generate_service_last_accessed_details(estate: Estate, params: Params) -> Json:
    return {"JobId": uid("Report", "", params["Arn"])}


def get_service_last_accessed_details(estate: Estate, params: Params) -> Json:
    """A report is complete at once."""
    job = params["JobId"]
    for name in sorted({pool.role for pool in _pools(estate)}):
        if job == uid("Report", "", role(name)):
            used = {**_SERVICES, **({"elasticloadbalancing": 55} if name == NODE_ROLE else {})}
            rows = [_accessed(service, used.get(service)) for service in sorted({*used, "ssm"})]
            done = {"JobStatus": "COMPLETED", "JobType": "SERVICE_LEVEL", "JobCreationDate": at(2)}
            return {**done, "JobCompletionDate": at(1), "ServicesLastAccessed": rows, "IsTruncated": False}
    raise KeyError(job)


def _accessed(service: str, minutes: int | None) -> Json:
    """None: a policy of the role allows it, and it was not used."""
    last = {} if minutes is None else {"LastAuthenticated": at(minutes)}
    return {"ServiceName": service, "ServiceNamespace": service, **last}
