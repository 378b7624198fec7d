"""The daemon set controller: one pod on every node that the template's node demands and tolerations allow.

Source: pkg/controller/daemon/daemon_controller.go, Kubernetes v1.36. A failed pod is recreated at once: upstream's
delay between attempts is left out, and so is maxSurge: such an update takes one node after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, nested_field, with_value
from kubectl_eksdoc.model.nodes import UNSCHEDULABLE_TAINT
from kubectl_eksdoc.model.placement import (
    NODE_AFFINITY,
    NODE_NAME_FIELD,
    NODE_TERMS,
    REQUIRED,
    NodeRequirements,
    required_node_terms,
)

from ..disruptions import NOT_READY, UNREACHABLE
from ..registry import Registry
from ..store import NODES, PODS, ObjectKey, StoreChange, StoreChangeKind, StoredItem
from .ownership import (
    HASH_LABEL,
    DocumentCache,
    ObjectController,
    ObjectIndex,
    OwnerClaims,
    PodTemplates,
    Revisions,
    revision_hash,
)
from .replica_sets import scaled_value
from .taints import NO_EXECUTE, NO_SCHEDULE, all_tolerated, taints_of

# The nodes of a DaemonSet's pods, and how a pod names its node.
#
# Source: pkg/controller/daemon/daemon_controller.go (NodeShouldRunDaemonPod, predicates),
# pkg/controller/daemon/util/daemonset_util.go (AddOrUpdateDaemonPodTolerations,
# ReplaceDaemonSetPodNodeNameNodeAffinity, GetTargetNodeName), Kubernetes v1.36.


_ADDED_TOLERATIONS = (
    (NOT_READY, NO_EXECUTE),
    (UNREACHABLE, NO_EXECUTE),
    ("node.kubernetes.io/disk-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/memory-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/pid-pressure", NO_SCHEDULE),
    (UNSCHEDULABLE_TAINT, NO_SCHEDULE),
)
_HOST_NETWORK_TOLERATION = ("node.kubernetes.io/network-unavailable", NO_SCHEDULE)


class _NodeDecision(NamedTuple):
    """`is_wanted`: a pod must run there; `is_kept`: an existing pod may stay."""

    is_wanted: bool
    is_kept: bool


class _TemplateDemand:
    """The node demands of a template. Mutable: it caches its decisions by the node's name."""

    def __init__(self, template: Doc) -> None:
        spec: Doc = template.get("spec") or {}
        self._name = spec.get("nodeName")
        selector = tuple((spec.get("nodeSelector") or {}).items())
        self._demand = NodeRequirements(selector, required_node_terms(spec.get("affinity") or {}))
        self._tolerations = [*(spec.get("tolerations") or ()), *added_tolerations(spec)]
        self._decisions: dict[str, tuple[Doc, Doc | None, _NodeDecision]] = {}

    def decide(self, node: StoredItem) -> _NodeDecision:
        spec, labels, name = node.spec, node.meta.get("labels"), node.key[1]
        entry = self._decisions.get(name)
        if entry is None or entry[0] is not spec or entry[1] is not labels:
            entry = self._decisions[name] = (spec, labels, self._decide_for(node, name))
        return entry[2]

    def _decide_for(self, node: StoredItem, name: str) -> _NodeDecision:
        if self._name not in (None, "", name) or not self._demand.accepts(name, node.labels):
            return _NodeDecision(False, False)
        if all_tolerated(taints_of(node, NO_SCHEDULE, NO_EXECUTE), self._tolerations):
            return _NodeDecision(True, True)
        return _NodeDecision(False, all_tolerated(taints_of(node, NO_EXECUTE), self._tolerations))


def added_tolerations(spec: Doc) -> list[Doc]:
    """The tolerations that every DaemonSet pod gets in addition to its own."""
    own_tolerations = spec.get("tolerations") or ()
    tolerations = (*_ADDED_TOLERATIONS, _HOST_NETWORK_TOLERATION) if spec.get("hostNetwork") else _ADDED_TOLERATIONS
    added: list[Doc] = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in tolerations]
    return [each for each in added if each not in own_tolerations]


