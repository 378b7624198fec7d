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
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.report.command_result import CommandResult
from kubectl_eksdoc.report.markdown import MarkdownText, code_span, escape_markdown
from kubectl_eksdoc.report.report import (
    DEFAULT_BACKENDS,
    BulletList,
    CustomBackend,
    Heading,
    Report,
    Section,
    TextBlock,
    flush_left,
)
from kubectl_eksdoc.report.result import (
    Count,
    FindingResult,
    Printed,
    Seconds,
    SecondsDifference,
    Text,
    Texts,
    Timestamp,
)
from kubectl_eksdoc.report.text import Appearance, Title, join_sentences, list_names, pluralize, rfc3339

from ..rollover_offers import NodeGroupRollover
from ..run.events import DrainEvent, DrainEventKind
from ..run.history import hold_spans
from ..run.result import MIN_WAIT_S
from . import handoffs
from . import record as rows
from .events import json_line
from .findings import steps_section
from .plan import NextStep
from .record import (
    DrainResultView,
    RecordCause,
    RecordNode,
    RecordPending,
    RecordPlacement,
    RecordPlan,
    RecordRefusal,
    budgets_held_by_name,
    eviction_counts,
    placements_text,
    request_counts,
    shared_fields,
    skipped_targets_text,
    time_difference,
)
from .verdict import soak_note


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

    noun_phrase = "a run"
    formats = MappingProxyType(
        {
            "table": DEFAULT_BACKENDS["table"],
            "wide": DEFAULT_BACKENDS["wide"],
            "json": CustomBackend(
                lambda report, look: json_line(report.result())
            ),  # one line, like the events before it
            "markdown": DEFAULT_BACKENDS["markdown"],
        }
    )

    run: str
    drain: DrainResultView
    begun_at: datetime
    ended_at: datetime
    who: str
    host: str
    stopped: str = ""
    resumed: bool = False
    connection_args: tuple[str, ...] = ()

    @property
    def cluster(self) -> Cluster:
        return self.drain.cluster

    @property
    def tool_version(self) -> str:
        return self.drain.tool_version

    @property
    def outcome(self) -> Outcome:
        if self.stopped:
            return Outcome.STOPPED
        return Outcome.PARTIAL if self.drain.not_emptied else Outcome.DONE

    def command(self, verb: str) -> str:
        """``kubectl eksdoc drain resume RUN``, to be copied into a shell."""
        return shlex.join(["kubectl", "eksdoc", "drain", verb, self.run, *self.connection_args])

    @property
    def next_steps(self) -> tuple[NextStep, ...]:
        """What the user can do next, for this outcome."""
        rollback_step = NextStep(
            "Take the cordons back, of this run alone; pods do not move back by themselves", self.command("rollback")
        )
        if self.outcome is Outcome.STOPPED:
            return (NextStep("Go on from here, on any machine", self.command("resume")), rollback_step)
        if self.outcome is Outcome.PARTIAL:
            return (NextStep("Fix what was in the way, then resume", self.command("resume")), rollback_step)
        return (rollback_step,)

    def sections(self, full: bool) -> Iterator[Section | None]:
        drain = self.drain
        yield Heading(run_summary(self))
        yield rows.nodes(drain)
        yield rows.not_emptied(drain)
        yield TextBlock(
            None, [flush_left(text, 0) for text in (placements_text(drain), skipped_targets_text(drain)) if text]
        )
        yield rows.placements(drain) if full else None
        yield rows.refusals(drain)
        yield rows.pending(drain)
        yield BulletList(PLAN_COMPARISON, plan_differences(self))
        yield handoffs.section(self._handoffs, full)
        yield steps_section(Title("Next"), self.next_steps)

    def ticket(self, max_rows: int) -> Iterator[Section]:
        drain = self.drain
        run_text = f"run {code_span(self.run)} · by {escape_markdown(self.who)} on {escape_markdown(self.host)}"
        time_text = f"{rfc3339(self.begun_at)} to {rfc3339(self.ended_at)}"
        yield Heading(run_summary(self), [MarkdownText(f"{run_text} · {time_text}")], "Drain of")
        yield BulletList(PLAN_COMPARISON, plan_differences(self))
        yield rows.nodes(drain)
        yield rows.chart(drain)
        yield rows.not_emptied(drain, max_rows)
        placement_texts = [text for text in (placements_text(drain), skipped_targets_text(drain)) if text]
        yield BulletList("Placements", placement_texts)
        yield replace(rows.placements(drain), title=Title("" if placement_texts else "Placements"))
        yield rows.refusals(drain)
        yield rows.pending(drain)
        yield handoffs.written(self._handoffs, max_rows)
        yield steps_section(Title("Next"), self.next_steps)
        yield rows.events_table(drain)

    @property
    def _handoffs(self) -> list[NodeGroupRollover]:
        """Only for a drain that is done: the plan's texts are about that."""
        handoffs = self.drain.plan_view.handoffs if self.outcome is Outcome.DONE else ()
        return [handoff.after_drain for handoff in handoffs]

    def result(self) -> RunResult:
        return RunResult.of(self)


