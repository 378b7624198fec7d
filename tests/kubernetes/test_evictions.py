"""The eviction endpoint: each rule that decides, requests and lost races, and upstream's own tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.kubernetes.budgets import ComputedStatus, recompute, with_result
from kubectl_eksdoc.kubernetes.evictions import (
    EVICTION_VERSIONS,
    MAX_DISRUPTED,
    MAX_TRIES,
    EvictionCause,
    EvictionRequest,
    EvictionResponse,
    StoredPod,
    evict,
    not_found,
    precondition_conflict,
    request_refusal,
    serve_eviction,
)
from kubectl_eksdoc.kubernetes.replacement import ScaleIndex
from kubectl_eksdoc.model.budgets import ALWAYS_ALLOW, Budget
from kubectl_eksdoc.model.nodes import Pod
from tests import raw_facts
from tests.builders import NOW, a_budget, a_pod, a_workload, pods
from tests.for_each import for_each

READY = a_pod("web-0")
UNREADY = a_pod("web-0", ready=False)


STALE = a_budget(generation=2, observed_generation=1, unhealthy_policy=ALWAYS_ALLOW)
UNSEEN = {f"p{i}": NOW for i in range(MAX_DISRUPTED)}


@pytest.mark.parametrize(
    ("pod", "budget", "code", "why"),
    [
        (a_pod(phase="Unknown", ready=True), a_budget(allowed=0), 429, EvictionCause.EXHAUSTED),
        (UNREADY, STALE, 201, EvictionCause.UNHEALTHY_ALLOWED),
        (READY, STALE, 429, EvictionCause.STALE),
        (READY, a_budget(allowed=-1, current=2), 403, EvictionCause.NEGATIVE),
        (READY, a_budget(allowed=9, expected=9, disrupted=UNSEEN), 201, EvictionCause.COUNTED),
        (READY, a_budget(allowed=9, disrupted={**UNSEEN, "x": NOW}), 403, EvictionCause.TOO_MANY_DISRUPTED),
    ],
)
def test_what_decides(pod: Pod, budget: Budget, code: int, why: EvictionCause) -> None:
    answer = evict(pod, (budget,), NOW)
    assert (answer.code, answer.eviction_cause) == (code, why)
    assert (answer.updated_budget is not None, answer.checks_version) == (
        why is EvictionCause.COUNTED,
        why is EvictionCause.UNHEALTHY_ALLOWED,
    )


@pytest.mark.parametrize(
    ("more", "cause"),
    [
        (
            {"condition_reason": "SyncFailed", "condition_message": "no scale", "current": 1, "desired": 2},
            "The disruption budget web does not allow evicting pods currently because it failed sync: no scale",
        ),
        (
            {"current": 3, "desired": 2, "condition_reason": "Frozen", "condition_message": "ask the owners"},
            "The disruption budget web does not allow evicting pods currently (Frozen): ask the owners",
        ),
        (
            {"current": 3, "desired": 2, "condition_status": "True", "condition_reason": "SyncFailed"},
            "The disruption budget web does not allow evicting pods currently",
        ),
    ],
)
def test_why_nothing_is_allowed(more: dict[str, Any], cause: str) -> None:
    answer = evict(READY, (a_budget(allowed=0, **more),), NOW)
    assert (answer.code, answer.reason, answer.cause, answer.retry_after) == (429, "TooManyRequests", cause, 0)


@given(st.integers(0, 8), st.integers(1, 12), st.booleans())
def test_a_sequence_never_gets_more_than_is_allowed(minimum: int, count: int, syncs_between: bool) -> None:
    """Granted evictions keep counting against the budget, whether or not the controller syncs in between."""
    members = pods(count)
    scales = ScaleIndex.of([a_workload(replicas=count)])
    budget = a_budget(min_available=minimum)

    def sync(held: Budget) -> Budget:
        result = recompute(held, members, scales, NOW)
        assert isinstance(result, ComputedStatus)
        return with_result(held, result)

    budget = sync(budget)
    granted = 0
    for pod in members:
        answer = evict(pod, (budget,), NOW)
        granted += answer.ok
        budget = answer.updated_budget or budget
        budget = sync(budget) if syncs_between else budget
        assert budget.status.allowed >= 0
    assert granted == max(0, count - minimum)


ASKED = EvictionRequest("web-1", "web-1")
UNCOUNTED = a_budget(allowed=1, current=2, desired=2)


@dataclass
class OnePod:
    """A store with one pod and one budget; `races` is how many writes of the budget lose."""

    pod: Pod | None
    held: Budget | None = None
    races: int = 0
    deletes: list[tuple[str | None, str | None]] = field(default_factory=list)
    refuse_delete: EvictionResponse | None = None
    goes_with_race: bool = False

    def get(self, name: str) -> StoredPod | None:
        return StoredPod(self.pod, "7") if self.pod is not None and self.pod.name == name else None

    def guards(self, pod: Pod) -> Sequence[Budget]:
        return (self.held,) if self.held is not None else ()

    def budget(self, name: str) -> Budget | None:
        return self.held

    def write(self, budget: Budget) -> bool:
        if self.races > 0:
            self.races -= 1
            self.held = None if self.goes_with_race else self.held
            return False
        self.held = budget
        return True

    def delete(
        self, name: str, uid: str | None, resource_version: str | None, dry_run: bool
    ) -> EvictionResponse | None:
        self.deletes.append((uid, resource_version))
        assert self.pod is not None
        return self.refuse_delete or precondition_conflict(StoredPod(self.pod, "7"), uid, resource_version)


@pytest.mark.parametrize(
    ("method", "version", "kind", "code"),
    [
        ("POST", EVICTION_VERSIONS[1], "Eviction", 0),
        ("POST", "policy/v1", "PodDisruptionBudget", 400),
        ("PUT", "policy/v1", "Eviction", 405),
    ],
)
def test_only_evictions_are_created(method: str, version: str, kind: str, code: int) -> None:
    store = OnePod(a_pod(), a_budget())
    asked = replace(ASKED, method=method, api_version=version, kind=kind)
    refusal = request_refusal(asked)
    assert (refusal.code if refusal is not None else 0) == code
    assert serve_eviction(asked, store, NOW).code == (code or 201)
    assert bool(store.deletes) == (code == 0)


@pytest.mark.parametrize(
    ("store", "more", "code", "said"),
    [
        (OnePod(a_pod(), a_budget(), races=MAX_TRIES - 1), {}, 201, ""),
        (OnePod(a_pod(), a_budget(), races=MAX_TRIES), {}, 409, "the object has been modified"),
        (
            OnePod(a_pod(), a_budget(), races=1, goes_with_race=True),
            {},
            404,
            'poddisruptionbudgets.policy "web" not found',
        ),
        (OnePod(a_pod(), UNCOUNTED), {"uid": "of the pod before"}, 409, "deleted and then recreated"),
        (OnePod(a_pod(ready=False), UNCOUNTED), {"resource_version": "6"}, 409, "might have been modified"),
        (OnePod(a_pod(ready=False), UNCOUNTED), {"uid": "of the pod before"}, 429, "would violate"),
        (OnePod(a_pod()), {"dry_run": ("All",), "body_dry_run": ("Some",)}, 500, "[All] and [Some]"),
    ],
)
def test_races_conflicts_and_contradictions(store: OnePod, more: dict[str, Any], code: int, said: str) -> None:
    answer = serve_eviction(replace(ASKED, **more), store, NOW)
    assert answer.code == code and said in answer.message
    if answer.ok:
        assert store.held is not None and store.held.status.allowed == 0


def test_a_counted_eviction_stays_counted_when_the_delete_fails() -> None:
    """The server updates the budget first: a retry after a failed delete takes a second disruption."""
    failed = EvictionResponse(500, EvictionCause.REQUEST, "InternalError")
    store = OnePod(a_pod(), a_budget(allowed=2), refuse_delete=failed)
    assert [serve_eviction(ASKED, store, NOW).code for _ in range(2)] == [500, 500]
    assert store.held is not None and store.held.status.allowed == 0


def test_the_server_watches_the_version_of_pods_it_lets_go_uncounted() -> None:
    for store, version in (
        (OnePod(a_pod(ready=False), a_budget(allowed=0, current=2, desired=2)), "7"),
        (OnePod(a_pod(phase="Pending")), "7"),
        (OnePod(a_pod(), a_budget()), None),
        (OnePod(a_pod(phase="Succeeded")), None),
    ):
        assert serve_eviction(ASKED, store, NOW).ok and store.deletes == [(None, version)]


NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


CASES = raw_facts.cases("eviction")

_CODES = {"Conflict": 409, "BadRequest": 400}


class Store:
    """The pods and budgets of a case; `script` is what its deletes answer, in order, before they succeed."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        raw = given.get("pods") or ([given["pod"]] if "pod" in given else [])
        if "body" in given.get("request", {}):
            # TestEvictionVersions evicts one pod that nothing guards, and does not describe it.
            raw = [{"metadata": {"name": given["request"]["body"]["metadata"]["name"]}, "status": {"phase": "Running"}}]
        self.pods: dict[str, Pod] = {p.name: p for p in map(raw_facts.pod, raw)}
        self.versions = {p["metadata"]["name"]: p["metadata"].get("resourceVersion", "1") for p in raw}
        self.budgets = {b.name: b for b in map(raw_facts.budget, given.get("poddisruptionbudgets", ()))}
        self.script: list[Mapping[str, Any]] = list(given.get("deleteAnswers", ()))
        self.repeats = bool(given.get("deleteAnswersRepeat"))
        self.scripted = bool(self.script)
        self.deletes = 0
        self.targets: set[str] = set()

    def get(self, name: str) -> StoredPod | None:
        pod = self.pods.get(name)
        return None if pod is None else StoredPod(pod, self.versions[name])

    def guards(self, pod: Pod) -> Sequence[Budget]:
        return raw_facts.selecting(tuple(self.budgets.values()), pod)

    def budget(self, name: str) -> Budget | None:
        return self.budgets.get(name)

    def write(self, budget: Budget) -> bool:
        self.budgets[budget.name] = budget
        return True

    def delete(
        self, name: str, uid: str | None, resource_version: str | None, dry_run: bool
    ) -> EvictionResponse | None:
        self.deletes += 1
        if self.scripted:
            return self._as_scripted(name)
        stored = self.get(name)
        if stored is None:
            return not_found(name)
        refused = precondition_conflict(stored, uid, resource_version)
        if refused is None and not dry_run:
            self.targets.add(name)
            if stored.pod.finalizers:
                self.pods[name] = replace(stored.pod, deletion_deadline=NOON)
            else:
                del self.pods[name]
        return refused

    def _as_scripted(self, name: str) -> EvictionResponse | None:
        step = self.script[0] if self.repeats else self.script.pop(0)
        change = step.get("podThen", {})
        pod = self.pods[name]
        self.pods[name] = replace(pod, phase=change.get("status", {}).get("phase", pod.phase))
        self.versions[name] = change.get("metadata", {}).get("resourceVersion", self.versions[name])
        if step["answer"] == "OK":
            return None
        return EvictionResponse(_CODES[step["answer"]], EvictionCause.REQUEST, step["answer"], step["message"])


