"""Status of drain runs: the runs in the cluster, their history, and drains by other clients, in every format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from statistics import median
from types import MappingProxyType
from typing import Annotated, Literal

from kubectl_eksdoc import __version__
from kubectl_eksdoc.amazon.group_updates import DRAIN_TIMEOUT
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.journal import (
    DONE,
    ROLLED_BACK,
    LockState,
    RunPhase,
    RunSummary,
    TimingEntry,
    effective_phase,
)
from kubectl_eksdoc.model.nodes import RunNote
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.report.report import (
    DEFAULT_BACKENDS,
    BulletList,
    CustomBackend,
    Heading,
    Report,
    Section,
    Table,
    TextBlock,
    flush_left,
    verbatim_line,
)
from kubectl_eksdoc.report.result import (
    Count,
    KindResult,
    Meta,
    PositiveCount,
    Printed,
    Seconds,
    SecondsDifference,
    Text,
    Texts,
    Timestamp,
)
from kubectl_eksdoc.report.text import (
    Appearance,
    Column,
    Title,
    as_columns,
    format_age,
    list_names,
    name_column,
    number_column,
    pluralize,
    rfc3339,
    text_column,
    time_between,
)

from ..run.journal import JournalState
from ..run.other_drains import ForeignDrainedNode
from ..run.result import node_summaries, phase_text
from .events import json_line
from .findings import steps_section
from .record import RecordCause, main_causes, request_counts, time_difference
from .rows import NONE

# Predicted against actual: the plans of past runs, and what happened.


@frozen
class PastRun:
    """A run and the contents of its journal. `timed`: the times of its last part that was completed."""

    run: RunSummary
    journaled: JournalState

    @property
    def timed(self) -> TimingEntry | None:
        return self.journaled.timed[-1] if self.journaled.timed else None

    @property
    def resumed(self) -> bool:
        begun = self.journaled.started
        return begun is not None and self.journaled.leader != begun.leader

    @property
    def predicted(self) -> tuple[float | None, float | None, float | None]:
        """p50, p95 and the lower bound of `timed`, or of the whole run."""
        timed, begun = self.timed, self.journaled.started
        if timed is not None:
            return timed.p50_s, timed.p95_s, timed.bound_s
        return (begun.p50_s, begun.p95_s, begun.bound_s) if begun is not None else (None, None, None)


_MAX_NAMES = 6


@frozen
class RunWithoutJournal:
    """A run that is known only by annotations of `nodes`.

    `gone`: its journal is no longer in `namespace`; otherwise it may be in another namespace than the requested one.
    `command` rolls the run back, or shows it.
    """

    run: str
    nodes: tuple[str, ...]
    namespace: str
    gone: bool
    command: str

    @property
    def description(self) -> str:
        notes_text = f"{pluralize(len(self.nodes), 'node')} {'carry' if len(self.nodes) > 1 else 'carries'} its notes"
        journal_text = "its journal is gone" if self.gone else f"its journal is in namespace {self.namespace}"
        return f"run {self.run}: {journal_text}; {notes_text} ({list_names(self.nodes, _MAX_NAMES, Appearance())})"


@frozen
class StatusReport(Report):
    """The runs of a cluster, and the runs that only annotations of nodes name.

    `run`: one of `runs` in full, or None for the list. `held`: the lock, or None where it cannot be read. `without`:
    runs that are known only by nodes. `notes`: what could not be checked. `history`: runs against their plans, None if
    not requested.
    """

    noun_phrase = "the status of runs"
    formats = MappingProxyType({name: DEFAULT_BACKENDS[name] for name in ("table", "wide", "json", "yaml")})

    namespace: str
    now: datetime
    runs: Sequence[RunSummary]
    held: LockState | None
    run: RunSummary | None = None
    journaled: JournalState | None = None
    without: tuple[RunWithoutJournal, ...] = ()
    notes: tuple[str, ...] = ()
    history: tuple[PastRun, ...] | None = None

    def sections(self, full: bool) -> Iterator[Section]:
        if self.run is not None and self.journaled is not None:
            yield from _run_sections(self, self.run, self.journaled)
        elif self.history:
            yield from _history(self.history)
            return
        elif self.runs:
            yield _runs_table(self)
        else:
            yield TextBlock(None, [verbatim_line(f"No run is kept in namespace {self.namespace}.", 0)])
        yield steps_section(Title("By the notes on nodes"), ((each.description, each.command) for each in self.without))
        yield TextBlock(None, [flush_left(f"note: {note}", 0) for note in self.notes])

    def result(self) -> object:
        return StatusResult.of(self)

    def age(self, when: datetime | None) -> str:
        return NONE if when is None else format_age(time_between(when, self.now))


def _history(history: Sequence[PastRun]) -> Iterator[Section]:
    columns = as_columns("RUN", *(number_column(each) for each in ("BOUND", "P50", "P95", "TOOK", "ERROR")))
    columns += [Column("OUTCOME", drop_order=2), text_column("THE DIFFERENCE", 24, 2, drop_order=1)]
    yield Table("", (columns, [_history_row(past) for past in history]))
    yield TextBlock(None, [flush_left(_accuracy(history), 0)])


def _history_row(past: PastRun) -> list[str]:
    timed = past.timed
    p50_s, p95_s, bound_s = past.predicted
    took_text = error = NONE
    reason = "its last part alone: it was resumed" if past.resumed and timed is not None else NONE
    if timed is not None:
        took_text = format_duration(timed.took_s)
        error = f"{timed.error_s / timed.p50_s:+.0%}" if timed.p50_s else NONE
        causes = main_causes(dict(timed.causes))
        reason = "; ".join(each for each in (causes, reason if past.resumed else "") if each) or NONE
    elif p50_s is None:
        reason = "its journal has no prediction"
    predicted = [NONE if each is None else format_duration(each) for each in (bound_s, p50_s, p95_s)]
    return [past.run.run, *predicted, took_text, error, past.journaled.ended or NONE, reason]


def _accuracy(history: Sequence[PastRun]) -> str:
    """How accurate the predictions were, as a guide to the next one."""
    timed = [past.timed for past in history if past.timed is not None and past.timed.p50_s]
    if not timed:
        return "No run of these came to its end with a prediction."
    within_p95 = sum(each.took_s <= each.p95_s for each in timed)
    error = median(abs(each.error_s) / each.p50_s for each in timed)
    return (
        f"{pluralize(len(timed), 'run')} with a prediction: {within_p95} within p95, median error {error:.0%} of p50."
    )


def _runs_table(view: StatusReport) -> Table:
    columns = as_columns("RUN", "PHASE", number_column("AGE"), number_column("UPDATED", 1))
    columns += [text_column("LEADER", 16, drop_order=2), text_column("SAID", 30, 2)]
    rows = [
        [
            run.run,
            effective_phase(run, view.held),
            view.age(run.begun),
            view.age(run.updated),
            run.leader,
            run.said or NONE,
        ]
        for run in view.runs
    ]
    return Table("", (columns, rows))


def _run_sections(view: StatusReport, run: RunSummary, journaled: JournalState) -> Iterator[Section]:
    is_led, begun = view.held is None or view.held.is_held_for(run), journaled.started
    below = []
    if begun is not None:
        begun_text = f"begun by {begun.who} on {begun.host} at {rfc3339(begun.at)}"
        below.append(f"{begun_text}, led {'' if is_led else 'last '}by {run.leader or 'nobody'}")
    if run.said and run.updated is not None and journaled.phase is not RunPhase.ENDED:
        below.append(f"{view.age(run.updated)} ago: {run.said}")
    nodes = node_summaries(journaled)
    drained = sum(node.state in ("done", "lost") for node in nodes)
    counts = request_counts(sum(node.granted for node in nodes), sum(node.refused for node in nodes))
    below.append(f"{drained} of {pluralize(len(nodes), 'node')} drained; {counts}")
    below += [_time_text(past.timed, past.resumed) for past in (PastRun(run, journaled),) if past.timed is not None]
    yield Heading(f"Run {run.run}: {phase_text(journaled, is_led)}", below)
    columns = as_columns(name_column("NODE"), number_column("WAVE", 1), "STATE")
    columns += [number_column(each) for each in ("GRANTED", "GONE BEFORE", "REFUSED", "IN DOUBT")]
    rows = [[n.node, n.wave or NONE, n.state, *map(str, (n.granted, n.gone, n.refused, n.in_doubt))] for n in nodes]
    yield Table("Nodes", (columns, rows))
    yield BulletList("Not taken into account", journaled.dropped)
    yield BulletList("Next", _next_commands(run.run, journaled, is_led))


def _time_text(timed: TimingEntry, resumed: bool) -> str:
    """``it took 1m58s, 57s less than p50 (2m54s, -33%), within p95 (4m59s): stopping -40s``."""
    difference = time_difference(timed.p50_s, timed.p95_s, timed.took_s, dict(timed.causes))
    return f"{'its last part' if resumed else 'it'} took {format_duration(timed.took_s)}, {difference}"


def _next_commands(run: str, journaled: JournalState, is_led: bool) -> Iterator[str]:
    begun = journaled.started
    if journaled.phase is not RunPhase.ENDED and is_led:
        yield f"kubectl eksdoc drain pause {run}, or abort {run}: from any machine"
        return
    if journaled.ended not in (DONE, ROLLED_BACK) and not journaled.rolled_back and begun is not None:
        yield f"kubectl eksdoc drain resume {run}: go on, on this machine"
    if count := len(journaled.cordoned):
        script_flags = (
            f" (in a script: --yes --expect-nodes {len(begun.aims)})" if begun is not None and begun.aims else ""
        )
        yield f"kubectl eksdoc drain rollback {run}: give {pluralize(count, 'cordoned node')} back{script_flags}"


# The runs as ``drain status`` prints them. null: unknown, never 0.


class _Summary(Printed):
    """A run in the list."""

    called = {"begun_at": "begun", "updated_at": "updated"}

    run: Text
    phase: Text
    """running, paused, aborted or ended, or a phase of a newer version."""
    begun_at: Timestamp | None
    updated_at: Timestamp | None
    leader: Text | None
    said: Text | None
    """The progress that its leader reported last."""


class _Node(Printed):
    """A node that the run drains, from its journal."""

    node: Text
    wave: PositiveCount | None
    state: Literal["waiting", "cordoned", "draining", "done", "left-alone", "lost"]
    granted: Count
    """Evictions that the API server granted, restarts of a workload, and deletions past a budget."""
    gone: Count
    """Pods that were gone before their eviction was requested."""
    refused: Count
    in_doubt: Count
    """Requests without an answer."""


class _RunResult(_Summary):
    """One run in full."""

    led: bool
    """Whether a process leads it now."""
    ended: Text | None
    """Its outcome; null: it has not ended."""
    who: Text | None
    host: Text | None
    plan: Text | None
    """The digest of its plan."""
    nodes: tuple[_Node, ...]
    cordoned: Texts
    """Nodes that drain rollback would restore."""
    in_doubt: Count
    dropped: Texts
    """Parts of its journal that were ignored, and why."""


def _run(view: StatusReport) -> _RunResult | None:
    run, journaled = view.run, view.journaled
    if run is None or journaled is None:
        return None
    begun = journaled.started
    return _RunResult.from_facts(
        run,
        journaled,
        begun,
        led=(view.held is None or view.held.is_held) and journaled.phase is not RunPhase.ENDED,
        nodes=node_summaries(journaled),
        cordoned=(each.node for each in journaled.cordoned),
        in_doubt=len(journaled.in_doubt),
    )


class _WithoutJournal(Printed):
    """A run that is known only by annotations of nodes."""

    run: Text
    journal: Literal["gone", "elsewhere"]
    """gone: the namespace was searched, and the journal is no longer there."""
    namespace: Text
    """The namespace of its journal according to the annotations."""
    nodes: Annotated[Texts, Meta(min_length=1)]
    """Nodes that carry its annotations."""
    command: Text
    """Rolls the run back, or shows it."""

    @classmethod
    def of(cls, facts: RunWithoutJournal) -> _WithoutJournal:
        return cls.from_facts(facts, journal="gone" if facts.gone else "elsewhere")


class _PlannedAndActual(Printed):
    """A run against its plan, in seconds without pauses. For a resumed run the figures are of its last part. null:
    unknown, as in journals of older versions or of runs that were not completed."""

    called = {"run": "run.run", "begun_at": "run.begun", "outcome": "journaled.ended"}

    run: Text
    begun_at: Timestamp | None
    outcome: Text | None
    resumed: bool
    p50: Seconds | None
    p95: Seconds | None
    lower_bound: Seconds | None
    took: Seconds | None
    error: SecondsDifference | None
    """took minus p50."""
    causes: tuple[RecordCause, ...]
    """By how many seconds each cause made the run longer than p50, or shorter (negative)."""

    @classmethod
    def of(cls, facts: PastRun) -> _PlannedAndActual:
        timed = facts.timed
        p50_s, p95_s, bound_s = facts.predicted
        return cls.from_facts(
            facts,
            timed,
            p50=p50_s,
            p95=p95_s,
            lower_bound=bound_s,
            causes=timed.causes if timed else (),
        )


class StatusResult(KindResult):
    """The runs of a cluster: kubectl eksdoc drain status -o json."""

    kind: Literal["DrainRunStatus"]
    tool_version: Text
    namespace: Text
    """Where the journals are."""
    at: Timestamp
    holder: Text | None
    """The holder of the lock of this cluster's drains; null where it is free, or cannot be read."""
    runs: tuple[_Summary, ...]
    """The latest first."""
    run: _RunResult | None
    """The named run, or the one that is under way; null where all are listed."""
    without_journal: tuple[_WithoutJournal, ...]
    """Runs without a journal in this namespace, known by annotations of nodes, by their ids."""
    history: tuple[_PlannedAndActual, ...] | None
    """With --history: predicted and actual times of each run; else null."""
    notes: Texts
    """What could not be checked."""

    @classmethod
    def of(cls, facts: StatusReport) -> StatusResult:
        held = facts.held
        return cls.from_facts(
            facts,
            tool_version=__version__,
            at=facts.now,
            holder=held.holder if held and held.is_held else None,
            run=_run(facts),
            without_journal=facts.without,
        )


