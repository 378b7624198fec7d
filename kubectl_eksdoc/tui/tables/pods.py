"""Tables of pods by node or budget, and of knobs; and the sheet type, whose rows are created when drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import update_wrapper
from typing import Concatenate, ParamSpec, TypeVar

from rich.cells import cell_len, chop_cells

from kubectl_eksdoc.drain.outcome import Eviction, NotEvictedPod, PodVerdict
from kubectl_eksdoc.drain.policy import DrainPolicy, Means
from kubectl_eksdoc.drain.report.plan import BAD, GOOD, OPEN, POD_SIGN, DrainView
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import ControllerOwner, Pod
from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.report.text import Cell, Column, Look, Tone, age, between, counted

from ..knobs import KNOBS

# Display width of text: Korean, Chinese and Japanese characters take two columns each.


def cells(text: str) -> int:
    """The width in columns of the terminal. Most text is ASCII: one column for each character."""
    return len(text) if text.isascii() else cell_len(text)


def padded(text: str, room: int) -> str:
    """`text` padded with spaces to at least `width` columns."""
    return text + " " * (room - cells(text))


def wrapped(text: str, room: int) -> list[str]:
    """Lines of at most `width` columns, wrapped at spaces; a word that is too long is split."""
    lines, line, wide = [], "", 0
    for word in text.split(" "):
        size = cells(word)
        if line and wide + 1 + size > room:
            lines.append(line)
            line = ""
        line, wide = (f"{line} {word}", wide + 1 + size) if line else (word, size)
        if wide > room:
            *full, line = chop_cells(line, room)
            wide = cells(line)
            lines += full
    return [*lines, line]


Cells = Sequence[str | Cell]

Line = str | tuple[str, Tone]
"""A line of prose, optionally with a tone."""

_ASCII = Look(ascii=True)


# A table for a widget: a row is created when it is drawn, because few of thousands are visible.


@frozen
class Sheet:
    """`keys` name the rows in order; `cells` returns the cells of a row, one for each column. `widths`: the maximum
    width of each column without titles; `ascii_widths`: the same in ASCII (empty: as `widths`). The column
    `fill_column` gets the remaining width, and `fill_cell` returns its cell for that width (None: from `cells`)."""

    columns: Sequence[Column]
    widths: Sequence[int]
    keys: Sequence[str]
    cells: Callable[[str], Cells]
    fill: int | None = None
    filled: Callable[[str, int], Cell | str] | None = None
    empty: str = ""  # text without rows
    head: Callable[[int], str] | None = None  # title of `fill_column` for its width
    full: Callable[[], int] | None = None  # maximum width of `fill_column`; None: from `widths`
    ascii_widths: Sequence[int] = ()

    @property
    def can_be_wide(self) -> bool:
        """False if cells are drawn for the available width."""
        return self.head is None and bool(self.columns)


EMPTY = Sheet((), (), (), lambda key: ())


def text_sheet(lines: Sequence[str]) -> Sheet:
    """A sheet without rows that shows a text."""
    return Sheet((Column(""),), (max(map(cells, lines)),), (), lambda key: (), empty="\n".join(lines))


def text_of(cell: str | Cell) -> str:
    return cell if isinstance(cell, str) else cell.text


@dataclass
class Widths:
    """The maximum width of each column so far. Mutable."""

    columns: Sequence[Column]
    widest: list[int] = field(default_factory=list)
    in_ascii: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.widest = [0 for _ in self.columns]
        self.in_ascii = list(self.widest)

    def see(self, row: Cells) -> None:
        for at, cell in enumerate(row):
            text = cell if isinstance(cell, str) else cell.text
            self.widest[at] = max(self.widest[at], cells(text))
            self.in_ascii[at] = max(self.in_ascii[at], len(text if text.isascii() else _ASCII.signs(text)))


def of_rows(
    columns: Sequence[Column], rows: Sequence[tuple[str, Cells]], empty: str = "", fill: int | None = None
) -> Sheet:
    """A sheet of precomputed rows, for small tables."""
    widths = Widths(columns)
    for _, row in rows:
        widths.see(row)
    by_key = dict(rows)
    found = by_key.__getitem__
    return Sheet(columns, widths.widest, tuple(by_key), found, fill, empty=empty, ascii_widths=widths.in_ascii)


# Values computed from a plan are cached: a pressed key must not traverse thousands of budgets again.


_LAST = 2
"""One plan is shown while the next one is prepared. The cache is not on the view itself: values refer back to the view,
and only the garbage collector frees such cycles, which runs rarely."""

P = ParamSpec("P")
T = TypeVar("T")
V = TypeVar("V")


def once_a_view(make: Callable[Concatenate[V, P], T]) -> Callable[Concatenate[V, P], T]:
    """Cache the result of `compute` for the last views (or clusters); thread-safe."""
    kept: list[tuple[V, object, T]] = []

    def found(view: V, /, *args: P.args, **named: P.kwargs) -> T:
        asked = (args, tuple(sorted(named.items())))
        for of, how, made in tuple(kept):
            if of is view and how == asked:
                return made
        made = make(view, *args, **named)
        alike = [each for each in kept if each[1] == asked]
        others = [each for each in kept if each[1] != asked]
        kept[:] = [*others, *alike[1 - _LAST :], (view, asked, made)]
        return made

    update_wrapper(found, make)
    return found


# The knobs of a plan: value, equivalent flag, and effect.


_DOES = max(len(knob.does) for knob in KNOBS)
COLUMNS = (Column("KNOB"), Column("VALUE"), Column("FLAG", drop=2), Column("WHAT IT DOES", drop=1, floor=_DOES))
"""The effect is shown in full, or below the table."""


def sheet(policy: DrainPolicy) -> Sheet:
    """A row for each knob, its key is the knob's id; changed values are marked."""
    fresh = DrainPolicy()
    rows: list[tuple[str, Cells]] = []
    for knob in KNOBS:
        said = knob.said(policy)
        moved = said != knob.said(fresh)
        value = Cell(f"< {said} >{' !' if moved else ''}", Tone.WARN if moved else None)
        rows.append((knob.id, [knob.name, value, Cell(knob.flag, Tone.FAINT), knob.does]))
    return of_rows(COLUMNS, rows, fill=len(COLUMNS) - 1)


