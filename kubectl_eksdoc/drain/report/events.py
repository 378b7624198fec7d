"""Events of a run as they happen: a line of text, or a line of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Literal

from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.report import result
from kubectl_eksdoc.report.result import KindResult, Printed, Seconds, Text, to_json_types
from kubectl_eksdoc.report.text import Appearance, Tone, list_names, pluralize, printable, truncate

from ..run.events import DrainEvent, DrainEventKind
from ..run.progress import Reason, RunProgress

_TONES: Mapping[DrainEventKind, Tone] = {
    DrainEventKind.DONE: Tone.GOOD,
    DrainEventKind.RELEASED: Tone.GOOD,
    DrainEventKind.REFUSED: Tone.WARN,
    DrainEventKind.KEPT: Tone.WARN,
    DrainEventKind.HELD: Tone.WARN,
    DrainEventKind.ADOPTED: Tone.WARN,
    DrainEventKind.LOST: Tone.WARN,
    DrainEventKind.LEFT_ALONE: Tone.BAD,
    DrainEventKind.STOPPED: Tone.BAD,
}

_KIND_WIDTH = max(len(what.value) for what in DrainEventKind)


def line(run_event: DrainEvent, time: datetime, appearance: Appearance) -> str:
    """``19:30:05Z  evicted     shop/web-1 on blue-1: why``, without a line break; `time` is when it happened."""
    timestamp = time.astimezone(timezone.utc).strftime("%H:%M:%SZ")
    kind = appearance.paint(run_event.what.value.ljust(_KIND_WIDTH), _TONES.get(run_event.what))
    text = printable(run_event.subject, appearance)
    if run_event.node:
        text += f" on {printable(run_event.node, appearance)}"
    if run_event.why:
        text += f": {printable(run_event.why, appearance)}"
    return f"{timestamp}  {kind}  {text}"


def event_line(run_event: DrainEvent, run: str, time: datetime) -> str:
    """The event as a line of JSON."""
    return json_line(event_result(run_event, run, time))


def json_line(result: Printed) -> str:
    """One line of pure ASCII with a line break, so that a reader can split the output at lines."""
    return json.dumps(to_json_types(result), ensure_ascii=True, allow_nan=False, separators=(",", ":")) + "\n"


# An event of a run: a line of ``drain run -o json``. null: unknown.


class EventResult(KindResult):
    """One event of a drain, printed when it happens: a line of kubectl eksdoc drain run -o json."""

    kind: Literal["DrainRunEvent"]
    run: Text
    """The id of the run."""
    at: result.Timestamp
    """By the clock of the machine that leads the run."""
    seconds: Seconds
    """From the start of this part of the run."""
    what: DrainEventKind
    subject: Text
    """A node, a pod (namespace/name), or the drain; for a restart that is read from a journal, the workload (Deployment
    namespace/name)."""
    node: Text | None
    """The pod's node; null where the subject is a node."""
    why: Text | None
    """For a refusal, the API server's cause or message; for the drain, who or what held it."""


def event_result(run_event: DrainEvent, run: str, time: datetime) -> EventResult:
    return EventResult.from_facts(run_event, run=run, at=time, seconds=run_event.at_s)


# Progress of a run on one line: counts, remaining time, and the unfinished parts if it stops now.


_MAX_NAMES = 3


