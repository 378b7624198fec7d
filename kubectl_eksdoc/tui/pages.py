"""Pages of the plan screen: tables and texts below the head, shown from the model.

Belongs here: the parts of a page, and what it shows of the model.
Never here: key actions (`tui.screen`), contents of rows (`tui.tables`).
"""

from __future__ import annotations

from functools import cached_property

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from kubectl_eksdoc.drain.report.findings import FLAGS, commands_of, of_budget
from kubectl_eksdoc.drain.report.plan import DrainView
from kubectl_eksdoc.in_cluster.roles import starter_budgets
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.workloads import Workload
from kubectl_eksdoc.report.text import counted, cut, shown, wrap

from . import details
from .keymap import look_of
from .line_table import LineTable
from .model import INSPECTS, Model, TableView, can_inspect
from .panel import Prose
from .tables import budgets, nodes, pods, waves
from .tables.pods import EMPTY, Line, Sheet, text_sheet

# Texts shown without a plan: an empty frame could be read as "nothing blocks".


_UNMARKED = text_sheet(("Nothing is marked, so nothing is planned: [1] and space mark nodes.",))
_PLANNING = text_sheet(("planning…",))


def no_plan(model: Model) -> Sheet:
    if model.stale:
        return _PLANNING
    return _UNMARKED if model.facts is not None and not model.choice.ask.marked else EMPTY


# The base class of pages.


def _same(one: object, other: object) -> bool:
    """Facts and plans are compared by identity: comparing their values takes longer than drawing them."""
    return one is other or (isinstance(one, (str, tuple, TableView)) and one == other)


FIX = "copy the fix"


_FRAME = 6
"""Columns of a frame that are not available for its title."""


class PageOf(Vertical):
    """A page shows the model, and knows the node under its cursor. Mutable: the model values that it shows."""

    _made_from: tuple[object, ...] = ()

    def update(self, model: Model) -> None:
        """Show the model unless its values are unchanged: switching pages does not rebuild them."""
        made_from = (*model.drawn, self.app.size, self.app.theme)
        if model.trouble or len(self._made_from) != len(made_from) or not all(map(_same, self._made_from, made_from)):
            self._made_from = made_from
            self.show(model)

    def show(self, model: Model) -> None:
        raise NotImplementedError

    def said(self, text: str) -> str:
        """`text` for the frame of a part: in allowed characters, with markup escaped."""
        look = look_of(self)
        said = shown(text, look)
        if look.ascii:  # Textual would truncate it with a non-ASCII character
            said = cut(said, self.app.size.width - _FRAME, look)
        return said.replace("[", r"\[")

    def frame(self, table: LineTable, model: Model, *told: str) -> None:
        """Set the lower frame: `notes` and the view settings; call it before the rows are shown."""
        table.wide = model.seen.wide
        looked = (("wide, h l sideways", model.seen.wide), ("without the head", model.seen.headless))
        table.subtitle(self.said(" · ".join([*filter(None, told), *(words for words, on in looked if on)])))

    @cached_property
    def table(self) -> LineTable:
        """The table that has the focus when the page is opened."""
        return self.query(LineTable).first()

    @property
    def node(self) -> str | None:
        """The node under the cursor; None on a row without a node."""
        return None

    marks = "mark"
    """The effect of space, in words."""

    @property
    def pod(self) -> str:
        """The pod under the cursor, ``namespace/name``; "" for none."""
        return ""

    @property
    def cause(self) -> str:
        """The code of the blocker under the cursor, "" for none."""
        return ""

    @property
    def copies(self) -> str | None:
        """What y copies for the row under the cursor, in words; None for nothing."""
        return None

    @property
    def copied(self) -> tuple[str, ...]:
        """The texts that y copies, one for each press."""
        return ()

    def moved(self, table: LineTable, key: str, model: Model) -> None:
        """The cursor of one of the tables moved."""


# [4] Blockers, unknown causes and warnings, with remedies.


