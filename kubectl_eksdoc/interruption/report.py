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
    BulletList,
    CommandReport,
    FindingList,
    Footer,
    Heading,
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
    Row,
    TableData,
    Title,
    Tone,
    as_columns,
    join_words,
    name_column,
    number_column,
    pluralize,
    text_column,
)

from . import installs, outage, spot
from .installs import effective_setting
from .outage import KARPENTER, sentences
from .plan import InterruptionPlan
from .spot import NOTICE_S, AffectedWorkload, SpotNode

# Interruption handling in sentences.


def summary(plan: InterruptionPlan) -> str:
    """The first lines: whether Karpenter receives events, and which pods are affected."""
    return f"{_karpenter_text(plan)} {_spot_text(plan)}"


def _karpenter_text(plan: InterruptionPlan) -> str:
    facts, handled = plan.facts, plan.outage.handled
    if isinstance(facts.install, Unknown):
        return "How Karpenter is configured is unknown, and so is whether it receives interruption events."
    if isinstance(facts.install, Absent):
        nodes = [node for node in facts.cluster.nodes if node.owner is NodeOwner.KARPENTER]
        if nodes:
            return f"There is no Karpenter, and {pluralize(len(nodes), 'node')} that it made."
        is_auto_mode = facts.place.auto_mode or any(node.owner is NodeOwner.AUTO_MODE for node in facts.cluster.nodes)
        return (
            "EKS Auto Mode handles interruptions by itself: nothing is to be set."
            if is_auto_mode
            else "There is no Karpenter."
        )
    prefix = f"Karpenter {facts.install.version or '(version not known)'} ({facts.install.key})"
    broken_links = [
        each.name
        for each in plan.links
        if each.failed and each.vital and each.code is not Code.of("interruption-provider-fails")
    ]
    if handled is False or broken_links:
        is_single = len(broken_links) == 1
        links = f"the link{'' if is_single else 's'} {join_words(broken_links)} {'is' if is_single else 'are'} broken"
        return f"{prefix} receives no Spot interruption events: {links if broken_links else 'as its log shows'}."
    if handled is None or plan.outage.handled_by != KARPENTER:  # another handler's drains say nothing about Karpenter
        unknown_links = [
            each.name for each in plan.links if each.vital and each.status is not None and each.status.value != "pass"
        ]
        return f"Whether {prefix} receives Spot interruption events is not known: {', '.join(unknown_links[:3])}."
    other_failed = [each.name for each in plan.links if each.failed]
    other_text = f", but not of everything else ({', '.join(other_failed)})" if other_failed else ""
    return f"{prefix} receives Spot interruption events{other_text}."


HANDLED_WORDS = {True: "yes", False: "no", None: "unknown"}


def verdicts(plan: InterruptionPlan) -> tuple[str, ...]:
    """The verdicts on both halves of the chain; () without Karpenter."""
    if not plan.links:
        return ()
    kinds = ", ".join(f"{kind} {HANDLED_WORDS[delivered]}" for kind, delivered in plan.to_queue.items())
    return (
        f"EventBridge delivers to the queue: {kinds}.",
        f"Karpenter reads the queue: {HANDLED_WORDS[plan.to_karpenter]}.",
    )


def _spot_text(plan: InterruptionPlan) -> str:
    outage = plan.outage
    if not outage.nodes:
        others = sum(node.capacity_type == "spot" for node in plan.facts.cluster.nodes)
        return (
            f"None of Karpenter's nodes is Spot; {pluralize(others, 'Spot node')} {'is' if others == 1 else 'are'} "
            "others'."
            if others
            else "No node is known to be Spot."
        )
    pods = sum(len(each.lost_pods) for each in outage.nodes)
    dns = next((each for each in outage.losers if each.dns), None)
    dns_text = f", among them {dns.on_spot} of {dns.ready} CoreDNS" if dns is not None else ""
    notice_text = (
        f" {pluralize(len(outage.interrupted), 'of them has', 'of them have')} a notice NOW."
        if outage.interrupted
        else ""
    )
    return (
        f"{pluralize(len(outage.nodes), 'Spot node')} of Karpenter with "
        f"{pluralize(pods, 'pod')}{dns_text}.{notice_text}"
    )


_SYMBOLS = {
    Status.PASS: Cell("✓", Tone.GOOD),
    Status.FAIL: Cell("✗", Tone.BAD),
    Status.UNKNOWN: Cell("?", Tone.UNKNOWN),
    None: Cell("·", Tone.FAINT),
}
_MAX_WORKLOADS = 8
_READ_ONLY_NOTE = "This command changes nothing. All evidence: -o wide; for a program: -o json"
_PRINT_NOTE = (
    "This command changes nothing; it prints: --print stack | commands | iam | helm-values. All evidence: -o wide"
)


