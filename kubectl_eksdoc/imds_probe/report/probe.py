"""Report of the active probe: the objects to create, or the result of each node, with the cause and the findings.

A wide page has every request, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Annotated, Literal

from kubectl_eksdoc.amazon.metadata_service import Reach
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.metadata import AddressFamily, Ask, FamilyAnswer, ProbeStep
from kubectl_eksdoc.model.nodes import NodeOwner
from kubectl_eksdoc.model.placing import NotMade
from kubectl_eksdoc.report.command_result import CommandResult
from kubectl_eksdoc.report.report import CommandReport, Findings, Head, Points, Section, Table
from kubectl_eksdoc.report.result import (
    FindingResult,
    Meta,
    Positive,
    Printed,
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
    name_column,
    number_column,
)

from ..probe_diagnosis import Answers, Cause, diagnosis
from ..probe_result import Probed, ProbedNode, ProbePlan, findings_of
from .nodes import reached

# The active probe in sentences.


_DO = (
    (Reach.CUT_OFF, "unreachable"),
    (Reach.V1_ONLY, "answered without a token only"),
    (Reach.UNKNOWN, "not known"),
    (Reach.REACHABLE, "reached"),
)


def in_short(report: ActiveReport) -> str:
    """The first line."""
    plan, probed = report.plan, report.probed
    if probed is None and not plan.pods:
        return "No node can be probed: nothing would be made."
    if probed is None:
        return (
            f"This would make {counted(len(plan.pods), 'pod')} on {counted(len(plan.nodes), 'node')}, and the "
            f"ConfigMap that owns them, in namespace {plan.manner.namespace}. All of it is deleted at the end; a "
            f"pod that is forgotten ends by itself after {plan.manner.deadline_s} s."
        )
    counts = ((what, sum(node.v4.reach is reach for node in probed.nodes)) for reach, what in _DO)
    said = ", ".join(f"{what} on {count}" for what, count in counts if count) or "no node could be asked"
    ended = " It was interrupted." if probed.interrupted else ""
    return f"Measured from pods on {counted(len(probed.nodes), 'node')}: the metadata service is {said}.{ended}"


def about(plan: ProbePlan) -> list[str]:
    """Facts to know before the objects are created."""
    stale, others = (", ".join(owner.name for owner in owners) for owners in (plan.stale, plan.others))
    told = (
        f"image: {plan.manner.image}; it needs a shell and curl",
        "each pod asks for a token and the id of the instance, on IPv4 and IPv6; no credentials are read",
        "they are bound to their nodes past the scheduler: none is preempted for them, no autoscaler wakes up",
        plan.no_host and f"nothing runs on the network of a node: {plan.no_host}; another one: --probe-namespace NAME",
        stale and f"removed first, as a probe that was killed has left it: {stale}",
        others and f"left alone, as another probe may be running: {others}",
    )
    return list(filter(None, told))


@frozen
class ActiveReport(CommandReport):
    """`probed` is None if nothing was created, yet or at all. `refused`: pods that the API server would refuse, by
    name, from a dry run."""

    of = "an active probe"

    cluster: Cluster
    plan: ProbePlan
    probed: Probed | None = None
    refused: Mapping[str, NotMade] = field(default_factory=dict)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return () if self.probed is None else findings_of(self.plan, self.probed)

    def sections(self, full: bool) -> Iterator[Section]:
        plan, probed = self.plan, self.probed
        yield Head(in_short(self))
        if probed is None:
            yield Table(Title("Nodes", " that are alike, and which of them would be probed"), _choice(plan))
            yield Points("What would be made", about(plan))
            refused = (f"{name}: {why.why}" for name, why in self.refused.items())
            yield Points("Refused by the server", refused)
            return
        yield Table(Title("Nodes", ": what pods on them measured"), _nodes(plan, probed), "nodes")
        if full:
            yield Table("Requests", _requests(probed))
        yield Findings(self.findings)

    def result(self) -> object:
        plan = self.plan
        return ActiveProbeResult.filled(
            self,
            verdict=in_short(self),
            probe=_Probe.filled(plan, plan.manner, pods=(pod.name for pod in plan.pods)),
            refused=(_Refused.filled(self.refused[name], pod=name) for name in sorted(self.refused)),
        )


def _choice(plan: ProbePlan) -> Drawn:
    columns = [
        name_column("GROUP", 12),
        Column("MANAGED BY", drop=1),
        number_column("NODES"),
        name_column("PROBED", 16),
    ]
    rows: list[Row] = []
    for each in plan.likes:
        more = f" and {len(each.chosen) - 1} more" if len(each.chosen) > 1 else ""
        probed = f"{each.chosen[0]}{more}" if each.chosen else Cell(f"none: {each.why_not}", Tone.FAINT)
        rows.append([each.group or f"({each.owner.value})", each.owner.value, len(each.nodes), probed])
    return columns, rows


def _nodes(plan: ProbePlan, probed: Probed) -> Drawn:
    columns = columns_of(
        name_column("GROUP", 8),
        name_column("NODE", 20),
        "PODS",
        "CAUSE",
        Column("NODE ITSELF", short="ITSELF"),
        Column("IPV6", drop=1),
        number_column("ANSWER", 2),
    )
    rows: list[Row] = []
    for node in probed.nodes:
        likes = plan.likes_of(node.node)
        rows.append(
            [
                likes.group or f"({likes.owner.value})",
                node.node,
                reached(node.v4.reach),
                _CAUSES.get(node.v4.cause, node.v4.cause.value),
                reached(diagnosis(node.host, node.host).reach),
                _v6(node),
                _slowest(node.own),
            ]
        )
    return columns, rows


_CAUSES = {Cause.NONE: "-", Cause.UNKNOWN: "?", Cause.HOP_LIMIT: "hop limit?", Cause.DISABLED: "disabled?"}
"""Causes that only EC2's options can confirm have a question mark."""