NONE, UNKNOWN = "·", "?"

OF_NODE = (
    Column("#", right=True),
    Column("POD", middle=True, floor=20),
    Column("WORKLOAD", middle=True, floor=12, drop=4),
    Column("READY", floor=8),
    Column("AGE", right=True, drop=5),
    Column("GRACE", right=True, drop=3),
    Column("BUDGET", middle=True, floor=10, drop=2),
    Column("VERDICT"),
    Column("WHY"),
)
OF_BUDGET = (
    Column("POD", middle=True, floor=20),
    Column("NODE", middle=True, floor=14),
    Column("READY", floor=8, drop=1),
    Column("AGE", right=True, drop=3),
    Column("GRACE", right=True, drop=2),
    Column("IN PLAN"),
    Column("WHY"),
)
_MEANS = {Means.RESTART: "restart", Means.DELETION: "delete", Means.PATIENCE: "wait"}
_FIRST = (PodVerdict.BLOCKED, PodVerdict.UNKNOWN, PodVerdict.HELD, PodVerdict.STAY, PodVerdict.EVICT)


@frozen
class Listed:
    """A page of pods: title, and rows and pods by UID; the last cell is the reason."""

    title: str
    sheet: Sheet
    pods: Mapping[str, Pod]
    verdict: int = len(OF_NODE) - 2  # the column of the verdict


def of_node(name: str, cluster: Cluster, view: DrainView | None, marked: bool) -> Listed:
    """Evictions in their order, then the pods that are not evicted, blocked ones first. `view`: None without a plan."""
    pods = sorted((pod for pod in cluster.pods if pod.node == name), key=lambda pod: pod.key)
    facts = _Facts(cluster)
    going, left = _in_plan(view, pods)

    def place(pod: Pod) -> tuple[int, int]:
        if pod.uid in going:
            return 0, going[pod.uid].position
        return (1, _FIRST.index(left[pod.uid].verdict)) if pod.uid in left else (2, 0)

    rows: list[tuple[str, Cells]] = []
    for pod in sorted(pods, key=place):
        eviction, row = going.get(pod.uid), left.get(pod.uid)
        verdict, why = _verdict(eviction, row, marked)
        cells: Cells = [
            str(eviction.position) if eviction is not None else Cell(NONE, Tone.FAINT),
            pod.key,
            facts.workload(pod),
            _ready(pod),
            facts.age(pod),
            _grace(pod, view),
            facts.budgets(pod),
            verdict,
            why,
        ]
        rows.append((pod.uid, cells))
    known = "" if any(node.name == name for node in cluster.nodes) else "It is not there any more. "
    sheet = of_rows(OF_NODE, rows, f"{known}{facts.no_pods}", fill=len(OF_NODE) - 1)
    return Listed(_title(name, len(pods), len(going), view, marked), sheet, {pod.uid: pod for pod in pods})