class BlockersPage(PageOf):
    """Mutable: the rows of the plan, and their order, which is kept while the same nodes are marked."""

    marks = "assume fixed"
    _order: tuple[str, ...] = ()
    _marked: frozenset[str] = frozenset()
    rows: tuple[budgets.ToDo, ...] = ()

    def compose(self) -> ComposeResult:
        yield LineTable(marks=True, id="groups", classes="framed")
        yield Prose(id="fix")

    def on_mount(self) -> None:
        self.table.entitle(self.said("[4] Blockers: fix in this order, to free nodes"))
        self.query_one("#fix", Prose).entitle(self.said("what it means and what to do"))

    def show(self, model: Model) -> None:
        view = model.view
        if model.choice.ask.marked != self._marked:
            self._order, self._marked = (), model.choice.ask.marked
        self.rows = ()
        if view is not None:
            self.rows = (*budgets.to_do(view, self._order), *budgets.ticked_off(view, model.fixed))
        self._order = tuple(row.code for row in self.rows if row.code)
        self.frame(self.table, model, "● assumed fixed: the plan follows" if view is not None else "")
        sheet = budgets.blockers_sheet(self.rows, view.cluster.observed_at) if view is not None else no_plan(model)
        self.table.show(sheet, model.choice.ask.policy.assume_fixed)
        self.table.set_class(model.stale, "-stale")
        self.moved(self.table, self.table.key or "", model)

    @property
    def row(self) -> budgets.ToDo | None:
        """The row under the cursor."""
        return next((row for row in self.rows if row.key == self.table.key), None)

    @property
    def cause(self) -> str:
        row = self.row
        return (row.code or "".join(group.first.code.name for group in row.groups[:1])) if row is not None else ""

    @property
    def copies(self) -> str | None:
        return FIX if self.copied else None

    @property
    def copied(self) -> tuple[str, ...]:
        return self.row.commands if self.row is not None else ()

    def moved(self, table: LineTable, key: str, model: Model) -> None:
        lines = [details.of_group(group) for group in self.row.groups] if self.row is not None else []
        told = [line for each in lines for line in ("", *each)][1:]
        if self.row is not None and self.row.cause is not None:
            by_flag = any(self.row.code == code for code, _, _ in FLAGS)
            allows = "; a allows it in this run, which names the pods before you confirm" if by_flag else ""
            told = [f"its fix {self.row.cause.frees}{allows}", "", *told]
        self.query_one("#fix", Prose).show(told)


# [2] PodDisruptionBudgets in full, and an explanation of the budget under the cursor.


class HeadroomPage(PageOf):
    """Mutable: the fix of the row; without a fix, y copies budgets for workloads that have none."""

    _fix: tuple[str, ...] = ()
    _view: DrainView | None = None

    @property
    def copies(self) -> str | None:
        if self._fix:
            return FIX
        return f"copy {counted(len(self._starters), 'missing budget')}" if self._starters else None

    @property
    def copied(self) -> tuple[str, ...]:
        if self._fix or self._view is None or not self._starters:
            return self._fix
        return (starter_budgets(self._starters, {each.key for each in self._view.cluster.budgets}),)

    @property
    def _starters(self) -> tuple[Workload, ...]:
        return budgets.starters(self._view) if self._view is not None else ()

    def compose(self) -> ComposeResult:
        yield LineTable(id="all-budgets", classes="framed")
        yield Prose(id="budget")

    def on_mount(self) -> None:
        self.query_one("#budget", Prose).entitle(self.said("what it means"))

    def show(self, model: Model) -> None:
        view = model.view
        without = view is not None and not view.budgets
        self.frame(self.table, model, "" if without else budgets.KEY)
        unread = view is not None and not view.cluster.read_of(kinds.BUDGETS).known
        title = "[2] No budget counts these" if without and not unread else "[2] PDB headroom, the worst first"
        closed = None
        if view is None and model.facts is not None and not (model.stale or model.old):
            closed = budgets.closed_sheet(model.facts.cluster)
        self.table.entitle(self.said(budgets.CLOSED if closed is not None else title))
        if view is not None and without:
            self.table.show(
                budgets.sheet(view, full=True) if unread else budgets.unguarded_sheet(budgets.unguarded(view))
            )
            self.query_one("#budget", Prose).show(budgets.about(view))
            self._fix, self._view = (), view
            return
        self.table.show(budgets.sheet(view, full=True) if view is not None else closed or no_plan(model))
        if not self.table.sees("HEADROOM"):
            self.frame(self.table, model)
        self.moved(self.table, self.table.key or "", model)

    def moved(self, table: LineTable, key: str, model: Model) -> None:
        view = model.view
        if view is not None and not view.budgets:
            return  # the text is about all budgets
        lines: list[Line] = []
        self._fix, self._view = (), view
        if view is not None and key in budgets.headrooms(view):
            headroom = budgets.headrooms(view)[key]
            groups = of_budget(headroom.budget, view)
            lines, self._fix = details.of_budget(headroom, groups, view), commands_of(groups)
        elif view is None and model.facts is not None:
            lines = [line for b in model.facts.cluster.budgets if b.key == key for line in details.of_closed(b)]
        self.query_one("#budget", Prose).show(lines)


