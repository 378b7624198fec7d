"""A run's remaining time is estimated from what it has observed: the plan knew no stop times of these pods."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.pod_evictions import ObservedState
from kubectl_eksdoc.drain.run.progress import RunProgress
from kubectl_eksdoc.model.nodes import Pod
from tests.drain.fields import KeptJournal, StageField, a_drain
from tests.drains import virtual
from tests.drains.shapes import App, Shape, small

NEAR = 0.20

APPS = (
    App("shop", 9, together=3),
    App("api", 6, away="50%", together=2, first=1),
    App("db", 4, away="", set_of="StatefulSet", start_s=5.0),
    App("batch", 8, away="2", together=2),
)


@dataclass(frozen=True, slots=True)
class Graceful(Shape):
    """A cluster whose pods take a share of their grace period to stop."""

    share: float = 0.0

    def stop_s(self, pod: Pod) -> float:
        return pod.grace_seconds * self.share


def shown(shape: Shape, stops: tuple[tuple[str, float], ...] = ()) -> tuple[list[RunProgress], float]:
    """The estimates that the run showed, and how long it took."""
    stage, _, cluster, plan = virtual.planned(shape, stops=stops)
    stage.start(shape)
    engine, found = Engine(plan, ObservedState(cluster)), list[RunProgress]()
    ended = a_drain(engine, StageField(stage, KeptJournal()), show=found.append).run()
    assert ended.is_complete
    return found, ended.record.drain_s


def stopping(stop_s: float) -> Shape:
    """Pods of all workloads take so long to stop, which the plan cannot read anywhere."""
    shape = small()
    return replace(shape, apps=tuple(replace(app, stop_s=stop_s) for app in shape.apps))


SHAPES: dict[str, Shape] = {
    **{f"all of them stop in {seconds} s": stopping(seconds) for seconds in (0, 5, 25)},
    "some stop in 2 s, others in 12 s": small(),
    **{f"{share:.0%} of the grace period": Graceful(APPS, 3, 2, share) for share in (0.1, 1.0)},
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_within_a_fifth_of_the_truth_once_a_fifth_of_the_pods_are_gone(shape: Shape) -> None:
    found, took_s = shown(shape)
    later = [each for each in found if each.gone >= each.pods / 5]
    assert later[0].gone < later[0].pods / 2
    for each in later:
        assert each.remaining_s is not None
        assert abs(each.at_s + each.remaining_s - took_s) <= NEAR * took_s, each.summary


def test_the_plan_alone_would_be_further_from_it() -> None:
    """Otherwise the run would have learned nothing."""
    found, took_s = shown(stopping(0))
    assert found[0].planned_s is not None and abs(found[0].planned_s - took_s) > NEAR * took_s


def test_as_long_as_no_pod_of_a_workload_has_stopped_it_is_a_range_that_says_why() -> None:
    found, took_s = shown(stopping(12))
    first = next(each for each in found if each.unmeasured)
    assert first.slow_remaining_s is not None and first.remaining_s is not None
    assert first.at_s + first.slow_remaining_s >= took_s
    assert "left (how long pods of" in first.summary and "is not measured yet" in first.summary
    assert found[-1].unmeasured == 0


def test_what_was_measured_before_is_no_range() -> None:
    """The measurements are from the journal of an earlier run of the same cluster."""
    shape = stopping(12)
    shape = replace(shape, apps=tuple(replace(app, start_s=20.0) for app in shape.apps))
    stops = tuple((f"default/ReplicaSet/{app.name}", 12.0) for app in shape.apps for _ in range(3))
    wide, narrow = (virtual.planned(shape, stops=each).plan.estimate for each in ((), stops))
    assert wide is not None and narrow is not None
    assert narrow.p95_s - narrow.p50_s < (wide.p95_s - wide.p50_s) / 3
    assert "pods stop as fast as they did in earlier runs" in narrow.assumptions
    found, took_s = shown(shape, stops)
    assert not any(each.unmeasured for each in found)
    assert abs(narrow.p50_s - took_s) <= NEAR * took_s
