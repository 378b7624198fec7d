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
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from kubectl_eksdoc.model.coredns import POD_LABEL, SYSTEM_NAMESPACE
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.nodes import Node, Pod
from kubectl_eksdoc.model.placement import NODE_AFFINITY, NODE_TERMS, REQUIRED, required_node_terms

from .deployed import DEPLOYMENT, DnsFacts
from .lameduck import ChangeRefusal
from .placement import SPOT

# The affinity that keeps CoreDNS off Spot nodes. It is complete, because the add-on's value replaces every default.
#
# Managed node groups and Karpenter use different capacity labels, and either may be missing: ``NotIn`` fits both,
# because it also matches nodes without the label. A self-managed Spot node without labels is therefore not recognized.
# Sources: EKS user guide, managed node groups (eks.amazonaws.com/capacityType); Karpenter, well-known labels.


AFFINITY_KEY = "affinity"
NOT_SPOT: tuple[Doc, ...] = (
    {"key": "karpenter.sh/capacity-type", "operator": "NotIn", "values": ["spot"]},
    {"key": "eks.amazonaws.com/capacityType", "operator": "NotIn", "values": ["SPOT"]},
)


def without_spot(affinity: Doc) -> Doc:
    """The affinity with each required term (terms are alternatives) excluding Spot nodes; the rest is unchanged."""
    # An empty term matches no node, but would match nearly all with the new expressions.
    terms = [each for each in _terms(affinity) if isinstance(each, dict) and any(each.values())] or [{}]
    required = {
        **(nested_field(affinity, NODE_AFFINITY, REQUIRED) or {}),
        NODE_TERMS: [_excluding_spot(term) for term in terms],
    }
    return {**affinity, NODE_AFFINITY: {**(affinity.get(NODE_AFFINITY) or {}), REQUIRED: required}}


def default_affinity(default: Any) -> Doc:
    """The default in a schema; some are wrapped twice (coredns v1.10.1-eksbuild.11)."""
    inner = default.get(AFFINITY_KEY, default) if isinstance(default, dict) else {}
    return inner if isinstance(inner, dict) else {}


def required_pod_affinity(affinity: Doc) -> Doc:
    """The required affinity to other pods; preferred affinity keeps no pod off a node."""
    required = {key: nested_field(affinity, key, REQUIRED) for key in ("podAffinity", "podAntiAffinity")}
    return {key: value for key, value in required.items() if value}


def _terms(affinity: Doc) -> list[Any]:
    found = nested_field(affinity, NODE_AFFINITY, REQUIRED, NODE_TERMS)
    return found if isinstance(found, list) else []


def _excluding_spot(term: Doc) -> Doc:
    expressions = list(term.get("matchExpressions") or ())
    return {**term, "matchExpressions": [*expressions, *(dict(each) for each in NOT_SPOT if each not in expressions)]}


# Whether CoreDNS pods find nodes under another affinity, by the scheduler's rules, before the change is sent.
#
# A pod without a node stays Pending, and with it the rollout; the minimum is two nodes in two zones.


MIN_NODES = MIN_ZONES = 2
_NEEDED_KINDS = (kinds.NODES, kinds.PODS)


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
        return len(self.fitting) >= MIN_NODES and len(self.zones) >= MIN_ZONES


def find_placement(facts: DnsFacts, affinity: Doc) -> CorednsPlacement | ChangeRefusal:
    """The nodes for pods like the current ones with another node affinity. The current pods do not count as placed,
    because the rollout replaces them."""
    cluster = facts.cluster
    missing = cluster.not_read(*_NEEDED_KINDS)
    if missing:
        read = missing[0]
        return ChangeRefusal(
            f"whether CoreDNS would find nodes is not known: {read.resource.full_name}: {read.detail}",
            "Nothing is sent before that is known.",
            f"list {read.resource.full_name}",
        )
    running = [pod for pod in facts.pods if not pod.deleting]
    if not running:
        return ChangeRefusal(
            "whether CoreDNS could be scheduled is unknown: none of its pods runs",
            "Fix what prevents that first.",
            "a pod of CoreDNS",
        )
    model = min(running, key=lambda pod: (not pod.node, pod.name))
    own_uids = {pod.uid for pod in facts.pods}
    node_demand = model.placement.nodes._replace(terms=required_node_terms(affinity))
    new_pod = replace(model, placement=replace(model.placement, nodes=node_demand), node="", volumes=())
    namespaces = None if cluster.not_read(kinds.NAMESPACES) else {each.name: each.labels for each in cluster.namespaces}
    other_pods = [pod for pod in cluster.pods if pod.uid not in own_uids]
    occupancy = Occupancy.of(cluster.nodes, other_pods, namespaces)
    kind = occupancy.class_of(new_pod)
    candidates = [
        CandidateNode(node.name, node.zone, node.capacity_type, tuple(_refusal_reasons(node, occupancy, new_pod)))
        for node in cluster.nodes
    ]
    sorted_candidates = sorted(candidates, key=lambda seat: (not seat.fits, seat.zone, seat.node))
    return CorednsPlacement(tuple(sorted_candidates), occupancy.uncertainties(kind))


