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
from kubectl_eksdoc.cli import opening, streams
from kubectl_eksdoc.cli import options as confirming
from kubectl_eksdoc.cli import options as shared_options
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import ConfirmationFlags
from kubectl_eksdoc.cli.parser import add_flag
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.in_cluster import command as in_cluster
from kubectl_eksdoc.in_cluster.command import (
    OBJECTS,
    InClusterOptions,
    InClusterReady,
    shown_or_created,
)
from kubectl_eksdoc.model import permissions
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.permissions import Permission

from .request import CheckRequest

if TYPE_CHECKING:  # --help must not load plans
    from kubectl_eksdoc.in_cluster.objects import CronSchedule, Fleet, InClusterCommand
    from kubectl_eksdoc.in_cluster.roles import RoleManifests
    from kubectl_eksdoc.model.cluster import Identity

    from ..checking import UpgradeCheck

COMMAND = f"check {in_cluster.IN_CLUSTER}"
NAMESPACE = "kube-system"
SUPPRESSIONS = "suppressions.yaml"

FINAL = (streams.FAILS, streams.USAGE, streams.UNKNOWN, streams.BUG)
"""Exit codes without a retry: the result would be the same. If the cluster or AWS did not answer, a retry may help."""

_SCHEDULE, _ZONE, _NAME, _SECRET = "--schedule", "--time-zone", "--job-name", "--kubeconfig-secret"
_KARPENTER = "--karpenter-namespace"

_OF_SECRET = re.compile(r"([a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?):([-._a-zA-Z0-9]+(?:,[-._a-zA-Z0-9]+)*)\Z")

_LONGEST_KEY = 253
"""No key is ``.`` or begins with ``..`` (IsConfigMapKey, k8s.io/apimachinery/pkg/util/validation)."""


@frozen
class _Wanted:
    """The CronJob: `options` and `schedule`; `name` of the objects in `namespace`. `fleet`: None for the cluster that
    it runs in. `opt_ins`: names of the opt-ins that it is granted."""

    how: InClusterOptions
    when: CronSchedule
    name: str
    namespace: str
    given: ConfirmationFlags
    fleet: Fleet | None = None
    opted: tuple[str, ...] = ()
    karpenter: str = NAMESPACE


