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
from kubectl_eksdoc.model.connection import kubectl, save_command
from kubectl_eksdoc.model.findings import Code, Finding, Remedy, Severity, Subject, clause
from kubectl_eksdoc.model.nodes import ControllerOwner, Pod, VolumeKind
from kubectl_eksdoc.model.workloads import Workload

from .nodes import DrainContext
from .outcome import PodVerdict
from .policy import DrainPolicy
from .rule_results import RuleResult, evidence_line, stays_result, unknown_result

STUCK_AFTER_DEADLINE = timedelta(seconds=60)
"""A pod is stuck this long after its deletion deadline, as in Karpenter (terminator: IsStuckTerminating)."""

_KUBECTL_GROUPS = ("apps", "extensions")
"""API groups in which kubectl looks for the DaemonSet of a pod whose owner has that kind, in any group."""


def filter_options(policy: DrainPolicy) -> FilterOptions:
    return FilterOptions(
        ignore_daemonsets=policy.ignore_daemonsets,
        delete_emptydir_data=policy.delete_emptydir_data,
        force=policy.force,
        skip_deleting_after=policy.skip_deleting_after,
        pod_selector=policy.pod_selector,
    )


def apply_filters(context: DrainContext, pod: Pod, options: FilterOptions) -> list[RuleResult]:
    """All results of kubectl's filters for `pod`; STAY when the filters, or the end of its namespace, leave it in
    place."""
    decision = drain_filters.run_filters(
        pod, DrainFilterInput(options, context.now, _daemon_set_presence(context, pod))
    )
    decisive = decision.decisive
    if decisive is not None and decisive.outcome is DrainFilterOutcome.SKIP:
        code = Code.of("pod-daemonset") if decisive.filter is DrainFilter.DAEMON_SET else None
        return [stays_result(clause(f"/stays-{decisive.filter.value}"), code)]
    if pod.deleting:
        return [_terminating_result(context, pod), *_namespace_results(context, pod)]
    if pod.namespace in context.terminating_namespaces:
        reason = clause("namespace-terminating/stays", namespace=pod.namespace)
        return [
            stays_result(reason, Code.of("namespace-terminating"), result.finding)
            for result in _namespace_results(context, pod)
        ]
    if decisive is not None and decisive.filter is DrainFilter.DAEMON_SET:
        return [_daemon_set_result(context, pod, decisive)]
    return [_filter_result(context, pod, filter_result) for filter_result in decision.results]


def _namespace_results(context: DrainContext, pod: Pod) -> list[RuleResult]:
    """The remark on a namespace that is being deleted, [] for any other."""
    if pod.namespace not in context.terminating_namespaces:
        return []
    show_command = kubectl("get", "namespace", pod.namespace, "", "-o", "yaml")
    subject = Subject("Namespace", pod.namespace)
    return [RuleResult.of(Finding.of("namespace-terminating", subject, (evidence_line(pod),), command=show_command))]


def _daemon_set_presence(context: DrainContext, pod: Pod) -> DaemonSetPresence:
    if context.direct_workload(pod) is not None:
        return DaemonSetPresence.EXISTS
    return DaemonSetPresence.UNKNOWN if context.cluster.not_read(kinds.DAEMON_SETS) else DaemonSetPresence.MISSING


def _terminating_result(context: DrainContext, pod: Pod) -> RuleResult:
    deadline = pod.deletion_deadline
    if deadline is None or context.now <= deadline + STUCK_AFTER_DEADLINE:
        return stays_result(clause("/stays-leaving"))
    return RuleResult.of(
        Finding.of(
            "pod-stuck-terminating",
            context.owner_subject(pod),
            (evidence_line(pod),),
            deadline=deadline,
            held=", ".join(pod.finalizers),
            command=kubectl("get", "pod", pod.name, pod.namespace, "-o", "yaml"),
        )
    )


