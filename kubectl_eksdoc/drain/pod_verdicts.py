"""Rules about pods beyond those of kubectl drain: does the pod return, lose work or data, or take other pods down?

Each rule is a pure function of `DrainContext` and `Pod` to `RuleResult | None`. All rules are applied, and every result
is kept.
"""

from __future__ import annotations

from dataclasses import replace

from kubectl_eksdoc.kubernetes.replacement import Replacement, replacement, same_node_reason
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.connection import in_sequence, kubectl, shell
from kubectl_eksdoc.model.findings import ClauseName, Finding, Remedy, Severity, Subject, clause
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.nodes import ControllerOwner, Pod, VolumeKind
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.model.workloads import Job, Workload

from . import filter_verdicts as filters
from .nodes import DrainContext, LoadBalancedService, natural_key
from .policy import PLAIN_EVICTION, EvictionMethod, EvictionMode
from .rule_results import RuleResult, evidence_line, unknown_result

# Effect of an eviction on a Job: the pod's work is lost, and the Job may end as failed; with ``--wait-jobs`` pods may
# finish first.


def loses_work(context: DrainContext, pod: Pod) -> RuleResult | None:
    """A running Job's pod: wait for it, or lose its work and count a failure."""
    if pod.owner is None or pod.owner.kind != "Job" or pod.finished:
        return None
    result = _job_result(context, pod, pod.owner)
    if result is None or not context.policy.wait_jobs or result.eviction_mode is not PLAIN_EVICTION:
        return result
    return replace(result, eviction_mode=EvictionMode(waits_s=float(context.policy.wait_jobs)))


def _job_result(context: DrainContext, pod: Pod, owner: ControllerOwner) -> RuleResult | None:
    subject = Subject("Job", owner.name, pod.namespace)
    job = context.jobs.get(owner.uid)
    if job is None:
        not_read = context.cluster.not_read(kinds.JOBS)
        if not_read:
            return unknown_result(
                "job-loses-work",
                not_read,
                evidence_line(pod),
                source=context.cluster.source,
            )
        return _missing_job_result(context, pod, subject)
    wait_remedy = Remedy.of("wait-for-job", command=wait_for_job_command(job.name, job.namespace))
    wait_text, remedies = (
        _wait_text(context),
        (wait_remedy, *([] if context.policy.wait_jobs else [Remedy.of("drain-waits")])),
    )
    evidence = (evidence_line(pod),)
    if job.ignores_disruption:
        return RuleResult.of(Finding.of("job-loses-work/ignored", subject, evidence, remedy=remedies, first=wait_text))
    evicted_count = _evicted_pod_count(context, job)
    fatal_reason = _fatal_reason(job, evicted_count)
    if fatal_reason and context.policy.wait_jobs:
        seconds = context.policy.wait_jobs
        finding = Finding.of(
            "job-would-fail/waited",
            subject,
            evidence,
            why=fatal_reason,
            time=format_duration(seconds),
            command=wait_remedy.command,
        )
        # The pod may end by itself; the user has not asked for an eviction that fails its Job.
        return RuleResult.of(finding, EvictionMode(EvictionMethod.WAIT, float(seconds)))
    if fatal_reason:
        return RuleResult.of(Finding.of("job-would-fail/blocks", subject, evidence, remedy=remedies, why=fatal_reason))
    failures_text = _failures_text(job, evicted_count)
    return RuleResult.of(
        Finding.of("job-loses-work/counted", subject, evidence, remedy=remedies, counted=failures_text, first=wait_text)
    )


def _missing_job_result(context: DrainContext, pod: Pod, subject: Subject) -> RuleResult | None:
    """The Job object is gone, and its pods are garbage-collected; or, in a run, the Job is newer than the facts."""
    if not context.policy.wait_jobs:
        return None
    return RuleResult.of(Finding.of("job-loses-work/unread", subject, (evidence_line(pod),), first=_wait_text(context)))


def _wait_text(context: DrainContext) -> str:
    seconds = context.policy.wait_jobs
    return format_duration(seconds) if seconds else ""


def _evicted_pod_count(context: DrainContext, job: Job) -> int:
    """The Job's running pods on the nodes that are drained."""
    return sum(
        1
        for node, pods in context.pods_on.items()
        if node not in context.refused_nodes
        for pod in pods
        if pod.owner is not None and pod.owner.uid == job.uid and not pod.finished
    )


