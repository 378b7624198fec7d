"""Tables of a run: nodes, pods of a node, budgets in use, and the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from kubectl_eksdoc.drain.command.screen_ports import RunKind
from kubectl_eksdoc.drain.course import Span
from kubectl_eksdoc.drain.report import events
from kubectl_eksdoc.drain.run.events import WENT_WRONG, Happened, RunMoment
from kubectl_eksdoc.drain.run.history import ENDS, NodeCourse, NodeState, PodCourse, PodState
from kubectl_eksdoc.drain.run.progress import Reason, RunProgress
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.report.text import Cell, Column, Look, Tone, counted, shown

from ..model import brief
from ..tables.budgets import bar as headroom_bar
from ..tables.pods import Cells, Sheet, of_rows, text_sheet
from ..words import PRODUCTION, FittingText, dropped
from .state import RunState, ScreenStage

# The head of the run screens: identity, progress, effect of stopping now, and what the run waits for.


_BAR = 24


class RunHead(NamedTuple):
    """The lines at the top: identity, progress, the most important notice, and the effect of stopping now."""

    identity: tuple[FittingText, ...]
    line: tuple[FittingText, ...]
    notice: FittingText
    half: tuple[FittingText, ...] = ()


def identity(state: RunState, name: str, production: bool = False) -> tuple[FittingText, ...]:
    """``eksdoc  demo-shop  RUNNING 1m55s, planned about 4m47s (p95 9m10s)``; for a resumed run, the times are those of
    the rest, and labelled so."""
    view = state.live.view
    estimate = view.plan.estimate if view is not None else None
    planned = f"planned about {duration(estimate.p50_s)} (p95 {duration(estimate.p95_s)})" if estimate else ""
    of = f", {planned}" if planned and not state.over else ""
    of = f" since resumed{of.replace('planned', 'the rest planned')}" if state.live.kind is RunKind.GO_ON else of
    plays = state.live.speed * (1.0 if view is None else view.cluster.identity.speed)
    speed = f"{plays:g} s pass in one" if plays != 1.0 else ""
    lasted = f" {duration(state.lasted_s)}" if state.drains else ""  # a rollback takes a moment
    stage = f"{state.stage.value}{lasted}"
    short = ((2, stage),) if of else ()
    return (
        FittingText("eksdoc", ((4, ""),), Tone.TITLE),
        *((PRODUCTION,) if production else ()),
        FittingText(name, tone=Tone.TITLE),
        FittingText(f"{stage}{of}", short, _STAGE_TONE.get(state.stage)),
        dropped(speed, 3),
    )


_STAGE_TONE = {
    ScreenStage.RUNNING: Tone.GOOD,
    ScreenStage.DONE: Tone.GOOD,
    ScreenStage.STOPPED: Tone.BAD,
    ScreenStage.FAILED: Tone.BAD,
    ScreenStage.BEGINNING: None,
}


def line(state: RunState) -> tuple[FittingText, ...]:
    """``Run 7f3a · wave 2 of 4 · 51 of 116 pods gone · about 2m50s left · ▇▇▇───── 44 %``: a narrow terminal omits the
    bar and the id of the run."""
    if state.outcome is not None:
        (sign, tone), said = state.outcome.sign, state.outcome.said
        unplanned = said.partition("; planned")[0]  # the lines below have the rest
        counts = unplanned.rpartition(". ")[2] if state.stage is ScreenStage.STOPPED else unplanned
        shorter = [f"{sign} {each}" for each in (said, unplanned, unplanned.partition(", their")[0], counts)]
        return (FittingText(f"{sign} Run {state.live.run}: {said}", tuple(enumerate(shorter, 1)), tone),)
    chronicle = state.chronicle
    run = dropped(f"Run {state.live.run}", 2)
    if not state.drains:
        return (run, FittingText("nodes are given back…"))
    pods, gone = chronicle.pods, chronicle.gone
    standing = state.standing if not chronicle.held else None
    left = f"about {events.left(standing)} left" if standing is not None and standing.left_s is not None else ""
    percent = f"{gone / pods:.0%}" if pods else ""
    return (
        run,
        dropped(_wave(state), 1),
        FittingText(state.pods_gone),
        FittingText(left, tone=Tone.TITLE),
        FittingText(f"{bar(gone, pods, _BAR)} {percent}" if pods else "", ((3, percent),), Tone.GOOD),
    )


def line_in_short(state: RunState) -> str:
    """``RUNNING  wave 2 of 4  51/116 pods``."""
    chronicle = state.chronicle
    parts = [state.stage.value, _wave(state), f"{chronicle.gone}/{chronicle.pods} pods"]
    return "  ".join(filter(None, parts))


def _wave(state: RunState) -> str:
    waves = {node.wave for node in state.chronicle.nodes.values()}
    if len(waves) < 2:
        return ""
    open_waves = [node.wave for node in state.chronicle.nodes.values() if node.state not in ENDS]
    return f"wave {min(open_waves, default=max(waves))} of {max(waves)}"


def half(state: RunState) -> tuple[FittingText, ...]:
    """The effect of stopping now: the numbers are kept if the width is too short for the words."""
    if state.over or state.standing is None or not state.drains:
        return ()
    when = "when it has stopped" if state.stage is ScreenStage.STOPPING else "stop now"
    short = events.left_by_stopping(state.standing, brief=True)
    told = FittingText(f"{when}: {events.left_by_stopping(state.standing)}", ((2, f"{when}: {short}"), (0, short)))
    return (told, *_coming(state.standing))


def _coming(standing: RunProgress) -> Iterator[FittingText]:
    """``3 replacements not Ready: shop/web-x waits for target-health…``."""
    if count := len(standing.pending):
        yield FittingText(f"{counted(count, 'replacement')} without a node", ((3, f"{count} without a node"), (1, "")))
    if standing.coming:
        first, count = standing.coming[0], len(standing.coming)
        said = f"{counted(count, 'replacement')} not Ready"
        why = f": {first.pod} {first.why}" if first.why.startswith("waits for ") else ""
        yield FittingText(f"{said}{why}", ((4, said), (3, f"{count} not Ready"), (1, "")))


def notice(state: RunState) -> FittingText:
    """The most important notice: why no requests are sent, else what waits."""
    stage, standing = state.stage, state.standing
    if state.outcome is not None:
        result = state.outcome.more[0] if state.outcome.more else ""
        marks = ("), ", "): ") if " than p50 (" in result else ()
        shorter = [f"{result.partition(mark)[0]})" for mark in marks if mark in result]
        return FittingText(result, tuple(enumerate(shorter)), state.outcome.sign[1])
    if standing is None:
        return FittingText("the cluster is read once more, before anything is done")
    if not state.drains:
        return FittingText("")
    if state.is_silent:
        return FittingText(f"! nothing heard for {duration(state.silent_s)}: all this is as it was then", tone=Tone.BAD)
    if stage in (ScreenStage.STOPPING, ScreenStage.PAUSING, ScreenStage.PAUSED, ScreenStage.HELD):
        why = {
            ScreenStage.STOPPING: f"stopping: {standing.stopped or 'nothing more is asked for'}",
            ScreenStage.PAUSING: "it is being paused; requests in flight complete",
            ScreenStage.PAUSED: f"{standing.held or 'paused'}: no more requests are sent; space resumes",
            ScreenStage.HELD: f"held: {held(state)}",
        }[stage]
        short = [f"! {why.replace(': no more requests are sent', '')}"]
        if stage is ScreenStage.HELD and (cause := held(state).split(": ")[0]) != held(state):
            short += [f"! held: {cause}; it {BY_ITSELF}", f"! held: {cause}"]
        return FittingText(f"! {why}", tuple((1, each) for each in short), Tone.WARN)
    if count := len(standing.unready):
        beside = f" and {count - 1} more replacements" if count > 1 else ""
        text = "every node is done; {} not Ready yet"
        steps = ((1, text.format(counted(count, "replacement"))),)
        return FittingText(text.format(f"{standing.unready[0]}{beside}"), steps, Tone.WARN)
    if count := len(standing.waits):
        first = standing.waits[0]
        text = f"! {first.pod} waits: {first.why}{f' (+{count - 1})' if count > 1 else ''}"
        steps = ((1, f"! {counted(count, 'pod')} wait{'s' * (count == 1)}: {first.why}"),)
        return FittingText(text, steps, Tone.WARN)
    return FittingText("nothing waits", tone=Tone.FAINT)


def held(state: RunState) -> str:
    """Why no requests are sent: the cause first, without the server's address, which the head shows."""
    why = brief((state.standing.held if state.standing is not None else "") or state.chronicle.held, "the server ")
    return why if BY_ITSELF in why else f"{why}; it {BY_ITSELF}"


