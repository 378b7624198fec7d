"""The eviction endpoint against upstream's own tables (TestEviction*, TestAddConditionAndDelete, integration)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from kubectl_eksdoc.kubernetes.budgets import Computed, recompute, synced
from kubectl_eksdoc.kubernetes.evictions import (
    EvictionAnswer,
    EvictionCause,
    EvictionRequest,
    Stored,
    conflict,
    not_found,
    serve,
)
from kubectl_eksdoc.kubernetes.replacement import Scales
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.nodes import Pod
from tests import raw_facts
from tests.for_each import for_each

NOW = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)

OUTSIDE: Mapping[str, str] = {}
"""Cases that no rule answers, with the reason: none."""

CASES = raw_facts.cases("eviction")
RUN = [case for case in CASES if case["source"] not in OUTSIDE]

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

    def get(self, name: str) -> Stored | None:
        pod = self.pods.get(name)
        return None if pod is None else Stored(pod, self.versions[name])

    def guards(self, pod: Pod) -> Sequence[Budget]:
        return raw_facts.selecting(tuple(self.budgets.values()), pod)

    def budget(self, name: str) -> Budget | None:
        return self.budgets.get(name)

    def write(self, budget: Budget) -> bool:
        self.budgets[budget.name] = budget
        return True

    def delete(self, name: str, uid: str | None, resource_version: str | None, dry_run: bool) -> EvictionAnswer | None:
        self.deletes += 1
        if self.scripted:
            return self._as_scripted(name)
        stored = self.get(name)
        if stored is None:
            return not_found(name)
        refused = conflict(stored, uid, resource_version)
        if refused is None and not dry_run:
            self.targets.add(name)
            if stored.pod.finalizers:
                self.pods[name] = replace(stored.pod, deletion_deadline=NOW)
            else:
                del self.pods[name]
        return refused

    def _as_scripted(self, name: str) -> EvictionAnswer | None:
        step = self.script[0] if self.repeats else self.script.pop(0)
        change = step.get("podThen", {})
        pod = self.pods[name]
        self.pods[name] = replace(pod, phase=change.get("status", {}).get("phase", pod.phase))
        self.versions[name] = change.get("metadata", {}).get("resourceVersion", self.versions[name])
        if step["answer"] == "OK":
            return None
        return EvictionAnswer(_CODES[step["answer"]], EvictionCause.REQUEST, step["answer"], step["message"])


def eviction_of(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body that is sent; a GET and a PATCH without one ask for a pod all the same."""
    asked = given.get("request", {})
    body: Mapping[str, Any] = given.get("eviction") or asked.get("body") or {"metadata": {"name": "test"}}
    return body


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


def judged(answer: EvictionAnswer, store: Store, name: str, expect: Mapping[str, Any]) -> dict[str, Any]:
    """What came out, in the words of `expect`; a key that is not known here fails the case."""
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
    """The budget as the eviction left it; currentHealthy is only told after the controller's next sync."""
    budget = store.budgets[wanted["name"]]
    if "currentHealthy" in wanted:
        pods = [p for p in store.pods.values() if budget.selector.matches(p.labels)]
        result = recompute(budget, pods, Scales.of(()), NOW)
        assert isinstance(result, Computed)
        budget = synced(budget, result)
    held = {
        "name": budget.name,
        "disruptionsAllowed": budget.status.allowed,
        "conditionReason": budget.condition_reason,
        "observedGeneration": budget.observed_generation,
        "currentHealthy": budget.status.current,
    }
    return {key: held[key] for key in wanted}


@for_each("case", RUN, ids=lambda case: case["source"].rpartition(":")[2])
def test_answers_as_upstream(case: dict[str, Any]) -> None:
    given, expect = case["given"], case["expect"]
    store = Store(given)
    if "evictions" in given:
        answers = [serve(request_of(given, e), store, NOW) for e in given["evictions"]]
        assert sum(a.ok for a in answers) == expect["evicted"]
        assert not {a.code for a in answers} & set(expect["neverCodes"])
        return
    eviction = eviction_of(given)
    before = dict(store.pods)
    answer = serve(request_of(given, eviction), store, NOW)
    assert judged(answer, store, eviction["metadata"]["name"], expect) == expect
    if given.get("request", {}).get("verb"):
        assert store.pods == before, "a dry run or a request that is refused"


def test_every_case_is_run() -> None:
    assert len({c["source"] for c in CASES}) == 101
    assert {c["source"] for c in CASES} - {c["source"] for c in RUN} == set(OUTSIDE)
    assert (len(CASES), len(RUN), len(OUTSIDE)) == (101, 101, 0)
