"""Engine of changes, from the first journal entry to the result.

Every step is journaled before it is sent, and checked before it is sent again: a process that continues an interrupted
change sends only steps whose target is unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol, TypeVar

from kubectl_eksdoc.amazon.group_updates import poll_interval_s
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
from kubectl_eksdoc.model.change_journal import ChangePart, ChangeProgress, PartOutcome

_SLEEP_S = 0.5
_GENERAL_REFUSALS = (AwsDenied, AwsLogin, AwsThrottled)
"""Refusals that every other step would get as well."""
_REFUSED = (*_GENERAL_REFUSALS, AwsRefused, AwsMissing, ClusterRefused, Drifted, Forbidden, Unauthorized)
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
class ChangeEnvironment:
    """The outside of every change. `stop_count`: number of signals to end. `report` receives messages, one line each.
    `max_watch_s`: maximum time of the follow-up."""

    journal: _Journal
    clock: _Clock
    sleep: Callable[[float], object]
    stop_count: Callable[[], int]
    report: Callable[[str], object]
    max_watch_s: float

    def note(self, entry: Doc) -> None:
        """Write an entry; a failure is only reported, because the step has already happened."""
        try:
            self.journal.write(entry)
        except JournalError as error:
            self.report(f"the journal lacks what came then: {error.message}")


@frozen
class Step:
    """`subject`: the changed object, by its name in the journal. `read_state`: its present state. `send` returns the
    response. `is_independent`: if it is refused or its target has changed, the other steps are sent all the same.
    `dry_run`: a dry run before it is journaled. `uncertain_hint`: what to do without a response; `drift_hint`: what to
    do if its target has changed."""

    subject: str
    read_state: Callable[[], ChangePart]
    send: Callable[[], Doc]
    is_independent: bool = False
    dry_run: Callable[[], object] = lambda: None
    uncertain_hint: str = ""
    drift_hint: str = "Nothing was changed. Check again."


@dataclass(slots=True)
class SentSteps:
    """The steps that were sent so far. Mutable. `responses`: responses in this process by step, `refusals`: why a step
    was not accepted. `incomplete_reason`: why the change is incomplete, a clause."""

    past: ChangeProgress = ChangeProgress()
    responses: dict[str, Doc] = field(default_factory=dict)
    refusals: dict[str, str] = field(default_factory=dict)
    started_s: float = 0.0
    seconds: float = 0.0
    incomplete_reason: str = ""

    def may_have_made(self, step: str) -> bool:
        """Whether this change has made the step, or may have."""
        return step in self.responses or step in self.past.attempted


class ChangeResult(Protocol):
    @property
    def whole(self) -> bool:
        """Whether all of it was executed."""
        ...

    @property
    def left(self) -> str:
        """Why the follow-up ended early, a clause."""
        ...


R = TypeVar("R", bound=ChangeResult)


class ChangeKind(Protocol[R]):
    """One change of one kind. Mutable: it keeps its observations."""

    def steps(self, sent_steps: SentSteps) -> Iterable[Step]:
        """Yield the steps in order; a step is created when those before it were sent."""
        ...

    def has_finished(self, sent_steps: SentSteps) -> bool:
        """Check again whether the change has finished. Raises AwsError: AWS cannot be reached, so the result is
        unknown."""
        return True

    def result(self, sent_steps: SentSteps) -> R:
        """Return the result by the last read."""
        ...

    def journal_record(self, result: R) -> Doc:
        """Return the journal's record of the result."""
        return {}


def start_change(kind: ChangeKind[R], start_entry: Doc, environment: ChangeEnvironment) -> R:
    """Start and execute a change. `start_entry`: everything that a later process needs to know about it.

    Raises:
        Stopped: it was told to stop before anything was sent.
        JournalError: it cannot be journaled; nothing was sent.
        Drifted: its target has changed; nothing was done.
        AwsError, ClusterError: it was refused, or there was no response; the error says which.
    """
    environment.journal.write({"entry": "begun", **start_entry})
    if environment.stop_count():
        environment.note({"entry": "refused", "why": "it was stopped"})
        raise Stopped("it was stopped before anything was requested", "Nothing was sent, and nothing was changed.")
    return execute_change(kind, environment)


