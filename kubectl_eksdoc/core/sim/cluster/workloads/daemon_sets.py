"""The daemon set controller: one pod on every node that the template's demands and tolerations allow.

Source: pkg/controller/daemon/daemon_controller.go, Kubernetes v1.36. A pod that failed is made again at once:
upstream's delay between attempts is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import Doc, at, with_value
from kubectl_eksdoc.core.sim.cluster.registry import Registry
from kubectl_eksdoc.core.sim.cluster.store import Change, Item, Key, What
from kubectl_eksdoc.core.sim.cluster.workloads import pods
from kubectl_eksdoc.core.sim.cluster.workloads.daemon_places import Places, added_tolerations, for_node, target_of
from kubectl_eksdoc.core.sim.cluster.workloads.daemon_rollout import (
    GENERATION_ANNOTATION,
    GENERATION_LABEL,
    Rollout,
    rollout_of,
)
from kubectl_eksdoc.core.sim.cluster.workloads.index import Index
from kubectl_eksdoc.core.sim.cluster.workloads.owning import claimed, keys_of_owner, may_be_adopted
from kubectl_eksdoc.core.sim.cluster.workloads.revisions import HASH_LABEL, Revisions, hash_in
from kubectl_eksdoc.core.sim.cluster.workloads.selecting import Selectors
from kubectl_eksdoc.core.sim.cluster.workloads.templates import Templates

DAEMON_SETS, NODES = kinds.DAEMON_SETS.full_name, kinds.NODES.full_name
BURST = 250

_ByNode = Mapping[str, list[Item]]


class DaemonSets:
    """A `Controller`; keys are those of DaemonSets."""

    resources = (DAEMON_SETS, pods.PODS, NODES)

    def __init__(self, registry: Registry, index: Index) -> None:
        self._registry = registry
        self._index = index
        self._selectors = Selectors()
        self._places = Places()
        self._templates = Templates(registry.store)
        self._tolerant: dict[int, tuple[Doc, Doc]] = {}
        self._revisions = Revisions(registry, index, kinds.DAEMON_SETS)

    def touched(self, change: Change) -> Iterable[Key]:
        if change.item.resource == DAEMON_SETS:
            return (change.item.key,)
        if change.item.resource == NODES:
            return self._concerned(change)
        owners = keys_of_owner(change, kinds.DAEMON_SETS)
        return (*owners, *self._would_adopt(change.item)) if may_be_adopted(change) else owners

    def reconcile(self, key: Key) -> float | None:
        item = self._registry.store.get(DAEMON_SETS, key)
        if item is None:
            return None
        selector = self._selectors.of(item.doc["spec"].get("selector"))
        own = claimed(self._registry, self._index, item, kinds.DAEMON_SETS, selector, pods.PODS)
        held = self._revisions.of(item, selector)
        latest = self._revisions.latest(item, held, _known_hash(item, own))
        by_node = _by_node(own)
        nodes = [node.doc for node in self._registry.store.list(NODES)]
        wanting = sum(self._places.of(item, node).wanted for node in nodes)
        rollout = rollout_of(item, hash_in(latest), wanting, self._registry.agenda.now)
        if not item.leaving:
            self._manage(item, by_node, nodes, rollout)
            if _strategy(item) == "RollingUpdate":
                self._update(item, rollout)
        live = {pods.labels_of(pod.doc).get(HASH_LABEL) for pod in own}
        self._revisions.truncate(item, held, {each.key[1] for each in held if hash_in(each) in live or each is latest})
        return self._report(item, by_node, nodes, rollout)

    def _concerned(self, change: Change) -> Iterable[Key]:
        """Sets for which the node is another place than before."""
        for item in self._registry.store.list(DAEMON_SETS):
            before = change.before
            if change.what is What.MODIFIED and before is not None:
                was = self._places.of(item, before.doc)
                if self._places.of(item, change.item.doc) == was:
                    continue
            yield item.key

    def _would_adopt(self, pod: Item) -> Iterable[Key]:
        labels = pods.labels_of(pod.doc)
        for item in self._registry.store.list(DAEMON_SETS, pod.key[0]):
            if self._selectors.of(item.doc["spec"].get("selector")).matches(labels):
                yield item.key

    def _manage(self, item: Item, by_node: _ByNode, nodes: list[Doc], rollout: Rollout) -> None:
        """One pod where one belongs, none elsewhere."""
        missing: list[str] = []
        gone: list[Item] = []
        names = set()
        for node in nodes:
            name = node["metadata"]["name"]
            names.add(name)
            place, there = self._places.of(item, node), by_node.get(name, [])
            if place.wanted and not there:
                missing.append(name)
            elif place.kept:
                gone += _surplus(there, rollout)
            else:
                gone += there
        for name, there in by_node.items():
            if name not in names:
                gone += [pod for pod in there if not pods.node_of(pod.doc)]
        self._sync(item, [pod for pod in gone if not pod.leaving], missing, rollout)

    def _update(self, item: Item, rollout: Rollout) -> None:
        """One step of a rolling update, from what there is now."""
        by_node = _by_node(self._index.controlled(item.uid, pods.PODS))
        wanting = [node.key[1] for node in self._registry.store.list(NODES) if self._places.of(item, node.doc).wanted]
        if any(not rollout.is_new(pod) for own in by_node.values() for pod in own):
            gone, beside = rollout.steps({name: by_node.get(name, []) for name in wanting})
            self._sync(item, gone, beside, rollout)

    def _sync(self, item: Item, gone: list[Item], missing: list[str], rollout: Rollout) -> None:
        namespace = item.key[0]
        for name in missing[:BURST]:
            self._registry.create(pods.PODS, self._pod(item, name, rollout), namespace)
        for pod in gone[:BURST]:
            current = self._registry.store.get(pods.PODS, pod.key)
            if current is not None and current.uid == pod.uid:
                self._registry.delete(current)

    def _pod(self, item: Item, node: str, rollout: Rollout) -> Doc:
        pod = self._templates.pod(self._tolerant_template(item), item, kinds.DAEMON_SETS)
        labels = {**(pod["metadata"].get("labels") or {}), HASH_LABEL: rollout.hash}
        if rollout.generation:
            labels[GENERATION_LABEL] = rollout.generation
        made = with_value(pod, ("metadata", "labels"), labels)
        return {**made, "spec": for_node(pod["spec"], node)}

    def _tolerant_template(self, item: Item) -> Doc:
        """The template with the tolerations that its pods get, one document for each template."""
        template: Doc = item.doc["spec"].get("template") or {}
        held = self._tolerant.get(id(template))
        if held is None:
            spec: Doc = template.get("spec") or {}
            tolerations = [*(spec.get("tolerations") or ()), *added_tolerations(spec)]
            held = self._tolerant[id(template)] = template, with_value(template, ("spec", "tolerations"), tolerations)
        return held[1]

    def _report(self, item: Item, by_node: _ByNode, nodes: list[Doc], rollout: Rollout) -> float | None:
        """Write the status as of these pods; in how many seconds it changes by itself."""
        wanted = there = misplaced = ready = available = updated = 0
        soon: list[float] = []
        for node in nodes:
            own = by_node.get(node["metadata"]["name"], [])
            if not self._places.of(item, node).wanted:
                misplaced += bool(own)
                continue
            wanted += 1
            if not own:
                continue
            there += 1
            oldest = _oldest_first(own)[0]
            left_s = pods.available_in(oldest.doc, rollout.min_ready_s, rollout.now)
            ready += pods.is_ready(oldest.doc)
            available += left_s == 0.0
            updated += rollout.is_new(oldest)
            if left_s:
                soon.append(left_s)
        counted = {
            "numberAvailable": available,
            "numberUnavailable": wanted - available,
            "observedGeneration": int(item.doc["metadata"].get("generation") or 0),
            "updatedNumberScheduled": updated,
        }
        status: Doc = {key: value for key, value in counted.items() if value}
        status |= {"currentNumberScheduled": there, "desiredNumberScheduled": wanted}
        status |= {"numberMisscheduled": misplaced, "numberReady": ready}
        current = self._registry.get(DAEMON_SETS, item.key)
        kept = {key: value for key, value in (item.doc.get("status") or {}).items() if key == "collisionCount"}
        self._registry.update(current, {**current.doc, "status": {**kept, **status}}, status=True)
        return min(soon, default=None)


def _by_node(own: Iterable[Item]) -> dict[str, list[Item]]:
    found: dict[str, list[Item]] = {}
    for pod in own:
        found.setdefault(target_of(pod.doc), []).append(pod)
    return found


def _surplus(there: list[Item], rollout: Rollout) -> list[Item]:
    """Pods that ended, and all but the oldest; where new ones come first, an old and a new one may be there."""
    ended = [pod for pod in there if pods.is_finished(pod.doc)]
    running = [pod for pod in there if not pods.is_finished(pod.doc) and not pod.leaving]
    if not rollout.most_beside:
        return ended + _oldest_first(running)[1:]
    new = [pod for pod in running if rollout.is_new(pod)]
    old = [pod for pod in running if not rollout.is_new(pod)]
    return ended + _oldest_first(new)[1:] + _oldest_first(old)[1:]


def _oldest_first(own: list[Item]) -> list[Item]:
    """Those that are assigned to a node before the others (podByCreationTimestampAndPhase)."""
    return sorted(
        own,
        key=lambda pod: (
            not pods.node_of(pod.doc),
            str(pod.doc["metadata"].get("creationTimestamp") or ""),
            pod.key[1],
        ),
    )


def _strategy(item: Item) -> str:
    return str(at(item.doc, "spec", "updateStrategy", "type") or "RollingUpdate")


def _known_hash(item: Item, own: Iterable[Item]) -> str:
    """By which the controller that was here before called the template: that of pods of the same generation."""
    generation = pods.annotations_of(item.doc).get(GENERATION_ANNOTATION)
    for pod in own:
        labels = pods.labels_of(pod.doc)
        if generation and labels.get(GENERATION_LABEL) == generation and labels.get(HASH_LABEL):
            return labels[HASH_LABEL]
    return ""
