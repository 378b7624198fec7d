"""Requests as a real API server answered them: names, preconditions, missing pods, lost races."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from kubectl_eksdoc.kubernetes.evictions import (
    TRIES,
    VERSIONS,
    EvictionAnswer,
    EvictionCause,
    EvictionRequest,
    Stored,
    conflict,
    malformed,
    serve,
)
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.nodes import Pod
from tests.builders import NOW, a_budget, a_pod

ASKED = EvictionRequest("web-1", "web-1")


@dataclass
class OnePod:
    """A store with one pod and one budget; `races` is how many writes of the budget lose."""

    pod: Pod | None
    held: Budget | None = None
    races: int = 0
    deletes: list[tuple[str | None, str | None]] = field(default_factory=list)
    refuse_delete: EvictionAnswer | None = None
    goes_with_race: bool = False

    def get(self, name: str) -> Stored | None:
        return Stored(self.pod, "7") if self.pod is not None and self.pod.name == name else None

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

    def delete(self, name: str, uid: str | None, resource_version: str | None, dry_run: bool) -> EvictionAnswer | None:
        self.deletes.append((uid, resource_version))
        assert self.pod is not None
        return self.refuse_delete or conflict(Stored(self.pod, "7"), uid, resource_version)


@pytest.mark.parametrize(
    ("method", "version", "kind", "code"),
    [
        ("POST", "", "", 0),
        ("POST", VERSIONS[1], "Eviction", 0),
        ("POST", "policy/v2", "Eviction", 400),
        ("POST", "policy/v1", "PodDisruptionBudget", 400),
        ("PUT", "policy/v1", "Eviction", 405),
        ("GET", "policy/v2", "", 405),
    ],
)
def test_only_evictions_are_created(method: str, version: str, kind: str, code: int) -> None:
    store = OnePod(a_pod(), a_budget())
    asked = replace(ASKED, method=method, api_version=version, kind=kind)
    refusal = malformed(asked)
    assert (refusal.code if refusal is not None else 0) == code
    assert serve(asked, store, NOW).code == (code or 201)
    assert bool(store.deletes) == (code == 0)


def test_a_dry_run_that_contradicts_itself() -> None:
    answer = malformed(EvictionRequest("web-1", "web-1", dry_run=("All",), body_dry_run=("Some",)))
    assert answer is not None
    assert (answer.code, answer.reason) == (500, "InternalError")


@pytest.mark.parametrize("where", ["dry_run", "body_dry_run"])
def test_a_dry_run_writes_nothing(where: str) -> None:
    store = OnePod(a_pod(), a_budget())
    assert serve(EvictionRequest("web-1", "web-1", **{where: ("All",)}), store, NOW).ok  # type: ignore[arg-type]
    assert store.held == a_budget()


def test_a_lost_race_for_the_budget_is_run_again() -> None:
    store = OnePod(a_pod(), a_budget(), races=TRIES - 1)
    assert serve(ASKED, store, NOW).ok
    assert store.held is not None and store.held.status.allowed == 0


def test_one_race_too_many_is_a_conflict() -> None:
    answer = serve(ASKED, OnePod(a_pod(), a_budget(), races=TRIES), NOW)
    assert (answer.code, answer.reason) == (409, "Conflict")


def test_a_budget_that_goes_during_the_race_is_what_is_not_found() -> None:
    answer = serve(ASKED, OnePod(a_pod(), a_budget(), races=1, goes_with_race=True), NOW)
    assert (answer.code, answer.message) == (404, 'poddisruptionbudgets.policy "web" not found')


@pytest.mark.parametrize(
    ("pod", "request_", "code"),
    [
        (a_pod(), replace(ASKED, uid="of the pod before"), 409),
        (a_pod(ready=False), replace(ASKED, resource_version="6"), 409),
        # The server takes this for the pod having changed while it looked, whatever precondition failed.
        (a_pod(ready=False), replace(ASKED, uid="of the pod before"), 429),
    ],
)
def test_which_conflicts_are_told_as_such(pod: Pod, request_: EvictionRequest, code: int) -> None:
    store = OnePod(pod, a_budget(allowed=1, current=2, desired=2))
    assert serve(request_, store, NOW).code == code


def test_a_counted_eviction_stays_counted_when_the_delete_fails() -> None:
    """The server takes from the budget first: a retry after a failed delete takes a second one."""
    store = OnePod(
        a_pod(), a_budget(allowed=2), refuse_delete=EvictionAnswer(500, EvictionCause.REQUEST, "InternalError")
    )
    assert serve(ASKED, store, NOW).code == 500
    assert serve(ASKED, store, NOW).code == 500
    assert store.held is not None and store.held.status.allowed == 0


def test_the_server_watches_the_version_of_pods_it_lets_go_uncounted() -> None:
    unready = OnePod(a_pod(ready=False), a_budget(allowed=0, current=2, desired=2))
    pending = OnePod(a_pod(phase="Pending"))
    counted = OnePod(a_pod(), a_budget())
    finished = OnePod(a_pod(phase="Succeeded"))
    for store in (unready, pending, counted, finished):
        assert serve(ASKED, store, NOW).ok
    assert [s.deletes for s in (unready, pending, counted, finished)] == [
        [(None, "7")],
        [(None, "7")],
        [(None, None)],
        [(None, None)],
    ]


def test_a_version_the_client_gave_is_the_one_that_counts() -> None:
    store = OnePod(a_pod(phase="Pending"))
    answer = serve(replace(ASKED, resource_version="6"), store, NOW)
    assert (answer.code, store.deletes) == (409, [(None, "6")])
