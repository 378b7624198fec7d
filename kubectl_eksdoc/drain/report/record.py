"""Result of a drain that was run or rehearsed, beside its plan: rows in a fixed order, and texts that both share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import NamedTuple

from kubectl_eksdoc import __version__
from kubectl_eksdoc.frozen import CachedProperties, frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.journal import DelayCause
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.report.command_result import metadata
from kubectl_eksdoc.report.report import ReportFigure, Table
from kubectl_eksdoc.report.result import Count, PositiveCount, Printed, Seconds, SecondsDifference, Text, Texts
from kubectl_eksdoc.report.text import (
    MARGIN,
    Appearance,
    Cell,
    Row,
    Title,
    as_columns,
    join_words,
    list_names,
    name_column,
    number_column,
    pluralize,
    text_column,
)

from ..outcome import DrainTarget
from ..result import DrainPlan
from ..run.events import REMOVAL_EVENTS, DrainEvent, DrainEventKind
from ..run.history import RunHistory, planned_nodes
from ..run.result import Record
from ..run.stall_timeouts import Soak
from ..timeline import NodeSpan
from . import timeline
from .plan import BAD, GOOD, DrainView
from .result_parts import SoakResult
from .rows import NONE


class NodeResult(NamedTuple):
    """A node that the plan drains. Times are seconds from the start; None: it did not happen.

    `left`: pods (namespace/name) that should have been evicted and were not. `left_alone_reason`: why the run left the
    node alone, or "".
    """

    target: DrainTarget
    begun_s: float | None
    empty_s: float | None
    done_s: float | None
    evictions: int
    refusals: int
    emptied: bool
    left: tuple[str, ...]
    left_alone_reason: str = ""

    @property
    def name(self) -> str:
        return self.target.node.name

    @property
    def seen_empty(self) -> bool:
        """Whether the run ended before it checked a second time that the node was empty, as it does for drained
        nodes."""
        return not self.emptied and self.empty_s is not None and not self.left and not self.left_alone_reason


class PendingPodRow(NamedTuple):
    """A pod without a node at the end. `why`: the scheduler's message, or "". `before`: pending already before the
    drain."""

    pod: str
    why: str
    before: bool


@frozen
class DrainResultView(CachedProperties):
    """The result of a drain, the facts its plan was made from, and the options as given (JSON values by name).

    `connection_args` and `aws`: the same as in `DrainView`. The rows are built once, on first use.
    """

    drain_result: Record
    cluster: Cluster
    options: Mapping[str, object] = field(default_factory=dict)
    tool_version: str = __version__
    soak: Soak | None = None
    connection_args: tuple[str, ...] | None = None
    aws: tuple[str, ...] = ()

    @property
    def late_s(self) -> float | None:
        """`late_s` of the result without requested waits: soaks between waves, and pauses."""
        late_s = self.drain_result.late_s
        return None if late_s is None else late_s - self.waited_s

    @property
    def waited_s(self) -> float:
        """Seconds of requested waits: pauses, and soaks between waves."""
        return self.drain_result.paused_s + (self.soak.total_s if self.soak is not None else 0.0)

    @property
    def plan(self) -> DrainPlan:
        return self.drain_result.plan

    @property
    def ended_s(self) -> float:
        return self.drain_result.ended_s

    @cached_property
    def plan_view(self) -> DrainView:
        """The view of the plan alone."""
        plan_args = self.plan, self.cluster, self.options, self.tool_version
        return DrainView(*plan_args, connection_args=self.connection_args, aws=self.aws, soak=self.soak)

    @cached_property
    def moments(self) -> tuple[DrainEvent, ...]:
        """By time; events at the same time keep their order."""
        return tuple(sorted(self.drain_result.moments, key=lambda moment: moment.at_s))

    @cached_property
    def nodes(self) -> tuple[NodeResult, ...]:
        """The nodes that the plan drains, in its order."""
        evictions = Counter(m.node for m in self.moments if m.what in REMOVAL_EVENTS)
        refusals = Counter(m.node for m in self.events_of(DrainEventKind.REFUSED))
        left_alone_reasons = {m.subject: m.why for m in self.events_of(DrainEventKind.LEFT_ALONE)}
        pods_by_node = self.drain_result.undone
        results = []
        for target in self.plan_view.targets:
            name = target.node.name
            if target.order:
                begun, empty, done = (
                    self._first_time.get((kind, name))
                    for kind in (DrainEventKind.BEGUN, DrainEventKind.EMPTY, DrainEventKind.DONE)
                )
                counts = evictions[name], refusals[name]
                left = tuple(sorted(pods_by_node.get(name, ())))
                results.append(
                    NodeResult(
                        target,
                        begun,
                        empty,
                        done,
                        *counts,
                        name not in pods_by_node,
                        left,
                        left_alone_reasons.get(name, ""),
                    )
                )
        return tuple(results)

    @cached_property
    def not_emptied(self) -> tuple[NodeResult, ...]:
        return tuple(node for node in self.nodes if not node.emptied)

    @cached_property
    def refusals(self) -> list[tuple[str, int]]:
        """How often the server gave each cause of a refusal, the most frequent first; "": no cause."""
        return sorted(self.drain_result.refusals.items(), key=lambda item: (-item[1], item[0]))

    @cached_property
    def pending(self) -> tuple[PendingPodRow, ...]:
        """Pods without a node at the end: first pods that the drain left pending, then pods that were pending before;
        by name."""
        before = {pod.key for pod in self.cluster.pods if not pod.node}
        rows = (PendingPodRow(each.pod, each.why, each.pod in before) for each in self.drain_result.pending)
        return tuple(sorted(rows, key=lambda row: (row.before, row.pod)))

    @cached_property
    def history(self) -> RunHistory:
        """The events counted; every report of this drain uses these counts."""
        history = RunHistory(planned_nodes(self.plan))
        history.add(self.moments)
        return history

    @property
    def evictions(self) -> int:
        """Number of pods that were evicted, restarted or deleted, as a plan counts them."""
        return self.history.granted.total()

    def events_of(self, kind: DrainEventKind) -> list[DrainEvent]:
        return [moment for moment in self.moments if moment.what is kind]

    @cached_property
    def spans(self) -> dict[str, NodeSpan]:
        """When each node was begun, empty and done; only nodes for which all three happened."""
        return {
            node.name: NodeSpan(node.name, node.begun_s, node.empty_s, node.done_s)
            for node in self.nodes
            if node.begun_s is not None and node.empty_s is not None and node.done_s is not None
        }

    @property
    def wave_of(self) -> Mapping[str, int]:
        return self.plan_view.wave_of

    @cached_property
    def _first_time(self) -> dict[tuple[DrainEventKind, str], float]:
        """The first time of each event kind and subject."""
        return {(moment.what, moment.subject): moment.at_s for moment in reversed(self.moments)}


# Tables that the pages of a run and of a rehearsal share.


NO_REASON = "no reason was given"

ALL_NODES_OPTION = "-o json"
"""The option that shows every node, without a limit."""

MAX_NAMES = 20


def nodes(view: DrainResultView) -> Table:
    """The nodes that the plan drains, in its order; times from the start."""
    generations = view.plan.uses_generations
    columns = as_columns(
        number_column("#", 2),
        name_column("NODE"),
        number_column("GENERATION" if generations else "WAVE", 1, short_title="GEN" if generations else ""),
        *(number_column(title) for title in ("BEGUN", "EMPTY", "DONE", "EVICTIONS", "REFUSALS")),
        "OUTCOME",
    )
    title = Title("Nodes", ", in the order of the plan; times from the start")
    return Table(title, (columns, [_node(node) for node in view.nodes]), "nodes")


def _node(node: NodeResult) -> Row:
    sign, tone = GOOD if node.emptied else BAD
    return [
        node.target.order,
        node.name,
        node.target.wave or NONE,
        *(NONE if each is None else format_duration(each) for each in (node.begun_s, node.empty_s, node.done_s)),
        node.evictions,
        node.refusals,
        Cell(f"{sign} {'emptied' if node.emptied else 'not emptied'}", tone),
    ]


def refusals(view: DrainResultView) -> Table:
    columns = [number_column("COUNT"), text_column("CAUSE", 20, 4)]
    rows = [[str(times), cause or NO_REASON] for cause, times in view.refusals]
    return Table(Title("Refused", ", by cause"), (columns, rows), "causes")


def pending(view: DrainResultView) -> Table:
    """BEFORE: whether the pod was pending before the drain began."""
    columns = as_columns(name_column("POD"), "BEFORE", text_column("THE SCHEDULER SAYS", 24, 4))
    rows = [[each.pod, "yes" if each.before else "no", each.why or NO_REASON] for each in view.pending]
    return Table(Title("Pending", " at the end: pods without a node"), (columns, rows), "pods")


def re_evicted(view: DrainResultView) -> Table:
    table = [name_column("POD")], [[pod] for pod in view.drain_result.re_evicted]
    return Table("Evicted more than once", table, "pods")


def not_emptied(view: DrainResultView, limit: int | None = None) -> Table:
    """Names at most `limit` pods of each node."""
    columns = [name_column("NODE"), number_column("LEFT"), text_column("PODS", 30, 6)]
    rows = [[node.name, str(len(node.left)), _not_evicted(node, limit)] for node in view.not_emptied]
    return Table(Title("Not emptied", ", and the pods that are left"), (columns, rows), "nodes")


def _not_evicted(node: NodeResult, limit: int | None) -> str:
    pods = list_names(node.left, len(node.left) if limit is None else limit, Appearance()) or NONE
    if node.seen_empty:
        return "seen empty, and not checked again"
    if node.left_alone_reason:
        return f"{pods}; left alone: {node.left_alone_reason}"
    return pods if node.begun_s is not None else f"never begun: {pods}"


def placements(view: DrainResultView) -> Table:
    columns = as_columns(name_column("NODE"), number_column("PLANNED"), number_column("SCHEDULED"), "")
    placements = view.drain_result.placements if view.drain_result.placed is not None else ()
    rows = [
        [each.node, each.planned, each.placed, Cell("✗ a target", BAD[1]) if each.target else ""] for each in placements
    ]
    title = Title("Placements", " of the replacements, by node; planned and what happened")
    return Table(title, (columns, rows), "nodes")


def faults(view: DrainResultView) -> Table:
    columns = [number_column("TIME"), name_column("SUBJECT"), text_column("WHAT", 24, 4)]
    rows = [[format_duration(m.at_s), m.subject, m.why] for m in view.events_of(DrainEventKind.BEFALLEN)]
    return Table(Title("Faults", ": what went wrong because it was asked for"), (columns, rows), "faults")


def events_table(view: DrainResultView) -> Table:
    """All events; folded in a ticket."""
    columns = as_columns(number_column("TIME"), "WHAT", "SUBJECT", "NODE", "WHY")
    rows = [[format_duration(m.at_s), m.what.value, m.subject, m.node or NONE, m.why or NONE] for m in view.moments]
    fold = f"{pluralize(len(rows), 'moment')}: all that happened"
    return Table(Title("Moments", ": all that happened"), (columns, rows), "moments", fold_summary=fold)


def chart(view: DrainResultView) -> ReportFigure:
    """The nodes as a Gantt chart, and the names of those without a bar because they were never done."""
    names = [node.name for node in view.nodes if node.name not in view.spans]
    return ReportFigure(
        Title("Timeline", ", nodes in the order in which they are begun"),
        lambda look, full: timeline.timeline(view, look, len(MARGIN) if full else 0, ALL_NODES_OPTION),
        [f"Without a bar, because never done: {list_names(names, MAX_NAMES, Appearance())}."] if names else (),
    )


# Sentences that a run and a rehearsal share.


_MAX_NAMES = 6


def eviction_counts(view: DrainResultView) -> str:
    """``36 evictions and 1 restart``, or "" where no pod was evicted, restarted or deleted."""
    nouns = zip(REMOVAL_EVENTS, ("eviction", "restart", "deletion"), strict=True)
    counts = view.history.granted
    return join_words([pluralize(counts[what], noun) for what, noun in nouns if counts[what]])


def request_counts(granted: int, refused: int) -> str:
    """``10 of 24 eviction requests refused (41.7%)`` or ``37 eviction requests, none refused``.

    A restart and a deletion each count as one request.
    """
    total = granted + refused
    if not refused:
        return f"{pluralize(total, 'eviction request')}, none refused" if total else "no eviction requested"
    return f"{refused} of {pluralize(total, 'eviction request')} refused ({refused / total:.1%})"


def placements_text(view: DrainResultView) -> str:
    """``0 of 36 replacements were scheduled onto targets; the others onto green-1 (12), green-2 (24).``

    "" where placements were not observed, or no pod was replaced.
    """
    result = view.drain_result
    if not result.placed:
        return ""
    total, on_targets = sum(result.placed.values()), result.on_targets
    other_nodes = [f"{each.node} ({each.placed})" for each in result.placements if each.placed and not each.target]
    other_names = list_names(other_nodes, _MAX_NAMES, Appearance())
    elsewhere = f"; {'the others' if on_targets else 'all'} onto {other_names}" if other_nodes else ""
    text = f"{on_targets} of {pluralize(total, 'replacement')} {'was' if total == 1 else 'were'} scheduled onto targets"
    names = [f"{each.node} ({each.placed})" for each in result.placements if each.placed and each.target]
    again_clause = f" ({list_names(names, _MAX_NAMES, Appearance())}), and have to be evicted again" if names else ""
    return f"{text}{again_clause}{elsewhere}."


def skipped_targets_text(view: DrainResultView) -> str:
    """``3 skipped targets were cordoned and stay so until a rollback: blue-6, blue-7, blue-8.``, or that they were not
    cordoned; "" where no target was skipped."""
    names = view.drain_result.cordoned_only
    if not_cordoned := [target.node.name for target in view.plan.open_targets]:
        listed = list_names(not_cordoned, _MAX_NAMES, Appearance())
        verb = "was" if len(not_cordoned) == 1 else "were"
        return f"{pluralize(len(not_cordoned), 'skipped target')} {verb} not cordoned (--no-cordon-skipped): {listed}."
    if not names:
        return ""
    verb_past, verb_present = ("was", "stays") if len(names) == 1 else ("were", "stay")
    listed = list_names(names, _MAX_NAMES, Appearance())
    return (
        f"{pluralize(len(names), 'skipped target')} {verb_past} cordoned and {verb_present} so until a "
        f"rollback: {listed}."
    )


def time_difference(p50_s: float, p95_s: float, took_s: float, causes: Mapping[DelayCause, float]) -> str:
    """``57s less than p50 (2m54s, -33%), within p95 (4m59s): stopping -40s, budgets -17s``."""
    late_s = took_s - p50_s
    share = f", {late_s / p50_s:+.0%}" if p50_s else ""
    against_p50 = (
        f"{format_duration(abs(late_s))} {'longer' if late_s > 0 else 'less'} than p50 "
        f"({format_duration(p50_s)}{share})"
    )
    against_p95 = f"{'more than' if took_s > p95_s else 'within'} p95 ({format_duration(p95_s)})"
    return f"{against_p50}, {against_p95}{f': {main_causes(causes)}' if main_causes(causes) else ''}"


def main_causes(causes: Mapping[DelayCause, float]) -> str:
    """``stopping -40s, budgets +17s``: the causes of at least 1 s and a tenth of the largest, the largest first."""
    largest_s = max(map(abs, causes.values()), default=0.0)
    relevant = [each for each in causes.items() if abs(each[1]) >= max(1.0, largest_s / 10)]
    relevant.sort(key=lambda each: -abs(each[1]))
    return ", ".join(
        f"{cause.value} {'+' if late_s > 0 else '-'}{format_duration(abs(late_s))}" for cause, late_s in relevant
    )


def budgets_held_by_name(view: DrainResultView) -> str:
    """``Budgets counted pods as evicted that came back under their names …: data/kafka.``, or ""."""
    budget_counts = Counter(moment.subject for moment in view.events_of(DrainEventKind.HELD_BY_NAME))
    if not budget_counts:
        return ""
    names = list_names(
        (f"{budget} ({times} times)" if times > 1 else budget for budget, times in budget_counts.items()),
        4,
        Appearance(),
    )
    return f"Budgets counted pods as evicted that came back under their names, for up to 2 min each: {names}."


# Types that the results of a run and of a rehearsal share. null: unknown or did not happen, never 0.


class RecordCause(Printed):
    cause: DelayCause
    seconds: SecondsDifference


class RecordEstimate(Printed):
    """Seconds, as in DrainPlan: p50 (half of all cases) and p95 (19 of 20 cases)."""

    p50: Seconds
    p95: Seconds
    soak: SoakResult | None


class RecordPlan(Printed):
    """Figures of the plan that was run or rehearsed."""

    drained: Count
    """Nodes that the plan drains."""
    skipped: Count
    """Targets that the plan does not drain."""
    evictions: Count
    estimate: RecordEstimate | None
    """null: nothing is drained, or its times are unknown."""

    @classmethod
    def of(cls, facts: DrainResultView) -> RecordPlan:
        plan, estimate = facts.plan, facts.plan.estimate
        return cls.from_facts(
            drained=len(facts.nodes),
            skipped=len(plan.skipped),
            evictions=len(plan.evictions),
            estimate=estimate and RecordEstimate.from_facts(estimate, soak=facts.soak),
        )


class RecordNode(Printed):
    """A node of the plan, and when it was begun, empty, and done (empty for some seconds)."""

    called = {"wave": "target.wave"}

    name: Text
    wave: PositiveCount | None
    """The plan's wave or generation."""
    begun_seconds: Seconds | None
    """From when its first eviction could be requested."""
    empty_seconds: Seconds | None
    """When no pod to evict was on the node any more."""
    done_seconds: Seconds | None
    evictions: Count
    refusals: Count
    """Eviction requests that the API server refused."""
    left: Texts
    """Pods (namespace/name) that should have been evicted and were not, without pods that the plan does not evict."""


class RecordPlacement(Printed):
    called = {"scheduled": "placed"}

    node: Text
    planned: Count
    scheduled: Count
    target: bool


class RecordRefusal(Printed):
    """A cause that the API server gave for refusals, and how often."""

    cause: Text | None
    """null: the server gave no cause."""
    count: PositiveCount


class RecordPending(Printed):
    """A pod (namespace/name) without a node."""

    pod: Text
    why: Text | None
    """The scheduler's message; null: none."""
    before: bool
    """Whether the pod had no node before the drain began either."""


def shared_fields(view: DrainResultView) -> dict[str, object]:
    """Fields that a run's and a rehearsal's result share under other names than the view's. Placements are null where
    they were not observed."""
    result = view.drain_result
    has_placements = result.placed is not None
    return {
        "metadata": metadata(view.cluster, view),
        "plan": view,
        "placements": result.placements if has_placements else None,
        "on_targets": result.on_targets if has_placements else None,
        "not_emptied": [node.name for node in view.not_emptied],
        "findings": view.plan_view.findings,
    }
