"""Patch moto's EventBridge and EC2: the delivery of events to a queue, and the filter for the status of Spot requests.

A disabled rule sends nothing; a queue accepts only events that its policy, and the policy of its key, allow to
events.amazonaws.com; sent and failed events are counted as CloudWatch does it (AWS/Events: Invocations and
FailedInvocations by RuleName); an event names its account. moto itself sends every event, without the account, and
raises if there is no queue.

Of moto's internals: `Rule.send_to_targets` and `_send_to_sqs_queue` deliver; `state` is a rule's; a queue has its
policy as text in `policy` or as attribute `_policy_json`; `put_metric_data` of CloudWatch's backend takes any
namespace.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import Any

EVENTS = "events.amazonaws.com"


def mend() -> None:
    """Patch moto, once per process."""
    from moto.ec2.models.spot_requests import SpotInstanceRequest
    from moto.events.models import Rule
    from moto.sqs.models import Queue

    Queue._set_attributes = _keeping_policy(Queue._set_attributes)
    Rule.send_to_targets = _if_enabled(Rule.send_to_targets)
    Rule._send_to_sqs_queue = _if_allowed(Rule._send_to_sqs_queue)
    SpotInstanceRequest.get_filter_value = _by_status(SpotInstanceRequest.get_filter_value)


def _keeping_policy(original: Callable[..., None]) -> Callable[..., None]:
    """Attributes that are not named keep their values: moto drops the policy."""

    def set_attributes(self: Any, attributes: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        kept = getattr(self, "_policy_json", None)
        original(self, attributes, *args, **kwargs)
        if kept and "Policy" not in attributes:
            self._policy_json = kept

    return set_attributes


def _if_enabled(original: Callable[..., None]) -> Callable[..., None]:
    def send_to_targets(self: Any, *args: Any, **kwargs: Any) -> None:
        if self.state != "DISABLED":
            original(self, *args, **kwargs)

    return send_to_targets


def _if_allowed(original: Callable[..., None]) -> Callable[..., None]:
    def send(self: Any, resource_id: str, event: dict[str, Any], group_id: str | None = None) -> None:
        from moto.sqs.models import sqs_backends

        queue = sqs_backends[self.account_id][self.region_name].queues.get(resource_id)
        allowed = queue is not None and _takes(queue, self.arn, self.account_id, self.region_name)
        count(self.account_id, self.region_name, "AWS/Events", "Invocations", "RuleName", self.name)
        if allowed:
            whole = {**event, "account": self.account_id} if "detail-type" in event else event
            original(self, resource_id, whole, group_id)
        else:
            count(self.account_id, self.region_name, "AWS/Events", "FailedInvocations", "RuleName", self.name)

    return send


def count(account: str, region: str, namespace: str, metric: str, dimension: str, name: str, value: int = 1) -> None:
    """Add a metric now, as CloudWatch has it."""
    from moto.cloudwatch.models import cloudwatch_backends

    datum = {"MetricName": metric, "Value": value, "Dimensions": [{"Name": dimension, "Value": name}]}
    cloudwatch_backends[account][region].put_metric_data(namespace, [datum])


def _takes(queue: Any, rule: str, account: str, region: str) -> bool:
    if not allows(_policy_of(queue), "sqs:SendMessage", queue.queue_arn, rule):
        return False
    key = getattr(queue, "kms_master_key_id", None)
    if not key:
        return True
    from moto.kms.models import kms_backends

    backend = kms_backends[account][region]
    found = backend.keys.get(backend.any_id_to_key_id(key))
    if found is None or not found.enabled:
        return False
    policy = json.loads(found.policy)
    return all(allows(policy, each, found.arn, rule) for each in ("kms:GenerateDataKey", "kms:Decrypt"))


def _policy_of(queue: Any) -> dict[str, Any]:
    said = queue.policy
    return json.loads(said) if isinstance(said, str) and said else said or {}


def allows(policy: dict[str, Any], action: str, resource: str, rule: str) -> bool:
    """Whether the policy allows EventBridge to send for a rule: only the part of IAM that the tests use."""
    effects = set(_effects(policy, action, resource, rule))
    return "Allow" in effects and "Deny" not in effects


def _effects(policy: dict[str, Any], action: str, resource: str, rule: str) -> Iterator[str]:
    for each in policy.get("Statement", ()):
        actions = [name.lower() for name in _list(each["Action"])]
        if not any(fnmatchcase(action.lower(), name) for name in actions):
            continue
        named = any(fnmatchcase(resource, name) for name in _list(each["Resource"]))
        if named and _about_events(each["Principal"]) and _holds(each.get("Condition", {}), rule):
            yield each["Effect"]


def _about_events(principal: Any) -> bool:
    return principal == "*" or (isinstance(principal, dict) and EVENTS in _list(principal.get("Service", ())))


def _holds(condition: dict[str, Any], rule: str) -> bool:
    context = {"aws:SourceArn": rule, "aws:SecureTransport": "true", "aws:SourceAccount": rule.split(":")[4]}
    return all(
        any(
            fnmatchcase(context[key], str(value).lower() if isinstance(value, bool) else value)
            for value in _list(wanted)
        )
        for of in condition.values()
        for key, wanted in of.items()
    )


def _list(said: Any) -> list[Any]:
    return list(said) if isinstance(said, (list, tuple)) else [said]


def _by_status(original: Callable[..., Any]) -> Callable[..., Any]:
    def get_filter_value(self: Any, name: str, method: str | None = None) -> Any:
        return self._status_code if name == "status-code" else original(self, name, method)

    return get_filter_value
