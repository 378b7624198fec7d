"""Tables of a run: nodes, pods of a node, budgets in use, and the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from kubectl_eksdoc.drain.command.screen_ports import RunKind
from kubectl_eksdoc.drain.report import events
from kubectl_eksdoc.drain.run.events import PROBLEM_EVENTS, DrainEvent, DrainEventKind
from kubectl_eksdoc.drain.run.history import FINAL_STATES, NodeHistory, NodeState, PodHistory, PodState
from kubectl_eksdoc.drain.run.progress import Reason, RunProgress
from kubectl_eksdoc.drain.timeline import NodeSpan
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.report.text import Appearance, Cell, Column, Tone, pluralize, printable

from ..model import without_address
from ..tables.budgets import budget_bar as headroom_bar
from ..tables.pods import Cells, Sheet, sheet_of_rows, text_sheet
from ..words import PRODUCTION_BADGE, FittingText, droppable
from .state import RunState, ScreenStage

# The head of the run screens: identity, progress, effect of stopping now, and what the run waits for.


_BAR_WIDTH = 24


class RunHead(NamedTuple):
    """The lines at the top: identity, progress, the most important notice, and the effect of stopping now."""

    identity: tuple[FittingText, ...]
    line: tuple[FittingText, ...]
    notice: FittingText
    stop_effect: tuple[FittingText, ...] = ()


def identity_texts(state: RunState, cluster_name: str, production: bool = False) -> tuple[FittingText, ...]:
    """``eksdoc  demo-shop  RUNNING 1m55s, planned about 4m47s (p95 9m10s)``; for a resumed run, the times are those of
    the rest, and labelled so."""
    view = state.live.view
    estimate = view.plan.estimate if view is not None else None
    estimate_text = (
        f"planned about {format_duration(estimate.p50_s)} (p95 {format_duration(estimate.p95_s)})" if estimate else ""
    )
    planned_text = f", {estimate_text}" if estimate_text and not state.is_over else ""
    planned_text = (
        f" since resumed{planned_text.replace('planned', 'the rest planned')}"
        if state.live.kind is RunKind.RESUME
        else planned_text
    )
    speed_factor = state.live.speed * (1.0 if view is None else view.cluster.identity.speed)
    speed_text = f"{speed_factor:g} s pass in one" if speed_factor != 1.0 else ""
    duration_text = f" {format_duration(state.duration_s)}" if state.is_drain else ""  # a rollback takes a moment
    stage_text = f"{state.stage.value}{duration_text}"
    short_steps = ((2, stage_text),) if planned_text else ()
    return (
        FittingText("eksdoc", ((4, ""),), Tone.TITLE),
        *((PRODUCTION_BADGE,) if production else ()),
        FittingText(cluster_name, tone=Tone.TITLE),
        FittingText(f"{stage_text}{planned_text}", short_steps, _STAGE_TONE.get(state.stage)),
        droppable(speed_text, 3),
    )


_STAGE_TONE = {
    ScreenStage.RUNNING: Tone.GOOD,
    ScreenStage.DONE: Tone.GOOD,
    ScreenStage.STOPPED: Tone.BAD,
    ScreenStage.FAILED: Tone.BAD,
    ScreenStage.BEGINNING: None,
}


def progress_texts(state: RunState) -> tuple[FittingText, ...]:
    """``Run 7f3a · wave 2 of 4 · 51 of 116 pods gone · about 2m50s left · ▇▇▇───── 44 %``: a narrow terminal omits the
    bar and the id of the run."""
    if state.outcome is not None:
        (symbol, tone), result_text = state.outcome.symbol, state.outcome.summary
        unplanned = result_text.partition("; planned")[0]  # the lines below have the rest
        counts = unplanned.rpartition(". ")[2] if state.stage is ScreenStage.STOPPED else unplanned
        shorter = [f"{symbol} {each}" for each in (result_text, unplanned, unplanned.partition(", their")[0], counts)]
        return (FittingText(f"{symbol} Run {state.live.run}: {result_text}", tuple(enumerate(shorter, 1)), tone),)
    history = state.history
    run_text = droppable(f"Run {state.live.run}", 2)
    if not state.is_drain:
        return (run_text, FittingText("nodes are given back…"))
    pod_count, gone_count = history.pods, history.gone
    progress = state.progress if not history.hold_reason else None
    remaining_text = (
        f"about {events.remaining_time(progress)} left"
        if progress is not None and progress.remaining_s is not None
        else ""
    )
    percent = f"{gone_count / pod_count:.0%}" if pod_count else ""
    return (
        run_text,
        droppable(_wave_text(state), 1),
        FittingText(state.pods_gone_text),
        FittingText(remaining_text, tone=Tone.TITLE),
        FittingText(
            f"{progress_bar(gone_count, pod_count, _BAR_WIDTH)} {percent}" if pod_count else "",
            ((3, percent),),
            Tone.GOOD,
        ),
    )


def short_progress(state: RunState) -> str:
    """``RUNNING  wave 2 of 4  51/116 pods``."""
    history = state.history
    parts = [state.stage.value, _wave_text(state), f"{history.gone}/{history.pods} pods"]
    return "  ".join(filter(None, parts))


def _wave_text(state: RunState) -> str:
    waves = {node.wave for node in state.history.nodes.values()}
    if len(waves) < 2:
        return ""
    open_waves = [node.wave for node in state.history.nodes.values() if node.state not in FINAL_STATES]
    return f"wave {min(open_waves, default=max(waves))} of {max(waves)}"


def stop_effect_texts(state: RunState) -> tuple[FittingText, ...]:
    """The effect of stopping now: the numbers are kept if the width is too short for the words."""
    if state.is_over or state.progress is None or not state.is_drain:
        return ()
    when_text = "when it has stopped" if state.stage is ScreenStage.STOPPING else "stop now"
    short_text = events.unfinished(state.progress, brief=True)
    effect_text = FittingText(
        f"{when_text}: {events.unfinished(state.progress)}", ((2, f"{when_text}: {short_text}"), (0, short_text))
    )
    return (effect_text, *_replacement_texts(state.progress))


def _replacement_texts(progress: RunProgress) -> Iterator[FittingText]:
    """``3 replacements not Ready: shop/web-x waits for target-health…``."""
    if count := len(progress.pending):
        yield FittingText(
            f"{pluralize(count, 'replacement')} without a node", ((3, f"{count} without a node"), (1, ""))
        )
    if progress.starting:
        first, count = progress.starting[0], len(progress.starting)
        not_ready_text = f"{pluralize(count, 'replacement')} not Ready"
        reason_text = f": {first.pod} {first.why}" if first.why.startswith("waits for ") else ""
        yield FittingText(f"{not_ready_text}{reason_text}", ((4, not_ready_text), (3, f"{count} not Ready"), (1, "")))


def notice_text(state: RunState) -> FittingText:
    """The most important notice: why no requests are sent, else what waits."""
    stage, progress = state.stage, state.progress
    if state.outcome is not None:
        result = state.outcome.details[0] if state.outcome.details else ""
        separators = ("), ", "): ") if " than p50 (" in result else ()
        shorter = [f"{result.partition(separator)[0]})" for separator in separators if separator in result]
        return FittingText(result, tuple(enumerate(shorter)), state.outcome.symbol[1])
    if progress is None:
        return FittingText("the cluster is read once more, before anything is done")
    if not state.is_drain:
        return FittingText("")
    if state.is_silent:
        return FittingText(
            f"! nothing heard for {format_duration(state.silent_s)}: all this is as it was then", tone=Tone.BAD
        )
    if stage in (ScreenStage.STOPPING, ScreenStage.PAUSING, ScreenStage.PAUSED, ScreenStage.HELD):
        stage_reason = {
            ScreenStage.STOPPING: f"stopping: {progress.stop_reason or 'nothing more is asked for'}",
            ScreenStage.PAUSING: "it is being paused; requests in flight complete",
            ScreenStage.PAUSED: f"{progress.hold_reason or 'paused'}: no more requests are sent; space resumes",
            ScreenStage.HELD: f"held: {hold_reason(state)}",
        }[stage]
        shorter_reasons = [f"! {stage_reason.replace(': no more requests are sent', '')}"]
        if stage is ScreenStage.HELD and (hold_cause := hold_reason(state).split(": ")[0]) != hold_reason(state):
            shorter_reasons += [f"! held: {hold_cause}; it {AUTO_RESUME}", f"! held: {hold_cause}"]
        return FittingText(f"! {stage_reason}", tuple((1, each) for each in shorter_reasons), Tone.WARN)
    if count := len(progress.unready):
        more_text = f" and {count - 1} more replacements" if count > 1 else ""
        text = "every node is done; {} not Ready yet"
        steps = ((1, text.format(pluralize(count, "replacement"))),)
        return FittingText(text.format(f"{progress.unready[0]}{more_text}"), steps, Tone.WARN)
    if count := len(progress.waiting_pods):
        first = progress.waiting_pods[0]
        text = f"! {first.pod} waits: {first.reason}{f' (+{count - 1})' if count > 1 else ''}"
        steps = ((1, f"! {pluralize(count, 'pod')} wait{'s' * (count == 1)}: {first.reason}"),)
        return FittingText(text, steps, Tone.WARN)
    return FittingText("nothing waits", tone=Tone.FAINT)


def hold_reason(state: RunState) -> str:
    """Why no requests are sent: the cause first, without the server's address, which the head shows."""
    reason = without_address(
        (state.progress.hold_reason if state.progress is not None else "") or state.history.hold_reason, "the server "
    )
    return reason if AUTO_RESUME in reason else f"{reason}; it {AUTO_RESUME}"


