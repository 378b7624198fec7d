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
from kubectl_eksdoc.model.api_objects import Doc, at, with_value
from kubectl_eksdoc.model.nodes import UNSCHEDULABLE_TAINT
from kubectl_eksdoc.model.placing import NODE_AFFINITY, NODE_NAME_FIELD, NODE_TERMS, REQUIRED, NodeDemand, node_terms

from ..disruptions import NOT_READY, UNREACHABLE
from ..registry import Registry
from ..store import NODES, PODS, Key, StoreChange, StoreChangeKind, StoredItem
from .owning import (
    HASH_LABEL,
    Index,
    ObjectController,
    OncePerDocument,
    Owners,
    PodTemplates,
    Revisions,
    hash_in,
)
from .replica_sets import scaled
from .taints import NO_EXECUTE, NO_SCHEDULE, all_tolerated, taints_of

# The nodes of a DaemonSet's pods, and how a pod names its node.
#
# Source: pkg/controller/daemon/daemon_controller.go (NodeShouldRunDaemonPod, predicates),
# pkg/controller/daemon/util/daemonset_util.go (AddOrUpdateDaemonPodTolerations,
# ReplaceDaemonSetPodNodeNameNodeAffinity, GetTargetNodeName), Kubernetes v1.36.


_TOLERATED = (
    (NOT_READY, NO_EXECUTE),
    (UNREACHABLE, NO_EXECUTE),
    ("node.kubernetes.io/disk-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/memory-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/pid-pressure", NO_SCHEDULE),
    (UNSCHEDULABLE_TAINT, NO_SCHEDULE),
)
_ON_HOST_NETWORK = ("node.kubernetes.io/network-unavailable", NO_SCHEDULE)


class _Place(NamedTuple):
    """`is_wanted`: a pod must run there; `is_kept`: an existing pod may stay."""

    wanted: bool
    kept: bool


class _Demand:
    """The node demands of a template. Mutable: it caches its decisions by the node's name."""

    def __init__(self, template: Doc) -> None:
        spec: Doc = template.get("spec") or {}
        self._name = spec.get("nodeName")
        selector = tuple((spec.get("nodeSelector") or {}).items())
        self._demand = NodeDemand(selector, node_terms(spec.get("affinity") or {}))
        self._tolerations = [*(spec.get("tolerations") or ()), *added_tolerations(spec)]
        self._decided: dict[str, tuple[Doc, Doc | None, _Place]] = {}

    def place(self, node: StoredItem) -> _Place:
        spec, labels, name = node.spec, node.meta.get("labels"), node.key[1]
        held = self._decided.get(name)
        if held is None or held[0] is not spec or held[1] is not labels:
            held = self._decided[name] = (spec, labels, self._decide(node, name))
        return held[2]

    def _decide(self, node: StoredItem, name: str) -> _Place:
        if self._name not in (None, "", name) or not self._demand.accepts(name, node.labels):
            return _Place(False, False)
        if all_tolerated(taints_of(node, NO_SCHEDULE, NO_EXECUTE), self._tolerations):
            return _Place(True, True)
        return _Place(False, all_tolerated(taints_of(node, NO_EXECUTE), self._tolerations))


def added_tolerations(spec: Doc) -> list[Doc]:
    """The tolerations that every DaemonSet pod gets in addition to its own."""
    held = spec.get("tolerations") or ()
    wanted = (*_TOLERATED, _ON_HOST_NETWORK) if spec.get("hostNetwork") else _TOLERATED
    made: list[Doc] = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in wanted]
    return [each for each in made if each not in held]


def for_node(spec: Doc, node: str) -> Doc:
    """`spec` with a node affinity that allows only `node`; its own required terms are replaced."""
    fields = [{"key": NODE_NAME_FIELD, "operator": "In", "values": [node]}]
    return with_value(spec, ("affinity", NODE_AFFINITY, REQUIRED), {NODE_TERMS: [{"matchFields": fields}]})


