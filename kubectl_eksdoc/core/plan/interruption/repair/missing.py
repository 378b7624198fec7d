"""What has to be made or changed, by what was found: nothing that is in order is in it, and nothing that is not
known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_eksdoc.core.model import interruption_codes as codes
from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.aws.clusters import part_of
from kubectl_eksdoc.core.model.aws.queues import Key, Queue, RolePolicies, Rule
from kubectl_eksdoc.core.model.findings import Status
from kubectl_eksdoc.core.model.interruption import KarpenterInstall
from kubectl_eksdoc.core.plan.interruption.delivery import EVENTS, KEY_ACTIONS, NO_RULE, known_of, takes_new_rules
from kubectl_eksdoc.core.plan.interruption.facts import InterruptionFacts
from kubectl_eksdoc.core.plan.interruption.links import Link
from kubectl_eksdoc.core.plan.interruption.rights import DECRYPT, Role, lacking_of, role_of
from kubectl_eksdoc.core.rules import karpenter_versions as versions
from kubectl_eksdoc.core.rules.event_patterns import matches
from kubectl_eksdoc.core.rules.iam_policies import Fits, merged
from kubectl_eksdoc.core.rules.karpenter_versions import EventKind

TARGET_ID = "KarpenterInterruptionQueueTarget"
RETENTION_S = 300


@dataclass(frozen=True, slots=True)
class MissingRule:
    """`there`: a rule of that kind that is to be mended, None where one is to be made; `enable`: it is disabled,
    `target`: it lacks the queue as its target, or gives it something else than the event."""

    kind: EventKind
    there: Rule | None = None
    enable: bool = False
    target: bool = True


@dataclass(frozen=True, slots=True)
class Missing:
    """`policy`: the whole policy the queue is to have, None where its own will do; `key_policy`: of the key `key`;
    `rights`: actions that `role` (a name) lacks, on the queue and `key`. `not_known`: what may be missing as well;
    `for_a_person`: what fails, and nothing that is made would mend."""

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
    for_a_person: tuple[str, ...] = ()

    @property
    def region(self) -> str:
        """Of the queue."""
        return part_of(self.queue_arn, 3)

    @property
    def account(self) -> str:
        return part_of(self.queue_arn, 4)

    @property
    def in_stack(self) -> bool:
        """Whether a stack of its own can make any of it."""
        return bool(self.queue or self.policy or self.rules or (self.rights and self.role))

    @property
    def beside_stack(self) -> tuple[str, ...]:
        """What lacks as well, and no stack of its own can make."""
        key = ("the policy of the queue's key, which is there already: --print commands",) if self.key_policy else ()
        return (*key, *(("the setting: --print helm-values",) if self.setting else ()))

    @property
    def anything(self) -> bool:
        return self.in_stack or self.setting or self.key_policy is not None or bool(self.rights)


def missing(facts: InterruptionFacts, install: KarpenterInstall, links: Sequence[Link]) -> Missing:
    failed = {each.code for each in links if each.failed}
    queue, key = facts.told.queue, facts.told.key
    role = role_of(install, facts.told.identity)
    arn, made = facts.queue_arn, {each.code for each in links if each.failed and each.made}
    policies, rules = facts.told.policies, tuple(_rule(facts, kind) for kind in _kinds(links, install))
    # A stack makes new rules even where one is there that could be mended.
    refused = bool(rules) and not takes_new_rules(facts)
    rights = lacking_of(facts, policies, install) if isinstance(policies, RolePolicies) else ()
    return Missing(
        facts.queue,
        arn,
        codes.QUEUE in failed,
        queue.url if isinstance(queue, Queue) else "",
        _policy(arn, install, queue) if {codes.QUEUE, codes.POLICY} & made or refused else None,
        key.arn if isinstance(key, Key) else "",
        _key_policy(key) if codes.KEY in made else None,
        rules,
        rights if codes.RIGHTS in failed else (),
        role.arn.rpartition("/")[2] if isinstance(role, Role) else "",
        codes.SETTING in failed,
        tuple(f"{each.name}: {each.what}" for each in links if each.status is Status.UNKNOWN and each.code in _MADE),
        tuple(f"{each.name}: {each.what}" for each in links if each.failed and not each.made and each.code in _MADE),
    )


def _policy(arn: str, install: KarpenterInstall, queue: object) -> Doc | None:
    """Of a queue that is there only what lets EventBridge send is added: who else uses it, and how, is not known."""
    if not isinstance(queue, Queue):
        more = [deny_http_statement(arn)] if versions.denies_http(install.version) else []
        return merged(None, [allow_statement(arn), *more])
    return None if isinstance(queue.policy, Unknown) else merged(queue.policy, [allow_statement(arn)])


def _key_policy(key: object) -> Doc | None:
    return merged(key.policy, [key_statement()]) if isinstance(key, Key) and isinstance(key.policy, dict) else None


_MADE = (codes.SETTING, codes.QUEUE, codes.POLICY, codes.KEY, codes.RULE, codes.RIGHTS)


def _kinds(links: Sequence[Link], install: KarpenterInstall) -> list[EventKind]:
    """With those whose lack does no harm, where a rule is made at all: the stack is then that of the documentation."""
    rules = [each for each in links if each.code is codes.RULE]
    any_made = any(each.failed for each in rules)
    names = {each.subject.name for each in rules if each.failed or (any_made and each.what.startswith(NO_RULE))}
    return [kind for kind in versions.kinds_of(install.version) if kind.name in names]


def _rule(facts: InterruptionFacts, kind: EventKind) -> MissingRule:
    """One that matches all of the kind and lacks a target or is disabled is mended; one that calls something else is
    somebody else's, and left alone."""
    rules = facts.told.rules if isinstance(facts.told.rules, tuple) else ()
    for rule in rules:
        if not isinstance(rule.pattern, dict) or matches(rule.pattern, known_of(facts, kind)) is not Fits.YES:
            continue
        if "detail-type" not in rule.pattern and "source" not in rule.pattern:
            continue
        targets = facts.told.targets.get(rule.name, ())
        if not isinstance(targets, tuple):
            continue
        mine = [each for each in targets if each.arn == facts.queue_arn]
        if mine or not targets:
            return MissingRule(kind, rule, not rule.enabled, not mine or all(each.shaped for each in mine))
    return MissingRule(kind)