AUTO_RESUME = "continues automatically"


def progress_bar(done_count: int, total: int, width: int) -> str:
    """``▇▇▇───``: full only at 100 %."""
    filled = done_count * width // total if total else 0
    return "▇" * filled + "─" * (width - filled)


def log_columns(event: DrainEvent, started_at: datetime) -> tuple[str, str, str]:
    """Time, event, and its subject and reason."""
    event_time = started_at + timedelta(seconds=event.at_s)
    text = event.subject + (f" on {event.node}" if event.node else "") + (f": {event.why}" if event.why else "")
    return f"{event_time:%H:%M:%S}", event.what.value, text


def markup_text(text: str, appearance: Appearance) -> str:
    """Text for a Static widget with markup."""
    return printable(text, appearance).replace("[", r"\[")


STATE_SYMBOLS: dict[NodeState, tuple[str, Tone | None]] = {
    NodeState.QUEUED: ("·", Tone.FAINT),
    NodeState.CORDONED: ("⊘", Tone.WARN),
    NodeState.EVICTING: ("»", Tone.UNKNOWN),
    NodeState.EMPTY: ("»", Tone.UNKNOWN),
    NodeState.DRAINED_BY_OTHERS: ("»", Tone.WARN),
    NodeState.DONE: ("✓", Tone.GOOD),
    NodeState.EMPTIED_BY_OTHERS: ("✓", Tone.GOOD),
    NodeState.GONE: ("✓", Tone.GOOD),
    NodeState.LEFT_ALONE: ("✗", Tone.BAD),
}


