"""The rules compared with clusters recorded from a real API server, and with its answers to evictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache
from typing import Any

import pytest

from kubectl_eksdoc.kubernetes.budgets import StatusUnknown, SyncFailed, allowed_at_full_health, recompute
from kubectl_eksdoc.kubernetes.evictions import evict
from kubectl_eksdoc.kubernetes.guards import PodBudgets, index_budgets
from kubectl_eksdoc.kubernetes.replacement import ScaleIndex
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.workloads import Workload
from tests import raw_facts

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=timezone.utc)

STALE = {
    # A pod under two budgets: the controller recomputes one of them only, the other keeps old numbers.
    "rich": {"default/twice-guarded-b", "data/everything"},
    "small-traps": {"default/trap-two-pdbs-b"},
    "medium": set(),
    "landing": {"data/postgres", "default/twice-guarded"},
}
CANNOT_SYNC = {"rich": {"shop/reindex"}, "small-traps": set(), "medium": set(), "landing": {"shop/reindex"}}


@dataclass(frozen=True)
class World:
    pods: Mapping[str, Pod]
    budgets: Sequence[Budget]
    scales: ScaleIndex
    guards: PodBudgets


@cache
def world(name: str) -> World:
    pods = {p.key: p for p in map(raw_facts.pod, raw_facts.recorded(name, "pods"))}
    budgets = [raw_facts.budget(b) for b in raw_facts.recorded(name, "poddisruptionbudgets")]
    workloads: list[Workload] = []
    for kind in ("deployments", "replicasets", "statefulsets"):
        workloads += map(raw_facts.workload, raw_facts.recorded(name, kind))
    return World(pods, budgets, ScaleIndex.of(workloads), index_budgets(budgets, pods.values()))


@pytest.mark.parametrize(("name", "count"), [("rich", 43), ("small-traps", 25), ("medium", 302), ("landing", 47)])
def test_recomputing_every_budget_gives_its_status(name: str, count: int) -> None:
    held = world(name)
    assert len(held.budgets) == count
    differ, failed = set(), set()
    for budget in held.budgets:
        result = recompute(budget, held.guards.selected_pods(budget), held.scales, NOW)
        assert not isinstance(result, StatusUnknown), budget.key
        if isinstance(result, SyncFailed):
            failed.add(budget.key)
        elif result.status != budget.status:
            differ.add(budget.key)
    assert differ == STALE[name]
    assert failed == CANNOT_SYNC[name]


def answered(raw: Mapping[str, Any]) -> tuple[int, str, str, tuple[str, ...]]:
    return raw["status"], raw.get("reason") or "", raw.get("message") or "", tuple(raw.get("cause") or ())


def test_all_348_dry_run_evictions_are_answered_alike() -> None:
    held = world("rich")
    recorded = list(raw_facts.lines("clusters/rich-dry-run.jsonl"))
    differ = []
    for raw in recorded:
        pod = held.pods[f"{raw['namespace']}/{raw['pod']}"]
        answer = evict(pod, held.guards.for_pod(pod), NOW, dry_run=True)
        ours = (answer.code, answer.reason, answer.message, (answer.cause,) if answer.cause else ())
        if ours != answered(raw):
            differ.append((pod.key, ours, answered(raw)))
    assert differ == []
    assert len({(r["namespace"], r["pod"]) for r in recorded}) == len(held.pods) == 348


def blocked_for_ever(name: str) -> set[str]:
    held = world(name)
    found = set()
    for budget in held.budgets:
        pods = held.guards.selected_pods(budget)
        allowed = allowed_at_full_health(budget, pods, held.scales)
        if pods and allowed is not None and allowed <= 0:
            found.add(budget.name)
    return found


def test_budgets_that_can_never_allow_anything() -> None:
    """The budgets that the recordings' description lists."""
    assert blocked_for_ever("small-traps") == {"trap-zero", "trap-min-all", "app-9"}
    assert len(blocked_for_ever("medium")) == 23
    rounding = {"app-7", "app-8", "sale", "ads"}
    assert blocked_for_ever("rich") == rounding | {"all-needed", "bare", "frozen", "lonely"}
