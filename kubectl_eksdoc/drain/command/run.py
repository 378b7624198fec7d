"""``drain run`` and ``drain resume``: show the plan, ask for the typed confirmation, and drain."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence

from kubectl_eksdoc.baseline.side import SameClusterAnswer, same_cluster
from kubectl_eksdoc.cli import answers, options, streams
from kubectl_eksdoc.cli import options as shared_options
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import check_source_live, check_writable
from kubectl_eksdoc.cli.streams import ProgressLine, write_note
from kubectl_eksdoc.errors import Drifted, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.in_cluster import command as in_cluster
from kubectl_eksdoc.in_cluster.command import InClusterOptions
from kubectl_eksdoc.model.baseline import Baseline
from kubectl_eksdoc.model.journal import RunPhase
from kubectl_eksdoc.report.result import to_json_types
from kubectl_eksdoc.wiring.runs import Hooks, open_trial

from ..plan_changes import check_drift
from ..policy import DrainPolicy
from ..report.formats import DrainReport
from ..report.run import RunReport
from ..report.verdict import confirmation_text
from ..run.journal import replay_journals
from ..run.limits import RunLimits
from ..run.runner import dry_run_first_round
from ..run.stall_timeouts import soak_time
from . import in_cluster as inside
from . import options as run_options
from . import plan as drain
from . import run_controller as desk
from .invocation import (
    RunAnnotations,
    RunInvocation,
    RunReference,
    check_permissions,
    select_run,
    target_arguments,
)
from .new_run import (
    COMMAND,
    PLAN_AGAIN,
    NewRun,
    PlannedCluster,
    check_other_runs,
    execute_run,
    read_and_plan,
    saved_plan_options,
)
from .plan import PlanRequest, exit_code, print_notes
from .run_controller import RemainingPlan, resume_run
from .status import request_phase


def show_summary(
    view: DrainReport, limits: RunLimits, target_arguments: Sequence[str], context: CommandContext
) -> None:
    """Print the summary directly above the prompt, because the page may have scrolled away. It is not part of the
    answer, so it goes to stderr; `target_arguments`: the arguments that select the cluster and the journal."""
    appearance = answers.appearance_for(context, context.stderr)
    rollback = shlex.join(["kubectl", "eksdoc", "drain", "rollback", *target_arguments])
    write_note(context.stderr, confirmation_text(view, appearance, run_options.guard_texts(limits), rollback))


_DRY_RUN_NOTE = (
    "a dry run evicts nothing, so it does not show how budgets, replacements and the scheduler react: "
    "kubectl eksdoc rehearse tries that on a simulated cluster"
)


@frozen
class _Request:
    """`saved`: the plan that was read with --plan, None without one; `dry_run`: ``client``, ``server`` or ""; `run_id`:
    the id of a run to start or resume, "" for a new one; `job_options`: options of a run in the cluster."""

    new_run: NewRun
    confirmation: options.ConfirmationFlags
    dry_run: str
    saved: Baseline | None = None
    run_id: str = ""
    job_options: InClusterOptions | None = None


def run_drain(args: argparse.Namespace, context: CommandContext) -> CommandAnswer:
    """Drain, and return the result in the requested format; events are printed before.

    Raises:
        EksdocError: the command line, the cluster or the run is at fault; the error says which.
    """
    request = _request(args, context)
    requested_run = request.new_run
    if request.job_options is None:
        RunReport.check_format(context.options.output)
    changes = not request.dry_run and (request.job_options is None or request.job_options.apply)
    if changes:
        check_writable(context.environ, COMMAND)
    if request.run_id and (resumed_answer := desk.resume_if_exists(requested_run, request.run_id, context)) is not None:
        return resumed_answer
    if changes:
        options.check_can_confirm(request.confirmation, context.check_terminal)
    with ProgressLine(context.stderr) as progress:
        read = read_and_plan(requested_run, context, progress)
    answers.note_cluster(read.cluster, context)
    print_notes(
        (
            *requested_run.plan_request.notes,
            *drain.ineffective_option_notes(
                read.plan, requested_run.plan_request.targeting, read.cluster.identity.server_version
            ),
        ),
        context,
    )
    if request.saved is not None:
        _check_saved(request.saved, read)
    arguments, soak = (
        answers.target_flags(context, read.cluster.identity.context),
        soak_time(read.plan, requested_run.limits.soak_s),
    )
    report = DrainReport(
        read.plan, read.cluster, requested_run.plan_request.options, connection_args=arguments, soak=soak, preview=True
    )
    if request.job_options is None and request.dry_run:
        text = answers.render_report(report, context)
        refused = request.dry_run == "server" and _has_server_refusals(read, context)
        print_notes((_DRY_RUN_NOTE,), context)
        return CommandAnswer(text, streams.FAILS if refused else exit_code(read.plan))
    answers.show_report(report, context)
    if request.job_options is not None:  # the Job gets the plan as -o json prints it
        document = to_json_types(report.result())
        return inside.create_job(
            requested_run, read, document, request.confirmation, request.job_options, request.dry_run, context
        )
    check_other_runs(requested_run, context)(read.cluster, read.plan)
    if not read.nodes:
        context.note("nothing is drained: no node of the plan can be")
        return CommandAnswer("", exit_code(read.plan))
    check_permissions(COMMAND, requested_run.namespace, context, read.plan)
    arguments = target_arguments(context, requested_run.namespace, read.cluster.identity.context)
    show_summary(report, requested_run.limits, arguments, context)
    options.confirm(read.cluster.identity, read.nodes, "drain", request.confirmation, context.prompt, read.past_budgets)
    return _execute(requested_run, read, request.run_id, context)


def _request(args: argparse.Namespace, context: CommandContext) -> _Request:
    """Return the request.

    Raises:
        UsageError: no nodes are named or selected, or options contradict each other.
    """
    check_source_live(context)
    saved = None
    if args.plan is not None:
        if not args.plan:
            raise UsageError("--plan needs the path of a plan that was saved with -o json")
        if not drain.targeting_from(args).is_empty:
            raise UsageError("--plan says which nodes: no others can be named or selected with it")
        if drain.policy_from(args) != DrainPolicy():
            raise UsageError("--plan says what may be done: flags of the plan do not go with it")

        saved = context.read_baseline(args.plan)
        plan = PlanRequest(*saved_plan_options(saved.options, saved.file))
    else:
        plan = PlanRequest.from_args(args, context)
    dry_run = shared_options.dry_run_from_args(args)
    confirmation, namespace = run_options.confirmation_from(args), run_options.namespace_from(args)
    limits, hooks = run_options.limits_from(args), run_options.hooks_from(args)
    run_id = "" if args.run_id is None else desk.check_run_id(args.run_id)
    if run_id and dry_run:
        raise UsageError(f"{desk.RUN_ID_FLAG} resumes a run, and a dry run does nothing", "Leave one of them out.")
    requested_run = NewRun(plan, namespace, limits, hooks)
    job_options = in_cluster.from_args(args)
    if job_options is not None:
        if args.run_id is not None:
            raise UsageError(f"{in_cluster.IN_CLUSTER} chooses the run's id itself", f"Leave {desk.RUN_ID_FLAG} out.")
        in_cluster.check_output(context.options.output)
        inside.check_request(requested_run)
    return _Request(requested_run, confirmation, dry_run, saved, run_id, job_options)


def _check_saved(saved: Baseline, planned_cluster: PlannedCluster) -> None:
    comparison = same_cluster(saved, planned_cluster.cluster)
    if comparison.answer is not SameClusterAnswer.SAME:
        problem = (
            "is of another cluster" if comparison.answer is SameClusterAnswer.OTHER else "may be of another cluster"
        )
        raise Drifted(f"the plan {saved.file} {problem}: {comparison.why}", "Nothing was done. Plan for this cluster.")
    assert saved.promise is not None, "a saved plan has what it promises"
    check_drift(saved.promise, planned_cluster.plan, f"the plan {saved.file} was saved", PLAN_AGAIN)


def _has_server_refusals(planned_cluster: PlannedCluster, context: CommandContext) -> bool:
    """Whether the server would refuse any request of the first round; all refusals are reported."""
    result = dry_run_first_round(planned_cluster.plan, open_trial(context.connection))
    for each in result.refused:
        context.note(f"the server would refuse {each.subject}: {each.reason}")
    accepted = result.requests - len(result.refused)
    context.note(
        f"the server would do {accepted} of {result.requests} cordons and first evictions, each asked for by itself"
    )
    return bool(result.refused)


def _execute(
    requested_run: NewRun, planned_cluster: PlannedCluster, run_id: str, context: CommandContext
) -> CommandAnswer:
    if run_id:
        invocation = desk.restartable_invocation(requested_run, run_id, context)
        with desk.restartable(), invocation.adding_result_to_errors():
            second_read, ended = execute_run(requested_run, planned_cluster, invocation, context)
        return desk.restart_answer(invocation.answer(second_read.cluster, ended), ended)
    edges, plan = context.edges, requested_run.plan_request
    location = edges.journal_location(edges.new_run_id(context.now()), requested_run.namespace, context.environ)
    invocation = RunInvocation(COMMAND, context, location, requested_run.hooks, plan.options, requested_run.limits)
    with invocation.adding_result_to_errors():
        second_read, ended = execute_run(requested_run, planned_cluster, invocation, context)
    return invocation.answer(second_read.cluster, ended)


# ``drain resume``: resume a run on any machine.


def run_resume(args: argparse.Namespace, context: CommandContext) -> CommandAnswer:
    """Resume a run, and return the result of the rest.

    Raises:
        EksdocError: the command line, the cluster or the run is at fault; the error says which.
    """
    request, confirmation = RunReference.from_args(args, context), run_options.confirmation_from(args)
    limits_given = run_options.limits_given(args)
    RunReport.check_format(context.options.output)
    check_writable(context.environ, desk.COMMAND)
    with answers.explain_forbidden(desk.COMMAND):
        runs = request.runs(context)
        listed = runs.all()
        unfinished = [each for each in listed if each.unfinished][:1]
        if not any(each.run == request.run for each in listed) and (request.run or not unfinished):
            _check_journal_exists(request, context)
        run = select_run(listed, request.run, unfinished, "unfinished")
        if run.phase != RunPhase.ENDED.value and runs.lock().is_held:
            leader_answer = request_phase(runs, run, RunPhase.RUNNING, request, context)
            if leader_answer is not None:
                return leader_answer
        with ProgressLine(context.stderr) as progress:
            remaining = RemainingPlan.read(
                run.run, replay_journals(runs.entries(run.run)), request, context, limits_given, progress
            )
    if not remaining.plan.targets:
        return _finish_run(run.run, remaining, request, context)
    limits = remaining.limits(limits_given)
    answers.note_cluster(remaining.cluster, context)
    arguments, soak = (
        target_arguments(context, request.namespace, remaining.cluster.identity.context),
        soak_time(remaining.plan, limits.soak_s),
    )
    view = DrainReport(remaining.plan, remaining.cluster, {}, connection_args=arguments, soak=soak, preview=True)
    answers.show_report(view, context)
    remaining.check(run.run, request, context)
    show_summary(view, limits, arguments, context)
    options.confirm(
        remaining.cluster.identity,
        remaining.nodes,
        "go on draining",
        confirmation,
        context.prompt,
        remaining.past_budgets,
    )
    location = request.journal_location(context, run.run)
    hooks = remaining.hooks(run_options.hooks_from(args), args.without_hooks)
    invocation = RunInvocation(desk.COMMAND, context, location, hooks, {"run": run.run}, limits, resumed=True)
    with invocation.adding_result_to_errors():
        cluster, ended = resume_run(remaining, request, invocation, context)
    return invocation.answer(cluster, ended)


def _finish_run(run: str, remaining: RemainingPlan, request: RunReference, context: CommandContext) -> CommandAnswer:
    """Release protected nodes and journal the end, if the leader ended before that. No node is drained, so no
    confirmation is typed."""

    if remaining.is_finished:
        return CommandAnswer(f"nothing is left of run {run}: every node of it is done or gone\n")
    remaining.check(run, request, context)
    location = request.journal_location(context, run)
    invocation = RunInvocation(
        desk.COMMAND, context, location, Hooks(), {"run": run}, remaining.limits({}), resumed=True
    )
    with invocation.adding_result_to_errors():
        cluster, ended = resume_run(remaining, request, invocation, context)
    answer = invocation.answer(cluster, ended)
    text = f"run {run} has ended: every node of it is done or gone\n" if ended.is_complete else answer.text
    is_page = context.options.output in ("table", "wide")
    return CommandAnswer(text if is_page else answer.text, streams.CLEAN if ended.is_complete else streams.STOPPED)


def _check_journal_exists(request: RunReference, context: CommandContext) -> None:
    """Check that the journal of the run exists in this namespace.

    Raises:
        UsageError: nodes have notes of the run, and its journal is gone, or in another namespace.
    """
    annotations = RunAnnotations(request, context)
    for found_run in annotations.runs_on(request.nodes(context).nodes, request.run):
        if found_run.gone:
            raise UsageError(
                f"the journal of run {found_run.run} is gone: it is unknown what was requested, and what is left of it",
                f"Take back what it did to nodes, and begin a new one: {annotations.command('rollback', found_run)}",
            )
        if request.run and found_run.namespace != request.namespace:
            raise annotations.other_namespace_error(found_run, "resume")
