"""kubectl drain's filters, waiting and cordoning against upstream's own tables."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.rules import drain_filters as filters
from kubectl_eksdoc.core.rules.cordon import needs_update
from kubectl_eksdoc.core.rules.drain_filters import (
    Asked,
    Decision,
    FilterOptions,
    Outcome,
    PodFilter,
    Presence,
    Said,
    decide,
    error_texts,
    warning_text,
)
from kubectl_eksdoc.core.rules.waiting import Left, has_left
from tests import raw_facts

NOW = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)

OUTSIDE_ABOUT = {
    "delete-or-evict": "which request removes a pod is the client's choice; the rule ends with which pods",
    "eviction-support": "discovery belongs to the client",
    "namespace-terminating": "retrying belongs to the client; the answer itself is in the eviction rules",
}
DRAIN_TEST = "staging/src/k8s.io/kubectl/pkg/drain/drain_test.go:TestDeletePods"
OUTSIDE = {
    f"{DRAIN_TEST}/Context Canceled": "cancelling a wait belongs to the client",
    f"{DRAIN_TEST}/Client error could be passed out": "an error of the client, not something seen",
}

CASES = raw_facts.cases("drain-filters")
RUN = [c for c in CASES if c["about"] not in OUTSIDE_ABOUT and c["source"] not in OUTSIDE]
CORDON = raw_facts.cases("cordon")


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


def presence(pod: Pod, objects: Any) -> Presence:
    held = {(o["kind"], o["metadata"]["name"]) for o in objects}
    there = pod.owner is not None and ("DaemonSet", pod.owner.name) in held
    return Presence.EXISTS if there else Presence.MISSING


def decisions(given: Mapping[str, Any]) -> list[Decision]:
    options = options_of(given["args"])
    found = []
    for pod in map(raw_facts.pod, given["pods"]):
        found.append(decide(pod, Asked(options, NOW, presence(pod, given.get("objects", ())))))
    return found


@about("drain")
def test_drain_removes_the_pods_upstream_removes(case: dict[str, Any]) -> None:
    given, expect = case["given"], case["expect"]
    made = decisions(given)
    errors = error_texts(made)
    deleted = [] if errors else [d.pod.key for d in made if d.outcome is Outcome.DELETE]
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
    said = filters.skip_deleted(raw_facts.pod(given["pod"]), Asked(options, now))
    assert (said is None) == case["expect"]["delete"]


def okay(pod: Pod, asked: Asked) -> Said | None:
    return None


def skip(pod: Pod, asked: Asked) -> Said | None:
    return Said(filters.Filter.MIRROR, Outcome.SKIP)


@about("filter-chain")
def test_more_filters_can_be_appended(case: dict[str, Any]) -> None:
    given = case["given"]
    more: tuple[PodFilter, ...] = tuple({"okay": okay, "skip": skip}[n] for n in given["options"]["additionalFilters"])
    asked = Asked(FilterOptions(force=given["options"]["force"]), NOW)
    made = [decide(raw_facts.pod(raw), asked, (*filters.FILTERS, *more)) for raw in given["pods"]]
    assert sum(d.outcome is Outcome.DELETE for d in made) == case["expect"]["podsToDelete"]


def seen(pod: Pod, raw: Mapping[str, Any], what: str) -> Pod | None:
    """What a read finds under the pod's name, in the words of the table."""
    if what == "not found":
        return None
    meta = dict(raw["metadata"])
    if what == "other uid":
        meta["uid"] = f"not-{pod.uid}"
    elif what == "same, deletionTimestamp 100 s ago":
        meta["deletionTimestamp"] = (NOW - timedelta(seconds=100)).isoformat()
    else:
        assert what == "same"
    return raw_facts.pod({**raw, "metadata": meta})


@about("wait-for-delete")
def test_waiting_ends_when_upstreams_does(case: dict[str, Any]) -> None:
    given, expect = case["given"], case["expect"]
    limit = given["options"]["skipWaitForDeleteTimeoutSeconds"]
    waited_for = list(given["pods"])
    for answers in given["getPod"]:
        still = []
        for raw in waited_for:
            pod = raw_facts.pod(raw)
            left = has_left(pod, seen(pod, raw, answers[pod.name]), NOW, limit)
            if left is Left.STILL_THERE:
                still.append(raw)
        waited_for = still
    assert bool(waited_for) == expect["pendingPods"]


@pytest.mark.parametrize(
    "case", [c for c in CORDON if c["about"] == "update-needed"], ids=lambda c: c["source"].rpartition("/")[2]
)
def test_a_node_is_patched_only_where_it_changes(case: dict[str, Any]) -> None:
    given = case["given"]
    assert needs_update(raw_facts.node(given["node"]), given["desired"]) == case["expect"]["updateNeeded"]


@pytest.mark.parametrize(
    "case", [c for c in CORDON if c["about"] == "command"], ids=lambda c: c["source"].rpartition("/")[2]
)
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


def test_what_is_left_out_is_exactly_this() -> None:
    left = [c for c in CASES if c not in RUN]
    assert {c["source"] for c in left if c["about"] not in OUTSIDE_ABOUT} == set(OUTSIDE)
    assert {c["about"] for c in CASES} - {c["about"] for c in RUN} == set(OUTSIDE_ABOUT)
    assert (len(CASES), len(RUN)) == (56, 45)
    # How a patch is answered and which objects cordon takes belong to the client.
    assert {c["about"] for c in CORDON} == {"command", "update-needed", "patch", "accepts"}
    assert len(CORDON) == 16