def target_of(pod: StoredItem) -> str:
    """The node that the pod is on, or is for; "" where it names none."""
    if pod.node:
        return pod.node
    for term in at(pod.spec, "affinity", NODE_AFFINITY, REQUIRED, NODE_TERMS) or ():
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
    most_away: int
    now: datetime

    def is_new(self, pod: StoredItem) -> bool:
        labels = pod.labels
        if self.generation and labels.get(GENERATION_LABEL) == self.generation:
            return True
        return bool(self.hash) and labels.get(HASH_LABEL) == self.hash

    def gone(self, by_node: Mapping[str, Sequence[StoredItem]]) -> list[StoredItem]:
        """Old pods to delete first, which leave their nodes without one for a while."""
        away = 0
        ailing: list[StoredItem] = []
        candidates: list[StoredItem] = []
        for own in by_node.values():
            new, old = self._split(own)
            if len(new) + len(old) != 1:
                away += 1  # none, or one too many: another step handles it
            elif new:
                away += not self._available(new[0])
            elif self._available(old[0]):
                candidates.append(old[0])
            else:
                away += 1
                ailing.append(old[0])
        return ailing + candidates[: max(0, self.most_away - away)]

    def _split(self, own: Sequence[StoredItem]) -> tuple[list[StoredItem], list[StoredItem]]:
        staying = [pod for pod in own if not pod.leaving]
        return [pod for pod in staying if self.is_new(pod)], [pod for pod in staying if not self.is_new(pod)]

    def _available(self, pod: StoredItem) -> bool:
        return pod.is_available(self.min_ready_s, self.now)


def rollout_of(owner: StoredItem, hash_: str, nodes: int, now: datetime) -> _Rollout:
    """`node_count`: how many nodes want a pod."""
    rolling: Doc = at(owner.spec, "updateStrategy", "rollingUpdate") or {}
    away = scaled(rolling.get("maxUnavailable"), nodes, 1, up=True)
    return _Rollout(
        hash=hash_,
        generation=owner.annotations.get(GENERATION_ANNOTATION, ""),
        min_ready_s=owner.min_ready_s,
        most_away=away or 1,
        now=now,
    )


DAEMON_SETS = kinds.DAEMON_SETS.full_name
BURST = 250

_ByNode = Mapping[str, list[StoredItem]]


