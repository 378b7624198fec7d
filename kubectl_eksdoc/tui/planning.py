"""Plans are made in a thread of their own, the last choice first: nobody waits for one that is asked for no more."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.plan.drain.targets import natural
from kubectl_eksdoc.core.plan.drain.what_if import Preview, WhatIf
from kubectl_eksdoc.errors import EksdocError
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.tui.choice import Ask
from kubectl_eksdoc.tui.model import Planned


@dataclass(frozen=True, slots=True)
class Failed:
    """There is no plan of `ask`, and why."""

    ask: Ask
    why: str


@dataclass(frozen=True, slots=True)
class Glimpse:
    """What is known at once of `ask`."""

    ask: Ask
    preview: Preview


News = Planned | Failed | Glimpse

ViewOf = Callable[[Cluster, Ask, WhatIf], DrainView]


class Planner:
    """Mutable. `told` is called from its thread."""

    def __init__(self, cluster: Cluster, view_of: ViewOf, told: Callable[[News], object]) -> None:
        self._cluster = cluster
        self._view_of = view_of
        self._told = told
        self._wanted: Ask | None = None
        self._base: tuple[Ask, WhatIf] | None = None
        self._change = threading.Condition()
        self._over = False
        threading.Thread(target=self._work, name="planner", daemon=True).start()

    def ask(self, ask: Ask) -> None:
        """A plan of it is wanted, and of nothing that was asked for before."""
        with self._change:
            self._wanted = ask
            self._change.notify()

    def close(self) -> None:
        with self._change:
            self._over = True
            self._change.notify()

    def _work(self) -> None:
        while (ask := self._next()) is not None:
            try:
                self._glimpse(ask)
                if not self._superseded:
                    self._plan(ask)
            except EksdocError as error:
                self._told(Failed(ask, " ".join(filter(None, (f"{error.message}.", error.hint)))))
            except Exception as error:  # a bug in a plan must not take the screen with it
                self._told(Failed(ask, f"this is a bug in kubectl eksdoc, please report it: {error!r}"))

    def _next(self) -> Ask | None:
        with self._change:
            while self._wanted is None and not self._over:
                self._change.wait()
            ask, self._wanted = self._wanted, None
            return None if self._over else ask

    @property
    def _superseded(self) -> bool:
        with self._change:
            return self._wanted is not None or self._over

    def _glimpse(self, ask: Ask) -> None:
        """Of the same nodes under another policy something is known before it is planned anew."""
        if self._base is None or not ask.marked:
            return
        before, kept = self._base
        if before.marked == ask.marked and before.policy != ask.policy:
            self._told(Glimpse(ask, kept.preview(ask.policy)))

    def _plan(self, ask: Ask) -> None:
        if not ask.marked:
            return
        marked = (node for node in self._cluster.nodes if node.name in ask.marked)
        targets = sorted(marked, key=lambda node: natural(node.name))
        kept = WhatIf(self._cluster, targets, ask.policy)
        self._base = ask, kept
        self._told(Planned(ask, self._view_of(self._cluster, ask, kept)))
