"""Add-on values that place CoreDNS: the complete affinity, a spread over zones, and a budget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from kubectl_eksdoc.addon_diff.schema import SchemaPaths
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.scheduling.occupancy import Occupancy
from kubectl_eksdoc.kubernetes.scheduling.refusals import SchedulerFilter
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.coredns import LABEL, SYSTEM
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.nodes import Node, Pod
from kubectl_eksdoc.model.placing import NODE_AFFINITY, NODE_TERMS, REQUIRED, node_terms

from .deployed import DEPLOYMENT, DnsFacts
from .lameduck import ChangeRefused
from .placement import SPOT

# The affinity that keeps CoreDNS off Spot nodes. It is complete, because the add-on's value replaces every default.
#
# Managed node groups and Karpenter use different capacity labels, and either may be missing: ``NotIn`` fits both,
# because it also matches nodes without the label. A self-managed Spot node without labels is therefore not recognized.
# Sources: EKS user guide, managed node groups (eks.amazonaws.com/capacityType); Karpenter, well-known labels.


KEY = "affinity"
NOT_SPOT: tuple[Doc, ...] = (
    {"key": "karpenter.sh/capacity-type", "operator": "NotIn", "values": ["spot"]},
    {"key": "eks.amazonaws.com/capacityType", "operator": "NotIn", "values": ["SPOT"]},
)


def without_spot(affinity: Doc) -> Doc:
    """The affinity with each required term (terms are alternatives) excluding Spot nodes; the rest is unchanged."""
    # An empty term matches no node, but would match nearly all with the new expressions.
    terms = [each for each in _terms(affinity) if isinstance(each, dict) and any(each.values())] or [{}]
    required = {**(at(affinity, NODE_AFFINITY, REQUIRED) or {}), NODE_TERMS: [_more(term) for term in terms]}
    return {**affinity, NODE_AFFINITY: {**(affinity.get(NODE_AFFINITY) or {}), REQUIRED: required}}


def of_schema(default: Any) -> Doc:
    """The default in a schema; some are wrapped twice (coredns v1.10.1-eksbuild.11)."""
    inner = default.get(KEY, default) if isinstance(default, dict) else {}
    return inner if isinstance(inner, dict) else {}


def of_pods(affinity: Doc) -> Doc:
    """The required affinity to other pods; preferred affinity keeps no pod off a node."""
    found = {key: at(affinity, key, REQUIRED) for key in ("podAffinity", "podAntiAffinity")}
    return {key: value for key, value in found.items() if value}


def _terms(affinity: Doc) -> list[Any]:
    found = at(affinity, NODE_AFFINITY, REQUIRED, NODE_TERMS)
    return found if isinstance(found, list) else []


def _more(term: Doc) -> Doc:
    held = list(term.get("matchExpressions") or ())
    return {**term, "matchExpressions": [*held, *(dict(each) for each in NOT_SPOT if each not in held)]}


# Whether CoreDNS pods find nodes under another affinity, by the scheduler's rules, before the change is sent.
#
# A pod without a node stays Pending, and with it the rollout; the minimum is two nodes in two zones.


LEAST_NODES = LEAST_ZONES = 2
_READ = (kinds.NODES, kinds.PODS)


@frozen
class CandidateNode:
    """A node, and why a pod of CoreDNS cannot run there, in the scheduler's words or plainer ones; () where it can."""

    node: str
    zone: str
    capacity: str
    why: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        return not self.why


@frozen
class CorednsPlacement:
    """All nodes, those that fit first, by zone and name. `unknown`: why no verdict is certain."""

    seats: tuple[CandidateNode, ...]
    unknown: tuple[str, ...] = ()

    @property
    def fitting(self) -> tuple[CandidateNode, ...]:
        return tuple(each for each in self.seats if each.fits)

    @property
    def zones(self) -> tuple[str, ...]:
        return tuple(sorted({each.zone for each in self.fitting if each.zone}))

    @property
    def enough(self) -> bool:
        return len(self.fitting) >= LEAST_NODES and len(self.zones) >= LEAST_ZONES