BY_ITSELF = "continues automatically"


def bar(part: int, whole: int, room: int) -> str:
    """``▇▇▇───``: full only at 100 %."""
    filled = part * room // whole if whole else 0
    return "▇" * filled + "─" * (room - filled)


def log_line(moment: RunMoment, began: datetime) -> tuple[str, str, str]:
    """Time, event, and its subject and reason."""
    at = began + timedelta(seconds=moment.at_s)
    text = moment.subject + (f" on {moment.node}" if moment.node else "") + (f": {moment.why}" if moment.why else "")
    return f"{at:%H:%M:%S}", moment.what.value, text


def plain(text: str, look: Look) -> str:
    """Text for a Static widget with markup."""
    return shown(text, look).replace("[", r"\[")


STATE_SIGN: dict[NodeState, tuple[str, Tone | None]] = {
    NodeState.QUEUED: ("·", Tone.FAINT),
    NodeState.CORDONED: ("⊘", Tone.WARN),
    NodeState.EVICTING: ("»", Tone.UNKNOWN),
    NodeState.EMPTY: ("»", Tone.UNKNOWN),
    NodeState.FOREIGN: ("»", Tone.WARN),
    NodeState.DONE: ("✓", Tone.GOOD),
    NodeState.THEIRS: ("✓", Tone.GOOD),
    NodeState.GONE: ("✓", Tone.GOOD),
    NodeState.ALONE: ("✗", Tone.BAD),
}


