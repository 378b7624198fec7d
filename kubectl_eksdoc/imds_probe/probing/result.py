"""What came of a probe: of each node what its pods printed, and what that means; and the findings of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kubectl_eksdoc.amazon.metadata_service import POD, Reach
from kubectl_eksdoc.imds_probe.probing.diagnosis import Answers, Cause, ProbeDiagnosis, diagnosis
from kubectl_eksdoc.imds_probe.probing.pods import (
    NOTHING_TO_ASK,
    AlikeNodes,
    ProbePod,
    ProbeSettings,
    likes,
    probe_pods,
)
from kubectl_eksdoc.model.asked import Unknown, missing_rights
from kubectl_eksdoc.model.aws.machines import MetadataOptions
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.commands import shell
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Status, Subject, When, in_order
from kubectl_eksdoc.model.metadata import AddressFamily, Network
from kubectl_eksdoc.model.nodes import Node, NodeOwner
from kubectl_eksdoc.model.placing import ProbeOwner
from kubectl_eksdoc.probes import left_finding

# What a probe would make, before anything is made.


_NO_HOST_NETWORK = ("baseline", "restricted")


@dataclass(frozen=True, slots=True)
class ProbePlan:
    """`no_host`: why nothing runs on the network of a host, "" if it does. `stale`: left by probes that were killed,
    and removed before; `others`: of probes that may be running, and left alone. `unread`: rights
    that were missing when it was looked where it may run."""

    probe: str
    manner: ProbeSettings
    likes: tuple[AlikeNodes, ...]
    pods: tuple[ProbePod, ...]
    no_host: str = ""
    stale: tuple[ProbeOwner, ...] = ()
    others: tuple[ProbeOwner, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(pod.node for pod in self.pods))

    def likes_of(self, node: str) -> AlikeNodes:
        """Those that a node stands for."""
        return next(each for each in self.likes if node in each.nodes)


def plan_probe(
    nodes: Iterable[Node],
    level: str | Unknown,
    owners: Iterable[ProbeOwner] | Unknown,
    probe: str,
    manner: ProbeSettings,
    named: Sequence[str] = (),
    every: bool = False,
) -> ProbePlan:
    """`level` of pod security in its namespace, "" for none; `owners`: of all probes that are there. What is not known
    of them is found out when the pods are made.

    Raises:
        UsageError: a node that is `named` is not there.
    """
    alike = likes(nodes, named, every)
    no_host = ""
    if level in _NO_HOST_NETWORK:
        no_host = f"namespace {manner.namespace} enforces pod security {level}, which allows no host network"
    networks = (Network.OWN,) if no_host else (Network.OWN, Network.HOST)
    chosen = [node for each in alike for node in each.chosen]
    there = () if isinstance(owners, Unknown) else tuple(owners)
    stale = tuple(owner for owner in there if owner.age_s > manner.deadline_s)
    others = tuple(owner for owner in there if owner not in stale)
    unread = missing_rights(level, owners)
    return ProbePlan(probe, manner, alike, probe_pods(probe, chosen, networks), no_host, stale, others, unread)


@dataclass(frozen=True, slots=True)
class ProbedNode:
    """What came of one node; `own` and `host` are what the pods printed, or why they did not. `options`: what EC2 says
    of its instance, None where that is not known."""

    node: str
    own: Answers
    host: Answers
    v4: ProbeDiagnosis
    v6: ProbeDiagnosis
    options: MetadataOptions | None = None


@dataclass(frozen=True, slots=True)
class Probed:
    """`left`: names of pods that were still there at the end, of `owner`; `not_removed`: why that could not be removed,
    "" if it was. `interrupted`: somebody ended it before all had been heard of."""

    nodes: tuple[ProbedNode, ...]
    owner: str
    left: tuple[str, ...] = ()
    not_removed: str = ""
    interrupted: bool = False


INTERRUPTED = Unknown("it was interrupted before the pod had told anything")


def probed_nodes(
    plan: ProbePlan, heard: Mapping[str, Answers], options: Mapping[str, MetadataOptions]
) -> tuple[ProbedNode, ...]:
    """`heard` of the pods by their names; `options`: what EC2 says of the nodes' instances, where that is known."""
    return tuple(_node(name, plan, heard, options.get(name)) for name in plan.nodes)


def _node(name: str, plan: ProbePlan, heard: Mapping[str, Answers], options: MetadataOptions | None) -> ProbedNode:
    by = {pod.network: heard.get(pod.name, INTERRUPTED) for pod in plan.pods if pod.node == name}
    own, host = by[Network.OWN], by.get(Network.HOST, Unknown(plan.no_host))
    v4 = _in_its_place(diagnosis(own, host, options), plan)
    return ProbedNode(name, own, host, v4, diagnosis(own, host, options, AddressFamily.V6), options)


def _in_its_place(found: ProbeDiagnosis, plan: ProbePlan) -> ProbeDiagnosis:
    """What a pod in that namespace meets, another one need not."""
    if found.cause is not Cause.BLOCKED:
        return found
    return replace(found, why=f"{found.why} (of a pod in namespace {plan.manner.namespace})")


def findings_of(plan: ProbePlan, probed: Probed) -> tuple[Finding, ...]:
    """One for all nodes that are alike and answered alike."""
    found: list[Finding] = [_finding(plan, same) for same in _together(plan, probed.nodes)]
    found += _unprobed(plan)
    if probed.not_removed or probed.left:
        namespace = plan.manner.namespace
        found.append(left_finding(Code.of("imds-probe-left"), probed.owner, namespace, probed.left, probed.not_removed))
    return in_order(found)


