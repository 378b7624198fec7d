"""Pods that the user named to be deleted past their budgets (``--delete-past-budget``): what that costs is said."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.core.model.budgets import Budget
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.codes import Code
from kubectl_eksdoc.core.model.findings import Finding, Remedy, Severity, Status, Subject
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.model.spelling import matches
from kubectl_eksdoc.core.plan.drain.manners import Manner, Means
from kubectl_eksdoc.core.plan.drain.outcome import PodVerdict
from kubectl_eksdoc.core.plan.drain.policy import DrainPolicy
from kubectl_eksdoc.core.plan.drain.survey import Survey
from kubectl_eksdoc.core.plan.drain.targets import natural
from kubectl_eksdoc.core.plan.drain.verdicts.said import Said, where
from kubectl_eksdoc.core.rules.budgets import SYNC_FAILED
from kubectl_eksdoc.errors import UsageError


def past_budgets(survey: Survey, pod: Pod, guards: Sequence[Budget]) -> Said:
    """`pod`, which one of `guards` does not let go, or all of them together, is deleted all the same."""
    costs = "; ".join(_cost(survey, budget) for budget in guards)
    message = f"it is deleted past {_named(guards)}, because --delete-past-budget names it: {costs}"
    finding = Finding(
        Code.of("past-budget"),
        Severity.HIGH,
        Status.PASS,
        Subject("Pod", pod.name, pod.namespace),
        message,
        (where(pod),),
        (Remedy("Agree on the moment with its owners: the budget is their word, and nobody else is asked."),),
    )
    return Said(PodVerdict.EVICT, message, Code.of("past-budget"), finding, finding.remedy, Manner(Means.DELETION))


def check_deleted(cluster: Cluster, policy: DrainPolicy) -> None:
    """
    Raises:
        UsageError: a pod that is to be deleted past its budget does not exist.
    """
    known = {pod.key for pod in cluster.pods} if policy.delete_past_budget else set()
    missing = sorted(policy.delete_past_budget - known, key=natural)
    if missing:
        close = matches(missing[0], known)
        hint = f"close to it: {', '.join(close)}" if close else "see what there is: kubectl get pods -A"
        raise UsageError(f"--delete-past-budget names {missing[0]}, and there is no such pod", hint)


def _cost(survey: Survey, budget: Budget) -> str:
    """How many healthy pods are left once all that are named have gone, of how many that are wanted."""
    if budget.condition_reason == SYNC_FAILED:
        return f"how many pods {budget.key} wants is not known, its controller cannot compute it"
    going = sum(
        pod.ready and pod.key in survey.policy.delete_past_budget
        for pod in survey.guards.pods(budget)
        if pod.node in survey.pods_on and not pod.deleting
    )
    status = budget.status
    are = "is" if (left := max(0, status.current - going)) == 1 else "are"
    return f"{left} of {status.expected} {are} healthy then, {budget.key} wants {status.desired}"


def _named(guards: Sequence[Budget]) -> str:
    keys = " and ".join(budget.key for budget in guards)
    return f"its budget {keys}" if len(guards) == 1 else f"its budgets {keys}"
