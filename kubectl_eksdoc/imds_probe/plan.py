"""Plan of the metadata check: node sets by cause, affected pods, findings, and the comparison with an earlier
result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from kubectl_eksdoc.amazon.metadata_service import HOST, ImdsVerdict, Reach, of_group_by_eks, verdict
from kubectl_eksdoc.baseline.changes import ResultComparison, outline_of
from kubectl_eksdoc.baseline.side import Scope, Side, SnapshotOrigin, made_earlier, needs_of, read_of, since
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.baseline import SavedResult
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import CommandTarget, shell
from kubectl_eksdoc.model.findings import Code, Finding, Subject, in_order, reached
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.machines import MetadataOptions, NodeGroup, PodIdentity, SaidOptions
from kubectl_eksdoc.model.missing_rights import as_read
from kubectl_eksdoc.model.nodes import NodeOwner, Pod, RoleBy

from .affected import (
    AL2023,
    WORST_FIRST,
    AffectedPod,
    Assumed,
    Effect,
    JudgedPods,
    PodEvidence,
    cut_off,
    fails,
)
from .evidence import role_clauses, role_used, tells, with_role_use
from .judging import judged, judged_whole, reasons, some, whose
from .programs import program_of
from .sources import MetadataFacts, MetadataService, NodesAlike, nodes_alike

# The AL2023 successor of a managed AL2 node group, and the pods that lose access on it.


def on_successor(alike: NodesAlike, facts: MetadataFacts, hops: int) -> ImdsVerdict | None:
    """The verdict for pods on the successor; None if none is expected, or it changes nothing."""
    group = facts.told.node_groups.get(alike.name) if alike.owner is NodeOwner.MANAGED else None
    if not isinstance(group, NodeGroup) or group.template is not None or not group.ami_type.startswith("AL2_"):
        return None
    said = of_group_by_eks(Assumed(image=AL2023).ami_type(group.ami_type))
    if facts.assumed is not None or cut_off(alike.here, alike.later) or not isinstance(said, SaidOptions):
        return None
    found = verdict(MetadataOptions(said.tokens, said.hop_limit or 1), hops)
    return found if cut_off(found) else None


def judged_successor(group: GroupPlan) -> Iterator[Finding]:
    """Findings of a node group whose pods are affected on its successor."""
    name, possible = group.alike.name, group.of(Effect.POSSIBLE)
    sure = [each for each in group.affected if each.effect in (Effect.WILL_BREAK, Effect.BROKEN)]
    found = sure or possible
    if not found:
        return
    evidence = some(reasons(found)) + [f"may break, too: {each}" for each in some(reasons(possible) if sure else ())]
    yield Finding.of(
        "imds-successor/breaks" if sure else "imds-successor/possible",
        Subject("NodeGroup", name),
        tuple(evidence),
        count=len(found),
        whose=whose(found),
        command=shell("kubectl", "eksdoc", "imds-probe", "--nodegroup", name, "--assume", f"ami={AL2023}"),
    )


@frozen
class GroupPlan:
    """A set of nodes with one cause, and its affected pods, the broken ones first."""

    alike: NodesAlike
    affected: tuple[AffectedPod, ...]

    def of(self, effect: Effect) -> tuple[AffectedPod, ...]:
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


def plan_metadata(facts: MetadataFacts, hops: int, reach: CommandTarget = CommandTarget()) -> MetadataPlan:
    """Plan for pods at `hops` from the service: 2 in a pod network, 3 in a nested network. `target`: the flags that
    commands need for the cluster that was read."""
    alike = nodes_alike(facts, hops)
    there = _by_group(alike, facts.cluster.pods)
    read_of = {_alike(pod): facts.inside[pod.key] for pod in facts.cluster.pods if pod.key in facts.inside}
    clauses = role_clauses(facts)
    groups = tuple(
        GroupPlan(each, _affected(each, there.get(at, ()), facts, read_of, clauses)) for at, each in enumerate(alike)
    )
    successors = []
    for at, each in enumerate(alike):
        later = on_successor(each, facts, hops)
        if later is not None:
            next_group = replace(each, later=later)
            successors.append(GroupPlan(next_group, _affected(next_group, there.get(at, ()), facts, read_of, clauses)))
    findings = [found for group in groups for found in judged(facts, group.alike, group.affected, hops)]
    pairs = [(group.alike, group.affected) for group in groups]
    findings += judged_whole(facts, pairs)
    findings += role_used(facts, pairs, [(group.alike, group.affected) for group in successors])
    findings += [found for group in successors for found in judged_successor(group)]
    found = tuple(reached(each, reach) for each in as_read(in_order(findings), facts.cluster.source))
    return MetadataPlan(facts, hops, tuple(sorted(groups, key=_affected_first)), tuple(successors), found)


def _affected_first(group: GroupPlan) -> tuple[int, int]:
    return -len(group.of(Effect.BROKEN)), -len(group.of(Effect.WILL_BREAK))


def worth_a_look(facts: MetadataFacts, hops: int) -> tuple[Pod, ...]:
    """Pods on nodes that restrict their access, now or on the next node, and failing pods on nodes with unknown access:
    a log shows what EC2 does not."""
    alike, now = nodes_alike(facts, hops), facts.cluster.observed_at
    found = []
    for at, pods in _by_group(alike, facts.cluster.pods).items():
        group, unknown = alike[at], alike[at].here.reach is Reach.UNKNOWN
        if cut_off(group.here, group.later):
            found += pods
        elif unknown or on_successor(group, facts, hops) is not None:
            found += [pod for pod in pods if (unknown and fails(pod, now)) or program_of(pod) is not None]
    return tuple(found)


def _by_group(alike: Sequence[NodesAlike], pods: Iterable[Pod]) -> dict[int, list[Pod]]:
    """By the index of the node's set in `sets`."""
    group_of = {node: at for at, each in enumerate(alike) for node in each.nodes}
    found: dict[int, list[Pod]] = {}
    for pod in pods:
        at = group_of.get(pod.node)
        if at is not None:
            found.setdefault(at, []).append(pod)
    return found


