"""Plan of the metadata check: node sets by cause, affected pods, findings, and the comparison with an earlier
result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from kubectl_eksdoc.amazon.metadata_service import HOST_HOPS, ImdsReach, ImdsVerdict, eks_template_options, imds_verdict
from kubectl_eksdoc.baseline.changes import ResultComparison, outline_of
from kubectl_eksdoc.baseline.side import (
    ResultSide,
    Scope,
    SnapshotOrigin,
    compare_with_saved,
    complete_kinds,
    kinds_by_code,
    saved_result,
)
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.baseline import SavedResult
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import CommandTarget, shell
from kubectl_eksdoc.model.findings import Code, Finding, Subject, for_target, sort_findings
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.machines import DeclaredMetadataOptions, MetadataOptions, NodeGroup, PodIdentity
from kubectl_eksdoc.model.missing_rights import for_source
from kubectl_eksdoc.model.nodes import NodeOwner, Pod, RoleSource

from .affected import (
    AL2023,
    EFFECT_RANK,
    AffectedPod,
    AssumedOptions,
    Effect,
    PodChecker,
    PodEvidence,
    is_failing,
    lacks_imdsv2,
)
from .evidence import add_role_use, is_role_use_relevant, role_use_by_workload, role_use_findings
from .judging import cluster_findings, first_lines, group_findings, reasons, workload_names
from .programs import program_of
from .sources import MetadataFacts, MetadataService, NodeSet, node_sets

# The AL2023 successor of a managed AL2 node group, and the pods that lose access on it.


def successor_verdict(node_set: NodeSet, facts: MetadataFacts, hops: int) -> ImdsVerdict | None:
    """The verdict for pods on the successor; None if none is expected, or it changes nothing."""
    group = facts.machines.node_groups.get(node_set.name) if node_set.owner is NodeOwner.MANAGED else None
    if not isinstance(group, NodeGroup) or group.template is not None or not group.ami_type.startswith("AL2_"):
        return None
    options = eks_template_options(AssumedOptions(image=AL2023).ami_type(group.ami_type))
    if (
        facts.assumed is not None
        or lacks_imdsv2(node_set.verdict_now, node_set.verdict_next)
        or not isinstance(options, DeclaredMetadataOptions)
    ):
        return None
    result = imds_verdict(MetadataOptions(options.tokens, options.hop_limit or 1), hops)
    return result if lacks_imdsv2(result) else None


def successor_findings(group: GroupPlan) -> Iterator[Finding]:
    """Findings of a node group whose pods are affected on its successor."""
    name, possible = group.node_set.name, group.with_effect(Effect.POSSIBLE)
    certain = [each for each in group.affected if each.effect in (Effect.WILL_BREAK, Effect.BROKEN)]
    reported = certain or possible
    if not reported:
        return
    evidence = first_lines(reasons(reported)) + [
        f"may break, too: {each}" for each in first_lines(reasons(possible) if certain else ())
    ]
    yield Finding.of(
        "imds-successor/breaks" if certain else "imds-successor/possible",
        Subject("NodeGroup", name),
        tuple(evidence),
        count=len(reported),
        whose=workload_names(reported),
        command=shell("kubectl", "eksdoc", "imds-probe", "--nodegroup", name, "--assume", f"ami={AL2023}"),
    )


@frozen
class GroupPlan:
    """A set of nodes with one cause, and its affected pods, the broken ones first."""

    node_set: NodeSet
    affected: tuple[AffectedPod, ...]

    def with_effect(self, effect: Effect) -> tuple[AffectedPod, ...]:
        return tuple(each for each in self.affected if each.effect is effect)


@frozen
class MetadataPlan:
    """`groups`: the most affected first; `successors`: of those with a known AL2023 successor, with the pods' verdict
    on it as `verdict_next`. `hops`: the hops of the judged pods."""

    facts: MetadataFacts
    hops: int
    groups: tuple[GroupPlan, ...]
    successors: tuple[GroupPlan, ...]
    findings: tuple[Finding, ...]


def plan_metadata(facts: MetadataFacts, hops: int, target: CommandTarget = CommandTarget()) -> MetadataPlan:
    """Plan for pods at `hops` from the service: 2 in a pod network, 3 in a nested network. `target`: the flags that
    commands need for the cluster that was read."""
    sets = node_sets(facts, hops)
    pods_by_set = _pods_by_set(sets, facts.cluster.pods)
    evidence_by_owner = {
        _owner_key(pod): facts.evidence_by_pod[pod.key]
        for pod in facts.cluster.pods
        if pod.key in facts.evidence_by_pod
    }
    clauses = role_use_by_workload(facts)
    groups = tuple(
        GroupPlan(node_set, _affected_pods(node_set, pods_by_set.get(index, ()), facts, evidence_by_owner, clauses))
        for index, node_set in enumerate(sets)
    )
    successors = []
    for index, node_set in enumerate(sets):
        next_verdict = successor_verdict(node_set, facts, hops)
        if next_verdict is not None:
            next_group = replace(node_set, verdict_next=next_verdict)
            successors.append(
                GroupPlan(
                    next_group,
                    _affected_pods(next_group, pods_by_set.get(index, ()), facts, evidence_by_owner, clauses),
                )
            )
    findings = [
        sorted_findings
        for group in groups
        for sorted_findings in group_findings(facts, group.node_set, group.affected, hops)
    ]
    pairs = [(group.node_set, group.affected) for group in groups]
    findings += cluster_findings(facts, pairs)
    findings += role_use_findings(facts, pairs, [(group.node_set, group.affected) for group in successors])
    findings += [sorted_findings for group in successors for sorted_findings in successor_findings(group)]
    sorted_findings = tuple(
        for_target(node_set, target) for node_set in for_source(sort_findings(findings), facts.cluster.source)
    )
    return MetadataPlan(facts, hops, tuple(sorted(groups, key=_sort_key)), tuple(successors), sorted_findings)


def _sort_key(group: GroupPlan) -> tuple[int, int]:
    return -len(group.with_effect(Effect.BROKEN)), -len(group.with_effect(Effect.WILL_BREAK))


def pods_to_read(facts: MetadataFacts, hops: int) -> tuple[Pod, ...]:
    """Pods on nodes that restrict their access, now or on the next node, and failing pods on nodes with unknown access:
    a log shows what EC2 does not."""
    sets, now = node_sets(facts, hops), facts.cluster.observed_at
    pods_found = []
    for index, pods in _pods_by_set(sets, facts.cluster.pods).items():
        node_set, is_unknown = sets[index], sets[index].verdict_now.reach is ImdsReach.UNKNOWN
        if lacks_imdsv2(node_set.verdict_now, node_set.verdict_next):
            pods_found += pods
        elif is_unknown or successor_verdict(node_set, facts, hops) is not None:
            pods_found += [pod for pod in pods if (is_unknown and is_failing(pod, now)) or program_of(pod) is not None]
    return tuple(pods_found)


def _pods_by_set(sets: Sequence[NodeSet], pods: Iterable[Pod]) -> dict[int, list[Pod]]:
    """By the index of the node's set in `sets`."""
    group_of = {node: index for index, each in enumerate(sets) for node in each.nodes}
    pods_by_index: dict[int, list[Pod]] = {}
    for pod in pods:
        index = group_of.get(pod.node)
        if index is not None:
            pods_by_index.setdefault(index, []).append(pod)
    return pods_by_index


