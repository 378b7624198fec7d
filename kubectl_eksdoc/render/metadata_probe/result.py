"""An active probe as ``-o json`` and ``-o yaml`` print it. What is not known is null, and why is said beside it."""

from __future__ import annotations

from typing import Annotated, Literal

from kubectl_eksdoc.amazon.metadata_service import Reach
from kubectl_eksdoc.imds_probe.probing import diagnosis, pods, result
from kubectl_eksdoc.imds_probe.probing.diagnosis import Answers, Cause
from kubectl_eksdoc.model import metadata as metadata_probe
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.metadata import Ask
from kubectl_eksdoc.model.nodes import NodeOwner
from kubectl_eksdoc.render.command_result import CommandResult, metadata
from kubectl_eksdoc.render.metadata_probe import ProbeView, table
from kubectl_eksdoc.render.result import FindingResult, Meta, Positive, Printed, Text, Texts, UnsetType

_Milliseconds = Annotated[float, Meta(ge=0)]


class _Probe(Printed):
    id: Text
    namespace: Text
    image: Text
    deadline_seconds: Positive
    pods: Texts
    no_host_network: Text | None
    """Why no pod ran on the network of a node."""


class _Group(Printed):
    """Nodes that look alike from within the cluster."""

    name: Text | None
    owner: NodeOwner
    nodes: Texts
    probed: Texts
    why_not: Text | None

    @classmethod
    def of(cls, facts: pods.Likes) -> _Group:
        return cls.filled(facts, name=facts.group, probed=facts.chosen)


class _Refused(Printed):
    """A pod that the server would refuse, where a dry run asked it."""

    pod: Text
    why: Text
    missing: Text | UnsetType


class _Diagnosis(Printed):
    """Of a pod on a network of its own."""

    verdict: Reach
    cause: Cause
    why: Text
    doubt: Text | None
    """What speaks against it, or was not seen."""

    @classmethod
    def of(cls, facts: diagnosis.Diagnosis) -> _Diagnosis:
        return cls.filled(facts, verdict=facts.reach)


class _Request(Printed):
    request: Ask
    """GET without a token, PUT for a token, GET with the token."""
    status: Annotated[int, Meta(ge=1, le=999)] | None
    """Of the HTTP answer; null: none came."""
    curl_exit_code: Annotated[int, Meta(ge=0, le=999)]
    connect_ms: _Milliseconds | None
    """null: no connection came about."""
    total_ms: _Milliseconds

    @classmethod
    def of(cls, facts: metadata_probe.Step) -> _Request:
        return cls.filled(
            request=facts.ask,
            status=facts.code or None,
            curl_exit_code=facts.exit,
            connect_ms=None if facts.stood is None else round(facts.stood, 3),
            total_ms=round(facts.total, 3),
        )


class _Seen(Printed):
    requests: tuple[_Request, ...]
    instance: Text | None

    @classmethod
    def of(cls, facts: metadata_probe.Seen) -> _Seen:
        return cls.filled(facts, requests=facts.steps)


class _Answers(Printed):
    ran: bool
    """Whether the pod ran and reported what it saw."""
    why: Text | UnsetType
    missing: Text | UnsetType
    v4: _Seen | UnsetType
    v6: _Seen | UnsetType


def _answers(answers: Answers) -> _Answers:
    if isinstance(answers, Unknown):
        return _Answers.filled(answers, ran=False, v4=None, v6=None)
    return _Answers.filled(answers, ran=True, why=None, missing=None)


class _Node(Printed):
    name: Text
    v4: _Diagnosis
    v6: _Diagnosis
    pod: _Answers
    host: _Answers

    @classmethod
    def of(cls, facts: result.ProbedNode) -> _Node:
        return cls.filled(facts, name=facts.node, pod=_answers(facts.own), host=_answers(facts.host))


class _Cleanup(Printed):
    """null: nothing was made."""

    owner: Text
    interrupted: bool
    left: Texts
    not_removed: Text | None


class ActiveProbeResult(CommandResult):
    """What pods measured that asked the instance metadata service: kubectl eksdoc imds-probe --active -o json."""

    kind: Literal["ImdsActiveProbe"]
    verdict: Text
    probe: _Probe
    groups: tuple[_Group, ...]
    refused: tuple[_Refused, ...]
    nodes: tuple[_Node, ...]
    cleanup: _Cleanup | None
    findings: tuple[FindingResult, ...]

    @classmethod
    def of(cls, facts: ProbeView) -> ActiveProbeResult:
        plan, probed = facts.plan, facts.probed
        return cls.filled(
            facts,
            metadata=metadata(facts.cluster, facts),
            verdict=table.in_short(facts),
            probe=_Probe.filled(
                plan.manner,
                id=plan.probe,
                deadline_seconds=plan.manner.deadline_s,
                pods=(pod.name for pod in plan.pods),
                no_host_network=plan.no_host,
            ),
            groups=plan.likes,
            refused=(_Refused.filled(facts.refused[name], pod=name) for name in sorted(facts.refused)),
            nodes=probed.nodes if probed else (),
            cleanup=probed,
        )
