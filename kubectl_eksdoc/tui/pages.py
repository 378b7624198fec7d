"""Pages of the plan screen: tables and texts below the head, shown from the model.

Belongs here: the parts of a page, and what it shows of the model.
Never here: key actions (`tui.screen`), contents of rows (`tui.tables`).
"""

from __future__ import annotations

from functools import cached_property

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from kubectl_eksdoc.drain.report.findings import ALLOWING_FLAGS, budget_blockers, commands_of
from kubectl_eksdoc.drain.report.plan import DrainView
from kubectl_eksdoc.in_cluster.roles import starter_budgets
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.workloads import Workload
from kubectl_eksdoc.report.text import pluralize, printable, truncate, wrap

from . import details
from .keymap import appearance_of
from .line_table import LineTable
from .model import INSPECT_KEYS, Model, TableView, can_inspect
from .panel import Prose
from .tables import budgets, nodes, pods, waves
from .tables.pods import EMPTY_SHEET, Line, Sheet, text_sheet

# Texts shown without a plan: an empty frame could be read as "nothing blocks".


_NOTHING_MARKED_SHEET = text_sheet(("Nothing is marked, so nothing is planned: [1] and space mark nodes.",))
_PLANNING_SHEET = text_sheet(("planning…",))


def no_plan_sheet(model: Model) -> Sheet:
    if model.is_stale:
        return _PLANNING_SHEET
    return _NOTHING_MARKED_SHEET if model.facts is not None and not model.choice.plan_input.marked else EMPTY_SHEET


# The base class of pages.


def _is_same(first: object, second: object) -> bool:
    """Facts and plans are compared by identity: comparing their values takes longer than drawing them."""
    return first is second or (isinstance(first, (str, tuple, TableView)) and first == second)


COPY_FIX = "copy the fix"


_FRAME_COLUMNS = 6
"""Columns of a frame that are not available for its title."""


class PageOf(Vertical):
    """A page shows the model, and knows the node under its cursor. Mutable: the model values that it shows."""

    _shown_inputs: tuple[object, ...] = ()

    def update(self, model: Model) -> None:
        """Show the model unless its values are unchanged: switching pages does not rebuild them."""
        inputs = (*model.page_inputs, self.app.size, self.app.theme)
        if model.error or len(self._shown_inputs) != len(inputs) or not all(map(_is_same, self._shown_inputs, inputs)):
            self._shown_inputs = inputs
            self.show(model)

    def show(self, model: Model) -> None:
        raise NotImplementedError

    def frame_text(self, text: str) -> str:
        """`text` for the frame of a part: in allowed characters, with markup escaped."""
        appearance = appearance_of(self)
        title = printable(text, appearance)
        if appearance.ascii:  # Textual would truncate it with a non-ASCII character
            title = truncate(title, self.app.size.width - _FRAME_COLUMNS, appearance)
        return title.replace("[", r"\[")

    def set_frame(self, table: LineTable, model: Model, *notes: str) -> None:
        """Set the lower frame: `notes` and the view settings; call it before the rows are shown."""
        table.wide = model.table_view.wide
        view_states = (("wide, h l sideways", model.table_view.wide), ("without the head", model.table_view.headless))
        table.set_subtitle(
            self.frame_text(" · ".join([*filter(None, notes), *(words for words, is_on in view_states if is_on)]))
        )

    @cached_property
    def table(self) -> LineTable:
        """The table that has the focus when the page is opened."""
        return self.query(LineTable).first()

    @property
    def node(self) -> str | None:
        """The node under the cursor; None on a row without a node."""
        return None

    mark_label = "mark"
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
    def copy_label(self) -> str | None:
        """What y copies for the row under the cursor, in words; None for nothing."""
        return None

    @property
    def copy_texts(self) -> tuple[str, ...]:
        """The texts that y copies, one for each press."""
        return ()

    def cursor_moved(self, table: LineTable, key: str, model: Model) -> None:
        """The cursor of one of the tables moved."""


# [4] Blockers, unknown causes and warnings, with remedies.