class DaemonSets(ObjectController):
    """A `Controller` whose keys are those of DaemonSets."""

    resources = (DAEMON_SETS, PODS, NODES)

    def __init__(self, registry: Registry, index: Index) -> None:
        super().__init__(registry, index)
        self._owners = Owners(registry, index, kinds.DAEMON_SETS)
        self._demands = OncePerDocument(_Demand)
        self._templates = PodTemplates(registry.store)
        self._tolerant = OncePerDocument(_tolerant)
        self._revisions = Revisions(registry, index, kinds.DAEMON_SETS)

    def touched(self, change: StoreChange) -> Iterable[Key]:
        if change.resource == DAEMON_SETS:
            return (change.key,)
        if change.resource == NODES:
            return self._concerned(change)
        return self._owners.of(change)

    def look_after(self, item: StoredItem) -> float | None:
        own = self._owners.claimed(item, PODS)
        held = self._revisions.of(item, self._owners.matcher(item))
        latest = self._revisions.latest(item, held, _known_hash(item, own))
        by_node = _by_node(own)
        nodes = list(self._registry.store.list(NODES))
        wanting = sum(self._place(item, node).wanted for node in nodes)
        rollout = rollout_of(item, hash_in(latest), wanting, self._registry.time)
        if not item.leaving:
            self._manage(item, by_node, nodes, rollout)
            if _strategy(item) == "RollingUpdate":
                self._update(item, rollout)
        live = {pod.labels.get(HASH_LABEL) for pod in own}
        self._revisions.truncate(item, held, {each.key[1] for each in held if hash_in(each) in live or each is latest})
        return self._counted(item, by_node, nodes, rollout)

    def _place(self, item: StoredItem, node: StoredItem) -> _Place:
        return self._demands.of(item.template).place(node)

    def _concerned(self, change: StoreChange) -> Iterable[Key]:
        """DaemonSets whose decision about the node has changed."""
        for item in self._registry.store.list(DAEMON_SETS):
            before = change.before
            if change.what is StoreChangeKind.MODIFIED and before is not None:
                was = self._place(item, before)
                if self._place(item, change.item) == was:
                    continue
            yield item.key

    def _manage(self, item: StoredItem, by_node: _ByNode, nodes: list[StoredItem], rollout: _Rollout) -> None:
        """One pod on each wanted node, none elsewhere."""
        missing: list[str] = []
        gone: list[StoredItem] = []
        names = set()
        for node in nodes:
            name = node.key[1]
            names.add(name)
            place, there = self._place(item, node), by_node.get(name, [])
            if place.wanted and not there:
                missing.append(name)
            elif place.kept:
                gone += _surplus(there)
            else:
                gone += there
        for name, there in by_node.items():
            if name not in names:
                gone += [pod for pod in there if not pod.node]
        self._sync(item, [pod for pod in gone if not pod.leaving], missing, rollout)

    def _update(self, item: StoredItem, rollout: _Rollout) -> None:
        """One step of a rolling update, from the current pods."""
        by_node = _by_node(self._index.controlled(item.uid, PODS))
        wanting = [node.key[1] for node in self._registry.store.list(NODES) if self._place(item, node).wanted]
        if any(not rollout.is_new(pod) for own in by_node.values() for pod in own):
            self._sync(item, rollout.gone({name: by_node.get(name, []) for name in wanting}), [], rollout)

    def _sync(self, item: StoredItem, gone: list[StoredItem], missing: list[str], rollout: _Rollout) -> None:
        namespace = item.key[0]
        for name in missing[:BURST]:
            self._registry.create(PODS, self._pod(item, name, rollout), namespace)
        for pod in gone[:BURST]:
            current = self._registry.find(PODS, pod.key)
            if current is not None and current.uid == pod.uid:
                self._registry.delete(current)

    def _pod(self, item: StoredItem, node: str, rollout: _Rollout) -> Doc:
        pod = self._templates.pod(self._tolerant.of(item.template), item, kinds.DAEMON_SETS)
        labels = {**(pod["metadata"].get("labels") or {}), HASH_LABEL: rollout.hash}
        if rollout.generation:
            labels[GENERATION_LABEL] = rollout.generation
        made = with_value(pod, ("metadata", "labels"), labels)
        return {**made, "spec": for_node(pod["spec"], node)}

    def _counted(self, item: StoredItem, by_node: _ByNode, nodes: list[StoredItem], rollout: _Rollout) -> float | None:
        """Write the status from these pods; returns the seconds until it changes by itself."""
        wanted = there = misplaced = ready = available = updated = 0
        soon: list[float] = []
        for node in nodes:
            own = by_node.get(node.key[1], [])
            if not self._place(item, node).wanted:
                misplaced += bool(own)
                continue
            wanted += 1
            if not own:
                continue
            there += 1
            oldest = _oldest_first(own)[0]
            left_s = oldest.available_in(rollout.min_ready_s, rollout.now)
            ready += oldest.ready
            available += left_s == 0.0
            updated += rollout.is_new(oldest)
            if left_s:
                soon.append(left_s)
        counted = {
            "numberAvailable": available,
            "numberUnavailable": wanted - available,
            "observedGeneration": item.generation,
            "updatedNumberScheduled": updated,
        }
        status: Doc = {key: value for key, value in counted.items() if value}
        status |= {"currentNumberScheduled": there, "desiredNumberScheduled": wanted}
        status |= {"numberMisscheduled": misplaced, "numberReady": ready}
        kept = {key: value for key, value in item.status.items() if key == "collisionCount"}
        self._report(item, {**kept, **status})
        return min(soon, default=None)


def _tolerant(template: Doc) -> Doc:
    """The template with the tolerations that its pods get."""
    spec: Doc = template.get("spec") or {}
    return with_value(template, ("spec", "tolerations"), [*(spec.get("tolerations") or ()), *added_tolerations(spec)])


def _by_node(own: Iterable[StoredItem]) -> dict[str, list[StoredItem]]:
    found: dict[str, list[StoredItem]] = {}
    for pod in own:
        found.setdefault(target_of(pod), []).append(pod)
    return found


def _surplus(there: list[StoredItem]) -> list[StoredItem]:
    """Finished pods, and all but the oldest of the others."""
    ended = [pod for pod in there if pod.finished]
    return ended + _oldest_first([pod for pod in there if not pod.finished and not pod.leaving])[1:]


def _oldest_first(own: list[StoredItem]) -> list[StoredItem]:
    """Pods that are assigned to a node come before the others (podByCreationTimestampAndPhase)."""
    return sorted(
        own,
        key=lambda pod: (
            not pod.node,
            pod.created,
            pod.key[1],
        ),
    )


def _strategy(item: StoredItem) -> str:
    return str(at(item.spec, "updateStrategy", "type") or "RollingUpdate")


def _known_hash(item: StoredItem, own: Iterable[StoredItem]) -> str:
    """The hash that the real controller gave the template: that of pods of the same generation."""
    generation = item.annotations.get(GENERATION_ANNOTATION)
    for pod in own:
        labels = pod.labels
        if generation and labels.get(GENERATION_LABEL) == generation and labels.get(HASH_LABEL):
            return labels[HASH_LABEL]
    return ""
