"""Plan of ``interruption``: every link, the effect of the next interruption, the findings, and the missing parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from kubectl_eksdoc.amazon.interruption import spot
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import in_turn, shell
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Status, Subject
from kubectl_eksdoc.model.interruption import KarpenterInstall
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.missing_rights import as_read, learned
from kubectl_eksdoc.model.nodes import NodeOwner
from kubectl_eksdoc.model.permissions import how_to

from . import delivery, outage, rights
from .installs import InterruptionFacts, Link, handled, setting_link
from .outage import InterruptionOutage
from .repair import FILE, MissingLinks, creates, missing_links
from .rights import Handler, handler_findings, handlers
from .spot import life_link, log_link, spot_nodes


@frozen
class InterruptionOptions:
    """`queue`: the name from the user, "" for the configured one. `connection_args`: the command-line arguments that
    lead to the same cluster."""

    queue: str = ""
    again: tuple[str, ...] = ()

    def printed(self, what: str) -> str:
        """The command that prints one of the documents."""
        more = ("--queue", self.queue) if self.queue else ()
        return shell("kubectl", "eksdoc", "interruption", *self.again, *more, "--print", what)

    @property
    def profile(self) -> str:
        """The AWS profile that the user gave: without it the printed commands would use other credentials."""
        return next((value for flag, value in pairwise(self.again) if flag == "--profile"), "")


@frozen
class InterruptionPlan:
    """`missing` is None without a Karpenter that could be repaired."""

    facts: InterruptionFacts
    links: tuple[Link, ...]
    outage: InterruptionOutage
    handlers: tuple[Handler, ...]
    findings: tuple[Finding, ...]
    missing: MissingLinks | None = None
    stack: str = ""

    @property
    def to_queue(self) -> dict[str, bool | None]:
        """Whether EventBridge delivers each kind of event to the queue, by its name; None: unknown."""
        return to_queue(self.links)

    @property
    def to_karpenter(self) -> bool | None:
        """Whether Karpenter reads the queue; None: unknown."""
        return to_karpenter(self.links)

    @property
    def install(self) -> KarpenterInstall | None:
        return self.facts.install if isinstance(self.facts.install, KarpenterInstall) else None


def plan_interruption(facts: InterruptionFacts, wish: InterruptionOptions = InterruptionOptions()) -> InterruptionPlan:
    links = tuple(_links(facts, facts.install, wish)) if isinstance(facts.install, KarpenterInstall) else ()
    by_karpenter = _drains(facts, links)
    there = handlers(facts.cluster)
    spots = {each.name for each in spot_nodes(facts)}
    by_handler = bool(spots) and spots <= {name for each in there for name in each.ready}
    by_queue = by_karpenter is False and any(not each.by_node for each in there)
    foreseen = outage.foresee(
        facts,
        True if by_handler and by_karpenter is not True else None if by_queue else by_karpenter,
        "the AWS Node Termination Handler" if by_handler and by_karpenter is not True else outage.KARPENTER,
    )
    spot = bool(foreseen.nodes)
    found = [
        *outage.judged(facts, foreseen, wish.again),
        *_unread(facts),
        *_of_install(facts, foreseen),
        *_of_links(links, spot),
        *_perhaps_shared(facts),
        *handler_findings(facts.cluster, there, by_karpenter),
        *outage.others_spot(facts, {name for each in there for name in each.ready}),
    ]
    needed = missing_links(facts, facts.install, links) if isinstance(facts.install, KarpenterInstall) else None
    told = as_read(_told_once(_worst_first(found)), facts.cluster.source)
    return InterruptionPlan(facts, links, foreseen, there, told, needed, stack_name(facts))


def _unread(facts: InterruptionFacts) -> Iterator[Finding]:
    for read in facts.cluster.unread(kinds.NODES, kinds.PODS):
        yield Finding.of(
            "interruption-outage/lists-unread",
            Subject("Cluster", facts.cluster.identity.name),
            (read.detail,),
            remedy=(learned(read.lack),),
            plural=read.resource.plural,
            full_name=read.resource.full_name,
        )


def _perhaps_shared(facts: InterruptionFacts) -> Iterator[Finding]:
    """A queue that may have other readers: AWS does not report readers; Karpenter's own templates name the queue after
    the cluster."""
    if not isinstance(facts.install, KarpenterInstall):
        return
    cluster = facts.install.cluster_name or facts.cluster.identity.cluster
    if not cluster or not facts.queue or _named_after(facts.queue, cluster):
        return
    yield Finding.of(
        "interruption-queue",
        Subject("Queue", facts.queue),
        ("Karpenter deletes every message that it reads (karpenter-provider-aws, pkg/controllers/interruption)",),
        cluster=cluster,
    )


_PLAIN = {"", "karpenter", "interruption", "interruptions", "queue", "sqs", "spot", "events", "eks"}


def _named_after(queue: str, cluster: str) -> bool:
    """``Karpenter-shop`` is named after shop; ``demo-shop`` may be named after another cluster."""
    before, found, after = queue.partition(cluster)
    return bool(found) and {word.lower() for word in re.split(r"[-_.]", f"{before}-{after}")} <= _PLAIN


def stack_name(facts: InterruptionFacts) -> str:
    """A name that CloudFormation accepts: letters, digits and hyphens, a letter first, 128 characters at most."""
    plain = "".join(each if each.isascii() and each.isalnum() else "-" for each in f"{facts.queue}-interruption")
    return (plain if plain[:1].isalpha() else f"k-{plain}")[:128]


def _drains(facts: InterruptionFacts, links: Sequence[Link]) -> bool | None:
    """Whether Karpenter drains at a notice: EventBridge delivers it, and Karpenter reads it."""
    if isinstance(facts.install, Unknown):
        return None
    return _both(to_queue(links).get(spot().short, False), to_karpenter(links)) if links else False


def _both(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return True if one and other else None


_SENDING = ("interruption-queue", "interruption-queue-policy", "interruption-queue-key")
"""Links that all kinds of events share, up to the queue."""


def to_queue(links: Sequence[Link]) -> dict[str, bool | None]:
    shared = handled(each for each in links if each.code.name in _SENDING)
    rules = [each for each in links if each.code.name == "interruption-rule"]
    return {each.short: _both(shared, _there(each)) for each in rules}


def _there(link: Link) -> bool | None:
    if link.status is None:  # it fails, and does no harm
        return False
    return None if link.status is Status.UNKNOWN else link.status is Status.PASS


def to_karpenter(links: Sequence[Link]) -> bool | None:
    """Whether Karpenter reads the queue. Activity proves it even where links are unknown, but does not prove that
    EventBridge delivers events."""
    alive = any(each.code.name == "interruption-sign-of-life" and each.status is Status.PASS for each in links)
    behind = [
        each
        for each in links
        if each.code.name not in ("interruption-queue-policy", "interruption-queue-key", "interruption-rule")
    ]
    return handled(
        each for each in behind if not (alive and each.code.name in _READING and each.status is Status.UNKNOWN)
    )


_READING = ("interruption-setting", "interruption-rights", "interruption-provider-fails")
"""Links after the queue."""


def _links(facts: InterruptionFacts, install: KarpenterInstall, wish: InterruptionOptions) -> Iterator[Link]:
    version = install.version
    made_of_it = creates(stack_name(facts), facts.place.region, wish.profile)
    deploy = in_turn(f"{wish.printed('stack')} > {FILE}", made_of_it)
    first = Remedy.of("make-stack", command=deploy)
    printed = Remedy.of("put-policy", command=wish.printed("commands"))
    made: list[Link] = [setting_link(install, wish.queue, wish.printed("helm-values"))]
    made.append(delivery.queue_link(facts, version, (first,)))
    made.append(delivery.policy_link(facts, (printed,)))
    key = delivery.key_link(facts, (printed,))
    made += [key] if key is not None else []
    made += delivery.rule_links(facts, version, (first,))
    made.append(rights.rights_link(facts, install, (first,)))
    made.append(log_link(facts, install))
    failing = delivery.failing_link(facts, version)
    made += [failing] if failing is not None else []
    broken, named = any(each.vital and each.failed for each in made), made[0].status is Status.PASS
    made.append(life_link(facts, install, broken, named))
    yield from made


def _worst_first(findings: Sequence[Finding]) -> list[Finding]:
    """Findings of the same severity stay in the order of the chain: earlier links are fixed first."""
    return sorted(findings, key=lambda each: (each.status.rank, each.severity.rank))


def _told_once(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Only the first finding keeps the long command; later ones refer to it."""
    told: set[Remedy] = set()
    same = Remedy.of("same-stack")
    for each in findings:
        stacks = [remedy for remedy in each.remedy if " cloudformation create-stack " in remedy.command]
        if any(remedy in told for remedy in stacks):
            each = replace(each, remedy=tuple(same if remedy in told else remedy for remedy in each.remedy))
        told.update(stacks)
        yield each


