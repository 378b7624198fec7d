"""Cron jobs: when they are due, what runs beside what, and how many ended jobs are kept."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.simulator.workloads.cron_jobs import CronJobs
from kubectl_eksdoc.simulator.workloads.garbage import Garbage
from kubectl_eksdoc.simulator.workloads.jobs import Jobs
from tests.simulator.workloads.world import START, World, a_template, names, phase

CRON, JOBS = "cronjobs.batch", "jobs.batch"


def a_world(schedule: str = "*/5 * * * *", **spec: Any) -> World:
    world = World(lambda registry, index: [CronJobs(registry, index), Jobs(registry, index), Garbage(registry, index)])
    job = {"spec": {"template": a_template("report", restartPolicy="Never")}}
    meta = {"name": "report"}
    made = {"schedule": schedule, "jobTemplate": job, **spec}
    world.create(CRON, {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": meta, "spec": made})
    world.run()
    return world


def status(world: World) -> Doc:
    return world.get(CRON, "report").doc.get("status", {})


def finish(world: World, how: str = "Succeeded") -> None:
    for pod in world.active():
        world.report(world.place(pod, "n1") if phase(pod) == "Pending" else pod, phase=how, ready=False)
    world.run()


def test_a_job_is_made_when_it_is_due_and_not_before() -> None:
    world = a_world()
    world.run(299)
    assert world.all(JOBS) == []
    world.run(1)
    (job,) = world.all(JOBS)
    assert job.key[1] == f"report-{int((START + timedelta(minutes=5)).timestamp()) // 60}"
    assert job.doc["metadata"]["annotations"] == {
        "batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-11-20T09:00:00Z"
    }
    assert status(world)["lastScheduleTime"] == "2026-11-20T09:00:00Z"
    assert [each["name"] for each in status(world)["active"]] == [job.key[1]]
    finish(world)
    assert "active" not in status(world) and status(world)["lastSuccessfulTime"] == "2026-11-20T09:00:00Z"


@pytest.mark.parametrize(("policy", "jobs"), [("Allow", 3), ("Forbid", 1), ("Replace", 1)])
def test_what_still_runs_when_the_next_is_due(policy: str, jobs: int) -> None:
    world = a_world(concurrencyPolicy=policy)
    world.run(300)
    (first,) = names(world.all(JOBS))
    world.run(600)
    assert len(world.all(JOBS)) == jobs
    assert (first in names(world.all(JOBS))) == (policy != "Replace")


def test_a_forbidden_one_is_made_up_for_when_the_other_has_ended() -> None:
    world = a_world(concurrencyPolicy="Forbid")
    world.run(600)
    assert len(world.all(JOBS)) == 1
    finish(world)
    assert len(world.all(JOBS)) == 2 and status(world)["lastScheduleTime"] == "2026-11-20T09:05:00Z"


def test_one_that_is_too_late_is_left_out() -> None:
    world = a_world(concurrencyPolicy="Forbid", startingDeadlineSeconds=60)
    world.run(300)
    world.run(400)
    finish(world)
    assert len(world.all(JOBS)) == 1


def test_the_oldest_ended_ones_go() -> None:
    world = a_world(successfulJobsHistoryLimit=2, failedJobsHistoryLimit=0)
    for how in ("Succeeded", "Succeeded", "Succeeded"):
        world.run(300)
        finish(world, how)
    assert len(world.all(JOBS)) == 2


def test_a_suspended_one_makes_nothing() -> None:
    world = a_world(suspend=True)
    world.run(3600)
    assert world.all(JOBS) == []