def _affected(
    alike: NodesAlike,
    pods: Sequence[Pod],
    facts: MetadataFacts,
    of_owner: Mapping[str, PodEvidence],
    clauses: Mapping[Subject, str],
) -> tuple[AffectedPod, ...]:
    """Evidence of one pod holds for the other pods of its owner."""
    has_one = alike.now.options is not None
    # Fargate runs no EKS Pod Identity agent, so an association has no effect there
    identities = frozenset[PodIdentity]() if alike.owner is NodeOwner.FARGATE else facts.told.identities
    judged = JudgedPods(alike.here, alike.later, identities, facts.cluster.observed_at)
    on_host = replace(
        judged, here=_at_host(alike.now, alike.here), later=_at_host(alike.next, alike.later), at_host=True
    )
    found = []
    for pod in pods:
        within = facts.inside.get(pod.key) or of_owner.get(_alike(pod), _NOT_LOOKED)
        if within is not _NOT_LOOKED and pod.key not in facts.inside and not fails(pod, facts.cluster.observed_at):
            within = PodEvidence(within.started, programs=within.programs)  # else it fails like the read pod
        each = (on_host if pod.calls.host_network else judged).affected(pod, within)
        # on nodes that never had the service, a running pod has not lost it
        if each is not None and (has_one or each.effect in (Effect.BROKEN, Effect.WILL_BREAK)):
            found.append(with_role_use(each, clauses, facts) if tells(alike) else each)
    return tuple(sorted(found, key=lambda each: (WORST_FIRST[each.effect], each.pod.key)))


def _at_host(service: MetadataService, other: ImdsVerdict) -> ImdsVerdict:
    """For pods in the host network; a node without the service is no EC2 instance."""
    return ImdsVerdict(Reach.UNKNOWN, other.why) if service.options is None else verdict(service.options, HOST)


_NOT_LOOKED = PodEvidence()


def _alike(pod: Pod) -> str:
    return pod.owner.uid if pod.owner is not None else pod.key


# Comparison with an earlier result: the nodes and pods that each covers.


_OPEN = frozenset({"imds-nodes-unknown", "imds-roles-unknown", "imds-pods-unread"})
KIN = dict.fromkeys(
    ("imds-pods-broken", "imds-pods-will-break", "imds-next-differs", "imds-pods-possible", "imds-roles-unknown"),
    _OPEN,
)
"""With an unknown service, the affected pods and the pods with a role are unknown, too. A possible need hides no
finding."""

_NEEDS = needs_of(Code.of_area("imds"))
_KNOWN = frozenset(_NEEDS)
"""Codes that other versions of this tool may have found are not compared."""

_NODES, _GROUPS = "node", "nodegroup"
_NARROWING = ("pod", "workload", "namespace", _NODES, _GROUPS, "evidence")


def against(
    earlier: SavedResult, cluster: Cluster, plan: MetadataPlan, options: Mapping[str, object]
) -> ResultComparison:
    """Compare the plan with an `earlier` result.

    Raises:
        BaselineError: the earlier result is of another cluster.
    """
    before = earlier.options
    codes, scope = _looked_for(before), _scope(before)
    then = Side(earlier.findings, codes=codes, read=earlier.read, needs=_NEEDS, scope=scope, kin=KIN)
    found = tuple(map(outline_of, plan.findings))
    now = Side(found, codes=_looked_for(options), read=read_of(cluster), needs=_NEEDS, scope=_scope(options), kin=KIN)
    return since(earlier, cluster, then, now, options, _NARROWING)