_GONE = 4

GIVING_BACK = text_sheet(("Nodes are given back: each becomes what it was before this run.",))
UNKNOWN_BUDGETS = ("Not known: what they allowed", "is not written down. Their", "refusals are in the log.")
NO_BUDGET = "No PodDisruptionBudget counts a pod of this run."
NOT_YET = "What budgets allow is not known yet."


def nodes(state: RunState) -> Sheet:
    # The planned spans by p50; none for a run whose plan is not known.
    spans = state.live.view.spans if state.live.view is not None else {}
    columns = (
        Column("W", right=True, drop=2),
        Column("NODE", middle=True, floor=14),
        Column("STATE", floor=13),
        Column("PODS", right=True),
        Column("PLAN ░ RUN ▇" if spans else "GONE", floor=8, drop=1),
        Column("TIME", right=True, drop=3),
        *([Column("LEFT", right=True, drop=2)] if spans else []),
    )
    courses = state.chronicle.nodes
    standing = state.standing
    left = dict(standing.left_of) if standing is not None and not (state.over or standing.held) else {}
    rows = [(node.node, _node(node, state, left.get(node.node))[: len(columns)]) for node in courses.values()]
    sheet = of_rows(columns, rows, "No node is drained by this run.", fill=_GONE)

    most_s = max([state.at_s + max(left.values(), default=0.0), *(span.done_s for span in spans.values())])

    def filled(name: str, room: int) -> Cell:
        node = courses[name]
        if name in spans:
            return Cell(_timeline(node, spans[name], state.at_s, most_s, room), _said(node, state)[1])
        counted = node.pods and _all_known(node, state)
        share = bar(node.gone, len(node.pods), min(room, _BAR)) if counted else ""
        return Cell(share, _said(node, state)[1])

    return replace(sheet, filled=filled)


