"""Corefile with another lameduck, or the refusals: a text that CoreDNS would not accept is never sent."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.corefile import parse
from kubectl_eksdoc.kubernetes.corefile_edits import EKS, NotEdited, with_lameduck
from kubectl_eksdoc.kubernetes.corefile_plugins import lameduck_s
from kubectl_eksdoc.kubernetes.redaction import is_digest
from kubectl_eksdoc.model.addons import AddonSide
from kubectl_eksdoc.model.coredns import NAME, SYSTEM, Corefile, CorefileRefusal
from kubectl_eksdoc.model.findings import Finding, Subject
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.quantities import go_duration

from .configuration import stoppers
from .deployed import Deployed, DnsFacts
from .shutdown import (
    DEFAULT_GRACE_S,
    MARGIN_S,
    Shutdown,
    ShutdownBudget,
    arithmetic,
    budget,
    grace_for,
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
class Wishes:
    """None: no change. `on_demand`: keep CoreDNS off Spot nodes."""

    lameduck_s: int | None = None
    on_demand: bool = False
    scale: AutoscalerRange | None = None

    def __bool__(self) -> bool:
        return self.lameduck_s is not None or self.on_demand or self.scale is not None


@frozen
class ChangeRefused:
    """Why the change is not made, a clause, and what to do instead, a sentence. `missing`: the right without which it
    is unknown whether it could be made, or ""."""

    why: str
    hint: str = ""
    missing: str = ""


LEAST_REPLICAS, MOST_REPLICAS = 2, 1000
"""The bounds of the add-on's schema (minReplicas, maxReplicas)."""


def lameduck_wished(text: str) -> int | ChangeRefused:
    """Seconds of a duration in CoreDNS' syntax."""
    length = go_duration(text)
    if length is None:
        if text.isdigit():
            return ChangeRefused(f"{text} has no unit: CoreDNS would refuse it", f"Write {text}s.")
        return ChangeRefused(f"{text!r} is no duration that CoreDNS takes", "Write it as 20s.")
    seconds = length.total_seconds()
    if seconds < 0 or seconds != int(seconds):
        return ChangeRefused(f"{text} is no number of whole seconds", "Write it as 20s.")
    return int(seconds)


def scale_wished(text: str) -> AutoscalerRange | ChangeRefused:
    """The range of ``MIN:MAX``."""
    low, colon, high = text.partition(":")
    if not colon or not (low.isascii() and high.isascii() and low.isdigit() and high.isdigit()):
        return ChangeRefused(f"{text!r} is not MIN:MAX", "Write it as 3:10.")
    found = AutoscalerRange(int(low), int(high))
    if found.least < LEAST_REPLICAS:
        return ChangeRefused(
            f"at least {LEAST_REPLICAS} replicas are needed: with {low}, DNS lookups fail while it is replaced"
        )
    if found.most > MOST_REPLICAS:
        return ChangeRefused(f"{high} replicas are more than the add-on takes, which is {MOST_REPLICAS}")
    if found.most < found.least:
        return ChangeRefused(f"the most replicas ({high}) are fewer than the least ({low})", "Write it as MIN:MAX.")
    return found


CONFIG = Subject("ConfigMap", NAME, SYSTEM)


@frozen
class EditedCorefile:
    """The Corefile before and after; `current_s`: the current lameduck, None where the text does not determine it."""

    before: str
    after: str
    now_s: float | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def same(self) -> bool:
        return self.before == self.after

    @property
    def reloads(self) -> bool:
        """Whether CoreDNS reloads the new one by itself."""
        return has_reload(self.before)


_WHOLE = "the whole Corefile, which the live cluster has"


