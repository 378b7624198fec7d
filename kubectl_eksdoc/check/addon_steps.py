"""Add-on steps of an upgrade: at which minor version each is updated, before or after the control plane, and why.

The rule: an add-on whose version does not support the next minor is updated before it, if some version supports both
minors. kube-proxy is updated before only where it would be too old for the next minor, and then to the version of the
control plane. An optional update waits for the target. Source of the supported versions: EKS (DescribeAddonVersions).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kubectl_eksdoc.amazon import versions as addon_versions
from kubectl_eksdoc.amazon.addon_needs import COREDNS, KUBE_PROXY, VPC_CNI, UpdateOrder, UpdatePosition, update_order
from kubectl_eksdoc.amazon.versions import Fit, format_version, kube_proxy_skew
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.addons import Addon, AddonVersions
from kubectl_eksdoc.model.connection import kubectl, shell
from kubectl_eksdoc.model.findings import Code
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, rule_basis
from kubectl_eksdoc.model.quantities import Version, parse_version

from .checking import CheckFacts, aws_command
from .checks.compatibility import installed_addons
from .checks.software import RunningVersion, distinct_installations
from .step_forms import addon_forms
from .steps import Phase, UpgradeStep, eks_command

_OFFERED_SOURCE = KnowledgeSource("EKS, DescribeAddonVersions")
_BLOCKING_CODES = tuple(code.name for code in (Code.of("check-addon-health"), *Code.of_areas("addon")))
"""Findings to fix before the update of the add-on; that its version does not fit is what the update fixes."""

_UPDATE_ORDER = (KUBE_PROXY.addon, VPC_CNI.addon, COREDNS.addon)
_ORDER_REASONS: Mapping[str, str] = {
    KUBE_PROXY.addon: "it must never be newer than the control plane, so it waited; now it must not fall behind. The"
    " EKS user guide updates nodes first, and the policy allows both: in this order new nodes start with it, and its"
    " pods are replaced once",
    VPC_CNI.addon: "before whatever starts pods: each gets its address from it",
    COREDNS.addon: "after vpc-cni, which gives its new pods their addresses",
}


@frozen
class _AddonMove:
    """An add-on's update, `from_version` → `to_version`; "" where the new version is not known."""

    addon: Addon
    from_version: str
    to_version: str
    before_control_plane: bool
    reason: str


def addon_steps_before(
    facts: CheckFacts, running_versions: Sequence[RunningVersion], current: Version, step: Version
) -> Iterator[UpgradeStep]:
    """The updates before the control plane's step from `current` to the next minor. `running_versions`: all software
    that runs."""
    for move in _addon_moves(facts, step):
        if move.before_control_plane:
            yield _addon_step(facts, running_versions, move, Phase.BEFORE_CONTROL_PLANE, current)


def addon_steps_after(
    facts: CheckFacts, running_versions: Sequence[RunningVersion], step: Version
) -> Iterator[UpgradeStep]:
    """The updates after the control plane's step: kube-proxy, vpc-cni and CoreDNS first, in this order."""
    for move in sorted((each for each in _addon_moves(facts, step) if not each.before_control_plane), key=_move_order):
        yield _addon_step(facts, running_versions, move, Phase.AFTER_CONTROL_PLANE, step)


def order_index(addon: str) -> int:
    """The position of an add-on, EKS add-on or not, after the control plane's step: those with a fixed order first."""
    return _UPDATE_ORDER.index(addon) if addon in _UPDATE_ORDER else len(_UPDATE_ORDER)


def _move_order(move: _AddonMove) -> tuple[int, str]:
    return order_index(move.addon.name), move.addon.name


def _addon_moves(facts: CheckFacts, step: Version) -> Iterator[_AddonMove]:
    """The updates of all add-ons at that step, each from the version that the earlier steps have left."""
    for addon in installed_addons(facts):
        version, current = addon.version, facts.path.now
        for next_step in facts.path.steps or (facts.path.target,):
            early_move = _early_kube_proxy_move(facts, addon, version, current, next_step)
            version = early_move.to_version or version if early_move is not None else version
            move = _addon_move(facts, addon, version, current, next_step)
            if next_step == step:
                yield from filter(None, (early_move, move))
            version, current = move.to_version or version if move is not None else version, next_step