def _daemon_set_result(context: DrainContext, pod: Pod, filter_result: drain_filters.FilterResult) -> RuleResult:
    owner = context.owner_subject(pod)
    if pod.owner is not None and pod.owner.group not in _KUBECTL_GROUPS:
        return RuleResult.of(Finding.of("pod-returns/daemonset", owner, (evidence_line(pod),), group=pod.owner.group))
    if filter_result.outcome is DrainFilterOutcome.UNKNOWN:
        not_read = context.cluster.not_read(kinds.DAEMON_SETS)
        return unknown_result(
            "pod-daemonset-missing",
            not_read,
            evidence_line(pod),
            PodVerdict.UNKNOWN,
            Severity.HIGH,
            source=context.cluster.source,
        )
    if _daemon_set_presence(context, pod) is DaemonSetPresence.EXISTS:
        return RuleResult.of(Finding.of("pod-daemonset", owner, (evidence_line(pod),)))
    return RuleResult.of(
        Finding.of(
            "pod-daemonset-missing/allowed"
            if filter_result.outcome is DrainFilterOutcome.DELETE
            else "pod-daemonset-missing/blocks",
            owner,
            (evidence_line(pod),),
            said=filter_result.message,
        )
    )


def _filter_result(context: DrainContext, pod: Pod, filter_result: drain_filters.FilterResult) -> RuleResult:
    is_allowed, subject, evidence = (
        filter_result.outcome is DrainFilterOutcome.DELETE,
        context.owner_subject(pod),
        (evidence_line(pod),),
    )
    if filter_result.filter is DrainFilter.LOCAL_STORAGE:
        finding = Finding.of(
            "pod-emptydir/allowed" if is_allowed else "pod-emptydir/blocks",
            subject,
            evidence,
            volumes=_empty_dirs_text(pod),
        )
    else:
        backup_command = save_command("pod", pod.name, pod.namespace)
        finding = Finding.of(
            "pod-unmanaged/allowed" if is_allowed else "pod-unmanaged/blocks", subject, evidence, command=backup_command
        )
    return RuleResult.of(finding)


def _empty_dirs_text(pod: Pod) -> str:
    return ", ".join(
        clause("pod-emptydir/volume", name=each.name, memory=each.detail == "Memory", limit=each.size_limit)
        for each in pod.volumes
        if each.kind is VolumeKind.EMPTY_DIR
    )


# Remedies that add replicas to a workload, or restart it, for the time of a drain: which controller decides, and how.


SCALABLE_KINDS = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController")


def scale_remedy(context: DrainContext, pod: Pod, replicas: int, reason: str) -> Remedy | None:
    """Raise the number of `pod`'s replicas to `replicas`; `reason` ends the sentence. None where its owner has no
    number of replicas.

    The remedy is for what decides the number: the autoscaler, the controller of a ReplicaSet, else the workload itself.
    """
    owner = context.top_owner(pod)
    if owner is None or (owner.group, owner.kind) in (("batch", "Job"), ("apps", "DaemonSet"), ("", "Node")):
        return None
    autoscaler = context.autoscalers.get((pod.namespace, owner.kind, owner.name))
    if autoscaler is not None and autoscaler.minimum < replicas:
        spec = f'{{"spec": {{"minReplicas": {replicas}, "maxReplicas": {max(replicas, autoscaler.maximum)}}}}}'
        return Remedy.of(
            "raise-minimum",
            name=autoscaler.name,
            wanted=replicas,
            why=reason,
            minimum=autoscaler.minimum,
            maximum=autoscaler.maximum,
            command=connection.patch("hpa", autoscaler.name, pod.namespace, spec),
        )
    workload, autoscalers_not_read = context.workloads.get(owner.uid), bool(context.cluster.not_read(kinds.AUTOSCALERS))
    if workload is None or workload.kind not in SCALABLE_KINDS:
        return Remedy.of(
            "run-replicas",
            kind=owner.kind,
            name=owner.name,
            wanted=replicas,
            why=reason,
            unread=autoscalers_not_read,
            command=connection.kubectl("get", resource_name(owner), owner.name, pod.namespace, "-o", "yaml"),
        )
    return Remedy.of(
        "scale-up",
        kind=workload.kind,
        name=workload.name,
        replicas=workload.replicas,
        wanted=replicas,
        why=reason,
        maker=f"{workload.owner.kind} {workload.owner.name}" if workload.owner is not None else "",
        unread=autoscalers_not_read,
        command=connection.kubectl(
            "scale", workload.kind.lower(), workload.name, pod.namespace, f"--replicas={replicas}"
        ),
    )


