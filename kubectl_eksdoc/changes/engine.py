"""Engine of changes, from the first journal entry to the result.

Every step is journaled before it is sent, and checked before it is sent again: a process that continues an interrupted
change sends only steps whose target is unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol, TypeVar

from kubectl_eksdoc.amazon.group_updates import pause_s
from kubectl_eksdoc.errors import (
    AwsDenied,
    AwsError,
    AwsLogin,
    AwsMissing,
    AwsRefused,
    AwsThrottled,
    ClusterRefused,
    Drifted,
    EksdocError,
    Forbidden,
    JournalError,
    Stopped,
    Unauthorized,
)
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.change_journal import Became, Part, Past

_SLICE_S = 0.5
_OF_ALL = (AwsDenied, AwsLogin, AwsThrottled)
"""Refusals that every other step would get as well."""
_REFUSED = (*_OF_ALL, AwsRefused, AwsMissing, ClusterRefused, Drifted, Forbidden, Unauthorized)
"""Errors after which nothing was changed."""


class _Journal(Protocol):
    """The journal of a change: intents before they are sent, and results."""

    def write(self, entry: Doc) -> None:
        """Store an entry before it returns. Raises JournalError: it is not stored, or that is unknown."""
        ...


class _Clock(Protocol):
    def monotonic(self) -> float: ...

    def now(self) -> datetime: ...


@frozen
class World:
    """The outside of every change. `stop_count`: number of signals to end. `report` receives messages, one line each.
    `max_watch_s`: maximum time of the follow-up."""

    journal: _Journal
    clock: _Clock
    sleep: Callable[[float], object]
    told: Callable[[], int]
    tell: Callable[[str], object]
    watch_s: float

    def note(self, entry: Doc) -> None:
        """Write an entry; a failure is only reported, because the step has already happened."""
        try:
            self.journal.write(entry)
        except JournalError as error:
            self.tell(f"the journal lacks what came then: {error.message}")


@frozen
class Step:
    """`subject`: the changed object, by its name in the journal. `read_state`: its present state. `send` returns the
    response. `is_independent`: if it is refused or its target has changed, the other steps are sent all the same.
    `dry_run`: a dry run before it is journaled. `uncertain_hint`: what to do without a response; `drift_hint`: what to
    do if its target has changed."""

    what: str
    now: Callable[[], Part]
    send: Callable[[], Doc]
    apart: bool = False
    tried: Callable[[], object] = lambda: None
    unsure: str = ""
    drifted: str = "Nothing was changed. Check again."


@dataclass(slots=True)
class Sent:
    """The steps that were sent so far. Mutable. `responses`: responses in this process by step, `refusals`: why a step
    was not accepted. `incomplete_reason`: why the change is incomplete, a clause."""

    past: Past = Past()
    asked: dict[str, Doc] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    began_s: float = 0.0
    seconds: float = 0.0
    left: str = ""

    def ours(self, step: str) -> bool:
        """Whether this change has made the step, or may have."""
        return step in self.asked or step in self.past.tried


class Result(Protocol):
    @property
    def whole(self) -> bool:
        """Whether all of it was executed."""
        ...

    @property
    def left(self) -> str:
        """Why the follow-up ended early, a clause."""
        ...


R = TypeVar("R", bound=Result)


class Kind(Protocol[R]):
    """One change of one kind. Mutable: it keeps its observations."""

    def steps(self, sent: Sent) -> Iterable[Step]:
        """Yield the steps in order; a step is created when those before it were sent."""
        ...

    def over(self, sent: Sent) -> bool:
        """Check again whether the change has finished. Raises AwsError: AWS cannot be reached, so the result is
        unknown."""
        return True

    def result(self, sent: Sent) -> R:
        """Return the result by the last read."""
        ...

    def kept(self, result: R) -> Doc:
        """Return the journal's record of the result."""
        return {}