@frozen
class InterruptionReport(CommandReport):
    noun_phrase = "an answer about interruptions"

    plan: InterruptionPlan

    @property
    def cluster(self) -> Cluster:
        return self.plan.facts.cluster

    def sections(self, full: bool) -> Iterator[Section]:
        """One page: the summary, each link, the effect of the next interruption, the findings. `full`: every node and
        all evidence."""
        plan = self.plan
        yield Heading(summary(plan))
        yield Table(
            Title("Links", ": from EventBridge to Karpenter"),
            (
                as_columns("", "LINK", text_column("STATE", 24, 3)),
                [[_SYMBOLS[each.status], each.name, each.what] for each in plan.links],
            ),
        )
        yield BulletList("Verdicts", verdicts(plan))
        yield Table(Title("Spot nodes", " of Karpenter"), _node_table(plan.outage.nodes, full), "nodes")
        yield Table(
            Title("Who loses pods", " with one Spot node"), _workload_table(plan.outage.losers, full), "workloads"
        )
        yield BulletList("The next interruption", sentences(plan.outage))
        yield FindingList(plan.findings)
        yield BulletList("Notes", self.cluster.notes)
        yield Footer(_PRINT_NOTE if plan.missing is not None else _READ_ONLY_NOTE)

    def result(self) -> object:
        plan, facts = self.plan, self.plan.facts
        queue = facts.queue, facts.queue_arn, getattr(facts.told.queue, "url", None)
        return InterruptionResult.from_facts(
            self,
            plan,
            verdict=summary(plan),
            handled=HANDLED_WORDS[plan.outage.handled],
            handled_by=plan.outage.handled_by if plan.outage.handled else None,
            to_queue=((kind, HANDLED_WORDS[delivered]) for kind, delivered in plan.to_queue.items()),
            to_karpenter=HANDLED_WORDS[plan.to_karpenter] if plan.links else None,
            queue=queue if plan.install else None,
            missing=plan.missing and _ObjectsToCreate.from_facts(plan.missing, stack=plan.stack),
        )


def _node_table(nodes: tuple[SpotNode, ...], full: bool) -> TableData:
    return as_columns(
        name_column("NODE", 12),
        Column("NODEPOOL", drop_order=2),
        Column("TYPE", drop_order=3),
        Column("ZONE", drop_order=1),
        "NOTICE",
        number_column("PODS"),
        number_column("CRITICAL", short_title="CRIT."),
        text_column("A DRAIN WAITS FOR", 20),
    ), [_node_row(each, full) for each in nodes]


def _node_row(spot_node: SpotNode, full: bool) -> Row:
    blockers = (
        ", ".join(spot_node.drain_blockers)
        if full
        else f"{pluralize(len(spot_node.drain_blockers), 'pod')} that may not go"
    )
    return [
        spot_node.name,
        spot_node.node.group or "-",
        spot_node.node.instance_type or "-",
        spot_node.node.zone or "-",
        Cell("NOW", Tone.BAD) if spot_node.notices else "-",
        len(spot_node.lost_pods),
        Cell(str(len(spot_node.critical)), Tone.WARN) if spot_node.critical else "-",
        Cell(blockers, Tone.WARN) if spot_node.drain_blockers else _grace_cell(spot_node),
    ]


def _grace_cell(spot_node: SpotNode) -> str | Cell:
    """Longest time before system-critical pods are evicted, in seconds."""
    text = f"grace periods, {spot_node.before_critical_s} s"
    return (
        Cell(text, Tone.WARN)
        if spot_node.before_critical_s >= NOTICE_S
        else text
        if spot_node.before_critical_s
        else "-"
    )


def _workload_table(workloads: tuple[AffectedWorkload, ...], full: bool) -> TableData:
    columns = as_columns(
        name_column("WORKLOAD", 20),
        number_column("READY"),
        number_column("ON SPOT"),
        number_column("AT ONCE"),
        name_column("WITH", 10),
        "",
    )
    shown = workloads if full else workloads[:_MAX_WORKLOADS]
    rows: list[Row] = [list(_workload_cells(each)) for each in shown]
    if len(shown) < len(workloads):
        rows.append([f"and {len(workloads) - len(shown)} more (-o wide)", "", "", "", "", ""])
    return columns, rows


def _workload_cells(workload: AffectedWorkload) -> Iterator[str | Cell]:
    yield str(workload.subject)
    yield str(workload.ready)
    yield str(workload.on_spot)
    yield Cell(str(workload.at_once), Tone.BAD if workload.all_at_once else None)
    yield workload.node
    remarks = ["cluster DNS"] if workload.dns else ["system-critical"] if workload.critical else []
    remarks += ["all of it"] if workload.all_at_once else []
    yield ", ".join(remarks)


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
        setting = effective_setting(facts)
        source = getattr(setting.state, "where", None) if setting.queue else None
        return cls.from_facts(facts, queue=setting.queue, queue_set_by=source, ignored=setting.ignored)


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
        return cls.from_facts(facts, status=facts.status or "not-judged")


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
        return cls.from_facts(
            facts.node,
            notice=facts.notices,
            pods=sorted(pod.key for pod in facts.lost_pods),
            critical=sorted(pod.key for pod in facts.critical),
            seconds_before_critical=facts.before_critical_s,
            drain_waits_for=facts.drain_blockers,
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
        return cls.from_facts(facts, sentences=outage.sentences(facts))


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


class _ObjectsToCreate(Printed):
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
    missing: _ObjectsToCreate | None
    findings: tuple[FindingResult, ...]
