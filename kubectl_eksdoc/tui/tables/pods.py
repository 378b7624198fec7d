"""Tables of pods by node or budget, and of knobs; and the sheet type, whose rows are created when drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import update_wrapper
from typing import Concatenate, ParamSpec, TypeVar

from rich.cells import cell_len, chop_cells

from kubectl_eksdoc.drain.outcome import Eviction, NotEvictedPod, PodVerdict
from kubectl_eksdoc.drain.policy import DrainPolicy, EvictionMethod
from kubectl_eksdoc.drain.report.plan import BAD, GOOD, POD_SYMBOLS, UNKNOWN_SYMBOL, DrainView
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import ControllerOwner, Pod
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.report.text import Appearance, Cell, Column, Tone, format_age, pluralize, time_between

from ..knobs import KNOBS

# Display width of text: Korean, Chinese and Japanese characters take two columns each.


def cell_width(text: str) -> int:
    """The width in columns of the terminal. Most text is ASCII: one column for each character."""
    return len(text) if text.isascii() else cell_len(text)


def pad(text: str, width: int) -> str:
    """`text` padded with spaces to at least `width` columns."""
    return text + " " * (width - cell_width(text))


def wrap_cells(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns, wrapped at spaces; a word that is too long is split."""
    lines, line, line_width = [], "", 0
    for word in text.split(" "):
        word_width = cell_width(word)
        if line and line_width + 1 + word_width > width:
            lines.append(line)
            line = ""
        line, line_width = (f"{line} {word}", line_width + 1 + word_width) if line else (word, word_width)
        if line_width > width:
            *full_lines, line = chop_cells(line, width)
            line_width = cell_width(line)
            lines += full_lines
    return [*lines, line]


Cells = Sequence[str | Cell]

Line = str | tuple[str, Tone]
"""A line of prose, optionally with a tone."""

_ASCII = Appearance(ascii=True)


# A table for a widget: a row is created when it is drawn, because few of thousands are visible.


@frozen
class Sheet:
    """`keys` name the rows in order; `cells` returns the cells of a row, one for each column. `widths`: the
    maximum width of each column without titles; `ascii_widths`: the same in ASCII (empty: as `widths`). The column
    `fill_column` gets the remaining width, and `fill_cell` returns its cell for that width (None: from
    `cells`)."""

    columns: Sequence[Column]
    widths: Sequence[int]
    keys: Sequence[str]
    cells: Callable[[str], Cells]
    fill_column: int | None = None
    fill_cell: Callable[[str, int], Cell | str] | None = None
    empty_text: str = ""  # text without rows
    fill_title: Callable[[int], str] | None = None  # title of `fill_column` for its width
    fill_width: Callable[[], int] | None = None  # maximum width of `fill_column`; None: from `widths`
    ascii_widths: Sequence[int] = ()

    @property
    def can_be_wide(self) -> bool:
        """False if cells are drawn for the available width."""
        return self.fill_title is None and bool(self.columns)


EMPTY_SHEET = Sheet((), (), (), lambda key: ())


def text_sheet(lines: Sequence[str]) -> Sheet:
    """A sheet without rows that shows a text."""
    return Sheet((Column(""),), (max(map(cell_width, lines)),), (), lambda key: (), empty_text="\n".join(lines))


def text_of_cell(cell: str | Cell) -> str:
    return cell if isinstance(cell, str) else cell.text


@dataclass
class ColumnWidths:
    """The maximum width of each column so far. Mutable."""

    columns: Sequence[Column]
    widest: list[int] = field(default_factory=list)
    widest_ascii: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.widest = [0 for _ in self.columns]
        self.widest_ascii = list(self.widest)

    def add_row(self, row: Cells) -> None:
        for index, cell in enumerate(row):
            text = cell if isinstance(cell, str) else cell.text
            self.widest[index] = max(self.widest[index], cell_width(text))
            self.widest_ascii[index] = max(
                self.widest_ascii[index], len(text if text.isascii() else _ASCII.transliterate(text))
            )