def allow_statement(arn: str) -> Doc:
    """As Karpenter's documentation has it."""
    return {
        "Sid": "EC2InterruptionPolicy",
        "Effect": "Allow",
        "Principal": {"Service": [EVENTS, "sqs.amazonaws.com"]},
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
        "Principal": {"Service": EVENTS},
        "Action": list(KEY_ACTIONS),
        "Resource": "*",
    }


def rights_policy(arn: str, install: KarpenterInstall, key: str = "") -> Doc:
    """All that the controller needs of the queue, whatever of it is there already."""
    statements: list[Doc] = [
        {
            "Sid": "AllowInterruptionQueueActions",
            "Effect": "Allow",
            "Action": list(versions.ACTIONS),
            "Resource": arn,
        }
    ]
    if key:
        statements.append({"Sid": "AllowInterruptionQueueKey", "Effect": "Allow", "Action": [DECRYPT], "Resource": key})
    return {"Version": "2012-10-17", "Statement": statements}


def helm_values(name: str, install: KarpenterInstall) -> Doc:
    """What is merged into the chart's values, by the key that its version reads."""
    values: Doc | str = name
    for key in reversed(versions.helm_key(install.version)):
        values = {key: values}
    return values if isinstance(values, dict) else {}


def pattern(kind: EventKind) -> Doc:
    return {"source": [kind.source], "detail-type": [kind.detail_type]}
