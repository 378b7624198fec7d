"""The way back: another update, to the version of before, with its values and every field as it was live.

`kubectl apply` of a saved object is none: it would make whoever applies it the owner of all its fields, and the next
update without force would fail (field.md 12).
"""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.addon_diff.fields import AddonField
from kubectl_eksdoc.addon_diff.merging import MISSING, with_value
from kubectl_eksdoc.addon_diff.plan import AddonPlan
from kubectl_eksdoc.amazon import addon_versions
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.asked import Unknown


@dataclass(frozen=True, slots=True)
class AddonRollback:
    """`values` of the call; `by_hand`: fields that no value of that version sets, to be set again by hand. `caveats`:
    what may forbid it, each a clause."""

    addon: str
    version: str
    values: Doc
    by_hand: tuple[AddonField, ...] = ()
    caveats: tuple[str, ...] = ()


def way_back(plan: AddonPlan) -> AddonRollback | Unknown:
    """Of the update as it was asked for: all that it puts at risk is set as it is live. Unknown where today's values
    are: what would be given replaces all of them."""
    facts = plan.facts
    if isinstance(facts.values, Unknown):
        return Unknown(f"the values of today are not known, so none can be given again: {facts.values.why}")
    values, by_hand = facts.values, []
    schema = facts.now.schema
    for change in plan.changes:
        if not change.at_risk or change.live is MISSING:
            continue
        if change.config and (isinstance(schema, Unknown) or not schema.refuses(change.config)):
            values = with_value(values, change.config, change.live)
        else:
            by_hand.append(change.field)
    name, version = facts.addon.name, facts.addon.version
    caveats = [f"EKS takes it only while it offers {version} for Kubernetes {facts.cluster.version}"]
    if addon_versions.skips_minors(name, facts.target.version, version):
        caveats.append(f"AWS recommends to update {name} one minor version at a time")
    if isinstance(schema, Unknown) and values != facts.values:
        caveats.append(f"whether {version} takes these values is not known: {schema.why}")
    return AddonRollback(name, version, values, tuple(by_hand), tuple(caveats))
