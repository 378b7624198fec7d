"""kubectl drain's filters, requests, waiting and cordoning against upstream's own tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

import pytest

from kubectl_eksdoc.kubernetes import drain_filters as filters
from kubectl_eksdoc.kubernetes.drain_filters import (
    DaemonSetPresence,
    Decision,
    DrainFilterInput,
    DrainFilterOutcome,
    FilterOptions,
    FilterResult,
    PodFilter,
    decide,
)
from kubectl_eksdoc.model.nodes import Pod
from tests import raw_facts
from tests.fakes.kubectl import error_texts, warning_text

NOW = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)

CASES = raw_facts.cases("drain-filters")
REQUESTS = ("wait-for-delete", "delete-or-evict", "eviction-support", "namespace-terminating")
OUTSIDE = {c["source"]: "what is sent is not kubectl's" for c in CASES if c["about"] in REQUESTS}
"""Cases that no rule answers, with the reason."""

RUN = [c for c in CASES if c["source"] not in OUTSIDE]
COUNTS = {
    "drain": 34,
    "filter-chain": 4,
    "skip-deleted": 3,
}


def about(what: str) -> pytest.MarkDecorator:
    found = [c for c in RUN if c["about"] == what]
    return pytest.mark.parametrize("case", found, ids=[c["source"].rpartition(":")[2] for c in found])


def options_of(args: list[str]) -> FilterOptions:
    known = {"--force", "--ignore-daemonsets", "--delete-emptydir-data=true", "node"}
    assert set(args) <= known, "an argument this test does not translate"
    return FilterOptions(
        force="--force" in args,
        ignore_daemonsets="--ignore-daemonsets" in args,
        delete_emptydir_data="--delete-emptydir-data=true" in args,
    )


def presence(pod: Pod, objects: Any) -> DaemonSetPresence:
    held = {(o["kind"], o["metadata"]["name"]) for o in objects}
    there = pod.owner is not None and ("DaemonSet", pod.owner.name) in held
    return DaemonSetPresence.EXISTS if there else DaemonSetPresence.MISSING


def decisions(given: Mapping[str, Any]) -> list[Decision]:
    options = options_of(given["args"])
    found = []
    for pod in map(raw_facts.pod, given["pods"]):
        found.append(decide(pod, DrainFilterInput(options, NOW, presence(pod, given.get("objects", ())))))
    return found


@about("drain")
def test_drain_removes_the_pods_upstream_removes(case: dict[str, Any]) -> None:
    given, expect = case["given"], case["expect"]
    made = decisions(given)
    errors = error_texts(made)
    deleted = [] if errors else [d.pod.key for d in made if d.outcome is DrainFilterOutcome.DELETE]
    if given["server"].get("removalRequestFails"):
        assert deleted == expect["attempted"]
        return
    assert (deleted, bool(errors)) == (expect["removed"], expect["fatal"])
    wanted = expect.get("stderrContains", "")
    assert wanted in f"Warning: {warning_text(made)}"


@about("skip-deleted")
def test_pods_deleted_long_ago_are_skipped(case: dict[str, Any]) -> None:
    given = case["given"]
    now = raw_facts.when(given["now"])
    assert now is not None
    options = FilterOptions(skip_deleting_after=given["options"]["skipWaitForDeleteTimeoutSeconds"])
    said = filters.skip_deleted(raw_facts.pod(given["pod"]), DrainFilterInput(options, now))
    assert (said is None) == case["expect"]["delete"]


def okay(pod: Pod, asked: DrainFilterInput) -> FilterResult | None:
    return None


def skip(pod: Pod, asked: DrainFilterInput) -> FilterResult | None:
    return FilterResult(filters.DrainFilter.MIRROR, DrainFilterOutcome.SKIP)


@about("filter-chain")
def test_more_filters_can_be_appended(case: dict[str, Any]) -> None:
    given = case["given"]
    more: tuple[PodFilter, ...] = tuple({"okay": okay, "skip": skip}[n] for n in given["options"]["additionalFilters"])
    asked = DrainFilterInput(FilterOptions(force=given["options"]["force"]), NOW)
    made = [decide(raw_facts.pod(raw), asked, (*filters.FILTERS, *more)) for raw in given["pods"]]
    assert sum(d.outcome is DrainFilterOutcome.DELETE for d in made) == case["expect"]["podsToDelete"]


def test_every_case_is_run() -> None:
    assert len({c["source"] for c in CASES}) == len(CASES)
    assert dict(Counter(c["about"] for c in RUN)) == COUNTS, "a kind of case that no test here runs"
    assert (len(CASES), len(RUN), len(OUTSIDE)) == (56, 41, 15)