# A run in sentences: what happened, compared with the plan.


_MAX_NAMES = 4

_NODES_NOT_DRAINED = {
    DrainEventKind.ADOPTED: "left to others who drain it",
    DrainEventKind.LOST: "gone from the cluster",
}


def run_summary(report: RunReport) -> str:
    """``Drained: 12 of 12 nodes emptied by 175 evictions in 1m04s; planned: about 1m08s (p95 1m50s).``"""
    drain = report.drain
    total, not_emptied = len(drain.nodes), len(drain.not_emptied)
    by = "," if not_emptied else " by"  # evictions did not empty a node that is not empty
    counts = (
        f"{total - not_emptied} of {pluralize(total, 'node')} emptied{by} {eviction_counts(drain) or 'no eviction'}"
    )
    paused_s = drain.drain_result.paused_s
    drain_s, ready_s = drain.drain_result.drain_s, drain.drain_result.ready_s
    duration_text = f"in {format_duration(drain_s)}" + (
        f" ({format_duration(paused_s)} of it paused)" if paused_s else ""
    )
    if ready_s >= MIN_WAIT_S and report.outcome is not Outcome.STOPPED and not drain.drain_result.unready:
        duration_text = f"{duration_text}, their replacements Ready {format_duration(ready_s)} later"
    if report.outcome is Outcome.STOPPED:
        return join_sentences(f"Stopped: {report.stopped}", f"{counts} {duration_text}; {_planned_text(report)}")
    outcome_text = "Drained" if report.outcome is Outcome.DONE else "Drained in part"
    return f"{outcome_text}: {counts} {duration_text}; {_planned_text(report)}."


PLAN_COMPARISON = Title("Against the plan")


def plan_differences(report: RunReport) -> tuple[str, ...]:
    """Estimate against actual, and everything else that differs from the plan, in sentences."""
    return tuple(_differences(report)) or ("All went as planned.",)


def _differences(report: RunReport) -> Iterator[str]:
    drain, estimate = report.drain, report.drain.plan.estimate
    if report.resumed:
        yield "This part of the run was planned again when it was resumed: times and counts are from then."
    if estimate is not None and not drain.drain_result.undone and report.outcome is Outcome.DONE and drain.evictions:
        took_s, speed = drain.drain_result.drain_s - drain.waited_s, drain.cluster.identity.speed
        pause_note = " (without its pause)" if drain.drain_result.paused_s else ""
        yield (
            f"Not compared with p50: the cluster plays {speed:g} times as fast."
            if speed != 1.0
            else f"It took{pause_note} "
            f"{time_difference(estimate.p50_s, estimate.p95_s, took_s, drain.drain_result.causes)}."
        )
    if not_emptied := [node.name for node in drain.not_emptied if not node.seen_empty]:
        yield f"Not emptied: {list_names(not_emptied, _MAX_NAMES, Appearance())}."
    if seen_empty := [node.name for node in drain.not_emptied if node.seen_empty]:
        yield f"Seen empty, and not checked again before it ended: {list_names(seen_empty, _MAX_NAMES, Appearance())}."
    if refused := drain.history.refusals:
        yield f"{request_counts(drain.evictions, refused)}."
    if text := budgets_held_by_name(drain):
        yield text
    if drain.drain_result.re_evicted:
        yield f"Evicted more than once, by name: {list_names(drain.drain_result.re_evicted, _MAX_NAMES, Appearance())}."
    if pending_pods := [each.pod for each in drain.pending if not each.before]:
        yield f"Without a node at the end: {list_names(pending_pods, _MAX_NAMES, Appearance())}."
    if not_ready := [each.pod for each in drain.drain_result.coming]:
        time_text = (
            f"{format_duration(drain.drain_result.ready_s)} after the last node was done"
            if drain.drain_result.unready
            else ""
        )
        yield f"Not Ready {time_text or 'at the end, or not yet'}: {list_names(not_ready, _MAX_NAMES, Appearance())}."
    if (held_text := _held_text(drain.moments, drain.ended_s)) is not None:
        yield held_text
    for kind, text in _NODES_NOT_DRAINED.items():
        if events := drain.events_of(kind):
            subjects = dict.fromkeys(moment.subject for moment in events)
            yield f"{list_names(subjects, _MAX_NAMES, Appearance())}: {text} ({events[0].why})."


