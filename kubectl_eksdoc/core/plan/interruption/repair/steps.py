"""What is missing as steps, each a command: for whoever makes it without a stack, and for what a stack cannot
change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.interruption import KarpenterInstall
from kubectl_eksdoc.core.plan.interruption.repair.missing import (
    RETENTION_S,
    TARGET_ID,
    Missing,
    MissingRule,
    pattern,
    rights_policy,
)


@dataclass(frozen=True, slots=True)
class AsJson:
    """A document that is one word of a command, or a text within another document."""

    document: Doc | list[Doc]


Words = tuple[str | AsJson, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """`about` in a sentence; `words` are those of one command."""

    about: str
    words: Words


def steps(missing: Missing, install: KarpenterInstall) -> Iterator[Step]:
    """In the order in which they are done; without the setting, which is Helm's."""
    name = missing.queue_name
    words: Words
    if missing.queue:
        attributes: Doc = {"MessageRetentionPeriod": str(RETENTION_S), "SqsManagedSseEnabled": "true"}
        if missing.policy is not None:
            attributes["Policy"] = AsJson(missing.policy)
        words = ("aws", "sqs", "create-queue", "--queue-name", name, "--attributes", AsJson(attributes))
        yield Step(f"The queue {name}, and who may send to it.", words)
    elif missing.policy is not None:
        changed: Doc = {"Policy": AsJson(missing.policy)}
        words = ("aws", "sqs", "set-queue-attributes", "--queue-url", missing.url, "--attributes", AsJson(changed))
        yield Step("The policy of the queue: every statement it has, and the one it lacks.", words)
    if missing.key_policy is not None:
        words = ("aws", "kms", "put-key-policy", "--key-id", missing.key, "--policy-name", "default", "--policy")
        yield Step(
            "The policy of its key: every statement it has, and the one it lacks.",
            (*words, AsJson(missing.key_policy)),
        )
    for rule in missing.rules:
        yield from _of_rule(missing, rule)
    if missing.rights and missing.role:
        document = rights_policy(missing.queue_arn, install, missing.key)
        policy = f"{name}-interruption-queue"
        words = ("aws", "iam", "put-role-policy", "--role-name", missing.role, "--policy-name", policy)
        yield Step(
            f"What the role lacks: {', '.join(missing.rights)}.", (*words, "--policy-document", AsJson(document))
        )


def _of_rule(missing: Missing, of: MissingRule) -> Iterator[Step]:
    name = of.there.name if of.there is not None else f"{missing.queue_name}-{of.kind.name}"[:64]
    words: Words
    if of.there is None:
        words = ("aws", "events", "put-rule", "--name", name, "--state", "ENABLED", "--event-pattern")
        yield Step(f"The rule for {of.kind.detail_type}.", (*words, AsJson(pattern(of.kind))))
    elif of.enable:
        yield Step(f"Rule {name} is disabled.", ("aws", "events", "enable-rule", "--name", name))
    if of.target:
        targets: list[Doc] = [{"Id": TARGET_ID, "Arn": missing.queue_arn}]
        words = ("aws", "events", "put-targets", "--rule", name, "--targets", AsJson(targets))
        yield Step(f"Rule {name} sends to the queue.", words)
