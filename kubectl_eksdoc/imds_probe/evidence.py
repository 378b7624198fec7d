"""Evidence from AWS records: requests without a token (IMDSv1), and requests with the node role.

The records show that there are such requests, not which pods send them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime, timedelta
from fnmatch import fnmatchcase

from kubectl_eksdoc.amazon.metadata_service import ImdsReach
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.findings import Finding, Remedy, Subject
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records
from kubectl_eksdoc.model.machines import IMDSV1_LOOKBACK_DAYS, Imdsv1Requests, RoleUse, RoleUses
from kubectl_eksdoc.model.missing_rights import allow_right
from kubectl_eksdoc.probes.pods import owner_of

from .affected import AffectedPod, Effect, has_role
from .sources import EvidenceSource, MetadataFacts, NodeSet

ENOUGH_DAYS = 7
"""Minimum days of data on a node: only then does a count of zero mean anything."""

V1CallsByNode = Mapping[str, Imdsv1Requests | Unknown]
"""By node."""

_MAX_NODES_NAMED = 5
V1_LIMITS = (
    "requests of programs on the host count too; what asked less often, or on nodes that are gone, was not counted"
)


def answered_finding(subject: Subject, calls_by_node: V1CallsByNode, source: str) -> Finding | None:
    """The finding about requests that the next node refuses; `source`: of its options. None if there is too little
    data."""
    known_calls = [
        each for each in calls_by_node.values() if isinstance(each, Imdsv1Requests) and each.answered is not None
    ]
    counts = [each.answered for each in known_calls if each.answered]
    names = (*sorted(calls_by_node)[:_MAX_NODES_NAMED], V1_LIMITS)
    if counts:
        return Finding.of(
            "imds-tokens-required/counted",
            subject,
            names,
            count=sum(counts),
            nodes=len(counts),
            of=len(calls_by_node),
            days=IMDSV1_LOOKBACK_DAYS,
            by=source,
        )
    if (
        not calls_by_node
        or len(known_calls) < len(calls_by_node)
        or not any(each.days >= ENOUGH_DAYS for each in known_calls)
    ):
        return None
    return Finding.of(
        "imds-tokens-required/none", subject, names, of=len(calls_by_node), days=IMDSV1_LOOKBACK_DAYS, by=source
    )


def rejected_findings(subject: Subject, calls_by_node: V1CallsByNode) -> Iterator[Finding]:
    """For one node set: requests that were rejected because they had no token."""
    rejected_counts = {
        node: each.rejected
        for node, each in calls_by_node.items()
        if isinstance(each, Imdsv1Requests) and each.rejected is not None
    }
    nonzero = {node: count for node, count in rejected_counts.items() if count}
    if nonzero:
        yield Finding.of(
            "imds-v1-rejected",
            subject,
            (*(f"{node}: {count}" for node, count in sorted(nonzero.items())[:_MAX_NODES_NAMED]), V1_LIMITS),
            count=sum(nonzero.values()),
            nodes=len(nonzero),
            of=len(calls_by_node),
            days=IMDSV1_LOOKBACK_DAYS,
        )


def v1_summary_findings(cluster: Subject, calls_by_node: V1CallsByNode) -> Iterator[Finding]:
    """A summary for all instances, and a finding for each reason why CloudWatch has no data."""
    known_calls = [each for each in calls_by_node.values() if isinstance(each, Imdsv1Requests)]
    with_figures = [each for each in known_calls if each.days]
    if with_figures:
        yield Finding.of(
            "imds-v1-counted/figures",
            cluster,
            (V1_LIMITS,),
            answered=sum(each.answered or 0 for each in known_calls),
            rejected=sum(each.rejected or 0 for each in known_calls),
            told=len(with_figures),
            of=len(calls_by_node),
            days=IMDSV1_LOOKBACK_DAYS,
        )
    elif known_calls:
        yield Finding.of("imds-v1-counted/none", cluster, of=len(calls_by_node), days=IMDSV1_LOOKBACK_DAYS)
    yield from _unknown_findings(
        cluster, calls_by_node.values(), "what CloudWatch has counted of requests without a token (IMDSv1)"
    )


def _unknown_findings(cluster: Subject, answers: Iterable[object], subject: str) -> Iterator[Finding]:
    """One finding for each missing right, and for each other reason."""
    for unknown in {each.missing or each.why: each for each in answers if isinstance(each, Unknown)}.values():
        yield Finding.of(
            "imds-evidence-unknown",
            cluster,
            remedy=(allow_right(unknown.missing) if unknown.missing else Remedy.of("ask-aws-again"),),
            what=subject,
            why=unknown.why,
            right=unknown.missing,
        )


# Uses of the node role. Credentials from the metadata service are those of this role, so a use shows that a program on
# the node asks the service. Programs of the node itself do so, too, and are recognized by their calls.


USE_DAYS = 90
"""Older uses are no evidence about current pods."""
_MAX_NODES, _MAX_SERVICES = 10, 3
_SOURCE_TEXTS = {
    EvidenceSource.CLOUDTRAIL: ("CloudTrail", "by which program", "medium"),
    EvidenceSource.IAM: ("IAM", "on which node and by which program", "low"),
}
"""For each source: its name, what it does not show, and the confidence that a pod is the cause."""
_SOURCE_LIMITS = {
    EvidenceSource.CLOUDTRAIL: "CloudTrail: an event shows that a program on the node has credentials of the metadata "
    "service, not which pod. Data events (objects of S3, items of DynamoDB), the last 15 minutes or so, other Regions, "
    "and services whose events are in us-east-1 (IAM, Route 53) are not in it.",
    EvidenceSource.IAM: "IAM: of all nodes with the role, also denied requests, whole services only; the last 4 hours "
    "or so are not in it, nor services that no policy of the role names.",
}


@frozen
class NodeRoleCalls:
    """Requests that `programs` of the node itself make with its role; `actions` are patterns."""

    service: str
    actions: tuple[str, ...]
    programs: str
    source: KnowledgeSource


_NODE_CALLS = records(NodeRoleCalls, "node_role_calls")


def uses_beyond_node(uses: RoleUses, now: datetime) -> tuple[RoleUse, ...]:
    """Uses that no known program of the node itself makes, the latest first. A use of a service without an action
    counts as one of the node if a program of the node uses that service."""

    def is_by_node(use: RoleUse) -> bool:
        node_calls = _NODE_CALLS.by("service").get(use.service)
        return node_calls is not None and (
            not use.action or any(fnmatchcase(use.action, each) for each in node_calls.actions)
        )

    recent_uses = (each for each in uses.uses if now - each.last <= timedelta(days=USE_DAYS) and not is_by_node(each))
    return tuple(sorted(recent_uses, key=lambda each: (now - each.last, each.service, each.action, each.agent)))


Group = tuple[NodeSet, Sequence[AffectedPod]]


def workloads_using_role(groups: Iterable[Group], facts: MetadataFacts) -> Mapping[str, Set[Subject]]:
    """By node: the workloads without a role of their own whose need is uncertain."""
    workloads_by_node: dict[str, set[Subject]] = {}
    for node_set, affected in groups:
        for affected_pod in _pods_using_role(affected, facts) if is_role_use_relevant(node_set) else ():
            workloads_by_node.setdefault(affected_pod.pod.node, set()).add(owner_of(affected_pod.pod))
    return workloads_by_node


def _pods_using_role(affected: Iterable[AffectedPod], facts: MetadataFacts) -> list[AffectedPod]:
    return [
        each
        for each in affected
        if each.effect in _UNCERTAIN_EFFECTS and not has_role(each.pod, facts.machines.identities)
    ]


def is_role_use_relevant(node_set: NodeSet) -> bool:
    """A use of the role may be by a pod. If pods cannot reach the service, it is by the host."""
    return node_set.verdict_now.reach is not ImdsReach.UNREACHABLE


_UNCERTAIN_EFFECTS = (Effect.POSSIBLE, Effect.NO_KNOWN_NEED)


def nodes_to_ask(workloads: Mapping[str, Set[Subject]]) -> tuple[str, ...]:
    """A small set of nodes that covers all workloads, at most `_MAX_NODES`."""
    remaining, chosen = {each for node_workloads in workloads.values() for each in node_workloads}, list[str]()
    while remaining and len(chosen) < _MAX_NODES:
        node = max(sorted(workloads), key=lambda name: len(workloads[name] & remaining))
        chosen.append(node)
        remaining -= workloads[node]
    return tuple(chosen)


def role_use_by_workload(facts: MetadataFacts) -> Mapping[Subject, str]:
    """By workload: a clause that the node role was used on the node of one of its pods; its other pods run the same
    program."""
    clauses_by_workload: dict[Subject, str] = {}
    for source, by_node in facts.role_uses.items():
        now, (name, unknown, confidence) = facts.cluster.observed_at, _SOURCE_TEXTS[source]
        uses_by_node = {
            node: uses_beyond_node(role_uses, now)
            for node, role_uses in by_node.items()
            if isinstance(role_uses, RoleUses)
        }
        for pod in facts.cluster.pods if any(uses_by_node.values()) else ():
            if uses := uses_by_node.get(pod.node):
                clause = f"the role of {pod.node} was used for {_services_text(uses, now)}, {unknown} is not known"
                clauses_by_workload.setdefault(owner_of(pod), f"{clause} ({name}; confidence: {confidence})")
    return clauses_by_workload


def add_role_use(affected: AffectedPod, clauses: Mapping[Subject, str], facts: MetadataFacts) -> AffectedPod:
    """The use of the node role makes a need possible for this pod, and is no reason to open the service to all pods of
    the node."""
    clause = clauses.get(owner_of(affected.pod)) if clauses and _pods_using_role((affected,), facts) else None
    if clause is None:
        return affected
    asks_service = affected.asks_service and affected.effect is Effect.POSSIBLE
    return replace(affected, effect=Effect.POSSIBLE, reason=f"{affected.reason}; {clause}", asks_service=asks_service)


def _services_text(uses: Iterable[RoleUse], now: datetime) -> str:
    """``s3 today, sqs 5 days ago``."""
    latest: dict[str, RoleUse] = {}
    for each in uses:
        latest.setdefault(each.service, each)
    texts = [f"{each.service} {_age_text(now - each.last)}" for each in latest.values()]
    suffix = [f"{len(texts) - _MAX_SERVICES} more"] if len(texts) > _MAX_SERVICES else []
    return ", ".join([*texts[:_MAX_SERVICES], *suffix])


def _age_text(age: timedelta) -> str:
    if age < timedelta(days=1):
        return "less than a day ago"
    return f"{age.days} {'day' if age.days == 1 else 'days'} ago"


def role_use_findings(facts: MetadataFacts, groups: Sequence[Group], successors: Sequence[Group]) -> Iterator[Finding]:
    """Findings of each source that was asked. Pods without access are left out. `successors`: node sets with the
    verdict on their successors."""
    if not facts.role_uses:
        return
    cluster, nodes = (
        Subject("Cluster", facts.cluster.identity.name),
        workloads_using_role([*groups, *successors], facts).keys(),
    )
    without_access = sum(
        len(_pods_using_role(affected, facts)) for node_set, affected in groups if not is_role_use_relevant(node_set)
    )
    is_complete = all(
        ImdsReach.UNKNOWN not in (node_set.verdict_now.reach, node_set.verdict_next.reach) for node_set, _ in groups
    )
    unreached = f"not asked about: pods that cannot reach the metadata service already ({without_access})"
    now = facts.cluster.observed_at
    for source, by_node in facts.role_uses.items():
        name, _, confidence = _SOURCE_TEXTS[source]
        known_uses = {node: role_uses for node, role_uses in sorted(by_node.items()) if isinstance(role_uses, RoleUses)}
        uses_by_node = {
            node: uses for node, role_uses in known_uses.items() if (uses := uses_beyond_node(role_uses, now))
        }
        other_nodes = len(nodes - by_node.keys())
        limits = [
            _SOURCE_LIMITS[source],
            *([f"not asked about: other nodes with such pods ({other_nodes})"] if other_nodes else ()),
        ]
        limits += [unreached] if without_access else []
        if uses_by_node:
            all_uses = sorted((use for uses in uses_by_node.values() for use in uses), key=lambda use: now - use.last)
            lines = [f"{node}: {_uses_text(uses, now)}" for node, uses in list(uses_by_node.items())[:_MAX_NODES_NAMED]]
            lines += (
                [f"and {len(uses_by_node) - _MAX_NODES_NAMED} more nodes"]
                if len(uses_by_node) > _MAX_NODES_NAMED
                else []
            )
            yield Finding.of(
                "imds-role-used/used",
                cluster,
                (*lines, *limits),
                source=name,
                services=_services_text(all_uses, now),
                used=len(uses_by_node),
                of=len(known_uses),
                confidence=confidence,
            )
        elif known_uses:
            since = max(role_uses.since for role_uses in known_uses.values())
            yield Finding.of(
                "imds-role-used/none",
                cluster,
                tuple(limits),
                source=name,
                days=min((now - since).days, USE_DAYS),
                of=len(known_uses),
            )
        yield from _unknown_findings(cluster, by_node.values(), f"what {name} has kept of the use of the node role")
    unused_sources = [_SOURCE_TEXTS[source][0] for source, by_node in facts.role_uses.items() if not by_node]
    if unused_sources and without_access:
        yield Finding.of(
            "imds-role-used/unreached", cluster, sources=" and ".join(unused_sources), count=without_access
        )
    elif unused_sources:
        yield Finding.of(
            "imds-role-used/not-needed" if is_complete else "imds-role-used/unasked",
            cluster,
            sources=" and ".join(unused_sources),
        )


def _uses_text(uses: Iterable[RoleUse], now: datetime) -> str:
    """The latest uses of each service: action, count, and user agent as reported by the program."""
    texts = []
    for use in list(uses)[:_MAX_NODES_NAMED]:
        action = f"{use.service}:{use.action} ({use.count})" if use.action else use.service
        agent_text = f" by {use.agent}" if use.agent else ""
        v1_text = f", {use.v1} with credentials that were given without a token (IMDSv1)" if use.v1 else ""
        texts.append(f"{action} {_age_text(now - use.last)}{agent_text}{v1_text}")
    return "; ".join(texts)