def _early_kube_proxy_move(
    facts: CheckFacts, addon: Addon, from_version: str, current: Version, step: Version
) -> _AddonMove | None:
    """The update of kube-proxy to the version of the control plane, where it is too old for the next one."""
    reason = _kube_proxy_too_old(parse_version(from_version), current, step) if addon.name == KUBE_PROXY.addon else ""
    if not reason:
        return None
    offered = facts.aws.addon_versions.get(addon.name)
    to_version = (
        addon_versions.target_version(offered, format_version(current), "")
        if isinstance(offered, AddonVersions)
        else ""
    )
    return _AddonMove(addon, from_version, to_version, True, reason)


def _kube_proxy_too_old(kube_proxy: Version | Unknown | None, current: Version, step: Version) -> str:
    """Why kube-proxy has to follow the control plane to `current` before that gets `step`; "" where it does not."""
    skew = None if isinstance(kube_proxy, Unknown) or current == step else kube_proxy_skew(step, kube_proxy)
    return (
        f"once the control plane has {format_version(step)}, {skew.reason}" if skew and skew.fit is Fit.TOO_OLD else ""
    )


def _addon_move(
    facts: CheckFacts, addon: Addon, from_version: str, current: Version, step: Version
) -> _AddonMove | None:
    offered = facts.aws.addon_versions.get(addon.name)
    is_last, kubernetes = step == facts.path.target, format_version(step)
    if not isinstance(offered, AddonVersions):
        reason = f"which versions are made for {kubernetes} is not known"
        return _AddonMove(addon, from_version, "", False, reason) if is_last or addon.name == KUBE_PROXY.addon else None
    default = addon_versions.target_version(offered, kubernetes, "")
    if addon.name == KUBE_PROXY.addon:
        return (
            None
            if default == from_version
            else _AddonMove(addon, from_version, default, False, _ORDER_REASONS[addon.name])
        )
    if not addon_versions.is_offered(offered, kubernetes, from_version):
        # Of the versions that support both, the default of the step, or else the newest.
        old, new = format_version(current), format_version(step)
        both = addon_versions.offered_for_all(offered, old, new)
        if both and current != step:
            to_version = default if default in both else both[0]
            return _AddonMove(
                addon,
                from_version,
                to_version,
                True,
                f"{from_version} is not made for {new}; {to_version} is made for both {old} and {new}",
            )
        gap = "" if current == step else f", and none for both {old} and {new}"
        return _AddonMove(addon, from_version, default, False, f"{from_version} is not made for {new}{gap}")
    if is_last and default and _is_older(offered, from_version, default):
        return _AddonMove(
            addon, from_version, default, False, f"it fits {kubernetes}; EKS installs this one by default there"
        )
    return None


def _is_older(offered: AddonVersions, version: str, other: str) -> bool:
    """Whether `version` is older than `other`; EKS lists the newest first."""
    order = [each.version for each in offered.versions]
    return version in order and other in order and order.index(version) > order.index(other)


def _addon_step(
    facts: CheckFacts,
    running_versions: Sequence[RunningVersion],
    move: _AddonMove,
    phase: Phase,
    control_plane: Version,
) -> UpgradeStep:
    """`control_plane`: the version that the control plane has at that time."""
    name, versions = move.addon.name, _update_versions(facts, move, control_plane)
    order_reason = "" if move.before_control_plane else _ORDER_REASONS.get(name, "")
    reason = move.reason if not order_reason or order_reason == move.reason else f"{move.reason}; {order_reason}"
    return UpgradeStep(
        phase,
        f"Update add-on {name} to {move.to_version or f'its version for {format_version(control_plane)}'}",
        reason,
        tuple(_update_commands(facts, name, versions, control_plane)),
        f"EKS says ACTIVE, and pods of it run as {move.to_version or 'that version'}",
        eks_command(facts, "wait addon-active", "--addon-name", name),
        at=control_plane,
        codes=_BLOCKING_CODES,
        about=tuple(dict.fromkeys((name, *_object_names(running_versions, name)))),
        source=rule_basis("kube-proxy-order").source if name == KUBE_PROXY.addon else _OFFERED_SOURCE,
        forms=addon_forms(facts, name, versions) if versions else (),
    )


def _update_versions(facts: CheckFacts, move: _AddonMove, control_plane: Version) -> tuple[str, ...]:
    """The versions to install one after the other; vpc-cni stops at every minor between. None if not known."""
    offered = facts.aws.addon_versions.get(move.addon.name)
    if move.to_version and isinstance(offered, AddonVersions):
        return addon_versions.update_steps(
            move.addon.name, offered, format_version(control_plane), move.from_version, move.to_version
        )
    return (move.to_version,) if move.to_version else ()


