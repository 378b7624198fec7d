"""Report of the active probe: the objects to create, or the result of each node, with the cause and the findings.

A wide page has every request, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Annotated, Literal

from kubectl_eksdoc.amazon.metadata_service import ImdsReach
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.metadata import AddressFamily, FamilyAnswer, ImdsRequest, ProbeStep
from kubectl_eksdoc.model.nodes import NodeOwner
from kubectl_eksdoc.model.placement import ProbeFailure
from kubectl_eksdoc.report.command_result import CommandResult
from kubectl_eksdoc.report.report import BulletList, CommandReport, FindingList, Heading, Section, Table
from kubectl_eksdoc.report.result import (
    FindingResult,
    Meta,
    PositiveCount,
    Printed,
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
    name_column,
    number_column,
    pluralize,
)

from ..probe_diagnosis import ImdsCause, ProbeAnswers, diagnose
from ..probe_result import ProbedNode, ProbePlan, ProbeRun, probe_findings
from .nodes import reach_cell

# The active probe in sentences.


_REACH_TEXTS = (
    (ImdsReach.UNREACHABLE, "unreachable"),
    (ImdsReach.V1_ONLY, "answered without a token only"),
    (ImdsReach.UNKNOWN, "not known"),
    (ImdsReach.REACHABLE, "reached"),
)


def summary(report: ActiveReport) -> str:
    """The first line."""
    plan, run = report.plan, report.probed
    if run is None and not plan.pods:
        return "No node can be probed: nothing would be made."
    if run is None:
        return (
            f"This would make {pluralize(len(plan.pods), 'pod')} on {pluralize(len(plan.nodes), 'node')}, and the "
            f"ConfigMap that owns them, in namespace {plan.settings.namespace}. All of it is deleted at the end; a "
            f"pod that is forgotten ends by itself after {plan.settings.deadline_s} s."
        )
    counts = ((text, sum(node.v4.reach is reach for node in run.nodes)) for reach, text in _REACH_TEXTS)
    results = ", ".join(f"{text} on {count}" for text, count in counts if count) or "no node could be asked"
    interrupted_text = " It was interrupted." if run.interrupted else ""
    return (
        f"Measured from pods on {pluralize(len(run.nodes), 'node')}: the metadata service is "
        f"{results}.{interrupted_text}"
    )


def plan_lines(plan: ProbePlan) -> list[str]:
    """Facts to know before the objects are created."""
    stale_owners, other_owners = (
        ", ".join(owner.name for owner in owners) for owners in (plan.stale, plan.other_owners)
    )
    lines = (
        f"image: {plan.settings.image}; it needs a shell and curl",
        "each pod asks for a token and the id of the instance, on IPv4 and IPv6; no credentials are read",
        "they are bound to their nodes past the scheduler: none is preempted for them, no autoscaler wakes up",
        plan.no_host and f"nothing runs on the network of a node: {plan.no_host}; another one: --probe-namespace NAME",
        stale_owners and f"removed first, as a probe that was killed has left it: {stale_owners}",
        other_owners and f"left alone, as another probe may be running: {other_owners}",
    )
    return list(filter(None, lines))


@frozen
class ActiveReport(CommandReport):
    """`probed` is None if nothing was created, yet or at all. `refused`: pods that the API server would refuse, by
    name, from a dry run."""

    noun_phrase = "an active probe"

    cluster: Cluster
    plan: ProbePlan
    probed: ProbeRun | None = None
    refused: Mapping[str, ProbeFailure] = field(default_factory=dict)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return () if self.probed is None else probe_findings(self.plan, self.probed)

    def sections(self, full: bool) -> Iterator[Section]:
        plan, probed = self.plan, self.probed
        yield Heading(summary(self))
        if probed is None:
            yield Table(Title("Nodes", " that are alike, and which of them would be probed"), _groups_table(plan))
            yield BulletList("What would be made", plan_lines(plan))
            refused = (f"{name}: {refusal.why}" for name, refusal in self.refused.items())
            yield BulletList("Refused by the server", refused)
            return
        yield Table(Title("Nodes", ": what pods on them measured"), _nodes_table(plan, probed), "nodes")
        if full:
            yield Table("Requests", _requests_table(probed))
        yield FindingList(self.findings)

    def result(self) -> object:
        plan = self.plan
        return ActiveProbeResult.from_facts(
            self,
            verdict=summary(self),
            probe=_Probe.from_facts(plan, plan.settings, pods=(pod.name for pod in plan.pods)),
            refused=(_Refused.from_facts(self.refused[name], pod=name) for name in sorted(self.refused)),
        )


def _groups_table(plan: ProbePlan) -> TableData:
    columns = [
        name_column("GROUP", 12),
        Column("MANAGED BY", drop_order=1),
        number_column("NODES"),
        name_column("PROBED", 16),
    ]
    rows: list[Row] = []
    for group in plan.likes:
        suffix = f" and {len(group.chosen) - 1} more" if len(group.chosen) > 1 else ""
        probed = f"{group.chosen[0]}{suffix}" if group.chosen else Cell(f"none: {group.why_not}", Tone.FAINT)
        rows.append([group.group or f"({group.owner.value})", group.owner.value, len(group.nodes), probed])
    return columns, rows


def _nodes_table(plan: ProbePlan, run: ProbeRun) -> TableData:
    columns = as_columns(
        name_column("GROUP", 8),
        name_column("NODE", 20),
        "PODS",
        "CAUSE",
        Column("NODE ITSELF", short_title="ITSELF"),
        Column("IPV6", drop_order=1),
        number_column("ANSWER", 2),
    )
    rows: list[Row] = []
    for node in run.nodes:
        group = plan.group_of(node.node)
        rows.append(
            [
                group.group or f"({group.owner.value})",
                node.node,
                reach_cell(node.v4.reach),
                _CAUSE_TEXTS.get(node.v4.cause, node.v4.cause.value),
                reach_cell(diagnose(node.host_answers, node.host_answers).reach),
                _ipv6_cell(node),
                _slowest_text(node.pod_answers),
            ]
        )
    return columns, rows


_CAUSE_TEXTS = {
    ImdsCause.NONE: "-",
    ImdsCause.UNKNOWN: "?",
    ImdsCause.HOP_LIMIT: "hop limit?",
    ImdsCause.DISABLED: "disabled?",
}
"""Causes that only EC2's options can confirm have a question mark."""


