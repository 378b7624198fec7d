"""What is left of a run, planned for the cluster as it is, and carried out. Who shows it and asks for what must be
typed is somebody else: the command, or the screens.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

from kubectl_eksdoc.cli import exits, opening
from kubectl_eksdoc.cli.run.allowed import check_allowed
from kubectl_eksdoc.cli.run.carrying import RunAnnotations, RunInvocation
from kubectl_eksdoc.cli.run.face import RunOutput
from kubectl_eksdoc.cli.run.new_run import COMMAND as NEW_RUN_COMMAND
from kubectl_eksdoc.cli.run.new_run import NewRun, PlannedRead, RecordedRunOptions, asked_again, check_others
from kubectl_eksdoc.cli.run.request import RunRequest
from kubectl_eksdoc.cli.surroundings import CommandAnswer, CommandContext
from kubectl_eksdoc.drain.comparison.changes import promise_of
from kubectl_eksdoc.drain.run.account import GoOn, RunOver, again
from kubectl_eksdoc.drain.run.journal import Journaled, replay
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.errors import (
    JournalError,
    JournalGone,
    LocalJournalError,
    LockLost,
    Unreachable,
    UsageError,
)
from kubectl_eksdoc.flows.ports import RunStore
from kubectl_eksdoc.flows.run.draining import DrainRunEnd
from kubectl_eksdoc.flows.run.running import ResumedIntent, go_on, rest_of
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.journal import DONE, TOLD_TO_END, is_run_id
from kubectl_eksdoc.session.sources import Progress
from kubectl_eksdoc.wiring.runs import Hooks

COMMAND = "drain resume"

WAIT_S = 5.0
"""So long another one's lock is waited for: somebody who has just ended may still have it."""


@frozen
class RemainingPlan(PlannedRead):
    """What is left of a run, planned for the cluster as it is. `finished`: its end is written, and no node is protected
    by it any more."""

    asked: RecordedRunOptions
    shown: int
    finished: bool

    @staticmethod
    def of(
        run: str,
        journaled: Journaled,
        request: RunRequest,
        around: CommandContext,
        given: Mapping[str, Any] = MappingProxyType({}),
        progress: Progress | None = None,
    ) -> RemainingPlan:
        """
        Raises:
            UsageError: nobody can go on with it.
        """
        asked = asked_of(run, journaled)
        cluster = request.reader(around, replace(asked.limits, **given), progress).read(kinds.ALL)
        plan = rest_of(cluster, journaled, asked.policy)
        finished = journaled.ended == DONE and not journaled.protected
        return RemainingPlan(cluster, plan, asked, journaled.next_number, finished)

    def meant(self) -> ResumedIntent:
        """Once what is deleted past its budget was typed back."""
        typed = frozenset(eviction.pod.uid for eviction in self.plan.past_budgets)
        return ResumedIntent(self.asked.policy, typed, self.shown, promise_of(self.plan))

    def limits(self, given: Mapping[str, Any]) -> RunLimits:
        """As the run was begun, but for what is said now."""
        return replace(self.asked.limits, **given)

    def hooks(self, given: Hooks, without: bool = False) -> Hooks:
        """
        Raises:
            UsageError: the run was begun with commands that are neither given again nor waived. They are not taken from
                the journal: whoever may write a ConfigMap must not run commands here.
        """
        missing = sorted(self.asked.hooks.commands.keys() - given.commands.keys())
        if missing and not without:
            lost = "; ".join(f"--hook-{when} {shlex.quote(self.asked.hooks.commands[when])}" for when in missing)
            raise UsageError(
                f"the run was begun with hooks that would not be asked any more: {lost}",
                "Give them again, or say --without-hooks.",
            )
        return given

    def check(self, run: str, request: RunRequest, around: CommandContext) -> None:
        """
        Raises:
            Locked: another run has to do with its nodes.
            Forbidden: rights are missing; it names all of them.
        """
        RunAnnotations(request, around).check(run)(self.cluster, self.plan)
        check_allowed(COMMAND, request.options.connection, request.namespace, around, self.plan)


def asked_of(run: str, journaled: Journaled) -> RecordedRunOptions:
    """What it was begun for.

    Raises:
        UsageError: nobody can go on with it.
    """

    if journaled.rolled_back:
        raise UsageError(f"run {run} was rolled back: there is nothing to resume", "Begin a new run.")
    if journaled.begun is None:
        hint = "Begin a new run; what this one did to nodes is taken back by: kubectl eksdoc drain rollback " + run
        raise UsageError(f"the journal of run {run} does not say how it began, so it cannot be resumed", hint)
    return asked_again(journaled.begun.asked, f"run {run}")


