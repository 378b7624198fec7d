"""CronJob for the check, ``check --in-cluster --schedule "CRON"``: the same check regularly, in the cluster itself.

Input files of this machine are included (``--suppressions``); the result is in the log of each Job.
"""

from __future__ import annotations

import argparse
import re
from base64 import b64encode
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import answers, streams
from kubectl_eksdoc.cli import options as confirming
from kubectl_eksdoc.cli import options as shared_options
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import ConfirmationFlags
from kubectl_eksdoc.cli.parser import add_flag
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.in_cluster import command as in_cluster
from kubectl_eksdoc.in_cluster.command import (
    OBJECT_COUNT,
    InClusterOptions,
    InClusterRequest,
    show_or_create,
)
from kubectl_eksdoc.model import permissions
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.permissions import Permission

from .request import CheckRequest

if TYPE_CHECKING:  # --help must not load plans
    from kubectl_eksdoc.in_cluster.objects import CronSchedule, FleetSecret, InClusterCommand
    from kubectl_eksdoc.in_cluster.roles import ManifestReport
    from kubectl_eksdoc.model.cluster import Identity

    from ..checking import UpgradeCheck

COMMAND_NAME = f"check {in_cluster.IN_CLUSTER}"
DEFAULT_NAMESPACE = "kube-system"
SUPPRESSIONS_FILE = "suppressions.yaml"

FINAL_EXIT_CODES = (streams.FAILS, streams.USAGE, streams.UNKNOWN, streams.BUG)
"""Exit codes without a retry: the result would be the same. If the cluster or AWS did not answer, a retry may help."""

_SCHEDULE_FLAG, _TIME_ZONE_FLAG, _NAME_FLAG, _SECRET_FLAG = (
    "--schedule",
    "--time-zone",
    "--job-name",
    "--kubeconfig-secret",
)
_KARPENTER_FLAG = "--karpenter-namespace"

_SECRET_PATTERN = re.compile(r"([a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?):([-._a-zA-Z0-9]+(?:,[-._a-zA-Z0-9]+)*)\Z")

_MAX_KEY_LENGTH = 253
"""No key is ``.`` or begins with ``..`` (IsConfigMapKey, k8s.io/apimachinery/pkg/util/validation)."""


@frozen
class InClusterCheck:
    """The CronJob: `options` and `schedule`; `name` of the objects in `namespace`. `fleet`: None for the cluster that
    it runs in. `opt_ins`: names of the opt-ins that it is granted."""

    options: InClusterOptions
    schedule: CronSchedule
    name: str
    namespace: str
    confirmation: ConfirmationFlags
    fleet: FleetSecret | None = None
    opt_ins: tuple[str, ...] = ()
    karpenter_namespace: str = DEFAULT_NAMESPACE


