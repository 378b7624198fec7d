"""kubectl drain's filters as verdicts: pods that it skips stay, pods that it refuses block, with kubectl's flags
named."""

from __future__ import annotations

from datetime import timedelta

from kubectl_eksdoc.kubernetes import drain_filters
from kubectl_eksdoc.kubernetes.drain_filters import (
    DaemonSetPresence,
    DrainFilter,
    DrainFilterInput,
    DrainFilterOutcome,
    FilterOptions,
)
from kubectl_eksdoc.model import connection, kinds
from kubectl_eksdoc.model.connection import kubectl, saved
from kubectl_eksdoc.model.findings import Code, Finding, Remedy, Severity, Subject, clause
from kubectl_eksdoc.model.nodes import ControllerOwner, Pod, VolumeKind
from kubectl_eksdoc.model.workloads import Workload

from .nodes import DrainContext
from .outcome import PodVerdict
from .policy import DrainPolicy
from .rule_results import RuleResult, cannot_tell, stays, where

STUCK_AFTER = timedelta(seconds=60)
"""A pod is stuck this long after its deletion deadline, as in Karpenter (terminator: IsStuckTerminating)."""

_KUBECTLS_GROUPS = ("apps", "extensions")
"""API groups in which kubectl looks for the DaemonSet of a pod whose owner has that kind, in any group."""


def options_of(policy: DrainPolicy) -> FilterOptions:
    return FilterOptions(
        ignore_daemonsets=policy.ignore_daemonsets,
        delete_emptydir_data=policy.delete_emptydir_data,
        force=policy.force,
        skip_deleting_after=policy.skip_deleting_after,
        pod_selector=policy.pod_selector,
    )


def ask(survey: DrainContext, pod: Pod, options: FilterOptions) -> list[RuleResult]:
    """All results of kubectl's filters for `pod`; STAY when the filters, or the end of its namespace, leave it in
    place."""
    decision = drain_filters.decide(pod, DrainFilterInput(options, survey.now, _daemon_set(survey, pod)))
    decisive = decision.decisive
    if decisive is not None and decisive.outcome is DrainFilterOutcome.SKIP:
        code = Code.of("pod-daemonset") if decisive.filter is DrainFilter.DAEMON_SET else None
        return [stays(clause(f"/stays-{decisive.filter.value}"), code)]
    if pod.deleting:
        return [_leaving(survey, pod), *_with_its_namespace(survey, pod)]
    if pod.namespace in survey.terminating:
        reason = clause("namespace-terminating/stays", namespace=pod.namespace)
        return [stays(reason, Code.of("namespace-terminating"), s.finding) for s in _with_its_namespace(survey, pod)]
    if decisive is not None and decisive.filter is DrainFilter.DAEMON_SET:
        return [_daemonset(survey, pod, decisive)]
    return [_ours(survey, pod, said) for said in decision.said]


def _with_its_namespace(survey: DrainContext, pod: Pod) -> list[RuleResult]:
    """The remark on a namespace that is being deleted, [] for any other."""
    if pod.namespace not in survey.terminating:
        return []
    look = kubectl("get", "namespace", pod.namespace, "", "-o", "yaml")
    subject = Subject("Namespace", pod.namespace)
    return [RuleResult.of(Finding.of("namespace-terminating", subject, (where(pod),), command=look))]


def _daemon_set(survey: DrainContext, pod: Pod) -> DaemonSetPresence:
    if survey.workload_of(pod) is not None:
        return DaemonSetPresence.EXISTS
    return DaemonSetPresence.UNKNOWN if survey.cluster.unread(kinds.DAEMON_SETS) else DaemonSetPresence.MISSING


def _leaving(survey: DrainContext, pod: Pod) -> RuleResult:
    deadline = pod.deletion_deadline
    if deadline is None or survey.now <= deadline + STUCK_AFTER:
        return stays(clause("/stays-leaving"))
    return RuleResult.of(
        Finding.of(
            "pod-stuck-terminating",
            survey.owner_subject(pod),
            (where(pod),),
            deadline=deadline,
            held=", ".join(pod.finalizers),
            command=kubectl("get", "pod", pod.name, pod.namespace, "-o", "yaml"),
        )
    )