_PROGRESS_COLUMN = 4

ROLLBACK_SHEET = text_sheet(("Nodes are given back: each becomes what it was before this run.",))
UNKNOWN_BUDGETS_TEXT = ("Not known: what they allowed", "is not written down. Their", "refusals are in the log.")
NO_BUDGET_TEXT = "No PodDisruptionBudget counts a pod of this run."
BUDGETS_PENDING_TEXT = "What budgets allow is not known yet."


def nodes_sheet(state: RunState) -> Sheet:
    # The planned spans by p50; none for a run whose plan is not known.
    spans = state.live.view.spans if state.live.view is not None else {}
    columns = (
        Column("W", align_right=True, drop_order=2),
        Column("NODE", cut_middle=True, min_width=14),
        Column("STATE", min_width=13),
        Column("PODS", align_right=True),
        Column("PLAN ░ RUN ▇" if spans else "GONE", min_width=8, drop_order=1),
        Column("TIME", align_right=True, drop_order=3),
        *([Column("LEFT", align_right=True, drop_order=2)] if spans else []),
    )
    courses = state.history.nodes
    progress = state.progress
    remaining_s = (
        dict(progress.remaining_by_node) if progress is not None and not (state.is_over or progress.hold_reason) else {}
    )
    rows = [
        (node.node, _node_cells(node, state, remaining_s.get(node.node))[: len(columns)]) for node in courses.values()
    ]
    row_sheet = sheet_of_rows(columns, rows, "No node is drained by this run.", fill_column=_PROGRESS_COLUMN)

    max_s = max([state.at_s + max(remaining_s.values(), default=0.0), *(span.done_s for span in spans.values())])

    def fill_cell(name: str, width: int) -> Cell:
        node = courses[name]
        if name in spans:
            return Cell(_timeline(node, spans[name], state.at_s, max_s, width), _state_text(node, state)[1])
        is_counted = node.pods and _knows_all_pods(node, state)
        bar_text = progress_bar(node.gone, len(node.pods), min(width, _BAR_WIDTH)) if is_counted else ""
        return Cell(bar_text, _state_text(node, state)[1])

    return replace(row_sheet, fill_cell=fill_cell)


