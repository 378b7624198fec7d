"""Skipped targets are cordoned too, before the first eviction, so that no evicted pod is scheduled onto them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.report import events
from kubectl_eksdoc.drain.run.events import DrainEventKind
from kubectl_eksdoc.drain.run.journal import JournalState
from kubectl_eksdoc.drain.run.observed import MAX_CORDON_REFUSALS
from kubectl_eksdoc.drain.run.progress import run_progress
from kubectl_eksdoc.drain.run.remaining import RemainingTime
from kubectl_eksdoc.drain.run.result import NodePlacements, Record
from kubectl_eksdoc.drain.run.runner import remaining_plan, resumed_engine
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus
from kubectl_eksdoc.kubernetes.updates import NodeChanged, PodChanged, RequestAnswered, RunUpdate
from kubectl_eksdoc.model.actions import ClusterAction, Cordon, Evict
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.journal import UNCORDONED, JournaledNode, NoteEntry, NoteKind, RunStarted
from kubectl_eksdoc.model.nodes import COMPUTE_TYPE, Node, Pod, Taint
from tests.builders import NOW, a_cluster, a_node, a_pod, a_roomy_node, a_workload, pods
from tests.drain.planning import plan_of, target
from tests.drain.run.instant_engine import Driven, drained


def a_world(*more: Node, others: Sequence[Pod] = ()) -> Cluster:
    """old-0 can be drained; old-1 has a pod without a controller."""
    bare = a_pod("bare", node="old-1", owner=None)
    nodes = [a_node("old-0"), a_node("old-1"), *more, a_roomy_node("new-0")]
    return a_cluster(nodes=nodes, workloads=[a_workload("ReplicaSet/web")], pods=[*pods(2), bare, *others])


def cordons(driven: Driven) -> list[str]:
    return [act.node for act in driven.of(Cordon) if isinstance(act, Cordon)]


def test_a_skipped_target_is_cordoned_before_the_first_eviction() -> None:
    driven = drained(a_world())
    kinds = [type(act) for _, act in driven.asked if isinstance(act, Cordon | Evict)]
    assert cordons(driven) == ["old-0", "old-1"] and kinds == [Cordon, Cordon, Evict, Evict]
    assert driven.told(DrainEventKind.CORDONED) == [("old-0", "")] and driven.told(DrainEventKind.CORDONED_ONLY) == [
        ("old-1", "")
    ]
    assert driven.engine.cordoned_only == ("old-1",) and driven.engine.not_drained == {}
    assert [node.name for node in driven.engine.nodes] == ["old-0"], "it is drained no more than before"
    stood = run_progress(driven.engine, RemainingTime(driven.engine.plan), driven.now_s)
    assert (stood.nodes, stood.cordoned, stood.cordoned_only) == (1, (), ("old-1",))
    assert events.unfinished(stood) == "1 skipped and cordoned"
    assert "Skipped, and cordoned until a rollback: old-1." in events.unfinished_with_names(stood)


def test_one_that_cannot_be_cordoned_is_told_and_the_drain_goes_on() -> None:
    def refused(act: ClusterAction) -> list[RunUpdate]:
        assert isinstance(act, Cordon)
        if act.node == "old-1":
            return [RequestAnswered(act, ApiStatus(422, "Invalid", "no"))]
        return [
            RequestAnswered(act, ApiStatus(200)),
            NodeChanged(replace(driven.engine.observed.nodes[act.node], unschedulable=True)),
        ]

    driven = Driven(a_world(), Cordon=refused)
    driven.to_the_end()
    assert cordons(driven).count("old-1") == MAX_CORDON_REFUSALS
    assert driven.told(DrainEventKind.LEFT_ALONE) == [("old-1", "it cannot be cordoned: no")]
    assert driven.engine.cordoned_only == () and driven.engine.not_drained == {}


def test_one_that_another_client_uncordons_is_left_to_that() -> None:
    driven = Driven(a_world())
    driven.step()
    driven.hear(NodeChanged(replace(driven.engine.observed.nodes["old-1"], unschedulable=False)))
    driven.to_the_end()
    assert cordons(driven) == ["old-0", "old-1"] and driven.engine.cordoned_only == ()
    assert [(node, why.startswith(UNCORDONED)) for node, why in driven.told(DrainEventKind.LEFT_ALONE)] == [
        ("old-1", True)
    ]


def test_what_others_drain_and_fargate_nodes_are_not_cordoned() -> None:
    theirs = a_node("old-2", taints=(Taint("karpenter.sh/disrupted", "", "NoSchedule"),))
    fargate = a_node("old-3", labels={COMPUTE_TYPE: "fargate"})
    silent = a_node("old-4", ready="Unknown")
    plan = plan_of(a_world(theirs, fargate, silent), roomy=False)
    only = {each.node.name for each in plan.cordoned_only}
    assert only == {"old-1", "old-4"} and not target(plan, "old-2").order


def begun(skipped: str = "old-1", **more: NoteKind) -> JournalState:
    aims = (JournaledNode("old-0", a_node("old-0").uid, 1),)
    entry = RunStarted(0, NOW, "r", "", "", "", "", "", aims, skipped=(JournaledNode(skipped, a_node(skipped).uid),))
    return JournalState(entry, next_number=1, **more)  # type: ignore[arg-type]


def test_who_goes_on_cordons_them_too_and_gives_their_room_away_to_nobody() -> None:
    small = a_cluster(
        nodes=[a_node("old-0"), a_roomy_node("old-1")], workloads=[a_workload("ReplicaSet/web")], pods=pods(2)
    )
    started = replace(begun().started, skipped=())  # type: ignore[type-var]
    open_plan = remaining_plan(small, JournalState(started), DrainPolicy())
    assert {each.lands_on for each in open_plan.evictions} == {"old-1"}
    assert not remaining_plan(small, begun(), DrainPolicy()).evictions, "nothing is scheduled onto it"
    engine = resumed_engine(a_world(), begun(), DrainPolicy())
    assert [act.node for act in engine.due_actions(0.0) if isinstance(act, Cordon)] == ["old-0", "old-1"]
    theirs = replace(begun(), uncordoned=frozenset(("old-1",)))
    engine = resumed_engine(a_world(), theirs, DrainPolicy())
    assert [act.node for act in engine.due_actions(0.0) if isinstance(act, Cordon)] == ["old-0"]
    assert NoteEntry(1, NOW, NoteKind.LEFT_ALONE, "old-1", UNCORDONED).subject in theirs.uncordoned


def test_where_replacements_were_scheduled_is_counted_once_each() -> None:
    driven = Driven(a_world())
    driven.step()
    new = driven.replaced("default/web-0", "old-1")
    driven.hear(new, PodChanged(replace(new.pod, node="old-1", ready=False), new.version + 1))
    driven.hear(driven.replaced("default/web-1", "new-0"))
    driven.hear(PodChanged(a_pod("cart-9", owner="ReplicaSet/cart", node="new-0"), 99))
    driven.to_the_end()
    assert driven.engine.placed == {"old-1": 1, "new-0": 1}, "cart is no replacement"
    record = Record(driven.engine.plan, (), 1.0, placed=driven.engine.placed)
    assert record.placements == (NodePlacements("old-1", 0, 1, True), NodePlacements("new-0", 2, 1, False))
    assert record.on_targets == 1


def test_nothing_is_evicted_until_it_is_seen_cordoned() -> None:
    seen = list[ClusterAction]()

    def late(act: ClusterAction) -> RunUpdate | None:
        if isinstance(act, Cordon) and act.node == "old-1" and not seen:
            seen.append(act)
            return RequestAnswered(act, ApiStatus(200))
        assert isinstance(act, Cordon)
        driven.hear(RequestAnswered(act, ApiStatus(200)))
        return NodeChanged(replace(driven.engine.observed.nodes[act.node], unschedulable=True))

    driven = Driven(a_world(), Cordon=late)
    driven.until(3)
    assert not driven.of(Evict)
    driven.to_the_end()
    assert driven.of(Evict) and driven.engine.cordoned_only == ("old-1",)
