"""Plan of ``interruption``: every link, the effect of the next interruption, the findings, and the missing parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from kubectl_eksdoc.amazon.interruption import spot_notice
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import in_sequence, shell
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Status, Subject
from kubectl_eksdoc.model.interruption import KarpenterInstall
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.missing_rights import for_source, remedy_for
from kubectl_eksdoc.model.nodes import NodeOwner
from kubectl_eksdoc.model.permissions import opt_in_hint

from . import delivery, outage, rights
from .installs import InterruptionFacts, Link, is_handled, setting_link
from .outage import InterruptionOutage
from .repair import FILE, MissingLinks, create_stack_command, missing_links
from .rights import Handler, find_handlers, handler_findings
from .spot import activity_link, log_link, spot_nodes


@frozen
class InterruptionOptions:
    """`queue`: the name from the user, "" for the configured one. `connection_args`: the command-line arguments that
    lead to the same cluster."""

    queue: str = ""
    connection_args: tuple[str, ...] = ()

    def print_command(self, document: str) -> str:
        """The command that prints one of the documents."""
        queue_args = ("--queue", self.queue) if self.queue else ()
        return shell("kubectl", "eksdoc", "interruption", *self.connection_args, *queue_args, "--print", document)

    @property
    def profile(self) -> str:
        """The AWS profile that the user gave: without it the printed commands would use other credentials."""
        return next((value for flag, value in pairwise(self.connection_args) if flag == "--profile"), "")


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


def plan_interruption(
    facts: InterruptionFacts, options: InterruptionOptions = InterruptionOptions()
) -> InterruptionPlan:
    links = tuple(_build_links(facts, facts.install, options)) if isinstance(facts.install, KarpenterInstall) else ()
    by_karpenter = _karpenter_drains(facts, links)
    handlers_found = find_handlers(facts.cluster)
    spot_names = {each.name for each in spot_nodes(facts)}
    by_handler = bool(spot_names) and spot_names <= {name for each in handlers_found for name in each.ready}
    has_queue_handler = by_karpenter is False and any(not each.by_node for each in handlers_found)
    predicted = outage.predict_outage(
        facts,
        True if by_handler and by_karpenter is not True else None if has_queue_handler else by_karpenter,
        "the AWS Node Termination Handler" if by_handler and by_karpenter is not True else outage.KARPENTER,
    )
    has_spot = bool(predicted.nodes)
    raw_findings = [
        *outage.outage_findings(facts, predicted, options.connection_args),
        *_unread_findings(facts),
        *_install_findings(facts, predicted),
        *_link_findings(links, has_spot),
        *_shared_queue_findings(facts),
        *handler_findings(facts.cluster, handlers_found, by_karpenter),
        *outage.other_spot_findings(facts, {name for each in handlers_found for name in each.ready}),
    ]
    missing_parts = missing_links(facts, facts.install, links) if isinstance(facts.install, KarpenterInstall) else None
    findings = for_source(_without_repeated_stacks(_worst_first(raw_findings)), facts.cluster.source)
    return InterruptionPlan(facts, links, predicted, handlers_found, findings, missing_parts, stack_name(facts))


def _unread_findings(facts: InterruptionFacts) -> Iterator[Finding]:
    for read in facts.cluster.not_read(kinds.NODES, kinds.PODS):
        yield Finding.of(
            "interruption-outage/lists-unread",
            Subject("Cluster", facts.cluster.identity.name),
            (read.detail,),
            remedy=(remedy_for(read.as_unknown),),
            plural=read.resource.plural,
            full_name=read.resource.full_name,
        )


def _shared_queue_findings(facts: InterruptionFacts) -> Iterator[Finding]:
    """A queue that may have other readers: AWS does not report readers; Karpenter's own templates name the queue after
    the cluster."""
    if not isinstance(facts.install, KarpenterInstall):
        return
    cluster = facts.install.cluster_name or facts.cluster.identity.cluster
    if not cluster or not facts.queue or _is_named_after(facts.queue, cluster):
        return
    yield Finding.of(
        "interruption-queue",
        Subject("Queue", facts.queue),
        ("Karpenter deletes every message that it reads (karpenter-provider-aws, pkg/controllers/interruption)",),
        cluster=cluster,
    )


_GENERIC_WORDS = {"", "karpenter", "interruption", "interruptions", "queue", "sqs", "spot", "events", "eks"}


def _is_named_after(queue: str, cluster: str) -> bool:
    """``Karpenter-shop`` is named after shop; ``demo-shop`` may be named after another cluster."""
    prefix, match, suffix = queue.partition(cluster)
    return bool(match) and {word.lower() for word in re.split(r"[-_.]", f"{prefix}-{suffix}")} <= _GENERIC_WORDS


def stack_name(facts: InterruptionFacts) -> str:
    """A name that CloudFormation accepts: letters, digits and hyphens, a letter first, 128 characters at most."""
    name = "".join(each if each.isascii() and each.isalnum() else "-" for each in f"{facts.queue}-interruption")
    return (name if name[:1].isalpha() else f"k-{name}")[:128]


def _karpenter_drains(facts: InterruptionFacts, links: Sequence[Link]) -> bool | None:
    """Whether Karpenter drains at a notice: EventBridge delivers it, and Karpenter reads it."""
    if isinstance(facts.install, Unknown):
        return None
    return _known_and(to_queue(links).get(spot_notice().short, False), to_karpenter(links)) if links else False


def _known_and(first: bool | None, second: bool | None) -> bool | None:
    if first is False or second is False:
        return False
    return True if first and second else None


_QUEUE_CODES = ("interruption-queue", "interruption-queue-policy", "interruption-queue-key")
"""Links that all kinds of events share, up to the queue."""


def to_queue(links: Sequence[Link]) -> dict[str, bool | None]:
    queue_ready = is_handled(each for each in links if each.code.name in _QUEUE_CODES)
    rules = [each for each in links if each.code.name == "interruption-rule"]
    return {each.event_kind: _known_and(queue_ready, _rule_delivers(each)) for each in rules}


def _rule_delivers(link: Link) -> bool | None:
    if link.status is None:  # it fails, and does no harm
        return False
    return None if link.status is Status.UNKNOWN else link.status is Status.PASS


def to_karpenter(links: Sequence[Link]) -> bool | None:
    """Whether Karpenter reads the queue. Activity proves it even where links are unknown, but does not prove that
    EventBridge delivers events."""
    is_active = any(each.code.name == "interruption-sign-of-life" and each.status is Status.PASS for each in links)
    reader_links = [
        each
        for each in links
        if each.code.name not in ("interruption-queue-policy", "interruption-queue-key", "interruption-rule")
    ]
    return is_handled(
        each
        for each in reader_links
        if not (is_active and each.code.name in _READER_CODES and each.status is Status.UNKNOWN)
    )


_READER_CODES = ("interruption-setting", "interruption-rights", "interruption-provider-fails")
"""Links after the queue."""


def _build_links(facts: InterruptionFacts, install: KarpenterInstall, options: InterruptionOptions) -> Iterator[Link]:
    version = install.version
    create_command = create_stack_command(stack_name(facts), facts.place.region, options.profile)
    deploy_command = in_sequence(f"{options.print_command('stack')} > {FILE}", create_command)
    stack_remedy = Remedy.of("make-stack", command=deploy_command)
    commands_remedy = Remedy.of("put-policy", command=options.print_command("commands"))
    links: list[Link] = [setting_link(install, options.queue, options.print_command("helm-values"))]
    links.append(delivery.queue_link(facts, version, (stack_remedy,)))
    links.append(delivery.policy_link(facts, (commands_remedy,)))
    key = delivery.key_link(facts, (commands_remedy,))
    links += [key] if key is not None else []
    links += delivery.rule_links(facts, version, (stack_remedy,))
    links.append(rights.rights_link(facts, install, (stack_remedy,)))
    links.append(log_link(facts, install))
    failing = delivery.failing_link(facts, version)
    links += [failing] if failing is not None else []
    has_broken_link, queue_is_known = any(each.vital and each.failed for each in links), links[0].status is Status.PASS
    links.append(activity_link(facts, install, has_broken_link, queue_is_known))
    yield from links


def _worst_first(findings: Sequence[Finding]) -> list[Finding]:
    """Findings of the same severity stay in the order of the chain: earlier links are fixed first."""
    return sorted(findings, key=lambda each: (each.status.rank, each.severity.rank))


def _without_repeated_stacks(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Only the first finding keeps the long command; later ones refer to it."""
    printed_remedies: set[Remedy] = set()
    reference = Remedy.of("same-stack")
    for finding in findings:
        stacks = [remedy for remedy in finding.remedy if " cloudformation create-stack " in remedy.command]
        if any(remedy in printed_remedies for remedy in stacks):
            finding = replace(
                finding, remedy=tuple(reference if remedy in printed_remedies else remedy for remedy in finding.remedy)
            )
        printed_remedies.update(stacks)
        yield finding


