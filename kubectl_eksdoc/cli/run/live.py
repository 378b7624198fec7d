"""A run that a thread of this process carries out while screens show it: they look and wish, and nothing more."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime

from kubectl_eksdoc.cli.options import GlobalOptions
from kubectl_eksdoc.cli.run.face import WISHES, FaceOf, RunFace, Told, Wanted
from kubectl_eksdoc.cli.surroundings import CommandContext
from kubectl_eksdoc.drain.run.chronicle import aimed_by
from kubectl_eksdoc.drain.run.moments import RunMoment
from kubectl_eksdoc.drain.run.standing import Reason, RunProgress
from kubectl_eksdoc.embedded.demo.reader import IDENTITY, NOW
from kubectl_eksdoc.errors import EksdocError, as_bug
from kubectl_eksdoc.flows.run.draining import RunWish, RunWishState
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.journal import RunPhase
from kubectl_eksdoc.render.drain.plan import DrainView
from kubectl_eksdoc.session.sources import SourceChoice
from kubectl_eksdoc.tui.run.state import RunKind, RunSummaryView, RunUpdate
from kubectl_eksdoc.wiring.runs import HastenedClock, hastened
from kubectl_eksdoc.wiring.stages import Serving, served

Carry = Callable[[FaceOf], RunSummaryView]
"""Carries it out to its end. It may raise EksdocError."""


@dataclass(eq=False)
class LiveRun:
    """A `tui.run.state.ActiveRun`, and the face of its run. Mutable; the thread does not end before the run has,
    whatever becomes of the screens. `overrule` tells others that what they asked for holds no more."""

    run: str
    kind: RunKind
    view: DrainView | None
    began_at: datetime
    carry: Carry
    overrule: Callable[[], object] = lambda: None
    speed: float = 1.0

    def __post_init__(self) -> None:
        self.aims = aimed_by(self.view.plan) if self.view is not None else ()
        self._lock = threading.Lock()
        self._untold: list[RunMoment] = []
        self._standing: RunProgress | None = None
        self._outcome: RunSummaryView | None = None
        self._mine: RunWish | None = None  # what is wished here, None where others asked for something since
        self._why = ""
        self._theirs = ""  # what they asked for last
        self._echo = False  # they were told that it goes on, which comes back as if they asked for it
        self._alone: frozenset[str] = frozenset()
        self._wanted: Wanted = lambda: ("", "")
        self._thread = threading.Thread(target=self._work, name=f"run {self.run}", daemon=False)

    def start(self) -> None:
        self._thread.start()

    # For the screens

    def look(self) -> RunUpdate:
        with self._lock:
            untold, self._untold = self._untold, []
            return RunUpdate(untold, self._standing, self._outcome)

    def wish(self, wish: RunWish, why: str = "") -> None:
        """It counts until others ask for something else; what stops it counts for good. `why`: where nobody wishes it,
        what has happened, a clause."""
        with self._lock:
            self._mine, self._why = wish, why
            overruled = wish is RunWish.GO_ON and WISHES.get(self._theirs, RunWish.GO_ON) is not RunWish.GO_ON
            self._echo = self._echo or overruled
        if overruled:  # who looks from elsewhere, or asks for the same once more, must not be misled
            threading.Thread(target=self.overrule, name="overrule", daemon=True).start()

    def leave_alone(self, node: str) -> None:
        with self._lock:
            self._alone |= {node}

    # For whoever ends the process

    @property
    def over(self) -> bool:
        return not self._thread.is_alive()

    def wait(self, seconds: float) -> None:
        """Until it is over, and no longer than that."""
        self._thread.join(seconds)

    # For the run

    def listen(self, moments: Sequence[RunMoment]) -> None:
        with self._lock:
            self._untold.extend(moments)

    def show(self, standing: RunProgress) -> None:
        with self._lock:
            self._standing = standing

    def explain(self, reasons: Sequence[Reason], for_s: float) -> None:
        """The screens show it at any time."""

    def wished(self) -> RunWishState:
        what, who = self._wanted()
        with self._lock:
            if what != self._theirs:
                own = self._echo and what == RunPhase.RUNNING.value
                self._theirs, self._echo = what, False
                if what and not own and self._mine not in (RunWish.STOP, RunWish.LEAVE):
                    self._mine = None
            if self._mine is not None:
                return RunWishState(self._mine, why=self._why, alone=self._alone)
            return RunWishState(WISHES.get(what, RunWish.GO_ON), who, alone=self._alone)

    def _work(self) -> None:
        try:
            outcome = self.carry(self._faced)
        except EksdocError as error:
            outcome = RunSummaryView(error.message, tuple(error.hint.splitlines()), bad=True)
        except Exception as error:  # nobody else hears of a bug in this thread
            outcome = RunSummaryView(as_bug(error), bad=True)
        with self._lock:
            self._outcome = outcome

    def _faced(self, told: Told, wanted: Wanted) -> AbstractContextManager[RunFace]:
        self._wanted = wanted
        return nullcontext(self)


# The built-in cluster, to be drained: it is served on this machine from the first time that somebody wants to.


SPEED = 10.0
"""So many of its seconds pass in one of ours: a drain that takes minutes is seen in a fraction of them."""


class DemoCluster:
    """Mutable. `around`: surroundings in which its runs are carried out: they reckon in its time, and keep their
    journals in a folder that goes with it."""

    def __init__(self, around: CommandContext, options: GlobalOptions) -> None:
        self._options = options
        self._open = ExitStack()
        self._lock = threading.Lock()
        self._reached: GlobalOptions | None = None
        folder = self._open.enter_context(tempfile.TemporaryDirectory(prefix="eksdoc-demo-"))
        clock = HastenedClock(around.edges.clock, SPEED, NOW)
        edges = replace(around.edges, open_run=hastened(around.edges.open_run, clock, SPEED), clock=clock)
        environ = {**around.environ, "XDG_STATE_HOME": folder}
        self.around = replace(around, run_edges=edges, environ=environ, now=clock.now)

    @property
    def is_served(self) -> bool:
        """From then on it changes."""
        return self._reached is not None

    def reach(self) -> GlobalOptions:
        """How it is reached; from the first call on it is served.

        Raises:
            UsageError: its kubeconfig cannot be written.
        """
        with self._lock:
            if self._reached is None:
                how = Serving(SPEED, "", lambda path, address: None, lambda note: None)
                path, _ = self._open.enter_context(served(SourceChoice(demo=True), Connection(), None, how))
                connection = Connection(kubeconfig=path)
                self._reached = replace(self._options, connection=connection, cluster_name=IDENTITY.cluster)
            return self._reached

    def close(self) -> None:
        self._open.close()