def _daemonset(survey: DrainContext, pod: Pod, said: drain_filters.FilterResult) -> RuleResult:
    owner = survey.owner_subject(pod)
    if pod.owner is not None and pod.owner.group not in _KUBECTLS_GROUPS:
        return RuleResult.of(Finding.of("pod-returns/daemonset", owner, (where(pod),), group=pod.owner.group))
    if said.outcome is DrainFilterOutcome.UNKNOWN:
        unread = survey.cluster.unread(kinds.DAEMON_SETS)
        return cannot_tell(
            "pod-daemonset-missing",
            unread,
            where(pod),
            PodVerdict.UNKNOWN,
            Severity.HIGH,
            of=survey.cluster.source,
        )
    if _daemon_set(survey, pod) is DaemonSetPresence.EXISTS:
        return RuleResult.of(Finding.of("pod-daemonset", owner, (where(pod),)))
    return RuleResult.of(
        Finding.of(
            "pod-daemonset-missing/allowed"
            if said.outcome is DrainFilterOutcome.DELETE
            else "pod-daemonset-missing/blocks",
            owner,
            (where(pod),),
            said=said.message,
        )
    )


def _ours(survey: DrainContext, pod: Pod, said: drain_filters.FilterResult) -> RuleResult:
    allowed, subject, evidence = said.outcome is DrainFilterOutcome.DELETE, survey.owner_subject(pod), (where(pod),)
    if said.filter is DrainFilter.LOCAL_STORAGE:
        finding = Finding.of(
            "pod-emptydir/allowed" if allowed else "pod-emptydir/blocks", subject, evidence, volumes=_empty_dirs(pod)
        )
    else:
        save = saved("pod", pod.name, pod.namespace)
        finding = Finding.of(
            "pod-unmanaged/allowed" if allowed else "pod-unmanaged/blocks", subject, evidence, command=save
        )
    return RuleResult.of(finding)


def _empty_dirs(pod: Pod) -> str:
    return ", ".join(
        clause("pod-emptydir/volume", name=each.name, memory=each.detail == "Memory", limit=each.size_limit)
        for each in pod.volumes
        if each.kind is VolumeKind.EMPTY_DIR
    )


# Remedies that add replicas to a workload, or restart it, for the time of a drain: which controller decides, and how.


SCALED_BY_HAND = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController")


def more(survey: DrainContext, pod: Pod, wanted: int, why: str) -> Remedy | None:
    """Raise the number of `pod`'s replicas to `replicas`; `reason` ends the sentence. None where its owner has no
    number of replicas.

    The remedy is for what decides the number: the autoscaler, the controller of a ReplicaSet, else the workload itself.
    """
    owner = survey.top_owner(pod)
    if owner is None or (owner.group, owner.kind) in (("batch", "Job"), ("apps", "DaemonSet"), ("", "Node")):
        return None
    scaler = survey.autoscalers.get((pod.namespace, owner.kind, owner.name))
    if scaler is not None and scaler.minimum < wanted:
        spec = f'{{"spec": {{"minReplicas": {wanted}, "maxReplicas": {max(wanted, scaler.maximum)}}}}}'
        return Remedy.of(
            "raise-minimum",
            name=scaler.name,
            wanted=wanted,
            why=why,
            minimum=scaler.minimum,
            maximum=scaler.maximum,
            command=connection.patch("hpa", scaler.name, pod.namespace, spec),
        )
    top, unread = survey.workloads.get(owner.uid), bool(survey.cluster.unread(kinds.AUTOSCALERS))
    if top is None or top.kind not in SCALED_BY_HAND:
        return Remedy.of(
            "run-replicas",
            kind=owner.kind,
            name=owner.name,
            wanted=wanted,
            why=why,
            unread=unread,
            command=connection.kubectl("get", word_of(owner), owner.name, pod.namespace, "-o", "yaml"),
        )
    return Remedy.of(
        "scale-up",
        kind=top.kind,
        name=top.name,
        replicas=top.replicas,
        wanted=wanted,
        why=why,
        maker=f"{top.owner.kind} {top.owner.name}" if top.owner is not None else "",
        unread=unread,
        command=connection.kubectl("scale", top.kind.lower(), top.name, pod.namespace, f"--replicas={wanted}"),
    )


