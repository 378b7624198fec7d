"""Report of instance metadata access: one line for each cause, the findings, and the fixes to choose from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Literal

from kubectl_eksdoc.amazon.metadata_service import ImdsReach, ImdsVerdict
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
    FindingList,
    Footer,
    Heading,
    Section,
    Table,
    TextBlock,
    flush_left,
)
from kubectl_eksdoc.report.result import (
    FindingResult,
    Meta,
    PositiveCount,
    Printed,
    SubjectResult,
    Text,
    Texts,
    UnsetType,
)
from kubectl_eksdoc.report.text import pluralize

from .. import affected
from ..affected import Effect
from ..fix import FixOptions
from ..judging import NODES_PREFIX
from ..plan import GroupPlan, MetadataPlan, PodAccess
from ..sources import MetadataService, NodeSet
from .fix import FixChoice
from .nodes import (
    causes_table,
    causes_title,
    fix_sections,
    is_shown,
    nodes_table,
)

# The metadata service in sentences.


_OWNER_TEXTS = {
    NodeOwner.MANAGED: "managed node group",
    NodeOwner.EKSCTL: "eksctl's node group",
    NodeOwner.KARPENTER: "NodePool",
    NodeOwner.AUTO_MODE: "Auto Mode NodePool",
    NodeOwner.FARGATE: "Fargate",
    NodeOwner.HYBRID: "hybrid nodes",
    NodeOwner.SELF_MANAGED: "self-managed nodes",
}
_REACH_TEXTS = {
    ImdsReach.REACHABLE: "reach it",
    ImdsReach.V1_ONLY: "get no token, and are answered without one only",
    ImdsReach.UNREACHABLE: "cannot reach IMDS",
    ImdsReach.UNKNOWN: "may or may not reach it",
}


def summary(plan: MetadataPlan) -> str:
    """The first line."""
    if not plan.groups:
        return "No nodes: nothing to reach an instance metadata service from."
    nodes = sum(len(group.node_set.nodes) for group in plan.groups)
    unreachable_nodes = _count_nodes(plan, ImdsReach.UNREACHABLE)
    parts = [f"Pods on {unreachable_nodes} of {pluralize(nodes, 'node')} cannot reach the instance metadata service"]
    for reach, text in (
        (ImdsReach.V1_ONLY, "they are answered without a token only"),
        (ImdsReach.UNKNOWN, "it is not known"),
    ):
        if count := _count_nodes(plan, reach):
            parts.append(f"on {count} {text}")
    nodes_without_service = sum(
        len(group.node_set.nodes) for group in plan.groups if group.node_set.now.options is None
    )
    if nodes_without_service:
        parts.append(f"{nodes_without_service} {'has' if nodes_without_service == 1 else 'have'} none")
    return f"{', '.join(parts)}; {affected_text(plan)}."


def _count_nodes(plan: MetadataPlan, reach: ImdsReach) -> int:
    """Nodes that never had the service are left out: Fargate's and hybrid ones."""
    groups = (group.node_set for group in plan.groups if group.node_set.now.options is not None)
    return sum(len(node_set.nodes) for node_set in groups if node_set.verdict_now.reach is reach)


def affected_text(plan: MetadataPlan) -> str:
    """``2 pods are broken now, 1 will break, 31 may need it``."""
    broken, breaking, possible, _ = (sum(len(group.with_effect(each)) for group in plan.groups) for each in Effect)
    texts = (
        (broken, f"{'is' if broken == 1 else 'are'} broken now"),
        (breaking, "will break"),
        (possible, "may need it"),
    )
    return ", ".join(
        f"{pluralize(count, 'pod')} {effect_text}" for count, effect_text in texts if count
    ) or _unaffected_text(plan)


def _unaffected_text(plan: MetadataPlan) -> str:
    """Restricted access is no problem if the pods get what they need otherwise."""
    if plan.facts.intent is not None:
        violations = [each for each in plan.findings if each.code.name == "imds-intent-missed"]
        intent_text = "not all nodes have" if violations else "no node is known to have other options than"
        return f"no pod is known to be affected, and {intent_text} what is meant ({plan.facts.intent})"
    recommended = " (a hop limit of 1 is what AWS recommends for pods with roles of their own)"
    restricted_options = [
        group.node_set.now.options for group in plan.groups if group.node_set.verdict_now.reach is ImdsReach.UNREACHABLE
    ]
    is_by_hop_limit = any(isinstance(options, MetadataOptions) and options.endpoint for options in restricted_options)
    return f"no pod is known to be affected{recommended if is_by_hop_limit else ''}"


def group_text(group: GroupPlan) -> str:
    """One node set in sentences: its pods' access, the source of the options, and the next node."""
    node_set = group.node_set
    name = " ".join(filter(None, (_OWNER_TEXTS[node_set.owner], node_set.name or node_set.scaling_group)))
    head = f"{name} ({pluralize(len(node_set.nodes), 'node')})"
    if node_set.now.options is None:
        return f"{head}: there is none, as {node_set.now.by}."
    current_text = f"{head}: pods {_REACH_TEXTS[node_set.verdict_now.reach]}, as {node_set.verdict_now.why}"
    return f"{current_text}{_source_text(node_set)}. {_next_node_text(node_set)}"


def _source_text(node_set: NodeSet) -> str:
    if isinstance(node_set.now.options, Unknown) or isinstance(node_set.next.options, Unknown):
        return ""
    if node_set.has_other_options:
        return "; new nodes get other options"
    return f" ({_by_text(node_set)})"


