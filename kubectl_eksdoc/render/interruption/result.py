"""The handling of interruptions as ``-o json`` and ``-o yaml`` print it. What is not known is null, and why is said
beside it."""

from __future__ import annotations

from typing import Any, Literal

from kubectl_eksdoc.interruption import links, outage, repair, spot
from kubectl_eksdoc.interruption.installs import effective
from kubectl_eksdoc.interruption.rights import Handler
from kubectl_eksdoc.model import interruption
from kubectl_eksdoc.render.command_result import CommandResult, metadata
from kubectl_eksdoc.render.interruption import report
from kubectl_eksdoc.render.result import (
    Code,
    Count,
    FindingResult,
    Lines,
    Printed,
    SubjectResult,
    Text,
    Texts,
    UnsetType,
)

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
    """What this version of Karpenter reads; null: none, or not known."""
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

    code: Code
    name: Text
    subject: SubjectResult
    status: Literal["pass", "fail", "unknown", "not-judged"]
    what: Text
    vital: bool
    """Without it no notice of a Spot interruption arrives."""
    evidence: Lines
    missing: Text | UnsetType

    @classmethod
    def of(cls, facts: links.Link) -> _Link:
        return cls.filled(facts, code=facts.code.name, status=facts.status or "not-judged")


class _Node(Printed):
    """A Spot node of Karpenter; pods without those of DaemonSets."""

    name: Text
    node_pool: Text | None
    instance_type: Text | None
    zone: Text | None
    notice: Texts
    """Who reports that it is being reclaimed now."""
    pods: Texts
    critical: Texts
    seconds_before_critical: Count
    """At most, in a drain by Karpenter, before it evicts system-critical pods."""
    drain_waits_for: Texts

    @classmethod
    def of(cls, facts: spot.SpotNode) -> _Node:
        return cls.filled(
            facts.node,
            node_pool=facts.node.group,
            notice=facts.heard,
            pods=sorted(pod.key for pod in facts.dying),
            critical=sorted(pod.key for pod in facts.critical),
            seconds_before_critical=facts.before_s,
            drain_waits_for=facts.holds,
        )


class _Workload(Printed):
    workload: SubjectResult
    ready: Count
    on_spot: Count
    at_once: Count
    """How many of them are on one Spot node."""
    node: Text
    critical: bool
    dns: bool

    @classmethod
    def of(cls, facts: spot.AtRisk) -> _Workload:
        return cls.filled(facts, workload=facts.subject)


class _Outage(Printed):
    nodes: tuple[_Node, ...]
    workloads: tuple[_Workload, ...]
    sentences: Texts

    @classmethod
    def of(cls, facts: outage.Outage) -> _Outage:
        return cls.filled(facts, workloads=facts.losers, sentences=outage.sentences(facts))


class _Handler(Printed):
    kind: Literal["DaemonSet", "Deployment"]
    namespace: Text
    name: Text
    on_spot_nodes_of_karpenter: Texts

    @classmethod
    def of(cls, facts: Handler) -> _Handler:
        return cls.filled(facts, on_spot_nodes_of_karpenter=facts.on)


class _Rule(Printed):
    kind: Text
    detail_type: Text
    mend: Text | None

    @classmethod
    def of(cls, facts: repair.MissingRule) -> _Rule:
        return cls.filled(facts.kind, kind=facts.kind.name, mend=getattr(facts.there, "name", None))


class _Missing(Printed):
    """What --print makes."""

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

    kind: Literal["Interruption"]
    recognised: Text | None
    """How it is known that AWS describes the cluster that was read; null: nothing of AWS is known."""
    verdict: Text
    handled: _Handled
    """Whether a Spot node of Karpenter that has its notice is drained."""
    handled_by: Text | None
    to_queue: tuple[_Delivery, ...]
    """The first verdict: whether EventBridge delivers each kind of event to the queue."""
    to_karpenter: _Handled | None
    """The second verdict: whether Karpenter reads the queue; null where there is no Karpenter to ask."""
    karpenter: _Karpenter | None
    queue: _Queue | None
    links: tuple[_Link, ...]
    outage: _Outage
    node_termination_handlers: tuple[_Handler, ...]
    missing: _Missing | None
    findings: tuple[FindingResult, ...]

    @classmethod
    def of(cls, facts: report.InterruptionReport) -> InterruptionResult:
        plan, read = facts.plan, facts.plan.facts
        queue = _Queue.filled(name=read.queue, arn=read.queue_arn, url=getattr(read.told.queue, "url", None))
        return cls.filled(
            plan,
            metadata=metadata(read.cluster, facts),
            recognised=facts.recognised,
            verdict=report.in_short(plan),
            handled=report.HANDLED[plan.outage.handled],
            handled_by=plan.outage.by if plan.outage.handled else None,
            to_queue=(_Delivery.filled(kind=kind, delivered=report.HANDLED[so]) for kind, so in plan.to_queue.items()),
            to_karpenter=report.HANDLED[plan.to_karpenter] if plan.links else None,
            karpenter=plan.install,
            queue=queue if plan.install else None,
            node_termination_handlers=plan.handlers,
            missing=plan.missing and _Missing.filled(plan.missing, stack=plan.stack),
        )
