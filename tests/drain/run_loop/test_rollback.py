"""A run that was killed at any moment is rolled back by another process: no change remains, nor on skipped targets."""

from __future__ import annotations

from datetime import datetime

import pytest

from kubectl_eksdoc.drain.run.journal import JournalState, JournalWriter, replay_journals
from kubectl_eksdoc.drain.run.runner import MAX_ATTEMPTS, RollbackResult, RunEnvironment, roll_back
from kubectl_eksdoc.embedded.stage import SimulatedStage
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse
from kubectl_eksdoc.kubernetes.updates import RequestAnswered, RunUpdate
from kubectl_eksdoc.model.actions import ClusterAction, Cordon, Evict, NodeChange, Release, Restore
from kubectl_eksdoc.model.api_objects import Doc, with_value
from kubectl_eksdoc.model.journal import IntentOutcome, NoteKind, ResultEntry, Verb
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from tests.drain.fields import KeptJournal, Killed, OwnLock, StageClock, StageField
from tests.drain.run_loop.test_draining import (
    ACTS,
    WRITINGS,
    Heard,
    go_on,
    run,
    state,
    three_nodes,
)
from tests.drain.stages import made, with_group
from tests.simulator.control_planes import a_node_doc, a_pod_doc, doc_of


class AdoptedJournal(KeptJournal):
    """A journal that another process can continue."""

    def adopt(self, run: str, at: datetime) -> JournalState:
        self.entries.append(JournalWriter(replay_journals(self.read()).next_number).note(NoteKind.ADOPTED, at, "there"))
        return replay_journals(self.read())


def rolled_back(stage: SimulatedStage, journal: AdoptedJournal, field: StageField | None = None) -> RollbackResult:
    made = field or StageField(stage, journal)
    running = RunEnvironment(made, journal, OwnLock(), StageClock(stage), Heard().listen)  # type: ignore[arg-type]
    return roll_back("r1", running, stage)


def check(result: RollbackResult, stage: SimulatedStage, before: dict[str, object], after: dict[str, object]) -> None:
    same = ("cordoned", "protected", "without load balancers")
    assert not result.not_restored and {key: after[key] for key in same} == {key: before[key] for key in same}


@pytest.mark.parametrize(
    ("point", "kept"),
    [
        pytest.param(point, kept, marks=() if kept is bool(point % 2) else pytest.mark.long)
        for point in range(1, WRITINGS + 1)
        for kept in (True, False)
    ],
)
def test_killed_at_every_writing(point: int, kept: bool) -> None:
    plane, stage = made(*three_nodes())
    before, journal = state(plane), AdoptedJournal(point, kept=kept)
    with pytest.raises(Killed):
        run(stage, Heard(), journal)
    check(rolled_back(stage, journal), stage, before, state(plane))


@pytest.mark.parametrize("point", range(1, ACTS + 1))
def test_killed_after_every_act(point: int) -> None:
    plane, stage = made(*three_nodes())
    before, journal = state(plane), AdoptedJournal()
    with pytest.raises(Killed):
        run(stage, Heard(), journal, dies_at=point)
    check(rolled_back(stage, journal), stage, before, state(plane))
    stands = replay_journals(journal.read())
    assert not stands.cordoned and not stands.protected and stands.ended == "rolled back"


def test_what_is_rolled_back_is_told() -> None:
    _, stage = made(*three_nodes())
    journal = AdoptedJournal()
    with pytest.raises(Killed):
        run(stage, Heard(), journal, dies_at=8)
    assert rolled_back(stage, journal) == RollbackResult(("old-0", "old-1", "old-2"), ("new-0", "new-1", "new-2"), {})
    assert rolled_back(stage, journal) == RollbackResult(), "once is enough"


class Refusing(StageField):
    """Gives this answer to every release and changes nothing."""

    def __init__(self, stage: SimulatedStage, journal: KeptJournal, answer: ApiStatus | LostResponse) -> None:
        super().__init__(stage, journal)
        self._answer = answer
        self.asked: list[NodeChange] = []

    def do(self, act: ClusterAction) -> None:
        if isinstance(act, (Restore, Release)):
            self.asked.append(act)
        if isinstance(act, Release):
            self._answers.append(self._refused(act))
        else:
            super().do(act)

    def _refused(self, act: Release) -> RunUpdate:
        return RequestAnswered(act, self._answer)


