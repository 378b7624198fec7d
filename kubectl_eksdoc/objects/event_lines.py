"""Reads back what ``drain run -o json`` wrote: a document on each line, as DrainRunEvent.json and DrainRun.json say.

Reading is total: a line that is none of them (a shell may have mixed others in) is dropped with a word and takes no
other with it. What a line has too much a newer version of this tool wrote, and it is left out.
"""

from __future__ import annotations

import codecs
import json
import math
from datetime import datetime, timezone
from typing import NoReturn

import msgspec

from kubectl_eksdoc.core.model.documents import API_VERSION, DRAIN_RUN, DRAIN_RUN_EVENT
from kubectl_eksdoc.core.model.run_events import RunEnd, RunEvent, RunEvents

_LONGEST_SHOWN = 60
_LONGEST_S = 10 * 365 * 86400
"""No run lasts for ten years, and no clock counts so far."""
_FIRST_YEAR, _LAST_YEAR = 1970, 9000


class _Event(msgspec.Struct):
    run: str
    at: datetime
    seconds: float
    what: str
    subject: str
    node: str | None = None
    why: str | None = None


class _Estimate(msgspec.Struct):
    p50: float | None = None
    p95: float | None = None


class _Plan(msgspec.Struct):
    evictions: int | None = None
    estimate: _Estimate | None = None


class _Node(msgspec.Struct):
    name: str
    wave: int | None = None


class _Run(msgspec.Struct):
    run: str
    outcome: str
    endedSeconds: float = 0.0
    stopped: str | None = None
    resumed: bool = False
    plan: _Plan = msgspec.field(default_factory=_Plan)
    nodes: list[_Node] = []
    notEmptied: list[str] = []
    againstPlan: list[str] = []


_UTF16 = (codecs.BOM_UTF16_LE + "{".encode("utf-16-le"), codecs.BOM_UTF16_BE + "{".encode("utf-16-be"))
"""What events begin with there: a mark alone may be garbage before them."""


def read_events(text: bytes, where: str) -> RunEvents:
    """All documents of a run that are whole; `where` they stand is said of every line that is none. Windows PowerShell
    writes UTF-16."""
    if text.startswith(_UTF16):
        text = text.decode("utf-16", "replace").encode("utf-8", "replace")
    told: list[RunEvent | RunEnd] = []
    dropped: list[str] = []
    for number, each in enumerate(text.removeprefix(codecs.BOM_UTF8).split(b"\n"), 1):
        if not each.strip():
            continue
        try:
            told.append(_document(each))
        except _Strange as strange:
            dropped.append(f"{where}, line {number}: {strange}")
    return RunEvents(tuple(told), tuple(dropped))


class _Strange(ValueError):
    """A line that tells nothing of a run; the message says why."""


def _document(text: bytes) -> RunEvent | RunEnd:
    try:
        document = json.loads(text.decode("utf-8"), parse_constant=_no_number)
    except RecursionError as error:
        raise _Strange("it is nested too deeply") from error
    except ValueError as error:  # not JSON, not UTF-8, or a number of thousands of digits
        raise _Strange("it was cut off, or is no JSON") from error
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind not in (DRAIN_RUN_EVENT, DRAIN_RUN) or document.get("apiVersion") != API_VERSION:
        raise _Strange(f"it is no {DRAIN_RUN_EVENT} of {API_VERSION}")
    try:
        if kind == DRAIN_RUN:
            return _end(msgspec.convert(document, _Run))
        return _event(msgspec.convert(document, _Event))
    except (msgspec.ValidationError, RecursionError, OverflowError) as error:
        raise _Strange(f"its {kind} is not as this version writes it: {str(error)[:_LONGEST_SHOWN]}") from error


def _event(event: _Event) -> RunEvent:
    if event.at.tzinfo is None:
        raise _Strange("its time has no zone")
    at, at_s = event.at.astimezone(timezone.utc), _seconds(event.seconds)
    if not _FIRST_YEAR <= at.year <= _LAST_YEAR:
        raise _Strange(f"the year {at.year} is none of a run")
    return RunEvent(event.run, at, at_s, event.what, event.subject, event.node or "", event.why or "")


def _end(run: _Run) -> RunEnd:
    estimate = run.plan.estimate or _Estimate()
    return RunEnd(
        run.run,
        run.outcome,
        _seconds(run.endedSeconds),
        run.stopped or "",
        run.resumed,
        tuple((node.name, node.wave or 0) for node in run.nodes),
        tuple(run.notEmptied),
        run.plan.evictions,
        None if estimate.p50 is None else _seconds(estimate.p50),
        None if estimate.p95 is None else _seconds(estimate.p95),
        tuple(run.againstPlan),
    )


def _seconds(value: float) -> float:
    if not (math.isfinite(value) and 0 <= value <= _LONGEST_S):
        raise _Strange(f"{value:g} are no seconds of a run")
    return value


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number in JSON")
