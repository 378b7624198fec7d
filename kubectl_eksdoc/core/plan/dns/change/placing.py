"""What of the add-on's values places CoreDNS: the whole affinity, a spread over zones, and a budget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.coredns import LABEL, SYSTEM
from kubectl_eksdoc.core.plan.addon.schema.allowed import SchemaPaths
from kubectl_eksdoc.core.plan.dns.change import affinity as affinities
from kubectl_eksdoc.core.plan.dns.change.landing import Landing, landing, too_few
from kubectl_eksdoc.core.plan.dns.change.wishes import Place, Refused
from kubectl_eksdoc.core.plan.dns.deployed import DEPLOYMENT
from kubectl_eksdoc.core.plan.dns.facts import DnsFacts

SPREAD, BUDGET = "topologySpreadConstraints", "podDisruptionBudget"
ZONE = "topology.kubernetes.io/zone"
_SPREADS: Doc = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "ScheduleAnyway",
    "labelSelector": {"matchLabels": dict((LABEL,))},
}
"""As EKS' own manifests have it from 1.30 on."""
_BUDGET: Doc = {"enabled": True, "maxUnavailable": 1}
"""As the add-on makes it by default."""


@dataclass(frozen=True, slots=True)
class Placed:
    """`values`: what of the add-on's values is set, {} for what is taken away; `affinity` as it becomes, {} for none;
    `source`: whose it was. `holds`: the live Deployment has it."""

    values: Doc
    affinity: Doc
    source: str
    landing: Landing | None = None
    holds: bool = True


def placed(facts: DnsFacts, values: Doc, place: Place, schema: SchemaPaths | None) -> Placed | tuple[Refused, ...]:
    """`values`: those of the add-on today; `schema`: None where it is not known, or nobody holds it to one."""
    if schema is not None and schema.of((affinities.KEY,)) is None:
        why = f"the schema of this version of the add-on has no {affinities.KEY}: EKS would refuse it"
        return (Refused(why, "Update the add-on first: kubectl eksdoc addon-diff coredns."),)
    today = _today(facts, values, schema)
    if isinstance(today, Refused):
        return (today,)
    source, before = today
    live = at(_deployment(facts), "spec", "template", "spec", "affinity") or {}
    if place is Place.ANY:
        any_node = affinities.with_spot(before)
        if any_node == before and affinities.KEY not in values:
            return Placed({}, any_node, "")  # nobody keeps it from any
        return Placed({affinities.KEY: any_node}, any_node, source, holds=live == any_node)
    after = affinities.without_spot(before)
    if affinities.of_pods(after) != affinities.of_pods(live if isinstance(live, dict) else {}):
        why = "the affinity among pods that the add-on's values ask for is another one than that of today's pods"
        hint = "Bring the add-on in order first: kubectl eksdoc addon-diff coredns tells why it does not hold."
        return (Refused(f"whether CoreDNS would find nodes is not known: {why}", hint, "what its pods ask for"),)
    lands = landing(facts, after)
    if isinstance(lands, Refused):
        return (lands,)
    new: Doc = {affinities.KEY: after}
    constraints = _spread(facts, values, schema)
    if constraints:
        new[SPREAD] = constraints
    refused = too_few(lands)
    if refused is not None:
        return (Lacking(refused.why, refused.hint, refused.missing, lands),)
    return Placed(new, after, source, lands, live == after)


@dataclass(frozen=True, slots=True)
class Lacking(Refused):
    """With which nodes were looked at."""

    landing: Landing | None = None


def _deployment(facts: DnsFacts) -> Doc:
    found = facts.objects.get(DEPLOYMENT)
    return found if isinstance(found, dict) else {}


def _today(facts: DnsFacts, values: Doc, schema: SchemaPaths | None) -> tuple[str, Doc] | Refused:
    """Which affinity holds, and from where."""
    given = values.get(affinities.KEY)
    if isinstance(given, dict) and given:
        return "the add-on's values", given
    found = facts.objects.get(DEPLOYMENT, Absent("it was not asked for"))
    if isinstance(found, (Absent, Unknown)):
        why = found.why if isinstance(found, Unknown) else found.said
        missing = (found.missing if isinstance(found, Unknown) else "") or "Deployment coredns"
        return Refused(f"the affinity of today is not known: {why}", "", missing)
    live = at(found, "spec", "template", "spec", "affinity")
    if isinstance(live, dict) and live:
        return "the live Deployment", live
    allowed = schema.of((affinities.KEY,)) if schema is not None else None
    default = affinities.of_schema(allowed.default) if allowed is not None and allowed.has_default else {}
    return ("the default of the schema", default) if default else ("nobody's: there was none", {})


def _spread(facts: DnsFacts, values: Doc, schema: SchemaPaths | None) -> list[Doc]:
    """The whole list, with one over zones; [] where it is there, or the version has no such value."""
    if schema is None or schema.of((SPREAD,)) is None:
        return []
    live = at(_deployment(facts), "spec", "template", "spec", SPREAD)
    held = values.get(SPREAD) or live or []
    if not isinstance(held, list) or any(isinstance(each, dict) and each.get("topologyKey") == ZONE for each in held):
        return []
    return [*held, dict(_SPREADS)]


def budgeted(facts: DnsFacts, values: Doc, schema: SchemaPaths | None) -> Doc:
    """A budget for CoreDNS, where none is there and the add-on can make one; {} else, and where its values say."""
    if schema is None or schema.of((BUDGET,)) is None or BUDGET in values:
        return {}
    if not facts.cluster.read_of(kinds.BUDGETS).known or any(_guards(facts)):
        return {}
    return {BUDGET: dict(_BUDGET)}


def _guards(facts: DnsFacts) -> Iterator[bool]:
    labels = dict((LABEL,))
    for budget in facts.cluster.budgets:
        if budget.namespace == SYSTEM:
            yield budget.selector.matches(labels) or any(budget.selector.matches(pod.labels) for pod in facts.pods)
