"""CoreDNS as ``-o json`` and ``-o yaml`` print it. What is not known is null, and why is said beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from kubectl_eksdoc.coredns_lameduck import deployed as dns
from kubectl_eksdoc.coredns_lameduck.judging import leaving
from kubectl_eksdoc.coredns_lameduck.judging.failing import endpoints
from kubectl_eksdoc.coredns_lameduck.shutdown import CLIENT_S, CLOSING_S, MARGIN_S
from kubectl_eksdoc.kubernetes.keeping import printed_corefile
from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.render.command_result import CommandResult, metadata
from kubectl_eksdoc.render.dns import report
from kubectl_eksdoc.render.dns.report import LameduckReport
from kubectl_eksdoc.render.result import LEFT_OUT, Count, FindingResult, Meta, Moment, Printed, Text, Texts, UnsetType


class _Step(Printed):
    """One change; those before it make it safe."""

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
    """Why its Deployment is not known."""
    managed_addon: bool | None
    """null: not known."""
    corefile: str | None
    """As it is deployed."""

    @classmethod
    def of(cls, facts: dns.DnsFacts) -> _Coredns:
        addon, text, deployed = facts.addon, facts.text, facts.deployed
        if isinstance(deployed, (Absent, Unknown)):
            version, replicas, why = None, None, deployed.why if isinstance(deployed, Unknown) else deployed.said
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
    """null: not told by the text."""
    why: Text | UnsetType
    """Why the rest is not known."""
    grace_seconds: Count | UnsetType
    pre_stop_seconds: Count | UnsetType
    closing_seconds: Count | UnsetType
    margin_seconds: Count | UnsetType
    propagation_seconds: Count | UnsetType
    """Until every node has removed the endpoint: an estimate by their number, or measured."""
    propagation_measured_at: Moment | UnsetType | None
    """When it was measured; null: it is an estimate."""
    client_seconds: Count | UnsetType
    """How long a client waits for an answer."""
    least_seconds: Count | UnsetType
    """With a shorter lameduck, a pod that is gone may still be asked: propagationSeconds and a margin."""
    most_seconds: int | UnsetType
    """With a longer one, it may be killed before it has closed; negative: with any."""
    advised_seconds: Count | UnsetType | None
    """The largest safe lameduck; null: no value is safe."""

    @classmethod
    def of(cls, facts: leaving.Ending) -> _Shutdown:
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
    """Whether it is a ready endpoint of kube-dns; null: not known."""
    restarts: Count | None


def _pods(facts: dns.DnsFacts) -> Iterator[_Pod]:
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
    """Whether DNS survives its nodes: kubectl eksdoc coredns-lameduck -o json."""

    kind: Literal["CorednsLameduck"]
    recognised: Text | None
    """How it is known that AWS describes the cluster that was read; null: nothing of AWS is known."""
    verdict: Text
    outlook: Texts
    """What will happen, a sentence each."""
    steps: tuple[_Step, ...]
    coredns: _Coredns
    shutdown: _Shutdown
    pods: tuple[_Pod, ...]
    zones: tuple[_Zone, ...]
    findings: tuple[FindingResult, ...]

    @classmethod
    def of(cls, facts: LameduckReport) -> LameduckResult:
        plan = facts.plan
        return cls.filled(
            plan,
            metadata=metadata(plan.facts.cluster, facts),
            recognised=facts.recognised,
            verdict=report.verdict(plan),
            coredns=plan.facts,
            shutdown=plan.ending,
            pods=_pods(plan.facts),
        )
