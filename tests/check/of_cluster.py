"""Facts for checks of the cluster's own objects, and the findings of these checks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kubectl_eksdoc.check.checking import CheckFacts, UpgradePath
from kubectl_eksdoc.check.plan import CheckScope, plan_check
from kubectl_eksdoc.check.registry import choose_checks, kinds_of
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.findings import Code, Finding
from kubectl_eksdoc.model.kinds import KindRead, ReadState, Resource
from kubectl_eksdoc.model.quantities import Version
from tests.builders import a_cluster

_MORE = (kinds.CRON_JOBS, kinds.API_SERVICES, kinds.DEFINITIONS)


def facts(
    *, now: Version = Version(1, 33), target: Version = Version(1, 34), unread: Iterable[Resource] = (), **of: Any
) -> CheckFacts:
    """Facts of a cluster in which every kind was read except `unread`, which is forbidden."""
    missing = tuple(unread)
    cluster = a_cluster(unread=[each for each in missing if each not in _MORE], **of)
    more = tuple(
        KindRead(each, ReadState.FORBIDDEN if each in missing else ReadState.READ, detail="forbidden") for each in _MORE
    )
    steps = tuple(Version(1, minor) for minor in range(now.minor + 1, target.minor + 1))
    return CheckFacts(replace(cluster, reads=(*cluster.reads, *more)), UpgradePath(now, target, steps, "as told"))


def found(code: str, given: CheckFacts) -> tuple[Finding, ...]:
    """The findings with only that code."""
    checks = choose_checks([code])
    assert set(Code.of(code).needs) <= set(kinds_of(checks))
    return plan_check(given, checks, CheckScope(frozenset([code]))).findings


def only(code: str, given: CheckFacts) -> Finding:
    (finding,) = found(code, given)
    assert finding.code.name == code
    return finding