def placement_refusal(placement: CorednsPlacement) -> ChangeRefusal | None:
    """Why pods would stay Pending, or all be in one place."""
    if placement.unknown:
        return ChangeRefusal(
            f"whether CoreDNS would find nodes is not certain: {'; '.join(placement.unknown)}",
            "Nothing is sent before that is known.",
            "what decides where CoreDNS may run",
        )
    if placement.enough:
        return None
    count, zones = len(placement.fitting), len(placement.zones)
    nodes = "1 node" if count == 1 else f"{count} nodes"
    names = f" ({', '.join(each.node for each in placement.fitting[:3])})" if count else ""
    zones_text = f" in {zones} zone{'' if zones == 1 else 's'}" if count else ""
    return ChangeRefusal(
        f"of {len(placement.seats)} nodes only {nodes}{names}{zones_text} would take a pod of CoreDNS; at least "
        f"{MIN_NODES} "
        f"in {MIN_ZONES} zones are needed, or it would be Pending, or all in one place",
        "Have such nodes Ready first: on-demand, in two zones, without taints that CoreDNS does not tolerate.",
    )


def _refusal_reasons(node: Node, occupancy: Occupancy, new_pod: Pod) -> Iterator[str]:
    if node.ready != "True":
        yield f"it is not Ready ({node.ready})"
    if node.deletion_at is not None:
        yield "it is being deleted"
    refusal = occupancy.refusal(occupancy.class_of(new_pod), node.name)
    if refusal is None:
        return
    taints = [
        taint.key
        for taint in node.taints
        if taint.effect in _BLOCKING_EFFECTS and not new_pod.tolerates(taint.key, taint.value, taint.effect)
    ]
    if refusal.filter is SchedulerFilter.TAINT_TOLERATION and taints:
        yield f"its taint {' and '.join(taints)} is not tolerated"
    elif refusal.filter is SchedulerFilter.NODE_AFFINITY and node.capacity_type == SPOT:
        yield "it is a Spot node"
    else:
        yield from refusal.reasons


_BLOCKING_EFFECTS = ("NoSchedule", "NoExecute")


SPREAD, BUDGET = "topologySpreadConstraints", "podDisruptionBudget"
ZONE = "topology.kubernetes.io/zone"
_ZONE_SPREAD: Doc = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "ScheduleAnyway",
    "labelSelector": {"matchLabels": dict((POD_LABEL,))},
}
"""The constraint of EKS' manifests from 1.30 on."""
_DEFAULT_BUDGET: Doc = {"enabled": True, "maxUnavailable": 1}
"""The budget that the add-on creates by default."""


@frozen
class PlacementValues:
    """`values`: the add-on values that are set; `affinity`: the new one; `source`: where the current one is from.
    `is_live`: the live Deployment has it already."""

    values: Doc
    affinity: Doc
    source: str
    placement: CorednsPlacement
    is_live: bool


