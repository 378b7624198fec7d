"""What kubectl drain does not know about a pod: will it come back, lose work or data, or take others with it?

Each rule is a pure function `(survey, pod) -> Said | None`; all of them are asked, and every answer is kept.
"""

from __future__ import annotations

from kubectl_eksdoc.core.model import codes, kinds
from kubectl_eksdoc.core.model.codes import Code
from kubectl_eksdoc.core.model.findings import Remedy, Severity, Subject, When
from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.core.model.pods import Pod, VolumeKind
from kubectl_eksdoc.core.model.workloads import Workload
from kubectl_eksdoc.core.plan.drain.said import Said, blocks, cannot_tell, remarks
from kubectl_eksdoc.core.plan.drain.survey import Survey
from kubectl_eksdoc.core.rules.replacement import Replacement, replacement, returns_to_node

READINESS_GATE_PREFIX = "target-health.elbv2.k8s.aws/"
"""Condition types the AWS Load Balancer Controller injects (its documentation, "pod readiness gate")."""

_NODE_FILES = ("/proc", "/sys", "/dev", "/run", "/var/run", "/etc", "/usr", "/lib", "/boot")

_WORKLOADS: dict[str, tuple[Resource, ...]] = {
    "ReplicaSet": (kinds.REPLICA_SETS, kinds.DEPLOYMENTS),
    "StatefulSet": (kinds.STATEFUL_SETS,),
    "ReplicationController": (kinds.REPLICATION_CONTROLLERS,),
}
_ONE_COPY = ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController")


def comes_back(survey: Survey, pod: Pod) -> Said | None:
    """Its replacement is bound to the node it left, so the node is never empty."""
    if replacement(pod) is Replacement.SAME_NODE:
        return None  # a DaemonSet's pod: kubectl's filter has judged it
    workload = survey.workload_of(pod)
    reason = returns_to_node(pod, workload)
    if reason:
        owner = survey.owner_subject(pod)
        return blocks(
            codes.POD_RETURNS,
            Severity.HIGH,
            owner,
            f"its pods come back to the node they left: {reason}",
            where(pod),
            Remedy(
                "Change the template so that a cordon keeps it away (remove the toleration, or spec.nodeName).",
                f"kubectl edit {owner.kind.lower()} {owner.name} -n {pod.namespace}",
                When.TOMORROW,
            ),
            Remedy("Drain the rest of the node and let this pod end with the node: --partial."),
        )
    if workload is None:
        return _unread_owner(survey, pod, codes.POD_RETURNS, "whether pods come back to the node they left")
    return None


def loses_work(survey: Survey, pod: Pod) -> Said | None:
    """A running Job's pod: wait for it, or lose its work and count a failure."""
    if pod.owner is None or pod.owner.kind != "Job" or pod.finished:
        return None
    subject = Subject("Job", pod.owner.name, pod.namespace)
    job = survey.jobs.get(pod.owner.uid)
    if job is None:
        unread = survey.cluster.unread(kinds.JOBS)
        if unread:
            return cannot_tell(codes.JOB_LOSES_WORK, "what an eviction means for Job pods", unread, where(pod))
        return None  # the Job object is gone: its pods are being collected
    wait = Remedy(
        "Wait for it to finish, then plan again.",
        f"kubectl wait --for=condition=complete job/{job.name} -n {job.namespace} --timeout=30m",
    )
    if job.ignores_disruption:
        message = "evicting its pods loses their work; podFailurePolicy does not count it as a failure"
        return remarks(codes.JOB_LOSES_WORK, Severity.LOW, subject, message, where(pod), wait)
    evicted = sum(
        1
        for pods in survey.pods_on.values()
        for other in pods
        if other.owner is not None and other.owner.uid == job.uid and not other.finished
    )
    counted = f"{job.failed} of backoffLimit {job.backoff_limit} failures are used, draining all targets adds {evicted}"
    if job.failed + evicted > job.backoff_limit:
        return blocks(
            codes.JOB_WOULD_FAIL,
            Severity.HIGH,
            subject,
            f"evicting its pods fails the Job: {counted}",
            where(pod),
            wait,
        )
    message = f"evicting its pods loses their work and counts as failure: {counted}"
    return remarks(codes.JOB_LOSES_WORK, Severity.MEDIUM, subject, message, where(pod), wait)


