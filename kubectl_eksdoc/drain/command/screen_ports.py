"""Protocols between the screens and the controller of runs: runs belong to the process, not to a screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.report.text import Tone

from ..run.history import PlannedNode
from ..run.loop import RunWish
from ..run.progress import RunProgress

if TYPE_CHECKING:
    from kubectl_eksdoc.model.journal import RunSummary

    from ..policy import DrainPolicy, Targeting
    from ..report.plan import DrainView
    from ..report.run import RunReport
    from ..run.events import RunMoment
    from ..run.limits import RunLimits
    from ..run.runner import DryRunResult


class RunKind(Enum):
    """What a run does; the value is used in sentences after ``to``, followed by a number of nodes."""

    DRAIN = "drain"
    GO_ON = "go on draining"
    GIVE_BACK = "give back"


@frozen
class RunSummaryView:
    """The outcome of a run: `summary` in a sentence, `details` line by line. `report`: of a drain that ended or was
    stopped; `has_failed`: it is not the requested outcome; `needs_check`: the result must be verified; `events_file`:
    the file with recorded events, "" if there is none."""

    said: str
    more: tuple[str, ...] = ()
    view: RunReport | None = None
    bad: bool = False
    doubt: bool = False
    events: str = ""

    @property
    def sign(self) -> tuple[str, Tone]:
        """The symbol and tone of the outcome."""
        if self.bad:
            return "✗", Tone.BAD
        return ("!", Tone.WARN) if self.doubt else ("✓", Tone.GOOD)


class RunUpdate(NamedTuple):
    """Changes since the last call. `progress`: the latest progress, None before the first; `outcome`: None until the
    run has ended. `restarted`: `events` are all events from the start, and earlier ones do not count."""

    moments: Sequence[RunMoment] = ()
    standing: RunProgress | None = None
    outcome: RunSummaryView | None = None
    anew: bool = False


class ActiveRun(Protocol):
    """A run that this process executes, or a replay. `view`: the plan, None if no node is drained or the plan is not
    known any more; `speed`: its seconds per real second."""

    @property
    def run(self) -> str: ...

    @property
    def kind(self) -> RunKind: ...

    @property
    def aims(self) -> tuple[PlannedNode, ...]: ...

    @property
    def view(self) -> DrainView | None: ...

    @property
    def began_at(self) -> datetime: ...

    @property
    def speed(self) -> float: ...

    def look(self) -> RunUpdate: ...

    def wish(self, wish: RunWish) -> None: ...

    def leave_alone(self, node: str) -> None:
        """Leave one node of this run alone; the others continue."""
        ...


@frozen
class PreparedRun:
    """A run that was read and checked and can be started: `cluster_name`, and its `nodes`. `confirmations`: the texts
    that must be typed, one after the other; `notes`: remarks for the user. `view`: the plan, None if no node is
    drained. `limits` of its guards. `start` starts it."""

    kind: RunKind
    name: str
    nodes: tuple[str, ...]
    typed: tuple[str, ...]
    begin: Callable[[], ActiveRun]
    notes: tuple[str, ...] = ()
    view: DrainView | None = None
    run: str = ""
    limits: RunLimits | None = None


class ScreenRunController(Protocol):
    """Every method may take long, and may raise EksdocError: then nothing was done."""

    def prepare(self, targeting: Targeting, policy: DrainPolicy, shown: DrainView) -> PreparedRun:
        """Raises: Drifted: the cluster differs from the one of the plan that was shown."""
        ...

    def prepare_going_on(self, run: str) -> PreparedRun: ...

    def prepare_giving_back(self, run: str) -> PreparedRun: ...

    def try_first(self, shown: DrainView) -> DryRunResult:
        """Send the first round of this plan as a server-side dry run; nothing is changed."""
        ...

    def runs(self) -> Sequence[RunSummary]:
        """Runs that can be resumed or rolled back, the latest first: all except those that were rolled back."""
        ...

    @property
    def live(self) -> ActiveRun | None:
        """The active run of this process, or the last one."""
        ...
