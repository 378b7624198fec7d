"""Result of a drain run in every format: what happened, compared with the plan."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from enum import Enum
from types import MappingProxyType
from typing import Literal

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.report.command_result import CommandResult
from kubectl_eksdoc.report.markdown import Marked, code, escape
from kubectl_eksdoc.report.report import (
    PLAIN,
    Head,
    Lines,
    OwnFormat,
    Points,
    Report,
    Section,
    flush,
)
from kubectl_eksdoc.report.result import (
    Count,
    Difference,
    FindingResult,
    Moment,
    Printed,
    Seconds,
    Text,
    Texts,
)
from kubectl_eksdoc.report.text import Look, Title, counted, listing, rfc3339, sentences

from ..rollover_offers import HandOff
from ..run.events import Happened, RunMoment
from ..run.history import holds
from ..run.result import WAITED_S
from . import handoffs
from . import record as rows
from .events import json_line
from .findings import to_do
from .plan import NextStep
from .record import (
    RecordCause,
    RecordNode,
    RecordPending,
    RecordPlacement,
    RecordPlan,
    RecordRefusal,
    RecordView,
    against_times,
    asked,
    held_by_name,
    placed,
    recorded,
    requests,
    skipped_targets,
)
from .verdict import soaked


class Outcome(str, Enum):
    DONE = "done"  # every node to drain is empty
    PARTIAL = "partial"  # the run ended, and some nodes are not empty
    STOPPED = "stopped"  # the run was stopped before its end


@frozen
class RunReport(Report):
    """The result of a run.

    `drain`: what was planned and what happened, in seconds from the start of this part of the run. `stopped`: the
    reason, or "". `resumed`: whether an earlier process had begun the run. `connection_args`: the command-line
    arguments that lead to the same cluster and to the namespace of the journal.
    """

    of = "a run"
    formats = MappingProxyType(
        {
            "table": PLAIN["table"],
            "wide": PLAIN["wide"],
            "json": OwnFormat(lambda report, look: json_line(report.result())),  # one line, like the events before it
            "markdown": PLAIN["markdown"],
        }
    )

    run: str
    record: RecordView
    begun_at: datetime
    ended_at: datetime
    who: str
    host: str
    stopped: str = ""
    resumed: bool = False
    reached_by: tuple[str, ...] = ()

    @property
    def cluster(self) -> Cluster:
        return self.record.cluster

    @property
    def tool_version(self) -> str:
        return self.record.tool_version

    @property
    def outcome(self) -> Outcome:
        if self.stopped:
            return Outcome.STOPPED
        return Outcome.PARTIAL if self.record.not_emptied else Outcome.DONE

    def command(self, verb: str) -> str:
        """``kubectl eksdoc drain resume RUN``, to be copied into a shell."""
        return shlex.join(["kubectl", "eksdoc", "drain", verb, self.run, *self.reached_by])

    @property
    def steps(self) -> tuple[NextStep, ...]:
        """What the user can do next, for this outcome."""
        back = NextStep(
            "Take the cordons back, of this run alone; pods do not move back by themselves", self.command("rollback")
        )
        if self.outcome is Outcome.STOPPED:
            return (NextStep("Go on from here, on any machine", self.command("resume")), back)
        if self.outcome is Outcome.PARTIAL:
            return (NextStep("Fix what was in the way, then resume", self.command("resume")), back)
        return (back,)

    def sections(self, full: bool) -> Iterator[Section | None]:
        record = self.record
        yield Head(verdict(self))
        yield rows.nodes(record)
        yield rows.not_emptied(record)
        yield Lines(None, [flush(text, 0) for text in (placed(record), skipped_targets(record)) if text])
        yield rows.placements(record) if full else None
        yield rows.refusals(record)
        yield rows.pending(record)
        yield Points(AGAINST, against_plan(self))
        yield handoffs.section(self._handoffs, full)
        yield to_do(Title("Next"), self.steps)

    def ticket(self, most: int) -> Iterator[Section]:
        record = self.record
        by = f"run {code(self.run)} · by {escape(self.who)} on {escape(self.host)}"
        when = f"{rfc3339(self.begun_at)} to {rfc3339(self.ended_at)}"
        yield Head(verdict(self), [Marked(f"{by} · {when}")], "Drain of")
        yield Points(AGAINST, against_plan(self))
        yield rows.nodes(record)
        yield rows.chart(record)
        yield rows.not_emptied(record, most)
        said = [text for text in (placed(record), skipped_targets(record)) if text]
        yield Points("Placements", said)
        yield replace(rows.placements(record), title=Title("" if said else "Placements"))
        yield rows.refusals(record)
        yield rows.pending(record)
        yield handoffs.written(self._handoffs, most)
        yield to_do(Title("Next"), self.steps)
        yield rows.moments(record)

    @property
    def _handoffs(self) -> list[HandOff]:
        """Only for a drain that is done: the plan's texts are about that."""
        planned = self.record.planned.handoffs if self.outcome is Outcome.DONE else ()
        return [handoff.once_drained for handoff in planned]

    def result(self) -> RunResult:
        return RunResult.of(self)


