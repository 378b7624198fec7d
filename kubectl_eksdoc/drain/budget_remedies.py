"""Remedies for a PodDisruptionBudget that blocks evictions: each is a sentence and a command that can be pasted.

A changed budget or number of replicas is first checked with the disruption controller's arithmetic, and is only
proposed if it allows an eviction once all pods are Ready.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kubectl_eksdoc.kubernetes.budgets import full_health_allowed
from kubectl_eksdoc.kubernetes.replacement import Scales
from kubectl_eksdoc.model import connection
from kubectl_eksdoc.model.budgets import Amount, Budget
from kubectl_eksdoc.model.findings import Code, Remedy, clause
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.workloads import Workload

from . import filter_verdicts as filters
from .nodes import DrainContext
from .outcome import BudgetVerdict

MAX_EXTRA_REPLICAS = 10
"""More additional replicas than this are not proposed."""


def for_budget(
    survey: DrainContext, budget: Budget, blocked: BudgetVerdict, code: Code, counted: Sequence[Pod]
) -> tuple[Remedy, ...]:
    """Remedies that let `counted` go, the pods that count against `budget`; the least intrusive first."""
    if code is Code.of("budget-sync-failed"):
        return tuple(_without_scale(survey, budget, counted))
    if blocked is BudgetVerdict.BLOCKED_FOREVER:
        return tuple(_never_allows(survey, budget, counted))
    if blocked is BudgetVerdict.UNHEALTHY:
        return tuple(_unhealthy(budget, counted))
    if blocked is BudgetVerdict.DISAGREES:
        return (touch_budget(budget),)
    if blocked is BudgetVerdict.STALE:
        show = connection.kubectl("get", "pdb", budget.name, budget.namespace, "-o", "yaml")
        return (Remedy.of("wait-for-controller", command=show), touch_budget(budget))
    watch = connection.kubectl("get", "pdb", budget.name, budget.namespace, "-w")
    return (Remedy.of("wait-for-pods", command=watch),)


def touch_budget(budget: Budget) -> Remedy:
    """Any update of a budget makes the controller compute it again (disruption.go: updatePdb)."""
    annotate = connection.kubectl("annotate", "pdb", budget.name, budget.namespace, "--overwrite")
    return Remedy.of("touch-budget", annotate=annotate)


def _never_allows(survey: DrainContext, budget: Budget, counted: Sequence[Pod]) -> Iterable[Remedy]:
    pods = survey.guards.pods(budget)
    scaled_up = _scale_up(survey, budget, pods)
    if scaled_up is not None:
        yield scaled_up
    tops = {top.uid if top else "": top for top in map(survey.top_of, counted)}
    (top, *others) = tops.values()
    restart = filters.restart(top) if top is not None and not others else None
    if restart is not None:
        yield restart
        drained = filters.advice(survey, counted[0]) if len(counted) == 1 else None
        if drained is not None:
            yield drained
    loosened = _loosened(survey, budget)
    if loosened is not None:
        yield Remedy.of("loosen-budget", rollback=_change(budget, budget), command=_change(budget, loosened))
    else:
        yield Remedy.of(
            "remove-budget",
            rollback=connection.shell("kubectl", "apply", "-f", connection.file_of(budget.name)),
            command=connection.in_turn(
                connection.saved("pdb", budget.name, budget.namespace),
                connection.kubectl("delete", "pdb", budget.name, budget.namespace),
            ),
        )
    if _jobs_only(counted):
        yield _let_finish(budget)


def _scale_up(survey: DrainContext, budget: Budget, pods: Sequence[Pod]) -> Remedy | None:
    """More replicas for the workload of the budget that needs the fewest more; None where none helps."""
    best: tuple[int, int, Pod] | None = None
    for pod in {p.owner.uid: p for p in pods if p.owner is not None and not p.deleting}.values():
        counted = _counted_workload(survey, pod)
        wanted = _replicas_that_allow_one(survey, budget, pods, counted) if counted is not None else None
        if counted is not None and wanted is not None and (best is None or wanted - counted.replicas < best[0]):
            best = (wanted - counted.replicas, wanted, pod)
    return filters.more(survey, best[2], best[1], clause("/one-may-go")) if best is not None else None


def _counted_workload(survey: DrainContext, pod: Pod) -> Workload | None:
    """The workload whose desired replicas the controller adds up for this pod, if it is known."""
    top, owner = survey.top_of(pod), survey.top_owner(pod)
    if top is None or owner is None or top.kind not in filters.SCALED_BY_HAND:
        return None
    if top.uid != owner.uid and (owner.kind == "Deployment" or survey.wanted_by.get(owner.uid) != top.replicas):
        return None  # its real owner was not read, or spreads its replicas over several ReplicaSets
    return top


def _replicas_that_allow_one(survey: DrainContext, budget: Budget, pods: Sequence[Pod], top: Workload) -> int | None:
    """The smallest number of replicas of `workload` at which the budget allows a disruption; None when none does."""
    known = dict(_asked_for(survey.scales, pods))
    for wanted in range(top.replicas + 1, top.replicas + 1 + MAX_EXTRA_REPLICAS):
        known[top.kind, top.namespace, top.name] = replace(top, replicas=wanted)
        allowed = full_health_allowed(budget, pods, Scales(known, survey.scales.unread))
        if allowed is not None and allowed >= 1:
            return wanted
    return None


def _asked_for(scales: Scales, pods: Iterable[Pod]) -> Iterable[tuple[tuple[str, str, str], Workload]]:
    """The entries of the index that are read for `pods`: their owners, and the owners of these."""
    for pod in pods:
        owner = pod.owner
        for _ in range(2):
            key = (owner.kind, pod.namespace, owner.name) if owner is not None else None
            held = scales.by_name.get(key) if key is not None else None
            if key is None or held is None:
                break
            yield key, held
            owner = held.owner


def _loosened(survey: DrainContext, budget: Budget, *, without_scale: bool = False) -> Budget | None:
    """The budget changed so that it allows exactly one disruption; None where no rule does.

    maxUnavailable follows later changes of scale, so it is preferred. It is not used `without_scale`, where the
    controller reports that it cannot compute it.
    """
    pods = survey.guards.pods(budget)
    nothing_wanted = replace(budget, min_available=Amount(0), max_unavailable=None)
    all_of_them = full_health_allowed(nothing_wanted, pods, survey.scales) or 0
    one_away = replace(budget, min_available=None, max_unavailable=Amount(1))
    all_but_one = replace(nothing_wanted, min_available=Amount(max(0, all_of_them - 1)))
    for candidate in (all_but_one,) if without_scale else (one_away, all_but_one):
        if full_health_allowed(candidate, pods, survey.scales) == 1:
            return candidate
    return None


def _change(budget: Budget, to: Budget) -> str:
    return connection.patch("pdb", budget.name, budget.namespace, _rule(to))


def _rule(budget: Budget) -> str:
    """A merge patch of the rule of `budget` as JSON text; null removes a field."""
    low, high = _json(budget.min_available), _json(budget.max_unavailable)
    return f'{{"spec": {{"minAvailable": {low}, "maxUnavailable": {high}}}}}'


def _json(amount: Amount | None) -> str:
    if amount is None:
        return "null"
    return f'"{amount}"' if amount.percent else str(amount)


def _unhealthy(budget: Budget, counted: Sequence[Pod]) -> Iterable[Remedy]:
    shown = connection.shell("kubectl", "describe", "pods", "-n", budget.namespace, *_selected(budget))
    yield Remedy.of("ready-pods", command=shown)
    if not budget.always_allows_unhealthy and any(not pod.ready for pod in counted):
        let_go = '{"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}}'
        yield Remedy.of("unready-go", command=connection.patch("pdb", budget.name, budget.namespace, let_go))


def _without_scale(survey: DrainContext, budget: Budget, counted: Sequence[Pod]) -> Iterable[Remedy]:
    loosened = _loosened(survey, budget, without_scale=True)
    if loosened is not None:
        yield Remedy.of("absolute-budget", rollback=_change(budget, budget), command=_change(budget, loosened))
    else:
        show = connection.kubectl("describe", "pdb", budget.name, budget.namespace)
        yield Remedy.of("fix-budget", command=show)
    if _jobs_only(counted):
        yield _let_finish(budget)


def _jobs_only(pods: Sequence[Pod]) -> bool:
    return all(pod.owner is not None and (pod.owner.group, pod.owner.kind) == ("batch", "Job") for pod in pods)


def _let_finish(budget: Budget) -> Remedy:
    watched = connection.shell("kubectl", "get", "pods", "-n", budget.namespace, *_selected(budget), "-w")
    return Remedy.of("let-finish", command=watched)


def _selected(budget: Budget) -> tuple[str, ...]:
    return ("-l", str(budget.selector)) if budget.selector.requirements else ()
