"""Cluster reader and watcher: background threads that post messages to the application."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from textual.message import Message

from kubectl_eksdoc.errors import EksdocError, Forbidden, bug_text
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.updates import (
    AllBudgets,
    AllNodes,
    AllPods,
    BudgetChanged,
    BudgetRemoved,
    NodeChanged,
    NodeRemoved,
    PodChanged,
    PodRemoved,
    RunUpdate,
    WatchInterrupted,
    WatchRestored,
)
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import Node, Pod
from kubectl_eksdoc.ports import RunBackend

from .opening import LiveClusterAccess, Opening

if TYPE_CHECKING:
    from kubectl_eksdoc.model.connection import ClusterAddress
    from kubectl_eksdoc.model.permissions import Permission

    from .model import ScreenFacts


@dataclass
class ReaderMessage(Message):
    """A message about `opening`, which may no longer be the current one when the message is handled."""

    opening: Opening


@dataclass
class Progressed(ReaderMessage):
    """`count` objects of a kind were read."""

    kind: str
    count: int


@dataclass
class LastViewFound(ReaderMessage):
    """A cached view of the cluster exists."""

    facts: ScreenFacts


@dataclass
class ClusterRead(ReaderMessage):
    """The cluster was read; `differs` from the shown facts. If not, `facts` are the shown ones."""

    facts: ScreenFacts
    differs: bool


@dataclass
class ReadFailed(ReaderMessage):
    """The read failed: `headline` in a few words, and the reason; `address`: the cluster, None if not even that is
    known."""

    headline: str
    reason: str
    remedy: str
    address: ClusterAddress | None


@dataclass
class ContextsListed(ReaderMessage):
    """The contexts to choose from, and the open one, "" if it is not known."""

    names: tuple[str, ...]
    current: str


@dataclass
class RightsDenied(ReaderMessage):
    """Rights that the user does not have."""

    permissions: tuple[Permission, ...]


@dataclass
class WatchNoticed(ReaderMessage):
    """A notice from the watch."""

    notice: Notice


class Reader:
    """Reads and watches one cluster. `post` may be called from any thread. Mutable: the watcher."""

    def __init__(self, opening: Opening, post: Callable[[Message], object]) -> None:
        self._opening = opening
        self._post = post
        self._watcher: ClusterWatcher | None = None
        self._is_closed = False  # no new watch is started

    def read(self, shown_facts: ScreenFacts | None) -> None:
        """Read in a thread: it may take long and loads much code. `shown_facts`: None before the first read."""
        threading.Thread(target=self._read, args=(shown_facts,), name="reader", daemon=True).start()

    def list_contexts(self, live: LiveClusterAccess) -> None:
        """List the contexts in a thread: the kubeconfig may be large."""

        def work() -> None:
            address = self._address()
            self._post(ContextsListed(self._opening, live.contexts(), address.context if address is not None else ""))

        threading.Thread(target=work, name="contexts", daemon=True).start()

    def check_rights(self, live: LiveClusterAccess, permissions: Sequence[Permission]) -> None:
        """Check rights in a thread. If the check fails, no message is posted."""

        def work() -> None:

            with suppress(EksdocError):
                self._post(RightsDenied(self._opening, live.denied_rights(permissions)))

        threading.Thread(target=work, name="rights", daemon=True).start()

    def close(self) -> None:
        self._is_closed = True
        if self._watcher is not None:
            self._watcher.close()

    def _read(self, shown_facts: ScreenFacts | None) -> None:
        from .unreached import headline

        live = self._opening.live
        try:
            if live is not None and shown_facts is None:
                from .model import facts_of_last_view

                view = live.last_view()
                if view is not None:
                    self._post(LastViewFound(self._opening, facts_of_last_view(view)))
            cluster = self._opening.read(self._progress)
            self._post(self._compare_facts(cluster, shown_facts))
            if live is not None:
                live.remember(cluster)
                self._watch(live, cluster)
        except EksdocError as error:
            address = self._address()
            self._post(ReadFailed(self._opening, headline(error, address), error.message, error.hint, address))
        except Exception as error:  # a bug must not leave a screen that waits for ever
            message = bug_text(error)
            self._post(ReadFailed(self._opening, "Something is wrong here", message, "", None))

    def _progress(self, kind: str, count: int) -> None:
        self._post(Progressed(self._opening, kind, count))

    def _compare_facts(self, cluster: Cluster, shown_facts: ScreenFacts | None) -> ClusterRead:
        from kubectl_eksdoc.drain.plan_changes import is_unchanged

        from .model import ScreenFacts
        from .tables.nodes import node_facts

        if shown_facts is not None and not shown_facts.is_old and is_unchanged(shown_facts.cluster, cluster):
            return ClusterRead(self._opening, shown_facts, differs=False)
        return ClusterRead(self._opening, ScreenFacts(cluster, node_facts(cluster)), differs=True)

    def _address(self) -> ClusterAddress | None:

        try:
            return None if self._opening.live is None else self._opening.live.address()
        except EksdocError:
            return None

    def _watch(self, live: LiveClusterAccess, cluster: Cluster) -> None:
        """Start a watch unless one is active or forbidden."""
        if self._watcher is None and not self._is_closed:
            self._watcher = ClusterWatcher(live.watch, cluster, self._post_notice)

    def _post_notice(self, notice: Notice) -> None:
        """Called in the watcher's thread."""
        if isinstance(notice, WatchEnded):
            self._watcher, self._is_closed = None, self._is_closed or notice.forbidden
        self._post(WatchNoticed(self._opening, notice))


