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
from kubectl_eksdoc.drain.report.findings import allowed_by, grouped
from kubectl_eksdoc.drain.report.plan import DrainView, in_brief
from kubectl_eksdoc.drain.report.verdict import how_skipped
from kubectl_eksdoc.drain.run.events import WENT_WRONG
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.runner import DryRunResult
from kubectl_eksdoc.errors import EksdocError
from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.report.text import Look, Tone, counted, listing, shown

from ..base_app import too_small
from ..details import room_elsewhere
from ..keymap import look_of
from ..panel import Answered, Prose, ask, refusal
from ..tables.pods import Line
from ..words import PRODUCTION
from . import tables as sheets
from .state import RunState

_MOST_NAMES = 6

_TITLES = {
    RunKind.DRAIN: "Run this plan?",
    RunKind.GO_ON: "Resume this run?",
    RunKind.GIVE_BACK: "Give these nodes back?",
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
        self._typed = 0  # number of words confirmed so far

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Prose(id="about")
            yield Input(id="typed")

    def on_mount(self) -> None:
        self._said("dialog", _TITLES[self._kind])
        self.query_one("#dialog").border_subtitle = "up, down scroll; esc back, nothing is done"
        self.query_one("#typed").display = False
        self.query_one(Prose).show(["The cluster is read again, and your permissions are checked…"])
        self.query_one(Prose).focus()
        ask(self, "prepare", self._prepare)

    def action_scroll_by(self, lines: int) -> None:
        self.query_one(Prose).scroll_relative(y=lines, animate=False)

    def _said(self, name: str, text: str) -> None:
        look = look_of(self)
        self.query_one(f"#{name}").border_title = sheets.plain(text, look)

    def _refused(self, told: Sequence[Line]) -> None:
        self.query_one(Prose).show([*told, "", ("esc back", Tone.FAINT)])

    @on(Answered)
    def _answered(self, event: Answered) -> None:
        if not isinstance(event.answer, PreparedRun):
            self._refused(event.lines)
            return
        self.prepared = event.answer
        self.query_one(Prose).show(lines(event.answer, self._production))
        field = self.query_one("#typed", Input)
        field.display = True
        field.focus()
        self._ask_for()

    def _ask_for(self) -> None:
        """Ask for the next word."""
        assert self.prepared is not None, "it is ready"
        wanted = self.prepared.typed[self._typed]
        what = "" if self._typed == 0 else ", to delete it past its budget"
        self.query_one("#typed", Input).value = ""
        self._said("typed", f"Type  {wanted}  and press enter{what}")

    @on(Input.Submitted, "#typed")
    def _submitted(self, event: Input.Submitted) -> None:
        """Enter alone has no effect: the text must match."""
        assert self.prepared is not None, "it is ready"
        if self._typed >= len(self.prepared.typed):
            return  # it was started: the key may have been pressed twice
        if too_small(*self.app.size):
            return  # the text is not readable
        wanted = self.prepared.typed[self._typed]
        if event.value.split() != wanted.split():
            if event.value.strip():
                self.notify(f"that is not {wanted!r}: nothing was done", timeout=4, markup=False)
            return
        self._typed += 1
        if self._typed < len(self.prepared.typed):
            self._ask_for()
            return
        self.query_one("#typed").display = False
        try:
            live = self.prepared.begin()
        except EksdocError as error:
            self._refused(refusal(error))
        else:
            self.dismiss(live)


def lines(prepared: PreparedRun, production: bool = False) -> list[Line]:
    """What will be done and what not, duration, checks, stop conditions, rollback."""
    name = prepared.name or "this cluster"
    about: list[Line] = [(f"{name}  {PRODUCTION.text}", Tone.BAD) if production else (name, Tone.TITLE)]
    notes: list[Line] = [(f"! {note}", Tone.WARN) for note in prepared.notes]
    return about + (_drain(prepared, notes) if prepared.view is not None else [*_give_back(prepared), *notes])


def _drain(prepared: PreparedRun, notes: list[Line]) -> list[Line]:
    """The essential lines come first: the others may require scrolling."""
    view = prepared.view
    assert view is not None, "something is drained"
    plan, nodes = view.plan, listing(prepared.nodes, _MOST_NAMES, Look())
    estimate = plan.estimate
    lasts = "how long is not known"
    if estimate is not None:
        lasts = f"about {duration(estimate.p50_s)}, p95 {duration(estimate.p95_s)} (simulated with its budgets)"
    first = prepared.kind is RunKind.DRAIN
    cordon = "cordon" if first else "resume"
    anew = "read again: the plan is unchanged" if first else f"what is left of run {prepared.run} is planned"
    past = plan.past_budgets
    bare = [eviction.pod.key for eviction in plan.evictions if not eviction.budget]
    lines: list[Line] = [
        f"Will      {cordon} {counted(len(prepared.nodes), 'node')} ({nodes}) and evict "
        f"{counted(len(plan.evictions) - len(past), 'pod')}",
        *_skipped(view),
        f"Will not  {'go past any budget' if not past else 'go past budgets but for the pods below'}, delete nodes",
        f"Lasts     {lasts}",
        "Undo      R gives nodes back as they were. Evicted pods do not move back.",
        "",
        (f"✓ {anew}; it is checked once more when the run begins", Tone.GOOD),
        ("✓ you may do all that it needs", Tone.GOOD),
        ("✓ no other run is under way", Tone.GOOD),
        *notes,
        *((f"! {each.pod.key} is deleted past its budget", Tone.BAD) for each in past),
        *_allowed(view),
    ]
    if bare:
        said = f"! no budget counts {counted(len(bare), 'pod')}: they go together, node by node"
        lines += [(said, Tone.WARN), f"  {listing(bare, _MOST_NAMES, Look())}"]
    return [
        *lines,
        "",
        *([f"Placed    {places}"] if (places := room_elsewhere(view.evictions)) else []),
        "Stops     by key a, and when the terminal is closed; drain resume then continues",
        *_guards(prepared.limits),
    ]


def _allowed(view: DrainView) -> list[Line]:
    """Pods that are evicted only because a flag allows it, by name."""
    told: list[Line] = []
    for code, flag, does in allowed_by(view.plan.policy):
        found = grouped((each for each in view.warnings if each.code.name == code), view)
        if found:
            told += [(f"! {does} (--{flag}):", Tone.BAD), f"  {listing([e.about for e in found], _MOST_NAMES, Look())}"]
    return told


def _skipped(view: DrainView) -> list[Line]:
    """Nodes that are left out, and the reasons."""
    kept = view.undrained
    if not kept:
        return []
    costs = "evicted pods can be scheduled onto them" if view.plan.open_targets else "load balancers still send to them"
    why = [
        f"          {each.node.name}: {', '.join(map(in_brief, view.codes_on(each))) or each.verdict.value}"
        for each in kept[:_MOST_NAMES]
    ]
    more = [f"          and {len(kept) - len(why)} more: [4] lists them"] if len(kept) > len(why) else []
    return [f"Skipped   {counted(len(kept), 'node')}: {how_skipped(view)}; {costs}", *why, *more]


def _guards(limits: RunLimits | None) -> list[Line]:
    if limits is None:
        return []
    return [
        f"          by a guard: a replacement is Pending for {duration(limits.pending_s)}, more than "
        f"{counted(limits.not_ready, 'other node')} NotReady, the API server is away for {duration(limits.away_s)}, "
        f"or most of its answers are errors for {duration(limits.failing_s)}"
    ]


def _give_back(prepared: PreparedRun) -> list[Line]:
    return [
        f"Will      make {counted(len(prepared.nodes), 'node')} what they were before run {prepared.run}: "
        f"{listing(prepared.nodes, _MOST_NAMES, Look())}",
        "Will not  change what another client cordoned, or move pods back",
        "",
    ]


# [D] A dry run of the first round on the server: each cordon and eviction is requested separately.


_MOST = 30
_PROVES = (
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
        look = look_of(self)
        self.query_one("#dialog").border_title = shown("A dry run of the first round, on the server", look)
        self.query_one(Prose).show(["The server is asked…"])
        self.query_one(Prose).focus()
        ask(self, "trial", lambda: trial_lines(self._attempt()))

    @on(Answered)
    def _answered(self, event: Answered) -> None:
        told = event.answer if isinstance(event.answer, list) else event.lines
        self.query_one(Prose).show([*told, "", ("esc closes this.", Tone.FAINT)])


def trial_lines(tried: DryRunResult) -> list[Line]:
    would = tried.asked - len(tried.refused)
    sign, tone = ("✗", Tone.BAD) if tried.refused else ("✓", Tone.GOOD)
    told: list[Line] = [(f"{sign} the server would do {would} of {tried.asked} cordons and first evictions", tone), ""]
    told += [(f"✗ {each.subject}: {each.why}", Tone.BAD) for each in tried.refused[:_MOST]]
    if len(tried.refused) > _MOST:
        told.append((f"… and {len(tried.refused) - _MOST} more", Tone.FAINT))
    return [*told, *([""] if tried.refused else []), _PROVES]


# [enter] in the log: one entry in full.


class EntryScreen(ModalScreen[None]):
    BINDINGS = [("escape,q,enter", "dismiss")]

    def __init__(self, state: RunState, at: int) -> None:
        """`index`: its index in the events of the history at this moment."""
        super().__init__()
        self._title = state.chronicle.moments[at].what.value
        self._lines = entry_lines(state, at)

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Prose(id="about")

    def on_mount(self) -> None:
        look = look_of(self)
        self.query_one("#dialog").border_title = shown(self._title, look)
        prose = self.query_one(Prose)
        prose.show(self._lines)
        prose.focus()


def entry_lines(state: RunState, at: int) -> list[Line]:
    """A field on each line; the widget wraps long lines."""
    moment = state.chronicle.moments[at]
    when = state.live.began_at + timedelta(seconds=moment.at_s)
    fields = [
        ("when", f"{when:%Y-%m-%d %H:%M:%S}, {duration(moment.at_s)} after the begin"),
        ("what", moment.what.value),
        ("of what", moment.subject),
        ("on node", moment.node),
        ("why", moment.why),
    ]
    wrong: list[Line] = [("! this is something that went wrong", Tone.WARN)] if moment.what in WENT_WRONG else []
    told: list[Line] = [f"{name:<10} {value}" for name, value in fields if value]
    for name, value in state.details(at):
        told += ["", (f"{name:<10} {value}", Tone.TITLE)] if name.startswith("entry") else [f"{name:<10} {value}"]
    return [*wrong, *told, "", ("esc closes this", Tone.FAINT)]
