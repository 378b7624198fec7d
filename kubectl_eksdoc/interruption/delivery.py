"""From EventBridge to the queue: whether it is there, takes what comes, and is sent all that Karpenter reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from kubectl_eksdoc.amazon import interruption
from kubectl_eksdoc.amazon.iam import IamMatch, IamRequest, PolicyDecision, Ruling, judged
from kubectl_eksdoc.amazon.interruption import EventKind, about, matches
from kubectl_eksdoc.interruption.installs import InterruptionFacts, Link, unknown
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.findings import Code, Remedy, Subject
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.quantities import Version
from kubectl_eksdoc.model.queues import EventRule, KmsKey, Queue, RuleTarget

EVENTS = "events.amazonaws.com"
KEY_ACTIONS = ("kms:Decrypt", "kms:GenerateDataKey")
NAMELESS = Unknown("which queue Karpenter reads is not known, so nothing can be held against it")
NOWHERE = Unknown("in which account and region the queue would be is not known")
NO_RULE = "no rule sends these events"
UNNAMED = "unknown"
"""The subject where the name of the queue is not known."""
_NEEDS_QUEUE = "to be seen once the queue is there"


def sent_by_rule(facts: InterruptionFacts, action: str, resource: str, rule: str) -> IamRequest:
    """What EventBridge asks when it sends for a rule (its user guide, resource-based policies: aws:SourceArn is that of
    the rule)."""
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
    link = Link(Code.of("interruption-queue"), "queue", _subject(facts), remedy=remedy)
    if not facts.queue:
        return unknown(link, NAMELESS, "the name of the queue")
    if isinstance(queue, Unknown):
        return unknown(link, queue, "the queue")
    if isinstance(queue, Absent):
        then = "Karpenter receives no events"
        if version is not None:
            ends = version.older_than(interruption.LOGS_SINCE)
            then = "Karpenter ends at its start" if ends else "Karpenter keeps running and receives no events"
        where = f" in {facts.place.region}" if facts.place.region else ""
        return link.fails(f"SQS has none of this name{where}: {then}")
    waiting = f", {queue.waiting} messages wait" if queue.waiting else ""
    kept = "is there" if queue.retention_s is None else f"is there, and keeps messages {queue.retention_s} s"
    return link.passes(f"{queue.name} {kept}{waiting}")


def policy_link(facts: InterruptionFacts, remedy: tuple[Remedy, ...]) -> Link:
    queue = facts.told.queue
    link = Link(
        Code.of("interruption-queue-policy"), "queue policy", _subject(facts), None, _NEEDS_QUEUE, remedy=remedy
    )
    if not isinstance(queue, Queue):
        return link
    if isinstance(queue.policy, Unknown):
        return unknown(link, queue.policy, "the policy of the queue")
    if queue.policy is None:
        return link.fails("the queue has no policy, so EventBridge may not send to it")
    return replace(_ruled(link, [queue.policy], facts, queue), evidence=())


def _ruled(link: Link, documents: list[Doc], facts: InterruptionFacts, queue: Queue) -> Link:
    """Of each rule that sends to it, as conditions may name one; where none does, of a rule that may be made."""
    arns = _senders(facts, queue)
    rulings = [judged(documents, sent_by_rule(facts, "sqs:SendMessage", queue.arn, arn)) for arn in arns]
    allowed = [each for each in rulings if each.says is PolicyDecision.ALLOWED]
    if allowed and len(allowed) < len(rulings):
        what = f"{EVENTS} may send for {len(allowed)} of {len(rulings)} rules ({allowed[0].why})"
        return link.passes(what)  # the others fail at their rules
    for says in (PolicyDecision.DENIED, PolicyDecision.NOTHING, PolicyDecision.UNKNOWN, PolicyDecision.ALLOWED):
        for arn, ruling in zip(arns, rulings, strict=True):
            if ruling.says is not says:
                continue
            if says is PolicyDecision.ALLOWED:
                return link.passes(f"{EVENTS} may send ({ruling.why})")
            if says is PolicyDecision.UNKNOWN:
                why = Unknown(f"whether {EVENTS} may send is not known: {ruling.why}")
                return unknown(link, why, "what the statement means")
            what = f"{EVENTS} may not sqs:SendMessage to {facts.queue}: {ruling.why}"
            remedy = () if says is PolicyDecision.NOTHING else (_not_denied(ruling),)
            return link.fails(what, *remedy, evidence=(f"for rule {arn}",))
    return link


def _not_denied(ruling: Ruling) -> Remedy:
    return Remedy(f"Take back what denies it: {ruling.why}.")


def _senders(facts: InterruptionFacts, queue: Queue) -> list[str]:
    """ARNs of the rules that call it; where none does, that of one that may be made."""
    return [rule.arn for rule in _rules(facts) if _calls(facts, rule, queue.arn)] or [_new_rule(facts)]


def _new_rule(facts: InterruptionFacts) -> str:
    return facts.place.arn("events", "rule/any")


def takes_new_rules(facts: InterruptionFacts) -> bool:
    """Whether a rule that is yet to be made may send to the queue that is there: its policy may name the others."""
    queue = facts.told.queue
    if not isinstance(queue, Queue) or not isinstance(queue.policy, dict):
        return True  # else it is made, or not known
    return (
        judged([queue.policy], sent_by_rule(facts, "sqs:SendMessage", queue.arn, _new_rule(facts))).says
        is not PolicyDecision.NOTHING
    )


def key_link(facts: InterruptionFacts, remedy: tuple[Remedy, ...]) -> Link | None:
    """None where the queue has no key of KMS: there is nothing to judge."""
    queue, key = facts.told.queue, facts.told.key
    if not isinstance(queue, Queue) or not queue.key:
        return None
    link = Link(Code.of("interruption-queue-key"), "queue key", Subject("Key", queue.key), remedy=remedy)
    if isinstance(key, Unknown):
        return unknown(link, key, "the policy of the key")
    if isinstance(key, Absent):
        return link.fails(f"there is no key {queue.key}: nothing can be sent", _SSE)
    if key.manager == "AWS":
        what = f"{queue.key} is a key that AWS manages: EventBridge may not use it, and its policy cannot be changed"
        return link.fails(what, _SSE)
    if not key.enabled:
        what = f"key {queue.key} is not enabled: nothing can be sent"
        return link.fails(what, Remedy("Enable it, or take another key."))
    if isinstance(key.policy, Unknown):
        return unknown(link, key.policy, "the policy of the key")
    return _key_ruled(link, facts, key, key.policy)


_SSE = Remedy("Let SQS encrypt the queue itself (SqsManagedSseEnabled), or give it a key of your own.")


def _key_ruled(link: Link, facts: InterruptionFacts, key: KmsKey, policy: Doc) -> Link:
    rulings = {action: _worst(facts, policy, action, key.arn) for action in KEY_ACTIONS}
    bad = [
        (action, each)
        for action, each in rulings.items()
        if each.says in (PolicyDecision.DENIED, PolicyDecision.NOTHING)
    ]
    if bad:
        actions = " and ".join(action for action, _ in bad)
        remedy = (_not_denied(bad[0][1]),) if any(each.says is PolicyDecision.DENIED for _, each in bad) else ()
        return link.fails(f"{EVENTS} may not {actions} with the key of the queue: {bad[0][1].why}", *remedy)
    for action, ruling in rulings.items():
        if ruling.says is PolicyDecision.UNKNOWN:
            why = f"whether {EVENTS} may {action} with the key of the queue is not known: {ruling.why}"
            return unknown(link, Unknown(why), "what the statement means")
    return link.passes(f"{EVENTS} may use it")


def _worst(facts: InterruptionFacts, policy: Doc, action: str, key: str) -> Ruling:
    """Of the rules that send."""
    queue = facts.told.queue
    senders = _senders(facts, queue) if isinstance(queue, Queue) else [_new_rule(facts)]
    rulings = [judged([policy], sent_by_rule(facts, action, key, arn)) for arn in senders]
    order = (PolicyDecision.DENIED, PolicyDecision.NOTHING, PolicyDecision.UNKNOWN, PolicyDecision.ALLOWED)
    return min(rulings, key=lambda each: order.index(each.says))


def _rules(facts: InterruptionFacts) -> tuple[EventRule, ...]:
    return facts.told.rules if isinstance(facts.told.rules, tuple) else ()


def known_of(facts: InterruptionFacts, kind: EventKind) -> Mapping[str, str]:
    """What every event of the kind has."""
    said = {"account": facts.place.account, "region": facts.place.region}
    return {"source": kind.sent_by, "detail-type": kind.detail_type, **{k: v for k, v in said.items() if v}}


def candidates(facts: InterruptionFacts, version: Version | None) -> tuple[str, ...]:
    """Names of the rules whose targets are worth a question: they may be for one of the kinds."""
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
    """One for each kind of event that this version reads."""
    for kind in interruption.kinds_of(version):
        link = Link(
            Code.of("interruption-rule"),
            f"rule: {kind.short}",
            Subject("Rule", kind.name),
            vital=kind is interruption.spot(),
            evidence=(f"source {kind.sent_by}, detail-type {kind.detail_type}",),
            remedy=remedy,
        )
        made = _rule_link(link, facts, kind)
        without = _without_effect(facts, kind) if made.failed else ""
        yield replace(made, status=None, what=f"{made.what}; {without}", remedy=()) if without else made


def _without_effect(facts: InterruptionFacts, kind: EventKind) -> str:
    """Why nothing is lost where its events do not arrive, "" where something is."""
    if kind.only_logged:
        return "Karpenter would only log them"
    nodes = facts.cluster.nodes
    if kind.of_capacity and nodes and not any(node.capacity_type == kind.of_capacity for node in nodes):
        return f"no node is of capacity type {kind.of_capacity}"
    return ""


def _rule_link(link: Link, facts: InterruptionFacts, kind: EventKind) -> Link:
    if isinstance(facts.told.rules, Unknown):
        return unknown(link, facts.told.rules, "the rules of EventBridge")
    if not facts.queue_arn:
        return unknown(link, NAMELESS if not facts.queue else NOWHERE, "the queue")
    tries = sorted((_tried(facts, rule, kind) for rule in _rules(facts)), key=lambda each: each[0])
    rank, what, why = next((each for each in tries if each[0] < _OTHER), (_OTHER, "", Unknown("")))
    if rank == _DELIVERS:
        return link.passes(what)
    if rank == _UNSURE:
        return unknown(link, why, "whether it matches all of them")
    if rank == _FORBIDDEN:
        return link.fails(what, Remedy("Allow that rule's ARN in the queue's policy, beside those that are there."))
    return link.fails(f"{NO_RULE} to the queue" if rank == _OTHER else what)


_DELIVERS, _UNSURE, _FORBIDDEN, _DISABLED, _SHAPED, _ELSEWHERE, _OTHER = range(7)


def _may_send(facts: InterruptionFacts, rule: EventRule) -> Ruling:
    """By the queue's policy, where that tells one rule from another; else the link of the policy says it."""
    queue, whole = facts.told.queue, Ruling(PolicyDecision.ALLOWED, "")
    if not isinstance(queue, Queue) or not isinstance(queue.policy, dict):
        return whole
    asked = {arn: sent_by_rule(facts, "sqs:SendMessage", queue.arn, arn) for arn in _senders(facts, queue)}
    rulings = {arn: judged([queue.policy], each) for arn, each in asked.items()}
    split = any(each.says is PolicyDecision.ALLOWED for each in rulings.values())
    return rulings.get(rule.arn, whole) if split else whole


