"""Eviction methods on a stage: a rollout replaces one pod, a Job ends, one pod is deleted."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.read import plan_drain
from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.events import DrainEvent, DrainEventKind
from kubectl_eksdoc.drain.run.journal import JournalWriter, replay_journals
from kubectl_eksdoc.drain.run.loop import DrainRunEnd, DrainRunLoop
from kubectl_eksdoc.drain.run.other_drains import Replanner
from kubectl_eksdoc.drain.run.pod_evictions import ObservedState
from kubectl_eksdoc.drain.run.runner import resumed_engine
from kubectl_eksdoc.embedded.stage import SimulatedStage
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.actions import Delete
from kubectl_eksdoc.model.api_objects import nested_field, with_value
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.journal import IntentEntry, IntentOutcome, ResultEntry, Verb
from kubectl_eksdoc.rehearse.rehearsal import rehearse
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from kubectl_eksdoc.simulator.store import StoreChange, StoreChangeKind
from tests.drain.fields import KeptJournal, Killed, StageField, a_drain, begun_journal
from tests.drain.singles import a_job, nodes, single
from tests.drain.stages import BLUE, made, web
from tests.simulator.control_planes import Steady, a_budget_doc

SURGES = DrainPolicy(surge_singles=True)
WAITS = DrainPolicy(wait_jobs=1800)


def ready_pods(plane: ControlPlane, app: str = "web") -> list[int]:
    """Record the number of pods of `app` that are Ready and not in deletion, after every change from now on."""
    seen: list[int] = []

    def note(change: StoreChange) -> None:
        if change.item.resource != "pods":
            return
        there = [
            item for item in plane.store.list("pods") if nested_field(item.doc, "metadata", "labels").get("app") == app
        ]
        gone = change.item.uid if change.change_kind is StoreChangeKind.DELETED else ""
        conditions = [
            (each["type"], each["status"])
            for item in there
            if not item.deleting and item.uid != gone
            for each in nested_field(item.doc, "status", "conditions") or ()
        ]
        seen.append(conditions.count(("Ready", "True")))

    plane.store.listen(note)
    return seen


def subjects(moments: tuple[DrainEvent, ...] | list[DrainEvent], what: DrainEventKind) -> list[str]:
    return [moment.subject for moment in moments if moment.what is what]


def test_a_single_replica_moves_and_its_budget_holds_all_the_time() -> None:
    plane, stage = made(*nodes(), *single())
    ready = ready_pods(plane)
    _, rehearsal = rehearse(stage, BLUE, SURGES)
    assert subjects(rehearsal.moments, DrainEventKind.RESTARTED) == ["default/web-5f7-0"]
    assert subjects(rehearsal.moments, DrainEventKind.DONE) == ["old-0"]
    assert not subjects(rehearsal.moments, DrainEventKind.EVICTED) and not rehearsal.refusals and not rehearsal.undone
    assert min(ready) >= 1, "there is always one that serves"
    (item,) = [each for each in plane.store.list("pods") if not each.deleting]
    assert item.doc["spec"]["nodeName"].startswith("new-")
    assert rehearsal.late_s is not None and abs(rehearsal.late_s) <= 5


class Run:
    """One run on a stage, with the pods' times from `pace`."""

    def __init__(self, stage: SimulatedStage, policy: DrainPolicy, pace: Steady, dies_at: int = -1) -> None:
        self.stage = stage
        self.policy = policy
        self.journal = KeptJournal()
        self.moments: list[DrainEvent] = []
        self.waits: dict[str, str] = {}  # the last word on each pod
        cluster, self.plan = plan_drain(stage, BLUE, policy)
        stage.start(pace)
        self.field = StageField(stage, self.journal, dies_at)
        scribe = begun_journal(self.journal, self.plan)
        self._draining = self._made(Engine(self.plan, ObservedState(cluster)), scribe, cluster)

    def to_the_end(self) -> DrainRunEnd:
        return self._draining.run()

    def go_on(self) -> DrainRunEnd:
        """Another process resumes the run."""
        journaled = replay_journals(self.journal.read())
        cluster = self.stage.read(kinds.ALL)
        engine = resumed_engine(cluster, journaled, self.policy)
        self.stage.updates()
        self.field = StageField(self.stage, self.journal)
        return self._made(engine, JournalWriter(journaled.next_number), cluster).run()

    def _made(self, engine: Engine, scribe: JournalWriter, cluster: Cluster) -> DrainRunLoop:
        shown = lambda stands: self.waits.update((each.pod, each.reason) for each in stands.waiting_pods)  # noqa: E731
        again = Replanner(engine, cluster)
        return a_drain(engine, self.field, self.moments.extend, scribe, show=shown, replanning=again)

    def intents(self, verb: Verb) -> list[IntentEntry]:
        return [e for e in self.journal.entries if isinstance(e, IntentEntry) and e.verb is verb]

    def results(self) -> list[IntentOutcome]:
        return [e.outcome for e in self.journal.entries if isinstance(e, ResultEntry)]


