"""Any change, from its first line in the journal to its result.

Every step is written down before it is sent, and read before it is sent again: a process that continues a change which
was cut off sends only what is still as it was.
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
"""Refusals that every other step would meet as well."""
_REFUSED = (*_OF_ALL, AwsRefused, AwsMissing, ClusterRefused, Drifted, Forbidden, Unauthorized)
"""Errors after which nothing was changed."""


class _Journal(Protocol):
    """Where a change writes down what it intends, before it is done, and the result."""

    def write(self, entry: Doc) -> None:
        """It is kept when it returns. Raises JournalError: it is not, or nobody knows."""
        ...


class _Clock(Protocol):
    def monotonic(self) -> float: ...

    def now(self) -> datetime: ...


@frozen
class World:
    """What every change needs. `told`: how often the process was told to end. `tell` hears what happens, a line each.
    `watch_s`: so long it is followed at most."""

    journal: _Journal
    clock: _Clock
    sleep: Callable[[float], object]
    told: Callable[[], int]
    tell: Callable[[str], object]
    watch_s: float

    def note(self, entry: Doc) -> None:
        """What has happened is told all the same where it cannot be written down."""
        try:
            self.journal.write(entry)
        except JournalError as error:
            self.tell(f"the journal lacks what came then: {error.message}")


@frozen
class Step:
    """`what` it changes, by the name that the journal uses. `now`: how it stands. `send` returns what the answer says.
    `apart`: where it is refused or no longer as it was, the others are sent all the same. `tried`: what the server is
    asked before it is written down. `unsure`: what to do where no answer came; `drifted`: where it is not as it was."""

    what: str
    now: Callable[[], Part]
    send: Callable[[], Doc]
    apart: bool = False
    tried: Callable[[], object] = lambda: None
    unsure: str = ""
    drifted: str = "Nothing was changed. Check again."


@dataclass(slots=True)
class Sent:
    """What was sent so far. Mutable. `asked`: the answers of this process by step, `refused`: why a step was not
    accepted. `left`: why nothing more was done though something is left, a clause."""

    past: Past = Past()
    asked: dict[str, Doc] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    began_s: float = 0.0
    seconds: float = 0.0
    left: str = ""

    def ours(self, step: str) -> bool:
        """This change has made it, or may have."""
        return step in self.asked or step in self.past.tried


class Result(Protocol):
    @property
    def whole(self) -> bool:
        """All of it was carried out."""
        ...

    @property
    def left(self) -> str:
        """Why it was followed no longer, a clause."""
        ...


R = TypeVar("R", bound=Result)


class Kind(Protocol[R]):
    """One change of one kind. Mutable: it keeps what was seen."""

    def steps(self, sent: Sent) -> Iterable[Step]:
        """In their order; a step is made when those before it were sent."""
        ...

    def over(self, sent: Sent) -> bool:
        """Look again; whether nothing more is to come. Raises AwsError: nothing can be asked, so no result is known."""
        return True

    def result(self, sent: Sent) -> R:
        """By what is read at last."""
        ...

    def kept(self, result: R) -> Doc:
        """What the journal has of it."""
        return {}


def carry_out(kind: Kind[R], begun: Doc, world: World) -> R:
    """`begun`: all that a later process needs to know of it.

    Raises:
        Stopped: it was told to stop before anything was sent.
        JournalError: it cannot be written down; nothing was sent.
        Drifted: it is not as it was; nothing was done.
        AwsError, ClusterError: it is refused, or no answer came; the error says which.
    """
    world.journal.write({"entry": "begun", **begun})
    if world.told():
        world.note({"entry": "refused", "why": "it was stopped"})
        raise Stopped("it was stopped before anything was requested", "Nothing was sent, and nothing was changed.")
    return go_on(kind, world)


def go_on(kind: Kind[R], world: World, past: Past = Past()) -> R:
    """With what was begun before. Raises: as `carry_out`."""
    sent = Sent(past, began_s=world.clock.monotonic())
    sent.left = _all_sent(kind, sent, world)
    sent.left = "; ".join(dict.fromkeys(filter(None, (sent.left, _followed(kind, sent, world)))))
    sent.seconds = world.clock.monotonic() - sent.began_s
    result = kind.result(sent)
    world.note({"entry": "ended", "left": result.left, "whole": result.whole, **kind.kept(result)})
    return result


def _all_sent(kind: Kind[R], sent: Sent, world: World) -> str:
    """Those that are as they were; why not all of them, a clause."""
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
    """Why nothing more is sent, a clause."""
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
    """Until nothing more is to come; else why it is followed no longer, a clause."""
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
    """Until it is checked again; else why it is not, a clause."""
    now = world.clock.monotonic()
    until = now + pause_s(now - began_s)
    while world.clock.monotonic() < until:
        if world.told():
            return "it was stopped"
        if world.clock.monotonic() - began_s >= world.watch_s:
            return f"it was watched for {world.watch_s:.0f} s, and has not ended"
        world.sleep(_SLICE_S)
    return ""
