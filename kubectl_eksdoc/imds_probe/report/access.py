"""Report of instance metadata access: one line for each cause, the findings, and the fixes to choose from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Literal

from kubectl_eksdoc.amazon.metadata_service import ImdsVerdict, Reach
from kubectl_eksdoc.baseline import report as screen
from kubectl_eksdoc.baseline.changes import ResultComparison
from kubectl_eksdoc.baseline.report import SinceResult
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster, Source
from kubectl_eksdoc.model.findings import Severity, Subject
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.machines import MetadataOptions
from kubectl_eksdoc.model.nodes import NodeOwner
from kubectl_eksdoc.probes.pods import owner_of
from kubectl_eksdoc.report.command_result import CommandResult
from kubectl_eksdoc.report.report import (
    CommandReport,
    Findings,
    Foot,
    Head,
    Lines,
    Section,
    Table,
    flush,
)
from kubectl_eksdoc.report.result import (
    FindingResult,
    Meta,
    Positive,
    Printed,
    SubjectResult,
    Text,
    Texts,
    UnsetType,
)
from kubectl_eksdoc.report.text import counted

from .. import affected
from ..affected import Effect
from ..fix import FixOptions
from ..judging import NODES
from ..plan import GroupPlan, MetadataPlan, OnePod
from ..sources import MetadataService, NodesAlike
from .fix import FixChoice
from .nodes import (
    causes,
    causes_title,
    matters,
    nodes_table,
    to_choose,
)

# The metadata service in sentences.


_KINDS = {
    NodeOwner.MANAGED: "managed node group",
    NodeOwner.EKSCTL: "eksctl's node group",
    NodeOwner.KARPENTER: "NodePool",
    NodeOwner.AUTO_MODE: "Auto Mode NodePool",
    NodeOwner.FARGATE: "Fargate",
    NodeOwner.HYBRID: "hybrid nodes",
    NodeOwner.SELF_MANAGED: "self-managed nodes",
}
_DO = {
    Reach.REACHABLE: "reach it",
    Reach.V1_ONLY: "get no token, and are answered without one only",
    Reach.CUT_OFF: "cannot reach IMDS",
    Reach.UNKNOWN: "may or may not reach it",
}


def in_short(plan: MetadataPlan) -> str:
    """The first line."""
    if not plan.groups:
        return "No nodes: nothing to reach an instance metadata service from."
    nodes = sum(len(group.alike.nodes) for group in plan.groups)
    cut = _with(plan, Reach.CUT_OFF)
    parts = [f"Pods on {cut} of {counted(nodes, 'node')} cannot reach the instance metadata service"]
    for reach, text in ((Reach.V1_ONLY, "they are answered without a token only"), (Reach.UNKNOWN, "it is not known")):
        if count := _with(plan, reach):
            parts.append(f"on {count} {text}")
    without = sum(len(group.alike.nodes) for group in plan.groups if group.alike.now.options is None)
    if without:
        parts.append(f"{without} {'has' if without == 1 else 'have'} none")
    return f"{', '.join(parts)}; {pods(plan)}."


def _with(plan: MetadataPlan, reach: Reach) -> int:
    """Nodes that never had the service are left out: Fargate's and hybrid ones."""
    groups = (group.alike for group in plan.groups if group.alike.now.options is not None)
    return sum(len(alike.nodes) for alike in groups if alike.here.reach is reach)


def pods(plan: MetadataPlan) -> str:
    """``2 pods are broken now, 1 will break, 31 may need it``."""
    broken, breaking, possible, _ = (sum(len(group.of(each)) for group in plan.groups) for each in Effect)
    found = (
        (broken, f"{'is' if broken == 1 else 'are'} broken now"),
        (breaking, "will break"),
        (possible, "may need it"),
    )
    return ", ".join(f"{counted(count, 'pod')} {what}" for count, what in found if count) or _unaffected(plan)