def _tried(facts: InterruptionFacts, rule: EventRule, kind: EventKind) -> tuple[int, str, Unknown]:
    """How near one rule comes to delivering this kind: a rank, and what is so."""
    nothing = Unknown("")
    if rule.pattern is None:
        return _OTHER, "", nothing
    known = known_of(facts, kind)
    fits = IamMatch.MAYBE if isinstance(rule.pattern, Unknown) else matches(rule.pattern, known)
    meant = isinstance(rule.pattern, Unknown) or about(rule.pattern, known)
    if fits is IamMatch.NO:
        return _OTHER, "", nothing
    found = _targets(facts, rule)
    if isinstance(found, Unknown):
        return (_UNSURE, "", found) if meant else (_OTHER, "", nothing)
    mine = [each for each in found if each.arn == facts.queue_arn]
    if not mine:
        calls = "has no target" if not found else f"calls {found[0].arn}, and not the queue"
        whole = meant and fits is IamMatch.YES and not found
        return (_ELSEWHERE, f"rule {rule.name} {calls}", nothing) if whole else (_OTHER, "", nothing)
    if not rule.enabled:
        return _DISABLED, f"rule {rule.name} is disabled", nothing
    if all(each.shaped for each in mine):
        return _SHAPED, f"rule {rule.name} sends something else than the event, which Karpenter cannot read", nothing
    ruling = _may_send(facts, rule)
    if ruling.says is PolicyDecision.UNKNOWN:
        return _UNSURE, "", Unknown(f"whether rule {rule.name} may send to the queue is not known: {ruling.why}")
    if ruling.says is not PolicyDecision.ALLOWED:
        return _FORBIDDEN, f"the queue's policy does not let rule {rule.name} send: {ruling.why}", nothing
    if fits is IamMatch.MAYBE:
        return _UNSURE, "", Unknown(f"rule {rule.name} may match some of them only: {_narrowed(rule, known)}")
    return _DELIVERS, rule.name, nothing


