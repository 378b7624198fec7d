"""The rehearsal report in every format: whether the plan holds, and where the rehearsal differs from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal

from kubectl_eksdoc.drain.report import record
from kubectl_eksdoc.drain.report.record import (
    DrainResultView,
    RecordNode,
    RecordPending,
    RecordPlacement,
    RecordPlan,
    RecordRefusal,
    budgets_held_by_name,
    eviction_counts,
    placements_text,
    shared_fields,
    skipped_targets_text,
)
from kubectl_eksdoc.drain.report.rows import not_read
from kubectl_eksdoc.drain.report.verdict import plan_summary as verdict_of_plan
from kubectl_eksdoc.drain.run.events import REMOVAL_EVENTS, DrainEventKind
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.kinds import ReadState
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.report.command_result import CommandResult
from kubectl_eksdoc.report.report import BulletList, Footer, Heading, Report, Section, Table
from kubectl_eksdoc.report.result import (
    Count,
    FindingResult,
    Printed,
    Seconds,
    SecondsDifference,
    Text,
    Texts,
)
from kubectl_eksdoc.report.text import Appearance, Title, join_words, list_names, pluralize

# The rehearsal in sentences: its verdict, its differences from the plan, and its limits.


NOT_SHOWN = (
    "what is neither in the facts it was made from nor asked for by --fault: images that are slow to pull, webhooks, "
    "other people and programs that change the cluster meanwhile",
    "operators: pods of a custom resource are taken to be created again at once",
    "Jobs that end: they do only where it is known when",
    "preemption: no pod pushes out another of lower priority",
)
"""Aspects that a rehearsal does not show, so that a missing difference is not taken for a pass."""

NOTHING_DIFFERS = (
    "Nothing differs: it takes as long as the plan says, every node is emptied, nothing is refused, and no pod "
    "is evicted twice or ends without a node that was not waiting for one before."
)

NOTHING_REHEARSED = "Nothing was rehearsed: the plan drains no node."

_MAX_NAMES = 4


def rehearsal_verdict(view: DrainResultView) -> str:
    """``Rehearsed: 8 of 8 nodes emptied by 37 evictions in 3m05s; the plan says about 2m54s (p95 4m59s).``"""
    if not view.nodes:
        return NOTHING_REHEARSED
    total, undone = len(view.nodes), len(view.not_emptied)
    evictions_text = f" by {eviction_counts(view)}" if view.evictions else ", with nothing to evict,"
    ended = format_duration(view.ended_s)
    head = f"Rehearsed: {total - undone} of {pluralize(total, 'node')} emptied"
    if not undone:
        return f"{head}{evictions_text} in {ended}; {_plan_text(view)}.{_left_out_text(view)}"
    count = eviction_counts(view) or "no eviction"
    names = list_names((node.name for node in view.not_emptied), _MAX_NAMES, Appearance())
    verb = "is" if undone == 1 else "are"
    end_text = f"{count}, and nothing more happened after {ended}; {_plan_text(view)}.{_left_out_text(view)}"
    return f"{head}, {undone} {verb} not ({names}); {end_text}"


def _left_out_text(view: DrainResultView) -> str:
    """Not all selected nodes are drained by the plan."""
    count = len(view.plan_view.targets) - len(view.nodes)
    if not count:
        return ""
    return (
        f" {count} of {pluralize(len(view.plan_view.targets), 'node')} to drain "
        f"{'is' if count == 1 else 'are'} left out."
    )


def new_nodes_text(view: DrainResultView) -> str:
    """``2 new nodes joined, the last at 4m10s.`` or "" when none did."""
    joined_events = view.events_of(DrainEventKind.JOINED)
    if not joined_events:
        return ""
    last_text = "the last " if len(joined_events) > 1 else ""
    return (
        f"{pluralize(len(joined_events), 'new node')} joined, {last_text}at {format_duration(joined_events[-1].at_s)}."
    )


def differences(view: DrainResultView) -> tuple[str, ...]:
    """The differences between rehearsal and plan, a sentence each; one sentence if there are none."""
    if not view.nodes:
        return ()
    return tuple(text for text in (*_node_differences(view), *_pod_differences(view)) if text) or (NOTHING_DIFFERS,)


def _plan_text(view: DrainResultView) -> str:
    estimate = view.plan.estimate
    if estimate is None:
        return "the plan does not tell how long it takes"
    return f"the plan says about {format_duration(estimate.p50_s)} (p95 {format_duration(estimate.p95_s)})"


def _node_differences(view: DrainResultView) -> Iterator[str]:
    if undone := len(view.not_emptied):
        yield f"{pluralize(undone, 'node')} that the plan drains {'is' if undone == 1 else 'are'} not emptied."
    yield _lateness(view)
    planned = view.plan_view.spans
    deviations = [(node.done_s - planned[name].done_s, name) for name, node in view.spans.items() if name in planned]
    late = [each for each in deviations if round(each[0]) > 0]
    early = [(-seconds, name) for seconds, name in deviations if round(seconds) < 0]
    parts = [
        f"{pluralize(len(rows), 'node')} {'is' if len(rows) == 1 else 'are'} done {than} than planned ({_worst(rows)})"
        for rows, than in ((late, "later"), (early, "sooner"))
        if rows
    ]
    if parts:
        yield f"{join_words(parts)}."
    if missing := view.events_of(DrainEventKind.MISSING):
        yield f"{pluralize(len(missing), 'new node')} that the plan waits for did not join."


def _lateness(view: DrainResultView) -> str:
    estimate, late = view.plan.estimate, view.late_s
    if estimate is None:
        return "Whether it is late is unknown: the plan has no duration."
    if late is None:
        return f"It does not come to its end; the plan's p50 is {format_duration(estimate.p50_s)}."
    if not round(late):
        return ""
    text = f"{_time(late)} {'longer' if late > 0 else 'less'} than the plan's p50 of {format_duration(estimate.p50_s)}"
    beyond_text = (
        f", and more than its p95 of {format_duration(estimate.p95_s)}" if view.ended_s > estimate.p95_s else ""
    )
    return f"It takes {text}{beyond_text}."


def _worst(rows: list[tuple[float, str]]) -> str:
    seconds, name = max(rows, key=lambda each: each[0])
    return f"{name} by {_time(seconds)}" if len(rows) == 1 else f"most of all {name}, by {_time(seconds)}"


def _pod_differences(view: DrainResultView) -> Iterator[str]:
    evictions = view.plan.evictions
    done = Counter(event.subject for event in view.moments if event.what in (*REMOVAL_EVENTS, DrainEventKind.FINISHED))
    if missing := sum((Counter(eviction.pod.key for eviction in evictions) - done).values()):
        yield f"{missing} of {pluralize(len(evictions), 'planned eviction')} {_was(missing)} not made."
    if refused := view.history.refusals:
        yield f"Evictions were refused {pluralize(refused, 'time')}; the plan expects no refusal."
    if count := view.drain_result.on_targets:
        onto = "skipped targets, which are not cordoned" if view.plan.open_targets else "targets"
        yield f"{pluralize(count, 'replacement')} {_was(count)} scheduled onto {onto}; the plan has all on other nodes."
    yield budgets_held_by_name(view)
    if count := len(view.drain_result.re_evicted):
        yield f"{pluralize(count, 'pod')} {_was(count)} evicted more than once; the plan expects none."
    if count := sum(not each.before for each in view.pending):  # pods that were Pending before are no difference
        without_place = sum(not eviction.lands_on for eviction in evictions)
        plan_text = (
            f"the plan reserves none for {without_place} of its evictions"
            if without_place
            else "the plan has one for all"
        )
        end_text = f"{'ends' if count == 1 else 'end'} without a node that {_was(count)} not waiting for one before"
        yield f"{pluralize(count, 'pod')} {end_text}; {plan_text}."


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def _time(seconds: float) -> str:
    return format_duration(round(abs(seconds)))


@frozen
class RehearsalReport(DrainResultView, Report):
    noun_phrase = "a rehearsal"

    def sections(self, full: bool) -> Iterator[Section | None]:
        yield Heading(rehearsal_verdict(self), _verdict_lines(self))
        yield record.nodes(self)
        yield record.chart(self) if full else None
        yield record.not_emptied(self)
        yield record.placements(self) if full else None
        yield record.faults(self)
        yield record.refusals(self)
        yield record.pending(self)
        yield record.re_evicted(self)
        yield record.events_table(self) if full else None
        yield from self._closing_sections(full)
        yield Footer("All that happened: -o wide; for a ticket: -o markdown; for a program: -o json")

    def ticket(self, most: int) -> Iterator[Section]:
        yield Heading(rehearsal_verdict(self), _verdict_lines(self), "Drain rehearsal for")
        yield record.nodes(self)
        yield record.chart(self)
        yield record.not_emptied(self, most)
        for part in (record.placements, record.faults, record.refusals, record.pending, record.re_evicted):
            yield part(self)
        yield from self._closing_sections(True)
        yield record.events_table(self)

    def _closing_sections(self, full: bool) -> Iterator[Section]:
        """Kinds that a dump does not contain are a list of names; other kinds that were not read have a reason each."""
        yield BulletList(Title("Differences", " from the plan"), differences(self))
        yield BulletList(Title("Not shown", ": what no rehearsal can tell"), NOT_SHOWN)
        missing_reads = [read for read in self.cluster.reads if not read.known]
        absent_kinds = (
            [] if full else [read.resource.full_name for read in missing_reads if read.state is ReadState.NOT_HELD]
        )
        table = not_read(read for read in missing_reads if read.resource.full_name not in absent_kinds)
        notes = [f"not in the dump: {', '.join(absent_kinds)}"] if absent_kinds else ()
        yield Table("Not read", table, "kinds", notes=notes)
        yield BulletList("Notes", self.cluster.notes)

    def result(self) -> object:
        return RehearsalResult.of(self)


def _verdict_lines(view: DrainResultView) -> list[str]:
    """A good rehearsal does not remove the plan's blockers and unknowns: they follow the verdict."""
    return [
        new_nodes_text(view),
        placements_text(view),
        skipped_targets_text(view),
        f"The plan: {verdict_of_plan(view.plan_view)}",
    ]


