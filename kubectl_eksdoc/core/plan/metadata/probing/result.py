"""What came of a probe: of each node what its pods printed, and what that means; and the findings of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kubectl_eksdoc.core.model import metadata_probe_codes as codes
from kubectl_eksdoc.core.model.aws.asked import Unknown
from kubectl_eksdoc.core.model.aws.machines import MetadataOptions
from kubectl_eksdoc.core.model.findings import Finding, Remedy, Severity, Status, Subject, When, in_order
from kubectl_eksdoc.core.model.metadata_probe import Family, Network
from kubectl_eksdoc.core.plan.metadata.probing.choice import NOTHING_TO_ASK
from kubectl_eksdoc.core.plan.metadata.probing.diagnosis import Answers, Cause, Diagnosis, diagnosis
from kubectl_eksdoc.core.plan.metadata.probing.plan import ProbePlan
from kubectl_eksdoc.core.rules.metadata_service import Reach


@dataclass(frozen=True, slots=True)
class ProbedNode:
    """What came of one node; `own` and `host` are what the pods printed, or why they did not."""

    node: str
    own: Answers
    host: Answers
    v4: Diagnosis
    v6: Diagnosis


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
    return ProbedNode(name, own, host, v4, diagnosis(own, host, options, Family.V6))


def _in_its_place(found: Diagnosis, plan: ProbePlan) -> Diagnosis:
    """What a pod in that namespace meets, another one need not."""
    if found.cause is not Cause.BLOCKED:
        return found
    return replace(found, why=f"{found.why} (of a pod in namespace {plan.manner.namespace})")


def findings_of(plan: ProbePlan, probed: Probed) -> tuple[Finding, ...]:
    """One for all nodes that are alike and answered alike."""
    found: list[Finding] = [_finding(plan, same) for same in _together(plan, probed.nodes)]
    found += _unprobed(plan)
    if probed.not_removed or probed.left:
        found.append(_left(plan, probed))
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


def _finding(plan: ProbePlan, same: Sequence[ProbedNode]) -> Finding:
    first = same[0]
    status, severity = _STATUS[first.v4.reach]
    likes = plan.likes_of(first.node)
    group = f" of {likes.group}" if likes.group else ""
    names = [each.node for each in same]
    stands = len(likes.nodes) - len(likes.chosen)
    evidence = [f"probed: {', '.join(names[:5])}{f' and {len(names) - 5} more' if len(names) > 5 else ''}"]
    if stands:
        evidence.append(f"{stands} more node{'' if stands == 1 else 's'}{group} look alike and were not probed")
    evidence += [f"doubt: {first.v4.doubt}"] if first.v4.doubt else []
    subject = Subject("Node", names[0]) if len(names) == 1 else Subject("NodeGroup", likes.group or likes.owner.value)
    missing = first.own.missing if isinstance(first.own, Unknown) else ""
    return Finding(
        codes.MEASURED,
        severity,
        status,
        subject,
        f"a pod on a network of its own: {first.v4.reach.value}; {first.v4.why}",
        tuple(evidence),
        _REMEDIES.get(first.v4.cause, ()) if status is not Status.UNKNOWN else (_AGAIN,),
        (missing or "what a pod there measures") if status is Status.UNKNOWN else "",
    )


_AGAIN = Remedy("Mend what kept the pod from running, or probe another node of that kind (node/NAME), and probe again.")
_REMEDIES: Mapping[Cause, tuple[Remedy, ...]] = {
    Cause.HOP_LIMIT: (
        Remedy("Give what calls AWS a role of its own (EKS Pod Identity or IRSA).", when=When.TOMORROW),
        Remedy("Or raise HttpPutResponseHopLimit to 2: of the instances tonight, and of what makes them."),
    ),
    Cause.BLOCKED: (
        Remedy(
            "Look at the network policies of that namespace, and at what sets rules on nodes.",
            "kubectl get networkpolicies -A",
        ),
    ),
    Cause.DISABLED: (Remedy("Enable HttpEndpoint: kubelets and CSI drivers of the node may need it, too."),),
    Cause.IN_BETWEEN: (Remedy("Find who answers for 169.254.169.254 there: kube2iam, kiam, a service mesh."),),
    Cause.NODE: (Remedy("Look for a rule on the node that drops what goes to 169.254.169.254."),),
}


def _unprobed(plan: ProbePlan) -> Iterator[Finding]:
    for each in plan.likes:
        if each.chosen or each.why_not in NOTHING_TO_ASK:
            continue
        yield Finding(
            codes.MEASURED,
            Severity.LOW,
            Status.UNKNOWN,
            Subject("Node", each.nodes[0]) if len(each.nodes) == 1 else Subject("NodeGroup", each.group or "none"),
            f"{len(each.nodes)} node{'' if len(each.nodes) == 1 else 's'} cannot be probed: {each.why_not}",
            missing="what a pod there measures",
        )


def _left(plan: ProbePlan, probed: Probed) -> Finding:
    namespace = plan.manner.namespace
    if probed.not_removed:
        message = f"ConfigMap {probed.owner} and its pods could not be removed: {probed.not_removed}"
        command = f"kubectl delete configmap {probed.owner} -n {namespace}"
    else:
        message = f"{len(probed.left)} pods have not gone yet, though what owns them is deleted"
        command = f"kubectl delete pods -n {namespace} {' '.join(probed.left)}"
    return Finding(
        codes.LEFT,
        Severity.LOW,
        Status.FAIL,
        Subject("ConfigMap", probed.owner, namespace),
        message,
        probed.left,
        (Remedy("Remove them.", command),),
    )
