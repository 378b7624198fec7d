"""What hurts, and what may cause it: the likeliest first, with what to do and the way back.

The order: what is seen to fail now, then the worst, then as the table of the symptom has it; what only may be is last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from kubectl_eksdoc.core.model import addon_codes, codes, dns_codes, interruption_codes, metadata_codes
from kubectl_eksdoc.core.model.check_codes import extensions as extension_codes
from kubectl_eksdoc.core.model.check_codes import nodes as node_codes
from kubectl_eksdoc.core.model.check_codes import parts
from kubectl_eksdoc.core.model.check_codes import programs as program_codes
from kubectl_eksdoc.core.model.check_codes import workloads as workload_codes
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.codes import Code
from kubectl_eksdoc.core.model.commands import Reach, shell
from kubectl_eksdoc.core.model.findings import Finding, Remedy, Severity, Status, Subject
from kubectl_eksdoc.core.model.nodes import EXCLUDED_FROM_BALANCERS
from kubectl_eksdoc.core.plan.check.leading import led
from kubectl_eksdoc.core.plan.check.undoing import UNDO, way_back


class Symptom(str, Enum):
    """As it is named on the command line."""

    DNS = "dns"
    TARGETS = "targets"
    CREDENTIALS = "credentials"
    DRAIN_STUCK = "drain-stuck"


@dataclass(frozen=True, slots=True)
class Cause:
    """`what` ends the sentence "Most likely: …". `now`: the finding itself is seen to hurt, not to be able to. `about`:
    names of subjects, none for any. `warned`: it counts even where it stops no upgrade (PASS)."""

    code: Code
    what: str
    now: bool = False
    about: tuple[str, ...] = ()
    warned: bool = False


@dataclass(frozen=True, slots=True)
class Suspect:
    """`do` is None where nothing is proposed; `undo` is the way back of it. `now` as of its `Cause`."""

    what: str
    code: str
    severity: Severity
    status: Status
    subject: Subject
    because: str
    evidence: tuple[str, ...]
    do: Remedy | None
    undo: str
    now: bool = True


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`suspects`: the likeliest first, none where nothing was found; `unknown`: what could not be looked at;
    `elsewhere`: where to look next, each a sentence with its command."""

    symptom: Symptom
    suspects: tuple[Suspect, ...]
    unknown: tuple[Finding, ...]
    elsewhere: tuple[Remedy, ...]


_WRITTEN = (addon_codes.NOT_ACTIVE, addon_codes.OTHER_WRITER)
"""Of add-ons, what hurts now: what their next update would change does not."""
_DNS_ADDONS = ("coredns", "vpc-cni", "kube-proxy", "aws-node")
_TARGET_ADDONS = ("vpc-cni", "aws-node", "aws-load-balancer-controller")
_BALANCER = ("aws-load-balancer-controller",)
_HOOKS = ("aws-load-balancer-webhook",)
_IDENTITY = ("eks-pod-identity-agent",)


def _each(of: Sequence[Code], what: str, about: tuple[str, ...] = (), now: bool = False) -> tuple[Cause, ...]:
    return tuple(Cause(code, what, now, about) for code in of)


_NO_NOTICE = (
    interruption_codes.OUTAGE,
    interruption_codes.KARPENTER,
    interruption_codes.SETTING,
    interruption_codes.QUEUE,
    interruption_codes.POLICY,
    interruption_codes.KEY,
    interruption_codes.RULE,
    interruption_codes.FAILING,
    interruption_codes.RIGHTS,
    interruption_codes.LOG,
    interruption_codes.HANDLER,
)