def with_node_affinity(spec: Doc, node: str) -> Doc:
    """`spec` with a node affinity that allows only `node`; its own required terms are replaced."""
    fields = [{"key": NODE_NAME_FIELD, "operator": "In", "values": [node]}]
    return with_value(spec, ("affinity", NODE_AFFINITY, REQUIRED), {NODE_TERMS: [{"matchFields": fields}]})


def target_node(pod: StoredItem) -> str:
    """The node that the pod is on, or is for; "" where it names none."""
    if pod.node:
        return pod.node
    for term in nested_field(pod.spec, "affinity", NODE_AFFINITY, REQUIRED, NODE_TERMS) or ():
        for field in term.get("matchFields") or ():
            if (field.get("key"), field.get("operator")) == (NODE_NAME_FIELD, "In") and len(field["values"]) == 1:
                return str(field["values"][0])
    return ""


# Which pods of a DaemonSet a rolling update deletes.
#
# Source: pkg/controller/daemon/update.go (rollingUpdate, findUpdatedPodsOnNode), Kubernetes v1.36.


GENERATION_LABEL = "pod-template-generation"
GENERATION_ANNOTATION = "deprecated.daemonset.template.generation"


@frozen
class _Rollout:
    """One step of a rolling update. `max_unavailable`: as a number of nodes that want a pod."""

    hash: str
    generation: str
    min_ready_s: int
    max_unavailable: int
    now: datetime

    def is_new(self, pod: StoredItem) -> bool:
        labels = pod.labels
        if self.generation and labels.get(GENERATION_LABEL) == self.generation:
            return True
        return bool(self.hash) and labels.get(HASH_LABEL) == self.hash

    def pods_to_delete(self, by_node: Mapping[str, Sequence[StoredItem]]) -> list[StoredItem]:
        """Old pods to delete first, which leave their nodes without one for a while."""
        unavailable_count = 0
        unavailable: list[StoredItem] = []
        candidates: list[StoredItem] = []
        for node_pods in by_node.values():
            new_pods, old_pods = self._split(node_pods)
            if len(new_pods) + len(old_pods) != 1:
                unavailable_count += 1  # none, or one too many: another step handles it
            elif new_pods:
                unavailable_count += not self._is_available(new_pods[0])
            elif self._is_available(old_pods[0]):
                candidates.append(old_pods[0])
            else:
                unavailable_count += 1
                unavailable.append(old_pods[0])
        return unavailable + candidates[: max(0, self.max_unavailable - unavailable_count)]

    def _split(self, node_pods: Sequence[StoredItem]) -> tuple[list[StoredItem], list[StoredItem]]:
        staying = [pod for pod in node_pods if not pod.deleting]
        return [pod for pod in staying if self.is_new(pod)], [pod for pod in staying if not self.is_new(pod)]

    def _is_available(self, pod: StoredItem) -> bool:
        return pod.is_available(self.min_ready_s, self.now)


def build_rollout(owner: StoredItem, hash_: str, node_count: int, now: datetime) -> _Rollout:
    """`node_count`: how many nodes want a pod."""
    rolling: Doc = nested_field(owner.spec, "updateStrategy", "rollingUpdate") or {}
    max_unavailable = scaled_value(rolling.get("maxUnavailable"), node_count, 1, up=True)
    return _Rollout(
        hash=hash_,
        generation=owner.annotations.get(GENERATION_ANNOTATION, ""),
        min_ready_s=owner.min_ready_s,
        max_unavailable=max_unavailable or 1,
        now=now,
    )


DAEMON_SETS = kinds.DAEMON_SETS.full_name
BURST = 250

_ByNode = Mapping[str, list[StoredItem]]


