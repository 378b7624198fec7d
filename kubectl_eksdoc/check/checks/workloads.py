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

from kubectl_eksdoc.kubernetes.replacement import needed_backends
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import kubectl, shell
from kubectl_eksdoc.model.findings import CodeName, Finding, Severity, Status, Subject
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.model.workloads import Workload

from ..checking import CheckFacts, UpgradeCheck, cluster_of, listed, unread
from .software import owners

_SCALED = ("Deployment", "StatefulSet")
_Rule = Callable[[Workload, Subject, str], Finding | None]


def _replicas(each: Workload, subject: Subject, command: str) -> Finding | None:
    return Finding.of("workload-single-replica", subject, command=command) if each.replicas == 1 else None


def _probe(each: Workload, subject: Subject, command: str) -> Finding | None:
    return None if each.template.probed else Finding.of("workload-probe-missing", subject, command=command)


def _spread(each: Workload, subject: Subject, command: str) -> Finding | None:
    if each.replicas == 1 or each.template.spread:
        return None
    return Finding.of("workload-spread-missing", subject, replicas=each.replicas, command=command)


def _min_ready(each: Workload, subject: Subject, command: str) -> Finding | None:
    return None if each.min_ready_s else Finding.of("workload-min-ready", subject, command=command)


def _grace(each: Workload, subject: Subject, command: str) -> Finding | None:
    if each.template.grace_s:
        return None
    return Finding.of("workload-grace-zero", subject, again=each.kind == "StatefulSet", command=command)


def _lacking(facts: CheckFacts, code: CodeName, kinds: tuple[str, ...], rule: _Rule) -> Iterator[Finding]:
    yield from unread(facts, f"{code}/rule", severity=Severity.LOW, code=code)
    for each in facts.cluster.workloads:
        if each.kind in kinds and each.owner is None and each.replicas > 0:
            command = kubectl("get", each.kind.lower(), each.name, each.namespace, "-o", "yaml")
            if found := rule(each, Subject(each.kind, each.name, each.namespace), command):
                yield found


def _check(code: CodeName, rule: _Rule, kinds: tuple[str, ...] = _SCALED) -> UpgradeCheck:
    return UpgradeCheck.of(code, partial(_lacking, code=code, kinds=kinds, rule=rule))


CHECKS = (
    _check("workload-single-replica", _replicas),
    _check("workload-probe-missing", _probe),
    _check("workload-spread-missing", _spread),
    _check("workload-min-ready", _min_ready),
    _check("workload-grace-zero", _grace, (*_SCALED, "DaemonSet")),
)


# Workloads at risk in an upgrade: pods that are not Ready or restart, and replicas without a PodDisruptionBudget.
#
# Source of the 15 minutes: EKS user guide, managed-node-update-behavior (PodEvictionFailure).


SETTLING = timedelta(minutes=15)
"""How long a managed node group waits for the pods of a node, and how long a pod may take here to become Ready; a
restarted pod is steady again after it has been Ready for that long."""

STARTING = timedelta(minutes=1)
"""A younger pod is not reported, unless it has one of the permanent reasons."""

