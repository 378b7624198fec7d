"""Which budgets guard which pods, for as many of both as a large cluster has.

A budget selects pods of its own namespace; the empty selector of policy/v1 selects all of them, an
invalid one none (pkg/registry/core/pod/storage/eviction.go: getPodDisruptionBudgets).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.pods import Pod
from kubectl_eksdoc.model.selectors import Requirement


@dataclass(frozen=True, slots=True)
class _Namespace:
    """Budgets of one namespace: those found by one label's value, and those that must be tried on every pod."""

    by_label: dict[str, dict[str, list[Budget]]] = field(default_factory=dict)
    others: list[Budget] = field(default_factory=list)

    def candidates(self, labels: Mapping[str, str]) -> Iterable[Budget]:
        for key, by_value in self.by_label.items():
            value = labels.get(key)
            if value is not None:
                yield from by_value.get(value, ())
        yield from self.others


_Likeness = tuple[str, int]
"""What pods have in common that the same budgets select: their namespace, and their labels, which replicas share."""


@dataclass(frozen=True, slots=True)
class PodBudgets:
    """Build it with `matching`."""

    _namespaces: Mapping[str, _Namespace]
    _pods: Mapping[str, tuple[Pod, ...]]
    _selecting: Mapping[_Likeness, tuple[Budget, ...]] = field(compare=False)  # without those that none selects
    shared: frozenset[str] = frozenset()  # uids of those that several select

    def of(self, pod: Pod) -> tuple[Budget, ...]:
        """The budgets that select `pod`, by name; it need not be one of those the index was built with."""
        namespace = self._namespaces.get(pod.namespace)
        if namespace is None:
            return ()
        found = [b for b in namespace.candidates(pod.labels) if b.selector.matches(pod.labels)]
        if len(found) > 1:
            found.sort(key=lambda b: b.name)
        return tuple(found)

    def known(self, pod: Pod) -> tuple[Budget, ...]:
        """The same for one of the index's pods, quickly; replicas have the same tuple."""
        return self._selecting.get((pod.namespace, id(pod.labels)), ())

    def with_others(self, others: Mapping[str, Budget]) -> PodBudgets:
        """The same budgets, but for those of these keys (ns/name) the `others`, which differ in their status alone."""
        selecting = {
            like: tuple(others.get(b.key, b) for b in found) if any(b.key in others for b in found) else found
            for like, found in self._selecting.items()
        }
        return replace(self, _selecting=selecting)

    def pods(self, budget: Budget) -> tuple[Pod, ...]:
        """Those of the index's pods that `budget` selects, in the order they were given."""
        return self._pods.get(budget.key, ())


def matching(budgets: Iterable[Budget], pods: Iterable[Pod]) -> PodBudgets:
    """An index of who selects whom; its cost grows with pods and budgets, not with their product."""
    index = PodBudgets(_by_namespace(tuple(budgets)), {}, {})
    selected: dict[str, list[Pod]] = {}
    shared: list[str] = []
    known: dict[_Likeness, tuple[tuple[Budget, ...], list[list[Pod]]]] = {}
    for pod in pods:
        same = (pod.namespace, id(pod.labels))
        like = known.get(same)
        if like is None:
            found = index.of(pod)
            like = known[same] = found, [selected.setdefault(budget.key, []) for budget in found]
        for chosen in like[1]:
            chosen.append(pod)
        if len(like[0]) > 1:
            shared.append(pod.uid)
    selecting = {same: found for same, (found, _) in known.items() if found}
    by_budget = {key: tuple(chosen) for key, chosen in selected.items()}
    return PodBudgets(index._namespaces, by_budget, selecting, frozenset(shared))


def _by_namespace(budgets: tuple[Budget, ...]) -> dict[str, _Namespace]:
    # Among several labels the rarest one finds the fewest candidates.
    shared = Counter((b.namespace, r.key, r.values[0]) for b in budgets for r in b.selector.requirements if _exact(r))
    namespaces: dict[str, _Namespace] = {}
    for budget in budgets:
        if not budget.selector.valid:
            continue
        namespace = namespaces.setdefault(budget.namespace, _Namespace())
        exact = [r for r in budget.selector.requirements if _exact(r)]
        if not exact:
            namespace.others.append(budget)
            continue
        best = min(exact, key=lambda r: shared[budget.namespace, r.key, r.values[0]])
        namespace.by_label.setdefault(best.key, {}).setdefault(best.values[0], []).append(budget)
    return namespaces


def _exact(requirement: Requirement) -> bool:
    return requirement.operator == "In" and len(requirement.values) == 1
