"""``kubectl eksdoc drain resume``: go on with a run, wherever it was begun."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import look as looks
from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.cli.options import LEVELS, GlobalOptions
from kubectl_eksdoc.cli.parser import Parser
from kubectl_eksdoc.cli.progress import ProgressLine
from kubectl_eksdoc.cli.run import confirming
from kubectl_eksdoc.cli.run import options as run_options
from kubectl_eksdoc.cli.run.allowed import check_allowed
from kubectl_eksdoc.cli.run.asking import asked
from kubectl_eksdoc.cli.run.carrying import Carrying, reached_by
from kubectl_eksdoc.cli.run.noted import Noted
from kubectl_eksdoc.cli.run.request import RunRequest, chosen
from kubectl_eksdoc.cli.streams import say
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.core.model.journal import DONE, ROLLED_BACK, Phase, RunSummary
from kubectl_eksdoc.errors import Forbidden, UsageError
from kubectl_eksdoc.wiring.runs import Hooks
from kubectl_eksdoc.wiring.sources import SourceChoice

if TYPE_CHECKING:
    from kubectl_eksdoc.cli.run.again import Asked
    from kubectl_eksdoc.core.model.cluster import Cluster
    from kubectl_eksdoc.core.plan.drain.result import DrainPlan
    from kubectl_eksdoc.core.run.journal import Journaled
    from kubectl_eksdoc.core.run.limits import Limits
    from kubectl_eksdoc.flows.run.running import Meant

COMMAND = "drain resume"

_ABOUT = """\
Go on with a run that was paused, or whose machine has gone: what is left is planned anew for the cluster as it is,
shown, and drained once you have typed the cluster's name and the number of nodes, and the names of the pods that are
deleted past their budgets. Where somebody leads the paused run,
they are asked to go on instead.

Examples:
  %(prog)s
  %(prog)s 20261120-193005-4f2a
"""

_EXIT_CODES = """\
Exit codes: as of drain run.
Global flags: kubectl eksdoc options
"""

WAIT_S = 5.0
"""So long another one's lock is waited for: somebody who has just ended may still have it."""


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "resume",
        help="go on with a run, on any machine",
        usage="%(prog)s [RUN] [flags]",
        description=_ABOUT,
        epilog=_EXIT_CODES,
    )
    GlobalOptions.add_to(parser, level=LEVELS - 1)
    run_options.add_confirmation(parser)
    run_options.add_limits(parser)
    run_options.add_between_waves(parser)
    parser.add_argument(
        "--without-hooks", action="switch", default=False, help="go on without the hooks that it was begun with"
    )
    run_options.add_journal(parser)
    parser.set_defaults(leaf=parser, command=run_resume)


def run_resume(args: argparse.Namespace, words: Sequence[str], around: Surroundings) -> Answer:
    """What came of the rest of it.

    Raises:
        EksdocError: the command line, the cluster or the run is at fault; the error says which.
    """
    from kubectl_eksdoc.core.run.journal import replay
    from kubectl_eksdoc.flows.run.running import go_on
    from kubectl_eksdoc.render.run.formats import FORMATS

    request, given = RunRequest.from_args(args, words), run_options.given_from(args)
    FORMATS.check(request.options.output)
    confirming.check_writable(around.environ, COMMAND)
    keeping = around.edges.keeping("", request.namespace, around.environ)
    try:
        runs = around.edges.open_runs(request.options.connection, keeping)
        listed = runs.all()
        unfinished = [each for each in listed if _is_unfinished(each)][:1]
        if not any(each.run == request.run for each in listed) and (request.run or not unfinished):
            _check_removed(request, around)
        run = chosen(listed, request.run, unfinished, "unfinished")
        if run.phase != Phase.ENDED.value and runs.lock().led:
            answer = asked(runs, run, Phase.RUNNING, keeping, around)
            if answer is not None:
                return answer
        rest = _Rest.of(run.run, replay(runs.entries(run.run)), request, around)
    except Forbidden as error:
        raise rights.explained(error, COMMAND) from error
    if not rest.plan.targets:
        return Answer(f"nothing is left of run {run.run}: every node of it is done or gone\n")
    limits = rest.limits(args)
    rest.show(request, limits, around)
    check = Noted(request.options, request.namespace, around).check(run.run)
    check(rest.cluster, rest.plan)
    evicts_in = (each.pod.namespace for each in rest.plan.evictions)
    check_allowed(COMMAND, request.options.connection, request.namespace, evicts_in, around)
    past = rest.plan.past_budgets
    also = [eviction.pod.key for eviction in past]
    confirming.confirm(rest.cluster.identity, rest.nodes, "go on draining", given, around.ask, also)
    meant = rest.meant(frozenset(eviction.pod.uid for eviction in past))
    here = around.edges.keeping(run.run, request.namespace, around.environ)
    carrying = Carrying(COMMAND, around, request.options, here, rest.hooks(args))
    with carrying.open(WAIT_S) as world:
        reader = around.open_reader(SourceChoice(), request.options.connection, None)
        running = carrying.running(world, limits, check)
        cluster, ended = go_on(run.run, reader, meant, running)
    return carrying.answer(cluster, ended, {"run": run.run}, limits, resumed=True)