def sheet_of_rows(
    columns: Sequence[Column], rows: Sequence[tuple[str, Cells]], empty_text: str = "", fill_column: int | None = None
) -> Sheet:
    """A sheet of precomputed rows, for small tables."""
    widths = ColumnWidths(columns)
    for _, row in rows:
        widths.add_row(row)
    by_key = dict(rows)
    cells_of_row = by_key.__getitem__
    return Sheet(
        columns,
        widths.widest,
        tuple(by_key),
        cells_of_row,
        fill_column,
        empty_text=empty_text,
        ascii_widths=widths.widest_ascii,
    )


# Values computed from a plan are cached: a pressed key must not traverse thousands of budgets again.


_CACHED_VIEWS = 2
"""One plan is shown while the next one is prepared. The cache is not on the view itself: values refer back to the view,
and only the garbage collector frees such cycles, which runs rarely."""

P = ParamSpec("P")
T = TypeVar("T")
V = TypeVar("V")


def cached_per_view(compute: Callable[Concatenate[V, P], T]) -> Callable[Concatenate[V, P], T]:
    """Cache the result of `compute` for the last views (or clusters); thread-safe."""
    cache: list[tuple[V, object, T]] = []

    def cached(view: V, /, *args: P.args, **named: P.kwargs) -> T:
        arguments = (args, tuple(sorted(named.items())))
        for cached_view, cached_arguments, value in tuple(cache):
            if cached_view is view and cached_arguments == arguments:
                return value
        value = compute(view, *args, **named)
        same_arguments = [each for each in cache if each[1] == arguments]
        other_entries = [each for each in cache if each[1] != arguments]
        cache[:] = [*other_entries, *same_arguments[1 - _CACHED_VIEWS :], (view, arguments, value)]
        return value

    update_wrapper(cached, compute)
    return cached


# The knobs of a plan: value, equivalent flag, and effect.


_EFFECT_WIDTH = max(len(knob.effect) for knob in KNOBS)
KNOB_COLUMNS = (
    Column("KNOB"),
    Column("VALUE"),
    Column("FLAG", drop_order=2),
    Column("WHAT IT DOES", drop_order=1, min_width=_EFFECT_WIDTH),
)
"""The effect is shown in full, or below the table."""


def knobs_sheet(policy: DrainPolicy) -> Sheet:
    """A row for each knob, its key is the knob's id; changed values are marked."""
    default_policy = DrainPolicy()
    rows: list[tuple[str, Cells]] = []
    for knob in KNOBS:
        value_text = knob.value_text(policy)
        is_changed = value_text != knob.value_text(default_policy)
        value = Cell(f"< {value_text} >{' !' if is_changed else ''}", Tone.WARN if is_changed else None)
        rows.append((knob.id, [knob.name, value, Cell(knob.flag, Tone.FAINT), knob.effect]))
    return sheet_of_rows(KNOB_COLUMNS, rows, fill_column=len(KNOB_COLUMNS) - 1)


NO_VALUE, UNKNOWN_VALUE = "·", "?"

NODE_COLUMNS = (
    Column("#", align_right=True),
    Column("POD", cut_middle=True, min_width=20),
    Column("WORKLOAD", cut_middle=True, min_width=12, drop_order=4),
    Column("READY", min_width=8),
    Column("AGE", align_right=True, drop_order=5),
    Column("GRACE", align_right=True, drop_order=3),
    Column("BUDGET", cut_middle=True, min_width=10, drop_order=2),
    Column("VERDICT"),
    Column("WHY"),
)
BUDGET_COLUMNS = (
    Column("POD", cut_middle=True, min_width=20),
    Column("NODE", cut_middle=True, min_width=14),
    Column("READY", min_width=8, drop_order=1),
    Column("AGE", align_right=True, drop_order=3),
    Column("GRACE", align_right=True, drop_order=2),
    Column("IN PLAN"),
    Column("WHY"),
)
_METHOD_WORDS = {EvictionMethod.RESTART: "restart", EvictionMethod.DELETE: "delete", EvictionMethod.WAIT: "wait"}
_VERDICT_ORDER = (PodVerdict.BLOCKED, PodVerdict.UNKNOWN, PodVerdict.HELD, PodVerdict.STAY, PodVerdict.EVICT)


