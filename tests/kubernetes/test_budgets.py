"""Budget arithmetic: invariants, upstream's own tables, and the effect of missing facts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.kubernetes.api.workload_validation import NEGATIVE, NOT_SUPPORTED, FieldProblem, budget_problems
from kubectl_eksdoc.kubernetes.budgets import (
    ComputedStatus,
    StatusUnknown,
    SyncFailed,
    allowed_at_full_health,
    parse_int_or_percent,
    recompute,
    rounding_note,
    scale_amount,
    sync,
    with_result,
)
from kubectl_eksdoc.kubernetes.evictions import DisruptionTarget, after_sync
from kubectl_eksdoc.kubernetes.replacement import NoScale, ScaledController, ScaleIndex
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.budgets import Budget, BudgetStatus, IntOrPercent
from kubectl_eksdoc.model.kinds import KindRead, ReadState
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.selectors import EVERYTHING, NOTHING, Requirement, Selector
from kubectl_eksdoc.model.workloads import Workload
from tests import raw_facts
from tests.builders import NOW, a_budget, a_pod, a_workload, ago, an_owner, pods

WEB = a_workload("ReplicaSet/web", owner="Deployment/web")
SCALES = ScaleIndex.of([WEB, a_workload("Deployment/web", replicas=3)])


def status_of(result: object) -> BudgetStatus:
    assert isinstance(result, ComputedStatus)
    return result.status


amounts = st.one_of(
    st.integers(0, 40).map(IntOrPercent), st.integers(0, 100).map(lambda p: IntOrPercent(p, percent=True))
)


@given(amounts, st.booleans(), st.integers(0, 30), st.lists(st.booleans(), max_size=30))
def test_allowed_is_never_negative_and_never_breaks_the_budget(
    amount: IntOrPercent, is_minimum: bool, replicas: int, ready: list[bool]
) -> None:
    budget = a_budget(min_available=amount) if is_minimum else a_budget(max_unavailable=amount)
    members = [a_pod(f"web-{i}", ready=r) for i, r in enumerate(ready)]
    status = status_of(recompute(budget, members, ScaleIndex.of([a_workload(replicas=replicas)]), NOW))
    assert status.current == sum(ready)
    expected = replicas if ready else 0  # a scale is found by pods
    total = amount.value if not amount.percent else math.ceil(Fraction(amount.value * expected, 100))
    assert status.desired == (total if is_minimum else max(0, expected - total))
    assert 0 <= status.allowed <= status.current
    assert status.allowed == 0 or status.current - status.allowed >= status.desired


JOBS = pods(3, owner="Job/etl")
BARE = [a_pod(f"bare-{i}", owner=None) for i in range(2)]
LEAVING = [a_pod("going", deletion_deadline=ago(-20)), a_pod("done", phase="Failed")]


@pytest.mark.parametrize(
    ("rule", "members", "replicas", "allowed"),
    [
        ({"min_available": "90%"}, [a_pod(ready=False)], 5, 0),
        ({"min_available": 5}, [a_pod(ready=False)], 3, -2),
        ({"min_available": 2}, [*pods(2), *LEAVING], 2, 0),
        ({"max_unavailable": 1}, BARE, None, 0),
        ({"max_unavailable": 1}, [*pods(3), *BARE], 3, 3),
        ({"max_unavailable": 1}, JOBS, None, None),
        ({"selector": NOTHING}, [], 3, None),
    ],
)
def test_full_health(rule: dict[str, Any], members: list[Pod], replicas: int | None, allowed: int | None) -> None:
    scales = ScaleIndex.of([] if replicas is None else [a_workload(replicas=replicas)])
    assert allowed_at_full_health(a_budget(**rule), members, scales) == allowed


SETS = KindRead(kinds.REPLICA_SETS, ReadState.FORBIDDEN)
DEPLOYED = KindRead(kinds.DEPLOYMENTS, ReadState.FORBIDDEN)
CUSTOM = an_owner("CloneSet/web", group="apps.kruise.io")
AGAIN = replace(WEB, uid="another", owner=None)


@pytest.mark.parametrize(
    ("budget", "members", "scales", "expected"),
    [
        (
            {},
            pods(2, owner=CUSTOM),
            SCALES,
            StatusUnknown("CloneSet.apps.kruise.io", "the scale of CloneSet web is not among the facts"),
        ),
        (
            {},
            pods(2),
            ScaleIndex.of([a_workload("Deployment/web")], [SETS]),
            StatusUnknown("replicasets.apps", "replicasets were not read (forbidden)"),
        ),
        (
            {},
            pods(2),
            ScaleIndex.of([WEB], [DEPLOYED]),
            StatusUnknown("deployments.apps", "deployments were not read (forbidden)"),
        ),
        ({}, pods(2), ScaleIndex.of([AGAIN]), SyncFailed('found no controllers for pod "web-0"')),
        ({}, JOBS, SCALES, SyncFailed("jobs.batch does not implement the scale subresource")),
    ],
)
def test_what_cannot_be_computed_is_said(
    budget: dict[str, Any], members: list[Pod], scales: ScaleIndex, expected: object
) -> None:
    assert recompute(a_budget(**{"max_unavailable": 1, **budget}), members, scales, NOW) == expected


@pytest.mark.parametrize(
    ("seconds", "allowed", "kept"),
    [
        (119, 0, True),
        (120, 1, True),
        (121, 1, False),
    ],
)
def test_a_granted_eviction_counts_for_two_minutes(seconds: int, allowed: int, kept: bool) -> None:
    budget = a_budget(min_available=2, disrupted={"web-0": ago(seconds), "long-gone": ago(1)})
    result = recompute(budget, pods(3), SCALES, NOW)
    assert isinstance(result, ComputedStatus)
    assert result.status.allowed == allowed
    assert set(result.disrupted) == ({"web-0"} if kept else set())
    members = [a_pod("web-0", deletion_deadline=ago(-30)), *pods(3)[1:]]
    result = recompute(budget, members, SCALES, NOW)
    assert isinstance(result, ComputedStatus)
    assert (dict(result.disrupted), result.status.allowed) == ({}, 0)


def test_a_failed_sync_keeps_the_numbers_and_the_lag() -> None:
    stale = a_budget(generation=3, observed_generation=2, allowed=2)
    after = with_result(stale, SyncFailed("no scale"))
    assert (after.observed_generation, after.status) == (2, replace(stale.status, allowed=0))
    assert (after.condition_reason, after.condition_message) == ("SyncFailed", "no scale")


@pytest.mark.parametrize(
    ("rule", "expected", "note"),
    [
        ({"min_available": "75%"}, 2, "75% of 2 rounds up to 2"),
        ({"max_unavailable": "30%"}, 7, "30% of 7 rounds up to 3"),
        ({"min_available": "50%"}, 4, ""),
    ],
)
def test_rounding_is_explained_where_it_happens(rule: dict[str, Any], expected: int, note: str) -> None:
    assert rounding_note(a_budget(**rule), expected) == note


MARKER = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"
MATCHES_NONE = Selector((Requirement(MARKER, "Exists"),))
"""How policy/v1 shows the empty selector of policy/v1beta1."""

_ALL_IN_V1BETA1 = Selector((Requirement(MARKER, "DoesNotExist"),))


def as_v1(api_version: str, selector: Selector) -> Selector:
    """The selector that policy/v1 shows for a budget that was written as `api_version` with `selector`.

    An absent selector matches nothing in both versions (`selectors.NOTHING`) and stays unchanged.
    """
    if api_version == "policy/v1beta1":
        if selector == EVERYTHING:
            return MATCHES_NONE
        if selector == _ALL_IN_V1BETA1:
            return EVERYTHING
    elif selector == MATCHES_NONE:
        return selector
    # The marker never combines with what a user wrote.
    return replace(selector, requirements=tuple(r for r in selector.requirements if r.key != MARKER))


NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)

OUTSIDE = {
    f"test/integration/disruption/disruption_test.go:TestPatchCompatibility/{name}": (
        "how a patch is merged into an object is the API server's business, of whatever kind the object is"
    )
    for name in ("v1-smp", "v1-mergepatch", "v1-apply")
}

CASES = raw_facts.cases("budgets")
RUN = [c for c in CASES if c["source"] not in OUTSIDE and "discovery" not in c["given"]]
"""Nor is anything concluded from discovery."""

COUNTS = {"status": 25, "owner-scale": 11, "scaled-value": 8, "validation": 17, "stale-disruption-target": 9}


def about(what: str) -> pytest.MarkDecorator:
    found = [c for c in RUN if c["about"] == what]
    return pytest.mark.parametrize("case", found, ids=[c["source"].rpartition(":")[2] for c in found])


class Controller:
    """One budget, the objects applied so far, and a sync on demand."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        raw = given["poddisruptionbudget"]
        written = raw_facts.budget(raw)
        self.budget: Budget = replace(written, selector=as_v1(raw["apiVersion"], written.selector))
        self.now = raw_facts.when(given.get("now")) or NOON
        self.pods: dict[str, Pod] = {}
        self.workloads: dict[str, Workload] = {}
        self.apply(given.get("objects", ()))

    def apply(self, objects: Any) -> None:
        for raw in objects:
            if raw["kind"] == "Pod":
                self.pods[raw["metadata"]["name"]] = raw_facts.pod(raw)
            else:
                self.workloads[f"{raw['kind']}/{raw['metadata']['name']}"] = raw_facts.workload(raw)

    def sync(self) -> None:
        pods = [p for p in self.pods.values() if self.budget.selector.matches(p.labels)]
        result = recompute(self.budget, pods, ScaleIndex.of(self.workloads.values(), complete=True), self.now)
        assert isinstance(result, (ComputedStatus, SyncFailed))
        written = sync(self.budget, pods, ScaleIndex.of(self.workloads.values(), complete=True), self.now)
        assert isinstance(written, Budget)
        self.budget = written

    def told(self, key: str) -> Any:
        """The results under one key of a step's `expect`."""
        failed = self.budget.condition_reason == "SyncFailed"
        status = self.budget.status
        return {
            "disruptionsAllowed": status.allowed,
            "currentHealthy": status.current,
            "desiredHealthy": status.desired,
            "expectedPods": status.expected,
            "disruptionAllowedCondition": self.budget.condition_status,
            "syncFailed": failed,
            "event": "CalculateExpectedPodCountFailed" if failed else None,
            "disruptedPods": {name: f"{at:%Y-%m-%dT%H:%M:%SZ}" for name, at in self.budget.disrupted.items()},
            # A Budget has only the condition that decides; it ignores the table's other one.
            "conditionTypes": ["DisruptionAllowed", "ExistingTestCondition"],
        }[key]