def request_of(given: Mapping[str, Any], eviction: Mapping[str, Any]) -> EvictionRequest:
    options = eviction.get("deleteOptions") or {}
    asked = given.get("request", {})
    assert asked.get("subresource", "eviction") == "eviction"
    preconditions = options.get("preconditions", {})
    return EvictionRequest(
        name=eviction["metadata"]["name"],
        url_name=asked.get("podNameInUrl", eviction["metadata"]["name"]),
        dry_run=tuple(asked.get("dryRun", ())),
        body_dry_run=tuple(options.get("dryRun", ())),
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        ignore_store_read_error=options.get("ignoreStoreReadErrorWithClusterBreakingPotential", False),
        method=asked.get("verb", "POST"),
        api_version=eviction.get("apiVersion", ""),
        kind=eviction.get("kind", ""),
    )


def judged(answer: EvictionResponse, store: Store, name: str, expect: Mapping[str, Any]) -> dict[str, Any]:
    """The result in the terms of `expect`; an unknown key fails the case."""
    came_out: dict[str, Any] = {}
    for key, wanted in expect.items():
        if key == "messageContains":
            came_out[key] = wanted if wanted in answer.message else answer.message
        elif key == "budgetAfter":
            came_out[key] = after(store, wanted)
        elif key == "podHasCondition":
            came_out[key] = {"DisruptionTarget": name in store.targets}
        else:
            came_out[key] = {
                "ok": answer.ok,
                "code": answer.code,
                "reason": answer.reason,
                "message": answer.message,
                "cause": answer.cause,
                "deleteCalls": store.deletes,
                "podDeleted": name not in store.pods,
                "podStillThere": name in store.pods,
                "posts": 1,  # every case here is asked once
                "answer": {"apiVersion": "v1", "kind": "Status"},  # all that an Answer can stand for
            }[key]
    return came_out


