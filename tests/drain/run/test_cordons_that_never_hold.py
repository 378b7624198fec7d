"""All wait until every node is seen cordoned: one for which that never comes is left alone, and the others go on."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.drain.run.moments import Happened
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus
from kubectl_eksdoc.kubernetes.news import News, NodeIs, RequestAnswered
from kubectl_eksdoc.model.acts import Act, Cordon
from tests.builders import a_cluster, a_node, a_pod, a_roomy_node
from tests.drain.run.driving import Driven

NEVER = [
    ApiStatus(409, "Conflict", 'Node "old-0" is left as it is: run Of_Somebody has changed it meanwhile'),
    ApiStatus(429, "TooManyRequests", "slow down"),
    ApiStatus(200),  # and a webhook has taken it back
]


@pytest.mark.parametrize("answer", NEVER, ids=["409", "429", "200"])
def test_one_node_does_not_hold_up_the_others_for_ever(answer: ApiStatus) -> None:
    def cordoned(act: Act) -> list[News]:
        assert isinstance(act, Cordon)
        if act.node == "old-0":
            return [RequestAnswered(act, answer)]
        return [RequestAnswered(act, ApiStatus(200)), NodeIs(a_node(act.node, unschedulable=True))]

    nodes = [a_node("old-0"), a_node("old-1"), a_roomy_node()]
    run = Driven(a_cluster(nodes=nodes, pods=[a_pod("a", node="old-0"), a_pod("b", node="old-1")]), Cordon=cordoned)
    run.to_the_end()
    ((node, why),) = run.told(Happened.LEFT_ALONE)
    assert node == "old-0" and "cordon" in why
    assert [name for name, _ in run.told(Happened.DONE)] == ["old-1"]
