"""Who is there, kept up to date with the store: pods by their labels and by node, budgets by namespace, scales."""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Iterator

from kubectl_eksdoc.kubernetes.replacement import Scales
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import at
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.pods import Pod
from kubectl_eksdoc.model.selectors import Labels
from kubectl_eksdoc.model.workloads import Workload
from kubectl_eksdoc.simulator.registry import FactSource
from kubectl_eksdoc.simulator.store import Key, Store, StoreChange, StoreChangeKind, StoredItem

PODS = kinds.PODS.full_name
BUDGETS = kinds.BUDGETS.full_name
SCALED = (kinds.DEPLOYMENTS, kinds.REPLICA_SETS, kinds.STATEFUL_SETS, kinds.REPLICATION_CONTROLLERS)

_LabelSet = tuple[tuple[str, str], ...]


class _Namespace:
    """Pods by their labels, budgets by name, and which of both belong together; pods of one workload share labels."""

    __slots__ = ("alike", "budgets", "guarded", "guards")

    def __init__(self) -> None:
        self.alike: dict[_LabelSet, dict[Key, None]] = {}
        self.budgets: dict[str, Budget] = {}
        self.guards: dict[_LabelSet, list[str]] = {}  # names of budgets, sorted; of labels that any pod ever had
        self.guarded: dict[str, dict[_LabelSet, None]] = {}  # the same the other way round

    def guards_of(self, labels: _LabelSet) -> list[str]:
        found = self.guards.get(labels)
        if found is None:
            found = self.guards[labels] = [n for n in sorted(self.budgets) if _selects(self.budgets[n], labels)]
            for name in found:
                self.guarded[name][labels] = None
        return found

    def learn(self, budget: Budget) -> None:
        """A budget that is new, or has changed."""
        before = self.budgets.get(budget.name)
        self.budgets[budget.name] = budget
        if before is not None and before.selector == budget.selector:
            return
        if before is not None:
            self.forget(budget.name)
            self.budgets[budget.name] = budget
        mine = self.guarded[budget.name] = {labels: None for labels in self.guards if _selects(budget, labels)}
        for labels in mine:
            insort(self.guards[labels], budget.name)

    def forget(self, name: str) -> None:
        self.budgets.pop(name, None)
        for labels in self.guarded.pop(name, ()):
            self.guards[labels].remove(name)


class NodeRoster:
    """Mutable: it listens to the store, and must be made before anybody who asks it and listens, too."""

    def __init__(self, store: Store, facts: FactSource) -> None:
        self._facts = facts
        self._pods: dict[Key, Pod] = {}
        self._namespaces: dict[str, _Namespace] = defaultdict(_Namespace)
        self._workloads: dict[tuple[str, str, str], Workload] = {}
        self._kinds = {resource.full_name: resource.kind for resource in SCALED}
        self.scales = Scales(self._workloads, {}, complete=True)
        for resource in (PODS, BUDGETS, *self._kinds):
            for item in store.list(resource):
                self._note(item, there=True)
        store.listen(lambda change: self._note(change.item, change.what is not StoreChangeKind.DELETED))

    def pod(self, key: Key) -> Pod | None:
        return self._pods.get(key)

    def selected(self, budget: Budget) -> list[Pod]:
        """The pods that `budget`, one of those that are there, selects."""
        within = self._namespaces[budget.namespace]
        alike = (within.alike.get(labels, {}) for labels in within.guarded.get(budget.name, ()))
        return [self._pods[key] for keys in alike for key in keys]

    def guards(self, namespace: str, labels: Labels) -> list[Budget]:
        """The budgets that select pods with those labels, by name."""
        within = self._namespaces[namespace]
        return [within.budgets[name] for name in within.guards_of(_label_set(labels))]

    def budget(self, key: Key) -> Budget | None:
        return self._namespaces[key[0]].budgets.get(key[1])

    def _note(self, item: StoredItem, there: bool) -> None:
        if item.resource == PODS:
            self._note_pod(item, there)
        elif item.resource == BUDGETS:
            within = self._namespaces[item.key[0]]
            if there:
                within.learn(self._facts.budget(item))
            else:
                within.forget(item.key[1])
        elif item.resource in self._kinds:
            key = (self._kinds[item.resource], *item.key)
            if there:
                self._workloads[key] = self._facts.workload(item)
            else:
                self._workloads.pop(key, None)

    def _note_pod(self, item: StoredItem, there: bool) -> None:
        before = self._pods.get(item.key)
        now = self._facts.pod(item) if there else None
        within = self._namespaces[item.key[0]]
        if before is not None and (now is None or now.labels != before.labels):
            labels = _label_set(before.labels)
            del within.alike[labels][item.key]
            if not within.alike[labels]:
                del within.alike[labels]
        if now is None:
            self._pods.pop(item.key, None)
            return
        self._pods[item.key] = now
        labels = _label_set(now.labels)
        within.guards_of(labels)
        within.alike.setdefault(labels, {})[item.key] = None


def _selects(budget: Budget, labels: _LabelSet) -> bool:
    """policy/v1: an empty selector selects all, an invalid one none."""
    return budget.selector.valid and budget.selector.matches(dict(labels))


def _label_set(labels: Labels) -> _LabelSet:
    return tuple(sorted(labels.items()))


def labels_in(change: StoreChange) -> Iterator[Labels]:
    """The object's labels after `change`, and before if they were others."""
    now: Labels = at(change.item.doc, "metadata", "labels") or {}
    yield now
    if change.before is not None:
        before: Labels = at(change.before.doc, "metadata", "labels") or {}
        if before != now:
            yield before
