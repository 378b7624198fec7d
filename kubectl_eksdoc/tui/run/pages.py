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
from kubectl_eksdoc.drain.report.record import placed, skipped_targets
from kubectl_eksdoc.drain.run.history import NodeState
from kubectl_eksdoc.model.journal import RunSummary
from kubectl_eksdoc.report.text import Cell, Column, Tone, age, between, counted, sentences, shown

from ..keymap import look_of
from ..line_table import LineTable
from ..model import INSPECTS, can_inspect
from ..panel import Answered, FramedLineView, Prose, ask
from ..tables.pods import Cells, Line, Sheet, of_rows, text_sheet
from . import tables as sheets
from .state import RunState, ScreenStage

if TYPE_CHECKING:
    from ..base_app import FramedApp

# [5] The runs of this cluster, if none is active here: resume, roll back, or watch.


Chosen = tuple[RunKind | None, str]
"""The action for a run, and its id; None: dismiss its badge."""

NONE = "There is no run to resume or to roll back. r begins one."
_ABOUT: list[Line] = [
    ("o   resume the run under the cursor: the remaining nodes are planned again, shown and confirmed"),
    "R   give back what it changed of nodes: shown, and you type for it",
    "C   copy the command that watches it",
    "x   dismiss: the head of these screens does not name it any more",
    ("Enter does nothing here. esc closes this.", Tone.FAINT),
]


RUNS_S = 5.0
"""Poll interval of the journals while the list is open: a run may end, or its process may be killed."""


class RunsScreen(ModalScreen[Chosen | None]):
    """Dismissed with the action and the run. Mutable: the runs found."""

    BINDINGS = [
        ("o", "choose('GO_ON')"),
        ("R", "choose('GIVE_BACK')"),
        ("C", "command"),
        ("x", "choose('')"),
        ("escape,q", "dismiss"),
    ]

    def __init__(self, desk: ScreenRunController, now: Callable[[], datetime], reached_by: Sequence[str]) -> None:
        """`connection_args`: the flags for the same cluster on a command line."""
        super().__init__()
        self._desk = desk
        self._reached_by = reached_by
        self._now = now

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield LineTable(id="runs")
            yield Prose(id="choices")

    def on_mount(self) -> None:
        look = look_of(self)
        self.query_one("#dialog").border_title = shown("Runs of this cluster", look)
        table = self.query_one(LineTable)
        table.show(text_sheet(("reading the journals of runs…",)))
        table.focus()
        self.query_one(Prose).show(_ABOUT)
        self._read()
        self.set_interval(RUNS_S, self._read)

    def _read(self) -> None:
        ask(self, "runs", lambda: sheet(self._desk.runs(), self._now()))

    @on(Answered)
    def _answered(self, event: Answered) -> None:
        found = event.answer if isinstance(event.answer, Sheet) else None
        self.query_one(LineTable).show(found or text_sheet(("The runs of this cluster cannot be read.",)))
        about = _ABOUT if found is not None and found.keys else _ABOUT[-1:]
        self.query_one(Prose).show(list(event.lines) or about)

    def action_command(self) -> None:
        run = self.query_one(LineTable).key
        if run is not None:
            command = shlex.join(["kubectl", "eksdoc", "drain", "status", run, "--watch", *self._reached_by])
            self.app.copy_to_clipboard(command)
            self.notify(f"copied: {command}", timeout=8, markup=False)

    def action_choose(self, kind: str) -> None:
        run = self.query_one(LineTable).key
        if run is not None:
            self.dismiss((RunKind[kind] if kind else None, run))


def sheet(runs: Sequence[RunSummary], now: datetime) -> Sheet:
    """The latest run first."""
    columns = (
        Column("RUN", middle=True, floor=20),
        Column("BEGUN", right=True, drop=2),
        Column("PHASE"),
        Column("UPDATED", right=True),
        Column("LEADER", drop=1, middle=True),
        Column("SAID", floor=20),
    )
    return of_rows(columns, [(run.run, _cells(run, now)) for run in runs], NONE, fill=5)


def _cells(run: RunSummary, now: datetime) -> Cells:
    begun = f"{age(between(run.begun, now))} ago" if run.begun is not None else "?"
    phase = Cell(run.phase, Tone.WARN if run.unfinished else Tone.GOOD)
    updated = f"{age(between(run.updated, now))} ago" if run.updated is not None else "?"
    return [run.run, begun, phase, updated, run.leader.split("/")[0] or "none", run.said]


# [a] The menu to stop an active run: Enter has no effect.


class StopChoice(Enum):
    PAUSE = "pause"
    FINISH_WAVE = "finish wave"
    STOP = "stop"
    GIVE_BACK = "give back"
    LEAVE = "leave"
    LEAVE_ALONE = "leave alone"  # one node


_LOOK_S = 0.5

