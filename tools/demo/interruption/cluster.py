"""Additions to the demo's Karpenter: the name of its queue, its role, and its log."""

from __future__ import annotations

import json
from collections.abc import Mapping

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.nodes import LogKey
from tools.demo.aws.names import role
from tools.demo.meta import Json, ago
from tools.demo.pods import Addresses, pods_of
from tools.demo.world import APPS, CLUSTER, REGION

_NAME = "karpenter"
_ENV = {"INTERRUPTION_QUEUE": CLUSTER}
_IRSA = {
    "AWS_REGION": REGION,
    "AWS_ROLE_ARN": role(f"{CLUSTER}-{_NAME}"),
    "AWS_WEB_IDENTITY_TOKEN_FILE": "/var/run/secrets/eks.amazonaws.com/serviceaccount/token",
}


def extend(held: dict[Resource, list[Json]], others: list[Json]) -> None:
    """The `scenes.Extend` of this demo."""
    for deployment in held[kinds.DEPLOYMENTS]:
        if deployment["metadata"]["name"] == _NAME:
            deployment["metadata"].setdefault("annotations", {})["meta.helm.sh/release-name"] = _NAME
            _with(deployment["spec"]["template"]["spec"], _ENV)
    for pod in held[kinds.PODS]:
        if pod["metadata"]["labels"].get("app.kubernetes.io/name") == _NAME:
            _with(pod["spec"], _ENV | _IRSA)


def _with(spec: Json, variables: Mapping[str, str]) -> None:
    for container in spec["containers"]:
        given = [{"name": name, "value": value} for name, value in variables.items()]
        container["env"] = [*container.get("env", ()), *given]


_NO_QUEUE = (
    "creating sqs provider, fetching queue url, operation error SQS: GetQueueUrl, https response error "
    "StatusCode: 400, QueueDoesNotExist: The specified queue does not exist."
)


def logs() -> Mapping[LogKey, str]:
    """The first pod is the leader, and retries; the second one waits."""
    (app,) = (each for each in APPS if each.name == _NAME)
    leader, standby = (pod["metadata"]["name"] for pod in pods_of(app, Addresses()))
    consolidated = _line(
        "INFO", 41, "disrupting node(s)", controller="disruption", reason="underutilized", decision="delete"
    )
    failed = _line("ERROR", 0.4, "failed to create valid sqs provider", controller="interruption", error=_NO_QUEUE)
    waits = _line("INFO", 900, "attempting to acquire leader lease kube-system/karpenter-leader-election...")
    return {
        LogKey(app.namespace, leader, app.name): consolidated + failed,
        LogKey(app.namespace, standby, app.name): waits,
    }


def _line(level: str, minutes: float, message: str, **more: str) -> str:
    """In the format of zap."""
    said = {"level": level, "time": ago(minutes), "logger": "controller", "message": message, **more}
    return json.dumps(said, separators=(",", ":")) + "\n"
