"""The progress of a drain, and requests to it: pause, stop after this wave, leave one node alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.events import DrainEventKind
from kubectl_eksdoc.drain.run.pod_evictions import ObservedState
from kubectl_eksdoc.drain.run.progress import GATES_NOT_READY, RunProgress, reasons, run_progress
from kubectl_eksdoc.drain.run.remaining import RemainingTime
from kubectl_eksdoc.drain.run.result import PendingPod
from kubectl_eksdoc.embedded.stage import SimulatedStage
from kubectl_eksdoc.kubernetes.updates import PodChanged, PodRemoved
from kubectl_eksdoc.model.actions import Cordon
from tests.builders import NOW, a_cluster, a_node, a_pod, a_roomy_node
from tests.drain.run.instant_engine import Driven
from tests.drain.stages import ONE_BY_ONE, begun, made, steps, web
from tests.examples import examples
from tests.simulator.control_planes import a_budget_doc, a_node_doc


def a_run(policy: DrainPolicy = DrainPolicy()) -> tuple[SimulatedStage, Engine]:
    docs = [*web(3, 3), *(a_node_doc(f"new-{i}") for i in range(3)), a_budget_doc(allowed=1, healthy=3)]
    _, stage = made(*docs)
    return stage, begun(stage, policy)


def stood(stage: SimulatedStage, engine: Engine) -> list[RunProgress]:
    """The progress at every moment at which an act is due, until the drain is over."""
    found, course = list[RunProgress](), RemainingTime(engine.plan)
    steps(stage, engine, look=lambda: found.append(run_progress(engine, course, stage.seconds)))
    return found


def test_a_drain_from_its_begin_to_its_end() -> None:
    stage, engine = a_run()
    all_of_it = stood(stage, engine)
    first, last = all_of_it[0], all_of_it[-1]
    assert first.pods == last.pods == last.gone and first.gone == 0
    estimate = engine.plan.estimate
    assert estimate is not None and first.planned_s == estimate.p50_s, "what users are told"
    assert first.remaining_s == pytest.approx(estimate.p50_s, abs=6)
    assert (len(last.done), last.half_drained, last.cordoned, last.in_flight, last.remaining_s) == (3, (), (), (), 0.0)
    assert [each.gone for each in all_of_it] == sorted(each.gone for each in all_of_it)
    for each in all_of_it:
        assert len(each.done) + len(each.half_drained) + len(each.cordoned) <= each.nodes == 3
        assert each.remaining_s is not None and 0 <= each.remaining_s <= (each.planned_s or 0)
    assert any(each.waiting_pods and "budget default/web" in each.waiting_pods[0].reason for each in all_of_it)
    assert last.summary == f"{last.pods} of {last.pods} pods gone, 3 of 3 nodes done, about 0s left"


def test_what_was_stopped_has_no_time_left_to_tell() -> None:
    _, engine = a_run()
    engine.stop("enough", 1.0)
    stands = run_progress(engine, RemainingTime(engine.plan), 2.0)
    assert (stands.stop_reason, stands.remaining_s) == ("enough", None) and stands.summary.endswith(
        "nodes done, enough"
    )


def test_a_replacement_behind_a_load_balancer_waits_for_its_target() -> None:
    _, engine = a_run()
    gate = "target-health.elbv2.k8s.aws/k8s-default-web"
    old = engine.plan.evictions[0].pod
    new = replace(
        old, uid="new", name="web-new", ready=False, not_ready_because=GATES_NOT_READY, readiness_gates=(gate,)
    )
    engine.observed.handle(PodChanged(new, 10**9))
    assert run_progress(engine, RemainingTime(engine.plan), 1.0).starting == (
        PendingPod("default/web-new", f"waits for {gate}"),
    )


def test_a_pod_that_was_not_ready_before_the_run_replaces_nothing() -> None:
    """A crash loop of the same workload on another node is no effect of the drain, not even at its end."""
    _, begun_before = a_run()
    plan, cluster = begun_before.plan, begun_before.observed.pods()
    twin = replace(plan.evictions[0].pod, uid="twin", name="web-twin", node="new-0", ready=False)
    engine = Engine(plan, ObservedState(a_cluster(pods=[*cluster, twin])))
    assert "default/web-twin" in {pod.key for pod in engine.observed.pods()}
    assert run_progress(engine, RemainingTime(plan), 1.0).starting == ()


def test_a_budget_that_waits_for_no_replacement_waits_for_what_is_stopping() -> None:
    stage, engine = a_run()
    steps(stage, engine, 1.0)
    old = engine.plan.evictions[0].pod
    for new in [pod for pod in engine.observed.pods() if not pod.ready]:
        engine.observed.handle(PodRemoved(new.uid, 10**9))
    engine.observed.handle(PodChanged(replace(old, ready=False, deletion_deadline=NOW), 10**9))
    first = reasons(engine, 2.0)[0]
    assert first.reason == f"budget default/web allows no eviction: 2 healthy, 2 needed; {old.key} is stopping"
    assert first.remedy == f"kubectl describe pod {old.name} -n default"


def test_of_what_nothing_replaces_no_replacement_is_waited_for() -> None:
    several = [a_pod("bare", owner=None), a_pod("etl-x", owner="Job/etl", phase="Succeeded")]
    run = Driven(a_cluster(nodes=[a_node("old-0"), a_roomy_node()], pods=several), policy=DrainPolicy(force=True))
    run.step()
    assert not any(each.typical for each in reasons(run.engine, 1.0))


def test_how_long_a_replacement_is_there_is_told_by_the_clock_of_the_run() -> None:
    """The pod's creation time is from the cluster's clock, which may differ from ours by days."""
    stage, engine = a_run()
    told = [(each.at_s, why) for each in stood(stage, engine) for _, why, *_ in each.reasons if "replacement " in why]
    seen = [(at_s, why.rpartition("seen for ")[2]) for at_s, why in told if "seen for " in why]
    assert seen and not any(why.endswith(" old") for _, why in told)
    assert all("min" not in since for at_s, since in seen if at_s < 60)


def ended(engine: Engine, what: DrainEventKind) -> list[str]:
    return [moment.subject for moment in engine.events if moment.what is what]


def test_the_wave_under_way_is_finished_and_no_other_is_begun() -> None:
    stage, engine = a_run(ONE_BY_ONE)
    steps(stage, engine, 1.0)
    engine.finish_wave("enough")
    steps(stage, engine)
    assert engine.stop_reason == "enough"
    assert len(ended(engine, DrainEventKind.DONE)) == len(ended(engine, DrainEventKind.BEGUN)) == 1


def test_before_the_first_wave_that_stops_at_once() -> None:
    stage, engine = a_run(ONE_BY_ONE)
    engine.finish_wave("enough")
    steps(stage, engine)
    assert engine.stop_reason == "enough" and not ended(engine, DrainEventKind.BEGUN)


def test_it_can_be_taken_back() -> None:
    stage, engine = a_run(ONE_BY_ONE)
    steps(stage, engine, 1.0)
    engine.finish_wave("enough")
    steps(stage, engine, 3.0)
    engine.finish_wave("")
    steps(stage, engine)
    assert engine.is_finished and not engine.stop_reason and len(ended(engine, DrainEventKind.DONE)) == 3


def test_in_the_last_wave_it_is_just_the_end() -> None:
    stage, engine = a_run(DrainPolicy())
    steps(stage, engine, 1.0)
    engine.finish_wave("enough")
    steps(stage, engine)
    assert engine.is_finished and not engine.stop_reason and len(ended(engine, DrainEventKind.DONE)) == 3


@settings(max_examples=examples(20))
@given(st.sampled_from(("old-0", "old-1", "old-2")), st.floats(0.0, 60.0), st.booleans())
def test_a_node_that_is_left_alone_holds_nothing_up(node: str, at_s: float, waves: bool) -> None:
    stage, engine = a_run(ONE_BY_ONE if waves else DrainPolicy())
    steps(stage, engine, at_s)
    before = [moment for moment in engine.events if moment.subject == node and moment.what is DrainEventKind.DONE]
    engine.leave_alone(node, "not tonight", stage.seconds)
    asked = sum(moment.node == node for moment in engine.events if moment.what is DrainEventKind.EVICTED)
    steps(stage, engine)
    assert engine.is_finished
    if before:
        assert not ended(engine, DrainEventKind.LEFT_ALONE)
    else:
        assert ended(engine, DrainEventKind.LEFT_ALONE) == [node]
        assert (
            asked >= sum(moment.node == node for moment in engine.events if moment.what is DrainEventKind.EVICTED) - 1
        )
    assert len(ended(engine, DrainEventKind.DONE)) + len(ended(engine, DrainEventKind.LEFT_ALONE)) == 3


def test_nothing_is_cordoned_while_it_is_paused() -> None:
    run = Driven(a_cluster(nodes=[a_node("old-0"), a_roomy_node()], pods=[a_pod("a", node="old-0")]))
    run.engine.pause("ann paused it")
    run.until(30)
    assert not run.of(Cordon)
    run.engine.pause("")
    run.to_the_end()
    assert [name for name, _ in run.told(DrainEventKind.DONE)] == ["old-0"]


@given(st.lists(st.floats(0, 10), max_size=20))
def test_it_never_takes_less_than_nothing_and_never_goes_back_by_itself(steps: list[float]) -> None:
    _, engine = begun_once()
    remaining, now_s, before = RemainingTime(engine.plan), 0.0, float("inf")
    for passed_s in steps:
        now_s += passed_s
        left = remaining.remaining(now_s)
        assert left is not None and 0 <= left.seconds <= min(before, left.slow_seconds)
        before = left.seconds


_BEGUN: list[tuple[SimulatedStage, Engine]] = []


def begun_once() -> tuple[SimulatedStage, Engine]:
    if not _BEGUN:
        _BEGUN.append(a_run())
    return _BEGUN[0]