# A run in sentences: what happened, compared with the plan.


_MOST_NAMES = 4

_BESIDES = {
    Happened.ADOPTED: "left to others who drain it",
    Happened.LOST: "gone from the cluster",
}


def verdict(view: RunReport) -> str:
    """``Drained: 12 of 12 nodes emptied by 175 evictions in 1m04s; planned: about 1m08s (p95 1m50s).``"""
    record = view.record
    total, undone = len(record.nodes), len(record.not_emptied)
    by = "," if undone else " by"  # evictions did not empty a node that is not empty
    counts = f"{total - undone} of {counted(total, 'node')} emptied{by} {asked(record) or 'no eviction'}"
    paused_s = record.record.paused_s
    drain_s, ready_s = record.record.drain_s, record.record.ready_s
    took = f"in {duration(drain_s)}" + (f" ({duration(paused_s)} of it paused)" if paused_s else "")
    if ready_s >= WAITED_S and view.outcome is not Outcome.STOPPED and not record.record.unready:
        took = f"{took}, their replacements Ready {duration(ready_s)} later"
    if view.outcome is Outcome.STOPPED:
        return sentences(f"Stopped: {view.stopped}", f"{counts} {took}; {_planned(view)}")
    head = "Drained" if view.outcome is Outcome.DONE else "Drained in part"
    return f"{head}: {counts} {took}; {_planned(view)}."


AGAINST = Title("Against the plan")


def against_plan(view: RunReport) -> tuple[str, ...]:
    """Estimate against actual, and everything else that differs from the plan, in sentences."""
    return tuple(_differences(view)) or ("All went as planned.",)


def _differences(view: RunReport) -> Iterator[str]:
    record, estimate = view.record, view.record.plan.estimate
    if view.resumed:
        yield "This part of the run was planned again when it was resumed: times and counts are from then."
    if estimate is not None and not record.record.undone and view.outcome is Outcome.DONE and record.evictions:
        took_s, speed = record.record.drain_s - record.waited_s, record.cluster.identity.speed
        without = " (without its pause)" if record.record.paused_s else ""
        yield (
            f"Not compared with p50: the cluster plays {speed:g} times as fast."
            if speed != 1.0
            else f"It took{without} {against_times(estimate.p50_s, estimate.p95_s, took_s, record.record.causes)}."
        )
    if undone := [node.name for node in record.not_emptied if not node.seen_empty]:
        yield f"Not emptied: {listing(undone, _MOST_NAMES, Look())}."
    if empty := [node.name for node in record.not_emptied if node.seen_empty]:
        yield f"Seen empty, and not checked again before it ended: {listing(empty, _MOST_NAMES, Look())}."
    if refused := record.history.refusals:
        yield f"{requests(record.evictions, refused)}."
    if said := held_by_name(record):
        yield said
    if record.record.re_evicted:
        yield f"Evicted more than once, by name: {listing(record.record.re_evicted, _MOST_NAMES, Look())}."
    if waiting := [each.pod for each in record.pending if not each.before]:
        yield f"Without a node at the end: {listing(waiting, _MOST_NAMES, Look())}."
    if coming := [each.pod for each in record.record.coming]:
        when = f"{duration(record.record.ready_s)} after the last node was done" if record.record.unready else ""
        yield f"Not Ready {when or 'at the end, or not yet'}: {listing(coming, _MOST_NAMES, Look())}."
    if (held := _held(record.moments, record.ended_s)) is not None:
        yield held
    for what, said in _BESIDES.items():
        if found := record.happened(what):
            subjects = dict.fromkeys(moment.subject for moment in found)
            yield f"{listing(subjects, _MOST_NAMES, Look())}: {said} ({found[0].why})."


