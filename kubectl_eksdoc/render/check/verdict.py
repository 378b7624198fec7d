"""The verdict of a check, what stands before which step, and why, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from kubectl_eksdoc.amazon.upgrades.sourced import in_words
from kubectl_eksdoc.check.areas import Gate
from kubectl_eksdoc.check.causes import AWS, RootCause
from kubectl_eksdoc.check.plan import CheckPlan
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.findings import Finding, Severity, Status
from kubectl_eksdoc.render.text import counted, joined

if TYPE_CHECKING:  # manifests alone have no symptoms and no steps
    from kubectl_eksdoc.check.checklist.steps import UpgradeStep
    from kubectl_eksdoc.check.symptoms import SymptomDiagnosis


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
        return symptom(plan.diagnosis)
    return f"{way(plan)} {verdict(plan).text}{suppressed(plan)}{left_out(plan)}"


class Verdict(NamedTuple):
    """`head` is the answer, `rest` what it rests on, with what joins them. `against`: whether something is in the way
    of the next step, be it only that it is not known."""

    head: str
    rest: str
    against: bool

    @property
    def text(self) -> str:
        return f"{self.head}{self.rest}"


def suppressed(plan: CheckPlan) -> str:
    """With a space before; "" where none is."""
    return f" {counted(len(plan.suppressed), 'finding')} suppressed." if plan.suppressed else ""


def left_out(plan: CheckPlan) -> str:
    """With a space before; "" where all was asked."""
    return f" {plan.facts.eks.why}." if plan.wish.no_aws and isinstance(plan.facts.eks, Unknown) else ""


def partly(plan: CheckPlan) -> str:
    """That this is no answer to whether the cluster may be upgraded; "" where it is one."""
    if plan.wish.whole:
        return ""
    gate = (f"--gate {plan.wish.gate.value}",) if plan.wish.gate is not None else ()
    only = plan.wish.only
    if plan.wish.areas:
        from kubectl_eksdoc.check.registry import codes_of  # manifests alone must not pay for all checks

        only -= frozenset(codes_of(plan.wish.areas))
    named = {"--area": plan.wish.areas, "--only": sorted(only)}
    flags = (f"{flag} {', '.join(each)}" for flag, each in named.items() if each)
    return f"Only a part was checked ({'; '.join((*gate, *flags))}): the rest of the upgrade may have obstacles."


def symptom(found: SymptomDiagnosis) -> str:
    """Of a symptom it is not said whether the cluster may be upgraded: only what it needs was looked at."""
    unknown = f", {counted(len(found.unknown), 'answer')} not known" if found.unknown else ""
    causes = counted(len(found.suspects), "possible cause") if found.suspects else "no cause found"
    seen = any(each.now for each in found.suspects) or not found.suspects
    return f"{found.symptom.value}: {causes}{unknown}.{'' if seen else _LATENT}"


_LATENT = " Nothing shows that any of this hurts now: see with --changed-since 2h whether the time fits."
"""The likeliest of what lies in wait is no proof: somebody would mend the wrong thing, and wait."""


def way(plan: CheckPlan) -> str:
    """From where to where."""
    found = plan.facts.way
    assumed = f" ({found.told_by})" if found.assumed else ""
    if not found.steps:
        return f"The control plane has {in_words(found.now)}{assumed}, which is the target; the rest is to follow."
    return f"From {found.text}{assumed}."


def at_gate(plan: CheckPlan, gate: Gate | None) -> str:
    """``8 causes and 1 unknown``, "" where nothing stands against it; None: what is before no step."""
    return causes(each for each in plan.causes if each.gate is gate)


def causes(found: Iterable[RootCause]) -> str:
    """Of what fails, and of what is only not known."""
    fails, unknown = figures(found)
    return joined([*([counted(fails, "cause")] if fails else []), *([f"{unknown} unknown"] if unknown else [])])


def cause(of: RootCause) -> str:
    """``API policy/v1beta1``."""
    return f"{of.subject.kind} {of.subject}"


def because(plan: CheckPlan, of: RootCause) -> str:
    """What is so; of another object than the cause is called by, which one."""
    if of.subject == AWS and isinstance(plan.facts.eks, Unknown):
        return f"{plan.facts.eks.why} ({counted(len(of.findings), 'answer')})"
    first = of.first
    return first.message if first.subject == of.subject else f"{first.subject.kind} {first.subject}: {first.message}"


def figures(found: Iterable[RootCause]) -> tuple[int, int]:
    """How many fail, and how many are not known."""
    every = [each.status for each in found]
    return every.count(Status.FAIL), every.count(Status.UNKNOWN)


def counts(plan: CheckPlan, found: Iterable[Finding]) -> tuple[int, int]:
    """How many causes begin with one of `found` and fail, and how many are not known or accepted so."""
    every = {id(each): each for each in found}
    fails, unknown = figures(each for each in plan.causes if id(each.first) in every)
    accepted = sum(f.status is Status.UNKNOWN and f.code.name in plan.wish.accepted for f in every.values())
    return fails, unknown + accepted


def verdict(plan: CheckPlan) -> Verdict:
    """Where no symptom was named: may it be gone, and what stands against it."""
    accepted = len(plan.outcome.accepted)
    also = f" {accepted} unknown, accepted by --accept-unknown." if accepted else ""
    said = [f"{found} {before(plan, gate)}" for gate in Gate if (found := at_gate(plan, gate))]
    if said:
        return Verdict("Not yet", f": {'; '.join(said)}.{also}", True)
    beside = at_gate(plan, None)
    if beside:
        return Verdict("Nothing blocks a step", f"; {beside} more.{also}", False)
    if accepted:
        return Verdict("Nothing blocks a step", f";{also}", False)
    slight = sum(too_slight(plan, each) for each in plan.findings)
    if slight:
        verb = "is" if slight == 1 else "are"
        rest = f": {counted(slight, 'finding')} {verb} less severe."
        return Verdict(f"Nothing counts at --fail-on {plan.wish.fail_on.value}", rest, False)
    return Verdict("Nothing to do", ": all that was checked is as it should be.", False)


def slight_at(plan: CheckPlan, gate: Gate) -> int:
    """So many do not count there for their severity alone."""
    return sum(too_slight(plan, each) for one in plan.judged if one.check.gate is gate for each in one.findings)


def too_slight(plan: CheckPlan, found: Finding) -> bool:
    """What does not count for its severity alone; advice to read (unknown, info) is nothing to mend."""
    told = found.status is Status.FAIL or (found.status is Status.UNKNOWN and found.severity is not Severity.INFO)
    return told and not plan.counts(found)


# The step that waits for a finding, and what a step waits for.


GateOf = Callable[[Finding], Gate | None]


def gates(plan: CheckPlan) -> GateOf:
    """Of what is suppressed, by its code: which check has found it is not kept."""
    by_finding = {found: each.check.gate for each in plan.judged for found in each.findings}
    by_code: dict[str, Gate | None] = {}
    for each in plan.judged:
        for code in each.check.codes:
            by_code.setdefault(code.name, each.check.gate)

    def of(found: Finding) -> Gate | None:
        return by_finding[found] if found in by_finding else by_code.get(found.code.name)

    return of


def why(step: UpgradeStep) -> str:
    """With where it is from."""
    if step.source is None:
        return f"{step.why}."
    return f"{step.why} [{', '.join(filter(None, (step.source.document, step.source.doubt)))}]"


def waits(plan: CheckPlan, step: UpgradeStep) -> str:
    """``2 causes and 1 unknown first``; "" where nothing is in its way."""
    whole = step.gate is not None and not step.codes and not step.about
    said = at_gate(plan, step.gate) if whole else causes(plan.causes_of(plan.waiting(step)))
    return f"{said} first" if said else ""
