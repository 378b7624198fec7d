"""A check in sentences."""

from __future__ import annotations

from kubectl_eksdoc.core.model.findings import Finding, Severity, Status
from kubectl_eksdoc.core.plan.check.areas import Gate
from kubectl_eksdoc.core.plan.check.plan import CheckPlan
from kubectl_eksdoc.core.plan.check.symptoms import Diagnosis
from kubectl_eksdoc.core.rules.upgrades.sourced import in_words
from kubectl_eksdoc.render.text import counted, joined


def before(plan: CheckPlan, gate: Gate | None) -> str:
    """Which step waits: ``before the nodes' step``."""
    if gate is None:
        return "that no step waits for"
    if gate is Gate.BEFORE_CONTROL_PLANE:
        return f"before the control plane's {'' if plan.facts.way.steps else 'next '}step"
    return "before the nodes' step" if gate is Gate.BEFORE_NODES else "before the end of the upgrade"


def in_short(plan: CheckPlan) -> str:
    """The first lines: which way, may it be gone, and what stands against it."""
    if plan.diagnosis is not None:
        return _symptom(plan.diagnosis)
    suppressed = f" {counted(len(plan.suppressed), 'finding')} suppressed." if plan.suppressed else ""
    return f"{_way(plan)} {_verdict(plan)}{suppressed}"


def _symptom(found: Diagnosis) -> str:
    """Of a symptom it is not said whether the cluster may be upgraded: only what it needs was looked at."""
    unknown = f", {counted(len(found.unknown), 'answer')} not known" if found.unknown else ""
    causes = counted(len(found.suspects), "possible cause") if found.suspects else "no cause found"
    seen = any(each.now for each in found.suspects) or not found.suspects
    return f"{found.symptom.value}: {causes}{unknown}.{'' if seen else _LATENT}"


_LATENT = " Nothing shows that any of this hurts now: see with --changed-since 2h whether the time fits."
"""The likeliest of what lies in wait is no proof: somebody would mend the wrong thing, and wait."""


def _way(plan: CheckPlan) -> str:
    way = plan.facts.way
    assumed = f" ({way.told_by})" if way.assumed else ""
    if not way.steps:
        return f"The control plane has {in_words(way.now)}{assumed}, which is the target; the rest is to follow."
    return f"From {way.text}{assumed}."


def _verdict(plan: CheckPlan) -> str:
    said, held = [], False
    for gate in Gate:
        fails, unknown = len(plan.of(gate, Status.FAIL)), len(plan.of(gate, Status.UNKNOWN))
        if fails or unknown:
            parts = [counted(fails, "finding")] if fails else []
            parts += [f"{unknown} unknown"] if unknown else []
            said.append(f"{joined(parts)} {before(plan, gate)}")
            held = held or gate is not Gate.AFTER
    if said and not held and plan.wish.whole and plan.facts.way.steps:
        # Before the upgrade nodes are always behind its target: the way itself mends that.
        return f"Nothing stands against the next step; still to come: {'; '.join(said)}."
    if said:
        return f"Not yet: {'; '.join(said)}."
    beside = len(plan.of(None, Status.FAIL))
    if beside:
        return f"Nothing blocks a step; {counted(beside, 'finding')} besides."
    slight = sum(_too_slight(plan, each) for each in plan.findings)
    if slight:
        verb = "is" if slight == 1 else "are"
        return (
            f"Nothing counts at --fail-on {plan.wish.fail_on.value}: {counted(slight, 'finding')} {verb} less severe."
        )
    return "Nothing to do: all that was looked at is as it should be."


def _too_slight(plan: CheckPlan, found: Finding) -> bool:
    """What does not count for its severity alone; advice to read (unknown, info) is nothing to mend."""
    told = found.status is Status.FAIL or (found.status is Status.UNKNOWN and found.severity is not Severity.INFO)
    return told and not plan.counts(found)