def _together(plan: ProbePlan, nodes: Iterable[ProbedNode]) -> list[list[ProbedNode]]:
    found: dict[object, list[ProbedNode]] = {}
    for each in nodes:
        likes = plan.likes_of(each.node)
        found.setdefault((likes.owner, likes.nodes, each.v4.reach, each.v4.cause, each.v4.why), []).append(each)
    return list(found.values())


_STATUS = {
    Reach.CUT_OFF: (Status.FAIL, Severity.HIGH),
    Reach.V1_ONLY: (Status.FAIL, Severity.MEDIUM),
    Reach.UNKNOWN: (Status.UNKNOWN, Severity.MEDIUM),
    Reach.REACHABLE: (Status.PASS, Severity.INFO),
}
_FOUND = {
    Reach.CUT_OFF: "pods cannot reach IMDS",
    Reach.V1_ONLY: "pods get no token, and are answered without one only",
    Reach.UNKNOWN: "what pods find was not measured",
    Reach.REACHABLE: "pods reach it",
}


def _finding(plan: ProbePlan, same: Sequence[ProbedNode]) -> Finding:
    first = same[0]
    status, severity = _STATUS[first.v4.reach]
    if status is Status.PASS and first.v4.doubt:
        severity = Severity.LOW
    missing = first.own.missing if isinstance(first.own, Unknown) else ""
    return Finding(
        Code.of("imds-measured"),
        severity,
        status,
        _subject(plan, same),
        f"{_FOUND[first.v4.reach]}: {first.v4.why}",
        tuple(_evidence(plan, same)),
        _remedies(plan, same) if status is not Status.UNKNOWN else (_AGAIN,),
        (missing or "what a pod there measures") if status is Status.UNKNOWN else "",
    )


def _subject(plan: ProbePlan, same: Sequence[ProbedNode]) -> Subject:
    """The group, where all of it that was probed answered alike."""
    likes = plan.likes_of(same[0].node)
    if likes.group and len(same) == len(likes.chosen):
        return Subject(_kind(likes), likes.group)
    return Subject("Node", same[0].node) if len(same) == 1 else Subject("Nodes", likes.group or likes.owner.value)


def _kind(likes: AlikeNodes) -> str:
    return "NodePool" if likes.owner in (NodeOwner.KARPENTER, NodeOwner.AUTO_MODE) else "NodeGroup"


def _evidence(plan: ProbePlan, same: Sequence[ProbedNode]) -> Iterator[str]:
    names, likes = [each.node for each in same], plan.likes_of(same[0].node)
    more = f" and {len(names) - _SOME} more" if len(names) > _SOME else ""
    how = "tried" if same[0].v4.reach is Reach.UNKNOWN else "measured"
    yield f"{how} on {', '.join(names[:_SOME])}{more}, of {len(likes.nodes)} that look alike"
    for doubt in dict.fromkeys(each.v4.doubt for each in same if each.v4.doubt):
        yield f"doubt: {doubt}"


_SOME = 5
_AGAIN = Remedy("Fix what kept the pod from running, or test another node of that kind (node/NAME).")
_MEANT = "Keep it where no pod is affected, as AWS recommends. Which pods are affected, and what {} hops would take:"
_LATER = Remedy("Give what calls AWS a role of its own (EKS Pod Identity or IRSA).", when=When.LATER)
_REMEDIES: Mapping[Cause, tuple[Remedy, ...]] = {
    Cause.BLOCKED: (
        Remedy(
            "Check the network policies of that namespace, and what sets rules on nodes.",
            "kubectl get networkpolicies -A",
        ),
    ),
    Cause.DISABLED: (Remedy("Enable HttpEndpoint of the instances, and in what makes them."),),
    Cause.IN_BETWEEN: (Remedy("Find who answers for 169.254.169.254 there: kube2iam, kiam, a service mesh."),),
    Cause.NODE: (Remedy("Look for a rule on the node that drops what goes to 169.254.169.254."),),
}


def _remedies(plan: ProbePlan, same: Sequence[ProbedNode]) -> tuple[Remedy, ...]:
    """Whether a pod is affected by a hop limit, and which fix is the least, the command without --active tells."""
    if same[0].v4.cause is not Cause.HOP_LIMIT:
        return _REMEDIES.get(same[0].v4.cause, ())
    limits = [each.options.hop_limit + 1 for each in same if each.options is not None]
    enough = max([2, *limits])  # where two are not enough, one of a pod's ways has more hops than usual
    likes, hops = plan.likes_of(same[0].node), ("--hops", str(enough)) if enough > POD else ()
    which = ("--nodegroup", likes.group) if likes.group else tuple(f"node/{each.node}" for each in same)
    return Remedy(_MEANT.format(enough), shell("kubectl", "eksdoc", "imds-probe", *which, *hops)), _LATER


def _unprobed(plan: ProbePlan) -> Iterator[Finding]:
    for each in plan.likes:
        if each.chosen or each.why_not in NOTHING_TO_ASK:
            continue
        subject = Subject(_kind(each), each.group) if each.group else Subject("Node", each.nodes[0])
        yield Finding.of("imds-measured/not-probed", subject, count=len(each.nodes), why=each.why_not)
