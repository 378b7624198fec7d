"""What is known of nodes and pods by what happened: of any story, and of drains on a simulated cluster."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.drain.run.events import ASKED, Happened, RunMoment
from kubectl_eksdoc.drain.run.history import (
    ENDS,
    MeasuredStopTimes,
    NodeCourse,
    NodeState,
    PlannedNode,
    PodState,
    RunHistory,
    aimed_by,
)
from kubectl_eksdoc.drain.run.pod_evictions import ObservedState
from kubectl_eksdoc.kubernetes.news import AllBudgets, AllPods, BudgetGone, BudgetIs, PodGone, PodIs, PodsFound
from kubectl_eksdoc.model.actions import ListPods
from tests.builders import a_budget, a_cluster, a_node, pods
from tests.drain.planning import plan_of
from tests.drain.stages import recorded
from tests.rehearsed import Rehearsed, rehearsed, rehearsed_demo

AIMS = (PlannedNode("a", 1, ("shop/web-1", "shop/web-2")), PlannedNode("b", 2, ("shop/web-3",)), PlannedNode("c", 2))
NODES = ("a", "b", "c", "elsewhere")
PODS = ("shop/web-1", "shop/web-2", "shop/web-3", "shop/came-later")
OF_NODES = (
    Happened.CORDONED,
    Happened.BEGUN,
    Happened.EMPTY,
    Happened.DONE,
    Happened.LEFT_ALONE,
    Happened.LOST,
    Happened.ADOPTED,
    Happened.EXCLUDED,
    Happened.PROTECTED,
    Happened.JOINED,
)
OF_PODS = (*ASKED, Happened.REFUSED, Happened.GONE, Happened.FINISHED, Happened.KEPT, Happened.REPLANNED)
OF_RUNS = (Happened.HELD, Happened.RELEASED, Happened.STOPPED, Happened.WARNED, Happened.SOAKING, Happened.HOOKED)

WHY = st.sampled_from(("", "a why"))
MOMENTS = st.one_of(
    st.builds(RunMoment, st.just(0.0), st.sampled_from(OF_NODES), st.sampled_from(NODES), st.just(""), WHY),
    st.builds(RunMoment, st.just(0.0), st.sampled_from(OF_PODS), st.sampled_from(PODS), st.sampled_from(NODES), WHY),
    st.builds(RunMoment, st.just(0.0), st.sampled_from(OF_RUNS), st.sampled_from(("", "a")), st.just(""), WHY),
)
STORIES = st.lists(MOMENTS, max_size=40).map(
    lambda story: [moment._replace(at_s=float(at)) for at, moment in enumerate(story)]
)


def test_stops_are_measured_from_the_first_eviction_to_the_first_time_it_is_gone() -> None:
    measured = MeasuredStopTimes(plan_of(pods=pods(2)))
    story = [(2.0, Happened.EVICTED), (3.0, Happened.EVICTED), (7.0, Happened.GONE), (9.0, Happened.GONE)]
    measured.look([RunMoment(at_s, what, "default/web-0", "old-0", "") for at_s, what in story])
    assert list(measured.unwritten()) == [("default/ReplicaSet/web", [5.0])]
    assert not list(measured.unwritten())


@given(STORIES)
def test_whatever_happens_no_more_pods_are_gone_than_there_are(story: list[RunMoment]) -> None:
    chronicle = RunHistory(AIMS)
    for moment in story:
        chronicle.take([moment])
        for node in chronicle.nodes.values():
            assert node.gone == sum(pod.state is PodState.GONE for pod in node.pods.values())
        assert chronicle.gone <= chronicle.pods
    assert set(chronicle.nodes) == {"a", "b", "c"}, "of other nodes nothing is kept"
    assert chronicle.moments == story, "but in the log"
    assert chronicle.refusals == sum(pod.refused for node in chronicle.nodes.values() for pod in node.pods.values())


@given(STORIES)
def test_what_has_come_to_its_end_stays_there(story: list[RunMoment]) -> None:
    chronicle, ends = RunHistory(AIMS), {}
    for moment in story:
        chronicle.take([moment])
        for name, (state, ended_s, why) in ends.items():
            node = chronicle.nodes[name]
            assert (node.state, node.ended_s, node.why) == (state, ended_s, why)
        for node in chronicle.nodes.values():
            assert (node.ended_s is not None) is (node.state in ENDS)
            if node.state in ENDS:
                ends.setdefault(node.node, (node.state, node.ended_s, node.why))


@given(STORIES)
def test_it_is_held_by_the_last_that_held_it_until_it_is_released_and_stopped_for_good(story: list[RunMoment]) -> None:
    chronicle = RunHistory(AIMS)
    chronicle.take(story)
    last = next((each for each in reversed(story) if each.what in (Happened.HELD, Happened.RELEASED)), None)
    assert bool(chronicle.held) is (last is not None and last.what is Happened.HELD)
    assert bool(chronicle.stopped) is any(each.what is Happened.STOPPED for each in story)


def test_a_workload_that_was_restarted_is_no_pod() -> None:
    """As a journal tells it."""
    chronicle = RunHistory(AIMS)
    chronicle.take([RunMoment(1.0, Happened.RESTARTED, "shop/web", "a")])
    assert "shop/web" not in chronicle.nodes["a"].pods
    chronicle.take([RunMoment(1.0, Happened.RESTARTED, "shop/web-1", "a")])
    assert chronicle.nodes["a"].pods["shop/web-1"].state is PodState.LEAVING


# Against drains on a simulated cluster


EMPTIED = (NodeState.DONE, NodeState.THEIRS)


def is_gone_with_its_pods(node: NodeCourse) -> bool:
    """A run waits for the pods of a node that is gone."""
    return node.state is NodeState.GONE and node.gone == len(node.pods)


def same_at_every_step(drain: Rehearsed) -> RunHistory:
    """As it is at the end."""
    chronicle = RunHistory(aimed_by(drain.plan))
    for step in drain.steps:
        chronicle.take(step.moments)
        nodes = chronicle.nodes.values()
        done = {node.node for node in nodes if node.state in EMPTIED or is_gone_with_its_pods(node)}
        assert (chronicle.gone, done) == (step.standing.gone, set(step.standing.done)), step
        assert {node.node for node in nodes if node.state is NodeState.ALONE} == set(step.standing.alone), step
        assert bool(chronicle.stopped) is bool(step.standing.stopped)
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
    assert {node.node for node in chronicle.nodes.values() if node.state not in ENDS} == set()
    assert chronicle.gone == drain.steps[-1].standing.gone


def test_pods_of_a_node_that_goes_away_are_waited_for() -> None:
    chronicle = RunHistory(AIMS)
    chronicle.take([RunMoment(1.0, Happened.EVICTED, "shop/web-1", "a"), RunMoment(2.0, Happened.LOST, "a")])
    assert (chronicle.nodes["a"].state, chronicle.gone) == (NodeState.GONE, 0)
    chronicle.take([RunMoment(3.0, Happened.GONE, pod, "a") for pod in ("shop/web-1", "shop/web-2")])
    assert (chronicle.nodes["a"].ended_s, chronicle.gone) == (2.0, 2)


def test_a_node_that_somebody_else_drains_comes_to_its_end_though_nobody_says_so() -> None:
    chronicle = RunHistory(AIMS)
    chronicle.take([RunMoment(1.0, Happened.ADOPTED, "b", why="Karpenter"), RunMoment(1.0, Happened.ADOPTED, "c")])
    assert [chronicle.nodes[name].state for name in "bc"] == [NodeState.FOREIGN, NodeState.THEIRS]
    chronicle.take([RunMoment(9.0, Happened.GONE, "shop/web-3", "b")])
    assert (chronicle.nodes["b"].state, chronicle.nodes["b"].ended_s) == (NodeState.THEIRS, 9.0)


def test_what_stays_on_a_node_that_is_done_is_not_gone() -> None:
    """As with --partial."""
    chronicle = RunHistory(AIMS)
    chronicle.take([RunMoment(1.0, Happened.KEPT, "shop/web-1", "a", "forbidden"), RunMoment(2.0, Happened.DONE, "a")])
    pods = chronicle.nodes["a"].pods
    assert [pod.state for pod in pods.values()] == [PodState.KEPT, PodState.GONE] and chronicle.gone == 1


def test_who_goes_on_with_a_run_takes_up_what_was_left_alone() -> None:
    """As a journal tells it; a node that is left to others is told by the same word."""
    over = [
        RunMoment(1.0, Happened.LEFT_ALONE, "a", "", "it stays"),
        RunMoment(2.0, Happened.STOPPED, "the drain", "", "no"),
    ]
    for who, goes_on in (("ann@desk/1/r1", True), ("the drain", True), ("node-of-others", False), ("b", False)):
        chronicle = RunHistory(AIMS)
        chronicle.take([*over, RunMoment(3.0, Happened.ADOPTED, who)])
        state = NodeState.CORDONED if goes_on else NodeState.ALONE
        assert (chronicle.nodes["a"].state, bool(chronicle.stopped)) == (state, not goes_on)
        assert (chronicle.nodes["a"].ended_s is None) is goes_on


def test_what_only_names_who_wanted_it_says_so() -> None:
    nobody = ("the drain", "", "no reason was recorded")
    for subject, why, said in (("ann@desk", "", "by ann@desk"), nobody, ("ann@desk", "no", "no")):
        chronicle = RunHistory(AIMS)
        chronicle.take([RunMoment(1.0, Happened.HELD, subject, "", why)])
        assert chronicle.held == said


def test_a_cordon_that_is_asked_for_again_does_not_put_a_node_back() -> None:
    chronicle = RunHistory(AIMS)
    chronicle.take([RunMoment(1.0, Happened.BEGUN, "a"), RunMoment(2.0, Happened.CORDONED, "a")])
    assert (chronicle.nodes["a"].state, chronicle.nodes["a"].begun_s) == (NodeState.EVICTING, 1.0)


def test_a_pod_that_came_after_the_plan_was_made_is_to_go_too() -> None:
    chronicle = RunHistory(AIMS)
    chronicle.take(
        [RunMoment(1.0, Happened.EVICTED, "shop/late", "c"), RunMoment(3.0, Happened.GONE, "shop/late", "c")]
    )
    assert (chronicle.pods, chronicle.gone, chronicle.nodes["c"].gone) == (4, 1, 1)


CLUSTER = a_cluster(nodes=[a_node("old-0")], pods=pods(1))
NEW = replace(CLUSTER.pods[0], name="late", uid="late")
LISTED = PodsFound(ListPods("old-0"), (*CLUSTER.pods, NEW))


def uids(seen: ObservedState) -> set[str]:
    return {pod.uid for pod in seen.pods()}


def test_a_list_brings_what_the_watch_has_not_told_yet_and_nothing_else() -> None:
    seen = ObservedState(CLUSTER)
    seen.take(LISTED)
    assert uids(seen) == {CLUSTER.pods[0].uid, "late"}
    seen.take(PodIs(replace(NEW, phase="Succeeded"), 7))
    seen.take(LISTED)
    assert seen.pod("late") == replace(NEW, phase="Succeeded"), "what was told counts more"
    for gone in (PodGone("late", 8), AllPods(((CLUSTER.pods[0], 3),), 9)):
        seen = ObservedState(CLUSTER)
        seen.take(LISTED)
        seen.take(gone)
        assert uids(seen) == {CLUSTER.pods[0].uid}
        seen.take(LISTED)
        assert uids(seen) == {CLUSTER.pods[0].uid}, "a list that comes late brings nothing back"


def test_of_a_budget_the_latest_word_counts_and_who_lists_all_has_all() -> None:
    one, other = a_budget("one", allowed=1), a_budget("other", allowed=1)
    seen = ObservedState(replace(CLUSTER, budgets=(one, other)))
    for version, allowed, known in ((7, 0, 0), (6, 1, 0), (8, 2, 2)):
        seen.take(BudgetIs(a_budget("one", allowed=allowed), version))
        assert seen.budgets[one.key].status.allowed == known
    seen.take(AllBudgets(((one, 5),), 9))
    assert {key: each.status.allowed for key, each in seen.budgets.items()} == {one.key: 2}
    seen.take(BudgetGone(one.key))
    assert not seen.budgets