def _ipv6_cell(node: ProbedNode) -> Cell:
    """If the node itself gets no answer either, IPv6 is off, which is the default."""
    if node.v6.cause in (ImdsCause.NODE, ImdsCause.DISABLED):
        return Cell("off", Tone.FAINT)
    return reach_cell(ImdsReach.UNKNOWN if node.v6.cause is ImdsCause.UNKNOWN else node.v6.reach)


def _slowest_text(answers: ProbeAnswers) -> str:
    """The longest response time on IPv4."""
    if isinstance(answers, Unknown):
        return "-"
    times = [step.total for step in answers.v4.steps if step.answered]
    return f"{max(times):.1f} ms" if times else "-"


def _requests_table(run: ProbeRun) -> TableData:
    columns = as_columns("NODE", "FROM", "ADDRESS", "REQUEST", "ANSWER", "CONNECTED", "TOTAL", "TOLD")
    rows: list[Row] = []
    for node in run.nodes:
        for network, answers in (("pod", node.pod_answers), ("node", node.host_answers)):
            if isinstance(answers, Unknown):
                rows.append([node.node, network, "-", "-", "?", "-", "-", answers.why])
                continue
            for family in AddressFamily:
                family_answer = answers.answer(family)
                rows += [
                    [node.node, network, family.value, *_step_cells(step, family_answer)]
                    for step in family_answer.steps
                ]
    return columns, rows


_REQUEST_TEXTS = {ImdsRequest.V1: "GET without token", ImdsRequest.TOKEN: "PUT token", ImdsRequest.V2: "GET with token"}


