"""The history of nodes and pods, computed from events: of arbitrary stories, and of drains on a simulated cluster."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.drain.run.events import REMOVAL_EVENTS, DrainEvent, DrainEventKind
from kubectl_eksdoc.drain.run.history import (
    FINAL_STATES,
    MeasuredStopTimes,
    NodeHistory,
    NodeState,
    PlannedNode,
    PodState,
    RunHistory,
    planned_nodes,
)
from kubectl_eksdoc.drain.run.pod_evictions import ObservedState
from kubectl_eksdoc.kubernetes.updates import (
    AllBudgets,
    AllPods,
    BudgetChanged,
    BudgetRemoved,
    PodChanged,
    PodRemoved,
    PodsFound,
)
from kubectl_eksdoc.model.actions import ListPods
from tests.builders import a_budget, a_cluster, a_node, pods
from tests.drain.planning import plan_of
from tests.drain.stages import recorded
from tests.rehearsed import Rehearsed, rehearsed, rehearsed_demo

AIMS = (PlannedNode("a", 1, ("shop/web-1", "shop/web-2")), PlannedNode("b", 2, ("shop/web-3",)), PlannedNode("c", 2))
NODES = ("a", "b", "c", "elsewhere")
PODS = ("shop/web-1", "shop/web-2", "shop/web-3", "shop/came-later")
OF_NODES = (
    DrainEventKind.CORDONED,
    DrainEventKind.BEGUN,
    DrainEventKind.EMPTY,
    DrainEventKind.DONE,
    DrainEventKind.LEFT_ALONE,
    DrainEventKind.LOST,
    DrainEventKind.ADOPTED,
    DrainEventKind.EXCLUDED,
    DrainEventKind.PROTECTED,
    DrainEventKind.JOINED,
)
OF_PODS = (
    *REMOVAL_EVENTS,
    DrainEventKind.REFUSED,
    DrainEventKind.GONE,
    DrainEventKind.FINISHED,
    DrainEventKind.KEPT,
    DrainEventKind.REPLANNED,
)
OF_RUNS = (
    DrainEventKind.HELD,
    DrainEventKind.RELEASED,
    DrainEventKind.STOPPED,
    DrainEventKind.WARNED,
    DrainEventKind.SOAKING,
    DrainEventKind.HOOKED,
)

WHY = st.sampled_from(("", "a why"))
MOMENTS = st.one_of(
    st.builds(DrainEvent, st.just(0.0), st.sampled_from(OF_NODES), st.sampled_from(NODES), st.just(""), WHY),
    st.builds(DrainEvent, st.just(0.0), st.sampled_from(OF_PODS), st.sampled_from(PODS), st.sampled_from(NODES), WHY),
    st.builds(DrainEvent, st.just(0.0), st.sampled_from(OF_RUNS), st.sampled_from(("", "a")), st.just(""), WHY),
)
STORIES = st.lists(MOMENTS, max_size=40).map(
    lambda story: [moment._replace(at_s=float(at)) for at, moment in enumerate(story)]
)


def test_stops_are_measured_from_the_first_eviction_to_the_first_time_it_is_gone() -> None:
    measured = MeasuredStopTimes(plan_of(pods=pods(2)))
    story = [
        (2.0, DrainEventKind.EVICTED),
        (3.0, DrainEventKind.EVICTED),
        (7.0, DrainEventKind.GONE),
        (9.0, DrainEventKind.GONE),
    ]
    measured.add_events([DrainEvent(at_s, what, "default/web-0", "old-0", "") for at_s, what in story])
    assert list(measured.unwritten()) == [("default/ReplicaSet/web", [5.0])]
    assert not list(measured.unwritten())


@given(STORIES)
def test_whatever_happens_no_more_pods_are_gone_than_there_are(story: list[DrainEvent]) -> None:
    chronicle = RunHistory(AIMS)
    for moment in story:
        chronicle.add([moment])
        for node in chronicle.nodes.values():
            assert node.gone == sum(pod.state is PodState.GONE for pod in node.pods.values())
        assert chronicle.gone <= chronicle.pods
    assert set(chronicle.nodes) == {"a", "b", "c"}, "of other nodes nothing is kept"
    assert chronicle.events == story, "but in the log"
    assert chronicle.refusals == sum(pod.refusals for node in chronicle.nodes.values() for pod in node.pods.values())


@given(STORIES)
def test_what_has_come_to_its_end_stays_there(story: list[DrainEvent]) -> None:
    chronicle, ends = RunHistory(AIMS), {}
    for moment in story:
        chronicle.add([moment])
        for name, (state, ended_s, why) in ends.items():
            node = chronicle.nodes[name]
            assert (node.state, node.ended_s, node.reason) == (state, ended_s, why)
        for node in chronicle.nodes.values():
            assert (node.ended_s is not None) is (node.state in FINAL_STATES)
            if node.state in FINAL_STATES:
                ends.setdefault(node.node, (node.state, node.ended_s, node.reason))


@given(STORIES)
def test_it_is_held_by_the_last_that_held_it_until_it_is_released_and_stopped_for_good(story: list[DrainEvent]) -> None:
    chronicle = RunHistory(AIMS)
    chronicle.add(story)
    last = next((each for each in reversed(story) if each.what in (DrainEventKind.HELD, DrainEventKind.RELEASED)), None)
    assert bool(chronicle.hold_reason) is (last is not None and last.what is DrainEventKind.HELD)
    assert bool(chronicle.stop_reason) is any(each.what is DrainEventKind.STOPPED for each in story)


def test_a_workload_that_was_restarted_is_no_pod() -> None:
    """The event has the form that a journal gives it."""
    chronicle = RunHistory(AIMS)
    chronicle.add([DrainEvent(1.0, DrainEventKind.RESTARTED, "shop/web", "a")])
    assert "shop/web" not in chronicle.nodes["a"].pods
    chronicle.add([DrainEvent(1.0, DrainEventKind.RESTARTED, "shop/web-1", "a")])
    assert chronicle.nodes["a"].pods["shop/web-1"].state is PodState.STOPPING


# Against drains on a simulated cluster


EMPTIED = (NodeState.DONE, NodeState.EMPTIED_BY_OTHERS)


def is_gone_with_its_pods(node: NodeHistory) -> bool:
    """Whether the node and all of its pods are gone: a run waits for the pods of a deleted node."""
    return node.state is NodeState.GONE and node.gone == len(node.pods)


def same_at_every_step(drain: Rehearsed) -> RunHistory:
    """Compare history and run state after every step; return the final history."""
    chronicle = RunHistory(planned_nodes(drain.plan))
    for step in drain.steps:
        chronicle.add(step.moments)
        nodes = chronicle.nodes.values()
        done = {node.node for node in nodes if node.state in EMPTIED or is_gone_with_its_pods(node)}
        assert (chronicle.gone, done) == (step.standing.gone, set(step.standing.done)), step
        assert {node.node for node in nodes if node.state is NodeState.LEFT_ALONE} == set(step.standing.left_alone), (
            step
        )
        assert bool(chronicle.stop_reason) is bool(step.standing.stop_reason)
    return chronicle


def test_of_the_demo_it_knows_what_the_run_knows_at_every_step() -> None:
    chronicle = same_at_every_step(rehearsed_demo())
    assert {node.state for node in chronicle.nodes.values()} == {NodeState.DONE}
    assert chronicle.gone == chronicle.pods == 37
    assert {pod.state for node in chronicle.nodes.values() for pod in node.pods.values()} == {PodState.GONE}


_RICH = pytest.param("rich.tar.gz", marks=pytest.mark.long)


@pytest.mark.parametrize("archive", ["small-traps.tar.gz", _RICH, "landing.tar.gz"])
def test_of_recorded_clusters_too(archive: str) -> None:
    _, stage = recorded(archive)
    drain = rehearsed(stage)
    chronicle = same_at_every_step(drain)
    assert {node.node for node in chronicle.nodes.values() if node.state not in FINAL_STATES} == set()
    assert chronicle.gone == drain.steps[-1].standing.gone


def test_pods_of_a_node_that_goes_away_are_waited_for() -> None:
    chronicle = RunHistory(AIMS)
    chronicle.add(
        [DrainEvent(1.0, DrainEventKind.EVICTED, "shop/web-1", "a"), DrainEvent(2.0, DrainEventKind.LOST, "a")]
    )
    assert (chronicle.nodes["a"].state, chronicle.gone) == (NodeState.GONE, 0)
    chronicle.add([DrainEvent(3.0, DrainEventKind.GONE, pod, "a") for pod in ("shop/web-1", "shop/web-2")])
    assert (chronicle.nodes["a"].ended_s, chronicle.gone) == (2.0, 2)


def test_a_node_that_somebody_else_drains_comes_to_its_end_though_nobody_says_so() -> None:
    chronicle = RunHistory(AIMS)
    chronicle.add(
        [DrainEvent(1.0, DrainEventKind.ADOPTED, "b", why="Karpenter"), DrainEvent(1.0, DrainEventKind.ADOPTED, "c")]
    )
    assert [chronicle.nodes[name].state for name in "bc"] == [NodeState.DRAINED_BY_OTHERS, NodeState.EMPTIED_BY_OTHERS]
    chronicle.add([DrainEvent(9.0, DrainEventKind.GONE, "shop/web-3", "b")])
    assert (chronicle.nodes["b"].state, chronicle.nodes["b"].ended_s) == (NodeState.EMPTIED_BY_OTHERS, 9.0)


def test_what_stays_on_a_node_that_is_done_is_not_gone() -> None:
    """As in a run with --partial."""
    chronicle = RunHistory(AIMS)
    chronicle.add(
        [
            DrainEvent(1.0, DrainEventKind.KEPT, "shop/web-1", "a", "forbidden"),
            DrainEvent(2.0, DrainEventKind.DONE, "a"),
        ]
    )
    pods = chronicle.nodes["a"].pods
    assert [pod.state for pod in pods.values()] == [PodState.KEPT, PodState.GONE] and chronicle.gone == 1


def test_who_goes_on_with_a_run_takes_up_what_was_left_alone() -> None:
    """The events have the form of a journal; a node that is left to another client has the same event kind."""
    over = [
        DrainEvent(1.0, DrainEventKind.LEFT_ALONE, "a", "", "it stays"),
        DrainEvent(2.0, DrainEventKind.STOPPED, "the drain", "", "no"),
    ]
    for who, goes_on in (("ann@desk/1/r1", True), ("the drain", True), ("node-of-others", False), ("b", False)):
        chronicle = RunHistory(AIMS)
        chronicle.add([*over, DrainEvent(3.0, DrainEventKind.ADOPTED, who)])
        state = NodeState.CORDONED if goes_on else NodeState.LEFT_ALONE
        assert (chronicle.nodes["a"].state, bool(chronicle.stop_reason)) == (state, not goes_on)
        assert (chronicle.nodes["a"].ended_s is None) is goes_on


def test_what_only_names_who_wanted_it_says_so() -> None:
    nobody = ("the drain", "", "no reason was recorded")
    for subject, why, said in (("ann@desk", "", "by ann@desk"), nobody, ("ann@desk", "no", "no")):
        chronicle = RunHistory(AIMS)
        chronicle.add([DrainEvent(1.0, DrainEventKind.HELD, subject, "", why)])
        assert chronicle.hold_reason == said


def test_a_cordon_that_is_asked_for_again_does_not_put_a_node_back() -> None:
    chronicle = RunHistory(AIMS)
    chronicle.add([DrainEvent(1.0, DrainEventKind.BEGUN, "a"), DrainEvent(2.0, DrainEventKind.CORDONED, "a")])
    assert (chronicle.nodes["a"].state, chronicle.nodes["a"].started_s) == (NodeState.EVICTING, 1.0)


def test_a_pod_that_came_after_the_plan_was_made_is_to_go_too() -> None:
    chronicle = RunHistory(AIMS)
    chronicle.add(
        [
            DrainEvent(1.0, DrainEventKind.EVICTED, "shop/late", "c"),
            DrainEvent(3.0, DrainEventKind.GONE, "shop/late", "c"),
        ]
    )
    assert (chronicle.pods, chronicle.gone, chronicle.nodes["c"].gone) == (4, 1, 1)


CLUSTER = a_cluster(nodes=[a_node("old-0")], pods=pods(1))
NEW = replace(CLUSTER.pods[0], name="late", uid="late")
LISTED = PodsFound(ListPods("old-0"), (*CLUSTER.pods, NEW))


def uids(seen: ObservedState) -> set[str]:
    return {pod.uid for pod in seen.pods()}


def test_a_list_brings_what_the_watch_has_not_told_yet_and_nothing_else() -> None:
    seen = ObservedState(CLUSTER)
    seen.handle(LISTED)
    assert uids(seen) == {CLUSTER.pods[0].uid, "late"}
    seen.handle(PodChanged(replace(NEW, phase="Succeeded"), 7))
    seen.handle(LISTED)
    assert seen.pod("late") == replace(NEW, phase="Succeeded"), "what was told counts more"
    for gone in (PodRemoved("late", 8), AllPods(((CLUSTER.pods[0], 3),), 9)):
        seen = ObservedState(CLUSTER)
        seen.handle(LISTED)
        seen.handle(gone)
        assert uids(seen) == {CLUSTER.pods[0].uid}
        seen.handle(LISTED)
        assert uids(seen) == {CLUSTER.pods[0].uid}, "a list that comes late brings nothing back"


def test_of_a_budget_the_latest_word_counts_and_who_lists_all_has_all() -> None:
    one, other = a_budget("one", allowed=1), a_budget("other", allowed=1)
    seen = ObservedState(replace(CLUSTER, budgets=(one, other)))
    for version, allowed, known in ((7, 0, 0), (6, 1, 0), (8, 2, 2)):
        seen.handle(BudgetChanged(a_budget("one", allowed=allowed), version))
        assert seen.budgets[one.key].status.allowed == known
    seen.handle(AllBudgets(((one, 5),), 9))
    assert {key: each.status.allowed for key, each in seen.budgets.items()} == {one.key: 2}
    seen.handle(BudgetRemoved(one.key))
    assert not seen.budgets