def has_one_replica(survey: Survey, pod: Pod) -> Said | None:
    """One copy: away until its replacement is Ready."""
    top = survey.top_of(pod)
    if top is None:
        return _unread_owner(survey, pod, codes.SINGLE_REPLICA, "whether a workload has a single replica")
    if top.kind not in _ONE_COPY or top.replicas != 1 or pod.finished:
        return None
    return remarks(
        codes.SINGLE_REPLICA,
        Severity.MEDIUM,
        Subject(top.kind, top.name, top.namespace),
        "its only replica is on a target: its eviction is downtime until the replacement is Ready",
        where(pod),
        *_without_downtime(survey, top),
    )


def leaves_data(survey: Survey, pod: Pod) -> Said | None:
    """hostPath: what it wrote stays on the node it leaves."""
    paths = sorted(v.detail for v in pod.volumes if v.kind is VolumeKind.HOST_PATH and _may_hold_data(v.detail))
    if not paths:
        return None
    return remarks(
        codes.POD_HOSTPATH,
        Severity.LOW,
        survey.owner_subject(pod),
        f"what its pods wrote to {', '.join(paths)} stays behind on the drained node",
        where(pod),
        Remedy("Copy what is needed before the node goes, or confirm with its owners that it is only a cache."),
    )


def _may_hold_data(path: str) -> bool:
    """False for the node's own files, which pods look at rather than keep data in."""
    return not path.endswith(".sock") and not any(f"{path}/".startswith(f"{top}/") for top in _NODE_FILES)


def is_bound_to_its_node(survey: Survey, pod: Pod) -> Said | None:
    """A local volume: the replacement can start nowhere else."""
    claims = [v.detail for v in pod.volumes if v.kind is VolumeKind.CLAIM]
    if not claims:
        return None
    unread = survey.cluster.unread(kinds.CLAIMS, kinds.VOLUMES)
    if unread:
        return cannot_tell(
            codes.POD_LOCAL_VOLUME, "whether the claims of pods are bound to local volumes", unread, where(pod)
        )
    for name in claims:
        claim = survey.claims.get(f"{pod.namespace}/{name}")
        volume = survey.volumes.get(claim.volume) if claim else None
        if claim is not None and volume is not None and volume.local:
            return blocks(
                codes.POD_LOCAL_VOLUME,
                Severity.HIGH,
                survey.owner_subject(pod),
                f"claim {name} is bound to local volume {volume.name}"
                f"{' on ' + ', '.join(volume.hostnames) if volume.hostnames else ''}: "
                "the replacement stays Pending while that node is cordoned",
                where(pod),
                Remedy(
                    "Move the data (the application's own replication or a backup), then delete claim and pod "
                    "together; a new claim is bound where the pod lands.",
                    f"kubectl delete pvc {name} -n {pod.namespace} --wait=false && "
                    f"kubectl delete pod {pod.name} -n {pod.namespace}",
                    When.TOMORROW,
                ),
            )
    return None


def is_protected(survey: Survey, pod: Pod) -> Said | None:
    """Its owner asked autoscalers not to disrupt it; a drain is a disruption too."""
    annotation = pod.protected_by
    if not annotation or pod.finished:
        return None
    subject, message = survey.owner_subject(pod), f"its owners ask not to disrupt it: {annotation}"
    if survey.policy.evict_protected:
        return remarks(
            codes.POD_PROTECTED,
            Severity.MEDIUM,
            subject,
            f"{message} (--evict-protected was given)",
            where(pod),
            Remedy("Tell its owners when it goes."),
        )
    return blocks(
        codes.POD_PROTECTED,
        Severity.HIGH,
        subject,
        message,
        where(pod),
        Remedy("Ask its owners; when they agree, plan with --evict-protected."),
    )