def progress_line(progress: RunProgress, appearance: Appearance) -> str:
    """``51/116 pods · 3/12 nodes · stop now: 2 pods leaving, 1 node half empty · 1m55s, about 2m50s left``, cut to the
    width; the least important part comes last."""
    parts = [f"{progress.gone}/{progress.pods} pods", f"{len(progress.done)}/{progress.nodes} nodes"]
    if not (progress.stop_reason or progress.hold_reason):
        parts.append(f"stop now: {unfinished(progress)}")
    elapsed = format_duration(progress.at_s)
    range_reason = f" ({progress.range_reason})" if progress.is_wide else ""
    parts.append(
        elapsed if progress.remaining_s is None else f"{elapsed}, about {remaining_time(progress)} left{range_reason}"
    )
    if progress.left_alone:
        parts.append(f"{len(progress.left_alone)} left alone")
    reason = progress.stop_reason or progress.hold_reason
    if reason:
        parts.append(f"{'stopping' if progress.stop_reason else 'held'}: {reason}")
    elif progress.unready:
        parts.append(f"{pluralize(len(progress.unready), 'replacement')} not Ready yet")
    elif progress.waiting_pods:
        parts.append(f"{pluralize(len(progress.waiting_pods), 'pod')} waiting")
    dot = " | " if appearance.ascii else " · "
    return truncate(dot.join(printable(part, appearance) for part in parts), appearance.columns - 1, appearance)


_MAX_REASONS = 5


def wait_lines(reasons: Sequence[Reason], wait_s: float, now: datetime, appearance: Appearance) -> list[str]:
    """``08:34:18Z  waiting     shop/web-1 on blue-2 (+2), for 2m10s: budget …; usually …; see: kubectl …``."""
    prefix = f"{now:%H:%M:%S}Z  {'waiting':<11}"
    if not reasons:
        return [f"{prefix} nothing has happened for {format_duration(wait_s)}"]
    lines = [f"{prefix} {printable(_reason_text(each), appearance)}" for each in reasons[:_MAX_REASONS]]
    if (more := len(reasons) - _MAX_REASONS) > 0:
        lines.append(f"{prefix} and for {more} more")
    return lines


def _reason_text(reason: Reason) -> str:
    subject = reason.subject + (f" (+{reason.others})" if reason.others else "")
    subject += f", for {format_duration(reason.for_s)}" if reason.for_s is not None else ""
    text = f"{subject}: {reason.reason}" if subject else reason.reason
    return "; ".join(filter(None, (text, reason.typical, f"see: {reason.remedy}" if reason.remedy else "")))


def unfinished(progress: RunProgress, brief: bool = False) -> str:
    """The unfinished parts if the run stops now, as a clause."""
    parts = (
        (len(progress.in_flight), f"{pluralize(len(progress.in_flight), 'pod')} leaving", "leaving"),
        (len(progress.half_drained), f"{pluralize(len(progress.half_drained), 'node')} half empty", "half empty"),
        (len(progress.cordoned), f"{len(progress.cordoned)} cordoned and full", "full"),
        (len(progress.cordoned_only), f"{len(progress.cordoned_only)} skipped and cordoned", "skipped"),
    )
    texts = (f"{count} {short_text}" if brief else long_text for count, long_text, short_text in parts if count)
    return ", ".join(texts) or "nothing is half done"


def unfinished_with_names(progress: RunProgress) -> str:
    """The unfinished parts if the run stops now, in sentences with names; shown before the user stops it."""
    sentences = []
    if progress.in_flight:
        names = list_names(progress.in_flight, _MAX_NAMES, Appearance())
        sentences.append(f"{pluralize(len(progress.in_flight), 'pod')} would still leave, whatever is done: {names}.")
    if progress.half_drained:
        names = list_names(
            (f"{name} ({remaining} left)" for name, remaining in progress.half_drained), _MAX_NAMES, Appearance()
        )
        sentences.append(f"Half empty: {names}.")
    if progress.cordoned:
        sentences.append(f"Cordoned and still full: {list_names(progress.cordoned, _MAX_NAMES, Appearance())}.")
    if progress.cordoned_only:
        names = list_names(progress.cordoned_only, _MAX_NAMES, Appearance())
        sentences.append(f"Skipped, and cordoned until a rollback: {names}.")
    return " ".join(sentences) or "Nothing is half done."


def remaining_time(progress: RunProgress) -> str:
    """``45s``, or ``45s to 1m20s`` where the remaining time is uncertain."""
    shortest = format_duration(progress.remaining_s or 0.0)
    return f"{shortest} to {format_duration(progress.slow_remaining_s or 0.0)}" if progress.is_wide else shortest