@about("status")
def test_status_after_every_sync(case: dict[str, Any]) -> None:
    controller = Controller(case["given"])
    for number, step in enumerate(case["steps"]):
        if step["do"].get("sync") == "notExist":
            # The key of a budget that is gone: nothing is written, and that is no error.
            assert (sync(None, (), ScaleIndex.of(()), NOON), step["expect"]) == (None, {"error": None})
            continue
        controller.apply(step["do"].get("apply", ()))
        controller.sync()
        came_out = {key: controller.told(key) for key in step["expect"]}
        assert came_out == step["expect"], f"step {number}"


@about("owner-scale")
def test_finders_accept_what_upstreams_accept(case: dict[str, Any]) -> None:
    given, expect = case["given"], case["expect"]
    scales = ScaleIndex.of((raw_facts.workload(o) for o in given.get("objects", ())), complete=True)
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
    amount = parse_int_or_percent(given["value"])
    found = {"error": True} if amount is None else {"value": scale_amount(amount, given["total"], given["roundUp"])}
    assert found == expect


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
        stale_after=timedelta(seconds=given["timeoutSeconds"]),
    )
    assert [shown(c) for c in (after,) if c is not None] == case["expect"]["conditions"]


def shown(condition: DisruptionTarget) -> dict[str, Any]:
    """The condition in the table's form: without empty fields and without the time."""
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


