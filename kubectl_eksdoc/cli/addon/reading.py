"""The answers of ``addon-diff`` besides the forecast: what a past update took, and what a Terraform plan would do."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from kubectl_eksdoc.cli import exits, opening, rights
from kubectl_eksdoc.cli.addon import apply_options
from kubectl_eksdoc.cli.addon.forecast import is_unsure
from kubectl_eksdoc.cli.addon.request import NAME, addon_named
from kubectl_eksdoc.cli.options import GlobalOptions, SourceOptions, non_empty, refused_beside, since_from
from kubectl_eksdoc.cli.parser import Parser
from kubectl_eksdoc.cli.surroundings import CommandAnswer, CommandContext
from kubectl_eksdoc.errors import AwsDenied, AwsMissing, Forbidden, UsageError
from kubectl_eksdoc.session.sources import SourceChoice

if TYPE_CHECKING:  # help must not pay for facts and plans
    from kubectl_eksdoc.model.aws.addons import AddonPast
    from kubectl_eksdoc.session.session import ClusterSession


class _Request(NamedTuple):
    """`addon` is "" for all; `of`: the id of an update, "" for the latest, or the path of a Terraform plan, ``-`` for
    standard input. `given`: by the names of the flags."""

    options: GlobalOptions
    source: SourceChoice
    addon: str
    of: str
    given: Mapping[str, object]


# What the last update of an add-on took, and what is done about it.


_OF_THE_NEXT = (
    "to",
    "resolve_conflicts",
    "configuration_values",
    "each_step",
    "since_when",
    "tf_plan",
    "apply",
    "since",
    "strict",
    "explain_conflict",
    "manifest",
    "chart",
)
"""Flags by their names in the arguments that say what is yet to come."""


def add_to(parser: Parser) -> None:
    """Add its flags."""
    group = parser.add_argument_group("Analyze a past update")
    group.add_argument(
        "--after",
        action="switch",
        default=False,
        help="show what the last update reset, the patch that restores it, and the values that keep it",
    )
    group.add_argument(
        "--update", metavar="ID", default="", help="ID of an earlier update from aws eks list-updates (with --after)"
    )


def _look_back(args: argparse.Namespace, words: Sequence[str]) -> _Request:
    """
    Raises:
        UsageError: no add-on is named, or several, or what was given does not fit together.
    """
    if not args.after:
        raise UsageError("--update names an update that has happened, and is of --after", "Give both.")
    beside = [name for name in _OF_THE_NEXT if getattr(args, name, None) not in (None, "", False)]
    if beside:
        flags = " and ".join(f"--{name.replace('_', '-')}" for name in beside)
        raise UsageError(
            f"{flags} beside --after, which looks back on an update that has happened",
            "Ask for one of them at a time.",
        )
    apply_options.apply_from(args)  # what belongs to it alone is of no use here
    addon = addon_named(args, words)
    if args.all and args.update:
        raise UsageError("--update ID is of one add-on, and --all names every one")
    said = {"addon": addon, "all": not addon, "after": True, "update": args.update}
    given = non_empty(said)
    return _Request(GlobalOptions.from_args(args), SourceOptions.from_args(args).choice, addon, args.update, given)


def look_back(args: argparse.Namespace, words: Sequence[str], around: CommandContext) -> CommandAnswer:
    """
    Raises:
        EksdocError: the command line, the cluster or AWS is at fault; the error says which.
    """
    # Imported late: help and errors of usage must not pay for what only an answer needs.
    from kubectl_eksdoc.addon_diff.read import HISTORIES, NEEDS, addon_names, look_back_on
    from kubectl_eksdoc.render.addon.after import AfterReport

    request = _look_back(args, words)
    options = request.options
    AfterReport.check(options.output)
    try:
        session = opening.opened(request, around, replace(NEEDS, histories=HISTORIES))
        names = (request.addon,) if request.addon else addon_names(session)
        pasts = tuple(_pasts(session, names, request, around))
        found = tuple(look_back_on(session, past) for past in pasts)
    except Forbidden as error:
        raise rights.explained(error, f"{NAME} --after") from error
    opening.told(session, options, around)
    kubectl = opening.for_kubectl(request.source, options, session.cluster.identity.context)
    report = AfterReport(found, session.cluster, request.given, session.recognised, kubectl=kubectl)
    code = opening.code(each for one in found for each in one.findings)
    if len(found) < len(names) and code == exits.CLEAN:
        code = exits.UNKNOWN  # an add-on that was left out is not known
    return CommandAnswer(opening.answered(report, options, around), code)


def _pasts(
    session: ClusterSession, names: Sequence[str], request: _Request, around: CommandContext
) -> Iterator[AddonPast]:
    """Of one add-on, or of all: then what cannot be told of one is said, and takes no other with it."""
    from kubectl_eksdoc.addon_diff.read import past_of

    for name in names:
        try:
            yield past_of(session, name, request.of)
        except (AwsDenied, AwsMissing) as error:
            if request.addon:
                raise
            around.note(f"note: {name} is left out: {error.message}")


# What the add-on changes of a Terraform plan would do, for a pipeline that can refuse them.


_IN_THE_PLAN = {
    "to": "--to",
    "resolve_conflicts": "--resolve-conflicts",
    "configuration_values": "--configuration-values",
    "all": "--all",
    "each_step": "--each-step",
    "since_when": "--since-when",
    "explain_conflict": "--explain-conflict",
    "manifest": "--manifest",
    "chart": "--chart",
}
"""Flags by their names in the arguments: what they say, the plan says."""


def _judge_plan(args: argparse.Namespace, words: Sequence[str]) -> _Request:
    """
    Raises:
        UsageError: what was given does not fit together.
    """
    if len(words) > 1:
        raise UsageError(f"one add-on at a time, and {len(words)} are named", "For all of the plan: name none.")
    beside = [flag for name, flag in _IN_THE_PLAN.items() if getattr(args, name)]
    if args.configuration_values is not None and "--configuration-values" not in beside:
        beside.append("--configuration-values")
    if beside:
        raise UsageError(
            f"{' and '.join(beside)} cannot be used with --tf-plan: the Terraform plan has the request to EKS",
            "Give the plan alone, or with the name of one of its add-ons.",
        )
    source = SourceOptions.from_args(args).choice
    refused_beside("--tf-plan", since_from(args))
    if args.tf_plan == "-" == source.snapshot:
        raise UsageError("--snapshot and --tf-plan both read standard input", "Give one of them as a file.")
    addon = words[0] if words else ""
    said = {"addon": addon, "strict": args.strict}
    given = {"tf-plan": args.tf_plan} | non_empty(said)
    return _Request(GlobalOptions.from_args(args), source, addon, args.tf_plan, given)


def judge_plan(args: argparse.Namespace, words: Sequence[str], around: CommandContext) -> CommandAnswer:
    """
    Raises:
        EksdocError: the command line, the plan, the cluster or AWS is at fault; the error says which.
    """
    # Imported late: help and errors of usage must not pay for what only an answer needs.
    from kubectl_eksdoc.addon_diff.read import NEEDS, judge_terraform
    from kubectl_eksdoc.host.terraform.plan import read_terraform_plan
    from kubectl_eksdoc.render.addon.report import TerraformReport

    request = _judge_plan(args, words)
    options = request.options
    TerraformReport.check(options.output)
    plan = read_terraform_plan(request.of)  # before anything is asked
    try:
        session = opening.opened(request, around, NEEDS)
        judgement = judge_terraform(plan, session, request.addon)
    except Forbidden as error:
        raise rights.explained(error, NAME) from error
    opening.told(session, options, around)
    name = session.believed.cluster.name
    report = TerraformReport(judgement, name, session.cluster, request.given, session.recognised)
    unsure = args.strict and is_unsure([each.plan for each in judgement.changes if each.plan], around)
    code = opening.code(judgement.every)
    return CommandAnswer(
        opening.answered(report, options, around), exits.UNKNOWN if unsure and code == exits.CLEAN else code
    )
