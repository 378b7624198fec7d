"""What kubectl drain does not know about a pod: will it come back, lose work or data, or take others with it?

Each rule is a pure function `(survey, pod) -> Said | None`; all of them are asked, and every answer is kept.
"""

from __future__ import annotations

from dataclasses import replace

from kubectl_eksdoc.drain.nodes import natural
from kubectl_eksdoc.drain.policy import Manner, Means
from kubectl_eksdoc.drain.survey import Balanced, Survey
from kubectl_eksdoc.drain.verdicts import filters
from kubectl_eksdoc.drain.verdicts.jobs import loses_work, wait_for_job
from kubectl_eksdoc.drain.verdicts.said import Said, blocks, cannot_tell, remarks
from kubectl_eksdoc.drain.verdicts.said import where as where
from kubectl_eksdoc.kubernetes.replacement import Replacement, replacement, returns_to_node
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.commands import in_turn, kubectl
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Subject, When
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.pods import Pod, VolumeKind
from kubectl_eksdoc.model.workloads import Workload

READINESS_GATE_PREFIX = "target-health.elbv2.k8s.aws/"
"""Condition types the AWS Load Balancer Controller injects (its documentation, "pod readiness gate")."""

MAX_NODES = 12
"""Missing nodes that are named; the rest is counted."""

_NODE_FILES = ("/proc", "/sys", "/dev", "/run", "/var/run", "/etc", "/usr", "/lib", "/boot")

_READ_AS: dict[tuple[str, str], tuple[Resource, ...]] = {
    ("apps", "Deployment"): (kinds.DEPLOYMENTS,),
    ("apps", "ReplicaSet"): (kinds.REPLICA_SETS, kinds.DEPLOYMENTS),
    ("apps", "StatefulSet"): (kinds.STATEFUL_SETS,),
    ("", "ReplicationController"): (kinds.REPLICATION_CONTROLLERS,),
}
"""What to read for an owner; without the first of them nothing is known of it."""


def comes_back(survey: Survey, pod: Pod) -> Said | None:
    """Its replacement is bound to the node it left, so the node is never empty."""
    if pod.owner is None or pod.owner.kind == "DaemonSet" or replacement(pod) is Replacement.NEVER:
        return None  # nothing comes, or kubectl's filter has judged it
    reason = returns_to_node(pod, survey.workload_of(pod))
    if reason:
        return blocks(
            Code.of("pod-returns"),
            Severity.HIGH,
            survey.owner_subject(pod),
            f"its pods come back to the node they left: {reason}",
            where(pod),
            _keep_away(survey, pod),
            Remedy("Drain the rest of the node and let this pod end with the node: --partial."),
        )
    return _unread_owner(survey, pod, Code.of("pod-returns"), "whether pods come back to the node they left")


def _keep_away(survey: Survey, pod: Pod) -> Remedy:
    owner = survey.top_owner(pod)
    assert owner is not None, "nothing replaces a bare pod"
    if (owner.group, owner.kind) == ("batch", "Job"):
        return Remedy(
            "Wait for it to finish, then plan again: a Job's template cannot be changed, only the next one's (remove "
            "the toleration, or spec.nodeName).",
            wait_for_job(owner.name, pod.namespace),
        )
    return Remedy(
        "Change the template so that a cordon keeps it away (remove the toleration, or spec.nodeName).",
        kubectl("edit", filters.word_of(owner), owner.name, pod.namespace),
        When.TOMORROW,
    )


def has_one_replica(survey: Survey, pod: Pod) -> Said | None:
    """One copy: away until its replacement is Ready."""
    if pod.finished:
        return None
    unread = _unread_owner(survey, pod, Code.of("single-replica"), "whether a workload has a single replica")
    if unread is not None:
        return unread
    top = filters.single_of(survey, pod)
    if top is None:
        return None
    subject, message = survey.owner_subject(pod), "its only replica is on a target: "
    if filters.restarted(survey, pod) is not None:
        message += "it is restarted (--surge-singles), so that the new pod is Ready elsewhere before this one stops"
        back = Remedy(
            "Way back, with one more new pod.", kubectl("rollout undo", "deployment", top.name, top.namespace)
        )
        said = remarks(Code.of("single-replica"), Severity.LOW, subject, message, where(pod), back)
        return replace(said, manner=Manner(Means.RESTART, restarts=top))
    message += "its eviction is downtime until the replacement is Ready"
    if survey.policy.surge_singles and pod.phase == "Running":
        message += f"; it is not restarted instead: {filters.why_not(survey, pod, top)}"
    remedies = _without_downtime(survey, pod, top)
    return remarks(Code.of("single-replica"), Severity.MEDIUM, subject, message, where(pod), *remedies)


