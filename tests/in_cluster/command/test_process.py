"""The Job's container as a process in the cluster: it drains, is killed, ended or aborted, and is started again with
the same arguments; its rights are those of the objects, and other machines can follow it."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.handler import SimulatedApiServer, serving
from kubectl_eksdoc.model.api_objects import Doc
from tests.drain.command.served import EVICTED, Machine, aged, cordoned, machine
from tests.in_cluster.command.pods import Cluster, Container, job_of, serving_tls
from tests.kube.live_backend.test_complete_drain import Evictions

pytestmark = pytest.mark.long


@dataclass
class Stage:
    """`ann`: the machine of a user who created the objects; each start is the next pod of the Job."""

    cluster: Cluster
    inside: SimulatedApiServer
    ann: Machine
    docs: Sequence[Doc]
    folder: Path
    seen: Evictions
    started: int = 0

    @property
    def run(self) -> str:
        return str(job_of(self.docs)["metadata"]["labels"]["app.kubernetes.io/instance"])

    def start(self) -> Container:
        self.started += 1
        return Container(self.docs, self.inside, self.folder / "account", self.folder / f"pod-{self.started}")

    def evicting(self) -> Container:
        """A pod that has begun to evict; another one is started if the cluster did not answer at first, as a Job
        does."""
        pod = self.start()
        pod.until(lambda: EVICTED in pod.out or pod.process.poll() == 3)
        return self.evicting() if pod.process.poll() == 3 else pod

    def status(self) -> Doc:
        ran = self.ann.run("drain", "status", self.run, "-o", "json")
        assert ran.code == 0, ran.err
        found: Doc = json.loads(ran.out)["run"]
        return found


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    cluster = Cluster(speed=4.0)
    seen = cluster.api.run_locked(Evictions)
    with serving(cluster.api) as outside, serving_tls(cluster.api, tmp_path / "account") as inside:
        ann = machine(outside, tmp_path / "ann")
        words = ("--in-cluster", "--apply", "--yes", "--expect-nodes", "1", "-o", "json")
        ran = ann.run("drain", "run", "--nodegroup", "blue", *words)
        assert ran.code == 0, ran.err
        docs = json.loads(ran.out)["items"]
        cluster.grant(docs)
        yield Stage(cluster, inside, ann, docs, tmp_path, seen)
    assert list(cluster.api.internal_errors) == [] and list(inside.errors) == []


def check_whole(stage: Stage) -> None:
    assert len(stage.seen.of) == 16 and max(stage.seen.of.values()) == 1 and stage.seen.overdrawn == []


def test_killed_in_the_middle_it_resumes_and_finishes(stage: Stage) -> None:
    first = stage.evicting()
    assert stage.status()["phase"] == "running"
    first.process.kill()
    assert first.ended() == -signal.SIGKILL
    aged(stage.cluster.api)
    second = stage.start()
    assert second.ended() == 0, second.out + second.err
    assert f"run {stage.run} exists already: it is resumed" in second.err
    assert "context in-cluster" in first.err and "--context in-cluster" not in first.out + second.out + second.err
    check_whole(stage)
    status = stage.status()
    assert status["ended"] == "done" and status["leader"].startswith("eksdoc@")
    third = stage.start()
    assert third.ended() == 0 and "has ended already: done" in third.err
    check_whole(stage)


def test_told_to_end_it_says_so_and_the_next_pod_goes_on_with_another_token(stage: Stage) -> None:
    first = stage.evicting()
    stage.cluster.rotate(stage.folder / "account")
    evicted = first.out.count(EVICTED)
    first.until(lambda: first.out.count(EVICTED) > evicted)
    first.process.send_signal(signal.SIGTERM)
    assert first.ended() == 130, first.out + first.err
    assert "its process was terminated" in first.out
    second = stage.start()
    assert second.ended() == 0, second.out + second.err
    check_whole(stage)


def test_aborted_from_elsewhere_it_stays_so(stage: Stage) -> None:
    first = stage.evicting()
    assert stage.ann.run("drain", "abort", stage.run).code == 0
    assert first.ended() == 6, first.out + first.err
    before = dict(stage.seen.of)
    second = stage.start()
    assert second.ended() == 6 and "it does not continue automatically" in second.err
    assert stage.seen.of == before
    assert stage.ann.run("drain", "rollback", stage.run, "--yes", "--expect-nodes", "1").code == 0
    third = stage.start()
    assert third.ended() == 6 and "rolled back" in third.err, third.err


def test_what_was_asked_while_nobody_led_it_holds(stage: Stage) -> None:
    first = stage.evicting()
    first.process.kill()
    first.ended()
    aged(stage.cluster.api)
    stage.ann.run("drain", "pause", stage.run)  # which no process receives now; it stays in the journal
    before = dict(stage.seen.of)
    second = stage.start()
    second.until(lambda: stage.status()["phase"] == "paused")
    assert stage.seen.of == before
    stage.ann.run("drain", "resume", stage.run)
    assert second.ended() == 0, second.out + second.err
    check_whole(stage)


def test_drifted_from_its_plan_it_does_nothing(stage: Stage) -> None:
    ran = stage.ann.run("drain", "run", "old-1", "--yes", "--expect-nodes", "1", "--ignore-daemonsets")
    assert ran.code in (0, 1), ran.err
    before = cordoned(stage.cluster.api)
    pod = stage.start()
    assert pod.ended() == 7, pod.out + pod.err
    assert "Nothing was done" in pod.err and cordoned(stage.cluster.api) == before
