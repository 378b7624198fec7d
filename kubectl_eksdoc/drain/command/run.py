"""``drain run`` and ``drain resume``: show the plan, ask for the typed confirmation, and drain."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence

from kubectl_eksdoc.baseline.side import SameClusterAnswer, kinship
from kubectl_eksdoc.cli import opening, options, streams
from kubectl_eksdoc.cli import options as shared_options
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import check_source_live, check_writable
from kubectl_eksdoc.cli.streams import ProgressLine, say
from kubectl_eksdoc.errors import Drifted, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.in_cluster import command as in_cluster
from kubectl_eksdoc.in_cluster.command import InClusterOptions
from kubectl_eksdoc.model.baseline import Baseline
from kubectl_eksdoc.model.journal import RunPhase
from kubectl_eksdoc.report.result import plain
from kubectl_eksdoc.wiring.runs import Hooks, open_trial

from ..plan_changes import check_drift
from ..policy import DrainPolicy
from ..report.formats import DrainReport
from ..report.run import RunReport
from ..report.verdict import confirmation
from ..run.journal import replay
from ..run.limits import RunLimits
from ..run.runner import try_first
from ..run.stall_timeouts import soak_of
from . import in_cluster as inside
from . import options as run_options
from . import plan as drain
from . import run_controller as desk
from .invocation import (
    RunAnnotations,
    RunInvocation,
    RunRequest,
    check_allowed,
    chosen,
    reached_by,
)
from .new_run import (
    COMMAND,
    PLAN_AGAIN,
    NewRun,
    PlannedRead,
    carried_out,
    check_others,
    of_saved,
    read_and_plan,
)
from .plan import PlanRequest, exit_code, tell
from .run_controller import RemainingPlan, gone_on
from .status import asked


def show_in_short(view: DrainReport, limits: RunLimits, reached_by: Sequence[str], around: CommandContext) -> None:
    """Print the summary directly above the prompt, because the page may have scrolled away. It is not part of the
    answer, so it goes to stderr; `target_arguments`: the arguments that select the cluster and the journal."""
    look = opening.decide(around, around.stderr)
    rollback = shlex.join(["kubectl", "eksdoc", "drain", "rollback", *reached_by])
    say(around.stderr, confirmation(view, look, run_options.guards(limits), rollback))


_PROVES_LITTLE = (
    "a dry run evicts nothing, so it does not show how budgets, replacements and the scheduler react: "
    "kubectl eksdoc rehearse tries that on a simulated cluster"
)


@frozen
class _Request:
    """`saved`: the plan that was read with --plan, None without one; `dry_run`: ``client``, ``server`` or ""; `run_id`:
    the id of a run to start or resume, "" for a new one; `job_options`: options of a run in the cluster."""

    wanted: NewRun
    given: options.ConfirmationFlags
    dry: str
    saved: Baseline | None = None
    carried: str = ""
    inside: InClusterOptions | None = None


def run_drain(args: argparse.Namespace, around: CommandContext) -> CommandAnswer:
    """Drain, and return the result in the requested format; events are printed before.

    Raises:
        EksdocError: the command line, the cluster or the run is at fault; the error says which.
    """
    request = _request(args, around)
    wanted = request.wanted
    if request.inside is None:
        RunReport.check(around.options.output)
    changes = not request.dry and (request.inside is None or request.inside.apply)
    if changes:
        check_writable(around.environ, COMMAND)
    if request.carried and (answer := desk.gone_on_with(wanted, request.carried, around)) is not None:
        return answer
    if changes:
        options.check_answerable(request.given, around.check_terminal)
    with ProgressLine(around.stderr) as progress:
        read = read_and_plan(wanted, around, progress)
    opening.identify(read.cluster, around)
    tell(
        (*wanted.plan.notes, *drain.idle(read.plan, wanted.plan.targeting, read.cluster.identity.server_version)),
        around,
    )
    if request.saved is not None:
        _check_saved(request.saved, read)
    words, soak = opening.words(around, read.cluster.identity.context), soak_of(read.plan, wanted.limits.soak_s)
    report = DrainReport(read.plan, read.cluster, wanted.plan.given, reached_by=words, soak=soak, preview=True)
    if request.inside is None and request.dry:
        text = opening.answered(report, around)
        refused = request.dry == "server" and _server_refuses(read, around)
        tell((_PROVES_LITTLE,), around)
        return CommandAnswer(text, streams.FAILS if refused else exit_code(read.plan))
    opening.show(report, around)
    if request.inside is not None:  # the Job gets the plan as -o json prints it
        document = plain(report.result())
        return inside.inside(wanted, read, document, request.given, request.inside, request.dry, around)
    check_others(wanted, around)(read.cluster, read.plan)
    if not read.nodes:
        around.note("nothing is drained: no node of the plan can be")
        return CommandAnswer("", exit_code(read.plan))
    check_allowed(COMMAND, wanted.namespace, around, read.plan)
    words = reached_by(around, wanted.namespace, read.cluster.identity.context)
    show_in_short(report, wanted.limits, words, around)
    options.confirm(read.cluster.identity, read.nodes, "drain", request.given, around.ask, read.past_budgets)
    return _carried_out(wanted, read, request.carried, around)


def _request(args: argparse.Namespace, around: CommandContext) -> _Request:
    """Return the request.

    Raises:
        UsageError: no nodes are named or selected, or options contradict each other.
    """
    check_source_live(around)
    saved = None
    if args.plan is not None:
        if not args.plan:
            raise UsageError("--plan needs the path of a plan that was saved with -o json")
        if not drain.targeting_from(args).empty:
            raise UsageError("--plan says which nodes: no others can be named or selected with it")
        if drain.policy_from(args) != DrainPolicy():
            raise UsageError("--plan says what may be done: flags of the plan do not go with it")

        saved = around.read_baseline(args.plan)
        plan = PlanRequest(*of_saved(saved.options, saved.file))
    else:
        plan = PlanRequest.from_args(args, around)
    dry = shared_options.dry_from(args)
    given, namespace = run_options.given_from(args), run_options.namespace_from(args)
    limits, hooks = run_options.limits_from(args), run_options.hooks_from(args)
    carried = "" if args.run_id is None else desk.check_id(args.run_id)
    if carried and dry:
        raise UsageError(f"{desk.FLAG} resumes a run, and a dry run does nothing", "Leave one of them out.")
    wanted = NewRun(plan, namespace, limits, hooks)
    how = in_cluster.from_args(args)
    if how is not None:
        if args.run_id is not None:
            raise UsageError(f"{in_cluster.IN_CLUSTER} chooses the run's id itself", f"Leave {desk.FLAG} out.")
        in_cluster.check_output(around.options.output)
        inside.check(wanted)
    return _Request(wanted, given, dry, saved, carried, how)


def _check_saved(saved: Baseline, read: PlannedRead) -> None:
    akin = kinship(saved, read.cluster)
    if akin.sameness is not SameClusterAnswer.SAME:
        what = "is of another cluster" if akin.sameness is SameClusterAnswer.OTHER else "may be of another cluster"
        raise Drifted(f"the plan {saved.file} {what}: {akin.why}", "Nothing was done. Plan for this cluster.")
    assert saved.promise is not None, "a saved plan has what it promises"
    check_drift(saved.promise, read.plan, f"the plan {saved.file} was saved", PLAN_AGAIN)


def _server_refuses(read: PlannedRead, around: CommandContext) -> bool:
    """Whether the server would refuse any request of the first round; all refusals are reported."""
    tried = try_first(read.plan, open_trial(around.connection))
    for each in tried.refused:
        around.note(f"the server would refuse {each.subject}: {each.why}")
    accepted = tried.asked - len(tried.refused)
    around.note(
        f"the server would do {accepted} of {tried.asked} cordons and first evictions, each asked for by itself"
    )
    return bool(tried.refused)


def _carried_out(wanted: NewRun, read: PlannedRead, carried: str, around: CommandContext) -> CommandAnswer:
    if carried:
        carrying = desk.carrying_on(wanted, carried, around)
        with desk.started_again(), carrying.answering():
            fresh, ended = carried_out(wanted, read, carrying, around)
        return desk.by_itself(carrying.answer(fresh.cluster, ended), ended)
    edges, plan = around.edges, wanted.plan
    keeping = edges.keeping(edges.new_run_id(around.now()), wanted.namespace, around.environ)
    carrying = RunInvocation(COMMAND, around, keeping, wanted.hooks, plan.given, wanted.limits)
    with carrying.answering():
        fresh, ended = carried_out(wanted, read, carrying, around)
    return carrying.answer(fresh.cluster, ended)


# ``drain resume``: resume a run on any machine.


def run_resume(args: argparse.Namespace, around: CommandContext) -> CommandAnswer:
    """Resume a run, and return the result of the rest.

    Raises:
        EksdocError: the command line, the cluster or the run is at fault; the error says which.
    """
    request, given = RunRequest.from_args(args, around), run_options.given_from(args)
    limits_given = run_options.limits_given(args)
    RunReport.check(around.options.output)
    check_writable(around.environ, desk.COMMAND)
    with opening.explaining(desk.COMMAND):
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
    opening.identify(rest.cluster, around)
    words, soak = (
        reached_by(around, request.namespace, rest.cluster.identity.context),
        soak_of(rest.plan, limits.soak_s),
    )
    view = DrainReport(rest.plan, rest.cluster, {}, reached_by=words, soak=soak, preview=True)
    opening.show(view, around)
    rest.check(run.run, request, around)
    show_in_short(view, limits, words, around)
    options.confirm(rest.cluster.identity, rest.nodes, "go on draining", given, around.ask, rest.past_budgets)
    here = request.keeping(around, run.run)
    hooks = rest.hooks(run_options.hooks_from(args), args.without_hooks)
    carrying = RunInvocation(desk.COMMAND, around, here, hooks, {"run": run.run}, limits, resumed=True)
    with carrying.answering():
        cluster, ended = gone_on(rest, request, carrying, around)
    return carrying.answer(cluster, ended)


def _finished(run: str, rest: RemainingPlan, request: RunRequest, around: CommandContext) -> CommandAnswer:
    """Release protected nodes and journal the end, if the leader ended before that. No node is drained, so no
    confirmation is typed."""

    if rest.finished:
        return CommandAnswer(f"nothing is left of run {run}: every node of it is done or gone\n")
    rest.check(run, request, around)
    here = request.keeping(around, run)
    carrying = RunInvocation(desk.COMMAND, around, here, Hooks(), {"run": run}, rest.limits({}), resumed=True)
    with carrying.answering():
        cluster, ended = gone_on(rest, request, carrying, around)
    answer = carrying.answer(cluster, ended)
    text = f"run {run} has ended: every node of it is done or gone\n" if ended.whole else answer.text
    pages = around.options.output in ("table", "wide")
    return CommandAnswer(text if pages else answer.text, streams.CLEAN if ended.whole else streams.STOPPED)


def _check_removed(request: RunRequest, around: CommandContext) -> None:
    """Check that the journal of the run exists in this namespace.

    Raises:
        UsageError: nodes have notes of the run, and its journal is gone, or in another namespace.
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
