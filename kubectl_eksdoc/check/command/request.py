"""Request of the check command: its parsed flags, the checks it selects, and the results it needs."""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import opening, options, values
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext
from kubectl_eksdoc.cli.options import non_empty, since_from, without_from
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import permissions
from kubectl_eksdoc.model.connection import CommandTarget
from kubectl_eksdoc.session.sources import SourceChoice

if TYPE_CHECKING:
    from kubectl_eksdoc.amazon.removed_apis import Tables
    from kubectl_eksdoc.model.baseline import SavedResult
    from kubectl_eksdoc.model.findings import Suppression
    from kubectl_eksdoc.model.quantities import Version
    from kubectl_eksdoc.session.session import ClusterSession

    from ..checking import UpgradeCheck
    from ..plan import CheckPlan, CheckWish


# ``--changed-since``: a time, or a duration before the observation.


_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_DAYS = re.compile(r"([0-9]{1,3})d\Z")
_LONGEST = timedelta(days=366)


@frozen
class Since:
    """One of `at` and `before` is None. `text`: the value of the flag."""

    text: str
    at: datetime | None = None
    before: timedelta | None = None


def since(text: str) -> Since:
    """``2h``, ``90m``, ``3d``, or RFC 3339 with its zone."""
    if _MOMENT.fullmatch(text):
        try:
            # For Python 3.10: no Z, and at most six digits of a second.
            whole = text.upper().replace("Z", "+00:00")
            plain = re.sub(r"\.([0-9]+)", lambda match: f".{match.group(1)[:6]:0<6}", whole)
            return Since(text, at=datetime.fromisoformat(plain).astimezone(timezone.utc))
        except (ValueError, OverflowError) as error:
            raise argparse.ArgumentTypeError(f"{text!r} is no moment: {error}") from error
    days = _DAYS.match(text)
    try:
        length = timedelta(days=int(days.group(1))) if days else timedelta(seconds=values.seconds(text))
    except (argparse.ArgumentTypeError, OverflowError):
        length = timedelta(0)
    if not timedelta(0) < length <= _LONGEST:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write 2h, 90m, 3d, or 2026-11-20T08:00:00Z")
    return Since(text, before=length)


def moment(given: Since | None, observed: datetime) -> datetime | None:
    """The time since which changes are listed; None without the flag."""
    if given is None:
        return None
    return given.at if given.before is None else observed - given.before