def carry_out(kind: Kind[R], begun: Doc, world: World) -> R:
    """Start and execute a change. `start_entry`: everything that a later process needs to know about it.

    Raises:
        Stopped: it was told to stop before anything was sent.
        JournalError: it cannot be journaled; nothing was sent.
        Drifted: its target has changed; nothing was done.
        AwsError, ClusterError: it was refused, or there was no response; the error says which.
    """
    world.journal.write({"entry": "begun", **begun})
    if world.told():
        world.note({"entry": "refused", "why": "it was stopped"})
        raise Stopped("it was stopped before anything was requested", "Nothing was sent, and nothing was changed.")
    return go_on(kind, world)


def go_on(kind: Kind[R], world: World, past: Past = Past()) -> R:
    """Execute the remaining steps, given those of an earlier process. Raises: as `start_change`."""
    sent = Sent(past, began_s=world.clock.monotonic())
    sent.left = _all_sent(kind, sent, world)
    sent.left = "; ".join(dict.fromkeys(filter(None, (sent.left, _followed(kind, sent, world)))))
    sent.seconds = world.clock.monotonic() - sent.began_s
    result = kind.result(sent)
    world.note({"entry": "ended", "left": result.left, "whole": result.whole, **kind.kept(result)})
    return result


def _all_sent(kind: Kind[R], sent: Sent, world: World) -> str:
    """Send the steps whose targets are unchanged; return why not all were sent, a clause."""
    for step in kind.steps(sent):
        part = step.now()
        if part.became is Became.AS_BEFORE and step.what in sent.past.taken:
            part = replace(part, became=Became.SET_BACK)
        if part.became is not Became.AS_BEFORE:
            if not step.apart and part.became in (Became.OTHER, Became.GONE, Became.UNKNOWN):
                world.note({"entry": "refused", "what": step.what, "why": str(part)})
                raise Drifted(f"{part}: it is not as it was when the change was shown", step.drifted)
            if part.became is Became.UNKNOWN:
                sent.refused[step.what] = f"it was not changed, as it could not be read: {part.why}"
            world.tell(f"{part}: it is left as it is")
            continue
        if world.told():
            return "it was stopped"
        left = _sent(step, sent, world)
        if left:
            return left
    return ""


def _sent(step: Step, sent: Sent, world: World) -> str:
    """Send one step; return why no more steps are sent, a clause."""
    step.tried()
    others = step.apart and bool(sent.asked)
    try:
        world.journal.write({"entry": "asking", "what": step.what})
    except JournalError as error:
        if not others:
            raise
        return f"the journal cannot be written: {error.message}"
    try:
        answer = step.send()
    except _REFUSED as error:
        world.note({"entry": "refused", "what": step.what, "why": error.message})
        if step.apart and not isinstance(error, _OF_ALL):
            sent.refused[step.what] = error.message
            world.tell(f"{step.what}: {error.message}")
            return ""
        if not others:
            raise
        return error.message
    except EksdocError as error:
        world.note({"entry": "in-doubt", "what": step.what, "why": error.message})
        if step.apart:
            sent.asked[step.what] = {}
            return error.message
        if not step.unsure:
            raise
        message = f"it is unknown whether the update has begun: {error.message}"
        raise AwsError(message, f"{step.unsure} {error.hint}") from error
    sent.asked[step.what] = answer
    world.note({"entry": "asked", "what": step.what, **answer})
    return ""


def _followed(kind: Kind[R], sent: Sent, world: World) -> str:
    """Wait until the change has finished; return why the follow-up ended early, a clause."""
    while True:
        try:
            if kind.over(sent):
                return ""
        except AwsError as error:
            world.tell(f"AWS does not answer: {error.message}")
            return f"the result is unknown: {error.message}"
        left = _waited(sent.began_s, world)
        if left:
            return left


def _waited(began_s: float, world: World) -> str:
    """Wait until the next check; return why there is none, a clause."""
    now = world.clock.monotonic()
    until = now + pause_s(now - began_s)
    while world.clock.monotonic() < until:
        if world.told():
            return "it was stopped"
        if world.clock.monotonic() - began_s >= world.watch_s:
            return f"it was watched for {world.watch_s:.0f} s, and has not ended"
        world.sleep(_SLICE_S)
    return ""