ALONE_S = 0.4
"""A key of this menu must be isolated by this time before and after it, and after the first paint of the menu: text
typed for another window is faster."""
_NOT_ALONE = "nothing was done: other keys were pressed with this one, or the menu was not shown yet; press it again"

_GOES_ON = "The run continues. What next?"
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
        self.call_after_refresh(self._is_shown)
        self.set_interval(_LOOK_S, self._show)

    def _show(self) -> None:
        look = look_of(self)
        title = f"Leave {self._node} alone?" if self._node else _TITLES.get(self._state.stage, _GOES_ON)
        self.query_one("#dialog").border_title = shown("It is over." if self._state.over else title, look)
        self.query_one(Prose).show(about_node(self._state, self._node) if self._node else lines(self._state))

    def action_choose(self, name: str) -> None:
        choice = StopChoice[name]
        if (choice is StopChoice.LEAVE_ALONE) is not bool(self._node) and not self._state.over:
            return  # a key of the other menu
        if choice is StopChoice.FINISH_WAVE and not _has_waves(self._state):
            return
        if choice is StopChoice.PAUSE or self._state.over:
            self.dismiss(None if self._state.over else choice)
        else:
            self._choose_alone(choice)

    def _is_shown(self) -> None:
        self._shown_s = get_time()

    def _choose_alone(self, choice: StopChoice) -> None:
        app = cast("FramedApp", self.app)
        pressed = app.last_key

        def choose() -> None:
            if app.last_key != pressed:
                self._refuse()
            elif self.is_current:
                self.dismiss(None if self._state.over else choice)

        if min(pressed.after_s, pressed.at_s - self._shown_s) < ALONE_S:
            self._refuse()
        else:
            self.set_timer(ALONE_S, choose)

    def _refuse(self) -> None:
        self.notify(_NOT_ALONE, timeout=6)


def lines(state: RunState) -> list[Line]:
    """What is unfinished now, and the effect of each key."""
    if state.over:
        return ["The run is over meanwhile.", "", "esc closes this."]
    half = events.stop_in_full(state.standing) if state.standing is not None else "Nothing was done yet."
    begun = sum(node.state is not NodeState.QUEUED for node in state.chronicle.nodes.values())
    begun += len(state.standing.cordoned_only) if state.standing is not None else 0
    pause = "go on" if state.is_paused else "pause: nothing more is asked for until space"
    held: list[Line] = (
        [(sentences(f"Held: {sheets.held(state)}"), Tone.WARN)] if state.stage is ScreenStage.HELD else []
    )
    return [
        *held,
        half,
        "",
        f"space   {pause}",
        *(["w       finish the wave that is under way, then stop"] if _has_waves(state) else []),
        "s       stop: ask for nothing more, wait until what leaves has gone; nodes stay cordoned",
        f"R       stop, and give back {counted(begun, 'node')} that this run has cordoned (you type for it)",
        ("X       leave at once: requests in flight complete unobserved", Tone.WARN),
        "",
        "A run that was stopped can be resumed later, from any machine: drain resume.",
        ("Enter does nothing here. esc closes this, and the run stays as it is.", Tone.FAINT),
    ]


def about_node(state: RunState, node: str) -> list[Line]:
    """The effect for one node."""
    if state.over:
        return ["The run is over meanwhile.", "", "esc closes this."]
    course = state.chronicle.nodes[node]
    left = len(course.pods) - course.gone
    return [
        f"{counted(left, 'pod')} of it {'is' if left == 1 else 'are'} left.",
        "",
        "y       leave it alone: nothing more is asked for on it, it stays cordoned, and the others go on",
        "",
        ("Evictions in flight complete. The run is then incomplete: drain resume continues with the node."),
        ("Enter does nothing here. esc closes this.", Tone.FAINT),
    ]


def _has_waves(state: RunState) -> bool:
    return len({node.wave for node in state.chronicle.nodes.values()}) > 1


# The result of a run in a few lines: compared with its plan, what is not evicted, and next steps.


def summary(state: RunState) -> list[Line]:
    outcome = state.outcome
    if outcome is None:
        return _so_far(state)
    sign, tone = outcome.sign
    lines: list[Line] = [(f"{sign} {outcome.said}", tone), *outcome.more]
    nodes = state.chronicle.nodes.values()
    drained = [node.node for node in nodes if node.state in (NodeState.DONE, NodeState.EMPTY)]
    if drained and outcome.view is not None:
        lines += ["", f"{counted(len(drained), 'node')} cordoned and empty; eksdoc does not delete nodes"]
    kept = sum(node.state in (NodeState.CORDONED, NodeState.EVICTING, NodeState.ALONE) for node in nodes)
    if kept and outcome.view is not None:
        lines += ["", f"{counted(kept, 'node')} cordoned and not empty: {'it stays' if kept == 1 else 'they stay'} so"]
    if outcome.view is not None:
        record = outcome.view.record
        lines += [line for text in (placed(record), skipped_targets(record)) if text for line in ("", text)]
        for step in outcome.view.steps:
            lines += ["", f"{step.text}:", (f"    {step.command}", Tone.GOOD)]
    return lines


