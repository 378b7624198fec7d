"""Plans are made in a thread of their own, the last choice first: nobody waits for one that is asked for no more.

What is known at once is told by another thread, so that it does not wait for a plan that is under way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.plan.drain.targets import natural
from kubectl_eksdoc.core.plan.drain.what_if import Preview, WhatIf
from kubectl_eksdoc.errors import EksdocError
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.text import sentences
from kubectl_eksdoc.tui.choice import Ask
from kubectl_eksdoc.tui.model import Planned
from kubectl_eksdoc.tui.sheets.prepared import prepare


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
        self._asked, self._looked_at = _Latest(), _Latest()
        self._base: tuple[Ask, WhatIf] | None = None
        for name, work in (("glimpses", self._look), ("planner", self._work)):
            threading.Thread(target=work, name=name, daemon=True).start()

    def ask(self, ask: Ask) -> None:
        """A plan of it is wanted, and of nothing that was asked for before."""
        self._asked.put(ask)

    def knows_at_once(self, ask: Ask) -> bool:
        """Something is known of it before it is planned anew: of the same nodes under another policy."""
        return self._near(ask) is not None

    def close(self) -> None:
        self._asked.close()
        self._looked_at.close()

    def _look(self) -> None:
        while (ask := self._asked.take()) is not None:
            self._or_failed(ask, self._glimpse)
            self._looked_at.put(ask)

    def _work(self) -> None:
        while (ask := self._looked_at.take()) is not None:
            self._or_failed(ask, self._plan)

    def _or_failed(self, ask: Ask, made: Callable[[Ask], object]) -> None:
        try:
            made(ask)
        except EksdocError as error:
            self._told(Failed(ask, sentences(error.message, error.hint)))
        except Exception as error:  # a bug in a plan must not take the screen with it
            self._told(Failed(ask, f"this is a bug in kubectl eksdoc, please report it: {error!r}"))

    def _glimpse(self, ask: Ask) -> None:
        near = self._near(ask)
        if near is not None:
            self._told(Glimpse(ask, near.preview(ask.policy)))

    def _near(self, ask: Ask) -> WhatIf | None:
        if self._base is None or not ask.marked:
            return None
        before, kept = self._base
        return kept if before.marked == ask.marked and before.policy != ask.policy else None

    def _plan(self, ask: Ask) -> None:
        if not ask.marked:
            return
        marked = (node for node in self._cluster.nodes if node.name in ask.marked)
        targets = sorted(marked, key=lambda node: natural(node.name))
        kept = WhatIf(self._cluster, targets, ask.policy)
        self._base = ask, kept
        view = self._view_of(self._cluster, ask, kept)
        prepare(view)
        self._told(Planned(ask, view))


class _Latest:
    """Mutable: the last that was put and not taken yet; what was put before it is forgotten."""

    def __init__(self) -> None:
        self._put: Ask | None = None
        self._change = threading.Condition()
        self._over = False

    def put(self, ask: Ask) -> None:
        with self._change:
            self._put = ask
            self._change.notify()

    def take(self) -> Ask | None:
        """Waits for one; None when nothing comes any more."""
        with self._change:
            while self._put is None and not self._over:
                self._change.wait()
            ask, self._put = self._put, None
            return None if self._over else ask

    def close(self) -> None:
        with self._change:
            self._over = True
            self._change.notify()
