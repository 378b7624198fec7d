"""How many pods of one kind there are in each part of the cluster, kept up to date as pods come and go."""

from __future__ import annotations

from collections.abc import Mapping

from kubectl_eksdoc.model.selectors import Labels, Selector


class Sizes:
    """Pods in each place where there are any, with the smallest number at hand: no search to add, remove or ask."""

    __slots__ = ("_alike", "by_place")

    def __init__(self) -> None:
        self.by_place: dict[str, int] = {}
        self._alike: dict[int, int] = {}  # places that hold so many pods; there are few different numbers

    def add(self, place: str, count: int) -> None:
        """`count` pods more in the place, or fewer."""
        before = self.by_place.get(place, 0)
        after = before + count
        if before:
            self._alike[before] -= 1
            if not self._alike[before]:
                del self._alike[before]
        if after:
            self.by_place[place] = after
            self._alike[after] = self._alike.get(after, 0) + 1
        elif before:
            del self.by_place[place]

    def least(self, places: int) -> int:
        """The smallest number of pods in any of that many places; 0 where one of them has none."""
        return min(self._alike, default=0) if len(self.by_place) >= places else 0


class PodGroup:
    """Pods that a selector picks in some namespaces: those of `namespaces`, and those that `chosen` matches."""

    __slots__ = ("_chosen", "_labels", "_names", "_resolved", "namespaces", "selector")

    def __init__(
        self, namespaces: frozenset[str], chosen: Selector | None, selector: Selector, known: Mapping[str, Labels]
    ) -> None:
        """`known` are the labels of every namespace."""
        self.namespaces = namespaces
        self.selector = selector
        self._chosen = chosen
        self._labels = known
        self._resolved: dict[str, bool] = {}

    @property
    def wide(self) -> bool:
        """Whether pods of namespaces it does not name may be in it."""
        return self._chosen is not None

    @property
    def by_label(self) -> bool:
        """Whether the labels of a namespace decide."""
        return self._chosen is not None and bool(self._chosen.requirements)

    def reaches(self, namespace: str) -> bool:
        if namespace in self.namespaces:
            return True
        if self._chosen is None:
            return False
        found = self._resolved.get(namespace)
        if found is None:
            found = self._resolved[namespace] = self._chosen.matches(self._labels.get(namespace, {}))
        return found

    def matches(self, namespace: str, labels: Labels) -> bool:
        return self.reaches(namespace) and self.selector.matches(labels)

    def keys(self) -> tuple[tuple[str, str], ...] | None:
        """Label pairs of which every pod in it has one; None where it demands none."""
        for each in self.selector.requirements:
            if each.operator == "In":
                return tuple((each.key, value) for value in each.values)
        return None