def _of_links(links: Sequence[Link], spot: bool) -> Iterator[Finding]:
    """Rules that are missing for the same reason become one finding."""
    merged: dict[tuple[object, ...], list[Link]] = {}
    for each in links:
        alike = each.code.name == "interruption-rule" and each.status is not None and each.status is not Status.PASS
        why = each.what if each.status is Status.UNKNOWN else ""
        lacks = alike and (each.status is Status.UNKNOWN or each.text == "interruption-rule/none")
        key = (each.code, each.status, why) if lacks else (each.code, each.name)
        merged.setdefault(key, []).append(each)
    for several in merged.values():
        symptom = several[0].code.name == "interruption-provider-fails" and any(
            e.failed and e.vital and e.code.name != "interruption-provider-fails" for e in links
        )
        finding = several[0].finding(Severity.MEDIUM if symptom else _severity(several, spot))
        if finding is None:
            continue
        if len(several) == 1:
            yield finding
            continue
        evidence = tuple(f"{each.subject.name}: {', '.join(each.evidence)}" for each in several)
        subject = Subject("Rules", ", ".join(each.short for each in several))
        of_all = Finding.of(
            "interruption-rule/kinds-unknown" if finding.status is Status.UNKNOWN else "interruption-rule/kinds-none",
            subject,
            severity=finding.severity,
            remedy=finding.remedy,
            count=len(several),
            what=several[0].what,
        )
        yield replace(finding, subject=subject, message=of_all.message, evidence=evidence)


