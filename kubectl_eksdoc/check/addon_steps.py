"""Add-on steps of an upgrade: at which minor version each is updated, before or after the control plane, and why.

The rule: an add-on whose version does not support the next minor is updated before it, if some version supports both
minors. kube-proxy is updated before only where it would be too old for the next minor, and then to the version of the
control plane. An optional update waits for the target. Source of the supported versions: EKS (DescribeAddonVersions).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kubectl_eksdoc.amazon import versions as addon_versions
from kubectl_eksdoc.amazon.addon_needs import COREDNS, KUBE_PROXY, VPC_CNI, OrderedAddon, UpdatePosition, placed
from kubectl_eksdoc.amazon.versions import Fit, in_words, kube_proxy_skew
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.addons import Addon, AddonVersions
from kubectl_eksdoc.model.connection import kubectl, shell
from kubectl_eksdoc.model.findings import Code
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, basis
from kubectl_eksdoc.model.quantities import Version, parse

from .checking import CheckFacts, aws
from .checks.compatibility import installed
from .checks.software import RunningVersion, installations
from .step_forms import of_addon
from .steps import Phase, UpgradeStep, eks

_LISTED = KnowledgeSource("EKS, DescribeAddonVersions")
_BLOCKING = tuple(code.name for code in (Code.of("check-addon-health"), *Code.of_area("addon")))
"""Findings to fix before the update of the add-on; that its version does not fit is what the update fixes."""

_ORDER = (KUBE_PROXY.addon, VPC_CNI.addon, COREDNS.addon)
_TURN: Mapping[str, str] = {
    KUBE_PROXY.addon: "it must never be newer than the control plane, so it waited; now it must not fall behind. The"
    " EKS user guide updates nodes first, and the policy allows both: in this order new nodes start with it, and its"
    " pods are replaced once",
    VPC_CNI.addon: "before whatever starts pods: each gets its address from it",
    COREDNS.addon: "after vpc-cni, which gives its new pods their addresses",
}


@frozen
class _Move:
    """An add-on's update, `from_version` → `to_version`; "" where the new version is not known."""

    addon: Addon
    have: str
    to: str
    before: bool
    why: str


def before(facts: CheckFacts, there: Sequence[RunningVersion], now: Version, step: Version) -> Iterator[UpgradeStep]:
    """The updates before the control plane's step from `current` to the next minor. `running_versions`: all software
    that runs."""
    for move in _moves(facts, step):
        if move.before:
            yield _step(facts, there, move, Phase.BEFORE_CONTROL_PLANE, now)


def after(facts: CheckFacts, there: Sequence[RunningVersion], step: Version) -> Iterator[UpgradeStep]:
    """The updates after the control plane's step: kube-proxy, vpc-cni and CoreDNS first, in this order."""
    for move in sorted((each for each in _moves(facts, step) if not each.before), key=_turn):
        yield _step(facts, there, move, Phase.AFTER_CONTROL_PLANE, step)


def turn(addon: str) -> int:
    """The position of an add-on, EKS add-on or not, after the control plane's step: those with a fixed order first."""
    return _ORDER.index(addon) if addon in _ORDER else len(_ORDER)


def _turn(move: _Move) -> tuple[int, str]:
    return turn(move.addon.name), move.addon.name


def _moves(facts: CheckFacts, step: Version) -> Iterator[_Move]:
    """The updates of all add-ons at that step, each from the version that the earlier steps have left."""
    for addon in installed(facts):
        have, now = addon.version, facts.way.now
        for each in facts.way.steps or (facts.way.target,):
            early = _early_proxy(facts, addon, have, now, each)
            have = early.to or have if early is not None else have
            move = _move(facts, addon, have, now, each)
            if each == step:
                yield from filter(None, (early, move))
            have, now = move.to or have if move is not None else have, each