def _unaffected(plan: MetadataPlan) -> str:
    """Restricted access is no problem if the pods get what they need otherwise."""
    if plan.facts.intent is not None:
        missed = [each for each in plan.findings if each.code.name == "imds-intent-missed"]
        met = "not all nodes have" if missed else "no node is known to have other options than"
        return f"no pod is known to be affected, and {met} what is meant ({plan.facts.intent})"
    recommended = " (a hop limit of 1 is what AWS recommends for pods with roles of their own)"
    cut = [group.alike.now.options for group in plan.groups if group.alike.here.reach is Reach.CUT_OFF]
    by_hops = any(isinstance(options, MetadataOptions) and options.endpoint for options in cut)
    return f"no pod is known to be affected{recommended if by_hops else ''}"


def sentence(group: GroupPlan) -> str:
    """One node set in sentences: its pods' access, the source of the options, and the next node."""
    alike = group.alike
    name = " ".join(filter(None, (_KINDS[alike.owner], alike.name or alike.scaling_group)))
    head = f"{name} ({counted(len(alike.nodes), 'node')})"
    if alike.now.options is None:
        return f"{head}: there is none, as {alike.now.by}."
    here = f"{head}: pods {_DO[alike.here.reach]}, as {alike.here.why}"
    return f"{here}{_cause(alike)}. {_next(alike)}"


def _cause(alike: NodesAlike) -> str:
    if isinstance(alike.now.options, Unknown) or isinstance(alike.next.options, Unknown):
        return ""
    if alike.by_hand:
        return "; new nodes get other options"
    return f" ({_by(alike)})"


def _by(alike: NodesAlike) -> str:
    """The source of the next node's options, for each option or for all."""
    by = alike.next.by
    return by if by.startswith(("hop limit by", "tokens by")) else f"by {by}"


def _next(alike: NodesAlike) -> str:
    if alike.next.options is None or alike.later.reach is Reach.UNKNOWN:
        return f"The next node: not known, as {alike.later.why}."
    if not alike.by_hand and not isinstance(alike.now.options, Unknown):
        return "The next node will be the same."
    how = "still " if alike.later.reach is alike.here.reach else ""
    return f"On the next node they {how}{_DO[alike.later.reach]}, as {alike.later.why} ({_by(alike)})."


@frozen
class ImdsReport(CommandReport):
    """`pod`: the pod that was checked. `offered`: the fixes for each node set of the plan; () if they were not
    searched. `since`: the comparison with an earlier result, None if none was given."""

    of = "a probe"

    plan: MetadataPlan
    pod: OnePod | None = None
    offered: tuple[tuple[NodesAlike, FixOptions], ...] = ()
    since: ResultComparison | None = None

    @property
    def cluster(self) -> Cluster:
        return self.plan.facts.cluster

    def sections(self, full: bool) -> Iterator[Section | None]:
        """The parts that need attention; `full`: also all nodes and all evidence."""
        plan, facts, found = self.plan, self.plan.facts, self.plan.findings
        since = screen.section(self.since, self.cluster.observed_at, full, self.tool_version)
        if self.pod is not None and not full:
            yield Lines(None, [flush(self.pod.sentence, 0)])
            yield since
            return
        groups = [each for each in plan.groups if full or matters(each, plan.facts)]
        yield Head(in_short(plan) if self.pod is None else self.pod.sentence)
        yield since
        yield Table(causes_title(plan, groups), causes(groups, facts.intent))
        if full:
            yield Lines("Why", list(map(sentence, groups)))
            yield Table("Nodes", nodes_table(plan))
        # Short form: the message, the nodes with the source of their options, and the first remedy.
        short = (
            replace(each, evidence=tuple(e for e in each.evidence if e.startswith(NODES)), remedy=each.remedy[:1])
            for each in found
        )
        yield Findings(found if full else tuple(short), mark=screen.marking(self.since))
        yield from to_choose(self.offered, full, self.cluster.source is not Source.SNAPSHOT, facts.intent is not None)
        passed = (each.message for each in found if each.severity is Severity.INFO)
        said = "".join(f"{each[:1].upper()}{each[1:]}. " for each in passed)
        yield Foot(f"{said}Every node, and all evidence: -o wide; for a program: -o json")

    def result(self) -> object:
        plan, choices = self.plan, dict(self.offered)
        return ProbeResult.filled(
            self,
            plan,
            verdict=in_short(plan),
            groups=(_group(each, choices.get(each.alike, FixOptions())) for each in plan.groups),
        )


