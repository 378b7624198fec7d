"""How CoreDNS ends: the shutdown budget of what is, and whether the Corefile lets it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubectl_eksdoc.core.model import dns_codes as codes
from kubectl_eksdoc.core.model.aws.asked import Absent, Unknown
from kubectl_eksdoc.core.model.corefile import Corefile, Import, Refusal
from kubectl_eksdoc.core.model.findings import Finding, Remedy, Severity, Status, When
from kubectl_eksdoc.core.plan.dns.deployed import DEFAULT_GRACE_S, EKS, Deployed
from kubectl_eksdoc.core.plan.dns.facts import DnsFacts
from kubectl_eksdoc.core.plan.dns.judging.subjects import CONFIG, DEPLOYMENT, not_read, set_to
from kubectl_eksdoc.core.plan.dns.shutdown import (
    CLIENT_S,
    Budget,
    Shutdown,
    arithmetic,
    budget,
    grace_for,
    propagation_s,
)
from kubectl_eksdoc.core.rules.corefile.plugins import lameduck_s, refusals

ADVISED_BY_EKS_S = 30
"""EKS best practices, scalability/cluster-services: "we recommend setting CoreDNS lameduck duration to 30 seconds"; it
does not fit the grace period that EKS gives CoreDNS (issue 728 of that guide)."""


@dataclass(frozen=True, slots=True)
class Ending:
    """`budget` is Unknown where something of it is; `lameduck_s` is None where the text does not say it."""

    budget: Budget | Unknown
    lameduck_s: float | None

    @property
    def advised_s(self) -> int:
        """What to set, 0 where nothing is long enough and fits."""
        found = self.budget
        return 0 if isinstance(found, Unknown) or not found.fits else found.advised_s


def ending(facts: DnsFacts) -> Ending:
    """Of the Deployment and the Corefile as they are."""
    lameduck = _lameduck(facts)
    of = facts.deployed
    if isinstance(of, (Absent, Unknown)):
        return Ending(Unknown("the grace period of CoreDNS' pods is not known"), lameduck)
    if isinstance(of.pre_stop_s, Unknown):
        return Ending(of.pre_stop_s, lameduck)
    return Ending(budget(Shutdown(of.grace_s, of.pre_stop_s, lameduck or 0.0), len(facts.cluster.nodes)), lameduck)


def _lameduck(facts: DnsFacts) -> float | None:
    corefile = facts.corefile
    return lameduck_s(corefile) if isinstance(corefile, Corefile) and not files_of(corefile) else None


def files_of(corefile: Corefile) -> tuple[str, ...]:
    """The files that it imports, which may say anything."""
    found = [*corefile.imports, *(each for block in corefile.servers for each in corefile.whole(block))]
    return tuple(each.target.text for each in found if isinstance(each, Import))


def judged(facts: DnsFacts) -> Iterator[Finding]:
    """Of the shutdown and of the Corefile."""
    of, corefile = facts.deployed, facts.corefile
    if isinstance(corefile, (Absent, Unknown)):
        yield not_read("the Corefile", corefile, CONFIG)
    elif isinstance(corefile, Refusal):
        yield _refused(facts, (corefile,))
    else:
        told = refusals(corefile)
        if told:
            yield _refused(facts, told)
        yield from _plugins(corefile, of)
    if not isinstance(of, (Absent, Unknown)):
        yield from _shutdown(facts, of)
        yield from _kept(facts, of)


def _refused(facts: DnsFacts, told: tuple[Refusal, ...]) -> Finding:
    by_hand = Remedy("Put right that line.", "kubectl edit configmap coredns -n kube-system")
    by_values = Remedy(
        "Put right that line in the value corefile of the add-on, and send it: by hand it would be put back.",
        "kubectl eksdoc addon-diff coredns --configuration-values values.yaml --apply",
    )
    return Finding(
        codes.COREFILE_REFUSED,
        Severity.CRITICAL,
        Status.FAIL,
        CONFIG,
        f"CoreDNS would not take this Corefile: {told[0]}",
        tuple(map(str, told[1:])),
        (
            Remedy("Until it is mended, do not restart, drain or update anything of CoreDNS: who runs, runs on."),
            by_hand if isinstance(facts.addon, Absent) else by_values,
        ),
    )


def _plugins(corefile: Corefile, of: Deployed | Absent | Unknown) -> Iterator[Finding]:
    used = {each.name for block in corefile.servers for each in corefile.whole(block) if not isinstance(each, Import)}
    if files_of(corefile):
        return  # they may hold any plugin
    if "reload" not in used:
        yield Finding(
            codes.NO_RELOAD,
            Severity.LOW,
            Status.FAIL,
            CONFIG,
            "no server block has the plugin reload: a changed Corefile is taken up at the next restart only",
            remedy=(
                Remedy(
                    "After a change, once its budget allows it.",
                    "kubectl rollout restart deployment/coredns -n kube-system",
                ),
                Remedy("Add the line reload to the first server block.", when=When.TOMORROW),
            ),
        )
    if isinstance(of, (Absent, Unknown)) or of.readiness is None:
        return
    wanted = {"/ready": "ready", "/health": "health"}.get(of.readiness.path)
    if wanted is not None and wanted not in used:
        yield Finding(
            codes.NO_READY,
            Severity.CRITICAL,
            Status.FAIL,
            DEPLOYMENT,
            f"the readiness probe asks {of.readiness.path}, and no server block has the plugin {wanted}: no pod of it "
            "becomes Ready",
            remedy=(Remedy(f"Add the line {wanted} to the first server block."),),
        )
    elif wanted == "health":
        yield Finding(
            codes.READINESS_ASKS_HEALTH,
            Severity.MEDIUM,
            Status.FAIL,
            DEPLOYMENT,
            "the readiness probe asks /health, which is 200 before CoreDNS can answer and all through its lameduck",
            remedy=(
                Remedy(
                    "Update the add-on (v1.9.3-eksbuild.3, v1.10.1-eksbuild.6 and later ask /ready), and see that the "
                    "Corefile has the plugin ready first.",
                    when=When.TOMORROW,
                ),
            ),
        )


def _shutdown(facts: DnsFacts, of: Deployed) -> Iterator[Finding]:
    end = ending(facts)
    if isinstance(end.budget, Unknown) or end.lameduck_s is None:
        if isinstance(end.budget, Unknown) or (isinstance(facts.corefile, Corefile) and not refusals(facts.corefile)):
            yield _not_known(facts, end)  # else what is wrong with the text is said already
        return
    allowed, lameduck = end.budget, end.lameduck_s
    sums = (
        f"at least: {propagation_s(len(facts.cluster.nodes))} s until {len(facts.cluster.nodes)} nodes have heard of "
        f"it (estimated; EKS says 1 to 10 s) + {CLIENT_S} s of a client's patience = {allowed.least_s} s",
        f"at most: {arithmetic(lameduck, allowed.shutdown)}; the largest safe lameduck is {allowed.advised_s} s",
        f"{ADVISED_BY_EKS_S} s, as EKS' best practices advise, would need a grace period of "
        f"{grace_for(ADVISED_BY_EKS_S, allowed.shutdown.pre_stop_s)} s",
    )
    if allowed.too_short:
        yield Finding(
            codes.LAMEDUCK_SHORT,
            Severity.HIGH,
            Status.FAIL,
            CONFIG,
            f"{_said(lameduck)}: CoreDNS stops answering {allowed.least_s - lameduck:g} s before everybody has heard "
            "that it leaves, at each drain, update and scale-down",
            sums,
            _lengthen(allowed),
        )
    elif lameduck > allowed.advised_s:
        killed = allowed.too_long
        yield Finding(
            codes.LAMEDUCK_LONG,
            Severity.HIGH if killed else Severity.MEDIUM,
            Status.FAIL,
            CONFIG,
            f"{_said(lameduck)} of {of.grace_s} s of grace: CoreDNS "
            + ("is killed before it has ended" if killed else "has less than 5 s of margin until it is killed"),
            sums,
            _shorten(allowed),
        )


def _said(lameduck: float) -> str:
    return f"lameduck is {lameduck:g} s" if lameduck else "there is no lameduck"


def _lengthen(allowed: Budget) -> tuple[Remedy, ...]:
    if allowed.fits:
        return (Remedy("Nothing is restarted: CoreDNS reloads its Corefile.", set_to(allowed.advised_s)),)
    return (_more_grace(allowed, allowed.least_s),)


def _shorten(allowed: Budget) -> tuple[Remedy, ...]:
    if allowed.fits:
        return (
            Remedy("Nothing is restarted: CoreDNS reloads its Corefile.", set_to(allowed.advised_s)),
            _more_grace(allowed, allowed.shutdown.lameduck_s),
        )
    return (_more_grace(allowed, max(allowed.least_s, allowed.shutdown.lameduck_s)),)


def _more_grace(allowed: Budget, lameduck: float) -> Remedy:
    needed = grace_for(lameduck, allowed.shutdown.pre_stop_s)
    return Remedy(
        f"Or give its pods {needed} s of grace: no schema of the add-on has a key for it, so an update with OVERWRITE "
        "takes it back.",
        "kubectl patch deployment coredns -n kube-system --type merge -p "
        f'\'{{"spec":{{"template":{{"spec":{{"terminationGracePeriodSeconds":{needed}}}}}}}}}\'',
        When.TOMORROW,
    )


def _not_known(facts: DnsFacts, end: Ending) -> Finding:
    corefile = facts.corefile
    files = files_of(corefile) if isinstance(corefile, Corefile) else ()
    if isinstance(end.budget, Unknown):
        why = end.budget.why
    elif files:
        why = f"the Corefile imports {', '.join(files)}"
    else:
        why = "lameduck is taken from the environment, or is no duration"
    return Finding(
        codes.LAMEDUCK_UNKNOWN,
        Severity.MEDIUM,
        Status.UNKNOWN,
        CONFIG,
        f"how long CoreDNS goes on answering while it ends is not known: {why}",
        remedy=(
            Remedy("Measure it: a pod asks while one of CoreDNS leaves.", "kubectl eksdoc coredns-lameduck --measure"),
        ),
        missing="the duration of lameduck" if end.lameduck_s is None else "the time of the preStop hook",
    )


def _kept(facts: DnsFacts, of: Deployed) -> Iterator[Finding]:
    """What of it an update of the add-on takes back."""
    addon = facts.addon
    if isinstance(addon, (Absent, Unknown)):
        return
    if of.grace_s != DEFAULT_GRACE_S:
        yield Finding(
            codes.FOREIGN_GRACE,
            Severity.MEDIUM,
            Status.FAIL,
            DEPLOYMENT,
            f"the grace period is {of.grace_s} s{_by(of.grace_by)}; the add-on has no key for it, and an update with "
            f"OVERWRITE puts it back to {DEFAULT_GRACE_S} s",
            remedy=(
                Remedy(
                    "Look before each update what it takes back, and set it again after.",
                    "kubectl eksdoc addon-diff coredns",
                    When.TOMORROW,
                ),
            ),
        )
    yield from _corefile_kept(facts)


def _by(owner: str) -> str:
    return f" (set by {owner})" if owner and owner != EKS else ""


def _corefile_kept(facts: DnsFacts) -> Iterator[Finding]:
    from_values = facts.configured_corefile
    text = facts.text
    if not isinstance(text, str) or isinstance(from_values, Unknown):
        return
    owner = facts.corefile_by
    if from_values == text or (from_values is None and owner in ("", EKS)):
        return
    advised = ending(facts).advised_s
    what = "another one is in its configuration" if from_values is not None else "it is not in its configuration"
    yield Finding(
        codes.FOREIGN_COREFILE,
        Severity.MEDIUM,
        Status.FAIL,
        CONFIG,
        f"the Corefile was changed by hand{_by(owner)}, and {what}: an update with OVERWRITE puts it back",
        remedy=(
            Remedy(
                "Give it to the add-on: what --set sends is the whole Corefile as it is, with that change.",
                set_to(advised) if advised else "",
                When.TOMORROW,
            ),
        ),
    )
