"""Report of CoreDNS: whether lookups survive the loss of its nodes, in every format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Literal

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.redaction import redact_corefile
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Code, Finding, Severity, Status
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.report.command_result import CommandResult
from kubectl_eksdoc.report.report import (
    BulletList,
    CommandReport,
    FindingList,
    Footer,
    Heading,
    Line,
    ReportFigure,
    Section,
    Table,
    TextBlock,
    flush_left,
    verbatim_line,
)
from kubectl_eksdoc.report.result import (
    OMITTED,
    Count,
    FindingResult,
    Meta,
    Printed,
    Text,
    Texts,
    Timestamp,
    UnsetType,
)
from kubectl_eksdoc.report.text import (
    MARGIN,
    Appearance,
    Cell,
    Column,
    Row,
    Title,
    Tone,
    as_columns,
    name_column,
    number_column,
    pluralize,
    printable,
    wrap_printable,
)

from .. import deployed as dns
from ..failures import ShutdownEnding, dns_endpoints
from ..plan import CorednsZone, DnsPlan
from ..shutdown import CLIENT_TIMEOUT_S, CLOSING_S, MARGIN_S, ShutdownBudget

# CoreDNS in a sentence.


def verdict(plan: DnsPlan) -> str:
    """The first line."""
    if is_unused(plan):
        return "DNS does not depend on CoreDNS here."
    failing = {each.code for each in plan.findings if each.status is Status.FAIL}
    severities = {each.severity for each in plan.findings if each.status is Status.FAIL}
    unknown_count = sum(each.status is Status.UNKNOWN for each in plan.findings)
    if Code.of("dns-failing") in failing or Code.of("dns-not-serving") in failing:
        text = "DNS has trouble now"
    elif severities & {Severity.CRITICAL, Severity.HIGH}:
        text = "DNS answers now, and lookups will fail when a node of it goes"
    elif failing:
        text = "DNS answers, and could be safer"
    elif unknown_count:
        text = "Nothing is known to be wrong with DNS, and not everything is known"
    else:
        text = "Lookups survive the nodes they are answered on"
    unknown_text = (
        f"; {pluralize(unknown_count, 'thing')} {'is' if unknown_count == 1 else 'are'} not known"
        if unknown_count and failing
        else ""
    )
    return f"{text}{unknown_text}."


def is_unused(plan: DnsPlan) -> bool:
    """Whether the cluster does not use CoreDNS."""
    return isinstance(plan.facts.deployed, Absent) and [each.code for each in plan.findings] == [
        Code.of("dns-elsewhere")
    ]


def coredns_summary(plan: DnsPlan) -> str:
    """``CoreDNS v1.11.4-eksbuild.2, an add-on of EKS: 2 of 2 pods Ready, lameduck 5 s of 30 s of grace``."""
    facts = plan.facts
    deployment = facts.deployed
    if is_unused(plan):
        return f"{plan.findings[0].message[:1].upper()}{plan.findings[0].message[1:]}."
    if isinstance(deployment, (Absent, Unknown)):
        return f"CoreDNS: {deployment.why}."
    addon = facts.addon
    if isinstance(addon, Absent):
        manager_text = "self-managed"
    elif isinstance(addon, Unknown):
        manager_text = "an add-on of EKS or not (not known)"
    else:
        manager_text = "an add-on of EKS"
    ready = sum(pod.ready for pod in facts.pods)
    lameduck = plan.ending.lameduck_s
    lameduck_text = (
        "lameduck not known" if lameduck is None else f"lameduck {lameduck:g} s" if lameduck else "no lameduck"
    )
    pods_text = f"{ready} of {pluralize(max(deployment.replicas, len(facts.pods)), 'pod')} Ready"
    return (
        f"CoreDNS {deployment.version or '(version not known)'}, {manager_text}: {pods_text}, "
        f"{lameduck_text} of {deployment.grace_s} s of grace."
    )


# The shutdown budget as a bar: from SIGTERM to SIGKILL, and where lameduck may end.
#
#   now 5 s          safe: 7 to 20 s
# ░░░░▲░░█████████████████████████▒▒▒▒▒▒▒▒
# 0     7                      20   25  30 s


_SHORT, _SAFE, _LONG, _KILLED, _NOW = "░", "█", "▒", "▓", "▲"
_MAX_WIDTH = 60


def budget_bar(budget: ShutdownBudget, lameduck: float | None, appearance: Appearance, max_width: int) -> list[str]:
    """At most three lines of `max_width`: the bar, the seconds, and the current lameduck."""
    grace = max(budget.shutdown.grace_s, 1)
    end = max(grace, int(lameduck or 0) + 1)
    width = min(_MAX_WIDTH, max_width - len(f" {end} s"))
    symbols = "".join(_bar_symbol(budget, (column + 0.5) * end / width) for column in range(width))
    marks = {0: "0", budget.least_s: str(budget.least_s), grace: f"{grace} s"}
    if budget.has_safe_value:
        marks[budget.advised_s] = str(budget.advised_s)
    lines = [printable(symbols, appearance), _scale(marks, end, width)]
    if lameduck is not None:
        column = min(width - 1, int(lameduck * width / end))
        text = f"{_NOW} now {lameduck:g} s"
        lines.append(printable(" " * min(column, max_width - len(text)) + text, appearance))
    return lines


def _bar_symbol(budget: ShutdownBudget, second: float) -> str:
    if second < budget.least_s:
        return _SHORT
    if second < budget.advised_s:
        return _SAFE
    return _LONG if second < budget.shutdown.grace_s else _KILLED


def _scale(marks: dict[int, str], end: int, width: int) -> str:
    """Each number at its second; a number that would overlap the previous one is left out."""
    line = ""
    for second, text in sorted(marks.items()):
        column = int(second * width / end)
        if not line or len(line) < column <= width:
            line = line.ljust(column) + text
    return line


def budget_legend(budget: ShutdownBudget) -> str:
    safe_text = f"safe: {budget.least_s} to {budget.advised_s} s" if budget.has_safe_value else "no value is safe"
    measured_at = budget.propagation.measured_at
    short_text = "may be too short"
    if measured_at is not None:
        measured_text = f"as measured on {measured_at:%Y-%m-%d}"
        answers_lost = budget.propagation.lost
        short_text = (
            f"too short {measured_text}, margin included"
            if answers_lost
            else f"shorter than what was enough {measured_text}"
        )
    return f"{_SHORT} {short_text}   {_SAFE} {safe_text}   {_LONG} closing, margin"


_FORMATS = "All evidence and every zone: -o wide; for a program: -o json"
_CODES_WITH_STEPS = Code.of_names(
    "dns-lameduck-short", "dns-lameduck-long", "dns-on-spot", "dns-together", "dns-notices-unheard", "dns-no-budget"
)


@frozen
class LameduckReport(CommandReport):
    noun_phrase = "coredns-lameduck"

    plan: DnsPlan

    @property
    def cluster(self) -> Cluster:
        return self.plan.facts.cluster

    def sections(self, full: bool) -> Iterator[Section | None]:
        """One page: what will happen, the fixes in order, and the evidence."""
        plan = self.plan
        yield Heading(verdict(plan), (coredns_summary(plan),))
        yield BulletList("What will happen", plan.outlook)
        yield TextBlock("Fix it in this order", list(_step_lines(plan)))
        yield None if is_unused(plan) else _budget_section(plan)
        yield Table("Pods", _pods_table(plan), "pods")
        yield Table("Zones", _zones_table(plan.zones), "zones") if full else None
        yield FindingList(_shown_findings(plan, full))
        yield BulletList("Notes", self.cluster.notes)
        yield Footer(_FORMATS)

    def result(self) -> object:
        plan = self.plan
        return LameduckResult.from_facts(
            self,
            plan,
            verdict=verdict(plan),
            pods=_pod_results(plan.facts),
        )


def _shown_findings(plan: DnsPlan, full: bool) -> tuple[Finding, ...]:
    """The findings. For a finding that the steps fix only its line is shown, because the steps contain the rest."""
    if full:
        return plan.findings
    shown = (each for each in plan.findings if each.severity is not Severity.INFO)
    commands = {step.command for step in plan.steps if step.command}
    return tuple(
        replace(each, evidence=(), remedy=())
        if each.code in _CODES_WITH_STEPS and any(remedy.command in commands for remedy in each.remedy)
        else each
        for each in shown
    )


def _step_lines(plan: DnsPlan) -> Iterator[Line]:
    for number, step in enumerate(plan.steps, 1):
        yield Line(f"{number}. {step.what}")
        moves_text = f"Moves {step.moves}. " if step.moves else ""
        yield flush_left(f"{moves_text}Why: {step.why}.", 5)
        if step.command:
            yield verbatim_line(step.command, 5)


def _budget_section(plan: DnsPlan) -> Section:
    ending, title = plan.ending, Title("How it ends", ": lameduck between SIGTERM and SIGKILL")
    if isinstance(ending.budget, Unknown):
        return TextBlock(title, [flush_left(f"Not known: {ending.budget.why}.")])
    budget = ending.budget

    def draw(appearance: Appearance, _full: bool) -> list[str]:
        lines = [
            f"{MARGIN}{line}"
            for line in budget_bar(budget, ending.lameduck_s, appearance, appearance.columns - len(MARGIN))
        ]
        return lines + wrap_printable(budget_legend(budget), appearance, MARGIN)

    return ReportFigure(title, draw)


def _pods_table(plan: DnsPlan) -> tuple[list[Column], list[Row]]:
    columns = as_columns(
        name_column("POD", 12),
        name_column("NODE", 10),
        Column("ZONE", drop_order=1),
        "CAPACITY",
        Column("MANAGED BY", drop_order=3),
        "READY",
        Column("SERVING", drop_order=2),
        number_column("RESTARTS", 4),
    )
    facts = plan.facts
    return columns, [
        [
            each.name,
            each.node or "-",
            each.zone or "-",
            Cell(each.capacity_type or "-", Tone.WARN if each.capacity_type == "spot" else None),
            f"{node.owner.value} {node.group}".strip() if (node := facts.node_of(pod)) else "-",
            _yes_cell("leaving" if each.leaving else "yes" if each.ready else "no"),
            Cell("?", Tone.UNKNOWN) if each.serving is None else _yes_cell("yes" if each.serving else "no"),
            "?" if each.restarts is None else each.restarts,
        ]
        for pod, each in zip(facts.pods, _pod_results(facts), strict=True)
    ]


def _yes_cell(word: str) -> Cell:
    return Cell(word, None if word == "yes" else Tone.WARN)


def _zones_table(zones: tuple[CorednsZone, ...]) -> tuple[list[Column], list[Row]]:
    return as_columns(
        "ZONE",
        number_column("NODES"),
        number_column("PODS"),
        number_column("READY"),
        number_column("SERVING"),
    ), [
        [
            zone.name or "-",
            zone.nodes,
            zone.pods,
            zone.ready,
            "?" if zone.serving is None else str(zone.serving),
        ]
        for zone in zones
    ]


# CoreDNS as ``-o json`` and ``-o yaml`` print it. null: unknown, with the reason beside it.


class _Step(Printed):
    """One change; the steps before it make it safe."""

    what: Text
    why: Text
    moves: Text | None
    """What it moves or restarts; null: nothing."""
    command: Text | None
    """null: a person must decide."""


class _Coredns(Printed):
    version: Text | None
    replicas: Count | None
    why: Text | UnsetType
    """Why its Deployment is unknown."""
    managed_addon: bool | None
    """null: unknown."""
    corefile: str | None
    """The deployed text."""

    @classmethod
    def of(cls, facts: dns.DnsFacts) -> _Coredns:
        addon, text, deployed = facts.addon, facts.text, facts.deployed
        if isinstance(deployed, (Absent, Unknown)):
            version, replicas, why = None, None, deployed.why
        else:
            version, replicas, why = deployed.version, deployed.replicas, ""
        return cls.from_facts(
            version=version,
            replicas=replicas,
            why=why,
            managed_addon=addon if isinstance(addon, Unknown) else not isinstance(addon, Absent),
            corefile=redact_corefile(text) if isinstance(text, str) else None,
        )


class _Shutdown(Printed):
    """The shutdown budget: lameduck between leastSeconds and advisedSeconds is safe."""

    lameduck_seconds: Annotated[float, Meta(ge=0)] | None
    """null: the text does not determine it."""
    why: Text | UnsetType
    """Why the rest is unknown."""
    grace_seconds: Count | UnsetType
    pre_stop_seconds: Count | UnsetType
    closing_seconds: Count | UnsetType
    margin_seconds: Count | UnsetType
    propagation_seconds: Count | UnsetType
    """Until every node has removed the endpoint: an estimate from the number of nodes, or measured."""
    propagation_measured_at: Timestamp | UnsetType | None
    """When it was measured; null: it is an estimate."""
    client_seconds: Count | UnsetType
    """How long a client waits for an answer."""
    least_seconds: Count | UnsetType
    """With a shorter lameduck, clients may still send to a pod that has ended: propagationSeconds and a margin."""
    most_seconds: int | UnsetType
    """With a longer one, it may be killed before its servers are closed; negative: with any."""
    advised_seconds: Count | UnsetType | None
    """The largest safe lameduck; null: no value is safe."""

    @classmethod
    def of(cls, facts: ShutdownEnding) -> _Shutdown:
        budget = facts.budget
        if isinstance(budget, Unknown):
            return cls.from_facts(OMITTED, lameduck_seconds=facts.lameduck_s, why=budget.why)
        return cls.from_facts(
            lameduck_seconds=facts.lameduck_s,
            why=None,
            grace_seconds=budget.shutdown.grace_s,
            pre_stop_seconds=budget.shutdown.pre_stop_s,
            closing_seconds=CLOSING_S,
            margin_seconds=MARGIN_S,
            propagation_seconds=budget.propagation.seconds,
            propagation_measured_at=budget.propagation.measured_at,
            client_seconds=CLIENT_TIMEOUT_S,
            least_seconds=budget.least_s,
            most_seconds=budget.most_s,
            advised_seconds=budget.advised_s if budget.has_safe_value else None,
        )


class _Pod(Printed):
    """A pod of CoreDNS."""

    name: Text
    node: Text | None
    zone: Text | None
    capacity_type: Text | None
    ready: bool
    leaving: bool
    serving: bool | None
    """Whether it is a ready endpoint of kube-dns; null: unknown."""
    restarts: Count | None


def _pod_results(facts: dns.DnsFacts) -> Iterator[_Pod]:
    service_endpoints = dns_endpoints(facts)
    for pod in facts.pods:
        node, pod_logs = facts.node_of(pod), facts.inside.get(pod.key)
        yield _Pod.from_facts(
            pod,
            zone=node and node.zone,
            capacity_type=node and node.capacity_type,
            leaving=pod.deleting,
            serving=None if isinstance(service_endpoints, Unknown) else pod.uid in service_endpoints.ready,
            restarts=None if pod_logs is None or pod_logs.container is None else pod_logs.container.restarts,
        )


class _Zone(Printed):
    """A zone with nodes of the cluster."""

    name: Text | None
    nodes: Count
    pods: Count
    ready: Count
    serving: Count | None


class LameduckResult(CommandResult):
    """Whether lookups survive the loss of nodes: kubectl eksdoc coredns-lameduck -o json."""

    called = {"coredns": "facts", "shutdown": "ending"}

    kind: Literal["CorednsLameduck"]
    recognised: Text | None
    """How the tool recognized that AWS describes the cluster that was read; null: nothing is known from AWS."""
    verdict: Text
    outlook: Texts
    """What will happen, one sentence each."""
    steps: tuple[_Step, ...]
    coredns: _Coredns
    shutdown: _Shutdown
    pods: tuple[_Pod, ...]
    zones: tuple[_Zone, ...]
    findings: tuple[FindingResult, ...]
