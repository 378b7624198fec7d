"""``kubectl eksdoc check``: flags, and the run of the command."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import answers, options, streams, values
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import add_command, add_source
from kubectl_eksdoc.cli.parser import Commands, Parser, add_flag, add_switch, add_text
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.fleet import command as fleet_options
from kubectl_eksdoc.fleet.command import MemberFlags, run_fleet
from kubectl_eksdoc.model import api_objects, permissions

from . import in_cluster as inside
from .request import (
    COMMAND_NAME,
    GATES,
    SEVERITIES,
    SYMPTOMS,
    CheckRequest,
    check_manifests,
    checks_from_args,
    parse_since,
    read_earlier_result,
    read_extra_tables,
    read_suppression_rules,
    run_check,
    show_tables,
)

if TYPE_CHECKING:  # --help must not load plans
    from kubectl_eksdoc.model.findings import Suppression

    from ..checking import UpgradeCheck
    from ..plan import CheckScope

_FILENAME_FLAG = "--filename"

_ABOUT = """\
Check whether this cluster can be upgraded: what blocks which step, how to fix it, and the upgrade steps in order.
Includes the findings of drain plan, addon-diff, imds-probe, coredns-lameduck and interruption. Reads the cluster and
AWS, and changes nothing.

Examples:
  %(prog)s
  %(prog)s --target 1.34
  %(prog)s --target 1.34 --gate before-control-plane
  %(prog)s --only kubelet-skew,kube-proxy-skew
  %(prog)s --area workloads
  %(prog)s --fail-on high -o json
  %(prog)s --suppressions accepted.yaml -o junit
  %(prog)s --target 1.34 -o html > check.html
  %(prog)s --symptom dns --changed-since 2h
  %(prog)s --fleet 'prod-*' --target 1.34
  helm template ./chart | %(prog)s --only api-in-manifest -f - -f deploy/
  %(prog)s -f deploy/ --from 1.33 --target 1.34
  %(prog)s --tables
  %(prog)s --demo --target 1.34
  %(prog)s --in-cluster --schedule "0 6 * * mon-fri" --role-arn arn:aws:iam::111122223333:role/eksdoc
