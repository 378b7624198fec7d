"""Compatibility of EKS add-ons and other software with the target, which decides the order of an upgrade."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kubectl_eksdoc.amazon.addon_needs import KUBE_PROXY, UpdateOrder, UpdatePosition, requirements, update_order
from kubectl_eksdoc.amazon.amis import AmiFamily, family_of_os
from kubectl_eksdoc.amazon.versions import format_version, is_offered, offered_for_all, target_version
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import Addon, AddonVersions
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.findings import CodeName, Finding, Severity, Subject
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.quantities import Version

from ..checking import CheckFacts, Gate, UpgradeCheck, cluster_subject, format_issue, unknown_finding, unread_lists
from .software import RunningVersion, distinct_installations, find_running_versions

_HEALTHY_STATUSES = ("ACTIVE", "UPDATING", "CREATING")
_FAILED_STATUSES = ("DEGRADED", "UPDATE_FAILED", "CREATE_FAILED", "DELETE_FAILED")


def _unknown_addons(facts: CheckFacts, code: CodeName) -> Iterator[Finding]:
    addons = facts.aws.addons
    if isinstance(addons, Unknown):
        yield unknown_finding(f"{code}/addons", cluster_subject(facts), addons, one=False)
        return
    for each in addons:
        if isinstance(each, Unknown):
            yield unknown_finding(f"{code}/addons", cluster_subject(facts), each, one=True)


def installed_addons(facts: CheckFacts) -> tuple[Addon, ...]:
    """The EKS add-ons that could be described."""
    addons = facts.aws.addons
    return () if isinstance(addons, Unknown) else tuple(each for each in addons if isinstance(each, Addon))


def _check_addon_fit(facts: CheckFacts) -> Iterator[Finding]:
    """Add-ons that are updated before the control plane, and unknown answers about any of them."""
    yield from _unknown_addons(facts, "check-addon-unfit")
    for addon in installed_addons(facts):
        offered = facts.aws.addon_versions.get(addon.name, Unknown("its versions were not asked for"))
        if not isinstance(offered, AddonVersions):
            reason = offered if isinstance(offered, Unknown) else Unknown(offered.said)
            yield unknown_finding("check-addon-unfit/addon", _addon_subject(addon), reason, target="")
        elif all(each.version != addon.version for each in offered.versions):
            reason = Unknown(f"EKS does not list its version {addon.version} any more")
            yield unknown_finding(
                "check-addon-unfit/addon", _addon_subject(addon), reason, target=format_version(facts.path.target)
            )
    yield from (
        _misfit_finding(facts, misfit) for misfit in addon_misfits(facts) if not _waits_for_control_plane(facts, misfit)
    )


def _check_addon_fit_later(facts: CheckFacts) -> Iterator[Finding]:
    """Add-ons that cannot be updated before the control plane, or that only a step after its next one affects."""
    yield from (
        _misfit_finding(facts, misfit) for misfit in addon_misfits(facts) if _waits_for_control_plane(facts, misfit)
    )


def _waits_for_control_plane(facts: CheckFacts, misfit: _AddonMisfit) -> bool:
    return misfit.follows_control_plane or facts.path.is_after_next_step(misfit.step)


@frozen
class _AddonMisfit:
    """An add-on, and the first `step` of the path that its version does not support; `control_plane`: the version of
    the control plane before that step. `for_both`: versions that support both, the newest first."""

    addon: Addon
    offered: AddonVersions
    control_plane: Version
    step: Version
    for_both: tuple[str, ...]

    @property
    def follows_control_plane(self) -> bool:
        """Whether it is updated after the control plane: kube-proxy has to be. Any other add-on is updated before, if
        some version supports both sides of the step, because the installed one does not support the next."""
        return self.control_plane == self.step or self.addon.name == KUBE_PROXY.addon or not self.for_both

    @property
    def target_version(self) -> str:
        """Of the available versions, the EKS default for the step if it is among them; "" where there is none."""
        default = target_version(self.offered, format_version(self.step), "")
        return default if self.follows_control_plane or default in self.for_both else self.for_both[0]

    @property
    def timing(self) -> str:
        if self.control_plane == self.step:
            return "The control plane is there already: it is updated now."
        if self.addon.name == KUBE_PROXY.addon:
            return "It is updated after the control plane, at once: it must never be newer than it."
        if self.for_both:
            return f"It is updated before the control plane: {self.target_version} fits both sides of the step."
        return "It is updated after the control plane, at once: no version is offered that fits both sides of the step."


def addon_misfits(facts: CheckFacts) -> Iterator[_AddonMisfit]:
    """Each add-on whose version EKS lists, and not for the complete path."""
    for addon in installed_addons(facts):
        offered = facts.aws.addon_versions.get(addon.name)
        if not isinstance(offered, AddonVersions) or all(each.version != addon.version for each in offered.versions):
            continue  # reported as unknown
        current = facts.path.now
        for step in facts.path.steps or (facts.path.target,):
            if not is_offered(offered, format_version(step), addon.version):
                yield _AddonMisfit(
                    addon,
                    offered,
                    current,
                    step,
                    offered_for_all(offered, format_version(current), format_version(step)),
                )
                break
            current = step


def _misfit_finding(facts: CheckFacts, misfit: _AddonMisfit) -> Finding:
    name, step = misfit.addon.name, format_version(misfit.step)
    compatible = offered_for_all(misfit.offered, step)
    both_text = (
        f", {len(misfit.for_both)} of them {format_version(misfit.control_plane)}, too"
        if misfit.for_both and misfit.control_plane != misfit.step
        else ""
    )
    update = (
        shell("kubectl", "eksdoc", "addon-diff", name, "--to", misfit.target_version) if misfit.target_version else ""
    )
    return Finding.of(
        "check-addon-unfit",
        _addon_subject(misfit.addon),
        (f"{len(compatible)} versions fit {step}{both_text}", misfit.timing),
        severity=Severity.MEDIUM if misfit.follows_control_plane and facts.path.steps else Severity.HIGH,
        version=misfit.addon.version,
        step=step,
        to=misfit.target_version,
        update=update,
    )


def _check_addon_health(facts: CheckFacts) -> Iterator[Finding]:
    yield from _unknown_addons(facts, "check-addon-health")
    for addon in installed_addons(facts):
        if addon.status in _HEALTHY_STATUSES and not addon.issues:
            continue
        has_failed = addon.status in _FAILED_STATUSES or bool(addon.issues)
        yield Finding.of(
            "check-addon-health/failed" if has_failed else "check-addon-health/unknown",
            _addon_subject(addon),
            tuple(map(format_issue, addon.issues)),
            status=addon.status,
            command=shell("kubectl", "eksdoc", "addon-diff", addon.name, "--after"),
        )


def _addon_subject(addon: Addon) -> Subject:
    return Subject("Addon", addon.name)


def _ordered_software(facts: CheckFacts) -> Iterator[tuple[RunningVersion, Version, UpdateOrder]]:
    """All software with its first step that requires an update, and the required order. EKS add-ons are judged by the
    answer of EKS."""
    managed = {addon.name for addon in installed_addons(facts)}
    for running_version in distinct_installations(find_running_versions(facts.cluster.pods)):
        if (
            running_version.software.addon
            and running_version.software.addon in managed
            and running_version.software != KUBE_PROXY
        ):
            continue
        current = facts.path.now
        for step in facts.path.steps or (facts.path.target,):
            order = update_order(
                running_version.software,
                running_version.version,
                current,
                step,
                extra_tables=facts.tables.compatibility,
            )
            if order.position is not UpdatePosition.NO_ORDER:
                yield running_version, step, order
                break
            current = step


def _check_before_control_plane(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread_lists(facts, "program-before-control-plane/programs")
    yield from _software_before_step(facts, later=False)


def _software_before_step(facts: CheckFacts, later: bool) -> Iterator[Finding]:
    """`later`: only for a step after the control plane's next one."""
    if not facts.path.steps:
        return
    for running_version, step, order in _ordered_software(facts):
        if order.position is UpdatePosition.BEFORE_CONTROL_PLANE and facts.path.is_after_next_step(step) is later:
            yield Finding.of(
                "program-before-control-plane/if" if order.only_if else "program-before-control-plane/known",
                running_version.subject,
                _evidence(running_version, order),
                what=_name_and_version(running_version),
                step=format_version(step),
                why=order.reason,
                to=_required_version(order),
                condition=order.only_if,
            )


