"""Report of interruption handling: sentences, tables and pages, and the result that JSON prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import interruption
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Code, Status
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.nodes import NodeOwner
from kubectl_eksdoc.report.command_result import CommandResult
from kubectl_eksdoc.report.report import (
    CommandReport,
    Findings,
    Foot,
    Head,
    Points,
    Section,
    Table,
)
from kubectl_eksdoc.report.result import Code as CodeName
from kubectl_eksdoc.report.result import (
    Count,
    FindingResult,
    Lines,
    Printed,
    SubjectResult,
    Text,
    Texts,
    UnsetType,
)
from kubectl_eksdoc.report.text import (
    Cell,
    Column,
    Drawn,
    Row,
    Title,
    Tone,
    columns_of,
    counted,
    joined,
    name_column,
    number_column,
    text_column,
)

from . import installs, outage, spot
from .installs import effective
from .outage import KARPENTER, sentences
from .plan import InterruptionPlan
from .spot import NOTICE_S, AtRisk, SpotNode

# Interruption handling in sentences.


def in_short(plan: InterruptionPlan) -> str:
    """The first lines: whether Karpenter receives events, and which pods are affected."""
    return f"{_who(plan)} {_spot(plan)}"


def _who(plan: InterruptionPlan) -> str:
    facts, handled = plan.facts, plan.outage.handled
    if isinstance(facts.install, Unknown):
        return "How Karpenter is configured is unknown, and so is whether it receives interruption events."
    if isinstance(facts.install, Absent):
        nodes = [node for node in facts.cluster.nodes if node.owner is NodeOwner.KARPENTER]
        if nodes:
            return f"There is no Karpenter, and {counted(len(nodes), 'node')} that it made."
        auto = facts.place.auto_mode or any(node.owner is NodeOwner.AUTO_MODE for node in facts.cluster.nodes)
        return (
            "EKS Auto Mode handles interruptions by itself: nothing is to be set." if auto else "There is no Karpenter."
        )
    head = f"Karpenter {facts.install.version or '(version not known)'} ({facts.install.key})"
    broken = [
        each.name
        for each in plan.links
        if each.failed and each.vital and each.code is not Code.of("interruption-provider-fails")
    ]
    if handled is False or broken:
        one = len(broken) == 1
        links = f"the link{'' if one else 's'} {joined(broken)} {'is' if one else 'are'} broken"
        return f"{head} receives no Spot interruption events: {links if broken else 'as its log shows'}."
    if handled is None or plan.outage.by != KARPENTER:  # else Karpenter itself may not receive events
        unsure = [
            each.name for each in plan.links if each.vital and each.status is not None and each.status.value != "pass"
        ]
        return f"Whether {head} receives Spot interruption events is not known: {', '.join(unsure[:3])}."
    lesser = [each.name for each in plan.links if each.failed]
    also = f", but not of everything else ({', '.join(lesser)})" if lesser else ""
    return f"{head} receives Spot interruption events{also}."


HANDLED = {True: "yes", False: "no", None: "unknown"}


def verdicts(plan: InterruptionPlan) -> tuple[str, ...]:
    """The verdicts on both halves of the chain; () without Karpenter."""
    if not plan.links:
        return ()
    kinds = ", ".join(f"{kind} {HANDLED[so]}" for kind, so in plan.to_queue.items())
    return f"EventBridge delivers to the queue: {kinds}.", f"Karpenter reads the queue: {HANDLED[plan.to_karpenter]}."


def _spot(plan: InterruptionPlan) -> str:
    outage = plan.outage
    if not outage.nodes:
        others = sum(node.capacity_type == "spot" for node in plan.facts.cluster.nodes)
        return (
            f"None of Karpenter's nodes is Spot; {counted(others, 'Spot node')} {'is' if others == 1 else 'are'} "
            "others'."
            if others
            else "No node is known to be Spot."
        )
    pods = sum(len(each.dying) for each in outage.nodes)
    dns = next((each for each in outage.losers if each.dns), None)
    names = f", among them {dns.on_spot} of {dns.ready} CoreDNS" if dns is not None else ""
    now = (
        f" {counted(len(outage.interrupted), 'of them has', 'of them have')} a notice NOW."
        if outage.interrupted
        else ""
    )
    return f"{counted(len(outage.nodes), 'Spot node')} of Karpenter with {counted(pods, 'pod')}{names}.{now}"


_SIGNS = {
    Status.PASS: Cell("✓", Tone.GOOD),
    Status.FAIL: Cell("✗", Tone.BAD),
    Status.UNKNOWN: Cell("?", Tone.UNKNOWN),
    None: Cell("·", Tone.FAINT),
}
_SOME = 8
_NOTHING = "This command changes nothing. All evidence: -o wide; for a program: -o json"
_PRINT = "This command changes nothing; it prints: --print stack | commands | iam | helm-values. All evidence: -o wide"


@frozen
class InterruptionReport(CommandReport):
    of = "an answer about interruptions"

    plan: InterruptionPlan

    @property
    def cluster(self) -> Cluster:
        return self.plan.facts.cluster

    def sections(self, full: bool) -> Iterator[Section]:
        """One page: the summary, each link, the effect of the next interruption, the findings. `full`: every node and
        all evidence."""
        plan = self.plan
        yield Head(in_short(plan))
        yield Table(
            Title("Links", ": from EventBridge to Karpenter"),
            (
                columns_of("", "LINK", text_column("STATE", 24, 3)),
                [[_SIGNS[each.status], each.name, each.what] for each in plan.links],
            ),
        )
        yield Points("Verdicts", verdicts(plan))
        yield Table(Title("Spot nodes", " of Karpenter"), _nodes(plan.outage.nodes, full), "nodes")
        yield Table(Title("Who loses pods", " with one Spot node"), _losers(plan.outage.losers, full), "workloads")
        yield Points("The next interruption", sentences(plan.outage))
        yield Findings(plan.findings)
        yield Points("Notes", self.cluster.notes)
        yield Foot(_PRINT if plan.missing is not None else _NOTHING)

    def result(self) -> object:
        plan, read = self.plan, self.plan.facts
        queue = read.queue, read.queue_arn, getattr(read.told.queue, "url", None)
        return InterruptionResult.filled(
            self,
            plan,
            verdict=in_short(plan),
            handled=HANDLED[plan.outage.handled],
            handled_by=plan.outage.by if plan.outage.handled else None,
            to_queue=((kind, HANDLED[so]) for kind, so in plan.to_queue.items()),
            to_karpenter=HANDLED[plan.to_karpenter] if plan.links else None,
            queue=queue if plan.install else None,
            missing=plan.missing and _Missing.filled(plan.missing, stack=plan.stack),
        )


def _nodes(nodes: tuple[SpotNode, ...], full: bool) -> Drawn:
    return columns_of(
        name_column("NODE", 12),
        Column("NODEPOOL", drop=2),
        Column("TYPE", drop=3),
        Column("ZONE", drop=1),
        "NOTICE",
        number_column("PODS"),
        number_column("CRITICAL", short="CRIT."),
        text_column("A DRAIN WAITS FOR", 20),
    ), [_node(each, full) for each in nodes]


def _node(each: SpotNode, full: bool) -> Row:
    held = ", ".join(each.holds) if full else f"{counted(len(each.holds), 'pod')} that may not go"
    return [
        each.name,
        each.node.group or "-",
        each.node.instance_type or "-",
        each.node.zone or "-",
        Cell("NOW", Tone.BAD) if each.heard else "-",
        len(each.dying),
        Cell(str(len(each.critical)), Tone.WARN) if each.critical else "-",
        Cell(held, Tone.WARN) if each.holds else _grace(each),
    ]


def _grace(each: SpotNode) -> str | Cell:
    """Longest time before system-critical pods are evicted, in seconds."""
    text = f"grace periods, {each.before_s} s"
    return Cell(text, Tone.WARN) if each.before_s >= NOTICE_S else text if each.before_s else "-"


def _losers(losers: tuple[AtRisk, ...], full: bool) -> Drawn:
    columns = columns_of(
        name_column("WORKLOAD", 20),
        number_column("READY"),
        number_column("ON SPOT"),
        number_column("AT ONCE"),
        name_column("WITH", 10),
        "",
    )
    kept = losers if full else losers[:_SOME]
    rows: list[Row] = [list(_loser(each)) for each in kept]
    if len(kept) < len(losers):
        rows.append([f"and {len(losers) - len(kept)} more (-o wide)", "", "", "", "", ""])
    return columns, rows


def _loser(each: AtRisk) -> Iterator[str | Cell]:
    yield str(each.subject)
    yield str(each.ready)
    yield str(each.on_spot)
    yield Cell(str(each.at_once), Tone.BAD if each.all_at_once else None)
    yield each.node
    said = ["cluster DNS"] if each.dns else ["system-critical"] if each.critical else []
    said += ["all of it"] if each.all_at_once else []
    yield ", ".join(said)


# Interruption handling as ``-o json`` and ``-o yaml`` print it. null: unknown, with the reason beside it.


_Handled = Literal["yes", "no", "unknown"]


class _Delivery(Printed):
    kind: Text
    delivered: _Handled


class _Setting(Printed):
    queue: Text
    where: Text


class _Karpenter(Printed):
    """The Deployment that is judged."""

    namespace: Text
    name: Text
    version: Text | None
    service_account: Text
    queue: Text | None
    """The queue that this version of Karpenter reads; null: none, or unknown."""
    queue_set_by: Text | None
    ignored: tuple[_Setting, ...]
    pods: Texts

    @classmethod
    def of(cls, facts: interruption.KarpenterInstall) -> _Karpenter:
        said = effective(facts)
        where = getattr(said.used, "where", None) if said.queue else None
        return cls.filled(facts, queue=said.queue, queue_set_by=where, ignored=said.ignored)


class _Queue(Printed):
    name: Text | None
    arn: Text | None
    url: Text | None


class _Link(Printed):
    """One link from EventBridge to Karpenter; not-judged: another one must be fixed first."""

    called = {"code": "code.name"}

    code: CodeName
    name: Text
    subject: SubjectResult
    status: Literal["pass", "fail", "unknown", "not-judged"]
    what: Text
    vital: bool
    """Without it Spot interruption notices do not arrive."""
    evidence: Lines
    missing: Text | UnsetType

    @classmethod
    def of(cls, facts: installs.Link) -> _Link:
        return cls.filled(facts, status=facts.status or "not-judged")


class _Node(Printed):
    """A Spot node of Karpenter; pods without those of DaemonSets."""

    called = {"node_pool": "group"}

    name: Text
    node_pool: Text | None
    instance_type: Text | None
    zone: Text | None
    notice: Texts
    """Sources that report that it is being reclaimed now."""
    pods: Texts
    critical: Texts
    seconds_before_critical: Count
    """Longest time before a drain by Karpenter evicts system-critical pods."""
    drain_waits_for: Texts

    @classmethod
    def of(cls, facts: spot.SpotNode) -> _Node:
        return cls.filled(
            facts.node,
            notice=facts.heard,
            pods=sorted(pod.key for pod in facts.dying),
            critical=sorted(pod.key for pod in facts.critical),
            seconds_before_critical=facts.before_s,
            drain_waits_for=facts.holds,
        )


class _Workload(Printed):
    called = {"workload": "subject"}

    workload: SubjectResult
    ready: Count
    on_spot: Count
    at_once: Count
    """How many of them are on one Spot node."""
    node: Text
    critical: bool
    dns: bool


class _Outage(Printed):
    called = {"workloads": "losers"}

    nodes: tuple[_Node, ...]
    workloads: tuple[_Workload, ...]
    sentences: Texts

    @classmethod
    def of(cls, facts: outage.InterruptionOutage) -> _Outage:
        return cls.filled(facts, sentences=outage.sentences(facts))


class _Handler(Printed):
    called = {"on_spot_nodes_of_karpenter": "on"}

    kind: Literal["DaemonSet", "Deployment"]
    namespace: Text
    name: Text
    on_spot_nodes_of_karpenter: Texts


class _Rule(Printed):
    called = {"kind": "kind.name", "detail_type": "kind.detail_type", "mend": "there.name"}

    kind: Text
    detail_type: Text
    mend: Text | None


class _Missing(Printed):
    """What --print creates."""

    anything: bool
    stack: Text
    queue: bool
    policy: dict[str, Any] | None
    key_policy: dict[str, Any] | None
    rules: tuple[_Rule, ...]
    rights: Texts
    role: Text | None
    setting: bool
    not_known: Texts


class InterruptionResult(CommandResult):
    """Whether Karpenter receives interruption events: kubectl eksdoc interruption -o json."""

    called = {"karpenter": "install", "node_termination_handlers": "handlers"}

    kind: Literal["Interruption"]
    recognised: Text | None
    """How the tool recognized that AWS describes the cluster that was read; null: nothing is known from AWS."""
    verdict: Text
    handled: _Handled
    """Whether a Spot node of Karpenter with a notice is drained."""
    handled_by: Text | None
    to_queue: tuple[_Delivery, ...]
    """The first verdict: whether EventBridge delivers each kind of event to the queue."""
    to_karpenter: _Handled | None
    """The second verdict: whether Karpenter reads the queue; null without Karpenter."""
    karpenter: _Karpenter | None
    queue: _Queue | None
    links: tuple[_Link, ...]
    outage: _Outage
    node_termination_handlers: tuple[_Handler, ...]
    missing: _Missing | None
    findings: tuple[FindingResult, ...]
