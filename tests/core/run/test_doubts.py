"""A pod of which nobody knows whether it was evicted: it is looked at, once at a time, however long that takes."""

from __future__ import annotations

from kubectl_eksdoc.core.model.acts import Act, Evict, Look
from kubectl_eksdoc.core.rules.api.statuses import Lost, Status
from kubectl_eksdoc.core.rules.news import Answered, Found, News
from kubectl_eksdoc.core.run.moments import Happened
from tests.builders import a_cluster, a_node, a_pod, a_roomy_node
from tests.core.run.driving import Driven


def test_it_is_not_looked_at_once_more_while_somebody_looks() -> None:
    pod = a_pod("web-1", node="old-0")
    tries: list[Act] = []

    def evicted(act: Act) -> News:
        tries.append(act)
        return Answered(act, Lost("the connection broke") if len(tries) == 1 else Status(201))

    cluster = a_cluster(nodes=[a_node("old-0"), a_roomy_node()], pods=[pod])
    driven = Driven(cluster, Evict=evicted, Look=lambda act: None)
    driven.until(600.0)
    looks = [act for _, act in driven.asked if isinstance(act, Look)]
    assert len(looks) == len(tries) == 1, "the answer is still to come"
    driven.hear(Found(looks[0], (pod,)))
    driven.until(601.0)
    assert [type(act) for act in tries] == [Evict, Evict], "it was there all the same, and is asked for again"
    assert not [moment for moment in driven.engine.moments if moment.what is Happened.KEPT]