def _early_proxy(facts: CheckFacts, addon: Addon, have: str, now: Version, step: Version) -> _Move | None:
    """The update of kube-proxy to the version of the control plane, where it is too old for the next one."""
    why = _too_old(parse(have), now, step) if addon.name == KUBE_PROXY.addon else ""
    if not why:
        return None
    offered = facts.aws.addon_versions.get(addon.name)
    to = addon_versions.target(offered, in_words(now), "") if isinstance(offered, AddonVersions) else ""
    return _Move(addon, have, to, True, why)


def _too_old(proxy: Version | Unknown | None, now: Version, step: Version) -> str:
    """Why kube-proxy has to follow the control plane to `current` before that gets `step`; "" where it does not."""
    skew = None if isinstance(proxy, Unknown) or now == step else kube_proxy_skew(step, proxy)
    return f"once the control plane has {in_words(step)}, {skew.why}" if skew and skew.fit is Fit.TOO_OLD else ""


def _move(facts: CheckFacts, addon: Addon, have: str, now: Version, step: Version) -> _Move | None:
    offered = facts.aws.addon_versions.get(addon.name)
    last, wanted = step == facts.way.target, in_words(step)
    if not isinstance(offered, AddonVersions):
        why = f"which versions are made for {wanted} is not known"
        return _Move(addon, have, "", False, why) if last or addon.name == KUBE_PROXY.addon else None
    default = addon_versions.target(offered, wanted, "")
    if addon.name == KUBE_PROXY.addon:
        return None if default == have else _Move(addon, have, default, False, _TURN[addon.name])
    if not addon_versions.is_offered(offered, wanted, have):
        # Of the versions that support both, the default of the step, or else the newest.
        old, new = in_words(now), in_words(step)
        both = addon_versions.offered_for(offered, old, new)
        if both and now != step:
            to = default if default in both else both[0]
            return _Move(addon, have, to, True, f"{have} is not made for {new}; {to} is made for both {old} and {new}")
        gap = "" if now == step else f", and none for both {old} and {new}"
        return _Move(addon, have, default, False, f"{have} is not made for {new}{gap}")
    if last and default and _older(offered, have, default):
        return _Move(addon, have, default, False, f"it fits {wanted}; EKS installs this one by default there")
    return None


def _older(offered: AddonVersions, have: str, than: str) -> bool:
    """Whether `version` is older than `other`; EKS lists the newest first."""
    order = [each.version for each in offered.versions]
    return have in order and than in order and order.index(have) > order.index(than)


def _step(facts: CheckFacts, there: Sequence[RunningVersion], move: _Move, phase: Phase, at: Version) -> UpgradeStep:
    """`control_plane`: the version that the control plane has at that time."""
    name, versions = move.addon.name, _versions(facts, move, at)
    turn = "" if move.before else _TURN.get(name, "")
    why = move.why if not turn or turn == move.why else f"{move.why}; {turn}"
    return UpgradeStep(
        phase,
        f"Update add-on {name} to {move.to or f'its version for {in_words(at)}'}",
        why,
        tuple(_commands(facts, name, versions, at)),
        f"EKS says ACTIVE, and pods of it run as {move.to or 'that version'}",
        eks(facts, "wait addon-active", "--addon-name", name),
        at=at,
        codes=_BLOCKING,
        about=tuple(dict.fromkeys((name, *_objects(there, name)))),
        source=basis("kube-proxy-order").source if name == KUBE_PROXY.addon else _LISTED,
        forms=of_addon(facts, name, versions) if versions else (),
    )


def _versions(facts: CheckFacts, move: _Move, at: Version) -> tuple[str, ...]:
    """The versions to install one after the other; vpc-cni stops at every minor between. None if not known."""
    offered = facts.aws.addon_versions.get(move.addon.name)
    if move.to and isinstance(offered, AddonVersions):
        return addon_versions.steps(move.addon.name, offered, in_words(at), move.have, move.to)
    return (move.to,) if move.to else ()