def _by_text(node_set: NodeSet) -> str:
    """The source of the next node's options, for each option or for all."""
    source = node_set.next.by
    return source if source.startswith(("hop limit by", "tokens by")) else f"by {source}"


def _next_node_text(node_set: NodeSet) -> str:
    if node_set.next.options is None or node_set.verdict_next.reach is ImdsReach.UNKNOWN:
        return f"The next node: not known, as {node_set.verdict_next.why}."
    if not node_set.has_other_options and not isinstance(node_set.now.options, Unknown):
        return "The next node will be the same."
    still = "still " if node_set.verdict_next.reach is node_set.verdict_now.reach else ""
    return (
        f"On the next node they {still}{_REACH_TEXTS[node_set.verdict_next.reach]}, as "
        f"{node_set.verdict_next.why} ({_by_text(node_set)})."
    )


@frozen
class ImdsReport(CommandReport):
    """`pod`: the pod that was checked. `offered`: the fixes for each node set of the plan; () if they were not
    searched. `since`: the comparison with an earlier result, None if none was given."""

    noun_phrase = "a probe"

    plan: MetadataPlan
    pod: PodAccess | None = None
    offered: tuple[tuple[NodeSet, FixOptions], ...] = ()
    since: ResultComparison | None = None

    @property
    def cluster(self) -> Cluster:
        return self.plan.facts.cluster

    def sections(self, full: bool) -> Iterator[Section | None]:
        """The parts that need attention; `full`: also all nodes and all evidence."""
        plan, facts, findings = self.plan, self.plan.facts, self.plan.findings
        comparison = screen.section(self.since, self.cluster.observed_at, full, self.tool_version)
        if self.pod is not None and not full:
            yield TextBlock(None, [flush_left(self.pod.sentence, 0)])
            yield comparison
            return
        groups = [each for each in plan.groups if full or is_shown(each, plan.facts)]
        yield Heading(summary(plan) if self.pod is None else self.pod.sentence)
        yield comparison
        yield Table(causes_title(plan, groups), causes_table(groups, facts.intent))
        if full:
            yield TextBlock("Why", list(map(group_text, groups)))
            yield Table("Nodes", nodes_table(plan))
        # Short form: the message, the nodes with the source of their options, and the first remedy.
        short_findings = (
            replace(
                each, evidence=tuple(e for e in each.evidence if e.startswith(NODES_PREFIX)), remedy=each.remedy[:1]
            )
            for each in findings
        )
        yield FindingList(findings if full else tuple(short_findings), suffix=screen.change_marks(self.since))
        yield from fix_sections(
            self.offered, full, self.cluster.source is not Source.SNAPSHOT, facts.intent is not None
        )
        info_messages = (each.message for each in findings if each.severity is Severity.INFO)
        info_text = "".join(f"{each[:1].upper()}{each[1:]}. " for each in info_messages)
        yield Footer(f"{info_text}Every node, and all evidence: -o wide; for a program: -o json")

    def result(self) -> object:
        plan, fix_options = self.plan, dict(self.offered)
        return ProbeResult.from_facts(
            self,
            plan,
            verdict=summary(plan),
            groups=(_group_result(group, fix_options.get(group.node_set, FixOptions())) for group in plan.groups),
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
        return cls.from_facts(
            http_tokens=facts.tokens,
            http_put_response_hop_limit=facts.hop_limit,
            http_endpoint="enabled" if facts.endpoint else "disabled",
            http_protocol_ipv6="enabled" if facts.ipv6 else "disabled",
            state="pending" if facts.pending else "applied",
        )


class _Service(Printed):
    """The access of a pod; service false: nodes of this kind have none. options null: unknown, why has the reason and
    missing the missing right."""

    verdict: ImdsReach
    why: Text
    by: Text | None
    """The source of the options."""
    service: bool
    options: _Options | None
    missing: Text | UnsetType


def _service_result(service: MetadataService, verdict: ImdsVerdict) -> _Service:
    missing = service.options.missing if isinstance(service.options, Unknown) else ""
    has_service = service.options is not None
    return _Service.from_facts(service, verdict=verdict.reach, why=verdict.why, service=has_service, missing=missing)


class _Affected(Printed):
    """A pod, why it is affected, what to set, and the source of these facts."""

    namespace: Text
    name: Text
    why: Text
    way_out: Text
    source: Text | None

    @classmethod
    def of(cls, facts: affected.AffectedPod) -> _Affected:
        return cls.from_facts(facts, facts.pod, why=f"{facts.reason}; {facts.location}")


class _Counted(Printed):
    """Pods of one owner."""

    owner: SubjectResult
    pods: PositiveCount


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


def _group_result(group: GroupPlan, options: FixOptions) -> _Group:
    node_set = group.node_set
    return _Group.from_facts(
        node_set,
        sentence=group_text(group),
        now=_service_result(node_set.now, node_set.verdict_now),
        next=_service_result(node_set.next, node_set.verdict_next),
        changed=node_set.has_other_options,
        pods=_Pods.from_facts(
            broken_now=group.with_effect(Effect.BROKEN),
            will_break=group.with_effect(Effect.WILL_BREAK),
            possible=_count_by_owner(group.with_effect(Effect.POSSIBLE)),
            no_known_need=_count_by_owner(group.with_effect(Effect.NO_KNOWN_NEED)),
        ),
        fixes=options.fixes,
        cannot=options.cannot,
    )


def _count_by_owner(affected_pods: Sequence[affected.AffectedPod]) -> list[tuple[Subject, int]]:
    """Counted by owner, because there may be hundreds of pods."""
    owners = Counter(owner_of(each.pod) for each in affected_pods)
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
    hops: PositiveCount
    verdict: ImdsReach
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