def is_only_backend(survey: Survey, pod: Pod) -> Said | None:
    """Something replacements need has this one ready pod."""
    for backends in survey.needed.get(pod.uid, ()):
        if len(backends.pods) == 1:
            subject = survey.owner_subject(pod)
            return blocks(
                codes.ONLY_BACKEND,
                Severity.CRITICAL,
                subject,
                f"it is the only ready backend of {backends.what}: {backends.why}",
                where(pod),
                Remedy(
                    "Give it a second replica and wait until that is Ready on a node that is not drained.",
                    f"kubectl scale {subject.kind.lower()} {subject.name} -n {pod.namespace} --replicas=2",
                ),
            )
    return None


def sits_behind_a_load_balancer(survey: Survey, pod: Pod) -> Said | None:
    """Ready before its target is healthy: no gate tells the budget."""
    if any(gate.startswith(READINESS_GATE_PREFIX) for gate in pod.readiness_gates):
        return None
    for service in survey.balanced.get(pod.namespace, ()):
        if not service.selector.matches(pod.labels):
            continue
        subject = Subject("Service", service.name, pod.namespace)
        if service.ip_targets:
            return remarks(
                codes.NO_READINESS_GATE,
                Severity.MEDIUM,
                subject,
                "its pods are targets by ip without a readiness gate: they count as Ready before the load balancer "
                "sends them traffic",
                where(pod),
                Remedy(
                    "Have the gate injected, then restart the pods before the drain.",
                    f"kubectl label namespace {pod.namespace} elbv2.k8s.aws/pod-readiness-gate-inject=enabled",
                    When.TOMORROW,
                ),
            )
        return remarks(
            codes.NO_READINESS_GATE,
            Severity.LOW,
            subject,
            "its load balancer sends traffic through the nodes: a drained node stays a target until it is labelled",
            f"node {pod.node}",
            Remedy(
                "Take each node out of the load balancers before its pods are evicted.",
                f"kubectl label node {pod.node} node.kubernetes.io/exclude-from-external-load-balancers=true",
            ),
        )
    return None


def is_leaving_with_its_namespace(survey: Survey, pod: Pod) -> Said | None:
    if pod.namespace not in survey.terminating:
        return None
    return remarks(
        codes.NAMESPACE_TERMINATING,
        Severity.LOW,
        Subject("Namespace", pod.namespace),
        "it is being deleted: evictions in it are refused (403) until its pods are gone by themselves",
        where(pod),
        Remedy("Nothing to do, unless it hangs.", f"kubectl get namespace {pod.namespace} -o yaml"),
    )


RULES = (
    comes_back,
    loses_work,
    has_one_replica,
    leaves_data,
    is_bound_to_its_node,
    is_protected,
    is_only_backend,
    sits_behind_a_load_balancer,
    is_leaving_with_its_namespace,
)


def where(pod: Pod) -> str:
    """The line of evidence for one pod."""
    return f"pod {pod.key} on {pod.node}"


def _unread_owner(survey: Survey, pod: Pod, code: Code, question: str) -> Said | None:
    needed = _WORKLOADS.get(pod.owner.kind, ()) if pod.owner is not None else ()
    unread = survey.cluster.unread(*needed)
    return cannot_tell(code, question, unread, where(pod)) if unread else None


def _without_downtime(survey: Survey, top: Workload) -> tuple[Remedy, ...]:
    if top.kind == "Deployment" and top.surges:
        return (
            Remedy(
                "After the cordon, restart the rollout: the new pod is Ready elsewhere before the old one stops.",
                f"kubectl rollout restart deployment/{top.name} -n {top.namespace}",
            ),
        )
    scaler = survey.autoscalers.get((top.namespace, top.kind, top.name))
    if scaler is not None:
        return (
            Remedy(
                f"Raise the minimum of its autoscaler {scaler.name} first.",
                f"kubectl patch hpa {scaler.name} -n {top.namespace} --type merge -p "
                '\'{"spec":{"minReplicas":2}}\'',
            ),
        )
    if top.kind == "StatefulSet":
        return (Remedy("Announce the downtime: a StatefulSet starts the new pod only after the old one is gone."),)
    return (
        Remedy(
            "Give it a second replica for the time of the drain, if it can run twice.",
            f"kubectl scale {top.kind.lower()} {top.name} -n {top.namespace} --replicas=2",
        ),
    )
