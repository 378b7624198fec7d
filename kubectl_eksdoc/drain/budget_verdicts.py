"""Verdict on each PodDisruptionBudget in this drain: how many of its pods may go at once, or why none can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kubectl_eksdoc.errors import UsageError, close_matches
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes import budgets
from kubectl_eksdoc.kubernetes.budgets import SYNC_FAILED
from kubectl_eksdoc.kubernetes.evictions import EvictionCause, budget_refusal, needs_budget
from kubectl_eksdoc.model import connection, kinds
from kubectl_eksdoc.model.budgets import Budget, BudgetStatus
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Code, Finding, Severity, Subject
from kubectl_eksdoc.model.nodes import Pod

from .budget_remedies import remedies_for_budget, touch_budget_remedy
from .filter_verdicts import restarted_workload
from .nodes import SCALED_KINDS, DrainContext, natural_key
from .outcome import BudgetVerdict
from .policy import DrainPolicy, EvictionMethod, EvictionMode
from .rule_results import (
    RuleResult,
    assume_fixed_finding,
    evidence_line,
    is_assumed_fixed,
    unknown_finding,
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
    shared_pods: tuple[Pod, ...]  # also selected by another budget
    blocked: BudgetVerdict | None
    code: Code | None
    per_round: int
    recomputed: BudgetStatus | None
    other_verdicts: tuple[BudgetVerdict, ...]
    explanation: str
    owner: str
    findings: tuple[Finding, ...]
    past_budget: tuple[Pod, ...] = ()

    @property
    def rounds(self) -> int:
        """Rounds that all its counted pods take, 0 when none can go."""
        return -(-len(self.counted) // self.per_round) if self.per_round else 0

    @property
    def max_away(self) -> int:
        """The most of its pods that may be away at once: now, or when all others are Ready again."""
        status = self.recomputed or self.budget.status
        return max(self.per_round, status.expected - status.desired)

    def counts(self, pod: Pod) -> bool:
        """Whether evicting `pod`, which it selects, counts against it."""
        return pod.uid in self.counted_uids

    @property
    def verdict(self) -> BudgetVerdict:
        if self.shared_pods:
            return BudgetVerdict.SEVERAL_BUDGETS
        if self.blocked is not None:
            return self.blocked
        if BudgetVerdict.DISAGREES in self.other_verdicts:
            return BudgetVerdict.DISAGREES
        return BudgetVerdict.SERIAL if self.rounds > 1 else BudgetVerdict.FITS


def judge_budget(context: DrainContext, budget: Budget, on_targets: Sequence[Pod]) -> JudgedBudget:
    """Judge `budget` for the pods it selects among those a drain would evict."""
    shared_uids, named_keys = context.pod_budgets.shared, context.policy.delete_past_budget
    evictable = on_targets
    if context.policy.surge_singles:
        evictable = [pod for pod in on_targets if restarted_workload(context, pod) is None]
    shared_pods = (
        tuple([pod for pod in evictable if pod.uid in shared_uids and pod.key not in named_keys]) if shared_uids else ()
    )
    counted = tuple(
        [pod for pod in evictable if needs_budget(pod, budget) and not (shared_uids and pod.uid in shared_uids)]
    )
    pods = context.pod_budgets.selected_pods(budget)
    result = _recompute(context, budget, pods)
    recomputed = result.status if isinstance(result, budgets.ComputedStatus) else None
    disagrees = recomputed is not None and recomputed != budget.status and not _is_status_unreliable(budget)
    allowed = budget.status.allowed if recomputed is None else min(budget.status.allowed, recomputed.allowed)
    blocked, code = _blocking_verdict(context, budget, pods, allowed, disagrees)
    same_name_holds = budgets.same_name_holds(budget, pods, context.now)
    if (
        same_name_holds
        and blocked is BudgetVerdict.BLOCKED_NOW
        and (allowed_later := _allowed_after_holds(context, budget, pods, same_name_holds)) > 0
    ):
        allowed, blocked, code = allowed_later, None, None
    past_budget = tuple([pod for pod in counted if pod.key in named_keys]) if named_keys and blocked is not None else ()
    if past_budget:
        counted = tuple([pod for pod in counted if pod not in past_budget])
    explanation = _explain_status(budget, pods, blocked, recomputed, disagrees)
    judged = JudgedBudget(
        budget=budget,
        on_targets=tuple(on_targets),
        counted=counted,
        counted_uids=frozenset([pod.uid for pod in counted]),
        shared_pods=shared_pods,
        blocked=blocked if counted else None,
        code=code if counted else None,
        per_round=0 if blocked else max(allowed, 0),
        recomputed=recomputed,
        other_verdicts=_other_verdicts(blocked if shared_pods or not counted else None, disagrees),
        explanation=explanation,
        owner=_owners_text(context, pods),
        findings=(),
        past_budget=past_budget,
    )
    blocking_findings = _blocking_findings(context, judged)
    if is_assumed_fixed(judged.code, context.policy):
        blocking_findings = tuple(
            fixed_finding
            for finding in blocking_findings
            if (fixed_finding := assume_fixed_finding(finding)) is not None
        )
        judged = replace(judged, blocked=None, code=None, per_round=max(allowed, 1))
    hold_findings = _same_name_hold_findings(judged, same_name_holds) if same_name_holds and counted else ()
    findings = (*blocking_findings, *hold_findings, *_other_findings(context, judged, result, disagrees))
    return replace(judged, findings=findings) if findings else judged


def _allowed_after_holds(
    context: DrainContext, budget: Budget, pods: Sequence[Pod], holds: Sequence[budgets.SameNameHold]
) -> int:
    """How many disruptions it allows after its same-name holds have ended."""
    names = {hold.pod for hold in holds}
    disrupted = {name: granted for name, granted in budget.disrupted.items() if name not in names}
    result = _recompute(context, replace(budget, disrupted=disrupted), pods)
    return result.status.allowed if isinstance(result, budgets.ComputedStatus) else 0


def _same_name_hold_findings(judged: JudgedBudget, holds: Sequence[budgets.SameNameHold]) -> tuple[Finding, ...]:
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


def _recompute(context: DrainContext, budget: Budget, pods: Sequence[Pod]) -> budgets.BudgetResult:
    if context.cluster.not_read(kinds.PODS):
        return budgets.StatusUnknown(kinds.PODS.full_name, "it may select pods that are not known")
    return budgets.recompute(budget, pods, context.scales, context.now)


def _is_status_unreliable(budget: Budget) -> bool:
    """Whether its status was computed for another spec, or could not be computed: then a difference is expected."""
    return _is_status_outdated(budget) or budget.condition_reason == budgets.SYNC_FAILED


def _is_status_outdated(budget: Budget) -> bool:
    return budget.observed_generation < budget.generation


def _blocking_verdict(
    context: DrainContext, budget: Budget, pods: Sequence[Pod], allowed: int, disagrees: bool
) -> tuple[BudgetVerdict | None, Code | None]:
    """Why an eviction that it must count is refused; lasting reasons before temporary ones."""
    refusal = budget_refusal(budget)
    if budget.condition_reason == budgets.SYNC_FAILED and refusal is not None:
        return BudgetVerdict.BLOCKED_FOREVER, Code.of("budget-sync-failed")
    verdict: BudgetVerdict | None = None
    if allowed <= 0 and _allowed_at_full_health(context, budget, pods) <= 0:
        verdict = BudgetVerdict.BLOCKED_FOREVER
    elif refusal is not None and refusal.eviction_cause is EvictionCause.STALE:
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


def _allowed_at_full_health(context: DrainContext, budget: Budget, pods: Sequence[Pod]) -> int:
    """Disruptions allowed if all its pods were Ready; where owners are not known, by the controller's own count.

    A count for another spec proves nothing: the result is then 1, as the budget may allow one.
    """
    full = budgets.allowed_at_full_health(budget, pods, context.scales)
    if full is not None:
        return full
    return 1 if _is_status_outdated(budget) else budget.status.expected - budget.status.desired


def _other_verdicts(blocked: BudgetVerdict | None, disagrees: bool) -> tuple[BudgetVerdict, ...]:
    verdicts = [verdict for verdict in (blocked, BudgetVerdict.DISAGREES if disagrees else None) if verdict is not None]
    return tuple(dict.fromkeys(verdicts))


def _explain_status(
    budget: Budget,
    pods: Sequence[Pod],
    blocked: BudgetVerdict | None,
    recomputed: BudgetStatus | None,
    disagrees: bool,
) -> str:
    """Its numbers in a sentence: those of its status, unless that was written for another spec."""
    status = recomputed if _is_status_outdated(budget) and recomputed is not None else budget.status
    numbers = f"{budget.rule}: {status.current} healthy of {status.expected}, {status.desired} wanted"
    note = budgets.rounding_note(budget, status.expected)
    parts = [f"{numbers} ({note})" if note else numbers]
    if budget.condition_reason == budgets.SYNC_FAILED:
        parts = [f"{budget.rule}: the controller cannot compute it: {budget.condition_message or 'SyncFailed'}"]
    elif blocked is not None and _is_status_outdated(budget):
        parts.append(f"status is of generation {budget.observed_generation}, the spec is {budget.generation}")
    elif blocked is BudgetVerdict.UNHEALTHY:
        not_ready_count = sum(1 for pod in pods if not pod.ready and not pod.finished)
        parts.append(f"{not_ready_count} of its {len(pods)} pods not Ready")
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


def _owners_text(context: DrainContext, pods: Sequence[Pod]) -> str:
    pods_by_owner = {pod.owner.uid if pod.owner is not None else pod.uid: pod for pod in pods}
    subjects = [context.owner_subject(pod) for pod in pods_by_owner.values()]
    owners = sorted({f"{subject.kind}/{subject.name}" for subject in subjects})
    if not owners:
        return ""
    return owners[0] if len(owners) == 1 else f"{owners[0]} and {len(owners) - 1} more"


def _blocking_findings(context: DrainContext, judged: JudgedBudget) -> tuple[Finding, ...]:
    if judged.blocked is None or judged.code is None:
        return ()
    budget, code = judged.budget, judged.code.name
    evidence = [
        f"{pod.key} is not Ready: {pod.not_ready_because or 'no reason given'}"
        for pod in context.pod_budgets.selected_pods(budget)
        if not pod.ready and not pod.finished and not pod.deleting
    ]
    evidence += [f"guards {pod.key} on {pod.node}" for pod in judged.counted]
    return (
        Finding.of(
            f"{code}/budget-blocks",
            Subject("PodDisruptionBudget", budget.name, budget.namespace),
            tuple(evidence),
            remedy=remedies_for_budget(context, budget, judged.blocked, judged.code, judged.counted),
            why=judged.explanation,
        ),
    )


def _other_findings(
    context: DrainContext, judged: JudgedBudget, result: budgets.BudgetResult, disagrees: bool
) -> tuple[Finding, ...]:
    budget, findings = judged.budget, []
    subject = Subject("PodDisruptionBudget", budget.name, budget.namespace)
    if disagrees and judged.blocked is not BudgetVerdict.DISAGREES:
        findings.append(
            Finding.of("budget-disagrees", subject, remedy=(touch_budget_remedy(budget),), why=judged.explanation)
        )
    if isinstance(result, budgets.StatusUnknown) and judged.counted:
        not_read = context.cluster.not_read(kinds.PODS, *SCALED_KINDS)
        if not_read:
            findings.append(
                unknown_finding(
                    "budget-disagrees",
                    not_read,
                    severity=Severity.LOW,
                    evidence=(f"budget {budget.key}",),
                    source=context.cluster.source,
                )
            )
    return tuple(findings)


def several_budgets_finding(context: DrainContext, pod: Pod, pod_budgets: Sequence[Budget]) -> Finding:
    """The finding for a pod that more than one budget selects."""
    names = [budget.name for budget in pod_budgets]
    kept_name, dropped_name = names[0], names[-1]
    return Finding.of(
        "pod-several-budgets",
        context.owner_subject(pod),
        (f"pod {pod.key} on {pod.node}",),
        names_count=len(names),
        names=", ".join(names),
        drop=dropped_name,
        keep=kept_name,
        restore=connection.shell("kubectl", "apply", "-f", connection.file_name(dropped_name)),
        command=connection.in_sequence(
            connection.save_command("pdb", dropped_name, pod.namespace),
            connection.kubectl("delete", "pdb", dropped_name, pod.namespace),
        ),
    )


# Pods that are deleted past their budgets (``--delete-past-budget``): the findings report the cost.


def past_budgets_result(context: DrainContext, pod: Pod, pod_budgets: Sequence[Budget]) -> RuleResult:
    """The result for `pod`, which is deleted although one of its budgets, or all of them together, blocks its
    eviction."""
    costs = "; ".join(_deletion_cost(context, budget) for budget in pod_budgets)
    subject = Subject("Pod", pod.name, pod.namespace)
    finding = Finding.of("past-budget", subject, (evidence_line(pod),), budgets=_budget_names(pod_budgets), costs=costs)
    return RuleResult.of(finding, EvictionMode(EvictionMethod.DELETE))


def check_past_budget_pods(cluster: Cluster, policy: DrainPolicy) -> None:
    """
    Raises:
        UsageError: a pod of ``--delete-past-budget`` does not exist.
    """
    pod_keys = {pod.key for pod in cluster.pods} if policy.delete_past_budget else set()
    missing = sorted(policy.delete_past_budget - pod_keys, key=natural_key)
    if missing:
        similar = close_matches(missing[0], pod_keys)
        hint = f"close to it: {', '.join(similar)}" if similar else "see what there is: kubectl get pods -A"
        raise UsageError(f"--delete-past-budget names {missing[0]}, and there is no such pod", hint)


def _deletion_cost(context: DrainContext, budget: Budget) -> str:
    """How many healthy pods remain after all named pods are deleted, of how many expected, and how many are desired."""
    if budget.condition_reason == SYNC_FAILED:
        return f"how many pods {budget.key} wants is not known, its controller cannot compute it"
    deleted_count = sum(
        pod.ready and pod.key in context.policy.delete_past_budget
        for pod in context.pod_budgets.selected_pods(budget)
        if pod.node in context.pods_on and not pod.deleting
    )
    status = budget.status
    verb = "is" if (remaining := max(0, status.current - deleted_count)) == 1 else "are"
    return f"{remaining} of {status.expected} {verb} healthy then, {budget.key} wants {status.desired}"


def _budget_names(pod_budgets: Sequence[Budget]) -> str:
    keys = " and ".join(budget.key for budget in pod_budgets)
    return f"its budget {keys}" if len(pod_budgets) == 1 else f"its budgets {keys}"