def of_budget(key: str, cluster: Cluster, view: DrainView | None) -> Listed:
    """`key`: ns/name. Evicted pods come first, in their order."""
    facts = _Facts(cluster)
    budget = next((each for each in cluster.budgets if each.key == key), None)
    if budget is None:
        return Listed(key, of_rows(OF_BUDGET, [], "It is not there any more."), {})
    pods = [pod for pod in cluster.pods if pod.namespace == budget.namespace and budget.selector.matches(pod.labels)]
    going, left = _in_plan(view, pods)
    pods.sort(key=lambda pod: (going[pod.uid].position if pod.uid in going else 1 << 30, pod.uid not in left, pod.key))
    rows: list[tuple[str, Cells]] = []
    for pod in pods:
        eviction, row = going.get(pod.uid), left.get(pod.uid)
        verdict, why = _verdict(eviction, row, row is not None)
        wave = view.wave_of.get(pod.node, 0) if view is not None else 0
        planned = verdict if eviction is None else f"wave {wave}, round {eviction.round}"
        rows.append(
            (pod.uid, [pod.key, pod.node or NONE, _ready(pod), facts.age(pod), _grace(pod, view), planned, why])
        )
    title = f"{key} · {budget.rule} · {counted(len(pods), 'pod')}, {len(going)} to evict"
    sheet = of_rows(OF_BUDGET, rows, facts.no_pods, fill=len(OF_BUDGET) - 1)
    return Listed(title, sheet, {pod.uid: pod for pod in pods}, verdict=len(OF_BUDGET) - 2)


def _in_plan(view: DrainView | None, pods: list[Pod]) -> tuple[dict[str, Eviction], dict[str, NotEvictedPod]]:
    """By UID: evictions, and pods that are not evicted from a marked node."""
    if view is None:
        return {}, {}
    ours = {pod.uid for pod in pods}
    going = {each.pod.uid: each for each in view.evictions if each.pod.uid in ours}
    return going, {row.pod.uid: row for row in view.left if row.pod.uid in ours}


def _verdict(eviction: Eviction | None, row: NotEvictedPod | None, marked: bool) -> tuple[Cell, str]:
    if eviction is not None:
        to = f"scheduled on {eviction.lands_on}: " if eviction.lands_on else ""
        return Cell(f"{GOOD[0]} {_MEANS.get(eviction.manner.means, 'evict')}", GOOD[1]), f"{to}{eviction.reason}"
    if row is not None:
        sign, tone = POD_SIGN[row.verdict]
        return Cell(f"{sign} {row.verdict.value}", tone), row.reason
    return (Cell(UNKNOWN, OPEN[1]), "not planned yet") if marked else (Cell(NONE, Tone.FAINT), "its node is not marked")


def _ready(pod: Pod) -> Cell:
    if pod.ready:
        return Cell(f"{GOOD[0]} yes", GOOD[1])
    if pod.finished:
        return Cell(f"{NONE} {pod.phase}", Tone.FAINT)
    return Cell(f"{BAD[0]} {pod.not_ready_because or pod.phase}", BAD[1])


def _grace(pod: Pod, view: DrainView | None) -> str:
    """The grace period under this plan."""
    return duration(pod.grace_seconds if view is None else view.grace(pod))


def _title(name: str, total: int, going: int, view: DrainView | None, marked: bool) -> str:
    if not marked:
        return f"{name} · not marked · {counted(total, 'pod')}"
    wave = view.wave_of.get(name) if view is not None else None
    planned = "not planned yet" if view is None else f"wave {wave}" if wave else "not drained"
    return f"{name} · marked, {planned} · {counted(total, 'pod')}, {going} to evict"


class _Facts:
    """Lookups for every pod, built once. Immutable."""

    def __init__(self, cluster: Cluster) -> None:
        self._now = cluster.observed_at
        self._owners: Mapping[str, ControllerOwner] = {each.uid: each.owner for each in cluster.workloads if each.owner}
        self._budgets = cluster.budgets
        unread = cluster.unread(kinds.PODS)
        self._budgets_known = not cluster.unread(kinds.BUDGETS)
        self.no_pods = f"Pods could not be read: {unread[0].detail}" if unread else "There is no pod."

    def workload(self, pod: Pod) -> str:
        """The outermost known owner."""
        owner = pod.owner
        while owner is not None and owner.uid in self._owners:
            owner = self._owners[owner.uid]
        return f"{owner.kind}/{owner.name}" if owner is not None else "none: bare pod"

    def age(self, pod: Pod) -> str:
        return UNKNOWN if pod.created_at is None else age(between(pod.created_at, self._now))

    def budgets(self, pod: Pod) -> str:
        names = [
            each.name for each in self._budgets if each.namespace == pod.namespace and each.selector.matches(pod.labels)
        ]
        if not self._budgets_known:
            names.append(UNKNOWN)
        return ", ".join(names) or NONE
