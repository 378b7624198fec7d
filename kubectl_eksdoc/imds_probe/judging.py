"""Findings about the metadata service of node sets: affected pods, option changes, unknown facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from kubectl_eksdoc.amazon.metadata_service import (
    HOST_HOPS,
    POD_HOPS,
    TOKENS_OPTIONAL,
    TOKENS_REQUIRED,
    ImdsReach,
    imds_verdict,
)
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.findings import Finding, Remedy, Subject, When
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.machines import MetadataOptions
from kubectl_eksdoc.model.missing_rights import allow_right, remedy_for
from kubectl_eksdoc.model.nodes import NodeOwner, Pod, pod_count
from kubectl_eksdoc.probes.pods import owner_of

from .affected import (
    AffectedPod,
    AssumedOptions,
    Effect,
    IntendedOptions,
    PodEvidence,
    has_unexplained_failure,
    is_failed_job_pod,
    is_failing,
    lacks_imdsv2,
    may_need_imds,
)
from .evidence import ENOUGH_DAYS, V1CallsByNode, answered_finding, rejected_findings, v1_summary_findings
from .sources import MetadataFacts, NodeSet, v1_calls_by_node

_MAX_PODS, _MAX_NAMES = 5, 3
NODES_PREFIX = "nodes: "
"""Prefix of the evidence line with the nodes and the source of their options."""


def group_findings(
    facts: MetadataFacts, node_set: NodeSet, affected: Sequence[AffectedPod], hops: int
) -> Iterator[Finding]:
    """Findings of one node set; pods of one owner with the same effect are one finding. `hops`: the number that pods
    need. With assumed options, a difference of the next node is no finding."""
    assumed, v1_calls = facts.assumed, v1_calls_by_node(node_set.nodes, facts)
    for effect in (Effect.BROKEN, Effect.WILL_BREAK):
        for pods_alike in _group_by_owner(each for each in affected if each.effect is effect):
            yield _affected_finding(node_set, pods_alike, hops, assumed is not None)
    if assumed is None:
        yield from _next_node_findings(node_set, affected, facts.intent)
    yield from _token_findings(node_set, assumed, v1_calls)
    yield from rejected_findings(_subject(node_set), v1_calls or {})
    if node_set.next.is_refused:
        yield _refused_finding(node_set)


def cluster_findings(
    facts: MetadataFacts, groups: Sequence[tuple[NodeSet, Sequence[AffectedPod]]]
) -> Iterator[Finding]:
    """Findings that concern several node sets."""
    yield from _possible_findings(facts, groups)
    # Pods without a known need are no reason for a change; one line names them.
    without_need = [each for _, affected in groups for each in affected if each.effect is Effect.NO_KNOWN_NEED]
    if without_need:
        owners = sorted({f"{owner.kind} {owner}" for owner in (owner_of(each.pod) for each in without_need)})
        yield Finding.of(
            "imds-pods-possible/no-known-need",
            _cluster_subject(facts),
            tuple(first_lines(owners)),
            count=len(without_need),
        )
    yield from _unknown_findings(facts, [node_set for node_set, _ in groups])
    if facts.intent is not None:
        yield from _intent_findings(facts, (node_set for node_set, _ in groups), facts.intent)
    identities = facts.machines.identities
    if any(affected for _, affected in groups) and isinstance(identities, Unknown):  # otherwise it does not matter
        yield Finding.of(
            "imds-roles-unknown",
            _cluster_subject(facts),
            remedy=(remedy_for(identities),),
            identities_why=identities,
            lacking=identities.missing,
        )
    yield from v1_summary_findings(_cluster_subject(facts), facts.v1_calls or {})
    yield from _unread_findings(facts)
    for unread in facts.cluster.not_read(kinds.NODES, kinds.PODS):
        yield Finding.of(
            "imds-pods-unread/lists",
            _cluster_subject(facts),
            (unread.detail,),
            remedy=(remedy_for(unread.as_unknown),),
            plural=unread.resource.plural,
            full_name=unread.resource.full_name,
        )
    yield from _missing_node_findings(facts, groups)
    yield from _unexplained_findings(facts, groups)
    if facts.pods_not_read:
        yield Finding.of(
            "imds-pods-unread/not-looked-into", _cluster_subject(facts), not_looked_into=facts.pods_not_read
        )


def _cluster_subject(facts: MetadataFacts) -> Subject:
    return Subject("Cluster", facts.cluster.identity.name)


def _unread_findings(facts: MetadataFacts) -> Iterator[Finding]:
    """One finding for each reason why pods could not be read."""
    pods_by_reason: dict[str, list[tuple[Pod, Unknown]]] = {}
    for pod in facts.cluster.pods:
        evidence = facts.evidence_by_pod.get(pod.key)
        if evidence is None or not evidence.unreadable:
            continue
        if is_failing(pod, facts.cluster.observed_at) or (
            evidence.command is None and may_need_imds(pod)
        ):  # else optional
            unknown = evidence.unreadable[0]
            pods_by_reason.setdefault(unknown.missing or unknown.why.replace(pod.name, ""), []).append((pod, unknown))
    for same_reason in pods_by_reason.values():
        pod, unknown = same_reason[0]
        is_single = len(same_reason) == 1
        log = Remedy.of("read-log", namespace=pod.namespace, pod=pod.name)
        yield Finding.of(
            "imds-pods-unread/not-readable",
            Subject("Pod", pod.name, pod.namespace) if is_single else _cluster_subject(facts),
            () if is_single else tuple(first_lines([pod.key for pod, _ in same_reason])),
            remedy=(allow_right(unknown.missing) if unknown.missing and not is_single else log,),
            count=len(same_reason),
            why=unknown,
            lacking=unknown.missing,
        )


def _missing_node_findings(
    facts: MetadataFacts, groups: Sequence[tuple[NodeSet, Sequence[AffectedPod]]]
) -> Iterator[Finding]:
    """Pods on nodes that do not exist; pods without a node, if no nodes were checked."""
    nodes = {name for node_set, _ in groups for name in node_set.nodes}
    pods = [each for each in facts.cluster.pods if not each.finished and each.node not in nodes]
    lost_pods = [each for each in pods if each.node or not groups]
    if lost_pods:
        yield Finding.of(
            "imds-pods-unread/nowhere",
            Subject("Pod", lost_pods[0].name, lost_pods[0].namespace)
            if len(lost_pods) == 1
            else _cluster_subject(facts),
            tuple(first_lines([each.key for each in lost_pods])),
            count=len(lost_pods),
        )


def _unexplained_findings(
    facts: MetadataFacts, groups: Sequence[tuple[NodeSet, Sequence[AffectedPod]]]
) -> Iterator[Finding]:
    """Failing pods without access to the service, whose log was read and has no known line."""
    reported_pods = {
        each.pod.key for _, affected in groups for each in affected if each.effect is not Effect.NO_KNOWN_NEED
    }
    set_by_node = {name: node_set for node_set, _ in groups for name in node_set.nodes}
    succeeded_jobs = {pod.owner.uid for pod in facts.cluster.pods if pod.owner is not None and pod.phase == "Succeeded"}
    failing = [
        pod
        for pod in facts.cluster.pods
        if pod.node in set_by_node and pod.key not in reported_pods and _lacks_access(pod, set_by_node[pod.node])
        if (evidence := facts.evidence_by_pod.get(pod.key, PodEvidence())) and not evidence.unreadable
        if (
            is_failed_job_pod(pod, succeeded_jobs)
            if pod.finished
            else has_unexplained_failure(pod, evidence, facts.cluster.observed_at)
        )
    ]
    if failing:
        first = failing[0]
        yield Finding.of(
            "imds-pods-unread/unexplained",
            Subject("Pod", first.name, first.namespace) if len(failing) == 1 else _cluster_subject(facts),
            (*first_lines([pod.key for pod in failing]), *_weak_evidence(facts, failing)),
            count=len(failing),
            namespace=first.namespace,
            pod=first.name,
        )


def _weak_evidence(facts: MetadataFacts, pods: Sequence[Pod]) -> Iterator[str]:
    """The first line about the service, which does not prove the cause."""
    symptoms = (evidence.weak_symptom for pod in pods if (evidence := facts.evidence_by_pod.get(pod.key)) is not None)
    yield from (f"its log: {each.line}" for each in [next(filter(None, symptoms), None)] if each is not None)


def _lacks_access(pod: Pod, node_set: NodeSet) -> bool:
    """The pod cannot reach the service on its node. In the host network, only a disabled endpoint counts."""
    if not pod.calls.host_network:
        return lacks_imdsv2(node_set.verdict_now)
    options = node_set.now.options
    return isinstance(options, MetadataOptions) and lacks_imdsv2(imds_verdict(options, HOST_HOPS))


def _group_by_owner(affected: Iterable[AffectedPod]) -> list[list[AffectedPod]]:
    groups: dict[object, list[AffectedPod]] = {}
    for each in affected:
        owner = each.pod.owner.uid if each.pod.owner is not None else each.pod.key
        groups.setdefault((owner, each.reason, each.way_out), []).append(each)
    return list(groups.values())


def _affected_finding(node_set: NodeSet, pods_alike: Sequence[AffectedPod], hops: int, is_assumed: bool) -> Finding:
    are_broken = pods_alike[0].effect is Effect.BROKEN
    pods = sorted(each.pod.key for each in pods_alike)
    source = node_set.now.by or ("" if are_broken and is_assumed else node_set.next.by)
    has_two_sources = source.startswith(("hop limit by", "tokens by"))
    source_text = f"; {'' if has_two_sources else 'options by '}{source}" if source else ""
    evidence = [*first_lines(pods), f"{NODES_PREFIX}{_set_label(node_set)}{source_text}"]
    if pods_alike[0].log_line:
        evidence.append(f"its log: {pods_alike[0].log_line}")
    if pods_alike[0].source:
        evidence.append(f"source: {pods_alike[0].source}")
    temporary = (
        _temporary_remedies(node_set, hops) if pods_alike[0].asks_service and not pods_alike[0].lacks_own_role else ()
    )
    return Finding.of(
        "imds-pods-broken" if are_broken else "imds-pods-will-break",
        owner_of(pods_alike[0].pod),
        tuple(evidence),
        remedy=(Remedy(_sentence(pods_alike[0].way_out), when=When.LATER), *temporary),
        count=len(pods_alike),
        why=pods_alike[0].reason,
        where=pods_alike[0].location,
    )


def _temporary_remedies(node_set: NodeSet, hops: int) -> Iterator[Remedy]:
    """A remedy that moves no pods: options of the running instances, if they are known and may be changed."""
    options, is_nameable = node_set.now.options, node_set.name or len(node_set.nodes) <= _MAX_PODS
    if (
        not isinstance(options, MetadataOptions)
        or options.pending
        or node_set.owner is NodeOwner.AUTO_MODE
        or not is_nameable
    ):
        return
    if lacks_imdsv2(node_set.verdict_now):
        scope_words = (
            ("--nodegroup", node_set.name) if node_set.name else tuple(f"node/{name}" for name in node_set.nodes)
        )
        words = (
            *scope_words,
            *(("--hops", str(hops)) if hops != POD_HOPS else ()),
            "--apply",
            "--fix",
            "instance-options",
        )
        yield Remedy.of("raise-hop-limit", command=shell("kubectl", "eksdoc", "imds-probe", *words))


def _possible_findings(
    facts: MetadataFacts, groups: Sequence[tuple[NodeSet, Sequence[AffectedPod]]]
) -> Iterator[Finding]:
    """One finding for all; the node sets are its evidence."""
    evidence, all_possible, current_options = list[str](), list[AffectedPod](), list[object]()
    for node_set, affected in groups:
        possible = [each for each in affected if each.effect is Effect.POSSIBLE]
        if possible:
            current_options.append(node_set.now.options)
            evidence.append(f"{_set_label(node_set)}: {pod_count(len(possible))}; {possible[0].location}")
            evidence += first_lines(reasons(possible))
        all_possible += possible
    if all_possible:
        finding = Finding.of(
            "imds-pods-possible/possible",
            _cluster_subject(facts),
            tuple(evidence),
            count=len(all_possible),
            whose=workload_names(all_possible),
        )
        unknown_options = tuple(each for each in current_options if isinstance(each, Unknown))
        yield replace(finding, unknowns=unknown_options) if len(unknown_options) == len(current_options) else finding


def _intent_findings(facts: MetadataFacts, all_sets: Iterable[NodeSet], intent: IntendedOptions) -> Iterator[Finding]:
    """One finding for all node sets, each a line of the evidence."""
    violations: dict[NodeSet, str] = {}
    for node_set in all_sets:
        options = {"now": node_set.now.options, "on the next node": node_set.next.options}
        if times := [time for time, each in options.items() if intent.is_violated_by(each)]:
            violations[node_set] = f"{_set_label(node_set)}: {_options_text(options[times[0]])} ({' and '.join(times)})"
    if violations:
        groups = (("--nodegroup", each.name) if each.name else (f"node/{n}" for n in each.nodes) for each in violations)
        scope_words = tuple(word for words in groups for word in words)
        yield Finding.of(
            "imds-intent-missed",
            _subject(next(iter(violations))) if len(violations) == 1 else _cluster_subject(facts),
            tuple(violations.values()),
            found=next(iter(violations.values())) if len(violations) == 1 else ", ".join(map(_set_label, violations)),
            intent=str(intent),
            see=""
            if str(facts.assumed) == str(intent)
            else shell("kubectl", "eksdoc", "imds-probe", *scope_words, "--assume", str(intent)),
        )


def _options_text(options: object) -> str:
    if not isinstance(options, MetadataOptions):
        return ""
    return f"the hop limit is {options.hop_limit}, and tokens are {options.tokens}"


def _next_node_findings(
    node_set: NodeSet, affected: Sequence[AffectedPod], intent: IntendedOptions | None
) -> Iterator[Finding]:
    if not node_set.is_changing or (intent is not None and intent.is_met_by(node_set.next.options)):
        return
    is_worse = lacks_imdsv2(node_set.verdict_next) and node_set.verdict_now.reach is not ImdsReach.UNREACHABLE
    has_affected_pods = is_worse and any(each.effect is not Effect.NO_KNOWN_NEED for each in affected)
    yield Finding.of(
        "imds-next-differs/fails" if has_affected_pods else "imds-next-differs/passes",
        _subject(node_set),
        here=node_set.verdict_now.reach.value,
        later=node_set.verdict_next.reach.value,
        why=node_set.verdict_next.why,
        by=node_set.next.by,
    )


def _token_findings(
    node_set: NodeSet, assumed: AssumedOptions | None, v1_calls: V1CallsByNode | None
) -> Iterator[Finding]:
    """IMDSv1 is answered now, and not on the next node (EC2 user guide: programs that use it break)."""
    current, next_options = node_set.now.options, node_set.next.options
    if not isinstance(current, MetadataOptions) or not isinstance(next_options, MetadataOptions):
        return
    if (
        current.endpoint
        and next_options.endpoint
        and (current.tokens, next_options.tokens) == (TOKENS_OPTIONAL, TOKENS_REQUIRED)
    ):
        counted_finding = answered_finding(_subject(node_set), v1_calls or {}, node_set.next.by)
        yield counted_finding or Finding.of(
            "imds-tokens-required",
            _subject(node_set),
            tuple(first_lines(node_set.nodes)),
            by=node_set.next.by,
            count="" if v1_calls is not None else _count_command(node_set, assumed),  # or CloudWatch has too few
            days=ENOUGH_DAYS,
        )


def _refused_finding(node_set: NodeSet) -> Finding:
    return Finding.of(
        "imds-launch-refused", _subject(node_set), tuple(first_lines(node_set.nodes)), by=node_set.next.by
    )


def _count_command(node_set: NodeSet, assumed: AssumedOptions | None) -> str:
    scope_words = ("--nodegroup", node_set.name) if node_set.name else (f"node/{node_set.nodes[0]}",)
    if assumed is not None:
        scope_words = (*scope_words, "--assume", str(assumed))
    return shell("kubectl", "eksdoc", "imds-probe", *scope_words, "--evidence", "cloudwatch")


def _unknown_findings(facts: MetadataFacts, all_sets: Sequence[NodeSet]) -> Iterator[Finding]:
    """One finding for each missing right, and for each other reason and time, whatever the number of node sets."""
    by_reason: dict[tuple[str, str], list[tuple[NodeSet, bool]]] = {}
    for node_set in all_sets:
        for service, is_now, verdict in (
            (node_set.now, True, node_set.verdict_now),
            (node_set.next, False, node_set.verdict_next),
        ):
            if verdict.reach is ImdsReach.UNKNOWN:
                reason = "", f"{node_set.nodes[0]} {is_now}"
                if isinstance(service_options := service.options, Unknown):
                    reason = (
                        service_options.missing,
                        "" if service_options.missing else f"{is_now} {service_options.why}",
                    )
                by_reason.setdefault(reason, []).append((node_set, is_now))
    for (missing, _), sets in by_reason.items():
        yield _unknown_finding(facts, missing, sets)


def _unknown_finding(facts: MetadataFacts, missing: str, sets: Sequence[tuple[NodeSet, bool]]) -> Finding:
    """`missing`: the right, "" for none."""
    distinct_sets = list(dict.fromkeys(node_set for node_set, _ in sets))
    first, is_now = sets[0]
    times = " and ".join(sorted({"now" if is_now else "on the next node" for _, is_now in sets}))
    service, imds_verdict = (first.now, first.verdict_now) if is_now else (first.next, first.verdict_next)
    remedies = [_measure_remedy(first)] if is_now else [] if missing else [Remedy.of("test-next-node")]
    return Finding.of(
        "imds-nodes-unknown",
        _subject(first) if len(distinct_sets) == 1 else _cluster_subject(facts),
        tuple(
            first_lines([_set_label(node_set) for node_set in distinct_sets] if len(distinct_sets) > 1 else first.nodes)
        ),
        remedy=(*((allow_right(missing),) if missing else ()), *remedies),
        when=times,
        why=service.options if isinstance(service.options, Unknown) and not missing else imds_verdict.why,
        lacking=missing,
    )


def _measure_remedy(node_set: NodeSet) -> Remedy:
    if node_set.is_windows:
        return Remedy.of("ask-windows")
    return Remedy.of("measure-there", node=node_set.nodes[0])


def _subject(node_set: NodeSet) -> Subject:
    if not node_set.name:
        return Subject("Node", node_set.nodes[0])
    return Subject("NodePool" if node_set.owner in _NODE_POOL_OWNERS else "NodeGroup", node_set.name)


_NODE_POOL_OWNERS = (NodeOwner.KARPENTER, NodeOwner.AUTO_MODE)


def _set_label(node_set: NodeSet) -> str:
    name = node_set.name or node_set.scaling_group
    return f"{name} ({len(node_set.nodes)})" if name else node_set.nodes[0]


def reasons(affected: Iterable[AffectedPod]) -> list[str]:
    """Reasons, by the owner of the pods."""
    owners = {owner_of(each.pod): each.reason for each in affected}
    return sorted(f"{owner.kind} {owner}: {reason}" for owner, reason in owners.items())


def workload_names(affected: Iterable[AffectedPod]) -> str:
    """The workloads, at most three of them by name."""
    names = sorted({str(owner_of(each.pod)) for each in affected})
    return ", ".join(names[:_MAX_NAMES]) + (f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else "")


def first_lines(names: Sequence[str]) -> list[str]:
    if len(names) <= _MAX_PODS:
        return list(names)
    return [*names[:_MAX_PODS], f"and {len(names) - _MAX_PODS} more"]


def _sentence(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:]}."
