"""Text form of a run's journal: one line of JSON for each entry, in files and ConfigMaps.

Lines are ASCII, so that a journal can be truncated at any byte, and contain no line end except their own. A missing
field has its default; an unknown field, written by a newer version of this tool, is ignored. A line of another format,
or of an unknown entry, is dropped with a message and does not affect other lines.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, replace
from datetime import datetime, timezone
from typing import Any, Generic, NoReturn, TypeVar

import msgspec

from kubectl_eksdoc.model.api_objects import API_VERSION, DRAIN_RUN, DRAIN_RUN_EVENT, DRAIN_RUN_STANDING
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.journal import (
    IntentEntry,
    JournalEntries,
    JournalEntry,
    NoteEntry,
    ResultEntry,
    RunEnd,
    RunEvent,
    RunEvents,
    RunStanding,
    RunStarted,
    TimingEntry,
)
from kubectl_eksdoc.model.snapshots import FORMAT as SNAPSHOTS_FORMAT
from kubectl_eksdoc.model.snapshots import SceneManifest, Snapshot

FORMAT = 1

_TYPES: Mapping[str, type[JournalEntry]] = {
    "begun": RunStarted,
    "intent": IntentEntry,
    "result": ResultEntry,
    "note": NoteEntry,
    "timed": TimingEntry,
}
_WORDS = {kind: word for word, kind in _TYPES.items()}
_OPTIONAL = {kind: {each.name for each in fields(kind) if each.default is not MISSING} for kind in _WORDS}
_OMITTED_VALUES: tuple[object, ...] = ("", None, [], ())
_MAX_SHOWN = 60


def entry_line(entry: JournalEntry) -> str:
    """One entry with its line end. Its time must be in UTC."""
    fields_by_name: dict[str, Any] = msgspec.to_builtins(entry)
    optional = _OPTIONAL[type(entry)]
    written_fields = {
        key: value for key, value in fields_by_name.items() if key not in optional or value not in _OMITTED_VALUES
    }
    head = {"v": FORMAT, "entry": _WORDS[type(entry)]}
    return json.dumps({**head, **written_fields}, ensure_ascii=True, separators=(",", ":")) + "\n"


def entry_lines(entries: Iterable[JournalEntry]) -> str:
    return "".join(map(entry_line, entries))


def read_journal(text: bytes, source: str) -> JournalEntries:
    """All valid entries; `source` (a file, a key of a ConfigMap) is named in the message about every other line."""
    entries: list[JournalEntry] = []
    dropped: list[str] = []
    for number, each in enumerate(text.split(b"\n"), 1):
        if not each.strip():
            continue
        try:
            entries.append(_parse_entry(each))
        except _InvalidLine as problem:
            dropped.append(f"{source}, line {number}: {problem}")
    return JournalEntries(tuple(entries), tuple(dropped))


class _InvalidLine(ValueError):
    """A line that is not an entry; the message gives the reason."""


def _parse_entry(text: bytes) -> JournalEntry:
    try:
        document = json.loads(text.decode("ascii"), parse_constant=_reject_constant)
    except RecursionError as error:
        raise _InvalidLine("it is nested too deeply") from error
    except ValueError as error:  # not JSON, not ASCII, or a number of thousands of digits
        raise _InvalidLine("it is truncated, or is not a journal line") from error
    if not isinstance(document, dict):
        raise _InvalidLine("it is JSON, but no entry")
    if document.get("v") != FORMAT or document["v"] is True:
        raise _InvalidLine(f"its format is {_shortened(document.get('v'))}, and this version reads only {FORMAT}")
    word = document.get("entry")
    kind = _TYPES.get(word) if isinstance(word, str) else None
    if kind is None:
        raise _InvalidLine(f"an entry {_shortened(word)} is not known to this version")
    try:
        entry: JournalEntry = msgspec.convert(document, kind)
    except (msgspec.ValidationError, RecursionError, ValueError) as error:
        raise _InvalidLine(f"its {word} is not as this version writes it: {_shortened(error)}") from error
    if entry.at.tzinfo is None or entry.at.utcoffset() or entry.number < 0:
        raise _InvalidLine(f"its {word} has a time that is not in UTC, or a number below 0")
    return entry


def _reject_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number in JSON")


def _shortened(value: object) -> str:
    text = str(value) if isinstance(value, (Exception, int)) else json.dumps(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


# Reader of the output of ``drain run -o json``: one document on each line, as defined in DrainRunEvent.json and
# DrainRun.json.
#
# Any input can be read: a line that is no such document (a shell may have mixed in others) is dropped with a message
# and does not affect other lines. An unknown field, written by a newer version of this tool, is ignored.


_MAX_RUN_S = 10 * 365 * 86400
"""No run lasts ten years, and no clock counts that far."""
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
    who: str = ""
    host: str = ""


def read_events(text: bytes, source: str) -> RunEvents:
    """All valid documents of a run; `source` is named in the message about every other line."""
    records: list[RunEvent | RunEnd | RunStanding] = []
    dropped: list[str] = []
    for number, each in enumerate(text.split(b"\n"), 1):
        if not each.strip():
            continue
        try:
            records.append(_parse_event_line(each))
        except _InvalidEventLine as problem:
            dropped.append(f"{source}, line {number}: {problem}")
    standings = tuple(each for each in records if isinstance(each, RunStanding))
    return RunEvents(tuple(each for each in records if not isinstance(each, RunStanding)), tuple(dropped), standings)


def standing_line(standing: RunStanding) -> str:
    """The line, with its line end."""
    head = {"apiVersion": API_VERSION, "kind": DRAIN_RUN_STANDING}
    written_fields = {
        key: value for key, value in msgspec.to_builtins(standing).items() if value not in _OMITTED_VALUES
    }
    return json.dumps({**head, **written_fields}, ensure_ascii=True, separators=(",", ":")) + "\n"


class _InvalidEventLine(ValueError):
    """A line that is not a document of a run; the message gives the reason."""


def _parse_event_line(text: bytes) -> RunEvent | RunEnd | RunStanding:
    try:
        document = json.loads(text.decode("utf-8"), parse_constant=_reject_constant)
    except RecursionError as error:
        raise _InvalidEventLine("it is nested too deeply") from error
    except ValueError as error:  # not JSON, not UTF-8, or a number of thousands of digits
        raise _InvalidEventLine("it is truncated, or is not JSON") from error
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind not in (DRAIN_RUN_EVENT, DRAIN_RUN, DRAIN_RUN_STANDING) or document.get("apiVersion") != API_VERSION:
        raise _InvalidEventLine(f"it is no {DRAIN_RUN_EVENT} of {API_VERSION}")
    try:
        if kind == DRAIN_RUN:
            return _run_end(msgspec.convert(document, _Run))
        if kind == DRAIN_RUN_STANDING:
            standing = msgspec.convert(document, RunStanding)
            return replace(standing, at=_to_utc(standing.at))
        event = msgspec.convert(document, _Event)
        at, at_s = _to_utc(event.at), _checked_seconds(event.seconds)
        return RunEvent(event.run, at, at_s, event.what, event.subject, event.node or "", event.why or "")
    except (msgspec.ValidationError, RecursionError, OverflowError) as error:
        raise _InvalidEventLine(f"its {kind} is not as this version writes it: {str(error)[:_MAX_SHOWN]}") from error


def _to_utc(time: datetime) -> datetime:
    if time.tzinfo is None:
        raise _InvalidEventLine("its time has no zone")
    at = time.astimezone(timezone.utc)
    if not _FIRST_YEAR <= at.year <= _LAST_YEAR:
        raise _InvalidEventLine(f"the year {at.year} is none of a run")
    return at


def _run_end(run: _Run) -> RunEnd:
    estimate = run.plan.estimate or _Estimate()
    return RunEnd(
        run.run,
        run.outcome,
        _checked_seconds(run.endedSeconds),
        run.stopped or "",
        run.resumed,
        tuple((node.name, node.wave or 0) for node in run.nodes),
        tuple(run.notEmptied),
        run.plan.evictions,
        None if estimate.p50 is None else _checked_seconds(estimate.p50),
        None if estimate.p95 is None else _checked_seconds(estimate.p95),
        tuple(run.againstPlan),
        f"{run.who}@{run.host}" if run.who else "",
    )


def _checked_seconds(value: float) -> float:
    if not (math.isfinite(value) and 0 <= value <= _MAX_RUN_S):
        raise _InvalidEventLine(f"{value:g} are no seconds of a run")
    return value


# The manifest of a snapshot as JSON.


KIND = "SnapshotManifest"


class InvalidManifest(ValueError):
    """The text is not a manifest of a snapshot; the message gives the reason."""


class NewerFormat(InvalidManifest):
    """A newer version of the tool wrote it."""


def write_manifest(snapshot: Snapshot) -> bytes:
    scenes = {name: msgspec.to_builtins(scene) for name, scene in snapshot.scenes.items()}
    body = {
        "apiVersion": "eksdoc.io/v1alpha1",
        "kind": KIND,
        "format": SNAPSHOTS_FORMAT,
        "tool": snapshot.tool,
        "source": snapshot.source.value,
        "scenes": scenes,
    }
    return msgspec.json.format(msgspec.json.encode(body), indent=1)


def read_manifest(text: bytes) -> Snapshot:
    """Parse a manifest.

    Raises:
        NewerFormat: a newer version wrote it.
        InvalidManifest: it is no manifest.
    """
    try:
        body = msgspec.json.decode(text)
        if body["kind"] != KIND:
            raise InvalidManifest(f"it is {str(body['kind'])[:80]!r}")
        if body["format"] != SNAPSHOTS_FORMAT:
            raise NewerFormat(f"it is of format {str(body['format'])[:20]}, and this tool reads {SNAPSHOTS_FORMAT}")
        scenes = {name: msgspec.convert(each, SceneManifest) for name, each in body["scenes"].items()}
        if "" not in scenes:
            raise InvalidManifest("it has no scene that all commands see")
        return Snapshot(str(body["tool"]), Source(body["source"]), scenes)
    except InvalidManifest:
        raise
    except (msgspec.MsgspecError, KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise InvalidManifest(f"{type(error).__name__}: {error}") from error


# Values that are cached on this machine, in the form of their class, with a version.


T = TypeVar("T")


class _VersionedValue(msgspec.Struct, Generic[T]):
    version: int
    of: T


def write_versioned(version: int, value: object) -> bytes:
    return msgspec.json.encode(_VersionedValue(version, value))


def read_versioned(content: bytes, version: int, value_type: type[T]) -> T | None:
    """The value; None if `write_versioned` did not write it in that version."""
    envelope_type: Any = _VersionedValue
    try:
        versioned: _VersionedValue[T] = msgspec.json.decode(content, type=envelope_type[value_type])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return versioned.of if versioned.version == version else None