# Drains by other clients now: a page, or a line of JSON for each change.


_GROUP_UPDATE_NOTE = (
    "A managed node group's own update gives up on a node after "
    f"{DRAIN_TIMEOUT.total_seconds() / 60:.0f} minutes (PodEvictionFailure); since when it waits is not known here."
)


@frozen
class OtherDrainsReport(Report):
    """`command` returns the command line that shows a run of this tool."""

    noun_phrase = "a drain of others"
    formats = MappingProxyType(
        {
            "table": DEFAULT_BACKENDS["table"],
            "wide": DEFAULT_BACKENDS["wide"],
            "json": CustomBackend(lambda report, look: json_line(report.result())),
        }
    )

    nodes: Sequence[ForeignDrainedNode]
    at: datetime
    command: Callable[[RunNote], str]

    def sections(self, full: bool) -> Iterator[Section]:
        nodes = self.nodes
        if not nodes:
            yield TextBlock(None, [verbatim_line("No node is cordoned or tainted by a client that drains it.", 0)])
            return
        waiting = [node for node in nodes if not node.empty]
        yield Heading(f"{rfc3339(self.at)}: {len(nodes) - len(waiting)} of {pluralize(len(nodes), 'node')} empty")
        columns = [name_column("NODE"), text_column("DRAINED BY", 16)]
        columns += [number_column(each) for each in ("PODS LEFT", "LEAVING", "ABOUT")]
        rows = [
            [n.node, n.who, str(len(n.pods)), str(sum(p.leaving for p in n.pods)), _remaining_time(n)] for n in nodes
        ]
        yield Table("Nodes", (columns, rows))
        columns = [name_column("POD"), name_column("NODE")]
        columns += [text_column("WHY IT IS STILL THERE", 30, 3)]
        pod_rows = [[pod.pod, node.node, pod.why] for node in waiting for pod in node.pods]
        yield Table("Pods", (columns, pod_rows))
        notes = dict.fromkeys(node.run for node in nodes if node.run is not None)
        runs = (
            (f"run {note.run} of eksdoc" + (f", journal in {note.journal}" if note.journal else ""), self.command(note))
            for note in notes
        )
        yield steps_section(Title("Runs of eksdoc"), runs)
        if any(node.run is None for node in waiting):
            yield TextBlock(None, [flush_left(_GROUP_UPDATE_NOTE, 0)])

    def result(self) -> WatchResult:
        return WatchResult.from_facts(at=self.at, nodes=(_watched(each, self.command) for each in self.nodes))


