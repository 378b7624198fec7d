"""Workload checks: readiness probes, replicas, spread and budgets, which keep workloads available while pods move.

The opt-in checks are those of eksup (K8S002, 003, 005, 006, 007); its other checks, budgets, sockets and kube-proxy's
mode among them, are made in every run.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from kubectl_eksdoc.kubernetes.replacement import required_backends
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import kubectl, shell
from kubectl_eksdoc.model.findings import CodeName, Finding, Severity, Status, Subject
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.model.workloads import Workload

from ..checking import CheckFacts, UpgradeCheck, cluster_subject, join_names, unread_lists
from .software import build_owner_index

_SCALED_KINDS = ("Deployment", "StatefulSet")
_WorkloadRule = Callable[[Workload, Subject, str], Finding | None]


def _judge_replicas(workload: Workload, subject: Subject, command: str) -> Finding | None:
    return Finding.of("workload-single-replica", subject, command=command) if workload.replicas == 1 else None


def _judge_probe(workload: Workload, subject: Subject, command: str) -> Finding | None:
    return (
        None
        if workload.template.has_readiness_check
        else Finding.of("workload-probe-missing", subject, command=command)
    )


def _judge_spread(workload: Workload, subject: Subject, command: str) -> Finding | None:
    if workload.replicas == 1 or workload.template.spread:
        return None
    return Finding.of("workload-spread-missing", subject, replicas=workload.replicas, command=command)


def _judge_min_ready(workload: Workload, subject: Subject, command: str) -> Finding | None:
    return None if workload.min_ready_s else Finding.of("workload-min-ready", subject, command=command)


def _judge_grace(workload: Workload, subject: Subject, command: str) -> Finding | None:
    if workload.template.grace_s:
        return None
    return Finding.of("workload-grace-zero", subject, again=workload.kind == "StatefulSet", command=command)


def _check_workloads(
    facts: CheckFacts, code: CodeName, kinds: tuple[str, ...], rule: _WorkloadRule
) -> Iterator[Finding]:
    yield from unread_lists(facts, f"{code}/rule", severity=Severity.LOW, code=code)
    for workload in facts.cluster.workloads:
        if workload.kind in kinds and workload.owner is None and workload.replicas > 0:
            command = kubectl("get", workload.kind.lower(), workload.name, workload.namespace, "-o", "yaml")
            if finding := rule(workload, Subject(workload.kind, workload.name, workload.namespace), command):
                yield finding


def _workload_check(code: CodeName, rule: _WorkloadRule, kinds: tuple[str, ...] = _SCALED_KINDS) -> UpgradeCheck:
    return UpgradeCheck.of(code, partial(_check_workloads, code=code, kinds=kinds, rule=rule))


CHECKS = (
    _workload_check("workload-single-replica", _judge_replicas),
    _workload_check("workload-probe-missing", _judge_probe),
    _workload_check("workload-spread-missing", _judge_spread),
    _workload_check("workload-min-ready", _judge_min_ready),
    _workload_check("workload-grace-zero", _judge_grace, (*_SCALED_KINDS, "DaemonSet")),
)


# Workloads at risk in an upgrade: pods that are not Ready or restart, and replicas without a PodDisruptionBudget.
#
# Source of the 15 minutes: EKS user guide, managed-node-update-behavior (PodEvictionFailure).


SETTLING_TIME = timedelta(minutes=15)
"""How long a managed node group waits for the pods of a node, and how long a pod may take here to become Ready; a
restarted pod is steady again after it has been Ready for that long."""

STARTING_TIME = timedelta(minutes=1)
"""A younger pod is not reported, unless it has one of the permanent reasons."""

_PERMANENT_REASONS = frozenset(
    (
        "CrashLoopBackOff",
        "CreateContainerConfigError",
        "CreateContainerError",
        "ErrImageNeverPull",
        "ErrImagePull",
        "Error",
        "ImageInspectError",
        "ImagePullBackOff",
        "InvalidImageName",
        "OOMKilled",
        "RunContainerError",
    )
)
"""Reasons of the kubelet (pkg/kubelet/images, pkg/kubelet/kuberuntime) that do not go away by waiting."""

_NO_REASON = "no reason given"

_PERMANENT_JOB_REASONS = _PERMANENT_REASONS - {"Error", "OOMKilled"}
"""The reasons for pods of a Job, which retries failed pods by itself."""


def _check_unsteady_pods(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread_lists(facts, "pods-bouncing")
    owner_index, now = build_owner_index(facts.cluster), facts.cluster.observed_at
    pods_by_owner: dict[Subject, list[Pod]] = defaultdict(list)
    starting_by_owner: dict[Subject, list[Pod]] = defaultdict(list)
    reasons_by_owner: dict[Subject, dict[str, str]] = defaultdict(dict)
    for pod in facts.cluster.pods:
        if pod.node and not pod.finished and not pod.deleting:
            subject = owner_index.of_pod(pod)
            pods_by_owner[subject].append(pod)
            is_job_pod = subject.kind in ("Job", "CronJob")
            if reason := _unsteady_reason(pod, is_job_pod, now):
                reasons_by_owner[subject][pod.name] = reason
            elif not pod.ready and not is_job_pod and _pod_age(pod, now) >= STARTING_TIME:
                starting_by_owner[subject].append(pod)
    for subject, reasons in sorted(reasons_by_owner.items(), key=lambda each: (str(each[0]), each[0].kind)):
        yield _unsteady_finding(subject, reasons, pods_by_owner[subject])
    for subject, pods in sorted(starting_by_owner.items(), key=lambda each: (str(each[0]), each[0].kind)):
        if len(pods) == len(pods_by_owner[subject]):
            yield _none_ready_yet(subject, pods)


def _unsteady_reason(pod: Pod, is_job_pod: bool, now: datetime) -> str:
    """Why the pod is not steady; "" for a steady one."""
    age = _pod_age(pod, now)
    if is_job_pod:
        return pod.not_ready_because if pod.not_ready_because in _PERMANENT_JOB_REASONS else ""
    if not pod.ready:
        is_settled = age >= SETTLING_TIME
        return (
            (pod.not_ready_because or _NO_REASON) if is_settled or pod.not_ready_because in _PERMANENT_REASONS else ""
        )
    ready_for = timedelta.max if pod.ready_at is None else now - pod.ready_at
    if pod.restarted and ready_for < SETTLING_TIME <= age:
        return f"restarted, Ready again for {format_duration(max(ready_for.total_seconds(), 0))}"
    return ""


def _pod_age(pod: Pod, now: datetime) -> timedelta:
    return timedelta.max if pod.created_at is None else now - pod.created_at


def _none_ready_yet(subject: Subject, pods: Sequence[Pod]) -> Finding:
    """A workload without a Ready pod, whose pods are all too young to be judged."""
    return Finding.of(
        "pods-bouncing/none-ready-yet",
        subject,
        (f"pods: {join_names(sorted(pod.name for pod in pods))}",),
        pods_count=len(pods),
        duration=format_duration(SETTLING_TIME.total_seconds()),
        command=kubectl("describe", "pod", min(pod.name for pod in pods), subject.namespace),
    )


def _unsteady_finding(subject: Subject, reasons: dict[str, str], pods: Sequence[Pod]) -> Finding:
    unready = sum(not pod.ready for pod in pods if pod.name in reasons)
    severity = Severity.HIGH if unready == len(pods) else Severity.MEDIUM if unready else Severity.LOW
    return Finding.of(
        "pods-bouncing/unsteady",
        subject,
        (f"pods: {join_names(sorted(reasons))}",),
        severity=severity,
        count=len(reasons),
        pods=len(pods),
        unready=unready > 0,
        both=0 < unready < len(reasons),
        restarting=unready < len(reasons),
        why=", ".join(sorted({*reasons.values()})),
        command=kubectl("describe", "pod", next(iter(reasons)), subject.namespace),
    )


def _check_missing_budgets(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread_lists(facts, "budget-missing", severity=Severity.LOW)
    if facts.cluster.not_read(kinds.BUDGETS):
        return
    budgets: dict[str, list[Budget]] = defaultdict(list)
    for budget in facts.cluster.budgets:
        budgets[budget.namespace].append(budget)
    scaled_workloads = [each for each in facts.cluster.workloads if each.kind in _SCALED_KINDS and each.replicas >= 2]
    without_budget = [each for each in scaled_workloads if not _has_budget(each, budgets[each.namespace])]
    if without_budget:
        yield _missing_budget_finding(facts, without_budget, len(scaled_workloads))


_BACKEND_KINDS = (
    kinds.PODS,
    kinds.VALIDATING_WEBHOOKS,
    kinds.MUTATING_WEBHOOKS,
    kinds.SERVICES,
    kinds.ENDPOINT_SLICES,
    kinds.NAMESPACES,
)
"""Lists that show which workloads the replacement of nodes needs."""


def _needed_workloads(cluster: Cluster, without_budget: Sequence[Workload]) -> tuple[list[Workload], str]:
    """The workloads that the replacement of nodes needs, with a clause why; as far as `_BACKEND_KINDS` were read."""
    for backends in required_backends(cluster):
        needed = [each for each in without_budget if any(_is_pod_of(pod, each) for pod in backends.pods)]
        if needed and backends.severity is Severity.CRITICAL:
            return needed, f"among them {backends.what}: {backends.why}"
    return [], ""


def _is_pod_of(pod: Pod, workload: Workload) -> bool:
    return pod.namespace == workload.namespace and workload.selector.matches(pod.labels)


def _has_budget(workload: Workload, budgets: Sequence[Budget]) -> bool:
    return any(budget.selector.matches(workload.template_labels) for budget in budgets)


def _missing_budget_finding(facts: CheckFacts, without_budget: list[Workload], total: int) -> Finding:
    by_namespace = Counter(each.namespace for each in without_budget)
    needed_workloads, reason = _needed_workloads(facts.cluster, without_budget)
    unread_lists = facts.cluster.not_read(*_BACKEND_KINDS)
    by_replicas = sorted(without_budget, key=lambda each: (-each.replicas, each.key))
    example = next((each for each in by_replicas if each in needed_workloads), by_replicas[0])
    create_words = ("kubectl", "create", "poddisruptionbudget", example.name, "-n", example.namespace)
    command = shell(*create_words, f"--selector={example.selector}", "--max-unavailable=1")
    namespaces = sorted(by_namespace, key=lambda name: (-by_namespace[name], name))
    finding = Finding.of(
        "budget-missing/needed" if reason else "budget-missing/unknown" if unread_lists else "budget-missing/advice",
        cluster_subject(facts),
        (
            f"by namespace: {join_names([f'{name} {by_namespace[name]}' for name in namespaces])}",
            "with the most replicas: "
            f"{join_names([f'{each.kind} {each.key} ({each.replicas})' for each in by_replicas])}",
        ),
        without_count=len(without_budget),
        of=total,
        needed=reason,
        lacking=", ".join(each.resource.full_name for each in unread_lists),
        command=command if example.selector.valid and example.selector.requirements else "",
    )
    return (
        replace(finding, unknowns=tuple(each.as_unknown for each in unread_lists))
        if finding.status is Status.UNKNOWN
        else finding
    )


UNHEALTHY_CHECKS = (
    UpgradeCheck.of("pods-bouncing", _check_unsteady_pods),
    UpgradeCheck.of("budget-missing", _check_missing_budgets, *_BACKEND_KINDS),
)
