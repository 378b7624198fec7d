"""The answers of ``check``: of a cluster, or what was read of it earlier; of manifests alone; the tables it goes by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import look as looks
from kubectl_eksdoc.cli import opening, options
from kubectl_eksdoc.cli.check.request import NAME, STDIN, CheckRequest, moment
from kubectl_eksdoc.cli.options import GlobalOptions
from kubectl_eksdoc.cli.surroundings import CommandAnswer, CommandContext
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.model import permissions
from kubectl_eksdoc.session.sources import SourceChoice

if TYPE_CHECKING:  # help must not pay for plans
    from kubectl_eksdoc.amazon.upgrades.tables import Tables
    from kubectl_eksdoc.check.checking import UpgradeCheck
    from kubectl_eksdoc.check.plan import CheckPlan, CheckWish
    from kubectl_eksdoc.model.earlier import SavedResult
    from kubectl_eksdoc.session.session import ClusterSession


def answered(
    request: CheckRequest, checks: Sequence[UpgradeCheck], wish: CheckWish, around: CommandContext
) -> tuple[ClusterSession, CheckPlan]:
    """Since when changes are told depends on when the cluster was observed, so that `wish` does not say it yet.

    Raises:
        EksdocError: the command line, a file, the cluster or AWS is at fault; the error says which.
    """
    from kubectl_eksdoc.check.read import CheckInput, look, needs_for
    from kubectl_eksdoc.cli.dns.request import measured_on

    needs = needs_for(checks, request.since is not None, not request.no_aws)
    session = opening.opened(request, around, needs)
    if request.refresh:
        _refresh(session, around)
    since = moment(request.since, session.cluster.observed_at)
    if since is not None and since > session.cluster.observed_at:
        seen = session.cluster.observed_at.strftime("%Y-%m-%dT%H:%M:%SZ")
        raise UsageError(
            f"--changed-since {request.since and request.since.text} is after the cluster was observed, at {seen}",
            "Give a moment before that, or 2h.",
        )
    reach = opening.reach(request.source, request.options, session.cluster.identity.context)
    if session.profile:  # a command of awscli that is proposed leads to the account that was asked
        reach = replace(reach, aws=("--profile", session.profile))
    beside = CheckInput(request.files, measured_on(around), permissions.PROXY.name not in request.without)
    wish = replace(wish, since=since)
    return session, look(session, request.target, checks, wish, reach, beside)


def earlier(
    request: CheckRequest, checks: Sequence[UpgradeCheck], wish: CheckWish, around: CommandContext
) -> SavedResult | None:
    """What --since names: a check that was saved, or the same one of what was read earlier, where what changed before
    is not compared, and EKS has nothing to look at anew; None without it.

    Raises:
        BaselineError: it is neither.
    """
    from kubectl_eksdoc.baseline.side import SnapshotOrigin
    from kubectl_eksdoc.check.against import as_earlier
    from kubectl_eksdoc.model.documents import UPGRADE_CHECK

    def made(source: SourceChoice) -> SavedResult:
        if STDIN in request.files:
            raise UsageError(
                "the manifests on standard input are read once, and here they are judged twice",
                "Save them to a file, and name it with -f.",
            )
        _, plan = answered(replace(request, source=source, since=None, refresh=False), checks, wish, around)
        return as_earlier(SnapshotOrigin(request.earlier, __version__, request.given), plan)

    return options.earlier(request.earlier, UPGRADE_CHECK, NAME, around, made)


def _refresh(session: ClusterSession, around: CommandContext) -> None:
    """
    Raises:
        AwsError: it may not be asked for.
    """
    from kubectl_eksdoc.aws.insights import InsightRefresh
    from kubectl_eksdoc.check.read import refreshed
    from kubectl_eksdoc.model.asked import Unknown

    of = session.ask(InsightRefresh)
    if isinstance(of, Unknown):
        around.note(f"the insights of EKS were not refreshed: {of.why}")
        return
    around.note("EKS refreshes its insights, which takes some minutes …")
    around.note(refreshed(of, around.now, around.sleep))


def tables_of(request: CheckRequest) -> Tables:
    from kubectl_eksdoc.amazon.upgrades.tables import Tables

    if not request.tables:
        return Tables()
    from kubectl_eksdoc.host.tables import read_tables

    return read_tables(request.tables)


# Manifests without a cluster. It imports only what judges them, as a gate in CI has to be fast.


def judged_files(request: CheckRequest, around: CommandContext) -> CommandAnswer:
    """
    Raises:
        UsageError: a file is not there, no way leads to the target, or there is no such output format.
        SuppressionsError: what --suppressions names cannot be used.
    """
    from kubectl_eksdoc.amazon.upgrades.path import NoPath
    from kubectl_eksdoc.amazon.upgrades.sourced import in_words
    from kubectl_eksdoc.check.checks.apis import CHECKS
    from kubectl_eksdoc.check.facts import CheckFacts
    from kubectl_eksdoc.check.plan import CheckWish, plan_check
    from kubectl_eksdoc.check.way import CurrentVersion, way
    from kubectl_eksdoc.host.manifest_files import read_manifests
    from kubectl_eksdoc.host.suppressions import read_suppressions
    from kubectl_eksdoc.model.api_usage import ApiUsage
    from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
    from kubectl_eksdoc.model.codes import Code
    from kubectl_eksdoc.model.commands import CommandTarget
    from kubectl_eksdoc.model.findings import Severity
    from kubectl_eksdoc.render.check.report import CheckReport
    from kubectl_eksdoc.render.identity import identity_line

    code = Code.of("api-in-manifest")
    options, begin = request.options, request.since_version
    assert begin is not None
    CheckReport.check(options.output)
    found = way(CurrentVersion(begin, "as --from says"), request.target)
    if isinstance(found, NoPath):
        raise UsageError(f"there is no way to the target: {found.why}", "Give --from and --target.")
    suppressions = read_suppressions(request.suppressions, (code.name,)) if request.suppressions else ()
    cluster = Cluster(Identity(), Source.FILE, around.now())
    facts = CheckFacts.of_files(cluster, found, ApiUsage(manifests=read_manifests(request.files)))
    wish = CheckWish(
        frozenset({code.name}),
        fail_on=Severity(request.fail_on),
        suppressions=suppressions,
        accepted=frozenset(request.accepted),
        tables=tables_of(request),
    )
    rows = ("--tables", request.tables) if request.tables else ()
    alone = ("--from", in_words(found.now), "--target", in_words(found.target), *rows)
    plan = plan_check(facts, [check for check in CHECKS if code in check.codes], wish, CommandTarget(ours=alone))
    around.note(identity_line(cluster, around.now()))
    report = CheckReport(plan, request.given)
    return CommandAnswer(looks.answered(report, options, around), opening.of(plan.outcome.status))


def shown_tables(options: GlobalOptions, words: Sequence[str], around: CommandContext) -> CommandAnswer:
    """
    Raises:
        UsageError: it is asked for in another form than a table.
    """
    from kubectl_eksdoc.check.tables import tables
    from kubectl_eksdoc.render.check.report import TablesReport

    if words:
        raise UsageError(f"{words[0]!r} is not understood: --tables shows all of them", "Name nothing.")
    return CommandAnswer(looks.answered(TablesReport(tables(), around.now().date()), options, around))
