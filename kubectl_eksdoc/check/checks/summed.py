"""What other commands find, taken over as it is: drains, add-ons, credentials, DNS, interruption."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from kubectl_eksdoc.check.areas import Area, Gate
from kubectl_eksdoc.check.checking import Check, cluster_of, unknown
from kubectl_eksdoc.check.facts import NOT_ASKED, CheckFacts
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.check_needs import Need
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.findings import Finding, Severity, Subject


def _sum(facts: CheckFacts, need: Need, whole: Code) -> Iterator[Finding]:
    found = facts.summed.get(need, NOT_ASKED)
    if isinstance(found, Unknown):
        subject = Subject("Command", need.value)
        yield unknown(whole, subject, f"what kubectl eksdoc {need.value} would say", found, Severity.HIGH)
    else:
        here = cluster_of(facts)  # some of them do not know what it is called
        yield from (replace(each, subject=here) if each.subject.kind == here.kind else each for each in found)


def _judge(need: Need, whole: Code) -> Callable[[CheckFacts], Iterator[Finding]]:
    return partial(_sum, need=need, whole=whole)


def _check(whole: Code, others: tuple[Code, ...], area: Area, need: Need) -> Check:
    """Which lists of the cluster the other command reads, its flow knows."""
    return Check((whole, *others), area, Gate.BEFORE_NODES, _judge(need, whole), needs=(need,))


CHECKS = (
    _check(Code.of("check-drain"), Code.of_area("drain"), Area.DISRUPTION, Need.PLAN_DRAIN),
    _check(Code.of("check-addons"), Code.of_area("addon"), Area.ADDONS, Need.PLAN_ADDONS),
    _check(Code.of("check-imds"), Code.of_area("imds"), Area.CREDENTIALS, Need.PLAN_IMDS),
    _check(Code.of("check-dns"), Code.of_area("dns"), Area.DNS, Need.PLAN_DNS),
    _check(Code.of("check-interruption"), Code.of_area("interruption"), Area.INTERRUPTION, Need.PLAN_INTERRUPTION),
)