def _remaining_time(node: ForeignDrainedNode) -> str:
    if node.empty:
        return "empty"
    return NONE if node.left_s is None else format_duration(node.left_s)


class _Pod(Printed):
    """A pod that the drain has to remove from the node."""

    pod: Text
    """namespace/name."""
    leaving: bool
    """Whether it has been evicted or deleted already."""
    budget: Text | None
    """The PodDisruptionBudget that counts it."""
    why: Text
    """What it waits for."""


class _WatchedRun(Printed):
    """A run of kubectl eksdoc, as the node's annotations name it."""

    called = {"journal_namespace": "journal"}

    run: Text
    journal_namespace: Text | None
    """The namespace of its journal; null where the annotations do not say."""
    command: Text
    """Shows the run."""


class _WatchedNode(Printed):
    """A node that is being drained."""

    called = {"drained_by": "who"}

    node: Text
    drained_by: Text
    run: _WatchedRun | None
    """The run of kubectl eksdoc that drains it or drained it."""
    left_seconds: Seconds | None
    """Estimated seconds until it is empty; null: never, or unknown."""
    pods: tuple[_Pod, ...]


class WatchResult(KindResult):
    """Drains by other clients, as they are now: kubectl eksdoc drain status --attach -o json prints a line for each
    change."""

    kind: Literal["DrainWatch"]
    at: Timestamp
    nodes: tuple[_WatchedNode, ...]


def _watched(node: ForeignDrainedNode, command: Callable[[RunNote], str]) -> _WatchedNode:
    note = node.run
    run = note and _WatchedRun.from_facts(note, command=command(note))
    return _WatchedNode.from_facts(node, run=run)
