"""``check -f … --from 1.33``: manifests without a cluster. It imports only what judges them, as a gate in CI has to be
fast."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubectl_eksdoc.cli import look as looks
from kubectl_eksdoc.cli import opening
from kubectl_eksdoc.cli.check.request import Request
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.errors import UsageError

if TYPE_CHECKING:
    from kubectl_eksdoc.amazon.upgrades.tables import Tables


def judged_files(request: Request, around: Surroundings) -> Answer:
    """
    Raises:
        UsageError: a file is not there, no way leads to the target, or there is no such output format.
        SuppressionsError: what --suppressions names cannot be used.
    """
    from kubectl_eksdoc.amazon.upgrades.path import NoPath
    from kubectl_eksdoc.amazon.upgrades.sourced import in_words
    from kubectl_eksdoc.check.checks.apis import CHECKS
    from kubectl_eksdoc.check.facts import CheckFacts
    from kubectl_eksdoc.check.plan import Wish, plan_check
    from kubectl_eksdoc.check.way import Here, way
    from kubectl_eksdoc.host.manifest_files import read_manifests
    from kubectl_eksdoc.host.suppressions import read_suppressions
    from kubectl_eksdoc.model.api_usage import ApiTold
    from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
    from kubectl_eksdoc.model.codes import Code
    from kubectl_eksdoc.model.commands import Reach
    from kubectl_eksdoc.model.findings import Severity
    from kubectl_eksdoc.render.check.report import CheckReport
    from kubectl_eksdoc.render.identity import identity_line

    code = Code.of("api-in-manifest")
    options, begin = request.options, request.since_version
    assert begin is not None
    CheckReport.check(options.output)
    found = way(Here(begin, "as --from says"), request.target)
    if isinstance(found, NoPath):
        raise UsageError(f"there is no way to the target: {found.why}", "Give --from and --target.")
    suppressions = read_suppressions(request.suppressions, (code.name,)) if request.suppressions else ()
    cluster = Cluster(Identity(), Source.FILE, around.now())
    facts = CheckFacts.of_files(cluster, found, ApiTold(manifests=read_manifests(request.files)))
    wish = Wish(
        frozenset({code.name}),
        fail_on=Severity(request.fail_on),
        suppressions=suppressions,
        accepted=frozenset(request.accepted),
        tables=_tables(request.tables),
    )
    alone = ("--from", in_words(found.now), "--target", in_words(found.target), *_rows(request.tables))
    plan = plan_check(facts, [check for check in CHECKS if code in check.codes], wish, Reach(ours=alone))
    around.note(identity_line(cluster, around.now()))
    report = CheckReport(plan, request.given)
    return Answer(looks.answered(report, options, around), opening.of(plan.outcome.status))


def _tables(path: str) -> Tables:
    from kubectl_eksdoc.amazon.upgrades.tables import Tables

    if not path:
        return Tables()
    from kubectl_eksdoc.host.tables import read_tables

    return read_tables(path)


def _rows(tables: str) -> tuple[str, ...]:
    return ("--tables", tables) if tables else ()
