"""Start times learned from running pods: restarts and flapping ignored, too few marked as assumed."""

from __future__ import annotations

from dataclasses import replace
from math import floor
from statistics import fmean

import pytest

from kubectl_eksdoc.drain.duration.timing import ASSUMED_START_S, learn, learn_stops, least_stop_s, start_of, stop_of
from kubectl_eksdoc.model.nodes import Pod
from tests.builders import a_pod, ago


def started(name: str, seconds: float, owner: str = "ReplicaSet/web", **more: object) -> Pod:
    pod = a_pod(name, owner=owner, scheduled_at=ago(1000), ready_at=ago(1000 - seconds))
    return replace(pod, **more)  # type: ignore[arg-type]


def of(pod: Pod) -> str:
    return pod.owner.name if pod.owner else ""


def test_median_and_95th_of_a_workload() -> None:
    times = learn([started(f"w{i}", s) for i, s in enumerate((10, 20, 30))], of)
    found = times.of("web")
    assert (found.p50_s, found.p95_s, found.samples, found.assumed) == (20, 30, 3, False)


def test_whole_seconds_say_on_average_how_long_a_start_took() -> None:
    """The API cuts both times to whole seconds: a start of 3.4 s reads as 3 s six times of ten, and as 4 s else."""
    phases = [phase / 10 for phase in range(10)]
    read = [start_of(started("w", floor(phase + 3.4) - floor(phase))) for phase in phases]
    assert fmean(each for each in read if each is not None) == pytest.approx(3.4)


def test_restarted_and_unready_pods_tell_nothing() -> None:
    assert start_of(started("a", 10, restarted=True)) is None
    assert start_of(started("a", 10, ready=False)) is None
    assert start_of(a_pod("a")) is None


def test_a_pod_that_flapped_is_not_a_slow_start() -> None:
    several = [started(f"w{i}", s) for i, s in enumerate((10, 11, 12, 900))]
    assert learn(several, of).of("web").p95_s == 12


def test_too_few_samples_are_helped_by_the_clusters() -> None:
    several = [started("w", 8)] + [started(f"o{i}", 40, "ReplicaSet/other") for i in range(3)]
    found = learn(several, of).of("web")
    assert (found.p50_s, found.p95_s, found.assumed) == (8, 40, True)
    unknown = learn(several, of).of("never-seen")
    assert (unknown.p50_s, unknown.assumed) == (40, True)


def test_without_any_sample_it_is_assumed() -> None:
    assert learn([a_pod()], of).of("web").p50_s == ASSUMED_START_S[0]


def test_a_stop_is_at_most_its_grace() -> None:
    """Nobody knows more: half of all are below the geometric mean of 1 s and the grace period."""
    assert stop_of(a_pod(), 100) == (10, 100)
    assert stop_of(a_pod(), 1) == (1, 1)
    assert stop_of(a_pod(), 0) == (0, 0)
    assert stop_of(a_pod(phase="Succeeded"), 30) == (0, 0)
    assert stop_of(a_pod(pre_stop_s=16), 25) == (19, 25), "its preStop hook sleeps before it is asked to stop"
    assert stop_of(a_pod(pre_stop_s=60), 25) == (25, 25)
    assert stop_of(a_pod(pre_stop_s=60), 25, [3.0, 4.0, 5.0]) == (4, 5), "what was seen is sure"


@pytest.mark.parametrize(
    ("grace_s", "hook_s", "least_s"), [(30, 0, 1), (30, 12, 13), (30, 30, 30), (30, 99, 30), (0.5, 0, 0.5)]
)
def test_a_drawn_stop_is_never_shorter_than_the_hook(grace_s: float, hook_s: int, least_s: float) -> None:
    assert least_stop_s(*stop_of(a_pod(pre_stop_s=hook_s), grace_s)) == pytest.approx(least_s)


def test_stops_of_earlier_runs_by_template_then_by_owner() -> None:
    seen = [("default/ReplicaSet/web-1", each) for each in (2.0, 3.0, 4.0)] + [("default/ReplicaSet/web-2", 9.0)]
    seen += [("default/StatefulSet/web", 70.0)]
    stops = learn_stops(seen)
    same, newer, other = (a_pod(owner=f"ReplicaSet/{name}") for name in ("web-1", "web-3", "other-1"))
    assert stop_of(same, 30, stops.of(same)) == (3, 4)
    assert stop_of(newer, 30, stops.of(newer)) == (3, 9)
    assert stop_of(newer, 5, stops.of(newer)) == (3, 5), "the grace period is the longest it can be"
    assert stops.of(other) == () == stops.of(a_pod(owner=None))
    assert stop_of(a_pod(), 30, [8.0]) == (8, 12), "one alone says little of the slowest"