def _timeline(node: NodeCourse, planned: Span, now_s: float, most_s: float, room: int) -> str:
    """``  ░░▇▇▇▇``: the planned span, and over it the actual one."""

    def drawn(start_s: float, end_s: float) -> range:
        start = min(int(start_s / most_s * room), room - 1)
        return range(start, max(round(end_s / most_s * room), start + 1))

    line = [" "] * room
    spans = [("░", drawn(planned.start_s, planned.done_s))]
    if node.begun_s is not None:
        spans.append(("▇", drawn(node.begun_s, node.ended_s if node.ended_s is not None else now_s)))
    for sign, places in spans:
        for place in places:
            line[min(place, room - 1)] = sign
    return "".join(line).rstrip()


_STANDS = {ScreenStage.PAUSED: "! paused", ScreenStage.HELD: "! held", ScreenStage.STOPPING: "! stopping"}
"""The state of a started node while no requests are sent."""


def _said(node: NodeCourse, state: RunState) -> tuple[str, Tone | None]:
    """Symbol and word."""
    if node.state is NodeState.EVICTING and (stands := _STANDS.get(state.stage)):
        leaving = state.knows_leaving and any(pod.state is PodState.LEAVING for pod in node.pods.values())
        return ("» leaving", Tone.UNKNOWN) if leaving else (stands, Tone.WARN)
    if node.state is NodeState.EVICTING and state.waits_of(node.node):
        return ("! waiting PDB" if any(each.budget for each in state.waits_of(node.node)) else "! waiting"), Tone.WARN
    if node.state is NodeState.EVICTING and state.over:
        return "! half empty", Tone.WARN
    sign, tone = STATE_SIGN[node.state]
    return f"{sign} {node.state.value}", tone


def _node(node: NodeCourse, state: RunState, left_s: float | None) -> Cells:
    time = ""
    if node.begun_s is not None:
        until = node.ended_s if node.ended_s is not None else state.at_s
        time = duration(until - node.begun_s)
    wave = str(node.wave) if node.wave else ""
    pods = f"{node.gone}/{len(node.pods)}" if _all_known(node, state) else f"{node.gone}/{len(node.pods)}+"
    left = f"~{duration(left_s)}" if left_s is not None and node.state not in ENDS else ""
    return [wave, node.node, Cell(*_said(node, state)), pods, "", time, left]


def _all_known(node: NodeCourse, state: RunState) -> bool:
    """Whether the list of pods is complete: for a recorded run, only once the node is empty."""
    return state.knows_pods or node.state is NodeState.DONE


_POD_SIGN: dict[PodState, tuple[str, Tone | None]] = {
    PodState.WAITING: ("· queued", Tone.FAINT),
    PodState.REFUSED: ("! refused", Tone.WARN),
    PodState.LEAVING: ("» leaving", Tone.UNKNOWN),
    PodState.GONE: ("✓ gone", Tone.GOOD),
    PodState.KEPT: ("✗ stays", Tone.BAD),
}
ASKED = ("» asked", Tone.UNKNOWN)
"""The server accepted the eviction; whether the pod is gone is not known."""

_FIRST = (PodState.KEPT, PodState.REFUSED, PodState.LEAVING, PodState.WAITING, PodState.GONE)


