"""The facts of stored objects, decoded once for each version: the `Facts` of the simulated cluster."""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.budgets import Budget
from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.core.model.nodes import Node
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.model.storage import Claim, CSINode, PersistentVolume, StorageClass, VolumeAttachment
from kubectl_eksdoc.core.model.workloads import Workload
from kubectl_eksdoc.core.sim.cluster.store import Item, Key
from kubectl_eksdoc.objects.single import Facts, encode

_WORKLOADS = {
    resource.full_name: resource
    for resource in (
        kinds.DEPLOYMENTS,
        kinds.REPLICA_SETS,
        kinds.STATEFUL_SETS,
        kinds.DAEMON_SETS,
        kinds.REPLICATION_CONTROLLERS,
    )
}


class StoredFacts:
    """Keeps the facts of the latest version of every object that anybody asked about."""

    def __init__(self) -> None:
        self._facts = Facts()
        self._known: dict[tuple[str, Key], tuple[Item, Any]] = {}

    def pod(self, item: Item) -> Pod:
        return self._of(kinds.PODS, item)  # type: ignore[no-any-return]

    def node(self, item: Item) -> Node:
        return self._of(kinds.NODES, item)  # type: ignore[no-any-return]

    def budget(self, item: Item) -> Budget:
        return self._of(kinds.BUDGETS, item)  # type: ignore[no-any-return]

    def workload(self, item: Item) -> Workload:
        return self._of(_WORKLOADS[item.resource], item)  # type: ignore[no-any-return]

    def claim(self, item: Item) -> Claim:
        return self._of(kinds.CLAIMS, item)  # type: ignore[no-any-return]

    def volume(self, item: Item) -> PersistentVolume:
        return self._of(kinds.VOLUMES, item)  # type: ignore[no-any-return]

    def storage_class(self, item: Item) -> StorageClass:
        return self._of(kinds.STORAGE_CLASSES, item)  # type: ignore[no-any-return]

    def csi_node(self, item: Item) -> CSINode:
        return self._of(kinds.CSI_NODES, item)  # type: ignore[no-any-return]

    def attachment(self, item: Item) -> VolumeAttachment:
        return self._of(kinds.VOLUME_ATTACHMENTS, item)  # type: ignore[no-any-return]

    def _of(self, resource: Resource, item: Item) -> Any:
        name = item.resource, item.key
        held = self._known.get(name)
        if held is not None and held[0] is item:
            return held[1]
        fact = self._facts.fact(resource, encode(item.doc))
        if held is None or held[0].version <= item.version:
            self._known[name] = item, fact
        return fact
