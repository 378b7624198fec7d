"""Cluster reader and watcher: background threads that post messages to the application."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from textual.message import Message

from kubectl_eksdoc.errors import EksdocError, Forbidden, as_bug
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.news import (
    AllBudgets,
    AllNodes,
    AllPods,
    BudgetGone,
    BudgetIs,
    News,
    NodeGone,
    NodeIs,
    PodGone,
    PodIs,
    WatchInterrupted,
    WatchRestored,
)
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import Node, Pod
from kubectl_eksdoc.ports import Field

from .opening import LiveClusterAccess, Opening

if TYPE_CHECKING:
    from kubectl_eksdoc.model.connection import ClusterAddress
    from kubectl_eksdoc.model.permissions import Permission

    from .model import PlannedCluster


@dataclass
class ReaderMessage(Message):
    """A message about `opening`, which may no longer be the current one when the message is handled."""

    of: Opening


@dataclass
class Progressed(ReaderMessage):
    """`count` objects of a kind were read."""

    kind: str
    count: int


@dataclass
class Remembered(ReaderMessage):
    """A cached view of the cluster exists."""

    facts: PlannedCluster


@dataclass
class HaveRead(ReaderMessage):
    """The cluster was read; `differs` from the shown facts. If not, `facts` are the shown ones."""

    facts: PlannedCluster
    differs: bool


@dataclass
class NotRead(ReaderMessage):
    """The read failed: `headline` in a few words, and the reason; `address`: the cluster, None if not even that is
    known."""

    what: str
    why: str
    remedy: str
    where: ClusterAddress | None


@dataclass
class Contexts(ReaderMessage):
    """The contexts to choose from, and the open one, "" if it is not known."""

    names: tuple[str, ...]
    now: str


@dataclass
class Denied(ReaderMessage):
    """Rights that the user does not have."""

    permissions: tuple[Permission, ...]


@dataclass
class Noticed(ReaderMessage):
    """A notice from the watch."""

    notice: Notice


class Reader:
    """Reads and watches one cluster. `post` may be called from any thread. Mutable: the watcher."""

    def __init__(self, opening: Opening, post: Callable[[Message], object]) -> None:
        self._opening = opening
        self._post = post
        self._watcher: ClusterWatcher | None = None
        self._over = False  # no new watch is started

    def read(self, known: PlannedCluster | None) -> None:
        """Read in a thread: it may take long and loads much code. `shown_facts`: None before the first read."""
        threading.Thread(target=self._read, args=(known,), name="reader", daemon=True).start()

    def list_contexts(self, live: LiveClusterAccess) -> None:
        """List the contexts in a thread: the kubeconfig may be large."""

        def work() -> None:
            where = self._where()
            self._post(Contexts(self._opening, live.contexts(), where.context if where is not None else ""))

        threading.Thread(target=work, name="contexts", daemon=True).start()

    def ask_rights(self, live: LiveClusterAccess, permissions: Sequence[Permission]) -> None:
        """Check rights in a thread. If the check fails, no message is posted."""

        def work() -> None:

            with suppress(EksdocError):
                self._post(Denied(self._opening, live.denied(permissions)))

        threading.Thread(target=work, name="rights", daemon=True).start()

    def close(self) -> None:
        self._over = True
        if self._watcher is not None:
            self._watcher.close()

    def _read(self, known: PlannedCluster | None) -> None:
        from .unreached import headline

        live = self._opening.live
        try:
            if live is not None and known is None:
                from .model import remembered

                view = live.last_view()
                if view is not None:
                    self._post(Remembered(self._opening, remembered(view)))
            cluster = self._opening.read(self._progress)
            self._post(self._of(cluster, known))
            if live is not None:
                live.remember(cluster)
                self._watch(live, cluster)
        except EksdocError as error:
            where = self._where()
            self._post(NotRead(self._opening, headline(error, where), error.message, error.hint, where))
        except Exception as error:  # a bug must not leave a screen that waits for ever
            said = as_bug(error)
            self._post(NotRead(self._opening, "Something is wrong here", said, "", None))

    def _progress(self, kind: str, count: int) -> None:
        self._post(Progressed(self._opening, kind, count))

    def _of(self, cluster: Cluster, known: PlannedCluster | None) -> HaveRead:
        from kubectl_eksdoc.drain.plan_changes import unchanged

        from .model import PlannedCluster
        from .tables.nodes import facts_of

        if known is not None and not known.old and unchanged(known.cluster, cluster):
            return HaveRead(self._opening, known, differs=False)
        return HaveRead(self._opening, PlannedCluster(cluster, facts_of(cluster)), differs=True)

    def _where(self) -> ClusterAddress | None:

        try:
            return None if self._opening.live is None else self._opening.live.where()
        except EksdocError:
            return None

    def _watch(self, live: LiveClusterAccess, cluster: Cluster) -> None:
        """Start a watch unless one is active or forbidden."""
        if self._watcher is None and not self._over:
            self._watcher = ClusterWatcher(live.watch, cluster, self._noticed)

    def _noticed(self, notice: Notice) -> None:
        """Called in the watcher's thread."""
        if isinstance(notice, WatchEnded):
            self._watcher, self._over = None, self._over or notice.forbidden
        self._post(Noticed(self._opening, notice))