NAME = "check"
GATES = ("before-control-plane", "before-nodes", "after")
SEVERITIES = ("critical", "high", "medium", "low", "info")
LOWEST = "low"
SYMPTOMS = ("dns", "targets", "credentials", "drain-stuck")
STDIN = "-"
_OF_FILES = "api-in-manifest"
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
    since: Since | None
    refresh: bool
    earlier: str
    without: tuple[str, ...]
    no_aws: bool
    since_version: Version | None
    tables: str
    areas: tuple[str, ...]

    @staticmethod
    def from_args(args: argparse.Namespace, source: SourceChoice, several: bool = False) -> CheckRequest:
        """`has_fleet`: several clusters are checked.

        Raises:
            UsageError: a named code or area has no check, or the flags contradict each other.
        """
        if args.words:
            raise UsageError(f"{args.words[0]!r} is not understood: it is about the whole cluster", "Name nothing.")
        if args.symptom and (args.gate or args.only or args.area):
            other = "--gate" if args.gate else "--only" if args.only else "--area"
            raise UsageError(f"--symptom selects what is checked, and {other} does so, too", "Give one of them.")
        files = tuple(dict.fromkeys(args.filename))
        if STDIN in files and source.snapshot == STDIN:
            raise UsageError("standard input is a snapshot or manifests, not both", "Save one of them to a file.")
        if STDIN in files and several:
            raise UsageError("standard input is read once, and --fleet asks many clusters", "Save it to a file.")
        if args.only == (_OF_FILES,) and not args.area and not files:
            raise UsageError(f"--only {_OF_FILES} judges manifests, and none are given", "Name them with -f.")
        if args.refresh_insights and not source.live:
            raise UsageError("--refresh-insights needs a live cluster", "Leave it out.")
        if args.refresh_insights and args.no_aws:
            raise UsageError("--refresh-insights asks EKS, and --no-aws leaves AWS out", "Give one of them.")
        if args.from_version is not None:
            _of_files_alone(args, files, several)
        return CheckRequest(
            args.target,
            args.gate or "",
            args.only,
            args.fail_on or LOWEST,
            args.accept_unknown,
            files,
            args.suppressions,
            args.symptom or "",
            args.changed_since,
            args.refresh_insights,
            since_from(args),
            without_from(args),
            args.no_aws,
            args.from_version,
            args.tables or "",
            args.area,
        )

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes that `only` and `areas` request."""
        return named_codes(self.only, self.areas)

    @property
    def given(self) -> dict[str, object]:
        """The values by the names of the flags."""
        return non_empty(
            {
                "target": "" if self.target is None else str(self.target)[1:],
                "gate": self.gate,
                "only": list(self.only),
                "area": list(self.areas),
                "fail-on": "" if self.fail_on == LOWEST else self.fail_on,
                "accept-unknown": list(self.accepted),
                "suppressions": self.suppressions,
                "tables": self.tables,
                "symptom": self.symptom,
                "changed-since": "" if self.since is None else self.since.text,
                "filename": list(self.files),
                "refresh-insights": self.refresh,
                "since": self.earlier,
                "without": list(self.without),
                "no-aws": self.no_aws,
                "from": "" if self.since_version is None else str(self.since_version)[1:],
            }
        )

    @property
    def again(self) -> tuple[tuple[str, ...], ...]:
        """The flags, each with its value, that a command needs to check a part of it again."""
        flags = (
            (f"--{name}", *(() if value is True else (",".join(value) if isinstance(value, list) else str(value),)))
            for name, value in self.given.items()
            if name in _AGAIN
        )
        return (*flags, *(("-f", each) for each in self.files))


_AGAIN = ("target", "fail-on", "accept-unknown", "suppressions", "tables", "without", "no-aws")
_OF_CLUSTERS = {
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


def _of_files_alone(args: argparse.Namespace, files: Sequence[str], several: bool) -> None:
    """Check the flags of a check of manifests alone.

    Raises:
        UsageError: a flag needs more than files.
    """
    if not files:
        raise UsageError("--from judges manifests without a cluster, and none are given", "Name them with -f.")
    given = [flag for name, flag in _OF_CLUSTERS.items() if getattr(args, name, None)]
    if several or given:
        raise UsageError(
            f"--from reads no cluster, and {given[0] if given else '--fleet'} does", "Leave one of them out."
        )
    if args.area or (args.only and args.only != (_OF_FILES,)):
        flag = "--area" if args.area else "--only"
        raise UsageError(f"--from judges manifests alone: that is {_OF_FILES}", f"Leave {flag} out.")


def named_codes(only: Collection[str], areas: Collection[str]) -> tuple[str, ...]:
    """The finding codes that --only and --area request; none without both."""
    if not areas:
        return tuple(only)
    from ..registry import codes_of

    return tuple(dict.fromkeys((*only, *codes_of(areas))))


def chosen_from(args: argparse.Namespace) -> tuple[UpgradeCheck, ...]:
    """The checks that the flags select."""
    from ..checking import Gate
    from ..registry import chosen
    from ..symptoms import Symptom, codes_of

    codes = codes_of(Symptom(args.symptom)) if args.symptom else named_codes(args.only, args.area)
    return chosen(codes, Gate(args.gate) if args.gate else None, without_from(args))


# Results of ``check``: of a cluster, or of an earlier snapshot; of manifests alone; the knowledge tables.


def answered(
    request: CheckRequest, checks: Sequence[UpgradeCheck], wish: CheckWish, around: CommandContext
) -> tuple[ClusterSession, CheckPlan]:
    """Run the check. `scope` is without a time for changes, because that depends on the time of the observation.

    Raises:
        EksdocError: the command line, a file, the cluster or AWS is at fault; the error says which.
    """
    from kubectl_eksdoc.coredns_lameduck.command.change_options import measured_on

    from ..read import CheckInput, look, needs_for

    needs = needs_for(checks, request.since is not None, not request.no_aws)
    session = opening.opened(around, needs)
    if request.refresh:
        _refresh(session, around)
    since = moment(request.since, session.cluster.observed_at)
    if since is not None and since > session.cluster.observed_at:
        seen = session.cluster.observed_at.strftime("%Y-%m-%dT%H:%M:%SZ")
        raise UsageError(
            f"--changed-since {request.since and request.since.text} is after the cluster was observed, at {seen}",
            "Give a moment before that, or 2h.",
        )
    reach = opening.reach(around, session)
    reach = replace(reach, checks=request.again)
    beside = CheckInput(request.files, measured_on(around), permissions.PROXY.name not in request.without)
    wish = replace(wish, since=since)
    return session, look(session, request.target, checks, wish, reach, beside)


def earlier(
    request: CheckRequest, checks: Sequence[UpgradeCheck], wish: CheckWish, around: CommandContext
) -> SavedResult | None:
    """The result for --since: a saved check, or the same check of an earlier snapshot, without earlier changes and
    without a refresh of insights; None without the flag.

    Raises:
        BaselineError: the file is neither.
    """
    from kubectl_eksdoc.baseline.side import SnapshotOrigin
    from kubectl_eksdoc.model.api_objects import UPGRADE_CHECK

    from ..baseline import as_earlier

    def made(around: CommandContext) -> SavedResult:
        if STDIN in request.files:
            raise UsageError(
                "the manifests on standard input are read once, and here they are judged twice",
                "Save them to a file, and name it with -f.",
            )
        _, plan = answered(replace(request, since=None, refresh=False), checks, wish, around)
        return as_earlier(SnapshotOrigin(request.earlier, __version__, request.given), plan)

    return options.earlier(request.earlier, UPGRADE_CHECK, NAME, made, around)


def _refresh(session: ClusterSession, around: CommandContext) -> None:
    """Refresh the insights of EKS.

    Raises:
        AwsError: IAM does not allow it.
    """
    from kubectl_eksdoc.aws.upgrades import InsightRefresh
    from kubectl_eksdoc.model.kinds import Unknown

    from ..read import refreshed

    of = session.ask(InsightRefresh)
    if isinstance(of, Unknown):
        around.note(f"the insights of EKS were not refreshed: {of.why}")
        return
    around.note("EKS refreshes its insights, which takes some minutes …")
    around.note(refreshed(of, around.now, around.sleep))


def tables_of(request: CheckRequest) -> Tables:
    from kubectl_eksdoc.amazon.removed_apis import Tables

    if not request.tables:
        return Tables()
    from kubectl_eksdoc.host.check_files import read_tables

    return read_tables(request.tables)


def suppressions_of(request: CheckRequest) -> tuple[Suppression, ...]:
    """Rules for any code of ``check``, also for codes that are not checked now. Raises SuppressionsError."""
    if not request.suppressions:
        return ()
    from kubectl_eksdoc.host.check_files import read_suppressions

    from ..registry import known_codes

    return read_suppressions(request.suppressions, known_codes())


# Manifests without a cluster. It imports only what that needs, because a gate in CI has to be fast.


def judged_files(request: CheckRequest, around: CommandContext) -> CommandAnswer:
    """Check manifests alone.

    Raises:
        UsageError: a file does not exist, there is no path to the target, or the output format is unknown.
        SuppressionsError: the file of --suppressions cannot be used.
    """
    from kubectl_eksdoc.amazon.versions import NoPath, in_words
    from kubectl_eksdoc.host.manifest_files import read_manifests
    from kubectl_eksdoc.model.api_objects import ApiUsage
    from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
    from kubectl_eksdoc.model.findings import Code, Severity
    from kubectl_eksdoc.report.identity import identity_line

    from ..checking import CheckFacts, CurrentVersion, Gate, way
    from ..checks.api_manifests import CHECKS
    from ..plan import CheckWish, plan_check
    from ..report.formats import CheckReport

    code = Code.of("api-in-manifest")
    begin = request.since_version
    assert begin is not None
    CheckReport.check(around.options.output)
    found = way(CurrentVersion(begin, "as --from says"), request.target)
    if isinstance(found, NoPath):
        raise UsageError(f"there is no upgrade path to the target: {found.why}", "Give --from and --target.")
    cluster = Cluster(Identity(), Source.FILE, around.now())
    facts = CheckFacts.of_files(cluster, found, ApiUsage(manifests=read_manifests(request.files)))
    wish = CheckWish(
        frozenset({code.name}),
        fail_on=Severity(request.fail_on),
        suppressions=suppressions_of(request),
        accepted=frozenset(request.accepted),
        tables=tables_of(request),
    )
    again = (("--target", in_words(found.target)), *(each for each in request.again if each[0] != "--target"))
    # An API that the control plane refuses now is refused after its step, too: everything has to be fixed before.
    checks = [replace(each, gate=Gate.BEFORE_CONTROL_PLANE) for each in CHECKS if code in each.codes]
    plan = plan_check(facts, checks, wish, CommandTarget(("--from", in_words(found.now)), checks=again))
    around.note(identity_line(cluster, around.now()))
    report = CheckReport(plan, options=request.given)
    return opening.answer(report, around, opening.of(plan.outcome.status))


def shown_tables(words: Sequence[str], around: CommandContext) -> CommandAnswer:
    """Print the knowledge tables.

    Raises:
        UsageError: another format than a table is requested.
    """
    from ..plan import tables
    from ..report.formats import TablesReport

    if words:
        raise UsageError(f"{words[0]!r} is not understood: --tables shows all of them", "Name nothing.")
    return opening.answer(TablesReport(tables(), around.now().date()), around)