def _affected_pods(
    node_set: NodeSet,
    pods: Sequence[Pod],
    facts: MetadataFacts,
    evidence_by_owner: Mapping[str, PodEvidence],
    clauses: Mapping[Subject, str],
) -> tuple[AffectedPod, ...]:
    """Evidence of one pod holds for the other pods of its owner."""
    has_service = node_set.now.options is not None
    # Fargate runs no EKS Pod Identity agent, so an association has no effect there
    identities = frozenset[PodIdentity]() if node_set.owner is NodeOwner.FARGATE else facts.machines.identities
    checker = PodChecker(node_set.verdict_now, node_set.verdict_next, identities, facts.cluster.observed_at)
    host_checker = replace(
        checker,
        verdict_now=_host_verdict(node_set.now, node_set.verdict_now),
        verdict_next=_host_verdict(node_set.next, node_set.verdict_next),
        is_host_network=True,
    )
    affected = []
    for pod in pods:
        evidence = facts.evidence_by_pod.get(pod.key) or evidence_by_owner.get(_owner_key(pod), _NO_EVIDENCE)
        if (
            evidence is not _NO_EVIDENCE
            and pod.key not in facts.evidence_by_pod
            and not is_failing(pod, facts.cluster.observed_at)
        ):
            evidence = PodEvidence(
                evidence.command, commands_by_image=evidence.commands_by_image
            )  # else it fails like the read pod
        affected_pod = (host_checker if pod.calls.host_network else checker).check(pod, evidence)
        # on nodes that never had the service, a running pod has not lost it
        if affected_pod is not None and (has_service or affected_pod.effect in (Effect.BROKEN, Effect.WILL_BREAK)):
            affected.append(
                add_role_use(affected_pod, clauses, facts) if is_role_use_relevant(node_set) else affected_pod
            )
    return tuple(sorted(affected, key=lambda affected_pod: (EFFECT_RANK[affected_pod.effect], affected_pod.pod.key)))


