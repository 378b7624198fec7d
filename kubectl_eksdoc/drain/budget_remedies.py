"""Remedies for a PodDisruptionBudget that blocks evictions: each is a sentence and a command that can be pasted.

A changed budget or number of replicas is first checked with the disruption controller's arithmetic, and is only
proposed if it allows an eviction once all pods are Ready.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kubectl_eksdoc.kubernetes.budgets import allowed_at_full_health
from kubectl_eksdoc.kubernetes.replacement import ScaleIndex
from kubectl_eksdoc.model import connection
from kubectl_eksdoc.model.budgets import Budget, IntOrPercent
from kubectl_eksdoc.model.findings import Code, Remedy, clause
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.workloads import Workload

from . import filter_verdicts as filters
from .nodes import DrainContext
from .outcome import BudgetVerdict

MAX_EXTRA_REPLICAS = 10
"""More additional replicas than this are not proposed."""


def remedies_for_budget(
    context: DrainContext, budget: Budget, verdict: BudgetVerdict, code: Code, counted: Sequence[Pod]
) -> tuple[Remedy, ...]:
    """Remedies that let `counted` go, the pods that count against `budget`; the least intrusive first."""
    if code is Code.of("budget-sync-failed"):
        return tuple(_sync_failed_remedies(context, budget, counted))
    if verdict is BudgetVerdict.BLOCKED_FOREVER:
        return tuple(_never_allows_remedies(context, budget, counted))
    if verdict is BudgetVerdict.UNHEALTHY:
        return tuple(_unhealthy_remedies(budget, counted))
    if verdict is BudgetVerdict.DISAGREES:
        return (touch_budget_remedy(budget),)
    if verdict is BudgetVerdict.STALE:
        show_command = connection.kubectl("get", "pdb", budget.name, budget.namespace, "-o", "yaml")
        return (Remedy.of("wait-for-controller", command=show_command), touch_budget_remedy(budget))
    watch_command = connection.kubectl("get", "pdb", budget.name, budget.namespace, "-w")
    return (Remedy.of("wait-for-pods", command=watch_command),)


def touch_budget_remedy(budget: Budget) -> Remedy:
    """Any update of a budget makes the controller compute it again (disruption.go: updatePdb)."""
    annotate_command = connection.kubectl("annotate", "pdb", budget.name, budget.namespace, "--overwrite")
    return Remedy.of("touch-budget", annotate=annotate_command)


def _never_allows_remedies(context: DrainContext, budget: Budget, counted: Sequence[Pod]) -> Iterable[Remedy]:
    pods = context.pod_budgets.selected_pods(budget)
    scaled_up = _scale_up_remedy(context, budget, pods)
    if scaled_up is not None:
        yield scaled_up
    workloads = {workload.uid if workload else "": workload for workload in map(context.top_workload, counted)}
    (workload, *others) = workloads.values()
    rollout_remedy = filters.restart_remedy(workload) if workload is not None and not others else None
    if rollout_remedy is not None:
        yield rollout_remedy
        surge_option = filters.surge_remedy(context, counted[0]) if len(counted) == 1 else None
        if surge_option is not None:
            yield surge_option
    loosened_budget = _loosen_budget(context, budget)
    if loosened_budget is not None:
        yield Remedy.of(
            "loosen-budget", rollback=_patch_command(budget, budget), command=_patch_command(budget, loosened_budget)
        )
    else:
        yield Remedy.of(
            "remove-budget",
            rollback=connection.shell("kubectl", "apply", "-f", connection.file_name(budget.name)),
            command=connection.in_sequence(
                connection.save_command("pdb", budget.name, budget.namespace),
                connection.kubectl("delete", "pdb", budget.name, budget.namespace),
            ),
        )
    if _are_all_jobs(counted):
        yield _let_finish_remedy(budget)


def _scale_up_remedy(context: DrainContext, budget: Budget, pods: Sequence[Pod]) -> Remedy | None:
    """More replicas for the workload of the budget that needs the fewest more; None where none helps."""
    best: tuple[int, int, Pod] | None = None
    for pod in {p.owner.uid: p for p in pods if p.owner is not None and not p.deleting}.values():
        counted = _counted_workload(context, pod)
        replicas = _replicas_that_allow_one(context, budget, pods, counted) if counted is not None else None
        if counted is not None and replicas is not None and (best is None or replicas - counted.replicas < best[0]):
            best = (replicas - counted.replicas, replicas, pod)
    return filters.scale_remedy(context, best[2], best[1], clause("/one-may-go")) if best is not None else None


def _counted_workload(context: DrainContext, pod: Pod) -> Workload | None:
    """The workload whose desired replicas the controller adds up for this pod, if it is known."""
    workload, owner = context.top_workload(pod), context.top_owner(pod)
    if workload is None or owner is None or workload.kind not in filters.SCALABLE_KINDS:
        return None
    if workload.uid != owner.uid and (
        owner.kind == "Deployment" or context.desired_replicas.get(owner.uid) != workload.replicas
    ):
        return None  # its real owner was not read, or spreads its replicas over several ReplicaSets
    return workload


def _replicas_that_allow_one(
    context: DrainContext, budget: Budget, pods: Sequence[Pod], workload: Workload
) -> int | None:
    """The smallest number of replicas of `workload` at which the budget allows a disruption; None when none does."""
    workloads = dict(_owners_of_pods(context.scales, pods))
    for replica_count in range(workload.replicas + 1, workload.replicas + 1 + MAX_EXTRA_REPLICAS):
        workloads[workload.kind, workload.namespace, workload.name] = replace(workload, replicas=replica_count)
        allowed = allowed_at_full_health(budget, pods, ScaleIndex(workloads, context.scales.unread))
        if allowed is not None and allowed >= 1:
            return replica_count
    return None


def _owners_of_pods(scales: ScaleIndex, pods: Iterable[Pod]) -> Iterable[tuple[tuple[str, str, str], Workload]]:
    """The entries of the index that are read for `pods`: their owners, and the owners of these."""
    for pod in pods:
        owner = pod.owner
        for _ in range(2):
            key = (owner.kind, pod.namespace, owner.name) if owner is not None else None
            workload = scales.by_name.get(key) if key is not None else None
            if key is None or workload is None:
                break
            yield key, workload
            owner = workload.owner


def _loosen_budget(context: DrainContext, budget: Budget, *, without_scale: bool = False) -> Budget | None:
    """The budget changed so that it allows exactly one disruption; None where no rule does.

    maxUnavailable follows later changes of scale, so it is preferred. It is not used `without_scale`, where the
    controller reports that it cannot compute it.
    """
    pods = context.pod_budgets.selected_pods(budget)
    zero_available = replace(budget, min_available=IntOrPercent(0), max_unavailable=None)
    full_count = allowed_at_full_health(zero_available, pods, context.scales) or 0
    one_away = replace(budget, min_available=None, max_unavailable=IntOrPercent(1))
    all_but_one = replace(zero_available, min_available=IntOrPercent(max(0, full_count - 1)))
    for candidate in (all_but_one,) if without_scale else (one_away, all_but_one):
        if allowed_at_full_health(candidate, pods, context.scales) == 1:
            return candidate
    return None


def _patch_command(budget: Budget, desired: Budget) -> str:
    return connection.patch("pdb", budget.name, budget.namespace, _rule_patch(desired))


def _rule_patch(budget: Budget) -> str:
    """A merge patch of the rule of `budget` as JSON text; null removes a field."""
    min_available, max_unavailable = _json_amount(budget.min_available), _json_amount(budget.max_unavailable)
    return f'{{"spec": {{"minAvailable": {min_available}, "maxUnavailable": {max_unavailable}}}}}'


def _json_amount(amount: IntOrPercent | None) -> str:
    if amount is None:
        return "null"
    return f'"{amount}"' if amount.percent else str(amount)


def _unhealthy_remedies(budget: Budget, counted: Sequence[Pod]) -> Iterable[Remedy]:
    describe_command = connection.shell("kubectl", "describe", "pods", "-n", budget.namespace, *_selector_args(budget))
    yield Remedy.of("ready-pods", command=describe_command)
    if not budget.always_allows_unhealthy and any(not pod.ready for pod in counted):
        always_allow_patch = '{"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}}'
        yield Remedy.of(
            "unready-go", command=connection.patch("pdb", budget.name, budget.namespace, always_allow_patch)
        )


def _sync_failed_remedies(context: DrainContext, budget: Budget, counted: Sequence[Pod]) -> Iterable[Remedy]:
    loosened_budget = _loosen_budget(context, budget, without_scale=True)
    if loosened_budget is not None:
        yield Remedy.of(
            "absolute-budget", rollback=_patch_command(budget, budget), command=_patch_command(budget, loosened_budget)
        )
    else:
        describe_command = connection.kubectl("describe", "pdb", budget.name, budget.namespace)
        yield Remedy.of("fix-budget", command=describe_command)
    if _are_all_jobs(counted):
        yield _let_finish_remedy(budget)


def _are_all_jobs(pods: Sequence[Pod]) -> bool:
    return all(pod.owner is not None and (pod.owner.group, pod.owner.kind) == ("batch", "Job") for pod in pods)


def _let_finish_remedy(budget: Budget) -> Remedy:
    watch_command = connection.shell("kubectl", "get", "pods", "-n", budget.namespace, *_selector_args(budget), "-w")
    return Remedy.of("let-finish", command=watch_command)


def _selector_args(budget: Budget) -> tuple[str, ...]:
    return ("-l", str(budget.selector)) if budget.selector.requirements else ()