# [1] Nodes, with the budgets and waves that fit beside them.


NOTHING_MARKED = text_sheet(
    (
        "Nothing is marked yet.",
        "",
        "space  mark the node under the cursor",
        "m o    every node with a kubelet before the server's",
        "m a    every node not made from its group's newest AMI",
        "m g    every node of this node group",
        "/      filter first, then m f marks the visible nodes",
        "{ }    fewer or more nodes at once;  ?  all keys",
        "Marks only build a plan: nothing is sent from here.",
    )
)
NOTHING_SENT = text_sheet(
    (
        "Marks only build a plan: nothing is sent from here.",
        "",
        "{ }    fewer or more nodes at once",
        "J K    a node one wave later, or earlier",
        "=      pin a plan as A, and compare",
        "C      copy the plan as a command line",
        "?      all keys",
    )
)
_WIDTH = 74
"""Width of messages that must be readable on a narrow terminal."""

OLD = text_sheet(
    (
        "This is how the cluster was when it was seen last.",
        "",
        "Marks can be set already; those of nodes that are",
        "still there stay when it is read. Nothing is planned",
        "or done before that.",
    )
)


class PlanPage(PageOf):
    def compose(self) -> ComposeResult:
        yield LineTable(marks=True, id="nodes", classes="framed")
        with Horizontal(id="below"):
            yield LineTable(id="budgets", classes="framed")
            yield LineTable(id="waves", classes="framed")

    def on_mount(self) -> None:
        for name, title in (
            ("nodes", "[1] Nodes"),
            ("budgets", "[2] PDB headroom"),
            ("waves", "[3] Waves, p50 and p95"),
        ):
            self.query_one(f"#{name}", LineTable).entitle(self.said(title))

    def show(self, model: Model) -> None:
        if model.facts is None:
            if model.trouble:
                told = (*wrap(model.trouble, _WIDTH), "", *wrap(model.reads.remedy, _WIDTH), "", "ctrl+r tries again")
                self.table.show(text_sheet(told))
            return
        names = model.shown_nodes
        columns = nodes.marked(nodes.COLUMNS, model.seen.order)
        none = "" if names else nodes.why_none(model.facts.nodes, model.filter, model.seen.faults)
        sheet = nodes.sheet(model.facts.nodes, names, model.view, none, columns)
        table = self.query_one("#nodes", LineTable)
        self.frame(table, model, *_narrowed(model, len(names)))
        table.show(sheet, model.choice.ask.marked)
        table.set_class(model.old, "-old")
        below = self.query_one("#budgets", LineTable), self.query_one("#waves", LineTable)
        title, sheets = _below(model)
        below[0].entitle(self.said(title))
        for each, shown_now in zip(below, sheets, strict=True):
            each.show(shown_now)
        for each in below:
            each.set_class(model.stale, "-stale")

    @property
    def node(self) -> str | None:
        focused = self.screen.focused
        if isinstance(focused, LineTable) and focused.id == "budgets":
            return None
        return focused.key if isinstance(focused, LineTable) else self.table.key


def _below(model: Model) -> tuple[str, tuple[Sheet, Sheet]]:
    """Budgets and waves; without a plan, the budgets that allow no eviction, and instructions."""
    view, headroom = model.view, "[2] PDB headroom"
    if view is not None:
        return headroom, (budgets.sheet(view, full=False), waves.sheet(view))
    if model.stale:
        return headroom, (_PLANNING, _PLANNING)
    if model.old or model.facts is None:
        return headroom, (NOTHING_SENT if model.choice.ask.marked else NOTHING_MARKED, OLD)
    closed = budgets.closed_sheet(model.facts.cluster)
    return (
        (budgets.CLOSED, (closed, NOTHING_MARKED)) if closed is not None else (headroom, (NOTHING_MARKED, NOTHING_SENT))
    )


