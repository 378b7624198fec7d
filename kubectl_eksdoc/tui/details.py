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
from kubectl_eksdoc.drain.report.findings import Group, evidence
from kubectl_eksdoc.drain.report.plan import (
    BUDGET_SIGN,
    POD_SIGN,
    TARGET_SIGN,
    DrainView,
    budget_in_brief,
    in_brief,
    status_of,
)
from kubectl_eksdoc.drain.report.pod import pod_lines
from kubectl_eksdoc.drain.result import Headroom
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.findings import Status, When
from kubectl_eksdoc.model.interruption import PodReport
from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.report.report import SIGNS
from kubectl_eksdoc.report.text import Cell, Look, Tone, counted, listing, shown

from .keymap import FootBar, Hint, look_of
from .panel import Answered, Prose, ask
from .tables.nodes import targets_of
from .tables.pods import Line, Listed, once_a_view, text_of

_MOST = 40
_MOST_NODES = 6


def of_budget(headroom: Headroom, groups: Sequence[Group], view: DrainView) -> list[Line]:
    """A budget: its rule, its remedies if it blocks, its pods on marked nodes, and when they are evicted."""
    budget = headroom.budget
    sign, tone = BUDGET_SIGN[headroom.verdict]
    lines: list[Line] = [
        (f"{sign} {budget.key}: {budget_in_brief(headroom)}", tone),
        headroom.why,
        *_fixes(groups),
        "",
        f"rule       {budget.rule}",
        f"selector   {budget.selector}",
        f"owner      {headroom.owner or 'unknown'}",
        f"pods       {headroom.on_targets} on marked nodes, {headroom.to_evict} to evict, "
        f"{headroom.per_round} at once, {counted(headroom.rounds, 'round')}",
        "",
    ]
    going = _evictions_by(view, "budget").get(budget.key, [])
    for each in going[:_MOST]:
        when = view.evicted_at.get(each.pod.uid)
        at = "" if when is None else f" after {duration(when)}"
        lines.append(f"{each.position:>5}  {each.pod.key} on {each.node}{at}, grace {duration(view.grace(each.pod))}")
    return [*lines, *_more(len(going))]


def of_closed(budget: Budget) -> list[Line]:
    """A budget that allows no eviction now, before any node is marked."""
    status = status_of(budget)
    head = (f"? {budget.key}: whether it allows an eviction is not known", Tone.UNKNOWN)
    if status is not None:
        head = (f"✗ {budget.key}: allows no eviction now", Tone.BAD)
    told = "" if status is None else f": {status.current} healthy of {status.expected}, {status.desired} wanted"
    helps = "Mark the nodes of its pods (space on [1]): the plan names the fix here."
    return [head, f"{budget.rule}{told}", "", f"selector   {budget.selector}", "", helps]


def room_elsewhere(going: Iterable[Eviction]) -> str:
    """``9 on green-3, 7 on green-1; no place is reserved for 2 pods``: the nodes that the plan has reserved for the
    replacements, by requests and all scheduler filters. Sums of free CPU and memory would say less: pods that fit in
    sum may fit on no node."""
    found = Counter(each.lands_on for each in going)
    none = found.pop("", 0)
    said = listing([f"{pods} on {node}" for node, pods in found.most_common()], _MOST_NODES, Look())
    return "; ".join(filter(None, (said, f"no place is reserved for {counted(none, 'pod')}" if none else "")))


def of_node(name: str, view: DrainView) -> list[Line]:
    """A node: why it has its place in the order, and the order of its evictions."""
    target = targets_of(view).get(name)
    if target is None:
        return [(f"{name} is not marked", Tone.FAINT)]
    sign, tone = TARGET_SIGN[target.verdict]
    head = f"{sign} {name}: {target.verdict.value}"
    if target.order:
        head += f", place {target.order}, wave {target.wave}"
        span = view.spans.get(name)
        if span is not None:
            head += f", {duration(span.start_s)} to {duration(span.done_s)}"
    lines: list[Line] = [(head, tone), *target.why, ""]
    if target.needs:
        lines += [f"waits for the new nodes in place of {', '.join(target.needs)}", ""]
    going = _evictions_by(view, "node").get(name, [])
    if going:
        lacks = any(not each.lands_on for each in going)
        said = f"Room elsewhere: {room_elsewhere(going)}"
        lines += [(f"! {said}", Tone.WARN) if lacks else said, ""]
        lines.append((f"Order of evictions ({counted(len(going), 'pod')})", Tone.TITLE))
    for each in going[:_MOST]:
        to = f" → {each.lands_on}" if each.lands_on else ""
        lines.append(f"{each.position:>5}  round {each.round:<3} {each.pod.key}{to}: {each.reason}")
    lines += _more(len(going))
    left = view.left_on.get(name, [])
    shown = [row for row in left if row.verdict is not PodVerdict.STAY] or left
    if shown:
        lines += ["", (f"Left on it ({counted(len(left), 'pod')})", Tone.TITLE)]
    for row in shown[:_MOST]:
        mark, colour = POD_SIGN[row.verdict]
        lines.append((f"{mark} {row.pod.key}: {row.reason or row.verdict.value}", colour))
    return [*lines, *_more(len(shown))]