def _host_verdict(service: MetadataService, pod_network_verdict: ImdsVerdict) -> ImdsVerdict:
    """For pods in the host network; a node without the service is no EC2 instance."""
    return (
        ImdsVerdict(ImdsReach.UNKNOWN, pod_network_verdict.why)
        if service.options is None
        else imds_verdict(service.options, HOST_HOPS)
    )


_NO_EVIDENCE = PodEvidence()


def _owner_key(pod: Pod) -> str:
    return pod.owner.uid if pod.owner is not None else pod.key


# Comparison with an earlier result: the nodes and pods that each covers.


_UNKNOWN_CODES = frozenset({"imds-nodes-unknown", "imds-roles-unknown", "imds-pods-unread"})
RELATED_CODES = dict.fromkeys(
    ("imds-pods-broken", "imds-pods-will-break", "imds-next-differs", "imds-pods-possible", "imds-roles-unknown"),
    _UNKNOWN_CODES,
)
"""With an unknown service, the affected pods and the pods with a role are unknown, too. A possible need hides no
finding."""

_CODE_NEEDS = kinds_by_code(Code.of_areas("imds"))
_KNOWN_CODES = frozenset(_CODE_NEEDS)
"""Codes that other versions of this tool may have found are not compared."""

_NODE_OPTION, _GROUP_OPTION = "node", "nodegroup"
_SCOPE_OPTIONS = ("pod", "workload", "namespace", _NODE_OPTION, _GROUP_OPTION, "evidence")


def compare_with_earlier(
    earlier: SavedResult, cluster: Cluster, plan: MetadataPlan, options: Mapping[str, object]
) -> ResultComparison:
    """Compare the plan with an `earlier` result.

    Raises:
        BaselineError: the earlier result is of another cluster.
    """
    earlier_options = earlier.options
    codes, scope = _searched_codes(earlier_options), _scope(earlier_options)
    earlier_side = ResultSide(
        earlier.findings,
        codes=codes,
        complete_kinds=earlier.read,
        needed_kinds=_CODE_NEEDS,
        scope=scope,
        related_codes=RELATED_CODES,
    )
    outlines = tuple(map(outline_of, plan.findings))
    current_side = ResultSide(
        outlines,
        codes=_searched_codes(options),
        complete_kinds=complete_kinds(cluster),
        needed_kinds=_CODE_NEEDS,
        scope=_scope(options),
        related_codes=RELATED_CODES,
    )
    return compare_with_saved(earlier, cluster, earlier_side, current_side, options, _SCOPE_OPTIONS)


def as_saved_result(origin: SnapshotOrigin, cluster: Cluster, plan: MetadataPlan) -> SavedResult:
    """The plan of an earlier snapshot, in the form of a saved result."""
    return saved_result(origin, cluster, plan.findings)


def _searched_codes(options: Mapping[str, object]) -> frozenset[str]:
    """The codes that are possible with these flags."""
    evidence = set(str(options.get("evidence") or "").split(","))
    conditional = {
        ("imds-v1-counted", "imds-v1-rejected"): "cloudwatch" in evidence,
        ("imds-role-used",): evidence & {"cloudtrail", "iam"},
        ("imds-evidence-unknown",): evidence - {""},
    }
    return _KNOWN_CODES - {code for codes, is_searched in conditional.items() if not is_searched for code in codes}