# The watch: a thread that reports changes that would change the plan.


WAIT_S = 2.0
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

    said: str


@frozen
class WatchEnded:
    """The watch has ended; `message` says why. `forbidden`: a retry would not help."""

    said: str
    forbidden: bool


Notice = ClusterChanged | WatchStarted | WatchLost | WatchEnded

_Fact = TypeVar("_Fact", Pod, Budget, Node)


class KnownObjects:
    """The latest pods by UID, budgets by namespace and name, nodes by name. Mutable."""

    def __init__(self, cluster: Cluster) -> None:
        self._pods = {pod.uid: pod for pod in cluster.pods}
        self._budgets = {budget.key: budget for budget in cluster.budgets}
        self._nodes = {node.name: node for node in cluster.nodes}

    def take(self, news: News) -> bool:
        """Apply an event; returns whether it changed anything: an unchanged object may be reported again."""
        match news:
            case PodIs(pod, _):
                return _is(self._pods, pod.uid, pod)
            case PodGone(uid, _):
                return self._pods.pop(uid, None) is not None
            case BudgetIs(budget, _):
                return _is(self._budgets, budget.key, budget)
            case BudgetGone(key):
                return self._budgets.pop(key, None) is not None
            case NodeIs(node):
                return _is(self._nodes, node.name, node)
            case NodeGone(name):
                return self._nodes.pop(name, None) is not None
            case AllPods(pods, _):
                return _are(self._pods, {pod.uid: pod for pod, _ in pods})
            case AllBudgets(budgets, _):
                return _are(self._budgets, {budget.key: budget for budget, _ in budgets})
            case AllNodes(nodes):
                return _are(self._nodes, {node.name: node for node in nodes})
        return False


def _is(known: dict[str, _Fact], key: str, fact: _Fact) -> bool:
    if known.get(key) == fact:
        return False  # the known object is kept: views that show it stay identical
    known[key] = fact
    return True


def _are(known: dict[str, _Fact], facts: Mapping[str, _Fact]) -> bool:
    gone = [key for key in known if key not in facts]
    for key in gone:
        del known[key]
    new = [key for key, fact in facts.items() if _is(known, key, fact)]
    return bool(gone or new)


class ClusterWatcher:
    """Watches from its creation until it is closed; `on_notice` is called from its thread. Mutable."""

    def __init__(
        self, watch: Callable[[], AbstractContextManager[Field]], cluster: Cluster, told: Callable[[Notice], object]
    ) -> None:
        self._watch = watch
        self._told = told
        self._known = KnownObjects(cluster)
        self._over = threading.Event()
        threading.Thread(target=self._work, name="watcher", daemon=True).start()

    def close(self) -> None:
        self._over.set()

    def _work(self) -> None:
        try:
            with self._watch() as field:
                while not self._over.is_set():
                    self._take(field.news(WAIT_S))
        except EksdocError as error:
            self._tell(WatchEnded(error.message, isinstance(error, Forbidden)))
        except Exception as error:  # a bug here must not look like an unchanged cluster
            self._tell(WatchEnded(as_bug(error), True))

    def _take(self, told: Iterable[News]) -> None:
        changed = False
        for news in told:
            if isinstance(news, WatchInterrupted):
                self._tell(WatchLost(news.said))
            elif isinstance(news, WatchRestored | AllNodes):  # the first event: the watch is active
                self._tell(WatchStarted())
            changed = self._known.take(news) or changed
        if changed:
            self._tell(ClusterChanged())

    def _tell(self, notice: Notice) -> None:
        if not self._over.is_set():
            self._told(notice)