CAUSES: dict[Symptom, tuple[Cause, ...]] = {
    Symptom.DNS: (
        Cause(dns_codes.FAILING, "CoreDNS fails", True),
        Cause(dns_codes.NOT_SERVING, "CoreDNS runs, but is not asked", True),
        Cause(dns_codes.COREFILE_REFUSED, "CoreDNS does not take its Corefile", True),
        Cause(interruption_codes.NOTICE_NOW, "a Spot node is being taken back", True),
        Cause(dns_codes.WITHOUT, "names are looked up elsewhere"),
        Cause(dns_codes.NO_READY, "CoreDNS is never Ready"),
        Cause(dns_codes.NOTICES, "CoreDNS dies with its Spot node, without a word"),
        Cause(dns_codes.ON_SPOT, "CoreDNS is on Spot nodes"),
        Cause(dns_codes.LAMEDUCK_SHORT, "CoreDNS stops answering too early when it is replaced"),
        Cause(dns_codes.LAMEDUCK_LONG, "CoreDNS is killed while it answers"),
        Cause(dns_codes.TOGETHER, "all of CoreDNS is in one place"),
        Cause(dns_codes.TOO_FEW, "there is too little CoreDNS"),
        Cause(dns_codes.NO_BUDGET, "all of CoreDNS may be evicted at once"),
        Cause(dns_codes.TWO_SCALERS, "two autoscalers fight over CoreDNS"),
        Cause(program_codes.ADDON_HEALTH, "an add-on that DNS needs is not well", True, _DNS_ADDONS),
        *_each(_WRITTEN, "an add-on that DNS needs is not as it was installed", _DNS_ADDONS),
        Cause(workload_codes.BOUNCING, "what DNS needs is not Ready", True, _DNS_ADDONS),
        Cause(node_codes.KUBE_PROXY_SKEW, "kube-proxy does not fit: it leads to CoreDNS"),
        *_each(_NO_NOTICE, "nodes of CoreDNS go without a word"),
        *_each(dns_codes.ALL, "CoreDNS is not as it should be"),
        *_each((parts.DNS, parts.INTERRUPTION, parts.ADDONS), "what DNS needs"),
    ),
    Symptom.TARGETS: (
        Cause(codes.NO_READINESS_GATE, "pods count as Ready before the load balancer sends to them", warned=True),
        Cause(codes.ONLY_BACKEND, "the controller that registers targets has a single pod", False, _BALANCER),
        Cause(metadata_codes.PODS_BROKEN, "the load balancer controller has no credentials", True, _BALANCER),
        Cause(metadata_codes.PODS_WILL_BREAK, "the load balancer controller loses its credentials", False, _BALANCER),
        Cause(
            program_codes.ADDON_HEALTH, "the add-on that gives pods their addresses is not well", True, _TARGET_ADDONS
        ),
        Cause(addon_codes.PODS_ASTRAY, "pods have the security groups of their node", True),
        *_each(_WRITTEN, "vpc-cni is not as it was installed", _TARGET_ADDONS),
        Cause(workload_codes.BOUNCING, "the load balancer controller is not Ready", True, _BALANCER),
        Cause(extension_codes.WEBHOOK_DOWN, "the webhook of the load balancer controller has no backend", True, _HOOKS),
        Cause(program_codes.PROGRAM_BEFORE, "the load balancer controller does not fit", False, _BALANCER),
        *_each((parts.DRAIN, parts.IMDS, parts.ADDONS), "what targets need"),
    ),
    Symptom.CREDENTIALS: (
        Cause(metadata_codes.PODS_BROKEN, "pods do not reach the instance metadata service", True),
        Cause(metadata_codes.PODS_WILL_BREAK, "pods lose the instance metadata service at their next start"),
        Cause(metadata_codes.NEXT_DIFFERS, "new nodes answer pods otherwise than old ones"),
        Cause(program_codes.ADDON_HEALTH, "the agent of EKS Pod Identity is not well", True, _IDENTITY),
        *_each(metadata_codes.ALL, "pods may not get the credentials of their node"),
        *_each((parts.IMDS,), "what credentials need"),
    ),
    Symptom.DRAIN_STUCK: (
        Cause(codes.POD_STUCK, "a pod that was told to stop does not", True),
        Cause(codes.BUDGET_SYNC_FAILED, "a budget is not computed: it lets nobody go", True),
        Cause(codes.SEVERAL_BUDGETS, "a pod is under two budgets: the API refuses each eviction", True),
        Cause(codes.BUDGET_NEVER, "a budget lets nobody go, ever", True),
        Cause(codes.BUDGET_UNHEALTHY, "a budget lets nobody go while its pods are not Ready", True),
        Cause(codes.BUDGET_EXHAUSTED, "a budget lets nobody go now", True),
        Cause(codes.BUDGET_STALE, "the status of a budget is behind"),
        Cause(codes.BUDGET_DISAGREES, "the status of a budget does not match its pods"),
        Cause(extension_codes.WEBHOOK_DOWN, "a webhook refuses what nobody answers for: no pod takes the place", True),
        Cause(extension_codes.API_DOWN, "a group of the API does not answer: what is deleted stays", True),
        Cause(workload_codes.BOUNCING, "pods are not Ready: their budgets let nobody go", True),
        Cause(codes.NODE_FOREIGN_DRAIN, "somebody else drains a node"),
        Cause(codes.POD_PENDING, "pods wait for a node already", True),
        Cause(codes.NO_PLACE, "a pod that goes finds no other node"),
        Cause(codes.NEEDS_NODES, "pods that go wait for new nodes"),
        Cause(codes.POD_RETURNS, "a pod comes back to the node that it left"),
        Cause(codes.ONLY_BACKEND, "a webhook or controller that new pods need has a single pod"),
        Cause(codes.NODE_NOT_READY, "a node is not Ready: its kubelet ends no pod", True),
        Cause(codes.NAMESPACE_TERMINATING, "a namespace is being deleted", True),
        Cause(codes.NODE_SLOW, "pods of a node take longer than its group waits"),
        Cause(codes.POD_PROTECTED, "an owner asked not to be disrupted"),
        Cause(codes.PAST_BUDGET, "a pod goes only past its budget"),
        Cause(codes.POD_UNMANAGED, "a pod without a controller is not evicted without --force"),
        Cause(codes.POD_EMPTYDIR, "a pod with emptyDir is not evicted without --delete-emptydir-data"),
        Cause(codes.JOB_LOSES_WORK, "a Job is at work"),
        *_each((parts.DRAIN,), "what a drain needs"),
    ),
}
"""The first that fits a finding tells what it means."""

