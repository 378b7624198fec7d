"""What changes in a simulated cluster, as news for a run: what a watch of its pods, budgets and nodes would tell."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.rules.news import BudgetGone, BudgetIs, News, NodeGone, NodeIs, PodGone, PodIs
from kubectl_eksdoc.core.sim.cluster.facts import Facts
from kubectl_eksdoc.core.sim.cluster.store import Change, Store, What

PODS, BUDGETS, NODES = kinds.PODS.full_name, kinds.BUDGETS.full_name, kinds.NODES.full_name


class Watched:
    """Mutable: keeps what has changed until it is asked for; of several changes of one object only the last."""

    def __init__(self, store: Store, facts: Facts) -> None:
        self._facts = facts
        self._changed: dict[tuple[str, str], Change] = {}  # by resource and UID
        store.listen(self._note)

    def news(self) -> Sequence[News]:
        changed, self._changed = self._changed, {}
        return [self._told(change) for change in sorted(changed.values(), key=lambda change: change.version)]

    def _note(self, change: Change) -> None:
        if change.item.resource in (PODS, BUDGETS, NODES):
            self._changed[change.item.resource, change.item.uid] = change

    def _told(self, change: Change) -> News:
        item, version = change.item, change.version
        gone = change.what is What.DELETED
        if item.resource == PODS:
            return PodGone(item.uid, version) if gone else PodIs(self._facts.pod(item), version)
        if item.resource == BUDGETS:
            return BudgetGone("/".join(item.key)) if gone else BudgetIs(self._facts.budget(item), version)
        return NodeGone(item.key[1]) if gone else NodeIs(self._facts.node(item))
