"""Programs that EKS does not manage, along the way: which is updated before the control plane, and which follows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kubectl_eksdoc.amazon.upgrades.addon_needs import OrderedAddon, UpdatePosition, placed
from kubectl_eksdoc.amazon.upgrades.sourced import in_words
from kubectl_eksdoc.check.checklist.addons import turn
from kubectl_eksdoc.check.checklist.steps import Phase, UpgradeStep
from kubectl_eksdoc.check.checks.programs import installed
from kubectl_eksdoc.check.checks.running import RunningVersion
from kubectl_eksdoc.check.facts import CheckFacts
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.commands import kubectl
from kubectl_eksdoc.model.versions import Version


@dataclass(frozen=True, slots=True)
class _Move:
    of: RunningVersion
    placed: OrderedAddon


def before(facts: CheckFacts, there: Sequence[RunningVersion], now: Version, step: Version) -> Iterator[UpgradeStep]:
    """In the step from `now` to the next minor. `there`: all programs that run."""
    for move in _moves(facts, there, step, UpdatePosition.BEFORE_CONTROL_PLANE):
        condition = move.placed.only_if
        yield _step(move, Phase.BEFORE_CONTROL_PLANE, now, f" (if {condition})" if condition else "")


def after(facts: CheckFacts, there: Sequence[RunningVersion], step: Version) -> Iterator[UpgradeStep]:
    """In the order in which add-ons of EKS go: kube-proxy, vpc-cni and CoreDNS come first."""
    moves = _moves(facts, there, step, UpdatePosition.AFTER_CONTROL_PLANE)
    for move in sorted(moves, key=lambda each: turn(each.of.software.addon)):
        if move.placed.to is not None or step == facts.way.target:
            yield _step(move, Phase.AFTER_CONTROL_PLANE, step)


def _moves(facts: CheckFacts, there: Sequence[RunningVersion], step: Version, place: UpdatePosition) -> Iterator[_Move]:
    """Those of that place at that step, each with the version that the steps before it have given it."""
    managed = {addon.name for addon in installed(facts)}
    seen: set[tuple[str, str]] = set()
    for each in there:
        key = each.software.name, str(each.subject)
        if each.software.addon in managed or key in seen:
            continue
        seen.add(key)
        have, now = each.version, facts.way.now
        for to in facts.way.steps or (facts.way.target,):
            found = placed(each.software, have, now, to, more=facts.tables.compatibility)
            if to == step and found.place is place and not _there(have, found):
                yield _Move(each, found)
            if found.place in (UpdatePosition.BEFORE_CONTROL_PLANE, UpdatePosition.AFTER_CONTROL_PLANE):
                have = found.to or have
            now = to


def _there(have: Version | Unknown, found: OrderedAddon) -> bool:
    return found.to is not None and not isinstance(have, Unknown) and not have < found.to


def _step(move: _Move, phase: Phase, at: Version, condition: str = "") -> UpgradeStep:
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
