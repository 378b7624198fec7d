"""What other commands find, taken over as it is: drains, add-ons, credentials, DNS, interruption."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from kubectl_eksdoc.check.areas import Area, Gate
from kubectl_eksdoc.check.checking import UpgradeCheck, cluster_of, unknown
from kubectl_eksdoc.check.facts import NOT_ASKED, CheckFacts
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.check_needs import CheckNeed
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.findings import Finding, Severity, Subject


def _sum(facts: CheckFacts, need: CheckNeed, whole: Code) -> Iterator[Finding]:
    found = facts.summed.get(need, NOT_ASKED)
    if isinstance(found, Unknown):
        subject = Subject("Command", need.value)
        yield unknown(whole, subject, f"what kubectl eksdoc {need.value} would say", found, Severity.HIGH)
    else:
        here = cluster_of(facts)  # some of them do not know what it is called
        yield from (replace(each, subject=here) if each.subject.kind == here.kind else each for each in found)


def _judge(need: CheckNeed, whole: Code) -> Callable[[CheckFacts], Iterator[Finding]]:
    return partial(_sum, need=need, whole=whole)


def _check(whole: Code, others: tuple[Code, ...], area: Area, need: CheckNeed) -> UpgradeCheck:
    """Which lists of the cluster the other command reads, its flow knows."""
    return UpgradeCheck((whole, *others), area, Gate.BEFORE_NODES, _judge(need, whole), needs=(need,))


CHECKS = (
    _check(Code.of("check-drain"), Code.of_area("drain"), Area.DISRUPTION, CheckNeed.PLAN_DRAIN),
    _check(Code.of("check-addons"), Code.of_area("addon"), Area.ADDONS, CheckNeed.PLAN_ADDONS),
    _check(Code.of("check-imds"), Code.of_area("imds"), Area.CREDENTIALS, CheckNeed.PLAN_IMDS),
    _check(Code.of("check-dns"), Code.of_area("dns"), Area.DNS, CheckNeed.PLAN_DNS),
    _check(Code.of("check-interruption"), Code.of_area("interruption"), Area.INTERRUPTION, CheckNeed.PLAN_INTERRUPTION),
)
