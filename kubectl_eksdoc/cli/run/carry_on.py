"""``drain run --carry-on RUN``: begin a run under an id that somebody else has chosen, or go on with it by itself.

So the same command line can be started again and again, as a Job's pods are: it begins once, and takes up what is left
whenever its process has gone. Who told the process to end did not decide that the run ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import exits, rights
from kubectl_eksdoc.cli.run import options as run_options
from kubectl_eksdoc.cli.run.carrying import Carrying
from kubectl_eksdoc.cli.run.new_run import COMMAND, NewRun, check_others
from kubectl_eksdoc.cli.run.rest import asked_of
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.core.model.journal import TOLD_TO_END, is_run_id
from kubectl_eksdoc.errors import (
    Forbidden,
    JournalError,
    JournalGone,
    LocalJournalError,
    LockLost,
    Unreachable,
    UsageError,
)
from kubectl_eksdoc.wiring.sources import SourceChoice

if TYPE_CHECKING:  # help must not pay for facts and plans
    from kubectl_eksdoc.core.run.again import GoOn, Over
    from kubectl_eksdoc.core.run.journal import Journaled
    from kubectl_eksdoc.flows.ports import Runs
    from kubectl_eksdoc.flows.run.draining import Ended

FLAG = "--carry-on"

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


def gone_on_with(wanted: NewRun, run: str, around: Surroundings) -> Answer | None:
    """What came of the rest of it; None: there is no such run, so it is to be begun.

    Raises:
        as `drain resume`, but for what is typed, and as `started_again`.
    """
    try:
        with started_again():
            return _gone_on_with(wanted, run, around)
    except Forbidden as error:
        raise rights.explained(error, COMMAND) from error


def _gone_on_with(wanted: NewRun, run: str, around: Surroundings) -> Answer | None:
    from kubectl_eksdoc.core.run.again import Over
    from kubectl_eksdoc.flows.run.running import Meant, go_on

    carrying = carrying_on(wanted, run, around)
    runs = around.edges.open_runs(wanted.plan.options.connection, carrying.keeping)
    found = _found(runs, run)
    if found is None:
        return None
    ahead, stands = found
    if isinstance(ahead, Over):
        return _over(run, ahead, around)
    around.note(f"run {run} is there already: it goes on")
    asked = asked_of(run, stands)
    with carrying.open(TAKES_S) as world:
        ahead, _ = _found(runs, run) or (ahead, stands)  # somebody may have asked for something meanwhile
        if isinstance(ahead, Over):
            return _over(run, ahead, around)
        carrying.asked_before = (ahead.wanted, ahead.who)
        waiting = run_options.waiting(wanted.limits, around)
        reader = around.open_reader(SourceChoice(), wanted.plan.options.connection, None, waiting)
        running = carrying.running(world, wanted.limits, check_others(wanted, around, run))
        cluster, ended = go_on(run, reader, Meant(asked.policy), running)
    return by_itself(carrying.answer(cluster, ended, {"run": run}, wanted.limits, resumed=True), ended)


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


def carrying_on(wanted: NewRun, run: str, around: Surroundings) -> Carrying:
    """A run of this id that knows a process which is told to end from a run that is."""
    from kubectl_eksdoc.cli.run.face import Face

    options = wanted.plan.options
    keeping = around.edges.keeping(run, wanted.namespace, around.environ)
    face = partial(Face, around, options, run, because=TOLD_TO_END)
    return Carrying(COMMAND, around, options, keeping, wanted.hooks, face)


def by_itself(answer: Answer, ended: Ended) -> Answer:
    """With the exit code of a process that was interrupted where that is all: whoever started it starts it again."""
    return replace(answer, exit_code=exits.INTERRUPTED) if ended.stopped == TOLD_TO_END else answer


def _found(runs: Runs, run: str) -> tuple[GoOn | Over, Journaled] | None:
    from kubectl_eksdoc.core.run.again import again
    from kubectl_eksdoc.core.run.journal import replay

    there = next((each for each in runs.all() if each.run == run), None)
    if there is None:
        return None
    entries = runs.entries(run)
    stands = replay(entries)
    return again(there, entries, stands), stands


def _over(run: str, how: Over, around: Surroundings) -> Answer:
    around.note(f"run {run} has ended already: {how.why}")
    if how.whole:
        return Answer("", exits.CLEAN)
    around.note("it does not go on by itself; drain resume goes on, drain rollback takes the cordons back")
    return Answer("", exits.STOPPED)
