"""Which counts a pod is part of: found by namespace and labels, without trying every selector on every pod."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from kubectl_eksdoc.kubernetes.scheduling.counts import PodGroup
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.selectors import Labels


class PodCounter(Protocol):
    """Something that counts pods by where they are."""

    @property
    def group(self) -> PodGroup:
        """A group that every pod it counts is in."""

    def matches(self, namespace: str, labels: Labels) -> bool: ...

    def count(self, node: Node, count: int, /) -> None: ...


class Labelled(Protocol):
    """Pods of one namespace with one set of labels."""

    @property
    def namespace(self) -> str: ...

    @property
    def labels(self) -> Labels: ...


P = TypeVar("P", bound=Labelled)

_Pair = tuple[str, str]
"""A label's key and value."""


class WatcherIndex(Generic[P]):
    """All that can be watched, by namespace and by label pair."""

    def __init__(self) -> None:
        self._all: list[P] = []
        self._by_namespace: dict[str, list[P]] = {}
        self._by_pair: dict[str, dict[_Pair, list[P]]] = {}

    def add(self, pods: P) -> None:
        namespace = pods.namespace
        self._all.append(pods)
        by_pair = self._by_pair.get(namespace)
        if by_pair is None:
            by_pair = self._by_pair[namespace] = {}
            self._by_namespace[namespace] = []
        self._by_namespace[namespace].append(pods)
        for pair in pods.labels.items():
            alike = by_pair.get(pair)
            if alike is None:
                alike = by_pair[pair] = []
            alike.append(pods)

    def counted_by(self, watcher: PodCounter) -> Iterator[P]:
        """Those that `watcher` counts, each once."""
        return (p for p in self._candidates(watcher.group) if watcher.matches(p.namespace, p.labels))

    def _candidates(self, group: PodGroup) -> Iterator[P]:
        if group.wide:
            yield from self._all
            return
        pairs = group.keys()
        for namespace in group.namespaces:
            if pairs is None:
                yield from self._by_namespace.get(namespace, ())
            by_pair = self._by_pair.get(namespace, {})
            for pair in dict.fromkeys(pairs or ()):
                yield from by_pair.get(pair, ())


class Watchers:
    """All watchers, by what their pods must have: a namespace (None: several), and a label pair if they demand one."""

    def __init__(self) -> None:
        self._by_pair: dict[str | None, dict[_Pair, list[PodCounter]]] = {}
        self._rest: dict[str | None, list[PodCounter]] = {}

    def add(self, watcher: PodCounter) -> None:
        group = watcher.group
        namespaces: frozenset[str | None] = frozenset((None,)) if group.wide else frozenset(group.namespaces)
        pairs = group.keys()
        for namespace in namespaces:
            if pairs is None:
                self._rest.setdefault(namespace, []).append(watcher)
            for pair in dict.fromkeys(pairs or ()):
                self._by_pair.setdefault(namespace, {}).setdefault(pair, []).append(watcher)

    def of(self, namespace: str, labels: Labels) -> Iterator[PodCounter]:
        """Those that count a pod with that namespace and those labels, each once."""
        for within in (namespace, None):
            candidates = self._rest.get(within, ())
            yield from (w for w in candidates if w.matches(namespace, labels))
            by_pair = self._by_pair.get(within)
            if by_pair is None:
                continue  # as a rule there are none for several namespaces
            for pair in labels.items():
                candidates = by_pair.get(pair, ())
                yield from (w for w in candidates if w.matches(namespace, labels))