def _fatal_reason(job: Job, evicted_count: int) -> str:
    """Why the evictions end the Job as failed, or ""."""
    if job.fails_on_disruption:
        return clause("job-would-fail/policy")
    if job.backoff_limit_per_index == 0:
        return clause("job-would-fail/index")
    if job.failed + evicted_count > job.backoff_limit:
        return clause("job-would-fail/limit", used=_backoff_text(job, evicted_count))
    return ""


def _failures_text(job: Job, evicted_count: int) -> str:
    if job.backoff_limit_per_index is not None:
        return clause("job-loses-work/of-each-index", limit=job.backoff_limit_per_index)
    return _backoff_text(job, evicted_count)


def _backoff_text(job: Job, evicted_count: int) -> str:
    return clause("job-would-fail/used", failed=job.failed, limit=job.backoff_limit, evicted=evicted_count)


def wait_for_job_command(name: str, namespace: str) -> str:
    return shell("kubectl", "wait", "--for=condition=complete", f"job/{name}", "-n", namespace, "--timeout=30m")


READINESS_GATE_PREFIX = "target-health.elbv2.k8s.aws/"
"""Prefix of the condition types that the AWS Load Balancer Controller injects (its documentation, "pod readiness
gate")."""

MAX_LISTED_NODES = 12
"""Missing nodes that are named; the others are counted."""

_NODE_FILES = ("/proc", "/sys", "/dev", "/run", "/var/run", "/etc", "/usr", "/lib", "/boot")

_OWNER_RESOURCES: dict[tuple[str, str], tuple[Resource, ...]] = {
    ("apps", "Deployment"): (kinds.DEPLOYMENTS,),
    ("apps", "ReplicaSet"): (kinds.REPLICA_SETS, kinds.DEPLOYMENTS),
    ("apps", "StatefulSet"): (kinds.STATEFUL_SETS,),
    ("", "ReplicationController"): (kinds.REPLICATION_CONTROLLERS,),
}
"""The kinds to read for an owner; without the first of them nothing is known of it."""


def returns_to_its_node(context: DrainContext, pod: Pod) -> RuleResult | None:
    """Its replacement is bound to the same node, so the node is never empty."""
    if pod.owner is None or pod.owner.kind == "DaemonSet" or replacement(pod) is Replacement.NEVER:
        return None  # nothing replaces it, or kubectl's filter has judged it
    reason = same_node_reason(pod, context.direct_workload(pod))
    if reason:
        owner = context.top_owner(pod)
        assert owner is not None, "nothing replaces a bare pod"
        is_job = (owner.group, owner.kind) == ("batch", "Job")
        return RuleResult.of(
            Finding.of(
                "pod-returns/comes-back",
                context.owner_subject(pod),
                (evidence_line(pod),),
                reason=reason,
                job=is_job,
                command=wait_for_job_command(owner.name, pod.namespace)
                if is_job
                else kubectl("edit", filters.resource_name(owner), owner.name, pod.namespace),
            )
        )
    return _owner_not_read(context, pod, "pod-returns")


def has_one_replica(context: DrainContext, pod: Pod) -> RuleResult | None:
    """A single replica: unavailable until its replacement is Ready."""
    if pod.finished:
        return None
    not_read = _owner_not_read(context, pod, "single-replica")
    if not_read is not None:
        return not_read
    workload = filters.single_replica_workload(context, pod)
    if workload is None:
        return None
    subject, evidence = context.owner_subject(pod), (evidence_line(pod),)
    if filters.restarted_workload(context, pod) is not None:
        rollback = kubectl("rollout undo", "deployment", workload.name, workload.namespace)
        finding = Finding.of("single-replica/restarted", subject, evidence, command=rollback)
        return RuleResult.of(finding, EvictionMode(EvictionMethod.RESTART, restarts=workload))
    wants_surge = context.policy.surge_singles and pod.phase == "Running"
    obstacle = filters.surge_obstacle(context, pod, workload) if wants_surge else ""
    remedies = tuple(_downtime_remedies(context, pod, workload))
    return RuleResult.of(Finding.of("single-replica/downtime", subject, evidence, remedy=remedies, why_not=obstacle))


