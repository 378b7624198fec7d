"""Where a drain stands: how far, how long still, and what is half done if it ends now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.drain.run.account import PendingPod
from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.pursuits import ObservedState
from kubectl_eksdoc.drain.run.remaining import Remaining
from kubectl_eksdoc.drain.run.standing import GATES, RunProgress, standing
from kubectl_eksdoc.embedded.stage import EmbeddedStage
from kubectl_eksdoc.flows.drain import plan_drain
from kubectl_eksdoc.flows.rehearse import pace_of
from kubectl_eksdoc.kubernetes.news import PodIs
from tests.builders import a_cluster
from tests.flows.stages import made, web
from tests.simulator.planes import a_budget_doc, a_node_doc


def begun() -> tuple[EmbeddedStage, Engine]:
    docs = [*web(3, 3), *(a_node_doc(f"new-{i}") for i in range(3)), a_budget_doc(allowed=1, healthy=3)]
    _, stage = made(*docs)
    cluster, plan = plan_drain(stage, Targeting(nodegroups=("blue",)), DrainPolicy())
    stage.start(pace_of(cluster))
    return stage, Engine(plan, ObservedState(cluster))


def stood(stage: EmbeddedStage, engine: Engine) -> list[RunProgress]:
    """At every moment at which something is to be done, until it is over."""
    found, course = [], Remaining(engine.plan)
    while not engine.over and stage.seconds < 3600:
        for news in stage.news():
            engine.take(news, stage.seconds)
        for act in engine.acts(stage.seconds):
            engine.take(stage.do(act), stage.seconds)  # type: ignore[arg-type]
        found.append(standing(engine, course, stage.seconds))
        stage.pass_time(min(engine.next_s(stage.seconds), stage.seconds + 5))
    return found


def test_a_drain_from_its_begin_to_its_end() -> None:
    stage, engine = begun()
    all_of_it = stood(stage, engine)
    first, last = all_of_it[0], all_of_it[-1]
    assert first.pods == last.pods == last.gone and first.gone == 0
    estimate = engine.plan.estimate
    assert estimate is not None and first.planned_s == estimate.p50_s, "what users are told"
    assert first.left_s == pytest.approx(estimate.p50_s, abs=6)
    assert (len(last.done), last.half, last.cordoned, last.leaving, last.left_s) == (3, (), (), (), 0.0)
    assert [each.gone for each in all_of_it] == sorted(each.gone for each in all_of_it)
    for each in all_of_it:
        assert len(each.done) + len(each.half) + len(each.cordoned) <= each.nodes == 3
        assert each.left_s is not None and 0 <= each.left_s <= (each.planned_s or 0)
    assert any(each.waits and "budget default/web" in each.waits[0].why for each in all_of_it)
    assert last.said == f"{last.pods} of {last.pods} pods gone, 3 of 3 nodes done, about 0s left"


def test_what_was_stopped_has_no_time_left_to_tell() -> None:
    _, engine = begun()
    engine.stop("enough", 1.0)
    stands = standing(engine, Remaining(engine.plan), 2.0)
    assert (stands.stopped, stands.left_s) == ("enough", None) and stands.said.endswith("nodes done, enough")


def test_a_replacement_behind_a_load_balancer_waits_for_its_target() -> None:
    _, engine = begun()
    gate = "target-health.elbv2.k8s.aws/k8s-default-web"
    old = engine.plan.evictions[0].pod
    new = replace(old, uid="new", name="web-new", ready=False, not_ready_because=GATES, readiness_gates=(gate,))
    engine.seen.take(PodIs(new, 10**9))
    assert standing(engine, Remaining(engine.plan), 1.0).coming == (PendingPod("default/web-new", f"waits for {gate}"),)


def test_a_pod_that_was_not_ready_before_the_run_replaces_nothing() -> None:
    """A crash loop of the same workload on another node is no result of the drain, at its end neither."""
    _, begun_before = begun()
    plan, cluster = begun_before.plan, begun_before.seen.pods()
    twin = replace(plan.evictions[0].pod, uid="twin", name="web-twin", node="new-0", ready=False)
    engine = Engine(plan, ObservedState(a_cluster(pods=[*cluster, twin])))
    assert "default/web-twin" in {pod.key for pod in engine.seen.pods()}
    assert standing(engine, Remaining(plan), 1.0).coming == ()


def test_how_long_a_replacement_is_there_is_told_by_the_clock_of_the_run() -> None:
    """The cluster's clock, by which it was created, may be days from ours."""
    stage, engine = begun()
    told = [(each.at_s, why) for each in stood(stage, engine) for _, why, *_ in each.why if "replacement " in why]
    seen = [(at_s, why.rpartition("seen for ")[2]) for at_s, why in told if "seen for " in why]
    assert seen and not any(why.endswith(" old") for _, why in told)
    assert all("min" not in since for at_s, since in seen if at_s < 60)
