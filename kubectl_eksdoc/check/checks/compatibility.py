"""Compatibility of EKS add-ons and other software with the target, which decides the order of an upgrade."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kubectl_eksdoc.amazon.addon_needs import KUBE_PROXY, OrderedAddon, UpdatePosition, needs, placed
from kubectl_eksdoc.amazon.amis import AmiFamily, family_of_os
from kubectl_eksdoc.amazon.versions import in_words, is_offered, offered_for, target
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import Addon, AddonVersions
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.findings import CodeName, Finding, Severity, Subject
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.quantities import Version

from ..checking import CheckFacts, Gate, UpgradeCheck, cluster_of, issue, unknown, unread
from .software import RunningVersion, installations, running

_WELL = ("ACTIVE", "UPDATING", "CREATING")
_FAILED = ("DEGRADED", "UPDATE_FAILED", "CREATE_FAILED", "DELETE_FAILED")


def _addons_unknown(facts: CheckFacts, code: CodeName) -> Iterator[Finding]:
    told = facts.aws.addons
    if isinstance(told, Unknown):
        yield unknown(f"{code}/addons", cluster_of(facts), told, one=False)
        return
    for each in told:
        if isinstance(each, Unknown):
            yield unknown(f"{code}/addons", cluster_of(facts), each, one=True)


def installed(facts: CheckFacts) -> tuple[Addon, ...]:
    """The EKS add-ons that could be described."""
    told = facts.aws.addons
    return () if isinstance(told, Unknown) else tuple(each for each in told if isinstance(each, Addon))


def _unfit(facts: CheckFacts) -> Iterator[Finding]:
    """Add-ons that are updated before the control plane, and unknown answers about any of them."""
    yield from _addons_unknown(facts, "check-addon-unfit")
    for addon in installed(facts):
        offered = facts.aws.addon_versions.get(addon.name, Unknown("its versions were not asked for"))
        if not isinstance(offered, AddonVersions):
            why = offered if isinstance(offered, Unknown) else Unknown(offered.said)
            yield unknown("check-addon-unfit/addon", _addon(addon), why, target="")
        elif all(each.version != addon.version for each in offered.versions):
            why = Unknown(f"EKS does not list its version {addon.version} any more")
            yield unknown("check-addon-unfit/addon", _addon(addon), why, target=in_words(facts.way.target))
    yield from (_does_not_fit(facts, misfit) for misfit in misfits(facts) if not _waits(facts, misfit))


def _unfit_after(facts: CheckFacts) -> Iterator[Finding]:
    """Add-ons that cannot be updated before the control plane, or that only a step after its next one affects."""
    yield from (_does_not_fit(facts, misfit) for misfit in misfits(facts) if _waits(facts, misfit))


def _waits(facts: CheckFacts, misfit: _Misfit) -> bool:
    return misfit.follows or facts.way.comes_later(misfit.step)


@frozen
class _Misfit:
    """An add-on, and the first `step` of the path that its version does not support; `control_plane`: the version of
    the control plane before that step. `for_both`: versions that support both, the newest first."""

    addon: Addon
    offered: AddonVersions
    before: Version
    step: Version
    both: tuple[str, ...]

    @property
    def follows(self) -> bool:
        """Whether it is updated after the control plane: kube-proxy has to be. Any other add-on is updated before, if
        some version supports both sides of the step, because the installed one does not support the next."""
        return self.before == self.step or self.addon.name == KUBE_PROXY.addon or not self.both

    @property
    def to(self) -> str:
        """Of the available versions, the EKS default for the step if it is among them; "" where there is none."""
        default = target(self.offered, in_words(self.step), "")
        return default if self.follows or default in self.both else self.both[0]

    @property
    def when(self) -> str:
        if self.before == self.step:
            return "The control plane is there already: it is updated now."
        if self.addon.name == KUBE_PROXY.addon:
            return "It is updated after the control plane, at once: it must never be newer than it."
        if self.both:
            return f"It is updated before the control plane: {self.to} fits both sides of the step."
        return "It is updated after the control plane, at once: no version is offered that fits both sides of the step."


def misfits(facts: CheckFacts) -> Iterator[_Misfit]:
    """Each add-on whose version EKS lists, and not for the complete path."""
    for addon in installed(facts):
        offered = facts.aws.addon_versions.get(addon.name)
        if not isinstance(offered, AddonVersions) or all(each.version != addon.version for each in offered.versions):
            continue  # reported as unknown
        now = facts.way.now
        for step in facts.way.steps or (facts.way.target,):
            if not is_offered(offered, in_words(step), addon.version):
                yield _Misfit(addon, offered, now, step, offered_for(offered, in_words(now), in_words(step)))
                break
            now = step


def _does_not_fit(facts: CheckFacts, of: _Misfit) -> Finding:
    name, step = of.addon.name, in_words(of.step)
    fitting = offered_for(of.offered, step)
    also = f", {len(of.both)} of them {in_words(of.before)}, too" if of.both and of.before != of.step else ""
    update = shell("kubectl", "eksdoc", "addon-diff", name, "--to", of.to) if of.to else ""
    return Finding.of(
        "check-addon-unfit",
        _addon(of.addon),
        (f"{len(fitting)} versions fit {step}{also}", of.when),
        severity=Severity.MEDIUM if of.follows and facts.way.steps else Severity.HIGH,
        version=of.addon.version,
        step=step,
        to=of.to,
        update=update,
    )


def _health(facts: CheckFacts) -> Iterator[Finding]:
    yield from _addons_unknown(facts, "check-addon-health")
    for addon in installed(facts):
        if addon.status in _WELL and not addon.issues:
            continue
        bad = addon.status in _FAILED or bool(addon.issues)
        yield Finding.of(
            "check-addon-health/failed" if bad else "check-addon-health/unknown",
            _addon(addon),
            tuple(map(issue, addon.issues)),
            status=addon.status,
            command=shell("kubectl", "eksdoc", "addon-diff", addon.name, "--after"),
        )


def _addon(addon: Addon) -> Subject:
    return Subject("Addon", addon.name)


def _placed(facts: CheckFacts) -> Iterator[tuple[RunningVersion, Version, OrderedAddon]]:
    """All software with its first step that requires an update, and the required order. EKS add-ons are judged by the
    answer of EKS."""
    managed = {addon.name for addon in installed(facts)}
    for each in installations(running(facts.cluster.pods)):
        if each.software.addon and each.software.addon in managed and each.software != KUBE_PROXY:
            continue
        now = facts.way.now
        for step in facts.way.steps or (facts.way.target,):
            found = placed(each.software, each.version, now, step, more=facts.tables.compatibility)
            if found.place is not UpdatePosition.NO_ORDER:
                yield each, step, found
                break
            now = step


def _before(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread(facts, "program-before-control-plane/programs")
    yield from _before_step(facts, later=False)


def _before_step(facts: CheckFacts, later: bool) -> Iterator[Finding]:
    """`later`: only for a step after the control plane's next one."""
    if not facts.way.steps:
        return
    for each, step, found in _placed(facts):
        if found.place is UpdatePosition.BEFORE_CONTROL_PLANE and facts.way.comes_later(step) is later:
            yield Finding.of(
                "program-before-control-plane/if" if found.only_if else "program-before-control-plane/known",
                each.subject,
                _sources(each, found),
                what=_what(each),
                step=in_words(step),
                why=found.why,
                to=_to(found),
                condition=found.only_if,
            )


