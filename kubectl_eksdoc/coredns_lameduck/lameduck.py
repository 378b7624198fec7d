"""Corefile with another lameduck, or the refusals: a text that CoreDNS would not accept is never sent."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.corefile import parse_corefile
from kubectl_eksdoc.kubernetes.corefile_edits import EKS_MANAGER, NotEdited, with_lameduck
from kubectl_eksdoc.kubernetes.corefile_plugins import lameduck_s
from kubectl_eksdoc.kubernetes.redaction import is_digest
from kubectl_eksdoc.model.addons import AddonUpdateFacts
from kubectl_eksdoc.model.coredns import NAME, SYSTEM_NAMESPACE, Corefile, CorefileError
from kubectl_eksdoc.model.findings import Finding, Subject
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.quantities import go_duration

from .configuration import startup_blockers
from .deployed import CorednsDeployment, DnsFacts
from .shutdown import (
    DEFAULT_GRACE_S,
    MARGIN_S,
    Shutdown,
    ShutdownBudget,
    budget_sum_text,
    needed_grace_s,
    shutdown_budget,
)

# The requested change of CoreDNS, and its syntax.


@frozen
class AutoscalerRange:
    """Bounds of the replicas for the add-on's autoscaler."""

    least: int
    most: int

    def __str__(self) -> str:
        return f"{self.least}:{self.most}"


@frozen
class DnsChangeRequest:
    """None: no change. `on_demand`: keep CoreDNS off Spot nodes."""

    lameduck_s: int | None = None
    on_demand: bool = False
    scale: AutoscalerRange | None = None

    def __bool__(self) -> bool:
        return self.lameduck_s is not None or self.on_demand or self.scale is not None


@frozen
class ChangeRefusal:
    """Why the change is not made, a clause, and what to do instead, a sentence. `missing`: the right without which it
    is unknown whether it could be made, or ""."""

    why: str
    hint: str = ""
    missing: str = ""


MIN_REPLICAS, MAX_REPLICAS = 2, 1000
"""The bounds of the add-on's schema (minReplicas, maxReplicas)."""


def parse_lameduck(text: str) -> int | ChangeRefusal:
    """Seconds of a duration in CoreDNS' syntax."""
    parsed = go_duration(text)
    if parsed is None:
        if text.isdigit():
            return ChangeRefusal(f"{text} has no unit: CoreDNS would refuse it", f"Write {text}s.")
        return ChangeRefusal(f"{text!r} is no duration that CoreDNS takes", "Write it as 20s.")
    seconds = parsed.total_seconds()
    if seconds < 0 or seconds != int(seconds):
        return ChangeRefusal(f"{text} is no number of whole seconds", "Write it as 20s.")
    return int(seconds)


def parse_autoscale(text: str) -> AutoscalerRange | ChangeRefusal:
    """The range of ``MIN:MAX``."""
    low, colon, high = text.partition(":")
    if not colon or not (low.isascii() and high.isascii() and low.isdigit() and high.isdigit()):
        return ChangeRefusal(f"{text!r} is not MIN:MAX", "Write it as 3:10.")
    scale = AutoscalerRange(int(low), int(high))
    if scale.least < MIN_REPLICAS:
        return ChangeRefusal(
            f"at least {MIN_REPLICAS} replicas are needed: with {low}, DNS lookups fail while it is replaced"
        )
    if scale.most > MAX_REPLICAS:
        return ChangeRefusal(f"{high} replicas are more than the add-on takes, which is {MAX_REPLICAS}")
    if scale.most < scale.least:
        return ChangeRefusal(f"the most replicas ({high}) are fewer than the least ({low})", "Write it as MIN:MAX.")
    return scale


CONFIG = Subject("ConfigMap", NAME, SYSTEM_NAMESPACE)


@frozen
class EditedCorefile:
    """The Corefile before and after; `current_s`: the current lameduck, None where the text does not determine it."""

    before: str
    after: str
    current_s: float | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def same(self) -> bool:
        return self.before == self.after

    @property
    def reloads(self) -> bool:
        """Whether CoreDNS reloads the new one by itself."""
        return has_reload(self.before)


_COMPLETE_COREFILE = "the whole Corefile, which the live cluster has"


