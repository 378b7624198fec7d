"""The answer of ``check`` to one question, whatever it is asked of: the cluster, or what was read of it earlier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import opening, options
from kubectl_eksdoc.cli.check import since_values
from kubectl_eksdoc.cli.check.request import NAME, STDIN, Request
from kubectl_eksdoc.cli.dns.request import measured_on
from kubectl_eksdoc.cli.surroundings import Surroundings
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.model import permissions
from kubectl_eksdoc.session.sources import SourceChoice

if TYPE_CHECKING:  # help must not pay for plans
    from kubectl_eksdoc.check.checking import Check
    from kubectl_eksdoc.check.plan import CheckPlan, Wish
    from kubectl_eksdoc.model.earlier import Earlier
    from kubectl_eksdoc.session.session import ClusterSession


@dataclass(frozen=True, slots=True)
class Question:
    """`checks` are those that are made. Since when changes are told depends on when the cluster was observed, so that
    `wish` does not say it yet."""

    request: Request
    checks: Sequence[Check]
    wish: Wish

    def of_snapshot(self, source: SourceChoice) -> Question:
        """The same asked of what was read earlier. What changed before that is not compared, and EKS has nothing to
        look at anew.

        Raises:
            UsageError: manifests are on standard input, which is read once.
        """
        if STDIN in self.request.files:
            raise UsageError(
                "the manifests on standard input are read once, and here they are judged twice",
                "Save them to a file, and name it with -f.",
            )
        return replace(self, request=replace(self.request, source=source, since=None, refresh=False))


def answered(question: Question, around: Surroundings) -> tuple[ClusterSession, CheckPlan]:
    """
    Raises:
        EksdocError: the command line, a file, the cluster or AWS is at fault; the error says which.
    """
    from kubectl_eksdoc.check.read import CheckInput, look, needs_for

    request = question.request
    needs = needs_for(question.checks, request.since is not None, not request.no_aws)
    session = opening.opened(request, around, needs)
    if request.refresh:
        _refresh(session, around)
    since = since_values.moment(request.since, session.cluster.observed_at)
    if since is not None and since > session.cluster.observed_at:
        raise _ahead(request, session)
    reach = opening.reach(request.source, request.options, session.cluster.identity.context)
    if session.profile:  # a command of awscli that is proposed leads to the account that was asked
        reach = replace(reach, aws=("--profile", session.profile))
    beside = CheckInput(request.files, measured_on(around), permissions.PROXY.name not in request.without)
    wish = replace(question.wish, since=since)
    return session, look(session, request.target, question.checks, wish, reach, beside)


def earlier(question: Question, around: Surroundings) -> Earlier | None:
    """What --since names: a check that was saved, or the same one of what was read earlier; None without it.

    Raises:
        BaselineError: it is neither.
    """
    from kubectl_eksdoc.baseline.side import Of
    from kubectl_eksdoc.check.against import as_earlier
    from kubectl_eksdoc.model.documents import UPGRADE_CHECK

    request = question.request

    def made(source: SourceChoice) -> Earlier:
        _, plan = answered(question.of_snapshot(source), around)
        return as_earlier(Of(request.earlier, __version__, request.given), plan)

    return options.earlier(request.earlier, UPGRADE_CHECK, NAME, around, made)


def _ahead(request: Request, session: ClusterSession) -> UsageError:
    given = request.since.text if request.since is not None else ""
    seen = session.cluster.observed_at.strftime("%Y-%m-%dT%H:%M:%SZ")
    return UsageError(
        f"--changed-since {given} is after the cluster was observed, at {seen}", "Give a moment before that, or 2h."
    )


def _refresh(session: ClusterSession, around: Surroundings) -> None:
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