def _held_text(events: Sequence[DrainEvent], ended_s: float) -> str | None:
    """``It was held back for 40s (the user paused it).``, or None."""
    spans = hold_spans(events, ended_s)
    if not spans:
        return None
    reasons = dict.fromkeys(moment.why for moment in events if moment.what is DrainEventKind.HELD)
    until_end = ", to its end" if spans[-1][1] >= ended_s else ""
    count_text = f" {pluralize(len(spans), 'time')}," if len(spans) > 1 else ""
    total = format_duration(sum(end_s - start_s for start_s, end_s in spans))
    return (
        f"It was held back{count_text} for {total}{until_end} ({list_names(reasons, _MAX_NAMES, Appearance(), '; ')})."
    )


def _planned_text(report: RunReport) -> str:
    estimate = report.drain.plan.estimate
    if estimate is None:
        return "the plan did not tell how long it takes"
    return (
        f"planned: about {format_duration(estimate.p50_s)} (p95 "
        f"{format_duration(estimate.p95_s)}){soak_note(report.drain.soak)}"
    )


# The result of a run: the last line of ``-o json``. The events are printed before, line by line. null: unknown or did
# not happen, never 0.


class _Errors(Printed):
    """Seconds by which the run took longer than the plan's figures."""

    p50: SecondsDifference
    p95: SecondsDifference
    lower_bound: SecondsDifference | None
    causes: tuple[RecordCause, ...]
    """By how many seconds each cause made the run longer than p50, or shorter (negative)."""


def _late_s(view: DrainResultView) -> float | None:
    return view.late_s if view.cluster.identity.speed == 1.0 else None


def _errors(view: DrainResultView) -> _Errors | None:
    estimate, late_s = view.plan.estimate, _late_s(view)
    if estimate is None or late_s is None:
        return None
    took_s = estimate.p50_s + late_s
    return _Errors.from_facts(
        p50=late_s,
        p95=took_s - estimate.p95_s,
        lower_bound=took_s - estimate.lower_bounds[0].seconds if estimate.lower_bounds else None,
        causes=view.drain_result.causes.items(),
    )


class _NextCommand(Printed):
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
    begun_at: Timestamp
    ended_at: Timestamp
    plan: RecordPlan
    ended_seconds: Seconds
    """When the run ended: readySeconds after the last node was done."""
    late_seconds: SecondsDifference | None
    """How much longer it took than the plan's p50; negative: sooner. null where the plan or the run has no end, and for
    a rehearsal that is served faster than real time."""
    errors: _Errors | None
    """null where the run has no end, or without an estimate."""
    ready_seconds: Seconds
    """How long it waited for Ready replacements after every node was done."""
    not_ready: Texts
    """Replacements (namespace/name) that it waited for and that are not Ready: exit code 1."""
    evictions: Count
    """Pods that were evicted, restarted elsewhere, or deleted past a budget because the user named them."""
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
    next: tuple[_NextCommand, ...]
    """Possible next steps."""
    findings: tuple[FindingResult, ...]
    """The findings of the plan."""

    @classmethod
    def of(cls, facts: RunReport) -> RunResult:
        view = facts.drain
        return cls.from_facts(
            facts,
            view,
            view.drain_result,
            errors=_errors(view),
            late_seconds=_late_s(view),
            not_ready=view.drain_result.unready,
            against_plan=plan_differences(facts),
            next=facts.next_steps,
            **shared_fields(view),
        )