# The watch: a thread that reports changes that would change the plan.


WATCH_WAIT_S = 2.0
"""Time to wait for events before checking whether the watch is still needed."""


@frozen
class ClusterChanged:
    """A relevant object has changed."""


@frozen
class WatchStarted:
    """The watch has started, or is restored."""


@frozen
class WatchLost:
    """The API server does not respond; `message` says why."""

    message: str


@frozen
class WatchEnded:
    """The watch has ended; `message` says why. `forbidden`: a retry would not help."""

    message: str
    forbidden: bool


Notice = ClusterChanged | WatchStarted | WatchLost | WatchEnded

_Fact = TypeVar("_Fact", Pod, Budget, Node)


class KnownObjects:
    """The latest pods by UID, budgets by namespace and name, nodes by name. Mutable."""

    def __init__(self, cluster: Cluster) -> None:
        self._pods = {pod.uid: pod for pod in cluster.pods}
        self._budgets = {budget.key: budget for budget in cluster.budgets}
        self._nodes = {node.name: node for node in cluster.nodes}

    def apply(self, event: RunUpdate) -> bool:
        """Apply an event; returns whether it changed anything: an unchanged object may be reported again."""
        match event:
            case PodChanged(pod, _):
                return _update_fact(self._pods, pod.uid, pod)
            case PodRemoved(uid, _):
                return self._pods.pop(uid, None) is not None
            case BudgetChanged(budget, _):
                return _update_fact(self._budgets, budget.key, budget)
            case BudgetRemoved(key):
                return self._budgets.pop(key, None) is not None
            case NodeChanged(node):
                return _update_fact(self._nodes, node.name, node)
            case NodeRemoved(name):
                return self._nodes.pop(name, None) is not None
            case AllPods(pods, _):
                return _replace_facts(self._pods, {pod.uid: pod for pod, _ in pods})
            case AllBudgets(budgets, _):
                return _replace_facts(self._budgets, {budget.key: budget for budget, _ in budgets})
            case AllNodes(nodes):
                return _replace_facts(self._nodes, {node.name: node for node in nodes})
        return False


def _update_fact(known_facts: dict[str, _Fact], key: str, fact: _Fact) -> bool:
    if known_facts.get(key) == fact:
        return False  # the known object is kept: views that show it stay identical
    known_facts[key] = fact
    return True


def _replace_facts(known_facts: dict[str, _Fact], facts: Mapping[str, _Fact]) -> bool:
    removed = [key for key in known_facts if key not in facts]
    for key in removed:
        del known_facts[key]
    updated = [key for key, fact in facts.items() if _update_fact(known_facts, key, fact)]
    return bool(removed or updated)


class ClusterWatcher:
    """Watches from its creation until it is closed; `on_notice` is called from its thread. Mutable."""

    def __init__(
        self,
        watch: Callable[[], AbstractContextManager[RunBackend]],
        cluster: Cluster,
        on_notice: Callable[[Notice], object],
    ) -> None:
        self._watch = watch
        self._on_notice = on_notice
        self._known = KnownObjects(cluster)
        self._closed = threading.Event()
        threading.Thread(target=self._work, name="watcher", daemon=True).start()

    def close(self) -> None:
        self._closed.set()

    def _work(self) -> None:
        try:
            with self._watch() as backend:
                while not self._closed.is_set():
                    self._apply_events(backend.updates(WATCH_WAIT_S))
        except EksdocError as error:
            self._send_notice(WatchEnded(error.message, isinstance(error, Forbidden)))
        except Exception as error:  # a bug here must not look like an unchanged cluster
            self._send_notice(WatchEnded(bug_text(error), True))

    def _apply_events(self, events: Iterable[RunUpdate]) -> None:
        changed = False
        for event in events:
            if isinstance(event, WatchInterrupted):
                self._send_notice(WatchLost(event.message))
            elif isinstance(event, WatchRestored | AllNodes):  # the first event: the watch is active
                self._send_notice(WatchStarted())
            changed = self._known.apply(event) or changed
        if changed:
            self._send_notice(ClusterChanged())

    def _send_notice(self, notice: Notice) -> None:
        if not self._closed.is_set():
            self._on_notice(notice)
