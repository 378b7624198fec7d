"""What the screens need of whoever begins and carries out runs. Runs belong to the process: a screen only looks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kubectl_eksdoc.render.look import Tone

if TYPE_CHECKING:  # the first paint must not pay for facts and plans
    from kubectl_eksdoc.core.model.journal import RunSummary
    from kubectl_eksdoc.core.plan.drain.policy import DrainPolicy, Targeting
    from kubectl_eksdoc.core.run.chronicle import Aimed
    from kubectl_eksdoc.core.run.moments import Moment
    from kubectl_eksdoc.core.run.standing import Standing
    from kubectl_eksdoc.flows.run.draining import Wish
    from kubectl_eksdoc.flows.run.trying import Tried
    from kubectl_eksdoc.render.drain.view import DrainView
    from kubectl_eksdoc.render.run.view import RunView


class Kind(Enum):
    """What a run does; the value says it after ``to``, with a number of nodes behind it."""

    DRAIN = "drain"
    GO_ON = "go on draining"
    GIVE_BACK = "give back"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it: `said` in a sentence, `more` line by line. `view`: of a drain that came to its end or was
    stopped; `bad`: it is not what was wanted; `doubt`: whether all is well must still be seen."""

    said: str
    more: tuple[str, ...] = ()
    view: RunView | None = None
    bad: bool = False
    doubt: bool = False

    @property
    def sign(self) -> tuple[str, Tone]:
        """Wherever it is told."""
        if self.bad:
            return "✗", Tone.BAD
        return ("!", Tone.WARN) if self.doubt else ("✓", Tone.GOOD)


class Update(NamedTuple):
    """What is new since it was looked at last. `standing` is the latest one, None before the first; `outcome` is None
    until it is over. `anew`: `moments` are all from the begin on, and those of before do not count."""

    moments: Sequence[Moment] = ()
    standing: Standing | None = None
    outcome: Outcome | None = None
    anew: bool = False


class Live(Protocol):
    """A run that this process carries out, or one that is shown again. `view`: the plan, None where nothing is drained
    or it is not known any more; `speed`: so many of its seconds pass in one of ours."""

    @property
    def run(self) -> str: ...

    @property
    def kind(self) -> Kind: ...

    @property
    def aims(self) -> tuple[Aimed, ...]: ...

    @property
    def view(self) -> DrainView | None: ...

    @property
    def began_at(self) -> datetime: ...

    @property
    def speed(self) -> float: ...

    def look(self) -> Update: ...

    def wish(self, wish: Wish) -> None: ...

    def leave_alone(self, node: str) -> None:
        """Of this run; the others go on."""
        ...


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is about to be done, read afresh and checked: `name` of the cluster, so many `nodes`. `typed`: what must be
    typed for it, one after the other; `notes` say what was noticed. `view`: the plan, None where nothing is drained.
    `begin` does it."""

    kind: Kind
    name: str
    nodes: tuple[str, ...]
    typed: tuple[str, ...]
    begin: Callable[[], Live]
    notes: tuple[str, ...] = ()
    view: DrainView | None = None
    run: str = ""


class Desk(Protocol):
    """All may take long, and may raise EksdocError: then nothing was done."""

    def prepare(self, targeting: Targeting, policy: DrainPolicy, shown: DrainView) -> Prepared:
        """Raises: Drifted: the cluster is not any more what the plan was `shown` of."""
        ...

    def prepare_going_on(self, run: str) -> Prepared: ...

    def prepare_giving_back(self, run: str) -> Prepared: ...

    def try_first(self, shown: DrainView) -> Tried:
        """What the server says of the first round of this plan; nothing is changed."""
        ...

    def runs(self) -> Sequence[RunSummary]:
        """Those that somebody may go on with or give back, the latest first: all but what was given back already."""
        ...

    @property
    def live(self) -> Live | None:
        """The run of this process that is under way, or was the last one."""
        ...
