"""What is sent: the update as it was asked for, or with the values that keep what somebody has set."""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.addon_diff.facts import AddonUpdateRequest
from kubectl_eksdoc.addon_diff.plan import AddonPlan
from kubectl_eksdoc.addon_diff.prediction import FieldChange


@dataclass(frozen=True, slots=True)
class Sending:
    """`asked` is what the call says. `keeps`: the fields for whose sake it has values that nobody gave. `on_purpose`:
    the user said what is to be sent, so that what is lost is meant to be."""

    asked: AddonUpdateRequest
    keeps: tuple[FieldChange, ...] = ()
    on_purpose: bool = False


def sending(plan: AddonPlan, as_asked: bool) -> Sending:
    """Nobody loses anything for having said nothing: without values of the user's, the proposed ones go with the call.

    The mode stays as it was asked for: with these values nothing is in conflict, and NONE refuses what was not
    foreseen.
    """
    if as_asked or plan.asked.values is not None:
        return Sending(plan.asked, on_purpose=True)
    way = plan.way_out
    if way is None or not way.usable:
        return Sending(plan.asked)
    return Sending(AddonUpdateRequest(plan.asked.mode, way.values), way.keeps)
