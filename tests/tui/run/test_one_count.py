"""Times and counts of a run are the same in its result, on its HTML page and in its status."""

from __future__ import annotations

import re
from dataclasses import replace

from kubectl_eksdoc.drain.report.run import plan_differences
from kubectl_eksdoc.drain.report.run_page import figures, page
from kubectl_eksdoc.drain.run.events import DrainEvent, DrainEventKind
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.report.text import Appearance
from kubectl_eksdoc.tui.run import tables as sheets
from kubectl_eksdoc.tui.run.state import RunState
from tests.drain.report.test_run_results import STATUS
from tests.rehearsed import rehearsed_demo
from tests.tui.replay.shown import EVENTS, JOURNAL, recording_of
from tests.tui.run.scripted import NAME, ScriptedLive, outcome_of

WAITED_S = 14.0


def over() -> RunState:
    """A drain that waited for replacements after its nodes were done, and of which two requests were refused."""
    drain = rehearsed_demo(2)
    record = drain.record
    last = max(moment.at_s for moment in record.moments if moment.what is DrainEventKind.DONE)
    pods = [moment for moment in record.moments if moment.what is DrainEventKind.EVICTED][:2]
    refused = tuple(each._replace(what=DrainEventKind.REFUSED, why="busy") for each in pods)
    cordon = DrainEvent(0.0, DrainEventKind.REFUSED, "blue-1", why="conflict")  # no eviction
    moments = (cordon, *refused, *record.moments)
    drain = replace(drain, record=replace(record, moments=moments, ended_s=last + WAITED_S, drained_s=last))
    live = ScriptedLive(drain)
    live.to(last + WAITED_S)
    live.ends(outcome_of(drain))
    state = RunState(live)
    state.apply(live.take_update()._replace(events=moments))
    return state


def test_a_run_took_the_same_time_in_its_head_its_result_and_its_page() -> None:
    state = over()
    view = state.outcome.report if state.outcome is not None else None
    assert view is not None
    took = format_duration(view.drain.drain_result.drain_s)
    assert took != format_duration(view.drain.ended_s)
    head = next(part.text for part in sheets.identity_texts(state, NAME) if "DONE" in part.text)
    assert head == f"DONE {took}"
    assert f" in {took}, their replacements Ready 14s later" in state.outcome.summary  # type: ignore[union-attr]
    assert f"5 of 5 nodes drained in {took}, 14s more until its end; " in next(figures(state.recording))


def test_requests_are_counted_once_and_a_cordon_is_none() -> None:
    state = over()
    view = state.outcome.report if state.outcome is not None else None
    assert view is not None
    counts = f"2 of {view.drain.evictions + 2} eviction requests refused"
    assert any(text.startswith(counts) for text in plan_differences(view))
    assert counts in next(figures(state.recording))


def test_who_began_it_is_told_and_what_lasted_no_second_was_no_wait() -> None:
    text = page(over().recording, Appearance())
    assert "by ann@laptop" in text and "by ?" not in text
    waits = re.search(r"What it waited for.*?(<table.*?</table>|Nothing that was written down)", text, re.DOTALL)
    assert waits is not None and "<td>0s</td>" not in waits[1]
    assert "by ann@vm" in page(recording_of(EVENTS), Appearance())


def test_the_last_part_of_a_resumed_run_tells_its_own_counts_as_those_of_the_part() -> None:
    told = list(figures(recording_of(EVENTS)))
    assert told[0] == "1 of 5 nodes drained in 2m39s; 13 of 38 eviction requests refused (34.2%)"
    of_part = [text for text in told if " of 24 " in text]
    assert of_part and all(text.startswith("Its last part: ") for text in of_part)
    assert "13 of 38 eviction requests refused" in next(figures(recording_of(JOURNAL)))


def test_the_status_of_a_run_says_what_its_result_said() -> None:
    told = STATUS.render("table", Appearance(width=200))
    assert "0 of 2 nodes drained; no eviction requested" in told
    assert "it took 38s, 40s less than p50 (1m18s, -51%), within p95 (1m43s): stopping -32s, budgets -8s" in told
