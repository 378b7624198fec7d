"""Details of the row under the cursor: a budget, a node's place in the order, a pod, a blocker."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from kubectl_eksdoc.drain.outcome import Eviction, PodVerdict
from kubectl_eksdoc.drain.report.findings import FindingGroup, evidence_lines
from kubectl_eksdoc.drain.report.plan import (
    BUDGET_SYMBOLS,
    POD_SYMBOLS,
    TARGET_SYMBOLS,
    DrainView,
    current_status,
    short_budget_verdict,
    short_code,
)
from kubectl_eksdoc.drain.report.pod import pod_lines
from kubectl_eksdoc.drain.result import Headroom
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.findings import Status, When
from kubectl_eksdoc.model.interruption import PodReport
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.report.report import SYMBOLS
from kubectl_eksdoc.report.text import Appearance, Cell, Tone, list_names, pluralize, printable

from .keymap import FootBar, Hint, appearance_of
from .panel import Answered, Prose, run_in_thread
from .tables.nodes import targets_by_node
from .tables.pods import Line, PodList, cached_per_view, text_of_cell

_MAX_LINES = 40
_MAX_NODES = 6


def budget_lines(headroom: Headroom, groups: Sequence[FindingGroup], view: DrainView) -> list[Line]:
    """A budget: its rule, its remedies if it blocks, its pods on marked nodes, and when they are evicted."""
    budget = headroom.budget
    symbol, tone = BUDGET_SYMBOLS[headroom.verdict]
    lines: list[Line] = [
        (f"{symbol} {budget.key}: {short_budget_verdict(headroom)}", tone),
        headroom.why,
        *_remedy_lines(groups),
        "",
        f"rule       {budget.rule}",
        f"selector   {budget.selector}",
        f"owner      {headroom.owner or 'unknown'}",
        f"pods       {headroom.on_targets} on marked nodes, {headroom.to_evict} to evict, "
        f"{headroom.per_round} at once, {pluralize(headroom.rounds, 'round')}",
        "",
    ]
    evictions = _evictions_by(view, "budget").get(budget.key, [])
    for eviction in evictions[:_MAX_LINES]:
        evicted_at_s = view.evicted_at.get(eviction.pod.uid)
        time_text = "" if evicted_at_s is None else f" after {format_duration(evicted_at_s)}"
        lines.append(
            f"{eviction.position:>5}  {eviction.pod.key} on {eviction.node}{time_text}, grace "
            f"{format_duration(view.grace(eviction.pod))}"
        )
    return [*lines, *_omitted_lines(len(evictions))]


def closed_budget_lines(budget: Budget) -> list[Line]:
    """A budget that allows no eviction now, before any node is marked."""
    status = current_status(budget)
    headline = (f"? {budget.key}: whether it allows an eviction is not known", Tone.UNKNOWN)
    if status is not None:
        headline = (f"✗ {budget.key}: allows no eviction now", Tone.BAD)
    health_text = "" if status is None else f": {status.current} healthy of {status.expected}, {status.desired} wanted"
    hint = "Mark the nodes of its pods (space on [1]): the plan names the fix here."
    return [headline, f"{budget.rule}{health_text}", "", f"selector   {budget.selector}", "", hint]


def placement_summary(evictions: Iterable[Eviction]) -> str:
    """``9 on green-3, 7 on green-1; no place is reserved for 2 pods``: the nodes that the plan has reserved for the
    replacements, by requests and all scheduler filters. Sums of free CPU and memory would say less: pods that fit in
    sum may fit on no node."""
    pods_by_node = Counter(each.lands_on for each in evictions)
    unplaced = pods_by_node.pop("", 0)
    placed_text = list_names(
        [f"{pods} on {node}" for node, pods in pods_by_node.most_common()], _MAX_NODES, Appearance()
    )
    return "; ".join(
        filter(None, (placed_text, f"no place is reserved for {pluralize(unplaced, 'pod')}" if unplaced else ""))
    )


def node_lines(name: str, view: DrainView) -> list[Line]:
    """A node: why it has its place in the order, and the order of its evictions."""
    target = targets_by_node(view).get(name)
    if target is None:
        return [(f"{name} is not marked", Tone.FAINT)]
    symbol, tone = TARGET_SYMBOLS[target.verdict]
    headline = f"{symbol} {name}: {target.verdict.value}"
    if target.order:
        headline += f", place {target.order}, wave {target.wave}"
        span = view.spans.get(name)
        if span is not None:
            headline += f", {format_duration(span.start_s)} to {format_duration(span.done_s)}"
    lines: list[Line] = [(headline, tone), *target.why, ""]
    if target.needs:
        lines += [f"waits for the new nodes in place of {', '.join(target.needs)}", ""]
    evictions = _evictions_by(view, "node").get(name, [])
    if evictions:
        has_unplaced = any(not eviction.lands_on for eviction in evictions)
        placement = f"Room elsewhere: {placement_summary(evictions)}"
        lines += [(f"! {placement}", Tone.WARN) if has_unplaced else placement, ""]
        lines.append((f"Order of evictions ({pluralize(len(evictions), 'pod')})", Tone.TITLE))
    for eviction in evictions[:_MAX_LINES]:
        destination = f" → {eviction.lands_on}" if eviction.lands_on else ""
        lines.append(
            f"{eviction.position:>5}  round {eviction.round:<3} {eviction.pod.key}{destination}: {eviction.reason}"
        )
    lines += _omitted_lines(len(evictions))
    not_evicted = view.not_evicted_on.get(name, [])
    shown_rows = [row for row in not_evicted if row.verdict is not PodVerdict.STAY] or not_evicted
    if shown_rows:
        lines += ["", (f"Left on it ({pluralize(len(not_evicted), 'pod')})", Tone.TITLE)]
    for row in shown_rows[:_MAX_LINES]:
        row_symbol, row_tone = POD_SYMBOLS[row.verdict]
        lines.append((f"{row_symbol} {row.pod.key}: {row.reason or row.verdict.value}", row_tone))
    return [*lines, *_omitted_lines(len(shown_rows))]


def detail_lines_of_pod(uid: str, pod_list: PodList, view: DrainView | None) -> list[Line]:
    """A pod: why it is evicted or stays, and what its budgets allow."""
    pod = pod_list.pods.get(uid)
    if pod is None:
        return []
    cells = pod_list.sheet.cells(uid)
    verdict = cells[pod_list.verdict_column]
    tone = verdict.tone if isinstance(verdict, Cell) else None
    headline = f"{text_of_cell(verdict)} · {pod.key}"
    lines: list[Line] = [(headline, tone) if tone is not None else headline, text_of_cell(cells[-1])]
    for headroom in view.budgets if view is not None else ():
        budget = headroom.budget
        if budget.namespace == pod.namespace and budget.selector.matches(pod.labels):
            symbol, budget_tone = BUDGET_SYMBOLS[headroom.verdict]
            lines.append(
                (f"{symbol} budget {budget.key}, {short_budget_verdict(headroom)}: {headroom.why}", budget_tone)
            )
    return lines


def group_lines(group: FindingGroup) -> list[Line]:
    """A group of findings: meaning, evidence and remedies; commands are on separate lines."""
    first = group.first
    symbol, tone = SYMBOLS[first.status]
    lines: list[Line] = [(f"{symbol} {short_code(first.code.name)} ({first.severity.value}): {group.about}", tone)]
    lines += [*group.messages[:_MAX_LINES], *_omitted_lines(len(group.messages))]
    if group.nodes and first.status is not Status.PASS:
        lines.append(f"holds up {list_names(group.nodes, _MAX_LINES, Appearance())}")
    if first.missing:
        lines.append(f"missing: {first.missing}")
    evidence_texts, _ = evidence_lines(replace(group, findings=group.findings[:_MAX_LINES]))
    lines += [(f"- {each}", Tone.FAINT) for each in evidence_texts[:6]]
    return [*lines, *_remedy_lines([group]), "", (f"code {first.code.name}", Tone.FAINT)]


def _remedy_lines(groups: Sequence[FindingGroup]) -> list[Line]:
    """The remedies, those for now before those for later; commands are on separate lines."""
    lines: list[Line] = []
    for when in When:
        for group in groups:
            for remedy, commands in group.remedies:
                if remedy.when is when:
                    lines += ["", f"{when.value}: {remedy.text}"]
                    lines += [
                        *((f"    {command}", Tone.GOOD) for command in commands[:_MAX_LINES]),
                        *_omitted_lines(len(commands)),
                    ]
    return lines


@cached_per_view
def _evictions_by(view: DrainView, attribute: Literal["budget", "node"]) -> Mapping[str, list[Eviction]]:
    """The evictions by budget or by node, in their order."""
    evictions_by_key: dict[str, list[Eviction]] = defaultdict(list)
    for eviction in view.evictions:
        evictions_by_key[eviction.budget if attribute == "budget" else eviction.node].append(eviction)
    return evictions_by_key


def _omitted_lines(count: int) -> list[Line]:
    return [(f"… and {count - _MAX_LINES} more", Tone.FAINT)] if count > _MAX_LINES else []


# [d] on a pod: its details from the cluster, in a side panel.


_FOOT_HINTS = (
    Hint("esc", "close", ("dismiss",)),
    Hint("d", "describe", ("first(False)",)),
    Hint("l", "logs", ("first(True)",)),
    Hint("ctrl+r", "read again", ("read",)),
    Hint("j k", "scroll"),
)


class PodPanel(ModalScreen[None]):
    """`read` is called in a thread: it queries the cluster. Mutable: the last answer, and which part comes first."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
    BINDINGS = [
        ("escape,q,enter", "dismiss"),
        ("d", "first(False)"),
        ("l", "first(True)"),
        ("ctrl+r", "read"),
    ]

    def __init__(self, pod: str, read: Callable[[str], PodReport], now: Callable[[], datetime]) -> None:
        super().__init__()
        self._pod, self._read_report, self._now, self._logs_first = pod, read, now, False
        self._answer: PodReport | list[Line] = ["The cluster is asked…"]

    def compose(self) -> ComposeResult:
        with Vertical(id="side"):
            yield Prose(id="about-pod")
            yield FootBar(id="foot")

    def on_mount(self) -> None:
        appearance = appearance_of(self)
        self.query_one("#side").border_title = printable(self._pod, appearance).replace("[", r"\[")
        self.query_one(FootBar).show(_FOOT_HINTS)
        self.query_one(Prose).focus()
        self.action_read()

    def action_read(self) -> None:
        run_in_thread(self, "pod", lambda: self._read_report(self._pod))
        self._show()

    def action_first(self, logs: bool) -> None:
        """Reorder the details that are already known."""
        self._logs_first = logs
        self._show()

    @on(Answered)
    def _answered(self, event: Answered) -> None:
        self._answer = event.answer if isinstance(event.answer, PodReport) else list(event.lines)
        self._show()

    def _show(self) -> None:
        answer = self._answer
        lines = pod_lines(answer, self._now(), self._logs_first) if isinstance(answer, PodReport) else answer
        self.query_one(Prose).show(lines)
