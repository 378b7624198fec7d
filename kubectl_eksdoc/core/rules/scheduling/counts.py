"""How many pods of one kind there are in each part of the cluster, kept up to date as pods come and go."""

from __future__ import annotations

from collections.abc import Mapping

from kubectl_eksdoc.core.model.selectors import Labels, Selector


class Domains:
    """Pods in each domain, with the least of them at hand at any time: adding and removing take no search."""

    __slots__ = ("_sizes", "by_value", "least")

    def __init__(self) -> None:
        self.by_value: dict[str, int] = {}
        self._sizes: dict[int, int] = {}  # domains that hold so many pods
        self.least = 0  # 0 while there is no domain

    def __len__(self) -> int:
        return len(self.by_value)

    def open(self, value: str) -> None:
        """A domain exists, if only an empty one."""
        if value not in self.by_value:
            self.by_value[value] = 0
            self._sizes[0] = self._sizes.get(0, 0) + 1
            self.least = 0

    def close(self, value: str) -> None:
        """The domain is gone, with the pods in it."""
        size = self.by_value.pop(value, None)
        if size is not None:
            self._drop(size)
            while self._sizes and self.least not in self._sizes:
                self.least += 1
            if not self._sizes:
                self.least = 0

    def add(self, value: str, count: int) -> None:
        """`count` pods more, or fewer, in an open domain."""
        size = self.by_value[value]
        self.by_value[value] = size + count
        self._sizes[size + count] = self._sizes.get(size + count, 0) + 1
        self._drop(size)
        if size + count < self.least:
            self.least = size + count
        elif size == self.least:
            while self.least not in self._sizes:
                self.least += 1

    def _drop(self, size: int) -> None:
        self._sizes[size] -= 1
        if not self._sizes[size]:
            del self._sizes[size]


class Group:
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
