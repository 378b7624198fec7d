"""Protocols between the screens and the controller of runs: runs belong to the process, not to a screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.report.text import Tone

from ..run.history import PlannedNode
from ..run.loop import RunRequest
from ..run.progress import RunProgress

if TYPE_CHECKING:
    from kubectl_eksdoc.model.journal import RunSummary

    from ..policy import DrainPolicy, Targeting
    from ..report.plan import DrainView
    from ..report.run import RunReport
    from ..run.events import DrainEvent
    from ..run.limits import RunLimits
    from ..run.runner import DryRunResult


class RunKind(Enum):
    """What a run does; the value is used in sentences after ``to``, followed by a number of nodes."""

    DRAIN = "drain"
    RESUME = "go on draining"
    ROLLBACK = "give back"


@frozen
class RunSummaryView:
    """The outcome of a run: `summary` in a sentence, `details` line by line. `report`: of a drain that ended or was
    stopped; `has_failed`: it is not the requested outcome; `needs_check`: the result must be verified; `events_file`:
    the file with recorded events, "" if there is none."""

    summary: str
    details: tuple[str, ...] = ()
    report: RunReport | None = None
    has_failed: bool = False
    needs_check: bool = False
    events_file: str = ""

    @property
    def symbol(self) -> tuple[str, Tone]:
        """The symbol and tone of the outcome."""
        if self.has_failed:
            return "✗", Tone.BAD
        return ("!", Tone.WARN) if self.needs_check else ("✓", Tone.GOOD)


class RunUpdate(NamedTuple):
    """Changes since the last call. `progress`: the latest progress, None before the first; `outcome`: None until the
    run has ended. `restarted`: `events` are all events from the start, and earlier ones do not count."""

    events: Sequence[DrainEvent] = ()
    progress: RunProgress | None = None
    outcome: RunSummaryView | None = None
    restarted: bool = False


class ActiveRun(Protocol):
    """A run that this process executes, or a replay. `view`: the plan, None if no node is drained or the plan is not
    known any more; `speed`: its seconds per real second."""

    @property
    def run(self) -> str: ...

    @property
    def kind(self) -> RunKind: ...

    @property
    def planned_nodes(self) -> tuple[PlannedNode, ...]: ...

    @property
    def view(self) -> DrainView | None: ...

    @property
    def started_at(self) -> datetime: ...

    @property
    def speed(self) -> float: ...

    def take_update(self) -> RunUpdate: ...

    def submit(self, request: RunRequest) -> None: ...

    def leave_alone(self, node: str) -> None:
        """Leave one node of this run alone; the others continue."""
        ...


@frozen
class PreparedRun:
    """A run that was read and checked and can be started: `cluster_name`, and its `nodes`. `confirmations`: the texts
    that must be typed, one after the other; `notes`: remarks for the user. `view`: the plan, None if no node is
    drained. `limits` of its guards. `start` starts it."""

    kind: RunKind
    cluster_name: str
    nodes: tuple[str, ...]
    confirmations: tuple[str, ...]
    start: Callable[[], ActiveRun]
    notes: tuple[str, ...] = ()
    view: DrainView | None = None
    run: str = ""
    limits: RunLimits | None = None


class ScreenRunController(Protocol):
    """Every method may take long, and may raise EksdocError: then nothing was done."""

    def prepare(self, targeting: Targeting, policy: DrainPolicy, view: DrainView) -> PreparedRun:
        """Raises: Drifted: the cluster differs from the one of the plan that was shown."""
        ...

    def prepare_resume(self, run: str) -> PreparedRun: ...

    def prepare_rollback(self, run: str) -> PreparedRun: ...

    def dry_run_first_round(self, view: DrainView) -> DryRunResult:
        """Send the first round of this plan as a server-side dry run; nothing is changed."""
        ...

    def runs(self) -> Sequence[RunSummary]:
        """Runs that can be resumed or rolled back, the latest first: all except those that were rolled back."""
        ...

    @property
    def live(self) -> ActiveRun | None:
        """The active run of this process, or the last one."""
        ...
