"""Report of CoreDNS: whether lookups survive the loss of its nodes, in every format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Literal

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.redaction import printed_corefile
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Code, Finding, Severity, Status
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.report.command_result import CommandResult
from kubectl_eksdoc.report.report import (
    CommandReport,
    Findings,
    Foot,
    Head,
    Line,
    Lines,
    Points,
    ReportFigure,
    Section,
    Table,
    as_it_is,
    flush,
)
from kubectl_eksdoc.report.result import (
    LEFT_OUT,
    Count,
    FindingResult,
    Meta,
    Moment,
    Printed,
    Text,
    Texts,
    UnsetType,
)
from kubectl_eksdoc.report.text import (
    MARGIN,
    Cell,
    Column,
    Look,
    Row,
    Title,
    Tone,
    columns_of,
    counted,
    name_column,
    number_column,
    shown,
    wrapped,
)

from .. import deployed as dns
from ..failures import ShutdownEnding, endpoints
from ..plan import CorednsZone, DnsPlan
from ..shutdown import CLIENT_S, CLOSING_S, MARGIN_S, ShutdownBudget

# CoreDNS in a sentence.


def verdict(plan: DnsPlan) -> str:
    """The first line."""
    if elsewhere(plan):
        return "DNS does not depend on CoreDNS here."
    failing = {each.code for each in plan.findings if each.status is Status.FAIL}
    worst = {each.severity for each in plan.findings if each.status is Status.FAIL}
    unknown = sum(each.status is Status.UNKNOWN for each in plan.findings)
    if Code.of("dns-failing") in failing or Code.of("dns-not-serving") in failing:
        said = "DNS has trouble now"
    elif worst & {Severity.CRITICAL, Severity.HIGH}:
        said = "DNS answers now, and lookups will fail when a node of it goes"
    elif failing:
        said = "DNS answers, and could be safer"
    elif unknown:
        said = "Nothing is known to be wrong with DNS, and not everything is known"
    else:
        said = "Lookups survive the nodes they are answered on"
    more = f"; {counted(unknown, 'thing')} {'is' if unknown == 1 else 'are'} not known" if unknown and failing else ""
    return f"{said}{more}."


def elsewhere(plan: DnsPlan) -> bool:
    """Whether the cluster does not use CoreDNS."""
    return isinstance(plan.facts.deployed, Absent) and [each.code for each in plan.findings] == [
        Code.of("dns-elsewhere")
    ]


def what(plan: DnsPlan) -> str:
    """``CoreDNS v1.11.4-eksbuild.2, an add-on of EKS: 2 of 2 pods Ready, lameduck 5 s of 30 s of grace``."""
    facts = plan.facts
    of = facts.deployed
    if elsewhere(plan):
        return f"{plan.findings[0].message[:1].upper()}{plan.findings[0].message[1:]}."
    if isinstance(of, (Absent, Unknown)):
        return f"CoreDNS: {of.why}."
    addon = facts.addon
    if isinstance(addon, Absent):
        whose = "self-managed"
    elif isinstance(addon, Unknown):
        whose = "an add-on of EKS or not (not known)"
    else:
        whose = "an add-on of EKS"
    ready = sum(pod.ready for pod in facts.pods)
    lameduck = plan.ending.lameduck_s
    said = "lameduck not known" if lameduck is None else f"lameduck {lameduck:g} s" if lameduck else "no lameduck"
    pods = f"{ready} of {counted(max(of.replicas, len(facts.pods)), 'pod')} Ready"
    return f"CoreDNS {of.version or '(version not known)'}, {whose}: {pods}, {said} of {of.grace_s} s of grace."


# The shutdown budget as a bar: from SIGTERM to SIGKILL, and where lameduck may end.
#
#   now 5 s          safe: 7 to 20 s
# ░░░░▲░░█████████████████████████▒▒▒▒▒▒▒▒
# 0     7                      20   25  30 s


_SHORT, _SAFE, _LONG, _KILLED, _NOW = "░", "█", "▒", "▓", "▲"
_WIDEST = 60


def bar(budget: ShutdownBudget, lameduck: float | None, look: Look, room: int) -> list[str]:
    """At most three lines of `max_width`: the bar, the seconds, and the current lameduck."""
    grace = max(budget.shutdown.grace_s, 1)
    end = max(grace, int(lameduck or 0) + 1)
    width = min(_WIDEST, room - len(f" {end} s"))
    signs = "".join(_sign(budget, (at + 0.5) * end / width) for at in range(width))
    marks = {0: "0", budget.least_s: str(budget.least_s), grace: f"{grace} s"}
    if budget.fits:
        marks[budget.advised_s] = str(budget.advised_s)
    lines = [shown(signs, look), _scale(marks, end, width)]
    if lameduck is not None:
        at = min(width - 1, int(lameduck * width / end))
        text = f"{_NOW} now {lameduck:g} s"
        lines.append(shown(" " * min(at, room - len(text)) + text, look))
    return lines


def _sign(budget: ShutdownBudget, second: float) -> str:
    if second < budget.least_s:
        return _SHORT
    if second < budget.advised_s:
        return _SAFE
    return _LONG if second < budget.shutdown.grace_s else _KILLED


def _scale(marks: dict[int, str], end: int, width: int) -> str:
    """Each number at its second; a number that would overlap the previous one is left out."""
    line = ""
    for second, text in sorted(marks.items()):
        at = int(second * width / end)
        if not line or len(line) < at <= width:
            line = line.ljust(at) + text
    return line


def legend(budget: ShutdownBudget) -> str:
    safe = f"safe: {budget.least_s} to {budget.advised_s} s" if budget.fits else "no value is safe"
    when = budget.propagation.measured_at
    short = "may be too short"
    if when is not None:
        measured = f"as measured on {when:%Y-%m-%d}"
        lost = budget.propagation.lost
        short = f"too short {measured}, margin included" if lost else f"shorter than what was enough {measured}"
    return f"{_SHORT} {short}   {_SAFE} {safe}   {_LONG} closing, margin"


_FORMATS = "All evidence and every zone: -o wide; for a program: -o json"
_IN_STEPS = Code.each(
    "dns-lameduck-short", "dns-lameduck-long", "dns-on-spot", "dns-together", "dns-notices-unheard", "dns-no-budget"
)


@frozen
class LameduckReport(CommandReport):
    of = "coredns-lameduck"

    plan: DnsPlan

    @property
    def cluster(self) -> Cluster:
        return self.plan.facts.cluster

    def sections(self, full: bool) -> Iterator[Section | None]:
        """One page: what will happen, the fixes in order, and the evidence."""
        plan = self.plan
        yield Head(verdict(plan), (what(plan),))
        yield Points("What will happen", plan.outlook)
        yield Lines("Fix it in this order", list(_steps(plan)))
        yield None if elsewhere(plan) else _ending(plan)
        yield Table("Pods", _pods(plan), "pods")
        yield Table("Zones", _zones(plan.zones), "zones") if full else None
        yield Findings(_shown(plan, full))
        yield Points("Notes", self.cluster.notes)
        yield Foot(_FORMATS)

    def result(self) -> object:
        plan = self.plan
        return LameduckResult.filled(
            self,
            plan,
            verdict=verdict(plan),
            pods=_pods_printed(plan.facts),
        )


def _shown(plan: DnsPlan, full: bool) -> tuple[Finding, ...]:
    """The findings. For a finding that the steps fix only its line is shown, because the steps contain the rest."""
    if full:
        return plan.findings
    kept = (each for each in plan.findings if each.severity is not Severity.INFO)
    commands = {step.command for step in plan.steps if step.command}
    return tuple(
        replace(each, evidence=(), remedy=())
        if each.code in _IN_STEPS and any(remedy.command in commands for remedy in each.remedy)
        else each
        for each in kept
    )


def _steps(plan: DnsPlan) -> Iterator[Line]:
    for number, step in enumerate(plan.steps, 1):
        yield Line(f"{number}. {step.what}")
        moves = f"Moves {step.moves}. " if step.moves else ""
        yield flush(f"{moves}Why: {step.why}.", 5)
        if step.command:
            yield as_it_is(step.command, 5)


def _ending(plan: DnsPlan) -> Section:
    end, title = plan.ending, Title("How it ends", ": lameduck between SIGTERM and SIGKILL")
    if isinstance(end.budget, Unknown):
        return Lines(title, [flush(f"Not known: {end.budget.why}.")])
    budget = end.budget

    def draw(look: Look, _full: bool) -> list[str]:
        lines = [f"{MARGIN}{line}" for line in bar(budget, end.lameduck_s, look, look.columns - len(MARGIN))]
        return lines + wrapped(legend(budget), look, MARGIN)

    return ReportFigure(title, draw)


def _pods(plan: DnsPlan) -> tuple[list[Column], list[Row]]:
    columns = columns_of(
        name_column("POD", 12),
        name_column("NODE", 10),
        Column("ZONE", drop=1),
        "CAPACITY",
        Column("MANAGED BY", drop=3),
        "READY",
        Column("SERVING", drop=2),
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
            _yes("leaving" if each.leaving else "yes" if each.ready else "no"),
            Cell("?", Tone.UNKNOWN) if each.serving is None else _yes("yes" if each.serving else "no"),
            "?" if each.restarts is None else each.restarts,
        ]
        for pod, each in zip(facts.pods, _pods_printed(facts), strict=True)
    ]


def _yes(word: str) -> Cell:
    return Cell(word, None if word == "yes" else Tone.WARN)


def _zones(zones: tuple[CorednsZone, ...]) -> tuple[list[Column], list[Row]]:
    return columns_of(
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
        return cls.filled(
            version=version,
            replicas=replicas,
            why=why,
            managed_addon=addon if isinstance(addon, Unknown) else not isinstance(addon, Absent),
            corefile=printed_corefile(text) if isinstance(text, str) else None,
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
    propagation_measured_at: Moment | UnsetType | None
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
        found = facts.budget
        if isinstance(found, Unknown):
            return cls.filled(LEFT_OUT, lameduck_seconds=facts.lameduck_s, why=found.why)
        return cls.filled(
            lameduck_seconds=facts.lameduck_s,
            why=None,
            grace_seconds=found.shutdown.grace_s,
            pre_stop_seconds=found.shutdown.pre_stop_s,
            closing_seconds=CLOSING_S,
            margin_seconds=MARGIN_S,
            propagation_seconds=found.propagation.seconds,
            propagation_measured_at=found.propagation.measured_at,
            client_seconds=CLIENT_S,
            least_seconds=found.least_s,
            most_seconds=found.most_s,
            advised_seconds=found.advised_s if found.fits else None,
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


def _pods_printed(facts: dns.DnsFacts) -> Iterator[_Pod]:
    told = endpoints(facts)
    for pod in facts.pods:
        node, inside = facts.node_of(pod), facts.inside.get(pod.key)
        yield _Pod.filled(
            pod,
            zone=node and node.zone,
            capacity_type=node and node.capacity_type,
            leaving=pod.deleting,
            serving=None if isinstance(told, Unknown) else pod.uid in told.ready,
            restarts=None if inside is None or inside.container is None else inside.container.restarts,
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