def _timeline(node: NodeHistory, planned: NodeSpan, now_s: float, most_s: float, width: int) -> str:
    """``  ░░▇▇▇▇``: the planned span, and over it the actual one."""

    def columns_of_span(start_s: float, end_s: float) -> range:
        start = min(int(start_s / most_s * width), width - 1)
        return range(start, max(round(end_s / most_s * width), start + 1))

    line = [" "] * width
    spans = [("░", columns_of_span(planned.start_s, planned.done_s))]
    if node.started_s is not None:
        spans.append(("▇", columns_of_span(node.started_s, node.ended_s if node.ended_s is not None else now_s)))
    for symbol, places in spans:
        for place in places:
            line[min(place, width - 1)] = symbol
    return "".join(line).rstrip()


_IDLE_STATES = {ScreenStage.PAUSED: "! paused", ScreenStage.HELD: "! held", ScreenStage.STOPPING: "! stopping"}
"""The state of a started node while no requests are sent."""


def _state_text(node: NodeHistory, state: RunState) -> tuple[str, Tone | None]:
    """Symbol and word."""
    if node.state is NodeState.EVICTING and (idle_state := _IDLE_STATES.get(state.stage)):
        has_terminating = state.knows_terminating and any(pod.state is PodState.STOPPING for pod in node.pods.values())
        return ("» leaving", Tone.UNKNOWN) if has_terminating else (idle_state, Tone.WARN)
    if node.state is NodeState.EVICTING and state.waits_on_node(node.node):
        return (
            "! waiting PDB" if any(each.budget for each in state.waits_on_node(node.node)) else "! waiting"
        ), Tone.WARN
    if node.state is NodeState.EVICTING and state.is_over:
        return "! half empty", Tone.WARN
    symbol, tone = STATE_SYMBOLS[node.state]
    return f"{symbol} {node.state.value}", tone


def _node_cells(node: NodeHistory, state: RunState, remaining_s: float | None) -> Cells:
    time_text = ""
    if node.started_s is not None:
        end_s = node.ended_s if node.ended_s is not None else state.at_s
        time_text = format_duration(end_s - node.started_s)
    wave = str(node.wave) if node.wave else ""
    pods = f"{node.gone}/{len(node.pods)}" if _knows_all_pods(node, state) else f"{node.gone}/{len(node.pods)}+"
    remaining_text = (
        f"~{format_duration(remaining_s)}" if remaining_s is not None and node.state not in FINAL_STATES else ""
    )
    return [wave, node.node, Cell(*_state_text(node, state)), pods, "", time_text, remaining_text]


def _knows_all_pods(node: NodeHistory, state: RunState) -> bool:
    """Whether the list of pods is complete: for a recorded run, only once the node is empty."""
    return state.knows_pods or node.state is NodeState.DONE


_POD_STATES: dict[PodState, tuple[str, Tone | None]] = {
    PodState.WAITING: ("· queued", Tone.FAINT),
    PodState.REFUSED: ("! refused", Tone.WARN),
    PodState.STOPPING: ("» leaving", Tone.UNKNOWN),
    PodState.GONE: ("✓ gone", Tone.GOOD),
    PodState.KEPT: ("✗ stays", Tone.BAD),
}
ACCEPTED_STATE = ("» asked", Tone.UNKNOWN)
"""The server accepted the eviction; whether the pod is gone is not known."""

_POD_ORDER = (PodState.KEPT, PodState.REFUSED, PodState.STOPPING, PodState.WAITING, PodState.GONE)


