"""kubectl drain's filters, requests, waiting and cordoning against upstream's own tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
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
from tests.fakes.kubectl import (
    Next,
    Removal,
    RemovalOptions,
    Served,
    after_eviction,
    after_patch,
    can_be_cordoned,
    error_texts,
    eviction_version,
    needs_update,
    removals,
    timed_out_text,
    warning_text,
)

NOW = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)

CASES = raw_facts.cases("drain-filters")
OUTSIDE = {c["source"]: "runs wait by the events of a watch" for c in CASES if c["about"] == "wait-for-delete"}
"""Cases that no rule answers, with the reason."""

RUN = [c for c in CASES if c["source"] not in OUTSIDE]
COUNTS = {
    "drain": 34,
    "filter-chain": 4,
    "delete-or-evict": 4,
    "skip-deleted": 3,
    "eviction-support": 3,
    "namespace-terminating": 2,
}
CORDON = raw_facts.cases("cordon")
CORDON_COUNTS = {"command": 9, "update-needed": 3, "patch": 2, "accepts": 2}


def about(what: str, cases: Sequence[dict[str, Any]] = RUN) -> pytest.MarkDecorator:
    found = [c for c in cases if c["about"] == what]
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


def served_eviction(server: Mapping[str, Any]) -> str:
    """What discovery of the table's server offers for evictions."""
    return "policy/v1" if server["evictionSubresource"] else ""


@about("drain")
def test_drain_removes_the_pods_upstream_removes(case: dict[str, Any]) -> None:
    given, expect = case["given"], case["expect"]
    made = decisions(given)
    errors = error_texts(made)
    deleted = [] if errors else [d.pod.key for d in made if d.outcome is DrainFilterOutcome.DELETE]
    asked = removals([d.pod for d in made if d.pod.key in deleted], RemovalOptions(), served_eviction(given["server"]))
    assert {"evict" if r.evicts else "delete" for r in asked} == ({expect["by"]} if expect["by"] else set())
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


@about("eviction-support")
def test_the_version_of_evictions_is_the_one_discovery_offers(case: dict[str, Any]) -> None:
    served = [Served(**entry) for entry in case["given"]["discovery"]["v1"]]
    assert eviction_version(served) == (case["expect"]["evictionGroupVersion"] or "")


@about("delete-or-evict")
def test_pods_are_evicted_where_upstream_evicts_them(case: dict[str, Any]) -> None:
    given, expect = case["given"], case["expect"]
    pods = [raw_facts.pod(raw) for raw in given["pods"]]
    options = RemovalOptions(given["options"]["gracePeriodSeconds"], given["options"]["disableEviction"])
    asked = removals([p for p in pods if p.key in given["remove"]], options, served_eviction(given["server"]))
    assert all(r.evicts == expect["usingEviction"] for r in asked)
    assert [body(r) for r in asked if r.evicts] == expect["evictions"]
    gone = {f"{r.namespace}/{r.name}" for r in asked}
    assert [p.key for p in pods if p.key not in gone] == expect["remaining"]


def body(removal: Removal) -> dict[str, Any]:
    return {
        "apiVersion": removal.eviction_version,
        "metadata": {"name": removal.name, "namespace": removal.namespace},
        "deleteOptions": {"gracePeriodSeconds": removal.grace_seconds},
    }


def seen(pod: Pod, raw: Mapping[str, Any], what: str) -> Pod | None:
    """What a read finds under the pod's name, in the words of the table."""
    if what == "not found":
        return None
    meta = dict(raw["metadata"])
    if what == "other uid":
        meta["uid"] = f"not-{pod.uid}"
    elif what == "same, deletionTimestamp 100 s ago":
        meta["deletionTimestamp"] = (NOW - timedelta(seconds=100)).isoformat()
    elif what == "same, with a deletionTimestamp":
        meta["deletionTimestamp"] = NOW.isoformat()
    else:
        assert what == "same"
    return raw_facts.pod({**raw, "metadata": meta})


@about("namespace-terminating")
def test_a_pod_of_a_namespace_that_goes_is_asked_until_it_is_marked(case: dict[str, Any]) -> None:
    given, expect = case["given"], case["expect"]
    server, options, raw = given["server"], given["options"], given["pods"][0]
    answer, deadline = server["evictionAnswer"], NOW + timedelta(seconds=options["timeoutSeconds"])
    pod = current = raw_facts.pod(raw)
    reads, now, error = list(server["getPod"]), NOW, None

    def read() -> Pod | None:
        return seen(pod, raw, reads.pop(0) if len(reads) > 1 else reads[0])

    while (step := after_eviction(answer["code"], [answer["cause"]], current.deleting)) is Next.RETRY:
        now += timedelta(seconds=options["evictErrorRetryDelaySeconds"])
        if now >= deadline:
            error = timed_out_text(pod, f"{options['timeoutSeconds'] * 1000:g}ms")
            break
        current = read() or current
    assert (step is Next.WAIT) == (error is None)
    left = read()
    assert error is not None or left is None or left.uid != pod.uid
    assert error == expect["error"]


@about("update-needed", CORDON)
def test_a_node_is_patched_only_where_it_changes(case: dict[str, Any]) -> None:
    given = case["given"]
    assert needs_update(raw_facts.node(given["node"]), given["desired"]) == case["expect"]["updateNeeded"]


@about("command", CORDON)
def test_cordon_and_uncordon_change_the_nodes_they_name(case: dict[str, Any]) -> None:
    given, expect = case["given"], case["expect"]
    held = {n.name: n for n in map(raw_facts.node, given["nodes"])}
    named = [arg.removeprefix("node/") for arg in given["args"]]
    desired = given["command"] == "cordon"
    fatal = any(name not in held for name in named)
    patched = [] if fatal else [name for name in named if needs_update(held[name], desired)]
    after = {name: desired if name in patched else node.unschedulable for name, node in held.items()}
    assert (fatal, after) == (expect["fatal"], expect["unschedulable"])
    assert bool(patched) == expect.get("patched", bool(patched))


@about("patch", CORDON)
def test_a_node_counts_as_changed_only_when_the_server_changed_it(case: dict[str, Any]) -> None:
    given, expect = case["given"], case["expect"]
    accepted = not given["server"]["patchAndUpdateFail"]
    node = after_patch(raw_facts.node(given["node"]), given["desired"], accepted)
    assert (not accepted, node.unschedulable) == (expect["error"], expect["localNodeUnschedulable"])


@about("accepts", CORDON)
def test_only_nodes_are_cordoned(case: dict[str, Any]) -> None:
    asked = case["given"]["object"]
    assert can_be_cordoned(asked["apiVersion"], asked["kind"]) == (not case["expect"]["error"])


def test_every_case_is_run() -> None:
    for cases, run, counts in ((CASES, RUN, COUNTS), (CORDON, CORDON, CORDON_COUNTS)):
        assert len({c["source"] for c in cases}) == len(cases)
        assert dict(Counter(c["about"] for c in run)) == counts, "a kind of case that no test here runs"
    assert {c["source"] for c in CASES} - {c["source"] for c in RUN} == set(OUTSIDE)
    assert (len(CASES), len(RUN), len(OUTSIDE), len(CORDON)) == (56, 50, 6, 16)
