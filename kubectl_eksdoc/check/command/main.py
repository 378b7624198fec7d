"""``kubectl eksdoc check``: flags, and the run of the command."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import opening, options, streams, values
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import add_command, add_source
from kubectl_eksdoc.cli.parser import Commands, Parser, add_flag, add_switch, add_text
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.fleet import command as fleet_options
from kubectl_eksdoc.fleet.command import MemberFlags, over_fleet
from kubectl_eksdoc.model import api_objects, permissions

from . import in_cluster as inside
from .request import (
    GATES,
    NAME,
    SEVERITIES,
    SYMPTOMS,
    CheckRequest,
    answered,
    chosen_from,
    earlier,
    judged_files,
    shown_tables,
    since,
    suppressions_of,
    tables_of,
)

if TYPE_CHECKING:  # --help must not load plans
    from kubectl_eksdoc.model.findings import Suppression

    from ..checking import UpgradeCheck
    from ..plan import CheckWish

_FILES = "--filename"

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


def _codes() -> Iterable[str]:
    from ..registry import CODES

    return [code.name for code in CODES]


_ONLY = values.Codes(_codes, "check", "no finding code is named; leave the flag out for all")
"""No code at all would mean every check: an empty value from a script must not be taken for that choice."""


def _areas() -> tuple[str, ...]:
    from ..checking import Area

    return tuple(area.flag for area in Area)


def add_to(commands: Commands) -> None:
    """Add ``check``."""
    parser = add_command(
        commands,
        NAME,
        "check whether the cluster can be upgraded, and list the upgrade steps",
        "[flags]",
        _ABOUT,
        _EXIT_CODES,
        run,
        own=(_FILES,),
    )
    add_source(parser)
    _add_judged(parser)
    _add_when_it_hurts(parser)
    options.add_since_to(parser)
    fleet_options.add_to(parser)
    inside.add_to(parser)


def _add_judged(parser: Parser) -> None:
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
    add_flag(group, "--only", "CODE,…", "run only these checks, and read only what they need", _ONLY, ())
    add_flag(
        group,
        "--area",
        "AREA,…",
        "run only the checks of these areas; workloads (replicas, probes, spread) runs only if named",
        values.Codes(_areas, "check", "no area is named; leave the flag out for all", listed=True, what="area"),
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
        f"-f {_FILES}",
        "MANIFESTS",
        "also check the API versions in manifests: a file, a folder (recursive) or -; may be repeated",
        action="append",
        default=[],
    )
    _add_rest(group)
    options.add_without(group, *permissions.SKIPPABLE)


def _add_rest(group: argparse._ArgumentGroup) -> None:
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
    options.add_accepted(group, _codes, "check")
    add_text(
        group,
        "--suppressions",
        "FILE",
        "suppress findings listed in a YAML or JSON file: code, reason, until, and kind, namespace, name with *",
    )


def _add_when_it_hurts(parser: Parser) -> None:
    pain = parser.add_argument_group("Diagnose a symptom")
    add_flag(
        pain,
        "--symptom",
        "WHAT",
        f"show possible causes of this symptom, most likely first: {', '.join(SYMPTOMS)}",
        values.one_of(SYMPTOMS, "symptom"),
    )
    add_flag(
        pain,
        "--changed-since",
        "WHEN",
        "list changes since a time: 2h (before the observation) or 2026-11-20T08:00:00Z",
        since,
    )


def run(args: argparse.Namespace, around: CommandContext) -> CommandAnswer:
    """
    Raises:
        EksdocError: the command line, the cluster or AWS is at fault; the error says which.
    """
    if args.tables == "":
        return shown_tables(args.words, around)
    if args.from_version is None:
        return _of_clusters(args, around)
    several = fleet_options.fleet_from(args, around, ("since", "in_cluster")) is not None
    return judged_files(CheckRequest.from_args(args, around.source, several), around)


def _of_clusters(args: argparse.Namespace, around: CommandContext) -> CommandAnswer:
    """Check one cluster or a fleet, or create a CronJob that does."""
    # Imported late: --help and usage errors must not load what only a check needs.
    from kubectl_eksdoc.model.findings import Severity

    from ..baseline import against
    from ..report.formats import CheckReport

    fleet = fleet_options.fleet_from(args, around, ("since", "in_cluster"))
    request = CheckRequest.from_args(args, around.source, several=fleet is not None)
    wanted = inside.from_args(args, request, around)
    if fleet is None and wanted is None:
        CheckReport.check(around.options.output)
    checks = chosen_from(args)
    _judging_something(checks, request)
    suppressions = suppressions_of(request)
    if fleet is not None:
        passed = MemberFlags(NAME, api_objects.UPGRADE_CHECK, request.given, joined=("only", "area", "accept-unknown"))
        return over_fleet(fleet, passed, around, Severity(request.fail_on))
    if wanted is not None:
        return inside.inside(request, wanted, checks, around)
    asked = (request, checks, _wish(request, suppressions), around)
    before = earlier(*asked)
    with opening.explaining(NAME):
        session, plan = answered(*asked)
    if request.no_aws and not plan.judged:
        raise UsageError("--no-aws leaves out all that was asked for: only AWS knows it", "Choose others, or ask AWS.")
    opening.told(session, around)
    options.told(before, around)
    beside = against(before, plan, request.given) if before is not None else None
    report = CheckReport(plan, options=request.given, recognised=session.recognised, since=beside)
    explained = plan.diagnosis is not None and bool(plan.diagnosis.suspects)
    code = streams.FAILS if explained else opening.of(plan.outcome.status)
    return opening.answer(report, around, code)


def _wish(request: CheckRequest, suppressions: tuple[Suppression, ...]) -> CheckWish:
    from kubectl_eksdoc.model.findings import Severity

    from ..checking import Gate
    from ..plan import CheckWish
    from ..symptoms import Symptom, codes_of

    symptom = Symptom(request.symptom) if request.symptom else None
    return CheckWish(
        frozenset(request.codes if symptom is None else codes_of(symptom)),
        Gate(request.gate) if request.gate else None,
        Severity(request.fail_on),
        suppressions,
        symptom,
        accepted=frozenset(request.accepted),
        no_aws=request.no_aws,
        tables=tables_of(request),
        areas=request.areas,
    )


def _judging_something(checks: Sequence[UpgradeCheck], request: CheckRequest) -> None:
    """Reject a request that no check covers: it must not pass.

    Raises:
        UsageError: no requested check is left with that gate and without those opt-ins, or no check judges the
            manifests.
    """
    from kubectl_eksdoc.model.findings import Code

    from ..checking import Gate
    from ..registry import chosen

    named = ", ".join((*request.only, *request.areas))
    if not checks and chosen(request.codes, Gate(request.gate) if request.gate else None):
        raise UsageError(f"--without leaves out all of {named}", "Choose others, or leave it in.")
    if not checks:
        gates = sorted({each.gate.value for each in chosen(request.codes) if each.gate and not each.part})
        where = f"Leave --gate out, or give --gate {' or '.join(gates)}." if gates else "Leave --gate out."
        raise UsageError(f"none of {named} has to be fixed before --gate {request.gate}", where)
    if request.files and not any(Code.of("api-in-manifest") in check.codes for check in checks):
        raise UsageError(
            f"nothing that was chosen judges the manifests of -f: that is {Code.of('api-in-manifest').name}",
            "Choose it, too.",
        )