NOT_A_PERCENTAGE = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
OVER_100_PERCENT = "must not be greater than 100%"


def test_everything_is_said_in_the_servers_order() -> None:
    spec = {"minAvailable": -1, "maxUnavailable": "101%", "unhealthyPodEvictionPolicy": "Never"}
    both = {"MinAvailable": -1, "Selector": None, "MaxUnavailable": "101%", "UnhealthyPodEvictionPolicy": "Never"}
    assert list(budget_problems(spec)) == [
        FieldProblem("spec", both, "minAvailable and maxUnavailable cannot be both set"),
        FieldProblem("spec.minAvailable", -1, NEGATIVE),
        FieldProblem("spec.maxUnavailable", "101%", OVER_100_PERCENT),
        FieldProblem(
            "spec.unhealthyPodEvictionPolicy",
            "Never",
            'supported values: "AlwaysAllow", "IfHealthyBudget"',
            NOT_SUPPORTED,
        ),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0100%", ""),
        ("1000%", OVER_100_PERCENT),
        ("5%\n", NOT_A_PERCENTAGE),
        ("٥%", NOT_A_PERCENTAGE),
    ],
)
def test_texts_of_an_amount(text: str, said: str) -> None:
    assert [p.message for p in budget_problems({"maxUnavailable": text})] == ([said] if said else [])


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("-1%", IntOrPercent(-1, percent=True)),
        ("+5%", IntOrPercent(5, percent=True)),
        ("٥%", None),
        (f"{2**63}%", None),
    ],
)
def test_what_a_text_amounts_to(text: str, amount: IntOrPercent | None) -> None:
    assert parse_int_or_percent(text) == amount