def _step_cells(step: ProbeStep, family_answer: FamilyAnswer) -> list[str]:
    answer = str(step.code) if step.answered else f"none (curl {step.exit})"
    connected_text = "no" if step.stood is None else f"{step.stood:.1f} ms"
    instance = family_answer.instance if step.code == 200 and step.ask is not ImdsRequest.TOKEN else ""
    return [_REQUEST_TEXTS[step.ask], answer, connected_text, f"{step.total:.1f} ms", instance or "-"]


# An active probe as ``-o json`` and ``-o yaml`` print it. An unknown value is null, with the reason beside it.


_Milliseconds = Annotated[float, Meta(ge=0, extra={"digits": 3})]


class _Probe(Printed):
    called = {"id": "probe", "no_host_network": "no_host"}

    id: Text
    namespace: Text
    image: Text
    deadline_seconds: PositiveCount
    pods: Texts
    no_host_network: Text | None
    """Why no pod ran in the host network."""


class _Group(Printed):
    """Nodes that look alike from within the cluster."""

    called = {"name": "group", "probed": "chosen"}

    name: Text | None
    owner: NodeOwner
    nodes: Texts
    probed: Texts
    why_not: Text | None


class _Refused(Printed):
    """A pod that the API server would refuse, by a dry run."""

    pod: Text
    why: Text
    missing: Text | UnsetType


class _Diagnosis(Printed):
    """The diagnosis of a pod in the pod network."""

    called = {"verdict": "reach"}

    verdict: ImdsReach
    cause: ImdsCause
    """`hop limit` and `disabled` are likely, not certain: EC2 was not asked (`doubt`)."""
    why: Text
    doubt: Text | None
    """Contrary or missing evidence."""


class _Request(Printed):
    called = {"request": "ask", "status": "code", "curl_exit_code": "exit", "connect_ms": "stood", "total_ms": "total"}

    request: ImdsRequest
    """GET without a token, PUT for a token, GET with the token."""
    status: Annotated[int, Meta(ge=1, le=999)] | None
    """The HTTP status; null: no answer."""
    curl_exit_code: Annotated[int, Meta(ge=0, le=999)]
    connect_ms: _Milliseconds | None
    """null: no connection."""
    total_ms: _Milliseconds


class _ProbeRequests(Printed):
    called = {"requests": "steps"}

    requests: tuple[_Request, ...]
    instance: Text | None


class _Answers(Printed):
    ran: bool
    """The pod ran and reported its results."""
    why: Text | UnsetType
    missing: Text | UnsetType
    v4: _ProbeRequests | UnsetType
    v6: _ProbeRequests | UnsetType

    @classmethod
    def of(cls, facts: ProbeAnswers) -> _Answers:
        if isinstance(facts, Unknown):
            return cls.from_facts(facts, ran=False, v4=None, v6=None)
        return cls.from_facts(facts, ran=True, why=None, missing=None)


class _Node(Printed):
    called = {"name": "node"}

    name: Text
    v4: _Diagnosis
    v6: _Diagnosis
    pod: _Answers
    host: _Answers

    @classmethod
    def of(cls, facts: ProbedNode) -> _Node:
        return cls.from_facts(facts, pod=_Answers.of(facts.pod_answers), host=_Answers.of(facts.host_answers))


class _Cleanup(Printed):
    """null: nothing was created."""

    owner: Text
    interrupted: bool
    left: Texts
    not_removed: Text | None


class ActiveProbeResult(CommandResult):
    """Results of test pods that asked the instance metadata service: kubectl eksdoc imds-probe --active -o json."""

    called = {"groups": "plan.likes", "nodes": "probed.nodes", "cleanup": "probed"}

    kind: Literal["ImdsActiveProbe"]
    verdict: Text
    probe: _Probe
    groups: tuple[_Group, ...]
    refused: tuple[_Refused, ...]
    nodes: tuple[_Node, ...]
    cleanup: _Cleanup | None
    findings: tuple[FindingResult, ...]