"""

_EXIT_CODES = """\
Exit codes: 0 nothing blocks the upgrade, 1 findings that fail, 5 something is unknown; 2 usage, 3 cluster, 4 AWS.
With --symptom: 0 nothing explains it, 1 something may, 5 nothing does, and something is unknown.
"""


def _code_names() -> Iterable[str]:
    from ..registry import CODES

    return [code.name for code in CODES]


_ONLY_KIND = values.Codes(_code_names, "check", "no finding code is named; leave the flag out for all")
"""No code at all would mean every check: an empty value from a script must not be taken for that choice."""


def _area_flags() -> tuple[str, ...]:
    from ..checking import Area

    return tuple(area.flag for area in Area)


def add_to(commands: Commands) -> None:
    """Add ``check``."""
    parser = add_command(
        commands,
        COMMAND_NAME,
        "check whether the cluster can be upgraded, and list the upgrade steps",
        "[flags]",
        _ABOUT,
        _EXIT_CODES,
        run,
        own_flags=(_FILENAME_FLAG,),
    )
    add_source(parser)
    _add_scope_flags(parser)
    _add_symptom_flags(parser)
    options.add_since(parser)
    fleet_options.add_to(parser)
    inside.add_to(parser)


def _add_scope_flags(parser: Parser) -> None:
    group = parser.add_argument_group("Scope")
    add_flag(
        group,
        "--target",
        "1.N",
        "the version to upgrade to, one minor at a time; default: the next one",
        values.version,
    )
    add_flag(
        group, "--gate", "STEP", f"show only what blocks this step: {', '.join(GATES)}", values.one_of(GATES, "gate")
    )
    add_flag(group, "--only", "CODE,…", "run only these checks, and read only what they need", _ONLY_KIND, ())
    add_flag(
        group,
        "--area",
        "AREA,…",
        "run only the checks of these areas; workloads (replicas, probes, spread) runs only if named",
        values.Codes(
            _area_flags, "check", "no area is named; leave the flag out for all", lists_known=True, word_name="area"
        ),
        (),
    )
    add_flag(
        group,
        "--fail-on",
        "SEVERITY",
        "lowest severity that causes exit code 1; default: low",
        values.one_of(SEVERITIES, "severity"),
    )
    add_flag(
        group,
        f"-f {_FILENAME_FLAG}",
        "MANIFESTS",
        "also check the API versions in manifests: a file, a folder (recursive) or -; may be repeated",
        action="append",
        default=[],
    )
    _add_input_flags(group)
    options.add_without_flag(group, *permissions.SKIPPABLE_NAMES)


def _add_input_flags(group: argparse._ArgumentGroup) -> None:
    add_flag(
        group,
        "--from",
        "1.N",
        "check only the manifests of -f, for an upgrade from this version; needs no cluster and no AWS",
        values.version,
        dest="from_version",
    )
    add_switch(
        group, "--refresh-insights", "refresh the EKS upgrade insights first; takes some minutes and changes nothing"
    )
    add_switch(group, "--no-aws", "do not query AWS; checks that need it are out of scope instead of unknown")
    add_flag(
        group,
        "--tables",
        "FILE",
        "add or override rows of the knowledge tables (YAML or JSON); without FILE: print the tables "
        "with their sources and age",
        nargs="?",
        const="",
    )
    options.add_accept_unknown(group, _code_names, "check")
    add_text(
        group,
        "--suppressions",
        "FILE",
        "suppress findings listed in a YAML or JSON file: code, reason, until, and kind, namespace, name with *",
    )


def _add_symptom_flags(parser: Parser) -> None:
    group = parser.add_argument_group("Diagnose a symptom")
    add_flag(
        group,
        "--symptom",
        "WHAT",
        f"show possible causes of this symptom, most likely first: {', '.join(SYMPTOMS)}",
        values.one_of(SYMPTOMS, "symptom"),
    )
    add_flag(
        group,
        "--changed-since",
        "WHEN",
        "list changes since a time: 2h (before the observation) or 2026-11-20T08:00:00Z",
        parse_since,
    )


def run(args: argparse.Namespace, context: CommandContext) -> CommandAnswer:
    """
    Raises:
        EksdocError: the command line, the cluster or AWS is at fault; the error says which.
    """
    if args.tables == "":
        return show_tables(args.words, context)
    if args.from_version is None:
        return _check_clusters(args, context)
    has_fleet = fleet_options.fleet_from(args, context, ("since", "in_cluster")) is not None
    return check_manifests(CheckRequest.from_args(args, context.source, has_fleet), context)


def _check_clusters(args: argparse.Namespace, context: CommandContext) -> CommandAnswer:
    """Check one cluster or a fleet, or create a CronJob that does."""
    # Imported late: --help and usage errors must not load what only a check needs.
    from kubectl_eksdoc.model.findings import Severity

    from ..baseline import compare_with_earlier
    from ..report.formats import CheckReport

    fleet = fleet_options.fleet_from(args, context, ("since", "in_cluster"))
    request = CheckRequest.from_args(args, context.source, has_fleet=fleet is not None)
    in_cluster_check = inside.from_args(args, request, context)
    if fleet is None and in_cluster_check is None:
        CheckReport.check_format(context.options.output)
    checks = checks_from_args(args)
    _require_checks(checks, request)
    suppressions = read_suppression_rules(request)
    if fleet is not None:
        member_flags = MemberFlags(
            COMMAND_NAME,
            api_objects.UPGRADE_CHECK,
            request.option_values,
            comma_separated=("only", "area", "accept-unknown"),
        )
        return run_fleet(fleet, member_flags, context, Severity(request.fail_on))
    if in_cluster_check is not None:
        return inside.run_in_cluster(request, in_cluster_check, checks, context)
    plan_arguments = (request, checks, _check_scope(request, suppressions), context)
    earlier_result = read_earlier_result(*plan_arguments)
    with answers.explain_forbidden(COMMAND_NAME):
        session, plan = run_check(*plan_arguments)
    if request.no_aws and not plan.judged:
        raise UsageError("--no-aws leaves out all that was asked for: only AWS knows it", "Choose others, or ask AWS.")
    answers.note_session(session, context)
    options.note_comparison(earlier_result, context)
    comparison = (
        compare_with_earlier(earlier_result, plan, request.option_values) if earlier_result is not None else None
    )
    report = CheckReport(plan, options=request.option_values, recognised=session.recognised, since=comparison)
    has_suspects = plan.diagnosis is not None and bool(plan.diagnosis.suspects)
    exit_code = streams.FAILS if has_suspects else answers.exit_code_of_status(plan.outcome.status)
    return answers.report_answer(report, context, exit_code)


def _check_scope(request: CheckRequest, suppressions: tuple[Suppression, ...]) -> CheckScope:
    from kubectl_eksdoc.model.findings import Severity

    from ..checking import Gate
    from ..plan import CheckScope
    from ..symptoms import Symptom, codes_of_symptom

    symptom = Symptom(request.symptom) if request.symptom else None
    return CheckScope(
        frozenset(request.codes if symptom is None else codes_of_symptom(symptom)),
        Gate(request.gate) if request.gate else None,
        Severity(request.fail_on),
        suppressions,
        symptom,
        accepted=frozenset(request.accepted),
        no_aws=request.no_aws,
        tables=read_extra_tables(request),
        areas=request.areas,
    )


def _require_checks(checks: Sequence[UpgradeCheck], request: CheckRequest) -> None:
    """Reject a request that no check covers: it must not pass.

    Raises:
        UsageError: no requested check is left with that gate and without those opt-ins, or no check judges the
            manifests.
    """
    from kubectl_eksdoc.model.findings import Code

    from ..checking import Gate
    from ..registry import choose_checks

    selection = ", ".join((*request.only, *request.areas))
    if not checks and choose_checks(request.codes, Gate(request.gate) if request.gate else None):
        raise UsageError(f"--without leaves out all of {selection}", "Choose others, or leave it in.")
    if not checks:
        gates = sorted({each.gate.value for each in choose_checks(request.codes) if each.gate and not each.partial})
        hint = f"Leave --gate out, or give --gate {' or '.join(gates)}." if gates else "Leave --gate out."
        raise UsageError(f"none of {selection} has to be fixed before --gate {request.gate}", hint)
    if request.files and not any(Code.of("api-in-manifest") in check.codes for check in checks):
        raise UsageError(
            f"nothing that was chosen judges the manifests of -f: that is {Code.of('api-in-manifest').name}",
            "Choose it, too.",
        )