def pods(state: RunState, node: str | None) -> Sheet:
    """Pods that need attention first."""
    columns = (Column("POD", middle=True, floor=16), Column("STATE", floor=9), Column("SINCE", right=True, drop=1))
    course = state.chronicle.nodes.get(node or "")
    if course is None:
        return of_rows(columns, [], "")
    waiting = {each.pod for each in state.waits_of(course.node)}
    ordered = sorted(
        course.pods.values(),
        key=lambda pod: _FIRST.index(
            PodState.REFUSED if pod.pod in waiting and pod.state is PodState.WAITING else pod.state
        ),
    )
    rows = [(pod.pod, _pod(pod, waiting, state)) for pod in ordered]
    nothing = "Nothing has to go from this node." if _all_known(course, state) else "No pod of it was asked to go yet."
    return of_rows(columns, rows, nothing, fill=0)


def _pod(pod: PodCourse, waiting: set[str], state: RunState) -> Cells:
    said, tone = _POD_SIGN[pod.state]
    if pod.state is PodState.LEAVING and not state.knows_leaving:
        said, tone = ASKED
    if pod.pod in waiting:
        said, tone = ("! waits", Tone.WARN) if pod.state is PodState.WAITING else (said, Tone.WARN)
    since_s = state.at_s - pod.since_s if pod.state in (PodState.LEAVING, PodState.REFUSED, PodState.KEPT) else None
    if pod.pod in waiting and since_s is None and state.standing is not None:
        since_s = next((each.for_s for each in state.standing.why if each.of.split(" on ")[0] == pod.pod), None)
    return [pod.pod, Cell(said, tone), duration(since_s) if since_s is not None else ""]


_MOST_REASONS = 4


def reasons_of(state: RunState, node: str, pod: str | None) -> list[Reason]:
    """Reasons of the pod, then of its node, then of the whole run; none once the run is over."""
    if state.standing is None or state.over:
        return []
    on = f" on {node}"
    about = [each for each in state.standing.why if not each.of or each.of == node or each.of.endswith(on)]
    return sorted(about, key=lambda each: (each.of != f"{pod}{on}", not each.of))


def _not_told(state: RunState, told: Sequence[str | tuple[str, Tone]]) -> list[str | tuple[str, Tone]]:
    """Replacements that are not Ready and that no shown line mentions."""
    if state.standing is None:
        return []
    said = " ".join(line if isinstance(line, str) else line[0] for line in told)
    pending = [each for each in state.standing.pending if each.pod not in said][:3]
    coming = [each for each in state.standing.coming if each.pod not in said][:3]
    lines: list[str | tuple[str, Tone]] = [
        (f"{each.pod} has no node yet: {each.why or 'the scheduler has not said why'}", Tone.WARN) for each in pending
    ]
    return [*lines, *((f"{each.pod} is not Ready yet: {each.why or 'it is starting'}", Tone.FAINT) for each in coming)]


def _reason(reason: Reason) -> list[str | tuple[str, Tone]]:
    """Subject and duration, reason, the usual duration, and the command that shows more."""
    of = " ".join(filter(None, (reason.of, f"(+{reason.more})" if reason.more else "")))
    since = f"for {duration(reason.for_s)}" if reason.for_s is not None else ""
    head = ", ".join(filter(None, (of, since)))
    lines: list[str | tuple[str, Tone]] = [(f"! {head}: {reason.why}" if head else f"! {reason.why}", Tone.WARN)]
    lines += [(f"  {reason.usual}", Tone.FAINT)] if reason.usual else []
    return [*lines, *([(f"  {reason.remedy}", Tone.GOOD)] if reason.remedy else [])]