def gone_on(
    rest: RemainingPlan, request: RunRequest, carrying: RunInvocation, around: CommandContext
) -> tuple[Cluster, DrainRunEnd]:
    """From here on things are changed.

    Raises:
        as `RunInvocation.open` and `go_on`.
    """
    run = carrying.keeping.run
    with carrying.open(WAIT_S) as world:
        reader = request.reader(around, carrying.limits)
        check = RunAnnotations(request, around).check(run)
        return go_on(run, reader, rest.meant(), carrying.running(world, check))


# ``drain run --run-id RUN``: begin a run under an id that somebody else has chosen, or go on with it by itself.
#
# So the same command line can be started again and again, as a Job's pods are: it begins once, and takes up what is
# left whenever its process has gone. Who told the process to end did not decide that the run ends.


FLAG = "--run-id"

TAKES_S = 90.0
"""So long the lock of a process that was killed is waited for: longer than it is held."""


def check_id(run: str) -> str:
    """
    Raises:
        UsageError: it is no id of a run.
    """
    if not is_run_id(run):
        raise UsageError(f"{run[:80]!r} is no id of a run", f"{FLAG} takes letters a-z, digits and hyphens, up to 40.")
    return run


def gone_on_with(wanted: NewRun, run: str, around: CommandContext) -> CommandAnswer | None:
    """What came of the rest of it; None: there is no such run, so it is to be begun.

    Raises:
        as `drain resume`, but for what is typed, and as `started_again`.
    """
    with opening.explaining(NEW_RUN_COMMAND), started_again():
        return _gone_on_with(wanted, run, around)


def _gone_on_with(wanted: NewRun, run: str, around: CommandContext) -> CommandAnswer | None:

    carrying = carrying_on(wanted, run, around, resumed=True)
    runs = around.edges.open_runs(wanted.plan.options.connection, carrying.keeping)
    found = _found(runs, run)
    if found is None:
        return None
    ahead, stands = found
    if isinstance(ahead, RunOver):
        return _over(run, ahead, around)
    around.note(f"run {run} exists already: it is resumed")
    asked = asked_of(run, stands)
    with carrying.answering(), carrying.open(TAKES_S) as world:
        ahead, _ = _found(runs, run) or (ahead, stands)  # somebody may have asked for something meanwhile
        if isinstance(ahead, RunOver):
            return _over(run, ahead, around)
        carrying.asked_before = (ahead.wanted, ahead.who)
        reader = RunRequest(wanted.plan.options, wanted.namespace).reader(around, wanted.limits)
        running = carrying.running(world, check_others(wanted, around, run))
        cluster, ended = go_on(run, reader, ResumedIntent(asked.policy), running)
    return by_itself(carrying.answer(cluster, ended), ended)


@contextmanager
def started_again() -> Iterator[None]:
    """What nobody decided about the run does not end it: whoever started the process is to start it again.

    Raises:
        Unreachable: the journal could not be read or written just now.
        KeyboardInterrupt: told to end while nobody knew whose the lock was.
    """
    try:
        yield
    except (JournalGone, LocalJournalError):
        raise
    except JournalError as error:
        raise Unreachable(error.message, error.hint) from error
    except LockLost as error:
        if error.message.startswith(TOLD_TO_END):
            raise KeyboardInterrupt from error
        raise


def carrying_on(wanted: NewRun, run: str, around: CommandContext, resumed: bool = False) -> RunInvocation:
    """A run of this id that knows a process which is told to end from a run that is."""
    options = wanted.plan.options
    keeping = around.edges.keeping(run, wanted.namespace, around.environ)
    face = partial(RunOutput, around, options, run, because=TOLD_TO_END)
    given = {"run": run} if resumed else wanted.plan.given
    return RunInvocation(NEW_RUN_COMMAND, around, options, keeping, wanted.hooks, given, wanted.limits, resumed, face)


def by_itself(answer: CommandAnswer, ended: DrainRunEnd) -> CommandAnswer:
    """With the exit code of a process that was interrupted where that is all: whoever started it starts it again."""
    return replace(answer, exit_code=exits.INTERRUPTED) if ended.stopped == TOLD_TO_END else answer


def _found(runs: RunStore, run: str) -> tuple[GoOn | RunOver, Journaled] | None:

    there = next((each for each in runs.all() if each.run == run), None)
    if there is None:
        return None
    entries = runs.entries(run)
    stands = replay(entries)
    return again(there, entries, stands), stands


def _over(run: str, how: RunOver, around: CommandContext) -> CommandAnswer:
    around.note(f"run {run} has ended already: {how.why}")
    if how.whole:
        return CommandAnswer("", exits.CLEAN)
    around.note("it does not continue automatically; drain resume continues it, drain rollback uncordons the nodes")
    return CommandAnswer("", exits.STOPPED)