def _narrowed(rule: EventRule, known: Mapping[str, str]) -> str:
    if isinstance(rule.pattern, Unknown):
        return rule.pattern.why
    more = sorted(set(rule.pattern or ()) - set(known))
    return f"its pattern asks for {', '.join(more)} as well" if more else "its pattern is not understood here"


def failing_link(facts: InterruptionFacts, version: Version | None) -> Link | None:
    """None where there is nothing of which CloudWatch could be asked."""
    names = [
        rule.name
        for rule in _rules(facts)
        if rule.name in candidates(facts, version) and _calls(facts, rule, facts.queue_arn)
    ]
    if not names:
        return None
    link = Link(Code.of("interruption-rule-fails"), "deliveries", _subject(facts), vital=False)
    figures = facts.told.figures
    if isinstance(figures, Unknown):
        return unknown(link, figures, "FailedInvocations of the rules")
    failed = {name: count for name in names if (count := figures.failed.get(name))}
    if failed:
        total = sum(failed.values())
        what = f"EventBridge failed to deliver {total} {'event' if total == 1 else 'events'} in the last day"
        text = "Check the policy of the queue and its key: they decide whether EventBridge may send."
        each = tuple(f"rule {name}: {count} failed" for name, count in sorted(failed.items()))
        return link.fails(what, Remedy(text), evidence=each)
    matched = sum(figures.matched.get(name, 0) for name in names)
    return link.passes(f"none failed in the last day; {matched} events matched")