_ELSEWHERE: dict[Symptom, tuple[Remedy, ...]] = {
    Symptom.DNS: (
        Remedy("See what the last update of vpc-cni took.", "kubectl eksdoc addon-diff vpc-cni --after"),
        Remedy("Measure it from pods of the cluster, in each zone.", "kubectl eksdoc coredns-lameduck --measure"),
        Remedy("See what CoreDNS says.", "kubectl logs -n kube-system -l k8s-app=kube-dns --tail=50"),
        Remedy("Look at network policies, security groups (port 53, UDP and TCP) and the limit of the VPC resolver."),
    ),
    Symptom.TARGETS: (
        Remedy("See what the last update of vpc-cni took.", "kubectl eksdoc addon-diff vpc-cni --after"),
        Remedy("See what the targets are told to be.", "kubectl get targetgroupbindings -A -o wide"),
        Remedy(
            "See what the controller says.",
            "kubectl logs -n kube-system -l app.kubernetes.io/name=aws-load-balancer-controller --tail=50",
        ),
        Remedy("Look at the health check's path and port, and at security groups between load balancer and nodes."),
    ),
    Symptom.CREDENTIALS: (
        Remedy("Ask it from a pod on a node.", "kubectl eksdoc imds-probe --active"),
        Remedy("Look at the trust policy of the role, and at the service account that the pod has."),
        Remedy("See what the API server says of tokens and webhooks.", "kubectl get mutatingwebhookconfigurations"),
    ),
    Symptom.DRAIN_STUCK: (
        Remedy("See which pods are left, and why.", "kubectl eksdoc drain plan -o wide"),
        Remedy("See what evictions were answered.", "kubectl get events -A --field-selector type=Warning"),
        Remedy("Look at who drains: a node group's update, Karpenter, kured or a person."),
    ),
}