class BlockersPage(PageOf):
    """Mutable: the rows of the plan, and their order, which is kept while the same nodes are marked."""

    mark_label = "assume fixed"
    _code_order: tuple[str, ...] = ()
    _marked: frozenset[str] = frozenset()
    rows: tuple[budgets.BlockerRow, ...] = ()

    def compose(self) -> ComposeResult:
        yield LineTable(has_marks=True, id="groups", classes="framed")
        yield Prose(id="fix")

    def on_mount(self) -> None:
        self.table.set_title(self.frame_text("[4] Blockers: fix in this order, to free nodes"))
        self.query_one("#fix", Prose).set_title(self.frame_text("what it means and what to do"))

    def show(self, model: Model) -> None:
        view = model.view
        if model.choice.plan_input.marked != self._marked:
            self._code_order, self._marked = (), model.choice.plan_input.marked
        self.rows = ()
        if view is not None:
            self.rows = (*budgets.blocker_rows(view, self._code_order), *budgets.fixed_rows(view, model.fixed_causes))
        self._code_order = tuple(row.code for row in self.rows if row.code)
        self.set_frame(self.table, model, "● assumed fixed: the plan follows" if view is not None else "")
        sheet = (
            budgets.blockers_sheet(self.rows, view.cluster.observed_at) if view is not None else no_plan_sheet(model)
        )
        self.table.show(sheet, model.choice.plan_input.policy.assume_fixed)
        self.table.set_class(model.is_stale, "-stale")
        self.cursor_moved(self.table, self.table.key or "", model)

    @property
    def row(self) -> budgets.BlockerRow | None:
        """The row under the cursor."""
        return next((row for row in self.rows if row.key == self.table.key), None)

    @property
    def cause(self) -> str:
        row = self.row
        return (row.code or "".join(group.first.code.name for group in row.groups[:1])) if row is not None else ""

    @property
    def copy_label(self) -> str | None:
        return COPY_FIX if self.copy_texts else None

    @property
    def copy_texts(self) -> tuple[str, ...]:
        return self.row.commands if self.row is not None else ()

    def cursor_moved(self, table: LineTable, key: str, model: Model) -> None:
        lines = [details.group_lines(group) for group in self.row.groups] if self.row is not None else []
        lines_to_show = [line for group_lines in lines for line in ("", *group_lines)][1:]
        if self.row is not None and self.row.cause is not None:
            has_flag = any(self.row.code == code for code, _, _ in ALLOWING_FLAGS)
            flag_hint = "; a allows it in this run, which names the pods before you confirm" if has_flag else ""
            lines_to_show = [f"its fix {self.row.cause.frees}{flag_hint}", "", *lines_to_show]
        self.query_one("#fix", Prose).show(lines_to_show)


# [2] PodDisruptionBudgets in full, and an explanation of the budget under the cursor.


class HeadroomPage(PageOf):
    """Mutable: the fix of the row; without a fix, y copies budgets for workloads that have none."""

    _fix_commands: tuple[str, ...] = ()
    _view: DrainView | None = None

    @property
    def copy_label(self) -> str | None:
        if self._fix_commands:
            return COPY_FIX
        return (
            f"copy {pluralize(len(self._workloads_to_guard), 'missing budget')}" if self._workloads_to_guard else None
        )

    @property
    def copy_texts(self) -> tuple[str, ...]:
        if self._fix_commands or self._view is None or not self._workloads_to_guard:
            return self._fix_commands
        return (starter_budgets(self._workloads_to_guard, {each.key for each in self._view.cluster.budgets}),)

    @property
    def _workloads_to_guard(self) -> tuple[Workload, ...]:
        return budgets.workloads_to_guard(self._view) if self._view is not None else ()

    def compose(self) -> ComposeResult:
        yield LineTable(id="all-budgets", classes="framed")
        yield Prose(id="budget")

    def on_mount(self) -> None:
        self.query_one("#budget", Prose).set_title(self.frame_text("what it means"))

    def show(self, model: Model) -> None:
        view = model.view
        has_no_budgets = view is not None and not view.budgets
        self.set_frame(self.table, model, "" if has_no_budgets else budgets.LEGEND)
        is_unreadable = view is not None and not view.cluster.read_of(kinds.BUDGETS).known
        title = (
            "[2] No budget counts these"
            if has_no_budgets and not is_unreadable
            else "[2] PDB headroom, the worst first"
        )
        closed_sheet = None
        if view is None and model.facts is not None and not (model.is_stale or model.is_old):
            closed_sheet = budgets.closed_budgets_sheet(model.facts.cluster)
        self.table.set_title(self.frame_text(budgets.CLOSED_TITLE if closed_sheet is not None else title))
        if view is not None and has_no_budgets:
            self.table.show(
                budgets.budgets_sheet(view, full=True)
                if is_unreadable
                else budgets.unguarded_sheet(budgets.unguarded_workloads(view))
            )
            self.query_one("#budget", Prose).show(budgets.unguarded_lines(view))
            self._fix_commands, self._view = (), view
            return
        self.table.show(
            budgets.budgets_sheet(view, full=True) if view is not None else closed_sheet or no_plan_sheet(model)
        )
        if not self.table.shows_column("HEADROOM"):
            self.set_frame(self.table, model)
        self.cursor_moved(self.table, self.table.key or "", model)

    def cursor_moved(self, table: LineTable, key: str, model: Model) -> None:
        view = model.view
        if view is not None and not view.budgets:
            return  # the text is about all budgets
        lines: list[Line] = []
        self._fix_commands, self._view = (), view
        if view is not None and key in budgets.headroom_by_budget(view):
            headroom = budgets.headroom_by_budget(view)[key]
            groups = budget_blockers(headroom.budget, view)
            lines, self._fix_commands = details.budget_lines(headroom, groups, view), commands_of(groups)
        elif view is None and model.facts is not None:
            lines = [
                line for b in model.facts.cluster.budgets if b.key == key for line in details.closed_budget_lines(b)
            ]
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
_MESSAGE_WIDTH = 74
"""Width of messages that must be readable on a narrow terminal."""

