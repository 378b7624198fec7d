"""Request of the check command: its parsed flags, the checks it selects, and the results it needs."""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import answers, options, values
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import given_flags, since_from_args, without_from_args
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import permissions
from kubectl_eksdoc.model.connection import CommandTarget
from kubectl_eksdoc.session.sources import SourceChoice

if TYPE_CHECKING:
    from kubectl_eksdoc.amazon.removed_apis import KnowledgeTables
    from kubectl_eksdoc.model.baseline import SavedResult
    from kubectl_eksdoc.model.findings import Suppression
    from kubectl_eksdoc.model.quantities import Version
    from kubectl_eksdoc.session.session import ClusterSession

    from ..checking import UpgradeCheck
    from ..plan import CheckPlan, CheckScope


# ``--changed-since``: a time, or a duration before the observation.


_TIME_PATTERN = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_DAYS_PATTERN = re.compile(r"([0-9]{1,3})d\Z")
_MAX_AGE = timedelta(days=366)


@frozen
class ChangedSince:
    """One of `at` and `before` is None. `text`: the value of the flag."""

    text: str
    at: datetime | None = None
    before: timedelta | None = None


def parse_since(text: str) -> ChangedSince:
    """``2h``, ``90m``, ``3d``, or RFC 3339 with its zone."""
    if _TIME_PATTERN.fullmatch(text):
        try:
            # For Python 3.10: no Z, and at most six digits of a second.
            normalized = text.upper().replace("Z", "+00:00")
            shortened = re.sub(r"\.([0-9]+)", lambda match: f".{match.group(1)[:6]:0<6}", normalized)
            return ChangedSince(text, at=datetime.fromisoformat(shortened).astimezone(timezone.utc))
        except (ValueError, OverflowError) as error:
            raise argparse.ArgumentTypeError(f"{text!r} is no moment: {error}") from error
    days = _DAYS_PATTERN.match(text)
    try:
        length = timedelta(days=int(days.group(1))) if days else timedelta(seconds=values.seconds(text))
    except (argparse.ArgumentTypeError, OverflowError):
        length = timedelta(0)
    if not timedelta(0) < length <= _MAX_AGE:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write 2h, 90m, 3d, or 2026-11-20T08:00:00Z")
    return ChangedSince(text, before=length)


def resolve_since(since: ChangedSince | None, observed_at: datetime) -> datetime | None:
    """The time since which changes are listed; None without the flag."""
    if since is None:
        return None
    return since.at if since.before is None else observed_at - since.before


COMMAND_NAME = "check"
GATES = ("before-control-plane", "before-nodes", "after")
SEVERITIES = ("critical", "high", "medium", "low", "info")
DEFAULT_FAIL_ON = "low"
SYMPTOMS = ("dns", "targets", "credentials", "drain-stuck")
STDIN = "-"
_MANIFEST_CODE = "api-in-manifest"
"""The only finding about files."""


