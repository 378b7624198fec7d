"""Flags of ``kubectl eksdoc addon-diff``, and the choice of its answer."""

from __future__ import annotations

import argparse

from kubectl_eksdoc.cli import options, values
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import add_command, add_source
from kubectl_eksdoc.cli.parser import Commands, add_flag, add_switch, add_text
from kubectl_eksdoc.fleet import command as fleet_options
from kubectl_eksdoc.fleet.command import MemberFlags, run_fleet
from kubectl_eksdoc.model.api_objects import ADDON_DIFF

from . import request as apply_options
from .request import NAME, AddonDiffRequest, past_request_from, plan_request_from

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
"""

_SINGLE_ADDON_FLAGS = ("explain_conflict", "manifest", "chart")
MODES = ("NONE", "OVERWRITE", "PRESERVE")


def add_to(commands: Commands) -> None:
    """Add the parser of ``addon-diff``."""
    parser = add_command(
        commands, NAME, "predict what an add-on update changes and resets", "[ADDON] [flags]", _ABOUT, _EXIT_CODES, run
    )
    add_source(parser)
    group = parser.add_argument_group("The update")
    add_text(
        group,
        "--to",
        "VERSION",
        "target version, or 'latest' (default: the default version that EKS has for this cluster)",
    )
    add_flag(
        group,
        "--resolve-conflicts",
        "MODE",
        "conflict mode that is checked: NONE, OVERWRITE or PRESERVE; all three are shown (default: NONE, as EKS)",
        values.OneOf(MODES, "mode", accepts_lower_case=True),
    )
    add_flag(
        group,
        "--configuration-values",
        "FILE",
        "file with the configuration values of the update, JSON or YAML (default: keep the current values)",
    )
    _add_check_flags(group)
    add_flag(
        group,
        "--tf-plan",
        "FILE",
        "check the add-on changes of a Terraform plan: the output of terraform show -json ('-': "
        "standard input); ADDON: only that add-on",
    )
    options.add_since(parser)
    past = parser.add_argument_group("Analyze a past update")
    add_switch(
        past, "--after", "show what the last update reset, the patch that restores it, and the values that keep it"
    )
    add_text(past, "--update", "ID", "ID of an earlier update from aws eks list-updates (with --after)")
    apply_options.add_to(parser)
    fleet_options.add_to(parser)


def _add_check_flags(group: argparse._ArgumentGroup) -> None:
    """Flags for additional checks, output, and strictness."""
    add_text(
        group,
        "--manifest",
        "FILE|FOLDER",
        "rendered manifest of the target version (helm template), for a version without a built-in manifest",
    )
    add_text(
        group,
        "--chart",
        "FOLDER",
        "as --manifest, from the templates of a Helm chart; a template with values to fill in is unknown",
    )
    add_flag(
        group,
        "--explain-conflict",
        "TEXT|FILE",
        "conflict message of a failed update ('-': standard input): show who owns each field, what each mode "
        "does, and the values that resolve the conflict",
    )
    add_switch(group, "--all", "check every add-on that EKS manages in this cluster")
    add_switch(
        group,
        "--each-step",
        "for an add-on that is updated one minor version at a time: the values for each step, "
        "validated against its schema (one more AWS request per step)",
    )
    add_switch(
        group, "--since-when", "for each field at risk: the first version whose schema has it (some more AWS requests)"
    )
    add_switch(
        group,
        "--strict",
        "also exit with code 5 if the prediction for a field at risk has medium confidence (column SURE)",
    )
    codes = values.finding_codes("addon")
    options.add_accept_unknown(group, codes, "add-ons", "exit code 5; with --apply, without typed confirmation of them")


def run(args: argparse.Namespace, context: CommandContext) -> CommandAnswer:
    """Run the command.

    Raises:
        EksdocError: the command line, a file, the cluster or AWS is at fault; the error says which.
    """
    fleet = fleet_options.fleet_from(
        args, context, ("after", "update", "apply", "resume", "tf_plan", "since", *_SINGLE_ADDON_FLAGS)
    )
    if args.after or args.update:
        past_request = past_request_from(args)
        from . import forecast

        return forecast.review_past_updates(past_request, context)
    apply = apply_options.apply_from(args)
    if apply is not None:
        options.check_without_since("--apply", options.since_from_args(args))
    if args.tf_plan is not None:
        plan_request = plan_request_from(args, context.source)
        from . import forecast

        return forecast.judge_terraform_plan(plan_request, context)
    request = AddonDiffRequest.from_args(args)
    if fleet is not None:
        member_flags = MemberFlags(
            NAME, ADDON_DIFF, request.options, positional=("addon",), comma_separated=("accept-unknown",)
        )
        return run_fleet(fleet, member_flags, context)
    if apply is None:
        from . import forecast

        return forecast.plan_updates(request, context)
    from .applying import apply_update

    return apply_update(request, apply, context)
