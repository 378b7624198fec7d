"""The whole checklist, in order."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.check.checklist import addons, control_plane, ending, karpenter, nodes, programs
from kubectl_eksdoc.check.checklist.preparing import preparing
from kubectl_eksdoc.check.checklist.steps import UpgradeStep, numbered
from kubectl_eksdoc.check.checks.running import running
from kubectl_eksdoc.check.facts import CheckFacts
from kubectl_eksdoc.model.commands import CommandTarget


def checklist(facts: CheckFacts, reach: CommandTarget = CommandTarget()) -> tuple[UpgradeStep, ...]:
    """From where the control plane is to the target; where it is there already, what is still to follow. `reach`: by
    which words commands lead to the cluster that was read."""
    return numbered(_all(facts), reach)


def _all(facts: CheckFacts) -> Iterator[UpgradeStep]:
    yield from preparing(facts)
    there = running(facts.cluster.pods)
    now = facts.way.now
    for step in facts.way.steps:
        first = now == facts.way.now
        yield control_plane.looked_at(facts, step, first)
        yield from programs.before(facts, there, now, step)
        yield from addons.before(facts, there, now, step)
        yield from nodes.before(facts, now, step)
        if first:
            yield from karpenter.held(facts)
        yield from control_plane.update(facts, step)
        yield control_plane.soak(facts, now, step)
        yield from addons.after(facts, there, step)
        yield from programs.after(facts, there, step)
        now = step
    if not facts.way.steps:
        yield from addons.after(facts, there, facts.way.target)
        yield from programs.after(facts, there, facts.way.target)
    yield from nodes.after(facts, there)
    yield from ending.fargate(facts)
    yield from ending.verified(facts)
