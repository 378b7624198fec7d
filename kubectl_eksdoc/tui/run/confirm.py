"""[r] Confirmation of a run: what will be done, checked again, and the words to type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from kubectl_eksdoc.drain.command.screen_ports import ActiveRun, PreparedRun, RunKind
from kubectl_eksdoc.drain.report.findings import given_flags, grouped
from kubectl_eksdoc.drain.report.plan import DrainView, short_code
from kubectl_eksdoc.drain.report.verdict import cordon_summary
from kubectl_eksdoc.drain.run.events import PROBLEM_EVENTS
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.runner import DryRunResult
from kubectl_eksdoc.errors import EksdocError
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.report.text import Appearance, Tone, list_names, pluralize, printable

from ..base_app import is_too_small
from ..details import placement_summary
from ..keymap import appearance_of
from ..panel import Answered, Prose, error_lines, run_in_thread
from ..tables.pods import Line
from ..words import PRODUCTION_BADGE
from . import tables as sheets
from .state import RunState

_MAX_NAMES = 6

_TITLES = {
    RunKind.DRAIN: "Run this plan?",
    RunKind.RESUME: "Resume this run?",
    RunKind.ROLLBACK: "Give these nodes back?",
}


class ConfirmScreen(ModalScreen[ActiveRun | None]):
    """Dismissed with the run that was started, None for none. `prepare` is called in a thread, since it reads the
    cluster. Mutable."""

    VERTICAL_BREAKPOINTS = [(0, "-short"), (30, "-tall")]
    BINDINGS = [
        ("escape", "dismiss"),
        ("down", "scroll_by(1)"),  # the cursor is in the input line
        ("up", "scroll_by(-1)"),
        ("pagedown", "scroll_by(8)"),
        ("pageup", "scroll_by(-8)"),
    ]

    def __init__(self, kind: RunKind, prepare: Callable[[], PreparedRun], production: bool = False) -> None:
        super().__init__()
        self._production = production
        self._kind = kind
        self._prepare = prepare
        self.prepared: PreparedRun | None = None
        self._typed_count = 0  # number of words confirmed so far

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Prose(id="about")
            yield Input(id="typed")

    def on_mount(self) -> None:
        self._set_title("dialog", _TITLES[self._kind])
        self.query_one("#dialog").border_subtitle = "up, down scroll; esc back, nothing is done"
        self.query_one("#typed").display = False
        self.query_one(Prose).show(["The cluster is read again, and your permissions are checked…"])
        self.query_one(Prose).focus()
        run_in_thread(self, "prepare", self._prepare)

    def action_scroll_by(self, lines: int) -> None:
        self.query_one(Prose).scroll_relative(y=lines, animate=False)

    def _set_title(self, name: str, text: str) -> None:
        appearance = appearance_of(self)
        self.query_one(f"#{name}").border_title = sheets.markup_text(text, appearance)

    def _show_refusal(self, reason_lines: Sequence[Line]) -> None:
        self.query_one(Prose).show([*reason_lines, "", ("esc back", Tone.FAINT)])

    @on(Answered)
    def _answered(self, event: Answered) -> None:
        if not isinstance(event.answer, PreparedRun):
            self._show_refusal(event.lines)
            return
        self.prepared = event.answer
        self.query_one(Prose).show(confirm_lines(event.answer, self._production))
        input_field = self.query_one("#typed", Input)
        input_field.display = True
        input_field.focus()
        self._ask_next_word()

    def _ask_next_word(self) -> None:
        """Ask for the next word."""
        assert self.prepared is not None, "it is ready"
        expected = self.prepared.confirmations[self._typed_count]
        purpose = "" if self._typed_count == 0 else ", to delete it past its budget"
        self.query_one("#typed", Input).value = ""
        self._set_title("typed", f"Type  {expected}  and press enter{purpose}")

    @on(Input.Submitted, "#typed")
    def _submitted(self, event: Input.Submitted) -> None:
        """Enter alone has no effect: the text must match."""
        assert self.prepared is not None, "it is ready"
        if self._typed_count >= len(self.prepared.confirmations):
            return  # it was started: the key may have been pressed twice
        if is_too_small(*self.app.size):
            return  # the text is not readable
        expected = self.prepared.confirmations[self._typed_count]
        if event.value.split() != expected.split():
            if event.value.strip():
                self.notify(f"that is not {expected!r}: nothing was done", timeout=4, markup=False)
            return
        self._typed_count += 1
        if self._typed_count < len(self.prepared.confirmations):
            self._ask_next_word()
            return
        self.query_one("#typed").display = False
        try:
            live = self.prepared.start()
        except EksdocError as error:
            self._show_refusal(error_lines(error))
        else:
            self.dismiss(live)


def confirm_lines(prepared: PreparedRun, production: bool = False) -> list[Line]:
    """What will be done and what not, duration, checks, stop conditions, rollback."""
    name = prepared.cluster_name or "this cluster"
    cluster_lines: list[Line] = [(f"{name}  {PRODUCTION_BADGE.text}", Tone.BAD) if production else (name, Tone.TITLE)]
    note_lines: list[Line] = [(f"! {note}", Tone.WARN) for note in prepared.notes]
    return cluster_lines + (
        _drain_lines(prepared, note_lines) if prepared.view is not None else [*_rollback_lines(prepared), *note_lines]
    )


def _drain_lines(prepared: PreparedRun, note_lines: list[Line]) -> list[Line]:
    """The essential lines come first: the others may require scrolling."""
    view = prepared.view
    assert view is not None, "something is drained"
    plan, nodes = view.plan, list_names(prepared.nodes, _MAX_NAMES, Appearance())
    estimate = plan.estimate
    duration_text = "how long is not known"
    if estimate is not None:
        duration_text = (
            f"about {format_duration(estimate.p50_s)}, p95 {format_duration(estimate.p95_s)} "
            "(simulated with its budgets)"
        )
    is_new_run = prepared.kind is RunKind.DRAIN
    action_word = "cordon" if is_new_run else "resume"
    recheck_text = (
        "read again: the plan is unchanged" if is_new_run else f"what is left of run {prepared.run} is planned"
    )
    past_budgets = plan.past_budgets
    without_budget = [eviction.pod.key for eviction in plan.evictions if not eviction.budget]
    lines: list[Line] = [
        f"Will      {action_word} {pluralize(len(prepared.nodes), 'node')} ({nodes}) and evict "
        f"{pluralize(len(plan.evictions) - len(past_budgets), 'pod')}",
        *_skipped_lines(view),
        f"Will not  {'go past any budget' if not past_budgets else 'go past budgets but for the pods below'}, "
        "delete nodes",
        f"Lasts     {duration_text}",
        "Undo      R gives nodes back as they were. Evicted pods do not move back.",
        "",
        (f"✓ {recheck_text}; it is checked once more when the run begins", Tone.GOOD),
        ("✓ you may do all that it needs", Tone.GOOD),
        ("✓ no other run is under way", Tone.GOOD),
        *note_lines,
        *((f"! {each.pod.key} is deleted past its budget", Tone.BAD) for each in past_budgets),
        *_allowed_lines(view),
    ]
    if without_budget:
        warning = f"! no budget counts {pluralize(len(without_budget), 'pod')}: they go together, node by node"
        lines += [(warning, Tone.WARN), f"  {list_names(without_budget, _MAX_NAMES, Appearance())}"]
    return [
        *lines,
        "",
        *([f"Placed    {places}"] if (places := placement_summary(view.evictions)) else []),
        "Stops     by key a, and when the terminal is closed; drain resume then continues",
        *_guard_lines(prepared.limits),
    ]


def _allowed_lines(view: DrainView) -> list[Line]:
    """Pods that are evicted only because a flag allows it, by name."""
    allowed_lines: list[Line] = []
    for code, flag, effect in given_flags(view.plan.policy):
        groups = grouped((each for each in view.warnings if each.code.name == code), view)
        if groups:
            allowed_lines += [
                (f"! {effect} (--{flag}):", Tone.BAD),
                f"  {list_names([e.about for e in groups], _MAX_NAMES, Appearance())}",
            ]
    return allowed_lines


def _skipped_lines(view: DrainView) -> list[Line]:
    """Nodes that are left out, and the reasons."""
    undrained = view.undrained
    if not undrained:
        return []
    consequence = (
        "evicted pods can be scheduled onto them" if view.plan.open_targets else "load balancers still send to them"
    )
    reasons = [
        f"          {each.node.name}: {', '.join(map(short_code, view.codes_on(each))) or each.verdict.value}"
        for each in undrained[:_MAX_NAMES]
    ]
    more_lines = (
        [f"          and {len(undrained) - len(reasons)} more: [4] lists them"] if len(undrained) > len(reasons) else []
    )
    return [
        f"Skipped   {pluralize(len(undrained), 'node')}: {cordon_summary(view)}; {consequence}",
        *reasons,
        *more_lines,
    ]


def _guard_lines(limits: RunLimits | None) -> list[Line]:
    if limits is None:
        return []
    return [
        f"          by a guard: a replacement is Pending for {format_duration(limits.pending_s)}, more than "
        f"{pluralize(limits.not_ready, 'other node')} NotReady, the API server is away for "
        f"{format_duration(limits.away_s)}, "
        f"or most of its answers are errors for {format_duration(limits.failing_s)}"
    ]


def _rollback_lines(prepared: PreparedRun) -> list[Line]:
    return [
        f"Will      make {pluralize(len(prepared.nodes), 'node')} what they were before run {prepared.run}: "
        f"{list_names(prepared.nodes, _MAX_NAMES, Appearance())}",
        "Will not  change what another client cordoned, or move pods back",
        "",
    ]


# [D] A dry run of the first round on the server: each cordon and eviction is requested separately.


_MAX_REFUSALS = 30
_DRY_RUN_LIMITS = (
    "Nothing was evicted, so this does not show how budgets, replacements and the scheduler "
    "react: two pods of one budget are each accepted here. The plan's own simulation shows that."
)


class TrialScreen(ModalScreen[None]):
    """`attempt` is called in a thread: it sends requests to the server."""

    BINDINGS = [("escape,q", "dismiss")]

    def __init__(self, attempt: Callable[[], DryRunResult]) -> None:
        super().__init__()
        self._attempt = attempt

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Prose(id="about")

    def on_mount(self) -> None:
        appearance = appearance_of(self)
        self.query_one("#dialog").border_title = printable("A dry run of the first round, on the server", appearance)
        self.query_one(Prose).show(["The server is asked…"])
        self.query_one(Prose).focus()
        run_in_thread(self, "trial", lambda: dry_run_lines(self._attempt()))

    @on(Answered)
    def _answered(self, event: Answered) -> None:
        result_lines = event.answer if isinstance(event.answer, list) else event.lines
        self.query_one(Prose).show([*result_lines, "", ("esc closes this.", Tone.FAINT)])


def dry_run_lines(result: DryRunResult) -> list[Line]:
    accepted = result.requests - len(result.refused)
    symbol, tone = ("✗", Tone.BAD) if result.refused else ("✓", Tone.GOOD)
    result_lines: list[Line] = [
        (f"{symbol} the server would do {accepted} of {result.requests} cordons and first evictions", tone),
        "",
    ]
    result_lines += [(f"✗ {each.subject}: {each.reason}", Tone.BAD) for each in result.refused[:_MAX_REFUSALS]]
    if len(result.refused) > _MAX_REFUSALS:
        result_lines.append((f"… and {len(result.refused) - _MAX_REFUSALS} more", Tone.FAINT))
    return [*result_lines, *([""] if result.refused else []), _DRY_RUN_LIMITS]


# [enter] in the log: one entry in full.


class EntryScreen(ModalScreen[None]):
    BINDINGS = [("escape,q,enter", "dismiss")]

    def __init__(self, state: RunState, index: int) -> None:
        """`index`: its index in the events of the history at this moment."""
        super().__init__()
        self._entry_title = state.history.events[index].what.value
        self._lines = entry_lines(state, index)

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Prose(id="about")

    def on_mount(self) -> None:
        appearance = appearance_of(self)
        self.query_one("#dialog").border_title = printable(self._entry_title, appearance)
        prose = self.query_one(Prose)
        prose.show(self._lines)
        prose.focus()


def entry_lines(state: RunState, index: int) -> list[Line]:
    """A field on each line; the widget wraps long lines."""
    event = state.history.events[index]
    event_time = state.live.started_at + timedelta(seconds=event.at_s)
    fields = [
        ("when", f"{event_time:%Y-%m-%d %H:%M:%S}, {format_duration(event.at_s)} after the begin"),
        ("what", event.what.value),
        ("of what", event.subject),
        ("on node", event.node),
        ("why", event.why),
    ]
    failure_lines: list[Line] = (
        [("! this is something that went wrong", Tone.WARN)] if event.what in PROBLEM_EVENTS else []
    )
    field_lines: list[Line] = [f"{name:<10} {value}" for name, value in fields if value]
    for name, value in state.details(index):
        field_lines += (
            ["", (f"{name:<10} {value}", Tone.TITLE)] if name.startswith("entry") else [f"{name:<10} {value}"]
        )
    return [*failure_lines, *field_lines, "", ("esc closes this", Tone.FAINT)]