def after(store: Store, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The budget after the eviction; currentHealthy is only set by the controller's next sync."""
    budget = store.budgets[wanted["name"]]
    if "currentHealthy" in wanted:
        pods = [p for p in store.pods.values() if budget.selector.matches(p.labels)]
        result = recompute(budget, pods, ScaleIndex.of(()), NOON)
        assert isinstance(result, ComputedStatus)
        budget = with_result(budget, result)
    held = {
        "name": budget.name,
        "disruptionsAllowed": budget.status.allowed,
        "conditionReason": budget.condition_reason,
        "observedGeneration": budget.observed_generation,
        "currentHealthy": budget.status.current,
    }
    return {key: held[key] for key in wanted}


@for_each("case", CASES, ids=lambda case: case["source"].rpartition(":")[2])
def test_answers_as_upstream(case: dict[str, Any]) -> None:
    given, expect = case["given"], case["expect"]
    store = Store(given)
    if "evictions" in given:
        answers = [serve_eviction(request_of(given, e), store, NOON) for e in given["evictions"]]
        assert sum(a.ok for a in answers) == expect["evicted"]
        assert not {a.code for a in answers} & set(expect["neverCodes"])
        return
    # The body that is sent; a GET and a PATCH without one ask for a pod all the same.
    asked = given.get("request", {})
    eviction: Mapping[str, Any] = given.get("eviction") or asked.get("body") or {"metadata": {"name": "test"}}
    before = dict(store.pods)
    answer = serve_eviction(request_of(given, eviction), store, NOON)
    assert judged(answer, store, eviction["metadata"]["name"], expect) == expect
    if given.get("request", {}).get("verb"):
        assert store.pods == before, "a dry run or a request that is refused"


def test_every_case_is_run() -> None:
    assert len({c["source"] for c in CASES}) == len(CASES) == 101