def leaves_data(context: DrainContext, pod: Pod) -> RuleResult | None:
    """A hostPath volume: the data stays on the old node."""
    paths = sorted([v.detail for v in pod.volumes if v.kind is VolumeKind.HOST_PATH and _may_hold_data(v.detail)])
    if not paths:
        return None
    return RuleResult.of(
        Finding.of("pod-hostpath", context.owner_subject(pod), (evidence_line(pod),), paths=", ".join(paths))
    )


def _may_hold_data(path: str) -> bool:
    """False for the node's own files, which pods read and do not keep data in."""
    return not path.endswith(".sock") and not any(f"{path}/".startswith(f"{top}/") for top in _NODE_FILES)


def is_bound_to_its_node(context: DrainContext, pod: Pod) -> RuleResult | None:
    """A local volume: the replacement, if there is one, can start on no other node, or starts without its data."""
    claims = [v.detail for v in pod.volumes if v.kind is VolumeKind.CLAIM]
    if not claims:
        return None
    after_eviction = replacement(pod)
    if after_eviction is Replacement.NEVER or (pod.finished and after_eviction is not Replacement.AFTER_GONE):
        return None
    not_read = context.cluster.not_read(kinds.CLAIMS, kinds.VOLUMES)
    if not_read:
        return unknown_result(
            "pod-local-volume",
            not_read,
            evidence_line(pod),
            source=context.cluster.source,
        )
    for name in claims:
        claim = context.claims.get(f"{pod.namespace}/{name}")
        volume = context.volumes.get(claim.volume) if claim else None
        if claim is not None and volume is not None and volume.local:
            subject_args = context.owner_subject(pod), (evidence_line(pod),)
            if not (volume.hostnames or volume.terms):  # a hostPath, which the scheduler allows on every node
                finding = Finding.of("pod-local-volume/anywhere", *subject_args, name=name, volume=volume.name)
                return RuleResult.of(finding)
            delete_commands = (
                kubectl("delete", "pvc", name, pod.namespace, "--wait=false"),
                kubectl("delete", "pod", pod.name, pod.namespace),
            )
            return RuleResult.of(
                Finding.of(
                    "pod-local-volume",
                    *subject_args,
                    name=name,
                    volume=volume.name,
                    nodes=", ".join(volume.hostnames),
                    commands=in_sequence(*delete_commands),
                )
            )
    return None


def loses_ephemeral_volumes(context: DrainContext, pod: Pod) -> RuleResult | None:
    """Generic ephemeral volumes are deleted with the pod, though kubectl asks only about emptyDir."""
    names = [v.name for v in pod.volumes if v.kind is VolumeKind.EPHEMERAL]
    if not names or pod.finished:
        return None
    return RuleResult.of(
        Finding.of("pod-ephemeral-volume", context.owner_subject(pod), (evidence_line(pod),), names=", ".join(names))
    )


def is_protected(context: DrainContext, pod: Pod) -> RuleResult | None:
    """An annotation of its owner asks autoscalers not to disrupt it; a drain is a disruption too."""
    annotation = pod.protection_at(context.now)
    if not annotation or pod.finished:
        return None
    return RuleResult.of(
        Finding.of(
            "pod-protected/allowed" if context.policy.evict_protected else "pod-protected/blocks",
            context.owner_subject(pod),
            (evidence_line(pod),),
            annotation=annotation,
        )
    )


def is_only_backend(context: DrainContext, pod: Pod) -> RuleResult | None:
    """A service that replacements need has this one Ready pod, or none after the pods go that nothing replaces."""
    if filters.restarted_workload(context, pod) is not None:
        return None  # the new pod is Ready before this one stops
    for backends in context.needed_backends.get(pod.uid, ()):
        lasting_backends = [
            p for p in backends.pods if not (p.node in context.pods_on and replacement(p) is Replacement.NEVER)
        ]
        if len(backends.pods) == 1 or not lasting_backends:
            return RuleResult.of(
                Finding.of(
                    "only-backend/known" if backends.severity is Severity.INFO else "only-backend/blocks",
                    context.owner_subject(pod),
                    (evidence_line(pod),),
                    severity=backends.severity,
                    remedy=(_second_backend_remedy(context, pod),),
                    only=len(backends.pods) == 1,
                    what=backends.what,
                    why=backends.why,
                )
            )
    return None


