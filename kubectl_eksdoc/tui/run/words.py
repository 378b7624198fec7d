"""What the head of a run's screens says: which run, how far it is, what is half done if it stops now, what it waits
for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from kubectl_eksdoc.core.run.chronicle import ENDS, NodeState
from kubectl_eksdoc.core.run.moments import Moment
from kubectl_eksdoc.core.run.standing import Standing
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.run import stands
from kubectl_eksdoc.render.text import counted, shown
from kubectl_eksdoc.render.times import duration
from kubectl_eksdoc.tui.reading import brief
from kubectl_eksdoc.tui.run.desk import Kind
from kubectl_eksdoc.tui.run.state import RunState, Stage

_BAR = 24
_SPARK = 10
_BLOCKS = "▁▂▃▄▅▆▇"


class Head(NamedTuple):
    """The lines at the top: which run, how far it is, what matters most now, and what is half done."""

    identity: str
    line: str
    notice: str
    tone: Tone | None = None
    half: str = ""


def identity(state: RunState, name: str) -> str:
    """``eksdoc  demo-shop  RUNNING 1m55s, planned about 4m47s (p95 9m10s)``; of a run that was gone on with times are
    of what was left of it, and are said to be."""
    view = state.live.view
    estimate = view.plan.estimate if view is not None else None
    planned = f"planned about {duration(estimate.p50_s)} (p95 {duration(estimate.p95_s)})" if estimate else ""
    of = f", {planned}" if planned and not state.over else ""
    of = f" since resumed{of.replace('planned', 'the rest planned')}" if _goes_on(state) else of
    speed = f"  {state.live.speed:g} s pass in one" if state.live.speed != 1.0 else ""
    lasted = f" {duration(state.at_s)}" if state.drains else ""  # giving back takes a moment
    return f"eksdoc  {name}  {state.stage.value}{lasted}{of}{speed}"


def _goes_on(state: RunState) -> bool:
    return state.live.kind is Kind.GO_ON


def line(state: RunState) -> str:
    """``Run 7f3a · wave 2 of 4 · 51 of 116 pods gone · about 2m50s left · ▇▇▇───── 44 %``: a narrow terminal cuts the
    bar."""
    if state.outcome is not None:
        return f"{state.outcome.sign[0]} Run {state.live.run}: {state.outcome.said}"
    chronicle = state.chronicle
    if not state.drains:
        return f"Run {state.live.run} · nodes are given back…"
    pods, gone = chronicle.pods, chronicle.gone
    done = gone / pods if pods else 0.0
    standing = state.standing if not chronicle.held else None
    parts = [
        f"Run {state.live.run}",
        _wave(state),
        state.pods_gone,
        f"about {stands.left(standing)} left" if standing is not None and standing.left_s is not None else "",
        f"{bar(gone, pods, _BAR)} {done:.0%}",
    ]
    return " · ".join(filter(None, parts))


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


def half(state: RunState) -> str:
    """What is half done if it stops now."""
    if state.over or state.standing is None or not state.drains:
        return ""
    when = "when it has stopped" if state.stage is Stage.STOPPING else "stop now"
    told = [f"{when}: {stands.left_by_stopping(state.standing)}", *_coming(state.standing)]
    if state.lowest:
        told.append(f"tightest PDB {sparkline(state.lowest, _SPARK)} {state.lowest[-1]}")
    return " · ".join(told)


def _coming(standing: Standing) -> list[str]:
    """``3 replacements not Ready: shop/web-x waits for target-health…``."""
    said = []
    if standing.pending:
        said.append(f"{counted(len(standing.pending), 'replacement')} without a node")
    if standing.coming:
        first = standing.coming[0]
        why = f": {first.pod} {first.why}" if first.why.startswith("waits for ") else ""
        said.append(f"{counted(len(standing.coming), 'replacement')} not Ready{why}")
    return said


def notice(state: RunState) -> tuple[str, Tone | None]:
    """What matters most now: why nothing is asked for, else what waits."""
    stage, standing = state.stage, state.standing
    if state.outcome is not None:
        more = state.outcome.more
        return (more[0] if more else "", state.outcome.sign[1])
    if standing is None:
        return ("the cluster is read once more, under the lock, before anything is done", None)
    if not state.drains:
        return ("", None)
    if state.is_silent:
        return (f"! nothing heard for {duration(state.silent_s)}: all this is as it was then", Tone.BAD)
    if stage in (Stage.STOPPING, Stage.PAUSING, Stage.PAUSED, Stage.HELD):
        why = {
            Stage.STOPPING: f"stopping: {standing.stopped or 'nothing more is asked for'}",
            Stage.PAUSING: "it is told to pause; what is being asked for now is still asked for",
            Stage.PAUSED: f"{standing.held or 'paused'}: nothing more is asked for; space goes on",
            Stage.HELD: f"held: {held(state)}",
        }[stage]
        return (f"! {why}", Tone.WARN)
    if standing.unready:
        others = len(standing.unready) - 1
        beside = f" and {others} more replacements" if others else ""
        return (f"every node is done; {standing.unready[0]}{beside} not Ready yet", Tone.WARN)
    if standing.waits:
        first = standing.waits[0]
        more_waits = f" (+{len(standing.waits) - 1})" if len(standing.waits) > 1 else ""
        return (f"! {first.pod} waits: {first.why}{more_waits}", Tone.WARN)
    return ("nothing waits", Tone.FAINT)


def held(state: RunState) -> str:
    """Why nothing more is asked for: first what went wrong, without the address of a server that everybody knows."""
    why = brief((state.standing.held if state.standing is not None else "") or state.chronicle.held, "the server ")
    return why if BY_ITSELF in why else f"{why}; it {BY_ITSELF}"


BY_ITSELF = "goes on by itself"


def bar(part: int, whole: int, room: int) -> str:
    """``▇▇▇───``: nothing is full before all of it is."""
    filled = part * room // whole if whole else 0
    return "▇" * filled + "─" * (room - filled)


def sparkline(values: Sequence[int], room: int) -> str:
    """The latest `room` of them, from nothing to the highest."""
    kept = values[-room:]
    highest = max(kept, default=0) or 1
    return "".join(_BLOCKS[min(value, highest) * (len(_BLOCKS) - 1) // highest] for value in kept)


def log_line(moment: Moment, began: datetime) -> tuple[str, str, str]:
    """When, what, and of what and why."""
    at = began + timedelta(seconds=moment.at_s)
    text = moment.subject + (f" on {moment.node}" if moment.node else "") + (f": {moment.why}" if moment.why else "")
    return f"{at:%H:%M:%S}", moment.what.value, text


def plain(text: str, look: Look) -> str:
    """For a Static that takes markup."""
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
