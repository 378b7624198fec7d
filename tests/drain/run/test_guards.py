"""Run guards: the conditions that hold a run, the conditions that stop it, and the pace of evictions."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from kubectl_eksdoc.drain.policy import burst_size
from kubectl_eksdoc.drain.run.answers import ERROR_PAUSE_S, MAX_RESPONSES, FollowUp, ResponseMeaning, RunTrouble
from kubectl_eksdoc.drain.run.eviction_requests import MAX_UNLIMITED_RATE, EvictionRate
from kubectl_eksdoc.drain.run.guards import RunGuards
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.pod_evictions import ObservedState
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse
from kubectl_eksdoc.kubernetes.updates import (
    AllPods,
    NodeChanged,
    PodChanged,
    PodRemoved,
    RequestAnswered,
    RunUpdate,
    WatchInterrupted,
    WatchRestored,
)
from kubectl_eksdoc.model.actions import Cordon, Evict
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import Pod
from tests.builders import a_cluster, a_node, pods
from tests.drain.planning import WEB, plan_of

LIMITS = RunLimits(hold_s=10, pending_s=60, not_ready=1, away_s=100, failing_s=50)
OTHERS = tuple(a_node(f"new-{i}", group="green") for i in range(3))
CLUSTER = a_cluster(nodes=[a_node("old-0"), *OTHERS], workloads=WEB, pods=pods(3))


class Guarded:
    """Run guards with the cluster state that they observe."""

    def __init__(self, cluster: Cluster = CLUSTER) -> None:
        self.seen = ObservedState(cluster)
        plan = plan_of(cluster)
        assert len(plan.evictions) == 3
        self.guards = RunGuards(plan, self.seen, LIMITS)

    def hear(self, now_s: float, *news: RunUpdate) -> None:
        for each in news:
            self.seen.handle(each)
            self.guards.handle(each, now_s)

    def says(self, now_s: float) -> tuple[str, str]:
        return self.guards.hold_reason(now_s), self.guards.stop_reason(now_s)


def a_replacement(name: str = "web-new", node: str = "") -> Pod:
    """A replacement pod of the drained workload."""
    why = "" if node else "Unschedulable: 0/4 nodes are available"
    return replace(CLUSTER.pods[0], name=name, uid=name, node=node, ready=bool(node), not_ready_because=why)


def test_a_replacement_without_a_node_holds_it_and_then_stops_it() -> None:
    guarded = Guarded()
    guarded.hear(5, PodChanged(a_replacement(), 1))
    guarded.hear(9, PodChanged(a_replacement(), 2))
    assert guarded.says(14.9) == ("", "") and sorted(guarded.guards.next_s(5)) == [15, 65]
    assert guarded.says(15) == ("default/web-new has no node yet", "")
    assert guarded.says(65)[1].startswith("default/web-new has no node for 1m00s: Unschedulable: 0/4")


def test_once_it_has_a_node_all_goes_on() -> None:
    for over in (PodChanged(a_replacement(node="new-1"), 2), PodRemoved("web-new", 2), AllPods((), 2)):
        guarded = Guarded()
        guarded.hear(5, PodChanged(a_replacement(), 1))
        assert len(guarded.guards.pending) == 1
        guarded.hear(30, over)
        assert guarded.says(100) == ("", "") and guarded.guards.pending == ()


def test_pods_that_waited_before_or_are_others_are_not_ours() -> None:
    waiting = replace(a_replacement("waits"), uid="waits")
    guarded = Guarded(replace(CLUSTER, pods=(*CLUSTER.pods, waiting)))
    guarded.hear(0, PodChanged(waiting, 1), PodChanged(replace(a_replacement("other"), owner=None), 2))
    assert guarded.says(1000) == ("", "")


def test_more_nodes_that_become_not_ready_than_may_stop_it() -> None:
    guarded = Guarded()
    guarded.hear(0, NodeChanged(replace(OTHERS[0], ready="Unknown")))
    assert guarded.says(1) == ("", "")
    guarded.hear(2, NodeChanged(replace(OTHERS[1], ready="False")))
    assert guarded.says(3)[1] == "2 nodes became NotReady meanwhile: new-0, new-1"
    guarded.hear(4, NodeChanged(OTHERS[1]))
    assert guarded.says(5) == ("", "")


def test_a_target_may_be_what_it_likes() -> None:
    guarded = Guarded()
    guarded.hear(0, *(NodeChanged(replace(node, ready="False")) for node in (CLUSTER.nodes[0], OTHERS[0])))
    assert guarded.says(1) == ("", "")


def test_a_cluster_that_cannot_be_watched_holds_it_and_then_stops_it() -> None:
    guarded = Guarded()
    guarded.hear(10, WatchInterrupted("connection refused"), WatchInterrupted("connection refused"))
    assert guarded.says(10) == ("the cluster cannot be watched: connection refused", "")
    assert "for 1m40s" in guarded.says(110)[1]
    guarded.hear(110, WatchRestored())
    assert guarded.says(111) == ("", "")


def answers(answer: ApiStatus | LostResponse, count: int, of: str = "n") -> list[RequestAnswered]:
    """This answer to the cordons of `count` nodes."""
    return [RequestAnswered(Cordon(f"{of}-{i}", f"{of}-{i}"), answer) for i in range(count)]


def test_errors_hold_it_until_they_cease() -> None:
    guarded = Guarded()
    half = MAX_RESPONSES // 2
    guarded.hear(0, *answers(ApiStatus(409), half, "fine"), *answers(LostResponse("reset"), half))
    assert guarded.says(0) == ("", ""), "half of them"
    guarded.hear(1, *answers(LostResponse("reset"), 1, "more"))
    assert guarded.says(1) == (f"{half + 1} of the last {MAX_RESPONSES} answers are errors of the server", "")
    assert guarded.says(1 + ERROR_PAUSE_S) == ("", ""), "it is tried again"


def test_what_goes_well_when_it_is_tried_again_ends_it() -> None:
    guarded = Guarded()
    guarded.hear(0, *answers(LostResponse("reset"), MAX_RESPONSES))
    guarded.hear(40, *answers(ApiStatus(200), 1))
    guarded.hear(60, *answers(LostResponse("reset"), 5))
    assert guarded.says(60) == ("", ""), "those from before count no more"


def test_errors_to_one_are_its_own_matter() -> None:
    guarded = Guarded()
    guarded.hear(0, *answers(ApiStatus(500), 1) * MAX_RESPONSES)
    assert guarded.says(0) == ("", "")
    guarded.hear(1, *answers(ApiStatus(500), 2))
    assert guarded.says(1)[0], "to two, and nobody else was answered"
    guarded.hear(2, *answers(ApiStatus(200), 3, "fine"), *answers(ApiStatus(500), 2) * MAX_RESPONSES)
    assert guarded.says(2) == ("", ""), "however often they are asked for"


def test_what_is_answered_to_changes_of_nodes_says_nothing_of_evictions() -> None:
    guarded = Guarded()
    pods = [replace(CLUSTER.pods[0], uid=f"p-{i}") for i in range(8)]
    guarded.hear(
        0,
        *answers(ApiStatus(200), MAX_RESPONSES),
        *(RequestAnswered(Evict(pod), ApiStatus(500, message="x")) for pod in pods),
    )
    assert guarded.says(0)[0] == "8 of the last 8 answers are errors of the server"


FINE = ResponseMeaning(FollowUp.ACCEPTED)
THROTTLED = ResponseMeaning(FollowUp.RETRY, RunTrouble.THROTTLED, 1.0)
FAILED = ResponseMeaning(FollowUp.CHECK, RunTrouble.SERVER, 1.0)
REFUSED = ResponseMeaning(FollowUp.BUDGET, RunTrouble.BUDGET)

ANSWERS_PACING = st.sampled_from([FINE, FINE, FINE, THROTTLED, FAILED, REFUSED, THROTTLED._replace(retry_after_s=7.0)])


@given(
    st.sampled_from([0.05, 0.5, 1.0, 3.0, 12.5]),
    st.lists(st.tuples(st.floats(0, 5), st.integers(0, 20), ANSWERS_PACING), max_size=40),
)
@example(3.0, [(0.0, 9, FINE), (0.5, 9, THROTTLED), (1.0, 9, FINE)])
def test_in_no_time_more_than_allowed(limit: float, steps: list[tuple[float, int, ResponseMeaning]]) -> None:
    pace, now_s, times = EvictionRate(limit), 0.0, list[float]()
    for pause_s, wanted, answer in steps:
        now_s += pause_s
        for _ in range(wanted):
            if pace.next_s <= now_s:
                pace.record_request(now_s)
                times.append(now_s)
                pace.handle_response(answer, now_s)
        assert pace.rate is not None and 0 < pace.rate <= limit
    for i, first in enumerate(times):
        for n, last in enumerate(times[i:], 1):
            assert n <= limit * (last - first) + burst_size(limit) + 1e-6


@given(st.one_of(st.just(0.0), st.floats(0.05, 50)), st.lists(st.sampled_from([THROTTLED, FAILED]), max_size=30))
def test_it_recovers(limit: float, complaints: list[ResponseMeaning]) -> None:
    pace, now_s = EvictionRate(limit), 0.0
    for complaint in complaints:
        now_s = max(now_s + 2, pace.next_s)
        pace.record_request(now_s)
        pace.handle_response(complaint, now_s)
    asking_s = now_s
    while pace.rate != (limit or None):
        asking_s = max(asking_s + 0.01, pace.next_s)
        assert asking_s < now_s + 120
        pace.record_request(asking_s)
        pace.handle_response(FINE, asking_s)


def test_each_complaint_halves_it_and_those_at_once_only_once() -> None:
    pace = EvictionRate(8)
    for _ in range(5):
        pace.handle_response(FAILED, 10.0)
    assert pace.rate == 4
    pace.handle_response(THROTTLED, 12.0)
    assert pace.rate == 2


def test_who_has_no_limit_is_slowed_down_from_where_it_was() -> None:
    pace = EvictionRate(0)
    for tenth in range(10):
        pace.record_request(tenth / 10)
    pace.handle_response(THROTTLED, 1.0)
    assert pace.rate == 5
    pace = EvictionRate(0)
    for _ in range(300):
        pace.record_request(0.0)
    pace.handle_response(THROTTLED, 0.0)
    assert pace.rate == MAX_UNLIMITED_RATE / 2


def test_nobody_is_asked_before_the_server_wants_it() -> None:
    for limit in (0.0, 5.0):
        pace = EvictionRate(limit)
        pace.handle_response(THROTTLED._replace(retry_after_s=30.0), 4.0)
        assert pace.next_s == 34
        pace.handle_response(FAILED._replace(retry_after_s=2.0), 5.0)
        assert pace.next_s == 34, "the latest time holds"


def test_an_empty_budget_is_no_complaint() -> None:
    pace = EvictionRate(2)
    pace.handle_response(REFUSED, 1.0)
    pace.handle_response(ResponseMeaning(FollowUp.RETRY, RunTrouble.WEBHOOK_DOWN, 30.0), 1.0)
    assert pace.rate == 2 and pace.next_s <= 1