def landing(facts: DnsFacts, affinity: Doc) -> CorednsPlacement | ChangeRefused:
    """The nodes for pods like the current ones with another node affinity. The current pods do not count as placed,
    because the rollout replaces them."""
    cluster = facts.cluster
    missing = cluster.unread(*_READ)
    if missing:
        read = missing[0]
        return ChangeRefused(
            f"whether CoreDNS would find nodes is not known: {read.resource.full_name}: {read.detail}",
            "Nothing is sent before that is known.",
            f"list {read.resource.full_name}",
        )
    running = [pod for pod in facts.pods if not pod.deleting]
    if not running:
        return ChangeRefused(
            "whether CoreDNS could be scheduled is unknown: none of its pods runs",
            "Fix what prevents that first.",
            "a pod of CoreDNS",
        )
    model = min(running, key=lambda pod: (not pod.node, pod.name))
    own = {pod.uid for pod in facts.pods}
    demand = model.placement.nodes._replace(terms=node_terms(affinity))
    like = replace(model, placement=replace(model.placement, nodes=demand), node="", volumes=())
    spaces = None if cluster.unread(kinds.NAMESPACES) else {each.name: each.labels for each in cluster.namespaces}
    others = [pod for pod in cluster.pods if pod.uid not in own]
    occupancy = Occupancy.of(cluster.nodes, others, spaces)
    kind = occupancy.class_of(like)
    seats = [
        CandidateNode(node.name, node.zone, node.capacity_type, tuple(_why(node, occupancy, like)))
        for node in cluster.nodes
    ]
    order = sorted(seats, key=lambda seat: (not seat.fits, seat.zone, seat.node))
    return CorednsPlacement(tuple(order), occupancy.unknown(kind))


def too_few(found: CorednsPlacement) -> ChangeRefused | None:
    """Why pods would stay Pending, or all be in one place."""
    if found.unknown:
        return ChangeRefused(
            f"whether CoreDNS would find nodes is not certain: {'; '.join(found.unknown)}",
            "Nothing is sent before that is known.",
            "what decides where CoreDNS may run",
        )
    if found.enough:
        return None
    count, zones = len(found.fitting), len(found.zones)
    nodes = "1 node" if count == 1 else f"{count} nodes"
    names = f" ({', '.join(each.node for each in found.fitting[:3])})" if count else ""
    where = f" in {zones} zone{'' if zones == 1 else 's'}" if count else ""
    return ChangeRefused(
        f"of {len(found.seats)} nodes only {nodes}{names}{where} would take a pod of CoreDNS; at least {LEAST_NODES} "
        f"in {LEAST_ZONES} zones are needed, or it would be Pending, or all in one place",
        "Have such nodes Ready first: on-demand, in two zones, without taints that CoreDNS does not tolerate.",
    )


def _why(node: Node, occupancy: Occupancy, like: Pod) -> Iterator[str]:
    if node.ready != "True":
        yield f"it is not Ready ({node.ready})"
    if node.deletion_at is not None:
        yield "it is being deleted"
    refusal = occupancy.refusal(occupancy.class_of(like), node.name)
    if refusal is None:
        return
    taints = [
        taint.key
        for taint in node.taints
        if taint.effect in _KEEP_OUT and not like.tolerates(taint.key, taint.value, taint.effect)
    ]
    if refusal.filter is SchedulerFilter.TAINT_TOLERATION and taints:
        yield f"its taint {' and '.join(taints)} is not tolerated"
    elif refusal.filter is SchedulerFilter.NODE_AFFINITY and node.capacity_type == SPOT:
        yield "it is a Spot node"
    else:
        yield from refusal.reasons


_KEEP_OUT = ("NoSchedule", "NoExecute")


SPREAD, BUDGET = "topologySpreadConstraints", "podDisruptionBudget"
ZONE = "topology.kubernetes.io/zone"
_SPREADS: Doc = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "ScheduleAnyway",
    "labelSelector": {"matchLabels": dict((LABEL,))},
}
"""The constraint of EKS' manifests from 1.30 on."""
_BUDGET: Doc = {"enabled": True, "maxUnavailable": 1}
"""The budget that the add-on creates by default."""