@frozen
class PodList:
    """A page of pods: title, and rows and pods by UID; the last cell is the reason."""

    title: str
    sheet: Sheet
    pods: Mapping[str, Pod]
    verdict_column: int = len(NODE_COLUMNS) - 2  # the column of the verdict


def pods_of_node(name: str, cluster: Cluster, view: DrainView | None, is_marked: bool) -> PodList:
    """Evictions in their order, then the pods that are not evicted, blocked ones first. `view`: None without a plan."""
    pods = sorted((pod for pod in cluster.pods if pod.node == name), key=lambda pod: pod.key)
    facts = _PodLookup(cluster)
    evictions, not_evicted = _planned_pods(view, pods)

    def place(pod: Pod) -> tuple[int, int]:
        if pod.uid in evictions:
            return 0, evictions[pod.uid].position
        return (1, _VERDICT_ORDER.index(not_evicted[pod.uid].verdict)) if pod.uid in not_evicted else (2, 0)

    rows: list[tuple[str, Cells]] = []
    for pod in sorted(pods, key=place):
        eviction, not_evicted_pod = evictions.get(pod.uid), not_evicted.get(pod.uid)
        verdict, reason = _verdict_cell(eviction, not_evicted_pod, is_marked)
        cells: Cells = [
            str(eviction.position) if eviction is not None else Cell(NO_VALUE, Tone.FAINT),
            pod.key,
            facts.workload(pod),
            _ready_cell(pod),
            facts.age(pod),
            _grace_text(pod, view),
            facts.budgets(pod),
            verdict,
            reason,
        ]
        rows.append((pod.uid, cells))
    gone_note = "" if any(node.name == name for node in cluster.nodes) else "It is not there any more. "
    sheet = sheet_of_rows(NODE_COLUMNS, rows, f"{gone_note}{facts.no_pods}", fill_column=len(NODE_COLUMNS) - 1)
    return PodList(_node_title(name, len(pods), len(evictions), view, is_marked), sheet, {pod.uid: pod for pod in pods})


def pods_of_budget(key: str, cluster: Cluster, view: DrainView | None) -> PodList:
    """`key`: ns/name. Evicted pods come first, in their order."""
    facts = _PodLookup(cluster)
    budget = next((each for each in cluster.budgets if each.key == key), None)
    if budget is None:
        return PodList(key, sheet_of_rows(BUDGET_COLUMNS, [], "It is not there any more."), {})
    pods = [pod for pod in cluster.pods if pod.namespace == budget.namespace and budget.selector.matches(pod.labels)]
    evictions, not_evicted = _planned_pods(view, pods)
    pods.sort(
        key=lambda pod: (
            evictions[pod.uid].position if pod.uid in evictions else 1 << 30,
            pod.uid not in not_evicted,
            pod.key,
        )
    )
    rows: list[tuple[str, Cells]] = []
    for pod in pods:
        eviction, not_evicted_pod = evictions.get(pod.uid), not_evicted.get(pod.uid)
        verdict, reason = _verdict_cell(eviction, not_evicted_pod, not_evicted_pod is not None)
        wave = view.wave_of.get(pod.node, 0) if view is not None else 0
        planned = verdict if eviction is None else f"wave {wave}, round {eviction.round}"
        rows.append(
            (
                pod.uid,
                [
                    pod.key,
                    pod.node or NO_VALUE,
                    _ready_cell(pod),
                    facts.age(pod),
                    _grace_text(pod, view),
                    planned,
                    reason,
                ],
            )
        )
    title = f"{key} · {budget.rule} · {pluralize(len(pods), 'pod')}, {len(evictions)} to evict"
    sheet = sheet_of_rows(BUDGET_COLUMNS, rows, facts.no_pods, fill_column=len(BUDGET_COLUMNS) - 1)
    return PodList(title, sheet, {pod.uid: pod for pod in pods}, verdict_column=len(BUDGET_COLUMNS) - 2)