# The rehearsal as ``-o json`` and ``-o yaml`` print it. Unknown values and events that did not happen are null, never
# 0.


class _RehearsedEvent(Printed):
    """One event."""

    at_seconds: Seconds
    what: DrainEventKind
    subject: Text
    """A node, or a pod (namespace/name); of a fault also the control plane, or how many pods."""
    node: Text | None
    """The pod's node; null where the subject is a node."""
    why: Text | None
    """Of a refusal the server's cause, or its message; of a fault its effect on the subject."""


class RehearsalResult(CommandResult):
    """The result of a drain in virtual time: kubectl eksdoc drain rehearse -o json. All seconds count from the start of
    the drain. Lists are sorted; null is not known or did not happen, never 0."""

    kind: Literal["DrainRehearsal"]
    plan: RecordPlan
    ended_seconds: Seconds
    """When the last node was done, or when the last event happened."""
    late_seconds: SecondsDifference | None
    """How much longer than the plan's p50; negative: shorter. null where one of both has no end."""
    nodes: tuple[RecordNode, ...]
    """The nodes that the plan drains, in its order."""
    moments: tuple[_RehearsedEvent, ...]
    """All events, by time."""
    placements: tuple[RecordPlacement, ...] | None
    """The nodes onto which replacements were planned and scheduled, targets first; null where that was not observed."""
    on_targets: Count | None
    """How many replacements were scheduled onto targets."""
    cordoned_only: Texts
    """Targets that are not drained and were cordoned."""
    refusals: tuple[RecordRefusal, ...]
    """The most frequent cause first."""
    pending: tuple[RecordPending, ...]
    """Pods without a node at the end: first those that the drain leaves without one, then those that had none
    before."""
    re_evicted: Texts
    """Pods (namespace/name) that were evicted more than once. They are found by name, so only pods that keep their name
    are listed."""
    not_emptied: Texts
    """Nodes that the plan drains and the rehearsal did not empty, in the plan's order."""
    differences: Texts
    """Differences between rehearsal and plan, in sentences, or one that says that nothing differs. Empty where no node
    is drained."""
    not_shown: Texts
    """Aspects that a rehearsal cannot show."""
    findings: tuple[FindingResult, ...]
    """The findings of the plan."""

    @classmethod
    def of(cls, facts: DrainResultView) -> RehearsalResult:
        return cls.from_facts(
            facts, facts.drain_result, differences=differences(facts), not_shown=NOT_SHOWN, **shared_fields(facts)
        )
