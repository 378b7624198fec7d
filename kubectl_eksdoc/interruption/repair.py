"""Repair of interruption handling, as data: documents, a CloudFormation stack, steps.

Belongs here: what is missing, and the forms in which it can be created. Never here: serialization as JSON or YAML,
quoting of commands, verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_eksdoc.amazon import interruption
from kubectl_eksdoc.amazon.iam import IamMatch, merge_statements
from kubectl_eksdoc.amazon.interruption import EventKind, match_event
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.connection import in_sequence, shell
from kubectl_eksdoc.model.eks import arn_part
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.interruption import EventRule, KarpenterInstall, KmsKey, Queue, RolePolicies
from kubectl_eksdoc.model.kinds import Unknown

from .delivery import EVENTBRIDGE, KEY_ACTIONS, accepts_new_rules, known_event_fields
from .installs import InterruptionFacts, Link
from .rights import DECRYPT, Role, karpenter_role, missing_actions

# What has to be created or changed, by the findings: neither parts that are in order, nor parts that are unknown.


TARGET_ID = "KarpenterInterruptionQueueTarget"
RETENTION_S = 300


@frozen
class MissingRule:
    """A rule to create, or an existing one to change.

    `there`: the existing rule of that kind, None for a new one; `enable`: it is disabled; `target`: it does not have
    the queue as a target, or sends something else than the event.
    """

    kind: EventKind
    there: EventRule | None = None
    enable: bool = False
    target: bool = True


@frozen
class MissingLinks:
    """What interruption handling lacks.

    `policy`: the complete new policy of the queue, None where the current one is sufficient; `key_policy`: of the key
    `key`; `rights`: actions that `role` (a name) lacks on the queue and on `key`. `not_known`: what may be missing,
    too; `manual_fixes`: failures that nothing printed here fixes.
    """

    queue_name: str
    queue_arn: str
    queue: bool = False
    url: str = ""
    policy: Doc | None = None
    key: str = ""
    key_policy: Doc | None = None
    rules: tuple[MissingRule, ...] = ()
    rights: tuple[str, ...] = ()
    role: str = ""
    setting: bool = False
    not_known: tuple[str, ...] = ()
    manual_fixes: tuple[str, ...] = ()

    @property
    def region(self) -> str:
        """The region of the queue."""
        return arn_part(self.queue_arn, 3)

    @property
    def account(self) -> str:
        return arn_part(self.queue_arn, 4)

    @property
    def in_stack(self) -> bool:
        """Whether a separate stack can create any of it."""
        return bool(self.queue or self.policy or self.rules or (self.rights and self.role))

    @property
    def not_in_stack(self) -> tuple[str, ...]:
        """Missing parts that a separate stack cannot create."""
        key = ("the policy of the queue's existing key: --print commands",) if self.key_policy else ()
        return (*key, *(("the setting: --print helm-values",) if self.setting else ()))

    @property
    def anything(self) -> bool:
        return self.in_stack or self.setting or self.key_policy is not None or bool(self.rights)


def missing_links(facts: InterruptionFacts, install: KarpenterInstall, links: Sequence[Link]) -> MissingLinks:
    failed = {each.code.name for each in links if each.failed}
    queue, key = facts.told.queue, facts.told.key
    role = karpenter_role(install, facts.told.identity)
    arn, repairable = facts.queue_arn, {each.code.name for each in links if each.failed and each.made}
    policies, rules = facts.told.policies, tuple(_missing_rule(facts, kind) for kind in _missing_kinds(links, install))
    # A stack creates new rules even where an existing rule could be changed.
    refuses_new_rules = bool(rules) and not accepts_new_rules(facts)
    rights = missing_actions(facts, policies) if isinstance(policies, RolePolicies) else ()
    repairable_links = [each for each in links if each.code.name in _REPAIRABLE_CODES]
    return MissingLinks(
        facts.queue,
        arn,
        "interruption-queue" in failed,
        queue.url if isinstance(queue, Queue) else "",
        _queue_policy(arn, install, queue)
        if {"interruption-queue", "interruption-queue-policy"} & repairable or refuses_new_rules
        else None,
        key.arn if isinstance(key, KmsKey) else "",
        _key_policy(key) if "interruption-queue-key" in repairable else None,
        rules,
        rights if "interruption-rights" in failed else (),
        role.arn.rpartition("/")[2] if isinstance(role, Role) else "",
        "interruption-setting" in failed,
        tuple(f"{each.name}: {each.what}" for each in repairable_links if each.status is Status.UNKNOWN),
        tuple(f"{each.name}: {each.what}" for each in repairable_links if each.failed and not each.made),
    )


def _queue_policy(arn: str, install: KarpenterInstall, queue: object) -> Doc | None:
    """For an existing queue only the statement for EventBridge is added, because its other clients are unknown."""
    if not isinstance(queue, Queue):
        extra_statements = [deny_http_statement(arn)] if interruption.denies_http(install.version) else []
        return merge_statements(None, [allow_statement(arn), *extra_statements])
    return None if isinstance(queue.policy, Unknown) else merge_statements(queue.policy, [allow_statement(arn)])


def _key_policy(key: object) -> Doc | None:
    return (
        merge_statements(key.policy, [key_statement()])
        if isinstance(key, KmsKey) and isinstance(key.policy, dict)
        else None
    )


_REPAIRABLE_CODES = (
    "interruption-setting",
    "interruption-queue",
    "interruption-queue-policy",
    "interruption-queue-key",
    "interruption-rule",
    "interruption-rights",
)


def _missing_kinds(links: Sequence[Link], install: KarpenterInstall) -> list[EventKind]:
    """Including harmless kinds if a rule is created at all: the stack is then the one of Karpenter's documentation."""
    rules = [each for each in links if each.code.name == "interruption-rule"]
    has_failed_rule = any(each.failed for each in rules)
    names = {
        each.subject.name
        for each in rules
        if each.failed or (has_failed_rule and each.text == "interruption-rule/none")
    }
    return [kind for kind in interruption.event_kinds_of(install.version) if kind.name in names]


