"""Rules about pods beyond those of kubectl drain: does the pod return, lose work or data, or take other pods down?

Each rule is a pure function of `DrainContext` and `Pod` to `RuleResult | None`. All rules are applied, and every result
is kept.
"""

from __future__ import annotations

from dataclasses import replace

from kubectl_eksdoc.kubernetes.replacement import Replacement, replacement, returns_to_node
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.connection import in_turn, kubectl, shell
from kubectl_eksdoc.model.findings import ClauseName, Finding, Remedy, Severity, Subject, clause
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.nodes import ControllerOwner, Pod, VolumeKind
from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.model.workloads import Job, Workload

from . import filter_verdicts as filters
from .nodes import Balanced, DrainContext, natural
from .policy import EVICTED, EvictionMode, Means
from .rule_results import RuleResult, cannot_tell, where

# Effect of an eviction on a Job: the pod's work is lost, and the Job may end as failed; with ``--wait-jobs`` pods may
# finish first.


def loses_work(survey: DrainContext, pod: Pod) -> RuleResult | None:
    """A running Job's pod: wait for it, or lose its work and count a failure."""
    if pod.owner is None or pod.owner.kind != "Job" or pod.finished:
        return None
    said = _lost(survey, pod, pod.owner)
    if said is None or not survey.policy.wait_jobs or said.manner is not EVICTED:
        return said
    return replace(said, manner=EvictionMode(waits_s=float(survey.policy.wait_jobs)))


def _lost(survey: DrainContext, pod: Pod, owner: ControllerOwner) -> RuleResult | None:
    subject = Subject("Job", owner.name, pod.namespace)
    job = survey.jobs.get(owner.uid)
    if job is None:
        unread = survey.cluster.unread(kinds.JOBS)
        if unread:
            return cannot_tell(
                "job-loses-work",
                unread,
                where(pod),
                of=survey.cluster.source,
            )
        return _without_its_job(survey, pod, subject)
    wait = Remedy.of("wait-for-job", command=wait_for_job(job.name, job.namespace))
    first, remedies = _waited(survey), (wait, *([] if survey.policy.wait_jobs else [Remedy.of("drain-waits")]))
    evidence = (where(pod),)
    if job.ignores_disruption:
        return RuleResult.of(Finding.of("job-loses-work/ignored", subject, evidence, remedy=remedies, first=first))
    evicted = _evicted_of(survey, job)
    fatal = _why_fatal(job, evicted)
    if fatal and survey.policy.wait_jobs:
        seconds = survey.policy.wait_jobs
        finding = Finding.of(
            "job-would-fail/waited", subject, evidence, why=fatal, time=duration(seconds), command=wait.command
        )
        # The pod may end by itself; the user has not asked for an eviction that fails its Job.
        return RuleResult.of(finding, EvictionMode(Means.PATIENCE, float(seconds)))
    if fatal:
        return RuleResult.of(Finding.of("job-would-fail/blocks", subject, evidence, remedy=remedies, why=fatal))
    counted = _counted(job, evicted)
    return RuleResult.of(
        Finding.of("job-loses-work/counted", subject, evidence, remedy=remedies, counted=counted, first=first)
    )


def _without_its_job(survey: DrainContext, pod: Pod, subject: Subject) -> RuleResult | None:
    """The Job object is gone, and its pods are garbage-collected; or, in a run, the Job is newer than the facts."""
    if not survey.policy.wait_jobs:
        return None
    return RuleResult.of(Finding.of("job-loses-work/unread", subject, (where(pod),), first=_waited(survey)))


def _waited(survey: DrainContext) -> str:
    seconds = survey.policy.wait_jobs
    return duration(seconds) if seconds else ""


def _evicted_of(survey: DrainContext, job: Job) -> int:
    """The Job's running pods on the nodes that are drained."""
    return sum(
        1
        for node, pods in survey.pods_on.items()
        if node not in survey.refused
        for pod in pods
        if pod.owner is not None and pod.owner.uid == job.uid and not pod.finished
    )