def _link_findings(links: Sequence[Link], has_spot: bool) -> Iterator[Finding]:
    """Rules that are missing for the same reason become one finding."""
    merged: dict[tuple[object, ...], list[Link]] = {}
    for link in links:
        is_failing_rule = (
            link.code.name == "interruption-rule" and link.status is not None and link.status is not Status.PASS
        )
        reason = link.what if link.status is Status.UNKNOWN else ""
        is_mergeable = is_failing_rule and (link.status is Status.UNKNOWN or link.text == "interruption-rule/none")
        key = (link.code, link.status, reason) if is_mergeable else (link.code, link.name)
        merged.setdefault(key, []).append(link)
    for group in merged.values():
        is_symptom = group[0].code.name == "interruption-provider-fails" and any(
            e.failed and e.vital and e.code.name != "interruption-provider-fails" for e in links
        )
        finding = group[0].finding(Severity.MEDIUM if is_symptom else _severity(group, has_spot))
        if finding is None:
            continue
        if len(group) == 1:
            yield finding
            continue
        evidence = tuple(f"{link.subject.name}: {', '.join(link.evidence)}" for link in group)
        subject = Subject("Rules", ", ".join(link.event_kind for link in group))
        merged_finding = Finding.of(
            "interruption-rule/kinds-unknown" if finding.status is Status.UNKNOWN else "interruption-rule/kinds-none",
            subject,
            severity=finding.severity,
            remedy=finding.remedy,
            count=len(group),
            what=group[0].what,
        )
        yield replace(finding, subject=subject, message=merged_finding.message, evidence=evidence)


