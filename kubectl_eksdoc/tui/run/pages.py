"""[5] The page of a run, and [6] its log with the result."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Sequence
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, cast

from textual import on
from textual._time import get_time
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen

from kubectl_eksdoc.drain.command.screen_ports import RunKind, ScreenRunController
from kubectl_eksdoc.drain.report import events
from kubectl_eksdoc.drain.report.record import placements_text, skipped_targets_text
from kubectl_eksdoc.drain.run.history import NodeState
from kubectl_eksdoc.model.journal import RunSummary
from kubectl_eksdoc.report.text import (
    Cell,
    Column,
    Tone,
    format_age,
    join_sentences,
    pluralize,
    printable,
    time_between,
)

from ..keymap import appearance_of
from ..line_table import LineTable
from ..model import INSPECT_KEYS, can_inspect
from ..panel import Answered, FramedLineView, Prose, run_in_thread
from ..tables.pods import Cells, Line, Sheet, sheet_of_rows, text_sheet
from . import tables as sheets
from .state import RunState, ScreenStage

if TYPE_CHECKING:
    from ..base_app import FramedApp

# [5] The runs of this cluster, if none is active here: resume, roll back, or watch.


RunChoice = tuple[RunKind | None, str]
"""The action for a run, and its id; None: dismiss its badge."""

NO_RUNS_TEXT = "There is no run to resume or to roll back. r begins one."
_KEYS_HELP: list[Line] = [
    ("o   resume the run under the cursor: the remaining nodes are planned again, shown and confirmed"),
    "R   give back what it changed of nodes: shown, and you type for it",
    "C   copy the command that watches it",
    "x   dismiss: the head of these screens does not name it any more",
    ("Enter does nothing here. esc closes this.", Tone.FAINT),
]


RUNS_POLL_S = 5.0
"""Poll interval of the journals while the list is open: a run may end, or its process may be killed."""


class RunsScreen(ModalScreen[RunChoice | None]):
    """Dismissed with the action and the run. Mutable: the runs found."""

    BINDINGS = [
        ("o", "choose('RESUME')"),
        ("R", "choose('ROLLBACK')"),
        ("C", "command"),
        ("x", "choose('')"),
        ("escape,q", "dismiss"),
    ]

    def __init__(
        self, run_controller: ScreenRunController, now: Callable[[], datetime], connection_args: Sequence[str]
    ) -> None:
        """`connection_args`: the flags for the same cluster on a command line."""
        super().__init__()
        self._run_controller = run_controller
        self._connection_args = connection_args
        self._now = now

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield LineTable(id="runs")
            yield Prose(id="choices")

    def on_mount(self) -> None:
        appearance = appearance_of(self)
        self.query_one("#dialog").border_title = printable("Runs of this cluster", appearance)
        table = self.query_one(LineTable)
        table.show(text_sheet(("reading the journals of runs…",)))
        table.focus()
        self.query_one(Prose).show(_KEYS_HELP)
        self._read_runs()
        self.set_interval(RUNS_POLL_S, self._read_runs)

    def _read_runs(self) -> None:
        run_in_thread(self, "runs", lambda: runs_sheet(self._run_controller.runs(), self._now()))

    @on(Answered)
    def _answered(self, event: Answered) -> None:
        runs_found = event.answer if isinstance(event.answer, Sheet) else None
        self.query_one(LineTable).show(runs_found or text_sheet(("The runs of this cluster cannot be read.",)))
        help_lines = _KEYS_HELP if runs_found is not None and runs_found.keys else _KEYS_HELP[-1:]
        self.query_one(Prose).show(list(event.lines) or help_lines)

    def action_command(self) -> None:
        run = self.query_one(LineTable).key
        if run is not None:
            command = shlex.join(["kubectl", "eksdoc", "drain", "status", run, "--watch", *self._connection_args])
            self.app.copy_to_clipboard(command)
            self.notify(f"copied: {command}", timeout=8, markup=False)

    def action_choose(self, kind: str) -> None:
        run = self.query_one(LineTable).key
        if run is not None:
            self.dismiss((RunKind[kind] if kind else None, run))


def runs_sheet(runs: Sequence[RunSummary], now: datetime) -> Sheet:
    """The latest run first."""
    columns = (
        Column("RUN", cut_middle=True, min_width=20),
        Column("BEGUN", align_right=True, drop_order=2),
        Column("PHASE"),
        Column("UPDATED", align_right=True),
        Column("LEADER", drop_order=1, cut_middle=True),
        Column("SAID", min_width=20),
    )
    return sheet_of_rows(columns, [(run.run, _run_cells(run, now)) for run in runs], NO_RUNS_TEXT, fill_column=5)


def _run_cells(run: RunSummary, now: datetime) -> Cells:
    started_text = f"{format_age(time_between(run.begun, now))} ago" if run.begun is not None else "?"
    phase = Cell(run.phase, Tone.WARN if run.unfinished else Tone.GOOD)
    updated_text = f"{format_age(time_between(run.updated, now))} ago" if run.updated is not None else "?"
    return [run.run, started_text, phase, updated_text, run.leader.split("/")[0] or "none", run.said]


# [a] The menu to stop an active run: Enter has no effect.


class StopChoice(Enum):
    PAUSE = "pause"
    FINISH_WAVE = "finish wave"
    STOP = "stop"
    GIVE_BACK = "give back"
    LEAVE = "leave"
    LEAVE_ALONE = "leave alone"  # one node


_POLL_S = 0.5

KEY_ISOLATION_S = 0.4
"""A key of this menu must be isolated by this time before and after it, and after the first paint of the menu: text
typed for another window is faster."""
_KEY_NOT_ISOLATED = (
    "nothing was done: other keys were pressed with this one, or the menu was not shown yet; press it again"
)

_RUNNING_TITLE = "The run continues. What next?"
_TITLES = {
    ScreenStage.PAUSED: "Paused: what next?",
    ScreenStage.PAUSING: "It is about to pause. What next?",
    ScreenStage.HELD: "The run is held. What next?",
    ScreenStage.STOPPING: "It is stopping already. What next?",
    ScreenStage.FINISHING: "It stops after its wave. What next?",
}


class StopScreen(ModalScreen[StopChoice | None]):
    BINDINGS = [
        ("space", "choose('PAUSE')"),
        ("w", "choose('FINISH_WAVE')"),
        ("s", "choose('STOP')"),
        ("y", "choose('LEAVE_ALONE')"),
        ("R", "choose('GIVE_BACK')"),
        ("X", "choose('LEAVE')"),
        ("escape,q", "dismiss"),
    ]

    def __init__(self, state: RunState, node: str = "") -> None:
        """`node`: ask whether to leave this node alone; "" asks about the run."""
        super().__init__()
        self._state = state
        self._node = node
        self._shown_s = math.inf

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Prose(id="choices")

    def on_mount(self) -> None:
        self.query_one(Prose).focus()
        self._show()
        self.call_after_refresh(self._record_shown)
        self.set_interval(_POLL_S, self._show)

    def _show(self) -> None:
        appearance = appearance_of(self)
        title = f"Leave {self._node} alone?" if self._node else _TITLES.get(self._state.stage, _RUNNING_TITLE)
        self.query_one("#dialog").border_title = printable("It is over." if self._state.is_over else title, appearance)
        self.query_one(Prose).show(leave_node_lines(self._state, self._node) if self._node else stop_lines(self._state))

    def action_choose(self, name: str) -> None:
        choice = StopChoice[name]
        if (choice is StopChoice.LEAVE_ALONE) is not bool(self._node) and not self._state.is_over:
            return  # a key of the other menu
        if choice is StopChoice.FINISH_WAVE and not _has_waves(self._state):
            return
        if choice is StopChoice.PAUSE or self._state.is_over:
            self.dismiss(None if self._state.is_over else choice)
        else:
            self._choose_isolated(choice)

    def _record_shown(self) -> None:
        self._shown_s = get_time()

    def _choose_isolated(self, choice: StopChoice) -> None:
        app = cast("FramedApp", self.app)
        pressed = app.last_key

        def choose() -> None:
            if app.last_key != pressed:
                self._refuse()
            elif self.is_current:
                self.dismiss(None if self._state.is_over else choice)

        if min(pressed.after_s, pressed.at_s - self._shown_s) < KEY_ISOLATION_S:
            self._refuse()
        else:
            self.set_timer(KEY_ISOLATION_S, choose)

    def _refuse(self) -> None:
        self.notify(_KEY_NOT_ISOLATED, timeout=6)


def stop_lines(state: RunState) -> list[Line]:
    """What is unfinished now, and the effect of each key."""
    if state.is_over:
        return ["The run is over meanwhile.", "", "esc closes this."]
    stop_effect = (
        events.unfinished_with_names(state.progress) if state.progress is not None else "Nothing was done yet."
    )
    cordoned_count = sum(node.state is not NodeState.QUEUED for node in state.history.nodes.values())
    cordoned_count += len(state.progress.cordoned_only) if state.progress is not None else 0
    pause_text = "go on" if state.is_paused else "pause: nothing more is asked for until space"
    hold_lines: list[Line] = (
        [(join_sentences(f"Held: {sheets.hold_reason(state)}"), Tone.WARN)] if state.stage is ScreenStage.HELD else []
    )
    return [
        *hold_lines,
        stop_effect,
        "",
        f"space   {pause_text}",
        *(["w       finish the wave that is under way, then stop"] if _has_waves(state) else []),
        "s       stop: ask for nothing more, wait until what leaves has gone; nodes stay cordoned",
        f"R       stop, and give back {pluralize(cordoned_count, 'node')} that this run has cordoned (you type for it)",
        ("X       leave at once: requests in flight complete unobserved", Tone.WARN),
        "",
        "A run that was stopped can be resumed later, from any machine: drain resume.",
        ("Enter does nothing here. esc closes this, and the run stays as it is.", Tone.FAINT),
    ]


def leave_node_lines(state: RunState, node: str) -> list[Line]:
    """The effect for one node."""
    if state.is_over:
        return ["The run is over meanwhile.", "", "esc closes this."]
    node_course = state.history.nodes[node]
    remaining_count = len(node_course.pods) - node_course.gone
    return [
        f"{pluralize(remaining_count, 'pod')} of it {'is' if remaining_count == 1 else 'are'} left.",
        "",
        "y       leave it alone: nothing more is asked for on it, it stays cordoned, and the others go on",
        "",
        ("Evictions in flight complete. The run is then incomplete: drain resume continues with the node."),
        ("Enter does nothing here. esc closes this.", Tone.FAINT),
    ]


def _has_waves(state: RunState) -> bool:
    return len({node.wave for node in state.history.nodes.values()}) > 1


# The result of a run in a few lines: compared with its plan, what is not evicted, and next steps.


def summary_lines(state: RunState) -> list[Line]:
    outcome = state.outcome
    if outcome is None:
        return _progress_lines(state)
    symbol, tone = outcome.symbol
    lines: list[Line] = [(f"{symbol} {outcome.summary}", tone), *outcome.details]
    nodes = state.history.nodes.values()
    drained = [node.node for node in nodes if node.state in (NodeState.DONE, NodeState.EMPTY)]
    if drained and outcome.report is not None:
        lines += ["", f"{pluralize(len(drained), 'node')} cordoned and empty; eksdoc does not delete nodes"]
    cordoned_count = sum(node.state in (NodeState.CORDONED, NodeState.EVICTING, NodeState.LEFT_ALONE) for node in nodes)
    if cordoned_count and outcome.report is not None:
        lines += [
            "",
            f"{pluralize(cordoned_count, 'node')} cordoned and not empty: "
            f"{'it stays' if cordoned_count == 1 else 'they stay'} so",
        ]
    if outcome.report is not None:
        record = outcome.report.drain
        lines += [
            line for text in (placements_text(record), skipped_targets_text(record)) if text for line in ("", text)
        ]
        for step in outcome.report.next_steps:
            lines += ["", f"{step.text}:", (f"    {step.command}", Tone.GOOD)]
    return lines


def markdown_summary(state: RunState, cluster: str, command: str) -> str:
    """For a run that ended without a report: its message and the state of its nodes. `command` prints more."""
    assert state.outcome is not None, "it is over"
    lines = [f"# Run {state.live.run} on {cluster}", "", f"{state.outcome.symbol[0]} {state.outcome.summary}", ""]
    lines += [f"- {line}" for line in (*state.outcome.details, state.pods_gone_text)]
    for node in state.history.nodes.values():
        lines.append(f"- {node.node}: {node.state.value}{f': {node.reason}' if node.reason else ''}")
    return "\n".join([*lines, "", "```sh", command, "```", ""])


def _progress_lines(state: RunState) -> list[Line]:
    if not state.is_drain:
        return ["Each node becomes what it was before the run; pods do not move back."]
    history = state.history
    ended_count = sum(node.ended_s is not None for node in history.nodes.values())
    lines: list[Line] = [
        f"{ended_count} of {pluralize(len(history.nodes), 'node')} ended, {state.pods_gone_text}, "
        f"{pluralize(history.refusals, 'refusal')}"
    ]
    if state.progress is not None:
        lines.append(events.unfinished_with_names(state.progress))
    return lines


class RunPage(Vertical):
    """Its tables show the state, and details follow the cursor."""

    def show(self, state: RunState) -> None:
        raise NotImplementedError

    @property
    def table(self) -> LineTable:
        """The table that has the focus when the page is opened."""
        return self.query(LineTable).first()

    def frame_text(self, text: str) -> str:
        """`text` for the frame of a part: without markup."""
        return sheets.markup_text(text, appearance_of(self))


class LivePage(RunPage):
    def compose(self) -> ComposeResult:
        with Horizontal(id="run-top"):
            yield LineTable(id="run-nodes", classes="framed")
            with Vertical(id="run-beside"):
                yield LineTable(id="run-pods", classes="framed")
                yield Prose(id="run-why")
        with Horizontal(id="run-below"):
            yield LineTable(id="run-budgets", classes="framed")
            yield LineTable(id="run-tail", classes="framed")

    def on_mount(self) -> None:
        for name, title in (
            ("run-nodes", "[5] Nodes"),
            ("run-pods", "Pods"),
            ("run-why", "why it waits"),
            ("run-budgets", "PDBs in use now"),
            ("run-tail", "[6] Log"),
        ):
            for framed_view in self.query(f"#{name}"):  # none while it is being closed
                assert isinstance(framed_view, FramedLineView), name
                framed_view.set_title(self.frame_text(title))

    def show(self, state: RunState) -> None:
        self.set_class(state.is_over, "-over")
        self.set_class(not state.is_drain, "-giving-back")
        if not state.is_drain:
            self.table.show(sheets.ROLLBACK_SHEET)
            summary_view = self.query_one("#run-why", Prose)
            summary_view.set_title(self.frame_text("Summary" if state.is_over else "what is given back"))
            summary_view.show(summary_lines(state))
            return
        self.table.show(sheets.nodes_sheet(state))
        self.show_cursor_details(state)
        budgets_table = self.query_one("#run-budgets", LineTable)
        budgets_table.show(sheets.budgets_sheet(state))
        if not budgets_table.has_focus:
            budgets_table.to_start()
        log_table = self.query_one("#run-tail", LineTable)
        # Only the visible number of entries: the table never scrolls, and only differences between moving lines are
        # drawn.
        log_table.show(
            sheets.log_sheet(state.history.events, state.live.started_at, max_entries=log_table.visible_rows)
        )
        if not log_table.has_focus:
            log_table.to_end()

    def open_node(self) -> None:
        """Show the pods of the node; on a narrow terminal, in place of the nodes."""
        self.add_class("-beside")
        self.query_one("#run-pods", LineTable).focus()

    def close_node(self) -> bool:
        """Returns whether a node was open."""
        if not self.has_class("-beside"):
            return False
        self.remove_class("-beside")
        self.table.focus()
        return True

    def show_cursor_details(self, state: RunState) -> None:
        """Update the details of the row under the cursor."""
        node = self.table.key
        pods_table = self.query_one("#run-pods", LineTable)
        pods_table.set_title(self.frame_text(node or "Pods"))
        pods_table.show(sheets.pods_sheet(state, node))
        pods_table.set_subtitle(self.frame_text(INSPECT_KEYS if pods_table.key and can_inspect(self.app) else ""))
        if not pods_table.has_focus:
            pods_table.to_start()  # pods that need attention come first, and change
        wait_view = self.query_one("#run-why", Prose)
        wait_view.set_title(self.frame_text("Summary" if state.is_over else "why it waits"))
        wait_view.show(summary_lines(state) if state.is_over else sheets.wait_lines(state, node, pods_table.key))


class LogPage(RunPage):
    """Mutable: the filter of the log, and whether it follows new entries."""

    is_following = True
    only_failures = False
    search_text = ""

    def compose(self) -> ComposeResult:
        yield LineTable(id="run-log", classes="framed")
        yield Prose(id="run-summary")

    def on_mount(self) -> None:
        self.query_one("#run-summary", FramedLineView).set_title(self.frame_text("Summary"))

    def show(self, state: RunState) -> None:
        table = self.table
        table.set_title(self.frame_text("[6] Log"))
        filter_texts = [
            *(["only what went wrong"] if self.only_failures else []),
            *([f"/{self.search_text}"] if self.search_text else []),
        ]
        table.set_subtitle(
            self.frame_text(", ".join([*filter_texts, "following" if self.is_following else "f follows"]))
        )
        table.show(sheets.log_sheet(state.history.events, state.live.started_at, self.only_failures, self.search_text))
        if self.is_following:
            table.to_end()
        self.query_one("#run-summary", Prose).show(summary_lines(state))
