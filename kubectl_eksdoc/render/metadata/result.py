"""The metadata service as ``-o json`` and ``-o yaml`` print it. What is not known is null, and why is said
beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from kubectl_eksdoc.amazon.metadata_service import Reach, Verdict
from kubectl_eksdoc.imds_probe import affected
from kubectl_eksdoc.imds_probe.affected import Effect
from kubectl_eksdoc.imds_probe.fixes.fix import Choice
from kubectl_eksdoc.imds_probe.of_pod import OnePod
from kubectl_eksdoc.imds_probe.plan import GroupPlan
from kubectl_eksdoc.imds_probe.sources import Service
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.aws.machines import MetadataOptions
from kubectl_eksdoc.model.nodes import NodeOwner
from kubectl_eksdoc.probes import owner_of
from kubectl_eksdoc.render.command_result import CommandResult, metadata
from kubectl_eksdoc.render.metadata import MetadataView, table
from kubectl_eksdoc.render.metadata_fix.result import FixChoice
from kubectl_eksdoc.render.result import FindingResult, Meta, Positive, Printed, SubjectResult, Text, Texts, UnsetType
from kubectl_eksdoc.render.since.result import SinceResult

_Hops = Annotated[int, Meta(ge=1, le=64)]


class _Options(Printed):
    """As EC2 names them."""

    http_tokens: Literal["required", "optional"]
    http_put_response_hop_limit: _Hops
    http_endpoint: Literal["enabled", "disabled"]
    http_protocol_ipv6: Literal["enabled", "disabled"]
    state: Literal["applied", "pending"]

    @classmethod
    def of(cls, facts: MetadataOptions) -> _Options:
        return cls.filled(
            http_tokens=facts.tokens,
            http_put_response_hop_limit=facts.hop_limit,
            http_endpoint="enabled" if facts.endpoint else "disabled",
            http_protocol_ipv6="enabled" if facts.ipv6 else "disabled",
            state="pending" if facts.pending else "applied",
        )


class _Service(Printed):
    """What a pod finds; service false: nodes of this kind have none. options null: not known, why says why and missing
    what would tell."""

    verdict: Reach
    why: Text
    by: Text | None
    """Whose decision the options are."""
    service: bool
    options: _Options | None
    missing: Text | UnsetType


def _service(service: Service, verdict: Verdict) -> _Service:
    missing = service.options.missing if isinstance(service.options, Unknown) else ""
    there = service.options is not None
    return _Service.filled(service, verdict=verdict.reach, why=verdict.why, service=there, missing=missing)


class _Affected(Printed):
    """A pod, why it is affected, what to set, and who says so."""

    namespace: Text
    name: Text
    why: Text
    way_out: Text
    source: Text | None

    @classmethod
    def of(cls, facts: affected.AffectedPod) -> _Affected:
        pod = facts.pod
        return cls.filled(facts, namespace=pod.namespace, name=pod.name, why=f"{facts.why}; {facts.where}")


class _Counted(Printed):
    """Pods of one owner."""

    owner: SubjectResult
    pods: Positive


class _Pods(Printed):
    """Affected pods; those of which it is only possible are counted by their owners."""

    broken_now: tuple[_Affected, ...]
    will_break: tuple[_Affected, ...]
    possible: tuple[_Counted, ...]
    no_known_need: tuple[_Counted, ...]
    """They have no role of their own, and nothing says that they call AWS."""


class _Group(Printed):
    """Nodes with the same metadata service for the same reason."""

    name: Text | None
    owner: NodeOwner
    nodes: Annotated[Texts, Meta(min_length=1)]
    sentence: Text
    now: _Service
    next: _Service
    changed: bool
    """The running nodes have other options than new nodes get."""
    pods: _Pods
    fixes: tuple[FixChoice, ...]
    """What can be done, what moves least first."""
    cannot: Texts
    """What cannot be done, and why."""


def _group(group: GroupPlan, choice: Choice) -> _Group:
    alike = group.alike
    return _Group.filled(
        alike,
        sentence=table.sentence(group),
        now=_service(alike.now, alike.here),
        next=_service(alike.next, alike.later),
        changed=alike.by_hand,
        pods=_Pods.filled(
            broken_now=group.of(Effect.BROKEN),
            will_break=group.of(Effect.WILL_BREAK),
            possible=_counted(group.of(Effect.POSSIBLE)),
            no_known_need=_counted(group.of(Effect.NO_KNOWN_NEED)),
        ),
        fixes=choice.fixes,
        cannot=choice.cannot,
    )


def _counted(found: Sequence[affected.AffectedPod]) -> Iterator[_Counted]:
    """By whose they are: nine hundred pods are not a list."""
    owners = Counter(owner_of(each.pod) for each in found)
    for owner, count in sorted(owners.items(), key=lambda item: (item[0].namespace, item[0].kind, item[0].name)):
        yield _Counted.filled(owner=owner, pods=count)


class _Pod(Printed):
    """The one that was asked about."""

    namespace: Text
    name: Text
    node: Text | None
    hops: Positive
    verdict: Reach
    why: Text
    suffering: Effect | None
    way_out: Text | None
    sentence: Text

    @classmethod
    def of(cls, facts: OnePod) -> _Pod:
        return cls.filled(
            facts.pod,
            hops=facts.hops,
            verdict=facts.here.reach,
            why=facts.here.why,
            suffering=facts.affected_pod and facts.affected_pod.effect,
            way_out=facts.affected_pod and facts.affected_pod.way_out,
            sentence=facts.sentence,
        )


class ProbeResult(CommandResult):
    """Who reaches the instance metadata service: kubectl eksdoc imds-probe -o json."""

    kind: Literal["ImdsProbe"]
    recognised: Text | None
    """How it is known that AWS describes the cluster that was read; null: nothing of AWS is known."""
    hops: _Hops
    verdict: Text
    groups: tuple[_Group, ...]
    pod: _Pod | None
    since: SinceResult | UnsetType
    findings: tuple[FindingResult, ...]

    @classmethod
    def of(cls, facts: MetadataView) -> ProbeResult:
        plan, choices = facts.plan, dict(facts.offered)
        return cls.filled(
            facts,
            metadata=metadata(plan.facts.cluster, facts),
            hops=plan.hops,
            verdict=table.in_short(plan),
            groups=(_group(each, choices.get(each.alike, Choice())) for each in plan.groups),
            findings=plan.findings,
        )