def placement_values(
    facts: DnsFacts, values: Doc, schema: SchemaPaths | None
) -> PlacementValues | tuple[ChangeRefusal, ...]:
    """`values`: the current values of the add-on; `schema`: None where unknown, or for a self-managed CoreDNS."""
    if schema is not None and schema.allowed_at((AFFINITY_KEY,)) is None:
        reason = f"the schema of this version of the add-on has no {AFFINITY_KEY}: EKS would refuse it"
        return (ChangeRefusal(reason, "Update the add-on first: kubectl eksdoc addon-diff coredns."),)
    current = _current_affinity(facts, values, schema)
    if isinstance(current, ChangeRefusal):
        return (current,)
    source, current_affinity = current
    live = nested_field(_deployment(facts), "spec", "template", "spec", "affinity") or {}
    new_affinity = without_spot(current_affinity)
    if required_pod_affinity(new_affinity) != required_pod_affinity(live if isinstance(live, dict) else {}):
        reason = "the affinity among pods that the add-on's values ask for is another one than that of today's pods"
        hint = "Bring the add-on in order first: kubectl eksdoc addon-diff coredns tells why it does not hold."
        return (
            ChangeRefusal(f"whether CoreDNS would find nodes is not known: {reason}", hint, "what its pods ask for"),
        )
    placement = find_placement(facts, new_affinity)
    if isinstance(placement, ChangeRefusal):
        return (placement,)
    new_values: Doc = {AFFINITY_KEY: new_affinity}
    constraints = _spread_constraints(facts, values, schema)
    if constraints:
        new_values[SPREAD] = constraints
    refusal = placement_refusal(placement)
    if refusal is not None:
        return (PlacementRefused(refusal.why, refusal.hint, refusal.missing, placement),)
    return PlacementValues(new_values, new_affinity, source, placement, live == new_affinity)


@frozen
class PlacementRefused(ChangeRefusal):
    """A refusal, with the nodes that were considered."""

    placement: CorednsPlacement | None = None


def _deployment(facts: DnsFacts) -> Doc:
    found = facts.objects.get(DEPLOYMENT)
    return found if isinstance(found, dict) else {}


def _current_affinity(facts: DnsFacts, values: Doc, schema: SchemaPaths | None) -> tuple[str, Doc] | ChangeRefusal:
    """The current affinity, and where it is set."""
    configured = values.get(AFFINITY_KEY)
    if isinstance(configured, dict) and configured:
        return "the add-on's values", configured
    deployment = facts.objects.get(DEPLOYMENT, Absent("it was not asked for"))
    if isinstance(deployment, (Absent, Unknown)):
        missing = deployment.missing or "Deployment coredns"
        return ChangeRefusal(f"the affinity of today is not known: {deployment.why}", "", missing)
    live = nested_field(deployment, "spec", "template", "spec", "affinity")
    if isinstance(live, dict) and live:
        return "the live Deployment", live
    allowed = schema.allowed_at((AFFINITY_KEY,)) if schema is not None else None
    default = default_affinity(allowed.default) if allowed is not None and allowed.has_default else {}
    return ("the default of the schema", default) if default else ("none: it did not exist", {})


def _spread_constraints(facts: DnsFacts, values: Doc, schema: SchemaPaths | None) -> list[Doc]:
    """The complete list with a constraint over zones; [] where one exists, or the version has no such value."""
    if schema is None or schema.allowed_at((SPREAD,)) is None:
        return []
    live = nested_field(_deployment(facts), "spec", "template", "spec", SPREAD)
    current = values.get(SPREAD) or live or []
    if not isinstance(current, list) or any(
        isinstance(each, dict) and each.get("topologyKey") == ZONE for each in current
    ):
        return []
    return [*current, dict(_ZONE_SPREAD)]


def budget_values(facts: DnsFacts, values: Doc, schema: SchemaPaths | None) -> Doc:
    """A budget for CoreDNS, if none exists and the add-on can create one; otherwise {}, also if the values configure
    it."""
    if schema is None or schema.allowed_at((BUDGET,)) is None or BUDGET in values:
        return {}
    if not facts.cluster.read_of(kinds.BUDGETS).known or any(_budget_matches(facts)):
        return {}
    return {BUDGET: dict(_DEFAULT_BUDGET)}


def _budget_matches(facts: DnsFacts) -> Iterator[bool]:
    labels = dict((POD_LABEL,))
    for budget in facts.cluster.budgets:
        if budget.namespace == SYSTEM_NAMESPACE:
            yield budget.selector.matches(labels) or any(budget.selector.matches(pod.labels) for pod in facts.pods)
