"""The texts on the pages of a run, without screens: in every state of a run, and with any text from a cluster."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.content import Content

from kubectl_eksdoc.drain.command.screen_ports import (
    PreparedRun,
    RunKind,
    RunSummaryView,
    RunUpdate,
)
from kubectl_eksdoc.drain.run.events import DrainEvent, DrainEventKind
from kubectl_eksdoc.drain.run.history import NodeState, PodState
from kubectl_eksdoc.drain.run.loop import RunRequest
from kubectl_eksdoc.drain.run.progress import Reason, WaitingPod
from kubectl_eksdoc.drain.run.result import PendingPod
from kubectl_eksdoc.report.text import Appearance, Tone
from kubectl_eksdoc.tui.keymap import ScreenPage
from kubectl_eksdoc.tui.panel import Line
from kubectl_eksdoc.tui.run import confirm, pages
from kubectl_eksdoc.tui.run import tables as sheets
from kubectl_eksdoc.tui.run.pages import summary_lines
from kubectl_eksdoc.tui.run.screen import RUN_KEYS, run_hints, unavailable_reason
from kubectl_eksdoc.tui.run.state import RunState, ScreenStage
from kubectl_eksdoc.tui.tables.pods import Sheet, text_of_cell
from kubectl_eksdoc.tui.words import FittingText
from tests.rehearsed import rehearsed_demo
from tests.tui.run.scripted import BEGAN, NAME, RUN, ScriptedLive

ODD = ("[red]no[/] room", "[/]", "\\[red]", "[", "웹서버", "[@click=app.quit]x[/]", "a\\")
"""Texts that a cluster may hold and markup would swallow."""


def at(
    seconds: float, live: ScriptedLive | None = None, wished: RunRequest = RunRequest.RESUME, **stands: object
) -> RunState:
    """The state of a run so long after its start; `stands` are the values that differ from the script."""
    live = live or ScriptedLive(rehearsed_demo(2))
    state = RunState(live)
    live.to(seconds)
    if stands:
        live.stands(**stands)
    state.request = wished
    state.apply(live.take_update())
    return state


def happened(state: RunState, *moments: DrainEvent) -> RunState:
    state.apply(RunUpdate(moments, state.progress, state.outcome))
    return state


def said(told: list[Line]) -> str:
    return "\n".join(line if isinstance(line, str) else line[0] for line in told)


def read(pieces: tuple[FittingText, ...], gap: str = "  ") -> str:
    """The text where there is room for all of it."""
    return gap.join(piece.text for piece in pieces if piece.text)


def identity(state: RunState) -> str:
    return read(sheets.identity_texts(state, NAME))


def line(state: RunState) -> str:
    return read(sheets.progress_texts(state), " · ")


def rows(sheet: Sheet) -> dict[str, list[str]]:
    return {key: [text_of_cell(cell) for cell in sheet.cells(key)] for key in sheet.keys}


# Every situation of a run


def ended(bad: bool = False, stopped: bool = False, view: bool = True) -> RunState:
    live = ScriptedLive(rehearsed_demo(2))
    live.to(20)
    if stopped:
        live.stops()
    else:
        live.ends()
    outcome = live.outcome
    assert outcome is not None
    live.ends(replace(outcome, has_failed=bad, report=outcome.report if view else None))
    state = RunState(live)
    state.apply(live.take_update())
    return state


SITUATIONS = {
    "beginning": (lambda: RunState(ScriptedLive()), ScreenStage.BEGINNING),
    "running": (lambda: at(20), ScreenStage.RUNNING),
    "told to pause": (lambda: at(20, wished=RunRequest.PAUSE), ScreenStage.PAUSING),
    "paused here": (lambda: at(20, wished=RunRequest.PAUSE, paused=True), ScreenStage.PAUSED),
    "paused by others": (lambda: at(20, paused=True), ScreenStage.PAUSED),
    "held": (
        lambda: happened(at(20, hold_reason="no"), DrainEvent(20, DrainEventKind.HELD, "the drain", why="no")),
        ScreenStage.HELD,
    ),
    "released": (
        lambda: happened(
            at(20),
            DrainEvent(20, DrainEventKind.HELD, "the drain"),
            DrainEvent(21, DrainEventKind.RELEASED, "the drain"),
        ),
        ScreenStage.RUNNING,
    ),
    "finishing its wave": (lambda: at(20, wished=RunRequest.FINISH_WAVE), ScreenStage.FINISHING),
    "asked to stop": (lambda: at(20, wished=RunRequest.STOP), ScreenStage.STOPPING),
    "asked to leave": (lambda: at(20, wished=RunRequest.LEAVE), ScreenStage.STOPPING),
    "stopped by others": (
        lambda: happened(at(20), DrainEvent(20, DrainEventKind.STOPPED, "the drain")),
        ScreenStage.STOPPING,
    ),
    "paused, then stopped": (lambda: at(20, wished=RunRequest.STOP, paused=True), ScreenStage.STOPPING),
    "done": (ended, ScreenStage.DONE),
    "not whole": (lambda: ended(bad=True), ScreenStage.FAILED),
    "stopped": (lambda: ended(bad=True, stopped=True), ScreenStage.STOPPED),
    "failed": (lambda: ended(bad=True, view=False), ScreenStage.STOPPED),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_every_situation_has_its_word_and_says_the_same_everywhere(name: str) -> None:
    make, stage = SITUATIONS[name]
    state = make()
    assert state.stage is stage and f"  {stage.value} " in f"{identity(state)} "
    assert line(state) and sheets.notice_text(state) is not None
    assert summary_lines(state) and pages.stop_lines(state)
    assert (run_hints(state, ScreenPage.RUN)[-1].key == "esc") is state.is_over
    assert state.is_over is (stage in (ScreenStage.DONE, ScreenStage.STOPPED, ScreenStage.FAILED))
    assert ("over" in said(pages.stop_lines(state))) is state.is_over
    assert bool(sheets.stop_effect_texts(state)) is (not state.is_over and state.progress is not None)


def test_of_a_run_that_was_gone_on_with_times_are_said_to_be_of_the_rest() -> None:
    first, again = (identity(at(20, ScriptedLive(kind=kind))) for kind in (RunKind.DRAIN, RunKind.RESUME))
    assert re.search(r"RUNNING \d+s, planned about", first)
    assert re.search(r"RUNNING \d+s since resumed, the rest planned about", again)


def test_a_run_that_is_held_says_first_what_is_wrong() -> None:
    why = (
        "https://10.0.0.1/k8s through the proxy http://10.0.0.9:80 cannot be reached: the connection "
        "is refused, so the lock could not be renewed for 53 s; nothing is changed meanwhile, and it "
        "continues automatically"
    )
    state = happened(at(20, hold_reason=why), DrainEvent(20, DrainEventKind.HELD, "the drain", why=why))
    told = sheets.notice_text(state).text
    assert told.startswith("! held: the server cannot be reached: the connection is refused, so the lock")
    assert told.count("continues automatically") == 1
    assert "Held: the server cannot be reached: the connection is refused" in said(pages.stop_lines(state))


def test_what_was_paused_by_others_is_taken_up_again_by_them() -> None:
    live = ScriptedLive(rehearsed_demo(2))
    state = at(20, live, wished=RunRequest.PAUSE)
    assert state.is_paused, "as soon as it is wished"
    live.stands(paused=True)
    state.apply(live.take_update())
    live.stands(paused=False)
    state.apply(live.take_update())
    assert not state.is_paused and state.request is RunRequest.RESUME


@pytest.mark.parametrize("first", [RunRequest.STOP, RunRequest.LEAVE])
def test_what_stops_may_only_be_left_sooner(first: RunRequest) -> None:
    state = at(20, wished=first)
    assert [wish for wish in RunRequest if state.may_request(wish)] == [RunRequest.LEAVE]
    assert all(at(20, wished=RunRequest.PAUSE).may_request(wish) for wish in RunRequest)


def test_only_what_is_new_is_worth_drawing() -> None:
    live = ScriptedLive()
    state = RunState(live)
    assert not state.apply(live.take_update())
    live.to(5)
    assert state.apply(live.take_update()) and not state.apply(live.take_update())
    live.stands(paused=True)
    assert state.apply(live.take_update()) and not state.apply(live.take_update())
    live.ends()
    assert state.apply(live.take_update()) and not state.apply(live.take_update())


# Keys


NEVER = {"run-live", "run-log", "run-plan", "run-help", "run-back", "run-command"}


@pytest.mark.parametrize("name", SITUATIONS)
@pytest.mark.parametrize("page", [ScreenPage.RUN, ScreenPage.LOG])
def test_what_is_at_the_foot_can_be_pressed_and_the_rest_says_why_not(name: str, page: ScreenPage) -> None:
    state = SITUATIONS[name][0]()
    foot = {action for hint in run_hints(state, page) for action in hint.actions}
    for key in RUN_KEYS:
        reason = unavailable_reason(key, state, page)
        assert not (reason and key.id in NEVER), "looking is always possible"
        assert "\n" not in reason and not reason.endswith(".")
        if reason:
            assert f"do('{key.id}')" not in foot


def test_a_run_that_is_over_is_not_paused_stopped_or_left_alone() -> None:
    keys = {key.id: key for key in RUN_KEYS}
    for name in ("run-pause", "run-stop", "run-alone"):
        assert unavailable_reason(keys[name], ended(), ScreenPage.RUN) == "it is over"
    assert unavailable_reason(keys["run-go-on"], ended(), ScreenPage.RUN) == "it has nothing left to resume"
    assert unavailable_reason(keys["run-go-on"], ended(bad=True, stopped=True), ScreenPage.RUN) == ""
    back = RunState(ScriptedLive(kind=RunKind.ROLLBACK))
    assert unavailable_reason(keys["run-give-back"], back, ScreenPage.RUN) == "this gives nodes back already"
    assert "takes a moment" in unavailable_reason(keys["run-pause"], back, ScreenPage.RUN)


# Figures


@given(whole=st.integers(0, 300), room=st.integers(1, 60), data=st.data())
def test_a_bar_is_full_only_when_all_of_it_is(whole: int, room: int, data: st.DataObject) -> None:
    part = data.draw(st.integers(0, whole))
    drawn = sheets.progress_bar(part, whole, room)
    assert len(drawn) == room
    assert ("─" not in drawn) is (part == whole and whole > 0)
    assert (sheets.progress_bar(part + 1, whole, room) >= drawn) or part == whole or drawn.count("▇") <= room


# Tables


def test_a_node_says_what_it_waits_for_and_of_a_run_that_stands_still_no_budget() -> None:
    state = at(20)
    evicting = next(each for each in state.history.nodes.values() if each.state is NodeState.EVICTING)
    for budget, stands, word in (
        ("shop/web", {"paused": True, "hold_reason": "the user paused it"}, "! paused"),
        ("shop/web", {}, "! waiting PDB"),
        ("", {}, "! waiting"),
    ):
        waits = (WaitingPod("shop/web-1", evicting.node, "budget shop/web has no room", budget),)
        state = at(20, waiting_pods=waits, **stands)
        for pod in state.history.nodes[evicting.node].pods.values():
            pod.state = PodState.WAITING if pod.state is PodState.STOPPING else pod.state
        assert rows(sheets.nodes_sheet(state))[evicting.node][2] == word


def test_of_a_node_those_pods_come_first_that_need_a_look() -> None:
    state = at(20)
    node = next(n for n in state.history.nodes.values() if n.state is NodeState.QUEUED or not n.gone)
    one, two, three = list(node.pods)[:3]
    happened(
        state,
        DrainEvent(20, DrainEventKind.EVICTED, one, node.node),
        DrainEvent(20, DrainEventKind.KEPT, two, node.node, "forbidden"),
        DrainEvent(20, DrainEventKind.REFUSED, three, node.node, "no room"),
    )
    table = rows(sheets.pods_sheet(state, node.node))
    assert list(table)[:3] == [two, three, one]
    assert [table[pod][1] for pod in (two, three, one)] == ["✗ stays", "! refused", "» leaving"]
    assert rows(sheets.pods_sheet(state, None)) == rows(sheets.pods_sheet(state, "nowhere")) == {}
    told = sheets.wait_lines(state, node.node, two)
    assert (f"{two}: forbidden", Tone.BAD) in told
    assert sheets.wait_lines(state, None, None) == []
    assert {pod.state for pod in node.pods.values()} >= {PodState.KEPT, PodState.REFUSED, PodState.STOPPING}


def test_a_run_of_which_nothing_is_heard_does_not_look_alive() -> None:
    now, live = [100.0], ScriptedLive()
    state = RunState(live, lambda: now[0])
    live.to(20)
    state.apply(live.take_update())
    assert not state.is_silent and "nothing heard" not in sheets.notice_text(state).text
    now[0] += 23
    assert state.is_silent
    assert sheets.notice_text(state).text == "! nothing heard for 23s: all this is as it was then"


def test_a_run_that_evicts_no_pod_counts_none() -> None:
    live = ScriptedLive()
    live.planned_nodes = tuple(replace(aim, pods=()) for aim in live.planned_nodes)
    parts = [part.text for part in sheets.progress_texts(RunState(live))]
    assert "no pod to evict" in parts and not any("%" in part or "0 of 0" in part for part in parts)


def test_the_tightest_budget_comes_first_and_before_it_the_one_that_is_waited_for() -> None:
    state = at(20)
    assert state.progress is not None
    free = [row[3] for row in rows(sheets.budgets_sheet(state)).values()]
    assert free == sorted(free, key=["! 1 waiting", "· used up", "✓ room for 1"].index)
    last = list(rows(sheets.budgets_sheet(state)))[-1]
    waits = (WaitingPod("shop/web-1", "blue-2", "no room", last),)
    table = rows(sheets.budgets_sheet(at(20, waiting_pods=waits)))
    assert next(iter(table)) == last and table[last][3] == "! 1 waiting"
    assert sheets.budgets_sheet(RunState(ScriptedLive())).keys == ()


def test_the_log_keeps_the_order_and_finds_what_is_looked_for() -> None:
    moments = [
        DrainEvent(1, DrainEventKind.CORDONED, "blue-1"),
        DrainEvent(2, DrainEventKind.REFUSED, "shop/web-1", "blue-1", "no ROOM"),
        DrainEvent(90061, DrainEventKind.GONE, "shop/web-1", "blue-1"),
    ]
    assert sheets.log_sheet(moments, BEGAN).keys == ("0", "1", "2")
    assert sheets.log_sheet(moments, BEGAN, only_failures=True).keys == ("1",)
    assert sheets.log_sheet(moments, BEGAN, search_text="room").keys == ("1",)
    assert sheets.log_sheet(moments, BEGAN, search_text="cordon").keys == ("0",)
    assert sheets.log_sheet(moments, BEGAN, search_text="nowhere").empty_text == "No entry matches."
    assert sheets.log_sheet([], BEGAN).empty_text == "Nothing has happened yet."
    when, what, text = sheets.log_columns(moments[1], BEGAN)
    assert (when, what, text) == ("09:00:02", "refused", "shop/web-1 on blue-1: no ROOM")


# Texts of clusters


@pytest.mark.parametrize("odd", ODD)
def test_texts_of_the_cluster_come_out_as_they_are(odd: str) -> None:
    waits = (WaitingPod(f"shop/{odd}", "blue-2", odd, ""),)
    state = at(20, waiting_pods=waits)
    for text in (read(sheets.identity_texts(state, odd)), sheets.notice_text(state).text):
        assert odd in text
    live = ScriptedLive()
    live.ends(RunSummaryView(odd, (odd,), has_failed=True))
    over = at(20, live)
    assert line(over) == f"✗ Run {RUN}: {odd}"
    assert odd in said(summary_lines(over))


@given(st.text(st.characters(exclude_categories=("C",)), max_size=12))
def test_any_text_does(odd: str) -> None:
    text = sheets.markup_text(f"a {odd} b", Appearance())
    assert Content.from_markup(text).plain == f"a {odd} b"


@pytest.mark.parametrize("odd", ODD)
def test_and_in_tables_and_dialogs(odd: str) -> None:
    log = sheets.log_sheet([DrainEvent(1, DrainEventKind.REFUSED, f"shop/{odd}", "blue-1", odd)], BEGAN)
    assert odd in text_of_cell(log.cells("0")[2])
    prepared = PreparedRun(RunKind.ROLLBACK, odd, (odd,), (odd,), ScriptedLive, (odd,), run=odd)
    assert said(confirm.confirm_lines(prepared)).count(odd) >= 4


# Dialogs


def test_the_menu_names_what_stops_half_done() -> None:
    told = said(pages.stop_lines(at(20)))
    assert "Half empty: " in told or "would still leave" in told
    assert "w       finish the wave" in told and "go on" not in told.split("s       stop")[0]
    assert "w       " not in said(pages.stop_lines(at(20, ScriptedLive()))), "there is one wave"
    assert "space   go on" in said(pages.stop_lines(at(20, wished=RunRequest.PAUSE)))
    assert said(pages.stop_lines(RunState(ScriptedLive()))).startswith("Nothing was done yet.")


def test_a_drain_after_which_not_all_is_ready_has_one_sign_wherever_it_is_told() -> None:
    for outcome, sign in (
        (RunSummaryView("so"), "✓"),
        (RunSummaryView("so", needs_check=True), "!"),
        (RunSummaryView("so", has_failed=True, needs_check=True), "✗"),
    ):
        state = at(20)
        state.outcome = outcome
        assert line(state).startswith(sign) and said(list(summary_lines(state))).startswith(sign)


def test_why_it_waits_names_budget_pod_time_what_is_usual_and_a_command() -> None:
    reason = Reason(
        "shop/web-1 on blue-3",
        "budget shop/web allows no eviction: 3 healthy, 3 needed; replacement shop/web-9 on green-1 is not Ready",
        40.0,
        "usually Ready 25 s after the eviction",
        "kubectl describe pod web-9 -n shop",
        2,
    )
    other = Reason("shop/api-1 on blue-4", "budget shop/api allows no eviction", 5.0)
    waits = (WaitingPod("shop/web-1", "blue-3", "budget shop/web has no room", "shop/web"),)
    told = said(sheets.wait_lines(at(20, reasons=(other, reason), waiting_pods=waits), "blue-3", None))
    assert "shop/web-1 on blue-3 (+2), for 40s: budget shop/web allows no eviction: 3 healthy, 3 needed" in told
    assert "usually Ready 25 s after the eviction" in told and "kubectl describe pod web-9 -n shop" in told
    assert "shop/api" not in told, "another node's"
    over = at(20, reasons=(reason,))
    over.outcome = RunSummaryView("so")
    assert not sheets.wait_reasons(over, "blue-3", None)


def test_replacements_without_a_node_are_named() -> None:
    state = at(20, pending=(PendingPod("shop/web-new", "0/6 nodes are available"), PendingPod("shop/odd", "")))
    told = said(list(sheets.wait_lines(state, next(iter(state.history.nodes)), None)))
    assert "shop/web-new has no node yet: 0/6 nodes are available" in told and "the scheduler has not said why" in told