def _missing_rule(facts: InterruptionFacts, kind: EventKind) -> MissingRule:
    """The rule to create or change. A rule that matches the complete kind and has no target or is disabled is changed;
    a rule with other targets belongs to another client and is not changed."""
    rules = facts.told.rules if isinstance(facts.told.rules, tuple) else ()
    for rule in rules:
        if (
            not isinstance(rule.pattern, dict)
            or match_event(rule.pattern, known_event_fields(facts, kind)) is not IamMatch.YES
        ):
            continue
        if "detail-type" not in rule.pattern and "source" not in rule.pattern:
            continue
        targets = facts.told.targets.get(rule.name, ())
        if not isinstance(targets, tuple):
            continue
        queue_targets = [each for each in targets if each.arn == facts.queue_arn]
        if queue_targets or not targets:
            return MissingRule(
                kind, rule, not rule.enabled, not queue_targets or all(each.shaped for each in queue_targets)
            )
    return MissingRule(kind)


def allow_statement(arn: str) -> Doc:
    """The statement of Karpenter's documentation."""
    return {
        "Sid": "EC2InterruptionPolicy",
        "Effect": "Allow",
        "Principal": {"Service": [EVENTBRIDGE, "sqs.amazonaws.com"]},
        "Action": "sqs:SendMessage",
        "Resource": arn,
    }


def deny_http_statement(arn: str) -> Doc:
    return {
        "Sid": "DenyHTTP",
        "Effect": "Deny",
        "Action": "sqs:*",
        "Resource": arn,
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        "Principal": "*",
    }


def key_statement() -> Doc:
    return {
        "Sid": "EventBridgeSendsToTheQueue",
        "Effect": "Allow",
        "Principal": {"Service": EVENTBRIDGE},
        "Action": list(KEY_ACTIONS),
        "Resource": "*",
    }


def rights_policy(arn: str, key: str = "") -> Doc:
    """Everything that the controller needs on the queue, including rights that it has."""
    statements: list[Doc] = [
        {
            "Sid": "AllowInterruptionQueueActions",
            "Effect": "Allow",
            "Action": list(interruption.QUEUE_ACTIONS),
            "Resource": arn,
        }
    ]
    if key:
        statements.append({"Sid": "AllowInterruptionQueueKey", "Effect": "Allow", "Action": [DECRYPT], "Resource": key})
    return {"Version": "2012-10-17", "Statement": statements}


def helm_values(name: str, install: KarpenterInstall) -> Doc:
    """The values to merge into the chart's values, under the key that its version reads."""
    values: Doc | str = name
    for key in reversed(interruption.helm_key(install.version)):
        values = {key: values}
    return values if isinstance(values, dict) else {}


def event_pattern(kind: EventKind) -> Doc:
    return {"source": [kind.sent_by], "detail-type": [kind.detail_type]}


# The missing parts as a CloudFormation template for a separate stack.
#
# The template holds only the missing parts, so updating an existing stack with it would delete the rest of that stack,
# be it Karpenter's or an earlier one from this tool. So the stack is created and never updated: CloudFormation rejects
# an existing name (AlreadyExistsException). Existing rules belong to other clients and are not changed: new ones are
# created beside them.


_CAPABILITIES = ("--capabilities", "CAPABILITY_NAMED_IAM")
_QUEUE, _POLICY, _RIGHTS = "InterruptionQueue", "InterruptionQueuePolicy", "InterruptionRights"


FILE = "interruption.yaml"


