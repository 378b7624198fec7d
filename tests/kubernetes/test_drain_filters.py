"""kubectl's drain filters for one pod, alone and together, compared with upstream's own tables and by rule."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timezone
from typing import Any

import pytest

from kubectl_eksdoc.kubernetes.drain_filters import (
    DAEMONSET_FATAL,
    DAEMONSET_WARNING,
    LOCAL_STORAGE_FATAL,
    LOCAL_STORAGE_WARNING,
    UNMANAGED_FATAL,
    UNMANAGED_WARNING,
    DaemonSetPresence,
    DrainDecision,
    DrainFilter,
    DrainFilterInput,
    DrainFilterOutcome,
    FilterOptions,
    run_filters,
    skip_deleted,
)
from kubectl_eksdoc.model.nodes import MIRROR_ANNOTATION, Pod
from tests import raw_facts
from tests.builders import NOW, a_pod, an_emptydir

CASES = raw_facts.cases("drain-filters")
OUTSIDE = {
    "wait-for-delete": "runs wait by the events of a watch",
    "delete-or-evict": "the requests are the tool's own",
    "eviction-support": "the tool reads discovery itself",
    "namespace-terminating": "what follows an answer is the tool's own",
    "filter-chain": "there are no filters but kubectl's",
}
"""Kinds of cases that no rule answers, with the reason."""

DAEMON = a_pod("agent-1", owner="DaemonSet/agent")
STATIC = a_pod("kube-static", owner="Node/old-0", annotations={MIRROR_ANNOTATION: ""})
BARE = a_pod("bare", owner=None)
SCRATCH = a_pod("scratch", volumes=(an_emptydir(),))
BARE_SCRATCH = a_pod("both", owner=None, volumes=(an_emptydir(),))
ALL_FLAGS: dict[str, Any] = {"ignore_daemonsets": True, "delete_emptydir_data": True, "force": True}


def about(what: str) -> pytest.MarkDecorator:
    found = [c for c in CASES if c["about"] == what]
    return pytest.mark.parametrize("case", found, ids=[c["source"].rpartition(":")[2] for c in found])


def presence(pod: Pod, objects: Any) -> DaemonSetPresence:
    held = {(o["kind"], o["metadata"]["name"]) for o in objects}
    there = pod.owner is not None and ("DaemonSet", pod.owner.name) in held
    return DaemonSetPresence.EXISTS if there else DaemonSetPresence.MISSING


@about("drain")
def test_drain_removes_the_pods_upstream_removes(case: dict[str, Any]) -> None:
    given, expect, now = case["given"], case["expect"], datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
    flags = {arg.lstrip("-").partition("=")[0].replace("-", "_") for arg in given["args"] if arg != "node"}
    options = FilterOptions(**dict.fromkeys(flags, True))  # type: ignore[arg-type]
    pods = [raw_facts.pod(raw) for raw in given["pods"]]
    made = [run_filters(pod, DrainFilterInput(options, now, presence(pod, given.get("objects", ())))) for pod in pods]
    fatal = any(each.outcome is DrainFilterOutcome.ERROR for each in made)
    deleted = [] if fatal else [each.pod.key for each in made if each.outcome is DrainFilterOutcome.DELETE]
    if given["server"].get("removalRequestFails"):
        assert deleted == expect["attempted"]
    else:
        assert (deleted, fatal) == (expect["removed"], expect["fatal"])


@about("skip-deleted")
def test_pods_deleted_long_ago_are_skipped(case: dict[str, Any]) -> None:
    given, now = case["given"], raw_facts.when(case["given"]["now"])
    assert now is not None
    options = FilterOptions(skip_deleting_after=given["options"]["skipWaitForDeleteTimeoutSeconds"])
    said = skip_deleted(raw_facts.pod(given["pod"]), DrainFilterInput(options, now))
    assert (said is None) == case["expect"]["delete"]


def test_every_case_is_run() -> None:
    counts = Counter(case["about"] for case in CASES)
    assert {what: count for what, count in counts.items() if what not in OUTSIDE} == {"drain": 34, "skip-deleted": 3}


def decided(pod: Pod, daemon_set: DaemonSetPresence = DaemonSetPresence.EXISTS, **options: Any) -> DrainDecision:
    return run_filters(pod, DrainFilterInput(FilterOptions(**options), NOW, daemon_set))


@pytest.mark.parametrize(
    ("pod", "options", "outcome", "message"),
    [
        (DAEMON, {"force": True}, DrainFilterOutcome.ERROR, DAEMONSET_FATAL),
        (DAEMON, {"ignore_daemonsets": True}, DrainFilterOutcome.SKIP, DAEMONSET_WARNING),
        (STATIC, ALL_FLAGS, DrainFilterOutcome.SKIP, ""),
        (SCRATCH, {"delete_emptydir_data": True}, DrainFilterOutcome.DELETE, LOCAL_STORAGE_WARNING),
        (BARE, {"force": True}, DrainFilterOutcome.DELETE, UNMANAGED_WARNING),
        (a_pod(volumes=(an_emptydir(medium="Memory"),)), {}, DrainFilterOutcome.ERROR, LOCAL_STORAGE_FATAL),
        (BARE_SCRATCH, {"delete_emptydir_data": True}, DrainFilterOutcome.ERROR, UNMANAGED_FATAL),
        (BARE_SCRATCH, {}, DrainFilterOutcome.ERROR, LOCAL_STORAGE_FATAL),
        (BARE_SCRATCH, ALL_FLAGS, DrainFilterOutcome.DELETE, UNMANAGED_WARNING),
    ],
)
def test_one_pod(pod: Pod, options: dict[str, Any], outcome: DrainFilterOutcome, message: str) -> None:
    decision = decided(pod, **options)
    assert decision.decisive is not None
    assert (decision.outcome, decision.decisive.message) == (outcome, message)


@pytest.mark.parametrize(("phase", "owner"), [("Succeeded", None), ("Failed", "DaemonSet/agent")])
def test_finished_pods_go_whatever_they_are(phase: str, owner: str | None) -> None:
    pod = a_pod(phase=phase, owner=owner, volumes=(an_emptydir(),))
    assert decided(pod, DaemonSetPresence.UNKNOWN).results == ()


@pytest.mark.parametrize(
    ("presence", "force", "outcome", "message"),
    [
        (DaemonSetPresence.MISSING, False, DrainFilterOutcome.ERROR, 'daemonsets.apps "agent" not found'),
        (DaemonSetPresence.MISSING, True, DrainFilterOutcome.DELETE, 'daemonsets.apps "agent" not found'),
        (DaemonSetPresence.UNKNOWN, True, DrainFilterOutcome.UNKNOWN, "whether DaemonSet agent exists was not read"),
    ],
)
def test_a_daemon_set_that_is_gone_or_was_not_read(
    presence: DaemonSetPresence, force: bool, outcome: DrainFilterOutcome, message: str
) -> None:
    decision = decided(DAEMON, presence, ignore_daemonsets=True, force=force)
    assert (decision.outcome, decision.results[0].message) == (outcome, message)


def test_every_verdict_is_kept_also_after_the_one_that_decides() -> None:
    assert [(each.filter, each.outcome) for each in decided(BARE_SCRATCH).results] == [
        (DrainFilter.LOCAL_STORAGE, DrainFilterOutcome.ERROR),
        (DrainFilter.UNREPLICATED, DrainFilterOutcome.ERROR),
    ]