def _before_nodes(facts: CheckFacts) -> Iterator[Finding]:
    """For new AL2023 nodes: with the target there are no new nodes of AL2."""
    yield from unread(facts, "program-before-nodes/all")
    if not any(family_of_os(node.os_image) in (AmiFamily.AL2, AmiFamily.AL2023) for node in facts.cluster.nodes):
        return
    step = facts.way.steps[0] if facts.way.steps else facts.way.target
    for each in installations(running(facts.cluster.pods)):
        if not any(need.nodes for need in needs(each.software, facts.way.now, step, AmiFamily.AL2023.value)):
            continue
        found = placed(each.software, each.version, facts.way.now, step, AmiFamily.AL2023.value)
        if found.place is UpdatePosition.UNKNOWN:
            why, al2023 = Unknown(found.why), AmiFamily.AL2023.value
            yield unknown("program-before-nodes/one", each.subject, why, what=_what(each), al2023=al2023)
        if found.place is UpdatePosition.BEFORE_NODES:
            yield Finding.of(
                "program-before-nodes",
                each.subject,
                _sources(each, found),
                what=_what(each),
                al2023=AmiFamily.AL2023.value,
                found_why=found.why,
                to=_to(found),
            )


def _after(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread(facts, "program-after")
    for each, step, found in _placed(facts):
        follows = found.place is UpdatePosition.AFTER_CONTROL_PLANE
        if not follows or found.reached(each.version) or _unlisted(facts, found):
            continue
        yield Finding.of(
            "program-after",
            each.subject,
            _sources(each, found),
            what=_what(each),
            there=not facts.way.steps,
            step=in_words(step),
            found_why=found.why,
            to=_to(found),
        )


def _unlisted(facts: CheckFacts, found: OrderedAddon) -> bool:
    """Whether the control plane is at the target and only the EKS list has the matching versions: the running version
    does not show whether it was updated for the target."""
    return found.to is None and not facts.way.steps and found.place is UpdatePosition.AFTER_CONTROL_PLANE


def _unknown(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread(facts, "program-unknown/programs")
    for each, step, found in _placed(facts):
        if found.place is UpdatePosition.UNKNOWN:
            why = Unknown(found.why)
            yield unknown("program-unknown/one", each.subject, why, what=_what(each), step=in_words(step))
        if found.place is UpdatePosition.NO_PROMISE or _unlisted(facts, found):
            yield Finding.of("program-unknown", each.subject, _sources(each, found), step=in_words(step), why=found.why)


def _what(each: RunningVersion) -> str:
    version = "" if isinstance(each.version, Unknown) else f" {in_words(each.version)}"
    return f"{each.software.name}{version}"


def _to(found: OrderedAddon) -> str:
    return "" if found.to is None else in_words(found.to)


def _sources(each: RunningVersion, found: OrderedAddon) -> tuple[str, ...]:
    image = (f"image {each.image}",) if each.image else ()
    return image if found.source is None else (*image, str(found.source))


_FIT = UpgradeCheck.of("check-addon-unfit", _unfit, kinds.PODS)
_FIRST = UpgradeCheck.of("program-before-control-plane", _before)

CHECKS = (
    _FIT,
    _FIT.also(_unfit_after, Gate.AFTER),
    UpgradeCheck.of("check-addon-health", _health),
    _FIRST,
    _FIRST.also(partial(_before_step, later=True), Gate.AFTER),
    UpgradeCheck.of("program-before-nodes", _before_nodes),
    UpgradeCheck.of("program-after", _after),
    UpgradeCheck.of("program-unknown", _unknown),
)