# As ``-o json`` and ``-o yaml`` print it. An unknown value is null, with the reason beside it.


_Hops = Annotated[int, Meta(ge=1, le=64)]


class _Options(Printed):
    """In EC2's names."""

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
    """The access of a pod; service false: nodes of this kind have none. options null: unknown, why has the reason and
    missing the missing right."""

    verdict: Reach
    why: Text
    by: Text | None
    """The source of the options."""
    service: bool
    options: _Options | None
    missing: Text | UnsetType


def _service(service: MetadataService, verdict: ImdsVerdict) -> _Service:
    missing = service.options.missing if isinstance(service.options, Unknown) else ""
    there = service.options is not None
    return _Service.filled(service, verdict=verdict.reach, why=verdict.why, service=there, missing=missing)


class _Affected(Printed):
    """A pod, why it is affected, what to set, and the source of these facts."""

    namespace: Text
    name: Text
    why: Text
    way_out: Text
    source: Text | None

    @classmethod
    def of(cls, facts: affected.AffectedPod) -> _Affected:
        return cls.filled(facts, facts.pod, why=f"{facts.why}; {facts.where}")


class _Counted(Printed):
    """Pods of one owner."""

    owner: SubjectResult
    pods: Positive


class _Pods(Printed):
    """Affected pods; possibly affected ones are counted by owner."""

    broken_now: tuple[_Affected, ...]
    will_break: tuple[_Affected, ...]
    possible: tuple[_Counted, ...]
    no_known_need: tuple[_Counted, ...]
    """They have no role of their own, and nothing shows that they call AWS."""


class _Group(Printed):
    """Nodes with the same metadata service from the same source."""

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
    """The fixes, the smallest blast radius first."""
    cannot: Texts
    """Supposed fixes that do not work, with the reason."""


def _group(group: GroupPlan, choice: FixOptions) -> _Group:
    alike = group.alike
    return _Group.filled(
        alike,
        sentence=sentence(group),
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


def _counted(found: Sequence[affected.AffectedPod]) -> list[tuple[Subject, int]]:
    """Counted by owner, because there may be hundreds of pods."""
    owners = Counter(owner_of(each.pod) for each in found)
    return sorted(owners.items(), key=lambda item: (item[0].namespace, item[0].kind, item[0].name))


class _Pod(Printed):
    """The pod that was checked."""

    called = {
        "namespace": "pod.namespace",
        "name": "pod.name",
        "node": "pod.node",
        "verdict": "here.reach",
        "why": "here.why",
        "suffering": "affected_pod.effect",
        "way_out": "affected_pod.way_out",
    }

    namespace: Text
    name: Text
    node: Text | None
    hops: Positive
    verdict: Reach
    why: Text
    suffering: Effect | None
    way_out: Text | None
    sentence: Text


class ProbeResult(CommandResult):
    """Instance metadata access: kubectl eksdoc imds-probe -o json."""

    kind: Literal["ImdsProbe"]
    recognised: Text | None
    """Evidence that the AWS cluster is the one that was read; null: nothing of AWS is known."""
    hops: _Hops
    verdict: Text
    groups: tuple[_Group, ...]
    pod: _Pod | None
    since: SinceResult | UnsetType
    findings: tuple[FindingResult, ...]