def _scope(options: Mapping[str, object]) -> Scope | None:
    """A selection by both name and group is smaller than either, and is comparable only with itself."""
    pod, nodes, groups = options.get("pod"), _as_list(options.get(_NODE_OPTION)), _as_list(options.get(_GROUP_OPTION))
    workload, namespace = options.get("workload"), options.get("namespace") or ""
    if pod:
        return frozenset({("Pod", f"{namespace}/{pod}")})
    if workload:
        kind, _, name = str(workload).partition("/")
        return frozenset({(kind, f"{namespace}/{name}") if namespace else ("workload", str(workload))})
    if nodes and groups:
        return frozenset({("both", f"{sorted(nodes)} of {sorted(groups)}")})
    if nodes:
        return frozenset(("Node", name) for name in nodes)
    return frozenset((_GROUP_OPTION, name) for name in groups) or None


def _as_list(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, (list, tuple)) else []


# Access of one pod to the metadata service, and its effect.


@frozen
class PodAccess:
    """`hops` to the service; `affected_pod` is None if nothing shows that the pod is affected. `sentence` states the
    result."""

    pod: Pod
    hops: int
    here: ImdsVerdict
    affected_pod: AffectedPod | None
    sentence: str


_ACCESS = {
    ImdsReach.REACHABLE: "reaches the instance metadata service",
    ImdsReach.V1_ONLY: "gets no token from the instance metadata service, and is answered without one",
    ImdsReach.UNREACHABLE: "does not reach the instance metadata service",
    ImdsReach.UNKNOWN: "may or may not reach the instance metadata service",
}


def pod_access(plan: MetadataPlan, pod: Pod) -> PodAccess:
    """`plan` covers the pod's node."""
    observed_at = plan.facts.cluster.observed_at
    group = next((each for each in plan.groups if pod.node in each.node_set.nodes), None)
    if pod.finished:
        return _build_pod_access(
            pod,
            plan.hops,
            ImdsVerdict(ImdsReach.UNKNOWN, "its containers have ended, and do not start again"),
            observed_at,
        )
    if group is None:
        reason = "it is on no node yet" if not pod.node else f"its node {pod.node} is not among those that were read"
        return _build_pod_access(pod, plan.hops, ImdsVerdict(ImdsReach.UNKNOWN, reason), observed_at)
    if pod.calls.host_network:
        options = group.node_set.now.options
        no_service = ImdsVerdict(ImdsReach.UNREACHABLE, group.node_set.now.by)
        return _build_pod_access(
            pod, HOST_HOPS, no_service if options is None else imds_verdict(options, HOST_HOPS), observed_at, group
        )
    return _build_pod_access(pod, plan.hops, group.node_set.verdict_now, observed_at, group)


def _build_pod_access(
    pod: Pod, hops: int, here: ImdsVerdict, now: datetime, group: GroupPlan | None = None
) -> PodAccess:
    affected_pods = group.affected if group is not None else ()
    affected = next(
        (each for each in affected_pods if each.pod == pod and each.effect is not Effect.NO_KNOWN_NEED), None
    )
    node = f" on {pod.node}" if pod.node else ""
    name = f" ({group.node_set.name})" if group is not None and group.node_set.name else ""
    network = ", with the network of its host," if pod.calls.host_network else ""
    failing = lacks_imdsv2(here) and is_failing(pod, now)
    sentence = (
        f"{pod.key}{node}{name}{network} {_ACCESS[here.reach]}: {here.why}; {_effect(pod, affected, here, failing)}."
    )
    return PodAccess(pod, hops, here, affected, sentence + _next_node_text(group, pod))


def _effect(pod: Pod, affected: AffectedPod | None, here: ImdsVerdict, failing: bool) -> str:
    if affected is not None:
        return f"{affected.effect.value}: {affected.reason}; way out: {affected.way_out}"
    if failing:
        return "it fails, and whether for that reason is not known"
    if pod.calls.role is not RoleSource.NONE:
        return f"it has a role of its own by {pod.calls.role.value}"
    return "nothing is wrong" if here.reach is ImdsReach.REACHABLE else "nothing shows that it needs it"


def _next_node_text(group: GroupPlan | None, pod: Pod) -> str:
    """The change on the next node, "" for none."""
    if group is None or pod.calls.host_network or isinstance(group.node_set.next.options, Unknown):
        return ""
    if not group.node_set.is_changing:
        return ""
    return (
        f" On the next node it {_ACCESS[group.node_set.verdict_next.reach]}: "
        f"{group.node_set.verdict_next.why} ({group.node_set.next.by})."
    )