def add_to(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("In the cluster")
    in_cluster.add_to(group, "a CronJob")
    add_flag(group, _SCHEDULE_FLAG, "CRON", 'schedule, such as "0 6 * * mon-fri" or @daily')
    add_flag(group, _TIME_ZONE_FLAG, "ZONE", "time zone of the schedule, such as Europe/Berlin (default: UTC)")
    add_flag(group, _NAME_FLAG, "NAME", "name of the objects (default: eksdoc-check)")
    add_flag(
        group,
        _SECRET_FLAG,
        "NAME:KEY,…",
        "check other clusters with an Indexed Job: each index uses the kubeconfig under one of these "
        "keys of the Secret",
    )
    add_flag(group, _KARPENTER_FLAG, "NAME", f"where Karpenter is installed (default: {DEFAULT_NAMESPACE})")
    shared_options.add_with_flag(group, "grant these", permissions.SKIPPABLE_NAMES)
    shared_options.add_confirmation(group, OBJECT_COUNT, "it creates exactly N objects")


def from_args(args: argparse.Namespace, request: CheckRequest, context: CommandContext) -> InClusterCheck | None:
    """None without --in-cluster.

    Raises:
        UsageError: the schedule is missing or invalid, or a flag refers to this machine only.
    """
    from kubectl_eksdoc.in_cluster.objects import MAX_CRON_NAME, CronSchedule
    from kubectl_eksdoc.kubernetes import schedules
    from kubectl_eksdoc.model.journal import is_namespace

    confirmation = shared_options.confirmation_from_args(args, OBJECT_COUNT)
    options = in_cluster.from_args(
        args,
        (_SCHEDULE_FLAG, args.schedule),
        (_TIME_ZONE_FLAG, args.time_zone),
        (_NAME_FLAG, args.job_name),
        (_SECRET_FLAG, args.kubeconfig_secret),
        (_KARPENTER_FLAG, args.karpenter_namespace),
        ("--yes", confirmation.yes),
        (OBJECT_COUNT.flag, confirmation.expected is not None),
        (shared_options.WITH, args.opted),
    )
    if options is None:
        return None
    in_cluster.check_output(context.options.output)
    if not context.source.live:
        raise UsageError(
            f"{in_cluster.IN_CLUSTER} needs the live cluster and cannot be used with another source",
            "Use it without --demo, --snapshot and --dump.",
        )
    if request.files:
        raise UsageError("manifests of -f are files of this machine", f"Leave -f out with {in_cluster.IN_CLUSTER}.")
    for flag, file in (("--tables", request.tables), ("--since", request.earlier_file)):
        if file:
            raise UsageError(f"{flag} {file} is a file of this machine", f"Leave it out with {in_cluster.IN_CLUSTER}.")
    if not args.schedule:
        raise UsageError("nothing says when it is to look", f'Give {_SCHEDULE_FLAG} "0 6 * * *", or @daily.')
    try:
        schedules.check_schedule(args.schedule)
        if args.time_zone is not None:
            schedules.check_time_zone(args.time_zone)
    except schedules.InvalidSchedule as error:
        raise UsageError(str(error), f'Write {_SCHEDULE_FLAG} "MINUTE HOUR DAY MONTH WEEKDAY".') from error
    name = args.job_name or "eksdoc-check"
    if len(name) > MAX_CRON_NAME or not is_namespace(name):
        name_hint = f"Letters a-z, digits and hyphens, at most {MAX_CRON_NAME}."
        raise UsageError(f"{name!r} is no name for a CronJob", name_hint)
    for flag, namespace_value in (("-n", context.options.namespace), (_KARPENTER_FLAG, args.karpenter_namespace)):
        if namespace_value and not is_namespace(namespace_value):
            raise UsageError(f"{namespace_value!r} is no name of a namespace", f"Give {flag} one that is there.")
    schedule, namespace = (
        CronSchedule(args.schedule, args.time_zone or ""),
        context.options.namespace or DEFAULT_NAMESPACE,
    )
    opt_ins = shared_options.opt_ins_from_args(args)
    shared_options.check_not_both(opt_ins, request.without)
    return InClusterCheck(
        options,
        schedule,
        name,
        namespace,
        confirmation,
        _parse_fleet(args.kubeconfig_secret),
        opt_ins,
        args.karpenter_namespace or DEFAULT_NAMESPACE,
    )


def _parse_fleet(text: str | None) -> FleetSecret | None:
    from kubectl_eksdoc.in_cluster.objects import FleetSecret

    if text is None:
        return None
    match = _SECRET_PATTERN.match(text)
    keys = match[2].split(",") if match else []
    invalid_keys = [key for key in keys if key == "." or key.startswith("..") or len(key) > _MAX_KEY_LENGTH]
    if match is None or invalid_keys or len(set(keys)) < len(keys):
        raise UsageError(f"{_SECRET_FLAG} {text!r} names no keys of a Secret, or one twice", "Write NAME:KEY,KEY.")
    return FleetSecret(match[1], tuple(keys))


def run_in_cluster(
    request: CheckRequest, in_cluster_check: InClusterCheck, checks: Sequence[UpgradeCheck], context: CommandContext
) -> CommandAnswer:
    """Show or create the objects of the CronJob.

    Raises:
        EksdocError: as `in_cluster.command.show_or_create`.
    """
    from kubectl_eksdoc.in_cluster.objects import all_objects
    from kubectl_eksdoc.kube.identity import AwsRequest

    options = context.options
    if in_cluster_check.options.apply:
        from kubectl_eksdoc.cli.options import check_writable

        check_writable(context.environ, COMMAND_NAME, "check reads only")
    else:
        in_cluster.note_not_applied(in_cluster_check.confirmation, context)
    identity = context.edges.identity_of(
        context.connection, AwsRequest(options.cluster_name, options.region, options.profile)
    )
    if in_cluster_check.fleet is None and not (identity.cluster and identity.region):
        raise UsageError(
            "nothing says which EKS cluster this is, and a pod cannot tell either", "Give --cluster-name and --region."
        )
    if options.profile:
        context.note("--profile is of this machine: in the cluster it is the role of --role-arn, or a Pod Identity")
    command = _build_command(request, in_cluster_check, identity)
    granted_rights = (
        ()
        if in_cluster_check.fleet is not None
        else _granted_rights(request, in_cluster_check, in_cluster_check.opt_ins, checks)
    )
    docs = all_objects(command, granted_rights, cron_schedule=in_cluster_check.schedule)
    target_flags = answers.target_flags(context, identity.context)

    def confirm() -> None:
        confirming.confirm(
            identity, len(docs), "create", in_cluster_check.confirmation, context.prompt, item=OBJECT_COUNT
        )

    notes = (
        _aws_note(request, in_cluster_check, checks),
        *(() if in_cluster_check.fleet is not None else _opt_in_notes(request, in_cluster_check, checks)),
    )
    manifests = _role_manifests(in_cluster_check, identity, command, docs, target_flags, notes)
    ready = InClusterRequest(
        COMMAND_NAME, in_cluster_check.options, command, manifests, confirm, identity.context, target_flags
    )
    return show_or_create(ready, context)


def _granted_rights(
    request: CheckRequest, in_cluster_check: InClusterCheck, opt_ins: Sequence[str], checks: Sequence[UpgradeCheck]
) -> tuple[Permission, ...]:
    # Imported late: --help and a check of manifests must not load the rights of all commands.
    from kubectl_eksdoc.cli import rights
    from kubectl_eksdoc.cli.rights import commands

    from ..read import kinds_for
    from ..registry import needs_of

    change_rights = commands.CHANGED_SINCE if request.since is not None else ()
    target = request.target or commands.NEWEST_TARGET
    needed_rights = (*commands.rights_of_checks(kinds_for(checks), needs_of(checks), target), *change_rights)
    return rights.granted_permissions(
        rights.needed_rights(needed_rights, (), opt_ins),
        rights.RightNamespaces(karpenter=in_cluster_check.karpenter_namespace),
    )


def _build_command(request: CheckRequest, in_cluster_check: InClusterCheck, identity: Identity) -> InClusterCommand:
    from kubectl_eksdoc.drain.report.plan import option_args
    from kubectl_eksdoc.host.check_files import read_suppressions_text
    from kubectl_eksdoc.in_cluster.objects import FOLDER, MAX_CONFIG_MAP_BYTES, InClusterCommand

    option_values, files = dict(request.option_values), {}
    option_values |= {flag: ",".join(each) for flag, each in (("only", request.only), ("area", request.areas)) if each}
    if request.suppressions:
        text = read_suppressions_text(request.suppressions).encode()
        if len(text) > MAX_CONFIG_MAP_BYTES:
            raise UsageError(
                f"--suppressions {request.suppressions} is too large for a ConfigMap", "Leave entries out."
            )
        files[SUPPRESSIONS_FILE] = b64encode(text).decode()
        option_values["suppressions"] = f"{FOLDER}/{SUPPRESSIONS_FILE}"
    cluster_flags = (
        () if in_cluster_check.fleet is not None else ("--cluster-name", identity.cluster, "--region", identity.region)
    )
    args = ("check", *option_args(option_values), *cluster_flags)
    return InClusterCommand(
        in_cluster_check.name,
        "check",
        in_cluster_check.name,
        in_cluster_check.namespace,
        in_cluster_check.options.image,
        __version__,
        args,
        FINAL_EXIT_CODES,
        in_cluster_check.options.role,
        "" if in_cluster_check.fleet is not None else identity.region,
        files,
        in_cluster_check.fleet,
    )


_FLEET_NOTE = (
    "The kubeconfigs are in Secret {}, which you make: what they run for a token, as aws, must be in the image, and "
    "their clusters grant what check reads."
)


_NO_AWS_FLAG = "--no-aws"


def _aws_note(request: CheckRequest, in_cluster_check: InClusterCheck, checks: Sequence[UpgradeCheck]) -> str:
    from kubectl_eksdoc.cli.rights import commands

    from ..registry import needs_of

    if request.no_aws:
        return f"It asks AWS nothing ({_NO_AWS_FLAG}), and needs no role."
    change_operations = commands.CHANGED_SINCE_OPERATIONS if request.since is not None else ()
    operations = (*commands.operations_of_checks(needs_of(checks)), *change_operations)
    actions = sorted({action for question in operations for action in question.actions})
    role = (
        f"role {in_cluster_check.options.role}"
        if in_cluster_check.options.role
        else "a role by EKS Pod Identity, or --role-arn"
    )
    return f"What it asks AWS needs {role}, with: {', '.join(actions)}"


def _opt_in_notes(
    request: CheckRequest, in_cluster_check: InClusterCheck, checks: Sequence[UpgradeCheck]
) -> tuple[str, ...]:
    """Notes about the granted opt-ins, and about those that are not granted although its checks can use them."""
    granted, usable = (
        permissions.opt_ins_for(each.right for each in _granted_rights(request, in_cluster_check, opted, checks))
        for opted in (in_cluster_check.opt_ins, permissions.OPT_IN_NAMES)
    )
    not_granted = (each for each in usable if each not in granted and each.name not in request.without)
    return (
        *(f"Opt-in {each.description}." for each in granted),
        *(
            f"Not granted, so that what it tells is unknown: opt-in {each.description}. --with {each.name} grants it, "
            f"--without {each.name} leaves it out of the scope."
            for each in not_granted
        ),
    )


def _role_manifests(
    in_cluster_check: InClusterCheck,
    identity: Identity,
    command: InClusterCommand,
    docs: Sequence[Doc],
    target_flags: Sequence[str],
    notes: Sequence[str],
) -> ManifestReport:
    from kubectl_eksdoc.in_cluster.roles import ManifestReport, ManifestStep, delete_command, logs_command

    zone = in_cluster_check.schedule.zone or "UTC"
    clusters_text = (
        identity.cluster if in_cluster_check.fleet is None else f"each of {', '.join(in_cluster_check.fleet.keys)}"
    )
    about = (
        f"kubectl eksdoc {__version__}: a CronJob looks whether {clusters_text} may be upgraded, at "
        f"{in_cluster_check.schedule.schedule!r} "
        f"({zone}). A Job of it fails where something stands against it (exit code 1).",
        *((_FLEET_NOTE.format(in_cluster_check.fleet.secret),) if in_cluster_check.fleet is not None else ()),
        *notes,
    )
    role_steps = []
    if not command.role and identity.cluster and identity.region and _NO_AWS_FLAG not in command.args:
        # Without a role AWS denies all requests, and every Job ends with exit code 4.
        cluster_flags = (
            "--cluster-name",
            identity.cluster,
            "--region",
            identity.region,
            "--namespace",
            command.namespace,
        )
        words = ("aws", "eks", "create-pod-identity-association", *cluster_flags, "--service-account", command.name)
        role_steps.append(ManifestStep("give it a role:", f"{shell(*words)} --role-arn ARN"))
    namespace_flags, from_flags = ("-n", command.namespace), ("--from", f"cronjob/{command.name}")
    steps = (
        *role_steps,
        ManifestStep(
            "look now:",
            shell("kubectl", "create", "job", *namespace_flags, f"{command.name}-now", *from_flags, *target_flags),
        ),
        ManifestStep(
            "see what it did:", shell("kubectl", "get", "jobs", *namespace_flags, "-l", command.selector, *target_flags)
        ),
        ManifestStep("read their logs:", logs_command(command, target_flags, follow=False)),
        ManifestStep("remove these objects:", delete_command(command, target_flags)),
    )
    return ManifestReport(about, steps, tuple(docs))