def _update_commands(facts: CheckFacts, name: str, versions: Sequence[str], control_plane: Version) -> Iterator[str]:
    """The commands that show the update first, then apply it."""
    if not versions:
        yield aws_command(
            facts,
            "eks",
            "describe-addon-versions",
            "--addon-name",
            name,
            "--kubernetes-version",
            format_version(control_plane),
        )
    for version in versions:
        yield shell("kubectl", "eksdoc", "addon-diff", name, "--to", version)
        yield shell("kubectl", "eksdoc", "addon-diff", name, "--to", version, "--apply")


def _object_names(running_versions: Sequence[RunningVersion], name: str) -> Iterator[str]:
    """The names of the objects that run the add-on: findings may be about those (``aws-node``)."""
    for each in running_versions:
        if each.software.addon == name:
            yield each.subject.name


# Software that EKS does not manage: which is updated before the control plane, and which after it.


@frozen
class _SoftwareMove:
    running: RunningVersion
    position: UpdateOrder


def software_steps_before(
    facts: CheckFacts, running_versions: Sequence[RunningVersion], current: Version, step: Version
) -> Iterator[UpgradeStep]:
    """The updates before the control plane's step from `current` to the next minor. `running_versions`: all software
    that runs."""
    for move in _software_moves(facts, running_versions, step, UpdatePosition.BEFORE_CONTROL_PLANE):
        condition = move.position.only_if
        yield _software_step(move, Phase.BEFORE_CONTROL_PLANE, current, f" (if {condition})" if condition else "")


def software_steps_after(
    facts: CheckFacts, running_versions: Sequence[RunningVersion], step: Version
) -> Iterator[UpgradeStep]:
    """The updates after the control plane's step, in the order of EKS add-ons: first kube-proxy, vpc-cni, CoreDNS."""
    moves = _software_moves(facts, running_versions, step, UpdatePosition.AFTER_CONTROL_PLANE)
    for move in sorted(moves, key=lambda each: order_index(each.running.software.addon)):
        if move.position.to_version is not None or step == facts.path.target:
            yield _software_step(move, Phase.AFTER_CONTROL_PLANE, step)


def _software_moves(
    facts: CheckFacts, running_versions: Sequence[RunningVersion], step: Version, position: UpdatePosition
) -> Iterator[_SoftwareMove]:
    """The updates in that position at that step, each from the version that the earlier steps have left."""
    managed = {addon.name for addon in installed_addons(facts)}
    handled: set[tuple[str, str]] = set()
    for running in distinct_installations(running_versions):
        key = running.software.name, str(running.subject)
        if running.software.addon in managed or key in handled:
            continue
        handled.add(key)
        version, current = running.version, facts.path.now
        for next_step in facts.path.steps or (facts.path.target,):
            reason = _kube_proxy_too_old(version, current, next_step) if running.software == KUBE_PROXY else ""
            if reason:
                version = current
                if next_step == step and position is UpdatePosition.BEFORE_CONTROL_PLANE:
                    yield _SoftwareMove(
                        running, UpdateOrder(position, reason, current, rule_basis("kube-proxy-order").source)
                    )
            ordered = update_order(
                running.software, version, current, next_step, extra_tables=facts.tables.compatibility
            )
            if next_step == step and ordered.position is position and not ordered.is_reached(version):
                yield _SoftwareMove(running, ordered)
            if ordered.position in (UpdatePosition.BEFORE_CONTROL_PLANE, UpdatePosition.AFTER_CONTROL_PLANE):
                version = ordered.to_version or version
            current = next_step


def _software_step(move: _SoftwareMove, phase: Phase, control_plane: Version, condition: str = "") -> UpgradeStep:
    name, subject = move.running.software.name, move.running.subject
    target_text = (
        f" to {format_version(move.position.to_version)} or newer"
        if move.position.to_version is not None
        else f" to a version for {format_version(control_plane)}"
    )
    return UpgradeStep(
        phase,
        f"Update {name} ({subject.kind} {subject}){target_text}{condition}",
        move.position.reason,
        done_when="its new pods are Ready, by the tool that it was installed with",
        verify=kubectl("rollout status", subject.kind.lower(), subject.name, subject.namespace)
        if subject.kind in _ROLLOUT_KINDS
        else "",
        at=control_plane,
        source=move.position.source,
    )


_ROLLOUT_KINDS = ("Deployment", "DaemonSet", "StatefulSet")