def edited(facts: DnsFacts, seconds: int) -> EditedCorefile | tuple[ChangeRefused, ...]:
    corefile = facts.corefile
    if isinstance(corefile, Unknown):
        return (ChangeRefused(f"the Corefile is not known: {corefile.why}", "", corefile.missing or corefile.why),)
    if isinstance(corefile, Absent):
        return (ChangeRefused(f"there is no Corefile to change: {corefile.said}", "Is CoreDNS what answers here?"),)
    if isinstance(corefile, CorefileRefusal):
        return (ChangeRefused(f"the Corefile of today cannot be parsed: {corefile}", "Fix it first."),)
    if is_digest(corefile.text):
        return (
            ChangeRefused(
                "the Corefile is not known as a whole: of secrets and comments in it a snapshot keeps digests",
                "",
                _WHOLE,
            ),
        )
    now = lameduck_s(corefile)
    found = tuple(_refused(facts, corefile, seconds, now))
    if found:
        return found
    text = with_lameduck(corefile, seconds)
    if isinstance(text, NotEdited):
        return (ChangeRefused(f"the Corefile is not edited: {text.why}", "Change it by hand where that stands."),)
    wrong = tuple(bad(text, facts))
    if wrong:
        return wrong
    made = facts.read(text)
    assert isinstance(made, Corefile), "else it is bad"
    waits = lameduck_s(made)
    if waits is not None and abs(waits - seconds) >= 1:
        return (ChangeRefused(f"the edit would make CoreDNS wait {waits:g} s, and not {seconds} s"),)
    found_too = (*_still_short(facts, seconds), *_tight(facts, seconds), *_grace_not_kept(facts, seconds))
    return EditedCorefile(corefile.text, text, now, found_too)


def bad(text: str, facts: DnsFacts) -> Iterator[ChangeRefused]:
    """Why CoreDNS would not start with it, or never become Ready."""
    corefile, deployed = facts.read(text), facts.deployed
    if isinstance(corefile, CorefileRefusal):
        yield ChangeRefused(f"CoreDNS would refuse the Corefile: {corefile}", "It is not sent.")
        return
    for each in facts.judged(corefile).refusals:
        yield ChangeRefused(f"CoreDNS would refuse the Corefile: {each}", "It is not sent.")
    path = deployed.readiness.path if isinstance(deployed, Deployed) and deployed.readiness is not None else ""
    if path == "/ready" and not corefile.has("ready"):
        yield ChangeRefused(
            "the readiness probe asks /ready, and the Corefile has no plugin ready: a pod that starts with it never "
            "becomes Ready",
            "Add the plugin ready to its first server block.",
        )


def not_starting(facts: DnsFacts) -> Iterator[ChangeRefused]:
    """Why no rollout may begin: with the live Corefile, new pods would crash or never become Ready."""
    text = facts.text
    if isinstance(text, (Absent, Unknown)):
        missing = text.missing or "the Corefile"
        yield ChangeRefused(f"whether recreated pods would start is unknown: {text.why}", "", missing)
    for each in stoppers(facts):
        yield ChangeRefused(f"it recreates pods, and none would start: {each.message}", "Fix the Corefile first.")


def has_reload(text: str) -> bool:
    """Whether CoreDNS reloads a changed Corefile by itself; a text that cannot be parsed is not reloaded."""
    corefile = parse(text)
    return isinstance(corefile, Corefile) and corefile.has("reload")


