"""Kubernetes' own tests of the ten filters, as data: every case agrees, except for a list with reasons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubectl_eksdoc.kubernetes.scheduling import pod_affinity, refusals, spread, volumes
from kubectl_eksdoc.kubernetes.scheduling.occupancy import Occupancy
from kubectl_eksdoc.kubernetes.scheduling.refusals import SchedulerFilter, SchedulingRefusal
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import Node, Pod, VolumeKind
from kubectl_eksdoc.model.placement import PersistentVolumeClaim
from kubectl_eksdoc.objects.placement import NodeSelector, build_node_terms
from kubectl_eksdoc.objects.structs import InternedTexts
from tests import raw_facts
from tests.for_each import for_each
from tests.kubernetes.scheduling import observed

Raw = dict[str, Any]
Outcome = dict[str, SchedulingRefusal | None]

ALPHA = "needs the alpha gate TaintTolerationComparisonOperators, which is off in 1.36"
LOCKED = "turns off SidecarContainers, which has been on for all since 1.29"
UNDEFAULTED = "an API server always sets volumeBindingMode; unset, it is Immediate"
ANOTHER = "such a pod is refused by another filter, before this one is asked: VolumeBinding"
OWNED = "whose an ephemeral volume's claim is, is not modelled"
UNPARSED = "refused alike, but the words are the parser's; an API server does not take such a label"

DIFFER = {
    "TestTaintTolerationFilter/Pod with Gt toleration can be scheduled on node when taint value is higher than "
    "threshold": ALPHA,
    "TestTaintTolerationFilter/Pod with Lt toleration can be scheduled on node when taint value is lower than "
    "threshold": ALPHA,
    "TestTaintTolerationFilterWithFeatureGate/Pod with Gt toleration can be scheduled when feature gate is enabled "
    "and taint value is higher": ALPHA,
    "TestTaintTolerationFilterWithFeatureGate/Pod with Lt toleration can be scheduled when feature gate is enabled "
    "and taint value is lower": ALPHA,
    "TestRestartableInitContainers/not allow pod with restartable init containers if sidecar containers is "
    "disabled": LOCKED,
    "TestWithBinding/unbound volume immediate binding mode": UNDEFAULTED,
    "TestCSILimits/ephemeral volume missing": ANOTHER,
    "TestCSILimits/don't skip Filter when the pod has ephemeral volumes": ANOTHER,
    "TestCSILimits/ephemeral volume not owned": OWNED,
    "TestRequiredAffinitySingleNode/PodAffinity fails PreFilter with an invalid affinity label syntax": UNPARSED,
    "TestRequiredAffinitySingleNode/PodAntiAffinity fails PreFilter with an invalid antiaffinity label "
    "syntax": UNPARSED,
}


def each_node(decide: Callable[[Pod, Node, Cluster, Raw], SchedulingRefusal | None]) -> Callable[[Raw], Outcome]:
    """A filter that checks one node at a time."""

    def answer(given: Raw) -> Outcome:
        held = observed.cluster(given)
        (pod,) = observed.cluster({"pods": [given["pod"]]}).pods
        return {node.name: decide(pod, node, held, given) for node in held.nodes}

    return answer


def occupied(given: Raw) -> tuple[Occupancy, Pod]:
    held = observed.cluster(given)
    (pod,) = observed.cluster({"pods": [given["pod"]]}).pods
    return Occupancy.of(held.nodes, held.pods, observed.namespaces(held), observed.storage(held)), pod


def by_affinity(pod: Pod, node: Node, held: Cluster, given: Raw) -> SchedulingRefusal | None:
    added = given.get("schedulerArgs", {}).get("addedAffinity")
    enforced = None
    if added:
        required = added["requiredDuringSchedulingIgnoredDuringExecution"]
        enforced = build_node_terms(_selector(required), InternedTexts())
    demand = pod.placement.nodes
    if refusals.named_nodes(demand) == frozenset():
        return refusals.CONFLICTING_TERMS
    return refusals.node_affinity_refusal(demand, node, enforced)


def _selector(raw: Raw) -> NodeSelector:
    import msgspec

    return msgspec.convert(raw, NodeSelector)


def zoneless(claim: PersistentVolumeClaim, storage: volumes.Storage) -> SchedulingRefusal | None:
    """The same message as VolumeZone (getPVbyPod) gives it; that filter runs later, so that it is seldom seen."""
    found = storage.classes.get(claim.storage_class)
    if not claim.storage_class:
        reason = "PersistentVolumeClaim had no pv name and storageClass name"
    elif found is None:
        reason = f'storageclasses.storage.k8s.io "{claim.storage_class}" not found'
    elif found.binding_mode != volumes.WAIT_FOR_FIRST_CONSUMER:
        reason = "PersistentVolume had no name"
    else:
        return None
    return SchedulingRefusal(SchedulerFilter.VOLUME_ZONE, (reason,))


def by_zone(pod: Pod, node: Node, held: Cluster, given: Raw) -> SchedulingRefusal | None:
    storage = observed.storage(held)
    names = [v.detail for v in pod.volumes if v.kind is VolumeKind.CLAIM]
    for name in names:
        claim = storage.claims[f"{pod.namespace}/{name}"]
        if not claim.volume and (found := zoneless(claim, storage)):
            return found
    return volumes.zone_refusal(volumes.volume_demand(pod.namespace, names, storage), node)


def by_ports(given: Raw) -> Outcome:
    occupancy, pod = occupied(given)
    return {n: refusals.ports_refusal(pod.placement.ports, seat.ports) for n, seat in occupancy.by_node.items()}


def by_attached(given: Raw) -> Outcome:
    occupancy, pod = occupied(given)
    attaches = occupancy.class_of(pod).attaches
    return {n: volumes.attach_refusal(attaches, seat.attached) for n, seat in occupancy.by_node.items()}


def by_resources(given: Raw) -> Outcome:
    occupancy, pod = occupied(given)
    arguments = given.get("schedulerArgs", {})
    ignored = frozenset(arguments.get("ignoredResources", []) + arguments.get("ignoredResourceGroups", []))
    asked = pod.placement.requests
    return {n: refusals.resources_refusal(asked, seat.room, ignored) for n, seat in occupancy.by_node.items()}


def by_spread(given: Raw) -> Outcome:
    occupancy, pod = occupied(given)
    limits = occupancy.class_of(pod).limits
    return {n: spread.spread_refusal(limits, seat.node.labels) for n, seat in occupancy.by_node.items()}


def by_pods(given: Raw) -> Outcome:
    occupancy, pod = occupied(given)
    kind = occupancy.class_of(pod)
    return {
        n: pod_affinity.pod_affinity_refusal(
            seat.node.labels, kind.affinity, kind.counts_itself, kind.anti_affinity, kind.matching_terms
        )
        for n, seat in occupancy.by_node.items()
    }


FILTERS: dict[str, Callable[[Raw], Outcome]] = {
    "tainttoleration": each_node(lambda pod, node, held, given: refusals.taints_refusal(pod.tolerations, node)),
    "nodeaffinity": each_node(by_affinity),
    "noderesources": by_resources,
    "nodeports": by_ports,
    "nodeunschedulable": each_node(lambda pod, node, held, given: refusals.cordon_refusal(pod.tolerations, node)),
    "nodevolumelimits": by_attached,
    "volumezone": each_node(by_zone),
    "podtopologyspread": by_spread,
    "interpodaffinity": by_pods,
}

CASES = [(table, case) for table in FILTERS for case in raw_facts.cases(f"scheduler-{table}")]


assert set(DIFFER) <= {case["source"].rpartition("_test.go:")[2] for _, case in CASES} and len(CASES) == 274


def said(found: SchedulingRefusal | None) -> Raw:
    if found is None:
        return {"fits": True}
    return {"fits": False, "code": found.code, "reasons": sorted(found.reasons)}


def agrees(answer: Outcome, expected: Raw) -> bool:
    """Whether the filter's answer has everything that the case expects."""
    if isinstance(expected["fits"], bool):
        (found,) = answer.values()
        return _holds(said(found), expected)
    fitting = [name for name, found in answer.items() if found is None]
    if fitting != sorted(expected["fits"]):
        return False
    codes = {name: found.code if found else "Success" for name, found in answer.items()}
    each = {name: said(found) for name, found in answer.items()}
    return expected.get("codes", codes) == codes and all(
        _holds(each[name], outcome) for name, outcome in expected.get("nodes", {}).items()
    )


