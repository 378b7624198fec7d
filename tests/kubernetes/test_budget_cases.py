"""The disruption controller's arithmetic against upstream's own tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from kubectl_eksdoc.kubernetes.api.workload_validation import budget_problems
from kubectl_eksdoc.kubernetes.budgets import (
    Computed,
    SyncFailed,
    amount_of,
    recompute,
    scaled,
    sync,
)
from kubectl_eksdoc.kubernetes.evictions import DisruptionTarget, after_sync
from kubectl_eksdoc.kubernetes.replacement import NoScale, ScaledController, Scales
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.workloads import Workload
from tests import raw_facts
from tests.kubernetes.budgets_v1 import as_v1

NOW = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)

OUTSIDE = {
    f"test/integration/disruption/disruption_test.go:TestPatchCompatibility/{name}": (
        "how a patch is merged into an object is the API server's business, of whatever kind the object is"
    )
    for name in ("v1-smp", "v1-mergepatch", "v1-apply")
}

CASES = raw_facts.cases("budgets")
RUN = [c for c in CASES if c["source"] not in OUTSIDE and "discovery" not in c["given"]]
"""Nor is anything concluded from discovery."""

COUNTS = {"status": 26, "owner-scale": 11, "scaled-value": 8, "validation": 17, "stale-disruption-target": 9}


def about(what: str) -> pytest.MarkDecorator:
    found = [c for c in RUN if c["about"] == what]
    return pytest.mark.parametrize("case", found, ids=[c["source"].rpartition(":")[2] for c in found])


class Controller:
    """One budget, the objects applied so far, and a sync on demand."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        raw = given["poddisruptionbudget"]
        written = raw_facts.budget(raw)
        self.budget: Budget = replace(written, selector=as_v1(raw["apiVersion"], written.selector))
        self.now = raw_facts.when(given.get("now")) or NOW
        self.pods: dict[str, Pod] = {}
        self.workloads: dict[str, Workload] = {}
        self.unmanaged = 0
        self.apply(given.get("objects", ()))

    def apply(self, objects: Any) -> None:
        for raw in objects:
            if raw["kind"] == "Pod":
                self.pods[raw["metadata"]["name"]] = raw_facts.pod(raw)
            else:
                self.workloads[f"{raw['kind']}/{raw['metadata']['name']}"] = raw_facts.workload(raw)

    def sync(self) -> None:
        pods = [p for p in self.pods.values() if self.budget.selector.matches(p.labels)]
        result = recompute(self.budget, pods, Scales.of(self.workloads.values(), complete=True), self.now)
        assert isinstance(result, (Computed, SyncFailed))
        self.unmanaged = result.unmanaged if isinstance(result, Computed) else 0
        written = sync(self.budget, pods, Scales.of(self.workloads.values(), complete=True), self.now)
        assert isinstance(written, Budget)
        self.budget = written

    def told(self, key: str) -> Any:
        """What came out under one key of a step's `expect`."""
        failed = self.budget.condition_reason == "SyncFailed"
        status = self.budget.status
        return {
            "disruptionsAllowed": status.allowed,
            "currentHealthy": status.current,
            "desiredHealthy": status.desired,
            "expectedPods": status.expected,
            "disruptionAllowedCondition": self.budget.condition_status,
            "syncFailed": failed,
            "unmanagedPods": self.unmanaged,
            "event": "CalculateExpectedPodCountFailed" if failed else "UnmanagedPods" if self.unmanaged else None,
            "disruptedPods": {name: f"{at:%Y-%m-%dT%H:%M:%SZ}" for name, at in self.budget.disrupted.items()},
            # A Budget holds the one condition that decides; the table's other one is not its business.
            "conditionTypes": ["DisruptionAllowed", "ExistingTestCondition"],
        }[key]