def restart(top: Workload) -> Remedy | None:
    """Move all its pods by a rollout restart; None where that is impossible, or makes all of them unavailable at
    once."""
    if top.kind != "Deployment" or top.paused or not (top.surges or top.rollout_unavailable < top.replicas):
        return None
    return Remedy.of(
        "restart-rollout",
        away=str(top.rollout_unavailable or ""),
        replicas=top.replicas,
        command=connection.shell("kubectl", "rollout", "restart", f"deployment/{top.name}", "-n", top.namespace),
    )


def word_of(owner: ControllerOwner) -> str:
    """The owner's kind as a kubectl argument: ``deployment``, ``rollout.argoproj.io``."""
    return connection.resource_word(owner.kind, owner.group)


# Single replicas that a rollout replaces (``--surge-singles``): the new pod is Ready before the old one stops.
#
# A rollout deletes pods and evicts none, so budgets do not limit it; this rollout makes no pod unavailable either.
# Source: pkg/controller/deployment/rolling.go, Kubernetes v1.36.


def single_of(survey: DrainContext, pod: Pod) -> Workload | None:
    """The workload whose only replica this is; None where it has more replicas, or is not known."""
    top, owner = survey.top_of(pod), survey.top_owner(pod)
    if top is None or owner is None or top.kind not in SCALED_BY_HAND:
        return None
    wanted = top.replicas if top.uid == owner.uid else survey.wanted_by.get(owner.uid, top.replicas)
    return top if wanted == 1 else None


def restarted(survey: DrainContext, pod: Pod) -> Workload | None:
    """The Deployment that is restarted instead of an eviction of `pod`; None where the pod is evicted."""
    if not survey.policy.surge_singles or pod.finished or pod.deletion_deadline is not None:
        return None
    top = single_of(survey, pod)
    return top if top is not None and not why_not(survey, pod, top) else None


def why_not(survey: DrainContext, pod: Pod, top: Workload) -> str:
    """Why no rollout of `workload` replaces its only pod without downtime, as a clause; "" if one does."""
    owner = survey.top_owner(pod)
    if top.kind == "StatefulSet":
        return clause("single-replica/stateful-set")
    if top.kind != "Deployment" or owner is None or owner.uid != top.uid:
        kind, name = (owner.kind, owner.name) if owner is not None else (top.kind, top.name)
        return clause("single-replica/no-deployment", kind=kind, name=name)
    if top.paused or not top.surges or top.rollout_unavailable:
        return clause("single-replica/rollout", paused=top.paused, surges=top.surges)
    if pod.uid in survey.no_second or not pod.ready:
        return clause("single-replica/second", room=pod.uid not in survey.no_second)
    return _held_by_a_volume(survey, pod)


def advice(survey: DrainContext, pod: Pod) -> Remedy | None:
    """Advise ``--surge-singles``; None where it is set already, or has no effect."""
    top = single_of(survey, pod)
    if top is None or survey.policy.surge_singles or why_not(survey, pod, top):
        return None
    return Remedy.of("surge-singles")


def _held_by_a_volume(survey: DrainContext, pod: Pod) -> str:
    """A volume that only one node at a time may use: the new pod would wait until the old one is gone."""
    for volume in pod.volumes:
        if volume.kind is VolumeKind.AWS_EBS:
            return clause("single-replica/ebs", volume=volume.detail)
        if volume.kind is VolumeKind.CLAIM:
            claim = survey.claims.get(f"{pod.namespace}/{volume.detail}")
            if claim is None or not claim.shared:
                unread = claim is None and bool(survey.cluster.unread(kinds.CLAIMS))
                return clause("single-replica/claim", claim=volume.detail, unread=unread)
    return ""
