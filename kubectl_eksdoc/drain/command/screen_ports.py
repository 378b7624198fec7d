"""A run as the screens are given it, and what they ask of whoever carries it out: runs belong to the process."""

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
    """What a run does; the value says it after ``to``, with a number of nodes behind it."""

    DRAIN = "drain"
    GO_ON = "go on draining"
    GIVE_BACK = "give back"


@frozen
class RunSummaryView:
    """What came of it: `said` in a sentence, `more` line by line. `view`: of a drain that came to its end or was
    stopped; `bad`: it is not what was wanted; `doubt`: whether all is well must still be seen;
    `events`: the file from which it is shown again, "" where nothing was kept."""

    said: str
    more: tuple[str, ...] = ()
    view: RunReport | None = None
    bad: bool = False
    doubt: bool = False
    events: str = ""

    @property
    def sign(self) -> tuple[str, Tone]:
        """Wherever it is told."""
        if self.bad:
            return "✗", Tone.BAD
        return ("!", Tone.WARN) if self.doubt else ("✓", Tone.GOOD)


class RunUpdate(NamedTuple):
    """What is new since it was looked at last. `standing` is the latest one, None before the first; `outcome` is None
    until it is over. `anew`: `moments` are all from the begin on, and those of before do not count."""

    moments: Sequence[RunMoment] = ()
    standing: RunProgress | None = None
    outcome: RunSummaryView | None = None
    anew: bool = False


class ActiveRun(Protocol):
    """A run that this process carries out, or one that is shown again. `view`: the plan, None where nothing is drained
    or it is not known any more; `speed`: so many of its seconds pass in one of ours."""

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
        """Of this run; the others go on."""
        ...


@frozen
class PreparedRun:
    """What is about to be done, read afresh and checked: `name` of the cluster, so many `nodes`. `typed`: what must be
    typed for it, one after the other; `notes` say what was noticed. `view`: the plan, None where nothing is drained.
    `limits` of its guards. `begin` does it."""

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
    """All may take long, and may raise EksdocError: then nothing was done."""

    def prepare(self, targeting: Targeting, policy: DrainPolicy, shown: DrainView) -> PreparedRun:
        """Raises: Drifted: the cluster is not any more what the plan was `shown` of."""
        ...

    def prepare_going_on(self, run: str) -> PreparedRun: ...

    def prepare_giving_back(self, run: str) -> PreparedRun: ...

    def try_first(self, shown: DrainView) -> DryRunResult:
        """What the server says of the first round of this plan; nothing is changed."""
        ...

    def runs(self) -> Sequence[RunSummary]:
        """Those that somebody may go on with or give back, the latest first: all but what was given back already."""
        ...

    @property
    def live(self) -> ActiveRun | None:
        """The run of this process that is under way, or was the last one."""
        ...