def _why_fatal(job: Job, evicted: int) -> str:
    """Why the evictions end the Job as failed, or ""."""
    if job.fails_on_disruption:
        return clause("job-would-fail/policy")
    if job.backoff_limit_per_index == 0:
        return clause("job-would-fail/index")
    if job.failed + evicted > job.backoff_limit:
        return clause("job-would-fail/limit", used=_used(job, evicted))
    return ""


def _counted(job: Job, evicted: int) -> str:
    if job.backoff_limit_per_index is not None:
        return clause("job-loses-work/of-each-index", limit=job.backoff_limit_per_index)
    return _used(job, evicted)


def _used(job: Job, evicted: int) -> str:
    return clause("job-would-fail/used", failed=job.failed, limit=job.backoff_limit, evicted=evicted)


def wait_for_job(name: str, namespace: str) -> str:
    return shell("kubectl", "wait", "--for=condition=complete", f"job/{name}", "-n", namespace, "--timeout=30m")


READINESS_GATE_PREFIX = "target-health.elbv2.k8s.aws/"
"""Prefix of the condition types that the AWS Load Balancer Controller injects (its documentation, "pod readiness
gate")."""

MAX_NODES = 12
"""Missing nodes that are named; the others are counted."""

_NODE_FILES = ("/proc", "/sys", "/dev", "/run", "/var/run", "/etc", "/usr", "/lib", "/boot")

_READ_AS: dict[tuple[str, str], tuple[Resource, ...]] = {
    ("apps", "Deployment"): (kinds.DEPLOYMENTS,),
    ("apps", "ReplicaSet"): (kinds.REPLICA_SETS, kinds.DEPLOYMENTS),
    ("apps", "StatefulSet"): (kinds.STATEFUL_SETS,),
    ("", "ReplicationController"): (kinds.REPLICATION_CONTROLLERS,),
}
"""The kinds to read for an owner; without the first of them nothing is known of it."""


def comes_back(survey: DrainContext, pod: Pod) -> RuleResult | None:
    """Its replacement is bound to the same node, so the node is never empty."""
    if pod.owner is None or pod.owner.kind == "DaemonSet" or replacement(pod) is Replacement.NEVER:
        return None  # nothing replaces it, or kubectl's filter has judged it
    reason = returns_to_node(pod, survey.workload_of(pod))
    if reason:
        owner = survey.top_owner(pod)
        assert owner is not None, "nothing replaces a bare pod"
        job = (owner.group, owner.kind) == ("batch", "Job")
        return RuleResult.of(
            Finding.of(
                "pod-returns/comes-back",
                survey.owner_subject(pod),
                (where(pod),),
                reason=reason,
                job=job,
                command=wait_for_job(owner.name, pod.namespace)
                if job
                else kubectl("edit", filters.word_of(owner), owner.name, pod.namespace),
            )
        )
    return _unread_owner(survey, pod, "pod-returns")


def has_one_replica(survey: DrainContext, pod: Pod) -> RuleResult | None:
    """A single replica: unavailable until its replacement is Ready."""
    if pod.finished:
        return None
    unread = _unread_owner(survey, pod, "single-replica")
    if unread is not None:
        return unread
    top = filters.single_of(survey, pod)
    if top is None:
        return None
    subject, evidence = survey.owner_subject(pod), (where(pod),)
    if filters.restarted(survey, pod) is not None:
        back = kubectl("rollout undo", "deployment", top.name, top.namespace)
        finding = Finding.of("single-replica/restarted", subject, evidence, command=back)
        return RuleResult.of(finding, EvictionMode(Means.RESTART, restarts=top))
    asked = survey.policy.surge_singles and pod.phase == "Running"
    why_not = filters.why_not(survey, pod, top) if asked else ""
    remedies = tuple(_without_downtime(survey, pod, top))
    return RuleResult.of(Finding.of("single-replica/downtime", subject, evidence, remedy=remedies, why_not=why_not))


