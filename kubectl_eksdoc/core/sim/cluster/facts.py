"""What the rules need to know of stored objects: documents are turned into facts by whoever can decode them."""

from __future__ import annotations

from typing import Protocol

from kubectl_eksdoc.core.model.budgets import Budget
from kubectl_eksdoc.core.model.nodes import Node
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.model.storage import Claim, CSINode, PersistentVolume, StorageClass, VolumeAttachment
from kubectl_eksdoc.core.model.workloads import Workload
from kubectl_eksdoc.core.sim.cluster.store import Item


class Facts(Protocol):
    """The same item always gives the same fact. Whatever the API server accepts can be decoded."""

    def pod(self, item: Item) -> Pod: ...

    def node(self, item: Item) -> Node: ...

    def budget(self, item: Item) -> Budget: ...

    def workload(self, item: Item) -> Workload: ...

    def claim(self, item: Item) -> Claim: ...

    def volume(self, item: Item) -> PersistentVolume: ...

    def storage_class(self, item: Item) -> StorageClass: ...

    def csi_node(self, item: Item) -> CSINode: ...

    def attachment(self, item: Item) -> VolumeAttachment: ...