def _severity(several: Sequence[Link], spot: bool) -> Severity:
    vital = any(each.vital for each in several)
    if several[0].status is Status.UNKNOWN:
        return Severity.MEDIUM if vital else Severity.LOW
    if vital:
        return Severity.CRITICAL if spot else Severity.HIGH
    return Severity.MEDIUM


def _of_install(facts: InterruptionFacts, foreseen: InterruptionOutage) -> Iterator[Finding]:
    if isinstance(facts.install, Unknown):
        yield Finding.of(
            "interruption-karpenter/unknown",
            facts.subject,
            severity=Severity.HIGH if foreseen.nodes else Severity.MEDIUM,
            remedy=(learned(facts.install),),
            install_why=facts.install,
            lacking=facts.install.missing,
        )
    if isinstance(facts.install, Absent):
        nodes = [node.name for node in facts.cluster.nodes if node.owner is NodeOwner.KARPENTER]
        if nodes:
            yield Finding.of(
                "interruption-karpenter/none",
                facts.subject,
                tuple(nodes[:5]),
                severity=Severity.CRITICAL if foreseen.nodes else Severity.HIGH,
                nodes_count=len(nodes),
            )
        elif facts.cluster.unread(kinds.DEPLOYMENTS):
            yield Finding.of("interruption-karpenter/deployment-unknown", facts.subject)
    for other in facts.others:
        yield Finding.of(
            "interruption-karpenter/second", Subject("Deployment", other.partition("/")[2], other.partition("/")[0])
        )


# Activity that could not be read because a right is missing. Several sources show the same activity, and if one was
# read no finding is unknown: so missing rights are noted besides the findings.


def missing(facts: InterruptionFacts) -> tuple[str, ...]:
    """The missing rights, sorted: ``get pods/proxy``, ``list events``."""
    install = facts.install
    of_install = (install.config_map, install.irsa) if isinstance(install, KarpenterInstall) else (install,)
    signs = (facts.events, *facts.metrics.values(), *facts.logs.values(), *of_install)
    return tuple(sorted({each.missing for each in signs if isinstance(each, Unknown) and each.missing}))


def noted(cluster: Cluster, facts: InterruptionFacts) -> Cluster:
    """`cluster` with a note for each missing right."""
    told = "what it tells of interruptions is not known"
    notes = (". ".join(filter(None, (f"missing right {each}: {told}", how_to(each)))) for each in missing(facts))
    return replace(cluster, notes=tuple(dict.fromkeys((*cluster.notes, *notes))))