@pytest.mark.parametrize(
    ("answer", "times", "left"),
    [
        (ApiStatus(403, message="no"), 1, True),
        (LostResponse("reset"), MAX_ATTEMPTS, True),
        (ApiStatus(404), 1, False),
        (ApiStatus(409, message="Precondition failed: UID in the precondition: a, UID in object meta: b"), 1, False),
    ],
)
def test_what_cannot_be_released_is_told_and_the_rest_is_given_back(
    answer: ApiStatus | LostResponse, times: int, left: bool
) -> None:
    plane, stage = made(*three_nodes())
    journal = AdoptedJournal()
    with pytest.raises(Killed):
        run(stage, Heard(), journal, dies_at=8)
    field = Refusing(stage, journal, answer)
    result = rolled_back(stage, journal, field)
    assert result.restored == ("old-0", "old-1", "old-2") and not any(state(plane)["cordoned"].values())  # type: ignore[attr-defined]
    assert set(result.not_restored) == ({"new-0", "new-1", "new-2"} if left else set())
    assert len([act for act in field.asked if isinstance(act, Release)]) == 3 * times
    assert bool(replay_journals(journal.read()).protected) is left
    results = [each.outcome for each in journal.entries if isinstance(each, ResultEntry)][-times:]
    assert results[-1] in ((IntentOutcome.REFUSED, IntentOutcome.UNKNOWN) if left else (IntentOutcome.GONE,))


def test_it_can_be_gone_on_with_after_it_was_rolled_back() -> None:
    plane, stage = made(*three_nodes())
    journal = AdoptedJournal()
    with pytest.raises(Killed):
        run(stage, Heard(), journal, dies_at=8)
    rolled_back(stage, journal)
    ended, _ = go_on(stage, Heard(), journal)
    assert ended.is_complete and state(plane)["protected"] == []


WRITES = 4
"""By then all cordons were asked for."""


def one_more() -> list[Doc]:
    """old-3 is the emptiest node and has a pod without a controller."""
    bare = with_value(a_pod_doc("bare", "old-3", cpu="100m"), ("metadata", "labels"), {"app": "bare"})
    return [*three_nodes(), with_group(a_node_doc("old-3", cpu="64")), bare]


def is_cordoned(plane: ControlPlane, node: str = "old-3") -> bool:
    return bool(doc_of(plane, "nodes", node)["spec"].get("unschedulable"))


def on(plane: ControlPlane, node: str = "old-3") -> list[str]:
    return [item.key[1] for item in plane.store.list("pods") if item.doc["spec"].get("nodeName") == node]


def test_it_is_cordoned_before_the_first_eviction_and_no_pod_comes_to_it() -> None:
    plane, stage = made(*one_more())
    journal = AdoptedJournal()
    ended, field = run(stage, Heard(), journal)
    assert ended.is_complete and is_cordoned(plane) and on(plane) == ["bare"]
    cordoned = [at for at, act in enumerate(field.done) if isinstance(act, Cordon)]
    assert len(cordoned) == 4 and max(cordoned) < min(at for at, act in enumerate(field.done) if isinstance(act, Evict))
    stands = replay_journals(journal.read())
    assert [each.node for each in stands.cordoned] == ["old-0", "old-1", "old-2", "old-3"]
    assert stands.started is not None and [aim.node for aim in stands.started.skipped] == ["old-3"]
    assert ended.record.cordoned_only == ("old-3",) and ended.record.on_targets == 0
    assert set(ended.record.placed or ()) <= {"new-0", "new-1", "new-2"}
    assert [change.intent.name for change in stands.changes if change.intent.verb is Verb.CORDON][-1] == "old-3"
    assert "old-3" in rolled_back(stage, journal).restored and not is_cordoned(plane)


@pytest.mark.parametrize("point", range(1, WRITES + 1))
@pytest.mark.parametrize("kept", [True, False])
def test_killed_early_it_is_cordoned_by_whoever_goes_on(point: int, kept: bool) -> None:
    plane, stage = made(*one_more())
    journal = AdoptedJournal(point, kept=kept)
    with pytest.raises(Killed):
        run(stage, Heard(), journal)
    ended, _ = go_on(stage, Heard(), journal)
    assert ended.is_complete and is_cordoned(plane) and on(plane) == ["bare"]


@pytest.mark.parametrize("point", range(1, 6))
def test_killed_early_it_is_given_back(point: int) -> None:
    plane, stage = made(*one_more())
    before, journal = state(plane), AdoptedJournal()
    with pytest.raises(Killed):
        run(stage, Heard(), journal, dies_at=point)
    check(rolled_back(stage, journal), stage, before, state(plane))
    assert not is_cordoned(plane)