_WRONG = frozenset(
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

_OF_JOBS = _WRONG - {"Error", "OOMKilled"}
"""The reasons for pods of a Job, which retries failed pods by itself."""


def _bouncing(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread(facts, "pods-bouncing")
    of, now = owners(facts.cluster), facts.cluster.observed_at
    made: dict[Subject, list[Pod]] = defaultdict(list)
    starting: dict[Subject, list[Pod]] = defaultdict(list)
    unsteady: dict[Subject, dict[str, str]] = defaultdict(dict)
    for pod in facts.cluster.pods:
        if pod.node and not pod.finished and not pod.deleting:
            subject = of.of_pod(pod)
            made[subject].append(pod)
            of_job = subject.kind in ("Job", "CronJob")
            if why := _why(pod, of_job, now):
                unsteady[subject][pod.name] = why
            elif not pod.ready and not of_job and _age(pod, now) >= STARTING:
                starting[subject].append(pod)
    for subject, found in sorted(unsteady.items(), key=lambda each: (str(each[0]), each[0].kind)):
        yield _finding(subject, found, made[subject])
    for subject, pods in sorted(starting.items(), key=lambda each: (str(each[0]), each[0].kind)):
        if len(pods) == len(made[subject]):
            yield _not_yet(subject, pods)


def _why(pod: Pod, of_job: bool, now: datetime) -> str:
    """Why the pod is not steady; "" for a steady one."""
    age = _age(pod, now)
    if of_job:
        return pod.not_ready_because if pod.not_ready_because in _OF_JOBS else ""
    if not pod.ready:
        old = age >= SETTLING
        return (pod.not_ready_because or _NO_REASON) if old or pod.not_ready_because in _WRONG else ""
    ready_for = timedelta.max if pod.ready_at is None else now - pod.ready_at
    if pod.restarted and ready_for < SETTLING <= age:
        return f"restarted, Ready again for {duration(max(ready_for.total_seconds(), 0))}"
    return ""


def _age(pod: Pod, now: datetime) -> timedelta:
    return timedelta.max if pod.created_at is None else now - pod.created_at


def _not_yet(subject: Subject, pods: Sequence[Pod]) -> Finding:
    """A workload without a Ready pod, whose pods are all too young to be judged."""
    return Finding.of(
        "pods-bouncing/none-ready-yet",
        subject,
        (f"pods: {listed(sorted(pod.name for pod in pods))}",),
        pods_count=len(pods),
        duration=duration(SETTLING.total_seconds()),
        command=kubectl("describe", "pod", min(pod.name for pod in pods), subject.namespace),
    )


def _finding(subject: Subject, found: dict[str, str], pods: Sequence[Pod]) -> Finding:
    unready = sum(not pod.ready for pod in pods if pod.name in found)
    severity = Severity.HIGH if unready == len(pods) else Severity.MEDIUM if unready else Severity.LOW
    return Finding.of(
        "pods-bouncing/unsteady",
        subject,
        (f"pods: {listed(sorted(found))}",),
        severity=severity,
        count=len(found),
        pods=len(pods),
        unready=unready > 0,
        both=0 < unready < len(found),
        restarting=unready < len(found),
        why=", ".join(sorted({*found.values()})),
        command=kubectl("describe", "pod", next(iter(found)), subject.namespace),
    )


def _unguarded(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread(facts, "budget-missing", severity=Severity.LOW)
    if facts.cluster.unread(kinds.BUDGETS):
        return
    budgets: dict[str, list[Budget]] = defaultdict(list)
    for budget in facts.cluster.budgets:
        budgets[budget.namespace].append(budget)
    several = [each for each in facts.cluster.workloads if each.kind in _SCALED and each.replicas >= 2]
    without = [each for each in several if not _guarded(each, budgets[each.namespace])]
    if without:
        yield _without(facts, without, len(several))


_OF_NEEDED = (
    kinds.PODS,
    kinds.VALIDATING_WEBHOOKS,
    kinds.MUTATING_WEBHOOKS,
    kinds.SERVICES,
    kinds.ENDPOINT_SLICES,
    kinds.NAMESPACES,
)
"""Lists that show which workloads the replacement of nodes needs."""


def _needed(cluster: Cluster, without: Sequence[Workload]) -> tuple[list[Workload], str]:
    """The workloads that the replacement of nodes needs, with a clause why; as far as `_BACKEND_KINDS` were read."""
    for backends in needed_backends(cluster):
        found = [each for each in without if any(_is_of(pod, each) for pod in backends.pods)]
        if found and backends.severity is Severity.CRITICAL:
            return found, f"among them {backends.what}: {backends.why}"
    return [], ""


def _is_of(pod: Pod, each: Workload) -> bool:
    return pod.namespace == each.namespace and each.selector.matches(pod.labels)


def _guarded(each: Workload, budgets: Sequence[Budget]) -> bool:
    return any(budget.selector.matches(each.template_labels) for budget in budgets)


def _without(facts: CheckFacts, without: list[Workload], of: int) -> Finding:
    by_namespace = Counter(each.namespace for each in without)
    needed, why = _needed(facts.cluster, without)
    unread = facts.cluster.unread(*_OF_NEEDED)
    most = sorted(without, key=lambda each: (-each.replicas, each.key))
    example = next((each for each in most if each in needed), most[0])
    words = ("kubectl", "create", "poddisruptionbudget", example.name, "-n", example.namespace)
    command = shell(*words, f"--selector={example.selector}", "--max-unavailable=1")
    namespaces = sorted(by_namespace, key=lambda name: (-by_namespace[name], name))
    found = Finding.of(
        "budget-missing/needed" if why else "budget-missing/unknown" if unread else "budget-missing/advice",
        cluster_of(facts),
        (
            f"by namespace: {listed([f'{name} {by_namespace[name]}' for name in namespaces])}",
            f"with the most replicas: {listed([f'{each.kind} {each.key} ({each.replicas})' for each in most])}",
        ),
        without_count=len(without),
        of=of,
        needed=why,
        lacking=", ".join(each.resource.full_name for each in unread),
        command=command if example.selector.valid and example.selector.requirements else "",
    )
    return replace(found, lacks=tuple(each.lack for each in unread)) if found.status is Status.UNKNOWN else found


UNHEALTHY_CHECKS = (
    UpgradeCheck.of("pods-bouncing", _bouncing),
    UpgradeCheck.of("budget-missing", _unguarded, *_OF_NEEDED),
)