def why(state: RunState, node: str | None, pod: str | None) -> list[str | tuple[str, Tone]]:
    """Why the pod under the cursor, or its node, is not gone."""
    course = state.chronicle.nodes.get(node or "")
    if course is None:
        return []
    waits = state.waits_of(course.node)
    found: list[str | tuple[str, Tone]] = []
    for reason in reasons_of(state, course.node, pod)[:_MOST_REASONS]:
        found += [*([""] if found else []), *_reason(reason)]
    if not found:
        found += [(f"{each.pod} waits: {each.why}", Tone.WARN) for each in waits[:_MOST_REASONS]]
    found += _not_told(state, found)
    kept = course.pods.get(pod or "")
    if kept is not None and kept.why and kept.state in (PodState.KEPT, PodState.REFUSED) and not waits:
        found.append((f"{kept.pod}: {kept.why}", Tone.BAD if kept.state is PodState.KEPT else Tone.WARN))
    if course.why:
        found.append((course.why, Tone.BAD if course.state is NodeState.ALONE else Tone.FAINT))
    if not found and course.state not in ENDS and course.begun_s is None:
        found.append(("its turn has not come", Tone.FAINT))
    if state.unknown:
        found.append((state.unknown, Tone.UNKNOWN))
    return found


def budgets(state: RunState) -> Sheet:
    """The tightest budgets first."""
    columns = (
        Column("BUDGET", middle=True, floor=21),
        Column("HEADROOM", drop=1),
        Column("HEALTHY/NEEDED/EXPECTED", short="H/N/E", right=True, drop=2),
        Column("NOW", floor=11),
    )
    if state.unknown:
        return text_sheet(UNKNOWN_BUDGETS)
    used = state.standing.budgets if state.standing is not None else ()
    waiting: dict[str, int] = {}
    for each in state.standing.waits if state.standing is not None and not state.over else ():
        if each.budget:
            waiting[each.budget] = waiting.get(each.budget, 0) + 1
    none = NO_BUDGET if state.standing is not None else NOT_YET
    ordered = sorted(used, key=lambda budget: (-waiting.get(budget.key, 0), budget.status.allowed, budget.key))
    return of_rows(columns, [(each.key, _budget(each, waiting.get(each.key, 0))) for each in ordered], none)


def _budget(budget: Budget, waiting: int) -> Cells:
    status = budget.status
    free = f"✓ room for {status.allowed}" if status.allowed else "· used up"
    now = Cell(f"! {waiting} waiting", Tone.WARN) if waiting else Cell(free)
    tone = Tone.WARN if waiting or not status.allowed else Tone.GOOD
    numbers = f"{status.current}/{status.desired}/{status.expected}"
    return [budget.key, Cell(headroom_bar(budget), tone), numbers, now]


_LOUD: dict[Happened, Tone] = {
    Happened.DONE: Tone.GOOD,
    Happened.RELEASED: Tone.GOOD,
    Happened.LEFT_ALONE: Tone.BAD,
    Happened.STOPPED: Tone.BAD,
}


def log(
    moments: Sequence[RunMoment], began: datetime, only_wrong: bool = False, wanted: str = "", last: int | None = None
) -> Sheet:
    """Events in order, at most the last `max_entries`; keys are indexes in `events`."""
    first = 0 if last is None else max(0, len(moments) - last)
    columns = (Column("TIME"), Column("WHAT", floor=9), Column("OF WHAT AND WHY", floor=20))
    kept = [
        at
        for at, moment in enumerate(moments[first:], first)
        if (not only_wrong or moment.what in WENT_WRONG)
        and (not wanted or wanted.lower() in " ".join(log_line(moment, began)).lower())
    ]
    widest = max((len(what.value) for what in Happened), default=9)

    def cells(key: str) -> Cells:
        moment = moments[int(key)]
        when, what, text = log_line(moment, began)
        tone = _LOUD.get(moment.what, Tone.WARN if moment.what in WENT_WRONG else None)
        return [Cell(when, Tone.FAINT), Cell(what, tone), text]

    nothing = "No entry matches." if wanted or only_wrong else "Nothing has happened yet."
    return Sheet(
        columns,
        (8, widest, 20),
        tuple(map(str, kept)),
        cells,
        fill=2,
        filled=lambda key, room: cells(key)[2],
        empty=nothing,
    )
