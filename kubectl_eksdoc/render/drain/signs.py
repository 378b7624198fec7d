"""The signs of verdicts, and codes and verdicts in two or three words."""

from __future__ import annotations

from kubectl_eksdoc.drain.outcome import BudgetVerdict, PodVerdict, TargetVerdict
from kubectl_eksdoc.drain.result import Headroom
from kubectl_eksdoc.render.text import Tone

Sign = tuple[str, Tone]

GOOD: Sign = ("✓", Tone.GOOD)
WARN: Sign = ("!", Tone.WARN)
BAD: Sign = ("✗", Tone.BAD)
OPEN: Sign = ("?", Tone.UNKNOWN)

TARGET_SIGN = {
    TargetVerdict.DRAINS: GOOD,
    TargetVerdict.PARTIAL: WARN,
    TargetVerdict.SKIPPED: BAD,
    TargetVerdict.REFUSED: BAD,
    TargetVerdict.UNKNOWN: OPEN,
}

BUDGET_SIGN = {
    BudgetVerdict.SEVERAL_BUDGETS: BAD,
    BudgetVerdict.BLOCKED_FOREVER: BAD,
    BudgetVerdict.UNHEALTHY: BAD,
    BudgetVerdict.STALE: BAD,
    BudgetVerdict.BLOCKED_NOW: BAD,
    BudgetVerdict.DISAGREES: WARN,
    BudgetVerdict.SERIAL: WARN,
    BudgetVerdict.FITS: GOOD,
}

POD_SIGN = {
    PodVerdict.EVICT: GOOD,
    PodVerdict.STAY: GOOD,
    PodVerdict.HELD: WARN,
    PodVerdict.BLOCKED: BAD,
    PodVerdict.UNKNOWN: OPEN,
}

_BRIEF = {
    "budget-never-allows": "PDB never allows",
    "budget-sync-failed": "PDB not computed",
    "budget-unhealthy": "PDB unhealthy",
    "budget-exhausted": "PDB allows 0 now",
    "budget-stale": "PDB status is old",
    "pod-budget": "PDBs unknown",
    "pod-several-budgets": "several PDBs",
    "pod-unmanaged": "bare pod",
    "pod-emptydir": "emptyDir data",
    "pod-daemonset-missing": "DaemonSet is gone",
    "pod-stuck-terminating": "stuck terminating",
    "pod-returns": "returns to node",
    "pod-protected": "protected pod",
    "pod-pending": "pending pod",
    "pod-hostpath": "hostPath data",
    "pod-local-volume": "local volume",
    "pod-ephemeral-volume": "ephemeral volume",
    "job-would-fail": "Job would fail",
    "job-loses-work": "Job loses work",
    "single-replica": "single replica",
    "no-readiness-gate": "no readiness gate",
    "needs-nodes": "needs new nodes",
    "placement-unsure": "placement unsure",
    "no-place": "no room elsewhere",
    "only-backend": "only backend",
    "namespace-terminating": "namespace ends",
    "node-fargate": "Fargate",
    "node-auto-mode": "EKS Auto Mode",
    "node-hybrid": "hybrid node",
    "node-foreign-drain": "drained by others",
}
"""Codes as words where there is room for two or three of them."""


def in_brief(code: str) -> str:
    return _BRIEF.get(code) or code


_BUDGET_WORDS = {
    BudgetVerdict.SEVERAL_BUDGETS: "several PDBs",
    BudgetVerdict.BLOCKED_FOREVER: "never allows",
    BudgetVerdict.UNHEALTHY: "unhealthy",
    BudgetVerdict.STALE: "old status",
    BudgetVerdict.BLOCKED_NOW: "allows 0 now",
    BudgetVerdict.DISAGREES: "disagrees",
    BudgetVerdict.SERIAL: "in rounds",
    BudgetVerdict.FITS: "fits",
}


def budget_in_brief(headroom: Headroom) -> str:
    """``never allows``, ``4 rounds``."""
    if headroom.verdict is BudgetVerdict.SERIAL and headroom.rounds > 1:
        return f"{headroom.rounds} rounds"
    return _BUDGET_WORDS[headroom.verdict]
