"""Planning in background threads: the latest selection is planned first, superseded requests are dropped.

A separate thread sends quick previews, so that they do not wait for a running plan.

Also the initial selection from the command line, and the flags for the current selection.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from kubectl_eksdoc.drain.nodes import natural, select
from kubectl_eksdoc.drain.plan import Preview, WhatIf
from kubectl_eksdoc.drain.policy import Targeting
from kubectl_eksdoc.drain.report.findings import assumed_fixed, in_the_way
from kubectl_eksdoc.drain.report.plan import DrainView, as_given, in_brief
from kubectl_eksdoc.drain.rule_results import with_assumed_budgets
from kubectl_eksdoc.errors import EksdocError, as_bug
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster, Source
from kubectl_eksdoc.model.permissions import Permission
from kubectl_eksdoc.report.text import Look, sentences, shown

from .model import EditHistory, PlanInput, PlannedCluster, PlanOfInput, ScreenReads
from .opening import Opening
from .reader import ClusterChanged, Notice, WatchEnded, WatchLost, WatchStarted
from .shell import Shell
from .tables.waves import prepare


class NamedSelection:
    """The selection of the command line. It is resolved once, when the cluster is read. Mutable."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._targeting = Targeting()

    def first_marks(self, cluster: Cluster) -> frozenset[str]:
        """The initially marked nodes. Raises UsageError: one of them does not exist."""
        self._targeting = self._opening.targeting()
        return self._named(cluster)

    def view_of(self, cluster: Cluster, ask: PlanInput, kept: WhatIf) -> DrainView:
        """Called in the planner's thread."""
        options = as_given(self.targeting_of(cluster, ask), ask.policy)
        assumed = with_assumed_budgets(cluster, ask.policy)
        return DrainView(kept.plan, assumed, options, reached_by=self._opening.reached_by(cluster))

    def _named(self, cluster: Cluster) -> frozenset[str]:
        if self._targeting.empty:
            return frozenset()
        pools = (pool.name for pool in cluster.node_pools)
        return frozenset(node.name for node in select(cluster.nodes, self._targeting, pools))

    def targeting_of(self, cluster: Cluster, ask: PlanInput) -> Targeting:
        """The flags given at the start while they still select the same nodes; else the node names."""
        try:
            if ask.marked and self._named(cluster) == ask.marked:
                return self._targeting
        except EksdocError:
            pass  # a named target is gone: the existing nodes are named individually
        return Targeting(names=tuple(sorted(ask.marked, key=natural)))


@frozen
class Failed:
    """The plan of `plan_input` failed, and why."""

    ask: PlanInput
    why: str


@frozen
class QuickPlan:
    """A quick estimate for `plan_input`."""

    ask: PlanInput
    preview: Preview


News = PlanOfInput | Failed | QuickPlan

ViewOf = Callable[[Cluster, PlanInput, WhatIf], DrainView]


class Planner:
    """Computes plans and previews in its own threads. `on_update` is called from them. Mutable."""

    def __init__(self, cluster: Cluster, view_of: ViewOf, told: Callable[[News], object]) -> None:
        self._cluster = cluster
        self._view_of = view_of
        self._told = told
        self._asked, self._looked_at = _Latest(), _Latest()
        self._base: tuple[PlanInput, WhatIf] | None = None
        for name, work in (("glimpses", self._look), ("planner", self._work)):
            threading.Thread(target=work, name=name, daemon=True).start()

    def ask(self, ask: PlanInput) -> None:
        """Request a plan; earlier requests are dropped."""
        self._asked.put(ask)

    def knows_at_once(self, ask: PlanInput) -> bool:
        """Whether a preview is possible before the plan is computed: the last plan had the same nodes and another
        policy."""
        return self._near(ask) is not None

    def close(self) -> None:
        self._asked.close()
        self._looked_at.close()

    def _look(self) -> None:
        while (ask := self._asked.take()) is not None:
            self._or_failed(ask, self._glimpse)
            self._looked_at.put(ask)

    def _work(self) -> None:
        while (ask := self._looked_at.take()) is not None:
            self._or_failed(ask, self._plan)

    def _or_failed(self, ask: PlanInput, made: Callable[[PlanInput], object]) -> None:
        try:
            made(ask)
        except EksdocError as error:
            self._told(Failed(ask, sentences(error.message, error.hint)))
        except Exception as error:  # a bug in planning must not close the screen
            self._told(Failed(ask, as_bug(error)))

    def _glimpse(self, ask: PlanInput) -> None:
        near = self._near(ask)
        if near is not None:
            self._told(QuickPlan(ask, near.preview(ask.policy)))

    def _near(self, ask: PlanInput) -> WhatIf | None:
        if self._base is None or not ask.marked:
            return None
        before, kept = self._base
        return kept if before.marked == ask.marked and before.policy != ask.policy else None

    def _plan(self, ask: PlanInput) -> None:
        if not ask.marked:
            return
        marked = (node for node in self._cluster.nodes if node.name in ask.marked)
        targets = sorted(marked, key=lambda node: natural(node.name))
        kept = WhatIf(self._cluster, targets, ask.policy)
        self._base = ask, kept
        view = self._view_of(self._cluster, ask, kept)
        prepare(view)
        self._told(PlanOfInput(ask, view))


