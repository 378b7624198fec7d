"""Details of one pod: its containers, its Events and the end of its logs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from kubectl_eksdoc.kubernetes.redaction import hidden
from kubectl_eksdoc.model.interruption import PodReport
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.nodes import ContainerRunState
from kubectl_eksdoc.report.text import Tone, age, between, counted

Line = str | tuple[str, Tone]


def pod_lines(report: PodReport, now: datetime, logs_first: bool = False) -> list[Line]:
    """The lines; unknown values are named as unknown."""
    parts = (_containers(report), _events(report, now), _logs(report))
    ordered = (parts[2], *parts[:2]) if logs_first else parts
    return [line for part in ordered for line in (*part, "")][:-1]


def _title(text: str) -> Line:
    return text, Tone.TITLE


def _not_known(what: str, answer: Absent | Unknown) -> Line:
    if isinstance(answer, Absent):
        return f"! {what}: {answer.said}", Tone.WARN
    missing = f" (missing permission: {answer.missing})" if answer.missing else ""
    return f"? {what} unknown: {answer.why}{missing}", Tone.UNKNOWN


def _containers(report: PodReport) -> Iterator[Line]:
    yield _title("Containers")
    if not isinstance(report.containers, tuple):
        yield _not_known("containers", report.containers)
    elif not report.containers:
        yield "? the cluster names none", Tone.UNKNOWN
    else:
        for each in report.containers:
            runs = each.runs.value or "state unknown"
            ended = each.runs is ContainerRunState.ENDED
            good = each.ready or (each.init and ended)
            ready = "" if ended else ", ready" if each.ready else ", not ready"
            sign, tone = ("✓", Tone.GOOD) if good else ("!", Tone.WARN)
            yield f"{sign} {'init ' if each.init else ''}{each.name}: {runs}{ready}", tone
            if each.image:
                yield f"    image     {hidden(each.image)}"
            if each.restarts or each.ended_as:
                ended_as = f", last ended as {each.ended_as}" if each.ended_as else ""
                yield f"    restarts  {each.restarts}{ended_as}", Tone.WARN


def _events(report: PodReport, now: datetime) -> Iterator[Line]:
    yield _title("Events (the newest first)")
    if not isinstance(report.events, tuple):
        yield _not_known("events", report.events)
    elif not report.events:
        yield "· none: Kubernetes keeps them for an hour", Tone.FAINT
    else:
        for each in report.events:
            line = f"{age(between(each.at, now)):>4}  {each.reason}{f' x{each.count}' if each.count > 1 else ''}"
            said = f"{line}: {each.message}" if each.message else line
            yield (f"! {said}", Tone.WARN) if each.warning else f"  {said}"


def _logs(report: PodReport) -> Iterator[Line]:
    for log, text in report.logs.items():
        before = " before it ended" if log.previous else ""
        if isinstance(text, str):
            lines = [hidden(line) for line in text.splitlines()]
            yield _title(f"Log of {log.container}{before}, the last {counted(len(lines), 'line')}")
            yield from lines
            if not lines:
                yield "· it printed nothing", Tone.FAINT
        else:
            yield _title(f"Log of {log.container}{before}")
            yield _not_known("log", text)
    if not report.logs:
        yield _title("Logs")
        yield "? none could be asked for: no container is known", Tone.UNKNOWN