def _severity(links: Sequence[Link], has_spot: bool) -> Severity:
    vital = any(each.vital for each in links)
    if links[0].status is Status.UNKNOWN:
        return Severity.MEDIUM if vital else Severity.LOW
    if vital:
        return Severity.CRITICAL if has_spot else Severity.HIGH
    return Severity.MEDIUM


def _install_findings(facts: InterruptionFacts, predicted: InterruptionOutage) -> Iterator[Finding]:
    if isinstance(facts.install, Unknown):
        yield Finding.of(
            "interruption-karpenter/unknown",
            facts.subject,
            severity=Severity.HIGH if predicted.nodes else Severity.MEDIUM,
            remedy=(remedy_for(facts.install),),
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
                severity=Severity.CRITICAL if predicted.nodes else Severity.HIGH,
                nodes_count=len(nodes),
            )
        elif facts.cluster.not_read(kinds.DEPLOYMENTS):
            yield Finding.of("interruption-karpenter/deployment-unknown", facts.subject)
    for other in facts.others:
        yield Finding.of(
            "interruption-karpenter/second", Subject("Deployment", other.partition("/")[2], other.partition("/")[0])
        )


# Activity that could not be read because a right is missing. Several sources show the same activity, and if one was
# read no finding is unknown: so missing rights are noted besides the findings.


def missing_rights(facts: InterruptionFacts) -> tuple[str, ...]:
    """The missing rights, sorted: ``get pods/proxy``, ``list events``."""
    install = facts.install
    install_reads = (install.config_map, install.irsa) if isinstance(install, KarpenterInstall) else (install,)
    reads = (facts.events, *facts.metrics.values(), *facts.logs.values(), *install_reads)
    return tuple(sorted({each.missing for each in reads if isinstance(each, Unknown) and each.missing}))


def with_notes(cluster: Cluster, facts: InterruptionFacts) -> Cluster:
    """`cluster` with a note for each missing right."""
    effect = "what it tells of interruptions is not known"
    notes = (
        ". ".join(filter(None, (f"missing right {each}: {effect}", opt_in_hint(each))))
        for each in missing_rights(facts)
    )
    return replace(cluster, notes=tuple(dict.fromkeys((*cluster.notes, *notes))))
