"""``drain run --in-cluster``: run the drain as a Job in the cluster.

The Job gets the plan, and does nothing (exit code 7) if the cluster no longer matches it. The run id is chosen here, so
that a restarted pod of the Job resumes the same run.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import opening, options, rights, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.rights import commands
from kubectl_eksdoc.errors import Locked, UsageError
from kubectl_eksdoc.host.documents import packed
from kubectl_eksdoc.in_cluster import command as in_cluster
from kubectl_eksdoc.in_cluster.command import InClusterOptions, InClusterReady, shown_or_created
from kubectl_eksdoc.in_cluster.objects import (
    FOLDER,
    LARGEST,
    AvoidedNodes,
    InClusterCommand,
    avoided,
    needed,
    objects,
    rooms,
)
from kubectl_eksdoc.in_cluster.roles import RoleManifests, RoleStep, logs, taken_away
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.journal import is_run_id
from kubectl_eksdoc.report.encode import to_json
from kubectl_eksdoc.wiring.runs import JOURNAL_NAMESPACE

from . import options as run_options
from . import run_controller as desk
from .new_run import NewRun, PlannedRead, check_others
from .plan import exit_code

COMMAND = f"drain run {in_cluster.IN_CLUSTER}"
PLAN = "plan.json.gz"
NAMES = "eksdoc-drain-"
"""Prefix of the names of all its objects; the run id follows."""

FINAL = (streams.FAILS, streams.USAGE, streams.UNKNOWN, streams.STOPPED, streams.DRIFTED, streams.BUG)
"""Exit codes after which the Job must not restart: the result would be the same, or a user must decide first. If the
cluster did not respond, or the process was killed or told to end, it is restarted."""


def check(wanted: NewRun) -> None:
    """Check that the request needs no terminal.

    Raises:
        UsageError: an option needs a user at a terminal.
    """
    if wanted.hooks.commands:
        raise UsageError(
            f"hooks are commands of this machine, and {in_cluster.IN_CLUSTER} runs elsewhere",
            "Leave them out; --soak waits after each wave, and drain pause stops it for as long as you like.",
        )
    if wanted.plan.policy.delete_past_budget:
        raise UsageError(
            "--delete-past-budget needs a typed confirmation, which is not possible in the cluster",
            "Run it here, or leave those pods' nodes out.",
        )


def inside(
    wanted: NewRun,
    read: PlannedRead,
    plan: Doc,
    given: options.ConfirmationFlags,
    how: InClusterOptions,
    dry: str,
    around: CommandContext,
) -> CommandAnswer:
    """Show or create the Job. `plan`: its document, as ``drain plan -o json`` prints it.

    Raises:
        UsageError: the request is not possible in the cluster, or the typed confirmation is wrong.
        Locked: another run is in progress.
        EksdocError: as `in_cluster.command.show_or_create`.
    """
    if not read.nodes:
        around.note("nothing is drained: no node of the plan can be")
        return CommandAnswer("", exit_code(read.plan))
    if how.apply:
        _check_jobs(read)
        check_others(wanted, around)(read.cluster, read.plan)
    else:
        in_cluster.told_unapplied(given, around)
    run = around.edges.new_run_id(around.now())
    errand = _errand(wanted, read, run, _packed(plan, around), how)
    away = avoided((target.node for target in read.plan.targets), read.cluster.nodes)
    if not rooms(read.cluster.nodes, away):
        around.note("no node is left now on which the Job's pod may run: it waits until another one joins")
    flags = ("--surge-singles",) if wanted.plan.policy.surge_singles else ()
    held = rights.needed_with(commands.INSIDE, flags, ())
    docs = objects(errand, rights.granted(held, rights.Places(wanted.namespace)), away)
    reached = opening.words(around, read.cluster.identity.context)
    ready = InClusterReady(
        COMMAND,
        how,
        errand,
        _manifests(wanted, read, errand, docs, away, reached),
        lambda: options.confirm(
            read.cluster.identity, read.nodes, "have a Job drain", given, around.ask, read.past_budgets
        ),
        read.cluster.identity.context,
        reached,
        dry,
    )
    return shown_or_created(ready, around)


def _check_jobs(read: PlannedRead) -> None:
    """Check that no other Job drains. A Job whose pod has not started yet has no journal that would show it.

    Raises:
        Locked: an earlier Job has not finished.
    """

    for job in read.cluster.jobs:
        if job.name.startswith(NAMES) and is_run_id(job.name.removeprefix(NAMES)) and not job.finished:
            look = shell("kubectl", "describe", f"job/{job.name}", "-n", job.namespace)
            away = shell("kubectl", "delete", f"job/{job.name}", "-n", job.namespace)
            raise Locked(
                f"another Job drains here: {job.key} is not over, though perhaps it has not begun",
                f"Nothing was created. One drain at a time: see it, or take it away.\n    {look}\n    {away}",
            )


def _packed(plan: Doc, around: CommandContext) -> bytes:
    """Return the whole plan if a ConfigMap can hold it, otherwise only the part that the run checks.

    Raises:
        UsageError: even that is too large for a ConfigMap.
    """
    found = packed(to_json(plan))
    if len(found) > LARGEST:
        found = packed(to_json(needed(plan)))
        around.note("the plan goes along without what only people read: the whole of it is too large for a ConfigMap")
    if len(found) > LARGEST:
        raise UsageError(
            f"the plan is too large for a ConfigMap: packed it has {len(found):,} bytes, and {LARGEST:,} are allowed",
            "Drain fewer nodes at once, as one node group after the other, or run it from here.",
        )
    return found


def _errand(wanted: NewRun, read: PlannedRead, run: str, plan: bytes, how: InClusterOptions) -> InClusterCommand:

    who = read.cluster.identity
    names = (("--cluster-name", who.cluster), ("--region", who.region))
    args = (
        *("drain", "run", "--plan", f"{FOLDER}/{PLAN}", desk.FLAG, run),
        *("--yes", options.NODES.flag, str(read.nodes)),
        *run_options.words_of(wanted.limits, wanted.hooks),
        *(run_options.NAMESPACE_FLAG, wanted.namespace),
        *(word for flag, value in names if value for word in (flag, value)),
    )
    files = {PLAN: b64encode(plan).decode()}
    return InClusterCommand(
        f"{NAMES}{run}",
        "drain-run",
        run,
        wanted.namespace,
        how.image,
        __version__,
        args,
        FINAL,
        how.role,
        who.region,
        files,
    )


def _manifests(
    wanted: NewRun,
    read: PlannedRead,
    errand: InClusterCommand,
    docs: Sequence[Doc],
    away: AvoidedNodes,
    reached: Sequence[str],
) -> RoleManifests:

    here = wanted.namespace == JOURNAL_NAMESPACE
    words = (*reached, *(() if here else (run_options.NAMESPACE_FLAG, wanted.namespace)))

    def drain(verb: str, *more: str) -> str:
        return shell("kubectl", "eksdoc", "drain", verb, errand.instance, *more, *words)

    cluster = options.name_of(read.cluster.identity) or "this cluster"
    groups = ", ".join(dict.fromkeys(name for _, names in away.groups for name in names))
    rather = f", and on {groups} only for want of another place" if groups else ""
    about = (
        f"kubectl eksdoc {__version__}: a Job drains {options.NODES.said(read.nodes)} of {cluster}, as run "
        f"{errand.instance}. It begins when it is created.",
        (
            f"Its pod runs on none of the {away.count} targets{rather}. If it is killed, another pod resumes the same "
            "run."
        ),
        "It does nothing (exit code 7) if the cluster is not as in its plan any more.",
        "Create it with --apply, or by: kubectl create -f FILE",
    )
    steps = (
        RoleStep("see how it stands:", drain("status", "-w")),
        RoleStep("read its log:", logs(errand, reached, follow=True)),
        RoleStep("pause it:", drain("pause")),
        RoleStep("go on:", drain("resume")),
        RoleStep("end it:", drain("abort")),
        RoleStep("take the cordons back:", drain("rollback")),
        RoleStep("remove these objects:", taken_away(errand, reached)),
    )
    return RoleManifests(about, steps, tuple(docs))
