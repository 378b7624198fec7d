"""The pods that are made for those that a run makes go: which they are, and onto which nodes they were scheduled."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.drain.outcome import Eviction
from kubectl_eksdoc.core.run.means import made_for
from kubectl_eksdoc.core.run.seen import Seen


class Replacements:
    """Mutable. `nodes`: of each that has one, by UID, its node; also of those that are gone by now."""

    def __init__(self, evictions: Iterable[Eviction], seen: Seen) -> None:
        self.nodes: dict[str, str] = {}
        self._owners: set[str] = set()  # whose pods are replaced
        self._restarted: set[tuple[str, str]] = set()  # namespace and name of what makes new ReplicaSets
        self._known = {pod.uid for pod in seen.pods()}
        self.expect(evictions)

    def expect(self, evictions: Iterable[Eviction]) -> None:
        """These go: pods of their owners that are new from now on replace them."""
        for each in evictions:
            if each.pod.owner is not None:
                self._owners.add(each.pod.owner.uid)
            if each.manner.restarts is not None:
                self._restarted.add((each.pod.namespace, each.manner.restarts.name))

    def __contains__(self, pod: Pod) -> bool:
        """Whether it takes the place of a pod that goes: its owner's, or of a new ReplicaSet of what is restarted."""
        if pod.uid in self._known or pod.owner is None:
            return False
        return pod.owner.uid in self._owners or (pod.namespace, made_for(pod.owner)) in self._restarted

    def see(self, pod: Pod) -> bool:
        """Whether it is one; its node is kept."""
        if pod in self and pod.node:
            self.nodes[pod.uid] = pod.node
        return pod in self
