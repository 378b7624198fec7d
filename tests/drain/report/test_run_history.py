"""The report of past runs compares predicted with actual values."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import jsonschema

import kubectl_eksdoc.report.schemas as schemas
from kubectl_eksdoc.drain.report.status import PastRun, StatusReport, StatusResult
from kubectl_eksdoc.drain.run.journal import replay_journals, stop_times_in
from kubectl_eksdoc.model.journal import (
    DONE,
    DelayCause,
    JournalEntries,
    NoteEntry,
    NoteKind,
    RunStarted,
    RunSummary,
    TimingEntry,
)
from kubectl_eksdoc.objects.journal_lines import entry_lines, read_journal
from kubectl_eksdoc.report.text import Appearance
from tests.yaml_reader import printed

AT = datetime(2026, 11, 20, 9, 0, tzinfo=timezone.utc)

BEGUN = RunStarted(
    0, AT, "r2", "d1", "0.1.0", "ann", "laptop", "ann@laptop/1/r2", p50_s=78.0, p95_s=103.0, bound_s=30.0
)
STOPPED = NoteEntry(1, AT, NoteKind.STOPPED, "shop/ReplicaSet/web-5f7c9d", "2.0 2.1")
TIMED = TimingEntry(
    2, AT, 38.0, 78.0, 103.0, 30.0, ((DelayCause.STOPPING, -32.0), (DelayCause.BUDGETS, -8.0), (DelayCause.HOLDS, 0.0))
)
ENDED = NoteEntry(3, AT, NoteKind.ENDED, why=DONE)

OLD = RunStarted(0, AT, "r1", "d1", "0.1.0", "ann", "laptop", "ann@laptop/1/r1")
"""Of a version that predicted nothing in its journal."""


def past(*entries: RunStarted | NoteEntry | TimingEntry) -> PastRun:
    """A past run as it is read again from its text."""
    read = read_journal(entry_lines(entries).encode(), "a test")
    assert not read.dropped
    begun = entries[0]
    assert isinstance(begun, RunStarted)
    return PastRun(RunSummary(begun.run, AT, "ended", begun.leader, AT, DONE), replay_journals(read))


HISTORY = past(BEGUN, STOPPED, TIMED, ENDED), past(OLD, NoteEntry(1, AT, NoteKind.ENDED, why=DONE))
VIEW = StatusReport("kube-system", AT, (), None, history=HISTORY)


def test_each_run_stands_beside_what_was_predicted() -> None:
    assert (
        VIEW.render("table", Appearance(width=120))
        == """\
  RUN  BOUND    P50    P95  TOOK  ERROR  OUTCOME  THE DIFFERENCE
  r2     30s  1m18s  1m43s   38s   -51%  done     stopping -32s, budgets -8s
  r1       -      -      -     -      -  done     its journal has no prediction

1 run with a prediction: 1 within p95, median error 51% of p50.
"""
    )


def test_the_document_is_as_its_schema_says() -> None:
    doc: Any = printed(StatusResult.of(VIEW))
    jsonschema.Draft202012Validator(schemas.load_schema("DrainRunStatus")).validate(doc)
    first, second = doc["history"]
    assert (first["p50"], first["took"], first["error"]) == (78.0, 38.0, -40.0)
    assert (second["p50"], second["took"], second["causes"]) == (None, None, [])


def test_without_it_the_document_has_none() -> None:
    doc: Any = printed(StatusResult.of(StatusReport("kube-system", AT, (), None)))
    jsonschema.Draft202012Validator(schemas.load_schema("DrainRunStatus")).validate(doc)
    assert doc["history"] is None


def test_stop_times_are_read_again_and_a_resumed_part_is_told() -> None:
    assert list(stop_times_in(JournalEntries((BEGUN, STOPPED)))) == [(STOPPED.subject, 2.0), (STOPPED.subject, 2.1)]
    resumed = past(
        BEGUN, STOPPED, NoteEntry(2, AT, NoteKind.ADOPTED, "eve@desk/1/r2"), TimingEntry(3, AT, 9.0, 10.0, 20.0)
    )
    assert resumed.journaled.stops == ((STOPPED.subject, 2.0), (STOPPED.subject, 2.1))
    view = StatusReport("kube-system", AT, (), None, history=(resumed,))
    assert "its last part alone: it was resumed" in view.render("table", Appearance(width=120))
