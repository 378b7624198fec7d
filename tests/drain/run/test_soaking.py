"""A soak between waves adds its time to a drain: in the estimate, in the remaining time, and in the result."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import pytest

import kubectl_eksdoc.report.schemas as schemas
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.read import plan_drain
from kubectl_eksdoc.drain.report.formats import DrainReport
from kubectl_eksdoc.drain.report.record import DrainResultView
from kubectl_eksdoc.drain.report.run import RunReport
from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.pod_evictions import ObservedState
from kubectl_eksdoc.drain.run.progress import run_progress
from kubectl_eksdoc.drain.run.remaining import RemainingTime
from kubectl_eksdoc.drain.run.stall_timeouts import Soak, soak_time
from kubectl_eksdoc.model.budgets import IntOrPercent
from kubectl_eksdoc.model.options import ALL
from kubectl_eksdoc.rehearse.rehearsal import rehearse
from kubectl_eksdoc.report.text import Appearance
from tests.builders import NOW
from tests.drain.run_loop.test_waves import a_cluster
from tests.drain.stages import BLUE, ONE_BY_ONE

render = DrainReport.render


@pytest.mark.parametrize(
    ("policy", "each_s", "soak"),
    [
        (ONE_BY_ONE, 120.0, Soak(120.0, 2)),
        (DrainPolicy(max_unavailable=((ALL, IntOrPercent(2)),)), 60.0, Soak(60.0, 1)),
        (ONE_BY_ONE, 0.0, None),
        (DrainPolicy(), 120.0, None),
        (DrainPolicy(max_unavailable=((ALL, IntOrPercent(3)),)), 120.0, None),
    ],
)
def test_it_waits_after_each_wave_but_the_last(policy: DrainPolicy, each_s: float, soak: Soak | None) -> None:
    _, plan = plan_drain(a_cluster()[1], BLUE, policy)
    assert soak_time(plan, each_s) == soak


@pytest.mark.parametrize("output", ["table", "markdown"])
def test_the_estimate_of_a_run_says_it(output: str) -> None:
    cluster, plan = plan_drain(a_cluster()[1], BLUE, ONE_BY_ONE)
    text = render(DrainReport(plan, cluster, soak=Soak(120.0, 2)), output, Appearance())
    assert " + soak 2m after each of 2 waves" in " ".join(text.replace("\\", "").split())
    assert "soak" not in render(DrainReport(plan, cluster), output, Appearance())


@pytest.mark.parametrize("output", ["table", "markdown", "json"])
def test_a_run_that_soaked_as_it_should_is_not_late(output: str) -> None:
    cluster, rehearsal = rehearse(a_cluster()[1], BLUE, ONE_BY_ONE, limits=RunLimits(soak_s=120))
    view = DrainResultView(rehearsal, cluster, soak=soak_time(rehearsal.plan, 120.0))
    text = RunReport("r", view, NOW, NOW, "ada", "desk").render(output, Appearance())
    plain = rehearse(a_cluster()[1], BLUE, ONE_BY_ONE)[1].late_s
    assert plain is not None and view.late_s == pytest.approx(plain, abs=1.0)
    if output == "json":
        doc = json.loads(text)
        jsonschema.Draft202012Validator(schemas.load_schema("DrainRun")).validate(doc)
        assert doc["plan"]["estimate"]["soak"] == {"seconds": 120, "times": 2}
    else:
        assert "+ soak 2m after each of 2 waves" in " ".join(text.replace("\\", "").split())


def test_what_is_left_counts_the_soaks_to_come() -> None:
    cluster, plan = plan_drain(a_cluster()[1], BLUE, ONE_BY_ONE)
    left = [
        run_progress(Engine(plan, ObservedState(cluster), RunLimits(soak_s=s)), RemainingTime(plan), 0.0).remaining_s
        for s in (0.0, 100.0)
    ]
    assert left[0] is not None and left[1] == left[0] + 200.0
    alone = replace(plan, targets=plan.targets[:1])
    assert (
        run_progress(
            Engine(alone, ObservedState(cluster), RunLimits(soak_s=100.0)), RemainingTime(plan), 0.0
        ).remaining_s
        == left[0]
    )
