"""Results of rules about pods, the worst of which is the pod's verdict; and what-if assumptions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.budgets import ComputedStatus, recompute, with_result
from kubectl_eksdoc.kubernetes.guards import index_budgets
from kubectl_eksdoc.kubernetes.replacement import ScaleIndex
from kubectl_eksdoc.model.budgets import Budget, IntOrPercent
from kubectl_eksdoc.model.cluster import Cluster, Source
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.findings import ClauseName, Code, Finding, Remedy, Severity, Status, Subject, clause
from kubectl_eksdoc.model.kinds import KindRead, ReadState
from kubectl_eksdoc.model.nodes import Pod

from .nodes import natural_key
from .outcome import HOLDING_VERDICTS, PodVerdict
from .policy import PLAIN_EVICTION, DrainPolicy, EvictionMode

MAX_EVIDENCE = 12
"""Lines of evidence a merged finding shows; the rest is counted."""

MAX_REMEDIES = 12
"""Remedies a merged finding shows; the rest is counted in one more."""

_RANK = {
    PodVerdict.STAY: 0,  # decided before all other rules
    PodVerdict.BLOCKED: 1,
    PodVerdict.UNKNOWN: 2,
    PodVerdict.HELD: 3,
    PodVerdict.EVICT: 4,
}


@frozen
class RuleResult:
    """The result of one rule for one pod. `finding`: None where another finding (a budget's) already reports it;
    `reason`: text for the pod's own line.

    `remedy`: what would change the verdict, the best first; `eviction_mode`: how the pod leaves, if it does.
    """

    verdict: PodVerdict
    reason: str
    code: Code | None = None
    finding: Finding | None = None
    remedy: tuple[Remedy, ...] = ()
    eviction_mode: EvictionMode = PLAIN_EVICTION

    @staticmethod
    def of(finding: Finding, eviction_mode: EvictionMode = PLAIN_EVICTION) -> RuleResult:
        """A finding that fails blocks the pod, which cannot be evicted or should not be before a person decides; any
        other finding is a remark on an evicted pod."""
        verdict = PodVerdict.BLOCKED if finding.status is Status.FAIL else PodVerdict.EVICT
        return RuleResult(verdict, finding.message, finding.code, finding, finding.remedy, eviction_mode)


def evidence_line(pod: Pod) -> str:
    """The line of evidence for one pod."""
    return f"pod {pod.key} on {pod.node}"


def stays_result(reason: str, code: Code | None = None, finding: Finding | None = None) -> RuleResult:
    """The pod stays where it is; `finding`: a remark on that."""
    return RuleResult(PodVerdict.STAY, reason, code, finding)


def unknown_result(
    clause_name: ClauseName,
    not_read: tuple[KindRead, ...],
    evidence: str = "",
    verdict: PodVerdict = PodVerdict.EVICT,
    severity: Severity = Severity.MEDIUM,
    *,
    source: Source,
) -> RuleResult:
    """A question that the available facts do not answer; `verdict` is UNKNOWN where the drain depends on it."""
    finding = unknown_finding(clause_name, not_read, (evidence,) if evidence else (), severity, source=source)
    return RuleResult(verdict, finding.message, finding.code, finding, finding.remedy)


def unknown_finding(
    clause_name: ClauseName,
    not_read: tuple[KindRead, ...],
    evidence: tuple[str, ...] = (),
    severity: Severity = Severity.MEDIUM,
    *,
    source: Source,
) -> Finding:
    """An UNKNOWN finding about the whole cluster that names the kinds to read. `source`: where the facts come from."""
    missing = ", ".join(_missing_text(read) for read in not_read)
    return Finding(
        Code.of(clause_name),
        severity,
        Status.UNKNOWN,
        Subject("Cluster", "cluster"),
        clause("/cannot-tell", question=clause(clause_name)),
        evidence,
        tuple(_read_remedy(read, source) for read in not_read),
        missing,
        unknowns=tuple(read.as_unknown for read in not_read),
    )


def merge_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding where several report the same about the same subject, with the evidence of all."""
    groups: dict[tuple[object, ...], list[Finding]] = defaultdict(list)
    for finding in findings:
        groups[(finding.code.name, finding.status, finding.subject, finding.message)].append(finding)
    return tuple(_merge_group(group) for group in groups.values())


def worst_verdict(results: Sequence[RuleResult]) -> PodVerdict:
    """STAY decides alone; otherwise the worst verdict wins. Without results the pod may be evicted."""
    return min([result.verdict for result in results], key=_RANK.__getitem__) if results else PodVerdict.EVICT


def _merge_group(group: list[Finding]) -> Finding:
    if len(group) == 1:
        evidence = list(group[0].evidence)
    else:
        evidence = sorted({line for finding in group for line in finding.evidence}, key=natural_key)
    if len(evidence) > MAX_EVIDENCE:
        evidence = [*evidence[: MAX_EVIDENCE - 1], f"and {len(evidence) - MAX_EVIDENCE + 1} more"]
    remedy = _limit_remedies(tuple(dict.fromkeys(r for finding in group for r in finding.remedy)))
    missing = ", ".join(dict.fromkeys(f.missing for f in group if f.missing))
    return replace(group[0], evidence=tuple(evidence), remedy=remedy, missing=missing)


def _limit_remedies(remedies: tuple[Remedy, ...]) -> tuple[Remedy, ...]:
    hidden_count = len(remedies) - MAX_REMEDIES
    if hidden_count <= 0:
        return remedies
    return (*remedies[:MAX_REMEDIES], Remedy.of("do-the-same", more=hidden_count))


def _missing_text(read: KindRead) -> str:
    if read.state is ReadState.FORBIDDEN:
        return f"permission to list {read.resource.full_name}"
    return f"{read.resource.full_name} ({read.state.value})"


def _read_remedy(read: KindRead, source: Source) -> Remedy:
    name, snapshot = read.resource.full_name, source is Source.SNAPSHOT
    if read.state is ReadState.FORBIDDEN:
        can_list_command = shell("kubectl", "auth", "can-i", "list", name, "-A")
        return Remedy.of("right-to-list", kind=name, snapshot=snapshot, command=can_list_command)
    if read.state is ReadState.NOT_HELD:
        dump_command = shell("kubectl", "get", name, "-A", "-o", "json")
        return Remedy.of("add-kind", kind=name, command=dump_command, file=read.resource.plural)
    if read.state is ReadState.INVALID:
        return Remedy.of("valid-dump")
    return Remedy.of("not-listed", kind=name, snapshot=snapshot, command=shell("kubectl", "get", name, "-A"))


# What-if: facts and verdicts under the assumptions of the user. Each assumption is reported.


def with_assumed_budgets(cluster: Cluster, policy: DrainPolicy) -> Cluster:
    """`cluster` with the budgets of ``--assume-budget`` as maxUnavailable of that number, with an up-to-date status.

    Raises:
        UsageError: there is no such budget.
    """
    desired = dict(policy.assume_budgets)
    if not desired:
        return cluster
    check_assumed_budgets(cluster, policy)
    pod_budgets, scales = index_budgets(cluster.budgets, cluster.pods), ScaleIndex.of(cluster.workloads)

    def as_assumed(budget: Budget) -> Budget:
        return assume_budget(
            budget, desired[budget.key], pod_budgets.selected_pods(budget), scales, cluster.observed_at
        )

    budgets = tuple(as_assumed(budget) if budget.key in desired else budget for budget in cluster.budgets)
    return replace(cluster, budgets=budgets, notes=(*cluster.notes, *assumption_notes(policy)))


def check_assumed_budgets(cluster: Cluster, policy: DrainPolicy) -> None:
    """
    Raises:
        UsageError: there is no such budget.
    """
    budget_keys = {budget.key for budget in cluster.budgets}
    missing = sorted({key for key, _ in policy.assume_budgets} - budget_keys, key=natural_key)
    if missing:
        raise UsageError(f"there is no budget {', '.join(missing)} to assume", "see what there is: kubectl get pdb -A")


def assumption_notes(policy: DrainPolicy) -> list[str]:
    """The assumptions about budgets, a sentence each."""
    return [f"assumed: budget {key} lets {count} of its pods be away" for key, count in sorted(policy.assume_budgets)]


def assume_budget(budget: Budget, away: int, pods: Sequence[Pod], scales: ScaleIndex, now: datetime) -> Budget:
    """`budget`, which selects `pods`, as if it let `away` of them be away and had an up-to-date status."""
    loosened_budget = replace(budget, min_available=None, max_unavailable=IntOrPercent(away))
    result = recompute(loosened_budget, pods, scales, now)
    if isinstance(result, ComputedStatus):
        return with_result(loosened_budget, result)
    status = replace(budget.status, allowed=away)
    return replace(loosened_budget, status=status, observed_generation=budget.generation, condition_reason="")


def is_assumed_fixed(code: Code | None, policy: DrainPolicy) -> bool:
    return code is not None and code.name in policy.assume_fixed


def apply_assumed_fixed(results: Sequence[RuleResult], policy: DrainPolicy) -> list[RuleResult]:
    """`results` in which those that ``--assume-fixed`` names are remarks."""
    return [
        RuleResult(
            PodVerdict.EVICT,
            clause("/assumed-fixed", message=result.reason),
            result.code,
            assume_fixed_finding(result.finding),
            result.remedy,
        )
        if result.verdict in HOLDING_VERDICTS and is_assumed_fixed(result.code, policy)
        else result
        for result in results
    ]


def assume_fixed_finding(finding: Finding | None) -> Finding | None:
    """The finding as a remark that no longer blocks, and marked as assumed."""
    if finding is None:
        return None
    return replace(finding, status=Status.PASS, message=clause("/assumed-fixed", message=finding.message), missing="")
