"""How CoreDNS ends: the shutdown budget of what is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubectl_eksdoc.coredns_lameduck.deployed import Deployed, DnsFacts
from kubectl_eksdoc.coredns_lameduck.judging.configured import CONFIG, set_to
from kubectl_eksdoc.coredns_lameduck.shutdown import (
    FASTEST_S,
    MARGIN_S,
    SLOWEST_S,
    Shutdown,
    ShutdownBudget,
    arithmetic,
    grace_for,
)
from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.coredns import Corefile
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Status, When

ADVISED_BY_EKS_S = 30
"""EKS best practices, scalability/cluster-services: "we recommend setting CoreDNS lameduck duration to 30 seconds"; it
does not fit the grace period that EKS gives CoreDNS (issue 728 of that guide)."""


@dataclass(frozen=True, slots=True)
class ShutdownEnding:
    """`budget` is Unknown where something of it is; `lameduck_s` is None where the text does not say it."""

    budget: ShutdownBudget | Unknown
    lameduck_s: float | None

    @property
    def advised_s(self) -> int:
        """What to set, 0 where nothing is long enough and fits."""
        found = self.budget
        return 0 if isinstance(found, Unknown) or not found.fits else found.advised_s


def ending(facts: DnsFacts) -> ShutdownEnding:
    """Of the Deployment and the Corefile as they are."""
    lameduck = facts.lameduck_s
    of = facts.deployed
    if isinstance(of, (Absent, Unknown)):
        return ShutdownEnding(Unknown("the grace period of CoreDNS' pods is not known"), lameduck)
    if isinstance(of.pre_stop_s, Unknown):
        return ShutdownEnding(of.pre_stop_s, lameduck)
    return ShutdownEnding(facts.budget(Shutdown(of.grace_s, of.pre_stop_s, lameduck or 0.0)), lameduck)


def judged(facts: DnsFacts) -> Iterator[Finding]:
    """Nothing where the Deployment is not known."""
    of = facts.deployed
    if not isinstance(of, (Absent, Unknown)):
        yield from _shutdown(facts, of)


def _shutdown(facts: DnsFacts, of: Deployed) -> Iterator[Finding]:
    end = ending(facts)
    if isinstance(end.budget, Unknown) or end.lameduck_s is None:
        if isinstance(end.budget, Unknown) or (
            isinstance(facts.corefile, Corefile) and not facts.judged(facts.corefile).refusals
        ):
            yield _not_known(facts, end)  # else what is wrong with the text is said already
        return
    allowed, lameduck = end.budget, end.lameduck_s
    sums = (
        _least(allowed),
        f"at most: {arithmetic(lameduck, allowed.shutdown)}; the largest safe lameduck is {allowed.advised_s} s",
        f"{ADVISED_BY_EKS_S} s, as EKS' best practices advise, would need a grace period of "
        f"{grace_for(ADVISED_BY_EKS_S, allowed.shutdown.pre_stop_s)} s",
    )
    if allowed.too_short:
        yield Finding.of(
            "dns-lameduck-short/too-short",
            CONFIG,
            sums,
            remedy=_lengthen(allowed),
            said=_said(lameduck),
            who=_who(allowed),
        )
    elif allowed.maybe_short:
        yield Finding.of(
            "dns-lameduck-short/may-be-short",
            CONFIG,
            sums,
            remedy=(*_lengthen(allowed), _MEASURE),
            said=_said(lameduck),
            passes=_passes(allowed),
        )
    elif lameduck > allowed.advised_s:
        killed = allowed.too_long
        yield Finding(
            Code.of("dns-lameduck-long"),
            Severity.HIGH if killed else Severity.MEDIUM,
            Status.FAIL,
            CONFIG,
            f"{_said(lameduck)} of {of.grace_s} s of grace: CoreDNS "
            + ("is killed before it has ended" if killed else "has less than 5 s of margin until it is killed"),
            sums,
            _shorten(allowed),
        )


def _least(allowed: ShutdownBudget) -> str:
    """How the lower bound is made up."""
    known = allowed.propagation
    source = "" if known.measured_at else f", EKS says {FASTEST_S} to {SLOWEST_S} s"
    margin = f" + margin {MARGIN_S} s = {allowed.least_s} s" if allowed.least_s > known.seconds else ""
    return f"at least: {known}{source}{margin}"


def _who(allowed: ShutdownBudget) -> str:
    return "every node sends" if allowed.propagation.lost else "any node sends"


def _passes(allowed: ShutdownBudget) -> str:
    known = allowed.propagation
    if known.measured_at:
        return str(known)
    return (
        f"until every node sends elsewhere, {FASTEST_S} to {SLOWEST_S} s pass, here about {known.seconds} s by estimate"
    )


_MEASURE = Remedy(
    "Measure whether answers are lost as it is.", "kubectl eksdoc coredns-lameduck --measure=rollout", When.LATER
)


def _said(lameduck: float) -> str:
    return f"lameduck is {lameduck:g} s" if lameduck else "there is no lameduck"


def _lengthen(allowed: ShutdownBudget) -> tuple[Remedy, ...]:
    if allowed.fits:
        return (Remedy("Nothing is restarted: CoreDNS reloads its Corefile.", set_to(allowed.advised_s)),)
    return (_more_grace(allowed, allowed.least_s),)


def _shorten(allowed: ShutdownBudget) -> tuple[Remedy, ...]:
    if allowed.fits:
        return (
            Remedy("Nothing is restarted: CoreDNS reloads its Corefile.", set_to(allowed.advised_s)),
            _more_grace(allowed, allowed.shutdown.lameduck_s, "Or give"),
        )
    return (_more_grace(allowed, max(allowed.least_s, allowed.shutdown.lameduck_s)),)


def _more_grace(allowed: ShutdownBudget, lameduck: float, give: str = "Give") -> Remedy:
    needed = grace_for(lameduck, allowed.shutdown.pre_stop_s)
    return Remedy(
        f"{give} its pods {needed} s of grace: no schema of the add-on has a key for it, so an update with OVERWRITE "
        "takes it back.",
        "kubectl patch deployment coredns -n kube-system --type merge -p "
        f'\'{{"spec":{{"template":{{"spec":{{"terminationGracePeriodSeconds":{needed}}}}}}}}}\'',
        When.LATER,
    )


def _not_known(facts: DnsFacts, end: ShutdownEnding) -> Finding:
    corefile = facts.corefile
    files = corefile.files if isinstance(corefile, Corefile) else ()
    if isinstance(end.budget, Unknown):
        why = end.budget.why
    elif files:
        why = f"the Corefile imports {', '.join(files)}"
    else:
        why = "lameduck is taken from the environment, or is no duration"
    return Finding.of(
        "dns-lameduck-unknown/not-known",
        CONFIG,
        why=why,
        lacking="the duration of lameduck" if end.lameduck_s is None else "the time of the preStop hook",
    )
