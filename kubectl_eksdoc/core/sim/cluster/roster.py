"""Who is there, kept up to date with the store: pods by their labels and by node, budgets by namespace, scales."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import at
from kubectl_eksdoc.core.model.budgets import Budget
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.model.selectors import Labels, Selector
from kubectl_eksdoc.core.model.workloads import Workload
from kubectl_eksdoc.core.rules.scales import Scales
from kubectl_eksdoc.core.sim.cluster.facts import Facts
from kubectl_eksdoc.core.sim.cluster.store import Change, Item, Key, Store, What

PODS = kinds.PODS.full_name
BUDGETS = kinds.BUDGETS.full_name
SCALED = (kinds.DEPLOYMENTS, kinds.REPLICA_SETS, kinds.STATEFUL_SETS, kinds.REPLICATION_CONTROLLERS)

_LabelSet = tuple[tuple[str, str], ...]


class Roster:
    """Mutable: it listens to the store, and must be made before anybody who asks it and listens, too."""

    def __init__(self, store: Store, facts: Facts) -> None:
        self._facts = facts
        self._pods: dict[Key, Pod] = {}
        self._alike: dict[str, dict[_LabelSet, dict[Key, None]]] = defaultdict(dict)  # by namespace, then by labels
        self._budgets: dict[str, dict[str, Budget]] = defaultdict(dict)
        self._workloads: dict[tuple[str, str, str], Workload] = {}
        self._kinds = {resource.full_name: resource.kind for resource in SCALED}
        self._matches: dict[Selector, dict[_LabelSet, bool]] = defaultdict(dict)
        self.scales = Scales(self._workloads, {}, complete=True)
        for resource in (PODS, BUDGETS, *self._kinds):
            for item in store.list(resource):
                self._note(item, there=True)
        store.listen(lambda change: self._note(change.item, change.what is not What.DELETED))

    def pod(self, key: Key) -> Pod | None:
        return self._pods.get(key)

    def pods(self) -> Iterable[Pod]:
        return self._pods.values()

    def selected(self, budget: Budget) -> list[Pod]:
        """The pods that `budget` selects, in the order in which they came; policy/v1: {} selects all."""
        found: list[Key] = []
        for labels, keys in self._alike[budget.namespace].items():
            if self._match(budget.selector, labels):
                found += keys
        return [self._pods[key] for key in found]

    def guards(self, namespace: str, labels: Labels) -> list[Budget]:
        """The budgets that select pods with those labels, by name."""
        held, alike = self._budgets[namespace], _label_set(labels)
        return [held[name] for name in sorted(held) if self._match(held[name].selector, alike)]

    def budget(self, key: Key) -> Budget | None:
        return self._budgets[key[0]].get(key[1])

    def _match(self, selector: Selector, labels: _LabelSet) -> bool:
        known = self._matches[selector]
        found = known.get(labels)
        if found is None:
            found = known[labels] = selector.valid and selector.matches(dict(labels))
        return found

    def _note(self, item: Item, there: bool) -> None:
        if item.resource == PODS:
            self._note_pod(item, there)
        elif item.resource == BUDGETS:
            if there:
                self._budgets[item.key[0]][item.key[1]] = self._facts.budget(item)
            else:
                self._budgets[item.key[0]].pop(item.key[1], None)
        elif item.resource in self._kinds:
            key = (self._kinds[item.resource], *item.key)
            if there:
                self._workloads[key] = self._facts.workload(item)
            else:
                self._workloads.pop(key, None)

    def _note_pod(self, item: Item, there: bool) -> None:
        before = self._pods.get(item.key)
        now = self._facts.pod(item) if there else None
        if before is not None and (now is None or now.labels != before.labels):
            alike = self._alike[item.key[0]]
            labels = _label_set(before.labels)
            del alike[labels][item.key]
            if not alike[labels]:
                del alike[labels]
        if now is None:
            self._pods.pop(item.key, None)
            return
        self._pods[item.key] = now
        self._alike[item.key[0]].setdefault(_label_set(now.labels), {})[item.key] = None


def _label_set(labels: Labels) -> _LabelSet:
    return tuple(sorted(labels.items()))


def labels_in(change: Change) -> Iterator[Labels]:
    """The object's labels after `change`, and before if they were others."""
    now: Labels = at(change.item.doc, "metadata", "labels") or {}
    yield now
    if change.before is not None:
        before: Labels = at(change.before.doc, "metadata", "labels") or {}
        if before != now:
            yield before
