"""``drain run --in-cluster``: run the drain as a Job in the cluster.

The Job gets the plan, and does nothing (exit code 7) if the cluster no longer matches it. The run id is chosen here, so
that a restarted pod of the Job resumes the same run.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import answers, options, rights, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.rights import commands
from kubectl_eksdoc.errors import Locked, UsageError
from kubectl_eksdoc.host.documents import compress_text
from kubectl_eksdoc.in_cluster import command as in_cluster
from kubectl_eksdoc.in_cluster.command import InClusterOptions, InClusterRequest, show_or_create
from kubectl_eksdoc.in_cluster.objects import (
    FOLDER,
    MAX_CONFIG_MAP_BYTES,
    AvoidedNodes,
    InClusterCommand,
    all_objects,
    count_usable_nodes,
    nodes_to_avoid,
    reduced_plan,
)
from kubectl_eksdoc.in_cluster.roles import ManifestReport, ManifestStep, delete_command, logs_command
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.journal import is_run_id
from kubectl_eksdoc.report.encode import to_json
from kubectl_eksdoc.wiring.runs import JOURNAL_NAMESPACE

from . import options as run_options
from . import run_controller as desk
from .new_run import NewRun, PlannedCluster, check_other_runs
from .plan import exit_code

COMMAND = f"drain run {in_cluster.IN_CLUSTER}"
PLAN_FILE = "plan.json.gz"
NAME_PREFIX = "eksdoc-drain-"
"""Prefix of the names of all its objects; the run id follows."""

FINAL_EXIT_CODES = (streams.FAILS, streams.USAGE, streams.UNKNOWN, streams.STOPPED, streams.DRIFTED, streams.BUG)
"""Exit codes after which the Job must not restart: the result would be the same, or a user must decide first. If the
cluster did not respond, or the process was killed or told to end, it is restarted."""


def check_request(requested_run: NewRun) -> None:
    """Check that the request needs no terminal.

    Raises:
        UsageError: an option needs a user at a terminal.
    """
    if requested_run.hooks.commands:
        raise UsageError(
            f"hooks are commands of this machine, and {in_cluster.IN_CLUSTER} runs elsewhere",
            "Leave them out; --soak waits after each wave, and drain pause stops it for as long as you like.",
        )
    if requested_run.plan_request.policy.delete_past_budget:
        raise UsageError(
            "--delete-past-budget needs a typed confirmation, which is not possible in the cluster",
            "Run it here, or leave those pods' nodes out.",
        )


def create_job(
    requested_run: NewRun,
    planned: PlannedCluster,
    plan: Doc,
    confirmation: options.ConfirmationFlags,
    job_options: InClusterOptions,
    is_dry_run: str,
    context: CommandContext,
) -> CommandAnswer:
    """Show or create the Job. `plan`: its document, as ``drain plan -o json`` prints it.

    Raises:
        UsageError: the request is not possible in the cluster, or the typed confirmation is wrong.
        Locked: another run is in progress.
        EksdocError: as `in_cluster.command.show_or_create`.
    """
    if not planned.nodes:
        context.note("nothing is drained: no node of the plan can be")
        return CommandAnswer("", exit_code(planned.plan))
    if job_options.apply:
        _check_other_jobs(planned)
        check_other_runs(requested_run, context)(planned.cluster, planned.plan)
    else:
        in_cluster.note_not_applied(confirmation, context)
    run = context.edges.new_run_id(context.now())
    command = _job_command(requested_run, planned, run, _packed_plan(plan, context), job_options)
    avoided_nodes = nodes_to_avoid((target.node for target in planned.plan.targets), planned.cluster.nodes)
    if not count_usable_nodes(planned.cluster.nodes, avoided_nodes):
        context.note("no node is left now on which the Job's pod may run: it waits until another one joins")
    flags = ("--surge-singles",) if requested_run.plan_request.policy.surge_singles else ()
    rights_needed = rights.needed_rights(commands.IN_CLUSTER_RUN, flags, ())
    manifests = all_objects(
        command,
        rights.granted_permissions(rights_needed, rights.RightNamespaces(requested_run.namespace)),
        avoided_nodes,
    )
    target_arguments = answers.target_flags(context, planned.cluster.identity.context)
    ready = InClusterRequest(
        COMMAND,
        job_options,
        command,
        _manifests(requested_run, planned, command, manifests, avoided_nodes, target_arguments),
        lambda: options.confirm(
            planned.cluster.identity,
            planned.nodes,
            "have a Job drain",
            confirmation,
            context.prompt,
            planned.past_budgets,
        ),
        planned.cluster.identity.context,
        target_arguments,
        is_dry_run,
    )
    return show_or_create(ready, context)


def _check_other_jobs(planned_cluster: PlannedCluster) -> None:
    """Check that no other Job drains. A Job whose pod has not started yet has no journal that would show it.

    Raises:
        Locked: an earlier Job has not finished.
    """

    for job in planned_cluster.cluster.jobs:
        if job.name.startswith(NAME_PREFIX) and is_run_id(job.name.removeprefix(NAME_PREFIX)) and not job.finished:
            describe_command = shell("kubectl", "describe", f"job/{job.name}", "-n", job.namespace)
            delete_command = shell("kubectl", "delete", f"job/{job.name}", "-n", job.namespace)
            raise Locked(
                f"another Job drains here: {job.key} is not over, though perhaps it has not begun",
                f"Nothing was created. One drain at a time: see it, or take it away.\n    {describe_command}\n  "
                f"  {delete_command}",
            )


def _packed_plan(plan: Doc, context: CommandContext) -> bytes:
    """Return the whole plan if a ConfigMap can hold it, otherwise only the part that the run checks.

    Raises:
        UsageError: even that is too large for a ConfigMap.
    """
    content = compress_text(to_json(plan))
    if len(content) > MAX_CONFIG_MAP_BYTES:
        content = compress_text(to_json(reduced_plan(plan)))
        context.note("the plan goes along without what only people read: the whole of it is too large for a ConfigMap")
    if len(content) > MAX_CONFIG_MAP_BYTES:
        raise UsageError(
            f"the plan is too large for a ConfigMap: packed it has {len(content):,} bytes, and "
            f"{MAX_CONFIG_MAP_BYTES:,} are allowed",
            "Drain fewer nodes at once, as one node group after the other, or run it from here.",
        )
    return content


def _job_command(
    requested_run: NewRun, planned_cluster: PlannedCluster, run: str, plan: bytes, job_options: InClusterOptions
) -> InClusterCommand:

    identity = planned_cluster.cluster.identity
    names = (("--cluster-name", identity.cluster), ("--region", identity.region))
    args = (
        *("drain", "run", "--plan", f"{FOLDER}/{PLAN_FILE}", desk.RUN_ID_FLAG, run),
        *("--yes", options.NODES.flag, str(planned_cluster.nodes)),
        *run_options.limit_arguments(requested_run.limits, requested_run.hooks),
        *(run_options.NAMESPACE_FLAG, requested_run.namespace),
        *(word for flag, value in names if value for word in (flag, value)),
    )
    files = {PLAN_FILE: b64encode(plan).decode()}
    return InClusterCommand(
        f"{NAME_PREFIX}{run}",
        "drain-run",
        run,
        requested_run.namespace,
        job_options.image,
        __version__,
        args,
        FINAL_EXIT_CODES,
        job_options.role,
        identity.region,
        files,
    )


def _manifests(
    requested_run: NewRun,
    planned_cluster: PlannedCluster,
    command: InClusterCommand,
    docs: Sequence[Doc],
    avoided_nodes: AvoidedNodes,
    target_arguments: Sequence[str],
) -> ManifestReport:

    is_default_namespace = requested_run.namespace == JOURNAL_NAMESPACE
    arguments = (
        *target_arguments,
        *(() if is_default_namespace else (run_options.NAMESPACE_FLAG, requested_run.namespace)),
    )

    def drain(verb: str, *extra_arguments: str) -> str:
        return shell("kubectl", "eksdoc", "drain", verb, command.instance, *extra_arguments, *arguments)

    cluster = options.short_cluster_name(planned_cluster.cluster.identity) or "this cluster"
    groups = ", ".join(dict.fromkeys(name for _, names in avoided_nodes.groups for name in names))
    avoided_text = f", and on {groups} only for want of another place" if groups else ""
    comments = (
        f"kubectl eksdoc {__version__}: a Job drains {options.NODES.count_text(planned_cluster.nodes)} of "
        f"{cluster}, as run "
        f"{command.instance}. It begins when it is created.",
        (
            f"Its pod runs on none of the {avoided_nodes.count} targets{avoided_text}. If it is killed, another "
            "pod resumes the same "
            "run."
        ),
        "It does nothing (exit code 7) if the cluster is not as in its plan any more.",
        "Create it with --apply, or by: kubectl create -f FILE",
    )
    steps = (
        ManifestStep("see how it stands:", drain("status", "-w")),
        ManifestStep("read its log:", logs_command(command, target_arguments, follow=True)),
        ManifestStep("pause it:", drain("pause")),
        ManifestStep("go on:", drain("resume")),
        ManifestStep("end it:", drain("abort")),
        ManifestStep("take the cordons back:", drain("rollback")),
        ManifestStep("remove these objects:", delete_command(command, target_arguments)),
    )
    return ManifestReport(comments, steps, tuple(docs))
