"""The way to the target: since which version fields are in the schema, and, for an add-on that goes one minor at a
time, what each step risks and the call that keeps all."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.addon_diff.plan import AddonPlan
from kubectl_eksdoc.addon_diff.since import Since
from kubectl_eksdoc.model.aws.configuration import shown as config_shown
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.render.addon import commands, words
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.tables import MARGIN, Title, titled
from kubectl_eksdoc.render.text import counted, shown, wrap

_TITLE = Title("Each step", ": one minor version at a time, none of them before the one above is Successful")
_AGAIN = "Look again before each step: what the one before it changed by itself is not in these plans."


def steps(plans: Sequence[AddonPlan], look: Look) -> list[str]:
    """Lines, none without steps."""
    if not plans:
        return []
    lines: list[str] = []
    for number, plan in enumerate(plans, 1):
        lines += wrap(shown(f"{number}. {plan.facts.target.version}: {in_short(plan)}", look), look.columns, MARGIN)
        command = commands.next_update(plan)
        lines += [f"{MARGIN * 2}{shown(command, look)}"] if command else []
    return titled(_TITLE, [*lines, *wrap(_AGAIN, look.columns, MARGIN)], look)


def in_short(plan: AddonPlan) -> str:
    """``1 field at risk, which these values keep``."""
    refused = [each.message for each in plan.findings if each.code is Code.of("addon-values-refused")]
    way, risky = plan.way_out, sum(change.at_risk for change in plan.changes)
    if way is None and risky:
        risk = f"{counted(risky, 'field')} at risk, and no values can be proposed, as today's are not known"
    elif way is None:
        risk = "nothing more at risk"
    elif way.cannot:
        names = ", ".join(words.named(change) for change in way.cannot)
        risk = f"{counted(len(way.keeps) + len(way.cannot), 'field')} at risk; no value keeps {names}"
    elif way.usable:
        risk = f"{counted(len(way.keeps), 'field')} at risk, which these values keep"
    else:
        risk = f"{counted(len(way.keeps), 'field')} at risk, and EKS refuses the values that would keep them"
    unknown = any(each.status is Status.UNKNOWN for each in plan.findings)
    return "; ".join([risk, *refused, *(["not all of it is known"] if unknown else [])])


_SINCE = Title("First in the schema", ": from that version on, EKS takes these fields for its own")


def first_owned(found: Sequence[Since], look: Look) -> list[str]:
    """Lines, none without fields."""
    lines = [line for each in found for line in wrap(shown(_since(each), look), look.columns, MARGIN, MARGIN * 2)]
    return titled(_SINCE, lines, look) if lines else []


def _since(found: Since) -> str:
    path = config_shown(found.config)
    if found.exact and not found.lacks:
        return f"{path}: already in {found.has}, which is installed"
    if found.exact:
        return f"{path}: since {found.has} ({found.lacks} has it not)"
    before = f"not in {found.lacks}, " if found.lacks else ""
    return f"{path}: {before}in {found.has}; of versions between them the schema is not known"