def _commands(facts: CheckFacts, name: str, versions: Sequence[str], at: Version) -> Iterator[str]:
    """The commands that show the update first, then apply it."""
    if not versions:
        yield aws(facts, "eks", "describe-addon-versions", "--addon-name", name, "--kubernetes-version", in_words(at))
    for version in versions:
        yield shell("kubectl", "eksdoc", "addon-diff", name, "--to", version)
        yield shell("kubectl", "eksdoc", "addon-diff", name, "--to", version, "--apply")


def _objects(there: Sequence[RunningVersion], name: str) -> Iterator[str]:
    """The names of the objects that run the add-on: findings may be about those (``aws-node``)."""
    for each in there:
        if each.software.addon == name:
            yield each.subject.name


# Software that EKS does not manage: which is updated before the control plane, and which after it.


@frozen
class _ProgramsMove:
    of: RunningVersion
    placed: OrderedAddon


def programs_before(
    facts: CheckFacts, there: Sequence[RunningVersion], now: Version, step: Version
) -> Iterator[UpgradeStep]:
    """The updates before the control plane's step from `current` to the next minor. `running_versions`: all software
    that runs."""
    for move in _programs_moves(facts, there, step, UpdatePosition.BEFORE_CONTROL_PLANE):
        condition = move.placed.only_if
        yield _programs_step(move, Phase.BEFORE_CONTROL_PLANE, now, f" (if {condition})" if condition else "")


def programs_after(facts: CheckFacts, there: Sequence[RunningVersion], step: Version) -> Iterator[UpgradeStep]:
    """The updates after the control plane's step, in the order of EKS add-ons: first kube-proxy, vpc-cni, CoreDNS."""
    moves = _programs_moves(facts, there, step, UpdatePosition.AFTER_CONTROL_PLANE)
    for move in sorted(moves, key=lambda each: turn(each.of.software.addon)):
        if move.placed.to is not None or step == facts.way.target:
            yield _programs_step(move, Phase.AFTER_CONTROL_PLANE, step)


def _programs_moves(
    facts: CheckFacts, there: Sequence[RunningVersion], step: Version, place: UpdatePosition
) -> Iterator[_ProgramsMove]:
    """The updates in that position at that step, each from the version that the earlier steps have left."""
    managed = {addon.name for addon in installed(facts)}
    seen: set[tuple[str, str]] = set()
    for each in installations(there):
        key = each.software.name, str(each.subject)
        if each.software.addon in managed or key in seen:
            continue
        seen.add(key)
        have, now = each.version, facts.way.now
        for to in facts.way.steps or (facts.way.target,):
            why = _too_old(have, now, to) if each.software == KUBE_PROXY else ""
            if why:
                have = now
                if to == step and place is UpdatePosition.BEFORE_CONTROL_PLANE:
                    yield _ProgramsMove(each, OrderedAddon(place, why, now, basis("kube-proxy-order").source))
            found = placed(each.software, have, now, to, more=facts.tables.compatibility)
            if to == step and found.place is place and not found.reached(have):
                yield _ProgramsMove(each, found)
            if found.place in (UpdatePosition.BEFORE_CONTROL_PLANE, UpdatePosition.AFTER_CONTROL_PLANE):
                have = found.to or have
            now = to


def _programs_step(move: _ProgramsMove, phase: Phase, at: Version, condition: str = "") -> UpgradeStep:
    name, subject = move.of.software.name, move.of.subject
    to = (
        f" to {in_words(move.placed.to)} or newer"
        if move.placed.to is not None
        else f" to a version for {in_words(at)}"
    )
    return UpgradeStep(
        phase,
        f"Update {name} ({subject.kind} {subject}){to}{condition}",
        move.placed.why,
        done_when="its new pods are Ready, by the tool that it was installed with",
        verify=kubectl("rollout status", subject.kind.lower(), subject.name, subject.namespace)
        if subject.kind in _ROLLED
        else "",
        at=at,
        source=move.placed.source,
    )


_ROLLED = ("Deployment", "DaemonSet", "StatefulSet")
