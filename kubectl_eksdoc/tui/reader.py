"""Reads and watches the cluster in threads of their own, and posts what comes of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from kubectl_eksdoc.tui.opening import Live, Opening

if TYPE_CHECKING:  # the first paint must not pay for facts and plans
    from kubectl_eksdoc.core.model.cluster import Cluster
    from kubectl_eksdoc.core.model.permissions import Permission
    from kubectl_eksdoc.core.model.whereabouts import Whereabouts
    from kubectl_eksdoc.tui.model import Facts
    from kubectl_eksdoc.tui.watching import Notice, Watcher


@dataclass
class Told(Message):
    """`of`: what is open may be another one by the time when it is heard."""

    of: Opening


@dataclass
class Progressed(Told):
    """So many objects of a kind were read."""

    kind: str
    count: int


@dataclass
class Remembered(Told):
    """What the cluster was like when it was seen last."""

    facts: Facts


@dataclass
class HaveRead(Told):
    """The cluster was read; `differs` from what was known. If not, `facts` are those."""

    facts: Facts
    differs: bool


@dataclass
class NotRead(Told):
    """It was not: `what` in a few words, and why; `where`: which cluster it should have been, None where not even that
    is known."""

    what: str
    why: str
    remedy: str
    where: Whereabouts | None


@dataclass
class Contexts(Told):
    """Those that can be chosen, and the one that is open, "" where that is not known."""

    names: tuple[str, ...]
    now: str


@dataclass
class Denied(Told):
    """What of it we may not do."""

    permissions: tuple[Permission, ...]


@dataclass
class Noticed(Told):
    """By whoever watches it."""

    notice: Notice


class Reader:
    """Mutable: who watches the cluster that was read. `post` may be called from any thread."""

    def __init__(self, opening: Opening, post: Callable[[Message], object]) -> None:
        self._opening = opening
        self._post = post
        self._watcher: Watcher | None = None
        self._over = False  # nobody is to watch it (any more)

    def read(self, known: Facts | None) -> None:
        """In a thread: it may take long, and loads much. `known`: what is shown, None before anything is."""
        threading.Thread(target=self._read, args=(known,), name="reader", daemon=True).start()

    def list_contexts(self, live: Live) -> None:
        """In a thread: the kubeconfig may be large."""

        def work() -> None:
            where = self._where()
            self._post(Contexts(self._opening, live.contexts(), where.context if where is not None else ""))

        threading.Thread(target=work, name="contexts", daemon=True).start()

    def ask_rights(self, live: Live, permissions: Sequence[Permission]) -> None:
        """In a thread. Where it cannot be told, nothing is."""

        def work() -> None:
            from kubectl_eksdoc.errors import EksdocError

            with suppress(EksdocError):
                self._post(Denied(self._opening, live.denied(permissions)))

        threading.Thread(target=work, name="rights", daemon=True).start()

    def close(self) -> None:
        self._over = True
        if self._watcher is not None:
            self._watcher.close()

    def _read(self, known: Facts | None) -> None:
        from kubectl_eksdoc.errors import EksdocError
        from kubectl_eksdoc.tui.unreached import headline

        live = self._opening.live
        try:
            if live is not None and known is None:
                self._recall(live)
            cluster = self._opening.read(self._progress)
            self._post(self._of(cluster, known))
            if live is not None:
                live.remember(cluster)
                self._watch(live, cluster)
        except EksdocError as error:
            where = self._where()
            self._post(NotRead(self._opening, headline(error, where), error.message, error.hint, where))
        except Exception as error:  # a bug must not leave a screen that waits for ever
            said = f"this is a bug in kubectl eksdoc, please report it: {error!r}"
            self._post(NotRead(self._opening, "Something is wrong here", said, "", None))

    def _progress(self, kind: str, count: int) -> None:
        self._post(Progressed(self._opening, kind, count))

    def _recall(self, live: Live) -> None:
        from kubectl_eksdoc.tui.model import remembered

        view = live.last_view()
        if view is not None:
            self._post(Remembered(self._opening, remembered(view)))

    def _of(self, cluster: Cluster, known: Facts | None) -> HaveRead:
        from kubectl_eksdoc.core.plan.drain.comparison.unchanged import unchanged
        from kubectl_eksdoc.tui.model import Facts
        from kubectl_eksdoc.tui.sheets.nodes import facts_of

        if known is not None and not known.old and unchanged(known.cluster, cluster):
            return HaveRead(self._opening, known, differs=False)
        return HaveRead(self._opening, Facts(cluster, facts_of(cluster)), differs=True)

    def _where(self) -> Whereabouts | None:
        from kubectl_eksdoc.errors import EksdocError

        try:
            return None if self._opening.live is None else self._opening.live.where()
        except EksdocError:
            return None

    def _watch(self, live: Live, cluster: Cluster) -> None:
        """Unless somebody does, or nobody may."""
        if self._watcher is None and not self._over:
            from kubectl_eksdoc.tui.watching import Watcher

            self._watcher = Watcher(live.watch, cluster, self._noticed)

    def _noticed(self, notice: Notice) -> None:
        """In the watcher's thread."""
        from kubectl_eksdoc.tui.watching import Over

        if isinstance(notice, Over):
            self._watcher, self._over = None, self._over or notice.forbidden
        self._post(Noticed(self._opening, notice))