def _narrowed(model: Model, shown: int) -> list[str]:
    """``3 of 18 match /spot``, ``faults only: 2 of 3``, ``by AGE▲``: the sorted column may not be visible."""
    if model.facts is None:
        return []
    like = len(nodes.like(model.facts.nodes, model.filter))
    told = [f"{like} of {len(model.facts.nodes.texts)} match /{model.filter}"] if model.filter else []
    told += [f"faults only: {shown} of {like}"] if model.seen.faults else []
    by = model.seen.order
    return told if by == nodes.SortOrder() else [*told, f"by {by.column}{nodes.sign(by)}"]


# The pods of the node or budget that enter opened.


class PodsPage(PageOf):
    """Mutable: the list, and its node."""

    IDS = ("pods", "why-pod")
    _about: str | None = None
    _listed: pods.Listed | None = None

    def compose(self) -> ComposeResult:
        table, why = self.IDS
        yield LineTable(id=table, classes="framed pods")
        yield Prose(id=why)

    def on_mount(self) -> None:
        self.query_one(Prose).entitle(self.said("why"))

    def show(self, model: Model) -> None:
        self._about = model.about or None
        if model.facts is None:
            return
        self._listed = self.listed(model, model.facts.cluster)
        self.table.entitle(self.said(self._listed.title))
        self.frame(self.table, model, INSPECTS if can_inspect(self.app) else "")
        self.table.set_class(model.stale, "-stale")
        self.table.show(self._listed.sheet)
        self.moved(self.table, self.table.key or "", model)

    @property
    def pod(self) -> str:
        sheet, key = self.table.sheet, self.table.key
        at = next((at for at, column in enumerate(sheet.columns) if column.title == "POD"), None)
        return pods.text_of(sheet.cells(key)[at]) if key and at is not None else ""

    def listed(self, model: Model, cluster: Cluster) -> pods.Listed:
        return pods.of_node(model.about, cluster, model.view, model.about in model.choice.ask.marked)

    @property
    def node(self) -> str | None:
        return self._about

    def moved(self, table: LineTable, key: str, model: Model) -> None:
        if self._listed is not None:
            self.query_one(Prose).show(details.of_pod(key, self._listed, model.view))


class BudgetPage(PodsPage):
    """The pods of a budget: its rows are on several nodes."""

    IDS = ("pods-of-budget", "why-pod-of-budget")

    def listed(self, model: Model, cluster: Cluster) -> pods.Listed:
        return pods.of_budget(model.about, cluster, model.view)

    @property
    def node(self) -> str | None:
        return None


# [3] Waves in full, and why the node under the cursor is in its wave.


class WavesPage(PageOf):
    def compose(self) -> ComposeResult:
        yield LineTable(id="all-waves", classes="framed")
        yield Prose(id="why")

    def on_mount(self) -> None:
        self.table.border_title = self.said("[3] Waves")
        self.query_one("#why").border_title = self.said("why here")

    def show(self, model: Model) -> None:
        view = model.view
        self.frame(self.table, model, waves.KEY)
        self.table.show(waves.sheet(view, full=True) if view is not None else no_plan(model))
        self.table.set_class(model.stale, "-stale")
        self.moved(self.table, self.table.key or "", model)

    @property
    def node(self) -> str | None:
        return self.table.key

    def moved(self, table: LineTable, key: str, model: Model) -> None:
        view = model.view
        self.query_one("#why", Prose).show(details.of_node(key, view) if view is not None and key else [])


# [=] The pinned plan A beside the current plan.


class WhatIfPage(PageOf):
    def compose(self) -> ComposeResult:
        yield LineTable(id="waves-now", classes="framed")
        yield LineTable(id="figures", classes="framed")

    def on_mount(self) -> None:
        self.query_one("#waves-now").border_title = self.said("[=] Waves now")
        self.query_one("#figures").border_title = self.said("A → now")

    def show(self, model: Model) -> None:
        view, pinned = model.view, model.pinned
        figures = self.query_one("#figures", LineTable)
        both = view is not None and pinned is not None
        figures.show(waves.what_if_sheet(pinned.view, view) if pinned is not None and view is not None else EMPTY)
        figures.set_class(both and model.stale, "-stale")
        table = self.query_one("#waves-now", LineTable)
        self.frame(table, model)
        table.show(waves.sheet(view) if view is not None else EMPTY)
        table.set_class(model.stale, "-stale")

    @property
    def node(self) -> str | None:
        return self.table.key