def _check_before_nodes(facts: CheckFacts) -> Iterator[Finding]:
    """For new AL2023 nodes: with the target there are no new nodes of AL2."""
    yield from unread_lists(facts, "program-before-nodes/all")
    if not any(family_of_os(node.os_image) in (AmiFamily.AL2, AmiFamily.AL2023) for node in facts.cluster.nodes):
        return
    step = facts.path.steps[0] if facts.path.steps else facts.path.target
    for running_version in distinct_installations(find_running_versions(facts.cluster.pods)):
        if not any(
            need.nodes for need in requirements(running_version.software, facts.path.now, step, AmiFamily.AL2023.value)
        ):
            continue
        order = update_order(
            running_version.software, running_version.version, facts.path.now, step, AmiFamily.AL2023.value
        )
        if order.position is UpdatePosition.UNKNOWN:
            reason, al2023 = Unknown(order.reason), AmiFamily.AL2023.value
            yield unknown_finding(
                "program-before-nodes/one",
                running_version.subject,
                reason,
                what=_name_and_version(running_version),
                al2023=al2023,
            )
        if order.position is UpdatePosition.BEFORE_NODES:
            yield Finding.of(
                "program-before-nodes",
                running_version.subject,
                _evidence(running_version, order),
                what=_name_and_version(running_version),
                al2023=AmiFamily.AL2023.value,
                found_why=order.reason,
                to=_required_version(order),
            )