def edit_lameduck(facts: DnsFacts, seconds: int) -> EditedCorefile | tuple[ChangeRefusal, ...]:
    corefile = facts.corefile
    if isinstance(corefile, Unknown):
        return (ChangeRefusal(f"the Corefile is not known: {corefile.why}", "", corefile.missing or corefile.why),)
    if isinstance(corefile, Absent):
        return (ChangeRefusal(f"there is no Corefile to change: {corefile.said}", "Is CoreDNS what answers here?"),)
    if isinstance(corefile, CorefileError):
        return (ChangeRefusal(f"the Corefile of today cannot be parsed: {corefile}", "Fix it first."),)
    if is_digest(corefile.text):
        return (
            ChangeRefusal(
                "the Corefile is not known as a whole: of secrets and comments in it a snapshot keeps digests",
                "",
                _COMPLETE_COREFILE,
            ),
        )
    current_s = lameduck_s(corefile)
    refusals = tuple(_edit_refusals(facts, corefile, seconds, current_s))
    if refusals:
        return refusals
    text = with_lameduck(corefile, seconds)
    if isinstance(text, NotEdited):
        return (ChangeRefusal(f"the Corefile is not edited: {text.why}", "Change it by hand where that stands."),)
    new_refusals = tuple(startup_refusals(text, facts))
    if new_refusals:
        return new_refusals
    new_corefile = facts.parse_corefile(text)
    assert isinstance(new_corefile, Corefile), "else it is bad"
    new_s = lameduck_s(new_corefile)
    if new_s is not None and abs(new_s - seconds) >= 1:
        return (ChangeRefusal(f"the edit would make CoreDNS wait {new_s:g} s, and not {seconds} s"),)
    findings = (
        *_still_short_findings(facts, seconds),
        *_tight_findings(facts, seconds),
        *_grace_findings(facts, seconds),
    )
    return EditedCorefile(corefile.text, text, current_s, findings)


def startup_refusals(text: str, facts: DnsFacts) -> Iterator[ChangeRefusal]:
    """Why CoreDNS would not start with it, or never become Ready."""
    corefile, deployed = facts.parse_corefile(text), facts.deployed
    if isinstance(corefile, CorefileError):
        yield ChangeRefusal(f"CoreDNS would refuse the Corefile: {corefile}", "It is not sent.")
        return
    for each in facts.judge_corefile(corefile).refusals:
        yield ChangeRefusal(f"CoreDNS would refuse the Corefile: {each}", "It is not sent.")
    path = deployed.readiness.path if isinstance(deployed, CorednsDeployment) and deployed.readiness is not None else ""
    if path == "/ready" and not corefile.has_plugin("ready"):
        yield ChangeRefusal(
            "the readiness probe asks /ready, and the Corefile has no plugin ready: a pod that starts with it never "
            "becomes Ready",
            "Add the plugin ready to its first server block.",
        )


def rollout_refusals(facts: DnsFacts) -> Iterator[ChangeRefusal]:
    """Why no rollout may begin: with the live Corefile, new pods would crash or never become Ready."""
    text = facts.text
    if isinstance(text, (Absent, Unknown)):
        missing = text.missing or "the Corefile"
        yield ChangeRefusal(f"whether recreated pods would start is unknown: {text.why}", "", missing)
    for each in startup_blockers(facts):
        yield ChangeRefusal(f"it recreates pods, and none would start: {each.message}", "Fix the Corefile first.")


def has_reload(text: str) -> bool:
    """Whether CoreDNS reloads a changed Corefile by itself; a text that cannot be parsed is not reloaded."""
    corefile = parse_corefile(text)
    return isinstance(corefile, Corefile) and corefile.has_plugin("reload")


