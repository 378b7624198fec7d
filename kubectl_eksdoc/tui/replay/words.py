"""What the head of a replay says: where in its time it is, how far the run was then, what went wrong last."""

from __future__ import annotations

from kubectl_eksdoc.core.run.moments import WENT_WRONG
from kubectl_eksdoc.core.run.recording import Source
from kubectl_eksdoc.render.look import Tone
from kubectl_eksdoc.render.text import counted
from kubectl_eksdoc.render.times import duration
from kubectl_eksdoc.tui.replay.live import ReplayState
from kubectl_eksdoc.tui.run.words import Head, bar, log_line

_BAR = 16
_FROM = {Source.JOURNAL: "by its journal", Source.EVENTS: "by its events"}


def head(state: ReplayState) -> Head:
    notice, tone = _notice(state)
    return Head(_identity(state), _line(state), notice, tone, _beside(state))


def _identity(state: ReplayState) -> str:
    """``eksdoc  REPLAY 5x  1m55s of 4m47s  run 7f3a, begun 2026-11-20 09:00:00Z by ann@host, by its journal``."""
    replay, recording = state.replay, state.recording
    how = "ENDED" if replay.at_end else "STANDS STILL" if replay.paused else "RUNS"
    where = f"{duration(replay.at_s)} of {duration(recording.length_s)}"
    by = f" by {recording.by}" if recording.by else ""
    begun = f"begun {recording.began_at:%Y-%m-%d %H:%M:%S}Z{by}"
    return f"eksdoc  REPLAY {how} {replay.speed:g}x  {where}  run {state.live.run}, {begun}, {_FROM[recording.source]}"


def _line(state: ReplayState) -> str:
    """``▇▇▇▇───  2 of 5 nodes drained · 7 pods gone so far, 37 planned · 3 refusals``: the bar is of its time."""
    recording = state.recording
    done = bar(round(state.replay.at_s), max(round(recording.length_s), 1), _BAR)
    parts = [state.nodes_done, state.pods_gone]
    if state.chronicle.refusals:
        parts.append(counted(state.chronicle.refusals, "refusal"))
    return f"{done[:_BAR]}  {' · '.join(parts)}"


def _notice(state: ReplayState) -> tuple[str, Tone | None]:
    """How it ended, else why nothing is asked for, else what went wrong last."""
    chronicle = state.chronicle
    if state.outcome is not None:
        sign, tone = state.outcome.sign
        return f"{sign} {state.outcome.said}", tone
    if chronicle.stopped or chronicle.held:
        why = f"stopped: {chronicle.stopped}" if chronicle.stopped else f"held: {chronicle.held}"
        return f"! {why}", Tone.WARN
    wrong = next((moment for moment in reversed(chronicle.moments) if moment.what in WENT_WRONG), None)
    if wrong is None:
        return "nothing went wrong so far", None
    return f"! last: {' '.join(log_line(wrong, state.live.began_at))}", Tone.WARN


def _beside(state: ReplayState) -> str:
    """What was planned, and whether the file is whole."""
    recording, parts = state.recording, []
    planned, dropped = recording.planned, len(recording.dropped)
    if planned is not None and planned.p50_s is not None:
        p95 = f" (p95 {duration(planned.p95_s)})" if planned.p95_s is not None else ""
        parts.append(f"planned about {duration(planned.p50_s)}{p95}")
    if dropped:
        parts.append(f"! {counted(dropped, 'thing')} in the file could not be taken into account: its end says which")
    return " · ".join(parts)
