"""What to do about a budget that lets nothing go: each a sentence and a command that can be pasted."""

from __future__ import annotations

from kubectl_eksdoc.core.model import codes
from kubectl_eksdoc.core.model.budgets import Amount, Budget
from kubectl_eksdoc.core.model.codes import Code
from kubectl_eksdoc.core.model.findings import Remedy, When
from kubectl_eksdoc.core.model.workloads import Workload
from kubectl_eksdoc.core.plan.drain.result import BudgetVerdict
from kubectl_eksdoc.core.plan.drain.survey import Survey
from kubectl_eksdoc.core.rules.budgets import scaled

MAX_EXTRA_REPLICAS = 10
"""More replicas than this just to be able to drain is no advice."""


def for_budget(survey: Survey, budget: Budget, blocked: BudgetVerdict, code: Code) -> tuple[Remedy, ...]:
    """What frees the pods under `budget`, the least intrusive first."""
    if code is codes.BUDGET_SYNC_FAILED:
        return _without_scale(budget)
    if blocked is BudgetVerdict.BLOCKED_FOREVER:
        return _never_allows(survey, budget)
    if blocked is BudgetVerdict.UNHEALTHY:
        return _unhealthy(budget)
    if blocked is BudgetVerdict.DISAGREES:
        return (touch_budget(budget),)
    if blocked is BudgetVerdict.STALE:
        return (Remedy("Wait for the disruption controller and plan again.", _show(budget)), touch_budget(budget))
    return (
        Remedy(
            "Wait until its pods are back, then plan again.", f"kubectl get pdb {budget.name} -n {budget.namespace} -w"
        ),
    )


def touch_budget(budget: Budget) -> Remedy:
    """Any update of a budget makes the controller compute it again (disruption.go: updatePdb)."""
    return Remedy(
        "Make the controller compute it again: any update of the budget does.",
        f"kubectl annotate pdb {budget.name} -n {budget.namespace} --overwrite eksdoc.io/touched=$(date +%s)",
    )


def _never_allows(survey: Survey, budget: Budget) -> tuple[Remedy, ...]:
    owners = {top.uid: top for pod in survey.guards.pods(budget) if (top := survey.top_of(pod)) is not None}
    remedies: list[Remedy] = []
    if len(owners) == 1:
        (top,) = owners.values()
        remedies += _scale_up(survey, budget, top)
        if top.kind == "Deployment" and top.surges:
            remedies.append(
                Remedy(
                    "Once the nodes are cordoned, restart the rollout: new pods are Ready elsewhere before old "
                    "ones stop, and budgets do not hold a rollout back.",
                    f"kubectl rollout restart deployment/{top.name} -n {top.namespace}",
                )
            )
    remedies.append(_loosen(budget))
    return tuple(remedies)


def _scale_up(survey: Survey, budget: Budget, top: Workload) -> list[Remedy]:
    wanted = _replicas_that_allow_one(budget, top.replicas)
    if wanted is None or top.kind not in ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"):
        return []
    scaler = survey.autoscalers.get((top.namespace, top.kind, top.name))
    if scaler is not None and scaler.minimum < wanted:
        patch = _patch(minReplicas=wanted, maxReplicas=max(wanted, scaler.maximum))
        return [
            Remedy(
                f"Raise the minimum of autoscaler {scaler.name} to {wanted} (it is {scaler.minimum}, put it back "
                "afterwards): then one pod may go.",
                f"kubectl patch hpa {scaler.name} -n {top.namespace} --type merge -p '{patch}'",
            )
        ]
    return [
        Remedy(
            f"Scale {top.kind} {top.name} from {top.replicas} to {wanted} for the drain (and back afterwards): "
            "then one pod may go.",
            f"kubectl scale {top.kind.lower()} {top.name} -n {top.namespace} --replicas={wanted}",
        )
    ]


def _replicas_that_allow_one(budget: Budget, replicas: int) -> int | None:
    """The smallest number of replicas at which the budget allows a disruption, None when none does."""
    for wanted in range(replicas + 1, replicas + 1 + MAX_EXTRA_REPLICAS):
        if budget.max_unavailable is not None:
            allowed = scaled(budget.max_unavailable, wanted)
        elif budget.min_available is not None:
            allowed = wanted - scaled(budget.min_available, wanted)
        else:
            return None
        if allowed >= 1:
            return wanted
    return None


def _loosen(budget: Budget) -> Remedy:
    return Remedy(
        "Have its owners change the budget to let one pod go. " + _way_back(budget),
        _patch_budget(budget, _patch(minAvailable=None, maxUnavailable=1)),
        When.TOMORROW,
    )


def _way_back(budget: Budget) -> str:
    return (
        f"Way back: the same with '{_patch(minAvailable=budget.min_available, maxUnavailable=budget.max_unavailable)}'."
    )


def _patch_budget(budget: Budget, patch: str) -> str:
    return f"kubectl patch pdb {budget.name} -n {budget.namespace} --type merge -p '{patch}'"


def _patch(**spec: Amount | int | str | None) -> str:
    """A merge patch of a spec as JSON text; None removes the field. Strings are words that need no escape."""
    return f'{{"spec": {{{", ".join(f"{chr(34)}{key}{chr(34)}: {_json(value)}" for key, value in spec.items())}}}}}'


def _json(value: Amount | int | str | None) -> str:
    if value is None:
        return "null"
    text = str(value)
    return f'"{text}"' if isinstance(value, str) or text.endswith("%") else text


def _unhealthy(budget: Budget) -> tuple[Remedy, ...]:
    return (
        Remedy(
            "Make its pods Ready first: see why they are not.",
            f"kubectl describe pods -n {budget.namespace}{_selected(budget)}",
        ),
        Remedy(
            "Let pods that are not Ready go (Kubernetes 1.27 and later): they serve nobody.",
            _patch_budget(budget, _patch(unhealthyPodEvictionPolicy="AlwaysAllow")),
            When.TOMORROW,
        ),
    )


def _without_scale(budget: Budget) -> tuple[Remedy, ...]:
    return (
        Remedy(
            "Waiting does not help, whatever the API's message says. An absolute minAvailable needs no scale: use one. "
            + _way_back(budget),
            _patch_budget(budget, _patch(maxUnavailable=None, minAvailable=0)),
            When.TOMORROW,
        ),
        Remedy(
            "Let its pods finish, then plan again.",
            f"kubectl get pods -n {budget.namespace}{_selected(budget)} -w",
        ),
    )


def _show(budget: Budget) -> str:
    return f"kubectl get pdb {budget.name} -n {budget.namespace} -o yaml"


def _selected(budget: Budget) -> str:
    return f" -l '{budget.selector}'" if budget.selector.requirements else ""