def restart_remedy(workload: Workload) -> Remedy | None:
    """Move all its pods by a rollout restart; None where that is impossible, or makes all of them unavailable at
    once."""
    if (
        workload.kind != "Deployment"
        or workload.paused
        or not (workload.surges or workload.rollout_unavailable < workload.replicas)
    ):
        return None
    return Remedy.of(
        "restart-rollout",
        away=str(workload.rollout_unavailable or ""),
        replicas=workload.replicas,
        command=connection.shell(
            "kubectl", "rollout", "restart", f"deployment/{workload.name}", "-n", workload.namespace
        ),
    )


def resource_name(owner: ControllerOwner) -> str:
    """The owner's kind as a kubectl argument: ``deployment``, ``rollout.argoproj.io``."""
    return connection.resource_word(owner.kind, owner.group)


# Single replicas that a rollout replaces (``--surge-singles``): the new pod is Ready before the old one stops.
#
# A rollout deletes pods and evicts none, so budgets do not limit it; this rollout makes no pod unavailable either.
# Source: pkg/controller/deployment/rolling.go, Kubernetes v1.36.


def single_replica_workload(context: DrainContext, pod: Pod) -> Workload | None:
    """The workload whose only replica this is; None where it has more replicas, or is not known."""
    workload, owner = context.top_workload(pod), context.top_owner(pod)
    if workload is None or owner is None or workload.kind not in SCALABLE_KINDS:
        return None
    replicas = (
        workload.replicas if workload.uid == owner.uid else context.desired_replicas.get(owner.uid, workload.replicas)
    )
    return workload if replicas == 1 else None


def restarted_workload(context: DrainContext, pod: Pod) -> Workload | None:
    """The Deployment that is restarted instead of an eviction of `pod`; None where the pod is evicted."""
    if not context.policy.surge_singles or pod.finished or pod.deletion_deadline is not None:
        return None
    workload = single_replica_workload(context, pod)
    return workload if workload is not None and not surge_obstacle(context, pod, workload) else None


def surge_obstacle(context: DrainContext, pod: Pod, workload: Workload) -> str:
    """Why no rollout of `workload` replaces its only pod without downtime, as a clause; "" if one does."""
    owner = context.top_owner(pod)
    if workload.kind == "StatefulSet":
        return clause("single-replica/stateful-set")
    if workload.kind != "Deployment" or owner is None or owner.uid != workload.uid:
        kind, name = (owner.kind, owner.name) if owner is not None else (workload.kind, workload.name)
        return clause("single-replica/no-deployment", kind=kind, name=name)
    if workload.paused or not workload.surges or workload.rollout_unavailable:
        return clause("single-replica/rollout", paused=workload.paused, surges=workload.surges)
    if pod.uid in context.without_surge_room or not pod.ready:
        return clause("single-replica/second", room=pod.uid not in context.without_surge_room)
    return _volume_obstacle(context, pod)


def surge_remedy(context: DrainContext, pod: Pod) -> Remedy | None:
    """Advise ``--surge-singles``; None where it is set already, or has no effect."""
    workload = single_replica_workload(context, pod)
    if workload is None or context.policy.surge_singles or surge_obstacle(context, pod, workload):
        return None
    return Remedy.of("surge-singles")


def _volume_obstacle(context: DrainContext, pod: Pod) -> str:
    """A volume that only one node at a time may use: the new pod would wait until the old one is gone."""
    for volume in pod.volumes:
        if volume.kind is VolumeKind.AWS_EBS:
            return clause("single-replica/ebs", volume=volume.detail)
        if volume.kind is VolumeKind.CLAIM:
            claim = context.claims.get(f"{pod.namespace}/{volume.detail}")
            if claim is None or not claim.shared:
                claims_not_read = claim is None and bool(context.cluster.not_read(kinds.CLAIMS))
                return clause("single-replica/claim", claim=volume.detail, unread=claims_not_read)
    return ""
