"""Planning in background threads: the latest selection is planned first, superseded requests are dropped.

A separate thread sends quick previews, so that they do not wait for a running plan.

Also the initial selection from the command line, and the flags for the current selection.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from kubectl_eksdoc.drain.nodes import natural_key, select_nodes
from kubectl_eksdoc.drain.plan import PlanPreview, WhatIfPlan
from kubectl_eksdoc.drain.policy import Targeting
from kubectl_eksdoc.drain.report.findings import assumed_fixed, blocking_subjects
from kubectl_eksdoc.drain.report.plan import DrainView, given_options, short_code
from kubectl_eksdoc.drain.rule_results import with_assumed_budgets
from kubectl_eksdoc.errors import EksdocError, bug_text
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster, Source
from kubectl_eksdoc.model.permissions import Permission
from kubectl_eksdoc.report.text import Appearance, join_sentences, printable

from .model import EditHistory, PlanInput, PlannedInput, ScreenFacts, ScreenReads
from .opening import Opening
from .reader import ClusterChanged, Notice, WatchEnded, WatchLost, WatchStarted
from .shell import Shell
from .tables.waves import precompute


class InitialSelection:
    """The selection of the command line. It is resolved once, when the cluster is read. Mutable."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._targeting = Targeting()

    def initial_marks(self, cluster: Cluster) -> frozenset[str]:
        """The initially marked nodes. Raises UsageError: one of them does not exist."""
        self._targeting = self._opening.targeting()
        return self._selected_names(cluster)

    def view_of(self, cluster: Cluster, plan_input: PlanInput, what_if: WhatIfPlan) -> DrainView:
        """Called in the planner's thread."""
        options = given_options(self.targeting_of(cluster, plan_input), plan_input.policy)
        assumed = with_assumed_budgets(cluster, plan_input.policy)
        return DrainView(what_if.plan, assumed, options, connection_args=self._opening.connection_args(cluster))

    def _selected_names(self, cluster: Cluster) -> frozenset[str]:
        if self._targeting.is_empty:
            return frozenset()
        pools = (pool.name for pool in cluster.node_pools)
        return frozenset(node.name for node in select_nodes(cluster.nodes, self._targeting, pools))

    def targeting_of(self, cluster: Cluster, plan_input: PlanInput) -> Targeting:
        """The flags given at the start while they still select the same nodes; else the node names."""
        try:
            if plan_input.marked and self._selected_names(cluster) == plan_input.marked:
                return self._targeting
        except EksdocError:
            pass  # a named target is gone: the existing nodes are named individually
        return Targeting(names=tuple(sorted(plan_input.marked, key=natural_key)))


@frozen
class PlanFailure:
    """The plan of `plan_input` failed, and why."""

    plan_input: PlanInput
    reason: str


@frozen
class QuickPlan:
    """A quick estimate for `plan_input`."""

    plan_input: PlanInput
    preview: PlanPreview


PlanUpdate = PlannedInput | PlanFailure | QuickPlan

ViewOf = Callable[[Cluster, PlanInput, WhatIfPlan], DrainView]


class Planner:
    """Computes plans and previews in its own threads. `on_update` is called from them. Mutable."""

    def __init__(self, cluster: Cluster, view_of: ViewOf, on_update: Callable[[PlanUpdate], object]) -> None:
        self._cluster = cluster
        self._view_of = view_of
        self._on_update = on_update
        self._requested, self._previewed = _LatestSlot(), _LatestSlot()
        self._last_plan: tuple[PlanInput, WhatIfPlan] | None = None
        for name, work in (("glimpses", self._preview_loop), ("planner", self._plan_loop)):
            threading.Thread(target=work, name=name, daemon=True).start()

    def request(self, plan_input: PlanInput) -> None:
        """Request a plan; earlier requests are dropped."""
        self._requested.put(plan_input)

    def has_preview(self, plan_input: PlanInput) -> bool:
        """Whether a preview is possible before the plan is computed: the last plan had the same nodes and another
        policy."""
        return self._reusable_plan(plan_input) is not None

    def close(self) -> None:
        self._requested.close()
        self._previewed.close()

    def _preview_loop(self) -> None:
        while (plan_input := self._requested.take()) is not None:
            self._run_or_report(plan_input, self._send_preview)
            self._previewed.put(plan_input)

    def _plan_loop(self) -> None:
        while (plan_input := self._previewed.take()) is not None:
            self._run_or_report(plan_input, self._send_plan)

    def _run_or_report(self, plan_input: PlanInput, step: Callable[[PlanInput], object]) -> None:
        try:
            step(plan_input)
        except EksdocError as error:
            self._on_update(PlanFailure(plan_input, join_sentences(error.message, error.hint)))
        except Exception as error:  # a bug in planning must not close the screen
            self._on_update(PlanFailure(plan_input, bug_text(error)))

    def _send_preview(self, plan_input: PlanInput) -> None:
        what_if = self._reusable_plan(plan_input)
        if what_if is not None:
            self._on_update(QuickPlan(plan_input, what_if.preview(plan_input.policy)))

    def _reusable_plan(self, plan_input: PlanInput) -> WhatIfPlan | None:
        if self._last_plan is None or not plan_input.marked:
            return None
        previous_input, what_if = self._last_plan
        return (
            what_if
            if previous_input.marked == plan_input.marked and previous_input.policy != plan_input.policy
            else None
        )

    def _send_plan(self, plan_input: PlanInput) -> None:
        if not plan_input.marked:
            return
        marked_nodes = (node for node in self._cluster.nodes if node.name in plan_input.marked)
        targets = sorted(marked_nodes, key=lambda node: natural_key(node.name))
        what_if = WhatIfPlan(self._cluster, targets, plan_input.policy)
        self._last_plan = plan_input, what_if
        view = self._view_of(self._cluster, plan_input, what_if)
        precompute(view)
        self._on_update(PlannedInput(plan_input, view))