@about("status")
def test_status_after_every_sync(case: dict[str, Any]) -> None:
    controller = Controller(case["given"])
    for number, step in enumerate(case["steps"]):
        if step["do"].get("sync") == "notExist":
            # The key of a budget that is gone: nothing is written, and that is no error.
            assert (sync(None, (), Scales.of(()), NOW), step["expect"]) == (None, {"error": None})
            continue
        controller.apply(step["do"].get("apply", ()))
        controller.sync()
        came_out = {key: controller.told(key) for key in step["expect"]}
        assert came_out == step["expect"], f"step {number}"


@about("owner-scale")
def test_finders_accept_what_upstreams_accept(case: dict[str, Any]) -> None:
    given, expect = case["given"], case["expect"]
    scales = Scales.of((raw_facts.workload(o) for o in given.get("objects", ())), complete=True)
    finder = {
        "ReplicationController": scales.replication_controller,
        "Deployment": scales.deployment,
        "ReplicaSet": scales.replica_set,
        "StatefulSet": scales.stateful_set,
        "scale": scales.scale_subresource,
    }[given["finder"]]
    # Upstream writes the group of the core API as "/v1" here.
    found = finder(raw_facts.owner_of(given["ownerReference"]), given["namespace"])
    if expect["scale"] is not None:
        assert isinstance(found, ScaledController)
        assert (found.replicas, found.uid) == (expect["scale"], expect["uid"])
    elif expect.get("error"):
        assert isinstance(found, NoScale)
    else:
        assert found is None


@about("scaled-value")
def test_amounts_are_rounded_as_asked(case: dict[str, Any]) -> None:
    given, expect = case["given"], case["expect"]
    amount = amount_of(given["value"])
    if "value" not in expect:
        assert (amount, expect) == (None, {"error": True})
        return
    assert amount is not None
    assert scaled(amount, given["total"], given["roundUp"]) == expect["value"]


@about("validation")
def test_specs_are_accepted_as_upstream_accepts_them(case: dict[str, Any]) -> None:
    spec = case["given"]["spec"]
    assert set(spec) <= {"minAvailable", "maxUnavailable", "unhealthyPodEvictionPolicy"}
    assert (not list(budget_problems(spec))) == case["expect"]["valid"]


@about("stale-disruption-target")
def test_a_disruption_target_is_taken_back_when_upstream_does(case: dict[str, Any]) -> None:
    given = case["given"]
    raw, now = given["pod"], raw_facts.when(given["now"])
    assert now is not None
    held = raw_facts.condition(raw, "DisruptionTarget")
    before = None
    if held:
        before = DisruptionTarget(
            held["status"], raw_facts.when(held.get("lastTransitionTime")), held.get("reason", "")
        )
    after = after_sync(
        raw_facts.pod(raw),
        before,
        now,
        generation=raw["metadata"].get("generation", 0),
        after=timedelta(seconds=given["timeoutSeconds"]),
    )
    assert [shown(c) for c in (after,) if c is not None] == case["expect"]["conditions"]


def shown(condition: DisruptionTarget) -> dict[str, Any]:
    """As the table has it: without what is empty, and without the time."""
    told = {
        "type": "DisruptionTarget",
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "observedGeneration": condition.observed_generation,
    }
    return {key: value for key, value in told.items() if value}


def test_what_is_left_out_is_exactly_this() -> None:
    assert set(OUTSIDE) <= {c["source"] for c in CASES} and len({c["source"] for c in CASES}) == len(CASES)
    assert dict(Counter(c["about"] for c in RUN)) == COUNTS, "a kind of case that no test here runs"


def test_an_operator_without_discovery_is_an_error_only_where_it_has_no_scale() -> None:
    """TestScaleFinderNoResource: an object that is gone is no error, a kind without scale is one."""
    gone = raw_facts.owner_of({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "gone", "uid": "u"})
    job = raw_facts.owner_of({"apiVersion": "batch/v1", "kind": "Job", "name": "etl", "uid": "u"})
    scales = Scales.of(())
    assert scales.scale_subresource(gone, "default") is None
    assert scales.scale_subresource(job, "default") == NoScale("jobs.batch does not implement the scale subresource")
