"""``kubectl eksdoc addon-diff``: its flags, and which face answers."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from kubectl_eksdoc.cli import fleet as fleet_options
from kubectl_eksdoc.cli import options, values
from kubectl_eksdoc.cli.addon import apply_options, reading
from kubectl_eksdoc.cli.addon.forecast import forecast
from kubectl_eksdoc.cli.addon.request import NAME, AddonDiffRequest
from kubectl_eksdoc.cli.fleet import MemberFlags, over_fleet
from kubectl_eksdoc.cli.options import LEVELS, GlobalOptions, SourceOptions
from kubectl_eksdoc.cli.parser import Parser
from kubectl_eksdoc.cli.surroundings import CommandAnswer, CommandContext
from kubectl_eksdoc.model.documents import ADDON_DIFF

_ABOUT = """\
Predict what the update of an EKS add-on changes: each field of its live objects that another client has set, what
happens to it with NONE, OVERWRITE and PRESERVE, which workloads are affected, and the values that keep it.
Reads the cluster and AWS, and changes nothing. --apply starts the update after a typed confirmation.

Examples:
  %(prog)s vpc-cni
  %(prog)s vpc-cni --to v1.20.4-eksbuild.2 --resolve-conflicts OVERWRITE
  %(prog)s coredns --to latest --configuration-values values.yaml
  %(prog)s --all -o json
  %(prog)s --all --fleet 'prod-*'
  %(prog)s vpc-cni --after
  aws eks describe-update … | %(prog)s --explain-conflict -
  %(prog)s --tf-plan plan.json
  %(prog)s vpc-cni --to latest --apply
  %(prog)s vpc-cni --demo
"""

_EXIT_CODES = """\
Exit codes: 0 nothing is lost, 1 findings that fail, 5 something is unknown; 2 usage, 3 cluster, 4 AWS.
With --apply: 0 the result is as predicted, 1 it differs, or nothing was sent, 5 something is unknown, 6 the update
failed or is still running, 7 the add-on changed after the preview.
Global flags: kubectl eksdoc options
"""

_OF_ONE = ("explain_conflict", "manifest", "chart")
MODES = ("NONE", "OVERWRITE", "PRESERVE")


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add ``addon-diff``."""
    parser = commands.add_parser(
        NAME,
        help="predict what an add-on update changes and resets",
        usage="%(prog)s [ADDON] [flags]",
        description=_ABOUT,
        epilog=_EXIT_CODES,
    )
    GlobalOptions.add_to(parser, level=LEVELS - 1)
    SourceOptions.add_to(parser)
    group = parser.add_argument_group("The update")
    group.add_argument(
        "--to",
        metavar="VERSION",
        default="",
        help="target version, or 'latest' (default: the default version that EKS has for this cluster)",
    )
    group.add_argument(
        "--resolve-conflicts",
        type=values.OneOf(MODES, "mode", upper=True),
        default=None,
        metavar="MODE",
        help="conflict mode that is checked: NONE, OVERWRITE or PRESERVE; all three are shown (default: NONE, as EKS)",
    )
    group.add_argument(
        "--configuration-values",
        metavar="FILE",
        default=None,
        help="file with the configuration values of the update, JSON or YAML (default: keep the current values)",
    )
    _add_manifests(group)
    group.add_argument(
        "--explain-conflict",
        metavar="TEXT|FILE",
        default=None,
        help="conflict message of a failed update ('-': standard input): show who owns each field, what each mode "
        "does, and the values that resolve the conflict",
    )
    group.add_argument(
        "--all", action="switch", default=False, help="check every add-on that EKS manages in this cluster"
    )
    _add_looks(group)
    group.add_argument(
        "--tf-plan",
        metavar="FILE",
        default=None,
        help="check the add-on changes of a Terraform plan: the output of terraform show -json ('-': "
        "standard input); ADDON: only that add-on",
    )
    options.add_since_to(parser)
    reading.add_to(parser)
    apply_options.add_to(parser)
    fleet_options.add_to(parser)
    parser.set_defaults(leaf=parser, command=run)


def _add_manifests(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--manifest",
        metavar="FILE|FOLDER",
        default="",
        help="rendered manifest of the target version (helm template), for a version without a built-in manifest",
    )
    group.add_argument(
        "--chart",
        metavar="FOLDER",
        default="",
        help="as --manifest, from the templates of a Helm chart; a template with values to fill in is unknown",
    )


def _add_looks(group: argparse._ArgumentGroup) -> None:
    """What is told besides, and how strictly."""
    group.add_argument(
        "--each-step",
        action="switch",
        default=False,
        help="for an add-on that is updated one minor version at a time: the values for each step, "
        "validated against its schema (one more AWS request per step)",
    )
    group.add_argument(
        "--since-when",
        action="switch",
        default=False,
        help="for each field at risk: the first version whose schema has it (some more AWS requests)",
    )
    group.add_argument(
        "--strict",
        action="switch",
        default=False,
        help="also exit with code 5 if the prediction for a field at risk has medium confidence (column SURE)",
    )


def run(args: argparse.Namespace, words: Sequence[str], around: CommandContext) -> CommandAnswer:
    """
    Raises:
        EksdocError: the command line, a file, the cluster or AWS is at fault; the error says which.
    """
    fleet = fleet_options.fleet_from(args, ("after", "update", "apply", "resume", "tf_plan", "since", *_OF_ONE))
    if args.after or args.update:
        return reading.look_back(args, words, around)
    apply = apply_options.apply_from(args)
    if apply is not None:
        options.refused_beside("--apply", options.since_from(args))
    if args.tf_plan is not None:
        return reading.judge_plan(args, words, around)
    request = AddonDiffRequest.from_args(args, words, around)
    if fleet is not None:
        return over_fleet(
            fleet, MemberFlags(NAME, ADDON_DIFF, request.given, named=("addon",)), request.options, around
        )
    if apply is None:
        return forecast(request, around)
    from kubectl_eksdoc.cli.addon.applying import applying

    return applying(request, apply, around)