def pods_sheet(state: RunState, node: str | None) -> Sheet:
    """Pods that need attention first."""
    columns = (
        Column("POD", cut_middle=True, min_width=16),
        Column("STATE", min_width=9),
        Column("SINCE", align_right=True, drop_order=1),
    )
    node_course = state.history.nodes.get(node or "")
    if node_course is None:
        return sheet_of_rows(columns, [], "")
    waiting = {each.pod for each in state.waits_on_node(node_course.node)}
    ordered = sorted(
        node_course.pods.values(),
        key=lambda pod: _POD_ORDER.index(
            PodState.REFUSED if pod.pod in waiting and pod.state is PodState.WAITING else pod.state
        ),
    )
    rows = [(pod.pod, _pod_cells(pod, waiting, state)) for pod in ordered]
    empty_text = (
        "Nothing has to go from this node."
        if _knows_all_pods(node_course, state)
        else "No pod of it was asked to go yet."
    )
    return sheet_of_rows(columns, rows, empty_text, fill_column=0)


def _pod_cells(pod: PodHistory, waiting: set[str], state: RunState) -> Cells:
    state_text, tone = _POD_STATES[pod.state]
    if pod.state is PodState.STOPPING and not state.knows_terminating:
        state_text, tone = ACCEPTED_STATE
    if pod.pod in waiting:
        state_text, tone = ("! waits", Tone.WARN) if pod.state is PodState.WAITING else (state_text, Tone.WARN)
    since_s = state.at_s - pod.since_s if pod.state in (PodState.STOPPING, PodState.REFUSED, PodState.KEPT) else None
    if pod.pod in waiting and since_s is None and state.progress is not None:
        since_s = next(
            (each.for_s for each in state.progress.reasons if each.subject.split(" on ")[0] == pod.pod), None
        )
    return [pod.pod, Cell(state_text, tone), format_duration(since_s) if since_s is not None else ""]


_MAX_REASONS = 4


def wait_reasons(state: RunState, node: str, pod: str | None) -> list[Reason]:
    """Reasons of the pod, then of its node, then of the whole run; none once the run is over."""
    if state.progress is None or state.is_over:
        return []
    node_suffix = f" on {node}"
    reasons = [
        each
        for each in state.progress.reasons
        if not each.subject or each.subject == node or each.subject.endswith(node_suffix)
    ]
    return sorted(reasons, key=lambda each: (each.subject != f"{pod}{node_suffix}", not each.subject))


def _unmentioned_replacements(
    state: RunState, shown_lines: Sequence[str | tuple[str, Tone]]
) -> list[str | tuple[str, Tone]]:
    """Replacements that are not Ready and that no shown line mentions."""
    if state.progress is None:
        return []
    shown_text = " ".join(line if isinstance(line, str) else line[0] for line in shown_lines)
    pending = [each for each in state.progress.pending if each.pod not in shown_text][:3]
    coming = [each for each in state.progress.starting if each.pod not in shown_text][:3]
    lines: list[str | tuple[str, Tone]] = [
        (f"{each.pod} has no node yet: {each.why or 'the scheduler has not said why'}", Tone.WARN) for each in pending
    ]
    return [*lines, *((f"{each.pod} is not Ready yet: {each.why or 'it is starting'}", Tone.FAINT) for each in coming)]


def _reason_lines(reason: Reason) -> list[str | tuple[str, Tone]]:
    """Subject and duration, reason, the usual duration, and the command that shows more."""
    subject = " ".join(filter(None, (reason.subject, f"(+{reason.others})" if reason.others else "")))
    since_text = f"for {format_duration(reason.for_s)}" if reason.for_s is not None else ""
    headline = ", ".join(filter(None, (subject, since_text)))
    lines: list[str | tuple[str, Tone]] = [
        (f"! {headline}: {reason.reason}" if headline else f"! {reason.reason}", Tone.WARN)
    ]
    lines += [(f"  {reason.typical}", Tone.FAINT)] if reason.typical else []
    return [*lines, *([(f"  {reason.remedy}", Tone.GOOD)] if reason.remedy else [])]


def wait_lines(state: RunState, node: str | None, pod: str | None) -> list[str | tuple[str, Tone]]:
    """Why the pod under the cursor, or its node, is not gone."""
    node_course = state.history.nodes.get(node or "")
    if node_course is None:
        return []
    waits = state.waits_on_node(node_course.node)
    lines: list[str | tuple[str, Tone]] = []
    for reason in wait_reasons(state, node_course.node, pod)[:_MAX_REASONS]:
        lines += [*([""] if lines else []), *_reason_lines(reason)]
    if not lines:
        lines += [(f"{each.pod} waits: {each.reason}", Tone.WARN) for each in waits[:_MAX_REASONS]]
    lines += _unmentioned_replacements(state, lines)
    pod_course = node_course.pods.get(pod or "")
    if (
        pod_course is not None
        and pod_course.reason
        and pod_course.state in (PodState.KEPT, PodState.REFUSED)
        and not waits
    ):
        lines.append(
            (f"{pod_course.pod}: {pod_course.reason}", Tone.BAD if pod_course.state is PodState.KEPT else Tone.WARN)
        )
    if node_course.reason:
        lines.append((node_course.reason, Tone.BAD if node_course.state is NodeState.LEFT_ALONE else Tone.FAINT))
    if not lines and node_course.state not in FINAL_STATES and node_course.started_s is None:
        lines.append(("its turn has not come", Tone.FAINT))
    if state.unknown_text:
        lines.append((state.unknown_text, Tone.UNKNOWN))
    return lines


