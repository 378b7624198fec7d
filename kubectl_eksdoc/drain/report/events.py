"""Events of a run as they happen: a line of text, or a line of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Literal

from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.report import result
from kubectl_eksdoc.report.result import KindResult, Printed, Seconds, Text, plain
from kubectl_eksdoc.report.text import Look, Tone, counted, cut, listing, shown

from ..run.events import Happened, RunMoment
from ..run.progress import Reason, RunProgress

_TONES: Mapping[Happened, Tone] = {
    Happened.DONE: Tone.GOOD,
    Happened.RELEASED: Tone.GOOD,
    Happened.REFUSED: Tone.WARN,
    Happened.KEPT: Tone.WARN,
    Happened.HELD: Tone.WARN,
    Happened.ADOPTED: Tone.WARN,
    Happened.LOST: Tone.WARN,
    Happened.LEFT_ALONE: Tone.BAD,
    Happened.STOPPED: Tone.BAD,
}

_WIDEST = max(len(what.value) for what in Happened)


def line(moment: RunMoment, at: datetime, look: Look) -> str:
    """``19:30:05Z  evicted     shop/web-1 on blue-1: why``, without a line break; `time` is when it happened."""
    when = at.astimezone(timezone.utc).strftime("%H:%M:%SZ")
    what = look.paint(moment.what.value.ljust(_WIDEST), _TONES.get(moment.what))
    text = shown(moment.subject, look)
    if moment.node:
        text += f" on {shown(moment.node, look)}"
    if moment.why:
        text += f": {shown(moment.why, look)}"
    return f"{when}  {what}  {text}"


def event_line(moment: RunMoment, run: str, at: datetime) -> str:
    """The event as a line of JSON."""
    return json_line(event(moment, run, at))


def json_line(result: Printed) -> str:
    """One line of pure ASCII with a line break, so that a reader can split the output at lines."""
    return json.dumps(plain(result), ensure_ascii=True, allow_nan=False, separators=(",", ":")) + "\n"


# An event of a run: a line of ``drain run -o json``. null: unknown.


class EventResult(KindResult):
    """One event of a drain, printed when it happens: a line of kubectl eksdoc drain run -o json."""

    kind: Literal["DrainRunEvent"]
    run: Text
    """The id of the run."""
    at: result.Moment
    """By the clock of the machine that leads the run."""
    seconds: Seconds
    """From the start of this part of the run."""
    what: Happened
    subject: Text
    """A node, a pod (namespace/name), or the drain; for a restart that is read from a journal, the workload (Deployment
    namespace/name)."""
    node: Text | None
    """The pod's node; null where the subject is a node."""
    why: Text | None
    """For a refusal, the API server's cause or message; for the drain, who or what held it."""


def event(moment: RunMoment, run: str, at: datetime) -> EventResult:
    return EventResult.filled(moment, run=run, at=at, seconds=moment.at_s)


# Progress of a run on one line: counts, remaining time, and the unfinished parts if it stops now.


_MOST_NAMES = 3


def progress(stands: RunProgress, look: Look) -> str:
    """``51/116 pods · 3/12 nodes · stop now: 2 pods leaving, 1 node half empty · 1m55s, about 2m50s left``, cut to the
    width; the least important part comes last."""
    parts = [f"{stands.gone}/{stands.pods} pods", f"{len(stands.done)}/{stands.nodes} nodes"]
    if not (stands.stopped or stands.held):
        parts.append(f"stop now: {left_by_stopping(stands)}")
    passed = duration(stands.at_s)
    wide = f" ({stands.why_wide})" if stands.is_wide else ""
    parts.append(passed if stands.left_s is None else f"{passed}, about {left(stands)} left{wide}")
    if stands.alone:
        parts.append(f"{len(stands.alone)} left alone")
    reason = stands.stopped or stands.held
    if reason:
        parts.append(f"{'stopping' if stands.stopped else 'held'}: {reason}")
    elif stands.unready:
        parts.append(f"{counted(len(stands.unready), 'replacement')} not Ready yet")
    elif stands.waits:
        parts.append(f"{counted(len(stands.waits), 'pod')} waiting")
    dot = " | " if look.ascii else " · "
    return cut(dot.join(shown(part, look) for part in parts), look.columns - 1, look)


_MOST_REASONS = 5


def why_it_waits(reasons: Sequence[Reason], for_s: float, now: datetime, look: Look) -> list[str]:
    """``08:34:18Z  waiting     shop/web-1 on blue-2 (+2), for 2m10s: budget …; usually …; see: kubectl …``."""
    head = f"{now:%H:%M:%S}Z  {'waiting':<11}"
    if not reasons:
        return [f"{head} nothing has happened for {duration(for_s)}"]
    lines = [f"{head} {shown(_reason(each), look)}" for each in reasons[:_MOST_REASONS]]
    if (more := len(reasons) - _MOST_REASONS) > 0:
        lines.append(f"{head} and for {more} more")
    return lines


def _reason(reason: Reason) -> str:
    of = reason.of + (f" (+{reason.more})" if reason.more else "")
    of += f", for {duration(reason.for_s)}" if reason.for_s is not None else ""
    why = f"{of}: {reason.why}" if of else reason.why
    return "; ".join(filter(None, (why, reason.usual, f"see: {reason.remedy}" if reason.remedy else "")))


def left_by_stopping(stands: RunProgress, brief: bool = False) -> str:
    """The unfinished parts if the run stops now, as a clause."""
    parts = (
        (len(stands.leaving), f"{counted(len(stands.leaving), 'pod')} leaving", "leaving"),
        (len(stands.half), f"{counted(len(stands.half), 'node')} half empty", "half empty"),
        (len(stands.cordoned), f"{len(stands.cordoned)} cordoned and full", "full"),
        (len(stands.cordoned_only), f"{len(stands.cordoned_only)} skipped and cordoned", "skipped"),
    )
    said = (f"{count} {short}" if brief else long for count, long, short in parts if count)
    return ", ".join(said) or "nothing is half done"


def stop_in_full(stands: RunProgress) -> str:
    """The unfinished parts if the run stops now, in sentences with names; shown before the user stops it."""
    said = []
    if stands.leaving:
        names = listing(stands.leaving, _MOST_NAMES, Look())
        said.append(f"{counted(len(stands.leaving), 'pod')} would still leave, whatever is done: {names}.")
    if stands.half:
        names = listing((f"{name} ({left} left)" for name, left in stands.half), _MOST_NAMES, Look())
        said.append(f"Half empty: {names}.")
    if stands.cordoned:
        said.append(f"Cordoned and still full: {listing(stands.cordoned, _MOST_NAMES, Look())}.")
    if stands.cordoned_only:
        names = listing(stands.cordoned_only, _MOST_NAMES, Look())
        said.append(f"Skipped, and cordoned until a rollback: {names}.")
    return " ".join(said) or "Nothing is half done."


def left(stands: RunProgress) -> str:
    """``45s``, or ``45s to 1m20s`` where the remaining time is uncertain."""
    least = duration(stands.left_s or 0.0)
    return f"{least} to {duration(stands.slow_left_s or 0.0)}" if stands.is_wide else least
