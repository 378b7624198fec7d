"""How bad it is where a field of an add-on loses its value: by what it does, and who uses that now."""

from __future__ import annotations

from kubectl_eksdoc.core.model.aws.asked import Unknown
from kubectl_eksdoc.core.model.findings import Severity
from kubectl_eksdoc.core.plan.addon.effects import Users, effect_of
from kubectl_eksdoc.core.plan.addon.fields import LiveField
from kubectl_eksdoc.core.plan.addon.merging import MISSING
from kubectl_eksdoc.core.plan.addon.usage import Usage

LONGEST = 60


def value_of(value: object) -> str:
    """For a sentence; what is long is named by its kind."""
    if value is MISSING:
        return "nothing"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    if len(text) > LONGEST or "\n" in text:
        return "a text" if isinstance(value, str) else "a document"
    return text


def weigh(field: LiveField, value: object, usage: Usage) -> tuple[Severity, tuple[str, ...]]:
    """How bad the loss of `value` is here, with what it rests on."""
    effect = effect_of(field)
    if effect is None:
        return Severity.MEDIUM, ("what follows from it is not known here",)
    if effect.of and not _is_on(value):
        return Severity.LOW, (f"only the loss of {value_of(effect.of)} matters: {effect.does}",)
    when = "as the update rolls over the nodes" if effect.at_once else "later"
    told = f"{effect.does} ({when}; {effect.source})"
    if effect.users is not Users.BRANCH_PODS:
        return effect.worst, (told,)
    pods = usage.branch_pods
    if isinstance(pods, Unknown):
        return effect.worst, (told, f"which pods have security groups of their own is not known: {pods.why}")
    if not pods:
        return Severity.LOW, (f"no pod has security groups of its own; else {told}",)
    named_pods = ", ".join(pods[:3]) + (f" and {len(pods) - 3} more" if len(pods) > 3 else "")
    have = "1 pod has" if len(pods) == 1 else f"{len(pods)} pods have"
    return effect.worst, (told, f"{have} security groups of their own: {named_pods}")


def _is_on(value: object) -> bool:
    """As Go's strconv.ParseBool, by which vpc-cni reads its variables."""
    return value in ("1", "t", "T", "true", "TRUE", "True", True)