def _planned_pods(view: DrainView | None, pods: list[Pod]) -> tuple[dict[str, Eviction], dict[str, NotEvictedPod]]:
    """By UID: evictions, and pods that are not evicted from a marked node."""
    if view is None:
        return {}, {}
    uids = {pod.uid for pod in pods}
    evictions = {each.pod.uid: each for each in view.evictions if each.pod.uid in uids}
    return evictions, {row.pod.uid: row for row in view.left if row.pod.uid in uids}


def _verdict_cell(eviction: Eviction | None, not_evicted: NotEvictedPod | None, is_marked: bool) -> tuple[Cell, str]:
    if eviction is not None:
        destination = f"scheduled on {eviction.lands_on}: " if eviction.lands_on else ""
        return Cell(
            f"{GOOD[0]} {_METHOD_WORDS.get(eviction.eviction_mode.means, 'evict')}", GOOD[1]
        ), f"{destination}{eviction.reason}"
    if not_evicted is not None:
        symbol, tone = POD_SYMBOLS[not_evicted.verdict]
        return Cell(f"{symbol} {not_evicted.verdict.value}", tone), not_evicted.reason
    return (
        (Cell(UNKNOWN_VALUE, UNKNOWN_SYMBOL[1]), "not planned yet")
        if is_marked
        else (Cell(NO_VALUE, Tone.FAINT), "its node is not marked")
    )


def _ready_cell(pod: Pod) -> Cell:
    if pod.ready:
        return Cell(f"{GOOD[0]} yes", GOOD[1])
    if pod.finished:
        return Cell(f"{NO_VALUE} {pod.phase}", Tone.FAINT)
    return Cell(f"{BAD[0]} {pod.not_ready_because or pod.phase}", BAD[1])


def _grace_text(pod: Pod, view: DrainView | None) -> str:
    """The grace period under this plan."""
    return format_duration(pod.grace_seconds if view is None else view.grace(pod))


def _node_title(name: str, total: int, eviction_count: int, view: DrainView | None, is_marked: bool) -> str:
    if not is_marked:
        return f"{name} · not marked · {pluralize(total, 'pod')}"
    wave = view.wave_of.get(name) if view is not None else None
    planned = "not planned yet" if view is None else f"wave {wave}" if wave else "not drained"
    return f"{name} · marked, {planned} · {pluralize(total, 'pod')}, {eviction_count} to evict"


class _PodLookup:
    """Lookups for every pod, built once. Immutable."""

    def __init__(self, cluster: Cluster) -> None:
        self._now = cluster.observed_at
        self._owners: Mapping[str, ControllerOwner] = {each.uid: each.owner for each in cluster.workloads if each.owner}
        self._budgets = cluster.budgets
        unreadable = cluster.not_read(kinds.PODS)
        self._budgets_known = not cluster.not_read(kinds.BUDGETS)
        self.no_pods = f"Pods could not be read: {unreadable[0].detail}" if unreadable else "There is no pod."

    def workload(self, pod: Pod) -> str:
        """The outermost known owner."""
        owner = pod.owner
        while owner is not None and owner.uid in self._owners:
            owner = self._owners[owner.uid]
        return f"{owner.kind}/{owner.name}" if owner is not None else "none: bare pod"

    def age(self, pod: Pod) -> str:
        return UNKNOWN_VALUE if pod.created_at is None else format_age(time_between(pod.created_at, self._now))

    def budgets(self, pod: Pod) -> str:
        names = [
            each.name for each in self._budgets if each.namespace == pod.namespace and each.selector.matches(pod.labels)
        ]
        if not self._budgets_known:
            names.append(UNKNOWN_VALUE)
        return ", ".join(names) or NO_VALUE