def _check_removed(request: RunRequest, around: Surroundings) -> None:
    """
    Raises:
        UsageError: nodes know the run that is meant, and its journal is gone, or in another namespace.
    """
    from kubectl_eksdoc.core.model import kinds

    noted = Noted(request.options, request.namespace, around)
    reader = around.open_reader(SourceChoice(), request.options.connection, None)
    for found in noted.found(reader.read((kinds.NODES,)).nodes, request.run):
        if found.gone:
            raise UsageError(
                f"the journal of run {found.run} is gone: nobody can tell what it was asked for, or what is left of it",
                f"Take back what it did to nodes, and begin a new one: {noted.command('rollback', found)}",
            )
        if request.run and found.namespace != request.namespace:
            raise noted.elsewhere(found, "resume")


def _is_unfinished(run: RunSummary) -> bool:
    return run.phase != Phase.ENDED.value or run.said not in (DONE, ROLLED_BACK)


@dataclass(frozen=True, slots=True)
class _Rest:
    """What is left of a run, planned for the cluster as it is."""

    cluster: Cluster
    plan: DrainPlan
    asked: Asked
    shown: int

    @staticmethod
    def of(run: str, journaled: Journaled, request: RunRequest, around: Surroundings) -> _Rest:
        """
        Raises:
            UsageError: nobody can go on with it.
        """
        from kubectl_eksdoc.cli.run.again import asked_again
        from kubectl_eksdoc.core.model import kinds
        from kubectl_eksdoc.flows.run.resuming import rest_of

        if journaled.rolled_back:
            raise UsageError(f"run {run} was rolled back: there is nothing to go on with", "Begin a new run.")
        if journaled.begun is None:
            hint = "Begin a new run; what this one did to nodes is taken back by: kubectl eksdoc drain rollback " + run
            raise UsageError(f"the journal of run {run} does not say how it began, so nobody can go on with it", hint)
        asked = asked_again(journaled.begun.asked, f"run {run}")
        with ProgressLine(around.stderr) as progress:
            cluster = around.open_reader(SourceChoice(), request.options.connection, progress).read(kinds.ALL)
        return _Rest(cluster, rest_of(cluster, journaled, asked.policy), asked, journaled.next_number)

    def meant(self, typed: frozenset[str]) -> Meant:
        from kubectl_eksdoc.core.plan.drain.comparison.drift import promise_of
        from kubectl_eksdoc.flows.run.running import Meant

        return Meant(self.asked.policy, typed, self.shown, promise_of(self.plan))

    def limits(self, args: argparse.Namespace) -> Limits:
        """As the run was begun, but for what is said now."""
        return run_options.limits_over(self.asked.limits, run_options.limits_from(args))

    def hooks(self, args: argparse.Namespace) -> Hooks:
        """
        Raises:
            UsageError: the run was begun with commands that are neither given again nor waived. They are not taken from
                the journal: whoever may write a ConfigMap must not run commands here.
        """
        given = run_options.hooks_from(args)
        missing = sorted(self.asked.hooks.commands.keys() - given.commands.keys())
        if missing and not args.without_hooks:
            lost = "; ".join(f"--hook-{when} {shlex.quote(self.asked.hooks.commands[when])}" for when in missing)
            raise UsageError(
                f"the run was begun with hooks that would not be asked any more: {lost}",
                "Give them again, or say --without-hooks.",
            )
        return given

    @property
    def nodes(self) -> int:
        return sum(target.order > 0 for target in self.plan.targets)

    def show(self, request: RunRequest, limits: Limits, around: Surroundings) -> None:
        from kubectl_eksdoc.core.run.baking import bake_of
        from kubectl_eksdoc.render.drain import DrainView
        from kubectl_eksdoc.render.drain.table import preview
        from kubectl_eksdoc.render.identity import identity_line

        look = looks.decide(request.options, around.stderr, around.environ)
        around.note(identity_line(self.cluster, around.now(), look))
        words = reached_by(request.options, request.namespace, self.cluster.identity.context)
        bake = bake_of(self.plan, limits.bake_s)
        view = DrainView(self.plan, self.cluster, {}, reached_by=words, bake=bake)
        say(around.stderr, f"{preview(view, look, request.options.output == 'wide')}\n")