def in_markdown(state: RunState, cluster: str, command: str) -> str:
    """For a run that ended without a report: its message and the state of its nodes. `command` prints more."""
    assert state.outcome is not None, "it is over"
    lines = [f"# Run {state.live.run} on {cluster}", "", f"{state.outcome.sign[0]} {state.outcome.said}", ""]
    lines += [f"- {line}" for line in (*state.outcome.more, state.pods_gone)]
    for node in state.chronicle.nodes.values():
        lines.append(f"- {node.node}: {node.state.value}{f': {node.why}' if node.why else ''}")
    return "\n".join([*lines, "", "```sh", command, "```", ""])


def _so_far(state: RunState) -> list[Line]:
    if not state.drains:
        return ["Each node becomes what it was before the run; pods do not move back."]
    chronicle = state.chronicle
    ended = sum(node.ended_s is not None for node in chronicle.nodes.values())
    lines: list[Line] = [
        f"{ended} of {counted(len(chronicle.nodes), 'node')} ended, {state.pods_gone}, "
        f"{counted(chronicle.refusals, 'refusal')}"
    ]
    if state.standing is not None:
        lines.append(events.stop_in_full(state.standing))
    return lines


class RunPage(Vertical):
    """Its tables show the state, and details follow the cursor."""

    def show(self, state: RunState) -> None:
        raise NotImplementedError

    @property
    def table(self) -> LineTable:
        """The table that has the focus when the page is opened."""
        return self.query(LineTable).first()

    def said(self, text: str) -> str:
        """`text` for the frame of a part: without markup."""
        return sheets.plain(text, look_of(self))


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
            for each in self.query(f"#{name}"):  # none while it is being closed
                assert isinstance(each, FramedLineView), name
                each.entitle(self.said(title))

    def show(self, state: RunState) -> None:
        self.set_class(state.over, "-over")
        self.set_class(not state.drains, "-giving-back")
        if not state.drains:
            self.table.show(sheets.GIVING_BACK)
            told = self.query_one("#run-why", Prose)
            told.entitle(self.said("Summary" if state.over else "what is given back"))
            told.show(summary(state))
            return
        self.table.show(sheets.nodes(state))
        self.beside(state)
        budgets = self.query_one("#run-budgets", LineTable)
        budgets.show(sheets.budgets(state))
        if not budgets.has_focus:
            budgets.to_start()
        tail = self.query_one("#run-tail", LineTable)
        # Only the visible number of entries: the table never scrolls, and only differences between moving lines are
        # drawn.
        tail.show(sheets.log(state.chronicle.moments, state.live.began_at, last=tail.room))
        if not tail.has_focus:
            tail.to_end()

    def opens_node(self) -> None:
        """Show the pods of the node; on a narrow terminal, in place of the nodes."""
        self.add_class("-beside")
        self.query_one("#run-pods", LineTable).focus()

    def closes_node(self) -> bool:
        """Returns whether a node was open."""
        if not self.has_class("-beside"):
            return False
        self.remove_class("-beside")
        self.table.focus()
        return True

    def beside(self, state: RunState) -> None:
        """Update the details of the row under the cursor."""
        node = self.table.key
        pods = self.query_one("#run-pods", LineTable)
        pods.entitle(self.said(node or "Pods"))
        pods.show(sheets.pods(state, node))
        pods.subtitle(self.said(INSPECTS if pods.key and can_inspect(self.app) else ""))
        if not pods.has_focus:
            pods.to_start()  # pods that need attention come first, and change
        why = self.query_one("#run-why", Prose)
        why.entitle(self.said("Summary" if state.over else "why it waits"))
        why.show(summary(state) if state.over else sheets.why(state, node, pods.key))


class LogPage(RunPage):
    """Mutable: the filter of the log, and whether it follows new entries."""

    follows = True
    only_wrong = False
    wanted = ""

    def compose(self) -> ComposeResult:
        yield LineTable(id="run-log", classes="framed")
        yield Prose(id="run-summary")

    def on_mount(self) -> None:
        self.query_one("#run-summary", FramedLineView).entitle(self.said("Summary"))

    def show(self, state: RunState) -> None:
        table = self.table
        table.entitle(self.said("[6] Log"))
        shows = [*(["only what went wrong"] if self.only_wrong else []), *([f"/{self.wanted}"] if self.wanted else [])]
        table.subtitle(self.said(", ".join([*shows, "following" if self.follows else "f follows"])))
        table.show(sheets.log(state.chronicle.moments, state.live.began_at, self.only_wrong, self.wanted))
        if self.follows:
            table.to_end()
        self.query_one("#run-summary", Prose).show(summary(state))