@frozen
class CheckRequest:
    """`target` None: the next minor version. `gate`: "" for all; `only`: finding codes, and `areas` of them, none for
    all; `accepted`: codes that may be unknown; `files`: of manifests; `suppressions`: a file, "" for none; `symptom`:
    "" for none. `refresh`: refresh the EKS insights first. `earlier_file`: of an earlier check, "" for none. `without`:
    opt-ins that are left out. `no_aws`: AWS is left out. `since_version`: check only manifests, from that version on.
    `tables`: a file of rows, "" for none."""

    target: Version | None
    gate: str
    only: tuple[str, ...]
    fail_on: str
    accepted: tuple[str, ...]
    files: tuple[str, ...]
    suppressions: str
    symptom: str
    since: ChangedSince | None
    refresh: bool
    earlier_file: str
    without: tuple[str, ...]
    no_aws: bool
    since_version: Version | None
    tables: str
    areas: tuple[str, ...]

    @staticmethod
    def from_args(args: argparse.Namespace, source: SourceChoice, has_fleet: bool = False) -> CheckRequest:
        """`has_fleet`: several clusters are checked.

        Raises:
            UsageError: a named code or area has no check, or the flags contradict each other.
        """
        if args.words:
            raise UsageError(f"{args.words[0]!r} is not understood: it is about the whole cluster", "Name nothing.")
        if args.symptom and (args.gate or args.only or args.area):
            other_flag = "--gate" if args.gate else "--only" if args.only else "--area"
            raise UsageError(f"--symptom selects what is checked, and {other_flag} does so, too", "Give one of them.")
        files = tuple(dict.fromkeys(args.filename))
        if STDIN in files and source.snapshot == STDIN:
            raise UsageError("standard input is a snapshot or manifests, not both", "Save one of them to a file.")
        if STDIN in files and has_fleet:
            raise UsageError("standard input is read once, and --fleet asks many clusters", "Save it to a file.")
        if args.only == (_MANIFEST_CODE,) and not args.area and not files:
            raise UsageError(f"--only {_MANIFEST_CODE} judges manifests, and none are given", "Name them with -f.")
        if args.refresh_insights and not source.live:
            raise UsageError("--refresh-insights needs a live cluster", "Leave it out.")
        if args.refresh_insights and args.no_aws:
            raise UsageError("--refresh-insights asks EKS, and --no-aws leaves AWS out", "Give one of them.")
        if args.from_version is not None:
            _check_manifest_flags(args, files, has_fleet)
        return CheckRequest(
            args.target,
            args.gate or "",
            args.only,
            args.fail_on or DEFAULT_FAIL_ON,
            args.accept_unknown,
            files,
            args.suppressions,
            args.symptom or "",
            args.changed_since,
            args.refresh_insights,
            since_from_args(args),
            without_from_args(args),
            args.no_aws,
            args.from_version,
            args.tables or "",
            args.area,
        )

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes that `only` and `areas` request."""
        return requested_codes(self.only, self.areas)

    @property
    def option_values(self) -> dict[str, object]:
        """The values by the names of the flags."""
        return given_flags(
            {
                "target": "" if self.target is None else str(self.target)[1:],
                "gate": self.gate,
                "only": list(self.only),
                "area": list(self.areas),
                "fail-on": "" if self.fail_on == DEFAULT_FAIL_ON else self.fail_on,
                "accept-unknown": list(self.accepted),
                "suppressions": self.suppressions,
                "tables": self.tables,
                "symptom": self.symptom,
                "changed-since": "" if self.since is None else self.since.text,
                "filename": list(self.files),
                "refresh-insights": self.refresh,
                "since": self.earlier_file,
                "without": list(self.without),
                "no-aws": self.no_aws,
                "from": "" if self.since_version is None else str(self.since_version)[1:],
            }
        )

    @property
    def follow_up_flags(self) -> tuple[tuple[str, ...], ...]:
        """The flags, each with its value, that a command needs to check a part of it again."""
        flags = (
            (f"--{name}", *(() if value is True else (",".join(value) if isinstance(value, list) else str(value),)))
            for name, value in self.option_values.items()
            if name in _FOLLOW_UP_OPTIONS
        )
        return (*flags, *(("-f", each) for each in self.files))


_FOLLOW_UP_OPTIONS = ("target", "fail-on", "accept-unknown", "suppressions", "tables", "without", "no-aws")
_CLUSTER_FLAGS = {
    "snapshot": "--snapshot",
    "demo": "--demo",
    "gate": "--gate",
    "symptom": "--symptom",
    "changed_since": "--changed-since",
    "refresh_insights": "--refresh-insights",
    "since": "--since",
    "in_cluster": "--in-cluster",
}
"""Flags that are about a cluster, by their argparse dests."""


def _check_manifest_flags(args: argparse.Namespace, files: Sequence[str], has_fleet: bool) -> None:
    """Check the flags of a check of manifests alone.

    Raises:
        UsageError: a flag needs more than files.
    """
    if not files:
        raise UsageError("--from judges manifests without a cluster, and none are given", "Name them with -f.")
    cluster_flags = [flag for name, flag in _CLUSTER_FLAGS.items() if getattr(args, name, None)]
    if has_fleet or cluster_flags:
        raise UsageError(
            f"--from reads no cluster, and {cluster_flags[0] if cluster_flags else '--fleet'} does",
            "Leave one of them out.",
        )
    if args.area or (args.only and args.only != (_MANIFEST_CODE,)):
        flag = "--area" if args.area else "--only"
        raise UsageError(f"--from judges manifests alone: that is {_MANIFEST_CODE}", f"Leave {flag} out.")


def requested_codes(only: Collection[str], areas: Collection[str]) -> tuple[str, ...]:
    """The finding codes that --only and --area request; none without both."""
    if not areas:
        return tuple(only)
    from ..registry import codes_of_areas

    return tuple(dict.fromkeys((*only, *codes_of_areas(areas))))


def checks_from_args(args: argparse.Namespace) -> tuple[UpgradeCheck, ...]:
    """The checks that the flags select."""
    from ..checking import Gate
    from ..registry import choose_checks
    from ..symptoms import Symptom, codes_of_symptom

    codes = codes_of_symptom(Symptom(args.symptom)) if args.symptom else requested_codes(args.only, args.area)
    return choose_checks(codes, Gate(args.gate) if args.gate else None, without_from_args(args))


# Results of ``check``: of a cluster, or of an earlier snapshot; of manifests alone; the knowledge tables.


def run_check(
    request: CheckRequest, checks: Sequence[UpgradeCheck], scope: CheckScope, context: CommandContext
) -> tuple[ClusterSession, CheckPlan]:
    """Run the check. `scope` is without a time for changes, because that depends on the time of the observation.

    Raises:
        EksdocError: the command line, a file, the cluster or AWS is at fault; the error says which.
    """
    from kubectl_eksdoc.coredns_lameduck.command.change_options import measurement_lookup

    from ..read import CheckInput, needs_for, run_checks

    needs = needs_for(checks, request.since is not None, not request.no_aws)
    session = answers.open_session(context, needs)
    if request.refresh:
        _refresh_insights(session, context)
    since = resolve_since(request.since, session.cluster.observed_at)
    if since is not None and since > session.cluster.observed_at:
        observed_text = session.cluster.observed_at.strftime("%Y-%m-%dT%H:%M:%SZ")
        raise UsageError(
            f"--changed-since {request.since and request.since.text} is after the cluster was observed, at "
            f"{observed_text}",
            "Give a moment before that, or 2h.",
        )
    command_target = answers.command_target(context, session)
    command_target = replace(command_target, checks=request.follow_up_flags)
    check_input = CheckInput(request.files, measurement_lookup(context), permissions.PROXY.name not in request.without)
    scope = replace(scope, since=since)
    return session, run_checks(session, request.target, checks, scope, command_target, check_input)


def read_earlier_result(
    request: CheckRequest, checks: Sequence[UpgradeCheck], scope: CheckScope, context: CommandContext
) -> SavedResult | None:
    """The result for --since: a saved check, or the same check of an earlier snapshot, without earlier changes and
    without a refresh of insights; None without the flag.

    Raises:
        BaselineError: the file is neither.
    """
    from kubectl_eksdoc.baseline.side import SnapshotOrigin
    from kubectl_eksdoc.model.api_objects import UPGRADE_CHECK

    from ..baseline import as_saved_result

    def check_snapshot(context: CommandContext) -> SavedResult:
        if STDIN in request.files:
            raise UsageError(
                "the manifests on standard input are read once, and here they are judged twice",
                "Save them to a file, and name it with -f.",
            )
        _, plan = run_check(replace(request, since=None, refresh=False), checks, scope, context)
        return as_saved_result(SnapshotOrigin(request.earlier_file, __version__, request.option_values), plan)

    return options.earlier_result(request.earlier_file, UPGRADE_CHECK, COMMAND_NAME, check_snapshot, context)


def _refresh_insights(session: ClusterSession, context: CommandContext) -> None:
    """Refresh the insights of EKS.

    Raises:
        AwsError: IAM does not allow it.
    """
    from kubectl_eksdoc.aws.upgrades import InsightRefresh
    from kubectl_eksdoc.model.kinds import Unknown

    from ..read import refresh_insights

    refresh = session.ask(InsightRefresh)
    if isinstance(refresh, Unknown):
        context.note(f"the insights of EKS were not refreshed: {refresh.why}")
        return
    context.note("EKS refreshes its insights, which takes some minutes …")
    context.note(refresh_insights(refresh, context.now, context.sleep))


def read_extra_tables(request: CheckRequest) -> KnowledgeTables:
    from kubectl_eksdoc.amazon.removed_apis import KnowledgeTables

    if not request.tables:
        return KnowledgeTables()
    from kubectl_eksdoc.host.check_files import read_tables

    return read_tables(request.tables)


def read_suppression_rules(request: CheckRequest) -> tuple[Suppression, ...]:
    """Rules for any code of ``check``, also for codes that are not checked now. Raises SuppressionsError."""
    if not request.suppressions:
        return ()
    from kubectl_eksdoc.host.check_files import read_suppressions

    from ..registry import known_codes

    return read_suppressions(request.suppressions, known_codes())


# Manifests without a cluster. It imports only what that needs, because a gate in CI has to be fast.


def check_manifests(request: CheckRequest, context: CommandContext) -> CommandAnswer:
    """Check manifests alone.

    Raises:
        UsageError: a file does not exist, there is no path to the target, or the output format is unknown.
        SuppressionsError: the file of --suppressions cannot be used.
    """
    from kubectl_eksdoc.amazon.versions import NoPath, format_version
    from kubectl_eksdoc.host.manifest_files import read_manifests
    from kubectl_eksdoc.model.api_objects import ApiUsage
    from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
    from kubectl_eksdoc.model.findings import Code, Severity
    from kubectl_eksdoc.report.identity import identity_line

    from ..checking import CheckFacts, CurrentVersion, Gate, upgrade_path
    from ..checks.api_manifests import CHECKS
    from ..plan import CheckScope, plan_check
    from ..report.formats import CheckReport

    code = Code.of("api-in-manifest")
    from_version = request.since_version
    assert from_version is not None
    CheckReport.check_format(context.options.output)
    path = upgrade_path(CurrentVersion(from_version, "as --from says"), request.target)
    if isinstance(path, NoPath):
        raise UsageError(f"there is no upgrade path to the target: {path.reason}", "Give --from and --target.")
    cluster = Cluster(Identity(), Source.FILE, context.now())
    facts = CheckFacts.of_files(cluster, path, ApiUsage(manifests=read_manifests(request.files)))
    scope = CheckScope(
        frozenset({code.name}),
        fail_on=Severity(request.fail_on),
        suppressions=read_suppression_rules(request),
        accepted=frozenset(request.accepted),
        tables=read_extra_tables(request),
    )
    follow_up_flags = (
        ("--target", format_version(path.target)),
        *(each for each in request.follow_up_flags if each[0] != "--target"),
    )
    # An API that the control plane refuses now is refused after its step, too: everything has to be fixed before.
    checks = [replace(each, gate=Gate.BEFORE_CONTROL_PLANE) for each in CHECKS if code in each.codes]
    plan = plan_check(facts, checks, scope, CommandTarget(("--from", format_version(path.now)), checks=follow_up_flags))
    context.note(identity_line(cluster, context.now()))
    report = CheckReport(plan, options=request.option_values)
    return answers.report_answer(report, context, answers.exit_code_of_status(plan.outcome.status))


def show_tables(words: Sequence[str], context: CommandContext) -> CommandAnswer:
    """Print the knowledge tables.

    Raises:
        UsageError: another format than a table is requested.
    """
    from ..plan import table_outlines
    from ..report.formats import TablesReport

    if words:
        raise UsageError(f"{words[0]!r} is not understood: --tables shows all of them", "Name nothing.")
    return answers.report_answer(TablesReport(table_outlines(), context.now().date()), context)
