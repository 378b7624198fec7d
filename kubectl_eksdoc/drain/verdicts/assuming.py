"""What-if: facts and verdicts as they would be if somebody had changed something. Each assumption is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from kubectl_eksdoc.drain.nodes import natural
from kubectl_eksdoc.drain.outcome import HOLDS, PodVerdict
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.verdicts.said import RuleResult
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.kubernetes.budgets import Computed, recompute, synced
from kubectl_eksdoc.kubernetes.guards import matching
from kubectl_eksdoc.kubernetes.replacement import Scales
from kubectl_eksdoc.model.budgets import Amount, Budget
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.findings import Finding, Status
from kubectl_eksdoc.model.pods import Pod


def with_assumed_budgets(cluster: Cluster, policy: DrainPolicy) -> Cluster:
    """`cluster` with the budgets of ``--assume-budget`` as maxUnavailable of so many, in sync.

    Raises:
        UsageError: there is no such budget.
    """
    wanted = dict(policy.assume_budgets)
    if not wanted:
        return cluster
    check_assumed(cluster, policy)
    guards, scales = matching(cluster.budgets, cluster.pods), Scales.of(cluster.workloads)

    def as_wanted(budget: Budget) -> Budget:
        return assumed(budget, wanted[budget.key], guards.pods(budget), scales, cluster.observed_at)

    budgets = tuple(as_wanted(budget) if budget.key in wanted else budget for budget in cluster.budgets)
    return replace(cluster, budgets=budgets, notes=(*cluster.notes, *assumption_notes(policy)))


def check_assumed(cluster: Cluster, policy: DrainPolicy) -> None:
    """
    Raises:
        UsageError: there is no such budget.
    """
    known = {budget.key for budget in cluster.budgets}
    missing = sorted({key for key, _ in policy.assume_budgets} - known, key=natural)
    if missing:
        raise UsageError(f"there is no budget {', '.join(missing)} to assume", "see what there is: kubectl get pdb -A")


def assumption_notes(policy: DrainPolicy) -> list[str]:
    """What is assumed of budgets, a sentence each."""
    return [f"assumed: budget {key} lets {count} of its pods be away" for key, count in sorted(policy.assume_budgets)]


def assumed(budget: Budget, away: int, pods: Sequence[Pod], scales: Scales, now: datetime) -> Budget:
    """`budget`, which selects `pods`, if it let `away` of them be away and were in sync."""
    loosened = replace(budget, min_available=None, max_unavailable=Amount(away))
    result = recompute(loosened, pods, scales, now)
    if isinstance(result, Computed):
        return synced(loosened, result)
    status = replace(budget.status, allowed=away)
    return replace(loosened, status=status, observed_generation=budget.generation, condition_reason="")


def is_assumed_fixed(code: Code | None, policy: DrainPolicy) -> bool:
    return code is not None and code.name in policy.assume_fixed


def as_if_fixed(told: Sequence[RuleResult], policy: DrainPolicy) -> list[RuleResult]:
    """`told` with what ``--assume-fixed`` names turned into remarks."""
    return [
        RuleResult(
            PodVerdict.EVICT, f"assumed fixed: {said.reason}", said.code, finding_as_if_fixed(said.finding), said.remedy
        )
        if said.verdict in HOLDS and is_assumed_fixed(said.code, policy)
        else said
        for said in told
    ]


def finding_as_if_fixed(finding: Finding | None) -> Finding | None:
    """The same, no longer in the way, and marked."""
    if finding is None:
        return None
    return replace(finding, status=Status.PASS, message=f"assumed fixed: {finding.message}", missing="")
