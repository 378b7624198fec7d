"""EventBridge rules and Karpenter's interruption events: whether a rule matches all events of a kind. Source:
EventBridge's user guide, event patterns: each field of a pattern must match, by any of its values; a field that the
pattern does not name may be anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records
from kubectl_eksdoc.model.quantities import Version

from .iam import IamMatch

_KIND_FIELDS = ("source", "detail-type")


def match_event(pattern: Doc, event_fields: Mapping[str, str]) -> IamMatch:
    """`event_fields`: the fields that are the same in all events of the kind (source, detail-type, account, region).
    MAYBE: it matches some of them, or the pattern is not supported here."""
    parts = [_match_field(pattern[name], value) for name, value in event_fields.items() if name in pattern]
    if IamMatch.NO in parts:
        return IamMatch.NO
    other_fields = set(pattern) - set(event_fields)
    return IamMatch.MAYBE if other_fields or IamMatch.MAYBE in parts else IamMatch.YES


def is_about_event(pattern: Doc, event_fields: Mapping[str, str]) -> bool:
    """Whether it may match some of them, and names the kind or the source: a catch-all rule is not about them."""
    return any(name in pattern for name in _KIND_FIELDS) and match_event(pattern, event_fields) is not IamMatch.NO


def _match_field(patterns: Any, value: str) -> IamMatch:
    if not isinstance(patterns, list):
        return IamMatch.MAYBE
    matches_found = {_match_value(each, value) for each in patterns}
    return (
        IamMatch.YES
        if IamMatch.YES in matches_found
        else IamMatch.MAYBE
        if IamMatch.MAYBE in matches_found
        else IamMatch.NO
    )


def _match_value(pattern: Any, value: str) -> IamMatch:
    if isinstance(pattern, dict):
        prefix = pattern.get("prefix")
        if set(pattern) == {"prefix"} and isinstance(prefix, str):
            return IamMatch.YES if value.startswith(prefix) else IamMatch.NO
        return IamMatch.MAYBE
    return IamMatch.YES if pattern == value else IamMatch.NO


# Karpenter's handling of interruptions, by version.


@frozen
class KarpenterChange:
    """A change of behaviour `since` that version, described by `about`."""

    what: str
    about: str
    since: Version
    source: KnowledgeSource


_CHANGES = records(KarpenterChange, "karpenter_versions")


def supported_since(change: str) -> Version:
    """The Karpenter version that introduced the change."""
    return _CHANGES.by("what")[change].since


OLD_HELM_KEY, NEW_HELM_KEY = ("settings", "aws", "interruptionQueueName"), ("settings", "interruptionQueue")
CONFIG_MAP, CONFIG_KEY = "karpenter-global-settings", "aws.interruptionQueueName"
QUEUE_VARIABLE, QUEUE_ARGUMENT = "INTERRUPTION_QUEUE", "--interruption-queue"


@frozen
class EventKind:
    """One kind of event that Karpenter reads from the queue. `name`: the rule's name in its documentation.
    `only_logged`: Karpenter drains nothing for it; `of_capacity`: it concerns only nodes of that capacity type."""

    name: str
    short: str
    sent_by: str
    detail_type: str
    source: KnowledgeSource
    since: Version | None = None
    only_logged: bool = False
    of_capacity: str = ""


EVENT_KINDS = records(EventKind, "interruption_events")


def spot_notice() -> EventKind:
    """The two-minute notice of a Spot interruption."""
    return EVENT_KINDS.by("name")["SpotInterruptionRule"]


def event_kinds_of(version: Version | None) -> tuple[EventKind, ...]:
    """The kinds that this version reads; for an unknown version, those that all versions read."""
    return tuple(
        kind
        for kind in EVENT_KINDS
        if kind.since is None or (version is not None and not version.older_than(kind.since))
    )


def reads_variable(version: Version | None) -> bool:
    return version is None or not version.older_than(supported_since("queue-by-variable"))


def reads_config_map(version: Version | None) -> bool | None:
    """None where the version is not known, because it depends on it."""
    return None if version is None else version.older_than(supported_since("no-config-map"))


def helm_key(version: Version | None) -> tuple[str, ...]:
    """The Helm value for the queue in the chart of this version."""
    return (
        OLD_HELM_KEY
        if version is not None and version.older_than(supported_since("queue-by-variable"))
        else NEW_HELM_KEY
    )


QUEUE_ACTIONS = ("sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage")
"""The SQS actions of the controller in every version from v0.30.0 on (pkg/providers/sqs). The CloudFormation templates
of v0.31 and v0.32 allow sqs:GetQueueAttributes as well, which their code does not call."""


def denies_http(version: Version | None) -> bool:
    """Whether the documented queue policy of this version denies requests without TLS."""
    return version is None or not version.older_than(supported_since("queue-denies-http"))