class _LatestSlot:
    """The latest value that was put and not taken yet; earlier values are dropped. Mutable."""

    def __init__(self) -> None:
        self._pending: PlanInput | None = None
        self._condition = threading.Condition()
        self._is_closed = False

    def put(self, plan_input: PlanInput) -> None:
        with self._condition:
            self._pending = plan_input
            self._condition.notify()

    def take(self) -> PlanInput | None:
        """Wait for a value; None once the slot is closed."""
        with self._condition:
            while self._pending is None and not self._is_closed:
                self._condition.wait()
            plan_input, self._pending = self._pending, None
            return None if self._is_closed else plan_input

    def close(self) -> None:
        with self._condition:
            self._is_closed = True
            self._condition.notify()


# The screen with its data: cluster reads and plans.


PREVIEW_WAIT_S = 0.1
"""Time to wait for a preview of a selection: drawing anything else meanwhile would only delay it."""


class PlanDataScreen(Shell):
    """Mutable: the planner of the cluster that was read last."""

    def __init__(self, opening: Opening, read: Callable[[], object]) -> None:
        super().__init__(opening, read)
        self._selection = InitialSelection(opening)
        self._planner: Planner | None = None

    def on_unmount(self) -> None:
        if self._planner is not None:
            self._planner.close()

    # Cluster reads

    def start_reading(self) -> bool:
        """False: a read is already active."""
        if self.model.reads.started_at is not None:
            return False
        self._set_reads(self.model.reads.read_started(self._opening.now()))
        return True

    def read_progressed(self, kind: str, count: int) -> None:
        self._set_reads(self.model.reads.read_progressed(kind, count))

    def show_last_view(self, facts: ScreenFacts) -> None:
        """Show a cached view until the cluster is read."""
        if self.model.facts is None:
            self.model = replace(self.model, facts=facts)
            self.show()

    def update_facts(self, facts: ScreenFacts, differs: bool) -> None:
        """Show new facts. Marks are kept on existing nodes; the first time, the nodes of the command line are marked.
        If nothing `differs`, the plan is kept as well."""
        is_first = self.model.facts is None or (self.model.is_old and not self.model.choice.past)
        reads, old_facts, cluster = self.model.reads, self.model.facts, facts.cluster
        demo_moved = (
            old_facts is not None
            and cluster.source is Source.DEMO
            and old_facts.cluster.observed_at != cluster.observed_at
        )
        self.model = replace(
            self.model, reads=replace(reads, live=reads.live or demo_moved).read_succeeded(self._opening.now())
        )
        if not differs:
            self.show_identity()
            return
        self.model = replace(self.model, facts=facts, error="")
        if self._planner is not None:
            self._planner.close()
        self._planner = Planner(facts.cluster, self._selection.view_of, partial(self._receive_update, facts))
        if is_first:
            for note in facts.cluster.notes:
                self.notify(note, severity="warning", markup=False)
            try:
                initial_marks = self._selection.initial_marks(facts.cluster)
            except EksdocError as error:
                initial_marks = frozenset()
                self.notify(join_sentences(error.message, error.hint), severity="warning", timeout=20, markup=False)
            self._set_choice(replace(self.model.choice, plan_input=PlanInput(initial_marks)), force=True)
        else:
            remaining_marks = self.model.choice.plan_input.marked & facts.nodes.nodes.keys()
            choice = self.model.choice.with_marks(remaining_marks, "nodes that are gone are marked no more")
            self.model = replace(self.model, preview=None)
            self._set_choice(choice, force=True)

    def update_rights(self, denied: tuple[Permission, ...]) -> None:
        """Set the rights that a run lacks."""
        self.model = replace(self.model, denied=denied)
        self.show_identity()

    def read_failed(self, reason: str, remedy: str) -> None:
        """Keep the previous facts."""
        has_no_facts, has_current_facts = (
            self.model.facts is None,
            self.model.facts is not None and not self.model.is_old,
        )
        reads = self.model.reads.read_failed(self._opening.now(), reason, remedy)
        self.model = replace(self.model, reads=reads, error=reason if has_no_facts else self.model.error)
        if has_current_facts and reads.failures == 1:  # otherwise the error screen shows it
            self.notify(
                printable(join_sentences(reason, remedy), Appearance(ascii=self._opening.ascii)),
                severity="error",
                markup=False,
            )
        self.show()

    def handle_notice(self, notice: Notice) -> None:
        """Handle a notice from the watch."""
        now, reads = self._opening.now(), self.model.reads
        match notice:
            case ClusterChanged():
                self._set_reads(reads.cluster_changed(now))
            case WatchStarted():
                self._set_reads(reads.watch_started())
            case WatchLost(message):
                self._set_reads(reads.watch_lost(now, message))
            case WatchEnded(message):
                self._set_reads(reads.watch_ended(message))

    @property
    def is_read_due(self) -> bool:
        """Whether a read is due; not while a plan is computed."""
        return not self.model.is_stale and self.model.reads.is_due(self._opening.now())

    def tick(self) -> None:
        """Time has passed."""
        self.show_identity()

    def _set_reads(self, reads: ScreenReads) -> None:
        self.model = replace(self.model, reads=reads)
        self.show_identity()

    # Plans

    def _receive_update(self, facts: ScreenFacts, update: PlanUpdate) -> None:
        """Called in the planner's thread; `facts`: the facts of the plan."""
        if self.is_attached and self.app.is_running:
            self.app.call_from_thread(self._apply_update, facts, update)
            if isinstance(update, QuickPlan):
                # Wait until the preview is drawn: the plan that is computed next would take its CPU time.
                refreshed = threading.Event()
                self.app.call_from_thread(self.call_after_refresh, refreshed.set)
                refreshed.wait(PREVIEW_WAIT_S)

    def _apply_update(self, facts: ScreenFacts, update: PlanUpdate) -> None:
        if update.plan_input != self.model.choice.plan_input or facts is not self.model.facts:
            return
        if isinstance(update, PlannedInput):
            previous_plan, previous_facts = self.model.latest_plan, self.model.planned_facts
            self.model = self.model.with_plan(update)
            if (
                previous_plan is not None
                and previous_facts is not facts
                and previous_plan.plan_input.marked == update.plan_input.marked
            ):
                self._report_fixed(previous_plan.view, update.view)
        elif isinstance(update, QuickPlan):
            if not self.model.is_stale:
                return  # the plan was faster
            self.model = replace(self.model, preview=update.preview)
            self.show_plan_line()  # immediately; other parts are redrawn as stale after this is visible
            self.call_after_refresh(self.show)
            return
        else:
            self.model = replace(self.model, error=update.reason, latest_plan=None, preview=None)
        self.show()

    def _report_fixed(self, old_view: DrainView, new_view: DrainView) -> None:
        """Report causes that were fixed in the cluster, and stop assuming them fixed."""
        policy = new_view.plan.policy
        same_policy = old_view.plan.policy == policy
        resolved = sorted(blocking_subjects(old_view) - blocking_subjects(new_view)) if same_policy else []
        assumed_before = {code for code, groups in assumed_fixed(old_view) if groups}
        fixed_codes = frozenset(
            code for code, groups in assumed_fixed(new_view) if not groups and code in assumed_before and same_policy
        )
        if resolved:
            self.model = replace(self.model, fixed_causes=tuple(dict.fromkeys((*self.model.fixed_causes, *resolved))))
            resolved_text = ", ".join(f"{subject} ({short_code(code)})" for code, subject in resolved)
            self.notify(
                printable(f"✓ no longer in the way: {resolved_text}", Appearance(ascii=self._opening.ascii)),
                markup=False,
            )
        if fixed_codes:
            new_policy = replace(policy, assume_fixed=policy.assume_fixed - fixed_codes)
            self._set_choice(self.model.choice.with_policy(new_policy, "fixed in the cluster, no longer only assumed"))

    def _set_choice(self, choice: EditHistory, force: bool = False) -> None:
        if choice.plan_input == self.model.choice.plan_input and not force:
            return
        self.model = self.model.with_choice(choice)
        if self._planner is not None:
            self._planner.request(choice.plan_input)
            if self._planner.has_preview(choice.plan_input):
                self.set_timer(PREVIEW_WAIT_S, self._show_without_preview)
                return
        self.show()

    def _show_without_preview(self) -> None:
        """The preview is late: show the selection without it."""
        if self.model.is_stale and self.model.preview is None:
            self.show()
