"""``kubectl eksdoc drain resume``: go on with a run, wherever it was begun."""

from __future__ import annotations

import argparse

from kubectl_eksdoc.cli import confirming, exits, opening
from kubectl_eksdoc.cli.confirming import check_writable
from kubectl_eksdoc.cli.run import options as run_options
from kubectl_eksdoc.cli.run.carrying import RunAnnotations, RunInvocation, RunRequest, chosen, reached_by
from kubectl_eksdoc.cli.run.desk import COMMAND, RemainingPlan, gone_on
from kubectl_eksdoc.cli.run.drain import show_in_short
from kubectl_eksdoc.cli.run.status import asked
from kubectl_eksdoc.cli.streams import ProgressLine
from kubectl_eksdoc.cli.surroundings import CommandAnswer, CommandContext
from kubectl_eksdoc.drain.run.journal import replay
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.patience import soak_of
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.model.journal import RunPhase
from kubectl_eksdoc.render.drain.report import DrainReport
from kubectl_eksdoc.render.run.report import RunReport
from kubectl_eksdoc.wiring.runs import Hooks


def run_resume(args: argparse.Namespace, around: CommandContext) -> CommandAnswer:
    """What came of the rest of it.

    Raises:
        EksdocError: the command line, the cluster or the run is at fault; the error says which.
    """
    request, given = RunRequest.from_args(args, around), run_options.given_from(args)
    limits_given = run_options.limits_given(args)
    RunReport.check(around.options.output)
    check_writable(around.environ, COMMAND)
    with opening.explaining(COMMAND):
        runs = request.runs(around)
        listed = runs.all()
        unfinished = [each for each in listed if each.unfinished][:1]
        if not any(each.run == request.run for each in listed) and (request.run or not unfinished):
            _check_removed(request, around)
        run = chosen(listed, request.run, unfinished, "unfinished")
        if run.phase != RunPhase.ENDED.value and runs.lock().led:
            answer = asked(runs, run, RunPhase.RUNNING, request, around)
            if answer is not None:
                return answer
        with ProgressLine(around.stderr) as progress:
            rest = RemainingPlan.of(run.run, replay(runs.entries(run.run)), request, around, limits_given, progress)
    if not rest.plan.targets:
        return _finished(run.run, rest, request, around)
    limits = rest.limits(limits_given)
    view = _show(rest, request, limits, around)
    rest.check(run.run, request, around)
    show_in_short(view, limits, view.reached_by or (), around)
    confirming.confirm(rest.cluster.identity, rest.nodes, "go on draining", given, around.ask, rest.past_budgets)
    here = request.keeping(around, run.run)
    hooks = rest.hooks(run_options.hooks_from(args), args.without_hooks)
    carrying = RunInvocation(COMMAND, around, here, hooks, {"run": run.run}, limits, resumed=True)
    with carrying.answering():
        cluster, ended = gone_on(rest, request, carrying, around)
    return carrying.answer(cluster, ended)


def _finished(run: str, rest: RemainingPlan, request: RunRequest, around: CommandContext) -> CommandAnswer:
    """Release what it protects, and write its end, where its leader did not come to that. Nothing is drained by it, so
    that nothing is typed."""

    if rest.finished:
        return CommandAnswer(f"nothing is left of run {run}: every node of it is done or gone\n")
    rest.check(run, request, around)
    here = request.keeping(around, run)
    carrying = RunInvocation(COMMAND, around, here, Hooks(), {"run": run}, rest.limits({}), resumed=True)
    with carrying.answering():
        cluster, ended = gone_on(rest, request, carrying, around)
    answer = carrying.answer(cluster, ended)
    text = f"run {run} has ended: every node of it is done or gone\n" if ended.whole else answer.text
    pages = around.options.output in ("table", "wide")
    return CommandAnswer(text if pages else answer.text, exits.CLEAN if ended.whole else exits.STOPPED)


def _check_removed(request: RunRequest, around: CommandContext) -> None:
    """
    Raises:
        UsageError: nodes know the run that is meant, and its journal is gone, or in another namespace.
    """
    noted = RunAnnotations(request, around)
    for found in noted.found(request.nodes(around).nodes, request.run):
        if found.gone:
            raise UsageError(
                f"the journal of run {found.run} is gone: it is unknown what was requested, and what is left of it",
                f"Take back what it did to nodes, and begin a new one: {noted.command('rollback', found)}",
            )
        if request.run and found.namespace != request.namespace:
            raise noted.elsewhere(found, "resume")


def _show(rest: RemainingPlan, request: RunRequest, limits: RunLimits, around: CommandContext) -> DrainReport:

    opening.identify(rest.cluster, around)
    words = reached_by(around, request.namespace, rest.cluster.identity.context)
    soak = soak_of(rest.plan, limits.soak_s)
    report = DrainReport(rest.plan, rest.cluster, {}, reached_by=words, soak=soak, preview=True)
    opening.show(report, around)
    return report