def codes_of(symptom: Symptom) -> tuple[str, ...]:
    """All that may cause it; what none of them needs is not read."""
    return tuple(dict.fromkeys(cause.code.name for cause in CAUSES[symptom]))


def diagnosed(symptom: Symptom, found: Sequence[Finding], cluster: Cluster, reach: Reach = Reach()) -> Diagnosis:
    """Of findings, worst first."""
    suspects: list[tuple[tuple[int, int, int, int], Suspect]] = []
    for each in found:
        place = next((at for at, cause in enumerate(CAUSES[symptom]) if _is(cause, each)), None)
        if place is None or each.severity is Severity.INFO:
            continue
        cause = CAUSES[symptom][place]
        if each.status is Status.FAIL or (each.status is Status.PASS and cause.warned):
            rank = int(not cause.now), _SEVERITIES.index(each.severity), place, len(suspects)
            suspects.append((rank, _suspect(cause, each, cluster, reach)))
    for number, sign in enumerate(_signs(symptom, cluster, reach)):
        suspects.append(((0, _SEVERITIES.index(sign.severity), -1, number), sign))
    unknown = tuple(each for each in found if each.status is Status.UNKNOWN and concerns(symptom, each))
    elsewhere = tuple(Remedy(each.text, led(each.command, reach)) for each in _ELSEWHERE[symptom])
    ordered = tuple(each for _, each in sorted(suspects, key=lambda pair: pair[0]))
    return Diagnosis(symptom, ordered, unknown, elsewhere)


_SEVERITIES = tuple(Severity)


def _is(cause: Cause, finding: Finding) -> bool:
    return cause.code.name == finding.code.name and (not cause.about or finding.subject.name in cause.about)


def concerns(symptom: Symptom, finding: Finding) -> bool:
    """Whether it may be a cause; of what is not known also the whole: "which add-ons there are" is about none of
    them."""
    return any(
        cause.code.name == finding.code.name and (_is(cause, finding) or finding.subject.kind == "Cluster")
        for cause in CAUSES[symptom]
    )


def _suspect(cause: Cause, found: Finding, cluster: Cluster, reach: Reach) -> Suspect:
    """The first remedy that has a command, or the first."""
    remedy = next((each for each in found.remedy if each.command), next(iter(found.remedy), None))
    undo = _reached(way_back("" if remedy is None else remedy.command, cluster), reach)
    told = found.code.name, found.severity, found.status, found.subject, found.message, found.evidence
    return Suspect(cause.what, *told, remedy, undo, cause.now)


def _reached(undo: str, reach: Reach) -> str:
    """With a command that leads to the cluster that was read."""
    return f"{UNDO}{reach.of(undo.removeprefix(UNDO))}" if undo.startswith(UNDO) else undo


def _signs(symptom: Symptom, cluster: Cluster, reach: Reach) -> Iterator[Suspect]:
    """What the cluster itself shows, besides findings: nodes that load balancers were told to leave out."""
    out = [node for node in cluster.nodes if EXCLUDED_FROM_BALANCERS in node.labels]
    if symptom is not Symptom.TARGETS or not out:
        return
    names = [node.name for node in out]
    command = reach.of(shell("kubectl", "label", "node", *names[:20], f"{EXCLUDED_FROM_BALANCERS}-"))
    value = out[0].labels[EXCLUDED_FROM_BALANCERS]
    back = reach.of(shell("kubectl", "label", "node", *names[:20], f"{EXCLUDED_FROM_BALANCERS}={value}"))
    yield Suspect(
        "load balancers were told to leave nodes out",
        "node-excluded",
        Severity.HIGH if len(out) * 2 >= len(cluster.nodes) else Severity.MEDIUM,
        Status.FAIL,
        Subject("Node", ", ".join(names[:5])),
        f"{len(out)} of {len(cluster.nodes)} nodes have the label {EXCLUDED_FROM_BALANCERS}: drains and updates of node"
        " groups set it",
        (),
        Remedy("Take it away from those that are not being drained.", command),
        f"{UNDO}{back}",
    )