class _Latest:
    """The latest value that was put and not taken yet; earlier values are dropped. Mutable."""

    def __init__(self) -> None:
        self._put: PlanInput | None = None
        self._change = threading.Condition()
        self._over = False

    def put(self, ask: PlanInput) -> None:
        with self._change:
            self._put = ask
            self._change.notify()

    def take(self) -> PlanInput | None:
        """Wait for a value; None once the slot is closed."""
        with self._change:
            while self._put is None and not self._over:
                self._change.wait()
            ask, self._put = self._put, None
            return None if self._over else ask

    def close(self) -> None:
        with self._change:
            self._over = True
            self._change.notify()


# The screen with its data: cluster reads and plans.


SOON_S = 0.1
"""Time to wait for a preview of a selection: drawing anything else meanwhile would only delay it."""


class LearningScreen(Shell):
    """Mutable: the planner of the cluster that was read last."""

    def __init__(self, opening: Opening, read: Callable[[], object]) -> None:
        super().__init__(opening, read)
        self._given = NamedSelection(opening)
        self._planner: Planner | None = None

    def on_unmount(self) -> None:
        if self._planner is not None:
            self._planner.close()

    # Cluster reads

    def begins_to_read(self) -> bool:
        """False: a read is already active."""
        if self.model.reads.begun is not None:
            return False
        self._reads(self.model.reads.begins(self._opening.now()))
        return True

    def progressed(self, kind: str, count: int) -> None:
        self._reads(self.model.reads.progressed(kind, count))

    def remembers(self, facts: PlannedCluster) -> None:
        """Show a cached view until the cluster is read."""
        if self.model.facts is None:
            self.model = replace(self.model, facts=facts)
            self.show()

    def read(self, facts: PlannedCluster, differs: bool) -> None:
        """Show new facts. Marks are kept on existing nodes; the first time, the nodes of the command line are marked.
        If nothing `differs`, the plan is kept as well."""
        first = self.model.facts is None or (self.model.old and not self.model.choice.past)
        reads, before, now = self.model.reads, self.model.facts, facts.cluster
        moves = before is not None and now.source is Source.DEMO and before.cluster.observed_at != now.observed_at
        self.model = replace(self.model, reads=replace(reads, live=reads.live or moves).succeeded(self._opening.now()))
        if not differs:
            self.show_age()
            return
        self.model = replace(self.model, facts=facts, trouble="")
        if self._planner is not None:
            self._planner.close()
        self._planner = Planner(facts.cluster, self._given.view_of, partial(self._told, facts))
        if first:
            for note in facts.cluster.notes:
                self.notify(note, severity="warning", markup=False)
            try:
                marked = self._given.first_marks(facts.cluster)
            except EksdocError as error:
                marked = frozenset()
                self.notify(sentences(error.message, error.hint), severity="warning", timeout=20, markup=False)
            self._choose(replace(self.model.choice, ask=PlanInput(marked)), anew=True)
        else:
            there = self.model.choice.ask.marked & facts.nodes.nodes.keys()
            choice = self.model.choice.marked_are(there, "nodes that are gone are marked no more")
            self.model = replace(self.model, preview=None)
            self._choose(choice, anew=True)

    def learn_rights(self, denied: tuple[Permission, ...]) -> None:
        """Set the rights that a run lacks."""
        self.model = replace(self.model, denied=denied)
        self.show_age()

    def not_read(self, why: str, remedy: str) -> None:
        """Keep the previous facts."""
        nothing, seen = self.model.facts is None, self.model.facts is not None and not self.model.old
        reads = self.model.reads.went_wrong(self._opening.now(), why, remedy)
        self.model = replace(self.model, reads=reads, trouble=why if nothing else self.model.trouble)
        if seen and reads.failures == 1:  # otherwise the error screen shows it
            self.notify(shown(sentences(why, remedy), Look(ascii=self._opening.ascii)), severity="error", markup=False)
        self.show()

    def noticed(self, notice: Notice) -> None:
        """Handle a notice from the watch."""
        now, reads = self._opening.now(), self.model.reads
        match notice:
            case ClusterChanged():
                self._reads(reads.was_told(now))
            case WatchStarted():
                self._reads(reads.watched())
            case WatchLost(said):
                self._reads(reads.lost_sight(now, said))
            case WatchEnded(said):
                self._reads(reads.unwatched(said))

    @property
    def due(self) -> bool:
        """Whether a read is due; not while a plan is computed."""
        return not self.model.stale and self.model.reads.due(self._opening.now())

    def tick(self) -> None:
        """Time has passed."""
        self.show_age()

    def _reads(self, reads: ScreenReads) -> None:
        self.model = replace(self.model, reads=reads)
        self.show_age()

    # Plans

    def _told(self, facts: PlannedCluster, news: News) -> None:
        """Called in the planner's thread; `facts`: the facts of the plan."""
        if self.is_attached and self.app.is_running:
            self.app.call_from_thread(self._learn, facts, news)
            if isinstance(news, QuickPlan):
                # Wait until the preview is drawn: the plan that is computed next would take its CPU time.
                seen = threading.Event()
                self.app.call_from_thread(self.call_after_refresh, seen.set)
                seen.wait(SOON_S)

    def _learn(self, facts: PlannedCluster, news: News) -> None:
        if news.ask != self.model.choice.ask or facts is not self.model.facts:
            return
        if isinstance(news, PlanOfInput):
            before, was_of = self.model.planned, self.model.planned_of
            self.model = self.model.with_plan(news)
            if before is not None and was_of is not facts and before.ask.marked == news.ask.marked:
                self._tick_off(before.view, news.view)
        elif isinstance(news, QuickPlan):
            if not self.model.stale:
                return  # the plan was faster
            self.model = replace(self.model, preview=news.preview)
            self.show_line()  # immediately; other parts are redrawn as stale after this is visible
            self.call_after_refresh(self.show)
            return
        else:
            self.model = replace(self.model, trouble=news.why, planned=None, preview=None)
        self.show()

    def _tick_off(self, before: DrainView, now: DrainView) -> None:
        """Report causes that were fixed in the cluster, and stop assuming them fixed."""
        policy = now.plan.policy
        same = before.plan.policy == policy
        gone = sorted(in_the_way(before) - in_the_way(now)) if same else []
        was = {code for code, groups in assumed_fixed(before) if groups}
        done = frozenset(code for code, groups in assumed_fixed(now) if not groups and code in was and same)
        if gone:
            self.model = replace(self.model, fixed=tuple(dict.fromkeys((*self.model.fixed, *gone))))
            said = ", ".join(f"{about} ({in_brief(code)})" for code, about in gone)
            self.notify(shown(f"✓ no longer in the way: {said}", Look(ascii=self._opening.ascii)), markup=False)
        if done:
            kept = replace(policy, assume_fixed=policy.assume_fixed - done)
            self._choose(self.model.choice.with_policy(kept, "fixed in the cluster, no longer only assumed"))

    def _choose(self, choice: EditHistory, anew: bool = False) -> None:
        if choice.ask == self.model.choice.ask and not anew:
            return
        self.model = self.model.chosen(choice)
        if self._planner is not None:
            self._planner.ask(choice.ask)
            if self._planner.knows_at_once(choice.ask):
                self.set_timer(SOON_S, self._show_without)
                return
        self.show()

    def _show_without(self) -> None:
        """The preview is late: show the selection without it."""
        if self.model.stale and self.model.preview is None:
            self.show()
