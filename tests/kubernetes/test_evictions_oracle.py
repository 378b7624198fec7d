"""The eviction rule and the budget arithmetic compared with a real kube-apiserver: 160 worlds, 979 evictions.

In the recording replacements never get a node and evicted pods never stop, so that nothing depends on time, except
where the server had not yet seen a change ("still being processed").
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import pytest

from kubectl_eksdoc.kubernetes.budgets import StatusUnknown, recompute, with_result
from kubectl_eksdoc.kubernetes.evictions import EvictionResponse, evict, not_found
from kubectl_eksdoc.kubernetes.replacement import Replacement, ScaleIndex, replacement
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.workloads import Workload
from tests import raw_facts

NOW = datetime(2026, 11, 20, 8, 28, tzinfo=timezone.utc)

WORLDS = tuple(raw_facts.lines("recordings/eviction-oracle.jsonl.gz"))


def kind_of_owner(raw: dict[str, Any]) -> str:
    """The kind of an owner: the recording has none, but the owner's spec shows it."""
    spec = raw["spec"]
    if "strategy" in spec:
        return "Deployment"
    if "podManagementPolicy" in spec or "updateStrategy" in spec:
        return "StatefulSet"
    return "Job" if "completionMode" in spec or "completions" in spec else "ReplicaSet"


class World:
    """Pods and budgets of one namespace, with a disruption controller that is never late."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self.pods: dict[str, Pod] = {p.name: p for p in map(raw_facts.pod, raw["pods"])}
        self.budgets: dict[str, Budget] = {b.name: b for b in map(raw_facts.budget, raw["budgets"])}
        owners: list[Workload] = [raw_facts.workload(o, kind_of_owner(o)) for o in raw["owners"]]
        self.scales = ScaleIndex.of((o for o in owners if o.kind != "Job"), complete=True)

    def evict(self, name: str, dry_run: bool) -> EvictionResponse:
        pod = self.pods.get(name)
        if pod is None:
            return not_found(name)
        guards = raw_facts.selecting(tuple(self.budgets.values()), pod)
        answer = evict(pod, guards, NOW, dry_run=dry_run)
        if answer.updated_budget is not None:
            self.budgets[answer.updated_budget.name] = answer.updated_budget
        if answer.ok and not dry_run:
            self._delete(pod)
        return answer

    def _delete(self, pod: Pod) -> None:
        if pod.node and not pod.finished:
            self.pods[pod.name] = replace(pod, deletion_deadline=NOW)
        else:
            del self.pods[pod.name]
        # A Job waits 10 s and more before it tries again, longer than any world was recorded.
        if not pod.deleting and replacement(pod) is Replacement.AT_ONCE:
            name = f"{pod.name}-next-{len(self.pods)}"
            self.pods[name] = replace(pod, name=name, uid=name, node="", phase="Pending", ready=False)
        self._sync(guarding=pod)

    def _sync(self, guarding: Pod) -> None:
        for budget in raw_facts.selecting(tuple(self.budgets.values()), guarding):
            pods = [p for p in self.pods.values() if budget.selector.matches(p.labels)]
            result = recompute(budget, pods, self.scales, NOW)
            assert not isinstance(result, StatusUnknown)
            self.budgets[budget.name] = with_result(budget, result)


def as_recorded(answer: EvictionResponse) -> dict[str, Any]:
    causes = [{"reason": "DisruptionBudget", "message": answer.cause}] if answer.cause else None
    failed = not answer.ok
    return {
        "code": answer.code,
        "reason": (answer.reason or None) if failed else None,
        "message": answer.message if failed else None,
        "causes": causes,
        "retryAfter": str(answer.retry_after) if answer.retry_after else None,
    }


def numbers(budget: Budget) -> dict[str, Any]:
    status = budget.status
    return {
        "name": budget.name,
        "disruptionsAllowed": status.allowed,
        "currentHealthy": status.current,
        "desiredHealthy": status.desired,
        "expectedPods": status.expected,
    }


def disagreements(raw: dict[str, Any]) -> list[str]:
    world, found = World(raw), []
    for number, step in enumerate(raw["steps"]):
        answer = as_recorded(world.evict(step["pod"], step["dryRun"]))
        recorded = {key: step[key] for key in answer}
        if answer != recorded:
            found.append(f"{raw['namespace']} step {number}: {answer} is recorded as {recorded}")
        after = [numbers(b) for b in world.budgets.values()]
        if after != step["budgetsAfter"]:
            found.append(f"{raw['namespace']} step {number}: {after} is recorded as {step['budgetsAfter']}")
    return found


@pytest.mark.parametrize("raw", WORLDS, ids=[w["namespace"] for w in WORLDS])
def test_every_answer_and_every_status_agree(raw: dict[str, Any]) -> None:
    assert disagreements(raw) == []


def test_the_recording_is_whole() -> None:
    assert (len(WORLDS), sum(len(w["steps"]) for w in WORLDS)) == (160, 979)
