"""While the user has paused a run it cordons nothing either, and then goes on."""

from __future__ import annotations

from kubectl_eksdoc.core.model.acts import Cordon
from kubectl_eksdoc.core.run.moments import Happened
from tests.builders import a_cluster, a_node, a_pod, a_roomy_node
from tests.core.run.driving import Driven


def test_nothing_is_cordoned_while_it_is_paused() -> None:
    run = Driven(a_cluster(nodes=[a_node("old-0"), a_roomy_node()], pods=[a_pod("a", node="old-0")]))
    run.engine.pause("ann paused it")
    run.until(30)
    assert not run.of(Cordon)
    run.engine.pause("")
    run.to_the_end()
    assert [name for name, _ in run.told(Happened.DONE)] == ["old-0"]