def budgets_sheet(state: RunState) -> Sheet:
    """The tightest budgets first."""
    columns = (
        Column("BUDGET", cut_middle=True, min_width=21),
        Column("HEADROOM", drop_order=1),
        Column("HEALTHY/NEEDED/EXPECTED", short_title="H/N/E", align_right=True, drop_order=2),
        Column("NOW", min_width=11),
    )
    if state.unknown_text:
        return text_sheet(UNKNOWN_BUDGETS_TEXT)
    budgets_in_use = state.progress.budgets if state.progress is not None else ()
    waiting: dict[str, int] = {}
    for pod_wait in state.progress.waiting_pods if state.progress is not None and not state.is_over else ():
        if pod_wait.budget:
            waiting[pod_wait.budget] = waiting.get(pod_wait.budget, 0) + 1
    empty_text = NO_BUDGET_TEXT if state.progress is not None else BUDGETS_PENDING_TEXT
    ordered = sorted(
        budgets_in_use, key=lambda budget: (-waiting.get(budget.key, 0), budget.status.allowed, budget.key)
    )
    return sheet_of_rows(
        columns,
        [(pod_wait.key, _budget_cells(pod_wait, waiting.get(pod_wait.key, 0))) for pod_wait in ordered],
        empty_text,
    )


def _budget_cells(budget: Budget, waiting: int) -> Cells:
    status = budget.status
    room_text = f"✓ room for {status.allowed}" if status.allowed else "· used up"
    state_cell = Cell(f"! {waiting} waiting", Tone.WARN) if waiting else Cell(room_text)
    tone = Tone.WARN if waiting or not status.allowed else Tone.GOOD
    numbers = f"{status.current}/{status.desired}/{status.expected}"
    return [budget.key, Cell(headroom_bar(budget), tone), numbers, state_cell]


_EVENT_TONES: dict[DrainEventKind, Tone] = {
    DrainEventKind.DONE: Tone.GOOD,
    DrainEventKind.RELEASED: Tone.GOOD,
    DrainEventKind.LEFT_ALONE: Tone.BAD,
    DrainEventKind.STOPPED: Tone.BAD,
}


def log_sheet(
    events: Sequence[DrainEvent],
    started_at: datetime,
    only_failures: bool = False,
    search_text: str = "",
    max_entries: int | None = None,
) -> Sheet:
    """Events in order, at most the last `max_entries`; keys are indexes in `events`."""
    first_index = 0 if max_entries is None else max(0, len(events) - max_entries)
    columns = (Column("TIME"), Column("WHAT", min_width=9), Column("OF WHAT AND WHY", min_width=20))
    indexes = [
        index
        for index, event in enumerate(events[first_index:], first_index)
        if (not only_failures or event.what in PROBLEM_EVENTS)
        and (not search_text or search_text.lower() in " ".join(log_columns(event, started_at)).lower())
    ]
    widest_event = max((len(event_kind.value) for event_kind in DrainEventKind), default=9)

    def cells(key: str) -> Cells:
        event = events[int(key)]
        time_text, event_text, text = log_columns(event, started_at)
        tone = _EVENT_TONES.get(event.what, Tone.WARN if event.what in PROBLEM_EVENTS else None)
        return [Cell(time_text, Tone.FAINT), Cell(event_text, tone), text]

    empty_text = "No entry matches." if search_text or only_failures else "Nothing has happened yet."
    return Sheet(
        columns,
        (8, widest_event, 20),
        tuple(map(str, indexes)),
        cells,
        fill_column=2,
        fill_cell=lambda key, room: cells(key)[2],
        empty_text=empty_text,
    )
