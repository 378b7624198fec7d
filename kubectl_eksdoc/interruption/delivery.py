"""Links from EventBridge to the queue: whether the queue exists, accepts messages, and is sent all events for
Karpenter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kubectl_eksdoc.amazon import interruption
from kubectl_eksdoc.amazon.iam import IamMatch, IamRequest, PolicyDecision, Ruling, judged
from kubectl_eksdoc.amazon.interruption import EventKind, about, matches
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.findings import Code, Remedy, Subject, clause
from kubectl_eksdoc.model.interruption import EventRule, Queue, RuleTarget
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.quantities import Version

from .installs import InterruptionFacts, Link, unknown

EVENTS = "events.amazonaws.com"
KEY_ACTIONS = ("kms:Decrypt", "kms:GenerateDataKey")
NAMELESS = Unknown("which queue Karpenter reads is not known, so nothing can be held against it")
NOWHERE = Unknown("in which account and region the queue would be is not known")
UNNAMED = "unknown"
"""The subject where the name of the queue is unknown."""


def sent_by_rule(facts: InterruptionFacts, action: str, resource: str, rule: str) -> IamRequest:
    """The request that EventBridge makes for a rule (user guide, resource-based policies: aws:SourceArn is that of the
    rule)."""
    context = {
        "aws:sourcearn": rule,
        "aws:sourceaccount": facts.place.account,
        "aws:securetransport": "true",
        "aws:principalservicename": EVENTS,
        "aws:principalisawsservice": "true",
    }
    return IamRequest(action, resource, (("Service", EVENTS),), {key: value for key, value in context.items() if value})


def _subject(facts: InterruptionFacts) -> Subject:
    return Subject("Queue", facts.queue or UNNAMED)


def queue_link(facts: InterruptionFacts, version: Version | None, remedy: tuple[Remedy, ...]) -> Link:
    queue = facts.told.queue
    link = Link(Code.of("interruption-queue"), _subject(facts), remedy=remedy)
    if not facts.queue:
        return unknown(link, NAMELESS, "interruption-queue")
    if isinstance(queue, Unknown):
        return unknown(link, queue, "/queue")
    if isinstance(queue, Absent):
        ends = version is not None and version.older_than(interruption.since("missing-queue-is-logged"))
        runs = version is not None
        return link.fails("interruption-queue/absent", region=facts.place.region or "", ends=ends, runs=runs)
    kept, waiting = str(queue.retention_s or ""), str(queue.waiting or "")
    return link.passes("interruption-queue/there", name=queue.name, kept=kept, waiting=waiting)


def policy_link(facts: InterruptionFacts, remedy: tuple[Remedy, ...]) -> Link:
    queue = facts.told.queue
    later = clause("interruption-queue-policy/later")
    link = Link(Code.of("interruption-queue-policy"), _subject(facts), None, later, remedy=remedy)
    if not isinstance(queue, Queue):
        return link
    if isinstance(queue.policy, Unknown):
        return unknown(link, queue.policy, "interruption-queue-policy")
    if queue.policy is None:
        return link.fails("interruption-queue-policy/none")
    return _ruled(link, queue.policy, facts, queue)


def _ruled(link: Link, policy: Doc, facts: InterruptionFacts, queue: Queue) -> Link:
    rulings = _of_senders(facts, queue, policy, "sqs:SendMessage", queue.arn)
    allowed = [each for each in rulings if each.says is PolicyDecision.ALLOWED]
    if allowed:
        return link.passes(  # the other rules fail at their own links
            "interruption-queue-policy/sends",
            some=len(allowed) < len(rulings),
            allowed=len(allowed),
            count=len(rulings),
            why=allowed[0].why,
        )
    worst = _worst(rulings)
    if worst.says is PolicyDecision.UNKNOWN:
        return unknown(link, Unknown(f"whether {EVENTS} may send is not known: {worst.why}"), "/statement")
    denied = worst.says is PolicyDecision.DENIED
    return link.fails("interruption-queue-policy/may-not", queue=facts.queue, why=worst.why, denied=denied)


def _of_senders(facts: InterruptionFacts, queue: Queue, policy: Doc, action: str, resource: str) -> tuple[Ruling, ...]:
    """Rulings for each rule that sends to the queue, as conditions may name one; without such a rule, for a new one."""
    return tuple(judged([policy], sent_by_rule(facts, action, resource, arn)) for arn in _senders(facts, queue))


def _worst(rulings: Sequence[Ruling]) -> Ruling:
    order = (PolicyDecision.DENIED, PolicyDecision.NOTHING, PolicyDecision.UNKNOWN, PolicyDecision.ALLOWED)
    return min(rulings, key=lambda each: order.index(each.says))


def _senders(facts: InterruptionFacts, queue: Queue) -> list[str]:
    """ARNs of the rules with the queue as a target; without any, the ARN of a new rule."""
    return [rule.arn for rule in _rules(facts) if _calls(facts, rule, queue.arn)] or [_new_rule(facts)]


def _new_rule(facts: InterruptionFacts) -> str:
    return facts.place.arn("events", "rule/any")


def takes_new_rules(facts: InterruptionFacts) -> bool:
    """Whether a new rule may send to the existing queue: its policy may name other rules only."""
    queue = facts.told.queue
    if not isinstance(queue, Queue) or not isinstance(queue.policy, dict):
        return True  # otherwise it will be created, or is unknown
    return (
        judged([queue.policy], sent_by_rule(facts, "sqs:SendMessage", queue.arn, _new_rule(facts))).says
        is not PolicyDecision.NOTHING
    )


def key_link(facts: InterruptionFacts, remedy: tuple[Remedy, ...]) -> Link | None:
    """None where the queue has no KMS key."""
    queue, key = facts.told.queue, facts.told.key
    if not isinstance(queue, Queue) or not queue.key:
        return None
    link = Link(Code.of("interruption-queue-key"), Subject("Key", queue.key), remedy=remedy)
    if isinstance(key, Unknown):
        return unknown(link, key, "interruption-queue-key")
    if isinstance(key, Absent):
        return link.fails("interruption-queue-key/absent", key=queue.key)
    if key.manager == "AWS":
        return link.fails("interruption-queue-key/of-aws", key=queue.key)
    if not key.enabled:
        return link.fails("interruption-queue-key/disabled", key=queue.key)
    if isinstance(key.policy, Unknown):
        return unknown(link, key.policy, "interruption-queue-key")
    rulings = {action: _worst(_of_senders(facts, queue, key.policy, action, key.arn)) for action in KEY_ACTIONS}
    bad = [
        (action, each)
        for action, each in rulings.items()
        if each.says in (PolicyDecision.DENIED, PolicyDecision.NOTHING)
    ]
    if bad:
        return link.fails(
            "interruption-queue-key/may-not",
            actions=" and ".join(action for action, _ in bad),
            why=bad[0][1].why,
            denied=any(each.says is PolicyDecision.DENIED for _, each in bad),
        )
    for action, ruling in rulings.items():
        if ruling.says is PolicyDecision.UNKNOWN:
            why = f"whether {EVENTS} may {action} with the key of the queue is not known: {ruling.why}"
            return unknown(link, Unknown(why), "/statement")
    return link.passes("interruption-queue-key/used")


def _rules(facts: InterruptionFacts) -> tuple[EventRule, ...]:
    return facts.told.rules if isinstance(facts.told.rules, tuple) else ()


def known_of(facts: InterruptionFacts, kind: EventKind) -> Mapping[str, str]:
    """The fields that every event of the kind has."""
    said = {"account": facts.place.account, "region": facts.place.region}
    return {"source": kind.sent_by, "detail-type": kind.detail_type, **{k: v for k, v in said.items() if v}}


def candidates(facts: InterruptionFacts, version: Version | None) -> tuple[str, ...]:
    """Names of the rules that may match one of the kinds, so that their targets are worth a request."""
    kinds = interruption.kinds_of(version)
    return tuple(
        rule.name
        for rule in _rules(facts)
        if isinstance(rule.pattern, Unknown)
        or (isinstance(rule.pattern, dict) and any(about(rule.pattern, known_of(facts, kind)) for kind in kinds))
    )


def _targets(facts: InterruptionFacts, rule: EventRule) -> tuple[RuleTarget, ...] | Unknown:
    return facts.told.targets.get(rule.name, ())


def _calls(facts: InterruptionFacts, rule: EventRule, arn: str) -> bool:
    found = _targets(facts, rule)
    return isinstance(found, tuple) and any(each.arn == arn for each in found)


def rule_links(facts: InterruptionFacts, version: Version | None, remedy: tuple[Remedy, ...]) -> Iterator[Link]:
    """One link for each kind of event that this version reads."""
    for kind in interruption.kinds_of(version):
        link = Link(
            Code.of("interruption-rule"),
            Subject("Rule", kind.name),
            short=kind.short,
            vital=kind is interruption.spot(),
            evidence=(f"source {kind.sent_by}, detail-type {kind.detail_type}",),
            remedy=remedy,
        )
        made = _rule_link(link, facts, kind)
        without = _without_effect(facts, kind) if made.failed else ""
        yield replace(made, status=None, what=f"{made.what}; {without}", remedy=()) if without else made


def _without_effect(facts: InterruptionFacts, kind: EventKind) -> str:
    """Why missing events of this kind do no harm, or ""."""
    if kind.only_logged:
        return clause("interruption-rule/only-logged")
    nodes = facts.cluster.nodes
    if kind.of_capacity and nodes and not any(node.capacity_type == kind.of_capacity for node in nodes):
        return clause("interruption-rule/no-capacity", capacity=kind.of_capacity)
    return ""


def _rule_link(link: Link, facts: InterruptionFacts, kind: EventKind) -> Link:
    if isinstance(facts.told.rules, Unknown):
        return unknown(link, facts.told.rules, "interruption-rule/rules")
    if not facts.queue_arn:
        return unknown(link, NAMELESS if not facts.queue else NOWHERE, "/queue")
    tries = (_tried(link, facts, rule, kind) for rule in _rules(facts))
    rank, found = min(tries, key=lambda each: each[0], default=(_OTHER, link))
    return link.fails("interruption-rule/none") if rank == _OTHER else found


_DELIVERS, _UNSURE, _FORBIDDEN, _DISABLED, _SHAPED, _ELSEWHERE, _OTHER = range(7)


def _may_send(facts: InterruptionFacts, rule: EventRule) -> Ruling:
    """The ruling of the queue's policy if it treats rules differently; otherwise the link of the policy has it."""
    queue, whole = facts.told.queue, Ruling(PolicyDecision.ALLOWED, "")
    if not isinstance(queue, Queue) or not isinstance(queue.policy, dict):
        return whole
    rulings = _of_senders(facts, queue, queue.policy, "sqs:SendMessage", queue.arn)
    split = any(each.says is PolicyDecision.ALLOWED for each in rulings)
    return dict(zip(_senders(facts, queue), rulings, strict=True)).get(rule.arn, whole) if split else whole