def as_earlier(of: SnapshotOrigin, cluster: Cluster, plan: MetadataPlan) -> SavedResult:
    """The plan of an earlier snapshot, in the form of a saved result."""
    return made_earlier(of, cluster, plan.findings)


def _looked_for(options: Mapping[str, object]) -> frozenset[str]:
    """The codes that are possible with these flags."""
    evidence = set(str(options.get("evidence") or "").split(","))
    only = {
        ("imds-v1-counted", "imds-v1-rejected"): "cloudwatch" in evidence,
        ("imds-role-used",): evidence & {"cloudtrail", "iam"},
        ("imds-evidence-unknown",): evidence - {""},
    }
    return _KNOWN - {code for codes, looked in only.items() if not looked for code in codes}


def _scope(options: Mapping[str, object]) -> Scope | None:
    """A selection by both name and group is smaller than either, and is comparable only with itself."""
    pod, nodes, groups = options.get("pod"), _many(options.get(_NODES)), _many(options.get(_GROUPS))
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
    return frozenset((_GROUPS, name) for name in groups) or None


def _many(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, (list, tuple)) else []


# Access of one pod to the metadata service, and its effect.


@frozen
class OnePod:
    """`hops` to the service; `affected_pod` is None if nothing shows that the pod is affected. `sentence` states the
    result."""

    pod: Pod
    hops: int
    here: ImdsVerdict
    affected_pod: AffectedPod | None
    sentence: str


_REACHES = {
    Reach.REACHABLE: "reaches the instance metadata service",
    Reach.V1_ONLY: "gets no token from the instance metadata service, and is answered without one",
    Reach.CUT_OFF: "does not reach the instance metadata service",
    Reach.UNKNOWN: "may or may not reach the instance metadata service",
}


def of_pod(plan: MetadataPlan, pod: Pod) -> OnePod:
    """`plan` covers the pod's node."""
    now = plan.facts.cluster.observed_at
    group = next((each for each in plan.groups if pod.node in each.alike.nodes), None)
    if pod.finished:
        return _said(
            pod, plan.hops, ImdsVerdict(Reach.UNKNOWN, "its containers have ended, and do not start again"), now
        )
    if group is None:
        why = "it is on no node yet" if not pod.node else f"its node {pod.node} is not among those that were read"
        return _said(pod, plan.hops, ImdsVerdict(Reach.UNKNOWN, why), now)
    if pod.calls.host_network:
        options = group.alike.now.options
        none = ImdsVerdict(Reach.CUT_OFF, group.alike.now.by)
        return _said(pod, HOST, none if options is None else verdict(options, HOST), now, group)
    return _said(pod, plan.hops, group.alike.here, now, group)


def _said(pod: Pod, hops: int, here: ImdsVerdict, now: datetime, group: GroupPlan | None = None) -> OnePod:
    among = group.affected if group is not None else ()
    suffers = next((each for each in among if each.pod == pod and each.effect is not Effect.NO_KNOWN_NEED), None)
    where = f" on {pod.node}" if pod.node else ""
    of = f" ({group.alike.name})" if group is not None and group.alike.name else ""
    host = ", with the network of its host," if pod.calls.host_network else ""
    failing = cut_off(here) and fails(pod, now)
    sentence = (
        f"{pod.key}{where}{of}{host} {_REACHES[here.reach]}: {here.why}; {_matters(pod, suffers, here, failing)}."
    )
    return OnePod(pod, hops, here, suffers, sentence + _later(group, pod))


def _matters(pod: Pod, suffers: AffectedPod | None, here: ImdsVerdict, failing: bool) -> str:
    if suffers is not None:
        return f"{suffers.effect.value}: {suffers.why}; way out: {suffers.way_out}"
    if failing:
        return "it fails, and whether for that reason is not known"
    if pod.calls.role is not RoleBy.NOBODY:
        return f"it has a role of its own by {pod.calls.role.value}"
    return "nothing is wrong" if here.reach is Reach.REACHABLE else "nothing shows that it needs it"


def _later(group: GroupPlan | None, pod: Pod) -> str:
    """The change on the next node, "" for none."""
    if group is None or pod.calls.host_network or isinstance(group.alike.next.options, Unknown):
        return ""
    if not group.alike.changes:
        return ""
    return f" On the next node it {_REACHES[group.alike.later.reach]}: {group.alike.later.why} ({group.alike.next.by})."
