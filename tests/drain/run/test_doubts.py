"""A pod of which nobody knows whether it was evicted: it is looked at, once at a time, however long that takes."""

from __future__ import annotations

from kubectl_eksdoc.drain.run.board import NodePhase
from kubectl_eksdoc.drain.run.moments import Happened
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus, LostAnswer
from kubectl_eksdoc.kubernetes.news import News, PodGone, PodsFound, RequestAnswered
from kubectl_eksdoc.model.acts import Act, Evict, Look
from tests.builders import a_cluster, a_node, a_pod, a_roomy_node
from tests.drain.run.driving import Driven


def test_it_is_not_looked_at_once_more_while_somebody_looks() -> None:
    pod = a_pod("web-1", node="old-0")
    tries: list[Act] = []

    def evicted(act: Act) -> News:
        tries.append(act)
        return RequestAnswered(act, LostAnswer("the connection broke") if len(tries) == 1 else ApiStatus(201))

    cluster = a_cluster(nodes=[a_node("old-0"), a_roomy_node()], pods=[pod])
    driven = Driven(cluster, Evict=evicted, Look=lambda act: None)
    driven.until(600.0)
    looks = [act for _, act in driven.asked if isinstance(act, Look)]
    assert len(looks) == len(tries) == 1, "the answer is still to come"
    driven.hear(PodsFound(looks[0], (pod,)))
    driven.until(601.0)
    assert [type(act) for act in tries] == [Evict, Evict], "it was there all the same, and is asked for again"
    assert not [moment for moment in driven.engine.moments if moment.what is Happened.KEPT]


def test_one_that_nobody_can_look_at_holds_nothing_up_for_ever() -> None:
    """Its node is left alone after --eviction-timeout; the other one is emptied meanwhile."""
    pods = [a_pod("web-1", node="old-0"), a_pod("web-2", node="old-1")]
    cluster = a_cluster(nodes=[a_node("old-0"), a_node("old-1"), a_roomy_node()], pods=pods)
    doubtful, own = pods[0].uid, {}

    def evicted(act: Act) -> News | list[News]:
        assert isinstance(act, Evict)
        if act.pod.uid == doubtful:
            return RequestAnswered(act, LostAnswer("the connection broke"))
        return [RequestAnswered(act, ApiStatus(201)), PodGone(act.pod.uid, 9)]

    def looked(act: Act) -> News:
        own[len(own)] = act
        return RequestAnswered(act, LostAnswer("500 the pod cannot be decoded"))

    driven = Driven(cluster, Evict=evicted, Look=looked)
    driven.to_the_end()
    phases = {node.name: node.phase for node in driven.engine.nodes}
    assert phases == {"old-0": NodePhase.LEFT_ALONE, "old-1": NodePhase.DONE}
    ((pod, why),) = driven.told(Happened.KEPT)
    assert pod == "default/web-1" and "cannot be found out: 500 the pod cannot be decoded" in why
    assert len(driven.of(Evict)) == 2 and 15 <= len(own) <= 30


def test_a_node_that_nobody_can_list_is_left_alone_in_the_end() -> None:
    cluster = a_cluster(nodes=[a_node("old-0"), a_roomy_node()], pods=[a_pod("web-1", node="old-0")])
    driven = Driven(cluster, ListPods=lambda act: RequestAnswered(act, LostAnswer("500 broken")))
    driven.to_the_end()
    ((node, why),) = driven.told(Happened.LEFT_ALONE)
    assert node == "old-0" and why == "which pods are on it cannot be listed: 500 broken"
