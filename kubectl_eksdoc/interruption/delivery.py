"""Links from EventBridge to the queue: whether the queue exists, accepts messages, and is sent all events for
Karpenter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kubectl_eksdoc.amazon import interruption
from kubectl_eksdoc.amazon.iam import IamMatch, IamRequest, PolicyDecision, PolicyRuling, judge_policies
from kubectl_eksdoc.amazon.interruption import EventKind, is_about_event, match_event
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.findings import Code, Remedy, Subject, clause
from kubectl_eksdoc.model.interruption import EventRule, Queue, RuleTarget
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.quantities import Version

from .installs import InterruptionFacts, Link, unknown_link

EVENTBRIDGE = "events.amazonaws.com"
KEY_ACTIONS = ("kms:Decrypt", "kms:GenerateDataKey")
QUEUE_UNKNOWN = Unknown("which queue Karpenter reads is not known, so nothing can be held against it")
QUEUE_PLACE_UNKNOWN = Unknown("in which account and region the queue would be is not known")
UNKNOWN_NAME = "unknown"
"""The subject where the name of the queue is unknown."""


def rule_send_request(facts: InterruptionFacts, action: str, resource: str, rule: str) -> IamRequest:
    """The request that EventBridge makes for a rule (user guide, resource-based policies: aws:SourceArn is that of the
    rule)."""
    context = {
        "aws:sourcearn": rule,
        "aws:sourceaccount": facts.place.account,
        "aws:securetransport": "true",
        "aws:principalservicename": EVENTBRIDGE,
        "aws:principalisawsservice": "true",
    }
    return IamRequest(
        action, resource, (("Service", EVENTBRIDGE),), {key: value for key, value in context.items() if value}
    )


def _subject(facts: InterruptionFacts) -> Subject:
    return Subject("Queue", facts.queue or UNKNOWN_NAME)


def queue_link(facts: InterruptionFacts, version: Version | None, remedy: tuple[Remedy, ...]) -> Link:
    queue = facts.told.queue
    link = Link(Code.of("interruption-queue"), _subject(facts), remedy=remedy)
    if not facts.queue:
        return unknown_link(link, QUEUE_UNKNOWN, "interruption-queue")
    if isinstance(queue, Unknown):
        return unknown_link(link, queue, "/queue")
    if isinstance(queue, Absent):
        controller_ends = version is not None and version.older_than(
            interruption.supported_since("missing-queue-is-logged")
        )
        version_known = version is not None
        return link.fails(
            "interruption-queue/absent", region=facts.place.region or "", ends=controller_ends, runs=version_known
        )
    retention, waiting = str(queue.retention_s or ""), str(queue.waiting or "")
    return link.passes("interruption-queue/there", name=queue.name, kept=retention, waiting=waiting)


def policy_link(facts: InterruptionFacts, remedy: tuple[Remedy, ...]) -> Link:
    queue = facts.told.queue
    later_text = clause("interruption-queue-policy/later")
    link = Link(Code.of("interruption-queue-policy"), _subject(facts), None, later_text, remedy=remedy)
    if not isinstance(queue, Queue):
        return link
    if isinstance(queue.policy, Unknown):
        return unknown_link(link, queue.policy, "interruption-queue-policy")
    if queue.policy is None:
        return link.fails("interruption-queue-policy/none")
    return _judged_policy_link(link, queue.policy, facts, queue)


def _judged_policy_link(link: Link, policy: Doc, facts: InterruptionFacts, queue: Queue) -> Link:
    rulings = _sender_rulings(facts, queue, policy, "sqs:SendMessage", queue.arn)
    allowed = [each for each in rulings if each.decision is PolicyDecision.ALLOWED]
    if allowed:
        return link.passes(  # the other rules fail at their own links
            "interruption-queue-policy/sends",
            some=len(allowed) < len(rulings),
            allowed=len(allowed),
            count=len(rulings),
            why=allowed[0].reason,
        )
    worst = _worst_ruling(rulings)
    if worst.decision is PolicyDecision.UNKNOWN:
        return unknown_link(link, Unknown(f"whether {EVENTBRIDGE} may send is not known: {worst.reason}"), "/statement")
    denied = worst.decision is PolicyDecision.DENIED
    return link.fails("interruption-queue-policy/may-not", queue=facts.queue, why=worst.reason, denied=denied)


def _sender_rulings(
    facts: InterruptionFacts, queue: Queue, policy: Doc, action: str, resource: str
) -> tuple[PolicyRuling, ...]:
    """Rulings for each rule that sends to the queue, as conditions may name one; without such a rule, for a new one."""
    return tuple(
        judge_policies([policy], rule_send_request(facts, action, resource, arn)) for arn in _sender_arns(facts, queue)
    )


def _worst_ruling(rulings: Sequence[PolicyRuling]) -> PolicyRuling:
    order = (PolicyDecision.DENIED, PolicyDecision.NOTHING, PolicyDecision.UNKNOWN, PolicyDecision.ALLOWED)
    return min(rulings, key=lambda each: order.index(each.decision))


def _sender_arns(facts: InterruptionFacts, queue: Queue) -> list[str]:
    """ARNs of the rules with the queue as a target; without any, the ARN of a new rule."""
    return [rule.arn for rule in _rules(facts) if _has_target(facts, rule, queue.arn)] or [_new_rule(facts)]


def _new_rule(facts: InterruptionFacts) -> str:
    return facts.place.arn("events", "rule/any")


def accepts_new_rules(facts: InterruptionFacts) -> bool:
    """Whether a new rule may send to the existing queue: its policy may name other rules only."""
    queue = facts.told.queue
    if not isinstance(queue, Queue) or not isinstance(queue.policy, dict):
        return True  # otherwise it will be created, or is unknown
    return (
        judge_policies(
            [queue.policy], rule_send_request(facts, "sqs:SendMessage", queue.arn, _new_rule(facts))
        ).decision
        is not PolicyDecision.NOTHING
    )


def key_link(facts: InterruptionFacts, remedy: tuple[Remedy, ...]) -> Link | None:
    """None where the queue has no KMS key."""
    queue, key = facts.told.queue, facts.told.key
    if not isinstance(queue, Queue) or not queue.key:
        return None
    link = Link(Code.of("interruption-queue-key"), Subject("Key", queue.key), remedy=remedy)
    if isinstance(key, Unknown):
        return unknown_link(link, key, "interruption-queue-key")
    if isinstance(key, Absent):
        return link.fails("interruption-queue-key/absent", key=queue.key)
    if key.manager == "AWS":
        return link.fails("interruption-queue-key/of-aws", key=queue.key)
    if not key.enabled:
        return link.fails("interruption-queue-key/disabled", key=queue.key)
    if isinstance(key.policy, Unknown):
        return unknown_link(link, key.policy, "interruption-queue-key")
    rulings = {
        action: _worst_ruling(_sender_rulings(facts, queue, key.policy, action, key.arn)) for action in KEY_ACTIONS
    }
    refused = [
        (action, each)
        for action, each in rulings.items()
        if each.decision in (PolicyDecision.DENIED, PolicyDecision.NOTHING)
    ]
    if refused:
        return link.fails(
            "interruption-queue-key/may-not",
            actions=" and ".join(action for action, _ in refused),
            why=refused[0][1].reason,
            denied=any(each.decision is PolicyDecision.DENIED for _, each in refused),
        )
    for action, ruling in rulings.items():
        if ruling.decision is PolicyDecision.UNKNOWN:
            why = f"whether {EVENTBRIDGE} may {action} with the key of the queue is not known: {ruling.reason}"
            return unknown_link(link, Unknown(why), "/statement")
    return link.passes("interruption-queue-key/used")


def _rules(facts: InterruptionFacts) -> tuple[EventRule, ...]:
    return facts.told.rules if isinstance(facts.told.rules, tuple) else ()


def known_event_fields(facts: InterruptionFacts, kind: EventKind) -> Mapping[str, str]:
    """The fields that every event of the kind has."""
    place_fields = {"account": facts.place.account, "region": facts.place.region}
    return {"source": kind.sent_by, "detail-type": kind.detail_type, **{k: v for k, v in place_fields.items() if v}}


def candidate_rules(facts: InterruptionFacts, version: Version | None) -> tuple[str, ...]:
    """Names of the rules that may match one of the kinds, so that their targets are worth a request."""
    kinds = interruption.event_kinds_of(version)
    return tuple(
        rule.name
        for rule in _rules(facts)
        if isinstance(rule.pattern, Unknown)
        or (
            isinstance(rule.pattern, dict)
            and any(is_about_event(rule.pattern, known_event_fields(facts, kind)) for kind in kinds)
        )
    )


def _targets(facts: InterruptionFacts, rule: EventRule) -> tuple[RuleTarget, ...] | Unknown:
    return facts.told.targets.get(rule.name, ())


def _has_target(facts: InterruptionFacts, rule: EventRule, arn: str) -> bool:
    targets = _targets(facts, rule)
    return isinstance(targets, tuple) and any(each.arn == arn for each in targets)


def rule_links(facts: InterruptionFacts, version: Version | None, remedy: tuple[Remedy, ...]) -> Iterator[Link]:
    """One link for each kind of event that this version reads."""
    for kind in interruption.event_kinds_of(version):
        link = Link(
            Code.of("interruption-rule"),
            Subject("Rule", kind.name),
            event_kind=kind.short,
            vital=kind is interruption.spot_notice(),
            evidence=(f"source {kind.sent_by}, detail-type {kind.detail_type}",),
            remedy=remedy,
        )
        rule_link = _rule_link(link, facts, kind)
        harmless_reason = _harmless_reason(facts, kind) if rule_link.failed else ""
        yield (
            replace(rule_link, status=None, what=f"{rule_link.what}; {harmless_reason}", remedy=())
            if harmless_reason
            else rule_link
        )


def _harmless_reason(facts: InterruptionFacts, kind: EventKind) -> str:
    """Why missing events of this kind do no harm, or ""."""
    if kind.only_logged:
        return clause("interruption-rule/only-logged")
    nodes = facts.cluster.nodes
    if kind.of_capacity and nodes and not any(node.capacity_type == kind.of_capacity for node in nodes):
        return clause("interruption-rule/no-capacity", capacity=kind.of_capacity)
    return ""


def _rule_link(link: Link, facts: InterruptionFacts, kind: EventKind) -> Link:
    if isinstance(facts.told.rules, Unknown):
        return unknown_link(link, facts.told.rules, "interruption-rule/rules")
    if not facts.queue_arn:
        return unknown_link(link, QUEUE_UNKNOWN if not facts.queue else QUEUE_PLACE_UNKNOWN, "/queue")
    ranked = (_rank_rule(link, facts, rule, kind) for rule in _rules(facts))
    rank, best = min(ranked, key=lambda each: each[0], default=(_OTHER, link))
    return link.fails("interruption-rule/none") if rank == _OTHER else best


_DELIVERS, _UNSURE, _FORBIDDEN, _DISABLED, _SHAPED, _ELSEWHERE, _OTHER = range(7)


def _may_send(facts: InterruptionFacts, rule: EventRule) -> PolicyRuling:
    """The ruling of the queue's policy if it treats rules differently; otherwise the link of the policy has it."""
    queue, allowed = facts.told.queue, PolicyRuling(PolicyDecision.ALLOWED, "")
    if not isinstance(queue, Queue) or not isinstance(queue.policy, dict):
        return allowed
    rulings = _sender_rulings(facts, queue, queue.policy, "sqs:SendMessage", queue.arn)
    differs = any(each.decision is PolicyDecision.ALLOWED for each in rulings)
    return dict(zip(_sender_arns(facts, queue), rulings, strict=True)).get(rule.arn, allowed) if differs else allowed


