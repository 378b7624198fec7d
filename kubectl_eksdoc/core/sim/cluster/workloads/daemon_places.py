"""On which nodes a DaemonSet's pods belong, and how a pod says which node it is for.

Source: pkg/controller/daemon/daemon_controller.go (NodeShouldRunDaemonPod, predicates),
pkg/controller/daemon/util/daemonset_util.go (AddOrUpdateDaemonPodTolerations,
ReplaceDaemonSetPodNodeNameNodeAffinity, GetTargetNodeName), Kubernetes v1.36.
"""

from __future__ import annotations

from typing import NamedTuple

from kubectl_eksdoc.core.model.api_objects import Doc, at, with_value
from kubectl_eksdoc.core.model.nodes import UNSCHEDULABLE_TAINT
from kubectl_eksdoc.core.model.placement import NODE_NAME_FIELD, NodeDemand, NodeTerm
from kubectl_eksdoc.core.model.selectors import Requirement
from kubectl_eksdoc.core.sim.cluster.pod_admission import NOT_READY, UNREACHABLE
from kubectl_eksdoc.core.sim.cluster.store import Item
from kubectl_eksdoc.core.sim.cluster.workloads.pods import labels_of, node_of
from kubectl_eksdoc.core.sim.cluster.workloads.tolerating import NO_EXECUTE, NO_SCHEDULE, all_tolerated, taints_of

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

_TOLERATED = (
    (NOT_READY, NO_EXECUTE),
    (UNREACHABLE, NO_EXECUTE),
    ("node.kubernetes.io/disk-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/memory-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/pid-pressure", NO_SCHEDULE),
    (UNSCHEDULABLE_TAINT, NO_SCHEDULE),
)
_ON_HOST_NETWORK = ("node.kubernetes.io/network-unavailable", NO_SCHEDULE)


class Place(NamedTuple):
    """`wanted`: a pod must be there; `kept`: one that is there may stay."""

    wanted: bool
    kept: bool


class Places:
    """Mutable: remembers what it decided for a template and a node, until one of them changes."""

    def __init__(self) -> None:
        self._read: dict[int, tuple[Doc, NodeDemand, list[Doc]]] = {}
        self._decided: dict[tuple[int, str], tuple[Doc, Doc | None, Place]] = {}

    def of(self, owner: Item, node: Doc) -> Place:
        template: Doc = owner.doc["spec"].get("template") or {}
        spec: Doc = node.get("spec") or {}
        labels = node["metadata"].get("labels")
        key = (id(template), node["metadata"]["name"])
        held = self._decided.get(key)
        if held is not None and held[0] is spec and held[1] is labels:
            return held[2]
        made = self._decide(template, node)
        self._decided[key] = (spec, labels, made)
        return made

    def _decide(self, template: Doc, node: Doc) -> Place:
        demand, tolerations = self._demand(template)
        name = node["metadata"]["name"]
        if (template.get("spec") or {}).get("nodeName") not in (None, "", name):
            return Place(False, False)
        if not demand.accepts(name, labels_of(node)):
            return Place(False, False)
        if all_tolerated(taints_of(node, NO_SCHEDULE, NO_EXECUTE), tolerations):
            return Place(True, True)
        return Place(False, all_tolerated(taints_of(node, NO_EXECUTE), tolerations))

    def _demand(self, template: Doc) -> tuple[NodeDemand, list[Doc]]:
        held = self._read.get(id(template))
        if held is None:
            spec: Doc = template.get("spec") or {}
            tolerations = [*(spec.get("tolerations") or ()), *added_tolerations(spec)]
            held = self._read[id(template)] = (template, demand_of(spec), tolerations)
        return held[1], held[2]


def demand_of(spec: Doc) -> NodeDemand:
    """The nodes that a pod's spec asks for."""
    selector = tuple(sorted((spec.get("nodeSelector") or {}).items()))
    required = at(spec, "affinity", "nodeAffinity", REQUIRED)
    if required is None:
        return NodeDemand(selector)
    terms = tuple(
        NodeTerm(_requirements(each.get("matchExpressions")), _requirements(each.get("matchFields")))
        for each in required.get("nodeSelectorTerms") or ()
    )
    return NodeDemand(selector, terms)


def added_tolerations(spec: Doc) -> list[Doc]:
    """Those that every pod of a DaemonSet gets besides its own."""
    held = spec.get("tolerations") or ()
    wanted = (*_TOLERATED, _ON_HOST_NETWORK) if spec.get("hostNetwork") else _TOLERATED
    made: list[Doc] = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in wanted]
    return [each for each in made if each not in held]


def for_node(spec: Doc, node: str) -> Doc:
    """`spec` with a node affinity that lets the scheduler take only `node`; its own required terms are replaced."""
    fields = [{"key": NODE_NAME_FIELD, "operator": "In", "values": [node]}]
    return with_value(spec, ("affinity", "nodeAffinity", REQUIRED), {"nodeSelectorTerms": [{"matchFields": fields}]})


def target_of(pod: Doc) -> str:
    """The node that the pod is on, or is for; "" where it does not say."""
    if node := node_of(pod):
        return node
    for term in at(pod, "spec", "affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if (field.get("key"), field.get("operator")) == (NODE_NAME_FIELD, "In") and len(field["values"]) == 1:
                return str(field["values"][0])
    return ""


def _requirements(given: list[Doc] | None) -> tuple[Requirement, ...]:
    return tuple(
        Requirement(each["key"], each.get("operator", ""), tuple(each.get("values") or ())) for each in given or ()
    )
