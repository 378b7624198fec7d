"""What kubectl's filters say of one pod, alone and together, and the texts that come of it."""

from __future__ import annotations

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
    Decision,
    DrainFilter,
    DrainFilterInput,
    DrainFilterOutcome,
    FilterOptions,
    decide,
)
from kubectl_eksdoc.model.nodes import MIRROR, Pod
from kubectl_eksdoc.model.selectors import parse
from tests.builders import NOW, a_pod, an_emptydir
from tests.fakes.kubectl import error_of, error_texts, warning_of, warning_text

DAEMON = a_pod("agent-1", owner="DaemonSet/agent")
STATIC = a_pod("kube-static", owner="Node/old-0", annotations={MIRROR: ""})
BARE = a_pod("bare", owner=None)
SCRATCH = a_pod("scratch", volumes=(an_emptydir(),))
BARE_SCRATCH = a_pod("both", owner=None, volumes=(an_emptydir(),))
ALL_FLAGS: dict[str, Any] = {"ignore_daemonsets": True, "delete_emptydir_data": True, "force": True}


def decided(pod: Pod, daemon_set: DaemonSetPresence = DaemonSetPresence.EXISTS, **options: Any) -> Decision:
    return decide(pod, DrainFilterInput(FilterOptions(**options), NOW, daemon_set))


def said(decision: Decision) -> list[tuple[DrainFilter, DrainFilterOutcome]]:
    return [(s.filter, s.outcome) for s in decision.said]


@pytest.mark.parametrize(
    ("pod", "options", "outcome", "message"),
    [
        (DAEMON, {}, DrainFilterOutcome.ERROR, DAEMONSET_FATAL),
        (DAEMON, {"force": True}, DrainFilterOutcome.ERROR, DAEMONSET_FATAL),
        (DAEMON, {"ignore_daemonsets": True}, DrainFilterOutcome.SKIP, DAEMONSET_WARNING),
        (STATIC, ALL_FLAGS, DrainFilterOutcome.SKIP, ""),
        (SCRATCH, {"force": True}, DrainFilterOutcome.ERROR, LOCAL_STORAGE_FATAL),
        (SCRATCH, {"delete_emptydir_data": True}, DrainFilterOutcome.DELETE, LOCAL_STORAGE_WARNING),
        (BARE, {"delete_emptydir_data": True}, DrainFilterOutcome.ERROR, UNMANAGED_FATAL),
        (BARE, {"force": True}, DrainFilterOutcome.DELETE, UNMANAGED_WARNING),
        (a_pod(volumes=(an_emptydir(medium="Memory"),)), {}, DrainFilterOutcome.ERROR, LOCAL_STORAGE_FATAL),
        (a_pod(labels={"app": "web"}), {"pod_selector": parse("app=api")}, DrainFilterOutcome.SKIP, ""),
    ],
)
def test_one_pod(pod: Pod, options: dict[str, Any], outcome: DrainFilterOutcome, message: str) -> None:
    decision = decided(pod, **options)
    assert decision.decisive is not None
    assert (decision.outcome, decision.decisive.message) == (outcome, message)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
@pytest.mark.parametrize("owner", [None, "DaemonSet/agent", "Job/etl"])
def test_finished_pods_go_whatever_they_are(phase: str, owner: str | None) -> None:
    pod = a_pod(phase=phase, owner=owner, volumes=(an_emptydir(),))
    assert said(decided(pod, DaemonSetPresence.UNKNOWN)) == []


@pytest.mark.parametrize(
    ("presence", "force", "outcome"),
    [
        (DaemonSetPresence.MISSING, False, DrainFilterOutcome.ERROR),
        (DaemonSetPresence.MISSING, True, DrainFilterOutcome.DELETE),
        (DaemonSetPresence.UNKNOWN, True, DrainFilterOutcome.UNKNOWN),
    ],
)
def test_a_daemon_set_that_is_gone_or_was_not_read(
    presence: DaemonSetPresence, force: bool, outcome: DrainFilterOutcome
) -> None:
    decision = decided(DAEMON, presence, ignore_daemonsets=True, force=force)
    assert decision.outcome is outcome
    if presence is DaemonSetPresence.MISSING:
        assert decision.said[0].message == 'daemonsets.apps "agent" not found'
    else:
        assert (error_of(decision), warning_of(decision)) == ("", "")


def test_every_verdict_is_kept_also_after_the_one_that_decides() -> None:
    assert said(decided(BARE_SCRATCH)) == [
        (DrainFilter.LOCAL_STORAGE, DrainFilterOutcome.ERROR),
        (DrainFilter.UNREPLICATED, DrainFilterOutcome.ERROR),
    ]
    assert error_of(decided(BARE_SCRATCH)) == LOCAL_STORAGE_FATAL


def test_kubectl_shows_the_last_warning_and_we_keep_both() -> None:
    decision = decided(BARE_SCRATCH, force=True, delete_emptydir_data=True)
    assert [s.message for s in decision.said] == [LOCAL_STORAGE_WARNING, UNMANAGED_WARNING]
    assert (warning_of(decision), error_of(decision)) == (UNMANAGED_WARNING, "")


def test_an_error_hides_the_warning_before_it() -> None:
    decision = decided(BARE_SCRATCH, delete_emptydir_data=True)
    assert (warning_of(decision), error_of(decision)) == ("", UNMANAGED_FATAL)


def test_the_texts_of_a_node() -> None:
    mixed = [decided(p, ignore_daemonsets=True) for p in (BARE, SCRATCH, DAEMON, a_pod("bare-2", owner=None))]
    assert error_texts(mixed) == (
        "cannot delete Pods that declare no controller (use --force to override): default/bare, default/bare-2",
        "cannot delete Pods with local storage (use --delete-emptydir-data to override): default/scratch",
    )
    assert warning_text(mixed) == "ignoring DaemonSet-managed Pods: default/agent-1"