def leaves_data(survey: DrainContext, pod: Pod) -> RuleResult | None:
    """A hostPath volume: the data stays on the old node."""
    paths = sorted([v.detail for v in pod.volumes if v.kind is VolumeKind.HOST_PATH and _may_hold_data(v.detail)])
    if not paths:
        return None
    return RuleResult.of(Finding.of("pod-hostpath", survey.owner_subject(pod), (where(pod),), paths=", ".join(paths)))


def _may_hold_data(path: str) -> bool:
    """False for the node's own files, which pods read and do not keep data in."""
    return not path.endswith(".sock") and not any(f"{path}/".startswith(f"{top}/") for top in _NODE_FILES)


def is_bound_to_its_node(survey: DrainContext, pod: Pod) -> RuleResult | None:
    """A local volume: the replacement, if there is one, can start on no other node, or starts without its data."""
    claims = [v.detail for v in pod.volumes if v.kind is VolumeKind.CLAIM]
    if not claims:
        return None
    after = replacement(pod)
    if after is Replacement.NEVER or (pod.finished and after is not Replacement.AFTER_GONE):
        return None
    unread = survey.cluster.unread(kinds.CLAIMS, kinds.VOLUMES)
    if unread:
        return cannot_tell(
            "pod-local-volume",
            unread,
            where(pod),
            of=survey.cluster.source,
        )
    for name in claims:
        claim = survey.claims.get(f"{pod.namespace}/{name}")
        volume = survey.volumes.get(claim.volume) if claim else None
        if claim is not None and volume is not None and volume.local:
            of = survey.owner_subject(pod), (where(pod),)
            if not (volume.hostnames or volume.terms):  # a hostPath, which the scheduler allows on every node
                found = Finding.of("pod-local-volume/anywhere", *of, name=name, volume=volume.name)
                return RuleResult.of(found)
            delete = (
                kubectl("delete", "pvc", name, pod.namespace, "--wait=false"),
                kubectl("delete", "pod", pod.name, pod.namespace),
            )
            return RuleResult.of(
                Finding.of(
                    "pod-local-volume",
                    *of,
                    name=name,
                    volume=volume.name,
                    nodes=", ".join(volume.hostnames),
                    commands=in_turn(*delete),
                )
            )
    return None


def loses_its_own_volumes(survey: DrainContext, pod: Pod) -> RuleResult | None:
    """Generic ephemeral volumes are deleted with the pod, though kubectl asks only about emptyDir."""
    names = [v.name for v in pod.volumes if v.kind is VolumeKind.EPHEMERAL]
    if not names or pod.finished:
        return None
    return RuleResult.of(
        Finding.of("pod-ephemeral-volume", survey.owner_subject(pod), (where(pod),), names=", ".join(names))
    )


def is_protected(survey: DrainContext, pod: Pod) -> RuleResult | None:
    """An annotation of its owner asks autoscalers not to disrupt it; a drain is a disruption too."""
    annotation = pod.protected_at(survey.now)
    if not annotation or pod.finished:
        return None
    return RuleResult.of(
        Finding.of(
            "pod-protected/allowed" if survey.policy.evict_protected else "pod-protected/blocks",
            survey.owner_subject(pod),
            (where(pod),),
            annotation=annotation,
        )
    )


def is_only_backend(survey: DrainContext, pod: Pod) -> RuleResult | None:
    """A service that replacements need has this one Ready pod, or none after the pods go that nothing replaces."""
    if filters.restarted(survey, pod) is not None:
        return None  # the new pod is Ready before this one stops
    for backends in survey.needed.get(pod.uid, ()):
        lasting = [p for p in backends.pods if not (p.node in survey.pods_on and replacement(p) is Replacement.NEVER)]
        if len(backends.pods) == 1 or not lasting:
            return RuleResult.of(
                Finding.of(
                    "only-backend/known" if backends.severity is Severity.INFO else "only-backend/blocks",
                    survey.owner_subject(pod),
                    (where(pod),),
                    severity=backends.severity,
                    remedy=(_second_backend(survey, pod),),
                    only=len(backends.pods) == 1,
                    what=backends.what,
                    why=backends.why,
                )
            )
    return None


