"""Evidence from AWS records: requests without a token (IMDSv1), and requests with the node role.

The records show that there are such requests, not which pods send them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime, timedelta
from fnmatch import fnmatchcase

from kubectl_eksdoc.amazon.metadata_service import Reach
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.findings import Finding, Remedy, Subject
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records
from kubectl_eksdoc.model.machines import V1_DAYS, RoleUse, RoleUses, V1Calls
from kubectl_eksdoc.model.missing_rights import allow
from kubectl_eksdoc.probes.pods import owner_of

from .affected import AffectedPod, Effect, has_role
from .sources import EvidenceSource, MetadataFacts, NodesAlike

ENOUGH_DAYS = 7
"""Minimum days of data on a node: only then does a count of zero mean anything."""

Counted = Mapping[str, V1Calls | Unknown]
"""By node."""

_NAMED = 5
LIMITS = "requests of programs on the host count too; what asked less often, or on nodes that are gone, was not counted"


def answered(subject: Subject, counted: Counted, by: str) -> Finding | None:
    """The finding about requests that the next node refuses; `source`: of its options. None if there is too little
    data."""
    told = [each for each in counted.values() if isinstance(each, V1Calls) and each.answered is not None]
    asking = [each.answered for each in told if each.answered]
    names = (*sorted(counted)[:_NAMED], LIMITS)
    if asking:
        return Finding.of(
            "imds-tokens-required/counted",
            subject,
            names,
            count=sum(asking),
            nodes=len(asking),
            of=len(counted),
            days=V1_DAYS,
            by=by,
        )
    if not counted or len(told) < len(counted) or not any(each.days >= ENOUGH_DAYS for each in told):
        return None
    return Finding.of("imds-tokens-required/none", subject, names, of=len(counted), days=V1_DAYS, by=by)


def rejected(subject: Subject, counted: Counted) -> Iterator[Finding]:
    """For one node set: requests that were rejected because they had no token."""
    found = {
        node: each.rejected for node, each in counted.items() if isinstance(each, V1Calls) and each.rejected is not None
    }
    refused = {node: count for node, count in found.items() if count}
    if refused:
        yield Finding.of(
            "imds-v1-rejected",
            subject,
            (*(f"{node}: {count}" for node, count in sorted(refused.items())[:_NAMED]), LIMITS),
            count=sum(refused.values()),
            nodes=len(refused),
            of=len(counted),
            days=V1_DAYS,
        )


def in_all(cluster: Subject, counted: Counted) -> Iterator[Finding]:
    """A summary for all instances, and a finding for each reason why CloudWatch has no data."""
    told = [each for each in counted.values() if isinstance(each, V1Calls)]
    with_figures = [each for each in told if each.days]
    if with_figures:
        yield Finding.of(
            "imds-v1-counted/figures",
            cluster,
            (LIMITS,),
            answered=sum(each.answered or 0 for each in told),
            rejected=sum(each.rejected or 0 for each in told),
            told=len(with_figures),
            of=len(counted),
            days=V1_DAYS,
        )
    elif told:
        yield Finding.of("imds-v1-counted/none", cluster, of=len(counted), days=V1_DAYS)
    yield from _untold(cluster, counted.values(), "what CloudWatch has counted of requests without a token (IMDSv1)")


def _untold(cluster: Subject, answers: Iterable[object], what: str) -> Iterator[Finding]:
    """One finding for each missing right, and for each other reason."""
    for why in {each.missing or each.why: each for each in answers if isinstance(each, Unknown)}.values():
        yield Finding.of(
            "imds-evidence-unknown",
            cluster,
            remedy=(allow(why.missing) if why.missing else Remedy.of("ask-aws-again"),),
            what=what,
            why=why.why,
            right=why.missing,
        )


# Uses of the node role. Credentials from the metadata service are those of this role, so a use shows that a program on
# the node asks the service. Programs of the node itself do so, too, and are recognized by their calls.


USE_DAYS = 90
"""Older uses are no evidence about current pods."""
_MOST_NODES, _MOST_SERVICES = 10, 3
_NAMES = {
    EvidenceSource.CLOUDTRAIL: ("CloudTrail", "by which program", "medium"),
    EvidenceSource.IAM: ("IAM", "on which node and by which program", "low"),
}
"""For each source: its name, what it does not show, and the confidence that a pod is the cause."""
_LIMITS = {
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


_OWN_CALLS = records(NodeRoleCalls, "node_role_calls")


def beyond_node(uses: RoleUses, now: datetime) -> tuple[RoleUse, ...]:
    """Uses that no known program of the node itself makes, the latest first. Uses of a service as a whole are left
    out."""

    def own(use: RoleUse) -> bool:
        known = _OWN_CALLS.by("service").get(use.service)
        return known is not None and (not use.action or any(fnmatchcase(use.action, each) for each in known.actions))

    recent = (each for each in uses.uses if now - each.last <= timedelta(days=USE_DAYS) and not own(each))
    return tuple(sorted(recent, key=lambda each: (now - each.last, each.service, each.action, each.agent)))


Group = tuple[NodesAlike, Sequence[AffectedPod]]


def may_use_role(groups: Iterable[Group], facts: MetadataFacts) -> Mapping[str, Set[Subject]]:
    """By node: the workloads without a role of their own whose need is uncertain."""
    found: dict[str, set[Subject]] = {}
    for alike, affected in groups:
        for each in _doubtful(affected, facts) if tells(alike) else ():
            found.setdefault(each.pod.node, set()).add(owner_of(each.pod))
    return found


def _doubtful(affected: Iterable[AffectedPod], facts: MetadataFacts) -> list[AffectedPod]:
    return [each for each in affected if each.effect in _DOUBTFUL and not has_role(each.pod, facts.told.identities)]


def tells(alike: NodesAlike) -> bool:
    """A use of the role may be by a pod. If pods cannot reach the service, it is by the host."""
    return alike.here.reach is not Reach.CUT_OFF


_DOUBTFUL = (Effect.POSSIBLE, Effect.NO_KNOWN_NEED)


def worth_asking(workloads: Mapping[str, Set[Subject]]) -> tuple[str, ...]:
    """A small set of nodes that covers all workloads, at most `_MAX_NODES`."""
    left, chosen = {each for some in workloads.values() for each in some}, list[str]()
    while left and len(chosen) < _MOST_NODES:
        node = max(sorted(workloads), key=lambda name: len(workloads[name] & left))
        chosen.append(node)
        left -= workloads[node]
    return tuple(chosen)


def role_clauses(facts: MetadataFacts) -> Mapping[Subject, str]:
    """By workload: a clause that the node role was used on the node of one of its pods; its other pods run the same
    program."""
    found: dict[Subject, str] = {}
    for source, by_node in facts.role_uses.items():
        now, (name, unknown, confidence) = facts.cluster.observed_at, _NAMES[source]
        used = {node: beyond_node(told, now) for node, told in by_node.items() if isinstance(told, RoleUses)}
        for pod in facts.cluster.pods if any(used.values()) else ():
            if uses := used.get(pod.node):
                clause = f"the role of {pod.node} was used for {_services(uses, now)}, {unknown} is not known"
                found.setdefault(owner_of(pod), f"{clause} ({name}; confidence: {confidence})")
    return found


def with_role_use(affected: AffectedPod, clauses: Mapping[Subject, str], facts: MetadataFacts) -> AffectedPod:
    """The use of the node role makes a need possible for this pod, and is no reason to open the service to all pods of
    the node."""
    clause = clauses.get(owner_of(affected.pod)) if clauses and _doubtful((affected,), facts) else None
    if clause is None:
        return affected
    asks = affected.asks and affected.effect is Effect.POSSIBLE
    return replace(affected, effect=Effect.POSSIBLE, why=f"{affected.why}; {clause}", asks=asks)


def _services(uses: Iterable[RoleUse], now: datetime) -> str:
    """``s3 today, sqs 5 days ago``."""
    latest: dict[str, RoleUse] = {}
    for each in uses:
        latest.setdefault(each.service, each)
    named = [f"{each.service} {_ago(now - each.last)}" for each in latest.values()]
    more = [f"{len(named) - _MOST_SERVICES} more"] if len(named) > _MOST_SERVICES else []
    return ", ".join([*named[:_MOST_SERVICES], *more])


def _ago(age: timedelta) -> str:
    if age < timedelta(days=1):
        return "less than a day ago"
    return f"{age.days} {'day' if age.days == 1 else 'days'} ago"


def role_used(facts: MetadataFacts, groups: Sequence[Group], successors: Sequence[Group]) -> Iterator[Finding]:
    """Findings of each source that was asked. Pods without access are left out. `successors`: node sets with the
    verdict on their successors."""
    if not facts.role_uses:
        return
    cluster, nodes = Subject("Cluster", facts.cluster.identity.name), may_use_role([*groups, *successors], facts).keys()
    without = sum(len(_doubtful(affected, facts)) for alike, affected in groups if not tells(alike))
    whole = all(Reach.UNKNOWN not in (alike.here.reach, alike.later.reach) for alike, _ in groups)
    unreached = f"not asked about: pods that cannot reach the metadata service already ({without})"
    now = facts.cluster.observed_at
    for source, by_node in facts.role_uses.items():
        name, _, confidence = _NAMES[source]
        told = {node: each for node, each in sorted(by_node.items()) if isinstance(each, RoleUses)}
        used = {node: uses for node, each in told.items() if (uses := beyond_node(each, now))}
        more = len(nodes - by_node.keys())
        limits = [_LIMITS[source], *([f"not asked about: other nodes with such pods ({more})"] if more else ())]
        limits += [unreached] if without else []
        if used:
            every = sorted((use for uses in used.values() for use in uses), key=lambda use: now - use.last)
            lines = [f"{node}: {_in_full(uses, now)}" for node, uses in list(used.items())[:_NAMED]]
            lines += [f"and {len(used) - _NAMED} more nodes"] if len(used) > _NAMED else []
            yield Finding.of(
                "imds-role-used/used",
                cluster,
                (*lines, *limits),
                source=name,
                services=_services(every, now),
                used=len(used),
                of=len(told),
                confidence=confidence,
            )
        elif told:
            since = max(each.since for each in told.values())
            yield Finding.of(
                "imds-role-used/none",
                cluster,
                tuple(limits),
                source=name,
                days=min((now - since).days, USE_DAYS),
                of=len(told),
            )
        yield from _untold(cluster, by_node.values(), f"what {name} has kept of the use of the node role")
    silent = [_NAMES[source][0] for source, by_node in facts.role_uses.items() if not by_node]
    if silent and without:
        yield Finding.of("imds-role-used/unreached", cluster, sources=" and ".join(silent), count=without)
    elif silent:
        yield Finding.of(
            "imds-role-used/not-needed" if whole else "imds-role-used/unasked", cluster, sources=" and ".join(silent)
        )


def _in_full(uses: Iterable[RoleUse], now: datetime) -> str:
    """The latest uses of each service: action, count, and user agent as reported by the program."""
    found = []
    for each in list(uses)[:_NAMED]:
        what = f"{each.service}:{each.action} ({each.count})" if each.action else each.service
        by = f" by {each.agent}" if each.agent else ""
        v1 = f", {each.v1} with credentials that were given without a token (IMDSv1)" if each.v1 else ""
        found.append(f"{what} {_ago(now - each.last)}{by}{v1}")
    return "; ".join(found)
