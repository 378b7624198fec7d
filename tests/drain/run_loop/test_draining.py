"""A run from start to end, and a run that is killed at any moment and resumed by another process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from kubectl_eksdoc.drain.duration.generations import learned_kubelet_times
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.read import plan_drain
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.events import DrainEvent, DrainEventKind
from kubectl_eksdoc.drain.run.journal import JournalWriter, replay_journals
from kubectl_eksdoc.drain.run.loop import DrainRunEnd, RunRequest, RunRequestState
from kubectl_eksdoc.drain.run.pod_evictions import ObservedState
from kubectl_eksdoc.drain.run.runner import resumed_engine
from kubectl_eksdoc.embedded.stage import SimulatedStage
from kubectl_eksdoc.errors import LockLost
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.actions import ClusterAction, Cordon, Evict
from kubectl_eksdoc.model.api_objects import Doc, with_value
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.journal import IntentEntry, NoteEntry, NoteKind, ResultEntry, RunPhase, Verb
from kubectl_eksdoc.model.nodes import EXCLUDE_FROM_LOAD_BALANCERS, SCALE_DOWN_PROTECTIONS
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from tests.drain.fields import KeptJournal, Killed, OwnLock, StageField, a_drain, begun_journal
from tests.drain.stages import BLUE, made, web
from tests.simulator.control_planes import a_budget_doc, a_node_doc


class Checked(Engine):
    """An engine that checks: after all acts that are due now, the next act is due later."""

    def due_actions(self, now_s: float) -> list[ClusterAction]:
        found = super().due_actions(now_s)
        assert self.next_s(now_s) > now_s, "it would be asked again and again, and no time would pass"
        return found


def three_nodes() -> list[Doc]:
    """Three old nodes with one pod each under a budget that allows one eviction, behind a load balancer, and room for
    the replacements."""
    new = [a_node_doc(f"new-{i}") for i in range(3)]
    return [*web(3, 3), *new, a_budget_doc(allowed=1, healthy=3), a_service_doc()]


def a_service_doc(policy: str = "Cluster", kind: str = "LoadBalancer") -> Doc:
    spec: Doc = {"type": kind, "externalTrafficPolicy": policy, "selector": {"app": "web"}, "ports": [{"port": 80}]}
    return {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "web", "namespace": "default"}, "spec": spec}


def begun(stage: SimulatedStage) -> tuple[Cluster, DrainPlan, Engine]:
    cluster, plan = plan_drain(stage, BLUE, DrainPolicy())
    stage.start(learned_kubelet_times(cluster))
    return cluster, plan, Checked(plan, ObservedState(cluster))


class Heard:
    """The events of a run, and its requests by the number of evictions so far."""

    def __init__(self, wishes: dict[int, RunRequest] | None = None) -> None:
        self.moments: list[DrainEvent] = []
        self._wishes = wishes or {}

    def listen(self, moments: Sequence[DrainEvent]) -> None:
        self.moments += moments

    def wish(self) -> RunRequestState:
        evicted = sum(moment.what is DrainEventKind.EVICTED for moment in self.moments)
        return RunRequestState(self._wishes.get(evicted, RunRequest.RESUME))

    def subjects(self, what: DrainEventKind) -> list[str]:
        return [moment.subject for moment in self.moments if moment.what is what]


def run(stage: SimulatedStage, heard: Heard, journal: KeptJournal, dies_at: int = -1) -> tuple[DrainRunEnd, StageField]:
    """Carry out a new run to its end."""
    _, plan, engine = begun(stage)
    field = StageField(stage, journal, dies_at)
    return a_drain(engine, field, heard.listen, begun_journal(journal, plan), read_request=heard.wish).run(), field


def go_on(stage: SimulatedStage, heard: Heard, journal: KeptJournal) -> tuple[DrainRunEnd, StageField]:
    """Another process resumes the run from its journal."""
    journaled = replay_journals(journal.read())
    engine = resumed_engine(stage.read(kinds.ALL), journaled, DrainPolicy())
    stage.updates()  # watches start from the objects that were read
    field, scribe = StageField(stage, journal), JournalWriter(journaled.next_number)
    return a_drain(engine, field, heard.listen, scribe, read_request=heard.wish).run(), field


def evicted(acts: Sequence[ClusterAction]) -> list[str]:
    return [act.pod.uid for act in acts if isinstance(act, Evict)]


def state(plane: ControlPlane) -> dict[str, object]:
    """The final state that tests compare: cordoned nodes, and how many pods are on cordoned and on other nodes."""
    nodes = {i.key[1]: bool(i.doc["spec"].get("unschedulable")) for i in plane.store.list("nodes")}
    places = Counter(
        nodes[i.doc["spec"]["nodeName"]] for i in plane.store.list("pods") if i.doc["spec"].get("nodeName")
    )
    return {
        "cordoned": nodes,
        "pods on cordoned nodes": places[True],
        "pods": places[False],
        "protected": having(plane, "annotations", *SCALE_DOWN_PROTECTIONS),
        "without load balancers": having(plane, "labels", EXCLUDE_FROM_LOAD_BALANCERS),
    }


def having(plane: ControlPlane, kind: str, *keys: str) -> list[str]:
    """The nodes with one of these labels or annotations."""
    return [i.key[1] for i in plane.store.list("nodes") if set(keys) & set(i.doc["metadata"].get(kind) or ())]


def test_a_run_is_written_down() -> None:
    plane, stage = made(*three_nodes())
    heard, journal = Heard(), KeptJournal()
    why, field = run(stage, heard, journal)
    assert why.is_complete and sorted(heard.subjects(DrainEventKind.DONE)) == ["old-0", "old-1", "old-2"]
    intents = [entry for entry in journal.entries if isinstance(entry, IntentEntry)]
    results = {entry.of for entry in journal.entries if isinstance(entry, ResultEntry)}
    verbs = Counter(entry.verb for entry in intents)
    assert verbs == dict.fromkeys((Verb.CORDON, Verb.EXCLUDE, Verb.EVICT, Verb.PROTECT, Verb.RELEASE), 3)
    assert len(field.done) == len(intents) and results == {entry.number for entry in intents}
    last = journal.entries[-1]
    assert isinstance(last, NoteEntry) and last.what is NoteKind.ENDED and last.why == "done"
    assert state(plane)["pods on cordoned nodes"] == 0


def test_a_pause_is_a_pause() -> None:
    _, stage = made(*three_nodes())

    class Impatient(Heard):
        def wish(self) -> RunRequestState:
            paused = self.subjects(DrainEventKind.EVICTED) and stage.seconds < 300
            return RunRequestState(RunRequest.PAUSE if paused else RunRequest.RESUME)

    heard, journal = Impatient(), KeptJournal()
    why, _ = run(stage, heard, journal)
    assert why.is_complete
    at = [moment.at_s for moment in heard.moments if moment.what is DrainEventKind.EVICTED]
    assert at[0] < 5 and at[1] >= 299
    noted = [entry.what for entry in journal.entries if isinstance(entry, NoteEntry)]
    assert [each for each in noted if each in (NoteKind.PAUSED, NoteKind.RESUMED)] == [
        NoteKind.PAUSED,
        NoteKind.RESUMED,
    ]
    paused = next(entry for entry in journal.entries if isinstance(entry, NoteEntry) and entry.what is NoteKind.PAUSED)
    assert paused.why == "the user paused it", "a replay says why it was held"


def test_who_stops_it_waits_for_what_is_under_way() -> None:
    plane, stage = made(*three_nodes())
    heard, journal = Heard({1: RunRequest.STOP}), KeptJournal()
    why, field = run(stage, heard, journal)
    assert why.stop_reason == "the user stopped it" and len(evicted(field.done)) == 1
    assert heard.subjects(DrainEventKind.GONE), "it has gone before the run ends"
    assert replay_journals(journal.read()).ended == "the user stopped it"
    assert RunPhase.ABORTED in [phase for phase, _ in journal.told], "others see that it is being stopped"
    again, field = go_on(stage, Heard(), journal)
    assert again.is_complete and len(evicted(field.done)) == 2 and state(plane)["pods on cordoned nodes"] == 0


def test_nothing_is_done_once_the_lock_is_lost() -> None:
    _, stage = made(*three_nodes())

    class Lost(OwnLock):
        def must_be_held(self) -> None:
            if len(field.done) >= 4:
                raise LockLost("somebody else has it")

    _, plan, engine = begun(stage)
    field = StageField(stage, KeptJournal())
    with pytest.raises(LockLost):
        a_drain(engine, field, scribe=begun_journal(field.journal, plan), lock=Lost()).run()
    assert len(field.done) == 4


def undisturbed() -> tuple[dict[str, object], int, int]:
    plane, stage = made(*three_nodes())
    journal = KeptJournal()
    _, field = run(stage, Heard(), journal)
    return state(plane), journal.writings, len(field.done)


WANTED, WRITINGS, ACTS = undisturbed()
assert WANTED["protected"] == [] and WANTED["without load balancers"] == ["old-0", "old-1", "old-2"]


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("point", range(1, WRITINGS + 1))
def test_killed_at_every_writing_and_gone_on_with(point: int, kept: bool) -> None:
    plane, stage = made(*three_nodes())
    journal = KeptJournal(point, kept=kept)
    with pytest.raises(Killed):
        run(stage, Heard(), journal)
    _come_to_the_same_end(plane, stage, journal)


@pytest.mark.parametrize("point", range(1, ACTS + 1))
def test_killed_after_every_act_and_gone_on_with(point: int) -> None:
    plane, stage = made(*three_nodes())
    journal = KeptJournal()
    with pytest.raises(Killed):
        run(stage, Heard(), journal, dies_at=point)
    _come_to_the_same_end(plane, stage, journal)


def _come_to_the_same_end(plane: ControlPlane, stage: SimulatedStage, journal: KeptJournal) -> None:
    why, field = go_on(stage, Heard(), journal)
    assert why.is_complete and state(plane) == WANTED
    assert len(evicted(field.done)) == len(set(evicted(field.done)))
    cordoned = [act.node for act in field.done if isinstance(act, Cordon)]
    assert len(cordoned) == len(set(cordoned))


def test_what_the_new_plan_does_not_drain_is_not_done() -> None:
    """Meanwhile another client changed the budget so that it never allows an eviction."""
    plane, stage = made(*three_nodes())
    journal = KeptJournal()
    run(stage, Heard({1: RunRequest.STOP}), journal)
    item = plane.registry.get("poddisruptionbudgets.policy", ("default", "web"))
    plane.registry.update(item, with_value(item.doc, ("spec",), {**item.doc["spec"], "minAvailable": 3}))
    stage.pass_time(stage.seconds + 60)
    heard = Heard()
    ended, field = go_on(stage, heard, journal)
    assert not ended.is_complete and not ended.stop_reason and not evicted(field.done)
    assert {name: list(pods) for name, pods in ended.not_drained.items()} == {
        "old-1": ["default/web-1"],
        "old-2": ["default/web-2"],
    }
    assert replay_journals(journal.read()).ended == "not emptied: old-1, old-2"
    noted = [
        each.subject for each in journal.entries if isinstance(each, NoteEntry) and each.what is NoteKind.LEFT_ALONE
    ]
    assert heard.subjects(DrainEventKind.LEFT_ALONE) == noted == ["old-1", "old-2"]
