"""The rehearsal report in every format: whether the plan holds, and where the rehearsal differs from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal

from kubectl_eksdoc.drain.report import record
from kubectl_eksdoc.drain.report.record import (
    RecordNode,
    RecordPending,
    RecordPlacement,
    RecordPlan,
    RecordRefusal,
    RecordView,
    asked,
    held_by_name,
    placed,
    recorded,
    skipped_targets,
)
from kubectl_eksdoc.drain.report.rows import unread
from kubectl_eksdoc.drain.report.verdict import verdict as verdict_of_plan
from kubectl_eksdoc.drain.run.events import ASKED, Happened
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.kinds import ReadState
from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.report.command_result import CommandResult
from kubectl_eksdoc.report.report import Foot, Head, Points, Report, Section, Table
from kubectl_eksdoc.report.result import (
    Count,
    Difference,
    FindingResult,
    Printed,
    Seconds,
    Text,
    Texts,
)
from kubectl_eksdoc.report.text import Look, Title, counted, joined, listing

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

_MOST_NAMES = 4


def verdict(view: RecordView) -> str:
    """``Rehearsed: 8 of 8 nodes emptied by 37 evictions in 3m05s; the plan says about 2m54s (p95 4m59s).``"""
    if not view.nodes:
        return NOTHING_REHEARSED
    total, undone = len(view.nodes), len(view.not_emptied)
    by = f" by {asked(view)}" if view.evictions else ", with nothing to evict,"
    ended = duration(view.ended_s)
    head = f"Rehearsed: {total - undone} of {counted(total, 'node')} emptied"
    if not undone:
        return f"{head}{by} in {ended}; {_planned(view)}.{_left_out(view)}"
    count = asked(view) or "no eviction"
    names = listing((node.name for node in view.not_emptied), _MOST_NAMES, Look())
    was = "is" if undone == 1 else "are"
    end = f"{count}, and nothing more happened after {ended}; {_planned(view)}.{_left_out(view)}"
    return f"{head}, {undone} {was} not ({names}); {end}"


def _left_out(view: RecordView) -> str:
    """Not all selected nodes are drained by the plan."""
    left = len(view.planned.targets) - len(view.nodes)
    if not left:
        return ""
    return f" {left} of {counted(len(view.planned.targets), 'node')} to drain {'is' if left == 1 else 'are'} left out."


def new_nodes(view: RecordView) -> str:
    """``2 new nodes joined, the last at 4m10s.`` or "" when none did."""
    joined = view.happened(Happened.JOINED)
    if not joined:
        return ""
    last = "the last " if len(joined) > 1 else ""
    return f"{counted(len(joined), 'new node')} joined, {last}at {duration(joined[-1].at_s)}."


def differences(view: RecordView) -> tuple[str, ...]:
    """The differences between rehearsal and plan, a sentence each; one sentence if there are none."""
    if not view.nodes:
        return ()
    return tuple(text for text in (*_of_nodes(view), *_of_pods(view)) if text) or (NOTHING_DIFFERS,)


def _planned(view: RecordView) -> str:
    estimate = view.plan.estimate
    if estimate is None:
        return "the plan does not tell how long it takes"
    return f"the plan says about {duration(estimate.p50_s)} (p95 {duration(estimate.p95_s)})"


def _of_nodes(view: RecordView) -> Iterator[str]:
    if undone := len(view.not_emptied):
        yield f"{counted(undone, 'node')} that the plan drains {'is' if undone == 1 else 'are'} not emptied."
    yield _late(view)
    planned = view.planned.spans
    apart = [(node.done_s - planned[name].done_s, name) for name, node in view.spans.items() if name in planned]
    late = [each for each in apart if round(each[0]) > 0]
    early = [(-by, name) for by, name in apart if round(by) < 0]
    parts = [
        f"{counted(len(those), 'node')} {'is' if len(those) == 1 else 'are'} done {than} than planned ({_most(those)})"
        for those, than in ((late, "later"), (early, "sooner"))
        if those
    ]
    if parts:
        yield f"{joined(parts)}."
    if missing := view.happened(Happened.MISSING):
        yield f"{counted(len(missing), 'new node')} that the plan waits for did not join."


def _late(view: RecordView) -> str:
    estimate, late = view.plan.estimate, view.late_s
    if estimate is None:
        return "Whether it is late is unknown: the plan has no duration."
    if late is None:
        return f"It does not come to its end; the plan's p50 is {duration(estimate.p50_s)}."
    if not round(late):
        return ""
    than = f"{_words(late)} {'longer' if late > 0 else 'less'} than the plan's p50 of {duration(estimate.p50_s)}"
    beyond = f", and more than its p95 of {duration(estimate.p95_s)}" if view.ended_s > estimate.p95_s else ""
    return f"It takes {than}{beyond}."


def _most(those: list[tuple[float, str]]) -> str:
    by, name = max(those, key=lambda each: each[0])
    return f"{name} by {_words(by)}" if len(those) == 1 else f"most of all {name}, by {_words(by)}"


def _of_pods(view: RecordView) -> Iterator[str]:
    evictions = view.plan.evictions
    made = Counter(moment.subject for moment in view.moments if moment.what in (*ASKED, Happened.FINISHED))
    if missing := sum((Counter(eviction.pod.key for eviction in evictions) - made).values()):
        yield f"{missing} of {counted(len(evictions), 'planned eviction')} {_was(missing)} not made."
    if refused := view.history.refusals:
        yield f"Evictions were refused {counted(refused, 'time')}; the plan expects no refusal."
    if count := view.record.on_targets:
        onto = "skipped targets, which are not cordoned" if view.plan.open_targets else "targets"
        yield f"{counted(count, 'replacement')} {_was(count)} scheduled onto {onto}; the plan has all on other nodes."
    yield held_by_name(view)
    if count := len(view.record.re_evicted):
        yield f"{counted(count, 'pod')} {_was(count)} evicted more than once; the plan expects none."
    if count := sum(not each.before for each in view.pending):  # pods that were Pending before are no difference
        none = sum(not eviction.lands_on for eviction in evictions)
        plan = f"the plan reserves none for {none} of its evictions" if none else "the plan has one for all"
        end = f"{'ends' if count == 1 else 'end'} without a node that {_was(count)} not waiting for one before"
        yield f"{counted(count, 'pod')} {end}; {plan}."


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def _words(seconds: float) -> str:
    return duration(round(abs(seconds)))


@frozen
class RehearsalReport(RecordView, Report):
    of = "a rehearsal"

    def sections(self, full: bool) -> Iterator[Section | None]:
        yield Head(verdict(self), _below(self))
        yield record.nodes(self)
        yield record.chart(self) if full else None
        yield record.not_emptied(self)
        yield record.placements(self) if full else None
        yield record.faults(self)
        yield record.refusals(self)
        yield record.pending(self)
        yield record.re_evicted(self)
        yield record.moments(self) if full else None
        yield from self._last(full)
        yield Foot("All that happened: -o wide; for a ticket: -o markdown; for a program: -o json")

    def ticket(self, most: int) -> Iterator[Section]:
        yield Head(verdict(self), _below(self), "Drain rehearsal for")
        yield record.nodes(self)
        yield record.chart(self)
        yield record.not_emptied(self, most)
        for part in (record.placements, record.faults, record.refusals, record.pending, record.re_evicted):
            yield part(self)
        yield from self._last(True)
        yield record.moments(self)

    def _last(self, full: bool) -> Iterator[Section]:
        """Kinds that a dump does not contain are a list of names; other kinds that were not read have a reason each."""
        yield Points(Title("Differences", " from the plan"), differences(self))
        yield Points(Title("Not shown", ": what no rehearsal can tell"), NOT_SHOWN)
        missing = [read for read in self.cluster.reads if not read.known]
        absent = [] if full else [read.resource.full_name for read in missing if read.state is ReadState.NOT_HELD]
        table = unread(read for read in missing if read.resource.full_name not in absent)
        below = [f"not in the dump: {', '.join(absent)}"] if absent else ()
        yield Table("Not read", table, "kinds", below=below)
        yield Points("Notes", self.cluster.notes)

    def result(self) -> object:
        return RehearsalResult.of(self)


def _below(view: RecordView) -> list[str]:
    """A good rehearsal does not remove the plan's blockers and unknowns: they follow the verdict."""
    return [new_nodes(view), placed(view), skipped_targets(view), f"The plan: {verdict_of_plan(view.planned)}"]


# The rehearsal as ``-o json`` and ``-o yaml`` print it. Unknown values and events that did not happen are null, never
# 0.


class _Moment(Printed):
    """One event."""

    at_seconds: Seconds
    what: Happened
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
    late_seconds: Difference | None
    """How much longer than the plan's p50; negative: shorter. null where one of both has no end."""
    nodes: tuple[RecordNode, ...]
    """The nodes that the plan drains, in its order."""
    moments: tuple[_Moment, ...]
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
    def of(cls, facts: RecordView) -> RehearsalResult:
        return cls.filled(facts, facts.record, differences=differences(facts), not_shown=NOT_SHOWN, **recorded(facts))