def _check_after_control_plane(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread_lists(facts, "program-after")
    for running_version, step, order in _ordered_software(facts):
        follows = order.position is UpdatePosition.AFTER_CONTROL_PLANE
        if not follows or order.is_reached(running_version.version) or _is_unlisted(facts, order):
            continue
        yield Finding.of(
            "program-after",
            running_version.subject,
            _evidence(running_version, order),
            what=_name_and_version(running_version),
            there=not facts.path.steps,
            step=format_version(step),
            found_why=order.reason,
            to=_required_version(order),
        )


def _is_unlisted(facts: CheckFacts, order: UpdateOrder) -> bool:
    """Whether the control plane is at the target and only the EKS list has the matching versions: the running version
    does not show whether it was updated for the target."""
    return order.to_version is None and not facts.path.steps and order.position is UpdatePosition.AFTER_CONTROL_PLANE


def _check_unknown_order(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread_lists(facts, "program-unknown/programs")
    for running_version, step, order in _ordered_software(facts):
        if order.position is UpdatePosition.UNKNOWN:
            reason = Unknown(order.reason)
            yield unknown_finding(
                "program-unknown/one",
                running_version.subject,
                reason,
                what=_name_and_version(running_version),
                step=format_version(step),
            )
        if order.position is UpdatePosition.NO_PROMISE or _is_unlisted(facts, order):
            yield Finding.of(
                "program-unknown",
                running_version.subject,
                _evidence(running_version, order),
                step=format_version(step),
                why=order.reason,
            )


def _name_and_version(running_version: RunningVersion) -> str:
    version = "" if isinstance(running_version.version, Unknown) else f" {format_version(running_version.version)}"
    return f"{running_version.software.name}{version}"


def _required_version(order: UpdateOrder) -> str:
    return "" if order.to_version is None else format_version(order.to_version)


def _evidence(running_version: RunningVersion, order: UpdateOrder) -> tuple[str, ...]:
    image = (f"image {running_version.image}",) if running_version.image else ()
    return image if order.source is None else (*image, str(order.source))


_ADDON_FIT_CHECK = UpgradeCheck.of("check-addon-unfit", _check_addon_fit, kinds.PODS)
_BEFORE_CONTROL_PLANE_CHECK = UpgradeCheck.of("program-before-control-plane", _check_before_control_plane)

CHECKS = (
    _ADDON_FIT_CHECK,
    _ADDON_FIT_CHECK.at_gate(_check_addon_fit_later, Gate.AFTER),
    UpgradeCheck.of("check-addon-health", _check_addon_health),
    _BEFORE_CONTROL_PLANE_CHECK,
    _BEFORE_CONTROL_PLANE_CHECK.at_gate(partial(_software_before_step, later=True), Gate.AFTER),
    UpgradeCheck.of("program-before-nodes", _check_before_nodes),
    UpgradeCheck.of("program-after", _check_after_control_plane),
    UpgradeCheck.of("program-unknown", _check_unknown_order),
)
