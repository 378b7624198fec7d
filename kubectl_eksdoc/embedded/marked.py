"""What a drain does to the nodes of a stage, and takes back: cordons, labels for load balancers, protections."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from kubectl_eksdoc.core.model.acts import Cordon, Exclude, OfNode, Protect, Release, Restore
from kubectl_eksdoc.core.model.api_objects import Doc, at, with_value, without
from kubectl_eksdoc.core.model.nodes import EXCLUDED_FROM_BALANCERS, PROTECTIONS
from kubectl_eksdoc.core.rules.api.statuses import Details, Refusal, Status
from kubectl_eksdoc.core.sim.cluster import mishaps
from kubectl_eksdoc.core.sim.cluster.plane import ControlPlane
from kubectl_eksdoc.core.sim.cluster.scheduling import NODES

LABELS, ANNOTATIONS = "labels", "annotations"


class Marked:
    """Mutable: knows what it has added to each node, as a run notes it on the node itself."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._added: dict[tuple[str, str], set[str]] = defaultdict(set)  # by UID of the node and the kind of keys

    def done(self, act: OfNode) -> Status:
        try:
            return self._done(act)
        except Refusal as refusal:
            return refusal.status

    def _done(self, act: OfNode) -> Status:
        item = self._plane.store.get(NODES, ("", act.node))
        if item is None or item.uid != act.uid:
            return Status(404, "NotFound", f'nodes "{act.node}" not found', Details(act.node, "", NODES))
        match act:
            case Cordon():
                mishaps.cordon(self._plane, act.node)
            case Exclude():
                self._add(act, LABELS, (EXCLUDED_FROM_BALANCERS,))
            case Protect():
                self._add(act, ANNOTATIONS, PROTECTIONS)
            case Restore(_, _, cordon):
                if cordon:
                    mishaps.uncordon(self._plane, act.node)
                self._remove(act, LABELS)
            case Release():
                self._remove(act, ANNOTATIONS)
        return Status(200)

    def _add(self, act: OfNode, kind: str, keys: Iterable[str]) -> None:
        """What is there already stays as it is."""
        doc = self._doc(act.node)
        missing = [key for key in keys if key not in (at(doc, "metadata", kind) or {})]
        for key in missing:
            doc = with_value(doc, ("metadata", kind, key), "true")
        self._added[act.uid, kind].update(missing)
        self._write(act.node, doc)

    def _remove(self, act: OfNode, kind: str) -> None:
        doc = self._doc(act.node)
        for key in self._added.pop((act.uid, kind), ()):
            doc = without(doc, ("metadata", kind, key))
        self._write(act.node, doc)

    def _doc(self, node: str) -> Doc:
        return self._plane.registry.get(NODES, ("", node)).doc

    def _write(self, node: str, doc: Doc) -> None:
        item = self._plane.registry.get(NODES, ("", node))
        if doc != item.doc:
            self._plane.registry.update(item, doc)