def _refused(facts: DnsFacts, corefile: Corefile, seconds: int, now: float | None) -> Iterator[ChangeRefused]:
    if corefile.files:
        yield ChangeRefused(
            f"it imports {', '.join(corefile.files)}, which may hold the plugin health: how long CoreDNS would wait in "
            "all is not known",
            "Put what that holds into the Corefile itself, or change it by hand.",
            "what the imported files hold",
        )
    for each in facts.judged(corefile).refusals:
        yield ChangeRefused(
            f"CoreDNS refuses the Corefile of today: {each}", "Fix it first: its next pod does not start."
        )
    deployed = facts.deployed
    if isinstance(deployed, (Absent, Unknown)):
        missing = deployed.missing or "Deployment coredns"
        yield ChangeRefused(f"how long CoreDNS may take to end is not known: {deployed.why}", "", missing)
        return
    if isinstance(deployed.pre_stop_s, Unknown):
        yield ChangeRefused(
            f"how long CoreDNS may take to end is not known: {deployed.pre_stop_s.why}",
            "Write the preStop hook as a plain sleep, or take it away: lameduck does its work.",
            "the length of the preStop hook",
        )
        return
    wished = facts.budget(Shutdown(deployed.grace_s, deployed.pre_stop_s, seconds))
    if wished.too_long:
        needs = grace_for(seconds, deployed.pre_stop_s)
        yield ChangeRefused(
            f"lameduck {seconds}s does not fit: {arithmetic(seconds, wished.shutdown)}; CoreDNS may be killed while it "
            "still closes its servers",
            f"The largest that is safe is {wished.advised_s}s; {seconds}s needs terminationGracePeriodSeconds {needs}"
            + (", for which no schema of the add-on has a key." if isinstance(facts.addon, AddonSide) else "."),
        )
    elif wished.maybe_short and (now is None or seconds <= now):
        yield ChangeRefused(
            f"lameduck {seconds}s may be too short: {_why_short(wished)}", f"Give at least {wished.least_s}s."
        )


def _still_short(facts: DnsFacts, seconds: int) -> Iterator[Finding]:
    wished = _wished(facts, seconds)
    if wished is not None and wished.maybe_short:
        yield Finding.of(
            "dns-lameduck-short/still-short",
            CONFIG,
            seconds=seconds,
            why_short=_why_short(wished),
            least_s=max(wished.least_s, wished.advised_s),
        )


def _tight(facts: DnsFacts, seconds: int) -> Iterator[Finding]:
    """It fits with less than the margin, which the user may accept."""
    wished = _wished(facts, seconds)
    if wished is not None and wished.tight:
        yield Finding.of(
            "dns-lameduck-long",
            CONFIG,
            (arithmetic(seconds, wished.shutdown),),
            seconds=seconds,
            most_s=wished.most_s - seconds,
            margin_s=MARGIN_S,
            advised_s=wished.advised_s,
        )


def _wished(facts: DnsFacts, seconds: int) -> ShutdownBudget | None:
    """None where the deployed settings are unknown."""
    deployed = facts.deployed
    if not isinstance(deployed, Deployed) or isinstance(deployed.pre_stop_s, Unknown):
        return None
    return facts.budget(Shutdown(deployed.grace_s, deployed.pre_stop_s, seconds))


def _why_short(wished: ShutdownBudget) -> str:
    margin = f", with a margin {wished.least_s} s" if wished.least_s > wished.propagation.seconds else ""
    return f"{wished.propagation}{margin}"


def foreign_grace(facts: DnsFacts, seconds: int | None) -> bool:
    """Whether it fits the current grace period, but not the add-on's own one, to which EKS may reset it."""
    deployed = facts.deployed
    if seconds is None or not isinstance(facts.addon, AddonSide) or not isinstance(deployed, Deployed):
        return False
    if deployed.grace_by == EKS or isinstance(deployed.pre_stop_s, Unknown):
        return False
    return seconds > budget(Shutdown(DEFAULT_GRACE_S, deployed.pre_stop_s), 0).most_s


def _grace_not_kept(facts: DnsFacts, seconds: int) -> Iterator[Finding]:
    deployed = facts.deployed
    if not foreign_grace(facts, seconds) or not isinstance(deployed, Deployed):
        return
    yield Finding.of(
        "dns-grace-not-kept/grace-not-kept",
        Subject("Deployment", NAME, SYSTEM),
        ("no schema of the add-on has a key for it",),
        seconds=seconds,
        grace_s=deployed.grace_s,
        grace_by=deployed.grace_by or "somebody",
        default_grace_s=DEFAULT_GRACE_S,
    )
