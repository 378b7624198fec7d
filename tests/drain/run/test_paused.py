"""While the user has paused a run it cordons nothing either, and then goes on."""

from __future__ import annotations

from kubectl_eksdoc.drain.run.moments import Happened
from kubectl_eksdoc.model.acts import Cordon
from tests.builders import a_cluster, a_node, a_pod, a_roomy_node
from tests.drain.run.driving import Driven


def test_nothing_is_cordoned_while_it_is_paused() -> None:
    run = Driven(a_cluster(nodes=[a_node("old-0"), a_roomy_node()], pods=[a_pod("a", node="old-0")]))
    run.engine.pause("ann paused it")
    run.until(30)
    assert not run.of(Cordon)
    run.engine.pause("")
    run.to_the_end()
    assert [name for name, _ in run.told(Happened.DONE)] == ["old-0"]


def test_how_long_it_was_paused_is_known_while_it_is_and_afterwards() -> None:
    run = Driven(a_cluster(nodes=[a_node("old-0"), a_roomy_node()], pods=[a_pod("a", node="old-0")]))
    run.until(10)
    for begin_s, end_s in ((10, 25), (30, 50)):
        before_s = run.engine.paused_s(begin_s)
        run.engine.pause("ann paused it")
        run.until(end_s)
        assert run.engine.paused_s(end_s) >= before_s + 10, "from the next look on"
        run.engine.pause("")
        run.until(end_s + 5)
    paused_s = run.engine.paused_s(55)
    assert 30 <= paused_s <= 40 and run.engine.paused_s(1000) == paused_s
