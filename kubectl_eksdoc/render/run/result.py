"""The result of a run: the last line of ``-o json``. The events are printed before, line by line. What is not known or
did not happen is null, never 0.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from kubectl_eksdoc.drain.run import moments
from kubectl_eksdoc.drain.run.moments import Happened
from kubectl_eksdoc.render.command_result import CommandResult, metadata
from kubectl_eksdoc.render.drain.estimate_result import Seconds
from kubectl_eksdoc.render.record.result import (
    RecordCause,
    RecordNode,
    RecordPending,
    RecordPlacement,
    RecordPlan,
    RecordRefusal,
    recorded,
    seconds,
)
from kubectl_eksdoc.render.record.result import seconds as rounded
from kubectl_eksdoc.render.record.view import RecordView
from kubectl_eksdoc.render.result import Count, FindingResult, KindResult, Moment, Printed, Text, Texts
from kubectl_eksdoc.render.run import table
from kubectl_eksdoc.render.run.view import Outcome, RunView


class _Errors(Printed):
    """Seconds by which the run took longer than the plan's figures."""

    p50: float
    p95: float
    lower_bound: float | None
    causes: tuple[RecordCause, ...]
    """By how many seconds each made the run longer than p50, or shorter (negative)."""


def _errors(view: RecordView) -> _Errors | None:
    estimate, late_s = view.plan.estimate, view.late_s
    if estimate is None or late_s is None:
        return None
    took_s = estimate.p50_s + late_s
    return _Errors.filled(
        p50=seconds(late_s),
        p95=seconds(took_s - estimate.p95_s),
        lower_bound=seconds(took_s - estimate.least[0].seconds) if estimate.least else None,
        causes=view.record.causes.items(),
    )


class _Next(Printed):
    text: Text
    command: Text


class RunResult(CommandResult):
    """The result of a drain: the last line of kubectl eksdoc drain run -o json, or drain resume; the lines before it
    are DrainRunEvents. All seconds count from the start of this part of the run. null is not known or did not happen,
    never 0."""

    kind: Literal["DrainRun"]
    run: Text
    """Its id, as drain status, resume and rollback take it."""
    outcome: Outcome
    """done: every node of the plan is empty; partial: it came to its end, and some are not; stopped: it asks for
    nothing more, and was not at its end."""
    stopped: Text | None
    """Why it was stopped."""
    resumed: bool
    """Whether it was begun before: then it was planned again for what was not drained."""
    who: Text
    host: Text
    begun_at: Moment
    ended_at: Moment
    plan: RecordPlan
    ended_seconds: Seconds
    """When it was over: readySeconds after the last node was done."""
    late_seconds: float | None
    """How much longer than the plan's p50; negative: sooner. null where one of both has no end."""
    errors: _Errors | None
    """null where it has no end, or nothing was estimated."""
    ready_seconds: Seconds
    """How long it waited until the replacements of its pods were Ready, once every node was done."""
    not_ready: Texts
    """Replacements (namespace/name) that it waited for and that are not Ready: exit code 1."""
    evictions: Count
    """Pods that were evicted, restarted elsewhere, or deleted past a budget because they were named."""
    nodes: tuple[RecordNode, ...]
    """Those that the plan drains, in its order."""
    placements: tuple[RecordPlacement, ...] | None
    """Onto which nodes replacements were to be and were scheduled, targets first; null where that was not seen."""
    on_targets: Count | None
    """How many replacements were scheduled onto targets."""
    cordoned_only: Texts
    """Targets that are not drained and were cordoned."""
    refusals: tuple[RecordRefusal, ...]
    """The most frequent cause first."""
    pending: tuple[RecordPending, ...]
    """Pods without a node at the end: those that the drain leaves without one first, then those that had none
    before."""
    re_evicted: Texts
    """Pods (namespace/name) that were evicted more than once: by name, which only those keep that have one of their
    own."""
    not_emptied: Texts
    """Nodes that the plan drains and the run did not empty, in the plan's order."""
    against_plan: Texts
    """Estimate against actual, and what else did not go as planned, in sentences."""
    next: tuple[_Next, ...]
    """What can be done now."""
    findings: tuple[FindingResult, ...]
    """The plan's."""

    @classmethod
    def of(cls, facts: RunView) -> RunResult:
        record = facts.record
        return cls.filled(
            facts,
            metadata=metadata(record.cluster, record),
            errors=_errors(record),
            ready_seconds=seconds(record.record.ready_s),
            not_ready=record.record.unready,
            evictions=record.evictions,
            against_plan=table.against_plan(facts),
            next=facts.steps,
            **recorded(record),
        )


# An event of a run: a line of ``drain run -o json``. What is not known is null.


class EventResult(KindResult):
    """One event of a drain, printed when it happens: a line of kubectl eksdoc drain run -o json."""

    kind: Literal["DrainRunEvent"]
    run: Text
    """The id of the run."""
    at: Moment
    """By the clock of the machine that leads the run."""
    seconds: Seconds
    """From the start of this part of the run."""
    what: Happened
    subject: Text
    """A node, a pod (namespace/name), or the drain; of a restart, where a journal is read, the workload (Deployment
    namespace/name)."""
    node: Text | None
    """The pod's; null where the subject is a node."""
    why: Text | None
    """Of a refusal the server's cause, or its message; of the drain who or what held it."""


def event(moment: moments.Moment, run: str, at: datetime) -> EventResult:
    return EventResult.filled(moment, run=run, at=at, seconds=rounded(moment.at_s))
