"""Whether a rule of EventBridge matches every event of a kind. Source: EventBridge's user guide, event patterns: each
field of a pattern must fit, by any of its values; a field that the pattern does not name may be anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records
from kubectl_eksdoc.model.quantities import Version

from .iam import IamMatch

_OF_KIND = ("source", "detail-type")


def matches(pattern: Doc, known: Mapping[str, str]) -> IamMatch:
    """`known`: what of the event's fields is the same in all of its kind (source, detail-type, account, region). MAYBE:
    it matches some of them, or what it says is not understood here."""
    parts = [_field(pattern[name], value) for name, value in known.items() if name in pattern]
    if IamMatch.NO in parts:
        return IamMatch.NO
    more = set(pattern) - set(known)
    return IamMatch.MAYBE if more or IamMatch.MAYBE in parts else IamMatch.YES


def about(pattern: Doc, known: Mapping[str, str]) -> bool:
    """It may match some of them, and it is meant for this kind or this source: not one for whatever comes."""
    return any(name in pattern for name in _OF_KIND) and matches(pattern, known) is not IamMatch.NO


def _field(said: Any, value: str) -> IamMatch:
    if not isinstance(said, list):
        return IamMatch.MAYBE
    found = {_one(each, value) for each in said}
    return IamMatch.YES if IamMatch.YES in found else IamMatch.MAYBE if IamMatch.MAYBE in found else IamMatch.NO


def _one(said: Any, value: str) -> IamMatch:
    if isinstance(said, dict):
        prefix = said.get("prefix")
        if set(said) == {"prefix"} and isinstance(prefix, str):
            return IamMatch.YES if value.startswith(prefix) else IamMatch.NO
        return IamMatch.MAYBE
    return IamMatch.YES if said == value else IamMatch.NO


# What Karpenter does about interruptions, and since which version.


@frozen
class KarpenterChange:
    """What it does otherwise `since` that version, `about` it in words."""

    what: str
    about: str
    since: Version
    source: KnowledgeSource


_CHANGES = records(KarpenterChange, "karpenter_versions")


def since(what: str) -> Version:
    """From which of Karpenter's versions on that is so."""
    return _CHANGES.by("what")[what].since


OLD_KEY, NEW_KEY = ("settings", "aws", "interruptionQueueName"), ("settings", "interruptionQueue")
CONFIG_MAP, CONFIG_KEY = "karpenter-global-settings", "aws.interruptionQueueName"
VARIABLE, ARGUMENT = "INTERRUPTION_QUEUE", "--interruption-queue"


@frozen
class EventKind:
    """One kind of event that Karpenter reads from the queue. `name` as its documentation calls the rule. `only_logged`:
    it drains nothing for it; `of_capacity`: it concerns nodes of that capacity type alone."""

    name: str
    short: str
    sent_by: str
    detail_type: str
    source: KnowledgeSource
    since: Version | None = None
    only_logged: bool = False
    of_capacity: str = ""


KINDS = records(EventKind, "interruption_events")


def spot() -> EventKind:
    """The notice of two minutes."""
    return KINDS.by("name")["SpotInterruptionRule"]


def kinds_of(version: Version | None) -> tuple[EventKind, ...]:
    """Those that this version reads; of one that is not known, those that all do."""
    return tuple(
        kind for kind in KINDS if kind.since is None or (version is not None and not version.older_than(kind.since))
    )


def reads_variable(version: Version | None) -> bool:
    return version is None or not version.older_than(since("queue-by-variable"))


def reads_config_map(version: Version | None) -> bool | None:
    """None where the version is not known: it depends on it."""
    return None if version is None else version.older_than(since("no-config-map"))


def helm_key(version: Version | None) -> tuple[str, ...]:
    """By which the chart of this version is told the queue."""
    return OLD_KEY if version is not None and version.older_than(since("queue-by-variable")) else NEW_KEY


ACTIONS = ("sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage")
"""What the controller calls of the queue, in every version from v0.30.0 on (pkg/providers/sqs). The CloudFormation
templates of v0.31 and v0.32 allow sqs:GetQueueAttributes as well, which no code of theirs calls."""


def denies_http(version: Version | None) -> bool:
    """Whether the documented queue policy of this version refuses what comes without TLS."""
    return version is None or not version.older_than(since("queue-denies-http"))