def _edit_refusals(
    facts: DnsFacts, corefile: Corefile, seconds: int, current_s: float | None
) -> Iterator[ChangeRefusal]:
    if corefile.imported_files:
        yield ChangeRefusal(
            f"it imports {', '.join(corefile.imported_files)}, which may hold the plugin health: how long "
            "CoreDNS would wait in "
            "all is not known",
            "Put what that holds into the Corefile itself, or change it by hand.",
            "what the imported files hold",
        )
    for each in facts.judge_corefile(corefile).refusals:
        yield ChangeRefusal(
            f"CoreDNS refuses the Corefile of today: {each}", "Fix it first: its next pod does not start."
        )
    deployed = facts.deployed
    if isinstance(deployed, (Absent, Unknown)):
        missing = deployed.missing or "Deployment coredns"
        yield ChangeRefusal(f"how long CoreDNS may take to end is not known: {deployed.why}", "", missing)
        return
    if isinstance(deployed.pre_stop_s, Unknown):
        yield ChangeRefusal(
            f"how long CoreDNS may take to end is not known: {deployed.pre_stop_s.why}",
            "Write the preStop hook as a plain sleep, or take it away: lameduck does its work.",
            "the length of the preStop hook",
        )
        return
    requested_budget = facts.budget(Shutdown(deployed.grace_s, deployed.pre_stop_s, seconds))
    if requested_budget.is_too_long:
        needed_s = needed_grace_s(seconds, deployed.pre_stop_s)
        yield ChangeRefusal(
            f"lameduck {seconds}s does not fit: {budget_sum_text(seconds, requested_budget.shutdown)}; CoreDNS "
            "may be killed while it "
            "still closes its servers",
            f"The largest that is safe is {requested_budget.advised_s}s; {seconds}s needs "
            f"terminationGracePeriodSeconds {needed_s}"
            + (", for which no schema of the add-on has a key." if isinstance(facts.addon, AddonUpdateFacts) else "."),
        )
    elif requested_budget.may_be_too_short and (current_s is None or seconds <= current_s):
        yield ChangeRefusal(
            f"lameduck {seconds}s may be too short: {_why_short(requested_budget)}",
            f"Give at least {requested_budget.least_s}s.",
        )


def _still_short_findings(facts: DnsFacts, seconds: int) -> Iterator[Finding]:
    requested_budget = _requested_budget(facts, seconds)
    if requested_budget is not None and requested_budget.may_be_too_short:
        yield Finding.of(
            "dns-lameduck-short/still-short",
            CONFIG,
            seconds=seconds,
            why_short=_why_short(requested_budget),
            least_s=max(requested_budget.least_s, requested_budget.advised_s),
        )


def _tight_findings(facts: DnsFacts, seconds: int) -> Iterator[Finding]:
    """It fits with less than the margin, which the user may accept."""
    requested_budget = _requested_budget(facts, seconds)
    if requested_budget is not None and requested_budget.is_tight:
        yield Finding.of(
            "dns-lameduck-long",
            CONFIG,
            (budget_sum_text(seconds, requested_budget.shutdown),),
            seconds=seconds,
            most_s=requested_budget.most_s - seconds,
            margin_s=MARGIN_S,
            advised_s=requested_budget.advised_s,
        )


def _requested_budget(facts: DnsFacts, seconds: int) -> ShutdownBudget | None:
    """None where the deployed settings are unknown."""
    deployed = facts.deployed
    if not isinstance(deployed, CorednsDeployment) or isinstance(deployed.pre_stop_s, Unknown):
        return None
    return facts.budget(Shutdown(deployed.grace_s, deployed.pre_stop_s, seconds))


def _why_short(requested_budget: ShutdownBudget) -> str:
    margin = (
        f", with a margin {requested_budget.least_s} s"
        if requested_budget.least_s > requested_budget.propagation.seconds
        else ""
    )
    return f"{requested_budget.propagation}{margin}"


def exceeds_default_grace(facts: DnsFacts, seconds: int | None) -> bool:
    """Whether it fits the current grace period, but not the add-on's own one, to which EKS may reset it."""
    deployed = facts.deployed
    if seconds is None or not isinstance(facts.addon, AddonUpdateFacts) or not isinstance(deployed, CorednsDeployment):
        return False
    if deployed.grace_owner == EKS_MANAGER or isinstance(deployed.pre_stop_s, Unknown):
        return False
    return seconds > shutdown_budget(Shutdown(DEFAULT_GRACE_S, deployed.pre_stop_s), 0).most_s


def _grace_findings(facts: DnsFacts, seconds: int) -> Iterator[Finding]:
    deployed = facts.deployed
    if not exceeds_default_grace(facts, seconds) or not isinstance(deployed, CorednsDeployment):
        return
    yield Finding.of(
        "dns-grace-not-kept/grace-not-kept",
        Subject("Deployment", NAME, SYSTEM_NAMESPACE),
        ("no schema of the add-on has a key for it",),
        seconds=seconds,
        grace_s=deployed.grace_s,
        grace_by=deployed.grace_owner or "somebody",
        default_grace_s=DEFAULT_GRACE_S,
    )
