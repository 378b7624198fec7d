"""Events, run statuses and the drains of other clients are valid by their published schemas."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

import kubectl_eksdoc.report.schemas as schemas
from kubectl_eksdoc.drain.report.events import event_result
from kubectl_eksdoc.drain.report.status import (
    OtherDrainsReport,
    PastRun,
    RunWithoutJournal,
    StatusReport,
    StatusResult,
)
from kubectl_eksdoc.drain.run.events import DrainEvent, DrainEventKind
from kubectl_eksdoc.drain.run.journal import JournalState, replay_journals
from kubectl_eksdoc.drain.run.other_drains import ForeignDrainedNode, RemainingPod
from kubectl_eksdoc.model.journal import (
    DelayCause,
    IntentEntry,
    JournaledNode,
    JournalEntries,
    LockState,
    NoteEntry,
    NoteKind,
    RunStarted,
    RunSummary,
    TimingEntry,
    Verb,
)
from kubectl_eksdoc.model.nodes import RunNote
from tests.broken_documents import accepted
from tests.builders import NOW
from tests.yaml_reader import printed

AIMS = (JournaledNode("old-0", "u0", 1), JournaledNode("old-1", "u1"))
BEGUN = RunStarted(0, NOW, "r1", "d1", "0.1.0", "ann", "laptop", "ann@laptop/1/r1", AIMS, (), (), 78.0, 103.0, 30.0)
TIMED = TimingEntry(5, NOW, 38.0004, 78.0, 103.0, 30.0, ((DelayCause.STOPPING, -32.0), (DelayCause.BUDGETS, -8.0)))
ENTRIES = (
    BEGUN,
    IntentEntry(1, NOW, Verb.CORDON, "Node", "old-0", "u0"),
    IntentEntry(2, NOW, Verb.EVICT, "Pod", "web-1", "p1", "shop", "old-0"),
    NoteEntry(3, NOW, NoteKind.LEFT_ALONE, "old-1", "a budget"),
    TIMED,
    NoteEntry(6, NOW, NoteKind.ENDED, why="stopped"),
)
JOURNALED = replay_journals(JournalEntries(ENTRIES))
RUN = RunSummary("r1", NOW, "ended", "ann@laptop/1/r1", NOW, "stopped")
UNREAD = RunSummary("r0", None, "of a newer version", "", None)
STATUS = StatusReport(
    "kube-system",
    NOW,
    (RUN, UNREAD),
    LockState("ann@laptop/1/r1"),
    RUN,
    JOURNALED,
    (RunWithoutJournal("r2", ("old-5",), "ops", True, "kubectl eksdoc drain rollback r2"),),
    ("whether another process leads a run is not known",),
    (PastRun(RUN, JOURNALED), PastRun(UNREAD, JournalState())),
)
PODS = (
    RemainingPod("shop/web-1", True, "shop/web", "it is stopping"),
    RemainingPod("shop/web-2", False, "", "nothing keeps it"),
)
NODES = (
    ForeignDrainedNode("old-0", "run r1 of eksdoc", PODS, 12.3456, RunNote("r1", "kube-system")),
    ForeignDrainedNode("old-1", "another client", (), None, RunNote("r0")),
    ForeignDrainedNode("old-2", "another client", (), 0.0),
)


def shown(note: RunNote) -> str:
    return f"kubectl eksdoc drain status {note.run} -w"


DOCUMENTS: dict[str, Any] = {
    "event": printed(event_result(DrainEvent(2.5, DrainEventKind.EVICTED, "shop/web-1", "old-0", "why"), "r1", NOW)),
    "status": printed(StatusResult.of(STATUS)),
    "watch": printed(OtherDrainsReport(NODES, NOW, shown).result()),
}


def judge(document: Any) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schemas.load_schema(document["kind"]))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_its_schema_refuses_what_is_broken(name: str) -> None:
    document = DOCUMENTS[name]
    assert accepted(judge(document), document) == set()


@pytest.mark.parametrize("what", DrainEventKind)
def test_every_event_is_valid(what: DrainEventKind) -> None:
    document = printed(event_result(DrainEvent(-0.0, what, "old-0"), "r1", NOW))
    judge(document).validate(document)
    assert (document["seconds"], document["node"], document["why"]) == (0.0, None, None)


def test_nobody_leads_where_the_lock_is_free_over_or_unread() -> None:
    for held in (None, LockState(), LockState("ann@laptop/1/r1", expired=True)):
        document = printed(StatusResult.of(StatusReport("kube-system", NOW, (), held)))
        judge(document).validate(document)
        assert document["holder"] is None and document["run"] is None


def test_a_run_in_full_has_the_fields_of_its_line_in_the_list_first() -> None:
    document = DOCUMENTS["status"]
    line, full = document["runs"][0], document["run"]
    assert list(full)[: len(line)] == list(line) and {key: full[key] for key in line} == line
    assert [(node["state"], node["wave"], node["inDoubt"]) for node in full["nodes"]] == [
        ("draining", 1, 1),
        ("left-alone", None, 0),
    ]
    assert full["dropped"] == ["entry 4 is missing"] and full["ended"] == "stopped" and not full["led"]


def test_what_a_journal_does_not_say_is_null() -> None:
    past = DOCUMENTS["status"]["history"][1]
    unknown = ("begunAt", "outcome", "p50", "p95", "lowerBound", "took", "error")
    assert {key: past[key] for key in unknown} == dict.fromkeys(unknown) and past["causes"] == []


def test_a_watched_node_names_its_run() -> None:
    first, second, third = DOCUMENTS["watch"]["nodes"]
    assert (first["leftSeconds"], second["leftSeconds"], third["leftSeconds"]) == (12.346, None, 0.0)
    assert second["run"] == {"run": "r0", "journalNamespace": None, "command": shown(RunNote("r0"))}
    assert third["run"] is None and first["pods"][1]["budget"] is None