def _tried(link: Link, facts: InterruptionFacts, rule: EventRule, kind: EventKind) -> tuple[int, Link]:
    """How close one rule comes to delivering this kind: a rank, and the link."""
    if rule.pattern is None:
        return _OTHER, link
    known = known_of(facts, kind)
    fits = IamMatch.MAYBE if isinstance(rule.pattern, Unknown) else matches(rule.pattern, known)
    meant = isinstance(rule.pattern, Unknown) or about(rule.pattern, known)
    if fits is IamMatch.NO:
        return _OTHER, link
    found = _targets(facts, rule)
    if isinstance(found, Unknown):
        return (_UNSURE, unknown(link, found, "interruption-rule/matches")) if meant else (_OTHER, link)
    mine = [each for each in found if each.arn == facts.queue_arn]
    if not mine:
        whole = meant and fits is IamMatch.YES and not found
        return (_ELSEWHERE, link.fails("interruption-rule/no-target", rule=rule.name)) if whole else (_OTHER, link)
    if not rule.enabled:
        return _DISABLED, link.fails("interruption-rule/disabled", rule=rule.name)
    if all(each.shaped for each in mine):
        return _SHAPED, link.fails("interruption-rule/shaped", rule=rule.name)
    ruling = _may_send(facts, rule)
    if ruling.says is PolicyDecision.UNKNOWN:
        why = Unknown(f"whether rule {rule.name} may send to the queue is not known: {ruling.why}")
        return _UNSURE, unknown(link, why, "interruption-rule/matches")
    if ruling.says is not PolicyDecision.ALLOWED:
        return _FORBIDDEN, link.fails("interruption-rule/forbidden", rule=rule.name, why=ruling.why)
    if fits is IamMatch.MAYBE:
        why = Unknown(f"rule {rule.name} may match some of them only: {_narrowed(rule, known)}")
        return _UNSURE, unknown(link, why, "interruption-rule/matches")
    return _DELIVERS, replace(link, what=rule.name, remedy=())


def _narrowed(rule: EventRule, known: Mapping[str, str]) -> str:
    if isinstance(rule.pattern, Unknown):
        return rule.pattern.why
    more = sorted(set(rule.pattern or ()) - set(known))
    return f"its pattern asks for {', '.join(more)} as well" if more else "its pattern is not understood here"


def failing_link(facts: InterruptionFacts, version: Version | None) -> Link | None:
    """None where no rule has metrics in CloudWatch."""
    names = [
        rule.name
        for rule in _rules(facts)
        if rule.name in candidates(facts, version) and _calls(facts, rule, facts.queue_arn)
    ]
    if not names:
        return None
    link = Link(Code.of("interruption-rule-fails"), _subject(facts), vital=False)
    figures = facts.told.figures
    if isinstance(figures, Unknown):
        return unknown(link, figures, "interruption-rule-fails")
    failed = {name: count for name in names if (count := figures.failed.get(name))}
    if failed:
        each = (f"rule {name}: {count} failed" for name, count in sorted(failed.items()))
        return link.fails("interruption-rule-fails/failed", *each, count=sum(failed.values()))
    matched = sum(figures.matched.get(name, 0) for name in names)
    return link.passes("interruption-rule-fails/none", matched=matched)