def _rank_rule(link: Link, facts: InterruptionFacts, rule: EventRule, kind: EventKind) -> tuple[int, Link]:
    """How close one rule comes to delivering this kind: a rank, and the link."""
    if rule.pattern is None:
        return _OTHER, link
    known = known_event_fields(facts, kind)
    match = IamMatch.MAYBE if isinstance(rule.pattern, Unknown) else match_event(rule.pattern, known)
    is_about_kind = isinstance(rule.pattern, Unknown) or is_about_event(rule.pattern, known)
    if match is IamMatch.NO:
        return _OTHER, link
    rule_targets = _targets(facts, rule)
    if isinstance(rule_targets, Unknown):
        return (
            (_UNSURE, unknown_link(link, rule_targets, "interruption-rule/matches"))
            if is_about_kind
            else (_OTHER, link)
        )
    queue_targets = [each for each in rule_targets if each.arn == facts.queue_arn]
    if not queue_targets:
        is_complete = is_about_kind and match is IamMatch.YES and not rule_targets
        return (
            (_ELSEWHERE, link.fails("interruption-rule/no-target", rule=rule.name)) if is_complete else (_OTHER, link)
        )
    if not rule.enabled:
        return _DISABLED, link.fails("interruption-rule/disabled", rule=rule.name)
    if all(each.shaped for each in queue_targets):
        return _SHAPED, link.fails("interruption-rule/shaped", rule=rule.name)
    ruling = _may_send(facts, rule)
    if ruling.decision is PolicyDecision.UNKNOWN:
        why = Unknown(f"whether rule {rule.name} may send to the queue is not known: {ruling.reason}")
        return _UNSURE, unknown_link(link, why, "interruption-rule/matches")
    if ruling.decision is not PolicyDecision.ALLOWED:
        return _FORBIDDEN, link.fails("interruption-rule/forbidden", rule=rule.name, why=ruling.reason)
    if match is IamMatch.MAYBE:
        why = Unknown(f"rule {rule.name} may match some of them only: {_narrowing_text(rule, known)}")
        return _UNSURE, unknown_link(link, why, "interruption-rule/matches")
    return _DELIVERS, replace(link, what=rule.name, remedy=())