@frozen
class PlacedValues:
    """`values`: the add-on values that are set; `affinity`: the new one; `source`: where the current one is from.
    `is_live`: the live Deployment has it already."""

    values: Doc
    affinity: Doc
    source: str
    landing: CorednsPlacement
    holds: bool


def placed(facts: DnsFacts, values: Doc, schema: SchemaPaths | None) -> PlacedValues | tuple[ChangeRefused, ...]:
    """`values`: the current values of the add-on; `schema`: None where unknown, or for a self-managed CoreDNS."""
    if schema is not None and schema.of((KEY,)) is None:
        why = f"the schema of this version of the add-on has no {KEY}: EKS would refuse it"
        return (ChangeRefused(why, "Update the add-on first: kubectl eksdoc addon-diff coredns."),)
    today = _today(facts, values, schema)
    if isinstance(today, ChangeRefused):
        return (today,)
    source, before = today
    live = at(_deployment(facts), "spec", "template", "spec", "affinity") or {}
    after = without_spot(before)
    if of_pods(after) != of_pods(live if isinstance(live, dict) else {}):
        why = "the affinity among pods that the add-on's values ask for is another one than that of today's pods"
        hint = "Bring the add-on in order first: kubectl eksdoc addon-diff coredns tells why it does not hold."
        return (ChangeRefused(f"whether CoreDNS would find nodes is not known: {why}", hint, "what its pods ask for"),)
    lands = landing(facts, after)
    if isinstance(lands, ChangeRefused):
        return (lands,)
    new: Doc = {KEY: after}
    constraints = _spread(facts, values, schema)
    if constraints:
        new[SPREAD] = constraints
    refused = too_few(lands)
    if refused is not None:
        return (PlacementLacks(refused.why, refused.hint, refused.missing, lands),)
    return PlacedValues(new, after, source, lands, live == after)


@frozen
class PlacementLacks(ChangeRefused):
    """A refusal, with the nodes that were considered."""

    landing: CorednsPlacement | None = None


def _deployment(facts: DnsFacts) -> Doc:
    found = facts.objects.get(DEPLOYMENT)
    return found if isinstance(found, dict) else {}


def _today(facts: DnsFacts, values: Doc, schema: SchemaPaths | None) -> tuple[str, Doc] | ChangeRefused:
    """The current affinity, and where it is set."""
    given = values.get(KEY)
    if isinstance(given, dict) and given:
        return "the add-on's values", given
    found = facts.objects.get(DEPLOYMENT, Absent("it was not asked for"))
    if isinstance(found, (Absent, Unknown)):
        missing = found.missing or "Deployment coredns"
        return ChangeRefused(f"the affinity of today is not known: {found.why}", "", missing)
    live = at(found, "spec", "template", "spec", "affinity")
    if isinstance(live, dict) and live:
        return "the live Deployment", live
    allowed = schema.of((KEY,)) if schema is not None else None
    default = of_schema(allowed.default) if allowed is not None and allowed.has_default else {}
    return ("the default of the schema", default) if default else ("none: it did not exist", {})


def _spread(facts: DnsFacts, values: Doc, schema: SchemaPaths | None) -> list[Doc]:
    """The complete list with a constraint over zones; [] where one exists, or the version has no such value."""
    if schema is None or schema.of((SPREAD,)) is None:
        return []
    live = at(_deployment(facts), "spec", "template", "spec", SPREAD)
    held = values.get(SPREAD) or live or []
    if not isinstance(held, list) or any(isinstance(each, dict) and each.get("topologyKey") == ZONE for each in held):
        return []
    return [*held, dict(_SPREADS)]


def budgeted(facts: DnsFacts, values: Doc, schema: SchemaPaths | None) -> Doc:
    """A budget for CoreDNS, if none exists and the add-on can create one; otherwise {}, also if the values configure
    it."""
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
