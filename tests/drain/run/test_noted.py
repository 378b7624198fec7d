"""What nodes say of runs: which of them are to be given back, and which node is another run's."""

from __future__ import annotations

from dataclasses import replace

from kubectl_eksdoc.drain.run.account import NotedRun, noted_of, noted_runs, to_give_back
from kubectl_eksdoc.drain.run.board import NodePhase
from kubectl_eksdoc.drain.run.journal import Cordoned, Journaled, Protected
from kubectl_eksdoc.drain.run.moments import Happened
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus
from kubectl_eksdoc.kubernetes.news import News, NodeIs, RequestAnswered
from kubectl_eksdoc.model.acts import Act, Cordon, Evict
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import Node, RunNote
from tests.builders import a_budget, a_cluster, a_node, a_pod, a_roomy_node, a_workload
from tests.drain.run.driving import Driven

OURS, THEIRS = "20261120-1930-aaaa", "20261120-1931-bbbb"


def noted(
    name: str, run: str, journal: str = "", *, drains: bool = True, protects: bool = False, skipped: bool = False
) -> Node:
    return replace(a_node(name), unschedulable=drains, note=RunNote(run, journal, drains, protects, skipped))


def test_runs_are_told_by_their_nodes() -> None:
    nodes = [a_node("c"), noted("b", "r2", protects=True, drains=False), noted("a", "r2", "ops"), noted("d", "r1")]
    uid = {node.name: node.uid for node in nodes}
    assert noted_runs(nodes) == (
        NotedRun("r1", "", (Cordoned("d", uid["d"], True),)),
        NotedRun("r2", "ops", (Cordoned("a", uid["a"], True),), (Protected("b", uid["b"], True),)),
    )
    assert noted_runs(nodes)[1].nodes == ("a", "b")
    assert noted_of(nodes, "r3") == NotedRun("r3")


def test_nodes_of_a_run_are_counted_as_its_plan_counts_them() -> None:
    """Without those that it cordons and does not drain, and those that it protects."""
    nodes = [noted("a", "r"), noted("b", "r", skipped=True), noted("c", "r", drains=False, protects=True)]
    found = noted_of(nodes, "r")
    assert (found.drained, found.nodes, [each.node for each in found.cordoned]) == (1, ("a", "b", "c"), ["a", "b"])
    assert found.drained_of((*found.cordoned, Cordoned("d", "uid-d", True))) == 2


def test_what_a_journal_knows_better_counts_and_what_it_lacks_is_added() -> None:
    class Some(Journaled):
        __slots__ = ()
        cordoned = (Cordoned("b", "uid-b", True, theirs=True),)  # type: ignore[assignment]
        protected = (Protected("x", "uid-x", False),)  # type: ignore[assignment]

    noted_too = NotedRun("r", "", (Cordoned("a", "uid-a", True), Cordoned("b", "uid-b", True)))
    cordoned, protected = to_give_back(Some(), noted_too)
    assert cordoned == (Cordoned("b", "uid-b", True, theirs=True), Cordoned("a", "uid-a", True))
    assert protected == (Protected("x", "uid-x", False),)


def a_world(*old: Node) -> Cluster:
    """A pod of web on each."""
    pods = [a_pod(f"web-{node.name}", node=node.name) for node in old]
    return a_cluster(
        nodes=[*old, a_roomy_node("new-0")],
        pods=pods,
        workloads=[a_workload("ReplicaSet/web", replicas=len(pods))],
        budgets=[a_budget("web", max_unavailable=1, allowed=1, expected=len(pods))],
    )


def test_a_node_that_another_run_changed_meanwhile_is_left_alone() -> None:
    """The cordon is refused by whoever is told of it first: the server's version of the node, or the watch."""
    refused = []

    def answer(act: Act) -> News | None:
        refused.append(act)
        if isinstance(act, Cordon) and act.node == "old-0":
            return RequestAnswered(act, ApiStatus(409, "Conflict", "run b has changed it meanwhile"))
        assert isinstance(act, Cordon)
        driven.hear(NodeIs(noted(act.node, OURS)))
        return RequestAnswered(act, ApiStatus(200))

    driven = Driven(a_world(a_node("old-0"), a_node("old-1")), run=OURS, Cordon=answer)
    driven.step()
    theirs = replace(a_node("old-0"), unschedulable=True, note=RunNote(THEIRS, "ops"))
    driven.hear(NodeIs(theirs))
    driven.to_the_end()
    assert driven.told(Happened.LEFT_ALONE) == [
        ("old-0", f"another run of this tool has it, {THEIRS} (its journal is in namespace ops)")
    ]
    assert [act.pod.node for act in driven.of(Evict) if isinstance(act, Evict)] == ["old-1"]


def test_what_we_noted_ourselves_and_what_is_over_is_nobody_elses() -> None:
    driven = Driven(a_world(noted("old-0", THEIRS)), run=OURS)
    driven.step()
    assert driven.of(Cordon) == [Cordon("old-0", a_node("old-0").uid, THEIRS)], "it was over when it was planned"
    driven.hear(NodeIs(noted("old-0", OURS)))
    driven.to_the_end()
    assert [node.phase for node in driven.engine.nodes] == [NodePhase.DONE]


def test_what_somebody_had_cordoned_is_noted_before_it_is_begun() -> None:
    """So that others see whose it is; a rollback leaves it cordoned."""
    driven = Driven(a_world(replace(a_node("old-0"), unschedulable=True)), run=OURS)
    driven.step()
    assert len(driven.of(Cordon)) == 1 and not driven.of(Evict)
    driven.hear(NodeIs(noted("old-0", OURS)))
    driven.to_the_end()
    assert len(driven.of(Evict)) == 1 and driven.engine.over
