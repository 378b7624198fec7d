"""What whoever watches a run may wish of it beside a pause and a stop: a node left alone, an end after this wave."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.drain.policy import ALL, DrainPolicy, Targeting
from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.moments import Happened
from kubectl_eksdoc.drain.run.pursuits import ObservedState
from kubectl_eksdoc.embedded.stage import EmbeddedStage
from kubectl_eksdoc.flows.drain import plan_drain
from kubectl_eksdoc.flows.rehearse import pace_of
from kubectl_eksdoc.model.budgets import Amount
from tests.examples import examples
from tests.flows.stages import made, web
from tests.simulator.planes import a_budget_doc, a_node_doc

ONE_AT_ONCE = DrainPolicy(max_unavailable=((ALL, Amount(1)),))


def begun(policy: DrainPolicy = ONE_AT_ONCE) -> tuple[EmbeddedStage, Engine]:
    docs = [*web(3, 3), *(a_node_doc(f"new-{i}") for i in range(3)), a_budget_doc(allowed=1, healthy=3)]
    _, stage = made(*docs)
    cluster, plan = plan_drain(stage, Targeting(nodegroups=("blue",)), policy)
    stage.start(pace_of(cluster))
    return stage, Engine(plan, ObservedState(cluster))


def drained(stage: EmbeddedStage, engine: Engine, until_s: float = 3600.0) -> None:
    """Until it is over, has settled, or so long."""
    while not engine.over and stage.seconds < until_s and not engine.is_settled(stage.seconds):
        for news in stage.news():
            engine.take(news, stage.seconds)
        for act in engine.acts(stage.seconds):
            engine.take(stage.do(act), stage.seconds)  # type: ignore[arg-type]
        stage.pass_time(min(engine.next_s(stage.seconds), stage.seconds + 5))


def ended(engine: Engine, what: Happened) -> list[str]:
    return [moment.subject for moment in engine.moments if moment.what is what]


def test_the_wave_under_way_is_finished_and_no_other_is_begun() -> None:
    stage, engine = begun()
    drained(stage, engine, 1.0)
    engine.finish_wave("enough")
    drained(stage, engine)
    assert engine.stopped == "enough"
    assert len(ended(engine, Happened.DONE)) == len(ended(engine, Happened.BEGUN)) == 1


def test_before_the_first_wave_that_stops_at_once() -> None:
    stage, engine = begun()
    engine.finish_wave("enough")
    drained(stage, engine)
    assert engine.stopped == "enough" and not ended(engine, Happened.BEGUN)


def test_it_can_be_taken_back() -> None:
    stage, engine = begun()
    drained(stage, engine, 1.0)
    engine.finish_wave("enough")
    drained(stage, engine, 3.0)
    engine.finish_wave("")
    drained(stage, engine)
    assert engine.over and not engine.stopped and len(ended(engine, Happened.DONE)) == 3


def test_in_the_last_wave_it_is_just_the_end() -> None:
    stage, engine = begun(DrainPolicy())
    drained(stage, engine, 1.0)
    engine.finish_wave("enough")
    drained(stage, engine)
    assert engine.over and not engine.stopped and len(ended(engine, Happened.DONE)) == 3


@settings(max_examples=examples(20))
@given(st.sampled_from(("old-0", "old-1", "old-2")), st.floats(0.0, 60.0), st.booleans())
def test_a_node_that_is_left_alone_holds_nothing_up(node: str, at_s: float, waves: bool) -> None:
    stage, engine = begun(ONE_AT_ONCE if waves else DrainPolicy())
    drained(stage, engine, at_s)
    before = [moment for moment in engine.moments if moment.subject == node and moment.what is Happened.DONE]
    engine.leave_alone(node, "not tonight", stage.seconds)
    asked = sum(moment.node == node for moment in engine.moments if moment.what is Happened.EVICTED)
    drained(stage, engine)
    assert engine.over
    if before:
        assert not ended(engine, Happened.LEFT_ALONE)
    else:
        assert ended(engine, Happened.LEFT_ALONE) == [node]
        assert asked >= sum(moment.node == node for moment in engine.moments if moment.what is Happened.EVICTED) - 1
    assert len(ended(engine, Happened.DONE)) + len(ended(engine, Happened.LEFT_ALONE)) == 3


def test_a_node_that_is_none_of_the_run_is_no_matter() -> None:
    _, engine = begun()
    engine.leave_alone("elsewhere", "not tonight", 0.0)
    assert not engine.moments