def leaves_data(survey: Survey, pod: Pod) -> Said | None:
    """hostPath: what it wrote stays on the node it leaves."""
    paths = sorted([v.detail for v in pod.volumes if v.kind is VolumeKind.HOST_PATH and _may_hold_data(v.detail)])
    if not paths:
        return None
    return remarks(
        Code.of("pod-hostpath"),
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
    """A local volume: the replacement, if there will be one, can start nowhere else."""
    claims = [v.detail for v in pod.volumes if v.kind is VolumeKind.CLAIM]
    if not claims:
        return None
    after = replacement(pod)
    if after is Replacement.NEVER or (pod.finished and after is not Replacement.AFTER_GONE):
        return None
    unread = survey.cluster.unread(kinds.CLAIMS, kinds.VOLUMES)
    if unread:
        return cannot_tell(
            Code.of("pod-local-volume"),
            "whether the claims of pods are bound to local volumes",
            unread,
            where(pod),
            of=survey.cluster.source,
        )
    for name in claims:
        claim = survey.claims.get(f"{pod.namespace}/{name}")
        volume = survey.volumes.get(claim.volume) if claim else None
        if claim is not None and volume is not None and volume.local:
            return blocks(
                Code.of("pod-local-volume"),
                Severity.HIGH,
                survey.owner_subject(pod),
                f"claim {name} is bound to local volume {volume.name}"
                f"{' on ' + ', '.join(volume.hostnames) if volume.hostnames else ''}: "
                "the replacement stays Pending while that node is cordoned",
                where(pod),
                Remedy(
                    "Move the data (the application's own replication or a backup), then delete claim and pod "
                    "together; a new claim is bound where the pod lands.",
                    in_turn(
                        kubectl("delete", "pvc", name, pod.namespace, "--wait=false"),
                        kubectl("delete", "pod", pod.name, pod.namespace),
                    ),
                    When.TOMORROW,
                ),
            )
    return None


def loses_its_own_volumes(survey: Survey, pod: Pod) -> Said | None:
    """Generic ephemeral volumes: deleted with the pod, though kubectl asks only about emptyDir."""
    names = [v.name for v in pod.volumes if v.kind is VolumeKind.EPHEMERAL]
    if not names or pod.finished:
        return None
    return remarks(
        Code.of("pod-ephemeral-volume"),
        Severity.MEDIUM,
        survey.owner_subject(pod),
        f"the data of its generic ephemeral volumes is deleted with the pod, without a question: {', '.join(names)}",
        where(pod),
        Remedy("Confirm with its owners that the data may go."),
    )


def is_protected(survey: Survey, pod: Pod) -> Said | None:
    """Its owner asked autoscalers not to disrupt it; a drain is a disruption too."""
    annotation = pod.protected_at(survey.now)
    if not annotation or pod.finished:
        return None
    subject, message = survey.owner_subject(pod), f"its owners ask not to disrupt it: {annotation}"
    if survey.policy.evict_protected:
        return remarks(
            Code.of("pod-protected"),
            Severity.MEDIUM,
            subject,
            f"{message} (as --evict-protected allows)",
            where(pod),
            Remedy("Tell its owners when it goes."),
        )
    return blocks(
        Code.of("pod-protected"),
        Severity.HIGH,
        subject,
        message,
        where(pod),
        Remedy("Ask its owners; when they agree, plan with --evict-protected."),
    )


def is_only_backend(survey: Survey, pod: Pod) -> Said | None:
    """Something replacements need has this one ready pod, or none is left when those go that nothing replaces."""
    if filters.restarted(survey, pod) is not None:
        return None  # another is Ready before it stops
    for backends in survey.needed.get(pod.uid, ()):
        lasting = [p for p in backends.pods if not (p.node in survey.pods_on and replacement(p) is Replacement.NEVER)]
        if len(backends.pods) == 1 or not lasting:
            what = "the only ready backend" if len(backends.pods) == 1 else "one of the last ready backends"
            says = remarks if backends.severity is Severity.INFO else blocks
            return says(
                Code.of("only-backend"),
                backends.severity,
                survey.owner_subject(pod),
                f"it is {what} of {backends.what}: {backends.why}",
                where(pod),
                _second_backend(survey, pod),
            )
    return None


def _second_backend(survey: Survey, pod: Pod) -> Remedy:
    top = survey.top_of(pod)
    if top is not None and top.kind in filters.SCALED_BY_HAND and top.replicas > 1:
        return Remedy(
            f"It wants {top.replicas} replicas: make another one Ready, on a node that is not drained.",
            kubectl("describe", top.kind.lower(), top.name, top.namespace),
        )
    second = filters.more(survey, pod, 2, ", and wait until that is Ready on a node that is not drained")
    return second or Remedy(
        "Run a second one on a node that is not drained, best by a Deployment of two replicas, and wait until it is "
        "Ready.",
        when=When.TOMORROW,
    )


def ungated(survey: Survey, pod: Pod) -> Balanced | None:
    """The Service by which a load balancer sends traffic to the pod with nothing to tell when its target is healthy."""
    if any(gate.startswith(READINESS_GATE_PREFIX) for gate in pod.readiness_gates):
        return None
    return next((s for s in survey.balanced.get(pod.namespace, ()) if s.selector.matches(pod.labels)), None)


def sits_behind_a_load_balancer(survey: Survey, pod: Pod) -> Said | None:
    """Ready before its target is healthy: no gate tells the budget."""
    service = ungated(survey, pod)
    if service is None:
        return None
    subject = Subject("Service", service.name, pod.namespace)
    if service.ip_targets:
        return remarks(
            Code.of("no-readiness-gate"),
            Severity.MEDIUM,
            subject,
            "its pods are targets by ip without a readiness gate: they count as Ready before the load balancer "
            "sends them traffic",
            where(pod),
            Remedy(
                "Have the gate injected, then restart the pods before the drain.",
                kubectl("label", "namespace", pod.namespace, "", "elbv2.k8s.aws/pod-readiness-gate-inject=enabled"),
                When.TOMORROW,
            ),
        )
    return remarks(
        Code.of("no-readiness-gate"),
        Severity.LOW,
        subject,
        "its load balancer sends traffic through the nodes: a drained node stays a target until it is labelled",
        f"node {pod.node}",
        Remedy(
            "Take each node out of the load balancers before its pods are evicted.",
            kubectl("label", "node", pod.node, "", "node.kubernetes.io/exclude-from-external-load-balancers=true"),
        ),
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


def on_missing_nodes(survey: Survey) -> tuple[Finding, ...]:
    """At most one finding: pods whose node is not among those that were read."""
    known = {node.name for node in survey.cluster.nodes}
    lost = [pod for pod in survey.cluster.pods if pod.node and pod.node not in known]
    if not lost or survey.cluster.unread(kinds.NODES):
        return ()
    nodes = sorted({pod.node for pod in lost}, key=natural)
    named = ", ".join(nodes[:MAX_NODES]) + (f" and {len(nodes) - MAX_NODES} more" if len(nodes) > MAX_NODES else "")
    return (
        Finding.of(
            "pod-node-missing",
            Subject("Cluster", "cluster"),
            tuple(sorted((where(pod) for pod in lost), key=natural)),
            named=named,
            command=kubectl("get", "node", nodes[0]),
        ),
    )


def _unread_owner(survey: Survey, pod: Pod, code: Code, question: str) -> Said | None:
    """Unknown, where what answers for the pod is of a kind that was not read."""
    owner = survey.top_owner(pod)
    if owner is None or owner.uid in survey.workloads:
        return None
    needed = _READ_AS.get((owner.group, owner.kind), ())
    if not needed or not survey.cluster.unread(needed[0]):
        return None
    return cannot_tell(code, question, survey.cluster.unread(*needed), where(pod), of=survey.cluster.source)


def _without_downtime(survey: Survey, pod: Pod, top: Workload) -> tuple[Remedy, ...]:
    if top.surges and top.rollout_unavailable == 0:
        restart = filters.restart(top)
        if restart is not None:
            drained = filters.advice(survey, pod)
            return (restart, drained) if drained is not None else (restart,)
    if top.kind == "StatefulSet" and (top.namespace, top.kind, top.name) not in survey.autoscalers:
        return (Remedy("Announce the downtime: a StatefulSet starts the new pod only after the old one is gone."),)
    more = filters.more(survey, pod, 2, ", if it can run twice")
    return (more,) if more is not None else (Remedy("Announce the downtime."),)