def _second_backend(survey: DrainContext, pod: Pod) -> Remedy:
    top = survey.top_of(pod)
    if top is not None and top.kind in filters.SCALED_BY_HAND and top.replicas > 1:
        shown = kubectl("describe", top.kind.lower(), top.name, top.namespace)
        return Remedy.of("another-ready", replicas=top.replicas, command=shown)
    second = filters.more(survey, pod, 2, clause("only-backend/wait"))
    return second or Remedy.of("second-backend")


def ungated(survey: DrainContext, pod: Pod) -> Balanced | None:
    """The Service through which a load balancer sends traffic to the pod without a readiness gate for its target's
    health."""
    if any(gate.startswith(READINESS_GATE_PREFIX) for gate in pod.readiness_gates):
        return None
    return next((s for s in survey.balanced.get(pod.namespace, ()) if s.selector.matches(pod.labels)), None)


def sits_behind_a_load_balancer(survey: DrainContext, pod: Pod) -> RuleResult | None:
    """The pod is Ready before its load balancer target is healthy: no readiness gate tells the budget."""
    service = ungated(survey, pod)
    if service is None:
        return None
    subject = Subject("Service", service.name, pod.namespace)
    if service.ip_targets:
        return RuleResult.of(
            Finding.of(
                "no-readiness-gate/sits-behind-a-load-balancer",
                subject,
                (where(pod),),
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
    comes_back,
    loses_work,
    has_one_replica,
    leaves_data,
    is_bound_to_its_node,
    loses_its_own_volumes,
    is_protected,
    is_only_backend,
    sits_behind_a_load_balancer,
)


def on_missing_nodes(survey: DrainContext) -> tuple[Finding, ...]:
    """At most one finding: pods whose node is not among the nodes that were read."""
    known = {node.name for node in survey.cluster.nodes}
    lost = [pod for pod in survey.cluster.pods if pod.node and pod.node not in known]
    if not lost or survey.cluster.unread(kinds.NODES):
        return ()
    nodes = sorted({pod.node for pod in lost}, key=natural)
    return (
        Finding.of(
            "pod-node-missing",
            Subject("Cluster", "cluster"),
            tuple(sorted((where(pod) for pod in lost), key=natural)),
            named=", ".join(nodes[:MAX_NODES]),
            more=str(len(nodes[MAX_NODES:]) or ""),
            command=kubectl("get", "node", nodes[0]),
        ),
    )


def _unread_owner(survey: DrainContext, pod: Pod, asked: ClauseName) -> RuleResult | None:
    """An unknown result where the pod's owner is of a kind that was not read."""
    owner = survey.top_owner(pod)
    if owner is None or owner.uid in survey.workloads:
        return None
    needed = _READ_AS.get((owner.group, owner.kind), ())
    if not needed or not survey.cluster.unread(needed[0]):
        return None
    return cannot_tell(asked, survey.cluster.unread(*needed), where(pod), of=survey.cluster.source)


def _without_downtime(survey: DrainContext, pod: Pod, top: Workload) -> tuple[Remedy, ...]:
    if top.surges and top.rollout_unavailable == 0:
        restart = filters.restart(top)
        if restart is not None:
            drained = filters.advice(survey, pod)
            return (restart, drained) if drained is not None else (restart,)
    if top.kind == "StatefulSet" and (top.namespace, top.kind, top.name) not in survey.autoscalers:
        return (Remedy.of("announce-stateful"),)
    more = filters.more(survey, pod, 2, clause("single-replica/if-twice"))
    return (more,) if more is not None else (Remedy.of("announce"),)