def _narrowing_text(rule: EventRule, known: Mapping[str, str]) -> str:
    if isinstance(rule.pattern, Unknown):
        return rule.pattern.why
    other_fields = sorted(set(rule.pattern or ()) - set(known))
    return (
        f"its pattern asks for {', '.join(other_fields)} as well"
        if other_fields
        else "its pattern is not understood here"
    )


def failing_link(facts: InterruptionFacts, version: Version | None) -> Link | None:
    """None where no rule that may match sends to the queue: there is nothing to ask CloudWatch about."""
    names = [
        rule.name
        for rule in _rules(facts)
        if rule.name in candidate_rules(facts, version) and _has_target(facts, rule, facts.queue_arn)
    ]
    if not names:
        return None
    link = Link(Code.of("interruption-rule-fails"), _subject(facts), vital=False)
    figures = facts.told.figures
    if isinstance(figures, Unknown):
        return unknown_link(link, figures, "interruption-rule-fails")
    failed = {name: count for name in names if (count := figures.failed.get(name))}
    if failed:
        texts = (f"rule {name}: {count} failed" for name, count in sorted(failed.items()))
        return link.fails("interruption-rule-fails/failed", *texts, count=sum(failed.values()))
    matched = sum(figures.matched.get(name, 0) for name in names)
    return link.passes("interruption-rule-fails/none", matched=matched)