def execute_change(kind: ChangeKind[R], environment: ChangeEnvironment, past: ChangeProgress = ChangeProgress()) -> R:
    """Execute the remaining steps, given those of an earlier process. Raises: as `start_change`."""
    sent_steps = SentSteps(past, started_s=environment.clock.monotonic())
    sent_steps.incomplete_reason = _send_all(kind, sent_steps, environment)
    sent_steps.incomplete_reason = "; ".join(
        dict.fromkeys(filter(None, (sent_steps.incomplete_reason, _follow(kind, sent_steps, environment))))
    )
    sent_steps.seconds = environment.clock.monotonic() - sent_steps.started_s
    result = kind.result(sent_steps)
    environment.note({"entry": "ended", "left": result.left, "whole": result.whole, **kind.journal_record(result)})
    return result


def _send_all(kind: ChangeKind[R], sent_steps: SentSteps, environment: ChangeEnvironment) -> str:
    """Send the steps whose targets are unchanged; return why not all were sent, a clause."""
    for step in kind.steps(sent_steps):
        part = step.read_state()
        if part.became is PartOutcome.AS_BEFORE and step.subject in sent_steps.past.accepted:
            part = replace(part, became=PartOutcome.SET_BACK)
        if part.became is not PartOutcome.AS_BEFORE:
            if not step.is_independent and part.became in (PartOutcome.OTHER, PartOutcome.GONE, PartOutcome.UNKNOWN):
                environment.note({"entry": "refused", "what": step.subject, "why": str(part)})
                raise Drifted(f"{part}: it is not as it was when the change was shown", step.drift_hint)
            if part.became is PartOutcome.UNKNOWN:
                sent_steps.refusals[step.subject] = f"it was not changed, as it could not be read: {part.why}"
            environment.report(f"{part}: it is left as it is")
            continue
        if environment.stop_count():
            return "it was stopped"
        reason = _send(step, sent_steps, environment)
        if reason:
            return reason
    return ""


def _send(step: Step, sent_steps: SentSteps, environment: ChangeEnvironment) -> str:
    """Send one step; return why no more steps are sent, a clause."""
    step.dry_run()
    others_sent = step.is_independent and bool(sent_steps.responses)
    try:
        environment.journal.write({"entry": "asking", "what": step.subject})
    except JournalError as error:
        if not others_sent:
            raise
        return f"the journal cannot be written: {error.message}"
    try:
        response = step.send()
    except _REFUSED as error:
        environment.note({"entry": "refused", "what": step.subject, "why": error.message})
        if step.is_independent and not isinstance(error, _GENERAL_REFUSALS):
            sent_steps.refusals[step.subject] = error.message
            environment.report(f"{step.subject}: {error.message}")
            return ""
        if not others_sent:
            raise
        return error.message
    except EksdocError as error:
        environment.note({"entry": "in-doubt", "what": step.subject, "why": error.message})
        if step.is_independent:
            sent_steps.responses[step.subject] = {}
            return error.message
        if not step.uncertain_hint:
            raise
        message = f"it is unknown whether the update has begun: {error.message}"
        raise AwsError(message, f"{step.uncertain_hint} {error.hint}") from error
    sent_steps.responses[step.subject] = response
    environment.note({"entry": "asked", "what": step.subject, **response})
    return ""


def _follow(kind: ChangeKind[R], sent_steps: SentSteps, environment: ChangeEnvironment) -> str:
    """Wait until the change has finished; return why the follow-up ended early, a clause."""
    while True:
        try:
            if kind.has_finished(sent_steps):
                return ""
        except AwsError as error:
            environment.report(f"AWS does not answer: {error.message}")
            return f"the result is unknown: {error.message}"
        reason = _wait(sent_steps.started_s, environment)
        if reason:
            return reason


def _wait(started_s: float, environment: ChangeEnvironment) -> str:
    """Wait until the next check; return why there is none, a clause."""
    now = environment.clock.monotonic()
    until = now + poll_interval_s(now - started_s)
    while environment.clock.monotonic() < until:
        if environment.stop_count():
            return "it was stopped"
        if environment.clock.monotonic() - started_s >= environment.max_watch_s:
            return f"it was watched for {environment.max_watch_s:.0f} s, and has not ended"
        environment.sleep(_SLEEP_S)
    return ""
