"""The error code, HTTP status and message of each AWS service for a refusal that any call may get.

Sources: botocore's models (EKS: ThrottlingException 429), and messages printed in public issue threads, where each
service has its own: EC2 has other codes than the rest, SQS writes the action in small letters, EKS names add-ons by
their path.
"""

from __future__ import annotations

from dataclasses import dataclass

_JSON = ("eks", "events", "ssm", "eventbridge", "cloudtrail")


@dataclass(frozen=True)
class Refusal:
    code: str
    status: int
    message: str


@dataclass(frozen=True)
class Call:
    """One received request. `path`: of its URL. `caller`: the ARN of the caller. `named`: its parameters by name."""

    service: str
    operation: str
    account: str
    region: str
    caller: str
    path: str
    named: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """``eks:DescribeAddon``: the operation, and the IAM action too."""
        return f"{self.service}:{self.operation}"

    def param(self, *names: str) -> str:
        return next((value for name, value in self.named if name in names), "*")


def throttled(call: Call) -> Refusal:
    return {
        "ec2": Refusal("RequestLimitExceeded", 503, "Request limit exceeded."),
        "eks": Refusal("ThrottlingException", 429, "Rate exceeded"),
        "sqs": Refusal("RequestThrottled", 403, "Request is throttled."),
        "events": Refusal("ThrottlingException", 400, "Rate exceeded"),
        "ssm": Refusal("ThrottlingException", 400, "Rate exceeded"),
        "cloudtrail": Refusal("ThrottlingException", 400, "Rate exceeded"),
    }.get(call.service, Refusal("Throttling", 400, "Rate exceeded"))


def expired(call: Call) -> Refusal:
    said = "The security token included in the request is expired"
    if call.service == "ec2":
        return Refusal("RequestExpired", 400, "Request has expired.")
    if call.service in _JSON:
        return Refusal("ExpiredTokenException", 403 if call.service == "eks" else 400, said)
    return Refusal("ExpiredToken", 403, said)


def denied(call: Call) -> Refusal:
    action = call.name.lower() if call.service == "sqs" else call.name
    says = f"User: {call.caller} is not authorized to perform: {action}"
    why = f"because no identity-based policy allows the {action} action"
    if call.service == "ec2":
        return Refusal("UnauthorizedOperation", 403, f"You are not authorized to perform this operation. {says} {why}")
    if call.service == "eks":
        return Refusal("AccessDeniedException", 403, f"{says} on resource: {_eks(call)}")
    if call.service == "cloudtrail":  # of no resource
        return Refusal("AccessDeniedException", 400, f"{says} {why}")
    if call.service in _JSON:
        return Refusal("AccessDeniedException", 400, f"{says} on resource: {_json(call)} {why}")
    if call.service == "sqs":
        queue = call.param("QueueName", "QueueUrl").rsplit("/", 1)[-1]
        return Refusal("AccessDenied", 403, f"{says} on resource: {_arn(call, queue)} {why}")
    if call.service == "sts" and call.operation.startswith("AssumeRole"):
        return Refusal("AccessDenied", 403, f"{says} on resource: {call.param('RoleArn')}")
    return Refusal("AccessDenied", 403, f"{says} {why}")


def _arn(call: Call, tail: str) -> str:
    return f"arn:aws:{call.service}:{call.region}:{call.account}:{tail}"


def _eks(call: Call) -> str:
    """A cluster by its ARN, a resource within it by its path; calls about no resource name all."""
    parts = call.path.strip("/").split("/")
    if call.operation == "ListClusters":
        return _arn(call, "cluster/*")
    if parts[0] == "clusters" and len(parts) == 2:
        return _arn(call, f"cluster/{parts[1]}")
    return _arn(call, "*" if call.operation == "DescribeClusterVersions" else call.path)


def _json(call: Call) -> str:
    if call.service == "ssm":
        name = call.param("Name")
        account = "" if name.startswith("/aws/") else call.account
        return f"arn:aws:ssm:{call.region}:{account}:parameter/{name.lstrip('/')}"
    return _arn(call, f"rule/{call.param('Rule', 'Name')}")