def _holds(answer: Raw, expected: Raw) -> bool:
    wanted = {key: expected[key] for key in ("fits", "code") if key in expected}
    if "reasons" in expected:
        wanted["reasons"] = sorted(expected["reasons"])
    return {key: answer.get(key) for key in wanted} == wanted


@for_each("of", CASES, ids=lambda of: f"{of[0]}-{of[1]['source'].rpartition(':')[2]}")
def test_a_filter_decides_as_upstream_expects(of: tuple[str, Raw]) -> None:
    table, case = of
    name = case["source"].rpartition("_test.go:")[2]
    answer = FILTERS[table](case["given"])
    why = DIFFER.get(name)
    assert agrees(answer, case["expect"]) is (why is None), (why, answer, case["expect"])


def test_shortages_have_upstreams_numbers() -> None:
    compared = 0
    for case in raw_facts.cases("scheduler-noderesources"):
        occupancy, pod = occupied(case["given"])
        for seat in occupancy.by_node.values():
            asked = pod.placement.requests
            assert seat.room.fits(asked) is (refusals.resources_refusal(asked, seat.room) is None)
        if expected := case["expect"].get("insufficient"):
            ignored = frozenset(case["given"].get("schedulerArgs", {}).get("ignoredResourceGroups", ()))
            found = refusals.shortages(pod.placement.requests, seat.room, ignored)
            shown = [
                {"resource": s.resource, "requested": s.requested, "used": s.used, "capacity": s.capacity}
                for s in found
            ]
            assert shown == expected, case["source"]
            compared += 1
    assert compared == 27


def test_the_nodes_a_pod_names_are_upstreams() -> None:
    compared = 0
    for case in raw_facts.cases("scheduler-nodeaffinity"):
        (pod,) = observed.cluster({"pods": [case["given"]["pod"]]}).pods
        named = refusals.named_nodes(pod.placement.nodes)
        if "onlyNodes" in case["expect"]:
            assert named == frozenset(case["expect"]["onlyNodes"])
            compared += 1
        elif "filter" in case["expect"]:
            (node,) = observed.cluster(case["given"]).nodes
            assert said(refusals.node_affinity_refusal(pod.placement.nodes, node)) == {
                "fits": False,
                **case["expect"]["filter"],
            }
        else:
            assert named is None, case["source"]
    assert compared == 5
