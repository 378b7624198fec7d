"""Verdict on each PodDisruptionBudget in this drain: how many of its pods may go at once, or why none can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kubectl_eksdoc.errors import UsageError, matches
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes import budgets
from kubectl_eksdoc.kubernetes.budgets import SYNC_FAILED
from kubectl_eksdoc.kubernetes.evictions import EvictionCause, refused_by, uses_up
from kubectl_eksdoc.model import connection, kinds
from kubectl_eksdoc.model.budgets import Budget, BudgetStatus
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Code, Finding, Severity, Subject
from kubectl_eksdoc.model.nodes import Pod

from .budget_remedies import for_budget, touch_budget
from .filter_verdicts import restarted
from .nodes import SCALED, DrainContext, natural
from .outcome import BudgetVerdict
from .policy import DrainPolicy, EvictionMode, Means
from .rule_results import (
    RuleResult,
    finding_as_if_fixed,
    is_assumed_fixed,
    unknown,
    where,
)

_BLOCKING = {
    BudgetVerdict.BLOCKED_FOREVER: Code.of("budget-never-allows"),
    BudgetVerdict.UNHEALTHY: Code.of("budget-unhealthy"),
    BudgetVerdict.STALE: Code.of("budget-stale"),
    BudgetVerdict.BLOCKED_NOW: Code.of("budget-exhausted"),
    BudgetVerdict.DISAGREES: Code.of("budget-disagrees"),
}


@frozen
class JudgedBudget:
    """A budget judged against the pods that it selects on targets.

    `counted`: the pods whose eviction it must allow. The others (not Ready where its policy lets them go, finished,
    Pending, replaced by a rollout) go without it. `blocked`: why none of the counted pods can go; None when `per_round`
    of them can. `past_budget`: pods that the user named and that are deleted, as the budget would not let them go.
    """

    budget: Budget
    on_targets: tuple[Pod, ...]
    counted: tuple[Pod, ...]
    counted_uids: frozenset[str]
    shared: tuple[Pod, ...]  # also selected by another budget
    blocked: BudgetVerdict | None
    code: Code | None
    per_round: int
    recomputed: BudgetStatus | None
    also: tuple[BudgetVerdict, ...]
    why: str
    owner: str
    findings: tuple[Finding, ...]
    past: tuple[Pod, ...] = ()

    @property
    def rounds(self) -> int:
        """Rounds that all its counted pods take, 0 when none can go."""
        return -(-len(self.counted) // self.per_round) if self.per_round else 0

    @property
    def most_away(self) -> int:
        """The most of its pods that may be away at once: now, or when all others are Ready again."""
        status = self.recomputed or self.budget.status
        return max(self.per_round, status.expected - status.desired)

    def counts(self, pod: Pod) -> bool:
        """Whether evicting `pod`, which it selects, counts against it."""
        return pod.uid in self.counted_uids

    @property
    def verdict(self) -> BudgetVerdict:
        if self.shared:
            return BudgetVerdict.SEVERAL_BUDGETS
        if self.blocked is not None:
            return self.blocked
        if BudgetVerdict.DISAGREES in self.also:
            return BudgetVerdict.DISAGREES
        return BudgetVerdict.SERIAL if self.rounds > 1 else BudgetVerdict.FITS


def judge(survey: DrainContext, budget: Budget, on_targets: Sequence[Pod]) -> JudgedBudget:
    """Judge `budget` for the pods it selects among those a drain would evict."""
    several, named = survey.guards.shared, survey.policy.delete_past_budget
    asked = on_targets
    if survey.policy.surge_singles:
        asked = [pod for pod in on_targets if restarted(survey, pod) is None]
    shared = tuple([pod for pod in asked if pod.uid in several and pod.key not in named]) if several else ()
    counted = tuple([pod for pod in asked if uses_up(pod, budget) and not (several and pod.uid in several)])
    pods = survey.guards.pods(budget)
    result = _recomputed(survey, budget, pods)
    recomputed = result.status if isinstance(result, budgets.Computed) else None
    disagrees = recomputed is not None and recomputed != budget.status and not _lags(budget)
    allowed = budget.status.allowed if recomputed is None else min(budget.status.allowed, recomputed.allowed)
    blocked, code = _blocked(survey, budget, pods, allowed, disagrees)
    holds = budgets.same_name_holds(budget, pods, survey.now)
    if holds and blocked is BudgetVerdict.BLOCKED_NOW and (later := _once_over(survey, budget, pods, holds)) > 0:
        allowed, blocked, code = later, None, None
    past = tuple([pod for pod in counted if pod.key in named]) if named and blocked is not None else ()
    if past:
        counted = tuple([pod for pod in counted if pod not in past])
    why = _why(budget, pods, blocked, recomputed, disagrees)
    judged = JudgedBudget(
        budget=budget,
        on_targets=tuple(on_targets),
        counted=counted,
        counted_uids=frozenset([pod.uid for pod in counted]),
        shared=shared,
        blocked=blocked if counted else None,
        code=code if counted else None,
        per_round=0 if blocked else max(allowed, 0),
        recomputed=recomputed,
        also=_also(blocked if shared or not counted else None, disagrees),
        why=why,
        owner=_owner(survey, pods),
        findings=(),
        past=past,
    )
    blocking = _blocking_finding(survey, judged)
    if is_assumed_fixed(judged.code, survey.policy):
        blocking = tuple(f for found in blocking if (f := finding_as_if_fixed(found)) is not None)
        judged = replace(judged, blocked=None, code=None, per_round=max(allowed, 1))
    held = _held_by_name(judged, holds) if holds and counted else ()
    findings = (*blocking, *held, *_other_findings(survey, judged, result, disagrees))
    return replace(judged, findings=findings) if findings else judged


def _once_over(survey: DrainContext, budget: Budget, pods: Sequence[Pod], holds: Sequence[budgets.Hold]) -> int:
    """How many disruptions it allows after its same-name holds have ended."""
    names = {hold.pod for hold in holds}
    disrupted = {name: granted for name, granted in budget.disrupted.items() if name not in names}
    result = _recomputed(survey, replace(budget, disrupted=disrupted), pods)
    return result.status.allowed if isinstance(result, budgets.Computed) else 0


def _held_by_name(judged: JudgedBudget, holds: Sequence[budgets.Hold]) -> tuple[Finding, ...]:
    """This does not block: it ends at a known time."""
    budget, names = judged.budget, ", ".join(hold.pod for hold in holds)
    return (
        Finding.of(
            "budget-exhausted/counted-as-evicted",
            Subject("PodDisruptionBudget", budget.name, budget.namespace),
            names=names,
            until=holds[-1].until,
        ),
    )


def _recomputed(survey: DrainContext, budget: Budget, pods: Sequence[Pod]) -> budgets.Recomputed:
    if survey.cluster.unread(kinds.PODS):
        return budgets.CannotTell(kinds.PODS.full_name, "it may select pods that are not known")
    return budgets.recompute(budget, pods, survey.scales, survey.now)


def _lags(budget: Budget) -> bool:
    """Whether its status was computed for another spec, or could not be computed: then a difference is expected."""
    return _behind(budget) or budget.condition_reason == budgets.SYNC_FAILED


def _behind(budget: Budget) -> bool:
    return budget.observed_generation < budget.generation


def _blocked(
    survey: DrainContext, budget: Budget, pods: Sequence[Pod], allowed: int, disagrees: bool
) -> tuple[BudgetVerdict | None, Code | None]:
    """Why an eviction that it must count is refused; lasting reasons before temporary ones."""
    refusal = refused_by(budget)
    if budget.condition_reason == budgets.SYNC_FAILED and refusal is not None:
        return BudgetVerdict.BLOCKED_FOREVER, Code.of("budget-sync-failed")
    verdict: BudgetVerdict | None = None
    if allowed <= 0 and _full_health(survey, budget, pods) <= 0:
        verdict = BudgetVerdict.BLOCKED_FOREVER
    elif refusal is not None and refusal.why is EvictionCause.STALE:
        verdict = BudgetVerdict.STALE
    elif refusal is None and allowed > 0:
        verdict = None
    elif disagrees:
        verdict = BudgetVerdict.DISAGREES
    elif any(not pod.ready and not pod.finished and not pod.deleting for pod in pods):
        verdict = BudgetVerdict.UNHEALTHY
    else:
        verdict = BudgetVerdict.BLOCKED_NOW
    return verdict, _BLOCKING[verdict] if verdict else None


def _full_health(survey: DrainContext, budget: Budget, pods: Sequence[Pod]) -> int:
    """Disruptions allowed if all its pods were Ready; where owners are not known, by the controller's own count.

    A count for another spec proves nothing: the result is then 1, as the budget may allow one.
    """
    full = budgets.full_health_allowed(budget, pods, survey.scales)
    if full is not None:
        return full
    return 1 if _behind(budget) else budget.status.expected - budget.status.desired


def _also(blocked: BudgetVerdict | None, disagrees: bool) -> tuple[BudgetVerdict, ...]:
    found = [v for v in (blocked, BudgetVerdict.DISAGREES if disagrees else None) if v is not None]
    return tuple(dict.fromkeys(found))


def _why(
    budget: Budget,
    pods: Sequence[Pod],
    blocked: BudgetVerdict | None,
    recomputed: BudgetStatus | None,
    disagrees: bool,
) -> str:
    """Its numbers in a sentence: those of its status, unless that was written for another spec."""
    status = recomputed if _behind(budget) and recomputed is not None else budget.status
    numbers = f"{budget.rule}: {status.current} healthy of {status.expected}, {status.desired} wanted"
    note = budgets.rounding_note(budget, status.expected)
    parts = [f"{numbers} ({note})" if note else numbers]
    if budget.condition_reason == budgets.SYNC_FAILED:
        parts = [f"{budget.rule}: the controller cannot compute it: {budget.condition_message or 'SyncFailed'}"]
    elif blocked is not None and _behind(budget):
        parts.append(f"status is of generation {budget.observed_generation}, the spec is {budget.generation}")
    elif blocked is BudgetVerdict.UNHEALTHY:
        sick = sum(1 for pod in pods if not pod.ready and not pod.finished)
        parts.append(f"{sick} of its {len(pods)} pods not Ready")
    elif blocked is BudgetVerdict.BLOCKED_NOW and budget.disrupted:
        parts.append(f"{len(budget.disrupted)} granted evictions are under way")
    if blocked is not None and budget.always_allows_unhealthy:
        parts.append("pods that are not Ready go uncounted (AlwaysAllow)")
    if disagrees and recomputed is not None:
        parts.append(
            f"its pods say {recomputed.current} healthy of {recomputed.expected}, {recomputed.allowed} allowed; "
            f"its status says {status.allowed} allowed"
        )
    return "; ".join(parts)


def _owner(survey: DrainContext, pods: Sequence[Pod]) -> str:
    first = {pod.owner.uid if pod.owner is not None else pod.uid: pod for pod in pods}
    subjects = [survey.owner_subject(pod) for pod in first.values()]
    owners = sorted({f"{subject.kind}/{subject.name}" for subject in subjects})
    if not owners:
        return ""
    return owners[0] if len(owners) == 1 else f"{owners[0]} and {len(owners) - 1} more"


def _blocking_finding(survey: DrainContext, judged: JudgedBudget) -> tuple[Finding, ...]:
    if judged.blocked is None or judged.code is None:
        return ()
    budget, code = judged.budget, judged.code.name
    evidence = [
        f"{pod.key} is not Ready: {pod.not_ready_because or 'no reason given'}"
        for pod in survey.guards.pods(budget)
        if not pod.ready and not pod.finished and not pod.deleting
    ]
    evidence += [f"guards {pod.key} on {pod.node}" for pod in judged.counted]
    return (
        Finding.of(
            f"{code}/budget-blocks",
            Subject("PodDisruptionBudget", budget.name, budget.namespace),
            tuple(evidence),
            remedy=for_budget(survey, budget, judged.blocked, judged.code, judged.counted),
            why=judged.why,
        ),
    )


def _other_findings(
    survey: DrainContext, judged: JudgedBudget, result: budgets.Recomputed, disagrees: bool
) -> tuple[Finding, ...]:
    budget, found = judged.budget, []
    subject = Subject("PodDisruptionBudget", budget.name, budget.namespace)
    if disagrees and judged.blocked is not BudgetVerdict.DISAGREES:
        found.append(Finding.of("budget-disagrees", subject, remedy=(touch_budget(budget),), why=judged.why))
    if isinstance(result, budgets.CannotTell) and judged.counted:
        unread = survey.cluster.unread(kinds.PODS, *SCALED)
        if unread:
            found.append(
                unknown(
                    "budget-disagrees",
                    unread,
                    severity=Severity.LOW,
                    evidence=(f"budget {budget.key}",),
                    of=survey.cluster.source,
                )
            )
    return tuple(found)


def several_budgets(survey: DrainContext, pod: Pod, guards: Sequence[Budget]) -> Finding:
    """The finding for a pod that more than one budget selects."""
    names = [budget.name for budget in guards]
    keep, drop = names[0], names[-1]
    return Finding.of(
        "pod-several-budgets",
        survey.owner_subject(pod),
        (f"pod {pod.key} on {pod.node}",),
        names_count=len(names),
        names=", ".join(names),
        drop=drop,
        keep=keep,
        restore=connection.shell("kubectl", "apply", "-f", connection.file_of(drop)),
        command=connection.in_turn(
            connection.saved("pdb", drop, pod.namespace), connection.kubectl("delete", "pdb", drop, pod.namespace)
        ),
    )


# Pods that are deleted past their budgets (``--delete-past-budget``): the findings report the cost.


def past_budgets(survey: DrainContext, pod: Pod, guards: Sequence[Budget]) -> RuleResult:
    """The result for `pod`, which is deleted although one of its budgets, or all of them together, blocks its
    eviction."""
    costs = "; ".join(_cost(survey, budget) for budget in guards)
    subject = Subject("Pod", pod.name, pod.namespace)
    finding = Finding.of("past-budget", subject, (where(pod),), budgets=_named(guards), costs=costs)
    return RuleResult.of(finding, EvictionMode(Means.DELETION))


def check_deleted(cluster: Cluster, policy: DrainPolicy) -> None:
    """
    Raises:
        UsageError: a pod of ``--delete-past-budget`` does not exist.
    """
    known = {pod.key for pod in cluster.pods} if policy.delete_past_budget else set()
    missing = sorted(policy.delete_past_budget - known, key=natural)
    if missing:
        close = matches(missing[0], known)
        hint = f"close to it: {', '.join(close)}" if close else "see what there is: kubectl get pods -A"
        raise UsageError(f"--delete-past-budget names {missing[0]}, and there is no such pod", hint)


def _cost(survey: DrainContext, budget: Budget) -> str:
    """How many healthy pods remain after all named pods are deleted, of how many expected, and how many are desired."""
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