LAST_VIEW_SHEET = text_sheet(
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
        yield LineTable(has_marks=True, id="nodes", classes="framed")
        with Horizontal(id="below"):
            yield LineTable(id="budgets", classes="framed")
            yield LineTable(id="waves", classes="framed")

    def on_mount(self) -> None:
        for name, title in (
            ("nodes", "[1] Nodes"),
            ("budgets", "[2] PDB headroom"),
            ("waves", "[3] Waves, p50 and p95"),
        ):
            self.query_one(f"#{name}", LineTable).set_title(self.frame_text(title))

    def show(self, model: Model) -> None:
        if model.facts is None:
            if model.error:
                error_lines = (
                    *wrap(model.error, _MESSAGE_WIDTH),
                    "",
                    *wrap(model.reads.remedy, _MESSAGE_WIDTH),
                    "",
                    "ctrl+r tries again",
                )
                self.table.show(text_sheet(error_lines))
            return
        names = model.shown_nodes
        columns = nodes.with_sort_symbol(nodes.NODE_TABLE_COLUMNS, model.table_view.order)
        empty_text = "" if names else nodes.empty_text(model.facts.nodes, model.filter, model.table_view.faults)
        sheet = nodes.nodes_sheet(model.facts.nodes, names, model.view, empty_text, columns)
        table = self.query_one("#nodes", LineTable)
        self.set_frame(table, model, *_filter_summary(model, len(names)))
        table.show(sheet, model.choice.plan_input.marked)
        table.set_class(model.is_old, "-old")
        lower_tables = self.query_one("#budgets", LineTable), self.query_one("#waves", LineTable)
        title, sheets = _lower_sheets(model)
        lower_tables[0].set_title(self.frame_text(title))
        for lower_table, lower_sheet in zip(lower_tables, sheets, strict=True):
            lower_table.show(lower_sheet)
        for lower_table in lower_tables:
            lower_table.set_class(model.is_stale, "-stale")

    @property
    def node(self) -> str | None:
        focused = self.screen.focused
        if isinstance(focused, LineTable) and focused.id == "budgets":
            return None
        return focused.key if isinstance(focused, LineTable) else self.table.key


def _lower_sheets(model: Model) -> tuple[str, tuple[Sheet, Sheet]]:
    """Budgets and waves; without a plan, the budgets that allow no eviction, and instructions."""
    view, headroom_title = model.view, "[2] PDB headroom"
    if view is not None:
        return headroom_title, (budgets.budgets_sheet(view, full=False), waves.waves_sheet(view))
    if model.is_stale:
        return headroom_title, (_PLANNING_SHEET, _PLANNING_SHEET)
    if model.is_old or model.facts is None:
        return headroom_title, (NOTHING_SENT if model.choice.plan_input.marked else NOTHING_MARKED, LAST_VIEW_SHEET)
    closed_sheet = budgets.closed_budgets_sheet(model.facts.cluster)
    return (
        (budgets.CLOSED_TITLE, (closed_sheet, NOTHING_MARKED))
        if closed_sheet is not None
        else (headroom_title, (NOTHING_MARKED, NOTHING_SENT))
    )


def _filter_summary(model: Model, shown_count: int) -> list[str]:
    """``3 of 18 match /spot``, ``faults only: 2 of 3``, ``by AGE▲``: the sorted column may not be visible."""
    if model.facts is None:
        return []
    match_count = len(nodes.matching_nodes(model.facts.nodes, model.filter))
    parts = [f"{match_count} of {len(model.facts.nodes.texts)} match /{model.filter}"] if model.filter else []
    parts += [f"faults only: {shown_count} of {match_count}"] if model.table_view.faults else []
    order = model.table_view.order
    return parts if order == nodes.SortOrder() else [*parts, f"by {order.column}{nodes.sort_symbol(order)}"]


# The pods of the node or budget that enter opened.


class PodsPage(PageOf):
    """Mutable: the list, and its node."""

    IDS = ("pods", "why-pod")
    _subject: str | None = None
    _pod_list: pods.PodList | None = None

    def compose(self) -> ComposeResult:
        table_id, reason_id = self.IDS
        yield LineTable(id=table_id, classes="framed pods")
        yield Prose(id=reason_id)

    def on_mount(self) -> None:
        self.query_one(Prose).set_title(self.frame_text("why"))

    def show(self, model: Model) -> None:
        self._subject = model.subject or None
        if model.facts is None:
            return
        self._pod_list = self.pod_list(model, model.facts.cluster)
        self.table.set_title(self.frame_text(self._pod_list.title))
        self.set_frame(self.table, model, INSPECT_KEYS if can_inspect(self.app) else "")
        self.table.set_class(model.is_stale, "-stale")
        self.table.show(self._pod_list.sheet)
        self.cursor_moved(self.table, self.table.key or "", model)

    @property
    def pod(self) -> str:
        sheet, key = self.table.sheet, self.table.key
        index = next((index for index, column in enumerate(sheet.columns) if column.title == "POD"), None)
        return pods.text_of_cell(sheet.cells(key)[index]) if key and index is not None else ""

    def pod_list(self, model: Model, cluster: Cluster) -> pods.PodList:
        return pods.pods_of_node(model.subject, cluster, model.view, model.subject in model.choice.plan_input.marked)

    @property
    def node(self) -> str | None:
        return self._subject

    def cursor_moved(self, table: LineTable, key: str, model: Model) -> None:
        if self._pod_list is not None:
            self.query_one(Prose).show(details.detail_lines_of_pod(key, self._pod_list, model.view))


class BudgetPage(PodsPage):
    """The pods of a budget: its rows are on several nodes."""

    IDS = ("pods-of-budget", "why-pod-of-budget")

    def pod_list(self, model: Model, cluster: Cluster) -> pods.PodList:
        return pods.pods_of_budget(model.subject, cluster, model.view)

    @property
    def node(self) -> str | None:
        return None


# [3] Waves in full, and why the node under the cursor is in its wave.


class WavesPage(PageOf):
    def compose(self) -> ComposeResult:
        yield LineTable(id="all-waves", classes="framed")
        yield Prose(id="why")

    def on_mount(self) -> None:
        self.table.border_title = self.frame_text("[3] Waves")
        self.query_one("#why").border_title = self.frame_text("why here")

    def show(self, model: Model) -> None:
        view = model.view
        self.set_frame(self.table, model, waves.LEGEND)
        self.table.show(waves.waves_sheet(view, full=True) if view is not None else no_plan_sheet(model))
        self.table.set_class(model.is_stale, "-stale")
        self.cursor_moved(self.table, self.table.key or "", model)

    @property
    def node(self) -> str | None:
        return self.table.key

    def cursor_moved(self, table: LineTable, key: str, model: Model) -> None:
        view = model.view
        self.query_one("#why", Prose).show(details.node_lines(key, view) if view is not None and key else [])


# [=] The pinned plan A beside the current plan.


class WhatIfPage(PageOf):
    def compose(self) -> ComposeResult:
        yield LineTable(id="waves-now", classes="framed")
        yield LineTable(id="figures", classes="framed")

    def on_mount(self) -> None:
        self.query_one("#waves-now").border_title = self.frame_text("[=] Waves now")
        self.query_one("#figures").border_title = self.frame_text("A → now")

    def show(self, model: Model) -> None:
        view, pinned = model.view, model.pinned_plan
        figures = self.query_one("#figures", LineTable)
        has_both = view is not None and pinned is not None
        figures.show(waves.what_if_sheet(pinned.view, view) if pinned is not None and view is not None else EMPTY_SHEET)
        figures.set_class(has_both and model.is_stale, "-stale")
        table = self.query_one("#waves-now", LineTable)
        self.set_frame(table, model)
        table.show(waves.waves_sheet(view) if view is not None else EMPTY_SHEET)
        table.set_class(model.is_stale, "-stale")

    @property
    def node(self) -> str | None:
        return self.table.key