def _held(moments: Sequence[RunMoment], ended_s: float) -> str | None:
    """``It was held back for 40s (the user paused it).``, or None."""
    spans = holds(moments, ended_s)
    if not spans:
        return None
    why = dict.fromkeys(moment.why for moment in moments if moment.what is Happened.HELD)
    still = ", to its end" if spans[-1][1] >= ended_s else ""
    often = f" {counted(len(spans), 'time')}," if len(spans) > 1 else ""
    held = duration(sum(until_s - since_s for since_s, until_s in spans))
    return f"It was held back{often} for {held}{still} ({listing(why, _MOST_NAMES, Look(), '; ')})."


def _planned(view: RunReport) -> str:
    estimate = view.record.plan.estimate
    if estimate is None:
        return "the plan did not tell how long it takes"
    return f"planned: about {duration(estimate.p50_s)} (p95 {duration(estimate.p95_s)}){soaked(view.record.soak)}"


# The result of a run: the last line of ``-o json``. The events are printed before, line by line. null: unknown or did
# not happen, never 0.


class _Errors(Printed):
    """Seconds by which the run took longer than the plan's figures."""

    p50: Difference
    p95: Difference
    lower_bound: Difference | None
    causes: tuple[RecordCause, ...]
    """By how many seconds each cause made the run longer than p50, or shorter (negative)."""


def _late_s(view: RecordView) -> float | None:
    return view.late_s if view.cluster.identity.speed == 1.0 else None


def _errors(view: RecordView) -> _Errors | None:
    estimate, late_s = view.plan.estimate, _late_s(view)
    if estimate is None or late_s is None:
        return None
    took_s = estimate.p50_s + late_s
    return _Errors.filled(
        p50=late_s,
        p95=took_s - estimate.p95_s,
        lower_bound=took_s - estimate.least[0].seconds if estimate.least else None,
        causes=view.record.causes.items(),
    )


class _Next(Printed):
    text: Text
    command: Text


class RunResult(CommandResult):
    """The result of a drain: the last line of kubectl eksdoc drain run -o json, or drain resume; the lines before it
    are DrainRunEvents. All seconds count from the start of this part of the run. null is unknown or did not happen,
    never 0."""

    kind: Literal["DrainRun"]
    run: Text
    """Its id, for drain status, resume and rollback."""
    outcome: Outcome
    """done: every node of the plan is empty; partial: the run ended, and some nodes are not empty; stopped: the run was
    stopped before its end."""
    stopped: Text | None
    """Why it was stopped."""
    resumed: bool
    """Whether it was begun before: then the nodes that were not drained were planned again."""
    who: Text
    host: Text
    begun_at: Moment
    ended_at: Moment
    plan: RecordPlan
    ended_seconds: Seconds
    """When the run ended: readySeconds after the last node was done."""
    late_seconds: Difference | None
    """How much longer it took than the plan's p50; negative: sooner. null where the plan or the run has no end, and for
    a rehearsal that is served faster than real time."""
    errors: _Errors | None
    """null where the run has no end, or without an estimate."""
    ready_seconds: Seconds
    """How long it waited for Ready replacements after every node was done."""
    not_ready: Texts
    """Replacements (namespace/name) that it waited for and that are not Ready: exit code 1."""
    evictions: Count
    """Pods that were evicted, restarted elsewhere, or deleted past a budget that the user named."""
    nodes: tuple[RecordNode, ...]
    """The nodes that the plan drains, in its order."""
    placements: tuple[RecordPlacement, ...] | None
    """Nodes onto which replacements were planned and scheduled, targets first; null where that was not observed."""
    on_targets: Count | None
    """How many replacements were scheduled onto targets."""
    cordoned_only: Texts
    """Targets that are not drained and were cordoned."""
    refusals: tuple[RecordRefusal, ...]
    """The most frequent cause first."""
    pending: tuple[RecordPending, ...]
    """Pods without a node at the end: pods that the drain left pending first, then pods that were pending before."""
    re_evicted: Texts
    """Pods (namespace/name) that were evicted more than once. They are recognized by name, which only pods with a
    stable name keep."""
    not_emptied: Texts
    """Nodes that the plan drains and the run did not empty, in the plan's order."""
    against_plan: Texts
    """Estimate against actual, and what else differs from the plan, in sentences."""
    next: tuple[_Next, ...]
    """Possible next steps."""
    findings: tuple[FindingResult, ...]
    """The findings of the plan."""

    @classmethod
    def of(cls, facts: RunReport) -> RunResult:
        view = facts.record
        return cls.filled(
            facts,
            view,
            view.record,
            errors=_errors(view),
            late_seconds=_late_s(view),
            not_ready=view.record.unready,
            against_plan=against_plan(facts),
            next=facts.steps,
            **recorded(view),
        )