class DaemonSets(ObjectController):
    """A `Controller` whose keys are those of DaemonSets."""

    resources = (DAEMON_SETS, PODS, NODES)

    def __init__(self, registry: Registry, index: ObjectIndex) -> None:
        super().__init__(registry, index)
        self._owners = OwnerClaims(registry, index, kinds.DAEMON_SETS)
        self._demands = DocumentCache(_TemplateDemand)
        self._templates = PodTemplates(registry.store)
        self._tolerant_templates = DocumentCache(_with_added_tolerations)
        self._revisions = Revisions(registry, index, kinds.DAEMON_SETS)

    def affected_keys(self, change: StoreChange) -> Iterable[ObjectKey]:
        if change.resource == DAEMON_SETS:
            return (change.key,)
        if change.resource == NODES:
            return self._affected_by_node(change)
        return self._owners.owner_keys(change)

    def manage(self, item: StoredItem) -> float | None:
        owned = self._owners.claim(item, PODS)
        revisions = self._revisions.sorted_revisions(item, self._owners.matcher(item))
        latest = self._revisions.latest_revision(item, revisions, _known_hash(item, owned))
        by_node = _pods_by_node(owned)
        nodes = list(self._registry.store.list(NODES))
        wanting_count = sum(self._decision(item, node).is_wanted for node in nodes)
        rollout = build_rollout(item, revision_hash(latest), wanting_count, self._registry.current_time)
        if not item.deleting:
            self._adjust_pods(item, by_node, nodes, rollout)
            if _update_strategy(item) == "RollingUpdate":
                self._update(item, rollout)
        live_hashes = {pod.labels.get(HASH_LABEL) for pod in owned}
        self._revisions.truncate(
            item, revisions, {each.key[1] for each in revisions if revision_hash(each) in live_hashes or each is latest}
        )
        return self._report_counts(item, by_node, nodes, rollout)

    def _decision(self, item: StoredItem, node: StoredItem) -> _NodeDecision:
        return self._demands.get(item.template).decide(node)

    def _affected_by_node(self, change: StoreChange) -> Iterable[ObjectKey]:
        """DaemonSets whose decision about the node has changed."""
        for item in self._registry.store.list(DAEMON_SETS):
            before = change.before
            if change.change_kind is StoreChangeKind.MODIFIED and before is not None:
                old_decision = self._decision(item, before)
                if self._decision(item, change.item) == old_decision:
                    continue
            yield item.key

    def _adjust_pods(self, item: StoredItem, by_node: _ByNode, nodes: list[StoredItem], rollout: _Rollout) -> None:
        """One pod on each wanted node, none elsewhere."""
        missing: list[str] = []
        deletable: list[StoredItem] = []
        names = set()
        for node in nodes:
            name = node.key[1]
            names.add(name)
            decision, node_pods = self._decision(item, node), by_node.get(name, [])
            if decision.is_wanted and not node_pods:
                missing.append(name)
            elif decision.is_kept:
                deletable += _surplus_pods(node_pods)
            else:
                deletable += node_pods
        for name, node_pods in by_node.items():
            if name not in names:
                deletable += [pod for pod in node_pods if not pod.node]
        self._sync(item, [pod for pod in deletable if not pod.deleting], missing, rollout)

    def _update(self, item: StoredItem, rollout: _Rollout) -> None:
        """One step of a rolling update, from the current pods."""
        by_node = _pods_by_node(self._index.controlled(item.uid, PODS))
        wanting_nodes = [
            node.key[1] for node in self._registry.store.list(NODES) if self._decision(item, node).is_wanted
        ]
        if any(not rollout.is_new(pod) for node_pods in by_node.values() for pod in node_pods):
            self._sync(
                item, rollout.pods_to_delete({name: by_node.get(name, []) for name in wanting_nodes}), [], rollout
            )

    def _sync(self, item: StoredItem, deletable: list[StoredItem], missing: list[str], rollout: _Rollout) -> None:
        namespace = item.key[0]
        for name in missing[:BURST]:
            self._registry.create(PODS, self._build_pod(item, name, rollout), namespace)
        for pod in deletable[:BURST]:
            current = self._registry.find(PODS, pod.key)
            if current is not None and current.uid == pod.uid:
                self._registry.delete(current)

    def _build_pod(self, item: StoredItem, node: str, rollout: _Rollout) -> Doc:
        pod = self._templates.build_pod(self._tolerant_templates.get(item.template), item, kinds.DAEMON_SETS)
        labels = {**(pod["metadata"].get("labels") or {}), HASH_LABEL: rollout.hash}
        if rollout.generation:
            labels[GENERATION_LABEL] = rollout.generation
        pod_doc = with_value(pod, ("metadata", "labels"), labels)
        return {**pod_doc, "spec": with_node_affinity(pod["spec"], node)}

    def _report_counts(
        self, item: StoredItem, by_node: _ByNode, nodes: list[StoredItem], rollout: _Rollout
    ) -> float | None:
        """Write the status from these pods; returns the seconds until it changes by itself."""
        desired = scheduled = misplaced = ready = available = updated = 0
        available_soon: list[float] = []
        for node in nodes:
            node_pods = by_node.get(node.key[1], [])
            if not self._decision(item, node).is_wanted:
                misplaced += bool(node_pods)
                continue
            desired += 1
            if not node_pods:
                continue
            scheduled += 1
            oldest = _oldest_first(node_pods)[0]
            remaining_s = oldest.available_in_s(rollout.min_ready_s, rollout.now)
            ready += oldest.ready
            available += remaining_s == 0.0
            updated += rollout.is_new(oldest)
            if remaining_s:
                available_soon.append(remaining_s)
        counts = {
            "numberAvailable": available,
            "numberUnavailable": desired - available,
            "observedGeneration": item.generation,
            "updatedNumberScheduled": updated,
        }
        status: Doc = {key: value for key, value in counts.items() if value}
        status |= {"currentNumberScheduled": scheduled, "desiredNumberScheduled": desired}
        status |= {"numberMisscheduled": misplaced, "numberReady": ready}
        kept_fields = {key: value for key, value in item.status.items() if key == "collisionCount"}
        self._write_status(item, {**kept_fields, **status})
        return min(available_soon, default=None)