def _v6(node: ProbedNode) -> Cell:
    """If the node itself gets no answer either, IPv6 is off, which is the default."""
    if node.v6.cause in (Cause.NODE, Cause.DISABLED):
        return Cell("off", Tone.FAINT)
    return reached(Reach.UNKNOWN if node.v6.cause is Cause.UNKNOWN else node.v6.reach)


def _slowest(answers: Answers) -> str:
    """The longest response time on IPv4."""
    if isinstance(answers, Unknown):
        return "-"
    times = [step.total for step in answers.v4.steps if step.answered]
    return f"{max(times):.1f} ms" if times else "-"


def _requests(probed: Probed) -> Drawn:
    columns = columns_of("NODE", "FROM", "ADDRESS", "REQUEST", "ANSWER", "CONNECTED", "TOTAL", "TOLD")
    rows: list[Row] = []
    for node in probed.nodes:
        for network, answers in (("pod", node.own), ("node", node.host)):
            if isinstance(answers, Unknown):
                rows.append([node.node, network, "-", "-", "?", "-", "-", answers.why])
                continue
            for family in AddressFamily:
                seen = answers.of(family)
                rows += [[node.node, network, family.value, *_step(step, seen)] for step in seen.steps]
    return columns, rows


_ASKED = {Ask.V1: "GET without token", Ask.TOKEN: "PUT token", Ask.V2: "GET with token"}


def _step(step: ProbeStep, seen: FamilyAnswer) -> list[str]:
    answer = str(step.code) if step.answered else f"none (curl {step.exit})"
    stood = "no" if step.stood is None else f"{step.stood:.1f} ms"
    told = seen.instance if step.code == 200 and step.ask is not Ask.TOKEN else ""
    return [_ASKED[step.ask], answer, stood, f"{step.total:.1f} ms", told or "-"]


# An active probe as ``-o json`` and ``-o yaml`` print it. An unknown value is null, with the reason beside it.


_Milliseconds = Annotated[float, Meta(ge=0, extra={"digits": 3})]


class _Probe(Printed):
    called = {"id": "probe", "no_host_network": "no_host"}

    id: Text
    namespace: Text
    image: Text
    deadline_seconds: Positive
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

    verdict: Reach
    cause: Cause
    """`hop limit` and `disabled` are likely, not certain: EC2 was not asked (`doubt`)."""
    why: Text
    doubt: Text | None
    """Contrary or missing evidence."""


class _Request(Printed):
    called = {"request": "ask", "status": "code", "curl_exit_code": "exit", "connect_ms": "stood", "total_ms": "total"}

    request: Ask
    """GET without a token, PUT for a token, GET with the token."""
    status: Annotated[int, Meta(ge=1, le=999)] | None
    """The HTTP status; null: no answer."""
    curl_exit_code: Annotated[int, Meta(ge=0, le=999)]
    connect_ms: _Milliseconds | None
    """null: no connection."""
    total_ms: _Milliseconds


class _Seen(Printed):
    called = {"requests": "steps"}

    requests: tuple[_Request, ...]
    instance: Text | None


class _Answers(Printed):
    ran: bool
    """The pod ran and reported its results."""
    why: Text | UnsetType
    missing: Text | UnsetType
    v4: _Seen | UnsetType
    v6: _Seen | UnsetType

    @classmethod
    def of(cls, facts: Answers) -> _Answers:
        if isinstance(facts, Unknown):
            return cls.filled(facts, ran=False, v4=None, v6=None)
        return cls.filled(facts, ran=True, why=None, missing=None)


class _Node(Printed):
    called = {"name": "node"}

    name: Text
    v4: _Diagnosis
    v6: _Diagnosis
    pod: _Answers
    host: _Answers

    @classmethod
    def of(cls, facts: ProbedNode) -> _Node:
        return cls.filled(facts, pod=_Answers.of(facts.own), host=_Answers.of(facts.host))


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