def _second_backend_remedy(context: DrainContext, pod: Pod) -> Remedy:
    workload = context.top_workload(pod)
    if workload is not None and workload.kind in filters.SCALABLE_KINDS and workload.replicas > 1:
        describe_command = kubectl("describe", workload.kind.lower(), workload.name, workload.namespace)
        return Remedy.of("another-ready", replicas=workload.replicas, command=describe_command)
    scale_up = filters.scale_remedy(context, pod, 2, clause("only-backend/wait"))
    return scale_up or Remedy.of("second-backend")


def ungated_service(context: DrainContext, pod: Pod) -> LoadBalancedService | None:
    """The Service through which a load balancer sends traffic to the pod without a readiness gate for its target's
    health."""
    if any(gate.startswith(READINESS_GATE_PREFIX) for gate in pod.readiness_gates):
        return None
    return next(
        (s for s in context.load_balanced_services.get(pod.namespace, ()) if s.selector.matches(pod.labels)), None
    )


def has_no_readiness_gate(context: DrainContext, pod: Pod) -> RuleResult | None:
    """The pod is Ready before its load balancer target is healthy: no readiness gate tells the budget."""
    load_balanced = ungated_service(context, pod)
    if load_balanced is None:
        return None
    subject = Subject("Service", load_balanced.name, pod.namespace)
    if load_balanced.ip_targets:
        return RuleResult.of(
            Finding.of(
                "no-readiness-gate/sits-behind-a-load-balancer",
                subject,
                (evidence_line(pod),),
                command=kubectl(
                    "label", "namespace", pod.namespace, "", "elbv2.k8s.aws/pod-readiness-gate-inject=enabled"
                ),
            )
        )
    return RuleResult.of(
        Finding.of(
            "no-readiness-gate/sits-behind-a-load-balancer-2",
            subject,
            (f"node {pod.node}",),
            command=kubectl(
                "label", "node", pod.node, "", "node.kubernetes.io/exclude-from-external-load-balancers=true"
            ),
        )
    )


RULES = (
    returns_to_its_node,
    loses_work,
    has_one_replica,
    leaves_data,
    is_bound_to_its_node,
    loses_ephemeral_volumes,
    is_protected,
    is_only_backend,
    has_no_readiness_gate,
)


def missing_node_findings(context: DrainContext) -> tuple[Finding, ...]:
    """At most one finding: pods whose node is not among the nodes that were read."""
    known_nodes = {node.name for node in context.cluster.nodes}
    orphaned = [pod for pod in context.cluster.pods if pod.node and pod.node not in known_nodes]
    if not orphaned or context.cluster.not_read(kinds.NODES):
        return ()
    nodes = sorted({pod.node for pod in orphaned}, key=natural_key)
    return (
        Finding.of(
            "pod-node-missing",
            Subject("Cluster", "cluster"),
            tuple(sorted((evidence_line(pod) for pod in orphaned), key=natural_key)),
            named=", ".join(nodes[:MAX_LISTED_NODES]),
            more=str(len(nodes[MAX_LISTED_NODES:]) or ""),
            command=kubectl("get", "node", nodes[0]),
        ),
    )


def _owner_not_read(context: DrainContext, pod: Pod, clause_name: ClauseName) -> RuleResult | None:
    """An unknown result where the pod's owner is of a kind that was not read."""
    owner = context.top_owner(pod)
    if owner is None or owner.uid in context.workloads:
        return None
    resources = _OWNER_RESOURCES.get((owner.group, owner.kind), ())
    if not resources or not context.cluster.not_read(resources[0]):
        return None
    return unknown_result(
        clause_name, context.cluster.not_read(*resources), evidence_line(pod), source=context.cluster.source
    )


def _downtime_remedies(context: DrainContext, pod: Pod, workload: Workload) -> tuple[Remedy, ...]:
    if workload.surges and workload.rollout_unavailable == 0:
        rollout_remedy = filters.restart_remedy(workload)
        if rollout_remedy is not None:
            surge_option = filters.surge_remedy(context, pod)
            return (rollout_remedy, surge_option) if surge_option is not None else (rollout_remedy,)
    if workload.kind == "StatefulSet" and (workload.namespace, workload.kind, workload.name) not in context.autoscalers:
        return (Remedy.of("announce-stateful"),)
    scale_up = filters.scale_remedy(context, pod, 2, clause("single-replica/if-twice"))
    return (scale_up,) if scale_up is not None else (Remedy.of("announce"),)