def _with_added_tolerations(template: Doc) -> Doc:
    """The template with the tolerations that its pods get."""
    spec: Doc = template.get("spec") or {}
    return with_value(template, ("spec", "tolerations"), [*(spec.get("tolerations") or ()), *added_tolerations(spec)])


def _pods_by_node(pods: Iterable[StoredItem]) -> dict[str, list[StoredItem]]:
    by_node: dict[str, list[StoredItem]] = {}
    for pod in pods:
        by_node.setdefault(target_node(pod), []).append(pod)
    return by_node


def _surplus_pods(node_pods: list[StoredItem]) -> list[StoredItem]:
    """Finished pods, and all but the oldest of the others."""
    finished = [pod for pod in node_pods if pod.finished]
    return finished + _oldest_first([pod for pod in node_pods if not pod.finished and not pod.deleting])[1:]


def _oldest_first(pods: list[StoredItem]) -> list[StoredItem]:
    """Pods that are assigned to a node come before the others (podByCreationTimestampAndPhase)."""
    return sorted(
        pods,
        key=lambda pod: (
            not pod.node,
            pod.creation_timestamp,
            pod.key[1],
        ),
    )


def _update_strategy(item: StoredItem) -> str:
    return str(nested_field(item.spec, "updateStrategy", "type") or "RollingUpdate")


def _known_hash(item: StoredItem, pods: Iterable[StoredItem]) -> str:
    """The hash that the real controller gave the template: that of pods of the same generation."""
    generation = item.annotations.get(GENERATION_ANNOTATION)
    for pod in pods:
        labels = pod.labels
        if generation and labels.get(GENERATION_LABEL) == generation and labels.get(HASH_LABEL):
            return labels[HASH_LABEL]
    return ""
