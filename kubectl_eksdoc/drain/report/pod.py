"""Details of one pod: its containers, its Events and the end of its logs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from kubectl_eksdoc.kubernetes.redaction import redact_message
from kubectl_eksdoc.model.interruption import PodReport
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.nodes import ContainerRunState
from kubectl_eksdoc.report.text import Tone, format_age, pluralize, time_between

Line = str | tuple[str, Tone]


def pod_lines(report: PodReport, now: datetime, logs_first: bool = False) -> list[Line]:
    """The lines; unknown values are named as unknown."""
    sections = (_containers(report), _events(report, now), _logs(report))
    ordered = (sections[2], *sections[:2]) if logs_first else sections
    return [line for part in ordered for line in (*part, "")][:-1]


def _title(text: str) -> Line:
    return text, Tone.TITLE


def _missing(subject: str, value: Absent | Unknown) -> Line:
    if isinstance(value, Absent):
        return f"! {subject}: {value.said}", Tone.WARN
    missing = f" (missing permission: {value.missing})" if value.missing else ""
    return f"? {subject} unknown: {value.why}{missing}", Tone.UNKNOWN


def _containers(report: PodReport) -> Iterator[Line]:
    yield _title("Containers")
    if not isinstance(report.containers, tuple):
        yield _missing("containers", report.containers)
    elif not report.containers:
        yield "? the cluster names none", Tone.UNKNOWN
    else:
        for container in report.containers:
            state = container.runs.value or "state unknown"
            ended = container.runs is ContainerRunState.ENDED
            is_good = container.ready or (container.init and ended)
            ready = "" if ended else ", ready" if container.ready else ", not ready"
            symbol, tone = ("✓", Tone.GOOD) if is_good else ("!", Tone.WARN)
            yield f"{symbol} {'init ' if container.init else ''}{container.name}: {state}{ready}", tone
            if container.image:
                yield f"    image     {redact_message(container.image)}"
            if container.restarts or container.ended_as:
                ended_as = f", last ended as {container.ended_as}" if container.ended_as else ""
                yield f"    restarts  {container.restarts}{ended_as}", Tone.WARN


def _events(report: PodReport, now: datetime) -> Iterator[Line]:
    yield _title("Events (the newest first)")
    if not isinstance(report.events, tuple):
        yield _missing("events", report.events)
    elif not report.events:
        yield "· none: Kubernetes keeps them for an hour", Tone.FAINT
    else:
        for event in report.events:
            line = (
                f"{format_age(time_between(event.at, now)):>4}  "
                f"{event.reason}{f' x{event.count}' if event.count > 1 else ''}"
            )
            text = f"{line}: {event.message}" if event.message else line
            yield (f"! {text}", Tone.WARN) if event.warning else f"  {text}"


def _logs(report: PodReport) -> Iterator[Line]:
    for log, text in report.logs.items():
        previous = " before it ended" if log.previous else ""
        if isinstance(text, str):
            lines = [redact_message(line) for line in text.splitlines()]
            yield _title(f"Log of {log.container}{previous}, the last {pluralize(len(lines), 'line')}")
            yield from lines
            if not lines:
                yield "· it printed nothing", Tone.FAINT
        else:
            yield _title(f"Log of {log.container}{previous}")
            yield _missing("log", text)
    if not report.logs:
        yield _title("Logs")
        yield "? none could be asked for: no container is known", Tone.UNKNOWN