def of_pod(uid: str, listed: Listed, view: DrainView | None) -> list[Line]:
    """A pod: why it is evicted or stays, and what its budgets allow."""
    pod = listed.pods.get(uid)
    if pod is None:
        return []
    cells = listed.sheet.cells(uid)
    verdict = cells[listed.verdict]
    tone = verdict.tone if isinstance(verdict, Cell) else None
    head = f"{text_of(verdict)} · {pod.key}"
    lines: list[Line] = [(head, tone) if tone is not None else head, text_of(cells[-1])]
    for headroom in view.budgets if view is not None else ():
        budget = headroom.budget
        if budget.namespace == pod.namespace and budget.selector.matches(pod.labels):
            sign, colour = BUDGET_SIGN[headroom.verdict]
            lines.append((f"{sign} budget {budget.key}, {budget_in_brief(headroom)}: {headroom.why}", colour))
    return lines


def of_group(group: Group) -> list[Line]:
    """A group of findings: meaning, evidence and remedies; commands are on separate lines."""
    first = group.first
    sign, tone = SIGNS[first.status]
    lines: list[Line] = [(f"{sign} {in_brief(first.code.name)} ({first.severity.value}): {group.about}", tone)]
    lines += [*group.messages[:_MOST], *_more(len(group.messages))]
    if group.nodes and first.status is not Status.PASS:
        lines.append(f"holds up {listing(group.nodes, _MOST, Look())}")
    if first.missing:
        lines.append(f"missing: {first.missing}")
    rests, _ = evidence(replace(group, findings=group.findings[:_MOST]))
    lines += [(f"- {each}", Tone.FAINT) for each in rests[:6]]
    return [*lines, *_fixes([group]), "", (f"code {first.code.name}", Tone.FAINT)]


def _fixes(groups: Sequence[Group]) -> list[Line]:
    """The remedies, those for now before those for later; commands are on separate lines."""
    lines: list[Line] = []
    for when in When:
        for group in groups:
            for remedy, commands in group.remedies:
                if remedy.when is when:
                    lines += ["", f"{when.value}: {remedy.text}"]
                    lines += [*((f"    {command}", Tone.GOOD) for command in commands[:_MOST]), *_more(len(commands))]
    return lines


@once_a_view
def _evictions_by(view: DrainView, of: Literal["budget", "node"]) -> Mapping[str, list[Eviction]]:
    """The evictions by budget or by node, in their order."""
    found: dict[str, list[Eviction]] = defaultdict(list)
    for each in view.evictions:
        found[each.budget if of == "budget" else each.node].append(each)
    return found


def _more(count: int) -> list[Line]:
    return [(f"… and {count - _MOST} more", Tone.FAINT)] if count > _MOST else []


# [d] on a pod: its details from the cluster, in a side panel.


_FOOT = (
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
        self._pod, self._read, self._now, self._logs = pod, read, now, False
        self._answer: PodReport | list[Line] = ["The cluster is asked…"]

    def compose(self) -> ComposeResult:
        with Vertical(id="side"):
            yield Prose(id="about-pod")
            yield FootBar(id="foot")

    def on_mount(self) -> None:
        look = look_of(self)
        self.query_one("#side").border_title = shown(self._pod, look).replace("[", r"\[")
        self.query_one(FootBar).show(_FOOT)
        self.query_one(Prose).focus()
        self.action_read()

    def action_read(self) -> None:
        ask(self, "pod", lambda: self._read(self._pod))
        self._show()

    def action_first(self, logs: bool) -> None:
        """Reorder the details that are already known."""
        self._logs = logs
        self._show()

    @on(Answered)
    def _answered(self, event: Answered) -> None:
        self._answer = event.answer if isinstance(event.answer, PodReport) else list(event.lines)
        self._show()

    def _show(self) -> None:
        known = self._answer
        lines = pod_lines(known, self._now(), self._logs) if isinstance(known, PodReport) else known
        self.query_one(Prose).show(lines)