def add_to(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("In the cluster")
    in_cluster.add_to(group, "a CronJob")
    add_flag(group, _SCHEDULE, "CRON", 'schedule, such as "0 6 * * mon-fri" or @daily')
    add_flag(group, _ZONE, "ZONE", "time zone of the schedule, such as Europe/Berlin (default: UTC)")
    add_flag(group, _NAME, "NAME", "name of the objects (default: eksdoc-check)")
    add_flag(
        group,
        _SECRET,
        "NAME:KEY,…",
        "check other clusters with an Indexed Job: each index uses the kubeconfig under one of these "
        "keys of the Secret",
    )
    add_flag(group, _KARPENTER, "NAME", f"where Karpenter is installed (default: {NAMESPACE})")
    shared_options.add_with(group, "grant these", permissions.SKIPPABLE)
    shared_options.add_confirmation(group, OBJECTS, "it creates exactly N objects")


def from_args(args: argparse.Namespace, request: CheckRequest, around: CommandContext) -> _Wanted | None:
    """None without --in-cluster.

    Raises:
        UsageError: the schedule is missing or invalid, or a flag refers to this machine only.
    """
    from kubectl_eksdoc.in_cluster.objects import LONGEST_CRON_NAME, CronSchedule
    from kubectl_eksdoc.kubernetes import schedules
    from kubectl_eksdoc.model.journal import is_namespace

    given = shared_options.given_from(args, OBJECTS)
    how = in_cluster.from_args(
        args,
        (_SCHEDULE, args.schedule),
        (_ZONE, args.time_zone),
        (_NAME, args.job_name),
        (_SECRET, args.kubeconfig_secret),
        (_KARPENTER, args.karpenter_namespace),
        ("--yes", given.yes),
        (OBJECTS.flag, given.expect is not None),
        (shared_options.WITH, args.opted),
    )
    if how is None:
        return None
    in_cluster.check_output(around.options.output)
    if not around.source.live:
        raise UsageError(
            f"{in_cluster.IN_CLUSTER} needs the live cluster and cannot be used with another source",
            "Use it without --demo, --snapshot and --dump.",
        )
    if request.files:
        raise UsageError("manifests of -f are files of this machine", f"Leave -f out with {in_cluster.IN_CLUSTER}.")
    for flag, file in (("--tables", request.tables), ("--since", request.earlier)):
        if file:
            raise UsageError(f"{flag} {file} is a file of this machine", f"Leave it out with {in_cluster.IN_CLUSTER}.")
    if not args.schedule:
        raise UsageError("nothing says when it is to look", f'Give {_SCHEDULE} "0 6 * * *", or @daily.')
    try:
        schedules.check(args.schedule)
        if args.time_zone is not None:
            schedules.check_time_zone(args.time_zone)
    except schedules.InvalidSchedule as error:
        raise UsageError(str(error), f'Write {_SCHEDULE} "MINUTE HOUR DAY MONTH WEEKDAY".') from error
    name = args.job_name or "eksdoc-check"
    if len(name) > LONGEST_CRON_NAME or not is_namespace(name):
        most = f"Letters a-z, digits and hyphens, at most {LONGEST_CRON_NAME}."
        raise UsageError(f"{name!r} is no name for a CronJob", most)
    for flag, place in (("-n", around.options.namespace), (_KARPENTER, args.karpenter_namespace)):
        if place and not is_namespace(place):
            raise UsageError(f"{place!r} is no name of a namespace", f"Give {flag} one that is there.")
    when, namespace = CronSchedule(args.schedule, args.time_zone or ""), around.options.namespace or NAMESPACE
    opted = shared_options.opted_from(args)
    shared_options.check_not_both(opted, request.without)
    return _Wanted(
        how, when, name, namespace, given, _fleet(args.kubeconfig_secret), opted, args.karpenter_namespace or NAMESPACE
    )


def _fleet(text: str | None) -> Fleet | None:
    from kubectl_eksdoc.in_cluster.objects import Fleet

    if text is None:
        return None
    match = _OF_SECRET.match(text)
    keys = match[2].split(",") if match else []
    odd = [key for key in keys if key == "." or key.startswith("..") or len(key) > _LONGEST_KEY]
    if match is None or odd or len(set(keys)) < len(keys):
        raise UsageError(f"{_SECRET} {text!r} names no keys of a Secret, or one twice", "Write NAME:KEY,KEY.")
    return Fleet(match[1], tuple(keys))


def inside(
    request: CheckRequest, wanted: _Wanted, checks: Sequence[UpgradeCheck], around: CommandContext
) -> CommandAnswer:
    """Show or create the objects of the CronJob.

    Raises:
        EksdocError: as `in_cluster.command.show_or_create`.
    """
    from kubectl_eksdoc.in_cluster.objects import objects
    from kubectl_eksdoc.kube.identity import AwsRequest

    options = around.options
    if wanted.how.apply:
        from kubectl_eksdoc.cli.options import check_writable

        check_writable(around.environ, COMMAND, "check reads only")
    else:
        in_cluster.told_unapplied(wanted.given, around)
    who = around.edges.identity_of(around.connection, AwsRequest(options.cluster_name, options.region, options.profile))
    if wanted.fleet is None and not (who.cluster and who.region):
        raise UsageError(
            "nothing says which EKS cluster this is, and a pod cannot tell either", "Give --cluster-name and --region."
        )
    if options.profile:
        around.note("--profile is of this machine: in the cluster it is the role of --role-arn, or a Pod Identity")
    errand = _errand(request, wanted, who)
    held = () if wanted.fleet is not None else _granted(request, wanted, wanted.opted, checks)
    docs = objects(errand, held, when=wanted.when)
    reached = opening.words(around, who.context)

    def confirm() -> None:
        confirming.confirm(who, len(docs), "create", wanted.given, around.ask, of=OBJECTS)

    told = _of_aws(request, wanted, checks), *(() if wanted.fleet is not None else _opt_ins(request, wanted, checks))
    manifests = _manifests(wanted, who, errand, docs, reached, told)
    ready = InClusterReady(COMMAND, wanted.how, errand, manifests, confirm, who.context, reached)
    return shown_or_created(ready, around)


def _granted(
    request: CheckRequest, wanted: _Wanted, opted: Sequence[str], checks: Sequence[UpgradeCheck]
) -> tuple[Permission, ...]:
    # Imported late: --help and a check of manifests must not load the rights of all commands.
    from kubectl_eksdoc.cli import rights
    from kubectl_eksdoc.cli.rights import commands

    from ..read import kinds_for
    from ..registry import needs_of

    past = commands.CHANGED if request.since is not None else ()
    target = request.target or commands.NEXT
    held = (*commands.narrowed(kinds_for(checks), needs_of(checks), target), *past)
    return rights.granted(rights.needed_with(held, (), opted), rights.Places(karpenter=wanted.karpenter))


def _errand(request: CheckRequest, wanted: _Wanted, who: Identity) -> InClusterCommand:
    from kubectl_eksdoc.drain.report.plan import option_words
    from kubectl_eksdoc.host.check_files import text_of
    from kubectl_eksdoc.in_cluster.objects import FOLDER, LARGEST, InClusterCommand

    given, files = dict(request.given), {}
    given |= {flag: ",".join(each) for flag, each in (("only", request.only), ("area", request.areas)) if each}
    if request.suppressions:
        text = text_of(request.suppressions).encode()
        if len(text) > LARGEST:
            raise UsageError(
                f"--suppressions {request.suppressions} is too large for a ConfigMap", "Leave entries out."
            )
        files[SUPPRESSIONS] = b64encode(text).decode()
        given["suppressions"] = f"{FOLDER}/{SUPPRESSIONS}"
    here = () if wanted.fleet is not None else ("--cluster-name", who.cluster, "--region", who.region)
    args = ("check", *option_words(given), *here)
    return InClusterCommand(
        wanted.name,
        "check",
        wanted.name,
        wanted.namespace,
        wanted.how.image,
        __version__,
        args,
        FINAL,
        wanted.how.role,
        "" if wanted.fleet is not None else who.region,
        files,
        wanted.fleet,
    )


_OTHERS = (
    "The kubeconfigs are in Secret {}, which you make: what they run for a token, as aws, must be in the image, and "
    "their clusters grant what check reads."
)


_NO_AWS = "--no-aws"


def _of_aws(request: CheckRequest, wanted: _Wanted, checks: Sequence[UpgradeCheck]) -> str:
    from kubectl_eksdoc.cli.rights import commands

    from ..registry import needs_of

    if request.no_aws:
        return f"It asks AWS nothing ({_NO_AWS}), and needs no role."
    past = commands.ASKED_OF_CHANGES if request.since is not None else ()
    asked = (*commands.asked(needs_of(checks)), *past)
    actions = sorted({action for question in asked for action in question.actions})
    role = f"role {wanted.how.role}" if wanted.how.role else "a role by EKS Pod Identity, or --role-arn"
    return f"What it asks AWS needs {role}, with: {', '.join(actions)}"


def _opt_ins(request: CheckRequest, wanted: _Wanted, checks: Sequence[UpgradeCheck]) -> tuple[str, ...]:
    """Notes about the granted opt-ins, and about those that are not granted although its checks can use them."""
    granted, every = (
        permissions.opt_ins_of(each.right for each in _granted(request, wanted, opted, checks))
        for opted in (wanted.opted, permissions.NAMES)
    )
    left = (each for each in every if each not in granted and each.name not in request.without)
    return (
        *(f"Opt-in {each.said}." for each in granted),
        *(
            f"Not granted, so that what it tells is unknown: opt-in {each.said}. --with {each.name} grants it, "
            f"--without {each.name} leaves it out of the scope."
            for each in left
        ),
    )


def _manifests(
    wanted: _Wanted,
    who: Identity,
    errand: InClusterCommand,
    docs: Sequence[Doc],
    reached: Sequence[str],
    told: Sequence[str],
) -> RoleManifests:
    from kubectl_eksdoc.in_cluster.roles import RoleManifests, RoleStep, logs, taken_away

    zone = wanted.when.zone or "UTC"
    what = who.cluster if wanted.fleet is None else f"each of {', '.join(wanted.fleet.keys)}"
    about = (
        f"kubectl eksdoc {__version__}: a CronJob looks whether {what} may be upgraded, at {wanted.when.schedule!r} "
        f"({zone}). A Job of it fails where something stands against it (exit code 1).",
        *((_OTHERS.format(wanted.fleet.secret),) if wanted.fleet is not None else ()),
        *told,
    )
    given = []
    if not errand.role and who.cluster and who.region and _NO_AWS not in errand.args:
        # Without a role AWS denies all requests, and every Job ends with exit code 4.
        where = ("--cluster-name", who.cluster, "--region", who.region, "--namespace", errand.namespace)
        words = ("aws", "eks", "create-pod-identity-association", *where, "--service-account", errand.name)
        given.append(RoleStep("give it a role:", f"{shell(*words)} --role-arn ARN"))
    of, of_it = ("-n", errand.namespace), ("--from", f"cronjob/{errand.name}")
    steps = (
        *given,
        RoleStep("look now:", shell("kubectl", "create", "job", *of, f"{errand.name}-now", *of_it, *reached)),
        RoleStep("see what it did:", shell("kubectl", "get", "jobs", *of, "-l", errand.selector, *reached)),
        RoleStep("read their logs:", logs(errand, reached, follow=False)),
        RoleStep("remove these objects:", taken_away(errand, reached)),
    )
    return RoleManifests(about, steps, tuple(docs))