@pytest.mark.parametrize("dies_at", [1, 2])
def test_a_run_that_dies_around_a_restart_is_gone_on_with_and_restarts_once(dies_at: int) -> None:
    plane, stage = made(*nodes(), *single())
    ready = ready_pods(plane)
    run = Run(stage, SURGES, Steady(), dies_at=dies_at)
    with pytest.raises(Killed):
        run.to_the_end()
    assert run.go_on().is_complete
    assert min(ready) >= 1
    made_sets = [item.key[1] for item in plane.store.list("replicasets.apps")]
    assert len(made_sets) == 2, "the one that was there, and one new one"


def test_a_new_pod_that_is_never_ready_keeps_the_old_one() -> None:
    plane, stage = made(*nodes(), *single(progressDeadlineSeconds=60))
    run = Run(stage, SURGES, Steady(start=float("inf")))
    ended = run.to_the_end()
    (kept,) = [moment for moment in run.moments if moment.what is DrainEventKind.KEPT]
    assert kept.at_s <= 60 + 30 + 10 and "no new pod is Ready after 1m30s" in kept.why
    assert dict(ended.not_drained) == {"old-0": ("default/web-5f7-0",)}
    assert plane.store.get("pods", ("default", "web-5f7-0")) is not None


def test_a_job_that_finishes_is_waited_for() -> None:
    plane, stage = made(*nodes(), *a_job())
    run = Run(stage, WAITS, Steady(run=600.0))
    assert run.to_the_end().is_complete
    (finished,) = [moment for moment in run.moments if moment.what is DrainEventKind.FINISHED]
    assert 600 <= finished.at_s <= 610 and finished.subject == "default/etl-x"
    assert not run.intents(Verb.EVICT)
    pod = plane.store.get("pods", ("default", "etl-x"))
    assert pod is not None and pod.doc["status"]["phase"] == "Succeeded"


def test_a_job_that_does_not_finish_is_evicted_then() -> None:
    _, stage = made(*nodes(), *a_job())
    run = Run(stage, WAITS, Steady(run=9000.0))
    assert run.to_the_end().is_complete
    (evicted,) = [moment for moment in run.moments if moment.what is DrainEventKind.EVICTED]
    assert 1800 <= evicted.at_s <= 1810
    assert run.plan.estimate is not None
    done = next(moment.at_s for moment in run.moments if moment.what is DrainEventKind.DONE)
    assert abs(done - run.plan.estimate.p50_s) <= 15


def test_a_job_that_would_fail_is_never_evicted() -> None:
    plane, stage = made(*nodes(), *a_job(backoffLimit=0))
    run = Run(stage, WAITS, Steady(run=9000.0))
    ended = run.to_the_end()
    assert dict(ended.not_drained) == {"old-0": ("default/etl-x",)}
    assert not run.intents(Verb.EVICT)
    (kept,) = [moment for moment in run.moments if moment.what is DrainEventKind.KEPT]
    assert 1800 <= kept.at_s <= 1810 and "would fail" in kept.why
    assert plane.store.get("pods", ("default", "etl-x")) is not None
    _, stage = made(*nodes(), *a_job(backoffLimit=0))
    assert Run(stage, WAITS, Steady(run=600.0)).to_the_end().is_complete


NAMED = DrainPolicy(delete_past_budget=frozenset({"default/web-0"}))


def never() -> list[Any]:
    """A ReplicaSet's pod on a node to drain and another on another node, under a budget that never allows an
    eviction."""
    moved = [
        with_value(doc, ("spec", "nodeName"), "new-0") if doc["metadata"]["name"] == "web-1" else doc
        for doc in web(2, 1)
    ]
    return [*moved, *nodes(old=0, new=2), a_budget_doc(allowed=0, healthy=2)]


def test_only_the_named_pod_is_deleted_past_its_budget() -> None:
    plane, stage = made(*never())
    run = Run(stage, NAMED, Steady())
    assert [eviction.pod.key for eviction in run.plan.past_budgets] == ["default/web-0"]
    assert run.to_the_end().is_complete
    (intent,) = run.intents(Verb.DELETE)
    assert (intent.kind, intent.name, intent.uid, intent.grace_s) == ("Pod", "web-0", "uid-web-0", None)
    deletions = [act for act in run.field.done if isinstance(act, Delete)]
    assert [act.pod.uid for act in deletions] == ["uid-web-0"]
    assert not run.intents(Verb.EVICT)
    assert subjects(run.moments, DrainEventKind.DELETED) == ["default/web-0"]
    assert plane.store.get("pods", ("default", "web-1")) is not None


@pytest.mark.parametrize("dies_at", [1, 2])
def test_a_run_that_dies_around_a_deletion_is_gone_on_with(dies_at: int) -> None:
    _, stage = made(*never())
    run = Run(stage, NAMED, Steady(), dies_at=dies_at)
    with pytest.raises(Killed):
        run.to_the_end()
    assert run.go_on().is_complete
    assert {intent.uid for intent in run.intents(Verb.DELETE)} == {"uid-web-0"}
