"""The disruption controller's arithmetic against upstream's own tables."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

import pytest

from kubectl_eksdoc.core.model.budgets import Budget
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.model.workloads import Workload
from kubectl_eksdoc.core.rules.budgets import Computed, SyncFailed, recompute, scaled, synced
from kubectl_eksdoc.core.rules.scales import NoScale, Scale, Scales
from tests import raw_facts

NOW = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)

DISRUPTION = "pkg/controller/disruption/disruption_test.go"
OUTSIDE_ABOUT = {
    "validation": "the API server validates what it stores; we read what it stored",
    "stale-disruption-target": "the DisruptionTarget condition is not among the facts and decides nothing",
    "selector-patch": "how a patch merges is the API server's business",
}
OUTSIDE = {
    f"{DISRUPTION}:TestPDBNotExist": "a sync of a budget that is gone does nothing",
    f"{DISRUPTION}:TestScaleFinderNoResource/resource implements scale": "asks discovery, which facts do not hold",
    f"{DISRUPTION}:TestScaleFinderNoResource/resource implements unsupported data format for scale subresource": (
        "asks discovery, which facts do not hold"
    ),
    "test/integration/disruption/disruption_test.go:TestEmptySelector/v1beta1 should not target any pods": (
        "policy/v1beta1 is not served since 1.25, and a server that stores v1 prints v1"
    ),
    **{
        f"staging/src/k8s.io/apimachinery/pkg/util/intstr/intstr_test.go:TestGetIntFromIntOrPercent/{n}": (
            "text that is no amount never becomes one: the reader refuses it"
        )
        for n in (4, 5, 6, 7)
    },
}

CASES = raw_facts.cases("budgets")
RUN = [c for c in CASES if c["about"] not in OUTSIDE_ABOUT and c["source"] not in OUTSIDE]


def about(what: str) -> pytest.MarkDecorator:
    found = [c for c in RUN if c["about"] == what]
    return pytest.mark.parametrize("case", found, ids=[c["source"].rpartition(":")[2] for c in found])


class Controller:
    """One budget, the objects applied so far, and a sync on demand."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.budget: Budget = raw_facts.budget(given["poddisruptionbudget"])
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
        self.budget = synced(self.budget, result)

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
        assert isinstance(found, Scale)
        assert (found.replicas, found.uid) == (expect["scale"], expect["uid"])
    elif expect.get("error"):
        assert isinstance(found, NoScale)
    else:
        assert found is None


@about("scaled-value")
def test_amounts_are_rounded_as_asked(case: dict[str, Any]) -> None:
    given = case["given"]
    amount = raw_facts.amount(given["value"])
    assert amount is not None
    assert scaled(amount, given["total"], given["roundUp"]) == case["expect"]["value"]


def test_what_is_left_out_is_exactly_this() -> None:
    left = [c for c in CASES if c not in RUN]
    assert {c["source"] for c in left if c["about"] not in OUTSIDE_ABOUT} == set(OUTSIDE)
    assert {c["about"] for c in CASES} - {c["about"] for c in RUN} == set(OUTSIDE_ABOUT)
    assert (len(CASES), len(RUN)) == (77, 40)


def test_an_operator_without_discovery_is_an_error_only_where_it_has_no_scale() -> None:
    """TestScaleFinderNoResource: an object that is gone is no error, a kind without scale is one."""
    gone = raw_facts.owner_of({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "gone", "uid": "u"})
    job = raw_facts.owner_of({"apiVersion": "batch/v1", "kind": "Job", "name": "etl", "uid": "u"})
    scales = Scales.of(())
    assert scales.scale_subresource(gone, "default") is None
    assert scales.scale_subresource(job, "default") == NoScale("jobs.batch does not implement the scale subresource")