def create_stack_command(stack: str, region: str, profile: str = "") -> str:
    """The command that creates the stack of `FILE` and waits for it; it updates none."""
    flags = {"--stack-name": stack, "--region": region, "--profile": profile}
    args = [word for flag, value in flags.items() if value for word in (flag, value)]
    create = shell("aws", "cloudformation", "create-stack", *args, "--template-body", f"file://{FILE}", *_CAPABILITIES)
    return in_sequence(create, shell("aws", "cloudformation", "wait", "stack-create-complete", *args))


def stack_template(missing: MissingLinks) -> Doc:
    """The template. Its resources refer to the existing queue, or to the one it creates."""
    resources: Doc = {}
    arn: Doc | str = {"Fn::GetAtt": [_QUEUE, "Arn"]} if missing.queue else missing.queue_arn
    if missing.queue:
        resources[_QUEUE] = {
            "Type": "AWS::SQS::Queue",
            "Properties": {
                "QueueName": missing.queue_name,
                "MessageRetentionPeriod": RETENTION_S,
                "SqsManagedSseEnabled": True,
            },
        }
    if missing.policy is not None:
        queue: Doc | str = {"Ref": _QUEUE} if missing.queue else missing.url
        properties = {"Queues": [queue], "PolicyDocument": missing.policy}
        resources[_POLICY] = {"Type": "AWS::SQS::QueuePolicy", "Properties": properties}
    for each in missing.rules:
        resources[each.kind.name] = {
            "Type": "AWS::Events::Rule",
            "Properties": {"EventPattern": event_pattern(each.kind), "Targets": [{"Id": TARGET_ID, "Arn": arn}]},
        }
    if missing.rights and missing.role:
        resources[_RIGHTS] = {
            "Type": "AWS::IAM::Policy",
            "Properties": {
                "PolicyName": f"{missing.queue_name}-interruption-queue",
                "PolicyDocument": rights_policy(missing.queue_arn, missing.key),
                "Roles": [missing.role],
            },
        }
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": f"What Karpenter's interruption handling lacks, queue {missing.queue_name}; a stack of its own",
        "Resources": resources,
    }


# The missing parts as steps, each a command: for users without a stack, and for changes that a stack cannot make.


@frozen
class AsJson:
    """A document that is one word of a command, or a string within another document."""

    document: Doc | list[Doc]


CommandWords = tuple[str | AsJson, ...]


@frozen
class _Step:
    """`about`: a sentence; `words`: one command."""

    about: str
    words: CommandWords


def repair_steps(missing: MissingLinks) -> Iterator[_Step]:
    """The steps in order, without the setting, which belongs to Helm."""
    name = missing.queue_name
    words: CommandWords
    if missing.queue:
        attributes: Doc = {"MessageRetentionPeriod": str(RETENTION_S), "SqsManagedSseEnabled": "true"}
        if missing.policy is not None:
            attributes["Policy"] = AsJson(missing.policy)
        words = ("aws", "sqs", "create-queue", "--queue-name", name, "--attributes", AsJson(attributes))
        yield _Step(f"The queue {name}, and who may send to it.", words)
    elif missing.policy is not None:
        attributes_changed: Doc = {"Policy": AsJson(missing.policy)}
        words = (
            "aws",
            "sqs",
            "set-queue-attributes",
            "--queue-url",
            missing.url,
            "--attributes",
            AsJson(attributes_changed),
        )
        yield _Step("The policy of the queue: every statement it has, and the one it lacks.", words)
    if missing.key_policy is not None:
        words = ("aws", "kms", "put-key-policy", "--key-id", missing.key, "--policy-name", "default", "--policy")
        yield _Step(
            "The policy of its key: every statement it has, and the one it lacks.",
            (*words, AsJson(missing.key_policy)),
        )
    for rule in missing.rules:
        yield from _rule_steps(missing, rule)
    if missing.rights and missing.role:
        document = rights_policy(missing.queue_arn, missing.key)
        policy = f"{name}-interruption-queue"
        words = ("aws", "iam", "put-role-policy", "--role-name", missing.role, "--policy-name", policy)
        yield _Step(
            f"What the role lacks: {', '.join(missing.rights)}.", (*words, "--policy-document", AsJson(document))
        )


def _rule_steps(missing: MissingLinks, rule: MissingRule) -> Iterator[_Step]:
    name = rule.there.name if rule.there is not None else f"{missing.queue_name}-{rule.kind.name}"[:64]
    words: CommandWords
    if rule.there is None:
        words = ("aws", "events", "put-rule", "--name", name, "--state", "ENABLED", "--event-pattern")
        yield _Step(f"The rule for {rule.kind.detail_type}.", (*words, AsJson(event_pattern(rule.kind))))
    elif rule.enable:
        yield _Step(f"Rule {name} is disabled.", ("aws", "events", "enable-rule", "--name", name))
    if rule.target:
        targets: list[Doc] = [{"Id": TARGET_ID, "Arn": missing.queue_arn}]
        words = ("aws", "events", "put-targets", "--rule", name, "--targets", AsJson(targets))
        yield _Step(f"Rule {name} sends to the queue.", words)
