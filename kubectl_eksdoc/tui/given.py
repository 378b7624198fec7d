"""What was named when the screens were opened, and what a choice is called on a command line."""

from __future__ import annotations

from kubectl_eksdoc.drain.nodes import natural, select
from kubectl_eksdoc.drain.policy import Targeting
from kubectl_eksdoc.drain.verdicts.said import with_assumed_budgets
from kubectl_eksdoc.drain.what_if import WhatIf
from kubectl_eksdoc.errors import EksdocError
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.render.drain.plan import DrainView, as_given
from kubectl_eksdoc.tui.model import PlanInput
from kubectl_eksdoc.tui.opening import Opening


class NamedSelection:
    """Mutable: what was named is asked for once, when the cluster is read."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._targeting = Targeting()

    def first_marks(self, cluster: Cluster) -> frozenset[str]:
        """The nodes that are marked at first. Raises UsageError: one of them is not there."""
        self._targeting = self._opening.targeting()
        return self._named(cluster)

    def view_of(self, cluster: Cluster, ask: PlanInput, kept: WhatIf) -> DrainView:
        """In the planner's thread."""
        options = as_given(self.targeting_of(cluster, ask), ask.policy)
        assumed = with_assumed_budgets(cluster, ask.policy)
        return DrainView(kept.plan, assumed, options, reached_by=self._opening.reached_by(cluster))

    def _named(self, cluster: Cluster) -> frozenset[str]:
        if self._targeting.empty:
            return frozenset()
        pools = (pool.name for pool in cluster.node_pools)
        return frozenset(node.name for node in select(cluster.nodes, self._targeting, pools))

    def targeting_of(self, cluster: Cluster, ask: PlanInput) -> Targeting:
        """As it was given at the start while it still means the same nodes; else by name."""
        try:
            if ask.marked and self._named(cluster) == ask.marked:
                return self._targeting
        except EksdocError:
            pass  # what was named is gone: those that are there are named one by one
        return Targeting(names=tuple(sorted(ask.marked, key=natural)))
